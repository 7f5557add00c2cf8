"""Several processes that learn together, as torchrun starts them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from test_train import ROOT, SCRIPT, TINY

from training.checkpoint import list_checkpoints, load_policy, load_training
from training.config import make_parser, parse_config
from training.ranks import Ranks
from training.trainer import Trainer

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="PyTorch without torch.distributed")
SWITCHES = [
    *("--network.critic", "deal", "--network.critic_hidden", "[16]", "--auxiliary.outcome", "0.1"),
    *("--rollout.opponents", '{"self": 1, "snapshot": 1}', "--rollout.snapshot_decisions", "600"),
]


def torchrun(folder: Path, *arguments: object, ranks: int = 2, restarts: int = 0) -> subprocess.Popen[str]:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    return subprocess.Popen(
        [*launcher, "--max-restarts", str(restarts), str(SCRIPT), *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


class Part(Ranks):
    """The place of one of two ranks, without the other."""

    size = 2

    def __init__(self, rank: int) -> None:
        self.rank = rank


def test_two_ranks_learn_as_one_process_from_the_joined_batch(tmp_path: Path) -> None:
    arguments = [*TINY, *SWITCHES, "--run.decisions", "2000"]
    done = torchrun(tmp_path, *arguments, "--out", "run")
    config, _ = parse_config(make_parser(), arguments)
    both = Trainer(config)
    parts = [Trainer(config, Part(rank)) for rank in range(2)]
    both.rollouts = [part.rollouts[0] for part in parts]
    assert both.snapshots is not None
    for rollout in both.rollouts:
        rollout.frozen = both.snapshots.policies
    out, err = done.communicate(timeout=120)
    assert done.returncode == 0, err
    assert out.count("checkpoint:") == 1  # the first rank alone speaks
    entries, weights, training = load_training(list_checkpoints(tmp_path / "run")[-1])
    while both.updates < entries["updates"]:
        both.update()
    assert entries["decisions"] == both.decisions >= 2000
    for name, tensor in both.network.state_dict().items():
        assert torch.allclose(tensor, weights[name], atol=1e-6), name
    assert both.critic is not None
    for name, tensor in both.critic.state_dict().items():
        assert torch.allclose(tensor, training[f"critic.{name}"], atol=1e-6), name
    assert "rollout.1.games" in training
    for rollout, k in zip(both.rollouts, range(2), strict=True):
        assert torch.equal(rollout.state()["games"], training[f"rollout.{k}.games"])


def test_ranks_play_different_games() -> None:
    config, _ = parse_config(make_parser(), TINY)
    first, second = (Trainer(config, Part(rank)) for rank in range(2))
    assert torch.equal(*(next(iter(trainer.network.parameters())) for trainer in (first, second)))
    games = [trainer.rollouts[0].state()["games"] for trainer in (first, second)]
    assert not torch.equal(*games)
    seeds = [set(trainer.rollouts[0].env.get_state()["seed"].tolist()) for trainer in (first, second)]
    assert not seeds[0] & seeds[1]


def test_one_rank_shares_with_nobody() -> None:
    ranks, tensor = Ranks(), torch.ones(3)
    ranks.add([tensor])
    assert tensor.tolist() == [1, 1, 1]
    assert ranks.any(True)
    assert not ranks.any(False)
    assert ranks.gather("x") == ["x"]
    assert ranks.is_first


def test_several_ranks_need_a_folder(tmp_path: Path) -> None:
    done = torchrun(tmp_path, *TINY, "--run.decisions", "600")
    _, err = done.communicate(timeout=120)
    assert done.returncode != 0
    assert "train.py: several processes need the name of the run's folder: --out FOLDER" in err


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_a_killed_rank_is_restarted_and_the_run_goes_on(tmp_path: Path) -> None:
    """The weights at the end are those of a run that nobody disturbed."""
    arguments = [*TINY, *SWITCHES, "--run.decisions", "60000", "--run.checkpoint_minutes", "0.001"]
    disturbed = torchrun(tmp_path, *arguments, "--out", "disturbed", restarts=2)
    deadline = time.monotonic() + 120
    while not list_checkpoints(tmp_path / "disturbed") and time.monotonic() < deadline:
        time.sleep(0.05)
    children = subprocess.run(["pgrep", "-P", str(disturbed.pid)], capture_output=True, text=True, check=True)
    os.kill(int(children.stdout.split()[-1]), signal.SIGKILL)
    _, err = disturbed.communicate(timeout=300)
    assert disturbed.returncode == 0, err
    assert "another process of the run is gone" in err
    assert "Traceback" not in err
    quiet = torchrun(tmp_path, *arguments, "--out", "quiet")
    _, err = quiet.communicate(timeout=300)
    assert quiet.returncode == 0, err
    ours, theirs = (load_policy(tmp_path / name) for name in ("disturbed", "quiet"))
    assert ours.decisions == theirs.decisions >= 60_000
    for name, tensor in ours.network.state_dict().items():
        assert torch.equal(tensor, theirs.network.state_dict()[name]), name


def test_a_run_of_more_threads_is_refused(tmp_path: Path) -> None:
    config, _ = parse_config(make_parser(), TINY)
    wide = replace(config, run=replace(config.run, threads=2))
    Trainer(wide).save(tmp_path)
    with pytest.raises(ValueError, match="cannot be resumed with these settings"):
        Trainer(config).resume(tmp_path)


class Ahead(Part):
    """The place of one of two ranks; the other gives the number 7 and disagrees with nobody."""

    def add(self, tensors: Sequence[torch.Tensor]) -> None:
        for tensor in tensors:
            tensor += 7


def test_ranks_that_see_different_checkpoints_disagree() -> None:
    assert Ranks().agree(5)
    assert Ahead(0).agree(7)
    assert not Ahead(0).agree(6)
