"""Nothing hidden leaks in any variant of Kachuful (what a seat may know is the matter of `test_sight`).

Twins are states that differ only in what one seat cannot know. Some are drawn by the game itself; others are made here
by brute force: all cards the seat does not see are dealt anew, the marks of revokes flipped, the seed changed.
"""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from kachuful_variants import (
    MOMENTS,
    Moment,
    Snapshot,
    game_after,
    rules_of,
    sample,
    scramble,
    seen,
    sees,
    snapshot_of,
)
from playing import legal_actions, positions

from envs import kachuful_v0, loops
from envs.aec import TableEnv
from envs.cards import cards_of
from envs.game import ACTION_WORD
from envs.kachuful import engine, features, knowledge
from envs.vector import VectorEnv


def known(state: Any, rules: Any, seat: int) -> tuple[bytes, ...]:
    """All that a seat is given: its features in both layouts, and its redacted record."""
    redacted = np.array([state])
    knowledge.redact(redacted[0], rules, seat)
    return seen(state, rules, seat).tobytes(), seen(state, rules, seat, True).tobytes(), redacted.tobytes()


def course(state: Any) -> tuple[int, ...]:
    """Where the game stands, for everyone to see."""
    return tuple(int(state[name]) for name in ("turn", "phase", "finished", "round", "dealer"))


def twins(states: np.ndarray, record: np.ndarray, snapshot: Snapshot, seat: int, key: int) -> list[np.ndarray]:
    """Arrays of one state each that a seat cannot tell from the given one, half of them drawn by the game itself."""
    made = [states.copy() for _ in range(3)]
    for i, twin in enumerate(made):
        scramble(twin[0], snapshot, seat, Random(key + i))
    drawn = sample(states, record, seat, key, 3)
    return made + [drawn[i : i + 1] for i in range(3)]


@settings(max_examples=200)
@given(MOMENTS)
def test_what_is_hidden_changes_nothing(moment: Moment) -> None:
    chosen, seed, moves = moment
    rules = rules_of(chosen)
    states, record = game_after(rules, seed, moves)
    state, options = states[0], record[0]
    snapshot = snapshot_of(state, rules)
    turn = int(state["turn"])
    legal = engine.legal(state, options)
    assert legal != (0, 0)
    for seat in range(rules.num_players):
        mine = known(state, options, seat)
        for twin in twins(states, record, snapshot, seat, seed):
            assert known(twin[0], options, seat) == mine
            assert course(twin[0]) == course(state)
            # Bids depend on public facts alone, so even another seat's may be compared.
            if turn == seat or snapshot["phase"] == "bid":
                assert engine.legal(twin[0], options) == legal


def give(state: Any, snapshot: Snapshot, seat: int, card: int, rng: Random) -> None:
    """Let a seat hold a card, in place, in exchange for one of its own."""
    if int(state["hands"][seat]) >> card & 1:
        return
    back = rng.choice(cards_of(state["hands"][seat]))
    for other in range(len(snapshot["hands"])):
        if int(state["hands"][other]) >> card & 1:
            state["hands"][other] ^= 1 << card | 1 << back
    state["hands"][seat] ^= 1 << card | 1 << back


@settings(max_examples=300)
@given(MOMENTS)
def test_after_the_same_move_twins_are_still_alike(moment: Moment) -> None:
    """Whoever moves, what a seat sees then, and whose turn it is, follows from what it saw and the move."""
    chosen, seed, moves = moment
    rules = rules_of(chosen)
    states, record = game_after(rules, seed, moves)
    state, options = states[0], record[0]
    snapshot = snapshot_of(state, rules)
    turn = int(state["turn"])
    low, high = engine.legal(state, options)
    action = Random(seed).choice(cards_of(low | high << ACTION_WORD))
    moved = states.copy()
    flags = engine.step(moved[0], options, action)
    for seat in range(rules.num_players):
        shown = seat == turn and not sees(snapshot, seat, seat)  # such a bid, or looking, shows the seat its hand
        for i, twin in enumerate(twins(states, record, snapshot, seat, seed)):
            if action < ACTION_WORD:
                give(twin[0], snapshot, turn, action, Random(seed + i))
            if not loops.is_legal(twin[0], options, action):
                assert turn != seat
                continue
            assert engine.step(twin[0], options, action) == flags
            assert course(twin[0]) == course(moved[0])
            # The scores of a finished round tell of revokes; marked right are those of the game's own twins alone.
            if not (shown or (flags and (i < 3 or seat != turn))):
                assert known(twin[0], options, seat) == known(moved[0], options, seat)


@given(MOMENTS)
def test_masks_name_no_hidden_card(moment: Moment) -> None:
    """A seat that does not see its hand is asked for bids alone; a round of one hidden card never asks for cards."""
    chosen, seed, moves = moment
    rules = rules_of(chosen)
    states, record = game_after(rules, seed, moves)
    snapshot = snapshot_of(states[0], rules)
    turn = snapshot["turn"]
    cards, others = engine.legal(states[0], record[0])
    if not sees(snapshot, turn, turn):
        assert snapshot["phase"] == "bid"
        assert cards == 0
        assert others != 0
    for seat in range(rules.num_players):
        shown = features.layout(rules.num_players).decode(seen(states[0], record[0], seat))
        assert shown["hand"] == (snapshot["hands"][seat] if sees(snapshot, seat, seat) else [])
        assert ("hidden hand" in shown["phase"]) == (not sees(snapshot, seat, seat))
        for i in range(1, rules.num_players):
            other = (seat + i) % rules.num_players
            played = {card for trick in [*snapshot["played"], snapshot["trick"]] for who, card in trick if who == other}
            visible = set(snapshot["hands"][other]) if sees(snapshot, seat, other) else set()
            assert set(shown[f"seen+{i}"]) == played | visible


TABLES: list[dict[str, Any]] = [
    {"max_hand": 3, "blind": "optional", "trump": "turn_up"},
    {"num_players": 3, "max_hand": 2, "blind": "forced", "single_card": "forehead"},
    {"num_players": 5, "max_hand": 2, "single_card": "forehead", "blind": "optional", "trump": "turn_up"},
    {"num_players": 6, "max_hand": 2, "single_card": "face_down", "schedule": "up", "pad_seats": True},
    {"num_players": 3, "max_hand": 17, "min_hand": 17, "revoke": "penalty", "scoring": "minus_difference"},
    {"num_players": 8, "max_hand": 2, "revoke": "penalty", "blind": "forced", "pad_seats": True},
    {"num_players": 7, "max_hand": 2, "reward": "win"},
]


def told(env: TableEnv, seat: int) -> tuple[Any, ...]:
    """All that PettingZoo's face tells a seat, the message for an illegal action included."""
    agent = env.possible_agents[seat]
    observation = env.observe(agent)
    message = ""
    if env.agent_selection == agent and not env.terminations[agent]:
        last = env.last()[0]
        assert all((last[key] == value).all() for key, value in observation.items())
        with pytest.raises(ValueError, match="legal: ") as error:
            env.step(int(np.argmin(observation["action_mask"])))
        message = str(error.value)
    return (
        {key: value.tobytes() for key, value in observation.items()},
        env.agent_selection,
        env.agents,
        env.rewards,
        env._cumulative_rewards,
        env.terminations,
        env.truncations,
        env.infos,
        env.history,
        message,
    )


@pytest.mark.parametrize("chosen", TABLES)
def test_no_leak_through_pettingzoo(chosen: dict[str, Any]) -> None:
    """At every move of a game, each seat is told the same by a copy in which all that it cannot know is different."""
    env = kachuful_v0.raw_env(**chosen)
    rng = Random(4)
    hidden_rounds = different = 0
    env.reset(seed=6)
    for _ in positions(env, rng):
        snapshot = env.snapshot()
        hidden = snapshot["hand_size"] == 1 and env.rules.single_card != "normal"
        hidden_rounds += hidden
        assert not (hidden and snapshot["phase"] == "play"), "a hidden card was asked for"
        masks = [env.observe(agent)["action_mask"] for agent in env.possible_agents]
        assert [bool(mask.any()) for mask in masks] == [seat == snapshot["turn"] for seat in range(len(masks))]
        if snapshot["turn"] is not None and not sees(snapshot, snapshot["turn"], snapshot["turn"]):
            assert not masks[snapshot["turn"]][:52].any()
        for seat in range(len(masks)):
            other = copy.deepcopy(env)
            scramble(other._states[0], snapshot, seat, rng)
            assert told(other, seat) == told(env, seat)
            different += other.snapshot()["hands"] != snapshot["hands"]
    assert different > len(env.history)
    assert (hidden_rounds > 0) == (env.rules.single_card != "normal")


def test_an_illegal_end_shows_nothing() -> None:
    """After an illegal action the cards stay hidden, and no mask names any."""
    for phase in ("bid", "play"):
        env = kachuful_v0.env(num_players=8, max_hand=6, blind="forced")
        env.reset(seed=1)
        while env.unwrapped.snapshot()["phase"] != phase:
            env.step(legal_actions(env)[0])
        env.step(int(np.argmin(env.last()[0]["action_mask"])))
        raw = env.unwrapped
        snapshot = raw.snapshot()
        assert snapshot["finished"]
        for seat in range(8):
            other = copy.deepcopy(raw)
            scramble(other._states[0], snapshot, seat, Random(seat))
            assert told(other, seat) == told(raw, seat)
            assert not raw.observe(f"player_{seat}")["action_mask"].any()


def test_no_leak_through_the_vector_face() -> None:
    vector = VectorEnv("kachuful", 20, 3, max_hand=2, blind="optional", single_card="forehead", trump="turn_up")
    rng = Random(1)
    batch = vector.reset(scatter=60)
    for _ in range(30):
        states = vector.get_state()
        before = [np.array(part) for part in (batch.observation, batch.action_mask, batch.turn)]
        changed = states.copy()
        for i in range(len(states)):
            scramble(changed[i], snapshot_of(states[i], vector.rules), int(states[i]["turn"]), rng)
        batch = vector.set_state(changed)
        for old, new in zip(before, (batch.observation, batch.action_mask, batch.turn), strict=True):
            assert (old == new).all()
        batch = vector.set_state(states)
        batch = vector.step(np.array([rng.choice(np.flatnonzero(row).tolist()) for row in batch.action_mask]))
