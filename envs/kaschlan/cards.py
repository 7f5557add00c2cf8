"""The 32 cards of Kaschlan: ``suit * 8 + rank`` with suits S D C H (0..3) and ranks 7 8 9 T J Q K A (0..7).

The queen of diamonds, the Kaschlansche, is the highest trump whatever suit is trump, and no diamond for any purpose but
her rank's.
"""

from __future__ import annotations

from envs.cards import SUITS, cards_of
from envs.jit import jit, lowest_bit

RANKS = "789TJQKA"
PACK = 32
SUIT_SIZE = 8
FULL_PACK = (1 << PACK) - 1
QUEEN = 1 * SUIT_SIZE + 5
"""The queen of diamonds."""
_SUIT = (1 << SUIT_SIZE) - 1
_RANK = 0x01010101


def card_name(card: int) -> str:
    """Name of a card number 0..31, for example 13 -> ``QD``."""
    return RANKS[card % SUIT_SIZE] + SUITS[card // SUIT_SIZE]


def card_number(name: str) -> int:
    """Number 0..31 of a card name; ValueError for anything else."""
    if isinstance(name, str) and len(name) == 2:
        rank, suit = RANKS.find(name[0]), SUITS.find(name[1])
        if rank >= 0 and suit >= 0:
            return suit * SUIT_SIZE + rank
    raise ValueError(f"no card {name!r}; cards are rank + suit, 7 the lowest, such as 'AS', 'TD', '7H'")


def names_of(mask: int) -> list[str]:
    """Names of the cards in a mask, by suit S D C H and rank."""
    return [card_name(card) for card in cards_of(mask)]


@jit
def suit_of(card: int) -> int:
    """Suit 0..3 of a card."""
    return int(card) >> 3


@jit
def rank_of(card: int) -> int:
    """Rank 0..7 of a card."""
    return int(card) & 7


@jit
def suit_cards(suit: int) -> int:
    """Mask of the eight cards of a suit."""
    return _SUIT << (SUIT_SIZE * int(suit))


@jit
def rank_cards(rank: int) -> int:
    """Mask of the four cards of a rank."""
    return _RANK << int(rank)


@jit
def trump_cards(trump: int) -> int:
    """Mask of all trumps: those of the suit and the queen of diamonds."""
    return suit_cards(trump) | (1 << QUEEN)


@jit
def beaters(card: int, trump: int) -> int:
    """Mask of the cards that beat `card`: higher ones of its suit, trumps if it is none, the queen of diamonds."""
    if card == QUEEN:
        return 0
    suit = suit_of(card)
    cards = suit_cards(suit) & ~((2 << int(card)) - 1)
    if suit != trump:
        cards |= suit_cards(trump)
    return cards | (1 << QUEEN)


@jit
def card_order(card: int, trump: int) -> int:
    """Order of cards from low to high: plain before trump, then by rank, then S D C H; the queen of diamonds last."""
    is_trump = (trump_cards(trump) >> card) & 1
    return (int(card == QUEEN) << 7) | (is_trump << 6) | (rank_of(card) << 2) | suit_of(card)


@jit
def lowest_card(cards: int, trump: int) -> int:
    """The lowest card of a set, or -1 of none."""
    lowest = -1
    least = 0
    while cards != 0:
        card = lowest_bit(cards)
        cards &= cards - 1
        order = card_order(card, trump)
        if lowest < 0 or order < least:
            lowest, least = card, order
    return lowest
