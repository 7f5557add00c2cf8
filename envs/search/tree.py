"""Single-observer information-set Monte Carlo tree search.

P. I. Cowling, E. J. Powley and D. Whitehouse, Information set Monte Carlo tree search, IEEE TCIAIG 4(2), 2012. One
tree a decision, seen from the seat that decides: a node is the sequence of moves that leads there, whatever is hidden.
Each iteration samples a deal, descends by UCB1 among the moves that are legal in it (a move's visits are set against
how often it could have been chosen), adds a node, and plays out. Every move is judged by the seat that makes it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from envs.cards import fold, random_below, random_bits
from envs.game import ACTION_WORD, SEATS, legal, prepare_deals
from envs.jit import jit, popcount
from envs.loops import advance, forced_action, nth_action
from envs.sampling import new_plan
from envs.search.playout import (
    best_action,
    draw_deal,
    draw_share,
    play_out,
    round_values,
    rule_action,
    weigh_deals,
)

PATH = 256
"""Moves that an iteration may follow the tree for."""
_EXPANSION_STREAM = 3

NODE = np.dtype(
    [
        ("value", np.float64),  # sum of the outcomes for the seat that made the move
        ("action", np.int32),  # the move that leads here
        ("seat", np.int32),  # who made it
        ("first", np.int32),  # first child, or -1
        ("next", np.int32),  # next child of the same parent, or -1
        ("visits", np.int32),
        ("available", np.int32),  # visits of the parent in which the move was legal
    ]
)


def tree_memory(state: np.dtype[Any], actions: int, iterations: int, candidates: int) -> tuple[Any, ...]:
    """Working memory of `decide_tree`, with weights of `candidates` deals; it serves one thread at a time."""
    return (
        np.zeros(3, state),
        new_plan(),
        np.zeros(candidates),
        np.zeros(2 * iterations + 2, NODE),
        np.zeros(PATH, np.int64),
        np.zeros(actions, np.int64),
        np.zeros(actions),
        np.zeros(SEATS, np.float32),
    )


@jit
def _add_node(tree: Any, count: int, parent: int, action: int, seat: int) -> None:
    tree[count]["value"] = 0.0
    tree[count]["action"] = action
    tree[count]["seat"] = seat
    tree[count]["first"] = -1
    tree[count]["visits"] = 0
    tree[count]["available"] = 1
    tree[count]["next"] = -1
    if parent >= 0:
        tree[count]["next"] = tree[parent]["first"]
        tree[parent]["first"] = count


@jit
def _has(low: int, high: int, action: int) -> bool:
    if action < ACTION_WORD:
        return bool((low >> action) & 1)
    return bool((high >> (action - ACTION_WORD)) & 1)


@jit
def _count_available(tree: Any, node: int, low: int, high: int) -> tuple[int, int]:
    """Note that the children among the legal actions could be chosen; returns the legal actions without a child."""
    child = int(tree[node]["first"])
    while child >= 0:
        action = int(tree[child]["action"])
        if _has(low, high, action):
            tree[child]["available"] += 1
            if action < ACTION_WORD:
                low &= ~(1 << action)
            else:
                high &= ~(1 << (action - ACTION_WORD))
        child = int(tree[child]["next"])
    return low, high


@jit
def _choose_child(tree: Any, node: int, low: int, high: int, least: float, most: float, c: float) -> int:
    """The legal child of the highest upper bound; means are scaled to 0..1 by the range of all outcomes so far."""
    scale = 1.0 / (most - least) if most > least else 0.0
    best = -1
    highest = 0.0
    child = int(tree[node]["first"])
    while child >= 0:
        if _has(low, high, int(tree[child]["action"])):
            visits = int(tree[child]["visits"])
            mean = (float(tree[child]["value"]) / visits - least) * scale
            bound = mean + c * math.sqrt(math.log(int(tree[child]["available"])) / visits)
            if best < 0 or bound > highest:
                best = child
                highest = bound
        child = int(tree[child]["next"])
    return best


@jit
def _iterate(
    base: Any, rules: Any, key: int, kind: int, c: float, least: float, most: float, count: int, memory: Any
) -> tuple[int, int, int]:
    """Descend from the root in one sampled deal (`base`, played on in place); returns flags, nodes, path's length."""
    work, _, _, tree, path, _, _, _ = memory
    node = 0
    length = 0
    flags = 0
    while flags == 0 and length < PATH:
        low, high = legal(base, rules)
        seat = int(base["turn"])
        new_low, new_high = _count_available(tree, node, low, high)
        choices = popcount(new_low) + popcount(new_high)
        grown = False
        if choices > 0:
            if count >= tree.shape[0]:
                break
            action = rule_action(base, rules, kind, work)
            if not _has(new_low, new_high, action):
                bits = random_bits(key & 0xFFFFFFFF, key >> 32, length)
                action = nth_action(new_low, new_high, random_below(bits, choices))
            _add_node(tree, count, node, action, seat)
            node = count
            count += 1
            # A move without a choice tells nothing: go on below it.
            grown = popcount(low) + popcount(high) > 1
        else:
            node = _choose_child(tree, node, low, high, least, most, c)
        path[length] = node
        length += 1
        flags = advance(base, rules, int(tree[node]["action"]))
        if grown:
            break
    return flags, count, length


@jit
def _search(
    state: Any, rules: Any, key: int, kind: int, iterations: int, c: float, moves: bool, temperature: float, memory: Any
) -> int:
    """Grow the tree of one redacted record; returns the count of actions with their mean values, 0: no deal."""
    work, plan, weights, tree, path, actions, values, out = memory
    n = int(rules["num_players"])
    seat = int(state["turn"])
    if not prepare_deals(state, rules, seat, plan):
        return 0
    if weights.shape[0] > 0:
        weigh_deals(state, rules, seat, plan, key, moves, temperature, work[:3], weights)
    _add_node(tree, 0, -1, -1, -1)
    base = work[2]
    count = 1
    least = np.inf
    most = -np.inf
    growth = fold(key, _EXPANSION_STREAM)
    for i in range(iterations):
        work[2] = state
        draw_deal(base, rules, seat, plan, key, i, weights, draw_share(key, i))
        flags, count, length = _iterate(base, rules, fold(growth, i), kind, c, least, most, count, memory)
        if flags != 0:
            round_values(base, rules, flags, out)
        else:
            play_out(base, rules, kind, work, out)
        for other in range(n):
            least = min(least, out[other])
            most = max(most, out[other])
        for k in range(length):
            node = path[k]
            tree[node]["visits"] += 1
            tree[node]["value"] += out[tree[node]["seat"]]
    return _read_root(tree, actions, values)


@jit
def _read_root(tree: Any, actions: Any, values: Any) -> int:
    """Write the root's actions and the numbers of their nodes; returns their count."""
    count = 0
    child = int(tree[0]["first"])
    while child >= 0:
        actions[count] = tree[child]["action"]
        values[count] = child
        count += 1
        child = int(tree[child]["next"])
    return count


@jit
def decide_tree(
    states: Any,
    options: Any,
    keys: Any,
    kind: int,
    iterations: int,
    c: float,
    moves: bool,
    temperature: float,
    memory: Any,
    chosen: Any,
    worth: Any,
) -> None:
    """Choose the most visited action for each of B redacted records.

    Args:
        states: (B,) records, redacted for the seat to act.
        options: (1,) options record.
        keys: (B,) int64 keys of the decisions' chance.
        kind: rule player of the playouts.
        iterations: sampled deals a decision, each with one playout.
        c: exploration, for outcomes scaled to 0..1.
        moves: whether weights go by all moves, not bids alone.
        temperature: of the weights of deals, where the memory has room for weights.
        memory: from `tree_memory`.
        chosen: (B,) int64, written: legal actions.
        worth: (B, A) float64, written: mean value of each action tried, NaN for others; or (B, 0).
    """
    work, _, _, tree, _, actions, values, _ = memory
    rules = options[0]
    for i in range(states.shape[0]):
        state = states[i]
        for a in range(worth.shape[1]):
            worth[i, a] = np.nan
        chosen[i] = forced_action(state, rules)
        if chosen[i] >= 0:
            continue
        preferred = rule_action(state, rules, kind, work)
        count = _search(state, rules, int(keys[i]), kind, iterations, c, moves, temperature, memory)
        chosen[i] = preferred
        for k in range(count):
            node = int(values[k])
            values[k] = float(tree[node]["visits"])
            if worth.shape[1] > 0:
                worth[i, actions[k]] = float(tree[node]["value"]) / values[k]
        if count > 0:
            chosen[i] = best_action(actions, values, count, preferred)
