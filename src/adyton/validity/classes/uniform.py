"""One interval for the share of each rule of a class, so that all of them hold at once.

Compare the rows with as many *ghosts* as one likes, fresh rows that nobody draws.  Of all rows and ghosts
together a class can say only so many different things (``growth``), and which of them are the rows is a draw
without replacement: so the interval of a rule is that of a hypergeometric draw, at a level that is divided by
the number of things that can be said.  It does not matter how many rules were tried, or how they were found.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from adyton.arithmetic.search import minimise, whole_edges
from adyton.kernel.exact import Number, probability, whole
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.outward import FEW, MANY, log_up
from adyton.kernel.exact.special import special
from adyton.validity.binomial import Counts, longest_arm
from adyton.validity.classes.growth import RuleClass
from adyton.validity.textbook.concentration import hoeffding_width

_FEWEST, _MOST = 0.25, 4000.0  # ghosts for each row that are looked at
_STEPS = 24


@dataclass(frozen=True, slots=True)
class UniformShares:
    """Intervals for the expected share of rows that a rule says yes to, whichever rule of the class it is.

    Claim:    with probability 1 - failure the expected share of every rule of the class is between
              ``least`` and ``greatest`` of the number of rows that it says yes to, all at once.
    Assumes:  rows are independent draws from one population; ``ghosts`` was fixed without looking at them.
    Source:   Vapnik, Chervonenkis 1971, with the tail of the draw itself in place of an inequality for it,
              and with a ghost sample of any size: Devroye 1982.  Theorem: UNIFORM-CLASSES.
    """

    rules: RuleClass
    rows: int
    failure: Fraction
    ghosts: int

    @property
    def log_level(self) -> float:
        """Of one side of one of the things that can be said: ln(failure / (4 growth)), rounded down."""
        return -log_up(4 * self.rules.growth(self.rows + self.ghosts) / self.failure)

    def greatest(self, yes: Counts) -> Floats:
        """(K - yes) / ghosts, rounded up: K the least number of yeses among all at which so few of them would
        fall to the rows with no more than this level.
        """
        x, level = np.asarray(yes, dtype=np.int64), self.log_level
        few = np.minimum(x, self.rows - 1)  # where all rows say yes there is nothing to bound

        def rare(among: Any) -> Any:
            return self._log_tail(few, among) <= level

        most = few + self.ghosts
        found = whole_edges(rare, most, few)
        share = (found - few) / self.ghosts * (1 + FEW)
        return np.where((x < self.rows) & rare(most), np.minimum(share, 1.0), 1.0)

    def least(self, yes: Counts) -> Floats:
        """Of those that say no the greatest, subtracted from 1; the difference is rounded near 1."""
        found: Floats = np.maximum(1 - self.greatest(self.rows - np.asarray(yes)) - FEW, 0.0)
        return found

    def _log_tail(self, few: Any, among: Any) -> Any:
        """ln Pr[at most ``few`` of ``among`` yeses fall to the rows], rounded up: the last term, and those
        before it as a geometric series.
        """
        n, ghosts = self.rows, self.ghosts
        logs = (
            *_log_choices(among, few),
            *_log_choices(n + ghosts - among, n - few),
            *(-part for part in _log_choices(np.array(n + ghosts), n)),
        )
        term, size = sum(logs), 1 + sum(np.abs(part) for part in logs)
        ratio = few * 1.0 * (ghosts - among + few) / ((among - few + 1.0) * (n - few + 1.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            series = np.where(ratio < 1, -np.log1p(-np.minimum(ratio, 1.0) * (1 + FEW)), np.inf)
        return np.where(np.isfinite(series), term + series + MANY * size, 0.0)


def _log_choices(n: Any, k: Any) -> tuple[Any, Any, Any]:
    gammaln = special().gammaln
    return gammaln(n + 1.0), -gammaln(k + 1.0), -gammaln(n - k + 1.0)


def uniform_shares(rules: RuleClass, rows: int, failure: Number) -> UniformShares:
    """With about the best number of ghosts: more of them are a better mirror, of which more can be said."""
    n, chance = whole(rows, "the number of rows"), probability(failure, "the failure probability")
    return UniformShares(rules, n, chance, _ghosts(rules, n, chance))


@lru_cache(maxsize=256)
def _ghosts(rules: RuleClass, n: int, failure: Fraction) -> int:
    def exponent(times: float) -> float:
        ghosts = max(1, round(times * n))
        return (n + ghosts) / ghosts * log_up(4 * rules.growth(n + ghosts) / failure)

    return max(1, round(minimise(exponent, _FEWEST, _MOST, _STEPS) * n))


@lru_cache(maxsize=256)
def uniform_width(shares: UniformShares) -> float:
    """How far the share of rows is from the expected one at most, for every rule: the longest arm."""

    def arm(first: Counts, last: Counts) -> Floats:
        return shares.greatest(last) - first / shares.rows * (1 - FEW)

    return min(1.0, float(longest_arm(arm, shares.rows)) + 2 * FEW)  # a lower end may be one FEW lower


def threshold_width(rows: int, failure: Number) -> float:
    """For the shares of rows that are at most t, for every t at once: sqrt(ln(2 / failure) / (2 n)).

    Claim:    as wide as one query alone by Hoeffding's inequality, and for all of them; rounded up.
    Assumes:  rows are independent draws from one population.
    Source:   Massart 1990 (Dvoretzky, Kiefer, Wolfowitz with the best constant).  Theorem: UNIFORM-CLASSES.
    """
    return hoeffding_width(rows, failure)
