"""Train an agent by self-play: ``train.py --config configs/kachuful.yaml``, any setting as ``--section.key value``."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from training.command import FAILED, run_command

if TYPE_CHECKING:
    from training.trainer import Trainer


def prepare(arguments: Sequence[str]) -> tuple[Trainer, Path]:
    """Set up the run that a command line asks for; returns its trainer and folder. ValueError says what is wrong."""
    # Importing takes seconds, and a Ctrl-C meanwhile should end quietly.
    from training.checkpoint import MANIFEST, find_checkpoint, list_checkpoints
    from training.config import ConfigError, make_parser, parse_config
    from training.ranks import join_ranks, restarts
    from training.trainer import Trainer

    parser = make_parser(prog="train.py", description=__doc__)
    parser.add_argument("--out", type=str, help="folder of the new run (default: runs/<game>-<date>-<time>)")
    parser.add_argument("--resume", type=str, help="folder of a run to go on with; settings given here replace its own")
    given = list(arguments)
    resumed = _value_of("--resume", given)
    if resumed is not None:
        if _value_of("--config", given) is not None:
            raise ConfigError("--resume takes the settings of its run; leave out --config")
        settings = Path(resumed) / "config.yaml"
        if not settings.is_file() or (Path(resumed) / MANIFEST).is_file():
            find_checkpoint(resumed)
            raise ConfigError(f"--resume takes the folder of a run, with its config.yaml; {resumed} is a part of one")
        given = ["--config", str(settings), *given]
    config, own = parse_config(parser, given)
    if own.resume and own.out:
        raise ConfigError("--resume goes on in its own folder; leave out --out")
    ranks = join_ranks()
    if ranks.size > 1 and not (own.resume or own.out):
        raise ConfigError("several processes need the name of the run's folder: --out FOLDER")
    run = Path(own.resume or own.out or time.strftime(f"runs/{config.game}-%Y%m%d-%H%M%S"))
    again = bool(own.resume) or restarts() > 0
    if ranks.is_first and not again and _is_taken(run):
        raise ConfigError(f"{run} already exists; give --out another folder, or go on with --resume {run}")
    with _patience():
        trainer = Trainer(config, ranks)
    # What ended before its first checkpoint begins again.
    if again and list_checkpoints(run):
        trainer.resume(run)
    if not ranks.agree(trainer.decisions):
        raise ConfigError(f"the processes see different checkpoints in {run}: all of them need the same folder")
    if ranks.is_first:
        try:
            run.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"--out {run} cannot be made: {error.strerror}") from None
    return trainer, run


def _is_taken(run: Path) -> bool:
    # What a process that was killed leaves of a file that it was writing is hidden.
    return run.exists() and not (run.is_dir() and all(path.name.startswith(".") for path in run.iterdir()))


def train(trainer: Trainer, run: Path) -> int:
    """Train to the end of the run's budget, or to a Ctrl-C; returns the exit code."""
    from training.checkpoint import BEST, find_checkpoint, read_best
    from training.ranks import LostRankError
    from training.undo import DivergenceError

    if trainer.is_finished():
        print("nothing is left of the run's budget; raise --run.decisions or --run.minutes", file=sys.stderr)
    try:
        finished = trainer.train(run)
    except (DivergenceError, LostRankError) as error:
        print(f"train.py: {error}; the run keeps its last checkpoint", file=sys.stderr)
        return FAILED
    trainer.ranks.close()
    if not trainer.ranks.is_first:
        return 0
    print(f"checkpoint: {find_checkpoint(run)}")
    if read_best(run) is not None:
        print(f"best in evaluations: {run / BEST}")
    print(f"curves: tensorboard --logdir {run / 'tensorboard'}")
    if not finished:
        print(f"interrupted; go on with: train.py --resume {run}", file=sys.stderr)
        return 130
    return 0


def _value_of(option: str, arguments: Sequence[str]) -> str | None:
    for at, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name == option:
            return value if equals else arguments[at + 1] if at + 1 < len(arguments) else None
    return None


@contextmanager
def _patience() -> Iterator[None]:
    """Say what takes so long, if it does."""
    timer = threading.Timer(3, print, ["compiling the game, which takes up to a minute once ..."], {"file": sys.stderr})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _stop(_signal: int, _frame: FrameType | None) -> None:
    # An exception could be lost inside the compiler, which calls back into Python.
    print("train.py: interrupted", file=sys.stderr, flush=True)
    os._exit(130)


def main() -> int:
    """Run the command line; returns the exit code."""
    before = signal.signal(signal.SIGINT, _stop)
    try:
        return run_command(
            "train.py",
            lambda: prepare(sys.argv[1:]),
            lambda plan: train(*plan),
            "interrupted at once; the run keeps its last checkpoint",
        )
    finally:
        signal.signal(signal.SIGINT, before)


if __name__ == "__main__":
    sys.exit(main())
