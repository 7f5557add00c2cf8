"""Whole games of Kachuful at random, under random rules: invariants, and a second reading of the rules that follows."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import kachuful_reference as plain
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kachuful_reference import Reference, resolve
from kachuful_table import VECTORS, game_options

from envs import kachuful_v0, loops
from envs.cards import names_of
from envs.game import GAME_OVER, ROUND_OVER
from envs.kachuful import GAME, engine, knowledge


def choose(moves: list[str], rng: Random) -> str:
    """A random move; looks half of the time, and bids low, as those who want to hit do."""
    if "look" in moves and rng.random() < 0.5:
        return "look"
    numbers = [move for move in moves if " " in move]
    return min(rng.choice(numbers), rng.choice(numbers), key=moves.index) if numbers else rng.choice(moves)


def names(words: tuple[int, int]) -> list[str]:
    return [GAME.action_name(52 * i + bit) for i in range(2) for bit in range(52) if int(words[i]) >> bit & 1]


def begin(reference: Reference, state: Any) -> None:
    hands = [names_of(cards) for cards in state["hands"][: reference.seats]]
    turned = int(state["turned"])
    reference.begin(hands, GAME.action_name(turned) if turned >= 0 else None)


def compare(reference: Reference, states: np.ndarray, rules: Any) -> None:
    """The engine and the second reading are in the same position."""
    snapshot = GAME.fields.snapshot(states[0], rules)
    for key, value in reference.snapshot().items():
        assert snapshot[key] == value, key
    words = engine.legal(states[0], rules.record()[0])
    assert names(words) == sorted(reference.legal(), key=lambda name: ACTIONS[name])


ACTIONS = {GAME.action_name(action): action for action in range(GAME.num_actions)}


def check_knowledge(reference: Reference, states: np.ndarray, record: Any) -> None:
    """Every seat is told the hands that it may see, and no other; nobody is told of a revoke or of the seed."""
    for seat in range(reference.seats):
        told = states.copy()
        knowledge.redact(told[0], record[0], seat)
        for other in range(reference.seats):
            hand = sorted(reference.hands[other]) if reference.sees(seat, other) else []
            assert sorted(names_of(told["hands"][0][other])) == hand
        assert not any(told[key][0] for key in ("revoked", "seed", "game"))


def check_one_legality(states: np.ndarray, record: Any) -> None:
    """The mask and the test of single actions agree for every action, also beyond the range."""
    mask = np.zeros(GAME.num_actions, np.int8)
    words = engine.legal(states[0], record[0])
    loops.write_mask(*words, mask, 0, len(mask))
    allowed = set(np.flatnonzero(mask).tolist())
    assert {action for action in range(-2, 120) if loops.is_legal(states[0], record[0], action)} == allowed
    assert allowed


def check_round(reference: Reference, states: np.ndarray, record: Any, flags: int) -> None:
    """What holds after every round: tricks add up, under the hook someone fails, points and rewards are right."""
    state, n = states[0], reference.seats
    assert state["gained"][:n].tolist() == reference.gained
    assert sum(reference.tricks) == reference.size
    exact = [bid == won for bid, won in zip(reference.bids, reference.tricks, strict=True)]
    assert not (reference.options["hook"] and all(exact))
    assert flags == (ROUND_OVER | GAME_OVER if reference.finished else ROUND_OVER)
    rewards = np.zeros(n, np.float32)
    engine.rewards(state, record[0], flags, rewards)
    assert rewards.tolist() == pytest.approx([float(reward) for reward in reference.rewards()], abs=1e-4)


def play(options: dict[str, Any], seed: int, dealer: int) -> Reference:
    """Play a random game by the engine and by the second reading."""
    rules = GAME.make_rules(**options)
    record = rules.record()
    rng = Random(seed)
    states, other = np.zeros(1, GAME.state), np.zeros(1, GAME.state)
    states["seed"] = seed
    state = states[0]
    n = rules.num_players
    engine.new_game(state, record[0], dealer if dealer < n else -1)
    reference = Reference(resolve(**options), int(state["dealer"]))
    assert dealer >= n or reference.dealer == (dealer - 1) % n
    begin(reference, state)
    while True:
        cards = [card for hand in reference.hands for card in hand]
        cards += [card for trick in [*reference.played, reference.trick] for _, card in trick]
        assert len(set(cards)) == len(cards) == n * reference.size
        assert reference.turned not in cards
        assert all(bid is None or 0 <= bid <= reference.size for bid in reference.bids)
        compare(reference, states, rules)
        if rng.random() < 0.1:
            check_one_legality(states, record)
            check_knowledge(reference, states, record)
            GAME.fields.set_position(other, rules, GAME.fields.snapshot(state, rules), seed)
            for key in set(GAME.state.names or ()) - {"moves", "gained"}:
                assert (other[key] == states[key]).all(), key
        move = choose(reference.legal(), rng)
        made = len(reference.history)
        reference.do(move)
        before = int(state["moves"])
        flags = loops.advance(state, record[0], ACTIONS[move])
        assert int(state["moves"]) - before == len(reference.history) - made
        if reference.phase == "over":
            compare(reference, states, rules)
            check_round(reference, states, record, flags)
            if reference.finished:
                return reference
            engine.next_round(state, record[0])
            begin(reference, state)
        else:
            assert flags == 0


@given(options=game_options(), seed=st.integers(0, 2**63 - 1), dealer=st.integers(0, 8))
@settings(max_examples=100)
def test_random_games(options: dict[str, Any], seed: int, dealer: int) -> None:
    """All options at once, 3..8 seats: legal moves, turns, trump, tricks, scores, dealer and phase at every step."""
    play(options, seed, dealer)


@pytest.mark.slow
@given(options=game_options(), seed=st.integers(0, 2**63 - 1), dealer=st.integers(0, 8))
@settings(max_examples=1500, derandomize=False)
def test_many_random_games(options: dict[str, Any], seed: int, dealer: int) -> None:
    play(options, seed, dealer)


@pytest.mark.parametrize("preset", ["kachuful", "kachufol", "judgement", "blackout", "progressive", "double", "sun"])
def test_presets_by_the_second_reading(preset: str) -> None:
    """A whole game of every preset through `raw_env`: masks, snapshots, rewards and history; all seats end at once."""
    n = 3 + len(preset) % 6
    env = kachuful_v0.raw_env(preset, num_players=n)
    env.reset(seed=len(preset), options={"dealer": 1})
    reference = Reference(resolve(preset, num_players=n), 1)
    follow(env, reference, Random(preset))


ROWS: list[dict[str, Any]] = [
    {"num_players": 3, "max_hand": 2, "blind": "optional", "single_card": "forehead", "reward": "win", "cycles": 2},
    {"num_players": 5, "max_hand": 3, "blind": "forced", "blind_doubles": "bonus", "trump": "turn_up"},
    {"num_players": 4, "max_hand": 1, "single_card": "face_down", "cycles": 6, "trump": "SN", "reward": "score"},
    {"num_players": 6, "max_hand": 3, "revoke": "penalty", "scoring": "minus_difference", "schedule": "up"},
    {"num_players": 8, "max_hand": 4, "min_hand": 3, "hook": False, "scoring": "trick_plus_bonus", "reward": "win"},
    {"num_players": 7, "max_hand": 2, "scoring": "ten_times_bid_plus_ten", "no_trump_every": 2, "schedule": "up_down"},
]


@pytest.mark.parametrize("options", ROWS)
def test_options_by_the_second_reading(options: dict[str, Any]) -> None:
    env = kachuful_v0.raw_env(**options)
    env.reset(seed=5)
    reference = Reference(resolve(**options), env.snapshot()["dealer"])
    follow(env, reference, Random(3))


def follow(env: Any, reference: Reference, rng: Random) -> None:
    """Play a random game through the environment, the second reading beside it."""
    totals = [0.0] * reference.seats
    begin(reference, env._states[0])
    while True:
        snapshot = env.snapshot()
        assert {key: snapshot[key] for key in reference.snapshot()} == reference.snapshot()
        legal = reference.legal()
        for seat, agent in enumerate(env.possible_agents):
            mask = env.observe(agent)["action_mask"]
            assert {env.action_name(a) for a in np.flatnonzero(mask)} == set(legal if seat == reference.turn else [])
        if reference.finished:
            break
        move = choose(legal, rng)
        reference.do(move)
        env.step(env.action_id(move))
        assert env.history == reference.history
        ended = reference.phase == "over"
        expected = [float(reward) for reward in reference.rewards()] if ended else [0.0] * reference.seats
        assert list(env.rewards.values()) == pytest.approx(expected, abs=1e-4)
        totals = [total + reward for total, reward in zip(totals, env.rewards.values(), strict=True)]
        if ended and not reference.finished:
            begin(reference, env._states[0])
    assert all(env.terminations.values())
    if reference.options["reward"] == "score":
        assert totals == reference.scores
    else:
        assert sum(totals) == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["id"] for vector in VECTORS])
def test_the_second_reading_knows_the_worked_positions(vector: dict[str, Any]) -> None:
    case, expect = vector["input"], vector["expect"]
    checks: dict[str, Callable[[], Any]] = {
        "score": lambda: plain.points(resolve(**_only(case)), case["bid"], case["won"], case.get("blind", False)),
        "num_rounds": lambda: len(plain.hand_sizes(resolve(**_only(case)))),
        "schedule": lambda: plain.hand_sizes(resolve(**_only(case))),
        "trumps": lambda: _trumps(case),
        "trick_winner": lambda: plain.winner(list(enumerate(case["trick"])), case["trump"]),
        "max_hand": lambda: [resolve(num_players=n, max_hand="full")["max_hand"] for n in case["n"]],
        "legal_bids": lambda: _legal_bids(case),
        "legal_plays": lambda: _legal_plays(case),
        "play_out": lambda: _play_out(case),
        "dealers": lambda: _dealers(case),
        "forehead_view": lambda: _forehead_view(case),
    }
    assert checks[vector["kind"]]() == expect


def _only(case: dict[str, Any]) -> dict[str, Any]:
    return {"num_players": case.get("n", 4)} | {key: value for key, value in case.items() if key in plain.DEFAULTS}


def _trumps(case: dict[str, Any]) -> list[str]:
    options = resolve(trump=case["cycle"], no_trump_every=case["every"])
    return [plain.trump_of(options, round_, None) for round_ in range(case["rounds"])]


def _round(hands: list[list[str]], dealer: int, **options: Any) -> Reference:
    size = len(hands[0])
    reference = Reference(resolve(num_players=len(hands), max_hand=size, min_hand=size, **options), dealer)
    reference.begin(hands, None)
    return reference


def _legal_bids(case: dict[str, Any]) -> list[int]:
    n, size = case["n"], case["hand_size"]
    reference = _round([plain.PACK[size * seat : size * (seat + 1)] for seat in range(n)], 0, hook=case["hook"])
    for bid in case["prev"]:
        reference.do(f"bid {bid}")
    return [int(move.split()[1]) for move in reference.legal()]


def _legal_plays(case: dict[str, Any]) -> list[str]:
    others = [card for card in plain.PACK if card not in case["hand"] + case["trick"]]
    size, seat = len(case["hand"]), len(case["trick"])
    hands = [[card, *others[10 * i : 10 * i + size - 1]] for i, card in enumerate(case["trick"])] + [case["hand"]]
    hands += [others[40 - size * i : 40 - size * (i - 1)] for i in range(4 - len(hands))]
    reference = _round(hands, 3)
    for move in ["bid 0"] * 4 + case["trick"]:
        reference.do(move)
    assert reference.turn == seat
    return reference.legal()


def _play_out(case: dict[str, Any]) -> dict[str, Any]:
    reference = _round(case["hands"], case["dealer"], trump=case["trump"])
    for move in [f"bid {bid}" for bid in case["bids"]] + case["plays"]:
        reference.do(move)
    return {"tricks": reference.tricks, "scores": reference.gained}


def _dealers(case: dict[str, Any]) -> dict[str, Any]:
    reference = Reference(resolve(num_players=case["n"], max_hand=1, cycles=case["rounds"]), case["first"])
    dealers, first = [], []
    for _ in range(case["rounds"]):
        reference.begin([[card] for card in plain.PACK[: case["n"]]], None)
        dealers.append(reference.dealer)
        first.append(reference.turn)
    return {"dealers": dealers, "first_to_bid": first}


def _forehead_view(case: dict[str, Any]) -> dict[str, Any]:
    reference = _round([[card] for card in case["cards"]], 3, single_card="forehead")
    seen = {seat: reference.sees(case["observer"], seat) for seat in range(4)}
    visible = {str(seat): reference.hands[seat][0] for seat in seen if seen[seat]}
    return {"hidden": [seat for seat in seen if not seen[seat]], "visible": visible}
