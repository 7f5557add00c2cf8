"""Searches with a policy as their prior: the compiled network, what is made of it, and what is refused."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from games import SHIPPED
from policies import save_policy

from envs import loops
from envs.agents import Decisions, check_rules, find_agent
from envs.game import Game, find_game
from envs.jit import PLAIN
from envs.search.playout import beside_rule_players, choose_action, play_out, round_values, win_chance
from envs.search.policy import OUTPUTS, POLICY, has_policy, join_layers, policy_memory, write_chances, write_logits
from envs.vector import VectorEnv
from training.agents import PolicyAgent, load_agent, policy_of
from training.arena import play_match
from training.checkpoint import MANIFEST, CheckpointError, describe, find_checkpoint, load_policy, save_checkpoint
from training.config import Config
from training.crew import Crew, Team
from training.objective import WinChances
from training.search import LOOKAHEAD, InformationSet, MonteCarlo, Search, look_ahead
from training.tournament import settings_of

KACHUFUL = find_game("kachuful")


def some_decisions(game: Game, count: int = 20, seats: int | None = None, **rules: Any) -> tuple[np.ndarray, Decisions]:
    """Games in the midst of play, whole, and as the seats to act see them."""
    env = VectorEnv(game, 3 if PLAIN else count, **({} if seats is None else {"num_players": seats}), **rules)
    env.reset(scatter=60)
    return env.get_state(), Decisions(game, env.rules, env.get_state(), 3)


def memory_of(path: str) -> tuple[Any, ...]:
    """A checkpoint's policy as the compiled search takes it."""
    policy = load_policy(path)
    return policy_memory(policy.network.joined(), policy.pad_seats)


@pytest.mark.parametrize("hidden", [[24, 16], [16, 24, 8], [8]], ids=str)
@pytest.mark.parametrize("wide", [False, True], ids=["own seats", "all seats"])
@pytest.mark.parametrize("name", SHIPPED)
def test_the_compiled_network_is_the_trained_one(name: str, wide: bool, hidden: list[int], tmp_path: Path) -> None:
    game = find_game(name)
    path = save_policy(tmp_path, name, pad_seats=wide, hidden=hidden)
    memory, policy = memory_of(path), load_policy(path)
    _, decisions = some_decisions(game)
    with torch.inference_mode():
        expected = policy.network(torch.from_numpy(decisions.observation(wide)))[0].numpy()
    agent = load_agent(path, game)
    assert isinstance(agent, PolicyAgent)
    chances = agent.probabilities(decisions)
    greedy = agent.act(decisions)
    seen = np.zeros(1, game.state)
    record = decisions.rules.record()[0]
    for i, state in enumerate(decisions.states):
        write_logits(state, record, memory)
        np.testing.assert_allclose(memory[OUTPUTS][0], expected[i], atol=1e-4)
        words = [sum(1 << int(a) for a in np.flatnonzero(decisions.action_mask[i][at : at + 52])) for at in (0, 52)]
        write_chances(state, record, *words, memory)
        np.testing.assert_allclose(memory[OUTPUTS][0], chances[i], atol=1e-5)
        assert choose_action(state, record, POLICY, memory, seen) == greedy[i]


def test_layers_must_follow_one_another() -> None:
    assert not has_policy(policy_memory())
    weights, sizes, suits = join_layers([(np.ones((3, 2)), np.zeros(3)), (np.ones((4, 3)), np.zeros(4))])
    assert (weights.dtype, sizes.tolist()) == (np.float32, [2, 3, 4])
    assert len(weights) == 3 * 2 + 3 + 4 * 3 + 4
    assert has_policy(policy_memory((weights, sizes, suits)))
    with pytest.raises(ValueError, match="needs a layer"):
        join_layers([])
    with pytest.raises(ValueError, match="do not lead from 3 inputs to 4"):
        join_layers([(np.ones((3, 2)), np.zeros(3)), (np.ones((4, 2)), np.zeros(4))])


def test_a_playout_of_the_policy_is_what_the_policy_plays(tmp_path: Path) -> None:
    path = save_policy(tmp_path, "kachuful", max_hand=3)
    states, decisions = some_decisions(KACHUFUL, 8, max_hand=3)
    agent, memory, record = load_agent(path, KACHUFUL), memory_of(path), decisions.rules.record()
    for i in range(len(states)):
        expected, found, flags = np.zeros(8, np.float32), np.zeros(8, np.float32), 0
        copy = states[i : i + 1].copy()
        while not flags:
            action = int(agent.act(Decisions(KACHUFUL, decisions.rules, copy))[0])
            flags = loops.advance(copy[0], record[0], action)
        round_values(copy[0], record[0], flags, expected)
        copy = states[i : i + 1].copy()
        play_out(copy[0], record[0], POLICY, 0, memory, np.zeros(1, KACHUFUL.state), found)
        assert found.tolist() == expected.tolist()


def test_the_first_iteration_follows_the_policy(tmp_path: Path) -> None:
    path = save_policy(tmp_path, "kachuful")
    _, decisions = some_decisions(KACHUFUL, 40)
    greedy = load_agent(path, KACHUFUL).act(decisions)
    search = InformationSet(iterations=1, prior=path)
    assert np.array_equal(search.act(decisions), greedy)
    tried = ~np.isnan(search.values(decisions))
    choice = decisions.action_mask.sum(axis=1) > 1
    assert np.array_equal(tried.sum(axis=1), choice)
    assert tried[choice, greedy[choice]].all()


def test_the_tree_tries_what_the_policy_thinks_of(tmp_path: Path) -> None:
    path = save_policy(tmp_path, "kachuful")
    _, decisions = some_decisions(KACHUFUL, 40)
    agent = load_agent(path, KACHUFUL)
    assert isinstance(agent, PolicyAgent)
    chances, choice = agent.probabilities(decisions), decisions.action_mask.sum(axis=1) > 3
    tried = ~np.isnan(InformationSet(iterations=60, prior=path).values(decisions))
    assert (tried.sum(axis=1) < decisions.action_mask.sum(axis=1))[choice].any()
    left_out = decisions.action_mask & ~tried
    assert chances[choice][tried[choice]].mean() > 2 * chances[choice][left_out[choice]].mean()
    every = ~np.isnan(InformationSet(iterations=60).values(decisions))
    assert (every.sum(axis=1) == decisions.action_mask.sum(axis=1))[choice].all()


@pytest.mark.parametrize("kind", ["montecarlo", "pimc"])
def test_caution_keeps_to_the_policy(kind: str, tmp_path: Path) -> None:
    path = save_policy(tmp_path, "kachuful")
    _, decisions = some_decisions(KACHUFUL, 60)
    policy, rule = load_agent(path, KACHUFUL).act(decisions), find_agent("heuristic", KACHUFUL).act(decisions)
    guided = load_agent(f"{kind}:deals=8,halving=0,caution=100,prior={path}", KACHUFUL).act(decisions)
    plain = load_agent(f"{kind}:deals=8,halving=0,caution=100", KACHUFUL).act(decisions)
    # Another action that leads in every deal by as much leaves no doubt, whatever the caution.
    assert (guided == policy).mean() > (0.6 if PLAIN else 0.9)
    assert (plain == rule).mean() > (0.6 if PLAIN else 0.9)


@pytest.mark.parametrize("kind", ["montecarlo:deals=4", "pimc:deals=4,exact=2", "ismcts:iterations=30"])
def test_playouts_by_the_policy_are_other_playouts(kind: str, tmp_path: Path) -> None:
    path = save_policy(tmp_path, "kachuful")
    _, decisions = some_decisions(KACHUFUL)
    values = [
        load_agent(f"{kind},prior={path},playouts={by}", KACHUFUL).values(decisions)  # type: ignore[attr-defined]
        for by in (0, 1)
    ]
    assert not np.array_equal(*values, equal_nan=True)


@pytest.mark.parametrize(
    "spec", ["montecarlo:deals=2,prior={}", "pimc:deals=2,playouts=1,prior={}", "ismcts:iterations=8,prior={}"]
)
def test_workers_play_the_same_games(spec: str, tmp_path: Path) -> None:
    path = save_policy(tmp_path, "kachuful", max_hand=2)
    rules = KACHUFUL.make_rules(max_hand=2)
    team = Team.load(KACHUFUL, rules, (spec.format(path), "random"))
    alone = play_match(KACHUFUL, rules, *team.agents, deals=4, seed=2)
    with Crew(team, 2) as crew:
        shared = play_match(KACHUFUL, rules, *team.agents, deals=4, seed=2, crew=crew)
    assert np.array_equal(alone.points, shared.points)
    assert np.array_equal(alone.place, shared.place)


def test_a_pickled_search_is_the_same_search(tmp_path: Path) -> None:
    agent = load_agent(f"ismcts:iterations=20,prior={save_policy(tmp_path, 'kachuful')}", KACHUFUL)
    assert isinstance(agent, Search)
    data = pickle.dumps(agent)
    assert len(data) < 1000
    again = pickle.loads(data)
    assert again == agent
    _, decisions = some_decisions(KACHUFUL)
    assert np.array_equal(again.values(decisions), agent.values(decisions), equal_nan=True)


def test_the_policy_is_loaded_once(tmp_path: Path) -> None:
    path = save_policy(tmp_path, "kachuful")
    agent = load_agent(f"montecarlo:deals=2,prior={path}", KACHUFUL)
    for file in tmp_path.rglob("*.*"):
        file.unlink()
    _, decisions = some_decisions(KACHUFUL, 3)
    assert agent.act(decisions).shape == (len(decisions),)


@pytest.mark.parametrize("kind", ["montecarlo", "pimc", "ismcts"])
def test_a_prior_that_cannot_be_used_is_told_in_one_line(kind: str, tmp_path: Path) -> None:
    path = save_policy(tmp_path / "run", "kachuful")
    spec = f"{kind}:prior={path}"
    assert load_agent(spec, KACHUFUL).name == spec
    for wrong, message in {
        f"{kind}:prior={tmp_path}/none": f"no checkpoint at {tmp_path}/none: no such folder",
        f"{spec}:sampled": "prior must be the path of a checkpoint or run, without :greedy, :sampled or :search",
        f"{spec}:greedy": "prior must be the path of a checkpoint or run, without :greedy, :sampled or :search",
        f"{spec}:search": "prior must be the path of a checkpoint or run, without :greedy, :sampled or :search",
        f"{kind}:prior=": f"{kind}: option 'prior' has no value; write prior=PATH",
        f"{kind}:playouts=1": "option playouts=1 is not possible: playouts must be 0 where there is no prior",
        f"{spec},playouts=3": "playouts must be an integer from 0 to 2",
        f"{spec},candidates=9": "candidates must be 0 where weight is none",
    }.items():
        with pytest.raises(ValueError) as error:  # noqa: PT011 - the message is compared below
            load_agent(wrong, KACHUFUL)
        assert message in str(error.value)
        assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match=f"checkpoint {path} plays Kachuful, not Call Break"):
        load_agent(spec, "call_break")
    agent = load_agent(spec, KACHUFUL)
    with pytest.raises(ValueError, match=f"checkpoint {path} plays with 4 players only, not with 5"):
        check_rules(agent, KACHUFUL.make_rules(num_players=5))
    _, decisions = some_decisions(KACHUFUL, 2, 5)
    with pytest.raises(ValueError, match="plays with 4 players only, not with 5"):
        agent.act(decisions)
    next((tmp_path / "run").rglob("policy.safetensors")).write_bytes(b"")
    with pytest.raises(ValueError, match=r"policy.safetensors is damaged"):
        load_agent(spec, KACHUFUL)


def test_a_policy_for_all_numbers_of_seats_is_a_prior_at_any_table(tmp_path: Path) -> None:
    path = save_policy(tmp_path, "kachuful", pad_seats=True)
    for seats in (3, 6):
        _, decisions = some_decisions(KACHUFUL, 6, seats)
        for agent in (MonteCarlo(deals=2, prior=path, playouts=1), InformationSet(iterations=10, prior=path)):
            check_rules(agent, decisions.rules)
            chosen = agent.act(decisions)
            assert decisions.action_mask[np.arange(len(chosen)), chosen].all()


def test_a_tournament_names_the_checkpoint_of_a_prior(tmp_path: Path) -> None:
    path = save_policy(tmp_path / "run", "kachuful")
    rules = KACHUFUL.make_rules()
    team = Team.load(KACHUFUL, rules, (f"ismcts:iterations=5,prior={path}", path, "ismcts:c=0.7"))
    settings = settings_of(team, 1, 0)
    folder = f"{path}/checkpoints/000000000001"
    assert settings.agents == (f"ismcts:iterations=5,prior={folder}", folder, "ismcts:c=0.7")
    assert settings.digests[0] == settings.digests[1] != ""
    assert settings.digests[2] == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("least=0.1", "least must be 0 where there is no prior"),
        ("walk=3", "walk must be 0 where weight is none"),
        ("weight=moves,walk=-1", "walk must be an integer from 0"),
    ],
)
def test_options_that_need_others(options: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_agent(f"montecarlo:{options}", KACHUFUL)


def test_playouts_beside_rule_players(tmp_path: Path) -> None:
    path = save_policy(tmp_path, "kachuful", max_hand=3)
    states, decisions = some_decisions(KACHUFUL, 8, max_hand=3)
    policy, rule, record = load_agent(path, KACHUFUL), find_agent("heuristic", KACHUFUL), decisions.rules.record()
    for i in range(len(states)):
        own = int(states["turn"][i])
        expected, found, flags = np.zeros(8, np.float32), np.zeros(8, np.float32), 0
        copy = states[i : i + 1].copy()
        while not flags:
            player = policy if copy["turn"][0] == own else rule
            action = int(player.act(Decisions(KACHUFUL, decisions.rules, copy))[0])
            flags = loops.advance(copy[0], record[0], action)
        round_values(copy[0], record[0], flags, expected)
        copy = states[i : i + 1].copy()
        kind = beside_rule_players(len(KACHUFUL.rule_players) - 1)
        play_out(copy[0], record[0], kind, own, memory_of(path), np.zeros(1, KACHUFUL.state), found)
        assert found.tolist() == expected.tolist()


def test_unlikely_actions_are_not_tried(tmp_path: Path) -> None:
    path = save_policy(tmp_path, "kachuful")
    _, decisions = some_decisions(KACHUFUL, 40)
    agent = load_agent(path, KACHUFUL)
    assert isinstance(agent, PolicyAgent)
    chances = agent.probabilities(decisions)
    tried = ~np.isnan(MonteCarlo(deals=2, halving=0, prior=path, least=0.2).values(decisions))
    expected = (chances >= 0.2) & (chances < 1)
    expected[np.arange(len(chances)), chances.argmax(axis=1)] = True
    expected &= expected.sum(axis=1, keepdims=True) > 1  # what is not compared has no value
    assert np.array_equal(tried, expected)
    assert tried.any()
    assert np.array_equal(MonteCarlo(deals=2, prior=path, least=1.0).act(decisions), agent.act(decisions))


def test_a_quick_network_stands_in_for_the_policy_in_playouts(tmp_path: Path) -> None:
    policy, other = (load_policy(save_policy(tmp_path / str(seed), "kachuful", seed)) for seed in (1, 2))
    about = {**describe(KACHUFUL, KACHUFUL.make_rules(), False), "decisions": 1}
    for name, quick in (("alone", None), ("same", policy.network), ("other", other.network)):
        save_checkpoint(tmp_path / name, policy.network, about, {}, quick)
    assert load_policy(tmp_path / "alone").quick is None
    _, decisions = some_decisions(KACHUFUL)
    alone, same, different = (
        MonteCarlo(deals=4, prior=str(tmp_path / name), playouts=2).values(decisions)
        for name in ("alone", "same", "other")
    )
    assert np.array_equal(alone, same, equal_nan=True)
    assert not np.array_equal(alone, different, equal_nan=True)


def test_the_config_says_how_a_checkpoint_looks_ahead() -> None:
    won = {"objective": "win", "round_spread": 2.0, "round_edge": 0.5}
    assert look_ahead("x", {}) == MonteCarlo(prior="x", **LOOKAHEAD)
    assert look_ahead("x", {"rollout": won}) == MonteCarlo(prior="x", **LOOKAHEAD, spread=2.0, edge=0.5)
    assert look_ahead("x", {"rollout": won, "search": {"spread": 0.0}}) == MonteCarlo(prior="x", **LOOKAHEAD)
    ahead = look_ahead("x", {"rollout": won, "search": {"edge": 0.7}})
    assert (ahead.spread, ahead.edge) == (2.0, 0.7)
    changed = {"spread": 6.0, "edge": 1.0, "walk": 8}
    assert look_ahead("x", {"search": changed}) == MonteCarlo(prior="x", **{**LOOKAHEAD, **changed})
    for wrong, message in (
        ({"walks": 8}, "no option 'walks'"),
        ({"prior": "y"}, "no option 'prior'"),
        ({"deals": 0}, "deals=0 is not possible"),
    ):
        with pytest.raises(ValueError, match=message):
            look_ahead("x", {"search": wrong})
        with pytest.raises(ValueError, match=message):
            Config(search=wrong)
    with pytest.raises(ValueError, match=r"search\.spread=2 is not possible"):
        Config(game="kaschlan", search={"spread": 2.0})
    assert Config(search=changed).to_dict()["search"] == changed


def test_a_checkpoint_that_looks_ahead(tmp_path: Path) -> None:
    path = save_policy(tmp_path, "kachuful")
    agent = load_agent(f"{path}:search")
    assert agent == MonteCarlo(prior=str(find_checkpoint(path)), **LOOKAHEAD)
    assert load_agent(agent.name, KACHUFUL) == agent
    found = policy_of(agent)
    assert found is not None
    assert found[0].game is KACHUFUL
    _, decisions = some_decisions(KACHUFUL, 6)
    assert decisions.action_mask[np.arange(len(decisions)), agent.act(decisions)].all()
    with pytest.raises(ValueError, match="plays Kachuful, not Call Break"):
        load_agent(f"{path}:search", "call_break")
    with pytest.raises(ValueError, match="no agent 'nowhere:search'"):
        load_agent("nowhere:search", KACHUFUL)
    manifest = find_checkpoint(path) / MANIFEST
    entries = json.loads(manifest.read_text())
    for wrong, message in (({"walks": 8}, "no option 'walks'"), (3, "does not fit")):
        manifest.write_text(json.dumps({**entries, "config": {"search": wrong}}))
        with pytest.raises(CheckpointError, match=message):
            load_agent(f"{path}:search")


@pytest.mark.parametrize("name", ["kachuful", "call_break"])
def test_a_search_for_the_win_knows_the_chances_that_training_knows(name: str) -> None:
    game = find_game(name)
    rules, rng = game.make_rules(), np.random.default_rng(2)
    chances = WinChances(game, rules, 2.0, 0.5)
    aim = MonteCarlo(spread=2.0, edge=0.5)._aim(game, rules)
    states = np.zeros(40, game.state)
    states["scores"][:, :4] = np.round(rng.normal(0, 3, (40, 4)) * game.points)
    states["round"] = rng.integers(0, chances.rounds, 40)
    margins = np.round(rng.normal(0, 2, (40, 4)), 1).astype(np.float32)
    margins[::5] = 0  # ties, too
    states["scores"][::5] = 0
    after = states["scores"][:, :4] / game.points + margins * 3 / 4
    left = chances.rounds - 1 - states["round"]
    for seat in range(4):
        expected = chances.chances(after, left, np.arange(4)[None].repeat(40, 0) == seat)[:, seat]
        found = [win_chance(state, 4, seat, margin, aim) for state, margin in zip(states, margins, strict=True)]
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_search_may_aim_at_the_win(tmp_path: Path) -> None:
    _, decisions = some_decisions(KACHUFUL, 30)
    plain, winning = MonteCarlo(deals=8, halving=0), MonteCarlo(deals=8, halving=0, spread=6.0, edge=1.0)
    values = winning.values(decisions)
    assert ((values >= 0) & (values <= 1) | np.isnan(values)).all()
    assert np.array_equal(np.isnan(values), np.isnan(plain.values(decisions)))
    with pytest.raises(ValueError, match=r"spread=6 is not possible with rules\.reward=win"):
        check_rules(winning, KACHUFUL.make_rules(reward="win"))
    with pytest.raises(ValueError, match="edge must be 0 where spread is 0"):
        MonteCarlo(edge=1.0)
    path = Path(save_policy(tmp_path, "kachuful"))
    manifest = find_checkpoint(path) / MANIFEST
    rollout = {"objective": "win", "round_spread": 2.5, "round_edge": 0.5}
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "config": {"rollout": rollout}}))
    agent = load_agent(f"{path}:search")
    assert isinstance(agent, MonteCarlo)
    assert (agent.spread, agent.edge) == (2.5, 0.5)
