"""Before anything is asked: how many adaptive queries, how exact, from how many rows, by which method.

Of rows, tolerance and queries two are given; every method answers with the third, and with the noise to
use.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from msgspec import UNSET, UnsetType

from adyton.documents import Document
from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, failure_of, positive, rational, whole
from adyton.validity.attack_limit import attack_limit, decreasing_attack_limit
from adyton.validity.methods import Certified, Method, methods_for, routes_for
from adyton.validity.plans.expected import ANYTHING, Expected
from adyton.validity.plans.noise_plan import MOST

HALF = 0.5
"""Who always answers 1/2 is within it: a half-width from here on says nothing."""
Unknown = Literal["queries", "tolerance", "rows"]


def _named(wanted: Unknown) -> Any:
    """The value of an option under the name of what is wanted."""

    def get(self: Any) -> int | float | UnsetType | None:
        return self.value if self.wanted == wanted else UNSET

    return property(get)


class MethodOffer(Document):
    """What one method offers of the number that is wanted."""

    __slots__ = ()
    queries, tolerance, rows = _named("queries"), _named("tolerance"), _named("rows")


@dataclass(frozen=True, slots=True)
class Option(MethodOffer):
    """What one method offers: the wanted number (None: it cannot), and the scale of the noise for it.

    ``last_scale``: of the last query, if the noise decreases.  ``shares``: only if all values are 0 and 1.
    ``applies``: the condition under which a route holds that is shown beside the methods.  ``unlimited``: its
    queries, if there are any, are any number; the greatest that is looked at stands for it.
    """

    method: str
    wanted: Unknown
    value: int | float | None
    scale: float | None
    theorem: str
    last_scale: float | None = None
    shares: bool = False
    applies: str | None = None
    unlimited: bool = False

    json_keys = "method queries? tolerance? rows? scale last_scale? theorem applies?"

    @property
    def offered(self) -> str:
        """The wanted number in words, never better than it is."""
        any_number = self.unlimited and self.wanted == "queries" and self.value
        return "any number" if any_number else in_words(self.value, up=True)

    @property
    def noise(self) -> str:
        """The noise in words: of the first and of the last query, if they differ."""
        first = in_words(self.scale)
        return first if self.last_scale is None else f"{first} .. {in_words(self.last_scale)}"


@dataclass(frozen=True, slots=True)
class PlanComparison(Document):
    """The options side by side, and the one to take: most queries, least tolerance or fewest rows."""

    wanted: Unknown
    rows: int | None
    tolerance: Fraction | None
    queries: int | None
    confidence: Fraction
    options: tuple[Option, ...]
    expected: Expected = ANYTHING
    routes: tuple[Option, ...] = ()  # each holds under a condition, and is never recommended

    json_keys = "rows? tolerance? queries? expected=hopes? confidence methods recommended"

    @property
    def hopes(self) -> dict[str, float]:
        return {name: float(value) for name, value in _hopes(self.expected).items()}

    @property
    def methods(self) -> tuple[Option, ...]:
        return *self.options, *self.routes

    @property
    def recommended(self) -> str | None:
        """The best method for what was expected; None if no method says anything."""
        return self._best(shares=self.expected.share is not None)

    @property
    def recommended_for_shares(self) -> str | None:
        """The best method if all queries count rows: their values are 0 and 1."""
        return self._best(shares=self.expected.group is None)

    def _best(self, *, shares: bool) -> str | None:
        able = [
            option
            for option in self.options
            if option.value
            and (shares or not option.shares)
            and not (self.wanted == "tolerance" and option.value >= HALF)
        ]
        sign = -1 if self.wanted == "queries" else 1
        return min(able, key=lambda option: sign * (option.value or 0)).method if able else None

    def attack_limit(self) -> int | None:
        """With as many queries a known attack breaks the tolerance, whatever the noise.  Not a guarantee."""
        if self.rows is None or self.tolerance is None:
            return None
        return attack_limit(self.rows, self.tolerance, 1 - self.confidence)

    def decreasing_attack_limit(self) -> int | None:
        """The same for plans whose noise decreases."""
        if self.rows is None or self.tolerance is None:
            return None
        return decreasing_attack_limit(self.rows, self.tolerance, 1 - self.confidence)

    @property
    def title(self) -> str:
        """What was given, in words."""
        given = (("rows", self.rows), ("tolerance", self.tolerance), ("queries", self.queries))
        facts = [
            f"{name} {value:,}" if isinstance(value, int) else f"{name} {float(value):.12g}"
            for name, value in given
            if value is not None
        ]
        facts.append(f"confidence {float(self.confidence):.12g}")
        hopes = ", ".join(f"{name} {value:.12g}" for name, value in self.hopes.items())
        return f"Given {', '.join(facts)}" + (f"; expected {hopes}" if hopes else "")

    def __str__(self) -> str:
        lines = [
            f"{'> ' if option.method == self.recommended else '  '}{option.method:<26}"
            f"{option.offered:>16}  noise scale {option.noise:<24}{option.theorem}"
            for option in (*self.options, *self.routes)
        ]
        return "\n".join([f"{self.title}: {self.wanted} of every method", *lines])

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def plan(
    rows: int | None = None,
    tolerance: Number | None = None,
    confidence: Number = "0.95",
    queries: int | None = None,
    *,
    expect_share: Number | None = None,
    spread: Number | None = None,
    group: Number | None = None,
) -> PlanComparison:
    """Compare all methods.  Give exactly two of ``rows``, ``tolerance`` and ``queries``.

    Every number is certified by the method's theorem: a width is rounded up, and a number of queries is
    returned only after its width was found to be within the tolerance.  What is expected, the share that a
    query counts, its standard deviation as a part of the range, the share of the rows that a mean is over,
    chooses the noise and guarantees nothing: where it is wrong, a study's intervals are wider, never wrong.
    """
    failure = failure_of(confidence)
    n = None if rows is None else _counted(rows, "the number of rows")
    k = None if queries is None else _counted(queries, "the number of queries")
    within = None if tolerance is None else _tolerance(tolerance)
    expected = Expected.of(expect_share, spread, group)
    wanted, offer = _task(n, within, k, failure, expected)
    options, routes = (
        tuple(_option(method, wanted, offer(method)) for method in methods)
        for methods in (methods_for(expected), routes_for(expected))
    )
    return PlanComparison(wanted, n, within, k, rational(confidence, "confidence"), options, expected, routes)


def _task(
    n: int | None, within: Fraction | None, k: int | None, failure: Fraction, expected: Expected
) -> tuple[Unknown, Callable[[Method], Certified]]:
    if n is not None and within is not None and k is None:
        rows, limit = n, within
        return "queries", lambda method: method.queries(rows, limit, failure, expected)
    if n is not None and within is None and k is not None:
        rows, asked = n, k
        return "tolerance", lambda method: method.width(rows, asked, failure, expected) or Certified(None)
    if n is None and within is not None and k is not None:
        limit, asked = within, k
        return "rows", lambda method: method.rows(asked, limit, failure, expected)
    raise InvalidRequest("give exactly two of rows, tolerance and queries")


def _option(method: Method, wanted: Unknown, offered: Certified) -> Option:
    able = offered.value is not None and math.isfinite(offered.value)
    value, scale, last_scale = offered if able else Certified(None)
    return Option(
        method.name,
        wanted,
        value,
        scale,
        method.theorem,
        last_scale,
        method.shares,
        method.applies,
        method.unlimited,
    )


def _hopes(expected: Expected) -> dict[str, Fraction]:
    given = (("share", expected.share), ("spread", expected.spread), ("group", expected.group))
    return {name: value for name, value in given if value is not None}


def in_words(value: float | None, *, up: bool = False) -> str:
    """Four digits of what is no whole number; ``up``: never less than it is, as for a certified tolerance."""
    if value is None or isinstance(value, int):
        return "-" if value is None else f"{value:,}"
    shown = f"{value:.4g}"
    if up and Fraction(shown) < Fraction(value):
        shown = f"{value + 10.0 ** (math.floor(math.log10(value)) - 3):.4g}"
    return shown


def _counted(value: int, what: str) -> int:
    if whole(value, what) > MOST:
        raise InvalidRequest(f"{what} must be at most {MOST:,}")
    return value


def _tolerance(value: Number) -> Fraction:
    within = positive(value, "the tolerance")
    if within >= 1:
        raise InvalidRequest("the tolerance must be below 1, the length of the range of an answer")
    return within
