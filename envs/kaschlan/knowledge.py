"""What a seat knows in Kaschlan: redacting a state, and drawing one of the full states it cannot tell apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from envs.cards import fold, random_below, random_bits
from envs.jit import jit, local_array, lowest_bit, popcount
from envs.kaschlan.cards import FULL_PACK, PACK, beaters
from envs.kaschlan.engine import BEAT
from envs.sampling import MAX_ROWS, Plan, draw, prepare

_ORDER_PART = 2
"""Part of a draw's key that the order of the stock is drawn from (part 1 is the new state's seed)."""


@jit
def redact(state: Any, rules: Any, seat: int) -> None:
    """Zero, in place, everything `seat` may not know: of other hands all but what everybody saw go there, the stock."""
    for other in range(int(rules["num_players"])):
        if other != seat:
            state["hands"][other] = state["known"][other]
    for i in range(int(state["drawn"]), PACK):
        if int(state["stock"][i]) != int(state["turned"]):
            state["stock"][i] = -1
    state["seed"] = 0
    state["game"] = 0


@jit
def on_table(state: Any) -> int:
    """Cards that lie on the table, answers among them."""
    cards = 0
    for i in range(int(state["size"])):
        cards |= 1 << int(state["table"][i])
        if int(state["answers"][i]) >= 0:
            cards |= 1 << int(state["answers"][i])
    return cards


@jit
def turned_in_stock(state: Any) -> int:
    """The turned card as a mask while it lies in the stock, else nothing."""
    turned = int(state["turned"])
    if turned < 0:
        return 0
    for i in range(int(state["drawn"]), PACK):
        if int(state["stock"][i]) == turned:
            return 1 << turned
    return 0


@jit
def unseen(state: Any, rules: Any, seat: int) -> int:
    """Cards whose place `seat` does not know: those in neither its hand, a known hand, the open nor the past."""
    seen = int(state["gone"]) | on_table(state) | turned_in_stock(state) | int(state["hands"][seat])
    for other in range(int(rules["num_players"])):
        seen |= int(state["known"][other])
    return FULL_PACK & ~seen


@jit
def possible_cards(state: Any, rules: Any, seat: int) -> int:
    """Cards that a seat may hold: who must beat, and has left a card, holds none that beats it."""
    cards = FULL_PACK
    if int(state["phase"]) == BEAT and int(rules["must_beat"]) == 1 and int(state["defender"]) == seat:
        for i in range(int(state["answered"])):
            if int(state["answers"][i]) < 0:
                cards &= ~beaters(int(state["table"][i]), int(state["trump"]))
    return cards


@jit
def prepare_deals(state: Any, rules: Any, seat: int, plan: Plan) -> bool:
    """Study, for `determinize`, who may hold what in a record redacted for `seat`; False: the record is impossible."""
    quotas = local_array(MAX_ROWS, np.int64)
    allowed = local_array(MAX_ROWS, np.int64)
    quotas[:] = 0
    allowed[:] = 0
    cards = unseen(state, rules, seat)
    rows = 0
    dealt = 0
    for other in range(int(rules["num_players"])):
        if other != seat:
            quotas[rows] = int(state["held"][other]) - popcount(int(state["known"][other]))
            allowed[rows] = possible_cards(state, rules, other)
            dealt += int(quotas[rows])
            rows += 1
    quotas[rows] = popcount(cards) - dealt  # the stock
    allowed[rows] = FULL_PACK
    return prepare(cards, quotas, allowed, rows + 1, plan)


@jit
def _fill_stock(state: Any, cards: int, key: int) -> None:
    """Lay cards in random order where the redacted stock has none."""
    deck = local_array(PACK, np.int64)
    deck[:] = 0
    left = 0
    while cards != 0:
        deck[left] = lowest_bit(cards)
        cards &= cards - 1
        left += 1
    for i in range(int(state["drawn"]), PACK):
        if int(state["stock"][i]) < 0:
            pick = random_below(random_bits(key & 0xFFFFFFFF, key >> 32, i), left)
            left -= 1
            state["stock"][i] = deck[pick]
            deck[pick] = deck[left]


@jit
def determinize(state: Any, rules: Any, seat: int, plan: Plan, key: int) -> None:
    """Fill a record redacted for `seat`, in place, with a uniformly drawn deal of the prepared plan."""
    hands = local_array(MAX_ROWS, np.int64)
    hands[:] = 0
    draw(plan, int(key) & 0xFFFFFFFF, int(key) >> 32, 0, hands)
    row = 0
    for other in range(int(rules["num_players"])):
        if other != seat:
            state["hands"][other] |= int(hands[row])
            row += 1
    _fill_stock(state, int(hands[row]), fold(int(key), _ORDER_PART))
    state["seed"] = fold(int(key), 1)
