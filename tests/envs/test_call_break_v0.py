"""The module call_break_v0: registration, options, presets, whole games through both faces, plain mode."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest
from pettingzoo.test import api_test, seed_test
from playing import trace

from envs import GAME_IDS, SEAT_IDS, call_break_v0, loops
from envs.call_break import GAME
from envs.call_break.rules import PRESETS, CallBreakRules
from envs.checked import CheckedEnv
from envs.game import GAMES, find_game
from envs.vector import VectorEnv

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo has a registry since 1.27")
def test_made_by_the_registry() -> None:
    env = pettingzoo.make("aec", "taash/call_break-v0", rounds=7, render_mode="ansi")
    assert isinstance(env, CheckedEnv)
    env.reset(seed=1)
    assert env.num_agents == 4
    assert env.rules.rounds == 7
    assert pettingzoo.spec("aec", "taash/call_break-v0").entry_point == GAME_IDS["taash/call_break-v0"]


def test_one_seat_for_gymnasium() -> None:
    env = gymnasium.make("envs:taash/CallBreak-v0", opponents="counting", rounds=1)
    observation, _ = env.reset(seed=1)
    assert observation["action_mask"].shape == (70,)
    assert SEAT_IDS["taash/CallBreak-v0"] == "call_break"


def test_the_game_is_found_by_name() -> None:
    assert find_game("call_break") is GAME
    assert GAMES["call_break"] == "envs.call_break:GAME"


def test_metadata_and_spaces() -> None:
    """Action numbers depend on the game alone."""
    env = call_break_v0.env()
    assert call_break_v0.raw_env.metadata["name"] == "call_break_v0"
    assert str(env) == str(env.unwrapped) == "call_break_v0"
    assert type(env.unwrapped) is call_break_v0.raw_env
    assert env.possible_agents == [f"player_{i}" for i in range(4)]
    assert env.observation_space("player_0")["action_mask"].shape == (70,)
    assert env.action_space("player_3").n == 70
    raw = env.unwrapped
    named = {0: "2S", 51: "AH", 52: "bid 0", 65: "bid 13", 66: "claim", 67: "agree", 68: "refuse", 69: "pass"}
    for action, name in named.items():
        assert raw.action_name(action) == name
        assert raw.action_id(name) == action


@pytest.mark.parametrize("preset", PRESETS)
def test_presets(preset: str) -> None:
    env = call_break_v0.env(preset=preset, rounds=3)
    env.reset(seed=1)
    assert env.rules == GAME.make_rules(preset, rounds=3)
    assert call_break_v0.env(preset=preset, pad_seats=True).observation_space("player_0") == env.observation_space(
        "player_0"
    )


def test_documentation_lists_every_option_and_preset() -> None:
    text = call_break_v0.env.__doc__
    assert text is not None
    for name in [field.name for field in dataclasses.fields(CallBreakRules)] + list(PRESETS):
        assert f"``{name}``" in text
    for field in dataclasses.fields(CallBreakRules):
        assert f"``{field.name}`` (" in text


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "rules", [{"rounds": 1}, {"rounds": 1, "misdeal": "vote"}, {"preset": "pagat", "rounds": 2}, {"preset": "partners"}]
)
def test_pettingzoos_own_tests(rules: dict[str, Any]) -> None:
    api_test(call_break_v0.env(**rules), num_cycles=300)
    seed_test(lambda: call_break_v0.env(**rules), num_cycles=100)


def test_rewards_add_up_over_an_episode() -> None:
    """reward="score": what a seat collects is its final score in points."""
    env = call_break_v0.env(reward="score", rounds=3)
    env.reset(seed=5)
    rng = Random(5)
    totals = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        observation, reward, terminated, _, _ = env.last()
        totals[agent] += reward
        legal = np.flatnonzero(observation["action_mask"]).tolist()
        assert bool(legal) != terminated
        env.step(None if terminated else rng.choice(legal))
    scores = env.unwrapped.snapshot()["scores"]
    assert list(totals.values()) == pytest.approx([score / 10 for score in scores], abs=1e-4)


def test_an_illegal_action_ends_the_game() -> None:
    env = call_break_v0.env()
    env.reset(seed=1, options={"dealer": 3})
    env.step(0)
    assert env.rewards == {"player_0": -13.0, "player_1": 0, "player_2": 0, "player_3": 0}
    assert env.unwrapped.snapshot()["finished"]
    assert env.unwrapped.snapshot()["phase"] == "over"
    assert not any(env.observe(agent)["action_mask"].any() for agent in env.possible_agents)


@pytest.mark.parametrize("rules", [{"rounds": 2}, {"rounds": 1, "misdeal": "vote", "redeal_total": 20}])
def test_the_vector_face_plays_the_same_games(rules: dict[str, Any]) -> None:
    """Game i equals AEC ``reset(seed + i)``, move by move."""
    vector = VectorEnv("call_break", 3, seed=40, **rules)
    batch = vector.reset()
    envs = [call_break_v0.raw_env(**rules) for _ in range(3)]
    for i, env in enumerate(envs):
        env.reset(seed=40 + i)
    rng = Random(1)
    for _ in range(200):
        actions = []
        for i, env in enumerate(envs):
            seat = env.snapshot()["turn"]
            assert batch.turn[i] == seat
            seen = env.observe(env.agent_selection)
            assert (seen["observation"] == batch.observation[i]).all()
            assert (seen["action_mask"] == batch.action_mask[i]).all()
            actions.append(rng.choice(np.flatnonzero(batch.action_mask[i]).tolist()))
        batch = vector.step(np.array(actions))
        for i, env in enumerate(envs):
            env.step(actions[i])
            assert batch.rewards[i] == pytest.approx(list(env.rewards.values()), abs=1e-5)
            if env.terminations[env.agent_selection]:
                assert batch.game_over[i]
                env.reset()


def digest(rules: dict[str, Any]) -> str:
    env = call_break_v0.env(**rules)
    env.reset(seed=11)
    seen: list[Any] = trace(env, Random(3), 150)
    rng, scratch = Random(4), np.zeros(1, GAME.state)
    env.reset(seed=12)
    while not env.terminations[env.agent_selection] and len(seen) < 220:
        states, record = env.unwrapped._states, env.rules.record()
        seen.append([int(loops.player_action(states[0], record[0], player, scratch)) for player in (0, 1, 2)])
        env.step(rng.choice(seen[-1]))
    drawn = [env.unwrapped.determinize(seat, 3) for seat in range(4)]
    env.reset(seed=4, options={"position": drawn[1]})
    return hashlib.sha256(repr((seen, drawn, env.unwrapped.snapshot())).encode()).hexdigest()


@pytest.mark.parametrize(
    "rules",
    [
        {"rounds": 1, "misdeal": "vote"},
        {"preset": "pagat", "misdeal": "auto"},
        {"partnerships": True, "trump": "first_lead"},
    ],
)
def test_plain_mode(rules: dict[str, Any]) -> None:
    """Uncompiled and with every warning an error the same happens."""
    path = "import sys; sys.path[:0] = ['tests', 'tests/envs']"
    code = f"{path}; from test_call_break_v0 import digest; print(digest({rules!r}))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=ROOT,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == digest(rules)
