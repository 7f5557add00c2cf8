"""Frozen policies in the other seats of the learner's tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import toy
from policies import save_policy

from envs.game import find_game
from envs.vector import VectorEnv
from training.checkpoint import CheckpointError, load_policy
from training.config import Config, ConfigError, NetworkConfig, PPOConfig, RolloutConfig, RunConfig, read_config
from training.frozen import load_frozen
from training.network import PolicyNetwork
from training.opponents import check_shares, policy_names, seat_tables
from training.rollout import Rollout, outcomes
from training.speed import measure
from training.trainer import Trainer

KACHUFUL = find_game("kachuful")


def tiny(shares: dict[str, float], threads: int = 1, game: str = "toy", **rules: Any) -> Config:
    return Config(
        game=game,
        rules=rules,
        network=NetworkConfig([32], "float32"),
        rollout=RolloutConfig(tables=32, steps=16, opponents=shares, learner_seats=1, scatter=8),
        ppo=PPOConfig(minibatches=4),
        run=RunConfig(decisions=10**6, threads=threads),
    )


def weights(trainer: Trainer) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in trainer.network.parameters()])


def test_tables_of_policies(tmp_path: Path) -> None:
    path = save_policy(tmp_path / "p")
    shares = {path: 2.0, "self": 1.0, f"{path}:sampled": 0.0, "lowest": 1.0}
    check_shares(shares, toy.GAME)
    assert policy_names(shares, toy.GAME) == (path,)
    tables = seat_tables(toy.GAME, 4, 40, shares, 2, 0)
    assert tables.kinds == ("self", "lowest", path)
    assert np.bincount(tables.kind).tolist() == [10, 10, 20]
    held = tables.learner.sum(axis=1)
    assert (held[tables.kind == 0] == 4).all()
    assert set(held[tables.kind == 2].tolist()) == {1, 2}
    assert (tables.players[tables.kind != 1] == -1).all()  # the environment asks for policies as for the learner
    assert ((tables.players == -1) == tables.learner)[tables.kind == 1].all()


@pytest.mark.parametrize("sampled", [False, True])
def test_they_play_as_at_any_table_and_are_not_learnt_from(tmp_path: Path, sampled: bool) -> None:
    path = save_policy(tmp_path / "p") + (":sampled" if sampled else "")
    tables = seat_tables(toy.GAME, 4, 24, {"self": 1, path: 2}, 2, 0)
    rules = toy.GAME.make_rules()
    frozen = load_frozen({path: 1}, toy.GAME, rules, False)
    env = VectorEnv("toy", 24, 7, statistics=True, players=tables.players, skip_forced=True)
    net = PolicyNetwork(env.num_features, toy.GAME.action_groups, [32], generator=torch.Generator().manual_seed(1))
    torch.nn.init.normal_(net.value.weight)
    rollout = Rollout(env, tables, 30, 9, torch.Generator().manual_seed(0), frozen)
    kept = rollout.collect(net, 0.9)
    own = np.take_along_axis(np.broadcast_to(tables.learner, (30, *tables.learner.shape)), rollout.turn[..., None], 2)
    own = own[..., 0]
    assert np.array_equal(rollout.own, own)
    assert rollout.choices() == own.sum() < own.size
    assert rollout.rows(torch.tensor([2, 0])).tolist() == np.flatnonzero(np.stack([own[2], own[0]])).tolist()  # type: ignore[union-attr]
    assert not kept.closed.numpy()[~own].any()
    assert not kept.advantage.numpy()[~own].any()
    assert not kept.value.numpy()[~own].any()
    assert kept.closed.numpy()[own].mean() > 0.5
    with torch.inference_mode():
        assert torch.allclose(net(kept.observation.flatten(0, 1))[1].view(30, 24)[own], kept.value[own], atol=1e-5)
    mask = np.zeros((30, 24, toy.GAME.num_actions), np.bool_)
    for t, i in np.ndindex(30, 24):
        mask[t, i, kept.legal[t, i, : kept.count[t, i]].numpy()] = True
    wanted = load_policy(tmp_path / "p").act(kept.observation.numpy()[~own], mask[~own])
    same = (wanted == kept.action.numpy()[~own]).mean()
    assert same < 1 if sampled else same == 1
    assert set(outcomes([rollout])) == {"self", path}


def test_a_seat_gets_the_advantages_that_it_has_without_the_others(tmp_path: Path) -> None:
    """Each decision's advantage comes from the values and rewards of its own seat alone."""
    path = save_policy(tmp_path / "p")
    trainer = Trainer(tiny({path: 1}))
    (rollout,) = trainer.rollouts
    kept = rollout.collect(trainer.network, 1.0)
    for i in range(32):
        (seat,) = np.flatnonzero(rollout.tables.learner[i])
        gain, known = 0.0, False
        for t in range(15, -1, -1):
            if rollout.ended[t, i]:
                gain, known = float(rollout.reward[t, i, seat]), True
            if rollout.turn[t, i] != seat:
                continue
            assert bool(kept.closed[t, i]) == known
            if known:
                assert float(kept.advantage[t, i]) == pytest.approx(gain - float(kept.value[t, i]), abs=1e-4)
            else:
                gain, known = float(kept.value[t, i]), True  # an open round lends its last value


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("mode", ["", ":sampled"])
def test_runs_repeat_and_resume_exactly(tmp_path: Path, threads: int, mode: str) -> None:
    path = save_policy(tmp_path / "p") + mode
    config = tiny({"self": 1, "random": 1, path: 2}, threads)
    straight, stopped = Trainer(config), Trainer(config)
    for _ in range(4):
        assert all(np.isfinite(value) for value in straight.update().values())
    for _ in range(2):
        stopped.update()
    stopped.save(tmp_path / "run")
    resumed = Trainer(config)
    resumed.resume(tmp_path / "run")
    for _ in range(2):
        resumed.update()
    assert torch.equal(weights(straight), weights(resumed))
    assert straight.decisions == resumed.decisions < 4 * 16 * 32


def test_only_the_learner_decides_what_is_counted(tmp_path: Path) -> None:
    trainer = Trainer(tiny({save_policy(tmp_path / "p"): 1}))
    curves = trainer.update()
    assert trainer.decisions == trainer.rollouts[0].choices() < 0.5 * 16 * 32
    assert {"credit/explained_variance/last_4", f"charts/round_reward/{tmp_path / 'p'}"} <= set(curves)
    assert 1 <= measure(tiny({str(tmp_path / "p"): 1}), 0.01)["moves_per_choice"] < 30


def test_a_table_without_a_decision_of_the_learner(tmp_path: Path) -> None:
    """Minibatches may hold no decision of the learner at all."""
    config = tiny({save_policy(tmp_path / "p"): 1})
    config = replace(config, rollout=replace(config.rollout, tables=1), ppo=PPOConfig(minibatches=16))
    trainer = Trainer(config)
    for _ in range(3):
        trainer.update()
    assert bool(weights(trainer).isfinite().all())


def test_an_opponent_that_has_changed_is_not_resumed_against(tmp_path: Path) -> None:
    path = save_policy(tmp_path / "p")
    Trainer(tiny({path: 1})).save(tmp_path / "run")
    Trainer(tiny({path: 1})).resume(tmp_path / "run")
    save_policy(tmp_path / "p", seed=2)
    with pytest.raises(CheckpointError, match="is another policy by now"):
        Trainer(tiny({path: 1})).resume(tmp_path / "run")


def test_wrong_opponents_take_one_line(tmp_path: Path) -> None:
    three = save_policy(tmp_path / "three", num_players=3)
    padded = save_policy(tmp_path / "padded", pad_seats=True)
    with pytest.raises(ValueError, match="plays Toy, not Kachuful"):
        Trainer(tiny({three: 1}, game="kachuful", max_hand=2))
    with pytest.raises(ValueError, match="plays with 3 players only, not with 4"):
        Trainer(tiny({three: 1}))
    with pytest.raises(ValueError, match="needs pad_seats=True"):
        Trainer(tiny({padded: 1}))
    with pytest.raises(ValueError, match="no agent"):
        Trainer(tiny({str(tmp_path / "missing"): 1}))
    (tmp_path / "bad.yaml").write_text("rollout: {opponents: {clever: 1}}")
    with pytest.raises(ConfigError, match=r"no player 'clever'.* or give the path of a checkpoint"):
        read_config(tmp_path / "bad.yaml")
    (tmp_path / "good.yaml").write_text(f"game: toy\nrollout: {{opponents: {{self: 1, {padded}: 1}}}}")
    assert read_config(tmp_path / "good.yaml").rollout.opponents == {"self": 1.0, padded: 1.0}
