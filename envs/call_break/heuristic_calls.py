"""What the rule-based player calls: the call that is worth most by the tricks it expects of its hand.

Expected tricks are a weighted sum of what a player counts: honours, their guards, trumps and short suits to use them
in, the lead, and how much others have called. The weights (`heuristic_weights`) were fitted to games of this player;
what it takes is spread about that like a normal distribution.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from envs.call_break.duties import UNNAMED
from envs.call_break.engine import legal_calls
from envs.call_break.rules import HAND, SEATS_AT_TABLE
from envs.call_break.scoring import score
from envs.cards import NO_TRUMP, SUIT_SIZE
from envs.jit import jit, local_array, lowest_bit, popcount
from envs.odds import normal_below

OUTCOMES = HAND + 1
"""Numbers of tricks that a seat may take."""
NUM_COUNTS = 22
"""What is counted in a hand."""
TYPICAL_CALL = 2.75
TRUMP_KNOWN, TRUMP_UNKNOWN, TRUMP_ABSENT = range(3)
_A, _K, _Q, _J, _T = (SUIT_SIZE - 1 - i for i in range(5))


@jit
def count_hand(hand: int, trump: int, out: Any) -> None:
    """Write what a hand counts under a trump (4: none, or not known) to ``out[:20]``."""
    for i in range(NUM_COUNTS):
        out[i] = 0.0
    out[0] = 1.0
    trumps = 0
    if trump < NO_TRUMP:
        suit = (hand >> (SUIT_SIZE * trump)) & ((1 << SUIT_SIZE) - 1)
        trumps = popcount(suit)
        out[1] = (suit >> _A) & 1
        out[2] = (suit >> _K) & int(trumps >= 2)
        out[3] = (suit >> _Q) & int(trumps >= 3)
        out[4] = (suit >> _J) & int(trumps >= 4)
        out[5] = (suit >> _T) & 1
        out[6] = trumps
        out[7] = max(0, trumps - 3)
        out[8] = max(0, trumps - 5)
        out[9] = int(trumps <= 1)
    ruffs = min(trumps, 4)
    for other in range(4):
        if other == trump:
            continue
        suit = (hand >> (SUIT_SIZE * other)) & ((1 << SUIT_SIZE) - 1)
        length = popcount(suit)
        ace = (suit >> _A) & 1
        king = (suit >> _K) & 1
        out[10] += ace
        out[11] += king & ace
        out[12] += king & (1 - ace) & int(length >= 2)
        out[13] += king & int(length == 1)
        out[14] += (suit >> _Q) & int(length >= 3)
        out[15] += ruffs * int(length == 0)
        out[16] += ruffs * int(length == 1)
        out[17] += ruffs * int(length == 2)
        out[18] += max(0, length - 4)
        out[19] += max(0, length - 4) * min(trumps, 5)


@jit
def weigh(hand: int, trump: int, kind: int, weights: Any, out: Any) -> float:
    """Expected tricks of a hand under a trump, its holder not leading and nobody having called yet."""
    count_hand(hand, trump, out)
    total = 0.0
    for i in range(NUM_COUNTS):
        total += weights[i, kind] * out[i]
    return total


@jit
def best_trump(hand: int, weights: Any, out: Any) -> int:
    """The suit that a hand expects most tricks with as trump."""
    best, most = 0, -1.0
    for suit in range(4):
        value = weigh(hand, suit, TRUMP_KNOWN, weights, out)
        if value > most:
            best, most = suit, value
    return best


@jit
def expected_tricks(state: Any, seat: int, weights: Any, out: Any) -> tuple[float, int]:
    """Tricks that a seat expects before it calls, and what it knows of the trump."""
    hand = int(state["hands"][seat])
    trump = int(state["trump"])
    leads = int(state["leader"]) == seat
    kind = TRUMP_KNOWN if trump < NO_TRUMP else TRUMP_ABSENT
    if trump == UNNAMED:
        kind = TRUMP_KNOWN if leads else TRUMP_UNKNOWN
        trump = best_trump(hand, weights, out) if leads else NO_TRUMP
    total = weigh(hand, trump, kind, weights, out)
    out[20] = int(leads)
    out[21] = int(state["bid_total"]) - TYPICAL_CALL * int(state["bid_count"])
    total += weights[20, kind] * out[20] + weights[21, kind] * out[21]
    players = popcount(int(state["playing"]))
    return total + HAND / players - HAND / SEATS_AT_TABLE, kind


@jit
def best_call(state: Any, rules: Any, seat: int, weights: Any, spreads: Any) -> tuple[int, float]:
    """The call whose expected points are highest, and these points in tenths."""
    out = local_array(NUM_COUNTS, np.float64)
    mean, kind = expected_tricks(state, seat, weights, out)
    spread = float(spreads[kind])
    chances = local_array(OUTCOMES, np.float64)
    before = 0.0
    for won in range(OUTCOMES):
        upto = normal_below((won + 0.5 - mean) / spread) if won < HAND else 1.0
        chances[won] = upto - before
        before = upto
    calls = legal_calls(rules)
    chosen, most = -1, 0.0
    while calls != 0:
        call = lowest_bit(calls)
        calls &= calls - 1
        value = 0.0
        for won in range(OUTCOMES):
            value += chances[won] * score(rules, call, won)
        if chosen < 0 or value > most:
            chosen, most = call, value
    return chosen, most
