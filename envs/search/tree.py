"""Single-observer information-set Monte Carlo tree search.

P. I. Cowling, E. J. Powley and D. Whitehouse, Information set Monte Carlo tree search, IEEE TCIAIG 4(2), 2012. One
tree a decision, seen from the seat that decides: a node is the sequence of moves that leads there, whatever is hidden.
Each iteration samples a deal, descends by UCB1 among the moves that are legal in it (a move's visits are set against
how often it could have been chosen), adds a node, and plays out. Every move is judged by the seat that makes it.

With a policy the descent follows the PUCT rule of D. Silver et al., Mastering the game of Go without human knowledge,
Nature 550, 2017, after C. D. Rosin, Multi-armed bandits with episode context, Annals of Mathematics and Artificial
Intelligence 61, 2011: the bound of a move is its mean plus c P sqrt(N) / (1 + n). P is the policy's probability for the
seat that moves, as it sees the sampled deal; n are the move's visits; N is what Silver et al. take the visits of the
parent for, counted where the move was legal. Moves without a visit have the mean of the others.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from envs.cards import fold, random_below, random_bits
from envs.game import ACTION_WORD, SEATS, legal, prepare_deals, redact
from envs.jit import jit, popcount
from envs.loops import advance, forced_action, has_action, nth_action
from envs.sampling import new_plan
from envs.search.playout import (
    best_action,
    choose_action,
    draw_deal,
    draw_share,
    evidence_memory,
    mover,
    play_out,
    round_values,
    weigh_deals,
)
from envs.search.policy import OUTPUTS, POLICY, has_policy, write_chances

PATH = 256
"""Moves that an iteration may follow the tree for."""
CHILDREN = 16
"""Nodes an iteration that a tree grown by a policy has room for: all moves of a node are there once it is passed."""
_EXPANSION_STREAM = 3

NODE = np.dtype(
    [
        ("value", np.float64),  # sum of the outcomes for the seat that made the move
        ("prior", np.float64),  # the policy's probability of the move where it was last legal, 0 without a policy
        ("action", np.int32),  # the move that leads here
        ("seat", np.int32),  # who made it
        ("first", np.int32),  # first child, or -1
        ("next", np.int32),  # next child of the same parent, or -1
        ("visits", np.int32),
        ("available", np.int32),  # visits of the parent in which the move was legal
    ]
)


def tree_memory(
    state: np.dtype[Any], actions: int, iterations: int, candidates: int, guided: bool = False
) -> tuple[Any, ...]:
    """Working memory of `decide_tree`, with weights of `candidates` deals; it serves one thread at a time.

    A tree that is `guided` by a policy takes more room; where that ends, iterations play out from its edge.
    """
    return (
        np.zeros(3, state),
        new_plan(),
        np.zeros(candidates),
        np.zeros(CHILDREN * iterations + 2 * ACTION_WORD if guided else 2 * iterations + 2, NODE),
        np.zeros(PATH, np.int64),
        np.zeros(actions, np.int64),
        np.zeros(actions),
        np.zeros(SEATS, np.float32),
        evidence_memory(state),
    )


@jit
def _add_node(tree: Any, count: int, parent: int, action: int, seat: int) -> None:
    tree[count]["value"] = 0.0
    tree[count]["prior"] = 0.0
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
def _count_available(tree: Any, node: int, low: int, high: int) -> tuple[int, int]:
    """Note that the children among the legal actions could be chosen; returns the legal actions without a child."""
    child = int(tree[node]["first"])
    while child >= 0:
        action = int(tree[child]["action"])
        if has_action(low, high, action):
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
        if has_action(low, high, int(tree[child]["action"])):
            visits = int(tree[child]["visits"])
            mean = (float(tree[child]["value"]) / visits - least) * scale
            bound = mean + c * math.sqrt(math.log(int(tree[child]["available"])) / visits)
            if best < 0 or bound > highest:
                best = child
                highest = bound
        child = int(tree[child]["next"])
    return best


@jit
def _add_children(tree: Any, count: int, node: int, low: int, high: int, seat: int) -> int:
    """Add a child for each action of two words; returns the number of nodes."""
    for n in range(popcount(low) + popcount(high)):
        _add_node(tree, count, node, nth_action(low, high, n), seat)
        count += 1
    return count


@jit
def _note_priors(tree: Any, node: int, low: int, high: int, chances: Any) -> None:
    """Give the children among the legal actions their probabilities."""
    child = int(tree[node]["first"])
    while child >= 0:
        action = int(tree[child]["action"])
        if has_action(low, high, action):
            tree[child]["prior"] = chances[action]
        child = int(tree[child]["next"])


@jit
def _choose_by_prior(tree: Any, node: int, low: int, high: int, least: float, most: float, c: float) -> int:
    """The legal child of the highest bound by the PUCT rule, all legal actions having children; means are scaled."""
    scale = 1.0 / (most - least) if most > least else 0.0
    total = 0.0
    visits = 0
    child = int(tree[node]["first"])
    while child >= 0:
        if has_action(low, high, int(tree[child]["action"])):
            total += float(tree[child]["value"])
            visits += int(tree[child]["visits"])
        child = int(tree[child]["next"])
    usual = (total / visits - least) * scale if visits > 0 else 0.0
    best = -1
    highest = 0.0
    child = int(tree[node]["first"])
    while child >= 0:
        if has_action(low, high, int(tree[child]["action"])):
            n = int(tree[child]["visits"])
            mean = (float(tree[child]["value"]) / n - least) * scale if n > 0 else usual
            bound = mean + c * float(tree[child]["prior"]) * math.sqrt(float(tree[child]["available"])) / (1 + n)
            if best < 0 or bound > highest:
                best = child
                highest = bound
        child = int(tree[child]["next"])
    return best


@jit
def _iterate(
    base: Any, rules: Any, own: int, key: int, kind: int, c: float, least: float, most: float, count: int, policy: Any,
    memory: Any,
) -> tuple[int, int, int]:  # fmt: skip
    """Descend from the root in one sampled deal (`base`, played on in place); returns flags, nodes, path's length."""
    work, _, _, tree, path, _, _, _, _ = memory
    guided = has_policy(policy)
    node = 0
    length = 0
    flags = 0
    while flags == 0 and length < PATH:
        low, high = legal(base, rules)
        seat = int(base["turn"])
        new_low, new_high = _count_available(tree, node, low, high)
        fresh = popcount(new_low) + popcount(new_high)
        if fresh > 0 and count + (fresh if guided else 1) > tree.shape[0]:
            break
        # A move without a choice tells nothing: go on below it.
        choice = popcount(low) + popcount(high) > 1
        grown = False
        if guided:
            count = _add_children(tree, count, node, new_low, new_high, seat)
            # What the seat that decides sees after the same moves is the same in all deals.
            if choice and (fresh > 0 or seat != own):
                work[0] = base
                redact(work[0], rules, seat)
                write_chances(work[0], rules, low, high, policy)
                _note_priors(tree, node, low, high, policy[OUTPUTS][0])
            node = _choose_by_prior(tree, node, low, high, least, most, c)
            grown = choice and int(tree[node]["visits"]) == 0
        elif fresh > 0:
            action = choose_action(base, rules, mover(kind, seat, own), policy, work)
            if not has_action(new_low, new_high, action):
                bits = random_bits(key & 0xFFFFFFFF, key >> 32, length)
                action = nth_action(new_low, new_high, random_below(bits, fresh))
            _add_node(tree, count, node, action, seat)
            node = count
            count += 1
            grown = choice
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
    state: Any, rules: Any, key: int, kind: int, iterations: int, c: float, moves: bool, temperature: float,
    policy: Any, quick: Any, memory: Any,
) -> int:  # fmt: skip
    """Grow the tree of one redacted record; returns the count of actions with their mean values, 0: no deal."""
    work, plan, weights, tree, path, actions, values, out, evidence = memory
    n = int(rules["num_players"])
    seat = int(state["turn"])
    if not prepare_deals(state, rules, seat, plan):
        return 0
    if weights.shape[0] > 0:
        weigh_deals(state, rules, seat, plan, key, moves, temperature, work, evidence, weights)
    _add_node(tree, 0, -1, -1, -1)
    base = work[2]
    count = 1
    least = np.inf
    most = -np.inf
    growth = fold(key, _EXPANSION_STREAM)
    for i in range(iterations):
        work[2] = state
        draw_deal(base, rules, seat, plan, key, i, weights, draw_share(key, i))
        flags, count, length = _iterate(base, rules, seat, fold(growth, i), kind, c, least, most, count, policy, memory)
        if flags != 0:
            round_values(base, rules, flags, out)
        else:
            play_out(base, rules, kind, seat, quick, work, out)
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
    policy: Any,
    quick: Any,
    memory: Any,
    chosen: Any,
    worth: Any,
) -> None:
    """Choose the most visited action for each of B redacted records; among equals the policy's likelier one.

    Args:
        states: (B,) records, redacted for the seat to act.
        options: (1,) options record.
        keys: (B,) int64 keys of the decisions' chance.
        kind: who moves in playouts, as in `envs.search.playout.play_out`.
        iterations: sampled deals a decision, each with one playout.
        c: exploration, for outcomes scaled to 0..1.
        moves: whether weights go by all moves, not bids alone.
        temperature: of the weights of deals, where the memory has room for weights.
        policy: from `envs.search.policy.policy_memory`.
        quick: the same of the policy that moves in playouts.
        memory: from `tree_memory`, guided where there is a policy.
        chosen: (B,) int64, written: legal actions.
        worth: (B, A) float64, written: mean value of each action tried, NaN for others; or (B, 0).
    """
    work, _, _, tree, _, actions, values, _, _ = memory
    rules = options[0]
    for i in range(states.shape[0]):
        state = states[i]
        for a in range(worth.shape[1]):
            worth[i, a] = np.nan
        chosen[i] = forced_action(state, rules)
        if chosen[i] >= 0:
            continue
        preferred = choose_action(state, rules, POLICY if has_policy(policy) else kind, policy, work)
        count = _search(state, rules, int(keys[i]), kind, iterations, c, moves, temperature, policy, quick, memory)
        chosen[i] = preferred
        for k in range(count):
            node = int(values[k])
            visits = int(tree[node]["visits"])
            # Half a visit at most: it decides among equals alone.
            values[k] = visits + 0.5 * float(tree[node]["prior"])
            if worth.shape[1] > 0 and visits > 0:
                worth[i, actions[k]] = float(tree[node]["value"]) / visits
        if count > 0:
            chosen[i] = best_action(actions, values, count, preferred)
