"""Plans in which the noise falls as earlier answers cost more: each query misses with the same chance."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from adyton.arithmetic.search import reaching
from adyton.kernel.exact import float_down
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.outward import COARSE, SAFE
from adyton.kernel.exact.special import special
from adyton.validity.plans.constant import (
    constant_queries,
    constant_rows,
    constant_width,
    first_rows,
    first_tolerance,
    summed,
)
from adyton.validity.plans.expected import ANYTHING, Expected
from adyton.validity.plans.misses import Costs, best_choice, costs_of, divergence, log_misses, tilts_between
from adyton.validity.plans.noise_plan import MOST, NoisePlan
from adyton.validity.subset.tails import hazard

_BLOCKS = 1500
_COARSE = 150
_TABLE = 3000
_ROUNDS = 6
_FEW = 3
_ROOM = 1e-3  # of what was spent, between a guess and what it leads to
_SLACK = 0.999  # of the failure: whole queries miss a little more often than amounts do


def decreasing_queries(
    rows: int, tolerance: Fraction, failure: Fraction, expected: Expected = ANYTHING
) -> NoisePlan:
    """About the most queries.  Claim, assumptions and source as ``constant_queries``.

    A rough plan is made from continuous amounts; what it certifies is judged by ``missed``, and the number of
    queries is lowered until that is at most ``failure``.  Theorem: PLANNED-NOISE.
    """
    within, target = float_down(tolerance), 1.0
    for _ in range(_ROUNDS):  # the number of queries changes its own level by a logarithm only
        target = min(max(_Rough(rows, within, failure, target, expected).held(_COARSE), 1.0), float(MOST))
    whole = math.ceil(target * 1.01)
    while whole:
        rough = _Rough(rows, within, failure, float(whole), expected)
        held = rough.held(_BLOCKS)
        if held >= whole:
            plan = rough.plan(whole)
            if missed(rows, plan, failure, expected) <= float_down(failure):
                return _or_constant(plan, rows, tolerance, failure, expected)
        fewer = (whole + held) / 2 if held < whole else 0.999 * whole  # fewer queries have a higher level
        whole = min(math.floor(fewer), whole - 1)
    return _or_constant(NoisePlan(within, (), ()), rows, tolerance, failure, expected)


def _or_constant(
    plan: NoisePlan, rows: int, tolerance: Fraction, failure: Fraction, expected: Expected
) -> NoisePlan:
    """Of few queries whole numbers may make the plan of constant noise the better one."""
    if plan.queries > _FEW:
        return plan
    same = constant_queries(rows, tolerance, failure, expected)
    return same if same.queries > plan.queries else plan


def decreasing_width(
    rows: int, queries: int, failure: Fraction, expected: Expected = ANYTHING
) -> NoisePlan | None:
    """The least tolerance, about, of that many queries; None if it is 1 or more."""
    if queries == 1:
        return constant_width(rows, 1, failure, expected)
    guess = first_tolerance(rows, queries, expected)
    found = _solved(queries, failure, expected, (guess, 1.0, 4.0), lambda x: (rows, x))
    return None if found is None else found[1]


def decreasing_rows(
    queries: int, tolerance: Fraction, failure: Fraction, expected: Expected = ANYTHING
) -> tuple[int, NoisePlan] | None:
    """The fewest rows, about, with which that many queries stay within it; None if 10**15 are too few."""
    if queries == 1:
        return constant_rows(1, tolerance, failure, expected)
    within = float_down(tolerance)
    guess = first_rows(queries, within, expected)
    return _solved(queries, failure, expected, (guess, MOST + 1.0, 2.0), lambda x: (math.ceil(x), within))


def _solved(
    queries: int,
    failure: Fraction,
    expected: Expected,
    search: tuple[float, float, float],
    at: Callable[[float], tuple[int, float]],
) -> tuple[int, NoisePlan] | None:
    """The least x whose rows and tolerance hold: ``search`` is a guess, a limit and a power."""
    x, limit, power = search
    for blocks, exact in ((_COARSE, 1e-3), (_BLOCKS, 1e-6)):

        def most(x: float, blocks: int = blocks) -> float:
            return _Rough(*at(x), failure, float(queries), expected).held(blocks)

        found = reaching(most, float(queries), x, limit, power, exact)
        if found is None:
            return None
        x = found
    step = 1e-5
    while x < limit:
        rows, _ = at(x)
        plan = _Rough(*at(x), failure, float(queries), expected).plan(queries)
        if missed(rows, plan, failure, expected) <= float_down(failure):
            return rows, plan
        x, step = x * (1 + step), 2 * step
    return None


def missed(rows: int, plan: NoisePlan, failure: Fraction, expected: Expected = ANYTHING) -> float:
    """The chance, rounded up, that some answer of the plan is beyond its tolerance, on either side.

    Each block is judged at its last query, which all queries before it have moved.
    """
    counts, noise = np.array(plan.counts, dtype=np.float64), np.array(plan.scales) * expected.noise
    within = summed(plan.tolerance, expected)
    costs, apart = costs_of(rows, expected, float_down(failure), plan.queries)
    before = _spent_before(rows, counts, noise, costs)
    choice, _ = best_choice(rows, within, noise, before, expected)
    misses = np.exp(np.minimum(log_misses(rows, within, noise, before, choice, expected), 0.0))
    return (float(np.sum(counts * misses)) + apart) * SAFE


def _spent_before(rows: int, counts: Floats, noise: Floats, costs: Costs) -> Floats:
    """Before the last query of each block, rounded up.

    A block costs what its last query does, which depends on what the block itself spends.  So an amount is
    guessed, and holds if the costs at a little more than it lead to no more than that.
    """
    each = 1 / (2 * rows * np.square(noise))
    guess = np.zeros_like(each)
    while True:
        room = guess * (1 + _ROOM)
        cost = costs.at(room)
        through = np.cumsum(counts * each * cost)
        if np.all(through <= room) or costs.constant:
            return np.maximum(through - each * cost, 0.0) * (1 + COARSE)
        guess = through


class _Rough:
    """A plan of amounts that are no whole numbers, in floats: to be judged by ``missed``.

    With R = log P(N > y) - level, the noise at a tilt s is hazard(y) sqrt(D(s)) / (s sqrt(rows R)), and its
    tolerance noise y + K'(s).  So y hazard(y) / sqrt(R) is known for every s, and a table gives y.
    """

    def __init__(
        self, rows: int, within: float, failure: Fraction, queries: float, expected: Expected
    ) -> None:
        self._rows, self._within, self._expected = rows, summed(within, expected), expected
        self._tolerance, allowed = within, float(failure) * _SLACK
        self._costs, apart = costs_of(rows, expected, allowed, queries)
        allowed -= apart
        self._set_level(math.log(allowed / queries / 2))
        if expected.rarity is not None:
            self._set_level(math.log(allowed / queries) - self._both_sides())

    def _set_level(self, level: float) -> None:
        farthest = -float(special().ndtri_exp(level))
        self._y = farthest - np.geomspace(1e-12, 1, _TABLE)[::-1] * farthest
        left = np.maximum(special().log_ndtr(-self._y) - level, 1e-300)
        self._known = self._y * hazard(self._y) / np.sqrt(left)

    def held(self, blocks: int) -> float:
        """About how many queries this noise certifies."""
        return float(self._amounts(blocks)[0].sum())

    def plan(self, queries: int) -> NoisePlan:
        """Whole queries in blocks: what is left of one goes into the next block."""
        amounts, scales = self._amounts(_BLOCKS)
        ends = np.minimum(np.floor(np.cumsum(amounts)), queries)
        ends[-1] = queries
        counts = np.diff(ends, prepend=0.0)
        used = counts > 0
        return NoisePlan(self._tolerance, tuple(map(int, counts[used])), tuple(map(float, scales[used])))

    def _amounts(self, blocks: int) -> tuple[Floats, Floats]:
        """How many queries take what was spent through each block, and the scale of its noise."""
        tilts = self._tilts(blocks)
        if not tilts.size:
            return np.zeros(1), np.full(1, self._within)
        spent, noise, _ = self._at(tilts)
        spent = np.maximum.accumulate(np.maximum(spent, 0.0))
        cost = self._costs.at(spent)
        amounts = np.diff(spent, prepend=0.0) * 2 * self._rows * noise**2 / cost
        amounts[0] = 1.0  # the first query, before which nothing was spent
        return amounts, noise / self._expected.noise

    def _tilts(self, blocks: int) -> Floats:
        return tilts_between(lambda tilt: self._at(tilt)[0], self._within, self._expected, blocks)[:-1]

    def _at(self, tilt: Floats) -> tuple[Floats, Floats, Floats]:
        """What was spent where this tilt is the best, below 0 if nowhere; the noise; and what is fresh."""
        one = self._expected.moments(tilt)
        apart = divergence(one, tilt)
        room = np.maximum(self._within - one.slope, 0.0)
        y = np.interp(room * tilt * np.sqrt(self._rows / np.maximum(apart, 1e-300)), self._known, self._y)
        noise = np.maximum(room / np.maximum(y, 1e-9), 1e-300)
        fresh = np.minimum(hazard(y) / (noise * self._rows * tilt), 1e6)
        return self._rows * apart * np.abs(1 - fresh) * (1 - fresh), noise, fresh

    def _both_sides(self) -> float:
        """The log of both sides of a miss together over the larger one, where it is largest."""
        tilts = self._tilts(_COARSE)
        if not tilts.size:
            return math.log(2)
        one, fresh = self._expected.moments(tilts), np.minimum(self._at(tilts)[2], 1.0)
        return float(np.max(np.log1p(np.exp(fresh * self._rows * (one.down - one.up)))))
