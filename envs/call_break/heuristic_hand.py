"""What the rule-based player expects of cards: whether one takes the trick now, and whether one kept takes one later.

The others' hands are taken as drawn from the cards that they may still hold; whoever can beat is expected to, as the
duties mostly demand. The chance of a card kept is a logistic function of what a player looks at, its weights
(`heuristic_weights`) fitted to games of this player.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from envs.call_break.engine import next_player
from envs.call_break.knowledge import held, unseen
from envs.call_break.rules import HAND, SEATS_AT_TABLE
from envs.cards import NO_TRUMP, PACK, SUIT_SIZE, suit_cards, suit_of
from envs.jit import inlined, jit, popcount
from envs.odds import share, sigmoid
from envs.tricks import higher_than, seat_after

NUM_FEATURES = 12
"""What is looked at for one card."""
LEAD, FOREIGN, FOREIGN_TRUMPS = 1, 5, 8
"""Where the chance to win a trick that it leads, and the shares of the suit's cards and of trumps that the others hold,
stand among it."""
PLAIN, TRUMP = range(2)


_MOST_WANTED = 2 * SUIT_SIZE
"""Cards of the led suit and of trumps."""


def _tabulate() -> np.ndarray:
    """(pool, drawn, wanted) chances that none of `wanted` cards of a pool is among `drawn` of it."""
    pool, drawn = np.arange(PACK + 1)[:, None], np.arange(HAND + 1)
    table = np.ones((PACK + 1, HAND + 1, _MOST_WANTED + 1))
    for wanted in range(1, _MOST_WANTED + 1):
        another = 1.0 - drawn / np.maximum(pool - (wanted - 1), 1)
        table[..., wanted] = np.where(pool >= drawn + wanted, table[..., wanted - 1] * another, 0.0)
    table[:, 0] = 1.0
    return table


_NONE_OF = _tabulate()


@inlined
def none_of(pool: int, wanted: int, drawn: int) -> float:
    """Chance that none of `wanted` (0..26) cards of a pool (0..52) is among `drawn` (0..13) of it."""
    return float(_NONE_OF[pool, drawn, wanted])


POOL, NUMBER, SIZE = 0, SEATS_AT_TABLE, 2 * SEATS_AT_TABLE
"""Where, by seat, the cards that others may hold, how many they hold, and of how many, begin in what `look_around`
writes."""
ROOM = 3 * SEATS_AT_TABLE


@jit
def look_around(state: Any, seat: int, pools: Any, parts: Any) -> None:
    """Write the cards that each other seat may hold, and how many it holds of them.

    Args:
        state: the record.
        seat: who looks.
        pools: (`ROOM`,) int64.
        parts: (4,) float64, written: share of the cards that a seat may hold that it does hold.
    """
    cards = unseen(state, seat)
    for other in range(SEATS_AT_TABLE):
        number = held(state, other) if other != seat else 0
        pool = cards & ~int(state["barred"][other]) if number > 0 else 0
        size = popcount(pool)
        pools[POOL + other] = pool
        pools[NUMBER + other] = number
        pools[SIZE + other] = size
        parts[other] = number / max(1, size)


@jit
def cannot_beat(pool: int, size: int, number: int, card: int, led: int, trump: int) -> float:
    """Chance that a hand of `number` out of `size` cards cannot beat `card`, which wins a trick of suit `led`."""
    higher = popcount(pool & higher_than(card))
    suit = suit_of(card)
    if suit == led and (trump == led or trump >= 4):
        return none_of(size, higher, number)
    follows = popcount(pool & suit_cards(led))
    void = none_of(size, follows, number)
    if suit != led:  # it has trumped
        return 1.0 - void + none_of(size, follows + higher, number)
    trumps = popcount(pool & suit_cards(trump))
    return none_of(size, higher, number) - void + none_of(size, follows + trumps, number)


@jit
def chance_to_hold(state: Any, seat: int, card: int, led: int, trump: int, later: int, pools: Any) -> float:
    """Chance that none of the `later` seats after `seat` beats its card."""
    chance = 1.0
    other = seat
    for _ in range(later):
        other = next_player(state, other)
        pool, size, number = int(pools[POOL + other]), int(pools[SIZE + other]), int(pools[NUMBER + other])
        chance *= cannot_beat(pool, size, number, card, led, trump)
    return chance


@jit
def describe_suit(hand: int, suit: int, trump: int, pools: Any, parts: Any, risks: Any, out: Any) -> int:
    """Write what all cards of a suit in `hand` share; returns their kind.

    Args:
        hand: own cards.
        suit: the suit.
        trump: of the round, 4 for none.
        pools: from `look_around`.
        parts: from there.
        risks: (4,) float64, written: by seat, how much likelier than by a higher card of the suit it beats a lead.
        out: (`NUM_FEATURES`,) float64; what speaks of single cards is left to `describe_card`.
    """
    trump_here = trump < NO_TRUMP
    foreign, foreign_trumps = 0.0, 0.0
    for other in range(SEATS_AT_TABLE):
        risks[other] = 0.0
        number = int(pools[NUMBER + other])
        if number > 0:
            pool = int(pools[POOL + other])
            follows = popcount(pool & suit_cards(suit))
            foreign += follows * parts[other]
            if trump_here:
                trumps = popcount(pool & suit_cards(trump))
                foreign_trumps += trumps * parts[other]
                if suit != trump:
                    size = int(pools[SIZE + other])
                    risks[other] = none_of(size, follows, number) - none_of(size, follows + trumps, number)
    own_trumps = popcount(hand & suit_cards(trump)) if trump_here else 0
    short = 0.0
    for other_suit in range(4):
        if other_suit != trump:
            short += 1.0 / (1.0 + popcount(hand & suit_cards(other_suit)))
    out[0] = 1.0
    out[FOREIGN] = share(foreign)
    out[6] = popcount(hand) / HAND
    out[7] = share(own_trumps)
    out[FOREIGN_TRUMPS] = share(foreign_trumps)
    out[9] = short
    return TRUMP if suit == trump else PLAIN


@jit
def describe_card(seat: int, hand: int, card: int, pools: Any, parts: Any, risks: Any, out: Any) -> None:
    """Complete what `describe_suit` has written for the card's suit with what matters for this card, kept in `hand`."""
    own = hand & suit_cards(suit_of(card))
    better = higher_than(card)
    above, lead = 0.0, 1.0
    for i in range(1, SEATS_AT_TABLE):
        other = seat_after(seat, i, SEATS_AT_TABLE)
        number = int(pools[NUMBER + other])
        if number > 0:
            higher = popcount(int(pools[POOL + other]) & better)
            above += higher * parts[other]
            lead *= none_of(int(pools[SIZE + other]), higher, number) - risks[other]
    higher = popcount(own & better)
    lower = popcount(own) - 1 - higher
    out[LEAD] = lead
    out[2] = share(above)
    out[3] = share(higher)
    out[4] = share(lower)
    out[10] = lead * out[FOREIGN_TRUMPS]
    out[11] = share(lower) * out[7]


@jit
def later_chance(described: Any, kind: int, weights: Any) -> float:
    """Chance that a card so described, kept in hand, takes a trick later."""
    total = 0.0
    for k in range(NUM_FEATURES):
        total += weights[k, kind] * described[k]
    return sigmoid(total)
