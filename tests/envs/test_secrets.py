"""Nothing hidden leaks, and nothing known is lost, in any variant of any game.

Twins are states that differ only in what one seat cannot know: drawn by the game itself, or made by brute force from
the plain statement of what a seat may know (see `games.Oracle`). What is special to a game has tests of its own.
"""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import numpy as np
import pytest
from games import NAMES, ORACLES, VARIANTS, Oracle, env, raw_env
from hypothesis import given, settings
from hypothesis import strategies as st
from moments import Moment, Snapshot, game_after, rules_of, sample, seen, snapshot_of
from playing import positions, step_randomly

from envs import loops
from envs.agents import Decisions
from envs.cards import cards_of
from envs.game import ACTION_WORD, GAME_OVER, ROUND_OVER, TRUNCATED, automatic, legal, redact, step
from envs.vector import VectorEnv

MOMENTS = st.one_of([st.tuples(st.just(name), ORACLES[name].MOMENTS) for name in NAMES])
EXAMPLES = 60 * len(NAMES)


def redacted(states: np.ndarray, record: np.ndarray, seat: int) -> np.ndarray:
    """A copy of an array of one state without what a seat may not know."""
    copied = states.copy()
    redact(copied[0], record[0], seat)
    return copied


def told(oracle: Oracle, states: np.ndarray, record: np.ndarray, seat: int) -> tuple[Any, ...]:
    """All that a seat is given: its redacted record, its features in both layouts, its mask, and whose turn it is."""
    state, rules = states[0], record[0]
    asked = int(state["turn"]) == seat and automatic(state, rules) < 0
    return (
        redacted(states, record, seat).tobytes(),
        seen(oracle.GAME, state, rules, seat).tobytes(),
        seen(oracle.GAME, state, rules, seat, True).tobytes(),
        legal(state, rules) if asked else None,
        tuple(int(state[name]) for name in ("turn", "phase", "finished", "round", "dealer")),
    )


def twins(
    oracle: Oracle, states: np.ndarray, record: np.ndarray, snapshot: Snapshot, seat: int, key: int
) -> list[np.ndarray]:
    """Arrays of one state each that a seat cannot tell from the given one, half of them drawn by the game itself."""
    made = [states.copy() for _ in range(2)]
    for i, twin in enumerate(made):
        oracle.scramble(twin[0], snapshot, seat, Random(key + i))
    drawn = sample(oracle.GAME, states, record, seat, key, 2)
    return made + [drawn[i : i + 1] for i in range(2)]


def at(named: tuple[str, Moment]) -> tuple[Oracle, Any, np.ndarray, np.ndarray, Snapshot, int]:
    """A moment: oracle, option object, state and options record, snapshot, seed."""
    name, (chosen, seed, moves) = named
    oracle = ORACLES[name]
    rules = rules_of(oracle.GAME, chosen)
    states, record = game_after(oracle.GAME, rules, seed, moves)
    return oracle, rules, states, record, snapshot_of(oracle.GAME, states[0], rules), seed


@settings(max_examples=EXAMPLES)
@given(MOMENTS)
def test_a_redacted_record_holds_what_a_seat_may_know(named: tuple[str, Moment]) -> None:
    """No less, no more: the cards that it sees, all that is public, and all that its features are made from."""
    oracle, rules, states, record, snapshot, _ = at(named)
    game = oracle.GAME
    (hands,) = (field for field in game.fields.table if field.key == "hands")
    for seat in range(rules.num_players):
        own = redacted(states, record, seat)
        assert redacted(own, record, seat).tobytes() == own.tobytes(), "redacting twice is redacting once"
        for field in game.state.names or ():
            assert field in oracle.PRIVATE or (own[field] == states[field]).all(), f"{field} is public"
        assert not own["seed"].any()
        assert not own["game"].any()
        shown = hands.codec.encode(own[0]["hands"], rules.num_players)
        assert [set(hand) for hand in shown] == oracle.visible(snapshot, seat)
        for wide in (False, True):
            features = [seen(game, one[0], record[0], seat, wide).tobytes() for one in (own, states)]
            assert features[0] == features[1]
        if int(states[0]["turn"]) == seat:
            assert legal(own[0], record[0]) == legal(states[0], record[0]) != (0, 0)


@settings(max_examples=EXAMPLES)
@given(MOMENTS)
def test_what_is_hidden_changes_nothing(named: tuple[str, Moment]) -> None:
    oracle, rules, states, record, snapshot, seed = at(named)
    for seat in range(rules.num_players):
        mine = told(oracle, states, record, seat)
        for twin in twins(oracle, states, record, snapshot, seat, seed):
            assert told(oracle, twin, record, seat) == mine


@settings(max_examples=EXAMPLES)
@given(MOMENTS)
def test_after_the_same_move_twins_are_still_alike(named: tuple[str, Moment]) -> None:
    """Whoever moves, what a seat is told then follows from what it was told before and the move."""
    oracle, rules, states, record, snapshot, seed = at(named)
    turn = int(states[0]["turn"])
    low, high = legal(states[0], record[0])
    action = Random(seed).choice(cards_of(low | high << ACTION_WORD))
    moved = states.copy()
    flags = step(moved[0], record[0], action)
    assert flags & ROUND_OVER or not flags & (GAME_OVER | TRUNCATED), "a game that ends or is truncated ends its round"
    after = snapshot_of(oracle.GAME, moved[0], rules)
    for seat in range(rules.num_players):
        for twin in twins(oracle, states, record, snapshot, seat, seed):
            if not loops.is_legal(twin[0], record[0], action):
                assert turn != seat
                continue
            assert step(twin[0], record[0], action) == flags
            if not oracle.reveals(snapshot, after, seat):
                assert told(oracle, twin, record, seat) == told(oracle, moved, record, seat)


@settings(max_examples=EXAMPLES)
@given(MOMENTS)
def test_drawn_states_agree_with_all_that_is_known(named: tuple[str, Moment]) -> None:
    """They are positions that can be set up, and by the rules a seat knows the same of them."""
    oracle, rules, states, record, snapshot, seed = at(named)
    game, other = oracle.GAME, np.zeros(1, oracle.GAME.state)
    for seat in range(rules.num_players):
        mine = redacted(states, record, seat).tobytes()
        for drawn in np.split(sample(game, states, record, seat, seed, 2), 2):
            assert redacted(drawn, record, seat).tobytes() == mine
            found = snapshot_of(game, drawn[0], rules)
            assert oracle.known(found, seat) == oracle.known(snapshot, seat)
            game.fields.set_position(other, rules, found, seed)
            assert snapshot_of(game, other[0], rules) == found
            for wide in (False, True):
                features = [seen(game, one[0], record[0], seat, wide).tobytes() for one in (other, states)]
                assert features[0] == features[1]


@pytest.mark.parametrize("name", NAMES)
def test_draws_differ_in_all_that_is_hidden(name: str) -> None:
    """And the true cards have no part in them: they depend on the redacted record and the key alone."""
    oracle = ORACLES[name]
    rules = oracle.GAME.make_rules()
    states, record = game_after(oracle.GAME, rules, 5, 0)
    snapshot, seat = snapshot_of(oracle.GAME, states[0], rules), int(states[0]["turn"])
    drawn = sample(oracle.GAME, states, record, seat, 9, 200)
    for twin in twins(oracle, states, record, snapshot, seat, 3):
        assert sample(oracle.GAME, twin, record, seat, 9, 200).tobytes() == drawn.tobytes()
    assert sample(oracle.GAME, states, record, seat, 10, 200).tobytes() != drawn.tobytes()
    assert len({0, int(states[0]["seed"]), *drawn["seed"].tolist()}) == 202, "later deals must be drawn too"
    hands = [snapshot_of(oracle.GAME, one, rules)["hands"] for one in drawn]
    for other in range(rules.num_players):
        unseen = {card for one in hands for card in one[other]} - oracle.visible(snapshot, seat)[other]
        assert other == seat or len(unseen) > 20
    assert len({str(one) for one in hands}) == 200


def shown(env: Any, seat: int) -> tuple[Any, ...]:
    """All that PettingZoo's face tells a seat, the message for an illegal action included."""
    agent = env.possible_agents[seat]
    observation = env.observe(agent)
    message = ""
    if env.agent_selection == agent and observation["action_mask"].any():
        last = env.last()[0]
        assert all((last[key] == value).all() for key, value in observation.items())
        with pytest.raises(ValueError, match="legal: ") as error:
            env.step(int(np.argmin(observation["action_mask"])))
        message = str(error.value)
    return (
        {key: value.tobytes() for key, value in observation.items()},
        env.agent_selection, env.agents, env.rewards, env._cumulative_rewards, env.terminations, env.truncations,
        env.infos, env.history, message,
    )  # fmt: skip


@pytest.mark.parametrize(("name", "rules"), VARIANTS.values(), ids=list(VARIANTS))
def test_no_leak_through_pettingzoo(name: str, rules: dict[str, Any]) -> None:
    """In the course of a game each seat is told the same by a copy in which all that it cannot know is different."""
    oracle = ORACLES[name]
    raw = raw_env(name, **rules)
    rng = Random(4)
    different = 0
    raw.reset(seed=6)
    for move, _ in enumerate(positions(raw, rng)):
        snapshot = raw.snapshot()
        if move % 3:
            continue
        for seat in range(raw.rules.num_players):
            other = copy.deepcopy(raw)
            oracle.scramble(other._states[0], snapshot, seat, rng)
            assert shown(other, seat) == shown(raw, seat)
            different += other.snapshot()["hands"] != snapshot["hands"]
    assert different > len(raw.history) / 3


@pytest.mark.parametrize(("name", "rules"), VARIANTS.values(), ids=list(VARIANTS))
def test_an_illegal_end_shows_nothing(name: str, rules: dict[str, Any]) -> None:
    """After an illegal action what is hidden stays so, and no mask names any card."""
    oracle = ORACLES[name]
    for moves in (0, 5, 14):
        checked = env(name, **rules)
        raw = checked.unwrapped
        checked.reset(seed=moves)
        rng = Random(moves)
        for _ in range(moves):
            step_randomly(checked, rng)
        checked.step(int(np.argmin(checked.last()[0]["action_mask"])))
        snapshot = raw.snapshot()
        assert snapshot["finished"]
        for seat, agent in enumerate(raw.possible_agents):
            other = copy.deepcopy(raw)
            oracle.scramble(other._states[0], snapshot, seat, rng)
            assert shown(other, seat) == shown(raw, seat)
            assert not raw.observe(agent)["action_mask"].any()


@pytest.mark.parametrize(("name", "rules"), VARIANTS.values(), ids=list(VARIANTS))
def test_no_leak_through_the_vector_face_or_to_agents(name: str, rules: dict[str, Any]) -> None:
    oracle = ORACLES[name]
    vector = VectorEnv(name, 12, 3, **rules)
    rng = Random(1)
    batch = vector.reset(scatter=60)
    for _ in range(8):
        states = vector.get_state()
        before = [np.array(part) for part in (batch.observation, batch.action_mask, batch.turn)]
        changed = states.copy()
        for i in range(len(states)):
            snapshot = snapshot_of(oracle.GAME, states[i], vector.rules)
            oracle.scramble(changed[i], snapshot, int(states[i]["turn"]), rng)
        batch = vector.set_state(changed)
        for old, new in zip(before, (batch.observation, batch.action_mask, batch.turn), strict=True):
            assert (old == new).all()
        first, second = (Decisions(oracle.GAME, vector.rules, some) for some in (states, changed))
        assert np.array_equal(first.states, second.states)
        assert np.array_equal(first.observation(), second.observation())
        assert np.array_equal(first.action_mask, before[1])
        batch = vector.set_state(states)
        batch = vector.step(np.array([rng.choice(np.flatnonzero(row).tolist()) for row in batch.action_mask]))
