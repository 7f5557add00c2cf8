"""The rules of Call Break on one state record: deal, legal, step, score.

Call tricks that you will take at least. Actions: cards 0..51, ``bid b`` = 52 + b (b 0..13), ``claim`` = 66, ``agree`` =
67, ``refuse`` = 68, ``pass`` = 69. A round may begin with a vote on a misdeal, then all call in turn from the dealer's
right, and thirteen tricks are played under the duties to follow, to beat and to trump. Scores are kept in tenths.
All functions run compiled and plain (see `envs.jit`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from envs.call_break.duties import SPADES, UNNAMED, legal_cards, note_lead, shown_by, spades_are_trump
from envs.call_break.rules import (
    ALL_SEATS,
    HAND,
    MISDEAL_AUTO,
    MISDEAL_VOTE,
    SEATS_AT_TABLE,
    TRUMP_NONE,
    TRUMP_SPADES,
)
from envs.call_break.scoring import ends_game, is_extra_round, leaders_of, score_round
from envs.cards import NO_TRUMP, PACK, shuffle, suit_cards, suit_of
from envs.game import ACTION_WORD, COMMON_FIELDS, GAME_OVER, NO_END, OVER, ROUND_OVER
from envs.jit import jit, lowest_bit, popcount
from envs.tricks import beats, deal_key, finish_trick, first_dealer, next_seat

MISDEAL, BID, PLAY = 1, 2, 3
"""Phases beside `OVER`."""
BID_ACTION = 52
CLAIM_ACTION = 66
AGREE_ACTION = 67
REFUSE_ACTION = 68
PASS_ACTION = 69
NUM_ACTIONS = 70
_BIDS = BID_ACTION - ACTION_WORD
_CLAIM, _AGREE, _REFUSE, _PASS = (1 << (a - ACTION_WORD) for a in range(CLAIM_ACTION, NUM_ACTIONS))

MOST_REDEALS = 10
"""Low totals in a row that are dealt again; after them the hand is played."""

VOTES = ("claim", "agree", "refuse", "pass")
"""Names of the votes on a misdeal, in the order of their actions."""
VOTE_CLAIM, VOTE_AGREE, VOTE_REFUSE, VOTE_PASS = range(4)

STATE = np.dtype(
    [
        *COMMON_FIELDS,
        ("hands", np.int64, (SEATS_AT_TABLE,)),  # cards still held
        ("played", np.int64, (SEATS_AT_TABLE,)),  # cards each seat has played in this round
        ("barred", np.int64, (SEATS_AT_TABLE,)),  # cards a seat was seen not to hold
        ("deals", np.int32),  # times this round was dealt again, for whatever reason
        ("redeals", np.int8),  # of these, for a low total of calls
        ("playing", np.int8),  # seats (bits) that play this round: all, but for an extra round
        ("hand_size", np.int8),
        ("trump", np.int8),  # -1: the first lead has still to name it
        ("bids", np.int8, (SEATS_AT_TABLE,)),  # calls; -1: not yet, or sits out
        ("bid_count", np.int8),
        ("bid_total", np.int8),
        ("tricks", np.int8, (SEATS_AT_TABLE,)),
        ("votes", np.int8, (SEATS_AT_TABLE,)),  # last vote of each seat on a misdeal, or -1
        ("claimer", np.int8),  # seat that claimed a misdeal of these hands, or -1
        ("leader", np.int8),  # seat that led, or leads, the current trick
        ("trick_size", np.int8),  # cards lying in the current trick
        ("led", np.int8),  # suit led, or -1
        ("top", np.int8),  # highest card of the led suit in the current trick, or -1
        ("best", np.int8),  # card winning the current trick, or -1
        ("best_seat", np.int8),
        ("count", np.int8),  # cards played in this round
        ("trick", np.int8),  # tricks finished in this round
        ("log", np.int8, (PACK,)),  # those cards in order, then -1
        ("leaders", np.int8, (HAND,)),  # seat that led each trick so far
    ],
    align=True,
)
"""One game of Call Break."""


@jit
def is_full_table(state: Any) -> bool:
    """Whether four seats play the round."""
    return int(state["playing"]) == ALL_SEATS


@jit
def next_player(state: Any, seat: int) -> int:
    """The seat after `seat` in order of play among those who play the round."""
    playing = int(state["playing"])
    after = next_seat(seat, SEATS_AT_TABLE)
    while (playing >> after) & 1 == 0:
        after = next_seat(after, SEATS_AT_TABLE)
    return after


@jit
def opening_trump(rules: Any) -> int:
    """Trump at the beginning of a round."""
    trump = int(rules["trump"])
    return SPADES if trump == TRUMP_SPADES else NO_TRUMP if trump == TRUMP_NONE else UNNAMED


@jit
def is_misdeal(rules: Any, hand: int) -> bool:
    """Whether a dealt hand is a misdeal: thirteen cards of one suit, or without the permanent trump."""
    if popcount(hand) != HAND:
        return False
    void = spades_are_trump(rules) and hand & suit_cards(SPADES) == 0
    return void or hand == suit_cards(suit_of(lowest_bit(hand)))


@jit
def deal(state: Any, rules: Any, deck: Any) -> None:
    """Set up the state's round from a deck of 52 card numbers: hands of those who play, first seat to act."""
    playing = int(state["playing"])
    at = 0
    for seat in range(SEATS_AT_TABLE):
        hand = 0
        if (playing >> seat) & 1:
            for _ in range(HAND):
                hand |= 1 << int(deck[at])
                at += 1
        state["hands"][seat] = hand
        state["played"][seat] = 0
        state["barred"][seat] = 0
        state["bids"][seat] = -1
        state["tricks"][seat] = 0
        state["votes"][seat] = -1
    first = next_player(state, int(state["dealer"]))
    state["hand_size"] = HAND
    state["trump"] = opening_trump(rules)
    state["bid_count"] = 0
    state["bid_total"] = 0
    state["claimer"] = -1
    state["leader"] = first
    state["trick_size"] = 0
    state["led"] = -1
    state["top"] = -1
    state["best"] = -1
    state["best_seat"] = -1
    state["count"] = 0
    state["trick"] = 0
    for i in range(PACK):
        state["log"][i] = -1
    for i in range(HAND):
        state["leaders"][i] = -1
    state["phase"] = MISDEAL if int(rules["misdeal"]) == MISDEAL_VOTE else BID
    state["turn"] = first


@jit
def holds_misdeal(state: Any, rules: Any) -> bool:
    """Whether a freshly dealt hand is a misdeal."""
    found = 0
    for seat in range(SEATS_AT_TABLE):
        found += int(is_misdeal(rules, int(state["hands"][seat])))
    return found > 0


@jit
def deal_round(state: Any, rules: Any) -> None:
    """Shuffle and deal the state's round, under ``auto`` until no hand is a misdeal.

    The play log, empty between rounds, lends its bytes to the deck.
    """
    again = True
    while again:
        key = deal_key(int(state["seed"]), int(state["game"]), int(state["round"]), int(state["deals"]))
        shuffle(state["log"], PACK, key)
        deal(state, rules, state["log"])
        again = int(rules["misdeal"]) == MISDEAL_AUTO and holds_misdeal(state, rules)
        if again:
            state["deals"] += 1


@jit
def deal_again(state: Any, rules: Any) -> None:
    """Deal the round anew; the same seat deals."""
    state["deals"] += 1
    deal_round(state, rules)


@jit
def begin_round(state: Any, rules: Any) -> None:
    """Deal the state's round for the first time."""
    state["deals"] = 0
    state["redeals"] = 0
    deal_round(state, rules)


@jit
def new_game(state: Any, rules: Any, dealer: int) -> None:
    """Start the game that the state's ``seed`` and ``game`` name; `dealer` -1 draws the first dealer."""
    state["round"] = 0
    state["moves"] = 0
    state["finished"] = 0
    state["playing"] = ALL_SEATS
    for seat in range(len(state["scores"])):
        state["scores"][seat] = 0
        state["gained"][seat] = 0
    seed = int(state["seed"])
    state["dealer"] = dealer if dealer >= 0 else first_dealer(seed, int(state["game"]), SEATS_AT_TABLE)
    begin_round(state, rules)


@jit
def legal_calls(rules: Any) -> int:
    """Calls allowed to the seat to call, as bits 0..13."""
    return (2 << int(rules["max_call"])) - (1 << int(rules["min_call"]))


@jit
def legal_votes(state: Any, rules: Any) -> int:
    """Votes allowed to the seat asked about a misdeal, as bits of the second action word."""
    if int(state["claimer"]) >= 0:
        return _AGREE | _REFUSE
    return _PASS | _CLAIM if is_misdeal(rules, int(state["hands"][int(state["turn"])])) else _PASS


@jit
def legal(state: Any, rules: Any) -> tuple[int, int]:
    """Legal actions of the seat to act as two words (see `envs.game.legal`)."""
    phase = int(state["phase"])
    if phase == OVER or int(state["turn"]) < 0:  # an illegal action may have ended the game in any phase
        return 0, 0
    if phase == PLAY:
        return legal_cards(state, rules), 0
    if phase == BID:
        return 0, legal_calls(rules) << _BIDS
    return 0, legal_votes(state, rules)


@jit
def _finish_round(state: Any, rules: Any) -> int:
    score_round(state, rules)
    for seat in range(SEATS_AT_TABLE):
        state["scores"][seat] += state["gained"][seat]
    state["phase"] = OVER
    state["turn"] = -1
    if ends_game(state, rules):
        state["finished"] = 1
        return ROUND_OVER | GAME_OVER
    return ROUND_OVER


@jit
def next_round(state: Any, rules: Any) -> None:
    """Pass the deal on and deal the next round, the extra one to the tied seats alone."""
    state["round"] += 1
    state["dealer"] = next_seat(int(state["dealer"]), SEATS_AT_TABLE)
    if is_extra_round(state, rules):
        state["playing"] = leaders_of(state["scores"])
    begin_round(state, rules)


@jit
def _vote(state: Any, rules: Any, seat: int, vote: int) -> int:
    after = next_player(state, seat)
    first = int(state["leader"])
    state["votes"][seat] = vote
    state["turn"] = after
    if vote == VOTE_CLAIM:
        state["claimer"] = seat
    elif vote == VOTE_AGREE and after == int(state["claimer"]):
        deal_again(state, rules)
    elif vote == VOTE_REFUSE or (vote == VOTE_PASS and after == first):
        state["phase"] = BID
        state["turn"] = first
    return 0


@jit
def is_low_total(state: Any, rules: Any, total: int) -> bool:
    """Whether calls of this total are dealt again: four seats called, and not too often before."""
    low = total <= int(rules["redeal_total"]) and int(state["redeals"]) < MOST_REDEALS
    return low and is_full_table(state)


@jit
def _bid(state: Any, rules: Any, seat: int, bid: int) -> int:
    total = int(state["bid_total"]) + bid
    made = int(state["bid_count"]) + 1
    state["bids"][seat] = bid
    state["bid_count"] = made
    state["bid_total"] = total
    state["turn"] = next_player(state, seat)
    if made == popcount(int(state["playing"])):
        if is_low_total(state, rules, total):
            state["redeals"] += 1
            deal_again(state, rules)
        else:
            state["phase"] = PLAY
    return 0


@jit
def _play(state: Any, rules: Any, seat: int, card: int) -> int:
    count = int(state["count"])
    size = int(state["trick_size"])
    suit = suit_of(card)
    state["log"][count] = card
    state["count"] = count + 1
    state["played"][seat] |= 1 << card
    state["hands"][seat] &= ~(1 << card)
    if size == 0:
        note_lead(state, rules, seat, suit)
        state["leaders"][int(state["trick"])] = seat
        state["led"] = suit
        state["top"] = card
        state["best"] = card
        state["best_seat"] = seat
    else:
        state["barred"][seat] |= shown_by(state, rules, card)
        if beats(card, int(state["best"]), int(state["trump"])):
            state["best"] = card
            state["best_seat"] = seat
        if suit == int(state["led"]):
            state["top"] = max(card, int(state["top"]))
    if size + 1 < popcount(int(state["playing"])):
        state["trick_size"] = size + 1
        state["turn"] = next_player(state, seat)
        return 0
    finish_trick(state)
    state["top"] = -1
    if int(state["trick"]) == int(state["hand_size"]):
        return _finish_round(state, rules)
    return 0


@jit
def step(state: Any, rules: Any, action: int) -> int:
    """Make a legal move for the seat to act; returns flags (see `envs.game.step`)."""
    seat = int(state["turn"])
    state["moves"] += 1
    if action < BID_ACTION:
        return _play(state, rules, seat, action)
    if action < CLAIM_ACTION:
        return _bid(state, rules, seat, action - BID_ACTION)
    return _vote(state, rules, seat, action - CLAIM_ACTION)


@jit
def left(state: Any, rules: Any) -> int:
    """Calls and cards to the end of the round; no end is in sight while it may be dealt again ."""
    phase = int(state["phase"])
    seats = popcount(int(state["playing"]))
    if phase == OVER:
        return 0
    if phase == PLAY:
        return seats * int(state["hand_size"]) - int(state["count"])
    may_redeal = int(rules["redeal_total"]) >= 0 and int(state["redeals"]) < MOST_REDEALS
    if phase == MISDEAL or may_redeal:
        return NO_END
    return seats - int(state["bid_count"]) + seats * int(state["hand_size"])


@jit
def automatic(state: Any, rules: Any) -> int:
    """No move of Call Break makes itself (see `envs.game.automatic`)."""
    return -1
