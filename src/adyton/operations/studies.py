"""What can be done with a study, with made-up rows of it, and with its monitors."""

from __future__ import annotations

from adyton.curator import Curator
from adyton.monitors.open_monitor import OpenMonitor
from adyton.operations.facts import facts_told
from adyton.operations.operation import Operation, OperationPlace, OperationTable
from adyton.operations.results import PublicFacts
from adyton.operations.roles import Action
from adyton.operations.tokens import RECEIPTS, TokenOperations
from adyton.operations.words import VOCABULARY, Word

_ONE_NUMBER = ("within", "scale")  # prices of values: not of what is opened or suggested
_AT_ONCE = (*_ONE_NUMBER, "expected_rows")
_CLAMP = (
    "Declared bounds must be public knowledge, so they may be generous; noise grows with them. "
    "Clamp the column in queries to what is suggested here, e.g. AVG(CLAMP(income, 0, 150000))."
)
_TESTED = Word("query", str, "what the test is about: a query with one value, in groups or not", "SQL")
_PAGES = (VOCABULARY["after"], VOCABULARY["last"])


def describe(curator: Curator) -> PublicFacts:
    """The public facts: tables, columns, bounds, the guarantee, and the SQL in short.  Free."""
    return PublicFacts(facts_told(curator.study.table.name, curator.study))


class MockOperations(OperationTable):
    """On rows that are made up from public facts: nothing is charged."""

    place = OperationPlace("mock", "/v1/studies/{study}/mock", "study")
    ask = Operation(
        lambda: Curator.ask,
        Action.TRY,
        "The form of an answer, from made-up rows",
        command="ask --mock",
        page="ask",
        tool="try_on_mock",
    )
    ask_many = Operation(
        lambda: Curator.ask_many,
        Action.TRY,
        "A batch on made-up rows",
        command="ask --mock",
        tool="try_many_on_mock",
    )


class MonitorOperations(OperationTable):
    """With a monitor, by whoever opened it."""

    place = OperationPlace("monitor", "/v1/studies/{study}/monitors/{number}", "study")
    answers = Operation(
        lambda: OpenMonitor.answers,
        Action.ASK,
        "How far an own monitor is, and all its answers",
        get=True,
        path="",
        command="monitor list",
        tool="monitor",
    )
    feed = Operation(
        lambda: OpenMonitor.feed,
        Action.ASK,
        "Ask an own monitor whether a number is above a threshold: paid for when it was opened",
        again=False,
        tool="feed_monitor",
        later="whether it was fed is not known: answers() of the monitor shows it",
    )
    close = Operation(
        lambda: OpenMonitor.close,
        Action.ASK,
        "End an own monitor for good: it answers no more",
        final=True,
        tool="close_monitor",
        later="close it again",
    )


class StudyOperations(TokenOperations):
    """With a study.  A new one is an entry here and a function of a curator."""

    place = OperationPlace("study", "/v1/studies/{study}", "study")
    describe = Operation(
        lambda: describe,
        Action.LOOK,
        "Public facts: tables, columns, bounds, guarantee",
        get=True,
        path="",
        page=".",
    )
    preview = Operation(
        lambda: Curator.preview,
        Action.PREVIEW,
        "What an answer would cost, and how wide its noise interval and population interval would be",
        page="ask",
    )
    preview_many = Operation(
        lambda: Curator.preview_many,
        Action.PREVIEW,
        "What a batch would cost, and how wide",
        command="preview",
        tool="preview",
    )
    ask = Operation(
        lambda: Curator.ask,
        Action.ASK,
        "Charge, read, answer one SQL aggregate query with noise",
        spends=True,
        cached=True,
        page="ask",
    )
    ask_many = Operation(
        lambda: Curator.ask_many,
        Action.ASK,
        "Several queries for one charge: all are answered, or none",
        spends=True,
        command="ask",
    )
    last_look = Operation(
        lambda: Curator.last_look,
        Action.ALL_RECEIPTS,
        "How small a p-value on the rows must be, after all queries",
        command="p-value",
        own={"query": _TESTED},
    )
    suggest_bounds = Operation(
        lambda: Curator.suggest_bounds,
        Action.ASK,
        "Where nearly all values of a column lie, and what to write in queries",
        _CLAMP,
        spends=True,
        without=_ONE_NUMBER,
    )
    open_monitor = Operation(
        lambda: Curator.open_monitor,
        Action.ASK,
        "Open a monitor: charged now, whatever is fed into it later",
        spends=True,
        shown=lambda monitor: monitor.budget(),
        path="monitors",
        command="monitor open",
        without=_AT_ONCE,
    )
    preview_monitor = Operation(
        lambda: Curator.preview_monitor,
        Action.PREVIEW,
        "What a monitor would cost",
        path="monitors/preview",
        command="monitor open --preview",
        without=_AT_ONCE,
    )
    budget = Operation(
        lambda: Curator.budget,
        Action.BUDGET,
        "What is spent and left, in all and of the own share",
        get=True,
        page="budget",
    )
    receipts = Operation(
        lambda: Curator.receipts, Action.OWN_RECEIPTS, RECEIPTS, get=True, more=_PAGES, page="receipts"
    )
    verify = Operation(
        lambda: Curator.verify, Action.VERIFY, "Replay the whole ledger, here", page="receipts"
    )
