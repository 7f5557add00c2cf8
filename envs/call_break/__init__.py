"""Call Break: Nepal's trick game. Call the tricks you will take at least; spades are trump, and who can must beat."""

from __future__ import annotations

from envs.call_break import engine, evidence, features, knowledge, players, scoring
from envs.call_break.fields import FIELDS
from envs.call_break.rules import HAND, POINT, PRESETS, SEATS_AT_TABLE, CallBreakRules
from envs.cards import PACK, card_name
from envs.game import Engine, Game
from envs.options import build
from envs.render import trick_table


def action_name(action: int) -> str:
    """Name of an action 0..69: a card, ``bid b``, ``claim``, ``agree``, ``refuse`` or ``pass``."""
    if action < PACK:
        return card_name(action)
    if action < engine.CLAIM_ACTION:
        return f"bid {action - engine.BID_ACTION}"
    return engine.VOTES[action - engine.CLAIM_ACTION]


def worst_round(rules: CallBreakRules) -> float:
    """Minus the most points a seat can score in one round under these rules (-1 with ``reward="win"``)."""
    if rules.reward == "win":
        return -1.0
    record = rules.record()[0]
    sides = 2 if rules.partnerships else 1
    calls = range(sides * rules.min_call, min(HAND, sides * rules.max_call) + 1)
    # Partners who must call more than there are tricks can only lose: then what a call of all would be worth.
    return -max((scoring.score(record, call, HAND) for call in calls), default=HAND * POINT) / POINT


GAME = Game(
    name="call_break",
    title="Call Break",
    state=engine.STATE,
    engine=Engine(
        new_game=engine.new_game,
        deal=engine.deal,
        next_round=engine.next_round,
        legal=engine.legal,
        automatic=engine.automatic,
        step=engine.step,
        rewards=scoring.rewards,
        place=scoring.place,
        statistics=scoring.statistics,
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
    make_rules=lambda preset=None, **options: build(CallBreakRules, PRESETS, preset, options),
    presets=tuple(PRESETS),
    players=(SEATS_AT_TABLE, SEATS_AT_TABLE),
    num_actions=engine.NUM_ACTIONS,
    action_groups={
        "card": range(PACK),
        "bid": range(PACK, engine.CLAIM_ACTION),
        "vote": range(engine.CLAIM_ACTION, engine.NUM_ACTIONS),
    },
    action_name=action_name,
    layout=features.layout,
    state_layout=features.state_layout,
    statistics=scoring.STATISTICS,
    suits=("trump", "hand"),
    rule_players=players.RULE_PLAYERS,
    fields=FIELDS,
    worst_round=worst_round,
    draw=trick_table.render,
    points=float(POINT),
    shares=("made", "missed"),
    forecast=("tricks", 14),
    breakdown=("made", "call"),
    direction="counter-clockwise",
)
