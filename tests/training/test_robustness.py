"""What may happen to a run: kills, Ctrl-C, full disks, damaged and foreign files, folders that cannot be written."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tensorboard.summary.writer.record_writer import RecordWriter
from test_train import ROOT, TINY, Line, start, train

from training.checkpoint import MANIFEST, POLICY, TRAINING, list_checkpoints, load_policy, read_best

__all__ = ["train"]
posix = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
ALL = [
    *TINY,
    *("--network.critic", "deal", "--network.critic_hidden", "[16]", "--auxiliary.outcome", "0.5"),
    *("--auxiliary.holders", "0.3", "--auxiliary.bids", "0.2", "--ppo.average", "0.1", "--ppo.average_decay", "0.9"),
    *("--rollout.opponents", '{"self": 1, "snapshot": 1, "heuristic": 1}', "--rollout.snapshots", "2"),
    *("--rollout.snapshot_decisions", "600", "--ppo.entropy", '{"bid": 0.05, "card": 0.01}'),
    *(
        "--rollout.lookahead",
        "policy",
        "--ppo.final_entropy",
        "0.0",
        "--run.checkpoint_minutes",
        "1e-9",
        "--run.keep_minutes",
        "1e-4",
    ),
]
"""All switches on; a checkpoint after every update."""
SOME = [*TINY, "--run.checkpoint_minutes", "1e-9", "--run.keep_minutes", "1e-9", "--run.evaluate_minutes", "null"]
"""Every checkpoint is kept."""


def tensors(folder: Path) -> dict[str, torch.Tensor]:
    """All that the last checkpoint of a run holds."""
    last = list_checkpoints(folder)[-1]
    return {f"{name}/{key}": x for name in (POLICY, TRAINING) for key, x in load_file(last / name).items()}


def wait_for(process: subprocess.Popen[str], there: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not there():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.005)


KILL, INTERRUPT = signal.SIGTERM if os.name == "nt" else signal.SIGKILL, signal.SIGINT


@posix
@pytest.mark.parametrize(
    ("at_once", "ends"),
    [
        (False, [(0.0, KILL)]),
        pytest.param(
            True, [(0.0, KILL), (0.05, KILL), (0.02, INTERRUPT), (0.1, KILL)], marks=pytest.mark.slow, id="many"
        ),
    ],
)
def test_kills_and_interrupts_leave_no_trace(
    tmp_path: Path, train: Line, at_once: bool, ends: list[tuple[float, signal.Signals]]
) -> None:
    """Wherever a run is ended, at its end it has the weights, and all else, of a run that nobody disturbed."""
    total = 25_000 if at_once else 8_000
    line = [*ALL, "--run.decisions", total, "--run.evaluate_deals", 3, "--run.evaluate_minutes", 0.01]
    run = tmp_path / "run"

    def count() -> int:
        return len(list_checkpoints(run))

    if at_once:  # before the first checkpoint the settings are there alone
        process = start(tmp_path, *line, "--out", "run")
        wait_for(process, lambda: (run / "config.yaml").exists())
        process.kill()
        process.communicate()
    for number, (delay, sent) in enumerate(ends):
        process = start(tmp_path, *(("--resume", "run") if run.exists() else (*line, "--out", "run")))
        last = list_checkpoints(run)[-1].name if count() else ""
        wait_for(process, lambda last=last: count() > 0 and list_checkpoints(run)[-1].name > last)  # type: ignore[misc]
        time.sleep(delay)
        process.send_signal(sent)
        _, err = process.communicate(timeout=60)
        assert process.returncode == (130 if sent == INTERRUPT else -KILL), (number, err)
        assert "Traceback" not in err
        assert load_policy(run).decisions < total
    code, _, err = train("--resume", "run")
    assert code == 0, err
    code, _, err = train(*line, "--run.evaluate_minutes", "null", "--out", "quiet")
    assert code == 0, err
    ours, theirs = tensors(run), tensors(tmp_path / "quiet")
    assert set(ours) == set(theirs)
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    best = read_best(run)
    assert best is not None
    assert best["evaluated"] == load_policy(run).decisions
    assert not list((run / "checkpoints").glob(".*"))


class FullDisk:
    """A file on a disk that fills up: half of what is written first is there."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def __enter__(self) -> FullDisk:
        return self

    def __exit__(self, *_error: object) -> None:
        self.file.close()

    def write(self, data: bytes) -> int:
        self.file.write(data[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("name", [POLICY, TRAINING, MANIFEST])
def test_a_disk_that_is_full_while_saving(train: Line, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    code, _, err = train(*SOME, "--run.decisions", 500, "--out", "run")
    assert code == 0, err
    kept = [folder.name for folder in list_checkpoints(Path("run"))]
    genuine = Path.open

    def open_(self: Path, mode: str = "r", *arguments: Any, **named: Any) -> Any:
        file = genuine(self, mode, *arguments, **named)
        return FullDisk(file) if self.name == name and "w" in mode else file

    monkeypatch.setattr(Path, "open", open_)
    code, out, err = train("--resume", "run", "--run.decisions", 1000)
    monkeypatch.setattr(Path, "open", genuine)
    assert (code, out) == (1, "")
    *_, last = err.splitlines()
    assert re.fullmatch(r"train.py: run/checkpoints/0+768: No space left on device", last)
    assert "Traceback" not in err
    assert [folder.name for folder in list_checkpoints(Path("run"))] == kept
    assert not list(Path("run/checkpoints").glob(".*"))
    assert load_policy("run").decisions == int(kept[-1])
    code, _, err = train("--resume", "run", "--run.decisions", 1000)
    assert code == 0, err


def test_a_disk_that_is_full_when_curves_are_written(train: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    genuine, written = RecordWriter.write, []

    def write(self: RecordWriter, data: bytes) -> None:
        written.append(data)
        if len(written) == 4:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        genuine(self, data)

    monkeypatch.setattr(RecordWriter, "write", write)
    code, out, err = train(*SOME, "--run.decisions", 2000, "--out", "run")
    assert (code, out) == (1, "")
    *_, last = err.splitlines()
    assert re.fullmatch(r"train.py: run/tensorboard/events\S+: No space left on device", last)
    assert "Traceback" not in err
    assert load_policy("run").decisions == 512


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_curves_on_a_full_device(train: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the system itself says of a full disk is told at once."""
    genuine = Path.open

    def open_(self: Path, mode: str = "r", *arguments: Any, **named: Any) -> Any:
        return genuine(Path("/dev/full"), "wb") if mode == "xb" else genuine(self, mode, *arguments, **named)

    monkeypatch.setattr(Path, "open", open_)
    code, out, err = train(*SOME, "--run.decisions", 500, "--out", "run")
    assert (code, out) == (1, "")
    assert err.splitlines()[-1].endswith(": No space left on device")
    assert "Traceback" not in err


def test_training_that_diverges(train: Line) -> None:
    code, _, err = train(*SOME, "--run.decisions", 500, "--out", "run")
    assert code == 0, err
    wild = ["--ppo.learning_rate", 1.0, "--ppo.max_kl", 1e-9, "--run.decisions", 5000]
    code, out, err = train("--resume", "run", *wild)
    assert (code, out) == (1, "")
    *_, last = err.splitlines()
    assert last.startswith("train.py: 5 updates in a row diverged and were undone")
    assert last.endswith("the run keeps its last checkpoint")
    assert "Traceback" not in err
    assert load_policy("run").decisions == 512 + 4 * 256


def shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-50])


def other_entry(**entries: object) -> Callable[[Path], None]:
    def apply(path: Path) -> None:
        path.write_text(json.dumps({**json.loads(path.read_text()), **entries}))

    return apply


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody changes."""
    folder = tmp_path_factory.mktemp("runs")
    done = start(folder, *SOME, "--run.decisions", 500, "--out", "run")
    _, err = done.communicate(timeout=120)
    assert done.returncode == 0, err
    return folder / "run"


@pytest.mark.parametrize(
    ("name", "spoil", "text"),
    [
        (POLICY, shorten, "is damaged"),
        (TRAINING, shorten, "is damaged"),
        (MANIFEST, shorten, "cannot be read"),
        (POLICY, lambda path: path.write_bytes(b"\x80\x04."), "is damaged"),
        (TRAINING, lambda path: path.unlink(), "is missing"),
        (MANIFEST, lambda path: path.write_text('{"model": 1}'), "is not a checkpoint of this version"),
        (MANIFEST, other_entry(game="call_break"), "its game differ"),
        (MANIFEST, other_entry(rules={"num_players": 4}), "its rules differ"),
        (MANIFEST, other_entry(features={"count": 3, "sha256": ""}), "its features differ"),
        (MANIFEST, other_entry(decisions="many"), "cannot be resumed"),
        (MANIFEST, other_entry(parts=[]), "cannot be read"),
        ("../../config.yaml", lambda path: path.write_text("rules: ["), "cannot be read as YAML"),
        ("../../config.yaml", lambda path: path.unlink(), "--resume takes the folder of a run"),
    ],
)
def test_damaged_and_foreign_runs(
    tmp_path: Path, train: Line, finished: Path, name: str, spoil: Callable[[Path], None], text: str
) -> None:
    shutil.copytree(finished, "run")
    spoil(list_checkpoints(Path("run"))[-1] / name)
    code, out, err = train("--resume", "run", "--run.decisions", 1000)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert text in err


@pytest.mark.parametrize(("name", "text"), [(POLICY, "is damaged"), (MANIFEST, "cannot be read")])
def test_damaged_agents(finished: Path, tmp_path: Path, name: str, text: str) -> None:
    shutil.copytree(finished, tmp_path / "run")
    shorten(list_checkpoints(tmp_path / "run")[-1] / name)
    line = [sys.executable, str(ROOT / "scripts" / "evaluate.py"), "run", "--against", "random", "--deals", "2"]
    done = subprocess.run(
        line, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert text in done.stderr


def test_a_checkpoint_is_no_run(train: Line, finished: Path) -> None:
    shutil.copytree(finished, "run")
    code, _, err = train("--resume", list_checkpoints(Path("run"))[-1])
    assert code == 2
    assert "--resume takes the folder of a run" in err
    assert len(err.splitlines()) == 1


def test_a_folder_that_is_read_only(train: Line, finished: Path) -> None:
    shutil.copytree(finished, "run")
    Path("run").chmod(0o555)
    if os.access("run", os.W_OK):
        Path("run").chmod(0o755)
        pytest.skip("nothing is read-only for this user")
    try:
        code, out, err = train("--resume", "run", "--run.decisions", 1000)
    finally:
        Path("run").chmod(0o755)
    assert (code, out) == (1, "")
    assert err.splitlines() == ["train.py: run/config.yaml: Permission denied"]


@pytest.mark.parametrize("name", ["config.yaml", "tensorboard"])
def test_a_folder_that_cannot_be_written(
    train: Line, finished: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    shutil.copytree(finished, "run")
    genuine = Path.open

    def open_(self: Path, mode: str = "r", *arguments: Any, **named: Any) -> Any:
        if name in str(self) and mode != "r":
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(self))
        return genuine(self, mode, *arguments, **named)

    monkeypatch.setattr(Path, "open", open_)
    code, out, err = train("--resume", "run", "--run.decisions", 1000)
    assert (code, out) == (1, "")
    assert len(err.splitlines()) == 1
    assert err.startswith(f"train.py: run/{name}")
    assert err.endswith(": Read-only file system\n")
    assert load_policy("run").decisions == 512


def test_a_file_where_the_folder_should_be_made(train: Line, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("content")
    code, out, err = train(*SOME, "--run.decisions", 500, "--out", "file/run")
    assert (code, out) == (2, "")
    assert err.splitlines()[-1] == "train.py: --out file/run cannot be made: Not a directory"


def test_nothing_is_unpickled() -> None:
    """Checkpoints are tensors and JSON: no code of ours calls what could execute a file's content."""
    calls = re.compile(
        r"^\s*(import|from) (pickle|cloudpickle|dill|joblib|shelve|marshal)\b|torch\.(load|save)\(|pickle\.", re.M
    )
    allowed = re.compile(r"allow_pickle=False")
    for path in (path for folder in ("envs", "training", "scripts") for path in (ROOT / folder).rglob("*.py")):
        text = allowed.sub("", path.read_text(encoding="utf-8"))
        assert not calls.search(text), path
