"""Kaschlan under every option: games to test what a seat may know and do, and a plain statement of that.

Nothing here uses the engine's idea of either: it reads snapshots and says what the rules say (see `games.Oracle`).
"""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import strategies as st
from moments import Snapshot

from envs.kaschlan import GAME
from envs.kaschlan.cards import card_number

__all__ = ["GAME"]
RANKS = "789TJQKA"
QUEEN = "QD"
"""The highest trump."""

VARIANTS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "turned card on top": {"trump_card": "top", "max_bouts": 30},
    "Kutscher opens its rank": {"kutscher_opens_rank": True, "max_bouts": 30},
    "all is picked up": {"pickup": "all", "max_bouts": 20},
    "must beat": {"must_beat": True, "max_bouts": 30},
    "the defender attacks, places": {"attacker_out": "defender_attacks", "payoff": "places"},
    "all at once": {
        "trump_card": "top", "kutscher_opens_rank": True, "pickup": "all", "must_beat": True, "payoff": "places",
        "max_bouts": 20,
    },
    "truncated": {"max_bouts": 4},
    "padded": {"pad_seats": True, "max_bouts": 8, "must_beat": True},
}  # fmt: skip
"""Every value of every option, in games short enough to be played often; at any number of seats."""
SEATS = (2, 3, 4, 5)
PRIVATE = ("hands", "stock", "seed", "game")
"""Fields of the record that hold what a seat may not know."""
FORGOTTEN = ("seed", "game", "moves", "taken")
"""Fields of the record that a position does not restore."""
PHASES = ("lay", "throw", "throw_own", "beat")


@st.composite
def options(draw: st.DrawFn) -> dict[str, Any]:
    """Options of any variant."""
    return {
        "num_players": draw(st.integers(2, 5)),
        "trump_card": draw(st.sampled_from(["bottom", "top"])),
        "kutscher_opens_rank": draw(st.booleans()),
        "pickup": draw(st.sampled_from(["unbeaten", "all"])),
        "must_beat": draw(st.booleans()),
        "attacker_out": draw(st.sampled_from(["predecessor", "defender_attacks"])),
        "payoff": draw(st.sampled_from(["loser", "places"])),
        "max_bouts": draw(st.sampled_from([1, 6, 100])),
    }


MOMENTS = st.tuples(options(), st.integers(0, 10**6), st.integers(0, 150))
"""Options, a seed and a number of moves: some moment of a game."""


def visible(snapshot: Snapshot, seat: int) -> list[set[str]]:
    """The cards that a seat sees of each hand: of others' those that everybody has seen go there."""
    return [set(hand if other == seat else snapshot["known"][other]) for other, hand in enumerate(snapshot["hands"])]


def known(snapshot: Snapshot, seat: int) -> Snapshot:
    """A snapshot as a seat may know it: of other hands the number of cards, of the stock that and the turned card."""
    hands = [sorted(hand) if other == seat else len(hand) for other, hand in enumerate(snapshot["hands"])]
    stock = [card if card == snapshot["turned"] else None for card in snapshot["stock"]]
    return snapshot | {"hands": hands, "stock": stock}


def scramble(state: Any, snapshot: Snapshot, seat: int, rng: Random) -> None:
    """Deal anew, in place, all cards that a seat does not see, and choose the seed at random."""
    others = [other for other in range(len(snapshot["hands"])) if other != seat]
    hidden = {other: sorted(set(snapshot["hands"][other]) - set(snapshot["known"][other])) for other in others}
    pool = [card for cards in hidden.values() for card in cards]
    pool += [card for card in snapshot["stock"] if card != snapshot["turned"]]
    rng.shuffle(pool)
    for other, cards in hidden.items():
        for card in cards:
            state["hands"][other] ^= 1 << card_number(card)
        for _ in cards:
            state["hands"][other] ^= 1 << card_number(pool.pop())
    first = int(state["drawn"])
    for i, card in enumerate(snapshot["stock"]):
        if card != snapshot["turned"]:
            state["stock"][first + i] = card_number(pool.pop())
    assert not pool
    state["seed"] = rng.getrandbits(60)
    state["game"] = rng.getrandbits(20)


def reveals(before: Snapshot, after: Snapshot, seat: int) -> bool:
    """Whether a seat has drawn cards from the stock."""
    lay = {card for row in before["table"] for card in row[:2]}
    return not set(after["hands"][seat]) <= set(before["hands"][seat]) | lay


def beats(answer: str, card: str, trump: str) -> bool:
    """Whether a card on the table is beaten by an answer."""
    if QUEEN in (answer, card):
        return answer == QUEEN
    if answer[1] == card[1]:
        return RANKS.index(answer[0]) > RANKS.index(card[0])
    return answer[1] == trump


def legal_names(snapshot: Snapshot) -> set[str]:
    """What the rules allow the seat to act, read from a snapshot."""
    rules, table, phase = snapshot["rules"], snapshot["table"], snapshot["phase"]
    hand = snapshot["hands"][snapshot["turn"]]
    held = len(snapshot["hands"][snapshot["defender"]])
    if phase == "beat":
        assert snapshot["turn"] == snapshot["defender"]
        card = table[snapshot["answered"]][0]
        beating = {answer for answer in hand if beats(answer, card, snapshot["trump"])}
        return beating if beating and rules["must_beat"] else beating | {"pass"}
    assert len(table) + 1 <= min(5, held - 1 if phase == "throw_own" else held)
    if phase == "lay" and not table:
        return set(hand)
    ranks = {table[0][0][0]}
    if phase == "lay":
        if len(table) >= 2 and snapshot["kutscher"] is None:
            ranks = set(RANKS)
    elif rules["kutscher_opens_rank"] and snapshot["kutscher"] is not None:
        ranks.add(snapshot["kutscher"][0])
    return {card for card in hand if card[0] in ranks} | {"pass"}


def moment(snapshot: Snapshot) -> tuple[Any, ...]:
    """What kind of moment this is, as far as copies might care."""
    return (
        len(snapshot["table"]) > 1,
        snapshot["answered"] > 0,
        snapshot["kutscher"] is not None,
        any(snapshot["known"]),
        len(snapshot["stock"]) > 0,
        len(snapshot["out"]),
    )
