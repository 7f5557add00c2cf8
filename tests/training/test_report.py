"""What is said of matches in games that score points and in games that do not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import toy
from rich.console import Console

from envs import loops
from envs.agents import find_agent
from envs.game import Game, find_game
from envs.vector import VectorEnv
from training.arena import Match, first_deal, play_match
from training.report import Estimate, match_document, match_table, summarize

KACHUFUL = find_game("kachuful")
KASCHLAN = find_game("kaschlan")


def played(game: Game, names: tuple[str, str] = ("random", "random"), deals: int = 12, **rules: Any) -> Match:
    """A match between two built-in players."""
    return play_match(game, game.make_rules(**rules), *(find_agent(name, game) for name in names), deals=deals)


def printed(*matches: Match) -> str:
    """The table of some matches, as text."""
    console = Console(width=200)
    with console.capture() as capture:
        console.print(match_table([summarize(match) for match in matches]))
    return capture.get()


def entries(match: Match) -> dict[str, Any]:
    """What a file says of a match."""
    document = match_document([match], [summarize(match)], ["x"], True, ["one", "other"])
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    return document["tables"][0]


def test_a_game_without_points_has_places_and_statistics() -> None:
    match = played(KASCHLAN, num_players=3, payoff="places")
    assert match.points is match.opponent_points is None
    table = entries(match)
    assert not [name for name in table if "points" in name]
    assert {"win_share", "place", "statistics", "opponent_win_share", "opponent_place"} <= set(table)
    assert list(table["statistics"]) == list(KASCHLAN.statistics)
    assert table["rounds"] == table["games"] == 36
    text = printed(match)
    assert "points" not in text
    for name in ("win share", "place", "opponent's place", "lost per game", "picked up per game"):
        assert name in text
    summary = summarize(match)
    assert summary.place.mean == pytest.approx(summary.statistics["place"].mean)
    assert summary.opponent_place.mean == pytest.approx(summary.opponent_statistics["place"].mean)


def test_a_game_with_points_keeps_what_it_has() -> None:
    table = entries(played(KACHUFUL, max_hand=2))
    assert {
        "candidate", "opponent", "deals", "games", "rounds", "par", "win_share", "points_per_round", "statistics",
        "opponent_win_share", "opponent_points_per_round", "opponent_statistics", "place", "opponent_place",
        "difference",
    } == set(table)  # fmt: skip
    text = printed(played(KACHUFUL, max_hand=2))
    for name in ("points per round", "opponent's points", "exact per round", "place"):
        assert name in text


@pytest.mark.parametrize(
    ("game", "rules"), [(KACHUFUL, {"max_hand": 2}), (KASCHLAN, {"num_players": 5}), (toy.GAME, {})]
)
def test_places_are_means_over_games(game: Game, rules: dict[str, Any]) -> None:
    """Of a table of equals that ends as one of its games does: the deal is the same from each seat."""
    match = played(game, deals=5, **rules)
    n = match.rules.num_players
    env = VectorEnv(game, 5, first_deal(0), restart=False, players=np.zeros(n, np.int8), **rules)
    env.reset()
    places = np.zeros((5, n), np.int64)
    loops.find_places(env.get_state(), match.rules.record(), places)
    assert match.place == pytest.approx(places.mean(axis=1))
    assert match.opponent_place == pytest.approx(places.mean(axis=1))


def test_a_loser_takes_the_last_place() -> None:
    """All others share the first."""
    match = played(KASCHLAN, num_players=4, deals=30)
    lost = match.statistics[:, KASCHLAN.statistics.index("lost")]
    drawn = match.statistics[:, KASCHLAN.statistics.index("drawn")]
    assert match.place == pytest.approx(1 + 3 * lost)
    assert (lost + drawn / 4 <= 1 / 4 + 1e-9).all()
    assert match.win_share == pytest.approx(np.full(30, 0.25))


def test_shares_without_an_exception_keep_a_doubt() -> None:
    """A share of 0 or 1 in all deals has the interval of a win share; a mean of something else has none."""
    game = replace(KASCHLAN, shares=("lost", "drawn", "truncated"))
    match = replace(played(KASCHLAN, max_bouts=1), game=game)
    summary = summarize(match)
    unseen = 0.025 ** (1 / 12)
    assert summary.statistics["truncated"] == Estimate(1.0, unseen, 1.0)
    assert summary.opponent_statistics["lost"] == Estimate(0.0, 0.0, 1 - unseen)
    assert summary.statistics["payoff"] == Estimate(0.0, 0.0, 0.0)
    assert summary.statistics["bouts"] == Estimate(1.0, 1.0, 1.0)
    text = printed(match)
    assert f"100.0 % [{100 * unseen:.1f}, 100.0]" in text
    assert "shares" not in entries(match)
