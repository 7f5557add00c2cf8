"""Positions of Kachuful: round trips at every move, partial positions, and an error for each impossible one."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from playing import face, play_until, positions, step_randomly, trace

from envs import kachuful_v0

RULES: list[dict[str, Any]] = [
    {},
    {"num_players": 3, "max_hand": "full", "cycles": 1, "schedule": "down", "min_hand": 14, "trump": "turn_up"},
    {"num_players": 5, "max_hand": 3, "single_card": "forehead", "trump": "N"},
    {"num_players": 6, "max_hand": 4, "blind": "optional", "single_card": "face_down", "schedule": "down"},
    {"num_players": 8, "max_hand": 3, "blind": "forced", "hook": False, "no_trump_every": 2},
    {"max_hand": 5, "revoke": "penalty", "blind": "optional", "trump": "turn_up"},
]


@pytest.mark.parametrize("rules", RULES)
def test_round_trip_at_every_move(rules: dict[str, Any]) -> None:
    env, other = kachuful_v0.raw_env(**rules), kachuful_v0.raw_env(**rules)
    env.reset(seed=11)
    for _ in positions(env, Random(3)):
        snapshot = env.snapshot()
        other.reset(seed=99, options={"position": snapshot})
        assert other.snapshot() == snapshot
        assert other.history == []
        assert other.agent_selection == env.agent_selection
        assert other.terminations == env.terminations
        assert (other.state() == env.state()).all()
        for agent in env.possible_agents:
            for key, value in env.observe(agent).items():
                assert (other.observe(agent)[key] == value).all()
        ours, theirs = env._states[0], other._states[0]
        assert all(
            (ours[k] == theirs[k]).all() for k in ours.dtype.names if k not in ("seed", "game", "moves", "gained")
        )


def test_the_game_goes_on_as_dealt_from_the_seed() -> None:
    """Later rounds come from the seed of the reset, earlier ones do not matter."""
    env, other = kachuful_v0.raw_env(max_hand=3), kachuful_v0.raw_env(max_hand=3)
    env.reset(seed=7)
    play_until(env, Random(1), lambda snapshot: snapshot["round"] == 1 and len(snapshot["trick"]) == 1)
    other.reset(seed=7, options={"position": env.snapshot()})
    zero = [0.0] * 4  # rewards for rounds before the position are not repeated
    assert list(other.rewards.values()) == list(other._cumulative_rewards.values()) == zero
    assert [seen[-1] for seen in trace(env, Random(2))] == [seen[-1] for seen in trace(other, Random(2))]
    assert env.snapshot() == other.snapshot()
    other.reset()
    env.reset()
    assert face(env) == face(other)


def set_up(position: dict[str, Any], seed: int = 1, dealer: int | None = None, **rules: Any) -> dict[str, Any]:
    env = kachuful_v0.raw_env(**rules)
    env.reset(seed=seed, options={"position": position} | ({} if dealer is None else {"dealer": dealer}))
    snapshot = env.snapshot()
    env.reset(seed=seed + 1, options={"position": snapshot})
    assert env.snapshot() == snapshot
    for seat in range(env.rules.num_players):
        drawn = env.determinize(seat, 3)
        assert [len(hand) for hand in drawn["hands"]] == [len(hand) for hand in snapshot["hands"]]
    trace(env, Random(5))
    return snapshot


def test_nothing_given_is_the_game_of_the_seed() -> None:
    env = kachuful_v0.raw_env()
    env.reset(seed=5)
    assert set_up({}, seed=5) == env.snapshot()
    play_until(env, Random(1), lambda snapshot: snapshot["round"] == 3)
    scores = env.snapshot()["scores"]
    assert set_up({"round": 3, "scores": scores}, seed=5) == env.snapshot()


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        # Who deals is told by who leads, acts or has bid.
        ({"leader": 2}, {"dealer": 1, "turn": 2, "phase": "bid"}),
        ({"turn": 2}, {"dealer": 1, "leader": 2, "phase": "bid"}),
        ({"hand_size": 8, "bids": [2, None, 2, 2]}, {"dealer": 1, "turn": 1, "phase": "bid"}),
        ({"hand_size": 3, "bids": [None, 1, 0, None], "dealer": 0}, {"turn": 3, "leader": 1}),
        ({"phase": "play", "turn": 3}, {"dealer": 2, "bids": [0, 0, 0, 0], "leader": 3}),
        ({"bids": [1, 2, 3, 0], "dealer": 3, "hand_size": 5}, {"phase": "play", "turn": 0, "leader": 0}),
        # Hand size from the cards, trump from the position or the cycle.
        ({"hands": [["AS", "KS"], None, None, None]}, {"hand_size": 2, "round": 0, "trump": "S"}),
        ({"round": 9, "trump": "N"}, {"hand_size": 1, "trump": "N"}),
        ({"round": 2}, {"hand_size": 8, "trump": "C"}),
        ({"scores": [5, -7, 0, 1000]}, {"scores": [5, -7, 0, 1000], "round": 0}),
        # Play.
        (
            {"hands": [None, ["2H", "AH", "KS"], None, None], "trick": [[0, "5H"]]},
            {"hand_size": 3, "dealer": 3, "turn": 1, "phase": "play", "leader": 0, "bids": [0, 0, 0, 0], "played": []},
        ),
        (
            {"played": [[[1, "AS"], [2, "2S"], [3, "2H"], [0, "3S"]]], "hand_size": 4, "bids": [1, 1, 0, 0]},
            {"dealer": 0, "turn": 1, "leader": 1, "tricks": [0, 1, 0, 0], "phase": "play", "trick": []},
        ),
        # Who won is known, the cards are not.
        (
            {"hands": [["AS"], None, None, None], "tricks": [2, 0, 1, 0], "dealer": 3, "bids": [1, 1, 0, 1]},
            {"hand_size": 4, "played": [None, None, None], "leader": 0, "turn": 0, "phase": "play"},
        ),
        (
            {"hand_size": 4, "tricks": [2, 0, 1, 0], "trick": [[2, "AS"], [3, "KS"]]},
            {"played": [None, None, None], "leader": 2, "turn": 0},
        ),
        ({"tricks": [1, 1, 0, 0], "leader": 1}, {"leader": 1, "turn": 1}),
        ({"finished": True}, {"phase": "over", "turn": None, "finished": True}),
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


def test_unknown_tricks_are_remembered_as_such() -> None:
    env = kachuful_v0.raw_env()
    env.reset(seed=1, options={"position": {"hand_size": 5, "tricks": [2, 0, 1, 0]}})
    play_until(env, Random(1), lambda snapshot: sum(snapshot["tricks"]) == 4)
    snapshot = env.snapshot()
    assert snapshot["played"][:3] == [None] * 3
    assert len(snapshot["played"][3]) == 4
    env.reset(seed=4, options={"position": snapshot})
    assert env.snapshot() == snapshot


def test_turned_card_is_dealt_or_given() -> None:
    dealt = set_up({"hand_size": 3}, trump="turn_up")
    assert dealt["trump"] == dealt["turned"][1]
    given = set_up({"hand_size": 3, "turned": "9D"}, trump="turn_up")
    assert given["trump"] == "D"
    assert not any("9D" in hand for hand in given["hands"])
    assert set_up({"hand_size": 3, "trump": "H"}, trump="turn_up")["turned"] is None
    assert set_up({"hand_size": 13}, trump="turn_up", max_hand=13)["trump"] == "N"
    with pytest.raises(ValueError, match="position turned: 9D cannot have been turned"):
        set_up({"turned": "9D"})
    with pytest.raises(ValueError, match="position trump"):
        set_up({"turned": "9D", "trump": "S"}, trump="turn_up")
    with pytest.raises(ValueError, match="position trump: it, or turned, is needed"):
        set_up({"played": [LED], "hand_size": 4}, trump="turn_up")
    assert set_up({"played": [LED], "hand_size": 4, "turned": "9C"}, trump="turn_up")["leader"] == 0


def test_missing_hands_respect_shown_voids() -> None:
    played = [[[0, "AS"], [1, "2H"], [2, "3H"], [3, "4H"]]]
    for seed in range(20):
        snapshot = set_up({"played": played, "hand_size": 10, "bids": [0, 0, 0, 0]}, seed=seed)
        assert not any(card.endswith("S") for hand in snapshot["hands"][1:] for card in hand)
    position = {"played": [[[0, "AS"], [1, "2H"], [2, "3H"], [3, "4H"]]], "hand_size": 13}
    with pytest.raises(ValueError, match="position hands: the cards not given are too few"):
        kachuful_v0.raw_env().reset(
            seed=1, options={"position": {**position, "hands": [["5H"] + _rest(), None, None, None]}}
        )


def _rest() -> list[str]:
    return [f"{rank}{suit}" for suit in "CD" for rank in "23456789TJQKA"][:11]


def test_blind_flags() -> None:
    optional = {"blind": "optional"}
    snapshot = set_up({"dealer": 3, "bids": [1, None, None, None]}, **optional)
    assert snapshot["looked"] == [True, False, False, False]
    snapshot = set_up({"dealer": 3, "bids": [1, None, None, None], "looked": [False] * 4}, **optional)
    assert snapshot["blind"] == [True, False, False, False]
    snapshot = set_up({"dealer": 3, "bids": [1, 1, None, None], "blind": [True, False, False, False]}, **optional)
    assert snapshot["looked"] == [False, True, False, False]
    snapshot = set_up({"dealer": 3, "looked": [True, False, False, False]}, **optional)
    assert snapshot["turn"] == 0
    assert set_up({"dealer": 3, "bids": [1, None, None, None]}, blind="forced")["blind"][0] is True
    with pytest.raises(ValueError, match="position looked"):
        set_up({"dealer": 3, "looked": [False, True, False, False]}, **optional)
    with pytest.raises(ValueError, match="position blind: seat 0 cannot have bid blind here"):
        set_up({"dealer": 3, "bids": [1, None, None, None], "blind": [True, False, False, False]})


def test_dealer_option_and_position() -> None:
    assert set_up({"hand_size": 4}, dealer=2)["dealer"] == 2
    assert set_up({"dealer": 2}, dealer=2)["dealer"] == 2
    with pytest.raises(ValueError, match="position dealer: it is 1, but option dealer says 2"):
        set_up({"dealer": 1}, dealer=2)


LED = [[0, "5H"], [1, "2H"], [2, "3H"], [3, "4H"]]
ERRORS: list[tuple[dict[str, Any], str]] = [
    ({"bid": [1, 1, 1, 1]}, "no key 'bid'; did you mean 'bids'"),
    ({"game": "bridge"}, "game='bridge' is not possible: game must be 'kachuful'"),
    ({"rules": {"num_players": 5}}, "rules: option num_players is 5, but in this environment 4"),
    ({"rules": {"hook": 1}}, "rules: option hook is 1, but in this environment True"),
    ({"rules": {"hok": True}}, "rules: no option 'hok'"),
    ({"rules": "kachuful"}, "rules='kachuful' is not possible"),
    ({"round": 19}, "round: 19 is beyond the last round of the game, 18"),
    ({"round": -1}, "round=-1"),
    ({"dealer": 4}, "dealer=4"),
    ({"phase": "bidding"}, "phase='bidding' is not possible: phase must be 'over', 'bid' or 'play'"),
    ({"phase": "bid", "bids": [1, 1, 1, 1]}, "phase: 'bid' does not fit the rest of the position"),
    ({"turn": 2, "dealer": 2}, "turn: 2 does not fit the rest of the position, by which it is 3"),
    ({"turn": None}, "turn: None does not fit"),
    ({"scores": [0, 0, 0]}, "scores"),
    ({"hands": [["AS", "AS"], None, None, None]}, r"hands\[0\]\[1\]: AS is there twice"),
    ({"hands": [["AS"], ["AS"], None, None]}, r"hands\[1\]: AS is also in hands\[0\]"),
    ({"hands": [["AS"], ["KS", "QS"], None, None]}, "hands: held and played cards .* not seat 0 1, seat 1 2"),
    ({"hands": [[], None, None, None]}, "hands: 0 cards a seat"),
    ({"hands": [["AS"], None, None, None], "hand_size": 2}, "hand_size: 2 does not fit hands, by which it is 1"),
    ({"hands": [["1S"], None, None, None]}, r"hands\[0\]\[0\]='1S'"),
    ({"hand_size": 14}, "hand_size: 14 cards a seat; it must be 1 to 13"),
    ({"finished": False, "phase": "over"}, "finished: False does not fit"),
    ({"trump": "X"}, "trump='X'"),
    ({"turned": "AS"}, "turned: AS cannot have been turned"),
    ({"hand_size": 3, "dealer": 3, "bids": [4, None, None, None]}, "bids: seat 0 cannot have bid 4 .* only 0, 1, 2, 3"),
    ({"hand_size": 3, "dealer": 3, "bids": [1, 1, 1, 0]}, "bids: seat 3 cannot have bid 0 .* only 1, 2, 3"),
    ({"hand_size": 3, "dealer": 3, "bids": [None, 1, None, None]}, "bids: seat 1 cannot have bid before seat 0"),
    ({"bids": [1, None, 1, 1], "trick": [[0, "AS"]]}, "bids: play has begun, so seat 1 must have bid"),
    ({"tricks": [1, 0, 0, 0], "played": []}, r"tricks: \[1, 0, 0, 0\] does not fit the rest"),
    ({"tricks": [0, 1, 0, 0], "played": [LED]}, r"tricks: \[0, 1, 0, 0\] does not fit the rest .* \[1, 0, 0, 0\]"),
    ({"tricks": [2, 0, 0, 0], "hand_size": 1}, "tricks: 2 tricks are finished, but each seat was dealt 1 cards"),
    ({"tricks": [1, 0, 0, 0], "leader": 1}, "leader: seat 1 leads, but by tricks it has won none"),
    ({"tricks": [1, 0, 1, 0], "played": [None, LED]}, r"played\[1\]: seat 0 leads, but by tricks it has won none"),
    (
        {"tricks": [0, 1, 1, 0], "played": [None, LED]},
        r"tricks: \[0, 1, 1, 0\] does not fit played, seat 0 has won more",
    ),
    ({"tricks": [0, 0, 0, 0], "played": [None]}, r"tricks: \[0, 0, 0, 0\] does not fit played, by which 1 tricks"),
    ({"tricks": [1, 0, 0, 0], "played": [LED, None]}, r"played\[1\]: tricks whose cards are unknown must come before"),
    ({"played": [None]}, "tricks: it is needed where played leaves cards unknown"),
    ({"played": [LED[:3]]}, r"played\[0\]: 3 cards; a finished trick has 4"),
    ({"played": [LED, LED]}, r"played\[1\]: 5H is also in played\[0\]"),
    ({"played": [LED], "trick": [[1, "6H"]]}, r"trick\[0\]: seat 1 cannot have played here, it was seat 0's turn"),
    ({"played": [LED], "hand_size": 1}, "played: all 1 tricks are finished, but only the last round"),
    ({"trick": LED}, "trick: 4 cards; it must have fewer than 4"),
    ({"trick": [[0, "5H"], [2, "6H"]]}, r"trick\[1\]: seat 2 played out of turn, it was seat 1's"),
    (
        {"hands": [["2S"], ["6H"], None, None], "trick": [[0, "5H"], [1, "AS"]]},
        r"trick\[1\]: seat 1 cannot have played AS, it had to play 6H",
    ),
    ({"trick": [[0, "5H"]], "dealer": 0}, r"trick\[0\]: seat 0 cannot have played here, it was seat 1's turn"),
    ({"trick": [[0, "5H"]], "leader": 1}, "leader: 1 does not fit"),
    ({"blind": [True, False, False, False]}, "blind"),
    ({"looked": [True, False, False, False]}, "looked"),
    ({"revoked": [True, False, False, False]}, "revoked"),
    ({"revoked": True}, "revoked=True"),
]


@pytest.mark.parametrize(("position", "message"), ERRORS)
def test_impossible_positions(position: dict[str, Any], message: str) -> None:
    env = kachuful_v0.raw_env()
    env.reset(seed=1)
    step_randomly(env, Random(1))
    before = face(env)
    with pytest.raises(
        ValueError, match=f"^position (has )?.*{message}" if "no key" in message else f"^position {message}"
    ):
        env.reset(seed=2, options={"position": position})
    assert face(env) == before


def test_hidden_single_card_rounds_have_no_decision_after_the_bids() -> None:
    with pytest.raises(ValueError, match="position bids: after the last bid a round of one hidden card plays itself"):
        set_up({"hand_size": 1, "bids": [0, 0, 0, 0]}, single_card="face_down")


def test_revokes_follow_from_the_cards() -> None:
    position = {
        "dealer": 3,
        "hands": [["AS"], ["6H"], ["7H"], ["8H"]],
        "played": [[[0, "5H"], [1, "AC"], [2, "9H"], [3, "TH"]]],
        "bids": [0, 0, 0, 1],
    }
    assert set_up(position, revoke="penalty")["revoked"] == [False, True, False, False]
    with pytest.raises(ValueError, match=r"played\[0\]\[1\]: seat 1 cannot have played AC"):
        set_up(position)
