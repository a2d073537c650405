"""Private quantiles: the exponential mechanism over every value that a column may hold.

The candidates are the whole numbers from ``low`` to ``high``, however many; between two neighboring values
of the data they all have the same rank and form one block, so the work grows with the number of distinct
values in the data and not with the range.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number
from adyton.kernel.exact.cells import Floats
from adyton.kernel.noise import Bits
from adyton.kernel.noise.refine import Integers, Words
from adyton.kernel.privacy import Adjacency, PureCost
from adyton.kernel.schema import LARGEST_VALUE
from adyton.kernel.special.mechanisms import exponential_weights
from adyton.kernel.special.mechanisms.coins import below
from adyton.kernel.special.mechanisms.selection.scores import Scores, ScoreSensitivity, rate_of, whole
from adyton.noise_intervals.selections import exponential_chance, largest_shortfall

LARGEST_DENOMINATOR = 2**16  # times fewer than 2**46 rows fits into 64 bits
_LARGEST_OFFSET = 2**40
_LAW_LIMIT = 10**6


def rank_sensitivity(fraction: Fraction, adjacency: Adjacency) -> ScoreSensitivity:
    """How far one row can move the distance between a value's rank and the target, in parts of a rank.

    Claim:    with fraction = a / b and distances counted in units of 1 / b: by b when a row is replaced, by
              max(a, b - a) when one is added or removed, although the number of rows, and with it the target,
              then moves as well.  Both are attained.
    Source:   derived on the theorem's page; cf. Smith 2011.  Theorem: QUANTILE-SENSITIVITY.
    """
    a, b = fraction.numerator, fraction.denominator
    return ScoreSensitivity(Fraction(b if adjacency == "replace-one" else max(a, b - a)))


@dataclass(frozen=True, slots=True)
class RankRuns:
    """Runs of candidates with the same rank: the first of a run, how many, rows below and rows not above."""

    starts: Integers
    widths: Words
    fewer: Integers
    not_more: Integers
    rows: int


@dataclass(frozen=True, slots=True)
class PrivateQuantile:
    """A value v of the lattice with fraction * n + offset about between #{rows < v} and #{rows <= v}.

    Its score is minus the distance of that target from the interval; v is released by the exponential
    mechanism.  Rows outside the bounds count as the nearer bound.

    Claim:    epsilon-DP for these neighbors; the law is exact.
    Assumes:  ``low``, ``high``, ``fraction`` and ``offset`` were fixed without looking at the data; fewer
              than 2**46 rows; the words of ``bits`` are uniform and independent of all the analyst has seen.
    Source:   Smith 2011 (Privacy-preserving statistical estimation); here with ties and a private n.
    Theorem: PRIVATE-QUANTILE.

    Time grows with the number of distinct values, which is private; whoever must hide it passes ``counts``
    for every value of a small lattice, zeros included.
    """

    fraction: Fraction
    low: int
    high: int
    epsilon: Fraction
    adjacency: Adjacency
    offset: int = 0
    name: ClassVar[str] = "private quantile"
    theorems: ClassVar[tuple[str, ...]] = (
        "QUANTILE-SENSITIVITY",
        "PRIVATE-QUANTILE",
        "EXPONENTIAL-MECHANISM",
        "DECLARED-RANGE",
    )

    def __post_init__(self) -> None:
        check_fraction(self.fraction)
        if not (-LARGEST_VALUE <= self.low <= self.high <= LARGEST_VALUE > self.high - self.low):
            raise InvalidRequest("a quantile needs bounds with low <= high, less than 2**61 apart")
        if abs(self.offset) > _LARGEST_OFFSET:
            raise InvalidRequest("an offset of more than 2**40 ranks is not supported")
        rate_of(self.epsilon, self.sensitivity)

    @property
    def sensitivity(self) -> ScoreSensitivity:
        return rank_sensitivity(self.fraction, self.adjacency)

    @property
    def rate(self) -> Fraction:
        return rate_of(self.epsilon, self.sensitivity)

    def cost(self) -> PureCost:
        return PureCost(self.epsilon)

    def release(self, values: Scores, bits: Bits, counts: Scores | None = None) -> int:
        """``values`` are rows in any order, or distinct values with their ``counts``."""
        return self.pick(blocks_of(values, counts, self.low, self.high), bits)

    def pick(self, blocks: RankRuns, bits: Bits) -> int:
        gaps = self.distances(blocks).view(np.uint64)
        block = exponential_weights.choose(gaps, self.rate, bits, blocks.widths)
        return int(blocks.starts[block]) + below(int(blocks.widths[block]), bits)

    def distances(self, blocks: RankRuns) -> Integers:
        """From the target to the ranks of each block, in units of 1 / denominator of the fraction."""
        unit = self.fraction.denominator
        target = self.fraction.numerator * blocks.rows + unit * self.offset
        distance = np.maximum(unit * blocks.fewer - target, target - unit * blocks.not_more)
        return np.maximum(distance, 0)

    def law(self, values: Scores, counts: Scores | None = None) -> Floats:
        """The probability of each value from low to high, about 12 digits; for audits, not for releases."""
        if self.high - self.low >= _LAW_LIMIT:
            raise InvalidRequest(f"the law is worked out for up to {_LAW_LIMIT} candidates")
        blocks = blocks_of(values, counts, self.low, self.high)
        distances = self.distances(blocks)
        order = np.argsort(blocks.starts)
        each = np.exp(-float(self.rate) * (distances - distances.min()))[order]
        weights = np.repeat(each, blocks.widths[order].astype(np.int64))
        law: Floats = weights / weights.sum()
        return law

    def error(self, confidence: Number) -> Fraction:
        """In ranks: how much farther than necessary the target lies from the ranks of the released value.

        Nothing is necessary where the target lies between 0 and the number of rows.

        Theorem: QUANTILE-UTILITY.
        """
        rate, number = self.rate, self.high - self.low + 1
        units = largest_shortfall(lambda c: exponential_chance(rate, Fraction(c), number), confidence)
        return Fraction(units, self.fraction.denominator)


def check_fraction(fraction: Fraction) -> None:
    if not 0 <= fraction <= 1:
        raise InvalidRequest(f"a quantile is asked for by a fraction from 0 to 1, not {float(fraction):g}")
    if fraction.denominator > LARGEST_DENOMINATOR:
        raise InvalidRequest(f"write the fraction with a denominator of at most {LARGEST_DENOMINATOR}")


def blocks_of(values: Scores, counts: Scores | None, low: int, high: int) -> RankRuns:
    """One block for each distinct value and one for each gap around them that holds any candidate."""
    rows = np.clip(whole(values), low, high).astype(np.int64)
    if counts is None:
        distinct, number = np.unique(rows, return_counts=True)
    else:
        distinct, number = _merged(rows, whole(counts).astype(np.int64))
    upto = np.cumsum(number)
    ends = np.concatenate(([0], upto))
    starts = np.concatenate((distinct, [low], distinct + 1))
    widths = np.concatenate(
        (np.ones_like(distinct), np.append(distinct, high + 1) - np.append(low, distinct + 1))
    )
    fewer, not_more = np.concatenate((upto - number, ends)), np.concatenate((upto, ends))
    some = widths > 0
    return RankRuns(starts[some], widths[some].view(np.uint64), fewer[some], not_more[some], int(ends[-1]))


def _merged(values: Integers, counts: Integers) -> tuple[Integers, Integers]:
    """Distinct values with their counts; clipping may have made two values equal."""
    if values.size != counts.size:
        raise InvalidRequest("every value needs its count")
    distinct, place = np.unique(values, return_inverse=True)
    number = np.zeros(distinct.size, np.int64)
    np.add.at(number, place, counts)
    return distinct, number
