"""Every public name says what it is, and those of the front page show it: their examples run here.

At hand are ``people`` (a frame), ``study``, a ``curator`` that was never asked, ``labels`` and an empty ``folder``.
"""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest

import adyton
from adyton.holdout import Method
from adyton.kernel.schema import BooleanColumn, CategoryColumn, IntegerColumn

ROWS = 1000
PARSER = doctest.DocTestParser()
FRONT = {name: getattr(adyton, name) for name in adyton.__all__}
METHODS = {kind.__name__: kind for kind in get_args(Method)}
FLAGS = doctest.IGNORE_EXCEPTION_DETAIL | doctest.ELLIPSIS


def members(name: str, public: Any) -> Iterator[tuple[str, Any]]:
    yield name, public
    if inspect.isclass(public):
        for inner, value in vars(public).items():
            function = getattr(value, "__func__", value)
            if not inner.startswith("_") and (inspect.isfunction(function) or isinstance(value, property)):
                yield f"{name}.{inner}", function


def docstring(public: Any) -> str:
    """Its own; not what a dataclass makes up, nor what a parent says."""
    said = vars(public).get("__doc__") if inspect.isclass(public) else public.__doc__
    made_up = inspect.isclass(public) and (said or "").startswith(f"{public.__name__}(")
    return "" if made_up else said or ""


@pytest.fixture
def at_hand(tmp_path: Path) -> Iterator[dict[str, Any]]:
    rng = np.random.default_rng(1)
    people = pd.DataFrame(
        {
            "person_id": range(ROWS),
            "age": rng.integers(18, 90, ROWS),
            "region": rng.choice(["north", "south"], ROWS),
            "smoker": rng.random(ROWS) < 0.2,
        }
    )
    columns = (
        IntegerColumn("age", 0, 120),
        CategoryColumn("region", ("north", "south")),
        BooleanColumn("smoker"),
    )
    table = adyton.Table("people", columns, rows=ROWS, person="person_id")
    budget = adyton.Guarantee(Fraction(2), Fraction("1e-9"))
    study = adyton.Study(table, adyton.PrivacyUnit("replace-one", person="person_id"), budget)
    with adyton.open(study, data=people) as curator:
        yield {
            "adyton": adyton,
            "people": people,
            "study": study,
            "curator": curator,
            "labels": rng.integers(0, 2, 5000),
            "folder": tmp_path,
            "Fraction": Fraction,
            "IntegerColumn": IntegerColumn,
            "MemoryLedger": adyton.MemoryLedger,
            "SqliteLedger": adyton.SqliteLedger,
            **METHODS,
        }


def failures(text: str, name: str, at_hand: dict[str, Any]) -> int:
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(PARSER.get_doctest(text, dict(at_hand), name, None, None), clear_globs=False)
    return runner.summarize(verbose=False).failed


def test_every_public_name_says_what_it_is() -> None:
    named = [one for name, public in (FRONT | METHODS).items() for one in members(name, public)]
    assert [name for name, public in named if not docstring(public).strip()] == []
    assert len(named) > 150


@pytest.mark.parametrize("name", FRONT | METHODS)
def test_the_example_of_a_public_name_runs(name: str, at_hand: dict[str, Any]) -> None:
    text = docstring((FRONT | METHODS)[name])
    assert PARSER.get_examples(text), "an example is missing"
    assert failures(text, name, at_hand) == 0


def test_an_example_that_is_wrong_fails(at_hand: dict[str, Any]) -> None:
    """The mutant of the test above."""
    assert failures(">>> curator.budget().queries\n1\n", "wrong", at_hand) == 1
    assert failures(">>> curator.gone()\n", "gone", at_hand) == 1
    assert not docstring(type("Bare", (), {}))
