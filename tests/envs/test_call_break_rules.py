"""The rules of Call Break: options, presets, errors, and the worked positions by the engine's own functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from call_break_table import Table, bids, cases, mask

from envs.call_break import GAME, duties, engine, scoring
from envs.call_break.rules import PRESETS, CallBreakRules
from envs.cards import TRUMPS, card_number, names_of, suit_of
from envs.tricks import winner_of


def start(seed: int = 0, dealer: int = -1, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """One new game: arrays of one state record and one options record."""
    record = GAME.make_rules(**options).record()
    states = np.zeros(1, GAME.state)
    states["seed"] = seed
    engine.new_game(states[0], record[0], dealer)
    return states, record


@cases("score_tenths")
def test_score(vector: dict[str, Any]) -> None:
    """A3.4, A3.21, A3.22, A3.23, A3.30, A3.35: made 10 * call + overtricks, missed -10 * call; bonus_call=8."""
    case = vector["input"]
    record = GAME.make_rules(bonus_call=case["bonus_call"]).record()
    assert scoring.score(record[0], case["call"], case["won"]) == vector["expect"]


@cases("team_tenths")
def test_team_score(vector: dict[str, Any]) -> None:
    """A3.28, partnerships=True: calls and tricks of a pair are added, both get the team's score."""
    states, record = start(partnerships=True)
    states["bids"][0] = vector["input"]["calls"]
    states["tricks"][0] = vector["input"]["won"]
    scoring.score_round(states[0], record[0])
    assert states["gained"][0][:4].tolist() == vector["expect"]


@cases("legal_plays")
def test_legal_plays(vector: dict[str, Any]) -> None:
    """A3.3, A3.15, A3.16, A3.17, A3.19, A3.34."""
    case = vector["input"]
    trump = "spades" if case["trump"] == "S" else "first_lead"
    states, record = start(dealer=3, must_beat=case["must_beat"], undertrump=case["undertrump"], trump=trump)
    state = states[0]
    for _ in range(4):
        engine.step(state, record[0], engine.BID_ACTION + 2)
    state["trick"] = int(not case["first_trick"])
    for seat, name in enumerate(case["trick"]):
        state["hands"][seat] = mask([name])
        engine.step(state, record[0], card_number(name))
    assert TRUMPS[state["trump"]] == case["trump"]
    state["hands"][len(case["trick"])] = mask(case["hand"])
    low, high = engine.legal(state, record[0])
    assert high == 0
    assert sorted(names_of(low)) == sorted(vector["expect"])


@cases("trick_winner")
def test_trick_winner(vector: dict[str, Any]) -> None:
    """A3.8, A3.17, A3.18, A3.33: the highest spade wins, else the highest card of the led suit."""
    case = vector["input"]
    cards = np.array([card_number(name) for name in case["trick"]])
    assert winner_of(cards, 0, len(cards), TRUMPS.index(case["trump"])) == vector["expect"]


@cases("redeal")
def test_redeal(vector: dict[str, Any]) -> None:
    """A3.13, redeal_total=9, redeal_total=None: 9 or less is dealt again, by the same dealer, without a score."""
    table = Table({"dealer": 2}, redeal_total=vector["input"]["redeal_total"])
    before = table["hands"]
    table.do(*bids(*vector["input"]["calls"]))
    assert (table["redeals"] == 1) is vector["expect"]
    assert (table["phase"] == "bid") is vector["expect"]
    assert (table["hands"] != before) is vector["expect"]
    assert table["dealer"] == 2
    assert table["scores"] == [0] * 4


@cases("dealers")
def test_dealers(vector: dict[str, Any]) -> None:
    """A3.7, A3.12, A3.24, A3.36: the deal passes to the right, there sits who calls first."""
    case = vector["input"]
    states, record = start(dealer=case["first"])
    dealers, first = [], []
    for _ in range(case["rounds"]):
        dealers.append(int(states[0]["dealer"]))
        first.append(int(states[0]["turn"]))
        engine.next_round(states[0], record[0])
    assert {"dealers": dealers, "first_to_bid": first} == vector["expect"]
    assert set(dealers) == {0, 1, 2, 3}


@cases("winners")
def test_winners(vector: dict[str, Any]) -> None:
    """A3.5, A3.9, A3.25, scores are integers: totals in tenths tie where sums of floats would not."""
    top = scoring.leaders_of(np.array(vector["input"]["totals"]))
    assert [seat for seat in range(4) if top >> seat & 1] == vector["expect"]
    states, record = start(tie="shared")
    states["scores"][0][:4] = vector["input"]["totals"]
    places = [scoring.place(states[0], record[0], seat) for seat in range(4)]
    assert [seat for seat in range(4) if places[seat] == 1] == vector["expect"]


@cases("misdeal")
def test_misdeal(vector: dict[str, Any]) -> None:
    """A3.32."""
    assert engine.is_misdeal(GAME.make_rules().record()[0], mask(vector["input"]["hand"])) == vector["expect"]


def test_four_players_and_a_full_deck() -> None:
    """A3.1, A3.6, A3.8, A3.11, num_players=4: 52 cards, thirteen each, everybody alone, aces high."""
    states, _ = start(3)
    hands = states["hands"][0].tolist()
    assert [hand.bit_count() for hand in hands] == [13] * 4
    assert sum(hands) == (1 << 52) - 1
    assert GAME.players == (4, 4)
    assert GAME.direction == "counter-clockwise"
    assert GAME.make_rules() == CallBreakRules()
    assert card_number("AS") - card_number("2S") == 12
    assert suit_of(card_number("AH")) == 3


def test_first_dealer_is_random_and_can_be_named() -> None:
    """A3.10, the first dealer is random, or named by reset."""
    dealers = [int(start(seed)[0][0]["dealer"]) for seed in range(2000)]
    counts = np.bincount(dealers, minlength=4)
    assert ((counts - 500) ** 2 / 500).sum() < 16.3  # chi-square, 3 degrees of freedom, p = 0.001
    assert int(start(5, dealer=2)[0][0]["dealer"]) == 2


def test_the_deal_depends_on_seed_round_and_redeal_alone() -> None:
    """Duplicate deals: whatever is played, the next round's cards are the same; a redeal has others."""
    found = set()
    for plays in range(3):
        table = Table({"dealer": 1}, seed=11)
        table.do(*bids(2, 2 + plays, 2, 3))
        while table["round"] == 0:
            table.do(table.legal[plays % len(table.legal)])
        found.add(str(table["hands"]))
    assert len(found) == 1


ERRORS: list[tuple[dict[str, Any], str]] = [
    ({"num_players": 3}, "option num_players=3 is not possible: num_players must be 4"),
    ({"num_players": True}, "num_players=True"),
    ({"rounds": 0}, "option rounds=0 is not possible: rounds must be an integer from 1"),
    ({"rounds": 2.5}, "rounds=2.5"),
    ({"min_call": -1}, "min_call=-1"),
    ({"min_call": 14}, "min_call=14"),
    ({"max_call": 14}, "max_call=14"),
    ({"min_call": 5, "max_call": 4}, "max_call=4 is not possible: max_call must be an integer from 5 to 13"),
    ({"must_beat": "sometimes"}, "must_beat must be 'always', 'until_trumped' or 'off'"),
    ({"must_beat": True}, "must_beat=True"),
    ({"undertrump": "never"}, "undertrump must be 'forced' or 'free'"),
    ({"spade_lead": "no"}, "spade_lead must be 'restricted' or 'free'"),
    ({"trump": "hearts"}, "trump must be 'spades', 'first_lead' or 'none'"),
    ({"redeal_total": 7}, "redeal_total must be an integer from 8 to 52 with min_call=2, or None"),
    ({"redeal_total": "9"}, "redeal_total='9'"),
    ({"bonus_call": 1}, r"bonus_call must be an integer from 2 to 13 \(the range of calls\), or None"),
    ({"bonus_call": 9, "max_call": 8}, "bonus_call=9"),
    (
        {"bonus_call": 8, "partnerships": True},
        "bonus_call=8 is not possible: bonus_call must be None with partnerships",
    ),
    ({"preset": "pagat", "partnerships": True}, "bonus_call=8"),
    ({"partnerships": 1}, "partnerships=1 is not possible: partnerships must be True or False"),
    ({"misdeal": "maybe"}, "misdeal must be 'off', 'auto' or 'vote'"),
    ({"tie": "coin"}, "tie must be 'extra_round' or 'shared'"),
    ({"reward": "money"}, "reward must be 'margin', 'score' or 'win'"),
    ({"must_beet": "off"}, "did you mean 'must_beat'"),
    ({"preset": "nope"}, "no preset 'nope'"),
]


@pytest.mark.parametrize(("options", "message"), ERRORS)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    """Errors when the rules are built: a range of calls outside 0..13 or empty, rounds below 1, a bonus call outside
    the range of calls or together with partnerships, a redeal total below four times the smallest call."""
    with pytest.raises(ValueError, match=message) as error:
        GAME.make_rules(**options)
    assert "\n" not in str(error.value)


def test_extreme_options_are_possible() -> None:
    for options in (
        {"min_call": 0, "max_call": 0, "redeal_total": 0, "bonus_call": 0},
        {"min_call": 13, "redeal_total": 52, "bonus_call": 13},
        {"rounds": 1_000_000},
        {"redeal_total": 8},
    ):
        rules = GAME.make_rules(**options)
        for name, value in options.items():
            assert rules.record()[name][0] == value


def test_presets() -> None:
    """The named presets; further options override them.

    preset="call_break", preset="nine_rounds", preset="partners", preset="pagat", preset="app", preset="first_lead".
    """
    assert set(PRESETS) == {"call_break", "nine_rounds", "partners", "pagat", "app", "first_lead"}
    assert GAME.make_rules("call_break") == CallBreakRules()
    assert GAME.make_rules("nine_rounds") == CallBreakRules(rounds=9)
    assert GAME.make_rules("partners") == CallBreakRules(partnerships=True)
    pagat = CallBreakRules(must_beat="off", undertrump="free", bonus_call=8, redeal_total=9)
    assert GAME.make_rules("pagat") == pagat
    app = CallBreakRules(
        min_call=1, max_call=8, must_beat="until_trumped", undertrump="free", spade_lead="free", tie="shared"
    )
    assert GAME.make_rules("app") == app
    assert GAME.make_rules("first_lead") == CallBreakRules(trump="first_lead")
    assert GAME.make_rules("app", rounds=7).rounds == 7


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({}, 13.0),
        ({"preset": "app"}, 8.5),
        ({"preset": "pagat"}, 13.0),
        ({"max_call": 8, "bonus_call": 8}, 13.0),
        ({"partnerships": True}, 13.0),
        ({"partnerships": True, "max_call": 3}, 6.7),
        ({"partnerships": True, "min_call": 7}, 13.0),
        ({"max_call": 5, "min_call": 0}, 5.8),
        ({"reward": "win"}, 1.0),
    ],
)
def test_the_price_of_an_illegal_action(options: dict[str, Any], most: float) -> None:
    assert GAME.worst_round(GAME.make_rules(**options)) == pytest.approx(-most)


def test_rules_in_the_record() -> None:
    """Indices of the engine's constants are those of the option tuples."""
    record = GAME.make_rules(trump="none", tie="shared", misdeal="vote", must_beat="off", reward="win").record()[0]
    assert not duties.spades_are_trump(record)
    assert engine.opening_trump(record) == TRUMPS.index("N")
    assert [int(record[name]) for name in ("trump", "tie", "misdeal", "must_beat", "reward")] == [2, 1, 2, 2, 2]
