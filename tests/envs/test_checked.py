"""CheckedEnv against PettingZoo's own three wrappers around the raw environment, move by move."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from pettingzoo.utils.wrappers import AssertOutOfBoundsWrapper, OrderEnforcingWrapper, TerminateIllegalWrapper
from playing import legal_actions, positions, step_randomly, trace

from envs import kachuful_v0
from envs.aec import TableEnv
from envs.checked import CheckedEnv

SMALL: dict[str, Any] = {"max_hand": 3}
BEFORE_RESET = ("agents", "agent_selection", "num_agents", "rewards", "terminations", "truncations", "infos")


def wrapped(**rules: Any) -> Any:
    raw = kachuful_v0.raw_env(**rules)
    return OrderEnforcingWrapper(AssertOutOfBoundsWrapper(TerminateIllegalWrapper(raw, raw.illegal_reward)))


def shown(env: Any, masks: bool = True) -> tuple[Any, ...]:
    """What a user sees; after an illegal end masks differ, and the state, which is then seen from seat 0."""
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
        [seen["observation"].tobytes() for seen in observations],
        [seen["action_mask"].tobytes() for seen in observations] if masks else None,
        [type(env.rewards[agent]) for agent in env.agents] if masks else None,
    )


@pytest.mark.parametrize("rules", [{}, {"num_players": 3, "blind": "optional"}, {"num_players": 5, "reward": "win"}])
def test_whole_games(rules: dict[str, Any]) -> None:
    ours, theirs = kachuful_v0.env(**SMALL, **rules), wrapped(**SMALL, **rules)
    for seed in (1, None):
        for env in (ours, theirs):
            env.reset(seed=seed)
        if seed is None:
            assert ours.unwrapped.snapshot() == theirs.unwrapped.snapshot()
        rng = Random(4)
        for agent, other in zip(ours.agent_iter(), theirs.agent_iter(), strict=True):
            assert agent == other
            assert shown(ours) == shown(theirs)
            done = ours.terminations[agent]
            action = None if done else rng.choice(legal_actions(ours))
            ours.step(action)
            theirs.step(action)
        assert shown(ours) == shown(theirs)
        assert ours.agents == []
        assert str(ours) == str(theirs) == "kachuful_v0"


@pytest.mark.parametrize("moves", [0, 3, 9, 20])
@pytest.mark.parametrize("illegal_reward", [None, -2.5])
def test_illegal_actions_end_the_game(moves: int, illegal_reward: float | None) -> None:
    rules = {**SMALL, "illegal_reward": illegal_reward}
    ours, theirs = kachuful_v0.env(**rules), wrapped(**rules)
    rng = Random(1)
    for env in (ours, theirs):
        env.reset(seed=2)
    for _ in range(moves):
        action = rng.choice(legal_actions(ours))
        ours.step(action)
        theirs.step(action)
    offender = ours.agent_selection
    illegal = next(a for a in range(89) if a not in legal_actions(ours))
    for env in (ours, theirs):
        env.step(illegal)
    assert ours.rewards == {agent: ours.illegal_reward if agent == offender else 0 for agent in ours.agents}
    assert ours.illegal_reward == (-13.0 if illegal_reward is None else illegal_reward)
    while ours.agents:
        assert shown(ours, masks=False) == shown(theirs, masks=False)
        for agent in ours.possible_agents:
            assert not ours.observe(agent)["action_mask"].any()
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


def test_aborted_games_can_be_set_up_again() -> None:
    env, other = kachuful_v0.env(**SMALL), kachuful_v0.env(**SMALL)
    for moves in range(12):
        env.reset(seed=2)
        trace(env, Random(0), moves)
        env.step(88)
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
