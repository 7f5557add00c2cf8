"""Policies as ONNX models, which run without PyTorch and without this package."""

from __future__ import annotations

import importlib
import io
import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from envs.vector import VectorEnv
from training.checkpoint import Policy
from training.files import partial_name

FORMAT = "taash-onnx-1"
INSTALL = "pip install 'taash[export]'"
OPSET = 17
"""Version of ONNX's operators; ONNX Runtime has known it since 1.12."""
TOLERANCE = 1e-4
"""Greatest difference from PyTorch that is taken for rounding: sums of a few hundred float32 in another order."""
INPUTS = {
    "observation": "(B, F) uint8, zeros and ones: what the seat to act sees",
    "action_mask": "(B, A) bool: its legal actions, at least one in each row",
}
OUTPUTS = {
    "logits": "(B, A) float32, minus infinity where illegal; their softmax is the policy",
    "action": "(B,) int64: the likeliest legal action, the first of equals",
    "value": "(B,) float32: the network's estimate of the reward to come in this round, times ppo.reward_scale",
}
_SCATTER = 500
"""Random moves, at most, before the positions that a model is checked on; about a game's length."""


class _Graph(nn.Module):
    """What the model computes."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(
        self, observation: torch.Tensor, action_mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """`OUTPUTS` for `INPUTS`."""
        logits, value = self.network(observation)
        logits = logits.masked_fill(~action_mask, float("-inf"))
        return logits, logits.argmax(dim=1), value


def check_installed() -> None:
    """Raise ValueError, in one line, where a package that exporting needs is missing."""
    for name in ("onnx", "onnxruntime"):
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise ValueError(f"exporting needs onnx and onnxruntime ({error}): {INSTALL}") from None


def metadata(policy: Policy, manifest: Mapping[str, Any]) -> dict[str, str]:
    """What a user of the model must know, as its metadata properties; those that are no plain texts are JSON.

    Args:
        policy: the policy.
        manifest: its checkpoint's manifest; entries that only a trained checkpoint has may be missing.
    """
    game = policy.game
    seats = policy.rules["num_players"]
    layout = game.layout(seats, policy.pad_seats)
    entries: dict[str, Any] = {
        "format": FORMAT,
        "taash": manifest["taash"],
        "game": game.name,
        "rules": policy.rules,
        "pad_seats": policy.pad_seats,
        "features": manifest["features"],
        "feature_blocks": [[block.name, layout.offsets[block.name], len(block.labels)] for block in layout.blocks],
        "actions": manifest["actions"],
        "action_names": [game.action_name(action) for action in range(game.num_actions)],
        "network": manifest["network"],
        "decisions": policy.decisions,
        "policy_sha256": manifest["parts"]["policy.safetensors"],
    }
    if "config" in manifest:
        entries["config"] = manifest["config"]
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in entries.items()}


def build_model(policy: Policy, manifest: Mapping[str, Any]) -> bytes:
    """Return a policy as a serialised ONNX model with `INPUTS`, `OUTPUTS`, a dynamic batch B and `metadata`."""
    import onnx

    layout = policy.game.layout(policy.rules["num_players"], policy.pad_seats)
    example = torch.zeros(2, layout.size, dtype=torch.uint8), torch.ones(2, policy.game.num_actions, dtype=torch.bool)
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        # PyTorch's newer exporter needs one package more (onnxscript) and gives the same graph of matrix products.
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.onnx.export(
            _Graph(policy.network).eval(), example, buffer,  # type: ignore[arg-type]  # files work as paths do
            input_names=list(INPUTS), output_names=list(OUTPUTS), opset_version=OPSET, dynamo=False,
            dynamic_axes={name: {0: "batch"} for name in (*INPUTS, *OUTPUTS)},
        )  # fmt: skip
    model = onnx.load_from_string(buffer.getvalue())
    for value in (*model.graph.input, *model.graph.output):
        value.doc_string = {**INPUTS, **OUTPUTS}[value.name]
    model.graph.name = f"{policy.game.name} policy"
    onnx.helper.set_model_props(model, metadata(policy, manifest))
    onnx.checker.check_model(model, full_check=True)
    return model.SerializeToString()  # type: ignore[no-any-return]


def positions(policy: Policy, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Observations (count, F) uint8 and masks (count, A) bool from random play of the policy's game and rules."""
    env = VectorEnv(policy.game, count, seed, pad_seats=policy.pad_seats, **policy.rules)
    batch = env.reset(scatter=_SCATTER)
    return batch.observation.copy(), batch.action_mask.copy()


def difference(path: Path, policy: Policy, count: int = 1024, seed: int = 0) -> float:
    """Greatest difference between a model's outputs, computed by ONNX Runtime, and the policy's.

    Args:
        path: the model.
        policy: what it was made of.
        count: positions to compare on, in one batch; the first is compared once more by itself.
        seed: names the positions.

    Returns:
        The greatest absolute difference of a legal action's logit or a value, or the logit by which an action misses
        the likeliest one; infinity where an illegal action is chosen or has a finite logit, or anything is NaN.
    """
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    observation, mask = positions(policy, count, seed)
    greatest = 0.0
    for rows in (slice(None), slice(1)):
        logits, action, value = session.run(
            list(OUTPUTS), {"observation": observation[rows], "action_mask": mask[rows]}
        )
        with torch.inference_mode():
            wanted_logits, wanted_value = (part.numpy() for part in policy.network(torch.from_numpy(observation[rows])))
        legal = mask[rows]
        if not (np.isneginf(logits) == ~legal).all() or not legal[np.arange(len(action)), action].all():
            return float("inf")
        chosen = wanted_logits[np.arange(len(action)), action]
        best = np.where(legal, wanted_logits, -np.inf).max(axis=1)
        parts = (logits[legal] - wanted_logits[legal], value - wanted_value, best - chosen)
        found = max(float(np.abs(part).max()) for part in parts)
        greatest = max(greatest, found if np.isfinite(found) else float("inf"))
    return greatest


def export_policy(
    policy: Policy, manifest: Mapping[str, Any], path: Path, tolerance: float = TOLERANCE, seed: int = 0
) -> tuple[float, bool]:
    """Write a policy as an ONNX model and check it; the file appears whole and checked, or not at all.

    Args:
        policy: the policy.
        manifest: its checkpoint's manifest.
        path: the file, which must not exist.
        tolerance: greatest difference from PyTorch that is allowed.
        seed: names the positions of the check.

    Returns:
        The `difference`, and whether the file was written.

    Raises:
        OSError: it cannot be written, or exists by now (FileExistsError).
    """
    partial = partial_name(path)
    try:
        with partial.open("wb") as file:
            file.write(build_model(policy, manifest))
            file.flush()
            os.fsync(file.fileno())
        found = difference(partial, policy, seed=seed)
        if not found <= tolerance:
            return found, False
        if path.exists():
            raise FileExistsError(f"{path} exists by now and is left alone")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return found, True
