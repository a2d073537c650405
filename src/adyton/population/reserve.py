"""Tests on units that no query has read: those that were named before anybody saw them, and no others.

A reserve is opened once.  Whoever opens it first says in words what will be tested, and at which level for
all of it together; the ledger keeps that, durably, before a row is handed out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest

from adyton.certify import Proof
from adyton.documents import Document
from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, float_down, float_up, rational
from adyton.kernel.ledger import Ledger, Order, Receipt
from adyton.kernel.ledger.subjects import ReceiptSubject
from adyton.kernel.paid import record
from adyton.show import Sheet, Shown, number
from adyton.study import Study

_OPENED = "THE RESERVE WAS OPENED"
_OWNER, _ONCE = "owner of the reserve", "the reserve is opened once"
_MOST_TESTS, _LONGEST = 1_000, 2_000
_BEFORE = (
    "Open it when you know what to test: adyton reserve open STUDY --test '...' -o FILE. All tests are named "
    "then, and none can be added."
)
_PUBLISHED = (
    "If the outcome is published, answers to queries, before and after, keep their population intervals. "
    "But it is an exact statement about the units of the reserve: no guarantee of privacy covers it for them."
)


@dataclass(frozen=True, slots=True)
class Opening:
    """What a reserve was opened for: ``tests``, in words, and the level ``alpha`` of all of them together."""

    receipt: Receipt
    tests: tuple[str, ...]
    alpha: Fraction

    @property
    def number(self) -> int:
        return self.receipt.number

    @property
    def level(self) -> Fraction:
        """At or below which the p-value of any one of them is significant, whatever the others are."""
        return self.alpha / len(self.tests)


def order_of(tests: Sequence[str], alpha: Number) -> Order:
    """A note in the ledger: its request id makes a second one impossible, whoever comes first.

    It costs the least that a charge can, and validity pays nothing: the units are in no answer.
    """
    tests = [tests] if isinstance(tests, str) else tests
    named = tuple(test.strip() for test in tests if isinstance(test, str))
    if not 1 <= len(named) == len(tests) <= _MOST_TESTS or not all(
        1 <= len(test) <= _LONGEST for test in named
    ):
        raise InvalidRequest(
            f"say in words what will be tested on the reserve: 1 to {_MOST_TESTS:,} tests, each in at most "
            f"{_LONGEST:,} characters"
        )
    if len(set(named)) < len(named):
        raise InvalidRequest("a test is named twice: name each once")
    level = rational(alpha, "alpha, the level of all tests together,")
    if not 0 < level < 1:
        raise InvalidRequest("alpha, the level of all tests together, lies above 0 and below 1, e.g. 0.05")
    detail = json.dumps({"alpha": str(level), "tests": named}, ensure_ascii=False)
    opening = ReceiptSubject("reserve opening")
    return Order(_OPENED, detail, 1, 0, request=_ONCE, by=_OWNER, subject=opening)


def open_once(ledger: Ledger, order: Order) -> Opening:
    """The opening, which is charged before anything is read; the same again is the same one, and free."""
    earlier = opening_in(ledger)
    if earlier is None:
        refuse_where_lost(ledger)
    elif earlier.receipt.order.detail != order.detail:
        raise InvalidRequest(
            f"the reserve was opened before (receipt {earlier.number}), for {_tests(earlier)} at alpha = "
            f"{float(earlier.alpha):g}: nothing else can be tested on it (adyton reserve show)"
        )
    return _of(record(ledger, order).receipt)


def opening_in(ledger: Ledger) -> Opening | None:
    """What the reserve of this study was opened for, if it was.  By its kind: a name that asks through a
    service knows of no request ids but its own.
    """
    opened = ledger.find("reserve opening")
    return _of(opened[-1]) if opened else None


def refuse_where_lost(ledger: Ledger) -> None:
    """What nobody remembers may have been an opening, for other tests."""
    if _lost(ledger):
        raise InvalidRequest(
            "a copy of the ledger was put back that has lost receipts: the reserve may have been opened by "
            "one of them, for other tests, so it is not opened, and the study not amended"
        )


def _lost(ledger: Ledger) -> bool:
    """Whether receipts are missing before one that stands for what a copy has lost (RESTORED-LEDGER)."""
    restored = [receipt.order.subject.receipts for receipt in ledger.find("restored")]
    return any(ledger.receipt(last) is None for last in restored)


def _of(receipt: Receipt) -> Opening:
    said = json.loads(receipt.order.detail)
    return Opening(receipt, tuple(said["tests"]), Fraction(said["alpha"]))


def said_of(study: Study, ledger: Ledger) -> str:
    """In a few words, for a budget."""
    assert study.reserve is not None
    share, opening = f"about {float(100 * study.reserve.share):.4g} % of the units", opening_in(ledger)
    if opening is None:
        unknown = "nobody knows whether it was opened: receipts were lost"
        return f"{share}, {unknown if _lost(ledger) else 'not opened'}"
    return f"{share}, opened for {_tests(opening)} (receipt {opening.number})"


def _tests(opening: Opening) -> str:
    return "1 test" if len(opening.tests) == 1 else f"{len(opening.tests):,} tests"


def significant(opening: Opening, p_values: Sequence[Fraction]) -> tuple[bool, ...]:
    """Which of the tests may be called significant, by their p-values in the order of the tests.

    From the smallest p-value on: alpha is divided by the number of tests that are not significant yet.

    Claim:    the probability that any test of a true null hypothesis is called significant is at most alpha,
              however the tests were chosen from answers, and whatever else is true.
    Assumes:  units are independent draws; each p-value is valid for rows that nobody has asked about; the
              tests were named before the reserve was seen.
    Source:   Holm 1979 for the order; the rest derived here.  Theorem: RESERVE-TEST.
    """
    if len(p_values) != len(opening.tests):
        raise InvalidRequest(
            f"the reserve was opened for {_tests(opening)}: give the p-value of each, in their order"
        )
    found = [False] * len(p_values)
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[place] > opening.alpha / (len(p_values) - rank):
            break
        found[place] = True
    return tuple(found)


@dataclass(frozen=True, slots=True)
class ReserveTest(Document):
    """A test that the reserve was opened for, and what came of it."""

    test: str
    p_value: float | None = None
    significant: bool | None = None

    json_keys = "test p_value? significant?"


@dataclass(frozen=True, slots=True)
class ReserveOpened(Document):
    """``level``: at or below which any one p-value is significant."""

    receipt: Proof
    alpha: Fraction
    level: float | None
    tests: tuple[ReserveTest, ...]
    theorem: str = "RESERVE-TEST"


@dataclass(frozen=True, slots=True)
class ReserveLook(Shown, Document):
    """The reserve of a study: how large it is, what it was opened for, and what came of it.

    ``rows`` and ``file``: what was handed out just now.  The rows themselves are in no text that this makes.
    """

    share: Fraction
    units: str
    about: int | None
    opening: Opening | None = None
    p_values: tuple[Fraction, ...] = ()
    rows: int | None = None
    file: str | None = None

    json_keys = "reserve=share units about opened? rows? file?"

    @classmethod
    def of(cls, study: Study, ledger: Ledger, p_values: Sequence[Number] = ()) -> ReserveLook:
        """As far as study and ledger know it."""
        if study.reserve is None:
            raise InvalidRequest(
                "this study has no reserve: [validity] reserve = 0.2 in the study file keeps about a fifth "
                "of the units for tests, from the first query on"
            )
        share, all_units = study.reserve.share, study.table.rows
        opening, exact = opening_in(ledger), tuple(_p_value(p) for p in p_values)
        if exact and opening is None:
            raise InvalidRequest("the reserve was not opened yet: no p-value can be of its units")
        if exact and opening is not None:
            significant(opening, exact)
        about = None if all_units is None else round(all_units * share)
        return cls(share, f"{study.unit.word}s", about, opening, exact)

    @property
    def level(self) -> float | None:
        """At or below which any one p-value is significant, whatever the others are; None before it opens."""
        if self.opening is None:
            return None
        near = float(self.opening.level)
        return near if Fraction(repr(near)) <= self.opening.level else float_down(self.opening.level)

    @property
    def significant(self) -> tuple[bool, ...]:
        """Of each test, whether it may be called so; nothing before there are p-values."""
        return significant(self.opening, self.p_values) if self.opening and self.p_values else ()

    @property
    def opened(self) -> ReserveOpened | None:
        if self.opening is None:
            return None
        receipt, opening = self.opening.receipt, self.opening
        proof = Proof(receipt.number, receipt.digest, receipt.previous)
        return ReserveOpened(proof, opening.alpha, self.level, self._tests(opening))

    def _tests(self, opening: Opening) -> tuple[ReserveTest, ...]:
        judged = zip_longest(opening.tests, self.p_values, self.significant)
        return tuple(ReserveTest(test, None if p is None else float_up(p), yes) for test, p, yes in judged)

    def sheet(self, verbose: bool = False) -> Sheet:
        size = "" if self.about is None else f", about {self.about:,}"
        rows = [("kept from all queries", f"about {float(100 * self.share):.4g} % of the {self.units}{size}")]
        if self.opening is None:
            return Sheet("Reserve", ("", ""), (*rows, ("opened", "no")), (_BEFORE,))
        rows += [
            ("opened", f"receipt {self.opening.number}"),
            ("level of all tests together", number(float(self.opening.alpha))),
        ]
        rows += [(f"test {place}", test) for place, test in enumerate(self.opening.tests, start=1)]
        if self.p_values:
            named = zip(self.p_values, self.significant, strict=True)
            rows += [
                (f"p-value of test {place}", f"{float(p):.2g}: {'significant' if yes else 'not significant'}")
                for place, (p, yes) in enumerate(named, start=1)
            ]
        else:
            rows += [("significant if a p-value is at most", f"{self.level:.6g}")]
        rows += [("rows written", f"{self.rows:,}, to {self.file}")] if self.file is not None else []
        rows += [("theorem", "RESERVE-TEST")] if verbose else []
        return Sheet("Reserve", ("", ""), tuple(rows), (_PUBLISHED,), left_aligned=2)


def _p_value(value: Number) -> Fraction:
    p = rational(value, "a p-value")
    if not 0 <= p <= 1:
        raise InvalidRequest("a p-value lies between 0 and 1")
    return p
