"""What a table of certified values is made of: computations, the arguments they are tried at, and which side is
dangerous.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

Danger = Literal["smaller", "larger", "either"]
Arguments = dict[str, Any]

_SHORT = 24  # characters


@dataclass(frozen=True)
class Certified:
    """``danger``: on which side of the truth the value would be a broken guarantee.

    A width, an epsilon or a price is dangerous if it is smaller; how many queries are certified, or what a study
    allows, if it is larger; a sensitivity is exact, and any other value is wrong.
    """

    name: str
    danger: Danger
    compute: Callable[..., Any]
    tried_at: tuple[Arguments, ...]

    def value(self, arguments: Arguments) -> int | float | str:
        """As JSON holds it; a rational number as text while that is short, and otherwise as the nearest float."""
        found = self.compute(**{name: _read(value) for name, value in arguments.items()})
        if isinstance(found, Fraction) and len(str(found)) <= _SHORT:
            return str(found)
        return int(found) if isinstance(found, int) else float(found)


def never_smaller(name: str, compute: Callable[..., Any], *tried_at: Arguments) -> Certified:
    return Certified(name, "smaller", compute, tried_at)


def never_larger(name: str, compute: Callable[..., Any], *tried_at: Arguments) -> Certified:
    return Certified(name, "larger", compute, tried_at)


def exact(name: str, compute: Callable[..., Any], *tried_at: Arguments) -> Certified:
    return Certified(name, "either", compute, tried_at)


def _read(value: Any) -> Any:
    """A text that is a number is meant exactly."""
    if isinstance(value, list):
        return tuple(_read(part) for part in value)
    try:
        return Fraction(value) if isinstance(value, str) else value
    except ValueError:
        return value
