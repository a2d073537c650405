"""The statements of the corpus: one file a family, one block a statement.

A block ends at an empty line.  Its lines that begin with ``-- word:`` say, before the SQL:

    name       what it is called, once in the whole corpus
    outcome    answered (if nothing is said), free, or refused: a part of the reason
    judge      what it means in plain DuckDB on cleaned tables, where that is not the statement itself
    plain      the same in the grammar that every version has had: never cheaper, and the same query
    dearer     the same without being the same query: never cheaper
    tolerance  how far a value may be from the judge's, beside roundings: quantiles are found in bins
    order      no: the statement leaves some rows in any order
    dialect    the words are those of another database
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from sql_corpus.studies import TABLES

FAMILIES = {
    "O": "what has been answered since the first release",
    "P": "expressions over released values, windows over the answer's rows",
    "S": "shapes that reduce to one SELECT",
    "U": "unions, grouping sets, free answers",
    "F": "functions of a row",
    "T": "an aggregate by person inside, one over persons outside",
    "M": "further aggregates",
    "R": "what no curator may answer, or none can bound",
}
# Families, or single statements, that are refused so far and must be answered later: whoever builds one takes its
# letter out.  What is listed here and answered all the same must be right.
NOT_YET = {"union_of_tables"}  # a batch is about one table

_HEADER = re.compile(r"-- (name|outcome|judge|plain|dearer|tolerance|order|dialect): (.*)")


@dataclass(frozen=True)
class Statement:
    family: str
    name: str
    sql: str
    outcome: str = "answered"
    reason: str = ""
    judge: str | None = None
    plain: str | None = None
    dearer: str | None = None
    tolerance: float = 0.0
    ordered: bool = False
    dialect: str | None = None

    @property
    def study(self) -> str:
        named = [table for table in TABLES if re.search(rf"\b{table}\b", self.sql, re.IGNORECASE)]
        (study,) = {TABLES[table] for table in named}
        return study

    @property
    def is_expected(self) -> bool:
        """Whether the outcome must be as it is written."""
        return not NOT_YET & {self.family, self.name}


def read_block(family: str, block: str) -> Statement:
    said: dict[str, str] = {}
    lines = block.strip().splitlines()
    while lines and (header := _HEADER.fullmatch(lines[0])):
        word, text = header.groups()
        said[word] = f"{said[word]} {text}" if word in said else text
        lines.pop(0)
    sql, (outcome, _, reason) = "\n".join(lines), said.get("outcome", "answered").partition(":")
    if outcome not in ("answered", "free", "refused") or "name" not in said or not sql:
        raise ValueError(f"what is this? {block}")
    ordered = "ORDER BY" in _outermost(sql.upper()) and said.get("order") != "no"
    return Statement(
        family, said["name"], sql, outcome, reason.strip(), said.get("judge"), said.get("plain"), said.get("dearer"),
        float(said.get("tolerance", 0)), ordered, said.get("dialect"),
    )  # fmt: skip


def _outermost(sql: str) -> str:
    """Without what stands in brackets."""
    while (less := re.sub(r"\([^()]*\)", "", sql)) != sql:
        sql = less
    return sql


def _all() -> tuple[Statement, ...]:
    folder = Path(__file__).parent / "statements"
    return tuple(
        read_block(family, block)
        for family in FAMILIES
        for path in sorted(folder.glob(f"{family}*.sql"))
        for block in re.split(r"\n\s*\n", path.read_text())
        if block.strip()
    )


STATEMENTS = _all()
