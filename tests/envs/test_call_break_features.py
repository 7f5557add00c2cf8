"""What a seat sees in Call Break: every block against the snapshot, and nothing that it may not know."""

from __future__ import annotations

from typing import Any

import numpy as np
from call_break_reference import tenths
from call_break_table import CARDS, Table, bids, game_options, suits_deal
from hypothesis import given, settings
from hypothesis import strategies as st

from envs import loops
from envs.call_break import GAME, features, knowledge
from envs.cards import names_of
from envs.sampling import new_plan

PLAN = new_plan()
LAYOUT = features.layout(4)
PROSPECTS = {"takes", "masters", "seconds", "thirds"}
"""Blocks that tests/envs/test_prospects.py tests."""
FULL = features.state_layout(4)


def seen(state: Any, record: Any, seat: int) -> dict[str, list[str]]:
    out = np.full(LAYOUT.size, 7, np.uint8)
    assert features.features(state, record, seat, False, out, 0) == LAYOUT.size
    assert set(out.tolist()) <= {0, 1}
    return LAYOUT.decode(out)


def outlook(snapshot: dict[str, Any], live: list[int], seat: int) -> int:
    """Tenths that a seat gains where a call that can be made is, and nothing beyond it."""
    rules = snapshot["rules"]
    side = [seat, (seat + 2) % 4] if rules["partnerships"] else [seat]
    calls = [snapshot["bids"][other] for other in side]
    if snapshot["phase"] == "over" or None in calls or seat not in live:
        return 0
    won, rest = sum(snapshot["tricks"][other] for other in side), 13 - len(snapshot["played"])
    return tenths(rules, sum(calls), max(won, sum(calls)) if won + rest >= sum(calls) else won)


def expected(snapshot: dict[str, Any], state: Any, seat: int) -> dict[str, list[str]]:
    """All blocks, worked out from a snapshot (and the record's masks of what is barred)."""
    rules = snapshot["rules"]
    relative = [f"+{(other - seat) % 4}" for other in range(4)]
    trick = snapshot["trick"]
    tricks = [*snapshot["played"], trick]
    live = [other for other in range(4) if int(state["playing"]) >> other & 1]
    found: dict[str, list[str]] = {
        "hand": snapshot["hands"][seat],
        "trick": sorted((card for _, card in trick), key=CARDS.index),
        "led": [trick[0][1][1]] if trick else [],
        "trump": [snapshot["trump"]] if snapshot["trump"] else [],
        "surplus": [f"{max(-8, min(8, sum(bid or 0 for bid in snapshot['bids']) - 13)):+d}"],
        "redeals": [f">={i}" for i in range(1, snapshot["redeals"] + 1)],
        "dealer": [relative[snapshot["dealer"]]],
        "leader": [relative[snapshot["leader"]]],
        "claimer": [] if snapshot["claimer"] is None else [relative[snapshot["claimer"]]],
        "phase": [] if snapshot["phase"] == "over" else [snapshot["phase"]],
        "rounds_left": [f">={k}" for k in features.ROUNDS_LEFT if rules["rounds"] - 1 - snapshot["round"] >= k],
        "extra_round": ["extra round"] if snapshot["round"] == rules["rounds"] else [],
        "min_call": [str(rules["min_call"])],
        "max_call": [str(rules["max_call"])],
        "bonus_call": [] if rules["bonus_call"] is None else [str(rules["bonus_call"])],
        "must_beat": [rules["must_beat"]],
        "trumps": [rules["trump"]],
        "misdeal": [rules["misdeal"]],
    }
    total = rules["redeal_total"]
    thresholds = [k for k in features.REDEAL_TOTALS if total is not None and total >= k]
    found["redeal_total"] = ["on" if k == 0 else f">={k}" for k in thresholds]
    switches = {
        "undertrump free": rules["undertrump"] == "free",
        "spade lead free": rules["spade_lead"] == "free",
        "partnerships": rules["partnerships"],
        "extra round breaks a tie": rules["tie"] == "extra_round",
        "reward win": rules["reward"] == "win",
    }
    found["rules"] = [name for name, on in switches.items() if on]
    trumped = [card for _, card in trick if card[1] == snapshot["trump"]]
    running = trumped or [card for _, card in trick if card[1] == trick[0][1][1]]
    best = max(running, key=CARDS.index) if trick else None
    found["best"] = [best] if best else []
    found["winning"] = [relative[player] for player, card in trick if card == best]
    for other in range(4):
        bid, won = snapshot["bids"][other], snapshot["tricks"][other]
        at = relative[other]
        cards = [card for past in tricks for player, card in past if player == other]
        found[f"seen{at}"] = sorted(cards, key=CARDS.index)
        found[f"barred{at}"] = names_of(int(state["barred"][other]))
        found[f"bid{at}"] = [] if bid is None else [str(bid)]
        found[f"won{at}"] = [str(i) for i in range(1, won + 1)]
        found[f"needs{at}"] = [str(bid - won)] if bid is not None and bid >= won else []
        found[f"vote{at}"] = [snapshot["votes"][other]] if snapshot["votes"][other] else []
        found[f"out{at}"] = [] if other in live else ["sits out"]
        if other != seat:
            margin = snapshot["scores"][seat] - snapshot["scores"][other]
            found[f"margin{at}"] = [f">={k / 10:g}" for k in features.MARGINS if margin >= k]
            margin += outlook(snapshot, live, seat) - outlook(snapshot, live, other)
            found[f"outlook{at}"] = [f">={k / 10:g}" for k in features.MARGINS if margin >= k]
    for name, first in (("own_team", seat), ("other_team", (seat + 1) % 4)):
        pair = (first, (first + 2) % 4)
        needs = sum((snapshot["bids"][other] or 0) - snapshot["tricks"][other] for other in pair)
        found[name] = [f">={i}" for i in range(1, needs + 1)] if rules["partnerships"] else []
    return found


@given(game_options(), st.integers(0, 10**6), st.integers(0, 300))
@settings(max_examples=200)
def test_every_block(options: dict[str, Any], seed: int, moves: int) -> None:
    rules = GAME.make_rules(**options)
    record = rules.record()
    states = np.zeros(1, GAME.state)
    loops.start_games(states, record, seed)
    loops.random_moves(states, record, moves, seed)
    snapshot = GAME.fields.snapshot(states[0], rules)
    for seat in range(4):
        found = seen(states[0], record[0], seat)
        wanted = expected(snapshot, states[0], seat)
        for block in set(found) - PROSPECTS:
            assert found[block] == wanted[block], block
        assert set(found) == set(wanted) | PROSPECTS
        # What is seen is the same from a redacted record: it holds all that a seat may know.
        told = states.copy()
        knowledge.redact(told[0], record[0], seat)
        assert seen(told[0], record[0], seat) == found
        full = np.zeros(FULL.size, np.uint8)
        assert features.full_features(states[0], record[0], seat, True, full, 0) == FULL.size
        everything = FULL.decode(full)
        assert {block: everything[block] for block in found} == found
        for i in range(4):
            assert everything[f"holds+{i}"] == snapshot["hands"][(seat + i) % 4]


@given(game_options(), st.integers(0, 10**6), st.integers(0, 250))
@settings(max_examples=60)
def test_hidden_cards_do_not_show(options: dict[str, Any], seed: int, moves: int) -> None:
    """A seat is shown what it may know: states that it cannot tell apart look the same to it, mask included."""
    rules = GAME.make_rules(**options)
    record = rules.record()
    states = np.zeros(1, GAME.state)
    loops.start_games(states, record, seed)
    loops.random_moves(states, record, moves, seed)
    for seat in range(4):
        drawn = np.zeros(2, GAME.state)
        assert loops.sample_deals(states, record, seat, seed, PLAN, drawn)
        for one in drawn:
            assert seen(one, record[0], seat) == seen(states[0], record[0], seat)
            assert int(one["turn"]) == int(states[0]["turn"])
            if int(one["turn"]) == seat:
                assert GAME.engine.legal(one, record[0]) == GAME.engine.legal(states[0], record[0])


def test_the_number_of_features_is_fixed() -> None:
    assert features.layout(4, True) == LAYOUT
    assert LAYOUT.size == 1325
    assert FULL.size == LAYOUT.size + 4 * 52


def test_margins_and_teams_by_hand() -> None:
    position = {"dealer": 3, "scores": [41, 40, 41, -100], "hands": suits_deal()}
    table = Table(position, partnerships=True).do(*bids(3, 2, 4, 2), "2S")
    found = seen(table.state, table.record[0], 0)
    assert found["margin+1"] == [f">={k / 10:g}" for k in features.MARGINS if k <= 1]
    assert found["margin+2"][-1] == ">=0"
    assert found["margin+3"][-1] == ">=12.1"
    assert len(found["own_team"]) == 7
    assert len(found["other_team"]) == 4
    assert seen(table.state, table.record[0], 3)["own_team"] == found["other_team"]


def test_the_outlook_settles_calls_where_they_can_still_be_made() -> None:
    hands = [hand.split() for hand in ("AS KS 3D", "2S 3S 2D", "4S 5S 4D", "6S 7S 5D")]
    table = Table({"phase": "play", "leader": 0, "bids": [2, 2, 2, 3], "hands": hands, "scores": [0, 0, -5, 0]})

    def last() -> list[str]:
        found = seen(table.state, table.record[0], 0)
        return [found[f"outlook+{i}"][-1] for i in (1, 2, 3)]

    assert last() == [">=0", ">=0.5", ">=-2"]
    table.do("3D", "2D", "4D", "5D")  # seat 3 can still take three, the others two
    assert last() == [">=0", ">=0.5", ">=-2"]
    table.do("6S", "AS", "2S", "4S")  # seat 0 alone can still make its call
    assert last() == [">=3.1", ">=4.1", ">=4.1"]


def test_what_a_duty_shows() -> None:
    hands = ["JD 3S 2S", "2D KS QS", "3C 9C 2C", "QD JC TC"]
    position = {"hands": [hand.split() for hand in hands], "tricks": [1, 0, 0, 0], "leader": 0, "phase": "play"}
    table = Table(position).do("JD", "2D", "3C")
    found = seen(table.state, table.record[0], 3)
    assert found["barred+2"] == ["QD", "KD", "AD"]
    assert found["barred+3"] == [card for card in CARDS if card[1] in "SD"]
    assert found["barred+1"] == found["barred+0"] == []


def test_a_spade_led_first_shows_a_hand_of_spades() -> None:
    table = Table({"dealer": 3, "hands": suits_deal()}).do(*bids(2, 2, 2, 2), "5S")
    assert seen(table.state, table.record[0], 1)["barred+3"] == [card for card in CARDS if card[1] != "S"]
    free = Table({"dealer": 3, "hands": suits_deal()}, spade_lead="free").do(*bids(2, 2, 2, 2), "5S")
    assert seen(free.state, free.record[0], 1)["barred+3"] == []
