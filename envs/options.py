"""Checks shared by the option classes of all games: one clear line for every wrong option."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

R = TypeVar("R")


def quoted(values: Iterable[object]) -> str:
    """List values for a message: ``'a', 'b' or 'c'``."""
    texts = [repr(value) for value in values]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"


def fail(option: str, value: object, allowed: str) -> None:
    """Raise the ValueError that names option, value and what is allowed."""
    raise ValueError(f"option {option}={value!r} is not possible: {option} must be {allowed}")


def check_choice(option: str, value: object, choices: Iterable[str]) -> None:
    """Require one of several strings."""
    choices = tuple(choices)
    if not isinstance(value, str) or value not in choices:
        fail(option, value, quoted(choices))


def check_bool(option: str, value: object) -> None:
    """Require True or False."""
    if not isinstance(value, bool):
        fail(option, value, "True or False")


def check_int(option: str, value: object, low: int, high: int | None = None, extra: str = "") -> None:
    """Require an integer of ``low..high`` (no upper end if `high` is None)."""
    span = f"an integer of at least {low}" if high is None else f"an integer from {low} to {high}"
    if isinstance(value, bool) or not isinstance(value, int) or value < low or (high is not None and value > high):
        fail(option, value, f"{span}{extra}")


def build(rules: type[R], presets: Mapping[str, Mapping[str, Any]], preset: str | None, options: dict[str, Any]) -> R:
    """Build an option class from a preset's name and options that override it.

    A preset's value may be a function of the number of players (as in "seven cards, or as many as there are").

    Raises:
        ValueError: an unknown preset, an unknown option (with the nearest known name) or an impossible value.
    """
    if preset is not None and (not isinstance(preset, str) or preset not in presets):
        raise ValueError(f"no preset {preset!r}; choose {quoted(presets)}")
    known = [field.name for field in dataclasses.fields(rules)]  # type: ignore[arg-type]
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ValueError(f"no option {name!r}; {hint}options are {', '.join(known)}")
    seats = options.get("num_players")
    if isinstance(seats, bool) or not isinstance(seats, int) or seats < 1:
        seats = rules().num_players  # type: ignore[attr-defined]  # a wrong number is refused below
    chosen = presets[preset] if preset else {}
    resolved = {name: value(seats) if callable(value) else value for name, value in chosen.items()}
    return rules(**{**resolved, **options})
