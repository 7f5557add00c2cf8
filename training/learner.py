"""Self-play PPO: play a batch of decisions, estimate advantages, learn from it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import TypeVar

import numpy as np
import torch

from envs.agents import find_agent
from envs.game import find_game
from envs.vector import VectorEnv
from training.config import Config
from training.credit import credit
from training.forecasts import Seen
from training.frozen import Snapshots, load_frozen
from training.models import Models
from training.network import Critic, PlayoutCritic, Prepared
from training.objective import WinChances
from training.opponents import SNAPSHOT, seat_tables
from training.ppo import (
    chosen_log_probability_and_entropy,
    clipped_outcome_loss,
    clipped_policy_loss,
    divergence,
    outcome_loss,
    value_loss,
)
from training.ranks import Ranks
from training.rollout import Decisions, Rollout, outcomes
from training.schedules import Schedules
from training.undo import Undo

T = TypeVar("T")
CREDIT_EVERY = 10
"""Updates from one measurement of credit to the next."""
LOSSES = ("policy_loss", "value_loss", "approx_kl", "clipfrac", "gradient_norm")
"""Curves of every update, as CleanRL names them."""
MIMICKED = 4
"""One of so many decisions is shown to the network that learns to do as the policy does: it needs few."""


@contextmanager
def single_threaded() -> Iterator[None]:
    """Keep PyTorch from using threads of its own."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Learner:
    """The networks, the tables that they play at, and how they learn from them.

    Everything random follows from ``config.seed``: with one thread, the same settings give the same weights.

    Args:
        config: its settings.
        ranks: the processes that learn together; None: this one alone.

    Raises:
        ValueError: settings that the game does not know or cannot play.
    """

    def __init__(self, config: Config, ranks: Ranks | None = None) -> None:
        self.config = config
        self.ranks = ranks or Ranks()
        self.game = find_game(config.game)
        self.rules = self.game.make_rules(**config.rules)
        self.device = self._choose_device()
        self.generator = torch.Generator().manual_seed(config.seed)
        self.models = models = Models(config, self.game, self.rules, self.generator, self.device)
        self.network, self.critic, self.mimic = models.policy, models.critic, models.mimic
        self.forecasting, self.forecasts, self.average = models.forecasting, models.forecasts, models.average
        self.teacher = (
            find_agent(config.imitation.player or self.game.rule_players[-1], self.game)
            if config.imitation.decisions
            else None
        )
        opponents = config.rollout.opponents
        self.frozen = load_frozen(opponents, self.game, self.rules, config.pad_seats, config.network.precision)
        for policy in self.frozen:
            policy.network.to(self.device)
        self.snapshots = (
            Snapshots(self.network, config.rollout.snapshots, config.rollout.snapshot_decisions)
            if opponents.get(SNAPSHOT, 0) > 0
            else None
        )
        self.parameters = models.parameters
        self.optimizer = torch.optim.Adam(self.parameters, config.ppo.learning_rate, eps=1e-5, fused=True)
        self.undo = Undo(self.parameters, self.optimizer, config.ppo.max_kl)
        self.rollouts = self._make_rollouts()
        # Each thread plays and learns from tables of its own and meets the others once a step of Adam; threads inside
        # every operation would wait for each other at each of them.
        self._pool = ThreadPoolExecutor(len(self.rollouts), initializer=torch.set_num_threads, initargs=(1,))
        self.groups = sorted(self.game.action_groups)
        group_of_action = torch.zeros(self.game.num_actions, dtype=torch.int64)
        for k, name in enumerate(self.groups):
            group_of_action[list(self.game.action_groups[name])] = k
        self.group_of_action = group_of_action.to(self.device)
        rollout = config.rollout
        self.schedules = Schedules(config, self.game, rollout.tables * rollout.steps * self.ranks.size)
        self.entropy_weight = self.schedules.entropy(0).to(self.device)
        self.decisions = 0
        self.updates = 0
        self.seconds = 0.0

    def _make_rollouts(self) -> list[Rollout]:
        """Share the tables out among the threads; each rank has tables of its own."""
        config = self.config.rollout
        tables = seat_tables(
            self.game,
            self.rules.num_players,
            config.tables,
            config.opponents,
            config.learner_seats,
            self.config.seed + self.ranks.rank,
        )
        with_state = isinstance(self.critic, Critic) or self.forecasting.needs_state
        snapshots = self.snapshots.policies if self.snapshots is not None else []
        bounds = np.linspace(0, config.tables, min(self.config.run.threads, config.tables) + 1).astype(int).tolist()
        rollouts = []
        for k, (first, last) in enumerate(pairwise(bounds)):
            env = VectorEnv(
                self.game,
                last - first,
                # Far from the small seeds that evaluations use.
                seed=((self.config.seed + 1) << 32) + self.ranks.rank * config.tables + first,
                pad_seats=self.config.pad_seats,
                observation=not with_state,
                state=with_state,
                statistics=True,
                players=tables.players[first:last],
                skip_forced=True,
                **self.config.rules,
            )
            stream = self.ranks.rank * (len(bounds) - 1) + k + 1
            generator = torch.Generator().manual_seed(self.config.seed + (stream << 32))
            rollouts.append(
                Rollout(
                    env,
                    tables.part(first, last),
                    config.steps,
                    config.scatter,
                    generator,
                    [*self.frozen, *snapshots],
                    self.forecasting.needs_outcome,
                    config.lookahead,
                    config.lookahead_least,
                    self.device,
                    isinstance(self.critic, PlayoutCritic),
                    self._make_objective(),
                )
            )
        return rollouts

    def _make_objective(self) -> WinChances | None:
        """What rounds are worth; None: their rewards."""
        config = self.config.rollout
        if config.objective == "points":
            return None
        return WinChances(self.game, self.rules, config.round_spread, config.round_edge)

    def _choose_device(self) -> torch.device:
        """The processor, or a GPU for each rank of a machine."""
        if self.config.run.device == "cpu":
            return torch.device("cpu")
        local = int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count()
        torch.cuda.set_device(local)
        return torch.device("cuda", local)

    def _each(self, function: Callable[[Rollout], T]) -> list[T]:
        """Call a function for each thread's rollout, at the same time."""
        return list(self._pool.map(function, self.rollouts))

    @single_threaded()
    def update(self) -> dict[str, float]:
        """Play one batch of decisions and learn from it; returns what is worth a curve, by name.

        An update that diverges is undone: the weights are what they were before it.

        Raises:
            DivergenceError: too many updates in a row diverged (see `training.undo`).
        """
        ppo = self.config.ppo
        started = time.perf_counter()
        teacher = self.teacher if self.schedules.imitating(self.decisions) else None
        rate = self.schedules.step_size(self.decisions)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.entropy_weight = self.schedules.entropy(self.decisions).to(self.device)
        for rollout in self.rollouts:
            rollout.lookahead = self.schedules.lookahead(self.decisions)

        batches = self._each(
            lambda rollout: rollout.collect(
                self.network, ppo.gae_lambda, ppo.reward_scale, self.critic, teacher, self.mimic
            )
        )
        played = time.perf_counter()
        scale, explained = self._scale(batches)
        closed = torch.stack([batch.closed.sum(dim=1) for batch in batches]).sum(dim=0).float()
        choices = torch.tensor([float(sum(rollout.choices() for rollout in self.rollouts))])
        self.ranks.add([closed, choices])

        self.undo.remember()
        sums = torch.zeros(1 + len(LOSSES) + len(self.forecasting.outputs) + 2 * len(self.groups))
        steps = self.config.rollout.steps
        for _ in range(ppo.epochs):
            for times in torch.randperm(steps, generator=self.generator).view(ppo.minibatches, -1):
                sums += self._learn(times, scale, max(1.0, float(closed[times].sum())), teacher is not None)
        self.ranks.add([sums])
        sums /= ppo.epochs * ppo.minibatches
        # What a teacher does says nothing of how far the policy has moved.
        self.undo.check(sums, float(sums[LOSSES.index("approx_kl")]) if teacher is None else 0.0)

        self.decisions += int(choices)
        self.updates += 1
        if teacher is not None and not self.schedules.imitating(self.decisions) and ppo.warmup:
            # The imitation's gradients say nothing of the size of those to come.
            for moments in self.optimizer.state.values():
                for moment in moments.values():
                    moment.zero_()
        self._follow()
        finished = time.perf_counter()
        seconds = finished - started
        self.seconds += seconds
        names = (*LOSSES, *(f"forecast_{name}" for name in self.forecasting.outputs))
        curves = {f"losses/{name}": float(value) for name, value in zip(names, sums, strict=False)}
        if self.mimic is not None:
            curves["losses/mimic_loss"] = float(sums[-1])
        for name, total, share in zip(self.groups, *sums[len(names) : -1].view(2, -1).tolist(), strict=True):
            if share > 0:
                curves[f"losses/entropy/{name}"] = total / share
        curves["losses/explained_variance"] = explained
        curves["charts/learning_rate"] = rate
        curves["charts/SPS"] = float(choices) / seconds
        curves["charts/learning_share"] = 1 - (played - started) / seconds
        networks = sum(rollout.network_seconds for rollout in self.rollouts) / len(self.rollouts)
        curves["charts/games_share"] = max(0.0, played - started - networks) / seconds
        curves["time/play"] = played - started
        curves["time/learn"] = finished - played
        curves["time/update"] = seconds
        curves["charts/undone_updates"] = float(self.undo.undone)
        if self.updates % CREDIT_EVERY == 1:
            for name, measured in credit(self.rollouts, ppo.reward_scale).items():
                curves[f"credit/{name}"] = measured
        for kind, outcome in outcomes(self.rollouts).items():
            curves[f"charts/round_reward/{kind}"] = outcome.reward
            for name, mean in (outcome.statistics | outcome.breakdown).items():
                curves[f"rounds/{kind}/{name}"] = mean
        return curves

    def _scale(self, batches: Sequence[Decisions]) -> tuple[tuple[torch.Tensor, ...], float]:
        """Of all ranks: mean and spread of advantages, spread of outcomes by group; and the returns' part foreseen."""
        advantage = torch.cat([batch.advantage[batch.closed] for batch in batches]).double()
        returns = advantage + torch.cat([batch.value[batch.closed] for batch in batches])
        moments = torch.stack([torch.stack([x.sum(), x.square().sum()]) for x in (advantage, returns)])
        squares = torch.zeros(2, len(self.groups), dtype=torch.float64)
        for batch in batches:
            group = self.group_of_action.cpu()[batch.action[batch.closed]]
            for total, values in zip(squares, (batch.outcomes.square().sum(dim=2), batch.count), strict=True):
                total += torch.bincount(group, values[batch.closed].double(), len(self.groups))
        count = torch.tensor(float(len(advantage)), dtype=torch.float64)
        self.ranks.add([moments, squares, count])
        means = moments / count.clamp_min(1)
        # Sums of float64: nothing is lost by subtracting squares.
        variance = (means[:, 1] - means[:, 0].square()) * count / (count - 1).clamp_min(1)
        explained = 1 - float(variance[0] / variance[1].clamp_min(1e-8))
        spread = variance[0].clamp_min(0).sqrt().float() + 1e-8
        ahead = (squares[0] / squares[1].clamp_min(1)).sqrt().float() + 1e-8
        return tuple(x.to(self.device) for x in (means[0, 0].float(), spread, ahead)), explained

    def _follow(self) -> None:
        """Let the average and the snapshots follow the policy."""
        if self.average is not None:
            with torch.no_grad():
                for slow, fast in zip(self.average.parameters(), self.network.parameters(), strict=True):
                    slow.lerp_(fast, 1 - self.config.ppo.average_decay)
        if self.snapshots is not None:
            self.snapshots.keep(self.network, self.decisions)

    def _learn(
        self, times: torch.Tensor, scale: tuple[torch.Tensor, ...], total: float, imitating: bool
    ) -> torch.Tensor:
        """Make one step of Adam on some time steps of all tables; returns sums for the curves.

        Whole time steps, because their rows lie together in memory: the tables are independent games at different
        places of theirs, so that a minibatch is as mixed as one drawn row by row.
        """
        parts = self._each(lambda rollout: self._gradient(rollout, times, scale, total, imitating))
        gradient = parts[0][0]
        for other, _ in parts[1:]:
            gradient += other
        self.ranks.add([gradient])
        norms = [self._clip(part) for part in torch.split(gradient, self.models.part_sizes)]
        for parameter, part in zip(self.parameters, torch.split(gradient, self.models.sizes), strict=True):
            parameter.grad = part.view_as(parameter)
        self.optimizer.step()
        sums = torch.stack([part[1] for part in parts]).sum(dim=0)
        sums[LOSSES.index("gradient_norm")] = norms[0] / self.ranks.size
        return sums

    def _clip(self, gradient: torch.Tensor) -> float:
        """Shorten a gradient, in place, to the length that it may have; returns its length before."""
        norm = float(gradient.norm())
        if norm > self.config.ppo.max_gradient:
            gradient *= self.config.ppo.max_gradient / norm
        return norm

    def _gradient(
        self,
        rollout: Rollout,
        times: torch.Tensor,
        scale: tuple[torch.Tensor, ...],
        total: float,
        imitating: bool = False,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Gradient by all parameters, end to end, for some time steps of a thread's tables; and sums for the curves."""
        ppo, kept = self.config.ppo, rollout.learnt
        own = rollout.rows(times)

        def pick(tensor: torch.Tensor) -> torch.Tensor:
            found = tensor[times].flatten(0, 1)
            return found if own is None else found[own]

        columns = (kept.legal, kept.count, kept.choice, kept.action, kept.log_probability, kept.value, kept.advantage)
        legal, count, choice, action, old_log_probability, old_value, advantage = map(pick, columns)
        weight = pick(kept.closed) / total
        target = advantage + old_value
        advantage = (advantage - scale[0]) / scale[1]

        everything = rollout.inputs(times, self.network.inputs, "observation")
        observation = everything.rows(own)
        state = (
            rollout.inputs(times, self.models.state_inputs, "state").rows(own) if kept.state.shape[2] else observation
        )
        layers = self.network.trunk_outputs(observation)
        hidden = layers[-1]
        logits, value = self.network.heads_output(hidden, observation.order)
        log_probability, entropy = chosen_log_probability_and_entropy(logits, legal, count, choice)
        if imitating:
            policy_loss = -log_probability @ weight
        elif kept.outcomes.shape[2]:
            ahead = pick(kept.outcomes) / scale[2][self.group_of_action[action]][:, None]
            if ppo.temperature > 0:
                policy_loss = outcome_loss(logits, legal, count, ahead, ppo.temperature) @ weight
            else:
                policy_loss = clipped_outcome_loss(logits, legal, count, ahead, pick(kept.chances), ppo.clip) @ weight
        else:
            policy_loss = clipped_policy_loss(log_probability, old_log_probability, advantage, ppo.clip) @ weight
        squared = value_loss(value, target) @ weight
        bonus = (entropy * self.entropy_weight[action]) @ weight * (not imitating)
        loss = policy_loss + ppo.value * squared - bonus
        if self.critic is not None:
            if isinstance(self.critic, PlayoutCritic):
                judged_value = self.critic(hidden, pick(kept.playout))
            else:
                judged_value = self.critic.judge(state)
            judged = value_loss(judged_value, target) @ weight
            loss = loss + ppo.value * judged
            squared = judged
        forecasts = torch.zeros(0, device=self.device)
        if self.forecasts is not None:
            seen = Seen(state.inputs, pick(kept.outcome), action, target)
            losses = self.forecasting.losses(self.forecasts(layers[self.forecasting.layer]), seen)
            forecasts = torch.stack([part @ weight for part in losses.values()])
            loss = loss + forecasts @ torch.tensor(list(self.forecasting.weights.values()), device=self.device)
        if self.average is not None:
            with torch.no_grad():
                slow = self.average.decide(observation)[0]
            loss = loss + ppo.average * (divergence(logits, slow, legal, count) @ weight)
        mimicked = self._mimic_loss(rollout, times, everything)
        loss = loss + mimicked
        gradient = torch.cat([part.flatten() for part in torch.autograd.grad(loss, self.parameters)])
        with torch.no_grad():
            change = log_probability - old_log_probability
            ratio = change.exp()
            kl = (ratio - 1 - change) @ weight
            clipped = ((ratio - 1).abs() > ppo.clip).float() @ weight
            group, groups = self.group_of_action[action], len(self.groups)
            means = torch.stack([policy_loss, squared, kl, clipped, torch.zeros((), device=self.device)])
            entropies = torch.bincount(group, entropy * weight, groups), torch.bincount(group, weight, groups)
        sums = torch.cat([means, forecasts.detach(), *entropies, mimicked.detach()[None]])
        return gradient, sums.cpu()

    def _mimic_loss(self, rollout: Rollout, times: torch.Tensor, observations: Prepared) -> torch.Tensor:
        """This thread's share of the cross-entropy of the actions chosen in some time steps and the mimic's; or 0."""
        if self.mimic is None:
            return torch.zeros((), device=self.device)
        kept = rollout.learnt
        some = slice(None, None, MIMICKED)
        seen = Prepared(observations.inputs[some], observations.order[some])
        legal, count, choice = (x[times].flatten(0, 1)[some] for x in (kept.legal, kept.count, kept.choice))
        chosen, _ = chosen_log_probability_and_entropy(self.mimic.decide(seen)[0], legal, count, choice)
        own = torch.from_numpy(rollout.own[times.numpy()]).flatten()[some].to(self.device)
        return -(chosen * own).sum() * MIMICKED / (len(times) * self.config.rollout.tables * self.ranks.size)

    def state(self) -> dict[str, torch.Tensor]:
        """What `restore` needs besides the policy's weights and the rollouts, the same on all ranks."""
        found = {"generator": self.generator.get_state()}
        for k, state in self.optimizer.state_dict()["state"].items():
            found |= {f"optimizer.{k}.{name}": tensor for name, tensor in state.items()}
        for name, module in self.models.companions().items():
            found |= {f"{name}.{key}": tensor for key, tensor in module.state_dict().items()}
        if self.snapshots is not None:
            found |= {f"snapshots.{key}": tensor for key, tensor in self.snapshots.state().items()}
        return found

    def restore(self, training: Mapping[str, torch.Tensor], updated: bool) -> None:
        """Go on where another learner of the same settings was.

        Args:
            training: what `state` gave there, and the states of all ranks' rollouts as ``rollout.K.NAME``.
            updated: whether the optimizer had made a step by then.

        Raises:
            KeyError, RuntimeError, ValueError: they do not fit.
        """

        def part(name: str) -> dict[str, torch.Tensor]:
            return {key.removeprefix(name): tensor for key, tensor in training.items() if key.startswith(name)}

        if updated:
            optimizer = self.optimizer.state_dict()
            for k in range(len(self.parameters)):
                names = ("step", "exp_avg", "exp_avg_sq")
                optimizer["state"][k] = {name: training[f"optimizer.{k}.{name}"] for name in names}
            self.optimizer.load_state_dict(optimizer)
        self.generator.set_state(training["generator"])
        for name, module in self.models.companions().items():
            module.load_state_dict(part(f"{name}."))
        if self.snapshots is not None:
            self.snapshots.restore(part("snapshots."))
        count = len(self.rollouts) * self.ranks.size
        if f"rollout.{count}.games" in training:
            raise ValueError(f"it was written by more than the {count} threads of these settings")
        for k, rollout in enumerate(self.rollouts, self.ranks.rank * len(self.rollouts)):
            rollout.restore({name: training[f"rollout.{k}.{name}"] for name in rollout.state()})
