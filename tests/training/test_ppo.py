"""The functions of PPO against NumPy written by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from training.ppo import (
    choose_actions,
    chosen_log_probability_and_entropy,
    chosen_log_probability_and_entropy_anywhere,
    clipped_policy_loss,
    list_legal,
    masked_log_probabilities,
    seat_advantages,
    value_loss,
)

ROWS, ACTIONS = 40, 70


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def some_masks(rng: np.random.Generator) -> np.ndarray:
    mask = rng.random((ROWS, ACTIONS)) < 0.1
    mask[np.arange(ROWS), rng.integers(ACTIONS, size=ROWS)] = True
    mask[0], mask[1] = False, True
    mask[0, 7] = True
    return mask


def some_logits(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(0, 3, (ROWS, ACTIONS)).astype(np.float32)


def legal_lists(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    legal, count = np.zeros(mask.shape, np.uint8), np.zeros(len(mask), np.int16)
    list_legal(mask, legal, count)
    return legal, count


def probabilities(logits: np.ndarray, mask: np.ndarray) -> np.ndarray:
    weights = np.where(mask, np.exp(logits.astype(np.float64)), 0)
    return weights / weights.sum(axis=1, keepdims=True)


def test_list_legal(rng: np.random.Generator) -> None:
    mask = some_masks(rng)
    legal, count = legal_lists(mask)
    for i in range(ROWS):
        assert legal[i, : count[i]].tolist() == np.flatnonzero(mask[i]).tolist()


def test_masked_log_probabilities(rng: np.random.Generator) -> None:
    logits, mask = some_logits(rng), some_masks(rng)
    found = masked_log_probabilities(torch.from_numpy(logits), torch.from_numpy(mask)).exp().numpy()
    assert np.allclose(found, probabilities(logits, mask), atol=1e-6)
    assert (found[~mask] == 0).all()


def test_extreme_logits_stay_finite() -> None:
    logits = torch.tensor([[-1e4, 1e4, 0.0], [1e4, -1e4, -1e4]])
    mask = torch.tensor([[True, False, True], [False, True, True]])
    assert torch.allclose(masked_log_probabilities(logits, mask).exp()[1], torch.tensor([0.0, 0.5, 0.5]))
    legal, count = legal_lists(mask.numpy())
    chosen, entropy = chosen_log_probability_and_entropy(
        logits, torch.from_numpy(legal), torch.from_numpy(count), torch.tensor([1, 0])
    )
    assert torch.allclose(chosen, torch.tensor([0.0, -math.log(2)]))
    assert torch.allclose(entropy, torch.tensor([0.0, math.log(2)]))


def draw(logits: np.ndarray, mask: np.ndarray, uniform: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    legal, count = legal_lists(mask)
    choice, action = np.zeros(len(mask), np.int16), np.zeros(len(mask), np.int64)
    log_probability = np.zeros(len(mask), np.float32)
    choose_actions(logits, uniform.astype(np.float32), legal, count, choice, action, log_probability)
    assert (legal[np.arange(len(mask)), choice] == action).all()
    return choice, action, log_probability


def test_choose_actions_inverts_the_distribution(rng: np.random.Generator) -> None:
    logits, mask = some_logits(rng), some_masks(rng)
    expected = probabilities(logits, mask)
    for uniform in (np.zeros(ROWS), rng.random(ROWS), np.full(ROWS, np.nextafter(np.float32(1), np.float32(0)))):
        _, action, log_probability = draw(logits, mask, uniform)
        assert mask[np.arange(ROWS), action].all()
        assert np.allclose(np.exp(log_probability), expected[np.arange(ROWS), action], atol=1e-5)
        below = np.cumsum(expected, axis=1)[np.arange(ROWS), action]
        assert (uniform <= below + 1e-5).all()
        assert (uniform >= below - expected[np.arange(ROWS), action] - 1e-5).all()


def test_choose_actions_frequencies(rng: np.random.Generator) -> None:
    n = 20_000
    logits = np.tile(np.array([1.0, 5.0, 0.0, -1.0], np.float32), (n, 1))
    mask = np.tile(np.array([True, False, True, True]), (n, 1))
    _, action, _ = draw(logits, mask, rng.random(n))
    found = np.bincount(action, minlength=4) / n
    expected = probabilities(logits[:1], mask[:1])[0]
    assert (np.abs(found - expected) <= 5 * np.sqrt(expected / n)).all()
    assert found[1] == 0


def test_any_device_computes_what_the_processor_does(rng: np.random.Generator) -> None:
    """PyTorch's operations, which other devices use, against the compiled code: values and gradients."""
    legal, count = (torch.from_numpy(array) for array in legal_lists(some_masks(rng)))
    choice = torch.from_numpy((rng.random(ROWS) * count.numpy()).astype(np.int16))
    results = []
    for function in (chosen_log_probability_and_entropy, chosen_log_probability_and_entropy_anywhere):
        logits = torch.from_numpy(some_logits(np.random.default_rng(5))).requires_grad_()
        chosen, entropy = function(logits, legal, count, choice)
        (gradient,) = torch.autograd.grad((chosen * 1.5 + entropy * torch.arange(ROWS)).sum(), logits)
        results.append((chosen, entropy, gradient))
    for ours, theirs in zip(*results, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-4)


def test_chosen_log_probability_and_entropy(rng: np.random.Generator) -> None:
    logits, mask = some_logits(rng), some_masks(rng)
    legal, count = legal_lists(mask)
    choice = (rng.random(ROWS) * count).astype(np.int16)
    upstream = rng.normal(size=(2, ROWS)).astype(np.float32)

    given = torch.from_numpy(logits).requires_grad_()
    chosen, entropy = chosen_log_probability_and_entropy(
        given, torch.from_numpy(legal), torch.from_numpy(count), torch.from_numpy(choice)
    )
    (chosen * torch.from_numpy(upstream[0]) + entropy * torch.from_numpy(upstream[1])).sum().backward()  # type: ignore[no-untyped-call]

    p = probabilities(logits, mask)
    action = legal[np.arange(ROWS), choice]
    log_p = np.log(np.where(mask, p, 1))
    h = -(p * log_p).sum(axis=1)
    one_hot = np.eye(ACTIONS)[action]
    expected = upstream[0][:, None] * (one_hot - p) - upstream[1][:, None] * p * (log_p + h[:, None])
    assert np.allclose(chosen.detach(), log_p[np.arange(ROWS), action], atol=1e-5)
    assert np.allclose(entropy.detach(), h, atol=1e-5)
    assert given.grad is not None
    assert np.allclose(given.grad, expected, atol=1e-5)
    assert (given.grad.numpy()[~mask] == 0).all()


def advantages(
    turn: list[int], value: list[float], reward: list[list[float]], ended: list[int], discount: float
) -> tuple[list[float], list[bool]]:
    """Advantages of one table."""
    shape = (len(turn), 1)
    advantage, closed = np.full(shape, np.nan, np.float32), np.zeros(shape, np.bool_)
    seat_advantages(
        np.array(turn, np.int8)[:, None],
        np.array(value, np.float32)[:, None],
        np.array(reward, np.float32)[:, None],
        np.array(ended, np.bool_)[:, None],
        discount,
        advantage,
        closed,
    )
    return advantage[:, 0].tolist(), closed[:, 0].tolist()


def test_one_seat_and_round_by_hand() -> None:
    zero = [0.0, 0.0]
    found, closed = advantages([0, 0, 0], [1.0, 2.0, 4.0], [zero, zero, [3.0, 9.0]], [0, 0, 1], 0.5)
    last = 3.0 - 4.0
    middle = 4.0 - 2.0 + 0.5 * last
    assert found == pytest.approx([2.0 - 1.0 + 0.5 * middle, middle, last])
    assert closed == [True] * 3


def test_seats_do_not_mix() -> None:
    zero = [0.0, 0.0]
    turn, value = [0, 1, 0, 1, 1], [1.0, 10.0, 2.0, 20.0, 30.0]
    found, closed = advantages(turn, value, [zero] * 4 + [[5.0, 50.0]], [0, 0, 0, 0, 1], 1.0)
    assert found == pytest.approx([5.0 - 1.0, 50.0 - 10.0, 5.0 - 2.0, 50.0 - 20.0, 50.0 - 30.0])
    assert all(closed)


def test_rounds_do_not_mix() -> None:
    zero = [0.0, 0.0]
    reward = [zero, [1.0, -1.0], zero, [2.0, -2.0]]
    found, closed = advantages([0, 1, 1, 0], [0.5, 0.25, 0.125, 0.0], reward, [0, 1, 0, 1], 0.9)
    assert found == pytest.approx([1.0 - 0.5, -1.0 - 0.25, -2.0 - 0.125, 2.0])
    assert all(closed)


def test_open_rounds_lend_the_last_value() -> None:
    zero = [0.0, 0.0, 0.0]
    # The round of the first two decisions ends; in the next, seat 0 decides twice, seat 1 once, seat 2 never.
    found, closed = advantages(
        [0, 2, 0, 1, 0], [1.0, 2.0, 3.0, 4.0, 7.0], [zero, [9.0, 8.0, 6.0], *[zero] * 3], [0, 1, 0, 0, 0], 0.95
    )
    assert closed == [True, True, True, False, False]
    assert found == pytest.approx([9.0 - 1.0, 6.0 - 2.0, 7.0 - 3.0, 0.0, 0.0])


def plain_advantages(
    turn: np.ndarray, value: np.ndarray, reward: np.ndarray, ended: np.ndarray, discount: float
) -> tuple[np.ndarray, np.ndarray]:
    """The same as `seat_advantages`, by collecting each trajectory and summing its discounted errors forwards."""
    advantage, closed = np.zeros(turn.shape), np.zeros(turn.shape, bool)
    for i in range(turn.shape[1]):
        paths: dict[int, list[int]] = {}
        for t in range(len(turn)):
            paths.setdefault(int(turn[t, i]), []).append(t)
            if ended[t, i] or t == len(turn) - 1:
                for seat, path in paths.items():
                    values = [float(value[at, i]) for at in path]
                    values.append(0.0)
                    rewards = [0.0] * (len(path) - 1) + [float(reward[t, i, seat])]
                    if not ended[t, i]:
                        path, rewards = path[:-1], rewards[:-1]
                    errors = [rewards[k] + values[k + 1] - values[k] for k in range(len(path))]
                    for k, at in enumerate(path):
                        advantage[at, i] = sum(discount**m * error for m, error in enumerate(errors[k:]))
                        closed[at, i] = True
                paths = {}
    return advantage, closed


@pytest.mark.parametrize("discount", [0.0, 0.8, 1.0])
def test_seat_advantages_against_plain_python(rng: np.random.Generator, discount: float) -> None:
    steps, tables, seats = 60, 9, 4
    turn = rng.integers(seats, size=(steps, tables)).astype(np.int8)
    value = rng.normal(size=(steps, tables)).astype(np.float32)
    ended = rng.random((steps, tables)) < 0.1
    reward = (rng.normal(size=(steps, tables, seats)) * ended[..., None]).astype(np.float32)
    advantage, closed = np.zeros((steps, tables), np.float32), np.zeros((steps, tables), np.bool_)
    seat_advantages(turn, value, reward, ended, discount, advantage, closed)
    expected, expected_closed = plain_advantages(turn, value, reward, ended, discount)
    assert np.allclose(advantage, expected, atol=1e-5)
    assert (closed == expected_closed).all()


def test_clipped_policy_loss(rng: np.random.Generator) -> None:
    new, old = rng.normal(-1, 0.3, (2, 50)).astype(np.float32)
    advantage = rng.normal(size=50).astype(np.float32)
    found = clipped_policy_loss(torch.from_numpy(new), torch.from_numpy(old), torch.from_numpy(advantage), 0.2)
    ratio = np.exp(new - old)
    expected = -np.minimum(ratio * advantage, np.clip(ratio, 0.8, 1.2) * advantage)
    assert np.allclose(found, expected, atol=1e-6)


def test_clipping_stops_the_gradient() -> None:
    new = torch.log(torch.tensor([1.5, 1.5, 0.5, 0.5])).requires_grad_()
    advantage = torch.tensor([1.0, -1.0, 1.0, -1.0])
    clipped_policy_loss(new, torch.zeros(4), advantage, 0.2).sum().backward()  # type: ignore[no-untyped-call]
    assert new.grad is not None
    assert new.grad.tolist() == pytest.approx([0.0, 1.5, -0.5, 0.0])


def test_value_loss() -> None:
    assert value_loss(torch.tensor([1.0, 3.0]), torch.tensor([3.0, 2.0])).tolist() == [2.0, 0.5]
