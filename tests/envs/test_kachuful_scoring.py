"""Kachuful: points of a round, totals, ties and rewards."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from kachuful_reference import points, resolve
from kachuful_table import CHOICES, Table, bids, cases

from envs import kachuful_v0
from envs.kachuful import GAME, engine

HANDS = ["AS 4H 6C", "2S 3H 2C", "3S KH QC", "2H 3C 5D"]
ROUND = ["AS", "2S", "3S", "5D", "4H", "3H", "KH", "2H", "QC", "3C", "6C", "2C"]
"""Seat 0 wins one trick, seat 2 two."""


def score(scoring: str, bid: int, won: int) -> int:
    record = GAME.make_rules(scoring=scoring).record()
    return int(engine.score(record[0], bid, won, False))


def gained(numbers: tuple[int, ...], scoring: str) -> list[int]:
    """Points of all seats for a round played at the table with these bids."""
    table = Table(HANDS, scoring=scoring, hook=False).do(*bids(*numbers), *ROUND)
    assert table.ended["tricks"] == [1, 0, 2, 0]
    return list(table.ended["gained"])


@pytest.mark.parametrize(
    ("scoring", "bids_", "expected"),
    [
        # Exact bids of 1, 0, 2, 0, then bids that are missed by one or more, over and under.
        ("ten_plus_bid", (1, 0, 2, 0), [11, 10, 12, 10]),
        ("ten_plus_bid", (2, 3, 0, 1), [0, 0, 0, 0]),
        ("ten_times_bid_plus_ten", (1, 0, 2, 0), [20, 10, 30, 10]),
        ("ten_times_bid_plus_ten", (2, 3, 0, 1), [0, 0, 0, 0]),
        ("minus_difference", (1, 0, 2, 0), [11, 10, 12, 10]),
        ("minus_difference", (2, 3, 0, 1), [-1, -3, -2, -1]),
        ("trick_plus_bonus", (1, 0, 2, 0), [11, 10, 12, 10]),
        ("trick_plus_bonus", (2, 3, 0, 1), [1, 0, 2, 0]),
        ("judgement", (1, 0, 2, 0), [10, 10, 10, 10]),
        ("judgement", (2, 3, 0, 1), [-10, -10, -10, -10]),
    ],
)
def test_scorings_at_the_table(scoring: str, bids_: tuple[int, ...], expected: list[int]) -> None:
    """A1.28, A1.30, A1.31, A1.32, A1.37, A1.38, A1.44, A2.9, A2.13, A2.21: the points of a round.

    scoring="ten_plus_bid", scoring="ten_times_bid_plus_ten", scoring="minus_difference", scoring="trick_plus_bonus",
    scoring="judgement".
    """
    assert gained(bids_, scoring) == expected


def test_ten_plus_bid() -> None:
    """A1.2, A1.14, A1.29, A1.30, A1.38, A1.46, A1.47, A2.1, A2.20: exact 10 + bid, missed 0 by any amount."""
    assert [score("ten_plus_bid", bid, bid) for bid in range(18)] == list(range(10, 28))
    assert score("ten_plus_bid", 2, 2) == 12
    assert score("ten_plus_bid", 10, 10) == 20
    assert {score("ten_plus_bid", bid, won) for bid in range(18) for won in range(18) if bid != won} == {0}


def test_minus_difference() -> None:
    """A1.2, A1.31, A1.44: one off -1, two off -2, over and under, for any distance."""
    for bid in range(18):
        for won in range(18):
            assert score("minus_difference", bid, won) == (10 + bid if bid == won else -max(bid - won, won - bid))


def test_trick_plus_bonus() -> None:
    """A1.32: one point a trick whatever was bid, and 10 for an exact bid."""
    for bid in range(18):
        assert [score("trick_plus_bonus", bid, won) for won in range(18) if won != bid] == [
            won for won in range(18) if won != bid
        ]
        assert score("trick_plus_bonus", bid, bid) == bid + 10


def test_judgement() -> None:
    """A1.37: 10 for an exact bid without a bonus for tricks, -10 for a missed one; preset="judgement"."""
    assert {score("judgement", bid, bid) for bid in range(18)} == {10}
    assert {score("judgement", bid, won) for bid in range(18) for won in range(18) if bid != won} == {-10}


def test_ten_times_bid_plus_ten() -> None:
    """A2.13, A2.19: 10 x bid + 10."""
    assert [score("ten_times_bid_plus_ten", bid, bid) for bid in range(18)] == list(range(10, 190, 10))
    assert {score("ten_times_bid_plus_ten", bid, won) for bid in range(18) for won in range(18) if bid != won} == {0}


@pytest.mark.parametrize("scoring", CHOICES["scoring"])
@pytest.mark.parametrize("doubles", CHOICES["blind_doubles"])
def test_all_points(scoring: str, doubles: str) -> None:
    """A1.41: every bid and number of tricks, plain and blind, by the second reading."""
    options = resolve(scoring=scoring, blind_doubles=doubles)
    record = GAME.make_rules(scoring=scoring, blind_doubles=doubles).record()
    for bid in range(18):
        for won in range(18):
            for blind in (False, True):
                assert engine.score(record[0], bid, won, blind) == points(options, bid, won, blind)


@cases("score")
def test_worked_scores(vector: dict[str, Any]) -> None:
    """A1.29, A1.30, A1.31, A1.32, A1.37, A1.41, A1.44, A1.46, A2.13: the worked scores, by the default rules too."""
    case = vector["input"]
    options = {key: case[key] for key in ("scoring", "blind_doubles") if key in case}
    record = GAME.make_rules(**options).record()
    assert engine.score(record[0], case["bid"], case["won"], case.get("blind", False)) == vector["expect"]


def test_totals() -> None:
    """A1.6, A1.14, A1.33, A2.9, A2.20: points are summed over the rounds; decision: scores are integers."""
    env = kachuful_v0.raw_env(max_hand=3, reward="score", cycles=2, scoring="minus_difference")
    env.reset(seed=4)
    total = [0] * 4
    while not env.terminations["player_0"]:
        assert env.snapshot()["scores"] == total
        assert all(type(points_) is int for points_ in env.snapshot()["scores"])
        env.step(int(np.flatnonzero(env.observe(env.agent_selection)["action_mask"])[-1]))
        total = [points_ + int(reward) for points_, reward in zip(total, env.rewards.values(), strict=True)]
    assert env.snapshot()["scores"] == total
    assert env.snapshot()["round"] == 9
    assert min(total) < 0


CARDS = ["AS", "2S", "3S", "4S"]
"""Seat 0 wins the trick."""


def last_rewards(numbers: tuple[int, ...], scores: list[int] | None = None, **options: Any) -> list[float]:
    """Rewards of the last round of a game, one card each, that began at these scores."""
    rules = {"max_hand": 1, "num_players": len(CARDS), "hook": False} | options
    env = kachuful_v0.raw_env(**rules)
    position: dict[str, Any] = {"hands": [[card] for card in CARDS], "dealer": 3, "scores": scores or [0] * 4}
    env.reset(seed=1, options={"position": position})
    for name in (*bids(*numbers), *CARDS):
        env.step(env.action_id(name))
    assert env.snapshot()["finished"]
    assert all(env.terminations.values())
    return list(env.rewards.values())


@pytest.mark.parametrize(
    ("numbers", "scores", "winners"),
    [
        ((1, 0, 0, 1), [0, 0, 0, 0], [0]),
        ((0, 0, 0, 1), [0, 0, 0, 0], [1, 2]),
        ((0, 0, 0, 0), [0, 0, 0, 0], [1, 2, 3]),
        ((0, 1, 1, 1), [0, 0, 0, 0], [0, 1, 2, 3]),  # nobody has scored
        ((0, 1, 1, 1), [-5, -5, -7, -9], [0, 1]),  # the best are below zero
        ((1, 0, 0, 0), [0, 1, 1, 0], [0, 1, 2]),  # by totals, not by the last round
        ((0, 0, 0, 0), [50, 0, 0, 0], [0]),
    ],
)
def test_ties_share_the_win(numbers: tuple[int, ...], scores: list[int], winners: list[int]) -> None:
    """A1.6, A1.33, A2.9, A2.18: reward="win"; decision: ties share the win: with k winners each has 1/k, minus 1/n."""
    share = Fraction(1, len(winners))
    expected = [float((share if seat in winners else 0) - Fraction(1, 4)) for seat in range(4)]
    rewards = last_rewards(numbers, scores, reward="win")
    assert rewards == pytest.approx(expected, abs=1e-6)
    assert sum(rewards) == pytest.approx(0, abs=1e-6)


def test_a_win_is_rewarded_at_the_end_alone() -> None:
    """A1.6: reward="win": nothing for any round before the last."""
    table = Table(CARDS, cycles=2, reward="win").do(*bids(1, 0, 0, 1), *CARDS)
    assert table.ended["rewards"] == [0.0] * 4
    assert table.ended["scores"] == [11, 10, 10, 0]
    env, last = table.env, [0.0]
    while not env.terminations["player_0"]:
        env.step(int(np.flatnonzero(env.observe(env.agent_selection)["action_mask"])[0]))
        last = list(env.rewards.values())
    best = max(env.snapshot()["scores"])
    assert [reward > 0 for reward in last] == [points_ == best for points_ in env.snapshot()["scores"]]


def test_rewards() -> None:
    """A1.7: reward="score", reward="margin" (the default); decision: rewards by margin, score or win; no partners."""
    assert last_rewards((1, 0, 0, 1), reward="score") == [11.0, 10.0, 10.0, 0.0]
    margins = [float(own - Fraction(31 - own, 3)) for own in (11, 10, 10, 0)]
    assert last_rewards((1, 0, 0, 1), reward="margin") == pytest.approx(margins, abs=1e-5)
    assert last_rewards((1, 0, 0, 1)) == pytest.approx(margins, abs=1e-5)
    assert sum(margins) == pytest.approx(0)
    # The totals before do not count.
    assert last_rewards((1, 0, 0, 1), [99, 3, -2, 0]) == pytest.approx(margins, abs=1e-5)
    assert last_rewards((1, 0, 0, 1), [99, 3, -2, 0], reward="score") == [11.0, 10.0, 10.0, 0.0]


def test_someone_fails_under_the_hook() -> None:
    """A1.5, A1.21, A2.10: with the hook the bids never add up to the tricks, so not all can be right."""
    table = Table(HANDS).do(*bids(1, 0, 2))
    assert "bid 0" not in table.legal
    table.do("bid 1", *ROUND)
    assert table.ended["gained"] == [11, 10, 12, 0]
    assert gained((1, 0, 2, 0), "ten_plus_bid") == [11, 10, 12, 10]  # only without it


def test_notes_of_a_round() -> None:
    """A2.14: bid and points of every player and round."""
    table = Table(HANDS, scoring="minus_difference", cycles=1).do(*bids(2, 0, 2, 1), *ROUND)
    rows = []
    for seat in range(4):
        out = np.zeros(len(engine.STATISTICS), np.float32)
        engine.statistics(table.state, table.rules[0], seat, out)
        rows.append(dict(zip(engine.STATISTICS, out.tolist(), strict=True)))
    assert [row["bid"] for row in rows] == [2, 0, 2, 1]
    assert [row["points"] for row in rows] == [-1, 10, 12, -1]
    assert [row["tricks"] for row in rows] == [1, 0, 2, 0]
    assert [(row["exact"], row["over"], row["under"]) for row in rows] == [(0, 0, 1), (1, 0, 0), (1, 0, 0), (0, 0, 1)]
