"""The network: one trunk, a head for each group of actions, and a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn.functional import linear

from envs.cards import SUITS
from envs.game import Game
from envs.search.policy import Network, join_layers
from envs.suits import NO_ORDER, SuitTables, arrange, order_suits, put_back, take_back, unpack_votes

Suits = Literal["ranked", "fixed"]
RANKED: Suits = "ranked"
FIXED: Suits = "fixed"
"""How a network sees suits: in the order in which a position ranks them, or in that of the cards' numbers."""


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


class Prepared(NamedTuple):
    """Observations as a network's first layer takes them."""

    inputs: torch.Tensor
    """(B, F) numbers of the network's type."""
    order: torch.Tensor
    """(B,) int64 index of the order of suits that each is in (see `envs.suits`); 0 where suits stay as they are."""

    def rows(self, chosen: torch.Tensor | None) -> Prepared:
        """Some of the rows; all where nothing is chosen."""
        return self if chosen is None else Prepared(self.inputs[chosen], self.order[chosen])


class Inputs(nn.Module):
    """Turns zeros and ones of any type into what a network's first layer takes, suits in order.

    Args:
        dtype: type of the network's matrix products.
        suits: the order; `NO_ORDER`: they stay as they are.
    """

    places: torch.Tensor
    actions: torch.Tensor
    weights: torch.Tensor
    bonus: torch.Tensor
    orders: torch.Tensor

    def __init__(self, dtype: torch.dtype, suits: SuitTables) -> None:
        super().__init__()
        self.dtype = dtype
        self.suits = suits
        self.ordered = bool(suits.places.size)
        weights = np.zeros((suits.places.shape[1], len(SUITS)), np.int64)
        np.add.at(weights, suits.features, unpack_votes(suits.votes))
        # What follows from the layout is no weight to be kept in checkpoints.
        tables = {
            "weights": weights,
            "bonus": unpack_votes(suits.bonus).reshape(-1),
            **{name: getattr(suits, name) for name in ("orders", "places", "actions")},
        }
        for name, table in tables.items():
            self.register_buffer(name, torch.from_numpy(table.astype(np.int64)), persistent=False)

    def forward(self, observation: torch.Tensor) -> Prepared:
        """Prepare observations (B, F) of zeros and ones of any type."""
        if not self.ordered:
            return Prepared(observation.to(self.dtype), observation.new_zeros(len(observation), dtype=torch.int64))
        if observation.dtype == torch.uint8 and observation.device.type == "cpu" and not torch.onnx.is_in_onnx_export():
            found = Prepared(
                torch.empty(observation.shape, dtype=self.dtype), torch.empty(len(observation), dtype=torch.int64)
            )
            self.write(observation, found)
            return found
        order = self._find_order(observation)
        return Prepared(observation.gather(1, self.places[order]).to(self.dtype), order)

    def write(self, observation: torch.Tensor, out: Prepared) -> None:
        """The same for uint8, into tensors that are there already."""
        if not self.ordered:
            out.inputs.copy_(observation)
            out.order.zero_()
        elif observation.device.type == "cpu":
            # A one of bfloat16 is written as the bits that it is: compiled code does not know the type.
            bits = torch.int16 if self.dtype == torch.bfloat16 else self.dtype
            one = torch.ones(1, dtype=self.dtype).view(bits).numpy()[0]
            seen = observation.contiguous().numpy()
            arrange(seen, tuple(self.suits), one, out.order.numpy(), out.inputs.view(bits).numpy())
        else:
            out.order.copy_(self._find_order(observation))
            out.inputs.copy_(observation.gather(1, self.places[out.order]))

    def _find_order(self, observation: torch.Tensor) -> torch.Tensor:
        """`envs.suits.find_order` of each row, (B,) int64, by operations that every device and exporter has."""
        votes = observation.float() @ self.weights.float() + self.bonus.float()  # whole numbers below 2**24: exact
        a, b, c, d = votes.unbind(1)
        pairs = ((a, b), (a, c), (a, d), (b, c), (b, d), (c, d))
        code = sum(((x >= y).long() << k for k, (x, y) in enumerate(pairs)), torch.zeros_like(a, dtype=torch.int64))
        return self.orders[code]

    def restore(self, logits: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
        """Logits (B, A) of arranged actions, by their numbers in the game."""
        if not self.ordered:
            return logits
        if logits.device.type == "cpu" and not torch.onnx.is_in_onnx_export():
            return _PutBack.apply(logits, order, self.actions)  # type: ignore[no-any-return, no-untyped-call]
        return logits.gather(1, self.actions[order])


class _PutBack(torch.autograd.Function):
    """`envs.suits.put_back`; as PyTorch's gather it takes five times as long."""

    @staticmethod
    def forward(ctx: Any, logits: torch.Tensor, order: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(order, actions)
        found = torch.empty_like(logits, memory_format=torch.contiguous_format)
        put_back(logits.detach().numpy(), order.numpy(), actions.numpy(), found.numpy())
        return found

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        order, actions = ctx.saved_tensors
        found = torch.empty_like(grads[0], memory_format=torch.contiguous_format)
        take_back(grads[0].contiguous().numpy(), order.numpy(), actions.numpy(), found.numpy())
        return found, None, None


class PolicyNetwork(nn.Module):
    """A multilayer perceptron that every seat of every table shares.

    Args:
        num_features: length F of an observation.
        action_groups: disjoint ranges of actions that together are 0..A-1, by name; each gets a head of its own.
        hidden: widths of the trunk's layers, at least one.
        precision: ``float32``, or ``bfloat16`` for matrix products of bfloat16; the weights are float32 either way.
        generator: source of the first weights.
        suits: the order in which it sees suits.
    """

    def __init__(
        self,
        num_features: int,
        action_groups: Mapping[str, range],
        hidden: Sequence[int],
        precision: str = "float32",
        generator: torch.Generator | None = None,
        suits: SuitTables = NO_ORDER,
    ) -> None:
        super().__init__()
        self.hidden = list(hidden)
        self.dtype = dtype_of(precision)
        self.inputs = Inputs(self.dtype, suits)
        self.trunk = make_trunk(num_features, hidden, generator)
        groups = sorted(action_groups.items(), key=lambda item: item[1].start)
        self.heads = nn.ModuleDict({name: nn.Linear(hidden[-1], len(actions)) for name, actions in groups})
        self.value = nn.Linear(hidden[-1], 1)
        self.num_actions = sum(len(actions) for _, actions in groups)
        for layer in self.linear_layers()[len(hidden) :]:
            init_linear(layer, 1.0 if layer is self.value else 0.01, generator)

    @property
    def suits(self) -> Suits:
        """`RANKED` or `FIXED`."""
        return RANKED if self.inputs.ordered else FIXED

    def linear_layers(self) -> list[nn.Linear]:
        """All linear layers: the trunk's from the input on, the heads in the order of their actions, the value."""
        return [module for module in self.modules() if isinstance(module, nn.Linear)]

    def trunk_outputs(self, prepared: Prepared) -> list[torch.Tensor]:
        """The trunk's layers from the first to the last, (B, H) each in the matrix products' precision."""
        return forward_trunk(self.trunk, prepared.inputs)

    def trunk_output(self, prepared: Prepared) -> torch.Tensor:
        """The trunk's last layer."""
        return self.trunk_outputs(prepared)[-1]

    def heads_output(self, hidden: torch.Tensor, order: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits (B, A) and values (B,), float32, for the trunk's output (B, H) and the order (B,) of the suits."""
        output = joint_linear(self.linear_layers()[len(self.hidden) :], hidden)
        logits, value = torch.split(output, [self.num_actions, 1], dim=1)
        return self.inputs.restore(logits, order), value.squeeze(1)

    def decide(self, prepared: Prepared) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits (B, A) and values (B,), float32, for prepared observations."""
        return self.heads_output(self.trunk_output(prepared), prepared.order)

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits (B, A) and values (B,), float32, for observations (B, F) of zeros and ones of any type."""
        return self.decide(self.inputs(observation))

    @torch.inference_mode()
    def policy_layers(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Weights (outputs, inputs) and biases (outputs,) of all layers from the input to the logits, float32."""
        layers = self.linear_layers()
        trunk, heads = layers[: len(self.hidden)], layers[len(self.hidden) : -1]
        parts = [(layer.weight.data, layer.bias.data) for layer in trunk]
        parts.append((torch.cat([head.weight for head in heads]), torch.cat([head.bias for head in heads])))
        return [(weight.cpu().numpy(), bias.cpu().numpy()) for weight, bias in parts]

    def joined(self) -> Network:
        """The policy for compiled code (see `envs.search.policy`)."""
        return join_layers(self.policy_layers(), self.inputs.suits)

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
        suits: the order in which it sees suits.
    """

    def __init__(
        self,
        num_features: int,
        hidden: Sequence[int],
        precision: str = "float32",
        generator: torch.Generator | None = None,
        suits: SuitTables = NO_ORDER,
    ) -> None:
        super().__init__()
        self.dtype = dtype_of(precision)
        self.inputs = Inputs(self.dtype, suits)
        self.trunk = make_trunk(num_features, hidden, generator)
        self.value = nn.Linear(hidden[-1], 1)
        init_linear(self.value, 1.0, generator)

    def judge(self, prepared: Prepared) -> torch.Tensor:
        """Values (B,), float32, for prepared states."""
        return joint_linear([self.value], forward_trunk(self.trunk, prepared.inputs)[-1]).squeeze(1)

    def forward(self, state: torch.Tensor) -> torch.Tensor:
        """Values (B,), float32, for whole states (B, S) of zeros and ones of any type."""
        return self.judge(self.inputs(state))

    def flops(self) -> tuple[int, int]:
        """See `count_flops`."""
        return count_flops([module for module in self.modules() if isinstance(module, nn.Linear)])


class PlayoutCritic(nn.Module):
    """Estimates what a round brings a seat from the policy's trunk and from what a playout of the deal at hand brought.

    The value is a sum of two parts that the trunk decides: one of its own, and a share of the playout's outcome. As a
    baseline it depends on no action of the seat, so that advantages stay unbiased although it knows the deal.

    Args:
        hidden: width H of the trunk's last layer.
        precision: as in `PolicyNetwork`.
        generator: source of the first weights.
    """

    def __init__(self, hidden: int, precision: str = "float32", generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.dtype = dtype_of(precision)
        self.parts = nn.Linear(hidden, 2)
        init_linear(self.parts, 0.01, generator)
        nn.init.ones_(self.parts.bias[1:])  # before anything is learnt, the playout is the best guess

    def forward(self, hidden: torch.Tensor, playout: torch.Tensor) -> torch.Tensor:
        """Values (B,), float32, for the trunk's output (B, H) and the outcomes of playouts (B,)."""
        own, share = joint_linear([self.parts], hidden).unbind(1)
        return own + share * playout

    def flops(self) -> tuple[int, int]:
        """Floating-point operations for one row: forward, and forward with backward."""
        forward = 2 * self.parts.in_features * self.parts.out_features
        return forward, 3 * forward


class Forecasts(nn.Module):
    """Auxiliary heads on the policy's trunk: what its seat is asked to foresee while it learns.

    Args:
        hidden: width H of the layer that they look at.
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
        """Each forecast, (B, length) float32, by name, for that layer's output (B, H)."""
        layers = self.layers()
        parts = torch.split(joint_linear(layers, hidden), [layer.out_features for layer in layers], dim=1)
        return dict(zip(self.heads, parts, strict=True))

    def flops(self) -> tuple[int, int]:
        """Floating-point operations for one row: forward, and forward with backward."""
        forward = 2 * sum(layer.in_features * layer.out_features for layer in self.layers())
        return forward, 3 * forward


def suit_tables(game: Game, num_players: int, pad_seats: bool, suits: Suits, state: bool = False) -> SuitTables:
    """The order in which a network of a game sees suits, `RANKED` or `FIXED`, in observations or in whole states."""
    if suits == FIXED or not game.suits:
        return NO_ORDER
    layout = (game.state_layout if state else game.layout)(num_players, pad_seats)
    return order_suits(layout, [game.action_name(action) for action in range(game.num_actions)], game.suits)


def make_policy_network(
    game: Game,
    num_players: int,
    pad_seats: bool,
    hidden: Sequence[int],
    suits: Suits = RANKED,
    precision: str = "float32",
    generator: torch.Generator | None = None,
) -> PolicyNetwork:
    """A policy for a game's observations and actions.

    Args:
        game: the game.
        num_players: seats of a table.
        pad_seats: whether observations are laid out for the largest table.
        hidden: widths of the trunk's layers, at least one.
        suits: `RANKED` or `FIXED`; the same where the game ranks none.
        precision: see `PolicyNetwork`.
        generator: source of the first weights.
    """
    size = game.layout(num_players, pad_seats).size
    tables = suit_tables(game, num_players, pad_seats, suits)
    return PolicyNetwork(size, game.action_groups, hidden, precision, generator, tables)


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


def forward_trunk(trunk: nn.ModuleList, x: torch.Tensor) -> list[torch.Tensor]:
    """Outputs of linear layers, one after the other, each followed by a rectifier, in the type of their input."""
    outputs = []
    for layer in trunk:
        assert isinstance(layer, nn.Linear)
        x = linear(x, layer.weight.to(x.dtype), layer.bias.to(x.dtype)).relu_()
        outputs.append(x)
    return outputs


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
