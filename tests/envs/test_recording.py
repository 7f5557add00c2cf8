"""Whole games recorded and replayed, compiled and plain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scripting import run_code

from envs import SEAT_IDS

ROOT = Path(__file__).parents[2]

RECORD = """
import hashlib
import numpy as np
from envs import jit, loops, recording
from envs.agents import Decisions, find_agent
from envs.game import find_game

assert jit.PLAIN == @plain
game = find_game("@game")
digest = hashlib.sha256()
for options in @options:
    rules = game.make_rules(**options)
    n, count = rules.num_players, 2
    begun = np.zeros(count, game.state)
    loops.start_games(begun, rules.record(), 2**62 + 7)
    states, scratch = begun.copy(), np.zeros(1, game.state)
    players = np.zeros((count, n), np.int8)
    # The caller plays one seat, rule-based and random players the others.
    players[:, 0] = loops.ASK
    players[:, 1:] = find_agent("@player", game).code
    players[1, n - 1] = find_agent("random", game).code
    actions = np.full(count, -1)
    made, rounds = np.zeros(count, np.int64), np.zeros(count, np.int64)
    moves = np.zeros((count, 4), np.uint8)
    log = np.zeros((count, 1, n, len(game.statistics)), np.float32)
    stops = 0
    while (states["turn"] >= 0).any():
        if recording.play_recorded(states, rules.record(), actions, players, moves, made, log, rounds, scratch):
            moves, log = (np.concatenate((part, np.zeros_like(part)), axis=1) for part in (moves, log))
            stops += 1
            continue
        live = np.flatnonzero(states["turn"] >= 0)
        if live.size:
            mask = Decisions(game, rules, states[live]).action_mask
            actions[live] = mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1)
    assert stops > 1 and (made > 4).all() and (states["finished"] > 0).all()

    again, ended, same = begun.copy(), np.zeros(count, np.int64), np.zeros_like(log)
    assert recording.replay(again, rules.record(), moves, made, same, ended) == -1
    for first, second in ((again, states), (same, log), (ended, rounds)):
        assert first.tobytes() == second.tobytes()

    def first_wrong(moves, made, log):
        return recording.replay(begun.copy(), rules.record(), moves, made, log, np.zeros(count, np.int64))

    illegal, longer = moves.copy(), np.concatenate((moves, np.zeros_like(moves)), axis=1)
    illegal[1, made[1] // 2] = game.num_actions
    assert first_wrong(illegal, made, np.zeros_like(log)) == 1
    assert first_wrong(longer, made + 1, np.zeros_like(log)) == 0
    assert first_wrong(moves, made, np.zeros_like(log[:, : rounds.max() - 1])) == rounds.argmax()

    for part in (states, moves, made, log, rounds):
        digest.update(part.tobytes())
print(digest.hexdigest())
"""

PLAYED: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "kachuful": ("heuristic", [{"max_hand": 2}, {"max_hand": 2, "num_players": 3, "blind": "optional"}]),
    "call_break": ("heuristic", [{"rounds": 2, "misdeal": "vote"}]),
    "kaschlan": ("lowest", [{"max_bouts": 6}, {"num_players": 2}]),  # the stronger player searches too long, plain
}


def run(code: str, plain: bool) -> str:
    return run_code(code.replace("@plain", str(plain)), NUMBA_DISABLE_JIT=str(int(plain)))


@pytest.mark.parametrize("game", PLAYED)
def test_plain_games_are_recorded_and_replayed_as_compiled_ones(game: str) -> None:
    """Byte for byte: states, moves and statistics; a replay gives what was recorded, without a warning."""
    player, options = PLAYED[game]
    code = RECORD.replace("@game", game).replace("@player", player).replace("@options", repr(options))
    assert run(code, plain=True) == run(code, plain=False)


def test_every_game_is_recorded() -> None:
    assert set(PLAYED) == set(SEAT_IDS.values())
