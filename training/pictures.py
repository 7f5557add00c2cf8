"""Pictures for reports and curves: what was called against what was made, and any drawing as a PNG."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from envs.game import Game

Calls = dict[int, tuple[int, float, float]]
"""By call: rounds, mean tricks made, and share of the rounds in which the call was made exactly."""


def call_statistics(game: Game) -> tuple[str, str] | None:
    """Statistics of what was called and of what was made of it, in games with bids."""
    if game.breakdown is None or game.forecast is None:
        return None
    return game.breakdown[1], game.forecast[0]


def count_calls(called: np.ndarray, made: np.ndarray) -> Calls:
    """Sum up rounds by their call.

    Args:
        called: (R,) whole numbers.
        made: (R,) tricks.
    """
    found = {}
    for call in np.unique(called).tolist():
        tricks = made[called == call]
        found[int(call)] = (len(tricks), float(tricks.mean()), float((tricks == call).mean()))
    return found


def draw_calls(axes: Any, calls: Mapping[str, Calls]) -> None:
    """Draw mean tricks over calls, a line for each name, and the diagonal of those who make what they call."""
    most = 1
    for name, own in calls.items():
        called = sorted(own)
        axes.plot(called, [own[call][1] for call in called], "o-", label=name, markersize=4)
        most = max([most, *called])
    axes.plot([0, most], [0, most], "--", color="gray")
    axes.set_xlabel("called")
    axes.set_ylabel("made, mean tricks")
    axes.legend()


def draw_png(draw: Callable[[Any], None]) -> bytes:
    """A PNG of 840 x 600 pixels of what a function draws into Matplotlib's axes; ImportError without Matplotlib."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 5), dpi=120, layout="constrained")
    draw(figure.add_subplot())
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()
