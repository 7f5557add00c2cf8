"""How much is to be gained from an agent by learning against it and nothing else.

A policy learns at tables where frozen copies of the agent's checkpoint hold all other seats. What it gains over a copy
of the agent in its place, on the same deals, is a lower bound of what can be gained: what that budget of
decisions has found.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from training.agents import PolicyAgent, load_agent
from training.arena import Match, play_match
from training.checkpoint import TRAINING, CheckpointError, Policy, find_checkpoint, read_manifest
from training.config import Config, NetworkConfig, PPOConfig, RolloutConfig, RunConfig
from training.network import make_policy_network
from training.progress import Display
from training.report import CONFIDENCE, Estimate, estimate, progress_bar, summarize, versions, write_json
from training.trainer import Trainer

DOCUMENT, CURVE, OPPONENT = "best_response.json", "curve.csv", "opponent"
POINTS = 10
"""Measurements over the budget, after the first."""
PART = 5
"""Those take one deal in this many; the last is repeated with all."""


@dataclass(frozen=True)
class Settings:
    """What is asked for."""

    agent: str
    """Spec of the checkpoint, ``:sampled`` where the agent samples."""
    decisions: int = 50_000_000
    """Budget: decisions of the policy that learns."""
    deals: int = 1000
    """Deals of the last measurement."""
    seed: int = 0
    """Seed of the learning, of the deals and of the agents' chance."""
    from_scratch: bool = False
    """Begin from random weights; otherwise from the checkpoint's own."""
    threads: int = 2
    """Processor threads."""


def make_config(settings: Settings, agent: PolicyAgent, entries: Mapping[str, Any], opponent: str) -> Config:
    """Settings of the training: the checkpoint's own as far as it tells them, with its policy in all other seats.

    Args:
        settings: what is asked for.
        agent: the checkpoint's policy.
        entries: the checkpoint's manifest.
        opponent: spec of the policy for the other seats.

    Raises:
        ValueError: impossible settings.
    """
    own = entries.get("config", {})
    try:
        rollout = RolloutConfig(**{**own.get("rollout", {}), "opponents": {opponent: 1.0}, "learner_seats": 1})
        # Only the decisions of one seat are learnt from.
        rollout = dataclasses.replace(rollout, tables=2 * rollout.tables)
        return Config(
            game=agent.policy.game.name,
            seed=settings.seed,
            rules=agent.policy.rules,
            pad_seats=agent.policy.pad_seats,
            network=NetworkConfig(agent.policy.network.hidden, suits=agent.policy.network.suits),
            rollout=rollout,
            ppo=PPOConfig(**own.get("ppo", {})),
            run=RunConfig(decisions=settings.decisions, threads=settings.threads, evaluate_minutes=None),
        )
    except TypeError as error:
        raise CheckpointError(f"the training settings of {agent.name} are not those of this version: {error}") from None


def gains(response: Match, mirror: Match) -> dict[str, np.ndarray]:
    """What the candidate of a match has more than the opponent has among its like, by deal.

    Args:
        response: the match against copies of the opponent.
        mirror: the opponent against copies of itself, on the same deals and maybe more.

    Returns:
        (D,) float64 by name; the first is what the agent is judged by. With points: ``margin``, points per round less
        the mean of the others, and ``points``, own points. Without: all that the game counts, such as ``payoff`` and
        ``lost``. Always ``win_share``.
    """
    game, deals = response.game, response.deals
    found: dict[str, np.ndarray] = {}
    if response.points is not None and response.opponent_points is not None and mirror.points is not None:
        found["margin"] = response.points - response.opponent_points  # equals have none
        found["points"] = response.points - mirror.points[:deals]
    else:
        for name, own, base in zip(game.statistics, response.statistics.T, mirror.statistics.T, strict=True):
            found[name] = own - base[:deals]
    found["win_share"] = response.win_share - response.par
    return {name: gain.round(12) + 0.0 for name, gain in found.items()}  # equals gain 0, not -1e-17


class BestResponse:
    """One run: learn, measure on the way and at the end, write everything down.

    The folder holds ``best_response.json``, ``curve.csv``, the agent's policy (``opponent``), and what every training
    run has: settings, checkpoints and curves.

    Args:
        settings: what is asked for.
        run: folder of the run, made if missing; the agent's policy is copied into it.
        resume: go on from its last checkpoint.

    Raises:
        ValueError: impossible settings, a checkpoint that cannot be used or (`CheckpointError`) resumed.
    """

    def __init__(self, settings: Settings, run: Path, resume: bool = False) -> None:
        self.settings = settings
        self.run = run
        source = _load(str(run / OPPONENT) + _mode(settings.agent) if resume else settings.agent)
        folder = find_checkpoint(source.name.removesuffix(":sampled"))
        opponent = str(run / OPPONENT) + _mode(settings.agent)
        entries = read_manifest(folder)
        config = make_config(settings, source, entries, opponent)
        if not resume:
            run.mkdir(parents=True, exist_ok=True)
            shutil.copytree(folder, run / OPPONENT, ignore=shutil.ignore_patterns(TRAINING))
        self.opponent = dataclasses.replace(_load(opponent), name=settings.agent)
        self.trainer = Trainer(config)
        if not settings.from_scratch:
            self.trainer.network.load_state_dict(source.policy.network.state_dict())
        self.curve: list[dict[str, Any]] = []
        self._mirror: Match | None = None
        if resume:
            self.curve = read_document(run)["curve"]
            try:
                self.trainer.resume(run)
            except CheckpointError:
                if (run / "checkpoints").exists():
                    raise
            self.curve = [row for row in self.curve if row["decisions"] <= self.trainer.decisions]
        self.write()

    def go(self, quiet: bool = False) -> bool:
        """Learn to the end of the budget, measuring on the way, and measure once more on all deals.

        Returns:
            False if SIGINT ended it; it can then be resumed.
        """
        if not self.curve:
            self._add(None if quiet else print)
        if not self.trainer.is_finished() and not self.trainer.train(self.run, quiet, self._watch):
            return False
        response = self._play(self.settings.deals, not quiet)
        final = {**self._row(response), "summary": summarize(response).document()}
        self.write(final)
        return True

    def _watch(self, display: Display) -> Mapping[str, float]:
        """Measure where another part of the budget is spent, and save, so that the curve fits the checkpoint."""

        def part(decisions: int) -> int:
            return POINTS * decisions // self.settings.decisions

        if part(self.trainer.decisions) <= part(self.curve[-1]["decisions"]):
            return {}
        row = self._add(display.say)
        self.trainer.save(self.run)
        found: dict[str, float] = {}
        for name, gain in row["gains"].items():
            found |= {f"gain/{name}{'' if end == 'mean' else f'_{end}'}": x for end, x in gain.items() if x is not None}
        return found

    def _add(self, say: Callable[[str], object] | None) -> dict[str, Any]:
        """Measure, and add a row to the curve."""
        row = self._row(self._play(max(2, self.settings.deals // PART), False))
        self.curve.append(row)
        self.write()
        if say is not None:
            name, gain = next(iter(row["gains"].items()))
            text = Estimate(**gain).text()
            say(f"after {row['decisions'] / 1e6:.1f} M decisions: {_title(name)} {text} ({row['deals']} deals)")
        return row

    def _play(self, deals: int, shown: bool) -> Match:
        """Match of the policy as it now is against the agent's copies."""
        trainer, policy = self.trainer, self.opponent.policy
        seats, kind = trainer.rules.num_players, policy.network
        network = make_policy_network(trainer.game, seats, policy.pad_seats, kind.hidden, kind.suits)
        network.load_state_dict(trainer.network.state_dict())
        learnt = Policy(trainer.game, policy.rules, policy.pad_seats, network.eval(), trainer.decisions)
        candidate = PolicyAgent("best response", learnt)
        if self._mirror is None or self._mirror.deals < deals:
            self._mirror = self._match(self.opponent, deals, "the agent itself", shown)
        return self._match(candidate, deals, candidate.name, shown)

    def _match(self, candidate: PolicyAgent, deals: int, title: str, shown: bool) -> Match:
        trainer, seed = self.trainer, self.settings.seed
        if not shown:
            return play_match(trainer.game, trainer.rules, candidate, self.opponent, deals, seed)
        with progress_bar() as bar:
            task = bar.add_task(title, total=deals)
            return play_match(
                trainer.game, trainer.rules, candidate, self.opponent, deals, seed,
                progress=lambda done: bar.update(task, completed=done),
            )  # fmt: skip

    def _row(self, response: Match) -> dict[str, Any]:
        assert self._mirror is not None
        found = gains(response, self._mirror)
        estimates = estimate(np.stack(list(found.values()), axis=1), self.settings.seed)
        return {
            "decisions": self.trainer.decisions,
            "seconds": round(self.trainer.seconds, 3),
            "deals": response.deals,
            "gains": {name: asdict(gain) for name, gain in zip(found, estimates, strict=True)},
        }

    def write(self, final: Mapping[str, Any] | None = None) -> None:
        """Write the document and the curve."""
        document = {
            "settings": asdict(self.settings),
            "game": self.trainer.game.name,
            "rules": asdict(self.trainer.rules),
            "opponent": {policy.name: policy.digest for policy in self.trainer.frozen},
            "confidence": CONFIDENCE,
            "curve": self.curve,
            "final": final,
            "versions": versions(),
        }
        write_json(self.run / DOCUMENT, document)
        rows = [*self.curve, *([final] if final is not None else [])]
        with (self.run / CURVE).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            names = list(rows[0]["gains"]) if rows else []
            ends = ("mean", "low", "high")
            writer.writerow(["decisions", "seconds", "deals", *(f"{name}_{end}" for name in names for end in ends)])
            for row in rows:
                values = [row["gains"][name][end] for name in names for end in ends]
                writer.writerow([row["decisions"], row["seconds"], row["deals"], *values])


def read_document(run: Path) -> dict[str, Any]:
    """What a run has written; ValueError if there is none."""
    path = run / DOCUMENT
    try:
        document = json.loads(path.read_bytes())
        if not isinstance(document["curve"], list):
            raise TypeError
        Settings(**document["settings"])
    except OSError as error:
        raise ValueError(f"cannot go on with {run}: {path} cannot be read: {error.strerror}") from None
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"cannot go on with {run}: {path} was not written by this version") from None
    return document  # type: ignore[no-any-return]


def curve_table(document: Mapping[str, Any]) -> Table:
    """The curve of a run, and its last measurement, for people."""
    settings, final = document["settings"], document["final"]
    rows = [*document["curve"], *([final] if final is not None else [])]
    table = Table(title=f"gain over {settings['agent']} by learning against it, per round and seat")
    for title in ("decisions", "deals", *map(_title, rows[0]["gains"])):
        table.add_column(title, justify="right")
    shares = {"win_share", *((final or {}).get("summary", {}).get("shares", ()))}
    for row in rows:
        if row is final:
            table.add_section()
        texts = [Estimate(**gain).text(name in shares, "\n") for name, gain in row["gains"].items()]
        table.add_row(f"{row['decisions']:,}", f"{row['deals']:,}", *texts)
    begun = "random weights" if settings["from_scratch"] else "the agent's own weights"
    table.caption = f"Begun from {begun}. Brackets: {100 * CONFIDENCE:.0f} % bootstrap intervals over deals."
    return table


def _title(name: str) -> str:
    return {"margin": "points ahead of the others", "points": "own points"}.get(name, name.replace("_", " "))


def _load(spec: str) -> PolicyAgent:
    agent = load_agent(spec)
    assert isinstance(agent, PolicyAgent)
    return agent


def _mode(spec: str) -> str:
    return ":sampled" if spec.endswith(":sampled") else ""
