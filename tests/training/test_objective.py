"""Rounds by what they change in the chance to win."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_trainer import tiny

from envs.game import find_game
from envs.search.lookahead import action_outcomes, lookahead_memory
from envs.search.policy import policy_memory
from envs.vector import VectorEnv
from training.config import Config, RolloutConfig
from training.objective import WinChances
from training.trainer import Trainer

GAME = find_game("kachuful")


def test_chances_by_scores_and_rounds_left() -> None:
    chances = WinChances(GAME, GAME.make_rules(max_hand=2), 6.0)
    scores = np.array([[10.0, 10, 10, 10], [20, 10, 10, 0], [20, 10, 10, 0], [20, 20, 10, 0], [20, 20, 10, 0]])
    left, nobody = np.array([5, 1, 9, 0, 1]), np.zeros((5, 4), np.bool_)
    found = chances.chances(scores, left, nobody)
    assert np.allclose(found.sum(axis=1), 1)
    assert np.allclose(found[0], 0.25)
    assert found[1, 0] > found[2, 0] > 0.25 > found[2, 3] > found[1, 3]  # a lead is worth more, the fewer rounds follow
    assert found[3].tolist() == [0.5, 0.5, 0, 0]
    assert 0.25 < found[4, 0] < 0.5
    better = WinChances(GAME, GAME.make_rules(max_hand=2), 6.0, edge=2.0)
    assert np.array_equal(better.chances(scores, left, nobody), found)
    favoured = nobody.copy()
    favoured[:, 3] = True
    moved = better.chances(scores, left, favoured)
    assert np.allclose(moved[:3], chances.chances(scores + 2 * left[:, None] * favoured, left, nobody)[:3])
    assert (moved[[0, 1, 2, 4], 3] > found[[0, 1, 2, 4], 3]).all()
    assert moved[3].tolist() == found[3].tolist()  # nothing follows


def test_rewards_add_up_to_what_was_won() -> None:
    rules = {"max_hand": 2, "num_players": 3}
    options = GAME.make_rules(**rules)
    chances = WinChances(GAME, options, 6.0, edge=1.0)
    learner = np.arange(3)[None] == np.arange(64)[:, None] % 3
    env = VectorEnv(GAME, 64, 3, restart=False, skip_forced=True, **rules)
    env.reset()
    total, done = np.zeros((64, 3)), np.zeros(64, np.bool_)
    draw = np.random.default_rng(1)
    batch = env.reset()
    while not done.all():
        before = env.get_state()
        legal = batch.action_mask / np.maximum(batch.action_mask.sum(axis=1, keepdims=True), 1)
        batch = env.step(np.array([draw.choice(len(p), p=p) if p.any() else 0 for p in legal]))
        over = np.flatnonzero(batch.round_over & ~done)
        total[over] += chances.rewards(before[over], batch.rewards[over], learner[over])
        done |= batch.game_over
    scores = env.get_state()["scores"][:, :3]
    won = scores == scores.max(axis=1, keepdims=True)
    first = chances.chances(np.zeros((64, 3)), np.full(64, chances.rounds), learner)
    assert np.allclose(total / chances.worth, won / won.sum(axis=1, keepdims=True) - first, atol=1e-5)


def test_a_run_learns_from_them() -> None:
    config = tiny()
    trainer = Trainer(replace(config, rollout=replace(config.rollout, objective="win")))
    trainer.update()
    (rollout,) = trainer.rollouts
    assert rollout.objective is not None
    assert (rollout.gain != 0).any()
    assert ((rollout.gain != 0).any(axis=2) <= rollout.ended).all()
    assert not np.allclose(rollout.gain, rollout.reward)
    assert np.allclose(rollout.gain.sum(axis=2), 0, atol=1e-4)
    plain = Trainer(config)
    plain.update()
    assert plain.rollouts[0].gain is plain.rollouts[0].reward


def test_looking_ahead_compares_chances() -> None:
    """With objective win, outcomes are the changes of the chance to win that the playouts' margins make."""
    config = tiny()
    ahead = replace(config.rollout, lookahead="rule", opponents={"heuristic": 1.0}, learner_seats=1)
    trainer = Trainer(replace(config, rollout=replace(ahead, objective="win")))
    (rollout,) = trainer.rollouts
    chances, states, turn = rollout.objective, rollout.env.get_state(), rollout.batch.turn.copy()
    assert chances is not None
    kept = rollout.collect(trainer.network, 0.9, 0.1)
    wanted = np.arange(GAME.num_actions) < kept.count[0].numpy()[:, None]
    brought = np.zeros((32, GAME.num_actions, 4), np.float32)
    action_outcomes(
        states, trainer.rules.record(), rollout.tables.players, wanted, len(GAME.rule_players) - 1, policy_memory(),
        lookahead_memory(GAME.state, GAME.num_actions), brought,
    )  # fmt: skip
    for i in range(32):
        count = int(kept.count[0, i])
        learner = np.repeat(rollout.tables.learner[i : i + 1], count, axis=0)
        gains = chances.rewards(np.repeat(states[i : i + 1], count), brought[i, :count], learner)[:, turn[i]]
        assert np.allclose(kept.outcomes[0, i, :count].numpy(), 0.1 * (gains - gains.mean()), atol=1e-5)
    assert (kept.outcomes[0] != 0).any()


def test_a_game_without_scores_has_none() -> None:
    with pytest.raises(ValueError, match="objective=win is not possible: Kaschlan has no rounds and scores"):
        Config(game="kaschlan", rollout=RolloutConfig(objective="win"))
    with pytest.raises(ValueError, match=r"objective=win is not possible with rules\.reward=win"):
        Config(rules={"reward": "win"}, rollout=RolloutConfig(objective="win"))
    with pytest.raises(ValueError, match="partners win together"):
        Config(game="call_break", rules={"partnerships": True}, rollout=RolloutConfig(objective="win"))
    with pytest.raises(ValueError, match="round_spread"):
        RolloutConfig(round_spread=0.0)
