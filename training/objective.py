"""What a round is worth to a seat that wants to win the game: the change of its chance to."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from envs.game import Game

LOGISTIC = sqrt(6) / np.pi
"""Scale of the extreme-value noise that makes a softmax of scores, in standard deviations of a score."""

TIE = 0.01
"""Points by which equal scores may differ after rewards of float32 have been added up; scores are tenths at least."""


def check_winnable(rules: Any, option: str, title: str = "the game") -> None:
    """Raise ValueError, naming the option that asks for it, where no chance to win can be told from scores.

    That is where there are none, where rewards are not margins over all others, or where partners share them.
    """
    if "rounds" not in (rules.record().dtype.names or ()):
        raise ValueError(f"option {option} is not possible: {title} has no rounds and scores")
    if getattr(rules, "reward", "margin") != "margin":
        raise ValueError(f"option {option} is not possible with rules.reward={rules.reward}")
    if getattr(rules, "partnerships", False):
        raise ValueError(f"option {option} is not possible with rules.partnerships: partners win together")


class WinChances:
    """Chances to win by the scores and the rounds left, as if each seat still got independent points in every round.

    With noise of extreme-value distribution on the scores the chance of the highest is a softmax of them (the model of
    R. D. Luce, Individual Choice Behavior, 1959); its scale grows with the root of the number of rounds left. Seats
    that play better than the others are ahead by their edge in every round left: without it their chances are taken
    for lower than they are, and those who are likely to lose gain by risks.

    Args:
        game: a game of scores.
        rules: its option object.
        spread: standard deviation of a seat's points in a round.
        edge: points by which the learner's seats are expected to gain on the others in a round.

    Raises:
        ValueError: see `check_winnable`.
    """

    def __init__(self, game: Game, rules: Any, spread: float, edge: float = 0.0) -> None:
        check_winnable(rules, "rollout.objective=win", game.title)
        assert game.points is not None  # what has rounds has scores
        self.points = game.points
        self.rounds = int(rules.record()["rounds"][0])
        self.seats = int(rules.num_players)
        self.scale = LOGISTIC * spread
        self.edge = edge
        even = 1 / self.seats
        self.worth = self.scale * sqrt(max(1.0, self.rounds / 2)) / (even * (1 - even))
        """Points that are worth a certain win, at even scores in the middle of a game."""

    def chances(self, scores: np.ndarray, left: np.ndarray, learner: np.ndarray) -> np.ndarray:
        """Chance of each seat, (B, seats); ties share a win.

        Args:
            scores: (B, seats) in points.
            left: (B,) rounds that follow.
            learner: (B, seats) bool, seats that have the edge.
        """
        expected = scores + self.edge * left[:, None] * learner
        lead = expected - expected.max(axis=1, keepdims=True)
        exponent = np.where(left[:, None] > 0, lead / (self.scale * np.sqrt(np.maximum(left, 1)))[:, None], 0.0)
        weight = np.where(left[:, None] > 0, np.exp(exponent), lead > -TIE)
        return weight / weight.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]

    def rewards(self, states: np.ndarray, margins: np.ndarray, learner: np.ndarray) -> np.ndarray:
        """What a round brought each seat, in points by `worth`, (B, seats) float32.

        Args:
            states: (B,) records from before the step that ended the round.
            margins: (B, seats) its rewards: the points of each seat less the mean of the others'.
            learner: (B, seats) bool, seats that have the edge.
        """
        before = states["scores"][:, : self.seats] / self.points
        # Margins tell gains but for what all have in common, which no chance depends on.
        after = before + margins * (self.seats - 1) / self.seats
        left = np.maximum(self.rounds - states["round"], 0)
        change = self.chances(after, np.maximum(left - 1, 0), learner) - self.chances(before, left, learner)
        return (self.worth * change).astype(np.float32)  # type: ignore[no-any-return]
