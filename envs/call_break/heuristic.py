"""The rule-based player of Call Break: calls what its hand is worth most with, then plays for that many tricks.

For each legal card it weighs the chance that the card takes this trick against the chance that it would take a later
one, with different weights (`heuristic_weights`) while tricks are needed, once the call is made, and when it is lost.
So it wins cheaply, cashes plain honours before they are ruffed, saves trumps for what only they can win, and gets rid
of short suits. It reads redacted records only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from envs.call_break.duties import UNNAMED, legal_cards
from envs.call_break.engine import (
    AGREE_ACTION,
    BID,
    BID_ACTION,
    CLAIM_ACTION,
    MISDEAL,
    PASS_ACTION,
    REFUSE_ACTION,
    legal_votes,
)
from envs.call_break.heuristic_calls import NUM_COUNTS, TRUMP_KNOWN, best_call, weigh
from envs.call_break.heuristic_hand import (
    FOREIGN,
    FOREIGN_TRUMPS,
    LEAD,
    NUM_FEATURES,
    NUMBER,
    ROOM,
    chance_to_hold,
    describe_card,
    describe_suit,
    later_chance,
    look_around,
)
from envs.call_break.heuristic_weights import CALL_SPREADS, CALL_WEIGHTS, CARD_WEIGHTS, TASTES
from envs.call_break.rules import SEATS_AT_TABLE
from envs.call_break.scoring import called, partner, won
from envs.cards import NO_TRUMP, suit_cards, suit_of
from envs.game import ACTION_WORD
from envs.jit import jit, local_array, lowest_bit, popcount
from envs.odds import share
from envs.tricks import beats

NEEDS, MADE, LOST = range(3)
"""How it stands with the own call; each has weights of its own."""
TYPICAL_POINTS = 20.0
"""Tenths that a hand is worth on average: a worse one had better be dealt again."""


@jit
def standing(state: Any, rules: Any, seat: int) -> int:
    """Whether the call still needs tricks, is made, or cannot be made any more."""
    needs = called(state, rules, seat) - won(state, rules, seat)
    if needs <= 0:
        return MADE
    return LOST if needs > int(state["hand_size"]) - int(state["trick"]) else NEEDS


@jit
def choose_card(state: Any, rules: Any, seat: int, cards_worth: Any, calls_worth: Any, tastes: Any) -> int:
    """The legal card that is worth most, played now."""
    cards = legal_cards(state, rules)
    if cards & (cards - 1) == 0:
        return lowest_bit(cards)
    pools = local_array(ROOM, np.int64)
    parts = local_array(SEATS_AT_TABLE, np.float64)
    risks = local_array(SEATS_AT_TABLE, np.float64)
    seen = local_array(NUM_FEATURES, np.float64)
    counts = local_array(NUM_COUNTS, np.float64)
    look_around(state, seat, pools, parts)
    with_us = -1
    if int(rules["partnerships"]) == 1:
        with_us = partner(seat)
        pools[NUMBER + with_us] = 0  # no threat
    hand = int(state["hands"][seat])
    size = int(state["trick_size"])
    later = popcount(int(state["playing"])) - 1 - size
    best = int(state["best"])
    named = int(state["trump"])
    now = standing(state, rules, seat)
    chosen, most = -1, 0.0
    suit, trump, kind, own, trumps, opens = -1, 0, 0, 0, 0, 0.0
    while cards != 0:
        card = lowest_bit(cards)
        cards &= cards - 1
        if suit_of(card) != suit:
            suit = suit_of(card)
            trump = suit if named == UNNAMED else named
            kind = describe_suit(hand, suit, trump, pools, parts, risks, seen)
            own = popcount(hand & suit_cards(suit))
            trumps = popcount(hand & suit_cards(trump)) if trump < NO_TRUMP else 0
            opens = 1.0 if own == 1 and trumps > 0 and suit != trump else 0.0
        describe_card(seat, hand, card, pools, parts, risks, seen)
        chance = 0.0
        if size == 0:
            chance = float(seen[LEAD])
        elif beats(card, best, trump):
            chance = chance_to_hold(state, seat, card, int(state["led"]), trump, later, pools)
        elif int(state["best_seat"]) == with_us:
            chance = chance_to_hold(state, seat, best, int(state["led"]), trump, later, pools)
        value = tastes[0, now] * chance - tastes[1, now] * later_chance(seen, kind, cards_worth)
        if size > 0:
            value += tastes[2, now] * opens
        elif suit == trump:
            value += tastes[3, now] + tastes[4, now] * share(trumps)
        else:
            value += (
                tastes[5, now] * opens
                + tastes[6, now] * share(own)
                + tastes[7, now] * chance * seen[FOREIGN_TRUMPS]
                + tastes[8, now] * seen[FOREIGN]
            )
        if named == UNNAMED:
            value += weigh(hand, suit, TRUMP_KNOWN, calls_worth, counts)
        if chosen < 0 or value > most:
            chosen, most = card, value
    return chosen


@jit
def choose_vote(state: Any, rules: Any, seat: int) -> int:
    """Action in a vote on a misdeal: to be rid of a hand that is worth less than most, to keep a better one."""
    _, worth = best_call(state, rules, seat, CALL_WEIGHTS, CALL_SPREADS)
    poor = worth < TYPICAL_POINTS
    if int(state["claimer"]) >= 0:
        return AGREE_ACTION if poor else REFUSE_ACTION
    may_claim = (legal_votes(state, rules) >> (CLAIM_ACTION - ACTION_WORD)) & 1
    return CLAIM_ACTION if may_claim and poor else PASS_ACTION


@jit
def heuristic(state: Any, rules: Any) -> int:
    """Action of the rule-based player for the seat to act, from a redacted record."""
    seat = int(state["turn"])
    phase = int(state["phase"])
    if phase == MISDEAL:
        return choose_vote(state, rules, seat)
    if phase == BID:
        call, _ = best_call(state, rules, seat, CALL_WEIGHTS, CALL_SPREADS)
        return BID_ACTION + call
    return choose_card(state, rules, seat, CARD_WEIGHTS, CALL_WEIGHTS, TASTES)
