"""Thresholdout: its exact law on small sequences, what it certifies, and five mistakes that public code makes."""

from __future__ import annotations

import inspect
import math
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from adyton.errors import InvalidRequest
from adyton.holdout.methods.base import HoldoutSize
from adyton.holdout.methods.options import Aim, Thresholdout
from adyton.holdout.methods.thresholdout import (
    ThresholdoutPlan,
    noise_part,
    plan_thresholdout,
    width_of,
)
from adyton.kernel.noise import two_sided_geometric
from adyton.kernel.special.scores import GuessedScores
from adyton.lab.adaptivity.holdout_machines import first_state, next_answer
from adyton.noise_intervals.laws import geometric_pmf, geometric_tail
from adyton.validity.hinge.pairs import RandomizedResponses, stability_width_of
from literature.thresholdout import published_epsilons, published_overfits
from support.randomness import Seeded, in_bulk

REACH = 90
TRAINING = "t"


def frame(items: int = 10, failure: str = "0.05") -> HoldoutSize:
    return HoldoutSize(items, 2, Fraction(0), Fraction(failure))


def values(total: int, items: int = 10) -> np.ndarray:
    """Steps that sum to ``total``; items count 0, 1 or 2 steps."""
    made = np.zeros(items, dtype=np.uint16)
    for i in range(total):
        made[i % items] += 1
    return made


# The law ---------------------------------------------------------------------------------------------------


def exceeds(distance: int, threshold: int, scale: float) -> float:
    """P(eta < distance - threshold), eta of scale 4 s."""
    return geometric_tail(4 * scale, 1 - (distance - threshold))


def law(machine: ThresholdoutPlan, sums: tuple[int, ...], training: tuple[int, ...]) -> dict[tuple, float]:
    """Chances of all sequences of "t" (the training score) and "h" (then a noisy sum, whose law is known).

    A released sum depends on gamma and eta no more once it is released, so its noise is a factor of its own.
    """
    s = machine.scale
    gammas = {g: geometric_pmf(2 * s, g) for g in range(-REACH, REACH + 1)}
    found: dict[tuple, float] = {}

    def walk(i: int, said: tuple, weights: dict[int, float], left: int) -> None:
        if i == len(sums) or left == 0:
            found[said] = found.get(said, 0.0) + sum(weights.values())
            return
        distance = abs(sums[i] - training[i])
        above = {g: w * exceeds(distance, machine.threshold + g, s) for g, w in weights.items()}
        below = {g: w - above[g] for g, w in weights.items()}
        total = sum(above.values())
        walk(i + 1, (*said, "h"), {g: total * p for g, p in gammas.items()}, left - 1)
        walk(i + 1, (*said, TRAINING), below, left)

    walk(0, (), gammas, machine.overfits)
    return found


def epsilon_of(machine: ThresholdoutPlan) -> Fraction:
    epsilon = machine.measurement.machine.cost().pure
    assert epsilon is not None
    return epsilon


def run(machine: ThresholdoutPlan, sums: tuple[int, ...], training: tuple[int, ...], bits: Seeded) -> tuple:
    state, said = first_state(machine, bits), []
    for total, t in zip(sums, training, strict=True):
        if machine.used_up(state) is not None:
            break
        reply, state = next_answer(machine, state, values(total), Fraction(t, machine.frame.whole), bits)
        said.append("h" if reply.said == "holdout" else TRAINING)
    return tuple(said)


@pytest.mark.parametrize("overfits", [1, 2])
def test_theorem_THRESHOLDOUT_PRIVACY_the_code_has_the_stated_law(
    overfits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2,500 runs; 6 standard deviations in any of at most 8 outputs: a false alarm has chance 2e-8."""
    machine, bits, tries = ThresholdoutPlan(frame(), overfits, 9, 3, 2.0), Seeded(overfits), 2_500
    monkeypatch.setattr(two_sided_geometric, "draw", in_bulk(two_sided_geometric.draw, bits))
    sums, training = (10, 4, 12), (4, 4, 9)
    stated = law(machine, sums, training)
    assert math.fsum(stated.values()) == pytest.approx(1, abs=1e-6)
    seen = Counter(run(machine, sums, training, bits) for _ in range(tries))
    for said, chance in stated.items():
        assert abs(seen.pop(said, 0) - tries * chance) <= 6 * math.sqrt(tries * chance) + 1, said
    assert not seen


@pytest.mark.parametrize("overfits", [1, 2])
def test_theorem_THRESHOLDOUT_PRIVACY_on_all_small_adjacency(overfits: int) -> None:
    """One item moves each sum by at most 2; a released sum adds 2 / s for each "h" at most, exactly."""
    machine = ThresholdoutPlan(frame(), overfits, 9, 2, 3.0)
    training = (10, 10, 10)
    worst = phantom = 0.0
    for sums in ((10, 10, 10), (13, 10, 7), (18, 2, 10), (10, 12, 14)):
        here = law(machine, sums, training)
        for move in product((-2, 0, 2), repeat=3):
            there = law(machine, tuple(s + m for s, m in zip(sums, move, strict=True)), training)
            losses = [abs(math.log(here[o] / there[o])) + o.count("h") * 2 / machine.scale for o in here]
            worst = max(worst, *losses)
        for move in product((-1, 0, 1), repeat=3):
            there = law(machine, tuple(s + m for s, m in zip(sums, move, strict=True)), training)
            losses = [abs(math.log(here[o] / there[o])) + o.count("h") / machine.scale for o in here]
            phantom = max(phantom, *losses)
    assert worst <= float(epsilon_of(machine)) + 1e-6
    assert worst > 0.6 * float(epsilon_of(machine))  # a forgotten factor of 2 would be seen
    assert phantom <= 2 * overfits * (machine.frame.steps / 2) / machine.scale + 1e-6


def test_theorem_THRESHOLDOUT_PRIVACY_published_costs() -> None:
    costs = published_epsilons(100, 0.01, 10**4, 1e-6)
    assert costs["pure"] == pytest.approx(2)
    assert costs["lemma"] == pytest.approx(2.1547, abs=1e-4)
    assert costs["half"] == pytest.approx(1.0774, abs=1e-4)
    assert costs["proved"] == pytest.approx(1.0975, abs=1e-4)
    assert epsilon_of(ThresholdoutPlan(frame(10**4), 100, 9, 0, 0.01 * 2 * 10**4)) == 2


# Five mistakes of public code ------------------------------------------------------------------------------


def test_the_threshold_is_not_drawn_anew_for_every_query() -> None:
    machine, bits = ThresholdoutPlan(frame(), 3, 50, 10**6, 5.0), Seeded(7)
    state = first_state(machine, bits)
    first = state["watch"].offset
    for _ in range(20):
        reply, state = next_answer(machine, state, values(4), Fraction(4, 20), bits)
        assert (reply.said, state["watch"].offset, state["left"]) == ("training", first, 3)


def test_after_an_overfit_the_threshold_has_fresh_noise_of_the_same_law() -> None:
    """2,000 rounds: their sample variance within 6 of its standard deviations, which a second zero is not."""
    machine, bits = ThresholdoutPlan(frame(), 2_000, 10**4, 0, 2.0), Seeded(8)
    state, offsets = first_state(machine, bits), []
    while machine.used_up(state) is None:
        reply, state = next_answer(machine, state, values(20), Fraction(0), bits)
        if reply.said == "holdout":
            offsets.append(state["watch"].offset)
    law = [geometric_pmf(4.0, z) for z in range(-200, 201)]
    variance = sum(p * z * z for p, z in zip(law, range(-200, 201), strict=True))
    fourth = sum(p * z**4 for p, z in zip(law, range(-200, 201), strict=True))
    spread = math.sqrt((fourth - variance**2) / len(offsets))
    assert abs(np.var(offsets) - variance) < 6 * spread
    assert len(set(offsets)) > 20


def test_the_budget_is_enforced() -> None:
    machine, bits = ThresholdoutPlan(frame(), 2, 50, 0, 0.001), Seeded(9)
    state = first_state(machine, bits)
    for left in (1, 0):
        reply, state = next_answer(machine, state, values(20), Fraction(0), bits)
        assert (reply.said, state["left"]) == ("holdout", left)
    assert machine.used_up(state) == ("overfits", 2)
    with pytest.raises(InvalidRequest, match="halted"):
        next_answer(
            machine, state, values(4), Fraction(4, 20), bits
        )  # also where the training score would do


def test_a_batch_has_no_way_past_the_budget() -> None:
    """There is no batch: a step takes one query, and the caller asks for a refusal before each."""
    assert list(inspect.signature(GuessedScores.compare).parameters)[1:] == [
        "watch",
        "exact",
        "guess",
        "bits",
    ]
    machine, bits = ThresholdoutPlan(frame(), 1, 50, 0, 0.001), Seeded(10)
    assert run(machine, (20, 20, 20), (0, 0, 0), bits) == ("h",)
    capped = ThresholdoutPlan(frame(), 5, 2, 10**6, 0.001)
    assert run(capped, (4, 4, 4), (4, 4, 4), bits) == (TRAINING, TRAINING)


def test_the_noise_is_geometric_and_not_gaussian() -> None:
    """2,500 released sums: P(|xi| > 4 s) = .0171 and not 6e-5; within 6 standard deviations."""
    machine, bits, tries = ThresholdoutPlan(frame(), 10**4, 10**5, 0, 5.0), Seeded(11), 2_500
    state, far, released = first_state(machine, bits), 0, 0
    while released < tries:
        reply, state = next_answer(machine, state, values(20), Fraction(0), bits)
        if reply.said == "holdout":
            assert reply.value is not None
            released += 1
            far += abs(reply.value * machine.frame.whole - 20) > 20
    chance = 2 * geometric_tail(5.0, 21)
    assert abs(far - tries * chance) < 6 * math.sqrt(tries * chance)
    assert far > 20


# Validity --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("items", "tolerance", "queries", "overfits"),
    [
        (10**6, "0.05", 10**3, 13),
        (10**6, "0.05", 10**6, 6),
        (10**5, "0.1", 10**3, 2),
        (10**5, "0.1", 10**6, 1),
    ],
)
def test_theorem_THRESHOLDOUT_VALIDITY_table(items: int, tolerance: str, queries: int, overfits: int) -> None:
    plan = plan_thresholdout(frame(items), Fraction(tolerance), queries)
    assert plan is not None
    assert plan.overfits == overfits
    assert plan.half_width() <= float(tolerance)
    assert published_overfits(items, float(tolerance), 0.05, queries) == 0


def test_theorem_THRESHOLDOUT_VALIDITY_the_largest_cells_of_the_table() -> None:
    """At least 164 and 79, which an independent calculation gave; here a better scale is found for the first."""
    for queries, overfits, scale in ((10**3, 167, 867.2335), (10**6, 79, 616.5)):
        width = width_of(frame(10**6), overfits, queries, 10**5, scale)
        assert 0.0995 < width <= 0.1


def test_theorem_THRESHOLDOUT_VALIDITY_noise_is_for_all_overfits_asked_for() -> None:
    """Fewer overfits need less noise, so all answers are nearer; the most that fit are those of the planner."""
    tolerance = Fraction(1, 10)
    plans = [plan_thresholdout(frame(10**6), tolerance, 1000, overfits=many) for many in (1, 20, 167)]
    assert [plan.overfits for plan in plans if plan] == [1, 20, 167]
    widths = [plan.half_width() for plan in plans if plan]
    assert widths == sorted(widths)
    assert widths[0] < 0.06 < widths[-1] <= 0.1
    assert plans[-1] == plan_thresholdout(frame(10**6), tolerance, 1000)
    assert plan_thresholdout(frame(10**6), tolerance, 1000, overfits=168) is None
    with pytest.raises(InvalidRequest, match="certify 167 overfits"):
        Thresholdout(overfits=168).plan(frame(10**6), Aim(tolerance))


@pytest.mark.parametrize(("overfits", "queries", "scale"), [(2, 1000, 300.0), (13, 10**6, 900.0)])
def test_theorem_THRESHOLDOUT_VALIDITY_is_noise_and_stability(
    overfits: int, queries: int, scale: float
) -> None:
    wide = frame(10**6)
    t2 = stability_width_of(RandomizedResponses(2 * overfits, 1 / scale), wide.failure)
    whole, beta = 2 * 10**6, 0.05
    v1, v2 = 2 * scale * math.log(overfits / 0.1), 4 * scale * math.log(queries / 0.1)
    by_hand = 5000 + v1 + v2 + (2 * scale * beta + 4 * scale * beta) / beta
    by_hand += overfits * scale * math.exp(-(5000 + v1 + v2) / scale) / beta
    expected = by_hand / whole + t2 + 1 / (2 * whole)
    assert width_of(wide, overfits, queries, 5000, scale) == pytest.approx(expected, rel=1e-4)
    assert width_of(wide, overfits, queries, 5000, scale) >= expected * (1 - 1e-6)


def test_theorem_THRESHOLDOUT_VALIDITY_geometric_hinge_is_below_laplace() -> None:
    """The hinge of geometric noise is below that of Laplace noise."""
    for scale in (0.3, 1.0, 2.5, 40.0):
        for a in (0, 1, 5, 17):
            exact = math.fsum((z - a) * geometric_pmf(scale, z) for z in range(a + 1, a + 3000))
            assert exact <= scale / 2 * math.exp(-a / scale) * (1 + 1e-12)
            assert exact == pytest.approx(math.exp(-a / scale) / (2 * math.sinh(1 / scale)), rel=1e-9)


def test_theorem_THRESHOLDOUT_VALIDITY_large_thresholds_last_longer() -> None:
    """E(max error - a)_+ over 3,000 simulated runs is below the bound, and its gamma is not a fresh one."""
    s, m, rounds, threshold, failure = 20.0, 200, 3, 40, 0.05
    rng = np.random.default_rng(12)
    v1 = math.ceil(2 * s * math.log(rounds / (2 * failure)))
    v2 = math.ceil(4 * s * math.log(m / (2 * failure)))
    a = 40 + 20  # a low level, at which something is seen
    worst = np.zeros(3_000)
    for i in range(worst.size):
        eta, gamma, left = rng.laplace(0, 4 * s, m), rng.laplace(0, 2 * s), rounds
        for j in range(m):
            distance = max(0.0, threshold + gamma + eta[j] - 1)  # just below: the worst that is confirmed
            worst[i] = max(worst[i], distance)
            if j % 67 == 66:
                left, gamma = left - 1, rng.laplace(0, 2 * s)
    for low, high in ((20, 0), (v1, v2)):
        level = threshold + low + high
        bound = rounds * s * math.exp(-low / (2 * s)) + 2 * s * m * math.exp(-high / (4 * s))
        assert np.maximum(worst - level, 0).mean() <= bound + rounds * s * math.exp(-level / s)
    assert a < worst.mean()
    assert noise_part(rounds, m, threshold, s, failure) > threshold + v1 + v2


def test_parameters_that_certify_nothing_are_marked() -> None:
    science = ThresholdoutPlan(frame(10**4), 100, 10**4, 2 * 400, 0.01 * 2 * 10**4)
    assert science.half_width() is None
    assert science.theorems == ("THRESHOLDOUT-PRIVACY",)
    assert plan_thresholdout(frame(10**4), Fraction("0.05"), 1000) is None
    assert width_of(HoldoutSize(10**4, 1, Fraction(0), Fraction(1, 20)), 1, 9, 0, 100.0) == math.inf


@pytest.mark.parametrize(
    "wrong", [(0, 9, 3, 2.0), (1, 0, 3, 2.0), (1, 9, -1, 2.0), (1, 9, 3, 0.0), (1, 9, 3, math.inf)]
)
def test_what_makes_no_sense_is_refused(wrong: tuple) -> None:
    with pytest.raises(InvalidRequest):
        ThresholdoutPlan(frame(), *wrong)
