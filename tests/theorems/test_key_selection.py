"""Keys that nobody declared: the threshold by exact tails, and what is shown of neighbors by enumeration."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar

import mpmath
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adyton
from adyton.curator.curator import Curator
from adyton.kernel.accounting import accounting_named
from adyton.kernel.accounting.noisy_reading import NoisyReading
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise
from adyton.kernel.noise import Bits
from adyton.kernel.privacy import ADJACENCIES, Adjacency, Guarantee, PrivacyUnit
from adyton.kernel.schema import IntegerColumn, Table, TextColumn
from adyton.kernel.sensitivity import Coordinate, Reading, Sensitivity
from adyton.kernel.special.discovery import GroupDiscovery
from adyton.kernel.special.mechanisms.key_selection import KeySelection
from adyton.kernel.terms.leaves import EVERY_ROW
from adyton.kernel.terms.measures import Count, CountPersons
from adyton.noise_intervals.laws import geometric_pmf
from adyton.planning.discovery import plan_discovery
from adyton.planning.price import Pricing, price_of
from adyton.planning.readings import readings_of
from adyton.query.nodes import Query
from adyton.study import Study, discovery_failure
from support.tries import crossed
from support.worlds import study_with

CITY = TextColumn("city")
TABLE = Table("visits", (CITY, IntegerColumn("age", 0, 9)), rows=20)

# The threshold ----------------------------------------------------------------------------------------------


def tail(noise: GaussianNoise | GeometricNoise, m: int) -> mpmath.mpf:
    """P(noise >= m), m >= 1, to forty digits."""
    scale = mpmath.mpf(noise.scales[0].numerator) / noise.scales[0].denominator
    if isinstance(noise, GaussianNoise):
        return mpmath.ncdf(-(m - mpmath.mpf(1) / 2) / scale)
    return mpmath.exp(-m / scale) / (1 + mpmath.exp(-1 / scale))


@given(
    kind=st.sampled_from([GaussianNoise, GeometricNoise]),
    scale=st.floats(1e-2, 1e6),
    exponent=st.floats(0.5, 240),
    touched=st.integers(1, 50),
)
def test_theorem_KEY_SELECTION_the_threshold_is_the_least_that_suffices(
    kind: type[GaussianNoise] | type[GeometricNoise], scale: float, exponent: float, touched: int
) -> None:
    """By exact tails: never too low, and not a step above the least, but for rounding in the ninth digit."""
    noise, guaranteed = kind((Fraction(scale),)), Fraction(10.0**-exponent)
    threshold = KeySelection(noise, touched, guaranteed).threshold
    with mpmath.workdps(40):
        allowed = mpmath.mpf(guaranteed.numerator) / guaranteed.denominator
        assert tail(noise, threshold - 1) * touched <= allowed
        lower = threshold - 2 - math.ceil(1e-7 * (threshold + scale))
        assert lower < 1 or tail(noise, lower) * touched > allowed


def test_a_key_of_surely_shown_units_is_shown_at_the_level() -> None:
    for noise in (GaussianNoise((Fraction(7, 2),)), GeometricNoise((Fraction(3),))):
        selection = KeySelection(noise, 2, Fraction(1, 10**6))
        needed = selection.surely_shown(0.95)
        hidden = tail(noise, needed - selection.threshold + 1)  # by symmetry: noise below threshold - needed
        assert hidden <= 0.05 < tail(noise, needed - selection.threshold)


# What neighbors show, by enumeration -----------------------------------------------------------------------

Unit = frozenset[str]
KEYS = ("a", "b", "c")
SCALE, REACH = 0.8, 12  # all noises up to here; what is left out weighs less than 1e-6


class Planted:
    """Noise that a test chose, in place of geometric noise of the same scale."""

    name, norm, theorems = "planted", 1, ()
    scales: ClassVar[tuple[Fraction, ...]] = (Fraction(SCALE),)

    def __init__(self) -> None:
        self.noise: tuple[int, ...] = ()

    def release(self, exact: list[list[int]], bits: Bits) -> list[list[int]]:
        return [[z + n for z, n in zip(exact[0], self.noise, strict=True)]]


class Silent(Planted):
    def release(self, exact: list[list[int]], bits: Bits) -> list[list[int]]:
        return exact


def finding(touched: int, failure: Fraction, planted: Any, silent: Any) -> GroupDiscovery:
    """As the curator makes it, but with noise that is enumerated."""
    counted = Sensitivity(((1, 1),), 10**6, "replace-one", touched=touched)
    number = Sensitivity(((0, touched),), 1, "replace-one")
    by_city = Reading("units of a key", Count(), EVERY_ROW, (Coordinate(),), (CITY,), counted)
    alone = Reading("number of keys", Count(), EVERY_ROW, (Coordinate(),), (), number)
    return GroupDiscovery(NoisyReading(by_city, planted), NoisyReading(alone, silent), failure)


@cache
def weight(scale: float, z: int) -> float:
    return geometric_pmf(scale, z)


Shown = tuple[tuple[str, ...], int]  # the keys, and the number of keys that occur, before its noise


def law(table: Iterable[Unit], made: GroupDiscovery, planted: Planted) -> dict[Shown, float]:
    """The law of what the first stage releases, over all noises within REACH."""
    counts = Counter(key for unit in table for key in unit)
    keys = [[key] for key in KEYS]  # the engine may name keys under which nothing counts
    exact, found = [[counts[key] for key in KEYS]], Counter[Shown]()
    occurring = sum(1 for key in KEYS if counts[key])
    weights = {z: geometric_pmf(SCALE, z) for z in range(-REACH, REACH + 1)}
    for planted.noise in itertools.product(weights, repeat=occurring):
        kept = made.release(keys, exact, 1, None)  # type: ignore[arg-type, list-item]
        shown = tuple(str(key[0]) for key in kept.keys)
        found[shown, kept.noisy_number] += math.prod(weights[z] for z in planted.noise)  # type: ignore[assignment]
    return dict(found)  # type: ignore[arg-type]


pmf = cache(geometric_pmf)


def divergence(
    one: dict[Shown, float], two: dict[Shown, float], epsilon: float, number_scale: float
) -> float:
    """The least d with one <= e^epsilon two + d, when the number of keys gets its noise as well."""
    total, shown = 0.0, {s for s, _ in (*one, *two)}
    for keys in shown:
        for z in range(-60, 64):
            p, q = (
                sum(w * pmf(number_scale, z - n) for (s, n), w in some.items() if s == keys)
                for some in (one, two)
            )
            total += max(0.0, p - math.exp(epsilon) * q)
    return total


OTHERS: list[list[Unit]] = [
    [frozenset("a")],
    [frozenset("a"), frozenset("a"), frozenset("b")],
]
B, C = frozenset("b"), frozenset("c")
SINGLE: list[Unit] = [frozenset("a"), frozenset("b"), frozenset("c")]
DOUBLE: list[Unit] = [frozenset("ab"), frozenset("bc"), frozenset("ac"), frozenset("c")]
_LEFT_OUT = 1e-6
_PLANTED = 8  # times the failure that is allowed


@pytest.mark.parametrize(
    ("asked", "others"), crossed([*itertools.product([(1, SINGLE), (2, DOUBLE)], ADJACENCIES)], OTHERS)
)
def test_theorem_KEY_SELECTION_covers_every_pair_of_adjacency(
    asked: tuple[tuple[int, list[Unit]], Adjacency], others: list[Unit]
) -> None:
    """All pairs, in both directions: (epsilon, f), whoever has keys of their own.  Too low a threshold fails."""
    (touched, units), adjacency = asked
    failure, planted, number_scale = Fraction(1, 500), Planted(), touched / 0.5

    @cache
    def law_with(unit: Unit, probability: Fraction) -> dict[Shown, float]:
        made = finding(touched, probability / made_share(), planted, Silent())
        assert made.selection(1).probability == probability
        return law([*others, unit], made, planted)

    moved = touched * (2 if adjacency == "replace-one" else 1)
    epsilon = moved / SCALE + 0.5
    pairs = (
        itertools.permutations(units, 2)
        if adjacency == "replace-one"
        else ((u, frozenset("")) for u in units)
    )

    def excess(probability: Fraction) -> float:
        worst = 0.0
        for one, two in itertools.chain.from_iterable(((a, b), (b, a)) for a, b in pairs_of):
            d = divergence(law_with(one, probability), law_with(two, probability), epsilon, number_scale)
            worst = max(worst, d - float(failure))
        return worst

    pairs_of = list(pairs)
    assert excess(failure) <= _LEFT_OUT
    if adjacency == "add-remove":
        assert excess(_PLANTED * failure) > 100 * _LEFT_OUT


def test_theorem_KEY_SELECTION_two_units_with_their_own_keys_attain_it() -> None:
    """Nothing else differs: the tables are told apart by exactly the probability that an own key is shown."""
    planted = Planted()
    made = finding(1, Fraction(1, 50) / made_share(), planted, Silent())
    chance = float(tail(GeometricNoise((Fraction(SCALE),)), made.selection(1).threshold - 1))
    assert 0.3 * 0.02 < chance <= 0.02  # thresholds are whole numbers
    mine, yours, nobody = (law([frozenset("a"), *unit], made, planted) for unit in ([B], [C], []))
    for epsilon in (0.0, 0.5, 3.0):
        assert divergence(mine, yours, epsilon, 2.0) == pytest.approx(chance, abs=_LEFT_OUT)
    shown = sum(p for (keys, _), p in mine.items() if "b" in keys)
    assert shown == pytest.approx(chance, abs=_LEFT_OUT)
    assert not any("b" in keys for keys, _ in (*yours, *nobody))


chances = st.integers(0, 20).map(lambda n: Fraction(n, 20))


@given(
    here=st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any),
    there=st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any),
    failing=st.lists(st.tuples(chances, chances), min_size=3, max_size=3),
    odds=st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(5)]),
)
def test_theorem_KEY_SELECTION_failures_cost_f_once_whatever_else_is_said(
    here: list[int], there: list[int], failing: list[tuple[Fraction, Fraction]], odds: Fraction
) -> None:
    """Three transcripts of the study without own keys, with any two laws; after each, failures of any chance
    up to f on either table, which then say all.  Exactly: no more than f + (1 - f) d at the same epsilon.
    """
    one, two = ([Fraction(w, sum(law)) for w in law] for law in (here, there))
    d = sum((max(Fraction(0), p - odds * q) for p, q in zip(one, two, strict=True)), Fraction(0))
    f = max(max(pair) for pair in failing)
    kept = [(p * (1 - a), q * (1 - b)) for p, q, (a, b) in zip(one, two, failing, strict=True)]
    told = 1 - sum((p for p, _ in kept), Fraction(0))  # a failure on the first table gives it away
    whole = told + sum((max(Fraction(0), p - odds * q) for p, q in kept), Fraction(0))
    assert whole <= f + (1 - f) * d


def made_share() -> Fraction:
    """What the first receipt may use."""
    from adyton.kernel.exact.shares import query_share

    return query_share(1)


def test_theorem_KEY_SELECTION_what_nobody_counts_is_never_shown() -> None:
    """A unit may have more keys than count for it; those must not get a chance each, nor be counted as keys."""
    planted = Planted()
    planted.noise = (10**6,)
    made = finding(1, Fraction(1, 10**6), planted, Silent())
    kept = made.release([["a"], ["b"], ["c"]], [[0, 1, 0]], 1, None)  # type: ignore[arg-type, list-item]
    assert (kept.keys, kept.places, kept.noisy_number) == ([["b"]], [1], 1)
    planted.noise = ()
    assert made.release([["a"]], [[0]], 1, None).keys == []  # type: ignore[arg-type, list-item]


# Over a study -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["0.01", "1", "7.3", "500"])
def test_theorem_KEY_SELECTION_failures_together_are_within_the_delta(epsilon: str) -> None:
    """Whatever epsilon is: the threshold does not grow with it."""
    budget = Guarantee(Fraction(epsilon), Fraction(1, 10**3))
    study = Study(TABLE, PrivacyUnit("replace-one"), budget, discovery_delta=Fraction(1, 10**4))
    failure = discovery_failure(study)
    made = finding(1, failure, Planted(), Silent())
    shares = sum((made.selection(j).probability for j in range(1, 500)), Fraction(0))
    assert failure / 2 < shares <= failure * (1 - made_share() / 500)  # the others, 1 / j**2, sum to 1 / 500
    assert failure + study.noise_delta == budget.delta


def persons(adjacency: Adjacency, rows: int) -> PrivacyUnit:
    return PrivacyUnit(adjacency, "pid" if rows > 1 else None, rows)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize(("rows", "most_groups", "touched"), [(1, None, 1), (4, None, 4), (4, 2, 2)])
def test_theorem_KEY_SELECTION_sensitivities_of_counts_and_of_their_number(
    adjacency: Adjacency, rows: int, most_groups: int | None, touched: int
) -> None:
    table = replace(TABLE, person=persons(adjacency, rows).person)
    study = study_with(
        table,
        unit=persons(adjacency, rows),
        epsilon=2,
        delta=Fraction(1, 10**3),
        discovery_delta=Fraction(1, 10**4),
    )
    measure = CountPersons() if most_groups else Count()
    query = Query(table, (("n", measure),), by=(CITY,), most_groups=most_groups)
    pricing = Pricing(study, price_of(epsilon=1), study.allowed, None)
    made = plan_discovery(query, study.unit, pricing, 10)
    counted, number = (one.reading.sensitivity for one in made.noisy)
    one = (Fraction(1),)
    both = 2 if adjacency == "replace-one" else 1
    assert counted.l1_diameter(one) == both * touched
    assert counted.l2_diameter_squared(one) == both * touched
    assert number.l1_diameter(one) == touched  # never more: keys that one unit brings, or takes away
    assert made.selection(3).touched == touched


def test_what_validity_pays_for_keys_does_not_rest_on_how_many_there_are() -> None:
    """No list bounds the keys, so a centre that is spread over all cells would be too far from some unit."""
    for measure in (Count(), CountPersons()):
        unit = persons("add-remove", 3)
        (reading,) = readings_of(Query(TABLE, (("n", measure),), by=(CITY,)), unit)
        noisy = NoisyReading(reading, GaussianNoise((Fraction(2),)))
        reach = 9 if isinstance(measure, Count) else 3  # squared: three rows of one key, or three keys
        assert noisy.radius() == UNITS_PER_ONE * reach // 4
        assert noisy.radius() == noisy.amount(accounting_named("gdp"))


def test_a_threshold_that_cannot_be_worked_out_is_refused_free_of_charge() -> None:
    budget = Guarantee(Fraction(5), Fraction(1, 10**3))
    study = Study(TABLE, PrivacyUnit("replace-one"), budget, discovery_delta=Fraction(1, 10**260))
    frame = pd.DataFrame({"city": ["x"] * 20, "age": [1] * 20})
    with adyton.open(study, data=frame) as asker:
        assert isinstance(asker, Curator)
        with pytest.raises(adyton.InvalidRequest, match="no threshold"):
            asker.ask("SELECT city, COUNT(*) FROM visits GROUP BY city", epsilon=1)
        assert asker.receipts() == []
