"""A training run from its beginning to its end: learning, checkpoints, evaluations, curves."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType

from training.checkpoint import (
    POLICY,
    CheckpointError,
    describe,
    find_checkpoint,
    load_training,
    load_weights,
    mark_best,
    read_best,
    remove_older,
    save_checkpoint,
)
from training.config import Config
from training.evaluation import Evaluation, Evaluator
from training.files import write_whole
from training.learner import Learner, single_threaded
from training.pictures import draw_calls, draw_png
from training.progress import Curves, Display
from training.ranks import Ranks
from training.rollout import outcomes


class Trainer(Learner):
    """One training run: a learner (which see for arguments and errors) that is saved, resumed, evaluated and shown."""

    def __init__(self, config: Config, ranks: Ranks | None = None) -> None:
        super().__init__(config, ranks)
        self._saved_at: tuple[Path, int] | None = None
        self._told = False
        """Whether it has been said that there are no pictures."""
        self.evaluator = Evaluator(self.game, self.rules, config.pad_seats, config.run.evaluate_deals)

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

    @single_threaded()
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

    def save(self, run: Path) -> Path | None:
        """Write a checkpoint with all that `resume` needs, and drop those that are not to be kept.

        All ranks must call it; the first writes and returns the folder.
        """
        own = [rollout.state() for rollout in self.rollouts]
        everyone = [state for states in self.ranks.gather(own) for state in states]
        self._saved_at = (run, self.decisions)
        if not self.ranks.is_first:
            return None
        training = self.state()
        for k, state in enumerate(everyone):
            training |= {f"rollout.{k}.{name}": tensor for name, tensor in state.items()}
        manifest = {
            **describe(self.game, self.rules, self.config.pad_seats),
            "decisions": self.decisions,
            "updates": self.updates,
            "undone": self.undo.undone,
            "seconds": self.seconds,
            "config": self.config.to_dict(),
            "opponents": {policy.name: policy.digest for policy in self.frozen},
        }
        folder = save_checkpoint(run, self.network, manifest, training, self.mimic)
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
            self.undo.undone = int(entries.get("undone", 0))
            load_weights(self.network, weights, folder / POLICY)
            self.restore(training, counters[1] > 0)
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
