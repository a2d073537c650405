"""Exact coins: integers decide, and a coin reads as many digits of its uniform number as it needs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from adyton.errors import InvalidRequest
from adyton.kernel.noise.refine import Bits

Enclosure = tuple[int, int]  # integers at or below, and at or above, a real number
_SMALL = 8  # the series is summed at an argument below 2**-8


def below(n: int, bits: Bits, words: int = 2) -> int:
    """Uniform on 0..n-1, from at least ``words`` words: the more, so that their number does not betray n.

    Claim:    every result has probability 1/n, exactly.  A number that would make some results likelier is
              drawn again; so many bits are read that this happens less than once in 2**64 draws, and how
              often it happened says nothing about the result.
    Assumes:  the words of ``bits`` are independent and uniform.
    Source:   rejection: Devroye 1986, chapter II.3.  Theorem: EXACT-COINS.
    """
    if n < 1:
        raise InvalidRequest(f"there is no whole number from 0 to {n} - 1")
    words = max(words, n.bit_length() // 64 + 2)
    end = (1 << 64 * words) // n * n
    while True:
        drawn = int.from_bytes(bits.words(words).astype("<u8").tobytes(), "little")
        if drawn < end:
            return drawn % n


def lies_below(prefix: int, places: int, enclose: Callable[[int], Enclosure], bits: Bits) -> bool:
    """Whether u < c, where u begins with the digits ``prefix`` (``places`` of them binary places) and goes on
    with fresh bits, and c is the number for which ``enclose(k)`` encloses c * 2**k.  Theorem: EXACT-COINS.
    """
    while True:
        at_least, at_most = enclose(places)
        if prefix + 1 <= at_least:
            return True
        if prefix >= at_most:
            return False
        prefix, places = prefix << 64 | int(bits.words(1)[0]), places + 64


def exp_bounds(x: Fraction, places: int) -> Enclosure:
    """Integers that enclose exp(-x) * 2**places, at most 2 apart; x and places are at least 0.

    exp(-x) is exp(-y) squared again and again, y = x / 2**squarings below 2**-8; each step rounds its lower
    end down and its upper end up.
    """
    if x == 0:
        return 1 << places, 1 << places
    if x >= places:
        return 0, 1  # exp(-x) < 2**-x
    squarings = (int(x) + 1).bit_length() + _SMALL
    work = places + squarings + places.bit_length() + 16
    low, high = _series((x.numerator << work) // (x.denominator << squarings), work)
    for _ in range(squarings):
        low, high = low * low >> work, -(-high * high >> work)
    spare = work - places
    return low >> spare, -(-high >> spare)


def _series(y: int, work: int) -> Enclosure:
    """Encloses exp(-t) * 2**work for all t with y <= t * 2**work < y + 1, where y < 2**(work - 8).

    1 - t + t**2/2 - ..., until a term is 0.  Each term is too small by less than 2 (what was cut off before
    is multiplied by t < 2**-8), all that follows the last term adds less than 2, and t for y less than 1.
    """
    total, term, k = 0, 1 << work, 0
    while term:
        total += -term if k % 2 else term
        k += 1
        term = (term * y >> work) // k
    return total - 2 * k - 2, total + 2 * k + 2
