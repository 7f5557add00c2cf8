"""Golden playthroughs: what the games of tests/data/playthroughs show must not change unnoticed."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests" / "data" / "playthroughs"
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "playthroughs.py"))


@pytest.mark.parametrize("name", SCRIPT["PLAYTHROUGHS"])
def test_the_game_still_goes_as_written(name: str) -> None:
    """Where the change is wanted: python scripts/playthroughs.py, and look at the differences."""
    text = SCRIPT["playthrough"](name, SCRIPT["PLAYTHROUGHS"][name])
    assert text == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def test_there_are_no_other_files() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(SCRIPT["PLAYTHROUGHS"])


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["playthroughs.py", *arguments])
    return SCRIPT["main"]()


def test_the_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = SCRIPT["main"].__globals__
    monkeypatch.setitem(names, "ROOT", tmp_path)
    monkeypatch.setitem(names, "PLAYTHROUGHS", {"forehead": SCRIPT["PLAYTHROUGHS"]["forehead"]})
    path = "tests/data/playthroughs/forehead.txt"
    assert run(monkeypatch, "--check") == 1
    assert capsys.readouterr().out == f"{path}: out of date; see python scripts/playthroughs.py\n"
    assert not (tmp_path / path).exists()
    assert run(monkeypatch) == 0
    assert capsys.readouterr().out == f"{path}: written\n"
    assert run(monkeypatch, "--check") == run(monkeypatch) == 0
    assert capsys.readouterr().out == ""
    assert (tmp_path / path).read_bytes() == (ROOT / path).read_bytes()
