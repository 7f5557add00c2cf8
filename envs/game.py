"""The contract between a game and everything else, and the compiled loops over many records.

A game is one NumPy record (its state), one record of options, and the functions of `Engine` on them. The functions
of the same names in this module pick a game's own by the type of the state record, at compile time where
compiled; so one loop, written once, serves all games and is cached on disk for each of them.

Words of actions: a set of actions is two words of `ACTION_WORD` bits, action ``a`` being bit ``a % 52`` of word
``a // 52``; in the games with 52 cards the first word is a set of cards.
"""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.extending import overload

from envs.jit import PLAIN, jit
from envs.layout import Layout

SEATS = 8
"""Seats of every state record; games with fewer players leave the rest unused."""
ACTION_WORD = 52
OVER = 0
"""Phase between a finished round and the next, and of a finished game. Games number their phases from 1."""
ROUND_OVER, GAME_OVER, TRUNCATED = 1, 2, 4
"""Flags that a step returns; a game that ends or is truncated ends its round too."""
PLAY_STREAM = 3

COMMON_FIELDS: list[Any] = [
    ("seed", np.int64),  # 0..2**63-1
    ("game", np.int32),  # number of the game under this seed
    ("moves", np.int32),  # moves made in this game
    ("round", np.int32),
    ("scores", np.int32, (SEATS,)),
    ("gained", np.int32, (SEATS,)),  # points of the last finished round
    ("dealer", np.int8),
    ("phase", np.int8),
    ("turn", np.int8),  # seat to act, or -1
    ("finished", np.int8),  # 1 once the game has ended, 2 if it was truncated
]
"""Fields that every state record begins with. Records have no padding: they are compared and hashed as bytes."""


MOST_PAST = 64
"""Decisions that `past` may write: no round has more."""
NO_END = 1 << 30
"""What `left` returns where no end of the round is in sight."""


@jit
def _no_end(state: Any, rules: Any) -> int:
    return NO_END


@jit
def _no_past(state: Any, rules: Any, seat: int, moves: bool, records: Any, actions: Any) -> int:
    return 0


@jit
def _no_judgement(record: Any, rules: Any, state: Any, action: int) -> float:
    return 0.0


@jit
def _no_exchange(state: Any, rules: Any, seat: int, plan: Any, key: int) -> bool:
    return False


class Engine(NamedTuple):
    """A game's own functions, compiled by `envs.jit.jit`; what each does stands at the function of that name below.

    The last four only help the search and may be left out.
    """

    new_game: Callable[..., Any]
    deal: Callable[..., Any]
    next_round: Callable[..., Any]
    legal: Callable[..., Any]
    automatic: Callable[..., Any]
    step: Callable[..., Any]
    rewards: Callable[..., Any]
    place: Callable[..., Any]
    statistics: Callable[..., Any]
    redact: Callable[..., Any]
    prepare_deals: Callable[..., Any]
    determinize: Callable[..., Any]
    features: Callable[..., Any]
    full_features: Callable[..., Any]
    rule_player: Callable[..., Any]
    left: Callable[..., Any] = _no_end
    past: Callable[..., Any] = _no_past
    judge: Callable[..., Any] = _no_judgement
    exchange: Callable[..., Any] = _no_exchange


_ENGINES: dict[Any, Engine] = {}


def _contract(stub: Callable[..., Any]) -> Any:
    """Make a function that calls the game's own of the same name, found by the type of its first argument."""
    name = stub.__name__

    @wraps(stub)
    def call(state: Any, *arguments: Any) -> Any:
        return getattr(_ENGINES[state.dtype], name)(state, *arguments)

    def choose(state: Any, *arguments: Any) -> Any:
        function = getattr(_ENGINES[state], name)
        return getattr(function, "py_func", function)

    if not PLAIN:
        overload(call, strict=False)(choose)
    return call


@_contract
def new_game(state: Any, rules: Any, dealer: int) -> None:
    """Start the game that the record's ``seed`` and ``game`` name; `dealer` -1 draws the first dealer."""


@_contract
def deal(state: Any, rules: Any, deck: Any) -> None:
    """Set up the record's current round from a given deck (card numbers in the order in which they are dealt)."""


@_contract
def next_round(state: Any, rules: Any) -> None:
    """Begin the next round; called once after a step that returned ROUND_OVER without GAME_OVER or TRUNCATED."""


@_contract
def legal(state: Any, rules: Any) -> tuple[int, int]:
    """Legal actions of the seat to act as two words; never empty before the end, (0, 0) after it."""


@_contract
def automatic(state: Any, rules: Any) -> int:
    """A move that the game makes by itself, inside the step before it, or -1; never the first move of a round."""


@_contract
def step(state: Any, rules: Any, action: int) -> int:
    """Make a legal move for the seat to act; returns flags. A round that ends is scored, the next not yet dealt."""


@_contract
def rewards(state: Any, rules: Any, flags: int, out: Any) -> None:
    """Write each seat's reward to ``out[:num_players]`` (float32) when `flags` say that a round has just ended."""


@_contract
def place(state: Any, rules: Any, seat: int) -> int:
    """Place of a seat in a game that has ended, 1 the best; equals share the best of their places, winners the win."""


@_contract
def statistics(state: Any, rules: Any, seat: int, out: Any) -> None:
    """Write a seat's statistics of the round that has just ended to ``out`` (float32, as in `Game.statistics`)."""


@_contract
def redact(state: Any, rules: Any, seat: int) -> None:
    """Zero, in place, everything that a seat may not know, the seed included."""


@_contract
def prepare_deals(state: Any, rules: Any, seat: int, plan: Any) -> bool:
    """Study a record redacted for `seat` so that `determinize` can draw from `plan` (`envs.sampling.new_plan`)."""


@_contract
def determinize(state: Any, rules: Any, seat: int, plan: Any, key: int) -> None:
    """Fill a redacted record, in place, with a full state drawn uniformly from those the seat cannot tell apart.

    `plan` is prepared by `prepare_deals`; the draw depends on `key` (62 bits) alone.
    """


@_contract
def features(state: Any, rules: Any, seat: int, wide: bool, out: Any, at: int) -> int:
    """Write what a seat sees to ``out[at:at+F]`` (uint8, zeros and ones); returns at + F."""


@_contract
def full_features(state: Any, rules: Any, seat: int, wide: bool, out: Any, at: int) -> int:
    """Write the whole state, rotated to a seat, to ``out[at:at+S]`` (uint8, zeros and ones); returns at + S."""


@_contract
def rule_player(state: Any, rules: Any, kind: int) -> int:
    """Action of a rule-based player (index into `Game.rule_players`) for the seat to act, from a redacted record."""


@_contract
def left(state: Any, rules: Any) -> int:
    """Moves, automatic ones included, after which the round has surely ended, or `NO_END`: never too few."""


@_contract
def exchange(state: Any, rules: Any, seat: int, plan: Any, key: int) -> bool:
    """Exchange two cards that `seat` does not see in a full state, in place; False: nothing has changed.

    What comes of it is a deal that `determinize` may draw, and an exchange is as likely as the one that undoes it. The
    plan and the key are as there.
    """


@_contract
def past(state: Any, rules: Any, seat: int, moves: bool, records: Any, actions: Any) -> int:
    """Write the decisions of this round, in a full state, that tell `seat` of the others' hands; returns their count.

    Of each: to ``records`` what the seat that decided saw, without any hand, and to ``actions`` (int64) what it did.
    They are bids and, with `moves`, all else that the record remembers; `seat` itself is left out. There is room for
    `MOST_PAST` decisions, and for one record more in which the round is played again.
    """


@_contract
def judge(record: Any, rules: Any, state: Any, action: int) -> float:
    """Steps between a past action and that of the strongest rule-based player, with the hands of a full state.

    The record is one that `past` has written; hands are put into it. Bids differ by so many steps, other moves by one.
    """


@dataclass(frozen=True)
class Game:
    """All that the faces, the agents and the trainer know of a game."""

    name: str
    title: str
    state: np.dtype[Any]
    """Record of one game; begins with `COMMON_FIELDS`."""
    engine: Engine
    make_rules: Callable[..., Any]
    """``make_rules(preset=None, **options)`` -> frozen option object with `record()` and `num_players`."""
    presets: tuple[str, ...]
    players: tuple[int, int]
    """Fewest and most seats."""
    num_actions: int
    action_groups: dict[str, range]
    """Disjoint ranges of actions that together are all of them (``bid``, ``card``, …)."""
    action_name: Callable[[int], str]
    layout: Callable[[int, bool], Layout]
    """``layout(num_players, wide)`` of the observation."""
    state_layout: Callable[[int, bool], Layout]
    """The same for the whole state."""
    statistics: tuple[str, ...]
    """Names of the per-round statistics."""
    rule_players: tuple[str, ...]
    """Names of the rule-based players."""
    fields: Any
    """`envs.fields.Fields`: snapshot keys and record fields."""
    worst_round: Callable[[Any], float]
    """Default reward for an illegal action under given rules."""
    draw: Callable[[Any, float | None], str]
    """``draw(snapshot, points)`` -> the table with all hands open, as lines of text."""
    points: float | None = 1.0
    """Score units in one point (10 where scores are tenths), or None where nothing is scored: games are won or lost."""
    shares: tuple[str, ...] = ()
    """Names of the statistics that are 0 or 1 in a round: their means are shares, and are shown as such."""
    breakdown: tuple[str, str] | None = None
    """Two statistics: curves show the mean of the first for each (small, whole) value of the second."""
    forecast: tuple[str, int] | None = None
    """A statistic of a round that a seat can be asked to foresee, 0, 1, …, and a bound above its values."""
    suits: tuple[str, ...] = ()
    """What ranks the suits for a policy that sees them in order (see `envs.suits.order_suits`); empty: no suits."""
    direction: str = "clockwise"

    def __post_init__(self) -> None:
        if sum(self.state[name].itemsize for name in self.state.names or ()) != self.state.itemsize:
            raise ValueError(f"the state record of {self.name} has padding between its fields")
        _ENGINES[self.state] = self.engine
        if not PLAIN:
            _ENGINES[numba.from_dtype(self.state)] = self.engine

    def __reduce__(self) -> tuple[Any, ...]:
        return (find_game, (self.name,)) if self.name in GAMES else super().__reduce__()  # type: ignore[return-value]


GAMES: dict[str, str] = {
    "kachuful": "envs.kachuful:GAME",
    "call_break": "envs.call_break:GAME",
    "kaschlan": "envs.kaschlan:GAME",
}
"""Games by name, imported when first asked for: ``module:attribute``."""


def find_game(name: str | Game) -> Game:
    """Return the game of a name (or the game itself); ValueError names the choices."""
    if isinstance(name, Game):
        return name
    if not isinstance(name, str) or name not in GAMES:
        raise ValueError(f"no game {name!r}; choose one of {', '.join(sorted(GAMES))}")
    module, attribute = GAMES[name].split(":")
    return getattr(importlib.import_module(module), attribute)  # type: ignore[no-any-return]
