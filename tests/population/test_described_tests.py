"""Tests on the rows that have a description keep nearly all of their level, whatever was released."""

from __future__ import annotations

from fractions import Fraction
from math import exp
from typing import get_args

import numpy as np
import pandas as pd
import pytest

import adyton
from adyton.errors import InvalidRequest
from adyton.kernel.schema import BooleanColumn, IntegerColumn, Table
from adyton.population.described_tests import Method, described_test
from adyton.population.last_look import FOR_DESCRIBED
from adyton.query.description_weights import constant_nats
from adyton.study import Validity

TABLE = Table("t", (IntegerColumn("x", 0, 99), BooleanColumn("b")), rows=5_000)
ROWS = pd.DataFrame(
    {"x": np.random.default_rng(1).integers(0, 100, 5_000), "b": np.random.default_rng(2).random(5_000) < 0.5}
)
SQL = "SELECT AVG(x) FROM t WHERE b"


def opened(**validity: object) -> adyton.Curator:
    declared = Validity(Fraction(95, 100), **{"dictionary": "schema", **validity})
    budget = adyton.Guarantee(epsilon=2, delta=1e-9)
    return adyton.open(
        adyton.Study(TABLE, adyton.PrivacyUnit("replace-one"), budget, validity=declared), data=ROWS
    )


def test_a_described_test_has_the_same_threshold_whatever_was_asked() -> None:
    """Mutants: nats that do not count; a part of the level that others have as well."""
    with opened() as curator:
        before = curator.last_look(0.05, query=SQL, null=50).threshold
        assert before == pytest.approx(0.05)  # nothing was released: by itself
        for k in range(1, 30):
            curator.ask(f"SELECT COUNT(*) FROM t WHERE x < {k}", share=0.1)
        first = curator.last_look(0.05, 1e-12, query=SQL, null=50)
        curator.ask("SELECT b, COUNT(*) FROM t GROUP BY b", share=0.9)
        last = curator.last_look(0.05, 1e-12, query=SQL, null=50)
        assert (last.theorem, last.threshold) == ("DESCRIBED-QUERIES", pytest.approx(first.threshold))
        assert last.significant
        assert last.corrected is not None
        assert last.corrected < 1e-3
        alone = curator.last_look(0.05)
        assert alone.threshold < last.threshold
        query = curator._requests.of(SQL).query
        nats = curator.study.nats(query, query.measures[0][1])
        assert last.threshold < 0.05 * float(FOR_DESCRIBED) * exp(-nats)
        assert last.threshold > 0.05 * float(FOR_DESCRIBED) * exp(-nats) / 10_000  # method, side and number


@pytest.mark.parametrize("null", [None, 50, "50.125"])
def test_methods_sides_and_numbers_of_a_test_share_the_weight_of_its_query(null: int | str | None) -> None:
    """A number has half of it, and its own weight; no number has the other half.  Mutant: three sides for one."""
    with opened() as curator:
        study, query = curator.study, curator._requests.of(SQL).query
        nats = study.nats(query, query.measures[0][1])
        number = 0.0 if null is None else constant_nats(Fraction(null), TABLE.columns[0].lattice)  # type: ignore[union-attr]
        tests = [described_test(study, SQL, null, method).nats for method in get_args(Method)]
        sides = 3  # either, above and below
        assert nats is not None
        assert sides * sum(exp(-one) for one in tests) == pytest.approx(exp(-nats - number) / 2)


def test_a_longer_description_has_a_smaller_threshold() -> None:
    with opened() as curator:
        curator.ask("SELECT b, COUNT(*) FROM t GROUP BY b", share=1)
        asked = [
            (SQL, None, "t"),
            (SQL, 50, "t"),
            (SQL, "50.125", "permutation"),
            ("SELECT AVG(x) FROM t WHERE b AND x > 17", "50.125", "permutation"),
        ]
        looks = [
            next(by.threshold for by in look.routes if by.theorem == "DESCRIBED-QUERIES")
            for look in (curator.last_look(0.05, query=q, null=n, method=m) for q, n, m in asked)
        ]
        assert looks == sorted(looks, reverse=True)
        assert len(set(looks)) == 4


def test_after_a_published_test_only_described_ones_have_a_threshold() -> None:
    with opened() as curator:
        curator.ask("SELECT COUNT(*) FROM t", share=0.1)
        curator.publish_test(0.03)
        with pytest.raises(InvalidRequest, match="no threshold"):
            curator.last_look(0.05)
        assert curator.last_look(0.05, query=SQL, null=50).theorem == "DESCRIBED-QUERIES"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"null": 3}, "name the query"),
        ({"query": "SELECT COUNT(*), AVG(x) FROM t"}, "one query with one value"),
        ({"query": "SELECT CDF(x, 10, 20) FROM t"}, "one query with one value"),
        ({"query": SQL, "method": "guess"}, "no test is called 'guess'"),
        ({"query": SQL, "null": "much"}, "null"),
        ({"query": "SELECT MAX(x) FROM t"}, "no description"),
        ({"query": "SELECT 3 * AVG(x) FROM t", "null": 50}, "a query alone"),  # else of a mean of 50 / 3
        ({"query": "SELECT GEOMETRIC_MEAN(x + 1) FROM t", "null": 50}, "a query alone"),
    ],
)
def test_what_has_no_description_is_refused(words: dict[str, object], said: str) -> None:
    with opened() as curator, pytest.raises(InvalidRequest, match=said):
        curator.last_look(0.05, **words)
