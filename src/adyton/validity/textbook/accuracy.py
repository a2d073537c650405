"""How many queries a sample answers if its exact averages are given: fixed in advance, or in a tree.

A mechanism is (alpha, beta)-accurate for k queries if with probability 1 - beta all its answers are within
alpha of the population.  Averages are that for exponentially many queries fixed in advance, and for few
that depend on each other's answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, positive, probability, whole
from adyton.kernel.exact.outward import SAFE, digits, log_up
from adyton.validity.textbook.concentration import hoeffding_width


@dataclass(frozen=True, slots=True)
class Accuracy:
    """All answers are within ``alpha`` with probability at least 1 - ``beta``."""

    alpha: float
    beta: Fraction

    def and_then(self, other: Accuracy) -> Accuracy:
        """Errors of two steps in a row add up, and so do their failures.  Theorem: UNION-BOUND."""
        return Accuracy((self.alpha + other.alpha) * SAFE, union((self.beta, other.beta)))


def union(failures: Iterable[Fraction]) -> Fraction:
    """Some of several failures happens with at most the sum of their probabilities.

    Source:   Boole.  Theorem: UNION-BOUND.
    """
    return min(Fraction(1), sum(failures, Fraction(0)))


def fixed_width(rows: int, queries: int, failure: Number) -> float:
    """sqrt(ln(2k / failure) / (2n)): all averages of k queries fixed in advance are within it, rounded up.

    Claim:    Pr[some |q_j(S) - q_j(P)| > width] <= failure.
    Assumes:  independent rows; values in [0, 1]; every query was fixed before the rows were seen.
    Source:   Hoeffding 1963 and a union bound.  Theorem: FIXED-QUERIES.
    """
    share = probability(failure, "the failure probability")
    return hoeffding_width(rows, share / whole(queries, "the number of queries"))


def fixed_queries(rows: int, alpha: Number, failure: Number) -> int:
    """The most queries fixed in advance: floor of (failure / 2) exp(2 n alpha**2)."""
    exponent = 2 * whole(rows, "the number of rows") * positive(alpha, "alpha") ** 2
    if exponent > 10**6:
        raise InvalidRequest("more queries than can be counted")
    mp = digits(60 + int(exponent))
    half = probability(failure, "the failure probability") / 2
    power = mp.exp(mp.mpf(exponent.numerator) / exponent.denominator)
    return int(mp.floor(power * half.numerator / half.denominator * (1 - mp.mpf(10) ** -40)))


def forking_width(rows: int, queries: int, failure: Number, *, answers: int = 2) -> float:
    """The same for k queries that depend on the answers before them, each one of ``answers``, rounded up.

    Claim:    Pr[some |q_j(S) - q_j(P)| > width] <= failure: a tree of k queries has (d**k - 1) / (d - 1)
              nodes.
    Assumes:  independent rows; values in [0, 1]; nothing about the rows but these answers is known.
    Source:   derived here.  Theorem: FORKING-PATHS.
    """
    n, share = whole(rows, "the number of rows"), probability(failure, "the failure probability")
    return math.sqrt(log_up(2 * tree_size(queries, answers) / share) / (2 * n)) * SAFE


def forking_queries(rows: int, alpha: Number, failure: Number) -> int:
    """The most binary queries in a tree: the largest k with 2 (2**k - 1) exp(-2 n alpha**2) <= failure."""
    nodes = fixed_queries(rows, alpha, failure)
    return (nodes + 1).bit_length() - 1  # 2**k - 1 <= nodes


def loose_forking_queries(rows: int, alpha: Number, failure: Number) -> int:
    """2 n alpha**2 - ln(2 / failure), with exp(k) in place of 2**k: valid, and a third too small."""
    exponent = 2 * whole(rows, "the number of rows") * positive(alpha, "alpha") ** 2
    share = probability(failure, "the failure probability")
    return max(0, math.floor(float(exponent) - log_up(2 / share)))


def tree_size(queries: int, answers: int) -> int:
    """How many different queries an analyst can ask who sees one of ``answers`` after each.

    Theorem: FORKING-PATHS.
    """
    k, d = whole(queries, "the number of queries"), whole(answers, "the number of answers")
    if k * math.log2(max(d, 2)) > 10**6:
        raise InvalidRequest("this tree is too large to be counted")
    return k if d == 1 else int((d**k - 1) // (d - 1))
