"""Playing in the terminal: scripted games through scripts/play.py and the sessions behind it."""

from __future__ import annotations

import importlib
import json
import os
import re
import runpy
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

import pytest
from games import NAMES, ORACLES

from envs.agents import Decisions, find_agent
from envs.game import find_game
from training.agents import load_agent
from training.checkpoint import describe, save_checkpoint
from training.network import PolicyNetwork
from training.play.choices import Choices
from training.play.person import draw_seat
from training.play.record import GameRecord
from training.play.saved import PERSON, document, load
from training.play.session import Session, Table, act
from training.play.setup import prepare

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "scripts" / "play.py"
CARD = re.compile(r"\b[2-9TJQKA][SDCH]\b")
KACHUFUL = find_game("kachuful")
SHORT = {"kachuful": ["--rules.max_hand", "2"], "kaschlan": ["--rules.max_bouts", "3"]}
"""Options that make a game short."""
Line = str | type[BaseException] | Callable[[], str]


class Lines:
    """Standard input of some lines; an exception among them is raised, a function called; then it ends."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines = list(lines)

    def isatty(self) -> bool:
        return False

    def readline(self) -> str:
        if not self.lines:
            return ""
        line = self.lines.pop(0)
        if isinstance(line, type):
            raise line
        return f"{line if isinstance(line, str) else line()}\n"


def play(monkeypatch: pytest.MonkeyPatch, lines: Iterable[Line], *arguments: object) -> int:
    """Run the script inside this process on some input; returns its exit code."""
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *map(str, arguments)])
    monkeypatch.setattr(sys, "stdin", Lines(lines))
    with pytest.raises(SystemExit) as result:
        runpy.run_path(str(SCRIPT), run_name="__main__")
    return int(result.value.code or 0)


def options(rules: dict[str, Any]) -> list[str]:
    return [text for name, value in rules.items() for text in (f"--rules.{name}", json.dumps(value).strip('"'))]


def played(
    name: str, rules: dict[str, Any], seed: int, seat: int = 0, opponent: str | None = None
) -> tuple[GameRecord, list[str]]:
    """A whole game in which a seat plays at random, and the names of what it did."""
    game = find_game(name)
    record = GameRecord(game, game.make_rules(**rules), seed)
    agent = find_agent(opponent or game.rule_players[-1], game)
    table = Table(record, [], [agent] * record.seats, None, "")
    rng, typed = Random(seed), []
    while record.turn >= 0:
        own = record.turn == seat
        action = rng.choice(record.legal) if own else act(table, record)
        typed += [game.action_name(action)] * own
        record.make(action)
    return record, typed


def names(record: GameRecord) -> list[str]:
    return document(record, [])["moves"]  # type: ignore[no-any-return]


def cards_in(value: Any) -> set[str]:
    return set(CARD.findall(json.dumps(value)))


def lying(snapshot: dict[str, Any]) -> set[str]:
    """Cards that lie open, or lay there in this round."""
    return cards_in([snapshot.get(key) for key in ("trick", "played", "table", "turned")])


WHOLE: list[tuple[str, dict[str, Any], int]] = [
    ("kachuful", {"max_hand": 3}, 0),
    ("kachuful", {"max_hand": 2, "blind": "optional", "num_players": 3}, 1),
    ("kachuful", {"max_hand": 2, "blind": "forced"}, 2),
    ("kachuful", {"max_hand": 2, "single_card": "forehead", "num_players": 5}, 3),
    ("kachuful", {"max_hand": 2, "single_card": "face_down", "blind": "optional"}, 1),
    ("kachuful", {"max_hand": 2, "trump": "turn_up", "num_players": 8, "revoke": "penalty"}, 7),
    ("kaschlan", {"num_players": 2}, 1),
    ("kaschlan", {"num_players": 5, "max_bouts": 12, "pickup": "all"}, 3),
]
WHOLE += [(name, {}, 2) for name in NAMES if name not in ("kachuful", "kaschlan")]


class Watch:
    """Reads what is shown between two questions, and compares it with what the seat may see."""

    def __init__(self, session: Session, seat: int, capsys: pytest.CaptureFixture[str]) -> None:
        self.session, self.seat, self.capsys = session, seat, capsys
        self.oracle = ORACLES.get(session.record.game.name)
        self.moves, self.before = 0, self.snapshot()
        self.text = ""

    def snapshot(self) -> dict[str, Any]:
        record = self.session.record
        return record.game.fields.snapshot(record.states[0], record.rules)  # type: ignore[no-any-return]

    def look(self) -> None:
        record, now = self.session.record, self.snapshot()
        shown = self.capsys.readouterr().out
        self.text += shown
        assert "\x1b" not in shown
        if self.oracle is not None:
            visible = set().union(*self.oracle.visible(now, self.seat))
            made = {record.game.action_name(move.action) for move in record.moves[self.moves :]}
            assert set(CARD.findall(shown)) <= visible | lying(now) | lying(self.before) | made
            assert visible <= set(CARD.findall(shown)) or record.turn < 0
        self.moves, self.before = len(record.moves), now


@pytest.mark.parametrize(("name", "rules", "seat"), WHOLE, ids=[f"{name} {rules}" for name, rules, _ in WHOLE])
def test_whole_games_show_what_the_seat_sees(
    name: str, rules: dict[str, Any], seat: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Everything the seat may see is shown, nothing else ever is, and the game is that of the same moves."""
    record, typed = played(name, rules, 11, seat)
    session = prepare(namespace(game=name, seat=str(seat), seed=11, rules=rules))
    watch = Watch(session, seat, capsys)

    def line(text: str) -> Callable[[], str]:
        def say() -> str:
            watch.look()
            return text

        return say

    monkeypatch.setattr(sys, "stdin", Lines([*map(line, typed), line("q")]))
    assert session.run() == 0
    watch.text += capsys.readouterr().out
    assert names(session.record) == names(record)
    assert session.record.states.tobytes() == record.states.tobytes()
    assert ("the game was cut short" if record.cut_short else "the game is over") in watch.text
    assert f"in place {record.places()[seat]}" in watch.text
    assert watch.text.count("is over\n") == (len(record.rounds) if record.game.points is not None else 0)
    for score in record.states["scores"][0][: record.seats].tolist() if record.game.points == 1 else ():
        assert re.search(rf"\b{score}\n", watch.text.split("the game is over")[1])
    assert "you so far: 1 game, " in watch.text


def namespace(**given: Any) -> Any:
    """A parsed command line."""
    from argparse import Namespace

    usual = dict.fromkeys(("game", "seat", "opponents", "seed", "hints", "position", "load", "replay", "save"))
    rules = {name: json.dumps(value).strip('"') for name, value in given.pop("rules", {}).items()}
    return Namespace(**{**usual, "game_number": None, "open": False, **given, "rules": rules})


@pytest.mark.parametrize("name", NAMES)
def test_taking_back_gives_the_same_game_again(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rules = {"kachuful": {"max_hand": 2}, "kaschlan": {"max_bouts": 6}}.get(name, {})
    record, typed = played(name, rules, 5)
    free = [k for k, at in enumerate(own_moves(record)) if len(record.legal_at(at)) > 1]
    base = ["--game", name, "--seed", 5, *options(rules)]
    assert play(monkeypatch, [*typed, f"s {tmp_path / 'plain'}", "q"], *base) == 0
    lines = ["u"]
    for k, text in enumerate(typed):
        lines.append(text)
        back = [at for at in free if at <= k]
        if k in free:
            lines += ["u", *typed[back[-1] : k + 1]]
            if len(back) > 2:
                lines += ["U", "undo", "u", *typed[back[-3] : k + 1]]
    lines += ["u", "u", *typed[free[-2] :]]
    assert play(monkeypatch, [*lines, f"s {tmp_path / 'undone'}", "q"], *base) == 0
    assert (tmp_path / "undone").read_text() == (tmp_path / "plain").read_text()
    shown = capsys.readouterr().out
    assert "there is nothing to take back" in shown
    assert shown.count("taken back: ") > len(free)
    assert json.loads((tmp_path / "plain").read_text())["moves"] == names(record)


def own_moves(record: GameRecord, seat: int = 0) -> list[int]:
    return [at for at, move in enumerate(record.moves) if move.seat == seat and not move.automatic]


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_game_goes_on_as_if_nothing_had_been(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rules = {"kachuful": {"max_hand": 2, "single_card": "forehead"}, "kaschlan": {"max_bouts": 6}}.get(name, {})
    record, typed = played(name, rules, 8, 1, "random")
    part, rest, kept = tmp_path / "part.json", tmp_path / "rest.json", tmp_path / "kept.json"
    base = ["--game", name, "--seed", 8, "--seat", 1, "--opponents", "random", *options(rules)]
    half = len(typed) // 2
    assert play(monkeypatch, [*typed[:half], f"s {part}", "q"], *base) == 0
    assert f"saved to {part}" in capsys.readouterr().out
    found = json.loads(part.read_text())
    assert found["rules"] == asdict(record.rules)
    assert found["seats"] == [PERSON if seat == 1 else "random" for seat in range(record.seats)]
    assert found["moves"] == names(record)[: len(found["moves"])]
    assert play(monkeypatch, [*typed[half:], f"s {rest}", "q"], "--load", part) == 0
    assert json.loads(rest.read_text())["moves"] == names(record)
    assert play(monkeypatch, typed, *base, "--save", kept) == 0
    assert kept.read_text() == rest.read_text()
    assert load(str(kept)).record.states.tobytes() == record.states.tobytes()
    assert play(monkeypatch, typed[half:], "--load", part, "--save", part) == 0
    assert part.read_text() == rest.read_text()


def test_a_game_kept_in_a_file_is_there_after_every_decision(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path, (record, typed) = tmp_path / "kept.json", played("kachuful", {"max_hand": 2}, 3)
    sizes: list[int] = []

    def note() -> str:
        sizes.append(len(json.loads(path.read_text())["moves"]) if path.exists() else 0)
        return typed[len(sizes) - 1]

    lines: list[Line] = [*[note] * len(typed), "", EOFError]
    assert play(monkeypatch, lines, "--seed", 3, *SHORT["kachuful"], "--save", path) == 0
    assert sizes == [0] + [at + 1 for at in own_moves(record)][:-1]
    assert json.loads(path.read_text())["moves"] == names(record)
    assert not (tmp_path / "kept-2.json").exists()  # nothing was decided in the game after it
    assert "Kachuful, seed 4" in capsys.readouterr().out
    assert play(monkeypatch, [*typed, "", "1", "q"], "--seed", 3, *SHORT["kachuful"], "--save", f"{path}.b") == 0
    assert json.loads((tmp_path / "kept.json-2.b").read_text())["seed"] == 4


def test_files_are_not_written_over_without_a_question(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old").write_text("precious")
    base = ("--seed", 3, *SHORT["kachuful"])
    for lines in (["s old", "n", "q"], ["s old", "", "q"], ["1", "q", "old", "n", "n"]):
        assert play(monkeypatch, lines, *base) == 0
        shown = capsys.readouterr().out
        assert "old exists; write over it? y or n> " in shown
        assert "not saved" in shown
        assert (tmp_path / "old").read_text() == "precious"
    assert play(monkeypatch, ["1"], *base, "--save", "old") == 2
    assert capsys.readouterr().err == "play.py: old exists and is not written over; choose another file for --save\n"
    assert play(monkeypatch, ["s old", "y", "1", "s old", "q"], *base) == 0
    assert "saved to old" in capsys.readouterr().out
    assert load("old").record.moves
    assert play(monkeypatch, ["s no/folder", "s .", "y", "q"], *base) == 0
    shown = capsys.readouterr().out
    assert "cannot write no/folder: No such file or directory" in shown
    assert "cannot write .: " in shown
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old"]


def test_leaving(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Nothing is lost: what is not refused is saved, to a file of its own."""
    monkeypatch.chdir(tmp_path)
    ways: list[tuple[list[Line], int, str | None]] = [
        (["q"], 0, None),
        ([], 0, None),
        ([KeyboardInterrupt], 130, None),
        (["1", "q", "n"], 0, None),
        (["1", "q", ""], 0, "kachuful-3.json"),
        (["1", "q", "mine"], 0, "mine"),
        (["1"], 0, "kachuful-3-2.json"),
        (["1", KeyboardInterrupt, "n"], 130, None),
        (["1", KeyboardInterrupt, "again"], 130, "again"),
        (["1", KeyboardInterrupt, KeyboardInterrupt], 130, "kachuful-3-3.json"),
        (["1", "quit", KeyboardInterrupt], 130, "kachuful-3-4.json"),
        (["1", "s first", "q"], 0, "first"),
        (["1", "s second", "u", "q", "n"], 0, "second"),
    ]
    expected: set[str] = set()
    for lines, code, file in ways:
        assert play(monkeypatch, lines, "--seed", 3, *SHORT["kachuful"]) == code
        shown, error = capsys.readouterr()
        assert error == ""
        assert ("saved to" in shown) == (file is not None)
        expected |= {file} if file else set()
        assert {path.name for path in tmp_path.iterdir()} == expected
        if file:
            assert "bid 1" in json.loads((tmp_path / file).read_text())["moves"]


def test_ctrl_c_of_another_process(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "--seed", "3", "--rules.max_hand", "2"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=tmp_path, text=True, env=env, **pipes) as process:  # type: ignore[call-overload]
        process.stdin.write("1\n")
        process.stdin.flush()
        for _ in range(2):  # the bid, then the play that it waits for
            while "you may: " not in (line := process.stdout.readline()):
                assert line
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error == ""
    assert json.loads((tmp_path / "kachuful-3.json").read_text())["moves"][-1]


def test_hints(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rules = KACHUFUL.make_rules(max_hand=3)
    network = PolicyNetwork(KACHUFUL.layout(4, False).size, KACHUFUL.action_groups, [8])
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


def choices(legal: list[str], game: str = "kachuful") -> Choices:
    found = find_game(game)
    every = [found.action_name(action) for action in range(found.num_actions)]
    return Choices({every.index(name): name for name in legal}, every)


READ = [
    (["AS", "KS", "2D"], {"1": "AS", "as": "AS", " 2d ": "2D", "3": "2D", "2": "KS", "k": "KS", "03": "2D"}),
    (["bid 0", "bid 2"], {"0": "bid 0", "2": "bid 2", "bid 2": "bid 2", "BID2": "bid 2", "bid  0": "bid 0"}),
    (["TH", "TC"], {"10h": "TH", "10C": "TC", "th": "TH"}),
    (["blind 0", "blind 1", "look"], {"1": "blind 1", "look": "look", "l": "look", "blind0": "blind 0"}),
    (["AS"], {"": "AS", " ": "AS", "1": "AS"}),
    (["bid 1", "bid 10"], {"bid 1": "bid 1", "1": "bid 1", "10": "bid 10"}),
]


@pytest.mark.parametrize(("legal", "typed"), READ, ids=[legal[0] for legal, _ in READ])
def test_what_may_be_typed(legal: list[str], typed: dict[str, str]) -> None:
    found = choices(legal)
    for text, name in typed.items():
        assert KACHUFUL.action_name(found.read(text)) == name


UNREAD = [
    (["AS", "KS"], "3", "number 3 is not among the possible moves; possible: AS, KS"),
    (["AS", "AD", "KS"], "a", "'a' may be AS, AD"),
    (["AS", "KS"], "qs", "QS is not possible now; possible: AS, KS"),
    (["AS", "KS"], "", "possible: AS, KS, h helps"),
    (["bid 0", "bid 2"], "1", "number 1 is not among the possible moves; possible: bid 0, bid 2"),
    (["bid 0", "bid 2"], "bid1", "bid 1 is not possible now; possible: bid 0, bid 2"),
    (["bid 0", "bid 2"], "b", "'b' may be bid 0, bid 2"),
    (["blind 0", "look"], "loook", "there is no move 'loook'; did you mean 'look'? possible: blind 0, look, h helps"),
    (["AS"], "[red]", "there is no move '[red]'; possible: AS, h helps"),
    (["AS", "KS"], "-1", "there is no move '-1'; possible: AS, KS, h helps"),
    (["AS", "KS"], "²", "there is no move '²'; possible: AS, KS, h helps"),
]


@pytest.mark.parametrize(("legal", "text", "message"), UNREAD, ids=[text for _, text, _ in UNREAD])
def test_what_may_not_be_typed(legal: list[str], text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        choices(legal).read(text)
    assert str(error.value) == message


def test_wrong_input_changes_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = ["", "bid 99", "\x00", "[/red]", "é" * 300, "h", "r", "hist", "t", "?", "7H"]
    assert play(monkeypatch, [*wrong, "bid 1", "q", "n"], "--seed", 3, *SHORT["kachuful"]) == 0
    shown, error = capsys.readouterr()
    assert error == ""
    assert shown.count("bid> ") == len(wrong) + 1
    assert "you: bid 1" in shown
    for part in ("there is no move '[/red]'", "take back your last decision", "scoring", "round 1: 2:bid"):
        assert part in shown


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


def test_a_recorded_game_may_name_its_moves_in_several_ways(tmp_path: Path) -> None:
    record, _ = played("kachuful", {"max_hand": 2, "single_card": "face_down", "num_players": 3}, 2)
    base = {"game": "kachuful", "rules": asdict(record.rules), "seed": 2, "extra": 1}
    action_name = KACHUFUL.action_name
    decided = [move for move in record.moves if not move.automatic]
    assert len(decided) < len(record.moves)
    for moves in (
        [action_name(move.action) for move in decided],
        [move.action for move in decided],
        [move.action for move in record.moves],
        [[move.seat, action_name(move.action)] for move in record.moves],
    ):
        path = tmp_path / "game.json"
        path.write_text(json.dumps({**base, "moves": moves}))
        assert load(str(path)).record.states.tobytes() == record.states.tobytes()


def test_the_seed_of_agents_is_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path, found = tmp_path / "f", []
    for agents_seed in (1, 5, 1, 6):
        content = GAME_FILE | {"seats": [PERSON, "random", "random", "random"], "agents_seed": agents_seed}
        path.write_text(json.dumps(content))
        assert play(monkeypatch, [f"s {tmp_path / 'g'}", "y", "1", "1", "q", "n"], "--load", path) == 0
        assert json.loads((tmp_path / "g").read_text()).get("agents_seed", 1) == agents_seed
        found.append(capsys.readouterr().out.split("\n", 1)[1])
    assert len({text.partition("you may")[0] for text in found}) > 1
    assert found[0].partition("you may")[0] == found[2].partition("you may")[0]


def test_a_position(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, saved = tmp_path / "position.json", tmp_path / "saved.json"
    position = {
        "game": "kachuful",
        "dealer": 3,
        "hands": [["AS", "KS", "2D"], None, None, None],
        "rules": {"hook": False},
    }
    path.write_text(json.dumps(position))
    assert play(monkeypatch, ["3", "", f"s {saved}", "q"], "--position", path, "--seed", 1, "--rules.blind", "off") == 0
    shown = capsys.readouterr().out
    assert "2D" in shown.split("bid> ")[0]
    assert "seat 1 (heuristic): bid" in shown
    assert load(str(saved)).record.position == {key: value for key, value in position.items() if key != "rules"}
    assert play(monkeypatch, ["q"], "--load", saved) == 0


def test_seats_and_opponents(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    base = ("--seed", 3, "--rules.max_hand", 1, "--rules.schedule", "down")
    assert play(monkeypatch, ["q"], *base, "--seat", 2, "--opponents", "random,counting,heuristic") == 0
    assert "you are seat 2, the others are 0 random, 1 counting, 3 heuristic" in capsys.readouterr().out
    assert play(monkeypatch, ["q"], *base, "--seat", 1, "--opponents", "pimc:deals=2,exact=1") == 0
    assert "0 pimc:deals=2,exact=1, 2 pimc:deals=2,exact=1" in capsys.readouterr().out
    seats = [draw_seat(seed, 4) for seed in range(20)]
    assert set(seats) == {0, 1, 2, 3}
    _, typed = played("kachuful", {"max_hand": 1, "schedule": "down"}, 3, seats[3], "random")
    assert seats[3] != seats[4]
    assert play(monkeypatch, [*typed, "", "q"], *base, "--seat", "random", "--opponents", "random") == 0
    shown = capsys.readouterr().out
    for seed in (3, 4):
        assert f"seed {seed}: you are seat {seats[seed]}" in shown


GAME_FILE = {"game": "kachuful", "rules": {"max_hand": 2}, "seed": 1, "moves": []}
WRONG: list[tuple[tuple[str, ...], Any, str]] = [
    (("--game", "bridge"), None, "no game 'bridge'; choose one of "),
    (("--seat", "4"), None, "--seat 4 is not possible: it must be 0 to 3, random or none"),
    (("--seat", "x"), None, "--seat x is not possible"),
    (("--seed", "-1"), None, "seed=-1 is not possible"),
    (("--opponents", "clever"), None, "seat 1: no agent 'clever'"),
    (("--opponents", "random,random"), None, "--opponents names 2 agents; it must be 1 or 3"),
    (("--hints", "clever"), None, "--hints: no agent 'clever'"),
    (("--rules.num_players", "9"), None, "option num_players=9 is not possible"),
    (("--open",), None, "--open is for looking on"),
    (("--load", "f", "--replay", "f"), {}, "--load and --replay do not go together"),
    (("--load", "f", "--seed", "1"), {}, "--seed does not go with --load: the file says it"),
    (("--load", "f", "--rules.hook", "false"), {}, "--rules does not go with --load"),
    (("--replay", "f", "--save", "g"), {}, "--save does not go with --replay"),
    (("--game-number", "1"), None, "--game-number goes with --load or --replay"),
    (("--load", "f", "--game-number", "0"), {}, "games are counted from 1"),
    (("--load", "f", "--game-number", "2"), {}, "f holds 1 game"),
    (("--load", "missing"), None, "cannot read missing: No such file"),
    (("--save", "no/where"), None, "cannot write no/where"),
    (("--load", "f"), "{", "f is not JSON"),
    (("--load", "f"), "[1]", "f holds no JSON object"),
    (("--load", "f"), '{"seed": 1, "seed": 2}', "f: key 'seed' is there twice"),
    (("--load", "f"), '{"game": "kachuful"}', "f: it holds no saved game: key 'rules' is missing"),
    (("--load", "f", "--game", "kaschlan"), {}, "f: it is a game of Kachuful, not of Kaschlan"),
    (("--load", "f"), {"game": "x"}, "f: no game 'x'"),
    (("--load", "f"), {"rules": {"hand": 1}}, "f: no option 'hand'"),
    (("--load", "f"), {"rules": 3}, "f: rules=3 is not possible"),
    (("--load", "f"), {"seed": True}, "f: seed=True is not possible"),
    (("--load", "f"), {"dealer": 7}, "f: dealer=7 is not possible"),
    (("--load", "f"), {"seats": ["person"]}, "f: seats has 1 entries, but 4 play"),
    (("--load", "f"), {"seats": [1, 2, 3, 4]}, "f: seats=[1, 2, 3, 4] is not possible"),
    (("--load", "f"), {"seats": ["person", "gone", "random", "random"]}, "f: seat 1: no agent 'gone'"),
    (("--load", "f"), {"moves": "AS"}, "f: moves must be a list"),
    (("--load", "f"), {"moves": ["bid 0", "XX"]}, "f: move 2: 'XX' is no action"),
    (("--load", "f"), {"moves": ["bid 0", 400]}, "f: move 2: 400 is no action"),
    (("--load", "f"), {"moves": ["bid 0", "bid 9"]}, "f: move 2: bid 9 is not legal for seat"),
    (("--load", "f"), {"moves": [[9, "bid 0"]]}, "f: move 1 is seat 9's, but seat"),
    (("--load", "f"), {"position": {"hand": []}}, "f: position has no key 'hand'"),
    (("--replay", "f"), {"moves": ["look"]}, "f: move 1: look is not legal"),
    (("--position", "f"), {"seed": 1}, "position has no key 'seed'"),
]


@pytest.mark.parametrize(("arguments", "content", "message"), WRONG, ids=[message for _, _, message in WRONG])
def test_mistakes_are_one_line(
    arguments: tuple[str, ...],
    content: Any,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / "f").write_text(content if isinstance(content, str) else json.dumps(GAME_FILE | content))
    assert play(monkeypatch, ["q"], *arguments) == 2
    shown, error = capsys.readouterr()
    assert shown == ""
    assert error.startswith("play.py: ")
    assert message in error
    assert error.count("\n") == 1


def test_a_game_that_goes_on_after_its_end_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    record, _ = played("kachuful", {"max_hand": 1, "num_players": 3}, 2)
    path = tmp_path / "f"
    path.write_text(json.dumps(document(record, ["random"] * 3) | {"moves": [*names(record), "bid 0"]}))
    assert play(monkeypatch, [], "--load", path) == 2
    count = len(names(record))
    assert f"move {count + 1}: the game is over after {count} moves" in capsys.readouterr().err


def test_a_terminal_has_colours(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty", reason="needs a pseudo-terminal")
    master, slave = pty.openpty()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
    env.pop("NO_COLOR", None)
    command = [sys.executable, str(SCRIPT), "--seed", "3", "--rules.max_hand", "2"]
    with subprocess.Popen(command, cwd=tmp_path, env=env, stdin=slave, stdout=slave, stderr=slave) as process:
        os.close(slave)
        shown = b""
        for wanted, typed in ((b"bid> ", b"1\n"), (b"play> ", b"\x04"), (b"n: no> ", b"n\n"), (b"", b"")):
            while not wanted or wanted not in shown:
                ready, _, _ = select.select([master], [], [], 60)
                part = _read(master) if ready else b""
                shown += part
                if not part:
                    break
            os.write(master, typed)
        process.wait(60)
    os.close(master)
    assert process.returncode == 0, shown
    assert b"\x1b[" in shown
    assert b"save the game?" in shown
    assert not list(tmp_path.iterdir())


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # nobody writes to it any more
        return b""


def test_the_modules_know_no_game() -> None:
    """Whatever plays by the contract can be played: nothing imports a game."""
    for path in (ROOT / "training" / "play").glob("*.py"):
        module = importlib.import_module(f"training.play.{path.stem}" if path.stem != "__init__" else "training.play")
        assert not re.search(r"^(from|import) envs\.(kachuful|kaschlan|call_break)", path.read_text(), re.MULTILINE)
        assert module.__doc__
