"""The tree of errors.  The first level says who must act and what it cost.

    CuratorError
    |-- InvalidRequest   whoever wrote it: fix the query or the study file; free of charge   exit 2
    |   `-- RequestIdUsed     one id, two queries
    |-- BudgetRefused    analyst: nothing left for this price; free of charge                   exit 3
    |   |-- PrivacyRefused    what may be learned about one unit
    |   |-- ValidityRefused   what population intervals were planned for
    |   |-- ScoresRefused     the scores of a holdout
    |   `-- SessionRefused    the queries that an agent may ask in one session
    |-- Forbidden        owner: this may not be asked here; free of charge                      exit 3
    |-- Unreachable      whoever asks over the network: nothing was read; free of charge        exit 3
    |   |-- Unauthenticated   no valid token came with it
    |   |-- NotFound          there is no such thing, or it is not for this token
    |   |-- TooLarge          the request is larger than the server takes
    |   |-- TooMany           too many requests by this token or address: later
    |   `-- Busy              the server has no place free: later
    |-- Unanswered       whoever asks over the network: it may be charged; ask again by its id        exit 4
    |-- Unexpected       operator: a fault of ours, see log entry ``reference``                       exit 1
    |-- EngineFailed     operator: the charge stands, see log entry ``reference``               exit 4
    `-- LedgerCorrupt    operator: stop; nothing is answered until this is understood           exit 5

Messages are made of public facts only: names from the study file, numbers that the asker sent, amounts in
the ledger.  Nothing that was read from the data may reach a message, a cause or a traceback.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar

_Made = TypeVar("_Made")
REASONS = ("no_price", "no_such_column", "no_such_table", "no_such_function", "not_supported", "syntax")


class CuratorError(Exception):
    """Root of every error that adyton raises on purpose.

    >>> try:
    ...     curator.ask("SELECT height FROM people", within=1)
    ... except adyton.CuratorError as error:
    ...     print(error.kind, error.exit_code)
    invalid_request 2
    """

    kind: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.facts = facts

    def to_json(self, message: str | None = None) -> dict[str, object]:
        """Its kind, message and facts; ``message`` in the words of another surface."""
        return {"error": {"kind": self.kind, "message": message or self.message, **self.facts}}


class InvalidRequest(CuratorError):
    """The request itself is wrong; decided from public facts alone, so it costs nothing.

    For programs ``facts`` may say what is wrong: ``field``, the argument; ``reason``, one of ``REASONS``;
    ``line`` and ``column`` in the SQL.

    >>> curator.ask("SELECT COUNT(*) FROM people", within=1, epsilon=1)
    Traceback (most recent call last):
    adyton.errors.InvalidRequest: ...
    """

    kind = "invalid_request"
    status = 422
    exit_code = 2


class RequestIdUsed(InvalidRequest):
    """A request id stands for one query; this one was used for another."""

    kind = "request_id_used"
    status = 409


class BudgetRefused(CuratorError):
    """The charge does not fit into what is left; nothing was read and nothing was spent.

    One of the four below is raised, which says what has run out; this one catches them all.  ``facts`` say
    what was ``requested``, ``spent``, the ``budget`` and the ``largest`` that still fits, as decimal text,
    what these are ``counted_in`` and ``whose`` budget it is; of a query also the price that ``fits``.
    ``adyton.refusals`` makes all of them.

    >>> try:
    ...     curator.ask("SELECT COUNT(*) FROM people", epsilon=100)
    ... except adyton.BudgetRefused as refused:
    ...     print(refused.kind, refused.facts["counted_in"])
    privacy_refused gdp
    """

    kind = "budget_refused"
    status = 409
    exit_code = 3


class PrivacyRefused(BudgetRefused):
    """It would tell more about one unit than the budget allows: the study's, a name's, or a monitor's.

    >>> curator.ask("SELECT COUNT(*) FROM people", epsilon=100)
    Traceback (most recent call last):
    adyton.errors.PrivacyRefused: ...
    """

    kind = "privacy_refused"


class ValidityRefused(BudgetRefused):
    """It goes beyond what population intervals were planned for, and the study refuses that.

    >>> issubclass(adyton.ValidityRefused, adyton.BudgetRefused)
    True
    """

    kind = "validity_refused"


class ScoresRefused(BudgetRefused):
    """All scores that this holdout can certify are used up.

    >>> with adyton.Holdout.create(folder / "h.toml", labels=labels, scores=1) as holdout:
    ...     score = holdout.score(labels)
    ...     holdout.score(1 - labels)
    Traceback (most recent call last):
    adyton.errors.ScoresRefused: ...
    """

    kind = "scores_refused"


class SessionRefused(BudgetRefused):
    """An agent has asked as often as one session allows; the next session begins later.

    >>> issubclass(adyton.errors.SessionRefused, adyton.BudgetRefused)
    True
    """

    kind = "session_refused"


class Forbidden(CuratorError):
    """The owner does not allow this; nothing was read and nothing was spent.

    >>> adyton.Forbidden.kind, adyton.Forbidden.exit_code
    ('forbidden', 3)
    """

    kind = "forbidden"
    status = 403
    exit_code = 3


class Unreachable(CuratorError):
    """A server did not take the request; nothing was read and nothing was spent.

    >>> adyton.errors.Busy.status, adyton.errors.Busy("no place is free", retry_after=1).facts
    (503, {'retry_after': 1})
    """

    kind = "unreachable"
    status = 400
    exit_code = 3


class Unauthenticated(Unreachable):
    """No token, or none that is valid: missing, malformed, revoked and expired look the same."""

    kind = "unauthenticated"
    status = 401

    def __init__(self) -> None:
        super().__init__("a valid token is needed, neither revoked nor expired: Authorization: Bearer TOKEN")


class NotFound(Unreachable):
    """No such study, holdout or monitor, or it is not for whoever asks: which of them is not said."""

    kind = "not_found"
    status = 404

    def __init__(self) -> None:
        super().__init__("there is nothing here for this token")


class TooLarge(Unreachable):
    """The request is larger than the server takes."""

    kind = "too_large"
    status = 413


class TooMany(Unreachable):
    """Too many requests at once, by one token or from one address."""

    kind = "too_many_requests"
    status = 429


class Busy(Unreachable):
    """The server has no place free for one more query."""

    kind = "busy"
    status = 503


class Unanswered(CuratorError):
    """No answer came back, and nobody here knows whether it was charged.

    ``facts["request"]`` is the id of the request: the same query under it is charged once at most, and
    its answer can be fetched later.

    >>> adyton.errors.Unanswered.kind, adyton.errors.Unanswered.exit_code
    ('unanswered', 4)
    """

    kind = "unanswered"
    status = 504
    exit_code = 4


class Unexpected(CuratorError):
    """Something that is a fault of ours; what it was, only the operator's log says."""

    kind = "failed"

    def __init__(self, reference: str) -> None:
        super().__init__(f"something went wrong (reference {reference})", reference=reference)


class EngineFailed(CuratorError):
    """The charge stands, the answer was lost.  Details go to the operator's log, not to the analyst.

    >>> adyton.EngineFailed.kind, adyton.EngineFailed.exit_code
    ('engine_failed', 4)
    """

    kind = "engine_failed"
    status = 502
    exit_code = 4

    def __init__(self, reference: str) -> None:
        super().__init__(
            "the engine failed; the charge stands, and the same query at the same price is tried again "
            f"free of charge (reference {reference})",
            reference=reference,
        )


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while something was being paid for.  ``receipt``: what was paid by then, None for nothing.

    ``shared``: with a shared budget, which may have been charged before the study could be.
    """

    def __init__(self, receipt: int | None, *, shared: bool = False) -> None:
        self.receipt = receipt
        nothing = "nothing was charged" + (
            " to the study; if its shared budget was, the same again is not charged there twice"
            if shared
            else ""
        )
        self.message = (
            f"interrupted; {nothing}"
            if receipt is None
            else f"interrupted after receipt {receipt} was paid; ask the same again: it is paid for"
        )
        super().__init__(self.message)


class LedgerCorrupt(CuratorError):
    """The record of what was spent cannot be trusted; no query is answered until this is understood.

    >>> curator.verify(head="0" * 64)
    Traceback (most recent call last):
    adyton.errors.LedgerCorrupt: ...
    """

    kind = "ledger_corrupt"
    status = 503
    exit_code = 5


@contextmanager
def about(field: str) -> Iterator[None]:
    """What is found wrong meanwhile is wrong with this argument, unless the error names another one."""
    try:
        yield
    except InvalidRequest as wrong:
        wrong.facts.setdefault("field", field)
        raise


def sealed(make: Callable[[], _Made], told: Callable[[Exception], str]) -> _Made:
    """What ``make`` returns.  Its errors end here: another one is raised, after they are gone.

    An error that was raised while a row was in hand keeps that row: in its text, in what it chains, in the
    variables of its traceback.  ``from None`` only hides it, and whoever collects errors would still see it.
    So nothing of it is passed on but words made of public facts: its own message if it is an InvalidRequest,
    else what ``told`` makes of its type.
    """
    try:
        return make()
    except InvalidRequest as error:
        message = error.message
    except TimeoutError as error:
        message = f"{told(error)}: {error}"
    except Exception as error:
        message = told(error)
    raise InvalidRequest(message)
