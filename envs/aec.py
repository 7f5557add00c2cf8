"""The PettingZoo face of every game, by the rules alone; `envs.checked` adds what users may get wrong.

A step is one compiled call, an observation another; what lies between them is the bookkeeping that PettingZoo's
agent-environment cycle asks for.
"""

from __future__ import annotations

import operator
from array import array
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils.env import AECIterable

from envs.game import TRUNCATED, Game
from envs.one_game import (
    BYTE,
    FLAGS,
    FLOAT,
    FOLLOW,
    NO_GAME,
    RENDER_MODES,
    IllegalActionError,
    Observation,
    OneGame,
    close_round,
    observe_all,
)

__all__ = ["RENDER_MODES", "IllegalActionError", "Observation", "TableEnv"]
_empty = np.empty


class _Turns(AECIterable[str, Observation, int]):  # type: ignore[misc]
    """The agents in the order in which they act, removed ones last; lazily, from the env as it is."""

    def __iter__(self) -> Iterator[str]:  # type: ignore[override]
        env, left = self.env, self.max_iter
        while left > 0 and env.agents:
            left -= 1
            yield env.agent_selection


class TableEnv(OneGame, AECEnv[str, Observation, int]):  # type: ignore[misc]
    """Any of the games as a PettingZoo AEC environment, without wrappers.

    Agents are ``player_0`` … ``player_{n-1}`` in order of play; one episode is one whole game. An observation is a
    dict of ``observation`` (float32, shape (F,), zeros and ones) and ``action_mask`` (int8, shape (A,)), new arrays
    each time; the mask is all zeros for a seat that is not to act. Rewards are in the game's points.

    Args:
        game: a name such as ``"kachuful"``, or a `Game`.
        preset: name of a preset of the game; further options override it.
        render_mode: None, ``"ansi"`` (`render` returns text) or ``"human"`` (`render` prints it).
        pad_seats: lay observations out for the largest table, whatever the number of players.
        illegal_reward: reward of a seat that ends the game by an illegal action (only `CheckedEnv` lets it). Default:
            minus the most that a seat can score in one round, or -1 where rewards are shares of a win.
        **rules: the game's options.

    Raises:
        ValueError: an unknown game, preset or option, or an impossible value.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - as PettingZoo's base class has it
        "render_modes": list(RENDER_MODES),
        "name": "table_v0",
        "is_parallelizable": False,
    }

    def __init__(
        self,
        game: str | Game,
        preset: str | None = None,
        render_mode: str | None = None,
        pad_seats: bool = False,
        illegal_reward: float | None = None,
        **rules: Any,
    ) -> None:
        super().__init__()
        self._set_up(game, preset, render_mode, pad_seats, illegal_reward, rules)
        self.metadata = {**type(self).metadata, "name": f"{self.game.name}_v0"}
        self.possible_agents = list(self._table.agents)
        self._seat_rewards = np.zeros(self.rules.num_players, np.float32)

    @cached_property
    def observation_spaces(self) -> dict[str, spaces.Space[Any]]:  # type: ignore[override]
        """Observation space of each agent: ``Dict(observation=Box(0, 1, (F,)), action_mask=Box(0, 1, (A,)))``."""
        return {agent: self._new_observation_space() for agent in self.possible_agents}

    @cached_property
    def action_spaces(self) -> dict[str, spaces.Space[Any]]:  # type: ignore[override]
        """Action space of each agent: ``Discrete(A)``."""
        return {agent: spaces.Discrete(self.game.num_actions) for agent in self.possible_agents}

    @cached_property
    def state_space(self) -> spaces.Box:
        """Space of `state`: ``Box(0, 1, (S,))``."""
        return spaces.Box(0.0, 1.0, (self._table.num_state,), np.float32)

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Observation space of an agent; the same object each time."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Action space of an agent; the same object each time."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a game.

        Args:
            seed: 0..2**63-1; the same seed gives the same deals on every machine. None goes on to the next game under
                the last seed (the first time: a seed from the operating system).
            options: ``dealer``: the seat that deals first. ``position``: a snapshot, or any part of one, to start from;
                what it leaves out is dealt or defaulted from the seed. Other keys warn and are ignored.

        Raises:
            ValueError: an impossible seed, dealer or position; the running game goes on unchanged.
        """
        states = self._new_states(seed, self._read_options(options))
        self._states = states
        self._turn = int(states["turn"][0])
        self._moves = array("H")
        over = self._turn < 0
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self._rewarded = False
        self.terminations = dict.fromkeys(self.agents, over)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.agent_selection = self.agents[max(0, self._turn)]
        self._skip_agent_selection = None

    def step(self, action: int | None) -> None:
        """Make a move for the agent to act (None for an agent whose game has ended).

        Raises:
            IllegalActionError: (a ValueError) the action is not legal; it, the seat and the legal actions are named.
            RuntimeError: every agent has left the game.
        """
        try:
            agent = self.agent_selection
            if self.terminations[agent] or self.truncations[agent]:
                self._was_dead_step(action)  # type: ignore[arg-type]
                return
        except AttributeError:
            raise RuntimeError(NO_GAME) from None
        except KeyError:
            raise RuntimeError("the game is over and every agent has left it: call reset()") from None
        table = self._table
        try:
            if action.__class__ is not int:
                action = operator.index(action)  # type: ignore[arg-type]
            code = table.move(self._states, table.options, action)
        except (TypeError, OverflowError):
            raise self._illegal(action) from None
        if code < 0:
            raise self._illegal(action)
        self._moves.append(self._turn << 8 | action)
        if self._rewarded:
            self._clear_rewards()
            self._rewarded = False
        self._cumulative_rewards[agent] = 0.0
        if code < 1 << FLAGS:
            self._turn = code
            self.agent_selection = table.agents[code]
        else:
            self._go_on(code)

    def _go_on(self, code: int) -> None:
        """After a move that ended a round, or that the game follows up by itself."""
        flags = code >> FLAGS & 0xF
        while code >= 1 << FOLLOW:
            action = (code >> FOLLOW) - 1
            self._moves.append((code & 0xFF) << 8 | action)
            code = self._table.move(self._states, self._table.options, action)
            flags |= code >> FLAGS & 0xF
        self._turn = code & 0xFF
        if flags:
            self._turn = close_round(self._states, self._table.options, flags, self._seat_rewards)
            self.rewards = dict(zip(self.agents, self._seat_rewards.tolist(), strict=True))
            self._rewarded = True
            self._accumulate_rewards()
        if self._turn >= 0:
            self.agent_selection = self._table.agents[self._turn]
        else:
            self.terminations = dict.fromkeys(self.agents, not flags & TRUNCATED)
            self.truncations = dict.fromkeys(self.agents, bool(flags & TRUNCATED))
            self._deads_step_first()

    def _clear_rewards(self) -> None:
        for agent in self.rewards:
            self.rewards[agent] = 0.0

    def _end_illegally(self) -> None:
        """End the game for everybody after an illegal action of the seat to act, as PettingZoo's wrapper does."""
        offender = self.agent_selection
        self._cumulative_rewards[offender] = 0.0
        self.terminations = dict.fromkeys(self.agents, True)
        self.truncations = dict.fromkeys(self.agents, True)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self.rewards[offender] = self.illegal_reward
        self._accumulate_rewards()
        self._abort()
        self._turn = -1
        self._deads_step_first()

    def observe(self, agent: str) -> Observation:
        """What an agent sees, in new arrays; agents that have left the game still see, with an all-zero mask."""
        table = self._table
        try:
            seat = table.seats[agent]
            states = self._states
        except KeyError:
            raise ValueError(f"no agent {agent!r}; agents are {', '.join(table.agents)}") from None
        except AttributeError:
            raise RuntimeError(NO_GAME) from None
        observation = _empty(table.num_features, FLOAT)
        mask = _empty(table.num_actions, BYTE)
        table.observe(states, table.options, seat, self.pad_seats, self._scratch, observation, mask)
        return {"observation": observation, "action_mask": mask}

    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]:
        """Observation, reward since its last move, termination, truncation and info of the agent to act."""
        try:
            agent = self.agent_selection
        except AttributeError:
            raise RuntimeError(NO_GAME) from None
        return (
            self.observe(agent) if observe else None,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self.infos[agent],
        )

    def agent_iter(self, max_iter: int = 2**63) -> AECIterable[str, Observation, int]:
        """The agents in the order in which they act, at most `max_iter`; `step` in each pass of a loop over it."""
        self._started()
        return _Turns(self, max_iter)

    def state(self) -> np.ndarray:
        """The whole deal, rotated to the seat to act (seat 0 after the end): float32 zeros and ones, shape (S,)."""
        out = self._scratch[: self._table.num_state]
        observe_all(self._started(), self._table.options, max(0, self._turn), self.pad_seats, out)
        return out.astype(np.float32)

    @property
    def history(self) -> list[tuple[int, str]]:
        """The moves of this game so far as ``(seat, name)``, those that the game made by itself included."""
        self._started()
        return [(move >> 8, self._table.actions[move & 0xFF]) for move in self._moves]

    def close(self) -> None:
        """Nothing needs releasing."""
