"""The network: one trunk, a head for each group of actions, and a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

import torch
from torch import nn
from torch.nn.functional import linear


def resolve_precision(precision: str) -> str:
    """Return ``bfloat16`` for ``auto`` where the processor has it, else ``float32``; others as they are."""
    if precision != "auto":
        return precision
    able: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()  # absent before PyTorch 2.10
    return "bfloat16" if any(able.get(unit) for unit in ("avx512_bf16", "amx_bf16", "bf16")) else "float32"


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
        self.dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
        sizes = zip((num_features, *hidden), hidden, strict=False)
        self.trunk = nn.ModuleList(nn.Linear(inputs, outputs) for inputs, outputs in sizes)
        groups = sorted(action_groups.items(), key=lambda item: item[1].start)
        self.heads = nn.ModuleDict({name: nn.Linear(hidden[-1], len(actions)) for name, actions in groups})
        self.value = nn.Linear(hidden[-1], 1)
        self.num_actions = sum(len(actions) for _, actions in groups)
        for layer in self.linear_layers():
            head = layer in self.heads.values()
            gain = 0.01 if head else 1.0 if layer is self.value else sqrt(2)
            nn.init.orthogonal_(layer.weight, gain, generator=generator)
            nn.init.zeros_(layer.bias)

    def linear_layers(self) -> list[nn.Linear]:
        """All linear layers: the trunk's from the input on, the heads in the order of their actions, the value."""
        return [module for module in self.modules() if isinstance(module, nn.Linear)]

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits (B, A) and values (B,), float32, for observations (B, F) of zeros and ones of any type."""
        layers = self.linear_layers()
        trunk, outputs = layers[: len(self.hidden)], layers[len(self.hidden) :]
        x = observation.to(self.dtype)
        for layer in trunk:
            x = linear(x, layer.weight.to(self.dtype), layer.bias.to(self.dtype)).relu_()
        # The heads and the value are one matrix product: narrow ones run at a fraction of the machine's rate.
        weight = torch.cat([layer.weight for layer in outputs])
        bias = torch.cat([layer.bias for layer in outputs])
        output = linear(x, weight.to(self.dtype), bias.to(self.dtype)).float()
        logits, value = torch.split(output, [self.num_actions, 1], dim=1)
        return logits, value.squeeze(1)

    def flops(self) -> tuple[int, int]:
        """Floating-point operations of the matrix products for one observation: forward, and forward with backward.

        A multiplication and an addition count as two; the input layer needs no gradient of its input.
        """
        sizes = [layer.in_features * layer.out_features for layer in self.linear_layers()]
        forward = 2 * sum(sizes)
        return forward, 3 * forward - 2 * sizes[0]
