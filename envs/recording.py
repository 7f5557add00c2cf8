"""Compiled loops that play many games to their end, keep every move, and play kept moves again.

Kept moves are those that somebody made: forced ones too, but not those that the game makes by itself
(`envs.game.automatic`). With the record's seed and the rules they are the whole game.
"""

from __future__ import annotations

from typing import Any

from envs.game import GAME_OVER, TRUNCATED, next_round, statistics
from envs.jit import jit
from envs.loops import ASK, advance, forced_action, is_legal, player_action


@jit
def _move(state: Any, rules: Any, action: int, log: Any, i: int, at: int) -> int:
    """Make a move; where a round ends, log its statistics as round `at` of game `i` and go on. Returns rounds ended."""
    flags = advance(state, rules, action)
    if flags == 0:
        return 0
    for seat in range(log.shape[2]):
        statistics(state, rules, seat, log[i, at, seat])
    if flags & (GAME_OVER | TRUNCATED) == 0:
        next_round(state, rules)
    return 1


@jit
def play_recorded(
    states: Any, options: Any, actions: Any, players: Any, moves: Any, made: Any, log: Any, rounds: Any, scratch: Any
) -> bool:
    """Play on in every game until the caller has to decide, recording moves and the statistics of rounds.

    Args:
        states: (G,) records; games that have ended stay as they are.
        options: (1,) record of the rules.
        actions: (G,) int64: the caller's legal decisions, -1 for none; set to -1 once made.
        players: (G, seats) int8 player codes (`envs.loops.ASK`: the caller, asked only where there is a choice).
        moves: (G, M) uint8: the moves of each game, in order.
        made: (G,) int64: how many there are.
        log: (G, R, seats, K) float32: the game's statistics of each finished round.
        rounds: (G,) int64: how many have finished.
        scratch: (1,) record, to be overwritten.

    Returns:
        Whether a game had to stop because `moves` or `log` is full: call again with more room.
    """
    rules = options[0]
    full = False
    for i in range(states.shape[0]):
        state = states[i]
        while int(state["turn"]) >= 0:
            if int(made[i]) == moves.shape[1] or int(rounds[i]) == log.shape[1]:
                full = True
                break
            action = int(actions[i])
            if action < 0:
                player = int(players[i, int(state["turn"])])
                action = forced_action(state, rules) if player == ASK else player_action(state, rules, player, scratch)
                if action < 0:
                    break
            actions[i] = -1
            moves[i, made[i]] = action
            made[i] += 1
            rounds[i] += _move(state, rules, action, log, i, int(rounds[i]))
    return full


@jit
def replay(states: Any, options: Any, moves: Any, made: Any, log: Any, rounds: Any) -> int:
    """Play recorded moves again (arrays as in `play_recorded`); returns the first game with an illegal one, or -1.

    A game is also wrong where it has moves beyond its end, or more rounds than `log` holds.
    """
    rules = options[0]
    for i in range(states.shape[0]):
        state = states[i]
        for k in range(int(made[i])):
            action = int(moves[i, k])
            if int(rounds[i]) == log.shape[1] or int(state["turn"]) < 0 or not is_legal(state, rules, action):
                return i
            rounds[i] += _move(state, rules, action, log, i, int(rounds[i]))
    return -1
