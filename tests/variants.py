"""Kachuful under every option: games to test what a seat may know, and a plain statement of that.

Nothing here uses the engine's idea of knowledge: it reads snapshots and says what the rules say.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from envs import loops
from envs.cards import PACK, card_name
from envs.kachuful import GAME, features
from envs.sampling import new_plan

Snapshot = dict[str, Any]
CARDS = frozenset(map(card_name, range(PACK)))
PLAN = new_plan()


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


Moment = tuple[dict[str, Any], int, int]
MOMENTS = st.tuples(options(), st.integers(0, 10**6), st.integers(0, 250))
"""Options, a seed and a number of moves: some moment of a game."""


@cache
def _rules(chosen: tuple[tuple[str, Any], ...]) -> Any:
    return GAME.make_rules(**dict(chosen))


def rules_of(chosen: dict[str, Any]) -> Any:
    """Option object of some options."""
    return _rules(tuple(chosen.items()))


def game_after(rules: Any, seed: int, moves: int) -> tuple[np.ndarray, np.ndarray]:
    """A game after some random moves (new games follow ended ones): arrays of one state and one options record."""
    states, record = np.zeros(1, GAME.state), rules.record()
    loops.start_games(states, record, seed)
    loops.random_moves(states, record, moves, seed)
    return states, record


def snapshot_of(state: Any, rules: Any) -> Snapshot:
    """The snapshot of a state record."""
    return GAME.fields.snapshot(state, rules)


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


def seen(state: Any, rules: Any, seat: int, wide: bool = False) -> np.ndarray:
    """Features of a seat."""
    out = np.zeros(features.layout(int(rules["num_players"]), wide).size, np.uint8)
    features.features(state, rules, seat, wide, out, 0)
    return out


def sample(states: np.ndarray, record: np.ndarray, seat: int, key: int, count: int) -> np.ndarray:
    """States drawn uniformly among those that a seat cannot tell from ``states[0]``."""
    drawn = np.zeros(count, GAME.state)
    assert loops.sample_deals(states, record, seat, key, PLAN, drawn), "no deal agrees with a true state"
    return drawn
