"""A toy game without bids and trump, made from nothing but the contract of `envs.game`.

Twelve cards (four suits of three ranks, card = suit * 3 + rank) are dealt to three or four seats. Suit must be followed
where possible; the highest card of the led suit wins the trick, and each trick scores a point. Two rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from envs.cards import mask_of, shuffle
from envs.fields import Card, Field, Fields, Integer, ListOf, PerSeat, Seat, Tuple, claim_cards, common_fields, mismatch
from envs.game import COMMON_FIELDS, GAME_OVER, GAMES, OVER, ROUND_OVER, SEATS, Engine, Game
from envs.jit import jit, local_array, lowest_bit, popcount
from envs.layout import Block, Layout, one_hot, put8, put32, put_last, thermometer
from envs.options import build as build_rules
from envs.options import check_choice, check_int
from envs.render import trick_table
from envs.sampling import MAX_ROWS, draw, prepare
from envs.tricks import deal_key, first_dealer, next_seat, place_by_score

PLAY = 1
DECK = 12
SUIT = 3
ALL = (1 << DECK) - 1

STATE = np.dtype(
    [
        *COMMON_FIELDS,
        ("hands", np.int64, (SEATS,)),
        ("played", np.int64, (SEATS,)),
        ("tricks", np.int8, (SEATS,)),
        ("voids", np.int8, (SEATS,)),
        ("leader", np.int8),
        ("size", np.int8),  # cards in the current trick
        ("cards", np.int8, (SEATS,)),  # those cards, in order
    ]
)
RULES = np.dtype([("num_players", np.int8), ("rounds", np.int8), ("margin", np.int8)])


@dataclass(frozen=True)
class ToyRules:
    num_players: int = 4
    rounds: int = 2
    reward: str = "score"

    def __post_init__(self) -> None:
        check_int("num_players", self.num_players, 3, 4)
        check_int("rounds", self.rounds, 1, 9)
        check_choice("reward", self.reward, ("score", "margin"))

    def record(self) -> np.ndarray:
        return np.array([(self.num_players, self.rounds, self.reward == "margin")], RULES)


@jit
def suit_mask(suit: int) -> int:
    return 7 << (SUIT * int(suit))


@jit
def deal(state: Any, rules: Any, deck: Any) -> None:
    n = int(rules["num_players"])
    for seat in range(SEATS):
        state["hands"][seat] = 0
        state["played"][seat] = 0
        state["tricks"][seat] = 0
        state["voids"][seat] = 0
        state["cards"][seat] = -1
    for i in range(DECK):
        state["hands"][i % n] |= 1 << int(deck[i])
    state["leader"] = next_seat(int(state["dealer"]), n)
    state["turn"] = state["leader"]
    state["size"] = 0
    state["phase"] = PLAY


@jit
def _shuffle_and_deal(state: Any, rules: Any) -> None:
    deck = local_array(DECK, np.int8)
    shuffle(deck, DECK, deal_key(int(state["seed"]), int(state["game"]), int(state["round"]), 0))
    deal(state, rules, deck)


@jit
def new_game(state: Any, rules: Any, dealer: int) -> None:
    n = int(rules["num_players"])
    state["round"] = 0
    state["moves"] = 0
    state["finished"] = 0
    for seat in range(SEATS):
        state["scores"][seat] = 0
        state["gained"][seat] = 0
    state["dealer"] = dealer if dealer >= 0 else first_dealer(int(state["seed"]), int(state["game"]), n)
    _shuffle_and_deal(state, rules)


@jit
def next_round(state: Any, rules: Any) -> None:
    state["round"] += 1
    state["dealer"] = next_seat(int(state["dealer"]), int(rules["num_players"]))
    _shuffle_and_deal(state, rules)


@jit
def legal(state: Any, rules: Any) -> tuple[int, int]:
    if int(state["phase"]) != PLAY:
        return 0, 0
    hand = int(state["hands"][int(state["turn"])])
    if int(state["size"]) > 0:
        same = hand & suit_mask(int(state["cards"][0]) // SUIT)
        hand = same if same != 0 else hand
    return hand, 0


@jit
def automatic(state: Any, rules: Any) -> int:
    """The last trick of a round plays itself, but for its first card."""
    if int(state["phase"]) == PLAY and int(state["size"]) > 0:
        hand = int(state["hands"][int(state["turn"])])
        if popcount(hand) == 1:
            return lowest_bit(hand)
    return -1


@jit
def step(state: Any, rules: Any, action: int) -> int:
    n = int(rules["num_players"])
    seat = int(state["turn"])
    size = int(state["size"])
    state["moves"] += 1
    state["hands"][seat] &= ~(1 << action)
    state["played"][seat] |= 1 << action
    state["cards"][size] = action
    led = int(state["cards"][0]) // SUIT
    if action // SUIT != led:
        state["voids"][seat] |= 1 << led
    if size + 1 < n:
        state["size"] = size + 1
        state["turn"] = next_seat(seat, n)
        return 0
    best = 0
    for i in range(1, n):
        card = int(state["cards"][i])
        if card // SUIT == led and card > int(state["cards"][best]):
            best = i
    winner = (int(state["leader"]) + best) % n
    state["tricks"][winner] += 1
    state["leader"] = winner
    state["turn"] = winner
    state["size"] = 0
    if int(state["hands"][seat]) != 0:
        return 0
    for other in range(n):
        state["gained"][other] = state["tricks"][other]
        state["scores"][other] += state["tricks"][other]
    state["phase"] = OVER
    state["turn"] = -1
    if int(state["round"]) + 1 < int(rules["rounds"]):
        return ROUND_OVER
    state["finished"] = 1
    return ROUND_OVER | GAME_OVER


@jit
def rewards(state: Any, rules: Any, flags: int, out: Any) -> None:
    n = int(rules["num_players"])
    for seat in range(n):
        own = int(state["gained"][seat])
        out[seat] = own - (DECK // n - own) / (n - 1) if int(rules["margin"]) else own


@jit
def place(state: Any, rules: Any, seat: int) -> int:
    return place_by_score(state["scores"], seat, int(rules["num_players"]))


@jit
def statistics(state: Any, rules: Any, seat: int, out: Any) -> None:
    out[0] = int(state["gained"][seat])


@jit
def redact(state: Any, rules: Any, seat: int) -> None:
    for other in range(int(rules["num_players"])):
        if other != seat:
            state["hands"][other] = 0
    state["seed"] = 0
    state["game"] = 0


@jit
def prepare_deals(state: Any, rules: Any, seat: int, plan: Any) -> bool:
    n = int(rules["num_players"])
    quotas = local_array(MAX_ROWS, np.int64)
    allowed = local_array(MAX_ROWS, np.int64)
    quotas[:] = 0
    allowed[:] = 0
    unseen = ALL & ~int(state["hands"][seat])
    row = 0
    for other in range(n):
        unseen &= ~int(state["played"][other])
        if other != seat:
            quotas[row] = DECK // n - popcount(int(state["played"][other]))
            cards = ALL
            for suit in range(4):
                if (int(state["voids"][other]) >> suit) & 1:
                    cards &= ~suit_mask(suit)
            allowed[row] = cards
            row += 1
    return prepare(unseen, quotas, allowed, row, plan)


@jit
def determinize(state: Any, rules: Any, seat: int, plan: Any, key: int) -> None:
    hands = local_array(MAX_ROWS, np.int64)
    hands[:] = 0
    draw(plan, int(key) & 0xFFFFFFFF, int(key) >> 32, 0, hands)
    row = 0
    for other in range(int(rules["num_players"])):
        if other != seat:
            state["hands"][other] = hands[row]
            row += 1


@jit
def features(state: Any, rules: Any, seat: int, wide: bool, out: Any, at: int) -> int:
    n = int(rules["num_players"])
    trick = 0
    for i in range(int(state["size"])):
        trick |= 1 << int(state["cards"][i])
    at = put32(out, at, int(state["hands"][seat]), DECK)
    for i in range(4 if wide else n):
        other = (seat + i) % n
        at = put32(out, at, int(state["played"][other]) if i < n else 0, DECK)
        at = put8(out, at, thermometer(int(state["tricks"][other]), 4) if i < n else 0, 4)
    at = put8(out, at, one_hot(int(state["cards"][0]) // SUIT if trick else -1, 4), 4)
    return put_last(out, at, trick, DECK)


@jit
def full_features(state: Any, rules: Any, seat: int, wide: bool, out: Any, at: int) -> int:
    n = int(rules["num_players"])
    at = features(state, rules, seat, wide, out, at)
    for i in range(1, 4 if wide else n):
        at = put_last(out, at, int(state["hands"][(seat + i) % n]) if i < n else 0, DECK)
    return at


@jit
def rule_player(state: Any, rules: Any, kind: int) -> int:
    return lowest_bit(legal(state, rules)[0])


@jit
def left(state: Any, rules: Any) -> int:
    cards = 0
    for seat in range(int(rules["num_players"])):
        cards += popcount(int(state["hands"][seat]))
    return cards


def card_name(card: int) -> str:
    return "JQK"[card % SUIT] + "SDCH"[card // SUIT]


def card_number(name: str) -> int:
    names = [card_name(card) for card in range(DECK)]
    if name not in names:
        raise ValueError(f"no card {name!r}; cards are {', '.join(names)}")
    return names.index(name)


def layout(num_players: int, wide: bool) -> Layout:
    cards = tuple(card_name(card) for card in range(DECK))
    blocks = [Block("hand", cards)]
    for i in range(4 if wide else num_players):
        blocks += [Block(f"seen+{i}", cards), Block(f"won+{i}", tuple("1234"))]
    return Layout((*blocks, Block("led", tuple("SDCH")), Block("trick", cards)))


def state_layout(num_players: int, wide: bool) -> Layout:
    cards = tuple(card_name(card) for card in range(DECK))
    hands = [Block(f"holds+{i}", cards) for i in range(1, 4 if wide else num_players)]
    return Layout((*layout(num_players, wide).blocks, *hands))


def _read_trick(state: Any, seats: int) -> list[tuple[int, int]]:
    return [((int(state["leader"]) + i) % seats, int(state["cards"][i])) for i in range(int(state["size"]))]


def _build(states: Any, rules: Any, given: dict[str, Any]) -> None:
    """Positions that give all hands and what was played, or nothing but the round, the dealer and the scores."""
    state, record, n = states[0], rules.record()[0], rules.num_players
    state["round"] = given.get("round", 0)
    state["dealer"] = given.get("dealer", state["dealer"])
    _shuffle_and_deal(state, record)
    for seat, score in enumerate(given.get("scores", ())):
        state["scores"][seat] = score
    if "hands" in given:
        owners: dict[int, str] = {}
        for key in ("hands", "seen"):
            for seat, cards in enumerate(given.get(key, [0] * n)):
                claim_cards([card for card in range(DECK) if cards >> card & 1], f"{key}[{seat}]", owners, card_name)
                state["hands" if key == "hands" else "played"][seat] = cards
        if mask_of(owners) != ALL:
            raise mismatch("hands", "with seen they must hold all twelve cards")
    for seat in range(n):
        state["tricks"][seat] = given.get("tricks", [0] * n)[seat]
        state["voids"][seat] = given.get("voids", [0] * n)[seat]
    trick = given.get("trick", [])
    state["leader"] = given.get("leader", trick[0][0] if trick else state["leader"])
    state["size"] = len(trick)
    for i, (_, card) in enumerate(trick):
        state["cards"][i] = card
    state["turn"] = (int(state["leader"]) + len(trick)) % n
    if given.get("finished"):
        state["turn"], state["phase"], state["finished"] = -1, OVER, 1


_CARD = Card(card_name, card_number)


class _Hand:
    """All cards of a hand, as names."""

    def encode(self, value: Any, seats: int) -> Any:
        return [card_name(card) for card in range(DECK) if int(value) >> card & 1]

    def decode(self, value: Any, seats: int, where: str) -> Any:
        return mask_of(_CARD.decode(name, seats, where) for name in value)


FIELDS = Fields(
    "toy",
    (
        *common_fields(("play",), _CARD),
        Field("tricks", PerSeat(Integer(0, 4))),
        Field("voids", PerSeat(Integer(0, 15))),
        Field("leader", Seat()),
        Field("trick", ListOf(Tuple((Seat(), _CARD), "[seat, card]"), "[seat, card] pairs"), _read_trick),
        Field("seen", PerSeat(_Hand()), lambda state, seats: state["played"]),
    ),
    _build,
)

GAME = Game(
    name="toy",
    title="Toy",
    state=STATE,
    engine=Engine(
        new_game=new_game,
        deal=deal,
        next_round=next_round,
        legal=legal,
        automatic=automatic,
        step=step,
        rewards=rewards,
        place=place,
        statistics=statistics,
        redact=redact,
        prepare_deals=prepare_deals,
        determinize=determinize,
        features=features,
        full_features=full_features,
        rule_player=rule_player,
        left=left,
    ),
    make_rules=lambda preset=None, **options: build_rules(ToyRules, {}, preset, options),
    presets=(),
    players=(3, 4),
    num_actions=DECK,
    action_groups={"card": range(DECK)},
    action_name=card_name,
    layout=layout,
    state_layout=state_layout,
    statistics=("points",),
    rule_players=("lowest",),
    fields=FIELDS,
    worst_round=lambda rules: -float(DECK // rules.num_players),
    draw=trick_table.render,
)
GAMES["toy"] = f"{__name__}:GAME"
