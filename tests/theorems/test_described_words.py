"""All words of tiny schemas, and words drawn at random of a rich one: none is shorter than its description.

The words come from a program of its own (``described_words``), what they say of units from vectors of its own
(``described_values``).
"""

from __future__ import annotations

import datetime
import math
import random
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import product
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from described_values import NONE, Deviation, Numbers, Rows, deviations_of
from described_words import (
    COMPLETE,
    AllWords,
    Drawn,
    Nothing,
    Weights,
    Word,
    bins,
    constants,
    draw,
    fractions,
    parts_of,
    rationals,
    wholes,
    word,
)
from scipy.stats import binom

import adyton
from adyton.errors import InvalidRequest
from adyton.kernel.schema import (
    Attribute,
    BooleanColumn,
    CategoryColumn,
    DateColumn,
    Dimension,
    IntegerColumn,
    Lattice,
    RealColumn,
    Table,
    TextColumn,
    day_number,
)
from adyton.kernel.terms.expressions import Condition, Days, NumberExpression
from adyton.kernel.terms.measures import (
    CountPersons,
    Extreme,
    Mean,
    Measure,
    Moments,
    Sum,
    SumOfPersons,
    Variance,
)
from adyton.kernel.terms.persons import TableOfPersons
from adyton.population import base
from adyton.query import description_weights
from adyton.query.canonical import canonical_text
from adyton.query.conditions.possible_cells import number_of_cells
from adyton.query.description import Dictionary
from adyton.study import Validity
from support.tries import LONG, often

# Every word of two tiny schemas ----------------------------------------------------------------------------

LONGEST = often(13, 15)  # nats: 10,000 words in a second or two of work, or 58,000 in eight
STUDIES, UNITS = often(40, 400), 1_500
WIDER = {Sum: 1.3, Mean: 1.3, Variance: 2.5, Moments: 4.0}
BUDGET = adyton.Guarantee(epsilon=500, delta=1e-9)  # noise is no protection here: it hides nothing
REGIONS = Dimension("regions", "region", "c", ("x", "y"), (Attribute(BooleanColumn("coast"), (True, False)),))


@dataclass(frozen=True, eq=False)
class Tiny:
    """A study of units of a few kinds: what they have in their rows, and how likely each of them is."""

    study: adyton.Study
    rows: Rows
    law: Numbers
    frame: pd.DataFrame  # the rows of each kind

    @cached_property
    def words(self) -> list[tuple[float, Word]]:
        return AllWords()(LONGEST, word, self.study.table)

    @cached_property
    def deviations(self) -> list[tuple[float, Word, Deviation]]:
        """Of all words, each cell being one, that can be wrong at all."""
        found = []
        for nats, one in self.words:
            if not _kept_by_a_hash(one):
                most = math.exp(LONGEST - nats)
                cells = deviations_of(one, self.rows, self.law, UNITS, most_cells=most)
                own = nats + math.log(max(len({each.cell for each in cells}), 1))
                found += [(own, one, each) for each in cells if np.ptp(each.of_units) > 1e-9]
        return found

    @cached_property
    def bounds(self) -> tuple[Numbers, ...]:
        """Of all words: what units add, on which side, their variance, their greatest number, their nats, and how
        much wider their intervals are, roughly, because nobody knows their variance.
        """
        of_units = np.array([each.of_units for _, _, each in self.deviations])
        side = np.array([each.side for _, _, each in self.deviations])
        variance = UNITS * (of_units**2 @ self.law - (of_units @ self.law) ** 2)
        nats = np.array([nats for nats, _, _ in self.deviations])
        wider = np.array([WIDER.get(type(one.measure), 1.0) for _, one, _ in self.deviations])
        return of_units, side, variance, np.abs(of_units).max(1), nats, wider

    def worst(self, counts: Numbers) -> tuple[int, int, float]:
        """The most surprising word, and the one whose own interval it is nearest to leaving; and how many
        standard deviations the first one is from the truth.
        """
        of_units, side, variance, most, nats, wider = self.bounds
        away = of_units @ counts
        away = np.where(side == 0, np.abs(away), np.maximum(side * away, 0))
        first, nearest = (
            int(np.argmax(away / wider / (np.sqrt(2 * variance * level) + most * level / 3)))
            for level in (np.full(len(nats), 3.0), nats + math.log(4))
        )
        return first, nearest, float(away[first] / math.sqrt(variance[first]))

    def sample(self, counts: Numbers) -> pd.DataFrame:
        kinds = np.repeat(np.arange(len(counts)), counts)
        each = len(self.frame) // len(counts)
        places = (kinds[:, None] * each + np.arange(each)).ravel()
        return self.frame.iloc[places].assign(who=np.repeat(np.arange(len(kinds)), each))


def _kept_by_a_hash(one: Word) -> bool:
    """Which groups of a person count, if there are too many of them, is drawn for each person."""
    return one.most_groups == 1 and bool(one.by) and isinstance(one.measure, CountPersons | SumOfPersons)


@cache
def tiny(kind: str) -> Tiny:
    return _tiny_rows() if kind == "rows" else _tiny_persons()


def _tiny_rows() -> Tiny:
    """A unit is a row, with a public table beside it; values may be missing, clipped or undeclared."""
    flags = [(1.0, True, 0.45), (0.0, False, 0.45), (NONE, None, 0.1)]
    letters = [(float(place), 0.0, letter, 0.08) for place, letter in enumerate("opqrstuvxy")]
    letters += [(NONE, 1.0, "w", 0.1), (NONE, NONE, None, 0.1)]
    numbers = [(0.0, 0.0, 0, 0.3), (1.0, 0.0, 1, 0.2), (2.0, 0.0, 2, 0.15), (3.0, 0.0, 3, 0.2)]
    numbers += [(3.0, 1.0, 7, 0.1), (NONE, NONE, None, 0.05)]
    kinds = list(product(flags, letters, numbers))
    columns = {
        name: np.array([kind[place][0] for kind in kinds]) for place, name in enumerate(("b", "c", "n"))
    }
    outside = {name: np.array([kind[place][1] for kind in kinds]) for place, name in ((1, "c"), (2, "n"))}
    frame = pd.DataFrame(
        {
            "b": pd.array([kind[0][1] for kind in kinds], dtype="boolean"),
            "c": [kind[1][2] for kind in kinds],
            "n": pd.array([kind[2][2] for kind in kinds], dtype="Int64"),
        }
    )
    own = BooleanColumn("b"), CategoryColumn("c", tuple("opqrstuvxy")), IntegerColumn("n", 0, 3)
    rows = Rows(columns, outside, np.arange(len(kinds)), len(kinds))
    law = np.array([kind[0][-1] * kind[1][-1] * kind[2][-1] for kind in kinds])
    return Tiny(
        _study(Table("t", own, UNITS, dimensions=(REGIONS,)), adyton.PrivacyUnit("replace-one")),
        rows,
        law,
        frame,
    )


def _tiny_persons() -> Tiny:
    """A unit is a person with two rows."""
    kinds = list(product((True, False), range(3), "vwxyz"))
    share = np.array([(0.4, 0.2, 0.4)[number] / 10 for _, number, _ in kinds])
    pairs = [row for pair in product(kinds, kinds) for row in pair]
    frame = pd.DataFrame(pairs, columns=["b", "n", "c"])
    columns = {name: frame[name].to_numpy().astype(float) for name in ("b", "n")}
    columns["c"] = np.array(["vwxyz".index(letter) for letter in frame["c"]], float)
    declared = {"n": np.zeros(len(frame)), "c": np.zeros(len(frame))}
    rows = Rows(columns, declared, np.arange(len(frame)) // 2, len(frame) // 2)
    own = BooleanColumn("b"), CategoryColumn("c", tuple("vwxyz")), IntegerColumn("n", 0, 2)
    table = Table("t", own, UNITS, person="who")
    unit = adyton.PrivacyUnit("replace-one", person="who", rows=2)
    return Tiny(_study(table, unit), rows, np.outer(share, share).ravel(), frame)


def _study(table: Table, unit: adyton.PrivacyUnit) -> adyton.Study:
    return adyton.Study(table, unit, BUDGET, validity=Validity(Fraction(1, 2), dictionary="schema"))


@pytest.fixture
def nothing_but_descriptions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly the whole failure is given to them, and intervals by what was released are left out."""
    monkeypatch.setattr(base, "FOR_DESCRIBED", Fraction(98, 100))
    monkeypatch.setattr(base.Population, "silent", lambda self, at: base.UNPROVED)


def test_theorem_DESCRIBED_QUERIES_who_sees_the_rows_finds_no_miss(
    nothing_but_descriptions: None,
) -> None:
    """Of all words of two schemas the most surprising one is asked, and the one that is nearest to its own end.

    Words have whatever the dictionary can say in so many nats: counts, sums, means, shares, variances, quantiles,
    moments, distributions; of rows, persons, numbers of persons, and public tables; in groups and bins, under
    conditions with OR, NOT, IN, BETWEEN, IS NULL and CASE.  All that is left out: which groups of a person count
    where there are too many of them.  There is hardly any noise.  The chance that a study misses is at most 0.5 by
    the claim: more misses than it allows but for 1e-7 are an alarm.  Intervals of one query fixed in advance miss
    more often.  Mutant: nats that are not counted at all.
    """
    rng, missed, naive = np.random.default_rng(3), 0, 0
    for number in range(STUDIES):
        known = tiny("persons" if number % 3 == 0 else "rows")
        counts = rng.multinomial(UNITS, known.law)
        *places, deviations = known.worst(counts)
        naive += deviations > 1.96
        with adyton.open(known.study, data=known.sample(counts)) as curator:
            missed += any(_misses(curator, *known.deviations[place][1:]) for place in dict.fromkeys(places))
    assert missed <= int(binom.isf(1e-7, STUDIES, 0.5)) < naive


def _misses(curator: adyton.Curator, one: Word, deviation: Deviation) -> bool:
    answer = curator.ask(one.query, epsilon=100)
    cells = {tuple(row.keys.values())[: len(one.by)]: row.values for row in answer.rows}
    (value,) = cells[deviation.cell].values()
    interval = value.population_interval
    assert answer.ways
    return not interval.low - 1e-9 <= deviation.truth <= interval.high + 1e-9


@pytest.mark.parametrize("kind", ["rows", "persons"])
def test_theorem_DESCRIBED_QUERIES_all_words_are_found_and_none_is_shorter(kind: str) -> None:
    """What a program draws at random is among all words, and as often as they weigh.

    The share of drawn words that are short is that of all short words, by six standard deviations: 1e-8.  The
    dictionary gives each the nats that the program counted: rounded up, and for some a bit more.  Mutants: a list of
    words without neighbors, or with two conditions at most; a comparison without its sign; cells that are not counted.
    """
    known, drawn, draws, short = tiny(kind), Drawn(random.Random(7)), often(4_000, 40_000), 0
    listed = {_text(one) for _, one in known.words}
    for _ in range(draws):
        found = _drawn(drawn, known.study.table)
        if found is not None and found[0] <= LONGEST:
            short += 1
            assert _text(found[1]) in listed
    weight = sum(math.exp(-nats) for nats, _ in known.words)
    assert abs(short - draws * weight) <= 6 * math.sqrt(draws * weight)
    longer = [_longer(known.study.table, nats, one) for nats, one in known.words[:: often(7, 1)]]
    assert min(longer) >= -1e-9
    assert np.quantile(longer, 0.9) < 1 / 32


@pytest.mark.parametrize("lattice", [Lattice(Fraction(1), 0, 3), Lattice(Fraction(1, 4), -7, 90)], ids=str)
def test_theorem_DESCRIBED_QUERIES_every_short_constant_is_listed(lattice: Lattice) -> None:
    """And none has less weight than in the dictionary.  Mutant: places of a range with one digit alone."""
    decimals = {Fraction(n * 10**k, 10**d) for n in range(120) for k in range(6) for d in range(3)}
    positive = {Fraction(n, d) for n in range(150) for d in range(1, 20)} | decimals
    span = lattice.high - lattice.low
    places = {Fraction(k, 10**s) * span + lattice.low for s in (1, 2) for k in range(10**s + 1)}
    numbers = positive | {-number for number in positive} | {place * lattice.step for place in places}
    nats: list[tuple[Weights, dict[Any, float]]] = [
        (constants(lattice), {one: description_weights.constant_nats(one, lattice) for one in numbers}),
        (rationals(), {one: description_weights.rational_nats(one) for one in numbers}),
        (bins(), {one: description_weights.step_nats(one) for one in numbers if one > 0}),
        (fractions(), {one: description_weights.fraction_nats(one) for one in numbers if 0 < one < 1}),
        (wholes(), {number: description_weights.whole_nats(number) for number in range(100_000)}),
    ]
    for listed, known in nats:
        for number, own in known.items():
            assert own > COMPLETE or listed.get(number, 0.0) >= math.exp(-own) * (1 - 1e-9), number


def _text(one: Word) -> str:
    """One for all orders."""
    return canonical_text(replace(one, by=tuple(sorted(one.by, key=repr))).query)


def _drawn(drawn: Drawn, table: Table) -> tuple[float, Word] | None:
    try:
        return draw(drawn, word, table)
    except Nothing:
        return None


def _longer(table: Table, nats: float, one: Word) -> float:
    """By how many nats the dictionary's description is longer; 0 of what cannot be asked."""
    try:
        cells = number_of_cells(one.query)
    except InvalidRequest:
        return 0.0
    described = Dictionary(table, "schema").nats(one.query, one.measure)
    assert described is not None
    return described - nats - math.log(cells)


# Words of a rich schema, drawn at random -------------------------------------------------------------------

KINDS = Dimension(
    "kinds", "kind", "c", ("x", "y", "z"), (Attribute(CategoryColumn("group", ("p", "q")), ("p", "q", None)),)
)
SIZES = Dimension("sizes", "size", "c", ("x", "y"), (Attribute(IntegerColumn("width", 1, 3), (1, 3)),))
LAST_DAY = datetime.date(2021, 2, 20)
RICH = Table(
    "t",
    (
        BooleanColumn("b"),
        CategoryColumn("c", ("x", "y", "z")),
        IntegerColumn("n", 0, 9),
        RealColumn("r", Fraction(-1), Fraction(5, 2), Fraction(1, 2)),
        DateColumn("d", datetime.date(2019, 11, 3), LAST_DAY),
        TextColumn("s"),
    ),
    rows=1_000,
    person="who",
    dimensions=(KINDS, SIZES),
    most_rows=3,
)
SELDOM: dict[object, float] = {  # how many times as often each comes
    day_number(LAST_DAY) + 1: 1e6,
    **dict.fromkeys(("persons", "lookup", "quotient", "curve"), 12),
    **dict.fromkeys(("case", "day count", "sum of persons"), 7),
    **dict.fromkeys(("moments", "cdf", "indicator", "number"), 3),
    **dict.fromkeys(("public", "any", "computed", "sum"), 2),
}


@cache
def drawn_words() -> list[tuple[float, Word]]:
    """Words that can be asked, with the nats of what was chosen for them, cells included."""
    found = []
    for lifted in ({}, SELDOM):
        drawn = Drawn(random.Random(11), lifted)
        for _ in range(often(4_000, 30_000)):
            one = _drawn(drawn, RICH)
            if one is not None and (cells := _cells(one[1])):
                found.append((one[0] + math.log(cells), one[1]))
    return found


def _cells(one: Word) -> int:
    try:
        return number_of_cells(one.query)
    except InvalidRequest:
        return 0


def _described(one: Word) -> float:
    nats = Dictionary(RICH, "schema").nats(one.query, one.measure)
    assert nats is not None
    return nats


def test_theorem_DESCRIBED_QUERIES_no_query_weighs_more_than_it_is_drawn() -> None:
    """Whole queries, each with the nats of the choices that made it: no less, and for nearly all of them no more.

    The choices have the weights of the page, and those of each choice sum to at most 1.  So do those of all words.
    What is more is a range in a place where the dictionary reads two comparisons.  Mutants: a link of a join
    without its kind, a number of a person without its condition, a branch of CASE without its number, the null of a
    group that costs nothing.
    """
    longer = np.array([_described(one) - nats for nats, one in drawn_words()])
    assert longer.min() >= -1e-9
    assert np.mean(longer > 1 / 32) < 0.02
    nats = {_text(one): _described(one) - math.log(_cells(one)) for _, one in drawn_words()}
    assert len(nats) > 1_000
    assert 0.1 < sum(math.exp(-own) for own in nats.values()) <= 1


COMPARED = (
    "FROM",
    "GROUPS",
    "WITH_NULL",
    "MEASURES",
    "NUMBERS",
    "DAYS",
    "PARTS",
    "OPERATORS",
    "CONSTANTS",
    "OF_DAYS",
)
OF_COLUMNS = ("OF_A_BOOLEAN", "OF_A_CATEGORY", "OF_AN_ORDER", "OF_A_TEXT")
NEVER = {("DAYS", "Day")}  # stands in comparisons only, where it is a constant


@pytest.mark.parametrize("name", COMPARED + OF_COLUMNS if LONG else COMPARED[:4])
def test_theorem_DESCRIBED_QUERIES_a_weight_that_is_doubled_is_seen(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any of them: some drawn word is then shorter than what was chosen for it."""
    weights = getattr(description_weights, name)
    for choice in [choice for choice in weights if (name, choice) not in NEVER]:
        with monkeypatch.context() as doubled:
            doubled.setitem(weights.nats, choice, weights.nats[choice] - math.log(2))
            description_weights.constant_nats.cache_clear()
            assert any(_described(one) < nats - 0.5 for nats, one in drawn_words()), choice
        description_weights.constant_nats.cache_clear()


def test_theorem_DESCRIBED_QUERIES_every_kind_of_node_is_drawn() -> None:
    """So what has a weight is compared: a new node without a program that draws it fails here."""
    known = (*get_args(NumberExpression), *get_args(Condition), *get_args(Days), *get_args(Measure))
    nodes = {
        type(part)
        for _, one in drawn_words()
        for part in parts_of((one.table, one.by, one.where, one.measure))
    }
    assert set(known) - {Extreme} - nodes == set()
    assert any(isinstance(one.table, TableOfPersons) for _, one in drawn_words())
    assert {len(one.table.join.links) for _, one in drawn_words() if one.table.join is not None} >= {1, 2}
