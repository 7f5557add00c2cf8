"""Training runs, tiny ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import toy
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from envs.loops import find_places
from envs.vector import VectorEnv
from training.checkpoint import CheckpointError, Policy, list_checkpoints, load_policy
from training.config import Config, NetworkConfig, PPOConfig, RolloutConfig, RunConfig
from training.speed import measure
from training.trainer import Trainer


def tiny(game: str = "kachuful", seed: int = 0, threads: int = 1, **rules: Any) -> Config:
    opponents = {"self": 2.0, "random": 1.0, ("lowest" if game == "toy" else "counting"): 1.0}
    return Config(
        game=game,
        seed=seed,
        rules=rules or ({} if game == "toy" else {"max_hand": 2}),
        network=NetworkConfig([32], "float32"),
        rollout=RolloutConfig(tables=32, steps=16, opponents=opponents, scatter=30),
        ppo=PPOConfig(minibatches=4),
        run=RunConfig(decisions=32 * 16 * 4, threads=threads),
    )


def weights(trainer: Trainer) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in trainer.network.parameters()])


def win_share(policy: Policy, opponent: str, games: int) -> float:
    """Share of games won by one seat of the policy, shared by winners."""
    env = VectorEnv(policy.game, games, 1, skip_forced=True, restart=False, **policy.rules)
    seats = env.num_players
    players = np.full((games, seats), env.player_code(opponent), np.int8)
    own = np.arange(games) % seats
    players[np.arange(games), own] = -1
    env.set_players(players)
    batch = env.reset()
    while (playing := batch.turn >= 0).any():
        actions = np.zeros(games, np.int64)
        actions[playing] = policy.act(batch.observation[playing], batch.action_mask[playing])
        batch = env.step(actions)
    places = np.zeros((games, seats), np.int64)
    find_places(env.get_state(), env.rules.record(), places)
    top = places == 1
    return float((top / top.sum(axis=1, keepdims=True))[np.arange(games), own].mean())


def test_the_same_seed_gives_the_same_weights() -> None:
    trainers = [Trainer(tiny(seed=seed)) for seed in (0, 0, 1)]
    for trainer in trainers:
        for _ in range(3):
            trainer.update()
    first, same, other = map(weights, trainers)
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


def test_two_threads_share_the_tables() -> None:
    trainers = [Trainer(tiny(threads=2)) for _ in range(2)]
    curves = [trainer.update() for trainer in trainers for _ in range(2)]
    assert [rollout.env.num_envs for rollout in trainers[0].rollouts] == [16, 16]
    assert torch.equal(weights(trainers[0]), weights(trainers[1]))
    assert all(np.isfinite(value) for values in curves for value in values.values())


def check_threads_add_up(halved: Trainer, alone: Trainer) -> None:
    """The gradient of the loss over all tables must be the same, however the tables are shared out.

    Args:
        halved: a trainer of two threads.
        alone: one of the same settings and a single thread.
    """
    halves, (whole,) = halved.rollouts, alone.rollouts
    for rollout in halves:
        rollout.collect(halved.network, 0.9, 0.1, halved.critic)
    times, scale = torch.arange(4), (torch.tensor(0.1), torch.tensor(2.0), torch.ones(len(halved.groups)))
    total = sum(int(rollout.decisions.closed[times].sum()) for rollout in halves)
    parts = [halved._gradient(rollout, times, scale, total)[0] for rollout in halves]
    whole.own[:] = np.concatenate([rollout.own for rollout in halves], axis=1)
    for name in vars(whole.decisions):
        joined = torch.cat([getattr(rollout.decisions, name) for rollout in halves], dim=1)
        getattr(whole.decisions, name).copy_(joined)
    joint = halved._gradient(whole, times, scale, total)[0]
    idle = set(halved.mimic.value.parameters()) if halved.mimic is not None else set()
    for parameter, part in zip(halved.parameters, joint.split(halved.models.sizes), strict=True):
        assert (part.abs().max() > 0) == (parameter not in idle)
    assert torch.allclose(joint, parts[0] + parts[1], atol=1e-6)


def test_threads_add_up_to_one_gradient() -> None:
    check_threads_add_up(Trainer(tiny(threads=2)), Trainer(tiny()))


def test_resume_goes_on_exactly(tmp_path: Path) -> None:
    straight, stopped = Trainer(tiny()), Trainer(tiny())
    for _ in range(4):
        straight.update()
    for _ in range(2):
        stopped.update()
    stopped.save(tmp_path)
    resumed = Trainer(tiny())
    resumed.resume(tmp_path)
    assert resumed.decisions == stopped.decisions
    for _ in range(2):
        resumed.update()
    assert torch.equal(weights(straight), weights(resumed))
    assert straight.decisions == resumed.decisions


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (tiny("toy"), "its game differ"),
        (tiny(max_hand=3), "its rules differ"),
        (replace(tiny(), network=NetworkConfig([16])), "does not fit the network"),
        (
            replace(tiny(), rollout=RolloutConfig(tables=8, steps=16)),
            "cannot be resumed with these settings: 32 tables",
        ),
        (replace(tiny(), run=RunConfig(threads=2)), "cannot be resumed with these settings"),
    ],
)
def test_resume_refuses_other_runs(tmp_path: Path, config: Config, text: str) -> None:
    Trainer(tiny()).save(tmp_path)
    with pytest.raises(CheckpointError, match=text):
        Trainer(config).resume(tmp_path)


def test_train_writes_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = replace(tiny(), run=RunConfig(decisions=3 * 512, threads=1, checkpoint_minutes=1e-9, keep_minutes=60))
    trainer = Trainer(config)
    assert trainer.train(tmp_path / "run")
    assert trainer.decisions == 3 * 512
    assert trainer.is_finished()
    assert [int(folder.name) for folder in list_checkpoints(tmp_path / "run")] == [3 * 512]
    assert torch.equal(
        torch.cat([p.flatten() for p in load_policy(tmp_path / "run").network.parameters()]), weights(trainer)
    )
    assert "/0.0 M decisions" in capsys.readouterr().err
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    events.Reload()
    names = events.Tags()["scalars"]
    for name in (
        *("charts/SPS", "charts/learning_rate", "charts/round_reward/self", "charts/round_reward/counting"),
        *("losses/policy_loss", "losses/value_loss", "losses/entropy/bid", "losses/entropy/card", "losses/approx_kl"),
        *("losses/clipfrac", "losses/explained_variance", "rounds/self/exact", "rounds/random/points"),
    ):
        assert name in names
    assert [event.step for event in events.Scalars("charts/SPS")] == [512, 1024, 1536]
    rates = [event.value for event in events.Scalars("charts/learning_rate")]
    first, last = config.ppo.learning_rate, config.ppo.final_learning_rate
    assert rates == pytest.approx([first + k / 3 * (last - first) for k in range(3)])


def test_the_time_limit_ends_a_run() -> None:
    trainer = Trainer(replace(tiny(), run=RunConfig(decisions=10**9, minutes=1e-9, threads=1)))
    assert trainer.train(quiet=True)
    assert trainer.updates == 1


@pytest.mark.parametrize(
    ("game", "rules", "scale"),
    [
        ("kachuful", {"max_hand": 2, "num_players": 3}, 0.1),
        ("toy", {}, 1.0),  # no bids at all
        ("toy", {"rounds": 1, "reward": "margin"}, 1.0),  # a single reward, at the end of the game
        ("kaschlan", {"num_players": 2}, 1.0),  # the same, and nothing is scored
    ],
)
def test_training_beats_random(tmp_path: Path, game: str, rules: dict[str, Any], scale: float) -> None:
    """A few seconds are enough to win clearly more than a share of one seat."""
    updates = 60
    config = Config(
        game=game,
        rules=rules,
        network=NetworkConfig([64], "float32"),
        rollout=RolloutConfig(tables=128, steps=32, opponents={"self": 1, "random": 1}, scatter=30),
        ppo=PPOConfig(learning_rate=3e-3, minibatches=4, entropy=0.01, reward_scale=scale),
        run=RunConfig(decisions=updates * 128 * 32, threads=1),
    )
    trainer = Trainer(config)
    first = trainer.update()
    assert all(np.isfinite(value) for value in first.values())
    trainer.train(tmp_path / "run", quiet=True)
    policy = load_policy(tmp_path / "run")
    par = 1 / policy.rules["num_players"]
    assert win_share(policy, "random", 3000) > par + 0.05
    last = trainer.update()
    assert last["losses/value_loss"] < first["losses/value_loss"]
    assert {f"rounds/random/{name}" for name in trainer.game.statistics} <= set(last)


def test_measure() -> None:
    found = measure(tiny(), 0.05)
    assert 1 <= found["moves_per_choice"] < 10
    assert found["decisions_per_second"] == pytest.approx(found["moves_per_choice"] * found["choices_per_second"])
    forward, both = Trainer(tiny()).network.flops()
    assert found["flops"] == pytest.approx((forward + both) * found["choices_per_second"])
    assert 0 < found["games_share"] < 1 - found["learning_share"] < 1


def test_other_users_of_torch_keep_their_threads() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        Trainer(tiny()).update()
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_toy_has_no_bids() -> None:
    assert list(toy.GAME.action_groups) == ["card"]
    assert "losses/entropy/card" in Trainer(tiny("toy")).update()
