"""Agents that do wrong, each in its own way, as their specs name them."""

from __future__ import annotations

from typing import Any

import numpy as np


class _Agent:
    def __init__(self, name: str, answer: Any) -> None:
        self.name = name
        self._answer = answer

    def act(self, decisions: Any) -> np.ndarray:
        answer: np.ndarray = self._answer(decisions)
        return answer


def _raise(_: Any) -> np.ndarray:
    raise RuntimeError("boom\nand more")


def raises(_: Any) -> _Agent:
    """Fails while it decides."""
    return _Agent("raises", _raise)


def illegal(_: Any) -> _Agent:
    """Plays the last action, legal or not."""
    return _Agent("illegal", lambda decisions: np.full(len(decisions), decisions.game.num_actions - 1))


def shaped(_: Any) -> _Agent:
    """Answers with a row for each game."""
    return _Agent("shaped", lambda decisions: decisions.action_mask.astype(np.int64))


def floating(_: Any) -> _Agent:
    """Answers with floats."""
    return _Agent("floating", lambda decisions: decisions.action_mask.argmax(axis=1).astype(np.float32))


def unborn(_: Any) -> _Agent:
    """Cannot be made."""
    raise KeyError("x")
