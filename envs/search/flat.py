"""Flat Monte Carlo over the legal actions, and perfect-information Monte Carlo: the same with endings solved exactly.

M. L. Ginsberg, GIB: imperfect information in a computationally challenging game, JAIR 14, 2001. All actions of a
decision meet the same sampled deals, so that the luck of the deals falls on them alike.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from envs.game import NO_END, SEATS, left, prepare_deals
from envs.jit import jit
from envs.loops import forced_action
from envs.sampling import new_plan
from envs.search.exact import DEPTH, SOLVER, advance_forced, solve
from envs.search.playout import (
    CANDIDATES,
    best_action,
    draw_deal,
    draw_share,
    list_actions,
    play_out,
    round_values,
    rule_action,
    weigh_deals,
)


def flat_memory(state: np.dtype[Any], actions: int, deals: int, weigh: bool) -> tuple[Any, ...]:
    """Working memory of `decide_flat`; it serves one thread at a time."""
    return (
        np.zeros(DEPTH + 4, state),
        np.zeros(DEPTH, SOLVER),
        new_plan(),
        np.zeros(deals * CANDIDATES if weigh else 0),
        np.zeros(actions, np.int64),
        np.zeros(actions),
        np.zeros(actions),
        np.zeros((actions, SEATS), np.float32),
    )


@jit
def _solve_all(
    base: Any, rules: Any, actions: Any, count: int, nodes: int, stack: Any, levels: Any, found: Any
) -> bool:
    """Solve the ending after each action within `nodes` moves for all of them together; False where that is too few."""
    rest = nodes
    for k in range(count):
        stack[0] = base
        flags = advance_forced(stack[0], rules, int(actions[k]))
        if flags != 0:
            round_values(stack[0], rules, flags, found[k])
            continue
        made = solve(stack, levels, rules, rest, found[k])
        if made < 0:
            return False
        rest -= made
    return True


@jit
def _decide(
    state: Any, rules: Any, key: int, kind: int, deals: int, exact: int, nodes: int, moves: bool, temperature: float,
    preferred: int, memory: Any,
) -> int:  # fmt: skip
    """Values of the legal actions of one redacted record, in ``memory``; returns their count, 0 where one is forced."""
    work, levels, plan, weights, actions, values, squares, found = memory
    seat = int(state["turn"])
    if not prepare_deals(state, rules, seat, plan):
        return 0
    seen = work[:2]
    base = work[2]
    stack = work[3:]
    if weights.shape[0] > 0:
        weigh_deals(state, rules, seat, plan, key, moves, temperature, seen, weights)
    count = list_actions(state, rules, actions)
    own = 0
    for k in range(count):
        values[k] = 0.0
        squares[k] = 0.0
        if actions[k] == preferred:
            own = k
    shift = draw_share(key, 0)
    for deal in range(deals):
        work[2] = state
        draw_deal(base, rules, seat, plan, key, deal, weights, (deal + shift) / deals)
        near = exact > 0 and left(base, rules) <= min(exact * int(rules["num_players"]), NO_END - 1)
        if not (near and _solve_all(base, rules, actions, count, nodes, stack, levels, found)):
            for k in range(count):
                stack[0] = base
                flags = advance_forced(stack[0], rules, int(actions[k]))
                if flags != 0:
                    round_values(stack[0], rules, flags, found[k])
                else:
                    play_out(stack[0], rules, kind, seen, found[k])
        for k in range(count):
            values[k] += found[k, seat]
            difference = float(found[k, seat] - found[own, seat])
            squares[k] += difference * difference
    return count


@jit
def _be_cautious(values: Any, squares: Any, count: int, own: int, deals: int, caution: float) -> None:
    """Turn sums into means, less what chance may have added to the lead over the rule player's own choice."""
    for k in range(count):
        values[k] /= deals
    for k in range(count):
        lead = values[k] - values[own]
        variance = max(squares[k] / deals - lead * lead, 0.0)
        squares[k] = values[k] - caution * math.sqrt(variance / deals)


@jit
def decide_flat(
    states: Any,
    options: Any,
    keys: Any,
    kind: int,
    deals: int,
    exact: int,
    nodes: int,
    moves: bool,
    temperature: float,
    caution: float,
    memory: Any,
    chosen: Any,
    worth: Any,
) -> None:
    """Choose an action for each of B redacted records.

    Args:
        states: (B,) records, redacted for the seat to act.
        options: (1,) options record.
        keys: (B,) int64 keys of the decisions' chance.
        kind: rule player of the playouts.
        deals: sampled deals a decision.
        exact: endings of at most this many moves a seat are solved; 0: none.
        nodes: most moves of solving one deal, all actions together; where that is too few the deal is played out.
        moves: whether weights go by all moves, not bids alone.
        temperature: of the weights of deals, where the memory has room for weights.
        caution: standard errors by which another action must lead the rule player's choice.
        memory: from `flat_memory`.
        chosen: (B,) int64, written: legal actions.
        worth: (B, A) float64, written: mean value of each legal action, NaN for others and for forced moves; or (B, 0).
    """
    work, _, _, _, actions, values, squares, _ = memory
    rules = options[0]
    for i in range(states.shape[0]):
        state = states[i]
        for a in range(worth.shape[1]):
            worth[i, a] = np.nan
        chosen[i] = forced_action(state, rules)
        if chosen[i] >= 0:
            continue
        preferred = rule_action(state, rules, kind, work)
        count = _decide(state, rules, int(keys[i]), kind, deals, exact, nodes, moves, temperature, preferred, memory)
        chosen[i] = preferred
        if count > 0:
            own = 0
            for k in range(count):
                if actions[k] == preferred:
                    own = k
            _be_cautious(values, squares, count, own, deals, caution)
            chosen[i] = best_action(actions, squares, count, preferred)
        if worth.shape[1] > 0:
            for k in range(count):
                worth[i, actions[k]] = values[k]
