"""What bids and cards played in Kachuful tell of hidden hands: how well a full state explains them."""

from __future__ import annotations

from typing import Any

from envs.game import MOST_PAST, SEATS
from envs.jit import jit, popcount
from envs.kachuful.engine import BID, BID_ACTION, BLIND_ACTION, LOOK_ACTION, PLAY, step
from envs.kachuful.heuristic import heuristic
from envs.kachuful.knowledge import redact
from envs.trick_evidence import hand_then, keep_cards, keep_moment
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
def past(state: Any, rules: Any, seat: int, moves: bool, records: Any, actions: Any) -> int:
    """Write the others' bids and cards, and what they saw then (see `envs.game`); a bid made blind tells nothing.

    Positions that keep the cards of earlier tricks to themselves tell nothing either.
    """
    for other in range(int(rules["num_players"])):
        if popcount(int(state["hands"][other]) | int(state["played"][other])) != int(state["hand_size"]):
            return 0
    records[MOST_PAST] = state
    replay = records[MOST_PAST]
    rewind(replay, rules)
    count = 0
    for _ in range(int(state["bid_count"])):
        bidder = int(replay["turn"])
        bid = int(state["bids"][bidder])
        blind = (int(state["blind"]) >> bidder) & 1
        if (int(state["looked"]) >> bidder) & 1:
            step(replay, rules, LOOK_ACTION)
        if bidder != seat and not blind:
            count = keep_moment(replay, records, actions, count, BID_ACTION + bid)
        step(replay, rules, (BLIND_ACTION if blind else BID_ACTION) + bid)
    if moves and int(state["phase"]) == PLAY:
        count = keep_cards(state, rules, seat, replay, records, actions, count)
    return count


@jit
def judge(record: Any, rules: Any, state: Any, action: int) -> float:
    """Steps between a bid or card and the rule-based player's, with the hands of a full state (see `envs.game`)."""
    seat = int(record["turn"])
    if int(record["phase"]) == BID:
        # In forehead rounds a bidder sees the others' cards.
        for other in range(int(rules["num_players"])):
            record["hands"][other] = hand_then(record, state, other)
        redact(record, rules, seat)
        return float(abs(action - heuristic(record, rules)))
    record["hands"][seat] = hand_then(record, state, seat)
    return 0.0 if heuristic(record, rules) == action else 1.0
