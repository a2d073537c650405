"""Adaptive mechanisms on finitely many outputs, with exact laws: what the composition theorems must cover."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from random import Random

Law = dict[tuple[int, ...], Fraction]
Kernel = tuple[list[Fraction], list[Fraction]]  # the output's law on each of two neighboring tables


def random_kernel(rng: Random, outputs: int, most: int) -> Kernel:
    """Both laws have denominators below ``outputs * most``; the ratios are at most ``most``."""
    laws = []
    for _ in range(2):
        weights = [rng.randint(1, most) for _ in range(outputs)]
        laws.append([Fraction(w, sum(weights)) for w in weights])
    return laws[0], laws[1]


def warner(odds: Fraction, leak: Fraction = Fraction(0)) -> Kernel:
    """Randomized response that tells the truth ``odds`` to 1, or with probability ``leak`` outright."""
    truth, lie = (1 - leak) * odds / (1 + odds), (1 - leak) / (1 + odds)
    return [leak, truth, lie, Fraction(0)], [Fraction(0), lie, truth, leak]


def adaptively(steps: int, choose: Callable[[tuple[int, ...]], Kernel]) -> tuple[Law, Law]:
    """Laws of the whole transcript, where ``choose`` sees everything so far."""
    laws: tuple[Law, Law] = ({(): Fraction(1)}, {(): Fraction(1)})
    for _ in range(steps):
        grown: tuple[Law, Law] = ({}, {})
        for past in laws[0]:
            kernel = choose(past)
            for table in (0, 1):
                for output, chance in enumerate(kernel[table]):
                    grown[table][(*past, output)] = laws[table].get(past, Fraction(0)) * chance
        laws = grown
    return laws


def hockey_stick(p: Law, q: Law, factor: Fraction) -> Fraction:
    """The least delta with P(S) <= factor Q(S) + delta for all events S, both ways."""
    keys = set(p) | set(q)
    one = sum(
        (max(Fraction(0), p.get(k, Fraction(0)) - factor * q.get(k, Fraction(0))) for k in keys), Fraction(0)
    )
    two = sum(
        (max(Fraction(0), q.get(k, Fraction(0)) - factor * p.get(k, Fraction(0))) for k in keys), Fraction(0)
    )
    return max(one, two)


def as_law(masses: list[Fraction]) -> Law:
    return {(i,): mass for i, mass in enumerate(masses)}


def epsilon_of(kernel: Kernel) -> Fraction:
    """Its pure epsilon, rounded up; infinite ratios are not allowed."""
    ratio = max(max(a / b, b / a) for a, b in zip(*kernel, strict=True))
    return Fraction(max(math.log(ratio) * (1 + 1e-14), 1e-6))


def exp_down(epsilon: float) -> Fraction:
    return Fraction(math.exp(epsilon) * (1 - 1e-14))


def subsets(size: int) -> list[tuple[int, ...]]:
    return [s for n in range(size + 1) for s in itertools.combinations(range(size), n)]
