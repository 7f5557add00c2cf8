"""Measure how exploitable a checkpoint's policy is: train another policy against it, and say what that one gains.

python scripts/best_response.py checkpoints/kachuful --decisions 50e6 --deals 2000 --seed 1
python scripts/best_response.py checkpoints/kachuful:sampled --from-scratch --out runs/response
python scripts/best_response.py --resume runs/response

Frozen copies of the policy hold all other seats. Every tenth of the budget the gain is measured on a fifth of the
deals, at the end on all of them; each deal is played once from every seat. The result is a lower bound: what this
budget has found.
"""

from __future__ import annotations

import dataclasses
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from jsonargparse import ArgumentParser

from training.command import run_command

if TYPE_CHECKING:
    from training.best_response import BestResponse


def build_parser() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog="best_response.py", description=__doc__.split("\n")[0], exit_on_error=False, allow_abbrev=False
    )
    parser.add_argument("checkpoint", type=str, nargs="?", help="checkpoint or run; :sampled lets it sample")
    parser.add_argument("--decisions", type=float, help="budget of the policy that learns, such as 50e6 (default)")
    parser.add_argument("--out", type=str, help="folder of the run (default: runs/best-response-<date>-<time>)")
    parser.add_argument("--deals", type=int, help="deals of the last measurement (default: 1000)")
    parser.add_argument("--seed", type=int, help="seed of the learning, the deals and the agents' chance (default: 0)")
    parser.add_argument("--threads", type=int, help="processor threads (default: 2)")
    parser.add_argument("--from-scratch", action="store_true", help="begin from random weights, not the checkpoint's")
    parser.add_argument("--resume", type=str, help="folder of a run to go on with; --decisions and --deals may grow")
    return parser


def prepare() -> BestResponse:
    """Set up what the command line asks for; ValueError says what is wrong."""
    args = build_parser().parse_args()
    from training.best_response import BestResponse, Settings, read_document
    from training.checkpoint import find_checkpoint

    if (args.checkpoint is None) == (args.resume is None):
        raise ValueError("give a checkpoint to learn against, or --resume and the folder of a run")
    changes = {name: getattr(args, name) for name in ("decisions", "deals", "seed", "threads")}
    changes = {name: value for name, value in changes.items() if value is not None}
    for name, value, least, most in (
        ("decisions", changes.get("decisions", 1), 1, 1e15),
        ("deals", changes.get("deals", 2), 2, 1e9),
        ("seed", changes.get("seed", 0), 0, 2**30 - 1),
        ("threads", changes.get("threads", 1), 1, 1024),
    ):
        if not least <= value <= most or value != int(value):
            raise ValueError(f"--{name} {value} is not possible: it must be a whole number of at least {least}")
        changes = {**changes, **({name: int(value)} if name in changes else {})}
    if args.resume is not None:
        if args.out or args.from_scratch or changes.keys() & {"seed", "threads"}:
            raise ValueError(
                "--resume takes the settings of its run; leave out --out, --seed, --threads, --from-scratch"
            )
        run = Path(args.resume)
        settings = Settings(**read_document(run)["settings"])
        return BestResponse(dataclasses.replace(settings, **changes), run, resume=True)
    mode = ":sampled" if args.checkpoint.endswith(":sampled") else ""
    folder = find_checkpoint(args.checkpoint.removesuffix(":sampled").removesuffix(":greedy"))
    run = Path(args.out or time.strftime("runs/best-response-%Y%m%d-%H%M%S"))
    if run.exists() and not (run.is_dir() and not any(run.iterdir())):
        raise ValueError(f"{run} already exists; give --out another folder, or go on with --resume {run}")
    return BestResponse(Settings(f"{folder}{mode}", from_scratch=args.from_scratch, **changes), run)


def work(response: BestResponse) -> int:
    """Learn and measure; returns the exit code."""
    from rich.console import Console

    from training.best_response import CURVE, DOCUMENT, curve_table, read_document

    run = response.run
    finished = response.go()
    Console().print(curve_table(read_document(run)))
    print(f"results: {run / DOCUMENT}, {run / CURVE}")
    print(f"curves: tensorboard --logdir {run / 'tensorboard'}")
    if not finished:
        print(f"interrupted; go on with: best_response.py --resume {run}", file=sys.stderr)
        return 130
    return 0


def main() -> int:
    """Run the command line; returns the exit code."""
    return run_command(
        "best_response.py", prepare, work, "interrupted at once; the run keeps its last checkpoint, --resume goes on"
    )


if __name__ == "__main__":
    sys.exit(main())
