"""The named searches.  Only places that were looked at are returned, so what they guarantee needs no search.

- Any numbers: ``edge``, by halving; whole ones: ``whole_edge``.
- Whole numbers: ``largest_that_holds`` and ``least_that_holds``; ``largest_near`` a guess; ``largest_within``
  and ``least_within``, in few calls where widths are powers.
- Floats: ``edges`` for arrays; ``largest_real_within`` and ``reaching``, in few calls where values are nearly
  powers; ``root_between``, where they are nearly lines.
- The place of the least value: ``minimise``.

The kernel has the one that it needs itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from adyton.kernel.exact.cells import Floats

Truths = npt.NDArray[np.bool_]
Place = TypeVar("Place", float, Fraction)  # or a number of mpmath's, which has no type
Middle = Callable[[Any, Any], Any]

_GOLDEN = (math.sqrt(5) - 1) / 2

_LINES = 5

_CALLS = 80

_STEPS = 200


def halfway(one: Any, other: Any) -> Any:
    return (one + other) / 2


def edge(
    holds: Callable[[Place], bool],
    good: Place,
    bad: Place,
    *,
    halvings: int = _STEPS,
    close: float = 0.0,
    middle: Middle = halfway,
) -> Place:
    """On the way from ``good``, where it holds, to ``bad``, where it does not: the last place where it does.

    ``holds`` was true of what is returned, unless that is ``good``, which is not looked at.  Stops after so
    many halvings, or when both ends are as ``close``, relatively to the smaller one.
    """
    for _ in range(halvings):
        if abs(bad - good) <= close * min(abs(good), abs(bad)):
            break
        between = middle(good, bad)
        good, bad = (between, bad) if holds(between) else (good, between)
    return good


def whole_edge(holds: Callable[[int], bool], good: int, bad: int) -> int:
    """``edge`` for whole numbers: the neighbor of what is returned was looked at, or is ``bad``."""
    while abs(bad - good) > 1:
        between = (good + bad) // 2
        good, bad = (between, bad) if holds(between) else (good, between)
    return good


def edges(
    holds: Callable[[Floats], Truths], good: Floats, bad: Floats, halvings: int, middle: Middle = halfway
) -> Floats:
    """``edge`` for every element of an array."""
    for _ in range(halvings):
        between = middle(good, bad)
        yes = holds(between)
        good, bad = np.where(yes, between, good), np.where(yes, bad, between)
    return good


def edges_in_few_calls(
    holds: Callable[[Floats], Truths], good: Floats, bad: Floats, rounds: int, ahead: int
) -> Floats:
    """``edges`` after ``rounds * ahead`` halvings, for short arrays: a call takes longer than what it does.

    A call asks about all places that the next ``ahead`` halvings may come to, as rows of one array.
    """
    each = np.arange(len(good))
    for _ in range(rounds):
        goods, bads, places = good[None], bad[None], list[Floats]()
        for _ in range(ahead):
            between = halfway(goods, bads)
            places.append(between)
            goods, bads = np.concatenate((between, goods)), np.concatenate((bads, between))
        yes = holds(np.concatenate(places))
        row, first = np.zeros(len(good), dtype=np.intp), 0
        for many in map(len, places):  # where it does not hold is as many rows farther on
            row, first = row + many * ~yes[first + row, each], first + many
        good, bad = goods[row, each], bads[row, each]
    return good


def whole_edges(holds: Callable[[Any], Truths], good: Any, bad: Any) -> Any:
    """``whole_edge`` for every element of two arrays of whole numbers."""
    while (wide := np.abs(bad - good) > 1).any():
        middle = (good + bad) // 2
        met = holds(middle)
        good, bad = np.where(wide & met, middle, good), np.where(wide & ~met, middle, bad)
    return good


def largest_that_holds(holds: Callable[[int], bool], most: int) -> int:
    """The largest number from 1 to ``most`` that holds if all smaller ones do; 0 if not even 1 does.

    ``holds`` has been true of the number that is returned, whatever it does elsewhere.
    """
    if not holds(1):
        return 0
    good, bad = 1, 2
    while bad <= most and holds(bad):
        good, bad = bad, 2 * bad
    return whole_edge(holds, good, min(bad, most + 1))


def least_that_holds(holds: Callable[[int], bool], most: int) -> int | None:
    """The smallest number from 1 to ``most`` that holds if all larger ones do; None if there is none."""
    bad, good = 0, 1
    while not holds(good):
        if good == most:
            return None
        bad, good = good, min(2 * good, most)
    return whole_edge(holds, good, bad)


def largest_within(width: Callable[[int], float], limit: Fraction, most: int) -> int:
    """The largest number from 1 to ``most`` with a width of at most ``limit``; few calls if it is a power."""
    first = width(1)
    if not first <= limit:
        return 0
    near = max(2, min(_crossing(width, first, float(limit), most), most))
    return _edge_near(lambda n: width(n) <= limit, 1, most + 1, near)


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
    """``largest_that_holds``, in few calls if that is about ``near``; above 256 to within half a per cent."""
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


def least_within(width: Callable[[int], float], limit: Fraction, most: int) -> int | None:
    """The least number up to ``most`` with a width of at most ``limit``, or None; few calls for roots."""
    near = _falling(width, float(limit), most)
    found = _edge_near(lambda n: width(n) <= limit, most + 1, 0, near)
    return found if found <= most else None


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


def _edge_near(holds: Callable[[int], bool], good: int, bad: int, trial: int) -> int:
    """``whole_edge``, in few calls if it is about at ``trial``: from there in strides that grow."""
    stride = 1 if good < bad else -1
    while abs(bad - good) > 1:
        if not min(good, bad) < trial < max(good, bad):
            trial = (good + bad) // 2
        if holds(trial):
            good, trial = trial, trial + stride
        else:
            bad, trial = trial, trial - stride
        stride *= 4
    return good


def minimise(value: Callable[[float], float], low: float, high: float, steps: int = 40) -> float:
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


class _Point(NamedTuple):
    x: float
    y: float


def largest_real_within(
    value: Callable[[float], float], limit: float, start: float, slack: float = 1e-8
) -> float:
    """The largest x, rounded down, with value(x) <= limit, where ``value`` grows with x.

    The value at the x that is returned was computed, is not above ``limit`` and, unless ``value`` jumps
    there, at most ``slack`` of the limit below it.  ``start`` is any guess above 0.
    """
    low, high = _bracket(value, limit, start)
    for step in range(_STEPS):
        if limit - low.y <= slack * limit or high.x <= low.x * (1 + 1e-15):
            break
        x = _guess(low, high, limit, step)
        point = _Point(x, value(x))
        low, high = (point, high) if point.y <= limit else (low, point)
    return low.x


def _bracket(value: Callable[[float], float], limit: float, x: float) -> tuple[_Point, _Point]:
    """Two points with the limit between their values; the strides grow, because the guess may be far off."""
    here = _Point(x, value(x))
    fits = here.y <= limit
    stride = 2.0 if fits else 0.5
    while True:
        there = _Point(here.x * stride, value(here.x * stride))
        if (there.y <= limit) != fits:
            return (here, there) if fits else (there, here)
        here, stride = there, stride**1.5


def _guess(low: _Point, high: _Point, limit: float, step: int) -> float:
    """In logarithms, where the functions of accounting are nearly straight: on the line through both points.

    Every other guess aims a little beyond the limit on the side that moves less, and every fourth is the
    middle, so that both ends move.
    """
    if step % 4 == 3 or low.y <= 0 or not math.isfinite(high.y):
        return math.sqrt(low.x * high.x)
    across = math.log(high.x / low.x)
    share = math.log(limit / low.y) / math.log(high.y / low.y)
    near = min(share, 1 - share)
    aim = share + (near if step % 2 else -near) * 1e-3 - 2e-9 / max(math.log(high.y / low.y), 1e-12)
    return low.x * math.exp(across * min(max(aim, 1e-6), 1 - 1e-6))


def root_between(
    excess: Callable[[float], float], low: float, high: float, close: float, turns: int
) -> tuple[float, float]:
    """Two neighbors: above 0 at the first, not above 0 at the second, as at ``low`` and ``high``.

    False position, halving the value of an end that stays, and a bisection every third time.
    """
    at_low, at_high = excess(low), excess(high)
    for turn in range(1, turns):
        if high - low <= close * high:
            break
        secant = high - at_high * (high - low) / (at_high - at_low)
        middle = secant if turn % 3 and low < secant < high else (low + high) / 2
        value = excess(middle)
        if value <= 0:
            high, at_high, at_low = middle, value, at_low / 2
        else:
            low, at_low, at_high = middle, value, at_high / 2
    return low, high


def geometric(one: Any, other: Any) -> Any:
    """Half way in logarithms, between positive numbers."""
    return np.sqrt(one * other) if isinstance(one, np.ndarray) else math.sqrt(one * other)
