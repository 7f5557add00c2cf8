"""Snapshots and positions of Kachuful: its keys, and how a round is rebuilt from them.

Whatever a position leaves out is filled in: the dealer from who leads or bids first, hands and the turned card from the
seed's deal of the round, trump from the turned card or the cycle, bids as not yet made or, once play has begun, as 0.
"""

from __future__ import annotations

from typing import Any

from envs.cards import PACK, card_name, cards_of, suit_cards, suit_of
from envs.fields import Field, Fields, Given, SeatBits, common_fields, mismatch
from envs.game import OVER
from envs.kachuful import engine
from envs.kachuful.engine import BID_ACTION, BLIND_ACTION, LOOK_ACTION, PLAY
from envs.trick_positions import (
    CARD,
    Play,
    claim_all,
    deal_missing,
    find_dealer,
    find_hand_size,
    find_leader,
    read_play,
    replay,
    settle_unknown,
    trick_fields,
)
from envs.tricks import next_seat, seat_after


def _is_legal(state: Any, record: Any, action: int) -> bool:
    return bool(engine.legal(state, record)[1] >> (action - PACK) & 1)


def _replay_bid(state: Any, record: Any, given: Given, seat: int, bid: int) -> None:
    """One seat's turn to bid; `bid` -1 where it has not bid yet, but may have looked."""
    looked = given["looked"] >> seat & 1 if "looked" in given else None
    blind = given["blind"] >> seat & 1 if "blind" in given else None
    may_look = _is_legal(state, record, LOOK_ACTION)
    if bid < 0:
        if looked and may_look:
            engine.step(state, record, LOOK_ACTION)
        return
    if blind is None:
        blind = looked == 0 if may_look else not _is_legal(state, record, BID_ACTION + bid)
    if may_look and not blind and looked != 0:
        engine.step(state, record, LOOK_ACTION)
    action, other = (BLIND_ACTION, BID_ACTION) if blind else (BID_ACTION, BLIND_ACTION)
    if _is_legal(state, record, action + bid):
        engine.step(state, record, action + bid)
    elif _is_legal(state, record, other + bid):
        key = "blind" if "blind" in given else "looked"
        raise mismatch(key, f"seat {seat} cannot have bid {'blind' if blind else 'plainly'} here")
    else:
        allowed = ", ".join(str(b) for b in cards_of(engine.legal_bids(state, record)))
        raise mismatch("bids", f"seat {seat} cannot have bid {bid} after those before it, only {allowed}")


def _replay_bids(state: Any, record: Any, given: Given, bids: list[int]) -> None:
    """All bids, from the left of the dealer up to the first that has not been made."""
    waiting = -1
    seat = int(state["turn"])
    for _ in bids:
        if waiting < 0:
            _replay_bid(state, record, given, seat, bids[seat])
            waiting = seat if bids[seat] < 0 else -1
        elif bids[seat] >= 0:
            raise mismatch(
                "bids", f"seat {seat} cannot have bid before seat {waiting}, they bid in turn after the dealer"
            )
        seat = next_seat(seat, len(bids))


def _find_turned(given: Given, turns: bool) -> int | None:
    """The card turned for trump: a card, -1 for none, None where it is still to be dealt."""
    turned = given.get("turned")
    if turned is None:
        return None if turns and "trump" not in given else -1
    if turned >= 0 and not turns:
        raise mismatch("turned", f"{card_name(turned)} cannot have been turned: these rules turn no card in this round")
    return int(turned)


def _begin(state: Any, record: Any, hands: list[int], size: int, trump: int, turned: int) -> None:
    """The round before its first bid, with these hands."""
    engine.deal_round(state, record)
    for seat, hand in enumerate(hands):
        state["hands"][seat] = hand
    state["hand_size"] = size
    state["trump"] = trump
    state["turned"] = turned


def _replay_round(state: Any, record: Any, given: Given, play: Play, bids: list[int]) -> None:
    """Bids and known cards, from the beginning of the round."""
    first = int(state["turn"])
    _replay_bids(state, record, given, bids)
    if not play.unknown:
        replay(state, record, play)
        return
    leader = find_leader(given, play, first)
    state["trick"] = play.unknown
    state["count"] = play.unknown * play.seats
    state["leader"] = state["turn"] = leader[0]
    replay(state, record, play)
    settle_unknown(state, given, play, leader)
    state["revoked"] |= given.get("revoked", 0)


def build(states: Any, rules: Any, given: Given) -> None:
    """Make ``states[0]``, a new game, what a position says (see `envs.fields.Fields`)."""
    state, record = states[0], rules.record()[0]
    seats = rules.num_players
    play = read_play(given, seats)
    begun = play.done > 0 or bool(play.trick) or given.get("phase") == PLAY
    bids = given.get("bids", [0 if begun else -1] * seats)
    if begun and min(bids) < 0:
        raise mismatch("bids", f"play has begun, so seat {bids.index(-1)} must have bid")
    round_ = given.get("round", 0)
    last = int(record["rounds"]) - 1
    if round_ > last:
        raise mismatch("round", f"{round_} is beyond the last round of the game, {last}")
    state["round"] = round_
    state["dealer"] = find_dealer(given, play, seat_after(int(state["dealer"]), round_ % seats, seats))
    size = find_hand_size(given, play, engine.hand_size(record, round_))

    turned = _find_turned(given, engine.is_turn_up_round(record, round_, size))
    if turned is None and play.known:
        raise mismatch("trump", "it, or turned, is needed to tell who won the tricks in played")
    used = claim_all(given, play, -1 if turned is None else turned)
    hands = given.get("hands", [None] * seats)
    needs = [size - play.laid(seat) if hands[seat] is None else 0 for seat in range(seats)]
    hands = [(hands[seat] or 0) | play.cards(seat) for seat in range(seats)]
    trump = engine.cycle_trump(record, round_) if turned is None or turned < 0 else suit_of(turned)
    if turned is None or turned < 0:
        trump = given.get("trump", trump)
    barred = [0] * seats
    if any(needs) and (play.known or play.trick):
        _begin(state, record, hands, size, trump, -1)
        _replay_round(state, record, given, play, bids)
        barred = [sum(suit_cards(suit) for suit in cards_of(state["voids"][seat])) for seat in range(seats)]
    dealt, stock, _ = deal_missing(state, used, needs, [barred])
    if turned is None:
        turned = stock
        trump = suit_of(turned)
    _begin(state, record, [hands[seat] | dealt[seat] for seat in range(seats)], size, trump, turned)
    _replay_round(state, record, given, play, bids)
    _finish(state, record, given, play, last)


def _finish(state: Any, record: Any, given: Given, play: Play, last: int) -> None:
    """Scores, and whether the game is over: at the end of the last round, or because the position says so."""
    if int(state["phase"]) == OVER:
        if int(state["round"]) != last:
            raise mismatch(
                "played", f"all {play.done} tricks are finished, but only the last round ({last}) can be shown so"
            )
    elif given.get("finished") or given.get("phase") == OVER:
        state["turn"] = -1  # an illegal action ended the game
        state["finished"] = 1
    elif engine.automatic(state, record) >= 0:
        raise mismatch("bids", "after the last bid a round of one hidden card plays itself, no seat is left to act")
    for seat, points in enumerate(given.get("scores", ())):
        state["scores"][seat] = points


FIELDS = Fields(
    "kachuful",
    (
        *common_fields(("bid", "play"), CARD),
        *trick_fields(PACK // 3),
        Field("blind", SeatBits()),
        Field("looked", SeatBits()),
        Field("revoked", SeatBits()),
    ),
    build,
)
"""Snapshot keys of Kachuful."""
