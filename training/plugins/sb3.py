"""Models of Stable-Baselines3 at the table: what MaskablePPO of sb3-contrib has learnt on `envs.single.SingleSeatEnv`.

``sb3:model.zip`` is the spec (see `training.agents`). A model file can run code when it is loaded: load only what you
trust.
"""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from envs.agents import Decisions
from envs.game import Game
from training.agents import draw, enough_rows

INSTALL = "pip install 'taash[plugins]'"


@dataclass(frozen=True)
class MaskableAgent:
    """A MaskablePPO model in a seat; it sees what it saw while learning, flat or as a dict, padded or not."""

    name: str
    """Its spec."""
    model: Any
    """The ``MaskablePPO``."""
    game: Game
    greedy: bool = True
    """Always take the likeliest action; otherwise sample, from each decision's own key."""
    digest: str = ""
    """SHA-256 of the model's file."""

    def act(self, decisions: Decisions) -> np.ndarray:
        """(B,) int64 legal actions."""
        chances = self.probabilities(decisions)
        if self.greedy:
            return chances.argmax(axis=1)
        with np.errstate(divide="ignore"):
            return draw(np.log(chances), decisions)

    def probabilities(self, decisions: Decisions) -> np.ndarray:
        """(B, A) float32: the model's probability of each action, 0 where it is illegal."""
        import torch

        mask = decisions.action_mask
        seats = decisions.rules.num_players
        observation = decisions.observation(self._pads(seats)).astype(np.float32)
        rows = enough_rows(len(decisions))
        seen: Any = observation[rows]
        if self._dict():
            seen = {"observation": observation[rows], "action_mask": mask[rows].astype(np.int8)}
        policy = self.model.policy
        policy.set_training_mode(False)
        with torch.inference_mode():
            chances = policy.get_distribution(policy.obs_to_tensor(seen)[0], mask[rows]).distribution.probs
        # Masked logits are very low, but not infinite.
        found: np.ndarray = np.where(mask, chances[: len(decisions)].numpy(), 0.0)
        return found

    def check_rules(self, rules: Any) -> None:
        """Raise ValueError where the model was made for another number of seats."""
        self._pads(rules.num_players)

    def _dict(self) -> bool:
        return hasattr(self.model.observation_space, "spaces")

    def _size(self) -> int:
        """Number of features that the model was made for; 0 where its observations are none of ours."""
        space = self.model.observation_space
        if self._dict():
            space = space.spaces["observation"] if set(space.spaces) == {"observation", "action_mask"} else None
        shape = getattr(space, "shape", None)
        return int(shape[0]) if shape is not None and len(shape) == 1 else 0

    def _pads(self, seats: int) -> bool:
        """Whether the model sees observations laid out for the largest table."""
        for pads in (False, True):
            if self.game.layout(seats, pads).size == self._size():
                return pads
        raise ValueError(
            f"{self.name} was not made for {self.game.title} with {seats} players: it has {self._size()} features"
        )


def load_model(path: str, greedy: bool, game: Game) -> MaskableAgent:
    """Load a model that ``MaskablePPO.save`` has written.

    Args:
        path: its file; ``.zip`` may be left out, as in ``save``.
        greedy: whether it takes its likeliest action or samples.
        game: the game to be played.

    Raises:
        ValueError: in one line, no such file, none of a MaskablePPO for this game, or the libraries are not installed.
    """
    spec = f"sb3:{path}"
    file = Path(path) if Path(path).is_file() else Path(f"{path}.zip")
    if not file.is_file():
        raise ValueError(f"no agent {spec!r}: there is no file {path}")
    if not zipfile.is_zipfile(file):
        raise ValueError(f"no agent {spec!r}: {file} is no model that MaskablePPO.save has written")
    try:
        from sb3_contrib import MaskablePPO
    except ImportError as error:
        raise ValueError(f"{spec} needs stable-baselines3 and sb3-contrib ({error}): {INSTALL}") from None
    try:
        model = MaskablePPO.load(file, device="cpu")
    except Exception as error:  # whatever unpickling and rebuilding a policy may raise
        raise ValueError(f"no agent {spec!r}: {' '.join(str(error).split())}") from None
    if getattr(model.action_space, "n", None) != game.num_actions:
        raise ValueError(f"no agent {spec!r}: it was not made for {game.title}, which has {game.num_actions} actions")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return MaskableAgent(spec if greedy else f"{spec}:sampled", model, game, greedy, digest)
