"""What PettingZoo checks of its environments, and what it does not: masks, whole games, copies. Under every option."""

from __future__ import annotations

import copy
import hashlib
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
from pettingzoo.test import api_test, render_test, seed_test
from pettingzoo.test.state_test import test_state as check_state
from pettingzoo.test.state_test import test_state_space as check_state_space
from pettingzoo.utils.wrappers import AssertOutOfBoundsWrapper, OrderEnforcingWrapper, TerminateIllegalWrapper
from playing import VARIANTS, face, positions, step_randomly, trace

from envs import kachuful_v0
from envs.aec import TableEnv
from envs.kachuful.rules import PRESETS

ROOT = Path(__file__).parents[2]
SEATS = (3, 4, 5, 8)


def wrapped(**rules: Any) -> Any:
    """The raw environment in PettingZoo's own three wrappers."""
    raw = kachuful_v0.raw_env(**rules)
    return OrderEnforcingWrapper(AssertOutOfBoundsWrapper(TerminateIllegalWrapper(raw, raw.illegal_reward)))


MAKERS = {"raw_env": kachuful_v0.raw_env, "env": kachuful_v0.env, "wrapped": wrapped}
each_maker = pytest.mark.parametrize("make", MAKERS.values(), ids=list(MAKERS))
both_makers = pytest.mark.parametrize("make", list(MAKERS.values())[:2], ids=list(MAKERS)[:2])
each_variant = pytest.mark.parametrize("rules", VARIANTS.values(), ids=list(VARIANTS))


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


def check(make: Any, cycles: int, /, **rules: Any) -> None:
    with strictly():
        api_test(make(**rules), num_cycles=cycles)
        seed_test(lambda: make(**rules), num_cycles=cycles)


@both_makers
@pytest.mark.parametrize("preset", PRESETS)
def test_presets(make: Any, preset: str) -> None:
    for n in SEATS:
        check(make, 12, preset=preset, num_players=n)


@pytest.mark.slow
@each_maker
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("n", range(3, 9))
def test_presets_in_whole_games(make: Any, preset: str, n: int) -> None:
    check(make, 1000, preset=preset, num_players=n)


@each_maker
@each_variant
def test_variants(make: Any, rules: dict[str, Any]) -> None:
    for n in SEATS:
        check(make, 40, num_players=n, **rules)


@each_maker
@each_variant
def test_states(make: Any, rules: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """PettingZoo's test acts at random, legal or not: the raw environment does not bear that."""
    with strictly():
        env = make(**rules)
        check_state_space(env)
        assert env.state_space is env.state_space
        assert env.state_space.shape == (env.unwrapped.game.state_layout(4, env.unwrapped.pad_seats).size,)
        if make is not kachuful_v0.raw_env:
            for seed in range(3):
                check_state(env, 20, seed)
        env.reset(seed=1)
        for _ in positions(env, Random(1)):
            assert env.state_space.contains(env.state())


@each_maker
def test_rendering(make: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for rules in VARIANTS.values():
        with strictly():
            render_test(lambda render_mode, rules=rules: make(render_mode=render_mode, **rules))
    assert "trump" in capsys.readouterr().out


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo has a registry since 1.27")
def test_made_by_the_registry() -> None:
    def make(**options: Any) -> Any:
        return pettingzoo.make("aec", "taash/kachuful-v0", **options)

    check(make, 20, num_players=5)
    check(make, 20, preset="judgement", blind="optional")


def legal_names(snapshot: dict[str, Any]) -> set[str]:
    """What the rules allow the seat to act, read from a snapshot."""
    rules, seat = snapshot["rules"], snapshot["turn"]
    if snapshot["phase"] == "play":
        hand, trick = snapshot["hands"][seat], snapshot["trick"]
        following = [card for card in hand if trick and card[1] == trick[0][1][1]]
        return set(hand if rules["revoke"] == "penalty" else following or hand)
    made = [bid for bid in snapshot["bids"] if bid is not None]
    bids = set(range(snapshot["hand_size"] + 1))
    if rules["hook"] and len(made) == rules["num_players"] - 1:
        bids -= {snapshot["hand_size"] - sum(made)}
    hidden = rules["single_card"] != "normal" and snapshot["hand_size"] == 1
    if rules["blind"] == "off" or hidden or snapshot["looked"][seat]:
        return {f"bid {bid}" for bid in bids}
    return {f"blind {bid}" for bid in bids} | ({"look"} if rules["blind"] == "optional" else set())


@each_variant
def test_masks(rules: dict[str, Any]) -> None:
    """At every step of a game: the seat to act may do what the rules allow, all others nothing."""
    for n in SEATS:
        env = kachuful_v0.env(num_players=n, **rules)
        raw = env.unwrapped
        env.reset(seed=n)
        for _ in positions(env, Random(n)):
            snapshot = raw.snapshot()
            for seat, agent in enumerate(env.possible_agents):
                mask = env.observe(agent)["action_mask"]
                assert (mask.dtype, mask.shape) == (np.int8, (89,))
                found = [raw.action_name(action) for action in np.flatnonzero(mask)]
                assert set(found) == (legal_names(snapshot) if seat == snapshot["turn"] else set())
                assert mask.sum() == len(found)
                assert (seat == snapshot["turn"]) == (not snapshot["finished"] and agent == env.agent_selection)


@each_variant
def test_what_the_mask_forbids_is_refused(rules: dict[str, Any]) -> None:
    env = kachuful_v0.raw_env(**rules)
    env.reset(seed=3)
    rng = Random(3)
    while not env.snapshot()["finished"]:
        before = env._states.tobytes()
        for action in np.flatnonzero(env.last()[0]["action_mask"] == 0).tolist():
            with pytest.raises(ValueError, match="is illegal; legal: "):
                env.step(action)
        assert env._states.tobytes() == before
        trace(env, rng, 7)


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
    for k, rules in enumerate(VARIANTS.values()):
        env = kachuful_v0.env(num_players=SEATS[k % len(SEATS)], **rules)
        env.reset(seed=1000 + k)
        digest = hashlib.sha256(repr(trace(env, Random(k))).encode())
        digest.update(env.unwrapped._states.tobytes())
        digest.update(repr((env.unwrapped.history, env.unwrapped.determinize(1, k))).encode())
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


def phase_of(env: TableEnv) -> tuple[Any, ...]:
    """What kind of moment this is, as far as copies might care."""
    snapshot = env.snapshot()
    bids = sum(bid is not None for bid in snapshot["bids"])
    return (
        snapshot["phase"],
        bids,
        any(snapshot["looked"]),
        len(snapshot["trick"]),
        len(snapshot["played"]) > 0,
        snapshot["round"] > 0,
        any(env.rewards.values()),
        len(env.agents),
    )


@both_makers
@each_variant
def test_copies_in_every_phase(make: Any, rules: dict[str, Any]) -> None:
    """Copies and pickles show the same, go on the same and leave the original alone."""
    env = make(**rules)
    env.reset(seed=11)
    rng, met = Random(5), set()
    while env.agents:
        phase = phase_of(env.unwrapped)
        if phase not in met:
            met.add(phase)
            before, hidden = face(env), env.unwrapped.snapshot()
            twins = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
            traces = [trace(twin, Random(6), 6) for twin in twins]
            assert traces[0] == traces[1]
            assert traces[0][0] == before == face(env)
            assert hidden == env.unwrapped.snapshot()
            ends = [(twin.unwrapped.history, twin.unwrapped._states.tobytes()) for twin in twins]
            assert ends[0] == ends[1]
            original = copy.deepcopy(env.unwrapped)
            assert trace(original, Random(6), 6) == traces[0]
            assert (original.history, original._states.tobytes()) == ends[0]
        step_randomly(env, rng)
    assert {phase[0] for phase in met} == ({"bid", "over"} if rules["max_hand"] == 1 else {"bid", "play", "over"})
    assert {phase[-1] for phase in met} == {1, 2, 3, 4}
