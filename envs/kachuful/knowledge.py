"""What a seat knows in Kachuful: redacting a state, and drawing one of the full states it cannot tell apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from envs.cards import FULL_PACK, fold, suit_cards, suit_of
from envs.jit import jit, local_array, popcount
from envs.kachuful.engine import BLIND_OFF, FOREHEAD, PENALTY, is_hidden_round
from envs.sampling import MAX_ROWS, Plan, draw, exchange_cards, prepare
from envs.tricks import seat_after, steps_to


@jit
def hand_hidden(state: Any, rules: Any, seat: int) -> bool:
    """Whether a seat may not see its own hand: before a blind bid, and in forehead and face-down rounds."""
    if is_hidden_round(state, rules):
        return True
    if int(rules["blind"]) == BLIND_OFF or int(state["bids"][seat]) >= 0:
        return False
    return bool(((int(state["looked"]) >> seat) & 1) == 0)


@jit
def sees_hand(state: Any, rules: Any, seat: int, other: int) -> bool:
    """Whether `seat` sees the cards that `other` holds."""
    if other == seat:
        return not hand_hidden(state, rules, seat)
    return bool(is_hidden_round(state, rules) and int(rules["single_card"]) == FOREHEAD)


@jit
def redact(state: Any, rules: Any, seat: int) -> None:
    """Zero, in place, everything `seat` may not know: hidden hands, revokes, the random state."""
    for other in range(int(rules["num_players"])):
        if not sees_hand(state, rules, seat, other):
            state["hands"][other] = 0
    state["revoked"] = 0
    state["seed"] = 0
    state["game"] = 0


@jit
def held(state: Any, rules: Any, seat: int) -> int:
    """Number of cards a seat holds, from public facts alone."""
    laid = steps_to(int(state["leader"]), seat, int(rules["num_players"])) < int(state["trick_size"])
    return int(state["hand_size"]) - int(state["trick"]) - int(laid)


@jit
def unseen(state: Any, rules: Any, seat: int) -> int:
    """Cards whose place `seat` does not know: neither seen in a hand, nor played, nor turned."""
    known = 0
    for other in range(int(rules["num_players"])):
        known |= int(state["played"][other])
        if sees_hand(state, rules, seat, other):
            known |= int(state["hands"][other])
    if int(state["turned"]) >= 0:
        known |= 1 << int(state["turned"])
    return FULL_PACK & ~known


@jit
def possible_cards(state: Any, seat: int) -> int:
    """Cards that a seat may hold by the voids it has shown."""
    cards = FULL_PACK
    for suit in range(4):
        if (int(state["voids"][seat]) >> suit) & 1:
            cards &= ~suit_cards(suit)
    return cards


@jit
def prepare_deals(state: Any, rules: Any, seat: int, plan: Plan) -> bool:
    """Study, for `determinize`, who may hold what in a record redacted for `seat`; False: the record is impossible."""
    n = int(rules["num_players"])
    quotas = local_array(MAX_ROWS, np.int64)
    allowed = local_array(MAX_ROWS, np.int64)
    quotas[:] = 0
    allowed[:] = 0
    open_cards = unseen(state, rules, seat)
    rows = 0
    dealt = 0
    for other in range(n):
        if not sees_hand(state, rules, seat, other):
            quotas[rows] = held(state, rules, other)
            allowed[rows] = possible_cards(state, other)
            dealt += int(quotas[rows])
            rows += 1
    quotas[rows] = popcount(open_cards) - dealt  # the rest of the pack
    allowed[rows] = FULL_PACK
    return prepare(open_cards, quotas, allowed, rows + 1, plan)


@jit
def find_revokes(state: Any, rules: Any) -> int:
    """Seats (bits) that held a card of the led suit when they played another, by the log and the hands of now."""
    n = int(rules["num_players"])
    revoked = 0
    for seat in range(n):
        later = int(state["hands"][seat])
        for at in range(int(state["count"]) - 1, -1, -1):
            trick = at // n
            leader = int(state["leaders"][trick])
            if leader < 0:  # a position need not tell the cards of earlier tricks
                break
            if seat_after(leader, at - trick * n, n) != seat:
                continue
            card = int(state["log"][at])
            led = suit_of(int(state["log"][trick * n]))
            if suit_of(card) != led and later & suit_cards(led) != 0:
                revoked |= 1 << seat
            later |= 1 << card
    return revoked


@jit
def determinize(state: Any, rules: Any, seat: int, plan: Plan, key: int) -> None:
    """Fill a record redacted for `seat`, in place, with a uniformly drawn deal of the prepared plan."""
    hands = local_array(MAX_ROWS, np.int64)
    hands[:] = 0
    draw(plan, int(key) & 0xFFFFFFFF, int(key) >> 32, 0, hands)
    row = 0
    for other in range(int(rules["num_players"])):
        if not sees_hand(state, rules, seat, other):
            state["hands"][other] = hands[row]
            row += 1
    if int(rules["revoke"]) == PENALTY:
        state["revoked"] = find_revokes(state, rules)
    state["seed"] = fold(key, 1)


@jit
def exchange(state: Any, rules: Any, seat: int, plan: Plan, key: int) -> bool:
    """Exchange two cards that `seat` does not see (see `envs.game`)."""
    hands = local_array(MAX_ROWS, np.int64)
    hands[:] = 0
    n = int(rules["num_players"])
    rest = unseen(state, rules, seat)
    rows = 0
    for other in range(n):
        if not sees_hand(state, rules, seat, other):
            hands[rows] = state["hands"][other]
            rest &= ~int(hands[rows])
            rows += 1
    hands[rows] = rest
    if not exchange_cards(plan, int(key) & 0xFFFFFFFF, int(key) >> 32, hands):
        return False
    rows = 0
    for other in range(n):
        if not sees_hand(state, rules, seat, other):
            state["hands"][other] = hands[rows]
            rows += 1
    if int(rules["revoke"]) == PENALTY:
        state["revoked"] = find_revokes(state, rules)
    return True
