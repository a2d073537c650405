"""Many weights exp(-rate * gap) at once, in whole numbers, and exact choices made with them.

A weight is held as a mantissa m, 2**61 <= m < 2**62, and an exponent x:

    m * 2**-(61 + x)  <=  exp(-rate * gap)  <  (m + 64) * 2**-(61 + x)

It is a product of at most eight entries of small tables, one for each byte of the gap.  A choice is made with
the lower and upper ends; only where these leave doubt, hardly ever, is one weight worked out to more digits.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, partial

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.noise.refine import Bits, Flags, Integers, Words
from adyton.kernel.special.mechanisms.coins import Enclosure, below, exp_bounds, lies_below

MARGIN = 64  # of a mantissa; the theorem's page adds up what it covers
_PLACES = 61
_DARK = 256  # a weight below exp(-256) is handled as "0 to 1 units"
_FAR = 400  # its exponent: larger than any other, and than the number of digits that are compared
_TABLE_BITS = 128
_BYTE = 8
_LIMB = 31
_WORDS = 3  # enough for every total, 2**93, with 64 bits to spare: their number says nothing
_BLOCK = 1 << 14  # weights at a time; the arrays of one block stay in the processor's cache

Weights = tuple[Words, Integers]
Table = tuple[Words, Integers]


def choose(gaps: Words, rate: Fraction, bits: Bits, widths: Words | None = None) -> int:
    """An index, with probability proportional to ``widths[i] * exp(-rate * gaps[i])``; widths are 1 or given.

    Claim:    exactly that law.  An index is proposed in proportion to the upper ends and kept with the
              probability that corrects for them; another is proposed with probability below the number of
              weights times 2**-54.  Only that rare event makes time depend on more than this number.
    Assumes:  the words of ``bits`` are independent and uniform; rate > 0; 1 <= widths < 2**62; fewer than
              2**31 weights.
    Source:   rejection from a dominating law: Devroye 1986, chapter II.3.  Theorem: EXPONENTIAL-WEIGHTS.
    """
    gaps = gaps - gaps.min(keepdims=True)
    mantissa, exponent = enclose(gaps, rate)
    if widths is not None:
        mantissa, exponent = _times((mantissa, exponent), _normal(widths))
    heaviest = int(exponent.min())
    shift = np.minimum(exponent - heaviest, 63).astype(np.uint64)
    at_least = mantissa >> shift
    at_most = (mantissa + MARGIN >> shift) + 1
    top, rest, total = _running_total(at_most)
    while True:
        drawn = below(total, bits, _WORDS)
        i = _first_above(top, rest, drawn)
        inside = drawn - (_value(top, rest, i) - int(at_most[i]))
        if inside < int(at_least[i]):
            return i
        width = 1 if widths is None else int(widths[i])
        exact = partial(_scaled, rate * int(gaps[i]), width, _PLACES + heaviest)
        if lies_below(inside, 0, exact, bits):
            return i


def flip(gaps: Words, rate: Fraction, bits: Bits) -> Flags:
    """Independent coins, coin i true with probability exp(-rate * gaps[i]).

    Claim:    exactly that law; one word for each coin, and with probability below 2**-54 a coin reads on.
    Assumes:  the words of ``bits`` are independent and uniform; rate > 0.
    Source:   comparison of digits: Devroye 1986, chapter XV.  Theorem: EXPONENTIAL-WEIGHTS.
    """
    mantissa, exponent = enclose(gaps, rate)
    shift = np.minimum(exponent, 63).astype(np.uint64)
    uniform = bits.words(gaps.size) >> 64 - _PLACES
    heads = uniform < mantissa >> shift
    doubtful = ~heads & (uniform <= mantissa + MARGIN >> shift)
    for i in np.flatnonzero(doubtful):
        exact = partial(_scaled, rate * int(gaps[i]), 1, 0)
        heads[i] = lies_below(int(uniform[i]), _PLACES, exact, bits)
    return heads


def enclose(gaps: Words, rate: Fraction) -> Weights:
    """Mantissas and exponents; an exponent of 400 says no more than that the weight is below 2**-369."""
    if rate <= 0:
        raise InvalidRequest("a rate must be above 0")
    farthest, tables = _tables(rate)
    mantissa, exponent = np.empty(gaps.size, np.uint64), np.empty(gaps.size, np.int64)
    for start in range(0, gaps.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        mantissa[block], exponent[block] = _product(np.minimum(gaps[block], farthest), tables)
    exponent[gaps > farthest] = _FAR
    return mantissa, exponent


def _product(gaps: Words, tables: tuple[Table, ...]) -> Weights:
    weights: Weights = (np.full(gaps.size, 1 << _PLACES, np.uint64), np.zeros(gaps.size, np.int64))
    for place, (mantissas, exponents) in enumerate(tables):
        digit = (gaps >> _BYTE * place & 255).view(np.int64)
        entry = (mantissas[digit], exponents[digit])
        weights = entry if place == 0 else _times(weights, entry)
    return weights


def _times(a: Weights, b: Weights) -> Weights:
    """The product of the mantissas is cut off after 62 of its 124 bits, and made normal again."""
    mask = (1 << _LIMB) - 1
    (p, x), (q, y) = a, b
    p_high, p_low, q_high, q_low = p >> _LIMB, p & mask, q >> _LIMB, q & mask
    middle = p_low * q_low
    middle >>= _LIMB
    middle += p_low * q_high
    middle += p_high * q_low
    middle >>= _LIMB
    middle += p_high * q_high
    short = middle < 1 << _PLACES
    middle <<= short.astype(np.uint64)
    return middle, x + y - 1 + short


def _normal(widths: Words) -> Weights:
    """Whole numbers as mantissas and exponents, exactly."""
    rest, length = widths.copy(), np.ones(widths.size, np.uint64)
    for step in (32, 16, 8, 4, 2, 1):
        longer = (rest >> step > 0) * np.uint64(step)
        rest >>= longer
        length += longer
    return widths << _PLACES + 1 - length, 1 - length.view(np.int64)


@lru_cache(maxsize=8)
def _tables(rate: Fraction) -> tuple[np.uint64, tuple[Table, ...]]:
    """The largest gap whose weight is at least exp(-256), and a table for each of its bytes.

    Made from the public rate alone, so neither its size nor the time it takes depends on any score.
    """
    farthest = min(int(_DARK / rate), 2**64 - 1)
    places = range(0, farthest.bit_length(), _BYTE)
    return np.uint64(farthest), tuple(_table(rate * 2**p, min(256, (farthest >> p) + 1)) for p in places)


def _table(rate: Fraction, entries: int) -> Table:
    """exp(-rate * d) for d < entries: powers, cut off after 128 bits each."""
    one, mantissas, exponents = 1 << _TABLE_BITS - 1, np.empty(256, np.uint64), np.empty(256, np.int64)
    places = _TABLE_BITS + 2 * int(rate) + 2
    unit = exp_bounds(rate, places)[0]
    m, x = one, 0
    for d in range(entries):
        mantissas[d], exponents[d] = m >> _TABLE_BITS - 1 - _PLACES, x
        m *= unit
        spare = m.bit_length() - _TABLE_BITS
        m, x = m >> spare, x + places - spare
    return mantissas, exponents


def _scaled(x: Fraction, width: int, places: int, more: int) -> Enclosure:
    """Integers that enclose width * exp(-x) * 2**places, to so many places more."""
    spare = width.bit_length()
    low, high = exp_bounds(x, places + more + spare)
    return width * low >> spare, -(-width * high >> spare)


def _running_total(units: Words) -> tuple[Words, Words, int]:
    """Running totals in two limbs, because one of 64 bits would overflow; the whole as a plain integer."""
    mask = (1 << _LIMB) - 1
    rest = np.cumsum(units & mask)
    top = np.cumsum(units >> _LIMB)
    top += rest >> _LIMB
    rest &= mask
    return top, rest, _value(top, rest, units.size - 1)


def _value(top: Words, rest: Words, i: int) -> int:
    return int(top[i]) << _LIMB | int(rest[i])


def _first_above(top: Words, rest: Words, drawn: int) -> int:
    """The first index whose running total is above ``drawn``."""
    high, low = np.uint64(drawn >> _LIMB), np.uint64(drawn & (1 << _LIMB) - 1)
    first, last = np.searchsorted(top, high, "left"), np.searchsorted(top, high, "right")
    return int(first + np.searchsorted(rest[first:last], low, "right"))
