"""One game with its past: moves can be taken back, looked at again and made anew.

It drives a game's own functions (see `envs.game`), one move at a time. Cards of later rounds depend on the seed
alone, so whatever is taken back and made again gives the same game.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from envs.agents import Decisions
from envs.game import GAME_OVER, ROUND_OVER, TRUNCATED, Game, automatic, new_game, next_round, place, statistics, step


@dataclass(frozen=True)
class Move:
    """A move that was made."""

    seat: int
    action: int
    automatic: bool
    """Whether the game made it by itself."""


@dataclass(frozen=True)
class RoundEnd:
    """A round that has ended."""

    at: int
    """Number of moves made by then."""
    states: np.ndarray
    """(1,) the record, scored, before the next deal."""
    statistics: np.ndarray
    """(seats, K) float64, as the game names them."""


class GameRecord:
    """A game from its start or from a position; ``moves`` and ``rounds`` are its past.

    Args:
        game: the game.
        rules: its option object.
        seed: 0..2**63-1.
        dealer: the seat that deals first, or None for the seed's.
        position: a snapshot, or a part of one, to start from.
        agents_seed: seed of the agents' chance; None: `seed`.

    Raises:
        ValueError: an impossible position.
    """

    def __init__(
        self,
        game: Game,
        rules: Any,
        seed: int,
        dealer: int | None = None,
        position: Mapping[str, Any] | None = None,
        agents_seed: int | None = None,
    ) -> None:
        self.game, self.rules, self.seed, self.dealer, self.position = game, rules, seed, dealer, position
        self.agents_seed = seed if agents_seed is None else agents_seed
        self.options = rules.record()
        self.seats: int = rules.num_players
        self.states = np.zeros(1, game.state)
        self.moves: list[Move] = []
        self.rounds: list[RoundEnd] = []
        self._before: list[np.ndarray] = []
        first = -1 if dealer is None else dealer
        if position is None:
            self.states["seed"] = seed
            new_game(self.states[0], self.options[0], first)
        else:
            game.fields.set_position(self.states, rules, position, seed, 0, first)

    @property
    def turn(self) -> int:
        """Seat to act, -1 once the game is over."""
        return int(self.states["turn"][0])

    @property
    def legal(self) -> list[int]:
        """Legal actions of the seat to act, ascending."""
        return self.legal_at(len(self.moves))

    def legal_at(self, at: int) -> list[int]:
        """Legal actions after the first `at` moves."""
        states = self.states_at(at)
        if int(states["turn"][0]) < 0:
            return []
        return [int(a) for a in Decisions(self.game, self.rules, states).action_mask[0].nonzero()[0]]

    def states_at(self, at: int) -> np.ndarray:
        """(1,) the record after the first `at` moves, the next round dealt."""
        return self._before[at] if at < len(self.moves) else self.states

    def states_after(self, at: int) -> np.ndarray:
        """(1,) the record after the first `at` moves, the next round not yet dealt."""
        ended = self.round_ended(at)
        return self.states_at(at) if ended is None else ended.states

    def round_ended(self, at: int) -> RoundEnd | None:
        """The round that the last of the first `at` moves ended, if it did."""
        return next((ended for ended in self.rounds if ended.at == at), None)

    def make(self, action: int) -> None:
        """Make a move for the seat to act, and those that the game then makes by itself; ValueError if illegal."""
        if action not in self.legal:
            raise ValueError(self.illegal(action))
        self._step(action, False)
        while (follow := int(automatic(self.states[0], self.options[0]))) >= 0:
            self._step(follow, True)

    def illegal(self, action: int) -> str:
        """What to say of an illegal action."""
        names = ", ".join(map(self.game.action_name, self.legal))
        return f"{self.game.action_name(action)} is not legal for seat {self.turn}; legal: {names}"

    def _step(self, action: int, by_itself: bool) -> None:
        self._before.append(self.states.copy())
        self.moves.append(Move(self.turn, action, by_itself))
        flags = int(step(self.states[0], self.options[0], action))
        if flags & ROUND_OVER:
            self.rounds.append(RoundEnd(len(self.moves), self.states.copy(), self._statistics()))
            if not flags & (GAME_OVER | TRUNCATED):
                next_round(self.states[0], self.options[0])

    def _statistics(self) -> np.ndarray:
        out = np.zeros((self.seats, len(self.game.statistics)), np.float32)
        for seat in range(self.seats):
            statistics(self.states[0], self.options[0], seat, out[seat])
        return out.astype(np.float64)

    def undo(self, count: int) -> None:
        """Take back all but the first `count` moves."""
        if count < len(self.moves):
            self.states = self._before[count].copy()
            del self.moves[count:], self._before[count:]
            self.rounds = [ended for ended in self.rounds if ended.at <= count]

    def places(self) -> list[int]:
        """Place of each seat, 1 the best, in a game that has ended."""
        return [int(place(self.states[0], self.options[0], seat)) for seat in range(self.seats)]

    @property
    def cut_short(self) -> bool:
        """Whether the game was truncated."""
        return int(self.states["finished"][0]) == 2

    def choices(self, seat: int) -> list[int]:
        """Numbers of moves after which a seat has decided: it moved, and had more than one way to."""
        return [
            at
            for at, move in enumerate(self.moves)
            if move.seat == seat and not move.automatic and len(self.legal_at(at)) > 1
        ]
