"""What a seat sees in Kachuful, as zeros and ones.

`layout` names the blocks and `features` writes them, in the same order. Seats are relative to the observer:
``+0`` is the observer, ``+1`` the next seat in order of play. With ``wide`` the layout is that of the largest table
(eight seats, hands of up to seventeen cards), whatever the number of players.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from envs.cards import PACK, RANKS, SUITS, TRUMPS, card_name, rank_of
from envs.game import SEATS
from envs.jit import inlined, jit
from envs.kachuful import rules as options
from envs.kachuful.engine import (
    BID,
    BLIND_FORCED,
    BLIND_OPTIONAL,
    DOUBLES_SCORE,
    FACE_DOWN,
    FOREHEAD,
    PENALTY,
    PLAY,
    WIN,
    is_hidden_round,
)
from envs.kachuful.knowledge import hand_hidden, unseen
from envs.layout import Block, Layout, one_hot, put32, put64, put_last, thermometer
from envs.trick_features import prospect_blocks, put_prospects, threshold_bits, trick_cards
from envs.tricks import seat_after, steps_to

WIDEST_HAND = PACK // 3
LARGEST_HANDS = np.array([0, *(PACK // n for n in range(1, SEATS + 1))], np.int64)
"""Entry n is 52 // n (a look-up: a division for each vector would be felt)."""
MARGINS = (-100, -60, -30, -15, -5, 0, 1, 6, 16, 31, 61, 101)
"""A margin feature is set when own score minus the other's is at least this."""
ROUNDS_LEFT = (1, 2, 3, 5, 8, 12, 20, 40)
"""A rounds-left feature is set when at least this many rounds follow the current one."""
MARGIN_CLIP = MARGINS[-1]
MARGIN_BITS = threshold_bits(MARGINS, -MARGIN_CLIP, MARGIN_CLIP)
"""Features of a clipped margin, entry 0 for ``-MARGIN_CLIP``."""
ROUNDS_LEFT_BITS = threshold_bits(ROUNDS_LEFT, 0, ROUNDS_LEFT[-1])
"""Features of the rounds left, clipped."""
SURPLUS = 8
"""The sum of the bids minus the hand size is shown from -SURPLUS to +SURPLUS, clipped."""


@cache
def layout(num_players: int, wide: bool = False) -> Layout:
    """Blocks of the observation for a number of seats."""
    seats = SEATS if wide else num_players
    hand = WIDEST_HAND if wide else PACK // num_players
    cards = tuple(card_name(card) for card in range(PACK))
    sizes = tuple(str(i) for i in range(hand + 1))
    relative = tuple(f"+{i}" for i in range(seats))
    blocks = [
        Block("hand", cards, "Own cards still held; empty while the hand is hidden."),
        Block("trick", cards, "Cards lying in the current trick."),
        Block("best", cards, "The card that wins the current trick so far."),
        *prospect_blocks(cards),
    ]
    for seat in relative:
        blocks += [
            Block(f"seen{seat}", cards, "Cards this seat has played in the round, or shows on its forehead."),
            Block(f"void{seat}", tuple(SUITS), "Suits this seat was seen not to hold."),
            Block(f"bid{seat}", sizes, "Its bid; empty before."),
            Block(f"won{seat}", sizes[1:], "Tricks won, as a thermometer."),
            Block(f"needs{seat}", sizes, "Tricks still needed for its bid; empty before the bid and once over it."),
            Block(f"blind{seat}", ("bid blind", "looked"), "How it bid in a blind game."),
        ]
    for seat in relative[1:]:
        margins = tuple(f">={margin}" for margin in MARGINS)
        blocks.append(Block(f"margin{seat}", margins, "Own score minus this seat's, as a thermometer."))
    surplus = tuple(f"{i:+d}" for i in range(-SURPLUS, SURPLUS + 1))
    blocks += [
        Block("led", tuple(SUITS), "Suit led to the current trick."),
        Block("trump", tuple(TRUMPS), "Trump of the round; N for none."),
        Block("turned", tuple(RANKS), "Rank of the card turned up for trump (its suit is the trump)."),
        Block("hand_size", sizes[1:], "Cards dealt to each seat in this round."),
        Block("surplus", surplus, "Sum of the bids so far minus the hand size, clipped."),
        Block("dealer", relative, "Who deals."),
        Block("leader", relative, "Who leads, or led, the current trick."),
        Block("winning", relative, "Who wins the current trick so far."),
        Block("phase", ("bid", "play", "hidden hand"), "Phase, and whether the own hand is hidden."),
        Block("rounds_left", tuple(f">={k}" for k in ROUNDS_LEFT), "Rounds after this one, as a thermometer."),
        Block("scoring", options.SCORINGS, "Option scoring."),
        Block(
            "rules",
            ("hook", "blind optional", "blind forced", "blind doubles score", "revoke penalty")
            + ("single card forehead", "single card face down", "reward win"),
            "Other options that matter to play.",
        ),
    ]
    return Layout(tuple(blocks))


@cache
def state_layout(num_players: int, wide: bool = False) -> Layout:
    """Blocks of the full state for critics: the observation, then every seat's hand."""
    seats = SEATS if wide else num_players
    cards = tuple(card_name(card) for card in range(PACK))
    hands = [Block(f"holds+{i}", cards, "Cards this seat holds, whoever may see them.") for i in range(seats)]
    return Layout((*layout(num_players, wide).blocks, *hands))


@inlined
def _seat_bits(state: Any, other: int, hand: int) -> int:
    """Blocks void, bid, won, needs and blind of a seat, 3 * hand + 8 bits (at most 59)."""
    bid = int(state["bids"][other])
    won = int(state["tricks"][other])
    needs = one_hot(bid - won, hand + 1) if bid >= 0 else 0
    flags = ((int(state["blind"]) >> other) & 1) | (((int(state["looked"]) >> other) & 1) << 1)
    bits = int(state["voids"][other]) | (one_hot(bid, hand + 1) << 4)
    bits |= thermometer(won, hand) << (hand + 5)
    return bits | (needs << (2 * hand + 5)) | (flags << (3 * hand + 6))


@inlined
def _seen_cards(state: Any, rules: Any, observer: int, other: int) -> int:
    """Cards that a seat has shown: those it has played and, in a forehead round, the one on its forehead."""
    seen = int(state["played"][other])
    if other != observer and is_hidden_round(state, rules) and int(rules["single_card"]) == FOREHEAD:
        seen |= int(state["hands"][other])
    return seen


@inlined
def _round_bits(state: Any, hand: int) -> int:
    """Blocks led, trump, turned, hand_size and surplus, hand + 39 bits (at most 56)."""
    size = int(state["hand_size"])
    turned = int(state["turned"])
    surplus = max(-SURPLUS, min(SURPLUS, int(state["bid_total"]) - size))
    bits = one_hot(int(state["led"]), 4) | (1 << (4 + int(state["trump"])))
    if turned >= 0:
        bits |= 1 << (9 + rank_of(turned))
    return bits | (one_hot(size - 1, hand) << 22) | (1 << (hand + 22 + surplus + SURPLUS))


@inlined
def _table_bits(state: Any, rules: Any, seat: int, hidden: bool, seats: int) -> int:
    """Blocks dealer, leader, winning, phase, rounds_left, scoring and rules, 3 * seats + 24 bits (at most 48)."""
    n = int(rules["num_players"])
    phase = int(state["phase"])
    left = int(rules["rounds"]) - 1 - int(state["round"])
    winning = int(state["best_seat"])
    bits = (1 << steps_to(seat, int(state["dealer"]), n)) | (1 << (seats + steps_to(seat, int(state["leader"]), n)))
    if winning >= 0:
        bits |= 1 << (2 * seats + steps_to(seat, winning, n))
    rest = int(phase == BID) | (int(phase == PLAY) << 1) | (int(hidden) << 2)
    rest |= int(ROUNDS_LEFT_BITS[min(left, ROUNDS_LEFT[-1])]) << 3
    rest |= (1 << (11 + int(rules["scoring"]))) | (_rule_bits(rules) << 16)
    return bits | (rest << (3 * seats))


@inlined
def _rule_bits(rules: Any) -> int:
    blind = int(rules["blind"])
    single = int(rules["single_card"])
    return (
        int(int(rules["hook"]) == 1)
        | (int(blind == BLIND_OPTIONAL) << 1)
        | (int(blind == BLIND_FORCED) << 2)
        | (int(int(rules["blind_doubles"]) == DOUBLES_SCORE) << 3)
        | (int(int(rules["revoke"]) == PENALTY) << 4)
        | (int(single == FOREHEAD) << 5)
        | (int(single == FACE_DOWN) << 6)
        | (int(int(rules["reward"]) == WIN) << 7)
    )


@jit
def features(state: Any, rules: Any, seat: int, wide: bool, out: Any, at: int) -> int:
    """Write what `seat` sees to ``out[at:at+F]`` (uint8, zeros and ones); returns at + F."""
    n = int(rules["num_players"])
    seats = SEATS if wide else n
    hand = WIDEST_HAND if wide else int(LARGEST_HANDS[n])
    hidden = hand_hidden(state, rules, seat)
    best = int(state["best"])
    # Neighbouring blocks share a word: fewer, wider stores.
    own = 0 if hidden else int(state["hands"][seat])
    at = put64(out, at, own, PACK)
    at = put64(out, at, trick_cards(state), PACK)
    at = put64(out, at, one_hot(best, PACK), PACK)
    at = put_prospects(state, own, unseen(state, rules, seat), out, at)
    for i in range(n):
        other = seat_after(seat, i, n)
        at = put64(out, at, _seen_cards(state, rules, seat, other), PACK)
        at = put64(out, at, _seat_bits(state, other, hand), 3 * hand + 8)
    for _ in range(n, seats):
        at = put64(out, at, 0, PACK)
        at = put64(out, at, 0, 3 * hand + 8)
    score = int(state["scores"][seat])
    for i in range(1, n):
        margin = max(-MARGIN_CLIP, min(MARGIN_CLIP, score - int(state["scores"][seat_after(seat, i, n)])))
        at = put32(out, at, int(MARGIN_BITS[margin + MARGIN_CLIP]), len(MARGINS))
    for _ in range(n, seats):
        at = put32(out, at, 0, len(MARGINS))
    at = put64(out, at, _round_bits(state, hand), hand + 39)
    return put_last(out, at, _table_bits(state, rules, seat, hidden, seats), 3 * seats + 24)


@jit
def full_features(state: Any, rules: Any, seat: int, wide: bool, out: Any, at: int) -> int:
    """Write the full state, rotated to `seat`, to ``out[at:at+S]``: its features, then every hand; returns at + S."""
    n = int(rules["num_players"])
    seats = SEATS if wide else n
    at = features(state, rules, seat, wide, out, at)
    for i in range(seats - 1):
        at = put64(out, at, int(state["hands"][seat_after(seat, i, n)]) if i < n else 0, PACK)
    return put_last(out, at, int(state["hands"][seat_after(seat, n - 1, n)]) if seats == n else 0, PACK)
