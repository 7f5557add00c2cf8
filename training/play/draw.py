"""The table in the terminal, drawn with rich from a view alone (see `training.play.view`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from envs.render.trick_table import TRUMP_NAMES
from training.play.view import View, verb, who

SUIT_STYLES = {"S": "blue", "D": "dark_orange", "C": "green", "H": "red"}
BACK = "#"
"""The back of a card that is not seen."""


PHASES = {"misdeal": "claim a misdeal or pass", "throw": "throw in", "throw_own": "throw in own cards"}
"""Phases that do not say by their names what there is to do."""


def doing(phase: str) -> str:
    """What there is to do in a phase."""
    return PHASES.get(phase, phase.replace("_", " "))


def style_of(name: str) -> str:
    """Style of an action: a card has its suit's."""
    return SUIT_STYLES.get(name[1], "") if len(name) == 2 and name[1] in SUIT_STYLES else ""


def card_text(name: str, trump: str | None = None) -> Text:
    """A card in the colour of its suit, trumps bold."""
    bold = "bold " if trump is not None and name[1] == trump else ""
    return Text(name, f"{bold}{SUIT_STYLES.get(name[1], '')}".strip())


def hand_text(view: View, player: int) -> Text:
    """The cards of a hand that are seen, suits set apart, and the backs of the others."""
    suits = [
        Text(" ").join(card_text(card, view.get("trump")) for card in suit)
        for _, suit in groupby(view["hands"][player], key=lambda card: card[1])
    ]
    hidden = view["hidden"][player]
    if hidden:
        suits.append(Text.assemble((BACK * min(hidden, 13), "dim"), f" {hidden}"))
    return Text("   ").join(suits)


def _trump_text(view: View) -> Text:
    trump = view["trump"]
    text = Text("trump ").append(TRUMP_NAMES.get(trump, "not yet known"), f"bold {SUIT_STYLES.get(trump, '')}".strip())
    turned = view.get("turned")
    if turned and view.get("turned_in_stock", True):
        text.append(" (").append_text(card_text(turned)).append(" turned up)")
    return text


def heading(view: View, title: str, seat: int | None) -> Text:
    """One line on what is being played, and who is to do what."""
    parts = [Text(f"{title}, bout {view['bout'] + 1}" if "bout" in view else f"{title}, round {view['round'] + 1}")]
    if "hand_size" in view:
        cards = view["hand_size"]
        parts.append(Text(f"{cards} card{'s' * (cards != 1)} each"))
    made = [bid for bid in view.get("bids", ()) if bid is not None]
    if made:
        parts.append(Text(f"bids so far {sum(made)}" if view["phase"] == "bid" else f"bids {sum(made)}"))
    if "trump" in view:
        parts.append(_trump_text(view))
    if isinstance(view.get("stock"), int):
        parts.append(Text(f"{view['stock']} in the stock"))
    if "bout" not in view:
        parts.append(Text(f"{who(view['dealer'], seat)} dealt"))
    if view["turn"] is not None:
        parts.append(Text(f"{who(view['turn'], seat)} {verb('be', view['turn'], seat)} to {doing(view['phase'])}"))
    return Text(", ").join(parts)


def points_text(score: int, points: float | None) -> str:
    """A score in points."""
    return str(score) if points in (None, 1) else f"{score / points:.1f}"


def _bid(view: View, player: int) -> Text:
    bid = view["bids"][player]
    blind = "blind" in view and view["blind"][player]
    if bid is None:
        return Text("looked" if "looked" in view and view["looked"][player] else "-", "dim")
    won = view["tricks"][player]
    style = "bold green" if won == bid else "bold red" if won > bid else "bold"
    return Text(f"{bid} blind" if blind else str(bid), style)


def _role(view: View, player: int) -> str:
    if player in view["out"]:
        return "out"
    return {view["attacker"]: "attacks", view["defender"]: "defends"}.get(player, "")


def seats_table(view: View, names: Sequence[str], seat: int | None, points: float | None) -> Table:
    """A row for each seat: who sits there, score, bid, tricks or role, and the hand as it is seen."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("")
    table.add_column("seat", justify="right")
    table.add_column("")
    columns: list[tuple[str, Any]] = []
    if points is not None:
        columns.append(("score", lambda player: points_text(view["scores"][player], points)))
    if "bids" in view:
        columns.append(("bid", lambda player: _bid(view, player)))
    if "tricks" in view:
        columns.append(("won", lambda player: str(view["tricks"][player])))
    if "attacker" in view:
        columns.append(("role", lambda player: _role(view, player)))
    for title, _ in columns:
        table.add_column(title, justify="left" if title == "role" else "right")
    table.add_column("hand", no_wrap=True)
    for player in range(len(view["hands"])):
        mark = ">" if player == view["turn"] else ""
        cells: list[RenderableType] = [cell(player) for _, cell in columns]
        name = Text(names[player], "bold" if player == seat else "", overflow="ellipsis")
        table.add_row(mark, str(player), name, *cells, hand_text(view, player))
    return table


def _laid(trick: Iterable[Sequence[Any]], trump: str | None) -> Text:
    cards = [Text(f"{player}:").append_text(card_text(card, trump)) for player, card in trick]
    return Text("  ").join(cards) if cards else Text("-")


def _bout_text(view: View) -> Text:
    rows = []
    for i, (card, answer, player) in enumerate(view["table"]):
        row = Text(f"{player}:").append_text(card_text(card, view["trump"]))
        if card == view["kutscher"]:
            row.append("*")
        if answer:
            row.append("/").append_text(card_text(answer, view["trump"]))
        elif i < view["answered"]:
            row.append(" left")
        rows.append(row)
    return Text("  ").join(rows) if rows else Text("-")


def middle(view: View) -> list[Text]:
    """What lies on the table: the trick and the one before it, or the bout."""
    lines = []
    if "trick" in view:
        lines.append(Text("trick: ").append_text(_laid(view["trick"], view.get("trump"))))
        played = view.get("played")
        if played and played[-1] is not None:
            lines.append(Text("last trick: ", "dim").append_text(_laid(played[-1], view.get("trump"))))
    if "table" in view:
        lines.append(Text("table: ").append_text(_bout_text(view)))
    return lines


def table_of(view: View, title: str, names: Sequence[str], seat: int | None, points: float | None) -> list[Any]:
    """All of a table, to be printed one below the other.

    Args:
        view: what is seen.
        title: of the game.
        names: who sits in each seat.
        seat: who looks, or None.
        points: score units in one point; None: nothing is scored.
    """
    return [heading(view, title, seat), seats_table(view, names, seat, points), *middle(view)]


def results(heads: Sequence[str], rows: Iterable[Sequence[str]], own: int | None = None, left: int = 1) -> Table:
    """A small table of results; the first `left` columns and those without a head hold text, row `own` is bold."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for i, head in enumerate(heads):
        table.add_column(head, justify="left" if i < left or not head else "right")
    for i, row in enumerate(rows):
        table.add_row(*(Text(cell) for cell in row), style="bold" if i == own else None)
    return table


def options_table(rules: Mapping[str, Any], usual: Mapping[str, Any]) -> Table:
    """The options of a game; those that differ from its defaults are bold."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for head in ("option", "value", "usually"):
        table.add_column(head)
    for option, value in rules.items():
        changed = value != usual.get(option)
        table.add_row(option, str(value), str(usual.get(option)) if changed else "", style="bold" if changed else None)
    return table
