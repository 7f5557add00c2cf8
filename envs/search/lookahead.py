"""What would come of a position, and of every legal action in it: each is played out in the game as it really is.

For learning only: the hidden cards are those of the actual deal. Over many deals the mean outcome of an action is its
worth to a seat that knows what it can know, and all actions of a decision share the luck of its deal (rollouts of
policies: G. Tesauro and G. R. Galperin, On-line policy improvement using Monte-Carlo search, NIPS 1996).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from envs.game import SEATS
from envs.jit import jit
from envs.loops import RANDOM, advance, random_action
from envs.search.playout import choose_action, list_actions, round_values


def lookahead_memory(state: np.dtype[Any], actions: int) -> tuple[Any, ...]:
    """Working memory of `action_outcomes`; it serves one thread at a time."""
    return np.zeros(1, state), np.zeros(1, state), np.zeros(actions, np.int64), np.zeros(SEATS, np.float32)


@jit
def _finish_round(game: Any, rules: Any, players: Any, kind: int, policy: Any, seen: Any, flags: int, out: Any) -> None:
    """Play a full record on, in place, from a step that returned `flags`, and write `round_values` to `out`."""
    while flags == 0:
        player = int(players[int(game["turn"])])
        if player == RANDOM:
            action = random_action(game, rules)
        else:
            action = choose_action(game, rules, player - 1 if player > RANDOM else kind, policy, seen)
        flags = advance(game, rules, action)
    round_values(game, rules, flags, out)


@jit
def position_values(
    states: Any, options: Any, players: Any, asked: Any, kind: int, policy: Any, memory: Any, values: Any
) -> None:
    """Play the round of every game out from where it is.

    Args:
        states: as in `action_outcomes`.
        options: as there.
        players: as there.
        asked: (B,) bool, games to be played out.
        kind: as there.
        policy: as there.
        memory: as there.
        values: (B,) float32, written: what the round brings the seat to act; others are left as they are.
    """
    work, seen, _, out = memory
    for i in range(states.shape[0]):
        if asked[i]:
            work[0] = states[i]
            _finish_round(work[0], options[0], players[i], kind, policy, seen, 0, out)
            values[i] = out[int(states[i]["turn"])]


@jit
def action_outcomes(
    states: Any, options: Any, players: Any, wanted: Any, kind: int, policy: Any, memory: Any, outcomes: Any
) -> None:
    """Play out legal actions of the seats to act.

    Args:
        states: (B,) full records of games that have not ended.
        options: (1,) options record.
        players: (B, seats) int8 player codes (see `envs.vector.VectorEnv`): who moves in the playouts.
        wanted: (B, A) bool: ``wanted[i, k]`` asks for the k-th legal action, ascending.
        kind: who moves for `envs.loops.ASK`: a rule player, or `POLICY`.
        policy: from `envs.search.policy.policy_memory`.
        memory: from `lookahead_memory`.
        outcomes: (B, A, seats) float32, written where wanted: what the round then brings each seat, as `round_values`
            has it; other entries are left as they are.
    """
    work, seen, actions, out = memory
    rules = options[0]
    for i in range(states.shape[0]):
        if not wanted[i].any():
            continue
        count = list_actions(states[i], rules, actions)
        for k in range(count):
            if not wanted[i, k]:
                continue
            work[0] = states[i]
            game = work[0]
            flags = advance(game, rules, int(actions[k]))
            _finish_round(game, rules, players[i], kind, policy, seen, flags, out)
            for seat in range(outcomes.shape[2]):
                outcomes[i, k, seat] = out[seat]
