"""How small a p-value must be after the rows have been queried, in the words of whoever runs the test."""

from __future__ import annotations

from dataclasses import dataclass

from adyton.documents import Document
from adyton.show import Sheet, Shown, number

_LAST = (
    "A test on the rows is a last look. No theorem covers whoever has seen its result and goes on asking; "
    "if it is published, record it (--publish): later answers then have a population interval only if their "
    "query has a description."
)
_NOT_PRIVATE = "An exact test is not private: whoever publishes it spends privacy that no ledger has counted."
_RESERVE = (
    "This study keeps a reserve of units that no query reads: a test on these alone needs no correction "
    "(adyton reserve). Once it was opened, no other test may use its rows."
)


@dataclass(frozen=True, slots=True)
class ByRoute(Document):
    """The threshold that one theorem gives, with its part of the level."""

    route: str
    theorem: str
    threshold: float


@dataclass(frozen=True, slots=True)
class LastLook(Shown, Document):
    """A test at level ``alpha`` may reject where its own p-value is at most ``threshold``.

    ``p_value`` is one that was computed, and ``corrected`` what it is worth after the queries.  ``routes``
    are all theorems that apply; the one with the greatest threshold is named.
    """

    alpha: float
    queries: int
    routes: tuple[ByRoute, ...]
    p_value: float | None = None
    corrected: float | None = None
    published: int | None = None  # the receipt that records it
    reserve: bool = False  # does the study keep units for tests?

    json_keys = (
        "alpha threshold queries route theorem routes=each_once p_value? corrected? significant? reserve? "
        "published?"
    )

    @property
    def best(self) -> ByRoute:
        return max(self.routes, key=lambda by: by.threshold)

    @property
    def threshold(self) -> float:
        return self.best.threshold

    @property
    def route(self) -> str:
        return self.best.route

    @property
    def theorem(self) -> str:
        return self.best.theorem

    @property
    def significant(self) -> bool | None:
        return None if self.p_value is None else self.p_value <= self.threshold

    @property
    def each_once(self) -> tuple[ByRoute, ...]:
        """The best of those that differ in a parameter alone, the greatest threshold first."""
        best: dict[tuple[str, str], ByRoute] = {}
        for by in sorted(self.routes, key=lambda by: -by.threshold):
            best.setdefault((by.route, by.theorem), by)
        return tuple(best.values())

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = [
            ("level of the test", number(self.alpha)),
            ("queries charged", f"{self.queries:,}"),
            (
                "significant if its p-value is at most",
                f"{self.threshold:.2g}" if self.threshold else "no p-value is small enough",
            ),
            ("by", self.route),
        ]
        if self.p_value is not None and self.corrected is not None:
            rows += [
                ("the p-value", f"{self.p_value:.2g}"),
                ("after these queries it is worth", f"{self.corrected:.2g}"),
                ("significant", "yes" if self.significant else "no"),
            ]
        if verbose:
            rows += [("theorem", self.theorem)]
            rows += [(f"by {by.route} alone", f"{by.threshold:.2g}") for by in self.each_once[1:]]
        recorded = () if self.published is None else (f"Recorded as receipt {self.published}.",)
        several = "For one test: whoever runs several divides the level by their number."
        notes = (several, *([_RESERVE] if self.reserve else []), _LAST, _NOT_PRIVATE, *recorded)
        return Sheet("Last look", ("", ""), tuple(rows), notes)
