"""What a cost is in each accounting, to forty digits: epsilon, rho and mu squared; and who is protected."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from mpmath import mp, mpf

from adyton.errors import InvalidRequest
from adyton.kernel import noisy, privacy, protection
from adyton.kernel.accounting.noisy_reading import NoisyReading
from adyton.kernel.accounting.rules import GdpAccounting
from adyton.kernel.exact.outward import float_up
from adyton.kernel.measurement import Due
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise
from adyton.kernel.mechanisms.grid import Grid, NoiseOnAGrid
from adyton.kernel.privacy import BoundedRangeCost, GaussianCost, Guarantee, PrivacyUnit, PureCost, Reserve
from adyton.kernel.protection import Protection, unit_with
from adyton.kernel.schema import CategoryColumn, IntegerColumn, Table
from adyton.kernel.sensitivity import Coordinate, Reading, Sensitivity
from adyton.kernel.terms.leaves import EVERY_ROW
from adyton.kernel.terms.measures import Count

F = Fraction
EPSILONS = (
    F(1, 10**9),
    F(1, 10_001),
    F(1, 9_999),
    F(1, 100),
    F(1, 2),
    F(1),
    F(7, 3),
    F(10),
    F(60),
    F(699),
    F(700),
)


@pytest.fixture(autouse=True)
def forty_digits() -> object:
    with mp.workdps(70):
        yield


def digits(value: Fraction) -> mpf:
    return mpf(value.numerator) / value.denominator


def true_mu_squared(epsilon: Fraction) -> mpf:
    """(2 z)**2 where P(N > z) = 1 / (1 + exp(epsilon)), by Newton's method."""
    tail = 1 / (1 + mp.exp(digits(epsilon)))
    z = mp.sqrt(2 * digits(epsilon)) if epsilon > 4 else digits(epsilon) / 2 * mp.sqrt(mp.pi / 2)
    for _ in range(40):
        beyond = mp.erfc(z / mp.sqrt(2)) / 2
        step = mp.log(beyond / tail) * beyond * mp.sqrt(2 * mp.pi) * mp.exp(z * z / 2)
        z += step
        if abs(step) < mpf(10) ** -50:
            return (2 * z) ** 2
    raise AssertionError(epsilon)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_pure_guarantee_is_as_much_in_other_accountings(epsilon: Fraction) -> None:
    """Mutants: every number of ``PureCost`` and ``BoundedRangeCost``, and of the roundings under them."""
    pure, ranged = PureCost(epsilon), BoundedRangeCost(epsilon)
    assert pure.pure == ranged.pure == epsilon
    rho = digits(epsilon) * mp.tanh(digits(epsilon) / 2)
    assert 0 <= digits(pure.zcdp) - rho <= rho * mpf(2) ** -48
    assert pure.zcdp <= epsilon * min(F(1), epsilon / 2)
    assert ranged.zcdp == min(epsilon**2 / 8, pure.zcdp)
    mu = true_mu_squared(epsilon)
    assert 0 <= digits(pure.gdp) - mu <= mu * mpf(10) ** -9
    assert ranged.gdp == PureCost(epsilon / 2).gdp


def test_where_the_formulas_of_mu_end() -> None:
    """Mutants: another border, another multiple of pi."""
    half_pi, last = privacy._HALF_PI_UP, F(1, 10_000)
    assert 0 < digits(half_pi) - mp.pi / 2 < mpf(10) ** -18 * 2
    assert PureCost(last).gdp == half_pi * last**2 != PureCost(last * F(10_001, 10_000)).gdp
    assert PureCost(F(701)).gdp == 8 * 701
    assert PureCost(F(700)).gdp < 5_600 < PureCost(F(700) + F(1, 10)).gdp == 8 * F(7001, 10)
    quantile = privacy._quantile_up(1.0)
    z = mp.sqrt(true_mu_squared(F(1))) / 2
    margin = z * mpf(2) ** -44 + mpf(2) ** -48
    assert margin / 2 <= digits(quantile) - z <= margin * mpf("1.5")
    tiny = privacy._quantile_up(1e-9)  # next to 0 the fixed part of the margin is all of it
    near = mp.sqrt(true_mu_squared(F(1e-9))) / 2
    assert mpf(2) ** -49 <= digits(tiny) - near <= mpf(2) ** -47
    tanh = privacy._tanh_up(F(1, 3))
    assert tanh == F(math.tanh(float_up(F(1, 3)))) * (1 + F(1, 2**49))
    assert privacy._tanh_up(F(100)) == 1


def test_gaussian_noise_has_no_pure_guarantee() -> None:
    """Mutants: another half, a cost of nothing."""
    cost = GaussianCost(F(3, 7))
    assert (cost.pure, cost.zcdp, cost.gdp) == (None, F(3, 14), F(3, 7))
    kinds: tuple[Callable[[Fraction], object], ...] = (GaussianCost, PureCost, BoundedRangeCost)
    for kind in kinds:
        for bad in (F(0), F(-1)):
            with pytest.raises(InvalidRequest, match="positive"):
                kind(bad)
    for epsilon, delta in ((0, 0), (-1, 0), (1, -1), (1, 1)):
        with pytest.raises(InvalidRequest):
            Guarantee(epsilon, delta)
    assert Guarantee("0.1", 0) == Guarantee(F(1, 10), F(0))


# Who is protected ------------------------------------------------------------------------------------------


def test_a_unit_is_a_row_or_a_person_with_rows() -> None:
    """Mutants: each check of a unit and of a reserve, and what follows from them."""
    row, person = PrivacyUnit("replace-one"), PrivacyUnit("replace-one", "p", 6, (2, 3))
    assert (row.word, person.word, row.rows, row.parts, row.rows_in, row.reserve) == (
        "row",
        "person",
        1,
        1,
        (),
        None,
    )
    for bad in (
        {"rows": 0},
        {"rows": 2},
        {"person": "p", "rows": 5, "rows_in": (2, 3)},
        {"adjacency": "none"},
    ):
        with pytest.raises(InvalidRequest):
            PrivacyUnit(**{"adjacency": "add-remove", **bad})  # type: ignore[arg-type]
    joined, alone = person.with_rows("q", (2, 5)), person.with_rows("q", (4,))
    assert (joined.rows, joined.rows_in, joined.person) == (10, (2, 5), "q")
    assert (alone.rows, alone.rows_in) == (4, ())
    for share, good in ((F(0), False), (F(1), False), (F(-1, 2), False), (F(1, 2), True), (F(3, 2), False)):
        if good:
            assert not Reserve(share).opened
        else:
            with pytest.raises(InvalidRequest):
                Reserve(share)
    for parts, who, adjacency, may in (
        (2, "p", "replace-one", True), (1, "p", "replace-one", False), (2, None, "replace-one", False), (2, "p", "add-remove", False),
    ):  # fmt: skip
        assert PrivacyUnit(adjacency, who, parts=parts).may_change_parts == may  # type: ignore[arg-type]
    kept = Reserve(F(1, 2))
    assert unit_with(row, 1, None) is row
    assert (
        unit_with(row, 3, kept).parts,
        unit_with(row, 3, kept).reserve,
        unit_with(row, 1, kept).reserve,
    ) == (3, kept, kept)


def test_what_is_due_is_no_more_than_is_said() -> None:
    """Mutants: another default, bits of one part alone, a number of cells that is added."""
    due = Due(3, 4)
    assert (due.pure, due.unproved, due.gaussian, due.coded_nats) == (0, False, (), 0)
    box, noise = Sensitivity(((0, 1),), 1, "add-remove"), GaussianNoise((F(2),))
    region = CategoryColumn("r", ("a", "b", "c"))
    reading = Reading("n", Count(), EVERY_ROW, (Coordinate(),), (region,), box)
    parts = [NoisyReading(reading, NoiseOnAGrid(noise, (Grid(0, 1, cells),))) for cells in (4, 8)]
    bits = [digits(F(noisy.transcript_units([part]), 10**18)) for part in parts]
    assert [float(b) for b in bits] == pytest.approx([3 * 2, 3 * 3], rel=1e-12)
    assert noisy.transcript_units(parts) == sum(noisy.transcript_units([part]) for part in parts)
    plain, pure = NoisyReading(reading, noise), NoisyReading(reading, GeometricNoise((F(2),)))
    found = [noisy._gaussian(group, 7) for group in ([plain], [plain, plain], [plain, pure], [pure])]
    assert found == [((3, 7),), ((6, 7),), (), ()]
    assert noisy._MOST_TRIED == 64


def test_who_is_protected_is_found_once_for_each_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutants: a unit of another table, tables that are all kept, a person without a name."""
    monkeypatch.setattr(protection, "_MOST_KNOWN", 2)
    tables = [Table(name, (IntegerColumn("x", 0, 9),), person=f"{name}_id") for name in "abcd"]
    unit = PrivacyUnit("add-remove", "a_id", 3)
    known = Protection(
        tables[0], unit, GdpAccounting(), tuple((table, k) for k, table in enumerate(tables[1:], 5))
    )
    sizes = []
    for _ in range(2):
        for table, rows in zip(tables, (3, 5, 6, 7), strict=True):
            found = known.unit_of(table)
            assert (found.rows, found.person, known.unit_of(table) is found) == (rows, table.person, True)
            sizes.append(len(known._known))
    assert sizes == [1, 2, 1, 2] * 2
    other = Table("a", (IntegerColumn("x", 0, 9),), person="a_id")
    known._known[id(other)] = (tables[1], PrivacyUnit("add-remove"))  # another table was at that place
    assert known.unit_of(other).rows == 3
    plain = Table("e", (IntegerColumn("x", 0, 9),))
    assert Protection(plain, unit, GdpAccounting()).unit_of(plain).person == "a_id"
    split = Protection(plain, unit_with(unit, 2, None), GdpAccounting())
    rounded = Protection(plain, unit, GdpAccounting(), rounded=True)
    for bad in (split, rounded):
        with pytest.raises(InvalidRequest, match="this goes neither"):
            bad.refuse_split_or_rounded("this")
    assert (known.discovery_failure, known.rounded, known.holdout) == (0, False, False)
    known.refuse_split_or_rounded("this")
    with pytest.raises(InvalidRequest, match="declares"):
        known.unit_of(plain)
