"""How fast training is."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from envs.vector import VectorEnv
from training.config import Config
from training.trainer import Trainer


def measure(config: Config, seconds: float) -> dict[str, Any]:
    """Train for some seconds, after a warm-up, and say how fast.

    Args:
        config: settings of the run; nothing is written.
        seconds: how long to measure; whole updates, at least one.

    Returns:
        ``decisions_per_second``: every move made at the tables, forced ones and those of built-in players included;
        ``choices_per_second``: those that the network decided; ``moves_per_choice``: the ratio, counted at the start;
        ``flops``: useful floating-point operations of the networks' linear layers per second (two for a multiplication
        and its addition): forward while playing, forward and backward while learning, no gradient of the input;
        ``learning_share``: part of the time spent learning; ``games_share``: part of it spent on the games, on drawing
        actions and on advantages, which is all of playing but the network.
    """
    trainer = Trainer(config)
    ratio = _moves_per_choice(trainer)
    trainer.update()
    choices, learning, games = 0, 0.0, 0.0
    started = time.perf_counter()
    while (elapsed := time.perf_counter() - started) < seconds or not choices:
        before = time.perf_counter()
        curves = trainer.update()
        choices += sum(rollout.choices() for rollout in trainer.rollouts)
        spent = time.perf_counter() - before
        learning += curves["charts/learning_share"] * spent
        games += curves["charts/games_share"] * spent
    forward, both = flops(trainer)
    return {
        "decisions_per_second": ratio * choices / elapsed,
        "choices_per_second": choices / elapsed,
        "moves_per_choice": ratio,
        "flops": (forward + config.ppo.epochs * both) * choices / elapsed,
        "learning_share": learning / elapsed,
        "games_share": games / elapsed,
    }


def flops(trainer: Trainer) -> tuple[int, int]:
    """Operations of all networks' matrix products for one decision: while playing, and in one pass of learning."""
    learning = [module.flops() for module in (trainer.network, trainer.critic, trainer.forecasts) if module is not None]
    playing = trainer.network.flops()[0] + (trainer.critic.flops()[0] if trainer.critic is not None else 0)
    averaged = trainer.average.flops()[0] if trainer.average is not None else 0
    return playing, sum(both for _, both in learning) + averaged


def _moves_per_choice(trainer: Trainer) -> float:
    """Moves made at the tables for each choice of the network, counted in one rollout.

    The forced moves that end a game are left out: its record has already gone to the next.
    """
    moves = choices = 0
    for rollout in trainer.rollouts:
        step = rollout.env.step

        def counted(actions: np.ndarray, step: Any = step, env: VectorEnv = rollout.env) -> Any:
            nonlocal moves
            before = env.get_state()
            batch = step(actions)
            after = env.get_state()
            same = before["game"] == after["game"]
            moves += int(np.where(same, after["moves"] - before["moves"], 1 + after["moves"]).sum())
            return batch

        rollout.env.step = counted  # type: ignore[method-assign]
        rollout.collect(trainer.network, 1.0, 1.0, trainer.critic)
        choices += rollout.choices()
        del rollout.env.step  # type: ignore[method-assign]
    return moves / choices
