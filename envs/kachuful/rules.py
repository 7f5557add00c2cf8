"""Options of Kachuful: their values, checks and the named presets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from envs.cards import PACK, TRUMPS
from envs.options import check_bool, check_choice, check_int, fail

SCHEDULES = ("down_up", "up_down", "down", "up")
BLIND = ("off", "optional", "forced")
BLIND_DOUBLES = ("score", "bonus")
SINGLE_CARD = ("normal", "forehead", "face_down")
REVOKE = ("masked", "penalty")
SCORINGS = ("ten_plus_bid", "ten_times_bid_plus_ten", "minus_difference", "trick_plus_bonus", "judgement")
REWARDS = ("margin", "score", "win")
MAX_CYCLE = 64
"""Most letters a trump cycle may have."""

RULES = np.dtype(
    [
        ("rounds", np.int32),
        ("num_players", np.int8),
        ("max_hand", np.int8),
        ("min_hand", np.int8),
        ("schedule", np.int8),
        ("cycle_length", np.int8),
        ("cycle", np.int8, (MAX_CYCLE,)),
        ("turn_up", np.int8),
        ("no_trump_every", np.int32),
        ("hook", np.int8),
        ("blind", np.int8),
        ("blind_doubles", np.int8),
        ("single_card", np.int8),
        ("revoke", np.int8),
        ("scoring", np.int8),
        ("reward", np.int8),
    ],
    align=True,
)
"""The options as the engine reads them: choices are indices into the tuples above."""


@dataclass(frozen=True)
class KachufulRules:
    """Every option of Kachuful; impossible values raise ValueError. `max_hand` is resolved to an integer."""

    num_players: int = 4
    """Seats at the table."""
    max_hand: int | str | None = None
    """Largest hand: None for min(10, 52 // n), ``"full"`` for 52 // n, or an integer up to that."""
    min_hand: int = 1
    """Smallest hand, where the schedule turns."""
    schedule: str = "down_up"
    """Order of hand sizes: down_up (10..1..10, the turning round once), up_down (1..10..1), down (10..1) or up."""
    cycles: int = 1
    """How often the schedule is played; trump and dealer run on."""
    trump: str = "SDCH"
    """Trump cycle by letters S D C H N (N: no trump), or ``"turn_up"``: the next card of the stock fixes it."""
    no_trump_every: int = 0
    """k > 0: every k-th round has no trump, the cycle counts on underneath."""
    hook: bool = True
    """The last bidder may not bring the sum of bids to the hand size; nobody else is bound."""
    blind: str = "off"
    """Bids before looking at the hand: off, optional (each seat looks first or bids blind) or forced."""
    blind_doubles: str = "score"
    """What an exact blind bid doubles: the whole round score (score), or only its 10 (bonus)."""
    single_card: str = "normal"
    """Rounds of one card: normal, forehead (each sees every card but its own) or face_down (nobody sees any)."""
    revoke: str = "masked"
    """Not following suit: impossible (masked), or allowed and scoring at most 0 for the round (penalty)."""
    scoring: str = "ten_plus_bid"
    """Points for an exact / a missed bid: ten_plus_bid 10 + bid / 0, ten_times_bid_plus_ten 10 * bid + 10 / 0,
    minus_difference 10 + bid / -abs(bid - won), trick_plus_bonus won + 10 / won, judgement 10 / -10."""
    reward: str = "margin"
    """Rewards: own points minus the others' mean (margin), own points (score), or win share minus 1/n (win)."""

    def __post_init__(self) -> None:
        check_int("num_players", self.num_players, 3, 8)
        most = PACK // self.num_players
        if self.max_hand is None:
            object.__setattr__(self, "max_hand", min(10, most))
        elif self.max_hand == "full":
            object.__setattr__(self, "max_hand", most)
        if isinstance(self.max_hand, str):
            fail("max_hand", self.max_hand, f"None, 'full' or an integer from 1 to {most}")
        check_int("max_hand", self.max_hand, 1, most, f" with {self.num_players} players, 'full' or None")
        check_int("min_hand", self.min_hand, 1, self.largest_hand, f" (max_hand is {self.max_hand})")
        check_choice("schedule", self.schedule, SCHEDULES)
        check_int("cycles", self.cycles, 1, 1000)
        cycle = isinstance(self.trump, str) and 1 <= len(self.trump) <= MAX_CYCLE and set(self.trump) <= set(TRUMPS)
        if not cycle and self.trump != "turn_up":
            fail("trump", self.trump, f"'turn_up' or 1 to {MAX_CYCLE} letters out of S D C H N")
        check_int("no_trump_every", self.no_trump_every, 0, 1_000_000)
        check_bool("hook", self.hook)
        check_choice("blind", self.blind, BLIND)
        check_choice("blind_doubles", self.blind_doubles, BLIND_DOUBLES)
        check_choice("single_card", self.single_card, SINGLE_CARD)
        check_choice("revoke", self.revoke, REVOKE)
        check_choice("scoring", self.scoring, SCORINGS)
        check_choice("reward", self.reward, REWARDS)

    @property
    def largest_hand(self) -> int:
        """`max_hand` as the integer it was resolved to."""
        assert isinstance(self.max_hand, int)
        return self.max_hand

    @property
    def period(self) -> int:
        """Rounds of one pass through the schedule."""
        span = self.largest_hand - self.min_hand
        return 2 * span + 1 if self.schedule in ("down_up", "up_down") else span + 1

    def record(self) -> np.ndarray:
        """The options as an array of one RULES record."""
        record = np.zeros(1, RULES)
        cycle = "N" if self.trump == "turn_up" else self.trump
        values: dict[str, Any] = {
            "rounds": self.period * self.cycles,
            "num_players": self.num_players,
            "max_hand": self.max_hand,
            "min_hand": self.min_hand,
            "schedule": SCHEDULES.index(self.schedule),
            "cycle_length": len(cycle),
            "turn_up": self.trump == "turn_up",
            "no_trump_every": self.no_trump_every,
            "hook": self.hook,
            "blind": BLIND.index(self.blind),
            "blind_doubles": BLIND_DOUBLES.index(self.blind_doubles),
            "single_card": SINGLE_CARD.index(self.single_card),
            "revoke": REVOKE.index(self.revoke),
            "scoring": SCORINGS.index(self.scoring),
            "reward": REWARDS.index(self.reward),
        }
        for name, value in values.items():
            record[name][0] = value
        record["cycle"][0, : len(cycle)] = [TRUMPS.index(letter) for letter in cycle]
        return record


PRESETS: dict[str, dict[str, Any]] = {
    "kachuful": {},
    "kachufol": {"schedule": "up_down", "max_hand": lambda seats: min(7, PACK // seats)},
    "judgement": {"scoring": "judgement"},
    "blackout": {"scoring": "ten_plus_bid"},
    "progressive": {"schedule": "down"},
    "double": {"cycles": 2},
    "sun": {"trump": "SDCHN"},
}
