"""The rule-based player of Kachuful: skills on hand-set positions, legal everywhere, and blind to what is hidden."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kachuful_variants import game_after, options, rules_of

from envs import loops
from envs.cards import TRUMPS, card_name, card_number, mask_of
from envs.kachuful import GAME, engine
from envs.kachuful.heuristic import forehead_chance, heuristic
from envs.kachuful.players import RULE_PLAYERS
from envs.sampling import new_plan
from envs.vector import VectorEnv

PLAN = new_plan()
PLAYER = 1 + RULE_PLAYERS.index("heuristic")


def hand(names: str) -> int:
    return mask_of(card_number(name) for name in names.split())


def table(trump: str, size: int, dealer: int = 3, **chosen: Any) -> tuple[Any, Any]:
    """A round with no cards in any hand yet."""
    rules = GAME.make_rules(**chosen).record()
    states = np.zeros(1, GAME.state)
    engine.new_game(states[0], rules[0], dealer)
    states[0]["trump"], states[0]["hand_size"] = TRUMPS.index(trump), size
    states[0]["hands"][:] = 0
    return states[0], rules[0]


def bid_of(cards: str, trump: str = "S", before: tuple[int, ...] = (), **chosen: Any) -> int:
    """Bid of the seat that bids after some others."""
    state, rules = table(trump, len(cards.split()), **chosen)
    for bid in before:
        engine.step(state, rules, engine.BID_ACTION + bid)
    state["hands"][len(before)] = hand(cards)
    return int(heuristic(state, rules)) - engine.BID_ACTION


def card_of(cards: str, trick: list[str], bids: list[int], won: list[int], trump: str = "S", **chosen: Any) -> str:
    """Card of the seat that plays after `trick`."""
    mine = len(trick)
    size = len(cards.split())
    state, rules = table(trump, size, **chosen)
    for _ in bids:
        engine.step(state, rules, engine.BID_ACTION)
    for seat, name in enumerate(trick):
        state["hands"][seat] = hand(name)
        engine.step(state, rules, card_number(name))
    state["bids"][:4], state["tricks"][:4] = bids, won
    state["hands"][mine] = hand(cards)
    return card_name(int(heuristic(state, rules)))


def test_bids_of_clear_hands() -> None:
    """Honours and long trumps are worth tricks, low cards are not."""
    assert bid_of("2D 3C 4H") == 0
    assert bid_of("AS KS QS") == 3
    assert bid_of("AS 2D 3C") == 1
    assert bid_of("AS KS QS JS TS 9S 8S 2D 3C 4H") >= 6
    assert bid_of("2D 3D 4D 2C 3C 4C 2H 3H 4H 2S") == 0
    assert bid_of("AD AC AH", trump="N") >= 2


def test_the_hook_is_kept() -> None:
    state, rules = table("S", 3)
    for _ in range(3):
        engine.step(state, rules, engine.BID_ACTION + 1)
    state["hands"][3] = hand("2D 3C 4H")
    assert int(heuristic(state, rules)) == engine.BID_ACTION + 1  # 0 would make three


@pytest.mark.parametrize(
    ("cards", "trick", "bids", "won", "card"),
    [
        (
            "2D KD AD",
            ["5D", "3D", "4D"],
            [1, 0, 0, 1],
            [0, 0, 0, 0],
            "AD",
        ),  # needs one trick: takes it with the card that could win another
        ("2D JD", ["TD", "3D", "4D"], [1, 1, 1, 0], [0, 0, 0, 0], "2D"),  # has enough: ducks
        ("9D JD 2D", ["TD", "3D", "4D"], [1, 1, 1, 0], [0, 0, 0, 0], "9D"),  # dumps the highest loser
        ("AC 2C 3H", ["TD", "3D", "4D"], [1, 1, 1, 0], [0, 0, 0, 0], "AC"),  # sheds an ace off suit
        ("AD 2D", ["TD", "5S", "4D"], [1, 1, 1, 0], [0, 0, 0, 0], "AD"),  # dumps the ace under a trump
        (
            "2S 9S 3C",
            ["TD", "3D", "4D"],
            [1, 0, 0, 1],
            [0, 0, 0, 0],
            "9S",
        ),  # needs one trick: ruffs, and keeps the trump that can lose
    ],
)
def test_last_to_play(cards: str, trick: list[str], bids: list[int], won: list[int], card: str) -> None:
    assert card_of(cards, trick, bids, won) == card


def test_leads() -> None:
    """Cashes the card that cannot be beaten while it needs a trick; leads low once it has enough."""
    assert card_of("AS 2D", [], [1, 1, 0, 0], [0, 0, 0, 0]) == "AS"
    assert card_of("JD 2D", [], [0, 1, 1, 0], [0, 0, 0, 0]) == "2D"


def test_spoils_when_its_own_bid_is_lost() -> None:
    """One over its bid already: it takes the trick that the seat winning so far needs."""
    assert card_of("AD 2D", ["5D", "3D", "KD"], [0, 0, 1, 0], [0, 0, 0, 1]) == "AD"


def test_never_revokes() -> None:
    """revoke="penalty": it follows although it need not."""
    assert card_of("2D AS", ["TD", "3D", "4D"], [0, 0, 0, 1], [0, 0, 0, 0], revoke="penalty") == "2D"


def test_blind_and_hidden_hands() -> None:
    """Optional blind at one card: a doubled 0 outweighs a look; forced: bids blind; face down: expects 1 / n."""
    state, rules = table("S", 1, blind="optional")
    assert int(heuristic(state, rules)) == engine.BLIND_ACTION
    state, rules = table("S", 10, blind="forced")
    assert int(heuristic(state, rules)) in (engine.BLIND_ACTION + 2, engine.BLIND_ACTION + 3)
    state, rules = table("S", 10, blind="optional", scoring="judgement")
    assert int(heuristic(state, rules)) == engine.LOOK_ACTION
    state, rules = table("S", 1, single_card="face_down", max_hand=1)
    assert int(heuristic(state, rules)) == engine.BID_ACTION


def test_forehead() -> None:
    """It counts the cards that would win: few against an ace of trumps, most against low cards."""
    for cards, low, high, bid in ((("AS", "2D", "3D"), 0.0, 0.0, 0), (("2D", "3C", "4H"), 0.6, 1.0, 1)):
        state, rules = table("S", 1, single_card="forehead", max_hand=1)
        for seat, name in enumerate(cards, 1):
            state["hands"][seat] = hand(name)
        assert low <= forehead_chance(state, rules, 0) <= high
        assert int(heuristic(state, rules)) == engine.BID_ACTION + bid


def action(states: np.ndarray, record: np.ndarray) -> int:
    return int(loops.player_action(states[0], record[0], PLAYER, np.zeros(1, GAME.state)))


@given(options(), st.integers(0, 10**6), st.integers(0, 400))
def test_legal_and_blind_to_hidden_cards(chosen: dict[str, Any], seed: int, moves: int) -> None:
    """Under every variant its action is legal, and the same in all states that its seat cannot tell apart."""
    states, record = game_after(rules_of(chosen), seed, moves)
    chosen_action = action(states, record)
    assert loops.is_legal(states[0], record[0], chosen_action)
    drawn = np.zeros(4, GAME.state)
    assert loops.sample_deals(states, record, int(states[0]["turn"]), seed, PLAN, drawn)
    for i in range(4):
        assert action(drawn[i : i + 1], record) == chosen_action


@given(options(), st.integers(0, 10**6))
def test_whole_games(chosen: dict[str, Any], seed: int) -> None:
    """Four to eight of them finish a game under every variant."""
    seats = chosen["num_players"]
    players = np.full((1, seats), PLAYER, np.int8)
    env = VectorEnv("kachuful", 1, seed, players=players, restart=False, observation=False, **chosen)
    assert env.reset().game_over[0] or int(env.get_state()["finished"][0]) == 1


@pytest.mark.parametrize(("opponent", "least"), [("counting", 0.6), ("random", 0.95)])
def test_beats_the_others(opponent: str, least: float) -> None:
    """Two hundred duplicate deals, well below what it reaches (see the README)."""
    rules = GAME.make_rules().record()
    states = np.zeros(800, GAME.state)
    code = 0 if opponent == "random" else 1
    env = VectorEnv("kachuful", 800, players=_seats(code), restart=False, observation=False)
    for i in range(800):
        states[i]["seed"] = i // 4
        engine.new_game(states[i], rules[0], -1)
    env.set_state(states)
    scores = env.get_state()["scores"][:, :4]
    top = scores == scores.max(axis=1, keepdims=True)
    shares = top / top.sum(axis=1, keepdims=True)
    assert shares[np.arange(800), np.arange(800) % 4].mean() > least


def _seats(code: int) -> np.ndarray:
    players = np.full((800, 4), code, np.int8)
    players[np.arange(800), np.arange(800) % 4] = PLAYER
    return players
