"""Settings for all tests."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from hypothesis import settings
from platformdirs import user_cache_dir

# Compiled code is kept in a folder named after the sources in envs. What is compiled for the toy game depends on its
# source too, which lies outside; so tests have folders of their own, chosen before envs is imported.
_TOY = hashlib.sha256((Path(__file__).parent / "toy.py").read_bytes()).hexdigest()[:16]
_BASE = Path(os.environ.get("NUMBA_CACHE_DIR") or user_cache_dir("taash"))
if _BASE.name != f"tests-{_TOY}":
    os.environ["NUMBA_CACHE_DIR"] = str(_BASE / f"tests-{_TOY}")

# The first example of a test may compile the engine, which no deadline should count.
settings.register_profile("taash", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("taash")
