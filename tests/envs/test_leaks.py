"""Nothing hidden leaks in any variant of Kachuful, and nothing that a seat may know is kept from it.

Twins are states that differ only in what one seat cannot know. Some are drawn by the game itself; others are made here
by brute force: all cards the seat does not see are dealt anew, the marks of revokes flipped, the seed changed.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from playing import legal_actions, positions
from variants import Snapshot, game_after, hidden_seats, options, rules_of, sample, sees, snapshot_of, stock_of

from envs import kachuful_v0, loops
from envs.aec import TableEnv
from envs.cards import card_number, cards_of, mask_of
from envs.game import ACTION_WORD, SEATS
from envs.kachuful import GAME, engine, features, knowledge
from envs.kachuful.rules import SCORINGS
from envs.layout import Layout
from envs.vector import VectorEnv

MOMENTS = st.tuples(options(), st.integers(0, 10**6), st.integers(0, 150))


def seen(state: Any, rules: Any, seat: int, wide: bool = False) -> np.ndarray:
    """Features of a seat."""
    out = np.zeros(features.layout(int(rules["num_players"]), wide).size, np.uint8)
    features.features(state, rules, seat, wide, out, 0)
    return out


def known(state: Any, rules: Any, seat: int) -> tuple[bytes, ...]:
    """All that a seat is given: its features in both layouts, and its redacted record."""
    redacted = np.array([state])
    knowledge.redact(redacted[0], rules, seat)
    return seen(state, rules, seat).tobytes(), seen(state, rules, seat, True).tobytes(), redacted.tobytes()


def course(state: Any) -> tuple[int, ...]:
    """Where the game stands, for everyone to see."""
    return tuple(int(state[name]) for name in ("turn", "phase", "finished", "round", "dealer"))


def scramble(state: Any, snapshot: Snapshot, seat: int, rng: Random) -> None:
    """Deal anew, in place, all cards that a seat does not see; mark revokes and choose the seed at random."""
    seats = hidden_seats(snapshot, seat)
    pool = [card_number(card) for card in sorted(stock_of(snapshot))]
    pool += [card_number(card) for other in seats for card in snapshot["hands"][other]]
    rng.shuffle(pool)
    for other in seats:
        count = len(snapshot["hands"][other])
        state["hands"][other] = mask_of(pool[:count])
        pool = pool[count:]
    state["revoked"] = rng.getrandbits(len(snapshot["hands"]))
    state["seed"] = rng.getrandbits(60)
    state["game"] = rng.getrandbits(20)


def twins(states: np.ndarray, record: np.ndarray, snapshot: Snapshot, seat: int, key: int) -> list[np.ndarray]:
    """Arrays of one state each that a seat cannot tell from the given one, half of them drawn by the game itself."""
    made = [states.copy() for _ in range(3)]
    for i, twin in enumerate(made):
        scramble(twin[0], snapshot, seat, Random(key + i))
    drawn = sample(states, record, seat, key, 3)
    return made + [drawn[i : i + 1] for i in range(3)]


@settings(max_examples=200)
@given(MOMENTS)
def test_what_is_hidden_changes_nothing(moment: tuple[dict[str, Any], int, int]) -> None:
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
def test_after_the_same_move_twins_are_still_alike(moment: tuple[dict[str, Any], int, int]) -> None:
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
def test_masks_name_no_hidden_card(moment: tuple[dict[str, Any], int, int]) -> None:
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


# What must show. Each change makes one visible thing different, in place, and returns the blocks that may say so; None
# where it does not apply.
Change = Callable[[Any, Any, Snapshot, int, Random], set[str] | None]


def _hidden_card(snapshot: Snapshot, rng: Random) -> int | None:
    stock = sorted(stock_of(snapshot))
    return card_number(rng.choice(stock)) if stock else None


def _change_hand(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
    other = rng.randrange(len(snapshot["hands"]))
    card = _hidden_card(snapshot, rng)
    if not sees(snapshot, seat, other) or not snapshot["hands"][other] or card is None:
        return None
    old = card_number(rng.choice(snapshot["hands"][other]))
    state["hands"][other] ^= 1 << old | 1 << card
    return {"hand" if other == seat else "seen"}


def _change_played(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
    card = _hidden_card(snapshot, rng)
    if card is None:
        return None
    state["played"][rng.randrange(len(snapshot["hands"]))] |= 1 << card
    return {"seen"}


def _change_log(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
    card = _hidden_card(snapshot, rng)
    if not snapshot["trick"] or card is None:
        return None
    state["log"][int(state["count"]) - 1] = card
    return {"trick"}


def _change_best(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
    if not snapshot["trick"]:
        return None
    state["best"] = (int(state["best"]) + 1) % 52
    return {"best"}


def _change_bid(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
    other = rng.randrange(len(snapshot["hands"]))
    bid = int(state["bids"][other])
    if other == seat and (bid < 0 or snapshot["blind"][seat]):  # a blind bid shows the hand as well
        return None
    state["bids"][other] = bid - 1 if bid > 0 else bid + 1
    return {"bid", "needs"}


def _change_tricks(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
    other = rng.randrange(len(snapshot["hands"]))
    won = int(state["tricks"][other])
    state["tricks"][other] = won - 1 if won > 0 else won + 1
    return {"won", "needs"}


def _change_hand_size(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
    size = snapshot["hand_size"]
    if size < 3:  # a round of one card may hide it
        return None
    state["hand_size"] = size - 1
    return {"hand_size", "surplus"}


def _change_turned(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
    turned = int(state["turned"])
    if turned < 0:
        return None
    state["turned"] = turned // 13 * 13 + (turned + 1) % 13 if rng.random() < 0.5 else -1
    return {"turned"}


def _change_surplus(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
    surplus = int(state["bid_total"]) - snapshot["hand_size"]
    if abs(surplus) > features.SURPLUS:
        return None
    state["bid_total"] += -1 if surplus > 0 else 1
    return {"surplus"}


def _change_score(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
    other = rng.randrange(len(snapshot["hands"]))
    state["scores"][other] += 300
    return {"margin"}


def _change_round(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
    last = int(rules["rounds"]) - 1
    if last == 0:
        return None
    state["round"] = last if snapshot["round"] < last else last - 1
    return {"rounds_left"}


def _change_phase(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
    state["phase"] = {engine.BID: engine.PLAY, engine.PLAY: engine.BID}[int(state["phase"])]
    return {"phase"}


def _next_value(name: str, block: str, size: int = 0) -> Change:
    """Change a field to another of its values 0..size-1 (a seat where 0); -1 means that it says nothing now."""

    def change(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
        if int(state[name]) < 0:
            return None
        state[name] = (int(state[name]) + 1) % (size or len(snapshot["hands"]))
        return {block}

    return change


def _flip_bit(name: str, block: str) -> Change:
    """Change a seat's mark."""

    def change(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
        other = rng.randrange(len(snapshot["hands"]))
        if name == "looked" and other == seat:  # shows the hand as well
            return None
        state[name] ^= 1 << other
        return {block}

    return change


def _flip_void(state: Any, rules: Any, snapshot: Snapshot, seat: int, rng: Random) -> set[str] | None:
    state["voids"][rng.randrange(len(snapshot["hands"]))] ^= 1 << rng.randrange(4)
    return {"void"}


CHANGES: dict[str, Change] = {
    "hands": _change_hand,
    "played": _change_played,
    "log": _change_log,
    "best": _change_best,
    "best_seat": _next_value("best_seat", "winning"),
    "led": _next_value("led", "led", 4),
    "voids": _flip_void,
    "bids": _change_bid,
    "tricks": _change_tricks,
    "blind": _flip_bit("blind", "blind"),
    "looked": _flip_bit("looked", "blind"),
    "hand_size": _change_hand_size,
    "trump": _next_value("trump", "trump", 5),
    "turned": _change_turned,
    "bid_total": _change_surplus,
    "dealer": _next_value("dealer", "dealer"),
    "leader": _next_value("leader", "leader"),
    "phase": _change_phase,
    "scores": _change_score,
    "round": _change_round,
}
HIDDEN = {"revoked", "seed", "game"}
"""Fields that no seat may know; `hands` are partly so."""
IMPLIED = {"turn", "bid_count", "trick_size", "trick", "count", "finished"}
"""Fields that follow from those that show: who bid or led, the bids made, the tricks won."""
FORGOTTEN = {"moves", "gained", "leaders"}
"""Fields about the past that no rule reads again: moves made, points of the last round, who led finished tricks."""


def test_every_field_is_accounted_for() -> None:
    assert set(GAME.state.names or ()) == set(CHANGES) | HIDDEN | IMPLIED | FORGOTTEN


def changed_blocks(layout: Layout, first: np.ndarray, second: np.ndarray) -> set[str]:
    """Names, without the seat, of the blocks in which two feature vectors differ."""
    return {re.sub(r"\+\d$", "", layout.names[i].partition("=")[0]) for i in np.flatnonzero(first != second)}


@pytest.mark.parametrize("field", CHANGES)
@given(moment=MOMENTS, seat=st.integers(0, SEATS - 1))
def test_what_is_visible_shows(field: str, moment: tuple[dict[str, Any], int, int], seat: int) -> None:
    chosen, seed, moves = moment
    rules = rules_of({**chosen, "trump": "turn_up"} if field == "turned" else chosen)
    states, record = game_after(rules, seed, moves)
    seat %= rules.num_players
    snapshot = snapshot_of(states[0], rules)
    changed = states.copy()
    blocks = CHANGES[field](changed[0], record[0], snapshot, seat, Random(seed))
    assume(blocks is not None)
    for wide in (False, True):
        first, second = (seen(state[0], record[0], seat, wide) for state in (states, changed))
        found = changed_blocks(features.layout(rules.num_players, wide), first, second)
        assert found
        assert found <= (blocks or set())


SHOWN_OPTIONS: list[tuple[str, list[int]]] = [
    ("scoring", list(range(len(SCORINGS)))),
    ("hook", [0, 1]),
    ("blind_doubles", [engine.DOUBLES_SCORE, engine.DOUBLES_BONUS]),
    ("revoke", [engine.MASKED, engine.PENALTY]),
    ("blind", [engine.BLIND_OFF, engine.BLIND_OPTIONAL, engine.BLIND_FORCED]),
    ("single_card", [engine.NORMAL, engine.FOREHEAD, engine.FACE_DOWN]),
]


@given(MOMENTS)
def test_options_that_matter_to_play_show(moment: tuple[dict[str, Any], int, int]) -> None:
    chosen, seed, moves = moment
    rules = rules_of(chosen)
    states, record = game_after(rules, seed, moves)
    for name, values in SHOWN_OPTIONS:
        for wide in (False, True):
            vectors = []
            for value in values:
                other = record.copy()
                other[name] = value
                vectors.append(seen(states[0], other[0], 0, wide).tobytes())
            assert len(set(vectors)) == len(values)


def test_the_number_of_seats_shows_in_the_wide_layout() -> None:
    """Seats that are not there have no margin, while those that are show at least a draw."""
    vectors = {
        n: seen(*(array[0] for array in game_after(rules_of({"num_players": n}), 1, 0)), 0, True) for n in range(3, 9)
    }
    for n, vector in vectors.items():
        shown = features.layout(n, True).decode(vector)
        assert [bool(shown[f"margin+{i}"]) for i in range(1, SEATS)] == [i < n for i in range(1, SEATS)]
