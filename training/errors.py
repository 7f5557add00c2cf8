"""Errors that end a command in one line."""

from __future__ import annotations


class AgentError(ValueError):
    """An agent that failed, or answered with what is no legal action in each game; in one line."""
