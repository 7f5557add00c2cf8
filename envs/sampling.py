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

import math
from typing import Any, TypeAlias

import numpy as np

from envs.cards import PACK, random_below, random_bits
from envs.jit import jit, lowest_bit, popcount

MAX_ROWS = 9
"""Most rows a plan can hold."""
TABLE_SIZE = 1 << 16
"""Default number of partial sums a plan can hold."""

# One side of the table has at most MAX_ROWS entries, the other at most PACK; there is a box before each line
# and one after the last.
_BOXES = (PACK + 1) * (MAX_ROWS + 1)

PLAN = np.dtype(
    [
        # The situation: rows in groups, cards in classes.
        ("rows", np.int64),
        ("groups", np.int64),
        ("classes", np.int64),
        ("fixed", np.int64, (MAX_ROWS,)),  # cards a row holds for certain
        ("left", np.int64, (MAX_ROWS,)),  # cards a row takes besides
        ("accepts", np.int64, (MAX_ROWS,)),  # cards a row may take besides
        ("group", np.int64, (MAX_ROWS,)),  # group of a row, -1 when nothing is left to take
        ("quota", np.int64, (MAX_ROWS,)),  # cards a group takes
        ("part", np.int64, (PACK,)),  # cards of a class
        ("holders", np.int64, (PACK,)),  # groups that accept a class, as a bit set
        # The layout: lines are handled one by one, the state is what is left of each column.
        ("ready", np.int64),  # 1 when the plan has a deal
        ("by_group", np.int64),  # 1 when lines are groups and columns classes, 0 the other way round
        ("lines", np.int64),
        ("columns", np.int64),
        ("line", np.int64, (PACK,)),  # line handled at each step
        ("line_size", np.int64, (PACK,)),
        ("touches", np.int64, (PACK,)),  # columns a line can have a part in, as a bit set
        ("column_size", np.int64, (PACK,)),
        ("total", np.int64, (PACK + 1,)),  # cards left before each step
        ("start", np.int64, (PACK + 2,)),  # place of each step's sums in the table
        ("implied", np.int64, (PACK + 1,)),  # column that follows from the others at each step
        ("low", np.int64, (_BOXES,)),  # per step and column: least and most that can be left,
        ("high", np.int64, (_BOXES,)),
        ("stride", np.int64, (_BOXES,)),  # and how far one card more moves the place in the table
        # Working memory.
        ("rest", np.int64, (PACK,)),
        ("done", np.int64, (PACK,)),
        ("to_come", np.int64, (PACK,)),
        ("column", np.int64, (PACK,)),
        ("least", np.int64, (PACK + 1,)),
        ("most", np.int64, (PACK + 1,)),
        ("least_after", np.int64, (PACK + 1,)),
        ("most_after", np.int64, (PACK + 1,)),
        ("step", np.int64, (PACK + 1,)),
        ("remaining", np.int64, (PACK + 1,)),
        ("place", np.int64, (PACK + 1,)),
        ("weight", np.float64, (PACK + 1,)),
        ("share", np.int64, (PACK, MAX_ROWS)),  # cards of a class in a group
        ("sizes", np.int64, (MAX_ROWS,)),
        ("taken", np.int64, (MAX_ROWS,)),
        ("deck", np.int64, (PACK,)),
    ]
)
"""Everything about a situation except the partial sums."""

Plan: TypeAlias = tuple[Any, Any]
"""A ``PLAN[1]`` array and a ``float64[capacity]`` array of partial sums."""

_FACTORIAL = np.array([float(math.factorial(n)) for n in range(PACK + 1)])
_INVERSE_FACTORIAL = np.array([1.0 / math.factorial(n) for n in range(PACK + 1)])


@jit
def new_plan(capacity: int = TABLE_SIZE) -> Plan:
    """Memory for one situation with up to `capacity` partial sums (8 bytes each); it serves one thread at a time."""
    return np.zeros(1, PLAN), np.zeros(capacity, np.float64)


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
def _set_sides(head: Any, by_group: int) -> None:
    """Make the groups (1) or the classes (0) the lines of the table."""
    groups = int(head["groups"])
    classes = int(head["classes"])
    line_size = head["line_size"]
    touches = head["touches"]
    column_size = head["column_size"]
    head["by_group"] = by_group
    if by_group == 1:
        head["lines"] = groups
        head["columns"] = classes
        for g in range(groups):
            line_size[g] = head["quota"][g]
            mask = 0
            for c in range(classes):
                mask |= (int(head["holders"][c]) >> g & 1) << c
            touches[g] = mask
        for c in range(classes):
            column_size[c] = popcount(int(head["part"][c]))
    else:
        head["lines"] = classes
        head["columns"] = groups
        for c in range(classes):
            line_size[c] = popcount(int(head["part"][c]))
            touches[c] = head["holders"][c]
        for g in range(groups):
            column_size[g] = head["quota"][g]


@jit
def _compositions(n: int, cells: int) -> float:
    """Number of ways to write n as a sum of `cells` integers >= 0."""
    ways = 1.0
    for k in range(1, cells):
        ways = ways * (n + k) / k
    return ways


@jit
def _lay_out(head: Any, by_group: int, capacity: int) -> float:
    """Order the lines and place their sums in the table; an estimate of the work.

    Returns -1 when a column is larger than its lines together (no deal) and infinity when the table is too small.
    Lines are taken greedily so that few states are possible after each: what is left of a column is fixed before
    its first line and after its last.
    """
    _set_sides(head, by_group)
    lines = int(head["lines"])
    columns = int(head["columns"])
    line_size = head["line_size"]
    touches = head["touches"]
    column_size = head["column_size"]
    low = head["low"]
    high = head["high"]
    stride = head["stride"]
    done = head["done"]
    to_come = head["to_come"]
    total = 0
    for j in range(columns):
        total += int(column_size[j])
        done[j] = 0
        to_come[j] = 0
        for i in range(lines):
            if int(touches[i]) >> j & 1:
                to_come[j] += line_size[i]
        if to_come[j] < column_size[j]:
            return -1.0
    waiting = (1 << lines) - 1
    start = 0
    work = 0.0
    for t in range(lines + 1):
        box = t * columns
        widest = 0
        implied = 0
        for j in range(columns):
            size = int(column_size[j])
            low[box + j] = max(0, size - int(done[j]))
            high[box + j] = min(size, int(to_come[j]))
            width = int(high[box + j]) - int(low[box + j]) + 1
            if width > widest:
                widest = width
                implied = j
        states = 1
        for j in range(columns):
            stride[box + j] = 0
            if j != implied:
                stride[box + j] = states
                states *= int(high[box + j]) - int(low[box + j]) + 1
                if states > capacity:
                    return np.inf
        head["implied"][t] = implied
        head["total"][t] = total
        head["start"][t] = start
        start += states
        if start > capacity:
            return np.inf
        if t == lines:
            break
        chosen = -1
        fewest = np.inf
        candidates = waiting
        while candidates != 0:
            i = lowest_bit(candidates)
            candidates &= candidates - 1
            after = 1.0
            widest = 1
            for j in range(columns):
                size = int(column_size[j])
                part = int(line_size[i]) * (int(touches[i]) >> j & 1)
                width = min(size, int(to_come[j]) - part) - max(0, size - int(done[j]) - part) + 1
                widest = max(widest, width)
                after *= width
            after /= widest
            if after < fewest:
                fewest = after
                chosen = i
        head["line"][t] = chosen
        waiting &= ~(1 << chosen)
        total -= int(line_size[chosen])
        for j in range(columns):
            if int(touches[chosen]) >> j & 1:
                done[j] += line_size[chosen]
                to_come[j] -= line_size[chosen]
        if t < lines - 1:
            work += states * _compositions(int(line_size[chosen]), popcount(int(touches[chosen])))
        else:
            work += states
    head["start"][lines + 1] = start
    return work


@jit
def _line_sum(head: Any, sums: Any, t: int, stop: float) -> float:
    """Sum over the compositions of the line at step t from state ``head["rest"]``, ended when it exceeds `stop`.

    A composition's term is ``prod 1 / x!`` times the sum of the state it leads to. When the sum ends early, the
    composition reached is in ``head["step"]``, cell by cell (columns in ``head["column"]``), and the place of the
    next state's sum in ``head["place"][0]``. `prepare` and `draw` both add up here, in the same order, so that a
    `stop` below the full sum is always exceeded.
    """
    columns = int(head["columns"])
    line = int(head["line"][t])
    size = int(head["line_size"][line])
    touched = int(head["touches"][line])
    low = head["low"]
    high = head["high"]
    stride = head["stride"]
    rest = head["rest"]
    column = head["column"]
    least = head["least"]
    most = head["most"]
    least_after = head["least_after"]
    most_after = head["most_after"]
    step = head["step"]
    remaining = head["remaining"]
    place = head["place"]
    weight = head["weight"]
    box = (t + 1) * columns
    base = int(head["start"][t + 1])
    cells = 0
    for j in range(columns):
        above = int(rest[j]) - int(low[box + j])
        base += above * int(stride[box + j])
        if touched >> j & 1:
            fewest = max(0, int(rest[j]) - int(high[box + j]))
            greatest = min(size, above)
            if fewest > greatest:
                return 0.0
            column[cells] = j
            least[cells] = fewest
            most[cells] = greatest
            cells += 1
    few = 0
    many = 0
    for k in range(cells - 1, -1, -1):
        least_after[k] = few
        most_after[k] = many
        few += int(least[k])
        many += int(most[k])
    if few > size or many < size:
        return 0.0
    if cells == 1:
        end = base - size * int(stride[box + int(column[0])])
        step[0] = size
        place[0] = end
        return float(_INVERSE_FACTORIAL[size]) * float(sums[end])

    inner = cells - 2
    stride_a = int(stride[box + int(column[inner])])
    stride_b = int(stride[box + int(column[inner + 1])])
    result = 0.0
    depth = 0
    remaining[0] = size
    place[0] = base
    weight[0] = 1.0
    step[0] = max(int(least[0]), size - int(most_after[0]))
    while depth >= 0:
        now = int(remaining[depth])
        x = int(step[depth])
        last = min(int(most[depth]), now - int(least_after[depth]))
        if depth < inner:
            if x > last:
                depth -= 1
                continue
            step[depth] = x + 1
            remaining[depth + 1] = now - x
            place[depth + 1] = int(place[depth]) - x * int(stride[box + int(column[depth])])
            weight[depth + 1] = float(weight[depth]) * float(_INVERSE_FACTORIAL[x])
            depth += 1
            step[depth] = max(int(least[depth]), now - x - int(most_after[depth]))
        else:
            end = int(place[depth]) - x * stride_a - (now - x) * stride_b
            factor = float(weight[depth])
            while x <= last:
                term = float(_INVERSE_FACTORIAL[x]) * float(_INVERSE_FACTORIAL[now - x])
                result += factor * term * float(sums[end])
                if result > stop:
                    # The outer cells have moved on to their next value already.
                    for k in range(inner):
                        step[k] -= 1
                    step[inner] = x
                    step[inner + 1] = now - x
                    place[0] = end
                    return result
                x += 1
                end += stride_b - stride_a
            depth -= 1
    return result


@jit
def _fill_table(head: Any, sums: Any) -> None:
    """Compute the sums of all states, last step first.

    No scaling: a sum times the factorials of the classes counts deals, so it lies between 1/52! and 9**52.
    """
    lines = int(head["lines"])
    columns = int(head["columns"])
    low = head["low"]
    high = head["high"]
    rest = head["rest"]
    sums[int(head["start"][lines])] = 1.0
    for t in range(lines - 1, -1, -1):
        box = t * columns
        implied = int(head["implied"][t])
        spare = int(head["total"][t])
        for j in range(columns):
            rest[j] = low[box + j]
            if j != implied:
                spare -= int(low[box + j])
        for place in range(int(head["start"][t]), int(head["start"][t + 1])):
            rest[implied] = spare
            if low[box + implied] <= spare <= high[box + implied]:
                sums[place] = _line_sum(head, sums, t, np.inf)
            else:
                sums[place] = 0.0
            for j in range(columns):
                if j == implied:
                    continue
                if rest[j] < high[box + j]:
                    rest[j] += 1
                    spare -= 1
                    break
                spare += int(rest[j]) - int(low[box + j])
                rest[j] = low[box + j]


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
    work = _lay_out(head, 1, len(sums))
    if work < 0.0:
        return False
    # Below that, planning the other side costs more than it can save.
    if work > 100.0:
        other = _lay_out(head, 0, len(sums))
        if other < 0.0:
            return False
        if other > work:
            _lay_out(head, 1, len(sums))
        elif other == np.inf:
            raise ValueError("the plan's table is too small for these constraints")
    _fill_table(head, sums)
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
        result *= float(_FACTORIAL[popcount(int(head["part"][c]))])
    for g in range(int(head["groups"])):
        result *= float(_FACTORIAL[int(head["quota"][g])])
    for r in range(int(head["rows"])):
        result *= float(_INVERSE_FACTORIAL[int(head["left"][r])])
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
def _draw_table(head: Any, sums: Any, key0: int, key1: int, counter: int) -> int:
    """Draw a table into ``head["share"]`` with weight ``prod 1 / x!``; the new counter."""
    lines = int(head["lines"])
    columns = int(head["columns"])
    by_group = int(head["by_group"])
    rest = head["rest"]
    share = head["share"]
    for j in range(columns):
        rest[j] = head["column_size"][j]
    for c in range(int(head["classes"])):
        for g in range(int(head["groups"])):
            share[c, g] = 0
    place = 0
    for t in range(lines):
        line = int(head["line"][t])
        if t == lines - 1:
            for j in range(columns):
                if by_group == 1:
                    share[j, line] = rest[j]
                else:
                    share[line, j] = rest[j]
            break
        high = random_bits(key0, key1, counter)
        low = random_bits(key0, key1, counter + 1)
        counter += 2
        # All 53 bits of a float64: 32 would never reach compositions of small weight.
        uniform = float((high << 21) + (low >> 11)) * (1.0 / 9007199254740992.0)
        _line_sum(head, sums, t, uniform * float(sums[place]))
        place = int(head["place"][0])
        for k in range(popcount(int(head["touches"][line]))):
            j = int(head["column"][k])
            x = int(head["step"][k])
            rest[j] -= x
            if by_group == 1:
                share[j, line] = x
            else:
                share[line, j] = x
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
    counter = _draw_table(head, plan[1], key0, key1, counter)
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
