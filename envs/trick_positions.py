"""Positions of the trick games: the snapshot rows they share, and the steps that rebuild a round from them.

A finished trick is a list of ``[seat, card]`` in order of play, or None where a position tells only who won it
(`tricks` without `played`). Tricks of unknown cards come first in a round; in the record their entries of ``log`` and
``leaders`` are -1, and what is remembered of played cards and proven voids knows nothing of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
)
from envs.fields import Card, Choice, Field, Given, Integer, ListOf, Maybe, PerSeat, Seat, Tuple, claim_cards, mismatch
from envs.game import legal, step
from envs.jit import nth_bit, popcount
from envs.sampling import count, draw, new_plan, prepare
from envs.tricks import deal_key

Trick = list[tuple[int, int]]
"""Cards in order of play as (seat, card)."""

CARD = Card(card_name, card_number)
MOST_TRIES = 100_000
"""Deals drawn in search of one that is accepted."""
_TRICK = ListOf(Tuple((Seat(), CARD), "[seat, card]"), "[seat, card] pairs")


def players_of(state: Any, seats: int) -> tuple[int, ...]:
    """Seats that play a record's round: all, unless its field ``playing`` says which."""
    playing = int(state["playing"]) if "playing" in state.dtype.names else (1 << seats) - 1
    return tuple(cards_of(playing))


def in_order(players: Sequence[int], first: int) -> list[int]:
    """Those who play, in order of play from `first` on (who may not play: then from the next who does)."""
    return [seat for seat in players if seat >= first] + [seat for seat in players if seat < first]


def _read_trick(state: Any, seats: int) -> Trick:
    start = int(state["count"]) - int(state["trick_size"])
    order = in_order(players_of(state, seats), int(state["leader"]))
    return [(order[i], int(state["log"][start + i])) for i in range(int(state["trick_size"]))]


def _read_played(state: Any, seats: int) -> list[Trick | None]:
    tricks: list[Trick | None] = []
    players = players_of(state, seats)
    for t in range(int(state["trick"])):
        leader = int(state["leaders"][t])
        order = in_order(players, leader)
        cards = [(seat, int(state["log"][t * len(order) + i])) for i, seat in enumerate(order)]
        tricks.append(cards if leader >= 0 else None)
    return tricks


def _read_turned(state: Any, seats: int) -> int:
    return int(state["turned"]) if "turned" in state.dtype.names else -1


def trick_fields(most_bid: int) -> tuple[Field, ...]:
    """Rows of the trick games beside the common ones; `most_bid` is the largest bid of any table."""
    return (
        Field("hand_size", Integer(1, PACK // 3)),
        Field("trump", Maybe(Choice(TRUMPS))),
        Field("turned", Maybe(CARD), _read_turned),
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
    players: tuple[int, ...]
    """Seats that play the round, ascending."""
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


def read_play(given: Given, seats: int, players: Sequence[int] | None = None) -> Play:
    """Take the play from a position, checking what can be seen without its rules: order of seats, numbers of cards.

    `players` are the seats that play the round, ascending (None: all).
    """
    players = tuple(range(seats)) if players is None else tuple(players)
    size = len(players)
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
    play = Play(seats, players, unknown, played[unknown:], given.get("trick", []))
    for where, trick in play.tricks():
        complete = where != "trick"
        if (len(trick) != size) if complete else (len(trick) >= size):
            allowed = f"a finished trick has {size}" if complete else f"it must have fewer than {size}"
            raise mismatch(where, f"{len(trick)} cards; {allowed}")
        order = in_order(players, trick[0][0]) if trick else []
        for i, ((seat, _), turn) in enumerate(zip(trick, order, strict=False)):
            if seat != turn:
                raise mismatch(f"{where}[{i}]", f"seat {seat} played out of turn, it was seat {turn}'s")
    return play


def find_dealer(given: Given, play: Play, default: int) -> int:
    """The dealer: as given, or told by who led, leads or bids first (the seat after the dealer), or `default`."""
    if "dealer" in given:
        return int(given["dealer"])
    bids = given.get("bids", [-1] * play.seats)
    made = [seat for seat in play.players if bids[seat] >= 0]
    first = None
    if play.known and not play.unknown:
        first = play.known[0][0][0]
    elif not play.done:
        starts = [seat for seat in made if bids[in_order(play.players, seat)[-1]] < 0]
        if play.trick:
            first = play.trick[0][0]
        elif "leader" in given:
            first = given["leader"]
        elif given.get("turn", -1) >= 0:
            first = in_order(play.players, given["turn"])[-len(made) % len(play.players)]
        elif len(starts) == 1:
            first = starts[0]
    if first is None or in_order(play.players, (default + 1) % play.seats)[0] == first:
        return default
    return (int(first) - 1) % play.seats


def find_hand_size(given: Given, play: Play, default: int) -> int:
    """Cards dealt to each seat: from the hands given (held + played), else `hand_size`, else `default`."""
    seats = play.seats
    hands = given.get("hands", [None] * seats)
    sizes = {seat: popcount(hands[seat]) + play.laid(seat) for seat in play.players if hands[seat] is not None}
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


def _seed_deal(key: int, used: int, needs: Sequence[int]) -> tuple[list[int], list[int]]:
    """The deal of a key without the cards used: the hands needed as masks, and the rest of the pack in order."""
    deck = np.empty(PACK, np.int8)
    shuffle(deck, PACK, key)
    cards = [int(card) for card in deck if not used >> int(card) & 1]
    ends = [0, *accumulate(needs)]
    return [mask_of(cards[start:end]) for start, end in pairwise(ends)], cards[ends[-1] :]


def _choose_case(cases: Sequence[Sequence[int]], cards: int, quotas: np.ndarray, plan: Any, key: int) -> bool:
    """Prepare the plan of one case, drawn with the weight of the deals it has; False: there is no deal."""

    def study(barred: Sequence[int]) -> float:
        allowed = np.array([FULL_PACK & ~bar for bar in (*barred, 0)], np.int64)
        return float(count(plan)) if prepare(cards, quotas, allowed, len(quotas), plan) else 0.0

    weights = [study(barred) for barred in cases]
    at = random_bits(key & 0xFFFFFFFF, key >> 32, 0) / 2**32 * sum(weights)
    chosen = next((i for i, end in enumerate(accumulate(weights)) if at < end), 0)
    return bool(study(cases[chosen]) > 0.0)


def deal_missing(
    state: Any,
    used: int,
    needs: Sequence[int],
    cases: Sequence[Sequence[int]],
    accepts: Callable[[list[int]], bool] | None = None,
    numbers: Sequence[int] = (0,),
) -> tuple[list[int], int, int]:
    """Deal the cards that a position leaves out, uniformly among the deals that agree with what is known of them.

    The seed's own deal of the round, where it agrees (it does where nothing is given); otherwise one drawn by the seed.

    Args:
        state: the record; its seed, game and round name the deal.
        used: mask of the cards that lie elsewhere.
        needs: number of cards for each seat.
        cases: what is known: masks of the cards that each seat cannot hold, one list for each case that may be true;
            no deal may agree with two of them.
        accepts: whether the cards dealt to each seat may be so, for what masks cannot say; most deals must.
        numbers: the seed's own deals to try, by their redeal number.

    Returns:
        The cards dealt to each seat as masks, the next card of the stock (-1: none is left), and the number of the
        seed's own deal (the first of `numbers` where it is none).

    Raises:
        ValueError: no deal agrees.
    """
    seed, game, round_ = int(state["seed"]), int(state["game"]), int(state["round"])
    for number in numbers:
        hands, rest = _seed_deal(deal_key(seed, game, round_, number), used, needs)
        fits = any(not any(hand & bar for hand, bar in zip(hands, barred, strict=True)) for barred in cases)
        enough = sum(map(popcount, hands)) == sum(needs)
        if fits and enough and (accepts is None or accepts(hands)):
            return hands, next(iter(rest), -1), number
    cards = FULL_PACK & ~used
    quotas = np.array([*needs, popcount(cards) - sum(needs)], np.int64)
    plan, drawn = new_plan(), np.zeros(len(quotas), np.int64)
    key = fold(deal_key(seed, game, round_, numbers[0]), 1)
    if _choose_case(cases, cards, quotas, plan, fold(key, 1)):
        counter = 0
        for _ in range(MOST_TRIES):
            counter = draw(plan, key & 0xFFFFFFFF, key >> 32, counter, drawn)
            *hands, stock = (int(hand) for hand in drawn)
            if accepts is None or accepts(hands):
                at = random_below(random_bits(key & 0xFFFFFFFF, key >> 32, counter), popcount(stock))
                return hands, nth_bit(stock, at) if stock else -1, numbers[0]
    raise mismatch("hands", "the cards not given are too few of the suits that the missing hands may hold")


def find_leader(given: Given, play: Play, first: int) -> tuple[int, str]:
    """Who leads after the tricks of unknown cards, and the key that says so; `first` sits left of the dealer."""
    leads = [(trick[0][0], where) for where, trick in play.tricks() if trick]
    leads += [(given[key], key) for key in ("leader", "turn") if given.get(key, -1) >= 0]
    leads += [(seat, "tricks") for seat in in_order(play.players, first) if given["tricks"][seat]]
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
