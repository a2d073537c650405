"""The view of hypothesis testing: no test of any mechanism passes the curve, and some test reaches it."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import mpmath as mp
import pytest
from composition_oracle import Kernel, as_law, epsilon_of, hockey_stick, random_kernel, subsets, warner
from hypothesis import given, settings
from hypothesis import strategies as st

from adyton.accounting.textbook.trade_off import ApproximateView, GaussianView, LaplaceView, trade_off
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Guarantee

ZERO = Fraction(0)
KERNELS = [random_kernel(Random(seed), 4, 6) for seed in range(25)]
rates = st.fractions(0, 1)
epsilons = st.floats(-5, 1.5).map(lambda x: Fraction(f"{10**x:.3g}"))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("factor", [None, Fraction(5, 4), Fraction(2)])
def test_theorem_TESTING_VIEW_covers_every_test(kernel: Kernel, factor: Fraction | None) -> None:
    if factor is None:
        one = Guarantee(epsilon_of(kernel), ZERO)
    else:
        delta = hockey_stick(as_law(kernel[0]), as_law(kernel[1]), factor)
        one = Guarantee(Fraction(math.log(factor)) * (1 + Fraction(1, 10**14)), delta)
    view = ApproximateView(one)
    for p, q in (kernel, kernel[::-1]):
        for s in subsets(4):
            false, true = sum((q[i] for i in s), ZERO), sum((p[i] for i in s), ZERO)
            assert true <= view.true_positives_up(false)


@pytest.mark.parametrize(("odds", "leak"), [(Fraction(2), ZERO), (Fraction(3), Fraction(1, 10))])
def test_theorem_TESTING_VIEW_is_reached(odds: Fraction, leak: Fraction) -> None:
    """The tests of randomized response stand at the corners of the curve; between them tests are mixed."""
    p, q = warner(odds, leak)
    view = ApproximateView(Guarantee(Fraction(math.log(odds)), leak))
    false, true = ZERO, leak
    for i in (1, 2, 3):
        assert view.true_positives_up(false) == pytest.approx(float(true), abs=1e-14)
        middle = view.true_positives_up(false + q[i] / 2)
        assert middle == pytest.approx(float(true + p[i] / 2), abs=1e-14)
        false, true = false + q[i], true + p[i]


@settings(deadline=None)
@given(epsilons, st.fractions(0, Fraction(9, 10)), rates)
def test_theorem_TESTING_VIEW_is_the_formula_rounded_up(
    epsilon: Fraction, delta: Fraction, false: Fraction
) -> None:
    with mp.workdps(60):
        e, d, x = (mp.mpf(v.numerator) / v.denominator for v in (epsilon, delta, false))
        truth = min(mp.mpf(1), mp.exp(e) * x + d, 1 - mp.exp(-e) * (1 - d - x))
        found = ApproximateView(Guarantee(epsilon, delta)).true_positives_up(false)
        assert truth <= found <= truth * (1 + mp.mpf(2) ** -51)


@pytest.mark.parametrize("leak", [ZERO, Fraction(1, 8)])
def test_theorem_TESTING_VIEW_profile_is_that_of_randomized_response(leak: Fraction) -> None:
    p, q = warner(Fraction(4), leak)
    view = ApproximateView(Guarantee(Fraction(math.log(4)), leak))
    for epsilon in (0.0, 0.3, 1.0, 1.38, 1.4, 5.0):
        truth = hockey_stick(as_law(p), as_law(q), Fraction(math.exp(epsilon)))
        assert view.delta_up(epsilon) == pytest.approx(float(truth), abs=1e-14)


@settings(deadline=None)
@given(st.floats(-4, 1).map(lambda x: 10**x), st.floats(-12, -0.01).map(lambda x: 10**x))
def test_theorem_TESTING_VIEW_GDP_is_rounded_up(mu: float, false: float) -> None:
    with mp.workdps(40):
        x = Fraction(str(false))
        quantile = mp.findroot(
            lambda t: mp.ncdf(t) - mp.mpf(x.numerator) / x.denominator, mp.mpf(_quantile(false))
        )
        truth = mp.ncdf(quantile + mp.mpf(mu))
        found = GaussianView(mu).true_positives_up(x)
        assert truth <= found <= truth * (1 + mp.mpf("1e-9"))


def _quantile(p: float) -> float:
    from adyton.kernel.exact.special import special

    return float(special().ndtri(p))


def test_theorem_TESTING_VIEW_GDP_and_profile_agree() -> None:
    """TPR <= e^epsilon FPR + delta(epsilon) for every epsilon, and the best epsilon gives the curve."""
    view = GaussianView(0.7)
    for false in (0.001, 0.05, 0.3, 0.8):
        lines = [math.exp(e / 50) * false + view.delta_up(e / 50) for e in range(200)]
        both = min(*lines, *(1 - math.exp(-e / 50) * (1 - view.delta_up(e / 50) - false) for e in range(200)))
        assert view.true_positives_up(false) <= both * (1 + 1e-9)
        assert view.true_positives_up(false) == pytest.approx(both, rel=1e-3)


@settings(deadline=None)
@given(epsilons, st.floats(-30, 30))
def test_theorem_TESTING_VIEW_LAPLACE_reaches_every_threshold(epsilon: Fraction, threshold: float) -> None:
    """Both error rates of the test "above t", from the tails of the Laplace law."""

    def above(t: mp.mpf) -> mp.mpf:
        return mp.exp(-t) / 2 if t > 0 else 1 - mp.exp(t) / 2

    with mp.workdps(60):
        t, e = mp.mpf(threshold), mp.mpf(epsilon.numerator) / epsilon.denominator
        false = Fraction(int(mp.floor(above(t) * 10**40)), 10**40)
        found = LaplaceView(epsilon).true_positives_up(false)
        assert abs(mp.mpf(found) - above(t - e)) <= mp.exp(e) * mp.mpf(10) ** -38 + mp.mpf(2) ** -52 * found


@given(epsilons)
def test_theorem_TESTING_VIEW_LAPLACE_profile_is_the_largest_gap(epsilon: Fraction) -> None:
    """delta(e) is the largest TPR - exp(e) FPR over the curve."""
    view = LaplaceView(epsilon)
    for share in (0.0, 0.4, 0.9):
        at = float(epsilon) * share
        best = math.exp(-(float(epsilon) + at) / 2) / 2
        gap = view.true_positives_up(best) - math.exp(at) * best
        assert view.delta_up(at) == pytest.approx(gap, abs=1e-12)
        for near in (best * 0.9, min(1.0, best * 1.1)):
            assert view.true_positives_up(near) - math.exp(at) * near <= view.delta_up(at) + 1e-12
    assert view.delta_up(float(epsilon) + 1) == 0.0


@given(rates)
def test_law_stronger_guarantees_have_higher_curves(false: Fraction) -> None:
    """Nothing revealed is 1 - x; Laplace noise reveals less than the worst mechanism of its epsilon."""
    pure = ApproximateView(Guarantee(Fraction(1), ZERO))
    laplace = LaplaceView(Fraction(1))
    weaker = ApproximateView(Guarantee(Fraction(1), Fraction(1, 100)))
    assert trade_off(weaker, false) <= trade_off(pure, false) <= trade_off(laplace, false) + 1e-15
    assert trade_off(laplace, false) <= 1 - false


@pytest.mark.parametrize(
    "call",
    [
        lambda: ApproximateView(Guarantee(Fraction(1), ZERO)).true_positives_up(-1),
        lambda: ApproximateView(Guarantee(Fraction(1), ZERO)).true_positives_up("1.1"),
        lambda: ApproximateView(Guarantee(Fraction(1), ZERO)).delta_up(-1.0),
        lambda: GaussianView(0.0),
        lambda: GaussianView(math.nan),
        lambda: GaussianView(math.inf),
        lambda: GaussianView(1.0).delta_up(math.nan),
        lambda: LaplaceView(Fraction(1)).true_positives_up("nan"),
    ],
)
def test_bad_input_is_refused(call) -> None:
    with pytest.raises(InvalidRequest):
        call()
