"""What comparisons cost that are paid for once and made later, part by part."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from adyton.errors import InvalidRequest
from adyton.kernel.accounting.rules import GdpAccounting, PureAccounting, ZcdpAccounting
from adyton.kernel.exact import units_up
from adyton.kernel.measurement import Due
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.protection import Protection
from adyton.kernel.schema import CategoryColumn, Table
from adyton.kernel.sensitivity import Coordinate, Reading, Sensitivity
from adyton.kernel.special import choice
from adyton.kernel.special import histogram as h
from adyton.kernel.special import monitor as m
from adyton.kernel.special.mechanisms.sparse.numeric_sparse import NumericSparse, one_integer
from adyton.kernel.special.mechanisms.sparse.sparse import Sparse
from adyton.kernel.terms.leaves import EVERY_ROW
from adyton.kernel.terms.measures import Count
from support.randomness import Seeded

F = Fraction
TABLE = Table("t", (CategoryColumn("c", ("a", "b")),), 100)
SPARSE = Sparse(4, F(10), F(30), 2)
RULES = (GdpAccounting(), ZcdpAccounting(), PureAccounting())
QUIET = GeometricNoise((F(1, 100),))


def protected(rule: Any, adjacency: Any = "replace-one") -> Protection:
    return Protection(TABLE, PrivacyUnit(adjacency), rule)


def counted(adjacency: Any, by: Any = ()) -> Reading:
    size = Sensitivity(((1, 1),), 2 if by else 1, adjacency)
    return Reading("n", Count(), EVERY_ROW, (Coordinate(),), by, size, table=TABLE, groups=len(by))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_a_monitor_pays_for_its_comparisons_and_its_values(rule: Any, adjacency: Any) -> None:
    """Mutants: a reach that is counted once, a value without a radius, numbers of the other noise."""
    reaches = 2 if adjacency == "add-remove" else 1
    epsilon = replace(SPARSE, sensitivity=2 * reaches).cost().pure
    assert (m.replace_one_cost(SPARSE).pure, m.replace_one_cost(SPARSE, reaches).pure) == (
        SPARSE.cost().pure,
        epsilon,
    )
    value, known = one_integer(2 * reaches), protected(rule, adjacency)
    for machine in (SPARSE, NumericSparse(SPARSE, F(20)), NumericSparse(SPARSE, F(20), gaussian=True)):
        if rule.name == "pure" and getattr(machine, "gaussian", False):
            continue
        due = m.Monitor(machine).due(known)
        noisy = isinstance(machine, NumericSparse)
        gaussian = noisy and machine.gaussian
        assert due.amount == rule.amount(machine.cost())
        of_values = 4 * machine.values.radius(value).gdp if noisy else F(0)
        if rule.name == "pure":
            assert (due.radius, due.pure) == (
                units_up(m.replace_one_cost(SPARSE, reaches).gdp + of_values),
                0,
            )
        elif gaussian:
            assert (due.radius, due.pure) == (
                4 * units_up(machine.values.radius(value).gdp),
                units_up(epsilon),
            )
        else:
            more = 4 * machine.values.cost(value).pure if noisy else 0
            assert (due.radius, due.pure) == (0, units_up(epsilon + more))
        assert due.gaussian == (((4, due.radius),) if gaussian else ())
        assert not m.Monitor(machine).refines(counted(adjacency))
        assert (Due(1, 2).pure, Due(1, 2).unproved, Due(1, 2).gaussian, Due(1, 2).coded_nats) == (
            0,
            False,
            (),
            0,
        )


@pytest.mark.parametrize("rule", RULES[:2], ids=lambda rule: rule.name)
@pytest.mark.parametrize("gaussian", [False, True])
def test_pmw_pays_for_the_number_of_units_where_that_is_private(rule: Any, gaussian: bool) -> None:
    """Mutants: the total left out of the price, of the radius or of the numbers; a total that is not known."""
    machine = NumericSparse(SPARSE, F(20), gaussian)
    noise = GaussianNoise((F(15),))
    public = m.Pmw(machine, 3, 100)
    private = m.Pmw(machine, 3, None, noise, counted("add-remove"))
    plain, known = public.due(protected(rule)), protected(rule, "add-remove")
    due, one = private.due(known), one_integer(1)
    assert (public.readings, private.readings) == ((), (counted("add-remove"),))
    assert abs(due.amount - plain.amount - rule.amount(noise.cost(one))) <= 1
    step = machine.values.radius(one_integer(2)).gdp
    of_values = 4 * step if gaussian else F(0)
    assert (plain.radius, due.radius) == (units_up(of_values), units_up(of_values + noise.radius(one).gdp))
    assert (due.pure, due.amount > plain.amount) == (plain.pure, True)
    assert plain.gaussian == (((4, plain.radius),) if gaussian else ())
    assert due.gaussian == (((5, due.radius),) if gaussian else ())
    wrong = (
        m.Pmw(machine, 3, None), m.Pmw(machine, 3, 100, noise, counted("add-remove")), m.Pmw(machine, 3, None, noise),
        m.Pmw(machine, 3, None, None, counted("add-remove")), m.Pmw(machine, 0, 100), m.Pmw(machine, 3, None, object(), counted("add-remove")),  # type: ignore[arg-type]
    )  # fmt: skip
    for one_of in wrong:
        with pytest.raises(InvalidRequest):
            one_of.due(known)
    for reach, good in ((1, True), (2, True)):
        small = m.Pmw(NumericSparse(replace(SPARSE, sensitivity=reach), F(20)), 3, 100)
        assert (small.check(counted("add-remove"), 1, known) is None) == good
    other = replace(private, total_noise=GeometricNoise((F(15),)))
    with pytest.raises(InvalidRequest, match="not of a kind"):  # of another accounting
        other.due(known)
    if not gaussian:
        own, everything = (
            other.due(protected(RULES[2], "add-remove")),
            m.replace_one_cost(SPARSE).gdp + 4 * step + other.total_noise.radius(one).gdp,  # type: ignore[union-attr]
        )
        assert (own.radius, own.pure, own.gaussian) == (units_up(everything), 0, ())
    quiet = m.Pmw(
        NumericSparse(Sparse(4, F(1, 100), F(1, 100)), F(1, 100)), 3, None, QUIET, counted("add-remove")
    )
    for exact, total in ((70, "70"), (0, "1"), (2**50, str(2**45))):
        assert quiet.begin(lambda reading, exact=exact: [exact], Seeded(1))[1] == {"total": total}
    assert public.begin(lambda reading: [0], Seeded(1))[1] == {"total": "100"}


def test_one_number_is_compared_that_moves_as_far_as_was_paid_for() -> None:
    """Mutants: a factor or a reach that is not looked at, several numbers at once."""
    known, one = protected(RULES[0]), counted("replace-one")
    monitor, pmw = m.Monitor(SPARSE), m.Pmw(NumericSparse(SPARSE, F(20)), 3, 100)
    for factor, good in ((0, False), (1, True), (2, True), (3, False), (True, False), (1.0, False)):
        if good:
            monitor.check(one, factor, known)
        else:
            with pytest.raises(InvalidRequest):
                monitor.check(one, factor, known)  # type: ignore[arg-type]
    pmw.check(one, 1, known)
    groups = counted("replace-one", TABLE.columns)
    two = replace(
        one,
        coordinates=(Coordinate(), Coordinate()),
        sensitivity=Sensitivity(((1, 1),) * 2, 1, "replace-one"),
    )
    for check in (monitor.check, pmw.check):
        for reading in (groups, two, replace(one, table=None)):
            with pytest.raises(InvalidRequest):
                check(reading, 1, known)
    with pytest.raises(InvalidRequest):
        pmw.check(one, 2, known)


def test_a_histogram_moves_by_the_rows_of_a_unit() -> None:
    """Mutants: another box, a table among others, the fewest rows of several."""
    unit = PrivacyUnit("add-remove", "p", 3)
    assert h.moved(5, unit) == Sensitivity(((1, 1),), 5, "add-remove", 3)
    apart = {Sensitivity(((low, k),), 1, "add-remove", k) for k, low in ((1, -2), (4, 0), (2, 1))}
    found = choice.of_one_value(apart)
    assert (found.rows, found.boxes, found.cells) == (4, ((-2, 4),), 1)
    scores = choice.of_scores(apart)
    assert (scores.bound, scores.monotone) == (2 + 16, True)
    small, large = np.array([1, 2], np.int64), np.array([1, 2**80], object)
    assert choice._as_scores(small) is small
    assert choice._as_scores(large) == [1, 2**80]
