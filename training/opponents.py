"""Who sits where while learning: the learner against itself and, at a share of the tables, against others.

Others are built-in players by name, former policies of the learner, and frozen policies by the path of their
checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from envs.agents import agent_names
from envs.game import Game
from envs.vector import PLAYER_ASK
from training.agents import PATH, parse_spec

SELF = "self"
"""Name of the tables at which the learner holds all seats."""
SNAPSHOT = "snapshot"
"""Name of those at which it meets former policies of its own."""


class Tables(NamedTuple):
    """The seats of N tables."""

    kinds: tuple[str, ...]
    """Names of the kinds of table: `SELF`, or whom the learner meets there."""
    kind: np.ndarray
    """(N,) int64: index into `kinds`."""
    players: np.ndarray
    """(N, seats) int8: player codes as `VectorEnv` takes them; it asks for the seats of policies too."""
    learner: np.ndarray
    """(N, seats) bool: the seats that the learner holds."""

    def part(self, first: int, last: int) -> Tables:
        """Tables ``first`` to ``last - 1``."""
        return Tables(self.kinds, self.kind[first:last], self.players[first:last], self.learner[first:last])


def player_names(game: Game) -> tuple[str, ...]:
    """Names that shares may give, paths of checkpoints besides: the learner, now and before, and built-in players."""
    return (SELF, SNAPSHOT, "random", *game.rule_players)


def policy_names(shares: Mapping[str, float], game: Game) -> tuple[str, ...]:
    """Those names of shares above 0 that are paths of checkpoints (with ``:sampled`` or not), in their order."""
    return tuple(name for name, share in shares.items() if name not in player_names(game) and share > 0)


def check_shares(shares: Mapping[str, float], game: Game) -> None:
    """Require known names, or paths, and shares of at least 0 that are not all 0; raises ValueError."""
    names = player_names(game)
    for name, share in shares.items():
        if name not in names and parse_spec(name, names).kind != PATH:
            raise ValueError(
                f"opponents: no player {name!r} in {game.title}; choose among {', '.join(names)}, "
                "or give the path of a checkpoint"
            )
        if not 0 <= share < float("inf"):
            raise ValueError(f"opponents: share {name}={share!r} is not possible: it must be a number of at least 0")
    if not sum(shares.values()) > 0:
        raise ValueError("opponents: the shares are all 0; give at least one of them a share, such as self: 1")


def seat_tables(
    game: Game, num_players: int, num_tables: int, shares: Mapping[str, float], most_seats: int, seed: int
) -> Tables:
    """Share tables out among the opponents and draw the learner's seats.

    Args:
        game: the game.
        num_players: seats of a table.
        num_tables: N.
        shares: weights by name (see `player_names`, `policy_names`); tables are dealt out in proportion, rounded.
        most_seats: most seats that the learner holds against others; 1 to this many, equally often.
        seed: seed of the draw.

    Raises:
        ValueError: impossible shares.
    """
    check_shares(shares, game)
    policies = policy_names(shares, game)
    built_in = agent_names(game)
    kinds = (*(name for name in player_names(game) if shares.get(name, 0) > 0), *policies)
    ends = np.cumsum([shares[name] for name in kinds])
    generator = np.random.default_rng(seed)
    kind = generator.permutation(np.searchsorted(ends / ends[-1], (np.arange(num_tables) + 0.5) / num_tables))
    players = np.full((num_tables, num_players), PLAYER_ASK, np.int8)
    learner = np.ones(players.shape, np.bool_)
    for table in range(num_tables):
        name = kinds[kind[table]]
        if name != SELF:
            held = generator.integers(1, min(most_seats, num_players - 1) + 1)
            others = generator.permutation(num_players)[held:]
            learner[table, others] = False
            if name in built_in:
                players[table, others] = built_in.index(name)
    return Tables(kinds, kind, players, learner)
