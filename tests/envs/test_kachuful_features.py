"""Features of Kachuful: what they say is what a seat may know, no more and no less; redaction and determinization."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from envs import loops
from envs.cards import RANKS, SUITS, TRUMPS, cards_of, names_of
from envs.kachuful import GAME, engine, features, knowledge
from envs.sampling import new_plan


def game_after(seed: int, moves: int, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """One game after some random moves: arrays of one state record and one options record."""
    rules = GAME.make_rules(**options).record()
    states = np.zeros(1, GAME.state)
    loops.start_games(states, rules, seed)
    loops.random_moves(states, rules, moves, seed)
    return states, rules


def observe(states: np.ndarray, rules: np.ndarray, seat: int, wide: bool = False) -> np.ndarray:
    size = features.layout(int(rules["num_players"][0]), wide).size
    out = np.full(size + 16, 7, np.uint8)
    assert features.features(states[0], rules[0], seat, wide, out, 8) == size + 8
    assert (out[size + 8 :] == 7).all(), "written beyond the end"
    assert (out[:8] == 7).all()
    return out[8 : size + 8]


def level(labels: list[str]) -> int:
    """What a thermometer shows."""
    return len(labels)


POSITIONS = st.tuples(st.integers(0, 10**6), st.integers(0, 700), st.integers(3, 8), st.booleans())


@given(POSITIONS)
def test_features_decode_to_the_state(position: tuple[int, int, int, bool]) -> None:
    """Every block, read back as text, says what the record holds."""
    seed, moves, n, wide = position
    states, rules = game_after(seed, moves, num_players=n)
    state = states[0]
    for seat in range(n):
        seen = features.layout(n, wide).decode(observe(states, rules, seat, wide))
        trick = state["log"][int(state["count"]) - int(state["trick_size"]) : int(state["count"])]
        assert seen["hand"] == names_of(state["hands"][seat])
        assert seen["trick"] == names_of(sum(1 << int(card) for card in trick))
        assert seen["best"] == names_of(1 << int(state["best"]) if state["best"] >= 0 else 0)
        for i in range(8 if wide else n):
            other = (seat + i) % n
            bid, won = int(state["bids"][other]), int(state["tricks"][other])
            if i >= n:
                assert not any(seen[f"{name}+{i}"] for name in ("seen", "void", "bid", "won", "needs", "blind"))
                continue
            assert seen[f"seen+{i}"] == names_of(state["played"][other])
            assert seen[f"void+{i}"] == [s for k, s in enumerate(SUITS) if int(state["voids"][other]) >> k & 1]
            assert seen[f"bid+{i}"] == ([str(bid)] if bid >= 0 else [])
            assert level(seen[f"won+{i}"]) == won
            assert seen[f"needs+{i}"] == ([str(bid - won)] if bid >= max(won, 0) else [])
            if i:
                margin = int(state["scores"][seat] - state["scores"][other])
                assert level(seen[f"margin+{i}"]) == sum(margin >= least for least in features.MARGINS)
        assert seen["led"] == ([SUITS[state["led"]]] if state["led"] >= 0 else [])
        assert seen["trump"] == [TRUMPS[state["trump"]]]
        assert seen["hand_size"] == [str(state["hand_size"])]
        surplus = int(np.clip(state["bid_total"] - state["hand_size"], -8, 8))
        assert seen["surplus"] == [f"{surplus:+d}"]
        assert seen["dealer"] == [f"+{(int(state['dealer']) - seat) % n}"]
        assert seen["leader"] == [f"+{(int(state['leader']) - seat) % n}"]
        winning = int(state["best_seat"])
        assert seen["winning"] == ([f"+{(winning - seat) % n}"] if winning >= 0 else [])
        assert seen["phase"] == [{engine.BID: "bid", engine.PLAY: "play"}[int(state["phase"])]]
        left = int(rules["rounds"][0]) - 1 - int(state["round"])
        assert level(seen["rounds_left"]) == sum(left >= least for least in features.ROUNDS_LEFT)
        assert seen["scoring"] == ["ten_plus_bid"]
        assert seen["rules"] == ["hook", "blind doubles score"]


@given(POSITIONS)
def test_full_features_add_every_hand(position: tuple[int, int, int, bool]) -> None:
    seed, moves, n, wide = position
    states, rules = game_after(seed, moves, num_players=n)
    layout = features.state_layout(n, wide)
    out = np.full(layout.size + 8, 7, np.uint8)
    assert features.full_features(states[0], rules[0], 1, wide, out, 0) == layout.size
    assert (out[layout.size :] == 7).all()
    seen = layout.decode(out[: layout.size])
    for i in range(n):
        assert seen[f"holds+{i}"] == names_of(states[0]["hands"][(1 + i) % n])
    assert (out[: features.layout(n, wide).size] == observe(states, rules, 1, wide)).all()


def test_turned_card_shows() -> None:
    """turn_up: the turned card is public."""
    states, rules = game_after(3, 0, trump="turn_up")
    seen = features.layout(4).decode(observe(states, rules, 0))
    turned = int(states[0]["turned"])
    assert seen["turned"] == [RANKS[turned % 13]]
    assert seen["trump"] == [SUITS[turned // 13]]


def test_names_are_unique() -> None:
    for n in range(3, 9):
        names = features.state_layout(n, False).names
        assert len(set(names)) == len(names)
    assert features.layout(3, True).size == features.layout(8, True).size


@given(POSITIONS)
def test_hidden_cards_do_not_show(position: tuple[int, int, int, bool]) -> None:
    """States drawn for a seat differ only in what it cannot know: equal features, redaction, and own actions."""
    seed, moves, n, wide = position
    states, rules = game_after(seed, moves, num_players=n)
    plan = new_plan()
    for seat in range(n):
        drawn = np.zeros(5, GAME.state)
        assert loops.sample_deals(states, rules, seat, seed, plan, drawn)
        before = observe(states, rules, seat, wide)
        redacted = states.copy()
        knowledge.redact(redacted[0], rules[0], seat)
        for i in range(5):
            one = drawn[i : i + 1]
            assert (observe(one, rules, seat, wide) == before).all()
            hands = one["hands"][0][:n]
            assert [h.bit_count() for h in map(int, hands)] == [h.bit_count() for h in map(int, states["hands"][0][:n])]
            again = one.copy()
            knowledge.redact(again[0], rules[0], seat)
            assert again.tobytes() == redacted.tobytes()
            if int(states[0]["turn"]) == seat:
                assert engine.legal(one[0], rules[0]) == engine.legal(states[0], rules[0])
            for other in range(n):
                assert not int(hands[other]) & ~knowledge.possible_cards(states[0], other)
        assert int(redacted["hands"][0][seat]) == int(states["hands"][0][seat])
        assert not any(redacted["hands"][0][other] for other in range(n) if other != seat)
        assert int(redacted["seed"][0]) == 0


@pytest.mark.parametrize("seed", [1, 2])
def test_deals_are_drawn_uniformly(seed: int) -> None:
    """A small end position: every consistent deal comes about equally often (chi-square), and no other."""
    states, rules = game_after(seed, 4 + 4 * 4 + 1, num_players=4, max_hand=6)
    state = states[0]
    seat = int(state["turn"])
    # Keep few cards out of the hands, so that the deals can be counted: all but eight of the pack are made known.
    unseen = cards_of(knowledge.unseen(state, rules[0], seat))
    keep = [card for other in range(4) if other != seat for card in cards_of(state["hands"][other])]
    spare = [card for card in unseen if card not in keep]
    for card in spare[2:]:
        state["played"][seat] |= 1 << card
    state["hand_size"] += 0
    drawn = np.zeros(60_000, GAME.state)
    # The cards made known sit with the observer, whose own count of cards is not asked for.
    assert loops.sample_deals(states, rules, seat, 7, new_plan(), drawn)
    keys, counts = np.unique(drawn["hands"][:, :4], axis=0, return_counts=True)
    possible = _count_deals(state, rules, seat, set(keep) | set(spare[:2]))
    assert len(keys) == possible
    assert chisquare(counts).pvalue > 1e-4


def _count_deals(state: Any, rules: np.ndarray, seat: int, cards: set[int]) -> int:
    others = [other for other in range(4) if other != seat]
    room = {other: int(state["hands"][other]).bit_count() for other in others}
    order = sorted(cards)

    def ways(i: int, room: dict[int, int], rest: int) -> int:
        if i == len(order):
            return int(rest == 0 and not any(room.values()))
        total = ways(i + 1, room, rest - 1) if rest else 0
        for other in others:
            if room[other] and knowledge.possible_cards(state, other) >> order[i] & 1:
                total += ways(i + 1, {**room, other: room[other] - 1}, rest)
        return total

    return ways(0, room, len(order) - sum(room.values()))


def test_same_key_same_deals() -> None:
    states, rules = game_after(9, 60)
    first, second = np.zeros(50, GAME.state), np.zeros(50, GAME.state)
    loops.sample_deals(states, rules, 0, 11, new_plan(), first)
    loops.sample_deals(states, rules, 0, 11, new_plan(), second)
    assert first.tobytes() == second.tobytes()
    loops.sample_deals(states, rules, 0, 12, new_plan(), second)
    assert first.tobytes() != second.tobytes()
