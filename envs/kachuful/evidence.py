"""What bids and cards played in Kachuful tell of hidden hands: how well a full state explains them."""

from __future__ import annotations

from typing import Any

from envs.game import SEATS
from envs.jit import jit, popcount
from envs.kachuful.engine import BID, BID_ACTION, BLIND_ACTION, LOOK_ACTION, PLAY, step
from envs.kachuful.heuristic import heuristic
from envs.kachuful.knowledge import redact
from envs.loops import forced_action
from envs.tricks import next_seat


@jit
def rewind(state: Any, rules: Any) -> None:
    """Take a full state, in place, back to before the first bid of its round.

    It is not dealt anew: a position may have another trump, or other numbers of cards, than the round has by the rules.
    Cards in the log stay there, beyond its count.
    """
    n = int(rules["num_players"])
    for seat in range(n):
        state["hands"][seat] |= state["played"][seat]
    for seat in range(SEATS):
        state["played"][seat] = 0
        state["bids"][seat] = -1
        state["tricks"][seat] = 0
        state["voids"][seat] = 0
    first = next_seat(int(state["dealer"]), n)
    state["blind"] = 0
    state["looked"] = 0
    state["revoked"] = 0
    state["bid_count"] = 0
    state["bid_total"] = 0
    state["leader"] = first
    state["trick_size"] = 0
    state["led"] = -1
    state["best"] = -1
    state["best_seat"] = -1
    state["count"] = 0
    state["trick"] = 0
    state["phase"] = BID
    state["turn"] = first


@jit
def bid_steps(state: Any, rules: Any, seat: int, replay: Any, seen: Any) -> int:
    """Make the bids of a state in `replay`, which is at their beginning; `seen` is a record to be overwritten.

    Returns the steps between those of the others and of the rule-based player; a bid made blind tells nothing.
    """
    steps = 0
    for _ in range(int(state["bid_count"])):
        bidder = int(replay["turn"])
        bid = int(state["bids"][bidder])
        if (int(state["looked"]) >> bidder) & 1:
            step(replay, rules, LOOK_ACTION)
        if (int(state["blind"]) >> bidder) & 1:
            step(replay, rules, BLIND_ACTION + bid)
            continue
        if bidder != seat:
            seen[0] = replay
            redact(seen[0], rules, bidder)
            steps += abs(bid - (heuristic(seen[0], rules) - BID_ACTION))
        step(replay, rules, BID_ACTION + bid)
    return steps


@jit
def other_cards(state: Any, rules: Any, seat: int, replay: Any) -> int:
    """Cards that the others played where the rule-based player would have played another; `replay` has all bids."""
    cards = 0
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
    replay = spare[0]
    spare[0] = state
    rewind(replay, rules)
    steps = bid_steps(state, rules, seat, replay, spare[1:])
    if moves and int(state["phase"]) == PLAY:
        steps += other_cards(state, rules, seat, replay)
    return -float(steps)
