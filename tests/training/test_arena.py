"""Matches by duplicate deals, and what is reported of them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from envs import kachuful_v0
from envs.agents import Agent, Decisions, check_rules, find_agent
from envs.game import find_game
from envs.loops import start_games
from training.agents import PolicyAgent, load_agent
from training.arena import Match, first_deal, play_match
from training.checkpoint import Policy, describe, save_checkpoint
from training.network import make_policy_network
from training.ppo import masked_log_probabilities
from training.report import Estimate, estimate, estimate_share, rest, summarize

GAME = find_game("kachuful")
COUNTING = find_agent("counting", GAME)
RANDOM = find_agent("random", GAME)
SHORT: dict[str, Any] = {"max_hand": 4, "schedule": "down"}


def rules(**options: Any) -> Any:
    return GAME.make_rules(**{**SHORT, **options})


@dataclass
class Asked:
    """An agent that the table has to ask, and that keeps what it saw."""

    agent: Agent
    name: str = "asked"
    seen: list[np.ndarray] = field(default_factory=list)

    def act(self, decisions: Decisions) -> np.ndarray:
        self.seen.append(decisions.states)
        return self.agent.act(decisions)


@dataclass
class Ranked:
    """Takes the first legal action, or the last."""

    last: bool
    name: str = "ranked"

    def act(self, decisions: Decisions) -> np.ndarray:
        mask = decisions.action_mask
        return mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1) if self.last else mask.argmax(axis=1)


@dataclass
class Sampler:
    """Samples from the decisions' own keys."""

    name: str = "sampler"

    def act(self, decisions: Decisions) -> np.ndarray:
        mask = decisions.action_mask
        return np.where(mask, decisions.uniforms(mask.shape[1]), -1.0).argmax(axis=1)


def policy(seed: int, pad_seats: bool = False, **options: Any) -> Policy:
    """An untrained policy with opinions."""
    used = rules(**options)
    generator = torch.Generator().manual_seed(seed)
    network = make_policy_network(GAME, used.num_players, pad_seats, [16], generator=generator)
    with torch.no_grad():
        for weight in network.heads.parameters():
            weight.mul_(200)
    return Policy(GAME, asdict(used), pad_seats, network.eval(), 0)


def arrays(match: Match) -> dict[str, np.ndarray]:
    return {name: value for name, value in vars(match).items() if isinstance(value, np.ndarray)}


def assert_equal(first: Match, second: Match) -> None:
    for name, values in arrays(first).items():
        assert np.array_equal(values, arrays(second)[name]), name


def hands_by_place(seen: list[np.ndarray]) -> dict[tuple[int, int], set[tuple[int, int, int]]]:
    """Hands, dealers and trumps that were seen when bidding, by round and seat."""
    found = defaultdict(set)
    for states in seen:
        for state in states[states["phase"] == 1]:
            seat = int(state["turn"])
            deal = (int(state["hands"][seat]), int(state["dealer"]), int(state["trump"]))
            found[int(state["round"]), seat].add(deal)
    return found


@pytest.mark.parametrize("seats", [3, 5])
def test_all_games_of_a_deal_have_the_same_cards_dealers_and_trumps(seats: int) -> None:
    candidate, opponent = Asked(RANDOM), Asked(COUNTING)
    # Without the hook no bid is forced, so that every seat is asked.
    play_match(GAME, rules(num_players=seats, hook=False), candidate, opponent, 1)
    own, others = hands_by_place(candidate.seen), hands_by_place(opponent.seen)
    places = {(round_, seat) for round_ in range(4) for seat in range(seats)}
    assert set(own) == set(others) == places
    for place in places:
        assert len(own[place] | others[place]) == 1


def test_the_candidate_sits_once_in_each_seat_and_deals_differ() -> None:
    candidate = Asked(COUNTING)
    play_match(GAME, rules(), candidate, RANDOM, 6)
    first = [state for states in candidate.seen for state in states if state["round"] == 0 and state["phase"] == 1]
    assert sorted(int(state["turn"]) for state in first) == sorted(list(range(4)) * 6)
    assert len({int(state["hands"][state["turn"]]) for state in first}) == 24


@pytest.mark.parametrize("seats", [3, 4, 5])
@pytest.mark.parametrize(
    "agents", [(COUNTING, COUNTING), (RANDOM, RANDOM), (Asked(COUNTING), COUNTING), (Sampler(), Sampler())]
)
def test_equals_come_out_at_par_in_every_deal(seats: int, agents: tuple[Agent, Agent]) -> None:
    match = play_match(GAME, rules(num_players=seats), *agents, deals=10)
    assert match.par == 1 / seats
    np.testing.assert_allclose(match.win_share, 1 / seats, rtol=0, atol=1e-15)
    np.testing.assert_allclose(match.opponent_win_share, 1 / seats, rtol=0, atol=1e-15)
    np.testing.assert_allclose(match.points, match.opponent_points, atol=1e-12)
    np.testing.assert_allclose(match.statistics, match.opponent_statistics, atol=1e-12)


@pytest.mark.parametrize(
    "agents", [(COUNTING, RANDOM), (Sampler(), COUNTING), (COUNTING, Sampler()), (Ranked(True), Sampler())]
)
def test_the_chunk_size_changes_nothing(agents: tuple[Agent, Agent]) -> None:
    whole = play_match(GAME, rules(), *agents, deals=10, seed=4)
    for chunk in (1, 7):
        assert_equal(play_match(GAME, rules(), *agents, deals=10, seed=4, chunk=chunk), whole)
    fewer = play_match(GAME, rules(), *agents, deals=6, seed=4)
    assert np.array_equal(fewer.win_share, whole.win_share[:6])
    other = play_match(GAME, rules(), *agents, deals=10, seed=5)
    assert not np.array_equal(other.points, whole.points)


def test_asking_and_compiled_players_give_the_same_match() -> None:
    compiled = play_match(GAME, rules(), COUNTING, RANDOM, 20)
    assert_equal(play_match(GAME, rules(), Asked(COUNTING), RANDOM, 20), compiled)
    both = play_match(GAME, rules(), RANDOM, COUNTING, 20)
    assert_equal(play_match(GAME, rules(), RANDOM, Asked(COUNTING), 20), both)


@pytest.mark.parametrize("greedy", [True, False])
def test_policies_play_each_other_whatever_the_chunk_size(greedy: bool) -> None:
    first, second = PolicyAgent("first", policy(1), greedy), PolicyAgent("second", policy(2, pad_seats=True), greedy)
    whole = play_match(GAME, rules(), first, second, 12)
    for chunk in (1, 5):
        assert_equal(play_match(GAME, rules(), first, second, 12, chunk=chunk), whole)
    swapped = play_match(GAME, rules(), second, first, 12)
    assert not np.array_equal(swapped.points, whole.points)
    mirror = play_match(GAME, rules(), first, first, 12)
    np.testing.assert_allclose(mirror.win_share, 0.25, atol=1e-15)
    against_bot = play_match(GAME, rules(), COUNTING, first, 12)
    assert against_bot.points.mean() > against_bot.opponent_points.mean()


def test_a_policy_takes_its_likeliest_action_or_samples_from_its_probabilities() -> None:
    chosen = policy(3)
    states = np.zeros(1, GAME.state)
    start_games(states, rules().record(), 11)
    states = np.repeat(states, 4000)
    states["seed"] = np.arange(4000)  # other keys, the same view
    decisions = Decisions(GAME, rules(), states)
    with torch.inference_mode():
        logits, _ = chosen.network(torch.from_numpy(decisions.observation()[:1]))
        chances = masked_log_probabilities(logits, torch.from_numpy(decisions.action_mask[:1])).exp().numpy()[0]
    greedy = PolicyAgent("p", chosen).act(decisions)
    assert (greedy == chances.argmax()).all()
    counts = np.bincount(PolicyAgent("p", chosen, greedy=False).act(decisions), minlength=GAME.num_actions)
    assert (counts[chances == 0] == 0).all()
    assert (chances > 0.02).sum() > 1
    np.testing.assert_allclose(counts / 4000, chances, atol=4 * 0.5 / 4000**0.5)


def test_checkpoints_are_loaded_by_path(tmp_path: Path) -> None:
    kept = policy(5)
    save_checkpoint(tmp_path, kept.network, {**describe(GAME, rules(), False), "decisions": 1}, {})
    agent = load_agent(str(tmp_path))
    assert isinstance(agent, PolicyAgent)
    assert agent.policy.rules == asdict(rules())
    assert agent.name == str(tmp_path / "checkpoints" / "000000000001")
    sampled = load_agent(str(tmp_path), "kachuful", greedy=False)
    assert isinstance(sampled, PolicyAgent)
    assert not sampled.greedy
    assert_equal(
        play_match(GAME, rules(), agent, RANDOM, 5), play_match(GAME, rules(), PolicyAgent("p", kept), RANDOM, 5)
    )
    next(tmp_path.rglob("policy.safetensors")).write_bytes(b"damaged")
    with pytest.raises(ValueError, match="is damaged") as error:
        load_agent(str(tmp_path))
    assert "\n" not in str(error.value)


def test_progress_is_told_by_deals() -> None:
    told: list[int] = []
    play_match(GAME, rules(), COUNTING, RANDOM, 10, chunk=4, progress=told.append)
    assert told == [4, 8, 10]


@pytest.mark.parametrize(
    "options", [{}, {"num_players": 3, "scoring": "minus_difference", "blind": "optional", "hook": False}]
)
def test_numbers_agree_with_a_replay_through_pettingzoo(options: dict[str, Any]) -> None:
    """Slow and plain: one game after the other, moves from masks alone, scores from snapshots."""
    options = {**SHORT, **options}
    match = play_match(GAME, rules(**options), Ranked(False), Ranked(True), 5, seed=9)
    exact = GAME.statistics.index("exact")
    seats = match.rules.num_players
    for d in range(5):
        shares, points, hits, other_points = [], [], [], []
        for candidate in range(seats):
            env = kachuful_v0.raw_env(**options)
            env.reset(seed=first_deal(9) + d)
            while env.agents:
                before = env.unwrapped.snapshot()
                mask = env.observe(env.agent_selection)["action_mask"]
                if mask.any():
                    env.step(int(np.flatnonzero(mask)[0 if before["turn"] == candidate else -1]))
                else:
                    env.step(None)
                after = env.unwrapped.snapshot()
                if before["phase"] != "over" and (after["phase"] == "over" or after["round"] != before["round"]):
                    gained = after["scores"][candidate] - before["scores"][candidate]
                    hits.append(gained >= 10 if "scoring" not in options else gained >= 0)
            scores = after["scores"]
            top = [seat for seat in range(seats) if scores[seat] == max(scores)]
            shares.append(1 / len(top) if candidate in top else 0.0)
            points.append(scores[candidate] / 4)
            other_points.append((sum(scores) - scores[candidate]) / (seats - 1) / 4)
        assert match.win_share[d] == pytest.approx(np.mean(shares))
        assert match.points[d] == pytest.approx(np.mean(points))
        assert match.opponent_points[d] == pytest.approx(np.mean(other_points))
        assert match.opponent_win_share[d] == pytest.approx((1 - np.mean(shares)) / (seats - 1))
        assert match.statistics[d, exact] == pytest.approx(np.mean(hits))
        assert match.rounds[d] == 4 * seats


def test_counting_beats_random_clearly() -> None:
    summary = summarize(play_match(GAME, GAME.make_rules(), COUNTING, RANDOM, 200))
    assert summary.games == 800
    assert summary.rounds == 800 * 19
    assert summary.win_share.low is not None
    assert summary.win_share.low > 0.85
    assert summary.opponent_win_share.mean == pytest.approx((1 - summary.win_share.mean) / 3)
    assert summary.points_per_round.mean == pytest.approx(summary.statistics["points"].mean)
    assert summary.statistics["exact"].mean > summary.opponent_statistics["exact"].mean
    parts = [summary.statistics[name].mean for name in ("exact", "over", "under")]
    assert sum(parts) == pytest.approx(1)


def test_impossible_numbers_are_refused() -> None:
    for wrong in ({"deals": 0}, {"deals": True}, {"deals": 2.0}, {"deals": 1, "seed": -1}, {"deals": 1, "chunk": 0}):
        with pytest.raises(ValueError, match="is not possible: it must be an integer from"):
            play_match(GAME, rules(), COUNTING, RANDOM, **wrong)  # type: ignore[arg-type]


def test_an_illegal_action_is_refused() -> None:
    class Wrong:
        name = "wrong"

        def act(self, decisions: Decisions) -> np.ndarray:
            return np.zeros(len(decisions), np.int64)

    with pytest.raises(ValueError, match="is illegal; legal: bid 0"):
        play_match(GAME, rules(), Wrong(), COUNTING, 1)


def test_agents_are_found_by_name() -> None:
    assert load_agent("counting", "kachuful") == COUNTING
    with pytest.raises(ValueError, match="choose one of random, counting, heuristic, montecarlo"):
        load_agent("nobody", "kachuful")
    with pytest.raises(ValueError, match="no checkpoint 'counting'"):
        load_agent("counting")
    with pytest.raises(ValueError, match="no agent ''"):
        load_agent("", "kachuful")
    with pytest.raises(ValueError, match="no game 'bridge'"):
        load_agent("counting", "bridge")


def test_estimates_cover_the_true_mean() -> None:
    """About 95 % of intervals from samples of a skewed distribution hold its mean."""
    generator = np.random.default_rng(1)
    samples = generator.choice([0.0, 0.25, 1.0], p=[0.6, 0.3, 0.1], size=(150, 300))
    found = [estimate(samples[:, i : i + 1], seed=i)[0] for i in range(samples.shape[1])]
    inside = np.mean([e.low <= 0.175 <= e.high for e in found])  # type: ignore[operator]
    assert 0.91 <= inside <= 0.98
    np.testing.assert_allclose([e.mean for e in found], samples.mean(axis=0))


def test_estimates_are_seeded_and_need_two_deals() -> None:
    values = np.random.default_rng(0).normal(size=(50, 3))
    assert estimate(values, 1) == estimate(values, 1)
    assert estimate(values, 1) != estimate(values, 2)
    alone = estimate(values[:1])
    assert alone[0].mean == values[0, 0]
    assert alone[0].low is None
    assert alone[0].text() == f"{values[0, 0]:.3f}"
    constant = estimate(np.full((20, 1), 0.25))[0]
    assert (constant.low, constant.mean, constant.high) == (0.25, 0.25, 0.25)


def test_a_side_that_always_loses_is_not_proven_to_lose_forever() -> None:
    """With the true chance at the upper end, a sample without a win is seen in 2.5 % of cases."""
    never = estimate_share(Estimate(0.0, 0.0, 0.0), 100)
    assert never.low == 0
    assert never.high is not None
    assert (1 - never.high) ** 100 == pytest.approx(0.025)
    always = estimate_share(Estimate(1.0, 1.0, 1.0), 100)
    assert always.low == pytest.approx(1 - never.high)
    assert always.high == 1
    for kept in (Estimate(0.25, 0.25, 0.25), Estimate(0.1, 0.0, 0.2), Estimate(0.0, None, None)):
        assert estimate_share(kept, 100) == kept
    assert rest(never, 3) == Estimate(1 / 3, (1 - never.high) / 3, 1 / 3)
    lost = summarize(play_match(GAME, rules(), Ranked(False), COUNTING, 3))
    assert lost.win_share.low is not None
    assert lost.opponent_win_share.mean == pytest.approx((1 - lost.win_share.mean) / 3)


def test_seat_numbers_are_checked() -> None:
    check_rules(PolicyAgent("p", policy(0)), rules())
    with pytest.raises(ValueError, match="plays with 4 players only, not with 5"):
        check_rules(PolicyAgent("p", policy(0)), rules(num_players=5))
    wide = PolicyAgent("p", policy(0, pad_seats=True))
    assert play_match(GAME, rules(num_players=5), wide, COUNTING, 2).par == 0.2
