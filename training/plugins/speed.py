"""How fast MaskablePPO of sb3-contrib learns a game, by the settings of a run of this package."""

from __future__ import annotations

import importlib.util
import time
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from torch import nn

from envs.single import SingleSeatEnv
from training.config import Config
from training.plugins.sb3 import INSTALL


@dataclass(frozen=True)
class Setting:
    """How MaskablePPO is run."""

    environments: int
    """Environments side by side in a DummyVecEnv."""
    steps: int
    """Decisions of each between two updates."""
    batch: int | None
    """Size of its minibatches; None: that of the run."""


USUAL = Setting(8, 256, 64)
"""As its users run it: minibatches and batches of its defaults, the latter shared out among eight environments."""
TUNED = Setting(256, 32, None)
"""As fast as it was found to go. From 128 to 512 environments are equally fast, fewer are slower; processes of their
own (SubprocVecEnv), each step of which waits for all of them, are several times as slow."""


def missing() -> str | None:
    """Why MaskablePPO cannot be measured here, in one line; None where it can."""
    if all(importlib.util.find_spec(name) for name in ("stable_baselines3", "sb3_contrib")):
        return None
    return f"it needs stable-baselines3 and sb3-contrib: {INSTALL}"


def make_model(config: Config, setting: Setting = TUNED) -> Any:
    """A new MaskablePPO with the run's game, network and epochs.

    It plays one seat against random players, which cost next to nothing. Policy and value share one trunk, as here;
    the numbers are float32, the only ones that it knows.

    Args:
        config: settings of the run.
        setting: how many `SingleSeatEnv` step in turn, and in what batches it learns.
    """
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
    from stable_baselines3.common.vec_env import DummyVecEnv

    class Trunk(BaseFeaturesExtractor):  # type: ignore[misc]  # its library has no types here
        """Hidden layers with rectifiers."""

        def __init__(self, space: Any, hidden: list[int]) -> None:
            super().__init__(space, hidden[-1])
            layers = [[nn.Linear(i, o), nn.ReLU()] for i, o in pairwise((space.shape[0], *hidden))]
            self.layers = nn.Sequential(*(module for pair in layers for module in pair))

        def forward(self, observation: torch.Tensor) -> torch.Tensor:
            """(B, H) for observations (B, F)."""
            return self.layers(observation)  # type: ignore[no-any-return]

    make = partial(
        SingleSeatEnv, config.game, opponents="random", flatten=True, pad_seats=config.pad_seats, **config.rules
    )
    network = {
        "features_extractor_class": Trunk,
        "features_extractor_kwargs": {"hidden": config.network.hidden},
        "net_arch": [],
    }
    return MaskablePPO(
        "MlpPolicy", DummyVecEnv([make] * setting.environments), n_steps=setting.steps, n_epochs=config.ppo.epochs,
        batch_size=setting.batch or config.rollout.tables * config.rollout.steps // config.ppo.minibatches,
        gamma=1.0, gae_lambda=config.ppo.gae_lambda, seed=config.seed, device="cpu", policy_kwargs=network,
    )  # fmt: skip


def measure(model: Any, seconds: float, threads: int) -> float:
    """Decisions learnt per second of wall time, playing and learning; forced ones, which it learns too, do not count.

    Args:
        model: from `make_model`; it goes on from where it was.
        seconds: how long to measure; whole updates, at least one.
        threads: processor threads of its operations.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    update = model.n_steps * model.n_envs
    made, started = 0, time.perf_counter()
    try:
        while (elapsed := time.perf_counter() - started) < seconds or not made:
            model.learn(update, reset_num_timesteps=False)
            masks = model.rollout_buffer.action_masks
            made += int((masks.reshape(-1, masks.shape[-1]).sum(axis=1) > 1).sum())
    finally:
        torch.set_num_threads(before)
    return made / elapsed
