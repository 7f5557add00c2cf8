"""Settings for all tests."""

from __future__ import annotations

from hypothesis import settings

# The first example of a test may compile the engine, which no deadline should count.
settings.register_profile("taash", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("taash")
