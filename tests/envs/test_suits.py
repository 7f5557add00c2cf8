"""Suits in the order in which a position ranks them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from envs.cards import SUITS
from envs.game import GAMES, find_game
from envs.layout import Block, Layout
from envs.suits import NO_ORDER, ORDERS, SuitTables, arrange, find_order, order_suits, put_back, take_back, unpack_votes
from envs.vector import VectorEnv

CARDS = tuple(rank + suit for suit in SUITS for rank in "78")
SMALL = Layout((Block("hand", CARDS, ""), Block("led", tuple(SUITS), ""), Block("trump", (*SUITS, "N"), "")))


def tables(name: str, **rules: Any) -> tuple[SuitTables, Layout, np.ndarray]:
    """An order of a game's suits, its layout, and observations (B, F) from random play."""
    game = find_game(name)
    options = game.make_rules(**rules)
    layout = game.layout(options.num_players, False)
    actions = [game.action_name(action) for action in range(game.num_actions)]
    env = VectorEnv(game, 256, seed=5, **rules)
    return order_suits(layout, actions, game.suits), layout, env.reset(scatter=200).observation.copy()


def row(layout: Layout, **labels: str) -> np.ndarray:
    """An observation with some labels set in each block."""
    seen = np.zeros(layout.size, np.uint8)
    for name, text in labels.items():
        block = next(block for block in layout.blocks if block.name == name)
        for label in text.split():
            seen[layout.offsets[name] + block.labels.index(label)] = 1
    return seen


def arranged(seen: np.ndarray, suits: SuitTables) -> tuple[np.ndarray, int]:
    out, order = np.zeros((1, len(seen)), np.uint8), np.zeros(1, np.int64)
    arrange(seen[None], tuple(suits), np.uint8(1), order, out)
    return out[0], int(order[0])


def test_trump_comes_first_then_the_longest() -> None:
    suits = order_suits(SMALL, [*CARDS, "pass"], ("trump", "hand"))
    found, order = arranged(row(SMALL, hand="7D 8D 7H", led="H", trump="C"), suits)
    assert [SUITS[i] for i in ORDERS[order]] == ["C", "D", "H", "S"]
    assert SMALL.decode(found) == {
        "hand": ["7D", "8D", "7C"],
        "led": ["C"],
        "trump": [
            "S",
        ],
    }
    # Without a trump only the hand counts; among equals the first comes first.
    found, order = arranged(row(SMALL, hand="8H 7S", led="S", trump="N"), suits)
    assert [SUITS[i] for i in ORDERS[order]] == ["S", "H", "D", "C"]
    assert SMALL.decode(found) == {"hand": ["7S", "8D"], "led": ["S"], "trump": ["N"]}


def test_the_logits_of_cards_go_back_to_their_numbers() -> None:
    suits = order_suits(SMALL, [*CARDS, "pass"], ("trump", "hand"))
    found, order = arranged(row(SMALL, hand="7D 8C", trump="C"), suits)
    logits = np.append(found[: len(CARDS)], 5)  # a network that wants what it sees in its hand
    wanted = logits[suits.actions[order]]
    assert [CARDS[i] for i in np.flatnonzero(wanted[:-1])] == ["7D", "8C"]
    assert wanted[-1] == 5


def test_a_suit_that_the_rules_set_apart_is_never_lost() -> None:
    """Kaschlan: diamonds hold the highest trump, whatever suit is trump."""
    suits, layout, observations = tables("kaschlan")
    for seen in observations[:64]:
        found, order = arranged(seen, suits)
        trump = layout.decode(seen)["trump"]
        names = [SUITS[i] for i in ORDERS[order]]
        assert names[0] == trump[0]
        assert "D" in names[:2]
        assert layout.decode(found)["trump"] == trump


@pytest.mark.parametrize("name", GAMES)
def test_nothing_is_lost(name: str) -> None:
    suits, layout, observations = tables(name)
    for order in range(len(ORDERS)):
        assert sorted(suits.places[order]) == list(range(layout.size))
        assert sorted(suits.actions[order]) == list(range(suits.actions.shape[1]))
    for seen in observations[:64]:
        found, order = arranged(seen, suits)
        again = np.zeros_like(found)
        again[suits.places[order]] = found
        assert (again == seen).all()


@pytest.mark.parametrize("name", ["kachuful", "call_break"])
def test_suits_with_other_names_look_alike(name: str) -> None:
    """Exchanging suits changes nothing of what is seen in order, unless a seat holds equally many of two."""
    suits, layout, observations = tables(name)
    hand = layout.offsets["hand"]
    alike = 0
    for seen in observations:
        found, order = arranged(seen, suits)
        counts = seen[hand : hand + 52].reshape(4, 13).sum(axis=1)
        plain = [int(counts[suit]) for suit in ORDERS[order][1:]]
        if len(set(plain)) < 3:
            continue
        alike += 1
        for other in range(len(ORDERS)):
            renamed = np.zeros_like(seen)
            renamed[suits.places[other]] = seen
            assert (arranged(renamed, suits)[0] == found).all()
    assert alike > 5


def test_the_order_is_that_of_the_weights() -> None:
    suits, _, observations = tables("kachuful", num_players=3)
    for seen in observations[:64]:
        votes = unpack_votes(suits.bonus)[0] + seen[suits.features].astype(np.int64) @ unpack_votes(suits.votes)
        expected = sorted(range(4), key=lambda suit: (-votes[suit], suit))
        assert ORDERS[find_order(seen, tuple(suits))] == tuple(expected)


def test_what_is_said_of_arranged_actions_goes_back_to_theirs() -> None:
    suits, _, observations = tables("kachuful")
    logits = np.random.default_rng(1).random((len(observations), suits.actions.shape[1]), np.float32)
    order = np.array([find_order(seen, tuple(suits)) for seen in observations])
    back, again = np.zeros_like(logits), np.zeros_like(logits)
    put_back(logits, order, suits.actions, back)
    assert len(set(order)) > 3
    assert (back == np.take_along_axis(logits, suits.actions[order], axis=1)).all()
    take_back(back, order, suits.actions, again)
    assert (again == logits).all()


def test_more_rankings_than_can_be_counted_are_refused() -> None:
    with pytest.raises(ValueError, match="4 rankings of suits are too many"):
        order_suits(SMALL, CARDS, ("H", "hand", "hand", "hand"))


def test_a_block_that_is_missing_is_named() -> None:
    with pytest.raises(ValueError, match="no block 'length'"):
        order_suits(SMALL, CARDS, ("length",))
    assert NO_ORDER.places.shape == (0, 0)
