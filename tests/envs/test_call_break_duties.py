"""The duties of Call Break: hand-set tricks for each sentence, and all combinations of the options by brute force."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest
from call_break_reference import PACK, legal_cards, resolve, winner
from call_break_table import CHOICES, Table, mask

from envs.call_break import GAME, engine
from envs.cards import TRUMPS, card_number, names_of

DUTIES = ("must_beat", "undertrump", "spade_lead", "trump")


def at_table(hands: list[str], lead: int = 0, tricks: int = 1, **options: Any) -> Table:
    """A trick that seat `lead` leads, with these hands, after so many tricks of unknown cards (all won by it)."""
    wins = [tricks if seat == lead else 0 for seat in range(4)]
    position = {"hands": [hand.split() for hand in hands], "tricks": wins, "leader": lead, "phase": "play"}
    if tricks == 0:
        position = {"hands": [hand.split() for hand in hands], "dealer": (lead - 1) % 4, "phase": "play"}
    return Table(position, **options)


def test_any_card_may_be_led_later() -> None:
    """A3.14, A3.19: after the first trick any suit may be led, spades included."""
    table = at_table(["AS 2H 3D", "2S 3S 4S", "2C 3C 4C", "5C 6C 7C"])
    assert set(table.legal) == {"AS", "2H", "3D"}
    table.do("AS")


def test_no_spade_lead_to_the_first_trick() -> None:
    """A3.19, spade_lead="restricted": unless the leader holds only spades."""
    hands = ["AS 2H 3D", "2S 3S 4S", "2C 3C 4C", "5C 6C 7C"]
    at_table(hands, tricks=0).refuses("AS")
    only = at_table(["AS KS QS", *hands[1:]], tricks=0)
    assert set(only.legal) == {"AS", "KS", "QS"}
    # It binds the lead alone: the others may, and here must, play spades.
    assert at_table(hands, tricks=0).do("3D").legal == ["2S", "3S", "4S"]


def test_spade_lead_free() -> None:
    """A3.31, spade_lead="free"; off when spades are not the permanent trump."""
    hands = ["AS 2H 3D", "2S 3S 4S", "2C 3C 4C", "5C 6C 7C"]
    for options in ({"spade_lead": "free"}, {"trump": "none"}, {"trump": "first_lead"}):
        assert set(at_table(hands, tricks=0, **options).legal) == {"AS", "2H", "3D"}


def test_must_follow_and_beat() -> None:
    """A3.3, A3.15, must_beat="always": who follows must beat the highest card of the led suit, if able."""
    table = at_table(["7D 3S 2S", "8D KD 9H", "QD 2D AD", "AS 9D KS"]).do("7D")
    assert table.legal == ["8D", "KD"]
    table.refuses("9H")
    table.do("8D")
    assert table.legal == ["QD", "AD"]
    table.refuses("2D")
    table.do("QD")
    assert table.legal == ["9D"]  # cannot beat: any card of the suit, never a trump


def test_the_duty_to_beat_outlasts_a_trump() -> None:
    """A3.15, must_beat="always": of the led suit the highest card counts, also after the trick has been trumped."""
    hands = ["7D 3S 2S", "AS KS QS", "8D 2D 3C", "9D JD 2C"]
    table = at_table(hands).do("7D", "QS")
    assert table.legal == ["8D"]
    assert table.do("8D").legal == ["9D", "JD"]
    assert at_table(hands, must_beat="always").do("7D", "QS").legal == ["8D"]


def test_until_trumped() -> None:
    """must_beat="until_trumped": free once a trump lies there on the lead of another suit, bound where trump is led."""
    hands = ["7D 3S 2S", "AS KS QS", "8D 2D 3C", "9D JD 2C"]
    assert at_table(hands, must_beat="until_trumped").do("7D", "QS").legal == ["2D", "8D"]
    hands = ["7D 3S 2S", "6D KS QS", "8D 2D 3C", "9D JD 2C"]
    assert at_table(hands, must_beat="until_trumped").do("7D", "6D").legal == ["8D"]
    hands = ["7S 3S 2S", "6S KS QS", "8S AS 3C", "9D JD 2C"]
    assert at_table(hands, must_beat="until_trumped").do("7S", "KS").legal == ["AS"]


def test_must_beat_off() -> None:
    """must_beat="off": no duty within the led suit, the duty to over-trump stays."""
    hands = ["7D 3S 2S", "6D KD 8C", "9S 4S 5S", "6S TS 2C"]
    table = at_table(hands, must_beat="off").do("7D")
    assert table.legal == ["6D", "KD"]
    assert table.do("6D", "9S").legal == ["TS"]
    assert at_table(["7S 3S 2S", "6S KS QS", "8D 2D 3C", "9D JD 2C"], must_beat="off").do("7S").legal == [
        "6S",
        "QS",
        "KS",
    ]


def test_must_trump_and_overtrump() -> None:
    """A3.16, A3.34: void in the led suit a spade must be played, higher than any in the trick, if held."""
    table = at_table(["7D 3S 8S", "2S KS AH", "5S TS 9H", "QS 2C 3C"]).do("7D")
    assert table.legal == ["2S", "KS"]
    table.refuses("AH")
    assert table.do("2S").legal == ["5S", "TS"]
    assert table.do("TS").legal == ["QS"]


def test_the_highest_trump_counts() -> None:
    """A3.16: a trump must beat the highest in the trick, not the latest."""
    table = at_table(["7D 3C 8C", "QS 2H 3H", "4S 5S 9H", "9S KS 2C"]).do("7D", "QS", "4S")
    assert table.legal == ["KS"]


def test_undertrump_forced() -> None:
    """A3.16, undertrump="forced": with no higher spade any spade."""
    table = at_table(["7D 3C 8C", "9S 2H 3H", "2S 5S AH", "KS 2C 4C"]).do("7D", "9S")
    assert table.legal == ["2S", "5S"]


def test_undertrump_free() -> None:
    """undertrump="free": with no higher trump any card; a trump that beats must still be played."""
    hands = ["7D 3C 8C", "9S 2H 3H", "2S 5S AH", "KS 2C 4C"]
    table = at_table(hands, undertrump="free").do("7D", "9S")
    assert set(table.legal) == {"2S", "5S", "AH"}
    assert table.do("AH").legal == ["KS"]


def test_discards() -> None:
    """A3.17: without the led suit and without a spade any card, and it cannot win."""
    table = at_table(["7D 3C 8C", "AH AC KC", "2D 5S JH", "KS 2C 4C"]).do("7D")
    assert set(table.legal) == {"AH", "AC", "KC"}
    table.do("AH", "2D", "KS")
    assert table["leader"] == 3


def test_the_winner_leads() -> None:
    """A3.2, A3.18: the highest spade wins, else the highest card of the led suit; the winner leads."""
    table = at_table(["KD 3C 8C", "AD AC KC", "2S 5C JH", "3S 2C 4C"]).do("KD", "AD", "2S", "3S")
    assert table["leader"] == table.turn == 3
    table = at_table(["7D 3C 8C", "AH AC KC", "9D 5D JH", "2C 3H 4C"]).do("7D", "AH", "9D", "2C")
    assert table["leader"] == 2
    table = at_table(["5S 3C 8C", "2S AC KC", "KS 5D JH", "AH 3H 4C"]).do("5S", "2S", "KS", "AH")
    assert table["leader"] == 2


def test_without_permanent_trump() -> None:
    """A3.29, trump="first_lead": the suit led first in a deal is trump for all its tricks, known to nobody before."""
    hands = ["7D 3C AC", "AS 2D 2H", "9D 5H JH", "2C 3H 4C"]
    table = at_table(hands, tricks=0, trump="first_lead")
    assert table["trump"] is None
    for seat in range(4):
        assert not table.env.observe(f"player_{seat}")["observation"][GAME.layout(4, False).offsets["trump"] :][
            :5
        ].any()
    table.do("7D")
    assert table["trump"] == "D"
    assert table.legal == ["2D"]
    table.do("2D", "9D")
    assert set(table.legal) == {"2C", "3H", "4C"}  # void in the led suit, which is trump: any card
    table.do("2C")
    assert table["leader"] == 2
    assert table.do("5H").legal == ["3H"]
    table.do("3H")
    assert table["trump"] == "D"
    assert set(table.legal) == {"3C", "AC"}


def test_same_duties_under_the_named_trump() -> None:
    """trump="first_lead": must trump and over-trump with the suit of the first lead."""
    table = at_table(["7D 3C AC", "AS 2D 2C", "9D 5H 9S", "3D 4D 3H"], tricks=0, trump="first_lead")
    table.do("7D", "2D", "9D", "3D", "9S")
    assert table.legal == ["4D"]


def test_no_trump() -> None:
    """trump="none": void in the led suit any card may be played, and none wins."""
    table = at_table(["7D 3C AC", "AS 2H 2C", "9D 5H 9S", "3D 4D 3H"], tricks=0, trump="none").do("7D")
    assert table["trump"] == "N"
    assert set(table.legal) == {"AS", "2H", "2C"}
    table.do("AS", "9D")
    assert table.legal == ["3D", "4D"]
    table.do("3D")
    assert table["leader"] == 2


def test_spades_are_permanent_trump() -> None:
    """A3.1, A3.33, trump="spades": in every round."""
    table = Table({"dealer": 0}, trump="spades")
    for _ in range(5):
        assert table["trump"] == "S"
        table.do(*["bid 2"] * 4)
        table.play_out()


COMBINATIONS = [dict(zip(DUTIES, values, strict=True)) for values in product(*(CHOICES[name] for name in DUTIES))]


@pytest.mark.parametrize("options", COMBINATIONS, ids=["-".join(options.values()) for options in COMBINATIONS])
def test_every_combination_by_brute_force(options: dict[str, Any]) -> None:
    """One legality, never an empty mask: random hands in random tricks against the sentences A3.14-A3.19 in turn."""
    rng = Random(str(options))
    plain = resolve(**options)
    record = GAME.make_rules(**options).record()[0]
    states = np.zeros(1, GAME.state)
    state = states[0]
    seen: set[int] = set()
    for _ in range(400):
        # Few suits and few cards make voids, ruffs and over-ruffs common.
        cards = rng.sample([card for card in PACK if card[1] in rng.choice(["SD", "SDC", "SDCH"])], 26)
        size = rng.randint(1, 6)
        hands = [cards[size * seat : size * seat + size] for seat in range(4)]
        engine.new_game(state, record, 3)
        for _ in range(4):
            engine.step(state, record, engine.BID_ACTION + 2)
        first = rng.random() < 0.5
        state["trick"] = 0 if first else 5
        state["hand_size"] = 13
        for seat in range(4):
            state["hands"][seat] = mask(hands[seat])
        trump: str | None = {"spades": "S", "none": "N", "first_lead": None}[options["trump"]]
        if options["trump"] == "first_lead" and not first:
            trump = rng.choice("SDCH")
            state["trump"] = TRUMPS.index(trump)
        trick: list[str] = []
        for seat in range(4):
            low, high = engine.legal(state, record)
            expected = legal_cards(plain, hands[seat], trick, trump, first)
            assert set(names_of(low)) == expected
            assert expected
            assert high == 0
            seen.add(len(expected))
            card = rng.choice(sorted(expected))
            trick.append(card)
            trump = trump or card[1]
            engine.step(state, record, card_number(card))
            hands[seat].remove(card)
            # What the card shows of the hand is true, and no more than the duties show.
            shown = int(state["barred"][seat])
            assert not shown & mask(hands[seat])
            lead = first and seat == 0
            kept = trick[:-1]
            for other in set(PACK) - set(trick):
                legal_beside = card in legal_cards(plain, [card, other], kept, None if lead else trump, first)
                if options["trump"] == "first_lead" and seat == 0:
                    legal_beside = True
                assert legal_beside == (not shown >> card_number(other) & 1), (options, trick, other)
        assert int(state["leader"]) == winner(list(enumerate(trick)), trump)
    assert len(seen) > 3
