"""Talking with a person: lines printed and read, in a terminal or through pipes; Ctrl-C and the end of input."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from rich.console import Console
from rich.text import Text


class Talk:
    """The console, and what is typed there."""

    def __init__(self) -> None:
        self.console = Console(highlight=False)
        self._interrupted = False
        self._waiting = False

    @property
    def bar(self) -> str:
        """What bars are drawn with."""
        return "#" if self.console.options.ascii_only else "█"

    def show(self, *things: Any) -> None:
        """Print things one below the other; texts are not wrapped."""
        for thing in things:
            if isinstance(thing, str):
                thing = Text(thing)
            self.console.print(thing, soft_wrap=isinstance(thing, Text))

    def ask(self, prompt: str) -> str:
        """Ask for a line; EOFError at the end of input, KeyboardInterrupt at Ctrl-C."""
        self.check()
        self._waiting = True
        try:
            if sys.stdin.isatty():
                return self._ask_terminal(prompt)
            self.console.print(Text(prompt), end="", soft_wrap=True)
            line = sys.stdin.readline()
            self.console.print(Text(line.rstrip("\n")), soft_wrap=True)
        finally:
            self._waiting = False
        if not line:
            raise EOFError
        return line.rstrip("\n")

    def _ask_terminal(self, prompt: str) -> str:
        with suppress(ImportError):  # not on every system
            import readline  # noqa: F401 - lets `input` edit the line
        try:
            return input(prompt)
        except EOFError:
            self.show("")
            raise

    def check(self) -> None:
        """Raise KeyboardInterrupt where a Ctrl-C was swallowed: compiled code that calls back may do so."""
        if self._interrupted:
            self._interrupted = False
            raise KeyboardInterrupt

    def interrupted(self) -> None:
        """A KeyboardInterrupt has been seen to."""
        self._interrupted = False

    @contextmanager
    def interrupts(self) -> Iterator[None]:
        """Raise KeyboardInterrupt once for each Ctrl-C, so that there is time for a question after it."""
        ignored = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
        if ignored or threading.current_thread() is not threading.main_thread():
            yield
            return

        def interrupt(_signal: int, _frame: FrameType | None) -> None:
            self._interrupted = not self._waiting
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
