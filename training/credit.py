"""How far back from the end of a round a decision's advantage still tells what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from envs.jit import jit_with_memory
from training.ppo import seat_advantages
from training.rollout import Rollout

PARTS = {"last_4": (0, 4), "5_to_12": (4, 12), "13_and_more": (12, 10_000)}
"""Decisions by how many of the same seat follow in its round, from..to (without)."""


@jit_with_memory
def decisions_left(turn: Any, ended: Any, seats: int, left: Any) -> None:
    """Write how many decisions of the same seat follow each in its round, -1 where its end is not seen.

    Args:
        turn: (T, N) seat of the decision at each step and table.
        ended: (T, N) bool, whether a round ended after the decision.
        seats: seats at a table.
        left: (T, N) int32 output.
    """
    following = np.full((turn.shape[1], seats), -1, np.int32)
    for t in range(turn.shape[0] - 1, -1, -1):
        for i in range(turn.shape[1]):
            if ended[t, i]:
                following[i, :] = 0
            seat = turn[t, i]
            left[t, i] = following[i, seat]
            if following[i, seat] >= 0:
                following[i, seat] += 1


def credit(rollouts: Sequence[Rollout], reward_scale: float) -> dict[str, float]:
    """Measures of credit for the last rollouts, by the part of the round.

    Of each part of `PARTS` with decisions whose round has ended:

    - ``explained_variance``: the share of the variance of what a seat then still got that its value had foreseen;
    - ``outcome_correlation``: the correlation of the advantage learnt from with that outcome less the value. It is 1
      for lambda 1, and near 0 where what a decision leads to has faded before it reaches it.

    Args:
        rollouts: after `Rollout.collect`.
        reward_scale: factor from rewards to values, as there.
    """
    columns = []
    for rollout in rollouts:
        kept = rollout.decisions
        left = np.zeros(rollout.turn.shape, np.int32)
        decisions_left(rollout.turn, rollout.ended, rollout.reward.shape[2], left)
        left[~rollout.own] = -1
        surprise, closed = np.zeros(left.shape, np.float32), np.zeros(left.shape, np.bool_)
        reward, value = rollout.gain * np.float32(reward_scale), kept.value.numpy()
        seat_advantages(rollout.turn, value, reward, rollout.ended, 1.0, surprise, closed)
        columns.append([array[left >= 0] for array in (left, surprise, value, kept.advantage.numpy())])
    left, surprise, value, advantage = (np.concatenate(column) for column in zip(*columns, strict=True))
    found = {}
    for name, (low, high) in PARTS.items():
        here = (left >= low) & (left < high)
        spread = np.std(surprise[here]) if here.sum() > 1 else 0.0
        varies = np.var(surprise[here] + value[here]) if spread > 0.0 else 0.0
        if varies == 0.0:
            continue
        found[f"explained_variance/{name}"] = 1 - float(spread**2 / varies)
        if np.std(advantage[here]) > 0:
            correlation = np.corrcoef(advantage[here], surprise[here])[0, 1]
            found[f"outcome_correlation/{name}"] = float(correlation)
    return found
