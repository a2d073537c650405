"""Total variation, Kullback-Leibler and max-divergence against all events of exact laws."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import mpmath as mp
import pytest
from composition_oracle import (
    Kernel,
    adaptively,
    as_law,
    epsilon_of,
    hockey_stick,
    random_kernel,
    subsets,
    warner,
)
from hypothesis import given
from hypothesis import strategies as st

from adyton.accounting.textbook.conversions import (
    divergence_up,
    epsilon_for_total_variation,
    guarantee_of_total_variation,
    total_variation_up,
)
from adyton.accounting.textbook.divergence import largest_ratio, max_divergence
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Guarantee
from literature.quoted import loose_divergence, loose_total_variation
from literature.total_variation import (
    total_variation_gdp_up,
    total_variation_of_any_two,
    total_variation_together_up,
)

epsilons = st.floats(-6, 2).map(lambda x: Fraction(f"{10**x:.3g}"))
shares = st.fractions(0, Fraction(99, 100))
KERNELS = [random_kernel(Random(seed), 4, 6) for seed in range(40)]


def distance(kernel: Kernel) -> Fraction:
    return hockey_stick(as_law(kernel[0]), as_law(kernel[1]), Fraction(1))


def delta_at(kernel: Kernel, factor: Fraction) -> Fraction:
    return hockey_stick(as_law(kernel[0]), as_law(kernel[1]), factor)


@pytest.mark.parametrize("kernel", KERNELS)
def test_theorem_DP_IMPLIES_TV_covers_any_mechanism(kernel: Kernel) -> None:
    assert distance(kernel) <= total_variation_up(Guarantee(epsilon_of(kernel), Fraction(0)))
    for factor in (Fraction(5, 4), Fraction(2), Fraction(3)):
        delta = delta_at(kernel, factor)
        if delta < 1:
            assert distance(kernel) <= total_variation_up(
                Guarantee(Fraction(math.log(factor)) * (1 + Fraction(1, 10**14)), delta)
            )


@given(epsilons, shares)
def test_theorem_DP_IMPLIES_TV_is_attained_and_rounded_up(epsilon: Fraction, delta: Fraction) -> None:
    with mp.workdps(50):
        e, d = mp.mpf(epsilon.numerator) / epsilon.denominator, mp.mpf(delta.numerator) / delta.denominator
        truth = d + (1 - d) * mp.tanh(e / 2)
        found = total_variation_up(Guarantee(epsilon, delta))
        assert truth <= found <= truth * (1 + mp.mpf(2) ** -51)


@pytest.mark.parametrize(("odds", "leak"), [(Fraction(2), Fraction(0)), (Fraction(7, 2), Fraction(1, 9))])
def test_theorem_DP_IMPLIES_TV_randomized_response_reaches_it(odds: Fraction, leak: Fraction) -> None:
    found = total_variation_up(Guarantee(Fraction(math.log(odds)), leak))
    assert float(distance(warner(odds, leak))) == pytest.approx(found, rel=1e-14)


@given(st.fractions(Fraction(1, 10**6), Fraction(999, 1000)))
def test_theorem_DP_IMPLIES_TV_back_is_on_the_safe_side(tv: Fraction) -> None:
    epsilon = epsilon_for_total_variation(tv)
    assert (
        tv * (1 - Fraction(1, 10**12))
        <= total_variation_up(Guarantee(Fraction(epsilon), Fraction(0)))
        <= tv * (1 + Fraction(1, 2**52))
    )


def test_the_loose_forms_of_the_lectures() -> None:
    assert (
        loose_total_variation(1),
        total_variation_up(Guarantee(Fraction(1), Fraction(0))),
    ) == pytest.approx((0.859, 0.462), abs=5e-4)
    assert (loose_divergence(1), divergence_up(1)) == pytest.approx((1.718, 0.462), abs=5e-4)
    assert loose_total_variation("1.0987") > 1
    assert total_variation_gdp_up(1) == pytest.approx(0.38292492, abs=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_theorem_DP_IMPLIES_KL_covers_any_mechanism(kernel: Kernel) -> None:
    """And the total variation distance keeps to Pinsker's inequality."""
    p, q = kernel
    kl = sum(float(a) * math.log(a / b) for a, b in zip(p, q, strict=True))
    assert kl <= divergence_up(epsilon_of(kernel)) + 1e-15
    assert 2 * float(distance(kernel)) ** 2 <= kl + 1e-15


@given(epsilons)
def test_theorem_DP_IMPLIES_KL_is_attained_by_randomized_response(epsilon: Fraction) -> None:
    with mp.workdps(50):
        e = mp.mpf(epsilon.numerator) / epsilon.denominator
        truth = e * (mp.exp(e) - 1) / (mp.exp(e) + 1)
        assert truth <= divergence_up(epsilon) <= truth * (1 + mp.mpf(2) ** -51)
    assert divergence_up(epsilon) < loose_divergence(epsilon)


@pytest.mark.parametrize("kernel", KERNELS[:10])
@pytest.mark.parametrize("epsilon", ["1e-3", "0.5", "3"])
def test_theorem_TV_IS_DELTA_for_every_epsilon(kernel: Kernel, epsilon: str) -> None:
    guaranteed = guarantee_of_total_variation(distance(kernel), epsilon)
    assert delta_at(kernel, Fraction(1)) <= guaranteed.delta
    assert delta_at(kernel, Fraction(math.exp(float(epsilon)) * (1 - 1e-14))) <= guaranteed.delta


@pytest.mark.literature
@pytest.mark.parametrize("factor", [Fraction(1), Fraction(10), Fraction(10**6)])
def test_theorem_TV_IS_DELTA_nothing_better_can_be_said(factor: Fraction) -> None:
    """Published with probability 1/9, else silent: delta is 1/9 at every epsilon."""
    published = [Fraction(1, 9), Fraction(0), Fraction(8, 9)], [Fraction(0), Fraction(1, 9), Fraction(8, 9)]
    assert delta_at(published, factor) == distance(published) == Fraction(1, 9)


def test_theorem_TV_IS_DELTA_far_tables() -> None:
    """Seven rows, each published with probability 1/20 of its own: all-zeros against all-ones."""
    p, q = adaptively(
        7,
        lambda past: (
            [Fraction(1, 20), Fraction(0), Fraction(19, 20)],
            [Fraction(0), Fraction(1, 20), Fraction(19, 20)],
        ),
    )
    assert (
        hockey_stick(p, q, Fraction(1))
        <= total_variation_of_any_two(Fraction(1, 20), 7)
        == pytest.approx(0.35)
    )
    assert total_variation_of_any_two("0.0049", 100) < 0.5 < total_variation_of_any_two("0.0051", 100)


@pytest.mark.parametrize("seed", range(20))
def test_theorem_TV_COMPOSITION_covers_adaptive_transcripts(seed: int) -> None:
    rng = Random(seed)
    kernels = {past: random_kernel(rng, 3, 4) for past in [(), *((i,) for i in range(3))]}
    p, q = adaptively(2, lambda past: kernels[past])
    first, second = distance(kernels[()]), max(distance(kernels[(i,)]) for i in range(3))
    assert (
        hockey_stick(p, q, Fraction(1))
        <= total_variation_together_up([(first, 1), (second, 1)])
        <= float(first + second) + 1e-12
    )


def test_theorem_TV_COMPOSITION_is_attained() -> None:
    publish = [Fraction(1, 5), Fraction(0), Fraction(4, 5)], [Fraction(0), Fraction(1, 5), Fraction(4, 5)]
    p, q = adaptively(3, lambda past: publish)
    assert float(hockey_stick(p, q, Fraction(1))) == pytest.approx(
        total_variation_together_up([(Fraction(1, 5), 3)]), rel=1e-12
    )
    assert total_variation_together_up([("0.2", 1)] * 3) == total_variation_together_up([("0.2", 3)])


# Max-divergence --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 50), Fraction(1, 4)])
def test_theorem_MAX_DIVERGENCE_over_all_events(kernel: Kernel, delta: Fraction) -> None:
    p, q = kernel
    by_events = max((sum(p[i] for i in s) - delta) / sum(q[i] for i in s) for s in subsets(4) if s)
    found = largest_ratio(p, q, delta)
    assert found == by_events
    assert max_divergence(p, q, delta) >= math.log(by_events) - 1e-15
    assert max_divergence(p, q, delta, "bits") == pytest.approx(math.log2(by_events), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("kernel", KERNELS[:15])
def test_theorem_MAX_DIVERGENCE_is_differential_privacy(kernel: Kernel) -> None:
    """(epsilon, delta) holds exactly from the divergence on, in both directions."""
    for delta in (Fraction(0), Fraction(1, 30), Fraction(1, 5)):
        worst = max(largest_ratio(*kernel, delta), largest_ratio(kernel[1], kernel[0], delta))
        assert delta_at(kernel, worst) <= delta
        assert delta_at(kernel, worst * (1 - Fraction(1, 10**9))) > delta


def test_theorem_MAX_DIVERGENCE_may_be_infinite() -> None:
    p, q = (Fraction(1, 10), Fraction(9, 10), 0), (0, Fraction(9, 10), Fraction(1, 10))
    assert max_divergence(p, q) == math.inf
    assert max_divergence(p, q, "0.09") == math.inf
    assert max_divergence(p, q, "0.1") == pytest.approx(0, abs=1e-15)
    assert largest_ratio(p, q, "0.2") == Fraction(8, 9)


@pytest.mark.parametrize(
    "call",
    [
        lambda: max_divergence([1], [1, 0]),
        lambda: max_divergence([], []),
        lambda: max_divergence(["0.5", "0.6"], ["0.5", "0.5"]),
        lambda: max_divergence([2, -1], ["0.5", "0.5"]),
        lambda: max_divergence([1], [1], 1),
        lambda: max_divergence([1], [1], -1),
        lambda: max_divergence([1], [1], 0, "bans"),  # type: ignore[arg-type]
        lambda: max_divergence([float("nan")], [1]),
        lambda: epsilon_for_total_variation(1),
        lambda: epsilon_for_total_variation(-0.1),
        lambda: guarantee_of_total_variation("0.1", 0),
        lambda: total_variation_of_any_two("0.1", 0),
        lambda: total_variation_together_up([("0.1", 0)]),
        lambda: divergence_up("nan"),
        lambda: total_variation_gdp_up(0),
    ],
)
def test_bad_input_is_refused(call) -> None:
    with pytest.raises(InvalidRequest):
        call()
