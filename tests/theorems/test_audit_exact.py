"""The true privacy curve of laws that can be written down, against closed forms and against our own claims."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adyton.audit import OutputLaw, exact_curve, exact_delta
from adyton.audit.cases.catalogue import entry_named, target_of
from adyton.audit.exact import gaussian_law, geometric_law
from adyton.errors import InvalidRequest
from adyton.kernel.accounting import gaussian


def exact_epsilon(first: OutputLaw, second: OutputLaw) -> float:
    """The largest logarithm of a ratio among the listed outputs: the pure epsilon, if nothing is left out."""
    both = first.probabilities.keys() & second.probabilities.keys()
    found = [(float(first.probabilities[o]), float(second.probabilities[o])) for o in both]
    assert both == first.probabilities.keys() | second.probabilities.keys()
    return max(abs(math.log(p) - math.log(q)) for p, q in found if p or q)


weights = st.lists(st.integers(0, 20), min_size=2, max_size=6).filter(any)


def law_of(numbers: list[int]) -> OutputLaw:
    return OutputLaw({i: Fraction(n, sum(numbers)) for i, n in enumerate(numbers)})


def best_event(p: OutputLaw, q: OutputLaw, epsilon: float) -> float:
    """The definition itself: the worst of all 2**k events, in both directions."""
    outputs = sorted({*p.probabilities, *q.probabilities})
    worst = 0.0
    for chosen in range(2 ** len(outputs)):
        event = [o for i, o in enumerate(outputs) if chosen >> i & 1]
        a, b = (float(sum(law.probabilities.get(o, 0) for o in event)) for law in (p, q))
        worst = max(worst, a - math.exp(epsilon) * b, b - math.exp(epsilon) * a)
    return worst


@given(weights, weights, st.floats(0, 3))
def test_theorem_EXACT_DELTA_is_the_worst_of_all_events(p: list[int], q: list[int], epsilon: float) -> None:
    found = exact_delta(law_of(p), law_of(q), epsilon)
    truth = best_event(law_of(p), law_of(q), epsilon)
    assert found.low - 1e-12 <= truth <= found.high + 1e-12
    assert found.high - found.low < 1e-9


@pytest.mark.parametrize("scale", [0.4, 1.0, 3.0])
def test_theorem_EXACT_DELTA_of_geometric_noise_has_its_closed_form(scale: float) -> None:
    """For values one apart and epsilon below 1/scale the best event is everything from the larger value on."""
    reach = math.ceil(50 * scale)
    p, q = (geometric_law(v, scale, -reach, reach) for v in (0, 1))
    r = math.exp(-1 / scale)
    for epsilon in (0.0, 0.3 / scale, 0.99 / scale):
        closed = (
            (1 - r) / (1 + r) * sum(r ** abs(z - 1) - math.exp(epsilon) * r ** abs(z) for z in range(1, 400))
        )
        found = exact_delta(p, q, epsilon)
        assert found.low <= closed * (1 + 1e-9)
        assert closed <= found.high * (1 + 1e-9)
    assert exact_delta(p, q, 1 / scale).low == 0
    assert exact_delta(p, q, 1 / scale).high < 1e-9
    assert exact_epsilon(p, q) == pytest.approx(1 / scale, rel=1e-9)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 4.0])
def test_theorem_EXACT_DELTA_of_rounded_gaussian_noise_is_within_the_claim(sigma: float) -> None:
    reach = math.ceil(15 * sigma) + 2
    p, q = (gaussian_law(v, sigma, -reach, reach) for v in (0, 1))
    for found in exact_curve(p, q, [0.0, 0.5, 1.0, 2.0, 4.0]):
        assert found.high <= gaussian.delta_up(1 / sigma, found.epsilon) * (1 + 1e-8) + 1e-12
    assert exact_delta(p, q, 1.0).low > gaussian.delta_up(0.8 / sigma, 1.0)  # less noise would show


def test_a_remainder_is_counted_and_a_law_must_add_up() -> None:
    whole = geometric_law(0, 1.0, -3, 3)
    assert whole.remainder > 0.01
    found = exact_delta(whole, geometric_law(1, 1.0, -3, 3), 1.0)
    assert found.high >= whole.remainder
    half = OutputLaw({0: Fraction(1, 2)}, remainder=0.5), OutputLaw({0: Fraction(1)})
    assert exact_delta(*half, 1.0).high >= 0.5  # what is left out may be anything
    assert exact_delta(*reversed(half), 1.0).high >= 0.5
    with pytest.raises(InvalidRequest, match="add up"):
        OutputLaw({0: 0.5})
    with pytest.raises(InvalidRequest, match="same outputs"):
        exact_delta(whole, geometric_law(0, 1.0, -2, 3), 1.0)


@pytest.mark.parametrize("name", ["exponential", "permute-and-flip", "noisy-max", "quantile"])
def test_selections_keep_their_claim_exactly_and_nearly_use_it(name: str) -> None:
    for trial in entry_named(name).trials(target_of()):
        assert trial.laws is not None
        first, second = trial.laws
        assert exact_epsilon(first, second) <= trial.claim.epsilon * (1 + 1e-9)
        assert exact_epsilon(first, second) > 0.6
        assert exact_delta(first, second, trial.claim.epsilon).low == 0
        assert exact_delta(first, second, 0.55).low > 0


def test_the_auditor_agrees_with_the_exact_law() -> None:
    """Samples from a law that is known: the lower bound is below the truth and near it."""
    from adyton.audit import audit

    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    rng = np.random.Generator(np.random.Philox(3))
    found = audit(lambda law, n: rng.choice(3, n, p=law), (p, q), 1.0, samples=200_000)
    assert 0.87 < found.lower_bound < math.log(2.5)
