"""What a position, and every action in it, would bring: against moves made one by one."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from envs import loops
from envs.game import find_game
from envs.search.lookahead import action_outcomes, lookahead_memory, position_values
from envs.search.playout import choose_action, round_values
from envs.search.policy import NO_NETWORK, POLICY, join_layers, policy_memory

GAMES = ["kachuful", "call_break", "kaschlan"]


def positions(name: str, count: int) -> tuple[Any, Any, np.ndarray]:
    """Full records after some random moves, each with a choice."""
    game = find_game(name)
    rules = game.make_rules()
    states = np.zeros(count, game.state)
    loops.start_games(states, rules.record(), 1)
    for i in range(count):
        loops.random_moves(states[i : i + 1], rules.record(), 3 * i, 7 + i)
        while loops.forced_action(states[i], rules.record()[0]) >= 0:
            loops.random_moves(states[i : i + 1], rules.record(), 1, 99)
    return game, rules, states


def network(game: Any, rules: Any) -> Any:
    generator = np.random.default_rng(3)
    widths = [game.layout(rules.num_players, False).size, 16, game.num_actions]
    layers = [
        (generator.normal(0, 0.3, (o, i)).astype(np.float32), np.zeros(o, np.float32)) for i, o in pairwise(widths)
    ]
    return policy_memory(join_layers(layers))


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("kind", ["rule", "policy"])
def test_outcomes_are_those_of_playing_on(name: str, kind: str) -> None:
    game, rules, states = positions(name, 12)
    options, seats = rules.record(), rules.num_players
    policy = network(game, rules) if kind == "policy" else policy_memory(NO_NETWORK)
    own = POLICY if kind == "policy" else len(game.rule_players) - 1
    players = np.tile(np.array([-1, 1, len(game.rule_players), -1], np.int8)[:seats], (12, 1))
    asked = np.arange(12) != 5
    before = states.copy()
    found = np.full((12, game.num_actions, seats), 77.0, np.float32)
    wanted = np.repeat(asked[:, None], game.num_actions, axis=1)
    wanted[7, 1] = False
    memory = lookahead_memory(game.state, game.num_actions)
    action_outcomes(states, options, players, wanted, own, policy, memory, found)
    assert np.array_equal(states, before)
    assert (found[5] == 77).all()
    assert (found[7, 1] == 77).all()
    wanted[:] = False
    wanted[7, 1] = True
    action_outcomes(states, options, players, wanted, own, policy, memory, found)
    values = np.full(12, 77.0, np.float32)
    position_values(states, options, players, asked, own, policy, memory, values)
    assert np.array_equal(states, before)
    assert values[5] == 77
    seen = np.zeros(1, game.state)
    for i in np.flatnonzero(asked).tolist():
        low, high = game.engine.legal(states[i], options[0])
        legal = [a for a in range(game.num_actions) if loops.has_action(low, high, a)]
        seat = int(states[i]["turn"])
        for k, action in enumerate(legal):
            record = states[i : i + 1].copy()
            flags = loops.advance(record[0], options[0], action)
            while flags == 0:
                code = int(players[i, int(record[0]["turn"])])
                move = choose_action(record[0], options[0], code - 1 if code > 0 else own, policy, seen)
                flags = loops.advance(record[0], options[0], int(move))
            out = np.zeros(8, np.float32)
            round_values(record[0], options[0], flags, out)
            assert np.array_equal(found[i, k], out[:seats])
        assert (found[i, len(legal) :] == 77).all()
        code = int(players[i, seat])
        if code < 0:
            chosen = choose_action(states[i], options[0], own, policy, seen)
            assert values[i] == found[i, legal.index(int(chosen)), seat]
