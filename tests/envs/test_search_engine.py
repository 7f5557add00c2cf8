"""The compiled search against plain statements of what it computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import toy

from envs import loops
from envs.cards import fold
from envs.game import GAME_OVER, ROUND_OVER, Game, determinize, find_game, left, plausibility, prepare_deals, redact
from envs.jit import PLAIN
from envs.kachuful.evidence import bid_steps, rewind
from envs.sampling import new_plan
from envs.search.exact import DEPTH, SOLVER, solve
from envs.search.flat import ACTION, drop_twins, drop_worse
from envs.search.playout import best_action, chosen_candidate, play_out, round_values
from envs.search.policy import policy_memory
from envs.vector import VectorEnv

KACHUFUL = find_game("kachuful")
KINDS = {
    "toy": (toy.GAME, {}),
    "toy, three seats": (toy.GAME, {"num_players": 3, "reward": "margin"}),
    "kachuful": (KACHUFUL, {"max_hand": 3}),
    "kachuful, score": (KACHUFUL, {"max_hand": 3, "num_players": 3, "reward": "score", "revoke": "penalty"}),
    "kachuful, win": (KACHUFUL, {"max_hand": 2, "schedule": "down", "reward": "win", "single_card": "forehead"}),
    "kachuful, blind": (KACHUFUL, {"max_hand": 2, "num_players": 3, "blind": "optional"}),
}


def legal_actions(state: np.ndarray, record: np.ndarray, game: Game) -> list[int]:
    """Legal actions of the game ``state[0]``, ascending."""
    return [action for action in range(game.num_actions) if loops.is_legal(state[0], record[0], action)]


def after(state: np.ndarray, record: np.ndarray, action: int) -> tuple[np.ndarray, int]:
    """A copy of the game after a move, and the flags."""
    copy = state.copy()
    return copy, loops.advance(copy[0], record[0], action)


def outcome(state: np.ndarray, record: np.ndarray, flags: int, seats: int) -> list[float]:
    values = np.zeros(8, np.float32)
    round_values(state[0], record[0], flags, values)
    return values[:seats].tolist()


def best_reply(state: np.ndarray, record: np.ndarray, game: Game, seats: int, rest: list[int]) -> list[float] | None:
    """Every seat takes what is best for itself, the first of equals; None where that needs too many moves."""
    seat, best = int(state["turn"][0]), None
    for action in legal_actions(state, record, game):
        rest[0] -= 1
        if rest[0] < 0:
            return None
        copy, flags = after(state, record, action)
        values = outcome(copy, record, flags, seats) if flags else best_reply(copy, record, game, seats, rest)
        if values is None:
            return None
        if best is None or values[seat] > best[seat]:
            best = values
    return best


def endings(kind: str, count: int) -> list[tuple[np.ndarray, np.ndarray, Game, int]]:
    """Positions near the end of a round, all cards open, reached by random play."""
    game, options = KINDS[kind]
    rules = game.make_rules(**options)
    record, found = rules.record(), []
    for seed in range(1000):
        states = np.zeros(1, game.state)
        loops.start_games(states, record, seed)
        loops.random_moves(states, record, 5 + seed % 40, seed)
        if states["turn"][0] >= 0 and left(states[0], record[0]) <= 3 * rules.num_players:
            found.append((states, record, game, rules.num_players))
        if len(found) == count:
            break
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_endings_are_solved_as_a_plain_recursion_solves_them(kind: str) -> None:
    compared = 0
    for state, record, game, seats in endings(kind, 6 if PLAIN else 25):
        expected = best_reply(state, record, game, seats, [300 if PLAIN else 3000])
        if expected is None:
            continue
        compared += 1
        stack, levels, out = np.zeros(DEPTH, game.state), np.zeros(DEPTH, SOLVER), np.zeros(8, np.float32)
        stack[0] = state[0]
        made = solve(stack, levels, record[0], 10**6, out)
        assert out[:seats].tolist() == expected
        stack[0] = state[0]
        assert solve(stack, levels, record[0], made, out) == made
        if made > 0:
            assert solve(stack, levels, record[0], made - 1, out) == -1
            assert solve(stack[:1], levels, record[0], 10**6, out) == -1
    assert compared > 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_round_never_lasts_longer_than_is_said(kind: str) -> None:
    game, options = KINDS[kind]
    rules = game.make_rules(**options)
    record = rules.record()
    for seed in range(5 if PLAIN else 50):
        states = np.zeros(1, game.state)
        loops.start_games(states, record, seed)
        bounds, flags, rng = [], 0, np.random.default_rng(seed)
        while not flags & ROUND_OVER:
            bounds.append(left(states[0], record[0]))
            flags = loops.advance(states[0], record[0], int(rng.choice(legal_actions(states, record, game))))
        for i, bound in enumerate(bounds):
            assert len(bounds) - i <= bound <= 5 * rules.num_players
        assert bounds == sorted(bounds, reverse=True)


@pytest.mark.parametrize("kind", ["toy", "kachuful"])
def test_a_playout_is_what_the_rule_player_plays(kind: str) -> None:
    game, options = KINDS[kind]
    rules = game.make_rules(**options)
    record, strongest = rules.record(), len(game.rule_players)
    for seed in range(5):
        states = np.zeros(1, game.state)
        loops.start_games(states, record, seed)
        copy, out, scratch = states.copy(), np.zeros(8, np.float32), np.zeros(1, game.state)
        play_out(copy[0], record[0], strongest - 1, policy_memory(), scratch, out)
        flags = 0
        while not flags:
            action = loops.player_action(states[0], record[0], strongest, scratch)
            flags = loops.advance(states[0], record[0], action)
        assert np.array_equal(copy, states)
        assert out[: rules.num_players].tolist() == outcome(states, record, flags, rules.num_players)


def test_where_only_winning_is_rewarded_a_round_is_worth_its_lead() -> None:
    rules = KACHUFUL.make_rules(reward="win")
    state = np.zeros(1, KACHUFUL.state)
    state["gained"][0, :4] = 12, 0, 0, 4
    state["scores"][0, :4] = 12, 50, 0, 4
    assert outcome(state, rules.record(), ROUND_OVER, 4) == pytest.approx([12 - 4 / 3, -16 / 3, -16 / 3, 0])
    assert outcome(state, rules.record(), ROUND_OVER | GAME_OVER, 4) == [-0.25, 0.75, -0.25, -0.25]
    margin = KACHUFUL.make_rules().record()
    for flags in (ROUND_OVER, ROUND_OVER | GAME_OVER):
        assert outcome(state, margin, flags, 4) == pytest.approx([12 - 4 / 3, -16 / 3, -16 / 3, 0])


def test_the_best_action_is_the_preferred_one_among_equals() -> None:
    actions = np.array([3, 5, 8, 9])
    for values, preferred, chosen in (
        ([1.0, 2.0, 2.0, 0.0], 8, 8),
        ([1.0, 2.0, 2.0, 0.0], 5, 5),
        ([1.0, 2.0, 2.0, 0.0], 3, 5),
        ([1.0, 2.0, 2.0 + 1e-12, 0.0], 3, 5),
        ([-1.0, -2.0, -3.0, 9.0], 3, 3),
    ):
        assert best_action(actions, np.array(values), 3, preferred) == chosen


def test_candidates_are_chosen_by_their_weights() -> None:
    weights = np.cumsum([0.5, 0.0, 1.5, 2.0])
    assert [chosen_candidate(weights, share) for share in (0.001, 0.12, 0.13, 0.49, 0.51, 0.999)] == [0, 0, 2, 2, 3, 3]


def test_the_worse_half_is_dropped_but_never_the_rule_players_choice() -> None:
    found = np.zeros(6, ACTION)
    found["total"], found["open"] = [5, 1, 3, 4, 2, 9], [1, 1, 1, 1, 1, 0]
    assert drop_worse(found, 6, 1, 3) == 3
    assert found["open"].tolist() == [1, 1, 0, 1, 0, 0]
    assert drop_worse(found, 6, 1, 3) == 3
    assert drop_worse(found, 6, 1, 1) == 1
    assert found["open"].tolist() == [0, 1, 0, 0, 0, 0]


def test_of_actions_that_did_alike_one_stays() -> None:
    found = np.zeros(6, ACTION)
    found["mark"], found["open"] = [3, 3, 7, 7, 3, 7], [1, 1, 1, 1, 1, 0]
    drop_twins(found, 6, 1)
    assert found["open"].tolist() == [0, 1, 1, 0, 0, 0]


BEYOND = ("moves", "log", "leaders")
"""Fields that a rewound record keeps: no player reads more of them than its count says."""


@pytest.mark.parametrize(
    "options", [{}, {"num_players": 5, "hook": False, "revoke": "penalty"}, {"blind": "optional", "trump": "turn_up"}]
)
def test_rounds_are_rewound_to_what_they_were(options: dict[str, Any]) -> None:
    rules = KACHUFUL.make_rules(max_hand=3, schedule="down", **options)
    record, names = rules.record(), [name for name in KACHUFUL.state.names if name not in BEYOND]
    for seed in range(5):
        states, seen = np.zeros(1, KACHUFUL.state), np.zeros(1, KACHUFUL.state)
        loops.start_games(states, record, seed)
        begun, lead, rng, flags = states.copy(), None, np.random.default_rng(seed), 0
        while not flags:
            rewound = states.copy()
            rewind(rewound[0], record[0])
            for name in names:
                assert np.array_equal(rewound[name], begun[name]), name
            bid_steps(states[0], record[0], -1, rewound[0], seen)
            if states["phase"][0] == 2:
                lead = states.copy() if lead is None else lead
                for name in names:
                    assert np.array_equal(rewound[name], lead[name]), name
            flags = loops.advance(states[0], record[0], int(rng.choice(legal_actions(states, record, KACHUFUL))))


@pytest.mark.parametrize("options", [{}, {"blind": "optional"}, {"single_card": "forehead", "max_hand": 2}])
def test_what_the_rule_player_did_is_fully_plausible(options: dict[str, Any]) -> None:
    rules = KACHUFUL.make_rules(**{"max_hand": 4, **options})
    record, spare, scratch = rules.record(), np.zeros(2, KACHUFUL.state), np.zeros(1, KACHUFUL.state)
    code, plan, doubted = len(KACHUFUL.rule_players), new_plan(), 0
    states = np.zeros(1, KACHUFUL.state)
    for seed in range(2 if PLAIN else 8):
        loops.start_games(states, record, seed)
        while states["turn"][0] >= 0:
            seat = int(states["turn"][0])
            for moves in (False, True):
                assert plausibility(states[0], record[0], seat, moves, spare) == 0
            drawn = states.copy()
            redact(drawn[0], record[0], seat)
            assert prepare_deals(drawn[0], record[0], seat, plan)
            determinize(drawn[0], record[0], seat, plan, fold(seed, seat))
            bids = plausibility(drawn[0], record[0], seat, False, spare)
            both = plausibility(drawn[0], record[0], seat, True, spare)
            assert both <= bids <= 0
            doubted += both < 0
            flags = loops.advance(states[0], record[0], loops.player_action(states[0], record[0], code, scratch))
            if flags & ROUND_OVER and not flags & GAME_OVER:
                loops.settle(states[0], record[0], flags)
    assert doubted > 0


def test_a_game_without_evidence_finds_all_deals_alike() -> None:
    env = VectorEnv(toy.GAME, 1)
    env.reset()
    state = env.get_state()
    assert plausibility(state[0], env.rules.record()[0], 0, True, state.copy()) == 0
