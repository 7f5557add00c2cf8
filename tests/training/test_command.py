"""How command lines end: exit codes, and one line for whatever went wrong."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from argparse import ArgumentError
from pathlib import Path
from typing import Any

import pytest

from training.command import run_command

ROOT = Path(__file__).parents[2]


def raising(error: BaseException) -> Any:
    def function(*_: Any) -> None:
        raise error

    return function


def test_the_plan_goes_to_the_work(capsys: pytest.CaptureFixture[str]) -> None:
    done: list[int] = []
    assert run_command("x.py", lambda: 7, done.append) == 0
    assert run_command("x.py", lambda: 7, lambda plan: plan) == 7
    assert done == [7]
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("it is\n  not possible"), "it is not possible"),
        (ArgumentError(None, "no such option"), "no such option"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "a.json"), "a.json: No such file or directory"),
    ],
)
def test_bad_input(error: Exception, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command("x.py", raising(error), pytest.fail) == 2
    assert capsys.readouterr() == ("", f"x.py: {text}\n")


def test_a_disk_that_is_full(capsys: pytest.CaptureFixture[str]) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    assert run_command("x.py", lambda: 0, raising(full)) == 1
    assert capsys.readouterr().err == "x.py: No space left on device\n"
    assert run_command("x.py", lambda: 0, raising(BrokenPipeError())) == 1
    assert capsys.readouterr().err == ""


def test_an_error_in_the_work_is_no_bad_input() -> None:
    with pytest.raises(ValueError, match="a mistake of ours"):
        run_command("x.py", lambda: 0, raising(ValueError("a mistake of ours")))


def test_ctrl_c(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGINT)
    assert run_command("x.py", raising(KeyboardInterrupt()), pytest.fail, "all is lost") == 130
    assert run_command("x.py", lambda: 0, raising(KeyboardInterrupt()), "all is lost") == 130
    assert capsys.readouterr().err == "x.py: interrupted\nx.py: all is lost\n"
    assert signal.getsignal(signal.SIGINT) is before


DEAF = """
import sys, time
from training.command import run_command

def work(_):
    print("ready", flush=True)
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        print("swallowed", flush=True)
    time.sleep(60)

sys.exit(run_command("x.py", lambda: 0, work))
"""


def process(code: str, **arguments: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code]
    return subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **arguments)


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_an_interrupt_that_something_swallows_comes_again() -> None:
    run = process(DEAF)
    assert run.stdout is not None
    assert run.stdout.readline() == "ready\n"
    time.sleep(0.1)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=30)
    assert (run.returncode, out, err) == (130, "swallowed\n", "x.py: interrupted\n")


PRINTS = """
import sys
from training.command import run_command
sys.exit(run_command("x.py", lambda: 0, lambda _: print("x" * 1000)))
"""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_output_that_cannot_be_written() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", PRINTS], cwd=ROOT, text=True, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (1, "x.py: No space left on device\n")


def test_a_reader_that_has_gone() -> None:
    run = process(PRINTS.replace("1000", "10_000_000"))
    assert run.stdout is not None
    assert run.stderr is not None
    run.stdout.close()
    assert run.stderr.read() == ""
    assert run.wait(timeout=30) == 1
