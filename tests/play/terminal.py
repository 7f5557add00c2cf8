"""Scripted games in the terminal, and the same games without it."""

from __future__ import annotations

import json
import re
import runpy
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from envs.agents import find_agent
from envs.game import find_game
from training.play.record import GameRecord
from training.play.saved import document
from training.play.session import Table, act

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "play.py"
CARD = re.compile(r"\b[2-9TJQKA][SDCH]\b")
KACHUFUL = find_game("kachuful")
SHORT = {"kachuful": ["--rules.max_hand", "2"], "kaschlan": ["--rules.max_bouts", "3"]}
"""Options that make a game short."""
GAME_FILE = {"game": "kachuful", "rules": {"max_hand": 2}, "seed": 1, "moves": []}
Line = str | type[BaseException] | Callable[[], str]


class Lines:
    """Standard input of some lines; an exception among them is raised, a function called; then it ends."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines = list(lines)

    def isatty(self) -> bool:
        return False

    def readline(self) -> str:
        if not self.lines:
            return ""
        line = self.lines.pop(0)
        if isinstance(line, type):
            raise line
        return f"{line if isinstance(line, str) else line()}\n"


def play(monkeypatch: pytest.MonkeyPatch, lines: Iterable[Line], *arguments: object) -> int:
    """Run the script inside this process on some input; returns its exit code."""
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *map(str, arguments)])
    monkeypatch.setattr(sys, "stdin", Lines(lines))
    with pytest.raises(SystemExit) as result:
        runpy.run_path(str(SCRIPT), run_name="__main__")
    return int(result.value.code or 0)


def options(rules: dict[str, Any]) -> list[str]:
    return [text for name, value in rules.items() for text in (f"--rules.{name}", json.dumps(value).strip('"'))]


def namespace(**given: Any) -> Namespace:
    """A parsed command line."""
    usual = dict.fromkeys(("game", "seat", "opponents", "seed", "hints", "position", "load", "replay", "save"))
    rules = {name: json.dumps(value).strip('"') for name, value in given.pop("rules", {}).items()}
    return Namespace(**{**usual, "game_number": None, "open": False, **given, "rules": rules})


def played(
    name: str, rules: dict[str, Any], seed: int, seat: int = 0, opponent: str | None = None
) -> tuple[GameRecord, list[str]]:
    """A whole game in which a seat plays at random, and the names of what it did."""
    game = find_game(name)
    record = GameRecord(game, game.make_rules(**rules), seed)
    agent = find_agent(opponent or game.rule_players[-1], game)
    table = Table(record, [], [agent] * record.seats, None, "")
    rng, typed = Random(seed), []
    while record.turn >= 0:
        own = record.turn == seat
        action = rng.choice(record.legal) if own else act(table, record)
        typed += [game.action_name(action)] * own
        record.make(action)
    return record, typed


def names(record: GameRecord) -> list[str]:
    return document(record, [])["moves"]  # type: ignore[no-any-return]


def own_moves(record: GameRecord, seat: int = 0) -> list[int]:
    return [at for at, move in enumerate(record.moves) if move.seat == seat and not move.automatic]


def cards_in(value: Any) -> set[str]:
    return set(CARD.findall(json.dumps(value)))


def lying(snapshot: dict[str, Any]) -> set[str]:
    """Cards that lie open, or lay there in this round."""
    return cards_in([snapshot.get(key) for key in ("trick", "played", "table", "turned")])
