"""From a source of uniform bits to an integer with exactly the stated law, without rejection.

A caller hands over the source of bits, and nothing here keeps one.

A draw is a sign and a real number p, uniform on (0, 1/2), of which only as many bits are read as are
needed.  The magnitude is the largest m with p < tail(m), where tail(m) = P(Z >= m).  The first 63 bits of p
confine it to an interval; if that whole interval, widened by every error of floating point, has one
magnitude, the draw is done.  Otherwise 64 more bits are read and the query is put again in higher
precision: where many draws are in doubt, for all of them at once (``finer``), and for those that still are
one by one.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from adyton.errors import InvalidRequest
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.outward import UNIT_ROUNDOFF
from adyton.kernel.noise import finer

Words = npt.NDArray[np.uint64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

MARGIN = 128 * UNIT_ROUNDOFF  # of a level, and of 1: see "The margin" on the theorem pages
WIDTH = 2.0**-63  # over p: how far the bits that were not read can move a level
_SEVERAL = 4  # draws in doubt, from which on they are looked at together
_BLOCK = 1 << 15  # draws at a time; the arrays of one block stay in the processor's cache
_GUARD = 64  # bits of working precision beyond the bits of p; half of them are for mpmath's own error
_FLOATS_END = 2.0**50  # from this scale on a float cannot tell two magnitudes apart
_threads = threading.local()


# Where randomness comes from -------------------------------------------------------------------------------


class Bits(Protocol):
    """A source of uniform bits.  Production passes ``SystemBits()``; only a test passes anything else."""

    def words(self, count: int) -> Words:
        """``count`` independent uniform 64-bit words that nobody has seen before."""
        ...


class SystemBits:
    """The operating system's generator, read afresh for every call.

    Claim:    no word is kept between calls, so a forked child or a restored snapshot of this process holds
              nothing that it could hand out a second time.
    Assumes:  ``os.urandom`` returns uniform bits that are independent of everything the analyst has seen.
    """

    __slots__ = ()

    def words(self, count: int) -> Words:
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


# Draws -----------------------------------------------------------------------------------------------------


class Law(Protocol):
    """A law on the integers that is symmetric about 0, with P(Z >= m) = tail(m) for m >= 1.

    ``floor(scale * level(p) + shift)`` is the magnitude of p.  A level moves by at most 1.26 times as much as
    the logarithm of p, and ``level`` is wrong by at most half of ``MARGIN * (level + 1)``.
    """

    @property
    def scale(self) -> float: ...

    @property
    def shift(self) -> float: ...

    def level(self, p: Floats) -> Floats:
        """In floating point, as a new array."""
        ...

    def finer_level(self, p: finer.Pair, mp: Any) -> tuple[finer.Pair, Floats]:
        """As the sum of two floats, and where that may be wrong by more than ``finer.ERROR``: the step."""
        ...

    def level_in(self, mp: Any, p: Any) -> Any:
        """In the precision of ``mp``; only a guess, which ``tail_in`` confirms."""
        ...

    def tail_in(self, mp: Any, m: int) -> Any:
        """P(Z >= m) in the precision of ``mp``."""
        ...


def draw(law: Law, count: int, bits: Bits) -> Integers:
    """``count`` independent draws from ``law``."""
    if count < 0:
        raise InvalidRequest(f"the number of draws must be at least 0, not {count}")
    drawn = np.empty(count, np.int64)
    for start in range(0, count, _BLOCK):
        _fill(law, drawn[start : start + _BLOCK], bits)
    return drawn


def _fill(law: Law, drawn: Integers, bits: Bits) -> None:
    words = bits.words(drawn.size)
    prefixes = (words >> np.uint64(1)).view(np.int64)
    p = prefixes.astype(np.float64)
    p += 0.5
    p *= 2.0**-64
    drawn[:], doubtful = magnitudes(law, p)
    doubtful |= prefixes == 0  # p may be as small as it likes
    places = np.flatnonzero(doubtful)
    if len(places) >= _SEVERAL:
        _look_again(law, drawn, prefixes, places, bits)
    else:
        for i in places:
            drawn[i] = refine(law, int(prefixes[i]), 64, lambda: int(bits.words(1)[0]))
    negative = (words & np.uint64(1)).view(np.int64)
    negative *= -2
    negative += 1
    drawn *= negative


def _look_again(
    law: Law, drawn: Integers, prefixes: Integers, places: npt.NDArray[np.int64], bits: Bits
) -> None:
    """With 64 more bits each; what they leave in doubt is refined from there."""
    more, first = bits.words(len(places)), prefixes[places]
    drawn[places], doubtful = finer_magnitudes(law, first, more)
    for i in np.flatnonzero(doubtful):
        start = int(first[i]) << 64 | int(more[i])
        drawn[places[i]] = refine(law, start, 128, lambda: int(bits.words(1)[0]))


def finer_magnitudes(law: Law, prefixes: Integers, more: Words) -> tuple[Integers, Flags]:
    """The magnitude of each p, of which 128 digits are known, and whether it is in doubt."""
    p = finer.pair_of(prefixes, more)
    p = np.maximum(p[0], 2.0**-64), p[1]  # smaller ones are in doubt anyway
    level, step = law.finer_level(p, _context())
    magnitude, above = finer.floor_of(law.scale, level, law.shift)
    margin = law.scale * (finer.ERROR * (level[0] + 1) + finer.UNREAD / p[0]) + 2.0**-35
    doubtful = (above <= margin) | (above >= 1 - margin) | (magnitude < 0)
    doubtful |= (np.abs(step) > MARGIN * (level[0] + 1)) | (prefixes < 2)
    return magnitude, doubtful


def magnitudes(law: Law, p: Floats) -> tuple[Floats, Flags]:
    """The magnitude of each p, and whether it is in doubt.  Overwrites ``p``."""
    level = law.level(p)
    np.divide(WIDTH, p, out=p)
    margin = level + 1.0
    margin *= MARGIN
    margin += p
    margin *= law.scale
    level *= law.scale
    level += law.shift
    magnitude = np.floor(level)
    level -= magnitude
    doubtful = level <= margin
    np.subtract(1.0, margin, out=margin)
    doubtful |= level >= margin
    return magnitude, doubtful


def refine(law: Law, prefix: int, length: int, more: Callable[[], int]) -> int:
    """The magnitude of the p whose binary digits are ``prefix`` (``length`` of them), then those of ``more``.

    Claim:    the result depends on the digits of p alone: it is the largest m with p < tail(m).
    Assumes:  mpmath's exp, log and erfc are right but for the last 32 of the bits that they were asked for.
    """
    mp = _context()
    while True:
        mp.prec = length + _GUARD
        middle = mp.ldexp(2 * prefix + 1, -length - 1)
        m = int(mp.floor(law.scale * law.level_in(mp, middle) + law.shift))
        if m >= 0 and _is_certain(law, mp, m, prefix, length):
            return m
        prefix, length = prefix << 64 | more(), length + 64


def _context() -> Any:
    """This thread's mpmath: the precision of the shared one may be changed by anybody at any time."""
    if not hasattr(_threads, "mp"):
        from mpmath import mp  # only here: most processes never refine

        own = mp.clone()
        own.prec = 4096  # pi and ln 2 are kept for all threads; made this long now, they do not change later
        own.log(own.pi)
        _threads.mp = own
    return _threads.mp


def _is_certain(law: Law, mp: Any, m: int, prefix: int, length: int) -> bool:
    """Whether tail(m + 1) < p < tail(m) for every p that begins with these digits; tail(0) counts as 1/2."""
    slack = mp.ldexp(1, -length - _GUARD // 2)
    if mp.ldexp(law.tail_in(mp, m + 1), length) * (1 + slack) >= prefix:
        return False
    return m == 0 or bool(mp.ldexp(law.tail_in(mp, m), length) * (1 - slack) > prefix + 1)


def coverage_radius(law: Law, confidence: float) -> int:
    """The least w with P(|Z| <= w) >= confidence: the magnitude of p = (1 - confidence) / 2."""
    if not 0 < confidence < 1:
        raise InvalidRequest(f"confidence must be above 0 and below 1, not {confidence}")
    if law.scale < _FLOATS_END:
        magnitude, doubtful = magnitudes(law, np.array([(1 - confidence) / 2]))
        if not doubtful[0]:
            return int(magnitude[0])
    p = (1 - Fraction(confidence)) / 2
    length = max(64, p.denominator.bit_length())
    return refine(law, int(p * 2**length), length, lambda: 0)


def check_scale(scale: float, what: str, largest: float = math.inf) -> None:
    if not (math.isfinite(scale) and scale > 0):
        raise InvalidRequest(f"{what} must be finite and above 0, not {scale}")
    if scale > largest:
        raise InvalidRequest(
            f"choose a coarser step: {what} of {scale:g} steps is more than the {largest:g} steps "
            "that whole numbers of 64 bits leave room for"
        )
