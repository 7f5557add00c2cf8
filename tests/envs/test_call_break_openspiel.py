"""Call Break's winners of tricks against an independent implementation: OpenSpiel's ``spades``.

Spades and Call Break share the pack, permanent trump spades, following suit and who wins a trick; the duties to beat
and to trump are Call Break's alone. Both get the same cards and the same plays, each legal in both.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from envs.call_break import GAME, engine
from envs.cards import PACK, card_name, cards_of

pyspiel: Any = pytest.importorskip("pyspiel", reason="open_spiel, part of the dev extra, is not installed")

PEER_SUITS = "CDHS"
"""OpenSpiel numbers suit by suit, clubs first."""


def peer_card(card: int) -> int:
    """OpenSpiel's number of our card."""
    name = card_name(card)
    return PEER_SUITS.index(name[1]) * 13 + "23456789TJQKA".index(name[0])


def test_the_numbers_of_cards_agree() -> None:
    state = pyspiel.load_game("spades").new_initial_state()
    assert sorted(map(peer_card, range(PACK))) == sorted(state.legal_actions())
    for card in range(PACK):
        name = card_name(card)
        assert state.action_to_string(peer_card(card)) == name[1] + name[0]


@pytest.mark.parametrize("must_beat", ["always", "off"])
def test_tricks_agree_with_openspiel(must_beat: str) -> None:
    """A3.18, A3.8: the seat that wins a trick leads the next one in both, over whole deals."""
    record = GAME.make_rules(must_beat=must_beat, undertrump="free", spade_lead="restricted").record()[0]
    states = np.zeros(1, GAME.state)
    state = states[0]
    rng = random.Random(must_beat)
    ruffs = 0
    for _ in range(100):
        state["seed"] = rng.getrandbits(63)
        engine.new_game(state, record, 3)
        peer = pyspiel.load_game("spades").new_initial_state()
        hands = [cards_of(hand) for hand in state["hands"].tolist()]
        for i in range(PACK):
            peer.apply_action(peer_card(hands[i % 4][i // 4]))
        for _ in range(4):
            engine.step(state, record, engine.BID_ACTION + 3)
            peer.apply_action(next(a for a in peer.legal_actions() if peer.action_to_string(a) == "3"))
        for _ in range(PACK):
            assert peer.current_player() == int(state["turn"])
            theirs = set(peer.legal_actions())
            both = [card for card in cards_of(engine.legal(state, record)[0]) if peer_card(card) in theirs]
            if not both:  # spades may only be led there once they are broken
                break
            if int(state["led"]) > 0 and both[0] < 13:
                ruffs += 1
            card = rng.choice(both)
            engine.step(state, record, card)
            peer.apply_action(peer_card(card))
    assert ruffs > 100
