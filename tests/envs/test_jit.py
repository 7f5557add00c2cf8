"""The compiler layer: bit operations in all their forms, the cache folder, plain mode."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripting import run_code

from envs import SEAT_IDS
from envs import jit as compiler
from envs.cards import (
    FULL_PACK,
    card_name,
    card_number,
    count_in_suit,
    fold,
    mix,
    random_below,
    random_bits,
    rank_of,
    shuffle,
    stream_key,
    suit_cards,
    suit_of,
)
from envs.layout import one_hot, put8, put32, put64, put_last, thermometer

ROOT = Path(__file__).parents[2]


@compiler.jit
def _bits(mask: int, n: int) -> tuple[int, int, int, int]:
    return (
        compiler.popcount(mask),
        compiler.lowest_bit(mask),
        compiler.highest_bit(mask),
        compiler.nth_bit(mask, n),
    )


_search = compiler.jit(compiler._nth_bit_search)


@given(st.integers(1, 2**62 - 1), st.data())
def test_bit_operations(mask: int, data: st.DataObject) -> None:
    places = [i for i in range(62) if mask >> i & 1]
    n = data.draw(st.integers(0, len(places) - 1))
    expect = (len(places), places[0], places[-1], places[n])
    assert _bits(mask, n) == expect
    assert _search(mask, n) == places[n]
    plain = (compiler.popcount(mask), compiler.lowest_bit(mask), compiler.highest_bit(mask), compiler.nth_bit(mask, n))
    assert plain == expect


def test_cards() -> None:
    for card in range(52):
        assert card_number(card_name(card)) == card
        assert suit_of(card) == card // 13
        assert rank_of(card) == card % 13
    assert card_name(12) == "AS"
    assert card_name(51) == "AH"
    assert sum(suit_cards(suit) for suit in range(4)) == FULL_PACK
    assert suit_cards(4) == 0
    assert count_in_suit(FULL_PACK, 2) == 13
    for bad in ("", "1S", "AX", "as", "10H", None, 5):
        with pytest.raises(ValueError, match="no card"):
            card_number(bad)  # type: ignore[arg-type]


def test_random_numbers_are_the_same_everywhere() -> None:
    """Fixed values: a change here would change every game of every seed."""
    assert mix(1) == 1753845952
    assert [random_bits(1, 2, i) for i in range(3)] == [1902326844, 2821373520, 1285485403]
    assert stream_key(5, 1, 2, 3, 4) == 1766777610421335939
    deck = np.zeros(52, np.int8)
    shuffle(deck, 52, stream_key(7, 1))
    assert deck[:5].tolist() == [24, 14, 42, 12, 31]
    key = stream_key(2**63 - 1, 1, 2, 3, 4)
    assert 0 <= key < 2**62
    assert key != stream_key(2**63 - 2, 1, 2, 3, 4) != stream_key(2**63 - 1, 1, 2, 4, 3)
    assert fold(key, 1) != fold(key, 2)


def test_shuffle_is_uniform() -> None:
    """Each card comes first, and last, equally often (chi-square)."""
    deck = np.zeros(52, np.int8)
    first, last = np.zeros(52, int), np.zeros(52, int)
    for seed in range(20_000):
        shuffle(deck, 52, stream_key(seed, 1))
        first[deck[0]] += 1
        last[deck[51]] += 1
    assert sorted(deck.tolist()) == list(range(52))
    for counts in (first, last):
        assert ((counts - 20_000 / 52) ** 2 / (20_000 / 52)).sum() < 88  # 51 degrees of freedom, p = 0.001


def test_random_below_covers_its_range() -> None:
    counts = np.bincount([random_below(random_bits(3, 4, i), 7) for i in range(7000)], minlength=7)
    assert len(counts) == 7
    assert ((counts - 1000) ** 2 / 1000).sum() < 22.5  # 6 degrees of freedom, p = 0.001


@given(st.integers(0, 2**62 - 1), st.integers(1, 62), st.integers(0, 70))
def test_blocks(bits: int, width: int, at: int) -> None:
    bits &= (1 << width) - 1
    expect = [bits >> i & 1 for i in range(width)]
    for put, lanes in ((put8, 8), (put32, 32), (put64, 64)):
        if width <= lanes:
            out = np.full(200, 7, np.uint8)
            assert put(out, at, bits, width) == at + width
            assert out[at : at + width].tolist() == expect
            assert (out[:at] == 7).all()
            assert (out[at + lanes :] == 7).all()
    if width >= 8:
        out = np.full(200, 7, np.uint8)
        put_last(out, at, bits, width)
        assert out[at : at + width].tolist() == expect
        assert (np.delete(out, range(at, at + width)) == 7).all()


def test_small_codes() -> None:
    assert [one_hot(v, 3) for v in (-1, 0, 2, 3)] == [0, 1, 4, 0]
    assert [thermometer(v, 3) for v in (-1, 0, 2, 3, 9)] == [0, 0, 3, 7, 7]


PLAY = """
import hashlib
import numpy as np
from envs import loops
from envs.game import find_game
from envs.sampling import new_plan
GAME = find_game("@game")
digest = hashlib.sha256()
for options in @options:
    rules = GAME.make_rules(**options)
    n = rules.num_players
    states = np.zeros(2, GAME.state)
    loops.start_games(states, rules.record(), 2**62 + 5)
    size = GAME.state_layout(n, False).size
    rewards = np.zeros(n, np.float32)
    for move in range(60):
        loops.random_moves(states, rules.record(), 1, move)
        out = np.zeros(size, np.uint8)
        loops.full_features(states[0], rules.record()[0], int(states["turn"][0]), False, out, 0)
        loops.rewards(states[0], rules.record()[0], 3, rewards)
        counts = np.zeros(len(GAME.statistics), np.float32)
        loops.statistics(states[0], rules.record()[0], 0, counts)
        places = np.zeros((2, n), np.int64)
        loops.find_places(states, rules.record(), places)
        drawn = np.zeros(2, GAME.state)
        assert loops.sample_deals(states, rules.record(), 1, move, new_plan(), drawn)
        scratch = np.zeros(1, GAME.state)
        action = loops.player_action(states[1], rules.record()[0], 1, scratch)
        for part in (states, out, rewards, counts, places, drawn, scratch):
            digest.update(part.tobytes())
        digest.update(bytes([int(action)]))
print(digest.hexdigest())
"""


PLAYED: dict[str, list[dict[str, Any]]] = {
    "kachuful": [
        {"num_players": 4, "max_hand": 3},
        {"num_players": 3, "max_hand": 3, "trump": "turn_up", "scoring": "judgement"},
        {"num_players": 5, "max_hand": 3, "reward": "win"},
    ],
    "call_break": [
        {"rounds": 1},
        {"rounds": 2, "trump": "first_lead", "misdeal": "vote", "undertrump": "free", "reward": "win"},
        {"rounds": 1, "misdeal": "auto", "must_beat": "until_trumped", "redeal_total": 12, "partnerships": True},
    ],
    "kaschlan": [
        {},
        {"num_players": 2, "must_beat": True, "trump_card": "top", "payoff": "places"},
        {"num_players": 5, "max_bouts": 3, "kutscher_opens_rank": True, "pickup": "all"},
    ],
}


@pytest.mark.parametrize("game", PLAYED)
def test_plain_mode_agrees_with_compiled_mode(game: str) -> None:
    """Byte for byte, over whole games, without a warning."""
    code = PLAY.replace("@game", game).replace("@options", repr(PLAYED[game]))
    plain = run_code(code, NUMBA_DISABLE_JIT="1")
    assert run_code(code, NUMBA_DISABLE_JIT="0") == plain


def test_every_game_is_played_in_plain_mode() -> None:
    assert set(PLAYED) == set(SEAT_IDS.values())


def test_cache_folder_follows_the_sources(tmp_path: Path) -> None:
    """A change in any source file of the engine leads to another folder."""
    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "envs", copy / "envs", ignore=shutil.ignore_patterns("__pycache__"))
    code = "import sys; sys.path.insert(0, '.'); from envs.jit import CACHE_FOLDER; print(CACHE_FOLDER)"

    def folder() -> str:
        return subprocess.run(
            [sys.executable, "-c", code],
            cwd=copy,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "NUMBA_DISABLE_JIT": "0"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    before = folder()
    assert before.startswith(str(tmp_path / "cache"))
    assert folder() == before
    with (copy / "envs" / "kachuful" / "rules.py").open("a") as source:
        source.write("# another line\n")
    assert folder() != before


def test_stale_caches_are_removed(tmp_path: Path) -> None:
    """Folders of other versions go after a month without use; fresh ones and the current one stay."""
    for name, age in (("old", 40), ("fresh", 1), ("own", 40)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (0, (tmp_path / name).stat().st_mtime - age * 86400))
    compiler._remove_stale(tmp_path, tmp_path / "own")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fresh", "own"]


@pytest.mark.skipif(compiler.PLAIN, reason="nothing is compiled in plain mode")
def test_compiled_functions_have_their_arrays_on_the_stack() -> None:
    """Memory is neither taken nor counted, and what one call leaves is not what the next one gets as its own."""

    @compiler.jit
    def total(numbers: Any) -> float:
        own = compiler.local_array(3, np.float64)
        for i in range(3):
            own[i] = 2.0 * numbers[i]
        return float(own.sum())

    assert total(np.array([1.0, 2.0, 4.0])) == 14.0
    code = "".join(total.inspect_llvm().values())
    assert "NRT_" not in code


def test_unwritable_cache_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    code = "from envs.jit import CACHE_FOLDER, jit; assert CACHE_FOLDER is None; print(jit(lambda x: x + 1)(1))"
    assert run_code(code, NUMBA_CACHE_DIR=str(blocked), NUMBA_DISABLE_JIT="0").strip() == "2"
