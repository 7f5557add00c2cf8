"""The rules of Kaschlan: the deal, what beats what, roles and options; the statements of the source are A4.n."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from kaschlan_reference import PACK, QUEEN, beats, next_roles
from kaschlan_table import Table, cases

from envs import kaschlan_v0
from envs.kaschlan import GAME, engine
from envs.kaschlan.rules import ATTACKER_OUT, KaschlanRules


def fresh(seed: int = 0, dealer: int | None = None, **options: Any) -> dict[str, Any]:
    """Snapshot of a new game."""
    env = kaschlan_v0.raw_env(**options)
    env.reset(seed=seed, options={} if dealer is None else {"dealer": dealer})
    return env.snapshot()


@cases("stock_after_deal")
def test_stock_after_deal(vector: dict[str, Any]) -> None:
    """A4.2: five cards each, the rest is the stock; the turned card is one of it."""
    n = vector["input"]["n"]
    snapshot = fresh(num_players=n)
    assert len(snapshot["stock"]) == vector["expect"]
    assert [len(hand) for hand in snapshot["hands"]] == [5] * n
    assert snapshot["turned"] in snapshot["stock"]


@cases("first_roles")
def test_first_roles(vector: dict[str, Any]) -> None:
    """A4.4: the player left of the card dealer begins, against his left neighbour."""
    n, dealer = vector["input"]["n"], vector["input"]["dealer"]
    snapshot = fresh(dealer=dealer, num_players=n)
    assert [snapshot["attacker"], snapshot["defender"]] == vector["expect"]
    assert (snapshot["turn"], snapshot["phase"]) == (vector["expect"][0], "lay")


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_the_deal(n: int) -> None:
    """A4.1, A4.2, A4.3: 2 to 5 players, 32 cards each once, and the turned card names trump for the game.

    ``num_players=2``, ``num_players=3``, ``num_players=4``, ``num_players=5``; ``trump_card="bottom"``: the turned
    card is drawn last; ``trump_card="top"``: it is drawn first.
    """
    for seed in range(20):
        bottom, top = (fresh(seed, num_players=n, trump_card=place) for place in ("bottom", "top"))
        for snapshot in (bottom, top):
            cards = [card for hand in snapshot["hands"] for card in hand] + snapshot["stock"]
            assert sorted(cards) == sorted(PACK)
            assert snapshot["trump"] == snapshot["turned"][1]
            assert (snapshot["dealer"] + 1) % n == snapshot["attacker"]
            assert (snapshot["dealer"] + 2) % n == snapshot["defender"]
            assert snapshot["known"] == [[]] * n
            assert snapshot["scores"] == [0] * n
            empty = {"round": 0, "bout": 0, "out": [], "table": [], "answered": 0, "rank": None, "kutscher": None}
            assert {key: snapshot[key] for key in empty} == empty
        assert bottom["stock"][-1] == bottom["turned"]
        assert top["stock"][0] == top["turned"]


def test_the_first_dealer_is_random_or_named() -> None:
    """The first dealer is random, or named by reset."""
    env = kaschlan_v0.raw_env(num_players=5)
    dealers: Counter[int] = Counter()
    for seed in range(1000):
        env.reset(seed=seed)
        dealers[env.snapshot()["dealer"]] += 1
    assert sum((dealers[seat] - 200) ** 2 / 200 for seat in range(5)) < 18.5  # chi-square, p = 0.001
    assert [fresh(3, dealer, num_players=5)["dealer"] for dealer in range(5)] == list(range(5))


@cases("beats")
def test_beats(vector: dict[str, Any]) -> None:
    """A4.12, A4.13: a higher card of the suit or a trump, a trump by a higher trump; 7 8 9 10 J Q K A."""
    case = vector["input"]
    filler = next(card for card in ("7C", "7H") if card not in case.values())
    table = Table([f"{case['attack']} {filler}", case["defend"]], trump=case["trump"])
    table.do(case["attack"])
    assert table.phase == "beat"
    assert (case["defend"] in table.legal) == vector["expect"]
    assert (
        bool(engine.beaters(card(case["attack"]), suit(case["trump"])) >> card(case["defend"]) & 1) == vector["expect"]
    )


def card(name: str) -> int:
    return PACK.index(name)


def suit(name: str) -> int:
    return "SDCH".index(name)


@pytest.mark.parametrize("trump", "SDCH")
def test_every_pair_of_cards(trump: str) -> None:
    """A4.12, A4.13: any card against any other.

    Decision: the queen of diamonds beats everything, nothing beats her, and she is no diamond for any other purpose.
    """
    for attack in PACK:
        found = engine.beaters(card(attack), suit(trump))
        assert {name for name in PACK if found >> card(name) & 1} == {
            name for name in PACK if name != attack and beats(name, attack, trump)
        }
        assert (attack == QUEEN) == (found == 0)
        assert attack == QUEEN or found >> card(QUEEN) & 1


@pytest.mark.parametrize("trump", "SDCH")
def test_the_queen_of_diamonds_at_the_table(trump: str) -> None:
    """A4.13: the Karo-Dame is the highest trump: over the trump ace, over a king of diamonds, and under nothing."""
    table = Table(["QD 7S", "KD AD AS AC AH QH"], trump=trump).do("QD", "pass", "pass")
    assert table.phase == "beat"
    assert table.legal == {"pass"}
    for attack in ("KD", "AD", "AS", "AC", "AH", "7D"):
        table = Table([f"{attack} 7S", "QD"], trump=trump).do(attack)
        assert table.legal == {"QD", "pass"}


def test_the_queen_of_diamonds_has_the_rank_of_a_queen() -> None:
    """Decision: she has the rank of a queen for laying and throwing, and may be a Kutscher."""
    table = Table(["QD QS 7H", "7S 8S 9S 7D 8D", "QH 7C"], trump="C").do("QD")
    assert table.rank == "Q"
    assert table.legal == {"QS", "pass"}
    table.do("QS", "pass", "2:QH", "pass")
    assert table.lying == ["QD", "QS", "QH"]
    table = Table(["8D 8S QD", "7S 9S TS 7D 9D", "QH 7C"], trump="C").do("8D 8S QD pass")
    assert table.kutscher == "QD"
    assert table.legal == {"pass"}


def test_the_queen_of_diamonds_turned_up() -> None:
    """Decision: if she is turned up, diamonds are trump."""
    table = Table(["8S 7S", "7D 9C"], stock="9H QD", turned="QD", trump=None).do("8S", "pass")
    assert table.trump == "D"
    assert table.legal == {"7D", "pass"}


def roles_of(
    n: int, active: list[int], attacker: int, defender: int, beaten: bool, succession: str = "predecessor"
) -> tuple[int, ...]:
    """Next roles by the engine's own function."""
    mask, rule = sum(1 << seat for seat in active), ATTACKER_OUT.index(succession)
    return tuple(map(int, engine.next_roles(mask, n, attacker, defender, beaten, rule)))


@cases("next_roles")
def test_next_roles(vector: dict[str, Any]) -> None:
    """A4.16, A4.17, A4.20, A4.21, A4.22: by the function, by the second reading, and in a bout that comes to it."""
    case, expect = vector["input"], vector["expect"]
    n, active, attacker, defender = (case[key] for key in ("n", "active", "attacker", "defender"))
    flags = case["attacker_out"], case["defender_out"], case["success"]
    if expect:
        assert roles_of(n, active, attacker, defender, case["success"]) == tuple(expect)
    assert next_roles(n, active, attacker, defender, *flags) == (tuple(expect) if expect else None)

    hands = [["KS", "KD", "KC", "KH", "AC"][seat] if seat in active else "" for seat in range(n)]
    hands[attacker] = "9S" if case["attacker_out"] else "9S 7C"
    defending = {(True, False): "TS 8C", (True, True): "TS", (False, False): "7S 8C"}
    hands[defender] = defending[case["success"], case["defender_out"]]
    out = [seat for seat in range(n) if seat not in (*active, attacker, defender)]
    table = Table(hands, attacker=attacker, out=out).do("9S")
    while table.phase != "beat":
        table.do("pass")
    table.do("TS" if case["success"] else "pass")
    assert table.finished == (expect is None)
    assert expect is None or table.roles == expect
    assert expect is not None or set(active) == {seat for seat in range(n) if table.hands[seat]}


@pytest.mark.parametrize("beaten", [True, False])
@pytest.mark.parametrize("attacker_out", [True, False])
@pytest.mark.parametrize("succession", ["predecessor", "defender_attacks"])
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_all_roles(n: int, succession: str, attacker_out: bool, beaten: bool) -> None:
    """A4.16, A4.17, A4.19-A4.22: whoever else has left, new roles are neighbours still in the game.

    ``attacker_out="predecessor"``, ``attacker_out="defender_attacks"``. Decision: roles are worked out once, after the
    bout, between neighbours still in the game.
    """
    for mask in range(1 << n):
        active = [seat for seat in range(n) if mask >> seat & 1]
        for attacker in range(n):
            for step in range(1, n):
                defender = (attacker + step) % n
                between = {(attacker + i) % n for i in range(1, step)}
                defender_out = defender not in active
                if (attacker not in active) != attacker_out or between & set(active) or (defender_out and not beaten):
                    continue
                expected = next_roles(n, active, attacker, defender, attacker_out, defender_out, beaten, succession)
                assert (expected is None) == (len(active) < 2)
                if expected:
                    assert roles_of(n, active, attacker, defender, beaten, succession) == expected
                    assert set(expected) <= set(active)
                    assert expected[0] != expected[1]


def test_attacker_out_defender_attacks() -> None:
    """``attacker_out="defender_attacks"``: the usual succession applies although the attacker is out."""
    hands, option = ["9S", "TS 7S 8C", "KD", "KC"], {"attacker_out": "defender_attacks"}
    assert Table(hands, **option).do("9S pass").passes("beat").do("TS").roles == [1, 2]
    assert Table(hands, **option).do("9S pass").passes("beat").do("pass").roles == [2, 3]
    both = ["9S", "TS", "KD", "KC"]
    assert Table(both, **option).do("9S TS").roles == [2, 3]
    defender = ["9S 7C", "TS", "KD", "KC"]
    assert Table(defender, **option).do("9S TS").roles == [0, 2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_players": 1}, "num_players=1"),
        ({"num_players": 6}, "num_players=6"),
        ({"num_players": True}, "num_players=True"),
        ({"trump_card": "middle"}, "trump_card='middle'"),
        ({"kutscher_opens_rank": 1}, "kutscher_opens_rank=1"),
        ({"pickup": "none"}, "pickup='none'"),
        ({"must_beat": "yes"}, "must_beat='yes'"),
        ({"attacker_out": "nobody"}, "attacker_out='nobody'"),
        ({"payoff": "money"}, "payoff='money'"),
        ({"max_bouts": 0}, "max_bouts=0"),
        ({"max_bouts": None}, "max_bouts=None"),
        ({"pikup": "all"}, "did you mean 'pickup'"),
        ({"preset": "nope"}, "no preset 'nope'"),
        ({"reward": "margin"}, "reward"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    """Errors when the rules are built: they name the option, its value and what is allowed."""
    with pytest.raises(ValueError, match=message) as error:
        GAME.make_rules(**options)
    assert "\n" not in str(error.value)


def test_defaults() -> None:
    """The defaults of all options, ``max_bouts=100`` among them."""
    expected = KaschlanRules(
        num_players=4,
        trump_card="bottom",
        kutscher_opens_rank=False,
        pickup="unbeaten",
        must_beat=False,
        attacker_out="predecessor",
        payoff="loser",
        max_bouts=100,
    )
    assert GAME.make_rules() == expected


def test_actions() -> None:
    """Actions depend on the game alone: 32 cards by suit and rank, and pass."""
    assert GAME.num_actions == 33
    assert [GAME.action_name(action) for action in range(33)] == [*PACK, "pass"]
    assert GAME.players == (2, 5)
