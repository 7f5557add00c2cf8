"""Specs of agents: what they say, and what is wrong with those that say nothing."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from envs.agents import Decisions, agent_names, find_agent
from envs.game import Game, find_game
from envs.single import SingleSeatEnv
from training.agents import FACTORY, PATH, PLAYER, PLUGIN, SEARCH, PolicyAgent, load_agent, parse_spec, split_specs
from training.checkpoint import describe, save_checkpoint
from training.network import make_policy_network
from training.search import SEARCHES, InformationSet, MonteCarlo, PerfectInformation

GAME = find_game("kachuful")
PLAYERS = agent_names(GAME)


class First:
    """Takes the first legal action."""

    name = "first"

    def act(self, decisions: Decisions) -> np.ndarray:
        return decisions.action_mask.argmax(axis=1)


def make_first(game: Game) -> First:
    assert game is GAME
    return First()


def make_nothing(game: Game) -> None:
    return None


@pytest.mark.parametrize(
    ("text", "kind", "name", "options"),
    [
        ("random", PLAYER, "random", {}),
        ("heuristic", PLAYER, "heuristic", {}),
        ("montecarlo", SEARCH, "montecarlo", {}),
        ("montecarlo:deals=8", SEARCH, "montecarlo", {"deals": 8}),
        ("pimc:deals=64,exact=5", SEARCH, "pimc", {"deals": 64, "exact": 5}),
        ("pimc: deals = 64 , weight=bids", SEARCH, "pimc", {"deals": 64, "weight": "bids"}),
        ("ismcts:iterations=2000,c=1", SEARCH, "ismcts", {"iterations": 2000, "c": 1.0}),
        ("checkpoints/none:sampled", PATH, "checkpoints/none", {"greedy": False}),
        ("checkpoints/none:search", PATH, "checkpoints/none", {"search": True}),
        ("checkpoints/none:greedy", PATH, "checkpoints/none", {"greedy": True}),
        ("checkpoints/none", PATH, "checkpoints/none", {}),
        ("mine.agents:make", FACTORY, "mine.agents:make", {}),
        ("mine:make", FACTORY, "mine:make", {}),
        ("sb3:models/a.zip", PLUGIN, "sb3", {"path": "models/a.zip"}),
        ("sb3:a.zip:sampled", PLUGIN, "sb3", {"path": "a.zip", "greedy": False}),
    ],
)
def test_specs(text: str, kind: str, name: str, options: dict[str, Any]) -> None:
    spec = parse_spec(text, PLAYERS)
    assert (spec.kind, spec.name, dict(spec.options)) == (kind, name, options)
    assert [type(value) for value in spec.options.values()] == [type(value) for value in options.values()]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "pimc:deal=64",
            "pimc: no option 'deal'; did you mean 'deals'? options are candidates, caution, deals, edge, exact,",
        ),
        (
            "montecarlo:exact=5",
            "montecarlo: no option 'exact'; did you mean 'least'? options are candidates, caution, deals",
        ),
        ("pimc:deals=many", "pimc: option deals='many' is not possible: deals must be an integer from 1 to 1000000"),
        ("pimc:deals=1.5", "deals must be an integer"),
        ("pimc:deals=0", "pimc: option deals=0 is not possible"),
        ("pimc:exact=-1", "exact must be an integer from 0 to 60"),
        ("pimc:deals", "pimc: option 'deals' has no value; write deals=64"),
        ("pimc:deals=", "pimc: option 'deals' has no value"),
        ("pimc:deals=1,deals=2", "pimc: option 'deals' is there twice"),
        ("pimc:", "'pimc:' ends where options should follow, such as pimc:deals=64"),
        ("pimc:weight=cards", "weight must be 'none', 'bids' or 'moves'"),
        ("ismcts:c=nan", "c must be a number from 0 to 100"),
        ("ismcts:c=much", "c must be a number from 0 to 100"),
        ("ismcts:threads=0", "threads must be an integer from 1 to"),
        ("pimcc:deals=64", "no agent 'pimcc' takes options; did you mean 'pimc'? montecarlo, pimc, ismcts do"),
        ("heuristic:deals=64", "heuristic takes no options"),
        ("heuristic:sampled", "heuristic takes no options"),
        (
            "heuristics",
            "no agent 'heuristics'; did you mean 'heuristic'? choose one of random, counting, ",
        ),
        ("", "no agent ''"),
        ("sb3:", "'sb3:' ends where the path of a model should follow"),
        ("sb3:none.zip", "no agent 'sb3:none.zip': there is no file none.zip"),
        ("checkpoints/none:sampled", "no agent 'checkpoints/none:sampled'; choose one of"),
        ("no_such_module:make", "no agent 'no_such_module:make': No module named 'no_such_module'"),
        ("json:nothing", "module json has no function 'nothing'"),
        (f"{__name__}:make_nothing", "returned no agent: it needs a name"),
    ],
)
def test_wrong_specs_are_told_in_one_line(text: str, message: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the message is compared below
        load_agent(text, GAME)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_search_needs_a_game() -> None:
    with pytest.raises(ValueError, match="needs a game"):
        load_agent("pimc")
    with pytest.raises(ValueError, match="no option 'deal'"):
        load_agent("pimc:deal=3")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("random", ["random"]),
        ("random, counting", ["random", "counting"]),
        ("pimc:deals=8,exact=3,random", ["pimc:deals=8,exact=3", "random"]),
        ("pimc:deals=8, exact=3,runs/a:sampled,a.b:c", ["pimc:deals=8, exact=3", "runs/a:sampled", "a.b:c"]),
        ("random,", ["random", ""]),
    ],
)  # fmt: skip
def test_commas_part_specs_but_not_their_options(text: str, parts: list[str]) -> None:
    assert split_specs(text) == parts


def test_agents_are_loaded() -> None:
    assert load_agent("counting", GAME) == find_agent("counting", GAME)
    assert load_agent("montecarlo:deals=8", GAME) == MonteCarlo(deals=8)
    assert load_agent("pimc:deals=8,exact=3", "kachuful") == PerfectInformation(deals=8, exact=3)
    assert load_agent("ismcts", GAME) == InformationSet()
    assert isinstance(load_agent(f"{__name__}:make_first", GAME), First)


@pytest.mark.parametrize("text", ["montecarlo", "montecarlo:caution=2.0,deals=3", "pimc:exact=2", "ismcts:c=0.5"])
def test_a_search_is_called_by_its_spec(text: str) -> None:
    agent = load_agent(text, GAME)
    assert agent.name == text
    assert load_agent(agent.name, GAME) == agent
    assert set(SEARCHES) == {"montecarlo", "pimc", "ismcts"}


def test_a_checkpoint_is_greedy_unless_its_spec_or_the_caller_says_otherwise(tmp_path: Path) -> None:
    rules = GAME.make_rules(max_hand=3)
    network = make_policy_network(GAME, 4, False, [8])
    folder = save_checkpoint(tmp_path, network, {**describe(GAME, rules, False), "decisions": 1}, {})
    assert asdict(rules)["max_hand"] == 3
    for text, greedy, expected in (
        (str(tmp_path), True, True),
        (str(tmp_path), False, False),
        (f"{tmp_path}:greedy", False, True),
        (f"{tmp_path}:sampled", True, False),
    ):
        agent = load_agent(text, None, greedy)
        assert isinstance(agent, PolicyAgent)
        assert agent.greedy == expected
        assert agent.name == (f"{folder}:sampled" if text.endswith(":sampled") else str(folder))


def test_any_agent_plays_against_one_seat(tmp_path: Path) -> None:
    network = make_policy_network(GAME, 4, False, [8])
    rules = GAME.make_rules(max_hand=2)
    policy = load_agent(str(save_checkpoint(tmp_path, network, {**describe(GAME, rules, False), "decisions": 1}, {})))
    search = load_agent("montecarlo:deals=2", GAME)
    env = SingleSeatEnv("kachuful", [policy, search, "heuristic"], max_hand=2)
    env.reset(seed=1)
    over = False
    while not over:
        _, _, terminated, truncated, _ = env.step(int(env.action_masks().argmax()))
        over = terminated or truncated
    assert terminated
    with pytest.raises(ValueError, match="plays with 4 players only, not with 5"):
        SingleSeatEnv("kachuful", policy, num_players=5)
