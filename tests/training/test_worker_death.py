"""Worker processes of matches and tournaments that die: one line, exit code 1, nothing written is lost."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from envs.game import find_game
from training.crew import Crew, Team, WorkerError

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="POSIX signals")

ROOT = Path(__file__).parents[2]
KILLED = "a worker process was killed by SIGKILL (out of memory?)"
COMMON = ("--rules.max_hand", "2", "--workers", "2")


def process(folder: Path, script: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(ROOT / "scripts" / script), *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests")))},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def until_there(path: Path, run: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while not (path.exists() and path.stat().st_size):
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_match_ends(tmp_path: Path) -> None:
    (tmp_path / "die").touch()
    run = process(
        tmp_path, "evaluate.py", "toyagents:mortal", "--game", "kachuful", "--against", "random", *COMMON,
        "--json", "result.json",
    )  # fmt: skip
    out, err = run.communicate(timeout=120)
    assert (run.returncode, out, err) == (1, "", f"evaluate.py: {KILLED}\n")
    assert os.listdir(tmp_path) == ["die"]


@pytest.mark.slow
def test_a_tournament_ends_and_goes_on(tmp_path: Path) -> None:
    agents = ("--game", "kachuful", "--agents", "toyagents:mortal", "random", "--cross-deals", 2, "--seed", 3)
    games = tmp_path / "cup" / "games.jsonl"
    run = process(tmp_path, "tournament.py", *agents, "--deals", 10**7, *COMMON, "--out", "cup")
    until_there(games, run)
    (tmp_path / "die").touch()
    out, err = run.communicate(timeout=120)
    assert (run.returncode, out) == (1, "")
    assert err == f"tournament.py: {KILLED}; go on with --resume and the folder\n"
    before = games.read_bytes()
    assert before.endswith(b"\n")
    assert sorted(os.listdir(tmp_path / "cup")) == ["games.jsonl", "tournament.json"]

    (tmp_path / "die").unlink()
    deals = before.count(b"\n")  # there are more games than deals
    run = process(tmp_path, "tournament.py", "--resume", "cup", "--deals", deals, "--workers", 2)
    _, err = run.communicate(timeout=120)
    assert (run.returncode, err) == (0, "")
    assert games.read_bytes().startswith(before)
    run = process(tmp_path, "tournament.py", *agents, "--deals", deals, *COMMON[:2], "--workers", 1, "--out", "whole")
    _, err = run.communicate(timeout=120)
    assert (run.returncode, err) == (0, "")
    assert games.read_bytes() == (tmp_path / "whole" / "games.jsonl").read_bytes()


def slow(_team: Team, first: int, _count: int) -> int:
    """Work whose first item is never done."""
    time.sleep(600 if first == 0 else 0.01)
    return first


def leave(_team: Team, first: int, _count: int) -> int:
    """Work that ends its process."""
    if multiprocessing.parent_process() is None:
        raise AssertionError("this is no worker")
    os._exit(3 + first)


@pytest.fixture
def crew() -> Any:
    game = find_game("kachuful")
    with Crew(Team.load(game, game.make_rules(), ("random",)), 2) as found:
        yield found


def test_a_worker_that_is_killed_at_work(crew: Crew) -> None:
    """The others' results wait for its own, which never comes."""
    work = crew.spread(slow, 10**6)
    crew._start()
    for at in (0, 1):
        os.kill(crew._processes[at].pid, signal.SIGTERM if at else signal.SIGKILL)
    with pytest.raises(WorkerError, match=r"^a worker process was killed by SIG(KILL \(out of memory\?\)|TERM)$"):
        next(work)


def test_a_worker_that_ends_by_itself(crew: Crew) -> None:
    with pytest.raises(WorkerError, match=r"^a worker process has ended with exit code [34]$"):
        list(crew.spread(leave, 2))


def test_a_crew_whose_worker_has_died_can_be_closed_and_begins_anew(crew: Crew) -> None:
    with pytest.raises(WorkerError):
        list(crew.spread(leave, 2))
    crew.close()
    assert [first for first, _, _ in crew.spread(slow, 5, start=1)]
