"""What a seat may know of a game of Kachuful shows in its features, under any options."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from kachuful_variants import MOMENTS, Moment, Snapshot, game_after, rules_of, seen, sees, snapshot_of, stock_of

from envs.cards import card_number
from envs.game import SEATS
from envs.kachuful import GAME, engine, features
from envs.kachuful.rules import SCORINGS
from envs.layout import Layout

# What must show. Each change makes one visible thing different, in place, and returns the blocks that may say so; None
# where it does not apply.
Change = Callable[[Any, Any, Snapshot, int, Random], set[str] | None]


def _hidden_card(snapshot: Snapshot, rng: Random) -> int | None:
    stock = sorted(stock_of(snapshot))
    return card_number(rng.choice(stock)) if stock else None


def _change_hand(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
    visible = [other for other, hand in enumerate(snapshot["hands"]) if hand and sees(snapshot, seat, other)]
    card = _hidden_card(snapshot, rng)
    if not visible or card is None:
        return None
    other = rng.choice(visible)
    old = card_number(rng.choice(snapshot["hands"][other]))
    state["hands"][other] ^= 1 << old | 1 << card
    return {"hand" if other == seat else "seen"}


def _change_played(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
    card = _hidden_card(snapshot, rng)
    if card is None:
        return None
    state["played"][rng.randrange(len(snapshot["hands"]))] |= 1 << card
    return {"seen"}


def _change_log(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
    card = _hidden_card(snapshot, rng)
    if not snapshot["trick"] or card is None:
        return None
    state["log"][int(state["count"]) - 1] = card
    return {"trick"}


def _change_best(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
    if not snapshot["trick"]:
        return None
    state["best"] = (int(state["best"]) + 1) % 52
    return {"best"}


def _change_bid(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
    other = rng.randrange(len(snapshot["hands"]))
    bid = int(state["bids"][other])
    if other == seat and (bid < 0 or snapshot["blind"][seat]):  # a blind bid shows the hand as well
        return None
    state["bids"][other] = bid - 1 if bid > 0 else bid + 1
    return {"bid", "needs"}


def _change_tricks(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
    other = rng.randrange(len(snapshot["hands"]))
    won = int(state["tricks"][other])
    state["tricks"][other] = won - 1 if won > 0 else won + 1
    return {"won", "needs"}


def _change_hand_size(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
    size = snapshot["hand_size"]
    if size < 3:  # a round of one card may hide it
        return None
    state["hand_size"] = size - 1
    return {"hand_size", "surplus"}


def _change_turned(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
    turned = int(state["turned"])
    if turned < 0:
        return None
    state["turned"] = turned // 13 * 13 + (turned + 1) % 13 if rng.random() < 0.5 else -1
    return {"turned"}


def _change_surplus(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
    surplus = int(state["bid_total"]) - snapshot["hand_size"]
    if abs(surplus) > features.SURPLUS:
        return None
    state["bid_total"] += -1 if surplus > 0 else 1
    return {"surplus"}


def _change_score(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
    other = rng.randrange(len(snapshot["hands"]))
    state["scores"][other] += 300
    return {"margin"}


def _change_round(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
    last = int(rules["rounds"]) - 1
    if last == 0:
        return None
    state["round"] = last if snapshot["round"] < last else last - 1
    return {"rounds_left"}


def _change_phase(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
    state["phase"] = {engine.BID: engine.PLAY, engine.PLAY: engine.BID}[int(state["phase"])]
    return {"phase"}


def _next_value(name: str, block: str, size: int = 0) -> Change:
    """Change a field to another of its values 0..size-1 (a seat where 0); -1 means that it says nothing now."""

    def change(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
        if int(state[name]) < 0:
            return None
        state[name] = (int(state[name]) + 1) % (size or len(snapshot["hands"]))
        return {block}

    return change


def _flip_bit(name: str, block: str) -> Change:
    """Change a seat's mark."""

    def change(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
        other = rng.randrange(len(snapshot["hands"]))
        if name == "looked" and other == seat:  # shows the hand as well
            return None
        state[name] ^= 1 << other
        return {block}

    return change


def _flip_void(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
    state["voids"][rng.randrange(len(snapshot["hands"]))] ^= 1 << rng.randrange(4)
    return {"void"}


CHANGES: dict[str, Change] = {
    "hands": _change_hand,
    "played": _change_played,
    "log": _change_log,
    "best": _change_best,
    "best_seat": _next_value("best_seat", "winning"),
    "led": _next_value("led", "led", 4),
    "voids": _flip_void,
    "bids": _change_bid,
    "tricks": _change_tricks,
    "blind": _flip_bit("blind", "blind"),
    "looked": _flip_bit("looked", "blind"),
    "hand_size": _change_hand_size,
    "trump": _next_value("trump", "trump", 5),
    "turned": _change_turned,
    "bid_total": _change_surplus,
    "dealer": _next_value("dealer", "dealer"),
    "leader": _next_value("leader", "leader"),
    "phase": _change_phase,
    "scores": _change_score,
    "round": _change_round,
}
HIDDEN = {"revoked", "seed", "game"}
"""Fields that no seat may know; `hands` are partly so."""
IMPLIED = {"turn", "bid_count", "trick_size", "trick", "count", "finished"}
"""Fields that follow from those that show: who bid or led, the bids made, the tricks won."""
FORGOTTEN = {"moves", "gained", "leaders"}
"""Fields about the past that no rule reads again: moves made, points of the last round, who led finished tricks."""


PROSPECTS = {"takes", "masters", "seconds", "thirds"}
"""Blocks that follow from others (tests/envs/test_prospects.py)."""
SHAPES_PROSPECTS = {"hands", "played", "best", "led", "trump", "turned"}


def test_every_field_is_accounted_for() -> None:
    assert set(GAME.state.names or ()) == set(CHANGES) | HIDDEN | IMPLIED | FORGOTTEN


def changed_blocks(layout: Layout, first: np.ndarray, second: np.ndarray) -> set[str]:
    """Names, without the seat, of the blocks in which two feature vectors differ."""
    return {re.sub(r"\+\d$", "", layout.names[i].partition("=")[0]) for i in np.flatnonzero(first != second)}


@pytest.mark.parametrize("field", CHANGES)
@settings(suppress_health_check=[HealthCheck.filter_too_much])  # some apply to few moments
@given(moment=MOMENTS, seat=st.integers(0, SEATS - 1))
def test_what_is_visible_shows(field: str, moment: Moment, seat: int) -> None:
    chosen, seed, moves = moment
    rules = rules_of({**chosen, "trump": "turn_up"} if field == "turned" else chosen)
    states, record = game_after(rules, seed, moves)
    seat %= rules.num_players
    snapshot = snapshot_of(states[0], rules)
    changed = states.copy()
    blocks = CHANGES[field](changed[0], record[0], snapshot, seat, Random(seed))
    assume(blocks is not None)
    for wide in (False, True):
        first, second = (seen(state[0], record[0], seat, wide) for state in (states, changed))
        found = changed_blocks(features.layout(rules.num_players, wide), first, second)
        assert found
        assert found <= (blocks or set()) | (PROSPECTS if field in SHAPES_PROSPECTS else set())


SHOWN_OPTIONS: list[tuple[str, list[int]]] = [
    ("scoring", list(range(len(SCORINGS)))),
    ("hook", [0, 1]),
    ("blind_doubles", [engine.DOUBLES_SCORE, engine.DOUBLES_BONUS]),
    ("revoke", [engine.MASKED, engine.PENALTY]),
    ("blind", [engine.BLIND_OFF, engine.BLIND_OPTIONAL, engine.BLIND_FORCED]),
    ("single_card", [engine.NORMAL, engine.FOREHEAD, engine.FACE_DOWN]),
]


@given(MOMENTS)
def test_options_that_matter_to_play_show(moment: Moment) -> None:
    chosen, seed, moves = moment
    rules = rules_of(chosen)
    states, record = game_after(rules, seed, moves)
    for name, values in SHOWN_OPTIONS:
        for wide in (False, True):
            vectors = []
            for value in values:
                other = record.copy()
                other[name] = value
                vectors.append(seen(states[0], other[0], 0, wide).tobytes())
            assert len(set(vectors)) == len(values)


def test_the_number_of_seats_shows_in_the_wide_layout() -> None:
    """Seats that are not there have no margin, while those that are show at least a draw."""
    vectors = {
        n: seen(*(array[0] for array in game_after(rules_of({"num_players": n}), 1, 0)), 0, True) for n in range(3, 9)
    }
    for n, vector in vectors.items():
        shown = features.layout(n, True).decode(vector)
        assert [bool(shown[f"margin+{i}"]) for i in range(1, SEATS)] == [i < n for i in range(1, SEATS)]
