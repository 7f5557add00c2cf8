"""The command line of scripts/tournament.py."""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "tournament.py"
FAST = ["--game", "kachuful", "--agents", "random", "counting", "heuristic", "--rules.max_hand", "2"]


def tournament(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """Run the script inside this process; returns its exit code."""
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *map(str, arguments)])
    with pytest.raises(SystemExit) as result:
        runpy.run_path(str(SCRIPT), run_name="__main__")
    return int(result.value.code or 0)


def test_a_tournament_and_more_of_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cup = tmp_path / "cup"
    assert tournament(monkeypatch, *FAST, "--deals", 3, "--seed", 4, "--out", cup, "--workers", 1) == 0
    names = {"tournament.json", "games.jsonl", "looks.txt", "report.md", "result.json"}
    pictures = {"ratings.png", "crossplay.png", "calls.png"}
    assert set(os.listdir(cup)) <= names | pictures
    for name in pictures:
        assert (cup / name).read_bytes().startswith(b"\x89PNG")
    shown = capsys.readouterr().out
    assert (cup / "report.md").read_text() in shown
    for text in ("# Tournament: kachuful", "## Standings", "## Neighbours", "## Cross-play", "## Calls"):
        assert text in shown
    games = (cup / "games.jsonl").read_bytes()
    assert tournament(monkeypatch, "--resume", cup, "--deals", 5, "--workers", 1) == 0
    assert (cup / "games.jsonl").read_bytes().startswith(games)
    result = json.loads((cup / "result.json").read_text())
    assert (result["standings"]["deals"], result["standings"]["cross_deals"], result["seed"]) == (5, 3, 4)
    assert tournament(monkeypatch, *FAST, "--out", cup) == 2
    assert "already holds another tournament (go on with --resume)" in capsys.readouterr().err


def test_until_separable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    agents = ["--game", "kachuful", "--agents", "random", "heuristic", "--rules.max_hand", "4", "--cross-deals", 0]
    common = ["--deals", 4, "--workers", 1, "--until-separable", "--max-deals", 64]
    assert tournament(monkeypatch, *agents, *common, "--out", tmp_path / "a") == 0
    assert 4 <= json.loads((tmp_path / "a" / "result.json").read_text())["standings"]["deals"] < 64
    agents[4] = "random"
    assert tournament(monkeypatch, *agents, *common[:-1], 8, "--out", tmp_path / "b") == 0
    assert (tmp_path / "b" / "looks.txt").read_text().split() == ["4"]


BAD = {
    "unknown agent": ([*FAST, "--agents", "random", "nobody"], "no agent 'nobody'"),
    "unknown game": (["--game", "bridge", "--agents", "a", "b"], "no game 'bridge'"),
    "one agent": (["--game", "kachuful", "--agents", "random"], "two or more --agents"),
    "no deals": ([*FAST, "--deals", "0"], "--deals 0 is not possible"),
    "no workers": ([*FAST, "--workers", "0"], "--workers 0 is not possible"),
    "seed": ([*FAST, "--seed", "-1"], "--seed -1 is not possible"),
    "cap": ([*FAST, "--deals", "9", "--max-deals", "3"], "--max-deals 3 is not possible"),
    "cross": ([*FAST, "--cross-deals", "-1"], "--cross-deals -1 is not possible"),
    "rule": ([*FAST, "--rules.num_players", "99"], "num_players must be"),
    "no folder": ([*FAST, "--out", f"{SCRIPT}/x"], "cannot write"),
    "foreign folder": ([*FAST, "--out", str(SCRIPT.parent)], "already holds other files"),
    "nothing to resume": (["--resume", "no/such/folder"], "no tournament in no/such/folder"),
    "resume another game": (["--resume", "x", "--game", "kachuful"], "--game cannot go with --resume"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_told_in_one_line(
    case: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    arguments, text = BAD[case]
    if "--out" not in arguments and "--resume" not in arguments:
        arguments = [*arguments, "--out", str(tmp_path / "new")]
    assert tournament(monkeypatch, *arguments) == 2
    shown = capsys.readouterr()
    assert text in shown.err
    assert shown.err.startswith("tournament.py: ")
    assert shown.err.count("\n") == 1
    assert os.listdir(tmp_path) == []


def test_an_interrupt_keeps_all_finished_games(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cup = tmp_path / "cup"
    run = subprocess.Popen(
        [sys.executable, str(SCRIPT), *FAST, "--deals", "10000000", "--cross-deals", "0", "--out", str(cup),
         "--workers", "2"],
        env={**os.environ, "PYTHONPATH": str(SCRIPT.parents[1])}, text=True, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    until = time.monotonic() + 60
    while time.monotonic() < until and not ((cup / "games.jsonl").exists() and (cup / "games.jsonl").stat().st_size):
        time.sleep(0.1)
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does: to the workers too
    _, err = run.communicate(timeout=60)
    assert run.returncode == 130
    assert err.strip().splitlines()[-1] == "tournament.py: interrupted; go on with --resume and the folder"
    assert "Traceback" not in err
    games = (cup / "games.jsonl").read_bytes()
    assert games
    assert tournament(monkeypatch, "--resume", cup, "--workers", 1) == 0
    assert (cup / "games.jsonl").read_bytes().startswith(games[: games.rfind(b"\n") + 1])
