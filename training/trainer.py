"""Self-play PPO from top to bottom: play, estimate advantages, learn, record."""

from __future__ import annotations

import copy
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import TypeVar

import numpy as np
import torch
from torch import nn

from envs.game import find_game
from envs.vector import VectorEnv
from training.checkpoint import (
    CheckpointError,
    describe,
    find_checkpoint,
    load_training,
    load_weights,
    mark_best,
    read_best,
    remove_older,
    save_checkpoint,
    start_from,
)
from training.config import Config
from training.credit import credit
from training.evaluation import Evaluation, Evaluator
from training.files import write_whole
from training.forecasts import Forecasting, Seen
from training.frozen import Snapshots, load_frozen
from training.network import Critic, Forecasts, PolicyNetwork
from training.opponents import SNAPSHOT, seat_tables
from training.pictures import draw_calls, draw_png
from training.ppo import (
    chosen_log_probability_and_entropy,
    clipped_policy_loss,
    divergence,
    outcome_loss,
    value_loss,
)
from training.progress import Curves, Display
from training.ranks import Ranks
from training.rollout import Decisions, Rollout, outcomes

T = TypeVar("T")
CREDIT_EVERY = 10
"""Updates from one measurement of credit to the next."""
UNDONE_IN_A_ROW = 5
"""Updates that may be undone, one after the other, before the run ends."""
LOSSES = ("policy_loss", "value_loss", "approx_kl", "clipfrac", "gradient_norm")
"""Curves of every update, as CleanRL names them."""


class DivergenceError(ArithmeticError):
    """Training that no longer leads anywhere, in one line."""


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Keep PyTorch from using threads of its own."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Trainer:
    """One training run.

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
        self.generator = torch.Generator().manual_seed(config.seed)
        seats, precision = self.rules.num_players, config.network.precision
        self.network = PolicyNetwork(
            self.game.layout(seats, config.pad_seats).size,
            self.game.action_groups,
            config.network.hidden,
            precision,
            self.generator,
        )
        if config.network.start is not None:
            start_from(self.network, config.network.start, self.game, self.rules, config.pad_seats)
        self.forecasting = Forecasting(self.game, seats, config.pad_seats, config.auxiliary)
        self.forecasts = (
            Forecasts(config.network.hidden[-1], self.forecasting.outputs, precision, self.generator)
            if self.forecasting.outputs
            else None
        )
        self.critic = (
            Critic(
                self.game.state_layout(seats, config.pad_seats).size,
                config.network.critic_hidden,
                precision,
                self.generator,
            )
            if config.network.critic == "deal"
            else None
        )
        self.average = copy.deepcopy(self.network).requires_grad_(False) if config.ppo.average > 0 else None
        opponents = config.rollout.opponents
        self.frozen = load_frozen(opponents, self.game, self.rules, config.pad_seats, precision)
        self.snapshots = (
            Snapshots(self.network, config.rollout.snapshots, config.rollout.snapshot_decisions)
            if opponents.get(SNAPSHOT, 0) > 0
            else None
        )
        policy = [*self.network.parameters(), *(self.forecasts.parameters() if self.forecasts is not None else ())]
        critic = list(self.critic.parameters()) if self.critic is not None else []
        self.parts = [part for part in (policy, critic) if part]
        """Parameters whose gradients are kept short together."""
        self.parameters = [*policy, *critic]
        self.optimizer = torch.optim.Adam(self.parameters, config.ppo.learning_rate, eps=1e-5, fused=True)
        self.rollouts = self._make_rollouts()
        # Each thread plays and learns from tables of its own and meets the others once a step of Adam; threads inside
        # every operation would wait for each other at each of them.
        self._pool = ThreadPoolExecutor(len(self.rollouts), initializer=torch.set_num_threads, initargs=(1,))
        self.groups = sorted(self.game.action_groups)
        self.group_of_action = torch.zeros(self.game.num_actions, dtype=torch.int64)
        for k, name in enumerate(self.groups):
            self.group_of_action[list(self.game.action_groups[name])] = k
        self.entropy_weight = self._entropy_weight(0.0)
        self.decisions = 0
        self.updates = 0
        self.undone = 0
        """Updates that were undone because they diverged."""
        self._undone_in_a_row = 0
        self.seconds = 0.0
        self._saved_at: tuple[Path, int] | None = None
        self._told = False
        """Whether it has been said that there are no pictures."""
        self.evaluator = Evaluator(self.game, self.rules, config.pad_seats, config.run.evaluate_deals)

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
        with_state = self.critic is not None or self.forecasting.needs_state
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
                )
            )
        return rollouts

    def _entropy_weight(self, done: float) -> torch.Tensor:
        """(A,) weight of the entropy by the action chosen, where a part 0..1 of the run is done."""
        ppo = self.config.ppo
        ends = ppo.entropy, ppo.entropy if ppo.final_entropy is None else ppo.final_entropy
        weight = torch.zeros(self.game.num_actions)
        for name in self.groups:
            first, last = (end[name] if isinstance(end, dict) else end for end in ends)
            weight[list(self.game.action_groups[name])] = first + done * (last - first)
        return weight

    def _each(self, function: Callable[[Rollout], T]) -> list[T]:
        """Call a function for each thread's rollout, at the same time."""
        return list(self._pool.map(function, self.rollouts))

    @_single_threaded()
    def update(self) -> dict[str, float]:
        """Play one batch of decisions and learn from it; returns what is worth a curve, by name.

        An update that diverges is undone: the weights are what they were before it.

        Raises:
            DivergenceError: as many updates in a row diverged as `UNDONE_IN_A_ROW` allows.
        """
        ppo = self.config.ppo
        started = time.perf_counter()
        done = min(1.0, self.decisions / self.config.run.decisions)
        rate = ppo.learning_rate + done * (ppo.final_learning_rate - ppo.learning_rate)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.entropy_weight = self._entropy_weight(done)

        batches = self._each(
            lambda rollout: rollout.collect(self.network, ppo.gae_lambda, ppo.reward_scale, self.critic)
        )
        played = time.perf_counter()
        scale, explained = self._scale(batches)
        closed = torch.stack([batch.closed.sum(dim=1) for batch in batches]).sum(dim=0).float()
        choices = torch.tensor([float(sum(rollout.choices() for rollout in self.rollouts))])
        self.ranks.add([closed, choices])

        before = self._weights()
        sums = torch.zeros(len(LOSSES) + len(self.forecasting.outputs) + 2 * len(self.groups))
        steps = self.config.rollout.steps
        for _ in range(ppo.epochs):
            for times in torch.randperm(steps, generator=self.generator).view(ppo.minibatches, -1):
                sums += self._learn(times, scale, max(1.0, float(closed[times].sum())))
        self.ranks.add([sums])
        sums /= ppo.epochs * ppo.minibatches
        self._check(sums, before)

        self.decisions += int(choices)
        self.updates += 1
        self._follow()
        finished = time.perf_counter()
        seconds = finished - started
        self.seconds += seconds
        names = (*LOSSES, *(f"forecast_{name}" for name in self.forecasting.outputs))
        curves = {f"losses/{name}": float(value) for name, value in zip(names, sums, strict=False)}
        for name, total, share in zip(self.groups, *sums[len(names) :].view(2, -1).tolist(), strict=True):
            if share > 0:
                curves[f"losses/entropy/{name}"] = total / share
        curves["losses/explained_variance"] = explained
        curves["charts/learning_rate"] = rate
        curves["charts/SPS"] = float(choices) / seconds
        curves["charts/learning_share"] = 1 - (played - started) / seconds
        curves["time/play"] = played - started
        curves["time/learn"] = finished - played
        curves["time/update"] = seconds
        curves["charts/undone_updates"] = float(self.undone)
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
            group = self.group_of_action[batch.action[batch.closed]]
            for total, values in zip(squares, (batch.outcomes.square().sum(dim=2), batch.count), strict=True):
                total += torch.bincount(group, values[batch.closed].double(), len(self.groups))
        count = torch.tensor(float(len(advantage)), dtype=torch.float64)
        self.ranks.add([moments, squares, count])
        means = moments / count.clamp_min(1)
        # Sums of float64: nothing is lost by subtracting squares.
        variance = (means[:, 1] - means[:, 0].square()) * count / (count - 1).clamp_min(1)
        explained = 1 - float(variance[0] / variance[1].clamp_min(1e-8))
        spread = variance[0].clamp_min(0).sqrt().float() + 1e-8
        return (means[0, 0].float(), spread, (squares[0] / squares[1].clamp_min(1)).sqrt().float() + 1e-8), explained

    def _weights(self) -> list[torch.Tensor]:
        """Copies of all parameters and of what the optimizer keeps of each."""
        kept = [self.optimizer.state[parameter] for parameter in self.parameters]
        found = [parameter.detach().clone() for parameter in self.parameters]
        return [*found, *(state[name].clone() for state in kept for name in sorted(state))]

    def _check(self, sums: torch.Tensor, before: list[torch.Tensor]) -> None:
        """Undo an update after which the losses or weights are not finite, or the policy has moved too far."""
        finite = all(bool(tensor.isfinite().all()) for tensor in (sums, *self.parameters))
        moved = float(sums[LOSSES.index("approx_kl")])
        if finite and moved <= self.config.ppo.max_kl:
            self._undone_in_a_row = 0
            return
        self.undone += 1
        self._undone_in_a_row += 1
        count = len(self.parameters)
        with torch.no_grad():
            for parameter, old in zip(self.parameters, before[:count], strict=True):
                parameter.copy_(old)
        if len(before) == count:  # the first update: nothing was kept
            self.optimizer.state.clear()
        kept = iter(before[count:])
        for parameter in self.parameters:
            state = self.optimizer.state[parameter]
            for name in sorted(state):
                state[name].copy_(next(kept))
        if self._undone_in_a_row >= UNDONE_IN_A_ROW:
            reason = f"approximate KL {moved:.3g}, bound {self.config.ppo.max_kl:g}" if finite else "not finite"
            raise DivergenceError(
                f"{UNDONE_IN_A_ROW} updates in a row diverged and were undone ({reason}); "
                "try a smaller ppo.learning_rate"
            )

    def _follow(self) -> None:
        """Let the average and the snapshots follow the policy."""
        if self.average is not None:
            with torch.no_grad():
                for slow, fast in zip(self.average.parameters(), self.network.parameters(), strict=True):
                    slow.lerp_(fast, 1 - self.config.ppo.average_decay)
        if self.snapshots is not None:
            self.snapshots.keep(self.network, self.decisions)

    def _learn(self, times: torch.Tensor, scale: tuple[torch.Tensor, ...], total: float) -> torch.Tensor:
        """Make one step of Adam on some time steps of all tables; returns sums for the curves.

        Whole time steps, because their rows lie together in memory: the tables are independent games at different
        places of theirs, so that a minibatch is as mixed as one drawn row by row.
        """
        parts = self._each(lambda rollout: self._gradient(rollout, times, scale, total))
        for parameter, *gradients in zip(self.parameters, *(part[0] for part in parts), strict=True):
            parameter.grad = sum(gradients[1:], gradients[0])
        self.ranks.add([parameter.grad for parameter in self.parameters if parameter.grad is not None])
        norms = [nn.utils.clip_grad_norm_(part, self.config.ppo.max_gradient) for part in self.parts]
        self.optimizer.step()
        sums = torch.stack([part[1] for part in parts]).sum(dim=0)
        sums[LOSSES.index("gradient_norm")] = norms[0] / self.ranks.size
        return sums

    def _gradient(
        self, rollout: Rollout, times: torch.Tensor, scale: tuple[torch.Tensor, ...], total: float
    ) -> tuple[tuple[torch.Tensor, ...], torch.Tensor]:
        """Gradient of the loss by the parameters, for some time steps of a thread's tables, and sums for the curves."""
        ppo, kept = self.config.ppo, rollout.decisions
        own = rollout.rows(times)

        def pick(tensor: torch.Tensor) -> torch.Tensor:
            found = tensor[times].flatten(0, 1)
            return found if own is None else found[own]

        def inputs(name: str) -> torch.Tensor:
            found = rollout.inputs(times, self.network.dtype, name)
            return found if own is None else found[own]

        columns = (kept.legal, kept.count, kept.choice, kept.action, kept.log_probability, kept.value, kept.advantage)
        legal, count, choice, action, old_log_probability, old_value, advantage = map(pick, columns)
        weight = pick(kept.closed) / total
        target = advantage + old_value
        advantage = (advantage - scale[0]) / scale[1]

        observation = inputs("observation")
        state = inputs("state") if kept.state.shape[2] else observation
        hidden = self.network.trunk_output(observation)
        logits, value = self.network.heads_output(hidden)
        log_probability, entropy = chosen_log_probability_and_entropy(logits, legal, count, choice)
        if kept.outcomes.shape[2]:
            ahead = pick(kept.outcomes) / scale[2][self.group_of_action[action]][:, None]
            policy_loss = outcome_loss(logits, legal, count, ahead, ppo.temperature) @ weight
        else:
            policy_loss = clipped_policy_loss(log_probability, old_log_probability, advantage, ppo.clip) @ weight
        squared = value_loss(value, target) @ weight
        bonus = (entropy * self.entropy_weight[action]) @ weight
        loss = policy_loss + ppo.value * squared - bonus
        if self.critic is not None:
            judged = value_loss(self.critic(state), target) @ weight
            loss = loss + ppo.value * judged
            squared = judged
        forecasts = torch.zeros(0)
        if self.forecasts is not None:
            seen = Seen(state, pick(kept.outcome), action, target)
            losses = self.forecasting.losses(self.forecasts(hidden), seen)
            forecasts = torch.stack([part @ weight for part in losses.values()])
            loss = loss + forecasts @ torch.tensor(list(self.forecasting.weights.values()))
        if self.average is not None:
            with torch.no_grad():
                slow = self.average(observation)[0]
            loss = loss + ppo.average * (divergence(logits, slow, legal, count) @ weight)
        gradients = torch.autograd.grad(loss, self.parameters)
        with torch.no_grad():
            change = log_probability - old_log_probability
            ratio = change.exp()
            kl = (ratio - 1 - change) @ weight
            clipped = ((ratio - 1).abs() > ppo.clip).float() @ weight
            group, groups = self.group_of_action[action], len(self.groups)
            means = torch.stack([policy_loss, squared, kl, clipped, torch.zeros(())])
            entropies = torch.bincount(group, entropy * weight, groups), torch.bincount(group, weight, groups)
        return gradients, torch.cat([means, forecasts.detach(), *entropies])

    def is_finished(self) -> bool:
        """Whether the budget of decisions or of time is spent."""
        return self.decisions >= self.config.run.decisions or self.seconds >= self._time_limit()

    def _time_limit(self) -> float:
        minutes = self.config.run.minutes
        return float("inf") if minutes is None else 60 * minutes

    def train(
        self,
        run: Path | None = None,
        quiet: bool = False,
        watch: Callable[[Display], Mapping[str, float]] | None = None,
    ) -> bool:
        """Update until the budget of decisions or of time is spent.

        The first SIGINT ends the run after the current update; the second raises KeyboardInterrupt at once.

        Every so often, and at the end, a checkpoint is written and the first rank plays the matches of
        `training.evaluation` with it; the best one is kept. Neither counts as training time.

        Args:
            run: folder for checkpoints and curves, made if missing; None writes and evaluates nothing.
            quiet: show no progress.
            watch: called after each update; what it returns becomes curves too.

        Returns:
            False if SIGINT ended the run.

        Raises:
            DivergenceError: see `update`.
            OSError: something cannot be written; checkpoints that there are stay as they are.
        """
        settings = self.config.run
        limit = self._time_limit()
        saved, pace = self.seconds, 0.0
        first = self.ranks.is_first
        if run is not None and first:
            run.mkdir(parents=True, exist_ok=True)
            write_whole(run / "config.yaml", self.config.to_yaml().encode())
        folder = run / "tensorboard" if run is not None and first else None
        evaluated: int | None = None
        with (
            Display(settings.decisions, quiet or not first) as display,
            _interrupts() as interrupted,
            Curves(folder, self.decisions or None) as curves,
        ):
            # Clocks and signals differ between ranks: what one has met holds for all.
            while not self.ranks.any(self.is_finished() or interrupted()):
                before = self.seconds
                values = self.update()
                curves.add({**values, **(watch(display) if watch is not None else {})}, self.decisions)
                pace += (values["charts/SPS"] - pace) * (0.1 if self.updates > 2 and pace else 1)
                left = min((settings.decisions - self.decisions) / pace, limit - self.seconds)
                done = max(self.decisions / settings.decisions, self.seconds / limit)
                rewards = {kind: outcome.reward for kind, outcome in outcomes(self.rollouts).items()}
                display.show(self.decisions, pace, max(0.0, left), done, rewards)
                evaluating = first and self._evaluation_due(before)
                due = self.seconds - saved >= 60 * settings.checkpoint_minutes
                if run is not None and self.ranks.any(due or evaluating):
                    self._save_once(run)
                    saved = self.seconds
                    if evaluating:
                        self._evaluate(run, curves, display, interrupted)
                        evaluated = self.decisions
            if run is not None:
                self._save_once(run)
            stopped = self.ranks.any(interrupted())
            if run is not None and first and not stopped and evaluated != self.decisions:
                self._evaluate_end(run, curves, display, interrupted)
        return not self.ranks.any(interrupted())

    def _save_once(self, run: Path) -> None:
        """Write a checkpoint where the last one written is older."""
        if self._saved_at != (run, self.decisions):
            self.save(run)

    def _evaluation_due(self, before: float) -> bool:
        """Whether an evaluation falls between `before` and now, in seconds of training."""
        minutes = self.config.run.evaluate_minutes
        return minutes is not None and self.seconds // (60 * minutes) > before // (60 * minutes)

    def _evaluate_end(self, run: Path, curves: Curves, display: Display, stop: Callable[[], bool]) -> None:
        """Evaluate the end of the run, where that has not been done before."""
        known = read_best(run)
        if self.config.run.evaluate_minutes is None or (known or {}).get("evaluated") == self.decisions:
            return
        self._evaluate(run, curves, display, stop)

    @_single_threaded()
    def _evaluate(self, run: Path, curves: Curves, display: Display, stop: Callable[[], bool]) -> None:
        """Evaluate the policy, whose checkpoint has just been written, and mark it where it is the best."""
        started = time.perf_counter()
        found = self.evaluator.evaluate(self.network, stop)
        if found is None:
            return
        curves.add({**found.scalars(), "time/evaluation": time.perf_counter() - started}, self.decisions)
        self._add_pictures(found, curves, display)
        known = read_best(run) or {}
        score = found.score()
        same = all(known.get(name) == score[name] for name in ("opponent", "deals", "seed"))
        best = not same or score["win_share"] >= known.get("win_share", 0.0)
        document = {"decisions": self.decisions, **score} if best else known
        name = find_checkpoint(run).name if best else known["checkpoint"]
        mark_best(run, run / "checkpoints" / name, {**document, "checkpoint": name, "evaluated": self.decisions})
        remove_older(run, 60 * self.config.run.keep_minutes)
        display.say(f"evaluation at {self.decisions / 1e6:.1f} M decisions: {found.line()}{', the best so far' * best}")

    def _add_pictures(self, found: Evaluation, curves: Curves, display: Display) -> None:
        """Add an evaluation's pictures and its game to the curves."""
        judged = found.judged.opponent
        curves.add_text(f"evaluation/{judged}/game", found.sample, self.decisions)
        try:
            for summary, calls in zip(found.summaries, found.calls, strict=True):
                if calls:
                    png = draw_png(partial(draw_calls, calls=calls))
                    curves.add_png(f"evaluation/{summary.opponent}/calls", png, self.decisions)
        except ImportError:
            if not self._told:
                display.say("Matplotlib is not installed: evaluations have no pictures")
            self._told = True

    def _state(self) -> dict[str, torch.Tensor]:
        """What `resume` needs besides the weights, the same on all ranks."""
        found = {"generator": self.generator.get_state()}
        for k, state in self.optimizer.state_dict()["state"].items():
            found |= {f"optimizer.{k}.{name}": tensor for name, tensor in state.items()}
        for name, module in self._companions().items():
            found |= {f"{name}.{key}": tensor for key, tensor in module.state_dict().items()}
        if self.snapshots is not None:
            found |= {f"snapshots.{key}": tensor for key, tensor in self.snapshots.state().items()}
        return found

    def _companions(self) -> dict[str, nn.Module]:
        """Networks beside the policy that a checkpoint keeps for the trainer alone."""
        modules = {"critic": self.critic, "forecasts": self.forecasts, "average": self.average}
        return {name: module for name, module in modules.items() if module is not None}

    def save(self, run: Path) -> Path | None:
        """Write a checkpoint with all that `resume` needs, and drop those that are not to be kept.

        All ranks must call it; the first writes and returns the folder.
        """
        own = [rollout.state() for rollout in self.rollouts]
        everyone = [state for states in self.ranks.gather(own) for state in states]
        self._saved_at = (run, self.decisions)
        if not self.ranks.is_first:
            return None
        training = self._state()
        for k, state in enumerate(everyone):
            training |= {f"rollout.{k}.{name}": tensor for name, tensor in state.items()}
        manifest = {
            **describe(self.game, self.rules, self.config.pad_seats),
            "decisions": self.decisions,
            "updates": self.updates,
            "undone": self.undone,
            "seconds": self.seconds,
            "config": self.config.to_dict(),
            "opponents": {policy.name: policy.digest for policy in self.frozen},
        }
        folder = save_checkpoint(run, self.network, manifest, training)
        remove_older(run, 60 * self.config.run.keep_minutes)
        return folder

    def resume(self, path: str | Path) -> None:
        """Go on from a checkpoint (or a run's last one) of the same game, rules, network, tables and ranks.

        Raises:
            CheckpointError: it is missing, damaged or does not fit.
        """
        folder = find_checkpoint(path)
        entries, weights, training = load_training(folder)
        expected = describe(self.game, self.rules, self.config.pad_seats)
        for name, value in expected.items():
            if entries.get(name) != value:
                raise CheckpointError(f"{folder} cannot be resumed: its {name} differ from those of the settings")
        met = entries.get("opponents", {})
        for policy in self.frozen:
            if met.get(policy.name, policy.digest) != policy.digest:
                raise CheckpointError(f"{folder} cannot be resumed: opponent {policy.name} is another policy by now")
        try:
            counters = int(entries["decisions"]), int(entries["updates"]), float(entries["seconds"])
            self.undone = int(entries.get("undone", 0))
            load_weights(self.network, weights, folder)
            self._restore(training, counters[1] > 0)
        except KeyError as error:
            raise CheckpointError(f"{folder} cannot be resumed with these settings: it has no {error}") from None
        except CheckpointError:
            raise
        except (RuntimeError, TypeError, ValueError) as error:
            raise CheckpointError(f"{folder} cannot be resumed with these settings: {error}") from None
        self.decisions, self.updates, self.seconds = counters
        self._saved_at = (folder.parent.parent, self.decisions)

    def _restore(self, training: Mapping[str, torch.Tensor], updated: bool) -> None:
        """Take back what `save` wrote besides the weights; `updated`: the optimizer had made a step by then."""

        def part(name: str) -> dict[str, torch.Tensor]:
            return {key.removeprefix(name): tensor for key, tensor in training.items() if key.startswith(name)}

        if updated:
            optimizer = self.optimizer.state_dict()
            for k in range(len(self.parameters)):
                names = ("step", "exp_avg", "exp_avg_sq")
                optimizer["state"][k] = {name: training[f"optimizer.{k}.{name}"] for name in names}
            self.optimizer.load_state_dict(optimizer)
        self.generator.set_state(training["generator"])
        for name, module in self._companions().items():
            module.load_state_dict(part(f"{name}."))
        if self.snapshots is not None:
            self.snapshots.restore(part("snapshots."))
        count = len(self.rollouts) * self.ranks.size
        if f"rollout.{count}.games" in training:
            raise ValueError(f"it was written by more than the {count} threads of these settings")
        for k, rollout in enumerate(self.rollouts, self.ranks.rank * len(self.rollouts)):
            rollout.restore({name: training[f"rollout.{k}.{name}"] for name in rollout.state()})


@contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Turn the first SIGINT into a flag; in other threads than the main one signals are left alone."""
    caught = threading.Event()

    def note(_signal: int, _frame: FrameType | None) -> None:
        if caught.is_set():
            raise KeyboardInterrupt
        caught.set()

    if threading.current_thread() is not threading.main_thread():
        yield caught.is_set
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield caught.is_set
    finally:
        signal.signal(signal.SIGINT, before)
