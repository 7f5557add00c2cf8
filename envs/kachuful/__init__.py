"""Kachuful: the South-Asian Oh Hell. Bid your exact tricks; trump rotates Kari-Chukat-Falli-Lal (S D C H)."""

from __future__ import annotations

import numpy as np

from envs.cards import PACK, card_name
from envs.game import Engine, Game
from envs.kachuful import engine, evidence, features, knowledge, players
from envs.kachuful.fields import FIELDS
from envs.kachuful.rules import PRESETS, KachufulRules
from envs.options import build
from envs.render import trick_table


def action_name(action: int) -> str:
    """Name of an action 0..88: a card, ``bid b``, ``blind b`` or ``look``."""
    if action < PACK:
        return card_name(action)
    if action < engine.BLIND_ACTION:
        return f"bid {action - engine.BID_ACTION}"
    return "look" if action == engine.LOOK_ACTION else f"blind {action - engine.BLIND_ACTION}"


def worst_round(rules: KachufulRules) -> float:
    """Minus the most a seat can score in one round under these rules (-1 with ``reward="win"``)."""
    if rules.reward == "win":
        return -1.0
    record, state = rules.record()[0], np.zeros(1, engine.STATE)[0]
    most = 0
    for size in range(rules.min_hand, rules.largest_hand + 1):
        state["hand_size"] = size
        blind = rules.blind != "off" and not engine.is_hidden_round(state, record)
        most = max(most, *(engine.score(record, bid, bid, blind) for bid in range(size + 1)))
    return -float(most)


GAME = Game(
    name="kachuful",
    title="Kachuful",
    state=engine.STATE,
    engine=Engine(
        new_game=engine.new_game,
        deal=engine.deal,
        next_round=engine.next_round,
        legal=engine.legal,
        automatic=engine.automatic,
        step=engine.step,
        rewards=engine.rewards,
        place=engine.place,
        statistics=engine.statistics,
        redact=knowledge.redact,
        prepare_deals=knowledge.prepare_deals,
        determinize=knowledge.determinize,
        features=features.features,
        full_features=features.full_features,
        rule_player=players.rule_player,
        left=engine.left,
        past=evidence.past,
        judge=evidence.judge,
        exchange=knowledge.exchange,
    ),
    make_rules=lambda preset=None, **options: build(KachufulRules, PRESETS, preset, options),
    presets=tuple(PRESETS),
    players=(3, 8),
    num_actions=engine.NUM_ACTIONS,
    action_groups={"card": range(PACK), "bid": range(PACK, engine.NUM_ACTIONS)},
    action_name=action_name,
    layout=features.layout,
    state_layout=features.state_layout,
    statistics=engine.STATISTICS,
    shares=("exact", "over", "under"),
    forecast=("tricks", PACK // 3 + 1),
    breakdown=("exact", "bid"),
    suits=("trump", "hand"),
    rule_players=players.RULE_PLAYERS,
    fields=FIELDS,
    worst_round=worst_round,
    draw=trick_table.render,
)
