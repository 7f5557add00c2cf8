"""The games that the shared tests play: a game's tests of faces, copies and secrets are its entry here.

What is special to a game stands in a module of its own, ``tests/<game>_variants.py``, an `Oracle`: which variants to
play, and a plain statement of what a seat may know and do, read from snapshots alone.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from random import Random
from typing import Any, Protocol, cast

import pytest
from hypothesis import strategies as st
from moments import Moment, Snapshot
from pettingzoo.utils.wrappers import AssertOutOfBoundsWrapper, OrderEnforcingWrapper, TerminateIllegalWrapper

from envs import SEAT_IDS
from envs.game import Game


class Oracle(Protocol):
    """What a game's module provides."""

    GAME: Game
    VARIANTS: dict[str, dict[str, Any]]
    """Every value of every option, in games short enough to be played often; at any number of seats."""
    SEATS: tuple[int, ...]
    """Numbers of seats to play them with."""
    PRIVATE: Sequence[str]
    """Fields of the record that hold, in part, what a seat may not know."""
    FORGOTTEN: Sequence[str]
    """Fields of the record that a position does not restore."""
    PHASES: Sequence[str]
    """Phases that every game but the shortest comes through."""
    MOMENTS: st.SearchStrategy[Moment]
    """Options of any variant, a seed and a number of moves: some moment of a game."""

    def visible(self, snapshot: Snapshot, seat: int) -> list[set[str]]:
        """The cards that a seat sees of each hand, its own among them."""

    def known(self, snapshot: Snapshot, seat: int) -> Snapshot:
        """All of a snapshot that a seat may know, comparable with ``==``."""

    def scramble(self, state: Any, snapshot: Snapshot, seat: int, rng: Random) -> None:
        """Make all that a seat cannot know different, in place, in the state of a snapshot."""

    def reveals(self, before: Snapshot, after: Snapshot, seat: int) -> bool:
        """Whether a move shows a seat something that was hidden from it, other than the card that was moved."""

    def legal_names(self, snapshot: Snapshot) -> set[str]:
        """Names of the actions that the rules allow the seat to act."""

    def moment(self, snapshot: Snapshot) -> tuple[Any, ...]:
        """What kind of moment this is, beside its phase, as far as copies might care."""


SHIPPED = list(dict.fromkeys(SEAT_IDS.values()))
"""The package's own games (the toy game has tests of its own)."""
NAMES = [name for name in SHIPPED if importlib.util.find_spec(f"{name}_variants")]
"""Those that have an entry here; `test_ecosystem` asks for all."""
ORACLES: dict[str, Oracle] = {name: cast(Oracle, importlib.import_module(f"{name}_variants")) for name in NAMES}

each_game = pytest.mark.parametrize("name", NAMES)
VARIANTS = {f"{name}, {variant}": (name, rules) for name in NAMES for variant, rules in ORACLES[name].VARIANTS.items()}
each_variant = pytest.mark.parametrize(("name", "rules"), VARIANTS.values(), ids=list(VARIANTS))
PRESETS = [(name, preset) for name in NAMES for preset in ORACLES[name].GAME.presets]
each_preset = pytest.mark.parametrize(("name", "preset"), PRESETS, ids=[" ".join(pair) for pair in PRESETS])


def raw_env(name: str, **rules: Any) -> Any:
    """A game's raw environment."""
    return importlib.import_module(f"envs.{name}_v0").raw_env(**rules)


def env(name: str, **rules: Any) -> Any:
    """A game's checked environment."""
    return importlib.import_module(f"envs.{name}_v0").env(**rules)


def wrapped(name: str, **rules: Any) -> Any:
    """The raw environment in PettingZoo's own three wrappers."""
    raw = raw_env(name, **rules)
    return OrderEnforcingWrapper(AssertOutOfBoundsWrapper(TerminateIllegalWrapper(raw, raw.illegal_reward)))


MAKERS = {"raw_env": raw_env, "env": env, "wrapped": wrapped}
each_maker = pytest.mark.parametrize("make", MAKERS.values(), ids=list(MAKERS))
both_makers = pytest.mark.parametrize("make", list(MAKERS.values())[:2], ids=list(MAKERS)[:2])
