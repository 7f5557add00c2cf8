"""Variants of a training, compared on the same deals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scripting import run_script

from training.ablation import PLAIN, Plan, compare, measure_all, read_variants, table, train_all
from training.checkpoint import list_checkpoints
from training.config import ConfigError

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "ablate.py"
BASE = [
    *("--rules.max_hand", "2", "--network.hidden", "[16]", "--network.precision", "float32"),
    *("--rollout.tables", "16", "--rollout.steps", "16", "--ppo.minibatches", "2", "--run.evaluate_minutes", "null"),
    *("--run.decisions", "600"),
]


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """Run the script; returns its exit code."""
    return run_script(monkeypatch, "ablate.py", *arguments)


def test_variants_are_trained_once_and_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    variants: dict[str, list[str]] = {PLAIN: [], "same": [], "fixed": ["--network.suits", "fixed"]}
    plan = Plan(BASE, variants, [3, 4], "counting", 3, tmp_path / "runs", workers=2)
    plan.check()
    said: list[object] = []
    train_all(plan, said.append)
    assert sorted(map(str, said)) == sorted(f"{v}-{s}: trained" for v in variants for s in (3, 4))
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*") if path.is_file()}
    train_all(plan, said.append)
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*") if path.is_file()}
    assert before == after
    document = compare(plan, measure_all(plan, said.append))
    rows = document["variants"]
    assert list(rows) == list(variants)
    assert rows["same"]["gain_by_seed"] == [0.0, 0.0]  # the same seed and settings: the same weights
    assert rows["fixed"]["gain_by_seed"] != [0.0, 0.0]
    assert rows["fixed"]["gain"]["mean"] == pytest.approx(sum(rows["fixed"]["gain_by_seed"]) / 2)
    assert table(document).row_count == 3
    json.dumps(document)


def test_an_interrupted_training_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    short = Plan(BASE, {PLAIN: []}, [0], "counting", 2, tmp_path)
    train_all(short, lambda _: None)
    longer = Plan([*BASE[:-1], "1200"], {PLAIN: []}, [0], "counting", 2, tmp_path)
    train_all(longer, lambda _: None)
    assert int(list_checkpoints(tmp_path / "plain-0")[-1].name) >= 1200


def test_a_failed_training_is_told(tmp_path: Path) -> None:
    plan = Plan([*BASE, "--network.start", str(tmp_path / "none")], {PLAIN: []}, [0], "counting", 2, tmp_path / "runs")
    with pytest.raises(RuntimeError, match=r"plain-0 ended with exit code 2; .*plain-0\.log tells why"):
        train_all(plan, lambda _: None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2]", "must hold a mapping"),
        ("critic: deal", "must hold a mapping"),
        ("plain: []", "variant 'plain' is not possible"),
        ("'a b': []", "variant 'a b' is not possible"),
        ("{", "cannot be read as YAML"),
    ],
)
def test_files_that_are_no_variants(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "variants.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_variants(path)


def test_wrong_command_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = ROOT / "configs" / "quick.yaml"
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("odd: [--ppo.clip, 7]")
    for arguments, text in (
        ((wrong, "--config", config), "variant 'odd': option ppo.clip=7"),
        ((tmp_path / "none.yaml", "--config", config), "none.yaml: cannot be read as YAML"),
        ((wrong, "--config", config, "--seeds", 0), "--seeds 0 is not possible"),
    ):
        assert run(monkeypatch, *arguments, "--out", tmp_path / "out") == 2
        assert text in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_shipped_variants_are_possible(tmp_path: Path) -> None:
    variants = read_variants(ROOT / "configs" / "ablation" / "methods.yaml")
    plan = Plan(["--config", str(ROOT / "configs" / "kachuful.yaml")], variants, [0], "heuristic", 1, tmp_path)
    plan.check()
    with pytest.raises(ConfigError, match="variant 'odd'"):
        Plan(plan.base, {**variants, "odd": ["--nothing"]}, [0], "heuristic", 1, tmp_path).check()


def test_names_of_options_are_no_booleans(tmp_path: Path) -> None:
    path = tmp_path / "variants.yaml"
    path.write_text("blind: [--rules.blind, off]")
    assert read_variants(path)["blind"] == ["--rules.blind", "off"]
