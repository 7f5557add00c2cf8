"""What the policy's trunk is asked to foresee while it learns, besides its value: auxiliary losses.

The heads are dropped after training; they only shape what the trunk sees.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from envs.game import Game

if TYPE_CHECKING:
    from training.config import AuxiliaryConfig

OUTCOME, HOLDERS, BIDS = FORECASTS = ("outcome", "holders", "bids")
BID = "bid"
"""Group of actions whose expected rewards are foreseen."""
HAND = "holds+"
"""Beginning of the names of a state's blocks that say what a seat holds."""


class Seen(NamedTuple):
    """What became of B decisions, as the forecasts are to be judged by."""

    state: torch.Tensor
    """(B, S) the whole state, zeros and ones of any type, its suits in the order in which the policy sees them."""
    outcome: torch.Tensor
    """(B,) integers: the seat's statistic of the round (`Game.forecast`), -1 where it is not known."""
    action: torch.Tensor
    """(B,) int64: the chosen action."""
    target: torch.Tensor
    """(B,) float32: what the critic is to learn."""


class Forecasting:
    """The forecasts that a configuration asks for, their lengths and losses.

    Args:
        game: the game.
        num_players: seats of a table.
        pad_seats: whether states are laid out for the largest table.
        weights: of the losses; 0 leaves a forecast out.

    Raises:
        ValueError: a forecast that the game does not have.
    """

    def __init__(self, game: Game, num_players: int, pad_seats: bool, weights: AuxiliaryConfig) -> None:
        self.weights = {
            name: weight
            for name, weight in ((OUTCOME, weights.outcome), (HOLDERS, weights.holders), (BIDS, weights.bids))
            if weight > 0
        }
        self.layer = -1 if weights.layer is None else weights.layer - 1
        """Place of the layer that the heads look at in the list of the trunk's."""
        self.bids = game.action_groups.get(BID, range(0))
        self.statistic, self.classes = game.forecast or ("", 0)
        layout = game.state_layout(num_players, pad_seats)
        hands = {block.name: len(block.labels) for block in layout.blocks if block.name.startswith(HAND)}
        self.cards = hands.get(f"{HAND}1", 0)
        first = layout.offsets.get(f"{HAND}1", 0)
        self.others = range(first, first + (num_players - 1) * self.cards)
        """Columns of the state that say what the other seats hold, one seat after the other."""
        self.outputs = {
            name: {OUTCOME: self.classes, HOLDERS: len(self.others), BIDS: len(self.bids)}[name]
            for name in self.weights
        }
        """Length of each forecast by name."""
        for name, length in self.outputs.items():
            if length == 0:
                raise ValueError(
                    f"option auxiliary.{name} is not possible: {game.title} has nothing of the kind; use 0"
                )

    @property
    def needs_state(self) -> bool:
        """Whether the losses look at the whole state."""
        return HOLDERS in self.weights

    @property
    def needs_outcome(self) -> bool:
        """Whether the losses look at the outcomes of rounds."""
        return OUTCOME in self.weights

    def losses(self, forecasts: Mapping[str, torch.Tensor], seen: Seen) -> dict[str, torch.Tensor]:
        """Loss (B,) of each forecast (B, length) by name, unweighted."""
        judges = {OUTCOME: self._outcome_loss, HOLDERS: self._holders_loss, BIDS: self._bids_loss}
        return {name: judges[name](forecast, seen) for name, forecast in forecasts.items()}

    def _outcome_loss(self, forecast: torch.Tensor, seen: Seen) -> torch.Tensor:
        """Cross-entropy, nats, of the distribution of the seat's outcome; 0 where it is not known."""
        return cross_entropy(forecast, seen.outcome.long(), ignore_index=-1, reduction="none")

    def _holders_loss(self, forecast: torch.Tensor, seen: Seen) -> torch.Tensor:
        """Binary cross-entropy, nats a card, of whether each other seat holds it."""
        held = seen.state[:, self.others.start : self.others.stop].to(forecast.dtype)
        return binary_cross_entropy_with_logits(forecast, held, reduction="none").sum(dim=1) / self.cards

    def _bids_loss(self, forecast: torch.Tensor, seen: Seen) -> torch.Tensor:
        """Half the squared error of the expected reward of the bid that was made; 0 for other decisions."""
        bid = seen.action - self.bids.start
        made = (bid >= 0) & (bid < len(self.bids))
        expected = forecast.gather(1, bid.clamp(0, len(self.bids) - 1)[:, None])[:, 0]
        return 0.5 * (expected - seen.target).square() * made
