"""The network: heads, numbers of operations, precision."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import linear

from envs.game import find_game
from envs.vector import VectorEnv
from training.network import FIXED, RANKED, PolicyNetwork, Prepared, make_policy_network, resolve_precision

GROUPS = {"bid": range(5, 9), "card": range(5)}


def network(precision: str = "float32", seed: int = 0) -> PolicyNetwork:
    return PolicyNetwork(12, GROUPS, [16, 8], precision, torch.Generator().manual_seed(seed))


def observations() -> torch.Tensor:
    return (torch.rand(20, 12, generator=torch.Generator().manual_seed(1)) < 0.5).to(torch.uint8)


def test_heads_follow_the_order_of_actions() -> None:
    net = network()
    for parameter in net.parameters():
        torch.nn.init.normal_(parameter, generator=torch.Generator().manual_seed(3))
    logits, value = net(observations())
    assert logits.shape == (20, 9)
    assert value.shape == (20,)
    hidden = observations().float()
    for layer in net.trunk:
        hidden = layer(hidden).relu()
    for name, actions in GROUPS.items():
        head = net.heads[name]
        assert isinstance(head, torch.nn.Linear)
        assert torch.allclose(
            logits[:, actions.start : actions.stop], linear(hidden, head.weight, head.bias), atol=1e-5
        )
    assert torch.allclose(value, net.value(hidden)[:, 0], atol=1e-5)


def test_every_parameter_gets_a_gradient() -> None:
    net = network()
    logits, value = net(observations())
    gradients = torch.autograd.grad(logits.square().sum() + value.sum(), list(net.parameters()))
    assert all(gradient.abs().sum() > 0 for gradient in gradients)


@pytest.mark.parametrize("game", ["kachuful", "call_break", "kaschlan"])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_suits_are_ordered_alike_by_compiled_code_and_by_pytorch(game: str, precision: str) -> None:
    """Compiled code serves uint8 on the processor, PyTorch's operations all else."""
    found = find_game(game)
    net = make_policy_network(found, 4, False, [16], precision=precision, generator=torch.Generator().manual_seed(0))
    seen = torch.from_numpy(VectorEnv(game, 200, 1).reset(scatter=150).observation.copy())
    compiled, plain = net.inputs(seen), net.inputs(seen.float())
    assert torch.equal(compiled.inputs, plain.inputs)
    assert compiled.inputs.dtype == net.dtype
    assert torch.equal(compiled.order, plain.order)
    assert len(compiled.order.unique()) > 3
    room = Prepared(torch.empty_like(compiled.inputs), torch.empty_like(compiled.order))
    net.inputs.write(seen, room)
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(room, compiled, strict=True))
    assert net.suits == RANKED
    assert make_policy_network(found, 4, False, [16], FIXED).suits == FIXED


def test_the_generator_makes_the_weights() -> None:
    first, same, other = (network(seed=seed).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(first[name], same[name]) for name in first)
    assert not torch.equal(first["trunk.0.weight"], other["trunk.0.weight"])


def test_bfloat16_is_close() -> None:
    exact, rough = (network(precision)(observations()) for precision in ("float32", "bfloat16"))
    for a, b in zip(exact, rough, strict=True):
        assert b.dtype == torch.float32
        assert torch.allclose(a, b, atol=0.05)
        assert not torch.equal(a, b)


def test_flops() -> None:
    products = [12 * 16, 16 * 8, 8 * 5, 8 * 4, 8 * 1]
    assert network().flops() == (2 * sum(products), 2 * (3 * sum(products) - 12 * 16))


def test_precision_is_resolved() -> None:
    assert resolve_precision("auto") in ("float32", "bfloat16")
    assert resolve_precision("float32") == "float32"


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_any_input_type(precision: str) -> None:
    net, given = network(precision), observations()
    for same in (given.float(), given.bool(), given.to(torch.bfloat16)):
        assert torch.equal(net(given)[0], net(same)[0])
