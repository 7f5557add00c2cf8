"""The rules of Call Break read once more, plainly: names, lists and dicts, and nothing taken from the environments.

Slow and obvious on purpose: the compiled engine is compared with it, move by move.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

SUITS = "SDCH"
RANKS = "23456789TJQKA"
PACK = [rank + suit for suit in SUITS for rank in RANKS]
SEATS = range(4)
Trick = list[tuple[int, str]]
Deal = Callable[[int, int, list[int]], list[list[str]]]
"""``deal(round, number of the deal in it, seats that play)`` -> a hand for each of the four seats."""

DEFAULTS: dict[str, Any] = {
    "num_players": 4,
    "rounds": 5,
    "min_call": 2,
    "max_call": 13,
    "must_beat": "always",
    "undertrump": "forced",
    "spade_lead": "restricted",
    "trump": "spades",
    "redeal_total": None,
    "bonus_call": None,
    "partnerships": False,
    "misdeal": "off",
    "tie": "extra_round",
    "reward": "margin",
}
PRESETS: dict[str | None, dict[str, Any]] = {
    None: {},
    "call_break": {},
    "nine_rounds": {"rounds": 9},
    "partners": {"partnerships": True},
    "pagat": {"must_beat": "off", "undertrump": "free", "bonus_call": 8, "redeal_total": 9},
    "app": {
        "min_call": 1,
        "max_call": 8,
        "must_beat": "until_trumped",
        "undertrump": "free",
        "spade_lead": "free",
        "tie": "shared",
    },
    "first_lead": {"trump": "first_lead"},
}


def resolve(preset: str | None = None, **options: Any) -> dict[str, Any]:
    """All options of a game: those given, those of a preset, and the defaults."""
    return DEFAULTS | PRESETS[preset] | options


def rank(card: str) -> int:
    return RANKS.index(card[0])


def legal_cards(options: dict[str, Any], hand: list[str], trick: list[str], trump: str | None, first: bool) -> set[str]:
    """Cards that may be played, by the sentences A3.14-A3.19 in turn.

    Args:
        options: all of them.
        hand: cards held.
        trick: cards lying in the trick, in order.
        trump: its suit, ``"N"`` for none, None while a first lead has still to name it.
        first: whether this is the first trick of the deal.
    """
    if not trick:
        plain = {card for card in hand if card[1] != "S"}
        if first and options["spade_lead"] == "restricted" and options["trump"] == "spades" and plain:
            return plain
        return set(hand)
    led = trick[0][1]
    trumps_there = [card for card in trick if card[1] == trump]
    followers = {card for card in hand if card[1] == led}
    if followers:
        if options["must_beat"] == "off":
            return followers
        if options["must_beat"] == "until_trumped" and led != trump and trumps_there:
            return followers
        highest = max(rank(card) for card in trick if card[1] == led)
        return {card for card in followers if rank(card) > highest} or followers
    trumps = {card for card in hand if card[1] == trump}
    if not trumps:
        return set(hand)
    if not trumps_there:
        return trumps
    higher = {card for card in trumps if rank(card) > max(rank(other) for other in trumps_there)}
    if higher:
        return higher
    return trumps if options["undertrump"] == "forced" else set(hand)


def winner(trick: Trick, trump: str | None) -> int:
    """Seat that wins a complete trick."""
    trumps = [(rank(card), seat) for seat, card in trick if card[1] == trump]
    followers = [(rank(card), seat) for seat, card in trick if card[1] == trick[0][1][1]]
    return max(trumps or followers)[1]


def tenths(options: dict[str, Any], call: int, won: int) -> int:
    """Tenths of a point for a call."""
    if won < call:
        return -10 * call
    if options["bonus_call"] is not None and call >= options["bonus_call"]:
        return 130
    return 10 * call + (won - call)


def round_tenths(options: dict[str, Any], calls: list[int | None], won: list[int]) -> list[int]:
    """Tenths of every seat for a round; a seat without a call sits out."""
    if not options["partnerships"]:
        return [0 if call is None else tenths(options, call, won[seat]) for seat, call in enumerate(calls)]
    teams = [tenths(options, sum(calls[team::2]), sum(won[team::2])) for team in (0, 1)]  # type: ignore[arg-type]
    return teams * 2


def is_misdeal(options: dict[str, Any], hand: list[str]) -> bool:
    suits = {card[1] for card in hand}
    return len(hand) == 13 and (len(suits) == 1 or (options["trump"] == "spades" and "S" not in suits))


class Reference:
    """One game.

    Args:
        options: all of them, as `resolve` returns them.
        dealer: the first dealer.
        deal: makes the deals.
    """

    def __init__(self, options: dict[str, Any], dealer: int, deal: Deal) -> None:
        self.options = options
        self.deal = deal
        self.dealer = dealer
        self.round = 0
        self.scores = [0] * 4
        self.gained = [0] * 4
        self.playing = list(SEATS)
        self.finished = False
        self.deals = self.redeals = 0
        self._deal()

    def _deal(self) -> None:
        while True:
            hands = self.deal(self.round, self.deals, self.playing)
            out = [card for hand in hands for card in hand]
            assert [len(hand) for hand in hands] == [13 if seat in self.playing else 0 for seat in SEATS]
            assert len(set(out)) == len(out)
            if self.options["misdeal"] != "auto" or not any(is_misdeal(self.options, hand) for hand in hands):
                break
            self.deals += 1
        self.hands = [list(hand) for hand in hands]
        self.bids: list[int | None] = [None] * 4
        self.votes: list[str | None] = [None] * 4
        self.claimer: int | None = None
        self.tricks = [0] * 4
        self.trick: Trick = []
        self.played: list[Trick] = []
        self.trump = {"spades": "S", "none": "N", "first_lead": None}[self.options["trump"]]
        self.first = self.leader = self._next(self.dealer)
        self.turn: int | None = self.first
        self.phase = "misdeal" if self.options["misdeal"] == "vote" else "bid"

    def _next(self, seat: int) -> int:
        order = [(seat + i) % 4 for i in range(1, 5)]
        return next(other for other in order if other in self.playing)

    def legal(self) -> list[str]:
        """Names of the legal moves."""
        if self.turn is None:
            return []
        hand = self.hands[self.turn]
        if self.phase == "misdeal":
            if self.claimer is not None:
                return ["agree", "refuse"]
            return ["claim", "pass"] if is_misdeal(self.options, hand) else ["pass"]
        if self.phase == "bid":
            return [f"bid {call}" for call in range(self.options["min_call"], self.options["max_call"] + 1)]
        trick = [card for _, card in self.trick]
        return sorted(legal_cards(self.options, hand, trick, self.trump, not self.played), key=PACK.index)

    def do(self, move: str) -> None:
        """Make a legal move."""
        assert move in self.legal(), move
        seat = self.turn
        assert seat is not None
        if self.phase == "misdeal":
            self._vote(seat, move)
        elif self.phase == "bid":
            self._bid(seat, int(move.split()[1]))
        else:
            self._play(seat, move)

    def _vote(self, seat: int, vote: str) -> None:
        self.votes[seat] = vote
        self.turn = self._next(seat)
        if vote == "claim":
            self.claimer = seat
        elif vote == "refuse" or (vote == "pass" and self.turn == self.first):
            self.phase, self.turn = "bid", self.first
        elif vote == "agree" and self.turn == self.claimer:
            self.deals += 1
            self._deal()

    def _bid(self, seat: int, call: int) -> None:
        self.bids[seat] = call
        self.turn = self._next(seat)
        made = [bid for bid in self.bids if bid is not None]
        if len(made) < len(self.playing):
            return
        self.phase = "play"
        total = self.options["redeal_total"]
        if total is not None and len(made) == 4 and sum(made) <= total and self.redeals < 10:
            self.deals += 1
            self.redeals += 1
            self._deal()

    def _play(self, seat: int, card: str) -> None:
        if self.trump is None:
            self.trump = card[1]
        self.hands[seat].remove(card)
        self.trick.append((seat, card))
        self.turn = self._next(seat)
        if len(self.trick) < len(self.playing):
            return
        self.leader = self.turn = winner(self.trick, self.trump)
        self.tricks[self.leader] += 1
        self.played.append(self.trick)
        self.trick = []
        if len(self.played) == 13:
            self._score()

    def tied(self) -> list[int]:
        """Seats at the top of the scores, if they are not one side alone."""
        top = [seat for seat in SEATS if self.scores[seat] == max(self.scores)]
        sides = {seat % 2 for seat in top} if self.options["partnerships"] else set(top)
        return top if len(sides) > 1 else []

    def _score(self) -> None:
        self.gained = round_tenths(self.options, self.bids, self.tricks)
        self.scores = [score + gained for score, gained in zip(self.scores, self.gained, strict=True)]
        self.phase, self.turn = "over", None
        if self.round == self.options["rounds"]:
            self.finished = True
        elif self.round + 1 == self.options["rounds"]:
            self.finished = self.options["tie"] == "shared" or not self.tied()

    def next_round(self) -> None:
        """Go on to the next round."""
        assert self.phase == "over"
        assert not self.finished
        self.round += 1
        self.dealer = (self.dealer + 1) % 4
        self.deals = self.redeals = 0
        if self.round == self.options["rounds"]:
            self.playing = self.tied()
        self._deal()

    def places(self) -> list[int]:
        """Places in the finished game, 1 the best."""
        if self.round == self.options["rounds"]:
            keys = [(1, self.gained[seat]) if seat in self.playing else (0, self.scores[seat]) for seat in SEATS]
        else:
            keys = [(0, score) for score in self.scores]
        return [1 + sum(other > key for other in keys) for key in keys]

    def rewards(self) -> list[Fraction]:
        """Rewards, in points, for the round that has just been scored."""
        if self.options["reward"] == "win":
            if not self.finished:
                return [Fraction(0)] * 4
            places = self.places()
            return [Fraction(int(place == 1), places.count(1)) - Fraction(1, 4) for place in places]
        rewards = []
        for seat in SEATS:
            own = Fraction(self.gained[seat], 10)
            rivals = [other for other in self.playing if other != seat]
            if self.options["partnerships"]:
                rivals = [other for other in rivals if other % 2 != seat % 2]
            if self.options["reward"] == "margin" and seat in self.playing:
                own -= Fraction(sum(self.gained[other] for other in rivals), 10 * len(rivals))
            rewards.append(own)
        return rewards

    def snapshot(self) -> dict[str, Any]:
        """The position, by the keys that snapshots have."""
        return {
            "round": self.round,
            "dealer": self.dealer,
            "phase": self.phase,
            "turn": self.turn,
            "scores": self.scores,
            "hands": [sorted(hand, key=PACK.index) for hand in self.hands],
            "finished": self.finished,
            "hand_size": 13,
            "trump": self.trump,
            "turned": None,
            "bids": self.bids,
            "tricks": self.tricks,
            "trick": [list(card) for card in self.trick],
            "leader": self.leader,
            "played": [[list(card) for card in trick] for trick in self.played],
            "redeals": self.redeals,
            "claimer": self.claimer,
            "votes": self.votes,
        }
