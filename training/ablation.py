"""What each method of learning is worth: the same training with one setting changed, over several seeds.

Every variant is trained with the same budget and the same seeds by ``scripts/train.py``, and meets the same opponents
on the same deals as the plain training, so that differences are paired by seed and deal.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml  # type: ignore[import-untyped]
from rich.table import Table

from training.agents import load_agent
from training.arena import Match, play_match
from training.checkpoint import CheckpointError, find_checkpoint, read_manifest
from training.config import ConfigError, make_parser, parse_config
from training.plain_yaml import load_yaml
from training.report import Estimate, estimate

PLAIN = "plain"
"""Name of the training that the others are compared with."""
TRAIN = Path(__file__).parents[1] / "scripts" / "train.py"
VARIANT_KEYS = "a mapping of names to lists of train.py's options, such as {critic: [--network.critic, deal]}"


@dataclass(frozen=True)
class Plan:
    """What is to be compared."""

    base: list[str]
    """Options of train.py that all trainings share."""
    variants: dict[str, list[str]]
    """Further options by the variant's name; `PLAIN` has none."""
    seeds: list[int]
    opponent: str
    deals: int
    out: Path
    """Folder of the runs, ``out/variant-seed``."""
    workers: int = 2
    """Trainings at a time, of one thread each."""

    def arguments(self, variant: str, seed: int) -> list[str]:
        """Options of train.py for one training."""
        own = ["--seed", str(seed), "--run.threads", "1"]
        return [*self.base, *own, *self.variants[variant]]

    def folder(self, variant: str, seed: int) -> Path:
        """Where one training is kept."""
        return self.out / f"{variant}-{seed}"

    def check(self) -> None:
        """Raise ConfigError, in one line, where train.py would refuse a variant."""
        for variant in self.variants:
            try:
                parse_config(make_parser(), self.arguments(variant, 0))
            except ConfigError as error:
                raise ConfigError(f"variant {variant!r}: {error}") from None


def read_variants(path: Path) -> dict[str, list[str]]:
    """Variants of a YAML file, `PLAIN` before them; ValueError in one line if it is none."""
    try:
        found = load_yaml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ValueError(f"{path}: cannot be read as YAML: {' '.join(str(error).split())}") from None
    if not isinstance(found, dict) or not all(isinstance(options, list) for options in found.values()):
        raise ValueError(f"{path}: must hold {VARIANT_KEYS}")
    for name in found:
        if not isinstance(name, str) or not name.replace("-", "").isalnum() or name == PLAIN:
            raise ValueError(f"{path}: variant {name!r} is not possible: letters, digits and dashes, and not {PLAIN!r}")
    return {PLAIN: [], **{name: [str(option) for option in options] for name, options in found.items()}}


def train_all(plan: Plan, say: Callable[[str], object]) -> None:
    """Train whatever has not been trained yet; runs that were interrupted go on.

    Raises:
        RuntimeError: a training failed; its log tells why.
    """
    jobs = [(variant, seed) for seed in plan.seeds for variant in plan.variants]
    # Here, not in the threads: parsers are not made for those.
    budgets = {job: parse_config(make_parser(), plan.arguments(*job))[0].run.decisions for job in jobs}
    plan.out.mkdir(parents=True, exist_ok=True)
    running: list[subprocess.Popen[bytes]] = []

    def train(job: tuple[str, int]) -> None:
        folder = plan.folder(*job)
        if not _is_finished(folder, budgets[job]):
            # An interrupted run keeps its own settings, but for a budget that has been raised since.
            budget = budgets[job]
            fresh = [*plan.arguments(*job), "--out", str(folder)]
            given = ["--resume", str(folder), "--run.decisions", str(budget)] if _has_checkpoint(folder) else fresh
            with (plan.out / f"{folder.name}.log").open("ab") as log:
                child = subprocess.Popen([sys.executable, str(TRAIN), *given], stdout=log, stderr=log)
                running.append(child)
                code = child.wait()
            if code:
                raise RuntimeError(f"{folder.name} ended with exit code {code}; {log.name} tells why")
        say(f"{folder.name}: trained")

    with ThreadPoolExecutor(plan.workers) as pool:
        futures = [pool.submit(train, job) for job in jobs]
        try:
            for future in futures:
                future.result()
        except BaseException:
            for future in futures:
                future.cancel()
            for child in running:
                if child.poll() is None:
                    child.send_signal(signal.SIGINT)
            raise


def _has_checkpoint(folder: Path) -> bool:
    try:
        find_checkpoint(folder)
    except CheckpointError:
        return False
    return True


def _is_finished(folder: Path, decisions: int) -> bool:
    if not _has_checkpoint(folder):
        return False
    done: int = read_manifest(find_checkpoint(folder))["decisions"]
    return done >= decisions


def measure_all(plan: Plan, say: Callable[[str], object]) -> dict[str, list[Match]]:
    """Matches of every training against the opponent, by variant, in the order of the seeds."""
    found: dict[str, list[Match]] = {}
    for variant in plan.variants:
        found[variant] = []
        for seed in plan.seeds:
            agent: Any = load_agent(str(plan.folder(variant, seed)))
            game = agent.policy.game
            rules = game.make_rules(**agent.policy.rules)
            match = play_match(game, rules, agent, load_agent(plan.opponent, game), plan.deals, 0)
            found[variant].append(match)
            say(f"{variant}-{seed}: measured")
    return found


def worth(match: Match) -> np.ndarray:
    """What a match is judged by, (D,): points a round ahead of an opponent, or the first statistic without points."""
    if match.points is None or match.opponent_points is None:
        return match.statistics[:, 0]
    return match.points - match.opponent_points


def compare(plan: Plan, matches: Mapping[str, Sequence[Match]]) -> dict[str, Any]:
    """The table as a document: by variant, what it reaches, and its gain over `PLAIN`, by seed and over all."""
    rows = {}
    for variant, own in matches.items():
        gains = [worth(match) - worth(plain) for match, plain in zip(own, matches[PLAIN], strict=True)]
        shares = [match.win_share - plain.win_share for match, plain in zip(own, matches[PLAIN], strict=True)]
        values = np.stack([np.mean(gains, axis=0), np.mean(shares, axis=0)], axis=1)
        reached = np.stack([np.mean([worth(m) for m in own], axis=0), np.mean([m.win_share for m in own], axis=0)], 1)
        gain, share = estimate(values)
        level, wins = estimate(reached)
        rows[variant] = {
            "options": plan.variants[variant],
            "level": asdict(level),
            "win_share": asdict(wins),
            "gain": asdict(gain),
            "win_share_gain": asdict(share),
            "gain_by_seed": [float(gain.mean()) for gain in gains],
        }
    first = matches[PLAIN][0]
    return {
        "game": first.game.name,
        "base": plan.base,
        "seeds": plan.seeds,
        "opponent": plan.opponent,
        "deals": plan.deals,
        "variants": rows,
    }


def table(document: Mapping[str, Any]) -> Table:
    """The document for people."""
    found = Table(title=f"{document['game']}: against {document['opponent']}, {document['deals']} deals a seed")
    for title in ("variant", "ahead", "win share", "gain", "by seed"):
        found.add_column(title, justify="left" if title == "variant" else "right")
    for variant, row in document["variants"].items():
        by_seed = ", ".join(f"{gain:+.3f}" for gain in row["gain_by_seed"])
        plain = variant == PLAIN
        found.add_row(
            variant,
            Estimate(**row["level"]).text(),
            Estimate(**row["win_share"]).text(percent=True),
            "" if plain else Estimate(**row["gain"]).text(),
            "" if plain else by_seed,
        )
    found.caption = f"Seeds {', '.join(map(str, document['seeds']))}. Brackets: 95 % bootstrap intervals over deals."
    return found
