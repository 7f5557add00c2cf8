"""What is said about matches: means with intervals, tables for people, JSON for programs."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from scipy.stats import bootstrap

from envs.jit import source_hash
from training.arena import Match
from training.files import partial_name, write_whole

CONFIDENCE = 0.95
RESAMPLES = 4999
_BATCH_NUMBERS = 4_000_000


@dataclass(frozen=True)
class Estimate:
    """A mean over deals and its interval."""

    mean: float
    low: float | None
    """Lower end, or None: a single deal has no interval."""
    high: float | None

    def text(self, percent: bool = False, between: str = " ") -> str:
        """``12.34 [11.98, 12.70]``, or the same in percent; `between` parts mean and interval."""
        scale, digits, unit = (100.0, 1, " %") if percent else (1.0, 3, "")
        middle = f"{self.mean * scale:.{digits}f}{unit}"
        if self.low is None or self.high is None:
            return middle
        return f"{middle}{between}[{self.low * scale:.{digits}f}, {self.high * scale:.{digits}f}]"


@dataclass(frozen=True)
class Difference(Estimate):
    """A mean of differences on the same deals, with its interval."""

    gain: float | None
    """Factor by which pairing lowers the variance: of unpaired means over paired ones; None where nothing varies."""


def paired(first: np.ndarray, second: np.ndarray, seed: int = 0) -> Difference:
    """First minus second on the same deals, (D,) each; the gain is below 1 where what one wins the other must lose."""
    apart, together = float(np.var(first) + np.var(second)), float(np.var(first - second))
    found = estimate((first - second)[:, None], seed)[0]
    return Difference(found.mean, found.low, found.high, apart / together if together > 1e-12 else None)


def estimate(values: np.ndarray, seed: int = 0) -> list[Estimate]:
    """Means with 95 % percentile-bootstrap intervals over independent deals.

    Deals are drawn whole: all quantities share each resample. Intervals of a few dozen deals are somewhat too narrow.

    Args:
        values: (D, M) numbers, one row a deal.
        seed: seed of the resampling.

    Returns:
        M estimates; without interval where D is 1.
    """
    deals, quantities = values.shape
    means = values.mean(axis=0)
    if deals < 2:
        return [Estimate(float(mean), None, None) for mean in means]
    columns = np.ascontiguousarray(values.T)
    batch = max(1, _BATCH_NUMBERS // (deals * quantities))
    interval = bootstrap(
        (columns,), np.mean, axis=-1, vectorized=True, n_resamples=RESAMPLES, batch=batch,
        confidence_level=CONFIDENCE, method="percentile", rng=np.random.default_rng(seed),
    ).confidence_interval  # fmt: skip
    ends = zip(means, np.atleast_1d(interval.low), np.atleast_1d(interval.high), strict=True)
    return [Estimate(float(mean), float(low), float(high)) for mean, low, high in ends]


def estimate_share(share: Estimate, deals: int) -> Estimate:
    """Correct the estimate of a share (0..1) that was 0 in all deals, or 1: resampling sees no doubt there.

    The other end becomes the largest chance of anything else that stays unseen in 2.5 % of samples of so many deals.
    """
    if share.low is None or share.low != share.high or share.mean not in (0.0, 1.0):
        return share
    unseen = ((1 - CONFIDENCE) / 2) ** (1 / deals)
    return Estimate(share.mean, 0.0, 1 - unseen) if share.mean == 0.0 else Estimate(share.mean, unseen, 1.0)


def rest(share: Estimate, seats: int) -> Estimate:
    """What each of `seats` others has on average of what a share (0..1) leaves."""
    low, high = (None if end is None else (1 - end) / seats for end in (share.high, share.low))
    return Estimate((1 - share.mean) / seats, low, high)


@dataclass(frozen=True)
class Summary:
    """A match in numbers; ``opponents`` speaks of a single opponent seat."""

    candidate: str
    opponent: str
    deals: int
    games: int
    rounds: int
    par: float
    win_share: Estimate
    place: Estimate
    """Mean place in a game, 1 the best; seats that tie share the best of their places."""
    points_per_round: Estimate | None
    """None where the game scores nothing."""
    statistics: dict[str, Estimate]
    """Per round and seat, by the game's names."""
    opponent_win_share: Estimate
    opponent_place: Estimate
    opponent_points_per_round: Estimate | None
    opponent_statistics: dict[str, Estimate]
    difference: dict[str, Difference]
    """Candidate minus opponent on the same deals: win_share, place and, where scored, points_per_round."""
    shares: tuple[str, ...] = ()
    """Names of the statistics that are shares (0..1)."""
    reverse: Summary | None = None
    """The reverse table: the opponent among copies of the candidate, the same deals."""
    alone: Difference | None = None
    """Win share of the candidate alone at its table minus that of the opponent alone at the reverse one."""

    def document(self) -> dict[str, Any]:
        """As plain JSON types; what the game has not got is left out."""
        entries = asdict(self)
        del entries["shares"]
        if self.reverse is not None:
            entries["reverse"] = self.reverse.document()
        return {name: value for name, value in entries.items() if value is not None}


def summarize(match: Match, reverse: Match | None = None) -> Summary:
    """Means and intervals of a match and of its reverse; the resampling is seeded by the match's seed."""
    game, others = match.game, int(match.rules.num_players) - 1
    # One table of all columns: each resample of the deals serves all of them.
    columns = {
        "win_share": match.win_share,
        "points": match.points,
        **{f"own {name}": column for name, column in zip(game.statistics, match.statistics.T, strict=True)},
        "opponent_points": match.opponent_points,
        **{f"their {name}": column for name, column in zip(game.statistics, match.opponent_statistics.T, strict=True)},
        "place": match.place,
        "opponent_place": match.opponent_place,
    }
    there = {name: column for name, column in columns.items() if column is not None}
    found = dict(zip(there, estimate(np.stack(list(there.values()), axis=1), match.seed), strict=True))

    def statistics(whose: str) -> dict[str, Estimate]:
        means = {name: found[f"{whose} {name}"] for name in game.statistics}
        return {
            name: estimate_share(mean, match.deals) if name in game.shares else mean for name, mean in means.items()
        }

    win_share = estimate_share(found["win_share"], match.deals)
    pairs: list[tuple[str, Any, Any]] = [
        ("win_share", match.win_share, match.opponent_win_share),
        ("place", match.place, match.opponent_place),
        ("points_per_round", match.points, match.opponent_points),
    ]
    return Summary(
        candidate=match.candidate,
        opponent=match.opponent,
        deals=match.deals,
        games=match.deals * int(match.rules.num_players),
        rounds=int(match.rounds.sum()),
        par=match.par,
        win_share=win_share,
        place=found["place"],
        points_per_round=found.get("points"),
        statistics=statistics("own"),
        opponent_win_share=rest(win_share, others),
        opponent_place=found["opponent_place"],
        opponent_points_per_round=found.get("opponent_points"),
        opponent_statistics=statistics("their"),
        difference={name: paired(own, theirs, match.seed) for name, own, theirs in pairs if own is not None},
        shares=game.shares,
        reverse=None if reverse is None else summarize(reverse),
        alone=None if reverse is None else paired(match.win_share, reverse.win_share, match.seed),
    )


def match_table(summaries: Sequence[Summary]) -> Table:
    """A table with one column for each opponent."""
    first = summaries[0]
    between = " " if len(summaries) <= 2 else "\n"  # three columns of whole lines are too wide for most screens
    table = Table(title=f"{first.candidate}, once in each seat of every deal")
    table.add_column("against")
    for summary in summaries:
        table.add_column(summary.opponent, justify="right", overflow="fold")

    def row(name: str, text: Callable[[Summary], str], section: bool = False) -> None:
        table.add_row(name, *map(text, summaries), end_section=section)

    row("deals (games)", lambda s: f"{s.deals:,} ({s.games:,})")
    row("win share", lambda s: s.win_share.text(True, between))
    row("par", lambda s: f"{100 * s.par:.1f} %")
    row("opponent's win share", lambda s: s.opponent_win_share.text(True, between), section=True)
    row("place", lambda s: s.place.text(between=between))
    row("opponent's place", lambda s: s.opponent_place.text(between=between), section=True)
    if first.points_per_round is not None:
        row("points per round", lambda s: _text(s.points_per_round, between))
        row("opponent's points", lambda s: _text(s.opponent_points_per_round, between), section=True)
    measure = "place" if first.points_per_round is None else "points_per_round"
    row("difference, paired", lambda s: s.difference[measure].text(between=between))
    row("gained by pairing", lambda s: gain_text(s.difference[measure].gain), section=True)
    if all(summary.reverse is not None for summary in summaries):
        row("opponent alone wins", lambda s: "" if s.reverse is None else s.reverse.win_share.text(True, between))
        row("more won alone", lambda s: "" if s.alone is None else s.alone.text(True, between))
        row("gained by pairing", lambda s: "" if s.alone is None else gain_text(s.alone.gain), section=True)
    span = "game" if all(summary.rounds == summary.games for summary in summaries) else "round"
    for name in first.statistics:
        if name not in ("points", "place"):  # said above
            share = name in first.shares
            row(
                f"{name.replace('_', ' ')} per {span}",
                lambda s, name=name, share=share: s.statistics[name].text(share, between),  # type: ignore[misc]
            )
    table.caption = f"Brackets: {100 * CONFIDENCE:.0f} % bootstrap intervals over deals."
    return table


def gain_text(gain: float | None) -> str:
    """The factor gained by pairing, such as ``x 1.92``."""
    return "" if gain is None else f"x {gain:.2f}"


def _text(mean: Estimate | None, between: str) -> str:
    return "" if mean is None else mean.text(between=between)


def match_document(
    matches: Sequence[Match],
    summaries: Sequence[Summary],
    command: Sequence[str],
    greedy: bool,
    specs: Sequence[str],
    policy_sha256: str | None = None,
) -> dict[str, Any]:
    """All that is needed to judge and to repeat matches of one candidate, game and seed, as plain JSON types.

    Args:
        matches: one or more matches.
        summaries: their summaries.
        command: the command line that was given.
        greedy: whether policies took their likeliest actions, where their specs do not say so.
        specs: of the candidate and of each match's opponent, as they were given.
        policy_sha256: digest of the candidate's weights, where it is a checkpoint's policy.
    """
    first = matches[0]
    return {
        "command": list(command),
        "specs": list(specs),
        "policy_sha256": policy_sha256,
        "game": first.game.name,
        "rules": asdict(first.rules),
        "candidate": first.candidate,
        "greedy": greedy,
        "seed": first.seed,
        "first_deal_seed": first.first_seed,
        "deals": first.deals,
        "games": summaries[0].games,
        "confidence": CONFIDENCE,
        "interval": f"percentile bootstrap over deals, {RESAMPLES} resamples; exact for shares of all 0 or all 1",
        "tables": [summary.document() for summary in summaries],
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """Versions of everything that a result may depend on; ``engine`` is a digest of the games' sources."""
    found = {"python": platform.python_version(), "platform": platform.platform(), "engine": source_hash()}
    for name in ("taash", "numpy", "numba", "scipy", "torch"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def check_json_path(path: Path) -> None:
    """Raise ValueError where a file cannot be written, before long work is done for it."""
    if path.is_dir():
        raise ValueError(f"cannot write {path}: it is a directory")
    if path.exists() and not path.is_file():
        raise ValueError(f"cannot write {path}: it is no plain file")
    probe = partial_name(path.resolve())
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ValueError(f"cannot write {path}: {error.strerror}") from None


def write_json(path: Path, document: Any) -> None:
    """Write a document so that the file is, at any moment, either the old one or the complete new one."""
    write_whole(path.resolve(), (json.dumps(document, indent=2, allow_nan=False) + "\n").encode())


def progress_bar() -> Progress:
    """A progress bar on the error stream that vanishes when done; nothing at all where that is no terminal."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        console=console, transient=True, disable=not console.is_terminal,
    )  # fmt: skip
