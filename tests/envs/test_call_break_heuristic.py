"""The rule-based player of Call Break: skills on hand-set positions, legal everywhere, and blind to what is hidden."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from call_break_table import CARDS, Table, bids, game_options, mask
from hypothesis import given, settings
from hypothesis import strategies as st

from envs import loops
from envs.call_break import GAME, engine
from envs.call_break.heuristic_calls import NUM_COUNTS, count_hand
from envs.call_break.heuristic_hand import cannot_beat, none_of
from envs.call_break.players import RULE_PLAYERS
from envs.sampling import new_plan
from envs.vector import VectorEnv

PLAN = new_plan()
PLAYER = 1 + RULE_PLAYERS.index("heuristic")


def choice(table: Table) -> str:
    """What it does in a position, by a redacted record."""
    scratch = np.zeros(1, GAME.state)
    return GAME.action_name(int(loops.player_action(table.state, table.record[0], PLAYER, scratch)))


def call_of(cards: str, before: tuple[int, ...] = (), **options: Any) -> int:
    hands = [cards.split() if seat == len(before) else None for seat in range(4)]
    return int(choice(Table({"dealer": 3, "hands": hands}, **options).do(*bids(*before))).split()[1])


def card_of(hands: list[str], plays: str = "", calls: tuple[int, ...] = (2, 2, 2, 2), **options: Any) -> str:
    """Card after some plays in a later trick; the others' tricks so far are all seat 3's."""
    tricks = options.pop("tricks", [0, 0, 0, 5])
    position = {"hands": [hand.split() for hand in hands], "bids": list(calls), "tricks": tricks, "leader": 3}
    lead = options.pop("leader", 3)
    position["leader"] = lead
    return choice(Table(position, **options).do(*plays.split()))


def test_calls_of_clear_hands() -> None:
    """Honours, long trumps and short suits are worth tricks; a weak hand calls the least."""
    assert call_of("2S 3D 4D 5D 6D 7C 8C 9C 2C 3H 4H 5H 6H") == 2
    assert call_of("2S 3D 4D 5D 6D 7C 8C 9C 2C 3H 4H 5H 6H", min_call=0) <= 1
    assert call_of("AS KS QS JS 2D 3D 4D 5C 6C 7C 8H 9H 2H") in (3, 4)
    assert call_of("AS KS QS JS TS 9S AD KD AC KC AH KH 2H") >= 9
    assert call_of("AS KS QS JS TS 9S AD KD AC KC AH KH 2H", max_call=6) == 6
    assert call_of("AD KD AC KC AH KH 2S 3D 4C 5H 6H 7C 8D", trump="none") >= 4


def test_it_is_careful() -> None:
    """A missed call costs all of it, a trick too few called a tenth: it calls less than it expects."""
    rules = GAME.make_rules().record()
    states, scratch = np.zeros(400, GAME.state), np.zeros(1, GAME.state)
    loops.start_games(states, rules, 1)
    calls = [int(loops.player_action(state, rules[0], PLAYER, scratch)) - engine.BID_ACTION for state in states]
    assert 2.3 < np.mean(calls) < 3.0


def test_bonus_calls_tempt() -> None:
    """bonus_call=8: thirteen points for eight tricks are worth a risk that eight are not."""
    hand = "AS KS QS JS TS 9S AD KD AC 3C 4C 2H 3H"
    assert call_of(hand) < 8
    assert call_of(hand, bonus_call=8) == 8


def test_what_is_counted() -> None:
    out = np.zeros(NUM_COUNTS)
    count_hand(mask("AS KS 2S AD KD 2D KC 2C KH 3S 4S 5S QD"), 0, out)
    assert out[:8].tolist() == [1, 1, 1, 0, 0, 0, 6, 3]
    assert out[10:15].tolist() == [1, 1, 1, 1, 1]
    assert out[16] == 4  # four trumps to ruff with behind a single card


@pytest.mark.parametrize(
    ("hand", "plays", "card"),
    [
        ("9D KD 3C", "TD 2D 3D", "KD"),
        ("JD KD 3C", "TD 2D 3D", "JD"),  # as cheaply as it can
        ("2S 9S 3C", "TD 2D 3D", "2S"),  # with the smallest trump
        ("2S 9S 3C", "TD 2D 5S", "9S"),  # or one that is high enough
        ("2C KH QH", "AD 2D 3D", "2C"),  # it cannot win: the card that is worth least
    ],
)
def test_last_to_play(hand: str, plays: str, card: str) -> None:
    lead, second, third = plays.split()
    hands = [hand, f"{lead} 4C 5C", f"{second} 6C 7C", f"{third} 8C 9C"]
    assert card_of(hands, plays, leader=1, tricks=[0, 5, 0, 0]) == card


def test_cashes_plain_honours() -> None:
    """It plays out an ace before it is ruffed, and keeps trumps for later."""
    others = ["3D 4D 5D 9C", "6D 7D 8D TC", "9D TD JD JC"]
    for hand, card in (("AD 4C 5H 6H", "AD"), ("AD 3S 5H 6H", "AD"), ("AC KC 5H 2S", "AC")):
        found = card_of([hand, *others], leader=0, tricks=[5, 0, 0, 0], calls=(8, 2, 2, 2))
        assert found == card or (card == "AC" and found == "KC")


def test_partners_do_not_fight() -> None:
    """partnerships=True: the partner's ace needs no trump of higher worth than a free discard would be."""
    hands = ["2H 3H 9S", "5D 6D 7D", "AD 2D 3D", "8D 9D TD"]
    options = {"partnerships": True, "undertrump": "free", "must_beat": "off", "trump": "none"}
    assert card_of(hands, "AD 8D", leader=2, tricks=[0, 0, 5, 0], **options) in ("2H", "3H")


def test_chances() -> None:
    """Exact where a hand is drawn from a pool: void, higher, and ruffing chances."""
    assert none_of(10, 0, 3) == 1.0
    assert none_of(10, 2, 3) == pytest.approx(7 / 10 * 6 / 9)
    assert none_of(3, 2, 2) == 0.0
    # One card out of KD, 2D, 2S, 2C: it beats the jack of diamonds with the king or with the spade.
    pool = mask("KD 2D 2S 2C")
    jack = CARDS.index("JD")
    assert cannot_beat(pool, 4, 1, jack, 1, 0) == pytest.approx(2 / 4)
    assert cannot_beat(pool, 4, 1, jack, 1, 4) == pytest.approx(3 / 4)
    # A trump of its own is beaten by a higher one alone, of a hand that is void.
    assert cannot_beat(mask("KS 2D 2S 2C"), 4, 1, CARDS.index("3S"), 1, 0) == pytest.approx(3 / 4)


def test_votes() -> None:
    """misdeal="vote": it claims a poor misdeal, keeps a strong one, and agrees where its own hand is poor."""
    poor = [card for card in CARDS if card[1] in "DC" and card[0] in "2345678"][:13]
    rich = [card for card in CARDS if card[1] == "S"]
    table = Table({"dealer": 3, "hands": [poor, None, None, None]}, misdeal="vote")
    assert choice(table) == "claim"
    strong = ["AS", "KS", "QS", "JS", "TS", "9S", "AH", "KH", "QH", "AC", "2H", "3H", "4H"]
    table = Table({"dealer": 3, "hands": [poor, strong, None, None]}, misdeal="vote").do("claim")
    assert choice(table) == "refuse"
    assert choice(Table({"dealer": 3, "hands": [rich, None, None, None]}, misdeal="vote")) == "pass"
    weak = ["2S", *[card for card in CARDS if card[1] in "HC" and card[0] in "2345679" and card not in poor]][:13]
    weak += [card for card in CARDS if card[1] == "H" and card not in weak][: 13 - len(weak)]
    table = Table({"dealer": 3, "hands": [poor, weak, None, None]}, misdeal="vote").do("claim")
    assert choice(table) == "agree"


def test_names_its_long_suit_trump() -> None:
    """trump="first_lead": the leader makes its long suit trump."""
    hand = "AH KH QH JH TH 9H 2D 3D 4C 5C 6S 7S 8S"
    table = Table({"dealer": 3, "hands": [hand.split(), None, None, None]}, trump="first_lead")
    assert choice(table) in bids(4, 5, 6)
    assert choice(table.do(*bids(5, 2, 2, 2)))[1] == "H"


def action(states: np.ndarray, record: np.ndarray) -> int:
    return int(loops.player_action(states[0], record[0], PLAYER, np.zeros(1, GAME.state)))


@given(game_options(), st.integers(0, 10**6), st.integers(0, 250))
@settings(max_examples=100)
def test_legal_and_blind_to_hidden_cards(options: dict[str, Any], seed: int, moves: int) -> None:
    """Under every variant its action is legal, and the same in all states that its seat cannot tell apart."""
    rules = GAME.make_rules(**options)
    states, record = np.zeros(1, GAME.state), rules.record()
    loops.start_games(states, record, seed)
    loops.random_moves(states, record, moves, seed)
    chosen = action(states, record)
    assert loops.is_legal(states[0], record[0], chosen)
    drawn = np.zeros(4, GAME.state)
    assert loops.sample_deals(states, record, int(states[0]["turn"]), seed, PLAN, drawn)
    for i in range(4):
        assert action(drawn[i : i + 1], record) == chosen


@given(game_options(), st.integers(0, 10**6))
def test_whole_games(options: dict[str, Any], seed: int) -> None:
    """Four of them finish a game under every variant."""
    players = np.full((1, 4), PLAYER, np.int8)
    env = VectorEnv("call_break", 1, seed, players=players, restart=False, observation=False, **options)
    assert env.reset().game_over[0] or int(env.get_state()["finished"][0]) == 1


def seats(code: int) -> np.ndarray:
    players = np.full((800, 4), code, np.int8)
    players[np.arange(800), np.arange(800) % 4] = PLAYER
    return players


def scores(code: int, **options: Any) -> np.ndarray:
    """Final scores of two hundred duplicate deals, four games each, it in one seat of each."""
    rules = GAME.make_rules(**options).record()
    states = np.zeros(800, GAME.state)
    env = VectorEnv("call_break", 800, players=seats(code), restart=False, observation=False, **options)
    for i in range(800):
        states[i]["seed"] = i // 4
        engine.new_game(states[i], rules[0], -1)
    env.set_state(states)
    return env.get_state()["scores"][:, :4]


@pytest.mark.parametrize(("opponent", "least"), [("counting", 0.45), ("random", 0.95)])
def test_beats_the_others(opponent: str, least: float) -> None:
    """Two hundred duplicate deals, below what it reaches (see the page)."""
    found = scores(0 if opponent == "random" else 1)
    top = found == found.max(axis=1, keepdims=True)
    shares = top / top.sum(axis=1, keepdims=True)
    assert shares[np.arange(800), np.arange(800) % 4].mean() > least


def test_among_its_like() -> None:
    """At least 1.9 points a round against copies of itself."""
    assert scores(PLAYER, tie="shared").mean() / 50 > 1.9


@pytest.mark.parametrize(
    "options",
    [
        {"preset": "pagat"},
        {"preset": "app"},
        {"trump": "first_lead"},
        {"trump": "none"},
        {"partnerships": True},
        {"misdeal": "vote"},
        {"bonus_call": 8},
    ],
)
def test_better_than_counting_under_other_rules(options: dict[str, Any]) -> None:
    options = options | {"rounds": 3, "tie": "shared"}
    found = scores(1, **options).astype(float)
    own = found[np.arange(800), np.arange(800) % 4].mean()
    assert own > found.mean()
