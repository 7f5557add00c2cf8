"""Scores, ties, the extra round, places, rewards and the end of a game of Call Break."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from call_break_table import Table, bids

from envs.call_break import GAME, scoring
from envs.cards import card_name

LOW, HIGH = "23456789", "TJQKA"


def long_suits(*seats: int) -> list[list[str]]:
    """Hands of one suit each by order of play: the holder of spades wins every trick that it may trump."""
    suits = [[rank + suit for rank in LOW + HIGH] for suit in "SDCH"]
    return [suits[seat] for seat in seats]


def all_to_spades(calls: list[int], **options: Any) -> Table:
    """A round in which seat 0 leads thirteen spades and wins every trick; the hands are of one suit each."""
    position = {"dealer": 3, "hands": long_suits(0, 1, 2, 3), "round": options.pop("round_", 0)}
    position |= {"scores": options.pop("scores")} if "scores" in options else {}
    return Table(position, **options).do(*bids(*calls)).play_out()


def test_made_and_missed() -> None:
    """A3.4, A3.9, A3.21, A3.22, A3.35, A3.20: all thirteen tricks are played; made 10 * call + overtricks, missed minus
    the call, whatever the distance."""
    table = all_to_spades([4, 2, 5, 13])
    assert table.gained == [49, -20, -50, -130]
    assert table.rewards == pytest.approx([4.9, -2.0, -5.0, -13.0])
    assert table["scores"] == [49, -20, -50, -130]
    assert table["round"] == 1


def test_bonus_call() -> None:
    """A3.23, A3.30, bonus_call=8, bonus_call=None: eight or more made is a flat 13, overtricks nothing."""
    assert all_to_spades([8, 2, 9, 7], bonus_call=8).gained == [130, -20, -90, -70]
    assert all_to_spades([7, 2, 9, 7], bonus_call=8).gained == [76, -20, -90, -70]
    assert all_to_spades([8, 2, 9, 7], bonus_call=None).gained == [85, -20, -90, -70]


def test_partnerships() -> None:
    """A3.28, partnerships=True, partnerships=False: seats 0 and 2 against 1 and 3, or everybody alone.

    Calls, tricks and overtricks of partners are summed."""
    table = all_to_spades([4, 2, 5, 3], partnerships=True)
    assert table.gained == [94, -50, 94, -50]
    assert all_to_spades([4, 2, 5, 3], partnerships=False).gained == [49, -20, -50, -30]
    assert all_to_spades([7, 2, 7, 3], partnerships=True).gained == [-140, -50, -140, -50]


@pytest.mark.parametrize(
    ("options", "rewards"),
    [
        ({"reward": "score"}, [4.9, -2.0, -5.0, -13.0]),
        ({"reward": "margin"}, [4.9 + 20 / 3, -2 + 13.1 / 3, -5 + 10.1 / 3, -13 + 2.1 / 3]),
        ({"reward": "win"}, [0, 0, 0, 0]),
        ({"reward": "win", "rounds": 1}, [0.75, -0.25, -0.25, -0.25]),
        ({"reward": "margin", "partnerships": True}, [24.4, -24.4, 24.4, -24.4]),
        ({"reward": "score", "partnerships": True}, [9.4, -15.0, 9.4, -15.0]),
        ({"reward": "win", "partnerships": True, "rounds": 1}, [0.25, -0.25, 0.25, -0.25]),
    ],
)
def test_rewards(options: dict[str, Any], rewards: list[float]) -> None:
    """Rewards by margin, score or win: reward="score", reward="margin", reward="win"; with partners the margin is
    against the other team, and the win is by team."""
    table = all_to_spades([4, 2, 5, 13], **options)
    assert table.rewards == pytest.approx(rewards, abs=1e-5)


def test_end_of_the_game() -> None:
    """A3.5, A3.24, A3.25, rounds=5: the highest total wins, negative totals are allowed; the last snapshot stays."""
    table = all_to_spades([4, 2, 5, 13], round_=4, scores=[10, 300, -100, -400], rounds=5)
    assert table["finished"]
    assert table["scores"] == [59, 280, -150, -530]
    assert [scoring.place(table.state, table.record[0], seat) for seat in range(4)] == [2, 1, 3, 4]
    assert table["phase"] == "over"
    assert table.turn == -1
    assert len(table["played"]) == 13


@pytest.mark.parametrize("rounds", [1, 5, 7, 9])
def test_any_number_of_rounds(rounds: int) -> None:
    """A3.25, A3.27, rounds=1, rounds=7, rounds=9."""
    table = Table({"dealer": 2}, rounds=rounds, tie="shared", seed=4)
    dealers = []
    for _ in range(rounds):
        dealers.append(table["dealer"])
        table.do(*["bid 2"] * 4)
        table.play_out()
    assert table["finished"]
    assert dealers == [(2 + i) % 4 for i in range(rounds)]


def test_shared_wins() -> None:
    """A3.26, tie="shared", ties share the win: with k winners each has a share of 1/k."""
    scores = [51, 120, 120, 0]
    table = all_to_spades([4, 2, 2, 3], round_=4, scores=scores, tie="shared", reward="win")
    assert table["scores"] == [100, 100, 100, -30]
    assert table["finished"]
    assert table.rewards == pytest.approx([1 / 3 - 1 / 4] * 3 + [-1 / 4])
    assert [scoring.place(table.state, table.record[0], seat) for seat in range(4)] == [1, 1, 1, 4]


def tie_break(scores: list[int], calls: list[int], **options: Any) -> Table:
    """The last round, after which there is a tie, and the first moves of the extra round."""
    table = all_to_spades(calls, round_=4, scores=scores, tie="extra_round", **options)
    assert not table["finished"]
    assert (table["round"], table["dealer"]) == (5, 0)
    return table


def test_extra_round_among_the_tied() -> None:
    """A3.26, tie="extra_round": the tied seats alone are dealt 13 cards each from the full deck and play 13 tricks."""
    table = tie_break([51, 120, 120, 0], [4, 2, 2, 3])
    assert [len(hand) for hand in table["hands"]] == [13, 13, 13, 0]
    assert table["bids"] == [None] * 4
    for seat in (1, 2, 0):  # the first tied seat after the dealer calls and leads
        assert table.turn == seat
        table.do("bid 2")
    assert table["leader"] == table.turn == 1
    table.play_out()
    assert table["finished"]
    assert sum(table["tricks"]) == 13
    assert table["tricks"][3] == 0
    assert table["scores"] == [100 + table.gained[0], 100 + table.gained[1], 100 + table.gained[2], -30]
    assert table.rewards == pytest.approx([gained / 10 for gained in table.gained])


def test_the_cards_of_an_extra_round_are_from_the_full_deck() -> None:
    cards = set()
    for seed in range(20):
        table = Table({"round": 5, "scores": [50, 50, 0, 0]}, seed=seed)
        assert [len(hand) for hand in table["hands"]] == [13, 13, 0, 0]
        cards |= set(table["hands"][0] + table["hands"][1])
    assert cards == {card_name(card) for card in range(52)}


def test_the_dealer_may_sit_out() -> None:
    """The deal passes on as always, also to a seat that sits out."""
    table = Table({"round": 5, "scores": [0, 70, 0, 70], "dealer": 0})
    assert table.turn == 1
    assert Table({"round": 5, "scores": [0, 70, 0, 70], "dealer": 1}).turn == 3
    assert Table({"round": 5, "scores": [0, 70, 0, 70], "dealer": 2}).turn == 3


def two_tied(calls: list[int], **options: Any) -> Table:
    """An extra round of seats 1 and 2, in which seat 1 wins all tricks with spades; seat 0 deals."""
    hands = [[], long_suits(0)[0], long_suits(1)[0], []]
    position = {"round": 5, "dealer": 0, "scores": [90, 100, 100, 95], "hands": hands}
    return Table(position, **options).do(*bids(*calls)).play_out()


def test_the_extra_round_alone_decides() -> None:
    """The winner need not lead the scores: points are added, but only that round orders those who were tied."""
    table = two_tied([4, 5])
    assert table["finished"]
    assert table["scores"] == [90, 149, 50, 95]
    places = [scoring.place(table.state, table.record[0], seat) for seat in range(4)]
    assert places == [4, 1, 2, 3]
    both = two_tied([4, 5], must_beat="off")
    assert both["scores"][2] < both["scores"][0]
    again = Table(both.snapshot, must_beat="off")
    assert [scoring.place(again.state, again.record[0], seat) for seat in range(4)] == places


def test_still_equal_is_shared() -> None:
    """Once: still equal after the extra round, the win is shared."""
    hands = [["AS", "KS"], ["2D", "3D"], [], []]
    position = {"round": 1, "dealer": 3, "scores": [50, 50, 0, 0], "hands": hands, "bids": [5, 5, None, None]}
    table = Table(position, rounds=1, spade_lead="free", reward="win").do("AS", "2D", "KS", "3D")
    assert table["finished"]
    assert table.gained == [-50, -50, 0, 0]
    assert table.rewards == pytest.approx([0.25, 0.25, -0.25, -0.25])
    assert [scoring.place(table.state, table.record[0], seat) for seat in range(4)] == [1, 1, 3, 3]


def test_rewards_of_an_extra_round() -> None:
    """The margin counts the playing seats alone; its points are rewarded; those who sit out get nothing."""
    assert two_tied([4, 5], reward="margin").rewards == pytest.approx([0, 9.9, -9.9, 0], abs=1e-5)
    assert two_tied([4, 5], reward="score").rewards == pytest.approx([0, 4.9, -5.0, 0])
    assert two_tied([4, 5], reward="win").rewards == pytest.approx([-0.25, 0.75, -0.25, -0.25])


def test_partners_are_no_tie() -> None:
    """Partners have the same score and share their place; teams that tie play an extra round of four."""
    table = all_to_spades([4, 2, 5, 3], partnerships=True, rounds=1)
    assert table["finished"]
    assert [scoring.place(table.state, table.record[0], seat) for seat in range(4)] == [1, 3, 1, 3]
    scores = [0, 144, 0, 144]
    table = all_to_spades([4, 2, 5, 3], partnerships=True, round_=4, scores=scores)
    assert not table["finished"]
    assert (table["round"], table["scores"]) == (5, [94] * 4)
    assert [len(hand) for hand in table["hands"]] == [13] * 4
    table.do(*["bid 2"] * 4).play_out()
    assert table["finished"]
    places = [scoring.place(table.state, table.record[0], seat) for seat in range(4)]
    assert places[0] == places[2]
    assert places[1] == places[3]


def test_statistics() -> None:
    """Points are in points; made and missed give the rate of made calls, overtricks their mean."""
    assert scoring.STATISTICS == ("points", "made", "missed", "call", "tricks", "overtricks")
    table = Table({"dealer": 3, "hands": long_suits(0, 1, 2, 3)}, rounds=1, tie="shared")
    table.do(*bids(4, 2, 5, 13)).play_out()
    out = np.zeros(6, np.float32)
    found = []
    for seat in range(4):
        scoring.statistics(table.state, table.record[0], seat, out)
        found.append(out.tolist())
    assert found[0] == pytest.approx([4.9, 1, 0, 4, 13, 9])
    assert found[3] == pytest.approx([-13, 0, 1, 13, 0, 0])
    sits = two_tied([4, 5])
    scoring.statistics(sits.state, sits.record[0], 0, out)
    assert out.tolist() == [0] * 6
    assert GAME.points == 10
