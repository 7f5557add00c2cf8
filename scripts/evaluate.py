"""Measure an agent against others by duplicate deals.

python scripts/evaluate.py runs/kachuful --against counting,random --deals 2000 --seed 1 --json result.json
python scripts/evaluate.py counting --game kachuful --against random --rules.num_players 5

python scripts/evaluate.py pimc:deals=64,exact=4 --game kachuful --against heuristic --deals 100 --keep runs/pimc.jsonl

Each name in --against is one table of its own, with that agent in all other seats. A deal is a whole game, played once
with the candidate in each seat. Agents are built-in players by name, searches with their options, checkpoints by path
(policies take their likeliest action, sample with :sampled, or look ahead with :search), or package.module:factory.
With --keep, deals are kept as they are finished, and the same command goes on after Ctrl-C, or with more deals.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser

from training.command import run_command

GO_ON = "with --keep, the same command goes on"


def build_parser() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog="evaluate.py", description=__doc__.split("\n")[0], exit_on_error=False, allow_abbrev=False
    )
    parser.add_argument("candidate", type=str, help="checkpoint, or name of another agent (then with --game)")
    parser.add_argument("--against", type=str, help="opponents, separated by commas (default: all built-in agents)")
    parser.add_argument("--deals", type=int, default=1000, help="number of deals; one deal is as many games as seats")
    parser.add_argument("--seed", type=int, default=0, help="names the deals and the agents' chance")
    parser.add_argument("--game", type=str, help="the game (default: that of the checkpoint)")
    parser.add_argument(
        "--rules", type=dict[str, str], default={}, help="--rules.OPTION VALUE, over the checkpoint's rules"
    )
    parser.add_argument("--reverse", action="store_true", help="also play one opponent among copies of the candidate")
    parser.add_argument("--workers", type=int, help="worker processes (default: one for each core)")
    parser.add_argument("--json", type=str, help="write the result to this file too, in place of one that is there")
    parser.add_argument("--keep", type=str, help="keep finished deals in this file, and go on where it is there")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--greedy", action="store_true", help="policies take their likeliest action (default)")
    choice.add_argument("--sampled", action="store_true", help="policies sample their actions")
    return parser


def prepare() -> dict[str, Any]:
    """Check everything that the command line asks for; returns what `play` needs. ValueError says what is wrong."""
    args = build_parser().parse_args()
    from envs.agents import agent_names
    from envs.game import find_game
    from training.agents import agent_digest, fixed_spec, load_agent, policy_of, split_specs
    from training.arena import MOST_DEALS
    from training.crew import Team, cores
    from training.journal import Journal
    from training.options import option_value, override
    from training.report import check_json_path

    if not 1 <= args.deals <= MOST_DEALS:
        raise ValueError(f"--deals {args.deals} is not possible: it must be from 1 to {MOST_DEALS}")
    if not 0 <= args.seed < 2**63:
        raise ValueError(f"--seed {args.seed} is not possible: it must be from 0 to 2**63 - 1")
    args.workers = cores() if args.workers is None else args.workers
    if args.workers < 1:
        raise ValueError(f"--workers {args.workers} is not possible: it must be at least 1")
    if args.json:
        check_json_path(Path(args.json))
        if args.keep and Path(args.keep).resolve() == Path(args.json).resolve():
            raise ValueError(f"--json {args.json} is not possible: --keep names the same file")
    candidate = load_agent(args.candidate, args.game, greedy=not args.sampled)
    if (found := policy_of(candidate)) is not None:
        game, options = found[0].game, dict(found[0].rules)
    else:
        game, options = find_game(args.game), {}
    changes = {name: option_value(text) for name, text in args.rules.items()}
    rules = game.make_rules(**override(options, changes))
    names = split_specs(args.against) if args.against else agent_names(game)
    team = Team.load(game, rules, (args.candidate, *names), greedy=not args.sampled)
    digests = [agent_digest(agent) for agent in team.agents]
    journal = None
    if args.keep:
        specs = [fixed_spec(agent, spec) for agent, spec in zip(team.agents, team.specs, strict=True)]
        subject = {"game": game.name, "rules": asdict(rules), "agents": specs, "policies": digests}
        journal = Journal(Path(args.keep), {**subject, "seed": args.seed, "reverse": args.reverse})
    return {"args": args, "team": team, "digest": digests[0] if found else None, "journal": journal}


def _show(bar: Any, task: Any, done: int) -> None:
    bar.update(task, completed=done)


def play(args: Any, team: Any, digest: str | None, journal: Any) -> None:
    """Play the matches, print the table and write the file."""
    from rich.console import Console

    from training.arena import play_match
    from training.crew import Crew
    from training.report import match_document, match_table, progress_bar, summarize, write_json

    candidate, *opponents = team.agents
    matches: list[Any] = []
    reverses: list[Any] = []
    if journal is not None and journal.torn is not None:
        print(f"evaluate.py: a torn line was moved to {journal.torn}; its deals are played again", file=sys.stderr)
    with Crew(team, args.workers) as crew, progress_bar() as bar:

        def match(one: Any, others: Any) -> Any:
            task = bar.add_task(f"{one.name} against {others.name}", total=args.deals)
            number = len(matches) + len(reverses)
            done, keep = ((), None) if journal is None else (journal.done(number), partial(journal.keep, number))
            return play_match(
                team.game, team.rules, one, others, args.deals, args.seed,
                progress=partial(_show, bar, task), crew=crew, done=done, keep=keep,
            )  # fmt: skip

        for opponent in opponents:
            matches.append(match(candidate, opponent))
            reverses.append(match(opponent, candidate) if args.reverse else None)
        summaries = [summarize(*pair) for pair in zip(matches, reverses, strict=True)]
    Console().print(match_table(summaries))
    if args.json:
        document = match_document(matches, summaries, sys.argv, not args.sampled, team.specs, digest)
        write_json(Path(args.json), document)


def main() -> int:
    """Run the command line; returns the exit code."""
    return run_command("evaluate.py", prepare, lambda plan: play(**plan), f"interrupted; {GO_ON}")


if __name__ == "__main__":
    sys.exit(main())
