"""A tournament's report: Markdown, pictures and JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from envs.game import find_game
from training.files import write_whole
from training.pictures import draw_calls, draw_png
from training.report import Estimate, gain_text, versions, write_json
from training.standings import Standings
from training.tournament import Folder

Names = list[str]


def write_report(folder: Folder, found: Standings) -> list[str]:
    """Write ``report.md``, ``result.json`` and pictures to the folder, replacing older ones; returns their names."""
    pictures = {"ratings.png": lambda axes: _draw_ratings(axes, found)}
    if found.cross_deals:
        pictures["crossplay.png"] = lambda axes: _draw_cross(axes, found)
    if found.calls is not None:
        calls = {found.names[k]: found.calls[k] for k in found.ranking}
        pictures["calls.png"] = lambda axes: draw_calls(axes, calls)
    for name, draw in pictures.items():
        write_whole(folder.path / name, draw_png(draw))
    write_json(
        folder.path / "result.json", {**asdict(folder.settings), "standings": asdict(found), "versions": versions()}
    )
    write_whole(folder.path / "report.md", report_text(folder, found, list(pictures)).encode())
    return ["report.md", "result.json", *pictures]


def report_text(folder: Folder, found: Standings, pictures: Names) -> str:
    """The report as Markdown."""
    settings = folder.settings
    options = ", ".join(f"{name}={value}" for name, value in settings.rules.items())
    parts = [
        f"# Tournament: {settings.game}",
        f"{found.deals:,} deals, {found.games:,} games, seed {settings.seed}. Rules: {options}.",
        "Brackets are 95 % bootstrap intervals over deals; a deal is a whole game, in which every agent sits in every "
        "seat once. All but cross-play is from mixed tables.",
        "## Standings",
        _standings_table(found, find_game(settings.game).shares),
        "Ratings are Plackett-Luce (openskill, tau 0): mu ± sigma, which takes games for independent; the interval is "
        "that of mu over resampled deals. Copies at one table count by their mean.",
        "## Neighbours",
        _neighbours_table(found),
    ]
    if found.cross_deals:
        parts += [
            "## Cross-play",
            f"Win share of the row's agent, in each seat among copies of the column's: {found.cross_deals:,} deals.",
            _matrix(found, found.cross, lambda one: one.text(True)),
        ]
        if found.cross_points is not None:
            parts += [
                "Points per round more than the copies have, on the same deals:",
                _matrix(found, found.cross_points, lambda one: one.text()),
            ]
    if found.calls is not None:
        parts += ["## Calls", "Tricks made on average (made exactly), by what was called.", _calls_table(found)]
    parts += [f"![{name.removesuffix('.png')}]({name})" for name in pictures]
    return "\n\n".join(parts) + "\n"


def _table(head: Names, rows: list[Names]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _standings_table(found: Standings, shares: Sequence[str]) -> str:
    """One row an agent, the best first; statistics named in `shares` are percentages, as win shares are."""
    head = ["agent", "win share", "place", *(["points per round"] if found.points else [])]
    head += [*(name.replace("_", " ") for name in found.statistics), "rating", "interval", "ordinal"]
    rows = []
    for k in found.ranking:
        rating = found.ratings[k]
        row = [f"`{found.names[k]}`", found.win_share[k].text(True), found.place[k].text()]
        row += [found.points[k].text()] if found.points else []
        row += [values[k].text(name in shares) for name, values in found.statistics.items()]
        between = "" if rating.low is None or rating.high is None else f"[{rating.low:.2f}, {rating.high:.2f}]"
        rows.append([*row, f"{rating.mu:.2f} ± {rating.sigma:.2f}", between, f"{rating.ordinal:.2f}"])
    return _table(head, rows)


def _neighbours_table(found: Standings) -> str:
    share = found.measure == "win_share"
    unit = "win share" if share else "points per round"
    pairs = zip(found.ranking, found.ranking[1:], found.neighbours, strict=False)
    rows = [
        [f"`{found.names[a]}` - `{found.names[b]}`", difference.text(share), gain_text(difference.gain)]
        for a, b, difference in pairs
    ]
    return _table([f"difference in {unit}, same deals", "mean", "gained by pairing"], rows)


def _matrix(found: Standings, cells: Any, text: Callable[[Any], str]) -> str:
    order = found.ranking
    rows = [[f"`{found.names[a]}`", *("" if cells[a][b] is None else text(cells[a][b]) for b in order)] for a in order]
    return _table(["", *(f"`{found.names[b]}`" for b in order)], rows)


def _calls_table(found: Standings) -> str:
    assert found.calls is not None
    called = sorted({call for own in found.calls for call in own})
    rows = []
    for k in found.ranking:
        cells = (found.calls[k].get(call) for call in called)
        shown = ("" if cell is None else f"{cell[1]:.2f} ({100 * cell[2]:.0f} %)" for cell in cells)
        rows.append([f"`{found.names[k]}`", *shown])
    return _table(["called", *map(str, called)], rows)


def _draw_ratings(axes: Any, found: Standings) -> None:
    order = found.ranking[::-1]
    for y, k in enumerate(order):
        rating = found.ratings[k]
        low, high = (rating.low, rating.high) if rating.low is not None else (None, None)
        if low is None or high is None:
            low, high = rating.mu - 1.96 * rating.sigma, rating.mu + 1.96 * rating.sigma
        axes.plot([low, high], [y, y], color="tab:blue")
        axes.plot(rating.mu, y, "o", color="tab:blue")
    axes.set_yticks(range(len(order)), [found.names[k] for k in order])
    axes.set_xlabel("Plackett-Luce rating, 95 % interval")


def _draw_cross(axes: Any, found: Standings) -> None:
    order = found.ranking

    def mean(cell: Estimate | None) -> float:
        return float("nan") if cell is None else 100 * cell.mean

    values = np.array([[mean(found.cross[a][b]) for b in order] for a in order])
    axes.figure.colorbar(axes.imshow(values, cmap="viridis", vmin=0, vmax=100), label="win share, %")
    for a, row in enumerate(values):
        for b, value in enumerate(row):
            if np.isfinite(value):
                axes.text(b, a, f"{value:.1f}", ha="center", va="center", color="white" if value < 60 else "black")
    names = [found.names[k] for k in order]
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("among copies of")
    axes.set_ylabel("alone")
