"""Call Break for PettingZoo: call the tricks you will take at least, under spades as trump (Nepal's trick game).

``env()`` is the environment to use; ``raw_env()`` is the same without checks against wrong use.
"""

from __future__ import annotations

from typing import Any

from envs.aec import RENDER_MODES, TableEnv
from envs.checked import CheckedEnv

__all__ = ["env", "raw_env"]


class raw_env(TableEnv):  # noqa: N801 - PettingZoo's name
    """Call Break without wrappers; an illegal action raises ValueError. Arguments as for `env`."""

    metadata = {"render_modes": list(RENDER_MODES), "name": "call_break_v0", "is_parallelizable": False}  # noqa: RUF012

    def __init__(
        self,
        preset: str | None = None,
        *,
        render_mode: str | None = None,
        pad_seats: bool = False,
        illegal_reward: float | None = None,
        **rules: Any,
    ) -> None:
        super().__init__("call_break", preset, render_mode, pad_seats, illegal_reward, **rules)


def env(
    preset: str | None = None,
    *,
    render_mode: str | None = None,
    pad_seats: bool = False,
    illegal_reward: float | None = None,
    **rules: Any,
) -> CheckedEnv:
    """Call Break as a PettingZoo AEC environment.

    Actions (70): cards 0..51 (suit * 13 + rank; suits S D C H, ranks 2..A), ``bid b`` = 52 + b (b 0..13), ``claim`` =
    66, ``agree`` = 67, ``refuse`` = 68, ``pass`` = 69. One episode is a whole game. Rewards come as each round ends, in
    points.

    Args:
        preset: ``call_break`` (the defaults), ``nine_rounds``, ``partners``, ``pagat``, ``app`` or ``first_lead``; the
            options below override it.
        render_mode: None, ``"ansi"`` (`render` returns text) or ``"human"`` (it prints).
        pad_seats: changes nothing, there are always four seats.
        illegal_reward: reward of a seat that ends the game by an illegal action; default: minus the most that a seat
            can score in one round (-1 with ``reward="win"``).
        **rules: options of the game:

            - ``num_players`` (4): always 4.
            - ``rounds`` (5): at least 1; a tie may add one.
            - ``min_call`` (2), ``max_call`` (13): the range of a call, within 0..13.
            - ``must_beat`` (``"always"``): who follows suit must beat the highest card of it in the trick, if able;
              ``"until_trumped"``, ``"off"``.
            - ``undertrump`` (``"forced"``): void in the led suit, with trumps that cannot beat the highest one in the
              trick, still a trump must be played; ``"free"``: any card.
            - ``spade_lead`` (``"restricted"``): no spade leads to a deal's first trick; ``"free"``.
            - ``trump`` (``"spades"``): ``"first_lead"`` (the suit of a deal's first card) or ``"none"``.
            - ``redeal_total`` (None): calls of four seats that sum to this or less are dealt again.
            - ``bonus_call`` (None): a call of at least this, if made, scores a flat 13.
            - ``partnerships`` (False): seats 0 and 2 against 1 and 3.
            - ``misdeal`` (``"off"``): hands of one suit, or without a spade, are dealt again, ``"auto"`` or by
              ``"vote"``.
            - ``tie`` (``"extra_round"``): the tied seats play one more round; ``"shared"``: they share the win.
            - ``reward`` (``"margin"``): own points minus the others' mean (or the other team's); own ``"score"``;
              ``"win"`` share minus 1/4.

    Raises:
        ValueError: an unknown preset or option, or an impossible value.
    """
    return CheckedEnv(
        raw_env(preset, render_mode=render_mode, pad_seats=pad_seats, illegal_reward=illegal_reward, **rules)
    )
