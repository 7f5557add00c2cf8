"""Call Break under every option: games to test what a seat may know and do, and a plain statement of that.

Nothing here uses the engine's idea of either: it reads snapshots and says what the rules say (see `games.Oracle`).
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st
from moments import Snapshot

from envs.call_break import GAME
from envs.cards import card_number, mask_of

sys.path.append(str(Path(__file__).parent / "envs"))
from call_break_reference import PACK, is_misdeal, legal_cards
from call_break_table import game_options

__all__ = ["GAME"]

VARIANTS: dict[str, dict[str, Any]] = {
    "one round": {"rounds": 1},
    "until trumped, undertrump free": {"rounds": 1, "must_beat": "until_trumped", "undertrump": "free"},
    "no duty to beat, spade lead free": {"rounds": 1, "must_beat": "off", "spade_lead": "free", "reward": "score"},
    "first lead": {"rounds": 1, "trump": "first_lead", "min_call": 0},
    "no trump": {"rounds": 1, "trump": "none", "max_call": 8},
    "redeals": {"rounds": 1, "redeal_total": 30, "bonus_call": 8},
    "partnerships": {"rounds": 2, "partnerships": True},
    "misdeal auto": {"rounds": 1, "misdeal": "auto", "tie": "shared"},
    "extra round": {"rounds": 1, "min_call": 7, "max_call": 7, "reward": "win"},
    "extra round of some": {"rounds": 1, "min_call": 0, "max_call": 1},
    "padded": {"rounds": 1, "pad_seats": True},
}
"""Every value of the options, in games short enough to be played often; votes on misdeals are among `MOMENTS`."""
SEATS = (4,)
PRIVATE = ("hands", "seed", "game")
"""Fields of the record that hold what a seat may not know."""
FORGOTTEN = ("seed", "game", "moves", "gained", "deals")
"""Fields of the record that a position does not restore."""
PHASES = ("bid", "play")
MOMENTS = st.tuples(game_options(2), st.integers(0, 10**6), st.integers(0, 250))
"""Options, a seed and a number of moves: some moment of a game."""


def visible(snapshot: Snapshot, seat: int) -> list[set[str]]:
    """The cards that a seat sees of each hand: its own."""
    return [set(hand) if other == seat else set() for other, hand in enumerate(snapshot["hands"])]


def known(snapshot: Snapshot, seat: int) -> Snapshot:
    """A snapshot as a seat may know it: the other hands are numbers of cards."""
    hands = [sorted(hand) if other == seat else len(hand) for other, hand in enumerate(snapshot["hands"])]
    return snapshot | {"hands": hands}


def scramble(state: Any, snapshot: Snapshot, seat: int, rng: Random) -> None:
    """Deal anew, in place, all cards that a seat does not see, and choose the seed at random."""
    lying = {card for trick in [*snapshot["played"], snapshot["trick"]] for _, card in trick or []}
    pool = [card_number(card) for card in PACK if card not in lying and card not in snapshot["hands"][seat]]
    rng.shuffle(pool)
    for other, hand in enumerate(snapshot["hands"]):
        if other != seat:
            state["hands"][other] = mask_of(pool[: len(hand)])
            pool = pool[len(hand) :]
    state["seed"] = rng.getrandbits(60)
    state["game"] = rng.getrandbits(20)


def reveals(before: Snapshot, after: Snapshot, seat: int) -> bool:
    """Whether a move shows a seat what was hidden from it: its hand of a new deal."""
    return before["round"] != after["round"] or (after["hands"][seat] != before["hands"][seat] and not after["played"])


def legal_names(snapshot: Snapshot) -> set[str]:
    """What the rules allow the seat to act, read from a snapshot."""
    rules, seat = snapshot["rules"], snapshot["turn"]
    hand = snapshot["hands"][seat]
    if snapshot["phase"] == "misdeal":
        if snapshot["claimer"] is not None:
            return {"agree", "refuse"}
        return {"claim", "pass"} if is_misdeal(rules, hand) else {"pass"}
    if snapshot["phase"] == "bid":
        return {f"bid {call}" for call in range(rules["min_call"], rules["max_call"] + 1)}
    trick = [card for _, card in snapshot["trick"]]
    return legal_cards(rules, hand, trick, snapshot["trump"], not snapshot["played"])


def moment(snapshot: Snapshot) -> tuple[Any, ...]:
    """What kind of moment this is, as far as copies might care."""
    return (
        sum(bid is not None for bid in snapshot["bids"]),
        sum(vote is not None for vote in snapshot["votes"]),
        len(snapshot["trick"]),
        len(snapshot["played"]) > 0,
        snapshot["round"] > 0,
    )
