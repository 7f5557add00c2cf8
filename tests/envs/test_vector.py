"""VectorEnv: threads, padding, players, snapshots of records, errors. (Equality with AEC: test_faces.py.)"""

from __future__ import annotations

import pickle
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from envs.kachuful import GAME, engine
from envs.vector import PLAYER_ASK, PLAYER_RANDOM, VectorEnv


def first_legal(batch: Any, shift: int = 0) -> np.ndarray:
    """A legal action in each game, another one for each `shift`."""
    count = batch.action_mask.sum(axis=1)
    rank = np.cumsum(batch.action_mask, axis=1) - 1
    wanted = shift % np.maximum(count, 1)
    return np.argmax(batch.action_mask & (rank == wanted[:, None]), axis=1)


def copy(batch: Any) -> list[np.ndarray]:
    return [array.copy() for array in batch]


def test_shapes_and_types() -> None:
    env = VectorEnv("kachuful", 3, seed=5, state=True, statistics=True)
    batch = env.reset()
    layout = GAME.layout(4, False)
    assert batch.observation.shape == (3, layout.size)
    assert batch.observation.dtype == np.uint8
    assert batch.action_mask.shape == (3, 89)
    assert batch.action_mask.dtype == np.bool_
    assert batch.rewards.shape == (3, 4)
    assert batch.rewards.dtype == np.float32
    assert batch.state.shape == (3, GAME.state_layout(4, False).size)
    assert batch.statistics.shape == (3, 4, len(GAME.statistics))
    assert batch.turn.shape == batch.round_over.shape == batch.game_over.shape == batch.truncated.shape == (3,)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_nothing(threads: int) -> None:
    one = VectorEnv("kachuful", 7, seed=1, num_players=3, state=True)
    many = VectorEnv("kachuful", 7, seed=1, num_players=3, state=True, num_threads=threads)
    a, b = one.reset(), many.reset()
    for step in range(400):
        for left, right in zip(a, b, strict=True):
            assert (left == right).all()
        actions = first_legal(a, step)
        a, b = one.step(actions), many.step(actions)


def test_next_game_begins_in_the_same_step() -> None:
    env = VectorEnv("kachuful", 1, seed=4, max_hand=1)
    batch = env.reset()
    for _ in range(8):
        assert not batch.game_over[0]
        batch = env.step(first_legal(batch))
    assert batch.game_over[0]
    assert batch.round_over[0]
    assert batch.action_mask.any()
    assert int(env.get_state()["game"][0]) == 1
    assert abs(batch.rewards.sum()) < 1e-5
    assert batch.rewards.any()


def test_without_restart_games_stay_ended() -> None:
    env = VectorEnv("kachuful", 2, seed=4, max_hand=1, restart=False)
    batch = env.reset()
    for _ in range(8):
        batch = env.step(first_legal(batch))
    assert batch.game_over.all()
    batch = env.step(np.full(2, -7))
    assert not batch.game_over.any()
    assert not batch.action_mask.any()
    assert (batch.turn == -1).all()
    assert (env.get_state()["finished"] == 1).all()


def test_get_and_set_state() -> None:
    env = VectorEnv("kachuful", 5, seed=3)
    batch = env.reset()
    for step in range(50):
        batch = env.step(first_legal(batch, step))
    saved, seen = env.get_state(), copy(batch)
    for step in range(30):
        env.step(first_legal(env.step(first_legal(batch, step)), step))
    again = env.set_state(saved)
    assert (again.observation == seen[0]).all()
    assert (again.action_mask == seen[1]).all()
    assert env.get_state().tobytes() == saved.tobytes()
    with pytest.raises(ValueError, match="shape"):
        env.set_state(saved[:2])


def test_copies_and_pickles_go_on_alike() -> None:
    env = VectorEnv("kachuful", 5, seed=3, num_threads=2)
    batch = env.reset()
    for step in range(50):
        batch = env.step(first_legal(batch, step))
    for twin in (deepcopy(env), pickle.loads(pickle.dumps(env))):
        again = twin.step(first_legal(batch, 7))
        assert env.get_state().tobytes() != twin.get_state().tobytes()
        seen, states = copy(again), twin.get_state()
        before = env.get_state()
        assert all((a == b).all() for a, b in zip(seen, env.step(first_legal(batch, 7)), strict=True))
        assert env.get_state().tobytes() == states.tobytes()
        batch = env.set_state(before)


def test_illegal_action_moves_no_game() -> None:
    env = VectorEnv("kachuful", 3, seed=3)
    batch = env.reset()
    actions = first_legal(batch)
    before = env.get_state()
    for bad in (0, 88, 89, -1, 10**9):
        actions[1] = bad
        with pytest.raises(ValueError, match=r"in game 1 is illegal; legal: bid 0, bid 1"):
            env.step(actions)
        assert env.get_state().tobytes() == before.tobytes()


def test_other_players_move_inside_a_step() -> None:
    """With built-in players only the asked seat is asked, rewards of all rounds add up to its margin."""
    players = np.array([PLAYER_ASK, PLAYER_RANDOM, 1, 1], np.int8)
    env = VectorEnv("kachuful", 4, seed=2, players=players, restart=False, skip_forced=True, statistics=True)
    batch = env.reset()
    total, rounds = np.zeros((4, 4)), np.zeros(4, int)
    points = np.zeros((4, 4))
    for step in range(1000):
        if (batch.turn < 0).all():
            break
        playing = batch.turn >= 0
        assert (batch.turn[playing] == 0).all()
        assert (batch.action_mask[playing].sum(axis=1) > 1).all()
        batch = env.step(first_legal(batch, step))
        total += batch.rewards
        rounds += batch.rounds
        points += batch.statistics[:, :, GAME.statistics.index("points")]
    scores = env.get_state()["scores"][:, :4]
    assert (rounds == 19).all()
    assert (points == scores).all()
    assert np.allclose(total, scores - (scores.sum(axis=1, keepdims=True) - scores) / 3, atol=1e-3)


def test_rewards_by_kind() -> None:
    """reward = score, margin, win (win share minus 1/n)."""
    totals = {}
    for kind in ("score", "margin", "win"):
        env = VectorEnv("kachuful", 6, seed=8, restart=False, reward=kind)
        batch = env.reset()
        total = np.zeros((6, 4))
        step = 0
        while (batch.turn >= 0).any():
            batch = env.step(first_legal(batch, step))
            total += batch.rewards
            step += 1
        totals[kind] = total
    scores = env.get_state()["scores"][:, :4]
    best = scores == scores.max(axis=1, keepdims=True)
    assert (totals["score"] == scores).all()
    assert np.allclose(totals["margin"], (4 * scores - scores.sum(axis=1, keepdims=True)) / 3, atol=1e-3)
    assert np.allclose(totals["win"], best / best.sum(axis=1, keepdims=True) - 0.25)


def test_scatter_staggers_the_games() -> None:
    env = VectorEnv("kachuful", 200, seed=8)
    env.reset(scatter=700)
    assert len(np.unique(env.get_state()["round"])) > 10
    first = env.get_state()
    env.reset(scatter=700)
    assert env.get_state().tobytes() == first.tobytes()


def test_padded_seats_fit_all_tables() -> None:
    sizes = {VectorEnv("kachuful", 1, num_players=n, pad_seats=True).num_features for n in range(3, 9)}
    assert len(sizes) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"game": "bridge"}, "no game 'bridge'; choose one of"),
        ({"num_envs": 0}, "num_envs=0"),
        ({"num_threads": 0}, "num_threads=0"),
        ({"seed": -1}, "seed=-1"),
        ({"players": np.zeros(3, np.int8)}, "players has shape"),
        ({"players": np.zeros(4, np.int8)}, "without a seat to ask"),
        ({"players": np.full(4, 9, np.int8)}, "beyond"),
        ({"scoring": "none"}, "scoring='none'"),
    ],
)
def test_bad_arguments(options: dict[str, Any], message: str) -> None:
    arguments = {"game": "kachuful", "num_envs": 2, **options}
    with pytest.raises(ValueError, match=message):
        VectorEnv(**arguments)


def test_wrong_number_of_actions() -> None:
    env = VectorEnv("kachuful", 2)
    env.reset()
    with pytest.raises(ValueError, match=r"actions has shape \(3,\)"):
        env.step(np.zeros(3, np.int64))


def test_same_deals_whatever_is_played() -> None:
    """Duplicate deals: the deal depends on seed and round alone."""
    hands = []
    for shift in (0, 1):
        env = VectorEnv("kachuful", 3, seed=6)
        batch = env.reset()
        seen = {}
        for step in range(300):
            batch = env.step(first_legal(batch, shift * step))
            state = env.get_state()
            for i in range(3):
                cards = tuple(state["hands"][i, :4] | state["played"][i, :4])
                seen.setdefault((i, int(state["round"][i])), cards)
        hands.append(seen)
    common = set(hands[0]) & set(hands[1])
    assert len(common) > 15
    assert all(hands[0][key] == hands[1][key] for key in common)
    assert engine.NUM_ACTIONS == 89


def test_an_illegal_end_leaves_no_mask() -> None:
    """A record that an illegal action has ended shows nobody's cards, whatever its phase."""
    env = VectorEnv("kachuful", 1, num_players=8, restart=False)
    batch = env.reset()
    for step in range(12):
        batch = env.step(first_legal(batch, step))
    ended = env.get_state()
    ended["turn"], ended["finished"] = -1, 1
    assert not env.set_state(ended).action_mask.any()
