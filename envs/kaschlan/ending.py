"""The end of a game of Kaschlan between two seats, played by search once the stock is empty: every card is known then.

Plain alpha-beta over the engine's own moves (Knuth and Moore, Artificial Intelligence 6, 1975). Good play can go round
in circles, so the search looks ahead a growing number of bouts, and what lies beyond counts as even: a win that it
finds is a win, a loss a loss.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from envs.game import GAME_OVER, TRUNCATED
from envs.jit import jit, local_array, lowest_bit
from envs.kaschlan.cards import PACK, rank_of
from envs.kaschlan.engine import BEAT, STATE, is_out, legal, step
from envs.kaschlan.knowledge import unseen
from envs.kaschlan.results import place

DEPTH = 160
"""Moves that a line may have."""
RECORDS, LEVELS, BOUNDS = DEPTH + 2, DEPTH + 1, 3 * (DEPTH + 1)
"""Elements of the memory of a search: states, moves and bounds."""
BOUTS = (1, 2, 4, 8)
"""Bouts looked ahead beside the current one, one search after the other while the budget lasts."""


@jit
def opponent_in_ending(state: Any, rules: Any, seat: int) -> int:
    """The only other seat still in the game where the stock is empty, or -1: then nothing is hidden."""
    n = int(rules["num_players"])
    if int(state["drawn"]) < PACK or n - int(state["out_count"]) != 2:
        return -1
    for other in range(n):
        if other != seat and not is_out(state, other):
            return other
    return -1


@jit
def open_hands(state: Any, rules: Any, seat: int, other: int) -> None:
    """Give the opponent of an ending, in place, the cards that only he can hold."""
    state["hands"][other] = int(state["known"][other]) | unseen(state, rules, seat)


@jit
def worthwhile(state: Any, rules: Any) -> int:
    """Legal moves as one word, less those that only repeat another in a different order.

    Cards of one rank laid by one seat count in ascending order: where all is open, their order changes nothing.
    """
    moves = legal(state, rules)[0]
    phase = int(state["phase"])
    size = int(state["size"])
    if phase == BEAT or size == 0:
        return moves
    last = int(state["table"][size - 1])
    if int(state["layers"][size - 1]) != int(state["turn"]):
        return moves
    lower = moves & ((1 << last) - 1)
    rank = rank_of(last)
    while lower != 0:
        card = lowest_bit(lower)
        lower &= lower - 1
        if rank_of(card) == rank:
            moves &= ~(1 << card)
    return moves


@jit
def outcome(state: Any, rules: Any, seat: int, other: int) -> int:
    """1 where the ended game went better for `seat` than for `other`, -1 where worse, else 0."""
    own = place(state, rules, seat)
    others = place(state, rules, other)
    return int(own < others) - int(own > others)


@jit
def search(states: Any, rules: Any, seat: int, other: int, last_bout: int, budget: Any, moves: Any, bounds: Any) -> int:
    """Value (-1, 0, 1) of ``states[0]`` for `seat`, by alpha-beta without recursion.

    Args:
        states: (DEPTH,) scratch records, the first being the position.
        rules: the options record.
        seat: whose value it is.
        other: the other seat still in the game.
        last_bout: number of the last bout that is looked at.
        budget: (1,) int64, nodes left; where it ends what is not yet known counts as 0.
        moves: (DEPTH,) int64 scratch.
        bounds: (3, DEPTH) int64 scratch: best value, alpha and beta at each depth.
    """
    depth = 0
    moves[0] = worthwhile(states[0], rules)
    bounds[0, 0] = -2
    bounds[1, 0] = -1
    bounds[2, 0] = 1
    value = 0
    while True:
        done = moves[depth] == 0 or (bounds[0, depth] > -2 and bounds[1, depth] >= bounds[2, depth])
        if done:
            value = int(bounds[0, depth])
            depth -= 1
            if depth < 0:
                return value
        else:
            move = lowest_bit(int(moves[depth]))
            moves[depth] = int(moves[depth]) & (int(moves[depth]) - 1)
            budget[0] -= 1
            states[depth + 1] = states[depth]
            flags = step(states[depth + 1], rules, move)
            if flags & GAME_OVER != 0:
                value = outcome(states[depth + 1], rules, seat, other)
            elif (
                flags & TRUNCATED != 0
                or int(states[depth + 1]["bout"]) > last_bout
                or budget[0] <= 0
                or depth + 2 >= DEPTH
            ):
                value = 0
            else:
                depth += 1
                moves[depth] = worthwhile(states[depth], rules)
                bounds[0, depth] = -2
                bounds[1, depth] = bounds[1, depth - 1]
                bounds[2, depth] = bounds[2, depth - 1]
                continue
        maximizes = int(states[depth]["turn"]) == seat
        if bounds[0, depth] == -2 or ((value > bounds[0, depth]) == maximizes and value != bounds[0, depth]):
            bounds[0, depth] = value
        if maximizes:
            bounds[1, depth] = max(bounds[1, depth], value)
        else:
            bounds[2, depth] = min(bounds[2, depth], value)


@jit
def best_move(state: Any, rules: Any, preferred: int, nodes: int) -> int:
    """Move of an ending by search: one that wins, else `preferred`, unless that loses and another does not.

    Args:
        state: a redacted record (it is left as it is).
        rules: the options record.
        preferred: a legal move.
        nodes: positions that may be looked at.
    """
    seat = int(state["turn"])
    other = opponent_in_ending(state, rules, seat)
    if other < 0:
        return preferred
    states = local_array(RECORDS, STATE)
    moves = local_array(LEVELS, np.int64)
    bounds = local_array(BOUNDS, np.int64).reshape((3, LEVELS))
    budget = local_array(1, np.int64)
    root = states[DEPTH + 1]
    states[DEPTH + 1] = state
    open_hands(root, rules, seat, other)
    budget[0] = nodes
    open_moves = worthwhile(root, rules) | (1 << preferred)
    for ahead in BOUTS:
        untried = open_moves
        while untried != 0 and budget[0] > 0:
            move = preferred if (untried >> preferred) & 1 else lowest_bit(untried)
            untried &= ~(1 << move)
            states[0] = root
            flags = step(states[0], rules, move)
            if flags & GAME_OVER != 0:
                value = outcome(states[0], rules, seat, other)
            elif flags & TRUNCATED != 0:
                value = 0
            else:
                value = search(states, rules, seat, other, int(root["bout"]) + ahead, budget, moves, bounds)
            if value > 0:
                return move
            if value < 0:
                open_moves &= ~(1 << move)
                if open_moves & (open_moves - 1) == 0:  # one is left, or all lose
                    return lowest_bit(open_moves) if open_moves != 0 else preferred
    return preferred if (open_moves >> preferred) & 1 else lowest_bit(open_moves)
