"""Sums and products of floats without error: each as a float and what is left."""

from __future__ import annotations

from adyton.kernel.exact.cells import Floats

_SPLIT = 2.0**27 + 1


def two_sum(a: Floats, b: Floats | float) -> tuple[Floats, Floats]:
    """a + b without error, as a float and what is left."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: Floats, b: Floats | float) -> tuple[Floats, Floats]:
    """a * b without error, as a float and what is left."""
    product = a * b
    a1 = _SPLIT * a - (_SPLIT * a - a)
    b1 = _SPLIT * b - (_SPLIT * b - b)
    a2, b2 = a - a1, b - b1
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2
