"""What statements do: settings, transactions that mean nothing, catalogs, previews, and questions.

Everything that needs the house goes to the same desk as requests over HTTP: whoever sends it is looked up
anew, counted, and given a place; what read data leaves on the grid.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from adyton.certify import Answer, json_text
from adyton.errors import InvalidRequest
from adyton.query.request import Asked, Combined, Request
from adyton.query.selecting import Selection
from adyton.service.grid import GivenUp
from adyton.service.house import Visitor
from adyton.service.identity import Identity
from adyton.service.roles import Action
from adyton.service.studies import ServedStudy
from adyton.transports.pg.catalog.reading import Catalog, is_catalog
from adyton.transports.pg.columns import fields_of
from adyton.transports.pg.commands import COMMANDS, refusal_of
from adyton.transports.pg.ends import with_ends, without_ends
from adyton.transports.pg.errors import SqlError, cancelled_error
from adyton.transports.pg.parameters import Resolve, check_signs, columns_of, filled, tree_of, types_of
from adyton.transports.pg.results import Result, lines, listed, notice_of, preview_lines
from adyton.transports.pg.settings import Session
from adyton.transports.pg.statements import Statement
from adyton.transports.pg.values import TEXT, Field

if TYPE_CHECKING:
    from adyton.transports.http.desk import Desk

_Done = TypeVar("_Done")
Values = Mapping[int, Any]  # of parameters, by their numbers
_EXPLAIN = re.compile(
    r"\s*EXPLAIN\s*(?:\((?P<options>[^()]*)\)|(?P<words>(?:ANALYZE|VERBOSE)\b\s*)*)\s*", re.I
)
_LONG = 500  # characters
_PLAN = Field("QUERY PLAN", TEXT)


class Work:
    """Of one connection: somebody who has proved to hold the token with this hash."""

    def __init__(self, desk: Desk, study: str, hashed: str, address: str, session: Session) -> None:
        self._desk, self._study, self._hashed, self._address = desk, study, hashed, address
        self.session = session
        self.status = "I"  # T while a transaction is said to be open
        self._catalog: Catalog | None = None

    # What is told before anything is done.

    def kind(self, statement: Statement) -> str:
        """In one word, for those who count statements."""
        first, _ = statement.words
        if first == "EXPLAIN":
            return "explain"
        if first not in ("SELECT", "WITH"):
            return "command"
        return "catalog" if self._asks_catalog(statement.text) else "question"

    async def types(self, text: str, declared: list[int]) -> list[int]:
        """Of the parameters of a text."""
        await self._parsed(text)
        return types_of(text, declared, self._resolve(text))

    async def fields(self, statement: Statement, values: Values) -> list[Field] | None:
        """The columns of the rows that would come back; None if none would."""
        first, _ = statement.words
        if first in COMMANDS:
            shown = COMMANDS[first](self, statement.bare, dry=True)
            return None if shown.fields is None else list(shown.fields)
        if first == "EXPLAIN":
            return [_PLAN]
        if statement.is_empty:
            return None
        if (refused := refusal_of(first)) is not None:
            raise refused
        if self._asks_catalog(statement.text):
            return list((await self._from_catalog(statement.text, values)).fields or ())
        text, ends = without_ends(self._filled(statement.text, values))
        asked = await self._done(Action.LOOK, lambda found, _: self._read(found, text))
        return [field for _, field in with_ends(self._columns(asked), ends)]

    async def fields_unbound(self, statement: Statement, types: Sequence[int]) -> list[Field] | None:
        """The same before parameters are given: with values that could be given in their place."""
        names = columns_of(statement.text) if types else {}
        catalog = self._own_catalog()
        given = {number: catalog.example(names.get(number, ""), oid) for number, oid in enumerate(types, 1)}
        refused: InvalidRequest | None = None
        for other in (None, *catalog.declared_texts):  # a text may have to be a declared value
            texts = {n: other for n, value in given.items() if isinstance(value, str)} if other else {}
            try:
                return await self.fields(statement, {**given, **texts})
            except InvalidRequest as error:
                refused = refused or error
        assert refused is not None
        raise refused

    # What is done.

    async def run(self, statement: Statement, values: Values) -> Result:
        await self._parsed(statement.text)
        first, _ = statement.words
        if first in COMMANDS:
            return COMMANDS[first](self, statement.bare, dry=False)
        if first == "EXPLAIN":
            return await self._explain(self._filled(statement.bare, values))
        if (refused := refusal_of(first)) is not None:
            raise refused
        if self._asks_catalog(statement.text):
            return await self._from_catalog(statement.text, values)
        return await self._ask(self._filled(statement.text, values))

    async def _ask(self, text: str) -> Result:
        text, ends = without_ends(text)

        def work(found: ServedStudy, who: Identity) -> Result:
            asked = self._read(found, text)
            columns = with_ends(self._columns(asked), ends)
            answer = ask(asked, found, who)
            rows = [[record.get(name) for name, _ in columns] for record in answer.records()]
            return listed([field for _, field in columns], rows, notice_of(answer))

        def ask(asked: Asked, found: ServedStudy, who: Identity) -> Answer:
            price = {} if _names_price(asked) else self.session.price
            words = {**price, **self.session.words}
            if price.keys() <= {"share"} and not _names_price(asked):
                before = found.asked_before(who, text, self.session.dialect)
                if before is not None:
                    return before
            answer: Answer = found.ask(who, [text], words)[0]
            return answer

        return await self._done(Action.ASK, work)

    async def _explain(self, text: str) -> Result:
        found = _EXPLAIN.match(text)
        assert found is not None
        said = f"{found['options'] or ''} {found['words'] or ''}".upper()
        if "ANALYZE" in said and "ANALYZE FALSE" not in said and "ANALYZE OFF" not in said:
            raise SqlError(
                "0A000", "EXPLAIN ANALYZE would ask the question, and charge it", "Leave out ANALYZE."
            )
        question, _ = without_ends(text[found.end() :])

        def work(found: ServedStudy, who: Identity) -> dict[str, Any]:
            price = {} if _names_price(self._read(found, question)) else self.session.price
            return found.preview(who, [question], {**price, **self.session.words})[0]

        preview = await self._done(Action.PREVIEW, work)
        if "JSON" in said:
            return Result("EXPLAIN", [_PLAN], [[json_text(preview)]])
        return lines(_PLAN.name, list(preview_lines(preview)), "EXPLAIN")

    # How the house is used.

    async def _done(self, action: Action, work: Callable[[ServedStudy, Identity], _Done]) -> _Done:
        visitor = self.visitor()
        found, who = self._desk.house.study(visitor, self._study, action)
        try:
            return await self._desk.done(visitor, lambda: work(found, who))
        except GivenUp:  # nobody waits for this; it is counted
            raise cancelled_error() from None

    def visitor(self) -> Visitor:
        """Whoever this is, if the token is still valid, and nothing came too often."""
        self._desk.knock_from(self._address)
        return self._desk.let_in(self._desk.house.visitor_hashed(self._hashed))

    def _read(self, found: ServedStudy, text: str) -> Asked:
        return found.read(text, self.session.dialect)

    def _filled(self, text: str, values: Values) -> str:
        check_signs(text, values, self.session.dialect or self._served.study.dialect)
        return filled(text, values)

    def _columns(self, asked: Asked) -> list[Field]:
        return fields_of(asked, self._served.study, intervals=self.session.intervals)

    @property
    def _served(self) -> ServedStudy:
        (served,) = (one for one in self._desk.house.served if one.name == self._study)
        assert isinstance(served, ServedStudy)
        return served

    # Catalogs.

    async def _parsed(self, text: str) -> None:
        """A long text is read beside the others, who would wait for it; what was read is kept."""
        if len(text) > _LONG:
            await asyncio.to_thread(tree_of, text)

    def _asks_catalog(self, text: str) -> bool:
        return is_catalog(text, self._own_catalog().tables_of_study)

    async def _from_catalog(self, text: str, values: Values) -> Result:
        catalog = self._own_catalog()

        def work(found: ServedStudy, who: Identity) -> tuple[list[Field], list[list[Any]]]:
            return catalog.answer(text, values, self.session, found, who)

        fields, rows = await self._done(Action.LOOK, work)
        return listed(fields, rows)

    def _own_catalog(self) -> Catalog:
        if self._catalog is None:
            found, who = self._desk.house.study(
                self._desk.house.visitor_hashed(self._hashed), self._study, Action.LOOK
            )
            self._catalog = Catalog(self._study, found.study, who.name)
        return self._catalog

    def _resolve(self, text: str) -> Resolve:
        catalog = self._own_catalog()
        return catalog.type_of if self._asks_catalog(text) else catalog.type_in_study


def _names_price(asked: Asked) -> bool:
    """Whether the text itself says what it may cost."""
    whole = asked.whole if isinstance(asked, Selection) else asked
    return isinstance(whole, Request | Combined) and whole.epsilon is not None
