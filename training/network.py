"""The network: one trunk, a head for each group of actions, and a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

import numpy as np
import torch
from torch import nn
from torch.nn.functional import linear


def resolve_precision(precision: str) -> str:
    """Return ``bfloat16`` for ``auto`` where the processor has it, else ``float32``; others as they are."""
    if precision != "auto":
        return precision
    able: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()  # absent before PyTorch 2.10
    return "bfloat16" if any(able.get(unit) for unit in ("avx512_bf16", "amx_bf16", "bf16")) else "float32"


def resolve_device(device: str) -> str:
    """Return ``cuda`` for ``auto`` where PyTorch finds a GPU, else ``cpu``; others as they are."""
    if device != "auto":
        return device
    return "cuda" if torch.cuda.is_available() else "cpu"


class PolicyNetwork(nn.Module):
    """A multilayer perceptron that every seat of every table shares.

    Args:
        num_features: length F of an observation.
        action_groups: disjoint ranges of actions that together are 0..A-1, by name; each gets a head of its own.
        hidden: widths of the trunk's layers, at least one.
        precision: ``float32``, or ``bfloat16`` for matrix products of bfloat16; the weights are float32 either way.
        generator: source of the first weights.
    """

    def __init__(
        self,
        num_features: int,
        action_groups: Mapping[str, range],
        hidden: Sequence[int],
        precision: str = "float32",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.hidden = list(hidden)
        self.dtype = dtype_of(precision)
        self.trunk = make_trunk(num_features, hidden, generator)
        groups = sorted(action_groups.items(), key=lambda item: item[1].start)
        self.heads = nn.ModuleDict({name: nn.Linear(hidden[-1], len(actions)) for name, actions in groups})
        self.value = nn.Linear(hidden[-1], 1)
        self.num_actions = sum(len(actions) for _, actions in groups)
        for layer in self.linear_layers()[len(hidden) :]:
            init_linear(layer, 1.0 if layer is self.value else 0.01, generator)

    def linear_layers(self) -> list[nn.Linear]:
        """All linear layers: the trunk's from the input on, the heads in the order of their actions, the value."""
        return [module for module in self.modules() if isinstance(module, nn.Linear)]

    def trunk_output(self, observation: torch.Tensor) -> torch.Tensor:
        """The trunk's last layer, (B, H) in the matrix products' precision, for observations (B, F) of any type."""
        return forward_trunk(self.trunk, observation, self.dtype)

    def heads_output(self, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits (B, A) and values (B,), float32, for the trunk's output (B, H)."""
        output = joint_linear(self.linear_layers()[len(self.hidden) :], hidden)
        logits, value = torch.split(output, [self.num_actions, 1], dim=1)
        return logits, value.squeeze(1)

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits (B, A) and values (B,), float32, for observations (B, F) of zeros and ones of any type."""
        return self.heads_output(self.trunk_output(observation))

    @torch.inference_mode()
    def policy_layers(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Weights (outputs, inputs) and biases (outputs,) of all layers from the input to the logits, float32."""
        layers = self.linear_layers()
        trunk, heads = layers[: len(self.hidden)], layers[len(self.hidden) : -1]
        parts = [(layer.weight.data, layer.bias.data) for layer in trunk]
        parts.append((torch.cat([head.weight for head in heads]), torch.cat([head.bias for head in heads])))
        return [(weight.cpu().numpy(), bias.cpu().numpy()) for weight, bias in parts]

    def flops(self) -> tuple[int, int]:
        """See `count_flops`."""
        return count_flops(self.linear_layers())


class Critic(nn.Module):
    """Estimates what a round brings a seat from the whole deal, which only learning may see.

    A trunk of its own: the policy's must not depend on what its seat cannot know.

    Args:
        num_features: length S of a state, as `envs.game.full_features` writes it.
        hidden: widths of the layers, at least one.
        precision: as in `PolicyNetwork`.
        generator: source of the first weights.
    """

    def __init__(
        self,
        num_features: int,
        hidden: Sequence[int],
        precision: str = "float32",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.dtype = dtype_of(precision)
        self.trunk = make_trunk(num_features, hidden, generator)
        self.value = nn.Linear(hidden[-1], 1)
        init_linear(self.value, 1.0, generator)

    def forward(self, state: torch.Tensor) -> torch.Tensor:
        """Values (B,), float32, for whole states (B, S) of zeros and ones of any type."""
        return joint_linear([self.value], forward_trunk(self.trunk, state, self.dtype)).squeeze(1)

    def flops(self) -> tuple[int, int]:
        """See `count_flops`."""
        return count_flops([module for module in self.modules() if isinstance(module, nn.Linear)])


class Forecasts(nn.Module):
    """Auxiliary heads on the policy's trunk: what its seat is asked to foresee while it learns.

    Args:
        hidden: width H of the trunk's last layer.
        outputs: length of each forecast, by name.
        precision: as in `PolicyNetwork`.
        generator: source of the first weights.
    """

    def __init__(
        self,
        hidden: int,
        outputs: Mapping[str, int],
        precision: str = "float32",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.dtype = dtype_of(precision)
        self.heads = nn.ModuleDict({name: nn.Linear(hidden, length) for name, length in outputs.items()})
        for head in self.layers():
            init_linear(head, 0.01, generator)

    def layers(self) -> list[nn.Linear]:
        """The heads, in the order of their names as given."""
        return [head for head in self.heads.values() if isinstance(head, nn.Linear)]

    def forward(self, hidden: torch.Tensor) -> dict[str, torch.Tensor]:
        """Each forecast, (B, length) float32, by name, for the trunk's output (B, H)."""
        layers = self.layers()
        parts = torch.split(joint_linear(layers, hidden), [layer.out_features for layer in layers], dim=1)
        return dict(zip(self.heads, parts, strict=True))

    def flops(self) -> tuple[int, int]:
        """Floating-point operations for one row: forward, and forward with backward."""
        forward = 2 * sum(layer.in_features * layer.out_features for layer in self.layers())
        return forward, 3 * forward


def dtype_of(precision: str) -> torch.dtype:
    """Type of the matrix products of a precision, ``float32`` or ``bfloat16``."""
    return torch.bfloat16 if precision == "bfloat16" else torch.float32


def init_linear(layer: nn.Linear, gain: float, generator: torch.Generator | None) -> None:
    """Draw orthogonal weights of a gain, and set the biases to 0."""
    nn.init.orthogonal_(layer.weight, gain, generator=generator)
    nn.init.zeros_(layer.bias)


def make_trunk(num_features: int, hidden: Sequence[int], generator: torch.Generator | None) -> nn.ModuleList:
    """Linear layers of given widths."""
    layers = [nn.Linear(i, o) for i, o in zip((num_features, *hidden), hidden, strict=False)]
    for layer in layers:
        init_linear(layer, sqrt(2), generator)
    return nn.ModuleList(layers)


def forward_trunk(trunk: nn.ModuleList, x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Apply linear layers, each followed by a rectifier, in a type."""
    x = x.to(dtype)
    for layer in trunk:
        assert isinstance(layer, nn.Linear)
        x = linear(x, layer.weight.to(dtype), layer.bias.to(dtype)).relu_()
    return x


def joint_linear(layers: Sequence[nn.Linear], x: torch.Tensor) -> torch.Tensor:
    """Outputs of linear layers side by side, float32, as one product: narrow ones run at a fraction of the rate."""
    weight = torch.cat([layer.weight for layer in layers])
    bias = torch.cat([layer.bias for layer in layers])
    return linear(x, weight.to(x.dtype), bias.to(x.dtype)).float()


def count_flops(layers: Sequence[nn.Linear]) -> tuple[int, int]:
    """Floating-point operations of the matrix products for one row: forward, and forward with backward.

    A multiplication and an addition count as two; the first layer needs no gradient of its input.
    """
    sizes = [layer.in_features * layer.out_features for layer in layers]
    forward = 2 * sum(sizes)
    return forward, 3 * forward - 2 * sizes[0]
