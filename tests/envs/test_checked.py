"""CheckedEnv against PettingZoo's own three wrappers around the raw environment, move by move."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from games import env as make_env
from games import wrapped as make_wrapped
from playing import legal_actions, positions, step_randomly, trace

from envs import kachuful_v0
from envs.aec import TableEnv
from envs.checked import CheckedEnv

SMALL: dict[str, Any] = {"max_hand": 3}
BEFORE_RESET = ("agents", "agent_selection", "num_agents", "rewards", "terminations", "truncations", "infos")


TABLES: list[tuple[str, dict[str, Any]]] = [
    ("kachuful", SMALL),
    ("kachuful", {"num_players": 3, "blind": "optional", **SMALL}),
    ("kachuful", {"num_players": 5, "reward": "win", **SMALL}),
    ("kaschlan", {"max_bouts": 30}),
    ("kaschlan", {"num_players": 2, "payoff": "places"}),
    ("kaschlan", {"num_players": 5, "max_bouts": 3}),
]


def wrapped(**rules: Any) -> Any:
    return make_wrapped("kachuful", **rules)


def shown(env: Any, masks: bool = True) -> tuple[Any, ...]:
    """What a user sees; after an illegal end masks, features about whose turn it is and the state's seat differ."""
    observations = [env.observe(agent) for agent in env.possible_agents]
    last = env.last() if env.agents else ()
    return (
        list(env.agents),
        env.num_agents,
        env.agent_selection,
        env.rewards,
        env.terminations,
        env.truncations,
        env.infos,
        env._cumulative_rewards,
        last[1:],
        env.state().tobytes() if masks else None,
        [seen["observation"].tobytes() for seen in observations] if masks else None,
        [seen["action_mask"].tobytes() for seen in observations] if masks else None,
        [type(env.rewards[agent]) for agent in env.agents] if masks else None,
    )


@pytest.mark.parametrize(("name", "rules"), TABLES)
def test_whole_games(name: str, rules: dict[str, Any]) -> None:
    ours, theirs = make_env(name, **rules), make_wrapped(name, **rules)
    for seed in (1, None):
        for env in (ours, theirs):
            env.reset(seed=seed)
        if seed is None:
            assert ours.unwrapped.snapshot() == theirs.unwrapped.snapshot()
        rng = Random(4)
        for agent, other in zip(ours.agent_iter(), theirs.agent_iter(), strict=True):
            assert agent == other
            assert shown(ours) == shown(theirs)
            done = ours.terminations[agent] or ours.truncations[agent]
            action = None if done else rng.choice(legal_actions(ours))
            ours.step(action)
            theirs.step(action)
        assert shown(ours) == shown(theirs)
        assert ours.agents == []
        assert str(ours) == str(theirs) == f"{name}_v0"


@pytest.mark.parametrize("moves", [0, 3, 9, 20])
@pytest.mark.parametrize("illegal_reward", [None, -2.5])
@pytest.mark.parametrize(("name", "small", "worst"), [("kachuful", SMALL, -13.0), ("kaschlan", {}, -1.0)])
def test_illegal_actions_end_the_game(
    moves: int, illegal_reward: float | None, name: str, small: dict[str, Any], worst: float
) -> None:
    rules = {**small, "illegal_reward": illegal_reward}
    ours, theirs = make_env(name, **rules), make_wrapped(name, **rules)
    rng = Random(1)
    for env in (ours, theirs):
        env.reset(seed=2)
    for _ in range(moves):
        action = rng.choice(legal_actions(ours))
        ours.step(action)
        theirs.step(action)
    offender = ours.agent_selection
    illegal = next(a for a in range(ours.unwrapped.game.num_actions) if a not in legal_actions(ours))
    for env in (ours, theirs):
        env.step(illegal)
    assert ours.rewards == {agent: ours.illegal_reward if agent == offender else 0 for agent in ours.agents}
    assert ours.illegal_reward == (worst if illegal_reward is None else illegal_reward)
    while ours.agents:
        assert shown(ours, masks=False) == shown(theirs, masks=False)
        for agent in ours.possible_agents:
            seen = ours.observe(agent)
            assert not seen["action_mask"].any()
            there = theirs.observe(agent)["observation"] - seen["observation"]
            assert there.min() >= 0
            assert name != "kachuful" or not there.any()  # it says nothing that an end changes
        snapshot = ours.unwrapped.snapshot()
        assert snapshot["finished"]
        assert snapshot["turn"] is None
        assert snapshot["phase"] == "over"
        for env in (ours, theirs):
            env.step(None)
    assert theirs.agents == []
    assert ours.agent_selection == theirs.agent_selection
    for env in (ours, theirs):
        env.step(None)  # warns and does nothing
        env.reset(seed=5)
    assert shown(ours) == shown(theirs)


@pytest.mark.parametrize(("name", "rules"), TABLES)
def test_aborted_games_can_be_set_up_again(name: str, rules: dict[str, Any]) -> None:
    env, other = make_env(name, **rules), make_env(name, **rules)
    for moves in range(12):
        env.reset(seed=2)
        trace(env, Random(0), moves)
        env.step(env.unwrapped.game.num_actions)
        snapshot = env.unwrapped.snapshot()
        other.reset(options={"position": snapshot})
        assert other.unwrapped.snapshot() == snapshot
        assert set(other.terminations.values()) == {True}
        for agent in env.possible_agents:
            for key, value in env.observe(agent).items():
                assert (other.observe(agent)[key] == value).all()


@pytest.mark.parametrize("action", [89, -1, 10**30, None, 53.0, "bid 1", np.float64("nan")])
def test_actions_out_of_range_are_illegal(action: Any) -> None:
    env = kachuful_v0.env(**SMALL)
    env.reset(seed=2)
    offender = env.agent_selection
    env.step(action)
    assert env.unwrapped.snapshot()["finished"]
    assert env.rewards[offender] == -13


def test_default_illegal_reward_is_the_best_round_lost() -> None:
    expected = {
        -20.0: {},
        -10.0: {"scoring": "judgement"},
        -110.0: {"scoring": "ten_times_bid_plus_ten"},
        -40.0: {"blind": "optional"},
        -30.0: {"blind": "forced", "blind_doubles": "bonus"},
        -1.0: {"reward": "win"},
    }
    for reward, rules in expected.items():
        assert kachuful_v0.env(**rules).illegal_reward == reward


def test_a_warning_names_the_illegal_move(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    env = kachuful_v0.env(**SMALL)
    env.reset(seed=2)
    env.step(0)
    assert "Illegal move made" in capsys.readouterr().out + caplog.text


@pytest.mark.parametrize("make", [kachuful_v0.env, wrapped])
def test_order_is_enforced(make: Any) -> None:
    env = make(**SMALL)
    calls = [lambda: env.step(0), lambda: env.observe("player_0"), env.state, env.render, env.agent_iter]
    for call in calls:
        with pytest.raises(AssertionError, match="reset"):
            call()
    for name in BEFORE_RESET:
        with pytest.raises(AttributeError, match=f"{name} cannot be accessed before reset"):
            getattr(env, name)
        assert not hasattr(env, name)
    with pytest.raises(AttributeError):
        env.last()
    assert env.possible_agents == [f"player_{i}" for i in range(4)]
    env.reset(seed=1)
    with pytest.raises(AttributeError):
        env._private  # noqa: B018
    with pytest.raises(AssertionError, match="need to call step"):
        for _ in env.agent_iter():
            pass
    steps = 0
    step_randomly(env, Random(0))
    for _ in env.agent_iter(5):
        step_randomly(env, Random(steps))
        steps += 1
    assert steps == 5
    trace(env, Random(1))
    before = env.agent_selection
    env.step(None)
    assert env.agent_selection == before
    assert list(env.agent_iter()) == []
    env.close()


def test_dead_agents_take_no_action() -> None:
    for env in (kachuful_v0.env(max_hand=1), wrapped(max_hand=1)):
        env.reset(seed=1)
        for _ in positions(env, Random(1)):
            pass
        with pytest.raises(ValueError, match="only valid action is None"):
            env.step(52)


def test_failed_resets_change_nothing() -> None:
    env = kachuful_v0.env()
    with pytest.raises(ValueError, match="seed"):
        env.reset(seed=-1)
    with pytest.raises(AssertionError, match="reset"):
        env.step(0)


def test_takes_raw_environments_only() -> None:
    with pytest.raises(TypeError, match="takes a TableEnv, not a CheckedEnv"):
        CheckedEnv(kachuful_v0.env())  # type: ignore[arg-type]
    assert isinstance(kachuful_v0.env().unwrapped, TableEnv)
