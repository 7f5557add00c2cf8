"""What bids and cards played in Kachuful tell of hidden hands: how well a full state explains them."""

from __future__ import annotations

from typing import Any

from envs.game import SEATS
from envs.jit import jit, popcount
from envs.kachuful.engine import BID, BID_ACTION, PLAY, step
from envs.kachuful.heuristic import heuristic
from envs.kachuful.knowledge import redact
from envs.loops import forced_action
from envs.tricks import next_seat, seat_after, steps_to


@jit
def _clear_play(state: Any) -> None:
    for seat in range(SEATS):
        state["played"][seat] = 0
        state["tricks"][seat] = 0
        state["voids"][seat] = 0
    state["revoked"] = 0
    state["trick_size"] = 0
    state["led"] = -1
    state["best"] = -1
    state["best_seat"] = -1
    state["count"] = 0
    state["trick"] = 0


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
    _clear_play(state)
    state["bid_count"] = at
    state["bid_total"] = total
    state["leader"] = first
    state["phase"] = BID
    state["turn"] = seat


@jit
def rewind_to_lead(state: Any, rules: Any) -> None:
    """Take a full state, in place, back to the first lead of its round."""
    n = int(rules["num_players"])
    for seat in range(n):
        state["hands"][seat] |= state["played"][seat]
    _clear_play(state)
    state["leader"] = next_seat(int(state["dealer"]), n)
    state["turn"] = state["leader"]
    state["phase"] = PLAY


@jit
def bid_steps(state: Any, rules: Any, seat: int, spare: Any) -> int:
    """Steps between the bids of the others and those of the rule-based player; a bid made blind tells nothing."""
    steps = 0
    for other in range(int(rules["num_players"])):
        bid = int(state["bids"][other])
        if other == seat or bid < 0 or (int(state["blind"]) >> other) & 1:
            continue
        spare[0] = state
        rewind_to_bid(spare[0], rules, other)
        redact(spare[0], rules, other)
        steps += abs(bid - (heuristic(spare[0], rules) - BID_ACTION))
    return steps


@jit
def other_cards(state: Any, rules: Any, seat: int, spare: Any) -> int:
    """Cards that the others played where the rule-based player would have played another."""
    cards = 0
    spare[0] = state
    replay = spare[0]
    rewind_to_lead(replay, rules)
    for at in range(int(state["count"])):
        card = int(state["log"][at])
        if int(replay["turn"]) != seat and forced_action(replay, rules) < 0:
            # With the bids made it reads no hand but its own: there is nothing to redact.
            cards += int(heuristic(replay, rules) != card)
        step(replay, rules, card)
    return cards


@jit
def plausibility(state: Any, rules: Any, seat: int, moves: bool, spare: Any) -> float:
    """Minus the steps between the others' bids, and cards, and the rule-based player's (see `envs.game`).

    Positions that keep the cards of earlier tricks to themselves tell nothing.
    """
    for other in range(int(rules["num_players"])):
        if popcount(int(state["hands"][other]) | int(state["played"][other])) != int(state["hand_size"]):
            return 0.0
    steps = bid_steps(state, rules, seat, spare)
    if moves and int(state["phase"]) == PLAY:
        steps += other_cards(state, rules, seat, spare)
    return -float(steps)
