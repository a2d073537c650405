"""The subset theorem, against exact enumeration, quadrature and fifty digits.

The data are small enough to sum over all samples; answers are integrated on fine grids.  No test here is random
but for examples with a fixed seed.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom, norm

from adyton.validity.plans.plans import queries_within
from adyton.validity.subset.last_look import p_value_threshold
from adyton.validity.subset.tails import (
    KEPT,
    Before,
    KnownLevels,
    OpenLevels,
    Way,
    gaussian_price,
    pure_price,
    ways_after,
)
from adyton.validity.subset.widths import (
    greatest_share,
    hoeffding_width,
    least_share,
    price_of,
    ratio_ends,
    variance_width,
)
from literature.every_function import every_function_width, information_bound
from support.shorthands import paid_threshold
from support.tries import crossed

FAILURE = Fraction(1, 20)


def width_of(rows, scale, fresh, price, log_level):
    """Of one sum of values in 0..1, in one way."""
    return float(hoeffding_width(rows, np.array([1.0]), np.array([scale]), [Way(fresh, price, log_level)])[0])


def fixed_width(rows, scale, log_level):
    return width_of(rows, scale, 1.0, 0.0, log_level)


def shift(rows, spent):
    """By how much the overfit of a chosen query is moved, as a sum."""
    return rows * math.sqrt(spent) / 2


def counts_of(rows, kinds):
    return [x for x in itertools.product(range(rows + 1), repeat=kinds) if sum(x) == rows]


def log_chance(counts, law):
    ways = math.lgamma(sum(counts) + 1) - sum(math.lgamma(i + 1) for i in counts)
    return ways + sum(i * math.log(p) for i, p in zip(counts, law, strict=True) if i)


def slack(rows, kept, values, law, scales, answers, factor=1.0):
    """log of the right side minus log of the left, for the best G: (E p^(1/c))^c <= exp(price) pbar."""
    kinds = len(law)

    def log_density(counts, size):
        means = 0.5 + np.array(counts) @ (values - 0.5) / size
        return -float(np.sum((answers - means) ** 2 / (2 * scales**2)))

    everyone = [log_chance(x, law) + log_density(x, rows) / kept for x in counts_of(rows, kinds)]
    spent = sum(Fraction(1) / (2 * rows * Fraction(float(s))) ** 2 for s in scales)
    bound = factor * price_of(rows, spent, kept)
    for size in range(rows + 1):
        weight = math.comb(rows, size) * kept**size * (1 - kept) ** (rows - size)
        served = [log_chance(x, law) + log_density(x, kept * rows) for x in counts_of(size, kinds)]
        bound += weight * float(np.logaddexp.reduce(served))
    return bound - kept * float(np.logaddexp.reduce(everyone))


def case(rng):
    rows, kinds, queries = int(rng.integers(1, 6)), int(rng.integers(2, 4)), int(rng.integers(1, 3))
    values = rng.choice([0, 1, 0.5, 0.3], size=(kinds, queries))
    law = np.maximum(rng.dirichlet(np.full(kinds, rng.choice([0.3, 1, 3]))), 1e-9)
    scales = np.exp(rng.uniform(-2, 2, size=queries))
    answers = rng.normal(0.5, 1.0, size=queries) * rng.choice([0.3, 1, 3])
    return rows, rng.uniform(0.05, 0.95), values, law / law.sum(), scales, answers


def test_theorem_SUBSET_TRANSFER_holds_on_every_path():
    rng = np.random.default_rng(1)
    worst = min(slack(*case(rng)) for _ in range(700))
    assert worst > -1e-9


def test_theorem_SUBSET_TRANSFER_would_not_hold_for_a_little_less():
    """The price cannot be lowered to 95 %: one row, a coin, much noise."""
    coin, even = np.array([[0.0], [1.0]]), np.array([0.5, 0.5])
    tight = slack(1, 0.5, coin, even, np.array([3.0]), np.array([0.5]))
    assert abs(tight) < 1e-12  # here the transfer is an equality
    assert slack(1, 0.5, coin, even, np.array([3.0]), np.array([0.5]), factor=0.95) < -1e-4


def log_moment(rows, scale, share, tilt):
    """log E exp(tilt D), exactly, if phi is the coin where its noisy count was high, else its complement."""
    total = 0.0
    for count in range(rows + 1):
        gap, high = count - rows * share, float(ndtr((count - rows * share) / scale))
        total += binom.pmf(count, rows, share) * (
            high * math.exp(tilt * gap) + (1 - high) * math.exp(-tilt * gap)
        )
    return math.log(total)


@pytest.mark.parametrize("rows", [2, 5, 30])
@pytest.mark.parametrize("scale", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_theorem_SUBSET_OVERFIT_of_the_query_that_the_answer_chose(rows, scale, share):
    spent = Fraction(1) / (2 * Fraction(scale)) ** 2
    moved = shift(rows, spent)
    for tilt in np.geomspace(0.01, 4, 12):
        moment, own = log_moment(rows, scale, share, tilt), tilt**2 * rows / 8
        assert moment <= tilt * moved + own + 1e-12
        kept = math.sqrt(rows * spent / 2) / (math.sqrt(rows * spent / 2) + math.sqrt(own))
        paid = price_of(rows, spent, kept) + own / (1 - kept)  # as widths pay, at the best part
        assert paid == pytest.approx(tilt * moved + own)


def test_theorem_SUBSET_OVERFIT_would_not_hold_for_three_quarters_of_it():
    """It would not hold for three quarters of the shift."""
    rows, scale, tilt = 30, 12.0, 0.002
    moved = shift(rows, Fraction(1) / (2 * Fraction(scale)) ** 2)
    assert log_moment(rows, scale, 0.5, tilt) > tilt * 0.75 * moved + tilt**2 * rows / 8


def miss(rows, share, first_scale, second_scale, width):
    """Pr[second answer - its expectation > width], the query chosen by the first as above, exactly but for 1e-12."""
    total = 0.0
    for count in range(rows + 1):
        gap = count - rows * share
        high = float(ndtr(gap / first_scale))
        beyond = high * float(ndtr((gap - width) / second_scale)) + (1 - high) * float(
            ndtr((-gap - width) / second_scale)
        )
        total += binom.pmf(count, rows, share) * beyond
    return total


@pytest.mark.parametrize("rows", [1, 3, 10, 200])
@pytest.mark.parametrize(("first", "second"), [(0.2, 0.2), (1.0, 0.5), (0.5, 3.0), (4.0, 4.0)])
@pytest.mark.parametrize("level", [0.3, 0.025, 1e-4])
def test_theorem_SUBSET_ANSWERS_query_two_follows_answer_one(rows, first, second, level):
    spent = Fraction(1) / (2 * Fraction(first)) ** 2
    width = shift(rows, spent) + fixed_width(rows, second, math.log(level))
    for share in (0.5, 0.9, 0.05):
        assert miss(rows, share, first, second, width) <= level


def exact_log_bound(rows, span, scale, width):
    """The bound for a query fixed in advance at its best location, in fifty digits."""
    mp = mpmath.mp.clone()
    mp.dps = 50
    ratio = mp.mpf(rows) * mp.mpf(span) ** 2 / (4 * mp.mpf(scale) ** 2)

    def hazard(y):
        return mp.npdf(y) / (mp.erfc(y / mp.sqrt(2)) / 2)

    low, high = mp.mpf(-40), mp.mpf(60)
    for _ in range(100):  # 28 digits of the best location: there the bound is flat, and has all fifty
        y = (low + high) / 2
        low, high = (y, high) if scale * (y + ratio * hazard(y)) < width else (low, y)
    return mp.log(mp.erfc(high / mp.sqrt(2)) / 2) - ratio * hazard(high) ** 2 / 2


@pytest.mark.parametrize("rows", [1, 1000, 10**7])
@pytest.mark.parametrize("scale", [0.01, 1.0, 300.0, 1e7])
@pytest.mark.parametrize("log_level", [-0.5, -3.0, -15.0, -300.0])
def test_theorem_SUBSET_ANSWERS_widths_are_never_below_fifty_digits(rows, scale, log_level):
    width = fixed_width(rows, scale, log_level)
    assert exact_log_bound(rows, 1.0, scale, width) <= log_level
    assert (
        exact_log_bound(rows, 1.0, scale, width - 0.01 * (abs(width) + scale)) > log_level
    )  # nor much wider


def test_theorem_PAY_AS_YOU_GO_levels_never_run_out():
    assert sum(map(OpenLevels().share, range(1, 100_000))) < 1
    assert sum(map(OpenLevels().share, range(1, 100_000))) > 0.93
    known = KnownLevels(50)
    assert 0.97 < sum(map(known.share, range(1, 51))) <= 0.98 + 1e-12
    assert sum(map(known.share, range(1, 50_000))) < 1
    equal = KnownLevels(300, rising=False)
    assert 0.97 < sum(map(equal.share, range(1, 301))) <= 0.98 + 1e-12
    assert 0.95 < sum(map(KnownLevels(9001).share, range(1, 9002))) <= 0.98


@pytest.mark.parametrize("planned", [None, 0.7])
def test_theorem_PAY_AS_YOU_GO_ways_share_the_failure(planned):
    """Whatever was released before a query, all ways that some query may use have 1 of the failure."""
    gaussian = ways_after(Before(Fraction(1, 50)), 1000, 0.05, planned)
    with_monitor = ways_after(Before(Fraction(1, 50), Fraction(1, 10)), 1000, 0.05, planned)
    together = sum(math.exp(way.log_level) for way in [*gaussian, *with_monitor])
    assert together == pytest.approx(0.05, rel=1e-12)
    (first,) = ways_after(Before(), 1000, 0.05, planned)
    assert (first.fresh, first.price) == (1.0, 0.0)
    assert math.exp(first.log_level) == pytest.approx(0.05)


@pytest.mark.parametrize("rows", [3, 40])
@pytest.mark.parametrize("level", [0.1, 0.005])
def test_theorem_PAY_AS_YOU_GO_noise_chosen_by_the_answers(rows, level):
    """Answer one decides about the query and the noise of answer two, and which part of the rows is kept."""
    first, share = 1.5, 0.5
    spent = Fraction(1) / (2 * Fraction(first)) ** 2
    scales = (0.4, 2.0)

    def width(scale):
        ways = ways_after(Before(spent), rows, level / 2)
        return float(hoeffding_width(rows, np.array([1.0]), np.array([scale]), ways)[0])

    widths = [width(scale) for scale in scales]
    total = 0.0
    for count in range(rows + 1):
        gap = count - rows * share
        far = float(
            ndtr((abs(gap) - 1) / first)
        )  # the answer was further than one off: ask with little noise
        chosen = [(far, scales[0], widths[0]), (1 - far, scales[1], widths[1])]
        beyond = sum(w * float(ndtr((gap - t) / s) + ndtr((-gap - t) / s)) for w, s, t in chosen)
        total += binom.pmf(count, rows, share) * beyond
    assert total <= level


def test_theorem_PAY_AS_YOU_GO_costs_little_more_than_a_plan():
    rows, plan = 10**5, queries_within(10**5, Fraction("0.05"), FAILURE)
    assert plan is not None
    scale, level = rows * plan.scale_of(1), math.log(0.05 / plan.queries / 2)
    spent = (plan.queries - 1) / (2 * Fraction(scale)) ** 2
    paid = min(width_of(rows, scale, 1 - c, price_of(rows, spent, c), level + math.log(w)) for c, w in KEPT)
    planned = shift(rows, spent) + fixed_width(rows, scale, level)
    assert planned < paid < 1.08 * planned


@pytest.mark.parametrize(
    ("asked", "level"), crossed([*itertools.product([1, 7, 300], [0.1, 1.0, 4.0])], [0.2, 0.01])
)
def test_theorem_SUBSET_SHARES_cover_every_share(asked, level):
    """A query fixed in advance: the chance that an end is on the wrong side, summed over all counts."""
    (rows, scale), way = asked, [Way(1.0, 0.0, math.log(level))]
    noise = scale * norm.ppf((np.linspace(0, 1, 4001)[1:] + np.linspace(0, 1, 4001)[:-1]) / 2)
    for share in (0.0, 0.003, 0.1, 0.5, 0.97, 1.0):
        low_misses = high_misses = 0.0
        for count in range(rows + 1):
            chance = binom.pmf(count, rows, share)
            if chance < 1e-15:
                continue
            answers = count + noise
            low_misses += chance * float(np.mean(least_share(answers, rows, scale, way) > share))
            high_misses += chance * float(np.mean(greatest_share(answers, rows, scale, way) < share))
        assert max(low_misses, high_misses) <= level + 1 / 4000  # of one step of the grid


def test_theorem_SUBSET_SHARES_after_an_answer_that_chose():
    """Query two is the coin or its complement, by answer one; both ends hold at the paid price."""
    rows, first, second, level = 60, 3.0, 1.0, 0.05
    spent = Fraction(1) / (2 * Fraction(first)) ** 2
    ways = ways_after(Before(spent), rows, level)
    draws = norm.ppf((np.arange(2000) + 0.5) / 2000)
    for share in (0.5, 0.1):
        total = 0.0
        for count in range(rows + 1):
            chance, high = binom.pmf(count, rows, share), float(ndtr((count - rows * share) / first))
            if chance < 1e-14:
                continue
            over = float(np.mean(least_share(count + second * draws, rows, second, ways) > share))
            under = float(np.mean(least_share(rows - count + second * draws, rows, second, ways) > 1 - share))
            total += chance * (high * over + (1 - high) * under)
        assert total <= level


def test_theorem_SUBSET_SHARES_rare_ones_are_far_narrower_than_their_range():
    rows, scale, way = 10**5, 100.0, [Way(1.0, 0.0, math.log(0.025 / 100))]
    answer = np.array([1000.0])
    width = float(greatest_share(answer, rows, scale, way)[0] - least_share(answer, rows, scale, way)[0]) / 2
    assert width < 0.6 * fixed_width(rows, scale, way[0].log_level) / rows


def test_theorem_SUBSET_P_VALUES_a_test_that_the_answer_chose():
    """One- or other-sided test of a coin, the side chosen by a noisy count: at most alpha under the null."""
    rows, scale, alpha = 400, 6.0, Fraction(1, 20)
    spent = Fraction(1) / (2 * Fraction(scale)) ** 2
    for threshold in (
        p_value_threshold(alpha, rows, spent),
        paid_threshold(alpha, rows, spent),
    ):
        total = 0.0
        for count in range(rows + 1):
            high = float(ndtr((count - rows / 2) / scale))
            over = binom.sf(count - 1, rows, 0.5) <= threshold
            under = binom.cdf(count, rows, 0.5) <= threshold
            total += binom.pmf(count, rows, 0.5) * (high * over + (1 - high) * under)
        assert total <= alpha


def test_theorem_SUBSET_P_VALUES_numbers():
    spent = Fraction(1) / (2 * 4000 * Fraction("0.01")) ** 2
    assert p_value_threshold(FAILURE, 4000, spent) == pytest.approx(0.00528, abs=1e-5)
    assert p_value_threshold(FAILURE, 4000, Fraction(0)) == pytest.approx(0.05, rel=1e-15)
    paid = paid_threshold(FAILURE, 4000, spent)
    assert 0.0024 < paid <= p_value_threshold(FAILURE, 4000, spent)
    assert paid_threshold(FAILURE, 4000, Fraction(0)) == pytest.approx(0.05, rel=1e-15)


@pytest.mark.parametrize("rows", [1, 20, 400])
@pytest.mark.parametrize("share", [0.5, 0.03, 0.001])
@pytest.mark.parametrize("scale", [0.3, 2.0])
@pytest.mark.parametrize("level", [0.2, 1e-3])
def test_theorem_SUBSET_BENNETT_rare_events_fixed_in_advance(rows, share, scale, level):
    """Exactly, for coins: both sides, because a complement is as rare."""
    variance = np.array([rows * share * (1 - share)])
    width = float(variance_width(variance, 1.0, scale, [Way(1.0, 0.0, math.log(level))])[0])
    gaps = np.arange(rows + 1) - rows * share
    chances = binom.pmf(np.arange(rows + 1), rows, share)
    assert float(chances @ ndtr((gaps - width) / scale)) <= level
    assert float(chances @ ndtr((-gaps - width) / scale)) <= level


def test_theorem_SUBSET_BENNETT_less_variance_would_not_do():
    rows, share, scale, level = 4000, 0.5, 1.0, 0.1
    narrow = variance_width(np.array([rows * 0.04]), 1.0, scale, [Way(1.0, 0.0, math.log(level))])
    gaps = np.arange(rows + 1) - rows * share
    assert (
        float(binom.pmf(np.arange(rows + 1), rows, share) @ ndtr((gaps - float(narrow[0])) / scale)) > level
    )


def test_theorem_SUBSET_SHARES_many_cells_are_those_of_one():
    """Very small and large ones, for which other tilts are best.  Mutant: one factor for all in ``greatest``."""
    ways, counts = ways_after(Before(Fraction(5)), 500, 0.05 / 900), np.linspace(0, 500, 1_000)
    many = least_share(counts, 500, 8.0, ways)[::40]
    alone = np.array([least_share(counts[i : i + 1], 500, 8.0, ways)[0] for i in range(0, 1_000, 40)])
    assert np.all(np.abs(many - alone) <= 0.01 * np.maximum(counts[::40] / 500 - alone, 1e-3))


def test_theorem_SUBSET_BENNETT_many_cells_are_those_of_one():
    ways = [Way(0.5, 1.5, math.log(1e-4)), Way(0.1, 13.5, math.log(1e-4))]
    variances = np.random.default_rng(3).gamma(0.3, 400.0, size=5000)
    together = variance_width(variances, 2.0, 7.0, ways)
    alone = np.array([float(variance_width(np.array([v]), 2.0, 7.0, ways)[0]) for v in variances[:50]])
    assert np.allclose(together[:50], alone, rtol=0.02)  # other locations are tried for many


def test_theorem_SUBSET_BENNETT_against_fifty_digits():
    mp = mpmath.mp.clone()
    mp.dps = 50
    tails = [(y, mp.erfc(mp.mpf(y) / mp.sqrt(2)) / 2) for y in np.linspace(-3, 12, 3001)]
    places = [(y, mp.npdf(y) / beyond, mp.log(beyond)) for y, beyond in tails]
    for variance, span, scale, level in [
        (1250.0, 1.0, 20.0, -12.0),
        (3.0, 2.0, 0.5, -3.0),
        (1e-6, 1.0, 1.0, -30.0),
    ]:
        way = Way(0.4, 2.0, level)
        width = mp.mpf(float(variance_width(np.array([variance]), span, scale, [way])[0]))
        best = mp.inf
        for y, hazard, tail in places:
            tilt, x = hazard / scale, hazard * span / (mp.mpf(scale) * mp.mpf(way.fresh))
            moments = mp.mpf(way.fresh) * variance * (mp.expm1(x) - x) / span**2
            best = min(best, tail - tilt * (width - scale * y) + moments + way.price)
        assert level - 0.2 <= best <= level + 1e-3


def slack_of_parts(rows, size, values, law, scales, answers, factor=1.0):
    """As ``slack``, served from parts of a fixed size, with the spread that the sample has."""
    kinds, kept = len(law), size / rows

    def log_density(counts, of):
        means = np.array(counts) @ values / of
        return -float(np.sum((answers - means) ** 2 / (2 * scales**2)))

    def price(counts):
        shares = np.array(counts) / rows
        spread = shares @ values**2 - (shares @ values) ** 2
        radius = float(np.sum(spread / (rows * scales) ** 2))
        return factor * rows**2 / (rows - 1) * (1 - kept) / kept * radius / 2

    everyone = [log_chance(x, law) + (log_density(x, rows) - price(x)) / kept for x in counts_of(rows, kinds)]
    served = [log_chance(x, law) + log_density(x, size) for x in counts_of(size, kinds)]
    return float(np.logaddexp.reduce(served)) - kept * float(np.logaddexp.reduce(everyone))


@pytest.mark.literature
def test_theorem_SUBSET_VARIANCE_holds_on_every_path():
    rng, worst = np.random.default_rng(7), math.inf
    for _ in range(500):
        rows, _, values, law, scales, answers = case(rng)
        rows = max(rows, 2)
        worst = min(worst, slack_of_parts(rows, int(rng.integers(1, rows)), values, law, scales, answers))
    assert worst > -1e-9


@pytest.mark.literature
def test_theorem_SUBSET_VARIANCE_would_not_hold_for_a_little_less():
    coin, even = np.array([[0.0], [1.0]]), np.array([0.5, 0.5])
    tight = slack_of_parts(2, 1, coin, even, np.array([0.8]), np.array([0.5]))
    assert -1e-12 < tight < 0.1
    worst = min(
        slack_of_parts(2, 1, coin, even, np.array([s]), np.array([a]), factor=0.9)
        for s in (0.3, 0.8, 2.0, 6.0)
        for a in (0.0, 0.25, 0.5)
    )
    assert worst < 0


def test_theorem_SUBSET_VARIANCE_the_price_covers_every_size_of_a_part():
    for rows, (kept, _) in itertools.product((100, 101, 137, 1000, 54321), KEPT):
        size = math.floor(rows * kept)
        exact = rows**2 / (rows - 1) * ((1 - kept) / kept + 1 / (4 * kept * size * (size + 1))) / 2
        assert exact <= gaussian_price(rows, 1.0, kept) <= 1.05 * exact


def test_theorem_SUBSET_WITH_PURE_PARTS_holds_on_every_path():
    """A noisy average, and a coin whose bias follows the rows by at most epsilon for each."""
    rng, worst = np.random.default_rng(8), math.inf
    for _ in range(400):
        rows, kept, values, law, scales, answers = case(rng)
        other, epsilon = (1 - kept) * rng.uniform(0.1, 0.9), rng.choice([0.1, 0.7, 2.0])
        everyone, served = counts_of(rows, len(law)), 0.0
        tilts = rng.uniform(-1, 1, size=len(everyone))
        logs = {x: _coin_log(x, everyone, tilts, epsilon) for x in everyone}

        def log_density(counts, size, values=values, answers=answers, scales=scales):
            means = 0.5 + np.array(counts) @ (values - 0.5) / size
            return -float(np.sum((answers - means) ** 2 / (2 * scales**2)))

        both = [log_chance(x, law) + (log_density(x, rows) + logs[x]) / (kept + other) for x in everyone]
        spent = float(sum(1 / (2 * rows * s) ** 2 for s in scales))
        bound = (1 - kept) / kept * rows * spent / 2 + pure_price(rows, epsilon, other)
        bound += float(np.logaddexp.reduce([log_chance(x, law) + logs[x] for x in everyone]))
        for size in range(rows + 1):
            weight = math.comb(rows, size) * kept**size * (1 - kept) ** (rows - size)
            served = [log_chance(x, law) + log_density(x, kept * rows) for x in counts_of(size, len(law))]
            bound += weight * float(np.logaddexp.reduce(served))
        worst = min(worst, bound - (kept + other) * float(np.logaddexp.reduce(both)))
    assert worst > -1e-9


def _coin_log(counts, everyone, tilts, epsilon):
    """log of a probability that moves by at most epsilon if one row is exchanged: the least of what others allow."""
    apart = [sum(abs(a - b) for a, b in zip(counts, x, strict=True)) / 2 for x in everyone]
    return min(t + epsilon * d for t, d in zip(tilts, apart, strict=True)) - 5.0


def test_theorem_SUBSET_ALL_FUNCTIONS_information_of_one_answer():
    """Exactly, by quadrature: a noisy count of coins, and how often it tells more than the bound."""
    rows, scale, failure = 12, 1.5, Fraction(1, 50)
    spent = Fraction(1) / (2 * Fraction(scale)) ** 2
    bound = information_bound(rows, spent, failure)
    counts = np.arange(rows + 1)
    prior = binom.pmf(counts, rows, 0.5)
    grid = np.linspace(-12, rows + 12, 6001)
    joint = prior[:, None] * norm.pdf(grid[None, :], counts[:, None], scale)
    density = joint.sum(0)
    told = np.nansum(joint / density * np.log(joint / density / prior[:, None]), axis=0)
    step = grid[1] - grid[0]
    assert float(density[told > bound].sum() * step) <= float(failure)
    assert float(np.sum(density * told) * step) <= information_bound(rows, spent, Fraction(999, 1000))
    assert every_function_width(rows, spent, failure) == pytest.approx(
        math.sqrt(float(spent)) / 2 + math.sqrt(math.log(50) / 24), rel=1e-9
    )


@pytest.mark.parametrize("off", [0.0, 0.02, 0.5, 30.0, np.nan])
def test_theorem_SUBSET_MEANS_a_bad_guess_of_the_ends_loses_nothing(off: float) -> None:
    """Widths are known here, so every theta that must be kept is known too.

    Mutant: to go on to a later interval although what a step left does not lie in it.
    """
    rng = np.random.default_rng(3)
    top, bottom = rng.uniform(-900, 900, 12), rng.uniform(300, 1000, 12)
    whole = np.full(12, 2.0)

    def at(theta: np.ndarray) -> np.ndarray:
        return 20 + 30 * np.abs(theta)

    def widths(first: np.ndarray, last: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        most = at(np.maximum(np.abs(first), np.abs(last)))
        return most, most

    thetas = np.linspace(-2, 2, 40_001)
    holds = np.abs(top[:, None] - thetas * bottom[:, None]) <= at(thetas)
    least = np.array([thetas[one].min() for one in holds])
    most = np.array([thetas[one].max() for one in holds])
    long = np.subtract(*ratio_ends(top, bottom, -whole, whole, widths)[::-1])
    for middle in ((least + most) / 2, (least + most) / 2 + off * (most - least)):
        for length in (0.0, 1e-9, 0.5, 1.0, 1 + off, 4.0):
            half = length * (most - least) / 2
            low, high = ratio_ends(top, bottom, -whole, whole, widths, (middle - half, middle + half))
            assert np.all(low <= least)
            assert np.all(high >= most)
            assert np.all(high - low <= 1.01 * long)
