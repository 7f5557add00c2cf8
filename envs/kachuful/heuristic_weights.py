"""Weights of the rule-based player's estimates, fitted to playouts of the player itself at tables of 3 to 8 seats.

``WEIGHTS[phase, kind, wish, input]``: the logit of taking a trick with a card (see `heuristic_hand`). Phases: bidding,
then playing with up to 2, 4, 7 and more cards left.
"""

from __future__ import annotations

import numpy as np

PLAIN, TRUMP = range(2)
"""Kinds of card."""
AVOID, TAKE = range(2)
"""What its holder wants."""
(
    CONSTANT,
    CLEAR,  # chance that no higher card of the suit is in another hand
    ABOVE,  # higher cards of the suit in other hands, expected
    PRESSURE,  # tricks that the others want beyond their fair share
    INVERSE_SIZE,  # one over the cards in hand
    HIGHER_OWN,  # own higher cards of the suit
    THIN,  # how soon the others run out of the suit
    SEAT_COUNT,  # players, in eighths
    OWN_TRUMPS,  # part of the hand that is trumps
    RUFFS,  # how likely others trump the suit
    BELOW,  # lower cards of the suit in other hands, expected
    LOWER_OWN,  # own lower cards of the suit
    SHORT_SUITS,  # shortness of the own plain suits
    LEAD,  # whether its holder leads next
) = range(14)

# fmt: off
WEIGHTS = np.array([
    [  # bidding
        [
            [1.43, -0.17, -4.62, -1.06, -2.54, 1.53, 1.92, -1.34, 2.29, -3.50, 1.23, -4.26, -1.70, 0.14],
            [3.02, -1.40, -4.97, -0.69, -1.02, -0.16, -1.90, -1.42, 1.06, -2.20, 0.94, -0.19, 0.73, 0.10],
        ],
        [
            [1.73, 1.00, -5.02, -0.68, -0.91, 0.26, 0.72, -0.81, 0.84, 0.00, 0.39, 1.31, -0.11, -0.06],
            [1.92, 0.30, -4.77, -0.58, -0.28, 2.16, -0.71, -0.09, -0.41, 0.00, 0.66, 1.13, 1.81, -0.18],
        ],
    ],
    [  # up to 2 cards
        [
            [0.19, 0.19, -2.64, -0.37, 5.71, 0.99, -3.89, -1.09, 1.21, -3.45, 1.05, -2.77, -1.61, 2.63],
            [0.64, -0.29, -3.26, -0.18, 3.14, -1.16, -1.35, -2.70, 2.76, -3.60, 1.96, -0.03, -1.90, 2.21],
        ],
        [
            [4.03, 0.28, -5.80, -0.12, -2.33, -0.62, -2.83, 0.71, 2.62, 0.00, -0.77, -0.21, -0.33, 0.94],
            [4.25, -0.30, -6.90, -0.22, -2.14, 0.56, -4.59, 1.31, 1.57, 0.00, -0.89, -0.64, 2.17, 0.38],
        ],
    ],
    [  # up to 4 cards
        [
            [-1.64, 0.19, -0.77, -0.61, 4.64, 0.95, 0.64, -3.40, 1.02, -2.64, 4.53, -2.60, -3.34, 0.20],
            [0.23, -0.80, -2.68, -0.38, 4.85, -2.11, -0.24, -1.61, 4.72, -1.80, 1.59, 0.76, -2.95, 0.22],
        ],
        [
            [4.00, -0.81, -6.95, -0.42, -3.16, -1.49, 2.16, -0.26, 2.01, 0.00, 0.22, 0.74, -2.39, -0.02],
            [3.31, -2.48, -8.30, -0.66, -4.58, 1.17, 2.26, 0.50, 1.27, 0.00, 0.42, -0.56, 1.23, -0.59],
        ],
    ],
    [  # up to 7 cards
        [
            [-1.27, -1.01, -3.17, -0.85, 10.10, 1.09, -0.09, -4.05, 0.42, -2.77, 5.86, -2.43, -3.77, -0.68],
            [3.52, -1.56, -4.69, -0.71, 4.43, -1.48, -5.35, -1.13, 1.28, -0.60, 1.32, -0.10, -1.03, -0.33],
        ],
        [
            [4.28, -1.76, -7.35, -0.55, -3.71, -1.43, 2.32, -0.44, 2.48, 0.00, 0.38, -0.06, -2.00, 0.07],
            [4.45, -2.53, -7.37, -0.55, -5.99, 0.96, 1.00, 0.97, -0.07, 0.00, 0.17, -0.48, 1.62, -0.27],
        ],
    ],
    [  # more cards
        [
            [-3.94, -1.70, -3.73, -1.16, 6.97, 1.58, 3.22, -7.42, 1.34, -3.43, 10.58, -2.18, -3.68, -0.65],
            [3.94, -1.97, -5.43, -0.70, 4.95, -1.02, -5.91, -1.96, 1.46, -1.97, 2.32, -0.29, -0.52, -0.39],
        ],
        [
            [3.06, 0.02, -6.05, -0.56, -2.49, -1.53, 2.56, 0.01, 3.28, 0.00, 0.19, -0.10, -2.63, 0.04],
            [4.44, -2.78, -7.05, -0.50, -5.08, 0.84, 0.78, 1.76, 0.84, 0.00, 0.09, -0.61, 0.42, -0.04],
        ],
    ],
])
# fmt: on
