"""`heuristic`: how a careful person plays Kaschlan, on a redacted record.

It lays its lowest plain cards, pairs first, and keeps trumps and the queen; throws what is low; beats as cheaply as it
can, and picks up rather than pay too many trumps while there is a stock to draw better cards from; and plays
the ending between two seats by search. The thresholds were chosen by hand; a search by games against itself gained next
to nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from envs.jit import jit, local_array, lowest_bit, popcount
from envs.kaschlan.cards import PACK, QUEEN, SUIT_SIZE, beaters, lowest_card, rank_cards, rank_of, trump_cards
from envs.kaschlan.ending import best_move
from envs.kaschlan.engine import ALL, BEAT, LAY, PASS, THROW, legal, table_limit

NODES = 20_000
"""Positions that the search of an ending may look at for one move; half of them
choose as a million do in 98 of 100 moves between two seats."""

WEIGHTS = np.array(
    [
        1.5,  # worth, in ranks, of each further card of the rank laid first
        5.0,  # highest rank laid or thrown after the first card, with a stock
        5.0,  # highest rank of a Kutscher, with a stock
        5.0,  # highest rank thrown in by others, with a stock
        2.0,  # price up to which all cards are beaten while the stock is full
        3.9,  # how much more is paid when the stock runs out
        0.24,  # worth of each card not picked up
        1.0,  # price of a trump
        1.0,  # further price of the highest trump
        2.5,  # price of the queen of diamonds
        4.0,  # highest rank of an answer where not all can be beaten, with a stock
        1.0,  # price of a plain ace
    ]
)


@jit
def price(card: int, trump: int, weights: Any) -> float:
    """What it costs to part with a card."""
    if card == QUEEN:
        return float(weights[9])
    height = rank_of(card) / (SUIT_SIZE - 1)
    if (trump_cards(trump) >> card) & 1:
        return float(weights[7] + weights[8] * height)
    return float(weights[11] * height)


@jit
def plain(cards: int, trump: int) -> int:
    """The cards that are no trumps."""
    return cards & ~trump_cards(trump)


@jit
def up_to(cards: int, rank: float) -> int:
    """The cards of at most a rank."""
    found = 0
    for r in range(SUIT_SIZE):
        if r <= rank:
            found |= cards & rank_cards(r)
    return found


@jit
def first_card(state: Any, hand: int, weights: Any) -> int:
    """The card laid first: of the lowest rank, pairs and more counting for lower; trumps last."""
    trump = int(state["trump"])
    cards = plain(hand, trump)
    if cards == 0:
        return lowest_card(hand, trump)
    room = table_limit(state)
    chosen = 0
    least = 0.0
    for rank in range(SUIT_SIZE):
        same = cards & rank_cards(rank)
        if same == 0:
            continue
        worth = rank - weights[0] * (min(popcount(same), room) - 1)
        if chosen == 0 or worth < least:
            chosen, least = same, worth
    return lowest_bit(chosen)


@jit
def further_card(state: Any, cards: int, weights: Any, with_stock: bool) -> int:
    """A further card laid by the attacker: of the rank, then a Kutscher; PASS where what he has is too good."""
    trump = int(state["trump"])
    rank = rank_cards(int(state["rank"]))
    same = plain(cards & rank, trump)
    if same != 0 and (not with_stock or int(state["rank"]) <= weights[1]):
        return lowest_bit(same)
    other = plain(cards & ~rank, trump)
    if with_stock:
        other = up_to(other, weights[2])
    return lowest_card(other, trump) if other != 0 else PASS


@jit
def plan_answers(state: Any, hand: int, waiting: int, weights: Any, answers: Any) -> float:
    """Beat cards as cheaply as it can be done one by one, the dearest first.

    Args:
        state: the record.
        hand: cards to beat with.
        waiting: cards to be beaten.
        weights: prices.
        answers: (PACK,) int64; the answer to each card is written to its place, -1 where there is none.

    Returns:
        What the answers cost together, or -1 where a card cannot be beaten.
    """
    trump = int(state["trump"])
    total = 0.0
    every = True
    while waiting != 0:
        rest = waiting
        card = -1
        dearest = -1.0
        while rest != 0:
            other = lowest_bit(rest)
            rest &= rest - 1
            worth = price(other, trump, weights)
            if worth > dearest:
                card, dearest = other, worth
        waiting &= ~(1 << card)
        answer = lowest_card(hand & beaters(card, trump), trump)
        answers[card] = answer
        if answer < 0:
            every = False
        else:
            hand &= ~(1 << answer)
            total += price(answer, trump, weights)
    return total if every else -1.0


@jit
def waiting_cards(state: Any) -> int:
    """Cards before the defender that he has still to answer."""
    cards = 0
    for i in range(int(state["answered"]), int(state["size"])):
        cards |= 1 << int(state["table"][i])
    return cards


@jit
def pays(state: Any, cost: float, cards: int, weights: Any) -> bool:
    """Whether beating `cards` cards is worth what it costs: the more, the less there is to draw."""
    stock = PACK - int(state["drawn"])
    if stock == 0:
        return True
    return bool(cost <= weights[4] + weights[5] * (1.0 - min(stock, 12) / 12.0) + weights[6] * cards)


@jit
def answer_card(state: Any, rules: Any, cards: int, may_pass: bool, weights: Any, with_stock: bool) -> int:
    """The defender's answer to the current card, or PASS."""
    trump = int(state["trump"])
    seat = int(state["turn"])
    waiting = waiting_cards(state)
    current = int(state["table"][int(state["answered"])])
    answers = local_array(PACK, np.int64)
    cost = plan_answers(state, int(state["hands"][seat]), waiting, weights, answers)
    left = False
    for i in range(int(state["answered"])):
        left = left or int(state["answers"][i]) < 0
    cheapest = lowest_card(cards, trump)
    if cost >= 0.0 and not left and (not may_pass or pays(state, cost, popcount(waiting), weights)):
        return int(answers[current])
    if not may_pass:
        return cheapest
    if cheapest < 0 or int(rules["pickup"]) == ALL:
        return PASS
    answer = plain(cards, trump)
    if with_stock:
        answer = up_to(answer, weights[10])
    return lowest_card(answer, trump) if answer != 0 else PASS


@jit
def own_card(state: Any, rules: Any, cards: int, weights: Any, with_stock: bool) -> int:
    """A card of his own that the defender throws: one that he can beat with all others for a price worth paying."""
    trump = int(state["trump"])
    hand = int(state["hands"][int(state["turn"])])
    answers = local_array(PACK, np.int64)
    cards = plain(cards, trump)
    if with_stock:
        cards = up_to(cards, weights[1])
    while cards != 0:
        card = lowest_card(cards, trump)
        cards &= ~(1 << card)
        waiting = waiting_cards(state) | (1 << card)
        cost = plan_answers(state, hand & ~(1 << card), waiting, weights, answers)
        if cost >= 0.0 and pays(state, cost, popcount(waiting), weights):
            return card
    return PASS


@jit
def choose(state: Any, rules: Any, weights: Any) -> int:
    """The move without search, under given `WEIGHTS`."""
    moves = legal(state, rules)[0]
    cards = moves & ~(1 << PASS)
    may_pass = moves != cards
    if cards == 0:
        return PASS
    phase = int(state["phase"])
    trump = int(state["trump"])
    with_stock = int(state["drawn"]) < PACK
    if phase == BEAT:
        return answer_card(state, rules, cards, may_pass, weights, with_stock)
    if phase == LAY:
        return further_card(state, cards, weights, with_stock) if may_pass else first_card(state, cards, weights)
    if phase == THROW:
        cards = plain(cards, trump)
        if with_stock:
            cards = up_to(cards, weights[3])
        return lowest_card(cards, trump) if cards != 0 else PASS
    return own_card(state, rules, cards, weights, with_stock)


@jit
def heuristic(state: Any, rules: Any) -> int:
    """Action for the seat to act, from a redacted record."""
    return best_move(state, rules, choose(state, rules, WEIGHTS), NODES)
