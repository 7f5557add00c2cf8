"""A game's options as command lines give them, and how they override others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def option_value(text: str) -> Any:
    """An option's value: JSON where it is JSON (4, true, null), otherwise the text itself (off, full)."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def override(options: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Options with changes; a preset among these speaks for everything but the number of players."""
    kept = {name: value for name, value in options.items() if "preset" not in changes or name == "num_players"}
    return kept | dict(changes)
