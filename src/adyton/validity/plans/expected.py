"""What a plan may expect of its queries: rare shares, little spread, a mean over part of the rows.

An expectation chooses the noise, and guarantees nothing.  Where it is wrong, an interval of a study is wider
than planned; it is never wrong, because a study computes it from what was answered.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, float_up, probability, rational
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.outward import UNIT_ROUNDOFF

_SMALL = 1e-3  # tilts below: the share with the largest moments is taken from its series
_LARGEST = 600.0  # exponent: beyond it no bound is less than 1
_ROOT_TWO = math.sqrt(2) * (1 + 10 * UNIT_ROUNDOFF)


class LogMoments(NamedTuple):
    """Of one row's part, centred, at a tilt: logarithms of both sides, the slope of the upper one, and the
    size of the terms that were added up, for their rounding."""

    up: Floats
    down: Floats
    slope: Floats
    size: Floats


@dataclass(frozen=True)
class Expected:
    """``share``: at most this share of the rows has the property, or lacks it.  ``spread``: the standard
    deviation is at most this part of the range.  ``group``: the mean is over at least this share of the rows,
    of which the others are expected.  ``alike``: so are all queries, not only the one of a claim, and no
    group is larger.

    A mean over a group is within a tolerance if its sum, less the mean times its count, is within the
    tolerance times the group's share of the rows.
    """

    share: Fraction | None = None
    spread: Fraction | None = None
    group: Fraction | None = None
    alike: bool = False

    @classmethod
    def of(
        cls,
        share: Number | None = None,
        spread: Number | None = None,
        group: Number | None = None,
        *,
        alike: bool = False,
    ) -> Expected:
        """From numbers as people write them."""
        if share is not None and spread is not None:
            raise InvalidRequest(
                "a share has the spread sqrt(p (1 - p)): expect a share or a spread, not both"
            )
        rare = None if share is None else probability(share, "the expected share")
        wide = None if spread is None else rational(spread, "the expected spread")
        if wide is not None and not 0 < wide <= Fraction(1, 2):
            raise InvalidRequest(
                "values between 0 and 1 have a standard deviation of at most 1/2, and above 0"
            )
        part = None if group is None else probability(group, "the group's share of the rows")
        return cls(None if rare is None else min(rare, 1 - rare), wide, part, alike)

    def __bool__(self) -> bool:
        return bool(self.share or self.spread or self.group)

    @property
    def of_all_queries(self) -> Expected:
        return Expected(self.share, self.spread, self.group, alike=True)

    @cached_property
    def rarity(self) -> float | None:
        """The share, rounded up, whose moments are not exceeded; None if nothing is known but the range."""
        if self.share is not None:
            return min(float_up(self.share), 0.5)
        if self.spread is None:
            return None
        variance = self.spread**2
        root = math.sqrt(max(float(1 - 4 * variance) * (1 - 9 * UNIT_ROUNDOFF), 0.0))
        return min(
            2 * float_up(variance) / (1 + root * (1 - 9 * UNIT_ROUNDOFF)) * (1 + 10 * UNIT_ROUNDOFF), 0.5
        )

    @cached_property
    def part(self) -> float:
        return 1.0 if self.group is None else min(float_up(self.group), 1.0)

    @property
    def noise(self) -> float:
        """Of what is compared with the tolerance, per noise of a sum: a group's count is noisy as well."""
        return 1.0 if self.group is None else _ROOT_TWO

    @cached_property
    def variance(self) -> float | None:
        """Of a value in [0, 1] whose mean is what a query costs, per ``cost``; None: nothing is known."""
        if not self.alike or not self:
            return None
        if self.group is not None:
            return self.part
        assert self.rarity is not None
        return self.rarity * (1 - self.rarity) * (1 + 10 * UNIT_ROUNDOFF)

    @property
    def cost(self) -> float:
        """The largest squared norm of one row's part in the release, from the centre of ``variance``."""
        return 1.0 if self.group is None else 0.5

    def moments(self, tilt: Floats) -> LogMoments:
        """Theorem: EXPECTED-MOMENTS."""
        if self.rarity is None:
            half = tilt * tilt / 8
            one = LogMoments(half, half, tilt / 4, half)
        else:
            one = share_moments(self.rarity, tilt)
            if self.share is None:  # of a spread nobody knows on which side the rare values lie
                one = one._replace(down=one.up)
        return one if self.group is None else _in_part(self.part, one)


def share_moments(share: float, tilt: Floats) -> LogMoments:
    """The largest of all values in [0, 1] with a mean of at most ``share`` <= 1/2.

    Claim:    log E exp(tilt (X - E X)) <= up and log E exp(-tilt (X - E X)) <= down <= up, for tilts above 0.
    Source:   Bennett 1962 for a given variance: see the page.  Theorem: EXPECTED-MOMENTS.
    """
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        worst = np.where(tilt < _SMALL, 0.5 - tilt / 12, 1 / tilt - 1 / np.expm1(tilt))
    p = np.minimum(share, worst)
    grown, shrunk = np.expm1(tilt), np.expm1(-tilt)
    log_up, log_down = np.log1p(p * grown), np.log1p(share * shrunk)
    return LogMoments(
        log_up - tilt * p,
        log_down + tilt * share,
        p * (1 + grown) / (1 + p * grown) - p,
        log_up - log_down + 2 * tilt * share,
    )


def _in_part(part: float, one: LogMoments) -> LogMoments:
    """Of a value that is 0 outside a group and has the moments ``one`` in it."""
    grown = np.expm1(np.minimum(one.up, _LARGEST))
    slope = part * (1 + grown) * one.slope / (1 + part * grown)
    return LogMoments(
        np.log1p(part * grown), np.log1p(part * np.expm1(np.minimum(one.down, _LARGEST))), slope, one.size
    )


ANYTHING = Expected()
