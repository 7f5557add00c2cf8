"""The small network that moves the learner's seats in playouts, and learns to do as the policy does."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from test_trainer import check_threads_add_up, tiny, weights

from training.config import Config, ImitationConfig, RolloutConfig
from training.opponents import SNAPSHOT
from training.trainer import Trainer


def mimicking(threads: int = 1, hidden: tuple[int, ...] = (16,)) -> Config:
    """Everything played out by a mimic of the policy."""
    config = tiny(threads=threads)
    rollout = replace(config.rollout, lookahead="policy", lookahead_least=0.1, playout_hidden=list(hidden))
    return replace(config, rollout=rollout, ppo=replace(config.ppo, temperature=0.0))


def test_the_mimic_moves_the_learner_in_playouts() -> None:
    found = []
    for same in (None, True, False):
        trainer = Trainer(mimicking(hidden=()))
        mimic = None if same is None else copy.deepcopy(trainer.network)
        if mimic is not None and not same:
            with torch.no_grad():
                for parameter in mimic.parameters():
                    parameter.neg_()
        kept = trainer.rollouts[0].collect(trainer.network, 0.9, 0.1, mimic=mimic)
        found.append((kept.action.clone(), kept.outcomes.clone()))
    (action, outcomes), (same_action, same_outcomes), (other_action, other_outcomes) = found
    assert torch.equal(action, same_action)
    assert torch.equal(outcomes, same_outcomes)
    assert torch.equal(action[0], other_action[0])  # the policy decides at the tables
    assert not torch.equal(outcomes[0], other_outcomes[0])


def test_the_mimic_learns_what_the_policy_does() -> None:
    config = mimicking(hidden=(32,))
    imitation = ImitationConfig(decisions=16 * 32 * 30)
    trainer = Trainer(replace(config, imitation=imitation, run=replace(config.run, decisions=16 * 32 * 40)))
    losses = [trainer.update()["losses/mimic_loss"] for _ in range(40)]
    assert losses[0] > losses[10] > losses[-1]
    assert trainer.mimic is not None
    kept = trainer.rollouts[0].decisions
    logits = [network(kept.observation.flatten(0, 1))[0] for network in (trainer.network, trainer.mimic)]
    legal, count = kept.legal.flatten(0, 1).long(), kept.count.flatten()
    listed = torch.arange(legal.shape[1]) < count[:, None]
    best = [x.gather(1, legal).masked_fill(~listed, -torch.inf).argmax(dim=1) for x in logits]
    assert float((best[0] == best[1])[count > 1].float().mean()) > 0.7


def test_the_policy_learns_the_same_from_a_mimic_of_another_size_while_it_imitates() -> None:
    # Nothing is played out then, and the mimic's loss must not reach the policy.
    imitation = ImitationConfig(decisions=16 * 32 * 4)
    trainers = [Trainer(replace(mimicking(hidden=hidden), imitation=imitation)) for hidden in ((8,), (24, 8))]
    trainers[1].network.load_state_dict(trainers[0].network.state_dict())
    for trainer in trainers:
        trainer.generator.manual_seed(1)
        trainer.update()
    assert torch.equal(*map(weights, trainers))


def test_the_mimic_is_not_shown_what_others_decide() -> None:
    config = mimicking()
    rollout = replace(config.rollout, opponents={"self": 1.0, SNAPSHOT: 3.0}, learner_seats=1)
    trainer = Trainer(replace(config, rollout=rollout))
    (played,) = trainer.rollouts
    played.collect(trainer.network, 0.9, 0.1, mimic=trainer.mimic)
    times = torch.arange(16)
    choice, own = played.learnt.choice, torch.from_numpy(played.own)
    seen = played.inputs(times, trainer.network.inputs)
    before = trainer._mimic_loss(played, times, seen)
    assert 0 < int(own.sum()) < own.numel()
    choice[~own] = 0
    assert torch.equal(trainer._mimic_loss(played, times, seen), before)
    choice[own] = 0
    assert not torch.equal(trainer._mimic_loss(played, times, seen), before)


def test_mimics_add_up_to_one_gradient_over_threads() -> None:
    check_threads_add_up(Trainer(mimicking(threads=2)), Trainer(mimicking()))


def test_resume_goes_on_exactly_with_a_mimic(tmp_path: Path) -> None:
    straight, stopped, resumed = (Trainer(mimicking()) for _ in range(3))
    for _ in range(4):
        straight.update()
    for _ in range(2):
        stopped.update()
    stopped.save(tmp_path)
    resumed.resume(tmp_path)
    for _ in range(2):
        resumed.update()
    assert torch.equal(weights(straight), weights(resumed))
    ours, theirs = straight.state(), resumed.state()
    assert any(name.startswith("mimic.") for name in ours)
    assert set(ours) == set(theirs)
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_mimic_takes_playouts_by_the_policy() -> None:
    with pytest.raises(
        ValueError, match=r"rollout\.playout_hidden is not possible: it takes rollout\.lookahead policy"
    ):
        RolloutConfig(lookahead="rule", playout_hidden=[16])
    with pytest.raises(ValueError, match=r"rollout\.playout_hidden must be an integer of at least 1"):
        RolloutConfig(lookahead="policy", playout_hidden=[0])
