"""The command line of scripts/evaluate.py."""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import training.arena
from envs.agents import find_agent
from envs.game import find_game
from training.arena import first_deal, play_match
from training.checkpoint import describe, save_checkpoint
from training.network import make_policy_network
from training.report import Summary, check_json_path, summarize, write_json

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "evaluate.py"
FAST = ["--game", "kachuful", "--rules.max_hand", "3", "--deals", "20"]


def evaluate(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """Run the script inside this process; returns its exit code."""
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *map(str, arguments)])
    with pytest.raises(SystemExit) as result:
        runpy.run_path(str(SCRIPT), run_name="__main__")
    return int(result.value.code or 0)


def process(*arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), *arguments],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_a_table_and_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "result.json"
    path.write_text("an older result")
    assert evaluate(monkeypatch, "counting", *FAST, "--against", "random,counting", "--seed", 3, "--json", path) == 0
    shown = capsys.readouterr()
    for text in (
        "against",
        "random",
        "counting",
        "20 (80)",
        "win share",
        "25.0 %",
        "points per round",
        "exact per round",
    ):
        assert text in shown.out
    assert os.listdir(tmp_path) == ["result.json"]
    result = json.loads(path.read_text())
    assert result["command"][1:] == [
        "counting",
        *FAST,
        "--against",
        "random,counting",
        "--seed",
        "3",
        "--json",
        str(path),
    ]
    assert (result["game"], result["candidate"], result["seed"]) == ("kachuful", "counting", 3)
    assert result["specs"] == ["counting", "random", "counting"]
    assert result["policy_sha256"] is None
    assert (result["deals"], result["games"], result["confidence"]) == (20, 80, 0.95)
    assert result["first_deal_seed"] == first_deal(3)
    assert result["rules"]["max_hand"] == 3
    assert result["rules"]["num_players"] == 4
    assert {"python", "numpy", "numba", "torch", "taash", "engine"} <= set(result["versions"])
    assert [table["opponent"] for table in result["tables"]] == ["random", "counting"]
    game = find_game("kachuful")
    agents = find_agent("counting", game), find_agent("random", game)
    match = play_match(game, game.make_rules(max_hand=3), *agents, deals=20, seed=3)
    expected: Summary = summarize(match)
    table = result["tables"][0]
    assert table["win_share"] == vars(expected.win_share)
    assert table["points_per_round"] == vars(expected.points_per_round)
    assert table["par"] == 0.25
    assert set(table["statistics"]) == set(table["opponent_statistics"]) == set(game.statistics)
    assert table["statistics"]["exact"] == vars(expected.statistics["exact"])


def test_the_same_seed_gives_the_same_result(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    results = []
    for k in range(2):
        path = tmp_path / f"{k}.json"
        assert evaluate(monkeypatch, "random", *FAST, "--json", path) == 0
        results.append(json.loads(path.read_text())["tables"])
    assert results[0] == results[1]
    assert [table["opponent"] for table in results[0]] == [
        "random",
        "counting",
        "heuristic",
    ]  # by default all that are built in


def test_kept_deals_are_gone_on_with(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kept, path, whole = tmp_path / "kept.jsonl", tmp_path / "result.json", tmp_path / "whole.json"
    common = ["counting", *FAST, "--against", "random,counting", "--reverse", "--workers", 1]
    assert evaluate(monkeypatch, *common, "--json", whole) == 0
    wanted = json.loads(whole.read_text())["tables"]
    assert evaluate(monkeypatch, *common, "--deals", 7, "--keep", kept) == 0
    # A kill has torn the last line.
    lines = kept.read_bytes().splitlines(keepends=True)
    kept.write_bytes(b"".join(lines[:-1]) + lines[-1][:50])
    assert evaluate(monkeypatch, *common, "--keep", kept, "--json", path) == 0
    assert "a torn line was moved to" in capsys.readouterr().err
    assert json.loads(path.read_text())["tables"] == wanted
    assert (tmp_path / "kept.jsonl.torn0").read_bytes() == lines[-1][:50]
    # All is there: nothing is played, and fewer deals are the first of them.
    monkeypatch.setattr(training.arena, "_shares", lambda *_, **__: iter(()))
    before = kept.read_bytes()
    assert evaluate(monkeypatch, *common, "--keep", kept, "--json", path) == 0
    assert json.loads(path.read_text())["tables"] == wanted
    assert evaluate(monkeypatch, *common, "--deals", 5, "--keep", kept, "--json", path) == 0
    assert json.loads(path.read_text())["deals"] == 5
    assert kept.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (["--seed", 4], "another evaluation (seed 0 there, 4 here)"),
        (["--rules.num_players", 5], "another evaluation (rules"),
        (["--reverse"], "another evaluation (reverse False there, True here)"),
        (["--against", "counting"], "another evaluation (agents ['counting', 'random'] there"),
    ],
)
def test_kept_deals_are_of_one_evaluation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, change: list[Any], problem: str
) -> None:
    kept = tmp_path / "kept.jsonl"
    common = ["counting", *FAST, "--deals", 2, "--against", "random", "--workers", 1, "--keep", kept]
    assert evaluate(monkeypatch, *common) == 0
    before = kept.read_bytes()
    assert evaluate(monkeypatch, *common, *change) == 2
    error = capsys.readouterr().err
    assert problem in error
    assert error.count("\n") == 1
    assert kept.read_bytes() == before


def test_a_file_that_holds_something_else_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kept = tmp_path / "kept.jsonl"
    common = ["counting", *FAST, "--deals", 2, "--against", "random", "--workers", 1, "--keep"]
    assert evaluate(monkeypatch, *common, kept) == 0
    first, second, *_ = kept.read_text().splitlines(keepends=True)
    for text, problem in (
        ("{}\n", "it holds no deals of an evaluation"),
        (first + second + second, "line 3 is not what belongs there"),
        (first + "nonsense\n", "line 2 is damaged"),
        (first + '{"match": 0}\n', "line 2 is not what belongs there"),
    ):
        kept.write_text(text)
        assert evaluate(monkeypatch, *common, kept) == 2
        assert problem in capsys.readouterr().err
        assert kept.read_text() == text
    kept.write_text(first)
    assert evaluate(monkeypatch, *common, kept, "--json", kept) == 2
    assert "--keep names the same file" in capsys.readouterr().err
    assert kept.read_text() == first
    assert evaluate(monkeypatch, *common, tmp_path) == 2
    assert "no plain file" in capsys.readouterr().err
    assert evaluate(monkeypatch, *common, tmp_path / "missing" / "kept.jsonl") == 2
    assert "No such file" in capsys.readouterr().err


def test_a_checkpoint_brings_its_game_and_rules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    game = find_game("kachuful")
    rules = game.make_rules(max_hand=3, num_players=3)
    network = make_policy_network(game, 3, False, [8])
    run, path = tmp_path / "run", tmp_path / "result.json"
    save_checkpoint(run, network, {**describe(game, rules, False), "decisions": 1}, {})
    arguments = [run, "--deals", 5, "--against", f"random,{run}", "--json", path]
    results = []
    for choice in ("--greedy", "--sampled"):
        assert evaluate(monkeypatch, *arguments, choice, "--rules.schedule", "down") == 0
        results.append(json.loads(path.read_text()))
        assert results[-1]["greedy"] == (choice == "--greedy")
        assert results[-1]["candidate"] == str(run / "checkpoints" / "000000000001")
        used = results[-1]["rules"]
        assert (used["num_players"], used["max_hand"], used["schedule"]) == (3, 3, "down")
        assert results[-1]["tables"][1]["win_share"]["mean"] == pytest.approx(1 / 3)
    assert results[0]["tables"] != results[1]["tables"]
    assert evaluate(monkeypatch, *arguments, "--rules.num_players", 4) == 2


def test_specs_with_options_are_candidates_and_opponents(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    against = "montecarlo:deals=2,weight=bids,random"
    arguments = ["montecarlo:deals=3", *FAST, "--deals", 2, "--against", against, "--json", path]
    assert evaluate(monkeypatch, *arguments) == 0
    result = json.loads(path.read_text())
    assert result["candidate"] == "montecarlo:deals=3"
    assert [table["opponent"] for table in result["tables"]] == ["montecarlo:deals=2,weight=bids", "random"]


def test_workers_and_reverse_tables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    tables = []
    for workers in (1, 2):
        path = tmp_path / f"{workers}.json"
        arguments = ["counting", *FAST, "--against", "random", "--reverse", "--workers", workers, "--json", path]
        assert evaluate(monkeypatch, *arguments) == 0
        tables.append(json.loads(path.read_text())["tables"])
        shown = capsys.readouterr().out
        for text in ("opponent alone wins", "gained by pairing", "difference, paired"):
            assert text in shown
    assert tables[0] == tables[1]
    table = tables[0][0]
    assert (table["reverse"]["candidate"], table["reverse"]["opponent"]) == ("random", "counting")
    assert table["alone"]["mean"] == pytest.approx(table["win_share"]["mean"] - table["reverse"]["win_share"]["mean"])
    assert evaluate(monkeypatch, "counting", *FAST, "--workers", 0) == 2
    assert "--workers 0 is not possible" in capsys.readouterr().err


def test_options_that_yaml_would_take_for_booleans(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    rules = ["--rules.blind", "off", "--rules.trump", "N", "--rules.hook", "false", "--rules.num_players", "3"]
    assert evaluate(monkeypatch, "counting", *FAST, "--against", "random", *rules, "--json", path) == 0
    found = json.loads(path.read_text())["rules"]
    assert (found["blind"], found["trump"], found["hook"], found["num_players"]) == ("off", "N", False, 3)


def test_one_deal_has_no_interval(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "result.json"
    assert evaluate(monkeypatch, "counting", *FAST, "--deals", 1, "--against", "random", "--json", path) == 0
    assert json.loads(path.read_text())["tables"][0]["win_share"]["low"] is None
    assert "[" not in capsys.readouterr().out


BAD = {
    "unknown opponent": (["counting", *FAST, "--against", "random,nobody"], "no agent 'nobody'; choose one of"),
    "unknown search option": (["counting", *FAST, "--against", "random,pimc:deal=2"], "did you mean 'deals'?"),
    "impossible search option": (["ismcts:iterations=0", *FAST], "ismcts: option iterations=0 is not possible"),
    "empty opponent": (["counting", *FAST, "--against", "random,"], "no agent ''"),
    "missing checkpoint": (["runs/none.pt"], "no checkpoint 'runs/none.pt'"),
    "name without game": (["counting"], "a built-in agent needs a game"),
    "unknown game": (["counting", "--game", "bridge"], "no game 'bridge'; choose one of"),
    "no deals": (["counting", *FAST, "--deals", "0"], "--deals 0 is not possible: it must be from 1 to"),
    "half a deal": (["counting", *FAST, "--deals", "1.5"], "deals"),
    "a word for deals": (["counting", *FAST, "--deals", "many"], "deals"),
    "negative seed": (["counting", *FAST, "--seed", "-1"], "--seed -1 is not possible"),
    "large seed": (["counting", *FAST, "--seed", str(2**63)], "--seed 9223372036854775808 is not possible"),
    "impossible option": (["counting", *FAST, "--rules.num_players", "9"], "num_players must be an integer"),
    "unknown option": (["counting", *FAST, "--rules.handsize", "9"], "no option 'handsize'"),
    "unknown argument": (["counting", *FAST, "--deal", "9"], "--deal"),
    "greedy and sampled": (["counting", *FAST, "--greedy", "--sampled"], "not allowed with"),
    "no candidate": (FAST, "candidate"),
    "json in no folder": (["counting", *FAST, "--json", "no/such/folder/x.json"], "cannot write no/such/folder/x.json"),
    "json is a folder": (["counting", *FAST, "--json", str(ROOT)], "it is a directory"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_told_in_one_line_before_any_play(
    case: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, text = BAD[case]
    monkeypatch.setattr(training.arena, "play_match", pytest.fail)
    assert evaluate(monkeypatch, *arguments) == 2
    shown = capsys.readouterr()
    assert text in shown.err
    assert shown.err.startswith("evaluate.py: ")
    assert shown.err.count("\n") == 1
    assert shown.out == ""


def test_a_process_of_its_own_tells_an_error_in_one_line() -> None:
    run = process("counting", *FAST, "--against", "nobody")
    out, err = run.communicate(timeout=120)
    assert run.returncode == 2
    assert out == ""
    assert err.splitlines() == [
        "evaluate.py: no agent 'nobody'; choose one of random, counting, heuristic, montecarlo, pimc, "
        "ismcts, the path of a checkpoint, sb3:MODEL.zip, or package.module:factory"
    ]


def test_an_interrupt_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    run = process("counting", "--game", "kachuful", "--deals", "50000000", "--json", str(path))
    time.sleep(3)
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=120)
    assert run.returncode == 130
    assert err.splitlines()[-1].startswith("evaluate.py: interrupted")
    assert "Traceback" not in err
    assert os.listdir(tmp_path) == []


def test_an_interrupt_keeps_the_older_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "result.json"
    path.write_text("an older result")

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(training.arena, "play_match", interrupted)
    assert evaluate(monkeypatch, "counting", *FAST, "--json", path) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "evaluate.py: interrupted; with --keep, the same command goes on"
    assert path.read_text() == "an older result"
    assert os.listdir(tmp_path) == ["result.json"]


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"x": 1})
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(path, {"x": 1, "y": float("nan")})
    assert json.loads(path.read_text()) == {"x": 1}
    assert os.listdir(tmp_path) == ["a.json"]
    check_json_path(path)
    assert json.loads(path.read_text()) == {"x": 1}
