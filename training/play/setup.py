"""From a command line to a table: what is asked for is checked before anything is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from envs.agents import Agent, check_rules
from envs.game import Game, find_game
from envs.one_game import check_seed
from training.agents import load_agent, split_specs
from training.options import option_value, override
from training.play.person import PersonSession, draw_seat
from training.play.record import GameRecord
from training.play.saved import PERSON, load, read_object
from training.play.session import Session, Table
from training.play.talk import Talk
from training.play.viewer import ViewerSession
from training.report import check_json_path

DEFAULT_GAME = "kachuful"


def prepare(args: Any) -> Session:
    """Set up what a command line asks for (see scripts/play.py); ValueError says what is wrong."""
    _check_together(args)
    file = args.load or args.replay
    if file:
        loaded = load(file, args.game_number, args.game)
        record, seats, alone = loaded.record, loaded.seats, loaded.alone
    else:
        record, seats, alone = _new_record(args), None, False
    seat = _seat(args, record, seats)
    if args.open and seat is not None and not args.replay:
        raise ValueError("--open is for looking on: it needs --replay or --seat none")
    hints = args.hints or _strongest(record.game)
    _load_agent(hints, record, "--hints")
    if args.replay:
        names = seats or [f"seat {i}" for i in range(record.seats)]
        return ViewerSession(
            Table(record, names, [None] * record.seats, None if args.open else seat, hints, saved=list(record.moves)),
            Talk(),
            live=False,
        )
    specs = _specs(args, record, seats, seat)
    agents = _agents(specs, record, f"{file}: " if seats is not None and args.opponents is None else "")
    save_to = _save_to(args, alone)
    table = Table(
        record, specs, agents, seat, hints, save_to, random_seat=args.seat == "random",
        file=Path(file) if file and alone else None,
        saved=list(record.moves) if file else [],
    )  # fmt: skip
    return ViewerSession(table, Talk(), live=True) if seat is None else PersonSession(table, Talk())


def _check_together(args: Any) -> None:
    """ValueError for options that do not go together."""
    sources = [name for name in ("position", "load", "replay") if getattr(args, name) is not None]
    if len(sources) > 1:
        raise ValueError(f"--{sources[0]} and --{sources[1]} do not go together: a game begins in one way")
    if args.load or args.replay:
        source = sources[0]
        for name in ("seed", "rules"):
            if getattr(args, name) not in (None, {}):
                raise ValueError(f"--{name} does not go with --{source}: the file says it")
    elif args.game_number is not None:
        raise ValueError("--game-number goes with --load or --replay")
    if args.game_number is not None and args.game_number < 1:
        raise ValueError(f"--game-number {args.game_number} is not possible: games are counted from 1")
    for name in ("opponents", "save"):
        if args.replay and getattr(args, name) is not None:
            raise ValueError(f"--{name} does not go with --replay")


def _new_record(args: Any) -> GameRecord:
    seed = int(np.random.SeedSequence().generate_state(1)[0]) if args.seed is None else check_seed(args.seed)
    position = None if args.position is None else read_object(args.position)[0]
    options: dict[str, Any] = {}
    name = args.game
    if position is not None:
        name = name or position.get("game")
        given = position.pop("rules", {})
        if not isinstance(given, dict):
            raise ValueError(f"position rules={given!r} is not possible: rules must be an object of options")
        options = override(options, given)
    game = find_game(DEFAULT_GAME if name is None else name)
    options = override(options, {option: option_value(text) for option, text in args.rules.items()})
    return GameRecord(game, game.make_rules(**options), seed, None, position)


def _seat(args: Any, record: GameRecord, seats: list[str] | None) -> int | None:
    """Where the person sits; None: nowhere."""
    text = args.seat
    if text is None:
        if seats is not None and PERSON in seats:
            return seats.index(PERSON)
        return None if args.replay else 0
    if text == "none":
        return None
    if text == "random":
        return draw_seat(record.seed, record.seats)
    if not text.isdecimal() or int(text) >= record.seats:
        raise ValueError(f"--seat {text} is not possible: it must be 0 to {record.seats - 1}, random or none")
    return int(text)


def _strongest(game: Game) -> str:
    return game.rule_players[-1] if game.rule_players else "random"


def _specs(args: Any, record: GameRecord, seats: list[str] | None, seat: int | None) -> list[str]:
    """Who sits in each seat."""
    others = [i for i in range(record.seats) if i != seat]
    usual = _strongest(record.game)
    if args.opponents is not None:
        given = split_specs(args.opponents)
        if len(given) not in (1, len(others)):
            raise ValueError(f"--opponents names {len(given)} agents; it must be 1 or {len(others)}, one a seat")
        chosen = given * len(others) if len(given) == 1 else given
    elif seats is not None:
        chosen = [usual if seats[i] == PERSON else seats[i] for i in others]
    else:
        chosen = [usual] * len(others)
    specs = [PERSON] * record.seats
    for i, spec in zip(others, chosen, strict=True):
        specs[i] = spec
    return specs


def _agents(specs: list[str], record: GameRecord, where: str) -> list[Agent | None]:
    found: dict[str, Agent | None] = {PERSON: None}
    for seat, spec in enumerate(specs):
        if spec not in found:
            found[spec] = _load_agent(spec, record, f"{where}seat {seat}")
    return [found[spec] for spec in specs]


def _load_agent(spec: str, record: GameRecord, where: str) -> Agent:
    try:
        agent = load_agent(spec, record.game)
        check_rules(agent, record.rules)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    return agent


def _save_to(args: Any, alone: bool) -> Path | None:
    """The file that the game is kept in; ValueError where it is another's."""
    if args.save is None:
        return None
    path = Path(args.save)
    check_json_path(path)
    if path.exists() and not (args.load and alone and path.samefile(args.load)):
        raise ValueError(f"{path} exists and is not written over; choose another file for --save")
    return path
