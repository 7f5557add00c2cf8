"""Options of Call Break: their values, checks and the named presets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from envs.cards import PACK
from envs.options import check_bool, check_choice, check_int, fail

SEATS_AT_TABLE = 4
ALL_SEATS = (1 << SEATS_AT_TABLE) - 1
HAND = PACK // SEATS_AT_TABLE
"""Cards dealt to each seat; positions may have fewer."""
MOST_CALL = HAND
POINT = 10
"""Score units in a point."""
MUST_BEAT = ("always", "until_trumped", "off")
UNDERTRUMP = ("forced", "free")
SPADE_LEAD = ("restricted", "free")
TRUMP = ("spades", "first_lead", "none")
MISDEAL = ("off", "auto", "vote")
TIE = ("extra_round", "shared")
REWARDS = ("margin", "score", "win")

# Indices into the tuples of choices above.
BEAT_ALWAYS, BEAT_UNTIL_TRUMPED, BEAT_OFF = range(3)
FORCED, FREE = range(2)
LEAD_RESTRICTED, LEAD_FREE = range(2)
TRUMP_SPADES, TRUMP_FIRST_LEAD, TRUMP_NONE = range(3)
MISDEAL_OFF, MISDEAL_AUTO, MISDEAL_VOTE = range(3)
EXTRA_ROUND, SHARED = range(2)
MARGIN, SCORE, WIN = range(3)

RULES = np.dtype(
    [
        ("rounds", np.int32),
        ("num_players", np.int8),
        ("min_call", np.int8),
        ("max_call", np.int8),
        ("must_beat", np.int8),
        ("undertrump", np.int8),
        ("spade_lead", np.int8),
        ("trump", np.int8),
        ("redeal_total", np.int8),  # -1: never
        ("bonus_call", np.int8),  # -1: none
        ("partnerships", np.int8),
        ("misdeal", np.int8),
        ("tie", np.int8),
        ("reward", np.int8),
    ],
    align=True,
)
"""The options as the engine reads them: choices are indices into the tuples above."""


@dataclass(frozen=True)
class CallBreakRules:
    """Every option of Call Break; impossible values raise ValueError."""

    num_players: int = SEATS_AT_TABLE
    """Seats at the table, always four."""
    rounds: int = 5
    """Rounds of the game; a tie may add one."""
    min_call: int = 2
    """Smallest call."""
    max_call: int = MOST_CALL
    """Largest call."""
    must_beat: str = "always"
    """Who follows suit must play higher than the highest card of the led suit in the trick, if able: always, also
    after the trick has been trumped; only until_trumped; or never (off)."""
    undertrump: str = "forced"
    """Void in the led suit, with trumps of which none beats the highest one in the trick: still a trump (forced), or
    any card (free)."""
    spade_lead: str = "restricted"
    """No spade as the lead of a deal's first trick unless the leader holds nothing else (restricted), or any card
    (free); always free where spades are not the permanent trump."""
    trump: str = "spades"
    """Trump: spades; the suit of the first card of each deal (first_lead), known to nobody before; or none."""
    redeal_total: int | None = None
    """Calls of four seats that sum to this or less are dealt again by the same dealer, at most ten times in a row;
    None: never."""
    bonus_call: int | None = None
    """A call of at least this, if made, scores a flat 13 and no overtricks; None: no such calls."""
    partnerships: bool = False
    """Seats 0 and 2 against 1 and 3: calls, tricks and overtricks are summed, both partners get the team's score."""
    misdeal: str = "off"
    """A hand of 13 cards of one suit or, where spades are the permanent trump, without a spade: is played (off), dealt
    again before the calls (auto), or may be claimed and is dealt again if all others agree (vote)."""
    tie: str = "extra_round"
    """Seats tied at the top after the last round: play one more among themselves, which alone decides
    (extra_round), or share the win (shared)."""
    reward: str = "margin"
    """Rewards: own points minus the others' mean, or the other team's (margin), own points (score), or win share minus
    1/4 (win)."""

    def __post_init__(self) -> None:
        if not isinstance(self.num_players, int) or self.num_players != SEATS_AT_TABLE:
            fail("num_players", self.num_players, str(SEATS_AT_TABLE))
        check_int("rounds", self.rounds, 1, 1_000_000)
        check_int("min_call", self.min_call, 0, MOST_CALL)
        check_int("max_call", self.max_call, self.min_call, MOST_CALL, f" (min_call is {self.min_call})")
        check_choice("must_beat", self.must_beat, MUST_BEAT)
        check_choice("undertrump", self.undertrump, UNDERTRUMP)
        check_choice("spade_lead", self.spade_lead, SPADE_LEAD)
        check_choice("trump", self.trump, TRUMP)
        if self.redeal_total is not None:
            least = SEATS_AT_TABLE * self.min_call
            check_int("redeal_total", self.redeal_total, least, PACK, f" with min_call={self.min_call}, or None")
        if self.bonus_call is not None:
            check_int("bonus_call", self.bonus_call, self.min_call, self.max_call, " (the range of calls), or None")
        check_bool("partnerships", self.partnerships)
        if self.partnerships and self.bonus_call is not None:
            fail("bonus_call", self.bonus_call, "None with partnerships=True")
        check_choice("misdeal", self.misdeal, MISDEAL)
        check_choice("tie", self.tie, TIE)
        check_choice("reward", self.reward, REWARDS)

    def record(self) -> np.ndarray:
        """The options as an array of one RULES record."""
        record = np.zeros(1, RULES)
        values: dict[str, Any] = {
            "rounds": self.rounds,
            "num_players": self.num_players,
            "min_call": self.min_call,
            "max_call": self.max_call,
            "must_beat": MUST_BEAT.index(self.must_beat),
            "undertrump": UNDERTRUMP.index(self.undertrump),
            "spade_lead": SPADE_LEAD.index(self.spade_lead),
            "trump": TRUMP.index(self.trump),
            "redeal_total": -1 if self.redeal_total is None else self.redeal_total,
            "bonus_call": -1 if self.bonus_call is None else self.bonus_call,
            "partnerships": self.partnerships,
            "misdeal": MISDEAL.index(self.misdeal),
            "tie": TIE.index(self.tie),
            "reward": REWARDS.index(self.reward),
        }
        for name, value in values.items():
            record[name][0] = value
        return record


PRESETS: dict[str, dict[str, Any]] = {
    "call_break": {},
    "nine_rounds": {"rounds": 9},
    "partners": {"partnerships": True},
    "pagat": {"must_beat": "off", "undertrump": "free", "bonus_call": 8, "redeal_total": 9},
    "app": {
        "min_call": 1,
        "max_call": 8,
        "must_beat": "until_trumped",
        "undertrump": "free",
        "spade_lead": "free",
        "tie": "shared",
    },
    "first_lead": {"trump": "first_lead"},
}
