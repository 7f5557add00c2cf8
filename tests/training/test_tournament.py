"""Tournaments: seatings, folders, replays and what is said of them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from envs import kachuful_v0
from envs.game import find_game
from training.arena import play_match
from training.crew import Crew, Team
from training.played import play_games, start
from training.report import paired, summarize
from training.standings import rate, separable, standings
from training.tournament import CROSS, GAMES, MIXED, Folder, labels, seatings, settings_of
from training.tournament_report import report_text

GAME = find_game("kachuful")


def team(*specs: str, game: str = "kachuful", **rules: Any) -> Team:
    found = find_game(game)
    return Team.load(found, found.make_rules(**({"max_hand": 2} if game == "kachuful" else {}) | rules), specs)


def played(path: Path, crew: Crew, deals: int, cross: int = 1) -> Folder:
    folder = Folder.create(path, settings_of(crew.team, 3, cross))
    folder.play(crew, deals, lambda done: None)
    return folder


@pytest.mark.parametrize(("agents", "seats"), [(2, 4), (3, 4), (4, 4), (6, 4), (2, 3), (5, 8)])
def test_every_agent_sits_in_every_seat_once_a_deal(agents: int, seats: int) -> None:
    for deal in range(20):
        tables = seatings(agents, seats, 1, deal, True)
        mixed = [own for kind, own in tables if kind == MIXED]
        assert Counter((k, seat) for own in mixed for seat, k in enumerate(own)) == Counter(
            {(k, seat): 1 for k in range(agents) for seat in range(seats)}
        )
        for own in mixed:
            counts = Counter(own)
            assert len(counts) == min(agents, seats)
            assert max(counts.values()) - min(counts.values()) <= 1
        cross = [own for kind, own in tables if kind == CROSS]
        assert len(set(cross)) == len(cross) == agents * (agents - 1) * seats
        assert seatings(agents, seats, 1, deal, False) == tables[:agents]
    assert len({tuple(seatings(agents, seats, 1, deal, False)) for deal in range(20)}) > 1


def test_the_number_of_workers_and_stops_change_no_byte(tmp_path: Path) -> None:
    own = team("random", "counting", "toyagents:first")
    with Crew(own) as alone:
        whole = played(tmp_path / "one", alone, 6).path / GAMES
        early = played(tmp_path / "stopped", alone, 2)
    with Crew(own, 2) as crew:
        assert (played(tmp_path / "two", crew, 6).path / GAMES).read_bytes() == whole.read_bytes()
        data = (early.path / GAMES).read_bytes()
        (early.path / GAMES).write_bytes(data[:-100])  # killed while writing
        again = Folder.open(early.path)
        assert again.damaged is not None
        assert data.startswith((early.path / GAMES).read_bytes() + again.damaged.read_bytes())
        assert again.progress() == (1, 2)
        again.play(crew, 6, lambda done: None)
    assert (early.path / GAMES).read_bytes() == whole.read_bytes()
    assert again.progress() == (6, 0)


def test_a_match_by_workers_is_the_same_match() -> None:
    own = team("counting", "toyagents:first")
    alone = play_match(own.game, own.rules, *own.agents, deals=9, seed=2)
    with Crew(own, 2) as crew:
        shared = play_match(own.game, own.rules, *own.agents, deals=9, seed=2, crew=crew)
    for name, value in vars(alone).items():
        assert np.array_equal(value, getattr(shared, name)) if isinstance(value, np.ndarray) else True


def test_what_an_agent_does_wrong_is_told_by_its_worker() -> None:
    own = team("counting", "toyagents:illegal")
    with Crew(own, 2) as crew, pytest.raises(ValueError, match=r"agent illegal: action 0 .* is illegal; legal: "):
        play_match(own.game, own.rules, *own.agents, deals=3, crew=crew)


def test_a_line_replays_through_pettingzoo(tmp_path: Path) -> None:
    with Crew(team("random", "heuristic")) as crew:
        folder = played(tmp_path / "t", crew, 1, 0)
    for entry in map(json.loads, (folder.path / GAMES).read_text().splitlines()):
        env = kachuful_v0.raw_env(**entry["rules"])
        env.reset(seed=entry["seed"])
        for move in entry["moves"]:
            env.step(move)
        assert env.unwrapped.snapshot()["scores"] == entry["scores"]
        assert entry["seats"] == [("random", "heuristic")[k] for k in entry["agents"]]


@pytest.mark.parametrize("game", ["kachuful", "kaschlan"])
def test_standings(tmp_path: Path, game: str) -> None:
    with Crew(team("random", "random", "heuristic", game=game)) as crew:
        folder = played(tmp_path / "t", crew, 30, 5)
    found = standings(folder)
    assert found.names == ["random", "random#2", "heuristic"]
    assert found.ranking[0] == 2
    assert (found.points is None) == (game == "kaschlan") == (found.calls is None)
    assert (found.deals, found.cross_deals, found.games) == (30, 5, 30 * 3 + 5 * 6 * len(folder.entries[0]["seats"]))
    shares = [share.mean for share in found.win_share]
    assert sum(shares) / 3 == pytest.approx(1 / len(folder.entries[0]["seats"]))
    assert found.ratings[2].mu > found.ratings[0].mu
    assert found.cross[0][0] is None
    # Copies are even: the interval of their difference holds 0.
    assert found.neighbours[1].low <= 0 <= found.neighbours[1].high  # type: ignore[operator]
    with Crew(folder_team := team("random", "heuristic", game=game)) as crew:
        match = play_match(folder_team.game, folder_team.rules, *reversed(crew.team.agents), deals=5, seed=3)
    assert found.cross[2][0].mean == pytest.approx(match.win_share.mean())  # type: ignore[union-attr]


@pytest.mark.parametrize("game", ["kachuful", "kaschlan"])
def test_shares_are_shown_in_percent(tmp_path: Path, game: str) -> None:
    with Crew(team("random", "heuristic", game=game)) as crew:
        folder = played(tmp_path / "t", crew, 3, 0)
    found = standings(folder)
    lines = report_text(folder, found, []).splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("| agent"))
    head, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines[start : start + 4])
    shares = find_game(game).shares
    assert set(shares) & set(found.statistics)
    for name, values in found.statistics.items():
        column = [row[head.index(name.replace("_", " "))] for row in rows]
        assert column == [values[k].text(name in shares) for k in found.ranking]
        assert all((" % " in cell) == (name in shares) for cell in column)
    neighbours = next(line for line in lines if line.startswith(f"| `{found.names[found.ranking[0]]}` - "))
    assert (" % [" in neighbours) == (found.measure == "win_share")


def test_changed_files_are_found_out(tmp_path: Path) -> None:
    with Crew(team("random", "counting")) as crew:
        folder = played(tmp_path / "t", crew, 2)
    file, data = folder.path / GAMES, (folder.path / GAMES).read_text()
    lines = data.splitlines(keepends=True)

    def message(text: str) -> str:
        file.write_text(text)
        with pytest.raises(ValueError, match=r"games\.jsonl") as error:
            Folder.open(folder.path).replay()
        return str(error.value)

    assert "line 2 is damaged" in message(lines[0] + "{nonsense\n" + "".join(lines[2:]))
    assert "line 2 is not the game that belongs there" in message(lines[0] + "".join(lines[2:]))
    entry = json.loads(lines[0])
    assert "line 1 has another result" in message(json.dumps({**entry, "scores": [1] * 4}) + "\n" + "".join(lines[1:]))
    assert "not those of a whole game" in message(
        json.dumps({**entry, "moves": entry["moves"][:-1]}) + "\n" + "".join(lines[1:])
    )
    with pytest.raises(ValueError, match="already holds another tournament"):
        Folder.create(folder.path, folder.settings)
    with pytest.raises(ValueError, match="no tournament in"):
        Folder.open(tmp_path)


def test_looks_are_counted_and_have_a_price(tmp_path: Path) -> None:
    with Crew(team("random", "counting")) as crew:
        folder = played(tmp_path / "t", crew, 2, 0)
        assert [folder.look(), folder.look()] == [1, 1]
        folder.play(crew, 4, lambda done: None)
        assert [folder.look(), Folder.open(folder.path).look()] == [2, 2]
    draw = np.random.default_rng(0)
    assert separable(draw.normal([0, 1, 2], 1, (200, 3)), 1)
    assert not separable(draw.normal([0, 1, 1], 1, (200, 3)), 1)
    wrong = 0
    for _ in range(200):
        values = draw.normal(size=(320, 3))
        wrong += any(separable(values[: 20 * 2**k], k + 1) for k in range(5))
    assert wrong <= 3  # both pairs of neighbours at once: far below 5 %
    edge = np.tile([[0.0, 0.27], [0.5, 0.0]], (100, 1)) + np.arange(2) * 0.09
    looks = [separable(edge, look) for look in range(1, 30)]
    assert looks == sorted(looks, reverse=True)


def test_copies_at_a_table_move_their_agent_once() -> None:
    found = rate([([0, 1, 0, 1], [1, 3, 1, 3])] * 20, 2)
    assert found[0][0] > 25 > found[1][0]
    assert found[0][1] < 25 / 3
    assert labels(["a", "b", "a"]) == ["a", "b", "a#2"]


def test_pairing_gains_where_deals_are_shared() -> None:
    draw = np.random.default_rng(1)
    luck, noise = draw.normal(size=20000), draw.normal(size=(2, 20000))
    same = paired(luck * 3 + noise[0], luck * 3 + noise[1])
    assert 9 < same.gain < 11  # type: ignore[operator]
    assert 0.4 < paired(luck, -luck).gain < 0.6  # type: ignore[operator]
    assert paired(luck, luck).gain is None


def test_reverse_tables() -> None:
    own = team("heuristic", "random")
    match, back = (
        play_match(own.game, own.rules, *pair, deals=40) for pair in (own.agents, tuple(reversed(own.agents)))
    )
    summary = summarize(match, back)
    assert summary.reverse == summarize(back)
    assert summary.alone.mean == pytest.approx(match.win_share.mean() - back.win_share.mean())  # type: ignore[union-attr]
    document = summary.document()
    assert document["reverse"]["candidate"] == "random"
    assert "shares" not in document["reverse"]
    assert document["difference"]["points_per_round"]["mean"] == pytest.approx(
        (match.points - match.opponent_points).mean()
    )
    json.dumps(document, allow_nan=False)


def test_the_order_of_games_and_of_agents_changes_nothing() -> None:
    own = team("counting", "random", "toyagents:first", "heuristic")
    seating = np.array([seats for deal in range(6) for _, seats in seatings(4, 4, 0, deal, False)])
    seeds = np.repeat(np.arange(6), 4)
    whole = play_games(own.game, own.rules, own.agents, start(own.game, own.rules, seeds), seating, 7)
    order = np.random.default_rng(0).permutation(len(seeds))
    renamed = np.array([2, 0, 3, 1])  # agent k stands at renamed[k]
    agents = [own.agents[int(np.flatnonzero(renamed == k)[0])] for k in range(4)]
    mixed = play_games(
        own.game, own.rules, agents, start(own.game, own.rules, seeds[order]), renamed[seating[order]], 7
    )
    for name in ("scores", "places", "rounds", "made", "statistics", "wins"):
        assert np.array_equal(getattr(mixed, name), getattr(whole, name)[order]), name
