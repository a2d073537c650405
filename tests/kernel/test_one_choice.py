"""Noise, accounting and the theorem on populations are one choice: only its classes know the names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import pytest

import adyton
from adyton.errors import InvalidRequest
from adyton.kernel.accounting import ACCOUNTING_NAMES, accounting_named
from adyton.kernel.exact import units_up
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise
from adyton.kernel.privacy import BoundedRangeCost, PureCost

SOURCE = Path(adyton.__file__).parent
ELSEWHERE = ("accounting/textbook", "audit", "figures", "lab", "testing", "transports/cli")
"""They compare accountings with each other, or name one to whoever reads."""


def names_compared(tree: ast.AST) -> Iterator[int]:
    """The lines where a value is compared with the name of an accounting, or looked up by it."""
    for node in ast.walk(tree):
        inside: list[ast.AST | None] = []
        if isinstance(node, ast.Compare):
            inside = [node.left, *node.comparators]
        elif isinstance(node, ast.Dict):
            inside = [*node.keys]
        elif isinstance(node, ast.MatchValue):
            inside = [node.value]
        if any(isinstance(one, ast.Constant) and one.value in ACCOUNTING_NAMES for one in inside):
            yield node.lineno


def test_nothing_else_asks_which_accounting_it_is() -> None:
    """Mutant: ``if study.accounting == "pure":`` in ``population/which.py``."""
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in sorted(SOURCE.rglob("*.py"))
        if not path.relative_to(SOURCE).as_posix().startswith(ELSEWHERE)
        for line in names_compared(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []


def test_a_comparison_is_seen_however_it_is_written() -> None:
    for text in ('x == "pure"', '"gdp" != x', '{"zcdp": 1}[x]', 'match x:\n    case "pure":\n        pass'):
        assert list(names_compared(ast.parse(text))), text


class Costs(NamedTuple):
    """What a mechanism was proved to cost, and None where nothing was."""

    pure: Fraction | None = Fraction(1, 3)
    gdp: Fraction | None = Fraction(1, 7)
    zcdp: None = None


@pytest.mark.parametrize("name", ACCOUNTING_NAMES)
def test_validity_pays_for_what_is_proved(name: str) -> None:
    """Mutants: each view that is not looked at; a choice that is paid for by the other one."""
    rule, numbers = accounting_named(name), Costs(pure=None, gdp=Fraction(1, 11))
    for chosen, beside in (
        (Costs(pure=None), numbers),
        (Costs(gdp=None), numbers),
        (Costs(), Costs(gdp=None)),
    ):
        with pytest.raises(InvalidRequest, match="no radius is proved"):
            rule.validity(chosen, beside)
    together = (units_up(Fraction(1, 7) + Fraction(1, 11)), 0)
    assert rule.validity(Costs(), numbers) == (
        together if name == "pure" else (units_up(Fraction(1, 11)), units_up(Fraction(1, 3)))
    )


@pytest.mark.parametrize("name", ACCOUNTING_NAMES)
def test_what_is_chosen_together(name: str) -> None:
    """Mutants: each fact of a class with the value that another class has."""
    rule = accounting_named(name)
    pure = name == "pure"
    assert rule.noise is (GeometricNoise if pure else GaussianNoise)
    assert rule.choice is (PureCost if pure else BoundedRangeCost)
    assert rule.capped == pure
    assert rule.capped or rule.noise.gaussian  # the theorems without a cap are about normal noise
    assert rule.per_rho == {"gdp": 2, "zcdp": 1, "pure": None}[name]
    assert rule.of_pure == {"gdp": ("PURE-IMPLIES-GDP",), "zcdp": ("PURE-IMPLIES-ZCDP",), "pure": ()}[name]
