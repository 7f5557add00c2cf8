"""The rules of Kachuful read once more, plainly: names, lists and dicts, and nothing taken from the environments.

Slow and obvious on purpose: the compiled engine is compared with it, move by move.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

SUITS = "SDCH"
RANKS = "23456789TJQKA"
PACK = [rank + suit for suit in SUITS for rank in RANKS]

DEFAULTS: dict[str, Any] = {
    "num_players": 4,
    "max_hand": None,
    "min_hand": 1,
    "schedule": "down_up",
    "cycles": 1,
    "trump": "SDCH",
    "no_trump_every": 0,
    "hook": True,
    "blind": "off",
    "blind_doubles": "score",
    "single_card": "normal",
    "revoke": "masked",
    "scoring": "ten_plus_bid",
    "reward": "margin",
}


def resolve(preset: str | None = None, **options: Any) -> dict[str, Any]:
    """All options of a game: those given, those of a preset, and the defaults."""
    seats = options.get("num_players", 4)
    presets: dict[str | None, dict[str, Any]] = {
        None: {},
        "kachuful": {},
        "kachufol": {"schedule": "up_down", "max_hand": min(7, 52 // seats)},
        "judgement": {"scoring": "judgement"},
        "blackout": {},
        "progressive": {"schedule": "down"},
        "double": {"cycles": 2},
        "sun": {"trump": "SDCHN"},
    }
    resolved = DEFAULTS | presets[preset] | options
    if resolved["max_hand"] is None:
        resolved["max_hand"] = {3: 10, 4: 10, 5: 10, 6: 8, 7: 7, 8: 6}[seats]
    if resolved["max_hand"] == "full":
        resolved["max_hand"] = {3: 17, 4: 13, 5: 10, 6: 8, 7: 7, 8: 6}[seats]
    return resolved


def hand_sizes(options: dict[str, Any]) -> list[int]:
    """Cards a seat in every round of the game."""
    down = list(range(options["max_hand"], options["min_hand"] - 1, -1))
    up = list(range(options["min_hand"], options["max_hand"] + 1))
    schedules = {"down_up": down + up[1:], "up_down": up + down[1:], "down": down, "up": up}
    return schedules[options["schedule"]] * options["cycles"]


def turns_a_card(options: dict[str, Any], round_: int) -> bool:
    """Whether a card of the stock is turned up in a round."""
    left = 52 - options["num_players"] * hand_sizes(options)[round_]
    return options["trump"] == "turn_up" and left >= 1 and not no_trump_round(options, round_)


def no_trump_round(options: dict[str, Any], round_: int) -> bool:
    return options["no_trump_every"] > 0 and round_ % options["no_trump_every"] == options["no_trump_every"] - 1


def trump_of(options: dict[str, Any], round_: int, turned: str | None) -> str:
    """Trump of a round: S, D, C, H or N."""
    if no_trump_round(options, round_):
        return "N"
    if options["trump"] == "turn_up":
        return "N" if turned is None else turned[1]
    cycle = list(options["trump"]) * (round_ + 1)
    return cycle[round_]


def winner(trick: list[tuple[int, str]], trump: str) -> int:
    """Seat that wins a complete trick."""
    trumps = [(RANKS.index(card[0]), seat) for seat, card in trick if card[1] == trump]
    followers = [(RANKS.index(card[0]), seat) for seat, card in trick if card[1] == trick[0][1][1]]
    return max(trumps or followers)[1]


def points(options: dict[str, Any], bid: int, won: int, blind: bool, revoked: bool = False) -> int:
    """Points of a seat for a round."""
    exact = bid == won
    result = {
        "ten_plus_bid": 10 + bid if exact else 0,
        "ten_times_bid_plus_ten": 10 * bid + 10 if exact else 0,
        "minus_difference": 10 + bid if exact else -abs(bid - won),
        "trick_plus_bonus": won + 10 if exact else won,
        "judgement": 10 if exact else -10,
    }[options["scoring"]]
    if exact and blind:
        result = 2 * result if options["blind_doubles"] == "score" else result + 10
    return min(0, result) if revoked else result


class Reference:
    """One game; the caller makes the deals and names the first dealer.

    Args:
        options: all of them, as `resolve` returns them.
        dealer: the first dealer.
    """

    def __init__(self, options: dict[str, Any], dealer: int) -> None:
        self.options = options
        self.seats: int = options["num_players"]
        self.sizes = hand_sizes(options)
        self.round = -1
        self.dealer = (dealer - 1) % self.seats
        self.scores = [0] * self.seats
        self.phase = "over"
        self.history: list[tuple[int, str]] = []

    def begin(self, hands: list[list[str]], turned: str | None) -> None:
        """Begin the next round with these cards."""
        self.round += 1
        self.dealer = (self.dealer + 1) % self.seats
        self.size = self.sizes[self.round]
        assert [len(hand) for hand in hands] == [self.size] * self.seats
        assert (turned is not None) == turns_a_card(self.options, self.round)
        out = [card for hand in hands for card in hand] + ([] if turned is None else [turned])
        assert len(set(out)) == len(out)
        assert set(out) <= set(PACK)
        self.hands = [list(hand) for hand in hands]
        self.turned = turned
        self.trump = trump_of(self.options, self.round, turned)
        self.hidden = self.size == 1 and self.options["single_card"] != "normal"
        self.bids: list[int | None] = [None] * self.seats
        self.blind, self.looked, self.revoked = ([False] * self.seats for _ in range(3))
        self.tricks = [0] * self.seats
        self.trick: list[tuple[int, str]] = []
        self.played: list[list[tuple[int, str]]] = []
        self.turn: int | None = (self.dealer + 1) % self.seats
        self.leader = self.turn
        self.phase = "bid"
        self.gained = [0] * self.seats

    @property
    def finished(self) -> bool:
        return self.phase == "over" and self.round + 1 == len(self.sizes)

    def legal(self) -> list[str]:
        """Names of the legal moves."""
        if self.phase == "over":
            return []
        assert self.turn is not None
        return self._legal_bids() if self.phase == "bid" else self._legal_cards(self.hands[self.turn])

    def _legal_bids(self) -> list[str]:
        made = [bid for bid in self.bids if bid is not None]
        numbers = list(range(self.size + 1))
        if self.options["hook"] and len(made) == self.seats - 1:
            numbers = [number for number in numbers if sum(made) + number != self.size]
        plain = [f"bid {number}" for number in numbers]
        blind = [f"blind {number}" for number in numbers]
        if self.options["blind"] == "off" or self.hidden:
            return plain
        if self.options["blind"] == "forced":
            return blind
        assert self.turn is not None
        return plain if self.looked[self.turn] else [*blind, "look"]

    def _legal_cards(self, hand: list[str]) -> list[str]:
        following = [card for card in hand if self.trick and card[1] == self.trick[0][1][1]]
        return list(hand) if self.options["revoke"] == "penalty" or not following else following

    def do(self, move: str) -> None:
        """Make a legal move, and play the round out where no decision is left in it."""
        assert move in self.legal(), move
        self._do(move)
        while self.phase == "play" and self.hidden:
            assert self.turn is not None
            self._do(self.hands[self.turn][0])

    def _do(self, move: str) -> None:
        seat = self.turn
        assert seat is not None
        self.history.append((seat, move))
        if move == "look":
            self.looked[seat] = True
        elif " " in move:
            kind, number = move.split()
            self.bids[seat] = int(number)
            self.blind[seat] = kind == "blind"
            self.turn = (seat + 1) % self.seats
            if None not in self.bids:
                self.phase = "play"
        else:
            self._play(seat, move)

    def _play(self, seat: int, card: str) -> None:
        if self.trick and card[1] != self.trick[0][1][1]:
            able = [other for other in self.hands[seat] if other[1] == self.trick[0][1][1]]
            self.revoked[seat] = self.revoked[seat] or bool(able)
        self.hands[seat].remove(card)
        self.trick.append((seat, card))
        self.turn = (seat + 1) % self.seats
        if len(self.trick) == self.seats:
            self.leader = self.turn = winner(self.trick, self.trump)
            self.tricks[self.turn] += 1
            self.played.append(self.trick)
            self.trick = []
        if len(self.played) == self.size:
            self._score()

    def _score(self) -> None:
        for seat in range(self.seats):
            bid = self.bids[seat]
            assert bid is not None
            self.gained[seat] = points(self.options, bid, self.tricks[seat], self.blind[seat], self.revoked[seat])
            self.scores[seat] += self.gained[seat]
        self.phase, self.turn = "over", None

    def sees(self, seat: int, other: int) -> bool:
        """Whether a seat may see what another (or it itself) holds."""
        if self.hidden:
            return seat != other and self.options["single_card"] == "forehead"
        if seat != other:
            return False
        return self.options["blind"] == "off" or self.looked[seat] or self.bids[seat] is not None

    def rewards(self) -> list[Fraction]:
        """Rewards for the round that has just been scored."""
        n = self.seats
        if self.options["reward"] == "score":
            return [Fraction(gained) for gained in self.gained]
        if self.options["reward"] == "margin":
            return [
                Fraction(own) - Fraction(sum(self.gained[:seat] + self.gained[seat + 1 :]), n - 1)
                for seat, own in enumerate(self.gained)
            ]
        if not self.finished:
            return [Fraction(0)] * n
        best = max(self.scores)
        share = Fraction(1, self.scores.count(best))
        return [(share if score == best else 0) - Fraction(1, n) for score in self.scores]

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
            "hand_size": self.size,
            "trump": self.trump,
            "turned": self.turned,
            "bids": self.bids,
            "tricks": self.tricks,
            "trick": [list(card) for card in self.trick],
            "leader": self.leader,
            "played": [[list(card) for card in trick] for trick in self.played],
            "blind": self.blind,
            "looked": self.looked,
            "revoked": self.revoked,
        }
