"""What agents are given, and the built-in ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from envs.aec import TableEnv
from envs.agents import BuiltIn, Decisions, agent_names, find_agent
from envs.game import find_game, redact
from envs.jit import PLAIN
from envs.vector import PLAYER_ASK, VectorEnv

GAME = find_game("kachuful")
NUM_ENVS = 3 if PLAIN else 40


def some_states(seed: int = 0, **rules: Any) -> tuple[VectorEnv, Any]:
    """A vector of games in the midst of play, and its rules."""
    env = VectorEnv(GAME, NUM_ENVS, seed, **rules)
    env.reset(scatter=150)
    return env, env.rules


def test_names() -> None:
    assert agent_names(GAME) == ("random", "counting", "heuristic")
    assert find_agent("counting", GAME) == BuiltIn("counting", 1)
    assert find_agent("random", GAME).code == 0


@pytest.mark.parametrize("name", ["", "Counting", "clever"])
def test_an_unknown_name_lists_the_choices(name: str) -> None:
    with pytest.raises(ValueError, match="choose one of random, counting, heuristic") as error:
        find_agent(name, GAME)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "rules", [{}, {"blind": "optional"}, {"single_card": "forehead", "max_hand": 2, "num_players": 5}]
)
def test_records_are_redacted_copies(rules: dict[str, Any]) -> None:
    env, options = some_states(**rules)
    states = env.get_state()
    kept = states.copy()
    decisions = Decisions(GAME, options, states)
    assert np.array_equal(states, kept)
    assert len(decisions) == NUM_ENVS
    record = options.record()
    for i in range(NUM_ENVS):
        redact(kept[i], record[0], int(kept[i]["turn"]))
    assert np.array_equal(decisions.states, kept)
    assert not decisions.states["seed"].any()


@pytest.mark.parametrize("pad_seats", [False, True])
@pytest.mark.parametrize("rules", [{}, {"num_players": 3, "blind": "optional", "revoke": "penalty"}])
def test_features_and_masks_are_those_of_the_vector_env(pad_seats: bool, rules: dict[str, Any]) -> None:
    env = VectorEnv(GAME, NUM_ENVS, pad_seats=pad_seats, **rules)
    batch = env.reset(scatter=150)
    decisions = Decisions(GAME, env.rules, env.get_state())
    assert np.array_equal(decisions.action_mask, batch.action_mask)
    assert np.array_equal(decisions.observation(pad_seats), batch.observation)


def test_keys_depend_on_seed_game_and_move_but_not_on_the_batch() -> None:
    env, rules = some_states()
    states = env.get_state()
    keys = Decisions(GAME, rules, states, 5).keys
    assert len(set(keys)) == NUM_ENVS
    assert keys.min() >= 0
    assert keys.max() < 2**62
    order = np.random.default_rng(0).permutation(NUM_ENVS)
    assert np.array_equal(Decisions(GAME, rules, states[order], 5).keys, keys[order])
    assert not np.isin(Decisions(GAME, rules, states, 6).keys, keys).any()
    for field in ("seed", "game", "moves"):
        changed = states.copy()
        changed[field] += 1
        assert not np.isin(Decisions(GAME, rules, changed, 5).keys, keys).any()


def test_uniforms_are_uniform_and_repeat() -> None:
    env, rules = some_states()
    decisions = Decisions(GAME, rules, env.get_state())
    draws = decisions.uniforms(500)
    assert draws.shape == (NUM_ENVS, 500)
    assert np.array_equal(draws, decisions.uniforms(500))
    assert 0 < draws.min() < draws.max() < 1
    assert abs(draws.mean() - 0.5) < 4 * (1 / 12 / draws.size) ** 0.5
    assert len(np.unique(draws[:, 0])) == NUM_ENVS


@pytest.mark.parametrize("rules", [{"max_hand": 3}, {"max_hand": 3, "blind": "optional", "num_players": 3}])
def test_a_rule_player_asked_plays_as_the_compiled_table_does(rules: dict[str, Any]) -> None:
    agent = find_agent("counting", GAME)
    played = VectorEnv(GAME, NUM_ENVS, restart=False, players=np.full(rules.get("num_players", 4), agent.code), **rules)
    played.reset()
    asked = VectorEnv(GAME, NUM_ENVS, restart=False, observation=False, **rules)
    batch = asked.reset()
    while (live := np.flatnonzero(batch.turn >= 0)).size:
        actions = np.full(NUM_ENVS, PLAYER_ASK, np.int64)
        actions[live] = agent.act(Decisions(GAME, asked.rules, asked.get_state()[live]))
        batch = asked.step(actions)
    assert np.array_equal(asked.get_state(), played.get_state())


def test_the_random_player_draws_legal_actions_uniformly() -> None:
    env = VectorEnv(GAME, 1, max_hand=3, schedule="down")
    env.reset()
    states = np.repeat(env.get_state(), 200 if PLAIN else 4000)
    states["seed"] = np.arange(len(states))
    decisions = Decisions(GAME, env.rules, states)
    actions = find_agent("random", GAME).act(decisions)
    assert decisions.action_mask[np.arange(len(actions)), actions].all()
    _, counts = np.unique(actions, return_counts=True)
    expected = len(actions) / 4
    assert len(counts) == 4
    assert ((counts - expected) ** 2 / expected).sum() < 16.3  # chi-square, 3 degrees of freedom, p = 0.001


def test_what_a_seat_cannot_see_changes_nothing_it_is_given() -> None:
    env, rules = some_states()
    states = env.get_state()
    swapped = states.copy()
    for i in range(NUM_ENVS):
        a, b = [seat for seat in range(4) if seat != states[i]["turn"]][:2]
        swapped["hands"][i, [a, b]] = states["hands"][i, [b, a]]
    assert not np.array_equal(states, swapped)
    first, second = Decisions(GAME, rules, states), Decisions(GAME, rules, swapped)
    assert np.array_equal(first.states, second.states)
    assert np.array_equal(first.observation(), second.observation())


def test_an_env_asks_agents_what_a_vector_env_asks() -> None:
    """One game, played by asking: the same decisions, and the moves that the compiled loops make by themselves."""
    env = TableEnv(GAME, max_hand=3)
    with pytest.raises(RuntimeError, match="call reset"):
        env.decisions()
    env.reset(seed=5)
    many = VectorEnv(GAME, 1, 5, max_hand=3, restart=False)
    batch = many.reset()
    agent = find_agent("heuristic", GAME)
    while batch.turn[0] >= 0:
        asked, same = env.decisions(seed=9), Decisions(GAME, many.rules, many.get_state(), 9)
        assert np.array_equal(asked.states, same.states)
        assert np.array_equal(asked.keys, same.keys)
        action = int(agent.act(asked)[0])
        env.step(action)
        batch = many.step(np.array([action]))
    with pytest.raises(RuntimeError, match="the game is over"):
        env.decisions()
