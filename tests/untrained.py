"""Runs of tiny networks that nobody has trained, as checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from envs.game import find_game
from training.checkpoint import describe, save_checkpoint
from training.config import Config, NetworkConfig
from training.network import make_policy_network

RULES: dict[str, dict[str, Any]] = {
    "kachuful": {"max_hand": 2, "num_players": 3},
    "call_break": {"rounds": 1},
    "kaschlan": {"num_players": 3},
}


def untrained_run(run: Path, game: str, pad_seats: bool = False, hidden: tuple[int, ...] = (16, 8)) -> Path:
    """Write a run of one checkpoint of 5 decisions; returns its folder."""
    found = find_game(game)
    rules = found.make_rules(**RULES[game])
    generator = torch.Generator().manual_seed(0)
    network = make_policy_network(found, rules.num_players, pad_seats, hidden, generator=generator)
    for head in network.heads.parameters():
        torch.nn.init.normal_(head, generator=generator)
    config = Config(game, rules=RULES[game], pad_seats=pad_seats, network=NetworkConfig(list(hidden), "float32"))
    manifest = {
        **describe(found, rules, pad_seats), "decisions": 5, "updates": 1, "seconds": 90.0, "config": config.to_dict()
    }  # fmt: skip
    save_checkpoint(run, network, manifest, {"games": torch.zeros(3)})
    return run
