"""Whole games of Call Break at random, under random rules: invariants, and a second reading that follows."""

from __future__ import annotations

from random import Random
from typing import Any

import call_break_reference as plain
import numpy as np
import pytest
from call_break_reference import PACK, Reference, resolve
from call_break_table import VECTORS, game_options
from hypothesis import given, settings
from hypothesis import strategies as st

from envs import call_break_v0, loops
from envs.call_break import GAME, engine, knowledge, scoring
from envs.cards import card_name, names_of, shuffle
from envs.game import GAME_OVER, ROUND_OVER
from envs.tricks import deal_key

ACTIONS = {GAME.action_name(action): action for action in range(GAME.num_actions)}


def dealt(seed: int) -> plain.Deal:
    """The deals of a seed: they depend on it, the round and the number of the deal alone, never on what was played."""

    def deal(round_: int, number: int, playing: list[int]) -> list[list[str]]:
        deck = np.zeros(52, np.int8)
        shuffle(deck, 52, deal_key(seed, 0, round_, number))
        cards = iter([card_name(card) for card in deck.tolist()])
        return [[next(cards) for _ in range(13)] if seat in playing else [] for seat in range(4)]

    return deal


def misdealt(seed: int) -> plain.Deal:
    """Deals that are made unlikely often without spades, or of one suit."""

    def deal(round_: int, number: int, playing: list[int]) -> list[list[str]]:
        rng = Random(f"{seed} {round_} {number}")
        cards = PACK.copy()
        kind = rng.random()
        if kind < 0.2:
            rng.shuffle(cards)
        elif kind < 0.6:  # the first hand has no spade
            rng.shuffle(cards)
            cards.sort(key=lambda card: card[1] == "S")
            rest = cards[13:]
            rng.shuffle(rest)
            cards[13:] = rest
        hands = [cards[13 * i : 13 * i + 13] for i in range(4)]
        rng.shuffle(hands)
        return [hands[i] if i in playing else [] for i in range(4)]

    return deal


def choose(moves: list[str], rng: Random) -> str:
    """A random move; calls low, so that ties and low totals occur, and agrees mostly."""
    if moves[0].startswith("bid"):
        return moves[min(rng.randrange(len(moves)), rng.choice([0, 0, 0, 1, 3, 13]))]
    if moves == ["agree", "refuse"]:
        return rng.choice(["agree", "agree", "refuse"])
    return rng.choice(moves)


def names(words: tuple[int, int]) -> list[str]:
    return [GAME.action_name(52 * i + bit) for i in range(2) for bit in range(52) if int(words[i]) >> bit & 1]


def compare(reference: Reference, states: np.ndarray, rules: Any) -> None:
    """The engine and the second reading are in the same position."""
    snapshot = GAME.fields.snapshot(states[0], rules)
    for key, value in reference.snapshot().items():
        assert snapshot[key] == value, key
    words = engine.legal(states[0], rules.record()[0])
    assert names(words) == sorted(reference.legal(), key=lambda name: ACTIONS[name])


def check_knowledge(reference: Reference, states: np.ndarray, record: Any) -> None:
    """Every seat is told its own hand and no other, and nothing of the seed."""
    for seat in range(4):
        told = states.copy()
        knowledge.redact(told[0], record[0], seat)
        hands = [sorted(names_of(hand)) for hand in told["hands"][0].tolist()]
        assert hands == [sorted(hand) if other == seat else [] for other, hand in enumerate(reference.hands)]
        assert not told["seed"][0]
        assert not told["game"][0]


def check_barred(reference: Reference, states: np.ndarray) -> None:
    """What a seat was seen not to hold it does not hold."""
    for seat in range(4):
        assert not int(states["barred"][0][seat]) & int(states["hands"][0][seat])


def check_one_legality(states: np.ndarray, record: Any) -> None:
    """The mask and the test of single actions agree for every action, also beyond the range."""
    mask = np.zeros(GAME.num_actions, np.int8)
    words = engine.legal(states[0], record[0])
    loops.write_mask(*words, mask, 0, len(mask))
    allowed = set(np.flatnonzero(mask).tolist())
    assert {action for action in range(-2, 120) if loops.is_legal(states[0], record[0], action)} == allowed
    assert allowed


def check_round(reference: Reference, states: np.ndarray, record: Any, flags: int) -> None:
    """What holds after every round: tricks add up, points, rewards and places are right."""
    state = states[0]
    assert sum(reference.tricks) == 13
    assert state["gained"][:4].tolist() == reference.gained
    assert flags == (ROUND_OVER | GAME_OVER if reference.finished else ROUND_OVER)
    rewards = np.zeros(4, np.float32)
    scoring.rewards(state, record[0], flags, rewards)
    assert rewards.tolist() == pytest.approx([float(reward) for reward in reference.rewards()], abs=1e-5)
    if reference.options["reward"] != "score":
        assert sum(reference.rewards()) == 0
    if reference.finished:
        assert [scoring.place(state, record[0], seat) for seat in range(4)] == reference.places()
    statistics = np.zeros(len(scoring.STATISTICS), np.float32)
    for seat in range(4):
        scoring.statistics(state, record[0], seat, statistics)
        found = dict(zip(scoring.STATISTICS, statistics.tolist(), strict=True))
        assert found["points"] == pytest.approx(reference.gained[seat] / 10)
        assert found["call"] == (reference.bids[seat] or 0)
        assert found["tricks"] == reference.tricks[seat]
        assert found["made"] + found["missed"] == (seat in reference.playing)
        assert found["made"] == (seat in reference.playing and (reference.gained[seat] > 0 or not found["missed"]))


def hand_over(reference: Reference, states: np.ndarray, record: Any) -> None:
    """Give the engine the hands of a deal made by hand."""
    for seat in range(4):
        states["hands"][0][seat] = sum(1 << ACTIONS[card] for card in reference.hands[seat])


def play(options: dict[str, Any], seed: int, dealer: int, by_hand: bool) -> Reference:
    """Play a random game by the engine and by the second reading."""
    rules = GAME.make_rules(**options)
    record = rules.record()
    rng = Random(seed)
    states, other = np.zeros(1, GAME.state), np.zeros(1, GAME.state)
    states["seed"] = seed
    state = states[0]
    engine.new_game(state, record[0], dealer if dealer < 4 else -1)
    reference = Reference(resolve(**options), int(state["dealer"]), (misdealt if by_hand else dealt)(seed))
    assert dealer >= 4 or reference.dealer == dealer
    deals = -1
    while True:
        if by_hand and reference.deals != deals:
            deals = reference.deals
            hand_over(reference, states, record)
        compare(reference, states, rules)
        check_barred(reference, states)
        if rng.random() < 0.1:
            check_one_legality(states, record)
            check_knowledge(reference, states, record)
            GAME.fields.set_position(other, rules, GAME.fields.snapshot(state, rules), seed)
            for key in set(GAME.state.names or ()) - {"moves", "gained", "deals"}:
                assert (other[key] == states[key]).all(), key
        move = choose(reference.legal(), rng)
        before = reference.deals
        reference.do(move)
        flags = loops.advance(state, record[0], ACTIONS[move])
        if not by_hand:
            assert int(state["deals"]) == reference.deals
        if by_hand and reference.deals != before:
            deals = -1
        if reference.phase == "over":
            compare(reference, states, rules)
            check_round(reference, states, record, flags)
            if reference.finished:
                GAME.fields.set_position(other, rules, GAME.fields.snapshot(state, rules), seed)
                assert [scoring.place(other[0], record[0], seat) for seat in range(4)] == reference.places()
                return reference
            engine.next_round(state, record[0])
            reference.next_round()
            assert int(state["playing"]) == sum(1 << seat for seat in reference.playing)
            deals = -1
        else:
            assert flags == 0


@given(options=game_options(), seed=st.integers(0, 2**63 - 1), dealer=st.integers(0, 4))
@settings(max_examples=100)
def test_random_games(options: dict[str, Any], seed: int, dealer: int) -> None:
    """All options at once: legal moves, turns, trump, tricks, redeals, scores, places and phases at every step."""
    play(options, seed, dealer, False)


@given(options=game_options(), seed=st.integers(0, 2**63 - 1), dealer=st.integers(0, 4))
@settings(max_examples=60)
def test_random_games_with_misdeals(options: dict[str, Any], seed: int, dealer: int) -> None:
    """The same with deals made by hand, many of which are misdeals to be voted on."""
    play(options | {"misdeal": "vote" if options["misdeal"] == "auto" else options["misdeal"]}, seed, dealer, True)


@pytest.mark.slow
@given(options=game_options(), seed=st.integers(0, 2**63 - 1), dealer=st.integers(0, 4))
@settings(max_examples=1500, derandomize=False)
def test_many_random_games(options: dict[str, Any], seed: int, dealer: int) -> None:
    play(options, seed, dealer, False)


def test_extra_rounds_of_every_size() -> None:
    """tie="extra_round": rounds among two, three and four tied seats, who are tied more easily under narrow calls."""
    sizes = set()
    for seed in range(400):
        call = 4 + seed % 2
        game = play({"rounds": 1, "misdeal": "vote", "min_call": call, "max_call": call}, seed, 4, False)
        sizes.add(len(game.playing) if game.round == 1 else 0)
        if sizes == {0, 2, 3, 4}:
            return
    raise AssertionError(sizes)


@pytest.mark.parametrize("preset", ["call_break", "nine_rounds", "partners", "pagat", "app", "first_lead"])
def test_presets_by_the_second_reading(preset: str) -> None:
    """A whole game of every preset through `raw_env`: masks, snapshots, rewards and history; all seats end at once.

    preset="call_break", preset="nine_rounds", preset="partners", preset="pagat", preset="app", preset="first_lead".
    """
    env = call_break_v0.raw_env(preset)
    seed = len(preset)
    env.reset(seed=seed, options={"dealer": 1})
    rng = Random(preset)
    reference = Reference(resolve(preset), 1, dealt(seed))
    while not reference.finished:
        if reference.phase == "over":
            reference.next_round()
        snapshot = env.snapshot()
        assert {key: snapshot[key] for key in reference.snapshot()} == reference.snapshot()
        for seat, agent in enumerate(env.possible_agents):
            mask = env.observe(agent)["action_mask"]
            legal = reference.legal() if seat == reference.turn else []
            assert {env.action_name(a) for a in np.flatnonzero(mask)} == set(legal)
        move = choose(reference.legal(), rng)
        seat, made = reference.turn, len(env.history)
        reference.do(move)
        env.step(env.action_id(move))
        assert env.history[made:] == [(seat, move)]
        ended = reference.phase == "over"
        expected = [float(reward) for reward in reference.rewards()] if ended else [0.0] * 4
        assert list(env.rewards.values()) == pytest.approx(expected, abs=1e-5)
    assert env.snapshot()["scores"] == reference.scores
    assert all(env.terminations.values())


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["id"] for vector in VECTORS])
def test_the_second_reading_knows_the_worked_positions(vector: dict[str, Any]) -> None:
    case, expect = vector["input"], vector["expect"]
    options = resolve(**{key: value for key, value in case.items() if key in plain.DEFAULTS and key != "trump"})
    kind = vector["kind"]
    if kind == "score_tenths":
        assert plain.tenths(options, case["call"], case["won"]) == expect
    elif kind == "legal_plays":
        found = plain.legal_cards(options, case["hand"], case["trick"], case["trump"], case["first_trick"])
        assert found == set(expect)
    elif kind == "trick_winner":
        assert plain.winner(list(enumerate(case["trick"])), case["trump"]) == expect
    elif kind == "team_tenths":
        assert plain.round_tenths(options | {"partnerships": True}, case["calls"], case["won"]) == expect
    elif kind == "misdeal":
        assert plain.is_misdeal(options, case["hand"]) is expect
    elif kind == "redeal":
        game = Reference(options, 3, dealt(1))
        for call in case["calls"]:
            game.do(f"bid {call}")
        assert (game.redeals == 1) is expect
    elif kind == "dealers":
        dealers = [(case["first"] + i) % 4 for i in range(case["rounds"])]
        assert expect == {"dealers": dealers, "first_to_bid": [(dealer + 1) % 4 for dealer in dealers]}
    elif kind == "winners":
        game = Reference(options, 0, dealt(1))
        game.scores = case["totals"]
        assert game.tied() == expect
    else:
        raise AssertionError(kind)
