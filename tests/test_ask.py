"""The command line of scripts/ask.py."""

from __future__ import annotations

import io
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from playing import step_randomly

from envs import SEAT_IDS, kachuful_v0
from envs.aec import TableEnv
from envs.agents import Decisions, agent_names, find_agent
from envs.game import find_game
from training.agents import load_agent
from training.checkpoint import describe, save_checkpoint
from training.network import make_policy_network

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "scripts" / "ask.py"
EXAMPLE = ROOT / "configs" / "positions" / "example.json"
GAME = find_game("kachuful")
BIDDING: dict[str, Any] = {"game": "kachuful", "dealer": 3, "hands": [["AS", "KS"], None, None, None]}


def ask(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """Run the script inside this process; returns its exit code."""
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *map(str, arguments)])
    with pytest.raises(SystemExit) as result:
        runpy.run_path(str(SCRIPT), run_name="__main__")
    return int(result.value.code or 0)


def write(folder: Path, position: Any) -> Path:
    path = folder / "position.json"
    path.write_text(position if isinstance(position, str) else json.dumps(position), encoding="utf-8")
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with a checkpoint of three players and three cards."""
    rules = GAME.make_rules(max_hand=3, num_players=3)
    network = make_policy_network(GAME, 3, False, [8])
    save_checkpoint(tmp_path / "run", network, {**describe(GAME, rules, False), "decisions": 1}, {})
    return tmp_path / "run"


def test_the_example(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    position = json.loads(EXAMPLE.read_text())
    assert ask(monkeypatch, EXAMPLE, "--agent", "counting", "--seed", 5) == 0
    shown, error = capsys.readouterr()
    assert error == ""
    env = kachuful_v0.raw_env(render_mode="ansi", **position.pop("rules"))
    env.reset(seed=5, options={"position": position})
    assert shown.startswith(f"{env.render()}\n")
    assert "dealt from seed 5: the hands of seats 1, 2, 3\n" in shown
    for action in np.flatnonzero(env.last()[0]["action_mask"]).tolist():
        assert env.action_name(action) in shown.split("legal action")[1]
    chosen = int(find_agent("counting", GAME).act(Decisions(GAME, env.rules, env._states, 5))[0])
    assert shown.endswith(f"seat 0 is to play; counting chooses {env.action_name(chosen)}\n")


def test_what_another_process_prints() -> None:
    command = [sys.executable, str(SCRIPT), "-", "--agent", "random", "--rules.num_players", "5"]
    position = json.dumps({"game": "kachuful", "rules": {"num_players": 3}, "dealer": 1}).encode()
    done = subprocess.run(
        command, input=position, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=True
    )
    lines = done.stdout.decode().splitlines()
    assert lines[0].endswith("seat 1 dealt, seat 2 to bid")
    assert "dealt from seed 0: the hands of seats 0, 1, 2, 3, 4" in lines
    assert lines[-1].startswith("seat 2 is to bid; random chooses bid ")
    assert done.stderr == b""


def test_a_whole_snapshot(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    env = kachuful_v0.raw_env(num_players=5, blind="optional", scoring="judgement", render_mode="ansi")
    env.reset(seed=3)
    for name in ("look", "bid "):
        assert ask(monkeypatch, write(tmp_path, env.snapshot()), "--agent", "counting") == 0
        shown = capsys.readouterr().out
        assert shown.startswith(f"{env.render()}\n")
        assert "dealt from" not in shown
        assert f"counting chooses {name}" in shown
        if name == "look":
            env.step(env.action_id(name))


def test_a_game_that_is_over(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert ask(monkeypatch, write(tmp_path, BIDDING | {"finished": True}), "--agent", "counting") == 0
    assert capsys.readouterr().out.splitlines()[-1] == "the game is over, no seat is to act"


def test_a_checkpoint_tells_its_probabilities(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, run: Path
) -> None:
    """It brings its game and rules; those in the file override them, those on the command line both."""
    path = write(tmp_path, {"dealer": 2, "bids": [1, 0, None], "rules": {"scoring": "judgement", "hook": True}})
    for arguments, hook in (((), True), (("--rules.hook", "false"), False), (("--rules.preset", "sun"), True)):
        assert ask(monkeypatch, path, "--agent", run, *arguments, "--seed", 2) == 0
        shown = capsys.readouterr().out
        size = 10 if "--rules.preset" in arguments else 3
        assert f"{size} cards each" in shown
        rows = [line.split("│")[1:-1] for line in shown.splitlines() if line.startswith("│")]
        legal = [bid for bid in range(size + 1) if not hook or bid != size - 1]
        assert [row[1].strip() for row in rows] == [f"bid {bid}" for bid in legal]
        chances = [float(row[3].removesuffix(" % ")) for row in rows]
        assert sum(chances) == pytest.approx(100, abs=1)
        (chosen,) = [k for k, row in enumerate(rows) if row[0].strip() == ">"]
        assert chances[chosen] == max(chances)
        assert shown.splitlines()[-1].endswith(f"chooses bid {legal[chosen]}")


def test_a_search_shows_what_each_action_is_worth(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(monkeypatch, EXAMPLE, "--agent", "montecarlo:deals=5", "--seed", 5) == 0
    shown = capsys.readouterr().out
    position = json.loads(EXAMPLE.read_text())
    rules = GAME.make_rules(**position.pop("rules"))
    states = np.zeros(1, GAME.state)
    GAME.fields.set_position(states, rules, position, 5)
    decisions = Decisions(GAME, rules, states, 5)
    values = load_agent("montecarlo:deals=5", GAME).values(decisions)[0]  # type: ignore[attr-defined]
    lines = [line for line in shown.splitlines() if line.endswith("│") and "." in line]
    assert [line.split("│")[-2].strip() for line in lines] == [f"{value:.2f}" for value in values if value == value]
    assert "montecarlo:deals=5 chooses" in shown


def test_a_checkpoint_may_say_that_it_samples(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, run: Path
) -> None:
    path = write(tmp_path, {"dealer": 2, "hands": [["2S", "3S", "4S"], None, None]})
    found = []
    for agent in (f"{run}:sampled", f"{run}:greedy", str(run)):
        assert ask(monkeypatch, path, "--agent", agent, "--seed", 4) == 0
        found.append(capsys.readouterr().out)
    assert ":sampled chooses" in found[0]
    assert found[1] == found[2]


def test_samples_go_by_the_seed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, run: Path
) -> None:
    path = write(tmp_path, {"dealer": 2, "hands": [["2S", "3S", "4S"], None, None]})
    found = []
    for seed in (*range(12), 0):
        assert ask(monkeypatch, path, "--agent", run, "--sampled", "--seed", seed) == 0
        found.append(capsys.readouterr().out.splitlines()[-1].split("chooses ")[1])
    assert len(set(found)) > 1
    assert found[-1] == found[0]


def test_probabilities_are_the_policys(run: Path) -> None:
    agent = load_agent(str(run))
    rules = GAME.make_rules(max_hand=3, num_players=3)
    states = np.zeros(40, GAME.state)
    for i in range(len(states)):
        GAME.fields.set_position(states[i : i + 1], rules, {}, i)
    decisions = Decisions(GAME, rules, states)
    chances = agent.probabilities(decisions)  # type: ignore[attr-defined]
    assert chances.shape == (40, 89)
    assert chances.sum(axis=1) == pytest.approx(np.ones(40), abs=1e-5)
    assert not chances[~decisions.action_mask].any()
    assert (chances.argmax(axis=1) == agent.act(decisions)).all()
    one = agent.probabilities(Decisions(GAME, rules, states[7:8]))  # type: ignore[attr-defined]
    assert (one == chances[7]).all()


WRONG: list[tuple[Any, tuple[str, ...], str]] = [
    ('{"hands": [', (), "position.json is not JSON: Expecting value (line 1, column 12)"),
    ('{"dealer": 1,\n "bids": [1 2]}', (), "position.json is not JSON: Expecting ',' delimiter (line 2, column 13)"),
    ("", (), "position.json is not JSON: Expecting value (line 1, column 1)"),
    ("[" * 100_000, (), "position.json is nested too deeply"),
    ("[1]", (), "position.json holds no JSON object"),
    ('{"dealer": 1, "dealer": 2}', (), "position.json: key 'dealer' is there twice"),
    ({"game": ["kachuful"]}, (), "no game ['kachuful']; choose one of "),
    (BIDDING, ("--game", "bridge"), "no game 'bridge'; choose one of "),
    (BIDDING, ("--agent", "clever"), "no agent 'clever'; choose one of random, counting"),
    (BIDDING, ("--agent", str(ROOT / "configs")), "no checkpoint at "),
    (BIDDING, ("--seed", "-1"), "seed=-1 is not possible"),
    (BIDDING, ("--seed", "x"), 'key "seed"'),
    (BIDDING, ("--agnet", "counting"), "--agnet"),
    (BIDDING | {"rules": [4]}, (), "position rules=[4] is not possible: rules must be an object of options"),
    (BIDDING | {"rules": {"players": 4}}, (), "no option 'players'; did you mean 'num_players'?"),
    (BIDDING | {"rules": {"preset": ["x"]}}, (), "no preset ['x']; choose 'kachuful'"),
    (BIDDING, ("--rules.num_players", "9"), "option num_players=9 is not possible"),
    (BIDDING | {"hand": []}, (), "position has no key 'hand'; did you mean 'hands'?"),
    (BIDDING | {"dealer": 4}, (), "position dealer=4 is not possible: dealer must be an integer from 0 to 3"),
    ('{"game": "kachuful", "turn": NaN}', (), "position turn=nan is not possible"),
    (BIDDING | {"trick": [[1, "AS"]]}, (), "AS is also in hands[0]"),
    (BIDDING | {"bids": [3, None, None, None]}, (), "position bids: seat 0 cannot have bid 3"),
    (BIDDING | {"game": "toy"}, ("--game", "kachuful"), "position game='toy' is not possible"),
]


@pytest.mark.parametrize(("position", "arguments", "message"), WRONG, ids=[message for _, _, message in WRONG])
def test_mistakes_are_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    position: Any,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    agent = () if "--agent" in arguments else ("--agent", "counting")
    monkeypatch.chdir(tmp_path)
    write(tmp_path, position)
    assert ask(monkeypatch, "position.json", *agent, *arguments) == 2
    shown, error = capsys.readouterr()
    assert shown == ""
    assert error.startswith("ask.py: ")
    assert message in error
    assert error.count("\n") == 1


def test_files_that_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe{}")
    wrong = {"missing": "No such file", ".": "Is a directory", "binary": "is not JSON: it is not UTF-8 text"}
    for name, message in wrong.items():
        assert ask(monkeypatch, tmp_path / name, "--agent", "counting") == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1


def test_standard_input_and_a_byte_order_mark(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for data, code in ((json.dumps(BIDDING).encode("utf-8-sig"), 0), (b"{", 2)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert ask(monkeypatch, "-", "--agent", "counting") == code
        shown, error = capsys.readouterr()
        assert ("counting chooses" in shown) == (code == 0)
        assert error.startswith("ask.py: standard input is not JSON: ") == (code == 2)


def test_a_checkpoint_for_other_tables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, run: Path
) -> None:
    path = write(tmp_path, {"rules": {"num_players": 4}})
    assert ask(monkeypatch, path, "--agent", run) == 2
    assert "plays with 3 players only, not with 4" in capsys.readouterr().err


def test_a_position_without_a_game_is_kachuful(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = write(tmp_path, {"dealer": 3, "hands": [["AS", "KS", "2D"], None, None, None], "trump": "S"})
    assert ask(monkeypatch, path, "--agent", "heuristic") == 0
    assert "seat 0 is to bid; heuristic chooses bid" in capsys.readouterr().out


@pytest.mark.parametrize("name", dict.fromkeys(SEAT_IDS.values()))
def test_any_game_at_any_moment(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A snapshot brings all it needs with it; every rule-based player answers."""
    game = find_game(name)
    env = TableEnv(game, render_mode="ansi")
    env.reset(seed=4)
    rng = Random(4)
    for moves in range(40):
        if moves % 13 == 0:
            path = write(tmp_path, env.snapshot())
            for agent in agent_names(game):
                assert ask(monkeypatch, path, "--agent", agent) == 0
                shown = capsys.readouterr().out
                assert shown.startswith(f"{env.render()}\n")
                assert "dealt from" not in shown
                last = shown.splitlines()[-1]
                seat, phase = env.snapshot()["turn"], env.snapshot()["phase"].replace("_", " ")
                assert last.startswith(f"seat {seat} is to {phase}; {agent} chooses ")
                mask = env.last()[0]["action_mask"]
                assert mask[env.action_id(last.partition(" chooses ")[2])]
        step_randomly(env, rng)


def test_a_part_of_a_position_of_another_game(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = write(tmp_path, {"game": "kaschlan", "dealer": 0, "hands": [None, ["QD", "7S", "7H"], None, None]})
    assert ask(monkeypatch, path, "--agent", "random", "--seed", 3) == 0
    shown = capsys.readouterr().out
    assert "dealt from seed 3: the hands of seats 0, 2, 3\n" in shown
    assert "seat 1 is to lay; random chooses " in shown
