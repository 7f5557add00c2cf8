"""The compiled search against plain statements of what it computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import toy

from envs import loops
from envs.agents import Decisions, find_agent
from envs.cards import fold
from envs.game import (
    GAME_OVER,
    ROUND_OVER,
    Game,
    determinize,
    exchange,
    features,
    find_game,
    left,
    past,
    prepare_deals,
    redact,
)
from envs.jit import PLAIN
from envs.kachuful.evidence import rewind
from envs.sampling import new_plan
from envs.search.exact import DEPTH, SOLVER, solve
from envs.search.flat import ACTION, drop_twins, drop_worse
from envs.search.playout import (
    EVERYONE,
    beside_rule_players,
    best_action,
    chosen_candidate,
    evidence_memory,
    mover,
    plausibility,
    play_out,
    round_values,
    walk_deals,
    weigh_deals,
)
from envs.search.policy import POLICY, policy_memory
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
        play_out(copy[0], record[0], strongest - 1, 0, policy_memory(), scratch, out)
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


def explain(
    deal: np.ndarray, record: np.ndarray, seat: int, moves: bool = True, judged: int = EVERYONE, floor: float = -np.inf
) -> float:
    """How well the full state ``deal[0]`` explains what others than `seat` did."""
    evidence = evidence_memory(deal.dtype)
    count = past(deal[0], record[0], seat, moves, *evidence)
    return float(plausibility(deal[0], record[0], count, judged, floor, evidence))


BEYOND = ("moves", "log", "leaders")
"""Fields that a rewound record keeps: no player reads more of them than its count says."""


@pytest.mark.parametrize(
    "options", [{}, {"num_players": 5, "hook": False, "revoke": "penalty"}, {"blind": "optional", "trump": "turn_up"}]
)
def test_rounds_are_rewound_to_what_they_were(options: dict[str, Any]) -> None:
    rules = KACHUFUL.make_rules(max_hand=3, schedule="down", **options)
    record, names = rules.record(), [name for name in KACHUFUL.state.names if name not in BEYOND]
    for seed in range(5):
        states = np.zeros(1, KACHUFUL.state)
        loops.start_games(states, record, seed)
        begun, rng, flags = states.copy(), np.random.default_rng(seed), 0
        while not flags:
            rewound = states.copy()
            rewind(rewound[0], record[0])
            for name in names:
                assert np.array_equal(rewound[name], begun[name]), name
            flags = loops.advance(states[0], record[0], int(rng.choice(legal_actions(states, record, KACHUFUL))))


@pytest.mark.parametrize("options", [{}, {"blind": "optional"}, {"single_card": "forehead", "max_hand": 2}])
def test_what_the_rule_player_did_is_fully_plausible(options: dict[str, Any]) -> None:
    rules = KACHUFUL.make_rules(**{"max_hand": 4, **options})
    record, scratch = rules.record(), np.zeros(1, KACHUFUL.state)
    code, plan, doubted = len(KACHUFUL.rule_players), new_plan(), 0
    states = np.zeros(1, KACHUFUL.state)
    for seed in range(2 if PLAIN else 8):
        loops.start_games(states, record, seed)
        while states["turn"][0] >= 0:
            seat = int(states["turn"][0])
            for moves in (False, True):
                assert explain(states, record, seat, moves) == 0
            drawn = states.copy()
            redact(drawn[0], record[0], seat)
            assert prepare_deals(drawn[0], record[0], seat, plan)
            determinize(drawn[0], record[0], seat, plan, fold(seed, seat))
            bids = explain(drawn, record, seat, False)
            both = explain(drawn, record, seat)
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
    assert explain(state, env.rules.record(), 0) == 0


MIDGAME = {
    "kachuful": ("kachuful", {}),
    "kachuful, forehead": ("kachuful", {"single_card": "forehead", "max_hand": 3, "revoke": "penalty"}),
    "call break": ("call_break", {}),
    "call break, misdeals": ("call_break", {"misdeal": "auto"}),
    "call break, votes": ("call_break", {"misdeal": "vote"}),
    "kaschlan": ("kaschlan", {}),
}


def some_states(name: str, rules: dict[str, Any], count: int) -> tuple[Game, np.ndarray, np.ndarray]:
    """Games in the midst of play by the strongest rule player; the game and its options."""
    game = find_game(name)
    env = VectorEnv(game, 2 if PLAIN else count, **rules)
    env.reset()
    states, record, scratch = env.get_state(), env.rules.record(), np.zeros(1, game.state)
    for i in range(len(states)):
        for _ in range(3 * i):
            action = loops.player_action(states[i], record[0], len(game.rule_players), scratch)
            if flags := loops.advance(states[i], record[0], action):
                loops.settle(states[i], record[0], flags)
    return game, states, record


@pytest.mark.parametrize("kind", MIDGAME)
def test_an_exchange_makes_another_deal_that_the_seat_cannot_tell_apart(kind: str) -> None:
    game, states, record = some_states(*MIDGAME[kind], 12)
    plan, changed = new_plan(), 0
    size = game.layout(int(record["num_players"][0]), False).size
    seen = np.zeros((2, size), np.uint8)
    for state in states:
        seat = int(state["turn"])
        hidden, drawn = np.array([state]), np.array([state])
        redact(hidden[0], record[0], seat)
        assert prepare_deals(hidden[0], record[0], seat, plan)
        features(state, record[0], seat, False, seen[0], 0)
        for key in range(40):
            before = drawn.copy()
            moved = exchange(drawn[0], record[0], seat, plan, fold(key, 7))
            changed += moved
            assert moved or drawn.tobytes() == before.tobytes()
            differing = [name for name in game.state.names or () if (drawn[name] != before[name]).any()]
            assert set(differing) <= {"hands", "revoked"}
            gained = [
                int(new & ~old).bit_count() for new, old in zip(drawn["hands"][0], before["hands"][0], strict=True)
            ]
            lost = [int(old & ~new).bit_count() for new, old in zip(drawn["hands"][0], before["hands"][0], strict=True)]
            assert gained == lost
            assert sum(gained) <= 2
            features(drawn[0], record[0], seat, False, seen[1], 0)
            assert np.array_equal(*seen)
            again = drawn.copy()
            redact(again[0], record[0], seat)
            assert again.tobytes() == hidden.tobytes()
    assert (changed > 0) == (game.name != "kaschlan")


@pytest.mark.parametrize("kind", ["kachuful", "call break"])
def test_the_weights_of_seats_add_up_and_may_stop_below_a_floor(kind: str) -> None:
    _, states, record = some_states(*MIDGAME[kind], 14)
    plan, stopped = new_plan(), 0
    for state in states:
        seat = int(state["turn"])
        drawn = np.array([state])
        redact(drawn[0], record[0], seat)
        assert prepare_deals(drawn[0], record[0], seat, plan)
        determinize(drawn[0], record[0], seat, plan, fold(seat, 9))
        parts = [explain(drawn, record, seat, judged=1 << other) for other in range(4)]
        assert parts[seat] == 0
        whole = explain(drawn, record, seat)
        assert sum(parts) == whole
        for floor in (-0.5, -2.0, -1e9):
            found = explain(drawn, record, seat, floor=floor)
            assert found == whole or (found < floor and whole < floor)
            stopped += found != whole
    assert stopped > 0


@pytest.mark.parametrize("kind", ["kachuful", "kachuful, forehead", "call break"])
def test_the_past_is_judged_as_the_rule_player_would_have_played_it(kind: str) -> None:
    name, options = MIDGAME[kind]
    game = find_game(name)
    rules = game.make_rules(**options)
    record, player, plan, rng = rules.record(), find_agent("heuristic", game), new_plan(), np.random.default_rng(3)
    differences = 0
    for seed in range(1 if PLAIN else 4):
        state = np.zeros(1, game.state)
        loops.start_games(state, record, seed)
        decisions: list[tuple[np.ndarray, int]] = []
        while True:
            seat = int(state["turn"][0])
            if len(decisions) % 5 == 4 or game.name == "kachuful":
                deal = state.copy()
                redact(deal[0], record[0], seat)
                assert prepare_deals(deal[0], record[0], seat, plan)
                determinize(deal[0], record[0], seat, plan, fold(seed, len(decisions)))
                expected = 0
                for before, action in decisions:
                    mover_then, then = int(before["turn"][0]), before.copy()
                    if mover_then == seat:
                        continue
                    then["hands"] = deal["hands"] | (deal["played"] & ~then["played"])
                    choice = int(player.act(Decisions(game, rules, then))[0])
                    bid = then["phase"][0] == deal["phase"].dtype.type(1) and game.name == "kachuful"
                    bid |= game.name == "call_break" and action >= 52
                    expected += abs(choice - action) if bid else choice != action
                assert explain(deal, record, seat) == -expected
                differences += expected
            legal = legal_actions(state, record, game)
            action = int(rng.choice(legal)) if rng.random() < 0.3 else int(player.act(Decisions(game, rules, state))[0])
            decisions.append((state.copy(), action))
            if loops.advance(state[0], record[0], action):
                break
    assert differences > 0


def test_a_walk_visits_deals_as_often_as_they_are_plausible() -> None:
    game, states, record = some_states("kachuful", {"num_players": 3, "max_hand": 3, "schedule": "down"}, 5)
    state, plan, key, temperature = states[3:4] if not PLAIN else states[1:2], new_plan(), fold(3, 4), 0.7
    seat, spare, evidence = int(state["turn"][0]), np.zeros(1, game.state), evidence_memory(game.state)
    redact(state[0], record[0], seat)
    assert prepare_deals(state[0], record[0], seat, plan)
    others = [other for other in range(3) if other != seat]

    def values(deals: np.ndarray) -> np.ndarray:
        return np.array([explain(deals[i : i + 1], record, seat) for i in range(len(deals))])

    count = 200 if PLAIN else 20_000
    uniform = np.repeat(state, count)
    for i in range(count):
        determinize(uniform[i], record[0], seat, plan, fold(key, i))
    found = values(uniform)
    expected = {value: float(np.exp(value / temperature) * (found == value).sum()) for value in set(found.tolist())}
    total = sum(expected.values())
    weights, pool = np.zeros(64), np.zeros(count // 4, game.state)
    found_past = weigh_deals(state[0], record[0], seat, plan, key, True, temperature, spare, evidence, weights)
    rest = 6, weights, found_past, spare, evidence
    walk_deals(state[0], record[0], seat, plan, key, temperature, *rest, pool)
    visited = values(pool)
    assert len({tuple(deal["hands"][others]) for deal in pool}) > len(pool) // 50
    for value, weight in expected.items():
        assert (visited == value).mean() == pytest.approx(weight / total, abs=0.2 if PLAIN else 0.03)
    again = np.zeros(len(pool), game.state)
    walk_deals(state[0], record[0], seat, plan, key, temperature, *rest, again)
    assert again.tobytes() == pool.tobytes()


def test_who_moves_in_playouts() -> None:
    assert [mover(1, seat, 2) for seat in range(3)] == [1, 1, 1]
    assert [mover(POLICY, seat, 2) for seat in range(3)] == [POLICY] * 3
    for rule in (0, 1):
        assert [mover(beside_rule_players(rule), seat, 2) for seat in range(3)] == [rule, rule, POLICY]
