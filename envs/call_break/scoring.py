"""Points, ties, places and rewards of Call Break. Scores are kept in tenths of a point."""

from __future__ import annotations

from typing import Any

from envs.call_break.rules import MARGIN, POINT, SEATS_AT_TABLE, SHARED, WIN
from envs.game import GAME_OVER, OVER
from envs.jit import jit, popcount
from envs.tricks import place_by_score

BONUS = 13 * POINT


@jit
def score(rules: Any, call: int, won: int) -> int:
    """Tenths of a point for a call, whoever made it."""
    bonus = int(rules["bonus_call"])
    if won < call:
        return -POINT * call
    if 0 <= bonus <= call:
        return BONUS
    return POINT * call + won - call


@jit
def partner(seat: int) -> int:
    """The seat opposite."""
    return int(seat) ^ 2


@jit
def called(state: Any, rules: Any, seat: int) -> int:
    """Tricks that a seat, or its team, has called."""
    call = int(state["bids"][seat])
    return call + int(state["bids"][partner(seat)]) if int(rules["partnerships"]) == 1 else call


@jit
def won(state: Any, rules: Any, seat: int) -> int:
    """Tricks that a seat, or its team, has won."""
    tricks = int(state["tricks"][seat])
    return tricks + int(state["tricks"][partner(seat)]) if int(rules["partnerships"]) == 1 else tricks


@jit
def outlook(state: Any, rules: Any, seat: int) -> int:
    """Tenths that a seat gains in the round if it makes its call, where it still can, with no trick over it to come.

    Before its call, or a partner's, for a seat that sits out and once the game is over it is 0.
    """
    mate = partner(seat) if int(rules["partnerships"]) == 1 else seat
    waits = int(state["bids"][seat]) < 0 or int(state["bids"][mate]) < 0 or int(state["phase"]) == OVER
    if waits or (int(state["playing"]) >> seat) & 1 == 0:
        return 0
    call, tricks = called(state, rules, seat), won(state, rules, seat)
    possible = tricks + int(state["hand_size"]) - int(state["trick"])
    return score(rules, call, max(tricks, call) if possible >= call else tricks)


@jit
def score_round(state: Any, rules: Any) -> None:
    """Write what each seat gains in the round just played; seats that sit out gain nothing."""
    for seat in range(SEATS_AT_TABLE):
        plays = (int(state["playing"]) >> seat) & 1
        state["gained"][seat] = score(rules, called(state, rules, seat), won(state, rules, seat)) if plays else 0


@jit
def leaders_of(scores: Any) -> int:
    """Seats (bits) at the top of the scores."""
    top = 0
    for seat in range(SEATS_AT_TABLE):
        if place_by_score(scores, seat, SEATS_AT_TABLE) == 1:
            top |= 1 << seat
    return top


@jit
def is_tied(rules: Any, scores: Any) -> bool:
    """Whether more than one side is at the top; two partners are one side."""
    return popcount(leaders_of(scores)) > (2 if int(rules["partnerships"]) == 1 else 1)


@jit
def is_extra_round(state: Any, rules: Any) -> bool:
    """Whether this is the round among tied seats after the last."""
    return int(state["round"]) == int(rules["rounds"])


@jit
def ends_game(state: Any, rules: Any) -> bool:
    """Whether the game is over after this round, the scores counting it already."""
    if int(state["round"]) + 1 < int(rules["rounds"]):
        return False
    if is_extra_round(state, rules) or int(rules["tie"]) == SHARED:
        return True
    return not is_tied(rules, state["scores"])


@jit
def place(state: Any, rules: Any, seat: int) -> int:
    """Place of a seat (see `envs.game.place`): an extra round alone orders those who played it, ahead of the others."""
    if not is_extra_round(state, rules) or int(state["phase"]) != OVER:
        return place_by_score(state["scores"], seat, SEATS_AT_TABLE)
    playing = int(state["playing"])
    plays = (playing >> seat) & 1
    place = 1
    for other in range(SEATS_AT_TABLE):
        if (playing >> other) & 1 != plays:
            place += 1 - plays
        elif plays:
            place += int(int(state["gained"][other]) > int(state["gained"][seat]))
        else:
            place += int(int(state["scores"][other]) > int(state["scores"][seat]))
    return place


@jit
def rivals_mean(state: Any, rules: Any, seat: int) -> float:
    """Mean tenths that a seat's rivals in the round have gained: the other seats that play, or the other team."""
    total, rivals = 0, 0
    for other in range(SEATS_AT_TABLE):
        with_us = other == seat or (int(rules["partnerships"]) == 1 and other == partner(seat))
        if (int(state["playing"]) >> other) & 1 and not with_us:
            total += int(state["gained"][other])
            rivals += 1
    return total / rivals


@jit
def rewards(state: Any, rules: Any, flags: int, out: Any) -> None:
    """Write each seat's reward, in points, for the round that `flags` say has ended (see `envs.game.rewards`)."""
    kind = int(rules["reward"])
    if kind == WIN:
        winners = 0
        for seat in range(SEATS_AT_TABLE):
            winners += int(place(state, rules, seat) == 1)
        for seat in range(SEATS_AT_TABLE):
            share = 1.0 / winners if place(state, rules, seat) == 1 else 0.0
            out[seat] = share - 1.0 / SEATS_AT_TABLE if flags & GAME_OVER else 0.0
        return
    for seat in range(SEATS_AT_TABLE):
        own = int(state["gained"][seat])
        plays = (int(state["playing"]) >> seat) & 1
        out[seat] = (own - rivals_mean(state, rules, seat) if kind == MARGIN and plays else own) / POINT


STATISTICS = ("points", "made", "missed", "call", "tricks", "overtricks")
"""Statistics of a seat for one round; made and missed are 0 or 1, with partners those of the team, as are overtricks.
A seat that sits out an extra round has zeros."""


@jit
def statistics(state: Any, rules: Any, seat: int, out: Any) -> None:
    """Write the `STATISTICS` of a seat for the round that has just ended (see `envs.game.statistics`)."""
    plays = (int(state["playing"]) >> seat) & 1
    over = won(state, rules, seat) - called(state, rules, seat)
    out[0] = int(state["gained"][seat]) / POINT
    out[1] = int(plays and over >= 0)
    out[2] = int(plays and over < 0)
    out[3] = max(0, int(state["bids"][seat]))
    out[4] = int(state["tricks"][seat])
    out[5] = max(0, over) if plays else 0
