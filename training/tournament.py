"""Tournaments: who sits where in every deal, games as JSON lines, and a folder that can always be gone on with.

Each deal is played at mixed tables, so that every agent sits in every seat once, and in the first deals also with
each agent alone among copies of each other (cross-play). The games come in one fixed order, whoever plays them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from envs.cards import stream_key
from envs.game import find_game
from training.agents import agent_digest, fixed_spec
from training.arena import first_deal
from training.crew import Crew, Team
from training.journal import read_lines
from training.played import Played, play_games, replay_games, start
from training.report import versions, write_json

FORMAT = "taash-tournament-1"
SETTINGS, GAMES, LOOKS = "tournament.json", "games.jsonl", "looks.txt"
MIXED, CROSS = "mixed", "cross"
SEATING_STREAM = 8
MOST_GAMES = 4096
"""Most games that are played side by side."""


@dataclass(frozen=True)
class Settings:
    """What names a tournament's games."""

    game: str
    rules: dict[str, Any]
    agents: tuple[str, ...]
    """Specs; an agent may be there twice."""
    seed: int
    cross_deals: int
    """Deals that are also played as cross-play."""
    digests: tuple[str, ...]
    """SHA-256 of the policy of each checkpoint, or search with a prior, and of a plugin's model; empty for others."""


def settings_of(team: Team, seed: int, cross_deals: int) -> Settings:
    """Settings of a new tournament between a team's agents; checkpoints by their own folders."""
    specs = [fixed_spec(agent, spec) for agent, spec in zip(team.agents, team.specs, strict=True)]
    digests = [agent_digest(agent) for agent in team.agents]
    return Settings(team.game.name, asdict(team.rules), tuple(specs), seed, cross_deals, tuple(digests))


def labels(agents: Sequence[str]) -> list[str]:
    """Names that tell agents apart: the second of the same spec is ``spec#2``."""
    return [
        f"{spec}#{agents[:i].count(spec) + 1}" if spec in agents[:i] else spec
        for i, spec in enumerate(agents)
    ]  # fmt: skip


def seatings(agents: int, seats: int, seed: int, deal: int, cross: bool) -> list[tuple[str, tuple[int, ...]]]:
    """Tables of a deal, in order: kind and agent in each seat.

    There are as many mixed tables as agents; each agent sits in each seat at one of them. Seats are filled evenly where
    there are fewer agents. Cross-play adds, for each ordered pair, the first agent once in each seat.
    """
    draw = np.random.default_rng(stream_key(seed, SEATING_STREAM, deal))
    copies, over = divmod(seats, agents)
    spread = np.concatenate((np.tile(np.arange(agents), copies), draw.permutation(agents)[:over]))
    base, order = draw.permutation(spread), draw.permutation(agents)
    tables = [(MIXED, tuple(order[(base + i) % agents].tolist())) for i in range(agents)]
    for row in range(agents if cross else 0):
        for column in range(agents):
            if row != column:
                tables += [
                    (CROSS, tuple(row if seat == own else column for seat in range(seats))) for own in range(seats)
                ]
    return tables


def play_deals(team: Team, first: int, count: int, settings: Settings) -> list[bytes]:
    """Play some deals at all their tables; returns one JSON line a game."""
    n, seed0 = team.rules.num_players, first_deal(settings.seed)
    tables = [
        (deal, kind, seats)
        for deal in range(first, first + count)
        for kind, seats in seatings(len(team.agents), n, settings.seed, deal, deal < settings.cross_deals)
    ]
    states = start(team.game, team.rules, np.array([seed0 + deal for deal, _, _ in tables]))
    seating = np.array([seats for _, _, seats in tables])
    played = play_games(team.game, team.rules, team.agents, states, seating, settings.seed)
    lines = []
    for i, (deal, kind, seats) in enumerate(tables):
        entry = {
            "deal": deal, "table": kind, "game": settings.game, "rules": settings.rules, "seed": seed0 + deal,
            "agents_seed": settings.seed, "agents": list(seats), "seats": [settings.agents[k] for k in seats],
            "moves": played.moves[i, : played.made[i]].tolist(), "rounds": int(played.rounds[i]),
            "places": played.places[i].tolist(), "wins": played.wins[i].tolist(),
        }  # fmt: skip
        if played.scores is not None:
            entry["scores"] = played.scores[i].tolist()
        lines.append(json.dumps(entry, separators=(",", ":")).encode() + b"\n")
    return lines


class Folder:
    """A tournament's folder, to which finished games are added; ValueError says why it cannot be."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self.path, self.settings = path, settings
        self.entries: list[dict[str, Any]] = []
        self.damaged: Path | None = None
        """Where the torn end of a line was put that a kill had left."""

    @classmethod
    def create(cls, path: Path, settings: Settings) -> Folder:
        """A new tournament in a folder that is empty or not there yet."""
        try:
            path.mkdir(parents=True, exist_ok=True)
            if any(path.iterdir()):
                what = "another tournament (go on with --resume)" if (path / SETTINGS).exists() else "other files"
                raise ValueError(f"{path} already holds {what}")
            write_json(path / SETTINGS, {"format": FORMAT, **asdict(settings), "versions": versions()})
            (path / GAMES).touch(exist_ok=False)
        except OSError as error:
            raise ValueError(f"cannot write {path}: {error.strerror}") from None
        return cls(path, settings)

    @classmethod
    def open(cls, path: Path) -> Folder:
        """A tournament that has begun."""
        try:
            document = json.loads((path / SETTINGS).read_text())
            if document["format"] != FORMAT:
                raise ValueError
            document = {**document, "agents": tuple(document["agents"]), "digests": tuple(document["digests"])}
            folder = cls(path, Settings(**{name: document[name] for name in Settings.__dataclass_fields__}))
        except OSError as error:
            raise ValueError(f"no tournament in {path}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{path / SETTINGS} is damaged, or of another version") from None
        folder._read()
        return folder

    def _read(self) -> None:
        """Read all games; a torn line at the end is moved to a file of its own."""
        file = self.path / GAMES
        self.entries, self.damaged = read_lines(file)
        seen, deal, n = 0, 0, int(self.settings.rules["num_players"])
        while seen < len(self.entries):
            expected = seatings(
                len(self.settings.agents), n, self.settings.seed, deal, deal < self.settings.cross_deals
            )
            for (kind, seats), entry in zip(expected, self.entries[seen:], strict=False):
                if (entry.get("deal"), entry.get("table"), entry.get("agents")) != (deal, kind, list(seats)):
                    raise ValueError(f"{file}: line {seen + 1} is not the game that belongs there")
                seen += 1
            deal += 1

    def progress(self) -> tuple[int, int]:
        """Deals finished, and games there are of the next."""
        deal = self.entries[-1]["deal"] if self.entries else 0
        there = sum(entry["deal"] == deal for entry in reversed(self.entries[-(10**5) :]))
        n, agents = int(self.settings.rules["num_players"]), len(self.settings.agents)
        whole = len(seatings(agents, n, self.settings.seed, deal, deal < self.settings.cross_deals))
        return (deal + 1, 0) if there == whole else (deal, there)

    def play(self, crew: Crew, deals: int, told: Callable[[int], object]) -> None:
        """Play until so many deals are finished; each game is on disk before `told` hears of its deal."""
        done, there = self.progress()
        agents, n = len(self.settings.agents), int(self.settings.rules["num_players"])
        most = max(1, MOST_GAMES // (agents + (agents * (agents - 1) * n if self.settings.cross_deals else 0)))
        work = partial(play_deals, settings=self.settings)
        with (self.path / GAMES).open("ab") as file:
            for first, count, lines in crew.spread(work, deals, done, most):
                fresh, there = lines[there:], 0
                file.write(b"".join(fresh))
                file.flush()
                self.entries += map(json.loads, fresh)
                told(first + count)

    def look(self) -> int:
        """Number (from 1) of a look at the results so far; kept, as each has its price (`standings.separable`)."""
        file, deals = self.path / LOOKS, str(self.progress()[0])
        before = file.read_text().split() if file.exists() else []
        if deals not in before:
            with file.open("a") as lines:
                lines.write(f"{deals}\n")
            before.append(deals)
        return before.index(deals) + 1

    def check_agents(self, team: Team) -> None:
        """Raise ValueError where a checkpoint or model is no longer the one that played."""
        if settings_of(team, self.settings.seed, self.settings.cross_deals) != self.settings:
            raise ValueError(
                f"{self.path}: a checkpoint, a model or the rules have changed since this tournament began"
            )

    def replay(self) -> Played:
        """Play all games again from their moves; ValueError where a result is not what the file says."""
        game = find_game(self.settings.game)
        rules, file = game.make_rules(**self.settings.rules), self.path / GAMES
        try:
            made = np.array([len(entry["moves"]) for entry in self.entries])
            moves = np.zeros((len(made), int(made.max())), np.uint8)
            for i, entry in enumerate(self.entries):
                moves[i, : made[i]] = entry["moves"]
            states = start(game, rules, np.array([entry["seed"] for entry in self.entries]))
            played = replay_games(game, rules, states, moves, made, max(entry["rounds"] for entry in self.entries))
            wrong = (played.places != np.array([entry["places"] for entry in self.entries])).any(axis=1)
            if played.scores is not None:
                wrong |= (played.scores != np.array([entry["scores"] for entry in self.entries])).any(axis=1)
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise ValueError(f"{file} is damaged, or of another version of the game: {error}") from None
        if wrong.any():
            raise ValueError(f"{file}: line {int(wrong.argmax()) + 1} has another result than its moves")
        return played
