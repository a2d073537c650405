"""Pairs whose laws hardly differ: delta near the largest loss of all, against exact rationals.

delta(epsilon) is a sum of max(0, p - exp(epsilon) q).  For a float epsilon that is a rational number between
two that Taylor's series gives, so no digit of a comparison below is in doubt.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adyton.accounting.pld.pld import delta_up, epsilon_up
from literature import finite_pair
from literature.finite_pair import FinitePair
from literature.pld_from_below import delta_down
from support.tries import often

KNOWN = FinitePair(
    (Fraction(829, 1000), Fraction(171, 1000)),
    (Fraction(41450013, 50000000), Fraction(8549987, 50000000)),
)
EPSILONS = {
    "half the largest loss": lambda reach: reach / 2,
    "just below it": lambda reach: reach * (1 - 2.0**-40),
    "one float below it": lambda reach: math.nextafter(reach, 0),
    "a little more": lambda reach: reach * (1 - 2.0**-49),
    "nothing": lambda reach: 0.0,
}


@st.composite
def close_pairs(draw: st.DrawFn) -> FinitePair:
    """Two outputs, whose likelihood ratios differ from 1 by 1e-3 to 1e-21."""
    p = Fraction(draw(st.integers(1, 999)), 1000)
    apart = Fraction(draw(st.integers(1, 999)), 10 ** draw(st.integers(6, 24)))
    q = p + draw(st.sampled_from((-1, 1))) * apart * p * (1 - p)
    return FinitePair((p, 1 - p), (q, 1 - q))


def exp_between(epsilon: float) -> tuple[Fraction, Fraction]:
    """For 0 <= epsilon < 1: twenty terms, and at most twice the next one."""
    x, term, total = Fraction(epsilon), Fraction(1), Fraction(0)
    for k in range(1, 21):
        total, term = total + term, term * x / k
    return total, total + 2 * term


def least_delta(pair: FinitePair, epsilon: float, factor: Fraction) -> Fraction:
    outputs = [(Fraction(p), Fraction(q)) for p, q in zip(pair.first, pair.second, strict=True)]
    there = sum((max(Fraction(0), p - factor * q) for p, q in outputs), Fraction(0))
    back = sum((max(Fraction(0), q - factor * p) for p, q in outputs), Fraction(0))
    return max(there, back)


def bounds_hold(pair: FinitePair) -> bool:
    """At every epsilon where a rounded logarithm could cut off what is left."""
    reach = max(pair.reach, finite_pair._log_up(max(Fraction(p) / Fraction(q) for p, q in pair._outputs())))
    for at in EPSILONS.values():
        epsilon = at(reach)
        low, high = exp_between(epsilon)
        if delta_up([(pair, 1)], epsilon) < least_delta(pair, epsilon, high):
            return False
        if delta_down([(pair, 1)], epsilon) > least_delta(pair, epsilon, low):
            return False
    return True


@settings(deadline=None, max_examples=often(20, 60))
@given(close_pairs())
@example(KNOWN)
def test_theorem_PLD_ROUND_OFF_small_losses_are_never_cut_off(pair: FinitePair) -> None:
    """Mutants: ``reach`` as ``abs(math.log(p / q))``; ``optimistic`` with ``math.log`` for ``_log_down``."""
    assert bounds_hold(pair)


@settings(deadline=None, max_examples=200)
@given(close_pairs())
@example(KNOWN)
def test_theorem_CONNECT_THE_DOTS_the_reach_of_a_pair_is_not_below_a_loss(pair: FinitePair) -> None:
    """exp(reach) is at least every ratio, as rationals: exp is at least its first terms."""
    least, _ = exp_between(pair.reach)
    ratios = [Fraction(p) / Fraction(q) for p, q in zip(pair.first, pair.second, strict=True)]
    assert least >= max(max(ratio, 1 / ratio) for ratio in ratios) - Fraction(pair.reach) ** 20


def test_theorem_PLD_ROUND_OFF_a_rounded_logarithm_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mistake that was there: the logarithm of the ratio as a float, which is 1 + 1e-16 at best."""
    assert bounds_hold(KNOWN)
    rounded = property(lambda pair: max(abs(math.log(p / q)) for p, q in pair._outputs()))
    monkeypatch.setattr(FinitePair, "reach", rounded)
    assert not bounds_hold(KNOWN)


def test_theorem_CONNECT_THE_DOTS_logarithms_on_both_sides() -> None:
    for ratio in (Fraction(1), 1 + Fraction(1, 10**400), Fraction(3, 2), Fraction(7, 4), Fraction(2**900)):
        assert finite_pair._log_down(ratio) <= math.log(ratio) <= finite_pair._log_up(ratio)
        assert finite_pair._log_up(ratio) <= math.log(ratio) * (1 + 2.0**-49) + 1e-300
    assert finite_pair._log_up(Fraction(1)) == finite_pair._log_down(Fraction(1)) == 0
    assert finite_pair._log_up(1 + Fraction(1, 10**400)) > 0


def test_theorem_PLD_PRICES_A_PLAN_equal_laws_cost_nothing() -> None:
    half = (Fraction(1, 2), Fraction(1, 2))
    assert epsilon_up([(FinitePair(half, half), 1000)], 1e-9) == 0


def test_theorem_PLD_ROUND_OFF_unexplained_masses_are_added_without_loss() -> None:
    """Each of many tiny masses is below the last digit of the largest, and together they are not.

    Mutant: a plain sum over the groups, which is 23 units of rounding below the truth.
    """
    tiny = Fraction(1, 2**80)
    masses = {1: tiny} | {t: tiny * Fraction(99, 100 * 2**53) / t for t in range(2, 30)}
    slots = [(FinitePair((x, 1 - x), (0, 1)), t) for t, x in masses.items()]
    explained = math.prod(((1 - x) ** t for t, x in masses.items()), start=Fraction(1))
    assert delta_up(slots, 1.0) >= 1 - explained
