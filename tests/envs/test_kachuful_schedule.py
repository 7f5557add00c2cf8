"""Kachuful: hand sizes, cycles, dealers, trumps by the cycle and by the turned card."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import Any

import numpy as np
import pytest
from kachuful_table import Table, bids

from envs import kachuful_v0
from envs.cards import TRUMPS, names_of
from envs.kachuful import GAME, engine


def walk(dealer: int = -1, preset: str | None = None, **options: Any) -> list[dict[str, Any]]:
    """Every round of a game as the engine deals it: size, trump, turned card, dealer, first to act."""
    record = GAME.make_rules(preset, **options).record()
    states = np.zeros(1, GAME.state)
    states["seed"] = 3
    engine.new_game(states[0], record[0], dealer)
    rounds = []
    for round_ in range(int(record["rounds"][0])):
        state = states[0]
        hands = [names_of(cards) for cards in state["hands"]]
        assert int(state["round"]) == round_
        assert {len(hand) for hand in hands[: int(record["num_players"][0])]} == {int(state["hand_size"])}
        rounds.append(
            {key: int(state[key]) for key in ("hand_size", "dealer", "turn", "turned")}
            | {"trump": TRUMPS[state["trump"]], "cards": list(chain(*hands))}
        )
        engine.next_round(state, record[0])
    return rounds


def played(dealer: int = 0, preset: str | None = None, **options: Any) -> list[dict[str, Any]]:
    """The snapshot at the beginning of every round of a game played through the environment."""
    env = kachuful_v0.raw_env(preset, **options)
    env.reset(seed=3, options={"dealer": dealer})
    starts: list[dict[str, Any]] = []
    while not all(env.terminations.values()):
        snapshot = env.snapshot()
        if snapshot["round"] == len(starts):
            starts.append(snapshot)
        env.step(int(np.flatnonzero(env.observe(env.agent_selection)["action_mask"])[0]))
    assert env.snapshot()["round"] == len(starts) - 1
    return starts


def sizes(**options: Any) -> list[int]:
    by_engine = [round_["hand_size"] for round_ in walk(**options)]
    assert [snapshot["hand_size"] for snapshot in played(**options)] == by_engine
    return by_engine


def trumps(**options: Any) -> str:
    by_engine = "".join(round_["trump"] for round_ in walk(**options))
    assert "".join(snapshot["trump"] for snapshot in played(**options)) == by_engine
    return by_engine


DOWN_UP = [*range(10, 0, -1), *range(2, 11)]


def test_a_game_of_four() -> None:
    """A1.3, A1.17, A1.34: from ten cards down to one and up again, 19 rounds; schedule="down_up", min_hand=1."""
    assert sizes() == DOWN_UP
    assert len(DOWN_UP) == 19
    assert sizes(schedule="down_up", min_hand=1) == DOWN_UP


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"schedule": "down_up", "max_hand": 4}, [4, 3, 2, 1, 2, 3, 4]),
        ({"schedule": "up_down", "max_hand": 4}, [1, 2, 3, 4, 3, 2, 1]),
        ({"schedule": "down", "max_hand": 4}, [4, 3, 2, 1]),
        ({"schedule": "up", "max_hand": 4}, [1, 2, 3, 4]),
        ({"schedule": "down_up", "max_hand": 5, "min_hand": 3}, [5, 4, 3, 4, 5]),
        ({"schedule": "up_down", "max_hand": 5, "min_hand": 3}, [3, 4, 5, 4, 3]),
        ({"schedule": "down", "max_hand": 5, "min_hand": 4}, [5, 4]),
        ({"schedule": "up", "max_hand": 5, "min_hand": 4}, [4, 5]),
        ({"max_hand": 3, "min_hand": 3}, [3]),
        ({"max_hand": 1}, [1]),
    ],
)
@pytest.mark.parametrize("cycles", [1, 2, 3])
def test_schedules(options: dict[str, Any], expected: list[int], cycles: int) -> None:
    """A1.17, A2.3, A2.4: schedule="down_up", schedule="up_down", schedule="down", schedule="up", min_hand=3, cycles=1.

    A schedule is played from its beginning in each cycle, and turns once, at min_hand.
    """
    assert sizes(cycles=cycles, **options) == expected * cycles


def test_short_and_long_games() -> None:
    """A1.35, A1.45: only the descending half, ten rounds; a double cycle, 38 rounds with four players; cycles=2."""
    assert sizes(schedule="down") == sizes(preset="progressive") == list(range(10, 0, -1))
    assert sizes(cycles=2) == sizes(preset="double") == DOWN_UP * 2
    assert len(DOWN_UP * 2) == 38


def test_numbers_of_rounds() -> None:
    """A1.9, A1.16: decision: the sizes win over the stated numbers of rounds."""
    stated = {4: 17, 5: 17, 6: 13, 7: 11}
    assert {n: len(sizes(num_players=n)) for n in stated} == {4: 19, 5: 19, 6: 15, 7: 13}
    others = {4: 9, 5: 9, 6: 7, 7: 6}
    assert {n: len(sizes(num_players=n, max_hand=high)) for n, high in others.items()} == stated


@pytest.mark.parametrize(
    ("n", "default", "most"), [(3, 10, 17), (4, 10, 13), (5, 10, 10), (6, 8, 8), (7, 7, 7), (8, 6, 6)]
)
def test_largest_hands(n: int, default: int, most: int) -> None:
    """A1.16, A2.15, A2.21: max_hand=None, max_hand="full", at most 52 // n."""
    assert walk(num_players=n)[0]["hand_size"] == default
    assert walk(num_players=n, max_hand=None)[0]["hand_size"] == default
    assert walk(num_players=n, max_hand="full")[0]["hand_size"] == most
    assert played(num_players=n, max_hand="full", schedule="down", min_hand=most)[0]["hand_size"] == most
    assert walk(num_players=n, max_hand=most)[0]["hand_size"] == most
    with pytest.raises(ValueError, match=f"max_hand={most + 1} .* from 1 to {most} with {n} players"):
        kachuful_v0.env(num_players=n, max_hand=most + 1)


def test_french_games() -> None:
    """A2.19: 1 to 7 and back; against the computer 3..6 at the table, seven cards, five, or as many as possible."""
    assert sizes(preset="kachufol") == [1, 2, 3, 4, 5, 6, 7, 6, 5, 4, 3, 2, 1]
    for n in range(3, 7):
        assert max(sizes(preset="kachufol", num_players=n)) == 7
        assert max(sizes(preset="kachufol", num_players=n, max_hand=5)) == 5
    assert max(sizes(preset="kachufol", num_players=3, max_hand="full", min_hand=16)) == 17
    assert max(sizes(preset="kachufol", num_players=8)) == 6


def test_every_round_has_another_size_and_trump() -> None:
    """A2.1, A2.5: spades first, then diamonds, clubs, hearts, and so on."""
    starts = played(preset="kachufol")
    assert all(a["hand_size"] != b["hand_size"] and a["trump"] != b["trump"] for a, b in pairwise(starts))
    assert "".join(snapshot["trump"] for snapshot in starts) == "SDCHSDCHSDCHS"


def test_the_deal_is_fresh_and_whole() -> None:
    """A1.19, A1.10, A2.2: each seat gets the round's number of cards of a shuffled pack of 52; no card is turned."""
    rounds = walk(num_players=4, max_hand=13, min_hand=12)
    assert len(set(rounds[0]["cards"])) == 52
    assert len(set(rounds[1]["cards"])) == 48
    assert rounds[0]["cards"] != rounds[2]["cards"]
    assert all(round_["turned"] == -1 for round_ in rounds)
    assert all(snapshot["turned"] is None for snapshot in played())


@pytest.mark.parametrize("n", range(3, 9))
def test_the_deal_moves_on(n: int) -> None:
    """A1.8, A1.18, A1.20, A2.6, A2.7: decision: left of the dealer first, the deal moves on, between cycles too.

    Also num_players=3, num_players=4, num_players=5, num_players=6, num_players=7, num_players=8; A1.7, A2.20.
    """
    options: dict[str, Any] = {"num_players": n, "max_hand": 3, "cycles": 3}
    expected = [(2 + round_) % n for round_ in range(15)]
    by_engine = walk(2, **options)
    starts = played(2, **options)
    assert [round_["dealer"] for round_ in by_engine] == [snapshot["dealer"] for snapshot in starts] == expected
    firsts = [(dealer + 1) % n for dealer in expected]
    assert [round_["turn"] for round_ in by_engine] == [snapshot["turn"] for snapshot in starts] == firsts
    assert [snapshot["leader"] for snapshot in starts] == firsts


@pytest.mark.parametrize("n", range(3, 9))
def test_first_dealer(n: int) -> None:
    """A1.8, A1.18: decision: the first dealer is random, or named by reset."""
    env = kachuful_v0.raw_env(num_players=n)
    counts = [0] * n
    for seed in range(200 * n):
        env.reset(seed=seed)
        counts[env.snapshot()["dealer"]] += 1
    assert sum((count - 200) ** 2 / 200 for count in counts) < 24.3  # chi-square, at most 7 degrees, p = 0.001
    for dealer in range(n):
        env.reset(seed=1, options={"dealer": dealer})
        assert env.snapshot()["dealer"] == dealer
        assert env.snapshot()["turn"] == (dealer + 1) % n


def test_four_suits_for_four_players() -> None:
    """A1.36: decision: with four players and four suits a seat always deals the same trump."""
    dealt = {(snapshot["dealer"], snapshot["trump"]) for snapshot in played(0, cycles=2, max_hand=3)}
    assert dealt == {(0, "S"), (1, "D"), (2, "C"), (3, "H")}
    first = set()
    for seed in range(40):
        env = kachuful_v0.raw_env()
        env.reset(seed=seed)
        first.add(env.snapshot()["dealer"])
    assert first == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "SDCHSDCHSDCHSDCHSDC"),
        ({"trump": "SDCHN"}, "SDCHNSDCHNSDCHNSDCH"),
        ({"preset": "sun"}, "SDCHNSDCHNSDCHNSDCH"),
        ({"trump": "N"}, "N" * 19),
        ({"trump": "S"}, "S" * 19),
        ({"trump": "HHNC"}, "HHNCHHNCHHNCHHNCHHN"),
        ({"trump": "SDCHNN"}, "SDCHNNSDCHNNSDCHNNS"),
        ({"trump": "SDCHN" * 12 + "HHHH", "cycles": 4}, ("SDCHN" * 12 + "HHHH" + "SDCHN" * 3)[:76]),
        # Trump runs on where the schedule begins anew.
        ({"max_hand": 3, "cycles": 3}, "SDCHSDCHSDCHSDC"),
        ({"max_hand": 2, "cycles": 3, "trump": "SDCHN"}, "SDCHNSDCH"),
        # A round without trump takes the place of the cycle's own, which counts on.
        ({"no_trump_every": 5, "max_hand": 6}, "SDCHNDCHSNC"),
        ({"no_trump_every": 2, "max_hand": 4}, "SNCNSNC"),
        ({"no_trump_every": 1, "max_hand": 2}, "NNN"),
        ({"no_trump_every": 3, "trump": "SDCHN", "max_hand": 6}, "SDNHNNDCNNS"),
        ({"no_trump_every": 7, "max_hand": 2, "cycles": 3}, "SDCHSDNHS"),
        ({"no_trump_every": 0, "max_hand": 2}, "SDC"),
        ({"no_trump_every": 40}, "SDCHSDCHSDCHSDCHSDC"),
    ],
)
def test_trump_cycles(options: dict[str, Any], expected: str) -> None:
    """A1.4, A1.11, A1.12, A1.13, A1.15, A1.36, A1.42, A2.2, A2.5: the trump of every round.

    trump="SDCH", trump="SDCHN", trump="N", no_trump_every=0, no_trump_every=5;
    decision: the cycle counts on underneath.
    """
    assert trumps(**options) == expected


def test_trump_is_announced() -> None:
    """A1.19: every seat observes the trump of the round before it bids."""
    for trump in "SDCHN":
        table = Table(["2S", "3S", "4S", "5S"], trump=trump)
        assert all(table.sees(seat)["trump"] == [trump] for seat in range(4))


HANDS = ["AS 2D", "KS 3D", "QS 4D", "JS 5D"]


def test_turned_card() -> None:
    """A1.40: trump="turn_up": the next card of the stock fixes the trump; it is public and out of play."""
    table = Table(HANDS, turned="9C", trump="turn_up", cycles=2)
    for seat in range(4):
        assert table.sees(seat)["trump"] == ["C"]
        assert table.sees(seat)["turned"] == ["9"]
    assert table.snapshot["turned"] == "9C"
    table.do(*bids(0, 0, 0, 0), "2D", "3D", "4D", "5D", "JS", "AS", "KS", "QS")
    assert table.ended["tricks"] == [1, 0, 0, 1]
    for seed in range(30):
        env = kachuful_v0.raw_env(trump="turn_up", num_players=3, max_hand="full")
        env.reset(seed=seed)
        snapshot = env.snapshot()
        held = [card for hand in snapshot["hands"] for card in hand]
        assert len(set(held)) == 51
        assert snapshot["turned"] not in held
        assert snapshot["trump"] == snapshot["turned"][1]
        assert all(snapshot["turned"] not in chain(*env.determinize(seat, seed)["hands"]) for seat in range(3))


def test_turned_card_is_the_next_of_the_stock() -> None:
    """A1.40: it lies behind the cards dealt, and every suit is turned in turn."""
    turned = [round_["turned"] for round_ in walk(trump="turn_up", max_hand=5, cycles=5)]
    assert {card // 13 for card in turned} == {0, 1, 2, 3}
    record = GAME.make_rules(trump="turn_up", max_hand=2).record()
    states = np.zeros(1, GAME.state)
    engine.new_game(states[0], record[0], 0)
    engine.deal(states[0], record[0], np.arange(51, -1, -1, dtype=np.int8))
    assert int(states[0]["turned"]) == 51 - 8


def test_no_card_is_left_to_turn() -> None:
    """A1.40: decision: four players with thirteen cards have no trump."""
    options: dict[str, Any] = {"trump": "turn_up", "max_hand": 13, "min_hand": 12, "schedule": "down"}
    starts = played(**options)
    assert starts[0]["trump"] == "N"
    assert starts[0]["turned"] is None
    assert starts[1]["turned"] is not None
    assert starts[1]["trump"] == starts[1]["turned"][1]
    assert [round_["turned"] >= 0 for round_ in walk(**options)] == [False, True]


def test_no_card_is_turned_without_trump() -> None:
    """A1.42: decision: no card is turned in a round of no_trump_every."""
    starts = played(trump="turn_up", no_trump_every=3, max_hand=4)
    assert [snapshot["turned"] is None for snapshot in starts] == [False, False, True, False, False, True, False]
    assert [snapshot["trump"] == "N" for snapshot in starts] == [False, False, True, False, False, True, False]
    assert all(round_["trump"] == "N" and round_["turned"] == -1 for round_ in walk(trump="turn_up", no_trump_every=1))
