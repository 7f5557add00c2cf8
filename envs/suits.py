"""Suits in an order that each position gives itself: a policy then need not learn the same play once for every suit.

Card games treat their suits alike but for those that a position, or a rule, sets apart. `SuitOrder` puts the suit that
a position sets apart first and sorts the others by what the seat holds of them; a network that sees every position so
arranged, and whose logits are put back, plays alike where only the names of the suits differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations
from typing import Any, NamedTuple

import numpy as np

from envs.cards import SUITS
from envs.jit import jit
from envs.layout import Layout

ORDERS = tuple(permutations(range(len(SUITS))))
"""All orders of the suits: entry p names the suit in each place."""
_PAIRS = tuple(combinations(range(len(SUITS)), 2))
_STEP = 64
"""How much more a ranking counts than the next: more than any seat holds of a suit."""
_BITS = 16
"""For each suit's sum of votes: all four are added up as one number."""
_MASK = (1 << _BITS) - 1


class SuitTables(NamedTuple):
    """A `SuitOrder` as plain arrays, for compiled code; all are empty where suits stay as they are."""

    features: np.ndarray
    """(K,) int64 features that speak for suits."""
    votes: np.ndarray
    """(K,) int64 how much each counts for the four suits: 16 bits each, the first suit's the lowest."""
    bonus: np.ndarray
    """(1,) int64 what the suits count in any position, likewise."""
    orders: np.ndarray
    """(64,) int64 index into `ORDERS` by which suits of the six pairs come first (bit k: the first of pair k)."""
    places: np.ndarray
    """(24, F) uint32 by the order: the feature that stands in each place."""
    actions: np.ndarray
    """(24, A) int64 by the order: where the arranged logits have each action."""


_NOTHING = np.zeros(0, np.int64)
NO_ORDER = SuitTables(_NOTHING, _NOTHING, _NOTHING, _NOTHING, np.zeros((0, 0), np.uint32), np.zeros((0, 0), np.int64))
"""Suits stay as they are."""


def order_suits(layout: Layout, action_names: Sequence[str], ranking: Sequence[str]) -> SuitTables:
    """Tables of an order of the suits.

    Blocks of cards, or of suits, are arranged, all others stay as they are; and where the rules set a suit apart, so do
    the blocks of suits that rank them, or nothing would tell which it is.

    Args:
        layout: of the observation, or of a state.
        action_names: names of all actions; those of cards are arranged.
        ranking: what ranks the suits, the first before all others: a suit that the rules set apart, or the name of a
            block of suits (a suit in it comes first) or of cards (the more of a suit, the earlier). Among equals the
            first in `SUITS` comes first.

    Raises:
        ValueError: the layout has no such block, or more speaks for a suit than can be counted.
    """
    blocks = {block.name: block for block in layout.blocks}
    votes: list[tuple[int, int, int]] = []
    bonus = np.zeros(len(SUITS), np.int64)
    for level, name in enumerate(reversed(ranking)):
        if name in SUITS:
            bonus[SUITS.index(name)] = _STEP**level
            continue
        if name not in blocks:
            raise ValueError(f"no block {name!r} ranks the suits: the layout has none of that name")
        for i, label in enumerate(blocks[name].labels):
            if label[-1] in SUITS:
                votes.append((layout.offsets[name] + i, SUITS.index(label[-1]), _STEP**level))
    features, suits, weights = np.array(votes, np.int64).reshape(-1, 3).T.copy()
    if (np.bincount(suits, weights, len(SUITS)) + bonus).max() >= 1 << (_BITS - 1):
        raise ValueError(f"{len(ranking)} rankings of suits are too many to be counted")
    apart = any(name in SUITS for name in ranking)
    kept = {name for name in ranking if apart and name in blocks and max(map(len, blocks[name].labels)) == 1}
    places, found = [], []
    for order in ORDERS:
        row = np.arange(layout.size)
        for block in layout.blocks:
            if block.name not in kept:
                start = layout.offsets[block.name]
                row[start : start + len(block.labels)] = start + _exchange(block.labels, order)
        places.append(row)
        # Where place i shows what belongs to feature j, the action of j has the logit of place i.
        found.append(np.argsort(_exchange(action_names, order)))
    shifts = _BITS * np.arange(len(SUITS))
    packed = weights << shifts[suits], (bonus << shifts).sum(keepdims=True)
    return SuitTables(features, *packed, _order_table(), np.array(places, np.uint32), np.array(found))


def unpack_votes(votes: np.ndarray) -> np.ndarray:
    """(K, 4) int64: what votes (K,) of `SuitTables` count for each suit."""
    return (votes[:, None] >> (_BITS * np.arange(len(SUITS)))) & _MASK


def _exchange(labels: Sequence[str], order: Sequence[int]) -> np.ndarray:
    """For each label the index of the one with the suit that takes its suit's place; itself where there are none."""
    index = {label: i for i, label in enumerate(labels)}
    suited = [label for label in labels if label[-1:] in SUITS and len(label) <= 2]
    if any(label[:-1] + suit not in index for label in suited for suit in SUITS):
        return np.arange(len(labels))
    found = np.arange(len(labels))
    for label in suited:
        found[index[label]] = index[label[:-1] + SUITS[order[SUITS.index(label[-1])]]]
    return found


def _order_table() -> np.ndarray:
    """Index into `ORDERS` for each outcome of the six comparisons; 0 for those that contradict themselves."""
    table = np.zeros(1 << len(_PAIRS), np.int64)
    for p, order in enumerate(ORDERS):
        table[sum((order.index(a) < order.index(b)) << k for k, (a, b) in enumerate(_PAIRS))] = p
    return table


@jit
def find_order(observation: Any, tables: Any) -> int:
    """Index into `ORDERS` of the order that an observation (F,) gives its suits."""
    features, votes, bonus, orders = tables[0], tables[1], tables[2], tables[3]
    total = bonus[0]
    for k in range(features.shape[0]):
        total += votes[k] * observation[features[k]]
    a, b = total & _MASK, (total >> _BITS) & _MASK
    c, d = (total >> (2 * _BITS)) & _MASK, (total >> (3 * _BITS)) & _MASK
    code = int(a >= b) | (int(a >= c) << 1) | (int(a >= d) << 2) | (int(b >= c) << 3) | (int(b >= d) << 4)
    return int(orders[code | (int(c >= d) << 5)])


@jit
def arrange(observations: Any, tables: Any, one: Any, order: Any, out: Any) -> None:
    """Write observations with their suits in order.

    Args:
        observations: (B, F) uint8, zeros and ones.
        tables: `SuitTables`.
        one: what stands for 1, of the type of `out`; 0 stands for 0.
        order: (B,) int64 output, index into `ORDERS`.
        out: (B, F) output.
    """
    places = tables[4]
    for i in range(observations.shape[0]):
        row = observations[i]
        p = find_order(row, tables)
        order[i] = p
        for j in range(row.shape[0]):
            out[i, j] = one * row[places[p, j]]


@jit
def put_back(values: Any, order: Any, actions: Any, out: Any) -> None:
    """Write what is said of arranged actions by the actions' numbers in the game.

    Args:
        values: (B, A) numbers of the arranged actions.
        order: (B,) int64, index into `ORDERS`.
        actions: (24, A) int64, `SuitTables.actions`.
        out: (B, A) output.
    """
    for i in range(values.shape[0]):
        p = order[i]
        for a in range(values.shape[1]):
            out[i, a] = values[i, actions[p, a]]


@jit
def take_back(values: Any, order: Any, actions: Any, out: Any) -> None:
    """The inverse of `put_back`, which says what the arguments are."""
    for i in range(values.shape[0]):
        p = order[i]
        for a in range(values.shape[1]):
            out[i, actions[p, a]] = values[i, a]
