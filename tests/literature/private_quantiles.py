"""Several private quantiles of one column at once, and values near its least and its largest row."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, each_of
from adyton.kernel.noise import Bits
from adyton.kernel.privacy import Adjacency, PureCost
from adyton.kernel.special.mechanisms.selection.scores import Scores
from adyton.textbook.quantile import PrivateQuantile, blocks_of


@dataclass(frozen=True, slots=True)
class PrivateQuantiles:
    """Several quantiles of one column; each gets an equal share of epsilon, and the answers are put in order.

    Claim:    epsilon-DP; a larger fraction never has a smaller answer, and putting them in order does not
              widen the largest error.
    Assumes:  as for one quantile.
    Source:   composition and post-processing; the order: derived on the theorem's page.
    Theorem: SORTED-QUANTILES.
    """

    fractions: tuple[Fraction, ...]
    low: int
    high: int
    epsilon: Fraction
    adjacency: Adjacency
    name: ClassVar[str] = "private quantiles"
    theorems: ClassVar[tuple[str, ...]] = (*PrivateQuantile.theorems, "SORTED-QUANTILES")

    def __post_init__(self) -> None:
        if not self.fractions:
            raise InvalidRequest("ask for at least one quantile")
        self.parts()

    def parts(self) -> tuple[PrivateQuantile, ...]:
        share = self.epsilon / len(self.fractions)
        return tuple(PrivateQuantile(f, self.low, self.high, share, self.adjacency) for f in self.fractions)

    def cost(self) -> PureCost:
        return PureCost(self.epsilon)

    def release(self, values: Scores, bits: Bits, counts: Scores | None = None) -> tuple[int, ...]:
        """In the order of ``fractions``."""
        blocks = blocks_of(values, counts, self.low, self.high)
        answers = sorted(part.pick(blocks, bits) for part in self.parts())
        by_size = sorted(range(len(answers)), key=lambda i: self.fractions[i])
        return tuple(answers[by_size.index(i)] for i in range(len(answers)))

    def error(self, confidence: Number) -> Fraction:
        """In ranks, for all of them at once.  Theorem: SORTED-QUANTILES."""
        each = each_of(confidence, len(self.fractions))
        return max(part.error(each) for part in self.parts())


def near_minimum(
    low: int, high: int, epsilon: Fraction, adjacency: Adjacency, confidence: Number
) -> PrivateQuantile:
    """A value that is not below the least row, with this confidence, and has few rows below it.

    The number of rows below is at most 2 * offset - 1 then: the target is as far inside as the error is
    wide, because a rank of 0 would suit every value that lies below the data.
    """
    depth = int(PrivateQuantile(Fraction(0), low, high, epsilon, adjacency).error(confidence)) + 1
    return PrivateQuantile(Fraction(0), low, high, epsilon, adjacency, depth)


def near_maximum(
    low: int, high: int, epsilon: Fraction, adjacency: Adjacency, confidence: Number
) -> PrivateQuantile:
    """The same at the other end."""
    depth = int(PrivateQuantile(Fraction(1), low, high, epsilon, adjacency).error(confidence)) + 1
    return PrivateQuantile(Fraction(1), low, high, epsilon, adjacency, -depth)
