"""Matches whose deals are kept as they are finished, so that whoever stops can go on: JSON lines in one file.

The first line names what is measured, each other one holds some deals of one match, one after the other. A line that a
kill has torn is moved to a file of its own.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from training.arena import PART, Part
from training.json_files import parse_object

FORMAT = "taash-evaluation-1"


def read_lines(file: Path) -> tuple[list[dict[str, Any]], Path | None]:
    """Read a file of JSON objects, one a line, that is added to line by line.

    Returns:
        The objects, and where the torn end of a line was put, if there was one: it is no longer in the file.

    Raises:
        ValueError: a line is no JSON object, or the file cannot be read and mended.
    """
    torn_file = None
    try:
        data = file.read_bytes() if file.exists() else b""
        whole, torn = data[: data.rfind(b"\n") + 1], data[data.rfind(b"\n") + 1 :]
        if torn:
            torn_file = next(path for k in range(10**6) if not (path := Path(f"{file}.torn{k}")).exists())
            torn_file.write_bytes(torn)
            os.truncate(file, len(whole))
    except OSError as error:
        raise ValueError(f"cannot read and write {file}: {error.strerror}") from None
    lines: list[dict[str, Any]] = []
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            lines.append(parse_object(line.decode(), str(file)))
        except ValueError:
            raise ValueError(f"{file}: line {number} is damaged") from None
    return lines, torn_file


class Journal:
    """A file of finished deals.

    Args:
        path: the file; it is made where it is not there.
        subject: what is measured, as plain JSON types; a file that is there must be of the same.

    Raises:
        ValueError: it is of something else, damaged, or cannot be read or written.
    """

    def __init__(self, path: Path, subject: dict[str, Any]) -> None:
        self.path = path
        self._parts: dict[int, list[Part]] = {}
        if path.exists() and not path.is_file():
            raise ValueError(f"cannot write {path}: it is no plain file")
        first = {"format": FORMAT, **subject}
        lines, self.torn = read_lines(path)
        try:
            with path.open("a") as file:
                if not lines:
                    file.write(json.dumps(first) + "\n")
        except OSError as error:
            raise ValueError(f"cannot write {path}: {error.strerror}") from None
        if lines and lines[0] != json.loads(json.dumps(first)):
            raise ValueError(f"{path}: {_difference(lines[0], first)}; name another file")
        for number, line in enumerate(lines[1:], 2):
            try:
                self._add(line)
            except (KeyError, TypeError, ValueError):
                raise ValueError(f"{path}: line {number} is not what belongs there") from None

    def _add(self, line: dict[str, Any]) -> None:
        part = tuple(None if line[name] is None else np.array(line[name], kind) for name, kind in PART.items())
        sizes = {len(column) for column in part if column is not None}
        parts = self._parts.setdefault(line["match"], [])
        if line["deal"] != sum(len(before[0]) for before in parts) or len(sizes) != 1:
            raise ValueError
        parts.append(part)

    def done(self, match: int) -> list[Part]:
        """Finished deals of a match, from the first on."""
        return list(self._parts.get(match, ()))

    def keep(self, match: int, first: int, part: Part) -> None:
        """Add deals of a match, from number `first` on, which must be the next; OSError where it cannot be written."""
        columns = zip(PART, part, strict=True)
        line = {name: None if column is None else column.tolist() for name, column in columns}
        with self.path.open("ab") as file:
            file.write(json.dumps({"match": match, "deal": first, **line}).encode() + b"\n")


def _difference(there: dict[str, Any], wanted: dict[str, Any]) -> str:
    """What tells two first lines apart, in words."""
    if there.get("format") != FORMAT:
        return "it holds no deals of an evaluation"
    name = next(name for name in {**wanted, **there} if there.get(name) != wanted.get(name))
    return f"it holds deals of another evaluation ({name} {there.get(name)} there, {wanted.get(name)} here)"
