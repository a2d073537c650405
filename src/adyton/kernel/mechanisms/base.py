"""A mechanism is three short functions (cost, release, error), and its docstring is a claim."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import ClassVar, Protocol, Self

from adyton.errors import InvalidRequest
from adyton.kernel.exact import float_up
from adyton.kernel.exact.cells import Cells, weighted, whole
from adyton.kernel.exact.outward import UP, next_up
from adyton.kernel.noise import Bits
from adyton.kernel.noise.refine import Integers
from adyton.kernel.privacy import Cost
from adyton.kernel.sensitivity import Sensitivity

Columns = Sequence[Sequence[int]]  # the cells of each coordinate
_FEW = 16  # fewer are added faster one by one
Scales = tuple[Fraction, ...]


class Mechanism(Protocol):
    """Noise on integer vectors: every cell of coordinate i gets independent noise of scale ``scales[i]``."""

    name: ClassVar[str]
    gaussian: ClassVar[bool]
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


class QueryNoise(Mechanism, Protocol):
    """Noise for queries: its scales are all of it.  Their spreads add up in squares if it is ``gaussian``."""

    def __init__(self, scales: Scales) -> None: ...

    @classmethod
    def for_cost(cls, sensitivity: Sensitivity, cost: Fraction, relative: Scales = ..., /) -> Self:
        """The least noise in these proportions that costs so much: mu**2 if ``gaussian``, else epsilon."""
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


def times(relative: Scales, multiplier: float) -> Scales:
    """Scales that are floats exactly, because the samplers take floats."""
    return tuple(Fraction(float(r) * multiplier) for r in relative)
