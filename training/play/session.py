"""What playing and looking at a game share: the table shown, hints, history, options, saving."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text

from envs.agents import Agent, Decisions, check_rules
from training.agents import load_agent
from training.play import draw
from training.play.record import GameRecord, Move, RoundEnd
from training.play.saved import PERSON, free_name, save
from training.play.talk import Talk
from training.play.view import View, news, view_of, who
from training.played import ask

BAR = 20
"""Width of the longest bar."""


class Leave(Exception):  # noqa: N818 - no error
    """The person wants to leave."""


@dataclass
class Table:
    """A game and who sits at it."""

    record: GameRecord
    seats: list[str]
    """Who sits in each seat, as specs of agents or `PERSON`."""
    agents: list[Agent | None]
    """Who decides for each seat; None: the person, or nobody where a record is only looked at."""
    seat: int | None
    """Whose eyes see the table; None: all hands are open."""
    hints: str
    """Spec of the agent that is asked for hints."""
    save_to: Path | None = None
    """File that the game is kept in while it goes on."""
    file: Path | None = None
    """File that the game came from or was saved to last; it may be written again without a question."""
    random_seat: bool = False
    """Whether the person's seat is drawn anew each game."""
    saved: list[Move] = field(default_factory=list)
    """Moves that are saved."""


class Session:
    """Commands that do not depend on whether one plays or looks on."""

    def __init__(self, table: Table, talk: Talk) -> None:
        self.table, self.talk = table, talk
        self._hints: dict[str, Agent] = {}

    @property
    def record(self) -> GameRecord:
        """The game."""
        return self.table.record

    @property
    def seat(self) -> int | None:
        """Who looks."""
        return self.table.seat

    @property
    def names(self) -> list[str]:
        """What the seats are called in tables."""
        own = self.table.agents
        return [
            "you" if spec == PERSON and (i == self.seat or own[i] is None) else Path(spec).name
            for i, spec in enumerate(self.table.seats)
        ]

    def view(self, states: np.ndarray) -> View:
        """The game at some moment, as it may be seen here."""
        return view_of(self.record.game, self.record.rules, states, self.seat)

    def show_table(self, at: int) -> None:
        """Draw the table after the first `at` moves."""
        game = self.record.game
        view = self.view(self.record.states_at(at))
        self.talk.show("", *draw.table_of(view, game.title, self.names, self.seat, game.points))

    def show_move(self, at: int) -> None:
        """Tell of a move (number `at`, from 0) and of what it brought about."""
        move = self.record.moves[at]
        name = self.record.game.action_name(move.action)
        line = Text(f"  {who(move.seat, self.seat)}")
        if move.seat != self.seat:
            line.append(f" ({self.names[move.seat]})", "dim")
        line.append(": ").append(name, draw.style_of(name))
        before, after = self.record.states_at(at), self.record.states_after(at + 1)
        told = news(self.view(before), self.view(after), self.seat)
        self.talk.show(line.append("".join(f"; {part}" for part in told), "bold"))

    def show_round(self, ended: RoundEnd) -> None:
        """Tell how a round has ended, where rounds score."""
        game, states = self.record.game, ended.states[0]
        if game.points is None:
            return
        view = self.view(ended.states)
        heads, columns = ["seat", ""], [[str(seat) for seat in range(self.record.seats)], self.names]
        for head, key in (("bid", "bids"), ("won", "tricks")):
            if key in view:
                heads.append(head)
                columns.append(["-" if value is None else str(value) for value in view[key]])
        for head, key in (("points", "gained"), ("score", "scores")):
            heads.append(head)
            columns.append([draw.points_text(int(states[key][s]), game.points) for s in range(self.record.seats)])
        self.talk.show("", Text(f"round {view['round'] + 1} is over", "bold"))
        self.talk.show(*draw.middle(view)[1:])
        self.talk.show(draw.results(heads, zip(*columns, strict=True), self.seat, 2))

    def show_end(self) -> None:
        """Tell how the game has ended."""
        record, points = self.record, self.record.game.points
        places = record.places()
        scored = points is not None
        order = sorted(range(record.seats), key=lambda seat: (places[seat], -int(record.states["scores"][0][seat])))
        rows = [
            [str(places[seat]), str(seat), self.names[seat]]
            + ([draw.points_text(int(record.states["scores"][0][seat]), points)] if scored else [])
            for seat in order
        ]
        own = None if self.seat is None else order.index(self.seat)
        said = "the game was cut short" if record.cut_short else "the game is over"
        if self.seat is not None:
            winners = places.count(1)
            won = " alone" if winners == 1 else f", {winners} seats share the win"
            said += f": you are in place {places[self.seat]}" + (won if places[self.seat] == 1 else "")
        heads = ["place", "seat", ""] + (["score"] if scored else [])
        self.talk.show("", Text(said, "bold"), draw.results(heads, rows, own, 3))

    def show_history(self, until: int) -> None:
        """List the first `until` moves, a paragraph a round."""
        if until == 0:
            self.talk.show("no moves yet")
        starts = [0, *(ended.at for ended in self.record.rounds if ended.at < until)]
        for start, end in zip(starts, [*starts[1:], until], strict=True):
            if end == start:
                continue
            number = int(self.record.states_at(start)["round"][0]) + 1
            line = Text().append(f"round {number}: ", "bold")
            for move in self.record.moves[start:end]:
                name = self.record.game.action_name(move.action)
                line.append(f"{move.seat}:").append(name, draw.style_of(name)).append("  ")
            self.talk.console.print(line)

    def show_rules(self) -> None:
        """List the game's options."""
        record = self.record
        usual = asdict(record.game.make_rules(num_players=record.seats))
        self.talk.show(
            f"{record.game.title}, seed {record.seed}; what differs from the usual rules is bold",
            draw.options_table(asdict(record.rules), usual),
        )

    def show_hint(self, at: int, spec: str = "") -> None:
        """Let an agent say what it thinks of the moves that are possible after the first `at` moves."""
        record, game, spec = self.record, self.record.game, spec or self.table.hints
        try:
            if spec not in self._hints:
                agent = load_agent(spec, game)
                check_rules(agent, record.rules)
                self._hints[spec] = agent
        except (ValueError, OSError) as error:
            self.talk.show(" ".join(str(error).split()))
            return
        agent = self._hints[spec]
        decisions = Decisions(game, record.rules, record.states_at(at), record.agents_seed)
        chosen = int(ask(agent, decisions)[0])
        heads, legal = ["", "move"], record.legal_at(at)
        columns = [[">" if a == chosen else "" for a in legal], [game.action_name(a) for a in legal]]
        for head, method in (("probability", "probabilities"), ("value", "values")):
            if hasattr(agent, method):
                values = np.asarray(getattr(agent, method)(decisions)[0], np.float64)[legal]
                if np.isfinite(values).any():
                    heads += [head, ""]
                    columns += self._bars(values, head == "probability")
        if len(heads) > 2:
            rows = list(zip(*columns, strict=True))
            self.talk.show(draw.results(heads, rows, legal.index(chosen), 2))
        self.talk.show(f"{agent.name} would choose {game.action_name(chosen)}")

    def _bars(self, values: np.ndarray, shares: bool) -> list[list[str]]:
        """Two columns: values, and bars from the least (shares: from 0) to the greatest."""
        low, high = (0.0, 1.0) if shares else (float(np.nanmin(values)), float(np.nanmax(values)))
        texts, bars = [], []
        for value in values.tolist():
            known = value == value
            texts.append("-" if not known else f"{100 * value:.1f} %" if shares else f"{value:.2f}")
            part = (value - low) / (high - low) if known and high > low else 0.0
            bars.append((self.talk.bar * round(part * BAR)).ljust(BAR))
        return [texts, bars]

    def save(self, name: str) -> bool:
        """Save the game to a file, or where none is named to its own or a new one; False where it is not saved."""
        path = Path(name).expanduser() if name else self.table.file or free_name(self.record)
        if path.exists() and path != self.table.file:
            answer = self.talk.ask(f"{path} exists; write over it? y or n> ").strip().lower()
            if answer not in ("y", "yes"):
                self.talk.show("not saved")
                return False
        return self.write(path)

    def write(self, path: Path, quiet: bool = False) -> bool:
        """Write the game to a file, without a question; False, and a line that says why, where it cannot be."""
        try:
            save(path, self.record, self.table.seats)
        except OSError as error:
            self.talk.show(f"cannot write {path}: {error.strerror}")
            return False
        self.table.file = path
        self.table.saved = list(self.record.moves)
        if not quiet:
            self.talk.show(f"saved to {path}")
        return True

    def show_help(self, lines: Sequence[tuple[str, str]]) -> None:
        """Print what may be typed."""
        self.talk.show(draw.results(("type", "to"), lines, None, 2))

    def command(self, text: str, at: int) -> bool:
        """Do what a line asks for, where it is one of the commands that all sessions have; whether it was."""
        word, _, rest = text.strip().partition(" ")
        word = word.lower()
        if text.strip().startswith("?"):
            self.hint(at, text.strip()[1:].strip())
        elif word in ("q", "quit", "exit"):
            raise Leave
        elif word in ("s", "save"):
            self.save(rest.strip())
        elif word in ("r", "rules"):
            self.show_rules()
        elif word in ("hist", "history"):
            self.show_history(at)
        elif word in ("t", "table"):
            self.show_table(at)
        else:
            return False
        return True

    def hint(self, at: int, spec: str) -> None:
        """Show a hint, if there may be one here."""
        if int(self.record.states_at(at)["turn"][0]) < 0:
            self.talk.show("the game is over, no seat is to act")
        else:
            self.show_hint(at, spec)


def act(table: Table, record: GameRecord) -> int:
    """What the agent of the seat to act does."""
    agent = table.agents[record.turn]
    assert agent is not None
    return int(ask(agent, Decisions(record.game, record.rules, record.states, record.agents_seed))[0])


def own_statistics(record: GameRecord, seat: int) -> Any:
    """(K,) sums of a seat's statistics over the rounds that have ended."""
    total = np.zeros(len(record.game.statistics))
    for ended in record.rounds:
        total += ended.statistics[seat]
    return total
