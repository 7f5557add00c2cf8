"""What the feature writers of the trick games share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from envs.jit import inlined


def threshold_bits(thresholds: Sequence[int], low: int, high: int) -> np.ndarray:
    """Features ``value >= threshold`` as bits for each value from `low` (entry 0) to `high`."""
    bits = [sum((value >= least) << i for i, least in enumerate(thresholds)) for value in range(low, high + 1)]
    return np.array(bits, np.int64)


@inlined
def trick_cards(state: Any) -> int:
    """Cards lying in the current trick, as a mask."""
    cards = 0
    count = int(state["count"])
    for i in range(count - int(state["trick_size"]), count):
        cards |= 1 << int(state["log"][i])
    return cards
