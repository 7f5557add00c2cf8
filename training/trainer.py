"""Self-play PPO from top to bottom: play, estimate advantages, learn, record."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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
    remove_older,
    save_checkpoint,
)
from training.config import Config
from training.credit import credit
from training.frozen import load_frozen
from training.network import PolicyNetwork
from training.opponents import seat_tables
from training.ppo import chosen_log_probability_and_entropy, clipped_policy_loss, value_loss
from training.progress import Curves, Display
from training.rollout import Rollout, outcomes

T = TypeVar("T")
CREDIT_EVERY = 10
"""Updates from one measurement of credit to the next."""


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

    Raises:
        ValueError: settings that the game does not know or cannot play.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.game = find_game(config.game)
        self.rules = self.game.make_rules(**config.rules)
        self.generator = torch.Generator().manual_seed(config.seed)
        self.network = PolicyNetwork(
            self.game.layout(self.rules.num_players, config.pad_seats).size,
            self.game.action_groups,
            config.network.hidden,
            config.network.precision,
            self.generator,
        )
        self.frozen = load_frozen(
            config.rollout.opponents, self.game, self.rules, config.pad_seats, config.network.precision
        )
        self.parameters = list(self.network.parameters())
        self.optimizer = torch.optim.Adam(self.parameters, config.ppo.learning_rate, eps=1e-5, fused=True)
        self.rollouts = self._make_rollouts()
        # Each thread plays and learns from tables of its own and meets the others once a step of Adam; threads inside
        # every operation would wait for each other at each of them.
        self._pool = ThreadPoolExecutor(len(self.rollouts), initializer=torch.set_num_threads, initargs=(1,))
        self.groups = sorted(self.game.action_groups)
        self.group_of_action = torch.zeros(self.game.num_actions, dtype=torch.int64)
        self.entropy_weight = torch.zeros(self.game.num_actions)
        for k, name in enumerate(self.groups):
            actions = list(self.game.action_groups[name])
            weight = config.ppo.entropy
            self.group_of_action[actions] = k
            self.entropy_weight[actions] = weight[name] if isinstance(weight, dict) else weight
        self.decisions = 0
        self.updates = 0
        self.seconds = 0.0
        self._saved_at: tuple[Path, int] | None = None

    def _make_rollouts(self) -> list[Rollout]:
        """Share the tables out among the threads."""
        config = self.config.rollout
        tables = seat_tables(
            self.game,
            self.rules.num_players,
            config.tables,
            config.opponents,
            config.learner_seats,
            self.config.seed,
        )
        bounds = np.linspace(0, config.tables, min(self.config.run.threads, config.tables) + 1).astype(int).tolist()
        rollouts = []
        for k, (first, last) in enumerate(pairwise(bounds)):
            env = VectorEnv(
                self.game,
                last - first,
                # Far from the small seeds that evaluations use.
                seed=((self.config.seed + 1) << 32) + first,
                pad_seats=self.config.pad_seats,
                statistics=True,
                players=tables.players[first:last],
                skip_forced=True,
                **self.config.rules,
            )
            generator = torch.Generator().manual_seed(self.config.seed + ((k + 1) << 32))
            part = tables.part(first, last)
            rollouts.append(Rollout(env, part, config.steps, config.scatter, generator, self.frozen))
        return rollouts

    def _each(self, function: Callable[[Rollout], T]) -> list[T]:
        """Call a function for each thread's rollout, at the same time."""
        return list(self._pool.map(function, self.rollouts))

    @_single_threaded()
    def update(self) -> dict[str, float]:
        """Play one batch of decisions and learn from it; returns what is worth a curve, by name."""
        ppo = self.config.ppo
        started = time.perf_counter()
        done = min(1.0, self.decisions / self.config.run.decisions)
        rate = ppo.learning_rate + done * (ppo.final_learning_rate - ppo.learning_rate)
        for group in self.optimizer.param_groups:
            group["lr"] = rate

        batches = self._each(lambda rollout: rollout.collect(self.network, ppo.gae_lambda, ppo.reward_scale))
        played = time.perf_counter()
        advantage = torch.cat([batch.advantage[batch.closed] for batch in batches])
        value = torch.cat([batch.value[batch.closed] for batch in batches])
        unexplained = advantage.var() / (advantage + value).var().clamp_min(1e-8)
        scale = (advantage.mean(), advantage.std() + 1e-8)
        closed = torch.stack([batch.closed.sum(dim=1) for batch in batches]).sum(dim=0)

        sums = torch.zeros(5 + 2 * len(self.groups))
        steps = self.config.rollout.steps
        for _ in range(ppo.epochs):
            for times in torch.randperm(steps, generator=self.generator).view(ppo.minibatches, -1):
                sums += self._learn(times, scale, max(1.0, float(closed[times].sum())))
        sums /= ppo.epochs * ppo.minibatches

        choices = sum(rollout.choices() for rollout in self.rollouts)
        self.decisions += choices
        self.updates += 1
        seconds = time.perf_counter() - started
        self.seconds += seconds
        names = ("policy_loss", "value_loss", "approx_kl", "clipfrac", "gradient_norm")
        curves = {f"losses/{name}": float(value) for name, value in zip(names, sums[:5], strict=True)}
        for name, total, share in zip(self.groups, *sums[5:].view(2, -1).tolist(), strict=True):
            if share > 0:
                curves[f"losses/entropy/{name}"] = total / share
        curves["losses/explained_variance"] = 1 - float(unexplained)
        curves["charts/learning_rate"] = rate
        curves["charts/SPS"] = choices / seconds
        curves["charts/learning_share"] = 1 - (played - started) / seconds
        if self.updates % CREDIT_EVERY == 1:
            for name, measured in credit(self.rollouts, ppo.reward_scale).items():
                curves[f"credit/{name}"] = measured
        for kind, outcome in outcomes(self.rollouts).items():
            curves[f"charts/round_reward/{kind}"] = outcome.reward
            for name, mean in (outcome.statistics | outcome.breakdown).items():
                curves[f"rounds/{kind}/{name}"] = mean
        return curves

    def _learn(self, times: torch.Tensor, scale: tuple[torch.Tensor, torch.Tensor], total: float) -> torch.Tensor:
        """Make one step of Adam on some time steps of all tables; returns sums for the curves.

        Whole time steps, because their rows lie together in memory: the tables are independent games at different
        places of theirs, so that a minibatch is as mixed as one drawn row by row.
        """
        parts = self._each(lambda rollout: self._gradient(rollout, times, scale, total))
        for parameter, *gradients in zip(self.parameters, *(part[0] for part in parts), strict=True):
            parameter.grad = sum(gradients[1:], gradients[0])
        norm = nn.utils.clip_grad_norm_(self.parameters, self.config.ppo.max_gradient)
        self.optimizer.step()
        sums = torch.stack([part[1] for part in parts]).sum(dim=0)
        sums[4] = norm
        return sums

    def _gradient(
        self, rollout: Rollout, times: torch.Tensor, scale: tuple[torch.Tensor, torch.Tensor], total: float
    ) -> tuple[tuple[torch.Tensor, ...], torch.Tensor]:
        """Gradient of the loss by the parameters, for some time steps of a thread's tables, and sums for the curves."""
        ppo, kept = self.config.ppo, rollout.decisions
        own = rollout.rows(times)

        def pick(tensor: torch.Tensor) -> torch.Tensor:
            found = tensor[times].flatten(0, 1)
            return found if own is None else found[own]

        columns = (kept.legal, kept.count, kept.choice, kept.action, kept.log_probability, kept.value, kept.advantage)
        legal, count, choice, action, old_log_probability, old_value, advantage = map(pick, columns)
        weight = pick(kept.closed) / total
        target = advantage + old_value
        advantage = (advantage - scale[0]) / scale[1]

        observation = rollout.inputs(times, self.network.dtype)
        logits, value = self.network(observation if own is None else observation[own])
        log_probability, entropy = chosen_log_probability_and_entropy(logits, legal, count, choice)
        policy_loss = clipped_policy_loss(log_probability, old_log_probability, advantage, ppo.clip) @ weight
        squared = value_loss(value, target) @ weight
        bonus = (entropy * self.entropy_weight[action]) @ weight
        gradients = torch.autograd.grad(policy_loss + ppo.value * squared - bonus, self.parameters)
        with torch.no_grad():
            change = log_probability - old_log_probability
            ratio = change.exp()
            kl = (ratio - 1 - change) @ weight
            clipped = ((ratio - 1).abs() > ppo.clip).float() @ weight
            group, groups = self.group_of_action[action], len(self.groups)
            means = torch.stack([policy_loss, squared, kl, clipped, torch.zeros(())])
            entropies = torch.bincount(group, entropy * weight, groups), torch.bincount(group, weight, groups)
        return gradients, torch.cat([means, *entropies])

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

        Args:
            run: folder for checkpoints and curves, made if missing; None writes nothing.
            quiet: show no progress.
            watch: called after each update; what it returns becomes curves too.

        Returns:
            False if SIGINT ended the run.
        """
        settings = self.config.run
        limit = self._time_limit()
        saved, pace = self.seconds, 0.0
        if run is not None:
            run.mkdir(parents=True, exist_ok=True)
            (run / "config.yaml").write_text(self.config.to_yaml(), encoding="utf-8")
        curves = Curves(run / "tensorboard" if run is not None else None)
        with Display(settings.decisions, quiet) as display, _interrupts() as interrupted:
            while not self.is_finished() and not interrupted():
                values = self.update()
                curves.add({**values, **(watch(display) if watch is not None else {})}, self.decisions)
                pace += (values["charts/SPS"] - pace) * (0.1 if self.updates > 2 and pace else 1)
                left = min((settings.decisions - self.decisions) / pace, limit - self.seconds)
                done = max(self.decisions / settings.decisions, self.seconds / limit)
                rewards = {kind: outcome.reward for kind, outcome in outcomes(self.rollouts).items()}
                display.show(self.decisions, pace, max(0.0, left), done, rewards)
                if run is not None and self.seconds - saved >= 60 * settings.checkpoint_minutes:
                    self.save(run)
                    saved = self.seconds
            if run is not None and self._saved_at != (run, self.decisions):
                self.save(run)
        curves.close()
        return not interrupted()

    def save(self, run: Path) -> Path:
        """Write a checkpoint with all that `resume` needs, and drop those that are not to be kept."""
        training = {"generator": self.generator.get_state()}
        for k, state in self.optimizer.state_dict()["state"].items():
            training |= {f"optimizer.{k}.{name}": tensor for name, tensor in state.items()}
        for k, rollout in enumerate(self.rollouts):
            training |= {f"rollout.{k}.{name}": tensor for name, tensor in rollout.state().items()}
        manifest = {
            **describe(self.game, self.rules, self.config.pad_seats),
            "decisions": self.decisions,
            "updates": self.updates,
            "seconds": self.seconds,
            "config": self.config.to_dict(),
            "opponents": {policy.name: policy.digest for policy in self.frozen},
        }
        folder = save_checkpoint(run, self.network, manifest, training)
        self._saved_at = (run, self.decisions)
        remove_older(run, 60 * self.config.run.keep_minutes)
        return folder

    def resume(self, path: str | Path) -> None:
        """Go on from a checkpoint (or a run's last one) of the same game, rules, network and tables.

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
            load_weights(self.network, weights, folder)
            if counters[1] > 0:
                optimizer = self.optimizer.state_dict()
                for k in range(len(self.parameters)):
                    names = ("step", "exp_avg", "exp_avg_sq")
                    optimizer["state"][k] = {name: training[f"optimizer.{k}.{name}"] for name in names}
                self.optimizer.load_state_dict(optimizer)
            self.generator.set_state(training["generator"])
            for k, rollout in enumerate(self.rollouts):
                rollout.restore({name: training[f"rollout.{k}.{name}"] for name in rollout.state()})
        except KeyError as error:
            raise CheckpointError(f"{folder} cannot be resumed with these settings: it has no {error}") from None
        except CheckpointError:
            raise
        except (RuntimeError, TypeError, ValueError) as error:
            raise CheckpointError(f"{folder} cannot be resumed with these settings: {error}") from None
        self.decisions, self.updates, self.seconds = counters
        self._saved_at = (folder.parent.parent, self.decisions)


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
