"""BOX-OF-PARTS: intervals of what is computed from released values.

Coverage is counted over many independent rows.  A share that is truly 0.95 falls more than five standard
errors below it with probability 3e-7; a test looks at a few of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from math import sqrt
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adyton.arithmetic.boxes import BOXES, Box
from adyton.certify import Absent, Intervals, Values
from adyton.certify.linear import GaussianValue
from adyton.certify.released import CertifiedRows
from adyton.kernel.mechanisms import GaussianNoise
from adyton.query.released.answered import FUNCTIONS, Answered, Told
from adyton.query.released.nodes import (
    Apply,
    Every,
    Frame,
    IsNull,
    Relation,
    Released,
    ReleasedName,
    Term,
    When,
    Window,
)
from support.strategies import fractions
from support.tries import often

LEVEL = 0.95
NOT_DECLARED = Absent("not declared")


def apply(function: str, *inner: Released) -> Apply:
    return Apply(function, inner)


def certified(
    exact: Mapping[str, Any],
    scale: float,
    rng: np.random.Generator,
    *,
    keys: Mapping[str, Told] | None = None,
    gaussian: bool = True,
    chosen: bool = False,
) -> CertifiedRows:
    """Rows with rounded Gaussian noise on whole numbers, as counts have it."""
    rows = len(next(iter(exact.values())))
    noisy = {name: own + np.rint(scale * rng.standard_normal(rows)) for name, own in exact.items()}

    @cache
    def levels(level: float) -> Mapping[str, Values]:
        error = GaussianNoise((Fraction(scale),)).error(level)
        return {
            name: Values(own, Intervals(level, own - error, own + error), NOT_DECLARED)
            for name, own in noisy.items()
        }

    sources = {name: GaussianValue(Fraction(1), scale) for name in exact} if gaussian else {}
    return CertifiedRows(Answered({**noisy, **(keys or {})}, rows, {}), levels, sources, rows, chosen=chosen)


def covered(values: Values, exact: Any) -> float:
    return float(np.mean((values.noise.low <= exact) & (exact <= values.noise.high)))


def at_least(rows: int) -> float:
    return LEVEL - 5 * sqrt(LEVEL * (1 - LEVEL) / rows)


ROWS = 40_000


def test_theorem_BOX_OF_PARTS_all_parts_hold_at_once() -> None:
    """The greatest of eight fails as soon as one of them is too high: undivided levels cover 82 %."""
    rng = np.random.default_rng(1)
    exact = {f"v{i}": np.full(ROWS, 1000.0) for i in range(8)}
    node = apply("GREATEST", *map(ReleasedName, exact))
    for gaussian in (True, False):
        values = certified(exact, 30.0, rng, gaussian=gaussian).values(node)
        assert covered(values, 1000.0) >= at_least(ROWS)


@pytest.mark.parametrize("scale", [0.4, 3.0, 100.0])
def test_theorem_BOX_OF_PARTS_noises_add_up_as_squares_do(scale: float) -> None:
    """And not by much more than they must, once the noise is larger than its rounding."""
    rng = np.random.default_rng(2)
    exact = {f"v{i}": rng.integers(0, 5000, ROWS).astype(float) for i in range(4)}
    a, b, c, d = map(ReleasedName, exact)
    node = apply("-", apply("+", a, apply("*", Fraction(3), b)), apply("/", apply("+", c, d), Fraction(2)))
    truth = exact["v0"] + 3 * exact["v1"] - (exact["v2"] + exact["v3"]) / 2
    values = certified(exact, scale, rng).values(node)
    assert covered(values, truth) >= at_least(ROWS)
    if scale == 100.0:
        assert covered(values, truth) <= LEVEL + 0.01
        wide = certified(exact, scale, rng, gaussian=False).values(node)
        assert np.mean(wide.noise.high - wide.noise.low) > 1.5 * np.mean(values.noise.high - values.noise.low)


def test_theorem_BOX_OF_PARTS_quotients_products_and_functions() -> None:
    rng = np.random.default_rng(3)
    exact = {name: rng.integers(20, 3000, ROWS).astype(float) for name in "ab"}
    a, b = exact["a"], exact["b"]
    x, y = ReleasedName("a"), ReleasedName("b")
    nodes = {
        apply("/", x, y): a / b,
        apply("*", x, y): a * b,
        apply("ABS", apply("-", x, y)): np.abs(a - b),
        apply("ROUND", apply("SQRT", x), Fraction(1)): np.floor(np.sqrt(a) * 10 + 0.5) / 10,
        apply("LN", apply("/", x, y)): np.log(a / b),
        When(((Relation(x, ">", y), x),), apply("NEG", y)): np.where(a > b, a, -b),
        When(((Every((Relation(x, ">", y), Relation(x, ">", Fraction(100)))), Fraction(1)),), Fraction(0)): (
            (a > b) & (a > 100)
        ).astype(float),
    }
    for node, truth in nodes.items():
        values = certified(exact, 25.0, rng).values(node)
        assert covered(values, truth) >= at_least(ROWS), node
        there = ~np.isnan(values.value)
        assert np.all(values.noise.low[there] <= values.value[there])
        assert np.all(values.value[there] <= values.noise.high[there])


def test_theorem_BOX_OF_PARTS_a_case_is_any_branch_that_may_be_the_one() -> None:
    """Values close to each other: most comparisons are left open by the intervals."""
    rng = np.random.default_rng(7)
    exact = {name: rng.integers(1000, 1030, ROWS).astype(float) for name in "ab"}
    x, y = ReleasedName("a"), ReleasedName("b")
    node = When(((Relation(x, ">", y), Fraction(1)), (Relation(x, "=", y), Fraction(0))), Fraction(-1))
    values = certified(exact, 25.0, rng).values(node)
    assert covered(values, np.sign(exact["a"] - exact["b"])) >= at_least(ROWS)


def test_theorem_BOX_OF_PARTS_what_cannot_be_null_is_not() -> None:
    """A CASE about NULL is its one branch where rows alone decide, and both where values or a divisor do.

    Mutants: ``_decided_null`` decides nothing; it looks through every function.
    """
    rng = np.random.default_rng(12)
    exact = {"a": rng.integers(1000, 1030, 40).astype(float), "b": rng.integers(-9, 9, 40).astype(float)}
    found = certified(exact, 25.0, rng, keys={"k": (list(range(40)), np.arange(40))})
    x, y, nothing = ReleasedName("a"), ReleasedName("b"), Box.everything(40)
    before = Window("LAG", (x,), (), (Term("k"),))
    for null, first in [(x, False), (apply("ABS", apply("-", x, y)), False), (before, True)]:
        values = found.values(When(((IsNull(null), Fraction(7)),), Fraction(8)))
        right = [7.0 if first and row == 0 else 8.0 for row in range(40)]
        assert values.value.tolist() == values.noise.low.tolist() == values.noise.high.tolist() == right
    for null in (apply("/", x, y), apply("NULLIF", x, y), apply("ABS", apply("/", x, y))):
        values = found.values(When(((IsNull(null), Fraction(7)),), Fraction(8)))
        assert set(values.noise.low) == {7.0}
        assert set(values.noise.high) == {8.0}
    values = found.values(When(((IsNull(x), None),), x))
    assert np.all(values.noise.low > nothing.low)


def test_theorem_BOX_OF_PARTS_where_a_divisor_may_be_0_nothing_is_said() -> None:
    exact = {"a": np.full(50, 100.0), "b": np.linspace(-200, 200, 50).round()}
    found = certified(exact, 25.0, np.random.default_rng(4))
    values = found.values(apply("/", ReleasedName("a"), ReleasedName("b")))
    drowned = np.isinf(values.noise.low)
    assert np.array_equal(drowned, np.isnan(values.value))
    assert drowned[np.abs(exact["b"]) < 10].all()
    assert not drowned[np.abs(exact["b"]) > 190].any()


# Windows: in each of many parts of a few rows, which are independent of one another.

PARTS, SIZE = 60, 5


def _windows(rng: np.random.Generator, **more: Any) -> tuple[CertifiedRows, Any]:
    rows = PARTS * SIZE
    exact = {"n": rng.integers(0, 100, rows).astype(float)}
    keys: dict[str, Told] = {
        "part": (tuple(range(PARTS)), np.repeat(np.arange(PARTS), SIZE)),
        "year": (tuple(range(SIZE)), np.tile(np.arange(SIZE), PARTS)),
    }
    return certified(exact, 20.0, rng, keys=keys, **more), exact["n"].reshape(PARTS, SIZE)


BY_YEAR = (Term("year"),)
RUNNING = Frame(None, 0, peers=True)
N = ReleasedName("n")


@pytest.mark.parametrize("gaussian", [True, False])
def test_theorem_BOX_OF_PARTS_windows_over_public_rows(gaussian: bool) -> None:
    rng, found, runs = np.random.default_rng(5), dict[str, list[float]](), often(20, 40)
    for _ in range(runs):
        rows, n = _windows(rng, gaussian=gaussian)
        lag = Window("LAG", (N,), ("part",), BY_YEAR, RUNNING)
        before = np.concatenate([np.full((PARTS, 1), np.nan), n[:, :-1]], axis=1)
        cases = {
            "total": (Window("SUM", (N,), ("part",)), np.repeat(n.sum(1), SIZE)),
            "running": (Window("SUM", (N,), ("part",), BY_YEAR, RUNNING), n.cumsum(1).ravel()),
            "mean": (Window("AVG", (N,), ("part",)), np.repeat(n.mean(1), SIZE)),
            "greatest": (Window("MAX", (N,), ("part",)), np.repeat(n.max(1), SIZE)),
            "change": (apply("-", N, lag), (n - before).ravel()),
        }
        for name, (node, truth) in cases.items():
            values, there = rows.values(node), ~np.isnan(truth)
            assert np.array_equal(np.isnan(values.value), ~there)
            # of each part one row: the others rest on the same noise
            own = (values.noise.low <= truth) & (truth <= values.noise.high)
            found.setdefault(name, []).append(float(own.reshape(PARTS, SIZE)[:, -1].mean()))
    for name, shares in found.items():
        assert np.mean(shares) >= at_least(runs * PARTS), name


def test_theorem_BOX_OF_PARTS_shares_of_a_total_have_joint_noise() -> None:
    """The row and the total have the same noise in common; a box does not know that, and is far wider."""
    rng, found, ratios = np.random.default_rng(9), [], []
    share = apply("/", apply("*", Fraction(100), N), Window("SUM", (N,), ("part",)))
    for run in range(60):
        n = rng.integers(300, 900, (PARTS, SIZE)).astype(float)
        keys: dict[str, Told] = {"part": (tuple(range(PARTS)), np.repeat(np.arange(PARTS), SIZE))}
        truth = (100 * n / n.sum(1, keepdims=True)).ravel()
        values = certified({"n": n.ravel()}, 60.0, rng, keys=keys).values(share)
        found.append(((values.noise.low <= truth) & (truth <= values.noise.high))[::SIZE])
        if run % often(6, 1) == 0:  # widths hardly differ from one run to the next
            box = certified({"n": n.ravel()}, 60.0, rng, keys=keys, gaussian=False).values(share)
            widths = [one.noise.high - one.noise.low for one in (box, values)]
            ratios.append(np.median(widths[0]) / np.median(widths[1]))
    assert at_least(60 * PARTS) <= np.mean(found) <= LEVEL + 0.02
    assert np.median(ratios) > 3


def test_theorem_BOX_OF_PARTS_quotients_close_to_0_and_below_it() -> None:
    rng = np.random.default_rng(10)
    exact = {
        "a": rng.integers(-300, 300, ROWS).astype(float),
        "b": rng.integers(-400, 400, ROWS).astype(float),
    }
    exact["b"][exact["b"] == 0] = 1.0
    node = apply(
        "/", apply("-", ReleasedName("a"), Fraction(7)), apply("NULLIF", ReleasedName("b"), Fraction(0))
    )
    for scale in (0.4, 40.0):
        values = certified(exact, scale, rng).values(node)
        assert covered(values, (exact["a"] - 7) / exact["b"]) >= at_least(ROWS)


def test_theorem_BOX_OF_PARTS_the_greatest_of_many_rows() -> None:
    """It fails as soon as one row is too high: if rows did not count, 88 % would be covered."""
    rng, found = np.random.default_rng(8), []
    for _ in range(40):
        exact = {"n": np.full(PARTS * SIZE, 50.0)}
        keys: dict[str, Told] = {"part": (tuple(range(PARTS)), np.repeat(np.arange(PARTS), SIZE))}
        values = certified(exact, 20.0, rng, keys=keys).values(Window("MAX", (N,), ("part",)))
        found += [(values.noise.low[::SIZE] <= 50) & (values.noise.high[::SIZE] >= 50)]
    assert np.mean(found) >= at_least(40 * PARTS)


def test_theorem_BOX_OF_PARTS_ranks_and_totals_of_rows_that_values_chose() -> None:
    """All rows must hold at once: a rank may be wrong through any of them, and noise chose what is added."""
    rng, ranks, totals = np.random.default_rng(6), [], []
    by_value = (Term("n", descending=True),)
    for _ in range(400):
        exact = {"n": rng.integers(0, 100, 12).astype(float)}
        rows = certified(exact, 20.0, rng)
        rank = rows.values(Window("RANK", (), (), by_value, RUNNING))
        truth = np.array([1.0 + np.sum(exact["n"] > own) for own in exact["n"]])
        ranks.append(bool(np.all((rank.noise.low <= truth) & (truth <= rank.noise.high))))
        running = rows.values(Window("SUM", (N,), (), by_value, RUNNING))
        order = np.argsort(-rows.answered.columns["n"], kind="stable")  # type: ignore[operator]
        sums = np.zeros(12)
        sums[order] = exact["n"][order].cumsum()
        told = np.unique(rows.answered.columns["n"]).size == 12  # type: ignore[arg-type]  # without peers
        totals.append(not told or bool(np.all((running.noise.low <= sums) & (sums <= running.noise.high))))
    assert np.mean(ranks) >= at_least(400)
    assert np.mean(totals) >= at_least(400)


# Arithmetic.

ENDS = fractions(-1000, 1000, 64)
UNIT = fractions(0, 1, 16)


@settings(max_examples=often(150, 300), deadline=None)
@given(st.sampled_from(sorted(BOXES)), ENDS, ENDS, UNIT, ENDS, ENDS, UNIT, st.integers(-3, 6))
def test_theorem_BOX_OF_PARTS_interval_arithmetic_is_rounded_outwards(
    name: str, a: Fraction, b: Fraction, s: Fraction, c: Fraction, d: Fraction, t: Fraction, digits: int
) -> None:
    (a, b), (c, d) = sorted((a, b)), sorted((c, d))
    x, y = a + (b - a) * s, c + (d - c) * t
    one, other = (
        Box(np.array([float(a)]), np.array([float(b)])),
        Box(np.array([float(c)]), np.array([float(d)])),
    )
    x, y = Fraction(float(x)), Fraction(float(y))
    with mpmath.workdps(60):
        truth = _exactly(name, x, y, digits)
        if truth is None:
            return
        literal = Box.of(Fraction(abs(digits) + 1 if name == "MOD" else digits), 1)
        arguments = dict.fromkeys(("ROUND", "POWER", "MOD"), (one, literal))
        arguments["UNROUNDED"] = (one, Box.of(Fraction(1, abs(digits) + 1), 1))
        both = (one, other)
        with np.errstate(all="ignore"):
            box = BOXES[name](*arguments.get(name, both if name in TWO else both[:1]))
        assert mpmath.mpf(float(box.low[0])) <= truth <= mpmath.mpf(float(box.high[0]))


TWO = ("+", "-", "*", "/", "GREATEST", "LEAST", "NULLIF")


def _exactly(name: str, x: Fraction, y: Fraction, digits: int) -> Any:
    """In 60 digits; None where there is no value."""
    u, v = (mpmath.mpf(z.numerator) / z.denominator for z in (x, y))
    match name:
        case "MOD":
            rest = abs(x) % (abs(digits) + 1)
            return mpmath.mpf(rest.numerator) / rest.denominator * (1 if x >= 0 else -1)
        case "+" | "-" | "*":
            return {"+": u + v, "-": u - v, "*": u * v}[name]
        case "/":
            return u / v if y else None
        case "GREATEST" | "LEAST":
            return max(u, v) if name == "GREATEST" else min(u, v)
        case "SQRT":
            return mpmath.sqrt(u) if x >= 0 else None
        case "LN" | "LOG2" | "LOG10":
            base = {"LN": mpmath.e, "LOG2": 2, "LOG10": 10}[name]
            return mpmath.log(u, base) if x > 0 else None
        case "EXP":
            return mpmath.exp(u)
        case "UNROUNDED":  # as far away as it can have been, to one side or the other
            before = x + Fraction(1 if digits % 2 else -1, 2 * (abs(digits) + 1))
            return mpmath.mpf(before.numerator) / before.denominator
        case "POWER":
            return None if not x and digits <= 0 else u**digits
        case "ROUND":
            grown = abs(x) * Fraction(10) ** digits
            whole = (2 * grown + 1) // 2
            rounded = Fraction(whole) / Fraction(10) ** digits * (1 if x >= 0 else -1)
            return mpmath.mpf(rounded.numerator) / rounded.denominator
    simple = {
        "NEG": -x,
        "ABS": abs(x),
        "SIGN": Fraction((x > 0) - (x < 0)),
        "FLOOR": Fraction(x.__floor__()),
        "CEIL": Fraction(x.__ceil__()),
        "TRUNC": Fraction(x.__trunc__()),
        "NULLIF": x,
    }[name]
    return mpmath.mpf(simple.numerator) / simple.denominator


def test_theorem_BOX_OF_PARTS_every_function_has_a_value_and_an_interval() -> None:
    assert FUNCTIONS.keys() - BOXES.keys() == {"COALESCE"}  # it is told by what is NULL, not by numbers
    assert not BOXES.keys() - FUNCTIONS.keys()


OCCURS = Window("OCCURRING", (ReleasedName("n"), ReleasedName("g")))


@pytest.mark.parametrize("exact", [[0] * 8 + [4000] * 2, [1] * 10])
def test_theorem_BOX_OF_PARTS_values_without_rows_are_not_counted(exact: list[int]) -> None:
    """Ten values, eight without rows: with undivided levels one of them is counted in 18 % of all answers.
    And ten with one row each: one of them is then ruled out in 22 %.

    A share that is truly 0.05 rises more than six standard errors above it with probability 1e-9.
    """
    rng, times, truth = np.random.default_rng(11), 2_000, np.count_nonzero(exact)
    keys: Mapping[str, Told] = {"g": (list(range(10)), np.arange(10))}
    wrong = missed = 0
    for _ in range(times):
        values = certified({"n": np.array(exact, float)}, 20.0, rng, keys=keys).values(OCCURS)
        low, high = values.noise.low[0], values.noise.high[0]
        assert np.array_equal(values.value, np.full(10, low))
        wrong += values.value[0] > truth
        missed += not low <= truth <= high
    most = (1 - LEVEL) + 6 * sqrt(LEVEL * (1 - LEVEL) / times)
    assert wrong <= most * times
    assert missed <= most * times


def test_theorem_BOX_OF_PARTS_how_many_values_occur_is_told_for_each_group() -> None:
    """By hand: the width is that of intervals that hold for all six at once, and is exceeded or not."""
    width = GaussianNoise((Fraction(20),)).error(1 - 0.05 / 6)
    noisy = np.array([width + 1.0, width, -width, 0.0, 5000.0, 1.0 - width])
    told = Values(noisy, Intervals(LEVEL, noisy - width, noisy + width), Intervals(0.95, noisy, noisy + 0.5))
    keys: Mapping[str, Told] = {
        "h": (["a", "b"], np.array([0, 0, 0, 1, 1, 1])),
        "g": ("xyz", np.arange(6) % 3),
    }
    rows = CertifiedRows(Answered({"n": noisy, **keys}, 6, {}), lambda _: {"n": told}, {}, 6, chosen=False)
    found = rows.values(Window("OCCURRING", OCCURS.inner, ("h",)))
    assert found.noise.low.tolist() == [1, 1, 1, 1, 1, 1]  # only counts above the width; equal is not above
    assert found.noise.high.tolist() == [2, 2, 2, 3, 3, 3]  # -width + width is below 1
    assert isinstance(found.population, Intervals)
    assert found.population.low.tolist() == [2, 2, 2, 1, 1, 1]
    assert found.population.high.tolist() == [2, 2, 2, 2, 2, 2]  # 0.5 expected rows are more than none
