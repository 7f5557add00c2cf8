"""Playing environments in tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np

Trace = list[tuple[Any, ...]]


def legal_actions(env: Any) -> list[int]:
    """Legal actions of the agent to act, by the mask it sees."""
    return np.flatnonzero(env.observe(env.agent_selection)["action_mask"]).tolist()


def step_randomly(env: Any, rng: Random) -> None:
    """Make a random legal move, or the empty move of an agent whose game has ended."""
    agent = env.agent_selection
    dead = env.terminations[agent] or env.truncations[agent]
    env.step(None if dead else rng.choice(legal_actions(env)))


def positions(env: Any, rng: Random) -> Iterator[None]:
    """Play a game at random; stops before each move and once more at the end, agents not yet removed."""
    while True:
        yield
        if env.terminations[env.agent_selection] or env.truncations[env.agent_selection]:
            return
        step_randomly(env, rng)


def play_until(env: Any, rng: Random, condition: Callable[[dict[str, Any]], bool]) -> None:
    """Play at random until a snapshot fulfils a condition."""
    while not condition(env.unwrapped.snapshot()):
        step_randomly(env, rng)


def face(env: Any) -> tuple[Any, ...]:
    """Everything that an env shows through PettingZoo's attributes, comparable with ``==``."""
    observations = []
    for agent in env.possible_agents:
        seen = env.observe(agent)
        observations.append((agent, seen["observation"].tobytes(), seen["action_mask"].tobytes()))
    return (
        list(env.agents),
        env.agent_selection,
        dict(env.rewards),
        dict(env._cumulative_rewards),
        dict(env.terminations),
        dict(env.truncations),
        dict(env.infos),
        observations,
    )


def trace(env: Any, rng: Random, moves: int = 10**9) -> Trace:
    """Play on at random, to the last agent's removal or for a number of moves; what was seen before every move."""
    seen: Trace = []
    while env.agents and len(seen) < moves:
        seen.append(face(env))
        step_randomly(env, rng)
    return seen
