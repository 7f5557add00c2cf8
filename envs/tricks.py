"""What the trick games share: following suit, winning a trick, the first dealer, and what a play log says."""

from __future__ import annotations

from typing import Any

from envs.cards import random_below, random_bits, rank_of, stream_key, suit_cards, suit_of
from envs.jit import jit

DEAL_STREAM = 1
DEALER_STREAM = 2


@jit
def next_seat(seat: int, seats: int) -> int:
    """The seat after `seat` in order of play (a comparison: a division would cost more than all else in a move)."""
    after = int(seat) + 1
    return after if after < seats else 0


@jit
def seat_after(seat: int, steps: int, seats: int) -> int:
    """The seat `steps` (0..seats-1) after `seat` in order of play."""
    after = int(seat) + int(steps)
    return after if after < seats else after - seats


@jit
def steps_to(seat: int, other: int, seats: int) -> int:
    """How many seats `other` sits after `seat` in order of play (0..seats-1)."""
    steps = int(other) - int(seat)
    return steps if steps >= 0 else steps + seats


@jit
def following(hand: int, led: int) -> int:
    """Cards of `hand` that follow the led suit, or the whole hand where none does."""
    same = hand & suit_cards(led)
    return same if same != 0 else hand


@jit
def higher_than(card: int) -> int:
    """Mask of the cards of a card's suit that are higher."""
    return suit_cards(suit_of(card)) & -(2 << int(card))


@jit
def beats(card: int, best: int, trump: int) -> bool:
    """Whether `card`, played later, takes the trick from `best` (the card winning so far); trump 4 is none."""
    suit = suit_of(card)
    best_suit = suit_of(best)
    return bool((suit == best_suit and card > best) or (suit != best_suit and suit == trump))


@jit
def winner_of(log: Any, start: int, size: int, trump: int) -> int:
    """Index (0..size-1, in order of play) of the card that wins the trick ``log[start:start+size]``."""
    best = 0
    for i in range(1, size):
        if beats(int(log[start + i]), int(log[start + best]), trump):
            best = i
    return best


@jit
def finish_trick(state: Any) -> None:
    """Give a complete trick to the seat that wins it, which leads the next; clears what a record says of the trick."""
    winner = int(state["best_seat"])
    state["tricks"][winner] += 1
    state["trick"] += 1
    state["trick_size"] = 0
    state["led"] = -1
    state["best"] = -1
    state["best_seat"] = -1
    state["leader"] = winner
    state["turn"] = winner


@jit
def card_order(card: int, trump: int) -> int:
    """Order of cards from low to high: plain before trump, then by rank, then S D C H."""
    suit = suit_of(card)
    return (int(suit == trump) << 6) | (rank_of(card) << 2) | suit


@jit
def place_by_score(scores: Any, seat: int, seats: int) -> int:
    """Place of a seat by its score: one more than the seats with a higher one."""
    place = 1
    for other in range(seats):
        place += int(int(scores[other]) > int(scores[seat]))
    return place


@jit
def deal_key(seed: int, game: int, round_: int, redeal: int) -> int:
    """Shuffling key of one deal: what was played before has no part in it, so duplicate deals stay equal."""
    return stream_key(seed, DEAL_STREAM, game, round_, redeal)


@jit
def first_dealer(seed: int, game: int, seats: int) -> int:
    """Uniformly random seat: what cutting for the highest card comes to."""
    key = stream_key(seed, DEALER_STREAM, game)
    return random_below(random_bits(key & 0xFFFFFFFF, key >> 32, 0), seats)
