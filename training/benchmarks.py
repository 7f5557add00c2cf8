"""Measurements of speed, each made ready for a game and then repeated (see ``scripts/benchmark.py``)."""

from __future__ import annotations

import importlib
import random
import statistics
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from envs import loops
from envs.agents import Decisions
from envs.cards import random_below, random_bits, stream_key
from envs.game import GAMES, Game, find_game
from envs.jit import jit
from envs.sampling import new_plan
from envs.vector import VectorEnv
from training.search import InformationSet, MonteCarlo, PerfectInformation, Search

if TYPE_CHECKING:
    from training.config import Config
    from training.plugins.speed import Setting

REPETITIONS = 5
ENGINE_GAMES = 1024
VECTOR_GAMES = 2048
SB3, SB3_TUNED = "train_vs_sb3", "train_vs_sb3_tuned"
"""Measurements that need the extra ``plugins``."""
BESIDE = ("matmul_share", "games_share", "sb3", "ratio")
"""Figures whose medians stand beside a rate."""
SEARCH_POSITIONS = 20
SEARCH_APART = 7
"""Moves by which each position that is searched lies deeper in its game than the one before."""
Measurement = Callable[[float], dict[str, float]]
"""Takes seconds, returns the figure that is named after its unit (see `UNITS`) and figures beside it."""
UNITS = {"rate": "decisions/s", "milliseconds": "ms/decision"}


def engine(game_name: str) -> Measurement:
    """The engine alone: random moves in many games, a new key for each block of moves."""
    game = find_game(game_name)
    options = game.make_rules().record()
    states = np.zeros(ENGINE_GAMES, game.state)
    loops.start_games(states, options, 0)
    key = 0

    def measure(seconds: float) -> dict[str, float]:
        nonlocal key
        made, start = 0, perf_counter()
        while (spent := perf_counter() - start) < seconds or made == 0:
            key += 1
            made += loops.random_moves(states, options, 64, stream_key(key, 0))
        return {"rate": made / spent}

    return measure


@jit
def draw_actions(mask: Any, key: int, actions: Any) -> None:
    """Draw a uniformly random legal action in each row of a mask."""
    for i in range(mask.shape[0]):
        count = 0
        for a in range(mask.shape[1]):
            count += mask[i, a]
        left = random_below(random_bits(key & 0xFFFFFFFF, key >> 32, i), count)
        a = -1
        while left >= 0:
            a += 1
            left -= mask[i, a]
        actions[i] = a


def vector_uint8(game_name: str) -> Measurement:
    """Many games at once with all features."""
    env = VectorEnv(game_name, VECTOR_GAMES)
    mask = env.reset(scatter=1000).action_mask.view(np.uint8)
    actions = np.zeros(VECTOR_GAMES, np.int64)
    draws = 0

    def measure(seconds: float) -> dict[str, float]:
        nonlocal draws
        steps, stepping, start = 0, 0.0, perf_counter()
        while (spent := perf_counter() - start) < seconds or steps == 0:
            draws += 1
            draw_actions(mask, stream_key(draws, 0), actions)
            before = perf_counter()
            env.step(actions)
            stepping += perf_counter() - before
            steps += 1
        return {"rate": steps * VECTOR_GAMES / stepping, "with_drawing": steps * VECTOR_GAMES / spent}

    return measure


def pettingzoo_loop(game_name: str, face: str) -> Measurement:
    """Whole games through the PettingZoo face `face` (``raw_env`` or ``env``)."""
    env = getattr(importlib.import_module(f"envs.{game_name}_v0"), face)()
    seed = 0

    def measure(seconds: float) -> dict[str, float]:
        nonlocal seed
        made, start = 0, perf_counter()
        while (spent := perf_counter() - start) < seconds or made == 0:
            seed += 1
            env.reset(seed=seed)
            for _ in env.agent_iter():
                observation, _, terminated, truncated, _ = env.last()
                if terminated or truncated:
                    env.step(None)
                else:
                    env.step(random.choice(np.flatnonzero(observation["action_mask"]).tolist()))
                    made += 1
        return {"rate": made / spent}

    return measure


def raw_env(game_name: str) -> Measurement:
    """PettingZoo without checks."""
    return pettingzoo_loop(game_name, "raw_env")


def env(game_name: str) -> Measurement:
    """PettingZoo with the checks of its three wrappers."""
    return pettingzoo_loop(game_name, "env")


def train(game_name: str) -> Measurement:
    """The default training configuration, between two measurements of plain matrix products."""
    from training.config import Config

    return _beside_products(Config(game=game_name))


def train_float32(game_name: str) -> Measurement:
    """The same in float32."""
    from training.config import Config, NetworkConfig

    return _beside_products(Config(game=game_name, network=NetworkConfig(precision="float32")))


def train_wide(game_name: str) -> Measurement:
    """The same with hidden layers as wide as those of the agents that come with the package."""
    from training.config import Config, NetworkConfig

    return _beside_products(Config(game=game_name, network=NetworkConfig(hidden=[512, 512])))


def _beside_products(config: Config) -> Measurement:
    """Decisions of a run's settings per second, between two measurements of plain matrix products."""
    import torch

    from training.speed import measure as measure_training

    torch.set_num_threads(config.run.threads)
    game = find_game(config.game)
    features = game.layout(game.make_rules().num_players, config.pad_seats).size
    rows = config.rollout.tables * config.rollout.steps // config.ppo.minibatches
    dtype = getattr(torch, config.network.precision)
    widths = [features, *config.network.hidden, game.num_actions + 1]
    factors = [
        (torch.ones(rows, inputs, dtype=dtype), torch.ones(outputs, inputs, dtype=dtype).t())
        for inputs, outputs in pairwise(widths)
    ]
    each = sum(2 * a.shape[0] * a.shape[1] * b.shape[1] for a, b in factors)

    def plain(seconds: float) -> float:
        """Floating-point operations per second of the products of a forward pass over a minibatch."""
        passes, start = 0, perf_counter()
        while (spent := perf_counter() - start) < seconds or passes == 0:
            for a, b in factors:
                torch.mm(a, b)
            passes += 1
        return passes * each / spent

    def measure(seconds: float) -> dict[str, float]:
        before = plain(seconds / 4)
        found = measure_training(config, seconds)
        rate = (before + plain(seconds / 4)) / 2
        return {
            "rate": found["decisions_per_second"],
            "matmul_share": found["flops"] / rate,
            "games_share": found["games_share"],
            "flops": found["flops"],
            "plain_flops": rate,
        }

    return measure


def train_vs_sb3(game_name: str) -> Measurement:
    """The trainer and MaskablePPO of sb3-contrib in turn as either is used: same network, epochs and threads."""
    from training.config import Config
    from training.plugins import speed

    return _beside_sb3(Config(game=game_name), speed.USUAL)


def train_vs_sb3_tuned(game_name: str) -> Measurement:
    """The same with equal tables, minibatches and float32, on one thread, at the fastest setting of MaskablePPO."""
    from training.config import Config, NetworkConfig, PPOConfig, RolloutConfig, RunConfig
    from training.plugins import speed

    config = Config(
        game=game_name,
        network=NetworkConfig(precision="float32"),
        rollout=RolloutConfig(tables=speed.TUNED.environments),
        ppo=PPOConfig(minibatches=16),
        run=RunConfig(threads=1),
    )
    return _beside_sb3(config, speed.TUNED)


def _beside_sb3(config: Config, setting: Setting) -> Measurement:
    """Decisions learnt per second by a run's settings, and by MaskablePPO in a setting."""
    from training.plugins import speed
    from training.speed import measure as measure_training

    model = speed.make_model(config, setting)

    def measure(seconds: float) -> dict[str, float]:
        sb3 = speed.measure(model, seconds, config.run.threads)
        own = measure_training(config, seconds)["choices_per_second"]
        return {"rate": own, "sb3": sb3, "ratio": own / sb3}

    return measure


def determinize(game_name: str) -> Measurement:
    """Deals drawn for a seat 8 to 23 moves after a game's beginning, prepared once for each thousand."""
    game = find_game(game_name)
    options = game.make_rules().record()
    states = np.zeros(1, game.state)
    drawn = np.zeros(1000, game.state)
    plan = new_plan()
    position = 0

    def measure(seconds: float) -> dict[str, float]:
        nonlocal position
        made, spent = 0, 0.0
        while spent < seconds or made == 0:
            position += 1
            loops.start_games(states, options, position)
            loops.random_moves(states, options, 8 + position % 16, stream_key(position, 0))
            before = perf_counter()
            loops.sample_deals(states, options, int(states["turn"][0]), position, plan, drawn)
            spent += perf_counter() - before
            made += len(drawn)
        return {"rate": made / spent}

    return measure


@jit
def player_moves(states: Any, options: Any, rounds: int, player: int, scratch: Any) -> int:
    """Let a built-in player make `rounds` moves in each game, new games following ended ones; the moves made."""
    for _ in range(rounds):
        for i in range(states.shape[0]):
            action = loops.player_action(states[i], options[0], player, scratch)
            flags = loops.advance(states[i], options[0], action)
            if flags != 0:
                loops.settle(states[i], options[0], flags)
    return rounds * states.shape[0]


def rule_player(game_name: str) -> Measurement:
    """Whole games between copies of the last of the game's rule-based players, redaction included."""
    game = find_game(game_name)
    options = game.make_rules().record()
    states, scratch = np.zeros(ENGINE_GAMES, game.state), np.zeros(1, game.state)
    loops.start_games(states, options, 0)

    def measure(seconds: float) -> dict[str, float]:
        made, start = 0, perf_counter()
        while (spent := perf_counter() - start) < seconds or made == 0:
            made += player_moves(states, options, 8, len(game.rule_players), scratch)
        return {"rate": made / spent}

    return measure


def search_positions(game: Game) -> Decisions:
    """Decisions with a choice in games of the last of the rule-based players, some moves apart from one another."""
    rules = game.make_rules()
    options, player = rules.record(), len(game.rule_players)
    states, scratch = np.zeros(SEARCH_POSITIONS, game.state), np.zeros(1, game.state)
    loops.start_games(states, options, 0)
    for i in range(SEARCH_POSITIONS):
        player_moves(states[i : i + 1], options, SEARCH_APART * i, player, scratch)
        while loops.forced_action(states[i], options[0]) >= 0:
            player_moves(states[i : i + 1], options, 1, player, scratch)
    return Decisions(game, rules, states)


def search(game_name: str, agent: Search) -> Measurement:
    """One search at a fixed set of positions, each time all of them."""
    decisions = search_positions(find_game(game_name))

    def measure(seconds: float) -> dict[str, float]:
        rounds, start = 0, perf_counter()
        while (spent := perf_counter() - start) < seconds or rounds == 0:
            agent.act(decisions)
            rounds += 1
        return {"milliseconds": 1000 * spent / (rounds * len(decisions))}

    return measure


def guided_search(game_name: str) -> Measurement:
    """Tree search with the policy of a network of random weights."""
    import torch

    from training.checkpoint import describe, save_checkpoint
    from training.network import make_policy_network

    game = find_game(game_name)
    rules = game.make_rules()
    generator = torch.Generator().manual_seed(0)
    network = make_policy_network(game, rules.num_players, False, [256, 256], generator=generator)
    with TemporaryDirectory() as folder:
        path = save_checkpoint(Path(folder), network, {**describe(game, rules, False), "decisions": 0}, {})
        agent = InformationSet(prior=str(path))
        agent.check_game(game)  # loads the policy, while it is there
    return search(game_name, agent)


MEASUREMENTS: dict[str, Callable[[str], Measurement]] = {
    "engine": engine,
    "vector_uint8": vector_uint8,
    "raw_env": raw_env,
    "env": env,
    "determinize": determinize,
    "heuristic": rule_player,
    "train": train,
    "train_float32": train_float32,
    "train_wide": train_wide,
    SB3: train_vs_sb3,
    SB3_TUNED: train_vs_sb3_tuned,
    "search/montecarlo": partial(search, agent=MonteCarlo()),
    "search/montecarlo-moves": partial(search, agent=MonteCarlo(weight="moves")),
    "search/pimc": partial(search, agent=PerfectInformation()),
    "search/ismcts": partial(search, agent=InformationSet()),
    "search/ismcts-prior": guided_search,
}
# The package's own games, not those that others have made known to it: they need a module of PettingZoo's kind.
NAMES = tuple(f"{game}/{name}" for game, place in GAMES.items() if place.startswith("envs.") for name in MEASUREMENTS)


def run(
    names: list[str], seconds: float, advance: Callable[[], object]
) -> tuple[dict[str, Any], dict[str, str], dict[str, Any]]:
    """Measure in turn, `REPETITIONS` times.

    Returns:
        By name: its entry, the unit of that, and what was measured beside it.
    """
    prepared = {}
    for name in names:
        game_name, _, kind = name.partition("/")
        prepared[name] = MEASUREMENTS[kind](game_name)
        prepared[name](0.0)  # compiles, and warms what can be warmed
    found: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for _ in range(REPETITIONS):
        for name in names:
            found[name].append(prepared[name](seconds))
            advance()
    spans = {
        name: {key: spread([repetition[key] for repetition in repetitions]) for key in repetitions[0]}
        for name, repetitions in found.items()
    }
    found_units = {name: next(unit for unit in UNITS if unit in figures) for name, figures in spans.items()}
    entries = {name: figures.pop(found_units[name]) for name, figures in spans.items()}
    for name, figures in spans.items():
        entries[name] |= {key: figures[key]["median"] for key in BESIDE if key in figures}
    units = {name: UNITS[unit] for name, unit in found_units.items()}
    return entries, units, {name: figures for name, figures in spans.items() if figures}


def spread(values: list[float]) -> dict[str, float]:
    """Median, least and most."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}
