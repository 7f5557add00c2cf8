"""Many games at once: one compiled call a step, results in buffers that are written anew each time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from envs import loops
from envs.cards import stream_key
from envs.game import Game, find_game

SCATTER_STREAM = 4
PLAYER_ASK = loops.ASK
PLAYER_RANDOM = loops.RANDOM


class Batch(NamedTuple):
    """What `VectorEnv.reset` and `step` return; the arrays are valid until the next step."""

    observation: np.ndarray
    """(N, F) uint8, 0 or 1: what the seat to act sees."""
    action_mask: np.ndarray
    """(N, A) bool: its legal actions; all False once a game has ended (only without restart)."""
    turn: np.ndarray
    """(N,) int8: seat to act; -1 once a game has ended."""
    rewards: np.ndarray
    """(N, seats) float32: rewards of the rounds that ended in this step, by seat."""
    round_over: np.ndarray
    """(N,) bool: a round ended in this step."""
    game_over: np.ndarray
    """(N,) bool: the game ended in this step, by its rules or by truncation; the next one may have begun."""
    truncated: np.ndarray
    """(N,) bool: the game was truncated in this step."""
    state: np.ndarray
    """(N, S) uint8, on request: the whole state rotated to the seat to act; S = 0 otherwise."""
    statistics: np.ndarray
    """(N, seats, K) float32, on request: the game's statistics summed over the rounds that ended; K = 0 otherwise."""
    rounds: np.ndarray
    """(N,) int32: rounds that ended in this step (more than one only where other players' moves are made here)."""


class VectorEnv:
    """`num_envs` independent games of one kind.

    Game i is move by move the AEC game of ``reset(seed + i)``; where one ends, the next begins within the same step,
    as a plain AEC ``reset()`` would.

    Args:
        game: a name such as ``"kachuful"``, or a `Game`.
        num_envs: number of games N.
        seed: seed of game 0 (0..2**63-1-N).
        num_threads: threads that share the games; the results do not depend on it.
        pad_seats: lay the observation out for the largest table.
        observation: write observations (switch off where only masks and states matter).
        state: also write the whole state, for critics.
        statistics: also write the game's per-round statistics.
        players: (N, seats) or (seats,) int8 codes of who moves: `PLAYER_ASK` (-1) the caller, `PLAYER_RANDOM` (0) a
            random player, 1 + k the game's rule-based player k. Moves of the others are made inside a step.
            Default: all -1.
        skip_forced: make moves without a choice inside the step too.
        restart: begin the next game where one has ended; otherwise it stays as it ended, with turn -1.
        preset: a preset of the game.
        **rules: the game's options.

    Raises:
        ValueError: an unknown game, preset or option, an impossible value or an array of the wrong shape.
    """

    def __init__(
        self,
        game: str | Game,
        num_envs: int,
        seed: int = 0,
        num_threads: int = 1,
        *,
        pad_seats: bool = False,
        observation: bool = True,
        state: bool = False,
        statistics: bool = False,
        players: np.ndarray | None = None,
        skip_forced: bool = False,
        restart: bool = True,
        preset: str | None = None,
        **rules: Any,
    ) -> None:
        for name, value in (("num_envs", num_envs), ("num_threads", num_threads)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name}={value!r} is not possible: it must be an integer of at least 1")
        if not 0 <= int(seed) < 2**63 - num_envs:
            raise ValueError(f"seed={seed!r} is not possible: it must be an integer from 0 to 2**63 - 1 - num_envs")
        self.game = find_game(game)
        self.rules = self.game.make_rules(preset, **rules)
        self.num_envs = num_envs
        self.num_players: int = self.rules.num_players
        self.num_actions = self.game.num_actions
        self.num_features = self.game.layout(self.num_players, pad_seats).size
        self.num_state_features = self.game.state_layout(self.num_players, pad_seats).size if state else 0
        self.seed = int(seed)
        self.skip_forced = skip_forced
        self.restart = restart
        self.pad_seats = pad_seats
        self._options = self.rules.record()
        self._states = np.zeros(num_envs, self.game.state)
        self._players = np.full((num_envs, self.num_players), PLAYER_ASK, np.int8)
        seats = self.num_players
        kinds = len(self.game.statistics) if statistics else 0
        self._batch = Batch(
            observation=np.zeros((num_envs, self.num_features if observation else 0), np.uint8),
            action_mask=np.zeros((num_envs, self.num_actions), np.bool_),
            turn=np.zeros(num_envs, np.int8),
            rewards=np.zeros((num_envs, seats), np.float32),
            round_over=np.zeros(num_envs, np.bool_),
            game_over=np.zeros(num_envs, np.bool_),
            truncated=np.zeros(num_envs, np.bool_),
            state=np.zeros((num_envs, self.num_state_features), np.uint8),
            statistics=np.zeros((num_envs, seats, kinds), np.float32),
            rounds=np.zeros(num_envs, np.int32),
        )
        self.num_threads = min(num_threads, num_envs)
        self._share_out()
        if players is not None:
            self.set_players(players)

    def set_players(self, players: np.ndarray) -> None:
        """Set who moves in which seat, (N, seats) or (seats,) codes; takes effect with the next step or `reset`."""
        codes = np.asarray(players)
        most = len(self.game.rule_players)
        if codes.shape not in ((self.num_players,), self._players.shape):
            raise ValueError(
                f"players has shape {codes.shape}; it must be {self._players.shape} or ({self.num_players},)"
            )
        if codes.min() < PLAYER_ASK or codes.max() > most:
            raise ValueError(f"players has codes beyond {PLAYER_ASK}..{most} ({self.game.title})")
        codes = np.broadcast_to(codes, self._players.shape)
        if self.restart and not (codes == PLAYER_ASK).any(axis=1).all():
            raise ValueError("players leaves a game without a seat to ask, which would never return")
        self._players[:] = codes

    def player_code(self, name: str) -> int:
        """Code of a built-in player: ``random`` or one of the game's rule-based players."""
        names = ("random", *self.game.rule_players)
        if name not in names:
            raise ValueError(f"no built-in player {name!r}; choose one of {', '.join(names)}")
        return names.index(name)

    def reset(self, scatter: int = 0) -> Batch:
        """Start all games again from the seed, optionally each after a random number (0..scatter) of random moves."""
        loops.start_games(self._states, self._options, self.seed)
        if scatter > 0:
            loops.scatter_games(self._states, self._options, scatter, stream_key(self.seed, SCATTER_STREAM))
        return self._run(np.full(self.num_envs, -1, np.int64))

    def step(self, actions: np.ndarray) -> Batch:
        """Make one move in every game.

        Args:
            actions: (N,) integers, legal for the seat to act; ignored where a game has ended.

        Raises:
            ValueError: the first illegal action, with the game and the legal actions; no game has moved then.
        """
        actions = np.ascontiguousarray(actions, np.int64)
        if actions.shape != (self.num_envs,):
            raise ValueError(f"actions has shape {actions.shape}; it must be ({self.num_envs},)")
        bad = loops.find_illegal(self._states, self._options, actions)
        if bad >= 0:
            legal = [self.game.action_name(int(a)) for a in np.flatnonzero(self._batch.action_mask[bad])]
            action = int(actions[bad])
            name = self.game.action_name(action) if 0 <= action < self.num_actions else "no action"
            seat = int(self._states["turn"][bad])
            raise ValueError(
                f"action {action} ({name}) of seat {seat} in game {bad} is illegal; legal: {', '.join(legal)}"
            )
        return self._run(actions)

    def _share_out(self) -> None:
        """Give each thread views of its games, and room for redacted records and for sums (the last row: a round)."""
        seats, kinds = self.num_players, self._batch.statistics.shape[2]
        self._parts = []
        for first, end in pairwise(np.linspace(0, self.num_envs, self.num_threads + 1).astype(int)):
            part = slice(first, end)
            views = (array[part] for array in self._batch)
            room = (
                np.zeros(1, self.game.state),
                np.zeros(2 * seats, np.float32),
                np.zeros((seats + 1, kinds), np.float32),
            )
            self._parts.append((part, self._states[part], self._players[part], (*views, *room)))
        self._pool = ThreadPoolExecutor(self.num_threads) if self.num_threads > 1 else None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_parts", "_pool")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._share_out()

    def _run(self, actions: np.ndarray) -> Batch:
        if self._pool is None:
            self._run_part(actions, 0)
        else:
            list(self._pool.map(lambda k: self._run_part(actions, k), range(len(self._parts))))
        return self._batch

    def _run_part(self, actions: np.ndarray, k: int) -> None:
        part, states, players, out = self._parts[k]
        loops.step_games(
            states, self._options, actions[part], players, self.skip_forced, self.restart, self.pad_seats, out
        )

    def get_state(self) -> np.ndarray:
        """A copy of the games' records, shape (N,)."""
        return self._states.copy()

    def set_state(self, states: np.ndarray) -> Batch:
        """Replace the games by copies of records of the same shape and type; returns what the seats to act see."""
        if states.shape != self._states.shape or states.dtype != self._states.dtype:
            raise ValueError(f"states has shape {states.shape} and type {states.dtype.names}, not those of get_state()")
        self._states[:] = states
        return self._run(np.full(self.num_envs, -1, np.int64))
