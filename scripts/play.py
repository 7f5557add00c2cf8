"""Play a game in the terminal, watch agents play one, or step through a recorded one.

python scripts/play.py
python scripts/play.py --game kaschlan --rules.num_players 3 --seat random --opponents heuristic --save game.json
python scripts/play.py --load game.json
python scripts/play.py --replay games.jsonl --game-number 4 --open

Opponents and hints are agents: built-in players by name, searches with their options, checkpoints by path. Type h at
the prompt for what can be typed there. What is typed may come through a pipe; then nothing is coloured.
"""

from __future__ import annotations

import sys
from typing import Any

from jsonargparse import ArgumentParser

from training.command import run_command


def build_parser() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(prog="play.py", description=__doc__.split("\n")[0], exit_on_error=False, allow_abbrev=False)
    parser.add_argument("--game", type=str, help="the game (default: the file's, or kachuful)")
    parser.add_argument("--seat", type=str, help="where you sit: a seat, random, or none to look on (default: 0)")
    parser.add_argument("--opponents", type=str, help="agents, separated by commas: one for all, or one a seat")
    parser.add_argument("--seed", type=int, help="names the deals and the agents' chance (default: a new one)")
    parser.add_argument("--rules", type=dict[str, str], default={}, help="--rules.OPTION VALUE")
    parser.add_argument("--hints", type=str, help="agent that is asked for hints (default: the strongest rule player)")
    parser.add_argument("--position", type=str, help="begin from a JSON file of a snapshot, or of a part of one")
    parser.add_argument("--load", type=str, help="go on with a saved game")
    parser.add_argument("--replay", type=str, help="look at a saved game, step by step")
    parser.add_argument("--game-number", type=int, help="which game of a .jsonl file to load or replay, from 1")
    parser.add_argument("--save", type=str, help="keep the game in this file, which must not exist unless loaded")
    parser.add_argument("--open", action="store_true", help="show all hands to those who look on")
    return parser


def prepare() -> Any:
    """Set up what the command line asks for. ValueError says what is wrong."""
    args = build_parser().parse_args()
    from training.play.setup import prepare as set_up

    return set_up(args)


def main() -> int:
    """Run the command line; returns the exit code."""
    return run_command("play.py", prepare, lambda session: session.run())


if __name__ == "__main__":
    sys.exit(main())
