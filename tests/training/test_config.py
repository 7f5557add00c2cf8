"""Settings from YAML and the command line, and what is said about wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest
import toy

from training.config import Config, ConfigError, make_parser, parse_config, read_config

ROOT = Path(__file__).parents[2]


def parse(*arguments: str) -> Config:
    return parse_config(make_parser(), arguments)[0]


def message(*arguments: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(*arguments)
    text = str(caught.value)
    assert "\n" not in text
    return text


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "some.yaml"
    path.write_text(text)
    return str(path)


def test_defaults() -> None:
    config = parse()
    assert config == Config()
    assert config.network.precision in ("float32", "bfloat16")


def test_the_line_overrides_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "seed: 3\nrules: {num_players: 5, max_hand: full}\nppo: {learning_rate: 1e-4}\n")
    config = parse("--config", path, "--rules.num_players", "6", "--ppo.epochs=2", "--network.hidden", "[8, 9]")
    assert (config.seed, config.ppo.learning_rate, config.ppo.epochs) == (3, 1e-4, 2)
    assert config.rules == {"num_players": 6, "max_hand": "full"}
    assert config.network.hidden == [8, 9]


def test_words_that_older_yaml_takes_for_booleans() -> None:
    config = parse("--rules.blind", "off", "--rules.trump", "N", "--rules.hook", "false")
    assert config.rules == {"blind": "off", "trump": "N", "hook": False}


def test_one_entropy_for_each_group() -> None:
    assert parse("--ppo.entropy.bid", "0.1", "--ppo.entropy.card", "0").ppo.entropy == {"bid": 0.1, "card": 0.0}


def test_other_games_have_their_own_names() -> None:
    assert toy.GAME.name == "toy"
    config = parse("--game", "toy", "--rollout.opponents", '{"lowest": 1}', "--ppo.entropy.card", "0.1")
    assert config.rollout.opponents == {"lowest": 1.0}
    assert "no player 'counting' in Toy" in message("--game", "toy", "--rollout.opponents.counting", "1")
    assert "no option 'max_hand'" in message("--game", "toy", "--rules.max_hand", "1")


def test_yaml_round_trip(tmp_path: Path) -> None:
    config = parse(
        "--rules.blind", "off", "--ppo.entropy.bid", "1e-5", "--ppo.entropy.card", "0", "--run.minutes", "2.5"
    )
    assert read_config(written(tmp_path, config.to_yaml())) == config


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.yaml")), ids=lambda path: path.name)
def test_the_files_in_configs_are_possible(path: Path) -> None:
    read_config(path)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("--game chess", "no game 'chess'"),
        ("--foo 1", "no option --foo"),
        ("--ppo.epoch 1", "no option --ppo.epoch; did you mean '--ppo.epochs'?"),
        ("stray", "unexpected argument 'stray'"),
        ("--ppo.epochs", "argument --ppo.epochs: expected one argument"),
        ("--ppo.epochs 1.5", "option ppo.epochs=1.5 is not possible: it must be an integer"),
        ("--ppo.epochs 0", "ppo.epochs=0 is not possible: ppo.epochs must be an integer of at least 1"),
        ("--ppo.learning_rate x", "ppo.learning_rate=x is not possible: it must be a number"),
        ("--ppo.learning_rate nan", "ppo.learning_rate=nan"),
        ("--ppo.learning_rate -1", "ppo.learning_rate must be more than 0"),
        ("--rollout.rule_playouts -1", "rollout.rule_playouts must be an integer of at least 0"),
        ("--ppo.warmup -1", "ppo.warmup=-1 is not possible: ppo.warmup must be an integer of at least 0"),
        ("--ppo.gae_lambda 1.5", "ppo.gae_lambda must be at least 0 and at most 1"),
        ("--ppo.entropy x", "it must be a number or a mapping"),
        ("--ppo.entropy.bid 1", "it must be a number, or one for each of bid, card"),
        ("--ppo.minibatches 7", "it must divide rollout.steps, which is"),
        ("--network.precision half", "it must be one of 'auto', 'float32', 'bfloat16'"),
        ("--network.hidden 3", "it must be a list"),
        ("--network.hidden []", "it must name at least one layer"),
        ("--network.hidden [0]", "network.hidden must be an integer of at least 1"),
        ("--rollout.tables 0", "rollout.tables must be an integer of at least 1"),
        ("--rollout.opponents.cuonting 1", "no player 'cuonting' in Kachuful"),
        ("--run.minutes x", "it must be a number or null"),
        ("--run.minutes 0", "run.minutes must be more than 0"),
        ("--rules 3", "it must be a mapping"),
        ("--rules.num_players 9", "rules: option num_players=9 is not possible"),
        ("--rules.max_hant 3", "rules: no option 'max_hant'; did you mean 'max_hand'?"),
        ("--rules.preset moon", "rules: no preset 'moon'"),
        ("--seed -1", "seed must be an integer from 0"),
        ("--config nowhere.yaml", "no file nowhere.yaml"),
    ],
)
def test_wrong_lines(arguments: str, text: str) -> None:
    assert text in message(*arguments.split())


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", "holds no settings"),
        ("- 1", "holds no settings"),
        ("rules: {a: [", "cannot be read as YAML"),
        ("\0", "cannot be read as YAML"),
        ("ppo: 3", "ppo=3 is not possible: it must be a section"),
        ("pppo: {}", "no setting 'pppo'; did you mean 'ppo'?"),
        ("ppo: {learning_rat: 1}", "no setting 'ppo.learning_rat'; did you mean 'ppo.learning_rate'?"),
        ("ppo: {learning_rate: fast}", "ppo.learning_rate=fast is not possible: it must be a number"),
        ("1: 2", "no setting 1"),
    ],
)
def test_wrong_files(tmp_path: Path, content: str, text: str) -> None:
    found = message("--config", written(tmp_path, content))
    assert text in found
    assert "some.yaml" in found
