"""Kachuful: what may be played, who wins a trick, who leads the next."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kachuful_reference import PACK, winner
from kachuful_table import Table, bids, cases

from envs.cards import TRUMPS, card_number
from envs.kachuful import GAME, engine
from envs.tricks import beats

FRENCH = ["AS 4H 6C", "2S 3H 2C", "3S KH QC", "2H 3C 5D"]


def trick(cards: list[str], trump: str) -> int:
    """Seat that wins a trick of these cards, seat 0 leading: by engine and environment."""
    table = Table(cards, trump=trump, hook=False).do(*bids(*(0 for _ in cards)), *cards)
    assert sum(table.ended["tricks"]) == 1
    return int(table.ended["tricks"].index(1))


@cases("trick_winner")
def test_trick_winner_at_the_table(vector: dict[str, Any]) -> None:
    """A1.25, A1.27, A2.2, A2.11: the worked tricks."""
    assert trick(vector["input"]["trick"], vector["input"]["trump"]) == vector["expect"]


@pytest.mark.parametrize(
    ("trump", "cards", "seat"),
    [
        ("S", "AH KH 2S 3S", 3),  # the higher of two trumps
        ("S", "2S AH AD AC", 0),  # trump led, nobody follows
        ("S", "2S AH AD 3S", 3),
        ("H", "9C TC AS AD", 1),  # no trump played: the highest of the suit led
        ("N", "2H AS AD AC", 0),
        ("N", "2H AS 3H AC", 2),
        ("D", "TD JD QD KD AD 9D", 4),
        ("C", "5S 6S 2C 7S AS 3C 4S KS", 5),
        ("H", "TS 9S JS", 2),
    ],
)
def test_trick_winners(trump: str, cards: str, seat: int) -> None:
    """A1.25, A1.27, A1.47, A2.11, A2.20: the highest trump, else the highest of the suit led; no trump (Sonne)."""
    assert trick(cards.split(), trump) == seat


def test_every_pair_of_cards() -> None:
    """A1.10, A1.11, A2.2: ace high, two low, suits of equal rank: a later card beats an earlier one as it should."""
    for trump in TRUMPS:
        for first in PACK:
            for second in PACK:
                if first != second:
                    wins = winner([(0, first), (1, second)], trump) == 1
                    assert beats(card_number(second), card_number(first), TRUMPS.index(trump)) == wins


@cases("legal_plays")
def test_legal_plays_at_the_table(vector: dict[str, Any]) -> None:
    """A1.23, A1.24, A2.11: the worked hands."""
    case = vector["input"]
    hand, lead = case["hand"], case["trick"]
    free = [card for card in PACK if card not in [*hand, *lead]]
    size = len(hand)
    hands = [[*lead[i : i + 1], *(free.pop() for _ in range(size - len(lead[i : i + 1])))] for i in range(4)]
    hands[len(lead)] = hand
    table = Table([" ".join(cards) for cards in hands]).do(*bids(0, 0, 0, 0), *lead)
    assert sorted(table.legal) == sorted(vector["expect"])
    table.refuses(*(card for card in hand if card not in vector["expect"]), "bid 0", "look")


def test_leader_plays_anything() -> None:
    """A1.22, A1.23, A2.7, A2.11: left of the dealer leads any card; decision: trump may always be led."""
    for dealer in range(4):
        table = Table(FRENCH, dealer=dealer).do(*bids(0, 0, 0, 0))
        assert table.turn == table.snapshot["leader"] == (dealer + 1) % 4
        assert sorted(table.legal) == sorted(FRENCH[table.turn].split())
    assert Table(FRENCH).do(*bids(0, 0, 0, 0), "AS").snapshot["trick"] == [[0, "AS"]]


def test_play_is_clockwise_and_face_up() -> None:
    """A1.23: every card played is seen by all, in order of seats."""
    table = Table(FRENCH).do(*bids(0, 0, 0, 0))
    for seat, card in enumerate(["4H", "3H", "KH"]):
        assert table.turn == seat
        table.do(card)
        for viewer in range(4):
            assert card in table.sees(viewer)["trick"]
            assert table.sees(viewer)[f"seen+{(seat - viewer) % 4}"] == [card]
    assert table.snapshot["trick"] == [[0, "4H"], [1, "3H"], [2, "KH"]]


def test_follow_suit() -> None:
    """A1.24, A2.11: whoever holds the suit led must play it; revoke="masked"; decision: follow suit if able."""
    table = Table(["5H 6H 7H", "2H AH KS", "KS 2D 3C".replace("KS", "QS"), "4D 5D 6D"], revoke="masked")
    table.do(*bids(0, 0, 0, 0), "5H")
    assert table.legal == ["2H", "AH"]
    table.refuses("KS")
    table.do("2H")
    assert table.legal == ["QS", "2D", "3C"]


def test_void_may_play_anything() -> None:
    """A1.24, A2.11, A2.21: trump or not; decision: no duty to trump."""
    table = Table(["5H 6H", "2S AC", "KH 3D", "2H 3C"], hook=False)
    table.do(*bids(0, 0, 0, 0), "5H")
    assert table.legal == ["2S", "AC"]
    table.do("AC", "KH", "2H")
    assert table.turn == 2


def test_no_duty_to_beat() -> None:
    """A2.11, A2.21: decision: no duty to beat, neither in the suit led nor with a higher trump."""
    table = Table(["5H 6H", "2H AH", "2S AS", "3C 4S"], hook=False).do(*bids(0, 0, 0, 0), "5H")
    assert table.legal == ["2H", "AH"]
    table.do("2H", "2S")
    assert table.legal == ["4S", "3C"]
    table.do("3C")
    assert table.turn == 2


def test_trump_led_must_be_followed() -> None:
    """A1.24: trump is a suit like any other for following."""
    table = Table(["AS 6H", "2S AH", "3S 2H", "3C 4C"], hook=False).do(*bids(0, 0, 0, 0), "AS")
    assert table.legal == ["2S"]


def test_winner_leads_and_all_tricks_are_played() -> None:
    """A1.26, A1.28: the winner leads next, any card; the round ends with its last trick."""
    table = Table(FRENCH).do(*bids(1, 0, 1, 0), "4H", "3H", "KH", "2H")
    assert table.turn == table.snapshot["leader"] == 2
    assert table.snapshot["trick"] == []
    assert table.snapshot["tricks"] == [0, 0, 1, 0]
    assert table.legal == ["3S", "QC"]
    table.do("QC", "3C", "6C", "2C")
    assert table.turn == 2
    assert not table.ended
    table.do("3S", "5D", "AS", "2S")
    assert table.ended["tricks"] == [1, 0, 2, 0]
    assert table.ended["gained"] == [11, 10, 0, 10]


@cases("play_out")
def test_the_french_example(vector: dict[str, Any]) -> None:
    """A2.8, A2.9, A2.12: spades are trump, the holder of AS 4H 6C bids 1 and makes it, seat 2 makes 2 instead of 1."""
    case, expect = vector["input"], vector["expect"]
    table = Table([" ".join(hand) for hand in case["hands"]], dealer=case["dealer"], trump=case["trump"])
    assert sorted(table.sees(0)["hand"]) == ["4H", "6C", "AS"]
    assert table.sees(0)["hand_size"] == ["3"]
    table.do(*bids(*case["bids"][:3])).refuses("bid 1")
    table.do(f"bid {case['bids'][3]}", *case["plays"])
    assert table.ended["tricks"] == expect["tricks"]
    assert table.ended["gained"] == expect["scores"]


@cases("dealers")
def test_dealers_at_the_table(vector: dict[str, Any]) -> None:
    """A1.18, A1.20, A2.6: the deal passes on, left of the dealer acts first."""
    case, expect = vector["input"], vector["expect"]
    cards = ["2S", "3S", "4S", "5S"]
    table = Table(cards, dealer=case["first"], cycles=case["rounds"], single_card="face_down", hook=False)
    dealers, first = [], []
    for _ in range(case["rounds"]):
        dealers.append(table.snapshot["dealer"])
        first.append(table.turn)
        if len(dealers) < case["rounds"]:
            table.do(*bids(0, 0, 0, 0))
    assert {"dealers": dealers, "first_to_bid": first} == expect


def test_hands_are_hidden() -> None:
    """A2.2: decision: a seat is shown what it may know: its own hand; taken tricks lie face down."""
    other = Table(["AS 4H 6C", "7D 8D 9D", "3S KH QC", "2H 3C 5D"])
    table = Table(FRENCH)
    for seat in range(4):
        assert [bool(cards) for cards in table.knows(seat)] == [seat == i for i in range(4)]
    same = [a == b for a, b in zip(table.observations(), other.observations(), strict=True)]
    assert same == [True, False, True, True]
    table.do(*bids(0, 0, 0, 0), "4H", "3H", "KH", "2H")
    assert all(table.sees(seat)["trick"] == [] for seat in range(4))
    assert [table.sees(0)[f"won+{i}"] for i in range(4)] == [[], [], ["1"], []]


def test_discards_prove_voids() -> None:
    """A1.24: where suit must be followed, a discard shows all seats that the suit is out."""
    table = Table(["5H 6H", "2S AC", "KH 3D", "2H 3C"], hook=False).do(*bids(0, 0, 0, 0), "5H", "AC")
    assert [table.sees(seat)[f"void+{(1 - seat) % 4}"] for seat in range(4)] == [["H"]] * 4
    assert [table.sees(0)[f"void+{i}"] for i in (0, 2, 3)] == [[]] * 3


def test_one_legality() -> None:
    """Decision: one legality, never an empty mask: every action, tried at every moment of a round."""
    table = Table(FRENCH, blind="optional", hook=True)
    moves = ["look", "bid 1", "blind 0", "look", "bid 1", "blind 0", "AS", "2S", "3S", "5D", "4H", "3H", "KH", "2H"]
    for move in moves:
        legal = table.legal
        assert legal
        table.refuses(*(name for name in map(GAME.action_name, range(89)) if name not in legal))
        for name in legal:  # accepted by the engine on a copy of the game
            copy = table.states.copy()
            assert engine.step(copy[0], table.rules[0], table.env.action_id(name)) == 0
            assert int(copy[0]["moves"]) == int(table.state["moves"]) + 1
        table.do(move)
    table.do("QC", "3C", "6C", "2C")
    assert table.ended["tricks"] == [1, 0, 2, 0]
    for action in (-1, 89, 10**30, None, "AS", 1.5):
        with pytest.raises(ValueError, match="is illegal; legal: "):
            table.env.step(action)  # type: ignore[arg-type]


def test_an_ended_game_has_no_moves() -> None:
    """A1.26: decision: one legality: nothing is legal after the last trick."""
    table = Table(["AS", "KS", "QS", "JS"], cycles=1).do(*bids(0, 0, 0, 0), "AS", "KS", "QS", "JS")
    assert table.legal == []
    assert table.snapshot["phase"] == "over"
    assert all(not np.any(table.env.observe(agent)["action_mask"]) for agent in table.env.possible_agents)
