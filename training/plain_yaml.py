"""YAML as people mean it: a game's options use words that YAML takes for booleans, and numbers such as 1e6."""

from __future__ import annotations

import re
from typing import Any

import yaml  # type: ignore[import-untyped]


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """YAML in which only true and false are booleans: `off`, `no` and `N` are names that a game's options use."""


_Loader.yaml_implicit_resolvers = {
    key: [(tag, pattern) for tag, pattern in found if tag not in ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:float")]
    for key, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|false|False)$"), list("tTfF"))
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?$|^[-+]?\.inf$|^\.nan$"),
    list("-+0123456789."),
)


def load_yaml(text: str) -> Any:
    """What a text of YAML says, ``off`` and ``no`` being names; yaml.YAMLError where it is none."""
    return yaml.load(text, _Loader)
