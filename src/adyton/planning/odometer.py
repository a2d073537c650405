"""The running epsilon: what holds at whatever moment somebody stops."""

from __future__ import annotations

from fractions import Fraction

from adyton.accounting.odometer import ZcdpOdometer
from adyton.certify import Odometer
from adyton.kernel.accounting.rules import LEAST_DELTA
from adyton.kernel.exact import UNITS_PER_ONE, float_up, printed_up
from adyton.study import Study

_OCTAVES = 5  # good from the budget down to a thousandth of it


def read_odometer(study: Study, spent: int) -> Odometer:
    """The reading after ``spent`` units.

    Claim:    as ZcdpOdometer, with the study's own delta; in a pure study that is 0, but for
    ``discovery_delta``. Assumes:  what the accounting of the study assumes of every release.
    Source:   the pages named.  Theorem: ZCDP-ODOMETER.  Theorem: PURE-FILTER.
    """
    delta = printed_up(study.budget.delta)  # what noise leaves of it is for own keys of a unit that are shown
    per_rho = study.rule.per_rho
    if per_rho is None:
        return Odometer(float_up(Fraction(spent, UNITS_PER_ONE)), delta, "PURE-FILTER")
    rho = Fraction(study.allowed, per_rho * UNITS_PER_ONE)
    octaves = _OCTAVES if study.noise_delta > (_OCTAVES + 1) * LEAST_DELTA else 0
    reading = ZcdpOdometer.up_to(rho, study.noise_delta, octaves).epsilon(-(-spent // per_rho))
    return Odometer(reading if spent else 0.0, delta, "ZCDP-ODOMETER")
