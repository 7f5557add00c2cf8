"""The rules of Kachuful: options, the worked positions, and the statements of the sources (A1.n, A2.n)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.cards import TRUMPS, card_number, mask_of, names_of
from envs.kachuful import GAME, engine
from envs.kachuful.rules import PRESETS, KachufulRules
from envs.tricks import winner_of

VECTORS = [
    vector
    for vector in json.loads((Path(__file__).parents[1] / "data" / "vectors.json").read_text())
    if vector["game"] == "kachuful"
]


def cases(kind: str) -> Any:
    found = [vector for vector in VECTORS if vector["kind"] == kind]
    assert found, kind
    return pytest.mark.parametrize("vector", found, ids=[vector["id"] for vector in found])


def start(seed: int = 0, dealer: int = -1, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """One new game: arrays of one state record and one options record."""
    options_record = GAME.make_rules(**options).record()
    states = np.zeros(1, GAME.state)
    states["seed"] = seed
    engine.new_game(states[0], options_record[0], dealer)
    return states, options_record


def set_hands(states: np.ndarray, hands: list[list[str]], trump: str, dealer: int) -> None:
    """Give a freshly dealt round other cards, trump and dealer."""
    state = states[0]
    for seat, hand in enumerate(hands):
        state["hands"][seat] = mask_of(map(card_number, hand))
    state["hand_size"] = len(hands[0])
    state["trump"] = TRUMPS.index(trump)
    state["dealer"] = dealer
    state["turn"] = state["leader"] = (dealer + 1) % len(hands)


def bid_all(states: np.ndarray, rules: np.ndarray, bids: list[int]) -> None:
    """Let the seats bid in turn (`bids` by seat)."""
    for _ in bids:
        seat = int(states[0]["turn"])
        assert engine.step(states[0], rules[0], engine.BID_ACTION + bids[seat]) == 0


def legal_bids_after(previous: list[int], n: int, hand_size: int, hook: bool) -> list[int]:
    states, rules = start(num_players=n, hook=hook)
    states[0]["hand_size"] = hand_size
    for bid in previous:
        engine.step(states[0], rules[0], engine.BID_ACTION + bid)
    low, high = engine.legal(states[0], rules[0])
    assert low == 0
    return [bid for bid in range(18) if high >> bid & 1]


@cases("legal_bids")
def test_legal_bids(vector: dict[str, Any]) -> None:
    """A1.20, A1.21, A1.39, A2.10, A2.16, A2.21, hook."""
    given_ = vector["input"]
    assert legal_bids_after(given_["prev"], given_["n"], given_["hand_size"], given_["hook"]) == vector["expect"]


@cases("score")
def test_score(vector: dict[str, Any]) -> None:
    """A1.2, A1.29-A1.32, A1.37, A1.38, A1.44, A1.46, A2.13, scoring."""
    case = vector["input"]
    rules = GAME.make_rules(scoring=case["scoring"], blind_doubles=case.get("blind_doubles", "score")).record()
    assert engine.score(rules[0], case["bid"], case["won"], case.get("blind", False)) == vector["expect"]


@cases("num_rounds")
def test_num_rounds(vector: dict[str, Any]) -> None:
    """A1.9, A1.16, A1.34, schedule, cycles, max_hand, min_hand."""
    case = dict(vector["input"])
    rules = GAME.make_rules(num_players=case.pop("n"), **case)
    assert int(rules.record()["rounds"][0]) == vector["expect"]


@cases("schedule")
def test_schedule(vector: dict[str, Any]) -> None:
    """A1.3, A1.17, A2.3, A2.4, A2.19, schedule."""
    case = dict(vector["input"])
    record = GAME.make_rules(num_players=case.pop("n"), **case).record()[0]
    assert [engine.hand_size(record, r) for r in range(int(record["rounds"]))] == vector["expect"]


@cases("trumps")
def test_trumps(vector: dict[str, Any]) -> None:
    """A1.4, A1.11, A1.12, A1.36, A1.42, A2.5, trump, no_trump_every."""
    case = vector["input"]
    record = GAME.make_rules(trump=case["cycle"], no_trump_every=case["every"]).record()[0]
    assert [TRUMPS[engine.cycle_trump(record, r)] for r in range(case["rounds"])] == vector["expect"]


@cases("legal_plays")
def test_legal_plays(vector: dict[str, Any]) -> None:
    """A1.23, A1.24, A2.11, A2.21."""
    case = vector["input"]
    states, rules = start(dealer=3)
    lead = len(case["trick"])
    others = [["2S", "2D", "2C"]] * 4
    hands = [others[0]] * 4
    set_hands(states, hands, "S", 3)
    bid_all(states, rules, [0, 0, 0, 0])
    for name in case["trick"]:
        engine.step(states[0], rules[0], card_number(name))
    states[0]["hands"][lead] = mask_of(map(card_number, case["hand"]))
    low, high = engine.legal(states[0], rules[0])
    assert high == 0
    assert sorted(names_of(low)) == sorted(vector["expect"])


@cases("trick_winner")
def test_trick_winner(vector: dict[str, Any]) -> None:
    """A1.25, A1.27, A2.2, A2.11."""
    case = vector["input"]
    cards = np.array([card_number(name) for name in case["trick"]])
    assert winner_of(cards, 0, len(cards), TRUMPS.index(case["trump"])) == vector["expect"]


@cases("play_out")
def test_play_out(vector: dict[str, Any]) -> None:
    """A1.22, A1.26, A1.28, A2.7, A2.8, A2.9, A2.12."""
    case, expect = vector["input"], vector["expect"]
    states, rules = start(dealer=case["dealer"])
    set_hands(states, case["hands"], case["trump"], case["dealer"])
    bid_all(states, rules, case["bids"])
    for name in case["plays"]:
        low, _ = engine.legal(states[0], rules[0])
        assert low >> card_number(name) & 1, name
        flags = engine.step(states[0], rules[0], card_number(name))
    assert flags == 1
    assert states[0]["tricks"][:4].tolist() == expect["tricks"]
    assert states[0]["gained"][:4].tolist() == expect["scores"]


@cases("dealers")
def test_dealers(vector: dict[str, Any]) -> None:
    """A1.18, A1.20, A2.6."""
    case, expect = vector["input"], vector["expect"]
    states, rules = start(dealer=case["first"], num_players=case["n"])
    dealers, first = [], []
    for _ in range(case["rounds"]):
        dealers.append(int(states[0]["dealer"]))
        first.append(int(states[0]["turn"]))
        engine.next_round(states[0], rules[0])
    assert {"dealers": dealers, "first_to_bid": first} == expect


@cases("max_hand")
def test_max_hand(vector: dict[str, Any]) -> None:
    """A2.15, A2.21, max_hand="full"."""
    hands = [GAME.make_rules(num_players=n, max_hand="full").max_hand for n in vector["input"]["n"]]
    assert hands == vector["expect"]


def test_default_hands() -> None:
    """A1.16: 10 for 3-5 players, 8 for 6, 7 for 7; max_hand=None."""
    assert [GAME.make_rules(num_players=n).max_hand for n in range(3, 9)] == [10, 10, 10, 8, 7, 6]


def test_first_dealer_is_random_and_can_be_named() -> None:
    """A1.8: cutting for the highest card comes to a uniformly random seat."""
    dealers = [int(start(seed)[0][0]["dealer"]) for seed in range(2000)]
    counts = np.bincount(dealers, minlength=4)
    assert ((counts - 500) ** 2 / 500).sum() < 16.3  # chi-square, 3 degrees of freedom, p = 0.001
    assert int(start(5, dealer=2)[0][0]["dealer"]) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_hand": 14}, "max_hand=14"),
        ({"max_hand": 0}, "max_hand=0"),
        ({"max_hand": "big"}, "max_hand='big'"),
        ({"min_hand": 11}, "min_hand=11"),
        ({"cycles": 0}, "cycles=0"),
        ({"no_trump_every": -1}, "no_trump_every=-1"),
        ({"trump": ""}, "trump=''"),
        ({"trump": "SDX"}, "trump='SDX'"),
        ({"trump": None}, "trump=None"),
        ({"scoring": "bonus"}, "'ten_plus_bid'"),
        ({"hook": 1}, "True or False"),
        ({"num_players": 2}, "from 3 to 8"),
        ({"num_players": True}, "num_players=True"),
        ({"schedule": "sideways"}, "schedule='sideways'"),
        ({"reward": "money"}, "reward='money'"),
        ({"skoring": "judgement"}, "did you mean 'scoring'"),
        ({"preset": "nope"}, "no preset 'nope'"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    """Impossible options name the option, its value and what is allowed."""
    with pytest.raises(ValueError, match=message) as error:
        GAME.make_rules(**options)
    assert "\n" not in str(error.value)


def test_presets() -> None:
    """The named presets; further options override them."""
    assert set(PRESETS) == {"kachuful", "kachufol", "judgement", "blackout", "progressive", "double", "sun"}
    assert GAME.make_rules("kachufol") == KachufulRules(schedule="up_down", max_hand=7)
    assert GAME.make_rules("double", num_players=5).cycles == 2


@pytest.mark.parametrize("n", range(3, 9))
def test_presets_fit_every_table(n: int) -> None:
    for preset in PRESETS:
        rules = GAME.make_rules(preset, num_players=n)
        assert rules.max_hand <= 52 // n


@given(
    n=st.integers(3, 8),
    seed=st.integers(0, 2**63 - 1),
    choices=st.lists(st.integers(0, 10**6), min_size=400, max_size=400),
)
def test_whole_games(n: int, seed: int, choices: list[int]) -> None:
    """Invariants of any play: cards conserved, bids in range, tricks sum up, someone fails under the hook (A1.5)."""
    states, rules = start(seed, num_players=n, max_hand=4)
    state = states[0]
    picks = iter(choices)
    while True:
        size = int(state["hand_size"])
        cards = int(np.bitwise_or.reduce(state["hands"][:n] | state["played"][:n]))
        assert cards.bit_count() == n * size
        low, high = engine.legal(state, rules[0])
        actions = [a for a in range(89) if (low >> a if a < 52 else high >> (a - 52)) & 1]
        assert actions
        before = state.copy()
        flags = engine.step(state, rules[0], actions[next(picks, 0) % len(actions)])
        if not flags:
            assert int(state["moves"]) == int(before["moves"]) + 1
            continue
        assert int(state["tricks"][:n].sum()) == size
        exact = state["bids"][:n] == state["tricks"][:n]
        assert not exact.all()
        assert (state["gained"][:n] == np.where(exact, 10 + state["bids"][:n], 0)).all()
        if flags & 2:
            break
        engine.next_round(state, rules[0])
    assert int(state["round"]) == 6
    assert engine.legal(state, rules[0]) == (0, 0)
