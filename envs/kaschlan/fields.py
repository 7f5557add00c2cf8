"""Snapshots and positions of Kaschlan: its keys, and how a game is rebuilt from them.

Whatever a position leaves out is filled in: the roles from the dealer, hands of five and the stock from the cards that
lie nowhere else in the order of the seed's deal, the turned card at its place in that stock, the phase as the earliest
that fits the table. Cards that a given stock leaves over have left the game.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from envs.cards import SUITS, cards_of, mask_of, shuffle
from envs.fields import (
    Card,
    Cards,
    Choice,
    Field,
    Fields,
    Given,
    Integer,
    ListOf,
    Maybe,
    PerSeat,
    Seat,
    Tuple,
    claim_cards,
    common_fields,
    mismatch,
)
from envs.game import OVER, SEATS
from envs.jit import popcount
from envs.kaschlan import engine
from envs.kaschlan.cards import FULL_PACK, PACK, RANKS, beaters, card_name, card_number, suit_of
from envs.kaschlan.engine import BEAT, HAND, LAY, TABLE, THROW, THROW_OWN
from envs.tricks import deal_key, steps_to

CARD = Card(card_name, card_number)
_PHASES = ("lay", "throw", "throw_own", "beat")
Lain = tuple[int, int, int]
"""A card before the defender: the card, the one that beat it or -1, and the seat that laid it."""


def _read_table(state: Any, seats: int) -> list[Lain]:
    return [(state["table"][i], state["answers"][i], state["layers"][i]) for i in range(int(state["size"]))]


def _read_stock(state: Any, seats: int) -> list[int]:
    return [int(card) for card in state["stock"][int(state["drawn"]) :]]


def _read_out(state: Any, seats: int) -> list[int]:
    return [int(seat) for seat in state["out"][: int(state["out_count"])]]


def _claim(given: Given) -> int:
    """Mask of all cards whose place a position tells; ValueError where one lies in two places."""
    owners: dict[int, str] = {}
    for seat, hand in enumerate(given.get("hands", ())):
        claim_cards(cards_of(hand or 0), f"hands[{seat}]", owners, card_name)
    claim_cards(given.get("stock", ()), "stock", owners, card_name)
    for i, (card, answer, _) in enumerate(given.get("table", ())):
        claim_cards([card], f"table[{i}]", owners, card_name)
        claim_cards([answer] if answer >= 0 else [], f"table[{i}]", owners, card_name)
    for seat, known in enumerate(given.get("known", ())):
        hand = given.get("hands", [None] * SEATS)[seat]
        if hand is None:
            claim_cards(cards_of(known), f"known[{seat}]", owners, card_name)
        elif known & ~hand:
            missing = ", ".join(card_name(card) for card in cards_of(known & ~hand))
            raise mismatch(f"known[{seat}]", f"seat {seat} does not hold {missing}")
    return mask_of(owners)


def _deal(state: Any, rules: Any, given: Given, trump: int) -> int:
    """Hands, stock and turned card, dealt where they are missing; returns the turned card or -1."""
    seats, table = rules.num_players, given.get("table", [])
    used = _claim(given)
    turned: int | None = given.get("turned")
    lies_in_stock = turned is not None and turned >= 0 and "stock" not in given and not used >> turned & 1
    deck = np.empty(PACK, np.int8)
    shuffle(deck, PACK, deal_key(int(state["seed"]), int(state["game"]), 0, 0))
    rest = [int(card) for card in deck if not used >> int(card) & 1 and not (lies_in_stock and card == turned)]
    hands = list(given.get("hands", [None] * seats))
    known = given.get("known", [0] * seats)
    defender = int(state["defender"])
    answered = given.get("answered", _count_answered(table))
    for seat in sorted(range(seats), key=lambda seat: seat != defender if table and rules.must_beat else 0):
        if hands[seat] is not None:
            continue
        size = 0 if seat in given.get("out", ()) else max(HAND - popcount(known[seat]), 0)
        barred = _barred(table[:answered], trump) if seat == defender and rules.must_beat else 0
        cards = [card for card in rest if not barred >> card & 1][:size]
        if len(cards) < size:
            raise mismatch(f"hands[{seat}]", f"only {len(cards)} cards are left to deal to it, {size} are needed")
        hands[seat] = known[seat] | mask_of(cards)
        rest = [card for card in rest if card not in cards]
    if "stock" in given:
        stock = list(given["stock"])
        if turned is None and "trump" not in given and stock:
            turned = stock[-1 if rules.trump_card == "bottom" else 0]
    else:
        if turned is None and "trump" not in given and rest:
            turned, lies_in_stock = rest.pop(0), True
        if lies_in_stock and turned is not None:
            rest.insert(len(rest) if rules.trump_card == "bottom" else 0, turned)
        stock = rest
    turned = -1 if turned is None else turned
    _check_turned(rules, turned, stock)
    for seat in range(seats):
        state["hands"][seat] = hands[seat]
        state["held"][seat] = popcount(hands[seat])
        seen = known[seat] if "known" in given or turned < 0 else hands[seat] & 1 << turned
        if turned >= 0 and hands[seat] & ~seen & 1 << turned:
            raise mismatch(f"known[{seat}]", f"everybody has seen {card_name(turned)}, the turned card, go there")
        state["known"][seat] = seen
    state["drawn"] = PACK - len(stock)
    state["stock"] = -1
    state["stock"][PACK - len(stock) :] = stock
    on_table = mask_of(card for lain in table for card in lain[:2] if card >= 0)
    state["gone"] = FULL_PACK & ~mask_of([*stock, *(card for hand in hands for card in cards_of(hand))]) & ~on_table
    return int(turned)


def _check_turned(rules: Any, turned: int, stock: Sequence[int]) -> None:
    """Where the turned card lies while there is a stock."""
    if turned < 0 or not stock:
        return
    place = -1 if rules.trump_card == "bottom" else 0
    if turned in stock and stock[place] != turned:
        where = "last" if place else "first"
        raise mismatch("turned", f"{card_name(turned)} must lie {where} in the stock under these rules")
    if turned not in stock and rules.trump_card == "bottom":
        raise mismatch("turned", f"{card_name(turned)} is drawn last, so while there is a stock it must lie there")


def _count_answered(table: Sequence[Lain]) -> int:
    return max((i + 1 for i, (_, answer, _) in enumerate(table) if answer >= 0), default=0)


def _barred(answered: Sequence[Lain], trump: int) -> int:
    """Cards that a defender who must beat cannot hold, having left some of the cards answered so far."""
    return mask_of(card for lain in answered if lain[1] < 0 for card in cards_of(beaters(lain[0], trump)))


def _next_to(playing: Sequence[int], seat: int, seats: int, direction: int) -> int:
    """The nearest seat that plays beside a seat, to its left (1) or right (-1); its neighbour where it plays alone."""
    order = [(seat + direction * i) % seats for i in range(1, seats)]
    return next((other for other in order if other in playing), order[0])


def _find_roles(state: Any, given: Given, seats: int) -> None:
    """Attacker and defender: as given, or told by each other, or by the dealer, whom they tell in the first bout."""
    table = given.get("table", [])
    layers = {layer for *_, layer in table}
    attacker, defender = given.get("attacker"), given.get("defender")
    if attacker is None and table:
        attacker = table[0][2]
    elif attacker is None and given.get("turn", -1) >= 0:
        attacker = given["turn"]
    hands = given.get("hands", [None] * seats)
    empty = [seat for seat in range(seats) if hands[seat] == 0] if given.get("stock") == [] else []
    out = given.get("out", [seat for seat in empty if seat not in (attacker, defender)])
    playing = [seat for seat in range(seats) if seat not in out or seat in layers]
    if attacker is None and defender is not None:
        attacker = _next_to(playing, defender, seats, -1)
    if attacker is not None and "dealer" not in given and not given.get("bout"):
        state["dealer"] = (attacker - 1) % seats
    if attacker is None:
        attacker = _next_to(playing, int(state["dealer"]), seats, 1)
    if defender is None:
        defender = _next_to(playing, attacker, seats, 1)
    if attacker == defender:
        raise mismatch("defender", f"seat {defender} cannot attack and defend in one bout")
    state["attacker"], state["defender"] = attacker, defender


def _lay_table(state: Any, rules: Any, given: Given) -> None:
    """The table, checked card by card against what could be laid."""
    table, trump = given.get("table", []), int(state["trump"])
    seats, attacker, defender = rules.num_players, int(state["attacker"]), int(state["defender"])
    if len(table) > TABLE:
        raise mismatch("table", f"{len(table)} cards lie there; it must be at most {TABLE}")
    own = sum(layer == defender for *_, layer in table)
    before = int(state["held"][defender]) + own + sum(answer >= 0 for _, answer, _ in table)
    if len(table) - own > before or (own and len(table) > before - own):
        raise mismatch("table", f"{len(table)} cards are more than seat {defender}, the defender, could be given")
    state["size"] = 0
    step = 0
    for i, (card, answer, layer) in enumerate(table):
        turn = 0 if layer == attacker else seats if layer == defender else steps_to(defender, layer, seats)
        if turn < step or (i == 0 and turn):
            raise mismatch(f"table[{i}]", f"seat {layer} cannot have laid a card here")
        step, one = turn, 1 << card
        state["phase"] = THROW if turn else LAY
        may = engine.throwable(state, rules.record()[0], one) if turn else engine.layable(state, one)
        if not may:
            raise mismatch(f"table[{i}]", f"seat {layer} cannot have laid {card_name(card)} on the cards before it")
        state["held"][layer] += 1  # `_lay` takes the card from the hand, where it does not lie any more
        engine._lay(state, layer, card)
        if answer >= 0 and not beaters(card, trump) >> answer & 1:
            raise mismatch(f"table[{i}]", f"{card_name(answer)} does not beat {card_name(card)}")
        state["answers"][i] = answer
    answered = given.get("answered", _count_answered(table))
    if table and answered >= len(table):
        raise mismatch("answered", f"{answered} of {len(table)} cards; with the last answer a bout is over")
    if answered > len(table) or _count_answered(table) > answered:
        raise mismatch("answered", f"{answered} does not fit table, where {_count_answered(table)} cards are beaten")
    state["answered"] = answered
    if rules.must_beat:
        for i, (card, answer, _) in enumerate(table[:answered]):
            later = mask_of(other for _, other, _ in table[i:] if other >= 0) | int(state["hands"][defender])
            if answer < 0 and later & beaters(card, trump):
                raise mismatch("answered", f"{card_name(card)} was left, but seat {defender} must beat and could")


def _draw_to_come(state: Any, given: Given) -> set[int]:
    """Seats that have not left although they hold nothing: they draw later in the bout."""
    if not int(state["size"]):
        return set()
    attacker, defender = int(state["attacker"]), int(state["defender"])
    last = int(state["layers"][int(state["size"]) - 1])
    asked = given["turn"] if given.get("turn", -1) >= 0 else last
    phase = given.get("phase", {attacker: LAY, defender: BEAT}.get(asked, THROW))
    room = int(state["answered"]) == 0 and int(state["size"]) < engine.table_limit(state)
    is_laying = asked == last and phase == (LAY if last == attacker else THROW)
    return {defender, last} if room and is_laying else {defender}


def _set_out(state: Any, given: Given, seats: int) -> None:
    """Who has left the game, in order."""
    stock = PACK - int(state["drawn"])
    holding = {seat for seat in range(seats) if int(state["held"][seat])}
    waiting = _draw_to_come(state, given)
    empty = [seat for seat in range(seats) if seat not in holding and seat not in waiting]
    laid = [int(layer) for layer in state["layers"] if layer >= 0]
    empty.sort(key=lambda seat: laid.index(seat) + 1 if seat in laid else 0)
    out = given.get("out", empty if not stock else [])
    for i, seat in enumerate(out):
        if seat in out[:i]:
            raise mismatch(f"out[{i}]", f"seat {seat} is there twice")
        if seat in holding:
            raise mismatch(f"out[{i}]", f"seat {seat} holds cards")
        if stock:
            raise mismatch(f"out[{i}]", f"seat {seat} cannot have left while there is a stock")
    for seat in empty:
        if seat not in out:
            raise mismatch(f"hands[{seat}]", f"seat {seat} holds no card and is not in out")
    leaving = list(dict.fromkeys(seat for seat in laid if seat in out))
    if out[len(out) - len(leaving) :] != leaving:
        raise mismatch("out", f"those who have left in this bout must come last, in the order {leaving}")
    state["out"] = -1
    state["out"][: len(out)] = out
    state["out_count"] = len(out)
    state["out_seats"] = mask_of(out)


def _check_roles(state: Any, seats: int) -> None:
    """Attacker and defender are neighbours among the seats that were in the game when the bout began."""
    attacker, defender = int(state["attacker"]), int(state["defender"])
    layers = mask_of(int(layer) for layer in state["layers"] if layer >= 0)
    playing = ((1 << seats) - 1) & ~int(state["out_seats"]) | layers
    for key, seat in (("attacker", attacker), ("defender", defender)):
        if not playing >> seat & 1:
            raise mismatch(key, f"seat {seat} is out of the game")
    if engine.active_after(playing, attacker, seats) != defender:
        follows = engine.active_after(playing, attacker, seats)
        raise mismatch("defender", f"it must be seat {follows}, the next after the attacker, seat {attacker}")


def _ask(state: Any, record: Any, given: Given, seats: int) -> None:
    """Phase and turn over the table: as given, or the earliest that fits; what fits nothing shows when compared."""
    attacker, defender = int(state["attacker"]), int(state["defender"])
    last = int(state["layers"][int(state["size"]) - 1])
    seat = given.get("turn", -1)
    room = int(state["size"]) < engine.table_limit(state)
    phase = given.get("phase")
    if phase is None:
        phase = {attacker: LAY, defender: THROW_OWN}.get(seat if seat >= 0 else last, THROW)
    if phase == BEAT or int(state["answered"]):
        state["phase"], state["turn"] = BEAT, defender
    elif phase == LAY and last == attacker and room:
        state["phase"], state["turn"] = LAY, attacker
    elif phase == THROW and last != defender and room:
        thrower = seat if seat >= 0 else last if last != attacker else -1
        asked = thrower if thrower not in (attacker, defender) else -1
        if asked < 0 or engine.is_out(state, asked):
            engine.ask_throwers(state, record, defender if last == attacker else last)
        elif last != attacker and steps_to(defender, last, seats) > steps_to(defender, asked, seats):
            raise mismatch("turn", f"seat {last} has thrown after seat {asked} was asked")
        else:
            state["phase"], state["turn"] = THROW, asked
    elif phase == LAY and last == attacker:
        engine.ask_throwers(state, record, defender)
    else:
        engine.ask_defender(state)


def build(states: Any, rules: Any, given: Given) -> None:
    """Make ``states[0]``, a new game, what a position says (see `envs.fields.Fields`)."""
    state, record, seats = states[0], rules.record()[0], rules.num_players
    if "dealer" in given:
        state["dealer"] = given["dealer"]
    bout = given.get("bout", 0)
    if bout >= rules.max_bouts:
        raise mismatch("bout", f"{bout} is beyond the last of max_bouts={rules.max_bouts}")
    if given.get("turned", -1) >= 0 and given.get("trump", suit_of(given["turned"])) != suit_of(given["turned"]):
        raise mismatch("trump", f"it must be the suit of {card_name(given['turned'])}, the turned card")
    state["bout"] = bout
    _find_roles(state, given, seats)
    default = int(state["trump"])
    turned = _deal(state, rules, given, given.get("trump", default))
    state["turned"] = turned
    state["trump"] = given.get("trump", suit_of(turned) if turned >= 0 else default)
    _lay_table(state, rules, given)
    _set_out(state, given, seats)
    left = seats - int(state["out_count"])
    if given.get("finished") or given.get("phase") == OVER or (left <= 1 and not given.get("table")):
        state["finished"] = 2 if left > 1 and bout + 1 == rules.max_bouts and not given.get("table") else 1
        state["turn"] = -1
        state["phase"] = OVER
        return
    _check_roles(state, seats)
    if int(state["size"]):
        _ask(state, record, given, seats)
        if engine.is_out(state, int(state["turn"])):
            raise mismatch("out", f"seat {int(state['turn'])} is asked in phase {_PHASES[int(state['phase']) - 1]}")
        return
    for seat in (int(state["attacker"]), int(state["defender"])):
        if not int(state["held"][seat]):
            raise mismatch(f"hands[{seat}]", f"seat {seat} needs a card to begin a bout")
    state["phase"], state["turn"] = LAY, state["attacker"]


FIELDS = Fields(
    "kaschlan",
    (
        *common_fields(_PHASES, CARD),
        Field("stock", ListOf(CARD, "cards"), _read_stock),
        Field("turned", Maybe(CARD)),
        Field("trump", Choice(SUITS)),
        Field("attacker", Seat()),
        Field("defender", Seat()),
        Field("rank", Maybe(Choice(RANKS))),
        Field("kutscher", Maybe(CARD)),
        Field(
            "table",
            ListOf(Tuple((CARD, Maybe(CARD), Seat()), "[card, beating card or None, seat]"), "cards"),
            _read_table,
        ),
        Field("answered", Integer(0, TABLE)),
        Field("known", PerSeat(Cards(CARD))),
        Field("bout", Integer(0, 1_000_000)),
        Field("out", ListOf(Seat(), "seats"), _read_out),
    ),
    build,
)
"""Snapshot keys of Kaschlan."""
