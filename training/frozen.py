"""Policies that do not learn, in the other seats of the learner's tables: checkpoints, and what the learner was."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from envs.game import Game
from training.agents import PolicyAgent, load_agent
from training.checkpoint import POLICY, CheckpointError, describe, find_checkpoint, read_manifest
from training.network import PolicyNetwork, make_policy_network
from training.opponents import SNAPSHOT, policy_names

CERTAIN = 1e4
"""Logit of a greedy policy's action; all others have 0, which leaves them no chance in float32."""


@dataclass(frozen=True)
class Frozen:
    """A policy that holds other seats than the learner's."""

    name: str
    """As the shares name it."""
    network: PolicyNetwork
    greedy: bool
    """Always take the likeliest action; otherwise sample."""
    digest: str = ""
    """Digest of its weights, as its manifest gives it."""

    @torch.inference_mode()
    def logits(self, observation: torch.Tensor, action_mask: np.ndarray) -> np.ndarray:
        """(B, A) float32 logits to draw from, for observations (B, F) and masks (B, A) bool."""
        logits: np.ndarray = self.network(observation)[0].cpu().numpy()
        if not self.greedy:
            return logits
        best = np.where(action_mask, logits, -np.inf).argmax(axis=1)
        certain = np.zeros_like(logits)
        certain[np.arange(len(best)), best] = CERTAIN
        return certain


class Snapshots:
    """Former policies of the learner, the oldest giving way to the newest.

    Args:
        network: the learner; all begin as it now is.
        count: how many are kept.
        every: decisions from one to the next.
    """

    def __init__(self, network: PolicyNetwork, count: int, every: int) -> None:
        self.every = every
        self.taken = 0
        """Snapshots taken since the beginning."""
        self.policies = [
            Frozen(SNAPSHOT, copy.deepcopy(network).eval().requires_grad_(False), greedy=False) for _ in range(count)
        ]

    def keep(self, network: PolicyNetwork, decisions: int) -> None:
        """Take a snapshot of the learner where one is due."""
        if decisions // self.every > self.taken:
            self.policies[self.taken % len(self.policies)].network.load_state_dict(network.state_dict())
            self.taken = decisions // self.every

    def state(self) -> dict[str, torch.Tensor]:
        """All that `restore` needs."""
        found = {"taken": torch.tensor(self.taken)}
        for k, policy in enumerate(self.policies):
            found |= {f"{k}.{name}": tensor for name, tensor in policy.network.state_dict().items()}
        return found

    def restore(self, state: Mapping[str, torch.Tensor]) -> None:
        """Go on where others of the same count were; KeyError or RuntimeError if they do not fit."""
        self.taken = int(state["taken"])
        for k, policy in enumerate(self.policies):
            policy.network.load_state_dict({name: state[f"{k}.{name}"] for name in policy.network.state_dict()})


def load_frozen(
    shares: Mapping[str, float], game: Game, rules: Any, pad_seats: bool, precision: str = "float32"
) -> list[Frozen]:
    """Load the policies that shares of tables name, in their order (see `training.opponents.policy_names`).

    Args:
        shares: weights by name.
        game: the game.
        rules: the option object of the learner's tables.
        pad_seats: whether the tables' observations are laid out for the largest table.
        precision: of their matrix products (see `PolicyNetwork`).

    Raises:
        ValueError: a policy that is missing, damaged (`CheckpointError`) or made for another game, number of seats or
            layout.
    """
    found = []
    for name in policy_names(shares, game):
        agent = load_agent(name, game)
        if not isinstance(agent, PolicyAgent):
            raise ValueError(f"opponents: {name!r} is not the path of a checkpoint")
        agent.check_rules(rules)
        folder = find_checkpoint(agent.name.removesuffix(":sampled"))
        entries = read_manifest(folder)
        if agent.policy.pad_seats != pad_seats:
            raise CheckpointError(f"opponent {name} needs pad_seats={agent.policy.pad_seats}, as it was trained with")
        if entries["features"] != describe(game, rules, pad_seats)["features"]:
            raise CheckpointError(f"opponent {name} sees other features than the learner's tables have")
        kind = agent.policy.network
        network = make_policy_network(game, rules.num_players, pad_seats, kind.hidden, kind.suits, precision)
        network.load_state_dict(agent.policy.network.state_dict())
        found.append(Frozen(name, network.eval().to(network.dtype), agent.greedy, entries["parts"][POLICY]))
    return found
