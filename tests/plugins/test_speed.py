"""MaskablePPO by the settings of a run: what is compared is alike. No test looks at a time."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from training.config import Config, NetworkConfig, PPOConfig, RolloutConfig, RunConfig
from training.plugins import speed
from training.trainer import Trainer

pytest.importorskip("sb3_contrib", reason="needs stable-baselines3 and sb3-contrib: pip install 'taash[plugins]'")

CONFIG = Config(
    rules={"max_hand": 2, "num_players": 3},
    network=NetworkConfig([16, 8], "float32"),
    rollout=RolloutConfig(tables=8, steps=8, scatter=0),
    ppo=PPOConfig(minibatches=2, epochs=2),
    run=RunConfig(threads=1),
)


def shapes(module: nn.Module) -> list[tuple[int, ...]]:
    return [tuple(parameter.shape) for parameter in module.parameters() if parameter.ndim == 2]


def test_the_network_and_the_batches_are_those_of_the_run() -> None:
    model = speed.make_model(CONFIG, speed.Setting(4, 16, None))
    network = Trainer(CONFIG).network
    assert sum(map(torch.numel, model.policy.parameters())) == sum(map(torch.numel, network.parameters()))
    assert shapes(model.policy)[:2] == shapes(network)[:2]
    assert {type(layer) for layer in model.policy.features_extractor.layers} == {nn.Linear, nn.ReLU}
    assert model.policy.pi_features_extractor is model.policy.vf_features_extractor
    assert {parameter.dtype for parameter in model.policy.parameters()} == {torch.float32}
    assert (model.batch_size, model.n_epochs, model.n_envs) == (32, 2, 4)
    usual = speed.make_model(CONFIG, speed.USUAL)
    assert (usual.batch_size, usual.n_epochs, usual.n_envs, usual.n_steps) == (64, 2, 8, 256)


def test_it_learns_on_the_threads_given() -> None:
    model = speed.make_model(CONFIG, speed.Setting(4, 16, None))
    before = torch.get_num_threads()
    weights = [parameter.clone() for parameter in model.policy.parameters()]
    assert speed.measure(model, 0.0, 1) > 0
    assert model.num_timesteps == 64
    masks = model.rollout_buffer.action_masks.reshape(-1, 89)
    assert 0 < (masks.sum(axis=1) > 1).mean() < 1  # forced moves are there, and do not count
    speed.measure(model, 0.0, 1)
    assert model.num_timesteps == 128
    assert torch.get_num_threads() == before
    assert any(not torch.equal(old, new) for old, new in zip(weights, model.policy.parameters(), strict=True))
    assert speed.missing() is None
