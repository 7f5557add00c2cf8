"""Kachuful: bids before looking at the hand."""

from __future__ import annotations

from typing import Any

import pytest
from kachuful_table import Table, bids, blinds

HANDS = ["AS 4H 6C", "2S 3H 2C", "3S KH QC", "2H 3C 5D"]
OTHER = ["7D 8D 9D", *HANDS[1:]]


def blind_table(kind: str, hands: list[str] = HANDS, **options: Any) -> Table:
    return Table(hands, blind=kind, **options)


def test_optional() -> None:
    """A1.41: blind="optional": LOOK or BLIND(b); after LOOK only BID(b)."""
    table = blind_table("optional")
    assert table.legal == [*blinds(0, 1, 2, 3), "look"]
    table.refuses("bid 0", "bid 1", "AS", "blind 4")
    table.do("look")
    assert table.turn == 0
    assert table.legal == bids(0, 1, 2, 3)
    table.refuses("look", "blind 0", "blind 1", "AS")
    table.do("bid 1")
    assert table.turn == 1
    assert table.legal == [*blinds(0, 1, 2, 3), "look"]


def test_forced() -> None:
    """A1.41: blind="forced": only BLIND(b)."""
    table = blind_table("forced")
    for _ in range(3):
        assert table.legal == blinds(0, 1, 2, 3)
        table.refuses("look", "bid 0", "bid 3", "AS")
        table.do("blind 0")
    assert table.legal == blinds(0, 1, 2)


def test_off() -> None:
    """A1.41: blind="off": only BID(b), and the hand is seen from the beginning."""
    table = blind_table("off")
    assert table.legal == bids(0, 1, 2, 3)
    table.refuses("look", "blind 0")
    assert sorted(table.sees(0)["hand"]) == sorted(HANDS[0].split())
    assert table.snapshot["looked"] == table.snapshot["blind"] == [False] * 4


def test_flags() -> None:
    """A1.41, A1.47: decision: a blind seat is marked blind from its bid on; looked is true only after LOOK."""
    table = blind_table("optional")
    assert table.snapshot["blind"] == table.snapshot["looked"] == [False] * 4
    table.do("blind 1")
    assert table.snapshot["blind"] == [True, False, False, False]
    assert table.snapshot["looked"] == [False] * 4
    table.do("look")
    assert table.snapshot["looked"] == [False, True, False, False]
    assert table.snapshot["blind"] == [True, False, False, False]
    table.do("bid 0", "look", "bid 2", "blind 1")
    assert table.snapshot["looked"] == [False, True, True, False]
    assert table.snapshot["blind"] == [True, False, False, True]
    table.do("AS")
    assert table.snapshot["looked"] == [False, True, True, False]
    assert table.sees(2)["blind+2"] == ["bid blind"]
    assert table.sees(2)["blind+0"] == ["looked"]
    table = blind_table("forced").do("blind 1")
    assert table.snapshot["blind"] == [True, False, False, False]
    assert table.snapshot["looked"] == [False] * 4


@pytest.mark.parametrize("kind", ["optional", "forced"])
def test_hidden_until_looked_or_bid(kind: str) -> None:
    """A1.41: decision: until the seat looks or has bid, its own hand is hidden from it; seen after a blind bid."""
    table = blind_table(kind)
    own = sorted(HANDS[0].split())
    for seat in range(4):
        assert table.knows(seat) == [[]] * 4
        assert table.sees(seat)["hand"] == []
        assert "hidden hand" in table.sees(seat)["phase"]
    if kind == "optional":
        table.do("look")
        assert sorted(table.sees(0)["hand"]) == own
        assert sorted(table.knows(0)[0]) == own
        table.do("bid 1")
    else:
        table.do("blind 1")
    assert sorted(table.sees(0)["hand"]) == own
    assert table.sees(0)["phase"] == ["bid"]
    for seat in (1, 2, 3):
        assert table.knows(seat) == [[]] * 4
    table.do(*blinds(0, 0, 0))
    for seat in range(4):
        assert sorted(table.sees(seat)["hand"]) == sorted(HANDS[seat].split())


@pytest.mark.parametrize("kind", ["optional", "forced"])
def test_blind_bids_cannot_depend_on_the_hand(kind: str) -> None:
    """A1.41: decision: a seat is shown what it may know: observation and mask are the same with any other hand."""
    one, other = blind_table(kind), blind_table(kind, OTHER)
    assert one.observations() == other.observations()
    hand = one.env.determinize(0, 1)["hands"][0]
    assert len(hand) == 3
    assert sorted(hand) != sorted(HANDS[0].split())
    if kind == "optional":
        one.do("look")
        other.do("look")
        assert one.observations()[0] != other.observations()[0]
        assert one.observations()[1:] == other.observations()[1:]


def play_blind(move: str, **options: Any) -> int:
    """Points of seat 0, which bids, then wins the first trick and no other."""
    look = ["look"] if move.startswith("bid") else []
    table = blind_table("optional", hook=False, **options).do(*look, move, *blinds(0, 0, 3), "AS", "2S", "3S")
    table.do("2H", "4H", "3H", "KH", "3C", "QC", "5D", "6C", "2C")
    assert table.ended["tricks"] == [1, 0, 2, 0]
    return int(table.ended["gained"][0])


@pytest.mark.parametrize(
    ("scoring", "plain", "score", "bonus", "missed"),
    [
        ("ten_plus_bid", 11, 22, 21, 0),
        ("ten_times_bid_plus_ten", 20, 40, 30, 0),
        ("minus_difference", 11, 22, 21, -1),
        ("trick_plus_bonus", 11, 22, 21, 1),
        ("judgement", 10, 20, 20, -10),
    ],
)
def test_exact_blind_bids_are_doubled(scoring: str, plain: int, score: int, bonus: int, missed: int) -> None:
    """A1.41, A1.47: blind_doubles="score", blind_doubles="bonus"; decision: a missed blind bid scores as any miss."""
    for doubles, doubled in (("score", score), ("bonus", bonus)):
        options = {"scoring": scoring, "blind_doubles": doubles}
        assert play_blind("bid 1", **options) == plain
        assert play_blind("blind 1", **options) == doubled
        assert play_blind("blind 2", **options) == play_blind("bid 2", **options) == missed
        assert play_blind("blind 0", **options) == play_blind("bid 0", **options) == missed
    assert play_blind("blind 1", scoring=scoring) == score  # the default


def test_forced_bids_are_doubled_too() -> None:
    """A1.41: blind="forced"."""
    table = blind_table("forced").do(*blinds(1, 0, 2, 3), "AS", "2S", "3S", "2H", "4H", "3H", "KH", "3C")
    table.do("QC", "5D", "6C", "2C")
    assert table.ended["blind"] == [True] * 4
    assert table.ended["gained"] == [22, 20, 24, 0]
    assert table.snapshot["blind"] == [False] * 4  # of the next round
