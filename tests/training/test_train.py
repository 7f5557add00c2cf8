"""The command line of scripts/train.py."""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from training.checkpoint import list_checkpoints, load_policy

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "train.py"
TINY = [
    *("--rules.max_hand", "2", "--network.hidden", "[16]", "--network.precision", "float32"),
    *("--rollout.tables", "16", "--rollout.steps", "16", "--ppo.minibatches", "2", "--run.threads", "1"),
]


class Line:
    """Runs the script's command line, in this process and a folder of its own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.patch, self.capsys = monkeypatch, capsys
        monkeypatch.chdir(folder)

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        """Exit code, output and errors."""
        self.patch.setattr(sys, "argv", ["train.py", *map(str, arguments)])
        with pytest.raises(SystemExit) as result:
            runpy.run_path(str(SCRIPT), run_name="__main__")
        out, err = self.capsys.readouterr()
        return int(result.value.code or 0), out, err


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Line:
    return Line(tmp_path, monkeypatch, capsys)


def start(folder: Path, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_a_run_and_its_end(tmp_path: Path, train: Line) -> None:
    code, out, err = train(*TINY, "--run.decisions", 600)
    assert code == 0, err
    (run,) = Path("runs").glob("kachuful-*")
    assert load_policy(run).decisions == 768
    assert f"checkpoint: {list_checkpoints(run)[-1]}" in out
    assert f"tensorboard --logdir {run / 'tensorboard'}" in out
    assert "decisions" in err

    code, out, err = train("--config", run / "config.yaml", "--out", run)
    assert code == 2
    assert len(err.splitlines()) == 1
    assert "--resume" in err

    before = (run / "config.yaml").read_text()
    for wrong in (["--config", "x"], ["--out", "y"], ["--rules.max_hand", "3"], ["--network.hidden", "[8]"]):
        code, out, err = train("--resume", run, *wrong)
        assert code == 2, wrong
        assert len(err.splitlines()) == 1
        assert (run / "config.yaml").read_text() == before

    code, out, err = train("--resume", run)
    assert code == 0
    assert "nothing is left" in err
    code, out, err = train("--resume", run, "--run.decisions", 1000)
    assert code == 0, err
    assert load_policy(run).decisions == 1024


def test_mistakes_take_one_line(tmp_path: Path, train: Line) -> None:
    (tmp_path / "file").write_text("content")
    (tmp_path / "broken.yaml").write_text("rules: [")
    for arguments, text in (
        (["--config", "missing.yaml"], "no file missing.yaml"),
        (["--config", "broken.yaml"], "broken.yaml: cannot be read as YAML"),
        (["--rules.num_players", "2"], "num_players=2"),
        (["--nonsense", "2"], "no option --nonsense"),
        (["--out", "file"], "file already exists"),
        (["--resume", "nowhere"], "no checkpoint at nowhere"),
    ):
        code, out, err = train(*arguments)
        assert (code, out) == (2, "")
        assert len(err.splitlines()) == 1
        assert text in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.yaml", "file"]
    assert (tmp_path / "file").read_text() == "content"


def test_a_process_ends_with_code_2(tmp_path: Path) -> None:
    process = start(tmp_path, "--rules.num_players", "many")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert err.startswith("train.py: rules: option num_players='many' is not possible")
    assert len(err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_help_names_every_section(train: Line) -> None:
    code, out, _ = train("--help")
    assert code == 0
    for text in ("--out", "--resume", "--config", "--rules", "--ppo.learning_rate", "Step size of Adam"):
        assert text in out


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_interrupt_and_resume(tmp_path: Path, train: Line) -> None:
    process = start(tmp_path, *TINY, "--out", "run", "--run.decisions", 10**9)
    assert process.stderr is not None
    assert any("decisions" in line for line in process.stderr)  # the first update is done
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "train.py --resume run" in err
    kept = load_policy(tmp_path / "run").decisions
    assert kept > 0
    assert kept % 256 == 0

    code, _, err = train("--resume", "run", "--run.decisions", kept + 256)
    assert code == 0, err
    assert load_policy(tmp_path / "run").decisions == kept + 256
