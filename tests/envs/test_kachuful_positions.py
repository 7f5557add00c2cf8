"""Kachuful: positions under any rules: what a snapshot says can be set up, in whole, in part, and as others see it."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from kachuful_reference import resolve, turns_a_card
from kachuful_table import game_options
from moments import check_parts

from envs import loops
from envs.kachuful import GAME
from envs.sampling import new_plan


def set_up(rules: Any, position: dict[str, Any], seed: int) -> np.ndarray:
    states = np.zeros(1, GAME.state)
    GAME.fields.set_position(states, rules, position, seed)
    return states


def after(rules: Any, seed: int, moves: int) -> np.ndarray:
    """A random game after some moves."""
    states = np.zeros(1, GAME.state)
    loops.start_games(states, rules.record(), seed)
    loops.random_moves(states, rules.record(), moves, seed)
    return states


POSITIONS = {"options": game_options(), "seed": st.integers(0, 10**6), "moves": st.integers(0, 150)}


@given(**POSITIONS)
@settings(max_examples=60)
def test_parts_of_a_snapshot(options: dict[str, Any], seed: int, moves: int) -> None:
    """A part fits, and then all it says holds in a game that can be played on, or is refused by the name of a key."""
    rules = GAME.make_rules(**options)
    snapshot = GAME.fields.snapshot(after(rules, seed, moves)[0], rules)
    check_parts(GAME, rules, snapshot, seed, play_out)


def play_out(states: np.ndarray, rules: Any) -> None:
    """Play the round to its end at random."""
    record = rules.record()[0]
    for _ in range(3 * 17 + 3 * 8):
        if int(states[0]["turn"]) < 0:
            return
        if loops.advance(states[0], record, loops.random_action(states[0], record)):
            n = rules.num_players
            assert int(states[0]["tricks"][:n].sum()) == int(states[0]["hand_size"])
            return
    raise AssertionError("the round does not end")


@given(**POSITIONS)
@settings(max_examples=60)
def test_deals_as_a_seat_imagines_them(options: dict[str, Any], seed: int, moves: int) -> None:
    """What is drawn for a seat is a position of these rules: no card twice, the turned one in no hand, revokes counted.

    Decision: a seat is shown what it may know: the deals drawn look to it like the true one.
    """
    rules = GAME.make_rules(**options)
    states = after(rules, seed, moves)
    truth = GAME.fields.snapshot(states[0], rules)
    for seat in range(rules.num_players):
        drawn = np.zeros(3, GAME.state)
        assert loops.sample_deals(states, rules.record(), seat, seed, new_plan(), drawn)
        for i in range(3):
            snapshot = GAME.fields.snapshot(drawn[i], rules)
            assert GAME.fields.snapshot(set_up(rules, snapshot, seed)[0], rules) == snapshot
            hidden = {"hands", "revoked"}
            assert {key: snapshot[key] for key in truth.keys() - hidden} == {
                key: truth[key] for key in truth.keys() - hidden
            }


@given(**POSITIONS)
@settings(max_examples=30)
def test_what_is_missing_is_dealt(options: dict[str, Any], seed: int, moves: int) -> None:
    """A round alone: its size, trump and dealer by the schedule, and the seed's own deal."""
    rules = GAME.make_rules(**options)
    states = np.zeros(1, GAME.state)
    loops.start_games(states, rules.record(), seed)
    for round_ in range(min(4, int(rules.record()["rounds"][0]))):
        snapshot = GAME.fields.snapshot(states[0], rules)
        assert GAME.fields.snapshot(set_up(rules, {"round": round_}, seed)[0], rules) == snapshot
        assert (snapshot["turned"] is not None) == turns_a_card(resolve(**options), round_)
        GAME.engine.next_round(states[0], rules.record()[0])
