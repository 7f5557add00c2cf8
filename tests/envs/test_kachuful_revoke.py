"""Kachuful: not following suit though able, where the rules let it happen."""

from __future__ import annotations

from typing import Any

import pytest
from kachuful_reference import points
from kachuful_table import CHOICES, Table, bids

from envs.kachuful import knowledge

HANDS = ["AS 4H 6C", "2S 3H 2C", "3S KH QC", "2H 3C 5D"]
VOID = ["AS 4H 6C", "2S 7D 2C", "3S KH QC", "2H 3C 5D"]
ROUND = ["4H", "2S", "KH", "2H", "3H", "QC", "3C", "6C", "2C", "3S", "5D", "AS"]
"""Seat 1 trumps a heart though it holds one, and wins two tricks; seat 0 wins the last."""


def penalty(hands: list[str] = HANDS, **options: Any) -> Table:
    return Table(hands, revoke="penalty", **options)


def test_masked() -> None:
    """A2.17: revoke="masked": not to follow is impossible."""
    table = Table(HANDS).do(*bids(1, 2, 1, 0), "4H")
    assert table.legal == ["3H"]
    table.refuses("2S", "2C")


def test_every_card_may_be_played() -> None:
    """A2.17: revoke="penalty": every card in hand is legal at every turn."""
    table = penalty().do(*bids(1, 2, 1, 0))
    for card in ROUND:
        assert sorted(table.legal) == sorted(table.snapshot["hands"][table.turn])
        table.do(card)


def test_a_revoke_costs_the_round() -> None:
    """A2.17: decision: a revoke scores min(0, the normal score), and the trick resolves as played."""
    table = penalty().do(*bids(1, 2, 1, 0), *ROUND[:4])
    assert table.snapshot["tricks"] == [0, 1, 0, 0]  # won by the trump that should not lie there
    assert table.turn == 1
    assert table.snapshot["revoked"] == [False, True, False, False]
    table.do(*ROUND[4:])
    assert table.ended["tricks"] == [1, 2, 0, 0]
    assert table.ended["gained"] == [11, 0, 0, 10]
    assert table.snapshot["revoked"] == [False] * 4  # of the next round


@pytest.mark.parametrize(
    ("scoring", "exact", "missed"),
    [
        ("ten_plus_bid", 0, 0),
        ("ten_times_bid_plus_ten", 0, 0),
        ("minus_difference", 0, -1),
        ("trick_plus_bonus", 0, 0),
        ("judgement", 0, -10),
    ],
)
@pytest.mark.parametrize("blind", [False, True])
def test_revokes_in_every_scoring(scoring: str, exact: int, missed: int, blind: bool) -> None:
    """A2.17: decision: a revoke scores min(0, the normal score): never a gain, never better than the miss."""
    options: dict[str, Any] = {"scoring": scoring, "hook": False, "blind": "forced" if blind else "off"}
    kind = "blind" if blind else "bid"
    for bid, expected in ((2, exact), (1, missed)):
        table = penalty(**options).do(f"{kind} 1", f"{kind} {bid}", f"{kind} 1", f"{kind} 0", *ROUND)
        assert table.ended["tricks"] == [1, 2, 0, 0]
        assert table.ended["gained"][1] == expected
        others = [points(table.options | {"blind_doubles": "score"}, b, w, blind) for b, w in ((1, 1), (1, 0), (0, 0))]
        assert [table.ended["gained"][seat] for seat in (0, 2, 3)] == others


def test_who_revokes() -> None:
    """A2.17: only a seat that could have followed; leading and following never revoke."""
    table = penalty().do(*bids(1, 1, 1, 1), "AS", "2S", "3S", "5D")  # seat 3 holds no spade
    assert table.snapshot["revoked"] == [False] * 4
    table.do("4H", "2C")
    assert table.snapshot["revoked"] == [False, True, False, False]
    table.do("QC", "3C")
    assert table.snapshot["revoked"] == [False, True, True, True]
    table.do("6C", "3H", "KH", "2H")
    assert table.snapshot["scores"] == [0, 0, 0, 0]  # seat 0 won all three
    assert table.ended["tricks"] == [3, 0, 0, 0]


def test_several_revoke() -> None:
    """A2.17: each of them scores at most 0."""
    table = penalty(scoring="judgement").do(*bids(3, 0, 0, 1), "AS", "2C", "KH", "2H", "4H", "2S", "3S", "3C")
    table.do("QC", "5D", "6C", "3H")
    assert table.ended["tricks"] == [1, 0, 2, 0]
    # Seat 1 was exact but had a spade and a heart; seat 2 missed and had a spade; seat 3 only lacked spades.
    assert table.ended["gained"] == [-10, 0, -10, -10]


def test_told_to_nobody() -> None:
    """A2.17: decision: a revoke is told to nobody before the round is scored."""
    guilty, innocent = penalty().do(*bids(1, 2, 1, 0)), penalty(VOID).do(*bids(1, 2, 1, 0))
    for card in ROUND[:4]:
        guilty.do(card)
        innocent.do(card)
        for seat in (0, 2, 3):
            assert guilty.observations()[seat] == innocent.observations()[seat]
    assert guilty.snapshot["revoked"] != innocent.snapshot["revoked"]


def test_no_observation_holds_it() -> None:
    """A2.17: decision: a revoke is told to nobody: neither features nor masks nor what players get depend on it."""
    table = penalty().do(*bids(1, 2, 1, 0))
    for card in ROUND[:-1]:
        table.do(card)
        before = table.observations()
        kept = int(table.env._states["revoked"][0])
        for revoked in range(16):
            table.env._states["revoked"][0] = revoked
            assert table.observations() == before
            for seat in range(4):
                states = table.env._states.copy()
                knowledge.redact(states[0], table.rules[0], seat)
                assert int(states["revoked"][0]) == 0
        table.env._states["revoked"][0] = kept


def test_a_discard_proves_nothing() -> None:
    """A2.17: decision: under revoke="penalty" a discard proves no void."""
    table = penalty().do(*bids(1, 2, 1, 0), "4H", "2S", "KH", "5D")
    assert not any(table.sees(seat)[f"void+{i}"] for seat in range(4) for i in range(4))
    drawn = [table.env.determinize(0, seed) for seed in range(60)]
    hearts = [any(card[1] == "H" for card in one["hands"][1]) for one in drawn]
    assert [one["revoked"][1] for one in drawn] == hearts
    assert {True, False} == set(hearts)


@pytest.mark.parametrize("scoring", CHOICES["scoring"])
def test_blind_bids_of_revokers(scoring: str) -> None:
    """A2.17, A1.41: a doubled score is lost like any other; a missed blind bid is as bad as any miss."""
    for doubles in CHOICES["blind_doubles"]:
        options: dict[str, Any] = {"scoring": scoring, "blind_doubles": doubles, "blind": "optional"}
        table = penalty(**options).do("blind 1", "blind 2", "look", "bid 1", "blind 0", *ROUND)
        assert table.ended["gained"][1] == 0
        assert table.ended["gained"][0] > 0
