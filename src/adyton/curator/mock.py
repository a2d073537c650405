"""A mock of a study: the same tables, made up from public facts alone, to try queries free of charge.

No real data is touched: a mock can be made where the data does not exist.  It has a budget of its own that
lasts as long as the object, so a whole session can be rehearsed.  All that it says is marked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, NoReturn

import numpy as np

from adyton.certify import Answer, Certificate, Preview
from adyton.curator.curator import Curator
from adyton.curator.mock_rows import mock_tables
from adyton.curator.opening import engine_of
from adyton.curator.tables import Asking
from adyton.errors import InvalidRequest
from adyton.kernel.ledger import Header, MemoryLedger
from adyton.show import Sheet
from adyton.study import Study
from adyton.synthesis.sampling import Columns

MARK = "/* mock */"  # a comment, so a query that is copied from an answer can be asked
MADE_UP = "a mock: every row is made up from public facts, and says nothing about anybody"
_USUAL_UNITS, _MOST_USUAL_UNITS, _MOST_UNITS = 1_000, 100_000, 1_000_000


@dataclass(frozen=True, slots=True)
class MockAnswer(Answer):
    """An answer about rows that nobody ever had."""

    json_keys = f"mock {Answer.json_keys}"

    @property
    def mock(self) -> Literal[True]:
        return True

    def sheet(self, verbose: bool = False) -> Sheet:
        return Answer.sheet(self, verbose=verbose).noted(f"This is {MADE_UP}.")


def _refusing(why: str) -> Callable[..., NoReturn]:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise InvalidRequest(why)

    return refuse


class MockCurator(Curator):
    """Answers queries about a mock of a study, each answer marked as such."""

    def ask_many(self, queries: Iterable[Asking], **words: Any) -> list[Answer]:
        return [_marked(answer) for answer in super().ask_many(queries, **words)]

    def preview_many(self, queries: Iterable[Asking], **words: Any) -> list[Preview]:
        return [
            replace(plain, query=f"{MARK} {plain.query}", certificate=_said_of(plain.certificate))
            for plain in super().preview_many(queries, **words)
        ]

    def derive(self, query: Asking, *, dialect: str | None = None) -> Answer:
        return _marked(super().derive(query, dialect=dialect))

    def sheet(self, verbose: bool = False) -> Sheet:
        return Curator.sheet(self, verbose=verbose).noted(f"This is {MADE_UP}.")

    # Their answers would bear no mark.
    open_monitor = preview_monitor = monitor = monitors = _refusing("a mock has no monitors; ask it queries")
    open_pmw = preview_pmw = pmw = _refusing("a mock has no PMW; ask it queries")
    synthesize = preview_synthesis = _refusing("a mock is made up already; ask it queries")


def mock_of(study: Study, rows: int | None = None, like: Columns | None = None) -> Curator:
    """A curator for a mock of ``study`` with that many rows, or persons where a person is protected.

    Without ``rows``, as many as the study declares, up to 100,000, or 1,000 where it declares none: then
    prices and widths are those of the study.  ``like`` are columns of the study's own table that somebody
    made up with more care, as often as needed one after the other.
    """
    units = units_of(study, rows)
    alike = _of_size(study, units)
    ledger = MemoryLedger(Header.fresh(f"mock of {study.fingerprint}", alike.accounting, alike.allowed))
    tables = mock_tables(study, units)
    own = tables[study.table.name]
    length = len(next(iter(own.values())))
    for name, values in (like or {}).items():
        own[name] = values[np.arange(length) % len(values)]
    return MockCurator(alike, engine_of(alike, dict(tables)), ledger)


def units_of(study: Study, rows: int | None) -> int:
    if rows is None:
        return min(study.table.rows or _USUAL_UNITS, _MOST_USUAL_UNITS)
    if type(rows) is not int or not 1 <= rows <= _MOST_UNITS:
        raise InvalidRequest(f"a mock has 1 to {_MOST_UNITS} rows, not {rows}")
    return rows


def _of_size(study: Study, units: int) -> Study:
    """The same guarantees about a table of another size.  A plan for that many rows is left out."""
    declared, lines = study.table.rows, study.table.lines
    if declared is not None and lines is not None:
        lines = max(units, lines * units // declared)
    table = replace(study.table, rows=None if declared is None else units, lines=lines)
    planned = study.validity is not None and study.validity.tolerance is not None
    validity = None if planned and declared != units else study.validity
    return replace(study, table=table, validity=validity, source=None, ledger=None, shared_budget=None)


def _marked(answer: Answer) -> Answer:
    known: dict[str, Any] = {field.name: getattr(answer, field.name) for field in fields(Answer)}
    known["query"] = f"{MARK} {answer.query}"
    known["certificate"] = _said_of(answer.certificate)
    return MockAnswer(**known)


def _said_of(certificate: Certificate) -> Certificate:
    return replace(certificate, assumptions=(MADE_UP, *certificate.assumptions))
