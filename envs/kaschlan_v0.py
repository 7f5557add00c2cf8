"""Kaschlan for PettingZoo: get rid of your cards, whoever is left with some has lost (a relative of Durak).

``env()`` is the environment to use; ``raw_env()`` is the same without checks against wrong use.
"""

from __future__ import annotations

from typing import Any

from envs.aec import RENDER_MODES, TableEnv
from envs.checked import CheckedEnv

__all__ = ["env", "raw_env"]


class raw_env(TableEnv):  # noqa: N801 - PettingZoo's name
    """Kaschlan without wrappers; an illegal action raises ValueError. Arguments as for `env`."""

    metadata = {"render_modes": list(RENDER_MODES), "name": "kaschlan_v0", "is_parallelizable": False}  # noqa: RUF012

    def __init__(
        self,
        preset: str | None = None,
        *,
        render_mode: str | None = None,
        pad_seats: bool = False,
        illegal_reward: float | None = None,
        **rules: Any,
    ) -> None:
        super().__init__("kaschlan", preset, render_mode, pad_seats, illegal_reward, **rules)


def env(
    preset: str | None = None,
    *,
    render_mode: str | None = None,
    pad_seats: bool = False,
    illegal_reward: float | None = None,
    **rules: Any,
) -> CheckedEnv:
    """Kaschlan as a PettingZoo AEC environment.

    Actions (33): cards 0..31 (suit * 8 + rank; suits S D C H, ranks 7 8 9 T J Q K A), ``pass`` = 32. One episode is a
    whole game; the only rewards come at its end. A seat that has left is skipped, all seats end together.

    Args:
        preset: ``kaschlan`` (the defaults); the options below override it.
        render_mode: None, ``"ansi"`` (`render` returns text) or ``"human"`` (it prints).
        pad_seats: lay observations out for five seats, whatever the number of players.
        illegal_reward: reward of a seat that ends the game by an illegal action; default: -1.
        **rules: options of the game:

            - ``num_players`` (4): 2..5.
            - ``trump_card`` (``"bottom"``): the card turned up for trump is drawn last, or first (``"top"``).
            - ``kutscher_opens_rank`` (False): cards of the Kutscher's rank may be thrown too.
            - ``pickup`` (``"unbeaten"``): a defender who leaves a card takes those unbeaten, or ``"all"`` of the bout.
            - ``must_beat`` (False): a card may be left only by a hand that cannot beat it.
            - ``attacker_out`` (``"predecessor"``): the seat before an attacker who is out attacks the same defender;
              ``"defender_attacks"``: the usual succession.
            - ``payoff`` (``"loser"``): the loser -1, the others 1/(n-1), draw 0; ``"places"``: evenly spaced from 1
              (first out) to -1.
            - ``max_bouts`` (100): a game of so many bouts is truncated, with 0 for everyone.

    Raises:
        ValueError: an unknown preset or option, or an impossible value.
    """
    return CheckedEnv(
        raw_env(preset, render_mode=render_mode, pad_seats=pad_seats, illegal_reward=illegal_reward, **rules)
    )
