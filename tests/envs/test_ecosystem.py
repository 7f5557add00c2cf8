"""What PettingZoo checks of its environments, and what it does not: masks, whole games, copies. Under every option."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pettingzoo
import pytest
from games import (
    NAMES,
    ORACLES,
    SHIPPED,
    VARIANTS,
    both_makers,
    each_game,
    each_maker,
    each_preset,
    each_variant,
    env,
    raw_env,
)
from pettingzoo.test import api_test, render_test, seed_test
from pettingzoo.test.state_test import test_state as check_state
from pettingzoo.test.state_test import test_state_space as check_state_space
from playing import face, positions, step_randomly, trace

from envs import GAME_IDS

ROOT = Path(__file__).parents[2]


def test_every_game_has_an_entry() -> None:
    assert NAMES == SHIPPED


@contextmanager
def strictly() -> Iterator[None]:
    """Every warning is an error, but for what PettingZoo says to environments with masks and with options."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "option 'options' of reset")  # the test passes one on purpose
        warnings.filterwarnings("ignore", "Observation is not a NumPy array")  # but a dict of arrays
        warnings.filterwarnings("ignore", "Observation space for each agent probably should be")  # the same
        warnings.filterwarnings("ignore", "Action mask numpy array is all zeros")  # of an agent whose game is over
        yield


def check(make: Any, num_cycles: int, /, *arguments: Any, **rules: Any) -> None:
    with strictly():
        api_test(make(*arguments, **rules), num_cycles=num_cycles)
        seed_test(lambda: make(*arguments, **rules), num_cycles=num_cycles)


@both_makers
@each_preset
def test_presets(make: Any, name: str, preset: str) -> None:
    for n in ORACLES[name].SEATS:
        check(make, 12, name, preset=preset, num_players=n)


@pytest.mark.slow
@each_maker
@each_preset
def test_presets_in_whole_games(make: Any, name: str, preset: str) -> None:
    low, high = ORACLES[name].GAME.players
    for n in range(low, high + 1):
        check(make, 1000, name, preset=preset, num_players=n)


@each_maker
@each_variant
def test_variants(make: Any, name: str, rules: dict[str, Any]) -> None:
    for n in ORACLES[name].SEATS:
        check(make, 40, name, num_players=n, **rules)


@each_maker
@each_variant
def test_states(make: Any, name: str, rules: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """PettingZoo's test acts at random, legal or not: the raw environment does not bear that."""
    with strictly():
        env = make(name, **rules)
        raw = env.unwrapped
        check_state_space(env)
        assert env.state_space is env.state_space
        assert env.state_space.shape == (raw.game.state_layout(raw.rules.num_players, raw.pad_seats).size,)
        if make is not raw_env:
            for seed in range(3):
                check_state(env, 20, seed)
        env.reset(seed=1)
        for _ in positions(env, Random(1)):
            assert env.state_space.contains(env.state())


@each_maker
@each_game
def test_rendering(make: Any, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for rules in ORACLES[name].VARIANTS.values():
        with strictly():
            render_test(lambda render_mode, rules=rules: make(name, render_mode=render_mode, **rules))
    assert "seat" in capsys.readouterr().out


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo has a registry since 1.27")
@pytest.mark.parametrize("made", GAME_IDS)
def test_made_by_the_registry(made: str) -> None:
    def make(**options: Any) -> Any:
        return pettingzoo.make("aec", made, **options)

    game = make().unwrapped.game
    check(make, 20, num_players=game.players[1])
    check(make, 20, preset=game.presets[-1])


@each_variant
def test_masks(name: str, rules: dict[str, Any]) -> None:
    """At every step of a game: the seat to act may do what the rules allow, all others nothing."""
    oracle = ORACLES[name]
    for n in oracle.SEATS:
        checked = env(name, num_players=n, **rules)
        raw = checked.unwrapped
        checked.reset(seed=n)
        for _ in positions(checked, Random(n)):
            snapshot = raw.snapshot()
            for seat, agent in enumerate(checked.possible_agents):
                mask = checked.observe(agent)["action_mask"]
                assert (mask.dtype, mask.shape) == (np.int8, (oracle.GAME.num_actions,))
                found = [raw.action_name(action) for action in np.flatnonzero(mask)]
                assert set(found) == (oracle.legal_names(snapshot) if seat == snapshot["turn"] else set())
                assert mask.sum() == len(found)
                assert (seat == snapshot["turn"]) == (not snapshot["finished"] and agent == checked.agent_selection)


@each_variant
def test_what_the_mask_forbids_is_refused(name: str, rules: dict[str, Any]) -> None:
    raw = raw_env(name, **rules)
    raw.reset(seed=3)
    rng = Random(3)
    while not raw.snapshot()["finished"]:
        before = raw._states.tobytes()
        for action in np.flatnonzero(raw.last()[0]["action_mask"] == 0).tolist():
            with pytest.raises(ValueError, match="is illegal; legal: "):
                raw.step(action)
        assert raw._states.tobytes() == before
        trace(raw, rng, 7)


@each_variant
def test_snapshots_are_positions(name: str, rules: dict[str, Any]) -> None:
    """At every move of a game: set up again it shows the same to all, and its record is the same."""
    oracle = ORACLES[name]
    for n in oracle.SEATS[::2]:
        raw, other = raw_env(name, num_players=n, **rules), raw_env(name, num_players=n, **rules)
        raw.reset(seed=11)
        for _ in positions(raw, Random(3)):
            snapshot = raw.snapshot()
            assert json.loads(json.dumps(snapshot)) == snapshot
            other.reset(seed=99, options={"position": snapshot})
            assert other.snapshot() == snapshot
            assert other.history == []
            assert other.agent_selection == raw.agent_selection
            assert set(other.terminations.values()) == {snapshot["finished"]}
            assert (other.state() == raw.state()).all()
            for agent in raw.possible_agents:
                for key, value in raw.observe(agent).items():
                    assert (other.observe(agent)[key] == value).all()
            ours, theirs = raw._states[0], other._states[0]
            same = [field for field in ours.dtype.names if field not in oracle.FORGOTTEN]
            assert [field for field in same if not (ours[field] == theirs[field]).all()] == []


DIGESTS = """
import sys
sys.path.insert(0, 'tests/envs')
sys.path.insert(0, 'tests')
from test_ecosystem import digests
print(digests())
"""


def digests() -> list[str]:
    """A digest of a whole game, of all that is seen and hidden, for each variant."""
    found = []
    for k, (name, rules) in enumerate(VARIANTS.values()):
        seats = ORACLES[name].SEATS
        played = env(name, num_players=seats[k % len(seats)], **rules)
        played.reset(seed=1000 + k)
        digest = hashlib.sha256(repr(trace(played, Random(k))).encode())
        digest.update(played.unwrapped._states.tobytes())
        digest.update(repr((played.unwrapped.history, played.unwrapped.determinize(1, k))).encode())
        found.append(digest.hexdigest()[:16])
    return found


def test_whole_games_are_the_same_in_other_processes() -> None:
    """Whatever the seed of Python's hashes is."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", DIGESTS], cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE, text=True,
        )
        for seed in ("0", "31")
    ]  # fmt: skip
    here = str(digests())
    assert [process.communicate()[0].strip() for process in running] == [here, here]


@both_makers
@each_variant
def test_copies_in_every_phase(make: Any, name: str, rules: dict[str, Any]) -> None:
    """Copies and pickles show the same, go on the same and leave the original alone."""
    oracle = ORACLES[name]
    env = make(name, **rules)
    env.reset(seed=11)
    rng, met = Random(5), set()
    while env.agents:
        snapshot = env.unwrapped.snapshot()
        phase = snapshot["phase"], oracle.moment(snapshot), any(env.rewards.values()), len(env.agents)
        if phase not in met:
            met.add(phase)
            before = face(env)
            twins = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
            traces = [trace(twin, Random(6), 6) for twin in twins]
            assert traces[0] == traces[1]
            assert traces[0][0] == before == face(env)
            assert snapshot == env.unwrapped.snapshot()
            ends = [(twin.unwrapped.history, twin.unwrapped._states.tobytes()) for twin in twins]
            assert ends[0] == ends[1]
            original = copy.deepcopy(env.unwrapped)
            assert trace(original, Random(6), 6) == traces[0]
            assert (original.history, original._states.tobytes()) == ends[0]
        step_randomly(env, rng)
    assert {phase[0] for phase in met} == {*oracle.PHASES, "over"}
    assert {phase[-1] for phase in met} == set(range(1, len(env.possible_agents) + 1))
