"""The rule-based players of Kaschlan, compiled on redacted records: the fixed yardstick, and which there are.

`lowest` never changes: agents of different times are measured against it.
"""

from __future__ import annotations

from typing import Any

from envs.jit import jit
from envs.kaschlan.cards import lowest_card
from envs.kaschlan.engine import BEAT, LAY, PASS, legal
from envs.kaschlan.heuristic import heuristic


@jit
def lowest(state: Any, rules: Any) -> int:
    """Action of the yardstick: the lowest legal card; passes where it may throw or lay a second card."""
    cards = legal(state, rules)[0] & ~(1 << PASS)
    phase = int(state["phase"])
    if cards == 0 or (phase != BEAT and not (phase == LAY and int(state["size"]) == 0)):
        return PASS
    return lowest_card(cards, int(state["trump"]))


RULE_PLAYERS = ("lowest", "heuristic")
"""Names of the rule-based players, in the order of their kinds."""


@jit
def rule_player(state: Any, rules: Any, kind: int) -> int:
    """Action of the rule-based player `kind` (an index into `RULE_PLAYERS`) for the seat to act."""
    return lowest(state, rules) if kind == 0 else heuristic(state, rules)
