"""One seat as a Gymnasium environment: it plays the games of the PettingZoo face, opponents' moves inside its steps."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import gymnasium
import numpy as np
import pytest
import toy
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from envs import SEAT_IDS
from envs.aec import TableEnv
from envs.agents import Decisions, agent_names, find_agent
from envs.loops import player_action
from envs.single import DEFAULT_OPPONENTS, SingleSeatEnv

assert toy.GAME.name == "toy"  # importing it makes the name known
ROOT = Path(__file__).parents[2]
ID = "envs:taash/Kachuful-v0"
TABLES: list[tuple[str, dict[str, Any]]] = [
    ("toy", {}),
    ("toy", {"num_players": 3, "reward": "margin", "rounds": 3}),
    ("kachuful", {}),
    ("kachuful", {"num_players": 3, "max_hand": 3, "blind": "optional", "reward": "win"}),
    ("kachuful", {"num_players": 5, "max_hand": 3, "single_card": "face_down", "trump": "turn_up", "reward": "score"}),
    ("kachuful", {"num_players": 8, "max_hand": 2, "revoke": "penalty", "blind": "forced", "pad_seats": True}),
    ("kaschlan", {}),
    ("kaschlan", {"num_players": 2, "payoff": "places", "must_beat": True}),
    ("kaschlan", {"num_players": 5, "max_bouts": 4, "pad_seats": True}),
]
SMALL: dict[str, Any] = {"max_hand": 3}

Episode = list[tuple[Any, ...]]


def shown(observation: Any) -> Any:
    """An observation, comparable with ``==``."""
    if isinstance(observation, dict):
        return {key: value.tobytes() for key, value in observation.items()}
    return observation.tobytes()


def play(env: SingleSeatEnv, rng: Random, moves: int = 10**9) -> Episode:
    """Play on at random to the end of the episode, or for a number of moves; everything that came back."""
    steps: Episode = []
    while len(steps) < moves:
        action = rng.choice(np.flatnonzero(env.action_masks()).tolist())
        observation, reward, terminated, truncated, info = env.step(action)
        steps.append((action, shown(observation), reward, terminated, truncated, info))
        if terminated or truncated:
            break
    return steps


class Spy:
    """An agent of our own making: plays as a built-in one does, and keeps what it was given."""

    name = "spy"

    def __init__(self, as_name: str, game: Any = "kachuful") -> None:
        self.agent = find_agent(as_name, SingleSeatEnv(game).game)
        self.seen: list[np.ndarray] = []

    def act(self, decisions: Decisions) -> np.ndarray:
        assert len(decisions) == 1
        self.seen.append(decisions.states)
        return self.agent.act(decisions)


class Says:
    """An agent that always gives the same answer."""

    name = "says"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def act(self, decisions: Decisions) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return [self.answer]


def play_others(raw: TableEnv, agent: str, codes: dict[int, int]) -> float:
    """Let built-in players, by seat, make the moves of a table until `agent` is to act; returns its rewards."""
    scratch, record = np.zeros(1, raw.game.state), raw.rules.record()[0]
    paid = 0.0
    while raw.agent_selection != agent and not (raw.terminations[agent] or raw.truncations[agent]):
        turn = int(raw.agent_selection.removeprefix("player_"))
        raw.step(int(player_action(raw._states[0], record, codes[turn], scratch)))
        paid += raw.rewards[agent]
    return paid


@pytest.mark.parametrize("seat", [None, 1])
@pytest.mark.parametrize(("game", "rules"), TABLES)
def test_an_episode_is_a_game_of_the_table(game: str, rules: dict[str, Any], seat: int | None) -> None:
    """Same cards, same moves, same observations; a step pays what the table paid the seat since the step before."""
    names = agent_names(SingleSeatEnv(game).game)
    raw = TableEnv(game, **rules)
    n = raw.rules.num_players
    opponents = [names[k % 2] for k in range(n - 1)]
    env = SingleSeatEnv(game, opponents, seat, **rules)
    rng = Random(3)
    for seed in (6, None, None):
        observation, info = env.reset(seed=seed)
        raw.reset(seed=seed)
        assert info == {}
        assert seat in (None, env.seat)
        agent = f"player_{env.seat}"
        codes = {(env.seat + 1 + k) % n: names.index(name) for k, name in enumerate(opponents)}
        paid = play_others(raw, agent, codes)
        over = False
        while True:
            assert env._states.tobytes() == raw._states.tobytes()
            seen = raw.observe(agent)
            assert shown(observation) == shown(seen)
            assert env.observation_space.contains(observation)
            assert env.action_masks().tolist() == seen["action_mask"].astype(bool).tolist()
            if over:
                break
            action = rng.choice(np.flatnonzero(seen["action_mask"]).tolist()) if seen["action_mask"].any() else 0
            dead = env._turn < 0
            observation, reward, terminated, truncated, info = env.step(action)
            if not dead:
                raw.step(action)
                paid += raw.rewards[agent] + play_others(raw, agent, codes)
            assert reward == paid
            assert (type(reward), type(terminated), type(truncated), info) == (float, bool, bool, {})
            assert (terminated, truncated) == (raw.terminations[agent], raw.truncations[agent])
            over = terminated or truncated
            paid = 0.0
        assert env.snapshot() == raw.snapshot()
        assert env.snapshot()["finished"]


@pytest.mark.parametrize("reward", ["margin", "score", "win"])
def test_the_return_is_the_seats_result(reward: str) -> None:
    env = SingleSeatEnv(opponents="counting", reward=reward, **SMALL)
    for seed in range(8):
        env.reset(seed=seed)
        total = sum(step[2] for step in play(env, Random(seed)))
        scores = np.array(env.snapshot()["scores"])
        best = scores == scores.max()
        expected = {"margin": scores - (scores.sum() - scores) / 3, "score": scores, "win": best / best.sum() - 1 / 4}
        assert total == pytest.approx(expected[reward][env.seat], abs=1e-3)


LATE: dict[str, Any] = {
    "hands": [[], ["2S"], ["3S"], ["4S"]],
    "trick": [[0, "AS"]],
    "bids": [0, 0, 0, 0],
    "trump": "S",
    "scores": [7, 0, 0, 0],
}
"""The learner, in seat 0, has played; the others finish the round before it is asked again."""


def test_rewards_before_the_first_move_come_with_the_first_step() -> None:
    env = SingleSeatEnv("kachuful", "random", 0, max_hand=1, cycles=2, reward="score", scoring="judgement")
    for _ in range(2):  # what a game before has not paid out is forgotten
        env.reset(seed=1, options={"position": LATE})
    assert env.snapshot()["round"] == 1
    action = int(np.flatnonzero(env.action_masks())[0])
    _, reward, terminated, _, _ = env.step(action)
    assert not terminated
    assert reward == -10
    env.reset(seed=1, options={"position": LATE})
    assert env.step(88)[1] == env.illegal_reward - 10


def test_games_that_end_before_the_learner_is_asked() -> None:
    env = SingleSeatEnv("kachuful", "random", 0, max_hand=1, reward="score")
    for position, reward in ((LATE, 0.0), (LATE | {"bids": [1, 0, 0, 1]}, 11.0), ({"finished": True}, 0.0)):
        observation, _ = env.reset(seed=1, options={"position": position})
        assert isinstance(observation, dict)
        assert not observation["action_mask"].any()
        assert not env.action_masks().any()
        observation, paid, terminated, truncated, info = env.step(3)
        assert env.observation_space.contains(observation)
        assert (paid, terminated, truncated, info) == (reward, True, False, {})
        with pytest.raises(ResetNeeded):
            env.step(3)


@pytest.mark.parametrize("action", [0, 88, 89, -1, 10**30, None, 53.0, "bid 1", np.float32(53), np.array([53, 54])])
@pytest.mark.parametrize("illegal_reward", [None, -2.7])
def test_an_illegal_action_ends_the_episode(action: Any, illegal_reward: float | None) -> None:
    env = SingleSeatEnv(illegal_reward=illegal_reward, seat=2)
    env.reset(seed=2)
    observation, reward, terminated, truncated, info = env.step(action)
    assert reward == (-20.0 if illegal_reward is None else illegal_reward)
    assert (terminated, truncated, info) == (True, False, {})
    assert isinstance(observation, dict)
    assert env.observation_space.contains(observation)
    assert not observation["action_mask"].any()
    assert not env.action_masks().any()
    assert env.snapshot()["finished"]
    with pytest.raises(ResetNeeded, match="the game is over: call reset"):
        env.step(53)
    env.reset()
    assert not env.step(int(np.flatnonzero(env.action_masks())[0]))[2]


def test_numpy_integers_are_actions() -> None:
    for kind in (int, np.int32, np.int64, np.uint8, np.array):
        env = SingleSeatEnv(seat=0)
        env.reset(seed=4, options={"dealer": 3})
        assert not env.step(kind(54))[2]


def test_seats() -> None:
    env = SingleSeatEnv(**SMALL)
    seats = []
    for _ in range(2):
        env.reset(seed=9)
        drawn = [env.seat]
        for _ in range(30):
            env.reset()
            drawn.append(env.seat)
        seats.append(drawn)
    assert seats[0] == seats[1]
    assert set(seats[0]) == {0, 1, 2, 3}
    fixed = SingleSeatEnv(seat=3, **SMALL)
    for options, seat in ((None, 3), ({"seat": 1}, 1), ({"seat": np.int64(2)}, 2), ({"seat": None}, 3)):
        fixed.reset(options=options)
        assert fixed.seat == seat
        assert fixed.snapshot()["turn"] == seat
    fixed.reset(seed=1, options={"dealer": 3, "seat": 0})
    assert fixed.snapshot()["dealer"] == 3
    assert fixed.snapshot()["bids"] == [None] * 4


def test_wrong_resets_change_nothing() -> None:
    env = SingleSeatEnv(**SMALL)
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step(0)
    for call in (env.action_masks, env.snapshot, lambda: env.seat, lambda: env.determinize(0, 0)):
        with pytest.raises(RuntimeError, match="call reset"):
            call()
    env.reset(seed=1)
    play(env, Random(0), 2)
    twin = copy.deepcopy(env)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"seed": -1}, r"seed must be an integer from 0 to 2\*\*63 - 1"),
        ({"seed": 2**63}, "seed must be"),
        ({"options": {"seat": 4}}, "seat must be a seat from 0 to 3"),
        ({"options": {"dealer": -1}}, "dealer must be a seat from 0 to 3"),
        ({"options": {"position": {"handz": []}}}, "did you mean 'hands'"),
        ({"seed": 5, "options": {"position": {"trump": "X"}}}, "position trump='X'"),
        ({"options": []}, "options must be a dict or None"),
    ]
    for arguments, message in wrong:
        with pytest.raises(ValueError, match=message):
            env.reset(**arguments)
    assert env.np_random.bit_generator.state == twin.np_random.bit_generator.state
    assert play(env, Random(1)) == play(twin, Random(1))
    with pytest.warns(UserWarning, match="option 'seet' of reset\\(\\) is unknown and ignored; .*seat") as caught:
        env.reset(options={"seet": 1})
    assert caught[0].filename == __file__


def test_observations_are_new_arrays() -> None:
    env = SingleSeatEnv()
    kept, _ = env.reset(seed=1)
    assert isinstance(kept, dict)
    before = shown(kept)
    mask = env.action_masks()
    mask[:] = False
    kept["action_mask"][:] = kept["action_mask"]
    play(env, Random(0), 5)
    assert shown(kept) == before
    assert env.action_masks().any()


def test_flat_observations() -> None:
    env, other = SingleSeatEnv(flatten=True, seat=1), SingleSeatEnv(seat=1)
    assert isinstance(env.observation_space, gymnasium.spaces.Box)
    flat, _ = env.reset(seed=3)
    full, _ = other.reset(seed=3)
    rng = Random(0)
    over = False
    while not over:
        assert isinstance(flat, np.ndarray)
        assert isinstance(full, dict)
        assert flat.dtype == np.float32
        assert env.observation_space.contains(flat)
        assert (flat == full["observation"]).all()
        masks = env.action_masks()
        assert masks.dtype == np.bool_
        assert (masks == full["action_mask"]).all()
        action = rng.choice(np.flatnonzero(masks).tolist())
        flat, *result = env.step(action)
        full, *expected = other.step(action)
        assert result == expected
        over = result[1]


def test_the_same_seed_gives_the_same_episodes() -> None:
    def episodes(env: SingleSeatEnv, seed: int | None) -> list[Any]:
        found: list[Any] = []
        for k in range(3):
            observation, _ = env.reset(seed=seed if k == 0 else None)
            found.append((env.seat, shown(observation), play(env, Random(k))))
        return found

    env = SingleSeatEnv(opponents="counting", **SMALL)
    first = episodes(env, 5)
    assert first[0] != first[1]
    assert episodes(env, 5) == first
    assert episodes(SingleSeatEnv(opponents="counting", **SMALL), 5) == first
    assert episodes(SingleSeatEnv(opponents="counting", **SMALL), 6) != first
    assert episodes(SingleSeatEnv(opponents="random", **SMALL), 5) != first
    fresh = [SingleSeatEnv(**SMALL) for _ in range(4)]
    for drawn in fresh[:2]:
        drawn.np_random = np.random.default_rng(1)
    found = [episodes(drawn, None) for drawn in fresh]
    assert found[0] == found[1]
    assert found[1] != found[2] != found[3]


@pytest.mark.parametrize("way", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"])
@pytest.mark.parametrize("opponents", ["random", ["counting", Spy("counting"), "random"]])
@pytest.mark.parametrize("moves", [None, 0, 1, 4, 9, 10**9])
def test_copies_go_on(way: Callable[[Any], Any], opponents: Any, moves: int | None) -> None:
    env = SingleSeatEnv(opponents=opponents, **SMALL)
    if moves is not None:
        env.reset(seed=8)
        play(env, Random(0), moves)
    twin, untouched = way(env), way(env)
    assert twin.observation_space == env.observation_space
    if moves is not None:
        before = untouched.snapshot()
        assert twin.snapshot() == before
        if moves < 10**9:
            assert play(env, Random(1)) == play(twin, Random(1))
        assert untouched.snapshot() == before
        assert env.reset()[0]["observation"].tobytes() == twin.reset()[0]["observation"].tobytes()
        assert (env.seat, play(env, Random(1))) == (twin.seat, play(twin, Random(1)))
    assert shown(env.reset(seed=1)[0]) == shown(untouched.reset(seed=1)[0])


@pytest.mark.parametrize(("game", "rules"), TABLES)
def test_agents_of_ones_own_see_what_their_seats_may_see(game: str, rules: dict[str, Any]) -> None:
    name = SingleSeatEnv(game).game.rule_players[0]
    built_in = SingleSeatEnv(game, name, **rules)
    n = built_in.rules.num_players
    spies = [Spy(name, game) for _ in range(n - 1)]
    env = SingleSeatEnv(game, spies, **rules)
    for seed in (1, None):
        for one in (env, built_in):
            one.reset(seed=seed)
        assert play(env, Random(2)) == play(built_in, Random(2))
        for k, spy in enumerate(spies, 1):
            seen = np.concatenate(spy.seen)
            assert set(seen["turn"]) == {(env.seat + k) % n}
            assert not seen["seed"].any()
            if game == "toy":
                assert not np.delete(seen["hands"], (env.seat + k) % n, axis=1).any()
            spy.seen.clear()


def test_one_agent_may_sit_in_all_other_seats() -> None:
    spy = Spy("counting")
    envs = [SingleSeatEnv(opponents=opponents, seat=1, **SMALL) for opponents in (spy, spy.agent, ("counting",) * 3)]
    episodes = []
    for env in envs:
        env.reset(seed=4)
        episodes.append(play(env, Random(0)))
    assert episodes[0] == episodes[1] == episodes[2]
    assert {int(states["turn"][0]) for states in spy.seen} == {0, 2, 3}


@pytest.mark.parametrize("answer", [88, -1, 89, 1.5, None, "AS"])
def test_opponents_that_act_illegally(answer: Any) -> None:
    env = SingleSeatEnv(opponents=["random", Says(answer), "random"], seat=0)
    with pytest.raises(ValueError, match=r"^opponent says: action .* of seat 2 is illegal; legal: bid 0, bid 1"):
        env.reset(seed=1, options={"dealer": 0})
    with pytest.raises(ResetNeeded):
        env.step(52)
    env.reset(seed=1, options={"dealer": 3})
    with pytest.raises(ValueError, match="of seat 2 is illegal"):
        env.step(52)
    with pytest.raises(ResetNeeded):
        env.step(52)


def test_opponents_that_fail() -> None:
    env = SingleSeatEnv(opponents=Says(RuntimeError("no idea")), seat=0)
    env.reset(seed=1, options={"dealer": 3})
    with pytest.raises(RuntimeError, match="no idea"):
        env.step(52)
    with pytest.raises(ResetNeeded):
        env.step(52)


@pytest.mark.parametrize(
    ("opponents", "message"),
    [
        ("countin", "no agent 'countin' in Kachuful; choose one of random, counting"),
        ("", "no agent '' in Kachuful; choose one of random, counting"),
        (["random", "x", "random"], "no agent 'x' in Kachuful; choose one of random, counting"),
        (["random", 3, "random"], "no agent 3 in Kachuful; choose one of random, counting.* act\\(decisions\\)"),
        (None, "no agent None in Kachuful; choose one of random, counting.* act\\(decisions\\)"),
        (["random"] * 4, "opponents names 4 players; it must name 3, one for each other seat"),
        ([], "opponents names 0 players; it must name 3"),
    ],
)
def test_bad_opponents(opponents: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        SingleSeatEnv(opponents=opponents)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"game": "bridge"}, "no game 'bridge'"),
        ({"seat": 4}, "seat must be a seat from 0 to 3"),
        ({"seat": True}, "seat must be a seat"),
        ({"flatten": 1}, "flatten=1"),
        ({"illegal_reward": "x"}, "illegal_reward='x'"),
        ({"render_mode": "rgb_array"}, "render_mode='rgb_array'"),
        ({"preset": "bridge"}, "no preset 'bridge'"),
        ({"pad_seats": 1}, "pad_seats=1"),
        ({"num_player": 3}, "did you mean 'num_players'"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SingleSeatEnv(**arguments)


def test_presets_and_padding() -> None:
    assert SingleSeatEnv(preset="judgement").rules.scoring == "judgement"
    sizes = {SingleSeatEnv(num_players=n, pad_seats=True, flatten=True).observation_space.shape for n in (3, 8)}
    assert len(sizes) == 1
    assert DEFAULT_OPPONENTS in agent_names(SingleSeatEnv().game)


def test_rendering(capsys: pytest.CaptureFixture[str]) -> None:
    env = SingleSeatEnv(render_mode="ansi", seat=0, **SMALL)
    loud = SingleSeatEnv(render_mode="human", seat=0, **SMALL)
    for one in (env, loud):
        one.reset(seed=1)
    drawing = env.render()
    assert drawing is not None
    assert "> 0" in drawing
    assert capsys.readouterr().out == drawing + "\n"
    for one in (env, loud):
        play(one, Random(1), 1)
    assert capsys.readouterr().out == f"{env.render()}\n"
    assert loud.render() is None


@pytest.mark.parametrize("options", [{}, {"flatten": True, "opponents": "counting"}, {"num_players": 7, "seat": 6}])
def test_gymnasium_contract(options: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(ID, **options)
        check_env(env.unwrapped)
    assert isinstance(env.unwrapped, SingleSeatEnv)
    assert "trump" in capsys.readouterr().out  # it draws in both modes


@pytest.mark.parametrize("made", SEAT_IDS)
def test_gymnasium_contract_of_every_game(made: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(f"envs:{made}").unwrapped)


def test_gymnasium_contract_of_the_toy_game() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*not having a spec")
        check_env(SingleSeatEnv("toy", "lowest"))


def test_made_by_the_registry_in_a_fresh_process() -> None:
    code = (
        "import gymnasium\n"
        f"env = gymnasium.make('{ID}', opponents='counting', num_players=5)\n"
        "env.reset(seed=1)\n"
        "print(env.get_wrapper_attr('action_masks')().nonzero()[0].tolist())"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    env = SingleSeatEnv(opponents="counting", num_players=5)
    env.reset(seed=1)
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert printed.strip() == str(np.flatnonzero(env.action_masks()).tolist())


@pytest.mark.parametrize("context", ["forkserver", pytest.param("spawn", marks=pytest.mark.slow)])
def test_worker_processes_play_the_same_games(context: str) -> None:
    options: dict[str, Any] = {"opponents": ["counting", "random", "counting"], "max_hand": 1}
    workers = gymnasium.make_vec(
        ID, num_envs=2, vectorization_mode="async", vector_kwargs={"context": context}, **options
    )
    here = gymnasium.make_vec(ID, num_envs=2, vectorization_mode="sync", **options)
    with closing(workers), closing(here):
        results = [[shown(envs.reset(seed=30)[0])] for envs in (workers, here)]
        for _ in range(20):
            for result, envs in zip(results, (workers, here), strict=True):
                masks = envs.call("action_masks")
                actions = np.array([int(mask.argmax()) for mask in masks])
                observation, *rest, infos = envs.step(actions)
                result.append((shown(observation), *(array.tolist() for array in rest), infos))
    assert results[0] == results[1]
    assert any(any(terminated) for _, _, terminated, _, _ in results[0][1:])
