"""Shares of a probability among any number of queries, of which nobody knows how many will follow."""

from __future__ import annotations

from fractions import Fraction

from adyton.kernel.exact import whole

_SQUARES = Fraction(6079271018540266, 10**16)  # just below 6 / pi**2


def query_share(number: int) -> Fraction:
    """6 / (pi j)**2, rounded down: the shares of any number of queries sum to at most 1.

    What query ``number`` may use if nobody knows how many will follow, where an exact rational is needed.
    """
    return _SQUARES / whole(number, "the number of a query") ** 2
