"""Shipped agents: folders with a policy's weights, what they are (manifest), how they were made (config) and a card."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from envs.game import Game, find_game
from training.checkpoint import (
    MANIFEST,
    POLICY,
    QUICK,
    CheckpointError,
    Policy,
    find_checkpoint,
    load_policy,
    read_manifest,
)
from training.forecasts import FORECASTS
from training.report import Estimate
from training.search import MODES

CARD = "README.md"
CONFIG = "config.yaml"
PAGE = "README.md"
LIMIT = 4_000_000
"""Most bytes of a shipped folder: it lives in the repository."""
NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_UNKNOWN = "not recorded"
_PARTS = re.compile(r"<!-- agents -->.*?<!-- /agents -->", re.DOTALL)
_NEW_PAGE = """# Agents

Trained policies, each in a folder of its own: weights (safetensors), `manifest.json`, the `config.yaml` it was trained
with and a card. The path of a folder is the agent's name in every script: `python scripts/evaluate.py checkpoints/NAME
--against heuristic`; with `:search` behind it, it looks ahead before it acts. `python scripts/ship.py RUN NAME` adds
one and writes this list.

<!-- agents -->

<!-- /agents -->

## Methods

Nothing is compared here yet.
"""


@dataclass(frozen=True)
class Shipment:
    """A checkpoint that is to be shipped, and what its card says beyond it."""

    name: str
    """Name of the folder."""
    source: Path
    """Folder of the checkpoint."""
    policy: Policy
    manifest: dict[str, Any]
    """Its manifest."""
    results: tuple[dict[str, Any], ...] = ()
    """Documents of ``scripts/evaluate.py --json`` about this policy."""
    machine: str | None = None
    """What it was trained on, where the manifest does not say."""


def load_shipment(run: Path, name: str, results: Sequence[Path] = (), machine: str | None = None) -> Shipment:
    """Read all that shipping a run's last checkpoint (or a checkpoint itself) takes.

    Args:
        run: folder of the run or checkpoint.
        name: name of the shipped agent.
        results: files of ``scripts/evaluate.py --json``.
        machine: see `Shipment`.

    Raises:
        ValueError: in one line, an impossible name, a checkpoint that cannot be used (`CheckpointError`) or that
            train.py has not made, results that cannot be read or are those of another policy, or more than `LIMIT`
            bytes in all.
    """
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name for an agent: it must be small letters, digits, _ and - only")
    source = find_checkpoint(run)
    policy, manifest = load_policy(source), read_manifest(source)
    for key in ("config", "seconds"):
        if key not in manifest:
            raise CheckpointError(f"{source / MANIFEST} is not of a training run: {key!r} is missing")
    documents = tuple(read_results(path, manifest) for path in results)
    shipment = Shipment(name, source, policy, manifest, documents, machine)
    size = sum(map(len, contents(shipment).values()))
    if size > LIMIT:
        raise ValueError(f"{name} would take {size:,} bytes; at most {LIMIT:,} are shipped")
    return shipment


def read_results(path: Path, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Read what ``scripts/evaluate.py --json`` has written about the policy of a manifest; ValueError in one line."""
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from None
    except ValueError:
        raise ValueError(f"{path} is not JSON") from None
    wanted = {"specs", "policy_sha256", "game", "rules", "deals", "seed", "greedy", "tables"}
    if not isinstance(document, dict) or not wanted <= document.keys():
        raise ValueError(f"{path} holds no results that this version of evaluate.py --json has written")
    if document["policy_sha256"] != manifest["parts"][POLICY]:
        raise ValueError(f"{path} holds results of another policy: evaluate the checkpoint that is to be shipped")
    return document


def contents(shipment: Shipment) -> dict[str, bytes]:
    """The files of a shipped agent, by name."""
    digests = {part: digest for part, digest in shipment.manifest["parts"].items() if part in (POLICY, QUICK)}
    manifest = {**shipment.manifest, "parts": digests}
    return {
        MANIFEST: (json.dumps(manifest, indent=2) + "\n").encode(),
        **{part: (shipment.source / part).read_bytes() for part in digests},
        CONFIG: yaml.safe_dump(manifest["config"], sort_keys=False).encode(),
        CARD: card(shipment).encode(),
    }


def ship(shipment: Shipment, folder: Path, replace: bool = False) -> Path:
    """Write a shipped agent, whole or not at all, and the page that lists all of them.

    Args:
        shipment: what to ship.
        folder: folder of all shipped agents, made if missing.
        replace: whether an agent of the same name may be there, which is replaced then.

    Returns:
        The agent's folder.

    Raises:
        OSError: it cannot be written, or is there already (FileExistsError).
    """
    target, fresh, old = (folder / name for name in (shipment.name, f".{shipment.name}.new", f".{shipment.name}.old"))
    if target.exists() and not replace:
        raise FileExistsError(f"{target} already exists; --replace replaces it")
    files = contents(shipment)
    folder.mkdir(parents=True, exist_ok=True)
    for left_over in (fresh, old):
        shutil.rmtree(left_over, ignore_errors=True)
    try:
        fresh.mkdir()
        for name, data in files.items():
            (fresh / name).write_bytes(data)
        load_policy(fresh)
        if target.exists():
            target.rename(old)
        try:
            fresh.rename(target)
        except OSError:
            if old.exists():
                old.rename(target)
            raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)
    write_page(folder)
    return target


def how_it_learnt(config: dict[str, Any]) -> str:
    """How a configuration learns, in a few words."""
    rollout, imitation = config["rollout"], config["imitation"]
    total = sum(rollout["opponents"].values())
    tables = ", ".join(f"{share / total:.0%} {name}" for name, share in rollout["opponents"].items())
    first = f"{imitation['decisions']:,} decisions of imitation, then " if imitation["decisions"] else ""
    learning = {
        "off": "PPO",
        "rule": "comparing playouts by the strongest rule player",
        "policy": "comparing playouts by itself",
    }[rollout["lookahead"]]
    if rollout.get("playout_hidden"):  # configurations of earlier versions do not name it
        learning = "comparing playouts by a small network that mimics it"
    if rollout["lookahead"] == "policy" and (by_rule := rollout.get("rule_playouts", 0)):
        learning += f" (for {by_rule:,} decisions first by the strongest rule player)"
    aim = " to win the game" if rollout["objective"] == "win" else ""
    auxiliary = config.get("auxiliary", {})
    asked = [name for name in FORECASTS if auxiliary.get(name, 0) > 0]
    foreseen = f", foreseeing {' and '.join(asked)}" if asked else ""
    return f"{first}{learning}{aim}{foreseen}; tables: {tables}"


def card(shipment: Shipment) -> str:
    """The model card, Markdown."""
    manifest, policy, name = shipment.manifest, shipment.policy, shipment.name
    game, config = policy.game, manifest["config"]
    hidden = ", ".join(map(str, manifest["network"]["hidden"]))
    threads = config["run"]["threads"]
    machine = manifest.get("machine")
    made_on = f"{machine['processor']}, {machine['cores']} cores" if machine else shipment.machine or _UNKNOWN
    changed = ", ".join(f"`{option}={value!r}`" for option, value in _changed_rules(game, policy.rules).items())
    seats = "any number of players" if policy.pad_seats else f"{policy.rules['num_players']} players"
    facts = [
        ("game", f"[{game.title}](../../envs/{game.name}/README.md)"),
        ("rules", f"{policy.rules['num_players']} players; {changed or 'all options at their defaults'}"),
        ("observations", f"{manifest['features']['count']} features" + (", any number of players" * policy.pad_seats)),
        ("actions", str(game.num_actions)),
        (
            "network",
            f"hidden layers of {hidden} rectifiers; outputs for {', '.join(game.action_groups)} and value",
        ),
        ("trained by", f"{how_it_learnt(config)}, seed {config['seed']}"),
        ("decisions", f"{policy.decisions:,}"),
        ("wall time", f"{manifest['seconds'] / 60:.1f} minutes with {threads} thread{'s' * (threads > 1)}"),
        ("machine", made_on),
        ("PyTorch", manifest.get("torch", _UNKNOWN)),
        ("taash", manifest["taash"]),
    ]
    paths = [path for path in config["rollout"]["opponents"] if "/" in path]
    needs = f"\n\nThe training also needs its opponents: {', '.join(f'`{path}`' for path in paths)}." if paths else ""
    limits = [
        f"It plays {game.title} with {seats}; under rules other than its own it plays without having learnt them.",
        f"It takes its likeliest action; `checkpoints/{name}:sampled` draws from its probabilities, and "
        f"`checkpoints/{name}:search` looks ahead before it acts, in deals that explain what the others did if they "
        f"play as `{game.rule_players[-1]}` does. Whoever knows a policy can exploit it: "
        f"`python scripts/best_response.py checkpoints/{name}` measures how far.",
        "Win shares say how it does against these opponents, at tables of one agent among copies of another. The "
        "intervals are those of the deals; how much another seed of the training would change is not in them.",
        "Only the policy is shipped: a training cannot be resumed from it.",
    ]
    commands = [
        f"python scripts/train.py --config checkpoints/{name}/{CONFIG} --out runs/{name}",
        *(evaluate_command(document, name, policy.rules) for document in shipment.results),
    ]
    return "\n".join([
        f"# {name}",
        "",
        f"A policy for {game.title}, trained by `scripts/train.py`.",
        "",
        _table(("", ""), facts),
        "",
        "## Results",
        "",
        _results(shipment),
        "",
        "## Play it",
        "",
        f"```python\n{example(name, game)}```",
        "",
        _wrap(f"Looking ahead, the action is `int(agent.act(env.unwrapped.decisions())[0])`, `agent` being "
              f"`load_agent(\"checkpoints/{name}:search\")` of `training.agents`."),
        "",
        "## Reproduce it",
        "",
        "```bash",
        *commands,
        "```",
        "",
        _wrap("The evaluations repeat exactly. A training repeats exactly on one machine with the code that it was "
              "made with (later code may learn otherwise), unless its limit of minutes ends it before its budget of "
              "decisions.") + needs,
        "",
        f"The settings at the end of the run (`{CONFIG}`):",
        "",
        f"```yaml\n{yaml.safe_dump(config, sort_keys=False)}```",
        "",
        "## Limits",
        "",
        *(_wrap(f"- {limit}", "  ") for limit in limits),
        "",
    ])  # fmt: skip


def example(name: str, game: Game) -> str:
    """Ten lines of Python that load a shipped agent and let it play a game, from the folder that has checkpoints/."""
    shown = "hands" if game.points is None else "scores"  # who has cards left where nothing is scored has lost
    return f"""\
from envs import {game.name}_v0
from training.checkpoint import load_policy

policy = load_policy("checkpoints/{name}")
env = {game.name}_v0.env(pad_seats=policy.pad_seats, **policy.rules)
env.reset(seed=1)
for seat in env.agent_iter():
    seen, _, terminated, truncated, _ = env.last()
    over = terminated or truncated
    env.step(None if over else int(policy.act(seen["observation"][None], seen["action_mask"][None])[0]))
print(env.unwrapped.snapshot()["{shown}"])
"""


def evaluate_command(document: Mapping[str, Any], name: str, rules: Mapping[str, Any]) -> str:
    """The command line of scripts/evaluate.py that repeats results with a shipped agent.

    Args:
        document: the results (see `read_results`).
        name: the agent.
        rules: options that its policy was trained with.
    """
    candidate, *against = document["specs"]
    mode = next((mode for mode in MODES if candidate.endswith(mode)), "")
    words = [
        *("python", "scripts/evaluate.py", f"checkpoints/{name}{mode}", "--against", ",".join(against)),
        *("--deals", str(document["deals"]), "--seed", str(document["seed"])),
    ]
    for option, value in document["rules"].items():
        if value != rules[option]:
            words += [f"--rules.{option}", value if isinstance(value, str) else json.dumps(value)]
    if not document["greedy"]:
        words.append("--sampled")
    if any("reverse" in table for table in document["tables"]):
        words.append("--reverse")
    return shlex.join(words)


def list_agents(folder: Path) -> list[Path]:
    """Folders of the shipped agents, by name; those that a dot begins are being written."""
    return sorted(path.parent for path in folder.glob(f"[!.]*/{MANIFEST}"))


def page(text: str, folder: Path) -> str:
    """The page that lists the shipped agents of a folder, written anew between its marks."""
    rows = []
    for agent in list_agents(folder):
        manifest = read_manifest(agent)
        game = find_game(manifest["game"])
        seats = "any number" if manifest["pad_seats"] else str(manifest["rules"]["num_players"])
        hidden = ", ".join(map(str, manifest["network"]["hidden"]))
        cost = f"{manifest['decisions']:,} decisions in {manifest['seconds'] / 60:.1f} minutes"
        rows.append((f"[`{agent.name}`]({agent.name}/{CARD})", game.title, seats, hidden, cost))
    table = _table(("agent", "game", "players", "hidden layers", "trained"), rows) if rows else "No agent is here yet."
    return _PARTS.sub(lambda _: f"<!-- agents -->\n\n{table}\n\n<!-- /agents -->", text)


def write_page(folder: Path) -> Path:
    """Write the page of a folder of shipped agents, a new one where there is none; returns its path."""
    path = folder / PAGE
    text = path.read_text(encoding="utf-8") if path.exists() else _NEW_PAGE
    path.write_text(page(text, folder), encoding="utf-8", newline="\n")
    return path


def _changed_rules(game: Game, rules: Mapping[str, Any]) -> dict[str, Any]:
    """Options that differ from the defaults at a table of as many players."""
    defaults = asdict(game.make_rules(num_players=rules["num_players"]))
    return {option: value for option, value in rules.items() if value != defaults[option]}


def _results(shipment: Shipment) -> str:
    """A table with a row for each opponent, and what its columns mean."""
    if not shipment.results:
        return "None were given when it was shipped."
    game = shipment.policy.game
    names = [name for name in game.statistics if name not in ("points", "place")]
    scored = game.points is not None
    heads = ["against copies of", "deals", "plays", "win share", *(["points per round", "theirs"] * scored)]
    heads += [name.replace("_", " ") for name in names]
    rows = []
    for document in shipment.results:
        candidate = document["specs"][0]
        sampled = candidate.endswith(":sampled") or not (document["greedy"] or candidate.endswith(":greedy"))
        changed = {key: value for key, value in document["rules"].items() if value != shipment.policy.rules[key]}
        under = "".join(f", `{option}={value!r}`" for option, value in changed.items())
        for spec, table in zip(document["specs"][1:], document["tables"], strict=True):
            statistics = [_estimate(table["statistics"][name]).text(name in game.shares) for name in names]
            points = [_estimate(table[f"{whose}points_per_round"]).text() for whose in ("", "opponent_") if scored]
            share = f"{_estimate(table['win_share']).text(True)} (par {100 * table['par']:.0f} %)"
            plays = "looks ahead" if candidate.endswith(":search") else "sampled" if sampled else "greedy"
            row = [f"`{spec}`{under}", f"{table['deals']:,}", plays, share]
            rows.append([*row, *points, *statistics])
    text = (
        "One deal is a whole game, played once with the agent in each seat and copies of one opponent in all others. "
        f"Brackets are 95 % bootstrap intervals over deals. Statistics are means per {'round' if scored else 'game'} "
        "and seat; equals have the win share that is called par."
    )
    return f"{_table(heads, rows)}\n\n{_wrap(text)}"


def _estimate(entry: Mapping[str, Any]) -> Estimate:
    return Estimate(entry["mean"], entry["low"], entry["high"])


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def _wrap(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
