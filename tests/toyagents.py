"""Agents of one's own, as users would write them; workers build them from their specs."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from envs.agents import Decisions
from envs.game import Game


@dataclass
class First:
    """Takes the first legal action, or action 0 whether legal or not."""

    name: str
    legal: bool

    def act(self, decisions: Decisions) -> np.ndarray:
        return decisions.action_mask.argmax(axis=1) if self.legal else np.zeros(len(decisions), np.int64)


def first(game: Game) -> First:
    return First("first", True)


def illegal(game: Game) -> First:
    return First("illegal", False)


class Mortal(First):
    """Kills its process as soon as the working folder holds a file ``die``."""

    def act(self, decisions: Decisions) -> np.ndarray:
        if Path("die").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        return super().act(decisions)


def mortal(game: Game) -> Mortal:
    return Mortal("mortal", True)
