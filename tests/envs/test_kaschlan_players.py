"""The rule-based players of Kaschlan: the yardstick `lowest`, and `heuristic` with its search of endings."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from playing import legal_actions, positions

from envs import kaschlan_v0
from envs.agents import Decisions, find_agent
from envs.game import GAME_OVER
from envs.kaschlan import GAME, engine, results
from envs.kaschlan.cards import FULL_PACK, card_order, names_of
from envs.kaschlan.ending import opponent_in_ending
from training.arena import play_match


def env_at(position: dict[str, Any], **rules: Any) -> Any:
    """An environment set to a position."""
    env = kaschlan_v0.raw_env(**rules)
    env.reset(seed=1, options={"position": position})
    return env


def choice(env: Any, agent: str) -> str:
    """What a built-in agent does."""
    action = find_agent(agent, GAME).act(Decisions(GAME, env.rules, env._states))[0]
    name: str = env.action_name(int(action))
    return name


def test_order_of_cards() -> None:
    """Plain cards by rank, then S D C H, then trumps likewise, the queen of diamonds last whatever is trump."""
    order = sorted(range(32), key=lambda card: card_order(card, 2))
    names = [names_of(1 << card)[0] for card in order]
    assert names[:4] == ["7S", "7D", "7H", "8S"]
    assert names[-9:] == ["7C", "8C", "9C", "TC", "JC", "QC", "KC", "AC", "QD"]
    order = sorted(range(32), key=lambda card: card_order(card, 1))
    assert [names_of(1 << card)[0] for card in order][-2:] == ["AD", "QD"]


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        ({"hands": [["7H", "8S", "8D"], None], "trump": "H", "attacker": 0}, "8S"),
        ({"hands": [["7H", "9H"], None], "trump": "H", "attacker": 0}, "7H"),
        ({"hands": [["QD", "AH"], None], "trump": "H", "attacker": 0}, "AH"),
        (
            {"hands": [["8D", "9C"], None], "trump": "H", "attacker": 0, "table": [["8S", None, 0]], "phase": "lay"},
            "pass",
        ),
        (
            {"hands": [["8D", "9C"], ["9S", "7H", "KS"]], "trump": "H", "table": [["8S", None, 0]], "phase": "beat"},
            "9S",
        ),
        (
            {"hands": [["8D", "9C"], ["7S", "7H", "9H"]], "trump": "H", "table": [["8S", None, 0]], "phase": "beat"},
            "7H",
        ),
        ({"hands": [["8D", "9C"], ["QD", "7S"]], "trump": "H", "table": [["8S", None, 0]], "phase": "beat"}, "QD"),
        ({"hands": [["8D", "9C"], ["7S", "7D"]], "trump": "H", "table": [["8S", None, 0]], "phase": "beat"}, "pass"),
        (
            {"hands": [["8D"], ["8H", "7D", "AS"]], "trump": "C", "table": [["8S", None, 0]], "phase": "throw_own"},
            "pass",
        ),
    ],
)
def test_lowest(position: dict[str, Any], expected: str) -> None:
    """The lowest plain card, else the lowest trump; never a second card laid, never a card thrown."""
    assert choice(env_at(position, num_players=2), "lowest") == expected


def test_lowest_throws_nothing() -> None:
    position = {
        "hands": [["9C"], ["KS", "AS", "AD"], ["8H", "8D"]], "trump": "C", "attacker": 0,
        "table": [["8S", None, 0]], "phase": "throw", "turn": 2,
    }  # fmt: skip
    assert choice(env_at(position, num_players=3), "lowest") == "pass"


def test_heuristic_keeps_trumps_and_lays_pairs() -> None:
    position = {"hands": [["7H", "9S", "8D", "8C", "QD"], None], "trump": "H", "attacker": 0}
    assert choice(env_at(position, num_players=2), "heuristic") in ("8D", "8C")


def test_heuristic_beats_with_the_cheapest_card() -> None:
    position = {
        "hands": [["7H"], ["KS", "9S", "7C", "AH", "TD"]], "trump": "H", "attacker": 0,
        "table": [["8S", None, 0]], "phase": "beat",
    }  # fmt: skip
    assert choice(env_at(position, num_players=2), "heuristic") == "9S"


def test_heuristic_picks_up_what_cannot_be_beaten() -> None:
    position = {
        "hands": [["7H"], ["7C", "QD", "9C"]], "trump": "H", "attacker": 0,
        "table": [["AS", None, 0], ["AC", None, 0], ["AD", None, 0]], "phase": "beat",
    }  # fmt: skip
    env = env_at(position, num_players=2)
    for _ in range(3):
        assert choice(env, "heuristic") == "pass", "three aces, one of which the queen could beat"
        env.step(env.action_id("pass"))
    assert {"AS", "AC", "AD"} <= set(env.snapshot()["hands"][1])


def brute_force(state: np.ndarray, record: Any, seat: int, bouts: int) -> int:
    """Value of an ending for a seat by plain minimax over all moves; beyond `bouts` it counts as 0."""
    best: int | None = None
    turn = int(state["turn"][0])
    low = engine.legal(state[0], record)[0]
    for action in range(33):
        if not low >> action & 1:
            continue
        after = state.copy()
        flags = engine.step(after[0], record, action)
        if flags & GAME_OVER:
            other = next(s for s in range(int(record["num_players"])) if s != seat)
            own, others = results.place(after[0], record, seat), results.place(after[0], record, other)
            value = int(own < others) - int(own > others)
        elif flags or int(after["bout"][0]) > bouts:
            value = 0
        else:
            value = brute_force(after, record, seat, bouts)
        if best is None or (value > best if turn == seat else value < best):
            best = value
    assert best is not None
    return best


def random_ending(rng: Random, cards: int) -> dict[str, Any]:
    """A position of two seats without stock, at the start of a bout."""
    names = rng.sample(names_of(FULL_PACK), cards)
    cut = rng.randint(1, cards - 1)
    return {
        "hands": [names[:cut], names[cut:]],
        "stock": [],
        "trump": rng.choice("SDCH"),
        "attacker": rng.randint(0, 1),
    }


@pytest.mark.parametrize("rules", [{}, {"must_beat": True, "payoff": "places"}, {"pickup": "all"}])
def test_endings_are_played_exactly(rules: dict[str, Any]) -> None:
    """At every move of small endings: a won one stays won, and none is lost that could be held, for two bouts ahead."""
    rng = Random(4)
    decided = 0
    for _ in range(25):
        env = env_at(random_ending(rng, rng.randint(2, 5)), num_players=2, **rules)
        record = env.rules.record()[0]
        for _ in range(12):
            if env.terminations[env.agent_selection]:
                break
            states = env._states.copy()
            seat = int(states["turn"][0])
            bouts = int(states["bout"][0]) + 2
            value = brute_force(states, record, seat, bouts)
            action = env.action_id(choice(env, "heuristic"))
            flags = engine.step(states[0], record, action)
            if not flags:
                after = brute_force(states, record, seat, bouts) if int(states["bout"][0]) <= bouts else 0
            else:
                places = [results.place(states[0], record, s) for s in (seat, 1 - seat)]
                after = int(places[0] < places[1]) - int(places[0] > places[1])
            decided += value != 0
            assert after >= value
            env.step(action)
    assert decided > 20


def test_only_two_without_a_stock_are_an_ending() -> None:
    env = env_at({"hands": [["AS"], ["7D"]], "stock": [], "trump": "H", "attacker": 0}, num_players=2)
    assert opponent_in_ending(env._states[0], env.rules.record()[0], 0) == 1
    env = env_at({"hands": [["AS"], ["7D"]], "stock": ["8H"], "trump": "H", "attacker": 0}, num_players=2)
    assert opponent_in_ending(env._states[0], env.rules.record()[0], 0) == -1
    env = env_at({"hands": [["AS"], ["7D"], ["9C"]], "stock": [], "trump": "H", "attacker": 0}, num_players=3)
    assert opponent_in_ending(env._states[0], env.rules.record()[0], 0) == -1


@pytest.mark.parametrize("rules", [{}, {"must_beat": True, "pickup": "all"}, {"kutscher_opens_rank": True}])
@pytest.mark.parametrize("seats", [2, 3, 4, 5])
def test_players_play_by_the_rules(seats: int, rules: dict[str, Any]) -> None:
    """At every move of random games both choose a legal action, the same at each asking."""
    env = kaschlan_v0.raw_env(num_players=seats, **rules)
    env.reset(seed=seats)
    for _ in positions(env, Random(3)):
        if env.terminations[env.agent_selection] or env.truncations[env.agent_selection]:
            return
        for agent in ("lowest", "heuristic"):
            name = choice(env, agent)
            assert env.action_id(name) in legal_actions(env)
            assert choice(env, agent) == name


@pytest.mark.parametrize(("seats", "most"), [(2, 0.10), (4, 0.05)])
def test_heuristic_seldom_loses_to_random(seats: int, most: float) -> None:
    rules = GAME.make_rules(num_players=seats)
    match = play_match(GAME, rules, find_agent("heuristic", GAME), find_agent("random", GAME), 400, 3)
    assert match.statistics[:, GAME.statistics.index("lost")].mean() < most


def test_heuristic_seldom_loses_to_lowest() -> None:
    rules = GAME.make_rules()
    match = play_match(GAME, rules, find_agent("heuristic", GAME), find_agent("lowest", GAME), 400, 3)
    lost = GAME.statistics.index("lost")
    assert match.statistics[:, lost].mean() < 0.5 * match.opponent_statistics[:, lost].mean()
