"""Snapshots and positions: one table a game ties every snapshot key to the state record and to plain JSON values.

`Fields.snapshot` reads a record through the table. `Fields.set_position` decodes what a position gives, lets the
game rebuild a record from it (by replaying it with the engine), and compares the result with all that was given:
so whatever a position says holds in the game that follows, or a ValueError names the key that cannot.
"""

from __future__ import annotations

import dataclasses
import difflib
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from envs.cards import cards_of, mask_of
from envs.game import OVER, new_game
from envs.options import quoted

Given = dict[str, Any]
"""What a position gives, decoded, by key."""


def impossible(where: str, value: object, allowed: str) -> ValueError:
    """The error for a value that a key can never have."""
    return ValueError(f"position {where}={value!r} is not possible: {where} must be {allowed}")


def mismatch(where: str, text: str) -> ValueError:
    """The error for a value that does not fit the rest of the position."""
    return ValueError(f"position {where}: {text}")


class Codec(Protocol):
    """Turns values of the state record into JSON values and back."""

    def encode(self, value: Any, seats: int) -> Any:
        """JSON value of a record's value at a table of `seats`."""

    def decode(self, value: Any, seats: int, where: str) -> Any:
        """Record's value of a JSON value; ValueError names `where`, the value and what is allowed."""


@dataclass(frozen=True)
class Integer:
    """An integer from `low` to `high`."""

    low: int
    high: int

    def encode(self, value: Any, seats: int) -> Any:  # noqa: D102
        return int(value)

    def decode(self, value: Any, seats: int, where: str) -> Any:  # noqa: D102
        try:
            number = operator.index(value)
        except TypeError:
            number = self.low - 1
        if isinstance(value, bool) or not self.low <= number <= self.high:
            raise impossible(where, value, f"an integer from {self.low} to {self.high}")
        return number


@dataclass(frozen=True)
class Seat:
    """A seat, 0..n-1."""

    def encode(self, value: Any, seats: int) -> Any:  # noqa: D102
        return int(value)

    def decode(self, value: Any, seats: int, where: str) -> Any:  # noqa: D102
        return Integer(0, seats - 1).decode(value, seats, where)


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def encode(self, value: Any, seats: int) -> Any:  # noqa: D102
        return bool(int(value))

    def decode(self, value: Any, seats: int, where: str) -> Any:  # noqa: D102
        if value is not True and value is not False:
            raise impossible(where, value, "True or False")
        return value


@dataclass(frozen=True)
class Choice:
    """One of several names, kept as its index."""

    names: Sequence[str]

    def encode(self, value: Any, seats: int) -> Any:  # noqa: D102
        return self.names[int(value)]

    def decode(self, value: Any, seats: int, where: str) -> Any:  # noqa: D102
        if not isinstance(value, str) or value not in tuple(self.names):
            raise impossible(where, value, quoted(self.names))
        return tuple(self.names).index(value)


@dataclass(frozen=True)
class Maybe:
    """What another codec takes, or None, which the record holds as `none`."""

    codec: Codec
    none: int | None = -1

    def encode(self, value: Any, seats: int) -> Any:  # noqa: D102
        return None if value is None or value == self.none else self.codec.encode(value, seats)

    def decode(self, value: Any, seats: int, where: str) -> Any:  # noqa: D102
        return self.none if value is None else self.codec.decode(value, seats, where)


@dataclass(frozen=True)
class Card:
    """A card's name, kept as its number."""

    name: Callable[[int], str]
    number: Callable[[str], int]

    def encode(self, value: Any, seats: int) -> Any:  # noqa: D102
        return self.name(int(value))

    def decode(self, value: Any, seats: int, where: str) -> Any:  # noqa: D102
        try:
            return self.number(value)
        except ValueError as error:
            raise ValueError(f"position {where}={value!r} is not possible: {error}") from None


@dataclass(frozen=True)
class Cards:
    """A list of cards in any order, kept as a mask."""

    card: Card

    def encode(self, value: Any, seats: int) -> Any:  # noqa: D102
        return [self.card.encode(card, seats) for card in cards_of(value)]

    def decode(self, value: Any, seats: int, where: str) -> Any:  # noqa: D102
        cards = [
            self.card.decode(item, seats, f"{where}[{i}]") for i, item in enumerate(as_list(value, where, "cards"))
        ]
        for i, card in enumerate(cards):
            if card in cards[:i]:
                raise mismatch(f"{where}[{i}]", f"{self.card.name(card)} is there twice")
        return mask_of(cards)


@dataclass(frozen=True)
class Tuple:
    """A list of a fixed number of values, each with a codec of its own, such as ``[seat, card]``."""

    codecs: tuple[Codec, ...]
    text: str

    def encode(self, value: Any, seats: int) -> Any:  # noqa: D102
        return [codec.encode(item, seats) for codec, item in zip(self.codecs, value, strict=True)]

    def decode(self, value: Any, seats: int, where: str) -> Any:  # noqa: D102
        items = as_list(value, where, self.text)
        if len(items) != len(self.codecs):
            raise impossible(where, value, self.text)
        return tuple(
            codec.decode(item, seats, f"{where}[{i}]")
            for i, (codec, item) in enumerate(zip(self.codecs, items, strict=True))
        )


@dataclass(frozen=True)
class ListOf:
    """A list of any length."""

    codec: Codec
    text: str

    def encode(self, value: Any, seats: int) -> Any:  # noqa: D102
        return [self.codec.encode(item, seats) for item in value]

    def decode(self, value: Any, seats: int, where: str) -> Any:  # noqa: D102
        return [
            self.codec.decode(item, seats, f"{where}[{i}]") for i, item in enumerate(as_list(value, where, self.text))
        ]


@dataclass(frozen=True)
class PerSeat:
    """A list of one value a seat; the record has room for more seats."""

    codec: Codec

    def encode(self, value: Any, seats: int) -> Any:  # noqa: D102
        return [self.codec.encode(value[seat], seats) for seat in range(seats)]

    def decode(self, value: Any, seats: int, where: str) -> Any:  # noqa: D102
        items = as_list(value, where, f"{seats} values, one a seat")
        if len(items) != seats:
            raise impossible(where, value, f"a list of {seats} values, one a seat")
        return [self.codec.decode(item, seats, f"{where}[{i}]") for i, item in enumerate(items)]


@dataclass(frozen=True)
class SeatBits:
    """A list of True or False a seat, kept as bits."""

    def encode(self, value: Any, seats: int) -> Any:  # noqa: D102
        return [bool(int(value) >> seat & 1) for seat in range(seats)]

    def decode(self, value: Any, seats: int, where: str) -> Any:  # noqa: D102
        return sum(flag << seat for seat, flag in enumerate(PerSeat(Flag()).decode(value, seats, where)))


def as_list(value: Any, where: str, text: str) -> list[Any]:
    """Take a JSON list (or a tuple); ValueError for anything else."""
    if not isinstance(value, (list, tuple)):
        raise impossible(where, value, f"a list of {text}" if not text.startswith("[") else text)
    return list(value)


@dataclass(frozen=True)
class Field:
    """One key of a game's snapshots."""

    key: str
    codec: Codec
    read: Callable[[Any, int], Any] | None = None
    """``read(state, seats)`` gives the value to encode; without it, it is the record's field of the key's name."""
    dealt: bool = False
    """Whether None in a position's list stands for something to deal."""


def _read_phase(state: Any, seats: int) -> int:
    return OVER if int(state["finished"]) else int(state["phase"])


def common_fields(phases: Sequence[str], card: Card) -> tuple[Field, ...]:
    """Rows that every game has; `phases` names the game's phases from 1."""
    points = Integer(-1_000_000_000, 1_000_000_000)
    return (
        Field("round", Integer(0, 1_000_000_000)),
        Field("dealer", Seat()),
        Field("phase", Choice(("over", *phases)), _read_phase),
        Field("turn", Maybe(Seat())),
        Field("scores", PerSeat(points)),
        Field("hands", PerSeat(Maybe(Cards(card), None)), dealt=True),
        Field("finished", Flag()),
    )


@dataclass(frozen=True)
class Fields:
    """The table of one game, and how to rebuild a record from a position."""

    game: str
    table: tuple[Field, ...]
    build: Callable[[Any, Any, Given], None]
    """``build(states, rules, given)``: ``states[0]`` holds a new game under the seed; make it what the position says.
    ValueError (`mismatch`) where no game can be so; what `given` says need not be compared with the result."""

    def snapshot(self, state: Any, rules: Any) -> dict[str, Any]:
        """All of a state in plain JSON types.

        Args:
            state: the game's record.
            rules: its option object.
        """
        seats = rules.num_players
        return {"game": self.game, "rules": dataclasses.asdict(rules)} | {
            field.key: field.codec.encode(field.read(state, seats) if field.read else state[field.key], seats)
            for field in self.table
        }

    def set_position(
        self, states: Any, rules: Any, position: Mapping[str, Any], seed: int, number: int = 0, dealer: int = -1
    ) -> None:
        """Set ``states[0]`` to a snapshot, or to any part of one completed from a seed.

        Args:
            states: array of one record of the game, overwritten (in part also where an error is raised).
            rules: the option object.
            position: any of the keys of `snapshot`.
            seed: 0..2**63-1, what is missing comes from here, and the deals of later rounds.
            number: number of the game under that seed.
            dealer: the seat that deals, or -1.

        Raises:
            ValueError: an unknown key, an impossible value, or values that fit no game; the message names the key.
        """
        given = self._decode(position, rules)
        if dealer >= 0 and given.setdefault("dealer", dealer) != dealer:
            raise mismatch("dealer", f"it is {given['dealer']}, but option dealer says {dealer}")
        states[0]["seed"] = seed
        states[0]["game"] = number
        new_game(states[0], rules.record()[0], -1)
        self.build(states, rules, given)
        states[0]["moves"] = 0
        self._compare(given, self.snapshot(states[0], rules), rules.num_players)

    def _decode(self, position: Mapping[str, Any], rules: Any) -> Given:
        known = {field.key: field for field in self.table}
        given: Given = {}
        for key, value in position.items():
            if key == "game":
                if value != self.game:
                    raise impossible(key, value, repr(self.game))
            elif key == "rules":
                _compare_rules(value, dataclasses.asdict(rules))
            elif key in known:
                given[key] = known[key].codec.decode(value, rules.num_players, key)
            else:
                near = difflib.get_close_matches(str(key), known, 1)
                hint = f"did you mean {near[0]!r}? " if near else ""
                raise ValueError(f"position has no key {key!r}; {hint}keys are game, rules, {', '.join(known)}")
        return given

    def _compare(self, given: Given, snapshot: Mapping[str, Any], seats: int) -> None:
        for field in self.table:
            if field.key not in given:
                continue
            wanted, found = field.codec.encode(given[field.key], seats), snapshot[field.key]
            if field.dealt:
                wanted = [there if value is None else value for value, there in zip(wanted, found, strict=True)]
            if wanted != found:
                raise mismatch(field.key, f"{wanted!r} does not fit the rest of the position, by which it is {found!r}")


def _compare_rules(value: Any, rules: Mapping[str, Any]) -> None:
    if not isinstance(value, Mapping):
        raise impossible("rules", value, "a dict of options")
    for option, choice in value.items():
        if option not in rules:
            raise mismatch("rules", f"no option {option!r}")
        if choice != rules[option] or isinstance(choice, bool) != isinstance(rules[option], bool):
            raise mismatch("rules", f"option {option} is {choice!r}, but in this environment {rules[option]!r}")


def claim_cards(cards: Iterable[int], where: str, owners: dict[int, str], name: Callable[[int], str]) -> None:
    """Note where cards lie in a position; ValueError where one lies in two places."""
    for card in cards:
        if card in owners:
            raise mismatch(where, f"{name(card)} is also in {owners[card]}")
        owners[card] = where
