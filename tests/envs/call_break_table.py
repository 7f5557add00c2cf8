"""Rounds of Call Break set by hand, played by the engine and by ``call_break_v0.raw_env`` in step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from envs import call_break_v0, loops
from envs.call_break import GAME, engine, knowledge
from envs.cards import PACK, card_name, card_number, mask_of, names_of
from envs.game import GAME_OVER

VECTORS = [
    vector
    for vector in json.loads((Path(__file__).parents[1] / "data" / "vectors.json").read_text())
    if vector["game"] == "call_break"
]
CHOICES: dict[str, tuple[str, ...]] = {
    "must_beat": ("always", "until_trumped", "off"),
    "undertrump": ("forced", "free"),
    "spade_lead": ("restricted", "free"),
    "trump": ("spades", "first_lead", "none"),
    "misdeal": ("off", "auto", "vote"),
    "tie": ("extra_round", "shared"),
    "reward": ("margin", "score", "win"),
}
"""The named values of every option that has such."""
CARDS = [card_name(card) for card in range(PACK)]


def cases(kind: str) -> Any:
    """Parametrize a test by the worked positions of a kind."""
    found = [vector for vector in VECTORS if vector["kind"] == kind]
    assert found, kind
    return pytest.mark.parametrize("vector", found, ids=[vector["id"] for vector in found])


def mask(names: str | list[str]) -> int:
    """Mask of cards, as in ``"AS 4H"``."""
    return mask_of(map(card_number, names.split() if isinstance(names, str) else names))


def bids(*numbers: int) -> list[str]:
    return [f"bid {number}" for number in numbers]


class Table:
    """A game at two faces from a position; every move is made in both, and both must stay equal byte by byte.

    Args:
        position: what `reset` is given.
        options: of the rules; rewards are the points of a round unless said.
    """

    def __init__(self, position: dict[str, Any] | None = None, seed: int = 7, **options: Any) -> None:
        self.options = {"reward": "score"} | options
        self.rules = GAME.make_rules(**self.options)
        self.record = self.rules.record()
        self.env = call_break_v0.raw_env(**self.options)
        self.env.reset(seed=seed, options={"position": position or {}})
        self.states = self.env._states.copy()
        self.rewards: list[float] = []
        """Rewards of the round that ended last."""
        self.gained: list[int] = []

    @property
    def state(self) -> Any:
        return self.states[0]

    @property
    def turn(self) -> int:
        return int(self.state["turn"])

    @property
    def snapshot(self) -> dict[str, Any]:
        return self.env.snapshot()

    def __getitem__(self, key: str) -> Any:
        return self.snapshot[key]

    def _compare(self) -> None:
        assert self.env._states.tobytes() == self.states.tobytes()
        for seat, agent in enumerate(self.env.possible_agents):
            found = np.flatnonzero(self.env.observe(agent)["action_mask"]).tolist()
            assert [GAME.action_name(action) for action in found] == (self.legal if seat == self.turn else [])

    @property
    def legal(self) -> list[str]:
        """Names of the legal actions of the seat to act."""
        low, high = engine.legal(self.state, self.record[0])
        actions = [action for action in range(70) if (low >> action if action < 52 else high >> (action - 52)) & 1]
        return [GAME.action_name(action) for action in actions]

    def do(self, *names: str) -> Table:
        """Make moves, each legal."""
        for name in names:
            assert name in self.legal, f"{name} by seat {self.turn}: {self.legal}"
            flags = loops.advance(self.state, self.record[0], self.env.action_id(name))
            self.env.step(self.env.action_id(name))
            if flags:
                self.gained = self.state["gained"][:4].tolist()
                self.rewards = list(self.env.rewards.values())
                if not flags & GAME_OVER:
                    engine.next_round(self.state, self.record[0])
            self._compare()
        return self

    def refuses(self, *names: str) -> None:
        """Neither mask nor environment take these moves, and the game goes on unchanged."""
        for name in names:
            action = self.env.action_id(name)
            assert not loops.is_legal(self.state, self.record[0], action)
            with pytest.raises(ValueError, match=f"{name}.* of seat {self.turn} is illegal"):
                self.env.step(action)
            self._compare()

    def play_out(self) -> Table:
        """Play the round to its end, the lowest legal card each time; asserts that it is one of play."""
        round_ = int(self.state["round"])
        while int(self.state["round"]) == round_ and self.turn >= 0:
            self.do(self.legal[0])
        return self

    def knows(self, seat: int) -> list[list[str]]:
        """Hands that a seat is told, as names; hidden ones are empty."""
        states = self.states.copy()
        knowledge.redact(states[0], self.record[0], seat)
        assert int(states[0]["seed"]) == int(states[0]["game"]) == 0
        return [names_of(hand) for hand in states["hands"][0].tolist()]


def suits_deal(dealer: int = 3) -> list[list[str]]:
    """Hands of one suit each, S D C H by seat: every one a misdeal."""
    return [CARDS[13 * suit : 13 * suit + 13] for suit in range(4)]


@st.composite
def game_options(draw: Any, rounds: int = 3) -> dict[str, Any]:
    """Options of any game that is not too long to be played in a test."""
    options: dict[str, Any] = {name: draw(st.sampled_from(values)) for name, values in CHOICES.items()}
    low = draw(st.sampled_from([0, 1, 2, 2, 5]))
    high = draw(st.sampled_from([low, max(low, 4), 8 if low < 8 else 13, 13]))
    options |= {
        "rounds": draw(st.integers(1, rounds)),
        "min_call": low,
        "max_call": high,
        "redeal_total": draw(st.sampled_from([None, None, 4 * low, 4 * low + 2, 40])),
        "partnerships": draw(st.booleans()),
    }
    if not options["partnerships"]:
        options["bonus_call"] = draw(st.sampled_from([None, low, high]))
    return options
