"""Agents of one's own that fail: one line says which, how and where."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from scripting import run_script

from training.files import write_whole

SCRIPTS = Path(__file__).parents[2] / "scripts"
TEXTS = {
    "raises": "agent raises failed: RuntimeError: boom and more (",
    "illegal": "agent illegal: action 88 (look) is illegal; legal: ",
    "shaped": "agent shaped answered with int64 of shape (",
    "floating": "agent floating answered with float32 of shape (",
    "unborn": "no agent 'brokenagents:unborn': its factory failed: KeyError: 'x'",
}


@pytest.mark.parametrize("kind", list(TEXTS))
def test_in_a_match(kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code = run_script(
        monkeypatch, "evaluate.py", f"brokenagents:{kind}", "--game", "kachuful", "--rules.max_hand", 2,
        "--against", "random", "--deals", 2, "--workers", 1,
    )  # fmt: skip
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith(f"evaluate.py: {TEXTS[kind]}")
    assert err.count("\n") == 1
    if kind == "raises":
        assert "brokenagents.py, line " in err


def test_in_worker_processes_and_tournaments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run_script(
        monkeypatch, "tournament.py", "--game", "kachuful", "--rules.max_hand", 2, "--agents", "random",
        "brokenagents:raises", "--deals", 2, "--workers", 2, "--out", tmp_path / "cup",
    )  # fmt: skip
    err = capsys.readouterr().err
    assert code == 2
    assert err.splitlines()[-1].startswith("tournament.py: agent raises failed: RuntimeError: boom and more (")
    assert "Traceback" not in err


def test_in_ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    position = SCRIPTS.parent / "configs" / "positions" / "example.json"
    assert run_script(monkeypatch, "ask.py", position, "--agent", "brokenagents:shaped") == 2
    assert "ask.py: agent shaped answered with int64 of shape (1, 89); it must be integers of shape (1,)" in (
        capsys.readouterr().err
    )


def test_too_many_deals(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_script(monkeypatch, "evaluate.py", "heuristic", "--game", "kachuful", "--deals", 10**20) == 2
    assert "--deals 100000000000000000000 is not possible: it must be from 1 to 1000000000" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_only_plain_files_are_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    arguments = ("random", "--game", "kachuful", "--against", "random", "--deals", 1, "--json", pipe)
    assert run_script(monkeypatch, "evaluate.py", *arguments) == 2
    assert f"cannot write {pipe}: it is no plain file" in capsys.readouterr().err
    with pytest.raises(OSError, match="not a plain file"):
        write_whole(pipe, b"")
    assert pipe.is_fifo()
