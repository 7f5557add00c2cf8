"""Sums over contingency tables: the arithmetic behind uniform deals (see `envs.sampling`).

A table x gives the number x[i, j] of cards that line i takes from column j, none where the two do not touch. Tables
with given margins are drawn with weight ``prod 1 / x[i, j]!``. The sum over all of them is taken line by line over what
is left of the columns, the network algorithm of Mehta and Patel (J. Am. Stat. Assoc. 78, 1983).
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from envs.cards import PACK, random_bits
from envs.jit import jit, jit_with_memory, lowest_bit, popcount

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
        ("notes", np.float64, (8,)),  # for the game that made the plan; nothing here reads them
    ]
)
"""Everything about a situation except the partial sums."""

Plan: TypeAlias = tuple[Any, Any]
"""A ``PLAN[1]`` array and a ``float64[capacity]`` array of partial sums."""

FACTORIAL = np.array([float(math.factorial(n)) for n in range(PACK + 1)])
INVERSE_FACTORIAL = np.array([1.0 / math.factorial(n) for n in range(PACK + 1)])


@jit_with_memory
def new_plan(capacity: int = TABLE_SIZE) -> Plan:
    """Memory for one situation with up to `capacity` partial sums (8 bytes each); it serves one thread at a time."""
    return np.zeros(1, PLAN), np.zeros(capacity, np.float64)


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
def lay_out(head: Any, by_group: int, capacity: int) -> float:
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
        return float(INVERSE_FACTORIAL[size]) * float(sums[end])

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
            weight[depth + 1] = float(weight[depth]) * float(INVERSE_FACTORIAL[x])
            depth += 1
            step[depth] = max(int(least[depth]), now - x - int(most_after[depth]))
        else:
            end = int(place[depth]) - x * stride_a - (now - x) * stride_b
            factor = float(weight[depth])
            while x <= last:
                term = float(INVERSE_FACTORIAL[x]) * float(INVERSE_FACTORIAL[now - x])
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
def fill_table(head: Any, sums: Any) -> None:
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
def draw_table(head: Any, sums: Any, key0: int, key1: int, counter: int) -> int:
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
