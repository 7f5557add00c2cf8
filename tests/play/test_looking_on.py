"""Looking on: recorded games walked through, agents among themselves, and what an agent says when asked."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from games import NAMES
from terminal import CARD, KACHUFUL, SHORT, cards_in, lying, namespace, play, played

from envs.agents import Decisions
from training.agents import load_agent
from training.checkpoint import describe, save_checkpoint
from training.network import make_policy_network
from training.play.saved import load
from training.play.session import act
from training.play.setup import prepare


def test_looking_at_a_game(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    record, typed = played("kachuful", {"max_hand": 3}, 6)
    path, lines = tmp_path / "game.json", tmp_path / "games.jsonl"
    assert play(monkeypatch, [*typed, f"s {path}", "q"], "--seed", 6, "--rules.max_hand", 3) == 0
    other = {**json.loads(path.read_text()), "moves": [], "seed": 9, "places": [1]}
    lines.write_text(f"{json.dumps(other)}\n\n{json.dumps(json.loads(path.read_text()))}\n")
    capsys.readouterr()
    walk = ["", "3", "b", "b 2", "round 2", "round 9", "move 4", "move 999", "x", "last", "", "first", "hist", "h", "q"]
    assert play(monkeypatch, walk, "--replay", path, "--open") == 0
    parts = re.split(r"\nmove (?=\d+>)", capsys.readouterr().out)
    assert [int(part.split(">")[0]) for part in parts[1:]] == [
        0, 1, 4, 3, 1, record.rounds[0].at, record.rounds[0].at, 4, 4, 4, len(record.moves), len(record.moves), 0, 0, 0
    ]  # fmt: skip
    assert "round 2" in parts[5]
    assert "there is no round 9; rounds are 1 to 5" in parts[6]
    assert f"there are only {len(record.moves)} moves" in parts[8]
    assert "there is no command 'x'; h helps" in parts[9]
    assert f"in place {record.places()[0]}" not in parts[10]
    assert "the game is over" in parts[10]
    assert "no moves yet" in parts[13]
    snapshot = KACHUFUL.fields.snapshot(record.states_at(4)[0], record.rules)
    shown = parts[7]
    assert all(card in shown for hand in snapshot["hands"] for card in hand)
    # Without --open it is seen as the person saw it.
    assert play(monkeypatch, ["move 4", "?", "q"], "--replay", lines, "--game-number", 2) == 0
    shown = capsys.readouterr().out.split("\nmove ")[1]
    hidden = {card for hand in snapshot["hands"][1:] for card in hand}
    assert set(CARD.findall(shown)) == (cards_in(snapshot["hands"][0]) | lying(snapshot)) - (hidden - lying(snapshot))
    assert play(monkeypatch, ["", "q"], "--replay", lines) == 0
    assert "the record ends here" in capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_watching_agents(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    base = ["--game", name, "--seed", 4, "--seat", "none", *SHORT.get(name, [])]
    path = tmp_path / "watched.json"
    assert play(monkeypatch, ["round 2", "2", "last", f"s {path}"], *base, "--opponents", "random") == 0
    shown = capsys.readouterr().out
    assert "#" not in shown.split("hand")[1]
    assert json.loads(path.read_text())["seats"] == ["random"] * 4
    assert load(str(path)).record.turn < 0
    assert play(monkeypatch, ["last"], "--replay", path) == 0
    assert capsys.readouterr().out.split("> last")[1].split("\nmove ")[0] in shown
    assert play(monkeypatch, ["u", "q"], "--load", path, "--seat", 2) == 0  # sit down at a finished game
    assert "taken back: " in capsys.readouterr().out


def test_hints(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rules = KACHUFUL.make_rules(max_hand=3)
    network = make_policy_network(KACHUFUL, 4, False, [8])
    save_checkpoint(tmp_path / "run", network, {**describe(KACHUFUL, rules, False), "decisions": 1}, {})
    base = ["--seed", 3, "--rules.max_hand", 3]
    lines = ["?", "? montecarlo:deals=6", f"?{tmp_path / 'run'}", "? clever", "? montecarlo:deals=x", "q"]
    assert play(monkeypatch, lines, *base) == 0
    answers = capsys.readouterr().out.split("bid> ")[1:]
    session = prepare(namespace(seed=3, rules={"max_hand": 3}))
    while session.record.turn != 0:
        session.record.make(act(session.table, session.record))
    decisions = Decisions(KACHUFUL, session.record.rules, session.record.states, 3)
    legal = session.record.legal
    for text, spec in zip(answers, ["heuristic", "montecarlo:deals=6", str(tmp_path / "run")], strict=False):
        agent = load_agent(spec, KACHUFUL)
        chosen = KACHUFUL.action_name(int(agent.act(decisions)[0]))
        assert f"{agent.name} would choose {chosen}" in text
        rows = {line[2:].split("  ")[0].strip(): line for line in text.splitlines() if line[2:].startswith(" bid")}
        if spec == "heuristic":
            assert not rows
            continue
        assert list(rows) == [KACHUFUL.action_name(action) for action in legal]
        values = agent.values if hasattr(agent, "values") else agent.probabilities  # type: ignore[attr-defined]
        for action, line in zip(legal, rows.values(), strict=True):
            value = float(values(decisions)[0][action])
            assert (f"{100 * value:.1f} %" if "run" in spec else f"{value:.2f}") in line
            assert line.startswith(">") == (KACHUFUL.action_name(action) == chosen)
    assert "no agent 'clever'; choose one of random, counting" in answers[3]
    assert "montecarlo: option deals='x' is not possible" in answers[4]
    assert play(monkeypatch, ["?", "q"], *base, "--hints", "montecarlo:deals=6") == 0
    assert answers[1].split("bid> ")[0].strip().split("\n", 1)[1] in capsys.readouterr().out


def test_hints_while_looking_on_keep_hands_hidden(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    record, typed = played("kachuful", {"max_hand": 3}, 6)
    path = tmp_path / "game.json"
    assert play(monkeypatch, [*typed, f"s {path}", "q"], "--seed", 6, "--rules.max_hand", 3) == 0
    capsys.readouterr()
    turns = [int(record.states_at(at)["turn"][0]) for at in range(len(record.moves))]
    for at in (turns.index(0), turns.index(2)):
        for extra in ((), ("--open",), ("--seat", "none"), ("--seat", "2")):
            assert play(monkeypatch, [f"move {at}", "?", "q"], "--replay", path, *extra) == 0
            shown = capsys.readouterr().out
            seat = {(): 0, ("--seat", "2"): 2}.get(extra)
            told = seat is None or turns[at] == seat
            assert ("heuristic would choose" in shown) == told
            assert ("hands are hidden" in shown) == (not told)
