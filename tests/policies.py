"""Checkpoints of random weights, made in no time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from envs.game import find_game
from training.checkpoint import describe, save_checkpoint
from training.network import make_policy_network


def save_policy(
    folder: Path, game: str = "toy", seed: int = 1, pad_seats: bool = False, hidden: Sequence[int] = (16,), **rules: Any
) -> str:
    """A policy of random weights that has clear preferences; returns its path."""
    found = find_game(game)
    options = found.make_rules(**rules)
    generator = torch.Generator().manual_seed(seed)
    network = make_policy_network(found, options.num_players, pad_seats, hidden, generator=generator)
    for head in network.heads.values():
        torch.nn.init.normal_(head.weight, generator=generator)
    save_checkpoint(folder, network, {**describe(found, options, pad_seats), "decisions": 1}, {})
    return str(folder)
