"""Playing many tables with the current network and keeping what was decided."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import torch

from envs.agents import Agent
from envs.agents import Decisions as Asked
from envs.search.lookahead import action_outcomes, lookahead_memory, position_values
from envs.search.policy import NO_NETWORK, POLICY, policy_memory
from envs.vector import VectorEnv
from training.frozen import Frozen
from training.network import Critic, Inputs, PlayoutCritic, PolicyNetwork, Prepared
from training.objective import WinChances
from training.opponents import Tables
from training.ppo import (
    center_outcomes,
    choose_actions,
    follow_actions,
    likely_actions,
    list_legal,
    seat_advantages,
    seat_outcomes,
)


@dataclass(frozen=True)
class Decisions:
    """A batch of decisions; every field has the shape (T, N, …), N tables being asked at each of T steps.

    The buffers are those of the `Rollout`: they are valid until its next `collect`. Observations and states lie on its
    device, all else where the games are played.
    """

    observation: torch.Tensor
    """(T, N, F) uint8."""
    state: torch.Tensor
    """(T, N, S) uint8: the whole state, which begins with the observation; S = 0 where the environment writes none."""
    legal: torch.Tensor
    """(T, N, A) integers: lists of legal actions (see `training.ppo`)."""
    count: torch.Tensor
    """(T, N) int16: their lengths."""
    choice: torch.Tensor
    """(T, N) int16: place of the chosen action in its list."""
    action: torch.Tensor
    """(T, N) int64: the chosen action."""
    log_probability: torch.Tensor
    """(T, N) float32: its log-probability when it was chosen."""
    playout: torch.Tensor
    """(T, N) float32: what a playout from the position brought the seat, in rewards times `reward_scale`; (0, N) where
    nothing is played out."""
    value: torch.Tensor
    """(T, N) float32: the value of the position, as the critic that advantages come from estimated it."""
    outcomes: torch.Tensor
    """(T, N, A) float32: what each listed legal action that was played out would have brought (see
    `envs.search.lookahead`), in rewards times `reward_scale`, less their mean (with `Rollout.selective` by the policy's
    chances); 0 for others; A = 0 where nothing is looked ahead."""
    chances: torch.Tensor
    """(T, N, A) float32: the policy's chances of the listed actions when it decided; A = 0 as for `outcomes`."""
    outcome: torch.Tensor
    """(T, N) int16: the seat's `Game.forecast` of the round; -1 where it is not known, or not asked for."""
    advantage: torch.Tensor
    """(T, N) float32: the advantage, 0 for decisions whose round was still open at the end."""
    closed: torch.Tensor
    """(T, N) bool: decisions to learn from; the rest only lent their value (see `seat_advantages`) or teach nothing."""

    def to(self, device: torch.device) -> Decisions:
        """The same on a device; nothing is copied that is there already."""
        return Decisions(**{field.name: getattr(self, field.name).to(device) for field in fields(self)})


class Rollout:
    """Games that go on from one call of `collect` to the next.

    Args:
        env: the games; must skip forced moves and count statistics. Where it writes states, it need not write
            observations.
        tables: who sits at them.
        steps: decisions T of each table in a rollout.
        scatter: random moves, at most, that begin each game of the first reset.
        generator: source of the choices.
        frozen: the policies that `tables` names, by that name, one or more of it; the tables of a name are shared out
            among them. Their decisions take rows among those of the learner, which are not learnt from and lend no
            value.
        outcomes: whether `Game.forecast` is kept.
        lookahead: who moves for the learner where legal actions are played out: ``rule``, the strongest rule
            player, or ``policy``, the network that decides; ``off``: nothing is played out.
        least: chance that the policy must give an action for it to be played out.
        device: where networks are evaluated and learnt from; the games are played by the processor.
        playouts: whether each position is played out, the strongest rule player moving the learner.
        objective: what rounds are worth; None: their rewards.
    """

    def __init__(
        self,
        env: VectorEnv,
        tables: Tables,
        steps: int,
        scatter: int = 0,
        generator: torch.Generator | None = None,
        frozen: Sequence[Frozen] = (),
        outcomes: bool = False,
        lookahead: str = "off",
        least: float = 0.0,
        device: torch.device | str = "cpu",
        playouts: bool = False,
        objective: WinChances | None = None,
    ) -> None:
        self.env = env
        self.tables = tables
        self.generator = generator
        self.frozen = list(frozen)
        self._seated = _seat_policies(tables, self.frozen)
        """(N,) index of the policy that holds the other seats, -1 where none does."""
        self.outcomes = outcomes
        self.lookahead = lookahead
        self.least = least
        self.selective = lookahead != "off" and least > 0
        """Whether decisions of which nothing is to be learnt are left out."""
        self.device = torch.device(device)
        n, seats, actions = env.num_envs, env.num_players, env.num_actions
        self.turn = np.zeros((steps, n), np.int8)
        self.reward = np.zeros((steps, n, seats), np.float32)
        self.objective = objective
        self.gain = self.reward if objective is None else np.zeros_like(self.reward)
        """(T, N, seats) what is learnt from in the place of rewards."""
        self.ended = np.zeros((steps, n), np.bool_)
        self.own = np.ones((steps, n), np.bool_)
        """(T, N) the decisions of the learner; the others are those of frozen policies."""
        self._with_state = env.num_state_features > 0
        seen = torch.zeros(steps, n, env.num_state_features or env.num_features, dtype=torch.uint8, device=self.device)
        self.decisions = Decisions(
            observation=seen[:, :, : env.num_features],
            state=seen[:, :, : env.num_state_features],
            legal=torch.zeros(steps, n, actions, dtype=torch.uint8 if actions <= 256 else torch.int16),
            count=torch.zeros(steps, n, dtype=torch.int16),
            choice=torch.zeros(steps, n, dtype=torch.int16),
            action=torch.zeros(steps, n, dtype=torch.int64),
            log_probability=torch.zeros(steps, n),
            playout=torch.zeros(steps if playouts else 0, n),
            value=torch.zeros(steps, n),
            outcomes=torch.zeros(steps, n, 0 if lookahead == "off" else actions),
            chances=torch.zeros(steps, n, 0 if lookahead == "off" else actions),
            outcome=torch.full((steps, n), -1, dtype=torch.int16),
            advantage=torch.zeros(steps, n),
            closed=torch.zeros(steps, n, dtype=torch.bool),
        )
        self.learnt = self.decisions.to(self.device)
        """The last batch with everything on the device."""
        self.rounds = np.zeros(n, np.int64)
        """(N,) rounds that ended in the last call of `collect`."""
        self.statistics = np.zeros((n, seats, len(env.game.statistics)), np.float32)
        """(N, seats, K) the game's statistics, summed over those rounds."""
        self.single_rounds: list[tuple[np.ndarray, np.ndarray]] = []
        """Tables (m,) and statistics (m, seats, K) of the rounds that ended alone in a step, for `Game.breakdown`."""
        self.network_seconds = 0.0
        """How long networks were evaluated in the last call of `collect`."""
        self._single = np.zeros((steps, n, seats) if outcomes else (0, n, seats), np.int16)
        """Outcomes of the rounds that ended alone in a step, -1 for others."""
        self._options = env.rules.record()
        self._no_policy = policy_memory()
        self._no_states = np.zeros(0, env.game.state)
        self._wanted = np.zeros((n, actions), np.bool_)
        self._results = np.zeros((n, actions, seats), np.float32)
        self._memory = lookahead_memory(env.game.state, actions)
        self._inputs: dict[str, Prepared] = {}
        self.batch = env.reset(scatter=scatter)

    def collect(
        self,
        network: PolicyNetwork,
        discount: float,
        reward_scale: float = 1.0,
        critic: Critic | PlayoutCritic | None = None,
        teacher: Agent | None = None,
        mimic: PolicyNetwork | None = None,
    ) -> Decisions:
        """Play T decisions of each table and estimate their advantages.

        Args:
            network: decides; its values are in rewards times `reward_scale`.
            discount: lambda of the advantages.
            reward_scale: factor from rewards to what is learnt.
            critic: estimates the values from whole states, or with playouts; None: the network does.
            teacher: decides instead of the network, to be imitated; nothing is then looked ahead.
            mimic: moves the learner's seats in playouts by a policy; None: the network does.
        """
        kept = self.decisions
        views = (kept.legal, kept.count, kept.choice, kept.action, kept.log_probability)
        legal, count, choice, action, log_probability = (tensor.numpy() for tensor in views)
        seen = kept.state if self._with_state else kept.observation
        actor = copy.deepcopy(network).to(network.dtype)  # converts the weights once, not at each step
        policy = policy_memory(
            (mimic or network).joined() if self.lookahead == "policy" else NO_NETWORK,
            self.env.pad_seats,
        )
        needs_states = (
            len(kept.playout) > 0 or teacher is not None or self.lookahead != "off" or self.objective is not None
        )
        judge = copy.deepcopy(critic).to(critic.dtype) if isinstance(critic, PlayoutCritic) else None
        uniform = torch.rand(kept.value.shape, generator=self.generator).numpy()
        self.statistics[:] = 0
        self.rounds[:] = 0
        self.single_rounds.clear()
        self.network_seconds = 0.0
        for t in range(len(seen)):
            seen[t].copy_(torch.from_numpy(self.batch.state if self._with_state else self.batch.observation))
            self.turn[t] = self.batch.turn
            list_legal(self.batch.action_mask, legal[t], count[t])
            states = self.env.get_state() if needs_states else self._no_states
            if len(kept.playout):
                self._play_out(t, states, reward_scale)
            before = time.perf_counter()
            logits = self._logits(actor, judge, t)
            self.network_seconds += time.perf_counter() - before
            choose_actions(logits, uniform[t], legal[t], count[t], choice[t], action[t], log_probability[t])
            if teacher is not None:
                asked = teacher.act(Asked(self.env.game, self.env.rules, states))
                lists = (legal[t], count[t], choice[t], action[t], log_probability[t])
                follow_actions(asked, self.own[t], logits, *lists)
            elif self.lookahead != "off":
                likely_actions(logits, legal[t], count[t], self.least, kept.chances[t].numpy(), self._wanted)
                self._look_ahead(t, states, policy, reward_scale)
            self.batch = self.env.step(action[t])
            self.reward[t] = self.batch.rewards
            if self.objective is not None:
                self.gain[t] = 0.0
                if (over := np.flatnonzero(self.batch.round_over)).size:
                    self.gain[t, over] = self.objective.rewards(
                        states[over], self.reward[t, over], self.tables.learner[over]
                    )
            self.ended[t] = self.batch.round_over
            self.rounds += self.batch.rounds
            self.statistics += self.batch.statistics
            if self.env.game.breakdown is not None and (single := np.flatnonzero(self.batch.rounds == 1)).size:
                self.single_rounds.append((single, self.batch.statistics[single]))
            if self.outcomes:
                self._note_outcomes(t)
        if isinstance(critic, Critic):
            before = time.perf_counter()
            self._judge(copy.deepcopy(critic).to(critic.dtype))
            self.network_seconds += time.perf_counter() - before
        if self.outcomes:
            seat_outcomes(self.turn, self.ended, self._single, kept.outcome.numpy())
        seat_advantages(
            self.turn,
            kept.value.numpy(),
            self.gain * np.float32(reward_scale),
            self.ended,
            discount,
            kept.advantage.numpy(),
            kept.closed.numpy(),
        )
        if self.frozen:
            kept.advantage.numpy()[~self.own] = 0.0
            kept.closed.numpy()[~self.own] = False
        if self.selective and teacher is None:
            # Most decisions have one likely action, or the same comes of all: no use to learn from those. Playouts need
            # no round that has ended.
            kept.closed.numpy()[:] = kept.outcomes.numpy().any(axis=2)
        self.learnt = kept.to(self.device)
        return kept

    def _note_outcomes(self, t: int) -> None:
        """Keep what `Game.forecast` says of the rounds that have just ended, where a table ended just one."""
        assert self.env.game.forecast is not None
        statistic = self.env.game.statistics.index(self.env.game.forecast[0])
        self._single[t] = np.where(self.batch.rounds[:, None] == 1, self.batch.statistics[:, :, statistic], -1)

    def _play_out(self, t: int, states: np.ndarray, reward_scale: float) -> None:
        """Play out the positions of the learner's decisions; the others' are worth 0."""
        own = self.tables.learner[np.arange(self.env.num_envs), self.batch.turn]
        outcome = self.decisions.playout[t].zero_()
        position_values(
            states, self._options, self.tables.players, own, len(self.env.game.rule_players) - 1,
            self._no_policy, self._memory, outcome.numpy(),
        )  # fmt: skip
        outcome *= reward_scale

    def _look_ahead(self, t: int, states: np.ndarray, policy: tuple[Any, ...], reward_scale: float) -> None:
        """Play out the wanted actions of the learner's decisions."""
        self._wanted[~self.own[t]] = False
        outcomes, seats = self.decisions.outcomes[t].numpy(), self.batch.turn
        kind = len(self.env.game.rule_players) - 1 if self.lookahead == "rule" else POLICY
        action_outcomes(
            states, self._options, self.tables.players, self._wanted, kind, policy, self._memory, self._results
        )  # fmt: skip
        rows, places = np.nonzero(self._wanted)
        brought = self._results[rows, places]
        if self.objective is not None:
            brought = self.objective.rewards(states[rows], brought, self.tables.learner[rows])
        outcomes[rows, places] = brought[np.arange(len(rows)), seats[rows]]
        weight = self.decisions.chances[t].numpy() if self.selective else np.ones_like(outcomes)
        center_outcomes(outcomes, self._wanted, weight, reward_scale)

    @torch.inference_mode()
    def _judge(self, critic: Critic) -> None:
        """Write the values of the learner's positions, from whole states."""
        kept = self.decisions
        for t in range(len(kept.value)):
            kept.value[t] = critic(kept.state[t])
        if self.frozen:
            kept.value.numpy()[~self.own] = 0.0

    @torch.inference_mode()
    def _logits(self, actor: PolicyNetwork, judge: PlayoutCritic | None, t: int) -> np.ndarray:
        """(N, A) float32: what the policies whose turn it is want to play, and write the learner's values."""
        kept = self.decisions

        def decide(observation: torch.Tensor, rows: Any) -> tuple[np.ndarray, torch.Tensor]:
            prepared = actor.inputs(observation)
            hidden = actor.trunk_output(prepared)
            logits, value = actor.heads_output(hidden, prepared.order)
            if judge is not None:
                value = judge(hidden, kept.playout[t, rows].to(self.device))
            return logits.cpu().numpy(), value

        if not self.frozen:
            logits, kept.value[t] = decide(kept.observation[t], slice(None))
            return logits
        tables = np.arange(self.env.num_envs)
        self.own[t] = self.tables.learner[tables, self.batch.turn]
        wanted = np.zeros((self.env.num_envs, self.env.num_actions), np.float32)
        kept.value[t] = 0.0
        if (rows := np.flatnonzero(self.own[t])).size:
            wanted[rows], kept.value[t, rows] = decide(kept.observation[t, rows], rows)
        for k, policy in enumerate(self.frozen):
            if (rows := np.flatnonzero(~self.own[t] & (self._seated == k))).size:
                wanted[rows] = policy.logits(kept.observation[t, rows], self.batch.action_mask[rows])
        return wanted

    def choices(self) -> int:
        """Decisions of the learner in the last call of `collect`."""
        return int(self.own.sum())

    def rows(self, times: torch.Tensor) -> torch.Tensor | None:
        """Places of the decisions to learn from among all of some time steps, ordered; None where it is about all."""
        if not self.frozen and not self.selective:
            return None
        return torch.from_numpy(np.flatnonzero(self.decisions.closed.numpy()[times.numpy()])).to(self.device)

    def inputs(self, times: torch.Tensor, inputs: Inputs, name: str = "observation") -> Prepared:
        """Observations (or states) of some time steps of all tables as a network takes them, len(times) · N rows.

        They are valid until the next call for the same name.
        """
        kept: torch.Tensor = getattr(self.decisions, name)
        room = self._inputs.get(name)
        if room is None or room.inputs.shape[0] != len(times) or room.inputs.dtype != inputs.dtype:
            shape = len(times), *kept.shape[1:]
            room = self._inputs[name] = Prepared(
                torch.empty(shape, dtype=inputs.dtype, device=self.device),
                torch.empty(shape[:2], dtype=torch.int64, device=self.device),
            )
        for k, t in enumerate(times.tolist()):
            inputs.write(kept[t], Prepared(room.inputs[k], room.order[k]))
        return Prepared(room.inputs.flatten(0, 1), room.order.flatten())

    def state(self) -> dict[str, torch.Tensor]:
        """All that `restore` needs, as tensors of bytes."""
        states = self.env.get_state()
        found = {"games": torch.from_numpy(states.view(np.uint8).reshape(len(states), -1))}
        if self.generator is not None:
            found["generator"] = self.generator.get_state()
        return found

    def restore(self, state: Mapping[str, torch.Tensor]) -> None:
        """Go on where another rollout of the same tables was; ValueError or RuntimeError if they are others."""
        states = self.env.get_state()
        games = state["games"].numpy()
        if games.shape != (len(states), states.dtype.itemsize):
            raise ValueError(f"{games.shape[0]} tables of {games.shape[-1]} bytes are given for {len(states)}")
        if self.generator is not None:
            self.generator.set_state(state["generator"])
        self.batch = self.env.set_state(games.reshape(-1).view(states.dtype))


def _seat_policies(tables: Tables, policies: Sequence[Frozen]) -> np.ndarray:
    """(N,) index of the policy at each table, -1 for none; the tables of a name are dealt out among its policies."""
    seated = np.full(len(tables.kind), -1, np.int64)
    for name in {policy.name for policy in policies}:
        own = [k for k, policy in enumerate(policies) if policy.name == name]
        here = np.flatnonzero(tables.kind == tables.kinds.index(name))
        seated[here] = np.resize(own, len(here))
    return seated


class Outcome(NamedTuple):
    """Means over the rounds that ended in a rollout, of the learner's seats at one kind of table."""

    reward: float
    """Reward of a seat and round, in the game's points."""
    statistics: dict[str, float]
    """The game's statistics of a seat and round."""
    breakdown: dict[str, float]
    """Means of one statistic by the values of another, as ``made/call_3`` (see `envs.game.Game.breakdown`)."""


def _break_down(rollouts: Sequence[Rollout], here: np.ndarray) -> dict[str, float]:
    """Means over the rounds of the seats `here` (N, seats) of all tables, by value."""
    game = rollouts[0].env.game
    if game.breakdown is None:
        return {}
    rate, by = (game.statistics.index(name) for name in game.breakdown)
    first, rows = 0, [np.zeros((0, len(game.statistics)), np.float32)]
    for rollout in rollouts:
        for tables, statistics in rollout.single_rounds:
            rows.append(statistics[here[first + tables]])
        first += len(rollout.rounds)
    found = np.concatenate(rows)
    values = found[:, by].astype(np.int64)
    counts, sums = np.bincount(values), np.bincount(values, found[:, rate])
    name = "/".join(game.breakdown)
    return {f"{name}_{v}": float(sums[v] / counts[v]) for v in np.flatnonzero(counts).tolist()}


def outcomes(rollouts: Sequence[Rollout]) -> dict[str, Outcome]:
    """What became of the last rollouts, by kind of table; kinds without a finished round are left out."""
    first = rollouts[0]
    kind = np.concatenate([rollout.tables.kind for rollout in rollouts])
    learner = np.concatenate([rollout.tables.learner for rollout in rollouts])
    rounds = np.concatenate([rollout.rounds for rollout in rollouts])
    reward = np.concatenate([rollout.reward.sum(axis=0) for rollout in rollouts])
    statistics = np.concatenate([rollout.statistics for rollout in rollouts])
    found = {}
    for k, name in enumerate(first.tables.kinds):
        here = learner & (kind == k)[:, None]
        count = int((here.sum(axis=1) * rounds).sum())
        if count:
            means = statistics[here].sum(axis=0) / count
            named = dict(zip(first.env.game.statistics, means.tolist(), strict=True))
            found[name] = Outcome(float(reward[here].sum()) / count, named, _break_down(rollouts, here))
    return found
