"""A mechanism is three short functions (cost, release, error), and its docstring is a claim."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar, Literal, Protocol

from adyton.errors import InvalidRequest
from adyton.kernel.exact import float_up, ratio_up
from adyton.kernel.exact.cells import Cells, weighted, whole
from adyton.kernel.exact.outward import UP, next_up
from adyton.kernel.noise import Bits
from adyton.kernel.noise.refine import Integers
from adyton.kernel.privacy import Cost
from adyton.kernel.sensitivity import Sensitivity

Columns = Sequence[Sequence[int]]  # the cells of each coordinate
_FEW = 16  # fewer are added faster one by one
Scales = tuple[Fraction, ...]

# A shade above what makes it as dear to change a value as to leave out a row: then the sums alone decide.
# By the number of sums: for L1 exactly, and for L2.
_LOUDER_SUMS = {
    1: (Fraction(18817, 10864),),  # the square root of 3
    2: (Fraction(9, 8), Fraction(17734, 10000)),
    5: (Fraction(7, 3), Fraction(26458, 10000)),  # the square root of 7
}


class Mechanism(Protocol):
    """Noise on integer vectors: every cell of coordinate i gets independent noise of scale ``scales[i]``."""

    name: ClassVar[str]
    norm: ClassVar[Literal[1, 2]]
    theorems: ClassVar[tuple[str, ...]]

    @property
    def scales(self) -> Scales: ...

    def __hash__(self) -> int: ...

    def cost(self, sensitivity: Sensitivity) -> Cost:
        """What privacy pays: the diameter."""
        ...

    def radius(self, sensitivity: Sensitivity) -> Cost:
        """What validity pays: the radius."""
        ...

    def release(self, exact: Columns, bits: Bits) -> list[Cells]: ...

    def error(self, confidence: float) -> int:
        """Half-width that the noise of a single coordinate stays within, with this probability."""
        ...

    def at(self, *coordinates: int) -> Mechanism:
        """The noise of some coordinates alone: to say how wrong they may be, never to price them."""
        ...


def with_noise(
    exact: Columns, scales: Scales, draw: Callable[[float, int, Bits], Integers], bits: Bits
) -> list[Cells]:
    """Plain integer addition: nothing can be lost in it, however large the sum.

    A scale that is no float is rounded up: more noise never costs more than was priced.
    """
    noisy = []
    for column, scale in zip(exact, scales, strict=True):
        noise = draw(float_up(scale), len(column), bits)
        if len(column) <= _FEW:
            noisy.append(Cells([value + n for value, n in zip(column, noise.tolist(), strict=True)]))
        else:
            noisy.append(Cells(weighted((1, whole(column)), (1, noise))))
    return noisy


def quietest(
    scales_of: Callable[[float], Scales], affordable: Callable[[Scales], bool], near: float
) -> Scales:
    """The scales for the least multiplier at or just above ``near`` that is affordable.

    ``near`` comes from floating point; ``affordable`` decides in exact arithmetic.
    """
    multiplier = near
    for _ in range(64):
        scales = scales_of(multiplier)
        if affordable(scales):
            return scales
        multiplier = next_up(multiplier * UP)
    raise InvalidRequest("no noise scale can be represented for this price")


def relative_scales(sensitivity: Sensitivity) -> list[Scales]:
    """How the noise of several coordinates may be proportioned; the cheapest for its error is chosen.

    A centred sum and a count: equal shares, or more noise on the sum.  The second is better where one unit
    can move the sum from end to end but the count by one only: then the count comes for free.  So it is with
    two sums behind a variance, which no unit moves both from end to end, and with the five of a covariance.
    """
    reach = tuple(Fraction(max(abs(low), abs(high))) for low, high in sensitivity.boxes)
    if len(reach) == 1:
        return [(Fraction(1),)]
    if sensitivity.squares:
        pairs = relative_scales(_of_the_mean(sensitivity))
        return [_with_squares(pair, reach, sensitivity.squares) for pair in pairs]
    *sums, count = reach
    return [reach, *((*(one * factor for one in sums), count) for factor in _LOUDER_SUMS[len(sums)])]


def _of_the_mean(sensitivity: Sensitivity) -> Sensitivity:
    """Without the squares that are read beside it."""
    centred, _, count = sensitivity.boxes
    return replace(sensitivity, boxes=(centred, count), curved=0, squares=Fraction(0))


def _with_squares(pair: Scales, reach: Scales, part: Fraction) -> Scales:
    """Beside the scales of a centred sum and a count those of squares, which take this part of the price."""
    (of_sum, of_count), (first, square, last) = pair, reach
    others = (first / of_sum) ** 2 + (last / of_count) ** 2
    louder = Fraction(math.sqrt((1 - part) / (part * others)))
    return of_sum, square * louder, of_count


def times(relative: Scales, multiplier: float) -> Scales:
    """Scales that are floats exactly, because the samplers take floats."""
    return tuple(Fraction(float(r) * multiplier) for r in relative)


def weights_of_worst_mean(sensitivity: Sensitivity) -> tuple[float, ...]:
    """The weights of the noise terms in the error of a ratio times its denominator, at the worst ratio."""
    if sensitivity.squares:  # which are in no mean
        of_sum, of_count = weights_of_worst_mean(_of_the_mean(sensitivity))
        return of_sum, 0.0, of_count
    (_, first), *others = sensitivity.boxes
    return (1.0, *(ratio_up(first, reach) for _, reach in others))
