"""Measure speed: decisions per second of play and of training, milliseconds per decision of searches.

python scripts/benchmark.py --json speed.json
python scripts/benchmark.py --only kachuful/engine,kachuful/env --seconds 2 --startup

Every figure is the median of five repetitions; the repetitions of different measurements alternate, so that all of them
see the same machine. All run on one core except training, which uses two. Rates count forced moves as decisions;
searches are timed where there is a choice.

engine        the compiled loop alone, 1,024 games
vector_uint8  `VectorEnv.step`, 2,048 games, with observations, masks and rewards; only step() is timed, drawing the
              actions is not (the rate with it stands under meta)
raw_env, env  PettingZoo's agent loop over whole games, resets included; actions are drawn, and timed, with
              `random.choice(np.flatnonzero(mask).tolist())`
determinize   deals drawn for a seat, a thousand for each position, 8 to 23 moves after a game's beginning
heuristic     whole games between copies of the last of the game's rule-based players
train         the default training configuration end to end; matmul_share is the rate of the network's matrix products
              over that of plain matrix products of the same shapes and precision, measured before and after;
              games_share is the part of the time that games, drawing of actions and advantages take
train_float32, train_wide  the same in float32; with hidden layers of 512 units, as the agents in checkpoints/ have them
train_vs_sb3  decisions learnt per second, playing and learning, beside those (sb3) of MaskablePPO of sb3-contrib, with
              the same network, epochs and threads, either as it is used: the defaults here, and there 2,048 decisions
              of eight environments in a DummyVecEnv and minibatches of 64. That one plays one seat against random
              players. Forced moves count on neither side. Needs the extra plugins
train_vs_sb3_tuned  the same on one thread in float32, at 256 tables, with the same size of minibatches, which is the
              fastest that MaskablePPO was found to go
search/…      searches with their default options (montecarlo-moves: weight=moves; ismcts-prior: with a policy of two
              hidden layers of 256 units, random weights), each time at the same 20 positions of games between copies of
              the last of the rule-based players
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser, Namespace

from training.benchmarks import NAMES, REPETITIONS, SB3, SB3_TUNED, run
from training.command import run_command
from training.machine import machine

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
    """Seconds to import the package, to have played a first game, and to have compiled everything from nothing.

    The games are those of the first of the names.
    """
    game = NAMES[0].partition("/")[0]
    code = FIRST_GAME.format(game=game)
    seconds_of(code)  # fills the cache
    times = {"import_envs": [seconds_of(IMPORT) for _ in range(REPETITIONS)], "first_game_warm": []}
    times["first_game_warm"] = [seconds_of(code) for _ in range(REPETITIONS)]
    with tempfile.TemporaryDirectory() as folder:
        times["first_game_cold"] = [seconds_of(code, NUMBA_CACHE_DIR=folder)]
    with tempfile.TemporaryDirectory() as folder:
        times["every_kernel_cold"] = [seconds_of(EVERY_KERNEL.format(game=game), NUMBA_CACHE_DIR=folder)]
    return {name: statistics.median(values) for name, values in times.items()}


def seconds_of(code: str, **environment: str) -> float:
    """The number that a fresh Python process prints for a piece of code."""
    result = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return float(result.stdout)


def build_parser() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog="benchmark.py", description=(__doc__ or "").split("\n")[0], exit_on_error=False, allow_abbrev=False
    )
    parser.add_argument("--only", type=str, help=f"measurements, separated by commas (default: {','.join(NAMES)})")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of each repetition")
    parser.add_argument("--json", type=str, help="write the figures to this file too")
    parser.add_argument(
        "--startup", action="store_true", help="also measure imports and first games in fresh processes"
    )
    return parser


def prepare() -> tuple[Namespace, list[str]]:
    """Check the command line; returns it and the names to measure. ValueError says what is wrong."""
    from training.report import check_json_path

    args = build_parser().parse_args()
    names = [name.strip() for name in args.only.split(",")] if args.only else list(NAMES)
    for name in names:
        if name not in NAMES:
            raise ValueError(f"no measurement {name!r}; choose among {', '.join(NAMES)}")
    if not 0 < args.seconds < 3600:
        raise ValueError(f"--seconds {args.seconds} is not possible: it must be above 0 and below 3600")
    if args.json:
        check_json_path(Path(args.json))
    if any(_needs_sb3(name) for name in names):
        from training.plugins.speed import missing

        if reason := missing():
            names = [name for name in names if not _needs_sb3(name)]
            if not names:
                raise ValueError(f"{SB3} cannot be measured: {reason}")
            print(f"benchmark.py: {SB3} is skipped: {reason}", file=sys.stderr)
    return args, list(dict.fromkeys(names))


def _needs_sb3(name: str) -> bool:
    return name.partition("/")[2] in (SB3, SB3_TUNED)


def report(args: Namespace, names: list[str]) -> None:
    """Measure, print the tables and write the file."""
    from rich.console import Console
    from rich.table import Table

    from training.report import progress_bar, versions, write_json

    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    meta: dict[str, Any] = {
        "machine": {**machine(), "load_before": load},
        "seconds": args.seconds,
        "repetitions": REPETITIONS,
    }
    with progress_bar() as bar:
        task = bar.add_task("measuring", total=REPETITIONS * len(names))
        entries, meta["units"], meta["beside"] = run(names, args.seconds, lambda: bar.advance(task))
    table = Table()
    table.add_column("measurement", no_wrap=True)
    for name in ("median", "min", "max"):
        table.add_column(name, justify="right")
    table.add_column("unit")
    for name, entry in entries.items():
        digits = 0 if entry["median"] >= 1000 else 2
        figures = [f"{entry[key]:,.{digits}f}" for key in ("median", "min", "max")]
        table.add_row(name, *figures, meta["units"][name])
    console = Console()
    console.print(table)
    for name, rate in entries.items():
        if "matmul_share" in rate:
            console.print(
                f"{name}: at {rate['matmul_share']:.0%} of the rate of plain matrix products; games, drawing "
                f"of actions and advantages take {rate['games_share']:.1%} of the time",
                highlight=False,
                soft_wrap=True,
            )
        if "ratio" in rate:
            console.print(
                f"{name}: {rate['median']:,.0f} decisions learnt per second, MaskablePPO {rate['sb3']:,.0f}: "
                f"{rate['ratio']:.1f} times as many",
                highlight=False,
                soft_wrap=True,
            )
    if args.startup:
        meta["startup"] = startup()
        for name, value in meta["startup"].items():
            console.print(f"{name}: {value:.2f} s")
    meta["versions"] = versions()
    if args.json:
        write_json(Path(args.json), {**entries, "meta": meta})


def main() -> int:
    """Run the command line; returns the exit code."""
    return run_command("benchmark.py", prepare, lambda plan: report(*plan))


if __name__ == "__main__":
    sys.exit(main())
