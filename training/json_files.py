"""JSON objects that people write by hand or keep in files: one line says what is wrong with one, and where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_text(path: str) -> str:
    """Text of a file, in UTF-8 with or without a byte order mark.

    Raises:
        ValueError: it cannot be read, or is no such text.
    """
    try:
        return decode(Path(path).read_bytes(), path)
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from None


def decode(data: bytes, where: str) -> str:
    """The text that was read; ValueError, in which it is called `where`, if it is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{where} is not JSON: it is not UTF-8 text") from None


def parse_object(text: str, where: str) -> dict[str, Any]:
    """The JSON object that a text is.

    Args:
        text: the text.
        where: what messages call it.

    Raises:
        ValueError: it is no JSON, no object, nested too deeply, or an object in it has a key twice.
    """
    try:
        found = json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise ValueError(f"{where} is not JSON: {error.msg} (line {error.lineno}, column {error.colno})") from None
    except RecursionError:
        raise ValueError(f"{where} is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{where} holds no JSON object")
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"key {key!r} is there twice")
        found[key] = value
    return found
