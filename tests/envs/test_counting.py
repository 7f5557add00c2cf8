"""The fixed yardstick: its bids and cards on hand-set positions. These answers may never change."""

from __future__ import annotations

import numpy as np
import pytest

from envs.cards import TRUMPS, card_number, mask_of
from envs.kachuful import GAME, engine, players


def hand(names: str) -> int:
    return mask_of(card_number(name) for name in names.split())


@pytest.mark.parametrize(
    ("cards", "trump", "bid"),
    [
        ("AD 2C 3H", "S", 1),  # an ace
        ("KD 2D 3H", "S", 1),  # a king not alone
        ("KD 2C 3H", "S", 0),  # a king alone
        ("AD KD 3H", "S", 2),
        ("AS 2D 3D", "S", 2),  # a trump ace counts twice
        ("KS 2S 3D", "S", 2),
        ("KS 2D 3D", "S", 0),
        ("2S 3S 4S 5S 6S", "S", 2),  # trumps beyond the third
        ("AS KS 2S 3S 4D", "S", 5),  # 2 + 2 + 1
        ("AS KS 2S", "S", 3),  # at most the hand
        ("AS AD AC AH", "N", 4),  # nothing counts twice without trump
        ("QS JS TS", "S", 0),
    ],
)
def test_estimate(cards: str, trump: str, bid: int) -> None:
    size = len(cards.split())
    assert players.counting_estimate(hand(cards), TRUMPS.index(trump), size) == bid


@pytest.mark.parametrize(
    ("allowed", "wanted", "bid"),
    [([0, 1, 2, 3], 2, 2), ([0, 1, 3], 2, 1), ([1, 2, 3], 0, 1), ([0, 2], 1, 0), ([2, 3], 1, 2)],
)
def test_hook_moves_the_bid_below_else_above(allowed: list[int], wanted: int, bid: int) -> None:
    assert players.nearest_bid(sum(1 << b for b in allowed), wanted) == bid


def card_for(cards: str, trick: list[str], trump: str, bid: int, won: int) -> str:
    """Card of the seat that plays after `trick`, holding `cards`."""
    rules = GAME.make_rules().record()
    states = np.zeros(1, GAME.state)
    engine.new_game(states[0], rules[0], 3)
    state = states[0]
    for seat in range(4):
        engine.step(state, rules[0], engine.BID_ACTION)
        state["hands"][seat] = 0
    state["trump"] = TRUMPS.index(trump)
    state["hand_size"] = 10
    for name in trick:
        engine.step(state, rules[0], card_number(name))
    seat = len(trick)
    state["hands"][seat] = hand(cards)
    state["bids"][seat], state["tricks"][seat] = bid, won
    action = players.counting(state, rules[0])
    return next(name for name in cards.split() if card_number(name) == action)


@pytest.mark.parametrize(
    ("cards", "trick", "trump", "bid", "won", "card"),
    [
        ("2D 9D KD AD", ["TD"], "S", 1, 0, "KD"),  # cheapest winner
        ("2D 9D", ["TD"], "S", 1, 0, "2D"),  # cannot win: the lowest
        ("2D 9D KD", ["TD"], "S", 1, 1, "9D"),  # enough: the highest loser
        ("JD KD", ["TD"], "S", 0, 0, "JD"),  # enough, but all win: the lowest
        ("2S 5S AC", ["TD"], "S", 1, 0, "2S"),  # the cheapest winner is a trump
        ("2S 5S AC", ["TD"], "S", 0, 0, "AC"),  # losing highest: plain
        ("2S 5S 3C", ["TD", "4S"], "S", 0, 0, "2S"),  # a trump that loses is higher than a plain card
        ("AC 2S", [], "S", 1, 0, "AC"),  # leader: every card wins, the lowest is plain
        ("AC 2S", [], "S", 1, 1, "AC"),  # leader with enough: none loses, the lowest
        ("7H 7D 7C", [], "S", 0, 0, "7D"),  # equal ranks: S D C H
        ("7H 7D 7C", ["2S"], "S", 0, 0, "7H"),
        ("KH 3D", ["2S"], "N", 1, 0, "3D"),  # no trump: cannot win
    ],
)
def test_card(cards: str, trick: list[str], trump: str, bid: int, won: int, card: str) -> None:
    assert card_for(cards, trick, trump, bid, won) == card


def test_bids_zero_for_a_hand_it_cannot_see() -> None:
    """Forced blind and forehead: 0; optional blind: looks first."""
    for options, expect in (
        ({"blind": "forced"}, engine.BLIND_ACTION),
        ({"blind": "optional"}, engine.LOOK_ACTION),
        ({"single_card": "forehead", "max_hand": 1}, engine.BID_ACTION),
    ):
        rules = GAME.make_rules(**options).record()
        states = np.zeros(1, GAME.state)
        engine.new_game(states[0], rules[0], 0)
        assert players.counting(states[0], rules[0]) == expect
