"""Sample splitting: fresh rows for every question, the method that needs no theorem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adyton.exact import Number, float_down, probability, whole
from adyton.validity.binomial import exact_width
from adyton.validity.plans.expected import Expected
from adyton.validity.plans.misses import deviations
from adyton.validity.textbook.concentration import hoeffding_width, log_up


@dataclass(frozen=True, slots=True)
class SplitWidth:
    """A half-width, and the rows that each question gets."""

    tolerance: float
    rows_each: int


def splitting_width(rows: int, questions: int, failure: Number) -> SplitWidth | None:
    """sqrt(ln(2k / failure) / (2 m)) with m = floor(rows / k) rows for each question; None if m = 0.

    Claim:    Pr[some |q_j(S_j) - q_j(P)| > width] <= failure, for any adaptive questions, without noise.
    Assumes:  independent rows; no row is used twice.
    Source:   Hoeffding 1963 and a union bound.  Theorem: SAMPLE-SPLITTING.
    """
    n, k = whole(rows, "the number of rows"), whole(questions, "the number of questions")
    each = n // k
    share = probability(failure, "the failure probability") / k
    return SplitWidth(hoeffding_width(each, share), each) if each else None


def exact_splitting_width(
    rows: int, questions: int, failure: Number, share: Number | None = None
) -> SplitWidth | None:
    """The same for questions with values 0 and 1, by exact binomial intervals; of a ``share`` if it is known.

    Theorem: SAMPLE-SPLITTING.
    """
    n, k = whole(rows, "the number of rows"), whole(questions, "the number of questions")
    each = n // k
    chance = probability(failure, "the failure probability") / k
    return SplitWidth(exact_width(each, chance, share), each) if each else None


def expected_splitting_width(
    rows: int, questions: int, failure: Number, expected: Expected
) -> SplitWidth | None:
    """The same for questions of which a share, a spread or a group is expected, by Chernoff's bound.

    Theorem: SAMPLE-SPLITTING.
    """
    n, k = whole(rows, "the number of rows"), whole(questions, "the number of questions")
    each = n // k
    chance = probability(failure, "the failure probability") / k
    if not each:
        return None
    deviation = float(deviations(expected).beyond(np.array(log_up(2 / chance) / each)))
    part = 1.0 if expected.group is None else float_down(expected.group)
    return SplitWidth(deviation / part * (1 + 1e-12), each)
