"""How a run shows itself: a bar in a terminal, lines elsewhere, and curves for TensorBoard."""

from __future__ import annotations

import os
import socket
import struct
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any

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
    """Event files for TensorBoard, written as they are added to; None as a folder writes nothing.

    TensorBoard's own writer works in a thread, which tells of a full disk late or never; here `add` does so at once.

    Args:
        folder: folder of the files, made if missing.
        since: decisions where the curves go on: what older files have beyond them is not shown. None: a new run.

    Raises:
        OSError: nothing can be written there.
    """

    def __init__(self, folder: Path | None, since: int | None = None) -> None:
        self._file: IO[bytes] | None = None
        if folder is None:
            return
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog  # takes a second to import
        from tensorboard.summary.writer.record_writer import RecordWriter

        folder.mkdir(parents=True, exist_ok=True)
        seconds, rest = divmod(time.time_ns(), 10**9)  # TensorBoard reads files in the order of their names
        name = f"events.out.tfevents.{seconds:010d}.{rest:09d}.{socket.gethostname()}.{os.getpid()}"
        self._path = folder / name
        self._file = self._path.open("xb")
        self._records = RecordWriter(self._file)
        self._event = Event
        self._write(file_version="brain.Event:2")
        if since is not None:
            self._write(step=since + 1, session_log=SessionLog(status=SessionLog.START))

    def __enter__(self) -> Curves:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            with suppress(OSError):  # what could not be written has been told of
                self._file.close()

    def _write(self, **content: Any) -> None:
        assert self._file is not None
        try:
            self._records.write(self._event(wall_time=time.time(), **content).SerializeToString())
            self._file.flush()
        except OSError as error:
            raise OSError(error.errno, error.strerror or str(error), str(self._path)) from None

    def add(self, values: Mapping[str, float], decisions: int) -> None:
        """Add a point to each curve, by name, at a number of decisions."""
        if self._file is not None:
            from tensorboard.compat.proto.summary_pb2 import Summary

            points = [Summary.Value(tag=name, simple_value=value) for name, value in values.items()]
            self._write(step=decisions, summary=Summary(value=points))

    def add_text(self, name: str, text: str, decisions: int) -> None:
        """Add a text as it stands, line by line."""
        if self._file is not None:
            from torch.utils.tensorboard.summary import text as text_summary

            # Set in: TensorBoard takes texts for Markdown.
            block = "\n".join(f"    {line}" for line in text.splitlines())
            summary = text_summary(name, block)  # type: ignore[no-untyped-call]
            self._write(step=decisions, summary=summary)

    def add_png(self, name: str, png: bytes, decisions: int) -> None:
        """Add a picture, as the bytes of a PNG."""
        if self._file is not None:
            from tensorboard.compat.proto.summary_pb2 import Summary

            width, height = struct.unpack(">II", png[16:24])
            image = Summary.Image(height=height, width=width, colorspace=4, encoded_image_string=png)
            self._write(step=decisions, summary=Summary(value=[Summary.Value(tag=name, image=image)]))
