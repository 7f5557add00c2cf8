"""Make a shipped agent of a run: its last checkpoint's policy and a model card, in checkpoints/NAME.

python scripts/evaluate.py runs/kachuful --against counting,heuristic --deals 2000 --seed 1 --json result.json
python scripts/ship.py runs/kachuful kachuful --results result.json
python scripts/ship.py            # only write the list of agents, checkpoints/README.md, anew

The card says what the agent is, how it was trained, what it reached (by the files that evaluate.py --json has written
about the same checkpoint) and the commands that repeat both.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from jsonargparse import ArgumentParser

from training.command import run_command

if TYPE_CHECKING:
    from training.ship import Shipment

FOLDER = Path("checkpoints")


def build_parser() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(prog="ship.py", description=__doc__.split("\n")[0], exit_on_error=False, allow_abbrev=False)
    parser.add_argument("run", type=str, nargs="?", help="folder of a run (its last checkpoint) or of a checkpoint")
    parser.add_argument("name", type=str, nargs="?", help=f"name of the agent: its folder is {FOLDER}/NAME")
    parser.add_argument("--results", type=str, nargs="+", default=[], help="files that evaluate.py --json has written")
    parser.add_argument("--machine", type=str, help="what it was trained on, where the checkpoint does not say")
    parser.add_argument("--replace", action="store_true", help="replace an agent of the same name")
    return parser


def prepare() -> tuple[Shipment | None, bool]:
    """Read everything that the command line asks for: what to ship, and whether it may replace another."""
    args = build_parser().parse_args()
    if args.run is None:
        if args.results or args.machine or args.replace:
            raise ValueError("give the folder of a run and a name")
        if not FOLDER.is_dir():
            raise ValueError(f"there is no folder {FOLDER} here; agents are shipped into it")
        return None, False
    if args.name is None:
        raise ValueError(f"give {args.run} a name, too: ship.py {args.run} NAME")
    from training.ship import load_shipment

    shipment = load_shipment(Path(args.run), args.name, [Path(path) for path in args.results], args.machine)
    if (FOLDER / args.name).exists() and not args.replace:
        raise ValueError(f"{FOLDER / args.name} already exists; --replace replaces it")
    return shipment, args.replace


def work(shipment: Shipment | None, replace: bool) -> int:
    """Write the agent and the list; returns the exit code."""
    from training.ship import ship, write_page

    if shipment is not None:
        folder = ship(shipment, FOLDER, replace)
        print(f"agent: {folder} ({sum(path.stat().st_size for path in folder.iterdir()):,} bytes)")
    else:
        print(f"list: {write_page(FOLDER)}")
    return 0


def main() -> int:
    """Run the command line; returns the exit code."""
    return run_command("ship.py", prepare, lambda plan: work(*plan))


if __name__ == "__main__":
    sys.exit(main())
