"""The rule-based player of Kachuful: bids what its hand is worth most with, plays to end exactly on its bid.

For each legal card it weighs what the rest of its hand would be worth after winning or losing this trick with it, and
what the trick is worth to the others: so it ducks and overtakes, dumps honours once it has enough, cashes what it
needs, and spoils others when that costs nothing. It reads redacted records only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from envs.cards import suit_cards, suit_of
from envs.game import SEATS
from envs.jit import highest_bit, jit, local_array, lowest_bit, popcount
from envs.kachuful.engine import (
    BID,
    BID_ACTION,
    BLIND_ACTION,
    BLIND_FORCED,
    BLIND_OFF,
    FOREHEAD,
    LOOK_ACTION,
    is_hidden_round,
    legal_bids,
    score,
)
from envs.kachuful.heuristic_hand import (
    CARD,
    LOST_STAKE,
    POINTS,
    ROOM,
    ROW,
    STAKES,
    expect_cards,
    hand_value,
    read_hand,
    unseen_cards,
    weight_set,
)
from envs.kachuful.heuristic_odds import holds, look_around, stake
from envs.kachuful.knowledge import hand_hidden, unseen
from envs.tricks import beats, following, seat_after

EXACT_WHEN_SEEN = 0.6
"""How often this player ends exactly on a bid it made with its cards in sight (four seats, among its like)."""


@jit
def _bid_seen(state: Any, rules: Any, seat: int, room: Any) -> int:
    """The bid of a hand in sight: the one whose expected points are highest."""
    n = int(rules["num_players"])
    hand = int(state["hands"][seat])
    size = read_hand(state, n, seat, hand, unseen_cards(state, n, hand), weight_set(popcount(hand), True), room)
    leads = int(int(state["leader"]) == seat)
    bids = legal_bids(state, rules)
    best = lowest_bit(bids)
    most = 0.0
    first = True
    expect_cards(room, size, -1, leads, 0)
    while bids != 0:
        bid = lowest_bit(bids)
        bids &= bids - 1
        for won in range(size + 1):
            room[POINTS + won] = score(rules, bid, won, False)
        value = hand_value(room, size, -1, leads, 0, 0)
        if first or value > most:
            most = value
            best = bid
            first = False
    return best


@jit
def forehead_chance(state: Any, rules: Any, seat: int) -> float:
    """Chance that the seat's own unseen card wins the trick of a forehead round: the share of cards that would."""
    n = int(rules["num_players"])
    trump = int(state["trump"])
    leader = int(state["leader"])
    cards = unseen(state, rules, seat)
    total = popcount(cards)
    winners = 0
    while cards != 0:
        own = lowest_bit(cards)
        cards &= cards - 1
        best = -1
        best_seat = -1
        for i in range(n):
            other = seat_after(leader, i, n)
            card = own if other == seat else lowest_bit(int(state["hands"][other]))
            if best < 0 or beats(card, best, trump):
                best = card
                best_seat = other
        winners += int(best_seat == seat)
    return winners / total


@jit
def _hidden_value(rules: Any, size: int, chance: float, bid: int, blind: bool) -> float:
    """Expected points of a bid for `size` tricks that are each won with a chance (binomial)."""
    value = 0.0
    weight = (1.0 - chance) ** size
    for won in range(size + 1):
        value += weight * score(rules, bid, won, blind)
        weight *= (size - won) / (won + 1.0) * chance / max(1.0 - chance, 1e-9)
    return value


@jit
def _bid_hidden(state: Any, rules: Any, seat: int, blind: bool) -> tuple[int, float]:
    """Best bid for a hand out of sight and its expected points."""
    n = int(rules["num_players"])
    size = int(state["hand_size"])
    chance = 1.0 / n
    if is_hidden_round(state, rules) and int(rules["single_card"]) == FOREHEAD:
        chance = min(max(forehead_chance(state, rules, seat), 1e-6), 1.0 - 1e-6)
    bids = legal_bids(state, rules)
    best = lowest_bit(bids)
    most = _hidden_value(rules, size, chance, best, blind)
    bids &= bids - 1
    while bids != 0:
        bid = lowest_bit(bids)
        bids &= bids - 1
        value = _hidden_value(rules, size, chance, bid, blind)
        if value > most:
            most = value
            best = bid
    return best, most


@jit
def _choose_bid(state: Any, rules: Any, seat: int, room: Any) -> int:
    blind = int(rules["blind"])
    if not hand_hidden(state, rules, seat):
        return BID_ACTION + _bid_seen(state, rules, seat, room)
    if blind == BLIND_OFF or is_hidden_round(state, rules):
        bid, _ = _bid_hidden(state, rules, seat, False)
        return BID_ACTION + bid
    bid, value = _bid_hidden(state, rules, seat, True)
    if blind == BLIND_FORCED:
        return BLIND_ACTION + bid
    # Looking pays unless the doubled points outweigh that a bid in sight is exact more often.
    fair = int(state["hand_size"]) // int(rules["num_players"])
    seen = EXACT_WHEN_SEEN * score(rules, fair, fair, False) + (1.0 - EXACT_WHEN_SEEN) * score(
        rules, fair, fair + 1, False
    )
    return BLIND_ACTION + bid if value > seen else LOOK_ACTION


@jit
def _choose_card(state: Any, rules: Any, seat: int, room: Any) -> int:
    """The card after which the expected points, less what the trick gives the others, are highest."""
    n = int(rules["num_players"])
    hand = int(state["hands"][seat])
    # It follows suit where revoking is allowed too: a revoke never scores.
    cards = hand if int(state["trick_size"]) == 0 else following(hand, int(state["led"]))
    if cards & (cards - 1) == 0:
        return lowest_bit(cards)
    hidden = unseen_cards(state, n, hand)
    phase = weight_set(popcount(hand), False)
    size = read_hand(state, n, seat, hand, hidden, phase, room)
    bid = int(state["bids"][seat])
    won = int(state["tricks"][seat])
    blind = bool((int(state["blind"]) >> seat) & 1)
    top = int(state["best"])
    trump = int(state["trump"])
    for i in range(size + 1):
        room[POINTS + i] = score(rules, bid, won + i, blind)
    for other in range(n):
        room[STAKES + other] = 0.0 if other == seat else stake(state, rules, n, other, size - 1) / (n - 1)
    pools = local_array(SEATS, np.int64)
    look_around(state, n, hidden, pools)
    theirs = 0.0
    if top >= 0:
        chance = holds(state, n, seat, size, top, pools, room)
        theirs = chance * room[STAKES + int(state["best_seat"])] + room[LOST_STAKE]
    best = -1
    most = 0.0
    suit = -1
    for i in range(size):
        card = int(room[ROW * i + CARD])
        if (cards >> card) & 1 == 0:
            continue
        if suit_of(card) != suit:
            suit = suit_of(card)
            expect_cards(room, size, i, 0, phase)
            if top < 0 or beats(highest_bit(cards & suit_cards(suit)), top, trump):
                expect_cards(room, size, i, 1, phase)
        if top < 0 or beats(card, top, trump):
            chance = holds(state, n, seat, size, card, pools, room)
            value = -float(room[LOST_STAKE])
            if chance > 0.0:
                value += chance * hand_value(room, size, i, 1, 1, phase)
            if chance < 1.0:
                value += (1.0 - chance) * hand_value(room, size, i, 0, 0, phase)
        else:
            value = hand_value(room, size, i, 0, 0, phase) - theirs
        if best < 0 or value > most:
            best = card
            most = value
    return best


@jit
def heuristic(state: Any, rules: Any) -> int:
    """Action of the rule-based player for the seat to act, from a redacted record."""
    seat = int(state["turn"])
    room = local_array(ROOM, np.float64)
    if int(state["phase"]) == BID:
        return _choose_bid(state, rules, seat, room)
    return _choose_card(state, rules, seat, room)
