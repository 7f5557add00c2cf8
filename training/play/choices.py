"""What may be typed to choose among legal moves: a number, a name, or the beginning of a name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence

_NUMBERED = re.compile(r"(.*\D)(\d+)")


def plain(text: str) -> str:
    """A text as names are compared: small letters, no spaces, the ten as T."""
    return re.sub(r"^10(?=[a-z]$)", "t", "".join(text.lower().split()))


class Choices:
    """Legal moves, each with a label.

    Where all that end in a number begin alike (``bid 0``, ``bid 1``), these numbers are their labels, and moves without
    one have none; otherwise moves are counted from 1.

    Args:
        legal: names of the legal moves by action.
        names: names of all moves of the game.
    """

    def __init__(self, legal: Mapping[int, str], names: Sequence[str]) -> None:
        self.legal = dict(legal)
        self._known = {plain(name): name for name in names}
        found = {action: _NUMBERED.fullmatch(name) for action, name in legal.items()}
        heads = {match[1] for match in found.values() if match}
        if len(heads) == 1:
            self.labels = {action: match[2] if match else "" for action, match in found.items()}
        else:
            self.labels = {action: str(i) for i, action in enumerate(legal, 1)}

    @property
    def forced(self) -> int | None:
        """The only legal move, if there is but one."""
        return next(iter(self.legal)) if len(self.legal) == 1 else None

    def read(self, text: str) -> int:
        """The move that a text names; ValueError says why there is none."""
        typed = plain(text)
        if not typed and self.forced is not None:
            return self.forced
        if typed.isdecimal():
            return self._by_label(typed)
        names = {action: plain(name) for action, name in self.legal.items()}
        exact = [action for action, name in names.items() if name == typed]
        if exact:
            return exact[0]
        if typed in self._known:
            raise ValueError(f"{self._known[typed]} is not possible now; {self._offer()}")
        begun = [action for action, name in names.items() if typed and name.startswith(typed)]
        if len(begun) == 1:
            return begun[0]
        if begun:
            raise ValueError(f"{text.strip()!r} may be {self._list(begun)}")
        near = difflib.get_close_matches(typed, names.values(), 1)
        hint = f"did you mean {self._known[near[0]]!r}? " if near else ""
        said = f"there is no move {text.strip()!r}; " if typed else ""
        raise ValueError(f"{said}{hint}{self._offer()}, h helps")

    def _by_label(self, typed: str) -> int:
        for action, label in self.labels.items():
            if label == str(int(typed)):
                return action
        raise ValueError(f"number {typed} is not among the possible moves; {self._offer()}")

    def _offer(self) -> str:
        return f"possible: {self._list(self.legal)}"

    def _list(self, actions: Sequence[int] | Mapping[int, str]) -> str:
        return ", ".join(self.legal[action] for action in actions)
