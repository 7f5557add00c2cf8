"""Measure what methods of learning are worth: train variants of a configuration over several seeds and compare them.

``ablate.py configs/ablation/methods.yaml --config configs/kachuful.yaml --decisions 20000000``; can be interrupted and
called again.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from jsonargparse import ArgumentParser

from training.command import FAILED, run_command

if TYPE_CHECKING:
    from training.ablation import Plan


def prepare() -> Plan:
    """Check everything that the command line asks for; ValueError says what is wrong."""
    parser = ArgumentParser(prog="ablate.py", description=__doc__.split("\n")[0], exit_on_error=False)
    parser.add_argument("variants", type=str, help="YAML file: train.py's options by the variant's name")
    parser.add_argument("--config", type=str, help="YAML file of the settings that all share", required=True)
    parser.add_argument("--decisions", type=int, default=20_000_000, help="budget of each training")
    parser.add_argument("--seeds", type=int, default=2, help="trainings of each variant")
    parser.add_argument("--against", type=str, default="heuristic", help="opponent of the measurement")
    parser.add_argument("--deals", type=int, default=500, help="duplicate deals of each measurement")
    parser.add_argument("--out", type=str, default="runs/ablation", help="folder of the runs and of the result")
    parser.add_argument("--workers", type=int, default=2, help="trainings at a time, of one thread each")
    args = parser.parse_args()
    from training.ablation import Plan, read_variants

    for name in ("decisions", "seeds", "deals", "workers"):
        if getattr(args, name) < 1:
            raise ValueError(f"--{name} {getattr(args, name)} is not possible: it must be at least 1")
    base = [
        "--config",
        args.config,
        "--run.decisions",
        str(args.decisions),
        "--run.minutes",
        "null",
        "--run.evaluate_minutes",
        "null",
    ]
    variants = read_variants(Path(args.variants))
    plan = Plan(base, variants, list(range(args.seeds)), args.against, args.deals, Path(args.out), args.workers)
    plan.check()
    return plan


def work(plan: Plan) -> int:
    """Train, measure, print and write; returns the exit code."""
    from rich.console import Console

    from training.ablation import compare, measure_all, table, train_all
    from training.report import write_json

    errors = Console(stderr=True)
    try:
        train_all(plan, errors.print)
    except RuntimeError as error:
        print(f"ablate.py: {error}", file=sys.stderr)
        return FAILED
    document = compare(plan, measure_all(plan, errors.print))
    write_json(plan.out / "ablation.json", document)
    Console().print(table(document))
    return 0


def main() -> int:
    """Run the command line; returns the exit code."""
    return run_command("ablate.py", prepare, work, "interrupted; call it again to go on")


if __name__ == "__main__":
    sys.exit(main())
