"""Which rules the tests of a game name: statements, options and decisions in docstrings and in the ids of cases."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path


class Citations:
    """What the files ``test_<game>*.py`` beside this one cite, but for their coverage test.

    A citation stands in the docstring of a test, in its name (there in words), or in the id of a case.
    """

    def __init__(self, game: str) -> None:
        self.files = [
            path for path in sorted(Path(__file__).parent.glob(f"test_{game}*.py")) if "coverage" not in path.name
        ]

    @cached_property
    def trees(self) -> list[ast.Module]:
        return [ast.parse(file.read_text(encoding="utf-8")) for file in self.files]

    def _nodes(self) -> Iterator[ast.AST]:
        return (node for tree in self.trees for node in ast.walk(tree))

    def _lines(self) -> Iterator[str]:
        for node in self._nodes():
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield ast.get_docstring(node) or ""
                yield node.name.removeprefix("test_").replace("_", " ")
            elif isinstance(node, ast.keyword) and node.arg in ("id", "ids"):
                constants = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
                yield from (value for value in constants if isinstance(value, str))

    @cached_property
    def text(self) -> str:
        """All citations, on one line each, ranges such as A1.29-A1.32 written out."""
        lines = (" ".join(line.split()) for line in self._lines())
        return "\n".join(re.sub(r"(A\d)\.(\d+)-\1\.(\d+)", _write_out, line) for line in lines)

    @property
    def statements(self) -> set[str]:
        """Numbers of the statements cited."""
        return set(re.findall(r"A[1-4]\.\d+", self.text))

    def has_value(self, value: str) -> bool:
        """Whether an option's value, as ``option=value``, is cited whole."""
        return re.search(rf"(?<!\w){re.escape(value)}(?!\w|\.\d)", self.text) is not None

    def has_words(self, words: str) -> bool:
        """Whether a decision is cited by its words."""
        return words.lower() in self.text.lower()

    @property
    def kinds(self) -> set[str]:
        """Kinds of worked positions that tests are parametrized by, through a function ``cases``."""
        return {
            str(argument.value)
            for node in self._nodes()
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "cases"
            for argument in node.args
            if isinstance(argument, ast.Constant)
        }


def _write_out(span: re.Match[str]) -> str:
    return " ".join(f"{span[1]}.{number}" for number in range(int(span[2]), int(span[3]) + 1))
