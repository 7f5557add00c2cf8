"""What a seat sees in Call Break, as zeros and ones.

`layout` names the blocks and `features` writes them, in the same order. Seats are relative to the observer:
``+0`` is the observer, ``+1`` the next seat in order of play. Four is the only number of seats, so ``wide`` changes
nothing.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from envs.call_break import rules as options
from envs.call_break.duties import UNNAMED
from envs.call_break.engine import BID, MISDEAL, MOST_REDEALS, PLAY, VOTES
from envs.call_break.knowledge import unseen
from envs.call_break.rules import EXTRA_ROUND, FREE, HAND, LEAD_FREE, SEATS_AT_TABLE, WIN
from envs.call_break.scoring import is_extra_round, outlook, partner, won
from envs.cards import PACK, SUITS, TRUMPS, card_name
from envs.jit import inlined, jit
from envs.layout import Block, Layout, one_hot, put64, put_last, thermometer
from envs.trick_features import prospect_blocks, put_prospects, threshold_bits, trick_cards
from envs.tricks import seat_after, steps_to

MARGINS = (
    -250, -200, -150, -120, -90, -80, -70, -60, -50, -40, -30, -20, -9, -4, 0,
    1, 5, 10, 21, 31, 41, 51, 61, 71, 81, 91, 121, 151, 201, 251,
)  # fmt: skip
"""A margin feature is set when own score minus the other's is at least this many tenths.

They are a point apart where a call decides who is ahead, and finer about the tie.
"""
MARGIN_CLIP = MARGINS[-1]
MARGIN_BITS = threshold_bits(MARGINS, -MARGIN_CLIP, MARGIN_CLIP)
ROUNDS_LEFT = (1, 2, 3, 4, 5, 6, 8, 12)
"""A rounds-left feature is set when at least this many rounds follow the current one."""
ROUNDS_LEFT_BITS = threshold_bits(ROUNDS_LEFT, 0, ROUNDS_LEFT[-1])
REDEAL_TOTALS = (0, 8, 9, 10, 11, 12, 14, 16, 20)
"""A feature of the option is set when the total that is dealt again is at least this."""
REDEAL_TOTAL_BITS = threshold_bits(REDEAL_TOTALS, -1, PACK)
SURPLUS = 8
"""The sum of the calls minus the tricks of a round is shown from -SURPLUS to +SURPLUS, clipped."""
CALLS = HAND + 1
TEAM_NEEDS = 2 * HAND
"""Tricks that a team needs at most."""


@cache
def layout(num_players: int = SEATS_AT_TABLE, wide: bool = False) -> Layout:
    """Blocks of the observation."""
    cards = tuple(card_name(card) for card in range(PACK))
    sizes = tuple(str(i) for i in range(CALLS))
    relative = tuple(f"+{i}" for i in range(SEATS_AT_TABLE))
    blocks = [
        Block("hand", cards, "Own cards still held."),
        Block("trick", cards, "Cards lying in the current trick."),
        Block("best", cards, "The card that wins the current trick so far."),
        *prospect_blocks(cards),
    ]
    for seat in relative:
        blocks += [
            Block(f"seen{seat}", cards, "Cards this seat has played in the round."),
            Block(f"barred{seat}", cards, "Cards that this seat has shown, by the duties, not to hold."),
            Block(f"bid{seat}", sizes, "Its call; empty before."),
            Block(f"won{seat}", sizes[1:], "Tricks won, as a thermometer."),
            Block(f"needs{seat}", sizes, "Tricks still needed for its own call; empty before, and once over it."),
            Block(f"vote{seat}", VOTES, "Its last vote on a misdeal."),
            Block(f"out{seat}", ("sits out",), "Whether it sits out an extra round."),
        ]
    team = tuple(f">={i}" for i in range(1, TEAM_NEEDS + 1))
    blocks += [
        Block("own_team", team, "Tricks that the own team needs for the calls it has made, as a thermometer."),
        Block("other_team", team, "The same of the other team."),
    ]
    for seat in relative[1:]:
        margins = tuple(f">={margin / options.POINT:g}" for margin in MARGINS)
        blocks += [
            Block(f"margin{seat}", margins, "Own score minus this seat's, in points, as a thermometer."),
            Block(
                f"outlook{seat}",
                margins,
                "The same if the round's calls so far, made where they still can be, were settled now.",
            ),
        ]
    numbers = tuple(f">={total}" for total in REDEAL_TOTALS[1:])
    blocks += [
        Block("led", tuple(SUITS), "Suit led to the current trick."),
        Block("trump", tuple(TRUMPS), "Trump of the round, N for none; empty until the first lead has named it."),
        Block("surplus", tuple(f"{i:+d}" for i in range(-SURPLUS, SURPLUS + 1)), "Sum of the calls so far minus 13."),
        Block("redeals", tuple(f">={i}" for i in range(1, MOST_REDEALS + 1)), "Low totals dealt again in this round."),
        Block("dealer", relative, "Who deals."),
        Block("leader", relative, "Who leads, or led, the current trick."),
        Block("winning", relative, "Who wins the current trick so far."),
        Block("claimer", relative, "Who claimed a misdeal of these hands."),
        Block("phase", ("misdeal", "bid", "play"), "Phase."),
        Block("rounds_left", tuple(f">={k}" for k in ROUNDS_LEFT), "Rounds after this one, as a thermometer."),
        Block("extra_round", ("extra round",), "Whether this is the extra round among tied seats."),
        Block("min_call", sizes, "Option min_call."),
        Block("max_call", sizes, "Option max_call."),
        Block("bonus_call", sizes, "Option bonus_call; empty for None."),
        Block("redeal_total", ("on", *numbers), "Option redeal_total, as a thermometer; empty for None."),
        Block("must_beat", options.MUST_BEAT, "Option must_beat."),
        Block("trumps", options.TRUMP, "Option trump."),
        Block("misdeal", options.MISDEAL, "Option misdeal."),
        Block(
            "rules",
            ("undertrump free", "spade lead free", "partnerships", "extra round breaks a tie", "reward win"),
            "Other options that matter to play.",
        ),
    ]
    return Layout(tuple(blocks))


@cache
def state_layout(num_players: int = SEATS_AT_TABLE, wide: bool = False) -> Layout:
    """Blocks of the full state for critics: the observation, then every seat's hand."""
    cards = tuple(card_name(card) for card in range(PACK))
    hands = [Block(f"holds+{i}", cards, "Cards this seat holds, whoever may see them.") for i in range(SEATS_AT_TABLE)]
    return Layout((*layout().blocks, *hands))


SEAT_WIDTH = CALLS + HAND + CALLS + len(VOTES) + 1
ROUND_WIDTH = len(SUITS) + len(TRUMPS) + 2 * SURPLUS + 1 + MOST_REDEALS
TABLE_WIDTH = 4 * SEATS_AT_TABLE + 3 + len(ROUNDS_LEFT) + 1
CALLS_WIDTH = 3 * CALLS + len(REDEAL_TOTALS)
RULES_WIDTH = 3 + 3 + 3 + 5


@inlined
def _seat_bits(state: Any, other: int) -> int:
    """Blocks bid, won, needs, vote and out of a seat."""
    bid = int(state["bids"][other])
    tricks = int(state["tricks"][other])
    needs = one_hot(bid - tricks, CALLS) if bid >= 0 else 0
    out = 1 - ((int(state["playing"]) >> other) & 1)
    bits = one_hot(bid, CALLS) | (thermometer(tricks, HAND) << CALLS) | (needs << (CALLS + HAND))
    return bits | (one_hot(int(state["votes"][other]), 4) << (2 * CALLS + HAND)) | (out << (2 * CALLS + HAND + 4))


@inlined
def _team_needs(state: Any, rules: Any, seat: int) -> int:
    """Tricks that a team needs for the calls it has made; nothing without partnerships."""
    if int(rules["partnerships"]) == 0:
        return 0
    return max(0, int(state["bids"][seat])) + max(0, int(state["bids"][partner(seat)])) - won(state, rules, seat)


@inlined
def _margin_bits(margin: int) -> int:
    """Block margin, or outlook, of another seat."""
    return int(MARGIN_BITS[max(-MARGIN_CLIP, min(MARGIN_CLIP, margin)) + MARGIN_CLIP])


@inlined
def _round_bits(state: Any) -> int:
    """Blocks led, trump, surplus and redeals."""
    trump = int(state["trump"])
    surplus = max(-SURPLUS, min(SURPLUS, int(state["bid_total"]) - HAND))
    bits = one_hot(int(state["led"]), 4) | (0 if trump == UNNAMED else 1 << (4 + trump))
    bits |= 1 << (9 + surplus + SURPLUS)
    return bits | (thermometer(int(state["redeals"]), MOST_REDEALS) << (10 + 2 * SURPLUS))


@inlined
def _relative(seat: int, other: int) -> int:
    """One of four bits for another seat; none where there is no such seat."""
    return 1 << steps_to(seat, other, SEATS_AT_TABLE) if other >= 0 else 0


@inlined
def _table_bits(state: Any, rules: Any, seat: int) -> int:
    """Blocks dealer, leader, winning, claimer, phase, rounds_left and extra_round."""
    phase = int(state["phase"])
    left = max(0, int(rules["rounds"]) - 1 - int(state["round"]))
    bits = _relative(seat, int(state["dealer"])) | (_relative(seat, int(state["leader"])) << 4)
    bits |= _relative(seat, int(state["best_seat"])) << 8
    bits |= _relative(seat, int(state["claimer"])) << 12
    bits |= (int(phase == MISDEAL) << 16) | (int(phase == BID) << 17) | (int(phase == PLAY) << 18)
    bits |= int(ROUNDS_LEFT_BITS[min(left, ROUNDS_LEFT[-1])]) << 19
    return bits | (int(is_extra_round(state, rules)) << (19 + len(ROUNDS_LEFT)))


@inlined
def _call_bits(rules: Any) -> int:
    """Blocks min_call, max_call, bonus_call and redeal_total."""
    bits = one_hot(int(rules["min_call"]), CALLS) | (one_hot(int(rules["max_call"]), CALLS) << CALLS)
    bits |= one_hot(int(rules["bonus_call"]), CALLS) << (2 * CALLS)
    return bits | (int(REDEAL_TOTAL_BITS[int(rules["redeal_total"]) + 1]) << (3 * CALLS))


@inlined
def _rule_bits(rules: Any) -> int:
    """Blocks must_beat, trumps, misdeal and rules."""
    bits = (1 << int(rules["must_beat"])) | (8 << int(rules["trump"])) | (64 << int(rules["misdeal"]))
    return (
        bits
        | (int(int(rules["undertrump"]) == FREE) << 9)
        | (int(int(rules["spade_lead"]) == LEAD_FREE) << 10)
        | (int(int(rules["partnerships"]) == 1) << 11)
        | (int(int(rules["tie"]) == EXTRA_ROUND) << 12)
        | (int(int(rules["reward"]) == WIN) << 13)
    )


@jit
def features(state: Any, rules: Any, seat: int, wide: bool, out: Any, at: int) -> int:
    """Write what `seat` sees to ``out[at:at+F]`` (uint8, zeros and ones); returns at + F."""
    # Neighbouring blocks share a word: fewer, wider stores.
    at = put64(out, at, int(state["hands"][seat]), PACK)
    at = put64(out, at, trick_cards(state), PACK)
    at = put64(out, at, one_hot(int(state["best"]), PACK), PACK)
    at = put_prospects(state, int(state["hands"][seat]), unseen(state, seat), out, at)
    for i in range(SEATS_AT_TABLE):
        other = seat_after(seat, i, SEATS_AT_TABLE)
        at = put64(out, at, int(state["played"][other]), PACK)
        at = put64(out, at, int(state["barred"][other]), PACK)
        at = put64(out, at, _seat_bits(state, other), SEAT_WIDTH)
    for i in range(2):
        other = seat_after(seat, i, SEATS_AT_TABLE)
        at = put64(out, at, thermometer(_team_needs(state, rules, other), TEAM_NEEDS), TEAM_NEEDS)
    score = int(state["scores"][seat])
    expected = outlook(state, rules, seat)
    for i in range(1, SEATS_AT_TABLE):
        other = seat_after(seat, i, SEATS_AT_TABLE)
        margin = score - int(state["scores"][other])
        ahead = margin + expected - outlook(state, rules, other)
        at = put64(out, at, _margin_bits(margin) | (_margin_bits(ahead) << len(MARGINS)), 2 * len(MARGINS))
    at = put64(out, at, _round_bits(state), ROUND_WIDTH)
    at = put64(out, at, _table_bits(state, rules, seat), TABLE_WIDTH)
    at = put64(out, at, _call_bits(rules), CALLS_WIDTH)
    return put_last(out, at, _rule_bits(rules), RULES_WIDTH)


@jit
def full_features(state: Any, rules: Any, seat: int, wide: bool, out: Any, at: int) -> int:
    """Write the full state, rotated to `seat`, to ``out[at:at+S]``: its features, then every hand; returns at + S."""
    at = features(state, rules, seat, wide, out, at)
    for i in range(SEATS_AT_TABLE - 1):
        at = put64(out, at, int(state["hands"][seat_after(seat, i, SEATS_AT_TABLE)]), PACK)
    return put_last(out, at, int(state["hands"][seat_after(seat, SEATS_AT_TABLE - 1, SEATS_AT_TABLE)]), PACK)
