"""What calls and cards played in Call Break tell of hidden hands: how well a full state explains them."""

from __future__ import annotations

from typing import Any

import numpy as np

from envs.call_break.engine import BID, BID_ACTION, MOST_REDEALS, PLAY, deal, step
from envs.call_break.heuristic import heuristic
from envs.call_break.rules import HAND, SEATS_AT_TABLE
from envs.cards import PACK
from envs.game import MOST_PAST
from envs.jit import jit, local_array, lowest_bit, popcount
from envs.trick_evidence import hand_then, keep_cards, keep_moment


@jit
def begin_again(state: Any, rules: Any, replay: Any) -> bool:
    """Set `replay` to the round of a full state before its first call; False where earlier cards are unknown."""
    deck = local_array(PACK, np.int8)
    deck[:] = 0
    at = 0
    for seat in range(SEATS_AT_TABLE):
        if (int(state["playing"]) >> seat) & 1:
            hand = int(state["hands"][seat]) | int(state["played"][seat])
            if popcount(hand) != HAND:
                return False
            while hand != 0:
                deck[at] = lowest_bit(hand)
                hand &= hand - 1
                at += 1
    deal(replay, rules, deck)
    replay["phase"] = BID
    replay["redeals"] = MOST_REDEALS  # these calls were played, however low
    return True


@jit
def past(state: Any, rules: Any, seat: int, moves: bool, records: Any, actions: Any) -> int:
    """Write the others' calls and cards, and what they saw then (see `envs.game`)."""
    records[MOST_PAST] = state
    replay = records[MOST_PAST]
    if not begin_again(state, rules, replay):
        return 0
    count = 0
    for _ in range(popcount(int(state["playing"]))):
        caller = int(replay["turn"])
        call = int(state["bids"][caller])
        if call < 0:
            return count
        if caller != seat:
            count = keep_moment(replay, records, actions, count, BID_ACTION + call)
        step(replay, rules, BID_ACTION + call)
    if moves and int(state["phase"]) == PLAY:
        count = keep_cards(state, rules, seat, replay, records, actions, count)
    return count


@jit
def judge(record: Any, rules: Any, state: Any, action: int) -> float:
    """Steps between a call or card and the rule-based player's, with the hands of a full state (see `envs.game`)."""
    seat = int(record["turn"])
    record["hands"][seat] = hand_then(record, state, seat)
    choice = heuristic(record, rules)
    if int(record["phase"]) == BID:
        return float(abs(action - choice))
    return 0.0 if choice == action else 1.0
