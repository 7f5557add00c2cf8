"""The games' pages say what the code says."""

from __future__ import annotations

import dataclasses
import re
import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from envs.game import GAMES, find_game

ROOT = Path(__file__).parents[1]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "pages.py"))
# The toy game registers itself where tests import it, but has no page.
SHIPPED = [name for name, place in GAMES.items() if place.startswith("envs.")]
PAGES = {name: ROOT / "envs" / name / "README.md" for name in SHIPPED}


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["pages.py", *arguments])
    return SCRIPT["main"]()


def test_the_pages_are_up_to_date(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Where not: python scripts/pages.py."""
    assert run(monkeypatch, "--check") == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", SHIPPED)
def test_a_page_has_every_part(name: str) -> None:
    text = PAGES[name].read_text(encoding="utf-8")
    assert re.findall(r"<!-- (\w+) -->", text) == re.findall(r"<!-- /(\w+) -->", text)
    assert set(re.findall(r"<!-- (\w+) -->", text)) == set(SCRIPT["PARTS"])
    game = find_game(name)
    for option in (field.name for field in dataclasses.fields(game.make_rules())):
        assert f"\n| `{option}` |" in text
    for preset in game.presets:
        assert f"\n| `{preset}` |" in text


@pytest.mark.parametrize("name", SHIPPED)
def test_the_offsets_are_those_of_the_layout(name: str) -> None:
    """Every row of the observation table, worked out for each seat, leads to a block of that name and width."""
    game = find_game(name)
    layout = game.layout(game.make_rules().num_players, False)
    found = {}
    for place, width, block in re.findall(r"(?m)^\| (\d[^|]*) \| (\d+) \| `([^`]+)` \|", SCRIPT["observation"](game)):
        first, step, start = re.fullmatch(r"(\d+)(?: \+ (\d+) (?:i|\(i - (\d+)\)))?", place).groups()  # type: ignore[union-attr]
        for i in range(int(start or 0), game.make_rules().num_players) if step else [0]:
            offset = int(first) + int(step or 0) * (i - int(start or 0))
            found[block.replace("+i", f"+{i}")] = (offset, int(width))
    assert found == {block.name: (layout.offsets[block.name], len(block.labels)) for block in layout.blocks}


@pytest.mark.parametrize("name", SHIPPED)
def test_the_examples_run(name: str) -> None:
    examples = re.findall(r"```python\n(.*?)```", PAGES[name].read_text(encoding="utf-8"), re.DOTALL)
    assert examples
    for example in examples:
        exec(example, {})


def test_the_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = SCRIPT["main"].__globals__
    monkeypatch.setitem(names, "ROOT", tmp_path)
    page = tmp_path / "envs" / "kachuful" / "README.md"
    page.parent.mkdir(parents=True)
    shutil.copy(PAGES["kachuful"], page)
    assert run(monkeypatch, "--check") == 0
    old = page.read_text(encoding="utf-8")
    page.write_text(old.replace("| `hook` |", "| `hok` |"), encoding="utf-8")
    assert run(monkeypatch, "--check") == 1
    assert capsys.readouterr().out == "envs/kachuful/README.md: out of date; see python scripts/pages.py\n"
    assert run(monkeypatch) == 0
    assert capsys.readouterr().out == "envs/kachuful/README.md: written\n"
    assert page.read_text(encoding="utf-8") == old
