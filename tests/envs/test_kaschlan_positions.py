"""Positions of Kaschlan: round trips at every move, and partial positions completed by the rules and the seed."""

from __future__ import annotations

import re
from copy import deepcopy
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kaschlan_reference import PACK, PASS, Reference, resolve
from kaschlan_table import LAID, agree, bout, game_options
from playing import face, play_until, positions, step_randomly, trace
from test_kaschlan_games import TEMPERS, choose, follow

from envs import kaschlan_v0

VARIANTS: list[dict[str, Any]] = [
    {"num_players": 2, "trump_card": "top"},
    {"num_players": 3, "kutscher_opens_rank": True, "pickup": "all"},
    {"must_beat": True, "payoff": "places"},
    {"num_players": 5, "attacker_out": "defender_attacks", "trump_card": "top", "max_bouts": 9},
    {"num_players": 2, "pickup": "all", "must_beat": True, "payoff": "places", "max_bouts": 5},
    {"num_players": 3, "attacker_out": "defender_attacks", "trump_card": "top", "kutscher_opens_rank": True},
    {"num_players": 4, "pickup": "all", "max_bouts": 12},
    {"num_players": 5, "kutscher_opens_rank": True, "must_beat": True},
]
"""Every value of every option, and every number of seats."""


def play_on(env: Any, rng: Random, temper: float) -> None:
    """A random move."""
    agent = env.agent_selection
    moves = [env.action_name(a) for a, legal in enumerate(env.observe(agent)["action_mask"]) if legal]
    env.step(env.action_id(choose(moves, rng, temper)))


def to_the_end(env: Any, rng: Random) -> list[Any]:
    """What is seen of the rest of a game."""
    seen = []
    while not any(env.terminations.values()) and not any(env.truncations.values()):
        play_on(env, rng, 0.1)
        seen.append((env.snapshot(), dict(env.rewards)))
    return seen


@pytest.mark.parametrize("rules", VARIANTS, ids=str)
def test_round_trip_at_every_move(rules: dict[str, Any]) -> None:
    """A snapshot as a position gives the same snapshot, observations and masks, and the same game from there on."""
    env, other = kaschlan_v0.raw_env(**rules), kaschlan_v0.raw_env(**rules)
    rng = Random(3)
    for game, temper in enumerate(TEMPERS[:3]):
        env.reset(seed=11 + game)
        while True:
            snapshot = env.snapshot()
            other.reset(seed=99, options={"position": snapshot})
            assert other.snapshot() == snapshot
            assert other.history == []
            assert other.agent_selection == env.agent_selection
            assert (other.state() == env.state()).all()
            for agent in env.possible_agents:
                for key, value in env.observe(agent).items():
                    assert (other.observe(agent)[key] == value).all()
            ours, theirs = env._states[0], other._states[0]
            keys = set(ours.dtype.names) - {"seed", "game", "moves", "taken"}
            if snapshot["finished"]:
                break
            assert not [key for key in keys if (ours[key] != theirs[key]).any()]
            if rng.random() < 0.1:
                copy, seed = deepcopy(env), rng.random()
                assert to_the_end(copy, Random(seed)) == to_the_end(other, Random(seed))
            play_on(env, rng, temper)


@given(options=game_options(), seed=st.integers(0, 2**63 - 1), moves=st.integers(0, 300))
@settings(max_examples=60)
def test_any_moment_as_a_position(options: dict[str, Any], seed: int, moves: int) -> None:
    """Under any rules; the second reading follows from the next bout on."""
    env, rng = moment(options, seed, moves), Random(seed)
    snapshot = env.snapshot()
    env.reset(seed=5, options={"position": snapshot})
    assert env.snapshot() == snapshot
    while not env.snapshot()["finished"] and env.snapshot()["table"]:
        play_on(env, rng, 0.1)
    if env.snapshot()["finished"]:
        return
    first = env.snapshot()
    env.reset(seed=6, options={"position": first})
    keys = ("hands", "stock", "turned", "dealer", "trump", "attacker", "defender", "out", "known", "bout")
    reference = Reference(resolve(**options), **{key: first[key] for key in keys})
    agree(env, reference)
    follow(env, reference, rng, 0.1)


def set_up(position: dict[str, Any], seed: int = 1, dealer: int | None = None, **rules: Any) -> dict[str, Any]:
    """Snapshot of a position, which is a whole one then, and a game that can be played on."""
    env = kaschlan_v0.raw_env(**rules)
    env.reset(seed=seed, options={"position": position} | ({} if dealer is None else {"dealer": dealer}))
    snapshot = env.snapshot()
    env.reset(seed=seed + 1, options={"position": snapshot})
    assert env.snapshot() == snapshot
    for seat in range(env.rules.num_players):
        drawn = env.determinize(seat, 3)
        assert [len(hand) for hand in drawn["hands"]] == [len(hand) for hand in snapshot["hands"]]
    trace(env, Random(5))
    return snapshot


def cards_of(snapshot: dict[str, Any]) -> list[str]:
    """All cards that are somewhere."""
    cards = [card for hand in snapshot["hands"] for card in hand] + snapshot["stock"]
    return cards + [card for entry in snapshot["table"] for card in entry[:2] if card]


def moment(options: dict[str, Any], seed: int, moves: int) -> Any:
    """An environment after some random moves."""
    env, rng = kaschlan_v0.raw_env(**options), Random(seed)
    env.reset(seed=seed)
    for _ in range(moves):
        if env.snapshot()["finished"]:
            break
        play_on(env, rng, 0.15)
    return env


MOMENTS = {"options": game_options(), "seed": st.integers(0, 10**6), "moves": st.integers(0, 250)}


def refused(env: Any, position: dict[str, Any], seed: int) -> str:
    """Set up a position; the key for which it is refused, or no text."""
    try:
        env.reset(seed=seed, options={"position": position})
    except ValueError as error:
        named = re.fullmatch(r"position (\w+).*", str(error))
        return named[1] if named else str(error)
    return ""


@given(**MOMENTS)
@settings(max_examples=80)
def test_parts_of_a_snapshot(options: dict[str, Any], seed: int, moves: int) -> None:
    """A part fits, and then all it says holds in a game that can be played on, or is refused by the name of a key."""
    env, rng = moment(options, seed, moves), Random(seed)
    snapshot = env.snapshot()
    for share in (0.2, 0.5, 0.8, 0.95):
        part = {key: value for key, value in snapshot.items() if rng.random() < share}
        if "hands" in part:
            part["hands"] = [cards if rng.random() < 0.5 else None for cards in part["hands"]]
        refusal = refused(env, part, seed + 1)
        if refusal:
            assert refusal in snapshot
            continue
        found = env.snapshot()
        assert {key: found[key] for key in part if key != "hands"} == {k: v for k, v in part.items() if k != "hands"}
        hands = zip(part.get("hands", found["hands"]), found["hands"], strict=True)
        assert all(cards in (None, there) for cards, there in hands)
        assert len(set(cards_of(found))) == len(cards_of(found))
        env.reset(seed=seed + 2, options={"position": found})
        assert env.snapshot() == found
        to_the_end(env, rng)


@given(**MOMENTS)
@settings(max_examples=40)
def test_a_snapshot_without_one_key(options: dict[str, Any], seed: int, moves: int) -> None:
    """What the other keys tell need not be given; they hold as they stand."""
    env = moment(options, seed, moves)
    snapshot = env.snapshot()
    needed = {"hands", "stock", "table"} | ({"attacker", "defender"} if snapshot["finished"] else set())
    for key in set(snapshot) - needed:
        part = {name: value for name, value in snapshot.items() if name != key}
        env.reset(seed=seed, options={"position": part})
        found = env.snapshot()
        assert {name: found[name] for name in part} == part, key
        if key in ("rank", "kutscher", "trump", "game", "rules", "round", "scores", "finished", "defender"):
            assert found == snapshot, key


@pytest.mark.parametrize("seats", [2, 3, 4, 5])
def test_nothing_given_is_the_game_of_the_seed(seats: int) -> None:
    for place in ("bottom", "top"):
        env = kaschlan_v0.raw_env(num_players=seats, trump_card=place)
        env.reset(seed=5)
        assert set_up({}, seed=5, num_players=seats, trump_card=place) == env.snapshot()
        whole = env.snapshot()
        keys = ("stock", "trump", "attacker", "defender", "dealer", "phase", "turn", "known", "table", "out", "bout")
        for key in keys:
            part = {name: value for name, value in whole.items() if name != key}
            assert set_up(part, seed=5, num_players=seats, trump_card=place) == whole, key


def test_missing_cards_are_dealt() -> None:
    """Five a hand from what is left, the rest is the stock; a hand given as None is dealt."""
    for given_ in ({"hands": [["AS", "KD"], None, None, ["7H"]]}, {"hands": [["AS"], ["KS"], ["QS"], None]}, {}):
        snapshot = set_up(given_)
        sizes = [5 if hand is None else len(hand) for hand in given_.get("hands", [None] * 4)]
        assert [len(hand) for hand in snapshot["hands"]] == sizes
        assert sorted(cards_of(snapshot)) == sorted(PACK)
        assert snapshot["stock"][-1] == snapshot["turned"]
        assert snapshot["trump"] == snapshot["turned"][1]
    first, second = (set_up({"hands": [["AS"], None, None, None]}, seed) for seed in (1, 2))
    assert first["hands"][1] != second["hands"][1]
    assert first == set_up({"hands": [["AS"], None, None, None]}, 1)


def test_cards_that_lie_on_the_table_are_not_dealt() -> None:
    snapshot = set_up({"attacker": 0, "table": [["8D", None, 0], ["8S", None, 0]]})
    assert sorted(cards_of(snapshot)) == sorted(PACK)
    assert not {"8D", "8S"} & {card for hand in snapshot["hands"] for card in hand}


@pytest.mark.parametrize("place", ["bottom", "top"])
def test_the_turned_card_of_a_position(place: str) -> None:
    """At its place in a stock that is not given; trump is its suit."""
    snapshot = set_up({"turned": "9D"}, trump_card=place)
    assert snapshot["stock"][-1 if place == "bottom" else 0] == "9D"
    assert snapshot["trump"] == "D"
    assert not any("9D" in hand for hand in snapshot["hands"])
    hands = [["AS", "KS"], ["7D"], ["7C"], ["7H"]]
    snapshot = set_up({"turned": "9D", "hands": hands}, trump_card=place)
    assert snapshot["stock"][-1 if place == "bottom" else 0] == "9D"
    assert len(snapshot["stock"]) == 32 - 5


def test_trump_alone() -> None:
    """A position that gives trump needs no turned card."""
    hands = [["AS", "KS"], ["7D"], ["7C"], ["7H"]]
    snapshot = set_up({"trump": "C", "hands": hands, "stock": []})
    assert (snapshot["trump"], snapshot["turned"]) == ("C", None)
    snapshot = set_up({"trump": "C", "hands": hands, "stock": ["AD", "AH"]})
    assert (snapshot["trump"], snapshot["turned"], snapshot["stock"]) == ("C", None, ["AD", "AH"])


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        # Roles: the seat after the dealer attacks, its next neighbour in the game defends.
        ({"dealer": 2}, {"attacker": 3, "defender": 0, "phase": "lay", "turn": 3, "bout": 0, "out": []}),
        ({"attacker": 2}, {"attacker": 2, "defender": 3, "turn": 2}),
        ({"defender": 2}, {"attacker": 1, "defender": 2, "turn": 1}),
        (
            {"hands": [["AS"], [], ["KS"], ["7D"]], "stock": [], "trump": "H", "dealer": 3},
            {"attacker": 0, "defender": 2, "out": [1], "known": [[], [], [], []]},
        ),
        (
            {"hands": [["AS"], [], ["KS"], ["7D"]], "stock": [], "trump": "H", "defender": 2},
            {"attacker": 0, "defender": 2, "out": [1]},
        ),
        (
            {"hands": [[], ["AS"], ["KS"], []], "stock": [], "trump": "H", "out": [3, 0], "attacker": 2},
            {"attacker": 2, "defender": 1, "out": [3, 0]},
        ),
        ({"bout": 17, "dealer": 0, "attacker": 3}, {"bout": 17, "dealer": 0, "attacker": 3, "defender": 0}),
        # Phases: the earliest decision that fits.
        (bout([]), {"phase": "lay", "turn": 0, "rank": None, "kutscher": None, "answered": 0}),
        (bout([["8D", None, 0]]), {"phase": "lay", "turn": 0, "rank": "8", "kutscher": None}),
        (bout(), {"phase": "lay", "turn": 0, "rank": "8", "answered": 0}),
        (bout([*LAID, ["KH", None, 0]]), {"phase": "lay", "turn": 0, "rank": "8", "kutscher": "KH"}),
        (bout(turn=2), {"phase": "throw", "turn": 2}),
        (bout(phase="throw"), {"phase": "throw", "turn": 2}),
        (bout(turn=3), {"phase": "throw", "turn": 3}),
        (bout([*LAID, ["8C", None, 2]]), {"phase": "throw", "turn": 2}),
        (bout([*LAID, ["8H", None, 3]]), {"phase": "throw", "turn": 3}),
        (bout([*LAID, ["8C", None, 2]], turn=3), {"phase": "throw", "turn": 3}),
        (bout(turn=1), {"phase": "throw_own", "turn": 1}),
        (bout(phase="throw_own"), {"phase": "throw_own", "turn": 1}),
        (bout(phase="beat"), {"phase": "beat", "turn": 1, "answered": 0}),
        (bout([["8D", "9D", 0], ["8S", None, 0]]), {"phase": "beat", "turn": 1, "answered": 1}),
        (bout(answered=1), {"phase": "beat", "turn": 1, "answered": 1}),
        (bout([["8D", None, 0], ["8S", None, 0], ["8C", None, 2]], answered=2), {"phase": "beat", "answered": 2}),
        # The limit is reached.
        (bout(hands=[["KH"], ["9D", "9S"], ["8C"], ["8H"]]), {"phase": "beat", "turn": 1}),
        (
            bout([*LAID, ["8C", None, 2]], hands=[["KH"], ["9D", "9S", "7C"], ["7D"], ["8H"]]),
            {"phase": "beat", "turn": 1},
        ),
        # A defender who has added a card of his own.
        (
            bout([["8D", None, 0], ["8S", None, 1]], hands=[["KH"], ["9D", "9S", "7C"], ["7D"], ["8H"]]),
            {"phase": "beat", "turn": 1},
        ),
        (
            bout([["8D", None, 0], ["8S", None, 1]], hands=[["KH"], ["9D", "9S", "7C", "QC"], ["7D"], ["8H"]]),
            {"phase": "throw_own", "turn": 1},
        ),
        # Picked up before.
        (bout([], known=[["KH"], [], ["8C", "7D"], []]), {"known": [["KH"], [], ["7D", "8C"], []]}),
        ({"finished": True}, {"phase": "over", "turn": None, "finished": True}),
        ({"phase": "over"}, {"phase": "over", "turn": None, "finished": True}),
        (bout([], hands=[["8D"], [], [], []]), {"phase": "over", "finished": True, "out": [1, 2, 3]}),
    ],
)
def test_partial_positions(position: dict[str, Any], expected: dict[str, Any]) -> None:
    snapshot = set_up(position)
    assert {key: snapshot[key] for key in expected} == expected
    for key, value in position.items():
        if key == "hands":
            assert all(set(hand) == set(there) for hand, there in zip(value, snapshot[key], strict=True))
        elif key != "known":
            assert snapshot[key] == value
    assert len(set(cards_of(snapshot))) == len(cards_of(snapshot))


def test_dealer_by_option() -> None:
    """The option dealer and a position."""
    snapshot = set_up({"trump": "H", "stock": ["AS"]}, dealer=1)
    assert [snapshot[key] for key in ("dealer", "attacker", "defender")] == [1, 2, 3]
    with pytest.raises(ValueError, match="position dealer"):
        set_up({"dealer": 2}, dealer=1)


def test_five_cards_of_a_hand_that_throws() -> None:
    """A thrower's draw is still to come: no cards and no stock do not mean out, as long as he may throw."""
    table = [["8D", None, 0], ["8C", None, 2]]
    hands = [["KH"], ["9D", "9S", "9H"], [], ["8H", "7H"]]
    snapshot = set_up({"hands": hands, "stock": [], "trump": "H", "attacker": 0, "table": table})
    assert (snapshot["phase"], snapshot["turn"], snapshot["out"]) == ("throw", 2, [])
    table = [["8D", None, 0], ["8H", None, 3]]
    snapshot = set_up({"hands": [[], *hands[1:3], ["7H"]], "stock": [], "trump": "H", "attacker": 0, "table": table})
    assert (snapshot["turn"], set(snapshot["out"])) == (3, {0, 2})


def test_an_attacker_who_is_out_stays_attacker() -> None:
    """To the end of his bout."""
    position = {"hands": [[], ["TD", "9S", "9H"], ["7D"], ["8H"]], "stock": [], "trump": "H", "attacker": 0}
    position |= {"defender": 1, "table": [["8D", None, 0]], "out": [0], "turn": 2}
    snapshot = set_up(position)
    assert (snapshot["attacker"], snapshot["defender"], snapshot["phase"]) == (0, 1, "throw")


def test_the_game_goes_on_under_the_seed_of_the_reset() -> None:
    """A reset without a seed, after a position, is the next game of its seed."""
    env, other = kaschlan_v0.raw_env(), kaschlan_v0.raw_env()
    env.reset(seed=7)
    play_until(env, Random(1), lambda snapshot: snapshot["bout"] == 3 and len(snapshot["table"]) == 2)
    other.reset(seed=7, options={"position": env.snapshot()})
    assert list(other.rewards.values()) == [0.0] * 4
    assert [seen[-1] for seen in trace(env, Random(2))] == [seen[-1] for seen in trace(other, Random(2))]
    assert env.snapshot() == other.snapshot()
    other.reset()
    env.reset()
    assert face(env) == face(other)


def test_a_game_ended_by_an_illegal_action_as_a_position() -> None:
    """Its snapshot is a position like any other."""
    env = kaschlan_v0.env()
    for seed in range(30):
        env.reset(seed=seed)
        for _ in range(3 * seed):
            if env.agents and not env.terminations[env.agent_selection]:
                step_randomly(env, Random(seed))
        if env.terminations[env.agent_selection]:
            continue
        illegal = next(a for a in range(33) if not env.observe(env.agent_selection)["action_mask"][a])
        env.step(illegal)
        snapshot = env.unwrapped.snapshot()
        assert snapshot["finished"]
        other = kaschlan_v0.raw_env()
        other.reset(seed=1, options={"position": snapshot})
        assert other.snapshot() == snapshot


def test_every_move_of_a_random_game_by_the_checked_env() -> None:
    """`env` takes positions as `raw_env` does."""
    env, other = kaschlan_v0.env(num_players=3), kaschlan_v0.env(num_players=3)
    env.reset(seed=2)
    for _ in positions(env, Random(8)):
        other.reset(seed=3, options={"position": env.unwrapped.snapshot()})
        for agent in env.possible_agents:
            ours, theirs = env.observe(agent), other.observe(agent)
            assert all((ours[key] == theirs[key]).all() for key in ours)


def test_pass_is_the_last_action() -> None:
    assert kaschlan_v0.raw_env().action_id(PASS) == 32
