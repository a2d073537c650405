"""Rounding to the safe side and searching by halves happen in two packages alone.

They are ``adyton.kernel.exact``, for what privacy needs, and ``adyton.arithmetic`` for the rest.

Read from the syntax of the source: elsewhere nobody steps to the next float, writes the roundoff of floats as a power
of two, keeps a margin of his own under a name for margins, adds or scales by a decimal below 10**-6, or halves a
bracket by hand.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import mpmath
import pytest
from scipy.special import betaincinv

import adyton
from adyton.kernel.exact.outward import COARSE, UNIT_ROUNDOFF

SOURCE = Path(adyton.__file__).parent
FLOOR = (SOURCE / "kernel" / "exact", SOURCE / "arithmetic")

MARGINS = {"U", "UP", "SAFE", "OUTWARD", "MARGIN", "RELATIVE", "TRUST", "ROUNDOFF", "ULP"}

ALLOWED = {
    (
        "kernel/mechanisms/search.py",
        "halving",
    ): "the noisy binary search: a mechanism, whose every look is paid for",
    ("validity/plans/decreasing.py", "halving"): "a fixed point: a number, and how many its own level holds",
    (
        "kernel/accounting/gaussian.py",
        "decimal",
    ): "how closely a search stops; what it returns is on the safe side",
    ("kernel/accounting/zcdp.py", "decimal"): "when an iteration stops; every iterate is valid",
    (
        "audit/events.py",
        "decimal",
    ): "keeps an estimate inside 0..1: it chooses an event, which is then judged",
    (
        "audit/exact.py",
        "decimal",
    ): "of laws that are stated to 12 digits: a check, and an error that is carried",
    ("audit/views.py", "decimal"): "keeps a matrix invertible and a quotient finite: it chooses an event",
    ("curator/purse.py", "decimal"): "just over a limit: a guess of a price, which is then tried",
    (
        "holdout/methods/guess_and_check.py",
        "decimal",
    ): "of sums of logarithms of factorials, which lose more",
    (
        "monitors/pmw/guess.py",
        "decimal",
    ): "keeps a logarithm finite: it corrects a guess, and nothing that is guaranteed rests on how",
    (
        "monitors/pmw/run.py",
        "decimal",
    ): "of a gap: it makes fewer updates possible than are paid",
    (
        "kernel/special/mechanisms/workloads/strategy.py",
        "decimal",
    ): "which eigenvalues count: a strategy is measured as it is",
    ("planning/coordinated/strategy_choice.py", "decimal"): "chooses a strategy, which is measured as it is",
    ("validity/attack_limit.py", "decimal"): "keeps a logarithm finite: an attack is computed, not certified",
    ("validity/described.py", "roundoff"): "keeps a tilt above 0: it chooses a tilt, and each is valid",
    ("validity/hinge/opening.py", "decimal"): "when Newton's method stops: every opening is valid",
    ("validity/plans/score_plans.py", "decimal"): "chooses whole blocks of a plan, certified as they are",
    ("validity/published/mutual_information.py", "decimal"): "the end of a search: every place is valid",
    ("validity/subset/widths.py", "decimal"): "raises variances to a common floor, which is valid",
    (
        "holdout/methods/guess_and_check.py",
        "margin",
    ): "of sums of logarithms of factorials, which lose more",
}


def complaints(tree: ast.AST) -> Iterator[tuple[str, int]]:
    nodes = _every(tree)
    named = _names_of_small_decimals(nodes)
    for node in nodes:
        if isinstance(node, ast.BinOp | ast.AugAssign) and _adds_or_scales(node, named):
            yield "decimal", node.lineno
        if isinstance(node, ast.Name | ast.Attribute) and _steps_to_the_next_float(node):
            yield "next float", node.lineno
        if isinstance(node, ast.BinOp) and 45 <= -_power_of_two(node) <= 60:
            yield "roundoff", node.lineno
        if isinstance(node, ast.Assign | ast.AnnAssign) and _is_a_margin(node):
            yield "margin", node.lineno
        if isinstance(node, ast.While | ast.For) and _halves(node):
            yield "halving", node.lineno


def _every(tree: ast.AST) -> list[ast.AST]:
    """As ``ast.walk``, in a third of its time."""
    found = [tree]
    for node in found:
        for field in node._fields:
            value = getattr(node, field, None)
            parts = value if type(value) is list else (value,)
            found += [part for part in parts if isinstance(part, ast.AST)]
    return found


def _steps_to_the_next_float(node: ast.AST) -> bool:
    name = getattr(node, "attr", None) or getattr(node, "id", None)
    return name in ("nextafter", "ulp", "spacing")


def _power_of_two(node: ast.BinOp) -> int:
    """The exponent of 2**-k, of 2.0**-k and of 1 / 2**k; 0 for everything else."""
    match node:
        case ast.BinOp(ast.Constant(2 | 2.0), ast.Pow(), ast.UnaryOp(ast.USub(), ast.Constant(int(k)))):
            return -k
        case ast.BinOp(
            ast.Constant(1 | 1.0),
            ast.Div(),
            ast.BinOp(ast.Constant(2 | 2.0), ast.Pow(), ast.Constant(int(k))),
        ):
            return -k
    return 0


def _is_a_margin(node: ast.Assign | ast.AnnAssign) -> bool:
    """A name for margins that is given a small number, or 1 and a small number, written out."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = {
        name.id.strip("_") for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)
    }
    return bool(names & MARGINS) and any(
        (isinstance(part, ast.Constant) and isinstance(part.value, float) and 0 < part.value < 1e-6)
        or (isinstance(part, ast.BinOp) and _power_of_two(part) < -20)
        for part in ast.walk(node)
    )


def _names_of_small_decimals(nodes: list[ast.AST]) -> set[str]:
    return {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and _is_a_small_decimal(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _is_a_small_decimal(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, float) and 0 < node.value < 1e-6


def _adds_or_scales(node: ast.AST, named: set[str]) -> bool:
    """A small decimal, written here or given a name in the module, in a sum, a difference or a product."""
    match node:
        case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult(), right):
            parts = (left, right)
        case ast.AugAssign(_, ast.Add() | ast.Sub() | ast.Mult(), right):
            parts = (right,)
        case _:
            return False
    return any(_is_a_small_decimal(part) or getattr(part, "id", None) in named for part in parts)


def _halves(loop: ast.While | ast.For) -> bool:
    """Between two names a middle is taken, and one of the two is moved."""
    moved = {
        name.id for name in ast.walk(loop) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }
    return any(len(pair) == 2 and pair & moved for node in ast.walk(loop) for pair in _middles(node))


def _middles(node: ast.AST) -> Iterator[set[str]]:
    """The two names of (a + b) / 2, (a + b) // 2, 0.5 * (a + b), a + (b - a) / 2 and sqrt(a * b)."""
    match node:
        case ast.BinOp(ast.BinOp(a, ast.Add(), b), ast.Div() | ast.FloorDiv(), ast.Constant(2 | 2.0)):
            yield _names(a, b)
        case ast.BinOp(ast.BinOp(a, ast.Add(), b), ast.RShift(), ast.Constant(1)):
            yield _names(a, b)
        case ast.BinOp(ast.Constant(0.5), ast.Mult(), ast.BinOp(a, ast.Add(), b)) | ast.BinOp(
            ast.BinOp(a, ast.Add(), b), ast.Mult(), ast.Constant(0.5)
        ):
            yield _names(a, b)
        case ast.BinOp(
            a,
            ast.Add(),
            ast.BinOp(ast.BinOp(b, ast.Sub(), _), ast.Div() | ast.FloorDiv(), ast.Constant(2 | 2.0)),
        ):
            yield _names(a, b)
        case ast.Call(ast.Attribute(attr="sqrt") | ast.Name("sqrt"), [ast.BinOp(a, ast.Mult(), b)]):
            yield _names(a, b)


def _names(*nodes: ast.AST) -> set[str]:
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def test_law_rounding_and_halving_happen_on_the_floor() -> None:
    found: dict[tuple[str, str], list[int]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        if not any(path.is_relative_to(floor) for floor in FLOOR):
            for what, line in complaints(ast.parse(path.read_text(encoding="utf-8"))):
                found.setdefault((path.relative_to(SOURCE).as_posix(), what), []).append(line)
    assert {place: lines for place, lines in found.items() if place not in ALLOWED} == {}
    assert set(ALLOWED) <= set(found), "an exception that nobody needs any more"


@pytest.mark.parametrize(
    ("what", "mutant"),
    [
        ("next float", "x = math.nextafter(x, math.inf)"),
        ("next float", "from math import ulp\nx = x + ulp(x)"),
        ("next float", "x = np.nextafter(x, np.inf)"),
        ("roundoff", "x = x * (1 + 2.0**-50)"),
        ("roundoff", "u = 2**-53"),
        ("roundoff", "u = 1 / 2**53"),
        ("decimal", "x = x * (1 + 1e-10)"),
        ("decimal", "x += 1e-12"),
        ("decimal", "_SLIGHTLY = 1e-9\nx = y - _SLIGHTLY * y"),
        ("margin", "_U = 1.1e-16"),
        ("margin", "_OUTWARD = 1 + 1e-12"),
        ("margin", "_MARGIN: float = 2.0**-40"),
        (
            "halving",
            "while high - low > 1:\n    m = (low + high) // 2\n    low, high = (m, high) if f(m) else (low, m)",
        ),
        (
            "halving",
            "for _ in range(9):\n    m = math.sqrt(a * b)\n    if f(m):\n        a = m\n    else:\n        b = m",
        ),
        (
            "halving",
            "for _ in range(9):\n    m = (a + b) / 2\n    a, b = np.where(f(m), m, a), np.where(f(m), b, m)",
        ),
        ("halving", "while b > a:\n    m = a + (b - a) / 2\n    b = m"),
    ],
)
def test_law_each_kind_is_seen(what: str, mutant: str) -> None:
    assert what in {kind for kind, _ in complaints(ast.parse(mutant))}


def test_law_what_is_no_margin_and_no_search_passes() -> None:
    plain = "x = 2**-20\nhalf = (low + high) / 2\nfor x in y:\n    total = total + x / 2\n_MARGIN = 3\n_U = 8 * UNIT_ROUNDOFF"
    assert list(complaints(ast.parse(plain))) == []


def test_the_inverse_of_a_binomial_tail_is_far_better_than_its_margin() -> None:
    """Against fifty digits.  Mutant: ``COARSE`` of 1e-15."""
    with mpmath.workdps(50):
        for trials in (1, 10, 200, 5_000):
            for hits in {1, (trials + 1) // 2, trials}:
                for tail in (1e-9, 1e-3, 0.025):
                    x = float(betaincinv(hits, trials - hits + 1, tail))
                    found = mpmath.betainc(hits, trials - hits + 1, 0, mpmath.mpf(x), regularized=True)
                    # As the page has it: what the margin allows for is a tail that is off, or an end that is.
                    assert abs(found / tail - 1) <= COARSE / 10 + trials * 4 * UNIT_ROUNDOFF
