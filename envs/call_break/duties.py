"""The duties of Call Break: which cards may be played, and what a card that was played shows of a hand."""

from __future__ import annotations

from typing import Any

from envs.call_break.rules import BEAT_ALWAYS, BEAT_UNTIL_TRUMPED, FORCED, LEAD_RESTRICTED, TRUMP_SPADES
from envs.cards import FULL_PACK, NO_TRUMP, suit_cards, suit_of
from envs.jit import jit
from envs.tricks import higher_than

SPADES = 0
UNNAMED = -1
"""Trump of a round whose first lead has still to name it."""


@jit
def spades_are_trump(rules: Any) -> bool:
    """Whether spades are the permanent trump."""
    return int(rules["trump"]) == TRUMP_SPADES


@jit
def bars_spade_lead(state: Any, rules: Any) -> bool:
    """Whether spades may not be led now by a seat that holds another card: to a deal's first trick."""
    restricted = int(rules["spade_lead"]) == LEAD_RESTRICTED and spades_are_trump(rules)
    return bool(restricted and int(state["trick"]) == 0)


@jit
def legal_leads(state: Any, rules: Any, hand: int) -> int:
    """Cards of a hand that may be led to a trick."""
    if bars_spade_lead(state, rules):
        others = hand & ~suit_cards(SPADES)
        return others if others != 0 else hand
    return hand


@jit
def is_trumped(state: Any) -> bool:
    """Whether a trump lies in the current trick on the lead of another suit."""
    return suit_of(int(state["best"])) != int(state["led"])


@jit
def must_beat(state: Any, rules: Any) -> bool:
    """Whether who follows suit now has to beat the highest card of the led suit, if able."""
    duty = int(rules["must_beat"])
    return bool(duty == BEAT_ALWAYS or (duty == BEAT_UNTIL_TRUMPED and not is_trumped(state)))


@jit
def legal_cards(state: Any, rules: Any) -> int:
    """Cards allowed to the seat to play, as a mask: follow and beat, else trump and over-trump, else anything."""
    hand = int(state["hands"][int(state["turn"])])
    if int(state["trick_size"]) == 0:
        return legal_leads(state, rules, hand)
    same = hand & suit_cards(int(state["led"]))
    if same != 0:
        beating = same & higher_than(int(state["top"]))
        return beating if beating != 0 and must_beat(state, rules) else same
    trumps = hand & suit_cards(int(state["trump"]))
    if trumps == 0:
        return hand
    if not is_trumped(state):
        return trumps
    beating = trumps & higher_than(int(state["best"]))
    if beating != 0:
        return beating
    return trumps if int(rules["undertrump"]) == FORCED else hand


@jit
def note_lead(state: Any, rules: Any, seat: int, suit: int) -> None:
    """The first lead may name the trump; a spade led where that is barred proves a hand of spades."""
    if int(state["trump"]) == UNNAMED:
        state["trump"] = suit
    if suit == SPADES and bars_spade_lead(state, rules):
        state["barred"][seat] |= FULL_PACK & ~suit_cards(SPADES)


@jit
def shown_by(state: Any, rules: Any, card: int) -> int:
    """Cards that a seat which now plays `card` to the trick of another proves not to hold, by the duties."""
    led = int(state["led"])
    suit = suit_of(card)
    top = int(state["top"])
    if suit == led:
        return higher_than(top) if card < top and must_beat(state, rules) else 0
    trump = int(state["trump"])
    barred = suit_cards(led)
    if trump >= NO_TRUMP or trump == led:
        return barred
    if not is_trumped(state):
        return barred if suit == trump else barred | suit_cards(trump)
    best = int(state["best"])
    if suit == trump:
        return barred | higher_than(best) if card < best else barred
    return barred | (suit_cards(trump) if int(rules["undertrump"]) == FORCED else higher_than(best))
