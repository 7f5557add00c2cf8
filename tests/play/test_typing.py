"""What may be typed, and what is said of the rest."""

from __future__ import annotations

import re

import pytest
from terminal import KACHUFUL, SHORT, play

from envs.game import find_game
from training.play.choices import Choices


def choices(legal: list[str], game: str = "kachuful") -> Choices:
    found = find_game(game)
    every = [found.action_name(action) for action in range(found.num_actions)]
    return Choices({every.index(name): name for name in legal}, every)


READ = [
    (["AS", "KS", "2D"], {"1": "AS", "as": "AS", " 2d ": "2D", "3": "2D", "2": "KS", "k": "KS", "03": "2D"}),
    (["bid 0", "bid 2"], {"0": "bid 0", "2": "bid 2", "bid 2": "bid 2", "BID2": "bid 2", "bid  0": "bid 0"}),
    (["TH", "TC"], {"10h": "TH", "10C": "TC", "th": "TH"}),
    (["blind 0", "blind 1", "look"], {"1": "blind 1", "look": "look", "l": "look", "blind0": "blind 0"}),
    (["AS"], {"": "AS", " ": "AS", "1": "AS"}),
    (["bid 1", "bid 10"], {"bid 1": "bid 1", "1": "bid 1", "10": "bid 10"}),
]


@pytest.mark.parametrize(("legal", "typed"), READ, ids=[legal[0] for legal, _ in READ])
def test_what_may_be_typed(legal: list[str], typed: dict[str, str]) -> None:
    found = choices(legal)
    for text, name in typed.items():
        assert KACHUFUL.action_name(found.read(text)) == name


UNREAD = [
    (["AS", "KS"], "3", "number 3 is not among the possible moves; possible: AS, KS"),
    (["AS", "AD", "KS"], "a", "'a' may be AS, AD"),
    (["AS", "KS"], "qs", "QS is not possible now; possible: AS, KS"),
    (["AS", "KS"], "", "possible: AS, KS, h helps"),
    (["bid 0", "bid 2"], "1", "number 1 is not among the possible moves; possible: bid 0, bid 2"),
    (["bid 0", "bid 2"], "bid1", "bid 1 is not possible now; possible: bid 0, bid 2"),
    (["bid 0", "bid 2"], "b", "'b' may be bid 0, bid 2"),
    (["blind 0", "look"], "loook", "there is no move 'loook'; did you mean 'look'? possible: blind 0, look, h helps"),
    (["AS"], "[red]", "there is no move '[red]'; possible: AS, h helps"),
    (["AS", "KS"], "-1", "there is no move '-1'; possible: AS, KS, h helps"),
    (["AS", "KS"], "²", "there is no move '²'; possible: AS, KS, h helps"),
]


@pytest.mark.parametrize(("legal", "text", "message"), UNREAD, ids=[text for _, text, _ in UNREAD])
def test_what_may_not_be_typed(legal: list[str], text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        choices(legal).read(text)
    assert str(error.value) == message


def test_wrong_input_changes_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = ["", "bid 99", "\x00", "[/red]", "é" * 300, "h", "r", "hist", "t", "?", "7H"]
    assert play(monkeypatch, [*wrong, "bid 1", "q", "n"], "--seed", 3, *SHORT["kachuful"]) == 0
    shown, error = capsys.readouterr()
    assert error == ""
    assert shown.count("bid> ") == len(wrong) + 1
    assert "you: bid 1" in shown
    for part in ("there is no move '[/red]'", "take back your last decision", "scoring", "round 1: 2:bid"):
        assert part in shown
