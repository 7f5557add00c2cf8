"""Card games as reinforcement-learning environments: the rules, and their PettingZoo, Gymnasium and vector faces.

Importing the package registers its games: with PettingZoo as ``taash/kachuful-v0`` and so on, with Gymnasium, where one
seat is the learner's, as ``taash/Kachuful-v0``. Nothing heavy is imported before a game is made.
"""

from __future__ import annotations

GAME_IDS = {
    "taash/kachuful-v0": "envs.kachuful_v0:env",
    "taash/call_break-v0": "envs.call_break_v0:env",
    "taash/kaschlan-v0": "envs.kaschlan_v0:env",
}
"""Entry points of the AEC environments by registered id."""
SEAT_IDS = {
    "taash/Kachuful-v0": "kachuful",
    "taash/CallBreak-v0": "call_break",
    "taash/Kaschlan-v0": "kaschlan",
}
"""Games of the Gymnasium environments by registered id; ``gymnasium.make("envs:taash/Kachuful-v0")`` imports us too."""


def _register() -> None:
    from gymnasium.envs import registration

    for name, game in SEAT_IDS.items():
        if name not in registration.registry:
            registration.register(name, entry_point="envs.single:SingleSeatEnv", kwargs={"game": game})
    try:
        from pettingzoo import aec_registry, register
    except ImportError:  # PettingZoo has a registry since 1.27
        return
    for name, entry_point in GAME_IDS.items():
        if name not in aec_registry:
            register("aec", name, entry_point=entry_point)


_register()
