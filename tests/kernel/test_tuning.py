"""What makes no answer wrong, and is chosen all the same: borders between two ways, sizes of pieces, and words.

Whoever changes such a number looks here at what it was chosen for.
"""

from __future__ import annotations

import errno
import sqlite3
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from adyton.errors import InvalidRequest
from adyton.kernel import protection
from adyton.kernel.accounting import gaussian, rules, zcdp
from adyton.kernel.exact import cells, curves, outward
from adyton.kernel.ledger import Header, MemoryLedger, Order, base, faults, links
from adyton.kernel.ledger.stored import tables
from adyton.kernel.ledger.stored.ledger import StoredLedger
from adyton.kernel.mechanisms import base as mechanisms
from adyton.kernel.mechanisms import grid
from adyton.kernel.schema import BooleanColumn, CategoryColumn, DateColumn, IntegerColumn, TextColumn
from adyton.kernel.sensitivity import bounds
from adyton.kernel.special import discovery
from adyton.kernel.special.mechanisms import coins, exponential_weights
from adyton.kernel.terms.buckets import Bucket
from adyton.kernel.terms.expressions import condition, number
from adyton.kernel.terms.leaves import EVERY_ROW, DayOf, IsTrue, OneOf, ValueOf

HEADER = Header("study", "gdp", 1000, "salt")
CHOSEN = [
    (rules, "LEAST_EPSILON", Fraction(1, 10**9)),
    (rules, "LARGEST_EPSILON", 500),
    (rules, "LEAST_DELTA", Fraction(1, 10**300)),
    (gaussian, "_STEPS", 60),  # halvings; a float has 53 places
    (zcdp, "_STEPS", 60),
    (cells, "_ROOM", 2**62),  # two numbers below it have a sum below 2**63
    (grid, "_ROOM", 2**62),
    (curves, "_DIGITS", 90),  # sixty more than are used
    (outward, "_MOST_DIGITS", 400),  # a float has at most 308 before its point
    (links, "_PIECE", 65_536),
    (tables, "CHECKPOINT", 256),  # as ``stored/checking.py`` says
    (tables, "PAGE", 500),
    (tables, "_MOST_KEPT", 128),
    (tables, "_READ", 1_000_000),
    (protection, "_MOST_KNOWN", 64),
    (mechanisms, "_FEW", 16),
    (bounds, "_ROOT_STEPS", 2**64),
    (discovery, "_MOST_RECEIPTS", 1_000_000_000),
    (coins, "_SMALL", 8),
    (exponential_weights, "_BLOCK", 16_384),  # words of 8 bytes: 128 kB
    (exponential_weights, "_TABLE_BITS", 128),
]


def test_what_was_chosen() -> None:
    """Mutants: each of these numbers."""
    for module, name, value in CHOSEN:
        assert getattr(module, name) == value, name


# Machine integers, where they fit --------------------------------------------------------------------------


def test_machine_integers_are_used_where_nothing_can_wrap_around() -> None:
    """Mutants: each part of what is compared with the room for them, and the border."""
    for reach, fits in ((2**62 - 1, True), (2**62, False)):
        for terms in (((1, reach),), ((1, reach - 6), (-2, 3))):
            total = cells.weighted(*((weight, np.array([value])) for weight, value in terms))
            assert (total.dtype == np.int64) == fits
    for low, step, many in ((-7, 5, 9), (7, 5, 9), (0, 1, 2), (2**40, 3, 2**20)):
        most = 2**62 - abs(low) - step * many
        for value, fits in ((most - 1, True), (most, False), (-most, False), (1 - most, True)):
            assert (grid.Grid(low, step, many).rounded(np.array([value])).dtype == np.int64) == fits


def test_digits_are_as_many_as_are_needed() -> None:
    """Mutant: all of them each time."""
    assert [outward.digits(count).dps for count in (30, 400, 401)] == [30, 400, 400]


def test_columns_are_added_at_once_where_they_are_long() -> None:
    """Mutants: the border, and the other side of it."""
    asked: list[int] = []

    def drawn(scale: float, size: int, bits: Any) -> Any:
        class Noise(np.ndarray[Any, Any]):
            def tolist(self) -> Any:
                asked.append(self.size)
                return super().tolist()

        return np.zeros(size, np.int64).view(Noise)

    for size in (1, 16, 17, 40):
        mechanisms.with_noise([[5] * size], (Fraction(1),), drawn, None)  # type: ignore[arg-type]
    assert asked == [1, 16]


# What is compared when a ledger is opened ------------------------------------------------------------------


@pytest.mark.parametrize(("most", "compared"), [(0, 1), (9, 1), (10, 2), (19, 2), (20, 3), (1000, 4)])
def test_long_answers_are_left_to_verify(monkeypatch: pytest.MonkeyPatch, most: int, compared: int) -> None:
    """Four answers of ten letters.  Mutants: each part of how much was read."""
    ledger = MemoryLedger(HEADER)
    for one in range(5):
        ledger.charge(Order(f"q{one}", "{}", 7, 5))
    for one in (1, 2, 4, 5):
        ledger.remember(one, f"{one}" * 10)
    seen: list[int] = []
    usual = tables.read_answer

    def noted(connection: Any, receipt: Any) -> Any:
        seen.append(receipt.number)
        return usual(connection, receipt)

    monkeypatch.setattr(tables, "_READ", most)
    monkeypatch.setattr(tables, "read_answer", noted)
    StoredLedger(ledger.store)
    assert seen == [5, 4, 2, 1][:compared]


def test_what_a_ledger_does_is_said_once() -> None:
    """Mutants: words of its own that are lost, what is no method that gets some."""

    class Own(base.Ledger):
        behind = MemoryLedger(HEADER)

        def charge(self, order: Any, first: Any = None) -> Any:
            """Says it in its own words."""

        def head(self) -> str:
            return ""

        header = 3  # type: ignore[assignment]
        left = 4  # type: ignore[assignment]
        helper = len

    before = vars(Own)["__doc__"]
    assert base.documented(Own) is Own
    assert (Own.charge.__doc__, Own.head.__doc__) == (
        "Says it in its own words.", base.Ledger.head.__doc__
    )  # fmt: skip
    assert (Own.header, Own.left, Own.helper, vars(Own)["__doc__"]) == (3, 4, len, before)
    assert base.Ledger.head.__doc__


# Words -----------------------------------------------------------------------------------------------------


def test_a_fault_is_named_with_what_to_do() -> None:
    """Mutants: another number of an error, none at all, a fault of the database that is looked up twice."""
    unknown = "its file could not be used"
    for number_of, words in (
        (errno.ENOSPC, "the disk is full"), (errno.EROFS, "its folder is read-only"), (errno.EPERM, "permissions"),
        (errno.ENOENT, "no such file"), (errno.EXDEV, unknown),
    ):  # fmt: skip
        assert words in faults.reason(OSError(number_of, "words of the system"))
    assert faults.reason(OSError()) == unknown == faults.reason(ValueError())
    assert faults.reason(OSError(errno.EIO, "x")) == faults.reason(OSError(errno.EIO, "y")) != unknown

    class Both(OSError):
        sqlite_errorname = "SQLITE_BUSY"

    assert "locked" in faults.reason(Both(errno.ENOSPC, "full"))
    fault = sqlite3.OperationalError()
    fault.sqlite_errorname = "SQLITE_IOERR_WRITE"
    assert "check the disk" in faults.reason(fault)


def test_a_value_that_is_not_declared_is_named_beside_those_that_are() -> None:
    """Mutants: another number of them, dots where nothing follows."""
    for count in (1, 9, 10, 11, 12):
        column = CategoryColumn("c", tuple(f"v{k}" for k in range(count)))
        named = ", ".join(f"'v{k}'" for k in range(min(10, count))) + (", ..." if count > 10 else "")
        with pytest.raises(InvalidRequest) as refused:
            OneOf(column, ("other",))
        assert str(refused.value).endswith(f"(declared: {named})")


def test_what_is_of_another_kind_is_named() -> None:
    """Mutants: another article, another name."""
    whole, flag = IntegerColumn("n", 0, 9), BooleanColumn("b")
    for make, words in (
        (lambda: ValueOf(flag), "'b' is a boolean column, not a number"),
        (lambda: ValueOf(TextColumn("t")), "'t' is a text column, not a number"),
        (lambda: IsTrue(whole), f"'n' is an {whole.kind} column, not a boolean"),
        (lambda: number(EVERY_ROW), "a number is needed here, not a condition"),
        (lambda: number(DayOf(DateColumn("d", date(2000, 1, 1), date(2000, 1, 9)))), "a number is needed here, not a date"),
        (lambda: number("x"), "a number is needed here, not a string"),
        (lambda: condition(ValueOf(whole)), "a condition is needed here, not a number"),
    ):  # fmt: skip
        with pytest.raises(InvalidRequest) as refused:
            make()  # type: ignore[no-untyped-call]
        assert str(refused.value) == words


@pytest.mark.parametrize(("high", "width"), [(10**6, 1000), (10**6 + 1, 10_000), (10**7, 10_000)])
def test_wider_bins_are_a_thousand(high: int, width: int) -> None:
    """Mutant: one more of them."""
    column = replace(IntegerColumn("n", 0, 9), high=high)
    with pytest.raises(InvalidRequest, match=rf"e\.g\. FLOOR\(n / {width}\)"):
        Bucket("n", ValueOf(column))
