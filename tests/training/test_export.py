"""Policies as ONNX models: what a runtime computes is what PyTorch computes, and nothing is overwritten."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scripting import run_script
from untrained import RULES, untrained_run

import training.export
from envs.game import find_game
from envs.vector import VectorEnv
from training.checkpoint import load_policy

WHY = "needs onnx and onnxruntime: pip install 'taash[export]'"
onnxruntime: Any = pytest.importorskip("onnxruntime", reason=WHY)
onnx: Any = pytest.importorskip("onnx", reason=WHY)

SCRIPT = Path(__file__).parents[2] / "scripts" / "export.py"


def export(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """Run the script; returns its exit code."""
    return run_script(monkeypatch, "export.py", *arguments)


@pytest.mark.parametrize("pad_seats", [False, True])
@pytest.mark.parametrize("game", RULES)
def test_round_trip(
    game: str, pad_seats: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = untrained_run(tmp_path / "run", game, pad_seats)
    path = tmp_path / "model.onnx"
    assert export(monkeypatch, run, "--out", path) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert f"model: {path} ({path.stat().st_size:,} bytes)" in shown.out
    assert float(shown.out.rpartition(": ")[2]) < 1e-4
    assert sorted(os.listdir(tmp_path)) == ["model.onnx", "run"]

    policy = load_policy(run)
    session = onnxruntime.InferenceSession(path)
    env = VectorEnv(game, 40, 3, pad_seats=pad_seats, **policy.rules)
    batch = env.reset(scatter=60)
    assert [(put.name, put.type) for put in session.get_inputs()] == [
        ("observation", "tensor(uint8)"),
        ("action_mask", "tensor(bool)"),
    ]
    for rows in (1, 40):
        observation, mask = batch.observation[:rows], batch.action_mask[:rows]
        logits, action, value = session.run(None, {"observation": observation, "action_mask": mask})
        with torch.inference_mode():
            wanted, values = policy.network(torch.from_numpy(observation))
        assert (np.isneginf(logits) == ~mask).all()
        np.testing.assert_allclose(logits[mask], wanted.numpy()[mask], atol=1e-5)
        np.testing.assert_allclose(value, values.numpy(), atol=1e-5)
        assert (action == policy.act(observation, mask)).all()
        assert (logits.dtype, action.dtype, value.dtype) == (np.float32, np.int64, np.float32)
        assert (logits.shape, action.shape, value.shape) == (mask.shape, (rows,), (rows,))


def test_the_metadata_say_what_it_is_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run = untrained_run(tmp_path / "run", "kachuful")
    assert export(monkeypatch, run, "--out", tmp_path / "model.onnx") == 0
    model = onnx.load(tmp_path / "model.onnx")
    found = {entry.key: entry.value for entry in model.metadata_props}
    game = find_game("kachuful")
    layout = game.layout(3, False)
    assert found["game"] == "kachuful"
    assert found["format"] == training.export.FORMAT
    rules = json.loads(found["rules"])
    assert game.make_rules(**rules) == game.make_rules(**RULES["kachuful"])
    assert json.loads(found["features"])["count"] == layout.size
    assert len(json.loads(found["features"])["sha256"]) == 64
    blocks = json.loads(found["feature_blocks"])
    assert sum(width for _, _, width in blocks) == layout.size
    assert {name: at for name, at, _ in blocks} == layout.offsets
    assert json.loads(found["action_names"]) == [game.action_name(action) for action in range(game.num_actions)]
    assert json.loads(found["pad_seats"]) is False
    assert json.loads(found["decisions"]) == 5
    assert json.loads(found["config"])["seed"] == 0
    assert {put.name for put in (*model.graph.input, *model.graph.output) if put.doc_string} == {
        *training.export.INPUTS,
        *training.export.OUTPUTS,
    }


def test_what_is_wrong_takes_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = untrained_run(tmp_path / "run", "kachuful")
    old = tmp_path / "old.onnx"
    old.write_text("an older model")
    new = tmp_path / "new.onnx"
    for arguments, message in (
        ([tmp_path / "none", "--out", new], f"no checkpoint at {tmp_path / 'none'}: no such folder"),
        ([tmp_path, "--out", new], "it is neither a checkpoint folder nor a run that has one"),
        ([run, "--out", old], f"{old} already exists and is never overwritten"),
        ([run, "--out", tmp_path], f"cannot write {tmp_path}: it is a directory"),
        ([run, "--out", tmp_path / "no" / "new.onnx"], "No such file or directory"),
        ([run], "arguments are required: out"),
        ([run, "--out", new, "--tolerance", "-1"], "--tolerance -1.0 is not possible"),
        ([run, "--out", new, "--seed", "-1"], "--seed -1 is not possible"),
    ):
        assert export(monkeypatch, *arguments) == 2
        shown = capsys.readouterr()
        assert message in shown.err
        assert shown.err.startswith("export.py: ")
        assert shown.err.count("\n") == 1
        assert shown.out == ""
    assert old.read_text() == "an older model"
    assert sorted(os.listdir(tmp_path)) == ["old.onnx", "run"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_only_be_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = untrained_run(tmp_path / "run", "kachuful")
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o555)
    assert export(monkeypatch, run, "--out", folder / "model.onnx") == 2
    assert f"cannot write {folder / 'model.onnx'}: Permission denied" in capsys.readouterr().err


def test_a_folder_that_refuses(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same where root runs the tests."""
    run = untrained_run(tmp_path / "run", "kachuful")

    def refuse(self: Path, *_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "touch", refuse)
    assert export(monkeypatch, run, "--out", tmp_path / "model.onnx") == 2
    shown = capsys.readouterr().err
    assert shown == f"export.py: cannot write {tmp_path / 'model.onnx'}: Permission denied\n"


@pytest.mark.parametrize("name", ["onnx", "onnxruntime"])
def test_a_missing_package_is_named(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = untrained_run(tmp_path / "run", "kachuful")
    monkeypatch.setitem(sys.modules, name, None)
    assert export(monkeypatch, run, "--out", tmp_path / "model.onnx") == 2
    shown = capsys.readouterr().err
    assert "exporting needs onnx and onnxruntime" in shown
    assert "pip install 'taash[export]'" in shown
    assert shown.count("\n") == 1
    assert os.listdir(tmp_path) == ["run"]


def test_a_model_that_differs_is_not_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = untrained_run(tmp_path / "run", "kachuful")
    built = training.export.build_model

    def build_another(policy: Any, manifest: Any) -> bytes:
        model = onnx.load_from_string(built(policy, manifest))
        bias = next(tensor for tensor in model.graph.initializer if len(tensor.dims) == 1)
        values = onnx.numpy_helper.to_array(bias) + 0.5
        bias.CopyFrom(onnx.numpy_helper.from_array(values.astype(np.float32), bias.name))
        return model.SerializeToString()  # type: ignore[no-any-return]

    monkeypatch.setattr(training.export, "build_model", build_another)
    assert export(monkeypatch, run, "--out", tmp_path / "model.onnx") == 1
    shown = capsys.readouterr()
    assert "model.onnx is not written: ONNX Runtime and PyTorch differ by" in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""
    assert os.listdir(tmp_path) == ["run"]


def test_a_file_that_appears_meanwhile_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = untrained_run(tmp_path / "run", "kachuful")
    path = tmp_path / "model.onnx"

    def difference(*_: Any, **__: Any) -> float:
        path.write_text("of somebody else")
        return 0.0

    monkeypatch.setattr(training.export, "difference", difference)
    assert export(monkeypatch, run, "--out", path) == 1
    assert capsys.readouterr().err == f"export.py: {path} exists by now and is left alone\n"
    assert path.read_text() == "of somebody else"
    assert sorted(os.listdir(tmp_path)) == ["model.onnx", "run"]
