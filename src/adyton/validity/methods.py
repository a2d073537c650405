"""The methods that a planner compares: for each a half-width, the noise to add, and the theorem behind it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from adyton.arithmetic.search import largest_within, least_within
from adyton.validity.described import described_half_width
from adyton.validity.hinge.joint import joint_queries, joint_rows, joint_width
from adyton.validity.plans.expected import ANYTHING, Expected
from adyton.validity.plans.noise_plan import MOST, Noise, NoisePlan
from adyton.validity.plans.plans import queries_within, rows_needed, within
from adyton.validity.published.compressibility import (
    compressed_width,
    counted_rounding_width,
    rounding_width,
)
from adyton.validity.published.jung import NoisyWidth, jlnrss_width
from adyton.validity.published.rogers import rrsstw_width
from adyton.validity.published.six_epsilon import laplace_width
from adyton.validity.routes import dp_width, expected_width, max_information_width, yes_no_width
from adyton.validity.splitting import exact_splitting_width, expected_splitting_width, splitting_width
from adyton.validity.textbook.accuracy import fixed_width

_YES_NO = "each answer is only yes or no"


class Certified(NamedTuple):
    """The number that was asked for, and the scale of the noise (of the grid, where answers are rounded) that
    belongs to it: of the first query and, where it differs, of the last."""

    value: int | float | None
    scale: float | None = None
    last_scale: float | None = None


Width = Callable[[int, int, Fraction, Expected], Certified | None]
Inverse = Callable[[int, Fraction, Fraction, Expected], Certified]


@dataclass(frozen=True, slots=True)
class Method:
    """``width`` decides; ``queries`` and ``rows`` only return what it has certified.

    ``shares``: only for queries with values 0 and 1.  ``groups``: it knows means over a part of the rows.
    ``applies``: the condition under which it holds, where that is not known to a planner.  ``unlimited``: if
    it certifies any queries it certifies any number, for which the greatest that is looked at stands.
    """

    name: str
    theorem: str
    width: Width
    most_queries: Inverse | None = None
    fewest_rows: Inverse | None = None
    shares: bool = False
    groups: bool = False
    applies: str | None = None
    unlimited: bool = False

    def queries(
        self, rows: int, tolerance: Fraction, failure: Fraction, expected: Expected = ANYTHING
    ) -> Certified:
        """The most queries within ``tolerance``, 0 if there are none."""
        if self.most_queries:
            return self.most_queries(rows, tolerance, failure, expected)

        found = largest_within(lambda k: self._reached(rows, k, failure, expected), tolerance, MOST)
        made = self.width(rows, found, failure, expected) if found else None
        return Certified(found, made.scale if made else None)

    def rows(
        self, queries: int, tolerance: Fraction, failure: Fraction, expected: Expected = ANYTHING
    ) -> Certified:
        """The fewest rows for these queries within ``tolerance``; None if even 10**15 are too few."""
        if self.fewest_rows:
            return self.fewest_rows(queries, tolerance, failure, expected)

        found = least_within(lambda n: self._reached(n, queries, failure, expected), tolerance, MOST)
        made = self.width(found, queries, failure, expected) if found else None
        return Certified(found, made.scale if made else None)

    def _reached(self, rows: int, queries: int, failure: Fraction, expected: Expected) -> float:
        certified = self.width(rows, queries, failure, expected)
        return math.inf if certified is None or certified.value is None else certified.value


def _split(rows: int, queries: int, failure: Fraction, expected: Expected) -> Certified | None:
    known = expected_splitting_width(rows, queries, failure, expected) if expected else None
    if expected.group is not None:
        return Certified(known)
    found = splitting_width(rows, queries, failure)
    return Certified(min(made for made in (found, known) if made)) if found else None


def _exact_split(rows: int, queries: int, failure: Fraction, expected: Expected) -> Certified:
    return Certified(exact_splitting_width(rows, queries, failure, expected.share))


def _rounding(rows: int, queries: int, failure: Fraction, _: Expected) -> Certified:
    found = rounding_width(rows, queries, failure)
    return Certified(found.tolerance, found.step)


def _counted_rounding(rows: int, queries: int, failure: Fraction, _: Expected) -> Certified:
    found = counted_rounding_width(rows, queries, failure)
    return Certified(found.tolerance, found.step)


def _fixed(rows: int, queries: int, failure: Fraction, _: Expected) -> Certified:
    return Certified(fixed_width(rows, queries, failure))


def _forking(rows: int, queries: int, failure: Fraction, _: Expected) -> Certified:
    return Certified(yes_no_width(rows, queries, failure))


def _in_bits(rows: int, queries: int, failure: Fraction, _: Expected) -> Certified:
    """One bit for each answer."""
    return Certified(compressed_width(rows, queries, queries, failure))


def _expected(rows: int, queries: int, _: Fraction, __: Expected) -> Certified:
    found = expected_width(rows, queries)
    return Certified(found.tolerance, found.scale)


def _by(width_of: Callable[[int, int, Fraction], NoisyWidth | None]) -> Width:
    """By a theorem that knows nothing of what is expected."""

    def width(rows: int, queries: int, failure: Fraction, _: Expected) -> Certified | None:
        found = width_of(rows, queries, failure)
        return Certified(found.tolerance, found.scale) if found else None

    return width


def _hinge_queries(rows: int, tolerance: Fraction, failure: Fraction, _: Expected) -> Certified:
    return Certified(*joint_queries(rows, tolerance, failure))


def _hinge_rows(queries: int, tolerance: Fraction, failure: Fraction, _: Expected) -> Certified:
    return Certified(*joint_rows(queries, tolerance, failure))


def _by_subsets(value: float | None, plan: NoisePlan | None) -> Certified:
    if plan is None:
        return Certified(value)
    first, last = plan.scale_of(1), plan.scale_of(plan.queries)
    return Certified(value, first, None if last == first else last)


def _subset(name: str, noise: Noise, *, alike: bool = False) -> Method:
    """``alike``: what was expected of the query that a claim is about is expected of all."""

    def known(expected: Expected) -> Expected:
        return expected.of_all_queries if alike else expected

    def width(rows: int, queries: int, failure: Fraction, expected: Expected) -> Certified | None:
        plan = within(rows, queries, failure, noise, known(expected))
        return _by_subsets(plan.tolerance, plan) if plan else None

    def most(rows: int, tolerance: Fraction, failure: Fraction, expected: Expected) -> Certified:
        plan = queries_within(rows, tolerance, failure, noise, known(expected))
        return _by_subsets(plan.queries if plan else 0, plan)

    def fewest(queries: int, tolerance: Fraction, failure: Fraction, expected: Expected) -> Certified:
        found = rows_needed(queries, tolerance, failure, noise, known(expected))
        return _by_subsets(*found) if found else Certified(None)

    theorem = "PLANNED-NOISE" if noise == "decreasing" else "PLANNED-EXPECTATION"
    return Method(name, theorem, width, most, fewest, groups=True)


def described(nats: float) -> Method:
    """Queries with descriptions of at most so many nats, in a study that describes queries.

    Nothing else that was or will be asked makes a difference, so their number makes none.
    """

    def width(rows: int, _: int, failure: Fraction, expected: Expected) -> Certified:
        return Certified(described_half_width(rows, nats, failure, expected.rarity or 0.5))

    return Method(
        f"described, {nats:g} nats",
        "DESCRIBED-QUERIES",
        width,
        applies=f"each query has a description of at most {nats:g} nats, whatever else is asked; noise comes "
        "on top",
        unlimited=True,
    )


SHORT, LONG = described(12), described(35)
"""Half of the values in the SQL of our tests have about 12 nats or fewer; few have over 35."""

METHODS: tuple[Method, ...] = (
    Method("split", "SAMPLE-SPLITTING", _split, groups=True),
    Method("split, exact", "SAMPLE-SPLITTING", _exact_split, shares=True),
    Method("rounding", "TRANSCRIPT-COMPRESSION", _rounding),
    Method("rounding, counted", "FORKING-PATHS", _counted_rounding),
    Method("dp-generalizes", "LAPLACE-ROUTES", _by(dp_width)),
    Method("max-information", "LAPLACE-ROUTES", _by(max_information_width)),
    Method("laplace", "SIX-EPSILON", _by(laplace_width)),
    Method("jlnrss", "JLNRSS-TRANSFER", _by(jlnrss_width)),
    Method("rrsstw", "RRSSTW-MONITOR", _by(rrsstw_width)),
    Method("hinge", "CENTRED-HINGE-JOINT", _by(joint_width), _hinge_queries, _hinge_rows),
    _subset("subset", "constant"),
    _subset("subset, decreasing", "decreasing"),
)
ALIKE: tuple[Method, ...] = (
    _subset("subset, alike", "constant", alike=True),
    _subset("subset, decreasing, alike", "decreasing", alike=True),
)
"""Where something is expected of the queries."""


ROUTES: tuple[Method, ...] = (
    Method("fixed queries", "FIXED-QUERIES", _fixed, applies="all queries are fixed in advance"),
    Method("forking paths", "FORKING-PATHS", _forking, applies=_YES_NO),
    Method("description length", "TRANSCRIPT-COMPRESSION", _in_bits, applies=_YES_NO),
    Method(
        "stability", "LAPLACE-ROUTES", _expected, applies="an expectation is enough: it has no confidence"
    ),
    SHORT,
    LONG,
)
"""Routes of the textbooks that hold under a condition, or say less: shown beside the others, and never
recommended.  Another one is another line: a name, a theorem, a width, and when it applies."""


def routes_for(expected: Expected) -> tuple[Method, ...]:
    """Those that can say anything about such queries: nothing about means over a part of the rows."""
    return () if expected.group is not None else ROUTES


def methods_for(expected: Expected) -> tuple[Method, ...]:
    """Those that can say anything about such queries."""
    if expected.group is not None:
        return tuple(method for method in METHODS + ALIKE if method.groups)
    return METHODS + ALIKE if expected else METHODS
