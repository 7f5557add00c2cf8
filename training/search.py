"""Agents that search: flat and perfect-information Monte Carlo, and information-set tree search (see `envs.search`).

They play any game from its contract alone, and on request follow a trained policy (the option `Search.prior`). What
they do depends on the decisions' own keys and on counted budgets, never on time: it is the same on every machine, in
any batch and with any number of threads.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from envs.agents import Decisions
from envs.game import Game
from envs.options import check_choice, check_int, fail
from envs.search.flat import decide_flat, flat_memory
from envs.search.playout import WALKS, beside_rule_players
from envs.search.policy import NO_NETWORK, POLICY, Network, policy_memory
from envs.search.tree import decide_tree, tree_memory
from training.objective import WinChances, check_winnable

if TYPE_CHECKING:
    from training.checkpoint import Policy

CANDIDATES = 4
"""Deals to be weighed for each that a search asks for."""
LEAST_CANDIDATES, MOST_CANDIDATES = 64, 512
WEIGHTS = ("none", "bids", "moves")
MODES = (":greedy", ":sampled", ":search")
"""What may follow the path of a checkpoint in a spec."""
Policies = tuple[tuple[Any, ...], tuple[Any, ...]]
MOST = 10**6
"""Most deals, iterations or nodes of one decision."""
BLOCK = 32
"""Decisions that are made by one call of compiled code."""


def check_number(option: str, value: object, low: float, high: float) -> None:
    """Require a finite number of ``low..high``."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        fail(option, value, f"a number from {low:g} to {high:g}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Search:
    """What all searching agents share. Wrong options raise ValueError in one line.

    The policy of a `prior` is loaded when it is first needed, once; a pickled agent loads it again where it arrives.
    """

    weight: str = "none"
    """Sampled deals count alike (none), or by how well they explain bids or all moves (`envs.game.plausibility`)."""
    temperature: float = 1.0
    """Steps between bids and the rule player's, or other moves than its, that make a deal e times less likely."""
    threads: int = 1
    """Threads that share the decisions of a batch."""
    prior: str = ""
    """Path of a checkpoint or run whose policy guides the search; none if empty."""
    playouts: int = 0
    """Who moves in playouts. 0: the game's strongest rule player; 1: the policy's likeliest actions; 2: those move the
    seat that searches, and the rule player all others. Where the policy comes with a quick network, that stands in."""
    candidates: int = 0
    """Deals to be weighed, of which those of the search are drawn; 0: four for each, 64 to 512 of them."""

    def __post_init__(self) -> None:
        check_choice("weight", self.weight, WEIGHTS)
        check_number("temperature", self.temperature, 0.01, 100)
        check_int("threads", self.threads, 1, 256)
        if not isinstance(self.prior, str) or self.prior.endswith(MODES):
            fail(
                "prior", self.prior, f"the path of a checkpoint or run, without {', '.join(MODES[:-1])} or {MODES[-1]}"
            )
        check_int("playouts", self.playouts, 0, 2)
        check_int("candidates", self.candidates, 0, MOST)
        if self.playouts and not self.prior:
            fail("playouts", self.playouts, "0 where there is no prior")
        if self.candidates and self.weight == "none":
            fail("candidates", self.candidates, "0 where weight is none")

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @property
    def name(self) -> str:
        """The agent's spec, as `training.agents.parse_spec` reads it, without options at their defaults."""
        kind = next(name for name, cls in SEARCHES.items() if cls is type(self))
        changed = [
            f"{field.name}={getattr(self, field.name)}"
            for field in sorted(dataclasses.fields(self), key=lambda field: field.name)
            if getattr(self, field.name) != field.default
        ]
        return f"{kind}:{','.join(changed)}" if changed else kind

    @cached_property
    def policy(self) -> Policy | None:
        """The policy of the prior, if there is one; ValueError (`CheckpointError`) where it cannot be used."""
        if not self.prior:
            return None
        from training.checkpoint import load_policy

        return load_policy(self.prior)

    @cached_property
    def _networks(self) -> tuple[Network, Network]:
        """For compiled code: the policy, and what stands in for it in playouts."""
        if self.policy is None:
            return NO_NETWORK, NO_NETWORK
        network = self.policy.network.joined()
        return network, network if self.policy.quick is None else self.policy.quick.joined()

    def check_game(self, game: Game) -> None:
        """Raise ValueError where the prior cannot be used, or was made for another game."""
        if self.policy is not None:
            self.policy.check_game(self.prior, game)

    def check_rules(self, rules: Any) -> None:
        """Raise ValueError where the prior cannot be used, or was made for another number of seats."""
        if self.policy is not None:
            self.policy.check_rules(self.prior, rules)

    def act(self, decisions: Decisions) -> np.ndarray:
        """(B,) int64 legal actions."""
        return self._decide(decisions, 0)[0]

    def values(self, decisions: Decisions) -> np.ndarray:
        """(B, A) float64: mean outcome of each action for the seat to act, in the game's rewards.

        With a `spread` it is the mean chance to win instead. NaN for illegal and untried actions, and where there is
        nothing to decide.
        """
        return self._decide(decisions, decisions.game.num_actions)[1]

    def _decide(self, decisions: Decisions, width: int) -> tuple[np.ndarray, np.ndarray]:
        # Beyond what the policy was made for, compiled code would read what is not there.
        self.check_game(decisions.game)
        self.check_rules(decisions.rules)
        count, (network, quick) = len(decisions), self._networks
        wide = self.policy is not None and self.policy.pad_seats
        chosen, worth = np.zeros(count, np.int64), np.full((count, width), np.nan)
        bounds = np.linspace(0, count, min(self.threads, max(count, 1)) + 1).astype(int)

        def part(i: int) -> None:
            # In blocks: an interrupt waits for the compiled code to return.
            for first in range(bounds[i], bounds[i + 1], BLOCK):
                rows = slice(first, min(first + BLOCK, bounds[i + 1]))
                policies = policy_memory(network, wide), policy_memory(quick, wide)
                self._search(decisions, rows, policies, chosen[rows], worth[rows])

        # The compiled code holds no lock of the interpreter, so that threads do work side by side.
        if len(bounds) == 2:
            part(0)
        else:
            with ThreadPoolExecutor(len(bounds) - 1) as pool:
                list(pool.map(part, range(len(bounds) - 1)))
        return chosen, worth

    def _candidates(self, deals: int) -> int:
        """Deals to be weighed, of which the search draws."""
        if self.weight == "none":
            return 0
        return self.candidates or min(max(deals * CANDIDATES, LEAST_CANDIDATES), MOST_CANDIDATES)

    def _kind(self, game: Game) -> int:
        """Who moves in playouts, as compiled code knows players."""
        strongest = len(game.rule_players) - 1
        return (strongest, POLICY, beside_rule_players(strongest))[self.playouts]

    @abstractmethod
    def _search(
        self, decisions: Decisions, rows: slice, policies: Policies, chosen: np.ndarray, worth: np.ndarray
    ) -> None:
        """Decide some rows of the batch; `policies` are from `policy_memory`: the prior's, and that of playouts."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class MonteCarlo(Search):
    """Flat Monte Carlo: each legal action in the same sampled deals, played out by the game's strongest rule player.

    With a prior the policy's likeliest action takes the place of the rule player's own choice.
    """

    deals: int = 64
    """Sampled deals for each action of a decision, on average."""
    halving: int = 1
    """1: the better actions get more deals, the worse ones are dropped in phases; 0: all meet all deals."""
    caution: float = 1.0
    """Standard errors by which the mean of another action must lead the rule player's, or the prior's, own choice."""
    walk: int = 0
    """Exchanges of two hidden cards that are tried from one deal to the next, as `envs.search.playout.walk_deals` does;
    0: deals are drawn of those that were weighed."""
    least: float = 0.0
    """With a prior: chance that the policy must give an action for it to be tried; what it would do always is."""
    spread: float = 0.0
    """Standard deviation of a seat's points in a round, where actions are compared by the chance to win the game that
    they leave (see `training.objective`); 0: by the outcome of the round."""
    edge: float = 0.0
    """With a spread: points that the seat expects to gain on each other one in every round left."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_int("deals", self.deals, 1, MOST)
        check_int("halving", self.halving, 0, 1)
        check_number("caution", self.caution, 0, 100)
        check_number("least", self.least, 0, 1)
        check_number("spread", self.spread, 0, 1000)
        check_number("edge", self.edge, 0, 1000)
        if self.edge and not self.spread:
            fail("edge", self.edge, "0 where spread is 0")
        check_int("walk", self.walk, 0, MOST)
        if self.walk and self.weight == "none":
            fail("walk", self.walk, "0 where weight is none")
        if self.least and not self.prior:
            fail("least", self.least, "0 where there is no prior")

    def _ending(self) -> tuple[int, int]:
        return 0, 0

    def _aim(self, game: Game, rules: Any) -> tuple[float, float, float, float]:
        """What compiled code wants to know to compute a chance to win."""
        if not self.spread:
            return 1.0, 0.0, 0.0, 0.0
        chances = WinChances(game, rules, self.spread, self.edge)
        return chances.points, float(chances.rounds), chances.scale, float(self.edge)

    def check_rules(self, rules: Any) -> None:
        """See `Search.check_rules`; ValueError also where no chance to win can be told from scores."""
        super().check_rules(rules)
        if self.spread:
            check_winnable(rules, f"spread={self.spread:g}")

    def _pool(self) -> int:
        """Deals that a walk draws."""
        return max(self.deals, WALKS) if self.walk else 0

    def _search(
        self, decisions: Decisions, rows: slice, policies: Policies, chosen: np.ndarray, worth: np.ndarray
    ) -> None:
        game, (exact, nodes) = decisions.game, self._ending()
        decide_flat(
            decisions.states[rows], decisions.options, decisions.keys[rows], self._kind(game), self.deals,
            self.halving == 1, exact, nodes, self.weight == "moves", float(self.temperature), self.walk,
            float(self.caution), float(self.least), self._aim(game, decisions.rules), *policies,
            flat_memory(game.state, game.num_actions, self._candidates(self.deals), self._pool()), chosen, worth,
        )  # fmt: skip


@dataclasses.dataclass(frozen=True, kw_only=True)
class PerfectInformation(MonteCarlo):
    """Perfect-information Monte Carlo: as `MonteCarlo`, but near the end each sampled deal is solved, cards open."""

    exact: int = 5
    """Deals are solved where the round ends within this many moves a seat (cards in hand, in trick games)."""
    nodes: int = 20_000
    """Most moves of solving one deal, all actions together; where they are too few the deal is played out."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_int("exact", self.exact, 0, 60)
        check_int("nodes", self.nodes, 1, MOST)

    def _ending(self) -> tuple[int, int]:
        return self.exact, self.nodes


@dataclasses.dataclass(frozen=True, kw_only=True)
class InformationSet(Search):
    """Single-observer information-set Monte Carlo tree search with playouts by the game's strongest rule player.

    With a prior the tree is grown by the PUCT rule, from the policy's probabilities, instead of UCB1.
    """

    iterations: int = 2000
    """Sampled deals and playouts a decision."""
    c: float = 0.7
    """Exploration, outcomes being scaled to 0..1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_int("iterations", self.iterations, 1, MOST)
        check_number("c", self.c, 0, 100)

    def _search(
        self, decisions: Decisions, rows: slice, policies: Policies, chosen: np.ndarray, worth: np.ndarray
    ) -> None:
        game = decisions.game
        decide_tree(
            decisions.states[rows], decisions.options, decisions.keys[rows], self._kind(game), self.iterations,
            float(self.c), self.weight == "moves", float(self.temperature), *policies,
            tree_memory(
                game.state, game.num_actions, self.iterations, self._candidates(self.iterations), bool(self.prior)
            ),
            chosen, worth,
        )  # fmt: skip


SEARCHES: dict[str, type[Search]] = {
    "montecarlo": MonteCarlo,
    "pimc": PerfectInformation,
    "ismcts": InformationSet,
}
"""Searching agents by the name that specs give them."""
LOOKAHEAD: dict[str, Any] = {
    "weight": "moves", "temperature": 0.3, "deals": 64, "candidates": 64, "walk": 64, "playouts": 2, "least": 0.02,
}  # fmt: skip
"""How ``CHECKPOINT:search`` looks ahead, where its run's config says nothing else; see `look_ahead`."""


def look_ahead(prior: str, config: Mapping[str, Any]) -> MonteCarlo:
    """The search that puts looking ahead before a checkpoint's policy.

    Args:
        prior: path of the checkpoint.
        config: the config of its run; its section ``search`` has options that go before `LOOKAHEAD`. Where it has no
            spread, the search aims as the policy has learnt to: at points, or at winning the game.

    Raises:
        ValueError: unknown or impossible options.
    """
    own, rollout = config.get("search", {}), config.get("rollout", {})
    known = {field.name for field in dataclasses.fields(MonteCarlo)} - {"prior"}
    for name in own:
        if name not in known:
            raise ValueError(f"no option {name!r}; options are {', '.join(sorted(known))}")
    aim: dict[str, Any] = {}
    if "spread" not in own and rollout.get("objective") == "win":
        aim = {"spread": float(rollout["round_spread"]), "edge": float(rollout.get("round_edge", 0.0))}
    return MonteCarlo(prior=prior, **{**LOOKAHEAD, **aim, **own})
