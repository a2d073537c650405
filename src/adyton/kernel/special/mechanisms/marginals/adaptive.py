"""Marginals that are chosen and measured one after the other, where the public guess is worst.

Each round selects, privately, a marginal of which the guess is far off, measures the whole of it with noise,
and has the guess fitted to all that was measured.  What is released is which marginals were measured, and
what was measured; the guess, and any table drawn from it, follow from that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact import float_up
from adyton.kernel.exact.cells import Cells, Floats, whole
from adyton.kernel.mechanisms.gaussian import GaussianNoise
from adyton.kernel.mechanisms.geometric import GeometricNoise
from adyton.kernel.noise import Bits
from adyton.kernel.noise.refine import Integers
from adyton.kernel.sensitivity import Sensitivity
from adyton.kernel.special.mechanisms.marginals.tables import Array, Axes, size_of
from adyton.kernel.special.mechanisms.selection.exponential import ExponentialMechanism
from adyton.kernel.special.mechanisms.selection.permute_and_flip import PermuteAndFlip
from adyton.kernel.special.mechanisms.selection.scores import ScoreSensitivity

MOST_CELLS_OF_A_MARGINAL = 2**20
_MOST_WAYS = 2**4
_LARGEST_COUNT = 2**36  # counts are cut off here: then no sum of scores leaves 64 bits

Noise = GaussianNoise | GeometricNoise


class AdaptiveRound(NamedTuple):
    """What a round may do: select with ``epsilon``, for units of its own, and measure with ``noise``."""

    epsilon: Fraction
    selecting: int
    noise: Noise
    measuring: int

    @property
    def units(self) -> int:
        return self.selecting + self.measuring


Steps = Callable[[int], AdaptiveRound]  # the step that so many units pay for; never a dearer one


class MarginalModel(Protocol):
    """What is publicly guessed of all cells.  Everything about it follows from what was released."""

    def tables(self, wanted: Iterable[Axes]) -> Mapping[Axes, Floats]:
        """Guessed numbers of rows in the cells of marginals."""
        ...

    def fitted(self, measured: Sequence[NoisyMarginal]) -> MarginalModel:
        """The guess after all of ``measured``."""
        ...

    def bearable(self, candidates: Sequence[Axes], part: float) -> Sequence[Axes]:
        """Those that this guess could be fitted to, where ``part`` of the price is spent; at least one."""
        ...


@dataclass(frozen=True, slots=True)
class AdaptiveMarginals:
    """``first`` are measured at once, then rounds select from ``candidates`` until ``units`` are spent.

    A round that taught less than its noise is followed by one that may cost ``growth`` times as much.

    Claim:    the amounts of all selections and measurements sum to at most ``units``, so all that is released
              costs that much under the accounting that the amounts are of; selections use no more of epsilon
              together than ``most_epsilon``.
    Assumes:  one unit moves every marginal as ``sensitivity`` says, a histogram of as many cells as the
              largest has; an ``AdaptiveRound`` costs, by the accounting, no more than it says;
              ``candidates``,
              ``first`` and all numbers here are public; the guess sees nothing but what was released.
    Source:   after McKenna, Mullins, Sheldon, Miklau 2022 (AIM).  Theorem: ADAPTIVE-MARGINALS.
    """

    shape: tuple[int, ...]
    candidates: tuple[Axes, ...]
    first: tuple[Axes, ...]
    sensitivity: Sensitivity
    units: int
    each: int  # units of a measurement of ``first``, and of the first rounds
    growth: int
    most_epsilon: Fraction
    theorems: ClassVar[tuple[str, ...]] = ("ADAPTIVE-MARGINALS",)

    def __post_init__(self) -> None:
        named = {*self.candidates, *self.first}
        if not self.candidates or self.each < 1 or self.growth < 1:
            raise InvalidRequest("there must be marginals to choose from, and units for each round")
        if len(self.first) * self.each > self.units:
            raise InvalidRequest("the price does not pay for the first measurements")
        if any(size_of(self.shape, axes) > MOST_CELLS_OF_A_MARGINAL for axes in named):
            raise InvalidRequest(f"a marginal has at most {MOST_CELLS_OF_A_MARGINAL} cells")
        if max(map(len, named)) > _MOST_WAYS:
            raise InvalidRequest(f"a marginal has at most {_MOST_WAYS} columns")

    @property
    def reach(self) -> int:
        """How far one unit can move the distance of a marginal from any public table."""
        return math.ceil(self.sensitivity.l1_diameter((Fraction(1),)))

    def release(
        self, exact: Mapping[Axes, Array], guess: MarginalModel, steps: Steps, bits: Bits
    ) -> list[NoisyMarginal]:
        """``exact`` has the whole numbers of every marginal that may be measured."""
        return list(self.rounds(exact, guess, steps, bits))

    def rounds(
        self, exact: Mapping[Axes, Array], guess: MarginalModel, steps: Steps, bits: Bits
    ) -> Iterator[NoisyMarginal]:
        left, epsilon = self.units, self.most_epsilon
        measured: list[NoisyMarginal] = []
        for axes in self.first:
            step = steps(self.each)
            left -= step.measuring
            measured.append(_measure(axes, exact, step.noise, bits))
            yield measured[-1]
        each, guess = self.each, guess.fitted(measured) if measured else guess
        while left >= each and epsilon > 0:
            last = left < 2 * each
            step = steps(left if last else each)
            left, step = left - step.units, step._replace(epsilon=min(step.epsilon, epsilon))
            epsilon -= step.epsilon
            offered = guess.bearable(self.candidates, 1 - left / self.units)
            axes = self._select(exact, guess, offered, step, bits)
            before = guess.tables([axes])[axes]
            measured.append(_measure(axes, exact, step.noise, bits))
            yield measured[-1]
            if last:
                return
            guess = guess.fitted(measured)
            taught = float(np.abs(guess.tables([axes])[axes] - before).sum())
            if taught <= before.size * measured[-1].mean_error:
                each = min(each * self.growth, left)

    def _select(
        self,
        exact: Mapping[Axes, Array],
        guess: MarginalModel,
        offered: Sequence[Axes],
        step: AdaptiveRound,
        bits: Bits,
    ) -> Axes:
        guessed = guess.tables(offered)
        spare = _measured(step.noise, (), np.zeros(0, np.int64)).mean_error
        scores = [
            len(axes) * (distance(exact[axes], guessed[axes]) - round(spare * guessed[axes].size))
            for axes in offered
        ]
        moved = ScoreSensitivity(Fraction(self.reach * max(map(len, offered))))
        kind = ExponentialMechanism if isinstance(step.noise, GaussianNoise) else PermuteAndFlip
        return kind(tuple(offered), step.epsilon, moved).release(scores, bits)


def distance(exact: Array, guessed: Floats) -> int:
    """How far the guess is off, in rows.  The public side is rounded first: then one unit moves the sum no
    farther than it moves the integers.
    """
    private = np.clip(whole(exact).ravel(), -_LARGEST_COUNT, _LARGEST_COUNT).astype(np.int64)
    public = np.rint(np.clip(guessed.ravel(), -_LARGEST_COUNT, _LARGEST_COUNT)).astype(np.int64)
    return int(np.abs(private - public).sum())


def _measure(axes: Axes, exact: Mapping[Axes, Array], noise: Noise, bits: Bits) -> NoisyMarginal:
    (noisy,) = noise.release([Cells(whole(exact[axes]).ravel())], bits)
    return _measured(noise, axes, whole(noisy))


def _measured(noise: Noise, axes: Axes, noisy: Integers) -> NoisyMarginal:
    return NoisyMarginal(axes, noisy, float_up(noise.scales[0]), isinstance(noise, GaussianNoise))


_ROUNDED = 12**-0.5  # the deviation that rounding adds


@dataclass(frozen=True, slots=True, eq=False)
class NoisyMarginal:
    """The cells of a marginal, one after the other, each with noise of ``scale``, Gaussian or geometric."""

    axes: Axes
    noisy: Array
    scale: float
    gaussian: bool

    @property
    def deviation(self) -> float:
        """Of the noise of a cell, about."""
        return math.hypot(self.scale, _ROUNDED) if self.gaussian else math.sqrt(2) * self.scale

    @property
    def mean_error(self) -> float:
        """The mean distance from the truth, about."""
        return math.sqrt(2 / math.pi) * self.scale if self.gaussian else self.scale
