"""Saved games: what is written and when, and how they are read again."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from games import NAMES
from terminal import GAME_FILE, KACHUFUL, SHORT, Line, names, options, own_moves, play, played

from training.play.saved import PERSON, document, load


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_game_goes_on_as_if_nothing_had_been(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rules = {"kachuful": {"max_hand": 2, "single_card": "forehead"}, "kaschlan": {"max_bouts": 6}}.get(name, {})
    record, typed = played(name, rules, 8, 1, "random")
    part, rest, kept = tmp_path / "part.json", tmp_path / "rest.json", tmp_path / "kept.json"
    base = ["--game", name, "--seed", 8, "--seat", 1, "--opponents", "random", *options(rules)]
    half = len(typed) // 2
    assert play(monkeypatch, [*typed[:half], f"s {part}", "q"], *base) == 0
    assert f"saved to {part}" in capsys.readouterr().out
    found = json.loads(part.read_text())
    assert found["rules"] == asdict(record.rules)
    assert found["seats"] == [PERSON if seat == 1 else "random" for seat in range(record.seats)]
    assert found["moves"] == names(record)[: len(found["moves"])]
    assert play(monkeypatch, [*typed[half:], f"s {rest}", "q"], "--load", part) == 0
    assert json.loads(rest.read_text())["moves"] == names(record)
    assert play(monkeypatch, typed, *base, "--save", kept) == 0
    assert kept.read_text() == rest.read_text()
    assert load(str(kept)).record.states.tobytes() == record.states.tobytes()
    assert play(monkeypatch, typed[half:], "--load", part, "--save", part) == 0
    assert part.read_text() == rest.read_text()


def test_a_game_kept_in_a_file_is_there_after_every_decision(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path, (record, typed) = tmp_path / "kept.json", played("kachuful", {"max_hand": 2}, 3)
    sizes: list[int] = []

    def note() -> str:
        sizes.append(len(json.loads(path.read_text())["moves"]) if path.exists() else 0)
        return typed[len(sizes) - 1]

    lines: list[Line] = [*[note] * len(typed), "", EOFError]
    assert play(monkeypatch, lines, "--seed", 3, *SHORT["kachuful"], "--save", path) == 0
    assert sizes == [0] + [at + 1 for at in own_moves(record)][:-1]
    assert json.loads(path.read_text())["moves"] == names(record)
    assert not (tmp_path / "kept-2.json").exists()  # nothing was decided in the game after it
    assert "Kachuful, seed 4" in capsys.readouterr().out
    assert play(monkeypatch, [*typed, "", "1", "q"], "--seed", 3, *SHORT["kachuful"], "--save", f"{path}.b") == 0
    assert json.loads((tmp_path / "kept.json-2.b").read_text())["seed"] == 4


def test_files_are_not_written_over_without_a_question(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old").write_text("precious")
    base = ("--seed", 3, *SHORT["kachuful"])
    for lines in (["s old", "n", "q"], ["s old", "", "q"], ["1", "q", "old", "n", "n"]):
        assert play(monkeypatch, lines, *base) == 0
        shown = capsys.readouterr().out
        assert "old exists; write over it? y or n> " in shown
        assert "not saved" in shown
        assert (tmp_path / "old").read_text() == "precious"
    assert play(monkeypatch, ["1"], *base, "--save", "old") == 2
    assert capsys.readouterr().err == "play.py: old exists and is not written over; choose another file for --save\n"
    assert play(monkeypatch, ["s old", "y", "1", "s old", "q"], *base) == 0
    assert "saved to old" in capsys.readouterr().out
    assert load("old").record.moves
    assert play(monkeypatch, ["s no/folder", "s .", "y", "q"], *base) == 0
    shown = capsys.readouterr().out
    assert "cannot write no/folder: No such file or directory" in shown
    assert "cannot write .: " in shown
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old"]


def test_leaving(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Nothing is lost: what is not refused is saved, to a file of its own."""
    monkeypatch.chdir(tmp_path)
    ways: list[tuple[list[Line], int, str | None]] = [
        (["q"], 0, None),
        ([], 0, None),
        ([KeyboardInterrupt], 130, None),
        (["1", "q", "n"], 0, None),
        (["1", "q", ""], 0, "kachuful-3.json"),
        (["1", "q", "mine"], 0, "mine"),
        (["1"], 0, "kachuful-3-2.json"),
        (["1", KeyboardInterrupt, "n"], 130, None),
        (["1", KeyboardInterrupt, "again"], 130, "again"),
        (["1", KeyboardInterrupt, KeyboardInterrupt], 130, "kachuful-3-3.json"),
        (["1", "quit", KeyboardInterrupt], 130, "kachuful-3-4.json"),
        (["1", "s first", "q"], 0, "first"),
        (["1", "s second", "u", "q", "n"], 0, "second"),
    ]
    expected: set[str] = set()
    for lines, code, file in ways:
        assert play(monkeypatch, lines, "--seed", 3, *SHORT["kachuful"]) == code
        shown, error = capsys.readouterr()
        assert error == ""
        assert ("saved to" in shown) == (file is not None)
        expected |= {file} if file else set()
        assert {path.name for path in tmp_path.iterdir()} == expected
        if file:
            assert "bid 1" in json.loads((tmp_path / file).read_text())["moves"]


def test_a_recorded_game_may_name_its_moves_in_several_ways(tmp_path: Path) -> None:
    record, _ = played("kachuful", {"max_hand": 2, "single_card": "face_down", "num_players": 3}, 2)
    base = {"game": "kachuful", "rules": asdict(record.rules), "seed": 2, "extra": 1}
    action_name = KACHUFUL.action_name
    decided = [move for move in record.moves if not move.automatic]
    assert len(decided) < len(record.moves)
    for moves in (
        [action_name(move.action) for move in decided],
        [move.action for move in decided],
        [move.action for move in record.moves],
        [[move.seat, action_name(move.action)] for move in record.moves],
    ):
        path = tmp_path / "game.json"
        path.write_text(json.dumps({**base, "moves": moves}))
        assert load(str(path)).record.states.tobytes() == record.states.tobytes()


def test_the_seed_of_agents_is_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path, found = tmp_path / "f", []
    for agents_seed in (1, 5, 1, 6):
        content = GAME_FILE | {"seats": [PERSON, "random", "random", "random"], "agents_seed": agents_seed}
        path.write_text(json.dumps(content))
        assert play(monkeypatch, [f"s {tmp_path / 'g'}", "y", "1", "1", "q", "n"], "--load", path) == 0
        assert json.loads((tmp_path / "g").read_text()).get("agents_seed", 1) == agents_seed
        found.append(capsys.readouterr().out.split("\n", 1)[1])
    assert len({text.partition("you may")[0] for text in found}) > 1
    assert found[0].partition("you may")[0] == found[2].partition("you may")[0]


def test_a_game_that_goes_on_after_its_end_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    record, _ = played("kachuful", {"max_hand": 1, "num_players": 3}, 2)
    path = tmp_path / "f"
    path.write_text(json.dumps(document(record, ["random"] * 3) | {"moves": [*names(record), "bid 0"]}))
    assert play(monkeypatch, [], "--load", path) == 2
    count = len(names(record))
    assert f"move {count + 1}: the game is over after {count} moves" in capsys.readouterr().err
