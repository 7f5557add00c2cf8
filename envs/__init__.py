"""Card games as reinforcement-learning environments: the rules, and their PettingZoo and vector faces.

Importing the package registers its games with PettingZoo, as ``taash/kachuful-v0`` and so on. Nothing heavy is imported
before a game is made.
"""

from __future__ import annotations

GAME_IDS = {"taash/kachuful-v0": "envs.kachuful_v0:env"}
"""Entry points of the AEC environments by registered id."""


def _register() -> None:
    try:
        from pettingzoo import aec_registry, register
    except ImportError:  # PettingZoo has a registry since 1.27
        return
    for name, entry_point in GAME_IDS.items():
        if name not in aec_registry:
            register("aec", name, entry_point=entry_point)


_register()
