"""Updates that lead nowhere: they are undone, and the run ends where that goes on."""

from __future__ import annotations

from collections.abc import Sequence

import torch

UNDONE_IN_A_ROW = 5
"""Updates that may be undone, one after the other, before the run ends."""


class DivergenceError(ArithmeticError):
    """Training that no longer leads anywhere, in one line."""


class Undo:
    """Takes back updates of parameters that diverge.

    Args:
        parameters: what is learnt.
        optimizer: whose state is taken back too.
        max_kl: approximate KL, nats a decision, by which an update may move the policy.
    """

    def __init__(
        self, parameters: Sequence[torch.nn.Parameter], optimizer: torch.optim.Optimizer, max_kl: float
    ) -> None:
        self.parameters = parameters
        self.optimizer = optimizer
        self.max_kl = max_kl
        self.undone = 0
        """Updates undone so far."""
        self._in_a_row = 0
        self._before: list[torch.Tensor] = []

    def remember(self) -> None:
        """Keep all parameters, and what the optimizer keeps of each, as they are before an update."""
        kept = [self.optimizer.state[parameter] for parameter in self.parameters]
        found = [parameter.detach().clone() for parameter in self.parameters]
        self._before = [*found, *(state[name].clone() for state in kept for name in sorted(state))]

    def check(self, sums: torch.Tensor, moved: float) -> None:
        """Undo the update if it has diverged.

        Args:
            sums: what the update has measured; it must be finite, as the parameters.
            moved: approximate KL of the update, nats.

        Raises:
            DivergenceError: it is the last of `UNDONE_IN_A_ROW` in a row.
        """
        finite = all(bool(tensor.isfinite().all()) for tensor in (sums, *self.parameters))
        if finite and moved <= self.max_kl:
            self._in_a_row = 0
            return
        self.undone += 1
        self._in_a_row += 1
        self._take_back()
        if self._in_a_row >= UNDONE_IN_A_ROW:
            reason = f"approximate KL {moved:.3g}, bound {self.max_kl:g}" if finite else "not finite"
            raise DivergenceError(
                f"{UNDONE_IN_A_ROW} updates in a row diverged and were undone ({reason}); "
                "try a smaller ppo.learning_rate"
            )

    def _take_back(self) -> None:
        count = len(self.parameters)
        with torch.no_grad():
            for parameter, old in zip(self.parameters, self._before[:count], strict=True):
                parameter.copy_(old)
        if len(self._before) == count:  # the first update: nothing was kept
            self.optimizer.state.clear()
        kept = iter(self._before[count:])
        for parameter in self.parameters:
            state = self.optimizer.state[parameter]
            for name in sorted(state):
                state[name].copy_(next(kept))
