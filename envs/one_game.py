"""One game in an array of one record: what the faces for single games share.

The compiled calls, `TableInfo` with the names and sizes of a table, and `OneGame`, all of a face but its steps.
"""

from __future__ import annotations

import difflib
import operator
import sys
import warnings
from collections.abc import Mapping
from functools import cached_property
from typing import Any, cast

import gymnasium
import numba
import numpy as np
from gymnasium import spaces

from envs.agents import Decisions
from envs.cards import stream_key
from envs.game import (
    GAME_OVER,
    TRUNCATED,
    Game,
    automatic,
    determinize,
    features,
    find_game,
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
from envs.loops import is_legal, make_move, play_on, write_mask
from envs.sampling import new_plan

Observation = dict[str, np.ndarray]

RENDER_MODES = ("ansi", "human")
DETERMINIZE_STREAM = 5
NO_GAME = "there is no game yet: call reset() first"

MAX_SEED = 2**63 - 1
FLAGS, FOLLOW = 8, 12
"""A result of `move` is the seat to act; above these bits, flags and the move that the game then makes (plus 1)."""
ILLEGAL = -2
"""Result of `play` for an illegal action."""
FLOAT, BYTE = np.dtype(np.float32), np.dtype(np.int8)
_empty = np.empty


class IllegalActionError(ValueError):
    """An action that the rules do not allow now; the game has not changed."""


def warn(message: str) -> None:
    """Warn where the caller outside this package stands."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("envs."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)


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
def play(states: Any, options: Any, players: Any, action: int, scratch: Any, total: Any, tally: Any) -> int:
    """Make a move (below 0: none) and all that built-in players make after it.

    Args:
        states: the game.
        options: its rules.
        players: (1, seats) player codes; the moves of `envs.loops.ASK` seats are not made.
        action: of the seat to act.
        scratch: room for a redacted record.
        total: (2 * seats,); each seat's rewards are added to the first half, the rest is room for a round.
        tally: (seats + 1, 0), no statistics.

    Returns:
        The seat to act, -1 once the game is over, or `ILLEGAL`, and nothing has changed then.
    """
    state = states[0]
    rules = options[0]
    if action >= 0:
        if not is_legal(state, rules, action):
            return ILLEGAL
        make_move(state, rules, action, False, total, tally)
    play_on(state, rules, players, 0, False, False, scratch, total, tally)
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

    @cached_property
    def play(self) -> Any:
        """`play`, compiled."""
        seats = self.rules.num_players
        return _entry(play, np.zeros(1, self.game.state), self.options, np.zeros((1, seats), BYTE), 0, *self.new_room())

    def new_room(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What `play` wants for its last three arguments."""
        seats = self.rules.num_players
        return np.zeros(1, self.game.state), np.zeros(2 * seats, FLOAT), np.zeros((seats + 1, 0), FLOAT)

    def __deepcopy__(self, memo: dict[int, Any]) -> TableInfo:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (TableInfo, (self.game, self.rules, self.wide))


class OneGame:
    """A face's game: its options, how it starts and ends, and what can be asked of it at any time."""

    render_mode: str | None
    pad_seats: bool
    illegal_reward: float
    """Reward of a seat that ends the game by an illegal action."""
    _states: np.ndarray
    _reset_options: tuple[str, ...] = ("dealer", "position")

    def _set_up(
        self,
        game: str | Game,
        preset: str | None,
        render_mode: str | None,
        pad_seats: bool,
        illegal_reward: float | None,
        rules: dict[str, Any],
    ) -> None:
        """Check and take the arguments that all faces have; ValueError says which is impossible."""
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode={render_mode!r} is not possible: it must be None, 'ansi' or 'human'")
        if not isinstance(pad_seats, bool):
            raise ValueError(f"pad_seats={pad_seats!r} is not possible: it must be True or False")
        game = find_game(game)
        self._table = TableInfo(game, game.make_rules(preset, **rules), pad_seats)
        self.render_mode = render_mode
        self.pad_seats = pad_seats
        self.illegal_reward = self._penalty(illegal_reward)
        self._scratch = np.zeros(max(self._table.num_features, self._table.num_state), np.uint8)

    def _penalty(self, given: float | None) -> float:
        if given is None:
            return float(self.game.worst_round(self.rules))
        if isinstance(given, bool) or not isinstance(given, (int, float, np.number)) or not np.isfinite(given):
            raise ValueError(f"illegal_reward={given!r} is not possible: it must be None or a finite number")
        return float(given)

    @property
    def game(self) -> Game:
        """The game."""
        return self._table.game

    @property
    def rules(self) -> Any:
        """The options of the game, all resolved."""
        return self._table.rules

    def _started(self) -> np.ndarray:
        """The record of the game, as an array of one; RuntimeError before the first reset."""
        try:
            return self._states
        except AttributeError:
            raise RuntimeError(NO_GAME) from None

    def _new_observation_space(self) -> spaces.Dict:
        """Space of what a seat sees, with its mask of legal actions."""
        return spaces.Dict(
            {
                "observation": spaces.Box(0.0, 1.0, (self._table.num_features,), np.float32),
                "action_mask": spaces.Box(0, 1, (self.game.num_actions,), np.int8),
            }
        )

    def _new_states(self, seed: int | None, options: Mapping[str, Any]) -> np.ndarray:
        """The next game as an array of one record; the running one does not change.

        Args:
            seed: 0..2**63-1, or None for the next game under the last seed (the first time under `_fresh_seed`).
            options: as `_read_options` returns them.
        """
        states = np.zeros(1, self.game.state)
        if seed is not None:
            seed, number = check_seed(seed), 0
        elif "_states" in self.__dict__:
            seed, number = int(self._states["seed"][0]), int(self._states["game"][0]) + 1
        else:
            seed, number = self._fresh_seed(), 0
        dealer, position = options.get("dealer", -1), options.get("position")
        if position is None:
            start(states, self._table.options, seed, number, dealer)
        else:
            self.game.fields.set_position(states, self.rules, position, seed, number, dealer)
        return states

    def _fresh_seed(self) -> int:
        return cast(int, np.random.SeedSequence().entropy) & MAX_SEED

    def _read_options(self, options: Mapping[str, Any] | None) -> dict[str, Any]:
        """The options of a reset that are known and not None; ValueError where one is impossible."""
        if options is None:
            return {}
        if not isinstance(options, Mapping):
            raise ValueError(f"options={options!r} is not possible: options must be a dict or None")
        found = {}
        for key, value in options.items():
            if key not in self._reset_options:
                warn(f"option {key!r} of reset() is unknown and ignored; options are {', '.join(self._reset_options)}")
            elif value is not None:
                found[key] = value if key == "position" else self._check_seat(value, key)
        position = found.get("position", {})
        if not isinstance(position, Mapping):
            raise ValueError(f"position={position!r} is not possible: it must be a dict, a snapshot or a part of one")
        return found

    def _check_seat(self, seat: Any, what: str) -> int:
        last = self.rules.num_players - 1
        if isinstance(seat, bool) or not isinstance(seat, (int, np.integer)) or not 0 <= seat <= last:
            raise ValueError(f"{what}={seat!r} is not possible: {what} must be a seat from 0 to {last}")
        return int(seat)

    def _action_text(self, action: Any) -> str:
        """An action, possible or not, for a message."""
        try:
            return f"{action!r} ({self.action_name(action)})"
        except ValueError:
            return f"{action!r} (actions are integers from 0 to {len(self._table.actions) - 1})"

    def _illegal(self, action: Any) -> IllegalActionError:
        """The error for an illegal action of the seat to act."""
        table, seat = self._table, int(self._states["turn"][0])
        mask = _empty(table.num_actions, BYTE)
        table.observe(self._states, table.options, seat, self.pad_seats, self._scratch, _empty(0, FLOAT), mask)
        names = ", ".join(table.actions[a] for a in np.flatnonzero(mask))
        return IllegalActionError(f"action {self._action_text(action)} of seat {seat} is illegal; legal: {names}")

    def _abort(self) -> None:
        """End the game where it stands."""
        self._states["turn"] = -1
        self._states["finished"] = 1

    @property
    def feature_names(self) -> list[str]:
        """A name for each of the F features of an observation."""
        return list(self._table.features)

    def action_name(self, action: int) -> str:
        """Name of an action number 0..A-1; ValueError for anything else."""
        last = len(self._table.actions) - 1
        if isinstance(action, bool) or not isinstance(action, (int, np.integer)) or not 0 <= action <= last:
            raise ValueError(f"no action {action!r}; actions are integers from 0 to {last}")
        return self._table.actions[action]

    def action_id(self, name: str) -> int:
        """Number of the action of a name; ValueError for an unknown one."""
        try:
            return self._table.action_ids[name]
        except (KeyError, TypeError):
            near = difflib.get_close_matches(str(name), self._table.actions, 1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ValueError(f"no action {name!r}; {hint}actions are {', '.join(self._table.actions)}") from None

    def snapshot(self) -> dict[str, Any]:
        """The whole hidden state in plain JSON types; `reset` takes it as a position."""
        snapshot: dict[str, Any] = self.game.fields.snapshot(self._started()[0], self.rules)
        return snapshot

    def decisions(self, seed: int = 0) -> Decisions:
        """The decision that the game waits for, as agents are asked it: ``agent.act(env.unwrapped.decisions())[0]``.

        Args:
            seed: 0..2**63-1, of the agent's chance.

        Raises:
            RuntimeError: the game is over, or there is none yet.
        """
        states = self._started()
        if int(states["turn"][0]) < 0:
            raise RuntimeError("the game is over: nobody is asked")
        return Decisions(self.game, self.rules, states, check_seed(seed))

    def determinize(self, seat: int, seed: int) -> dict[str, Any]:
        """Snapshot of one of the full states that a seat cannot tell from the true one, drawn uniformly.

        Args:
            seat: 0..n-1, who looks.
            seed: 0..2**63-1; the same seed draws the same state.
        """
        seat, key = self._check_seat(seat, "seat"), stream_key(check_seed(seed), DETERMINIZE_STREAM)
        states = self._started().copy()
        if not resample(states, self._table.options, seat, key):
            raise RuntimeError(f"no full state agrees with what seat {seat} knows")
        snapshot: dict[str, Any] = self.game.fields.snapshot(states[0], self.rules)
        return snapshot

    def render(self) -> str | None:
        """Draw the table with all hands open: returned as text (``ansi``), or printed (``human``)."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() does nothing without a render_mode: choose 'ansi' or 'human'")
            return None
        drawing = self.game.draw(self.snapshot(), self.game.points)
        if self.render_mode == "ansi":
            return drawing
        print(drawing)
        return None
