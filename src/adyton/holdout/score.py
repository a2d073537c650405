"""What comes out of a holdout: a score, a comparison, a budget."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context

from adyton.certify import Certificate, Interval, Proof
from adyton.documents import Document
from adyton.show import Sheet, Shown, ends, number

_MAY_GO_ON = ("thresholdout", "sparse_validate")  # only some of their answers count against the budget
_OF_THEM = ("training", "holdout", "yes", "no")
_IN_WORDS = {"last": "the last score, exact"}
_PAID = "number scores_left repeated receipt certificate"  # of scores and comparisons alike
_REVEALS = "Labels are not protected: scores are exact, and enough of them reveal every label."
_REPEATED = "The same predictions as before: the same answer, free of charge."


@dataclass(frozen=True, slots=True)
class Slice(Document):
    """One group's part of a score; all intervals are simultaneous."""

    value: float
    interval: Interval | None
    items: int


@dataclass(frozen=True, slots=True)
class Score(Shown, Document):
    """A value, the interval that holds simultaneously for this and all other scores, and how many are left.

    ``interval`` is None where nothing is certified.  ``said`` is what the method did: "score" for most,
    "training" or "holdout" for Thresholdout, "yes" or "no" for SparseValidate; "last" of the one without
    noise that closes a holdout.
    """

    value: float | None
    interval: Interval | None
    scores_left: int | None
    number: int
    said: str
    metric: str
    receipt: Proof
    certificate: Certificate
    repeated: bool = False
    slices: dict[str, Slice] | None = None

    json_keys = f"metric value interval said {_PAID} slices?"

    def __float__(self) -> float:
        return float("nan") if self.value is None else self.value

    def _left(self) -> str:
        if self.scores_left is None:
            return "open"
        return f"{'at least ' if self.scores_left and self.said in _OF_THEM else ''}{self.scores_left:,}"

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = [(self.metric, "-" if self.value is None else number(self.value, half_of(self.interval)))]
        rows += [("population", text_of(self.interval))]
        rows += [] if self.said == "score" else [("said", _IN_WORDS.get(self.said, self.said))]
        rows += [("scores left", self._left())]
        rows += [(f"group {name}", text_of(part.interval)) for name, part in (self.slices or {}).items()]
        notes = (f"Theorems: {', '.join(self.certificate.theorems) or 'none, nothing is certified'}.",)
        return Sheet(f"Score {self.number}", ("", ""), tuple(rows), notes + (_REPEATED,) * self.repeated)


@dataclass(frozen=True, slots=True)
class Comparison(Shown, Document):
    """By how much the first model is better than the second on the population; negative if it is worse."""

    value: float
    interval: Interval
    scores_left: int
    number: int
    receipt: Proof
    certificate: Certificate
    repeated: bool = False

    json_keys = f"verdict value interval {_PAID}"

    @property
    def verdict(self) -> str:
        if self.interval.low > 0:
            return "better"
        return "worse" if self.interval.high < 0 else "cannot tell"

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = (
            ("verdict", self.verdict),
            ("difference", number(self.value, half_of(self.interval))),
            ("population", text_of(self.interval)),
            ("scores left", f"{self.scores_left:,}"),
        )
        return Sheet("First against second", ("", ""), rows, (_REPEATED,) * self.repeated)


@dataclass(frozen=True, slots=True)
class HoldoutBudget(Shown, Document):
    """How far a holdout is: scores given, scores left, and what each of them is worth."""

    metric: str
    method: str
    items: int
    scores: int
    scores_left: int | None
    half_width: float | None
    confidence: float
    head: str
    certificate: Certificate
    expected: float | None = None
    closed: bool = False

    json_keys = (
        "metric method items scores scores_left half_width expected closed confidence head certificate"
    )

    def __str__(self) -> str:
        left = self._left()
        if self.closed:
            return "closed with a last, exact score"
        if self.half_width is None:
            return f"{left}, without a certified interval"
        near = "" if self.expected is None else f" for scores near {self.expected:.6g}"
        return f"{left} at ±{_rounded_up(self.half_width):.3g}{near}, {100 * self.confidence:.10g} %"

    @property
    def reveals_labels(self) -> bool:
        """Whether scores are exact and without end, so that enough of them show every label."""
        return self.method == "uniform"

    def _left(self) -> str:
        if self.scores_left is None:
            return "open number of scores"
        least = "at least " if self.scores_left and self.method in _MAY_GO_ON else ""
        return f"{least}{self.scores_left:,} score{'' if self.scores_left == 1 else 's'} left"

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = (
            ("metric", self.metric),
            ("method", self.method),
            ("items", f"{self.items:,}"),
            ("scores so far", f"{self.scores:,}"),
            ("now", str(self)),
            ("head", self.head),
        )
        assumed = (f"Assumed: {text}." for text in self.certificate.assumptions)
        return Sheet("Holdout", ("", ""), rows, (_REVEALS,) * self.reveals_labels + tuple(assumed))


def _rounded_up(width: float) -> float:
    """To three digits, so that what is shown is never less than what is certified."""
    return float(Context(prec=3, rounding=ROUND_CEILING).create_decimal(repr(width)))


def half_of(interval: Interval | None) -> float:
    return 0.0 if interval is None else (interval.high - interval.low) / 2


def text_of(interval: Interval | None) -> str:
    if interval is None:
        return "not certified"
    half = half_of(interval)
    return ends(interval.low, interval.high, half)
