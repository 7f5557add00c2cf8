"""Playing: who sits where, and what is kept of each decision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import toy

from envs.game import find_game
from envs.vector import VectorEnv
from training.network import PolicyNetwork
from training.opponents import SELF, Tables, check_shares, seat_tables
from training.ppo import masked_log_probabilities
from training.rollout import Rollout, outcomes

KACHUFUL = find_game("kachuful")


def make_rollout(
    game: Any, tables: Tables, steps: int, scatter: int = 0, seed: int = 0, **rules: Any
) -> tuple[Rollout, PolicyNetwork]:
    env = VectorEnv(game, len(tables.kind), 7, statistics=True, players=tables.players, skip_forced=True, **rules)
    net = PolicyNetwork(env.num_features, game.action_groups, [32], generator=torch.Generator().manual_seed(1))
    torch.nn.init.normal_(net.value.weight, generator=torch.Generator().manual_seed(2))
    return Rollout(env, tables, steps, scatter, torch.Generator().manual_seed(seed)), net


def test_shares_are_kept() -> None:
    shares = {"self": 6.0, "random": 1.0, "counting": 3.0}
    tables = seat_tables(KACHUFUL, 5, 100, shares, 3, 0)
    assert tables.kinds == ("self", "random", "counting")
    assert np.bincount(tables.kind).tolist() == [60, 10, 30]
    held = tables.learner.sum(axis=1)
    assert (held[tables.kind == 0] == 5).all()
    assert set(held[tables.kind > 0].tolist()) == {1, 2, 3}
    assert (tables.learner[tables.kind == 2].sum(axis=0) > 0).all()
    for kind, code in ((1, 0), (2, 1)):
        here = tables.players[tables.kind == kind]
        assert (here[here >= 0] == code).all()


def test_a_small_table_keeps_an_opponent() -> None:
    tables = seat_tables(toy.GAME, 3, 12, {"random": 1}, 8, 0)
    assert tables.learner.sum(axis=1).max() == 2


@pytest.mark.parametrize(
    ("shares", "text"),
    [
        ({"self": 1, "clever": 1}, "no player 'clever' in Kachuful; choose among self, snapshot, random, counting"),
        ({"self": -1, "random": 2}, "share self=-1"),
        ({"random": float("nan")}, "share random=nan"),
        ({"self": 0}, "all 0"),
        ({}, "all 0"),
    ],
)
def test_impossible_shares(shares: dict[str, float], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        check_shares(shares, KACHUFUL)


def replay(rollout: Rollout, net: PolicyNetwork, env: VectorEnv, discount: float, scale: float) -> None:
    """Play the kept decisions again, table by table, collect each seat's trajectories and compare everything."""
    kept = rollout.decisions
    states = env.get_state()
    batch = env.set_state(states)
    steps, tables = kept.action.shape
    expected = np.zeros((steps, tables))
    closed = np.zeros((steps, tables), bool)
    paths: list[dict[int, list[int]]] = [{} for _ in range(tables)]
    for t in range(steps):
        assert np.array_equal(kept.observation[t], batch.observation)
        logits, value = net(kept.observation[t])
        chances = masked_log_probabilities(logits, torch.from_numpy(batch.action_mask))
        chosen = chances.gather(1, kept.action[t][:, None])[:, 0]
        assert torch.allclose(chosen, kept.log_probability[t], atol=1e-5)
        assert torch.allclose(value, kept.value[t], atol=1e-5)
        for i in range(tables):
            legal = np.flatnonzero(batch.action_mask[i])
            assert kept.legal[t, i, : kept.count[t, i]].tolist() == legal.tolist()
            assert legal[kept.choice[t, i]] == kept.action[t, i]
            assert len(legal) > 1
            paths[i].setdefault(int(batch.turn[i]), []).append(t)
        batch = env.step(kept.action[t].numpy())
        for i in range(tables):
            if not batch.round_over[i] and t < steps - 1:
                continue
            for seat, path in paths[i].items():
                values = [float(kept.value[at, i]) for at in path] + [0.0]
                gain = float(batch.rewards[i, seat]) * scale if batch.round_over[i] else 0.0
                length = len(path) if batch.round_over[i] else len(path) - 1
                running = 0.0
                for k in reversed(range(length)):
                    last = batch.round_over[i] and k == length - 1
                    error = (gain if last else values[k + 1]) - values[k]
                    running = error + discount * running
                    expected[path[k], i], closed[path[k], i] = running, True
            paths[i] = {}
    assert np.array_equal(kept.closed, closed)
    assert np.allclose(kept.advantage, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("game", "shares", "rules"),
    [
        (KACHUFUL, {"self": 2, "random": 1, "counting": 1}, {"max_hand": 3}),
        (KACHUFUL, {"self": 1, "counting": 1}, {"num_players": 3, "blind": "optional", "max_hand": 2}),
        (toy.GAME, {"self": 2, "random": 1, "lowest": 1}, {"num_players": 3}),
    ],
)
def test_rewards_go_to_the_right_decisions(game: Any, shares: dict[str, float], rules: dict[str, Any]) -> None:
    seats = game.make_rules(**rules).num_players
    tables = seat_tables(game, seats, 16, shares, 2, 0)
    rollout, net = make_rollout(game, tables, 40, scatter=20, **rules)
    env = VectorEnv(game, 16, 7, players=tables.players, skip_forced=True, **rules)
    for _ in range(2):
        env.set_state(rollout.env.get_state())
        rollout.collect(net, 0.9, 0.5)
        replay(rollout, net, env, 0.9, 0.5)
        assert 0.5 < rollout.decisions.closed.float().mean() < 1


def test_starts_are_scattered() -> None:
    tables = seat_tables(KACHUFUL, 4, 64, {"self": 1}, 1, 0)
    rollout, _ = make_rollout(KACHUFUL, tables, 2, scatter=500)
    assert len(set(rollout.env.get_state()["round"].tolist())) > 10


def test_outcomes_are_means_by_kind() -> None:
    tables = seat_tables(KACHUFUL, 4, 24, {"self": 1, "random": 1, "counting": 1}, 2, 0)
    rollout, net = make_rollout(KACHUFUL, tables, 60, max_hand=2)
    rollout.collect(net, 1.0)
    found = outcomes([rollout])
    assert list(found) == [SELF, "random", "counting"]
    assert found[SELF].reward == pytest.approx(0, abs=1e-5)  # margins of all seats cancel
    assert set(found["random"].statistics) == set(KACHUFUL.statistics)
    for k, name in enumerate(tables.kinds):
        total = count = 0.0
        for i in np.flatnonzero(tables.kind == k):
            total += float(rollout.reward[:, i, tables.learner[i]].sum())
            count += float(rollout.rounds[i] * tables.learner[i].sum())
        assert found[name].reward == pytest.approx(total / count, abs=1e-4)


def test_restore_goes_on_exactly() -> None:
    tables = seat_tables(toy.GAME, 4, 8, {"self": 1, "random": 1}, 2, 0)
    first, net = make_rollout(toy.GAME, tables, 10, scatter=9)
    first.collect(net, 1.0)
    second, _ = make_rollout(toy.GAME, tables, 10, seed=5)
    second.restore(first.state())
    for rollout in (first, second):
        rollout.collect(net, 1.0)
    assert torch.equal(first.decisions.action, second.decisions.action)
    assert torch.equal(first.decisions.advantage, second.decisions.advantage)
    other, _ = make_rollout(toy.GAME, tables.part(0, 4), 10)
    with pytest.raises(ValueError, match="8 tables"):
        other.restore(first.state())


@pytest.mark.parametrize(("name", "rate", "by"), [("kachuful", "exact", "bid"), ("call_break", "made", "call")])
def test_rates_by_bid(name: str, rate: str, by: str) -> None:
    """Weighed by how often each value came, they sum to the rate over all rounds that ended alone in a step."""
    game = find_game(name)
    rules = {"max_hand": 3} if name == "kachuful" else {"rounds": 1}
    seats = game.make_rules(**rules).num_players
    tables = seat_tables(game, seats, 64, {"self": 1.0}, 1, 0)
    rollout, net = make_rollout(game, tables, 120, **rules)
    rollout.collect(net, 0.8)
    found = outcomes([rollout])["self"].breakdown
    rows = np.concatenate([statistics.reshape(-1, len(game.statistics)) for _, statistics in rollout.single_rounds])
    rates, values = rows[:, game.statistics.index(rate)], rows[:, game.statistics.index(by)]
    assert set(found) == {f"{rate}/{by}_{int(value)}" for value in set(values.tolist())}
    for key, mean in found.items():
        here = values == int(key.rpartition("_")[2])
        assert mean == pytest.approx(rates[here].mean(), abs=1e-6)
    assert len(found) > 1
