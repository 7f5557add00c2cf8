"""That every rule of Kachuful has a test which names it: statements, options, values, presets, decisions, positions.

The sources' rule sentences are numbered A1.1-A1.47 and A2.1-A2.21. A test cites them, a value as ``option="value"`` or
a decision by its words, in its docstring or in the id of a case.
"""

from __future__ import annotations

import pytest
from citations import Citations
from kachuful_reference import DEFAULTS
from kachuful_table import CHOICES, VECTORS

from envs.kachuful import rules

STATEMENTS = [f"A1.{number}" for number in range(1, 48)] + [f"A2.{number}" for number in range(1, 22)]
VALUES = [
    *(f'{option}="{value}"' for option, values in CHOICES.items() for value in values),
    *(f"num_players={n}" for n in range(3, 9)),
    *("max_hand=None", 'max_hand="full"', "max_hand=1", "min_hand=1", "min_hand=3", "cycles=1", "cycles=2"),
    *('trump="SDCH"', 'trump="SDCHN"', 'trump="N"', 'trump="turn_up"', "no_trump_every=0", "no_trump_every=5"),
    *("hook=True", "hook=False"),
]
PRESETS = [f'preset="{preset}"' for preset in rules.PRESETS]
DECISIONS = [
    "the first dealer is random, or named by reset",
    "one legality, never an empty mask",
    "a seat is shown what it may know",
    "scores are integers",
    "ties share the win",
    "rewards by margin, score or win",
    "left of the dealer first, the deal moves on, between cycles too",
    "follow suit if able",
    "no duty to trump",
    "no duty to beat",
    "trump may always be led",
    "the sizes win over the stated numbers of rounds",
    "with four players and four suits a seat always deals the same trump",
    "the cycle counts on underneath",
    "four players with thirteen cards have no trump",
    "no card is turned in a round of no_trump_every",
    "the hook binds nobody else",
    "idle once the sum is larger",
    "blind bids count for the hook",
    "until the seat looks or has bid, its own hand is hidden from it",
    "a blind seat is marked blind from its bid on",
    "looked is true only after LOOK",
    "a missed blind bid scores as any miss",
    "trump and hook as usual where single cards are hidden",
    "single cards are bid plainly and not doubled",
    "single cards play themselves inside the last bid",
    "a revoke scores min(0, the normal score)",
    "the trick resolves as played",
    "a revoke is told to nobody",
    'under revoke="penalty" a discard proves no void',
    "errors when the rules are built",
]


CITED = Citations("kachuful")


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
        "schedule": rules.SCHEDULES,
        "blind": rules.BLIND,
        "blind_doubles": rules.BLIND_DOUBLES,
        "single_card": rules.SINGLE_CARD,
        "revoke": rules.REVOKE,
        "scoring": rules.SCORINGS,
        "reward": rules.REWARDS,
    }
    assert {option: set(values) for option, values in own.items()} == {o: set(values) for o, values in CHOICES.items()}
    assert set(rules.KachufulRules.__dataclass_fields__) == set(DEFAULTS)
    assert {value.split("=")[0] for value in VALUES} == set(DEFAULTS)


def test_every_kind_of_worked_position_has_a_test() -> None:
    assert CITED.kinds == {vector["kind"] for vector in VECTORS}
