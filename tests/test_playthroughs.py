"""Golden playthroughs: what the games of tests/data/playthroughs show must not change unnoticed."""

from __future__ import annotations

import dataclasses
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from envs import SEAT_IDS
from envs.game import find_game

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests" / "data" / "playthroughs"
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "playthroughs.py"))


@pytest.mark.parametrize("name", SCRIPT["PLAYTHROUGHS"])
def test_the_game_still_goes_as_written(name: str) -> None:
    """Where the change is wanted: python scripts/playthroughs.py, and look at the differences."""
    text = SCRIPT["playthrough"](name, SCRIPT["PLAYTHROUGHS"][name])
    assert text == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def test_there_are_no_other_files() -> None:
    found = {path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*") if path.is_file()}
    assert found == set(SCRIPT["PLAYTHROUGHS"])


@pytest.mark.parametrize("name", dict.fromkeys(SEAT_IDS.values()))
def test_every_option_is_there_once(name: str) -> None:
    game = find_game(name)
    plans = [plan for plan in SCRIPT["PLAYTHROUGHS"].values() if plan.game == name]
    played = [dataclasses.asdict(game.make_rules(plan.preset, **plan.options)) for plan in plans]
    for option in dataclasses.asdict(game.make_rules()):
        assert len({rules[option] for rules in played}) > 1, option


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["playthroughs.py", *arguments])
    return SCRIPT["main"]()


def test_the_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = SCRIPT["main"].__globals__
    monkeypatch.setitem(names, "ROOT", tmp_path)
    monkeypatch.setitem(names, "PLAYTHROUGHS", {"kachuful/forehead": SCRIPT["PLAYTHROUGHS"]["kachuful/forehead"]})
    path = "tests/data/playthroughs/kachuful/forehead.txt"
    assert run(monkeypatch, "--check") == 1
    assert capsys.readouterr().out == f"{path}: out of date; see python scripts/playthroughs.py\n"
    assert not (tmp_path / path).exists()
    assert run(monkeypatch) == 0
    assert capsys.readouterr().out == f"{path}: written\n"
    assert run(monkeypatch, "--check") == run(monkeypatch) == 0
    assert capsys.readouterr().out == ""
    assert (tmp_path / path).read_bytes() == (ROOT / path).read_bytes()
