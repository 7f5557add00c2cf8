"""Call Break: positions, whole, in part and impossible, under any rules."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from call_break_reference import is_misdeal, resolve
from call_break_table import CARDS, game_options, suits_deal
from hypothesis import given, settings
from hypothesis import strategies as st
from moments import check_parts
from scipy.stats import chisquare

from envs import call_break_v0, loops
from envs.call_break import GAME, features

POSITIONS = {"options": game_options(2), "seed": st.integers(0, 10**6), "moves": st.integers(0, 250)}


def set_up(position: dict[str, Any], seed: int = 5, dealer: int | None = None, **rules: Any) -> dict[str, Any]:
    env = call_break_v0.raw_env(**rules)
    env.reset(seed=seed, options={"position": position, "dealer": dealer})
    return env.snapshot()


def placed(rules: Any, position: dict[str, Any], seed: int) -> np.ndarray:
    states = np.zeros(1, GAME.state)
    GAME.fields.set_position(states, rules, position, seed)
    return states


def after(rules: Any, seed: int, moves: int) -> np.ndarray:
    """A random game after some moves."""
    states = np.zeros(1, GAME.state)
    loops.start_games(states, rules.record(), seed)
    loops.random_moves(states, rules.record(), moves, seed)
    return states


def seen(states: np.ndarray, rules: Any) -> list[bytes]:
    found = []
    for seat in range(4):
        out = np.zeros(features.layout(4).size, np.uint8)
        features.features(states[0], rules.record()[0], seat, False, out, 0)
        found.append(out.tobytes())
    return found


@given(**POSITIONS)
@settings(max_examples=100)
def test_snapshots_fed_back(options: dict[str, Any], seed: int, moves: int) -> None:
    """An equal snapshot and equal observations for every seat, at every phase, extra rounds included."""
    rules = GAME.make_rules(**options)
    states = after(rules, seed, moves)
    for _ in range(40):
        snapshot = GAME.fields.snapshot(states[0], rules)
        again = placed(rules, snapshot, seed + 1)
        assert GAME.fields.snapshot(again[0], rules) == snapshot
        assert seen(again, rules) == seen(states, rules)
        states["turn"], states["finished"] = -1, 1  # what an illegal action does
        aborted = GAME.fields.snapshot(states[0], rules)
        assert GAME.fields.snapshot(placed(rules, aborted, seed + 1)[0], rules) == aborted
        states = again
        states["seed"] = seed
        flags = loops.advance(states[0], rules.record()[0], loops.random_action(states[0], rules.record()[0]))
        if flags & 2:
            snapshot = GAME.fields.snapshot(states[0], rules)
            again = placed(rules, snapshot, seed + 1)
            assert GAME.fields.snapshot(again[0], rules) == snapshot
            assert seen(again, rules) == seen(states, rules)
            return
        if flags:
            loops.settle(states[0], rules.record()[0], flags)


@given(**POSITIONS)
@settings(max_examples=80)
def test_parts_of_a_snapshot(options: dict[str, Any], seed: int, moves: int) -> None:
    """A part fits, and then all it says holds in a game that can be played on, or is refused by the name of a key."""
    rules = GAME.make_rules(**options)
    snapshot = GAME.fields.snapshot(after(rules, seed, moves)[0], rules)
    check_parts(GAME, rules, snapshot, seed, play_out)


def play_out(states: np.ndarray, rules: Any) -> None:
    """Play the round to its end at random."""
    record = rules.record()[0]
    for _ in range(1000):
        if int(states[0]["turn"]) < 0:
            return
        if loops.advance(states[0], record, loops.random_action(states[0], record)):
            assert int(states[0]["tricks"].sum()) == int(states[0]["hand_size"])
            return
    raise AssertionError("the round does not end")


LED = [[0, "5H"], [1, "6H"], [2, "3H"], [3, "4H"]]
VOID = [card for card in CARDS if card[1] in "DC"][:13]


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        ({}, {"phase": "bid", "round": 0, "scores": [0] * 4, "trump": "S", "turned": None, "hand_size": 13}),
        ({"dealer": 2}, {"turn": 3, "leader": 3, "bids": [None] * 4, "votes": [None] * 4, "claimer": None}),
        ({"bids": [None, 3, 4, None], "dealer": 0}, {"turn": 3, "leader": 1}),
        ({"bids": [None, 3, 4, None]}, {"turn": 3, "dealer": 0}),
        ({"phase": "play", "turn": 3}, {"dealer": 2, "bids": [2, 2, 2, 2], "leader": 3}),
        ({"bids": [1 + 1, 2, 3, 2], "dealer": 3}, {"phase": "play", "turn": 0}),
        ({"hands": [["AS", "KS"], None, None, None]}, {"hand_size": 2, "phase": "bid"}),
        ({"scores": [5, -70, 0, 1000], "round": 3}, {"scores": [5, -70, 0, 1000], "round": 3}),
        ({"round": 2}, {"redeals": 0}),
        (
            {"hands": [None, ["2H", "AH", "KS"], None, None], "trick": [[0, "5H"]]},
            {"hand_size": 3, "dealer": 3, "turn": 1, "phase": "play", "leader": 0, "bids": [2, 2, 2, 2], "played": []},
        ),
        ({"played": [LED], "hand_size": 4}, {"dealer": 3, "turn": 1, "leader": 1, "tricks": [0, 1, 0, 0]}),
        (
            {"hands": [["AS"], None, None, None], "tricks": [2, 0, 1, 0], "dealer": 3},
            {"hand_size": 4, "played": [None, None, None], "leader": 0, "turn": 0, "phase": "play"},
        ),
        ({"tricks": [1, 1, 0, 0], "leader": 1}, {"leader": 1, "turn": 1}),
        ({"finished": True}, {"phase": "over", "turn": None, "finished": True}),
        ({"round": 5}, {"bids": [None] * 4, "phase": "bid"}),
        ({"round": 5, "scores": [9, 9, 0, -50], "dealer": 2}, {"turn": 0}),
        ({"round": 5, "scores": [9, 9, 0, -50], "dealer": 0, "bids": [None, 4, None, None]}, {"turn": 0, "leader": 1}),
        (
            {"round": 5, "scores": [9, 0, 9, 9], "trick": [[2, "5H"]], "hand_size": 2},
            {"turn": 3, "leader": 2, "bids": [2, None, 2, 2]},
        ),
    ],
)
def test_partial_positions(position: dict[str, Any], expected: dict[str, Any]) -> None:
    snapshot = set_up(position)
    assert {key: snapshot[key] for key in expected} == expected
    for key, value in position.items():
        if key == "hands":
            assert all(set(hand) == set(there) for hand, there in zip(value, snapshot[key], strict=True) if hand)
        else:
            assert snapshot[key] == value
    cards = [card for hand in snapshot["hands"] for card in hand]
    cards += [card for trick in [*snapshot["played"], snapshot["trick"]] for _, card in trick or []]
    assert len(set(cards)) == len(cards)


def test_an_empty_position_is_the_seeds_own_game() -> None:
    """Also where its first deal is a misdeal that is dealt again."""
    for misdeal in ("off", "auto", "vote"):
        for seed in range(60):
            env = call_break_v0.raw_env(misdeal=misdeal)
            env.reset(seed=seed)
            plain = env.snapshot()
            env.reset(seed=seed, options={"position": {"dealer": plain["dealer"]}})
            assert env.snapshot() == plain


def test_votes() -> None:
    """Votes, a claimer, or a later phase; what is left out follows."""
    vote = {"misdeal": "vote"}
    claims = {"dealer": 3, "hands": [None, VOID, None, None]}
    assert set_up({"dealer": 3}, **vote)["phase"] == "misdeal"
    assert set_up({"dealer": 3, "phase": "bid"}, **vote)["votes"] == ["pass"] * 4
    assert set_up({"dealer": 3, "bids": [2, None, None, None]}, **vote)["votes"] == ["pass"] * 4
    found = set_up({"dealer": 3, "votes": ["pass", "pass", None, None]}, **vote)
    assert (found["phase"], found["turn"]) == ("misdeal", 2)
    assert set_up({"votes": [None, "pass", None, None]}, **vote)["dealer"] == 0
    found = set_up(claims | {"claimer": 1}, **vote)
    assert (found["votes"], found["turn"], found["phase"]) == (["pass", "claim", None, None], 2, "misdeal")
    found = set_up(claims | {"claimer": 1, "phase": "bid"}, **vote)
    assert found["votes"] == ["pass", "claim", "refuse", None]
    found = set_up(claims | {"votes": ["pass", "claim", "agree", "agree"]}, **vote)
    assert (found["turn"], found["phase"]) == (0, "misdeal")


def test_play_after_a_low_total_follows_ten_redeals() -> None:
    assert set_up({"phase": "play"}, redeal_total=9)["redeals"] == 10
    assert set_up({"bids": [2, 2, 2, 3]}, redeal_total=9)["redeals"] == 10
    assert set_up({"bids": [2, 2, 3, 3]}, redeal_total=9)["redeals"] == 0


def test_a_claimers_missing_hand_is_a_misdeal() -> None:
    """Uniform over the misdeals: without spades as trump one of four suits, otherwise a hand without a spade."""
    found = Counter()
    for seed in range(300):
        snapshot = set_up({"dealer": 3, "claimer": 0}, seed, misdeal="vote", trump="none")
        assert is_misdeal(resolve(trump="none"), snapshot["hands"][0])
        found[snapshot["hands"][0][0][1]] += 1
    assert set(found) == set("SDCH")
    assert chisquare(list(found.values())).pvalue > 1e-3
    for seed in range(30):
        snapshot = set_up({"dealer": 3, "claimer": 0}, seed, misdeal="vote")
        assert is_misdeal(resolve(), snapshot["hands"][0])


def test_missing_hands_respect_the_duties_shown() -> None:
    """Whoever followed low has no higher card; whoever discarded has no trump."""
    played = [[[0, "JH"], [1, "2H"], [2, "3D"], [3, "QH"]]]
    for seed in range(30):
        snapshot = set_up({"played": played, "hand_size": 6}, seed=seed)
        assert not set(snapshot["hands"][1]) & {"QH", "KH", "AH"}
        assert not any(card[1] in "SH" for card in snapshot["hands"][2])


def test_no_misdeal_is_dealt_to_missing_hands_under_auto() -> None:
    rich = [card for card in CARDS if card[1] == "S"][:10]
    for seed in range(30):
        position = {"hands": [[*rich, "2H", "3H", "4H"], None, None, None], "dealer": 0}
        snapshot = set_up(position, seed, misdeal="auto")
        spades = sorted(sum(card[1] == "S" for card in hand) for hand in snapshot["hands"])
        assert spades == [1, 1, 1, 10]


def test_dealer_option_and_position() -> None:
    assert set_up({"hand_size": 4}, dealer=2)["dealer"] == 2
    with pytest.raises(ValueError, match="position dealer: it is 1, but option dealer says 2"):
        set_up({"dealer": 1}, dealer=2)


ERRORS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"bid": [1, 1, 1, 1]}, {}, "has no key 'bid'; did you mean 'bids'"),
    ({"game": "bridge"}, {}, "game='bridge' is not possible: game must be 'call_break'"),
    ({"rules": {"rounds": 7}}, {}, "rules: option rounds is 7, but in this environment 5"),
    ({"round": 6}, {}, r"round: 6 is beyond the last round of the game, 5 \(the extra round\)"),
    ({"round": 5}, {"tie": "shared"}, "round: 5 is beyond the last round of the game, 4"),
    ({"dealer": 4}, {}, "dealer=4"),
    ({"phase": "bidding"}, {}, "phase='bidding' is not possible: phase must be 'over', 'misdeal', 'bid' or 'play'"),
    ({"phase": "misdeal"}, {}, "phase: 'misdeal' does not fit"),
    ({"turn": 2, "dealer": 2}, {}, "turn: 2 does not fit the rest of the position, by which it is 3"),
    ({"hands": [["AS", "AS"], None, None, None]}, {}, r"hands\[0\]\[1\]: AS is there twice"),
    ({"hands": [["AS"], ["AS"], None, None]}, {}, r"hands\[1\]: AS is also in hands\[0\]"),
    ({"hands": [["AS"], ["KS", "QS"], None, None]}, {}, "hands: held and played cards .* not seat 0 1, seat 1 2"),
    ({"hand_size": 14}, {}, "hand_size: 14 cards a seat; it must be 1 to 13"),
    ({"trump": "D"}, {}, "trump: 'D' does not fit"),
    ({"trump": "S"}, {"trump": "none"}, "trump: 'S' does not fit"),
    ({"trump": "D"}, {"trump": "first_lead"}, "trump: 'D' does not fit .* by which it is None"),
    ({"trick": [[0, "5H"]], "trump": "D"}, {"trump": "first_lead"}, "trump: 'D' does not fit .* by which it is 'H'"),
    ({"tricks": [1, 0, 0, 0]}, {"trump": "first_lead"}, "trump: it is needed where the first lead is unknown"),
    ({"turned": "AS"}, {}, "turned: 'AS' does not fit"),
    ({"bids": [14, None, None, None]}, {}, r"bids\[0\]=14"),
    ({"dealer": 3, "bids": [1, None, None, None]}, {}, "bids: seat 0 cannot have called 1, only 2 to 13"),
    ({"dealer": 3, "bids": [None, 2, None, None]}, {}, "bids: seat 1 cannot have called before seat 0"),
    ({"dealer": 3, "bids": [2, 2, 2, 2], "redeals": 9}, {"redeal_total": 9}, "bids: calls that sum to 8 are dealt"),
    ({"bids": [2, None, 2, 2], "trick": [[0, "AH"]]}, {}, "bids: play has begun, so seat 1 must have called"),
    ({"redeals": 1}, {}, "redeals: these rules deal no low total of calls again in this round"),
    ({"redeals": 11}, {"redeal_total": 9}, "redeals=11"),
    ({"played": [LED], "tricks": [1, 0, 0, 0], "hand_size": 4}, {}, r"tricks: \[1, 0, 0, 0\] does not fit the rest"),
    ({"played": [LED], "hand_size": 1}, {}, "played: all 1 tricks are finished, but the game goes on"),
    (
        {"trick": [[0, "5H"], [1, "2H"]], "hands": [None, ["6H"], None, None]},
        {},
        r"trick\[1\]: seat 1 cannot have played 2H, it had to play 6H",
    ),
    (
        {"trick": [[0, "5S"]], "hands": [["6H"], None, None, None]},
        {},
        r"trick\[0\]: seat 0 cannot have played 5S, it had to play 6H",
    ),
    ({"trick": [[0, "5H"], [2, "6H"]]}, {}, r"trick\[1\]: seat 2 played out of turn, it was seat 1's"),
    ({"claimer": 0}, {}, "claimer: 0 does not fit"),
    ({"votes": ["pass"] * 4}, {}, "votes: .* does not fit"),
    ({"votes": ["yes"] * 4}, {"misdeal": "vote"}, r"votes\[0\]='yes'"),
    ({"dealer": 3, "votes": ["agree", None, None, None]}, {"misdeal": "vote"}, "votes: seat 0 has voted 'agree'"),
    (
        {"dealer": 3, "claimer": 1, "hands": [None, CARDS[::4], None, None]},
        {"misdeal": "vote"},
        "claimer: seat 1 cannot have claimed a misdeal",
    ),
    (
        {"dealer": 3, "votes": ["agree", "claim", "agree", "agree"], "hands": [None, VOID, None, None]},
        {"misdeal": "vote"},
        "votes: all have agreed to a misdeal",
    ),
    (
        {"dealer": 3, "phase": "misdeal", "bids": [2, None, None, None], "votes": [None] * 4},
        {"misdeal": "vote"},
        "bids: seat 0 cannot have called, the vote on a misdeal is still going on",
    ),
    ({"hands": suits_deal()}, {"misdeal": "auto"}, r"hands\[0\]: it was dealt as a misdeal"),
    ({"hands": [None, VOID, None, None]}, {"misdeal": "auto"}, r"hands\[1\]: it was dealt as a misdeal"),
    ({"round": 5, "scores": [10, 0, 0, 0]}, {}, "scores: an extra round is played by at least two seats tied"),
    ({"round": 5, "hands": [[], None, None, None]}, {}, "scores: an extra round is played by those tied at the top"),
    ({"round": 5, "scores": [9, 9, 0, 0], "hands": [None, None, ["AS"], None]}, {}, r"hands\[2\]: seat 2 sits out"),
    ({"round": 5, "scores": [9, 9, 0, 0], "bids": [None, None, 3, None]}, {}, r"bids\[2\]: seat 2 sits out"),
    ({"round": 5, "scores": [9, 0, 9, 0]}, {"partnerships": True}, "scores: an extra round is played by those tied"),
]


@pytest.mark.parametrize(("position", "rules", "message"), ERRORS)
def test_impossible_positions(position: dict[str, Any], rules: dict[str, Any], message: str) -> None:
    """One clear line that names the key; the running game goes on."""
    env = call_break_v0.raw_env(**rules)
    env.reset(seed=1)
    before = env.snapshot()
    with pytest.raises(ValueError, match=f"^position {message}") as error:
        env.reset(seed=2, options={"position": position})
    assert "\n" not in str(error.value)
    assert env.snapshot() == before


def test_a_tie_cannot_be_the_end() -> None:
    """A finished last round with a tie is no end: an extra round follows."""
    env = call_break_v0.raw_env(rounds=1, tie="shared")
    env.reset(seed=1)
    hands = suits_deal()
    env.reset(options={"position": {"dealer": 3, "hands": hands, "scores": [0, 0, 0, 0]}})
    for name in ("bid 5", "bid 2", "bid 2", "bid 2"):
        env.step(env.action_id(name))
    while env.snapshot()["turn"] is not None:
        env.step(int(np.flatnonzero(env.observe(env.agent_selection)["action_mask"])[0]))
    over = env.snapshot() | {"scores": [50, 50, 0, 0]}
    del over["rules"]
    assert set_up(over, rounds=1, tie="shared")["finished"]
    with pytest.raises(ValueError, match="position played: all 13 tricks are finished, but the tie goes on"):
        set_up(over, rounds=1)


def test_an_unknown_play_is_scored_at_the_end() -> None:
    """Tricks of unknown cards count for those who won them, also in the round's points and in an extra round."""
    position = {
        "round": 1,
        "dealer": 3,
        "scores": [50, 50, 0, 0],
        "bids": [3, 3, None, None],
        "tricks": [2, 1, 0, 0],
        "hands": [["AS"], ["KS"], [], []],
        "leader": 0,
    }
    env = call_break_v0.raw_env(rounds=1)
    env.reset(seed=1, options={"position": position})
    env.step(env.action_id("AS"))
    env.step(env.action_id("KS"))
    over = env.snapshot()
    assert over["scores"] == [80, 20, 0, 0]
    other = call_break_v0.raw_env(rounds=1)
    other.reset(seed=2, options={"position": over})
    assert other.snapshot() == over
    assert other._states["gained"][0][:4].tolist() == [30, -30, 0, 0]
