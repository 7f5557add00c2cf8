"""What all searches share: sampled deals, playing a round to its end by one player, and what that is worth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from envs.cards import fold, random_bits
from envs.game import (
    ACTION_WORD,
    GAME_OVER,
    MOST_PAST,
    SEATS,
    TRUNCATED,
    determinize,
    exchange,
    judge,
    legal,
    past,
    redact,
    rewards,
    rule_player,
)
from envs.jit import jit, local_array, lowest_bit
from envs.loops import advance, forced_action
from envs.search.policy import POLICY, likeliest_action

_CANDIDATE_STREAM, _CHOICE_STREAM, _WALK_STREAM = 1, 2, 3
_NEGLIGIBLE = 20.0
"""Deals that are so many times e times less likely than the likeliest have no weight worth knowing."""
EVERYONE = (1 << SEATS) - 1
WALKS = 4
"""Walks that share the deals of a decision."""
_FIRST_STEPS = 8
"""Deals' worth of steps that a walk makes before its first deal."""
_BESIDE_RULE_PLAYERS = -2
_TIE = 1e-9
_TIED = 0.01
"""Points by which equal scores may differ, having come from float32; scores are tenths at least."""
_CERTAIN = 500.0
"""Logarithm of odds beyond which nothing changes."""


@jit
def round_values(state: Any, rules: Any, flags: int, out: Any) -> None:
    """Write what the round that `flags` say has ended is worth to each seat to ``out[:num_players]`` (float32).

    That is the game's `rewards`. Where they are all 0 and the game goes on, as with rewards for winning alone, it is
    what a seat gained in the round less the mean of the others' gains: a lead is what helps to win.
    """
    n = int(rules["num_players"])
    rewards(state, rules, flags, out)
    if flags & (GAME_OVER | TRUNCATED):
        return
    total = 0
    for seat in range(n):
        if out[seat] != 0.0:
            return
        total += int(state["gained"][seat])
    for seat in range(n):
        own = int(state["gained"][seat])
        out[seat] = own - (total - own) / (n - 1)


def beside_rule_players(kind: int) -> int:
    """The kind of playouts in which the policy moves the seat that searches, and rule player `kind` all others."""
    return _BESIDE_RULE_PLAYERS - kind


@jit
def mover(kind: int, seat: int, own: int) -> int:
    """Who moves a seat in playouts of a kind: a rule player, or `POLICY`; `own` is the seat that searches."""
    if kind > _BESIDE_RULE_PLAYERS:
        return kind
    return POLICY if seat == own else _BESIDE_RULE_PLAYERS - kind


@jit
def win_chance(state: Any, seats: int, seat: int, margins: Any, aim: Any) -> float:
    """Chance of a seat to win the game after a round that brings all seats what `margins` say; ties share a win.

    As `training.objective.WinChances` has it: a softmax of the expected scores, wider the more rounds are left.

    Args:
        state: a record of the round.
        seats: seats of the table.
        seat: who asks; it alone is ahead by the edge in every round left.
        margins: each seat's points less the mean of the others', in points.
        aim: score units in a point, rounds of a game, scale of the softmax after one round, and edge.
    """
    points, rounds, scale, edge = aim
    left = max(rounds - 1.0 - float(state["round"]), 0.0)
    total = 0.0
    own = float(state["scores"][seat]) / points + float(margins[seat]) * (seats - 1) / seats + edge * left
    for other in range(seats):
        # Margins tell gains but for what all have in common, which no chance depends on.
        after = float(state["scores"][other]) / points + float(margins[other]) * (seats - 1) / seats
        ahead = own - after if other != seat else 0.0
        if left > 0.0:
            total += math.exp(min(-ahead / (scale * math.sqrt(left)), _CERTAIN))
        elif ahead < -_TIED:
            return 0.0
        else:
            total += 1.0 if ahead <= _TIED else 0.0
    return 1.0 / total


@jit
def choose_action(state: Any, rules: Any, kind: int, policy: Any, seen: Any) -> int:
    """What a player does in a full state: it sees the record redacted, in ``seen[0]``.

    Args:
        state: the record of a game that has not ended.
        rules: the options record.
        kind: a rule player, or `POLICY`: the policy's likeliest action.
        policy: from `envs.search.policy.policy_memory`.
        seen: a record, overwritten.
    """
    action = forced_action(state, rules)
    if action >= 0:
        return action
    seen[0] = state
    redact(seen[0], rules, int(state["turn"]))
    if kind == POLICY:
        return likeliest_action(seen[0], rules, policy)
    return rule_player(seen[0], rules, kind)


@jit
def play_out(state: Any, rules: Any, kind: int, own: int, policy: Any, seen: Any, out: Any) -> None:
    """Make all moves of a full state, in place, to the round's end.

    Args:
        state: the record of a game that has not ended.
        rules: the options record.
        kind: a rule player or `POLICY`, who moves all seats, or a kind of `beside_rule_players`.
        own: the seat that searches.
        policy: as in `choose_action`.
        seen: as there.
        out: as in `round_values`.
    """
    flags = 0
    while flags == 0:
        player = mover(kind, int(state["turn"]), own)
        flags = advance(state, rules, choose_action(state, rules, player, policy, seen))
    round_values(state, rules, flags, out)


def evidence_memory(state: np.dtype[Any]) -> tuple[Any, ...]:
    """Room for the past of a round, as `plausibility` reads it."""
    return np.zeros(MOST_PAST + 1, state), np.zeros(MOST_PAST, np.int64)


@jit
def plausibility(deal: Any, rules: Any, count: int, judged: int, floor: float, evidence: Any) -> float:
    """How well a full state explains what `judged` seats (bits) did: a log weight, 0 at best.

    What they did is compared with what the strongest rule-based player would have done with these cards; each step of
    difference costs 1. Such a player sees its own hand alone: the weights of seats add up.

    Args:
        deal: the full state.
        rules: the options record.
        count: decisions that `past` has written to `evidence`.
        judged: the seats.
        floor: anything below it may stand for what is.
        evidence: from `evidence_memory`.
    """
    records, actions = evidence
    value = 0.0
    # The latest say most of the cards that are still held.
    for k in range(count - 1, -1, -1):
        if (judged >> int(records[k]["turn"])) & 1:
            value -= judge(records[k], rules, deal, int(actions[k]))
            if value < floor:
                break
    return value


@jit
def weigh_deals(
    state: Any, rules: Any, seat: int, plan: Any, key: int, moves: bool, temperature: float, spare: Any, evidence: Any,
    weights: Any,
) -> int:  # fmt: skip
    """Write the cumulative weights of ``len(weights)`` deals of the prepared plan: how well each explains the past.

    Deal i is `determinize` with ``candidate_key(key, i)``; its weight is exp(plausibility / temperature).

    Args:
        state: the record, redacted for `seat`.
        rules: the options record.
        seat: who searches.
        plan: prepared by `prepare_deals`.
        key: of the decision's chance.
        moves: whether all moves count, not bids alone.
        temperature: of the weights.
        spare: a record, overwritten.
        evidence: from `evidence_memory`, written.
        weights: written.

    Returns:
        Decisions of the past in `evidence`.
    """
    best = -np.inf
    count = 0
    for i in range(weights.shape[0]):
        spare[0] = state
        determinize(spare[0], rules, seat, plan, candidate_key(key, i))
        if i == 0:
            count = past(spare[0], rules, seat, moves, evidence[0], evidence[1])
        floor = temperature * (best - _NEGLIGIBLE)
        weights[i] = plausibility(spare[0], rules, count, EVERYONE, floor, evidence) / temperature
        best = max(best, weights[i])
    total = 0.0
    for i in range(weights.shape[0]):
        total += math.exp(weights[i] - best)
        weights[i] = total
    return count


@jit
def _gains(new: Any, old: Any, rules: Any, seat: int, count: int, evidence: Any, least: float, values: Any) -> bool:
    """Whether a deal explains the past better than another one, by `least` or more.

    Seats that see the same are not judged again. `values` are those of the seats in the other deal; where the answer is
    yes they are overwritten by the new ones.
    """
    # A hand that its own seat does not see may be seen by all others.
    all_see = new["hands"][seat] != old["hands"][seat]
    gain = 0.0
    for other in range(values.shape[0]):
        if all_see or new["hands"][other] != old["hands"][other]:
            gain -= values[other]
    found = local_array(SEATS, np.float64)
    for other in range(values.shape[0]):
        found[other] = values[other]
        if all_see or new["hands"][other] != old["hands"][other]:
            found[other] = plausibility(new, rules, count, 1 << other, least - gain, evidence)
            gain += found[other]
            if gain < least:
                return False
    for other in range(values.shape[0]):
        values[other] = found[other]
    return True


@jit
def walk_deals(
    state: Any, rules: Any, seat: int, plan: Any, key: int, temperature: float, steps: int, weights: Any, count: int,
    spare: Any, evidence: Any, pool: Any,
) -> None:  # fmt: skip
    """Fill `pool` with full states drawn, by Metropolis walks, by how well they explain the past.

    A few walks begin at candidates drawn by the weights of `weigh_deals`. Each step exchanges two hidden cards, and is
    taken back with the chance that makes deals as frequent as their weights are high (N. Metropolis et al., Equation of
    state calculations by fast computing machines, J. Chem. Phys. 21, 1953).

    Args:
        state: the record, redacted for `seat`.
        rules: the options record.
        seat: who searches.
        plan: prepared by `prepare_deals`.
        key: of the decision's chance, that of the weights.
        temperature: of the weights.
        steps: steps from one deal to the next.
        weights: as `weigh_deals` has written them, at least one.
        count: what it returned.
        spare: a record, overwritten.
        evidence: as `weigh_deals` has left it.
        pool: records, written.
    """
    walk = fold(key, _WALK_STREAM)
    done = 0
    n = int(rules["num_players"])
    values = local_array(SEATS, np.float64)[:n]
    values[:] = 0.0
    for k in range(WALKS):
        first = k * pool.shape[0] // WALKS
        for i in range(first, (k + 1) * pool.shape[0] // WALKS):
            if i == first:
                pool[i] = state
                chosen = chosen_candidate(weights, (k + draw_share(key, 0)) / WALKS)
                determinize(pool[i], rules, seat, plan, candidate_key(key, chosen))
                for other in range(n):
                    values[other] = plausibility(pool[i], rules, count, 1 << other, -np.inf, evidence)
            else:
                pool[i] = pool[i - 1]
            for _ in range(steps * (_FIRST_STEPS if i == first else 1)):
                done += 1
                spare[0] = pool[i]
                if exchange(spare[0], rules, seat, plan, fold(walk, done)):
                    allowed = temperature * math.log(draw_share(walk, done))
                    if _gains(spare[0], pool[i], rules, seat, count, evidence, allowed, values):
                        pool[i] = spare[0]


@jit
def candidate_key(key: int, i: int) -> int:
    """Key of the i-th deal that is drawn to be weighed."""
    return fold(fold(key, _CANDIDATE_STREAM), i)


@jit
def chosen_candidate(weights: Any, share: float) -> int:
    """Index of the candidate at a share (0..1) of the cumulative weights."""
    wanted = share * weights[-1]
    low = 0
    high = weights.shape[0] - 1
    while low < high:
        middle = (low + high) // 2
        if weights[middle] > wanted:
            high = middle
        else:
            low = middle + 1
    return low


@jit
def draw_share(key: int, i: int) -> float:
    """The i-th random number in (0, 1) for the choice of candidates."""
    key = fold(key, _CHOICE_STREAM)
    return (random_bits(key & 0xFFFFFFFF, key >> 32, i) + 0.5) * 2.0**-32


@jit
def draw_deal(state: Any, rules: Any, seat: int, plan: Any, key: int, i: int, weights: Any, share: float) -> None:
    """Fill a redacted record, in place, with the i-th deal or, where there are weights, the candidate at `share`."""
    if weights.shape[0] > 0:
        determinize(state, rules, seat, plan, candidate_key(key, chosen_candidate(weights, share)))
    else:
        determinize(state, rules, seat, plan, fold(key, i))


@jit
def list_actions(state: Any, rules: Any, actions: Any) -> int:
    """Write the legal actions to ``actions[:count]`` in ascending order; returns the count."""
    low, high = legal(state, rules)
    count = 0
    while low != 0:
        actions[count] = lowest_bit(low)
        low &= low - 1
        count += 1
    while high != 0:
        actions[count] = ACTION_WORD + lowest_bit(high)
        high &= high - 1
        count += 1
    return count


@jit
def best_action(actions: Any, values: Any, count: int, preferred: int) -> int:
    """The action of the highest value; among equals `preferred`, where it is one of them, else the first."""
    most = values[0]
    for k in range(1, count):
        most = max(most, values[k])
    bound = most - _TIE * (1.0 + abs(most))
    best = -1
    for k in range(count):
        if values[k] >= bound and (best < 0 or actions[k] == preferred):
            best = int(actions[k])
    return best
