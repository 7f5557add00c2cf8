"""The end of a game of Kaschlan: the stock is empty, players leave, one loses; statements of the source are A4.n."""

from __future__ import annotations

import pytest
from kaschlan_table import Table

from envs import kaschlan_v0


def test_nothing_is_drawn_from_an_empty_stock() -> None:
    """A4.18: when the stock is empty nothing is drawn any more."""
    table = Table(["8D 7C", "9D 9C", "KS KC"]).do("8D", "pass", "pass", "9D")
    assert table.hands == [["7C"], ["9C"], ["KS", "KC"]]
    assert table.roles == [1, 2]


def test_out_is_who_holds_nothing_at_the_own_draw() -> None:
    """A4.19. Decision: out = hand and stock both empty, at the moment of the seat's own draw.

    The attacker's and the throwers' are within the bout, the defender's comes last.
    """
    table = Table(["8D", "9D 9C 9H TS", "8S", "8C KC"]).do("8D")
    assert (table.out, table.turn) == ([], 0)
    table.do("pass")
    assert (table.out, table.turn) == ([0], 2)
    table.do("2:8S")
    assert (table.out, table.turn, table.legal) == ([0], 2, {"pass"})
    table.do("2:pass")
    assert (table.out, table.turn) == ([0, 2], 3)
    table.passes()
    assert table.out == [0, 2]


def test_who_draws_the_last_card_stays() -> None:
    """A4.19: a card left in the stock keeps him in the game, and the next to draw none is out."""
    table = Table(["8D", "9D 9C 9H", "8S", "8C KC"], stock="AS").do("8D pass 8S")
    assert table.holds(0) == {"AS"}
    assert (table.stock, table.out, table.turn) == ([], [], 2)
    table.do("pass")
    assert table.out == [2]


def test_attacker_out() -> None:
    """A4.20: the player before him attacks the same defender, whatever the defender did.

    ``attacker_out="predecessor"``.
    """
    hands = ["9S", "TS 8C 7D", "KD", "KC"]
    assert Table(hands).do("9S pass pass pass pass TS").roles == [3, 1]
    assert Table(hands).do("9S pass pass pass pass pass").roles == [3, 1]
    assert Table([*hands[:3], ""]).do("9S pass pass pass TS").roles == [2, 1]


def test_attacker_and_the_seat_before_him_out() -> None:
    """A4.20. Decision: roles are worked out between neighbours still in the game."""
    table = Table(["9S", "TS 8C 7D", "KD", "9C"]).do("9S pass 2:pass 3:9C 3:pass").passes()
    assert table.out == [0, 3]
    assert table.roles == [2, 1]


def test_seat_after_the_defender_out() -> None:
    """A4.17, A4.21: who left by throwing is skipped."""
    table = Table(["9S KH", "TS 8C 7D", "9C", "KC"]).do("9S pass 2:9C 2:pass").passes()
    assert (table.out, table.roles) == ([2], [3, 0])
    table = Table(["9S KH", "TS TC", "9C", "KC"]).do("9S pass 2:9C TS TC")
    assert (table.out, table.roles) == ([2, 1], [0, 3])
    table = Table(["9S KH", "TS TC 7D", "9C", "KC"]).do("9S pass 2:9C 2:pass 3:pass TS TC")
    assert (table.out, table.roles) == ([2], [1, 3])


def test_defender_out() -> None:
    """A4.21: he beat everything and has nothing left: the next player defends, the attacker attacks again."""
    table = Table(["9S KH", "TS", "KC", "KS"]).do("9S TS")
    assert (table.out, table.roles, table.turn) == ([1], [0, 2], 0)


def test_both_out() -> None:
    """A4.22: the player after the defender attacks."""
    table = Table(["9S", "TS", "KC", "KS"]).do("9S TS")
    assert (table.out, table.roles, table.turn) == ([0, 1], [2, 3], 2)


def test_a_defender_who_left_a_card_is_not_out() -> None:
    """A4.21: only one who beat everything is."""
    table = Table(["9S KH", "7D", "KC"]).do("9S pass")
    assert (table.out, table.holds(1), table.roles) == ([], {"7D", "9S"}, [2, 0])


def test_the_last_seat_has_lost() -> None:
    """A4.18: the last one who does not get rid of his cards has lost; ``payoff="loser"``."""
    table = Table(["9S", "7D 8D", ""]).do("9S pass")
    assert table.phase == "beat"  # a bout in progress is played out
    table.do("pass")
    assert table.finished
    assert (table.phase, table.turn, table.out) == ("over", None, [2, 0])
    assert table.rewards == [0.5, -1.0, 0.5]
    assert table.env.terminations == dict.fromkeys(table.env.possible_agents, True)
    assert table.scores == [0, 0, 0]


def test_played_out() -> None:
    """Decision: a bout in progress is always played out, even when only one seat still holds cards."""
    table = Table(["9S", "TS 8C TC", "9C"]).do("9S pass 9C")
    assert table.turn == 2
    table.do("pass")
    assert (table.out, table.finished, table.turn) == ([0, 2], False, 1)
    table.do("TS", "TC")
    assert table.finished
    assert table.holds(1) == {"8C"}
    assert table.rewards == [0.5, -1.0, 0.5]
    table = Table(["9S", "TS TC", "9C"]).do("9S pass 9C TS TC")
    assert (table.finished, table.out) == (True, [0, 2, 1])
    assert table.rewards == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_payoff_loser(n: int) -> None:
    """``payoff="loser"``: the loser -1, the others 1/(n-1) each, a draw 0.

    Decisions: the last seat with cards has lost; if nobody is left it is a draw.
    """
    for loses in (True, False):
        hands = ["9S", "TS 8C" if loses else "TS"] + [""] * (n - 2)
        table = Table(hands).do("9S")
        table.passes("beat").do("TS")
        assert table.finished
        expected = [1 / (n - 1), -1.0] + [1 / (n - 1)] * (n - 2)
        assert table.rewards == pytest.approx(expected if loses else [0.0] * n)


@pytest.mark.parametrize("loses", [True, False])
def test_payoff_places(loses: bool) -> None:
    """``payoff="places"``: evenly spaced by the order of leaving, also where nobody is left."""
    defender = "TS TC 8H" if loses else "TS TC"
    table = Table(["9S", defender, "9C", "", ""], out=[4, 3], payoff="places").do("9S pass 9C").passes("beat")
    table.do("TS", "TC")
    assert (table.finished, table.out) == (True, [4, 3, 0, 2] + ([] if loses else [1]))
    assert table.rewards == pytest.approx([0.0, -1.0, -0.5, 0.5, 1.0])
    table = Table(["9S", "TS 8C" if loses else "TS"], payoff="places").do("9S").passes("beat").do("TS")
    assert table.rewards == pytest.approx([1.0, -1.0])


def test_seats_that_are_out_wait() -> None:
    """Decision: a seat that is out is skipped in turn order, and all seats end together."""
    table = Table(["", "9S KH", "TS KS", "", "7C 7D"], attacker=1, out=[3, 0]).do("9S pass")
    assert table.turn == 4
    table.do("4:pass", "2:TS")
    assert (table.roles, table.out) == ([2, 4], [3, 0])
    assert not any(table.env.terminations.values())
    assert table.env.agents == table.env.possible_agents
    assert not table.env.observe("player_0")["action_mask"].any()


@pytest.mark.parametrize("bouts", [1, 2, 7])
def test_max_bouts(bouts: int) -> None:
    """``max_bouts=1``, ``max_bouts=2``: a game that has not ended with so many is truncated, everyone gets 0."""
    for payoff in ("loser", "places"):
        hands = ["8D 8S KC", "9D 9C", "", "7H KH"]
        table = Table(hands, attacker=1, bout=bouts - 1, max_bouts=bouts, payoff=payoff)
        table.do("9D").passes()
        assert table.finished
        assert table.phase == "over"
        assert table.env.truncations == dict.fromkeys(table.env.possible_agents, True)
        assert table.env.terminations == dict.fromkeys(table.env.possible_agents, False)
        assert table.rewards == [0.0] * 4


def test_one_bout_less_than_the_most() -> None:
    """``max_bouts=3``: the game goes on before the last of them."""
    table = Table(["8D 8S KC", "9D 9C", "7H KH"], bout=1, max_bouts=3).do("8D").passes()
    assert (table.finished, table.bout) == (False, 2)


def test_a_game_that_ends_in_its_last_bout_is_not_truncated() -> None:
    """``max_bouts=1``: it has ended."""
    table = Table(["9S", "7D 8D"], max_bouts=1).do("9S pass pass")
    assert table.rewards == [1.0, -1.0]
    assert not any(table.env.truncations.values())
    assert all(table.env.terminations.values())


def test_default_max_bouts() -> None:
    """``max_bouts=100``: nobody ever beats anything, for a hundred bouts."""
    env = kaschlan_v0.raw_env(num_players=3)
    env.reset(seed=5)
    bouts = set()
    while not env.snapshot()["finished"]:
        snapshot = env.snapshot()
        bouts.add(snapshot["bout"])
        first = snapshot["phase"] == "lay" and not snapshot["table"]
        env.step(env.action_id(snapshot["hands"][snapshot["turn"]][0] if first else "pass"))
    assert bouts == set(range(100))
    assert all(env.truncations.values())
    assert set(env.rewards.values()) == {0.0}


def test_an_illegal_action_ends_the_game() -> None:
    """It costs as much as losing, the others get nothing."""
    env = kaschlan_v0.env(num_players=3)
    env.reset(seed=5)
    offender = env.agent_selection
    env.step(32)
    assert env.rewards == {agent: -1.0 if agent == offender else 0.0 for agent in env.possible_agents}
    assert env.unwrapped.snapshot()["finished"]
