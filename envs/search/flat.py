"""Flat Monte Carlo over the legal actions, and perfect-information Monte Carlo: the same with endings solved exactly.

M. L. Ginsberg, GIB: imperfect information in a computationally challenging game, JAIR 14, 2001. All actions of a
decision meet the same sampled deals, so that the luck of the deals falls on them alike. On request the budget goes to
the better actions by sequential halving (Z. Karnin, T. Koren and O. Somekh, ICML 2013): in phases of equal work, the
worse half dropped after each, first those that did as another in every deal.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from envs.game import SEATS, left, legal, prepare_deals, redact
from envs.jit import jit
from envs.loops import forced_action
from envs.sampling import new_plan
from envs.search.exact import DEPTH, SOLVER, advance_forced, solve
from envs.search.playout import (
    best_action,
    choose_action,
    draw_deal,
    draw_share,
    evidence_memory,
    list_actions,
    play_out,
    round_values,
    walk_deals,
    weigh_deals,
    win_chance,
)
from envs.search.policy import OUTPUTS, POLICY, has_policy, write_chances

ACTION = np.dtype(
    [
        ("total", np.float64),  # sum of outcomes for the seat to act
        ("square", np.float64),  # sum of squared differences to the preferred action
        ("mark", np.float64),  # fingerprint of its outcomes in all these deals
        ("deals", np.int64),
        ("open", np.int64),  # 1 while it is still tried
        ("values", np.float32, (SEATS,)),  # outcome in the deal at hand
    ]
)
"""What is known of one legal action of a decision."""
_GOLDEN = 0.6180339887498949
"""Steps of this size, taken around a circle, spread evenly however many there are."""


def flat_memory(state: np.dtype[Any], actions: int, candidates: int, pool: int = 0) -> tuple[Any, ...]:
    """Working memory of `decide_flat`, with weights of `candidates` deals; it serves one thread at a time.

    With a `pool` of deals, at least four, they are drawn by a walk.
    """
    return (
        np.zeros(DEPTH + 4, state),
        np.zeros(DEPTH, SOLVER),
        new_plan(),
        np.zeros(candidates),
        np.zeros(actions, np.int64),
        np.zeros(actions),
        np.zeros(actions, ACTION),
        np.zeros(pool, state),
        evidence_memory(state),
    )


@jit
def _solve_all(
    base: Any, rules: Any, actions: Any, count: int, nodes: int, stack: Any, levels: Any, found: Any
) -> bool:
    """Solve the ending after each action within `nodes` moves for all of them together; False where that is too few."""
    rest = nodes
    for k in range(count):
        if found[k]["open"] == 0:
            continue
        stack[0] = base
        flags = advance_forced(stack[0], rules, int(actions[k]))
        if flags != 0:
            round_values(stack[0], rules, flags, found[k]["values"])
            continue
        made = solve(stack, levels, rules, rest, found[k]["values"])
        if made < 0:
            return False
        rest -= made
    return True


@jit
def _play_all(
    base: Any, rules: Any, kind: int, own: int, policy: Any, actions: Any, count: int, stack: Any, seen: Any, found: Any
) -> None:
    """Play the round out after each action."""
    for k in range(count):
        if found[k]["open"] == 0:
            continue
        stack[0] = base
        flags = advance_forced(stack[0], rules, int(actions[k]))
        if flags != 0:
            round_values(stack[0], rules, flags, found[k]["values"])
        else:
            play_out(stack[0], rules, kind, own, policy, seen, found[k]["values"])


@jit
def _aim_to_win(base: Any, seats: int, seat: int, count: int, aim: Any, found: Any) -> None:
    """Put the chance to win in the place of what the seat to act gets."""
    for k in range(count):
        if found[k]["open"] == 1:
            found[k]["values"][seat] = win_chance(base, seats, seat, found[k]["values"], aim)


@jit
def _note(found: Any, count: int, seat: int, own: int, share: float) -> None:
    for k in range(count):
        if found[k]["open"] == 1:
            difference = float(found[k]["values"][seat]) - float(found[own]["values"][seat])
            found[k]["total"] += found[k]["values"][seat]
            found[k]["square"] += difference * difference
            found[k]["mark"] += found[k]["values"][seat] * (1.0 + share)
            found[k]["deals"] += 1


@jit
def drop_twins(found: Any, count: int, own: int) -> None:
    """Close actions that did as another one in every deal, such as one of two neighbouring cards."""
    for k in range(count):
        for other in range(count):
            stays = other != k and (other == own or (other < k and k != own))
            both = found[k]["open"] == 1 and found[other]["open"] == 1
            if stays and both and found[k]["mark"] == found[other]["mark"]:
                found[k]["open"] = 0


@jit
def drop_worse(found: Any, count: int, own: int, keep: int) -> int:
    """Leave the best `keep` actions open, the preferred one beside them; returns how many are."""
    left_open = 0
    for k in range(count):
        left_open += found[k]["open"]
    while left_open > keep:
        worst = -1
        for k in range(count):
            # All that are open have met the same deals, so that sums compare as means do.
            if found[k]["open"] == 1 and k != own and (worst < 0 or found[k]["total"] < found[worst]["total"]):
                worst = k
        found[worst]["open"] = 0
        left_open -= 1
    return left_open


@jit
def _open_likely(
    state: Any, rules: Any, policy: Any, least: float, preferred: int, actions: Any, count: int, work: Any, found: Any
) -> int:
    """Close actions that the policy gives less than a chance; returns how many stay open, `preferred` among them."""
    work[0] = state
    redact(work[0], rules, int(state["turn"]))
    low, high = legal(state, rules)
    write_chances(work[0], rules, low, high, policy)
    chances = policy[OUTPUTS][0]
    still = 0
    for k in range(count):
        found[k]["open"] = int(actions[k] == preferred or chances[actions[k]] >= least)
        still += found[k]["open"]
    return still


@jit
def _rate(found: Any, count: int, own: int, caution: float, values: Any) -> None:
    """Write mean outcomes, less what chance may have added to the lead over the preferred action."""
    for k in range(count):
        values[k] = -np.inf
        if found[k]["open"] == 1:
            deals = float(found[k]["deals"])
            lead = (float(found[k]["total"]) - float(found[own]["total"])) / deals
            variance = max(float(found[k]["square"]) / deals - lead * lead, 0.0)
            values[k] = lead - caution * math.sqrt(variance / deals)


@jit
def _decide(
    state: Any, rules: Any, key: int, kind: int, deals: int, halving: bool, exact: int, nodes: int, moves: bool,
    temperature: float, steps: int, caution: float, least: float, aim: Any, preferred: int, policy: Any,
    quick: Any, memory: Any,
) -> int:  # fmt: skip
    """Rate the legal actions of one redacted record, in ``memory``; returns their count, 0: nothing is to be rated."""
    work, levels, plan, weights, actions, values, found, pool, evidence = memory
    seat = int(state["turn"])
    if not prepare_deals(state, rules, seat, plan):
        return 0
    seen = work[:2]
    base = work[2]
    stack = work[3:]
    count = list_actions(state, rules, actions)
    tried = count
    own = 0
    for k in range(count):
        found[k]["total"] = 0.0
        found[k]["square"] = 0.0
        found[k]["mark"] = 0.0
        found[k]["deals"] = 0
        found[k]["open"] = 1
        if actions[k] == preferred:
            own = k
    if least > 0.0 and has_policy(policy):
        tried = _open_likely(state, rules, policy, least, preferred, actions, count, work, found)
        if tried == 1:
            return 0
    if weights.shape[0] > 0:
        past = weigh_deals(state, rules, seat, plan, key, moves, temperature, work, evidence, weights)
        if pool.shape[0] > 0:
            walk_deals(state, rules, seat, plan, key, temperature, steps, weights, past, work, evidence, pool)
    phases = 1
    while halving and (1 << phases) < tried:
        phases += 1
    share = draw_share(key, 0)
    still = tried
    deal = 0
    for phase in range(phases):
        for _ in range(max(deals * tried // (phases * still), 1)):
            if pool.shape[0] > 0:
                work[2] = pool[deal % pool.shape[0]]
            else:
                work[2] = state
                draw_deal(base, rules, seat, plan, key, deal, weights, share)
            share = (share + _GOLDEN) % 1.0
            deal += 1
            near = exact > 0 and left(base, rules) <= exact * int(rules["num_players"])
            if not (near and _solve_all(base, rules, actions, count, nodes, stack, levels, found)):
                _play_all(base, rules, kind, seat, quick, actions, count, stack, seen, found)
            if aim[2] > 0.0:
                _aim_to_win(base, int(rules["num_players"]), seat, count, aim, found)
            _note(found, count, seat, own, share)
        if phase + 1 < phases:
            drop_twins(found, count, own)
            still = drop_worse(found, count, own, max((still + 1) // 2, 2))
            if still == 1:
                break
    _rate(found, count, own, caution, values)
    return count


@jit
def decide_flat(
    states: Any,
    options: Any,
    keys: Any,
    kind: int,
    deals: int,
    halving: bool,
    exact: int,
    nodes: int,
    moves: bool,
    temperature: float,
    steps: int,
    caution: float,
    least: float,
    aim: Any,
    policy: Any,
    quick: Any,
    memory: Any,
    chosen: Any,
    worth: Any,
) -> None:
    """Choose an action for each of B redacted records.

    Args:
        states: (B,) records, redacted for the seat to act.
        options: (1,) options record.
        keys: (B,) int64 keys of the decisions' chance.
        kind: who moves in playouts, as in `envs.search.playout.play_out`.
        deals: sampled deals for each action of a decision, on average.
        halving: whether better actions get more of them.
        exact: endings of at most this many moves a seat are solved; 0: none.
        nodes: most moves of solving one deal, all actions together; where that is too few the deal is played out.
        moves: whether weights go by all moves, not bids alone.
        temperature: of the weights of deals, where the memory has room for weights.
        steps: of a walk from one deal to the next, where the memory has a pool.
        caution: standard errors by which another action must lead the preferred one: the policy's likeliest or, where
            there is none, the rule player's own choice.
        least: chance that the policy must give an action for it to be tried; the preferred one always is.
        aim: as in `envs.search.playout.win_chance`, where the chance to win counts; a scale of 0: outcomes do.
        policy: from `envs.search.policy.policy_memory`.
        quick: the same of the policy that moves in playouts.
        memory: from `flat_memory`.
        chosen: (B,) int64, written: legal actions.
        worth: (B, A) float64, written: mean value of each action tried, NaN for others; or (B, 0).
    """
    work, _, _, _, actions, values, found, _, _ = memory
    rules = options[0]
    for i in range(states.shape[0]):
        state = states[i]
        for a in range(worth.shape[1]):
            worth[i, a] = np.nan
        chosen[i] = forced_action(state, rules)
        if chosen[i] >= 0:
            continue
        preferred = choose_action(state, rules, POLICY if has_policy(policy) else kind, policy, work)
        count = _decide(
            state, rules, int(keys[i]), kind, deals, halving, exact, nodes, moves, temperature, steps, caution, least,
            aim, preferred, policy, quick, memory,
        )  # fmt: skip
        chosen[i] = preferred
        if count > 0:
            chosen[i] = best_action(actions, values, count, preferred)
        if worth.shape[1] > 0:
            for k in range(count):
                if found[k]["deals"] > 0:
                    worth[i, actions[k]] = float(found[k]["total"]) / float(found[k]["deals"])
