"""Whole games of Kaschlan at random, under random rules: invariants, and a second reading of the rules that follows."""

from __future__ import annotations

from collections import Counter
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kaschlan_reference import DEFAULTS, PACK, PASS, Reference, resolve
from kaschlan_table import CHOICES, agree, game_options

from envs import kaschlan_v0

TEMPERS = (0.02, 0.2, 0.5, 0.9)
"""How often a player passes who may do something else; the first play fast games, the last hoard cards."""


def choose(moves: list[str], rng: Random, temper: float) -> str:
    """A random move."""
    cards = [move for move in moves if move != PASS]
    if not cards or (PASS in moves and rng.random() < temper):
        return PASS
    return rng.choice(cards)


def start(options: dict[str, Any], seed: int, position: dict[str, Any] | None = None) -> tuple[Any, Reference]:
    """The environment and the second reading at the start of a game, or of a bout given as a position."""
    env = kaschlan_v0.raw_env(**options)
    env.reset(seed=seed, options={"position": position} if position else None)
    first = env.snapshot()
    reference = Reference(
        resolve(**options),
        first["hands"],
        first["stock"],
        first["turned"],
        first["dealer"],
        first["trump"],
        attacker=first["attacker"] if position else None,
        defender=first["defender"] if position else None,
        out=first["out"] if position else (),
        bout=position["bout"] if position else 0,
    )
    return env, reference


def check(reference: Reference, begun: tuple[int, int, int]) -> None:
    """What holds at any time; `begun` are the number of a bout and the cards that attacker and defender had then."""
    hands = [card for hand in reference.hands for card in hand]
    table = [card for entry in reference.table for card in entry[:2] if card is not None]
    cards = hands + table + reference.stock + list(reference.gone)
    assert len(set(cards)) == len(cards)
    assert all(known <= set(hand) for known, hand in zip(reference.known, reference.hands, strict=True))
    assert len(reference.table) <= min(5, begun[2])
    assert len(set(reference.out)) == len(reference.out)
    assert all(not reference.hands[seat] for seat in reference.out)
    if reference.stock:
        assert not reference.out
    if not reference.finished:
        assert reference.turn in reference.active
        assert reference.legal()
    if not reference.finished and not reference.table:
        assert reference.turn == reference.attacker
        assert reference.after(reference.attacker) == reference.defender
        assert all(reference.hands[seat] for seat in reference.active)
        assert len(reference.active) >= 2


def follow(env: Any, reference: Reference, rng: Random, temper: float) -> Reference:
    """Play a random game through the environment, the second reading beside it."""
    pack = {card for hand in reference.hands for card in hand} | set(reference.stock)
    left: set[int] = set(reference.out)
    begun = (-1, 0, 0)
    while True:
        if begun[0] != reference.bout and not reference.finished:
            begun = (reference.bout, *(len(reference.hands[seat]) for seat in (reference.attacker, reference.defender)))
        check(reference, begun)
        agree(env, reference)
        if reference.finished:
            break
        assert reference.turn not in left
        left |= set(reference.out)
        move = choose(reference.legal(), rng, temper)
        reference.do(move)
        env.step(env.action_id(move))
    there = {card for hand in reference.hands for card in hand} | set(reference.stock) | reference.gone
    assert there == pack
    assert reference.truncated == (len(reference.active) > 1)
    assert not reference.truncated or reference.bout + 1 == reference.options["max_bouts"]
    assert reference.bout < reference.options["max_bouts"]
    assert sum(env.rewards.values()) == pytest.approx(0, abs=1e-5)
    return reference


def play(options: dict[str, Any], seed: int, temper: float = 0.2) -> Reference:
    """A whole random game from its deal."""
    env, reference = start(options, seed)
    n = options["num_players"]
    assert [len(hand) for hand in reference.hands] == [5] * n
    assert {card for hand in reference.hands for card in hand} | set(reference.stock) == set(PACK)
    assert len(reference.stock) == 32 - 5 * n
    return follow(env, reference, Random(seed), temper)


def end_position(options: dict[str, Any], rng: Random) -> dict[str, Any]:
    """A bout that begins late in a game, few cards being left."""
    n = options["num_players"]
    deck = rng.sample(PACK, 32)
    out = rng.sample(range(n), rng.choice([0, 0, *range(n - 1)]))
    hands = [[] if seat in out else [deck.pop() for _ in range(rng.randint(1, 4))] for seat in range(n)]
    stock = [] if out else [deck.pop() for _ in range(rng.choice([0, 0, 1, 2, 5]))]
    attacker = rng.choice([seat for seat in range(n) if seat not in out])
    bout = rng.randrange(options["max_bouts"])
    position = {"hands": hands, "stock": stock, "trump": rng.choice("SDCH"), "attacker": attacker, "out": out}
    return position | {"bout": bout, "dealer": rng.randrange(n)}


def play_end(options: dict[str, Any], seed: int, temper: float = 0.2) -> Reference:
    """A random game from a position late in it."""
    rng = Random(seed)
    env, reference = start(options, seed, end_position(options, rng))
    return follow(env, reference, rng, temper)


GAMES = {"options": game_options(), "seed": st.integers(0, 2**63 - 1), "temper": st.sampled_from(TEMPERS)}


@given(**GAMES)
@settings(max_examples=40)
def test_random_games(options: dict[str, Any], seed: int, temper: float) -> None:
    """All options at once, 2..5 seats: legal moves, turns, phases, cards, roles, rewards and ends at every move."""
    play(options, seed, temper)


@given(**GAMES)
@settings(max_examples=100)
def test_random_ends(options: dict[str, Any], seed: int, temper: float) -> None:
    """The same from positions late in a game, where players leave it."""
    play_end(options, seed, temper)


@pytest.mark.slow
@given(**GAMES)
@settings(max_examples=600, derandomize=False)
def test_many_random_games(options: dict[str, Any], seed: int, temper: float) -> None:
    play(options, seed, temper)


@pytest.mark.slow
@given(**GAMES)
@settings(max_examples=3000, derandomize=False)
def test_many_random_ends(options: dict[str, Any], seed: int, temper: float) -> None:
    play_end(options, seed, temper)


ROWS = [dict(zip(CHOICES, values, strict=True)) for values in product(*CHOICES.values())]
"""The options that have few values, in every combination."""


@pytest.mark.parametrize("seats", [2, 3, 4, 5])
def test_every_combination_of_options(seats: int) -> None:
    """Short games under all of them, from a deal and from the end of a game."""
    assert len(ROWS) == 64
    for number, row in enumerate(ROWS):
        play(row | {"num_players": seats, "max_bouts": 3}, number, TEMPERS[number % 3])
        play_end(row | {"num_players": seats, "max_bouts": 100}, number, TEMPERS[number % 3])


def test_the_random_games_meet_the_rare_cases() -> None:
    """What happens rarely does happen in such games; else they would prove little."""
    met: Counter[str] = Counter()
    for seed in range(150):
        row = ROWS[seed * 7 % 64] | {"num_players": 2 + seed % 4, "max_bouts": 100}
        reference = play_end(row, seed, TEMPERS[seed % 2])
        met.update(reference.events)
        met[f"{len(reference.active)} left at the end"] += 1
    for seed in range(12):
        met.update(play(DEFAULTS | {"num_players": 2 + seed % 4, "kutscher_opens_rank": True}, seed, 0.2).events)
    expected = {"kutscher", "throw", "throw of the Kutscher's rank", "throw own", "thrower out", "taken", "beaten"}
    expected |= {f"{who} out, {left} left" for who in ("attacker", "defender", "both") for left in (1, 2)}
    expected |= {"both out, 0 left", "0 left at the end", "1 left at the end"}
    assert expected <= set(met), expected - set(met)


def test_a_game_that_goes_round_for_ever_is_cut() -> None:
    """Nobody beats anything: the game is cut after so many bouts, and everyone gets 0."""
    for seats in (2, 5):
        reference = play({"num_players": seats, "max_bouts": 20}, 3, 1.0)
        assert reference.truncated
        assert reference.bout == 19
