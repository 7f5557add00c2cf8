"""Agents that search: right where the answer is known, fair, and repeatable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import toy
from games import ORACLES, VARIANTS
from policies import save_policy

from envs import loops
from envs.agents import Decisions, find_agent
from envs.cards import fold
from envs.game import Game, determinize, find_game, prepare_deals, rule_player
from envs.jit import PLAIN
from envs.sampling import new_plan
from envs.search.playout import play_out, round_values
from envs.search.policy import policy_memory
from envs.vector import VectorEnv
from training.arena import play_match
from training.search import InformationSet, MonteCarlo, PerfectInformation, Search

KACHUFUL = find_game("kachuful")
PRIOR = "policy"
"""Stands for a checkpoint of the game that is played."""
AGENTS: list[Search] = [
    MonteCarlo(deals=6),
    MonteCarlo(deals=6, halving=0),
    MonteCarlo(deals=6, weight="moves", caution=0.0),
    PerfectInformation(deals=4, exact=2, weight="bids", nodes=500),
    InformationSet(iterations=40),
    InformationSet(iterations=30, weight="bids"),
    MonteCarlo(deals=6, prior=PRIOR),
    PerfectInformation(deals=4, exact=2, nodes=500, prior=PRIOR, playouts=1),
    InformationSet(iterations=40, prior=PRIOR),
    InformationSet(iterations=20, weight="moves", prior=PRIOR, playouts=1),
]
NAMES = [agent.name for agent in AGENTS]
Policies = Callable[..., Search]
CLEVER = [
    MonteCarlo(deals=20, caution=0),
    PerfectInformation(deals=20, caution=0),
    InformationSet(iterations=300),
    MonteCarlo(deals=20, caution=0, prior=PRIOR, playouts=1),
    InformationSet(iterations=300, prior=PRIOR),
]


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> Policies:
    """Makes agents with a prior ready for a game and a number of seats."""
    folder = tmp_path_factory.mktemp("policies")

    def ready(agent: Search, game: Game, seats: int = 4) -> Search:
        path = folder / f"{game.name}{seats}"
        if agent.prior and not path.exists():
            save_policy(path, game.name, num_players=seats)
        return replace(agent, prior=str(path) if agent.prior else "")

    return ready


def some_decisions(game: Game, count: int, moves: int = 40, **options: Any) -> tuple[np.ndarray, Any]:
    """Games in the midst of play, and their rules."""
    env = VectorEnv(game, 3 if PLAIN else count, **options)
    env.reset(scatter=moves)
    return env.get_state(), env.rules


def toy_position(hands: list[list[str]], trick: list[list[Any]], seen: list[list[str]]) -> np.ndarray:
    """A position of the toy game with three seats, none of which is known to lack a suit."""
    states = np.zeros(1, toy.STATE)
    rules = toy.GAME.make_rules(num_players=3)
    toy.GAME.fields.set_position(states, rules, {"hands": hands, "seen": seen, "trick": trick}, 0)
    return states


@pytest.mark.parametrize("agent", CLEVER, ids=[agent.name for agent in CLEVER])
def test_the_dominating_card_is_played(agent: Search, policies: Policies) -> None:
    agent = policies(agent, toy.GAME, 3)
    # Seat 2 holds the last two spades: the king takes this trick and the jack the next, if the king goes first.
    states = toy_position(
        [["JD"], ["QD"], ["KS", "JS"]], [[0, "QS"], [1, "JC"]],
        [["QS", "QC", "QH"], ["JC", "KC", "KD"], ["JH", "KH"]],
    )  # fmt: skip
    rules = toy.GAME.make_rules(num_players=3)
    assert states["turn"][0] == 2
    decisions = Decisions(toy.GAME, rules, states)
    assert rule_player(decisions.states[0], rules.record()[0], 0) == toy.card_number("JS")
    assert toy.card_name(int(agent.act(decisions)[0])) == "KS"
    values = agent.values(decisions)[0]
    assert np.isnan(values).sum() == 10
    assert values[toy.card_number("KS")] == pytest.approx(2)
    assert values[toy.card_number("JS")] == pytest.approx(0)


def max_n(state: np.ndarray, record: np.ndarray, last: bool) -> list[float]:
    """Outcome of a toy game with open cards for three seats that each play for themselves."""
    seat, best = int(state["turn"][0]), None
    actions = [action for action in range(toy.DECK) if loops.is_legal(state[0], record[0], action)]
    for action in reversed(actions) if last else actions:
        copy = state.copy()
        flags = loops.advance(copy[0], record[0], action)
        values = max_n(copy, record, last)
        if flags:
            out = np.zeros(8, np.float32)
            round_values(copy[0], record[0], flags, out)
            values = out[:3].tolist()
        if best is None or values[seat] > best[seat]:
            best = values
    return best or []


def values_of(state: np.ndarray, record: np.ndarray, last: bool) -> dict[int, float]:
    """Value of each action for the seat to act, cards open."""
    seat, found = int(state["turn"][0]), {}
    for action in range(toy.DECK):
        if loops.is_legal(state[0], record[0], action):
            copy = state.copy()
            flags = loops.advance(copy[0], record[0], action)
            out = np.zeros(8, np.float32)
            if flags:
                round_values(copy[0], record[0], flags, out)
            found[action] = float(out[seat]) if flags else max_n(copy, record, last)[seat]
    return found


def open_positions(count: int) -> list[np.ndarray]:
    """Toy games of three seats with choices left, in which the shown voids tell the seat to act who holds what."""
    rules, found = toy.GAME.make_rules(num_players=3), []
    record, plan = rules.record(), new_plan()
    for seed in range(3000):
        states = np.zeros(1, toy.STATE)
        loops.start_games(states, record, seed)
        loops.random_moves(states, record, 3 + seed % 4, seed)
        seat = int(states["turn"][0])
        for other in range(3):
            for suit in range(4):
                if int(states["hands"][0, other]) & 7 << 3 * suit == 0:
                    states["voids"][0, other] |= 1 << suit
        decisions = Decisions(toy.GAME, rules, states)
        if decisions.action_mask.sum() < 2:
            continue
        assert prepare_deals(decisions.states[0], record[0], seat, plan)
        deals = decisions.states.repeat(20)
        for i in range(20):
            determinize(deals[i], record[0], seat, plan, fold(seed, i))
        if (deals["hands"] == states["hands"]).all():
            found.append(states)
        if len(found) == count:
            break
    return found


def test_with_open_cards_pimc_and_tree_search_find_the_best_moves(policies: Policies) -> None:
    guided = policies(InformationSet(iterations=2000, prior=PRIOR), toy.GAME, 3)
    rules = toy.GAME.make_rules(num_players=3)
    record, clear = rules.record(), 0
    for states in open_positions(4 if PLAIN else 25):
        decisions = Decisions(toy.GAME, rules, states)
        first, last = values_of(states, record, False), values_of(states, record, True)
        found = PerfectInformation(deals=2, caution=0).values(decisions)[0]
        assert {action: found[action] for action in first} == first
        if first != last or len(set(first.values())) == 1:
            continue  # where equals matter to others, or nothing matters, the tree may differ
        clear += 1
        best = [action for action in first if first[action] == max(first.values())]
        assert int(InformationSet(iterations=2000).act(decisions)[0]) in best
        assert int(guided.act(decisions)[0]) in best
        assert int(PerfectInformation(deals=2, caution=0).act(decisions)[0]) in best
    assert clear > (0 if PLAIN else 5)


@pytest.mark.parametrize("rules", [{}, {"num_players": 3, "blind": "optional", "reward": "win"}])
def test_montecarlo_is_the_mean_of_playouts_over_common_deals(rules: dict[str, Any]) -> None:
    states, options = some_decisions(KACHUFUL, 12, max_hand=4, **rules)
    decisions = Decisions(KACHUFUL, options, states, 5)
    found = MonteCarlo(deals=5, caution=0, halving=0).values(decisions)
    chosen = MonteCarlo(deals=5, caution=0, halving=0).act(decisions)
    record, plan, scratch = options.record(), new_plan(), np.zeros(1, KACHUFUL.state)
    for i, state in enumerate(decisions.states):
        legal = np.flatnonzero(decisions.action_mask[i])
        if len(legal) == 1:
            assert np.isnan(found[i]).all()
            continue
        seat = int(state["turn"])
        total = np.zeros(KACHUFUL.num_actions)
        assert prepare_deals(state, record[0], seat, plan)
        for deal in range(5):
            full = decisions.states[i : i + 1].copy()
            determinize(full[0], record[0], seat, plan, fold(int(decisions.keys[i]), deal))
            for action in legal:
                copy, out = full.copy(), np.zeros(8, np.float32)
                flags = loops.advance(copy[0], record[0], int(action))
                if flags:
                    round_values(copy[0], record[0], flags, out)
                else:
                    play_out(copy[0], record[0], 1, 0, policy_memory(), scratch, out)
                total[action] += out[seat]
        np.testing.assert_allclose(found[i][legal], total[legal] / 5, atol=1e-9)
        assert np.isnan(np.delete(found[i], legal)).all()
        assert found[i][chosen[i]] == pytest.approx(np.nanmax(found[i]))


@pytest.mark.parametrize("agent", AGENTS, ids=NAMES)
@pytest.mark.parametrize("game", [toy.GAME, KACHUFUL], ids=["toy", "kachuful"])
def test_neither_the_batch_nor_the_threads_change_a_choice(game: Game, agent: Search, policies: Policies) -> None:
    agent = policies(agent, game)
    states, rules = some_decisions(game, 20)
    decisions = Decisions(game, rules, states, 3)
    whole, values = agent.act(decisions), agent.values(decisions)
    assert decisions.action_mask[np.arange(len(whole)), whole].all()
    order = np.random.default_rng(0).permutation(len(states))
    assert np.array_equal(agent.act(Decisions(game, rules, states[order], 3)), whole[order])
    for i in (0, len(states) - 1):
        assert agent.act(Decisions(game, rules, states[i : i + 1], 3))[0] == whole[i]
    for threads in (2, 3, 64):
        split = replace(agent, threads=threads)
        assert np.array_equal(split.act(decisions), whole)
        assert np.array_equal(split.values(decisions), values, equal_nan=True)
    assert not np.array_equal(agent.values(Decisions(game, rules, states, 4)), values, equal_nan=True)
    assert agent.act(Decisions(game, rules, states[:0], 3)).shape == (0,)


@pytest.mark.parametrize("agent", AGENTS, ids=NAMES)
def test_a_search_sees_no_hidden_card(agent: Search, policies: Policies) -> None:
    agent = policies(agent, KACHUFUL)
    states, rules = some_decisions(KACHUFUL, 20, num_players=4)
    swapped = states.copy()
    for i in range(len(states)):
        a, b = [seat for seat in range(4) if seat != states[i]["turn"]][:2]
        swapped["hands"][i, [a, b]] = states["hands"][i, [b, a]]
    assert not np.array_equal(states, swapped)
    first, second = Decisions(KACHUFUL, rules, states, 1), Decisions(KACHUFUL, rules, swapped, 1)
    assert np.array_equal(agent.values(first), agent.values(second), equal_nan=True)
    assert np.array_equal(agent.act(first), agent.act(second))


@pytest.mark.parametrize("rules", [{"blind": "forced"}, {"single_card": "forehead"}, {"single_card": "face_down"}])
def test_a_search_sees_no_hidden_card_of_its_own(rules: dict[str, Any], policies: Policies) -> None:
    env = VectorEnv(KACHUFUL, 4, max_hand=1, **rules)
    env.reset()
    states = env.get_state()
    swapped = states.copy()
    for i in range(4):
        seat = int(states["turn"][i])
        used = sum(int(hand) for hand in states["hands"][i])
        swapped["hands"][i, seat] = next(1 << card for card in range(52) if not used >> card & 1)
    for agent in AGENTS:
        agent = policies(agent, KACHUFUL)
        values = [agent.values(Decisions(KACHUFUL, env.rules, given)) for given in (states, swapped)]
        assert np.array_equal(*values, equal_nan=True)


@pytest.mark.parametrize(("case", "agent"), list(zip(VARIANTS, AGENTS[2:5] * len(VARIANTS), strict=False)))
def test_every_variant_is_played_legally(case: str, agent: Search) -> None:
    name, variant = VARIANTS[case]
    game = find_game(name)
    options = {"num_players": ORACLES[name].SEATS[-1] if name != "kachuful" else 3}
    options |= {option: value for option, value in variant.items() if option != "pad_seats"}
    if PLAIN and name == "kachuful":
        options["max_hand"] = options["min_hand"] = 2
    # The table refuses illegal actions.
    match = play_match(game, game.make_rules(**options), agent, find_agent("random", game), 1)
    assert np.isfinite(match.place).all()


def test_a_decision_without_choice_is_made_without_search(policies: Policies) -> None:
    env = VectorEnv(KACHUFUL, 1, max_hand=1)
    batch = env.reset()
    while batch.action_mask.sum() > 1:
        batch = env.step(batch.action_mask.argmax(axis=1))
    decisions = Decisions(KACHUFUL, env.rules, env.get_state())
    for agent in AGENTS:
        agent = policies(agent, KACHUFUL)
        assert agent.act(decisions)[0] == batch.action_mask[0].argmax()
        assert np.isnan(agent.values(decisions)).all()


@pytest.mark.slow
def test_search_beats_the_rule_player() -> None:
    agent = MonteCarlo(deals=32, weight="bids")
    match = play_match(KACHUFUL, KACHUFUL.make_rules(), agent, find_agent("heuristic", KACHUFUL), 20, 1)
    assert match.points.mean() > match.opponent_points.mean()
