"""The page of agents: what stands there runs."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from envs.agents import agent_names
from envs.game import find_game
from training.agents import SEARCH, load_agent, parse_spec
from training.arena import play_match

PAGE = (Path(__file__).parents[2] / "training" / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_an_agent_of_your_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = (block for block in BLOCKS if "def act" in block)
    (tmp_path / "my_agents.py").write_text(block)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "my_agents", raising=False)
    agent = load_agent("my_agents:lowest", "kachuful")
    rules = find_game("kachuful").make_rules(max_hand=2)
    match = play_match("kachuful", rules, agent, load_agent("random", "kachuful"), 4)
    assert match.candidate == "lowest"
    monkeypatch.delitem(sys.modules, "my_agents")


def test_maskable_ppo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sb3_contrib", reason="needs stable-baselines3 and sb3-contrib: pip install 'taash[plugins]'")
    (block,) = (block for block in BLOCKS if "MaskablePPO" in block)
    assert "100_000" in block
    monkeypatch.chdir(tmp_path)
    exec(block.replace("100_000", "64").replace("512", "64"), {})
    agent = load_agent("sb3:model.zip", "kachuful")
    rules = find_game("kachuful").make_rules(max_hand=3)
    assert play_match("kachuful", rules, agent, load_agent("counting", "kachuful"), 2).candidate == "sb3:model.zip"


def test_the_specs_of_searches_exist_and_show_their_defaults() -> None:
    players = agent_names(find_game("kachuful"))
    specs = re.findall(r"^\| `(\w+:[^`]*=[^`]*)`", PAGE, re.MULTILINE)
    assert len(specs) == 3
    for text in specs:
        spec = parse_spec(text, players)
        assert spec.kind == SEARCH
        assert load_agent(text, "kachuful") == load_agent(spec.name, "kachuful")
