"""The parser of SQL where sqlglot is compiled: nothing may inherit from what is compiled, so its source is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlglot.parser
from sqlglot import Dialect, exp

from adyton.errors import InvalidRequest
from adyton.kernel.schema import CategoryColumn, IntegerColumn, Table
from adyton.query.sql.read import parse
from adyton.query.sql.words import _DIALECT, _WRITTEN_AS_THEY_ARE, PlainParser, parser_from_source

TEXTS = [
    "SELECT COUNT(*) FROM t",
    "SELECT AVG(x) AS a, MEDIAN(y) FROM t WHERE NOT (x > 3 AND y IN (1, 2)) OR z BETWEEN 1 AND 2",
    "SELECT g, SUM(CASE WHEN x > 1 THEN y ELSE 0 END) FROM t GROUP BY g HAVING n > 3 ORDER BY g LIMIT 2",
    "SELECT EXTRACT(YEAR FROM d), COUNT(*) FROM t JOIN u ON t.a = u.b GROUP BY 1",
]


@pytest.mark.parametrize("text", TEXTS)
def test_the_source_and_what_is_imported_read_the_same(text: str) -> None:
    kind = parser_from_source()
    assert kind is not sqlglot.parser.Parser
    plain = type(
        "Plain", (kind,), {name: vars(PlainParser)[name] for name in vars(PlainParser) if name.isupper()}
    )
    trees = [
        made(dialect=Dialect()).parse_into(exp.Select, Dialect().tokenize(text), text)
        for made in (plain, PlainParser)
    ]
    assert trees[0] == trees[1]


def test_calls_are_names_with_arguments() -> None:
    (tree,) = PlainParser(dialect=Dialect()).parse_into(exp.Select, Dialect().tokenize(TEXTS[1]), TEXTS[1])
    assert tree is not None
    assert {call.name for call in tree.find_all(exp.Anonymous)} == {"AVG", "MEDIAN"}


def test_the_source_lies_beside_what_is_imported() -> None:
    """A release of sqlglot without sources would need another way, and would be noticed here."""
    assert Path(sqlglot.parser.__file__).with_name("parser.py").is_file()


PLAIN = [
    *TEXTS[:3],
    "SELECT a.g AS \"G\", COUNT(DISTINCT p), SUM(x) FILTER (WHERE y = 1 AND z <> 'a''b') FROM t AS a WHERE x < 2 "
    "AND NOT y <= 3 OR z >= -4 AND w IS NOT NULL AND TRUE GROUP BY g ORDER BY g DESC LIMIT 3 OFFSET 1",
    "SELECT SUM((x + 1) * (y - 2)) FROM t",
]


def test_what_is_written_without_a_copy_is_not_changed_by_it() -> None:
    """A release of sqlglot that changes such a node while it writes it would be noticed here."""
    seen = set()
    for text in PLAIN:
        (tree,) = PlainParser(dialect=_DIALECT).parse_into(exp.Select, _DIALECT.tokenize(text), text)
        assert tree is not None
        seen |= {type(node) for node in tree.walk()}
        before = repr(tree), tree.copy()
        written = _DIALECT.generate(tree, copy=False, comments=False)
        assert (repr(tree), tree) == before
        assert written == tree.sql(comments=False)
    assert seen == _WRITTEN_AS_THEY_ARE


def test_texts_that_differ_in_numbers_alone_are_written_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    generate = Dialect.generate

    def noticed(self: Dialect, tree: exp.Expr, *args: Any, **options: Any) -> str:
        written.append(generate(self, tree, *args, **options))
        return written[-1]

    monkeypatch.setattr(Dialect, "generate", noticed)
    table = Table("people", (IntegerColumn("age", 0, 100), CategoryColumn("region", ("north", "south"))))
    text = "SELECT COUNT(*) AS once FROM people WHERE age > {} AND region = '{}' AND age < {}"
    queries = {parse(text.format(low, "north", high), table) for low in (1, 2.5, 0.5) for high in (70, 80)}
    assert len(queries) == 6
    assert len(written) == 1
    parse(text.format(1, "south", 70), table)
    parse(text.format(1, "north", 70).replace("once", "twice"), table)
    assert len(written) == 3


def test_what_loses_a_word_is_refused_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Dialect, "generate", lambda *_args, **_options: "SELECT COUNT(*) FROM people")
    for number in (1, 2, 2):
        with pytest.raises(InvalidRequest, match="cannot be read"):
            parse(f"SELECT COUNT(*) AS lost FROM people LIMIT {number}", Table("people", ()))
