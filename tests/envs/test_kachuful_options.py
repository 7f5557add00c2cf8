"""Kachuful: the options, their defaults and values, the presets, and the errors when rules are built."""

from __future__ import annotations

import dataclasses
from random import Random
from typing import Any

import pytest
from kachuful_reference import DEFAULTS, resolve
from kachuful_table import CHOICES
from playing import trace

from envs import kachuful_v0
from envs.kachuful import GAME
from envs.kachuful.rules import KachufulRules


def resolved(preset: str | None = None, **options: Any) -> dict[str, Any]:
    """The options as snapshots tell them."""
    env = kachuful_v0.env(preset, **options).unwrapped
    env.reset(seed=1)
    rules: dict[str, Any] = env.snapshot()["rules"]
    assert rules == dataclasses.asdict(GAME.make_rules(preset, **options))
    return rules


def test_defaults() -> None:
    """num_players=4, max_hand=None, min_hand=1, schedule="down_up", cycles=1, trump="SDCH", no_trump_every=0,

    hook=True, blind="off", blind_doubles="score", single_card="normal", revoke="masked",
    scoring="ten_plus_bid", reward="margin".
    """
    assert resolved() == {**DEFAULTS, "max_hand": 10}
    assert [field.name for field in dataclasses.fields(KachufulRules)] == list(DEFAULTS)
    assert dataclasses.asdict(KachufulRules()) == {**DEFAULTS, "max_hand": 10}


VALUES: dict[str, list[Any]] = {
    "num_players": [3, 4, 5, 6, 7, 8],
    "max_hand": [None, "full", 1, 13],
    "min_hand": [1, 2, 10],
    "cycles": [1, 2, 5],
    "trump": ["SDCH", "SDCHN", "N", "HS", "turn_up", "SDCHN" * 12],
    "no_trump_every": [0, 1, 5, 100],
    "hook": [True, False],
    **{name: list(values) for name, values in CHOICES.items()},
}


@pytest.mark.parametrize(("option", "value"), [(option, value) for option in VALUES for value in VALUES[option]])
def test_values(option: str, value: Any) -> None:
    """Every option takes each of its values, changes nothing else, and a game under it can be played to its end."""
    few: dict[str, Any] = {} if option in ("num_players", "max_hand", "min_hand") else {"max_hand": 3}
    assert resolved(**{option: value}, **few) == resolve(**{option: value}, **few)
    env = kachuful_v0.env(**{option: value}, **few)
    env.reset(seed=2)
    if few:
        trace(env, Random(1))
        assert env.unwrapped.snapshot()["finished"]


ERRORS: list[tuple[dict[str, Any], str]] = [
    *(({"num_players": n, "max_hand": 52 // n + 1}, f"max_hand={52 // n + 1} ") for n in range(3, 9)),
    *(({option: "other"}, f"{option}='other' .* '{values[-1]}'") for option, values in CHOICES.items()),
    *(({option: values[0].upper()}, f"{option}='{values[0].upper()}'") for option, values in CHOICES.items()),
    *(({option: None}, f"{option}=None") for option in DEFAULTS if option != "max_hand"),
    *(({option: 1.0}, f"{option}=1.0") for option in DEFAULTS),
    *(({option: True}, f"{option}=True") for option in DEFAULTS if option != "hook"),
    ({"num_players": 2}, "num_players=2 .* from 3 to 8"),
    ({"num_players": 9}, "num_players=9"),
    ({"max_hand": -1}, "max_hand=-1"),
    ({"max_hand": "half"}, "max_hand='half' .* 'full'"),
    ({"min_hand": 0}, "min_hand=0"),
    ({"min_hand": 11}, "min_hand=11 .* from 1 to 10"),
    ({"max_hand": 5, "min_hand": 6}, "min_hand=6 .* from 1 to 5 .max_hand is 5."),
    ({"num_players": 8, "min_hand": 7}, "min_hand=7 .* from 1 to 6"),
    ({"cycles": 0}, "cycles=0"),
    ({"cycles": -2}, "cycles=-2"),
    ({"no_trump_every": -1}, "no_trump_every=-1"),
    ({"trump": ""}, "trump=''"),
    ({"trump": "SDCX"}, "trump='SDCX'"),
    ({"trump": "sdch"}, "trump='sdch'"),
    ({"trump": ["S", "D"]}, r"trump=\['S', 'D'\]"),
    ({"hook": "yes"}, "hook='yes' .* True or False"),
    ({"hook": 0}, "hook=0"),
    ({"hooks": True}, "no option 'hooks'; did you mean 'hook'"),
    ({"rounds": 5}, "no option 'rounds'"),
    ({"preset": "oh_hell"}, "no preset 'oh_hell'; .* 'kachuful'"),
]


@pytest.mark.parametrize(("options", "message"), ERRORS, ids=[message for _, message in ERRORS])
def test_errors(options: dict[str, Any], message: str) -> None:
    """Decision: errors when the rules are built: one line that names option, value and what is allowed."""
    for build in (GAME.make_rules, kachuful_v0.env, kachuful_v0.raw_env):
        with pytest.raises(ValueError, match=message) as error:
            build(**options)
        assert "\n" not in str(error.value)


PRESETS: dict[str, dict[str, Any]] = {
    "kachuful": {},
    "kachufol": {"schedule": "up_down", "max_hand": 7},
    "judgement": {"scoring": "judgement"},
    "blackout": {"scoring": "ten_plus_bid"},
    "progressive": {"schedule": "down"},
    "double": {"cycles": 2},
    "sun": {"trump": "SDCHN"},
}


@pytest.mark.parametrize("preset", PRESETS)
def test_presets(preset: str) -> None:
    """A1.12, A1.35, A1.37, A1.38, A1.45, A2.19: what each preset changes; further options override it.

    preset="kachuful", preset="kachufol", preset="judgement", preset="blackout", preset="progressive",
    preset="double", preset="sun".
    """
    assert resolved(preset) == {**DEFAULTS, "max_hand": 10, **PRESETS[preset]}
    for n in range(3, 9):
        assert resolved(preset, num_players=n) == resolve(preset, num_players=n)
    for option, value in (("max_hand", 4), ("scoring", "minus_difference"), ("cycles", 3), ("trump", "turn_up")):
        assert resolved(preset, **{option: value}) == {**resolved(preset), option: value}
    assert set(PRESETS) == set(GAME.presets)


@pytest.mark.parametrize(("n", "most"), [(3, 7), (4, 7), (5, 7), (6, 7), (7, 7), (8, 6)])
def test_peak_of_kachufol(n: int, most: int) -> None:
    """A2.3, A2.15: preset="kachufol": min(7, 52 // n)."""
    assert resolved("kachufol", num_players=n)["max_hand"] == most


def test_illegal_reward_is_the_most_a_round_can_cost() -> None:
    """Minus the best score of any round; a hidden round of one card is never doubled."""
    for options, worst in (
        ({}, -20.0),
        ({"scoring": "ten_times_bid_plus_ten"}, -110.0),
        ({"blind": "optional"}, -40.0),
        ({"blind": "forced", "blind_doubles": "bonus"}, -30.0),
        ({"blind": "optional", "max_hand": 1}, -22.0),
        ({"blind": "optional", "max_hand": 1, "single_card": "forehead"}, -11.0),
        ({"reward": "win"}, -1.0),
    ):
        assert kachuful_v0.raw_env(**options).illegal_reward == worst
