"""Who can and will beat a card in the current trick, and what the trick is worth to whom."""

from __future__ import annotations

from typing import Any

from envs.cards import NO_TRUMP, suit_cards, suit_of
from envs.jit import jit, popcount
from envs.kachuful.engine import score
from envs.kachuful.heuristic_hand import LOST_STAKE, STAKES, none_of
from envs.tricks import next_seat

# How eager a seat is to beat a card it need not beat (fitted to the play of this player).
_WILL, _WILL_PER_NEED, _WILL_PER_SEAT = 0.34, 0.58, 0.066
_WILL_LOST = 0.36
"""The same for a seat that has missed its bid already."""
# Share of its points that a trick changes for a seat: one too many; one of several, the last, or of too many needed.
_SPOILS, _SPOILS_LEAST, _SPOILS_FADE = -0.6, 0.1, 1.2
_HELPS, _HELPS_LAST, _HELPS_LITTLE = 0.4, 0.57, 0.2


@jit
def stake(state: Any, rules: Any, n: int, other: int, left: int) -> float:
    """Points that winning the current trick is worth to `other`, with `left` tricks to follow it."""
    bid = int(state["bids"][other])
    need = bid - int(state["tricks"][other])
    if need < 0 or need > left + 1:
        return 0.0
    if need == 0:
        change = _SPOILS * max(_SPOILS_LEAST, 1.0 - _SPOILS_FADE * left / (n * (n - 1)))
    elif need > left:
        change = _HELPS_LITTLE / max(left, 1)
    else:
        change = (_HELPS_LAST if need == 1 else _HELPS) / left
    blind = bool((int(state["blind"]) >> other) & 1)
    return float(change * (score(rules, bid, bid, blind) - score(rules, bid, bid + 1, blind)))


@jit
def _will_beat(state: Any, n: int, other: int, size: int, can: float, forced: float) -> float:
    """Chance that `other` beats a card, from the chances that it can and that it must."""
    need = int(state["bids"][other]) - int(state["tricks"][other])
    if size == 1 or need >= size:
        return can
    if need > 0:
        will = _WILL + _WILL_PER_NEED * need / size + _WILL_PER_SEAT * n
        return forced + (can - forced) * min(max(will, 0.0), 1.0)
    return forced if need == 0 else forced + (can - forced) * _WILL_LOST


@jit
def look_around(state: Any, n: int, unseen: int, pools: Any) -> None:
    """Write the cards that each seat may hold, by the suits it has not followed, to ``pools[:n]`` (int64)."""
    for other in range(n):
        possible = unseen
        for void in range(4):
            if (int(state["voids"][other]) >> void) & 1:
                possible &= ~suit_cards(void)
        pools[other] = possible


@jit
def holds(state: Any, n: int, seat: int, size: int, card: int, pools: Any, room: Any) -> float:
    """Chance that nobody still to play beats `card`; ``room[LOST_STAKE]`` gets the expected stake of those who do.

    `pools` are from `look_around`.
    """
    trump = int(state["trump"])
    suit = suit_of(card)
    led = int(state["led"]) if int(state["led"]) >= 0 else suit
    stands = 1.0
    lost = 0.0
    other = seat
    for _ in range(n - 1 - int(state["trick_size"])):
        other = next_seat(other, n)
        possible = int(pools[other])
        pool = max(popcount(possible), size)
        follow = popcount(possible & suit_cards(led))
        trumps = popcount(possible & suit_cards(trump)) if trump < NO_TRUMP else 0
        higher = popcount((possible & suit_cards(suit)) >> card)
        void_chance = none_of(pool, follow, size)
        if suit == led:
            can = 1.0 - none_of(pool, higher, size)
            forced = none_of(pool, follow - higher, size) - void_chance
            if led != trump and trumps > 0:
                can += void_chance - none_of(pool, follow + trumps, size)
        else:
            can = void_chance - none_of(pool, follow + higher, size)
            forced = 0.0
        beats_it = _will_beat(state, n, other, size, can, min(max(forced, 0.0), can))
        lost += stands * beats_it * room[STAKES + other]
        stands *= 1.0 - beats_it
    room[LOST_STAKE] = lost
    return stands
