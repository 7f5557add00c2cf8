"""What calls and cards played in Call Break tell of hidden hands: how well a full state explains them."""

from __future__ import annotations

from typing import Any

import numpy as np

from envs.call_break.engine import BID, BID_ACTION, MOST_REDEALS, PLAY, deal, step
from envs.call_break.heuristic import heuristic
from envs.call_break.knowledge import redact
from envs.call_break.rules import HAND, SEATS_AT_TABLE
from envs.cards import PACK
from envs.jit import jit, lowest_bit, popcount
from envs.loops import forced_action


@jit
def begin_again(state: Any, rules: Any, replay: Any) -> bool:
    """Set `replay` to the round of a full state before its first call; False where earlier cards are unknown."""
    deck = np.zeros(PACK, np.int8)
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
def rule_choice(replay: Any, rules: Any, seen: Any) -> int:
    """What the rule-based player does for the seat to act."""
    seen[0] = replay
    redact(seen[0], rules, int(replay["turn"]))
    return heuristic(seen[0], rules)


@jit
def plausibility(state: Any, rules: Any, seat: int, moves: bool, spare: Any) -> float:
    """Minus the steps between the others' calls, and cards, and the rule-based player's (see `envs.game`)."""
    replay = spare[0]
    spare[0] = state
    if not begin_again(state, rules, replay):
        return 0.0
    steps = 0
    for _ in range(popcount(int(state["playing"]))):
        caller = int(replay["turn"])
        call = int(state["bids"][caller])
        if call < 0:
            return -float(steps)
        if caller != seat:
            steps += abs(call - (rule_choice(replay, rules, spare[1:]) - BID_ACTION))
        step(replay, rules, BID_ACTION + call)
    if moves and int(state["phase"]) == PLAY:
        for at in range(int(state["count"])):
            card = int(state["log"][at])
            if int(replay["turn"]) != seat and forced_action(replay, rules) < 0:
                steps += int(rule_choice(replay, rules, spare[1:]) != card)
            step(replay, rules, card)
    return -float(steps)
