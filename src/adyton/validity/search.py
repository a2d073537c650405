"""Searches that choose parameters.  What they find is always checked by a bound that holds for any choice."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

_GOLDEN = (math.sqrt(5) - 1) / 2
_LINES = 5
_CALLS = 80


def least(value: Callable[[float], float], low: float, high: float, steps: int = 40) -> float:
    """A place between two positive numbers where ``value`` is least, if it falls and then rises."""
    a, b = math.log(low), math.log(high)
    x, y = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
    at_x, at_y = value(math.exp(x)), value(math.exp(y))
    for _ in range(steps):
        if at_x <= at_y:
            b, y, at_y = y, x, at_x
            x = b - _GOLDEN * (b - a)
            at_x = value(math.exp(x))
        else:
            a, x, at_x = x, y, at_y
            y = a + _GOLDEN * (b - a)
            at_y = value(math.exp(y))
    return math.exp(x if at_x <= at_y else y)


def largest(holds: Callable[[int], bool], most: int) -> int:
    """The largest number from 1 to ``most`` that holds if all smaller ones do; 0 if not even 1 does.

    ``holds`` has been true of the number that is returned, whatever it does elsewhere.
    """
    if not holds(1):
        return 0
    good, bad = 1, 2
    while bad <= most and holds(bad):
        good, bad = bad, 2 * bad
    bad = min(bad, most + 1)
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good


def largest_within(width: Callable[[int], float], limit: Fraction, most: int) -> int:
    """As ``largest`` for "so many have a width of at most ``limit``"; few calls if it grows like a power."""
    first = width(1)
    if not first <= limit:
        return 0
    good, bad, step = 1, most + 1, 1
    trial = max(2, min(_crossing(width, first, float(limit), most), most))
    while bad - good > 1:
        if not good < trial < bad:
            trial = (good + bad) // 2
        if width(trial) <= limit:
            good, trial = trial, trial + step
        else:
            bad, trial = trial, trial - step
        step *= 4
    return good


def _crossing(width: Callable[[int], float], first: float, limit: float, most: int) -> int:
    """About where the width reaches ``limit``: lines through the last two points, both axes logarithmic."""
    k, before, power = 1.0, first, 0.5
    for _ in range(_LINES):
        ahead = min(k * min((limit / before) ** (1 / power), 1e6), float(most))
        after = width(round(ahead))
        if not (math.isfinite(after) and after != before and abs(math.log(ahead / k)) > 1e-9):
            break
        power = min(max(math.log(after / before) / math.log(ahead / k), 0.1), 2.0)
        k, before = ahead, after
    return max(1, round(k))


def largest_near(holds: Callable[[int], bool], near: int, most: int) -> int:
    """As ``largest``, with few calls if the answer is about ``near``; above 256 to within half a per cent."""
    first = min(max(near, 1), most)
    step = max(1, first // 32)
    good, bad = (first, most + 1) if holds(first) else (0, first)
    while bad - good > max(1, good // 256):
        if good and bad > most:
            trial = min(good + step, most)
        elif good:
            trial = (good + bad) // 2
        else:
            trial = max(bad - step, 1)
        step *= 2
        good, bad = (trial, bad) if holds(trial) else (good, trial)
    return good


def smallest(holds: Callable[[int], bool], most: int) -> int | None:
    """The smallest number from 1 to ``most`` that holds if all larger ones do; None if there is none."""
    bad, good = 0, 1
    while not holds(good):
        if good == most:
            return None
        bad, good = good, min(2 * good, most)
    while good - bad > 1:
        middle = (good + bad) // 2
        bad, good = (bad, middle) if holds(middle) else (middle, good)
    return good


def smallest_within(width: Callable[[int], float], limit: Fraction, most: int) -> int | None:
    """As ``smallest`` for "so many have a width of at most ``limit``"; few calls if it falls like a root."""
    bad, good, step, trial = 0, most + 1, 1, _falling(width, float(limit), most)
    while good - bad > 1:
        if not bad < trial < good:
            trial = (good + bad) // 2
        if width(trial) <= limit:
            good, trial = trial, trial - step
        else:
            bad, trial = trial, trial + step
        step *= 4
    return good if good <= most else None


def _falling(width: Callable[[int], float], limit: float, most: int) -> int:
    """About where the width falls to ``limit``, if it falls like a root; farther on where there is none."""
    n = 1000.0
    for _ in range(_LINES):
        reached = width(round(n))
        ahead = (reached / limit) ** 2 if math.isfinite(reached) and reached > 0 else 1e3
        n = min(max(n * min(max(ahead, 1e-3), 1e6), 1.0), float(most))
        if abs(ahead - 1) < 1e-9:
            break
    return round(n)


def reaching(
    value: Callable[[float], float], target: float, guess: float, most: float, power: float, exact: float
) -> float | None:
    """The least x below ``most``, up to a relative ``exact``, where ``value`` is ``target``; or None.

    ``value`` was at least ``target`` where it is returned.  Few calls if it grows about like x**power.
    """
    low, high, found = 0.0, most, False
    x, before = min(guess, most * (1 - exact)), (0.0, 0.0)
    for _ in range(_CALLS):
        gap = min(max(math.log(max(value(x), 1e-300) / target), -20.0), 20.0)  # farther away no power holds
        if gap >= 0:
            high, found = x, True
        else:
            low = x
        if high - low <= exact * high:
            break
        if before[0] and before[1] != gap:
            power = min(max((gap - before[1]) / math.log(x / before[0]), power / 3), 3 * power)
        before = (x, gap)
        x = _between(x * math.exp(-gap / power) * (1 + exact / 3), low, high if found else 4 * x, exact)
        x = min(x, most * (1 - exact / 2))
    return high if found else None


def _between(wanted: float, low: float, high: float, exact: float) -> float:
    """``wanted`` if it is well inside, else so near to an end that it is soon known to be the last one."""
    if not low:
        return min(max(wanted, high / 8), high * (1 - exact / 2))
    if wanted <= low or wanted >= high:
        return math.sqrt(low * high)
    return min(max(wanted, low * (1 + exact / 2)), high * (1 - exact / 2))
