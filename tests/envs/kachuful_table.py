"""Rounds of Kachuful set by hand, played by the engine and by ``kachuful_v0.raw_env`` in step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from envs import kachuful_v0, loops
from envs.cards import PACK, card_number, names_of
from envs.game import GAME_OVER
from envs.kachuful import GAME, engine, features, knowledge

VECTORS = [
    vector
    for vector in json.loads((Path(__file__).parents[1] / "data" / "vectors.json").read_text())
    if vector["game"] == "kachuful"
]
CHOICES: dict[str, tuple[str, ...]] = {
    "schedule": ("down_up", "up_down", "down", "up"),
    "blind": ("off", "optional", "forced"),
    "blind_doubles": ("score", "bonus"),
    "single_card": ("normal", "forehead", "face_down"),
    "revoke": ("masked", "penalty"),
    "scoring": ("ten_plus_bid", "ten_times_bid_plus_ten", "minus_difference", "trick_plus_bonus", "judgement"),
    "reward": ("score", "margin", "win"),
}
"""The named values of every option that has such."""


def cases(kind: str) -> Any:
    """Parametrize a test by the worked positions of a kind."""
    found = [vector for vector in VECTORS if vector["kind"] == kind]
    assert found, kind
    return pytest.mark.parametrize("vector", found, ids=[vector["id"] for vector in found])


def bids(*numbers: int) -> list[str]:
    return [f"bid {number}" for number in numbers]


def blinds(*numbers: int) -> list[str]:
    return [f"blind {number}" for number in numbers]


class Table:
    """A round with given hands at two faces; every move is made in both, and both must stay equal byte by byte.

    The engine deals it from a deck put together by hand, the environment is set up by a position. The rules make the
    first round one of that hand size and of trump spades unless `options` say otherwise.

    Args:
        hands: cards of each seat, as in ``"AS 4H 6C"``; a game of the seats' number.
        dealer: who deals.
        turned: card turned up for trump.
        round_: number of the round.
        options: of the rules; rewards are the points of a round.
    """

    def __init__(
        self, hands: list[str], dealer: int = -1, turned: str | None = None, round_: int = 0, **options: Any
    ) -> None:
        cards = [hand.split() for hand in hands]
        self.seats, size = len(cards), len(cards[0])
        dealer = dealer % self.seats
        rules: dict[str, Any] = {
            "num_players": self.seats,
            "max_hand": size,
            "min_hand": size,
            "cycles": 3,
            "reward": "score",
        }
        self.options = rules | options
        self.rules = GAME.make_rules(**self.options).record()
        self.states = np.zeros(1, GAME.state)
        self.states["seed"] = 7
        engine.new_game(self.state, self.rules[0], dealer)
        self.state["round"] = round_
        deck = [card_number(card) for hand in cards for card in hand]
        deck += [card_number(turned)] if turned else []
        deck += [card for card in range(PACK) if card not in deck]
        engine.deal(self.state, self.rules[0], np.array(deck, np.int8))

        self.env = kachuful_v0.raw_env(**self.options)
        position = {"hands": cards, "dealer": dealer, "round": round_} | ({"turned": turned} if turned else {})
        self.env.reset(seed=7, options={"position": position})
        self.ended: dict[str, Any] = {}
        """Last values of the round that ended last."""
        self._compare()

    @property
    def state(self) -> Any:
        return self.states[0]

    @property
    def turn(self) -> int:
        return int(self.state["turn"])

    @property
    def snapshot(self) -> dict[str, Any]:
        return self.env.snapshot()

    def _compare(self) -> None:
        assert self.env._states.tobytes() == self.states.tobytes()
        for seat, agent in enumerate(self.env.possible_agents):
            mask = self.env.observe(agent)["action_mask"]
            names = [self.env.action_name(action) for action in np.flatnonzero(mask).tolist()]
            assert names == (self.legal if seat == self.turn else [])

    @property
    def legal(self) -> list[str]:
        """Names of the legal actions of the seat to act."""
        low, high = engine.legal(self.state, self.rules[0])
        actions = [action for action in range(89) if (low >> action if action < 52 else high >> (action - 52)) & 1]
        return [GAME.action_name(action) for action in actions]

    def do(self, *names: str) -> Table:
        """Make moves, each legal."""
        for name in names:
            assert name in self.legal, f"{name} by seat {self.turn}: {self.legal}"
            action = self.env.action_id(name)
            seat = self.turn
            flags = loops.advance(self.state, self.rules[0], action)
            self.env.step(action)
            assert (seat, name) in self.env.history
            if flags:
                self._end_round(flags)
            self._compare()
        return self

    def _end_round(self, flags: int) -> None:
        n = self.seats
        flags_of = {key: [bool(self.state[key] >> seat & 1) for seat in range(n)] for key in ("blind", "looked")}
        self.ended = flags_of | {key: self.state[key][:n].tolist() for key in ("bids", "tricks", "gained", "scores")}
        self.ended["rewards"] = list(self.env.rewards.values())
        self.ended["played"] = names_of(int(np.bitwise_or.reduce(self.state["played"][:n])))
        if self.options["reward"] == "score":
            assert self.ended["rewards"] == self.ended["gained"]
        if flags & GAME_OVER:
            assert self.snapshot["finished"]
        else:
            engine.next_round(self.state, self.rules[0])

    def refuses(self, *names: str) -> None:
        """Neither mask nor environment take these moves, and the game goes on unchanged."""
        for name in names:
            action = self.env.action_id(name)
            assert not loops.is_legal(self.state, self.rules[0], action)
            with pytest.raises(ValueError, match=f"{name}.* of seat {self.turn} is illegal"):
                self.env.step(action)
            self._compare()

    def sees(self, seat: int) -> dict[str, list[str]]:
        """What a seat observes: names of the features that are set, by block (``+1`` is the next seat)."""
        observation = self.env.observe(f"player_{seat}")["observation"]
        return dict(features.layout(self.seats).decode(observation.astype(np.uint8)))

    def knows(self, seat: int) -> list[list[str]]:
        """Hands that a seat is told, as names; hidden ones are empty."""
        states = self.states.copy()
        knowledge.redact(states[0], self.rules[0], seat)
        return [names_of(hand) for hand in states["hands"][0][: self.seats]]

    def observations(self) -> list[bytes]:
        """What every seat observes, its mask included, as bytes."""
        seen = [self.env.observe(agent) for agent in self.env.possible_agents]
        return [one["observation"].tobytes() + one["action_mask"].tobytes() for one in seen]


CYCLES = st.one_of(st.sampled_from(["SDCH", "SDCHN", "N", "turn_up", "turn_up"]), st.text("SDCHN", min_size=1))


@st.composite
def game_options(draw: Any) -> dict[str, Any]:
    """Options of any game of 3..8 seats that is not too long to be played in a test."""
    n = draw(st.integers(3, 8))
    most = 52 // n
    high = draw(st.one_of(st.sampled_from([1, 2, most]), st.integers(1, most)))
    options: dict[str, Any] = {name: draw(st.sampled_from(values)) for name, values in CHOICES.items()}
    options |= {
        "num_players": n,
        "max_hand": "full" if high == most and draw(st.booleans()) else high,
        "min_hand": draw(st.integers(max(1, high - 2), high)),
        "cycles": draw(st.integers(1, 2 if n * high < 20 else 1)),
        "trump": draw(CYCLES),
        "no_trump_every": draw(st.integers(0, 5)),
        "hook": draw(st.booleans()),
    }
    return options
