"""What a seat sees in Kaschlan, as zeros and ones.

`layout` names the blocks and `features` writes them, in the same order. Seats are relative to the observer:
``+0`` is the observer, ``+1`` the next seat in order of play. With ``wide`` the layout is that of the largest table
(five seats), whatever the number of players.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from envs.cards import SUITS
from envs.game import OVER
from envs.jit import inlined, jit, lowest_bit
from envs.kaschlan.cards import PACK, QUEEN, RANKS, SUIT_SIZE, beaters, card_name, suit_cards
from envs.kaschlan.engine import (
    ALL,
    BEAT,
    DEFENDER_ATTACKS,
    HAND,
    LAY,
    PLACES,
    TABLE,
    THROW,
    TOP,
    is_out,
    may_throw_own,
    table_limit,
)
from envs.kaschlan.knowledge import turned_in_stock
from envs.kaschlan.rules import FEWEST, MOST
from envs.layout import Block, Layout, one_hot, put32, put64, put_last, thermometer
from envs.tricks import seat_after

HELD = 12
"""Sizes of hands are shown up to this many cards."""
STOCK = PACK - FEWEST * HAND
"""Largest stock."""
BOUTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75)
"""A bout feature is set when at least this many bouts are over."""
BOUTS_LEFT = (1, 2, 3, 5, 8, 12, 20, 40)
"""A bouts-left feature is set when at least this many bouts may follow the current one."""
DRAWS = 5
"""Cards of the stock, from the next to draw on, that the full state shows."""


def _step_bits(steps: tuple[int, ...]) -> np.ndarray:
    """Thermometers over `steps` of all numbers up to the last of them."""
    return np.array([sum((value >= least) << i for i, least in enumerate(steps)) for value in range(steps[-1] + 1)])


BOUTS_BITS = _step_bits(BOUTS)
BOUTS_LEFT_BITS = _step_bits(BOUTS_LEFT)


@cache
def layout(num_players: int, wide: bool = False) -> Layout:
    """Blocks of the observation for a number of seats."""
    seats = MOST if wide else num_players
    cards = tuple(card_name(card) for card in range(PACK))
    relative = tuple(f"+{i}" for i in range(seats))
    numbers = tuple(str(i) for i in range(1, TABLE + 1))
    blocks = [
        Block("hand", cards, "Own cards."),
        Block("current", cards, "The card to be answered next."),
        Block("waiting", cards, "Cards before the defender that are still to be answered, the current one among them."),
        Block("left", cards, "Cards of this bout that the defender has left unbeaten."),
        Block("beaten", cards, "Cards of this bout that have been beaten."),
        Block("answers", cards, "Cards of this bout that beat others."),
        Block("kutscher", cards, "The Kutscher."),
        Block("turned", cards, "The card turned up for trump, while it lies in the stock."),
        Block("gone", cards, "Cards that have left the game."),
        Block("beats", cards, "Own cards that beat the card to be answered."),
        Block("unbeatable", cards, "Own cards that no other card still in the game beats."),
    ]
    for seat in relative:
        blocks += [
            Block(f"laid{seat}", cards, "Cards of this bout that this seat has laid or thrown."),
            Block(f"known{seat}", cards, "Cards that everybody knows to be in its hand."),
            Block(f"held{seat}", tuple(f">={i}" for i in range(1, HELD + 1)), "Cards it holds, as a thermometer."),
            Block(f"role{seat}", ("attacker", "defender", "to act", "out"), "Its part in the bout."),
        ]
    blocks += [
        Block("rank", tuple(RANKS), "Rank laid in this bout."),
        Block("trump", tuple(SUITS), "Trump suit."),
        Block("trumps", (*RANKS, "QD"), "Own trumps by rank; the queen of diamonds apart."),
        Block("size", numbers, "Cards laid and thrown in this bout, as a thermometer."),
        Block("room", numbers, "How many more may be laid or thrown now, as a thermometer."),
        Block("phase", ("lay", "throw", "throw own", "beat"), "Phase of the bout."),
        Block("stock", tuple(f">={i}" for i in range(1, STOCK + 1)), "Cards in the stock, as a thermometer."),
        Block("bouts", tuple(f">={i}" for i in BOUTS), "Bouts played, as a thermometer."),
        Block("bouts_left", tuple(f">={i}" for i in BOUTS_LEFT), "Bouts that may follow this one, as a thermometer."),
        Block(
            "rules",
            ("trump card top", "kutscher opens rank", "pickup all", "must beat", "defender attacks", "payoff places"),
            "Options.",
        ),
    ]
    return Layout(tuple(blocks))


@cache
def state_layout(num_players: int, wide: bool = False) -> Layout:
    """Blocks of the full state for critics: the observation, every seat's hand, and the next cards of the stock."""
    seats = MOST if wide else num_players
    cards = tuple(card_name(card) for card in range(PACK))
    hands = [Block(f"holds+{i}", cards, "Cards this seat holds, whoever may see them.") for i in range(seats)]
    stock = [Block(f"draws+{i}", cards, "This card of the stock, counted from the next to draw.") for i in range(DRAWS)]
    return Layout((*layout(num_players, wide).blocks, *hands, *stock))


@inlined
def _phase(state: Any) -> int:
    """Phase of the bout; none once the game is over, in whatever phase an illegal action has ended it."""
    return int(state["phase"]) if int(state["turn"]) >= 0 else OVER


@inlined
def _room(state: Any) -> int:
    """Cards that may still be laid or thrown by the seat to act."""
    phase = _phase(state)
    if phase in (BEAT, OVER):
        return 0
    size = int(state["size"])
    if phase in (LAY, THROW):
        return table_limit(state) - size
    held = int(state["held"][int(state["defender"])])
    return min(TABLE - size, (held - size) >> 1) if may_throw_own(state) else 0


@inlined
def _own_trumps(hand: int, trump: int) -> int:
    """Own trumps by rank, the queen of diamonds as a ninth; 9 bits."""
    queen = (hand >> QUEEN) & 1
    ranks = ((hand & ~(1 << QUEEN) & suit_cards(trump)) >> (SUIT_SIZE * trump)) & 0xFF
    return ranks | (queen << SUIT_SIZE)


@inlined
def _seat_bits(state: Any, other: int) -> int:
    """Blocks held and role of a seat, 16 bits."""
    role = int(int(state["attacker"]) == other) | (int(int(state["defender"]) == other) << 1)
    role |= (int(int(state["turn"]) == other) << 2) | (int(is_out(state, other)) << 3)
    return thermometer(int(state["held"][other]), HELD) | (role << HELD)


@inlined
def _rule_bits(rules: Any) -> int:
    return (
        int(int(rules["trump_card"]) == TOP)
        | (int(int(rules["kutscher_opens_rank"]) == 1) << 1)
        | (int(int(rules["pickup"]) == ALL) << 2)
        | (int(int(rules["must_beat"]) == 1) << 3)
        | (int(int(rules["attacker_out"]) == DEFENDER_ATTACKS) << 4)
        | (int(int(rules["payoff"]) == PLACES) << 5)
    )


@inlined
def _laid_by(state: Any, seat: int) -> int:
    """Cards of this bout that a seat has laid or thrown."""
    cards = 0
    for i in range(int(state["size"])):
        if int(state["layers"][i]) == seat:
            cards |= 1 << int(state["table"][i])
    return cards


@inlined
def _put_table(state: Any, out: Any, at: int) -> int:
    """Blocks current, waiting, left, beaten and answers."""
    answered = int(state["answered"])
    waiting = 0
    left = 0
    beaten = 0
    answers = 0
    for i in range(int(state["size"])):
        card = 1 << int(state["table"][i])
        if i >= answered:
            waiting |= card
        elif int(state["answers"][i]) < 0:
            left |= card
        else:
            beaten |= card
            answers |= 1 << int(state["answers"][i])
    current = 1 << int(state["table"][answered]) if _phase(state) == BEAT else 0
    at = put32(out, at, current, PACK)
    at = put32(out, at, waiting, PACK)
    at = put32(out, at, left, PACK)
    at = put32(out, at, beaten, PACK)
    return put32(out, at, answers, PACK)


@inlined
def _unbeatable(state: Any, hand: int, trump: int) -> int:
    """Cards of a hand that none beats but those that it holds, that lie on the table or that have left the game."""
    others = ~(hand | int(state["gone"]))
    for i in range(int(state["size"])):
        others &= ~(1 << int(state["table"][i]))
        if int(state["answers"][i]) >= 0:
            others &= ~(1 << int(state["answers"][i]))
    found = 0
    left = hand
    while left != 0:
        card = lowest_bit(left)
        left &= left - 1
        if beaters(card, trump) & others == 0:
            found |= 1 << card
    return found


@jit
def features(state: Any, rules: Any, seat: int, wide: bool, out: Any, at: int) -> int:
    """Write what `seat` sees to ``out[at:at+F]`` (uint8, zeros and ones); returns at + F."""
    n = int(rules["num_players"])
    seats = MOST if wide else n
    hand = int(state["hands"][seat])
    phase = _phase(state)
    trump = int(state["trump"])
    at = put32(out, at, hand, PACK)
    at = _put_table(state, out, at)
    at = put32(out, at, one_hot(int(state["kutscher"]), PACK), PACK)
    at = put32(out, at, turned_in_stock(state), PACK)
    at = put32(out, at, int(state["gone"]), PACK)
    current = int(state["table"][int(state["answered"])]) if phase == BEAT else -1
    at = put32(out, at, hand & beaters(current, trump) if current >= 0 else 0, PACK)
    at = put32(out, at, _unbeatable(state, hand, trump), PACK)
    for i in range(n):
        other = seat_after(seat, i, n)
        at = put32(out, at, _laid_by(state, other), PACK)
        at = put64(out, at, int(state["known"][other]) | (_seat_bits(state, other) << PACK), PACK + HELD + 4)
    for _ in range(n, seats):
        at = put32(out, at, 0, PACK)
        at = put64(out, at, 0, PACK + HELD + 4)
    bits = one_hot(int(state["rank"]), SUIT_SIZE) | (1 << (8 + trump)) | (_own_trumps(hand, trump) << 12)
    bits |= (thermometer(int(state["size"]), TABLE) << 21) | (thermometer(_room(state), TABLE) << 26)
    bits |= one_hot(phase - 1, 4) << 31
    at = put64(out, at, bits, 35)
    bout = int(state["bout"])
    follow = int(rules["max_bouts"]) - 1 - bout
    bits = thermometer(PACK - int(state["drawn"]), STOCK) | (int(BOUTS_BITS[min(bout, BOUTS[-1])]) << STOCK)
    bits |= int(BOUTS_LEFT_BITS[min(follow, BOUTS_LEFT[-1])]) << (STOCK + len(BOUTS))
    bits |= _rule_bits(rules) << (STOCK + len(BOUTS) + len(BOUTS_LEFT))
    return put_last(out, at, bits, STOCK + len(BOUTS) + len(BOUTS_LEFT) + 6)


@jit
def full_features(state: Any, rules: Any, seat: int, wide: bool, out: Any, at: int) -> int:
    """Write the full state, rotated to `seat`, to ``out[at:at+S]`` (see `state_layout`); returns at + S."""
    n = int(rules["num_players"])
    at = features(state, rules, seat, wide, out, at)
    for i in range(MOST if wide else n):
        at = put_last(out, at, int(state["hands"][seat_after(seat, i, n)]) if i < n else 0, PACK)
    for i in range(DRAWS):
        next_card = int(state["drawn"]) + i
        at = put_last(out, at, 1 << int(state["stock"][next_card]) if next_card < PACK else 0, PACK)
    return at
