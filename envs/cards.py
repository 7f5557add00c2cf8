"""Cards as numbers, sets of cards as masks, and a random generator both modes agree on.

A card of the 52-card pack is ``suit * 13 + rank`` with suits S D C H (0..3) and ranks 2..A (0..12). A set of cards
is one signed 64-bit integer, bit c standing for card c. Names are rank + suit: ``AS``, ``TD``, ``7H``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from envs.jit import jit, popcount

SUITS = "SDCH"
RANKS = "23456789TJQKA"
PACK = 52
SUIT_SIZE = 13
NO_TRUMP = 4
"""Trump number of a round without trump."""
TRUMPS = "SDCHN"
SUIT_MASK = (1 << SUIT_SIZE) - 1
FULL_PACK = (1 << PACK) - 1
_M32 = 0xFFFFFFFF


def card_name(card: int) -> str:
    """Name of a card number 0..51, for example 12 -> ``AS``."""
    return RANKS[card % SUIT_SIZE] + SUITS[card // SUIT_SIZE]


def card_number(name: str) -> int:
    """Number 0..51 of a card name; ValueError for anything else."""
    if isinstance(name, str) and len(name) == 2:
        rank, suit = RANKS.find(name[0]), SUITS.find(name[1])
        if rank >= 0 and suit >= 0:
            return suit * SUIT_SIZE + rank
    raise ValueError(f"no card {name!r}; cards are rank + suit such as 'AS', 'TD', '7H'")


def mask_of(cards: Iterable[int]) -> int:
    """Set of card numbers as a mask."""
    mask = 0
    for card in cards:
        mask |= 1 << int(card)
    return mask


def cards_of(mask: int) -> list[int]:
    """Card numbers in a mask, ascending."""
    mask = int(mask)
    return [card for card in range(mask.bit_length()) if mask >> card & 1]


def names_of(mask: int) -> list[str]:
    """Names of the cards in a mask, by suit S D C H and rank."""
    return [card_name(card) for card in cards_of(mask)]


@jit
def suit_of(card: int) -> int:
    """Suit 0..3 of a card 0..51."""
    return (int(card) * 79) >> 10  # exact for 0..51 and cheaper than a division


@jit
def rank_of(card: int) -> int:
    """Rank 0..12 of a card 0..51."""
    return int(card) - SUIT_SIZE * suit_of(card)


@jit
def suit_cards(suit: int) -> int:
    """Mask of the thirteen cards of a suit 0..3; 0 for NO_TRUMP."""
    return (SUIT_MASK << (SUIT_SIZE * int(suit))) & FULL_PACK


@jit
def count_in_suit(mask: int, suit: int) -> int:
    """Number of cards of a suit 0..3 in a set."""
    return popcount(int(mask) & suit_cards(suit))


@jit
def mix(x: int) -> int:
    """Scramble a 32-bit integer; a bijection on 0..2**32-1 (constants: C. Wellons, hash prospector, 2018)."""
    x = int(x) & _M32
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & _M32
    x = ((x ^ (x >> 15)) * 0x846CA68B) & _M32
    return x ^ (x >> 16)


@jit
def random_bits(key0: int, key1: int, counter: int) -> int:
    """32 random bits (0..2**32-1), a function of two 32-bit keys and a counter alone.

    A counter instead of a running state: successive draws do not wait for each other, and any draw can be repeated.
    """
    x = (int(key0) + int(counter) * 0x9E3779B9) & _M32
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & _M32
    x = ((x ^ (x >> 15)) + int(key1)) & _M32
    x = (x * 0x846CA68B) & _M32
    return x ^ (x >> 16)


@jit
def random_below(bits: int, n: int) -> int:
    """Map 32 random bits to 0..n-1 (1 <= n <= 2**20; the bias is below n / 2**32)."""
    return (int(bits) * int(n)) >> 32


@jit
def fold(key: int, part: int) -> int:
    """Mix a small integer into a 62-bit key."""
    low = mix((int(key) & _M32) + int(part) * 0x632BE5AB)
    high = mix((int(key) >> 32) ^ low) & 0x3FFFFFFF
    return (high << 32) | low


@jit
def stream_key(seed: int, stream: int, a: int = 0, b: int = 0, c: int = 0) -> int:
    """Key (62 bits) of one of many random streams under a seed (0..2**63-1), told apart by four small integers."""
    return fold(fold(fold(fold(int(seed), stream), a), b), c)


@jit
def shuffle(deck: Any, size: int, key: int) -> None:
    """Fill ``deck[:size]`` with a random permutation of 0..size-1 that depends on the key alone (Fisher-Yates)."""
    key0 = int(key) & _M32
    key1 = int(key) >> 32
    for i in range(size):
        deck[i] = i
    for i in range(size - 1):
        j = i + random_below(random_bits(key0, key1, i), size - i)
        card = deck[i]
        deck[i] = deck[j]
        deck[j] = card
