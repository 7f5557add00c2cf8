"""The rules of Kachuful on one state record: deal, legal, step, score.

Bid exactly the tricks you will take. Actions: cards 0..51, ``bid b`` = 52 + b and ``blind b`` = 70 + b (b 0..17),
``look`` = 88. A round is bid in turn from the left of the dealer, who bids last under the hook; then
hand-size tricks are played, suit followed where possible. All functions run compiled and plain (see `envs.jit`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from envs.cards import NO_TRUMP, PACK, shuffle, suit_cards, suit_of
from envs.game import ACTION_WORD, COMMON_FIELDS, GAME_OVER, OVER, ROUND_OVER, SEATS
from envs.jit import jit, lowest_bit
from envs.tricks import beats, deal_key, finish_trick, first_dealer, following, next_seat, place_by_score

BID, PLAY = 1, 2
"""Phases beside `OVER`."""
BID_ACTION = 52
BLIND_ACTION = 70
LOOK_ACTION = 88
NUM_ACTIONS = 89
_BIDS = BID_ACTION - ACTION_WORD
_BLINDS = BLIND_ACTION - ACTION_WORD
_LOOK = LOOK_ACTION - ACTION_WORD

# Indices into the tuples of choices in rules.py.
DOWN_UP, UP_DOWN, DOWN, UP = range(4)
BLIND_OFF, BLIND_OPTIONAL, BLIND_FORCED = range(3)
DOUBLES_SCORE, DOUBLES_BONUS = range(2)
NORMAL, FOREHEAD, FACE_DOWN = range(3)
MASKED, PENALTY = range(2)
TEN_PLUS_BID, TEN_TIMES_BID_PLUS_TEN, MINUS_DIFFERENCE, TRICK_PLUS_BONUS, JUDGEMENT = range(5)
MARGIN, SCORE, WIN = range(3)

STATE = np.dtype(
    [
        *COMMON_FIELDS,
        ("hands", np.int64, (SEATS,)),  # cards still held
        ("played", np.int64, (SEATS,)),  # cards each seat has played in this round
        ("blind", np.int16),  # seats (bits) that bid blind
        ("looked", np.int16),  # seats that looked before their bid
        ("revoked", np.int16),  # seats that did not follow though able
        ("hand_size", np.int8),
        ("trump", np.int8),
        ("turned", np.int8),  # card turned for trump, or -1
        ("bids", np.int8, (SEATS,)),  # -1: not yet
        ("bid_count", np.int8),
        ("bid_total", np.int16),
        ("tricks", np.int8, (SEATS,)),
        ("voids", np.int8, (SEATS,)),  # suits (bits) a seat was seen not to hold
        ("leader", np.int8),  # seat that led, or leads, the current trick
        ("trick_size", np.int8),  # cards lying in the current trick
        ("led", np.int8),  # suit led, or -1
        ("best", np.int8),  # card winning the current trick, or -1
        ("best_seat", np.int8),
        ("count", np.int8),  # cards played in this round
        ("trick", np.int8),  # tricks finished in this round
        ("log", np.int8, (PACK,)),  # those cards in order, then -1
        ("leaders", np.int8, (PACK // 3,)),  # seat that led each trick so far
    ],
    align=True,
)
"""One game of Kachuful. Seats beyond the number of players keep their defaults."""


@jit
def hand_size(rules: Any, round_: int) -> int:
    """Cards dealt to each seat in a round (from 0)."""
    high = int(rules["max_hand"])
    low = int(rules["min_hand"])
    span = high - low
    schedule = int(rules["schedule"])
    period = span + 1 if schedule >= DOWN else 2 * span + 1
    at = int(round_) % period
    back = abs(at - span)  # steps from the turning round; counts down, then up
    if schedule == DOWN_UP:
        return low + back
    if schedule == UP_DOWN:
        return high - back
    return high - at if schedule == DOWN else low + at


@jit
def is_no_trump_round(rules: Any, round_: int) -> bool:
    """Whether ``no_trump_every`` takes the trump from a round (from 0)."""
    every = int(rules["no_trump_every"])
    return bool(every > 0 and (int(round_) + 1) % every == 0)


@jit
def cycle_trump(rules: Any, round_: int) -> int:
    """Trump 0..4 of a round by the cycle; the cycle counts on underneath a round without trump."""
    if is_no_trump_round(rules, round_):
        return NO_TRUMP
    return int(rules["cycle"][int(round_) % int(rules["cycle_length"])])


@jit
def is_turn_up_round(rules: Any, round_: int, size: int) -> bool:
    """Whether a card is turned for trump in a round (from 0) of `size` cards each: where one is left for it."""
    left = PACK - int(rules["num_players"]) * int(size)
    return bool(int(rules["turn_up"]) == 1 and left > 0 and not is_no_trump_round(rules, round_))


@jit
def is_hidden_round(state: Any, rules: Any) -> bool:
    """Whether this is a round of one card that its holder does not see (forehead or face down)."""
    return bool(int(rules["single_card"]) != NORMAL and int(state["hand_size"]) == 1)


@jit
def deal(state: Any, rules: Any, deck: Any) -> None:
    """Set up the state's round from a deck of 52 card numbers: hands, trump, first bidder."""
    n = int(rules["num_players"])
    round_ = int(state["round"])
    size = hand_size(rules, round_)
    trump = cycle_trump(rules, round_)
    turned = -1
    if is_turn_up_round(rules, round_, size):
        turned = int(deck[n * size])
        trump = suit_of(turned)
    at = 0
    for seat in range(n):
        hand = 0
        for _ in range(size):
            hand |= 1 << int(deck[at])
            at += 1
        state["hands"][seat] = hand
    for seat in range(SEATS):
        state["played"][seat] = 0
        state["bids"][seat] = -1
        state["tricks"][seat] = 0
        state["voids"][seat] = 0
    first = next_seat(int(state["dealer"]), n)
    state["hand_size"] = size
    state["trump"] = trump
    state["turned"] = turned
    state["blind"] = 0
    state["looked"] = 0
    state["revoked"] = 0
    state["bid_count"] = 0
    state["bid_total"] = 0
    state["leader"] = first
    state["trick_size"] = 0
    state["led"] = -1
    state["best"] = -1
    state["best_seat"] = -1
    state["count"] = 0
    state["trick"] = 0
    for i in range(PACK):
        state["log"][i] = -1
    for i in range(PACK // 3):
        state["leaders"][i] = -1
    state["phase"] = BID
    state["turn"] = first


@jit
def deal_round(state: Any, rules: Any) -> None:
    """Shuffle and deal the state's round; the play log, empty between rounds, lends its bytes to the deck."""
    key = deal_key(int(state["seed"]), int(state["game"]), int(state["round"]), 0)
    shuffle(state["log"], PACK, key)
    deal(state, rules, state["log"])


@jit
def new_game(state: Any, rules: Any, dealer: int) -> None:
    """Start the game that the state's ``seed`` and ``game`` name; `dealer` -1 draws the first dealer."""
    n = int(rules["num_players"])
    state["round"] = 0
    state["moves"] = 0
    state["finished"] = 0
    for seat in range(SEATS):
        state["scores"][seat] = 0
        state["gained"][seat] = 0
        state["hands"][seat] = 0
    state["dealer"] = dealer if dealer >= 0 else first_dealer(int(state["seed"]), int(state["game"]), n)
    deal_round(state, rules)


@jit
def barred_bid(state: Any, rules: Any) -> int:
    """The bid that the hook bars for the seat to bid, or -1: it binds the last bidder alone."""
    n = int(rules["num_players"])
    left = int(state["hand_size"]) - int(state["bid_total"])
    last = int(state["bid_count"]) == n - 1
    return left if int(rules["hook"]) == 1 and last and left >= 0 else -1


@jit
def legal_bids(state: Any, rules: Any) -> int:
    """Bids allowed to the seat to bid, as bits 0..hand size."""
    bids = (1 << (int(state["hand_size"]) + 1)) - 1
    barred = barred_bid(state, rules)
    return bids & ~(1 << barred) if barred >= 0 else bids


@jit
def legal_cards(state: Any, rules: Any) -> int:
    """Cards allowed to the seat to play, as a mask."""
    hand = int(state["hands"][int(state["turn"])])
    if int(state["trick_size"]) == 0 or int(rules["revoke"]) == PENALTY:
        return hand
    return following(hand, int(state["led"]))


@jit
def legal(state: Any, rules: Any) -> tuple[int, int]:
    """Legal actions of the seat to act as two words (see `envs.game.legal`)."""
    phase = int(state["phase"])
    if phase == OVER or int(state["turn"]) < 0:  # an illegal action may have ended the game in any phase
        return 0, 0
    if phase == PLAY:
        return legal_cards(state, rules), 0
    bids = legal_bids(state, rules)
    blind = int(rules["blind"])
    if blind == BLIND_OFF or is_hidden_round(state, rules):
        return 0, bids << _BIDS
    if blind == BLIND_FORCED:
        return 0, bids << _BLINDS
    if (int(state["looked"]) >> int(state["turn"])) & 1:
        return 0, bids << _BIDS
    return 0, (bids << _BLINDS) | (1 << _LOOK)


@jit
def score(rules: Any, bid: int, won: int, blind: bool) -> int:
    """Points of a seat for one round."""
    scoring = int(rules["scoring"])
    if bid == won:
        if scoring == TEN_TIMES_BID_PLUS_TEN:
            extra = 10 * bid
        elif scoring == JUDGEMENT:
            extra = 0
        else:
            extra = bid
        bonus = 10
        if blind:
            bonus *= 2
            if int(rules["blind_doubles"]) == DOUBLES_SCORE:
                extra *= 2
        return bonus + extra
    if scoring == MINUS_DIFFERENCE:
        return -abs(bid - won)
    if scoring == TRICK_PLUS_BONUS:
        return won
    return -10 if scoring == JUDGEMENT else 0


@jit
def round_score(state: Any, rules: Any, seat: int) -> int:
    """Points of a seat for the round just played; a seat that revoked cannot gain by it."""
    blind = bool((int(state["blind"]) >> seat) & 1)
    points = score(rules, int(state["bids"][seat]), int(state["tricks"][seat]), blind)
    if (int(state["revoked"]) >> seat) & 1:
        return min(0, points)
    return points


@jit
def _finish_round(state: Any, rules: Any) -> int:
    for seat in range(int(rules["num_players"])):
        points = round_score(state, rules, seat)
        state["gained"][seat] = points
        state["scores"][seat] += points
    state["phase"] = OVER
    state["turn"] = -1
    if int(state["round"]) + 1 == int(rules["rounds"]):
        state["finished"] = 1
        return ROUND_OVER | GAME_OVER
    return ROUND_OVER


@jit
def next_round(state: Any, rules: Any) -> None:
    """Pass the deal on and deal the next round (after a step that ended a round, but not the game)."""
    state["round"] += 1
    state["dealer"] = next_seat(int(state["dealer"]), int(rules["num_players"]))
    deal_round(state, rules)


@jit
def _bid(state: Any, rules: Any, seat: int, action: int) -> int:
    if action == LOOK_ACTION:
        state["looked"] |= 1 << seat
        return 0
    bid = action - BID_ACTION
    if action >= BLIND_ACTION:
        bid = action - BLIND_ACTION
        state["blind"] |= 1 << seat
    n = int(rules["num_players"])
    made = int(state["bid_count"]) + 1
    state["bids"][seat] = bid
    state["bid_count"] = made
    state["bid_total"] += bid
    state["turn"] = next_seat(seat, n)
    if made == n:
        state["phase"] = PLAY
    return 0


@jit
def _note_discard(state: Any, rules: Any, seat: int) -> None:
    """A card off the led suit proves that the suit is out; under ``penalty`` it proves nothing and may be a revoke."""
    led = int(state["led"])
    if int(rules["revoke"]) == MASKED:
        state["voids"][seat] |= 1 << led
    elif int(state["hands"][seat]) & suit_cards(led) != 0:
        state["revoked"] |= 1 << seat


@jit
def _play(state: Any, rules: Any, seat: int, card: int) -> int:
    n = int(rules["num_players"])
    count = int(state["count"])
    size = int(state["trick_size"])
    suit = suit_of(card)
    state["log"][count] = card
    state["count"] = count + 1
    state["played"][seat] |= 1 << card
    if size == 0:
        state["leaders"][int(state["trick"])] = seat
        state["led"] = suit
        state["best"] = card
        state["best_seat"] = seat
    else:
        if suit != int(state["led"]):
            _note_discard(state, rules, seat)
        if beats(card, int(state["best"]), int(state["trump"])):
            state["best"] = card
            state["best_seat"] = seat
    state["hands"][seat] &= ~(1 << card)
    if size + 1 < n:
        state["trick_size"] = size + 1
        state["turn"] = next_seat(seat, n)
        return 0
    finish_trick(state)
    if int(state["trick"]) == int(state["hand_size"]):
        return _finish_round(state, rules)
    return 0


@jit
def step(state: Any, rules: Any, action: int) -> int:
    """Make a legal move for the seat to act; returns flags (see `envs.game.step`)."""
    seat = int(state["turn"])
    state["moves"] += 1
    if action < BID_ACTION:
        return _play(state, rules, seat, action)
    return _bid(state, rules, seat, action)


@jit
def automatic(state: Any, rules: Any) -> int:
    """The only card of the seat to play in a forehead or face-down round, else -1: no mask may name that card."""
    if int(state["phase"]) == PLAY and is_hidden_round(state, rules):
        return lowest_bit(int(state["hands"][int(state["turn"])]))
    return -1


@jit
def place(state: Any, rules: Any, seat: int) -> int:
    """Place of a seat by its score (see `envs.game.place`)."""
    return place_by_score(state["scores"], seat, int(rules["num_players"]))


@jit
def rewards(state: Any, rules: Any, flags: int, out: Any) -> None:
    """Write each seat's reward for the round that `flags` say has ended (see `envs.game.rewards`)."""
    n = int(rules["num_players"])
    kind = int(rules["reward"])
    if kind == WIN:
        winners = 0
        for seat in range(n):
            winners += int(place(state, rules, seat) == 1)
        for seat in range(n):
            share = 1.0 / winners if place(state, rules, seat) == 1 else 0.0
            out[seat] = share - 1.0 / n if flags & GAME_OVER else 0.0
        return
    total = 0
    for seat in range(n):
        total += int(state["gained"][seat])
    for seat in range(n):
        own = int(state["gained"][seat])
        out[seat] = own - (total - own) / (n - 1) if kind == MARGIN else own


@jit
def left(state: Any, rules: Any) -> int:
    """Bids (looks included) and cards to the end of the round (see `envs.game.left`)."""
    n = int(rules["num_players"])
    if int(state["phase"]) == OVER:
        return 0
    bids = n - int(state["bid_count"])
    return (bids if int(rules["blind"]) == BLIND_OFF else 2 * bids) + n * int(state["hand_size"]) - int(state["count"])


STATISTICS = ("points", "exact", "over", "under", "bid", "tricks")
"""Statistics of a seat for one round; exact, over and under are 0 or 1."""


@jit
def statistics(state: Any, rules: Any, seat: int, out: Any) -> None:
    """Write the `STATISTICS` of a seat for the round that has just ended (see `envs.game.statistics`)."""
    bid = int(state["bids"][seat])
    won = int(state["tricks"][seat])
    out[0] = int(state["gained"][seat])
    out[1] = int(won == bid)
    out[2] = int(won > bid)
    out[3] = int(won < bid)
    out[4] = bid
    out[5] = won
