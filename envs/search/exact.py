"""Endings solved exactly, all cards open: every seat takes what is best for itself (max^n).

C. A. Luckhardt and K. B. Irani, An algorithmic solution of N-person games, AAAI 1986. A depth-first search without
recursion on a stack of records; moves without a choice take no place on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from envs.game import ACTION_WORD, SEATS, legal
from envs.jit import jit, lowest_bit
from envs.loops import advance, forced_action
from envs.search.playout import round_values

DEPTH = 96
"""Choices that may follow one another in an ending."""

SOLVER = np.dtype([("words", np.int64, (2,)), ("values", np.float32, (SEATS,)), ("known", np.int64)])
"""A level of the stack beside the game's record: actions still to try, the best outcome so far, if there is one."""


@jit
def advance_forced(state: Any, rules: Any, action: int) -> int:
    """Make a move and all moves without a choice that follow it within the round; returns flags."""
    flags = advance(state, rules, action)
    while flags == 0:
        follow = forced_action(state, rules)
        if follow < 0:
            break
        flags = advance(state, rules, follow)
    return flags


@jit
def _open_level(state: Any, rules: Any, level: Any) -> None:
    low, high = legal(state, rules)
    level["words"][0] = low
    level["words"][1] = high
    level["known"] = 0


@jit
def _improve(level: Any, seat: int, values: Any, n: int) -> None:
    """Keep an outcome where the seat to act prefers it; the first of equals stays."""
    if level["known"] == 0 or values[seat] > level["values"][seat]:
        level["known"] = 1
        for i in range(n):
            level["values"][i] = values[i]


@jit
def solve(stack: Any, levels: Any, rules: Any, nodes: int, out: Any) -> int:
    """Write each seat's outcome of the full state ``stack[0]`` to ``out[:num_players]``, all playing for themselves.

    Args:
        stack: state records, the first one to be solved (not ended); the others are overwritten.
        levels: as many `SOLVER` records.
        rules: the options record.
        nodes: most moves with a choice to be made; beyond them the search gives up.
        out: float32 values as in `round_values`.

    Returns:
        Moves made, or -1 where the search gave up.
    """
    n = int(rules["num_players"])
    made = 0
    depth = 0
    _open_level(stack[0], rules, levels[0])
    while True:
        level = levels[depth]
        low = int(level["words"][0])
        high = int(level["words"][1])
        if low == 0 and high == 0:
            if depth == 0:
                for i in range(n):
                    out[i] = level["values"][i]
                return made
            depth -= 1
            _improve(levels[depth], int(stack[depth]["turn"]), level["values"], n)
            continue
        if made >= nodes or depth + 1 >= stack.shape[0]:
            return -1
        made += 1
        if low != 0:
            action = lowest_bit(low)
            level["words"][0] = low & (low - 1)
        else:
            action = ACTION_WORD + lowest_bit(high)
            level["words"][1] = high & (high - 1)
        stack[depth + 1] = stack[depth]
        flags = advance_forced(stack[depth + 1], rules, action)
        if flags != 0:
            round_values(stack[depth + 1], rules, flags, out)
            _improve(level, int(stack[depth]["turn"]), out, n)
        else:
            depth += 1
            _open_level(stack[depth], rules, levels[depth])
