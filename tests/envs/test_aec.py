"""The raw PettingZoo face: its contract, masks, rewards, determinism, errors."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import warnings
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import api_test, render_test, seed_test
from playing import face, legal_actions, play_until, positions, step_randomly, trace

from envs import kachuful_v0
from envs.aec import IllegalActionError, TableEnv
from envs.loops import is_legal

ROOT = Path(__file__).parents[2]
SMALL = {"max_hand": 3}
ALL_RULES: list[dict[str, Any]] = [
    {},
    {"num_players": 3, "max_hand": 4, "blind": "optional", "trump": "turn_up"},
    {"num_players": 5, "max_hand": 3, "single_card": "face_down", "reward": "score"},
    {"num_players": 6, "max_hand": 3, "single_card": "forehead", "blind": "forced", "reward": "win"},
    {"num_players": 8, "max_hand": 2, "revoke": "penalty", "no_trump_every": 2, "schedule": "up"},
]


@pytest.mark.parametrize("make", [kachuful_v0.raw_env, kachuful_v0.env])
@pytest.mark.parametrize("rules", ALL_RULES)
def test_pettingzoo_contract(make: Any, rules: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("error")
        warnings.filterwarnings("ignore", message="option 'options' of reset")  # the test passes one on purpose
        warnings.filterwarnings("ignore", module="pettingzoo")  # asks for Box spaces, and masks that are never empty
        api_test(make(**rules), num_cycles=300)
        seed_test(lambda: make(**rules), num_cycles=50)


def test_rendering_contract(capsys: pytest.CaptureFixture[str]) -> None:
    render_test(lambda render_mode: kachuful_v0.env(render_mode=render_mode, **SMALL))
    assert "trump" in capsys.readouterr().out


@pytest.mark.parametrize("rules", ALL_RULES)
def test_masks_are_the_legal_actions_of_the_seat_to_act(rules: dict[str, Any]) -> None:
    env = kachuful_v0.raw_env(**rules)
    record = env.rules.record()[0]
    env.reset(seed=5)
    for _ in positions(env, Random(0)):
        turn = env.snapshot()["turn"]
        for seat, agent in enumerate(env.possible_agents):
            seen = env.observe(agent)
            assert env.observation_space(agent).contains(seen)
            legal = [seat == turn and is_legal(env._states[0], record, a) for a in range(89)]
            assert seen["action_mask"].tolist() == legal
            assert any(legal) == (seat == turn)
            assert set(np.unique(seen["observation"])) <= {0.0, 1.0}
    assert env.snapshot()["finished"]


def test_observations_are_new_arrays() -> None:
    env = kachuful_v0.raw_env()
    env.reset(seed=1)
    kept = [env.last()[0] for _ in range(2)]
    for key in ("observation", "action_mask"):
        assert not np.shares_memory(kept[0][key], kept[1][key])
    before = kept[0]["observation"].copy()
    trace(env, Random(0), 10)
    assert (kept[0]["observation"] == before).all()


@pytest.mark.parametrize("rules", ALL_RULES)
def test_rewards_add_up_and_all_end_together(rules: dict[str, Any]) -> None:
    env = kachuful_v0.raw_env(**rules)
    n = env.rules.num_players
    for seed in (1, 2):
        env.reset(seed=seed)
        total = dict.fromkeys(env.possible_agents, 0.0)
        rng = Random(seed)
        for agent in env.agent_iter():
            _, reward, terminated, truncated, info = env.last()
            assert type(reward) in (float, int)
            assert type(terminated) is bool
            assert not truncated
            assert info == {}
            assert len(set(env.terminations.values())) == 1
            total[agent] += reward
            step_randomly(env, rng)
        scores = np.array(env.snapshot()["scores"])
        best = scores == scores.max()
        expected = {
            "score": scores,
            "margin": scores - (scores.sum() - scores) / (n - 1),
            "win": best / best.sum() - 1 / n,
        }[env.rules.reward]
        assert np.allclose(list(total.values()), expected, atol=1e-3)
        assert env.agents == []


def test_infos_are_separate() -> None:
    env = kachuful_v0.raw_env()
    env.reset()
    env.infos["player_0"]["mine"] = 1
    assert env.infos["player_1"] == {}


@pytest.mark.parametrize("rules", ALL_RULES)
def test_history_replays_the_game(rules: dict[str, Any]) -> None:
    """The history names every move, those of hidden cards that play themselves too."""
    env = kachuful_v0.raw_env(**rules)
    env.reset(seed=8)
    assert env.history == []
    assert trace(env, Random(3))
    played = [move for move in env.history if len(move[1]) == 2]
    sizes = env.rules.num_players * sum(_sizes(env))
    assert len(played) == sizes
    assert len(env.history) == int(env._states["moves"][0])
    again = kachuful_v0.raw_env(**rules)
    again.reset(seed=8)
    moves = env.history
    while again.history != moves:
        done = len(again.history)
        seat, name = moves[done]
        assert again.agent_selection == f"player_{seat}"
        again.step(again.action_id(name))
        assert again.history == moves[: len(again.history)]
    assert again.snapshot() == env.snapshot()
    env.history.clear()
    assert env.history == moves


def _sizes(env: TableEnv) -> list[int]:
    rules = env.rules
    sizes = list(range(rules.min_hand, rules.max_hand + 1))
    return sizes if rules.schedule == "up" else sizes[:0:-1] + sizes


def test_whole_games_are_the_same_in_another_process() -> None:
    code = (
        "import hashlib, random, sys; sys.path.insert(0, 'tests')\n"
        "from playing import trace\n"
        "from envs import kachuful_v0\n"
        "env = kachuful_v0.env(max_hand=4); env.reset(seed=77)\n"
        "print(hashlib.sha256(repr(trace(env, random.Random(5))).encode()).hexdigest())"
    )
    env = kachuful_v0.env(max_hand=4)
    env.reset(seed=77)
    here = hashlib.sha256(repr(trace(env, Random(5))).encode()).hexdigest()
    there = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert there.strip() == here


def test_resets_without_a_seed_go_on() -> None:
    env = kachuful_v0.raw_env(**SMALL)
    env.reset(seed=3)
    deals = [env.snapshot()["hands"]]
    for _ in range(3):
        env.reset()
        deals.append(env.snapshot()["hands"])
    env.reset(seed=3)
    again = [env.snapshot()["hands"]]
    for _ in range(3):
        env.reset()
        again.append(env.snapshot()["hands"])
    assert deals == again
    assert all(deals[i] != deals[j] for i in range(4) for j in range(i))
    fresh = [kachuful_v0.raw_env(), kachuful_v0.raw_env()]
    for other in fresh:
        other.reset()
    assert fresh[0].snapshot()["hands"] != fresh[1].snapshot()["hands"]


@pytest.mark.parametrize("seed", [-1, 2**63, 1.0, "1", True])
def test_impossible_seeds(seed: Any) -> None:
    env = kachuful_v0.env()
    env.reset(seed=1)
    before = face(env)
    with pytest.raises(ValueError, match=r"seed must be an integer from 0 to 2\*\*63 - 1"):
        env.reset(seed=seed)
    assert face(env) == before
    env.reset(seed=2**63 - 1)
    env.reset(seed=np.int64(0))


def test_reset_options() -> None:
    env = kachuful_v0.env()
    for dealer in range(4):
        env.reset(seed=4, options={"dealer": dealer})
        assert env.snapshot()["dealer"] == dealer
        assert env.agent_selection == f"player_{(dealer + 1) % 4}"
    for wrong in (4, -1, "1", True):
        with pytest.raises(ValueError, match="dealer must be a seat from 0 to 3"):
            env.reset(options={"dealer": wrong})
    with pytest.raises(ValueError, match="it must be a dict, a snapshot or a part of one"):
        env.reset(options={"position": [1]})
    with pytest.raises(ValueError, match="options must be a dict or None"):
        env.reset(options=[])  # type: ignore[arg-type]
    with pytest.warns(UserWarning, match="option 'deeler' of reset\\(\\) is unknown and ignored") as caught:
        env.reset(seed=4, options={"deeler": 3})
    assert caught[0].filename == __file__
    assert env.agents


def test_numpy_integers_are_actions() -> None:
    results = []
    for kind in (int, np.int32, np.int64, np.uint8, np.array):
        env = kachuful_v0.raw_env()
        env.reset(seed=4)
        assert env.step(kind(54)) is None
        results.append(face(env))
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize("action", [0, 70, 88, 89, -1, 10**30, None, 53.0, "bid 1", np.float32(53)])
def test_illegal_actions_change_nothing(action: Any) -> None:
    env = kachuful_v0.raw_env(max_hand=2)
    env.reset(seed=4, options={"dealer": 2})
    before, state = face(env), env._states.tobytes()
    with pytest.raises(ValueError, match=r"of seat 3 is illegal; legal: bid 0, bid 1, bid 2$") as raised:
        env.step(action)
    assert isinstance(raised.value, IllegalActionError)
    if action == 0:
        assert "action 0 (2S)" in str(raised.value)
    assert face(env) == before
    assert env._states.tobytes() == state
    assert env.history == []


def test_wrong_order_of_calls() -> None:
    env = kachuful_v0.raw_env(**SMALL)
    calls = [lambda: env.step(0), lambda: env.last(), lambda: env.observe("player_0"), lambda: env.agent_iter()]
    calls += [env.state, env.snapshot, lambda: env.history, lambda: env.determinize(0, 0)]
    for call in calls:
        with pytest.raises(RuntimeError, match="call reset\\(\\) first"):
            call()
    env.reset(seed=1)
    play_until(env, Random(1), lambda snapshot: snapshot["finished"])
    with pytest.raises(ValueError, match="only valid action is None"):
        env.step(0)
    trace(env, Random(1))
    with pytest.raises(RuntimeError, match="call reset\\(\\)"):
        env.step(None)
    assert not env.observe("player_2")["action_mask"].any()
    with pytest.raises(ValueError, match="no agent 'player_4'; agents are player_0, player_1"):
        env.observe("player_4")


def test_names() -> None:
    env = kachuful_v0.raw_env()
    assert [env.action_id(env.action_name(a)) for a in range(89)] == list(range(89))
    assert env.action_name(51) == "AH"
    assert env.action_id("bid 17") == 69
    for wrong in (89, -1, 1.0, "AS"):
        with pytest.raises(ValueError, match="no action"):
            env.action_name(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="did you mean 'bid 1'"):
        env.action_id("bid1")
    names = env.feature_names
    env.reset(seed=1)
    assert len(names) == len(set(names)) == env.observe("player_0")["observation"].size
    seen = env.observe(env.agent_selection)["observation"]
    hand = [name[5:] for name, value in zip(names, seen, strict=True) if value and name.startswith("hand=")]
    assert hand == env.snapshot()["hands"][env.snapshot()["turn"]]


def test_state_is_the_whole_deal_from_the_seat_to_act() -> None:
    env = kachuful_v0.raw_env(**SMALL)
    layout = env.game.state_layout(4, False)
    env.reset(seed=2)
    for _ in positions(env, Random(1)):
        state, snapshot = env.state(), env.snapshot()
        assert state.dtype == np.float32
        assert state.shape == (layout.size,)
        blocks = layout.decode(state)
        viewer = snapshot["turn"] or 0
        for i in range(4):
            assert blocks[f"holds+{i}"] == snapshot["hands"][(viewer + i) % 4]


def test_padded_observations_have_one_size() -> None:
    sizes = {kachuful_v0.env(num_players=n, pad_seats=True).observation_space("player_0")["observation"].shape
             for n in range(3, 9)}  # fmt: skip
    assert len(sizes) == 1
    env = kachuful_v0.raw_env(num_players=3, pad_seats=True, **SMALL)
    env.reset(seed=1)
    for _ in positions(env, Random(1)):
        assert env.observation_space("player_0").contains(env.observe("player_0"))


def test_render_modes(capsys: pytest.CaptureFixture[str]) -> None:
    env = kachuful_v0.env(render_mode="ansi")
    env.reset(seed=1)
    drawing = env.render()
    snapshot = env.snapshot()
    lines = drawing.splitlines()
    assert "10 cards each, trump spades" in lines[0]
    assert all(card in lines[2 + seat] for seat in range(4) for card in snapshot["hands"][seat])
    loud = kachuful_v0.env(render_mode="human")
    loud.reset(seed=1)
    assert loud.render() is None
    assert capsys.readouterr().out == drawing + "\n"
    silent = kachuful_v0.raw_env()
    silent.reset(seed=1)
    with pytest.warns(UserWarning, match="render_mode"):
        assert silent.render() is None


def test_determinized_states_look_the_same() -> None:
    env, other = kachuful_v0.raw_env(max_hand=4), kachuful_v0.raw_env(max_hand=4)
    env.reset(seed=6)
    drawn = set()
    for _ in positions(env, Random(2)):
        for seat in range(4):
            drawn_here = env.determinize(seat, 1)
            assert env.determinize(seat, 1) == drawn_here
            other.reset(options={"position": drawn_here})
            assert other.snapshot() == drawn_here
            mine, there = env.observe(f"player_{seat}"), other.observe(f"player_{seat}")
            assert all((mine[key] == there[key]).all() for key in mine)
            drawn.add(str(drawn_here["hands"]) == str(env.snapshot()["hands"]))
    assert drawn == {True, False}
    with pytest.raises(ValueError, match="seat must be a seat"):
        env.determinize(4, 0)


def test_legal_actions_helper_sees_a_choice() -> None:
    env = kachuful_v0.raw_env()
    env.reset(seed=1)
    assert legal_actions(env) == list(range(52, 63))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"render_mode": "rgb"}, "render_mode='rgb'"),
        ({"pad_seats": 1}, "pad_seats=1"),
        ({"illegal_reward": "x"}, "illegal_reward='x'"),
        ({"illegal_reward": float("nan")}, "illegal_reward=nan"),
        ({"preset": "bridge"}, "no preset 'bridge'"),
        ({"num_player": 3}, "did you mean 'num_players'"),
        ({"num_players": 9}, "num_players=9"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kachuful_v0.env(**arguments)
    with pytest.raises(ValueError, match=message):
        TableEnv("kachuful", **arguments)
