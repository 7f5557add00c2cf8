"""What the rule-based player expects of cards: whether one takes the trick now, and whether one kept takes one later.

The others' hands are taken as drawn from the cards that they may still hold; whoever can beat is expected to, as the
duties mostly demand. The chance of a card kept is a logistic function of what a player looks at, its weights
(`heuristic_weights`) fitted to games of this player.
"""

from __future__ import annotations

from typing import Any

from envs.call_break.engine import next_player
from envs.call_break.knowledge import held, unseen
from envs.call_break.rules import HAND, SEATS_AT_TABLE
from envs.cards import suit_cards, suit_of
from envs.jit import jit, popcount
from envs.odds import share, sigmoid
from envs.tricks import higher_than

NUM_FEATURES = 12
"""What is looked at for one card."""
FOREIGN, FOREIGN_TRUMPS = 5, 8
"""Where shares of the suit's cards, and of trumps, that the others hold stand among it."""
PLAIN, TRUMP = range(2)


@jit
def none_of(pool: int, wanted: int, drawn: float) -> float:
    """Chance that none of `wanted` cards of a pool is among `drawn` of it."""
    if wanted <= 0 or drawn <= 0.0:
        return 1.0
    if pool < drawn + wanted:
        return 0.0
    result = 1.0
    for i in range(wanted):
        result *= 1.0 - drawn / (pool - i)
    return result


@jit
def look_around(state: Any, seat: int, pools: Any) -> None:
    """Write the cards that each other seat may hold to ``pools[:4]``, and how many it holds to ``pools[4:8]``."""
    cards = unseen(state, seat)
    for other in range(SEATS_AT_TABLE):
        number = held(state, other) if other != seat else 0
        pools[other] = cards & ~int(state["barred"][other]) if number > 0 else 0
        pools[SEATS_AT_TABLE + other] = number


@jit
def cannot_beat(pool: int, number: int, card: int, led: int, trump: int) -> float:
    """Chance that a hand of `number` cards out of a pool cannot beat `card`, which wins a trick of suit `led`."""
    size = popcount(pool)
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
        chance *= cannot_beat(int(pools[other]), int(pools[SEATS_AT_TABLE + other]), card, led, trump)
    return chance


@jit
def describe(state: Any, seat: int, hand: int, card: int, trump: int, players: int, pools: Any, out: Any) -> int:
    """Write what matters for a card kept in `hand` to ``out[:NUM_FEATURES]``; returns its kind."""
    suit = suit_of(card)
    trump_here = 0 <= trump < 4
    own = hand & suit_cards(suit)
    foreign, above, foreign_trumps = 0.0, 0.0, 0.0
    for other in range(SEATS_AT_TABLE):
        number = int(pools[SEATS_AT_TABLE + other])
        if number > 0:
            pool = int(pools[other])
            part = number / max(1, popcount(pool))
            foreign += popcount(pool & suit_cards(suit)) * part
            above += popcount(pool & higher_than(card)) * part
            if trump_here:
                foreign_trumps += popcount(pool & suit_cards(trump)) * part
    own_trumps = popcount(hand & suit_cards(trump)) if trump_here else 0
    higher = popcount(own & higher_than(card))
    lower = popcount(own) - 1 - higher
    short = 0.0
    for other_suit in range(4):
        if other_suit != trump:
            short += 1.0 / (1.0 + popcount(hand & suit_cards(other_suit)))
    lead = chance_to_hold(state, seat, card, suit, trump, players - 1, pools)
    rest = popcount(hand)
    out[0] = 1.0
    out[1] = lead
    out[2] = share(above)
    out[3] = share(higher)
    out[4] = share(lower)
    out[FOREIGN] = share(foreign)
    out[6] = rest / HAND
    out[7] = share(own_trumps)
    out[FOREIGN_TRUMPS] = share(foreign_trumps)
    out[9] = short
    out[10] = lead * share(foreign_trumps)
    out[11] = share(lower) * share(own_trumps)
    return TRUMP if suit == trump else PLAIN


@jit
def later_chance(
    state: Any, seat: int, hand: int, card: int, trump: int, players: int, pools: Any, out: Any, weights: Any
) -> float:
    """Chance that a card, kept in `hand`, takes a trick later."""
    kind = describe(state, seat, hand, card, trump, players, pools, out)
    total = 0.0
    for k in range(NUM_FEATURES):
        total += weights[k, kind] * out[k]
    return sigmoid(total)
