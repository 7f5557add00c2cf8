"""What the bids of Kachuful tell of the cards: how well a full state explains them."""

from __future__ import annotations

from typing import Any

from envs.game import SEATS
from envs.jit import jit, popcount
from envs.kachuful.engine import BID, BID_ACTION
from envs.kachuful.heuristic import heuristic
from envs.kachuful.knowledge import redact
from envs.tricks import next_seat, seat_after, steps_to


@jit
def rewind_to_bid(state: Any, rules: Any, seat: int) -> None:
    """Take a full state, in place, back to where `seat` was about to bid; it keeps whether the seat had looked."""
    n = int(rules["num_players"])
    first = next_seat(int(state["dealer"]), n)
    at = steps_to(first, seat, n)
    total = 0
    for i in range(n):
        other = seat_after(first, i, n)
        state["hands"][other] |= state["played"][other]
        if i < at:
            total += int(state["bids"][other])
        else:
            state["bids"][other] = -1
    for other in range(SEATS):
        state["played"][other] = 0
        state["tricks"][other] = 0
        state["voids"][other] = 0
    state["bid_count"] = at
    state["bid_total"] = total
    state["leader"] = first
    state["trick_size"] = 0
    state["led"] = -1
    state["best"] = -1
    state["best_seat"] = -1
    state["count"] = 0
    state["trick"] = 0
    state["phase"] = BID
    state["turn"] = seat


@jit
def plausibility(state: Any, rules: Any, seat: int, spare: Any) -> float:
    """Minus the steps between the bids of the others and those of the rule-based player (see `envs.game`).

    A bid made blind tells nothing, and neither do cards that a position keeps to itself.
    """
    n = int(rules["num_players"])
    size = int(state["hand_size"])
    steps = 0
    for other in range(n):
        bid = int(state["bids"][other])
        if other == seat or bid < 0 or (int(state["blind"]) >> other) & 1:
            continue
        if popcount(int(state["hands"][other]) | int(state["played"][other])) != size:
            continue
        spare[0] = state
        rewind_to_bid(spare[0], rules, other)
        redact(spare[0], rules, other)
        steps += abs(bid - (heuristic(spare[0], rules) - BID_ACTION))
    return -float(steps)
