"""The sampler of consistent deals against full enumeration, exact counts and its own contract."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from collections import Counter
from functools import cache
from math import comb, factorial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, hypergeom

from envs import sampling, tables
from envs.cards import FULL_PACK, cards_of, mask_of, suit_cards
from envs.jit import PLAIN, jit, jit_with_memory, popcount

Situation = tuple[int, list[int], list[int]]

SUITS = [int(suit_cards(s)) for s in range(4)]
ANY = FULL_PACK
# Uncompiled draws cost a hundred times more.
DRAWS_PER_DEAL = 10 if PLAIN else 50


def prepared(situation: Situation, capacity: int = tables.TABLE_SIZE) -> tuple[Any, bool]:
    unseen, quotas, allowed = situation
    plan = sampling.new_plan(capacity)
    possible = sampling.prepare(
        unseen, np.array(quotas, dtype=np.int64), np.array(allowed, dtype=np.int64), len(quotas), plan
    )
    return plan, bool(possible)


def use_side(plan: Any, by_group: int) -> None:
    """Make a prepared plan work on the other side of its table."""
    assert np.isfinite(tables.lay_out(plan[0][0], by_group, len(plan[1])))
    tables.fill_table(plan[0][0], plan[1])


@jit
def draw_many(plan: Any, key0: int, key1: int, counter: int, out: Any) -> int:
    for i in range(len(out)):
        counter = sampling.draw(plan, key0, key1, counter, out[i])
    return counter


def draws(plan: Any, rows: int, n: int, key0: int = 11, key1: int = 22, counter: int = 0) -> list[tuple[int, ...]]:
    out = np.zeros((n, rows), dtype=np.int64)
    draw_many(plan, key0, key1, counter, out)
    return [tuple(int(mask) for mask in hands) for hands in out]


def all_deals(situation: Situation) -> list[tuple[int, ...]]:
    """Every consistent deal, found by trying each row for each card."""
    unseen, quotas, allowed = situation
    deals = [tuple(0 for _ in quotas)]
    for card in cards_of(unseen):
        deals = [
            (*deal[:r], deal[r] | 1 << card, *deal[r + 1 :])
            for deal in deals
            for r in range(len(quotas))
            if allowed[r] >> card & 1 and popcount(deal[r]) < quotas[r]
        ]
    return [deal for deal in deals if all(popcount(deal[r]) == quotas[r] for r in range(len(quotas)))]


def exact_count(situation: Situation) -> int:
    """Number of consistent deals, card by card over what the rows have left."""
    unseen, quotas, allowed = situation
    cards = cards_of(unseen)

    @cache
    def ways(index: int, left: tuple[int, ...]) -> int:
        if index == len(cards):
            return int(not any(left))
        return sum(
            ways(index + 1, (*left[:r], left[r] - 1, *left[r + 1 :]))
            for r in range(len(left))
            if left[r] > 0 and allowed[r] >> cards[index] & 1
        )

    return ways(0, tuple(quotas))


def assert_consistent(situation: Situation, deal: tuple[int, ...]) -> None:
    unseen, quotas, allowed = situation
    assert [popcount(hand) for hand in deal] == quotas
    assert all(hand & ~mask == 0 for hand, mask in zip(deal, allowed, strict=True))
    assert sum(deal) == unseen  # with the sizes right, equal sums of masks mean no card twice
    assert sum(popcount(hand) for hand in deal) == popcount(unseen)


EIGHT = mask_of(range(8))
SPREAD = mask_of([0, 1, 12, 13, 14, 26, 39, 51])

SMALL: dict[str, Situation] = {
    "no constraints": (EIGHT, [2, 3, 3], [ANY, ANY, ANY]),
    "one row": (SPREAD, [8], [ANY]),
    "one void": (SPREAD, [3, 2, 3], [ANY & ~SUITS[0], ANY, ANY]),
    "overlapping voids": (SPREAD, [2, 2, 2, 2], [ANY & ~SUITS[0], ANY & ~SUITS[0] & ~SUITS[1], ANY & ~SUITS[2], ANY]),
    "equal voids": (SPREAD, [2, 2, 4], [ANY & ~SUITS[1], ANY & ~SUITS[1], ANY]),
    "no free row": (EIGHT, [3, 3, 2], [0b01111110, 0b11110011, 0b11011011]),
    "quota zero": (EIGHT, [0, 4, 0, 4], [ANY, 0b00111111, 0, ANY]),
    "known cards": (EIGHT, [3, 3, 2], [0b00001111, ANY & ~0b00000001, 0b11110010]),
    "two separate halves": (EIGHT, [2, 2, 1, 3], [0b00001111, 0b00001111, 0b11110000, 0b11110000]),
    "entangled cards": (EIGHT, [2, 2, 2, 2], [0b00011011, 0b01101101, 0b11010110, 0b10111001]),
    "forced": (mask_of([3, 20, 51]), [1, 1, 1], [mask_of([3, 20]), mask_of([20]), mask_of([3, 20, 51])]),
    "nothing unseen": (0, [0, 0], [ANY, ANY]),
    "no rows": (0, [], []),
}


@pytest.mark.parametrize("by_group", [0, 1])
@pytest.mark.parametrize("name", SMALL)
def test_every_deal_is_equally_likely(name: str, by_group: int) -> None:
    situation = SMALL[name]
    deals = all_deals(situation)
    plan, possible = prepared(situation)
    assert possible
    use_side(plan, by_group)
    assert sampling.count(plan) == pytest.approx(len(deals), rel=1e-12)
    seen = Counter(draws(plan, len(situation[1]), DRAWS_PER_DEAL * len(deals)))
    assert set(seen) <= set(deals)
    if len(deals) > 1:
        assert chisquare([seen[deal] for deal in deals]).pvalue > 1e-3


def barred(cards: int, quotas: list[int], patterns: list[int]) -> Situation:
    """The first `cards` cards, each kept from the rows in a bit set that cycles through `patterns`."""
    allowed = [
        mask_of(card for card in range(cards) if not patterns[card % len(patterns)] >> row & 1)
        for row in range(len(quotas))
    ]
    return (1 << cards) - 1, quotas, allowed


# As many classes as three and four rows can have (a card with one possible row is no choice), and eight rows.
THREE_ROWS = barred(39, [13, 13, 13], [0, 1, 2, 4, 0, 1, 2, 4, 3, 5, 0, 1, 2, 4])
FOUR_ROWS = barred(52, [13, 13, 13, 13], [0, 1, 2, 4, 8, 3, 5, 9, 6, 10, 12])
EIGHT_ROWS: Situation = (
    ANY & ~mask_of([0, 13, 26, 39]),
    [6] * 8,
    [ANY & ~SUITS[r % 4] & ~(SUITS[r // 2] if r % 3 else 0) for r in range(8)],
)


def marginals(situation: Situation) -> np.ndarray:
    """Exact probability of each card (rows of the result) in each row, from counts with the card taken out."""
    unseen, quotas, allowed = situation
    total = exact_count(situation)
    table = np.zeros((52, len(quotas)))
    known: dict[tuple[int, ...], np.ndarray] = {}
    for card in cards_of(unseen):
        takers = tuple(r for r in range(len(quotas)) if allowed[r] >> card & 1)
        if takers not in known:
            known[takers] = np.zeros(len(quotas))
            for r in takers:
                fewer = [q - (k == r) for k, q in enumerate(quotas)]
                known[takers][r] = exact_count((unseen & ~(1 << card), fewer, allowed)) / total
        table[card] = known[takers]
    return table


@pytest.mark.parametrize(
    ("situation", "by_group"), [(THREE_ROWS, 0), (FOUR_ROWS, 0), (EIGHT_ROWS, 1)], ids=["three", "four", "eight"]
)
def test_large_situations(situation: Situation, by_group: int) -> None:
    rows = len(situation[1])
    plan, possible = prepared(situation)
    assert possible
    assert plan[0][0]["by_group"] == by_group
    n = 200 if PLAIN else 10_000
    samples = [draws(plan, rows, n)]
    total = sampling.count(plan)
    if rows < 8:
        # The other side of the table is out of reach for four rows, the plain count for eight.
        assert total == pytest.approx(exact_count(situation), rel=1e-10)
    if rows != 4:
        use_side(plan, 1 - by_group)
        assert sampling.count(plan) == pytest.approx(total, rel=1e-10)
        samples.append(draws(plan, rows, n))
    for sample in samples:
        for deal in sample[:200]:
            assert_consistent(situation, deal)
    if rows == 3:
        expected = marginals(situation)
        for sample in samples:
            seen = np.zeros_like(expected)
            for deal in sample:
                for r, hand in enumerate(deal):
                    seen[cards_of(hand), r] += 1
            assert np.all(seen[expected == 0] == 0)
            assert np.all(seen[expected == 1] == n)
            unsure = (expected > 0) & (expected < 1)
            deviation = np.sqrt(n * expected * (1 - expected))
            assert np.abs((seen - n * expected)[unsure] / deviation[unsure]).max() < 4.5


def test_suit_lengths_are_hypergeometric() -> None:
    # The second hand has no spade, so the first is a random third of the other 39 cards.
    plan, possible = prepared((ANY, [13, 13, 26], [ANY, ANY & ~SUITS[0], ANY]))
    assert possible
    n = 500 if PLAIN else 20_000
    lengths = Counter(popcount(deal[0] & SUITS[0]) for deal in draws(plan, 3, n))
    expected = n * hypergeom(39, 13, 13).pmf(np.arange(14))
    common = np.flatnonzero(expected >= 5)
    observed = np.array([lengths[int(k)] for k in common], dtype=float)
    observed = np.append(observed, n - observed.sum())
    wanted = np.append(expected[common], n - expected[common].sum())
    assert chisquare(observed, wanted).pvalue > 1e-3


def test_counts_are_multinomials() -> None:
    plan, possible = prepared((ANY, [13, 13, 13, 13], [ANY] * 4))
    assert possible
    assert sampling.count(plan) == pytest.approx(factorial(52) / factorial(13) ** 4, rel=1e-12)
    plan, possible = prepared((ANY, [6] * 7 + [10], [ANY] * 8))
    assert possible
    assert sampling.count(plan) == pytest.approx(factorial(52) / factorial(6) ** 7 / factorial(10), rel=1e-12)
    # Spades only in the last two rows, 13 + 20 places there; the 39 other cards fill what is left.
    plan, possible = prepared((ANY, [9, 10, 13, 20], [ANY & ~SUITS[0]] * 2 + [ANY] * 2))
    assert possible
    wanted = comb(39, 19) * comb(19, 9) * comb(33, 13)
    assert sampling.count(plan) == pytest.approx(wanted, rel=1e-12)


IMPOSSIBLE: dict[str, Situation] = {
    "too few places": (EIGHT, [3, 3], [ANY, ANY]),
    "too many places": (EIGHT, [5, 4], [ANY, ANY]),
    "no rows": (EIGHT, [], []),
    "negative quota": (EIGHT, [9, -1], [ANY, ANY]),
    "a card nobody may hold": (EIGHT, [4, 4], [ANY & ~1, ANY & ~1]),
    "a row short of cards": (EIGHT, [4, 4], [0b111, ANY]),
    "two rows short of cards": (EIGHT, [2, 2, 4], [0b111, 0b111, ANY]),
    "a class short of places": (EIGHT, [2, 2, 4], [ANY, ANY, 0b11100000]),
    "three rows short of cards": (SPREAD, [2, 2, 2, 2], [0b1111 << 12, 0b111 << 12, 0b11 << 13 | 1 << 12, ANY]),
    "only the table shows it": (0b111111, [1, 1, 1, 3], [0b000111, 0b000011, 0b000011, 0b011111]),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_impossible(name: str) -> None:
    situation = IMPOSSIBLE[name]
    plan, possible = prepared(SMALL["no constraints"])
    assert possible
    unseen, quotas, allowed = situation
    row_quotas = np.array(quotas, dtype=np.int64)
    row_allowed = np.array(allowed, dtype=np.int64)
    assert not sampling.prepare(unseen, row_quotas, row_allowed, len(quotas), plan)
    assert sampling.count(plan) == 0.0
    with pytest.raises(ValueError, match="no consistent deal"):
        sampling.draw(plan, 1, 2, 0, np.zeros(8, dtype=np.int64))


def test_limits() -> None:
    plan = sampling.new_plan(200)
    ten = np.ones(10, dtype=np.int64)
    with pytest.raises(ValueError, match="9 rows"):
        sampling.prepare(0b1111111111, ten, ten * ANY, 10, plan)
    with pytest.raises(ValueError, match="table is too small"):
        sampling.prepare(
            FOUR_ROWS[0], np.array(FOUR_ROWS[1], dtype=np.int64), np.array(FOUR_ROWS[2], dtype=np.int64), 4, plan
        )
    assert sampling.count(plan) == 0.0


# Small enough for the table to fit in every case and for the exact count to be quick.
MOST_CARDS = 9 if PLAIN else 14


@st.composite
def situations(draw_from: st.DrawFn) -> Situation:
    """A situation, in most cases built around a deal so that it has a solution."""
    rows = draw_from(st.integers(1, 8))
    cards = draw_from(st.lists(st.integers(0, 51), max_size=MOST_CARDS, unique=True))
    owners = [draw_from(st.integers(0, rows - 1)) for _ in cards]
    hands = [mask_of(c for c, r in zip(cards, owners, strict=True) if r == row) for row in range(rows)]
    masks = st.one_of(
        st.just(ANY), st.integers(0, ANY), st.sets(st.integers(0, 3)).map(lambda suits: sum(SUITS[s] for s in suits))
    )
    solvable = draw_from(st.integers(0, 3)) > 0
    allowed = [draw_from(masks) | (hand if solvable else 0) for hand in hands]
    return mask_of(cards), [popcount(hand) for hand in hands], allowed


@settings(max_examples=50 if PLAIN else 300, deadline=None)
@given(situations(), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(0, 2**31))
def test_draws_are_consistent(situation: Situation, key0: int, key1: int, counter: int) -> None:
    rows = len(situation[1])
    number = exact_count(situation)
    plan, possible = prepared(situation)
    assert possible == (number > 0)
    assert sampling.count(plan) == pytest.approx(number, rel=1e-10)
    if not possible:
        return
    sample = draws(plan, rows, 5, key0, key1, counter)
    for deal in sample:
        assert_consistent(situation, deal)
    again, _ = prepared(situation)
    assert draws(again, rows, 5, key0, key1, counter) == sample


def test_draws_follow_keys_and_counter() -> None:
    plan, _ = prepared(FOUR_ROWS)
    out = np.zeros((2, 4), dtype=np.int64)
    middle = sampling.draw(plan, 5, 6, 100, out[0])
    assert middle > 100
    sampling.draw(plan, 5, 6, middle, out[1])
    assert draws(plan, 4, 2, 5, 6, 100) == [tuple(hands) for hands in out.tolist()]
    assert draws(plan, 4, 1, 5, 6, 100) != draws(plan, 4, 1, 5, 7, 100)
    assert draws(plan, 4, 1, 5, 6, 100) != draws(plan, 4, 1, 4, 6, 100)
    assert draws(plan, 4, 1, 5, 6, 100) != draws(plan, 4, 1, 5, 6, 101)


@jit_with_memory
def _plan_inside(quotas: Any, allowed: Any, hands: Any) -> int:
    plan = sampling.new_plan(1000)
    if not sampling.prepare(0b111111, quotas, allowed, 2, plan):
        return -1
    return sampling.draw(plan, 1, 2, 3, hands)


def test_plan_made_in_compiled_code() -> None:
    hands = np.zeros(2, dtype=np.int64)
    quotas = np.array([2, 4], dtype=np.int64)
    allowed = np.array([0b001110, 0b111111], dtype=np.int64)
    assert _plan_inside(quotas, allowed, hands) > 3
    assert_consistent((0b111111, [2, 4], allowed.tolist()), tuple(hands.tolist()))


def _fixed_run() -> list[list[int | str]]:
    """Counts (as hexadecimal fractions) and deals of fixed situations; complete in itself, for another process."""
    import numpy as np

    from envs import sampling

    full = (1 << 52) - 1
    suits = [0x1FFF << 13 * s for s in range(4)]
    runs = [
        ([10, 10, 10, 22], [full & ~suits[0], full & ~suits[1] & ~suits[2], full & ~suits[3], full]),
        ([13, 13, 13, 13], [full] * 4),
        ([5, 5, 5, 5, 5, 5, 5, 17], [full & ~suits[r % 4] & ~suits[r // 2] for r in range(7)] + [full]),
    ]
    results: list[list[int | str]] = []
    plan = sampling.new_plan()
    for quotas, allowed in runs:
        rows = len(quotas)
        sampling.prepare(full, np.array(quotas, dtype=np.int64), np.array(allowed, dtype=np.int64), rows, plan)
        results.append([float(sampling.count(plan)).hex()])
        counter = 2**31 - 5
        hands = np.zeros(rows, dtype=np.int64)
        for _ in range(20):
            counter = sampling.draw(plan, 0xFFFFFFFF, 0x12345678, counter, hands)
            results.append([int(counter), *hands.tolist()])
    return results


def test_plain_mode_gives_the_same_deals() -> None:
    code = inspect.getsource(_fixed_run) + "\nimport json\nprint(json.dumps(_fixed_run()))\n"
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert json.loads(done.stdout) == _fixed_run()


@jit_with_memory
def walk(plan: Any, key0: int, key1: int, steps: int, hands: Any, out: Any) -> None:
    for i in range(len(out)):
        for k in range(steps):
            sampling.exchange_cards(plan, key0 + i * steps + k, key1, hands)
        out[i] = hands


@pytest.mark.parametrize(
    "situation",
    [
        (0b111111, [2, 2, 2], [ANY] * 3),
        (0b111111, [1, 2, 3], [0b000111, 0b111110, ANY]),
        (0b1111, [2, 2], [0b0111, ANY]),
    ],
    ids=str,
)
def test_exchanges_walk_through_all_deals_alike(situation: Situation) -> None:
    plan, possible = prepared(situation)
    assert possible
    deals = all_deals(situation)
    hands = np.array(draws(plan, len(situation[1]), 1)[0])
    out = np.zeros((DRAWS_PER_DEAL * len(deals), len(hands)), np.int64)
    walk(plan, 5, 6, 20, hands, out)
    found = Counter(tuple(int(mask) for mask in deal) for deal in out)
    assert set(found) == set(deals)
    assert chisquare([found[deal] for deal in deals]).pvalue > 1e-4


def test_what_is_certain_is_never_exchanged() -> None:
    plan, _ = prepared((0b111, [1, 2], [0b001, ANY]))
    hands = np.array([0b001, 0b110])
    assert not any(sampling.exchange_cards(plan, key, 1, hands) for key in range(50))
    assert hands.tolist() == [0b001, 0b110]
