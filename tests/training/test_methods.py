"""What may be switched on while learning: critics of whole deals, forecasts, averages, snapshots, schedules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
import toy
from test_trainer import check_threads_add_up, tiny, weights

from envs.agents import Decisions, find_agent
from envs.game import find_game
from envs.search.lookahead import lookahead_memory, position_values
from envs.search.policy import policy_memory
from envs.vector import VectorEnv
from training.checkpoint import CheckpointError
from training.config import (
    AuxiliaryConfig,
    Config,
    ImitationConfig,
    NetworkConfig,
    PPOConfig,
    RolloutConfig,
    RunConfig,
)
from training.forecasts import BIDS, HOLDERS, OUTCOME, Forecasting, Seen
from training.frozen import Snapshots
from training.network import Critic, PlayoutCritic, PolicyNetwork
from training.opponents import SNAPSHOT, seat_tables
from training.ppo import (
    center_outcomes,
    chosen_log_probability_and_entropy,
    clipped_outcome_loss,
    clipped_policy_loss,
    divergence,
    likely_actions,
    masked_log_probabilities,
    outcome_loss,
    seat_outcomes,
)
from training.rollout import Rollout
from training.trainer import Trainer
from training.undo import UNDONE_IN_A_ROW, DivergenceError

KACHUFUL = find_game("kachuful")
ALL = AuxiliaryConfig(outcome=0.5, holders=0.3, bids=0.2)


def everything(seed: int = 0, threads: int = 1) -> Config:
    """All switches on."""
    config = tiny(seed=seed, threads=threads)
    return replace(
        config,
        network=replace(config.network, critic="deal", critic_hidden=[16]),
        auxiliary=ALL,
        rollout=replace(
            config.rollout,
            opponents={"self": 1.0, SNAPSHOT: 1.0, "heuristic": 1.0},
            snapshots=2,
            snapshot_decisions=300,
        ),
        imitation=ImitationConfig(decisions=1000),
        ppo=replace(config.ppo, entropy={"bid": 0.05, "card": 0.01}, final_entropy=0.0, average=0.1, average_decay=0.9),
    )


def judged_rollout(shares: dict[str, float], **rules: Any) -> tuple[Rollout, PolicyNetwork, Critic]:
    seats = KACHUFUL.make_rules(**rules).num_players
    tables = seat_tables(KACHUFUL, seats, 16, shares, 2, 0)
    env = VectorEnv(
        KACHUFUL, 16, 7, observation=False, state=True, statistics=True, players=tables.players, skip_forced=True,
        **rules,
    )  # fmt: skip
    net = PolicyNetwork(env.num_features, KACHUFUL.action_groups, [32], generator=torch.Generator().manual_seed(1))
    critic = Critic(env.num_state_features, [16], generator=torch.Generator().manual_seed(2))
    return Rollout(env, tables, 60, 20, torch.Generator().manual_seed(0), outcomes=True), net, critic


def test_outcomes_reach_every_decision_of_their_round() -> None:
    turn = np.array([[0], [1], [0], [1], [0]], np.int8)
    ended = np.array([[0], [1], [0], [1], [0]], np.bool_)
    outcome = np.full((5, 1, 2), -1, np.int16)
    outcome[1, 0], outcome[3, 0] = (3, 4), (-1, -1)  # of the second round nothing is known
    found = np.zeros((5, 1), np.int16)
    seat_outcomes(turn, ended, outcome, found)
    assert found[:, 0].tolist() == [3, 4, -1, -1, -1]


def test_states_values_and_outcomes_are_those_of_the_games() -> None:
    rules: dict[str, Any] = {"max_hand": 3}
    rollout, net, critic = judged_rollout({"self": 1.0}, **rules)
    env = VectorEnv(KACHUFUL, 16, 7, state=True, statistics=True, skip_forced=True, **rules)
    batch = env.set_state(rollout.env.get_state())
    kept = rollout.collect(net, 0.9, 1.0, critic)
    waiting: list[list[tuple[int, int]]] = [[] for _ in range(16)]
    checked = 0
    tricks = KACHUFUL.statistics.index("tricks")
    for t in range(60):
        assert np.array_equal(kept.state[t], batch.state)
        assert np.array_equal(kept.observation[t], batch.observation)
        assert torch.allclose(kept.value[t], critic(kept.state[t]), atol=1e-5)
        for i in range(16):
            waiting[i].append((t, int(batch.turn[i])))
        batch = env.step(kept.action[t].numpy())
        for i in np.flatnonzero(batch.round_over).tolist():
            for at, seat in waiting[i]:
                expected = int(batch.statistics[i, seat, tricks]) if batch.rounds[i] == 1 else -1
                assert int(kept.outcome[at, i]) == expected
                checked += expected >= 0
            waiting[i] = []
    assert checked > 100
    assert all(int(kept.outcome[at, i]) == -1 for i in range(16) for at, _ in waiting[i])


def test_the_policy_cannot_see_the_deal() -> None:
    """With other hidden cards and all that is seen the same, it wants the same; the critic's values differ."""
    rollout, net, critic = judged_rollout({"self": 1.0})
    kept = rollout.collect(net, 0.9, 1.0, critic)
    other = kept.state.clone()
    hidden = Forecasting(KACHUFUL, 4, False, ALL).others
    other[:, :, hidden.start : hidden.stop] = other[:, :, hidden.start : hidden.stop].flip(2)
    features = kept.observation.shape[2]
    assert torch.equal(net(other[0, :, :features])[0], net(kept.observation[0])[0])
    assert not torch.allclose(critic(other[0]), critic(kept.state[0]))


def test_forecasts_that_are_right_cost_nothing() -> None:
    rollout, net, critic = judged_rollout({"self": 1.0}, max_hand=3)
    kept = rollout.collect(net, 0.9, 1.0, critic)
    forecasting = Forecasting(KACHUFUL, 4, False, ALL)
    state, outcome, action = (x[30] for x in (kept.state, kept.outcome, kept.action))
    target = torch.arange(len(action), dtype=torch.float32)
    certain = torch.zeros(len(action), forecasting.outputs[OUTCOME])
    certain[torch.arange(len(action)), outcome.long().clamp_min(0)] = 50
    held = torch.stack([state[:, forecasting.others.start + k] for k in range(3 * 52)], dim=1)
    bids = KACHUFUL.action_groups["bid"]
    expected = torch.full((len(action), len(bids)), 99.0)
    is_bid = action >= bids.start
    expected[is_bid, action[is_bid] - bids.start] = target[is_bid]
    right = {OUTCOME: certain, HOLDERS: 100 * held.float() - 50, BIDS: expected}
    seen = Seen(state, outcome, action, target)
    assert set(forecasting.outputs) == set(right)
    assert is_bid.any()
    assert (~is_bid).any()
    for name, loss in forecasting.losses(right, seen).items():
        assert loss.shape == action.shape
        assert loss.abs().max() < 1e-5, name
        wrong = forecasting.losses({**right, name: -right[name]}, seen)[name]
        assert wrong.max() > 1, name


@pytest.mark.parametrize(
    ("game", "weights", "text"),
    [
        ("kaschlan", {"bids": 0.1}, "auxiliary.bids is not possible: Kaschlan"),
        ("toy", {"outcome": 0.1}, "auxiliary.outcome is not possible"),
        ("kachuful", {"holders": -1.0}, "auxiliary.holders=-1.0"),
        ("kachuful", {"holders": 0.1, "layer": 0}, "auxiliary.layer=0 .* from 1 to 2"),
        ("kachuful", {"holders": 0.1, "layer": 3}, "auxiliary.layer=3 .* from 1 to 2"),
    ],
)
def test_impossible_forecasts(game: str, weights: dict[str, float], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Config(game=game, auxiliary=AuxiliaryConfig(**weights))


@pytest.mark.parametrize("game", ["call_break", "kaschlan"])
def test_all_games_can_forecast(game: str) -> None:
    auxiliary = AuxiliaryConfig(outcome=0.1, holders=0.1, bids=0.1 if game == "call_break" else 0.0)
    config = replace(tiny(), game=game, rules={}, auxiliary=auxiliary, rollout=RolloutConfig(tables=8, steps=64))
    trainer = Trainer(replace(config, network=replace(config.network, critic="deal")))
    curves = trainer.update()
    for name in trainer.forecasting.outputs:
        assert curves[f"losses/forecast_{name}"] > 0
    assert all(np.isfinite(value) for value in curves.values())


def test_forecasts_teach_the_layers_up_to_theirs() -> None:
    auxiliary = AuxiliaryConfig(holders=1.0, layer=1)
    config = replace(tiny(), auxiliary=auxiliary, network=replace(tiny().network, hidden=[24, 16]))
    trainer = Trainer(config)
    assert trainer.forecasts is not None
    seen = torch.ones(3, trainer.game.layout(4, False).size)
    layers = trainer.network.trunk_outputs(trainer.network.inputs(seen))
    assert [layer.shape for layer in layers] == [(3, 24), (3, 16)]
    loss = sum(forecast.sum() for forecast in trainer.forecasts(layers[trainer.forecasting.layer]).values())
    assert isinstance(loss, torch.Tensor)
    loss.backward()  # type: ignore[no-untyped-call]
    first, second = trainer.network.linear_layers()[:2]
    assert first.weight.grad is not None
    assert first.weight.grad.any()
    assert second.weight.grad is None
    assert trainer.update()["losses/forecast_holders"] > 0


def test_divergence_against_the_definition() -> None:
    generator = torch.Generator().manual_seed(0)
    logits, other = torch.randn(2, 30, 9, generator=generator)
    mask = torch.rand(30, 9, generator=generator) < 0.5
    mask[:, 3] = True
    legal, count = torch.zeros(30, 9, dtype=torch.uint8), mask.sum(dim=1)
    for i in range(30):
        legal[i, : count[i]] = mask[i].nonzero()[:, 0].to(torch.uint8)
    logits.requires_grad_()
    own, reference = masked_log_probabilities(logits, mask), masked_log_probabilities(other, mask)
    terms = torch.where(mask, own.exp() * (own - reference), 0.0)
    found = divergence(logits, other, legal, count)
    assert torch.allclose(found, terms.nan_to_num().sum(dim=1), atol=1e-6)
    assert torch.allclose(divergence(other, other, legal, count), torch.zeros(30), atol=1e-6)
    (gradient,) = torch.autograd.grad(found.sum(), logits)
    assert gradient.isfinite().all()
    assert (gradient[~mask] == 0).all()


def test_the_average_follows_slowly() -> None:
    trainer = Trainer(everything())
    assert trainer.average is not None
    first = [parameter.clone() for parameter in trainer.average.parameters()]
    trainer.update()
    for slow, old, now in zip(trainer.average.parameters(), first, trainer.network.parameters(), strict=True):
        assert torch.allclose(slow, 0.9 * old + 0.1 * now, atol=1e-6)


def test_a_large_weight_holds_the_policy_at_its_average() -> None:
    moved = []
    for weight in (0.0, 100.0):
        config = tiny()
        trainer = Trainer(replace(config, ppo=replace(config.ppo, average=weight, average_decay=1.0)))
        for _ in range(3):
            trainer.update()
        start = Trainer(tiny()).network.requires_grad_(False)
        trainer.network.requires_grad_(False)
        seen = trainer.rollouts[0].decisions.observation[0]
        mask = torch.ones(len(seen), 89, dtype=torch.bool)
        now, then = (masked_log_probabilities(net(seen)[0], mask) for net in (trainer.network, start))
        moved.append(float((now.exp() * (now - then)).sum(dim=1).mean()))
    assert moved[1] < 0.5 * moved[0]


def test_snapshots_take_turns() -> None:
    trainer = Trainer(tiny())
    snapshots = Snapshots(trainer.network, 2, 1000)
    first = torch.cat([p.flatten() for p in snapshots.policies[0].network.parameters()])
    assert torch.equal(first, weights(trainer))
    taken = []
    for decisions in (999, 1000, 2500, 3000):
        with torch.no_grad():
            next(iter(trainer.network.parameters())).fill_(decisions)
        snapshots.keep(trainer.network, decisions)
        taken.append([float(next(iter(policy.network.parameters()))[0, 0]) for policy in snapshots.policies])
    start = float(first[0])
    assert taken == [[start, start], [1000, start], [1000, 2500], [3000, 2500]]
    again = Snapshots(Trainer(tiny()).network, 2, 1000)
    again.restore(snapshots.state())
    assert again.taken == 3
    assert float(next(iter(again.policies[1].network.parameters()))[0, 0]) == 2500


def test_entropy_falls_along_its_schedule() -> None:
    config = tiny()
    ppo = replace(config.ppo, entropy={"bid": 0.1, "card": 0.02}, final_entropy={"bid": 0.0, "card": 0.04})
    trainer = Trainer(replace(config, ppo=ppo))
    budget = config.run.decisions
    found = [trainer.schedules.entropy(decisions)[[0, 52]].tolist() for decisions in (0, budget // 2, budget)]
    assert np.allclose(found, [[0.02, 0.1], [0.03, 0.05], [0.04, 0.0]])
    trainer.update()
    assert trainer.entropy_weight[52] == pytest.approx(0.1)
    trainer.update()
    assert 0.07 < float(trainer.entropy_weight[52]) < 0.1


def test_playouts_lend_their_outcomes_to_values() -> None:
    """The critic is linear in the outcome of the playout, and what is played out is the deal at hand."""
    config = tiny(threads=1)
    trainer = Trainer(replace(config, network=replace(config.network, critic="playout")))
    critic, (rollout,) = trainer.critic, trainer.rollouts
    assert isinstance(critic, PlayoutCritic)
    torch.nn.init.normal_(critic.parts.weight, generator=torch.Generator().manual_seed(1))
    states, own = rollout.env.get_state(), rollout.tables.learner[np.arange(32), rollout.batch.turn]
    kept = rollout.collect(trainer.network, 0.9, 0.1, critic)
    expected = np.zeros(32, np.float32)
    position_values(
        states, trainer.rules.record(), rollout.tables.players, own, len(KACHUFUL.rule_players) - 1, policy_memory(),
        lookahead_memory(KACHUFUL.state, KACHUFUL.num_actions), expected,
    )  # fmt: skip
    assert np.abs(expected).max() > 0
    assert torch.allclose(kept.playout[0], torch.from_numpy(0.1 * expected))
    hidden = trainer.network.trunk_output(trainer.network.inputs(kept.observation[0]))
    assert torch.allclose(critic(hidden, kept.playout[0]), kept.value[0], atol=1e-5)
    share = critic(hidden, kept.playout[0] + 1) - critic(hidden, kept.playout[0])
    assert torch.allclose(critic(hidden, kept.playout[0] - 2), kept.value[0] - 2 * share, atol=1e-4)


def test_playouts_make_more_of_a_round_foreseen() -> None:
    explained = {}
    for critic in ("seat", "playout"):
        config = tiny(max_hand=4)
        network = replace(config.network, critic=critic)
        run = replace(config.run, decisions=32 * 16 * 60)
        trainer = Trainer(replace(config, network=network, run=run))
        found = [trainer.update()["losses/explained_variance"] for _ in range(60)]
        explained[critic] = np.mean(found[-20:])
    assert explained["playout"] > explained["seat"] + 0.1


def test_all_switches_add_up_to_one_gradient_over_threads() -> None:
    check_threads_add_up(Trainer(everything(threads=2)), Trainer(everything()))


def test_playouts_add_up_to_one_gradient_over_threads() -> None:
    halved, alone = (tiny(threads=threads) for threads in (2, 1))
    check_threads_add_up(*(Trainer(replace(c, network=replace(c.network, critic="playout"))) for c in (halved, alone)))


@pytest.mark.parametrize(("lookahead", "least"), [("rule", 0.0), ("policy", 0.0), ("rule", 0.1)])
def test_looking_ahead_adds_up_to_one_gradient_over_threads(lookahead: Literal["rule", "policy"], least: float) -> None:
    def trainer(threads: int) -> Trainer:
        config = tiny("toy", threads=threads)
        rollout = replace(config.rollout, lookahead=lookahead, lookahead_least=least)
        return Trainer(replace(config, rollout=rollout, ppo=replace(config.ppo, temperature=0.0 if least else 0.25)))

    check_threads_add_up(trainer(2), trainer(1))


def test_playouts_by_the_rule_player_come_first() -> None:
    config, batch = tiny("toy"), 32 * 16
    rollout = replace(config.rollout, lookahead="policy", rule_playouts=2 * batch)
    trainer = Trainer(replace(config, rollout=rollout, imitation=ImitationConfig("lowest", decisions=batch)))
    playing = []
    for _ in range(4):
        trainer.update()
        playing.append(trainer.rollouts[0].lookahead)
    assert playing == ["rule", "rule", "rule", "policy"]


def test_decisions_without_a_choice_that_matters_are_not_learnt_from() -> None:
    config = tiny("toy")
    rollout = replace(config.rollout, lookahead="rule", lookahead_least=0.1)
    trainer = Trainer(replace(config, rollout=rollout, ppo=replace(config.ppo, temperature=0.0)))
    trainer.update()
    (rollout,) = trainer.rollouts
    kept, times = rollout.decisions, torch.arange(len(rollout.decisions.closed))
    matters = (kept.outcomes != 0).any(dim=2)
    assert 0 < int(kept.closed.sum()) < kept.closed.numel()
    assert not (kept.closed & ~matters).any()
    rows = rollout.rows(times)
    assert rows is not None
    assert rows.tolist() == kept.closed.flatten().nonzero()[:, 0].tolist()


@pytest.mark.parametrize("critic", ["deal", "playout"])
def test_resume_goes_on_exactly_with_all_switches(tmp_path: Path, critic: Literal["deal", "playout"]) -> None:
    config = everything()
    config = replace(config, network=replace(config.network, critic=critic))
    straight, stopped = Trainer(config), Trainer(config)
    for _ in range(5):
        straight.update()
    for _ in range(3):
        stopped.update()
    stopped.save(tmp_path)
    resumed = Trainer(config)
    resumed.resume(tmp_path)
    for _ in range(2):
        resumed.update()
    assert straight.snapshots is not None
    assert straight.snapshots.taken > 3
    ours, theirs = straight.state(), resumed.state()
    assert set(ours) == set(theirs)
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert torch.equal(weights(straight), weights(resumed))


def test_a_diverged_update_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny()
    trainer = Trainer(config)
    trainer.update()
    before = weights(trainer)
    moments = [state["exp_avg"].clone() for state in trainer.optimizer.state.values()]
    collect = trainer.rollouts[0].collect

    def poisoned(*arguments: Any) -> Any:
        batch = collect(*arguments)
        batch.advantage[3, 4] = float("nan")
        return batch

    monkeypatch.setattr(trainer.rollouts[0], "collect", poisoned)
    curves = trainer.update()
    assert curves["charts/undone_updates"] == 1
    assert torch.equal(weights(trainer), before)
    now = [state["exp_avg"] for state in trainer.optimizer.state.values()]
    assert all(torch.equal(a, b) for a, b in zip(moments, now, strict=True))
    monkeypatch.undo()
    trainer.update()
    assert not torch.equal(weights(trainer), before)
    assert all(parameter.isfinite().all() for parameter in trainer.network.parameters())


def test_training_that_only_diverges_ends_in_one_line() -> None:
    config = tiny()
    run = replace(config.run, decisions=10**6)
    trainer = Trainer(replace(config, run=run, ppo=PPOConfig(learning_rate=1.0, minibatches=4, max_kl=1e-9)))
    before = weights(trainer)
    for _ in range(UNDONE_IN_A_ROW - 1):
        trainer.update()
    assert torch.equal(weights(trainer), before)
    with pytest.raises(DivergenceError, match=r"5 updates in a row diverged and were undone \(approximate KL"):
        trainer.update()
    assert torch.equal(weights(trainer), before)


def test_outcomes_and_logits_against_the_definition() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(20, 9, generator=generator)
    count = torch.randint(1, 6, (20,), generator=generator)
    legal = torch.zeros(20, 9, dtype=torch.uint8)
    outcomes = torch.zeros(20, 9)
    for i, n in enumerate(count.tolist()):
        legal[i, :n] = torch.randperm(9, generator=generator)[:n].sort().values.to(torch.uint8)
        drawn = torch.randn(n, generator=generator)
        outcomes[i, :n] = drawn - drawn.mean()
    found = outcome_loss(logits, legal, count, outcomes, 0.5)
    for i, n in enumerate(count.tolist()):
        own = logits[i, legal[i, :n].long()]
        expected = 0.5 * (0.5 * (own - own.mean()) - outcomes[i, :n]).square().mean()
        assert float(found[i]) == pytest.approx(float(expected), abs=1e-6)
    right = torch.full((20, 9), 7.0)
    for i, n in enumerate(count.tolist()):
        right[i, legal[i, :n].long()] = 3 + 2 * outcomes[i, :n]
    assert outcome_loss(right, legal, count, outcomes, 0.5).abs().max() < 1e-6


def test_the_objective_of_known_outcomes_is_that_of_drawn_actions_in_the_mean() -> None:
    generator = torch.Generator().manual_seed(0)
    logits, before = torch.randn(2, 2, 4, generator=generator)
    logits.requires_grad_()
    legal = torch.tensor([[0, 1, 3, 0], [2, 0, 0, 0]], dtype=torch.uint8)
    count = torch.tensor([3, 1], dtype=torch.int16)
    outcomes = torch.tensor([[-1.0, 0.5, 0.75, 0.0], [0.0, 0.0, 0.0, 0.0]])
    chances = torch.zeros(2, 4)
    chances[0, :3] = torch.softmax(before[0, [0, 1, 3]], dim=0)
    chances[1, 0] = 1.0
    loss = clipped_outcome_loss(logits, legal, count, outcomes, chances, 0.1)
    advantage = outcomes[0, :3] - (chances[0, :3] * outcomes[0, :3]).sum()
    new = torch.log_softmax(logits[0, [0, 1, 3]], dim=0)
    drawn = clipped_policy_loss(new, chances[0, :3].log(), advantage, 0.1)
    expected = (chances[0, :3] * drawn).sum()
    assert torch.allclose(loss, torch.stack([expected, torch.tensor(0.0)]), atol=1e-6)
    ours, theirs = (torch.autograd.grad(x, logits, retain_graph=True)[0] for x in (loss.sum(), expected))
    assert torch.allclose(ours, theirs, atol=1e-6)


def test_outcomes_are_centred() -> None:
    outcomes = np.array([[1.0, 4.0, 9.0, 5.0], [7.0, 7.0, 7.0, 7.0]], np.float32)
    wanted = np.array([[True, True, True, False], [False] * 4])
    center_outcomes(outcomes, wanted, np.ones((2, 4), np.float32), 0.5)
    assert outcomes[0].tolist() == pytest.approx([-11 / 6, -1 / 3, 13 / 6, 0])
    assert outcomes[1].tolist() == [0, 0, 0, 0]
    outcomes[0] = [1.0, 4.0, 9.0, 5.0]
    center_outcomes(outcomes, wanted, np.array([[0.25, 0.25, 0.0, 0.5]] * 2, np.float32), 1.0)
    assert outcomes[0].tolist() == pytest.approx([-1.5, 1.5, 6.5, 0])


def test_only_likely_actions_are_compared() -> None:
    logits = np.log(
        np.array([[0.6, 0.3, 0.02, 0.08], [0.99, 0.005, 0.0, 0.005], [1.0, 1.0, 1.0, 1.0]], np.float32) + 1e-9
    )
    legal = np.array([[0, 1, 2, 3], [0, 1, 3, 0], [2, 0, 0, 0]], np.uint8)
    wanted, chance = np.ones((3, 4), np.bool_), np.ones((3, 4), np.float32)
    likely_actions(logits, legal, np.array([4, 3, 1], np.int16), 0.05, chance, wanted)
    assert wanted.tolist() == [[True, True, False, True], [False] * 4, [False] * 4]
    assert chance.flatten().tolist() == pytest.approx(
        [0.6, 0.3, 0.02, 0.08, 0.99, 0.005, 0.0, 0, 1, 0, 0, 0], abs=0.006
    )
    assert chance.sum(axis=1).tolist() == pytest.approx([1, 1, 1])
    likely_actions(logits, legal, np.array([4, 3, 1], np.int16), 0.0, chance, wanted)
    assert wanted.tolist() == [[True] * 4, [True, True, True, False], [False] * 4]


@pytest.mark.parametrize("temperature", [0.25, 0.0])
@pytest.mark.parametrize("lookahead", ["rule", "policy"])
def test_looking_ahead_finds_better_play_than_the_rule_player(
    lookahead: Literal["rule", "policy"], temperature: float
) -> None:
    """On the toy game a few updates are enough to gain from the rule player in all other seats."""
    config = Config(
        game="toy",
        rules={"num_players": 3},
        network=NetworkConfig([64], "float32"),
        rollout=RolloutConfig(
            tables=64, steps=32, opponents={"lowest": 1}, learner_seats=1, scatter=30, lookahead=lookahead
        ),
        ppo=PPOConfig(learning_rate=3e-3, minibatches=4, reward_scale=1.0, max_kl=10, temperature=temperature),
        run=RunConfig(decisions=64 * 32 * 20, threads=1),
    )
    trainer = Trainer(config)
    rewards = [trainer.update()["charts/round_reward/lowest"] for _ in range(20)]
    assert np.mean(rewards[-5:]) > np.mean(rewards[:3]) + 0.1
    kept = trainer.rollouts[0].decisions
    listed = torch.arange(kept.outcomes.shape[2]) < kept.count[:, :, None]
    assert torch.allclose(kept.outcomes.sum(dim=2), torch.zeros(32, 64), atol=1e-4)
    assert (kept.outcomes[~listed] == 0).all()
    assert float(kept.outcomes.abs().max()) > 0


def test_training_starts_from_a_checkpoint(tmp_path: Path) -> None:
    first = Trainer(tiny(seed=5))
    first.update()
    first.save(tmp_path)
    config = tiny()
    trainer = Trainer(replace(config, network=replace(config.network, start=str(tmp_path))))
    assert torch.equal(weights(first), weights(trainer))
    assert trainer.decisions == 0
    for wrong, text in (
        (replace(config.network, start=str(tmp_path), hidden=[8]), "does not fit the network"),
        (replace(config.network, start=str(tmp_path / "none")), "no checkpoint at"),
    ):
        with pytest.raises(CheckpointError, match=text):
            Trainer(replace(config, network=wrong))
    with pytest.raises(CheckpointError, match="is no start for this training: its game differ"):
        Trainer(replace(tiny("toy"), network=replace(config.network, start=str(tmp_path))))


def test_the_step_size_rises_after_an_imitation() -> None:
    """It begins anew, and so do the moments of the gradients, for those of another loss say nothing."""
    config, batch = tiny("toy"), 32 * 16
    imitation = ImitationConfig("lowest", decisions=2 * batch)
    ppo = replace(config.ppo, warmup=4 * batch, learning_rate=1e-2, final_learning_rate=1e-2)
    trainer = Trainer(replace(config, imitation=imitation, ppo=ppo))
    rates, steps = [], []
    for _ in range(7):
        rates.append(trainer.update()["charts/learning_rate"])
        steps.append(float(trainer.optimizer.state[trainer.parameters[0]]["step"]))
    assert rates[2:] == pytest.approx([2.5e-3, 5e-3, 7.5e-3, 1e-2, 1e-2])
    assert steps[:3] == [4, 0, 4]


def test_a_run_begins_by_imitating_a_rule_player() -> None:
    """Where all decisions are the teacher's, the policy learns them; afterwards it draws its own again."""
    config = tiny("toy")
    imitation = ImitationConfig("lowest", decisions=32 * 16 * 40, learning_rate=1e-2)
    run = replace(config.run, decisions=32 * 16 * 42)
    trainer = Trainer(replace(config, imitation=imitation, run=run))
    teacher, (rollout,) = find_agent("lowest", trainer.game), trainer.rollouts

    def alike() -> float:
        """Part of the decisions of a further batch in which the likeliest action is the teacher's."""
        found = []
        for _ in range(8):
            batch = rollout.batch
            wanted = teacher.act(Decisions(trainer.game, trainer.rules, rollout.env.get_state()))
            logits = trainer.network(torch.from_numpy(batch.observation.copy()))[0].detach().numpy()
            found.append((np.where(batch.action_mask, logits, -np.inf).argmax(axis=1) == wanted).mean())
            rollout.batch = rollout.env.step(wanted)
        return float(np.mean(found))

    before = alike()
    while trainer.decisions < imitation.decisions:
        trainer.update()
        assert float(trainer.undo.undone) == 0
    assert before < 0.7
    assert alike() > 0.95
    drawn: list[bool] = []
    monitored = rollout.collect

    def watched(*arguments: Any) -> Any:
        drawn.append(arguments[4] is None)
        return monitored(*arguments)

    rollout.collect = watched  # type: ignore[method-assign]
    trainer.update()
    assert drawn == [True]


def test_a_teachers_decisions_are_noted_as_if_the_policy_had_made_them() -> None:
    rollout, net, _ = judged_rollout({"self": 1.0, "counting": 1.0}, max_hand=3)
    teacher = find_agent("heuristic", KACHUFUL)
    states = rollout.env.get_state()
    kept = rollout.collect(net, 0.9, teacher=teacher)
    assert kept.action[0].tolist() == teacher.act(Decisions(KACHUFUL, rollout.env.rules, states)).tolist()
    chosen, _ = chosen_log_probability_and_entropy(
        net(kept.observation[0])[0], kept.legal[0], kept.count[0], kept.choice[0]
    )
    assert torch.allclose(chosen, kept.log_probability[0], atol=1e-5)
    listed = kept.legal[0].long().gather(1, kept.choice[0].long()[:, None])[:, 0]
    assert torch.equal(listed, kept.action[0])


@pytest.mark.parametrize(
    ("game", "imitation", "text"),
    [
        (
            "kachuful",
            {"player": "lowest"},
            "imitation.player='lowest' is not possible: it must be one of counting, heu",
        ),
        ("kachuful", {"decisions": -1}, "imitation.decisions"),
        ("kachuful", {"learning_rate": 0.0}, "imitation.learning_rate"),
    ],
)
def test_impossible_imitation(game: str, imitation: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Config(game=game, imitation=ImitationConfig(**imitation))


def test_toy_has_nothing_to_forecast() -> None:
    assert toy.GAME.forecast is None
    assert Forecasting(toy.GAME, 3, False, AuxiliaryConfig()).outputs == {}


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_the_processor_learns() -> None:
    assert RunConfig().device == "cpu"
    assert Trainer(tiny()).device == torch.device("cpu")
    with pytest.raises(ValueError, match=r"option run\.device=cuda is not possible: PyTorch finds no GPU"):
        RunConfig(device="cuda")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_computes_the_gradient_of_the_processor() -> None:
    config = everything()
    here, there = (Trainer(replace(config, run=replace(config.run, device=device))) for device in ("cpu", "cuda"))
    gradients = []
    for trainer in (here, there):
        (rollout,) = trainer.rollouts
        kept = rollout.collect(trainer.network, 0.9, 0.1, trainer.critic)
        if trainer is there:  # what was drawn may differ where logits are rounded otherwise
            rollout.own[:] = here.rollouts[0].own
            for name in vars(kept):
                getattr(kept, name).copy_(getattr(here.rollouts[0].decisions, name))
            rollout.learnt = kept.to(trainer.device)
        scale = tuple(x.to(trainer.device) for x in (torch.tensor(0.1), torch.tensor(2.0), torch.ones(2)))
        gradients.append(trainer._gradient(rollout, torch.arange(4), scale, 100.0)[0])
    assert torch.allclose(gradients[0], gradients[1].cpu(), atol=1e-5)
    assert all(np.isfinite(value) for value in there.update().values())
