"""Snapshots and positions of Call Break: its keys, and how a round is rebuilt from them.

Whatever a position leaves out is filled in: the dealer from who leads or calls first, hands from the seed's deal of the
round, calls as not yet made or, once play has begun, as the smallest, votes on a misdeal as passed once somebody has
called. In the extra round those play who are tied at the top of the scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from envs.call_break import engine, scoring
from envs.call_break.duties import UNNAMED
from envs.call_break.engine import BID, BID_ACTION, MISDEAL, PLAY, VOTE_AGREE, VOTE_CLAIM, VOTE_PASS, VOTE_REFUSE, VOTES
from envs.call_break.knowledge import CASES, case_cards
from envs.call_break.rules import HAND, MISDEAL_AUTO, MISDEAL_VOTE, MOST_CALL, SEATS_AT_TABLE, TRUMP_FIRST_LEAD
from envs.cards import FULL_PACK, PACK, cards_of, mask_of
from envs.fields import Choice, Field, Fields, Given, Integer, Maybe, PerSeat, Seat, common_fields, mismatch
from envs.game import OVER
from envs.trick_positions import (
    CARD,
    Play,
    claim_all,
    deal_missing,
    find_dealer,
    find_hand_size,
    find_leader,
    in_order,
    read_play,
    replay,
    settle_unknown,
    trick_fields,
)
from envs.tricks import seat_after

SEATS = range(SEATS_AT_TABLE)
NOBODY = [-1] * SEATS_AT_TABLE
OWN_DEALS = 50
"""How many of the seed's own deals are tried where a misdeal is dealt again: one in twenty is."""


def _find_players(given: Given) -> list[int]:
    """Seats that play an extra round: who has played or called, else who is tied at the top, else who holds cards."""
    tricks = [trick for trick in (*given.get("played", ()), given.get("trick")) if trick]
    if any(len(trick) > 1 for trick in tricks) and "played" in given and any(given["played"]):
        return sorted({seat for trick in tricks for seat, _ in trick})
    callers = [seat for seat, bid in enumerate(given.get("bids", NOBODY)) if bid >= 0]
    if len(callers) > 1 and (tricks or given.get("phase") == PLAY):
        return callers
    if "scores" in given:
        return cards_of(scoring.leaders_of(np.array(given["scores"])))
    hands = given.get("hands", [None] * SEATS_AT_TABLE)
    return [seat for seat in SEATS if hands[seat] != 0]


def _check_extra_round(state: Any, record: Any) -> None:
    """Those who play an extra round must have been tied at the top before it."""
    before = state["scores"] - state["gained"] if int(state["phase"]) == OVER else state["scores"]
    tied = int(scoring.leaders_of(before))
    if tied != int(state["playing"]) or not scoring.is_tied(record, before):
        names = ", ".join(map(str, cards_of(state["playing"])))
        raise mismatch("scores", f"an extra round is played by those tied at the top before it, not by {names}")


def _find_votes(given: Given, players: Sequence[int], first: int, settled: bool) -> tuple[list[int], int]:
    """Last vote of each seat and the claimer (-1: nobody), as given or as the rest of the position tells."""
    claimer = given.get("claimer", -1)
    votes = given.get("votes")
    if votes is None:
        votes = list(NOBODY)
        order = in_order(players, first)
        passed = order[: order.index(claimer)] if claimer in order else order if settled else []
        for seat in passed:
            votes[seat] = VOTE_PASS
        if claimer in order:
            votes[claimer] = VOTE_CLAIM
            if settled:
                votes[in_order(players, claimer)[1]] = VOTE_REFUSE
    return votes, votes.index(VOTE_CLAIM) if VOTE_CLAIM in votes else -1


def _replay_votes(state: Any, record: Any, votes: list[int], claimer: int, known: bool) -> None:
    """The votes on a misdeal from the first; those after the first that has not been given have none."""
    players = tuple(cards_of(state["playing"]))
    order = in_order(players, int(state["turn"]))
    for seat in order[: order.index(claimer)] if claimer >= 0 else order:
        if claimer < 0 and votes[seat] < 0:
            return
        if claimer < 0 and votes[seat] != VOTE_PASS:
            raise mismatch("votes", f"seat {seat} has voted {VOTES[votes[seat]]!r}, but nobody has claimed a misdeal")
        engine.step(state, record, engine.PASS_ACTION)
    if claimer < 0:
        return
    if known and not engine.is_misdeal(record, int(state["hands"][claimer])):
        raise mismatch("claimer", f"seat {claimer} cannot have claimed a misdeal, its hand is none")
    engine.step(state, record, engine.CLAIM_ACTION)
    others = in_order(players, claimer)[1:]
    if all(votes[seat] == VOTE_AGREE for seat in others):
        raise mismatch("votes", "all have agreed to a misdeal, so the round is dealt again")
    for seat in others:
        if votes[seat] not in (VOTE_AGREE, VOTE_REFUSE):
            return
        engine.step(state, record, engine.CLAIM_ACTION + votes[seat])
        if votes[seat] == VOTE_REFUSE:
            return


def _replay_bids(state: Any, record: Any, bids: list[int]) -> None:
    """All calls, from the dealer's right up to the first that has not been made."""
    made = [seat for seat in SEATS if bids[seat] >= 0]
    if made and int(state["phase"]) == MISDEAL:
        raise mismatch("bids", f"seat {made[0]} cannot have called, the vote on a misdeal is still going on")
    players = tuple(cards_of(state["playing"]))
    waiting = -1
    for seat in in_order(players, int(state["leader"])):
        if bids[seat] < 0:
            waiting = seat if waiting < 0 else waiting
        elif waiting >= 0:
            raise mismatch("bids", f"seat {seat} cannot have called before seat {waiting}, they call in turn")
        elif not engine.legal_calls(record) >> bids[seat] & 1:
            least, most = int(record["min_call"]), int(record["max_call"])
            raise mismatch("bids", f"seat {seat} cannot have called {bids[seat]}, only {least} to {most}")
    if waiting < 0 and engine.is_low_total(state, record, sum(bids[seat] for seat in players)):
        raise mismatch("bids", f"calls that sum to {sum(bids)} are dealt again")
    for seat in in_order(players, int(state["leader"])):
        if bids[seat] >= 0:
            engine.step(state, record, BID_ACTION + bids[seat])


def _begin(state: Any, record: Any, hands: list[int], size: int, number: int, redeals: int) -> None:
    """The round before its first vote or call, with these hands."""
    engine.deal(state, record, np.arange(PACK, dtype=np.int8))
    for seat, hand in enumerate(hands):
        state["hands"][seat] = hand
    state["hand_size"] = size
    state["deals"] = number
    state["redeals"] = redeals


def _replay_play(state: Any, record: Any, given: Given, play: Play) -> None:
    """The known cards, from the beginning of the round; of tricks of unknown cards only who won them."""
    first = int(state["leader"])
    if not play.unknown:
        replay(state, record, play)
        return
    if int(record["trump"]) == TRUMP_FIRST_LEAD:
        state["trump"] = given.get("trump", UNNAMED)
        if int(state["trump"]) not in range(4):
            raise mismatch("trump", "it is needed where the first lead is unknown, and must be a suit")
    leader = find_leader(given, play, first)
    state["trick"] = play.unknown
    state["count"] = play.unknown * len(play.players)
    state["leader"] = state["turn"] = leader[0]
    replay(state, record, play)
    settle_unknown(state, given, play, leader)
    if int(state["phase"]) == OVER:
        scoring.score_round(state, record)  # now that all tricks are counted


def _cases(record: Any, claimer: int, played: int, barred: list[int]) -> list[list[int]]:
    """What each seat cannot hold, one list for each kind of misdeal that a claimer's hand may be."""
    if claimer < 0:
        return [barred]
    kinds = [case_cards(record, case) for case in range(CASES)]
    return [
        [bar | (FULL_PACK & ~cards if seat == claimer else 0) for seat, bar in enumerate(barred)]
        for cards in kinds
        if cards and not played & ~cards
    ]


def _find_round(state: Any, rules: Any, given: Given) -> Sequence[int]:
    """Set the number of the round and who plays it."""
    round_ = given.get("round", 0)
    last = rules.rounds if rules.tie == "extra_round" else rules.rounds - 1
    if round_ > last:
        extra = " (the extra round)" if last == rules.rounds else ""
        raise mismatch("round", f"{round_} is beyond the last round of the game, {last}{extra}")
    players = _find_players(given) if round_ == rules.rounds else SEATS
    if len(players) < 2:
        raise mismatch("scores", "an extra round is played by at least two seats tied at the top")
    state["round"] = round_
    state["playing"] = mask_of(players)
    return players


def _check_out(given: Given, players: Sequence[int]) -> None:
    """Seats that sit out an extra round have nothing."""
    for seat in set(SEATS) - set(players):
        for key, nothing in (("hands", (None, 0)), ("bids", (-1,)), ("tricks", (0,)), ("votes", (-1,))):
            if key in given and given[key][seat] not in nothing:
                raise mismatch(f"{key}[{seat}]", f"seat {seat} sits out this round")


def build(states: Any, rules: Any, given: Given) -> None:
    """Make ``states[0]``, a new game, what a position says (see `envs.fields.Fields`)."""
    state, record = states[0], rules.record()[0]
    players = _find_round(state, rules, given)
    _check_out(given, players)
    play = read_play(given, SEATS_AT_TABLE, players)
    begun = play.done > 0 or bool(play.trick) or given.get("phase") == PLAY
    bids = given.get("bids", [rules.min_call if begun and seat in players else -1 for seat in SEATS])
    waiting = [seat for seat in players if bids[seat] < 0]
    if begun and waiting:
        raise mismatch("bids", f"play has begun, so seat {waiting[0]} must have called")
    marks = given.get("votes", NOBODY) if "bids" not in given else bids
    hints: Given = given | {"bids": marks}
    if "claimer" in given or VOTE_CLAIM in marks:
        hints.pop("turn", None)
    default = seat_after(int(state["dealer"]), int(state["round"]) % SEATS_AT_TABLE, SEATS_AT_TABLE)
    state["dealer"] = find_dealer(hints, play, default)
    size = find_hand_size(given, play, HAND)
    told = size == HAND and not play.unknown

    low = sum(bids) <= int(record["redeal_total"]) and not waiting and len(players) == SEATS_AT_TABLE
    redeals = given.get("redeals", engine.MOST_REDEALS if low else 0)
    if redeals and (rules.redeal_total is None or len(players) < SEATS_AT_TABLE):
        raise mismatch("redeals", "these rules deal no low total of calls again in this round")
    used = claim_all(given, play, -1)
    hands = given.get("hands", [None] * SEATS_AT_TABLE)
    needs = [size - play.laid(seat) if seat in players and hands[seat] is None else 0 for seat in SEATS]
    hands = [(hands[seat] or 0) | play.cards(seat) for seat in SEATS]
    barred = [0] * SEATS_AT_TABLE
    if any(needs) and (play.known or play.trick):
        _begin(state, record, hands, size, 0, redeals)
        state["phase"] = BID
        _replay_bids(state, record, bids)
        _replay_play(state, record, given, play)
        barred = [int(state["barred"][seat]) for seat in SEATS]

    votes, claimer = list(NOBODY), -1
    if int(record["misdeal"]) == MISDEAL_VOTE:
        first = in_order(players, seat_after(int(state["dealer"]), 1, SEATS_AT_TABLE))[0]
        settled = begun or max(bids) >= 0 or given.get("phase") == BID
        votes, claimer = _find_votes(given, players, first, settled)
    auto = int(record["misdeal"]) == MISDEAL_AUTO and told
    missing = [seat for seat in SEATS if needs[seat]]

    def accepts(dealt: list[int]) -> bool:
        return not any(engine.is_misdeal(record, dealt[seat] | hands[seat]) for seat in missing)

    claimed = claimer if told and claimer in missing else -1
    cases = _cases(record, claimed, hands[claimed], barred)
    numbers = range(redeals, redeals + (OWN_DEALS if auto else 1))
    dealt, _, number = deal_missing(state, used, needs, cases, accepts if auto else None, numbers)
    hands = [hands[seat] | dealt[seat] for seat in SEATS]
    for seat in SEATS:
        if auto and engine.is_misdeal(record, hands[seat]):
            raise mismatch(f"hands[{seat}]", "it was dealt as a misdeal, which these rules deal again")
    _begin(state, record, hands, size, number, redeals)
    if int(record["misdeal"]) == MISDEAL_VOTE:
        _replay_votes(state, record, votes, claimer, told or size < HAND)
    _replay_bids(state, record, bids)
    if begun:
        _replay_play(state, record, given, play)
    _finish(state, record, given, play)


def _finish(state: Any, record: Any, given: Given, play: Play) -> None:
    """Scores, and whether the game is over: at the end of its last round, or because the position says so."""
    for seat, points in enumerate(given.get("scores", ())):
        state["scores"][seat] = points
    if int(state["phase"]) == OVER:
        if not scoring.ends_game(state, record):
            text = "the game goes on" if int(state["round"]) + 1 < int(record["rounds"]) else "the tie goes on"
            raise mismatch("played", f"all {play.done} tricks are finished, but {text}: only a game's end is shown so")
        state["finished"] = 1
    elif given.get("finished") or given.get("phase") == OVER:
        state["turn"] = -1  # an illegal action ended the game
        state["finished"] = 1
    if scoring.is_extra_round(state, record):
        _check_extra_round(state, record)


FIELDS = Fields(
    "call_break",
    (
        *common_fields(("misdeal", "bid", "play"), CARD),
        *trick_fields(MOST_CALL),
        Field("redeals", Integer(0, engine.MOST_REDEALS)),
        Field("claimer", Maybe(Seat())),
        Field("votes", PerSeat(Maybe(Choice(VOTES)))),
    ),
    build,
)
"""Snapshot keys of Call Break."""
