"""Options of Kaschlan: their values, checks and the named presets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from envs.options import check_bool, check_choice, check_int

FEWEST, MOST = 2, 5
"""Number of seats."""
TRUMP_CARDS = ("bottom", "top")
PICKUPS = ("unbeaten", "all")
ATTACKER_OUT = ("predecessor", "defender_attacks")
PAYOFFS = ("loser", "places")

RULES = np.dtype(
    [
        ("max_bouts", np.int32),
        ("num_players", np.int8),
        ("trump_card", np.int8),
        ("kutscher_opens_rank", np.int8),
        ("pickup", np.int8),
        ("must_beat", np.int8),
        ("attacker_out", np.int8),
        ("payoff", np.int8),
    ],
)
"""The options as the engine reads them: choices are indices into the tuples above."""


@dataclass(frozen=True)
class KaschlanRules:
    """Every option of Kaschlan; impossible values raise ValueError."""

    num_players: int = 4
    """Seats at the table."""
    trump_card: str = "bottom"
    """When the card turned up for trump is drawn: after all others (bottom), or before them (top)."""
    kutscher_opens_rank: bool = False
    """Whether cards of the Kutscher's rank may be thrown too."""
    pickup: str = "unbeaten"
    """What a defender takes who leaves a card: the unbeaten cards, or all cards of the bout."""
    must_beat: bool = False
    """Whether a card may be left only by a hand in which nothing beats it."""
    attacker_out: str = "predecessor"
    """Who attacks next when the attacker is out: the seat before him, the same defender (predecessor), or whoever
    would if he were not (defender_attacks)."""
    payoff: str = "loser"
    """Rewards: the loser -1, the others 1/(n-1) each (loser), or evenly spaced from 1 to -1 by the order of
    leaving (places)."""
    max_bouts: int = 100
    """Bouts after which a game that has not ended is truncated."""

    def __post_init__(self) -> None:
        check_int("num_players", self.num_players, FEWEST, MOST)
        check_choice("trump_card", self.trump_card, TRUMP_CARDS)
        check_bool("kutscher_opens_rank", self.kutscher_opens_rank)
        check_choice("pickup", self.pickup, PICKUPS)
        check_bool("must_beat", self.must_beat)
        check_choice("attacker_out", self.attacker_out, ATTACKER_OUT)
        check_choice("payoff", self.payoff, PAYOFFS)
        check_int("max_bouts", self.max_bouts, 1, 1_000_000)

    def record(self) -> np.ndarray:
        """The options as an array of one RULES record."""
        record = np.zeros(1, RULES)
        values: dict[str, Any] = {
            "max_bouts": self.max_bouts,
            "num_players": self.num_players,
            "trump_card": TRUMP_CARDS.index(self.trump_card),
            "kutscher_opens_rank": self.kutscher_opens_rank,
            "pickup": PICKUPS.index(self.pickup),
            "must_beat": self.must_beat,
            "attacker_out": ATTACKER_OUT.index(self.attacker_out),
            "payoff": PAYOFFS.index(self.payoff),
        }
        for name, value in values.items():
            record[name][0] = value
        return record


PRESETS: dict[str, dict[str, Any]] = {"kaschlan": {}}
