"""Stable-Baselines3: MaskablePPO learns in one seat as it is, and what it has learnt sits at the table."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from random import Random
from typing import Any

import gymnasium
import numpy as np
import pytest
from scripting import run_script

from envs import SEAT_IDS
from envs.agents import Decisions, find_agent
from envs.game import find_game
from envs.single import SingleSeatEnv
from envs.vector import VectorEnv
from training.agents import load_agent
from training.arena import play_match

WHY = "needs stable-baselines3 and sb3-contrib: pip install 'taash[plugins]'"
pytest.importorskip("sb3_contrib", reason=WHY)

from sb3_contrib import MaskablePPO  # noqa: E402
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported  # noqa: E402
from stable_baselines3.common.env_util import make_vec_env  # noqa: E402
from stable_baselines3.common.monitor import Monitor  # noqa: E402
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv  # noqa: E402

IDS = {game: f"envs:{name}" for name, game in SEAT_IDS.items()}
SMALL: dict[str, dict[str, Any]] = {
    "kachuful": {"max_hand": 2, "num_players": 3},
    "call_break": {"rounds": 1},
    "kaschlan": {"num_players": 2},
}
FAST: dict[str, Any] = {"n_steps": 32, "batch_size": 32, "n_epochs": 1, "device": "cpu", "seed": 1}


def learn(env: gymnasium.Env[Any, Any] | VecEnv, steps: int = 64) -> Any:
    flat = not isinstance(env.observation_space, gymnasium.spaces.Dict)
    return MaskablePPO("MlpPolicy" if flat else "MultiInputPolicy", env, **FAST).learn(steps)


def some_decisions(game: str, count: int, **rules: Any) -> Decisions:
    env = VectorEnv(game, count, 5, skip_forced=True, **rules)
    env.reset(scatter=7)
    return Decisions(env.game, env.rules, env.get_state(), 3)


@pytest.mark.parametrize("flatten", [False, True])
@pytest.mark.parametrize("game", IDS)
def test_it_learns_as_it_is_and_sits_at_the_table(tmp_path: Path, game: str, flatten: bool) -> None:
    env = gymnasium.make(IDS[game], opponents="random", flatten=flatten, **SMALL[game])
    model = learn(env)
    assert model.num_timesteps >= 64
    model.save(tmp_path / "model")
    agent = load_agent(f"sb3:{tmp_path / 'model.zip'}", game)
    assert agent.name == f"sb3:{tmp_path / 'model.zip'}"

    # It chooses what the library's own `predict` chooses for the environment's observation.
    seat: Any = env.unwrapped
    rng = Random(2)
    observation, _ = env.reset(seed=4)
    for _ in range(20):
        mask = seat.action_masks()
        wanted, _ = model.predict(observation, action_masks=mask, deterministic=True)
        assert agent.act(Decisions(seat.game, seat.rules, seat._states))[0] == wanted
        observation, _, terminated, truncated, _ = env.step(rng.choice(np.flatnonzero(mask).tolist()))
        if terminated or truncated:
            observation, _ = env.reset()

    match = play_match(game, seat.rules, agent, find_agent("random", seat.game), 3)
    assert match.candidate == agent.name
    assert np.isfinite(match.win_share).all()


def test_it_learns_in_processes_of_their_own_against_agents_of_all_kinds(tmp_path: Path) -> None:
    rules = SMALL["kachuful"]
    learn(gymnasium.make(IDS["kachuful"], **rules)).save(tmp_path / "first.zip")
    first = load_agent(f"sb3:{tmp_path / 'first.zip'}:sampled", "kachuful")
    kwargs = {"opponents": [first, "heuristic"], "render_mode": None, **rules}  # the function asks for pictures
    env = make_vec_env(IDS["kachuful"], 2, seed=0, env_kwargs=kwargs, vec_env_cls=SubprocVecEnv)
    try:
        assert is_masking_supported(env)
        assert learn(env, 128).num_timesteps == 128
        masks = get_action_masks(env)
        assert masks.shape == (2, 89)
        assert masks.any(axis=1).all()
    finally:
        env.close()


class Final(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Tells the learner's score in the game's own words when it is over."""

    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = self.env.step(action)
        if terminated or truncated:
            seat: Any = self.unwrapped
            info = {**info, "score": seat.snapshot()["scores"][seat.seat]}
        return observation, reward, terminated, truncated, info


def test_the_return_that_it_adds_up_is_the_score(tmp_path: Path) -> None:
    """Moves by a script, the library's own sums."""

    def make() -> gymnasium.Env[Any, Any]:
        made = gymnasium.make(
            IDS["kachuful"], opponents=["heuristic", "random", "counting"], max_hand=3, reward="score"
        )
        return Monitor(Final(made))

    env = DummyVecEnv([make, make])
    env.seed(11)
    env.reset()
    rng = Random(5)
    scores = []
    while len(scores) < 6:
        actions = np.array([rng.choice(np.flatnonzero(mask).tolist()) for mask in get_action_masks(env)])
        _, _, dones, infos = env.step(actions)
        for done, info in zip(dones, infos, strict=True):
            if done:
                assert info["episode"]["r"] == pytest.approx(info["score"])
                assert not info["TimeLimit.truncated"]
                scores.append(info["score"])
    assert len(set(scores)) > 1


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sb3") / "model.zip"
    learn(gymnasium.make(IDS["kachuful"], **SMALL["kachuful"])).save(path)
    return path


def test_its_choices_depend_on_nothing_but_the_decision(model: Path) -> None:
    decisions = some_decisions("kachuful", 20, **SMALL["kachuful"])
    for spec in (f"sb3:{model}", f"sb3:{model}:sampled"):
        agent: Any = load_agent(spec, "kachuful")
        whole = agent.act(decisions)
        assert decisions.action_mask[np.arange(20), whole].all()
        assert np.array_equal(whole, agent.act(decisions))
        states = VectorEnv("kachuful", 20, 5, skip_forced=True, **SMALL["kachuful"])
        states.reset(scatter=7)
        for i in range(20):
            one = Decisions(decisions.game, decisions.rules, states.get_state()[i : i + 1], 3)
            assert agent.act(one)[0] == whole[i]
    chances = agent.probabilities(decisions)
    assert chances.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert not chances[~decisions.action_mask].any()
    assert (load_agent(f"sb3:{model}", "kachuful").act(decisions) == chances.argmax(axis=1)).all()


def test_modes(model: Path) -> None:
    for text, greedy, expected in (
        ("", True, True),
        ("", False, False),
        (":greedy", False, True),
        (":sampled", True, False),
    ):
        agent: Any = load_agent(f"sb3:{model}{text}", "kachuful", greedy)
        assert agent.greedy == expected
        assert agent.name.endswith(":sampled") == (not expected)
    assert load_agent(f"sb3:{model.with_suffix('')}", "kachuful").name == f"sb3:{model.with_suffix('')}"


def test_observations_for_the_largest_table_fit_all(tmp_path: Path) -> None:
    env = gymnasium.make(IDS["kachuful"], pad_seats=True, flatten=True, **SMALL["kachuful"])
    learn(env).save(tmp_path / "model.zip")
    agent: Any = load_agent(f"sb3:{tmp_path / 'model.zip'}", "kachuful")
    for seats in (3, 5):
        rules = find_game("kachuful").make_rules(num_players=seats, max_hand=2)
        agent.check_rules(rules)
        assert play_match("kachuful", rules, agent, find_agent("random", agent.game), 2).deals == 2


def test_what_is_wrong_takes_one_line(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = tmp_path / "text.zip"
    text.write_text("no model")
    for spec, game, message in (
        ("sb3:", "kachuful", "'sb3:' ends where the path of a model should follow"),
        ("sb3:missing.zip", "kachuful", "no agent 'sb3:missing.zip': there is no file missing.zip"),
        (f"sb3:{text}", "kachuful", "is no model that MaskablePPO.save has written"),
        (f"sb3:{model}", "kaschlan", "it was not made for Kaschlan, which has"),
        (f"sb3:{model}", None, "needs a game"),
    ):
        with pytest.raises(ValueError, match=message) as error:
            load_agent(spec, game)
        assert "\n" not in str(error.value)
    agent = load_agent(f"sb3:{model}", "kachuful")
    with pytest.raises(ValueError, match="was not made for Kachuful with 4 players"):
        SingleSeatEnv("kachuful", agent)
    monkeypatch.setitem(sys.modules, "sb3_contrib", None)
    with pytest.raises(ValueError, match="needs stable-baselines3 and sb3-contrib") as error:
        load_agent(f"sb3:{model}", "kachuful")
    assert "pip install 'taash[plugins]'" in str(error.value)
    assert "\n" not in str(error.value)


TOURNAMENT = Path(__file__).parents[2] / "scripts" / "tournament.py"


def tournament(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """Run the script; returns its exit code."""
    return run_script(monkeypatch, "tournament.py", *arguments)


@pytest.mark.slow
def test_tournaments(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Neither the number of workers nor a stop changes a byte, and a model that has changed is not gone on with."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(model, "model.zip")
    agents = ["sb3:model.zip", "sb3:model.zip:sampled", "random"]
    rules = [text for name, value in SMALL["kachuful"].items() for text in (f"--rules.{name}", value)]
    base = ["--game", "kachuful", "--agents", *agents, *rules, "--cross-deals", 1, "--seed", 2]
    assert tournament(monkeypatch, *base, "--deals", 4, "--workers", 1, "--out", "one") == 0
    shown = capsys.readouterr().out
    assert all(f"| `{agent}` |" in shown for agent in agents)
    whole = Path("one/games.jsonl").read_bytes()
    assert tournament(monkeypatch, *base, "--deals", 2, "--workers", 2, "--out", "two") == 0
    assert len(Path("two/games.jsonl").read_bytes()) < len(whole)
    assert tournament(monkeypatch, "--resume", "two", "--deals", 4, "--workers", 2) == 0
    assert Path("two/games.jsonl").read_bytes() == whole
    capsys.readouterr()

    learn(gymnasium.make(IDS["kachuful"], **SMALL["kachuful"]), 96).save("model.zip")
    assert tournament(monkeypatch, "--resume", "two", "--deals", 5) == 2
    error = "tournament.py: two: a checkpoint, a model or the rules have changed since this tournament began\n"
    assert capsys.readouterr().err == error
    Path("model.zip").unlink()
    assert tournament(monkeypatch, "--resume", "two") == 2
    assert capsys.readouterr().err == "tournament.py: no agent 'sb3:model.zip': there is no file model.zip\n"
    assert Path("two/games.jsonl").read_bytes() == whole
