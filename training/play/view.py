"""A game as one seat may see it, and what is new in it: dictionaries like snapshots, without what is hidden."""

from __future__ import annotations

from typing import Any

import numpy as np

from envs.game import Game, redact

View = dict[str, Any]
"""A snapshot with ``hands`` holding only the cards that are seen, and two keys more: ``hidden``, the number of other
cards in each hand, and ``stock``, a number instead of cards."""


def view_of(game: Game, rules: Any, states: np.ndarray, seat: int | None) -> View:
    """A game as a seat may see it; None sees all hands.

    Args:
        game: the game.
        rules: its option object.
        states: (1,) the record.
        seat: who looks.
    """
    whole = game.fields.snapshot(states[0], rules)
    view: View = dict(whole)
    if seat is not None:
        states = states.copy()
        redact(states[0], rules.record()[0], seat)
        view = game.fields.snapshot(states[0], rules)
    view["hidden"] = [len(there) - len(seen) for there, seen in zip(whole["hands"], view["hands"], strict=True)]
    if "stock" in whole:
        # A redacted stock has no cards to name. The card turned up lies in it for all to see.
        view["turned_in_stock"] = whole["turned"] in whole["stock"]
        view["stock"] = len(whole["stock"])
    return view


def news(before: View, after: View, seat: int | None) -> list[str]:
    """What a move has brought about, beside itself, told from two views of the same round.

    Args:
        before: before the move.
        after: after it, a next round not yet dealt.
        seat: whose views they are.
    """
    told = []
    if "tricks" in after:
        for player, (was, now) in enumerate(zip(before["tricks"], after["tricks"], strict=True)):
            if now > was:
                told.append(f"{who(player, seat)} {verb('take', player, seat)} the trick")
    if "redeals" in after and after["redeals"] > before["redeals"]:
        told.append("the cards are dealt again")
    if "table" in after and before["table"] and not after["table"]:
        told.append(_bout_end(before, after, seat))
    if seat is not None and "stock" in after:
        drawn = [card for card in after["hands"][seat] if card not in before["hands"][seat] + _lying(before)]
        if drawn:
            told.append(f"you draw {' '.join(drawn)}")
    for player in after.get("out", ())[len(before.get("out", ())) :]:
        told.append(f"{who(player, seat)} {verb('be', player, seat)} out")
    return told


def _lying(view: View) -> list[str]:
    return [card for row in view.get("table", ()) for card in row[:2] if card]


def _bout_end(before: View, after: View, seat: int | None) -> str:
    """How a bout has ended: what its defender picked up is what everybody now knows in his hand and lay there."""
    defender = before["defender"]
    taken = [card for card in _lying(before) if card in after["known"][defender]]
    if taken:
        return f"{who(defender, seat)} {verb('pick', defender, seat)} up {' '.join(taken)}"
    return f"{who(defender, seat)} {verb('have', defender, seat)} beaten everything"


def who(player: int, seat: int | None) -> str:
    """A seat in a sentence."""
    return "you" if player == seat else f"seat {player}"


def verb(word: str, player: int, seat: int | None) -> str:
    """A verb that agrees with `who`."""
    own = player == seat
    if word in ("be", "have"):
        return {"be": ("is", "are"), "have": ("has", "have")}[word][own]
    return word if own else f"{word}s"
