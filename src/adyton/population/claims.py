"""What the intervals of one answer rest on: how far it may be from the population, at a level of its own.

There are two ways.  *After what was released* before it: the subset theorem, whose widths grow with that.
*By its description*: bounds on the sample alone, which hold for every query of a dictionary at once, and the
noise of this answer beside them.  What is built from them, shares, sums, means, variances and quantiles, is
the same for both.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Protocol, Self

import numpy as np

from adyton.arithmetic.ratio import Ends
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.outward import COARSE, FEW, MANY, UP
from adyton.kernel.exact.special import special
from adyton.validity.described import described_width, greatest_described_share, least_described_share
from adyton.validity.subset.tails import Before, Way, ways_after
from adyton.validity.subset.widths import greatest_share, rough_variance_width, share_ends, variance_width

# Noise -----------------------------------------------------------------------------------------------------


class Noise(Protocol):
    """How the noise of several numbers adds up, and how large it may be."""

    def together(self, *scales: Floats | float) -> Floats:
        """The scale of the sum of independent noises of these scales."""
        ...

    def repeated(self, times: Floats | float) -> Floats:
        """The scale of so many noises of scale 1."""
        ...

    def most(self, failure: float) -> float:
        """In units of the scale: on one side noise goes beyond it with probability at most ``failure``."""
        ...


@dataclass(frozen=True, slots=True)
class NormalNoise:
    """Squares of scales add up."""

    def together(self, *scales: Floats | float) -> Floats:
        found: Floats = np.asarray(scales[0], np.float64)
        for scale in scales[1:]:
            found = np.hypot(found, scale)
        return found

    def repeated(self, times: Floats | float) -> Floats:
        return np.sqrt(np.asarray(times, np.float64))

    def most(self, failure: float) -> float:
        return max(0.0, -float(special().ndtri(failure))) * (1 + COARSE)


@dataclass(frozen=True, slots=True)
class GeometricNoises:
    """Two-sided geometric noise of at most so many numbers: each is within its bound, and bounds add up.

    Of one, P(Z > t) < exp(-t / scale).
    """

    numbers: int

    def together(self, *scales: Floats | float) -> Floats:
        return np.asarray(sum(scales), np.float64)

    def repeated(self, times: Floats | float) -> Floats:
        return np.asarray(times, np.float64)

    def most(self, failure: float) -> float:
        return math.log(self.numbers / failure) * (1 + MANY)


NORMAL = NormalNoise()
_MUCH = 1.1  # so much wider by a guess: not worth a try


# Claims ----------------------------------------------------------------------------------------------------


class Claims(Protocol):
    """Bounds on one side at one level, for several answers; ``scale`` is that of the noise."""

    def share_ends(self, lowered: Floats, raised: Floats, units: int, scale: float | Floats) -> Ends:
        """The lower ends of the shares behind the first, and the upper ends of those behind the second."""
        ...

    def greatest_share(self, answers: Floats, units: int, scale: float | Floats) -> Floats: ...

    def width(self, variance: Floats, beyond: Floats, scale: Floats, steady: Floats | float = 1.0) -> Floats:
        """How far a sum may exceed its expectation, if its variance is at most ``variance``, no part exceeds
        its mean by more than ``beyond``, and noise is from ``steady`` times ``scale`` up to ``scale``.
        """
        ...

    def rough_width(self, variance: Floats, beyond: float, scale: float, steady: float = 1.0) -> Floats: ...

    def about(self, variance: Floats, noise: Floats) -> Floats:
        """About how wide that is: it chooses, and is never relied upon."""
        ...


@dataclass(frozen=True)
class AfterReleases:
    """By the subset theorem, in whichever of its ways is the narrowest."""

    ways: Sequence[Way]

    def share_ends(self, lowered: Floats, raised: Floats, units: int, scale: float | Floats) -> Ends:
        return share_ends(lowered, raised, units, scale, self.ways)

    def greatest_share(self, answers: Floats, units: int, scale: float | Floats) -> Floats:
        return greatest_share(answers, units, scale, self.ways)

    def width(self, variance: Floats, beyond: Floats, scale: Floats, steady: Floats | float = 1.0) -> Floats:
        return variance_width(variance, beyond, scale, self._worth_trying(variance, beyond, scale), steady)

    def rough_width(self, variance: Floats, beyond: float, scale: float, steady: float = 1.0) -> Floats:
        return rough_variance_width(variance, beyond, scale, self.ways, steady)

    def about(self, variance: Floats, noise: Floats) -> Floats:
        widths: Floats = self._about(variance, noise).min(axis=0)
        return widths

    def _worth_trying(self, variance: Floats, beyond: Floats, noise: Floats) -> Sequence[Way]:
        """Without ways that are wider for all.  Each holds at its own level, so floats may choose.

        Theorem: SUBSET-BENNETT.
        """
        if len(self.ways) == 1:
            return self.ways
        widths = self._about(np.broadcast_to(variance, beyond.shape), noise)
        exponents, fresh, _ = self._of_each(beyond.ndim)
        heavier = exponents * beyond / fresh / 3  # at most, for rows far beyond their means
        worth = (widths < _MUCH * (widths + heavier).min(axis=0)).reshape(len(self.ways), -1).any(axis=1)
        return [way for way, one in zip(self.ways, worth.tolist(), strict=True) if one]

    def _about(self, variance: Floats, noise: Floats) -> Floats:
        """By each way, one below the other; noise has a normal tail, lighter than that of rows."""
        exponents, fresh, lighter = self._of_each(np.ndim(variance))
        square = np.square(noise)
        both = variance / fresh + square
        widths: Floats = np.sqrt(np.maximum(2 * exponents * both - lighter * square, 0.1 * both))
        return widths

    def _of_each(self, dimensions: int) -> Sequence[Floats]:
        below = (-1, *[1] * dimensions)
        return [each.reshape(below) for each in self._arrays]

    @cached_property
    def _arrays(self) -> tuple[Floats, Floats, Floats]:
        """Of each way: what a width must reach, what is fresh, and how much lighter a normal tail is."""
        exponents = np.array([way.price - way.log_level for way in self.ways])
        fresh = np.array([way.fresh for way in self.ways])
        return exponents, fresh, np.log(4 * np.pi * np.maximum(exponents, 0.2))


@dataclass(frozen=True, slots=True)
class OfTheSample:
    """By a description of so many ``nats``, with its level: what the rows may do, and the noise beside it.

    Claim:    each bound is wrong for the rows with probability at most exp(-nats), and for the noise of this
              answer with at most that for which ``noise`` was looked up.
    Assumes:  the description of the query was fixed without looking at the rows.
    Source:   derived here.  Theorem: DESCRIBED-QUERIES.
    """

    nats: float
    noise: float  # in units of its scale

    def share_ends(self, lowered: Floats, raised: Floats, units: int, scale: float | Floats) -> Ends:
        beyond = self.noise * np.asarray(scale) * UP
        counts = np.concatenate([lowered - beyond, units - (raised + beyond)])
        both = least_described_share(counts, units, self.nats)  # who lacks a property is a share as well
        return both[: len(lowered)], np.minimum(1 - both[len(lowered) :] + FEW, 1.0)

    def greatest_share(self, answers: Floats, units: int, scale: float | Floats) -> Floats:
        return greatest_described_share(answers + self.noise * np.asarray(scale) * UP, units, self.nats)

    def width(self, variance: Floats, beyond: Floats, scale: Floats, steady: Floats | float = 1.0) -> Floats:
        return described_width(variance, beyond, self.nats) + self.noise * scale * UP

    def rough_width(self, variance: Floats, beyond: float, scale: float, steady: float = 1.0) -> Floats:
        return self.width(variance, np.full(len(variance), beyond), np.asarray(scale))

    def about(self, variance: Floats, noise: Floats) -> Floats:
        width: Floats = np.sqrt(2 * self.nats * variance) + self.noise * noise
        return width


# What an answer rests on -----------------------------------------------------------------------------------


class Certain(ABC):
    """The number of units, at most, and claims at any part of the level of one value."""

    units: int
    noise: Noise

    @abstractmethod
    def claims(self, share: float, more: Fraction = Fraction(0)) -> Claims:
        """For a part of the level; ``more`` was released by this very answer before the value was asked."""

    @abstractmethod
    def scaled(self, factor: float) -> Self:
        """The same at another level: that of a part of the value, or of more than one."""


@dataclass(frozen=True, slots=True)
class CertainAfter(Certain):
    """By the subset theorem: the level of each value, both sides together, and what was released before."""

    before: Before
    units: int
    level: float
    planned: float | None = None
    noise: Noise = NORMAL

    def claims(self, share: float, more: Fraction = Fraction(0)) -> Claims:
        before = Before(self.before.spent + more, self.before.pure) if more else self.before
        return AfterReleases(ways_after(before, self.units, self.level * share, self.planned))

    def scaled(self, factor: float) -> Self:
        return replace(self, level=self.level * factor)


@dataclass(frozen=True, slots=True)
class CertainOfDescribed(Certain):
    """By a description: the nats of the rows' part, and the failure that is left for the noise of a value."""

    units: int
    nats: float
    failure: float
    noise: Noise = NORMAL

    def claims(self, share: float, more: Fraction = Fraction(0)) -> Claims:
        """What this answer released before makes no difference."""
        return OfTheSample(self.nats - math.log(share), self.noise.most(self.failure * share))

    def scaled(self, factor: float) -> Self:
        return replace(self, nats=self.nats - math.log(factor), failure=self.failure * factor)
