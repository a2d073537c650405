"""GEOMETRIC_MEAN(x): e to the mean of the logarithms, of numbers whose declared bounds are above 0.

A public list rounds each logarithm to a step, so that what is read are whole numbers.  That moves no
logarithm by more than half a step, and their mean neither.  So the interval of the mean is taken half a step
further out at both ends before the exponential, which rises, maps it.  Theorem: BOX-OF-PARTS.
"""

from __future__ import annotations

from fractions import Fraction

from adyton.errors import InvalidRequest
from adyton.kernel.terms.expressions import MOST_STEPS, Condition, Curved, NumberExpression
from adyton.kernel.terms.measures import Mean
from adyton.query.measures.computed import ComputedMeasure, Parts
from adyton.query.names import default_name
from adyton.query.released.nodes import Apply, Released
from adyton.query.text import fraction_text, number_text

DECIMALS = 5  # half a step is 5 millionths of the value; squares of more decimals would not fit in 64 bits


def _logarithms(value: NumberExpression, where: Condition) -> Parts:
    lattice, said = value.lattice, number_text(value)
    if lattice.low <= 0:
        least = fraction_text(lattice.low * lattice.step)
        raise InvalidRequest(
            f"GEOMETRIC_MEAN needs a number that is always above 0; {said} may be {least}: declare a low "
            f"bound above 0, or write CLAMP({said}, low, high) with one"
        )
    if lattice.high - lattice.low >= MOST_STEPS:
        raise InvalidRequest(
            f"GEOMETRIC_MEAN needs a number with at most {MOST_STEPS:,} possible values, not "
            f"{lattice.high - lattice.low + 1:,}: declare narrower bounds or a coarser step, or make it "
            f"coarser in the query, as in FLOOR({said} / 100) * 100 + 50"
        )
    return ((default_name("avg_ln", value), Mean(Curved("ln", value, DECIMALS), where)),)


def _of_mean(mean: Released) -> Released:
    return Apply("EXP", (Apply("UNROUNDED", (mean, Fraction(1, 10**DECIMALS))),))


GEOMETRIC_MEAN = ComputedMeasure(("GEOMETRIC_MEAN", "GEOMEAN"), _logarithms, _of_mean)
