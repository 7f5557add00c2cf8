"""What past decisions in the trick games tell of hidden hands: putting the hands of a deal back to where they were."""

from __future__ import annotations

from typing import Any

from envs.game import step
from envs.jit import inlined, jit


@inlined
def hand_then(record: Any, state: Any, seat: int) -> int:
    """What a seat of a full state held at the moment of an earlier record of the same round."""
    return int(state["hands"][seat]) | (int(state["played"][seat]) & ~int(record["played"][seat]))


@jit
def keep_moment(replay: Any, records: Any, actions: Any, count: int, action: int) -> int:
    """Write the moment of a replay, without any hand, and what is done then; returns how many moments there are now."""
    records[count] = replay
    records[count]["seed"] = 0
    for seat in range(replay["hands"].shape[0]):
        records[count]["hands"][seat] = 0
    actions[count] = action
    return count + 1


@jit
def keep_cards(state: Any, rules: Any, seat: int, replay: Any, records: Any, actions: Any, count: int) -> int:
    """Play the cards of a state's log in a replay that has come to the first; keep the moments of all but `seat`."""
    for at in range(int(state["count"])):
        card = int(state["log"][at])
        if int(replay["turn"]) != seat:
            count = keep_moment(replay, records, actions, count, card)
        step(replay, rules, card)
    return count
