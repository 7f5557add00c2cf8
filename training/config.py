"""Settings of a training run: dataclasses, read from YAML and from the command line."""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
from argparse import ArgumentError
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
import yaml  # type: ignore[import-untyped]
from jsonargparse import ArgumentParser, Namespace, set_loader, set_parsing_settings

from envs.game import find_game
from envs.options import check_int
from training.forecasts import FORECASTS, Forecasting
from training.network import RANKED, Suits, resolve_device, resolve_precision
from training.objective import WinChances, check_winnable
from training.opponents import check_shares
from training.plain_yaml import load_yaml
from training.search import look_ahead


class ConfigError(ValueError):
    """A setting that is unknown or impossible, in one line."""


def _check_number(name: str, value: float, low: float, high: float = math.inf, *, above: bool = False) -> None:
    if not (low < value if above else low <= value) or not value <= high or not math.isfinite(value):
        span = f"more than {low:g}" if above else f"at least {low:g}"
        span += "" if high == math.inf else f" and at most {high:g}"
        raise ValueError(f"option {name}={value!r} is not possible: {name} must be {span}")


@dataclass(frozen=True)
class NetworkConfig:
    """The network."""

    hidden: list[int] = field(default_factory=lambda: [256, 256])
    """Widths of the hidden layers."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Numbers of the matrix products while training; auto is bfloat16, twice as fast, where the processor has it."""
    suits: Suits = RANKED
    """Order in which suits are seen: ranked by the position, trump first, then the longest in hand, so that what is
    learnt of one suit serves all; or fixed, as the cards are numbered."""
    start: str | None = None
    """Path of a checkpoint, or run, of the same game, seats and hidden layers, whose policy's weights are the first;
    null: random ones."""
    critic: Literal["seat", "deal", "playout"] = "seat"
    """What values are estimated from while learning: what the seat sees (by the policy's own trunk), the whole deal (by
    a network of its own, which the policy never depends on), or what the seat sees together with what a playout of the
    deal at hand brings, the learner's seats moved by the strongest rule player."""
    critic_hidden: list[int] = field(default_factory=lambda: [256, 256])
    """Widths of the hidden layers of the critic of whole deals."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "precision", resolve_precision(self.precision))
        for name, widths in (("hidden", self.hidden), ("critic_hidden", self.critic_hidden)):
            if not widths:
                raise ValueError(f"option network.{name}=[] is not possible: it must name at least one layer")
            for width in widths:
                check_int(f"network.{name}", width, 1)


@dataclass(frozen=True)
class RolloutConfig:
    """Playing."""

    tables: int = 1024
    """Games played at once."""
    steps: int = 128
    """Decisions of each table between two updates."""
    opponents: dict[str, float] = field(default_factory=lambda: {"self": 0.9, "random": 0.1})
    """Shares of the tables by opponent: self (the learner holds all seats), snapshot (what the learner was before),
    random, a rule-based player by name, or the path of a checkpoint, whose policy does not learn (its likeliest
    actions, with :sampled drawn ones)."""
    snapshots: int = 4
    """Former policies of the learner that the tables of snapshot are shared out among."""
    snapshot_decisions: int = 2_000_000
    """Decisions from one snapshot of the learner to the next, which takes the place of the oldest."""
    learner_seats: int = 2
    """Most seats that the learner holds at a table with other players (1 to this many)."""
    lookahead: Literal["off", "rule", "policy"] = "off"
    """Learn from what every legal action would have brought in the deal at hand, played out by the table's players; the
    learner's seats are moved by the strongest rule player, or by the policy itself. off: from advantages alone."""
    rule_playouts: int = 0
    """With lookahead policy: decisions, from the start or from the end of an imitation on, in which the strongest rule
    player still moves the learner's seats in playouts, which is quicker."""
    playout_hidden: list[int] = field(default_factory=list)
    """With lookahead policy: widths of the hidden layers of a quicker network, which learns to do as the policy does
    and moves the learner's seats in playouts instead of it; [] for none."""
    lookahead_least: float = 0.0
    """With lookahead: chance that the policy must give an action for it to be played out; decisions with but one such
    action teach nothing. Above 0 it takes ppo.temperature 0."""
    objective: Literal["points", "win"] = "points"
    """What a round's reward is while learning: the game's own, or the change that the round makes to the chance of
    winning the game, by the scores and the rounds left (see `training.objective`)."""
    round_spread: float = 6.0
    """With objective win: standard deviation of a seat's points in a round."""
    round_edge: float = 0.0
    """With objective win: points that the learner's seats are expected to gain on the others in every round left."""
    scatter: int = 500
    """Random moves, at most, before the first decision, so that games do not march in step; about a game's length."""

    def __post_init__(self) -> None:
        check_int("rollout.tables", self.tables, 1)
        check_int("rollout.steps", self.steps, 2)
        check_int("rollout.learner_seats", self.learner_seats, 1)
        check_int("rollout.snapshots", self.snapshots, 1)
        check_int("rollout.rule_playouts", self.rule_playouts, 0)
        check_int("rollout.snapshot_decisions", self.snapshot_decisions, 1)
        check_int("rollout.scatter", self.scatter, 0)
        for width in self.playout_hidden:
            check_int("rollout.playout_hidden", width, 1)
        if self.playout_hidden and self.lookahead != "policy":
            raise ValueError("option rollout.playout_hidden is not possible: it takes rollout.lookahead policy")
        _check_number("rollout.lookahead_least", self.lookahead_least, 0, 1)
        _check_number("rollout.round_spread", self.round_spread, 0, above=True)
        _check_number("rollout.round_edge", self.round_edge, 0)


@dataclass(frozen=True)
class PPOConfig:
    """Learning."""

    learning_rate: float = 3e-3
    """Step size of Adam at the start."""
    final_learning_rate: float = 0.0
    """Step size once the budget of decisions is spent; linear in between."""
    warmup: int = 0
    """Decisions, from the start or from the end of an imitation on, over which the step size rises to what it is."""
    epochs: int = 1
    """Passes over each batch of decisions."""
    minibatches: int = 64
    """Parts of a batch; each is one step of Adam on rollout.steps / minibatches time steps of all tables."""
    clip: float = 0.2
    """The policy's probability ratios are clipped to 1 - clip .. 1 + clip."""
    gae_lambda: float = 0.8
    """Lambda of the generalised advantage estimates."""
    entropy: float | dict[str, float] = 0.01
    """Weight of the policy's entropy: a number, or one for each group of actions."""
    final_entropy: float | dict[str, float] | None = None
    """The same once the budget of decisions is spent, linear in between; null: as at the start."""
    average: float = 0.0
    """Weight of the policy's divergence (KL) from a slow average of itself; 0 keeps no average."""
    average_decay: float = 0.99
    """Part of the average that an update leaves; the rest is that of the policy as it now is."""
    value: float = 0.5
    """Weight of the value loss."""
    reward_scale: float = 0.1
    """Factor on rewards while learning; a round's reward should become about 1."""
    max_gradient: float = 0.5
    """Longest gradient; longer ones are scaled down to this norm (the critic's and the mimic's by themselves)."""
    temperature: float = 0.25
    """With rollout.lookahead: loss of outcome, in the spread of all outcomes, by which an action becomes e times less
    likely. 0: the mean outcome of the policy is raised instead."""
    max_kl: float = 0.5
    """An update that moves the policy further than this (approximate KL, nats a decision) is undone."""

    def __post_init__(self) -> None:
        _check_number("ppo.learning_rate", self.learning_rate, 0, above=True)
        _check_number("ppo.final_learning_rate", self.final_learning_rate, 0)
        check_int("ppo.warmup", self.warmup, 0)
        check_int("ppo.epochs", self.epochs, 1)
        check_int("ppo.minibatches", self.minibatches, 1)
        _check_number("ppo.clip", self.clip, 0, 1, above=True)
        _check_number("ppo.gae_lambda", self.gae_lambda, 0, 1)
        for name, entropy in (("entropy", self.entropy), ("final_entropy", self.final_entropy)):
            weights = entropy if isinstance(entropy, dict) else {"": entropy}
            for group, weight in weights.items():
                if weight is not None:
                    _check_number(f"ppo.{name}{'.' if group else ''}{group}", weight, 0)
        _check_number("ppo.average", self.average, 0)
        _check_number("ppo.average_decay", self.average_decay, 0, 1)
        _check_number("ppo.temperature", self.temperature, 0)
        _check_number("ppo.max_kl", self.max_kl, 0, above=True)
        _check_number("ppo.value", self.value, 0)
        _check_number("ppo.reward_scale", self.reward_scale, 0, above=True)
        _check_number("ppo.max_gradient", self.max_gradient, 0, above=True)


@dataclass(frozen=True)
class ImitationConfig:
    """Learning, at first, to decide as a rule-based player does; self-play goes on from there."""

    player: str | None = None
    """Name of the player, which then moves the learner's seats; null: the game's last."""
    decisions: int = 0
    """Decisions of the run that are spent on it, the first ones; 0 for none."""
    learning_rate: float = 2e-3
    """Step size of Adam at the start; it falls to 0 over those decisions."""

    def __post_init__(self) -> None:
        check_int("imitation.decisions", self.decisions, 0)
        _check_number("imitation.learning_rate", self.learning_rate, 0, above=True)


@dataclass(frozen=True)
class AuxiliaryConfig:
    """What the policy's trunk is asked to foresee besides, by weight of the loss; 0 asks for nothing."""

    outcome: float = 0.0
    """How many tricks the seat will take in the round (in Kaschlan, its place): a distribution."""
    holders: float = 0.0
    """Which other seat holds each card."""
    bids: float = 0.0
    """The expected reward of each bid, learnt from those made."""
    layer: int | None = None
    """Layer of the trunk, from 1 on, that has to know it; what follows can then draw conclusions. Null: the last."""

    def __post_init__(self) -> None:
        for name in FORECASTS:
            _check_number(f"auxiliary.{name}", getattr(self, name), 0)


@dataclass(frozen=True)
class RunConfig:
    """Length, pace and records of the run."""

    decisions: int = 40_000_000
    """Budget of decisions (forced moves need none); the step size falls to its end over these."""
    minutes: float | None = None
    """Time limit in minutes; null for none."""
    threads: int = 2
    """Processor threads."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where networks are evaluated and learn; auto is a GPU where there is one. Games are played by the processor."""
    checkpoint_minutes: float = 1.0
    """Minutes between checkpoints; only the last is kept, and the best."""
    keep_minutes: float = 10.0
    """Minutes between checkpoints that are kept for good."""
    evaluate_minutes: float | None = 5.0
    """Minutes of training between evaluations, which do not count as training; one more ends the run. Null: none."""
    evaluate_deals: int = 100
    """Deals of an evaluation: whole games, once in each seat, against the game's first and last rule-based player."""

    def __post_init__(self) -> None:
        check_int("run.decisions", self.decisions, 1)
        if self.minutes is not None:
            _check_number("run.minutes", self.minutes, 0, above=True)
        check_int("run.threads", self.threads, 1)
        object.__setattr__(self, "device", resolve_device(self.device))
        if self.device == "cuda" and not torch.cuda.is_available():
            raise ValueError("option run.device=cuda is not possible: PyTorch finds no GPU; it must be cpu or auto")
        _check_number("run.checkpoint_minutes", self.checkpoint_minutes, 0, above=True)
        _check_number("run.keep_minutes", self.keep_minutes, 0, above=True)
        if self.evaluate_minutes is not None:
            _check_number("run.evaluate_minutes", self.evaluate_minutes, 0, above=True)
        check_int("run.evaluate_deals", self.evaluate_deals, 2)


@dataclass(frozen=True)
class Config:
    """A training run."""

    game: str = "kachuful"
    """Name of the game."""
    seed: int = 0
    """Seed of everything random (0..2**30-1)."""
    rules: dict[str, Any] = field(default_factory=dict)
    """Options of the game, and preset for a preset of it: --rules.num_players 5."""
    pad_seats: bool = False
    """Lay observations out for the largest table, so that the network fits any number of players."""
    network: NetworkConfig = field(default_factory=NetworkConfig)
    rollout: RolloutConfig = field(default_factory=RolloutConfig)
    ppo: PPOConfig = field(default_factory=PPOConfig)
    imitation: ImitationConfig = field(default_factory=ImitationConfig)
    auxiliary: AuxiliaryConfig = field(default_factory=AuxiliaryConfig)
    run: RunConfig = field(default_factory=RunConfig)
    search: dict[str, Any] = field(default_factory=dict)
    """Options of montecarlo with which the checkpoint looks ahead at the table (CHECKPOINT:search), where they shall be
    others than `training.search.LOOKAHEAD`: --search.deals 128. Without a spread it aims as rollout.objective says."""

    def __post_init__(self) -> None:
        check_int("seed", self.seed, 0, 2**30 - 1)
        game = find_game(self.game)
        try:
            rules = game.make_rules(**self.rules)
        except (TypeError, ValueError) as error:
            raise ValueError(f"rules: {error}") from None
        check_shares(self.rollout.opponents, game)
        if self.imitation.player not in (None, *game.rule_players):
            raise ValueError(
                f"option imitation.player={self.imitation.player!r} is not possible: it must be one of "
                f"{', '.join(game.rule_players)}, or null"
            )
        if not game.rule_players:
            for name, wanted in (
                ("imitation.decisions", self.imitation.decisions > 0),
                ("network.critic=playout", self.network.critic == "playout"),
                ("rollout.lookahead=rule", self.rollout.lookahead == "rule"),
                ("rollout.rule_playouts", self.rollout.rule_playouts > 0),
            ):
                if wanted:
                    raise ValueError(f"option {name} is not possible: {game.title} has no rule-based player")
        if self.rollout.steps % self.ppo.minibatches:
            raise ValueError(
                f"option ppo.minibatches={self.ppo.minibatches} is not possible: it must divide rollout.steps, "
                f"which is {self.rollout.steps}"
            )
        groups = sorted(game.action_groups)
        for name, entropy in (("entropy", self.ppo.entropy), ("final_entropy", self.ppo.final_entropy)):
            if isinstance(entropy, dict) and sorted(entropy) != groups:
                raise ValueError(
                    f"option ppo.{name} is not possible: it must be a number, or one for each of {', '.join(groups)}"
                )
        if self.rollout.lookahead_least > 0 and self.ppo.temperature > 0:
            raise ValueError(
                f"option ppo.temperature={self.ppo.temperature:g} is not possible: it must be 0 with "
                "rollout.lookahead_least above 0, for only outcomes of all actions can be fitted"
            )
        if self.rollout.objective == "win":
            WinChances(game, rules, self.rollout.round_spread, self.rollout.round_edge)
        Forecasting(game, rules.num_players, self.pad_seats, self.auxiliary)
        if self.auxiliary.layer is not None:
            check_int("auxiliary.layer", self.auxiliary.layer, 1, len(self.network.hidden))
        try:
            search = look_ahead(self.game, self.to_dict())  # of a checkpoint that is not there yet
        except ValueError as error:
            raise ValueError(f"search: {error}") from None
        if search.spread:
            check_winnable(rules, f"search.spread={search.spread:g}")

    def to_dict(self) -> dict[str, Any]:
        """All settings as plain nested dictionaries."""
        return dataclasses.asdict(self)

    def to_yaml(self) -> str:
        """All settings as YAML that `read_config` reads back."""
        return yaml.safe_dump(self.to_dict(), sort_keys=False)


set_loader("yaml", load_yaml, exceptions=(yaml.YAMLError,))
set_parsing_settings(docstring_parse_attribute_docstrings=True)


def make_parser(**settings: Any) -> ArgumentParser:
    """Parser of ``--config FILE`` and of all settings as ``--section.key value``; scripts add their own arguments."""
    parser = ArgumentParser(exit_on_error=False, allow_abbrev=False, **settings)
    parser.add_argument("--config", action="config", help="YAML file of settings; what follows it on the line wins")
    parser.add_class_arguments(Config)
    return parser


def parse_config(parser: ArgumentParser, arguments: Sequence[str]) -> tuple[Config, Namespace]:
    """Parse a command line with a parser from `make_parser`; returns the settings and the script's own arguments.

    Raises:
        ConfigError: one line that says what is wrong, and where.
    """
    for at, argument in enumerate(arguments):
        if argument == "--config" and at + 1 < len(arguments):
            _check_file(parser, Path(arguments[at + 1]))
        elif argument.startswith("--config="):
            _check_file(parser, Path(argument.removeprefix("--config=")))
    try:
        found = parser.parse_args(list(arguments))
        settings = {field.name: found.pop(field.name) for field in dataclasses.fields(Config)}
        found.pop("config")
        sections = parser.instantiate(Namespace(**settings))  # type: ignore[no-untyped-call]
        return Config(**{name: sections[name] for name in settings}), found
    except (ArgumentError, TypeError, ValueError) as error:
        raise ConfigError(_one_line(error, _known_options(parser))) from None


def read_config(path: str | Path) -> Config:
    """Read the settings of a YAML file; ConfigError if it is missing or wrong."""
    return parse_config(make_parser(), ["--config", str(path)])[0]


def _known_options(parser: ArgumentParser) -> list[str]:
    return [option for action in parser._actions for option in action.option_strings if option.startswith("--")]


def _check_file(parser: ArgumentParser, path: Path) -> None:
    """Check a file of settings by itself, so that the message names it."""
    try:
        data = load_yaml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"no file {path}; --config takes a YAML file of settings") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: cannot be read as YAML: {_one_line(error)}") from None
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: holds no settings; it must be YAML such as 'game: kachuful'")
    names = [option[2:] for option in _known_options(parser)]
    sections = {name.split(".")[0] for name in names if "." in name}
    for section, value in data.items():
        if section in sections and not isinstance(value, dict):
            raise ConfigError(f"{path}: {section}={value!r} is not possible: it must be a section of settings")
        for name in (section, *(f"{section}.{key}" for key in value)) if section in sections else (section,):
            if name not in names:
                raise ConfigError(f"{path}: no setting {name!r}{_nearest(str(name), names)}")
    try:
        parser.parse_object(data)
    except (ArgumentError, TypeError, ValueError) as error:
        raise ConfigError(f"{path}: {_one_line(error)}") from None


def _nearest(name: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, names, 1)
    return f"; did you mean {near[0]!r}?" if near else "; --help lists all settings"


_TYPES = {
    "float": "a number",
    "int": "an integer",
    "bool": "true or false",
    "str": "a text",
    "dict": "a mapping",
    "list": "a list such as [256, 256]",
    "NoneType": "null",
}


def _one_line(error: Exception, options: Sequence[str] = ()) -> str:
    """The message of a parser's error in one line and in plain words."""
    text = " ".join(str(error).split())
    unknown = re.search(r"unrecognized arguments: (\S+)", text)
    if unknown:
        name = unknown[1].split("=")[0]
        return f"no option {name}{_nearest(name, options)}" if name[0] == "-" else f"unexpected argument {name!r}"
    wrong = re.match(r'Parser key "([^"]+)":', text)
    given = re.search(r"(?:Got|Given) value: (.*)$", text)
    kinds = re.findall(r"Expected an? (?:<class '(\w+)'>|typing\.Literal\[(.*?)\]|(\w+))", text)
    if wrong and given and kinds:
        allowed = [f"one of {choices}" if choices else _TYPES.get(a or b, a or b) for a, choices, b in kinds]
        return f"option {wrong[1]}={given[1]} is not possible: it must be {' or '.join(allowed)}"
    return text
