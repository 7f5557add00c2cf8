"""What can sit at a table, by name, and what it is given to decide on.

An agent acts on a batch of `Decisions`, one each in many games. It sees redacted records and what can be computed from
them, nothing else. Chance comes from one random key a decision, so that an agent's choice in a game depends on
neither the other games of the batch nor on how many were decided before.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from envs.cards import fold, random_bits, stream_key
from envs.game import Game, features, legal, redact
from envs.jit import jit
from envs.loops import player_action, write_mask

DECISION_STREAM = 6


@jit
def _redact_all(states: Any, options: Any, seed: int, keys: Any) -> None:
    for i in range(states.shape[0]):
        state = states[i]
        own = int(state["seed"])
        key = stream_key(seed, DECISION_STREAM, own & 0xFFFFFFFF, own >> 32, int(state["game"]))
        keys[i] = fold(key, int(state["moves"]))
        redact(state, options[0], int(state["turn"]))


@jit
def _masks(states: Any, options: Any, mask: Any) -> None:
    size = mask.shape[1]
    flat = mask.reshape(-1)
    for i in range(states.shape[0]):
        low, high = legal(states[i], options[0])
        write_mask(low, high, flat, i * size, size)


@jit
def _observations(states: Any, options: Any, wide: bool, observation: Any) -> None:
    size = observation.shape[1]
    flat = observation.reshape(-1)
    for i in range(states.shape[0]):
        features(states[i], options[0], int(states[i]["turn"]), wide, flat, i * size)


@jit
def _uniforms(keys: Any, out: Any) -> None:
    for i in range(out.shape[0]):
        key = int(keys[i])
        for k in range(out.shape[1]):
            out[i, k] = (random_bits(key & 0xFFFFFFFF, key >> 32, k) + 0.5) * 2.0**-32


@jit
def _player_actions(states: Any, options: Any, player: int, keys: Any, scratch: Any, actions: Any) -> None:
    for i in range(states.shape[0]):
        scratch[0] = states[i]
        # The random player draws from the seed, which a redacted record no longer has.
        scratch[0]["seed"] = keys[i]
        actions[i] = player_action(scratch[0], options[0], player, scratch[1:])


class Decisions:
    """Decisions to be made, one each in B games, as the seats to act see them.

    Args:
        game: the game.
        rules: its option object.
        states: (B,) state records of games that have not ended; they are copied, then redacted for the seat to act.
        seed: seed of the agents' chance (0..2**63-1); the keys depend on it and on each game's seed, number and move.
    """

    game: Game
    rules: Any
    states: np.ndarray
    """(B,) redacted records; ``states["turn"]`` is the seat to act."""
    keys: np.ndarray
    """(B,) int64, 0..2**62-1: a random key for each decision."""

    def __init__(self, game: Game, rules: Any, states: np.ndarray, seed: int = 0) -> None:
        self.game = game
        self.rules = rules
        self.states = states.copy()
        self.keys = np.zeros(len(states), np.int64)
        self.options = rules.record()
        _redact_all(self.states, self.options, seed, self.keys)

    def __len__(self) -> int:
        return len(self.states)

    @cached_property
    def action_mask(self) -> np.ndarray:
        """(B, A) bool: the legal actions."""
        mask = np.zeros((len(self), self.game.num_actions), np.bool_)
        _masks(self.states, self.options, mask)
        return mask

    def observation(self, pad_seats: bool = False) -> np.ndarray:
        """(B, F) uint8, 0 or 1: the features, on request laid out for the largest table."""
        size = self.game.layout(self.rules.num_players, pad_seats).size
        observation = np.zeros((len(self), size), np.uint8)
        _observations(self.states, self.options, pad_seats, observation)
        return observation

    def uniforms(self, count: int) -> np.ndarray:
        """(B, count) float64 in the open interval (0, 1), drawn from the keys; the same at each call."""
        out = np.zeros((len(self), count))
        _uniforms(self.keys, out)
        return out


class Agent(Protocol):
    """Whoever can decide for a seat.

    An agent may also have ``check_rules(rules)``, which raises ValueError where it cannot play by these rules,
    ``probabilities(decisions)`` and ``values(decisions)``, (B, A) numbers that tell what it thinks of each action.
    """

    @property
    def name(self) -> str:
        """What reports call it."""

    def act(self, decisions: Decisions) -> np.ndarray:
        """Choose a legal action in each game: (B,) integers; a function of `decisions` alone."""


@dataclass(frozen=True)
class BuiltIn:
    """A player that the game's compiled loops know: the random player or a rule-based one."""

    name: str
    code: int
    """Its player code (see `envs.vector.VectorEnv`), for tables that move it inside their own step."""

    def act(self, decisions: Decisions) -> np.ndarray:
        """(B,) int64 legal actions."""
        actions = np.zeros(len(decisions), np.int64)
        scratch = np.zeros(2, decisions.states.dtype)
        _player_actions(decisions.states, decisions.options, self.code, decisions.keys, scratch, actions)
        return actions


def check_rules(agent: Agent, rules: Any) -> None:
    """Raise ValueError where an agent says that it cannot play by these rules, such as another number of seats."""
    check = getattr(agent, "check_rules", None)
    if check is not None:
        check(rules)


def agent_names(game: Game) -> tuple[str, ...]:
    """Names of the built-in agents of a game."""
    return ("random", *game.rule_players)


def find_agent(name: str, game: Game) -> BuiltIn:
    """Return the built-in agent of a name; ValueError names the choices."""
    names = agent_names(game)
    if name not in names:
        raise ValueError(f"no agent {name!r} in {game.title}; choose one of {', '.join(names)}")
    return BuiltIn(name, names.index(name))
