"""The plan behind an earlier answer is made from its receipt: exactly as it was, or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import adyton
from adyton.curator.coordinated.any_price import answered_before
from adyton.planning.recorded import recorded_batch
from adyton.query.request import Request
from support.servers import write_study

TEXT = "SELECT region, COUNT(*) AS n, SUM(income) AS s FROM people WHERE income > 20000 GROUP BY region"


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[adyton.Curator]:
    with adyton.open(write_study(tmp_path)) as made:
        yield made


@pytest.mark.parametrize("price", [{"epsilon": "0.7"}, {"share": "0.03"}, {"within": "n=40,s=2000000"}])
def test_a_plan_comes_back_as_it_was_or_not_at_all(curator: adyton.Curator, price: dict[str, str]) -> None:
    """Mutants: what comes back is not compared with the receipt; a scale is read with fewer digits."""
    answer = curator.ask(TEXT, **price)  # type: ignore[arg-type]
    order = curator.receipts()[-1].order
    request = curator._requests.of(TEXT)
    assert isinstance(request, Request)
    batch = recorded_batch(curator.study, [request], order)
    assert batch is not None
    assert [noisy.mechanism for plan in batch.plans for noisy in plan.noisy] == [
        noisy.mechanism for plan in curator._batch([TEXT], price).plans for noisy in plan.noisy
    ] or price == {"share": "0.03"}  # of which less is left now
    quieter = json.loads(order.detail)
    quieter[0][2] = repr(float(quieter[0][2]) * 0.99)
    for other in (
        replace(order, amount=order.amount + 1),
        replace(order, radius=order.radius + 1),
        replace(order, detail=json.dumps(quieter)),
        replace(order, detail=json.dumps(json.loads(order.detail)[:1])),
        replace(order, detail="{}"),
        replace(order, query=order.query + " "),
    ):
        assert recorded_batch(curator.study, [request], other) is None
    again = answered_before(curator, TEXT)
    assert again is not None
    assert (again.repeated, again.cost.units, again.records()) == (True, 0, answer.records())


def test_the_newest_answer_is_shown_and_other_queries_have_none(curator: adyton.Curator) -> None:
    """Mutant: the oldest one is."""
    assert answered_before(curator, TEXT) is None
    curator.ask(TEXT, epsilon="0.2")
    newest = curator.ask(TEXT, epsilon="0.3")
    found = answered_before(curator, TEXT)
    assert found is not None
    assert (found.receipt.number, found.records()) == (2, newest.records())
    other = answered_before(curator, TEXT.replace("20000", "20001"))
    assert other is None
    assert answered_before(curator, "SELECT COUNT(*) FROM people GROUP BY ROLLUP(region)") is None
    assert answered_before(curator, "SELECT 1") is None
    assert curator.verify().receipts == 2
