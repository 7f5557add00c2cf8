"""Determinization of Kaschlan: all states that a seat cannot tell apart, equally often, worked out from snapshots."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations
from random import Random
from typing import Any

import numpy as np
import pytest
from kaschlan_variants import beats
from moments import Snapshot, sample, snapshot_of
from playing import positions
from scipy.stats import chisquare

from envs import kaschlan_v0
from envs.kaschlan import GAME
from envs.kaschlan.cards import FULL_PACK, names_of

CARDS = set(names_of(FULL_PACK))
DRAWS = 4000


def left_cards(snapshot: Snapshot) -> list[str]:
    """Cards of the running bout that the defender has answered by passing."""
    return [card for card, answer, _ in snapshot["table"][: snapshot["answered"]] if answer is None]


def deals(snapshot: Snapshot, seat: int) -> set[tuple[Any, ...]]:
    """Every full deal that a seat cannot tell from the true one: hidden hands and the order of the stock."""
    hands, known = snapshot["hands"], snapshot["known"]
    others = [other for other in range(len(hands)) if other != seat]
    open_stock = [card if card == snapshot["turned"] else None for card in snapshot["stock"]]
    hidden = {card for other in others for card in set(hands[other]) - set(known[other])}
    hidden |= {card for card, shown in zip(snapshot["stock"], open_stock, strict=True) if shown is None}
    found: set[tuple[Any, ...]] = set()

    def fill(at: int, cards: frozenset[str], dealt: tuple[frozenset[str], ...]) -> None:
        if at == len(others):
            for order in permutations(sorted(cards)):
                rest = iter(order)
                found.add((dealt, tuple(shown or next(rest) for shown in open_stock)))
            return
        other = others[at]
        for chosen in combinations(sorted(cards), len(hands[other]) - len(known[other])):
            hand = frozenset(chosen) | set(known[other])
            if snapshot["rules"]["must_beat"] and other == snapshot["defender"]:
                answers = [(answer, card) for answer in hand for card in left_cards(snapshot)]
                if any(beats(answer, card, snapshot["trump"]) for answer, card in answers):
                    continue
            fill(at + 1, cards - set(chosen), (*dealt, hand))

    fill(0, frozenset(hidden), ())
    return found


def as_deal(snapshot: Snapshot, seat: int) -> tuple[Any, ...]:
    """A snapshot's hidden part, comparable with `deals`."""
    hands = snapshot["hands"]
    dealt = tuple(frozenset(hands[other]) for other in range(len(hands)) if other != seat)
    return dealt, tuple(snapshot["stock"])


POSITIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "turned card at the bottom": (
        {"num_players": 3},
        {
            "hands": [["AS", "KS"], ["7D", "8D", "9D"], ["7H", "TD"]], "stock": ["8H", "9H", "TC"], "turned": "TC",
            "known": [[], ["8D"], []], "attacker": 0,
        },
    ),
    "turned card on top": (
        {"num_players": 3, "trump_card": "top"},
        {"hands": [["AS", "KS"], ["7D", "8D"], ["7H", "TD"]], "stock": ["TC", "8H", "9H"], "turned": "TC"},
    ),
    "turned card drawn": (
        {"num_players": 2, "trump_card": "top"},
        {"hands": [["AS", "KS"], ["7D", "TC", "9S"]], "stock": ["8H", "9H", "QD"], "turned": "TC"},
    ),
    "a card left that need not be beaten": (
        {"num_players": 3},
        {
            "hands": [["AS"], ["7D", "AD", "9C"], ["7H", "KD"]], "stock": ["AC", "9H"], "trump": "H", "attacker": 0,
            "table": [["8D", None, 0], ["8S", None, 0]], "answered": 1, "phase": "beat",
        },
    ),
    "a card left that must be beaten": (
        {"num_players": 3, "must_beat": True},
        {
            "hands": [["AS"], ["7D", "AC", "9C"], ["7H", "KD"]], "stock": ["AD", "9H"], "trump": "H", "attacker": 0,
            "table": [["8D", None, 0], ["8S", None, 0]], "answered": 1, "phase": "beat",
        },
    ),
    "two cards left that must be beaten": (
        {"num_players": 2, "must_beat": True},
        {
            "hands": [["AS", "QD"], ["7D", "9C", "TC"]], "stock": ["AD", "9H", "KD", "7S"], "trump": "S",
            "table": [["8D", None, 0], ["8H", None, 0], ["8C", None, 0]], "answered": 2, "phase": "beat",
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", POSITIONS)
def test_draws_are_uniform_among_all_deals_that_fit(name: str) -> None:
    """`must_beat` makes a pass a proof; no deal that it rules out is drawn, and none that it leaves is missed."""
    rules, position = POSITIONS[name]
    env = kaschlan_v0.raw_env(**rules)
    env.reset(seed=5, options={"position": position})
    snapshot, options = env.snapshot(), env.rules.record()
    for seat in range(rules["num_players"]):
        expected = deals(snapshot, seat)
        assert as_deal(snapshot, seat) in expected
        states = sample(GAME, env._states, options, seat, 11 + seat, max(DRAWS, 30 * len(expected)))
        counts = Counter(as_deal(snapshot_of(GAME, state, env.rules), seat) for state in states)
        assert set(counts) == expected
        if len(expected) > 1:
            assert chisquare(list(counts.values())).pvalue > 1e-4


def test_what_must_beat_proves_is_used() -> None:
    """The same table leaves fewer deals where a card may be left only by a hand that cannot beat it."""
    position = POSITIONS["a card left that must be beaten"][1]
    sizes = []
    for must_beat in (False, True):
        env = kaschlan_v0.raw_env(num_players=3, must_beat=must_beat)
        env.reset(seed=5, options={"position": position})
        sizes.append(len(deals(env.snapshot(), 0)))
    assert sizes[0] > sizes[1]


@pytest.mark.parametrize("seats", [2, 3, 4, 5])
def test_drawn_states_are_positions(seats: int) -> None:
    """From every seat through a game: only hidden cards differ, and drawn states can be set up and look alike."""
    env, other = (
        kaschlan_v0.raw_env(num_players=seats, must_beat=True),
        kaschlan_v0.raw_env(num_players=seats, must_beat=True),
    )
    env.reset(seed=8)
    rng = Random(8)
    for move, _ in enumerate(positions(env, rng)):
        true = env.snapshot()
        for seat, agent in enumerate(env.possible_agents):
            drawn = env.determinize(seat, move)
            assert {key: drawn[key] for key in drawn if key not in ("hands", "stock")} == {
                key: true[key] for key in true if key not in ("hands", "stock")
            }
            assert [len(hand) for hand in drawn["hands"]] == [len(hand) for hand in true["hands"]]
            assert drawn["hands"][seat] == true["hands"][seat]
            if move % 3 == 0:
                other.reset(seed=1, options={"position": drawn})
                assert other.snapshot() == drawn
                for key, value in env.observe(agent).items():
                    assert (other.observe(agent)[key] == value).all()
        assert env.snapshot() == true


def test_nothing_is_hidden_from_the_last_two_without_a_stock() -> None:
    position = {"hands": [["AS", "QD"], ["7D", "9C"], []], "stock": [], "trump": "S", "out": [2], "attacker": 0}
    env = kaschlan_v0.raw_env(num_players=3)
    env.reset(seed=5, options={"position": position})
    for seat in (0, 1):
        states = sample(GAME, env._states, env.rules.record(), seat, 3, 20)
        assert all((state["hands"] == env._states[0]["hands"]).all() for state in states)


def test_the_order_of_the_stock_is_its_own_chance() -> None:
    """Two draws with the same hands need not share the stock."""
    env = kaschlan_v0.raw_env(num_players=2, trump_card="top")
    env.reset(seed=5, options={"position": POSITIONS["turned card drawn"][1]})
    states = sample(GAME, env._states, env.rules.record(), 0, 3, 500)
    by_hand: dict[int, set[bytes]] = {}
    for state in states:
        by_hand.setdefault(int(state["hands"][1]), set()).add(np.array(state["stock"]).tobytes())
    assert all(len(stocks) > 1 for stocks in by_hand.values())
