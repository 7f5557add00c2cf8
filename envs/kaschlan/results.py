"""What came of a game of Kaschlan: who has lost, in which place everybody is, what it pays."""

from __future__ import annotations

from typing import Any

from envs.jit import jit
from envs.kaschlan.engine import PLACES, is_out


@jit
def leaving_place(state: Any, rules: Any, seat: int) -> int:
    """1 for the first seat that left and so on; the last place for a seat that has not left."""
    for i in range(int(state["out_count"])):
        if int(state["out"][i]) == seat:
            return i + 1
    return int(rules["num_players"])


@jit
def has_lost(state: Any, rules: Any, seat: int) -> bool:
    """Whether a seat is the last with cards in a game that has ended; never in a truncated game."""
    return bool(int(state["finished"]) == 1 and not is_out(state, seat))


@jit
def is_drawn(state: Any, rules: Any) -> bool:
    """Whether the game has ended and nobody is left."""
    return bool(int(state["finished"]) == 1 and int(state["out_count"]) == int(rules["num_players"]))


@jit
def payoff(state: Any, rules: Any, seat: int) -> float:
    """Reward of a seat for a game that has ended."""
    n = int(rules["num_players"])
    if int(state["finished"]) != 1:
        return 0.0
    if int(rules["payoff"]) == PLACES:
        return 1.0 - 2.0 * (leaving_place(state, rules, seat) - 1) / (n - 1)
    if is_drawn(state, rules):
        return 0.0
    return -1.0 if has_lost(state, rules, seat) else 1.0 / (n - 1)


@jit
def place(state: Any, rules: Any, seat: int) -> int:
    """Place of a seat (see `envs.game.place`): by leaving under payoff places, else all but the loser are first."""
    if int(state["finished"]) != 1:
        return 1
    if int(rules["payoff"]) == PLACES:
        return leaving_place(state, rules, seat)
    return int(rules["num_players"]) if has_lost(state, rules, seat) else 1


@jit
def rewards(state: Any, rules: Any, flags: int, out: Any) -> None:
    """Write each seat's payoff (see `envs.game.rewards`)."""
    for seat in range(int(rules["num_players"])):
        out[seat] = payoff(state, rules, seat)


STATISTICS = ("payoff", "lost", "drawn", "truncated", "place", "bouts", "picked_up")
"""Statistics of a seat for one game; lost, drawn and truncated are 0 or 1, picked_up counts cards."""


@jit
def statistics(state: Any, rules: Any, seat: int, out: Any) -> None:
    """Write the `STATISTICS` of a seat for the game that has just ended (see `envs.game.statistics`)."""
    out[0] = payoff(state, rules, seat)
    out[1] = int(has_lost(state, rules, seat))
    out[2] = int(is_drawn(state, rules))
    out[3] = int(int(state["finished"]) == 2)
    out[4] = place(state, rules, seat)
    out[5] = int(state["bout"]) + 1
    out[6] = int(state["taken"][seat])
