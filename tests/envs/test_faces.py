"""The two faces play the same games: game i of a VectorEnv is the AEC game of reset(seed + i), move by move."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
import toy
from games import NAMES, ORACLES

from envs.aec import TableEnv
from envs.vector import VectorEnv

assert toy.GAME.name == "toy"  # importing it makes the name known
TABLES: list[tuple[str, dict[str, Any]]] = [
    ("toy", {}),
    ("toy", {"num_players": 3, "reward": "margin"}),
    ("kachuful", {}),
    ("kachuful", {"num_players": 3, "preset": "sun", "max_hand": "full", "min_hand": 14}),
    *(
        (name, {"num_players": n, **rules})
        for name in NAMES
        for n in ORACLES[name].SEATS
        for rules in ORACLES[name].VARIANTS.values()
    ),
]


@pytest.mark.parametrize(("game", "rules"), TABLES, ids=lambda value: str(value).replace("'", ""))
def test_vector_equals_aec(game: str, rules: dict[str, Any]) -> None:
    """Where a game ends, the next begins in the same step, as after a plain reset; threads make no difference."""
    seed, count = 40, 2
    vectors = [VectorEnv(game, count, seed, threads, state=True, **rules) for threads in (1, 2)]
    envs = [TableEnv(game, **rules) for _ in range(count)]
    for i, env in enumerate(envs):
        env.reset(seed=seed + i)
    batches = [vector.reset() for vector in vectors]
    rng = Random(2)
    more = 12  # moves in the second games, once all have begun
    while more:
        actions = []
        for i, env in enumerate(envs):
            seen = env.observe(env.agent_selection)
            actions.append(rng.choice(np.flatnonzero(seen["action_mask"]).tolist()))
            for vector, batch in zip(vectors, batches, strict=True):
                assert (batch.observation[i] == seen["observation"]).all()
                assert (batch.action_mask[i] == seen["action_mask"]).all()
                assert (batch.state[i] == env.state()).all()
                assert env.agent_selection == f"player_{batch.turn[i]}"
                assert env._states.tobytes() == vector.get_state()[i : i + 1].tobytes()
        batches = [vector.step(np.array(actions)) for vector in vectors]
        for i, env in enumerate(envs):
            round_ = env.snapshot()["round"]
            env.step(actions[i])
            snapshot = env.snapshot()
            over = [any(flags.values()) for flags in (env.terminations, env.truncations)]
            for batch in batches:
                assert batch.rewards[i].tolist() == list(env.rewards.values())
                assert batch.game_over[i] == snapshot["finished"] == any(over)
                assert batch.truncated[i] == over[1] == (any(over) and not over[0])
                assert batch.round_over[i] == (batch.game_over[i] or snapshot["round"] != round_)
                assert batch.rounds[i] == batch.round_over[i]
            if snapshot["finished"]:
                env.reset()
        more -= bool((vectors[0].get_state()["game"] > 0).all())
