"""Evaluations while training: what they say, and that they leave the training alone."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from test_methods import everything
from test_ranks import Part
from test_trainer import tiny, weights

from envs.aec import TableEnv
from envs.agents import find_agent
from envs.game import find_game
from training import trainer as trainer_module
from training.agents import load_agent
from training.arena import play_match
from training.checkpoint import BEST, find_checkpoint, list_checkpoints, load_policy, read_best
from training.config import Config
from training.evaluation import SEED, Evaluation, Evaluator, game_text
from training.network import PolicyNetwork, make_policy_network
from training.report import Estimate, summarize
from training.trainer import Trainer

ALWAYS, DEALS = 1e-9, 6


def evaluating(config: Config, minutes: float | None = ALWAYS, updates: int = 4) -> Config:
    batch = config.rollout.tables * config.rollout.steps
    run = replace(config.run, decisions=batch * updates, evaluate_minutes=minutes, evaluate_deals=DEALS)
    return replace(config, run=run)


def events(run: Path) -> EventAccumulator:
    found = EventAccumulator(str(run / "tensorboard"), size_guidance={"tensors": 0, "images": 0, "scalars": 0})
    found.Reload()
    return found


def test_training_does_not_notice(tmp_path: Path) -> None:
    """Weights, optimizer and all sources of chance are bit for bit what they are without evaluations."""
    states = []
    for minutes in (ALWAYS, None):
        trainer = Trainer(evaluating(everything(), minutes))
        chance = torch.get_rng_state()
        assert trainer.train(tmp_path / str(minutes), quiet=True)
        states.append({**trainer.state(), **trainer.rollouts[0].state(), "weights": weights(trainer)})
        assert torch.equal(torch.get_rng_state(), chance)
    assert read_best(tmp_path / str(ALWAYS)) is not None
    assert read_best(tmp_path / "None") is None
    assert set(states[0]) == set(states[1])
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_a_run_shows_what_it_can_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trainer = Trainer(evaluating(tiny()))
    assert trainer.train(tmp_path)
    found = events(tmp_path)
    tags = found.Tags()
    for opponent in ("counting", "heuristic"):
        for name in ("win_share", "points_per_round", "exact", "bid", "tricks"):
            for end in ("", "_low", "_high"):
                assert [e.step for e in found.Scalars(f"evaluation/{opponent}/{name}{end}")] == [512, 1024, 1536, 2048]
        assert f"evaluation/{opponent}/calls" in tags["images"]
        assert found.Images(f"evaluation/{opponent}/calls")[-1].encoded_image_string.startswith(b"\x89PNG")
    text = found.Tensors("evaluation/heuristic/game/text_summary")[-1].tensor_proto.string_val[0].decode()
    assert all(line.startswith("    ") for line in text.splitlines())
    assert "moves by seat: " in text
    assert {"time/play", "time/learn", "time/update", "time/evaluation"} <= set(tags["scalars"])
    err = capsys.readouterr().err
    assert err.count("evaluation at 0.0 M decisions: wins ") == 4
    assert "against heuristic" in err
    # It is what a match of the checkpoint says.
    agent = load_agent(str(tmp_path))
    match = play_match(trainer.game, trainer.rules, agent, load_agent("heuristic", "kachuful"), DEALS, SEED)
    last = found.Scalars("evaluation/heuristic/points_per_round")[-1]
    expected = summarize(match).points_per_round
    assert expected is not None
    assert last.value == pytest.approx(expected.mean)


def test_time_spent_is_not_training_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = Trainer(evaluating(tiny()))

    def slow(_network: PolicyNetwork, _stop: Callable[[], bool]) -> None:
        time.sleep(1.0)

    monkeypatch.setattr(trainer.evaluator, "evaluate", slow)
    started = time.perf_counter()
    trainer.train(tmp_path, quiet=True)
    wall, found = time.perf_counter() - started, events(tmp_path)
    assert trainer.seconds < wall - 4 + 0.1
    updates = [event.value for event in found.Scalars("time/update")]
    assert trainer.seconds == pytest.approx(sum(updates), rel=1e-3)
    parts = zip(found.Scalars("time/play"), found.Scalars("time/learn"), strict=True)
    assert [play.value + learn.value for play, learn in parts] == pytest.approx(updates)
    assert [event.value for event in found.Scalars("charts/SPS")] == pytest.approx([512 / x for x in updates], rel=1e-3)


def scripted(trainer: Trainer, monkeypatch: pytest.MonkeyPatch, shares: list[float]) -> None:
    """Let evaluations find these win shares, one after the other."""
    genuine = trainer.evaluator.evaluate

    def evaluate(network: PolicyNetwork, stop: Callable[[], bool]) -> Evaluation | None:
        found = genuine(network, stop)
        assert found is not None
        found.summaries[-1] = replace(found.judged, win_share=Estimate(shares.pop(0), None, None))
        return found

    monkeypatch.setattr(trainer.evaluator, "evaluate", evaluate)


def test_the_best_checkpoint_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trainer = Trainer(evaluating(tiny(), updates=6))
    scripted(trainer, monkeypatch, [0.1, 0.4, 0.3, 0.4, 0.2, 0.1])
    trainer.train(tmp_path)
    assert [int(folder.name) for folder in list_checkpoints(tmp_path)] == [4 * 512, 6 * 512]
    assert find_checkpoint(tmp_path / BEST) == list_checkpoints(tmp_path)[0]
    assert load_policy(tmp_path / BEST).decisions == 4 * 512
    assert load_policy(tmp_path).decisions == 6 * 512
    monkeypatch.chdir(tmp_path)
    for spec in ("best", f"{BEST}:sampled", str(tmp_path / BEST)):
        agent: Any = load_agent(spec, "kachuful")
        assert agent.policy.decisions == 4 * 512
        assert agent.greedy == (not spec.endswith(":sampled"))
    best = read_best(tmp_path)
    assert best is not None
    assert (best["win_share"], best["decisions"], best["evaluated"]) == (0.4, 4 * 512, 6 * 512)
    assert capsys.readouterr().err.count("the best so far") == 3

    # A run that goes on keeps it, until another does better.
    longer = replace(trainer.config, run=replace(trainer.config.run, decisions=8 * 512))
    resumed = Trainer(longer)
    resumed.resume(tmp_path)
    scripted(resumed, monkeypatch, [0.3, 0.5])
    resumed.train(tmp_path, quiet=True)
    assert [int(folder.name) for folder in list_checkpoints(tmp_path)] == [8 * 512]
    assert load_policy(tmp_path / BEST).decisions == 8 * 512

    # Nothing is left: nothing is evaluated again; other deals are another contest.
    again = Trainer(longer)
    again.resume(tmp_path)
    scripted(again, monkeypatch, [])
    assert again.train(tmp_path, quiet=True)
    other = Trainer(evaluating(replace(longer, run=replace(longer.run, evaluate_deals=3)), updates=9))
    other.resume(tmp_path)
    other.evaluator.deals = 3
    scripted(other, monkeypatch, [0.2])
    other.train(tmp_path, quiet=True)
    assert load_policy(tmp_path / BEST).decisions == 9 * 512


def test_evaluations_keep_their_pace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One falls due with every so many seconds of training, wherever a run was left and resumed."""
    trainer = Trainer(evaluating(tiny(), 5.0))
    found = []
    for before, now in ((0.0, 299.0), (299.0, 301.0), (301.0, 599.0), (599.0, 900.0)):
        trainer.seconds = now
        found.append(trainer._evaluation_due(before))
    assert found == [False, True, False, True]
    trainer.seconds = 0.0
    trainer.train(tmp_path, quiet=True)
    assert [e.step for e in events(tmp_path).Scalars("evaluation/heuristic/win_share")] == [2048]  # the end


def test_only_the_first_rank_evaluates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = Trainer(evaluating(tiny()), Part(1))
    monkeypatch.setattr(trainer.evaluator, "evaluate", lambda *_: pytest.fail("the second rank evaluates"))
    assert trainer.train(tmp_path, quiet=True)
    assert not list(tmp_path.iterdir())


def test_interrupt_during_an_evaluation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trainer = Trainer(evaluating(tiny(), updates=10))
    genuine = trainer.evaluator.evaluate

    def evaluate(network: PolicyNetwork, stop: Callable[[], bool]) -> Evaluation | None:
        if trainer.updates == 2:
            signal.raise_signal(signal.SIGINT)
        found = genuine(network, stop)
        assert (found is None) == (trainer.updates == 2)
        return found

    monkeypatch.setattr(trainer.evaluator, "evaluate", evaluate)
    assert not trainer.train(tmp_path)
    assert trainer.updates == 2
    assert load_policy(tmp_path).decisions == 1024
    assert load_policy(tmp_path / BEST).decisions == 512
    assert [e.step for e in events(tmp_path).Scalars("evaluation/counting/win_share")] == [512]
    assert "Traceback" not in capsys.readouterr().err


def test_without_matplotlib_one_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(_draw: object) -> bytes:
        raise ImportError("No module named 'matplotlib'")

    monkeypatch.setattr(trainer_module, "draw_png", missing)
    Trainer(evaluating(tiny())).train(tmp_path)
    assert capsys.readouterr().err.count("Matplotlib is not installed") == 1
    assert not events(tmp_path).Tags()["images"]


@pytest.mark.parametrize(
    ("name", "rules", "opponents", "has_calls"),
    [
        ("kachuful", {"max_hand": 2, "num_players": 5}, ("counting", "heuristic"), True),
        ("call_break", {"rounds": 1}, ("counting", "heuristic"), True),
        ("kaschlan", {"num_players": 2}, ("lowest", "heuristic"), False),
        ("toy", {}, ("lowest",), False),
    ],
)
def test_all_games(name: str, rules: dict[str, Any], opponents: tuple[str, ...], has_calls: bool) -> None:
    game = find_game(name)
    options = game.make_rules(**rules)
    evaluator = Evaluator(game, options, True, 3)
    network = make_policy_network(game, options.num_players, True, [8], generator=torch.Generator().manual_seed(0))
    found, again = (evaluator.evaluate(network) for _ in range(2))
    assert found is not None
    assert again is not None
    assert found.scalars() == again.scalars()
    assert found.sample == again.sample
    assert tuple(summary.opponent for summary in found.summaries) == evaluator.opponents == opponents
    assert all(0 <= summary.win_share.mean <= 1 for summary in found.summaries)
    for own, summary in zip(found.calls, found.summaries, strict=True):
        assert bool(own) == has_calls
        if has_calls:
            rounds = {who: sum(count for count, _, _ in calls.values()) for who, calls in own.items()}
            others = options.num_players - 1
            assert rounds == {"policy": summary.rounds, summary.opponent: others * summary.rounds}
    assert ("points_per_round" in str(found.scalars())) == (game.points is not None)


def test_a_game_as_text() -> None:
    game = find_game("kachuful")
    rules = game.make_rules(max_hand=2)
    env = TableEnv(game, render_mode="ansi", max_hand=2)
    env.reset(seed=3)
    moves = []
    for agent in env.agent_iter():
        mask = env.observe(agent)["action_mask"]
        if env.terminations[agent]:
            break
        moves.append(int(mask.argmax()))
        env.step(moves[-1])
    text = game_text(game, rules, 3, moves)
    rounds = env.snapshot()["round"] + 1
    assert text.count("moves by seat") == rounds
    assert text.endswith(str(env.render()))
    told = " ".join(text.split())
    assert all(f"{seat} {name}" in told for seat, name in env.history)


def test_an_opponent_for_games_without_rule_players() -> None:
    game = replace(find_game("toy"), rule_players=())
    assert Evaluator(game, None, False, 2).opponents == ("random",)
    assert find_agent("random", game).name == "random"
