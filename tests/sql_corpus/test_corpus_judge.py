"""The judge sees what is wrong: a value, a row too many or too few, an order, a name, an interval beside the truth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sql_corpus.cases import Statement, read_block
from sql_corpus.judge import Court, court, judged_text, wrong

SQL = "SELECT channel, COUNT(*) AS n, AVG(price) AS p FROM orders GROUP BY channel ORDER BY channel"


class Told:
    """An answer that says these records."""

    def __init__(self, records: list[dict[str, Any]]) -> None:
        self._records = records

    def records(self) -> list[dict[str, Any]]:
        return self._records


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Court]:
    with court("shop", 3, tmp_path_factory.mktemp("judge")) as opened:
        yield opened


def changed(records: list[dict[str, Any]], place: int, **values: Any) -> list[dict[str, Any]]:
    return [{**row, **values} if at == place else row for at, row in enumerate(records)]


@pytest.mark.parametrize("order", [" ORDER BY channel", ""])
def test_every_kind_of_wrong_answer_is_found(shop: Court, order: str) -> None:
    statement = read_block("O", "-- name: judged\n" + SQL.replace(" ORDER BY channel", order))
    right = shop.ask(statement.sql).records()
    assert wrong(statement, Told(right), shop.plain) is None
    mean = right[0]["p"]
    for records in (
        changed(right, 0, n=right[0]["n"] + 1),
        changed(right, 1, p=right[1]["p"] + 0.001),
        changed(right, 0, p_noise_low=mean + 1, p_noise_high=mean + 2),
        changed(right, 0, p=None),
        changed(right, 0, channel="fax"),
        right[1:],
        [*right, {**right[0], "channel": "fax"}],
        [{("m" if name == "n" else name): value for name, value in row.items()} for row in right],
    ):
        assert wrong(statement, Told(records), shop.plain) is not None
    swapped = wrong(statement, Told([right[1], right[0], *right[2:]]), shop.plain)
    assert (swapped is not None) == bool(order)


def test_the_meaning_of_a_statement_is_the_documented_one() -> None:
    """Where it differs from DuckDB's: nothing is interpolated, n and not n - 1, missing keys are in no group."""
    for sql, meant in (
        ("SELECT MEDIAN(tax) AS m FROM orders", "LOWER_MEDIAN(tax)"),
        ("SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY tax) AS m FROM orders", "QUANTILE_DISC(tax, 0.5"),
        ("SELECT STDDEV(tax) AS s FROM orders", "STDDEV_POP(tax)"),
        ("SELECT gift, COUNT(*) AS n FROM orders GROUP BY 1", "HAVING NOT (gift) IS NULL"),
        ("SELECT gift AS g, COUNT(*) AS n FROM orders GROUP BY ALL", "HAVING NOT (gift) IS NULL"),
        ("SELECT gift, COUNT(*) AS n FROM orders GROUP BY ROLLUP (gift)", "GROUPING(gift) = 1 OR NOT gift IS NULL"),
    ):  # fmt: skip
        assert meant in judged_text(Statement("O", "meant", sql)), judged_text(Statement("O", "meant", sql))


def test_a_block_that_says_nothing_is_refused() -> None:
    for block in ("SELECT 1", "-- name: x", "-- name: x\n-- outcome: perhaps\nSELECT 1"):
        with pytest.raises(ValueError, match="what is this"):
            read_block("O", block)
