"""Determinization of Call Break: the states drawn for a seat are all those that it cannot tell apart, equally often.

The other side of each comparison is worked out here from snapshots and the rules, without the engine's help.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations
from math import comb
from random import Random
from typing import Any

import numpy as np
import pytest
from call_break_reference import PACK, is_misdeal, legal_cards, resolve
from call_break_table import CARDS, game_options, mask, suits_deal
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from envs import call_break_v0, loops
from envs.call_break import GAME, knowledge
from envs.cards import fold, names_of
from envs.sampling import new_plan

Snapshot = dict[str, Any]
Deal = tuple[int, ...]
PRIVATE = ("hands", "seed", "game")
PUBLIC = [name for name in GAME.state.names or () if name not in PRIVATE]
PLAN = new_plan()


def tricks_of(snapshot: Snapshot) -> list[list[Any]]:
    """All tricks of the round whose cards are known, the current one last."""
    return [trick for trick in [*snapshot["played"], snapshot["trick"]] if trick]


def lying(snapshot: Snapshot) -> set[str]:
    return {card for trick in tricks_of(snapshot) for _, card in trick}


def could_have_played_so(snapshot: Snapshot, seat: int, hand: list[str]) -> bool:
    """Whether a seat that now holds `hand` can have been dealt it and played as it did."""
    options = snapshot["rules"]
    later = list(hand)
    unknown = None in snapshot["played"]
    number = len(snapshot["played"]) - (not snapshot["trick"])
    for trick in reversed(tricks_of(snapshot)):
        for i, (player, card) in enumerate(trick):
            if player == seat:
                later.append(card)
                trump = snapshot["trump"]
                if options["trump"] == "first_lead" and number == 0 and i == 0:
                    trump = None
                before = [other for _, other in trick[:i]]
                if card not in legal_cards(options, later, before, trump, number == 0):
                    return False
        number -= 1
    if unknown or snapshot["hand_size"] < 13:
        return True
    if options["misdeal"] == "auto" and is_misdeal(options, later):
        return False
    return snapshot["claimer"] != seat or is_misdeal(options, later)


def deals(true: Snapshot, seat: int) -> Iterator[Deal]:
    """Every deal that a seat cannot tell from the true one, as masks of all hands, by trying every hand."""
    hidden = [other for other in range(4) if other != seat and true["hands"][other]]
    free = set(PACK) - lying(true) - set(true["hands"][seat])

    def fill(at: int, free: frozenset[str], hands: list[list[str]]) -> Iterator[Deal]:
        if at == len(hidden):
            yield tuple(mask(hand) for hand in hands)
            return
        other = hidden[at]
        for hand in combinations(sorted(free), len(true["hands"][other])):
            if could_have_played_so(true, other, list(hand)):
                filled = [list(hand) if i == other else old for i, old in enumerate(hands)]
                yield from fill(at + 1, free - set(hand), filled)

    start = [hand if other == seat else [] for other, hand in enumerate(true["hands"])]
    yield from fill(0, frozenset(free), start)


def assert_uniform(seen: Counter[Any], possible: list[Any]) -> None:
    """All that is possible comes equally often (chi-square), and nothing else comes."""
    assert len(set(possible)) == len(possible) > 1
    assert set(seen) <= set(possible)
    assert chisquare([seen[deal] for deal in possible]).pvalue > 1e-3


def sample(states: np.ndarray, record: np.ndarray, seat: int, key: int, count: int) -> np.ndarray:
    """States drawn for a seat."""
    drawn = np.zeros(count, GAME.state)
    assert loops.sample_deals(states, record, seat, key, PLAN, drawn), "no deal agrees with a true state"
    return drawn


def snapshot_of(state: Any, rules: Any) -> Snapshot:
    return GAME.fields.snapshot(state, rules)


def assert_drawn(true: Snapshot, drawn: Snapshot, seat: int) -> None:
    """A snapshot drawn for a seat agrees with all it knows of the true one, and with the rules."""
    for key in true:
        if key not in PRIVATE:
            assert drawn[key] == true[key], key
    cards = [card for hand in drawn["hands"] for card in hand]
    assert len(set(cards)) == len(cards)
    assert not lying(true) & set(cards)
    assert drawn["hands"][seat] == true["hands"][seat]
    for other, (ours, theirs) in enumerate(zip(true["hands"], drawn["hands"], strict=True)):
        assert len(theirs) == len(ours)
        assert other == seat or could_have_played_so(true, other, theirs)


@settings(max_examples=150)
@given(game_options(), st.integers(0, 10**6), st.integers(0, 250))
def test_drawn_states_agree_with_all_that_is_known(options: dict[str, Any], seed: int, moves: int) -> None:
    rules = GAME.make_rules(**options)
    states, record = np.zeros(1, GAME.state), rules.record()
    loops.start_games(states, record, seed)
    loops.random_moves(states, record, moves, seed)
    true = snapshot_of(states[0], rules)
    for seat in range(4):
        assert could_have_played_so(true, seat, true["hands"][seat])
        redacted = states.copy()
        knowledge.redact(redacted[0], record[0], seat)
        drawn = sample(states, record, seat, seed, 3)
        for i in range(len(drawn)):
            assert_drawn(true, snapshot_of(drawn[i], rules), seat)
            assert all((drawn[i][name] == states[0][name]).all() for name in PUBLIC)
            knowledge.redact(drawn[i], record[0], seat)
            assert drawn[i].tobytes() == redacted[0].tobytes()


def left(cards: int, trick: int = 0) -> Callable[[Snapshot], bool]:
    """Play, with so many cards in the hand of the seat to act and so many in the trick."""
    return lambda true: (
        true["phase"] == "play" and len(true["hands"][true["turn"]]) == cards and len(true["trick"]) == trick
    )


def barred(true: Snapshot, seat: int) -> bool:
    """Whether a duty tells more of a seat than voids: it followed low under a duty to beat, or under-trumped."""
    for trick in tricks_of(true):
        led = trick[0][1][1]
        for i, (player, card) in enumerate(trick):
            before = [other for _, other in trick[:i]]
            if player == seat and before and card[1] in (led, true["trump"]):
                same = [other for other in before if other[1] == card[1]]
                if any(PACK.index(other) > PACK.index(card) for other in same):
                    return True
    return False


def spadeless(true: Snapshot) -> bool:
    """Whether a hidden seat has not played a spade yet, late in the round."""
    for seat in range(4):
        if seat != true["turn"] and true["hands"][seat]:
            played = [card for trick in tricks_of(true) for player, card in trick if player == seat]
            if not any(card[1] == "S" for card in played):
                return True
    return False


Case = tuple[dict[str, Any], Callable[[Snapshot], bool]]
CASES: dict[str, Case] = {
    "three cards": ({}, left(3)),
    "three cards, duties": ({}, lambda true: left(3)(true) and sum(barred(true, seat) for seat in range(4)) > 2),
    "four cards, last to play": ({}, left(3, 3)),
    "until trumped": ({"must_beat": "until_trumped"}, left(3, 1)),
    "no duty to beat": ({"must_beat": "off", "undertrump": "free"}, left(3, 2)),
    "undertrump free": ({"undertrump": "free"}, left(3)),
    "first lead": ({"trump": "first_lead"}, left(3, 1)),
    "no trump": ({"trump": "none"}, left(3)),
    "misdeal auto": ({"misdeal": "auto"}, lambda true: left(2)(true) and spadeless(true)),
    "misdeal auto, three cards": ({"misdeal": "auto"}, lambda true: left(3, 2)(true) and spadeless(true)),
    "extra round of two": (
        {"rounds": 1, "min_call": 0, "max_call": 1},
        lambda true: true["round"] == 1 and sum(map(bool, true["hands"])) == 2 and left(2)(true),
    ),
    "extra round of two, misdeal auto": (
        {"rounds": 1, "min_call": 0, "max_call": 1, "misdeal": "auto"},
        lambda true: true["round"] == 1 and sum(map(bool, true["hands"])) == 2 and left(2)(true) and spadeless(true),
    ),
    "extra round of three": (
        {"rounds": 1, "min_call": 4, "max_call": 4},
        lambda true: true["round"] == 1 and sum(map(bool, true["hands"])) == 3 and left(1)(true),
    ),
}
LEAST, MOST = 10, 2500
RARE = {"misdeal auto": 2650, "extra round of two, misdeal auto": 8190}
"""Seeds before the first game in which a rare moment was once found."""


def find(options: dict[str, Any], wanted: Callable[[Snapshot], bool], first: int) -> tuple[np.ndarray, Any, list[Deal]]:
    """A moment of a random game that is wanted, with a number of deals that can be counted."""
    rules = GAME.make_rules(**options)
    record = rules.record()
    for seed in range(first, 20_000):
        states = np.zeros(1, GAME.state)
        loops.start_games(states, record, seed)
        loops.random_moves(states, record, 40, seed)
        for _ in range(70):
            if int(states["turn"][0]) >= 0 and int(states["trick"][0]) > 8:
                true = snapshot_of(states[0], rules)
                if wanted(true):
                    possible = list(deals(true, true["turn"]))
                    if LEAST <= len(possible) <= MOST:
                        return states, rules, possible
            loops.random_moves(states, record, 1, seed + int(states["moves"][0]))
            if int(states["game"][0]) > 0:
                break
    raise AssertionError("there is no such moment")


@pytest.mark.parametrize("name", CASES)
def test_every_deal_is_equally_likely(name: str) -> None:
    states, rules, possible = find(*CASES[name], RARE.get(name, 0))
    seat = int(states["turn"][0])
    drawn = sample(states, rules.record(), seat, 5, 20 * len(possible))
    assert_uniform(Counter(map(tuple, drawn["hands"].tolist())), possible)


VOID_HAND = [card for card in CARDS if card[1] in "DC"][:13]


def claimed(hand: list[str], seed: int, **options: Any) -> tuple[np.ndarray, Any]:
    """A game in which seat 0 claimed a misdeal with `hand` and was refused."""
    rules = GAME.make_rules(misdeal="vote", **options)
    states = np.zeros(1, GAME.state)
    position = {"dealer": 3, "hands": [hand, None, None, None], "claimer": 0, "phase": "bid"}
    GAME.fields.set_position(states, rules, position, seed)
    return states, rules


@pytest.mark.parametrize("cards", [3, 2])
def test_a_refused_claim_proves_a_misdeal(cards: int) -> None:
    """The claimer's hand had no spade: late in the round this is known exactly."""
    for seed in range(300):
        rng = Random(seed)
        hand = rng.sample([card for card in CARDS if card[1] != "S"], 13)
        states, rules = claimed(hand, seed)
        record = rules.record()
        loops.random_moves(states, record, 4 + 4 * (13 - cards), seed)
        true = snapshot_of(states[0], rules)
        seat = true["turn"]
        if seat == 0 or any(len(held) != cards for held in true["hands"]):
            continue
        possible = list(deals(true, seat))
        spades = [card for card in PACK if card[1] == "S" and card not in lying(true)]
        if not LEAST <= len(possible) <= MOST or not set(spades) - set(true["hands"][seat]):
            continue
        drawn = sample(states, record, seat, 5, 20 * len(possible))
        assert_uniform(Counter(map(tuple, drawn["hands"].tolist())), possible)
        return
    raise AssertionError("there is no such moment")


def test_a_standing_claim_is_known_at_once() -> None:
    """Before a card is played the claimer is given hands without a spade, and the others every spade."""
    states, rules = claimed(VOID_HAND, 1)
    for seat in (1, 2, 3):
        drawn = sample(states, rules.record(), seat, 3, 400)
        for one in drawn:
            assert is_misdeal(resolve(), names_of(one["hands"][0]))
        held = Counter(card for one in drawn for card in names_of(one["hands"][0]))
        unseen = [card for card in PACK if card[1] != "S" and card not in snapshot_of(states[0], rules)["hands"][seat]]
        assert set(held) == set(unseen)


def test_claims_of_one_suit_are_weighed() -> None:
    """Without trump a claim means thirteen cards of one suit, any that the observer does not hold, equally often."""
    hands = suits_deal()
    rules = GAME.make_rules(misdeal="vote", trump="none")
    states = np.zeros(1, GAME.state)
    position = {"dealer": 3, "hands": hands, "claimer": 0, "phase": "bid"}
    GAME.fields.set_position(states, rules, position, 1)
    drawn = sample(states, rules.record(), 2, 3, 3000)
    found = Counter(int(hand) for hand in drawn["hands"][:, 0].tolist())
    assert set(found) == {mask(hands[suit]) for suit in (0, 1, 3)}
    assert chisquare(list(found.values())).pvalue > 1e-3
    assert len({int(hand) for hand in drawn["hands"][:, 1].tolist()}) == len(drawn)


def test_unequal_cases_are_weighed() -> None:
    """Thirteen spades or none: where the claimer may hold either, the first has its share of one deal in many."""
    rules = GAME.make_rules(misdeal="vote", spade_lead="free")
    states = np.zeros(1, GAME.state)
    deck = suits_deal()
    position = {"dealer": 3, "hands": deck, "claimer": 0, "phase": "bid"}
    GAME.fields.set_position(states, rules, position, 1)
    assert knowledge.prepare_deals(states[0], rules.record()[0], 1, PLAN)
    notes = PLAN[0][0]["notes"].copy()
    # 13 spades: the other 26 cards are split; no spade: 13 of 26 plain cards, then 13 of 26 left over.
    assert notes[0] == pytest.approx(comb(26, 13), rel=1e-9)
    assert notes[4] == pytest.approx(comb(26, 13) * comb(26, 13), rel=1e-9)
    found = Counter(knowledge.choose_case(PLAN, key * 7919 + (key << 33)) for key in range(1, 2000))
    assert set(found) == {4}
    PLAN[0][0]["notes"][:5] = [3.0, 0.0, 1.0, 0.0, 4.0]
    found = Counter(knowledge.choose_case(PLAN, fold(key, 3)) for key in range(8000))
    assert set(found) == {0, 2, 4}
    assert chisquare([found[0], found[2], found[4]], [3000, 1000, 4000]).pvalue > 1e-3


def test_passing_proves_nothing() -> None:
    """In a vote without a claim any hand may be a misdeal."""
    rules = GAME.make_rules(misdeal="vote")
    states = np.zeros(1, GAME.state)
    GAME.fields.set_position(states, rules, {"dealer": 3, "phase": "bid"}, 1)
    drawn = sample(states, rules.record(), 0, 3, 4000)
    assert any(is_misdeal(resolve(), names_of(hand)) for one in drawn for hand in one["hands"].tolist())


def test_no_misdeal_is_drawn_under_auto() -> None:
    rules = GAME.make_rules(misdeal="auto")
    states = np.zeros(1, GAME.state)
    loops.start_games(states, rules.record(), 3)
    drawn = sample(states, rules.record(), 0, 3, 2000)
    assert not any(is_misdeal(resolve(), names_of(hand)) for one in drawn for hand in one["hands"].tolist())


def test_tricks_of_unknown_cards() -> None:
    """Such tricks prove nothing, and nothing is known of whole hands then."""
    env = call_break_v0.raw_env(misdeal="auto")
    position = {"hand_size": 13, "tricks": [5, 0, 4, 0], "trick": [[2, "AH"], [3, "2H"]], "leader": 2}
    env.reset(seed=1, options={"position": position})
    true = env.snapshot()
    for seat in range(4):
        drawn = [env.determinize(seat, seed) for seed in range(60)]
        for one in drawn:
            assert_drawn(true, one, seat)
        assert {card for one in drawn for hand in one["hands"] for card in hand} | {"AH", "2H"} == set(PACK)


def test_an_impossible_record_is_refused() -> None:
    """A record that no deal fits: every hidden hand was dealt without a spade, under ``auto``."""
    rules = GAME.make_rules(misdeal="auto")
    states = np.zeros(1, GAME.state)
    loops.start_games(states, rules.record(), 3)
    states["hands"][0] = [mask(hand) for hand in suits_deal()]
    out = np.zeros(2, GAME.state)
    assert not loops.sample_deals(states, rules.record(), 0, 1, PLAN, out)


@pytest.mark.parametrize(
    "options", [{}, {"misdeal": "auto"}, {"misdeal": "vote"}, {"rounds": 1, "min_call": 5, "max_call": 5}]
)
def test_determinize_gives_positions(options: dict[str, Any]) -> None:
    """From every seat: a snapshot that can be set up, and then looks the same to the seat."""
    env, other = call_break_v0.raw_env(**options), call_break_v0.raw_env(**options)
    env.reset(seed=8)
    rng = Random(8)
    for move in range(130):
        if env.terminations[env.agent_selection]:
            return
        if move % 5 == 0:
            true = env.snapshot()
            for seat, agent in enumerate(env.possible_agents):
                drawn = env.determinize(seat, move)
                assert_drawn(true, drawn, seat)
                other.reset(seed=1, options={"position": drawn})
                assert other.snapshot() == drawn
                for key, value in env.observe(agent).items():
                    assert (other.observe(agent)[key] == value).all()
            assert env.snapshot() == true
        env.step(rng.choice(np.flatnonzero(env.observe(env.agent_selection)["action_mask"]).tolist()))


def test_the_seed_of_determinize_is_all_its_chance() -> None:
    env, other = call_break_v0.raw_env(), call_break_v0.raw_env()
    env.reset(seed=3, options={"dealer": 1})
    position = env.snapshot()
    other.reset(seed=4, options={"position": position | {"hands": [env.snapshot()["hands"][0], None, None, None]}})
    assert env.determinize(0, 5) == env.determinize(0, 5)
    assert env.determinize(0, 5) != env.determinize(0, 6)
    assert env.determinize(0, 5) == other.determinize(0, 5), "the true cards had a part in it"
