"""The two faces play the same games: game i of a VectorEnv is the AEC game of reset(seed + i), move by move."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
import toy

from envs.aec import TableEnv
from envs.vector import VectorEnv

assert toy.GAME.name == "toy"  # importing it makes the name known
TABLES: list[tuple[str, dict[str, Any], int]] = [
    ("toy", {}, 60),
    ("toy", {"num_players": 3, "reward": "margin"}, 60),
    ("kachuful", {}, 600),
    ("kachuful", {"num_players": 3, "max_hand": 2, "blind": "optional", "reward": "win"}, 120),
    ("kachuful", {"num_players": 5, "max_hand": 3, "single_card": "face_down", "trump": "turn_up"}, 150),
    ("kachuful", {"num_players": 8, "max_hand": 2, "revoke": "penalty", "blind": "forced", "pad_seats": True}, 150),
]


@pytest.mark.parametrize(("game", "rules", "moves"), TABLES)
def test_vector_equals_aec(game: str, rules: dict[str, Any], moves: int) -> None:
    """Where a game ends, the next begins in the same step, as after a plain reset."""
    seed, count = 40, 2
    vector = VectorEnv(game, count, seed, state=True, **rules)
    envs = [TableEnv(game, **rules) for _ in range(count)]
    for i, env in enumerate(envs):
        env.reset(seed=seed + i)
    batch = vector.reset()
    rng = Random(2)
    rounds = [0] * count
    for _ in range(moves):
        actions = []
        for i, env in enumerate(envs):
            seen = env.observe(env.agent_selection)
            assert (batch.observation[i] == seen["observation"]).all()
            assert (batch.action_mask[i] == seen["action_mask"]).all()
            assert (batch.state[i] == env.state()).all()
            assert env.agent_selection == f"player_{batch.turn[i]}"
            assert env._states.tobytes() == vector.get_state()[i : i + 1].tobytes()
            actions.append(rng.choice(np.flatnonzero(batch.action_mask[i]).tolist()))
        batch = vector.step(np.array(actions))
        for i, env in enumerate(envs):
            rounds[i] = env.snapshot()["round"]
            env.step(actions[i])
            assert batch.rewards[i].tolist() == list(env.rewards.values())
            assert batch.game_over[i] == env.snapshot()["finished"] == any(env.terminations.values())
            assert batch.round_over[i] == (batch.game_over[i] or env.snapshot()["round"] != rounds[i])
            if batch.game_over[i]:
                env.reset()
    assert (vector.get_state()["game"] > 0).all()
