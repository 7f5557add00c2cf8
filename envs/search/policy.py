"""Policies inside the search: a multilayer perceptron evaluated by compiled code, from plain arrays.

A network is two arrays whatever its depth and widths, so that compiled code serves them all, and none at all. Sums go
over the inputs in ascending order, whole rows of weights at a time: vector instructions then add what a loop would add
one by one, and every machine rounds alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from envs.game import features, legal
from envs.jit import jit
from envs.loops import has_action
from envs.suits import NO_ORDER, SuitTables, find_order

POLICY = -1
"""Stands for the policy where compiled code asks for the number of a rule player."""

OUTPUTS = 5
"""Where the outputs of the last evaluation lie in a policy's working memory: its first row."""

Network = tuple[np.ndarray, np.ndarray, SuitTables]
"""Weights, float32, and sizes, int64: the number of features, the widths of the hidden layers, the number of actions;
and the order in which it sees suits.

Each layer's weights are a matrix (inputs, outputs) in rows, then its biases; the layers follow one another.
"""
NO_NETWORK: Network = np.zeros(0, np.float32), np.zeros(0, np.int64), NO_ORDER


def join_layers(layers: Sequence[tuple[np.ndarray, np.ndarray]], suits: SuitTables = NO_ORDER) -> Network:
    """Make a network of its layers, from the features on; between them are rectifiers.

    Args:
        layers: weights (outputs, inputs) and biases (outputs,) of each; the outputs of the last are the logits.
        suits: the order in which it sees suits, and gives logits of cards.

    Raises:
        ValueError: no layers, or layers that do not follow one another.
    """
    sizes = [layers[0][0].shape[1]] if layers else []
    for weight, bias in layers:
        if weight.shape != (len(bias), sizes[-1]):
            raise ValueError(f"weights of shape {weight.shape} do not lead from {sizes[-1]} inputs to {len(bias)}")
        sizes.append(len(bias))
    if not sizes:
        raise ValueError("a network needs a layer")
    parts = [part for weight, bias in layers for part in (weight.T.reshape(-1), bias)]
    return np.concatenate(parts).astype(np.float32), np.array(sizes, np.int64), suits


def policy_memory(network: Network = NO_NETWORK, wide: bool = False) -> tuple[Any, ...]:
    """A policy as the searches take it, with working memory; it serves one thread at a time.

    Args:
        network: the network, or `NO_NETWORK`: there is no policy.
        wide: whether its features are laid out for the largest table.
    """
    weights, sizes, suits = network
    ends = (int(sizes[0]), int(sizes[-1])) if len(sizes) else (0, 0)
    units = np.zeros((2, int(sizes.max(initial=0))), np.float32)
    logits = np.zeros((2, ends[1]), np.float32)
    return weights, sizes, wide, np.zeros(ends[0], np.uint8), units, logits, tuple(suits)


@jit
def has_policy(policy: Any) -> bool:
    """Whether there is a policy."""
    return policy[1].shape[0] > 0


@jit
def _apply_layer(matrix: Any, biases: Any, inputs: Any, outputs: Any) -> None:
    """Write ``biases + max(inputs, 0) @ matrix`` to `outputs`."""
    width = matrix.shape[1]
    for j in range(width):
        outputs[j] = biases[j]
    # Most features are 0, and so are many hidden units behind their rectifiers. The others are added four at a time,
    # one after the other as if each came alone: the outputs then go to memory and back a quarter as often.
    a, b, c, waiting = 0, 0, 0, 0
    for i in range(matrix.shape[0]):
        if inputs[i] > 0.0:
            waiting += 1
            if waiting == 1:
                a = i
            elif waiting == 2:
                b = i
            elif waiting == 3:
                c = i
            else:
                waiting = 0
                x, y, z, w = inputs[a], inputs[b], inputs[c], inputs[i]
                for j in range(width):
                    outputs[j] = outputs[j] + x * matrix[a, j] + y * matrix[b, j] + z * matrix[c, j] + w * matrix[i, j]
    for k in range(waiting):
        i = a if k == 0 else b if k == 1 else c
        x = inputs[i]
        for j in range(width):
            outputs[j] += x * matrix[i, j]


@jit
def write_logits(state: Any, rules: Any, policy: Any) -> None:
    """Evaluate the network for the seat to act of a redacted record.

    Its logits (A,), float32, come to lie in the policy's working memory, ``policy[OUTPUTS][0]``: the next evaluation
    overwrites them.
    """
    weights, sizes, wide, observation, units, results, suits = policy
    features(state, rules, int(state["turn"]), wide, observation, 0)
    front = units[0]
    back = units[1]
    logits = results[1]
    places = suits[4]
    ordered = places.shape[0] > 0
    order = find_order(observation, suits) if ordered else 0
    for i in range(observation.shape[0]):
        front[i] = observation[places[order, i]] if ordered else observation[i]
    at = 0
    last = sizes.shape[0] - 2
    for layer in range(last + 1):
        inputs = sizes[layer]
        outputs = sizes[layer + 1]
        end = at + inputs * outputs
        if layer == last:
            back = logits
        _apply_layer(weights[at:end].reshape((inputs, outputs)), weights[end : end + outputs], front, back)
        at = end + outputs
        front, back = back, front
    found = results[0]
    for action in range(logits.shape[0]):
        found[action] = logits[suits[5][order, action] if ordered else action]


@jit
def likeliest_action(state: Any, rules: Any, policy: Any) -> int:
    """The legal action of the highest logit for the seat to act of a redacted record, the first of equals."""
    write_logits(state, rules, policy)
    logits = policy[OUTPUTS][0]
    low, high = legal(state, rules)
    best = -1
    for action in range(logits.shape[0]):
        if has_action(low, high, action) and (best < 0 or logits[action] > logits[best]):
            best = action
    return best


@jit
def write_chances(state: Any, rules: Any, low: int, high: int, policy: Any) -> None:
    """Compute the policy's probabilities (A,), float32, of the actions of two words in a redacted record.

    They come to lie where `write_logits` leaves the logits, 0 for all other actions.
    """
    write_logits(state, rules, policy)
    chances = policy[OUTPUTS][0]
    most = -np.inf
    for action in range(chances.shape[0]):
        if has_action(low, high, action):
            most = max(most, float(chances[action]))
    total = 0.0
    for action in range(chances.shape[0]):
        chance = math.exp(float(chances[action]) - most) if has_action(low, high, action) else 0.0
        chances[action] = chance
        total += chance
    for action in range(chances.shape[0]):
        chances[action] = float(chances[action]) / total
