"""Write a checkpoint's policy as an ONNX model, which runs without PyTorch.

python scripts/export.py runs/kachuful --out kachuful.onnx

Inputs are observation (B, F) uint8 and action_mask (B, A) bool, outputs logits (B, A) float32 (minus infinity where
illegal), action (B,) int64 (the likeliest legal one) and value (B,) float32; B is free. The model's metadata say what
game, rules, features and actions it is for. Before the file takes its name, ONNX Runtime computes it on positions of
random play; where that differs from PyTorch, no file is written and the exit code is 1.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser

from training.command import FAILED, run_command


def build_parser() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog="export.py", description=__doc__.split("\n")[0], exit_on_error=False, allow_abbrev=False
    )
    parser.add_argument("checkpoint", type=str, help="folder of a checkpoint, or of a run (then its last one)")
    parser.add_argument("--out", type=str, required=True, help="file to write; an existing one is never overwritten")
    parser.add_argument("--tolerance", type=float, help="greatest difference from PyTorch allowed (default: 0.0001)")
    parser.add_argument("--seed", type=int, default=0, help="names the positions of the check")
    return parser


def prepare() -> dict[str, Any]:
    """Check everything that the command line asks for; returns what `write` needs. ValueError says what is wrong."""
    args = build_parser().parse_args()
    from training.checkpoint import find_checkpoint, load_policy, read_manifest
    from training.export import TOLERANCE, check_installed
    from training.report import check_json_path

    args.tolerance = TOLERANCE if args.tolerance is None else args.tolerance
    if not (args.tolerance >= 0 and math.isfinite(args.tolerance)):
        raise ValueError(f"--tolerance {args.tolerance} is not possible: it must be a number of at least 0")
    if not 0 <= args.seed < 2**62:
        raise ValueError(f"--seed {args.seed} is not possible: it must be from 0 to 2**62 - 1")
    out = Path(args.out)
    check_json_path(out)
    if out.exists():
        raise ValueError(f"{out} already exists and is never overwritten; give --out another file")
    check_installed()
    folder = find_checkpoint(args.checkpoint)
    policy = load_policy(folder)
    return {
        "policy": policy, "manifest": read_manifest(folder), "path": out,
        "tolerance": args.tolerance, "seed": args.seed,
    }  # fmt: skip


def write(policy: Any, manifest: Any, path: Path, tolerance: float, seed: int) -> int:
    """Write and check the model; returns the exit code."""
    from training.export import export_policy

    found, written = export_policy(policy, manifest, path, tolerance, seed)
    if not written:
        reason = f"ONNX Runtime and PyTorch differ by {found:.3g}, more than {tolerance:.3g}"
        print(f"export.py: {path} is not written: {reason}", file=sys.stderr)
        return FAILED
    print(f"model: {path} ({path.stat().st_size:,} bytes)")
    print(f"greatest difference from PyTorch: {found:.3g}")
    return 0


def main() -> int:
    """Run the command line; returns the exit code."""
    return run_command("export.py", prepare, lambda plan: write(**plan))


if __name__ == "__main__":
    sys.exit(main())
