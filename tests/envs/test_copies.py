"""Copies and pickles of running environments go on exactly as the original."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from playing import face, play_until, step_randomly, trace

from envs import kachuful_v0

RULES: dict[str, Any] = {"max_hand": 3, "blind": "optional", "single_card": "forehead"}
WAYS: list[Callable[[Any], Any]] = [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))]
MOMENTS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "start": lambda snapshot: True,
    "looked": lambda snapshot: any(snapshot["looked"]),
    "bidding": lambda snapshot: sum(bid is not None for bid in snapshot["bids"]) == 2,
    "playing": lambda snapshot: len(snapshot["trick"]) == 3,
    "second trick": lambda snapshot: len(snapshot["played"]) == 1 and bool(snapshot["trick"]),
    "third round": lambda snapshot: snapshot["round"] == 2,
    "end": lambda snapshot: snapshot["finished"],
}


@pytest.mark.parametrize("way", WAYS, ids=["deepcopy", "pickle"])
@pytest.mark.parametrize("make", [kachuful_v0.raw_env, kachuful_v0.env])
@pytest.mark.parametrize("moment", MOMENTS)
def test_copies_go_on(way: Callable[[Any], Any], make: Callable[..., Any], moment: str) -> None:
    env = make(**RULES)
    env.reset(seed=9)
    play_until(env, Random(1), MOMENTS[moment])
    twin, untouched = way(env), way(env)
    assert face(twin) == face(env)
    shown = face(untouched), untouched.unwrapped.history, untouched.unwrapped.snapshot()
    assert trace(env, Random(2)) == trace(twin, Random(2))
    assert env.unwrapped.history == twin.unwrapped.history
    assert (face(untouched), untouched.unwrapped.history, untouched.unwrapped.snapshot()) == shown
    for again in (env, twin):
        again.reset()
    assert face(env) == face(twin)


@pytest.mark.parametrize("way", WAYS, ids=["deepcopy", "pickle"])
def test_copies_of_envs_not_yet_reset_or_ended(way: Callable[[Any], Any]) -> None:
    env = way(kachuful_v0.env(**RULES))
    with pytest.raises(AssertionError, match="reset"):
        env.step(0)
    env.reset(seed=1)
    env.step(99)
    ended = way(env)
    assert face(ended) == face(env)
    assert ended.snapshot()["finished"]
    step_randomly(ended, Random(0))
    assert len(ended.agents) == 3
    trace(env, Random(0))
    assert way(env).agents == []


def test_spaces_and_wrapper_state_are_copied() -> None:
    env = kachuful_v0.env(**RULES)
    env.reset(seed=1)
    env.action_space("player_0").seed(5)
    twin = copy.deepcopy(env)
    assert twin.action_space("player_0") is not env.action_space("player_0")
    assert twin.action_space("player_0").sample() == env.action_space("player_0").sample()
    loop = iter(twin.agent_iter())
    next(loop)
    with pytest.raises(AssertionError, match="need to call step"):
        next(iter(copy.deepcopy(twin).agent_iter()))
