"""Bits of a transcript, and what they are worth: a level for each transcript that was possible, all at once.

Answers that are one of few possible ones make a tree, whose branches were fixed in advance, whatever the
analyst does.  A query after answers with G1, G2, ... possible values each gets 1 / (G1 G2 ...) of the
level of its place, as the words of a prefix code get their weights: the sum over all places that were
possible is 1, however many answers there are at each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from adyton.kernel.exact import float_up, probability
from adyton.kernel.exact.outward import digits, down, up

_LN2_UP = Fraction(6931471805599454, 10**16)
_DIGITS, _TRUSTED = 60, 30


def nats_of(bits: Fraction) -> float:
    """The same in natural logarithms, rounded up: what it adds to an exponent.  Theorem: ROUNDING-STUDY."""
    return float_up(bits * _LN2_UP)


@dataclass(frozen=True, slots=True)
class Transcripts:
    """That a test may have been chosen by any of 2**bits transcripts, as a bound on its level.

    Claim:    whichever test the answers led to, it rejects a true hypothesis with probability at most alpha.
    Assumes:  its p-value is valid for a test that was fixed in advance; the answers so far are one of
              2**bits, and how many were possible followed from those before.
    Source:   Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015 (description length), with weights of a
              prefix code.  Theorem: ROUNDING-STUDY.
    """

    bits: Fraction

    def threshold(self, alpha: Fraction) -> float:
        """alpha / 2**bits, rounded down: at or below which a p-value after the answers is significant."""
        return down(_times_power(probability(alpha, "alpha"), -self.bits, -1))

    def level(self, p_value: float) -> float:
        """p 2**bits, rounded up, at most 1: the least level at which a p-value is significant."""
        level = _times_power(Fraction(p_value), self.bits, 1)
        return 1.0 if level >= 1 else up(level)


def _times_power(value: Fraction, bits: Fraction, direction: int) -> Any:
    """value 2**bits with far more digits than a float has, and a little more or less."""
    mp = digits(_DIGITS)
    if not bits:
        return mp.mpf(value.numerator) / value.denominator
    power = mp.mpf(2) ** (mp.mpf(bits.numerator) / bits.denominator)
    return power * value.numerator / value.denominator * (1 + direction * mp.mpf(10) ** -_TRUSTED)
