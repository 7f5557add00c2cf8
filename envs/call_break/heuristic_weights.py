"""Weights of the rule-based player, fitted to games between copies of it.

`CALL_WEIGHTS` by regression of the tricks taken on what a hand counts, `CARD_WEIGHTS` by logistic regression of whether
a card kept took a trick later, `TASTES` by an evolution strategy on points gained against copies.
"""

from __future__ import annotations

import numpy as np

CALL_WEIGHTS = np.array(
    [  # trump known, not yet known, none
        [0.02, 1.2, 0.61],  # constant
        [0.92, 0, 0],  # trump ace
        [0.82, 0, 0],  # guarded trump king
        [0.57, 0, 0],  # guarded trump queen
        [0.33, 0, 0],  # guarded trump jack
        [0.13, 0, 0],  # trump ten
        [0.26, 0, 0],  # trumps
        [0.3, 0, 0],  # trumps beyond the third
        [0.17, 0, 0],  # trumps beyond the fifth
        [0.08, 0, 0],  # at most one trump
        [0.89, 0.83, 1.1],  # plain aces
        [0.62, 0.65, 0.92],  # kings with their ace
        [0.53, 0.59, 0.92],  # guarded kings
        [0.04, 0.04, 0.05],  # lone kings
        [0.3, 0.37, 0.58],  # guarded queens
        [0.31, 0, 0],  # trumps for a void suit (up to four)
        [0.19, 0, 0],  # for a single card
        [0.07, 0, 0],  # for two cards
        [-0.05, -0.13, 0.08],  # plain cards beyond the fourth of a suit
        [-0.02, 0, 0],  # the same times trumps (up to five)
        [-0.13, 0, 0.29],  # leads
        [-0.1, -0.22, -0.03],  # calls so far, less what is usual
    ]
)
"""Tricks for each thing counted in a hand (`heuristic_calls.count_hand`)."""
CALL_SPREADS = np.array([0.92, 1.17, 1.3])
"""Standard deviation of the tricks taken about those expected: trump known, not yet known, none."""
CARD_WEIGHTS = np.array(
    [  # a plain card, a trump
        [-4.5, -0.34],  # constant
        [2.76, -1.17],  # chance to hold the trick if led now
        [-2.84, -8.6],  # higher cards of the others (shares: x / (1 + x))
        [-1.16, 0.25],  # higher cards of the own hand
        [1.55, -1.06],  # lower cards of the own hand
        [4.54, 0.57],  # cards of the suit that the others hold
        [0.82, 1.33],  # cards left in the own hand, of 13
        [0.84, 5.97],  # own trumps
        [-2.22, 0.57],  # trumps that the others hold
        [-0.16, 0.34],  # short suits of the own hand
        [-1.11, -0.29],  # chance to hold times trumps that the others hold
        [0.18, 0.88],  # lower cards of the own hand times own trumps
    ]
)
"""Log-odds for each thing looked at (`heuristic_hand.describe`)."""
TASTES = np.array(
    [  # the call needs tricks, is made, is lost
        [1, 1, 1],  # chance to take the trick
        [0.86, 1.03, 0.93],  # chance of the card to take a later one
        [0.09, 0.25, 0.08],  # following: last card of a plain suit, with trumps left
        [-0.08, -0.25, -0.02],  # leading a trump
        [-0.21, -0.13, 0.19],  # leading a trump: own trumps (a share)
        [0.21, 0.11, 0.22],  # leading the last card of a plain suit, with trumps left
        [0.22, 0.17, 0.21],  # leading a plain suit: its length (a share)
        [-0.09, 0.17, -0.08],  # chance to take the trick times trumps that the others hold
        [-0.49, -0.34, 0.1],  # leading a plain suit: cards of it that the others hold (a share)
    ]
)
"""What a card is worth now."""
