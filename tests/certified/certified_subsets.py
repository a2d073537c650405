"""Widths by subsets, thresholds of p-values, and plans: every certified computation of
``adyton.validity.subset`` and the planner.
"""

# ruff: noqa: C408  (arguments are named as in a call)

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from adyton.kernel.privacy import PureCost
from adyton.validity.last_look.best import routes_after
from adyton.validity.last_look.leakage import comparisons_nats, geometric_rate, pure_distance
from adyton.validity.last_look.told import NoisyIntegers, ReleasedTotals
from adyton.validity.methods import METHODS
from adyton.validity.planner import plan
from adyton.validity.plans.expected import Expected
from adyton.validity.plans.plans import queries_within, rows_needed, within
from adyton.validity.plans.study_plans import StudyPlan, planned_study
from adyton.validity.subset.last_look import p_value_threshold
from adyton.validity.subset.tails import Before, gaussian_price, largest_normal, pure_price, ways_after
from adyton.validity.subset.widths import (
    greatest_share,
    least_share,
    price_of,
    rough_variance_width,
    variance_width,
)
from certified import Certified, never_larger, never_smaller
from literature.every_function import every_function_width, information_bound
from support.shorthands import paid_threshold, worth

TWENTIETH = "1/20"


def _ways(spent: Any, pure: Any, level: float, units: int = 10_000) -> Any:
    return ways_after(Before(Fraction(spent), Fraction(pure)), units, level)


def _pure(what: Any, choose: Any, units: int, epsilon: Fraction, asked: int) -> float:
    """After so many counts, of this epsilon each."""
    radius, numbers = asked * PureCost(epsilon / 2).gdp, (NoisyIntegers(asked, geometric_rate(epsilon)),)
    told = ReleasedTotals(radius, asked * epsilon, numbers=numbers)
    return float(choose(map(what, routes_after(told, units, gaussian=False))))


def _one(values: Any) -> float:
    return float(np.asarray(values).ravel()[0])


ONE = dict(units=10_000, span=1.0, scale=100.0)
PLAIN = dict(spent="0", pure="0", level=0.025)
LED = dict(spent="1/50000", pure="0", level=0.025)
PURE = dict(spent="1/50000", pure="1/200", level=0.025)

SUBSET = (
    never_smaller("subset: price", price_of, dict(units=10_000, spent="1/50000", kept=0.3)),
    never_smaller(
        "subset: price of Gaussian answers", gaussian_price, dict(units=10_000, spent=2e-5, kept=0.3)
    ),
    never_smaller("subset: price of pure releases", pure_price, dict(units=10_000, epsilon=0.005, kept=0.3)),
    never_smaller(
        "subset: width by variance",
        lambda variance, **a: _one(
            variance_width(np.array([variance]), np.array([1.0]), np.array([100.0]), _ways(**a))
        ),
        *(dict(variance=900.0, **how) for how in (PLAIN, LED, PURE)),
    ),
    never_smaller(
        "subset: width by variance, roughly",
        lambda variance, **a: _one(
            rough_variance_width(np.linspace(variance, 2 * variance, 300), 1.0, 100.0, _ways(**a))
        ),
        dict(variance=900.0, **LED),
    ),
    never_larger(
        "subset: least share",
        lambda answer, **a: _one(least_share(np.array([answer]), 10_000, 100.0, _ways(**a))),
        *(dict(answer=answer, **how) for how in (PLAIN, LED, PURE) for answer in (700.0, 6000.0)),
    ),
    never_smaller(
        "subset: greatest share",
        lambda answer, **a: _one(greatest_share(np.array([answer]), 10_000, 100.0, _ways(**a))),
        *(dict(answer=answer, **how) for how in (PLAIN, LED, PURE) for answer in (700.0, 6000.0)),
    ),
    never_smaller(
        "subset: every function", every_function_width, dict(units=10_000, spent="1/50000", failure=TWENTIETH)
    ),
    never_smaller(
        "subset: information", information_bound, dict(units=10_000, spent="1/50000", failure=TWENTIETH)
    ),
    never_smaller("subset: largest normal", largest_normal, dict(failure="1/1000000")),
    never_larger(
        "subset: threshold of p-values",
        p_value_threshold,
        dict(alpha=TWENTIETH, units=1000, spent="1/500"),
        dict(alpha="1/1000", units=1000, spent="1/50000"),
    ),
    never_larger(
        "subset: threshold, paid",
        paid_threshold,
        dict(alpha=TWENTIETH, units=1000, spent="1/500", pure="0"),
        dict(alpha=TWENTIETH, units=1000, spent="1/500", pure="1/100"),
    ),
    never_smaller(
        "subset: corrected p-value",
        lambda p, **told: worth(p, **told),
        dict(p="1/1000000", units=1000, spent="1/500", pure="0"),
        dict(p="1/1000000", units=1000, spent="1/500", pure="1/100"),
    ),
    never_larger(
        "last look: threshold of a pure study",
        lambda alpha, **told: _pure(lambda route: route.threshold(alpha), max, **told),
        dict(alpha=TWENTIETH, units=5000, epsilon="1/50", asked=1),
        dict(alpha=TWENTIETH, units=5000, epsilon="1/2", asked=2),
        dict(alpha=TWENTIETH, units=5000, epsilon="1/250000", asked=20_000),
        dict(alpha="9/10", units=5000, epsilon="1/100", asked=1),
    ),
    never_smaller(
        "last look: corrected in a pure study",
        lambda p, **told: _pure(lambda route: route.worth(p), min, **told),
        dict(p="1/1000", units=5000, epsilon="1/50", asked=1),
        dict(p="1/1000000000", units=5000, epsilon="1/2", asked=1),
    ),
    never_smaller(
        "last look: a monitor in nats",
        lambda refused: comparisons_nats([False] * refused + [True, False]),
        dict(refused=0),
        dict(refused=100),
    ),
    never_smaller(
        "last look: distance of a radius", pure_distance, dict(radius="1/1000000"), dict(radius="3")
    ),
)


def _expected(wants: dict[str, Any]) -> Expected:
    return Expected.of(**{name: wants.pop(name) for name in ("share", "spread", "group") if name in wants})


def _queries(**wants: Any) -> int:
    expected = _expected(wants)
    return queries_within(**wants, expected=expected).queries


def _width(**wants: Any) -> float:
    expected = _expected(wants)
    return within(**wants, expected=expected).tolerance


def _rows(**wants: Any) -> int:
    expected = _expected(wants)
    return rows_needed(**wants, expected=expected)[0]


def _study(query: int, scale: float, rising: bool, **wants: Any) -> float:
    expected = _expected(wants)
    made = StudyPlan(10_000, 100, Fraction(1, 20), expected, (scale,), (100,), rising=rising)
    return made.width(query)


def _study_noise(noise: Any, query: int) -> float:
    made = planned_study(10_000, 100, Fraction(1, 20), Fraction(1, 20), Expected(), noise)
    return made.scale(query)


@cache
def _offers(**wants: Any) -> dict[str, Any]:
    return {option.method: option.value for option in plan(**wants).options}


def _offer(method: str, **wants: Any) -> int | float:
    return _offers(**wants)[method]


ASKED = dict(rows=10_000, tolerance=TWENTIETH, failure=TWENTIETH)
WIDE = dict(rows=10_000, queries=1000, failure=TWENTIETH)
NEEDED = dict(queries=1000, tolerance=TWENTIETH, failure=TWENTIETH)
KNOWN = (dict(), dict(share="1/20"), dict(spread="1/10"), dict(group="1/4"))
NOISES = ("constant", "decreasing")

PLANS = (
    never_larger(
        "plan: queries",
        _queries,
        *(dict(**ASKED, noise=noise) for noise in NOISES),
        *(dict(**ASKED, noise="constant", **known) for known in KNOWN[1:]),
    ),
    never_smaller(
        "plan: tolerance",
        _width,
        *(dict(**WIDE, noise=noise) for noise in NOISES),
        *(dict(**WIDE, noise="constant", **known) for known in KNOWN[1:]),
    ),
    never_smaller("plan: rows", _rows, *(dict(**NEEDED, noise=noise) for noise in NOISES)),
    never_smaller(
        "study plan: width",
        _study,
        *(dict(scale=0.01, rising=rising, query=query) for rising in (True, False) for query in (1, 60)),
        *(dict(scale=0.005, rising=True, query=60, **known) for known in KNOWN[1:]),
    ),
    never_larger(
        "study plan: noise",
        _study_noise,
        dict(noise="constant", query=1),
        dict(noise="decreasing", query=100),
    ),
    never_larger(
        "planner: queries",
        _offer,
        *(dict(method=method.name, rows=20_000, tolerance="1/20") for method in METHODS),
    ),
    never_smaller(
        "planner: tolerance",
        _offer,
        *(dict(method=method.name, rows=20_000, queries=100) for method in METHODS),
    ),
    never_smaller(
        "planner: rows",
        _offer,
        *(dict(method=method.name, queries=100, tolerance="1/20") for method in METHODS),
    ),
)

COMPUTATIONS: tuple[Certified, ...] = SUBSET + PLANS
