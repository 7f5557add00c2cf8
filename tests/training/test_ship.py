"""Shipped agents: the command line that makes them, and those that are in checkpoints/."""

from __future__ import annotations

import json
import os
import re
import runpy
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from untrained import RULES, untrained_run

import training.ship
from training.checkpoint import (
    MANIFEST,
    POLICY,
    QUICK,
    CheckpointError,
    find_checkpoint,
    load_policy,
    load_training,
    read_manifest,
    save_checkpoint,
)
from training.config import read_config
from training.ship import CARD, CONFIG, LIMIT, how_it_learnt, list_agents, page

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "checkpoints"
SHIPPED = [folder.name for folder in list_agents(FOLDER)]


class Line:
    """Runs command lines of scripts in this process and a folder of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.patch, self.capsys = monkeypatch, capsys

    def __call__(self, script: str, *arguments: object) -> tuple[int, str, str]:
        """Exit code, output and errors."""
        self.patch.setattr(sys, "argv", [script, *map(str, arguments)])
        with pytest.raises(SystemExit) as result:
            runpy.run_path(str(ROOT / "scripts" / script), run_name="__main__")
        out, err = self.capsys.readouterr()
        return int(result.value.code or 0), out, err


@pytest.fixture
def line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Line:
    monkeypatch.chdir(tmp_path)
    return Line(monkeypatch, capsys)


def blocks(card: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", card, re.DOTALL)


def check_agent(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What every shipped agent must be."""
    names = [CARD, CONFIG, MANIFEST, POLICY, *([QUICK] if "quick" in read_manifest(folder) else [])]
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)
    assert sum(path.stat().st_size for path in folder.iterdir()) <= LIMIT
    policy = load_policy(folder)
    manifest = read_manifest(folder)
    config = read_config(folder / CONFIG)
    assert config.game == policy.game.name == manifest["game"]
    card = (folder / CARD).read_text(encoding="utf-8")
    assert card.startswith(f"# {folder.name}\n")
    (settings,) = blocks(card, "yaml")
    assert settings == (folder / CONFIG).read_text(encoding="utf-8")
    assert yaml.safe_load(settings) == manifest["config"]
    (example,) = blocks(card, "python")
    assert len([line for line in example.splitlines() if line]) == 10
    assert f'load_policy("checkpoints/{folder.name}")' in example
    monkeypatch.chdir(folder.parent.parent)
    exec(example, {})
    assert len(yaml.safe_load(capsys.readouterr().out)) == policy.rules["num_players"]


@pytest.mark.parametrize("name", SHIPPED)
def test_the_agents_that_are_here(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check_agent(FOLDER / name, monkeypatch, capsys)


def test_the_page_lists_the_agents_that_are_here() -> None:
    """Where it does not: python scripts/ship.py."""
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert page(text, FOLDER) == text
    assert re.findall(r"\[`([^`]+)`\]", text.partition("<!-- /agents -->")[0]) == SHIPPED
    assert "\n## Methods\n" in text


@pytest.mark.parametrize("pad_seats", [False, True])
@pytest.mark.parametrize("game", RULES)
def test_a_run_becomes_an_agent(
    game: str,
    pad_seats: bool,
    line: Line,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = untrained_run(Path("runs/one"), game, pad_seats)
    code, out, err = line("ship.py", run, "mine")
    assert (code, err) == (0, "")
    assert out.startswith("agent: checkpoints/mine (")
    assert sorted(os.listdir("checkpoints")) == ["README.md", "mine"]
    check_agent(tmp_path / "checkpoints" / "mine", monkeypatch, capsys)
    text = (tmp_path / "checkpoints" / "README.md").read_text(encoding="utf-8")
    assert "| [`mine`](mine/README.md) |" in text
    assert page(text, tmp_path / "checkpoints") == text

    # It plays wherever its run does, and its card says on what it was made.
    assert line("evaluate.py", "checkpoints/mine", "--against", "heuristic", "--deals", 2, "--workers", 1)[0] == 0
    card = Path("checkpoints/mine/README.md").read_text(encoding="utf-8")
    manifest = read_manifest(Path("checkpoints/mine"))
    for fact in (manifest["torch"], f"{manifest['machine']['processor']}, {manifest['machine']['cores']} cores"):
        assert f"| {fact} |" in card
    with pytest.raises(CheckpointError, match="is missing"):
        load_training(Path("checkpoints/mine"))


def test_the_commands_of_a_card_repeat_its_results(line: Line) -> None:
    run = untrained_run(Path("runs/one"), "kachuful")
    given = (
        [run, "--against", "counting,montecarlo:deals=2,caution=1", "--deals", 3, "--seed", 4],
        [f"{run}:sampled", "--against", "random", "--deals", 3, "--rules.max_hand", 3, "--rules.scoring", "judgement"],
        [run, "--against", "random", "--deals", 2, "--sampled", "--reverse"],
    )
    for k, arguments in enumerate(given):
        assert line("evaluate.py", *arguments, "--workers", 1, "--json", f"{k}.json")[0] == 0
    assert line("ship.py", run, "mine", "--results", "0.json", "1.json", "2.json")[0] == 0
    card = Path("checkpoints/mine/README.md").read_text(encoding="utf-8")
    (commands,) = blocks(card, "bash")
    training_line, *lines = map(shlex.split, commands.splitlines())
    assert training_line == [
        *("python", "scripts/train.py", "--config", "checkpoints/mine/config.yaml", "--out", "runs/mine")
    ]
    assert len(lines) == 3
    for k, words in enumerate(lines):
        assert words[:2] == ["python", "scripts/evaluate.py"]
        assert line("evaluate.py", *words[2:], "--workers", 1, "--json", "again.json")[0] == 0
        first, again = (json.loads(Path(name).read_text()) for name in (f"{k}.json", "again.json"))
        for document in (first, again):
            for table in document["tables"]:
                for side in (table, table.get("reverse", {})):  # the names of the folders differ, nothing else
                    side.pop("candidate", None)
                    side.pop("opponent", None)
        for part in ("tables", "rules", "deals", "seed", "policy_sha256", "greedy"):
            assert first[part] == again[part]
        row = next(row for row in card.splitlines() if row.startswith(f"| `{first['specs'][1]}`"))
        for name in ("exact", "over", "under"):
            assert f"{100 * first['tables'][0]['statistics'][name]['mean']:.1f} %" in (row if k == 0 else card)
    assert card.count("| greedy |") == 2
    assert card.count("| sampled |") == 2
    assert "| `random`, `max_hand=3`, `scoring='judgement'` |" in card


def test_a_quick_network_is_shipped_with_its_policy(line: Line) -> None:
    run = untrained_run(Path("runs/one"), "kachuful")
    folder, policy = find_checkpoint(run), load_policy(run)
    entries, _, kept = load_training(folder)
    about = {name: entry for name, entry in entries.items() if name not in ("network", "parts")}
    save_checkpoint(run, policy.network, about, kept, policy.network)
    arguments = ("--against", "random", "--deals", 2, "--rules.max_hand", 2, "--workers", 1, "--json", "found.json")
    assert line("evaluate.py", f"{run}:search", *arguments)[0] == 0
    assert line("ship.py", run, "mine", "--results", "found.json")[0] == 0
    shipped = Path("checkpoints/mine")
    assert sorted(read_manifest(shipped)["parts"]) == [POLICY, QUICK]
    assert load_policy(shipped).quick is not None
    card = (shipped / CARD).read_text(encoding="utf-8")
    assert "| looks ahead |" in card
    assert "scripts/evaluate.py checkpoints/mine:search --against random" in card
    (shipped / QUICK).write_bytes((shipped / QUICK).read_bytes()[:-9])
    with pytest.raises(CheckpointError, match=f"{QUICK} is damaged"):
        load_policy(shipped)


def test_an_agent_is_replaced_only_on_request(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = untrained_run(Path("runs/one"), "kachuful"), untrained_run(Path("runs/two"), "kaschlan")
    assert line("ship.py", first, "mine")[0] == 0
    page_path = Path("checkpoints/README.md")
    page_path.write_text(page_path.read_text().replace("Nothing is compared here yet.", "A table."))
    code, out, err = line("ship.py", second, "mine")
    assert (code, out) == (2, "")
    assert err == "ship.py: checkpoints/mine already exists; --replace replaces it\n"
    assert load_policy("checkpoints/mine").game.name == "kachuful"

    renamed = Path.rename

    def fail(self: Path, target: Path) -> Path:
        if self.name == ".mine.new":
            raise OSError(28, "No space left on device")
        return renamed(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    assert line("ship.py", second, "mine", "--replace")[0] == 1
    assert load_policy("checkpoints/mine").game.name == "kachuful"
    monkeypatch.setattr(Path, "rename", renamed)
    assert line("ship.py", second, "mine", "--replace")[0] == 0
    assert load_policy("checkpoints/mine").game.name == "kaschlan"
    assert sorted(os.listdir("checkpoints")) == ["README.md", "mine"]
    text = page_path.read_text()
    assert "| [`mine`](mine/README.md) | Kaschlan |" in text
    assert text.endswith("## Methods\n\nA table.\n")
    shutil.rmtree("checkpoints/mine")
    assert line("ship.py") == (0, f"list: {page_path}\n", "")
    assert "No agent is here yet." in page_path.read_text()


def test_what_is_wrong_takes_one_line(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    run, other = untrained_run(Path("runs/one"), "kachuful"), untrained_run(Path("runs/two"), "kachuful", hidden=(8,))
    for name, text in (("text.json", "no JSON"), ("list.json", "[]"), ("old.json", '{"tables": []}')):
        Path(name).write_text(text)
    assert line("evaluate.py", other, "--against", "random", "--deals", 2, "--workers", 1, "--json", "two.json")[0] == 0
    arguments: list[Any]
    for arguments, message in (
        (["runs/none", "mine"], "no checkpoint at runs/none: no such folder"),
        ([run], "give runs/one a name, too"),
        ([run, "../mine"], "'../mine' is no name for an agent"),
        ([run, ".mine"], "'.mine' is no name for an agent"),
        ([run, "mine", "--results", "none.json"], "cannot read none.json: No such file or directory"),
        ([run, "mine", "--results", "text.json"], "text.json is not JSON"),
        ([run, "mine", "--results", "list.json"], "list.json holds no results"),
        ([run, "mine", "--results", "old.json"], "old.json holds no results"),
        ([run, "mine", "--results", "two.json"], "two.json holds results of another policy"),
        (["--replace"], "give the folder of a run and a name"),
        ([], "there is no folder checkpoints here"),
    ):
        code, out, err = line("ship.py", *arguments)
        assert (code, out) == (2, "")
        assert message in err
        assert err.startswith("ship.py: ")
        assert err.count("\n") == 1
    monkeypatch.setattr(training.ship, "LIMIT", 10_000)
    code, _, err = line("ship.py", run, "mine")
    assert code == 2
    assert re.fullmatch(r"ship.py: mine would take [\d,]+ bytes; at most 10,000 are shipped\n", err)
    assert not Path("checkpoints").exists()


def drop_entry(run: Path, name: str) -> None:
    """Take an entry out of the manifest of a run's only checkpoint."""
    (path,) = run.glob(f"checkpoints/*/{MANIFEST}")
    manifest = json.loads(path.read_text())
    del manifest[name]
    path.write_text(json.dumps(manifest))


def test_a_checkpoint_of_another_making_is_refused(line: Line) -> None:
    run = untrained_run(Path("runs/one"), "kachuful")
    drop_entry(run, "config")
    code, _, err = line("ship.py", run, "mine")
    assert code == 2
    assert "is not of a training run: 'config' is missing" in err


def test_a_machine_that_the_checkpoint_does_not_name(line: Line) -> None:
    run = untrained_run(Path("runs/one"), "kachuful")
    drop_entry(run, "machine")
    assert line("ship.py", run, "one")[0] == 0
    assert "| machine | not recorded |" in Path("checkpoints/one/README.md").read_text()
    assert line("ship.py", run, "two", "--machine", "an abacus, 1 core")[0] == 0
    assert "| machine | an abacus, 1 core |" in Path("checkpoints/two/README.md").read_text()


def test_the_card_says_how_it_learnt() -> None:
    rollout = {"opponents": {"self": 0.3, "heuristic": 0.1}, "lookahead": "off", "objective": "points"}
    config = {"imitation": {"decisions": 0}, "rollout": rollout}
    assert how_it_learnt(config) == "PPO; tables: 75% self, 25% heuristic"
    rollout |= {"lookahead": "policy", "objective": "win"}
    config["imitation"] = {"decisions": 4_000_000}
    assert how_it_learnt(config) == (
        "4,000,000 decisions of imitation, then comparing playouts by itself to win the game; "
        "tables: 75% self, 25% heuristic"
    )
    rollout |= {"playout_hidden": [8], "objective": "points"}
    assert how_it_learnt(config | {"auxiliary": {"outcome": 0.0, "holders": 0.5}}) == (
        "4,000,000 decisions of imitation, then comparing playouts by a small network that mimics it, "
        "foreseeing holders; tables: 75% self, 25% heuristic"
    )
    assert "mimics it (for 9,000 decisions first by the strongest rule player);" in how_it_learnt(
        {**config, "rollout": {**rollout, "rule_playouts": 9_000}}
    )
