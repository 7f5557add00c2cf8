"""Saved games: one JSON object with game, rules, seed, seats and moves; or one a line in a ``.jsonl`` file.

``moves`` are what was decided, in order: names of actions, their numbers, or pairs of a seat and one of these. Moves
that a game makes by itself may be left out. ``dealer``, ``position``, ``seats`` and ``agents_seed`` (of the agents'
chance; otherwise ``seed``) may be missing; other keys are not read. `load` makes the moves anew with the game's own
functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from envs.game import Game, find_game
from envs.one_game import check_seed
from training.json_files import parse_object, read_text
from training.play.record import GameRecord
from training.report import write_json

PERSON = "person"
"""What ``seats`` calls a person."""


@dataclass(frozen=True)
class Loaded:
    """A game that was read."""

    record: GameRecord
    seats: list[str] | None
    """Who sat where, as specs of agents or `PERSON`; None: the file does not say."""
    alone: bool
    """Whether the file holds this game only."""


def read_object(path: str, number: int | None = None) -> tuple[dict[str, Any], bool]:
    """Read the JSON object of a file, or that of its line `number` (from 1; None: the first).

    Returns:
        The object, and whether the file holds no other.

    Raises:
        ValueError: what is wrong, and where.
    """
    text = read_text(path)
    lines = [(i, line) for i, line in enumerate(text.splitlines(), 1) if line.strip()]
    where, several = path, path.endswith(".jsonl") or _is_lines(lines)
    if several and lines:
        chosen = number or 1
        if chosen > len(lines):
            raise ValueError(f"--game-number {chosen} is not possible: {path} holds {len(lines)} games")
        line, text = lines[chosen - 1]
        where = f"{path}, line {line}"
    elif (number or 1) != 1:
        raise ValueError(f"--game-number {number} is not possible: {path} holds 1 game")
    return parse_object(text, where), not several


def _is_lines(lines: list[tuple[int, str]]) -> bool:
    return len(lines) > 1 and all(line.lstrip().startswith("{") and line.rstrip().endswith("}") for _, line in lines)


def load(path: str, number: int | None = None, game: str | None = None) -> Loaded:
    """Read a saved game and make its moves; ValueError in one line where it does not fit.

    Args:
        path: the file.
        number: which game of a file of several, from 1.
        game: name of the game that it has to be, if any.
    """
    data, alone = read_object(path, number)
    try:
        record, seats = _build(data, game)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return Loaded(record, seats, alone)


def _build(data: Mapping[str, Any], wanted: str | None) -> tuple[GameRecord, list[str] | None]:
    for key in ("game", "rules", "seed", "moves"):
        if key not in data:
            raise ValueError(f"it holds no saved game: key {key!r} is missing")
    game = find_game(data["game"])
    if wanted is not None and game.name != wanted:
        raise ValueError(f"it is a game of {game.title}, not of {find_game(wanted).title}")
    rules = _rules(game, data["rules"])
    seats = data.get("seats")
    if seats is not None and not (isinstance(seats, list) and all(isinstance(seat, str) for seat in seats)):
        raise ValueError(f"seats={seats!r} is not possible: it must be a list of texts, one a seat")
    if seats is not None and len(seats) != rules.num_players:
        raise ValueError(f"seats has {len(seats)} entries, but {rules.num_players} play")
    if not isinstance(data["moves"], list):
        raise ValueError("moves must be a list")
    position = data.get("position")
    if position is not None and not isinstance(position, dict):
        raise ValueError("position must be an object, a snapshot or a part of one")
    dealer = data.get("dealer")
    if dealer is not None and (type(dealer) is not int or not 0 <= dealer < rules.num_players):
        raise ValueError(f"dealer={dealer!r} is not possible: it must be a seat from 0 to {rules.num_players - 1}")
    seed = check_seed(data["seed"])
    agents_seed = check_seed(data.get("agents_seed", seed))
    record = GameRecord(game, rules, seed, dealer, position, agents_seed)
    _replay(record, data["moves"])
    return record, seats


def _rules(game: Game, options: Any) -> Any:
    if not isinstance(options, dict):
        raise ValueError(f"rules={options!r} is not possible: it must be an object of options")
    return game.make_rules(**options)


def _replay(record: GameRecord, moves: list[Any]) -> None:
    """Make moves; ValueError names the first that cannot be made."""
    actions = {record.game.action_name(action): action for action in range(record.game.num_actions)}
    done = 0
    for number, move in enumerate(moves, 1):
        seat, action = _move(move, actions, f"move {number}")
        told = record.moves[done] if done < len(record.moves) else None
        if told is not None and told.automatic and told.action == action and not _is_next(record, seat, action):
            done += 1  # the file tells of moves that the game makes by itself
            continue
        if record.turn < 0:
            raise ValueError(f"move {number}: the game is over after {number - 1} moves, {len(moves)} are there")
        if seat not in (None, record.turn):
            raise ValueError(f"move {number} is seat {seat}'s, but seat {record.turn} is to act")
        if action not in record.legal:
            raise ValueError(f"move {number}: {record.illegal(action)}")
        done = len(record.moves) + 1
        record.make(action)


def _is_next(record: GameRecord, seat: int | None, action: int) -> bool:
    return record.turn >= 0 and seat in (None, record.turn) and action in record.legal


def _move(move: Any, actions: Mapping[str, int], where: str) -> tuple[int | None, int]:
    seat = None
    if isinstance(move, list) and len(move) == 2 and type(move[0]) is int:
        seat, move = move
    if isinstance(move, str) and move in actions:
        return seat, actions[move]
    if type(move) is int and 0 <= move < len(actions):
        return seat, move
    raise ValueError(f"{where}: {move!r} is no action")


def document(record: GameRecord, seats: list[str]) -> dict[str, Any]:
    """What is saved of a game; moves that it made by itself are left out."""
    found: dict[str, Any] = {
        "game": record.game.name,
        "rules": asdict(record.rules),
        "seed": record.seed,
        "seats": seats,
    }
    if record.agents_seed != record.seed:
        found["agents_seed"] = record.agents_seed
    if record.dealer is not None:
        found["dealer"] = record.dealer
    if record.position is not None:
        found["position"] = dict(record.position)
    return found | {"moves": [record.game.action_name(move.action) for move in record.moves if not move.automatic]}


def save(path: Path, record: GameRecord, seats: list[str]) -> None:
    """Write a game; the file is, at any moment, either what it was or complete. OSError where it cannot be written."""
    write_json(path, document(record, seats))


def free_name(record: GameRecord) -> Path:
    """A file in the working folder that does not exist yet, named after the game and its seed."""
    stem = f"{record.game.name}-{record.seed}"
    path, count = Path(f"{stem}.json"), 1
    while path.exists():
        count += 1
        path = Path(f"{stem}-{count}.json")
    return path
