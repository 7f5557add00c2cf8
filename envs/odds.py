"""Arithmetic of the rule-based players, by tables: the same in both modes, and fast."""

from __future__ import annotations

import math

import numpy as np

from envs.jit import jit

_SPAN, _STEPS = 8, 16
_GRID = range(-_SPAN * _STEPS, _SPAN * _STEPS + 2)
_SIGMOID = 1.0 / (1.0 + np.exp(-np.array(_GRID) / _STEPS))
_NORMAL = np.array([0.5 + 0.5 * math.erf(x / _STEPS / math.sqrt(2.0)) for x in _GRID])


@jit
def sigmoid(logit: float) -> float:
    """Logistic function by a table with linear interpolation, clipped to +-8."""
    at = (min(max(logit, -_SPAN), _SPAN) + _SPAN) * _STEPS
    i = int(at)
    return float(_SIGMOID[i] + (at - i) * (_SIGMOID[i + 1] - _SIGMOID[i]))


@jit
def normal_below(deviations: float) -> float:
    """Chance that a normal distribution falls below its mean plus so many standard deviations; clipped to +-8."""
    at = (min(max(deviations, -_SPAN), _SPAN) + _SPAN) * _STEPS
    i = int(at)
    return float(_NORMAL[i] + (at - i) * (_NORMAL[i + 1] - _NORMAL[i]))


@jit
def share(count: float) -> float:
    """Counts on a scale of 0..1: each further one matters less."""
    return count / (1.0 + count)
