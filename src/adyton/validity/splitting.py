"""Sample splitting: fresh rows for every question, the method that needs no theorem."""

from __future__ import annotations

from dataclasses import dataclass

from adyton.exact import Number
from adyton.validity.binomial import exact_width
from adyton.validity.concentration import hoeffding_width
from adyton.validity.outward import probability, whole


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


def exact_splitting_width(rows: int, questions: int, failure: Number) -> SplitWidth | None:
    """The same for questions with values 0 and 1, by exact binomial intervals.  Theorem: SAMPLE-SPLITTING."""
    n, k = whole(rows, "the number of rows"), whole(questions, "the number of questions")
    each = n // k
    share = probability(failure, "the failure probability") / k
    return SplitWidth(exact_width(each, share), each) if each else None
