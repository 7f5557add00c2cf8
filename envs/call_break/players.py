"""The rule-based players of Call Break, compiled on redacted records: the fixed yardstick, and which there are.

`counting` never changes: agents of different times are measured against it.
"""

from __future__ import annotations

from typing import Any

from envs.call_break.duties import legal_cards
from envs.call_break.engine import AGREE_ACTION, BID, BID_ACTION, MISDEAL, PASS_ACTION
from envs.call_break.heuristic import heuristic
from envs.cards import SUIT_SIZE
from envs.jit import jit, lowest_bit
from envs.tricks import beats, card_order

_ACE, _KING = SUIT_SIZE - 1, SUIT_SIZE - 2


@jit
def counting_call(rules: Any, hand: int) -> int:
    """Call of `counting`: its aces and kings, or the nearest call allowed."""
    total = 0
    for suit in range(4):
        total += (hand >> (SUIT_SIZE * suit + _ACE)) & 1
        total += (hand >> (SUIT_SIZE * suit + _KING)) & 1
    return max(int(rules["min_call"]), min(int(rules["max_call"]), total))


@jit
def counting_card(state: Any, rules: Any) -> int:
    """Card of `counting`: the cheapest that wins the trick so far, else the lowest."""
    trump = int(state["trump"])
    best = int(state["best"])
    cards = legal_cards(state, rules)
    lowest, winner = -1, -1
    lowest_order, winner_order = 0, 0
    while cards != 0:
        card = lowest_bit(cards)
        cards &= cards - 1
        order = card_order(card, trump)
        if lowest < 0 or order < lowest_order:
            lowest, lowest_order = card, order
        if (best < 0 or beats(card, best, trump)) and (winner < 0 or order < winner_order):
            winner, winner_order = card, order
    return winner if winner >= 0 else lowest


@jit
def counting(state: Any, rules: Any) -> int:
    """Action of the yardstick for the seat to act: it never claims a misdeal, and agrees to any claim."""
    phase = int(state["phase"])
    if phase == MISDEAL:
        return PASS_ACTION if int(state["claimer"]) < 0 else AGREE_ACTION
    if phase == BID:
        return BID_ACTION + counting_call(rules, int(state["hands"][int(state["turn"])]))
    return counting_card(state, rules)


RULE_PLAYERS = ("counting", "heuristic")
"""Names of the rule-based players, in the order of their kinds."""


@jit
def rule_player(state: Any, rules: Any, kind: int) -> int:
    """Action of the rule-based player `kind` (an index into `RULE_PLAYERS`) for the seat to act."""
    return counting(state, rules) if kind == 0 else heuristic(state, rules)
