"""Moments of random games of any kind, as records: options, a seed and a number of moves."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import numpy as np

from envs import loops
from envs.game import Game, features
from envs.sampling import new_plan

Snapshot = dict[str, Any]
Moment = tuple[dict[str, Any], int, int]
"""Options, a seed and a number of moves."""
PLAN = new_plan()


@cache
def _rules(game: str, make_rules: Any, chosen: tuple[tuple[str, Any], ...]) -> Any:
    return make_rules(**dict(chosen))


def rules_of(game: Game, chosen: dict[str, Any]) -> Any:
    """Option object of some options."""
    return _rules(game.name, game.make_rules, tuple(chosen.items()))


def game_after(game: Game, rules: Any, seed: int, moves: int) -> tuple[np.ndarray, np.ndarray]:
    """A game after some random moves (new games follow ended ones): arrays of one state and one options record."""
    states, record = np.zeros(1, game.state), rules.record()
    loops.start_games(states, record, seed)
    loops.random_moves(states, record, moves, seed)
    return states, record


def snapshot_of(game: Game, state: Any, rules: Any) -> Snapshot:
    """The snapshot of a state record."""
    return game.fields.snapshot(state, rules)


def seen(game: Game, state: Any, rules: Any, seat: int, wide: bool = False) -> np.ndarray:
    """Features of a seat."""
    out = np.zeros(game.layout(int(rules["num_players"]), wide).size, np.uint8)
    features(state, rules, seat, wide, out, 0)
    return out


def sample(game: Game, states: np.ndarray, record: np.ndarray, seat: int, key: int, count: int) -> np.ndarray:
    """States drawn uniformly among those that a seat cannot tell from ``states[0]``."""
    drawn = np.zeros(count, game.state)
    assert loops.sample_deals(states, record, seat, key, PLAN, drawn), "no deal agrees with a true state"
    return drawn


def check_parts(
    game: Game, rules: Any, snapshot: Snapshot, seed: int, play_out: Callable[[np.ndarray, Any], None]
) -> None:
    """Set up random parts of a snapshot: each holds in a game that can be played on, or is refused by a key's name.

    Args:
        game: the game.
        rules: its option object.
        snapshot: of some moment.
        seed: of the parts, and of what is dealt.
        play_out: plays a record and its rules on, and checks that.
    """
    rng = Random(seed)

    def place(position: Snapshot, seed: int) -> np.ndarray:
        states = np.zeros(1, game.state)
        game.fields.set_position(states, rules, position, seed)
        return states

    refusals: list[str] = []
    for share in (0.2, 0.5, 0.9):
        part = {key: value for key, value in snapshot.items() if rng.random() < share}
        if "hands" in part:
            part["hands"] = [cards if rng.random() < 0.5 else None for cards in part["hands"]]
        try:
            states = place(part, seed + 1)
        except ValueError as error:
            refusals.append(str(error))
            continue
        found = snapshot_of(game, states[0], rules)
        for key in set(part) - {"hands"}:
            assert found[key] == part[key]
        hands = zip(part.get("hands", found["hands"]), found["hands"], strict=True)
        assert all(cards in (None, there) for cards, there in hands)
        assert snapshot_of(game, place(found, seed + 2)[0], rules) == found
        play_out(states, rules)
    for refusal in refusals:
        named = re.match(r"position (\w+)", refusal)
        assert named, refusal
        assert named[1] in snapshot, refusal
