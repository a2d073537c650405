"""The tools: what each is for, what it takes, which action it is, and what it returns.

A tool is a plain function of a call.  Who may do what is decided by the house, what fits by the ledger:
nothing here, and no text that comes in, changes either.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from adyton.certify import Answer, json_text
from adyton.errors import CuratorError
from adyton.service.holdouts import ServedHoldout
from adyton.service.house import House, Visitor
from adyton.service.identity import Identity
from adyton.service.limits import LIMITS
from adyton.service.roles import Action
from adyton.service.studies import ServedStudy
from adyton.transports.http.bodies import Body
from adyton.transports.http.formats import check_free, previews_json
from adyton.transports.mcp import words
from adyton.transports.mcp.arguments import (
    Named,
    Nothing,
    ToAsk,
    ToAskMany,
    ToCompare,
    ToPreview,
    ToScore,
    ToTry,
)

_BESIDE = ("study", "query", "queries")


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The same twice: for programs, and in words."""

    structured: dict[str, Any]
    said: str


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool.  ``id`` is unique in its connection, ``connection`` in the house."""

    house: House
    visitor: Visitor
    tool: str
    body: Any
    id: str
    connection: str

    def request(self, session: str) -> str:
        """The id under which a query is charged that brought none: of the session, the call and what it
        asks for, so that a call that is sent again is charged once.
        """
        if self.body.request is not None:
            return str(self.body.request)
        asked = json_text(self.body.model_dump(mode="json"))
        parts = "\n".join((session, self.connection, self.id, self.tool, asked))
        return f"mcp {hashlib.sha256(parts.encode()).hexdigest()[:48]}"


@dataclass(frozen=True, slots=True)
class Tool:
    """``changes``: whether a call may spend something."""

    title: str
    description: str
    takes: type[Body]
    work: Callable[[Call], ToolResult]
    changes: bool = False


def list_studies(call: Call) -> ToolResult:
    mine = [one for one in call.house.served if call.visitor.identity(one.name)]
    studies = [one.facts() for one in mine if isinstance(one, ServedStudy)]
    listed = [{"name": one["name"], "budget": one["budget"]} for one in studies]
    holdouts = [one.facts() for one in mine if isinstance(one, ServedHoldout)]
    return ToolResult({"studies": listed, "holdouts": holdouts}, words.studies_said(listed, holdouts))


def describe(call: Call) -> ToolResult:
    found, _ = call.house.anything(call.visitor, call.body.name, Action.LOOK)
    facts = found.facts()
    return ToolResult(facts, words.facts_said(facts))


def preview(call: Call) -> ToolResult:
    found, who = call.house.study(call.visitor, call.body.study, Action.PREVIEW)
    made = found.previews(who, call.body.texts, call.body.words(*_BESIDE))
    previews = previews_json(made, LIMITS.agent_values)
    left = found.share_left_to(who)
    return ToolResult(
        {"previews": previews, "own": found.own(who).to_json()}, words.preview_said(previews, left)
    )


def ask(call: Call) -> ToolResult:
    found, who = call.house.study(call.visitor, call.body.study, Action.ASK)
    (answer,) = _asked(call, found, who, [call.body.query])
    (told,) = _first_rows([answer])
    said = words.answer_said(told, answer, found.share_left_to(who))
    return ToolResult({"answer": told, "own": found.own(who).to_json()}, said)


def ask_many(call: Call) -> ToolResult:
    found, who = call.house.study(call.visitor, call.body.study, Action.ASK)
    answers = _asked(call, found, who, call.body.queries)
    told = _first_rows(answers)
    said = words.answers_said(told, answers, found.share_left_to(who))
    return ToolResult({"answers": told, "own": found.own(who).to_json()}, said)


def try_on_mock(call: Call) -> ToolResult:
    found, _ = call.house.study(call.visitor, call.body.study, Action.TRY)
    check_free(found.values_asked([call.body.query], call.body.dialect), LIMITS.agent_values)
    (answer,) = found.try_out([call.body.query], call.body.words("request", *_BESIDE))
    (told,) = _first_rows([answer])
    return ToolResult({"answer": told}, words.answer_said(told, answer, None))


def budget(call: Call) -> ToolResult:
    found, who = call.house.anything(call.visitor, call.body.name, Action.BUDGET)
    if isinstance(found, ServedHoldout):
        told = found.budget()
        return ToolResult(told, words.scores_said(told))
    told = found.budget(who)
    return ToolResult(told, words.budget_said(told, found.share_left_to(who)))


def score_on_holdout(call: Call) -> ToolResult:
    found, who = call.house.holdout(call.visitor, call.body.holdout, Action.SCORE)
    told = found.score(who, call.body.predictions, call.body.guess)
    return ToolResult(told, words.score_said(told))


def compare_on_holdout(call: Call) -> ToolResult:
    found, who = call.house.holdout(call.visitor, call.body.holdout, Action.SCORE)
    told = found.compare(who, call.body.first, call.body.second)
    return ToolResult(told, words.comparison_said(told))


def refused(error: CuratorError) -> ToolResult:
    return ToolResult(error.to_json(), words.refusal_said(error))


def _asked(call: Call, found: ServedStudy, who: Identity, queries: list[str]) -> list[Answer]:
    check_free(found.values_asked(queries, call.body.dialect), LIMITS.agent_values)
    given = {**call.body.words(*_BESIDE), "request": call.request(found.session(who).id)}
    return found.ask(who, queries, given)


def _first_rows(answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """As JSON.  How many groups are discovered is known once they are paid for: the first are shown."""
    told, room = [], LIMITS.agent_values
    for answer in answers:
        rows = max(1, room // max(1, len(answer.rows.values)))
        shown = answer.rows_json(slice(rows))
        room = max(0, room - len(shown) * len(answer.rows.values))
        left_out = len(answer) - len(shown)
        more = {"rows_left_out": left_out, "all_rows": _ALL_ROWS} if left_out else {}
        told.append({**answer.head_json(), "answer": shown, **more})
    return told


_ALL_ROWS = "the same query at the same price over HTTP is free and has all rows"
_PRICE = (
    "Name a price by exactly one of within (half-width of each value's 95 % noise interval), epsilon, share "
    "(of what is left to you) or scale; by none where the study plans its queries."
)
TOOLS: dict[str, Tool] = {
    "list_studies": Tool(
        "List studies and holdouts",
        "The studies and holdouts that are here for you. Free.",
        Nothing,
        list_studies,
    ),
    "describe": Tool(
        "Describe a study or holdout",
        "Public facts of a study (tables, columns, bounds, values, guarantee, grammar) or a holdout. Free.",
        Named,
        describe,
    ),
    "preview": Tool(
        "Preview queries",
        "What an answer would cost and how wide its noise interval and population interval would be. Free, "
        f"reads nothing; do it before every new kind of query. {_PRICE}",
        ToPreview,
        preview,
    ),
    "ask": Tool(
        "Ask one query",
        "Answer one SQL aggregate query with noise, charge its price to your budget share, give a "
        f"receipt. Rows are never answered. The same query at the same price is free. {_PRICE}",
        ToAsk,
        ask,
        changes=True,
    ),
    "ask_many": Tool(
        "Ask several queries together",
        f"Several SQL queries for one charge, cheaper than one by one; all are answered, or none. {_PRICE}",
        ToAskMany,
        ask_many,
        changes=True,
    ),
    "try_on_mock": Tool(
        "Try a query on made-up rows",
        "The form of an answer, from made-up rows: free, and its values mean nothing. To learn the SQL here.",
        ToTry,
        try_on_mock,
    ),
    "budget": Tool(
        "See what is spent and left",
        "What was spent and what is left, in all and for you, of a study or a holdout. Free.",
        Named,
        budget,
    ),
    "score_on_holdout": Tool(
        "Score predictions",
        "Score predictions on a holdout whose labels nobody sees. Scores are few; the same again are free.",
        ToScore,
        score_on_holdout,
        changes=True,
    ),
    "compare_on_holdout": Tool(
        "Compare two models",
        "Whether the first predictions are better than the second, for the price of one score.",
        ToCompare,
        compare_on_holdout,
        changes=True,
    ),
}
