"""Measure an agent against others by duplicate deals.

python scripts/evaluate.py runs/kachuful --against counting,random --deals 2000 --seed 1 --json result.json
python scripts/evaluate.py counting --game kachuful --against random --rules.num_players 5

python scripts/evaluate.py pimc:deals=64,exact=4 --game kachuful --against heuristic --deals 100

Each name in --against is one table of its own, with that agent in all other seats. A deal is a whole game, played once
with the candidate in each seat. Agents are built-in players by name, searches with their options, checkpoints by path
(policies take their likeliest action, or sample with :sampled), or package.module:factory.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser

from training.command import run_command


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
    parser.add_argument("--json", type=str, help="write the result to this file too")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--greedy", action="store_true", help="policies take their likeliest action (default)")
    choice.add_argument("--sampled", action="store_true", help="policies sample their actions")
    return parser


def prepare() -> dict[str, Any]:
    """Check everything that the command line asks for; returns what `play` needs. ValueError says what is wrong."""
    args = build_parser().parse_args()
    from envs.agents import agent_names
    from envs.game import find_game
    from training.agents import PolicyAgent, check_seats, load_agent, split_specs
    from training.options import option_value, override
    from training.report import check_json_path

    if args.deals < 1:
        raise ValueError(f"--deals {args.deals} is not possible: it must be at least 1")
    if not 0 <= args.seed < 2**63:
        raise ValueError(f"--seed {args.seed} is not possible: it must be from 0 to 2**63 - 1")
    if args.json:
        check_json_path(Path(args.json))
    candidate = load_agent(args.candidate, args.game, greedy=not args.sampled)
    if isinstance(candidate, PolicyAgent):
        game, options = candidate.policy.game, dict(candidate.policy.rules)
    else:
        game, options = find_game(args.game), {}
    changes = {name: option_value(text) for name, text in args.rules.items()}
    rules = game.make_rules(**override(options, changes))
    names = split_specs(args.against) if args.against else agent_names(game)
    opponents = [load_agent(name, game, greedy=not args.sampled) for name in names]
    for agent in (candidate, *opponents):
        check_seats(agent, rules)
    return {"args": args, "game": game, "rules": rules, "candidate": candidate, "opponents": opponents}


def _show(bar: Any, task: Any, done: int) -> None:
    bar.update(task, completed=done)


def play(args: Any, game: Any, rules: Any, candidate: Any, opponents: list[Any]) -> None:
    """Play the matches, print the table and write the file."""
    from rich.console import Console

    from training.arena import play_match
    from training.report import match_document, match_table, progress_bar, summarize, write_json

    matches = []
    with progress_bar() as bar:
        for opponent in opponents:
            task = bar.add_task(f"against {opponent.name}", total=args.deals)
            progress = partial(_show, bar, task)
            matches.append(play_match(game, rules, candidate, opponent, args.deals, args.seed, progress=progress))
        summaries = [summarize(match) for match in matches]
    Console().print(match_table(summaries))
    if args.json:
        write_json(Path(args.json), match_document(matches, summaries, sys.argv, not args.sampled))


def main() -> int:
    """Run the command line; returns the exit code."""
    return run_command("evaluate.py", prepare, lambda plan: play(**plan))


if __name__ == "__main__":
    sys.exit(main())
