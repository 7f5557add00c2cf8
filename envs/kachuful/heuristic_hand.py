"""What the rule-based player expects of a hand: how likely each card takes a trick, and what the hand is worth.

Each card gets two chances of taking a trick: when its holder wants to lose with it (AVOID) and when it wants to win
(TAKE). They are logistic functions of what a player looks at: higher cards still out, how many of them can be in hands,
cards of the suit below and above in the own hand, how often the suit will go round before somebody trumps, own trumps,
short suits, the lead, and how eager the others are. The weights (`heuristic_weights`) were fitted to playouts of this
player. The worth of a hand then follows card by card, its holder choosing to win or to lose with each (a
Poisson-binomial distribution with a choice in every step).
"""

from __future__ import annotations

from typing import Any

from envs.cards import FULL_PACK, NO_TRUMP, PACK, suit_cards
from envs.game import SEATS
from envs.jit import highest_bit, jit, popcount
from envs.kachuful.heuristic_weights import (
    ABOVE,
    AVOID,
    BELOW,
    CLEAR,
    CONSTANT,
    HIGHER_OWN,
    INVERSE_SIZE,
    LEAD,
    LOWER_OWN,
    OWN_TRUMPS,
    PLAIN,
    PRESSURE,
    RUFFS,
    SEAT_COUNT,
    SHORT_SUITS,
    TAKE,
    THIN,
    TRUMP,
    WEIGHTS,
)
from envs.odds import share, sigmoid
from envs.tricks import steps_to

LARGEST_HAND = PACK // 3

# Working memory, one array of floats: a row for each card, then vectors.
CARD, LOGIT_AVOID, LOGIT_TAKE, HIGHER, LOWER, KIND = range(6)
ROW = 6
POINTS = ROW * LARGEST_HAND
"""From here on: points for 0, 1, 2 … more tricks."""
_VALUES = POINTS + LARGEST_HAND + 2
STAKES = _VALUES + LARGEST_HAND + 2
"""From here on, by seat: what the current trick is worth to the others."""
_SHORT = STAKES + SEATS
_TRUMPS = _SHORT + 1
LOST_STAKE = _TRUMPS + 1
"""What `heuristic_odds.holds` leaves: expected stake of those who beat a card."""
ROOM = LOST_STAKE + 1
"""Floats of working memory."""


@jit
def none_of(pool: int, wanted: int, drawn: int) -> float:
    """Chance that none of `wanted` cards of a pool is among `drawn` of it (hypergeometric, approximated by a power)."""
    if wanted <= 0 or drawn <= 0:
        return 1.0
    if pool < drawn + wanted:
        return 0.0
    single = 1.0 - drawn / (pool - 0.5 * (wanted - 1))
    result = 1.0
    while wanted > 0:
        if wanted & 1:
            result *= single
        single *= single
        wanted >>= 1
    return result


@jit
def unseen_cards(state: Any, n: int, hand: int) -> int:
    """Cards that the holder of `hand` has not seen."""
    known = hand
    for other in range(n):
        known |= int(state["played"][other])
    if int(state["turned"]) >= 0:
        known |= 1 << int(state["turned"])
    return FULL_PACK & ~known


@jit
def pressure_on(state: Any, n: int, seat: int, cards: int) -> float:
    """Tricks that the others still want, per trick to come, beyond their fair share; 0 in a balanced round."""
    wanted = 0.0
    for other in range(n):
        if other != seat:
            bid = int(state["bids"][other])
            wanted += max(0, bid - int(state["tricks"][other])) if bid >= 0 else cards / n
    return wanted / cards - (n - 1) / n


@jit
def weight_set(cards: int, bidding: bool) -> int:
    """Which weights apply: one set for bidding, others for playing with up to 2, 4, 7 and more cards left."""
    if bidding:
        return 0
    if cards <= 2:
        return 1
    if cards <= 4:
        return 2
    return 3 if cards <= 7 else 4


@jit
def read_hand(state: Any, n: int, seat: int, hand: int, unseen: int, phase: int, room: Any) -> int:
    """Write a row for each card of `hand`, trumps first, high cards first; returns the number of cards."""
    w = WEIGHTS[phase]
    trump = int(state["trump"])
    size = popcount(hand)
    laid = int(state["trick_size"])
    leader = int(state["leader"])
    held_by_others = size * (n - 1) - laid
    stock = max(popcount(unseen) - held_by_others, 0)
    pressure = pressure_on(state, n, seat, size)
    foreign_trumps = 0.0
    short = 0.0
    at = 0
    for k in range(4):
        suit = k
        if trump < NO_TRUMP:
            suit = trump if k == 0 else (k - 1 if k <= trump else k)
        own = hand & suit_cards(suit)
        length = popcount(own)
        kind = TRUMP if suit == trump else PLAIN
        if kind == PLAIN:
            short += 1.0 / (1.0 + length)
        if length == 0 and kind == PLAIN:
            continue
        out = unseen & suit_cards(suit)
        holders = held_by_others
        for other in range(n):
            if other != seat and (int(state["voids"][other]) >> suit) & 1:
                holders -= size - int(steps_to(leader, other, n) < laid)
        pool = holders + stock
        part = holders / pool if pool > 0 else 0.0
        foreign = popcount(out) * part
        thin = 1.0 / (1.0 + foreign / (n - 1))
        ruffs = 0.0
        if kind == TRUMP:
            foreign_trumps = foreign
        else:
            ruffs = thin * share(foreign_trumps)
        higher = 0
        while own != 0:
            card = highest_bit(own)
            own &= ~(1 << card)
            better = popcount(out >> card)
            clear = none_of(pool, better, holders)
            above = share(better * part)
            below = share(foreign - better * part)
            lower = length - 1 - higher
            for wish in range(2):
                row = w[kind, wish]
                room[at + LOGIT_AVOID + wish] = (
                    row[CONSTANT]
                    + row[PRESSURE] * pressure
                    + row[INVERSE_SIZE] / size
                    + row[THIN] * thin
                    + row[SEAT_COUNT] * n / SEATS
                    + row[RUFFS] * ruffs
                    + row[CLEAR] * clear
                    + row[ABOVE] * above
                    + row[BELOW] * below
                    + row[HIGHER_OWN] * share(higher)
                    + row[LOWER_OWN] * share(lower)
                )
            room[at + CARD] = card
            room[at + HIGHER] = higher
            room[at + LOWER] = lower
            room[at + KIND] = kind
            at += ROW
            higher += 1
    room[_SHORT] = short
    room[_TRUMPS] = popcount(hand & suit_cards(trump)) / size
    return size


@jit
def hand_value(room: Any, size: int, skip: int, leads: int, taken: int, phase: int) -> float:
    """Expected points of the hand in `room` with all cards but number `skip` (-1: none) still to come.

    `leads` is 1 where its holder leads next, `taken` the tricks it takes before; ``room[POINTS + i]`` are the points
    for i more tricks in all.
    """
    w = WEIGHTS[phase]
    short = float(room[_SHORT])
    trumps = float(room[_TRUMPS])
    count = size
    skip_kind = PLAIN
    first = last = -1
    if skip >= 0:
        row = skip * ROW
        count = size - 1
        first = skip - int(room[row + HIGHER])
        last = skip + int(room[row + LOWER])
        skip_kind = int(room[row + KIND])
        if skip_kind == TRUMP:
            trumps -= 1.0 / size
        else:
            length = room[row + HIGHER] + room[row + LOWER] + 1.0
            short += 1.0 / length - 1.0 / (length + 1.0)
    for i in range(count + 1):
        room[_VALUES + i] = room[POINTS + taken + i]
    left = count
    for i in range(size):
        if i == skip:
            continue
        row = i * ROW
        kind = int(room[row + KIND])
        avoid = room[row + LOGIT_AVOID] + _common(w[kind, AVOID], short, trumps, leads)
        take = room[row + LOGIT_TAKE] + _common(w[kind, TAKE], short, trumps, leads)
        if first <= i <= last:
            # The card that goes changes the place of its neighbours in the suit.
            own = HIGHER if i > skip else LOWER
            weight = HIGHER_OWN if i > skip else LOWER_OWN
            change = share(room[row + own] - 1.0) - share(room[row + own])
            avoid += w[skip_kind, AVOID, weight] * change
            take += w[skip_kind, TAKE, weight] * change
        _fold_card(room, left, sigmoid(avoid), sigmoid(take))
        left -= 1
    return float(room[_VALUES])


@jit
def _common(row: Any, short: float, trumps: float, leads: int) -> float:
    """What depends on the whole hand rather than on a card."""
    return float(row[SHORT_SUITS] * 0.25 * short + row[OWN_TRUMPS] * trumps + row[LEAD] * leads)


@jit
def _fold_card(room: Any, count: int, avoid: float, take: float) -> None:
    """One more card before those folded in so far: its holder wins with it where a further trick is worth more."""
    for i in range(_VALUES, _VALUES + count):
        without = room[i]
        with_trick = room[i + 1]
        chance = take if with_trick > without else avoid
        room[i] = without + chance * (with_trick - without)
