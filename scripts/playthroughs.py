"""Write golden playthroughs to tests/data/playthroughs: random games as text, which a test compares with new ones.

python scripts/playthroughs.py           # write them anew; look at what changed before committing it
python scripts/playthroughs.py --check   # only compare; exit code 1 where one differs

Every move stands on a line with its number, the seat, the action, a checksum of what all seats see after it, and the
actions that were legal. The rest is meant for readers: the table as rendered, features in words, rewards, the end.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from envs.aec import TableEnv
from envs.cards import random_below, random_bits
from envs.game import find_game

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path("tests/data/playthroughs")


class Playthrough(NamedTuple):
    """One game to write down."""

    game: str
    preset: str | None
    options: dict[str, Any]
    spans: int
    """It is left after so many rounds, or bouts in a game that has them."""


PLAYTHROUGHS: dict[str, Playthrough] = {
    **{f"kachuful/{preset}": Playthrough("kachuful", preset, {}, 2) for preset in find_game("kachuful").presets},
    "kachuful/kachuful": Playthrough("kachuful", "kachuful", {}, 99),
    "kachuful/blind_optional": Playthrough("kachuful", None, {"max_hand": 3, "blind": "optional"}, 99),
    "kachuful/blind_forced": Playthrough(
        "kachuful", None, {"num_players": 3, "max_hand": 3, "blind": "forced", "blind_doubles": "bonus"}, 99
    ),
    "kachuful/forehead": Playthrough(
        "kachuful", None, {"num_players": 3, "max_hand": 2, "single_card": "forehead"}, 99
    ),
    "kachuful/face_down": Playthrough(
        "kachuful", None, {"max_hand": 2, "schedule": "up", "single_card": "face_down", "blind": "optional"}, 99
    ),
    "kachuful/penalty": Playthrough(
        "kachuful", None, {"max_hand": 4, "min_hand": 3, "revoke": "penalty", "scoring": "minus_difference"}, 99
    ),
    "kachuful/turn_up": Playthrough(
        "kachuful", None, {"max_hand": 3, "trump": "turn_up", "no_trump_every": 2, "reward": "win"}, 99
    ),
    "kachuful/five_seats": Playthrough(
        "kachuful", None, {"num_players": 5, "max_hand": 4, "min_hand": 2, "schedule": "up_down", "hook": False}, 99
    ),
    "kachuful/eight_seats": Playthrough(
        "kachuful", None, {"num_players": 8, "max_hand": 2, "trump": "N", "scoring": "trick_plus_bonus"}, 99
    ),
    **{f"call_break/{preset}": Playthrough("call_break", preset, {}, 1) for preset in find_game("call_break").presets},
    "call_break/call_break": Playthrough("call_break", "call_break", {}, 99),
    "call_break/misdeal_vote": Playthrough("call_break", None, {"rounds": 2, "misdeal": "vote", "reward": "win"}, 99),
    "call_break/misdeal_auto": Playthrough("call_break", None, {"rounds": 1, "misdeal": "auto", "trump": "none"}, 99),
    "call_break/extra_round": Playthrough("call_break", None, {"rounds": 1, "min_call": 7, "max_call": 7}, 99),
    "kaschlan/kaschlan": Playthrough("kaschlan", "kaschlan", {}, 99),
    "kaschlan/two_seats": Playthrough("kaschlan", None, {"num_players": 2, "must_beat": True}, 99),
    "kaschlan/three_seats": Playthrough(
        "kaschlan", None, {"num_players": 3, "attacker_out": "defender_attacks", "payoff": "places"}, 99
    ),
    "kaschlan/trump_on_top": Playthrough("kaschlan", None, {"num_players": 5, "trump_card": "top"}, 6),
    "kaschlan/kutscher": Playthrough("kaschlan", None, {"kutscher_opens_rank": True}, 8),
    "kaschlan/pickup_all": Playthrough("kaschlan", None, {"pickup": "all"}, 8),
    "kaschlan/truncated": Playthrough("kaschlan", None, {"num_players": 3, "max_bouts": 3}, 99),
}
"""By ``game/name``, the path of their files."""


def sight(env: TableEnv) -> str:
    """Checksum of the observations and masks of all seats."""
    seen = [env.observe(agent) for agent in env.possible_agents]
    parts = [part.astype(np.uint8).tobytes() for one in seen for part in one.values()]
    return f"{zlib.crc32(b''.join(parts)):08x}"


def indented(text: str) -> Iterator[str]:
    """The lines of a text, set in."""
    return (f"    {line}".rstrip() for line in text.splitlines())


def in_words(env: TableEnv) -> Iterator[str]:
    """What the seat to act sees, block by block; empty blocks are left out."""
    layout = env.game.layout(env.rules.num_players, env.pad_seats)
    observation = env.observe(env.agent_selection)["observation"]
    yield f"  {env.agent_selection} sees"
    for block, labels in layout.decode(observation).items():
        if labels:
            yield f"    {block}: {' '.join(labels)}"


def moves(env: TableEnv, seed: int, spans: int) -> Iterator[str]:
    """Play at random, up to a number of rounds or bouts; a text for each thing that happens."""
    met: set[tuple[int, str]] = set()
    begun = -1
    for move in range(1_000_000):
        before = env.snapshot()
        span = "bout" if "bout" in before else "round"
        if before["finished"] or before[span] == spans:
            return
        phase = before["round"], before["phase"]
        if before[span] != begun or phase not in met:
            begun = before[span]
            met.add(phase)
            yield ""
            yield from indented(str(env.render()))
            yield from in_words(env)
        elif move % 16 == 0:
            yield from in_words(env)
        legal = np.flatnonzero(env.observe(env.agent_selection)["action_mask"]).tolist()
        action = legal[random_below(random_bits(seed, 0, move), len(legal))]
        done = len(env.history)
        env.step(action)
        seat, name = env.history[done]
        names = ", ".join(map(env.action_name, legal))
        yield f"{move + 1:3} seat {seat}: {name:8} {sight(env)}  of {names}"
        yield from (f"    seat {seat}: {name:8} by itself" for seat, name in env.history[done + 1 :])
        after = env.snapshot()
        if after["finished"] or after[span] != before[span]:
            yield f"  {span} {before[span] + 1} is over{results(env, before, after)}"


def results(env: TableEnv, before: dict[str, Any], after: dict[str, Any]) -> str:
    """What a round has brought, where one has ended."""
    if not after["finished"] and after["round"] == before["round"]:
        return ""
    rewards = ", ".join(f"{reward:+.2f}" for reward in env.rewards.values())
    scores = "" if env.game.points is None else f"scores {after['scores']}, "
    return f"; {scores}rewards {rewards}"


def playthrough(name: str, plan: Playthrough) -> str:
    """A whole text."""
    name = name.rpartition("/")[2]
    seed = zlib.crc32(name.encode()) % 1000
    env = TableEnv(plan.game, plan.preset, render_mode="ansi", **plan.options)
    env.reset(seed=seed)
    lines = [f"{env.game.title}, {name}, seed {seed}; written by scripts/playthroughs.py", "", "rules"]
    lines += [f"    {option}: {value}" for option, value in dataclasses.asdict(env.rules).items()]
    lines += moves(env, seed, plan.spans)
    lines += ["", "at the end", *indented(str(env.render())), "  snapshot"]
    lines += [f"    {key}: {json.dumps(value)}" for key, value in env.snapshot().items() if key != "rules"]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run the command line; exit code 1 where ``--check`` finds a file that is out of date."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0], allow_abbrev=False)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 where a file would change")
    check = parser.parse_args().check
    stale = False
    for name, plan in PLAYTHROUGHS.items():
        path, text = FOLDER / f"{name}.txt", playthrough(name, plan)
        file = ROOT / path
        if file.exists() and file.read_text(encoding="utf-8") == text:
            continue
        stale = True
        if not check:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
        print(f"{path}: {'out of date; see python scripts/playthroughs.py' if check else 'written'}")
    return int(check and stale)


if __name__ == "__main__":
    sys.exit(main())
