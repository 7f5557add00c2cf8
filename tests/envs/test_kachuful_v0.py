"""The module kachuful_v0: registration, options, presets, speed of import, plain mode."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pettingzoo
import pytest
from playing import trace

from envs import GAME_IDS, kachuful_v0
from envs.aec import TableEnv
from envs.checked import CheckedEnv
from envs.kachuful import GAME
from envs.kachuful.rules import PRESETS, KachufulRules

ROOT = Path(__file__).parents[2]


def run(code: str, *flags: str, **environment: str) -> str:
    command = [sys.executable, *flags, "-c", code]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo has a registry since 1.27")
def test_made_by_the_registry() -> None:
    env = pettingzoo.make("aec", "taash/kachuful-v0", num_players=5, render_mode="ansi")
    assert isinstance(env, CheckedEnv)
    env.reset(seed=1)
    assert env.num_agents == 5
    assert pettingzoo.spec("aec", "taash/kachuful-v0").entry_point == GAME_IDS["taash/kachuful-v0"]


def test_metadata_and_spaces() -> None:
    assert kachuful_v0.raw_env.metadata == {
        "render_modes": ["ansi", "human"],
        "name": "kachuful_v0",
        "is_parallelizable": False,
    }
    env = kachuful_v0.env(num_players=6)
    assert env.metadata == kachuful_v0.raw_env.metadata
    assert str(env) == str(env.unwrapped) == "kachuful_v0"
    assert type(env.unwrapped) is kachuful_v0.raw_env
    assert env.possible_agents == [f"player_{i}" for i in range(6)]
    assert env.max_num_agents == 6
    space = env.observation_space("player_0")
    assert space["action_mask"].shape == (89,)
    assert env.action_space("player_5").n == 89
    assert env.observation_space("player_0") is space
    assert set(env.observation_spaces) == set(env.action_spaces) == set(env.possible_agents)


@pytest.mark.parametrize("preset", PRESETS)
def test_presets(preset: str) -> None:
    env = kachuful_v0.env(preset=preset, num_players=7)
    env.reset(seed=1)
    assert env.rules == GAME.make_rules(preset, num_players=7)
    assert kachuful_v0.raw_env(preset, trump="N").rules.trump == "N"


def test_documentation_lists_every_option_and_preset() -> None:
    text = kachuful_v0.env.__doc__
    assert text is not None
    for name in [field.name for field in dataclasses.fields(KachufulRules)] + list(PRESETS):
        assert f"``{name}``" in text
    for field in dataclasses.fields(KachufulRules):
        assert f"``{field.name}`` (" in text


def test_import_is_light() -> None:
    code = "import sys, envs; assert not {'numba', 'torch', 'scipy'} & set(sys.modules), 'heavy'; print(envs.GAME_IDS)"
    assert "kachuful" in run(code)


def test_older_pettingzoo_without_a_registry() -> None:
    remove = "import pettingzoo; vars(pettingzoo).pop('register', None)"
    assert run(f"{remove}; from envs import kachuful_v0; print(kachuful_v0.env())") == "kachuful_v0"


def test_importing_twice_registers_once() -> None:
    run("import sys, envs; del sys.modules['envs']; import envs", "-W", "error")


SCRIPT = """
import hashlib, json, random, sys
sys.path.insert(0, 'tests')
from playing import trace
from envs import kachuful_v0
from envs.jit import PLAIN
from envs.single import SingleSeatEnv
digest = hashlib.sha256()
for rules in RULES:
    env = kachuful_v0.env(**rules)
    env.reset(seed=21)
    digest.update(repr(trace(env, random.Random(1))).encode())
    digest.update(env.unwrapped._states.tobytes())
    env.reset(options={'position': {'tricks': [1] + [0] * (env.max_num_agents - 1), 'hand_size': 2}})
    digest.update(json.dumps(env.unwrapped.snapshot()).encode())
    digest.update(json.dumps(env.unwrapped.determinize(0, 4)).encode())
    seat = SingleSeatEnv(opponents='counting', **rules)
    seat.reset(seed=21)
    over = False
    while not over:
        seen, reward, over, _, _ = seat.step(int(seat.action_masks().argmax()))
        digest.update(seen['observation'].tobytes() + str(reward).encode())
print(PLAIN, digest.hexdigest())
"""


def test_plain_mode_agrees() -> None:
    rules = [
        {"max_hand": 2},
        {"num_players": 3, "max_hand": 2, "blind": "optional", "trump": "turn_up", "reward": "win"},
    ]
    code = SCRIPT.replace("RULES", repr(rules))
    plain = run(code, "-W", "error", NUMBA_DISABLE_JIT="1")
    compiled = run(code)
    assert plain.split()[0] == "True"
    assert compiled.split()[0] == "False"
    assert plain.split()[1] == compiled.split()[1]


def test_seed_gives_this_very_game() -> None:
    """A recorded game: deals must be the same on every machine and in every version."""
    env = kachuful_v0.env(max_hand=3)
    env.reset(seed=2024)
    moves = [name for _, name in _history(env)]
    assert hashlib.sha256(",".join(moves).encode()).hexdigest()[:16] == GOLDEN


def _history(env: CheckedEnv) -> list[tuple[int, str]]:
    trace(env, Random(7))
    raw = env.unwrapped
    assert isinstance(raw, TableEnv)
    return raw.history


GOLDEN = "124ea5c68b6b2644"
