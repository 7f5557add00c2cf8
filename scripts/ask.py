"""Set up a position from a JSON file and ask an agent what it would do.

python scripts/ask.py configs/positions/example.json --agent counting
python scripts/ask.py configs/positions/example.json --agent montecarlo:deals=200
python scripts/ask.py position.json --agent runs/kachuful --seed 3 --rules.num_players 5

The file holds a snapshot or any part of one; - reads it from standard input. Its rules are those of the table, over a
checkpoint's own; what it leaves out is dealt from the seed, and the agent sees nothing but what its seat may see.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser

from training.command import run_command
from training.json_files import decode, parse_object, read_text

DEFAULT_GAME = "kachuful"
STANDARD_INPUT = "standard input"
"""What messages call it."""


def build_parser() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(prog="ask.py", description=__doc__.split("\n")[0], exit_on_error=False, allow_abbrev=False)
    parser.add_argument("position", type=str, help="JSON file of a snapshot, or of a part of one; - for standard input")
    parser.add_argument("--agent", type=str, required=True, help="name of a built-in agent, a search, or a checkpoint")
    parser.add_argument("--seed", type=int, default=0, help="deals what is missing, and names the agent's chance")
    parser.add_argument("--game", type=str, help=f"the game (default: the file's, the checkpoint's, or {DEFAULT_GAME})")
    parser.add_argument("--rules", type=dict[str, str], default={}, help="--rules.OPTION VALUE, over those in the file")
    parser.add_argument("--sampled", action="store_true", help="policies sample their actions instead of the likeliest")
    return parser


def read_position(path: str) -> dict[str, Any]:
    """Read a JSON object from a file, or from standard input for ``-``; ValueError says what is wrong, and where."""
    if path != "-":
        return parse_object(read_text(path), path)
    try:
        data = sys.stdin.buffer.read()
    except OSError as error:
        raise ValueError(f"cannot read {STANDARD_INPUT}: {error.strerror}") from None
    return parse_object(decode(data, STANDARD_INPUT), STANDARD_INPUT)


def prepare() -> dict[str, Any]:
    """Set up what the command line asks for; returns what `show` needs. ValueError says what is wrong."""
    args = build_parser().parse_args()
    import numpy as np

    from envs.agents import check_rules
    from envs.game import find_game
    from envs.one_game import check_seed
    from training.agents import PolicyAgent, load_agent, parse_spec
    from training.options import option_value, override

    seed = check_seed(args.seed)
    position = read_position(args.position)
    name = args.game or position.get("game")
    if name is None and not Path(parse_spec(args.agent).name).exists():
        name = DEFAULT_GAME
    game = None if name is None else find_game(name)
    agent = load_agent(args.agent, game, greedy=not args.sampled)
    options: dict[str, Any] = {}
    if isinstance(agent, PolicyAgent):
        game, options = agent.policy.game, agent.policy.rules
    assert game is not None
    given = position.pop("rules", {})
    if not isinstance(given, dict):
        raise ValueError(f"position rules={given!r} is not possible: rules must be an object of options")
    options = override(options, given)
    options = override(options, {option: option_value(text) for option, text in args.rules.items()})
    rules = game.make_rules(**options)
    check_rules(agent, rules)
    states = np.zeros(1, game.state)
    game.fields.set_position(states, rules, position, seed)
    hands = position.get("hands", [None] * rules.num_players)
    return {
        "game": game, "rules": rules, "states": states, "agent": agent, "seed": seed,
        "dealt": [seat for seat, hand in enumerate(hands) if hand is None],
    }  # fmt: skip


def show(game: Any, rules: Any, states: Any, agent: Any, seed: int, dealt: list[int]) -> None:
    """Print the table, the legal actions and what the agent does."""
    from rich.console import Console
    from rich.table import Table

    from envs.agents import Decisions
    from training.played import ask

    console = Console(highlight=False)
    snapshot = game.fields.snapshot(states[0], rules)
    console.print(game.draw(snapshot, game.points), markup=False, soft_wrap=True)
    if dealt:
        console.print(f"dealt from seed {seed}: the hands of seats {', '.join(map(str, dealt))}")
    if snapshot["turn"] is None:
        console.print("the game is over, no seat is to act")
        return
    decisions = Decisions(game, rules, states, seed)
    chosen = int(ask(agent, decisions)[0])
    chances = agent.probabilities(decisions)[0] if hasattr(agent, "probabilities") else None
    table = Table("", "legal action")
    table.add_column("number", justify="right")
    if chances is not None:
        table.add_column("probability", justify="right")
    values = agent.values(decisions)[0] if hasattr(agent, "values") else None
    if values is not None:
        table.add_column("value", justify="right")
    for action in decisions.action_mask[0].nonzero()[0].tolist():
        chance = [] if chances is None else [f"{100 * chances[action]:.1f} %"]
        value = [] if values is None else [f"{values[action]:.2f}"]
        own = action == chosen
        table.add_row(
            ">" if own else "", game.action_name(action), str(action), *chance, *value, style="bold" if own else None
        )
    console.print(table)
    asked = f"seat {snapshot['turn']} is to {snapshot['phase'].replace('_', ' ')}"
    console.print(f"{asked}; {agent.name} chooses {game.action_name(chosen)}", markup=False, soft_wrap=True)


def main() -> int:
    """Run the command line; returns the exit code."""
    return run_command("ask.py", prepare, lambda plan: show(**plan))


if __name__ == "__main__":
    sys.exit(main())
