"""Kachuful for PettingZoo: bid exactly the tricks you will take (the South-Asian Oh Hell).

``env()`` is the environment to use; ``raw_env()`` is the same without checks against wrong use.
"""

from __future__ import annotations

from typing import Any

from envs.aec import RENDER_MODES, TableEnv
from envs.checked import CheckedEnv

__all__ = ["env", "raw_env"]


class raw_env(TableEnv):  # noqa: N801 - PettingZoo's name
    """Kachuful without wrappers; an illegal action raises ValueError. Arguments as for `env`."""

    metadata = {"render_modes": list(RENDER_MODES), "name": "kachuful_v0", "is_parallelizable": False}  # noqa: RUF012

    def __init__(
        self,
        preset: str | None = None,
        *,
        render_mode: str | None = None,
        pad_seats: bool = False,
        illegal_reward: float | None = None,
        **rules: Any,
    ) -> None:
        super().__init__("kachuful", preset, render_mode, pad_seats, illegal_reward, **rules)


def env(
    preset: str | None = None,
    *,
    render_mode: str | None = None,
    pad_seats: bool = False,
    illegal_reward: float | None = None,
    **rules: Any,
) -> CheckedEnv:
    """Kachuful as a PettingZoo AEC environment.

    Actions (89): cards 0..51 (suit * 13 + rank; suits S D C H, ranks 2..A), ``bid b`` = 52 + b and ``blind b`` = 70 + b
    (b 0..17), ``look`` = 88. One episode is a whole game. Rewards come as each round ends, in points.

    Args:
        preset: ``kachuful`` (the defaults), ``kachufol``, ``judgement``, ``blackout``, ``progressive``, ``double`` or
            ``sun``; the options below override it.
        render_mode: None, ``"ansi"`` (`render` returns text) or ``"human"`` (it prints).
        pad_seats: lay observations out for eight seats, whatever the number of players.
        illegal_reward: reward of a seat that ends the game by an illegal action; default: minus the most that a seat
            can score in one round (-1 with ``reward="win"``).
        **rules: options of the game:

            - ``num_players`` (4): 3..8.
            - ``max_hand`` (None): largest hand, an integer up to 52 // n; ``"full"`` is 52 // n, None min(10, 52 // n).
            - ``min_hand`` (1): smallest hand, where the schedule turns.
            - ``schedule`` (``"down_up"``): hand sizes 10..1..10; ``"up_down"`` 1..10..1, ``"down"``, ``"up"``.
            - ``cycles`` (1): how often the schedule is played.
            - ``trump`` (``"SDCH"``): a cycle of letters S D C H N (N: no trump), or ``"turn_up"``.
            - ``no_trump_every`` (0): every k-th round has no trump.
            - ``hook`` (True): the last bidder may not bring the sum of the bids to the hand size.
            - ``blind`` (``"off"``): bids before looking at the hand, ``"optional"`` or ``"forced"``.
            - ``blind_doubles`` (``"score"``): an exact blind bid doubles the whole score; ``"bonus"`` only the 10.
            - ``single_card`` (``"normal"``): rounds of one card, ``"forehead"`` or ``"face_down"``.
            - ``revoke`` (``"masked"``): ``"penalty"`` allows not to follow suit, at the price of the round's points.
            - ``scoring`` (``"ten_plus_bid"``): ``"ten_times_bid_plus_ten"``, ``"minus_difference"``,
              ``"trick_plus_bonus"`` or ``"judgement"``.
            - ``reward`` (``"margin"``): own points minus the others' mean; own ``"score"``; ``"win"`` share minus 1/n.

    Raises:
        ValueError: an unknown preset or option, or an impossible value.
    """
    return CheckedEnv(
        raw_env(preset, render_mode=render_mode, pad_seats=pad_seats, illegal_reward=illegal_reward, **rules)
    )
