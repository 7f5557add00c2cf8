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

import numpy as np

from envs.cards import FULL_PACK, NO_TRUMP, PACK, SUIT_SIZE, suit_cards
from envs.game import SEATS
from envs.jit import highest_bit, inlined, jit, popcount
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
_CHANCES = LOST_STAKE + 1
"""From here on: chances of each card to take a trick, its holder avoiding and taking it, by who leads next."""
_SIDE = 2 * LARGEST_HAND
ROOM = _CHANCES + 2 * _SIDE
"""Floats of working memory."""


_MOST_WANTED = 2 * SUIT_SIZE
"""Cards of the led suit and of trumps."""


def _power(base: np.ndarray, exponent: int) -> np.ndarray:
    """A power by repeated squaring: the same on every machine."""
    result = np.ones_like(base)
    while exponent > 0:
        if exponent & 1:
            result = result * base
        base = base * base
        exponent >>= 1
    return result


def _tabulate() -> np.ndarray:
    """(pool, drawn, wanted) chances that none of `wanted` cards of a pool is among `drawn` of it."""
    pool, drawn = np.arange(PACK + 1)[:, None], np.arange(PACK + 1)
    table = np.ones((PACK + 1, PACK + 1, _MOST_WANTED + 1))
    for wanted in range(1, _MOST_WANTED + 1):
        single = 1.0 - drawn / np.maximum(pool - 0.5 * (wanted - 1), 1.0)
        table[..., wanted] = np.where(pool >= drawn + wanted, _power(single, wanted), 0.0)
    table[:, 0] = 1.0
    return table


_NONE_OF = _tabulate()


@inlined
def none_of(pool: int, wanted: int, drawn: int) -> float:
    """Chance that none of `wanted` (0..26) cards of a pool is among `drawn` of it, both 0..52.

    That is a hypergeometric chance, approximated by a power.
    """
    return float(_NONE_OF[pool, drawn, wanted])


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
def expect_cards(room: Any, size: int, skip: int, leads: int, phase: int) -> None:
    """Write the chances of all cards in `room`, card number `skip` (-1: none) gone, to take a trick.

    Those of its suit `hand_value` completes, as they differ with the card. `leads` is 1 where their holder leads next.
    """
    w = WEIGHTS[phase]
    short, trumps = float(room[_SHORT]), float(room[_TRUMPS])
    if skip >= 0:
        row = skip * ROW
        if int(room[row + KIND]) == TRUMP:
            trumps -= 1.0 / size
        else:
            length = room[row + HIGHER] + room[row + LOWER] + 1.0
            short += 1.0 / length - 1.0 / (length + 1.0)
    at = _CHANCES + leads * _SIDE
    plain_avoid, plain_take = (
        _common(w[PLAIN, AVOID], short, trumps, leads),
        _common(w[PLAIN, TAKE], short, trumps, leads),
    )
    trump_avoid, trump_take = (
        _common(w[TRUMP, AVOID], short, trumps, leads),
        _common(w[TRUMP, TAKE], short, trumps, leads),
    )
    first, last = _suit_of(room, skip)
    for i in range(size):
        row = i * ROW
        is_trump = int(room[row + KIND]) == TRUMP
        avoid = room[row + LOGIT_AVOID] + (trump_avoid if is_trump else plain_avoid)
        take = room[row + LOGIT_TAKE] + (trump_take if is_trump else plain_take)
        # Those of the suit are not done: which card goes changes their place.
        within = first <= i <= last
        room[at + 2 * i] = avoid if within else sigmoid(avoid)
        room[at + 2 * i + 1] = take if within else sigmoid(take)


@jit
def _suit_of(room: Any, card: int) -> tuple[int, int]:
    """First and last number of the cards of a card's suit; none where it is -1."""
    if card < 0:
        return 0, -1
    return card - int(room[card * ROW + HIGHER]), card + int(room[card * ROW + LOWER])


@jit
def hand_value(room: Any, size: int, skip: int, leads: int, taken: int, phase: int) -> float:
    """Expected points of the hand in `room` with all cards but number `skip` (-1: none) still to come.

    `expect_cards` has been called for a card of its suit, with the same `leads`: 1 where the holder leads next. `taken`
    are the tricks it takes before; ``room[POINTS + i]`` are the points for i more tricks in all.
    """
    w = WEIGHTS[phase]
    left = size if skip < 0 else size - 1
    first, last = _suit_of(room, skip)
    kind = PLAIN if skip < 0 else int(room[skip * ROW + KIND])
    for i in range(left + 1):
        room[_VALUES + i] = room[POINTS + taken + i]
    at = _CHANCES + leads * _SIDE
    for i in range(size):
        if i == skip:
            continue
        avoid, take = float(room[at + 2 * i]), float(room[at + 2 * i + 1])
        if first <= i <= last:
            own = HIGHER if i > skip else LOWER
            weight = HIGHER_OWN if i > skip else LOWER_OWN
            row = i * ROW
            change = share(room[row + own] - 1.0) - share(room[row + own])
            avoid = sigmoid(avoid + w[kind, AVOID, weight] * change)
            take = sigmoid(take + w[kind, TAKE, weight] * change)
        _fold_card(room, left, avoid, take)
        left -= 1
    return float(room[_VALUES])


@jit
def _common(row: Any, short: float, trumps: float, leads: int) -> float:
    """What depends on the whole hand rather than on a card."""
    return float(row[SHORT_SUITS] * 0.25 * short + row[OWN_TRUMPS] * trumps + row[LEAD] * leads)


@jit
def _fold_card(room: Any, count: int, avoid: float, take: float) -> None:
    """One more card before those folded in so far: its holder wins with it where a further trick is worth more."""
    without = room[_VALUES]
    for i in range(count):
        with_trick = room[_VALUES + i + 1]
        gain = with_trick - without
        # Both are computed: which of them counts is hard to foresee, for the processor too.
        taken = without + take * gain
        avoided = without + avoid * gain
        room[_VALUES + i] = taken if gain > 0.0 else avoided
        without = with_trick
