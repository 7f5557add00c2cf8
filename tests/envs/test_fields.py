"""Snapshots: keys, values and plain JSON types; codecs in both directions and their errors."""

from __future__ import annotations

import dataclasses
import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playing import play_until, positions

from envs import kachuful_v0
from envs.cards import FULL_PACK, cards_of, names_of
from envs.fields import Cards, Choice, Flag, Integer, ListOf, Maybe, PerSeat, Seat, SeatBits, Tuple
from envs.trick_positions import CARD

CARDS = Cards(CARD)

KEYS = [
    "game", "rules", "round", "dealer", "phase", "turn", "scores", "hands", "finished", "hand_size",
    "trump", "turned", "bids", "tricks", "trick", "leader", "played", "blind", "looked", "revoked",
]  # fmt: skip


def plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(type(key) is str and plain(item) for key, item in value.items())
    return all(map(plain, value)) if type(value) is list else type(value) in (int, str, bool, type(None))


def test_keys_and_types() -> None:
    env = kachuful_v0.raw_env(max_hand=4, trump="turn_up", blind="optional")
    env.reset(seed=3)
    for _ in positions(env, Random(1)):
        snapshot = env.snapshot()
        assert list(snapshot) == KEYS
        assert plain(snapshot)
        assert json.loads(json.dumps(snapshot)) == snapshot
        assert snapshot["rules"] == dataclasses.asdict(env.rules)
        assert all(len(snapshot[key]) == 4 for key in ("scores", "hands", "bids", "tricks", "blind", "looked"))


def test_values_through_a_round() -> None:
    env = kachuful_v0.raw_env(max_hand=2)
    env.reset(seed=3, options={"dealer": 2})
    first = env.snapshot()
    assert first["round"] == 0
    assert first["phase"] == "bid"
    assert first["turn"] == first["leader"] == 3
    assert first["trump"] == "S"
    assert first["hand_size"] == 2
    assert first["turned"] is None
    assert first["bids"] == [None] * 4
    for bid in (1, 0, 2, 0):
        env.step(env.action_id(f"bid {bid}"))
    assert env.snapshot()["bids"] == [0, 2, 0, 1]
    assert env.snapshot()["phase"] == "play"
    play_until(env, Random(1), lambda snapshot: len(snapshot["trick"]) == 2)
    middle = env.snapshot()
    assert [seat for seat, _ in middle["trick"]] == [3, 0]
    assert middle["played"] == []
    play_until(env, Random(1), lambda snapshot: len(snapshot["played"]) == 1)
    after = env.snapshot()
    assert after["trick"] == []
    assert after["played"][0][:2] == middle["trick"]
    assert after["tricks"][after["leader"]] == 1
    assert after["turn"] == after["leader"]
    play_until(env, Random(1), lambda snapshot: snapshot["round"] == 1)
    second = env.snapshot()
    assert second["dealer"] == 3
    assert second["trump"] == "D"
    assert second["played"] == []
    assert second["scores"] == [
        10 + bid if bid == won else 0 for bid, won in zip([0, 2, 0, 1], _won(after, env.history), strict=True)
    ]


def _won(after: dict[str, Any], history: list[tuple[int, str]]) -> list[int]:
    """Tricks of the round: the first as counted, the second to whom the last card of history's eight went by rank."""
    last = history[8:12]
    led = last[0][1][1]
    trump = [(seat, card) for seat, card in last if card[1] == "S"]
    best = max(trump or [(s, c) for s, c in last if c[1] == led], key=lambda move: "23456789TJQKA".index(move[1][0]))
    return [won + (seat == best[0]) for seat, won in enumerate(after["tricks"])]


def test_the_end_keeps_the_last_round() -> None:
    env = kachuful_v0.raw_env(max_hand=2)
    env.reset(seed=3)
    play_until(env, Random(1), lambda snapshot: snapshot["finished"])
    end = env.snapshot()
    assert end["phase"] == "over"
    assert end["turn"] is None
    assert end["round"] == 2
    assert end["hands"] == [[]] * 4
    assert end["trick"] == []
    assert len(end["played"]) == sum(end["tricks"]) == end["hand_size"] == 2
    assert None not in end["bids"]


def test_snapshots_are_copies() -> None:
    env = kachuful_v0.raw_env()
    env.reset(seed=3)
    before = env.snapshot()
    changed = env.snapshot()
    changed["hands"][0].clear()
    changed["rules"]["hook"] = False
    assert env.snapshot() == before
    assert env.rules.hook is True


CODECS: list[tuple[Any, Any, Any]] = [
    (Integer(-3, 5), -3, -3),
    (Seat(), 3, 3),
    (Flag(), True, True),
    (Choice("SDCHN"), 4, "N"),
    (Maybe(Seat()), -1, None),
    (Maybe(Seat()), 2, 2),
    (CARD, 51, "AH"),
    (CARDS, 0b11, ["2S", "3S"]),
    (SeatBits(), 0b0101, [True, False, True, False]),
    (PerSeat(Maybe(Integer(0, 9))), [1, -1, 0, 9], [1, None, 0, 9]),
    (ListOf(Tuple((Seat(), CARD), "[seat, card]"), "pairs"), [(1, 12)], [[1, "AS"]]),
]


@pytest.mark.parametrize(("codec", "value", "shown"), CODECS)
def test_codecs(codec: Any, value: Any, shown: Any) -> None:
    assert codec.encode(value, 4) == shown
    assert codec.decode(shown, 4, "x") == value


@given(st.integers(0, FULL_PACK))
def test_hands_in_any_order(mask: int) -> None:
    names = names_of(mask)
    assert CARDS.encode(mask, 4) == names
    assert CARDS.decode(names[::-1], 4, "x") == mask
    assert len(names) == len(cards_of(mask))


@pytest.mark.parametrize(
    ("codec", "value", "message"),
    [
        (Integer(0, 5), 6, "position x=6 is not possible: x must be an integer from 0 to 5"),
        (Integer(0, 5), True, "x=True"),
        (Integer(0, 5), "1", "x='1'"),
        (Seat(), 4, "integer from 0 to 3"),
        (Flag(), 1, "True or False"),
        (Choice("SDCHN"), "SD", "'S', 'D', 'C', 'H' or 'N'"),
        (Choice("SDCHN"), None, "x=None"),
        (CARD, "10H", "no card '10H'; cards are rank"),
        (CARD, 12, "no card 12"),
        (CARDS, "AS", "list of cards"),
        (CARDS, ["AS", "AS"], r"x\[1\]: AS is there twice"),
        (CARDS, ["AS", "as"], r"x\[1\]='as'"),
        (PerSeat(Flag()), [True], "list of 4 values"),
        (SeatBits(), [1, 0, 0, 0], r"x\[0\]=1"),
        (ListOf(Tuple((Seat(), CARD), "[seat, card]"), "pairs"), [[1]], r"x\[0\]=\[1\] .*\[seat, card\]"),
        (ListOf(Tuple((Seat(), CARD), "[seat, card]"), "pairs"), [["AS", 1]], r"x\[0\]\[0\]='AS'"),
    ],
)
def test_codec_errors(codec: Any, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        codec.decode(value, 4, "x")
