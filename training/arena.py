"""Matches by duplicate deals: the same games played once with the candidate in each seat.

A deal is a whole game, named by a seed. It is played once with the candidate in each seat while copies of one opponent
sit in all others; cards, dealers and trumps are the same each time. The luck of the cards thus falls on both sides
alike, and the deal, not the game, is the unit of every mean and interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from envs import loops
from envs.agents import Agent, check_rules
from envs.cards import stream_key
from envs.game import Game, find_game
from training.crew import Crew, Team
from training.played import Played, play_games

ARENA_STREAM = 7
CHUNK = 512
"""Deals that are played side by side."""
MOST_DEALS = 10**9
Part = tuple[Any, ...]
"""Some deals of a match: what `PART` names, a row a deal, None where the game scores nothing."""


@dataclass(frozen=True)
class Match:
    """The outcome of every deal, averaged over the seats that the side held.

    Arrays have one row a deal, D rows; the opponent's are means over its seats, so they speak of a single seat.
    """

    game: Game
    rules: Any
    candidate: str
    opponent: str
    seed: int
    first_seed: int
    """Deal d is the game that ``reset(seed=first_seed + d)`` starts."""
    rounds: np.ndarray
    """(D,) int64: rounds played, over all seatings."""
    win_share: np.ndarray
    """(D,) float64: share of the games won; k seats that tie at the top share a win as 1/k each."""
    place: np.ndarray
    """(D,) float64: place in a game, 1 the best; seats that tie share the best of their places."""
    points: np.ndarray | None
    """(D,) float64: points per round; None where the game scores nothing."""
    statistics: np.ndarray
    """(D, K) float64: the game's statistics per round."""
    opponent_win_share: np.ndarray
    opponent_place: np.ndarray
    opponent_points: np.ndarray | None
    opponent_statistics: np.ndarray

    @property
    def deals(self) -> int:
        """Number of deals D; the games are as many times the seats."""
        return len(self.win_share)

    @property
    def par(self) -> float:
        """Win share of equals: 1 / seats."""
        return 1.0 / int(self.rules.num_players)


PART = {
    "rounds": np.int64,
    **{
        f"{side}{name}": np.float64
        for side in ("", "opponent_")
        for name in ("win_share", "place", "points", "statistics")
    },
}
"""The arrays of a `Match`, in order, with their types."""


def first_deal(seed: int) -> int:
    """Seed (0..2**62-1) of the first deal of a match: far from the deals of other seeds and from those trained on."""
    return int(stream_key(seed, ARENA_STREAM))


def play_match(
    game: str | Game,
    rules: Any,
    candidate: Agent,
    opponent: Agent,
    deals: int,
    seed: int = 0,
    *,
    chunk: int = CHUNK,
    progress: Callable[[int], object] | None = None,
    crew: Crew | None = None,
    watch: Callable[[Played, np.ndarray], object] | None = None,
    done: Sequence[Part] = (),
    keep: Callable[[int, Part], object] | None = None,
) -> Match:
    """Play a candidate against copies of one opponent, each deal once from every seat.

    Args:
        game: a name, or a `Game`.
        rules: the game's option object (``game.make_rules(...)``).
        candidate: who is measured.
        opponent: who sits in all other seats.
        deals: number of deals, 1 or more; the first of them are the same for every number.
        seed: names the deals and the agents' chance (0..2**63-1).
        chunk: deals played side by side; the outcome does not depend on it.
        progress: called with the number of deals finished so far.
        crew: worker processes that share the deals; they hold both agents. The outcome does not depend on it.
        watch: called with each chunk's games as they were played, and (G, n) bool: where the candidate sat. A chunk
            holds each deal n times, the candidate in one seat after the other. Not with a crew.
        done: deals that have been played before, the first of the match: what `keep` was called with.
        keep: called with the number of the first deal and the outcome of each part of the match as it is finished.

    Raises:
        ValueError: an impossible number, or an agent made for another number of seats.
        AgentError: an agent fails or acts illegally.
    """
    for name, value, least, most in (
        ("deals", deals, 1, MOST_DEALS),
        ("seed", seed, 0, 2**63 - 1),
        ("chunk", chunk, 1, MOST_DEALS),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"{name}={value!r} is not possible: it must be an integer from {least} to {most}")
    game = find_game(game)
    check_rules(candidate, rules)
    check_rules(opponent, rules)
    first = first_deal(seed)
    parts = list(done)
    begin = sum(len(part[0]) for part in parts)
    if begin and progress is not None:
        progress(min(begin, deals))
    for start, count, part in _shares(
        game, rules, (candidate, opponent), first, range(begin, deals), seed, chunk, crew, watch
    ):
        parts.append(part)
        if keep is not None:
            keep(start, part)
        if progress is not None:
            progress(start + count)
    columns = zip(*parts, strict=True)
    whole: list[Any] = [None if column[0] is None else np.concatenate(column)[:deals] for column in columns]
    return Match(game, rules, candidate.name, opponent.name, seed, first, *whole)


def _shares(
    game: Game, rules: Any, agents: tuple[Agent, Agent], first: int, deals: range, seed: int, chunk: int,
    crew: Crew | None, watch: Callable[[Played, np.ndarray], object] | None,
) -> Iterator[tuple[int, int, tuple[Any, ...]]]:  # fmt: skip
    """Play some deals, here or by worker processes; yields first deal, count and result of each part, in order."""
    if crew is not None:
        seats = crew.index(agents[0]), crew.index(agents[1])
        yield from crew.spread(partial(_play_part, seats=seats, first=first, seed=seed), deals.stop, deals.start, chunk)
        return
    for start in deals[::chunk]:
        count = min(chunk, deals.stop - start)
        yield start, count, _play_chunk(game, rules, agents, first + start, count, seed, watch)


def _play_part(team: Team, start: int, count: int, seats: tuple[int, int], first: int, seed: int) -> tuple[Any, ...]:
    agents = team.agents[seats[0]], team.agents[seats[1]]
    return _play_chunk(team.game, team.rules, agents, first + start, count, seed)


def _play_chunk(
    game: Game, rules: Any, agents: tuple[Agent, Agent], first: int, count: int, seed: int,
    watch: Callable[[Played, np.ndarray], object] | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """Play `count` deals and return `Match`'s arrays; game g is deal g // n with the candidate in seat g % n."""
    n: int = rules.num_players
    games = count * n
    is_candidate = (np.arange(games) % n)[:, None] == np.arange(n)
    deals = np.zeros(count, game.state)
    loops.start_games(deals, rules.record(), first)
    played = play_games(game, rules, agents, np.repeat(deals, n), np.where(is_candidate, 0, 1), seed)
    if watch is not None:
        watch(played, is_candidate)

    def sides(values: np.ndarray | None) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Means over a deal of (games, seats, ...) values: the candidate's seats, and the opponents'."""
        if values is None:
            return None, None
        own = values[is_candidate].reshape(count, n, *values.shape[2:]).mean(axis=1)
        others = values[~is_candidate].reshape(count, n * (n - 1), *values.shape[2:]).mean(axis=1)
        return own, others

    values = (played.wins, played.places, played.points, played.statistics)
    own, others = zip(*map(sides, values), strict=True)
    return (played.rounds.reshape(count, n).sum(axis=1), *own, *others)
