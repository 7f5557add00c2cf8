"""How the command lines in scripts/ end: one line for whatever went wrong, and an exit code."""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
from argparse import ArgumentError
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from training.errors import AgentError

T = TypeVar("T")

FAILED, WRONG, INTERRUPTED = 1, 2, 130
"""Exit codes: a file or the output could not be written, bad input, Ctrl-C."""


def run_command(
    name: str, prepare: Callable[[], T], work: Callable[[T], int | None], interrupted: str = "interrupted"
) -> int:
    """Run a command line; what went wrong is told in one line on the error stream.

    Heavy imports belong inside `prepare` and `work`: a wrong command line is then told at once, and Ctrl-C always
    caught.

    Args:
        name: the script's name, before each message.
        prepare: reads the command line and checks all that it asks for; its result is what `work` takes. A ValueError,
            OSError or parser's error that it raises is bad input.
        work: does what is asked for; returns an exit code, None for 0.
        interrupted: what is said after Ctrl-C in `work`.

    Returns:
        The exit code: 2 for bad input, 1 where the system fails to read or write something, 130 after Ctrl-C.
    """
    said = "interrupted"
    with _insistent_interrupts():
        try:
            try:
                plan = prepare()
            except (ArgumentError, OSError, ValueError) as error:
                return _tell(name, _text(error), WRONG)
            said = interrupted
            code = work(plan) or 0
            sys.stdout.flush()
        except KeyboardInterrupt:
            return _tell(name, said, INTERRUPTED)
        except AgentError as error:
            return _tell(name, str(error), WRONG)
        except OSError as error:
            _drop_output()
            # A reader that has seen enough (head, less) is no failure to tell of.
            return FAILED if isinstance(error, BrokenPipeError) else _tell(name, _text(error), FAILED)
    return code


@contextmanager
def _insistent_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt on Ctrl-C, and once more each second: the compiler, calling back, may swallow one.

    A handler that the caller has set, and other threads than the main one, are left alone.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield
        return
    timer: threading.Timer | None = None

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        nonlocal timer
        timer = threading.Timer(1.0, _interrupt_main_thread)
        timer.daemon = True
        timer.start()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if timer is not None:
            timer.cancel()


def _interrupt_main_thread() -> None:
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)  # ends what it waits for, too
    else:
        _thread.interrupt_main()


def _drop_output() -> None:
    """Forget output that cannot be written: it would raise once more at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _text(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f"{error.filename}: "
        return f"{where}{error.strerror}"
    return str(error)


def _tell(name: str, text: str, code: int) -> int:
    print(f"{name}: {' '.join(text.split())}", file=sys.stderr)
    return code
