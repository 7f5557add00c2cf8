"""Calling in Call Break: range and order, low totals dealt again, and misdeals."""

from __future__ import annotations

import numpy as np
import pytest
from call_break_table import CARDS, Table, bids, mask, suits_deal

from envs import loops
from envs.call_break import GAME, engine
from envs.cards import card_name, shuffle
from envs.tricks import deal_key

NO_SPADE = [card for card in CARDS if card[1] != "S"]
VOID = NO_SPADE[:6] + NO_SPADE[13:20]
"""Thirteen cards of two suits, without a spade."""


def void_hands(seat: int) -> list[list[str] | None]:
    """The hand of one seat has no spade, the others are dealt."""
    return [VOID if other == seat else None for other in range(4)]


def test_the_range_of_a_call() -> None:
    """A3.2, A3.12, A3.33, min_call=2, max_call=13: from two to thirteen, a weak hand must still call two."""
    table = Table({"dealer": 3})
    for _ in range(4):
        assert table.legal == bids(*range(2, 14))
        table.refuses("bid 0", "bid 1", "2S")
        table.do("bid 2")
    assert table["phase"] == "play"


def test_other_ranges() -> None:
    """min_call=1, max_call=8, min_call=0."""
    assert Table(min_call=1, max_call=8).legal == bids(*range(1, 9))
    assert Table(min_call=0).legal == bids(*range(14))
    assert Table(min_call=0, max_call=0).legal == bids(0)
    assert Table(min_call=13).legal == bids(13)


def test_calls_in_turn_from_the_dealers_right() -> None:
    """A3.11, A3.12, A3.14, A3.36, right of the dealer calls first and leads: calls go round once and are binding."""
    table = Table({"dealer": 1})
    for seat in (2, 3, 0, 1):
        assert table.turn == seat
        table.do(f"bid {seat + 2}")
    assert table["bids"] == [2, 3, 4, 5]
    assert table["phase"] == "play"
    assert table.turn == table["leader"] == 2
    table.refuses("bid 3")


def test_ten_redeals_in_a_row() -> None:
    """A3.13, redeal_total=9, a redeal keeps the dealer: after ten redeals in a row the hand is played."""
    table = Table({"dealer": 1}, redeal_total=9)
    seen = {str(table["hands"])}
    for redeals in range(10):
        assert table["redeals"] == redeals
        table.do(*bids(2, 2, 2, 3))
        seen.add(str(table["hands"]))
        assert (table["phase"], table["dealer"], table["bids"]) == ("bid", 1, [None] * 4)
        assert table["scores"] == [0] * 4
        assert table.rewards == []
    assert len(seen) == 11
    table.do(*bids(2, 2, 2, 3))
    assert (table["phase"], table["redeals"]) == ("play", 10)
    table.play_out()
    assert (table["round"], table["dealer"], table["redeals"]) == (1, 2, 0)


def test_redeals_are_those_of_the_seed() -> None:
    table = Table({"dealer": 1}, seed=21, redeal_total=9).do(*bids(2, 2, 2, 2))
    deck = np.zeros(52, np.int8)
    shuffle(deck, 52, deal_key(21, 0, 0, 1))
    assert {card_name(card) for card in deck[:13].tolist()} == set(table["hands"][0])


def test_low_totals_count_only_among_four() -> None:
    """Only where four seats call: an extra round of two is never dealt again for a low total."""
    position = {"round": 1, "scores": [50, 50, 0, 0], "dealer": 3}
    table = Table(position, rounds=1, redeal_total=9).do(*bids(2, 2))
    assert table["phase"] == "play"
    full = Table({"round": 1, "dealer": 3}, rounds=1, redeal_total=9).do(*bids(2, 2, 2, 2))
    assert (full["phase"], full["redeals"]) == ("bid", 1)


def test_misdeals() -> None:
    """A3.32: thirteen cards of one suit, or without a spade where spades are trump; short hands are none."""
    spades, other = GAME.make_rules().record()[0], GAME.make_rules(trump="none").record()[0]
    first = GAME.make_rules(trump="first_lead").record()[0]
    for hand in suits_deal():
        assert all(engine.is_misdeal(record, mask(hand)) for record in (spades, other, first))
    assert engine.is_misdeal(spades, mask(VOID))
    assert not engine.is_misdeal(other, mask(VOID))
    assert not engine.is_misdeal(first, mask(VOID))
    assert not engine.is_misdeal(spades, mask(["2S", *VOID[1:]]))
    assert not engine.is_misdeal(spades, mask(VOID[1:]))


def test_misdeal_off() -> None:
    """misdeal="off": such hands are played."""
    table = Table({"hands": void_hands(0), "dealer": 3}, misdeal="off")
    assert table["phase"] == "bid"
    assert table.do(*bids(2, 2, 2, 2))["phase"] == "play"


def test_misdeal_auto() -> None:
    """misdeal="auto": dealt again before the calls, same dealer, from the seed; never shown to anybody."""
    record = GAME.make_rules(misdeal="auto").record()
    plain = GAME.make_rules().record()
    states, dealt = np.zeros(1, GAME.state), np.zeros(1, GAME.state)
    again = 0
    for seed in range(600):
        loops.start_games(states, record, seed)
        loops.start_games(dealt, plain, seed)
        assert not engine.holds_misdeal(states[0], record[0])
        assert states["dealer"][0] == dealt["dealer"][0]
        misdealt = engine.holds_misdeal(dealt[0], plain[0])
        assert (int(states["deals"][0]) > 0) == misdealt
        again += misdealt
        if not misdealt:
            assert (states["hands"] == dealt["hands"]).all()
    assert 10 < again < 60  # one deal in twenty


def test_a_vote_goes_round() -> None:
    """misdeal="vote", one that holds no misdeal may only pass: everybody is asked, from the dealer's right."""
    table = Table({"dealer": 1, "hands": void_hands(0)}, misdeal="vote")
    assert table["phase"] == "misdeal"
    for seat in (2, 3):
        assert table.turn == seat
        assert table.legal == ["pass"]
        table.refuses("claim", "agree", "refuse", "bid 2")
        table.do("pass")
    assert table.turn == 0
    assert table.legal == ["claim", "pass"]
    assert table["votes"] == [None, None, "pass", "pass"]
    table.do("pass")
    assert table.legal == ["pass"]
    table.do("pass")
    assert (table["phase"], table.turn, table["claimer"]) == ("bid", 2, None)
    assert table["votes"] == ["pass"] * 4


def test_a_claim_that_all_agree_to() -> None:
    """A3.32, misdeal="vote": by mutual consent dealt again, same dealer; the others are asked in order from the
    claimer, those who have passed too."""
    table = Table({"dealer": 1, "hands": void_hands(3)}, misdeal="vote").do("pass", "claim")
    before = table["hands"]
    assert (table["claimer"], table["votes"]) == (3, [None, None, "pass", "claim"])
    for seat in (0, 1, 2):
        assert table.turn == seat
        assert table.legal == ["agree", "refuse"]
        table.do("agree")
    assert (table["phase"], table.turn, table["dealer"]) == ("misdeal", 2, 1)
    assert table["votes"] == [None] * 4
    assert table["claimer"] is None
    assert table["hands"] != before
    assert table["redeals"] == 0


def test_the_first_refusal_ends_it() -> None:
    """misdeal="vote": the first refusal ends it, and the hand is played without further claims."""
    table = Table({"dealer": 1, "hands": void_hands(2)}, misdeal="vote").do("claim", "agree", "refuse")
    assert (table["phase"], table.turn) == ("bid", 2)
    assert table["claimer"] == 2
    assert table["votes"] == ["refuse", None, "claim", "agree"]
    table.do(*bids(2, 2, 2, 2))
    assert table["phase"] == "play"


def test_misdeals_neither_count_nor_break_the_row() -> None:
    """Misdeals do not count as redeals of a low total, nor does one start the row of ten anew."""
    position = {"dealer": 1, "hands": void_hands(2), "redeals": 7}
    table = Table(position, misdeal="vote", redeal_total=9).do("claim", "agree", "agree", "agree")
    assert table["redeals"] == 7
    while table["phase"] == "misdeal":
        table.do("pass")
    table.do(*bids(2, 2, 2, 2))
    assert table["redeals"] == 8


def test_misdeals_count_for_the_tied_hands() -> None:
    """In an extra round only those who play are asked, and agree."""
    position = {"round": 5, "scores": [80, 0, 80, 0], "dealer": 0, "hands": [None, [], VOID, []]}
    table = Table(position, misdeal="vote")
    assert table.turn == 2
    table.do("claim")
    assert table.turn == 0
    table.do("agree")
    assert table["phase"] == "misdeal"
    assert [len(hand) for hand in table["hands"]] == [13, 0, 13, 0]


@pytest.mark.parametrize("seat", range(4))
def test_the_order_of_votes_depends_on_public_facts_alone(seat: int) -> None:
    """A seat is shown what it may know: two deals that differ in hidden misdeals look the same to the others."""
    position = {"dealer": 3, "hands": [["2S", *VOID[1:]] if other == seat else None for other in range(4)]}
    table = Table(position, misdeal="vote")
    claims = Table(position | {"hands": void_hands(seat)}, misdeal="vote")
    for _ in range(4):
        assert table.turn == claims.turn
        assert table.do("pass")["phase"] == claims.do("pass")["phase"]
