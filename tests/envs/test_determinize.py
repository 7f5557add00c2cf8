"""Determinization of Kachuful: the states drawn for a seat are all those that it cannot tell apart, equally often.

The other side of each comparison is worked out here from snapshots and the rules, without the engine's help.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from kachuful_variants import (
    CARDS,
    MOMENTS,
    Moment,
    Snapshot,
    could_have_followed,
    game_after,
    hidden_seats,
    lying,
    revokers,
    rules_of,
    sample,
    sees,
    snapshot_of,
    stock_of,
)
from playing import positions
from scipy.stats import chisquare

from envs import kachuful_v0
from envs.cards import card_number, mask_of, names_of
from envs.kachuful import GAME, knowledge

Deal = tuple[int, ...]
PRIVATE = ("hands", "revoked", "seed", "game")
PUBLIC = [name for name in GAME.state.names or () if name not in PRIVATE]


def assert_drawn(true: Snapshot, drawn: Snapshot, seat: int) -> None:
    """A snapshot drawn for a seat agrees with all it knows of the true one, and with the rules."""
    for key in true:
        if key not in PRIVATE:
            assert drawn[key] == true[key], key
    cards = [card for hand in drawn["hands"] for card in hand]
    assert len(set(cards)) == len(cards)
    assert not lying(true) & set(cards)
    for other, (ours, theirs) in enumerate(zip(true["hands"], drawn["hands"], strict=True)):
        assert len(theirs) == len(ours)
        if sees(true, seat, other):
            assert theirs == ours
    if true["rules"]["revoke"] == "masked":
        assert not any(revokers(drawn))
        assert not any(drawn["revoked"])
    else:
        assert drawn["revoked"] == revokers(drawn)


@settings(max_examples=200)
@given(MOMENTS)
def test_drawn_states_agree_with_all_that_is_known(moment: Moment) -> None:
    chosen, seed, moves = moment
    rules = rules_of(chosen)
    states, record = game_after(rules, seed, moves)
    true = snapshot_of(states[0], rules)
    assert true["revoked"] == revokers(true)
    for seat in range(rules.num_players):
        redacted = states.copy()
        knowledge.redact(redacted[0], record[0], seat)
        drawn = sample(states, record, seat, seed, 3)
        for i in range(len(drawn)):
            assert_drawn(true, snapshot_of(drawn[i], rules), seat)
            assert all((drawn[i][name] == states[0][name]).all() for name in PUBLIC)
            knowledge.redact(drawn[i], record[0], seat)
            assert drawn[i].tobytes() == redacted[0].tobytes()


TABLES: list[dict[str, Any]] = [
    {},
    {"max_hand": 3, "blind": "optional", "trump": "turn_up", "no_trump_every": 2},
    {"num_players": 3, "max_hand": 2, "blind": "forced", "single_card": "forehead"},
    {"num_players": 5, "max_hand": 2, "single_card": "forehead", "trump": "turn_up"},
    {"num_players": 6, "max_hand": 2, "single_card": "face_down", "blind": "optional", "schedule": "up"},
    {"num_players": 3, "max_hand": 17, "min_hand": 17, "revoke": "penalty"},
    {"num_players": 8, "max_hand": 6, "min_hand": 6, "blind": "forced", "revoke": "penalty"},
]


@pytest.mark.parametrize("chosen", TABLES)
def test_determinize_gives_positions(chosen: dict[str, Any]) -> None:
    """From every seat at every move of a game: a snapshot that can be set up, and then looks the same to the seat."""
    env, other = kachuful_v0.raw_env(**chosen), kachuful_v0.raw_env(**chosen)
    env.reset(seed=8)
    rng = Random(8)
    for move, _ in enumerate(positions(env, rng)):
        true = env.snapshot()
        for seat, agent in enumerate(env.possible_agents):
            drawn = env.determinize(seat, move)
            assert_drawn(true, drawn, seat)
            if move % 3 and len(true["hands"][0]) > 2:
                continue
            other.reset(seed=1, options={"position": drawn})
            assert other.snapshot() == drawn
            assert other.agent_selection == env.agent_selection
            for key, value in env.observe(agent).items():
                assert (other.observe(agent)[key] == value).all()
        assert env.snapshot() == true
        if move == 120:
            return


def test_the_seed_of_determinize_is_all_its_chance() -> None:
    env, other = kachuful_v0.raw_env(blind="forced"), kachuful_v0.raw_env(blind="forced")
    env.reset(seed=3, options={"dealer": 1})
    other.reset(seed=4, options={"dealer": 1})
    assert env.determinize(0, 5) == env.determinize(0, 5)
    assert env.determinize(0, 5) != env.determinize(0, 6)
    assert env.determinize(0, 5) == other.determinize(0, 5), "the true cards had a part in it"
    states, record = game_after(rules_of({}), 9, 60)
    assert sample(states, record, 0, 11, 50).tobytes() == sample(states, record, 0, 11, 50).tobytes()
    assert sample(states, record, 0, 11, 50).tobytes() != sample(states, record, 0, 12, 50).tobytes()
    drawn = sample(states, record, 0, 11, 50)
    assert len({0, int(states[0]["seed"]), *drawn["seed"].tolist()}) == 52, "later deals must be drawn too"
    assert not drawn["game"].any()


def deals(true: Snapshot, seat: int, known: set[str] | None = None) -> Iterator[Deal]:
    """Every deal that a seat cannot tell from the true one, as masks of all hands, by trying every hand.

    Args:
        true: the true state.
        seat: who looks.
        known: cards that it knows, for some reason, to be in nobody's hand.
    """
    masked = true["rules"]["revoke"] == "masked"
    hidden = hidden_seats(true, seat)
    hands = [[] if other in hidden else hand for other, hand in enumerate(true["hands"])]
    free = set(CARDS) - lying(true) - (known or set()) - {card for hand in hands for card in hand}

    def fill(at: int, free: frozenset[str]) -> Iterator[Deal]:
        if at == len(hidden):
            yield tuple(mask_of(map(card_number, hand)) for hand in hands)
            return
        other = hidden[at]
        for hand in combinations(sorted(free), len(true["hands"][other])):
            if not (masked and could_have_followed(true, other, list(hand))):
                hands[other] = list(hand)
                yield from fill(at + 1, free - set(hand))

    yield from fill(0, frozenset(free))


def assert_uniform(seen: Counter[Any], possible: list[Any]) -> None:
    """All that is possible comes equally often (chi-square), and nothing else comes."""
    assert len(set(possible)) == len(possible) > 1
    assert set(seen) <= set(possible)
    assert chisquare([seen[deal] for deal in possible]).pvalue > 1e-3


@dataclass(frozen=True)
class Case:
    """A small situation: options, and which moment of a random game is wanted for the seat to act."""

    options: dict[str, Any]
    wanted: Callable[[Snapshot], bool]
    spare: int | None = None
    """Cards of the stock whose place stays unknown; the rest of it is shown to the seat (None: nothing is)."""


LEAST, MOST = 20, 3000
"""Deals that a situation to count them in may have."""


def voids(true: Snapshot) -> int:
    """Voids shown under ``masked``: pairs of seat and suit."""
    tricks = [*true["played"], true["trick"]]
    return len({(who, trick[0][1][1]) for trick in tricks for who, card in trick if card[1] != trick[0][1][1]})


def left(cards: int, trick: int, shown: int = 0) -> Callable[[Snapshot], bool]:
    """Play, with so many cards in the hand of the seat to act, so many in the trick, and at least so many voids."""
    return lambda true: (
        true["phase"] == "play"
        and len(true["hands"][true["turn"]]) == cards
        and len(true["trick"]) == trick
        and voids(true) >= shown
    )


def bidding(made: int) -> Callable[[Snapshot], bool]:
    """The time for bids, so many made, and the seat to act has not looked."""
    return lambda true: (
        true["phase"] == "bid"
        and sum(bid is not None for bid in true["bids"]) == made
        and not true["looked"][true["turn"]]
    )


def fixed(seats: int, hand: int, **others: Any) -> dict[str, Any]:
    """Options of games of equal rounds."""
    return {"num_players": seats, "max_hand": hand, "min_hand": hand, **others}


CASES = {
    "three seats": Case(fixed(3, 17), left(4, 0)),
    "three seats, one void": Case(fixed(3, 17), left(4, 0, 1)),
    "three seats, voids, middle of a trick": Case(fixed(3, 17), left(5, 1, 2)),
    "three seats, last to play": Case(fixed(3, 17), left(5, 2, 1)),
    "four seats, whole pack": Case(fixed(4, 13), left(3, 0)),
    "four seats, many voids": Case(fixed(4, 13), left(4, 2, 4)),
    "five seats": Case(fixed(5, 10), left(1, 0)),
    "five seats, voids, middle of a trick": Case(fixed(5, 10), left(2, 2, 8)),
    "turned card": Case(fixed(3, 16, trump="turn_up"), left(2, 1)),
    "turned card, voids": Case(fixed(3, 17, trump="turn_up"), left(4, 1, 2)),
    "penalty": Case(fixed(3, 4, revoke="penalty"), left(3, 0, 1), spare=1),
    "penalty, middle of a trick": Case(fixed(4, 4, revoke="penalty"), left(2, 2, 4), spare=2),
    "penalty, five seats": Case(fixed(5, 3, revoke="penalty"), left(2, 2, 3), spare=1),
    "penalty, blind and turned": Case(
        fixed(3, 3, revoke="penalty", blind="optional", trump="turn_up"), left(2, 1, 2), spare=3
    ),
    "own forehead": Case(fixed(3, 1, single_card="forehead"), bidding(1)),
    "own forehead, five seats, turned": Case(fixed(5, 1, single_card="forehead", trump="turn_up"), bidding(4)),
    "own forehead, blind game": Case(fixed(8, 1, single_card="forehead", blind="forced"), bidding(3)),
    "face down": Case(fixed(4, 1, single_card="face_down"), bidding(2), spare=3),
    "face down, five seats, turned": Case(fixed(5, 1, single_card="face_down", trump="turn_up"), bidding(0), spare=1),
    "own hand unseen": Case(fixed(3, 2, blind="forced"), bidding(0), spare=1),
    "own hand unseen, penalty": Case(fixed(3, 2, blind="optional", revoke="penalty"), bidding(1), spare=0),
    "own hand unseen, turned": Case(fixed(5, 1, blind="optional", trump="turn_up"), bidding(2), spare=1),
    "own hand looked at": Case(
        fixed(3, 3, blind="optional"), lambda true: true["looked"][true["turn"]] and true["phase"] == "bid", spare=2
    ),
    "last to bid, others blind": Case(fixed(4, 2, blind="forced"), bidding(3), spare=0),
}


def find(case: Case) -> tuple[np.ndarray, np.ndarray, Snapshot, dict[Deal, int]]:
    """The first moment of random games that a case wants: state, options, snapshot, and all deals with who revoked."""
    rules = rules_of(case.options)
    for seed in range(400):
        for moves in range(4 * (rules.largest_hand + 2) * rules.num_players):
            states, record = game_after(rules, seed, moves)
            if int(states[0]["round"]) > 0:
                break
            true = snapshot_of(states[0], rules)
            if not case.wanted(true):
                continue
            known: set[str] = set()
            if case.spare is not None:
                known = set(sorted(stock_of(true))[case.spare :])
                states[0]["played"][0] |= mask_of(map(card_number, known))
            possible = {}
            for deal in islice(deals(true, true["turn"], known), MOST + 1):
                marks = revokers({**true, "hands": [names_of(mask) for mask in deal]})
                possible[deal] = sum(flag << seat for seat, flag in enumerate(marks))
            varied = rules.revoke == "masked" or true["phase"] == "bid" or len(set(possible.values())) > 1
            if varied and LEAST <= len(possible) <= MOST:
                return states, record, true, possible
    raise AssertionError("no such moment")


@pytest.mark.parametrize("name", CASES)
def test_every_deal_is_equally_likely(name: str) -> None:
    states, record, true, possible = find(CASES[name])
    seats = len(true["hands"])
    drawn = sample(states, record, true["turn"], 7, 40 * len(possible))
    seen = list(map(tuple, drawn["hands"][:, :seats].tolist()))
    assert_uniform(Counter(seen), list(possible))
    assert drawn["revoked"].tolist() == [possible[deal] for deal in seen]


def owners(drawn: np.ndarray, seats: int, cards: list[str]) -> list[tuple[int, ...]]:
    """For each of some drawn states, who holds each of the cards (`seats`: nobody)."""
    columns = []
    for card in cards:
        holds = drawn["hands"][:, :seats] >> card_number(card) & 1
        columns.append(np.where(holds.any(1), holds.argmax(1), seats).tolist())
    return list(zip(*columns, strict=True))


@pytest.mark.parametrize(
    "chosen",
    [
        fixed(8, 6, blind="forced"),
        fixed(8, 5, blind="forced", trump="turn_up"),
        fixed(3, 1, single_card="face_down"),
        fixed(5, 10, blind="optional"),
    ],
)
def test_nobody_has_looked(chosen: dict[str, Any]) -> None:
    """Every hand is unseen, with eight seats nine rows: where two cards lie is spread as from a shuffled pack."""
    rules = rules_of(chosen)
    seats, size = rules.num_players, rules.largest_hand
    states, record = game_after(rules, 5, 0)
    true = snapshot_of(states[0], rules)
    seat = true["turn"]
    assert hidden_seats(true, seat) == list(range(seats))
    cards = sorted(CARDS - lying(true))
    rest = len(cards) - seats * size
    drawn = sample(states, record, seat, 3, 40_000)
    places = [size] * seats + [rest]
    expected = {
        (a, b): 40_000 * places[a] * (places[b] - (a == b)) / len(cards) / (len(cards) - 1)
        for a in range(seats + 1)
        for b in range(seats + 1)
    }
    possible = [pair for pair, number in expected.items() if number > 0]
    found = Counter(owners(drawn, seats, [cards[0], cards[-1]]))
    assert set(found) <= set(possible)
    assert chisquare([found[pair] for pair in possible], [expected[pair] for pair in possible]).pvalue > 1e-3
    held = Counter(card for one in drawn["hands"][:, seat].tolist() for card in names_of(one))
    assert set(held) == set(cards)
    if size == 1:  # with larger hands the counts depend on each other
        assert chisquare([held[card] for card in cards]).pvalue > 1e-3


def test_tricks_of_unknown_cards() -> None:
    """Such tricks prove nothing, and their cards may be anywhere."""
    env = kachuful_v0.raw_env(revoke="penalty")
    position = {"hand_size": 5, "tricks": [2, 0, 1, 0], "trick": [[2, "AS"], [3, "2H"]], "leader": 2}
    env.reset(seed=1, options={"position": position})
    true = env.snapshot()
    for seat in range(4):
        drawn = [env.determinize(seat, seed) for seed in range(100)]
        for one in drawn:
            assert_drawn(true, one, seat)
        assert {card for one in drawn for hand in one["hands"] for card in hand} | {"AS", "2H"} == CARDS


# Hands that a position leaves out.


def completions(rules: Any, position: Snapshot, seeds: range) -> Iterator[Snapshot]:
    """A position completed from many seeds."""
    states = np.zeros(1, GAME.state)
    for seed in seeds:
        GAME.fields.set_position(states, rules, position, seed)
        yield snapshot_of(states[0], rules)


@pytest.mark.parametrize("name", ["three seats, one void", "five seats", "turned card, voids"])
def test_missing_hands_are_dealt_uniformly(name: str) -> None:
    """A position without the hands that a seat does not see is completed as `determinize` would, from the seed."""
    _, _, true, _ = find(CASES[name])
    rules = rules_of(CASES[name].options)
    seats = range(len(true["hands"]))
    known = [seat for seat in seats if seat == true["turn"] or (len(seats) > 4 and seat % 2)]
    hands = [hand if seat in known else None for seat, hand in enumerate(true["hands"])]
    possible = [deal for deal in deals(true, true["turn"]) if all(names_of(deal[s]) == true["hands"][s] for s in known)]
    found = Counter(
        tuple(mask_of(map(card_number, hand)) for hand in done["hands"])
        for done in completions(rules, {**true, "hands": hands}, range(12 * len(possible)))
    )
    assert_uniform(found, possible)


def test_a_missing_turned_card_is_dealt_uniformly() -> None:
    """With a hand missing too, void in a suit: of nine cards five are the hand's, one is turned."""
    rules = rules_of(fixed(8, 6, trump="turn_up"))
    free = {"3H", "4H", "2C", "3C", "4C", "2D", "3D", "4D", "5D"}
    others = iter(sorted(CARDS - free - {"5H", "2S"}))
    hands = [None if seat == 1 else list(islice(others, 6 - (seat == 0))) for seat in range(8)]
    position = {"trick": [[0, "5H"], [1, "2S"]], "hands": hands}
    possible = [
        (hand, card)
        for hand in combinations(sorted(card for card in free if card[1] != "H"), 5)
        for card in free - set(hand)
    ]
    found = Counter()
    for done in completions(rules, position, range(30 * len(possible))):
        assert done["trump"] == done["turned"][1]
        found[tuple(sorted(done["hands"][1])), done["turned"]] += 1
    assert_uniform(found, possible)
