"""The table of Kaschlan as plain text, from a snapshot alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from envs.render.trick_table import TRUMP_NAMES, show_hand


def _heading(snapshot: Mapping[str, Any]) -> str:
    turned = snapshot["turned"]
    lies = turned in snapshot["stock"]
    parts = [
        f"{snapshot['game']}  bout {snapshot['bout'] + 1}",
        f"trump {TRUMP_NAMES[snapshot['trump']]}" + (f" ({turned} turned up)" if lies else ""),
        f"{len(snapshot['stock'])} cards in the stock",
    ]
    if snapshot["turn"] is None:
        parts.append("over")
    else:
        parts.append(f"seat {snapshot['turn']} to {snapshot['phase'].replace('_', ' ')}")
    return ", ".join(parts)


def _role(snapshot: Mapping[str, Any], seat: int) -> str:
    if seat in snapshot["out"]:
        return "out"
    return {snapshot["attacker"]: "attacks", snapshot["defender"]: "defends"}.get(seat, "")


def _lain(snapshot: Mapping[str, Any]) -> str:
    cards = []
    for i, (card, answer, seat) in enumerate(snapshot["table"]):
        reply = f"/{answer}" if answer else " left" if i < snapshot["answered"] else ""
        kutscher = "*" if card == snapshot["kutscher"] else ""
        cards.append(f"{seat}:{card}{kutscher}{reply}")
    return "  ".join(cards) or "-"


def render(snapshot: Mapping[str, Any], points: float | None = None) -> str:
    """Draw a table with all hands open: one line a seat (``>`` is to act), then the bout.

    Args:
        snapshot: of a game of Kaschlan.
        points: not used, nothing is scored.

    Returns:
        Several lines without a newline at the end. In the bout ``2:8H/JH`` is the eight that seat 2 laid and the jack
        that beats it; the Kutscher has a star.
    """
    lines = [_heading(snapshot), "  seat  role     hand"]
    for seat, hand in enumerate(snapshot["hands"]):
        mark = ">" if seat == snapshot["turn"] else " "
        lines.append(f"{mark} {seat:>4}  {_role(snapshot, seat):<7}  {show_hand(hand)}".rstrip())
    lines.append(f"table: {_lain(snapshot)}")
    return "\n".join(lines)
