"""How a run shows itself: a bar in a terminal, lines elsewhere, and curves for TensorBoard."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from training.opponents import SELF

LINE_SECONDS = 10.0
"""Seconds between lines where there is no terminal."""


class Display:
    """A progress bar in a terminal, a line every ten seconds elsewhere; on standard error.

    Args:
        total: decisions of the whole run.
        quiet: show nothing.
    """

    def __init__(self, total: int, quiet: bool = False) -> None:
        self.total = total
        self.quiet = quiet
        console = Console(stderr=True)
        self._bar: Progress | None = None
        self._due = 0.0
        if console.is_terminal and not quiet:
            self._bar = Progress(BarColumn(12), TextColumn("{task.description}"), console=console)
            self._task = self._bar.add_task("starting", total=1.0)

    def __enter__(self) -> Display:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def say(self, text: str) -> None:
        """Print a line."""
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        elif not self.quiet:
            print(text, file=sys.stderr, flush=True)

    def show(self, decisions: int, rate: float, left: float, done: float, rewards: Mapping[str, float]) -> None:
        """Show where the run stands.

        Args:
            decisions: decisions so far.
            rate: decisions per second.
            left: seconds left.
            done: part of the run that is done, 0..1.
            rewards: mean reward of a round by kind of table; that against itself says little and is not shown.
        """
        text = f"{decisions / 1e6:.1f}/{self.total / 1e6:.1f} M decisions, {rate / 1e3:.0f} k/s, "
        text += f"{int(left) // 60}:{int(left) % 60:02d} left"
        text += "".join(f", {name} {reward:+.2f}" for name, reward in rewards.items() if name != SELF)
        if self._bar is not None:
            self._bar.update(self._task, completed=done, description=text)
        elif time.monotonic() >= self._due:
            self._due = time.monotonic() + LINE_SECONDS
            self.say(text)


class Curves:
    """Event files for TensorBoard; None as a folder writes nothing."""

    def __init__(self, folder: Path | None) -> None:
        self._writer = None
        if folder is not None:
            from torch.utils.tensorboard import SummaryWriter  # takes a second to import

            self._writer = SummaryWriter(str(folder))  # type: ignore[no-untyped-call]

    def add(self, values: Mapping[str, float], decisions: int) -> None:
        """Add a point to each curve, by name, at a number of decisions."""
        if self._writer is not None:
            for name, value in values.items():
                self._writer.add_scalar(name, value, decisions)  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Write what is still in memory."""
        if self._writer is not None:
            self._writer.close()  # type: ignore[no-untyped-call]
