"""What the feature writers of the trick games share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from envs.cards import NO_TRUMP, PACK, suit_cards, suit_of
from envs.jit import highest_bit, inlined, jit
from envs.layout import Block, put64
from envs.tricks import following, higher_than


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


def prospect_blocks(cards: tuple[str, ...]) -> list[Block]:
    """Blocks that `put_prospects` writes."""
    return [
        Block("takes", cards, "Own cards that may be played now and would be the best of the trick so far."),
        Block("masters", cards, "Own cards that no unseen card of their suit is above."),
        Block("seconds", cards, "Own cards that one unseen card of their suit is above."),
        Block("thirds", cards, "Own cards that two unseen cards of their suit are above."),
    ]


@inlined
def _taking(state: Any, hand: int) -> int:
    """Cards of `hand` that follow the trick and would be its best so far; none for a lead."""
    best = int(state["best"])
    if best < 0:
        return 0
    better = higher_than(best)
    trump = int(state["trump"])
    if 0 <= trump < NO_TRUMP and suit_of(best) != trump:
        better |= suit_cards(trump)
    return following(hand, int(state["led"])) & better


@inlined
def _above(cards: int, bound: int) -> int:
    """Cards above the highest card of `bound`; all of them where that is empty."""
    return cards if bound == 0 else cards & -(2 << highest_bit(bound))


@jit
def put_prospects(state: Any, hand: int, unseen: int, out: Any, at: int) -> int:
    """Write what own cards may win to ``out[at:at+208]``: whom they beat now, and who may beat them later.

    Args:
        state: the record.
        hand: own cards, as far as they are seen.
        unseen: cards whose place the seat does not know.
        out: the features, uint8.
        at: where the blocks of `prospect_blocks` begin.
    """
    masters = 0
    seconds = 0
    thirds = 0
    for suit in range(4):
        own = hand & suit_cards(suit)
        hidden = unseen & suit_cards(suit)
        first = _above(own, hidden)
        if hidden != 0:
            hidden &= ~(1 << highest_bit(hidden))
        second = _above(own, hidden) & ~first
        if hidden != 0:
            hidden &= ~(1 << highest_bit(hidden))
        masters |= first
        seconds |= second
        thirds |= _above(own, hidden) & ~(first | second)
    at = put64(out, at, _taking(state, hand), PACK)
    at = put64(out, at, masters, PACK)
    at = put64(out, at, seconds, PACK)
    return put64(out, at, thirds, PACK)
