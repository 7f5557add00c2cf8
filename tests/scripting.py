"""Running the project's command lines, inside the tests' process, and pieces of Python in another."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run_script(monkeypatch: pytest.MonkeyPatch, script: str, *arguments: object) -> int:
    """Run a script of scripts/ inside this process; returns its exit code."""
    monkeypatch.setattr(sys, "argv", [script, *map(str, arguments)])
    with pytest.raises(SystemExit) as result:
        runpy.run_path(str(ROOT / "scripts" / script), run_name="__main__")
    return int(result.value.code or 0)


def run_code(code: str, **environment: str) -> str:
    """Run Python code in a process of its own, warnings being errors; returns its output, after exit code 0."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
