"""Searches by halving.  Only places that were looked at are returned: what they guarantee needs no search."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

Place = TypeVar("Place", float, Fraction)  # or a number of mpmath's, which has no type
Middle = Callable[[Any, Any], Any]

_STEPS = 200


def halfway(one: Any, other: Any) -> Any:
    return (one + other) / 2


def edge(
    holds: Callable[[Place], bool],
    good: Place,
    bad: Place,
    *,
    halvings: int = _STEPS,
    close: float = 0.0,
    middle: Middle = halfway,
) -> Place:
    """On the way from ``good``, where it holds, to ``bad``, where it does not: the last place where it does.

    ``holds`` was true of what is returned, unless that is ``good``, which is not looked at.  Stops after so
    many halvings, or when both ends are as ``close``, relatively to the smaller one.
    """
    for _ in range(halvings):
        if abs(bad - good) <= close * min(abs(good), abs(bad)):
            break
        between = middle(good, bad)
        good, bad = (between, bad) if holds(between) else (good, between)
    return good


def whole_edge(holds: Callable[[int], bool], good: int, bad: int) -> int:
    """``edge`` for whole numbers: the neighbor of what is returned was looked at, or is ``bad``."""
    while abs(bad - good) > 1:
        between = (good + bad) // 2
        good, bad = (between, bad) if holds(between) else (good, between)
    return good
