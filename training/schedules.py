"""What changes in the course of a run, by the decisions learnt from so far."""

from __future__ import annotations

from typing import Literal

import torch

from envs.game import Game
from training.config import Config


class Schedules:
    """The schedules of a configuration.

    Args:
        config: settings of the run.
        game: its game.
        batch: decisions between two updates, those of all ranks.
    """

    def __init__(self, config: Config, game: Game, batch: int) -> None:
        self.config = config
        self.game = game
        self.batch = batch

    def done(self, decisions: int) -> float:
        """Part of the budget that is spent, 0..1."""
        return min(1.0, decisions / self.config.run.decisions)

    def imitating(self, decisions: int) -> bool:
        """Whether a rule-based player still decides, to be imitated."""
        return decisions < self.config.imitation.decisions

    def step_size(self, decisions: int) -> float:
        """Step size of Adam."""
        ppo, imitation = self.config.ppo, self.config.imitation
        if self.imitating(decisions):
            return imitation.learning_rate * (1 - decisions / imitation.decisions)
        rate = ppo.learning_rate + self.done(decisions) * (ppo.final_learning_rate - ppo.learning_rate)
        return rate * min(1.0, (decisions - imitation.decisions + self.batch) / ppo.warmup) if ppo.warmup else rate

    def entropy(self, decisions: int) -> torch.Tensor:
        """(A,) weight of the entropy by the action chosen."""
        ppo, done = self.config.ppo, self.done(decisions)
        ends = ppo.entropy, ppo.entropy if ppo.final_entropy is None else ppo.final_entropy
        weight = torch.zeros(self.game.num_actions)
        for name, actions in self.game.action_groups.items():
            first, last = (end[name] if isinstance(end, dict) else end for end in ends)
            weight[list(actions)] = first + done * (last - first)
        return weight

    def lookahead(self, decisions: int) -> Literal["off", "rule", "policy"]:
        """Who moves for the learner where actions are played out."""
        rollout = self.config.rollout
        if rollout.lookahead == "policy" and decisions < self.config.imitation.decisions + rollout.rule_playouts:
            return "rule"
        return rollout.lookahead
