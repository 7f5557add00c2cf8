"""Positions of the trick games: the snapshot rows they share, and the steps that rebuild a round from them.

A finished trick is a list of ``[seat, card]`` in order of play, or None where a position tells only who won it
(`tricks` without `played`). Tricks of unknown cards come first in a round; in the record their entries of ``log`` and
``leaders`` are -1, and what is remembered of played cards and proven voids knows nothing of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from envs.cards import (
    FULL_PACK,
    PACK,
    TRUMPS,
    card_name,
    card_number,
    cards_of,
    fold,
    mask_of,
    names_of,
    random_below,
    random_bits,
    shuffle,
    suit_cards,
)
from envs.fields import Card, Choice, Field, Given, Integer, ListOf, Maybe, PerSeat, Seat, Tuple, claim_cards, mismatch
from envs.game import legal, step
from envs.jit import nth_bit, popcount
from envs.sampling import draw, new_plan, prepare
from envs.tricks import deal_key

Trick = list[tuple[int, int]]
"""Cards in order of play as (seat, card)."""

CARD = Card(card_name, card_number)
_TRICK = ListOf(Tuple((Seat(), CARD), "[seat, card]"), "[seat, card] pairs")


def _read_trick(state: Any, seats: int) -> Trick:
    count, size, leader = int(state["count"]), int(state["trick_size"]), int(state["leader"])
    return [((leader + i) % seats, int(state["log"][count - size + i])) for i in range(size)]


def _read_played(state: Any, seats: int) -> list[Trick | None]:
    tricks: list[Trick | None] = []
    for t in range(int(state["trick"])):
        leader = int(state["leaders"][t])
        cards = [((leader + i) % seats, int(state["log"][t * seats + i])) for i in range(seats)]
        tricks.append(cards if leader >= 0 else None)
    return tricks


def trick_fields(most_bid: int) -> tuple[Field, ...]:
    """Rows of the trick games beside the common ones; `most_bid` is the largest bid of any table."""
    return (
        Field("hand_size", Integer(1, PACK // 3)),
        Field("trump", Maybe(Choice(TRUMPS))),
        Field("turned", Maybe(CARD)),
        Field("bids", PerSeat(Maybe(Integer(0, most_bid)))),
        Field("tricks", PerSeat(Integer(0, PACK // 3))),
        Field("trick", _TRICK, _read_trick),
        Field("leader", Seat()),
        Field("played", ListOf(Maybe(_TRICK, None), "tricks"), _read_played),
    )


@dataclass(frozen=True)
class Play:
    """What a position says about the cards played in its round."""

    seats: int
    unknown: int
    """Finished tricks whose cards are unknown; they come first."""
    known: list[Trick]
    trick: Trick

    @property
    def done(self) -> int:
        """Finished tricks."""
        return self.unknown + len(self.known)

    def tricks(self) -> Iterator[tuple[str, Trick]]:
        """The tricks of known cards, each with its place in the position."""
        for i, trick in enumerate(self.known):
            yield f"played[{self.unknown + i}]", trick
        yield "trick", self.trick

    def cards(self, seat: int) -> int:
        """Mask of the known cards that a seat has played."""
        return mask_of(card for _, trick in self.tricks() for player, card in trick if player == seat)

    def laid(self, seat: int) -> int:
        """Cards that a seat has played, unknown ones included."""
        return self.done + sum(player == seat for player, _ in self.trick)


def read_play(given: Given, seats: int) -> Play:
    """Take the play from a position, checking what can be seen without its rules: order of seats, numbers of cards."""
    wins = sum(given.get("tricks", ()))
    played = given.get("played", [None] * wins)
    unknown = next((i for i, trick in enumerate(played) if trick is not None), len(played))
    if None in played[unknown:]:
        place = f"played[{played.index(None, unknown)}]"
        raise mismatch(place, "tricks whose cards are unknown must come before all others")
    if unknown and "tricks" not in given:
        raise mismatch("tricks", "it is needed where played leaves cards unknown")
    if unknown and wins != len(played):
        raise mismatch("tricks", f"{given['tricks']} does not fit played, by which {len(played)} tricks are finished")
    play = Play(seats, unknown, played[unknown:], given.get("trick", []))
    for where, trick in play.tricks():
        complete = where != "trick"
        if (len(trick) != seats) if complete else (len(trick) >= seats):
            allowed = f"a finished trick has {seats}" if complete else f"it must have fewer than {seats}"
            raise mismatch(where, f"{len(trick)} cards; {allowed}")
        for i, (seat, _) in enumerate(trick):
            turn = (trick[0][0] + i) % seats
            if seat != turn:
                raise mismatch(f"{where}[{i}]", f"seat {seat} played out of turn, it was seat {turn}'s")
    return play


def find_dealer(given: Given, play: Play, default: int) -> int:
    """The dealer: as given, or told by who led, leads or bids first (the seat after the dealer), or `default`."""
    if "dealer" in given:
        return int(given["dealer"])
    seats = play.seats
    bids = given.get("bids", [-1] * seats)
    made = [seat for seat in range(seats) if bids[seat] >= 0]
    first = None
    if play.known and not play.unknown:
        first = play.known[0][0][0]
    elif not play.done:
        starts = [seat for seat in made if bids[seat - 1] < 0]
        if play.trick:
            first = play.trick[0][0]
        elif "leader" in given:
            first = given["leader"]
        elif given.get("turn", -1) >= 0:
            first = given["turn"] - len(made)
        elif len(starts) == 1:
            first = starts[0]
    return default if first is None else (int(first) - 1) % seats


def find_hand_size(given: Given, play: Play, default: int) -> int:
    """Cards dealt to each seat: from the hands given (held + played), else `hand_size`, else `default`."""
    seats = play.seats
    hands = given.get("hands", [None] * seats)
    sizes = {seat: popcount(hands[seat]) + play.laid(seat) for seat in range(seats) if hands[seat] is not None}
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"seat {seat} {size}" for seat, size in sizes.items())
        raise mismatch("hands", f"held and played cards of the round must be as many for every seat, not {counts}")
    size = next(iter(sizes.values()), given.get("hand_size", default))
    if given.get("hand_size", size) != size:
        raise mismatch("hand_size", f"{given['hand_size']} does not fit hands, by which it is {size}")
    if not 1 <= size <= PACK // seats:
        raise mismatch("hands" if sizes else "hand_size", f"{size} cards a seat; it must be 1 to {PACK // seats}")
    tricks = "played" if "played" in given else "tricks"
    if play.done > size:
        raise mismatch(tricks, f"{play.done} tricks are finished, but each seat was dealt {size} cards")
    if play.done == size and play.trick:
        raise mismatch("trick", f"all {size} tricks of the round are finished")
    if play.unknown == size:
        raise mismatch(tricks, "all tricks of the round are finished and none of their cards is known")
    return int(size)


def claim_all(given: Given, play: Play, turned: int) -> int:
    """Mask of all cards whose place a position tells; ValueError where one lies in two places."""
    owners: dict[int, str] = {}
    for seat, hand in enumerate(given.get("hands", ())):
        claim_cards(cards_of(hand or 0), f"hands[{seat}]", owners, card_name)
    for where, trick in play.tricks():
        claim_cards((card for _, card in trick), where, owners, card_name)
    if turned >= 0:
        claim_cards([turned], "turned", owners, card_name)
    return mask_of(owners)


def deal_missing(state: Any, used: int, needs: Sequence[int], voids: Sequence[int]) -> tuple[list[int], int]:
    """Deal the cards that a position leaves out, uniformly among the deals that agree with the voids shown.

    The seed's own deal of the round, where it agrees (it does where nothing is given); otherwise one drawn by the seed.

    Args:
        state: the record; its seed, game and round name the deal.
        used: mask of the cards that lie elsewhere.
        needs: number of cards for each seat.
        voids: suits (bits) that each seat cannot hold.

    Returns:
        The cards dealt to each seat as masks, and the next card of the stock (-1: none is left).

    Raises:
        ValueError: no deal agrees.
    """
    key = deal_key(int(state["seed"]), int(state["game"]), int(state["round"]), 0)
    deck = np.empty(PACK, np.int8)
    shuffle(deck, PACK, key)
    cards = [int(card) for card in deck if not used >> int(card) & 1]
    ends = [0, *accumulate(needs)]
    hands = [mask_of(cards[start:end]) for start, end in pairwise(ends)]
    barred = [sum(suit_cards(suit) for suit in cards_of(void)) for void in voids]
    if ends[-1] <= len(cards) and not any(hand & bar for hand, bar in zip(hands, barred, strict=True)):
        return hands, next(iter(cards[ends[-1] :]), -1)
    quotas = np.array([*needs, len(cards) - ends[-1]], np.int64)
    allowed = np.array([FULL_PACK & ~bar for bar in (*barred, 0)], np.int64)
    plan, drawn = new_plan(), np.zeros(len(quotas), np.int64)
    if not prepare(mask_of(cards), quotas, allowed, len(quotas), plan):
        raise mismatch("hands", "the cards not given are too few of the suits that the missing hands may hold")
    key = fold(key, 1)
    counter = draw(plan, key & 0xFFFFFFFF, key >> 32, 0, drawn)
    *hands, stock = (int(hand) for hand in drawn)
    at = random_below(random_bits(key & 0xFFFFFFFF, key >> 32, counter), popcount(stock))
    return hands, nth_bit(stock, at) if stock else -1


def find_leader(given: Given, play: Play, first: int) -> tuple[int, str]:
    """Who leads after the tricks of unknown cards, and the key that says so; `first` sits left of the dealer."""
    leads = [(trick[0][0], where) for where, trick in play.tricks() if trick]
    leads += [(given[key], key) for key in ("leader", "turn") if given.get(key, -1) >= 0]
    order = [(first + i) % play.seats for i in range(play.seats)]
    leads += [(seat, "tricks") for seat in order if given["tricks"][seat]]
    return leads[0]


def replay(state: Any, record: Any, play: Play) -> None:
    """Play the known cards with the game's own functions; ValueError names the first that could not be played."""
    for where, trick in play.tricks():
        for i, (seat, card) in enumerate(trick):
            turn = int(state["turn"])
            if seat != turn:
                raise mismatch(f"{where}[{i}]", f"seat {seat} cannot have played here, it was seat {turn}'s turn")
            cards, _ = legal(state, record)
            if not cards >> card & 1:
                held = ", ".join(names_of(cards))
                text = f"seat {seat} cannot have played {card_name(card)}, it had to play {held}"
                raise mismatch(f"{where}[{i}]", text)
            step(state, record, card)


def settle_unknown(state: Any, given: Given, play: Play, leader: tuple[int, str]) -> None:
    """After `replay`: count the tricks of unknown cards for those who won them, one of them being who led then."""
    wins = given["tricks"]
    before = [wins[seat] - int(state["tricks"][seat]) for seat in range(play.seats)]
    if min(before) < 0:
        raise mismatch("tricks", f"{wins} does not fit played, seat {before.index(min(before))} has won more")
    if before[leader[0]] == 0:
        raise mismatch(leader[1], f"seat {leader[0]} leads, but by tricks it has won none of the tricks before")
    for seat in range(play.seats):
        state["tricks"][seat] = wins[seat]
