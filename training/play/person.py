"""A person at the table: opponents move, the person is asked, rounds and games are summed up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.text import Text

from envs.cards import random_below, random_bits, stream_key
from training.command import INTERRUPTED
from training.play import draw
from training.play.choices import Choices
from training.play.record import GameRecord, Move
from training.play.saved import PERSON, free_name
from training.play.session import Leave, Session, Table, act, own_statistics
from training.play.talk import Talk

HELP = (
    ("3", "choose the move of that number"),
    ("AS, bid 3, pass", "choose a move by its name, or by a beginning that fits no other"),
    ("Enter", "make the only possible move"),
    ("?", "ask for a hint; ? montecarlo:deals=64 asks another agent"),
    ("u", "take back your last decision and all that followed"),
    ("s FILE", "save the game"),
    ("t", "draw the table again"),
    ("hist", "list the moves so far"),
    ("r", "list the rules' options"),
    ("q", "leave; so do Ctrl-C and Ctrl-D"),
)
SEAT_STREAM = 9


def draw_seat(seed: int, seats: int) -> int:
    """A seat that a seed draws for the person."""
    key = stream_key(seed, SEAT_STREAM)
    return int(random_below(random_bits(key & 0xFFFFFFFF, key >> 32, 0), seats))


@dataclass
class Tally:
    """What a person has done in games that are over and gone."""

    games: int = 0
    wins: float = 0.0
    places: float = 0.0
    rounds: int = 0
    statistics: np.ndarray | float = 0.0

    def plus(self, record: GameRecord, seat: int) -> Tally:
        """This and one game more."""
        places = record.places() if record.turn < 0 else []
        won = 1 / places.count(1) if places and places[seat] == 1 else 0.0
        return Tally(
            self.games + bool(places),
            self.wins + won,
            self.places + (places[seat] if places else 0),
            self.rounds + len(record.rounds),
            self.statistics + own_statistics(record, seat),
        )

    def text(self, record: GameRecord) -> str:
        """One line."""
        parts = []
        if self.games:
            games = f"{self.games} game{'s' * (self.games != 1)}"
            parts.append(f"{games}, {self.wins:g} won, mean place {self.places / self.games:.2f}")
        if self.rounds:
            means = np.asarray(self.statistics) / self.rounds
            shown = (
                f"{name.replace('_', ' ')} {100 * mean:.0f} %" if name in record.game.shares else f"{name} {mean:.2f}"
                for name, mean in zip(record.game.statistics, means.tolist(), strict=True)
            )
            rounds = f"{self.rounds} round{'s' * (self.rounds != 1)}"
            parts.append(f"{rounds}, on average {', '.join(shown)}")
        return "you so far: " + "; ".join(parts)


class PersonSession(Session):
    """The loop of a game with a person, and of those that follow it."""

    def __init__(self, table: Table, talk: Talk) -> None:
        super().__init__(table, talk)
        self._past = Tally()
        self._shown = len(table.record.moves)

    def run(self) -> int:
        """Play; returns the exit code."""
        with self.talk.interrupts():
            try:
                self._greet()
                while True:
                    self._go_on()
            except (Leave, EOFError):
                return self._leave(0)
            except KeyboardInterrupt:
                self.talk.interrupted()
                return self._leave(INTERRUPTED)

    @property
    def _own(self) -> int:
        assert self.seat is not None
        return self.seat

    def _greet(self) -> None:
        record = self.record
        others = ", ".join(f"{seat} {name}" for seat, name in enumerate(self.names) if seat != self.seat)
        self.talk.show(f"{record.game.title}, seed {record.seed}: you are seat {self.seat}, the others are {others}")
        self.talk.show("h helps, q leaves")

    def _go_on(self) -> None:
        """Ask whoever is to act, and make the move."""
        record = self.record
        self.talk.check()
        if record.turn < 0:
            self._after_game()
            return
        action = self._ask() if record.turn == self.seat else act(self.table, record)
        if action is None:
            return
        own = record.turn == self.seat
        record.make(action)
        self._tell()
        if own and self.table.save_to is not None:
            self._keep()

    def _tell(self) -> None:
        """Tell of the moves that have not been told of."""
        for at in range(self._shown, len(self.record.moves)):
            self.show_move(at)
            ended = self.record.round_ended(at + 1)
            if ended is not None:
                self.show_round(ended)
                if self.record.turn >= 0:
                    self.talk.show(self._past.plus(self.record, self._own).text(self.record))
        self._shown = len(self.record.moves)

    def _ask(self) -> int | None:
        """Ask for a move; None after a command that has changed the game."""
        record = self.record
        names = [record.game.action_name(action) for action in range(record.game.num_actions)]
        choices = Choices({action: names[action] for action in record.legal}, names)
        self.show_table(len(record.moves))
        self._offer(choices)
        prompt = f"{self.view(record.states)['phase'].replace('_', ' ')}> "
        while True:
            text = self.talk.ask(prompt)
            if text.strip().lower() in ("u", "undo"):
                if self._undo():
                    return None
            elif text.strip().lower() in ("h", "help"):
                self.show_help(HELP)
            elif not self.command(text, len(record.moves)):
                try:
                    return choices.read(text)
                except ValueError as error:
                    self.talk.show(str(error))

    def _offer(self, choices: Choices) -> None:
        line = Text("you may: ")
        for action, name in choices.legal.items():
            label = choices.labels[action]
            if label and not name.endswith(label):
                line.append(f"{label} ", "dim")
            line.append(name, draw.style_of(name)).append("   ")
        if choices.forced is not None:
            line.append("(nothing else: Enter)", "dim")
        self.talk.show(line)

    def _undo(self) -> bool:
        """Go back to the person's last decision; False where there is none."""
        decided = self.record.choices(self._own)
        if not decided:
            self.talk.show("there is nothing to take back")
            return False
        move = self.record.moves[decided[-1]]
        self.record.undo(decided[-1])
        self._shown = len(self.record.moves)
        self.talk.show(f"taken back: {self.record.game.action_name(move.action)}")
        return True

    def _after_game(self) -> None:
        """Sum up a game that is over, and ask what comes next."""
        self.show_end()
        self.talk.show(self._past.plus(self.record, self._own).text(self.record))
        if self.table.save_to is not None and self.table.saved != self.record.moves:
            self._keep()
        while True:
            text = self.talk.ask("Enter: another game, u: take back, s FILE: save, q: leave> ")
            if not text.strip():
                self._next_game()
                return
            if text.strip().lower() in ("u", "undo"):
                if self._undo():
                    return
            elif text.strip().lower() in ("h", "help"):
                self.show_help(HELP)
            elif not self.command(text, len(self.record.moves)):
                self.talk.show("the game is over; type Enter, u, s FILE or q")

    def _next_game(self) -> None:
        """Sit down to the game of the next seed, the agents staying in their order."""
        table, last = self.table, self.record
        self._past = self._past.plus(last, self._own)
        seed = (last.seed + 1) % 2**63
        table.record = GameRecord(last.game, last.rules, seed, last.dealer, last.position)
        if table.random_seat:
            self._sit(draw_seat(seed, last.seats))
        table.file, table.saved, self._shown = None, [], len(table.record.moves)
        if table.save_to is not None:
            table.save_to = _next_file(table.save_to)
        self._greet()

    def _sit(self, seat: int) -> None:
        """Take another seat; the agents keep their order around the table."""
        table, own = self.table, self._own
        specs = [spec for i, spec in enumerate(table.seats) if i != own]
        agents = [agent for i, agent in enumerate(table.agents) if i != own]
        specs.insert(seat, PERSON)
        agents.insert(seat, None)
        table.seats, table.agents, table.seat = specs, agents, seat

    def _keep(self) -> None:
        """Save to the file that the game is kept in, without a word unless it fails."""
        assert self.table.save_to is not None
        self.write(self.table.save_to, quiet=True)

    def _decided(self, moves: list[Move]) -> list[int]:
        """What the person did among some moves: the rest follows from it."""
        return [move.action for move in moves if move.seat == self.seat and not move.automatic]

    def _leave(self, code: int) -> int:
        """Offer to save what would be lost, and say good-bye; returns the exit code."""
        table, record = self.table, self.record
        if record.turn < 0 or self._decided(record.moves) == self._decided(table.saved):
            return code
        if table.save_to is not None:
            self.write(table.save_to)
            return code
        path = table.file or free_name(record)
        try:
            while True:
                name = self.talk.ask(f"save the game? Enter: to {path}, another file, or n: no> ").strip()
                if name.lower() in ("n", "no") or self.save(name or str(path)):
                    return code
        except (EOFError, KeyboardInterrupt) as stopped:
            self.talk.interrupted()
            self.write(path)
            return INTERRUPTED if isinstance(stopped, KeyboardInterrupt) else code


def _next_file(path: Path) -> Path:
    """A file beside another that does not exist yet."""
    count = 2
    while (found := path.with_name(f"{path.stem}-{count}{path.suffix}")).exists():
        count += 1
    return found
