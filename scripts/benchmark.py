"""Measure speed: decisions per second of random legal play, forced moves included, and of training.

python scripts/benchmark.py --json speed.json
python scripts/benchmark.py --only kachuful/engine,kachuful/env --seconds 2 --startup

Every figure is the median of five repetitions; the repetitions of different measurements alternate, so that all of them
see the same machine. All run on one core except training, which uses two.

engine        the compiled loop alone, 1,024 games
vector_uint8  `VectorEnv.step`, 2,048 games, with observations, masks and rewards; only step() is timed, drawing the
              actions is not (the rate with it stands under meta)
raw_env, env  PettingZoo's agent loop over whole games, resets included; actions are drawn, and timed, with
              `random.choice(np.flatnonzero(mask).tolist())`
train         the default training configuration end to end; matmul_share is the rate of the network's matrix products
              over that of plain matrix products of the same shapes and precision, measured before and after
"""

from __future__ import annotations

import importlib
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from jsonargparse import ArgumentError, ArgumentParser, Namespace

from envs import loops
from envs.cards import random_below, random_bits, stream_key
from envs.game import find_game
from envs.jit import jit
from envs.vector import VectorEnv

GAMES = ("kachuful",)
REPETITIONS = 5
ENGINE_GAMES = 1024
VECTOR_GAMES = 2048
Measurement = Callable[[float], dict[str, float]]
"""Takes seconds, returns ``rate`` (decisions per second) and figures beside it."""


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
    import torch

    from training.config import Config
    from training.trainer import measure as measure_training

    config = Config(game=game_name)
    torch.set_num_threads(config.run.threads)
    game = find_game(game_name)
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
            "flops": found["flops"],
            "plain_flops": rate,
        }

    return measure


MEASUREMENTS: dict[str, Callable[[str], Measurement]] = {
    "engine": engine,
    "vector_uint8": vector_uint8,
    "raw_env": raw_env,
    "env": env,
    "train": train,
}
NAMES = tuple(f"{game}/{name}" for game in GAMES for name in MEASUREMENTS)


def run(names: list[str], seconds: float, advance: Callable[[], object]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Measure in turn, `REPETITIONS` times; returns the entries of the names, and what was measured beside them."""
    prepared = {}
    for name in names:
        game_name, kind = name.split("/")
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
    rates = {name: figures.pop("rate") for name, figures in spans.items()}
    for name, figures in spans.items():
        if "matmul_share" in figures:
            rates[name]["matmul_share"] = figures["matmul_share"]["median"]
    return rates, {name: figures for name, figures in spans.items() if figures}


def spread(values: list[float]) -> dict[str, float]:
    """Median, least and most."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


IMPORT = "from time import perf_counter as now; start = now(); import envs; print(now() - start)"
FIRST_GAME = """from time import perf_counter as now
start = now()
import importlib, random, numpy
env = importlib.import_module("envs.{game}_v0").env()
env.reset(seed=0)
while env.agents:
    mask = env.last()[0]["action_mask"]
    env.step(random.choice(numpy.flatnonzero(mask).tolist()) if mask.any() else None)
print(now() - start)"""
EVERY_KERNEL = """from time import perf_counter as now
start = now()
import dataclasses, importlib, numpy
from envs import loops
from envs.game import find_game
from envs.sampling import new_plan
from envs.vector import VectorEnv
from training.config import Config
from training.trainer import Trainer
game = find_game("{game}")
env = importlib.import_module("envs.{game}_v0").env()
env.reset(seed=0)
env.step(int(env.last()[0]["action_mask"].argmax()))
env.state(), env.unwrapped.determinize(0, 0)
seats = env.unwrapped.rules.num_players
codes = numpy.arange(seats, dtype=numpy.int8) % (1 + len(game.rule_players)) - 1
batch = (tables := VectorEnv(game, 4, state=True, statistics=True, players=codes)).reset(scatter=9)
tables.step(batch.action_mask.argmax(axis=1))
states, options = tables.get_state(), game.make_rules().record()
loops.random_moves(states, options, 1, 0)
loops.sample_deals(states[:1], options, 0, 0, new_plan(), states[1:])
config = Config(game="{game}")
Trainer(dataclasses.replace(config, rollout=dataclasses.replace(config.rollout, tables=16))).update()
print(now() - start)"""


def startup() -> dict[str, float]:
    """Seconds to import the package, to have played a first game, and to have compiled everything from nothing."""
    code = FIRST_GAME.format(game=GAMES[0])
    seconds_of(code)  # fills the cache
    times = {"import_envs": [seconds_of(IMPORT) for _ in range(REPETITIONS)], "first_game_warm": []}
    times["first_game_warm"] = [seconds_of(code) for _ in range(REPETITIONS)]
    with tempfile.TemporaryDirectory() as folder:
        times["first_game_cold"] = [seconds_of(code, NUMBA_CACHE_DIR=folder)]
    with tempfile.TemporaryDirectory() as folder:
        times["every_kernel_cold"] = [seconds_of(EVERY_KERNEL.format(game=GAMES[0]), NUMBA_CACHE_DIR=folder)]
    return {name: statistics.median(values) for name, values in times.items()}


def seconds_of(code: str, **environment: str) -> float:
    """The number that a fresh Python process prints for a piece of code."""
    result = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return float(result.stdout)


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        entries = (line.partition(":") for line in cpuinfo.read_text().splitlines())
        model = next((value.strip() for key, _, value in entries if key.strip() == "model name"), model)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {"processor": model, "cores": os.cpu_count(), "load_before": load}


def prepare(args: Namespace) -> list[str]:
    """Check the command line; returns the names to measure. ValueError says what is wrong."""
    from training.report import check_json_path

    names = [name.strip() for name in args.only.split(",")] if args.only else list(NAMES)
    for name in names:
        if name not in NAMES:
            raise ValueError(f"no measurement {name!r}; choose among {', '.join(NAMES)}")
    if not 0 < args.seconds < 3600:
        raise ValueError(f"--seconds {args.seconds} is not possible: it must be above 0 and below 3600")
    if args.json:
        check_json_path(Path(args.json))
    return list(dict.fromkeys(names))


def report(args: Namespace, names: list[str]) -> None:
    """Measure, print the tables and write the file."""
    from rich.console import Console
    from rich.table import Table

    from training.report import progress_bar, versions, write_json

    meta: dict[str, Any] = {"machine": machine(), "seconds": args.seconds, "repetitions": REPETITIONS}
    with progress_bar() as bar:
        task = bar.add_task("measuring", total=REPETITIONS * len(names))
        rates, meta["beside"] = run(names, args.seconds, lambda: bar.advance(task))
    table = Table("decisions per second")
    for name in ("median", "min", "max"):
        table.add_column(name, justify="right")
    for name, rate in rates.items():
        table.add_row(name, *(f"{rate[key]:,.0f}" for key in ("median", "min", "max")))
        if "matmul_share" in rate:
            table.caption = f"Training runs at {rate['matmul_share']:.0%} of the rate of plain matrix products."
    console = Console()
    console.print(table)
    if args.startup:
        meta["startup"] = startup()
        for name, value in meta["startup"].items():
            console.print(f"{name}: {value:.2f} s")
    meta["versions"] = versions()
    if args.json:
        write_json(Path(args.json), {**rates, "meta": meta})


def main() -> int:
    """Run the command line; returns the exit code: 2 for bad input, 130 after Ctrl-C."""
    parser = ArgumentParser(
        prog="benchmark.py", description=(__doc__ or "").split("\n")[0], exit_on_error=False, allow_abbrev=False
    )
    parser.add_argument("--only", type=str, help=f"measurements, separated by commas (default: {','.join(NAMES)})")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of each repetition")
    parser.add_argument("--json", type=str, help="write the figures to this file too")
    parser.add_argument(
        "--startup", action="store_true", help="also measure imports and first games in fresh processes"
    )
    try:
        try:
            args = parser.parse_args()
            names = prepare(args)
        except (ArgumentError, ValueError) as error:
            print(f"benchmark.py: {' '.join(str(error).split())}", file=sys.stderr)
            return 2
        report(args, names)
    except KeyboardInterrupt:
        print("benchmark.py: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
