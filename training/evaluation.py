"""What a policy that is still learning can do by now: matches on the same deals each time, curves, pictures, a game."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from envs.aec import TableEnv
from envs.agents import find_agent
from envs.game import Game
from training.agents import PolicyAgent
from training.arena import play_match
from training.checkpoint import Policy
from training.network import PolicyNetwork, make_policy_network
from training.pictures import Calls, call_statistics, count_calls
from training.played import Played
from training.report import Summary, summarize

SEED = 0
"""Names the deals, which are far from those trained on."""
CHUNK = 25
"""Deals between two looks at whether to stop."""
LEARNER = "policy"


@dataclass(frozen=True)
class Evaluation:
    """Matches of one policy; the last is the one that the best checkpoint is chosen by."""

    summaries: list[Summary]
    calls: list[dict[str, Calls]]
    """By match, calls of `LEARNER` and of the opponent against it; empty in games without bids."""
    sample: str
    """One game of the last match as text, the policy in seat 0."""

    @property
    def judged(self) -> Summary:
        """The match that the best checkpoint is chosen by."""
        return self.summaries[-1]

    def scalars(self) -> dict[str, float]:
        """Curves: ``evaluation/OPPONENT/NAME`` and, ending in ``_low`` and ``_high``, the ends of its interval."""
        found: dict[str, float] = {}
        for summary in self.summaries:
            means = {"win_share": summary.win_share, **summary.statistics}
            if summary.points_per_round is not None:
                means.pop("points", None)  # the same by another name
                means["points_per_round"] = summary.points_per_round
            for name, mean in means.items():
                ends = {"": mean.mean, "_low": mean.low, "_high": mean.high}
                curve = f"evaluation/{summary.opponent}/{name}"
                found |= {f"{curve}{end}": value for end, value in ends.items() if value is not None}
        return found

    def line(self) -> str:
        """The result in a line."""
        parts = [
            f"{summary.win_share.text(percent=True)} against {summary.opponent}" for summary in reversed(self.summaries)
        ]
        return f"wins {', '.join(parts)} (par {100 * self.judged.par:.1f} %)"

    def score(self) -> dict[str, Any]:
        """What the best checkpoint is chosen by, as plain JSON types."""
        judged = self.judged
        share = {"win_share": judged.win_share.mean, "low": judged.win_share.low, "high": judged.win_share.high}
        return {"opponent": judged.opponent, "deals": judged.deals, "seed": SEED, **share}


class Evaluator:
    """Measures policies for one game and its rules; what it plays depends on the policy alone.

    Args:
        game: the game.
        rules: its option object.
        pad_seats: whether observations are laid out for the largest table.
        deals: deals of each match, 2 or more.
    """

    def __init__(self, game: Game, rules: Any, pad_seats: bool, deals: int) -> None:
        self.game, self.rules, self.pad_seats, self.deals = game, rules, pad_seats, deals

    @cached_property
    def opponents(self) -> tuple[str, ...]:
        """The game's first rule-based player and, where it is another, its last; without any, the random player."""
        players = self.game.rule_players or ("random",)
        return tuple(dict.fromkeys((players[0], players[-1])))

    def evaluate(self, network: PolicyNetwork, stop: Callable[[], bool] = lambda: False) -> Evaluation | None:
        """Play the likeliest actions of a network, in float32; its weights and all sources of chance stay as they are.

        Args:
            network: the policy.
            stop: asked now and then whether to give up.

        Returns:
            What was found, or None where `stop` said so.
        """
        with torch.random.fork_rng(devices=[]):  # layers draw weights when they are made
            own = make_policy_network(self.game, self.rules.num_players, self.pad_seats, network.hidden, network.suits)
        own.load_state_dict(network.state_dict())
        policy = PolicyAgent(LEARNER, Policy(self.game, asdict(self.rules), self.pad_seats, own.eval(), 0))
        summaries, calls = [], []
        games: list[tuple[Played, np.ndarray]] = []

        def look(_done: int) -> None:
            if stop():
                raise _StoppedError

        try:
            for name in self.opponents:
                games.clear()
                match = play_match(
                    self.game, self.rules, policy, find_agent(name, self.game), self.deals, SEED,
                    chunk=CHUNK, progress=look, watch=lambda *played: games.append(played),
                )  # fmt: skip
                summaries.append(summarize(match))
                calls.append(_calls(self.game, name, games))
        except _StoppedError:
            return None
        first = games[0][0]
        moves = first.moves[0, : int(first.made[0])].tolist()
        return Evaluation(summaries, calls, game_text(self.game, self.rules, match.first_seed, moves))


class _StoppedError(Exception):
    """The evaluation is not wanted any more."""


def _calls(game: Game, opponent: str, games: list[tuple[Played, np.ndarray]]) -> dict[str, Calls]:
    """Calls of the policy and of its opponents, over all rounds of some games."""
    names = call_statistics(game)
    if names is None:
        return {}
    columns = [game.statistics.index(name) for name in names]
    found = {}
    for name, is_policy in ((LEARNER, True), (opponent, False)):
        rows = []
        for played, is_candidate in games:
            there = np.arange(played.log.shape[1]) < played.rounds[:, None]
            rows.append(played.log[there[:, :, None] & (is_candidate == is_policy)[:, None, :]])
        found[name] = count_calls(*np.concatenate(rows)[:, columns].T)
    return found


def game_text(game: Game, rules: Any, seed: int, moves: list[int]) -> str:
    """A game as text: the open table as each round (or bout) begins and at the end, and the moves in between.

    Args:
        game: the game.
        rules: its option object.
        seed: the game is the one that ``reset(seed=seed)`` starts.
        moves: all moves but those that the game makes by itself.
    """
    env = TableEnv(game, render_mode="ansi", **asdict(rules))
    env.reset(seed=seed)
    snapshot = env.snapshot()
    span = "bout" if "bout" in snapshot else "round"
    tables, starts = [str(env.render())], [0]
    number = snapshot[span]
    for move in moves:
        env.step(move)
        snapshot = env.snapshot()
        if snapshot[span] != number or snapshot["finished"]:
            number = snapshot[span]
            tables.append(str(env.render()))
            starts.append(len(env.history))
    parts = [tables[0]]
    for table, (first, last) in zip(tables[1:], pairwise(starts), strict=True):
        made = ", ".join(f"{seat} {name}" for seat, name in env.history[first:last])
        parts += ["", *textwrap.wrap(f"moves by seat: {made}", 100, initial_indent="  ", subsequent_indent="    ")]
        parts += ["", table]
    return "\n".join(parts)
