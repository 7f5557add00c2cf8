"""Proximal policy optimisation as functions of arrays: choosing, advantages and losses (Schulman et al., 2017).

A decision has few legal actions out of many, so the compiled functions work on lists of them: ``legal[i, :count[i]]``
are the legal actions of decision i, ascending, and ``choice[i]`` is the place of the chosen one in that list.
"""

from __future__ import annotations

from math import exp, log
from typing import Any

import numpy as np
import torch

from envs.jit import jit, jit_with_memory


def masked_log_probabilities(logits: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Log-probabilities of all actions, minus infinity for illegal ones.

    Args:
        logits: (B, A) floats.
        mask: (B, A) bool, at least one action of each row legal.
    """
    return logits.float().masked_fill(~mask, -torch.inf).log_softmax(dim=1)


@jit
def list_legal(mask: Any, legal: Any, count: Any) -> None:
    """Write the list of legal actions of each row of `mask` (B, A) to ``legal[i, :count[i]]``."""
    for i in range(mask.shape[0]):
        n = 0
        for a in range(mask.shape[1]):
            if mask[i, a]:
                legal[i, n] = a
                n += 1
        count[i] = n


@jit
def choose_actions(
    logits: Any, uniform: Any, legal: Any, count: Any, choice: Any, action: Any, log_probability: Any
) -> None:
    """Draw a legal action of each row from the softmax of its logits.

    Args:
        logits: (B, A) float32.
        uniform: (B,) float32, random numbers of 0 <= u < 1, one for each draw.
        legal: (B, A) integers, see above.
        count: (B,) integers, see above.
        choice: (B,) output, place of the drawn action in its list.
        action: (B,) output, the drawn action.
        log_probability: (B,) float32 output, its log-probability.
    """
    for i in range(logits.shape[0]):
        n = count[i]
        top = logits[i, legal[i, 0]]
        for k in range(1, n):
            top = max(top, logits[i, legal[i, k]])
        total = np.float32(0.0)
        for k in range(n):
            total += np.float32(exp(logits[i, legal[i, k]] - top))
        left = uniform[i] * total
        drawn = 0
        while drawn < n - 1:
            left -= np.float32(exp(logits[i, legal[i, drawn]] - top))
            if left < 0.0:
                break
            drawn += 1
        choice[i] = drawn
        action[i] = legal[i, drawn]
        log_probability[i] = (logits[i, legal[i, drawn]] - top) - log(total)


@jit
def follow_actions(
    actions: Any, rows: Any, logits: Any, legal: Any, count: Any, choice: Any, action: Any, log_probability: Any
) -> None:
    """Put given legal actions (B,) in the place of those drawn by `choose_actions`, in the `rows` (B,) bool alone."""
    for i in range(logits.shape[0]):
        if not rows[i]:
            continue
        total = 0.0
        own = logits[i, actions[i]]
        for k in range(count[i]):
            total += exp(logits[i, legal[i, k]] - own)
            if legal[i, k] == actions[i]:
                choice[i] = k
        action[i] = actions[i]
        log_probability[i] = -log(total)


@jit
def _policy_forward(
    logits: Any, legal: Any, count: Any, choice: Any, chance: Any, log_chance: Any, chosen: Any, entropy: Any
) -> None:
    """Write probabilities of the listed actions and their logarithms, (B, A), and those of the choice and entropies."""
    for i in range(logits.shape[0]):
        n = count[i]
        top = logits[i, legal[i, 0]]
        for k in range(1, n):
            top = max(top, logits[i, legal[i, k]])
        total = np.float32(0.0)
        for k in range(n):
            log_chance[i, k] = logits[i, legal[i, k]] - top
            chance[i, k] = exp(log_chance[i, k])
            total += chance[i, k]
        log_total = np.float32(log(total))
        scale = np.float32(1.0) / total
        spread = np.float32(0.0)
        for k in range(n):
            chance[i, k] *= scale
            log_chance[i, k] -= log_total
            spread -= chance[i, k] * log_chance[i, k]
        chosen[i] = log_chance[i, choice[i]]
        entropy[i] = spread


@jit
def _policy_backward(
    legal: Any,
    count: Any,
    choice: Any,
    chance: Any,
    log_chance: Any,
    entropy: Any,
    grad_chosen: Any,
    grad_entropy: Any,
    grad: Any,
) -> None:
    """Write the gradient by the logits, zero for illegal actions, to `grad` (B, A)."""
    grad[:] = 0.0
    for i in range(grad.shape[0]):
        for k in range(count[i]):
            inner = grad_chosen[i] + grad_entropy[i] * (log_chance[i, k] + entropy[i])
            grad[i, legal[i, k]] = -chance[i, k] * inner
        grad[i, legal[i, choice[i]]] += grad_chosen[i]


class _LegalPolicy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: torch.Tensor, *lists: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        chance, log_chance = torch.empty(2, *logits.shape)
        chosen, entropy = torch.empty(2, len(logits))
        arrays = (logits.detach(), *lists, chance, log_chance, chosen, entropy)
        _policy_forward(*(tensor.numpy() for tensor in arrays))
        ctx.save_for_backward(*lists, chance, log_chance, entropy)
        return chosen, entropy

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        saved = ctx.saved_tensors
        grad = torch.empty(saved[3].shape, dtype=torch.float32)
        arrays = (*saved, *(part.contiguous() for part in grads), grad)
        _policy_backward(*(tensor.numpy() for tensor in arrays))
        return grad, None, None, None


def chosen_log_probability_and_entropy(
    logits: torch.Tensor, legal: torch.Tensor, count: torch.Tensor, choice: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probability (B,) of each chosen action and entropy (B,), in nats, of its policy, with gradients.

    Args:
        logits: (B, A) float32; compiled code serves the CPU, PyTorch's operations other devices.
        legal: (B, A) integers, see above.
        count: (B,) integers, see above.
        choice: (B,) integers, see above.
    """
    if logits.device.type == "cpu":
        return _LegalPolicy.apply(logits, legal, count, choice)  # type: ignore[no-any-return, no-untyped-call]
    return chosen_log_probability_and_entropy_anywhere(logits, legal, count, choice)


def chosen_log_probability_and_entropy_anywhere(
    logits: torch.Tensor, legal: torch.Tensor, count: torch.Tensor, choice: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same in PyTorch's operations, on any device."""
    listed, illegal = listed_log_probabilities(logits, legal, count)
    chosen = listed.gather(1, choice.long()[:, None])[:, 0]
    terms = (listed.exp() * listed.masked_fill(illegal, 0.0)).sum(dim=1)
    return chosen, -terms


def listed_log_probabilities(
    logits: torch.Tensor, legal: torch.Tensor, count: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probabilities (B, K) of the listed actions, minus infinity beyond each list's end, and where that is (bool).

    K is the longest list's length.
    """
    width = int(count.max()) if len(count) else 0
    illegal = torch.arange(width, device=logits.device) >= count[:, None]
    listed = logits.gather(1, legal[:, :width].long()).masked_fill(illegal, -torch.inf)
    return listed.log_softmax(dim=1), illegal


@jit_with_memory
def seat_advantages(
    turn: Any, value: Any, reward: Any, ended: Any, discount: float, advantage: Any, closed: Any
) -> None:
    """Generalised advantage estimates along each seat's own decisions within a round (Schulman et al., 2016), gamma 1.

    A seat's decisions in a round are one trajectory; its reward arrives when the round ends. Where the round is
    still open at the end, a seat's last decision lends its value to the one before it and has no advantage itself.

    Args:
        turn: (T, N) seat of the decision at each step and table.
        value: (T, N) float32, its estimated value.
        reward: (T, N, seats) float32, rewards of the round that ended after the decision.
        ended: (T, N) bool, whether a round ended after the decision.
        discount: lambda, 0..1.
        advantage: (T, N) float32 output; 0 where there is none.
        closed: (T, N) bool output, whether there is one.
    """
    steps, tables = turn.shape
    seats = reward.shape[2]
    next_value = np.zeros((tables, seats), np.float32)
    next_advantage = np.zeros((tables, seats), np.float32)
    gain = np.zeros((tables, seats), np.float32)
    known = np.zeros((tables, seats), np.bool_)
    for t in range(steps - 1, -1, -1):
        for i in range(tables):
            if ended[t, i]:
                for s in range(seats):
                    next_value[i, s] = 0.0
                    next_advantage[i, s] = 0.0
                    gain[i, s] = reward[t, i, s]
                    known[i, s] = True
            seat = turn[t, i]
            closed[t, i] = known[i, seat]
            advantage[t, i] = 0.0
            if known[i, seat]:
                error = gain[i, seat] + next_value[i, seat] - value[t, i]
                advantage[t, i] = error + np.float32(discount) * next_advantage[i, seat]
            next_value[i, seat] = value[t, i]
            next_advantage[i, seat] = advantage[t, i]
            gain[i, seat] = 0.0
            known[i, seat] = True


@jit_with_memory
def seat_outcomes(turn: Any, ended: Any, outcome: Any, found: Any) -> None:
    """Write what came of each decision's round for its seat.

    Args:
        turn: (T, N) seat of the decision at each step and table.
        ended: (T, N) bool, whether a round ended after the decision.
        outcome: (T, N, seats) what that round came to for each seat, -1 where it is not known.
        found: (T, N) output; -1 where the round's end is not seen or not known.
    """
    steps, tables = turn.shape
    seats = outcome.shape[2]
    known = np.full((tables, seats), -1, np.int64)
    for t in range(steps - 1, -1, -1):
        for i in range(tables):
            if ended[t, i]:
                for s in range(seats):
                    known[i, s] = outcome[t, i, s]
            found[t, i] = known[i, turn[t, i]]


def divergence(logits: torch.Tensor, other: torch.Tensor, legal: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
    """Kullback-Leibler divergence (B,), nats, of the policy of `logits` from that of `other`, on legal actions.

    Args:
        logits: (B, A) float32.
        other: (B, A) float32; takes no gradient.
        legal: (B, A) integers, see above.
        count: (B,) integers, see above.
    """
    own, illegal = listed_log_probabilities(logits, legal, count)
    reference, _ = listed_log_probabilities(other.detach(), legal, count)
    change = (own - reference).masked_fill(illegal, 0.0)
    return (own.exp() * change).sum(dim=1)


@jit
def likely_actions(logits: Any, legal: Any, count: Any, least: float, chance: Any, wanted: Any) -> None:
    """Write the probabilities of listed actions, and which of them are `least` at least.

    None is wanted where but one is that likely: there is nothing to compare.

    Args:
        logits: (B, A) float32.
        legal: (B, A) integers, see above.
        count: (B,) integers, see above.
        least: 0..1.
        chance: (B, A) float32 output; 0 beyond each list's end.
        wanted: (B, A) bool output.
    """
    chance[:] = 0.0
    wanted[:] = False
    for i in range(logits.shape[0]):
        n = count[i]
        top = logits[i, legal[i, 0]]
        for k in range(1, n):
            top = max(top, logits[i, legal[i, k]])
        total = np.float32(0.0)
        for k in range(n):
            chance[i, k] = exp(logits[i, legal[i, k]] - top)
            total += chance[i, k]
        found = 0
        for k in range(n):
            chance[i, k] /= total
            if chance[i, k] >= least:
                wanted[i, k] = True
                found += 1
        if found == 1:
            wanted[i] = False


@jit
def center_outcomes(outcomes: Any, wanted: Any, weight: Any, scale: float) -> None:
    """Scale the wanted outcomes (B, A), in place, and take each row's weighted mean from them; all others become 0."""
    for i in range(outcomes.shape[0]):
        weights = np.float32(0.0)
        total = np.float32(0.0)
        for k in range(outcomes.shape[1]):
            if wanted[i, k]:
                total += weight[i, k] * outcomes[i, k]
                weights += weight[i, k]
        mean = total / weights if weights > 0.0 else np.float32(0.0)
        for k in range(outcomes.shape[1]):
            outcomes[i, k] = (outcomes[i, k] - mean) * np.float32(scale) if wanted[i, k] else np.float32(0.0)


def outcome_loss(
    logits: torch.Tensor, legal: torch.Tensor, count: torch.Tensor, outcomes: torch.Tensor, temperature: float
) -> torch.Tensor:
    """Half the mean squared error, (B,), of what the logits say of all legal actions' outcomes.

    Logits times `temperature` stand for outcomes, either less their mean over the legal actions: the likeliest action
    is that of the best expected outcome, and others are the likelier the less is lost by them (Boltzmann). Unlike the
    gradient of the policy's mean outcome, that of this loss does not fade where the policy is sure of itself.

    Args:
        logits: (B, A) float32.
        legal: (B, A) integers, see above.
        count: (B,) integers, see above.
        outcomes: (B, A) float32 of the listed actions, less their mean; 0 beyond each list's end.
        temperature: above 0, in the outcomes' unit.
    """
    width = int(count.max()) if len(count) else 0
    listed = torch.arange(width, device=logits.device) < count[:, None]
    found = logits.gather(1, legal[:, :width].long()) * listed
    size = count[:, None].float().clamp_min(1)
    found = (found - found.sum(dim=1, keepdim=True) / size) * listed
    return 0.5 * ((temperature * found - outcomes[:, :width]).square() / size).sum(dim=1)


def clipped_outcome_loss(
    logits: torch.Tensor,
    legal: torch.Tensor,
    count: torch.Tensor,
    outcomes: torch.Tensor,
    chances: torch.Tensor,
    clip: float,
) -> torch.Tensor:
    """Minus the clipped surrogate objective of each decision, (B,), summed over all actions by their chances.

    That is `clipped_policy_loss` in the mean over the draw of the action, every action's advantage being known.

    Args:
        logits: (B, A) float32.
        legal: (B, A) integers, see above.
        count: (B,) integers, see above.
        outcomes: (B, A) float32 of the listed actions; 0 beyond each list's end.
        chances: (B, A) float32, what the policy was that met the decisions; 0 beyond each list's end.
        clip: bound of the ratios.
    """
    listed, _ = listed_log_probabilities(logits, legal, count)
    old, outcomes = chances[:, : listed.shape[1]], outcomes[:, : listed.shape[1]]
    weighted = old * outcomes
    advantage = weighted - old * weighted.sum(dim=1, keepdim=True)
    ratio = listed.exp() / old.clamp_min(torch.finfo(torch.float32).tiny)
    return -torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).sum(dim=1)


def clipped_policy_loss(
    log_probability: torch.Tensor, old_log_probability: torch.Tensor, advantage: torch.Tensor, clip: float
) -> torch.Tensor:
    """Minus the clipped surrogate objective of each decision, (B,)."""
    ratio = (log_probability - old_log_probability).exp()
    return -torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)


def value_loss(value: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Half the squared error of each value, (B,)."""
    return 0.5 * (value - target).square()
