"""Uniform random deals of the unseen cards that agree with everything an observer knows.

Every unseen card goes to exactly one row: a hidden hand, or the rest of the pack. Row r takes ``quotas[r]`` cards,
all of them from the mask ``allowed[r]``. `prepare` studies one such situation, `draw` then gives a deal with equal
probability for each consistent deal, and `count` says how many there are.

Method. Cards that no rule tells apart form a class, rows that accept the same cards form a group. With x[c, g] the
number of cards of class c in group g, m[c] the size of a class, a table x stands for ``prod m[c]! / prod x[c, g]!``
deals, so tables are drawn with weight ``prod 1 / x[c, g]!``. The sum over all tables with given margins is taken
line by line over what is left of the other margin, the network algorithm of Mehta and Patel (J. Am. Stat. Assoc. 78,
1983); lines are the groups or the classes, whichever is less work. Cards are then dealt within each class, and within
each group to its rows, by partial shuffles (Durstenfeld, Comm. ACM 7, 1964).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from envs.cards import random_below, random_bits
from envs.jit import jit, lowest_bit, nth_bit, popcount
from envs.tables import FACTORIAL, INVERSE_FACTORIAL, MAX_ROWS, Plan, draw_table, fill_table, lay_out, new_plan

__all__ = ["MAX_ROWS", "Plan", "count", "draw", "exchange_cards", "new_plan", "prepare"]


@jit
def _fix_certain(head: Any, free: int) -> int:
    """Give rows the cards they must hold (fills fixed, left, accepts); the cards still open, or -1: no deal.

    A card with one possible row goes there, a row with no card to spare takes all it can, until neither occurs.
    """
    rows = int(head["rows"])
    fixed = head["fixed"]
    left = head["left"]
    accepts = head["accepts"]
    changed = True
    while changed:
        changed = False
        once = 0
        twice = 0
        for r in range(rows):
            mask = int(accepts[r]) & free
            if left[r] == 0:
                mask = 0
            accepts[r] = mask
            twice |= once & mask
            once |= mask
        if once != free:
            return -1
        single = once & ~twice
        for r in range(rows):
            mask = int(accepts[r]) & free
            spare = popcount(mask) - int(left[r])
            if spare < 0:
                return -1
            own = mask if spare == 0 else mask & single
            if own != 0:
                left[r] -= popcount(own)
                if left[r] < 0:
                    return -1
                fixed[r] |= own
                free &= ~own
                changed = True
    return free


@jit
def _find_classes(head: Any, free: int) -> None:
    """Put the rows in groups and the open cards in classes."""
    rows = int(head["rows"])
    left = head["left"]
    accepts = head["accepts"]
    group = head["group"]
    quota = head["quota"]
    part = head["part"]
    holders = head["holders"]
    groups = 0
    classes = 0
    if free != 0:
        part[0] = free
        holders[0] = 0
        classes = 1
    for r in range(rows):
        group[r] = -1
        if left[r] == 0:
            continue
        for other in range(r):
            if group[other] >= 0 and accepts[other] == accepts[r]:
                group[r] = group[other]
        if group[r] >= 0:
            quota[group[r]] += left[r]
            continue
        group[r] = groups
        quota[groups] = left[r]
        for c in range(classes):
            inside = int(part[c]) & int(accepts[r])
            outside = int(part[c]) & ~inside
            if inside != 0:
                if outside != 0:
                    part[classes] = outside
                    holders[classes] = holders[c]
                    classes += 1
                part[c] = inside
                holders[c] |= 1 << groups
        groups += 1
    head["groups"] = groups
    head["classes"] = classes


@jit
def prepare(unseen: int, quotas: Any, allowed: Any, rows: int, plan: Plan) -> bool:
    """Study a situation so that `draw` and `count` can work on `plan`; False when no consistent deal exists.

    Parameters
    ----------
    unseen : mask of the cards to deal.
    quotas : int64[>= rows], cards per row; a sum other than the number of unseen cards has no deal.
    allowed : int64[>= rows], masks of the cards possible in each row; cards outside `unseen` do not matter.
    rows : 0..MAX_ROWS.
    plan : from `new_plan`; what it held before is lost.

    Raises:
    ------
    ValueError
        Too many rows, or constraints so entangled that the plan's table is too small: with up to four rows, or
        with classes that are whole suits, the default capacity is enough.
    """
    if rows < 0 or rows > MAX_ROWS:
        raise ValueError("a plan holds 0 to 9 rows")
    head = plan[0][0]
    sums = plan[1]
    unseen = int(unseen)
    head["ready"] = 0
    head["rows"] = rows
    wanted = 0
    for r in range(rows):
        if quotas[r] < 0:
            return False
        wanted += int(quotas[r])
        head["fixed"][r] = 0
        head["left"][r] = quotas[r]
        head["accepts"][r] = int(allowed[r]) & unseen
    if wanted != popcount(unseen):
        return False
    free = _fix_certain(head, unseen)
    if free < 0:
        return False
    _find_classes(head, free)
    work = lay_out(head, 1, len(sums))
    if work < 0.0:
        return False
    # Below that, planning the other side costs more than it can save.
    if work > 100.0:
        other = lay_out(head, 0, len(sums))
        if other < 0.0:
            return False
        if other > work:
            lay_out(head, 1, len(sums))
        elif other == np.inf:
            raise ValueError("the plan's table is too small for these constraints")
    fill_table(head, sums)
    if sums[0] > 0.0:
        head["ready"] = 1
        return True
    return False


@jit
def count(plan: Plan) -> float:
    """Number of consistent deals of a prepared plan (relative error about 1e-14); 0 when there is none."""
    head = plan[0][0]
    if head["ready"] == 0:
        return 0.0
    result = float(plan[1][0])
    for c in range(int(head["classes"])):
        result *= float(FACTORIAL[popcount(int(head["part"][c]))])
    for g in range(int(head["groups"])):
        result *= float(FACTORIAL[int(head["quota"][g])])
    for r in range(int(head["rows"])):
        result *= float(INVERSE_FACTORIAL[int(head["left"][r])])
    return result


@jit
def _split(cards: int, sizes: Any, parts: Any, deck: Any, n: int, key0: int, key1: int, counter: int) -> int:
    """Deal a set of cards at random into n parts of the given sizes, added to the masks `parts`; the new counter."""
    largest = 0
    for k in range(1, n):
        if sizes[k] > sizes[largest]:
            largest = k
    held = 0
    if sizes[largest] != popcount(cards):
        rest = cards
        while rest != 0:
            deck[held] = lowest_bit(rest)
            rest &= rest - 1
            held += 1
        for k in range(n):
            if k == largest:
                continue
            mask = 0
            for _ in range(int(sizes[k])):
                pick = random_below(random_bits(key0, key1, counter), held)
                counter += 1
                held -= 1
                mask |= 1 << int(deck[pick])
                deck[pick] = deck[held]
            parts[k] |= mask
            cards &= ~mask
    parts[largest] |= cards
    return counter


@jit
def draw(plan: Plan, key0: int, key1: int, counter: int, hands: Any) -> int:
    """Write one deal, uniform among the consistent ones, to ``hands[:rows]`` (int64 masks).

    The deal depends on the prepared situation and on the random numbers from `counter` on (`cards.random_bits`)
    alone; the return value is the first counter not used. ValueError when the plan has no deal.
    """
    head = plan[0][0]
    if head["ready"] == 0:
        raise ValueError("the plan has no consistent deal")
    counter = int(counter)
    rows = int(head["rows"])
    groups = int(head["groups"])
    group = head["group"]
    left = head["left"]
    sizes = head["sizes"]
    taken = head["taken"]
    deck = head["deck"]
    counter = draw_table(head, plan[1], key0, key1, counter)
    for g in range(groups):
        taken[g] = 0
    for c in range(int(head["classes"])):
        counter = _split(int(head["part"][c]), head["share"][c], taken, deck, groups, key0, key1, counter)
    for r in range(rows):
        hands[r] = head["fixed"][r]
    for g in range(groups):
        for r in range(rows):
            sizes[r] = int(left[r]) if group[r] == g else 0
        counter = _split(int(taken[g]), sizes, hands, deck, rows, key0, key1, counter)
    return counter


@jit
def exchange_cards(plan: Plan, key0: int, key1: int, hands: Any) -> bool:
    """Exchange a card of one row for a card of another in a deal of the plan (``hands[:rows]``), in place.

    Rows and cards are drawn uniformly from those that are not certain, so that an exchange is as likely as the one that
    undoes it; repeated, it makes a walk over the consistent deals. False where the cards drawn do not fit the rows:
    nothing has changed then.
    """
    head = plan[0][0]
    left = head["left"]
    accepts = head["accepts"]
    open_rows = 0
    for r in range(int(head["rows"])):
        open_rows |= int(left[r] > 0) << r
    count = popcount(open_rows)
    if count < 2:
        return False
    first = random_below(random_bits(key0, key1, 0), count)
    second = random_below(random_bits(key0, key1, 1), count - 1)
    one = nth_bit(open_rows, first)
    other = nth_bit(open_rows, second + int(second >= first))
    given = nth_bit(int(hands[one]) & int(accepts[one]), random_below(random_bits(key0, key1, 2), int(left[one])))
    taken = nth_bit(int(hands[other]) & int(accepts[other]), random_below(random_bits(key0, key1, 3), int(left[other])))
    if (int(accepts[other]) >> given) & 1 == 0 or (int(accepts[one]) >> taken) & 1 == 0:
        return False
    both = (1 << given) | (1 << taken)
    hands[one] ^= both
    hands[other] ^= both
    return True
