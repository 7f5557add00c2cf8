"""Checkpoints: folders of tensors and a manifest, written whole or not at all, and read without executing anything.

A run keeps its checkpoints in ``RUN/checkpoints/<decisions>``; the last is the one with the most decisions. Each holds
``manifest.json`` (what it is), ``policy.safetensors`` (the weights), ``quick.safetensors`` (those of a smaller network
that learnt to do as the policy does, where there is one) and ``training.safetensors`` (what only the trainer needs).

``RUN/best`` names the checkpoint that did best in the run's evaluations, in `BEST_FILE`; it is a checkpoint's path like
``RUN`` itself, which stands for the last.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from envs.game import Game, find_game
from training.files import write_whole
from training.machine import machine
from training.network import FIXED, RANKED, PolicyNetwork, make_policy_network
from training.ppo import masked_log_probabilities

FORMAT = "taash-checkpoint-1"
MANIFEST = "manifest.json"
POLICY = "policy.safetensors"
QUICK = "quick.safetensors"
TRAINING = "training.safetensors"
BEST = "best"
BEST_FILE = "best.json"


class CheckpointError(ValueError):
    """A checkpoint that is missing, damaged or made for something else, in one line."""


@dataclass(frozen=True)
class Policy:
    """A trained network with all it needs to know about its game; it computes in float32, as every machine can."""

    game: Game
    rules: dict[str, Any]
    """Options that it was trained with, `num_players` included."""
    pad_seats: bool
    """Whether its observations are laid out for the largest table."""
    network: PolicyNetwork
    decisions: int
    """Decisions it was trained on."""
    quick: PolicyNetwork | None = None
    """A smaller network that learnt to do as it does, for playouts."""

    def check_game(self, name: str, game: Game) -> None:
        """Raise ValueError where the policy, called `name`, was made for another game."""
        if game.name != self.game.name:
            raise ValueError(f"checkpoint {name} plays {self.game.title}, not {game.title}")

    def check_rules(self, name: str, rules: Any) -> None:
        """Raise ValueError where the policy, called `name`, was made for another number of seats."""
        seats = self.rules["num_players"]
        if not self.pad_seats and seats != rules.num_players:
            raise ValueError(f"checkpoint {name} plays with {seats} players only, not with {rules.num_players}")

    @torch.inference_mode()
    def act(
        self,
        observation: np.ndarray,
        action_mask: np.ndarray,
        greedy: bool = True,
        generator: torch.Generator | None = None,
    ) -> np.ndarray:
        """Choose a legal action for each observation.

        Args:
            observation: (B, F) uint8 or any other type, zeros and ones.
            action_mask: (B, A) bool, or zeros and ones, at least one action of each row legal.
            greedy: take the most probable action instead of drawing one.
            generator: source of the draws.

        Returns:
            (B,) int64 actions.
        """
        logits, _ = self.network(torch.from_numpy(np.ascontiguousarray(observation)))
        mask = torch.from_numpy(np.ascontiguousarray(action_mask, np.bool_))
        chances = masked_log_probabilities(logits, mask)
        if not greedy:
            # The Gumbel trick: the largest of log-probabilities plus such noise is a draw from them.
            uniform = torch.rand(chances.shape, generator=generator).clamp_(1e-20)
            chances = chances - uniform.log_().neg_().log_()
        return chances.argmax(dim=1).numpy()


def describe(game: Game, rules: Any, pad_seats: bool) -> dict[str, Any]:
    """What a policy of a game under given rules sees and does, for the manifest: counts and digests of the names."""
    features = game.layout(rules.num_players, pad_seats).names
    actions = [game.action_name(action) for action in range(game.num_actions)]
    return {
        "game": game.name,
        "rules": dataclasses.asdict(rules),
        "pad_seats": pad_seats,
        "features": {"count": len(features), "sha256": _digest("\n".join(features).encode())},
        "actions": {"count": len(actions), "sha256": _digest("\n".join(actions).encode())},
    }


def describe_network(network: PolicyNetwork) -> dict[str, Any]:
    """What a manifest says of a network."""
    return {"hidden": network.hidden, "suits": network.suits}


def save_checkpoint(
    run: Path,
    network: PolicyNetwork,
    manifest: Mapping[str, Any],
    training: Mapping[str, torch.Tensor],
    quick: PolicyNetwork | None = None,
) -> Path:
    """Write a checkpoint of a run, or nothing at all.

    Args:
        run: folder of the run.
        network: the weights.
        manifest: entries for the manifest: those of `describe`, ``decisions``, and what the trainer wants back.
        training: tensors for `load_training`.
        quick: see `Policy.quick`.

    Returns:
        Its folder; an existing checkpoint of as many decisions is replaced.

    Raises:
        OSError: it cannot be written; all others are left as they were.
    """
    parts = {POLICY: save(network.state_dict()), TRAINING: save(dict(training))}
    if quick is not None:
        parts[QUICK] = save(quick.state_dict())
    entries = {
        "format": FORMAT,
        "taash": _version(),
        "torch": torch.__version__,
        "machine": machine(),
        **manifest,
        "network": describe_network(network),
        **({"quick": describe_network(quick)} if quick is not None else {}),
        "parts": {name: _digest(data) for name, data in parts.items()},
    }
    folder = run / "checkpoints" / f"{manifest['decisions']:012d}"
    fresh = folder.with_name(f".{folder.name}.new")
    for left_over in folder.parent.glob(".*.new"):
        shutil.rmtree(left_over, ignore_errors=True)
    try:
        fresh.mkdir(parents=True)
        for name, data in {**parts, MANIFEST: json.dumps(entries, indent=2).encode()}.items():
            with (fresh / name).open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        if folder.exists():
            _remove(folder)
        fresh.rename(folder)
    except OSError as error:
        shutil.rmtree(fresh, ignore_errors=True)
        # A write that fails does not say where.
        raise OSError(error.errno, error.strerror or str(error), str(folder)) from None
    return folder


def list_checkpoints(run: Path) -> list[Path]:
    """Folders of a run's checkpoints, the last one last."""
    found = (path.parent for path in (run / "checkpoints").glob(f"[0-9]*/{MANIFEST}"))
    return sorted(found, key=lambda folder: folder.name)


def remove_older(run: Path, keep_seconds: float) -> None:
    """Remove checkpoints but the last of each `keep_seconds` of training, and the best."""
    best = read_best(run)
    newest: dict[int, Path] = {}
    for folder in list_checkpoints(run):
        try:
            span = int(read_manifest(folder)["seconds"] // keep_seconds)
        except (CheckpointError, KeyError, TypeError):
            continue
        if span in newest and (best is None or newest[span].name != best["checkpoint"]):
            _remove(newest[span])
        newest[span] = folder


def mark_best(run: Path, checkpoint: Path, score: Mapping[str, Any]) -> None:
    """Make a checkpoint of a run its best one, as ``RUN/best``; the score is kept with it (plain JSON types)."""
    folder = run / BEST
    folder.mkdir(exist_ok=True)
    document = {"checkpoint": checkpoint.name, **score}
    write_whole(folder / BEST_FILE, (json.dumps(document, indent=2) + "\n").encode())


def read_best(run: Path) -> dict[str, Any] | None:
    """What `mark_best` wrote, ``checkpoint`` being the name of the folder; None where it names none that is there."""
    try:
        document = json.loads((run / BEST / BEST_FILE).read_bytes())
        there = (run / "checkpoints" / Path(document["checkpoint"]).name / MANIFEST).is_file()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return document if there else None


def find_checkpoint(path: str | Path) -> Path:
    """Folder of a checkpoint, given itself, a run (then its last one) or ``RUN/best``.

    Raises:
        CheckpointError: there is none.
    """
    path = Path(path)
    if (path / MANIFEST).is_file():
        return path
    if (path / BEST_FILE).is_file():
        best = read_best(path.parent)
        if best is None:
            raise CheckpointError(f"no checkpoint at {path}: {BEST_FILE} names none that is there")
        return path.parent / "checkpoints" / Path(best["checkpoint"]).name
    found = list_checkpoints(path)
    if not found:
        reason = "no such folder" if not path.exists() else "it is neither a checkpoint folder nor a run that has one"
        raise CheckpointError(f"no checkpoint at {path}: {reason}")
    return found[-1]


def read_manifest(folder: Path) -> dict[str, Any]:
    """Entries of a checkpoint's manifest; CheckpointError if it is not one."""
    path = folder / MANIFEST
    try:
        entries = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be read: {_one_line(error)}") from None
    if not isinstance(entries, dict) or entries.get("format") != FORMAT:
        raise CheckpointError(f"{path} is not a checkpoint of this version (format {FORMAT})")
    return entries


def policy_digest(path: str | Path) -> str:
    """SHA-256 of the weights' file of a checkpoint, or of a run's last one, as its manifest gives it."""
    return str(read_manifest(find_checkpoint(path))["parts"][POLICY])


def load_policy(path: str | Path) -> Policy:
    """Load the policy of a checkpoint folder, or of a run folder's last checkpoint.

    Raises:
        CheckpointError: it is missing, damaged, or of another game, layout or version.
    """
    folder = find_checkpoint(path)
    entries = read_manifest(folder)
    try:
        game = find_game(entries["game"])
        rules = game.make_rules(**entries["rules"])
        pad_seats = bool(entries["pad_seats"])
        decisions = int(entries["decisions"])
        expected = describe(game, rules, pad_seats)
        for part in ("features", "actions"):
            if entries[part] != expected[part]:
                raise ValueError(f"its {part} are not those of {game.title} in this version")
        kinds = {POLICY: entries["network"], **({QUICK: entries["quick"]} if "quick" in entries else {})}
        shapes = {
            part: (list(kind["hidden"]), RANKED if kind["suits"] == RANKED else FIXED) for part, kind in kinds.items()
        }
    except KeyError as error:
        raise CheckpointError(f"{folder / MANIFEST} is incomplete: {error} is missing") from None
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{folder / MANIFEST} does not fit: {_one_line(error)}") from None
    networks = {}
    for part, (hidden, suits) in shapes.items():
        weights = _load_part(folder, entries, part)
        widths = [tensor.shape[0] for name, tensor in weights.items() if name.startswith("trunk.") and tensor.ndim == 2]
        if not widths or sorted(widths) != sorted(hidden):
            raise CheckpointError(f"{folder / part} does not fit: its layers have the widths {widths}, not {hidden}")
        networks[part] = make_policy_network(game, rules.num_players, pad_seats, hidden, suits).eval()
        load_weights(networks[part], weights, folder / part)
    return Policy(game, dataclasses.asdict(rules), pad_seats, networks[POLICY], decisions, networks.get(QUICK))


def start_from(network: PolicyNetwork, path: str | Path, game: Game, rules: Any, pad_seats: bool) -> None:
    """Copy a checkpoint's weights into a network of the same game, layout and hidden layers; else CheckpointError."""
    folder = find_checkpoint(path)
    entries = read_manifest(folder)
    expected = describe(game, rules, pad_seats)
    for part in ("game", "features", "actions"):
        if entries.get(part) != expected[part]:
            raise CheckpointError(f"{folder} is no start for this training: its {part} differ")
    suits = entries.get("network", {}).get("suits")
    if suits != network.suits:
        raise CheckpointError(f"{folder} is no start for this training: it needs network.suits={suits}")
    load_weights(network, _load_part(folder, entries, POLICY), folder / POLICY)


def load_training(folder: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Manifest, weights and training tensors of a checkpoint; CheckpointError as in `load_policy`."""
    entries = read_manifest(folder)
    return entries, _load_part(folder, entries, POLICY), _load_part(folder, entries, TRAINING)


def load_weights(network: PolicyNetwork, weights: Mapping[str, torch.Tensor], path: Path) -> None:
    """Copy the weights of a file into a network; CheckpointError if they are others than its own, or not finite."""
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise CheckpointError(f"{path} does not fit the network: {_one_line(error)}") from None
    if not all(bool(tensor.isfinite().all()) for tensor in weights.values()):
        raise CheckpointError(f"{path} holds weights that are not finite")


def _load_part(folder: Path, entries: Mapping[str, Any], name: str) -> dict[str, torch.Tensor]:
    path = folder / name
    try:
        data = path.read_bytes()
        if _digest(data) != entries["parts"][name]:
            raise CheckpointError(f"{path} is damaged: it is not the file that {MANIFEST} describes")
        return load(data)
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing") from None
    except (OSError, KeyError, TypeError, SafetensorError) as error:
        raise CheckpointError(f"{path} cannot be read: {_one_line(error)}") from None


def _remove(folder: Path) -> None:
    # A folder without its manifest is no checkpoint: what an interruption leaves is never read.
    (folder / MANIFEST).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _version() -> str:
    try:
        return version("taash")
    except PackageNotFoundError:
        return "unknown"
