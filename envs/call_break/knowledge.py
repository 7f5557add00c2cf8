"""What a seat knows in Call Break: redacting a state, and drawing one of the full states it cannot tell apart.

The duties show single cards that a seat cannot hold (``barred``). Misdeals tell of whole hands: under ``auto`` none was
one, and a standing claim proves that the claimer's was. Nothing follows for hands of which earlier cards are unknown.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from envs.call_break.duties import SPADES, spades_are_trump
from envs.call_break.engine import is_misdeal, next_player
from envs.call_break.rules import HAND, MISDEAL_AUTO, SEATS_AT_TABLE
from envs.cards import FULL_PACK, fold, random_bits, suit_cards
from envs.jit import jit, local_array, popcount
from envs.sampling import MAX_ROWS, Plan, count, draw, exchange_cards, prepare

CASES = 5
"""Kinds of misdeals: thirteen cards of suit 0..3, and without a spade."""
VOID = 4
MOST_TRIES = 100_000
"""Deals drawn in search of one without a misdeal before a record is called impossible (about one in a thousand fits in
the least likely of true positions)."""


@jit
def redact(state: Any, rules: Any, seat: int) -> None:
    """Zero, in place, everything `seat` may not know: the other hands and the random state."""
    for other in range(SEATS_AT_TABLE):
        if other != seat:
            state["hands"][other] = 0
    state["seed"] = 0
    state["game"] = 0


@jit
def held(state: Any, seat: int) -> int:
    """Number of cards a seat holds, from public facts alone."""
    if (int(state["playing"]) >> seat) & 1 == 0:
        return 0
    laid = 0
    player = int(state["leader"])
    for _ in range(int(state["trick_size"])):
        laid |= int(player == seat)
        player = next_player(state, player)
    return int(state["hand_size"]) - int(state["trick"]) - laid


@jit
def unseen(state: Any, seat: int) -> int:
    """Cards that `seat` neither holds nor has seen played."""
    known = int(state["hands"][seat])
    for other in range(SEATS_AT_TABLE):
        known |= int(state["played"][other])
    return FULL_PACK & ~known


@jit
def knows_deal(state: Any) -> bool:
    """Whether hands of thirteen were dealt and all cards played since are known (a position may leave out both)."""
    told = int(state["trick"]) == 0 or int(state["leaders"][0]) >= 0
    return bool(told and int(state["hand_size"]) == HAND)


@jit
def case_cards(rules: Any, case: int) -> int:
    """Cards of which a dealt hand of a case consists; no hand is of two cases, and every misdeal is of one."""
    if not spades_are_trump(rules):
        return suit_cards(case) if case < VOID else 0
    if case == VOID:
        return FULL_PACK & ~suit_cards(SPADES)
    return suit_cards(case) if case == SPADES else 0


@jit
def prepare_case(state: Any, rules: Any, seat: int, case: int, plan: Plan) -> bool:
    """Study who may hold what in a record redacted for `seat`, the claimer having claimed by a case (-1: any hand)."""
    quotas = local_array(MAX_ROWS, np.int64)
    allowed = local_array(MAX_ROWS, np.int64)
    quotas[:] = 0
    allowed[:] = 0
    claimer = int(state["claimer"])
    open_cards = unseen(state, seat)
    left = popcount(open_cards)
    for other in range(SEATS_AT_TABLE):
        if other != seat:
            quotas[other] = held(state, other)
            allowed[other] = FULL_PACK & ~int(state["barred"][other])
            left -= int(quotas[other])
    if case >= 0:
        cards = case_cards(rules, case)
        if int(state["played"][claimer]) & ~cards != 0:
            return False
        allowed[claimer] &= cards
    quotas[SEATS_AT_TABLE] = left  # cards not dealt, or played unseen
    allowed[SEATS_AT_TABLE] = FULL_PACK
    return prepare(open_cards, quotas, allowed, SEATS_AT_TABLE + 1, plan)


@jit
def claim_shown(state: Any, seat: int) -> bool:
    """Whether `seat` knows by a claim that another hand of this deal is, or was, a misdeal."""
    claimer = int(state["claimer"])
    return bool(claimer >= 0 and claimer != int(seat) and knows_deal(state))


@jit
def may_be_dealt(state: Any, rules: Any, seat: int, hands: Any) -> bool:
    """Whether the others' hands would have been played: under ``auto`` none was dealt as a misdeal."""
    if int(rules["misdeal"]) != MISDEAL_AUTO or not knows_deal(state):
        return True
    for other in range(SEATS_AT_TABLE):
        if other != seat and is_misdeal(rules, int(hands[other]) | int(state["played"][other])):
            return False
    return True


@jit
def draw_hands(state: Any, rules: Any, seat: int, plan: Plan, key: int, hands: Any) -> bool:
    """Draw hands for the other seats from a plan, under ``auto`` until none was dealt as a misdeal; False: gave up."""
    counter = 0
    for _ in range(MOST_TRIES):
        counter = draw(plan, int(key) & 0xFFFFFFFF, int(key) >> 32, counter, hands)
        if may_be_dealt(state, rules, seat, hands):
            return True
    return False


@jit
def prepare_deals(state: Any, rules: Any, seat: int, plan: Plan) -> bool:
    """Study, for `determinize`, who may hold what in a record redacted for `seat`; False: the record is impossible."""
    notes = plan[0][0]["notes"]
    if not claim_shown(state, seat):
        if not prepare_case(state, rules, seat, -1, plan):
            return False
        hands = local_array(MAX_ROWS, np.int64)
        hands[:] = 0
        return draw_hands(state, rules, seat, plan, 0, hands)
    possible, last = 0, -1
    for case in range(CASES):
        notes[case] = 0.0
        if prepare_case(state, rules, seat, case, plan):
            notes[case] = count(plan)
            possible += 1
            last = case
    if possible == 1:
        prepare_case(state, rules, seat, last, plan)
    return possible > 0


@jit
def choose_case(plan: Plan, key: int) -> int:
    """Draw a case with the weight of the deals that it has, or -1 where only one is possible: its plan is there."""
    notes = plan[0][0]["notes"]
    total, possible = 0.0, 0
    for case in range(CASES):
        total += notes[case]
        possible += int(notes[case] > 0.0)
    if possible == 1:
        return -1
    high = random_bits(key & 0xFFFFFFFF, key >> 32, 0)
    low = random_bits(key & 0xFFFFFFFF, key >> 32, 1)
    rest = float((high << 21) + (low >> 11)) * (1.0 / 9007199254740992.0) * total
    chosen = -1
    for case in range(CASES):
        if notes[case] > 0.0 and (chosen < 0 or rest >= 0.0):
            chosen = case
        rest -= notes[case]
    return chosen


@jit
def determinize(state: Any, rules: Any, seat: int, plan: Plan, key: int) -> None:
    """Fill a record redacted for `seat`, in place, with a uniformly drawn deal of the prepared plan."""
    hands = local_array(MAX_ROWS, np.int64)
    hands[:] = 0
    if claim_shown(state, seat):
        case = choose_case(plan, fold(key, 2))
        if case >= 0:
            prepare_case(state, rules, seat, case, plan)
    draw_hands(state, rules, seat, plan, key, hands)
    for other in range(SEATS_AT_TABLE):
        if other != seat:
            state["hands"][other] = hands[other]
    state["seed"] = fold(key, 1)


@jit
def exchange(state: Any, rules: Any, seat: int, plan: Plan, key: int) -> bool:
    """Exchange two cards that `seat` does not see (see `envs.game`); none where a claim has shown what a hand was."""
    if claim_shown(state, seat):
        return False
    hands = local_array(MAX_ROWS, np.int64)
    hands[:] = 0
    rest = unseen(state, seat)
    for other in range(SEATS_AT_TABLE):
        if other != seat:
            hands[other] = state["hands"][other]
            rest &= ~int(hands[other])
    hands[SEATS_AT_TABLE] = rest
    if not exchange_cards(plan, int(key) & 0xFFFFFFFF, int(key) >> 32, hands):
        return False
    if not may_be_dealt(state, rules, seat, hands):
        return False
    for other in range(SEATS_AT_TABLE):
        if other != seat:
            state["hands"][other] = hands[other]
    return True
