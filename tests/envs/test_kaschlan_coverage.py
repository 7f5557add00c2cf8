"""That every rule of Kaschlan has a test which names it: statements, options, values, decisions, worked positions.

The source's rule sentences are numbered A4.1-A4.22. A test cites them, a value as ``option="value"`` or a decision by
its words, in its docstring or in the id of a case.
"""

from __future__ import annotations

import pytest
from citations import Citations
from kaschlan_reference import DEFAULTS
from kaschlan_table import CHOICES, VECTORS

from envs.kaschlan import rules

STATEMENTS = [f"A4.{number}" for number in range(1, 23)]
VALUES = [
    *(f'{o}="{v}"' if isinstance(v, str) else f"{o}={v}" for o, values in CHOICES.items() for v in values),
    *(f"num_players={n}" for n in range(2, 6)),
    *("max_bouts=1", "max_bouts=100"),
]
DECISIONS = [
    "the first dealer is random, or named by reset",
    "errors when the rules are built",
    "the first card fixes the rank",
    "at least one card is laid",
    "one Kutscher at most in a bout",
    "the rank may follow it",
    "at most min(5, cards the defender holds) lie there",
    "the attacker is asked as long as the limit allows another card, whether or not a legal one is held",
    "up to five from the stock",
    "from the left of the defender, the attacker skipped, one round",
    "a seat that threw draws up to five when it is done",
    "one that only passed draws nothing",
    "a seat is asked whether or not it holds such a card",
    "nobody is asked once the limit is reached",
    "throw own while table+1 ≤ min(5, own hand - 1)",
    "asked while the numbers allow it",
    "the defender draws nothing for it",
    "answered in the order in which they were laid",
    "beaten pairs leave the game",
    "he takes the unbeaten cards, draws nothing",
    "the queen of diamonds beats everything, nothing beats her",
    "she is no diamond for any other purpose",
    "she has the rank of a queen for laying and throwing",
    "if she is turned up, diamonds are trump",
    "a bout in progress is always played out, even when only one seat still holds cards",
    "out = hand and stock both empty, at the moment of the seat's own draw",
    "roles are worked out once, after the bout, between neighbours still in the game",
    "whatever the defender did",
    "the last seat with cards has lost",
    "if nobody is left it is a draw",
    "the turned card is drawn last",
    "it is drawn first",
    "the Kutscher's rank may be thrown too",
    "who leaves any card takes every card of the bout",
    "a card may be left only where nothing in hand beats it",
    "the usual succession applies although the attacker is out",
    "the loser -1, the others 1/(n-1) each, a draw 0",
    "evenly spaced by the order of leaving, also where nobody is left",
    "a game that has not ended with so many is truncated, everyone gets 0",
    "a seat that is out is skipped in turn order, and all seats end together",
]


CITED = Citations("kaschlan")


@pytest.mark.parametrize("statement", STATEMENTS)
def test_statements(statement: str) -> None:
    assert statement in CITED.statements


@pytest.mark.parametrize("value", VALUES)
def test_options(value: str) -> None:
    assert CITED.has_value(value)


@pytest.mark.parametrize("decision", DECISIONS)
def test_decisions(decision: str) -> None:
    assert CITED.has_words(decision)


def test_nothing_else_is_cited() -> None:
    """No citation of a statement that does not exist."""
    assert CITED.statements == set(STATEMENTS)


def test_every_value_of_the_rules_is_known_here() -> None:
    own = {
        "trump_card": rules.TRUMP_CARDS,
        "pickup": rules.PICKUPS,
        "attacker_out": rules.ATTACKER_OUT,
        "payoff": rules.PAYOFFS,
    }
    named = {option: values for option, values in CHOICES.items() if not isinstance(values[0], bool)}
    assert {option: set(values) for option, values in own.items()} == {o: set(values) for o, values in named.items()}
    assert set(rules.KaschlanRules.__dataclass_fields__) == set(DEFAULTS)
    assert {value.split("=")[0] for value in VALUES} == set(DEFAULTS)
    assert {option: getattr(rules.KaschlanRules(), option) for option in DEFAULTS} == DEFAULTS


def test_every_kind_of_worked_position_has_a_test() -> None:
    assert CITED.kinds == {vector["kind"] for vector in VECTORS}
