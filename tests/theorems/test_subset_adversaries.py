"""The subset theorem against whoever looks for its worst case.

The transfer: laws, values, noise, answers and the kept part are searched for the least room, on up to eight rows.
The corollaries: the best of all analysts whose choices follow from the cell in which each answer lies.  All chances
are sums over all samples and products of normal chances of cells, so nothing here is random and nothing is a grid.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln, ndtr

from adyton.validity.subset.last_look import p_value_threshold
from adyton.validity.subset.tails import Before, Way, ways_after
from adyton.validity.subset.widths import hoeffding_width, least_share, price_of
from support.shorthands import paid_threshold, worth
from support.tries import crossed, often


def shift(rows, spent):
    """By how much the overfit of a chosen query is moved, as a sum."""
    return rows * math.sqrt(spent) / 2


def spent_by(*scales):
    """Squared radii, of noise in rows."""
    return sum((Fraction(1) / (2 * Fraction(scale)) ** 2 for scale in scales), Fraction(0))


# The transfer ------------------------------------------------------------------------------------------------


@cache
def samples_of(rows, kinds):
    """How many rows are of each kind, and the logarithm of the number of orders."""
    counts = np.array([x for x in itertools.product(range(rows + 1), repeat=kinds) if sum(x) == rows])
    return counts, gammaln(rows + 1) - gammaln(counts + 1).sum(1)


def room(rows, kept, values, law, scales, answers):
    """How much of the price is left: (price + log pbar - c log E p^(1/c)) / price, for the best G at this path."""

    def log_mean(size, served, power):
        counts, orders = samples_of(size, len(law))
        means = 0.5 + counts @ (values - 0.5) / served
        density = -np.sum((answers - means) ** 2 / (2 * scales**2), axis=1)
        return float(np.logaddexp.reduce(orders + counts @ np.log(law) + density * power))

    price = price_of(rows, spent_by(*(rows * float(scale) for scale in scales)), kept)
    sizes = np.arange(rows + 1)
    chances = [math.comb(rows, size) * kept**size * (1 - kept) ** (rows - size) for size in sizes]
    reference = sum(c * log_mean(int(m), kept * rows, 1.0) for c, m in zip(chances, sizes, strict=True))
    return (price + reference - kept * log_mean(rows, rows, 1 / kept)) / price


def unpacked(point, rows, kinds, queries, narrow):
    """Laws and values of any kind; noise from a tenth of a step of the lattice of means on, or much of it."""
    cut = np.split(point, np.cumsum([1, kinds, kinds * queries, queries]))
    law = np.exp(np.clip(cut[1], -8, 8))
    values = np.clip(0.5 + cut[2].reshape(kinds, queries), 0, 1)
    low, high = (0.1 / rows, 1.5 / rows) if narrow else (0.3, 3.0)
    scales = low * (high / low) ** (1 / (1 + np.exp(-cut[3])))
    kept = 0.03 + 0.94 / (1 + math.exp(-float(np.clip(cut[0][0], -30, 30))))
    return rows, kept, values, law / law.sum(), scales, 0.5 + cut[4]


def least_room(rows, kinds, queries, narrow, rng, starts):
    def objective(point):
        return room(*unpacked(point, rows, kinds, queries, narrow))

    best = math.inf
    for _ in range(starts):
        begin = rng.normal(0, 0.7, 1 + kinds + kinds * queries + 2 * queries)
        if narrow:  # an answer on the lattice, or between two of its points
            begin[-queries:] = rng.integers(0, 2 * rows + 1, queries) / (2 * rows) - 0.5
        found = minimize(objective, begin, method="Nelder-Mead", options={"maxfev": 400})
        best = min(best, float(found.fun))
    return best


MUCH, NARROW = False, True  # noise, or noise below the lattice


@pytest.mark.parametrize(
    ("rows", "case"), crossed([1, 2, 5, 8], [(2, MUCH), (3, NARROW), (3, MUCH), (2, NARROW)])
)
def test_theorem_SUBSET_TRANSFER_no_search_finds_a_path_on_which_it_fails(rows, case):
    """A price that were a tenth less would be refuted where there is much noise, however many rows there are."""
    kinds, narrow = case
    rng = np.random.default_rng(rows + 10 * kinds)
    for queries in (1, 2):
        least = least_room(rows, kinds, queries, narrow, rng, often(2, 25))
        assert least > -1e-7
        if not narrow and queries == 1:
            assert least < 0.1


# Two and three answers, the best analyst --------------------------------------------------------------------


@dataclass(frozen=True)
class Small:
    """Some rows of three kinds; queries are sets of kinds, each together with its complement."""

    rows: int
    law: tuple[float, float, float]

    @cached_property
    def sets(self):
        return [np.array(s, float) for s in itertools.product((0, 1), repeat=3) if 0 < sum(s) < 3]

    @cached_property
    def counts(self):
        return samples_of(self.rows, 3)[0]

    @cached_property
    def chances(self):
        counts, orders = samples_of(self.rows, 3)
        return np.exp(orders + counts @ np.log(self.law))

    def gap(self, chosen):
        """How far each sample is from what is expected, in rows."""
        return self.counts @ chosen - self.rows * float(chosen @ self.law)

    def cells(self, chosen, scale):
        """For each sample the chances of the cells of an answer, cut at what is expected and around it."""
        spread = math.hypot(scale, math.sqrt(self.rows) / 2)
        edges = np.concatenate([[-np.inf], spread * np.array([-1.2, -0.5, 0, 0.5, 1.2]), [np.inf]])
        return np.diff(ndtr((edges[None, :] - self.gap(chosen)[:, None]) / scale), axis=1)


SMALL = [Small(6, (1 / 3, 1 / 3, 1 / 3)), Small(12, (0.5, 0.25, 0.25)), Small(20, (0.1, 0.2, 0.7))]


def best_leaf(small, noises, value):
    """The most that an analyst gains by two answers: ``value`` is what the chances of the samples are worth.

    The first query is the best; the second, and its noise, follow the first answer; what comes last both.
    ``value(weights, scales)``: a weight for each sample, its chance and that of the answers' cells.
    """
    first_scale, *second_scales = noises
    found = []
    for first in small.sets:
        total = 0.0
        for cell in small.cells(first, first_scale).T:
            weights = small.chances * cell
            total += max(
                sum(value(weights * inner, (first_scale, scale)) for inner in small.cells(second, scale).T)
                for second in small.sets
                for scale in second_scales
            )
        found.append(total)
    return max(found)


@pytest.mark.parametrize("small", SMALL, ids=lambda s: f"{s.rows} rows")
@pytest.mark.parametrize("noises", [(0.6, 0.6), (2.0, 1.0), (5.0, 5.0)])
def test_theorem_SUBSET_OVERFIT_after_two_answers(small, noises):
    for tilt in (0.02, 0.3, 1.5):
        factors = [np.exp(tilt * small.gap(chosen)) for chosen in small.sets]
        most = best_leaf(small, noises, lambda w, _, f=factors: max(float(w @ one) for one in f))
        moved = shift(small.rows, spent_by(*noises))
        assert math.log(most) <= tilt * moved + tilt**2 * small.rows / 8 + 1e-12


def test_theorem_SUBSET_OVERFIT_after_two_answers_needs_the_whole_shift():
    """After two answers it would not hold for two thirds of the shift."""
    small, noises, tilt = Small(20, (0.5, 0.25, 0.25)), (14.0, 14.0), 0.002
    factors = [np.exp(tilt * small.gap(chosen)) for chosen in small.sets]
    most = best_leaf(small, noises, lambda w, _: max(float(w @ one) for one in factors))
    moved = shift(small.rows, spent_by(*noises))
    assert math.log(most) > tilt * moved * 2 / 3 + tilt**2 * small.rows / 8


@pytest.mark.parametrize("small", SMALL, ids=lambda s: f"{s.rows} rows")
@pytest.mark.parametrize("noises", [(0.6, 0.6), (2.0, 1.0), (5.0, 5.0)])
@pytest.mark.parametrize("level", [0.2, 0.01])
def test_theorem_SUBSET_ANSWERS_query_three_follows_two_answers(small, noises, level):
    last = 0.8
    fixed = hoeffding_width(small.rows, np.array([1.0]), np.array([last]), [Way(1.0, 0.0, math.log(level))])
    width = shift(small.rows, spent_by(*noises)) + float(fixed[0])
    misses = [ndtr((small.gap(chosen) - width) / last) for chosen in small.sets]
    assert best_leaf(small, noises, lambda w, _: max(float(w @ one) for one in misses)) <= level


def paid_miss(small, chosen, scale, spent, level):
    """For each sample the chance that an answer leaves its width at what was spent, on either side."""
    ways = ways_after(Before(spent), small.rows, level / 2)
    width = float(hoeffding_width(small.rows, np.array([1.0]), np.array([scale]), ways)[0])
    gap = small.gap(chosen)
    return ndtr((gap - width) / scale) + ndtr((-gap - width) / scale)


def share_miss(small, chosen, scale, spent, level):
    """The same for the ends of shares that a study shows: below its lower end, or above the upper one."""
    ways = ways_after(Before(spent), small.rows, level / 2)
    sides = np.array([chosen, 1 - chosen])
    low, high = np.full(2, -20 * scale), np.full(2, small.rows + 20 * scale)
    for _ in range(50):  # the least answers whose lower ends are above the shares
        middle = (low + high) / 2
        above = least_share(middle, small.rows, scale, ways) > sides @ small.law
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return ndtr((small.counts @ sides.T - low) / scale).sum(1)


@pytest.mark.parametrize(
    ("asked", "small"), crossed([*itertools.product([paid_miss, share_miss], [0.2, 0.01])], SMALL[:2])
)
def test_theorem_PAY_AS_YOU_GO_three_answers_whose_levels_follow_them(asked, small):
    """All misses together, for the best analyst; the second answer's level is his choice, and the third has the rest."""
    miss, level = asked
    first_scale, others, parts = 1.5, (0.5, 3.0), (0.1, 0.6)

    @cache
    def missed(which, scale, spent, part):
        return miss(small, small.sets[which], scale, spent, level * part)

    @cache
    def last(spent, part):
        """Of each of his last queries, one below the other."""
        return np.array([missed(q, s, spent, part) for q in range(6) for s in others])

    worst = 0.0
    for first in range(6):
        total = float(small.chances @ missed(first, first_scale, Fraction(0), 0.3))
        for cell in small.cells(small.sets[first], first_scale).T:
            weights, options = small.chances * cell, []
            for second, scale, part in itertools.product(range(6), others, parts):
                own = float(weights @ missed(second, scale, spent_by(first_scale), part))
                later = small.cells(small.sets[second], scale).T
                rest = spent_by(first_scale, scale)
                options.append(own + float((last(rest, 0.7 - part) @ (weights * later).T).max(0).sum()))
            total += max(options)
        worst = max(worst, total)
    assert worst <= level


def best_test(small, weights, threshold):
    """Of all tests with this level the one that rejects most often: samples by what they are worth, while they fit."""
    order = np.argsort(-weights / small.chances)
    fits = np.cumsum(small.chances[order]) <= threshold
    return float(weights[order[fits]].sum())


@pytest.mark.parametrize("small", SMALL[1:], ids=lambda s: f"{s.rows} rows")
@pytest.mark.parametrize("alpha", [Fraction(1, 2), Fraction(1, 20), Fraction(1, 500)])
def test_theorem_SUBSET_P_VALUES_the_best_test_after_two_answers(small, alpha):
    """Every set of samples is a test; the null is true.  With noise that was planned, and that followed answer one."""
    planned = (2.5, 2.5)
    threshold = p_value_threshold(alpha, small.rows, spent_by(*planned))
    assert best_leaf(small, planned, lambda w, _: best_test(small, w, threshold)) <= alpha

    def paid(weights, scales):
        spent = spent_by(*scales)
        found = paid_threshold(alpha, small.rows, spent)
        assert worth(Fraction(found), small.rows, spent) <= float(alpha) * (1 + 1e-8)
        return best_test(small, weights, found)

    assert best_leaf(small, (2.5, 1.5, 6.0), paid) <= alpha


def test_theorem_SUBSET_P_VALUES_a_threshold_without_answers_is_refuted():
    """That the test above could fail: the same analyst against alpha itself."""
    small, alpha = SMALL[2], Fraction(1, 20)
    assert best_leaf(small, (2.5, 2.5), lambda w, _: best_test(small, w, float(alpha))) > 1.5 * alpha
