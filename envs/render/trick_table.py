"""The table of a trick game as plain text, from a snapshot alone."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

DOES = {"misdeal": "vote on a misdeal"}
"""What the seat to act does in a phase, where that is not the phase's name."""
TRUMP_NAMES = {"S": "spades", "D": "diamonds", "C": "clubs", "H": "hearts", "N": "none"}


def show_hand(cards: list[str]) -> str:
    """Cards of a hand, suits set apart."""
    return "   ".join(" ".join(suit) for _, suit in groupby(cards, key=lambda card: card[1]))


def _laid(trick: list[list[Any]]) -> str:
    return "  ".join(f"{seat}:{card}" for seat, card in trick) or "-"


def _points(score: int, points: float | None) -> str:
    return str(score) if points in (None, 1) else f"{score / points:.1f}"


def _heading(snapshot: Mapping[str, Any]) -> str:
    parts = [f"{snapshot['game']}  round {snapshot['round'] + 1}"]
    if "hand_size" in snapshot:
        parts.append(f"{snapshot['hand_size']} cards each")
    if "trump" in snapshot:
        turned = f" ({snapshot['turned']} turned up)" if snapshot.get("turned") else ""
        parts.append(f"trump {TRUMP_NAMES.get(snapshot['trump'], 'not yet known')}{turned}")
    parts.append(f"seat {snapshot['dealer']} dealt")
    phase = snapshot["phase"]
    parts.append("over" if snapshot["turn"] is None else f"seat {snapshot['turn']} to {DOES.get(phase, phase)}")
    return ", ".join(parts)


def _bid(snapshot: Mapping[str, Any], seat: int) -> str:
    bid = snapshot["bids"][seat]
    blind = "blind" in snapshot and snapshot["blind"][seat]
    return "-" if bid is None else f"{bid} blind" if blind else str(bid)


def render(snapshot: Mapping[str, Any], points: float | None = 1.0) -> str:
    """Draw a table with all hands open: one line a seat (``>`` is to act), then the tricks.

    Args:
        snapshot: of a trick game.
        points: score units in one point.

    Returns:
        Several lines without a newline at the end.
    """
    seats = [f"{'>' if seat == snapshot['turn'] else ' '} {seat}" for seat in range(len(snapshot["hands"]))]
    columns = [("seat", seats), ("score", [_points(score, points) for score in snapshot["scores"]])]
    if "bids" in snapshot:
        columns.append(("bid", [_bid(snapshot, seat) for seat in range(len(snapshot["bids"]))]))
    columns.append(("won", [str(won) for won in snapshot["tricks"]]))
    rows = []
    for cells in zip(*([title, *column] for title, column in columns), strict=True):
        widths = [max(map(len, (title, *column))) for title, column in columns]
        rows.append("  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)))
    hands = ["hand", *map(show_hand, snapshot["hands"])]
    lines = [_heading(snapshot), *(f"{row}  {hand}".rstrip() for row, hand in zip(rows, hands, strict=True))]
    lines.append(f"trick: {_laid(snapshot['trick'])}")
    if snapshot.get("played") and snapshot["played"][-1] is not None:
        lines.append(f"last trick: {_laid(snapshot['played'][-1])}")
    return "\n".join(lines)
