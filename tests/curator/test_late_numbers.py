"""Numbers of an answer are made when somebody looks at them: the same numbers, and made once."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adyton
from adyton.arithmetic.ratio import Band, Ratio, _Side, intervals_of, ratio_interval
from adyton.certify import Absent, Intervals, KeyedRows, Values
from adyton.curator import certifying as estimate
from adyton.curator.curator import Curator
from adyton.kernel.exact.cells import Floats
from adyton.kernel.ledger import MemoryLedger
from adyton.kernel.ledger.texts import many_from_text
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import CategoryColumn, IntegerColumn, RealColumn, Table, TextColumn
from adyton.population.base import Position
from adyton.study import Study, Validity

COLUMNS = (
    RealColumn("income", Fraction(0), Fraction(200_000), Fraction(1)),
    IntegerColumn("place", 0, 9_999),
    CategoryColumn("region", ("north", "south", "east", "west")),
    TextColumn("town"),
)
QUERIES = (
    "SELECT COUNT(*) AS n FROM people",
    "SELECT AVG(income) AS m, MEDIAN(income) AS half, STDDEV(income) AS s FROM people GROUP BY region",
    "SELECT AVG(income) AS m, COUNT(*) AS n FROM people GROUP BY place",  # more cells than one block has
    "SELECT AVG(income) AS m FROM people WHERE region <> 'west' GROUP BY region ORDER BY m DESC LIMIT 2",
)


@pytest.fixture
def curator() -> Curator:
    return opened(rows=500, epsilon=50)


def opened(rows: int, epsilon: int) -> Curator:
    rng = np.random.default_rng(1)
    people = pd.DataFrame(
        {
            "income": rng.gamma(2, 20_000, rows),
            "place": rng.integers(0, 50, rows),
            "region": rng.choice(["north", "south"], rows),
            "town": rng.choice(["Ur", "Uruk"], rows),
        }
    )
    budget, sample = Guarantee(Fraction(epsilon), Fraction(1, 10**6)), Validity(Fraction(95, 100))
    study = Study(Table("people", COLUMNS, rows), PrivacyUnit("replace-one"), budget, "gdp", validity=sample)
    ledger = MemoryLedger.of(study)
    return adyton.open(study, data=people, ledger=ledger)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of how many queries numbers were made, each time that some were."""
    sizes: list[int] = []
    make = estimate.values_of_many

    def counted(plans: Any, stored: Any, context: Any) -> Any:
        sizes.append(len(plans))
        return make(plans, stored, context)

    monkeypatch.setattr(estimate, "values_of_many", counted)
    return sizes


def bits(rows: KeyedRows) -> dict[str, Any]:
    return {
        name: column.tobytes() if isinstance(column, np.ndarray) else column
        for name, column in rows.columns().items()
    }


def test_numbers_are_made_at_the_first_look_and_once(curator: Curator, made: list[int]) -> None:
    """Also of a repeat, and of a batch.  Mutants: numbers made at once; not kept by ``LateNumbers._of``; the
    newest not kept by the curator; another receipt's kept instead.
    """
    answer = curator.ask(QUERIES[2], epsilon=1)
    assert len(answer.rows) == 10_000
    assert set(answer.rows.values) == {"m", "n"}
    again = curator.ask(QUERIES[2], epsilon=1)
    assert again.repeated
    assert again.cost.units == 0
    assert not made
    assert bits(answer.rows) == bits(answer.rows)
    assert bits(answer.rows) == bits(again.rows)
    assert made == [1]
    batch = curator.ask_many([QUERIES[0], QUERIES[1]], epsilon=1)
    assert made == [1]
    assert [len(one.rows.to_json()) for one in batch] == [1, 4]
    assert made == [1, 2]
    older = curator.ask(QUERIES[2], epsilon=1)
    assert bits(older.rows) == bits(answer.rows)
    assert made == [1, 2, 1]


def test_numbers_of_the_newest_answers_are_kept_and_no_more(
    curator: Curator, made: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutants: only the newest is kept; none is ever let go; small ones are kept beside a large one."""
    monkeypatch.setattr(estimate, "_MOST_KEPT", 3)
    texts = [f"SELECT COUNT(*) AS n FROM people WHERE income > {at}000" for at in range(4)]

    def looked_at(text: str) -> int:
        """How often numbers were made for it."""
        before = len(made)
        curator.ask(text, epsilon="0.1").rows.to_json()
        return len(made) - before

    assert [looked_at(text) for text in texts] == [1, 1, 1, 1]
    assert [looked_at(text) for text in reversed(texts)] == [0, 0, 0, 1]
    assert [looked_at(text) for text in texts[:3]] == [0, 0, 0]
    assert looked_at(QUERIES[2]) == 1
    assert [looked_at(QUERIES[2]), looked_at(texts[0]), looked_at(QUERIES[2])] == [0, 1, 1]


def test_a_repeat_knows_what_was_learned_since_elsewhere() -> None:
    """Another curator of the same ledger asks how many units there are, or how far their values spread.

    Mutants: ``LateNumbers.stand`` does not compare the units, or what was learned.
    """
    rows, budget = 20_000, Guarantee(Fraction(50), Fraction(1, 10**9))
    table, sample = Table("people", COLUMNS), Validity(Fraction(95, 100))
    study = Study(table, PrivacyUnit("add-remove"), budget, "gdp", validity=sample)
    ledger = MemoryLedger.of(study)
    people = pd.DataFrame({"income": 100_000.0, "place": 1, "region": "north", "town": ["Ur"] * rows})
    here, there = (adyton.open(study, data=people, ledger=ledger) for _ in range(2))

    def asked() -> Any:
        (value,) = here.ask("SELECT AVG(income) AS m FROM people", epsilon=1).rows[0].values.values()
        return value

    before = asked()
    assert isinstance(before.population_interval, Absent)
    there.ask("SELECT COUNT(*) AS n FROM people", epsilon=1)
    counted = asked()
    there.ask("SELECT STDDEV(income) AS s FROM people", epsilon=1)
    spread = asked()
    assert before.value == counted.value == spread.value
    assert spread.population_interval.low > counted.population_interval.low


@pytest.mark.parametrize("sql", QUERIES[:3])
def test_late_numbers_are_those_of_what_is_stored(curator: Curator, sql: str) -> None:
    """However much was asked in between: what is said of a population stands where the answer stood."""
    answer = curator.ask(sql, epsilon=1)
    basket = curator._batch([sql], {"epsilon": 1})
    receipt, text = curator._asked_before(basket) or pytest.fail("it is stored")
    context = curator._claims.context(basket, Position.of(receipt), many_from_text(text))
    (rows,) = estimate.rows_of_many(basket.plans, many_from_text(text), context)
    curator.ask(QUERIES[0], epsilon=2)
    assert bits(answer.rows) == bits(rows)
    assert not any(isinstance(values.population, Absent) for values in rows.values.values())


def test_discovered_groups_are_counted_at_once(curator: Curator) -> None:
    budget = Guarantee(Fraction(50), Fraction(1, 10**6))
    known = Study(
        curator.study.table, PrivacyUnit("add-remove"), budget, "gdp", discovery_delta=Fraction(1, 10**7)
    )
    people = pd.DataFrame({"income": 1.0, "place": 1, "region": "north", "town": ["Ur"] * 300})
    ledger = MemoryLedger.of(known)
    with adyton.open(known, data=people, ledger=ledger) as asker:
        answer = asker.ask("SELECT town, COUNT(*) AS n FROM people GROUP BY town", epsilon=20)
    assert answer.discovered_groups is not None
    assert answer.discovered_groups.shown == len(answer.rows) == 1


def test_an_answer_that_nobody_looked_at_can_be_sent_away(curator: Curator) -> None:
    answer = curator.ask(QUERIES[1], epsilon=1)
    sent = pickle.loads(pickle.dumps(answer))
    assert bits(sent.rows) == bits(answer.rows)
    assert sent.to_json() == answer.to_json()


# The search for the ends of a ratio, in all cells at once ---------------------------------------------------


def plain_first(side: _Side) -> Floats:
    """Searched for everywhere, and thrown away where the far end holds."""
    return np.where(side.holds(-side.reach), -side.reach, side._searched())


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.floats(-3, 6), st.floats(0, 12), st.floats(-1, 4), st.integers(0, 2))
def test_theorem_RATIO_INTERVAL_no_bit_depends_on_the_other_cells(
    seed: int, reach_exponent: float, noise: float, counted: float, kind: int
) -> None:
    """Nor on what is left out because it says nothing.

    Mutants: a cell too few called telling (1 + 2**-3 for 1 - 2**-20 in ``_telling``); no search where the far
    end does not hold.
    """
    rng, reach = np.random.default_rng(seed), 10.0**reach_exponent
    a, b = 10.0**noise * rng.uniform(0.3, 3), 10.0**noise * rng.uniform(0.3, 3) / reach
    band = (Band(a, b, 0.5, 0.5), Band(0.0, 0.0, a, b), Band(a, b, a / 1000, b / 7))[kind]
    bottom = np.rint(rng.normal(size=9_000) * b * 10.0**counted)
    top = np.rint(bottom * rng.uniform(-1.1, 1.1, 9_000) * reach + rng.normal(size=9_000) * a)
    many, few = intervals_of([Ratio(top, bottom, reach, band), Ratio(top[:99], bottom[:99], reach, band)])
    low, high = many.ends()
    assert (low[:99].tobytes(), high[:99].tobytes()) == tuple(end.tobytes() for end in few.ends())
    for place in range(0, 9_000, 300):
        one = slice(place, place + 1)
        alone = ratio_interval(top[one], bottom[one], reach, band)
        assert (low[one].tobytes(), high[one].tobytes()) == tuple(end.tobytes() for end in alone)
    told = np.flatnonzero((low != -reach) | (high != reach))
    first, mirrored = (
        plain_first(_Side(sign * top[told], bottom[told], np.full(len(told), reach), band))
        for sign in (1, -1)
    )
    assert low[told].tobytes() == first.tobytes()
    assert high[told].tobytes() == (-mirrored).tobytes()


# Told together, told alone ------------------------------------------------------------------------------------


def ends_of(values: Values) -> Floats:
    assert isinstance(values.population, Intervals)
    return np.array([values.population.low, values.population.high])


def test_what_is_told_together_is_what_is_told_alone() -> None:
    """In a batch of very small and of large groups, other measures, and values whose spread was learned.

    Mutants: parts in another order; ``alike`` without the coordinates, the mechanism or the learned spread;
    counts raised to the next of steps that are equally far apart (``most_rows``).
    """
    curator = opened(rows=40_000, epsilon=100)
    curator.ask("SELECT STDDEV(income) AS s FROM people WHERE place < 49", epsilon=2)
    upto = [f"FROM people WHERE place < {place / 6:.2f}" for place in range(1, 300)]
    measures = "AVG(income) AS m, AVG(income + 7) AS h, COUNT(*) AS n, AVG(income) AS rough"
    batch = [f"SELECT {measures} {rows}" for rows in upto]
    batch.append("SELECT AVG(income) AS m FROM people WHERE place < 49")
    price: Any = {"within": {"m": 9_000, "h": 9_000, "n": 40, "rough": 30_000}, "expected_rows": 1_000}
    basket = curator._batch(batch, price)
    receipt = curator.ask_many(batch, **price)[0].receipt
    stored = many_from_text(curator._ledger.recall(receipt.number) or "")
    context = curator._claims.context(basket, Position.of(curator._ledger.receipt(receipt.number)))
    assert len(context.learned) == 1
    together = estimate.values_of_many(basket.plans, stored, context)
    for plan, own, told in [*zip(basket.plans, stored, together, strict=True)][::-7]:  # the last one first
        for part, columns in zip(plan.parts, own.released, strict=True):
            values, (alone,) = told[part.name], estimate._told_together([(part, columns)], context)
            assert values.value.tobytes() == alone.value.tobytes()
            assert values.noise.low.tobytes() == alone.noise.low.tobytes()
            assert values.noise.high.tobytes() == alone.noise.high.tobytes()
            ends, wanted = ends_of(values), ends_of(alone)
            assert np.abs(ends - wanted).max() <= 0.01 * (wanted[1] - wanted[0]).max()
