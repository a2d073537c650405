"""What goes wrong, as clients of a database are told: a code, the place in the text, and what to do."""

from __future__ import annotations

from adyton.errors import (
    BudgetRefused,
    Busy,
    CuratorError,
    EngineFailed,
    Forbidden,
    InvalidRequest,
    LedgerCorrupt,
    NotFound,
    TooLarge,
    TooMany,
    Unauthenticated,
)
from adyton.query.sql.names import unplaced
from adyton.refusals import FREE, happened, in_two, refusal_of, what_to_do
from adyton.transports.http.errors import unexpected
from adyton.transports.pg.values import BadValue

Fields = dict[str, str]
_CODES: tuple[tuple[type[CuratorError], str], ...] = (
    (BudgetRefused, "53400"),
    (Forbidden, "42501"),
    (Unauthenticated, "28000"),
    (NotFound, "3D000"),
    (TooLarge, "54000"),
    (TooMany, "53000"),
    (Busy, "53000"),
    (EngineFailed, "XX000"),
    (LedgerCorrupt, "XX001"),
)
_REASONS = {  # why a text is refused
    "no_such_column": "42703",
    "no_such_table": "42P01",
    "no_such_function": "42883",
    "not_supported": "0A000",
    "syntax": "42601",
}
_NOT_TOLD = (
    "fits",
    "retry_after",
    "field",
    "reason",
    "line",
    "column",
)  # in fields of their own, or in words
_NO_PRICE = (
    "SET adyton.within = 50 (half the width of an interval), SET adyton.epsilon or SET adyton.share; "
    "or write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.1) and then what is asked."
)


class SqlError(Exception):
    """An error that has a code of its own."""

    def __init__(self, code: str, message: str, hint: str = "", detail: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.hint, self.detail = code, message, hint, detail


class Fault(Exception):
    """What nobody expected, by its kind alone."""


def caught(error: Exception) -> Exception:
    """What is left of an error that was caught, to be told when it is no longer handled: whoever watches the
    log could look at what is being handled.
    """
    if isinstance(error, BadValue):
        return SqlError("22P02", str(error))
    return error if isinstance(error, SqlError | CuratorError | Fault) else Fault(type(error).__name__)


def too_many_error(code: str, error: TooMany) -> SqlError:
    """With a code of its own."""
    return SqlError(code, error.message, _again(error))


def cancelled_error() -> SqlError:
    stored = "If the query was charged by then, its answer is kept: the same again is free."
    return SqlError("57014", "canceling statement due to user request", detail=stored)


def fields_of_error(error: Exception, text: str = "", start: int = 0, *, severity: str = "ERROR") -> Fields:
    """As a client is told.  ``text``: the statement in which places are counted, ``start``: where it begins
    in what was sent.  What nobody expected is told to the operator by its kind alone.
    """
    fields, error = {"S": severity, "V": severity}, caught(error)
    if isinstance(error, SqlError):
        return fields | _filled(C=error.code, M=error.message, D=error.detail, H=error.hint)
    if not isinstance(error, CuratorError):
        error = unexpected(str(error), "a statement")
    message, position = _placed(error, text)
    code = _code(error)
    if (refusal := refusal_of(error)) is not None:
        said, fix = f"{happened(refusal)}; {FREE}", ""  # what to do is in the hint
    else:
        said, fix = in_two(message) if isinstance(error, InvalidRequest) else (message, "")
    told = _filled(C=code, M=said, D=_detail(error), H=_hint(error, fix))
    if position is not None:
        told["P"] = str(start + position)
    return fields | told


def code_of(error: Exception) -> str:
    """The five letters of an error, for those who count them."""
    if isinstance(error, SqlError):
        return error.code
    return _code(error) if isinstance(error, CuratorError) else "XX000"


def _code(error: CuratorError) -> str:
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code
    if isinstance(error, InvalidRequest):
        otherwise = "0A000" if "line" in error.facts else "22023"
        return _REASONS.get(error.facts.get("reason", ""), otherwise)
    return "XX000"


def _placed(error: CuratorError, text: str) -> tuple[str, int | None]:
    """The message without its place, and the place as a number of characters from 1."""
    line, column = error.facts.get("line"), error.facts.get("column")
    if line is None or column is None or not text:
        return error.message, None
    before = sum(len(one) + 1 for one in text.split("\n")[: line - 1])
    return unplaced(error.message), before + column


def _detail(error: CuratorError) -> str:
    facts = error.facts
    names = [name for name in facts if name not in _NOT_TOLD]
    return ", ".join(f"{name}: {facts[name]}" for name in names)


def _hint(error: CuratorError, fix: str) -> str:
    refusal = refusal_of(error)
    if refusal is not None:
        fix = what_to_do(refusal, "sql") or "nothing of this kind fits into what is left; see adyton.budget"
    if isinstance(error, Busy | TooMany):
        return _again(error)
    if error.facts.get("reason") == "no_price":
        return _NO_PRICE
    return fix[:1].upper() + fix[1:]


def _again(error: CuratorError) -> str:
    return f"Try again in {error.facts.get('retry_after', 1)} s."


def _filled(**fields: str) -> Fields:
    return {letter: said for letter, said in fields.items() if said}
