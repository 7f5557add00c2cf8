"""The networks of a run: the policy, and what learns beside it for the trainer alone."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn

from envs.game import Game
from training.checkpoint import start_from
from training.config import Config
from training.forecasts import Forecasting
from training.network import Critic, Forecasts, Inputs, PlayoutCritic, make_policy_network, suit_tables


class Models:
    """Makes the networks that a configuration asks for, on a device.

    Args:
        config: its settings.
        game: the game.
        rules: its option object.
        generator: source of the first weights.
        device: where the networks shall be.

    Raises:
        ValueError: a forecast that the game does not have, or first weights that do not fit.
    """

    def __init__(
        self, config: Config, game: Game, rules: Any, generator: torch.Generator, device: torch.device
    ) -> None:
        seats, wide, network = rules.num_players, config.pad_seats, config.network
        precision = network.precision
        self.policy = make_policy_network(game, seats, wide, network.hidden, network.suits, precision, generator)
        if network.start is not None:
            start_from(self.policy, network.start, game, rules, wide)
        self.forecasting = Forecasting(game, seats, wide, config.auxiliary)
        self.forecasts = (
            Forecasts(network.hidden[self.forecasting.layer], self.forecasting.outputs, precision, generator)
            if self.forecasting.outputs
            else None
        )
        states = suit_tables(game, seats, wide, network.suits, state=True)
        self.critic: Critic | PlayoutCritic | None = None
        if network.critic == "deal":
            size = game.state_layout(seats, wide).size
            self.critic = Critic(size, network.critic_hidden, precision, generator, states)
        elif network.critic == "playout":
            self.critic = PlayoutCritic(network.hidden[-1], precision, generator)
        self.state_inputs = Inputs(self.policy.dtype, states)
        """Prepares whole states as `policy.inputs` does observations."""
        widths = config.rollout.playout_hidden
        self.mimic = (
            make_policy_network(game, seats, wide, widths, network.suits, precision, generator) if widths else None
        )
        """Learns to do as the policy does, and moves the learner's seats in playouts."""
        for module in (self.policy, self.forecasts, self.critic, self.mimic, self.state_inputs):
            if module is not None:
                module.to(device)
        self.average = copy.deepcopy(self.policy).requires_grad_(False) if config.ppo.average > 0 else None
        """A slow average of the policy."""
        together: list[list[nn.Module | None]] = [[self.policy, self.forecasts], [self.critic], [self.mimic]]
        found = [[weights for module in part if module for weights in module.parameters()] for part in together]
        parts = [part for part in found if part]
        self.parameters = [weights for part in parts for weights in part]
        """All that is learnt."""
        self.sizes = [weights.numel() for weights in self.parameters]
        self.part_sizes = [sum(weights.numel() for weights in part) for part in parts]
        """Lengths of the parts of the gradient that are kept short apart: the policy's, the critic's, the mimic's."""

    def companions(self) -> dict[str, nn.Module]:
        """Networks beside the policy, by the names under which a checkpoint keeps them."""
        modules = {
            "critic": self.critic, "forecasts": self.forecasts, "average": self.average, "mimic": self.mimic,
        }  # fmt: skip
        return {name: module for name, module in modules.items() if module is not None}
