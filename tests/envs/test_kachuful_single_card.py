"""Kachuful: rounds of one card, seen by all but its holder or by nobody."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from kachuful_table import Table, bids, cases

from envs import kachuful_v0
from envs.kachuful import GAME, engine

CARDS = ["KH", "2S", "AH", "5D"]
HIDDEN = ["forehead", "face_down"]


@cases("forehead_view")
def test_forehead_view(vector: dict[str, Any]) -> None:
    """A1.43: single_card="forehead": each seat sees every card but its own."""
    case, expect = vector["input"], vector["expect"]
    table = Table(case["cards"], single_card="forehead")
    seat, n = case["observer"], len(case["cards"])
    visible = {str(other): cards[0] for other, cards in enumerate(table.knows(seat)) if cards}
    assert {"hidden": [other for other in range(n) if str(other) not in visible], "visible": visible} == expect
    seen = table.sees(seat)
    assert seen["hand"] == []
    shown = {str((seat + i) % n): seen[f"seen+{i}"][0] for i in range(n) if seen[f"seen+{i}"]}
    assert shown == expect["visible"]


@pytest.mark.parametrize("seat", range(4))
def test_normal(seat: int) -> None:
    """A1.43: single_card="normal": each seat sees its own card alone, and plays it itself."""
    table = Table(CARDS)
    assert table.knows(seat) == [[card] if other == seat else [] for other, card in enumerate(CARDS)]
    assert table.sees(seat)["hand"] == [CARDS[seat]]
    table.do(*bids(0, 0, 0, 0))
    assert table.snapshot["phase"] == "play"
    assert table.legal == ["KH"]


@pytest.mark.parametrize("seat", range(4))
def test_forehead(seat: int) -> None:
    """A1.43: single_card="forehead"."""
    table = Table(CARDS, single_card="forehead")
    assert table.knows(seat) == [[] if other == seat else [card] for other, card in enumerate(CARDS)]
    seen = table.sees(seat)
    assert seen["hand"] == seen["seen+0"] == []
    assert [seen[f"seen+{i}"] for i in (1, 2, 3)] == [[CARDS[(seat + i) % 4]] for i in (1, 2, 3)]
    assert seen["phase"] == ["bid", "hidden hand"]


@pytest.mark.parametrize("seat", range(4))
def test_face_down(seat: int) -> None:
    """A1.43: single_card="face_down": nobody sees any card."""
    table = Table(CARDS, single_card="face_down")
    assert table.knows(seat) == [[]] * 4
    seen = table.sees(seat)
    assert seen["hand"] == []
    assert not any(seen[f"seen+{i}"] for i in range(4))


@pytest.mark.parametrize("single_card", HIDDEN)
def test_own_card_changes_nothing(single_card: str) -> None:
    """A1.43: decision: a seat is shown what it may know: with any other own card, the same observations and masks."""
    one, other = Table(CARDS, single_card=single_card), Table(["2C", *CARDS[1:]], single_card=single_card)
    for bid in ["bid 1", "bid 0", "bid 1"]:
        assert one.observations()[0] == other.observations()[0]
        assert (one.observations()[1] == other.observations()[1]) == (single_card == "face_down")
        one.do(bid)
        other.do(bid)
    assert one.observations()[0] == other.observations()[0]
    drawn = {one.env.determinize(0, seed)["hands"][0][0] for seed in range(60)}
    assert len(drawn) > 20
    assert not drawn & (set(CARDS[1:]) if single_card == "forehead" else set())


@pytest.mark.parametrize("single_card", HIDDEN)
def test_played_out_inside_the_last_bid(single_card: str) -> None:
    """A1.43: decision: single cards play themselves inside the last bid; history and scores hold them."""
    table = Table(CARDS, single_card=single_card, trump="D").do(*bids(0, 0, 1))
    assert table.turn == 3
    before = len(table.env.history)
    table.do("bid 1")
    assert table.env.history[before:] == [(3, "bid 1"), (0, "KH"), (1, "2S"), (2, "AH"), (3, "5D")]
    assert table.ended["tricks"] == [0, 0, 0, 1]
    assert table.ended["gained"] == table.ended["rewards"] == [10, 10, 0, 11]
    assert sorted(table.ended["played"]) == sorted(CARDS)
    assert table.snapshot["round"] == 1
    assert table.snapshot["phase"] == "bid"
    assert table.snapshot["dealer"] == 0
    assert table.snapshot["scores"] == [10, 10, 0, 11]


@pytest.mark.parametrize("single_card", HIDDEN)
@pytest.mark.parametrize(
    ("trump", "winner"), [("S", 1), ("D", 3), ("C", 2), ("H", 2), ("N", 2), ("turn_up", 3), ("SDCHN", 1)]
)
def test_trump_as_usual(single_card: str, trump: str, winner: int) -> None:
    """A1.43: decision: trump and hook as usual where single cards are hidden."""
    turned = "9D" if trump == "turn_up" else None
    table = Table(CARDS, single_card=single_card, trump=trump, turned=turned)
    assert table.sees(0)["trump"] == [("D" if trump == "turn_up" else trump)[0]]
    table.do(*bids(0, 0, 0))
    assert table.legal == ["bid 0"]
    table.refuses("bid 1")
    table.do("bid 0")
    assert table.ended["tricks"] == [int(seat == winner) for seat in range(4)]


@pytest.mark.parametrize("single_card", HIDDEN)
@pytest.mark.parametrize(("blind", "doubles"), list(product(["optional", "forced"], ["score", "bonus"])))
def test_plain_bids_in_a_blind_game(single_card: str, blind: str, doubles: str) -> None:
    """A1.41, A1.43: decision: single cards are bid plainly and not doubled, also in a blind game."""
    table = Table(CARDS, single_card=single_card, blind=blind, blind_doubles=doubles, trump="D")
    assert table.legal == bids(0, 1)
    table.refuses("look", "blind 0", "blind 1")
    table.do(*bids(0, 0, 0), "bid 0")
    assert table.ended["gained"] == [10, 10, 10, 0]
    assert table.ended["blind"] == table.ended["looked"] == [False] * 4


@pytest.mark.parametrize("blind", ["optional", "forced"])
def test_blind_single_cards_otherwise(blind: str) -> None:
    """A1.41: single_card="normal" in a blind game: one card is bid blind and doubled like any other hand."""
    table = Table(CARDS, blind=blind, trump="D").do("blind 0", "blind 0", "blind 0", "blind 0", *CARDS)
    assert table.ended["gained"] == [20, 20, 20, 0]
    assert table.ended["blind"] == [True] * 4


@pytest.mark.parametrize("single_card", HIDDEN)
def test_larger_hands_are_as_usual(single_card: str) -> None:
    """A1.43: only rounds of one card are hidden."""
    table = Table(["KH 2C", "2S 3C", "AH 4C", "5D 5C"], single_card=single_card)
    assert table.knows(0) == [["2C", "KH"], [], [], []]
    table.do(*bids(0, 0, 0, 0))
    assert table.legal == ["2C", "KH"]
    # One card left in hand is not a hand of one card.
    table.do("KH", "2S", "AH", "5D")
    assert table.knows(1)[1] == ["3C"]
    assert table.legal == ["3C"]


@pytest.mark.parametrize("single_card", HIDDEN)
@pytest.mark.parametrize("n", [3, 8])
@pytest.mark.parametrize("revoke", ["masked", "penalty"])
def test_no_mask_names_a_hidden_card(single_card: str, n: int, revoke: str) -> None:
    """A1.43: decision: single cards play themselves inside the last bid: several rounds, min_hand=1 and max_hand=1."""
    options: dict[str, Any] = {
        "num_players": n,
        "max_hand": 1,
        "min_hand": 1,
        "cycles": 5,
        "trump": "turn_up",
        "hook": False,
    }
    env = kachuful_v0.raw_env(single_card=single_card, revoke=revoke, **options)
    env.reset(seed=n)
    steps = 0
    while not env.terminations["player_0"]:
        for agent in env.possible_agents:
            mask = env.observe(agent)["action_mask"]
            assert not mask[:52].any()
            assert mask.any() == (agent == env.agent_selection)
        snapshot = env.snapshot()
        assert snapshot["revoked"] == [False] * n
        assert [len(hand) for hand in snapshot["hands"]] == [1] * n
        env.step(env.action_id("bid 0"))
        steps += 1
        assert len(env.history) == steps + n * (steps // n)
        assert any(env.rewards.values()) == (steps % n == 0)
    assert steps == 5 * n
    snapshot = env.snapshot()
    assert snapshot["round"] == 4
    assert len(snapshot["played"]) == 1
    assert snapshot["finished"]


@pytest.mark.parametrize("single_card", HIDDEN)
def test_both_ways_through_the_turning_round(single_card: str) -> None:
    """A1.43: the hidden round in the middle of a game of 2, 1, 2 cards, and at its end."""
    for schedule, sizes in (("down_up", [2, 1, 2]), ("down", [2, 1])):
        record = GAME.make_rules(max_hand=2, single_card=single_card, schedule=schedule).record()
        states = np.zeros(1, GAME.state)
        engine.new_game(states[0], record[0], 0)
        for round_, size in enumerate(sizes):
            assert engine.hand_size(record[0], round_) == size
            flags = 0
            while not flags:
                assert bool(engine.is_hidden_round(states[0], record[0])) == (size == 1)
                assert (int(engine.automatic(states[0], record[0])) >= 0) == (
                    size == 1 and int(states[0]["phase"]) == engine.PLAY
                )
                low, high = engine.legal(states[0], record[0])
                action = (low & -low).bit_length() - 1 if low else 52 + (high & -high).bit_length() - 1
                flags = engine.step(states[0], record[0], action)
            assert int(engine.automatic(states[0], record[0])) == -1
            if round_ + 1 < len(sizes):
                engine.next_round(states[0], record[0])
        assert int(states[0]["finished"]) == 1
