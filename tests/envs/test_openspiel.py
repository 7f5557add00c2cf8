"""Kachuful's engine against an independent implementation of the same rules: OpenSpiel's ``oh_hell``.

Both get the same cards, the same dealer, the same turned card and the same random moves, through whole games of every
hand size that leaves a card to turn. What they say must agree at every step.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest

from envs.cards import PACK, card_name, cards_of, suit_of
from envs.game import GAME_OVER, ROUND_OVER
from envs.kachuful import GAME, engine

pyspiel: Any = pytest.importorskip("pyspiel", reason="open_spiel, part of the dev extra, is not installed")

SCORINGS = {"trick_plus_bonus": False, "minus_difference": True}
"""Our names of OpenSpiel's two ways to score, and its switch between them."""
PEER_BID = PACK
"""OpenSpiel's number of the bid 0: bids follow the cards of the pack."""


@cache
def peer_game(seats: int, size: int, scoring: str) -> Any:
    """OpenSpiel's game of one round of `size` cards."""
    options = {"players": seats, "num_tricks_fixed": size, "off_bid_penalty": SCORINGS[scoring]}
    return pyspiel.load_game("oh_hell", options)


@cache
def peer_cards() -> tuple[int, ...]:
    """OpenSpiel's number of each of our cards, matched by name: it numbers rank by rank and writes the suit first."""
    state = peer_game(3, 1, "trick_plus_bonus").new_initial_state()
    for action in (1, 0):  # one trick, dealer 0: a name goes by the phase, and this opens the deal
        state.apply_action(action)
    numbers = {state.action_to_string(card): card for card in state.legal_actions()}
    return tuple(numbers[name[1] + name[0]] for name in map(card_name, range(PACK)))


def peer_deal(state: np.void, seats: int, scoring: str) -> Any:
    """OpenSpiel's state after our deal: it asks for the tricks, the dealer, a card a seat in turn, the card turned."""
    size = int(state["hand_size"])
    hands = [cards_of(state["hands"][seat]) for seat in range(seats)]
    assert [len(hand) for hand in hands] == [size] * seats
    cards = [hands[seat][i] for i in range(size) for seat in range(seats)] + [int(state["turned"])]
    peer = peer_game(seats, size, scoring).new_initial_state()
    # The check of each chance action is OpenSpiel's: it turns down a card that it has dealt before.
    for action in [size, int(state["dealer"]), *(peer_cards()[card] for card in cards)]:
        assert peer.is_chance_node()
        peer.apply_action_with_legality_check(action)
    return peer


def peer_numbers(peer: Any, title: str) -> list[int]:
    """A line of numbers, one a seat, of OpenSpiel's printed state: bids and tricks can be read in no other way."""
    line = re.search(rf"^{title}:(.*)$", str(peer), re.MULTILINE)
    assert line, str(peer)
    return [int(number) for number in line[1].split()]


def peer_action(action: int) -> int:
    """OpenSpiel's number of our card or bid."""
    return peer_cards()[action] if action < engine.BID_ACTION else action - engine.BID_ACTION + PEER_BID


def play_round(state: np.void, rules: np.void, scoring: str, rng: random.Random, seen: Counter[str]) -> int:
    """Play a freshly dealt round in both engines, comparing all the way; returns the flags of our last step."""
    n, size = int(rules["num_players"]), int(state["hand_size"])
    peer = peer_deal(state, n, scoring)
    trump = int(state["trump"])
    assert trump == suit_of(state["turned"])
    # Any bids would mostly sum to far more than the tricks, so that the hook binds nobody: half of the rounds bid low.
    highest = rng.choice([size, -(-2 * size // n)])
    tricks: list[int] = []
    flags = 0
    for move in range(n + n * size):
        assert not flags
        assert not peer.is_terminal()
        seat = int(state["turn"])
        assert seat == peer.current_player(), str(peer)
        low, high = engine.legal(state, rules)
        actions = cards_of(low) + [engine.BID_ACTION + bid for bid in cards_of(high)]
        assert sorted(map(peer_action, actions)) == peer.legal_actions(), str(peer)
        if move < n:
            action = rng.choice(actions[: highest + 1])
            seen["hook"] += len(actions) == size
        else:
            action = rng.choice(actions)
            seen["follow"] += low != int(state["hands"][seat])
            seen["trump"] += int(state["led"]) not in (-1, trump) and suit_of(action) == trump
        flags = int(engine.step(state, rules, action))
        peer.apply_action(peer_action(action))
        if move >= n and move % n == n - 1:  # the seat with one trick more is the winner, also of the last trick
            tricks = state["tricks"][:n].tolist()
            assert tricks == peer_numbers(peer, "Tricks Won"), str(peer)
            assert sum(tricks) == move // n
    assert flags & ROUND_OVER
    assert peer.is_terminal()
    bids = state["bids"][:n].tolist()
    assert bids == peer_numbers(peer, "Bids"), str(peer)
    assert state["gained"][:n].tolist() == peer.returns(), str(peer)
    exact = sum(bid == won for bid, won in zip(bids, tricks, strict=True))
    seen["exact"] += exact
    seen["missed"] += n - exact
    seen["deals"] += 1
    return flags


@pytest.mark.parametrize("deals", [150, pytest.param(1500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("n", range(3, 8))
def test_rounds_agree_with_openspiel(n: int, scoring: str, deals: int) -> None:
    """A1.20-A1.26, A1.28, hook, trump="turn_up", two scorings: turns, legal moves, winners, tricks, points of a deal.

    OpenSpiel plays single rounds of up to seven seats, always with a card turned (so no 13 cards for four), always
    with the hook and never blind; that bounds what is compared.
    """
    rules = GAME.make_rules(
        num_players=n, max_hand=(PACK - 1) // n, trump="turn_up", scoring=scoring, hook=True
    ).record()[0]
    states = np.zeros(1, GAME.state)
    state = states[0]
    seen: Counter[str] = Counter()
    rng = random.Random(f"{n} {scoring} {deals}")
    while seen["deals"] < deals:
        state["seed"] = rng.getrandbits(63)
        engine.new_game(state, rules, -1)
        while not play_round(state, rules, scoring, rng, seen) & GAME_OVER:
            engine.next_round(state, rules)
    # An agreement says something only about what has happened.
    assert min(seen[case] for case in ("hook", "follow", "trump", "exact", "missed")) > deals / 10, seen
