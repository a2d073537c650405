"""What the population intervals of a study rest on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, get_args

from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, keep_exactly
from adyton.kernel.privacy import Adjacency
from adyton.query.description import DictionaryName
from adyton.validity.described import FOR_DESCRIBED
from adyton.validity.hinge.planned import PlannedSchedule
from adyton.validity.plans.expected import Expected
from adyton.validity.plans.study_plans import StudyPlan, planned_study

if TYPE_CHECKING:
    from adyton.study.facts import Study

_COUNTING = Fraction(1, 100)  # of the failure, in a pure study

MethodName = Literal["subset", "split", "rounding"]

FOR_NOISE = Fraction(1, 64)  # of the failure: that no noise is larger than final radii take it to be
FOR_THEIR_NOISE = Fraction(1, 64)  # that the noise of described queries is; for their rows FOR_DESCRIBED
FOR_COUNTS = Fraction(1, 32)  # that what is said of the number of units is right, where it is private


@dataclass(frozen=True, slots=True)
class Validity:
    """What the population intervals of a study rest on, fixed before the first query.

    A study with Gaussian noise needs nothing but the confidence.  It may plan: how many queries there will
    be, the tolerance for each, and what is expected of them, which chooses noise and guarantees nothing.  A
    pure study needs such a plan, or a cap on what all queries together may spend of ``stability`` (mu0).
    ``beyond_plan`` says whether a later query is refused, or answered.  By the ``method`` of splitting,
    for Gaussian noise, each of the ``queries`` reads a part of the units of its own, and there are no
    others.  By the method of rounding answers get noise and are then put on a ``grid``, whose step is this
    part of the range of what is asked; where none is given, the best for so many ``queries``.
    About the share ``reserve`` of the units is read by no query, and kept for tests.

    A query with a short description has an interval that does not widen with what was asked before it.  The
    ``dictionary`` says how queries are described: "schema" by the declarations of the study file, whose owner
    asserts that it was written without looking at the rows; "universal" letter by letter.  ``registered``
    queries, fixed without looking at the rows, have the shortest descriptions.
    """

    confidence: Fraction
    stability: Fraction | None = None
    queries: int | None = None
    tolerance: Fraction | None = None
    beyond_plan: Literal["refuse", "answer"] | None = None
    share: Fraction | None = None
    spread: Fraction | None = None
    group: Fraction | None = None
    noise: Literal["constant", "decreasing"] = "constant"
    method: MethodName | None = None  # None: that of the study's noise
    grid: Fraction | None = None
    reserve: Fraction | None = None
    dictionary: DictionaryName = "universal"
    registered: tuple[str, ...] = ()

    if TYPE_CHECKING:

        def __init__(
            self,
            confidence: Number,
            stability: Number | None = None,
            queries: int | None = None,
            tolerance: Number | None = None,
            beyond_plan: Literal["refuse", "answer"] | None = None,
            share: Number | None = None,
            spread: Number | None = None,
            group: Number | None = None,
            noise: Literal["constant", "decreasing"] = "constant",
            method: MethodName | None = None,
            grid: Number | None = None,
            reserve: Number | None = None,
            dictionary: DictionaryName = "universal",
            registered: tuple[str, ...] = (),
        ) -> None: ...

    def __post_init__(self) -> None:
        exact = ("confidence", "stability", "tolerance", "share", "spread", "group", "grid", "reserve")
        keep_exactly(self, *exact)
        if not 0 < self.confidence < 1:
            raise InvalidRequest("validity.confidence must be above 0 and below 1, e.g. 0.95")
        self._check_dictionary()
        if self.reserve is not None and not 0 < self.reserve < 1:
            raise InvalidRequest(
                "validity.reserve is the share of the units that no query reads: above 0 and below 1, "
                "e.g. 0.2"
            )
        if self.queries is not None and self.queries < 1:
            raise InvalidRequest("validity.queries must be at least 1")
        if self.stability is not None and self.stability > 1:
            raise InvalidRequest("validity.stability above 1 certifies nothing; below 0.1 is useful")
        if self.tolerance is not None and self.queries is None:
            raise InvalidRequest("validity.tolerance needs validity.queries")
        if self.expects and self.tolerance is None:
            raise InvalidRequest(
                "validity.share, spread, group and noise choose the noise of a plan: give validity.tolerance "
                "and validity.queries too"
            )
        for name, most in (("share", 1), ("spread", Fraction(1, 2)), ("group", 1), ("grid", Fraction(1, 2))):
            value = getattr(self, name)
            if value is not None and not 0 < value <= most:
                raise InvalidRequest(f"validity.{name} must be above 0 and at most {float(most):g}")
        if self.grid is not None and self.method != "rounding":
            raise InvalidRequest("validity.grid goes with validity.method = 'rounding'")
        if self.share is not None and self.spread is not None:
            raise InvalidRequest("a plan is for a share or for values with a spread: give one of the two")

    def _check_dictionary(self) -> None:
        """A name that is not known must not stand for the owner's word."""
        if self.dictionary not in get_args(DictionaryName):
            raise InvalidRequest(f"validity.dictionary is schema or universal, not {self.dictionary!r:.40}")
        listed: object = self.registered
        if not isinstance(listed, tuple | list) or not all(isinstance(text, str) for text in listed):
            raise InvalidRequest(
                'validity.registered is a list of SQL texts, e.g. ["SELECT COUNT(*) FROM people"]'
            )
        object.__setattr__(self, "registered", tuple(listed))

    @property
    def expects(self) -> bool:
        """Whether a plan says more than how many queries there are, and how exact they should be."""
        return self.noise != "constant" or any(
            given is not None for given in (self.share, self.spread, self.group)
        )

    @property
    def expected(self) -> Expected:
        return Expected(self.share, self.spread, self.group)


def check_validity(study: Study) -> None:
    """Refuses what does not go with the noise of the study, and a plan that these rows cannot bear."""
    validity = study.validity
    if validity is None:
        return
    if validity.method is not None:
        _check_method(study, validity)
    if validity.reserve is not None:
        _check_reserve(study, validity)
    if not study.rule.capped:
        if validity.stability is not None:
            raise InvalidRequest(
                "validity.stability is the cap of a pure study; with Gaussian noise every answer has an "
                "interval, whose width follows what was spent: remove it"
            )
    elif (validity.stability is None) == (validity.tolerance is None):
        raise InvalidRequest(
            "a pure study gives either validity.stability, or validity.tolerance and validity.queries"
        )
    elif validity.expects:
        raise InvalidRequest("validity.share, spread, group and noise go with Gaussian noise, not with pure")
    if validity.tolerance is not None:
        _check_tolerance(study, validity, validity.tolerance)


def _check_method(study: Study, validity: Validity) -> None:
    if study.rule.capped:
        raise InvalidRequest(
            "validity.method goes with Gaussian noise (privacy.accounting = 'gdp' or 'zcdp')"
        )
    if validity.method == "rounding":
        _check_rounding(study, validity)
    if validity.method != "split":
        return
    if validity.queries is None or validity.queries < 2:
        raise InvalidRequest("validity.method = 'split' needs validity.queries, at least 2: a part for each")
    if validity.tolerance is not None or validity.beyond_plan == "answer":
        raise InvalidRequest(
            "with validity.method = 'split' each query reads a part of its own and names its own price, "
            "and no part is left beyond validity.queries: remove validity.tolerance and "
            "beyond_plan = 'answer'"
        )
    if study.further:
        raise InvalidRequest("validity.method = 'split' goes with one private table, not with several")
    if study.unit.person is None and study.unit.adjacency != "replace-one":
        raise InvalidRequest(
            "validity.method = 'split' tells units apart by the person, or by a row's position, which "
            "changes for all later rows if one is removed: write unit = 'person', "
            "or adjacency = 'replace-one'"
        )


def _check_rounding(study: Study, validity: Validity) -> None:
    if study.unit.adjacency != "replace-one":
        raise InvalidRequest(
            "validity.method = 'rounding' counts which answers are possible, by the public number of units: "
            "write privacy.adjacency = 'replace-one' and table.rows"
        )
    if validity.grid is None and validity.queries is None:
        raise InvalidRequest(
            "validity.method = 'rounding' needs validity.grid, the step of the grid as a part of the range "
            "of an answer, e.g. 0.02; or validity.queries, and the best grid for so many is taken"
        )
    if validity.tolerance is not None:
        raise InvalidRequest(
            "with validity.method = 'rounding' each query names its own price: remove validity.tolerance"
        )
    if study.further:
        raise InvalidRequest("validity.method = 'rounding' goes with one private table, not with several")


def rounding_grid(validity: Validity, rows: int | None) -> Fraction | None:
    """The step of the grid as a part of the range of an answer; None where nothing says it: it is refused."""
    if validity.grid is not None or validity.queries is None or rows is None:
        return validity.grid
    return _best_grid(rows, validity.queries, 1 - validity.confidence)


@lru_cache(maxsize=16)
def _best_grid(rows: int, queries: int, failure: Fraction) -> Fraction:
    """For means without noise: it chooses, and whatever it chooses is certified as it is."""
    from adyton.validity.published.compressibility import counted_rounding_width

    return Fraction(1, counted_rounding_width(rows, queries, failure).levels)


def refuse_where_rounded(study: Study, what: str) -> None:
    """For releases other than counts, sums and means, of which nobody counted how many are possible."""
    if study.grid is not None:
        raise InvalidRequest(
            f"{what} is not put on a grid: a study with validity.method = 'rounding' answers counts, sums, "
            "means and proportions"
        )


def _check_reserve(study: Study, validity: Validity) -> None:
    if validity.method == "rounding":
        raise InvalidRequest(
            "validity.reserve does not go with validity.method = 'rounding', which counts possible answers "
            "by the number of units that are read: with a reserve that is not public; remove one of the two"
        )
    if validity.method == "split":
        raise InvalidRequest(
            "validity.reserve does not go with validity.method = 'split': there every query has units of "
            "its own already; remove one of the two"
        )
    if study.unit.person is None and study.unit.adjacency != "replace-one":
        raise InvalidRequest(
            "validity.reserve tells units apart by the person, or by a row's position, which changes for all "
            "later rows if one is removed: write privacy.unit = 'person', or adjacency = 'replace-one'"
        )
    kept, units = validity.reserve, study.table.rows
    if kept is not None and units is not None and units * min(kept, 1 - kept) < 1:
        where = "in the reserve" if units * kept < 1 else "outside of it"
        raise InvalidRequest(
            f"validity.reserve = {float(kept):g} of {units} units: less than one is expected {where}, and "
            f"there is nothing to {'test on' if units * kept < 1 else 'ask about'}; "
            + (f"from {1 / units:.1g} to {1 - 1 / units:.6g} each part has one" if units > 1 else "remove it")
        )


def _check_tolerance(study: Study, validity: Validity, tolerance: Fraction) -> None:
    rows = study.units_expected
    if rows is None:
        raise InvalidRequest("validity.tolerance needs validity.queries and table.rows")
    if study.rule.capped:
        best = planned(validity, rows, study.unit.adjacency, discovery_failure(study)).tolerance
    else:
        best = gaussian_plan(study).tolerance
    if best > tolerance:
        from adyton.validity.planner import in_words

        shown = in_words(best, up=True) if math.isfinite(best) else "no tolerance"
        noise = " with the Laplace noise of a pure study" if study.rule.capped else ""
        found = (
            " where groups may be discovered (privacy.discovery_delta)"
            if noise and study.discovery_delta
            else ""
        )
        units = f"{study.unit.word}s" + (" outside of the reserve" if validity.reserve is not None else "")
        raise InvalidRequest(
            f"{rows} {units} certify {validity.queries} adaptive queries within {shown}{noise}{found}, "
            f"not within {float(tolerance):g}: ask fewer queries or allow a wider tolerance "
            "(see adyton plan)"
        )


def discovery_failure(study: Study) -> Fraction:
    """All of ``discovery_delta``, whatever epsilon is.

    If a failure has probability at most f on either of two tables, whatever else is released, and the release
    without failures is (e, d)-DP, the whole is (e, d + f)-DP.  Theorem: KEY-SELECTION.
    """
    return study.discovery_delta


@lru_cache(maxsize=16)
def claims_failure(validity: Validity, adjacency: Adjacency) -> Fraction:
    """The part of the failure that is left for the intervals themselves, in a study with Gaussian noise."""
    counts = 0 if adjacency == "replace-one" and validity.reserve is None else FOR_COUNTS
    return (1 - validity.confidence) * (1 - FOR_NOISE - counts - FOR_DESCRIBED - FOR_THEIR_NOISE)


def gaussian_plan(study: Study) -> StudyPlan:
    """The noise of a plan.  Where the size is private, it is made for the public guess of it."""
    validity, rows = study.validity, study.units_expected
    assert validity is not None
    assert validity.queries is not None
    assert rows is not None
    assert validity.tolerance is not None
    failure = claims_failure(validity, study.unit.adjacency)
    return planned_study(
        rows, validity.queries, failure, validity.tolerance, validity.expected, validity.noise
    )


@lru_cache(maxsize=16)
def planned(
    validity: Validity, rows: int, adjacency: Adjacency, delta: Fraction = Fraction(0)
) -> PlannedSchedule:
    """The widths of a pure plan.  Where the size is private, what is said of it must be right too."""
    assert validity.queries is not None
    failure = (1 - validity.confidence) * (1 - FOR_DESCRIBED - FOR_THEIR_NOISE)
    public = adjacency == "replace-one" and validity.reserve is None
    return PlannedSchedule.plan(
        rows,
        validity.queries,
        failure,
        counting=0 if public else failure * _COUNTING,
        delta=delta,
    )
