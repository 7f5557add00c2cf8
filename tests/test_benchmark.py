"""The command line of scripts/benchmark.py; no test looks at a time."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scripting import run_script

from envs import SEAT_IDS
from envs.game import find_game
from training import benchmarks
from training.benchmarks import MEASUREMENTS, draw_actions, search_positions

SCRIPT = Path(__file__).parents[1] / "scripts" / "benchmark.py"
KINDS = (
    "engine",
    "vector_uint8",
    "raw_env",
    "env",
    "determinize",
    "heuristic",
    "train",
    "train_float32",
    "train_wide",
    "train_vs_sb3",
    "train_vs_sb3_tuned",
)
SEARCHES = ("montecarlo", "montecarlo-moves", "pimc", "ismcts", "ismcts-prior")
GAMES = list(dict.fromkeys(SEAT_IDS.values()))
NAMES = [f"{game}/{kind}" for game in GAMES for kind in (*KINDS, *(f"search/{name}" for name in SEARCHES))]


def benchmark(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """Run the script; returns its exit code."""
    return run_script(monkeypatch, "benchmark.py", *arguments)


def read_measured(path: Path, chosen: list[str], shown: str) -> dict[str, Any]:
    """The file's object, which must have figures for what was chosen, and all of it shown."""
    result: dict[str, Any] = json.loads(path.read_text())
    assert list(result) == [*chosen, "meta"]
    for name in chosen:
        assert list(result[name]) == ["median", "min", "max"]
        assert 0 < result[name]["min"] <= result[name]["median"] <= result[name]["max"]
        assert name in shown
    return result


@pytest.mark.parametrize("game", GAMES)
def test_the_file_is_one_object_with_a_key_for_each_measurement(
    game: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "speed.json"
    chosen = [f"{game}/{kind}" for kind in KINDS[:6]]
    assert benchmark(monkeypatch, "--only", ",".join(chosen), "--seconds", 0.01, "--json", path) == 0
    result = read_measured(path, chosen, capsys.readouterr().out)
    assert result["meta"]["repetitions"] == 5
    assert result["meta"]["seconds"] == 0.01
    assert "engine" in result["meta"]["versions"]
    assert set(result["meta"]["machine"]) == {"processor", "cores", "load_before"}


@pytest.mark.parametrize("game", GAMES)
def test_searches_are_measured_in_milliseconds(
    game: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(benchmarks, "SEARCH_POSITIONS", 2)
    path = tmp_path / "speed.json"
    chosen = [f"{game}/engine", *(f"{game}/search/{name}" for name in SEARCHES)]
    assert benchmark(monkeypatch, "--only", ",".join(chosen), "--seconds", 0.001, "--json", path) == 0
    result = read_measured(path, chosen, capsys.readouterr().out)
    units = ["decisions/s", *["ms/decision"] * len(SEARCHES)]
    assert list(result["meta"]["units"].items()) == list(zip(chosen, units, strict=True))


@pytest.mark.parametrize("game", GAMES)
def test_searches_are_measured_where_there_is_a_choice(game: str) -> None:
    decisions, again = search_positions(find_game(game)), search_positions(find_game(game))
    assert (decisions.action_mask.sum(axis=1) > 1).all()
    assert len(np.unique(decisions.states)) == len(decisions) == benchmarks.SEARCH_POSITIONS
    assert np.array_equal(decisions.states, again.states)
    assert np.array_equal(decisions.keys, again.keys)


def test_all_names_are_known() -> None:
    assert list(runpy.run_path(str(SCRIPT))["NAMES"]) == NAMES


@pytest.mark.parametrize("name", ["stable_baselines3", "sb3_contrib"])
def test_the_other_library_is_left_out_where_it_is_missing(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    path = tmp_path / "speed.json"
    chosen = "kachuful/engine,kachuful/train_vs_sb3"
    assert benchmark(monkeypatch, "--only", chosen, "--seconds", 0.01, "--json", path) == 0
    (line,) = (line for line in capsys.readouterr().err.splitlines() if line.strip())
    assert line.startswith("benchmark.py: train_vs_sb3 is skipped: it needs stable-baselines3 and sb3-contrib")
    assert list(json.loads(path.read_text())) == ["kachuful/engine", "meta"]
    assert benchmark(monkeypatch, "--only", "kachuful/train_vs_sb3") == 2
    assert "pip install 'taash[plugins]'" in capsys.readouterr().err


def test_both_rates_and_their_ratio_are_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def measurement(_seconds: float) -> dict[str, float]:
        return {"rate": 30_000.0, "sb3": 2_000.0, "ratio": 15.0}

    monkeypatch.setitem(MEASUREMENTS, "train_vs_sb3", lambda _game: measurement)
    monkeypatch.setattr("training.plugins.speed.missing", lambda: None)
    path = tmp_path / "speed.json"
    assert benchmark(monkeypatch, "--only", "kachuful/train_vs_sb3", "--json", path) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "30,000 decisions learnt per second, MaskablePPO 2,000: 15.0 times as many" in shown
    result = json.loads(path.read_text())["kachuful/train_vs_sb3"]
    assert (result["median"], result["sb3"], result["ratio"]) == (30_000.0, 2_000.0, 15.0)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ["--only", "kachuful/engine,kachuful/nothing"],
            "no measurement 'kachuful/nothing'; choose among kachuful/engine",
        ),
        (["--seconds", "0"], "--seconds 0.0 is not possible"),
        (["--seconds", "soon"], "seconds"),
        (["--json", "no/such/folder/x.json"], "cannot write no/such/folder/x.json"),
        (["--jsn", "x"], "--jsn"),
    ],
)
def test_bad_input_is_told_in_one_line(
    arguments: list[str], text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert benchmark(monkeypatch, *arguments) == 2
    shown = capsys.readouterr()
    assert text in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""


def test_actions_are_drawn_uniformly_from_masks() -> None:
    mask = np.zeros((4000, 89), np.uint8)
    mask[:, [3, 60, 88]] = 1
    actions = np.zeros(4000, np.int64)
    draw_actions(mask, 12345, actions)
    values, counts = np.unique(actions, return_counts=True)
    assert values.tolist() == [3, 60, 88]
    assert np.abs(counts - 4000 / 3).max() < 5 * (4000 * 2 / 9) ** 0.5
