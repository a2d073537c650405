"""One request id is one charge and one answer, however its price was named and whatever was spent since."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import adyton
from adyton.errors import RequestIdUsed
from adyton.kernel.schema import CategoryColumn, IntegerColumn
from adyton.study import Validity
from support.curators import open_kept

ROWS = 2000
RNG = np.random.default_rng(1)
PEOPLE = pd.DataFrame(
    {"age": RNG.integers(0, 100, ROWS), "region": RNG.choice(["north", "south", "east"], ROWS)}
)
COLUMNS = (IntegerColumn("age", 0, 100), CategoryColumn("region", ("north", "south", "east")))


def curator(**more: Any) -> adyton.Curator:
    budget = adyton.Guarantee(more.pop("epsilon", 5), more.pop("delta", Fraction(1, 10**8)))
    table = adyton.Table("people", COLUMNS, rows=ROWS)
    study = adyton.Study(table, adyton.PrivacyUnit("replace-one"), budget, **more)
    return open_kept(study, data=PEOPLE)


TEXTS = [
    "SELECT COUNT(*) AS n FROM people WHERE age > 30",
    "SELECT COUNT(*) AS n, AVG(age) AS mean, VARIANCE(age) AS spread FROM people",
    "SELECT region, MEDIAN(age), QUANTILE(age, 0.9) FROM people GROUP BY region",
    "SELECT region, COUNT(*) AS n FROM people GROUP BY region UNION ALL SELECT 'all', COUNT(*) AS n FROM people",
    "SELECT region FROM people GROUP BY region ORDER BY COUNT(*) DESC LIMIT 1",
]
CHARGES: dict[str, Any] = {
    **{text: lambda asker, request, text=text: asker.ask(text, share="0.1", request=request) for text in TEXTS},
    "a batch": lambda asker, request: asker.ask_many(TEXTS[:2], share="0.1", request=request)[0],
    "counts together": lambda asker, request: asker.ask_many(
        [f"SELECT COUNT(*) FROM people WHERE age < {age}" for age in range(10, 100, 10)], share="0.1", request=request
    )[0],
    "the best": lambda asker, request: asker.ask(
        adyton.best_of({"old": adyton.count("age > 50"), "young": adyton.count("age < 50")}), share="0.1", request=request
    ),
    "bounds": lambda asker, request: asker.suggest_bounds("age", share="0.3", request=request).answer,
    "a monitor": lambda asker, request: asker.open_monitor(positives=2, share="0.1", request=request).budget(),
    "a synthetic table": lambda asker, request: asker.synthesize(["region"], share="0.1", request=request),
}  # fmt: skip


@pytest.mark.parametrize("accounting", ["gdp", "zcdp", "pure"])
@pytest.mark.parametrize("what", CHARGES)
def test_a_share_is_of_what_was_left_then(what: str, accounting: str) -> None:
    """Mutants: ``left_before`` forgets the amount of the receipt; ``requested`` finds nothing."""
    if accounting == "pure" and what not in ("a monitor", *TEXTS[:1]):
        pytest.skip("one of each is enough for the third filter")
    with curator(accounting=accounting, delta=0 if accounting == "pure" else Fraction(1, 10**8)) as asker:
        asker.ask("SELECT COUNT(*) FROM people", share="0.2")
        first = CHARGES[what](asker, "mine")
        asker.ask("SELECT COUNT(*) FROM people WHERE age < 7", share="0.3")
        again = CHARGES[what](asker, "mine")
        assert again.receipt == first.receipt
        assert asker.ledger.count() == 3
        if hasattr(first, "rows") and isinstance(first, adyton.Answer):
            assert list(again.rows) == list(first.rows)


def test_an_id_of_another_share_is_refused() -> None:
    with curator() as asker:
        asker.ask(TEXTS[1], share="0.1", request="mine")
        with pytest.raises(RequestIdUsed):
            asker.ask(TEXTS[1], share="0.2", request="mine")
        with pytest.raises(RequestIdUsed):
            asker.ask(TEXTS[0], share="0.1", request="mine")
        assert asker.ledger.count() == 1


def test_a_planned_query_has_the_noise_of_its_number() -> None:
    """Mutant: the number of the next receipt is taken."""
    planned = Validity("0.95", queries=20, tolerance="0.2", noise="decreasing", share="0.5")
    with curator(epsilon=20, validity=planned) as asker:
        first = asker.ask(TEXTS[0], request="mine")
        for age in range(5):
            asker.ask(f"SELECT COUNT(*) FROM people WHERE age > {age}")
        again = asker.ask(TEXTS[0], request="mine")
        assert (again.receipt, list(again.rows)) == (first.receipt, list(first.rows))
        assert asker.ledger.count() == 6


@pytest.mark.parametrize("what", [TEXTS[0], "a monitor"])
def test_a_cap_that_was_reached_since_refuses_no_retry(what: str) -> None:
    """Mutant: what is beyond the cap now is refused, though it was charged before."""
    capped = Validity("0.95", queries=1, stability="0.1", beyond_plan="refuse")
    with curator(accounting="pure", epsilon="0.05", delta=0, validity=capped) as asker:
        charge = CHARGES[what]
        first = charge(asker, "mine")
        with pytest.raises(adyton.ValidityRefused):
            asker.ask("SELECT COUNT(*) FROM people", share="0.1", request="other")
        assert charge(asker, "mine").receipt == first.receipt
