"""That every rule of Call Break has a test which names it: statements, options, values, presets, decisions, positions.

The source's rule sentences are numbered A3.1-A3.36. A test cites them, a value as ``option="value"`` or a decision by
its words, in its docstring or in the id of a case.
"""

from __future__ import annotations

import pytest
from call_break_reference import DEFAULTS
from call_break_table import CHOICES, VECTORS
from citations import Citations

from envs.call_break import rules

STATEMENTS = [f"A3.{number}" for number in range(1, 37)]
VALUES = [
    *(f'{option}="{value}"' for option, values in CHOICES.items() for value in values),
    *("num_players=4", "rounds=1", "rounds=5", "rounds=7", "rounds=9"),
    *("min_call=0", "min_call=1", "min_call=2", "max_call=8", "max_call=13"),
    *("redeal_total=None", "redeal_total=9", "bonus_call=None", "bonus_call=8"),
    *("partnerships=True", "partnerships=False"),
]
PRESETS = [f'preset="{preset}"' for preset in rules.PRESETS]
DECISIONS = [
    "the first dealer is random, or named by reset",
    "one legality, never an empty mask",
    "a seat is shown what it may know",
    "scores are integers",
    "ties share the win",
    "rewards by margin, score or win",
    "right of the dealer calls first and leads",
    "a redeal keeps the dealer",
    "void in the led suit",
    "must trump",
    "a trump must beat the highest in the trick",
    "made 10 * call + overtricks, missed -10 * call",
    "whatever the distance",
    "of the led suit the highest card counts, also after the trick has been trumped",
    "free once a trump lies there on the lead of another suit",
    "the duty to over-trump stays",
    "off when spades are not the permanent trump",
    "known to nobody before",
    "after ten redeals in a row the hand is played",
    "misdeals do not count",
    "only where four seats call",
    "overtricks nothing",
    "with partners the margin is against the other team",
    "the win is by team",
    "dealt again before the calls, same dealer",
    "one that holds no misdeal may only pass",
    "the others are asked in order from the claimer",
    "the first refusal ends it, and the hand is played without further claims",
    "the tied seats alone are dealt 13 cards each from the full deck and play 13 tricks",
    "only that round orders those who were tied",
    "still equal after the extra round, the win is shared",
    "its points are rewarded",
    "the margin counts the playing seats alone",
    "the deal passes on as always, also to a seat that sits out",
    "misdeals count for the tied hands",
    "errors when the rules are built",
]


CITED = Citations("call_break")


@pytest.mark.parametrize("statement", STATEMENTS)
def test_statements(statement: str) -> None:
    assert statement in CITED.statements


@pytest.mark.parametrize("value", [*VALUES, *PRESETS])
def test_options_and_presets(value: str) -> None:
    assert CITED.has_value(value)


@pytest.mark.parametrize("decision", DECISIONS)
def test_decisions(decision: str) -> None:
    assert CITED.has_words(decision)


def test_nothing_else_is_cited() -> None:
    """No citation of a statement that does not exist."""
    assert CITED.statements == set(STATEMENTS)


def test_every_value_of_the_rules_is_known_here() -> None:
    own = {
        "must_beat": rules.MUST_BEAT,
        "undertrump": rules.UNDERTRUMP,
        "spade_lead": rules.SPADE_LEAD,
        "trump": rules.TRUMP,
        "misdeal": rules.MISDEAL,
        "tie": rules.TIE,
        "reward": rules.REWARDS,
    }
    assert {option: set(values) for option, values in own.items()} == {o: set(values) for o, values in CHOICES.items()}
    assert set(rules.CallBreakRules.__dataclass_fields__) == set(DEFAULTS)
    assert {value.split("=")[0] for value in VALUES} == set(DEFAULTS)


def test_every_kind_of_worked_position_has_a_test() -> None:
    assert CITED.kinds == {vector["kind"] for vector in VECTORS}
