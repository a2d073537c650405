"""The methods that a planner compares: for each a half-width, the noise to add, and the theorem behind it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from adyton.validity.compressibility import rounding_width
from adyton.validity.jlnrss import jlnrss_width
from adyton.validity.joint import MOST, joint_questions, joint_rows, joint_width
from adyton.validity.rrsstw import rrsstw_width
from adyton.validity.search import largest_within, smallest
from adyton.validity.six_epsilon import laplace_width
from adyton.validity.splitting import splitting_width

Certified = tuple[float, float | None]
"""A half-width, and the scale of the noise (of the grid, where answers are rounded) that belongs to it."""
Count = tuple[int, float | None]


@dataclass(frozen=True, slots=True)
class Method:
    """``width`` decides; ``questions`` and ``rows`` only return what it has certified."""

    name: str
    theorem: str
    width: Callable[[int, int, Fraction], Certified | None]

    def questions(self, rows: int, tolerance: Fraction, failure: Fraction) -> Count:
        """The most questions within ``tolerance``, 0 if there are none."""

        def width(k: int) -> float:
            certified = self.width(rows, k, failure)
            return certified[0] if certified else math.inf

        found = largest_within(width, tolerance, MOST)
        return found, self._scale(rows, found, failure) if found else None

    def rows(self, questions: int, tolerance: Fraction, failure: Fraction) -> tuple[int | None, float | None]:
        """The fewest rows for these questions within ``tolerance``; None if even 10**15 are too few."""

        def holds(n: int) -> bool:
            certified = self.width(n, questions, failure)
            return certified is not None and certified[0] <= tolerance

        found = smallest(holds, MOST)
        return found, self._scale(found, questions, failure) if found else None

    def _scale(self, rows: int, questions: int, failure: Fraction) -> float | None:
        certified = self.width(rows, questions, failure)
        return certified[1] if certified else None


class Hinge(Method):
    """Its two inverses have short cuts."""

    __slots__ = ()

    def questions(self, rows: int, tolerance: Fraction, failure: Fraction) -> Count:
        return joint_questions(rows, tolerance, failure)

    def rows(self, questions: int, tolerance: Fraction, failure: Fraction) -> tuple[int | None, float | None]:
        return joint_rows(questions, tolerance, failure)


def _split(rows: int, questions: int, failure: Fraction) -> Certified | None:
    found = splitting_width(rows, questions, failure)
    return (found.tolerance, None) if found else None


def _rounding(rows: int, questions: int, failure: Fraction) -> Certified:
    found = rounding_width(rows, questions, failure)
    return found.tolerance, found.step


def _laplace(rows: int, questions: int, failure: Fraction) -> Certified | None:
    found = laplace_width(rows, questions, failure)
    return (found.tolerance, found.scale) if found else None


def _jlnrss(rows: int, questions: int, failure: Fraction) -> Certified:
    found = jlnrss_width(rows, questions, failure)
    return found.tolerance, found.scale


def _rrsstw(rows: int, questions: int, failure: Fraction) -> Certified:
    found = rrsstw_width(rows, questions, failure)
    return found.tolerance, found.scale


def _hinge(rows: int, questions: int, failure: Fraction) -> Certified:
    found = joint_width(rows, questions, failure)
    return found.tolerance, found.scale


METHODS: tuple[Method, ...] = (
    Method("split", "SAMPLE-SPLITTING", _split),
    Method("rounding", "TRANSCRIPT-COMPRESSION", _rounding),
    Method("laplace", "SIX-EPSILON", _laplace),
    Method("jlnrss", "JLNRSS-TRANSFER", _jlnrss),
    Method("rrsstw", "RRSSTW-MONITOR", _rrsstw),
    Hinge("hinge", "CENTRED-HINGE-JOINT", _hinge),
)
