"""The tools, one for each name in the tables of operations: what it takes, does and says.

Who may do what is decided by the house, what fits by the ledger: nothing here, and no text that comes in,
changes either.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from adyton.certify import Answer, Preview, json_text
from adyton.errors import CuratorError, InvalidRequest
from adyton.operations.holdouts import HoldoutOperations
from adyton.operations.operation import Operation
from adyton.operations.results import printable
from adyton.operations.roles import may
from adyton.operations.server import ServerOperations
from adyton.operations.studies import StudyOperations
from adyton.operations.table import EXCEPTIONS, operations
from adyton.service.house import House, Served, Visitor
from adyton.service.identity import Identity
from adyton.service.limits import LIMITS
from adyton.service.studies import ServedStudy
from adyton.transports.http.bodies import Body
from adyton.transports.http.formats import previews_json
from adyton.transports.http.routes import check_values
from adyton.transports.mcp import words
from adyton.transports.mcp.arguments import arguments_of, place_word


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
        asked = json_text(dict(sorted(self.body.model_dump(mode="json").items())))
        parts = "\n".join((session, self.connection, self.id, self.tool, asked))
        return f"mcp {hashlib.sha256(parts.encode()).hexdigest()[:48]}"


@dataclass(frozen=True, slots=True)
class Tool:
    """Several operations may have one name: which of them is meant follows from what is named and given."""

    name: str
    operations: Sequence[Operation[Any, Any]]
    takes: type[Body]

    @property
    def title(self) -> str:
        return self.name.replace("_", " ").capitalize()

    @property
    def description(self) -> str:
        """What it does, and whether that is charged."""
        of = dict.fromkeys(f"{one.help}. {one.cost.capitalize()}." for one in self.operations)
        prices = {word.name for one in self.operations for word in one.words if word.price}
        price = [_PRICE if "within" in prices else _AT_ONCE] if prices else []
        return " ".join([*of, *(_MORE.get(self.name, ())), *price])

    @property
    def changes(self) -> bool:
        return any(one.changes for one in self.operations)

    def is_for(self, visitor: Visitor) -> bool:
        """Whether this visitor may use it on anything."""
        return any(
            one.action is None or any(may(role, one.action) for role in visitor.roles)
            for one in self.operations
        )

    def work(self, call: Call) -> ToolResult:
        place, given = place_word(self.operations), call.body.words()
        if place is None:
            return _listed(call)
        name = given.pop(place)
        operation = self._meant(call, name, given)
        found, who = call.house.place(call.visitor, operation, name)
        if unknown := sorted(given.keys() - {"number", *(word.name for word in operation.words)}):
            raise InvalidRequest(f"{unknown[0]} means nothing for {name}; nothing was charged")
        if operation.lists:
            check_values(found, given, LIMITS.agent_values)
        if operation.spends and operation.takes_request and isinstance(found, ServedStudy):
            given["request"] = call.request(found.session(who).id)
        return _told(operation, found, who, found.perform(operation, who, given))

    def _meant(self, call: Call, name: str, given: dict[str, Any]) -> Operation[Any, Any]:
        """Of several the one for this kind of thing that has all that was given."""
        kind = call.house.kind(name)
        fitting = [one for one in self.operations if kind is None or one.place.of in (kind, "any")]
        named = given.keys() - {"number"}
        exact = [one for one in fitting if named <= {word.name for word in one.words}]
        return (exact or fitting or list(self.operations))[0]


def _listed(call: Call) -> ToolResult:
    studies, holdouts = (
        call.house.listed(call.visitor, one).to_json()[one.name]
        for one in (ServerOperations.studies, ServerOperations.holdouts)
    )
    said = words.studies_said(studies, holdouts)
    return ToolResult({"studies": studies, "holdouts": holdouts}, said)


def _told(operation: Operation[Any, Any], found: Served, who: Identity, made: Any) -> ToolResult:
    """A result as structure and in words.  Of answers and previews also what is left to whoever asks."""
    if isinstance(found, ServedStudy):
        left = found.share_left_to(who) if operation.place is StudyOperations.place else None
        match made:
            case Answer():
                (told,) = _first_rows([made])
                own = {} if left is None else {"own": found.own(who)}
                return ToolResult({"answer": told, **own}, words.answer_said(told, made, left))
            case [Answer(), *_]:
                several = _first_rows(made)
                own = {} if left is None else {"own": found.own(who)}
                return ToolResult({"answers": several, **own}, words.answers_said(several, made, left))
            case Preview():
                return _told(operation, found, who, [made])
            case [Preview(), *_] if left is not None:
                previews = previews_json(made, LIMITS.agent_values)
                said = words.preview_said(previews, left)
                return ToolResult({"previews": previews, "own": found.own(who)}, said)
        if operation is StudyOperations.budget and left is not None:
            return ToolResult(made.to_json(), words.budget_said(made.to_json(), left))
    shown = printable(made)
    told = shown.to_json()
    said = _SAID[operation](told) if operation in _SAID else words.shown_said(shown)
    return ToolResult(told if isinstance(told, dict) else {operation.name: told}, said)


def refused(error: CuratorError) -> ToolResult:
    return ToolResult(error.to_json(), words.refusal_said(error))


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
_AT_ONCE = "Name one price: epsilon, or share (of what is left to you)."
_MORE = {
    "preview": ("Reads nothing; do it before every new kind of query.",),
    "ask": ("Rows are never answered. The same query at the same price is free.",),
    "score_on_holdout": ("Labels are never shown. Scores are few; the same predictions again are free.",),
    "try_on_mock": ("To learn the SQL here.",),
}
_SAID: dict[Operation[Any, Any], Callable[[Any], str]] = {
    StudyOperations.describe: words.facts_said,
    HoldoutOperations.describe: words.facts_said,
    HoldoutOperations.budget: words.scores_said,
    HoldoutOperations.score: words.score_said,
    HoldoutOperations.compare: words.comparison_said,
}


def _tools() -> dict[str, Tool]:
    left_out = {one.operation for one in EXCEPTIONS if one.surface == "tool"}
    by_name: dict[str, list[Operation[Any, Any]]] = {}
    for operation in operations():
        if operation not in left_out:
            by_name.setdefault(operation.tool, []).append(operation)
    return {name: Tool(name, those, arguments_of(name, those)) for name, those in by_name.items()}


TOOLS: dict[str, Tool] = _tools()
