"""Kaschlan: an East-Prussian relative of Durak. Get rid of your cards; whoever is left with some has lost."""

from __future__ import annotations

from envs.game import Engine, Game
from envs.kaschlan import engine, features, knowledge, players, results
from envs.kaschlan.cards import PACK, card_name
from envs.kaschlan.fields import FIELDS
from envs.kaschlan.rules import FEWEST, MOST, PRESETS, KaschlanRules
from envs.options import build
from envs.render import bout_table


def action_name(action: int) -> str:
    """Name of an action 0..32: a card or ``pass``."""
    return card_name(action) if action < PACK else "pass"


GAME = Game(
    name="kaschlan",
    title="Kaschlan",
    state=engine.STATE,
    engine=Engine(
        new_game=engine.new_game,
        deal=engine.deal,
        next_round=engine.next_round,
        legal=engine.legal,
        automatic=engine.automatic,
        step=engine.step,
        rewards=results.rewards,
        place=results.place,
        statistics=results.statistics,
        redact=knowledge.redact,
        prepare_deals=knowledge.prepare_deals,
        determinize=knowledge.determinize,
        features=features.features,
        full_features=features.full_features,
        rule_player=players.rule_player,
    ),
    make_rules=lambda preset=None, **options: build(KaschlanRules, PRESETS, preset, options),
    presets=tuple(PRESETS),
    players=(FEWEST, MOST),
    num_actions=engine.NUM_ACTIONS,
    action_groups={"card": range(PACK), "pass": range(PACK, engine.NUM_ACTIONS)},
    action_name=action_name,
    layout=features.layout,
    state_layout=features.state_layout,
    statistics=results.STATISTICS,
    shares=("lost", "drawn", "truncated"),
    forecast=("place", 6),
    suits=("trump", "D", "hand"),
    rule_players=players.RULE_PLAYERS,
    fields=FIELDS,
    worst_round=lambda rules: -1.0,
    draw=bout_table.render,
    points=None,
)
