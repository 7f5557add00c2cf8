"""Kachuful under every option: games to test what a seat may know and do, and a plain statement of that.

Nothing here uses the engine's idea of either: it reads snapshots and says what the rules say (see `games.Oracle`).
"""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any

import moments
from hypothesis import strategies as st
from moments import Moment, Snapshot

from envs.cards import PACK, card_name, card_number, mask_of
from envs.kachuful import GAME

__all__ = ["Moment", "Snapshot"]
CARDS = frozenset(map(card_name, range(PACK)))

VARIANTS: dict[str, dict[str, Any]] = {
    "hands of three": {"max_hand": 3},
    "blind optional": {"blind": "optional", "max_hand": 3},
    "blind forced": {"blind": "forced", "blind_doubles": "bonus", "max_hand": 3},
    "forehead": {"single_card": "forehead", "max_hand": 2, "cycles": 2},
    "face down": {"single_card": "face_down", "max_hand": 2, "cycles": 2},
    "forehead, blind optional": {"single_card": "forehead", "blind": "optional", "max_hand": 2},
    "penalty": {"revoke": "penalty", "max_hand": 4, "schedule": "down"},
    "penalty, blind forced": {"revoke": "penalty", "blind": "forced", "max_hand": 3, "schedule": "up"},
    "turn up": {"trump": "turn_up", "max_hand": "full", "min_hand": 5, "schedule": "down"},
    "turn up, every third no trump": {"trump": "turn_up", "no_trump_every": 3, "max_hand": 3},
    "five trumps, no hook": {"trump": "SDCHN", "hook": False, "max_hand": 3},
    "ten times": {"scoring": "ten_times_bid_plus_ten", "max_hand": 2, "reward": "score"},
    "minus difference": {"scoring": "minus_difference", "max_hand": 3, "reward": "win"},
    "trick plus bonus": {"scoring": "trick_plus_bonus", "max_hand": 3, "schedule": "up_down"},
    "judgement": {"scoring": "judgement", "max_hand": 3, "blind": "optional", "reward": "score"},
    "padded": {"pad_seats": True, "max_hand": 3, "single_card": "face_down", "blind": "optional"},
}
"""Every value of every option, in games short enough to be played often; at any number of seats."""
SEATS = (3, 4, 5, 8)
PRIVATE = ("hands", "revoked", "seed", "game")
"""Fields of the record that hold what a seat may not know."""
FORGOTTEN = ("seed", "game", "moves", "gained")
"""Fields of the record that a position does not restore."""
PHASES = ("bid", "play")


@st.composite
def options(draw: st.DrawFn) -> dict[str, Any]:
    """Options of any variant; small hands more often, for there the rounds of one hidden card are."""
    seats = draw(st.integers(3, 8))
    most = PACK // seats
    high = draw(st.one_of(st.integers(1, 3), st.integers(1, most), st.just(most)))
    return {
        "num_players": seats,
        "max_hand": high,
        "min_hand": draw(st.sampled_from([1, high])),
        "schedule": draw(st.sampled_from(["down_up", "up_down", "down", "up"])),
        "cycles": draw(st.integers(1, 2)),
        "trump": draw(st.sampled_from(["SDCH", "SDCHN", "N", "turn_up"])),
        "no_trump_every": draw(st.sampled_from([0, 2])),
        "hook": draw(st.booleans()),
        "blind": draw(st.sampled_from(["off", "optional", "forced"])),
        "blind_doubles": draw(st.sampled_from(["score", "bonus"])),
        "single_card": draw(st.sampled_from(["normal", "forehead", "face_down"])),
        "revoke": draw(st.sampled_from(["masked", "penalty"])),
        "scoring": draw(st.sampled_from(["ten_plus_bid", "minus_difference", "judgement"])),
        "reward": draw(st.sampled_from(["margin", "score", "win"])),
    }


MOMENTS = st.tuples(options(), st.integers(0, 10**6), st.integers(0, 250))
"""Options, a seed and a number of moves: some moment of a game."""
rules_of = partial(moments.rules_of, GAME)
game_after = partial(moments.game_after, GAME)
snapshot_of = partial(moments.snapshot_of, GAME)
seen = partial(moments.seen, GAME)
sample = partial(moments.sample, GAME)


def sees(snapshot: Snapshot, seat: int, other: int) -> bool:
    """Whether a seat sees the cards that `other` holds, by the rules."""
    rules = snapshot["rules"]
    if snapshot["hand_size"] == 1 and rules["single_card"] != "normal":
        return rules["single_card"] == "forehead" and other != seat
    if other != seat:
        return False
    return rules["blind"] == "off" or snapshot["looked"][seat] or snapshot["bids"][seat] is not None


def hidden_seats(snapshot: Snapshot, seat: int) -> list[int]:
    """Seats whose cards a seat does not see, its own among them where that is hidden."""
    return [other for other in range(len(snapshot["hands"])) if not sees(snapshot, seat, other)]


def tricks_of(snapshot: Snapshot) -> list[list[Any]]:
    """All tricks of the round whose cards are known, the current one last."""
    return [trick for trick in [*snapshot["played"], snapshot["trick"]] if trick]


def lying(snapshot: Snapshot) -> set[str]:
    """Cards that lie open: played, or turned for trump."""
    cards = {card for trick in tricks_of(snapshot) for _, card in trick}
    return cards | ({snapshot["turned"]} if snapshot["turned"] else set())


def stock_of(snapshot: Snapshot) -> set[str]:
    """Cards that nobody holds and that do not lie open."""
    return set(CARDS) - lying(snapshot) - {card for hand in snapshot["hands"] for card in hand}


def could_have_followed(snapshot: Snapshot, seat: int, hand: list[str]) -> bool:
    """Whether a seat that now holds `hand` once played off the led suit while it held a card of that suit."""
    later = set(hand)
    for trick in reversed(tricks_of(snapshot)):
        led = trick[0][1][1]
        for player, card in trick:
            if player == seat:
                if card[1] != led and any(other[1] == led for other in later):
                    return True
                later.add(card)
    return False


def revokers(snapshot: Snapshot) -> list[bool]:
    """Who did not follow suit though able, recomputed from the cards alone."""
    return [could_have_followed(snapshot, seat, hand) for seat, hand in enumerate(snapshot["hands"])]


def visible(snapshot: Snapshot, seat: int) -> list[set[str]]:
    """The cards that a seat sees of each hand."""
    return [set(hand) if sees(snapshot, seat, other) else set() for other, hand in enumerate(snapshot["hands"])]


def known(snapshot: Snapshot, seat: int) -> Snapshot:
    """A snapshot as a seat may know it: hands that it does not see are numbers of cards."""
    hands = [sorted(hand) if sees(snapshot, seat, other) else len(hand) for other, hand in enumerate(snapshot["hands"])]
    return {key: value for key, value in snapshot.items() if key != "revoked"} | {"hands": hands}


def scramble(state: Any, snapshot: Snapshot, seat: int, rng: Random) -> None:
    """Deal anew, in place, all cards that a seat does not see; mark revokes and choose the seed at random."""
    seats = hidden_seats(snapshot, seat)
    pool = [card_number(card) for card in sorted(stock_of(snapshot))]
    pool += [card_number(card) for other in seats for card in snapshot["hands"][other]]
    rng.shuffle(pool)
    for other in seats:
        count = len(snapshot["hands"][other])
        state["hands"][other] = mask_of(pool[:count])
        pool = pool[count:]
    state["revoked"] = rng.getrandbits(len(snapshot["hands"]))
    state["seed"] = rng.getrandbits(60)
    state["game"] = rng.getrandbits(20)


def reveals(before: Snapshot, after: Snapshot, seat: int) -> bool:
    """Whether a move shows a seat what was hidden from it: its own hand, or by the scores who revoked."""
    return sees(before, seat, seat) != sees(after, seat, seat) or after["phase"] == "over"


def legal_names(snapshot: Snapshot) -> set[str]:
    """What the rules allow the seat to act, read from a snapshot."""
    rules, seat = snapshot["rules"], snapshot["turn"]
    if snapshot["phase"] == "play":
        hand, trick = snapshot["hands"][seat], snapshot["trick"]
        following = [card for card in hand if trick and card[1] == trick[0][1][1]]
        return set(hand if rules["revoke"] == "penalty" else following or hand)
    made = [bid for bid in snapshot["bids"] if bid is not None]
    bids = set(range(snapshot["hand_size"] + 1))
    if rules["hook"] and len(made) == rules["num_players"] - 1:
        bids -= {snapshot["hand_size"] - sum(made)}
    hidden = rules["single_card"] != "normal" and snapshot["hand_size"] == 1
    if rules["blind"] == "off" or hidden or snapshot["looked"][seat]:
        return {f"bid {bid}" for bid in bids}
    return {f"blind {bid}" for bid in bids} | ({"look"} if rules["blind"] == "optional" else set())


def moment(snapshot: Snapshot) -> tuple[Any, ...]:
    """What kind of moment this is, as far as copies might care."""
    return (
        sum(bid is not None for bid in snapshot["bids"]),
        any(snapshot["looked"]),
        len(snapshot["trick"]),
        len(snapshot["played"]) > 0,
        snapshot["round"] > 0,
    )
