"""Tests on the rows that have a description, so that nothing released makes a difference to them.

A test is described by the query whose value it is about, in all groups together, the number that the value
is under the null hypothesis, on which side of it the alternative lies, and one of a few methods.  All of it
is fixed by the description, so the union over all descriptions is one event about the rows alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, float_down, float_up, rational
from adyton.kernel.exact.outward import SAFE
from adyton.kernel.terms.measures import Cdf, Mean, Measure, Quantile
from adyton.query.description_weights import constant_nats, rational_nats
from adyton.query.request import Request, asked_of
from adyton.study import Study

Method = Literal[
    "t",
    "z",
    "sign",
    "signed-rank",
    "rank-sum",
    "permutation",
    "chi-squared",
    "exact",
    "correlation",
    "rank-correlation",
    "anova",
    "kruskal-wallis",
    "levene",
    "kolmogorov-smirnov",
    "likelihood-ratio",
    "regression",
]
_SIDES = 3  # of the alternative: either, above, below
_MOST_NATS = 600.0  # beyond them floats are too small or too large, and no test rejects


@dataclass(frozen=True, slots=True)
class DescribedBound:
    """A test with a description of so many nats may reject at the level times exp(-nats).

    Claim:    of all tests with a description those that reject at their thresholds are right at once, but for
              the level, whatever was released and however they were chosen.
    Assumes:  each test has its level if it is fixed in advance; the dictionary was fixed without looking at
              the rows.
    Source:   a union bound.  Theorem: DESCRIBED-QUERIES.
    """

    nats: float

    def threshold(self, level: Fraction) -> float:
        return float_down(level) * math.exp(-self.nats) / SAFE if self.nats <= _MOST_NATS else 0.0

    def level(self, p_value: float) -> float:
        if self.nats > _MOST_NATS:
            return 1.0 if p_value else 0.0
        return min(1.0, p_value * math.exp(self.nats) * SAFE)


def described_test(study: Study, query: str, null: Number | None, method: str) -> DescribedBound:
    """The description of a test; InvalidRequest where it has none."""
    if method not in get_args(Method):
        raise InvalidRequest(f"no test is called {method!r:.40}; known: {', '.join(get_args(Method))}")
    asked = asked_of(query, *study.tables, dialect=study.dialect)
    measures = [measure for _, measure in asked.query.measures] if isinstance(asked, Request) else []
    points = sum(len(one.points) if isinstance(one, Cdf) else 1 for one in measures)
    if not isinstance(asked, Request) or points != 1:
        raise InvalidRequest("a test is described by one query with one value, in groups or not")
    (measure,) = measures
    nats = study.nats(asked.alone, measure)  # arithmetic on the value would be a test that has no description
    if nats is None:
        raise InvalidRequest(
            "this query has no description here: universal descriptions need a study of rows without joins "
            "(validity.dictionary in the study file)"
        )
    number = math.log(2) + (0.0 if null is None else _null_nats(measure, rational(null, "null")))
    more = number + math.log(len(get_args(Method))) + math.log(_SIDES)
    return DescribedBound(float_up(Fraction(nats + more)))


def _null_nats(measure: Measure, null: Fraction) -> float:
    """Of a mean or a quantile as a number beside values on a public lattice; of others as any number."""
    if isinstance(measure, Mean | Quantile):
        return constant_nats(null, measure.value.lattice)
    return rational_nats(null)
