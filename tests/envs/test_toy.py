"""A game made from the contract of envs.game alone runs through every face."""

from __future__ import annotations

import copy
import pickle
from random import Random
from typing import Any

import numpy as np
import pytest
import toy
from pettingzoo.test import api_test, seed_test
from playing import face, positions, trace

from envs.aec import TableEnv
from envs.checked import CheckedEnv
from envs.vector import VectorEnv


@pytest.mark.filterwarnings("ignore::UserWarning")  # PettingZoo's, about spaces that are not a Box
@pytest.mark.parametrize("n", [3, 4])
def test_pettingzoo_contract(n: int) -> None:
    api_test(CheckedEnv(TableEnv("toy", num_players=n)), num_cycles=100)
    seed_test(lambda: TableEnv(toy.GAME, num_players=n), num_cycles=20)


@pytest.mark.parametrize("rules", [{}, {"num_players": 3, "reward": "margin", "rounds": 3}])
def test_whole_games(rules: dict[str, Any]) -> None:
    env = CheckedEnv(TableEnv("toy", **rules))
    n = env.rules.num_players
    for seed in range(5):
        env.reset(seed=seed)
        assert env.action_space("player_0").n == 12
        total = np.zeros(n)
        rng = Random(seed)
        while env.agents:
            twin = pickle.loads(pickle.dumps(copy.deepcopy(env)))
            assert face(twin) == face(env)
            trace(env, rng, 1)
            total += [env.rewards.get(agent, 0) for agent in env.possible_agents]
        snapshot = env.snapshot()
        assert sum(snapshot["scores"]) == env.rules.rounds * 12 // n
        assert len(env.history) == env.rules.rounds * 12
        if env.rules.reward == "score":
            assert total.tolist() == snapshot["scores"]
        assert abs(total.sum()) < 1e-5 or env.rules.reward == "score"


def test_positions_and_determinize() -> None:
    env, other = TableEnv("toy"), TableEnv("toy")
    env.reset(seed=3)
    for _ in positions(env, Random(1)):
        snapshot = env.snapshot()
        other.reset(seed=8, options={"position": snapshot})
        assert other.snapshot() == snapshot
        for seat, agent in enumerate(env.possible_agents):
            drawn = env.determinize(seat, 1)
            other.reset(seed=8, options={"position": drawn})
            for key, value in env.observe(agent).items():
                assert (other.observe(agent)[key] == value).all()
    with pytest.raises(ValueError, match="position hands: with seen they must hold all twelve cards"):
        other.reset(options={"position": {"hands": [["JS"], [], [], []]}})


def test_illegal_actions() -> None:
    raw = TableEnv("toy")
    raw.reset(seed=1, options={"dealer": 3})
    held = raw.snapshot()["hands"][0]
    other = raw.snapshot()["hands"][1][0]
    with pytest.raises(ValueError, match=rf"\({other}\) of seat 0 is illegal; legal: {', '.join(held)}"):
        raw.step(raw.action_id(other))
    env = CheckedEnv(TableEnv("toy"))
    env.reset(seed=1)
    offender = env.agent_selection
    env.step(12)
    assert env.rewards[offender] == -3
    assert env.snapshot()["finished"]


def test_rendering_without_bids_and_trump() -> None:
    env = TableEnv("toy", render_mode="ansi")
    env.reset(seed=1, options={"dealer": 0})
    drawing = env.render()
    assert drawing is not None
    assert drawing.splitlines()[0] == "toy  round 1, seat 0 dealt, seat 1 to play"
    assert drawing.splitlines()[1].split() == ["seat", "score", "won", "hand"]


def test_padding() -> None:
    sizes = {VectorEnv("toy", 1, num_players=n, pad_seats=True).num_features for n in (3, 4)}
    assert sizes == {toy.layout(4, False).size}
