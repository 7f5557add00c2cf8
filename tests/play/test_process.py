"""scripts/play.py as a process of its own: signals and terminals."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from terminal import ROOT, SCRIPT


def test_ctrl_c_of_another_process(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "--seed", "3", "--rules.max_hand", "2"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=tmp_path, text=True, env=env, **pipes) as process:  # type: ignore[call-overload]
        process.stdin.write("1\n")
        process.stdin.flush()
        for _ in range(2):  # the bid, then the play that it waits for
            while "you may: " not in (line := process.stdout.readline()):
                assert line
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error == ""
    assert json.loads((tmp_path / "kachuful-3.json").read_text())["moves"][-1]


def test_a_terminal_has_colours(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty", reason="needs a pseudo-terminal")
    master, slave = pty.openpty()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
    env.pop("NO_COLOR", None)
    command = [sys.executable, str(SCRIPT), "--seed", "3", "--rules.max_hand", "2"]
    with subprocess.Popen(command, cwd=tmp_path, env=env, stdin=slave, stdout=slave, stderr=slave) as process:
        os.close(slave)
        shown = b""
        for wanted, typed in ((b"bid> ", b"1\n"), (b"play> ", b"\x04"), (b"n: no> ", b"n\n"), (b"", b"")):
            while not wanted or wanted not in shown:
                ready, _, _ = select.select([master], [], [], 60)
                part = _read(master) if ready else b""
                shown += part
                if not part:
                    break
            os.write(master, typed)
        process.wait(60)
    os.close(master)
    assert process.returncode == 0, shown
    assert b"\x1b[" in shown
    assert b"save the game?" in shown
    assert not list(tmp_path.iterdir())


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # nobody writes to it any more
        return b""
