"""Whole games at the terminal: what is shown, who sits where, what taking back does."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from games import NAMES, ORACLES
from terminal import CARD, ROOT, Lines, lying, names, namespace, options, own_moves, play, played

from training.play.person import draw_seat
from training.play.saved import load
from training.play.session import Session
from training.play.setup import prepare

WHOLE: list[tuple[str, dict[str, Any], int]] = [
    ("kachuful", {"max_hand": 3}, 0),
    ("kachuful", {"max_hand": 2, "blind": "optional", "num_players": 3}, 1),
    ("kachuful", {"max_hand": 2, "blind": "forced"}, 2),
    ("kachuful", {"max_hand": 2, "single_card": "forehead", "num_players": 5}, 3),
    ("kachuful", {"max_hand": 2, "single_card": "face_down", "blind": "optional"}, 1),
    ("kachuful", {"max_hand": 2, "trump": "turn_up", "num_players": 8, "revoke": "penalty"}, 7),
    ("kaschlan", {"num_players": 2}, 1),
    ("kaschlan", {"num_players": 5, "max_bouts": 12, "pickup": "all"}, 3),
]
WHOLE += [(name, {}, 2) for name in NAMES if name not in ("kachuful", "kaschlan")]


class Watch:
    """Reads what is shown between two questions, and compares it with what the seat may see."""

    def __init__(self, session: Session, seat: int, capsys: pytest.CaptureFixture[str]) -> None:
        self.session, self.seat, self.capsys = session, seat, capsys
        self.oracle = ORACLES.get(session.record.game.name)
        self.moves, self.before = 0, self.snapshot()
        self.text = ""

    def snapshot(self) -> dict[str, Any]:
        record = self.session.record
        return record.game.fields.snapshot(record.states[0], record.rules)  # type: ignore[no-any-return]

    def look(self) -> None:
        record, now = self.session.record, self.snapshot()
        shown = self.capsys.readouterr().out
        self.text += shown
        assert "\x1b" not in shown
        if self.oracle is not None:
            visible = set().union(*self.oracle.visible(now, self.seat))
            made = {record.game.action_name(move.action) for move in record.moves[self.moves :]}
            assert set(CARD.findall(shown)) <= visible | lying(now) | lying(self.before) | made
            assert visible <= set(CARD.findall(shown)) or record.turn < 0
        self.moves, self.before = len(record.moves), now


@pytest.mark.parametrize(("name", "rules", "seat"), WHOLE, ids=[f"{name} {rules}" for name, rules, _ in WHOLE])
def test_whole_games_show_what_the_seat_sees(
    name: str, rules: dict[str, Any], seat: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Everything the seat may see is shown, nothing else ever is, and the game is that of the same moves."""
    record, typed = played(name, rules, 11, seat)
    session = prepare(namespace(game=name, seat=str(seat), seed=11, rules=rules))
    watch = Watch(session, seat, capsys)

    def line(text: str) -> Callable[[], str]:
        def say() -> str:
            watch.look()
            return text

        return say

    monkeypatch.setattr(sys, "stdin", Lines([*map(line, typed), line("q")]))
    assert session.run() == 0
    watch.text += capsys.readouterr().out
    assert names(session.record) == names(record)
    assert session.record.states.tobytes() == record.states.tobytes()
    assert ("the game was cut short" if record.cut_short else "the game is over") in watch.text
    assert f"in place {record.places()[seat]}" in watch.text
    assert watch.text.count("is over\n") == (len(record.rounds) if record.game.points is not None else 0)
    for score in record.states["scores"][0][: record.seats].tolist() if record.game.points == 1 else ():
        assert re.search(rf"\b{score}\n", watch.text.split("the game is over")[1])
    assert "you so far: 1 game, " in watch.text


@pytest.mark.parametrize("name", NAMES)
def test_taking_back_gives_the_same_game_again(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rules = {"kachuful": {"max_hand": 2}, "kaschlan": {"max_bouts": 6}}.get(name, {})
    record, typed = played(name, rules, 5)
    free = [k for k, at in enumerate(own_moves(record)) if len(record.legal_at(at)) > 1]
    base = ["--game", name, "--seed", 5, *options(rules)]
    assert play(monkeypatch, [*typed, f"s {tmp_path / 'plain'}", "q"], *base) == 0
    lines = ["u"]
    for k, text in enumerate(typed):
        lines.append(text)
        back = [at for at in free if at <= k]
        if k in free:
            lines += ["u", *typed[back[-1] : k + 1]]
            if len(back) > 2:
                lines += ["U", "undo", "u", *typed[back[-3] : k + 1]]
    lines += ["u", "u", *typed[free[-2] :]]
    assert play(monkeypatch, [*lines, f"s {tmp_path / 'undone'}", "q"], *base) == 0
    assert (tmp_path / "undone").read_text() == (tmp_path / "plain").read_text()
    shown = capsys.readouterr().out
    assert "there is nothing to take back" in shown
    assert shown.count("taken back: ") > len(free)
    assert json.loads((tmp_path / "plain").read_text())["moves"] == names(record)


def test_a_position(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, saved = tmp_path / "position.json", tmp_path / "saved.json"
    position = {
        "game": "kachuful",
        "dealer": 3,
        "hands": [["AS", "KS", "2D"], None, None, None],
        "rules": {"hook": False},
    }
    path.write_text(json.dumps(position))
    assert play(monkeypatch, ["3", "", f"s {saved}", "q"], "--position", path, "--seed", 1, "--rules.blind", "off") == 0
    shown = capsys.readouterr().out
    assert "2D" in shown.split("bid> ")[0]
    assert "seat 1 (heuristic): bid" in shown
    assert load(str(saved)).record.position == {key: value for key, value in position.items() if key != "rules"}
    assert play(monkeypatch, ["q"], "--load", saved) == 0


def test_seats_and_opponents(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    base = ("--seed", 3, "--rules.max_hand", 1, "--rules.schedule", "down")
    assert play(monkeypatch, ["q"], *base, "--seat", 2, "--opponents", "random,counting,heuristic") == 0
    assert "you are seat 2, the others are 0 random, 1 counting, 3 heuristic" in capsys.readouterr().out
    assert play(monkeypatch, ["q"], *base, "--seat", 1, "--opponents", "pimc:deals=2,exact=1") == 0
    assert "0 pimc:deals=2,exact=1, 2 pimc:deals=2,exact=1" in capsys.readouterr().out
    seats = [draw_seat(seed, 4) for seed in range(20)]
    assert set(seats) == {0, 1, 2, 3}
    _, typed = played("kachuful", {"max_hand": 1, "schedule": "down"}, 3, seats[3], "random")
    assert seats[3] != seats[4]
    assert play(monkeypatch, [*typed, "", "q"], *base, "--seat", "random", "--opponents", "random") == 0
    shown = capsys.readouterr().out
    for seed in (3, 4):
        assert f"seed {seed}: you are seat {seats[seed]}" in shown


def test_the_modules_know_no_game() -> None:
    """Whatever plays by the contract can be played: nothing imports a game."""
    for path in (ROOT / "training" / "play").glob("*.py"):
        module = importlib.import_module(f"training.play.{path.stem}" if path.stem != "__init__" else "training.play")
        assert not re.search(r"^(from|import) envs\.(kachuful|kaschlan|call_break)", path.read_text(), re.MULTILINE)
        assert module.__doc__
