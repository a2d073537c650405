"""Few possible transcripts: whatever the analyst does, there is only so much to overfit with.

If the transcripts of every analyst are among 2**b, an event that is rare for every fixed query is at most
2**b times as likely for a query that was asked.  Answers on a coarse grid are the simplest example.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from adyton.arithmetic.search import minimise
from adyton.kernel.exact import Number, not_negative, probability, whole
from adyton.kernel.exact.outward import SAFE, UNIT_ROUNDOFF, log_up

_FINEST = 10**9  # levels of a grid


def compressed_width(
    rows: int, queries: int, bits: float, failure: Number, *, empirical: float = 0.0
) -> float:
    """empirical + sqrt(((b + 1) ln 2 + ln(k / failure)) / (2n)), rounded up.

    Claim:    if with probability 1 - beta' all answers are within ``empirical`` of the rows' averages, then
              with probability 1 - beta' - failure they are within this of the population.
    Assumes:  independent rows; averages of values in [0, 1] (or statistics of sensitivity 1/n, by McDiarmid's
              inequality); for every analyst the transcript is one of 2**bits.
    Source:   Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015.  Theorem: TRANSCRIPT-COMPRESSION.
    """
    n, k = whole(rows, "the number of rows"), whole(queries, "the number of queries")
    not_negative(empirical, "how far answers are from the rows' averages")
    log = (not_negative(bits, "the number of bits") + 1) * math.log(2) + log_up(
        k / probability(failure, "the failure probability")
    )
    return (empirical + math.sqrt(log / (2 * n))) * SAFE


def together(*bits: float) -> float:
    """Mechanisms one after the other: their bits add up; processing a transcript adds none.

    Theorem: TRANSCRIPT-COMPRESSION.
    """
    return math.fsum(bits) * SAFE


@dataclass(frozen=True, slots=True)
class Rounded:
    """A half-width, and the number of equal cells of [0, 1] whose middles are the answers."""

    tolerance: float
    levels: int

    @property
    def step(self) -> float:
        return 1 / self.levels


def rounding_width(rows: int, queries: int, failure: Number) -> Rounded:
    """The least half-width of answers rounded to a grid, over all grids: k log2(levels) bits each.

    Theorem: TRANSCRIPT-COMPRESSION.
    """

    def width(levels: int) -> float:
        bits = queries * math.log2(levels) * (1 + 10 * UNIT_ROUNDOFF)
        return compressed_width(rows, queries, bits, failure, empirical=1 / (2 * levels))

    return _best_grid(width)


def counted_rounding_width(rows: int, queries: int, failure: Number) -> Rounded:
    """The same, the tree of queries counted exactly: (G**k - 1)/(G - 1) of them instead of k G**k.

    Claim:    answers on a grid of G levels are within 1/(2G) + sqrt(ln(2 N / failure) / (2n)), N that number.
    Assumes:  as ``compressed_width``.
    Source:   derived here.  Theorem: FORKING-PATHS.
    """
    n, k = whole(rows, "the number of rows"), whole(queries, "the number of queries")
    share = probability(failure, "the failure probability")

    def width(levels: int) -> float:
        # ln N <= (k - 1) ln G + ln(G / (G - 1))
        log_nodes = (k - 1) * math.log(levels) + math.log(levels / (levels - 1))
        return (1 / (2 * levels) + math.sqrt((log_nodes + log_up(Fraction(2) / share)) / (2 * n))) * SAFE

    return _best_grid(width)


def _best_grid(width: Callable[[int], float]) -> Rounded:
    """A fine grid costs bits, a coarse one accuracy: the width falls and then rises with the levels."""
    near = round(minimise(lambda levels: width(max(2, round(levels))), 2, _FINEST))
    # On whole numbers the search may be near only.
    tried = {*range(2, 20), *range(max(2, near - 3), near + 4)}
    levels = min(tried, key=width)
    return Rounded(width(levels), levels)
