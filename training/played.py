"""Whole games between agents in given seats, many side by side, with every move."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from envs import loops, recording
from envs.agents import Agent, BuiltIn, Decisions
from envs.game import Game
from training.errors import AgentError

ROOM = 64, 8
"""Moves and rounds for which there is room at first."""


@dataclass(frozen=True)
class Played:
    """G games that have ended, of n seats each."""

    moves: np.ndarray
    """(G, M) uint8: the moves that were made, forced ones included; zeros follow."""
    made: np.ndarray
    """(G,) int64: how many there are."""
    rounds: np.ndarray
    """(G,) int64: rounds played."""
    scores: np.ndarray | None
    """(G, n) float64: points of the whole game; None where the game scores nothing."""
    places: np.ndarray
    """(G, n) int64: 1 the best; seats that tie share the best of their places."""
    log: np.ndarray
    """(G, R, n, K) float32: the game's statistics of each round; zeros from a game's end on."""

    @property
    def wins(self) -> np.ndarray:
        """(G, n) float64: k seats that tie at the top share a win as 1/k each."""
        top = self.places == 1
        shares: np.ndarray = top / top.sum(axis=1, keepdims=True)
        return shares

    @property
    def points(self) -> np.ndarray | None:
        """(G, n) float64: points per round, or None."""
        return None if self.scores is None else self.scores / self.rounds[:, None]

    @property
    def statistics(self) -> np.ndarray:
        """(G, n, K) float64: the game's statistics per round."""
        sums: np.ndarray = self.log.sum(axis=1, dtype=np.float64)
        return sums / self.rounds[:, None, None]


def start(game: Game, rules: Any, seeds: np.ndarray) -> np.ndarray:
    """(G,) records: the games that ``reset(seed=s)`` starts, for (G,) seeds s."""
    states = np.zeros(len(seeds), game.state)
    for i, seed in enumerate(seeds.tolist()):
        loops.start_games(states[i : i + 1], rules.record(), seed)
    return states


def play_games(
    game: Game, rules: Any, agents: Sequence[Agent], states: np.ndarray, seating: np.ndarray, seed: int
) -> Played:
    """Play games to their end.

    Args:
        game: the game.
        rules: its option object.
        agents: who plays.
        states: (G,) records of games that have begun; they are played on.
        seating: (G, n) indices into `agents`.
        seed: seed of the agents' chance (0..2**63-1).

    Raises:
        AgentError: an agent fails, or an action of its is illegal.
    """
    count, options = len(states), rules.record()
    codes = np.array([agent.code if isinstance(agent, BuiltIn) else loops.ASK for agent in agents], np.int8)
    players = codes[seating]
    moves, log = np.zeros((count, ROOM[0]), np.uint8), _new_log(game, rules, count, ROOM[1])
    actions, made, rounds = np.full(count, -1), np.zeros(count, np.int64), np.zeros(count, np.int64)
    scratch = np.zeros(1, game.state)
    while True:
        while recording.play_recorded(states, options, actions, players, moves, made, log, rounds, scratch):
            moves = _with_room(moves, int(made.max()))
            log = _with_room(log, int(rounds.max()))
        live = np.flatnonzero(states["turn"] >= 0)
        if not live.size:
            break
        whose = seating[live, states["turn"][live]]
        for index in np.unique(whose):
            rows = live[whose == index]
            actions[rows] = ask(agents[index], Decisions(game, rules, states[rows], seed))
        _check(game, rules, states[live], actions[live], [agents[index].name for index in whose])
    return _finish(game, rules, states, moves, made, log, rounds)


def ask(agent: Agent, decisions: Decisions) -> np.ndarray:
    """What an agent answers, (B,) integers; AgentError where it fails or answers with anything else."""
    try:
        actions = np.asarray(agent.act(decisions))
    except (AgentError, KeyboardInterrupt):
        raise
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise AgentError(f"agent {agent.name} failed: {said} ({place.filename}, line {place.lineno})") from error
    if actions.shape != (len(decisions),) or actions.dtype.kind not in "iu":
        raise AgentError(
            f"agent {agent.name} answered with {actions.dtype} of shape {actions.shape}; "
            f"it must be integers of shape ({len(decisions)},)"
        )
    return actions


def replay_games(
    game: Game, rules: Any, states: np.ndarray, moves: np.ndarray, made: np.ndarray, rounds: int
) -> Played:
    """Play recorded moves again.

    Args:
        game: the game.
        rules: its option object.
        states: (G,) records as the games began; they are played on.
        moves: (G, M) uint8.
        made: (G,) how many of them each game has.
        rounds: most rounds of a game.

    Raises:
        ValueError: an illegal move, or a game that has not ended with its moves, with its index.
    """
    log, ended = _new_log(game, rules, len(states), rounds), np.zeros(len(states), np.int64)
    bad = recording.replay(states, rules.record(), moves, made, log, ended)
    open_ = np.flatnonzero(states["turn"] >= 0)
    if bad >= 0 or open_.size:
        raise ValueError(f"the moves of game {bad if bad >= 0 else open_[0]} are not those of a whole game")
    return _finish(game, rules, states, moves, made, log, ended)


def _new_log(game: Game, rules: Any, count: int, rounds: int) -> np.ndarray:
    return np.zeros((count, rounds, rules.num_players, len(game.statistics)), np.float32)


def _with_room(array: np.ndarray, used: int) -> np.ndarray:
    """The array, twice as wide where it is full."""
    if used < array.shape[1]:
        return array
    return np.concatenate((array, np.zeros_like(array)), axis=1)


def _check(game: Game, rules: Any, states: np.ndarray, actions: np.ndarray, names: list[str]) -> None:
    bad = loops.find_illegal(states, rules.record(), actions)
    if bad >= 0:
        mask = Decisions(game, rules, states[bad : bad + 1]).action_mask[0]
        action = int(actions[bad])
        name = game.action_name(action) if 0 <= action < game.num_actions else "no action"
        legal = ", ".join(game.action_name(int(a)) for a in np.flatnonzero(mask))
        raise AgentError(f"agent {names[bad]}: action {action} ({name}) is illegal; legal: {legal}")


def _finish(
    game: Game, rules: Any, states: np.ndarray, moves: np.ndarray, made: np.ndarray, log: np.ndarray, rounds: np.ndarray
) -> Played:
    n = rules.num_players
    places = np.zeros((len(states), n), np.int64)
    loops.find_places(states, rules.record(), places)
    scores = None if game.points is None else states["scores"][:, :n] / game.points
    return Played(moves, made, rounds, scores, places, log)
