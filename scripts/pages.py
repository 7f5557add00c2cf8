"""Write the tables on the games' pages, envs/<game>/README.md, from the code.

python scripts/pages.py           # write them anew
python scripts/pages.py --check   # only compare; exit code 1 where one differs

A page is written by hand but for the parts between ``<!-- NAME -->`` and ``<!-- /NAME -->``.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from envs import GAME_IDS, SEAT_IDS
from envs.agents import agent_names
from envs.game import GAMES, Game, find_game
from envs.layout import Layout

ROOT = Path(__file__).resolve().parents[1]


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", r"\|") for cell in line) + " |" for line in lines)


def code(value: object) -> str:
    """A value as code."""
    return f"`{value}`"


def docstrings(kind: type) -> dict[str, str]:
    """The text under each field of a class."""
    (body,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(body, ast.ClassDef)
    texts = {}
    for field, text in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            assert isinstance(field.target, ast.Name)
            texts[field.target.id] = " ".join(str(text.value.value).split()).replace("``", "`")
    return texts


def allowed(game: Game, option: str) -> str:
    """Values of an option at the default table, in the words of the error for a wrong one."""
    try:
        game.make_rules(**{option: object()})
    except ValueError as error:
        return str(error).partition(f": {option} must be ")[2]
    raise AssertionError(f"{option} takes anything")


def options(game: Game) -> str:
    """Every option: default, values and meaning."""
    kind = type(game.make_rules())
    texts = docstrings(kind)
    rows = [
        (code(field.name), code(repr(field.default)), allowed(game, field.name), texts[field.name])
        for field in dataclasses.fields(kind)
    ]
    return table(("option", "default", "values", "meaning"), rows)


def seats(game: Game) -> range:
    """Numbers of seats."""
    return range(game.players[0], game.players[1] + 1)


def presets(game: Game) -> str:
    """Every preset and where it differs from the defaults."""
    rows = []
    for preset in game.presets:
        changed: dict[str, list[Any]] = {}
        for n in seats(game):
            plain, chosen = (dataclasses.asdict(game.make_rules(name, num_players=n)) for name in (None, preset))
            for option in plain:
                changed.setdefault(option, []).append(None if plain[option] == chosen[option] else chosen[option])
        texts = []
        for option, values in changed.items():
            for value in dict.fromkeys(value for value in values if value is not None):
                where = [n for n, other in zip(seats(game), values, strict=True) if other == value]
                everywhere = len(where) == len(values)
                players = "" if everywhere else f" with {', '.join(map(str, where))} players"
                texts.append(f"`{option}={value!r}`{players}")
        rows.append((code(preset), "; ".join(texts) or "the defaults"))
    return table(("preset", "rules"), rows)


def environment(game: Game) -> str:
    """What an environment looks like from outside."""
    low, high = game.players
    last, numbers = ("{n-1}", f", n from {low} to {high}") if low < high else (str(low - 1), "")
    agents = f"`player_0` … `player_{last}`{numbers}"
    module = f"from envs import {game.name}_v0"
    spaces = f"`Dict(observation=Box(0, 1, (F,), float32), action_mask=Box(0, 1, ({game.num_actions},), int8))`"
    pettingzoo = [name for name, entry in GAME_IDS.items() if entry == f"envs.{game.name}_v0:env"]
    gymnasium = [name for name, played in SEAT_IDS.items() if played == game.name]
    rows = [
        ("import", code(module)),
        ("PettingZoo", ", ".join(code(f'pettingzoo.make("aec", "{name}")') for name in pettingzoo)),
        ("Gymnasium, one seat", ", ".join(code(f'gymnasium.make("envs:{name}")') for name in gymnasium)),
        ("agents", agents),
        ("actions", code(f"Discrete({game.num_actions})")),
        ("observations", spaces),
        ("parallel API", "no: the seats act in turn"),
    ]
    return table(("", ""), rows)


def sizes(game: Game) -> str:
    """Numbers of features for each number of seats, and of rounds where the rules have several."""
    rows = []
    rounds = "rounds" in (game.make_rules().record().dtype.names or ())
    for n in seats(game):
        rules = game.make_rules(num_players=n)
        row: list[object] = [n, game.layout(n, False).size, game.state_layout(n, False).size]
        rows.append([row[0], rules.record()[0]["rounds"], *row[1:]] if rounds else row)
    most = game.players[1]
    if len(rows) > 1:
        wide = [game.layout(most, True).size, game.state_layout(most, True).size]
        rows.append(["any, with `pad_seats=True`", *[""] * rounds, *wide])
    return table(("seats", *["rounds by default"] * rounds, "F (observation)", "S (`state()`)"), rows)


def labels(names: Sequence[str]) -> str:
    """The features of a block, those in the middle of a long one left out."""
    shown = list(names) if len(names) <= 12 else [*names[:2], "…", names[-1]]
    return ", ".join(name if name == "…" else code(name) for name in shown)


def blocks(layout: Layout) -> str:
    """Every block of a layout; those that each seat has stand on one line."""
    families: dict[str, list[str]] = {}
    found = {block.name: block for block in layout.blocks}
    for name in found:
        families.setdefault(re.sub(r"\+\d+$", "+i", name), []).append(name)
    rows = []
    for family, names in families.items():
        block, first = found[names[0]], layout.offsets[names[0]]
        place = str(first)
        if len(names) > 1:
            (step,) = {layout.offsets[b] - layout.offsets[a] for a, b in pairwise(names)}
            start = int(names[0].rpartition("+")[2])
            times = "i" if start == 0 else f"(i - {start})"
            place = f"{first} + {step} {times}"
        rows.append((place, len(block.labels), code(family), labels(block.labels), block.text))
    return table(("offset", "width", "block", "features", "meaning"), rows)


def observation(game: Game) -> str:
    """The observation at the default table."""
    n = game.make_rules().num_players
    text = f"With {n} seats ({game.layout(n, False).size} features; `+i` is the seat i after the observer):"
    return f"{text}\n\n{blocks(game.layout(n, False))}"


def actions(game: Game) -> str:
    """Every kind of action with its numbers."""

    def kind(action: int) -> tuple[str, str]:
        group = next(name for name, span in game.action_groups.items() if action in span)
        return group, group if group == "card" else game.action_name(action).partition(" ")[0]

    rows = []
    for (_, name), span in groupby(range(game.num_actions), kind):
        numbers = list(span)
        first, last = numbers[0], numbers[-1]
        many = first != last
        names = [code(game.action_name(action)) for action in ((first, last) if many else (first,))]
        rows.append((f"{first}..{last}" if many else first, " … ".join(names), name))
    return table(("number", "name", "kind"), rows)


def players(game: Game) -> str:
    """The built-in agents."""
    return ", ".join(map(code, agent_names(game))) + "."


PARTS: dict[str, Callable[[Game], str]] = {
    "environment": environment,
    "sizes": sizes,
    "options": options,
    "presets": presets,
    "actions": actions,
    "observation": observation,
    "players": players,
}


def fill(page: str, game: Game) -> str:
    """A page with its generated parts as they should be."""

    def part(match: re.Match[str]) -> str:
        name = match[1]
        return f"<!-- {name} -->\n\n{PARTS[name](game)}\n\n<!-- /{name} -->"

    return re.sub(rf"<!-- ({'|'.join(PARTS)}) -->.*?<!-- /\1 -->", part, page, flags=re.DOTALL)


def main() -> int:
    """Run the command line; exit code 1 where ``--check`` finds a page that is out of date."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0], allow_abbrev=False)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 where a page would change")
    check = parser.parse_args().check
    stale = False
    for name in GAMES:
        path = Path("envs", name, "README.md")
        file = ROOT / path
        if not file.exists():
            continue
        page = file.read_text(encoding="utf-8")
        wanted = fill(page, find_game(name))
        if wanted == page:
            continue
        stale = True
        if not check:
            file.write_text(wanted, encoding="utf-8", newline="\n")
        print(f"{path}: {'out of date; see python scripts/pages.py' if check else 'written'}")
    return int(check and stale)


if __name__ == "__main__":
    sys.exit(main())
