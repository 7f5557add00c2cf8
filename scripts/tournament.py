"""Play several agents against each other and rank them.

python scripts/tournament.py --game kachuful --agents random counting heuristic --deals 200 --out runs/cup
python scripts/tournament.py --resume runs/cup --deals 1000

Every deal is played at mixed tables, each agent in each seat once, and the first --cross-deals also with each agent
alone among copies of each other. Agents are named as in evaluate.py. The folder keeps every game with all its moves
(games.jsonl), report.md with pictures, and result.json; Ctrl-C loses nothing, and --resume goes on.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser

from training.command import WRONG, run_command

GO_ON = "go on with --resume and the folder"


def build_parser() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog="tournament.py", description=__doc__.split("\n")[0], exit_on_error=False, allow_abbrev=False
    )
    parser.add_argument("--game", type=str, help="the game")
    parser.add_argument("--agents", type=str, nargs="+", help="two or more agents")
    parser.add_argument("--deals", type=int, help="number of deals (default: 100; with --resume, those there are)")
    parser.add_argument("--cross-deals", type=int, help="deals that are cross-play too (default: all of --deals)")
    parser.add_argument("--rules", type=dict[str, str], default={}, help="--rules.OPTION VALUE")
    parser.add_argument("--seed", type=int, help="names the deals and the agents' chance (default: 0)")
    parser.add_argument("--out", type=str, help="new folder (default: runs/tournament-GAME-TIME)")
    parser.add_argument("--resume", type=str, help="folder of a tournament to go on with")
    parser.add_argument("--workers", type=int, help="worker processes (default: one for each core)")
    parser.add_argument(
        "--until-separable",
        action="store_true",
        help="double the deals until all neighbours differ, at --max-deals most",
    )
    parser.add_argument("--max-deals", type=int, help="cap of --until-separable (default: 16 times --deals)")
    return parser


def prepare() -> dict[str, Any]:
    """Check everything that the command line asks for, and open the folder. ValueError says what is wrong."""
    args = build_parser().parse_args()
    for name in ("deals", "max_deals", "workers"):
        if getattr(args, name) is not None and getattr(args, name) < 1:
            raise ValueError(f"--{name.replace('_', '-')} {getattr(args, name)} is not possible: it must be at least 1")
    from envs.game import find_game
    from training.crew import Team, cores
    from training.options import option_value
    from training.tournament import Folder, settings_of

    if args.resume is not None:
        for name in ("game", "agents", "cross_deals", "seed", "out"):
            if getattr(args, name) is not None:
                raise ValueError(f"--{name.replace('_', '-')} cannot go with --resume: the tournament has its own")
        if args.rules:
            raise ValueError("--rules cannot go with --resume: the tournament has its own")
        folder = Folder.open(Path(args.resume))
        settings = folder.settings
        game = find_game(settings.game)
        team = Team.load(game, game.make_rules(**settings.rules), settings.agents)
        folder.check_agents(team)
        if folder.entries:
            folder.replay()
        deals = args.deals or max(1, folder.progress()[0])
        _check_most(args.max_deals, deals)
    else:
        if args.game is None or args.agents is None or len(args.agents) < 2:
            raise ValueError("--game and two or more --agents are needed (or --resume FOLDER)")
        seed, deals = args.seed or 0, args.deals or 100
        if not 0 <= seed < 2**63:
            raise ValueError(f"--seed {seed} is not possible: it must be from 0 to 2**63 - 1")
        cross = deals if args.cross_deals is None else args.cross_deals
        if cross < 0:
            raise ValueError(f"--cross-deals {cross} is not possible: it must be at least 0")
        game = find_game(args.game)
        rules = game.make_rules(**{name: option_value(text) for name, text in args.rules.items()})
        team = Team.load(game, rules, args.agents)
        _check_most(args.max_deals, deals)
        out = args.out or f"runs/tournament-{game.name}-{time.strftime('%Y%m%d-%H%M%S')}"
        folder = Folder.create(Path(out), settings_of(team, seed, cross))
        team = Team.load(game, rules, folder.settings.agents)
    most = (args.max_deals or 16 * deals) if args.until_separable else deals
    return {"folder": folder, "team": team, "deals": deals, "most": most, "workers": args.workers or cores()}


def _check_most(most: int | None, deals: int) -> None:
    if most is not None and most < deals:
        raise ValueError(f"--max-deals {most} is not possible: it must be at least the {deals} deals asked for")


def play(folder: Any, team: Any, deals: int, most: int, workers: int) -> int:
    """Play, rank and report; returns the exit code."""
    from training.crew import Crew, WorkerError
    from training.report import progress_bar
    from training.standings import measured, separable, standings
    from training.tournament_report import write_report

    if folder.damaged is not None:
        print(f"tournament.py: a torn line was moved to {folder.damaged}; its game is played again", file=sys.stderr)
    try:
        with Crew(team, workers) as crew, progress_bar() as bar:
            task = bar.add_task("deals", total=deals, completed=folder.progress()[0])
            while True:
                bar.update(task, total=deals)
                folder.play(crew, deals, lambda done: bar.update(task, completed=done))
                if deals >= most or separable(measured(folder), folder.look()):
                    break
                deals = min(2 * deals, most)
        written = write_report(folder, standings(folder))
    except WorkerError as error:
        raise WorkerError(f"{error}; {GO_ON}") from None
    except ValueError as error:
        print(f"tournament.py: {' '.join(str(error).split())}", file=sys.stderr)
        return WRONG
    print((folder.path / "report.md").read_text(encoding="utf-8"))
    print(f"{folder.path}: {', '.join(written)}")
    return 0


def main() -> int:
    """Run the command line; returns the exit code."""
    return run_command("tournament.py", prepare, lambda plan: play(**plan), f"interrupted; {GO_ON}")


if __name__ == "__main__":
    sys.exit(main())
