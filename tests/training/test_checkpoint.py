"""Checkpoints: what is written is read back, and nothing else is."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from envs.game import find_game
from envs.vector import VectorEnv
from training.checkpoint import (
    BEST,
    BEST_FILE,
    MANIFEST,
    POLICY,
    TRAINING,
    CheckpointError,
    describe,
    find_checkpoint,
    list_checkpoints,
    load_policy,
    load_training,
    mark_best,
    read_best,
    remove_older,
    save_checkpoint,
)
from training.network import PolicyNetwork, make_policy_network

GAME = find_game("kachuful")
RULES = GAME.make_rules(num_players=3, max_hand=2)


def make_network(seed: int = 0) -> PolicyNetwork:
    net = make_policy_network(GAME, 3, False, [16, 8], generator=torch.Generator().manual_seed(seed))
    for head in net.heads.parameters():
        torch.nn.init.normal_(head, generator=torch.Generator().manual_seed(seed))
    return net


def write(run: Path, decisions: int = 5, seconds: float = 0.0) -> Path:
    manifest = {**describe(GAME, RULES, False), "decisions": decisions, "seconds": seconds}
    return save_checkpoint(run, make_network(), manifest, {"games": torch.arange(7, dtype=torch.uint8)})


def test_round_trip(tmp_path: Path) -> None:
    folder = write(tmp_path / "run")
    assert sorted(path.name for path in folder.iterdir()) == [MANIFEST, POLICY, TRAINING]
    for path in (folder, tmp_path / "run", str(folder)):
        policy = load_policy(path)
        assert policy.game is GAME
        assert GAME.make_rules(**policy.rules) == RULES
        assert policy.rules["num_players"] == 3
        assert not policy.pad_seats
        assert policy.decisions == 5
        expected = make_network().state_dict()
        assert all(torch.equal(tensor, expected[name]) for name, tensor in policy.network.state_dict().items())
    entries, _, training = load_training(folder)
    assert entries["game"] == "kachuful"
    assert training["games"].tolist() == list(range(7))


def test_the_last_one_counts(tmp_path: Path) -> None:
    for decisions in (900, 10_000, 30):
        write(tmp_path, decisions)
    assert [int(folder.name) for folder in list_checkpoints(tmp_path)] == [30, 900, 10_000]
    assert load_policy(tmp_path).decisions == 10_000
    (find_checkpoint(tmp_path) / MANIFEST).unlink()
    assert load_policy(tmp_path).decisions == 900


def test_writing_again_replaces(tmp_path: Path) -> None:
    write(tmp_path)
    write(tmp_path)
    assert len(list_checkpoints(tmp_path)) == 1
    assert load_policy(tmp_path).decisions == 5


def test_an_interrupted_write_is_no_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 1)

    def fail(_self: Path, _target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path, 2)
    assert load_policy(tmp_path).decisions == 1
    monkeypatch.undo()
    write(tmp_path, 2)
    assert load_policy(tmp_path).decisions == 2


def test_remove_older_keeps_one_of_each_span(tmp_path: Path) -> None:
    for k, seconds in enumerate((1, 5, 9, 11, 15, 31)):
        write(tmp_path, k, seconds)
    remove_older(tmp_path, 10)
    assert [int(folder.name) for folder in list_checkpoints(tmp_path)] == [2, 4, 5]


def test_the_best_one_is_kept_and_has_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tmp_path / "run"
    folders = [write(run, k, k) for k in range(5)]
    assert read_best(run) is None
    mark_best(run, folders[1], {"win_share": 0.5})
    assert read_best(run) == {"checkpoint": folders[1].name, "win_share": 0.5}
    remove_older(run, 10)
    assert [int(folder.name) for folder in list_checkpoints(run)] == [1, 4]
    assert load_policy(run / BEST).decisions == 1
    assert load_policy(run).decisions == 4
    mark_best(run, folders[4], {})
    assert load_policy(run / BEST).decisions == 4
    remove_older(run, 10)
    assert [int(folder.name) for folder in list_checkpoints(run)] == [4]
    assert [path.name for path in (run / BEST).iterdir()] == [BEST_FILE]
    run.rename(tmp_path / "moved")
    monkeypatch.chdir(tmp_path / "moved")
    assert find_checkpoint(BEST) == Path("checkpoints") / folders[4].name


@pytest.mark.parametrize("text", ["", "{", "[1]", "{}", '{"checkpoint": 3}', '{"checkpoint": "../../other"}'])
def test_a_best_one_that_is_not_there(tmp_path: Path, text: str) -> None:
    run = tmp_path / "run"
    write(run, 1)
    write(tmp_path / "other", 2)
    (run / BEST).mkdir()
    (run / BEST / BEST_FILE).write_text(text)
    with pytest.raises(CheckpointError, match=r"no checkpoint at \S+: best.json names none that is there"):
        find_checkpoint(run / BEST)
    remove_older(run, 10)
    assert load_policy(run).decisions == 1


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 1)
    (tmp_path / "checkpoints" / ".000000000009.new").mkdir()  # what a process that was killed has left

    def full(_self: Path, _target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write(tmp_path, 2)
    assert caught.value.filename == str(tmp_path / "checkpoints" / "000000000002")
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["000000000001"]


def batch_of_decisions(count: int) -> tuple[np.ndarray, np.ndarray]:
    env = VectorEnv(GAME, count, 3, num_players=3, max_hand=2)
    batch = env.reset(scatter=20)
    return batch.observation, batch.action_mask


def test_act_is_legal_and_follows_the_policy(tmp_path: Path) -> None:
    write(tmp_path)
    policy = load_policy(tmp_path)
    observation, mask = batch_of_decisions(300)
    rows = np.arange(300)
    greedy = policy.act(observation, mask)
    assert greedy.dtype == np.int64
    assert mask[rows, greedy].all()
    logits = policy.network(torch.from_numpy(observation))[0].detach().numpy()
    assert (greedy == np.where(mask, logits, -np.inf).argmax(axis=1)).all()
    drawn = policy.act(observation, mask, False, torch.Generator().manual_seed(1))
    again = policy.act(observation, mask, False, torch.Generator().manual_seed(1))
    assert mask[rows, drawn].all()
    assert (drawn == again).all()
    assert (drawn != greedy).any()


def test_act_draws_with_the_right_frequencies(tmp_path: Path) -> None:
    write(tmp_path)
    policy = load_policy(tmp_path)
    observation, mask = (np.repeat(array[:1], 20_000, axis=0) for array in batch_of_decisions(1))
    logits = policy.network(torch.from_numpy(observation[:1]))[0].detach().numpy()[0]
    chances = np.where(mask[0], np.exp(logits), 0)
    chances /= chances.sum()
    drawn = policy.act(observation, mask, False, torch.Generator().manual_seed(0))
    found = np.bincount(drawn, minlength=len(chances)) / len(drawn)
    assert (np.abs(found - chances) <= 5 * np.sqrt(chances / len(drawn))).all()


def change(**entries: object) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        path = folder / MANIFEST
        path.write_text(json.dumps({**json.loads(path.read_text()), **entries}))

    return apply


def drop(key: str) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        path = folder / MANIFEST
        entries = json.loads(path.read_text())
        del entries[key]
        path.write_text(json.dumps(entries))

    return apply


def foreign_weights(folder: Path) -> None:
    save_file({"weight": torch.zeros(3)}, folder / POLICY)


def truncate(folder: Path) -> None:
    path = folder / POLICY
    path.write_bytes(path.read_bytes()[:-50])


class Trap:
    """Would leave a file behind if anything unpickled it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


def pickled(folder: Path) -> None:
    (folder / POLICY).write_bytes(pickle.dumps(Trap(folder / "trapped")))


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda folder: (folder / POLICY).unlink(), "is missing"),
        (truncate, "is damaged"),
        (foreign_weights, "is damaged"),
        (pickled, "is damaged"),
        (lambda folder: (folder / MANIFEST).write_text("{"), "cannot be read"),
        (lambda folder: (folder / MANIFEST).write_bytes(b"\xff\xfe"), "cannot be read"),
        (lambda folder: (folder / MANIFEST).write_text("[1, 2]"), "is not a checkpoint"),
        (lambda folder: (folder / MANIFEST).write_text('{"model": 1}'), "is not a checkpoint"),
        (change(format="taash-checkpoint-0"), "is not a checkpoint of this version"),
        (change(game="chess"), "no game 'chess'"),
        (change(game=3), "no game 3"),
        (change(rules={"num_players": 99}), "num_players"),
        (change(rules=[1]), "does not fit"),
        (change(rules={"num_players": 4, "max_hand": 2}), "its features are not those of Kachuful"),
        (change(features={"count": 3, "sha256": ""}), "its features are not those of Kachuful"),
        (change(actions={"count": 3, "sha256": ""}), "its actions are not those of Kachuful"),
        (change(network={"hidden": [10**9], "suits": "ranked"}), "its layers have the widths"),
        (change(network={"hidden": "wide", "suits": "fixed"}), "its layers have the widths"),
        (change(network=None), "does not fit"),
        (change(parts={}), "cannot be read"),
        (drop("rules"), "'rules' is missing"),
        (drop("parts"), "cannot be read"),
    ],
)
def test_bad_checkpoints(tmp_path: Path, spoil: Callable[[Path], None], text: str) -> None:
    folder = write(tmp_path)
    spoil(folder)
    with pytest.raises(CheckpointError) as caught:
        load_policy(folder)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (folder / "trapped").exists()


def test_weights_that_are_not_finite(tmp_path: Path) -> None:
    net = make_network()
    with torch.no_grad():
        net.value.bias.fill_(torch.nan)
    save_checkpoint(tmp_path, net, {**describe(GAME, RULES, False), "decisions": 1}, {})
    with pytest.raises(CheckpointError, match="not finite"):
        load_policy(tmp_path)


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir(), lambda path: path.write_text("x")])
def test_places_without_a_checkpoint(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "place"
    make(path)
    with pytest.raises(CheckpointError, match="no checkpoint at"):
        load_policy(path)
