"""Compiled loops over many games, each written once for every game (see `envs.game`)."""

from __future__ import annotations

from typing import Any

from envs.cards import fold, random_below, random_bits, stream_key
from envs.game import (
    ACTION_WORD,
    GAME_OVER,
    PLAY_STREAM,
    ROUND_OVER,
    TRUNCATED,
    automatic,
    determinize,
    features,
    full_features,
    legal,
    new_game,
    next_round,
    place,
    prepare_deals,
    redact,
    rewards,
    rule_player,
    statistics,
    step,
)
from envs.jit import jit, lowest_bit, nth_bit, popcount
from envs.layout import put64, put_last

ASK = -1
"""Player code of a seat whose moves the caller makes."""
RANDOM = 0
"""Player code of a seat that plays uniformly at random; 1 + k is the game's rule-based player k."""


@jit
def nth_action(low: int, high: int, n: int) -> int:
    """The n-th legal action (from 0) of a pair of action words."""
    in_low = popcount(low)
    return nth_bit(low, n) if n < in_low else ACTION_WORD + nth_bit(high, n - in_low)


@jit
def has_action(low: int, high: int, action: int) -> bool:
    """Whether an action, 0 to 2 * `ACTION_WORD` - 1, is in a pair of action words."""
    if action < ACTION_WORD:
        return bool((low >> action) & 1)
    return bool((high >> (action - ACTION_WORD)) & 1)


@jit
def is_legal(state: Any, rules: Any, action: int) -> bool:
    """Whether an action (any integer) is legal for the seat to act."""
    low, high = legal(state, rules)
    return 0 <= action < 2 * ACTION_WORD and has_action(low, high, action)


@jit
def forced_action(state: Any, rules: Any) -> int:
    """The only legal action of the seat to act, or -1 where it has a choice."""
    low, high = legal(state, rules)
    if popcount(low) + popcount(high) != 1:
        return -1
    return lowest_bit(low) if low != 0 else ACTION_WORD + lowest_bit(high)


@jit
def advance(state: Any, rules: Any, action: int) -> int:
    """Make a move and those that the game makes by itself after it; returns flags. The next round is not yet dealt."""
    flags = step(state, rules, action)
    follow = automatic(state, rules)
    while follow >= 0:
        flags |= step(state, rules, follow)
        follow = automatic(state, rules)
    return flags


@jit
def settle(state: Any, rules: Any, flags: int) -> None:
    """Go on after a step: the next round where one ended, the next game (a reset without a seed) where it ended."""
    if flags & (GAME_OVER | TRUNCATED):
        state["game"] += 1
        new_game(state, rules, -1)
    elif flags & ROUND_OVER:
        next_round(state, rules)


@jit
def random_action(state: Any, rules: Any) -> int:
    """A uniformly random legal action; depends on the game's seed, number and move alone."""
    low, high = legal(state, rules)
    key = stream_key(int(state["seed"]), PLAY_STREAM, int(state["game"]))
    bits = random_bits(key & 0xFFFFFFFF, key >> 32, int(state["moves"]))
    return nth_action(low, high, random_below(bits, popcount(low) + popcount(high)))


@jit
def player_action(state: Any, rules: Any, player: int, scratch: Any) -> int:
    """Action of a built-in player (`RANDOM` or 1 + k); rule-based ones see the record redacted in ``scratch[0]``."""
    if player == RANDOM:
        return random_action(state, rules)
    scratch[0] = state
    redact(scratch[0], rules, int(state["turn"]))
    return rule_player(scratch[0], rules, player - 1)


@jit
def random_moves(states: Any, options: Any, rounds: int, key: int) -> int:
    """Make `rounds` uniformly random moves in each game, new games following ended ones; returns the moves made."""
    rules = options[0]
    key0 = key & 0xFFFFFFFF
    key1 = key >> 32
    made = 0
    for _ in range(rounds):
        for i in range(states.shape[0]):
            state = states[i]
            low, high = legal(state, rules)
            n = random_below(random_bits(key0, key1, made), popcount(low) + popcount(high))
            flags = advance(state, rules, nth_action(low, high, n))
            if flags != 0:
                settle(state, rules, flags)
            made += 1
    return made


@jit
def start_games(states: Any, options: Any, seed: int) -> None:
    """Set game i up as game 0 of seed + i."""
    for i in range(states.shape[0]):
        states[i]["seed"] = seed + i
        states[i]["game"] = 0
        new_game(states[i], options[0], -1)


@jit
def write_mask(low: int, high: int, mask: Any, at: int, size: int) -> None:
    """Write a pair of action words as one byte (0 or 1) an action to ``mask[at:at+size]``."""
    if size < ACTION_WORD + 12:
        for a in range(size):
            mask[at + a] = ((low >> a) if a < ACTION_WORD else (high >> (a - ACTION_WORD))) & 1
    else:
        put_last(mask, put64(mask, at, low, ACTION_WORD), high, size - ACTION_WORD)


@jit
def find_illegal(states: Any, options: Any, actions: Any) -> int:
    """Index of the first game whose action is illegal, or -1; games that have ended take any action."""
    for i in range(states.shape[0]):
        if int(states[i]["turn"]) >= 0 and not is_legal(states[i], options[0], int(actions[i])):
            return i
    return -1


@jit
def is_asked(state: Any, rules: Any, player: int, skip_forced: bool) -> bool:
    """Whether the caller decides the next move: an `ASK` seat with, where forced moves are skipped, a choice."""
    if player != ASK:
        return False
    return not skip_forced or forced_action(state, rules) < 0


@jit
def make_move(state: Any, rules: Any, action: int, restart: bool, rewarded: Any, counted: Any) -> int:
    """Advance a game by one move, add the rewards and statistics of a round that ended, and go on to the next."""
    flags = advance(state, rules, action)
    if flags != 0:
        seats = int(rules["num_players"])
        rewards(state, rules, flags, rewarded[seats:])
        for seat in range(seats):
            rewarded[seat] += rewarded[seats + seat]
        if counted.shape[1] > 0:
            width = counted.shape[1]
            for seat in range(seats):
                statistics(state, rules, seat, counted[seats])
                for k in range(width):
                    counted[seat, k] += counted[seats, k]
        if restart or flags & (GAME_OVER | TRUNCATED) == 0:
            settle(state, rules, flags)
    return flags


@jit
def play_on(
    state: Any,
    rules: Any,
    players: Any,
    i: int,
    skip_forced: bool,
    restart: bool,
    scratch: Any,
    rewarded: Any,
    counted: Any,
) -> int:
    """Make all moves of game `i` until the caller is asked; returns flags, with the rounds that ended above bit 8."""
    result = 0
    while int(state["turn"]) >= 0:
        player = int(players[i, int(state["turn"])])
        if is_asked(state, rules, player, skip_forced):
            break
        move = forced_action(state, rules) if player == ASK else player_action(state, rules, player, scratch)
        flags = make_move(state, rules, move, restart, rewarded, counted)
        result = (result | flags) + ((flags & ROUND_OVER) << 8)
    return result


@jit
def step_games(
    states: Any, options: Any, actions: Any, players: Any, skip_forced: bool, restart: bool, wide: bool, out: Any
) -> None:
    """Make one move in each game and write everything to the arrays of `out` (see `envs.vector.Batch`).

    An action below 0 makes no move. Rows are written through flat views: a view of a row for each game would cost
    more, in counted references, than the game's move.
    """
    observation, mask, turn, reward, round_over, game_over, truncated, full, counted, rounds, scratch, total, tally = (
        out
    )
    rules = options[0]
    seats = reward.shape[1]
    kinds = counted.shape[2]
    F = observation.shape[1]
    S = full.shape[1]
    A = mask.shape[1]
    always_asked = not skip_forced
    for i in range(players.shape[0]):
        for seat in range(players.shape[1]):
            always_asked = always_asked and players[i, seat] == ASK
    flat_observation = observation.reshape(-1)
    flat_full = full.reshape(-1)
    flat_mask = mask.reshape(-1)
    for i in range(states.shape[0]):
        state = states[i]
        flags = 0
        action = int(actions[i])
        if action >= 0 and int(state["turn"]) >= 0:
            flags = make_move(state, rules, action, restart, total, tally)
            flags |= (flags & ROUND_OVER) << 8
        if not always_asked:
            more = play_on(state, rules, players, i, skip_forced, restart, scratch, total, tally)
            flags = (flags | (more & 0xFF)) + (more & ~0xFF)
        ended = flags >> 8
        for seat in range(seats):
            reward[i, seat] = total[seat]
        for seat in range(seats):
            for k in range(kinds):
                counted[i, seat, k] = tally[seat, k]
        if ended > 0:
            for seat in range(seats):
                total[seat] = 0.0
                for k in range(kinds):
                    tally[seat, k] = 0.0
        rounds[i] = ended
        round_over[i] = ended > 0
        game_over[i] = flags & (GAME_OVER | TRUNCATED) != 0
        truncated[i] = flags & TRUNCATED != 0
        seat = int(state["turn"])
        turn[i] = seat
        low, high = legal(state, rules)
        write_mask(low, high, flat_mask, i * A, A)
        viewer = seat if seat >= 0 else 0
        if F > 0:
            features(state, rules, viewer, wide, flat_observation, i * F)
        if S > 0:
            full_features(state, rules, viewer, wide, flat_full, i * S)


@jit
def scatter_games(states: Any, options: Any, most: int, key: int) -> None:
    """Make a random number (0..most) of random moves in each game, so that games do not march in step."""
    for i in range(states.shape[0]):
        count = random_below(random_bits(key & 0xFFFFFFFF, key >> 32, i), most + 1)
        for _ in range(count):
            flags = advance(states[i], options[0], random_action(states[i], options[0]))
            if flags != 0:
                settle(states[i], options[0], flags)


@jit
def find_places(states: Any, options: Any, places: Any) -> None:
    """Write the place of every seat in games that have ended to `places` (B, seats)."""
    for i in range(states.shape[0]):
        for seat in range(places.shape[1]):
            places[i, seat] = place(states[i], options[0], seat)


@jit
def sample_deals(states: Any, options: Any, seat: int, key: int, plan: Any, out: Any) -> bool:
    """Fill `out` with full states, independent and uniform among those that `seat` cannot tell from ``states[0]``.

    Returns False, and draws nothing, where no deal agrees with the record.
    """
    rules = options[0]
    if out.shape[0] == 0:
        return True
    out[0] = states[0]
    redact(out[0], rules, seat)
    for i in range(1, out.shape[0]):
        out[i] = out[0]
    if not prepare_deals(out[0], rules, seat, plan):
        return False
    for i in range(out.shape[0]):
        determinize(out[i], rules, seat, plan, fold(key, i))
    return True
