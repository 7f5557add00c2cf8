"""What all searches share: sampled deals, playing a round to its end by one player, and what that is worth."""

from __future__ import annotations

import math
from typing import Any

from envs.cards import fold, random_bits
from envs.game import (
    ACTION_WORD,
    GAME_OVER,
    TRUNCATED,
    determinize,
    legal,
    plausibility,
    redact,
    rewards,
    rule_player,
)
from envs.jit import jit, lowest_bit
from envs.loops import advance, forced_action
from envs.search.policy import POLICY, likeliest_action

_CANDIDATE_STREAM, _CHOICE_STREAM = 1, 2
_TIE = 1e-9


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
def play_out(state: Any, rules: Any, kind: int, policy: Any, seen: Any, out: Any) -> None:
    """Let one player make all moves of a full state, in place, to the round's end.

    `kind`, `policy` and `seen` are as in `choose_action`, `out` as in `round_values`.
    """
    flags = 0
    while flags == 0:
        flags = advance(state, rules, choose_action(state, rules, kind, policy, seen))
    round_values(state, rules, flags, out)


@jit
def weigh_deals(
    state: Any, rules: Any, seat: int, plan: Any, key: int, moves: bool, temperature: float, spare: Any, weights: Any
) -> None:
    """Write the cumulative weights of ``len(weights)`` deals of the prepared plan: how well each explains the past.

    Deal i is `determinize` with ``candidate_key(key, i)``; its weight is exp(plausibility / temperature).
    """
    best = 0.0
    for i in range(weights.shape[0]):
        spare[0] = state
        determinize(spare[0], rules, seat, plan, candidate_key(key, i))
        weights[i] = plausibility(spare[0], rules, seat, moves, spare[1:]) / temperature
        best = max(best, weights[i]) if i > 0 else weights[i]
    total = 0.0
    for i in range(weights.shape[0]):
        total += math.exp(weights[i] - best)
        weights[i] = total


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
