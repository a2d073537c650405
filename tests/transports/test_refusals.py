"""A refusal is made once, from facts, and worded once for each surface; programs never read its English."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

import adyton
from adyton import errors
from adyton.client.faults import told_error
from adyton.refusals import (
    PRICES,
    Refusal,
    Surface,
    Whose,
    happened,
    message,
    message_of,
    refusal_of,
    refused,
    what_to_do,
)
from adyton.transports.http.errors import response_of
from adyton.transports.mcp.words import refusal_said
from adyton.transports.pages.problems import problem_of
from adyton.transports.pg.errors import fields_of_error

SOURCE = Path(adyton.__file__).parent
READERS = ("transports", "client", "service")  # surfaces, and what is between them and the curator
SEARCHES = {
    *("startswith", "endswith", "find", "rfind", "index", "rindex", "count", "partition", "rpartition"),
    *("split", "rsplit", "replace", "removeprefix", "removesuffix"),
}
PATTERNS = {"search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split"}
REFUSALS = {"BudgetRefused", "PrivacyRefused", "ValidityRefused", "ScoresRefused", "SessionRefused"}

AMOUNTS = {"requested": "0.3", "spent": "0.2", "budget": "0.4", "largest": "0.2"}
COUNTS = {"requested": "1", "spent": "5", "budget": "5", "largest": "0"}
SAMPLES = (
    Refusal(counted_in="gdp", **AMOUNTS).fitting({"within": "435"}, "within"),
    Refusal(counted_in="zcdp", **AMOUNTS).fitting({"within": {"n": "12", "avg_income": "510"}}, "within"),
    Refusal(counted_in="pure", **{**AMOUNTS, "largest": "0"}).fitting(None, "epsilon"),
    Refusal(whose="analyst", by="ana", counted_in="gdp", **AMOUNTS),
    Refusal(whose="analyst", by="ben", counted_in="gdp", **{**AMOUNTS, "budget": "0", "largest": "0"}),
    Refusal(whose="query", by="ana", counted_in="gdp", **AMOUNTS),
    Refusal(whose="session", by="bot", counted_in="queries", next_session_in=7200, **COUNTS),
    Refusal(whose="shared budget", shared_budget="hospital.ledger", counted_in="gdp", **AMOUNTS),
    Refusal(whose="plan", counted_in="mu0²", **AMOUNTS).fitting({"epsilon": "0.1"}, "epsilon"),
    Refusal(whose="plan", counted_in="queries", **COUNTS),
    Refusal(whose="monitor", monitor=3, counted_in="positives", **COUNTS),
    Refusal(whose="holdout", asked_for="score", counted_in="scores", **COUNTS),
    Refusal(whose="holdout", asked_for="score", counted_in="scores", closed_by=4, **COUNTS),
    Refusal(whose="holdout", asked_for="score", counted_in="scores", by="ana", **COUNTS),
    Refusal(whose="holdout", asked_for="last score", counted_in="scores", by="ana", **COUNTS),
    Refusal(whose="holdout", asked_for="choice", counted_in="scores", by="ana", **COUNTS),
    Refusal(whose="holdout", asked_for="search", counted_in="scores", **COUNTS),
)


def test_every_kind_of_budget_has_a_sample() -> None:
    assert {sample.whose for sample in SAMPLES} == set(get_args(Whose))
    assert set(PRICES) == set(get_args(Surface))


@pytest.mark.parametrize("refusal", SAMPLES, ids=lambda one: f"{one.whose}, {one.asked_for}")
def test_facts_survive_every_way_an_error_takes(refusal: Refusal) -> None:
    """Mutants: ``facts`` leaves one out; the client keeps the words of the server; an error cannot be pickled."""
    error = refused(refusal)
    assert refusal_of(error) == refusal
    assert refusal_of(pickle.loads(pickle.dumps(error))) == refusal  # from a worker of a search
    body: dict[str, Any] = {"error": {"kind": error.kind, **error.facts, "message": "in other words"}}
    behind = told_error(body, None)
    assert (type(behind), behind.message, behind.facts) == (type(error), error.message, error.facts)
    assert type(error).__name__ in REFUSALS


@pytest.mark.parametrize("refusal", SAMPLES, ids=lambda one: f"{one.whose}, {one.asked_for}")
def test_every_surface_says_what_happened_and_that_it_was_free(refusal: Refusal) -> None:
    """Mutant: a surface without ``happened``."""
    error, happening = refused(refusal), happened(refusal)
    for surface in get_args(Surface):
        assert message(refusal, surface).startswith(f"{happening}; nothing was charged")
    assert happening in fields_of_error(error)["M"]
    assert f"free of charge: {happening}." in refusal_said(error)
    assert happening[1:] in problem_of(error).message
    assert message_of(error, "json").encode()[:20] in bytes(response_of(error).body)


@pytest.mark.parametrize(
    ("surface", "one", "each"),
    [
        ("python", "within=435", "within='n=12,avg_income=510'"),
        ("terminal", "--within 435", "--within n=12,avg_income=510"),
        ("json", '"within": "435"', '"within": {"n": "12", "avg_income": "510"}'),
        ("sql", "SET adyton.within = '435'", "SET adyton.within = 'n=12,avg_income=510'"),
        ("agent", "within = 435", 'within = {"n": "12", "avg_income": "510"}'),
    ],
)
def test_what_would_fit_is_written_as_the_surface_takes_it(surface: Surface, one: str, each: str) -> None:
    """Mutant: two surfaces exchanged."""
    assert what_to_do(SAMPLES[0], surface) == f"{one} would fit now"
    assert what_to_do(SAMPLES[1], surface) == f"{each} would fit now"


def test_an_error_with_facts_of_another_make_is_no_refusal() -> None:
    """Of a server that is not ours.  Mutant: no check of the amounts, which divides by what is no number."""
    known = SAMPLES[0].facts()
    changes: tuple[dict[str, Any], ...] = (
        {"whose": "nobody"}, {"whose": []}, {"budget": "1e999999999"}, {"spent": 1}, {"fits": {}},
        {"fits": "within"}, {"closed_by": "1"}, {"asked_for": None}, {"counted_in": None},
    )  # fmt: skip
    for wrong in ({}, *({**known, **change} for change in changes)):
        error = errors.PrivacyRefused("as it was told", **wrong)
        assert refusal_of(error) is None
        assert message_of(error, "terminal") == "as it was told"
    assert refusal_of(errors.Forbidden("no", **SAMPLES[0].facts())) is None
    nothing = {**SAMPLES[0].facts(), "budget": "0"}  # of which more than nothing is left
    assert "nothing is left" in message_of(errors.PrivacyRefused("no", **nothing), "python")


# Laws over the syntax of the source ------------------------------------------------------------------------


def _is_text(node: ast.AST, known: set[str]) -> bool:
    """Whether an expression is the message of an error: ``error.message``, ``str(error)``, or a name of it."""
    match node:
        case ast.Attribute(attr="message") | ast.Name(id="message"):
            return True
        case ast.Name(id=name):
            return name in known
        case ast.Call(func=ast.Name(id="str"), args=[ast.Name(id=name)]):
            return f"str({name})" in known
        case ast.Call(func=ast.Attribute(value=value, attr="lower" | "casefold" | "upper" | "strip")):
            return _is_text(value, known)
    return False


def _names_of(tree: ast.AST) -> set[str]:
    """Names that hold a message somewhere in a function, and ``str(name)`` of what was caught."""
    known = {f"str({one.name})" for one in ast.walk(tree) if isinstance(one, ast.ExceptHandler) and one.name}
    for _ in range(3):  # names of names
        for node in ast.walk(tree):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    pairs = [(name, value)]
                case ast.NamedExpr(target=ast.Name(id=name), value=value):
                    pairs = [(name, value)]
                case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                    pairs = [
                        (n.id, v) for n, v in zip(names, values, strict=False) if isinstance(n, ast.Name)
                    ]
                case _:
                    continue
            known |= {name for name, value in pairs if _is_text(value, known)}
    return known


def readings(source: str) -> Iterator[int]:
    """Lines where the text of an error is compared or searched."""
    tree = ast.parse(source)
    functions = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    for function in functions:
        known = _names_of(function)
        for node in ast.walk(function):
            match node:
                case ast.Compare(left=left, comparators=others) if any(
                    _is_text(one, known) for one in (left, *others)
                ):
                    if not all(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
                        yield node.lineno
                case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in SEARCHES and _is_text(
                    value, known
                ):
                    yield node.lineno
                case ast.Call(func=ast.Attribute(attr=name), args=args) if name in PATTERNS and any(
                    _is_text(one, known) for one in args
                ):
                    yield node.lineno


ALLOWED = {"transports/pg/catalog/database.py": "words of DuckDB, which has no code for this"}


def test_no_surface_reads_the_english_of_an_error() -> None:
    found = {
        f"{path.relative_to(SOURCE).as_posix()}:{line}"
        for package in READERS
        for path in (SOURCE / package).rglob("*.py")
        for line in readings(path.read_text("utf-8"))
    }
    assert sorted(one.partition(":")[0] for one in found) == sorted(ALLOWED), found


@pytest.mark.parametrize(
    "line",
    [
        "return 'no price' in error.message",
        "return error.message == 'gone'",
        "return error.message.startswith('no price')",
        "said = error.message\n    return 'x' in said",
        "a, said = 1, error.message\n    return said.partition('; ')",
        "return PATTERN.search(error.message)",
        "return re.sub('x', 'y', error.message)",
        "return error.message.lower().find('x')",
        "try:\n        pass\n    except ValueError as wrong:\n        return 'x' in str(wrong)",
    ],
)
def test_the_law_finds_who_reads_english(line: str) -> None:
    assert list(readings(f"def reader(error):\n    {line}\n"))


def test_the_law_lets_a_message_be_shown() -> None:
    shown = (
        "def show(error):\n    print(error.message, str(error))\n    return error.facts['field'] == 'sql'\n"
    )
    assert not list(readings(shown))


def makers(source: str) -> Iterator[int]:
    """Lines where a refusal is made by its class."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in REFUSALS:
                yield node.lineno


def test_one_function_makes_refusals() -> None:
    """``refused`` calls the class that ``_kind`` chooses; nobody names one to make it."""
    found = {
        f"{path.relative_to(SOURCE)}:{line}"
        for path in SOURCE.rglob("*.py")
        for line in makers(path.read_text("utf-8"))
    }
    assert found == set()
    assert list(makers("raise PrivacyRefused('no')\n"))
    assert list(makers("raise errors.ScoresRefused('no')\n"))
