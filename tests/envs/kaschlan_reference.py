"""The rules of Kaschlan read once more, plainly: names, lists and sets, and nothing taken from the environments.

Slow and obvious on purpose: a bout is told from its first card to its last, and stops where a player is asked. The
compiled engine is compared with it, move by move.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from fractions import Fraction
from typing import Any

SUITS = "SDCH"
RANKS = "789TJQKA"
PACK = [rank + suit for suit in SUITS for rank in RANKS]
QUEEN = "QD"
"""The highest trump of all."""
PASS = "pass"

DEFAULTS: dict[str, Any] = {
    "num_players": 4,
    "trump_card": "bottom",
    "kutscher_opens_rank": False,
    "pickup": "unbeaten",
    "must_beat": False,
    "attacker_out": "predecessor",
    "payoff": "loser",
    "max_bouts": 100,
}

Asking = Generator[None, str, str]


def resolve(**options: Any) -> dict[str, Any]:
    """All options of a game: those given and the defaults."""
    assert set(options) <= set(DEFAULTS)
    return DEFAULTS | options


def in_order(cards: Sequence[str] | set[str]) -> list[str]:
    """Cards by suit and rank."""
    return sorted(cards, key=PACK.index)


def beats(answer: str, card: str, trump: str) -> bool:
    """Whether a card on the table is beaten by an answer."""
    if card == QUEEN:
        return False
    if answer == QUEEN:
        return True
    if answer[1] == card[1]:
        return RANKS.index(answer[0]) > RANKS.index(card[0])
    return answer[1] == trump


def next_roles(
    seats: int,
    active: Sequence[int],
    attacker: int,
    defender: int,
    attacker_out: bool,
    defender_out: bool,
    beaten: bool,
    succession: str = "predecessor",
) -> tuple[int, int] | None:
    """Who attacks whom in the next bout, or None where the game is over; `active` are the seats still in the game."""
    if len(active) < 2:
        return None

    def after(seat: int) -> int:
        return next(other % seats for other in range(seat + 1, seat + seats + 1) if other % seats in active)

    def before(seat: int) -> int:
        return next(other % seats for other in range(seat - 1, seat - seats - 1, -1) if other % seats in active)

    if attacker_out and defender_out:
        new = after(defender)
    elif attacker_out and succession == "predecessor":
        return before(attacker), defender
    elif defender_out:
        return attacker, after(defender)
    elif beaten:
        new = defender
    else:
        new = after(defender)
    return new, after(new)


class Reference:
    """One game; the caller says how the cards lie as a bout begins.

    Args:
        options: all of them, as `resolve` returns them.
        hands: cards of each seat.
        stock: cards not yet drawn, the next one first, the turned one included.
        turned: card turned up for trump, or None.
        dealer: who dealt; the seat after the dealer attacks the one after that unless something else is said.
        trump: suit of trump, where no card is turned.
        attacker: who attacks first.
        defender: who defends first.
        out: seats that have left, in their order.
        known: cards of each hand that everybody has seen go there.
        bout: number of the first bout.
    """

    def __init__(
        self,
        options: dict[str, Any],
        hands: Sequence[Sequence[str]],
        stock: Sequence[str],
        turned: str | None,
        dealer: int,
        trump: str | None = None,
        attacker: int | None = None,
        defender: int | None = None,
        out: Sequence[int] = (),
        known: Sequence[Sequence[str]] | None = None,
        bout: int = 0,
    ) -> None:
        self.options = options
        self.seats: int = options["num_players"]
        self.hands = [list(hand) for hand in hands]
        self.stock = list(stock)
        self.turned, self.dealer, self.bout = turned, dealer, bout
        self.trump = trump or turned[1]  # type: ignore[index]
        self.out = list(out)
        self.known = [set(cards) for cards in known] if known else [set() for _ in hands]
        self.attacker = self.after(dealer) if attacker is None else attacker
        self.defender = self.after(self.attacker) if defender is None else defender
        self.gone: set[str] = set()
        """Beaten pairs."""
        self.finished = self.truncated = False
        self.history: list[tuple[int, str]] = []
        self.events: list[str] = []
        """What has happened that is rare enough to be looked for."""
        self._clear()
        self._game = self._play()
        next(self._game)

    def _clear(self) -> None:
        self.table: list[list[Any]] = []
        self.rank: str | None = None
        self.kutscher: str | None = None
        self.answered = 0

    @property
    def active(self) -> list[int]:
        """Seats still in the game."""
        return [seat for seat in range(self.seats) if seat not in self.out]

    def after(self, seat: int) -> int:
        """The left neighbour among the seats still in the game."""
        seat = (seat + 1) % self.seats
        while seat in self.out:
            seat = (seat + 1) % self.seats
        return seat

    @property
    def limit(self) -> int:
        """How many cards may lie on the table before the defender adds any."""
        return min(5, len(self.hands[self.defender]))

    def legal(self) -> list[str]:
        """Names of the legal moves."""
        return [] if self.finished else list(self._moves)

    def do(self, move: str) -> None:
        """Make a legal move."""
        assert move in self.legal(), move
        assert self.turn is not None
        self.history.append((self.turn, move))
        try:
            self._game.send(move)
        except StopIteration:
            self.finished, self.phase, self.turn = True, "over", None

    def _ask(self, phase: str, seat: int, cards: Sequence[str], may_pass: bool = True) -> Asking:
        """Ask a seat for one of some cards, which leaves its hand, or for a pass."""
        self.phase: str = phase
        self.turn: int | None = seat
        self._moves = [*cards, PASS] if may_pass else list(cards)
        move = yield
        if move != PASS:
            self.hands[seat].remove(move)
            self.known[seat].discard(move)
        return move

    def _draw(self, seat: int) -> None:
        """A seat draws up to five; one with nothing left is out."""
        while self.stock and len(self.hands[seat]) < 5:
            card = self.stock.pop(0)
            self.hands[seat].append(card)
            if card == self.turned:
                self.known[seat].add(card)
        if not self.hands[seat] and not self.stock:
            self.out.append(seat)

    def _play(self) -> Generator[None, str, None]:
        while True:
            yield from self._bout()
            if len(self.active) < 2:
                return
            if self.bout + 1 >= self.options["max_bouts"]:
                self.truncated = True
                return
            self.attacker, self.defender = self._next
            self.bout += 1

    def _bout(self) -> Generator[None, str, None]:
        yield from self._lay()
        self._draw(self.attacker)
        others = [(self.defender + i) % self.seats for i in range(1, self.seats)]
        for seat in others:
            if seat != self.attacker and seat not in self.out:
                yield from self._throw(seat)
        yield from self._throw_own()
        yield from self._beat()
        self._close()

    def _lay(self) -> Generator[None, str, None]:
        while len(self.table) < self.limit:
            hand = self.hands[self.attacker]
            of_rank = [card for card in hand if self.rank in (None, card[0])]
            laid = [card for card, _, _ in self.table if card[0] == self.rank]
            others = [card for card in hand if card not in of_rank]
            cards = of_rank + (others if len(laid) >= 2 and self.kutscher is None else [])
            card = yield from self._ask("lay", self.attacker, cards, may_pass=bool(self.table))
            if card == PASS:
                return
            if self.rank is None:
                self.rank = card[0]
            elif card[0] != self.rank:
                self.kutscher = card
                self.events.append("kutscher")
            self.table.append([card, None, self.attacker])

    def _throwable(self, seat: int) -> list[str]:
        ranks = {self.rank}
        if self.options["kutscher_opens_rank"] and self.kutscher is not None:
            ranks.add(self.kutscher[0])
        return [card for card in self.hands[seat] if card[0] in ranks]

    def _throw(self, seat: int) -> Generator[None, str, None]:
        threw = False
        while len(self.table) < self.limit:
            card = yield from self._ask("throw", seat, self._throwable(seat))
            if card == PASS:
                break
            threw = True
            self.events.append("throw" if card[0] == self.rank else "throw of the Kutscher's rank")
            self.table.append([card, None, seat])
        if threw:
            self._draw(seat)
            if seat in self.out:
                self.events.append("thrower out")

    def _throw_own(self) -> Generator[None, str, None]:
        seat = self.defender
        while len(self.table) + 1 <= min(5, len(self.hands[seat]) - 1):
            card = yield from self._ask("throw_own", seat, self._throwable(seat))
            if card == PASS:
                return
            self.events.append("throw own")
            self.table.append([card, None, seat])

    def _beat(self) -> Generator[None, str, None]:
        for entry in self.table:
            hand = self.hands[self.defender]
            cards = [card for card in hand if beats(card, entry[0], self.trump)]
            may_pass = not (self.options["must_beat"] and cards)
            answer = yield from self._ask("beat", self.defender, cards, may_pass)
            if answer != PASS:
                entry[1] = answer
            self.answered += 1

    def _close(self) -> None:
        """The pairs go, the defender draws or takes, and the next roles are found."""
        defender = self.defender
        left = [card for card, answer, _ in self.table if answer is None]
        pairs = [card for card, answer, _ in self.table if answer is not None]
        pairs += [answer for _, answer, _ in self.table if answer is not None]
        if left and self.options["pickup"] == "all":
            left, pairs = left + pairs, []
        self.gone |= set(pairs)
        self.hands[defender] += left
        self.known[defender] |= set(left)
        if not left:
            self._draw(defender)
        attacker_out, defender_out = self.attacker in self.out, defender in self.out
        who = {(True, True): "both", (True, False): "attacker", (False, True): "defender"}
        if (attacker_out, defender_out) in who:
            self.events.append(f"{who[attacker_out, defender_out]} out, {len(self.active)} left")
        self.events.append("taken" if left else "beaten")
        roles = next_roles(
            self.seats,
            self.active,
            self.attacker,
            defender,
            attacker_out,
            defender_out,
            not left,
            self.options["attacker_out"],
        )
        self._next = roles or (-1, -1)
        self._clear()

    def payoffs(self) -> list[Fraction]:
        """Rewards of all seats at the end."""
        n = self.seats
        assert self.finished
        if self.truncated:
            return [Fraction(0)] * n
        if self.options["payoff"] == "places":
            order = self.out + self.active
            return [1 - Fraction(2 * order.index(seat), n - 1) for seat in range(n)]
        if not self.active:
            return [Fraction(0)] * n
        loser = self.active[0]
        return [Fraction(-1) if seat == loser else Fraction(1, n - 1) for seat in range(n)]

    def snapshot(self) -> dict[str, Any]:
        """The position, by the keys that snapshots have."""
        return {
            "round": 0,
            "dealer": self.dealer,
            "phase": self.phase,
            "turn": self.turn,
            "scores": [0] * self.seats,
            "hands": [in_order(hand) for hand in self.hands],
            "finished": self.finished,
            "stock": list(self.stock),
            "turned": self.turned,
            "trump": self.trump,
            "attacker": self.attacker,
            "defender": self.defender,
            "rank": self.rank,
            "kutscher": self.kutscher,
            "table": [list(entry) for entry in self.table],
            "answered": self.answered,
            "known": [in_order(cards) for cards in self.known],
            "bout": self.bout,
            "out": list(self.out),
        }
