"""What is asked in one go, and the tables that come back: of one query, of several, or of none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, TypeVar, Union

import numpy as np

from adyton.certify import (
    Absent,
    Answer,
    Certificate,
    Intervals,
    KeyColumn,
    KeyedRows,
    Preview,
    Proof,
    RowKeys,
    Values,
)
from adyton.certify.rows import KnownRange
from adyton.certify.stacked import Naming, stacked_answer, stacked_preview
from adyton.curator.purse import Purse
from adyton.curator.shaping import told_of
from adyton.errors import InvalidRequest
from adyton.kernel.accounting.noisy_reading import LEVEL
from adyton.planning.price import PriceWords, names_a_price
from adyton.query.draft import Draft
from adyton.query.nodes import Query
from adyton.query.released.answered import Answered
from adyton.query.request import AS_ASKED, Asked, Combined, Free, Request, Shape

if TYPE_CHECKING:
    from adyton.query.selecting import BestOf, Selection

Asking = Union[str, Draft, Query, "BestOf"]
MOST_QUERIES = 10_000
_Table = Request | Combined | Free
_Made = TypeVar("_Made", Answer, Preview)


class Tables:
    """All that is asked, in its order; ``requests`` are the queries that are planned and paid for."""

    def __init__(
        self,
        queries: Iterable[Asking],
        read: Callable[[Asking], Asked],
    ) -> None:
        asked = [read(query) for query in queries]
        self._selection = next((one for one in asked if not isinstance(one, _Table)), None)
        self._asked = [table for one in asked if (table := table_of(one)) is not None]
        if len(asked) > 1 and len(self._asked) < len(asked):
            raise InvalidRequest("a selection is asked alone, not in a batch")
        self.requests = [request for one in self._asked for request in _requests(one)]
        if not asked or len(self.requests) > MOST_QUERIES:
            raise InvalidRequest(f"a batch has 1 to {MOST_QUERIES} queries, not {len(self.requests)}")

    def selection(self, words: PriceWords, all_values: object) -> Selection | None:
        """What is selected, if that is all that is asked.  A text that names a width means that of values,
        and ``all_values`` of groups are asked for where units are split, or a strategy is named.
        """
        alone = self._selection if len(self._asked) <= 1 else None
        if alone is None or (all_values and alone.whole is not None):
            return None
        total = words.get("epsilon") is not None or words.get("share") is not None
        return alone if total or not alone.written else None

    def price(self, words: PriceWords) -> PriceWords:
        """The one that is named beside the queries, or at the head of the only one."""
        named = [asked.epsilon for asked in self._asked if isinstance(asked, Combined) and asked.epsilon]
        if not named:
            return words
        if names_a_price((), words) or len(self._asked) > 1:
            raise InvalidRequest(
                "a price was named twice: in the query's OPTIONS and beside it; name it once"
            )
        return {**words, "epsilon": str(named[0])}

    def answers(self, ask: Callable[[], Sequence[Answer]], purse: Purse) -> list[Answer]:
        """A table for each text; what is free is not asked."""
        return [
            _free_answer(asked, purse) if isinstance(asked, Free) else _remarked(_answer(asked, own), asked)
            for asked, own in self._with_own(ask)
        ]

    def previews(self, preview: Callable[[], Sequence[Preview]], purse: Purse) -> list[Preview]:
        return [
            _free_preview(asked, purse) if isinstance(asked, Free) else _remarked(_preview(asked, own), asked)
            for asked, own in self._with_own(preview)
        ]

    def _with_own(self, make: Callable[[], Sequence[_Made]]) -> Iterator[tuple[_Table, list[_Made]]]:
        """Each text with what was made of its queries, in one go."""
        made = iter(make() if self.requests else ())
        for asked in self._asked:
            yield asked, list(islice(made, len(_requests(asked))))


def table_of(asked: Asked) -> _Table | None:
    """A selection among groups as the query for all their values; None for one among queries."""
    return asked if isinstance(asked, _Table) else asked.whole


def _requests(asked: _Table) -> Sequence[Request]:
    match asked:
        case Request():
            return (asked,)
        case Combined(parts):
            return [part.request for part in parts]
        case Free():
            return ()


def _answer(asked: Request | Combined, own: Sequence[Answer]) -> Answer:
    if isinstance(asked, Request):
        return own[0]
    ordering = [term.name for term in asked.shape.order if isinstance(term.name, str)]
    keys = dict.fromkeys([*asked.keys, *(name for name in ordering if name not in asked.values)])
    table = stacked_answer(own, _namings(asked), tuple(keys), asked.values)
    rows = _shaped(table, asked.shape)
    hidden = table.rows_hidden + len(table.rows) - len(rows)
    columns = {name: rows.keys.columns[name] for name in asked.keys}
    return replace(table, rows=KeyedRows(RowKeys(columns, len(rows)), rows.values), rows_hidden=hidden)


def _remarked(made: _Made, asked: Request | Combined) -> _Made:
    """With remarks on how a text of several queries was read; one query has them itself."""
    if not isinstance(asked, Combined) or not asked.remarks:
        return made
    return replace(made, remarks=(*asked.remarks, *made.remarks))


def _shaped(table: Answer, shape: Shape) -> KeyedRows:
    """What is behind the last SELECT works on the whole table."""
    rows = table.rows
    if shape == AS_ASKED:
        return rows
    return rows.at(shape.places(Answered(told_of(rows, table.known), len(rows), {})))


def _preview(asked: Request | Combined, own: Sequence[Preview]) -> Preview:
    if isinstance(asked, Request):
        return own[0]
    return stacked_preview(own, _namings(asked), asked.keys, asked.values)


def _namings(asked: Combined) -> list[Naming]:
    return [Naming(dict(part.names), dict(part.constants)) for part in asked.parts]


# What is free ----------------------------------------------------------------------------------------------


def _free_answer(asked: Free, purse: Purse) -> Answer:
    nothing = np.zeros(0)
    none = Intervals(LEVEL, nothing, nothing)
    values = {name: Values(nothing, none, Absent("no rows")) for name in asked.values}
    return Answer(
        query=asked.text,
        rows=KeyedRows(_keys(asked), values),
        **purse.account(0),
        more=None,
        receipt=Proof(0, "", ""),
        certificate=Certificate((), ()),
        known={name: KnownRange() for name in asked.values},
        free=asked.why,
    )


def _free_preview(asked: Free, purse: Purse) -> Preview:
    account = purse.account(0)
    return Preview(
        query=asked.text,
        keys=_keys(asked),
        bounds={},
        population={},
        **account,
        spent_after=account["spent"],
        more=0,
        steps=(),
        certificate=Certificate((), ()),
        repeated=False,
        free=asked.why,
    )


def _keys(asked: Free) -> RowKeys:
    size = len(asked.keys[0][1]) if asked.keys else 0
    codes = np.arange(size, dtype=np.int32)
    return RowKeys({name: KeyColumn(labels, codes) for name, labels in asked.keys}, size)
