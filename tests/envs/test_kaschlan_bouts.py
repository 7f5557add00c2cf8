"""One bout of Kaschlan, step by step: lay, draw, throw, throw own, beat, take; statements of the source are A4.n."""

from __future__ import annotations

from typing import Any

import pytest
from kaschlan_table import Table, cases

FIVE = "7S 7D 7C 7H 9S"
"""A defender's hand in which nothing is an eight or a king."""


@cases("legal_attacks")
def test_legal_attacks(vector: dict[str, Any]) -> None:
    """A4.5, A4.6, A4.7: any card first; no Kutscher on a single card, nothing beyond what the defender holds."""
    hand, held = vector["input"]["hand"], vector["input"]["defender_cards"]
    for first in vector["expect"]:
        table = Table([" ".join(hand), " ".join(["7S", "7D", "7C", "7H", "9C"][:held])])
        assert table.legal == set(vector["expect"])
        table.do(first)
        assert table.table == [[first, None, 0]]
        if held == 1:
            assert table.phase == "beat"
        else:
            assert table.legal == {card for card in hand if card[0] == first[0] and card != first} | {"pass"}


def test_laying() -> None:
    """A4.5, A4.6: cards of equal rank; from two on one further card of another rank; the rank may follow it.

    Decisions: the first card fixes the rank; at least one card is laid; one Kutscher at most in a bout; the attacker is
    asked as long as the limit allows another card, whether or not a legal one is held.
    """
    table = Table(["8D 8S 8C KH KS", FIVE, "9D 9C"])
    assert (table.phase, table.turn, table.rank) == ("lay", 0, None)
    assert table.legal == {"8D", "8S", "8C", "KH", "KS"}
    table.refuses("pass", "7S", "9D", "AS")
    table.do("8D")
    assert table.rank == "8"
    assert table.legal == {"8S", "8C", "pass"}
    table.do("8S")
    assert table.legal == {"8C", "KH", "KS", "pass"}
    table.do("KH")
    assert (table.kutscher, table.rank) == ("KH", "8")
    assert table.legal == {"8C", "pass"}
    table.do("8C")
    assert (table.phase, table.turn) == ("lay", 0)
    assert table.legal == {"pass"}
    assert table.table == [[card, None, 0] for card in ("8D", "8S", "KH", "8C")]
    table.do("pass")
    assert (table.phase, table.turn) == ("throw", 2)


def test_a_kutscher_after_three() -> None:
    """A4.6: from two equal cards on; three or four will do too, and any card, trumps and the Karo-Dame included."""
    for kutscher in ("KS", "AH", "QD"):
        table = Table([f"8D 8S 8C 8H {kutscher}", "7S 7D 7C 7H 9S 9D"]).do("8D 8S 8C")
        assert table.legal == {"8H", kutscher, "pass"}
        table.do("8H", kutscher)
        assert (table.kutscher, table.phase) == (kutscher, "beat")


def test_whoever_has_no_card_left_is_asked_all_the_same() -> None:
    """Decision: the attacker is asked as long as the limit allows another card."""
    table = Table(["9D", "TD 8C", "KS 7C"]).do("9D")
    assert (table.phase, table.turn, table.legal) == ("lay", 0, {"pass"})


@pytest.mark.parametrize("held", [1, 2, 3, 4, 5, 6, 7])
def test_the_limit(held: int) -> None:
    """A4.7, A4.10: never more cards than the defender holds, and five at most.

    Decision: at most min(5, cards the defender holds) lie there; then nobody is asked to lay or throw.
    """
    most = min(5, held)
    defender = ["7S", "9D", "7C", "7H", "9S", "9C", "9H"][:held]
    table = Table(["8D 8S 8C 8H KH KS", " ".join(defender), "KD KC"])
    for count, card in enumerate(["8D", "8S", "8C", "8H", "KH"][:most], 1):
        assert table.phase == "lay"
        table.do(card)
        assert len(table.table) == count
    assert (table.phase, table.turn) == ("beat", 1)


def test_the_attacker_draws_at_once() -> None:
    """A4.8: up to five from the stock, the next card first, before the others are asked."""
    table = Table(["8D 8S KH", FIVE, "8C 9D"], stock="AS AD KS TD TC").do("8D 8S pass")
    assert table.holds(0) == {"KH", "AS", "AD", "KS", "TD"}
    assert table.stock == ["TC"]
    assert table.turn == 2
    table = Table(["8D 8S KH AH AC TC JC JD", FIVE, "8C 9D"], stock="AS AD").do("8D 8S pass")
    assert len(table.hands[0]) == 6
    assert table.stock == ["AS", "AD"]


def test_the_attacker_draws_when_the_limit_ends_his_laying() -> None:
    """A4.8: he need not have passed."""
    table = Table(["8D 8S KH", "7S 7D"], stock="AS AD").do("8D 8S")
    assert table.holds(0) == {"KH", "AS", "AD"}
    assert table.phase == "beat"


@cases("refill_count")
def test_refill_count(vector: dict[str, Any]) -> None:
    """A4.8: back to five, nothing for who holds as many, and what is there where the stock runs dry."""
    case = vector["input"]
    laid = ["8D", "8S", "8C", "8H"][: case["laid"]]
    rest = ["KS", "KD", "KC", "KH", "AS", "AD"][: case["hand_before"] - case["laid"]]
    stock = ["TS", "TD", "TC", "TH", "JS", "JD", "JC", "JH", "QS", "QC"][: case["stock"]]
    table = Table([" ".join(laid + rest), FIVE], stock=" ".join(stock))
    table.do(*laid, "pass")
    assert len(table.stock) == case["stock"] - vector["expect"]
    assert len(table.hands[0]) == len(rest) + vector["expect"]


@cases("can_throw")
def test_can_throw(vector: dict[str, Any]) -> None:
    """A4.9: cards of the kind that lies there. ``kutscher_opens_rank=False``: the Kutscher is none."""
    case = vector["input"]
    defender = " ".join(FIVE.split()[: case["defender_cards"]])
    table = Table([" ".join(["AC", *case["table"]]), defender, f"{case['card']} 9D"]).do(*case["table"], "pass")
    assert (table.rank, table.kutscher) == (case["main_rank"], case["kutscher"])
    assert (table.phase, table.turn) == ("throw", 2)
    assert (case["card"] in table.legal) == vector["expect"]


def test_throwing() -> None:
    """A4.9: any other player may add cards of the kind, one after the other, and then draws up to five.

    Decisions: from the left of the defender, the attacker skipped, one round; a seat that threw draws up to five when
    it is done; one that only passed draws nothing; a seat is asked whether or not it holds such a card.
    """
    hands = ["8S KH KS AC AD", "7S 7D 7C 7H 9S", "9D", "8D 8C TD", "8H TC"]
    table = Table(hands, stock="AS AH JS JD JC JH QS QC").do("8S", "pass")
    assert (table.phase, table.turn, table.legal) == ("throw", 2, {"pass"})
    assert len(table.stock) == 7
    table.do("2:pass")
    assert len(table.stock) == 7
    assert (table.turn, table.legal) == (3, {"8D", "8C", "pass"})
    table.refuses("TD", "8S", "8H")
    table.do("3:8D")
    assert (table.turn, table.legal) == (3, {"8C", "pass"})
    assert table.holds(3) == {"8C", "TD"}
    table.do("3:8C", "3:pass")
    assert table.holds(3) == {"TD", "AH", "JS", "JD", "JC"}
    assert (table.turn, table.legal) == (4, {"8H", "pass"})
    table.do("4:pass")
    assert table.holds(4) == {"8H", "TC"}
    assert (table.phase, table.turn) == ("throw_own", 1)
    assert table.table == [["8S", None, 0], ["8D", None, 3], ["8C", None, 3]]


def test_who_is_asked() -> None:
    """A4.9: the seats from the left of the defender, without the attacker and who has left, each once."""
    fill = ["8S KH", "7S 7D 7C 7H 9S", "9D TD", "9C TC", "9H TH"]
    assert Table(fill).do("8S", "pass").asked()[:4] == [("throw", 2), ("throw", 3), ("throw", 4), ("throw_own", 1)]
    turned = [fill[(seat - 3) % 5] for seat in range(5)]
    assert Table(turned, attacker=3).do("8S", "pass").asked()[:4] == [
        ("throw", 0),
        ("throw", 1),
        ("throw", 2),
        ("throw_own", 4),
    ]
    assert Table([*fill[:3], "", fill[4]]).do("8S", "pass").asked()[:3] == [
        ("throw", 2),
        ("throw", 4),
        ("throw_own", 1),
    ]
    assert Table(fill[:2]).do("8S", "pass").asked()[:1] == [("throw_own", 1)]


def test_nobody_is_asked_beyond_the_limit() -> None:
    """A4.7, A4.10. Decision: nobody is asked once the limit is reached; the seat that reached it draws."""
    table = Table(["8S KH", "7S 7D", "8D 9D", "8C 9C"], stock="AS AD AC AH").do("8S", "pass", "2:8D")
    assert (table.phase, table.turn) == ("beat", 1)
    assert table.holds(0) == {"KH", "AS", "AD", "AC", "AH"}
    table = Table(["8S KH", "7S 7D", "8D 9D", "8C 9C"], stock="AS AD AC AH KC").do("8S", "pass", "2:8D")
    assert table.holds(2) == {"9D", "KC"}
    table = Table(["8S 8D 8C 8H KH", "7S 7D 7C 7H 9S", "KS KD"]).do("8S 8D 8C 8H KH")
    assert table.phase == "beat"


def test_a_drawn_card_is_not_thrown() -> None:
    """A4.9: one round; what the attacker or a thrower draws afterwards stays in hand."""
    table = Table(["8S KH", FIVE, "8D 9D", "9C TC"], stock="AS AD AC 8C 8H").do("8S", "pass", "2:8D", "2:pass")
    assert "8C" in table.holds(0)
    assert "8H" in table.holds(2)
    assert (table.turn, table.legal) == (3, {"pass"})
    assert table.do("pass").phase == "throw_own"


def test_kutscher_opens_rank() -> None:
    """``kutscher_opens_rank=True``: the Kutscher's rank may be thrown too, by the defender also, but not laid."""
    hands = ["8D 8S KH KS", "7S 7D KC 7H 9S 9H", "8C KD 9D"]
    table = Table(hands, kutscher_opens_rank=True).do("8D 8S KH")
    assert table.legal == {"pass"}
    table.do("pass")
    assert table.legal == {"8C", "KD", "pass"}
    table.do("2:KD", "pass")
    assert (table.phase, table.legal) == ("throw_own", {"KC", "pass"})
    table = Table(hands).do("8D 8S KH pass")
    assert table.legal == {"8C", "pass"}
    table.do("pass")
    assert (table.phase, table.legal) == ("throw_own", {"pass"})


@cases("can_self_throw")
def test_can_self_throw(vector: dict[str, Any]) -> None:
    """A4.15. Decision: throw own while table+1 ≤ min(5, own hand - 1)."""
    case = vector["input"]
    *laid, thrown = case["table"]
    table = Table([" ".join([*laid, "7D"]), " ".join(case["defender_hand"]), f"{thrown} 7C"]).do(*laid, "pass", thrown)
    assert table.lying == case["table"]
    assert (table.phase == "throw_own") == vector["expect"]


@pytest.mark.parametrize("held", range(1, 9))
@pytest.mark.parametrize("lying", range(1, 5))
def test_throwing_own(lying: int, held: int) -> None:
    """A4.15: the defender adds cards of the rank to his own burden.

    Decisions: throw own while table+1 ≤ min(5, own hand - 1); asked while the numbers allow it; the defender draws
    nothing for it.
    """
    laid = ["8D", "8S", "8C", "8H"][:lying]
    own = [card for card in ("8D", "8S", "8C", "8H") if card not in laid][:1]
    defender = own + ["7S", "7D", "7C", "7H", "9S", "9D", "9C", "9H"]
    if held < lying:
        return
    table = Table([" ".join([*laid, "KC"]), " ".join(defender[:held])], stock="AS AD AC AH JC JH").do(*laid)
    if lying < min(5, held):
        table.do("pass")
    count, cards, stock = lying, held, table.stock
    while count + 1 <= min(5, cards - 1):
        assert (table.phase, table.turn) == ("throw_own", 1)
        assert table.legal == {*own, "pass"}
        if not own:
            table.do("pass")
            break
        table.do(own.pop())
        count, cards = count + 1, cards - 1
    assert (table.phase, table.turn) == ("beat", 1)
    assert (len(table.table), len(table.hands[1]), table.stock) == (count, cards, stock)


def test_own_cards_are_of_the_laid_rank() -> None:
    """A4.15: and several may follow one another, all to be beaten."""
    table = Table(["8D KH", "8S 8C 7H 9S 9C KS AS"]).do("8D", "pass")
    assert table.legal == {"8S", "8C", "pass"}
    table.refuses("KS", "9S")
    table.do("8S", "8C")
    assert (table.phase, table.legal) == ("throw_own", {"pass"})  # 4 are no more than min(5, 5 - 1)
    table.do("pass")
    assert table.table == [["8D", None, 0], ["8S", None, 1], ["8C", None, 1]]


@cases("legal_beats")
def test_legal_beats(vector: dict[str, Any]) -> None:
    """A4.11, A4.12, A4.14: what beats each card of the worked example."""
    case, expect = vector["input"], vector["expect"]
    hands = ["8D 8S 7H", " ".join(["8C", *case["defender_hand"]]), "8H 7C"]
    table = Table(hands, trump=case["trump"]).do("8D 8S", "pass", "2:8H", "pass", "8C")
    assert table.lying == case["table"]
    for number, card in enumerate(case["table"]):
        assert (table.phase, table.answered) == ("beat", number)
        assert table.legal == {*expect[card], "pass"}
        table.do("pass")


@cases("bout")
def test_worked_example(vector: dict[str, Any]) -> None:
    """A4.15, A4.17: the example of the source; trump spades stands for none and changes nothing."""
    case, expect = vector["input"], vector["expect"]
    n, attacker, defender = case["n"], case["attacker"], case["defender"]
    hands = [""] * n
    hands[attacker] = "8D 8S 7H"
    hands[defender] = " ".join(case["defender_hand"])
    hands[(defender + 1) % n] = "8H 7C"
    stock = "QS QC QH TS TD TC TH JS JD JC"
    table = Table(hands, stock=stock, trump="S", attacker=attacker).do("8D 8S", "pass", "8H", "pass")
    before, left = table.gone, len(table.stock)
    table.follow(case["actions"])
    assert table.holds(defender) == set(expect["defender_hand"])
    assert sorted(table.gone - before) == expect["discard"]
    assert left - len(table.stock) == expect["refill"]
    assert table.roles == [expect["next_attacker"], expect["next_defender"]]


@cases("bout_full")
def test_whole_bouts(vector: dict[str, Any]) -> None:
    """A4.4-A4.22: whole bouts by their scripts."""
    case, expect = vector["input"], vector["expect"]
    hands = [" ".join(hand) for hand in case["hands"]]
    table = Table(hands, stock=" ".join(case["stock"]), trump=case["trump"], attacker=case["attacker"])
    assert table.roles == [case["attacker"], case["defender"]]
    table.follow(case["script"])
    assert [sorted(hand) for hand in table.hands] == expect["hands"]
    assert table.stock == expect["stock"]
    assert table.out == expect["out"]
    assert table.roles == expect["roles"]


def test_beating_one_by_one() -> None:
    """A4.11, A4.12, A4.14: one card after the other, with a higher card of the suit or a trump.

    Decision: answered in the order in which they were laid, a beater or a pass to leave the card.
    """
    table = Table(["8D 8S TC 7C", "9D TD AD 7H KC 7S", "8H 9C"], trump="H").do(
        "8D 8S TC", "pass", "2:8H", "pass", "pass"
    )
    assert (table.phase, table.turn, table.answered) == ("beat", 1, 0)
    assert table.legal == {"9D", "TD", "AD", "7H", "pass"}
    table.do("TD")
    assert table.table[0] == ["8D", "TD", 0]
    assert (table.answered, table.legal) == (1, {"7H", "pass"})
    table.refuses("7S", "KC", "9D")
    table.do("pass")
    assert (table.answered, table.legal) == (2, {"7H", "KC", "pass"})
    table.do("KC")
    assert table.legal == {"pass"}  # the seven of trumps is lower than the eight
    assert table.table == [["8D", "TD", 0], ["8S", None, 0], ["TC", "KC", 0], ["8H", None, 2]]
    table.do("pass")
    assert table.holds(1) == {"9D", "AD", "7H", "7S", "8S", "8H"}


def test_must_beat() -> None:
    """``must_beat=True``: a card may be left only where nothing in hand beats it; ``must_beat=False``: at will."""
    hands = ["8D 8S 7C", "9D TD KC AC"]
    assert Table(hands).do("8D 8S", "pass", "pass").legal == {"9D", "TD", "pass"}
    table = Table(hands, must_beat=True).do("8D 8S", "pass", "pass")
    assert table.legal == {"9D", "TD"}
    table.refuses("pass")
    assert table.do("9D").legal == {"pass"}


def test_everything_beaten() -> None:
    """A4.16: beaten pairs leave the game, the defender draws up to five and attacks his left neighbour."""
    table = Table(["8D 8S 7C", "9D 9S AC", "7H KH"], stock="AS AD KS KD").do("8D 8S pass")
    assert table.stock == []
    table = Table(["8D 8S 7C AC TC JC KC", "9D 9S AH", "7H KH"], stock="AS AD KS KD JD").do("8D 8S pass pass")
    assert table.stock == ["AS", "AD", "KS", "KD", "JD"]
    before = table.gone
    table.do("9D", "9S")
    assert table.gone - before == {"8D", "8S", "9D", "9S"}
    assert table.holds(1) == {"AH", "AS", "AD", "KS", "KD"}
    assert (table.roles, table.phase, table.turn) == ([1, 2], "lay", 1)
    empty = {"table": [], "rank": None, "kutscher": None, "answered": 0, "bout": 1}
    assert {key: table.snapshot[key] for key in empty} == empty


def test_a_card_left() -> None:
    """A4.16, A4.17: he takes the unbeaten cards, draws nothing and may not attack; the player after him does.

    ``pickup="unbeaten"``.
    """
    table = Table(["8D 8S 7C AC TC JC KC", "9D 9C", "7H KH"], stock="AS AD KS KD").do("8D 8S", "9D", "pass")
    assert table.holds(1) == {"9C", "8S"}
    assert {"8D", "9D"} <= table.gone
    assert table.stock == ["AS", "AD", "KS", "KD"]
    assert table.roles == [2, 0]
    assert table.known == [[], ["8S"], []]


def test_pickup_all() -> None:
    """``pickup="all"``: who leaves any card takes every card of the bout; who leaves none takes none."""
    hands = ["8D 8S 7C AC TC JC KC", "9D 9C TS", "7H KH"]
    table = Table(hands, stock="AS AD", pickup="all").do("8D 8S pass pass", "9D", "pass")
    assert table.holds(1) == {"9C", "TS", "8D", "8S", "9D"}
    assert table.known == [[], ["8S", "8D", "9D"], []]
    table = Table(hands, stock="AS AD", pickup="all").do("8D 8S pass pass", "9D", "TS")
    assert table.holds(1) == {"9C", "AS", "AD"}
    assert table.known == [[], [], []]


def test_known_cards() -> None:
    """Everybody remembers where cards went that were picked up, and the turned card, until they are played."""
    table = Table(["8D 7C", "7S 7D", "KS KH TC"], stock="9D 9C 9H QC TD", turned="TD", trump=None)
    table.do("8D", "pass", "pass")  # the attacker draws four of the stock
    table.passes()
    assert table.known == [[], ["8D"], []]
    assert table.roles == [2, 0]
    table.do("KS").passes()
    assert table.stock == []
    assert table.known == [["KS"], ["8D"], ["TD"]]
    assert table.turned == "TD"
    assert table.roles == [1, 2]
    table.do("8D", "pass")
    assert table.known == [["KS"], [], ["TD"]]
    table.passes("beat").do("TD")
    assert table.known == [["KS"], [], []]
    assert table.turned == "TD"


def test_the_turned_card_on_top() -> None:
    """``trump_card="top"``: the first to draw gets the turned card, before everyone's eyes."""
    table = Table(["8D QC AC KC JC", FIVE, "KS"], stock="TD 9C", turned="TD", trump=None, trump_card="top")
    table.do("8D", "pass")
    assert table.known == [["TD"], [], []]
    assert table.stock == ["9C"]
