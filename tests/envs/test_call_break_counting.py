"""The fixed yardstick of Call Break: its calls and cards on hand-set positions. These answers may never change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from call_break_table import CARDS, Table, mask

from envs.call_break import GAME, engine, players
from envs.cards import TRUMPS, card_name, card_number


@pytest.mark.parametrize(
    ("cards", "options", "call"),
    [
        ("AD 2C 3H", {"min_call": 0}, 1),
        ("KD 2C 3H", {"min_call": 0}, 1),
        ("AS KS QS JS", {"min_call": 0}, 2),
        ("2S 3S 4S", {"min_call": 0}, 0),
        ("2S 3S 4S", {}, 2),  # at least the smallest call
        ("AS KS AD KD AC KC AH KH", {}, 8),
        ("AS KS AD KD AC KC AH KH", {"max_call": 5}, 5),
    ],
)
def test_calls_aces_and_kings(cards: str, options: dict[str, Any], call: int) -> None:
    assert players.counting_call(GAME.make_rules(**options).record()[0], mask(cards)) == call


def card_for(cards: str, trick: list[str], named: str = "S", **options: Any) -> str:
    """Card of the seat that plays after `trick`, holding `cards`, in a later trick."""
    record = GAME.make_rules(**options).record()
    states = np.zeros(1, GAME.state)
    state = states[0]
    engine.new_game(state, record[0], 3)
    for seat in range(4):
        engine.step(state, record[0], engine.BID_ACTION + 2)
        state["hands"][seat] = 0
    state["trick"] = 1
    state["trump"] = TRUMPS.index(named)
    for name in trick:
        engine.step(state, record[0], card_number(name))
    state["hands"][len(trick)] = mask(cards)
    return card_name(players.counting(state, record[0]))


@pytest.mark.parametrize(
    ("cards", "trick", "options", "card"),
    [
        ("2D 9D KD AD", ["TD"], {}, "KD"),  # cheapest winner
        ("2D 9D", ["TD"], {}, "2D"),  # cannot win: the lowest
        ("2D 9D KD", ["TD"], {"must_beat": "off"}, "KD"),  # also where it need not
        ("2S 5S AC", ["TD"], {}, "2S"),
        ("2S 5S AC", ["TD", "4S"], {}, "5S"),
        ("2S 3S AC", ["TD", "4S"], {}, "2S"),
        ("2S 3S AC", ["TD", "4S"], {"undertrump": "free"}, "AC"),  # plain before trump
        ("KD 9D 3H", ["TD", "2S"], {}, "KD"),  # cannot win, but must beat: of the legal cards the lowest
        ("AC 2S", [], {}, "AC"),  # leader: every card wins, the lowest is plain
        ("7H 7D 7C", [], {}, "7D"),  # equal ranks: S D C H
        ("3D 2H", [], {}, "2H"),
    ],
)
def test_card(cards: str, trick: list[str], options: dict[str, Any], card: str) -> None:
    assert card_for(cards, trick, **options) == card


def test_without_trump() -> None:
    assert card_for("KH 3D 2S", ["2C"], "N", trump="none") == "2S"
    assert card_for("KH 3D 2S", ["2C"], "D", trump="first_lead") == "3D"


def test_first_lead() -> None:
    """Nobody knows the trump yet: the lowest card of all."""
    hands = [["2S", "3D", "4H"], ["5S", "6S", "7S"], ["5D", "6D", "7D"], ["5C", "6C", "7C"]]
    table = Table({"dealer": 3, "hands": hands, "phase": "play"}, trump="first_lead")
    assert card_name(players.counting(table.state, table.record[0])) == "2S"


def test_never_claims_and_agrees() -> None:
    void = [card for card in CARDS if card[1] in "DC"][:13]
    table = Table({"dealer": 3, "hands": [void, None, None, None]}, misdeal="vote")
    assert table.legal == ["claim", "pass"]
    assert GAME.action_name(players.counting(table.state, table.record[0])) == "pass"
    table.do("claim")
    assert GAME.action_name(players.counting(table.state, table.record[0])) == "agree"
