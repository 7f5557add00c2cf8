"""What own cards may win, against plain definitions on names of cards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from envs.agents import Decisions
from envs.cards import RANKS
from envs.game import find_game
from envs.vector import VectorEnv

KASCHLAN_RANKS = "789TJQKA"


def moments(name: str, **rules: Any) -> Any:
    """Snapshots and decoded observations of the seats to act, from random play."""
    game = find_game(name)
    env = VectorEnv(game, 200, 3, **rules)
    batch = env.reset(scatter=150)
    layout = game.layout(env.num_players, False)
    seen = Decisions(game, env.rules, env.get_state()).observation()
    assert np.array_equal(seen, batch.observation)
    for state, row in zip(env.get_state(), seen, strict=True):
        yield game.fields.snapshot(state, env.rules), layout.decode(row), int(state["turn"])


def beats(card: str, best: str, trump: str | None) -> bool:
    if card[1] == best[1]:
        return RANKS.index(card[0]) > RANKS.index(best[0])
    return card[1] == trump


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("kachuful", {}),
        ("kachuful", {"trump": "turn_up"}),
        ("kachuful", {"num_players": 6}),
        ("call_break", {}),
        ("call_break", {"trump": "first_lead"}),
        ("call_break", {"trump": "none", "must_beat": "off"}),
    ],
)
def test_tricks(name: str, rules: dict[str, Any]) -> None:
    found = {"takes": 0, "masters": 0, "seconds": 0, "thirds": 0}
    for snapshot, blocks, seat in moments(name, **rules):
        hand = set(snapshot["hands"][seat])
        trick = [card for _, card in snapshot["trick"]]
        known = hand | set(trick) | {card for played in snapshot["played"] for _, card in played}
        if snapshot.get("turned"):
            known.add(snapshot["turned"])
        unseen = {rank + suit for suit in "SDCH" for rank in RANKS} - known
        takes: set[str] = set()
        if trick:
            best = trick[0]
            for card in trick[1:]:
                best = card if beats(card, best, snapshot["trump"]) else best
            follow = {card for card in hand if card[1] == trick[0][1]} or hand
            takes = {card for card in follow if beats(card, best, snapshot["trump"])}
        above = {card: sum(beats(other, card, None) for other in unseen) for card in hand}
        expected = {"takes": takes}
        for k, block in enumerate(("masters", "seconds", "thirds")):
            expected[block] = {card for card in hand if above[card] == k}
        for block, cards in expected.items():
            assert set(blocks[block]) == cards, (block, snapshot)
            found[block] += bool(cards)
    assert min(found.values()) > 10


def test_bouts() -> None:
    """Kaschlan: the queen of diamonds beats all, trumps beat plain cards, higher cards those of their suit."""
    found = {"beats": 0, "unbeatable": 0}
    for snapshot, blocks, seat in moments("kaschlan"):
        trump = snapshot["trump"]

        def over(card: str, other: str, trump: str = trump) -> bool:
            if "QD" in (card, other):
                return card == "QD"
            if card[1] == other[1]:
                return KASCHLAN_RANKS.index(card[0]) > KASCHLAN_RANKS.index(other[0])
            return card[1] == trump

        hand = set(snapshot["hands"][seat])
        table = [card for attack, answer, _ in snapshot["table"] for card in (attack, answer) if card]
        gone = set(blocks["gone"])
        pack = {rank + suit for suit in "SDCH" for rank in KASCHLAN_RANKS}
        others = pack - hand - set(table) - gone
        current = blocks["current"]
        expected = {
            "beats": {card for card in hand if current and over(card, current[0])},
            "unbeatable": {card for card in hand if not any(over(other, card) for other in others)},
        }
        for block, cards in expected.items():
            assert set(blocks[block]) == cards, (block, snapshot)
            found[block] += bool(cards)
    assert min(found.values()) > 10
