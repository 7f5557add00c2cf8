"""Bouts of Kaschlan set by hand, played by ``kaschlan_v0.raw_env`` and by the second reading of the rules in step."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from kaschlan_reference import PACK, PASS, Reference, resolve

from envs import kaschlan_v0

VECTORS = [
    vector
    for vector in json.loads((Path(__file__).parents[1] / "data" / "vectors.json").read_text())
    if vector["game"] == "kaschlan"
]
CHOICES: dict[str, tuple[Any, ...]] = {
    "trump_card": ("bottom", "top"),
    "kutscher_opens_rank": (False, True),
    "pickup": ("unbeaten", "all"),
    "must_beat": (False, True),
    "attacker_out": ("predecessor", "defender_attacks"),
    "payoff": ("loser", "places"),
}
"""All values of the options that have few."""


def cases(kind: str) -> Any:
    """Parametrize a test by the worked positions of a kind."""
    found = [vector for vector in VECTORS if vector["kind"] == kind]
    assert found, kind
    return pytest.mark.parametrize("vector", found, ids=[vector["id"] for vector in found])


@st.composite
def game_options(draw: Any) -> dict[str, Any]:
    """Options of any game."""
    options = {name: draw(st.sampled_from(values)) for name, values in CHOICES.items()}
    return options | {
        "num_players": draw(st.integers(2, 5)),
        "max_bouts": draw(st.one_of(st.just(100), st.integers(1, 8))),
    }


def names(env: Any, agent: str) -> list[str]:
    """Names of the actions in the mask that an agent sees."""
    return [env.action_name(action) for action in np.flatnonzero(env.observe(agent)["action_mask"]).tolist()]


def agree(env: Any, reference: Reference) -> None:
    """The environment and the second reading are in the same position and tell the players the same."""
    snapshot, expected = env.snapshot(), reference.snapshot()
    assert {key: snapshot[key] for key in expected} == expected
    assert set(snapshot) == set(expected) | {"game", "rules"}
    for seat, agent in enumerate(env.possible_agents):
        assert sorted(names(env, agent)) == sorted(reference.legal() if seat == reference.turn else [])
    over, cut = reference.finished, reference.truncated
    assert list(env.terminations.values()) == [over and not cut] * reference.seats
    assert list(env.truncations.values()) == [over and cut] * reference.seats
    rewards = [float(reward) for reward in reference.payoffs()] if over else [0.0] * reference.seats
    assert list(env.rewards.values()) == pytest.approx(rewards, abs=1e-6)
    if not over:
        assert env.agent_selection == f"player_{reference.turn}"
    assert env.history == reference.history


class Table:
    """A game from given cards at both; every move is made in both, and they must stay equal.

    Args:
        hands: cards of each seat, as in ``"8D 8S"``; no cards for a seat that is out.
        stock: cards not yet drawn, the next one first.
        trump: suit of trump; None where `turned` tells.
        turned: card turned up.
        attacker: who attacks; the next seat in the game defends.
        out: seats that have left; the others without cards if None.
        bout: number of the bout.
        options: of the rules; a game of the seats' number.
    """

    def __init__(
        self,
        hands: Sequence[str],
        stock: str = "",
        trump: str | None = "H",
        turned: str | None = None,
        attacker: int = 0,
        out: Sequence[int] | None = None,
        bout: int = 0,
        **options: Any,
    ) -> None:
        cards = [hand.split() for hand in hands]
        self.seats = len(cards)
        left = [seat for seat in range(self.seats) if not cards[seat]] if out is None else list(out)
        dealer = (attacker - 1) % self.seats
        position: dict[str, Any] = {
            "hands": cards,
            "stock": stock.split(),
            "dealer": dealer,
            "attacker": attacker,
            "out": left,
            "bout": bout,
        }
        position |= {"turned": turned} if turned else {}
        position |= {"trump": trump} if trump and not turned else {}
        self.env = kaschlan_v0.raw_env(num_players=self.seats, **options)
        self.env.reset(seed=7, options={"position": position})
        self.reference = Reference(
            resolve(num_players=self.seats, **options),
            cards,
            stock.split(),
            turned,
            dealer,
            trump=None if turned else trump,
            attacker=attacker,
            out=left,
            bout=bout,
        )
        agree(self.env, self.reference)

    @property
    def snapshot(self) -> dict[str, Any]:
        return self.env.snapshot()

    def __getattr__(self, key: str) -> Any:
        """A value of the snapshot."""
        return self.env.snapshot()[key]

    @property
    def roles(self) -> list[int]:
        return [self.attacker, self.defender]

    @property
    def lying(self) -> list[str]:
        """Cards on the table that are to be beaten, in the order in which they were laid."""
        return [card for card, _, _ in self.table]

    @property
    def rewards(self) -> list[float]:
        return list(self.env.rewards.values())

    @property
    def legal(self) -> set[str]:
        """Names of the legal actions of the seat to act."""
        return set(names(self.env, self.env.agent_selection))

    def holds(self, seat: int) -> set[str]:
        return set(self.hands[seat])

    @property
    def gone(self) -> set[str]:
        """Cards that are nowhere."""
        there = {card for hand in self.hands for card in hand} | set(self.stock)
        there |= {card for entry in self.table for card in entry[:2] if card}
        return set(PACK) - there

    def do(self, *moves: str) -> Table:
        """Make moves, each legal; ``"2:8H"`` says that seat 2 makes it, several in one string that they follow."""
        for move in (one for several in moves for one in several.split()):
            seat, _, name = move.rpartition(":")
            assert seat in ("", str(self.turn)), f"{move}, but seat {self.turn} is to act in phase {self.phase}"
            assert name in self.legal, f"{move} by seat {self.turn} in phase {self.phase}: {self.legal}"
            self.reference.do(name)
            self.env.step(self.env.action_id(name))
            agree(self.env, self.reference)
        return self

    def passes(self, phase: str = "") -> Table:
        """Pass until a phase is reached, or the bout is over."""
        bout = self.bout
        while not self.finished and self.phase != phase and self.bout == bout:
            self.do(PASS)
        return self

    def asked(self) -> list[tuple[str, int | None]]:
        """Who is asked in which phase while everybody passes to the end of the bout."""
        bout, found = self.bout, []
        while not self.finished and self.bout == bout:
            found.append((self.phase, self.turn))
            self.do(PASS)
        return found

    def refuses(self, *moves: str) -> None:
        """Neither mask nor environment take these moves, and the game goes on unchanged."""
        for name in moves:
            assert name not in self.legal
            with pytest.raises(ValueError, match=f"{name}.* of seat {self.turn} is illegal"):
                self.env.step(self.env.action_id(name))
            agree(self.env, self.reference)

    def follow(self, script: Sequence[str]) -> Table:
        """Play a script of LAY, THROW, SELF, BEAT, PASS and TAKE to the bout's end; passes left out are made."""
        bout = self.bout
        for line in script:
            kind, *words = line.split()
            if kind == "TAKE":
                continue
            if kind == "LAY":
                self.do(*words[0].replace("+", " ").replace("|", " ").split())
            elif kind == "PASS":
                self.do(PASS)
            elif kind == "THROW":
                self._pass_until(lambda seat=words[0]: self.phase == "throw" and self.turn == int(seat))
                self.do(words[1])
            elif kind == "SELF":
                self._pass_until(lambda: self.phase == "throw_own")
                self.do(words[0])
            else:
                assert kind == "BEAT"
                self._pass_until(
                    lambda card=words[0]: self.phase == "beat" and self.table[self.answered][0] == card  # type: ignore[misc]
                )
                self.do(words[1])
        while not self.finished and self.bout == bout:
            self.do(PASS)
        return self

    def _pass_until(self, reached: Any) -> None:
        while not reached():
            self.do(PASS)


HANDS = [["8D", "8S", "KH", "9C"], ["9D", "9S", "9H", "7C", "QC"], ["8C", "7D"], ["8H", "7H"]]
LAID: list[Any] = [["8D", None, 0], ["8S", None, 0]]
"""Two eights that seat 0 has laid."""


def bout(table: list[Any] = LAID, **more: Any) -> dict[str, Any]:
    """A position of a bout of seat 0 against seat 1 with no stock; what lies on the table is in no hand."""
    lying = {card for entry in table for card in entry[:2]}
    hands = [[card for card in hand if card not in lying] for hand in HANDS]
    position = {"hands": hands, "stock": [], "trump": "H", "attacker": 0, "table": table}
    return {key: value for key, value in (position | more).items() if value != "missing"}
