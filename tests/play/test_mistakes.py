"""Wrong command lines and files of scripts/play.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from terminal import GAME_FILE, play

WRONG: list[tuple[tuple[str, ...], Any, str]] = [
    (("--game", "bridge"), None, "no game 'bridge'; choose one of "),
    (("--seat", "4"), None, "--seat 4 is not possible: it must be 0 to 3, random or none"),
    (("--seat", "x"), None, "--seat x is not possible"),
    (("--seed", "-1"), None, "seed=-1 is not possible"),
    (("--opponents", "clever"), None, "seat 1: no agent 'clever'"),
    (("--opponents", "random,random"), None, "--opponents names 2 agents; it must be 1 or 3"),
    (("--hints", "clever"), None, "--hints: no agent 'clever'"),
    (("--rules.num_players", "9"), None, "option num_players=9 is not possible"),
    (("--open",), None, "--open is for looking on"),
    (("--load", "f", "--replay", "f"), {}, "--load and --replay do not go together"),
    (("--load", "f", "--seed", "1"), {}, "--seed does not go with --load: the file says it"),
    (("--load", "f", "--rules.hook", "false"), {}, "--rules does not go with --load"),
    (("--replay", "f", "--save", "g"), {}, "--save does not go with --replay"),
    (("--game-number", "1"), None, "--game-number goes with --load or --replay"),
    (("--load", "f", "--game-number", "0"), {}, "games are counted from 1"),
    (("--load", "f", "--game-number", "2"), {}, "f holds 1 game"),
    (("--load", "missing"), None, "cannot read missing: No such file"),
    (("--save", "no/where"), None, "cannot write no/where"),
    (("--load", "f"), "{", "f is not JSON"),
    (("--load", "f"), "[1]", "f holds no JSON object"),
    (("--load", "f"), '{"seed": 1, "seed": 2}', "f: key 'seed' is there twice"),
    (("--load", "f"), '{"game": "kachuful"}', "f: it holds no saved game: key 'rules' is missing"),
    (("--load", "f", "--game", "kaschlan"), {}, "f: it is a game of Kachuful, not of Kaschlan"),
    (("--load", "f"), {"game": "x"}, "f: no game 'x'"),
    (("--load", "f"), {"rules": {"hand": 1}}, "f: no option 'hand'"),
    (("--load", "f"), {"rules": 3}, "f: rules=3 is not possible"),
    (("--load", "f"), {"seed": True}, "f: seed=True is not possible"),
    (("--load", "f"), {"dealer": 7}, "f: dealer=7 is not possible"),
    (("--load", "f"), {"seats": ["person"]}, "f: seats has 1 entries, but 4 play"),
    (("--load", "f"), {"seats": [1, 2, 3, 4]}, "f: seats=[1, 2, 3, 4] is not possible"),
    (("--load", "f"), {"seats": ["person", "gone", "random", "random"]}, "f: seat 1: no agent 'gone'"),
    (("--load", "f"), {"moves": "AS"}, "f: moves must be a list"),
    (("--load", "f"), {"moves": ["bid 0", "XX"]}, "f: move 2: 'XX' is no action"),
    (("--load", "f"), {"moves": ["bid 0", 400]}, "f: move 2: 400 is no action"),
    (("--load", "f"), {"moves": ["bid 0", "bid 9"]}, "f: move 2: bid 9 is not legal for seat"),
    (("--load", "f"), {"moves": [[9, "bid 0"]]}, "f: move 1 is seat 9's, but seat"),
    (("--load", "f"), {"position": {"hand": []}}, "f: position has no key 'hand'"),
    (("--replay", "f"), {"moves": ["look"]}, "f: move 1: look is not legal"),
    (("--position", "f"), {"seed": 1}, "position has no key 'seed'"),
]


@pytest.mark.parametrize(("arguments", "content", "message"), WRONG, ids=[message for _, _, message in WRONG])
def test_mistakes_are_one_line(
    arguments: tuple[str, ...],
    content: Any,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / "f").write_text(content if isinstance(content, str) else json.dumps(GAME_FILE | content))
    assert play(monkeypatch, ["q"], *arguments) == 2
    shown, error = capsys.readouterr()
    assert shown == ""
    assert error.startswith("play.py: ")
    assert message in error
    assert error.count("\n") == 1
