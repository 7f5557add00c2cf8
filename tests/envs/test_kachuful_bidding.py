"""Kachuful: bids in turn and the hook."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from kachuful_table import Table, bids, blinds, cases

from envs.cards import PACK, card_name


def dealt(n: int, size: int, **options: Any) -> Table:
    """A table with any cards; seat n - 1 deals."""
    cards = [card_name(card) for card in range(PACK)]
    return Table([" ".join(cards[seat * size : (seat + 1) * size]) for seat in range(n)], **options)


@cases("legal_bids")
def test_legal_bids_at_the_table(vector: dict[str, Any]) -> None:
    """A1.20, A1.21, A1.39, A2.10: the worked bids, by engine and environment."""
    case = vector["input"]
    table = dealt(case["n"], case["hand_size"], hook=case["hook"])
    table.do(*bids(*case["prev"]))
    assert table.legal == bids(*vector["expect"])
    table.refuses(*bids(*(bid for bid in range(18) if bid not in vector["expect"])))


def test_bids_in_turn() -> None:
    """A1.1, A1.20, A2.1, A2.6, A2.10, A2.21: from the left of the dealer, each 0..hand size, the dealer last."""
    for dealer in range(5):
        table = dealt(5, 3, dealer=dealer)
        for i in range(1, 6):
            assert table.turn == (dealer + i) % 5
            assert table.snapshot["phase"] == "bid"
            assert len(table.legal) == (4 if i < 5 else 3)
            table.do("bid 0")
        assert table.turn == (dealer + 1) % 5
        assert table.snapshot["phase"] == "play"
        assert table.snapshot["bids"] == [0] * 5


def test_bids_are_public() -> None:
    """A1.1, A1.20: everybody sees a bid as soon as it is made, and none before."""
    table = dealt(4, 3).do("bid 2", "bid 0")
    assert [table.sees(3)[f"bid+{i}"] for i in range(4)] == [[], ["2"], ["0"], []]
    assert table.snapshot["bids"] == [2, 0, None, None]


def test_hook_of_the_german_text() -> None:
    """A1.5, A1.21: seven bid in a round of eight tricks: not 1; hook=True."""
    table = dealt(6, 8).do(*bids(2, 1, 1, 2, 1))
    assert table.legal == bids(0, 2, 3, 4, 5, 6, 7, 8)
    table.refuses("bid 1")


def test_hook_of_the_french_text() -> None:
    """A2.10, A2.12: two bid in a round of three tricks: the dealer bids 0, not 1."""
    table = Table(["AS 4H 6C", "2S 3H 2C", "3S KH QC", "2H 3C 5D"]).do(*bids(1, 0, 1))
    assert table.legal == bids(0, 2, 3)
    table.refuses("bid 1", "bid 4", "blind 0", "look", "2H")
    assert table.do("bid 0").snapshot["phase"] == "play"


@pytest.mark.parametrize("n", [3, 5, 8])
@pytest.mark.parametrize("size", [1, 2, 6])
def test_hook_bars_one_number_of_the_last_bidder(n: int, size: int) -> None:
    """A1.5, A1.21, A2.16: decision: the hook binds nobody else, and is idle once the sum is larger."""
    for total in range(size + 3):
        previous = [min(size, max(0, total - size * i)) for i in range(n - 1)]
        table = dealt(n, size)
        for bid in previous:
            assert table.legal == bids(*range(size + 1))
            table.do(f"bid {bid}")
        allowed = [bid for bid in range(size + 1) if sum(previous) + bid != size]
        assert table.legal == bids(*allowed)
        assert len(allowed) == (size if sum(previous) <= size else size + 1)


@pytest.mark.parametrize(
    ("previous", "allowed"), [((0, 0, 0), [0]), ((1, 0, 0), [1]), ((0, 1, 1), [0, 1]), ((1, 1, 1), [0, 1])]
)
@pytest.mark.parametrize("single_card", ["normal", "forehead", "face_down"])
def test_hook_at_one_card(previous: tuple[int, ...], allowed: list[int], single_card: str) -> None:
    """A1.21, A2.16: at hand size 1: sum 0 -> only 0, sum 1 -> only 1, from 2 on both; also where cards are hidden."""
    table = dealt(4, 1, single_card=single_card).do(*bids(*previous))
    assert table.legal == bids(*allowed)
    table.refuses(*bids(*{0, 1, 2} - set(allowed)))


@pytest.mark.parametrize("previous", list(product([0, 1], repeat=3)))
def test_hook_at_one_card_in_a_blind_game(previous: tuple[int, ...]) -> None:
    """A1.21, A1.41: decision: blind bids count for the hook, and are bound by it."""
    barred = 1 - sum(previous)
    allowed = [bid for bid in (0, 1) if bid != barred]
    assert dealt(4, 1, blind="forced").do(*blinds(*previous)).legal == blinds(*allowed)
    table = dealt(4, 1, blind="optional").do(*blinds(*previous))
    assert table.legal == [*blinds(*allowed), "look"]
    assert table.do("look").legal == bids(*allowed)


def test_hook_counts_blind_and_plain_bids_together() -> None:
    """A1.41: decision: blind bids count for the hook."""
    table = dealt(4, 5, blind="optional").do("blind 2", "look", "bid 1", "blind 0")
    assert table.legal == [*blinds(0, 1, 3, 4, 5), "look"]
    table.refuses("blind 2")
    table.do("look")
    table.refuses("bid 2", "blind 0")
    assert table.legal == bids(0, 1, 3, 4, 5)


def test_no_hook() -> None:
    """A1.39: hook=False: the dealer bids freely, and a round where all bids are right is possible."""
    table = dealt(4, 1, hook=False).do(*bids(0, 0, 0))
    assert table.legal == bids(0, 1)
    table = Table(["AS", "2S", "3S", "4S"], hook=False).do(*bids(1, 0, 0, 0), "AS", "2S", "3S", "4S")
    assert table.ended["bids"] == table.ended["tricks"] == [1, 0, 0, 0]
    assert table.ended["gained"] == [11, 10, 10, 10]
    assert dealt(4, 5, hook=False, blind="forced").do(*blinds(2, 2, 0)).legal == blinds(0, 1, 2, 3, 4, 5)


def test_zero_bids_are_bids() -> None:
    """A2.1, A2.21: zero may be bid, and counts as a bid of the hook's sum."""
    assert dealt(4, 3).do(*bids(0, 0, 0)).legal == bids(0, 1, 2)


def test_there_is_always_a_bid() -> None:
    """A2.16: decision: one legality, never an empty mask; whatever was bid before."""
    for previous in product(range(3), repeat=3):
        assert dealt(4, 2).do(*bids(*previous)).legal
