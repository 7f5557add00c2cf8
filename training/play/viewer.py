"""Looking on: a recorded game, or one that agents play, forwards and backwards."""

from __future__ import annotations

from training.command import INTERRUPTED
from training.play.session import Leave, Session, Table, act
from training.play.talk import Talk

HELP = (
    ("Enter", "go on by a move; 5 goes on by five"),
    ("b", "go back by a move; b 5 goes back by five"),
    ("round 3", "go to the beginning of a round"),
    ("move 40", "go to the moment after so many moves"),
    ("first, last", "go to the beginning, to the end"),
    ("?", "ask for a hint; ? montecarlo:deals=64 asks another agent"),
    ("s FILE", "save the game"),
    ("hist", "list the moves so far"),
    ("r", "list the rules' options"),
    ("q", "leave; so do Ctrl-C and Ctrl-D"),
)


class ViewerSession(Session):
    """The loop of looking on."""

    def __init__(self, table: Table, talk: Talk, live: bool) -> None:
        super().__init__(table, talk)
        self._at = 0
        self._live = live
        """Whether agents go on where the record ends."""

    def run(self) -> int:
        """Show the game; returns the exit code."""
        record = self.record
        with self.talk.interrupts():
            try:
                moves = "" if self._live else f", {len(record.moves)} moves"
                seats = ", ".join(f"{seat} {name}" for seat, name in enumerate(self.names))
                self.talk.show(f"{record.game.title}, seed {record.seed}{moves}: {seats}", "h helps, q leaves")
                self.show_table(0)
                while True:
                    self._do(self.talk.ask(f"move {self._at}> ").strip())
            except (Leave, EOFError):
                return 0
            except KeyboardInterrupt:
                return INTERRUPTED

    def _do(self, text: str) -> None:
        word, _, rest = text.partition(" ")
        word = word.lower()
        if word in ("h", "help"):
            self.show_help(HELP)
        elif word in ("first", "last") and not rest:
            self._go_to(0 if word == "first" else None)
        elif word in ("", "n", "next") or word.isdecimal():
            self._forward(int(word) if word.isdecimal() else 1)
        elif word in ("b", "back") and _is_number(rest):
            self._go_to(max(0, self._at - (int(rest) if rest else 1)))
        elif word == "move" and rest and _is_number(rest):
            self._go_to(int(rest))
        elif word in ("round", "j") and rest and _is_number(rest):
            self._go_to_round(int(rest))
        elif not self.command(text, self._at):
            self.talk.show(f"there is no command {text!r}; h helps")

    def _forward(self, count: int) -> None:
        """Go on move by move, telling of each."""
        for _ in range(count):
            if not self._has(self._at + 1):
                self._tell_end()
                return
            self.show_move(self._at)
            self._at += 1
            ended = self.record.round_ended(self._at)
            if ended is not None:
                self.show_round(ended)
        self._show()

    def _show(self) -> None:
        self.show_table(self._at)
        if self._at == len(self.record.moves) and self.record.turn < 0:
            self.show_end()

    def _tell_end(self) -> None:
        if self.record.turn < 0:
            self.show_end()
        else:
            self.talk.show("the record ends here; the game was not over")

    def _has(self, at: int) -> bool:
        """Whether there are so many moves; agents make them where they play."""
        record = self.record
        while self._live and record.turn >= 0 and len(record.moves) < at:
            self.talk.check()
            record.make(act(self.table, record))
        return at <= len(record.moves)

    def _go_to(self, at: int | None) -> None:
        """Go to a moment; None: the last."""
        if at is None:
            while self._live and self.record.turn >= 0:
                self._has(len(self.record.moves) + 1)
            at = len(self.record.moves)
        if not self._has(at):
            self.talk.show(f"there are only {len(self.record.moves)} moves")
            return
        self._at = at
        self._show()

    def _go_to_round(self, number: int) -> None:
        """Go to the beginning of a round (from 1)."""
        record = self.record
        first = int(record.states_at(0)["round"][0]) + 1
        while self._live and record.turn >= 0 and first + len(record.rounds) < number:
            self._has(len(record.moves) + 1)
        starts = [0, *(ended.at for ended in record.rounds if ended.at < len(record.moves) or record.turn >= 0)]
        if not first <= number < first + len(starts):
            self.talk.show(f"there is no round {number}; rounds are {first} to {first + len(starts) - 1}")
            return
        self._go_to(starts[number - first])

    def hint(self, at: int, spec: str) -> None:
        """Show a hint where it tells of no hidden cards: what is possible to a seat are its cards."""
        turn = int(self.record.states_at(at)["turn"][0])
        if turn >= 0 and self.seat not in (None, turn):
            self.talk.show(f"hands are hidden, so hints are for seat {self.seat} only; --open shows all")
            return
        super().hint(at, spec)


def _is_number(text: str) -> bool:
    return not text or text.isdecimal()
