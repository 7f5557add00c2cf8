"""Positions that no game of Kaschlan can reach: each is refused with an error that names the key."""

from __future__ import annotations

from typing import Any

import pytest
from kaschlan_reference import PACK
from kaschlan_table import HANDS, LAID, bout
from playing import face

from envs import kaschlan_v0

IMPOSSIBLE: list[tuple[dict[str, Any], str]] = [
    ({"stok": []}, "position has no key 'stok'.*did you mean 'stock'"),
    ({"bids": [0] * 4}, "position has no key 'bids'"),
    ({"game": "kachuful"}, "position game"),
    ({"rules": {"num_players": 3}}, "position rules"),
    # Cards.
    ({"hands": [["AS", "AS"], None, None, None]}, r"position hands\[0\]"),
    ({"hands": [["AS"], ["AS"], None, None]}, r"position hands\[1\]"),
    ({"hands": [["2S"], None, None, None]}, r"position hands\[0\]\[0\]='2S'"),
    ({"hands": [["AS"], None, None]}, "position hands"),
    ({"hands": "AS"}, "position hands"),
    ({"stock": ["AS", "AS"]}, r"position stock\[1\]|position stock"),
    ({"stock": ["6S"]}, r"position stock\[0\]"),
    (bout([], stock=["8D"]), "position (stock|hands)"),
    (bout(hands=HANDS), "position (table|hands)"),
    (bout([["8D", "9D", 0], ["8D", None, 0]]), "position table"),
    ({"stock": PACK[:20], "hands": [None] * 4}, "position (hands|stock)"),
    ({"stock": PACK[:12], "hands": [None] * 4, "turned": "AH"}, "position (turned|stock|hands)"),
    ({"turned": "1D"}, "position turned"),
    ({"turned": "9D", "trump": "S"}, "position (trump|turned)"),
    ({"trump": "N"}, "position trump"),
    ({"turned": "9D", "stock": ["AS", "9D", "KS"]}, "position (turned|stock)"),
    ({"turned": "9D", "stock": ["9D", "KS"], "hands": [["7S"], ["8S"], ["9S"], ["TS"]]}, "position (turned|stock)"),
    (
        {"turned": "9D", "stock": ["AS", "KS"], "hands": [["9D"], ["8S"], ["9S"], ["TS"]]},
        "position (turned|hands|stock)",
    ),
    # Seats and roles.
    ({"dealer": 4}, "position dealer=4"),
    ({"attacker": -1}, "position attacker"),
    ({"attacker": 1, "defender": 1}, "position (attacker|defender)"),
    ({"attacker": 0, "defender": 2}, "position (attacker|defender)"),
    (bout([], out=[2]), "position (out|hands)"),
    (bout([], out=[2, 2]), "position out"),
    (bout([], hands=[[], *HANDS[1:]]), "position (attacker|out|hands)"),
    (bout([], hands=[HANDS[0], [], *HANDS[2:]], defender=1), "position (defender|out|hands)"),
    (bout([], hands=[*HANDS[:2], [], HANDS[3]], out=[]), "position (out|hands)"),
    (bout([], hands=[*HANDS[:3], []], stock=["AS"], out=[3]), "position (out|stock|hands)"),
    (bout([], hands=[HANDS[0], [], [], []], finished=False), "position finished"),
    (bout([], hands=[HANDS[0], [], [], []], phase="lay"), "position phase"),
    (bout([["8D", None, 0]], hands=[[], *HANDS[1:]], out=[0], phase="lay"), "position (phase|turn|out|hands)"),
    (bout([["8D", None, 0]], hands=[[], *HANDS[1:]], out=[0], turn=0), "position (phase|turn|out|hands)"),
    (bout([["8D", None, 0]], hands=[[], *HANDS[1:]], out=[], phase="throw"), "position (phase|turn|out|hands)"),
    (bout([["8D", None, 0]], hands=[[], *HANDS[1:]], out=[], turn=2), "position (phase|turn|out|hands)"),
    (
        bout([["8D", None, 0]], hands=[[], *HANDS[1:]], stock=["AS"], phase="throw"),  # who has drawn holds cards
        "position (phase|turn|out|hands|stock)",
    ),
    (
        bout([*LAID, ["8C", None, 2]], hands=[["KH"], HANDS[1], [], HANDS[3]], out=[2], turn=2),
        "position (phase|turn|out|hands)",
    ),
    (
        bout([*LAID, ["8C", None, 2]], hands=[["KH"], HANDS[1], [], HANDS[3]], out=[], turn=3),
        "position (phase|turn|out|hands)",
    ),
    (
        bout([*LAID, ["8C", None, 2]], hands=[[], HANDS[1], [], HANDS[3]], out=[2, 0], turn=3),
        "position (phase|turn|out|hands)",
    ),
    # Phase and turn.
    ({"phase": "bid"}, "position phase"),
    ({"phase": "throw"}, "position (phase|table)"),
    ({"phase": "beat"}, "position (phase|table)"),
    ({"phase": "lay", "turn": 2, "attacker": 0}, "position (turn|phase|attacker)"),
    (bout(phase="throw", turn=1), "position (turn|phase)"),
    (bout(phase="throw", turn=0), "position (turn|phase)"),
    (bout(phase="beat", turn=2), "position (turn|phase)"),
    (bout(phase="lay", answered=1), "position (phase|answered)"),
    (bout([*LAID, ["8C", None, 2]], phase="lay"), "position (phase|table)"),
    (bout([*LAID, ["8H", None, 3]], turn=2), "position (turn|phase|table)"),
    (bout(phase="throw", hands=[["KH"], ["9D", "9S"], ["8C"], ["8H"]]), "position (phase|turn)"),
    (bout(phase="lay", hands=[["KH"], ["9D", "9S"], ["8C"], ["8H"]]), "position (phase|turn)"),
    (bout(phase="throw_own", hands=[["KH"], ["9D", "9S"], ["8C"], ["8H"]]), "position (phase|turn)"),
    # The table.
    (bout(hands=[["KH"], ["9D"], ["8C"], ["8H"]]), "position (table|hands)"),
    (
        bout(
            [[card, None, 0] for card in ("8D", "8S", "8C", "8H", "KH")] + [["KS", None, 0]],
            hands=[["7D"], ["9D", "9S", "9H", "7C", "QC", "TC"], ["7S"], ["7H"]],
        ),
        "position table",
    ),
    (bout([["8D", None, 0], ["9C", None, 0]]), "position (table|kutscher)"),
    (bout([*LAID, ["KH", None, 0], ["9C", None, 0]]), "position (table|kutscher)"),
    (bout([["8D", None, 0], ["KH", None, 0], ["8S", None, 0]]), "position (table|kutscher)"),
    (bout([*LAID, ["7D", None, 2]]), "position table"),
    (bout([["8C", None, 2]]), "position table"),
    (bout([["8D", None, 0], ["8C", None, 2], ["8S", None, 0]]), "position table"),
    (bout([["8D", None, 0], ["8H", None, 3], ["8C", None, 2]]), "position table"),
    (bout([["8D", None, 4]]), r"position table\[0\]"),
    (bout([["8D", None]]), r"position table\[0\]"),
    (bout([["8D", "7C", 0], ["8S", None, 0]]), "position table"),
    (bout([["8D", "9S", 0], ["8S", None, 0]]), "position table"),
    (bout([["8D", "9D", 0], ["8S", "9S", 0]]), "position (table|answered)"),
    (bout([["8D", "9D", 0], ["8S", None, 0]], answered=0), "position (answered|table)"),
    (bout([["8D", "9D", 0], ["8S", None, 0]], answered=2), "position answered"),
    (bout(answered=3), "position answered"),
    (bout(rank="9"), "position rank"),
    (bout(rank=None), "position rank"),
    (bout([], rank="8"), "position rank"),
    (bout(rank="5"), "position rank"),
    (bout(kutscher="KH"), "position kutscher"),
    (bout(kutscher="8S"), "position kutscher"),
    (bout([*LAID, ["KH", None, 0]], kutscher=None), "position kutscher"),
    (bout([*LAID, ["KH", None, 0]], kutscher="9C"), "position kutscher"),
    # The rest.
    (bout([], known=[["9D"], [], [], []]), "position known"),
    (bout([], known=[["AS"], [], [], []]), "position known"),
    (bout([], known=[[], [], []]), "position known"),
    ({"bout": -1}, "position bout"),
    ({"bout": 100}, "position bout"),
    ({"round": 1}, "position round"),
    ({"scores": [0, 1, 0, 0]}, "position scores"),
    ({"finished": 1}, "position finished"),
    ({"phase": "over", "finished": False}, "position finished"),
    ({"phase": "lay", "finished": True}, "position phase"),
]


@pytest.mark.parametrize(("position", "message"), IMPOSSIBLE, ids=[str(i) for i in range(len(IMPOSSIBLE))])
def test_impossible_positions(position: dict[str, Any], message: str) -> None:
    env = kaschlan_v0.raw_env()
    env.reset(seed=3)
    before = face(env), env.snapshot()
    with pytest.raises(ValueError, match=message) as error:
        env.reset(seed=4, options={"position": position})
    assert "\n" not in str(error.value)
    assert (face(env), env.snapshot()) == before


def snapshot_of(position: dict[str, Any], **rules: Any) -> dict[str, Any]:
    env = kaschlan_v0.raw_env(**rules)
    env.reset(seed=1, options={"position": position})
    return env.snapshot()


def test_must_beat_leaves_no_card_that_could_be_beaten() -> None:
    """Under ``must_beat=True`` a card lies unanswered only where no card in hand beats it."""
    with pytest.raises(ValueError, match=r"position (table|answered)"):
        snapshot_of(bout(answered=1), must_beat=True)
    left = bout([["8D", None, 0], ["8S", None, 0]], hands=[["KH"], ["7D", "7C", "9S"], ["8C"], ["TH"]], answered=1)
    assert snapshot_of(left, must_beat=True)["answered"] == 1


def test_a_card_of_the_kutschers_rank_lies_only_where_it_may() -> None:
    """``kutscher_opens_rank=True`` and ``kutscher_opens_rank=False``."""
    table = [["8D", None, 0], ["8S", None, 0], ["KH", None, 0], ["KS", None, 2]]
    position = bout(table, hands=[["9C"], HANDS[1], ["7D"], ["7H"]])
    assert snapshot_of(position, kutscher_opens_rank=True)["kutscher"] == "KH"
    with pytest.raises(ValueError, match="position table"):
        snapshot_of(position)
