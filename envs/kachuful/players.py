"""The rule-based players of Kachuful, compiled on redacted records: the fixed yardstick, and which there are.

`counting` never changes: agents of different times are measured against it.
"""

from __future__ import annotations

from typing import Any

from envs.cards import SUIT_SIZE, count_in_suit
from envs.jit import jit, lowest_bit
from envs.kachuful.engine import (
    BID,
    BID_ACTION,
    BLIND_ACTION,
    BLIND_FORCED,
    BLIND_OFF,
    LOOK_ACTION,
    is_hidden_round,
    legal_bids,
    legal_cards,
)
from envs.kachuful.heuristic import heuristic
from envs.kachuful.knowledge import hand_hidden
from envs.tricks import beats, card_order

_ACE, _KING = SUIT_SIZE - 1, SUIT_SIZE - 2


@jit
def counting_estimate(hand: int, trump: int, hand_size: int) -> int:
    """Tricks `counting` expects: aces, kings not alone in their suit (trumps twice), trumps beyond the third."""
    total = 0
    for suit in range(4):
        worth = 2 if suit == trump else 1
        if (hand >> (SUIT_SIZE * suit + _ACE)) & 1:
            total += worth
        if (hand >> (SUIT_SIZE * suit + _KING)) & 1 and count_in_suit(hand, suit) >= 2:
            total += worth
        if suit == trump:
            total += max(0, count_in_suit(hand, suit) - 3)
    return min(total, hand_size)


@jit
def nearest_bid(bids: int, wanted: int) -> int:
    """The wanted bid where allowed, else the nearest allowed one below, else above (`bids` as bits)."""
    for bid in range(wanted, -1, -1):
        if (bids >> bid) & 1:
            return bid
    return lowest_bit(bids & ~((1 << wanted) - 1))


@jit
def counting_card(state: Any, rules: Any) -> int:
    """Card of `counting`: cheapest winner while tricks are needed, else highest loser; where none, the lowest."""
    seat = int(state["turn"])
    trump = int(state["trump"])
    best = int(state["best"])
    needs = int(state["tricks"][seat]) < int(state["bids"][seat])
    cards = legal_cards(state, rules)
    lowest, chosen = -1, -1
    lowest_order, chosen_order = 0, 0
    while cards != 0:
        card = lowest_bit(cards)
        cards &= cards - 1
        order = card_order(card, trump)
        wins = best < 0 or beats(card, best, trump)
        if lowest < 0 or order < lowest_order:
            lowest, lowest_order = card, order
        if wins == needs and (chosen < 0 or (order < chosen_order) == needs):
            chosen, chosen_order = card, order
    return chosen if chosen >= 0 else lowest


@jit
def counting(state: Any, rules: Any) -> int:
    """Action of the yardstick for the seat to act: looks where it may, bids 0 for a hand it cannot see."""
    if int(state["phase"]) != BID:
        return counting_card(state, rules)
    seat = int(state["turn"])
    hidden = hand_hidden(state, rules, seat)
    blind = int(rules["blind"])
    plain = blind == BLIND_OFF or is_hidden_round(state, rules)
    if hidden and not plain and blind != BLIND_FORCED:
        return LOOK_ACTION
    size = int(state["hand_size"])
    wanted = 0 if hidden else counting_estimate(int(state["hands"][seat]), int(state["trump"]), size)
    bid = nearest_bid(legal_bids(state, rules), wanted)
    return bid + (BID_ACTION if plain or not hidden else BLIND_ACTION)


RULE_PLAYERS = ("counting", "heuristic")
"""Names of the rule-based players, in the order of their kinds."""


@jit
def rule_player(state: Any, rules: Any, kind: int) -> int:
    """Action of the rule-based player `kind` (an index into `RULE_PLAYERS`) for the seat to act."""
    return counting(state, rules) if kind == 0 else heuristic(state, rules)
