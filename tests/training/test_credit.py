"""Credit: which part of a round a decision lies in, and whether its advantage tells what came of it."""

from __future__ import annotations

import numpy as np
import pytest
import toy  # noqa: F401 - registers the game

from training.config import Config
from training.credit import credit, decisions_left
from training.trainer import Trainer


def test_decisions_left() -> None:
    turn = np.array([[0], [1], [0], [0], [1], [1]], np.int8)
    ended = np.array([[False], [False], [False], [True], [False], [False]])
    left = np.zeros((6, 1), np.int32)
    decisions_left(turn, ended, 2, left)
    assert left[:, 0].tolist() == [2, 0, 1, 0, -1, -1]


@pytest.mark.parametrize(("discount", "correlation"), [(1.0, 1.0), (0.0, None)])
def test_lambda_decides_how_far_credit_reaches(discount: float, correlation: float | None) -> None:
    config = Config(game="toy")
    trainer = Trainer(config)
    for rollout in trainer.rollouts:
        rollout.collect(trainer.network, discount, 0.1)
    found = credit(trainer.rollouts, 0.1)
    assert set(found) == {"explained_variance/last_4", "outcome_correlation/last_4"}
    reached = found["outcome_correlation/last_4"]
    assert reached == pytest.approx(1.0) if correlation else reached < 0.9


def test_curves_of_a_run_have_them() -> None:
    curves = Trainer(Config(game="toy")).update()
    assert "credit/explained_variance/last_4" in curves
