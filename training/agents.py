"""Who can sit at a table, by what command lines call it: the game's players, searches, checkpoints, your own agents.

A spec is one of

- ``random`` or a rule-based player of the game, such as ``heuristic``;
- a search with options: ``montecarlo:deals=64``, ``pimc:deals=64,exact=5``, ``ismcts:iterations=2000``, guided by a
  policy ``ismcts:iterations=300,prior=checkpoints/kachuful`` (see `training.search`);
- the path of a checkpoint or of a run: ``checkpoints/kachuful``, its likeliest action unless told otherwise;
  ``checkpoints/kachuful:sampled`` samples, ``checkpoints/kachuful:greedy`` says that it does not, and with
  ``checkpoints/kachuful:search`` it looks ahead before it acts: `montecarlo` with it as the prior and the options
  `training.search.LOOKAHEAD`;
- a model of another library: ``sb3:model.zip``, also with ``:greedy`` or ``:sampled`` (see `training.plugins.sb3`);
- ``package.module:factory``: an importable ``factory(game)`` that returns an `envs.agents.Agent`.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from envs.agents import Agent, Decisions, agent_names, find_agent
from envs.game import Game, find_game
from training.search import SEARCHES, MonteCarlo, Search, look_ahead

if TYPE_CHECKING:
    from training.checkpoint import Policy

LEAST_ROWS = 16
SEARCH, PATH, FACTORY, PLAYER, PLUGIN = "search", "path", "factory", "player", "plugin"
"""Kinds of spec; a `PLAYER` is known to a game, if at all."""
PLUGINS = {"sb3": "training.plugins.sb3"}
"""Modules that load models of other libraries, by the word before the colon; see `training.plugins`."""
CHOICES = "the path of a checkpoint, sb3:MODEL.zip, or package.module:factory"
_FACTORY = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_MODES = {":greedy": True, ":sampled": False}
_SEARCHING = ":search"


@dataclass(frozen=True)
class Spec:
    """What a text says about an agent; nothing is loaded yet."""

    kind: str
    """`SEARCH`, `PATH`, `FACTORY`, `PLAYER` or `PLUGIN`."""
    name: str
    """Name of the search, player or plugin, path of the checkpoint, or ``package.module:factory``."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of a search, ``path`` (str) of a plugin's model, ``greedy`` (bool) where a path or model says it, and
    ``search`` (True) where a path asks to look ahead."""


def split_specs(text: str) -> list[str]:
    """Split specs at commas; a comma before ``word=`` continues the options of the spec that it stands in."""
    return [part.strip() for part in re.split(r",(?!\s*[A-Za-z_]\w*\s*=)", text)]


def parse_spec(text: str, players: Sequence[str] = ()) -> Spec:
    """Read a spec (see this module).

    Args:
        text: the spec.
        players: names of the game's own players, where the game is known.

    Raises:
        ValueError: in one line, an unknown name or option (with the nearest known one) or an impossible value.
    """
    name, colon, rest = text.partition(":")
    if text in players:
        return Spec(PLAYER, text)
    if name in SEARCHES:
        if colon and not rest:
            raise ValueError(f"{text!r} ends where options should follow, such as {name}:{_example(name)}")
        options = _read_options(name, rest)
        try:
            SEARCHES[name](**options)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        return Spec(SEARCH, name, options)
    if colon and name in PLUGINS:
        if not rest:
            raise ValueError(f"{text!r} ends where the path of a model should follow")
        return Spec(PLUGIN, name, _model_options(rest))
    if text and Path(text).exists():
        return Spec(PATH, text)
    if text.endswith(_SEARCHING) and text != _SEARCHING and name not in players:
        return Spec(PATH, text.removesuffix(_SEARCHING), {"search": True})
    for mode, greedy in _MODES.items():
        if text.endswith(mode) and text != mode and name not in players:
            return Spec(PATH, text.removesuffix(mode), {"greedy": greedy})
    if colon and name in players:
        raise ValueError(f"{name} takes no options: {text!r} is not possible")
    if _FACTORY.fullmatch(text):
        return Spec(FACTORY, text)
    if colon and re.match(r"\s*\w+\s*=", rest):
        near = difflib.get_close_matches(name, SEARCHES, 1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"no agent {name!r} takes options; {hint}{', '.join(SEARCHES)} do")
    return Spec(PATH if not text or os.sep in text or "." in text else PLAYER, text)


def _model_options(text: str) -> dict[str, Any]:
    """Path and mode of a plugin's model."""
    for mode, greedy in _MODES.items():
        if text.endswith(mode) and text != mode:
            return {"path": text.removesuffix(mode), "greedy": greedy}
    return {"path": text}


def _example(name: str) -> str:
    """The first option of a search that it does not share with the others, at its default."""
    own = [option for option in dataclasses.fields(SEARCHES[name]) if option.name in ("deals", "iterations")]
    return f"{own[0].name}={own[0].default}"


def _read_options(name: str, text: str) -> dict[str, Any]:
    """Options of a search, with the types of their defaults."""
    known = {option.name: option.default for option in dataclasses.fields(SEARCHES[name])}
    found: dict[str, Any] = {}
    for part in text.split(",") if text else []:
        option, equals, value = (word.strip() for word in part.partition("="))
        if option not in known:
            near = difflib.get_close_matches(option, known, 1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ValueError(f"{name}: no option {option!r}; {hint}options are {', '.join(sorted(known))}")
        if option in found:
            raise ValueError(f"{name}: option {option!r} is there twice")
        if not equals or not value:
            raise ValueError(f"{name}: option {option!r} has no value; write {option}={known[option] or 'PATH'}")
        found[option] = _read_value(value, type(known[option]))
    return found


def _read_value(text: str, kind: type) -> Any:
    """A value of the wanted type, or the text itself where it is none: the option's check then says so."""
    try:
        return kind(text)
    except ValueError:
        return text


@dataclass(frozen=True)
class PolicyAgent:
    """A trained policy at the table."""

    name: str
    """Folder of the checkpoint."""
    policy: Policy
    greedy: bool = True
    """Always take the likeliest action; otherwise sample, from each decision's own key."""

    def act(self, decisions: Decisions) -> np.ndarray:
        """(B,) int64 legal actions."""
        if self.greedy:
            return self.policy.act(*self._inputs(decisions))[: len(decisions)]
        return draw(self._log_probabilities(decisions), decisions)

    def probabilities(self, decisions: Decisions) -> np.ndarray:
        """(B, A) float32: the policy's probability of each action, 0 where it is illegal."""
        chances: np.ndarray = np.exp(self._log_probabilities(decisions))
        return chances

    def _log_probabilities(self, decisions: Decisions) -> np.ndarray:
        import torch

        from training.ppo import masked_log_probabilities

        observation, mask = self._inputs(decisions)
        with torch.inference_mode():
            logits, _ = self.policy.network(torch.from_numpy(observation))
            chances = masked_log_probabilities(logits, torch.from_numpy(mask))
        return chances[: len(decisions)].numpy()

    def check_rules(self, rules: Any) -> None:
        """Raise ValueError where the policy was made for another number of seats."""
        self.policy.check_rules(self.name, rules)

    def _inputs(self, decisions: Decisions) -> tuple[np.ndarray, np.ndarray]:
        """Observations and masks, repeated where they are few."""
        rows = enough_rows(len(decisions))
        return decisions.observation(self.policy.pad_seats)[rows], decisions.action_mask[rows]


def enough_rows(count: int) -> np.ndarray:
    """Indices of `count` decisions, repeated where they are few.

    Matrix products of fewer rows may be summed in another order, and games must not depend on their company.
    """
    return np.arange(max(count, LEAST_ROWS)) % count


def draw(log_probabilities: np.ndarray, decisions: Decisions) -> np.ndarray:
    """Draw actions from log-probabilities (B, A), from each decision's own key; (B,) int64."""
    # The Gumbel trick: the largest of log-probabilities plus such noise is a draw from them.
    gumbel = -np.log(-np.log(decisions.uniforms(decisions.game.num_actions)))
    return np.argmax(log_probabilities + gumbel, axis=1)


def load_agent(text: str, game: str | Game | None = None, greedy: bool = True) -> Agent:
    """Return the agent that a spec names (see this module).

    Args:
        text: the spec.
        game: the game to be played; None: that of the checkpoint.
        greedy: whether a policy takes its likeliest action or samples, where its spec does not say so.

    Raises:
        ValueError: no such agent or game, or a checkpoint of another game or that cannot be used (`CheckpointError`).
    """
    found = None if game is None else find_game(game)
    players = () if found is None else agent_names(found)
    spec = parse_spec(text, players)
    if spec.kind == PATH and Path(spec.name).exists() and spec.name:
        return _load_policy(spec, found, greedy)
    if found is None:
        raise ValueError(f"no checkpoint {text!r} (a built-in agent needs a game to be named too)")
    if spec.kind == SEARCH:
        search = SEARCHES[spec.name](**spec.options)
        search.check_game(found)
        return search
    if spec.kind == PLAYER and spec.name in players:
        return find_agent(spec.name, found)
    if spec.kind == FACTORY:
        return _call_factory(spec.name, found)
    if spec.kind == PLUGIN:
        plugin = importlib.import_module(PLUGINS[spec.name])
        return plugin.load_model(game=found, **{"greedy": greedy, **spec.options})  # type: ignore[no-any-return]
    names = (*players, *SEARCHES)
    near = difflib.get_close_matches(text, names, 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ValueError(f"no agent {text!r}; {hint}choose one of {', '.join(names)}, {CHOICES}")


def policy_of(agent: Agent) -> tuple[Policy, str] | None:
    """The policy that plays or guides an agent, and its folder; None where there is none."""
    if isinstance(agent, PolicyAgent):
        return agent.policy, agent.name.removesuffix(":sampled")
    if isinstance(agent, Search) and agent.policy is not None:
        return agent.policy, agent.prior
    return None


def fixed_spec(agent: Agent, spec: str) -> str:
    """An agent's spec that goes on meaning the same: it names the checkpoint where `spec` names a run."""
    if isinstance(agent, Search) and agent.prior:
        from training.checkpoint import find_checkpoint

        return dataclasses.replace(agent, prior=str(find_checkpoint(agent.prior))).name
    return agent.name if isinstance(agent, PolicyAgent) else spec


def agent_digest(agent: Agent) -> str:
    """SHA-256 of the policy that plays or guides an agent, or of a plugin's model; empty for others."""
    if (found := policy_of(agent)) is None:
        return str(getattr(agent, "digest", ""))
    from training.checkpoint import policy_digest

    return policy_digest(found[1])


def _load_policy(spec: Spec, game: Game | None, greedy: bool) -> PolicyAgent | MonteCarlo:
    from training.checkpoint import CheckpointError, find_checkpoint, load_policy, read_manifest

    folder = find_checkpoint(spec.name)
    if spec.options.get("search"):
        config = read_manifest(folder).get("config", {})
        try:
            search = look_ahead(str(folder), config)
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"the config of {folder} does not fit: {error}") from None
        if game is not None:
            search.check_game(game)
        return search
    policy = load_policy(folder)
    if game is not None:
        policy.check_game(spec.name, game)
    said = spec.options.get("greedy")
    name = f"{folder}:sampled" if said is False else str(folder)
    return PolicyAgent(name, policy, greedy if said is None else said)


def _call_factory(text: str, game: Game) -> Agent:
    """Import ``package.module:factory`` (the working folder's modules too) and call it; ValueError in one line."""
    module_name, name = text.split(":")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # whatever the module does when it is imported
        said = str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
        raise ValueError(f"no agent {text!r}: {' '.join(said.split())}") from None
    factory = getattr(module, name, None)
    if not callable(factory):
        raise ValueError(f"no agent {text!r}: module {module_name} has no function {name!r}")
    try:
        agent = factory(game)
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(f"no agent {text!r}: its factory failed: {said}") from error
    if not callable(getattr(agent, "act", None)) or not isinstance(getattr(agent, "name", None), str):
        raise ValueError(f"{text} returned no agent: it needs a name (str) and act(decisions)")
    return agent  # type: ignore[no-any-return]
