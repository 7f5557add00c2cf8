"""One seat of a game as a Gymnasium environment: the other seats are played inside its steps."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from envs.agents import Agent, BuiltIn, agent_names, check_rules, find_agent
from envs.game import Game
from envs.loops import ASK
from envs.one_game import BYTE, FLOAT, ILLEGAL, NO_GAME, RENDER_MODES, IllegalActionError, Observation, OneGame

DEFAULT_OPPONENTS = "random"
_NOTHING = np.empty(0, FLOAT)
_NO_MASK = np.empty(0, BYTE)
_empty = np.empty


class SingleSeatEnv(OneGame, gymnasium.Env[Observation | np.ndarray, int]):
    """Any of the games from one seat, as a Gymnasium environment; one episode is one whole game.

    A step makes the learner's move and those of all others until it is asked again or the game is over. Its reward is
    the sum of the seat's rewards, in the game's points, since the step before (the first step brings those from before
    it too), so that an episode's return is the sum of its rewards on the PettingZoo face. An observation is a dict of
    ``observation`` (float32, shape (F,), zeros and ones) and ``action_mask`` (int8, shape (A,)), new arrays each time.
    Infos are empty; `action_masks` tells the legal actions in any case.

    An illegal action ends the episode (terminated, not truncated) with `illegal_reward`.

    The cards of ``reset(seed=s)`` are those of the PettingZoo face; the learner's seat, where it is drawn, comes from
    `np_random`. The same seed and actions give the same episode on every machine.

    Args:
        game: a name such as ``"kachuful"``, or a `Game`.
        opponents: who plays the other seats: a built-in agent by name, an agent (see `envs.agents.Agent`), or a
            sequence of these, one for each other seat, the first for the seat after the learner's. They see what their
            seats may see; other agents than the built-in ones are asked for one decision at a time. An agent that has
            ``check_rules(rules)`` can refuse the table with a ValueError.
        seat: the learner's seat, or None: drawn anew for each game.
        flatten: observe the features alone, a float32 array of shape (F,).
        illegal_reward: reward of an illegal action. Default: minus the most that a seat can score in one round, or -1
            where rewards are shares of a win.
        render_mode: None, ``"ansi"`` (`render` returns text) or ``"human"`` (the table is printed after each step).
        preset: name of a preset of the game; further options override it.
        pad_seats: lay observations out for the largest table, whatever the number of players.
        **rules: the game's options.

    Raises:
        ValueError: an unknown game, preset, option or agent, or an impossible value.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 1}  # noqa: RUF012 - as in the base
    _reset_options = ("dealer", "position", "seat")

    def __init__(
        self,
        game: str | Game = "kachuful",
        opponents: str | Agent | Sequence[str | Agent] = DEFAULT_OPPONENTS,
        seat: int | None = None,
        flatten: bool = False,
        illegal_reward: float | None = None,
        render_mode: str | None = None,
        preset: str | None = None,
        pad_seats: bool = False,
        **rules: Any,
    ) -> None:
        self._set_up(game, preset, render_mode, pad_seats, illegal_reward, rules)
        if not isinstance(flatten, bool):
            raise ValueError(f"flatten={flatten!r} is not possible: it must be True or False")
        self.flatten = flatten
        self._fixed_seat = None if seat is None else self._check_seat(seat, "seat")
        self._opponents = _find_opponents(opponents, self.game, self.rules.num_players - 1)
        for agent in self._opponents:
            check_rules(agent, self.rules)
        space = self._new_observation_space()
        self.observation_space = space["observation"] if flatten else space  # type: ignore[assignment]
        self.action_space = spaces.Discrete(self.game.num_actions)  # type: ignore[assignment]
        self._players = np.full((1, self.rules.num_players), ASK, np.int8)
        self._room = self._table.new_room()
        self._sums = self._room[1]
        self._asked: dict[int, Agent] = {}
        self._seat = 0
        self._turn = -1
        self._over = True

    @property
    def seat(self) -> int:
        """The learner's seat in this game."""
        self._started()
        return self._seat

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation | np.ndarray, dict[str, Any]]:
        """Start a game and play on until the learner is asked.

        Where the game ends before that (only a position can be so), the mask is all zeros, and the next step, whatever
        its action, ends the episode.

        Args:
            seed: 0..2**63-1. None goes on to the next game under the last seed (the first time: a seed drawn from
                `np_random`).
            options: ``dealer``: the seat that deals first. ``position``: a snapshot, or any part of one, to start from.
                ``seat``: the learner's seat in this game. Other keys warn and are ignored.

        Returns:
            The first observation and an empty dict.

        Raises:
            ValueError: an impossible seed, seat, dealer or position; the running game goes on unchanged.
        """
        chosen = self._read_options(options)
        states = self._new_states(seed, chosen)
        super().reset(seed=None if seed is None else operator.index(seed))
        own = chosen.get("seat", self._fixed_seat)
        if own is None:
            own = int(self.np_random.integers(self.rules.num_players))
        self._states, self._seat = states, own
        self._asked = {}
        self._players[0, own] = ASK
        for k, agent in enumerate(self._opponents, 1):
            other = (own + k) % self.rules.num_players
            self._players[0, other] = agent.code if isinstance(agent, BuiltIn) else ASK
            if not isinstance(agent, BuiltIn):
                self._asked[other] = agent
        self._sums.fill(0)
        self._over = True  # should an opponent fail
        self._play(-1)
        self._over = False
        if self.render_mode == "human":
            self.render()
        return self._observe(), {}

    def _fresh_seed(self) -> int:
        return int(self.np_random.integers(2**63))

    def step(self, action: int) -> tuple[Observation | np.ndarray, float, bool, bool, dict[str, Any]]:
        """Make the learner's move and all others until it is asked again.

        Args:
            action: 0..A-1; anything that is not a legal action ends the episode.

        Returns:
            Observation, reward, terminated, truncated and an empty dict.

        Raises:
            gymnasium.error.ResetNeeded: there is no game, or it is over.
            ValueError: an opponent chose an illegal action; the game is over then, without a result.
        """
        if self._over:
            raise ResetNeeded(NO_GAME if "_states" not in self.__dict__ else "the game is over: call reset()")
        penalty = 0.0
        if self._turn >= 0:
            self._over = True  # should an opponent fail
            number = self._number(action)
            if number < 0 or not self._play(number):
                self._abort()
                self._turn = -1
                penalty = self.illegal_reward
        reward = self._sums.item(self._seat) + penalty
        self._sums.fill(0)
        self._over = over = self._turn < 0
        truncated = over and int(self._states["finished"][0]) == 2
        if self.render_mode == "human":
            self.render()
        return self._observe(), reward, over and not truncated, truncated, {}

    def _number(self, action: Any) -> int:
        """An action as an integer 0..A-1; -1 for whatever is none."""
        try:
            number = operator.index(action)
        except TypeError:
            return -1
        return number if 0 <= number < self._table.num_actions else -1

    def _play(self, action: int) -> bool:
        """Make a move (-1: none) and all others until the learner is asked; False where the move is illegal."""
        table = self._table
        turn = table.play(self._states, table.options, self._players, action, *self._room)
        if turn == ILLEGAL:
            return False
        while turn in self._asked:
            agent = self._asked[turn]
            chosen = agent.act(self.decisions())[0]
            number = self._number(chosen)
            if number >= 0:
                turn = table.play(self._states, table.options, self._players, number, *self._room)
            if number < 0 or turn == ILLEGAL:
                raise IllegalActionError(f"opponent {agent.name}: {self._illegal(chosen)}")
        self._turn = turn
        return True

    def _observe(self) -> Observation | np.ndarray:
        table = self._table
        observation = _empty(table.num_features, FLOAT)
        mask = _NO_MASK if self.flatten else _empty(table.num_actions, BYTE)
        table.observe(self._states, table.options, self._seat, self.pad_seats, self._scratch, observation, mask)
        return observation if self.flatten else {"observation": observation, "action_mask": mask}

    def action_masks(self) -> np.ndarray:
        """The learner's legal actions, (A,) bool, a new array; all False once the game is over."""
        table = self._table
        mask = _empty(table.num_actions, BYTE)
        table.observe(self._started(), table.options, self._seat, self.pad_seats, self._scratch, _NOTHING, mask)
        return mask.view(np.bool_)


def _find_opponents(opponents: Any, game: Game, seats: int) -> list[Agent]:
    """The agents of the other seats, the first for the seat after the learner's; ValueError names the choices."""
    if isinstance(opponents, str) or hasattr(opponents, "act"):
        return [_find_opponent(opponents, game)] * seats
    if not isinstance(opponents, Sequence):
        raise ValueError(_not_an_agent(opponents, game))
    if len(opponents) != seats:
        raise ValueError(f"opponents names {len(opponents)} players; it must name {seats}, one for each other seat")
    return [_find_opponent(opponent, game) for opponent in opponents]


def _find_opponent(opponent: Any, game: Game) -> Agent:
    if isinstance(opponent, (str, BuiltIn)):
        return find_agent(opponent if isinstance(opponent, str) else opponent.name, game)
    if not hasattr(opponent, "act"):
        raise ValueError(_not_an_agent(opponent, game))
    agent: Agent = opponent
    return agent


def _not_an_agent(opponent: Any, game: Game) -> str:
    names = ", ".join(agent_names(game))
    return f"no agent {opponent!r} in {game.title}; choose one of {names} or give an object with act(decisions)"
