"""The PettingZoo face that bears wrong use: order of calls enforced, illegal actions end the game."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from pettingzoo.utils.env import AECIterable
from pettingzoo.utils.env_logger import EnvLogger
from pettingzoo.utils.wrappers import BaseWrapper

from envs.aec import IllegalActionError, Observation, TableEnv

_AFTER_RESET = frozenset(("agents", "agent_selection", "num_agents", "rewards", "_cumulative_rewards"))
_AFTER_RESET |= frozenset(("terminations", "truncations", "infos"))


class _CheckedTurns(AECIterable[str, Observation, int]):  # type: ignore[misc]
    """The agents in the order in which they act, insisting on a step or reset between two agents."""

    def __iter__(self) -> Iterator[str]:  # type: ignore[override]
        env, left = self.env, self.max_iter
        raw = env.env
        while left > 0 and raw.agents:
            left -= 1
            if not env._has_moved:
                raise AssertionError("need to call step() or reset() in a loop over agent_iter()")
            env._has_moved = False
            yield raw.agent_selection


class CheckedEnv(BaseWrapper[str, Observation, int]):  # type: ignore[misc]
    """A `TableEnv` that behaves as under PettingZoo's OrderEnforcing, AssertOutOfBounds and TerminateIllegal wrappers.

    Calls before `reset` fail; an illegal action ends the game for all seats: the offender gets `illegal_reward`, the
    others 0. Two differences: an action outside the action space counts as illegal too, and after an illegal end all
    masks are zero and the snapshot is finished.

    Args:
        env: the raw environment, from then on in this one's hands.
    """

    env: TableEnv

    def __init__(self, env: TableEnv) -> None:
        if not isinstance(env, TableEnv):
            raise TypeError(f"CheckedEnv takes a TableEnv, not a {type(env).__name__}")
        super().__init__(env)
        self._has_reset = False
        self._has_moved = False

    def __getattr__(self, name: str) -> Any:
        if name in _AFTER_RESET and not self._has_reset:
            raise AttributeError(f"{name} cannot be accessed before reset()")
        return super().__getattr__(name)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a game; see `TableEnv.reset`."""
        self.env.reset(seed=seed, options=options)
        self._has_reset = True
        self._has_moved = True

    def step(self, action: int | None) -> None:
        """Make a move for the agent to act; an illegal one ends the game for all (with a warning)."""
        if not self._has_reset:
            EnvLogger.error_step_before_reset()
        self._has_moved = True
        raw = self.env
        if not raw.agents:
            EnvLogger.warn_step_after_terminated_truncated()
            return
        try:
            raw.step(action)
        except IllegalActionError:
            EnvLogger.warn_on_illegal_move()
            raw._end_illegally()

    def observe(self, agent: str) -> Observation:
        """What an agent sees; see `TableEnv.observe`."""
        if not self._has_reset:
            EnvLogger.error_observe_before_reset()
        return self.env.observe(agent)

    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]:
        """Observation, reward since its last move, termination, truncation and info of the agent to act."""
        if not self._has_reset:
            raise AttributeError("agent_selection cannot be accessed before reset()")
        return self.env.last(observe)

    def agent_iter(self, max_iter: int = 2**63) -> AECIterable[str, Observation, int]:
        """The agents in the order in which they act; insists on a `step` in each pass of a loop over it."""
        if not self._has_reset:
            EnvLogger.error_agent_iter_before_reset()
        return _CheckedTurns(self, max_iter)

    def state(self) -> np.ndarray:
        """The whole deal as numbers; see `TableEnv.state`."""
        if not self._has_reset:
            EnvLogger.error_state_before_reset()
        return self.env.state()

    def render(self) -> str | None:
        """Draw the table; see `TableEnv.render`."""
        if not self._has_reset:
            EnvLogger.error_render_before_reset()
        return self.env.render()

    def __str__(self) -> str:
        return str(self.env)
