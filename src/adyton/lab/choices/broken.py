"""BROKEN ON PURPOSE.  Sparse vectors of the literature that do not keep their guarantee.

Nothing outside the lab and the tests may use this file.  It exists so that their true cost can be computed,
and so that an auditor can show that it would have found them.  The numbering is that of Lyu, Su, Li 2017;
their algorithms 1 and 2 are right and stand here for comparison.

Queries are integers of sensitivity 1, the noise is two-sided geometric, so every probability is a sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.kernel.exact.cells import Floats
from adyton.kernel.noise import Bits, two_sided_geometric
from adyton.kernel.noise.refine import Integers
from adyton.noise_intervals.laws import geometric_log_pmf

ABOVE, BELOW = "above", "below"
Output = str | int  # one of the two, or a noisy value


@dataclass(frozen=True, slots=True)
class RepeatedQuery:
    """The same query asked ``times`` times in a row, and the output that each time is observed."""

    query: int
    output: Output
    times: int = 1


@dataclass(frozen=True, slots=True)
class BrokenSparse:
    """A sparse vector whose screws can be loosened one by one.

    ``per_query`` None: the queries get no noise.  ``most`` None: it never stops.  ``redraw``: a new
    noisy threshold after every positive.  ``tells_value``: publishes the noisy value instead of "above".
    """

    name: str
    claimed: Fraction
    threshold_scale: Fraction
    per_query: Fraction | None
    most: int | None
    redraw: bool = False
    tells_value: bool = False

    def release(self, queries: Sequence[int], threshold: int, bits: Bits) -> list[Output]:
        """The outputs, as many as there are before it stops."""
        outputs: list[Output] = []
        positives, noisy = 0, threshold + self._noise(self.threshold_scale, bits)
        for query in queries:
            value = query + self._noise(self.per_query, bits)
            if value < noisy:
                outputs.append(BELOW)
                continue
            outputs.append(value if self.tells_value else ABOVE)
            positives += 1
            if positives == self.most:
                break
            if self.redraw:
                noisy = threshold + self._noise(self.threshold_scale, bits)
        return outputs

    def _noise(self, scale: Fraction | None, bits: Bits) -> int:
        return 0 if scale is None else int(two_sided_geometric.draw(float(scale), 1, bits)[0])

    def log_chance(self, runs: Sequence[RepeatedQuery], threshold: int = 0) -> float:
        """ln of the probability of exactly these outputs, to about 9 digits."""
        if self._goes_on_too_long(runs):
            return -math.inf
        total, rest = 0.0, list(runs)
        while rest:
            end = next((i + 1 for i, run in enumerate(rest) if self._ends(run)), len(rest))
            total += self._segment(rest[:end], threshold)
            rest = rest[end:]
        return total

    def _goes_on_too_long(self, runs: Sequence[RepeatedQuery]) -> bool:
        """Whether there is an output after the last positive that it may give."""
        before = sum(run.times for run in runs[:-1] if run.output != BELOW)
        last = runs[-1].times if runs[-1].output != BELOW else 0
        return self.most is not None and (before >= self.most or before + last > self.most)

    def _ends(self, run: RepeatedQuery) -> bool:
        if self.redraw and run.output != BELOW and run.times > 1:
            raise ValueError("write positives one at a time where the threshold is redrawn")
        return self.redraw and run.output != BELOW

    def _segment(self, runs: Sequence[RepeatedQuery], threshold: int) -> float:
        """ln of the sum over all noisy thresholds of their chance times that of the outputs."""
        scale = float(self.threshold_scale)
        far = int(60 * scale) + 60 + max(abs(run.query - threshold) for run in runs)
        noise = np.arange(-far, far + 1)
        terms = math.log(math.tanh(0.5 / scale)) - np.abs(noise) / scale
        for run in runs:
            terms = terms + run.times * self._log_output(run, noise + threshold)
        largest = float(terms.max())
        return largest if math.isinf(largest) else largest + math.log(np.exp(terms - largest).sum())

    def _log_output(self, run: RepeatedQuery, noisy: Integers) -> Floats:
        """ln P(output) for each noisy threshold."""
        gap = noisy - run.query  # the noise that is just enough for a positive
        if run.output == BELOW:
            return log_below(self.per_query, gap)
        if not isinstance(run.output, int):
            return log_below(self.per_query, 1 - gap)  # by symmetry: noise >= gap
        if self.per_query is None:
            raise ValueError("without noise a value is not a random output")
        chance = geometric_log_pmf(float(self.per_query), run.output - run.query)
        return np.where(run.output >= noisy, chance, -np.inf)


def log_below(scale: Fraction | None, gap: Integers) -> Floats:
    """ln P(Z < gap) for two-sided geometric Z, or for Z = 0 where there is no noise."""
    if scale is None:
        return np.where(gap > 0, 0.0, -np.inf)
    s = float(scale)
    log_whole = math.log1p(math.exp(-1 / s))
    upper = np.exp(-np.maximum(gap, 1) / s - log_whole)  # P(Z >= gap), where gap is positive
    lower = (np.minimum(gap, 0) - 1) / s - log_whole  # ln P(Z >= 1 - gap), where it is not
    below: Floats = np.where(gap >= 1, np.log1p(-upper), lower)
    return below


def loss(sparse: BrokenSparse, here: Sequence[RepeatedQuery], there: Sequence[RepeatedQuery]) -> float:
    """ln P(outputs | here) - ln P(outputs | there): a lower bound on the true epsilon."""
    if [(r.output, r.times) for r in here] != [(r.output, r.times) for r in there]:
        raise ValueError("the two sides must observe the same outputs")
    numerator, denominator = sparse.log_chance(here), sparse.log_chance(there)
    if math.isinf(numerator):
        raise ValueError("these outputs are impossible")
    return math.inf if math.isinf(denominator) else numerator - denominator


def late_sparse(epsilon: Fraction, c: int) -> BrokenSparse:
    """BROKEN: Bassi's Sparse, which halts at count > c and so gives c + 1 positives."""
    return BrokenSparse("slide", epsilon, 2 * c / epsilon, 4 * c / epsilon, c + 1, redraw=True)


def corrected_sparse(epsilon: Fraction, c: int) -> BrokenSparse:
    """The same that halts at count >= c: right."""
    return BrokenSparse("slide, corrected", epsilon, 2 * c / epsilon, 4 * c / epsilon, c, redraw=True)


def algorithm_1(epsilon: Fraction, c: int) -> BrokenSparse:
    """Right: the form that Lyu, Su and Li propose."""
    return BrokenSparse("algorithm 1", epsilon, 2 / epsilon, 4 * c / epsilon, c)


def algorithm_2(epsilon: Fraction, c: int) -> BrokenSparse:
    """Right: the form of the textbook of Dwork and Roth."""
    return BrokenSparse("algorithm 2", epsilon, 2 * c / epsilon, 4 * c / epsilon, c, redraw=True)


def algorithm_3(epsilon: Fraction, c: int) -> BrokenSparse:
    """BROKEN: publishes the noisy value, which says where the noisy threshold is not."""
    return BrokenSparse("algorithm 3", epsilon, 2 / epsilon, 2 * c / epsilon, c, tells_value=True)


def algorithm_4(epsilon: Fraction, c: int) -> BrokenSparse:
    """BROKEN: the noise of the queries does not grow with the number of positives."""
    return BrokenSparse("algorithm 4", epsilon, 4 / epsilon, 4 / (3 * epsilon), c)


def algorithm_5(epsilon: Fraction) -> BrokenSparse:
    """BROKEN: the queries get no noise at all, and it never stops."""
    return BrokenSparse("algorithm 5", epsilon, 2 / epsilon, None, None)


def algorithm_6(epsilon: Fraction) -> BrokenSparse:
    """BROKEN: it never stops."""
    return BrokenSparse("algorithm 6", epsilon, 2 / epsilon, 2 / epsilon, None)
