"""What statements do: settings, transactions that mean nothing, catalogs, previews, and queries.

Everything that needs the house goes to the same desk as requests over HTTP: whoever sends it is looked up
anew, counted, and given a place; what read data leaves on the grid.  Texts are read and rows are made in the
desk's threads, so a statement that takes long does not hold up other connections.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from adyton.certify import Answer, Preview, json_text
from adyton.errors import InvalidRequest, Unauthenticated
from adyton.operations.roles import Action
from adyton.query.request import Asked, Combined, Free, Request
from adyton.query.selecting import Selection
from adyton.query.sql.several.dialects import is_written_in
from adyton.service.grid import GIVEN_UP, GivenUp
from adyton.service.house import Visitor
from adyton.service.identity import Identity
from adyton.service.studies import ServedStudy
from adyton.transports.pg.catalog.reading import Catalog, is_catalog
from adyton.transports.pg.columns import fields_of
from adyton.transports.pg.commands import COMMANDS, refusal_of
from adyton.transports.pg.ends import with_ends, without_ends
from adyton.transports.pg.errors import SqlError, cancelled_error
from adyton.transports.pg.parameters import Resolve, check_signs, columns_of, filled, types_of
from adyton.transports.pg.results import StatementResult, check_free, lines, listed, of_answer, preview_lines
from adyton.transports.pg.settings import SessionSettings
from adyton.transports.pg.statements import WireStatement
from adyton.transports.pg.values import TEXT, Field

if TYPE_CHECKING:
    from adyton.transports.http.desk import Desk

_Done = TypeVar("_Done")
Values = Mapping[int, Any]  # of parameters, by their numbers
_EXPLAIN = re.compile(
    r"\s*EXPLAIN\s*(?:\((?P<options>[^()]*)\)|(?P<words>(?:ANALYZE|VERBOSE)\b\s*)*)\s*", re.I
)
_LONG, _FEW = 500, 16  # characters; texts
_PLAN = Field("QUERY PLAN", TEXT)
_SHORTER = "EXPLAIN without FORMAT JSON says the same in a few lines."
_OWN = "postgres"  # whose protocol is spoken


class Work:
    """Of one connection: somebody who has proved to hold the token with this hash."""

    def __init__(self, desk: Desk, study: str, hashed: str, address: str, session: SessionSettings) -> None:
        self._desk, self._study, self._hashed, self._address = desk, study, hashed, address
        self.session = session
        self.status = "I"  # T while a transaction is said to be open
        self._catalog: Catalog | None = None
        self._is_own = lru_cache(_FEW)(partial(is_written_in, dialect=_OWN))

    @property
    def token(self) -> str:
        """Which token it is, by its hash."""
        return self._hashed

    def count_message(self) -> None:
        """A message of whoever this is: Unauthenticated once the token is revoked or has expired, TooMany if
        too many messages came.
        """
        visitor = self._desk.house.visitor_hashed(self._hashed)
        if visitor.identity(self._study) is None:  # it may still be good for something else
            raise Unauthenticated
        self._desk.count_messages(visitor)

    # What is told before anything is done.

    def kind(self, statement: WireStatement) -> str:
        """In one word, for those who count statements."""
        first, _ = statement.words
        if first == "EXPLAIN":
            return "explain"
        if first not in ("SELECT", "WITH"):
            return "command"
        return "catalog" if self._asks_catalog(statement.text) else "query"

    async def types(self, text: str, declared: list[int]) -> list[int]:
        """Of the parameters of a text."""
        return await _beside(text, lambda: types_of(text, declared, self._resolve(text)))

    async def fields(self, statement: WireStatement, values: Values) -> list[Field] | None:
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
        await self._parsed(statement.text)
        if self._asks_catalog(statement.text):
            return list((await self._from_catalog(statement.text, values)).fields or ())

        def work(found: ServedStudy, _: Identity) -> list[Field]:
            text, ends = without_ends(self._filled(statement.text, values))
            return [field for _, field in with_ends(self._columns(self._read(found, text)), ends)]

        return await self._done(Action.LOOK, work)

    async def fields_unbound(self, statement: WireStatement, types: Sequence[int]) -> list[Field] | None:
        """The same before parameters are given: with values that could be given in their place."""
        names = await _beside(statement.text, lambda: columns_of(statement.text)) if types else {}
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

    async def run(self, statement: WireStatement, values: Values) -> StatementResult:
        await self._parsed(statement.text)
        first, _ = statement.words
        if first in COMMANDS:
            return COMMANDS[first](self, statement.bare, dry=False)
        if first == "EXPLAIN":
            return await self._explain(statement, values)
        if (refused := refusal_of(first)) is not None:
            raise refused
        if self._asks_catalog(statement.text):
            return await self._from_catalog(statement.text, values)
        return await self._ask(statement, values)

    async def _ask(self, statement: WireStatement, values: Values) -> StatementResult:
        def work(found: ServedStudy, who: Identity) -> StatementResult:
            text, ends = without_ends(self._filled(statement.text, values))
            asked = self._read(found, text)
            if isinstance(asked, Free):
                check_free(len(asked.keys[0][1]) if asked.keys else 0)
            columns = with_ends(self._columns(asked), ends)
            return of_answer(self._answer(text, asked, found, who), columns)

        return await self._done(Action.ASK, work)

    def _answer(self, text: str, asked: Asked, found: ServedStudy, who: Identity) -> Answer:
        price = {} if _names_price(asked) else self.session.price
        words = {**price, **self._words(text)}
        if not price and not _names_price(asked):
            before = found.asked_before(who, text, self._dialect(text))
            if before is not None:
                return before
        answer: Answer = found.ask(who, [text], words)[0]
        return answer

    async def _explain(self, statement: WireStatement, values: Values) -> StatementResult:
        def work(found: ServedStudy, who: Identity) -> StatementResult:
            text = self._filled(statement.bare, values)
            written = _EXPLAIN.match(text)
            assert written is not None
            said = f"{written['options'] or ''} {written['words'] or ''}".upper()
            if "ANALYZE" in said and "ANALYZE FALSE" not in said and "ANALYZE OFF" not in said:
                why = "EXPLAIN ANALYZE would ask the query, and charge it"
                raise SqlError("0A000", why, "Leave out ANALYZE.")
            query, _ = without_ends(text[written.end() :])
            price = {} if _names_price(self._read(found, query)) else self.session.price
            preview = found.previews(who, [query], {**price, **self._words(query)})[0]
            return _explained(preview, as_json="JSON" in said)

        return await self._done(Action.PREVIEW, work)

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
        return found.read(text, self._dialect(text))

    def _words(self, text: str) -> dict[str, Any]:
        """What is said of a query beside its price."""
        dialect = self._dialect(text)
        return {**self.session.words, **({"dialect": dialect} if dialect else {})}

    def _dialect(self, text: str) -> str | None:
        """Which words a text is in: the client's or the owner's word, or those of the database that clients
        take this for.  What these have no meaning for is in the words of this project.
        """
        named = self.session.dialect or self._served.study.dialect
        return named or (_OWN if self._is_own(text) else None)

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
        """What was read is kept."""
        await _beside(text, lambda: self._asks_catalog(text))

    def _asks_catalog(self, text: str) -> bool:
        return is_catalog(text, self._own_catalog().tables_of_study)

    async def _from_catalog(self, text: str, values: Values) -> StatementResult:
        catalog, given_up = self._own_catalog(), GIVEN_UP.get()

        def work(found: ServedStudy, who: Identity) -> StatementResult:
            return listed(*catalog.answer(text, values, self.session, found, who, given_up))

        return await self._done(Action.LOOK, work)

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


async def _beside(text: str, work: Callable[[], _Done]) -> _Done:
    """A long text is read in a thread, beside the others, who would wait for it."""
    return await asyncio.to_thread(work) if len(text) > _LONG else work()


def _explained(preview: Preview, *, as_json: bool) -> StatementResult:
    """Of many groups one is enough, where each of them is not listed."""
    groups = 1 if preview.keys is None else len(preview.keys)
    if as_json:
        check_free(groups, _SHORTER)
        return lines(_PLAN.name, [json_text(preview.to_json())], "EXPLAIN")
    if groups > 1 and preview.keys is not None:
        first = slice(0, 1)
        with_rows = [part for part in preview.parts if part.keys is None or len(part.keys)][first]
        parts = [part if part.keys is None else replace(part, keys=part.keys.at(first)) for part in with_rows]
        preview = replace(preview, keys=preview.keys.at(first), parts=tuple(parts))
    return lines(_PLAN.name, list(preview_lines(preview.to_json(), groups)), "EXPLAIN")


def _names_price(asked: Asked) -> bool:
    """Whether the text itself says what it may cost."""
    whole = asked.whole if isinstance(asked, Selection) else asked
    return isinstance(whole, Request | Combined) and whole.epsilon is not None
