"""What a tournament's games say: means by deal, ratings, cross-play, and calls against what was made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.stats import t as student

from envs.game import find_game
from training.pictures import Calls, call_statistics, count_calls
from training.report import CONFIDENCE, Difference, Estimate, estimate, estimate_share, paired
from training.tournament import CROSS, MIXED, Folder, labels

RATED_GAMES = 400_000
"""Most games that are rated, over all resamples, for the interval of a rating."""


@dataclass(frozen=True)
class Rating:
    """An agent's rating by the Plackett-Luce model of `openskill`."""

    mu: float
    sigma: float
    """The model's own doubt, which takes games for independent."""
    ordinal: float
    """mu - 3 sigma."""
    low: float | None
    """Lower end of the interval of mu over resampled deals, or None where there are too few or too many games."""
    high: float | None


@dataclass(frozen=True)
class Standings:
    """The state of a tournament; lists are by agent, in the order of the settings."""

    names: list[str]
    deals: int
    games: int
    measure: str
    """What agents are ranked by: ``points`` per round, or ``win_share`` where nothing is scored."""
    ranking: list[int]
    """Agents, the best first."""
    win_share: list[Estimate]
    place: list[Estimate]
    points: list[Estimate] | None
    statistics: dict[str, list[Estimate]]
    ratings: list[Rating]
    neighbours: list[Difference]
    """Each agent of the ranking minus the next, by `measure`, on the same deals."""
    cross_deals: int
    cross: list[list[Estimate | None]]
    """Win share of the row's agent alone among copies of the column's."""
    cross_points: list[list[Difference | None]] | None
    """Points per round of the row's agent minus those of the copies."""
    calls: list[Calls] | None
    """By call: rounds, mean tricks made and share made exactly; None in games without bids."""


def by_deal(folder: Folder, values: np.ndarray, kind: str = MIXED) -> np.ndarray:
    """(D, A, ...) means over an agent's seats at the mixed tables of each finished deal, from (G, n, ...) values."""
    rows = [i for i, entry in enumerate(folder.entries) if entry["table"] == kind]
    agents = np.array([folder.entries[i]["agents"] for i in rows])
    count = len(folder.settings.agents)
    deals = len(rows) // count
    agents, values = agents[: deals * count], values[rows[: deals * count]]
    flat = values.reshape(deals, -1, *values.shape[2:])
    order = np.argsort(agents.reshape(deals, -1), axis=1, kind="stable")
    return np.stack([flat[d][order[d]] for d in range(deals)]).reshape(deals, count, -1, *values.shape[2:]).mean(axis=2)


def rank(values: np.ndarray) -> list[int]:
    """Agents by the mean of their (D, A) values, the best first."""
    return np.argsort(-values.mean(axis=0), kind="stable").tolist()


def separable(values: np.ndarray, look: int) -> bool:
    """Whether all neighbours in the ranking differ, at the look-th look (from 1) at growing (D, A) values.

    Each paired t-interval has confidence 1 - 0.05 / (look (look + 1) P), P being the number of pairs of agents:
    whatever the number of looks, and though neighbours are chosen by the same deals, the chance that any two equals
    are ever taken for different stays below 5 %.
    """
    deals, agents = values.shape
    if deals < 2:
        return False
    error = (1 - CONFIDENCE) / (look * (look + 1) * (agents * (agents - 1) / 2))
    width = float(student.ppf(1 - error / 2, deals - 1))
    ordered = values[:, rank(values)]
    steps = ordered[:, :-1] - ordered[:, 1:]
    return bool((steps.mean(axis=0) > width * steps.std(axis=0, ddof=1) / deals**0.5).all())


def measured(folder: Folder) -> np.ndarray:
    """(D, A) values that agents are ranked by: points per round, or win shares where nothing is scored."""
    if "scores" in folder.entries[0]:
        rounds = np.array([entry["rounds"] for entry in folder.entries])
        return by_deal(folder, np.array([entry["scores"] for entry in folder.entries]) / rounds[:, None])
    return by_deal(folder, np.array([entry["wins"] for entry in folder.entries]))


def rate(games: Sequence[tuple[list[int], list[int]]], agents: int) -> list[tuple[float, float]]:
    """Rate games, in order; copies of an agent at a table move it by the mean of what each would.

    Args:
        games: agents and places by seat, each.
        agents: number of agents.

    Returns:
        mu and sigma of each.
    """
    from openskill.models import PlackettLuce

    model = PlackettLuce(tau=0.0)  # agents do not change
    found = [model.rating() for _ in range(agents)]
    for seats, places in games:
        after = model.rate([[found[k]] for k in seats], ranks=[float(p) for p in places])
        for k in set(seats):
            own = [team[0] for team, seat in zip(after, seats, strict=True) if seat == k]
            found[k] = model.rating(sum(r.mu for r in own) / len(own), sum(r.sigma for r in own) / len(own))
    return [(rating.mu, rating.sigma) for rating in found]


def ratings(folder: Folder) -> list[Rating]:
    """Ratings from the mixed tables; intervals from ratings of resampled deals (normal, at most 100 resamples)."""
    count = len(folder.settings.agents)
    mixed = [(entry["agents"], entry["places"]) for entry in folder.entries if entry["table"] == MIXED]
    deals = [mixed[at : at + count] for at in range(0, len(mixed) - count + 1, count)]
    found = rate([game for deal in deals for game in deal], count)
    resamples = min(100, RATED_GAMES // max(1, len(deals) * count))
    ends: list[tuple[float | None, float | None]] = [(None, None)] * count
    if len(deals) > 1 and resamples >= 10:
        draw = np.random.default_rng(folder.settings.seed)
        drawn = [
            [game for d in draw.integers(len(deals), size=len(deals)) for game in deals[d]] for _ in range(resamples)
        ]
        spread = np.array([[mu for mu, _ in rate(games, count)] for games in drawn]).std(axis=0, ddof=1)
        ends = [(mu - 1.96 * float(s), mu + 1.96 * float(s)) for (mu, _), s in zip(found, spread, strict=True)]
    return [Rating(mu, sigma, mu - 3 * sigma, *end) for (mu, sigma), end in zip(found, ends, strict=True)]


def standings(folder: Folder) -> Standings:
    """Replay all games and sum them up; ValueError where a file does not say what its moves do."""
    played, game = folder.replay(), find_game(folder.settings.game)
    seed = folder.settings.seed

    def means(values: np.ndarray, share: bool = False) -> list[Estimate]:
        rows = by_deal(folder, values)
        found = estimate(rows, seed)
        return [estimate_share(one, len(rows)) if share else one for one in found]

    key = measured(folder)
    ranking = rank(key)
    pairs = pairwise(ranking)
    cross, cross_points, cross_deals = _cross(folder, played.wins, played.points)
    statistics = {
        name: means(played.statistics[:, :, k], name in game.shares)
        for k, name in enumerate(game.statistics)
        if name not in ("points", "place")
    }
    calls = None
    names = call_statistics(game)
    if names is not None:
        bid, tricks = (played.log[..., game.statistics.index(name)] for name in names)
        calls = _calls(folder, bid, tricks, played.rounds)
    return Standings(
        names=labels(list(folder.settings.agents)),
        deals=len(key),
        games=len(folder.entries),
        measure="points" if played.points is not None else "win_share",
        ranking=ranking,
        win_share=means(played.wins, True),
        place=means(played.places.astype(float)),
        points=None if played.points is None else means(played.points),
        statistics=statistics,
        ratings=ratings(folder),
        neighbours=[paired(key[:, a], key[:, b], seed) for a, b in pairs],
        cross_deals=cross_deals,
        cross=cross,
        cross_points=cross_points,
        calls=calls,
    )


def _cross(folder: Folder, wins: np.ndarray, points: np.ndarray | None) -> tuple[Any, Any, int]:
    """Cross-play: win shares, differences of points, and the number of deals."""
    count, n = len(folder.settings.agents), int(folder.settings.rules["num_players"])
    shares: list[list[Estimate | None]] = [[None] * count for _ in range(count)]
    margins: list[list[Difference | None]] = [[None] * count for _ in range(count)]
    rows = np.array([i for i, entry in enumerate(folder.entries) if entry["table"] == CROSS], int)
    deals = len(rows) // (count * (count - 1) * n)
    table = rows[: deals * count * (count - 1) * n].reshape(deals, count * (count - 1), n)
    own = np.arange(n)
    for k, (row, column) in enumerate((r, c) for r in range(count) for c in range(count) if r != c):
        if deals:
            share = wins[table[:, k], own].mean(axis=1)
            shares[row][column] = estimate_share(estimate(share[:, None], folder.settings.seed)[0], deals)
            if points is not None:
                alone = points[table[:, k], own].mean(axis=1)
                others = (points[table[:, k]].sum(axis=(1, 2)) / n - alone) / (n - 1)
                margins[row][column] = paired(alone, others, folder.settings.seed)
    return shares, None if points is None else margins, deals


def _calls(folder: Folder, bid: np.ndarray, tricks: np.ndarray, rounds: np.ndarray) -> list[Calls]:
    """Calls by agent, from the mixed tables."""
    mixed = np.array([entry["table"] == MIXED for entry in folder.entries])
    agents = np.array([entry["agents"] for entry in folder.entries])
    there = (np.arange(bid.shape[1]) < rounds[:, None])[:, :, None] & mixed[:, None, None]
    whose = np.broadcast_to(agents[:, None, :], bid.shape)
    rows = [there & (whose == agent) for agent in range(len(folder.settings.agents))]
    return [count_calls(bid[own], tricks[own]) for own in rows]
