"""The rules of Kaschlan on one state record: deal, legal, step, who is out and who has lost.

Actions: cards 0..31 (see `envs.kaschlan.cards`) and ``pass`` = 32. A game is one round of bouts. In a bout the attacker
lays cards of one rank before the defender, the others throw in more, the defender throws in of his own, and then
answers the cards one by one. All functions run compiled and plain (see `envs.jit`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from envs.cards import shuffle
from envs.game import COMMON_FIELDS, GAME_OVER, OVER, ROUND_OVER, SEATS, TRUNCATED
from envs.jit import jit, popcount
from envs.kaschlan.cards import PACK, beaters, rank_cards, rank_of, suit_of
from envs.tricks import deal_key, first_dealer, next_seat

LAY, THROW, THROW_OWN, BEAT = 1, 2, 3, 4
"""Phases beside `OVER`."""
PASS = PACK
NUM_ACTIONS = PACK + 1
HAND = 5
"""Cards dealt to each seat, and up to which a hand is drawn."""
TABLE = 5
"""Most cards that lie before the defender."""

# Indices into the tuples of choices in rules.py.
BOTTOM, TOP = range(2)
UNBEATEN, ALL = range(2)
PREDECESSOR, DEFENDER_ATTACKS = range(2)
LOSER, PLACES = range(2)

STATE = np.dtype(
    [
        *COMMON_FIELDS,
        ("hands", np.int64, (SEATS,)),
        ("known", np.int64, (SEATS,)),  # cards of each hand that everybody has seen go there
        ("gone", np.int64),  # cards that have left the game
        ("bout", np.int32),
        ("taken", np.int32, (SEATS,)),  # cards each seat has picked up
        ("held", np.int8, (SEATS,)),  # number of cards in each hand
        ("stock", np.int8, (PACK,)),  # cards to draw in order from `drawn` on, -1 before
        ("drawn", np.int8),
        ("turned", np.int8),  # card turned up for trump, or -1 (positions need not tell)
        ("trump", np.int8),
        ("attacker", np.int8),
        ("defender", np.int8),
        ("rank", np.int8),  # rank laid, or -1
        ("kutscher", np.int8),  # card, or -1
        ("size", np.int8),  # cards on the table
        ("answered", np.int8),  # how many of them have been beaten or left
        ("table", np.int8, (TABLE,)),  # cards before the defender in order, then -1
        ("answers", np.int8, (TABLE,)),  # card that beat each, or -1
        ("layers", np.int8, (TABLE,)),  # seat that laid each, or -1
        ("out", np.int8, (SEATS,)),  # seats in order of leaving, then -1
        ("out_count", np.int8),
        ("out_seats", np.int16),  # the same as bits
    ]
)
"""One game of Kaschlan. Seats beyond the number of players keep their defaults."""


@jit
def _clear_table(state: Any) -> None:
    for i in range(TABLE):
        state["table"][i] = -1
        state["answers"][i] = -1
        state["layers"][i] = -1
    state["size"] = 0
    state["answered"] = 0
    state["rank"] = -1
    state["kutscher"] = -1


@jit
def begin_bout(state: Any, attacker: int, defender: int) -> None:
    """Clear the table and ask the attacker for a first card."""
    _clear_table(state)
    state["attacker"] = attacker
    state["defender"] = defender
    state["phase"] = LAY
    state["turn"] = attacker


@jit
def place_turned(stock: Any, first: int, rule: int) -> None:
    """Lay the turned card, the first of the stock ``stock[first:]``, where the option has it drawn."""
    if rule == BOTTOM:
        turned = stock[first]
        for i in range(first, PACK - 1):
            stock[i] = stock[i + 1]
        stock[PACK - 1] = turned


@jit
def deal(state: Any, rules: Any, deck: Any) -> None:
    """Set up the game from a deck of 32 card numbers: hands, the turned card, the stock, the first attacker."""
    n = int(rules["num_players"])
    at = 0
    for seat in range(SEATS):
        hand = 0
        if seat < n:
            for _ in range(HAND):
                hand |= 1 << int(deck[at])
                at += 1
        state["hands"][seat] = hand
        state["held"][seat] = HAND if seat < n else 0
        state["known"][seat] = 0
        state["taken"][seat] = 0
        state["out"][seat] = -1
    turned = int(deck[at])
    state["turned"] = turned
    state["trump"] = suit_of(turned)
    for i in range(PACK):
        state["stock"][i] = deck[i] if i >= at else -1
    place_turned(state["stock"], at, int(rules["trump_card"]))
    state["drawn"] = at
    state["gone"] = 0
    state["bout"] = 0
    state["out_count"] = 0
    state["out_seats"] = 0
    attacker = next_seat(int(state["dealer"]), n)
    begin_bout(state, attacker, next_seat(attacker, n))


@jit
def new_game(state: Any, rules: Any, dealer: int) -> None:
    """Start the game that the state's ``seed`` and ``game`` name; `dealer` -1 draws the dealer."""
    state["round"] = 0
    state["moves"] = 0
    state["finished"] = 0
    for seat in range(SEATS):
        state["scores"][seat] = 0
        state["gained"][seat] = 0
    seed = int(state["seed"])
    game = int(state["game"])
    state["dealer"] = dealer if dealer >= 0 else first_dealer(seed, game, int(rules["num_players"]))
    shuffle(state["stock"], PACK, deal_key(seed, game, 0, 0))
    deal(state, rules, state["stock"])


@jit
def next_round(state: Any, rules: Any) -> None:
    """A game is a single round: there is none to follow."""


@jit
def table_limit(state: Any) -> int:
    """Most cards that may be laid and thrown before the defender."""
    return min(TABLE, int(state["held"][int(state["defender"])]))


@jit
def may_throw_own(state: Any) -> bool:
    """Whether the numbers allow the defender to throw a card of his own."""
    return bool(int(state["size"]) + 1 <= min(TABLE, int(state["held"][int(state["defender"])]) - 1))


@jit
def layable(state: Any, hand: int) -> int:
    """Cards of a hand that its attacker may lay: any first card, then the rank, once two of it lie one Kutscher."""
    size = int(state["size"])
    if size == 0:
        return hand
    if size >= 2 and int(state["kutscher"]) < 0:
        return hand
    return hand & rank_cards(int(state["rank"]))


@jit
def throwable(state: Any, rules: Any, hand: int) -> int:
    """Cards of a hand that may be thrown: of the rank laid, and where the option says so of the Kutscher's."""
    cards = rank_cards(int(state["rank"]))
    kutscher = int(state["kutscher"])
    if int(rules["kutscher_opens_rank"]) == 1 and kutscher >= 0:
        cards |= rank_cards(rank_of(kutscher))
    return hand & cards


@jit
def legal(state: Any, rules: Any) -> tuple[int, int]:
    """Legal actions of the seat to act as two words (see `envs.game.legal`)."""
    phase = int(state["phase"])
    turn = int(state["turn"])
    if phase == OVER or turn < 0:  # an illegal action may have ended the game in any phase
        return 0, 0
    hand = int(state["hands"][turn])
    may_pass = 1 << PASS
    if phase == LAY:
        return layable(state, hand) | (may_pass if int(state["size"]) > 0 else 0), 0
    if phase == BEAT:
        cards = hand & beaters(int(state["table"][int(state["answered"])]), int(state["trump"]))
        return (cards if cards != 0 and int(rules["must_beat"]) == 1 else cards | may_pass), 0
    return throwable(state, rules, hand) | may_pass, 0


@jit
def automatic(state: Any, rules: Any) -> int:
    """No move makes itself."""
    return -1


@jit
def is_out(state: Any, seat: int) -> bool:
    """Whether a seat has left the game."""
    return bool((int(state["out_seats"]) >> seat) & 1)


@jit
def draw_up(state: Any, seat: int) -> None:
    """A seat draws up to five cards; it is out if it is left without any."""
    held = int(state["held"][seat])
    at = int(state["drawn"])
    while held < HAND and at < PACK:
        card = int(state["stock"][at])
        state["stock"][at] = -1
        at += 1
        held += 1
        state["hands"][seat] |= 1 << card
        if card == int(state["turned"]):
            state["known"][seat] |= 1 << card
    state["drawn"] = at
    state["held"][seat] = held
    if held == 0:
        state["out"][int(state["out_count"])] = seat
        state["out_count"] += 1
        state["out_seats"] |= 1 << seat


@jit
def active_after(active: int, seat: int, seats: int) -> int:
    """The next seat after `seat` among those still in the game (`active` as bits, at least one)."""
    after = next_seat(seat, seats)
    while (active >> after) & 1 == 0:
        after = next_seat(after, seats)
    return after


@jit
def active_before(active: int, seat: int, seats: int) -> int:
    """The same in the other direction."""
    before = seat
    while True:
        before = before - 1 if before > 0 else seats - 1
        if (active >> before) & 1 == 1:
            return before


@jit
def next_roles(active: int, seats: int, attacker: int, defender: int, beaten: bool, rule: int) -> tuple[int, int]:
    """Attacker and defender of the next bout.

    Args:
        active: seats still in the game after the bout, as bits; two at least.
        seats: seats at the table.
        attacker: who attacked in the bout.
        defender: who defended.
        beaten: whether every card was beaten.
        rule: option ``attacker_out``.
    """
    attacker_left = (active >> attacker) & 1 == 0
    defender_left = (active >> defender) & 1 == 0
    if defender_left and not attacker_left:
        return attacker, active_after(active, defender, seats)
    if attacker_left and not defender_left and rule == PREDECESSOR:
        return active_before(active, attacker, seats), defender
    first = defender if beaten and not defender_left else active_after(active, defender, seats)
    return first, active_after(active, first, seats)


@jit
def _put_down(state: Any, seat: int, card: int) -> None:
    """A card leaves a hand."""
    state["hands"][seat] &= ~(1 << card)
    state["known"][seat] &= ~(1 << card)
    state["held"][seat] -= 1


@jit
def _lay(state: Any, seat: int, card: int) -> None:
    """A card is laid or thrown before the defender."""
    size = int(state["size"])
    _put_down(state, seat, card)
    if size == 0:
        state["rank"] = rank_of(card)
    elif int(state["phase"]) == LAY and rank_of(card) != int(state["rank"]):
        state["kutscher"] = card
    state["table"][size] = card
    state["layers"][size] = seat
    state["size"] = size + 1


@jit
def ask_defender(state: Any) -> None:
    """Ask the defender for cards of his own while the numbers allow it, then to answer."""
    state["phase"] = THROW_OWN if may_throw_own(state) else BEAT
    state["turn"] = state["defender"]


@jit
def ask_throwers(state: Any, rules: Any, after: int) -> None:
    """Ask the next seat after `after`, short of the defender, to throw, while the table has room."""
    n = int(rules["num_players"])
    defender = int(state["defender"])
    seat = after
    if int(state["size"]) < table_limit(state):
        while True:
            seat = next_seat(seat, n)
            if seat == defender:
                break
            if seat != int(state["attacker"]) and not is_out(state, seat):
                state["phase"] = THROW
                state["turn"] = seat
                return
    ask_defender(state)


@jit
def _has_laid(state: Any, seat: int) -> bool:
    found = False
    for i in range(int(state["size"])):
        found = found or int(state["layers"][i]) == seat
    return found


@jit
def _throw(state: Any, rules: Any, seat: int, action: int) -> None:
    if action != PASS:
        _lay(state, seat, action)
        if int(state["size"]) < table_limit(state):
            return
    if _has_laid(state, seat):
        draw_up(state, seat)
    ask_throwers(state, rules, seat)


@jit
def _finish(state: Any, finished: int) -> int:
    state["finished"] = finished
    state["phase"] = OVER
    state["turn"] = -1
    return ROUND_OVER | (GAME_OVER if finished == 1 else TRUNCATED)


@jit
def _clear_up(state: Any, rules: Any) -> bool:
    """Beaten cards leave the game, the defender takes the others or draws; whether he has beaten every card."""
    defender = int(state["defender"])
    beaten = 0
    left = 0
    for i in range(int(state["size"])):
        card = 1 << int(state["table"][i])
        if int(state["answers"][i]) >= 0:
            beaten |= card | (1 << int(state["answers"][i]))
        else:
            left |= card
    if left == 0:
        state["gone"] |= beaten
        draw_up(state, defender)
        return True
    if int(rules["pickup"]) == ALL:
        left |= beaten
    else:
        state["gone"] |= beaten
    count = popcount(left)
    state["hands"][defender] |= left
    state["known"][defender] |= left
    state["held"][defender] += count
    state["taken"][defender] += count
    return False


@jit
def _end_bout(state: Any, rules: Any) -> int:
    n = int(rules["num_players"])
    attacker = int(state["attacker"])
    defender = int(state["defender"])
    beaten = _clear_up(state, rules)
    _clear_table(state)
    if n - int(state["out_count"]) <= 1:
        return _finish(state, 1)
    if int(state["bout"]) + 1 >= int(rules["max_bouts"]):
        return _finish(state, 2)
    state["bout"] += 1
    active = ((1 << n) - 1) & ~int(state["out_seats"])
    attacker, defender = next_roles(active, n, attacker, defender, beaten, int(rules["attacker_out"]))
    begin_bout(state, attacker, defender)
    return 0


@jit
def _answer(state: Any, rules: Any, seat: int, action: int) -> int:
    at = int(state["answered"])
    if action != PASS:
        _put_down(state, seat, action)
        state["answers"][at] = action
    state["answered"] = at + 1
    return _end_bout(state, rules) if at + 1 == int(state["size"]) else 0


@jit
def step(state: Any, rules: Any, action: int) -> int:
    """Make a legal move for the seat to act; returns flags (see `envs.game.step`)."""
    seat = int(state["turn"])
    phase = int(state["phase"])
    state["moves"] += 1
    if phase == BEAT:
        return _answer(state, rules, seat, action)
    if phase == THROW:
        _throw(state, rules, seat, action)
    elif phase == THROW_OWN:
        if action == PASS:
            state["phase"] = BEAT
        else:
            _lay(state, seat, action)
            ask_defender(state)
    else:
        if action != PASS:
            _lay(state, seat, action)
        if action == PASS or int(state["size"]) >= table_limit(state):
            draw_up(state, seat)
            ask_throwers(state, rules, int(state["defender"]))
    return 0
