"""Learning against an agent and nothing else."""

from __future__ import annotations

import csv
import json
import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import toy
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from envs.game import find_game
from training.agents import load_agent
from training.arena import play_match
from training.best_response import CURVE, DOCUMENT, BestResponse, Settings, curve_table, gains, read_document
from training.checkpoint import describe, list_checkpoints, save_checkpoint
from training.config import Config, NetworkConfig, PPOConfig, RolloutConfig, RunConfig
from training.network import make_policy_network

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "best_response.py"


def save_random(folder: Path, game: str = "toy", tables: int = 32, steps: int = 32, **rules: Any) -> str:
    """A checkpoint of a policy that has learnt nothing, with the settings of a tiny training; returns its path."""
    found = find_game(game)
    options = found.make_rules(**rules)
    generator = torch.Generator().manual_seed(1)
    network = make_policy_network(found, options.num_players, False, [32], generator=generator)
    for head in network.heads.values():  # clear preferences, so that it is far from playing at random
        torch.nn.init.normal_(head.weight, generator=generator)
    config = Config(
        game=game,
        network=NetworkConfig([32], "float32"),
        rollout=RolloutConfig(tables=tables, steps=steps, scatter=8),
        ppo=PPOConfig(minibatches=4, reward_scale=0.1 if game == "kachuful" else 1.0),
        run=RunConfig(threads=1),
    ).to_dict()
    manifest = {**describe(found, options, False), "decisions": 1, "config": config}
    return str(save_checkpoint(folder, network, manifest, {}))


def weights(response: BestResponse) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in response.trainer.network.parameters()])


def test_a_run_and_what_it_writes(tmp_path: Path) -> None:
    agent = save_random(tmp_path / "agent")
    response = BestResponse(Settings(agent, decisions=2000, deals=10, threads=1), tmp_path / "run")
    config = response.trainer.config
    assert config.rollout.tables == 64
    assert config.ppo.minibatches == 4
    assert list(config.rollout.opponents) == [str(tmp_path / "run" / "opponent")]
    assert response.go(quiet=True)

    document = read_document(tmp_path / "run")
    curve, final = document["curve"], document["final"]
    decisions = [row["decisions"] for row in curve]
    assert decisions[0] == 0
    assert decisions == sorted(set(decisions))
    assert decisions[-1] == final["decisions"] >= 2000
    assert [row["deals"] for row in (*curve, final)] == [2] * len(curve) + [10]
    # At first it is the agent itself, which gains nothing.
    assert all(gain == {"mean": 0.0, "low": 0.0, "high": 0.0} for gain in curve[0]["gains"].values())
    assert list(final["gains"]) == ["margin", "points", "win_share"]
    for gain in final["gains"].values():
        assert gain["low"] <= gain["mean"] <= gain["high"]
    assert final["summary"]["deals"] == 10
    with (tmp_path / "run" / CURVE).open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["decisions"]) for row in rows] == [*decisions, final["decisions"]]
    assert float(rows[-1]["margin_mean"]) == final["gains"]["margin"]["mean"]
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    events.Reload()
    assert len(events.Scalars("gain/margin")) == len(curve) - 1
    assert {"gain/margin_low", "gain/win_share_high"} <= set(events.Tags()["scalars"])
    assert curve_table(document).row_count == len(rows)


def test_gains_are_those_over_the_agent_in_its_own_place(tmp_path: Path) -> None:
    agent = load_agent(save_random(tmp_path / "agent"))
    rules = toy.GAME.make_rules()
    mirror = play_match("toy", rules, agent, agent, 8, 3)
    assert not any(gain.any() for gain in gains(mirror, mirror).values())
    response = play_match("toy", rules, load_agent("lowest", "toy"), agent, 5, 3)
    found = gains(response, mirror)
    assert np.allclose(found["points"], response.points - mirror.points[:5])  # type: ignore[operator,index]
    assert np.allclose(found["margin"], response.points - response.opponent_points)  # type: ignore[operator]
    assert np.allclose(found["win_share"], response.win_share - 0.25)


def test_a_game_without_points_tells_losses(tmp_path: Path) -> None:
    agent = load_agent(save_random(tmp_path / "agent", "kaschlan", num_players=3))
    rules = find_game("kaschlan").make_rules(num_players=3)
    mirror = play_match("kaschlan", rules, agent, agent, 4)
    response = play_match("kaschlan", rules, load_agent("lowest", "kaschlan"), agent, 4)
    found = gains(response, mirror)
    assert list(found)[:2] == ["payoff", "lost"]
    assert list(found)[-1] == "win_share"
    assert np.allclose(found["lost"], response.statistics[:, 1] - mirror.statistics[:, 1])


@pytest.mark.parametrize("mode", ["", ":sampled"])
def test_it_goes_on_exactly(tmp_path: Path, mode: str) -> None:
    agent = save_random(tmp_path / "agent") + mode
    settings = Settings(agent, decisions=4000, deals=10, threads=1, from_scratch=True)
    straight = BestResponse(settings, tmp_path / "straight")
    assert straight.go(quiet=True)

    stopped = BestResponse(settings, tmp_path / "run")
    updates = 0

    def stop(*_: Any) -> dict[str, float]:
        nonlocal updates
        updates += 1
        if updates == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return watch(*_)

    watch, stopped._watch = stopped._watch, stop  # type: ignore[method-assign]
    assert not stopped.go(quiet=True)
    rows = read_document(tmp_path / "run")["curve"]
    assert 1 < len(rows) < len(straight.curve)

    # What was measured after the last checkpoint is measured again.
    document = json.loads((tmp_path / "run" / DOCUMENT).read_text())
    document["curve"].append({**rows[-1], "decisions": 10**6})
    (tmp_path / "run" / DOCUMENT).write_text(json.dumps(document))
    resumed = BestResponse(settings, tmp_path / "run", resume=True)
    assert torch.equal(weights(resumed), weights(stopped))
    assert resumed.go(quiet=True)
    assert torch.equal(weights(resumed), weights(straight))
    documents = [read_document(tmp_path / name) for name in ("straight", "run")]
    for document in documents:
        for row in (*document["curve"], document["final"]):
            del row["seconds"]
    assert documents[0]["curve"] == documents[1]["curve"]
    assert documents[0]["final"] == documents[1]["final"]


@pytest.mark.parametrize(
    ("game", "rules", "decisions"),
    [
        ("toy", {}, 40_000),
        pytest.param("kachuful", {"max_hand": 3}, 150_000, marks=pytest.mark.slow),
        pytest.param("kaschlan", {"num_players": 2}, 60_000, marks=pytest.mark.slow),
    ],
)
def test_a_policy_that_has_learnt_nothing_is_exploitable(
    tmp_path: Path, game: str, rules: dict[str, Any], decisions: int
) -> None:
    agent = save_random(tmp_path / "agent", game, 64, **rules)
    response = BestResponse(Settings(agent, decisions, deals=100, threads=1, from_scratch=True), tmp_path / "run")
    assert response.go(quiet=True)
    first, *_ = read_document(tmp_path / "run")["final"]["gains"].values()
    assert first["low"] > 0


def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *line: object) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["best_response.py", *map(str, line)])
    with pytest.raises(SystemExit) as result:
        runpy.run_path(str(SCRIPT), run_name="__main__")
    out, err = capsys.readouterr()
    return int(result.value.code or 0), out, err


def test_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    save_random(tmp_path / "agent", tables=8)
    line = ["agent", "--decisions", "1e3", "--deals", 4, "--threads", 1]
    code, out, err = command(monkeypatch, capsys, *line, "--out", "run")
    assert code == 0, err
    assert "points ahead of the others" in out
    assert f"results: {Path('run') / DOCUMENT}" in out
    assert "after 0.0 M decisions" in out + err
    assert read_document(Path("run"))["settings"]["decisions"] == 1000
    kept = [folder.name for folder in list_checkpoints(Path("run"))]

    code, out, err = command(monkeypatch, capsys, "--resume", "run", "--decisions", 1500, "--deals", 6)
    assert code == 0, err
    document = read_document(Path("run"))
    assert document["final"]["decisions"] >= 1500
    assert document["final"]["deals"] == 6
    assert list_checkpoints(Path("run"))[-1].name > kept[-1]

    for wrong, text in (
        ([], "give a checkpoint to learn against"),
        (["agent", "--resume", "run"], "give a checkpoint to learn against"),
        (["missing"], "no checkpoint at missing"),
        ([*line, "--out", "run"], "run already exists"),
        (["agent", "--decisions", "0"], "--decisions 0.0 is not possible"),
        (["agent", "--decisions", "1.5"], "--decisions 1.5 is not possible"),
        (["agent", "--deals", "1"], "--deals 1 is not possible"),
        (["agent", "--seed", "-1"], "--seed -1 is not possible"),
        (["--resume", "run", "--seed", "2"], "takes the settings of its run"),
        (["--resume", "agent"], "cannot go on with agent"),
        (["--resume", "missing"], "cannot go on with missing"),
    ):
        code, out, err = command(monkeypatch, capsys, *wrong)
        assert (code, out) == (2, ""), wrong
        assert len(err.splitlines()) == 1, err
        assert text in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent", "run"]


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_interrupt(tmp_path: Path) -> None:
    save_random(tmp_path / "agent", "kachuful", 16, max_hand=2)
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), "agent", "--out", "run", "--deals", "10", "--threads", "1"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    assert any("k/s" in line for line in process.stderr)  # the first update is done
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "best_response.py --resume run" in err
    assert "own points" in out
    assert list_checkpoints(tmp_path / "run")
