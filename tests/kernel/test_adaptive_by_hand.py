"""Marginals that are chosen and measured in rounds, with next to no noise: what is spent, and on what."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise
from adyton.kernel.sensitivity import Sensitivity
from adyton.kernel.special.mechanisms.marginals import adaptive as a
from adyton.kernel.special.mechanisms.marginals.tables import size_of, tables_of
from refusing import refused
from support.randomness import Seeded

F = Fraction
SHAPE = (2, 3, 4)
ONE = Sensitivity(((0, 1),), 12, "add-remove")
QUIET = GeometricNoise((F(1, 100),))
Axes = tuple[int, ...]
TABLE = np.arange(24).reshape(SHAPE) ** 2
EVERY: list[Axes] = [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]


@pytest.mark.parametrize("wanted", [[(0,)], [(), (0, 2)], [(1, 2), (0, 1, 2), (2,)], EVERY])
def test_marginals_are_sums(wanted: list[Axes]) -> None:
    """Mutants: an axis that is summed twice or not at all."""
    found = tables_of(TABLE, wanted)
    assert found.keys() == set(wanted)
    for axes, table in found.items():
        summed = TABLE.sum(axis=tuple(axis for axis in range(3) if axis not in axes))
        assert np.array_equal(table, summed)
        assert size_of(SHAPE, axes) == table.size


class Guess:
    """A guess that learns what was measured, or never learns."""

    def __init__(self, known: dict[Axes, Any] | None = None, learns: bool = True) -> None:
        self.known, self.learns, self.parts = known or {}, learns, list[float]()

    def tables(self, wanted: Iterable[Axes]) -> Mapping[Axes, Any]:
        return {axes: self.known.get(axes, np.zeros(size_of(SHAPE, axes))) for axes in wanted}

    def fitted(self, measured: Sequence[a.NoisyMarginal]) -> Guess:
        known = {one.axes: one.noisy.astype(float) for one in measured} if self.learns else {}
        after = Guess(known, self.learns)
        after.parts = self.parts
        return after

    def bearable(self, candidates: Sequence[Axes], part: float) -> Sequence[Axes]:
        self.parts.append(part)
        return candidates


def machine(**changes: Any) -> a.AdaptiveMarginals:
    facts: dict[str, Any] = {
        "shape": SHAPE, "candidates": ((0,), (1,), (2,), (0, 1)), "first": ((2,),), "sensitivity": ONE,
        "units": 100, "each": 20, "growth": 2, "most_epsilon": F(10**6),
    }  # fmt: skip
    return a.AdaptiveMarginals(**{**facts, **changes})


def run(found: a.AdaptiveMarginals, guess: Guess) -> tuple[list[Axes], list[int]]:
    asked: list[int] = []

    def steps(units: int) -> a.AdaptiveRound:
        asked.append(units)
        return a.AdaptiveRound(F(10**4), 5, QUIET, units - 5)

    exact = {axes: table.ravel() for axes, table in tables_of(TABLE, EVERY).items()}
    return [one.axes for one in found.release(exact, guess, steps, Seeded(1))], asked


def test_rounds_spend_the_units_and_no_more() -> None:
    """Mutants: a round too many, one that is not paid for, growth where something was learned."""
    guess = Guess()
    measured, asked = run(machine(), guess)
    # 100 - 15 of the first; 85, 65, 45 less 20 each; the last round has the 25 that are left.
    assert asked == [20, 20, 20, 20, 25]
    assert (measured[:2], set(measured[2:4]), len(measured)) == ([(2,), (0, 1)], {(0,), (1,)}, 5)
    assert guess.parts == [pytest.approx(part) for part in (0.35, 0.55, 0.75, 1.0)]
    _, asked = run(machine(), Guess(learns=False))
    assert asked == [20, 20, 65]
    assert run(machine(first=(), units=40), Guess())[1] == [20, 20]
    assert run(machine(first=(), units=39), Guess())[1] == [39]
    assert run(machine(first=(), units=19), Guess())[1] == []
    assert run(machine(first=((0,),) * 5), Guess())[1][:5] == [20] * 5
    assert run(machine(first=((0,), (1,), (2,)), units=60), Guess())[0][:3] == [(0,), (1,), (2,)]
    assert run(machine(growth=1), Guess(learns=False))[1] == [20, 20, 20, 20, 25]
    assert run(machine(growth=100, units=200), Guess(learns=False))[1] == [20, 20, 165]
    assert run(machine(most_epsilon=F(15_000)), Guess())[1] == [20, 20, 20]
    assert run(machine(most_epsilon=F(20_000)), Guess())[1] == [20, 20, 20]
    one = a.AdaptiveRound(F(1), 3, QUIET, 4)
    assert one.units == 7


def test_what_is_far_off_is_chosen_by_its_distance() -> None:
    """Mutants: a distance of the wrong side, weights of another size, noise that is not taken off."""
    exact = {axes: table.ravel() for axes, table in tables_of(TABLE, EVERY).items()}
    off: dict[Axes, Any] = {axes: exact[axes].astype(float) for axes in EVERY}
    for wrong in ((0,), (1,), (2,), (0, 1)):
        guess = Guess({**off, wrong: off[wrong] + 40.0})
        assert run(machine(first=(), units=20), guess)[0] == [wrong]
    near = Guess(
        {
            **off,
            (0,): off[(0,)] + np.array([100.0, 0]),
            (0, 1): off[(0, 1)] + np.array([40.0, 0, 0, 0, 0, 15]),
        }
    )
    assert run(machine(first=(), units=20), near)[0] == [(0, 1)]  # twice 55, less noise
    loud = a.AdaptiveRound(F(10**6), 5, GeometricNoise((F(20),)), 15)
    flat = Guess({**off, (0,): off[(0,)] + np.array([80.0, 0]), (2,): off[(2,)] + np.array([90.0, 0, 0, 0])})
    found = list(machine(first=(), units=20).rounds(exact, flat, lambda units: loud, Seeded(1)))
    assert found[0].axes == (0,)  # 80 - 2 * 20 against 90 - 4 * 20
    assert a.distance(np.array([1, -5, 2**40]), np.array([1.4, -4.6, 0])) == 0 + 0 + 2**36
    assert a.distance(np.array([3, 4]), np.array([1.0, 2.0**50])) == 2 + 2**36 - 4
    reaches = [
        machine(sensitivity=Sensitivity(((0, k),), 12, adjacency)).reach
        for k, adjacency in ((1, "add-remove"), (1, "replace-one"), (3, "replace-one"))
    ]
    assert reaches == [1, 2, 6]


@pytest.mark.parametrize("noise", [QUIET, GaussianNoise((F(1, 100),))])
def test_a_selection_is_made_for_how_far_its_scores_move(monkeypatch: pytest.MonkeyPatch, noise: Any) -> None:
    """A score has as many times the distance as its marginal has axes.  Mutants: another reach, another machine."""
    made: list[tuple[str, Any]] = []
    for name in ("ExponentialMechanism", "PermuteAndFlip"):
        kind = getattr(a, name)

        def noted(*facts: Any, name: str = name, kind: Any = kind) -> Any:
            made.append((name, facts))
            return kind(*facts)

        monkeypatch.setattr(a, name, noted)
    found = machine(first=(), units=20, sensitivity=Sensitivity(((0, 3),), 12, "replace-one"))
    exact = {axes: table.ravel() for axes, table in tables_of(TABLE, EVERY).items()}
    step = a.AdaptiveRound(F(10**6), 5, noise, 15)
    list(found.rounds(exact, Guess(), lambda units: step, Seeded(1)))
    ((name, (offered, epsilon, moved)),) = made
    assert name == ("PermuteAndFlip" if noise is QUIET else "ExponentialMechanism")
    assert (offered, epsilon, moved.bound, moved.span) == (found.candidates, 10**6, 6 * 2, 24)


def test_a_machine_of_marginals_is_bounded() -> None:
    """Mutants: each check left out or moved."""

    wide = (2**10, 2**10, 2, 2, 2)
    for changes, bad in (
        ({}, False), ({"candidates": ()}, True), ({"each": 0}, True), ({"each": 1}, False), ({"growth": 0}, True), ({"growth": 1}, False),
        ({"units": 20}, False), ({"units": 19}, True), ({"first": ((0,), (1,)), "units": 39}, True),
        ({"shape": wide, "candidates": ((0, 1),)}, False), ({"shape": wide, "candidates": ((0, 1, 2),)}, True),
        ({"shape": wide, "first": ((0, 1, 2),)}, True),
    ):  # fmt: skip
        assert refused(lambda changes=changes: machine(**changes)) == bad, changes
    many = tuple(range(17))
    assert refused(lambda: machine(shape=(1,) * 17, candidates=(many,), first=()))
    assert not refused(lambda: machine(shape=(1,) * 17, candidates=(many[:16],), first=()))
    assert refused(lambda: machine(shape=(1,) * 17, candidates=(many, (0,)), first=()))


@pytest.mark.parametrize(("scale", "gaussian"), list(product((0.5, 7.0), (False, True))))
def test_how_far_noise_is_off(scale: float, gaussian: bool) -> None:
    """Mutants: the other law, another root."""
    own = a.NoisyMarginal((0,), np.array([1, 2]), scale, gaussian)
    variance = scale**2 + 1 / 12 if gaussian else 2 * scale**2
    assert own.deviation == pytest.approx(math.sqrt(variance))
    assert own.mean_error == pytest.approx(scale * math.sqrt(2 / math.pi) if gaussian else scale)
    noise = (GaussianNoise if gaussian else GeometricNoise)((F(scale),))
    measured = a._measure((0,), {(0,): np.array([5, 6])}, noise, Seeded(2))
    (drawn,) = noise.release([[5, 6]], Seeded(2))
    assert (measured.noisy.tolist(), measured.scale, measured.gaussian) == (list(drawn), scale, gaussian)
