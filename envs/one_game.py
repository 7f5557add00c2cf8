"""One game in an array of one record: the compiled calls, names and sizes that a face for single games needs."""

from __future__ import annotations

import operator
from typing import Any

import numba
import numpy as np

from envs.game import (
    GAME_OVER,
    TRUNCATED,
    Game,
    automatic,
    determinize,
    features,
    full_features,
    legal,
    new_game,
    next_round,
    prepare_deals,
    redact,
    rewards,
    step,
)
from envs.jit import PLAIN, jit
from envs.loops import is_legal, write_mask
from envs.sampling import new_plan

MAX_SEED = 2**63 - 1
FLAGS, FOLLOW = 8, 12
"""A result of `move` is the seat to act; above these bits, flags and the move that the game then makes (plus 1)."""
FLOAT, BYTE = np.dtype(np.float32), np.dtype(np.int8)


def check_seed(seed: Any) -> int:
    """Return a seed as an integer 0..2**63-1; ValueError for anything else."""
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if isinstance(seed, bool) or not 0 <= number <= MAX_SEED:
        raise ValueError(f"seed={seed!r} is not possible: seed must be an integer from 0 to 2**63 - 1")
    return number


@jit
def start(states: Any, options: Any, seed: int, number: int, dealer: int) -> None:
    """Start game `number` of a seed; `dealer` -1 draws the first dealer."""
    states[0]["seed"] = seed
    states[0]["game"] = number
    new_game(states[0], options[0], dealer)


@jit
def move(states: Any, options: Any, action: int) -> int:
    """Make a move; -1 where it is illegal, and nothing has changed then."""
    state = states[0]
    rules = options[0]
    if not is_legal(state, rules, action):
        return -1
    flags = step(state, rules, action)
    follow = int(automatic(state, rules)) + 1
    return (int(state["turn"]) & 0xFF) | (int(flags) << FLAGS) | (follow << FOLLOW)


@jit
def close_round(states: Any, options: Any, flags: int, out: Any) -> int:
    """Write the rewards of the round that has ended and deal the next one; returns the seat to act or -1."""
    state = states[0]
    rules = options[0]
    rewards(state, rules, flags, out)
    if flags & (GAME_OVER | TRUNCATED) == 0:
        next_round(state, rules)
    return int(state["turn"])


@jit
def observe(states: Any, options: Any, seat: int, wide: bool, scratch: Any, observation: Any, mask: Any) -> None:
    """Write what a seat sees (float32 zeros and ones) and, where it is to act, its legal actions (int8, else zeros)."""
    state = states[0]
    rules = options[0]
    features(state, rules, seat, wide, scratch, 0)
    for i in range(observation.shape[0]):
        observation[i] = scratch[i]
    low, high = 0, 0
    if int(state["turn"]) == seat:
        low, high = legal(state, rules)
    write_mask(low, high, mask, 0, mask.shape[0])


@jit
def observe_all(states: Any, options: Any, seat: int, wide: bool, out: Any) -> None:
    """Write the whole state, rotated to a seat, as uint8 zeros and ones."""
    full_features(states[0], options[0], seat, wide, out, 0)


@jit
def resample(states: Any, options: Any, seat: int, key: int) -> bool:
    """Replace a state by one that a seat cannot tell from it; False: the seat knows what cannot be."""
    plan = new_plan()
    redact(states[0], options[0], seat)
    if not prepare_deals(states[0], options[0], seat, plan):
        return False
    determinize(states[0], options[0], seat, plan, key)
    return True


def _entry(function: Any, *arguments: Any) -> Any:
    """Compile for the types of some arguments; calls save Numba's look-up by types, which takes longer than a move."""
    return function if PLAIN else function.compile(tuple(numba.typeof(argument) for argument in arguments))


class TableInfo:
    """Names, sizes and compiled calls, the same for every game at such a table; copies of an env share them."""

    def __init__(self, game: Game, rules: Any, wide: bool) -> None:
        self.game, self.rules, self.wide = game, rules, wide
        seats = rules.num_players
        layout = game.layout(seats, wide)
        self.features = layout.names
        self.num_features = layout.size
        self.num_actions = game.num_actions
        self.num_state = game.state_layout(seats, wide).size
        self.actions = [game.action_name(action) for action in range(game.num_actions)]
        self.action_ids = {name: action for action, name in enumerate(self.actions)}
        self.agents = [f"player_{seat}" for seat in range(seats)]
        self.seats = {agent: seat for seat, agent in enumerate(self.agents)}
        self.options = rules.record()
        states, scratch = np.zeros(1, game.state), np.zeros(1, np.uint8)
        self.move = _entry(move, states, self.options, 0)
        self.observe = _entry(observe, states, self.options, 0, wide, scratch, np.empty(1, FLOAT), np.empty(1, BYTE))

    def __deepcopy__(self, memo: dict[int, Any]) -> TableInfo:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (TableInfo, (self.game, self.rules, self.wide))
