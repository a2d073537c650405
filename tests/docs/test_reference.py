"""The reference says what the code does: names, keys and commands are compared, not trusted."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages import ROOT, blocks_of, first_cells, program, sections_of
from typer.testing import CliRunner

import adyton
from adyton import errors
from adyton.audit.cases.catalogue import entry_named, target_of
from adyton.audit.report import AuditReport, try_one
from adyton.kernel.schema import BooleanColumn, CategoryColumn, IntegerColumn
from adyton.query.description import Dictionary
from adyton.query.request import request_of
from adyton.study import parse_study
from adyton.transports.cli.app import app
from support.worlds import PEOPLE, make_people, study_text

REFERENCE = ROOT / "docs" / "reference"
STUDY = study_text(
    {
        "income": {"kind": "real", "low": 0, "high": 200000},
        "region": {"kind": "category", "values": ["north", "south", "east", "west"]},
    },
    rows=PEOPLE,
)
PRODUCTS = "code,name,price\np1,first,1.25\np2,second,3\n"
VALIDITY = """
[validity]
independent = true
"""
CAPPED = VALIDITY + "stability = 0.1\n"  # of a pure study
LONG = "income > 12340 AND income < 98760 AND region IN ('north', 'south')"
QUERY = "SELECT region, AVG(income) FROM people GROUP BY region"


# The command line ------------------------------------------------------------------------------------------


def test_the_command_line_page_is_what_its_script_writes() -> None:
    written = (REFERENCE / "cli.md").read_text(encoding="utf-8")
    assert written == program("make_cli_reference").page(), "run: python docs/make_cli_reference.py"


# Python ----------------------------------------------------------------------------------------------------


def test_every_public_name_has_a_paragraph() -> None:
    sections = sections_of(REFERENCE / "python.md")
    described = {name for title in sections for name in re.split(r"[,\s]+", title)}
    assert described == set(adyton.__all__)
    assert all(len(body.split()) >= 15 for body in sections.values())


def test_every_error_has_a_paragraph_with_its_kind_and_exit_code() -> None:
    tree = {
        kind.__name__: kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.CuratorError)
    }
    sections = sections_of(REFERENCE / "errors.md")
    assert set(sections) == set(tree)
    for name, kind in tree.items():
        assert f"`{kind.kind}`" in sections[name]
        assert f"exit code {kind.exit_code}" in sections[name]


# The study file --------------------------------------------------------------------------------------------


def known_keys(raw: dict[str, Any]) -> list[str]:
    """The keys that the study reader itself lists when it meets one that it does not know."""
    with pytest.raises(adyton.InvalidRequest) as refused:
        parse_study(raw, Path("probe.toml"))
    (listed,) = re.findall(r"unknown key \S*qqqqqqqq; known: ([^\n;]*)", str(refused.value))
    return [key for key in listed.split(", ") if key != "none"]


def every_key() -> dict[str, list[str]]:
    odd = {"qqqqqqqq": 1}
    keys = {"": known_keys(odd)}
    for section in ("table", "privacy", "validity"):
        keys[section] = known_keys({section: odd})
    for section in ("public", "private"):
        keys[section] = known_keys({section: {"x": odd}})
    with pytest.raises(adyton.InvalidRequest) as refused:
        parse_study({"columns": {"x": {"kind": "?"}}}, Path("probe.toml"))
    (kinds,) = re.findall(r"columns\.x\.kind must not be '\?'; write one of: ([^\n;]*)", str(refused.value))
    for kind in kinds.split(", "):
        keys[kind] = known_keys({"columns": {"x": {"kind": kind, **odd}}})
    return keys


def test_the_study_page_mentions_every_key() -> None:
    text = (REFERENCE / "study-file.md").read_text(encoding="utf-8")
    keys = every_key()
    assert {"table", "privacy", "validity", "columns", "public", "private", "ledger", "dialect"} == set(
        keys[""]
    )
    for section, names in keys.items():
        for name in names:
            assert f"`{name}`" in text or f"`[{name}]`" in text, f"{section}.{name}"
        assert f"`{section}`" in text or f"`[{section}]`" in text or not section


def test_the_full_example_is_a_study_that_uses_every_key(tmp_path: Path) -> None:
    example = next(b.text for b in blocks_of(REFERENCE / "study-file.md") if b.language == "toml")
    (tmp_path / "people.toml").write_text(example, encoding="utf-8")
    (tmp_path / "products.csv").write_text(PRODUCTS, encoding="utf-8")
    adyton.read_study(tmp_path / "people.toml")
    raw, keys = tomllib.loads(example), every_key()
    assert set(raw["table"]) == set(keys["table"]) - {"lines"}  # for persons of several rows: a later example
    assert set(raw["privacy"]) == set(keys["privacy"]) - {
        "shared_budget"
    }  # which must be there: a how-to has it
    either = {
        "spread",
        "stability",
        "grid",
    }  # in place of a share; the cap of a pure study; where answers are rounded
    assert set(raw["validity"]) == set(keys["validity"]) - either
    used: dict[str, set[str]] = {}
    for column in raw["columns"].values():  # a category has one of two keys
        used[column["kind"]] = used.get(column["kind"], set()) | set(column)
    shown_once = {"missing"}  # all kinds but text have it
    assert shown_once < used["category"]
    assert {kind: own | shown_once for kind, own in used.items()} == {
        kind: {*keys[kind], *shown_once} for kind in used
    }
    assert set(used) == set(keys) - {"", "table", "privacy", "validity", "public", "private"}
    assert set(raw["public"]["products"]) == set(keys["public"])


def test_the_study_page_has_the_nats_of_its_queries() -> None:
    """Mutant: the two dictionaries exchanged."""
    page = (REFERENCE / "study-file.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `(SELECT [^`]+)` \| ([\d.]+) \| ([\d.]+) \|$", page, flags=re.MULTILINE)
    assert len(told) == 4
    regions = CategoryColumn("region", ("north", "south", "east", "west"))
    booleans = (BooleanColumn("smoker"), *(BooleanColumn(f"b{i}") for i in range(6)))
    columns = (IntegerColumn("age", 0, 120), IntegerColumn("income", 0, 150_000), regions, *booleans)
    table = adyton.Table("people", columns, rows=5000)
    for sql, schema, universal in told:
        query = request_of(sql, table).query
        measure = query.measures[0][1]
        nats = [Dictionary(table, name).nats(query, measure) for name in ("schema", "universal")]
        assert [f"{one:.1f}" for one in nats if one is not None] == [schema, universal]


def test_every_example_of_the_study_page_is_a_study(tmp_path: Path) -> None:
    examples = [b.text for b in blocks_of(REFERENCE / "study-file.md") if b.language == "toml"]
    (tmp_path / "products.csv").write_text(PRODUCTS, encoding="utf-8")
    assert any("tolerance" in tomllib.loads(text).get("validity", ()) for text in examples)
    assert set(tomllib.loads(examples[-1])["private"]["visits"]) == set(every_key()["private"])
    for text in examples:
        (tmp_path / "people.toml").write_text(text, encoding="utf-8")
        study = adyton.read_study(tmp_path / "people.toml")
        assert (study.validity is not None) == ("[validity]" in text)


# JSON ------------------------------------------------------------------------------------------------------


_BY_NAME = ("[].values", "certificate.nats", "ways", "cheaper", "registering")  # of a value


def paths(value: object, prefix: str = "") -> Iterator[str]:
    """Every key as a path: answer[].values.<name>.value; what a user names stands in brackets."""
    match value:
        case dict():
            for key, inner in value.items():
                if prefix.endswith("[].keys"):
                    yield f"{prefix}.<column>"
                    continue
                named = "<name>" if prefix.endswith(_BY_NAME) else key
                here = f"{prefix}.{named}" if prefix else named
                yield here
                yield from paths(inner, here)
        case list():
            for inner in value:
                yield from paths(inner, prefix + "[]")


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    make_people(tmp_path)
    Path("people.toml").write_text(STUDY, encoding="utf-8")
    return "people.toml"


def printed(code: int, *words: str) -> dict[str, Any]:
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == code, done.output
    assert len(done.stdout.splitlines()) == 1
    return dict(json.loads(done.stdout))


def every_path(*objects: dict[str, Any]) -> set[str]:
    return {path for printed_object in objects for path in paths(printed_object)}


def test_the_json_page_lists_exactly_the_keys_that_are_printed(study: str) -> None:
    Path("valid.toml").write_text(STUDY + VALIDITY, encoding="utf-8")
    Path("short.toml").write_text(
        f'{STUDY.replace("epsilon = 1", "epsilon = 20")}{VALIDITY}dictionary = "schema"\n', encoding="utf-8"
    )
    Path("kept.toml").write_text(STUDY + VALIDITY + "reserve = 0.1\n", encoding="utf-8")
    pure = STUDY.replace("delta = 1e-9", 'delta = 0\naccounting = "pure"')
    Path("capped.toml").write_text(pure + CAPPED, encoding="utf-8")
    rounded = f'{STUDY}{VALIDITY}method = "rounding"\ngrid = 0.02\n'
    Path("rounded.toml").write_text(rounded, encoding="utf-8")
    sections = sections_of(REFERENCE / "json.md")
    price = ("--share", "0.5")
    init = ("init", "people.parquet", "--epsilon", "1", "--delta", "1e-9", "-o", "new.toml")
    both = (study, "valid.toml")
    printed(
        0, "shared-budget", "create", "shared.ledger", "--epsilon", "1", "--delta", "1e-9", "--unit", "row"
    )
    Path("sharing.toml").write_text(
        STUDY.replace("delta = 1e-9", 'delta = 1e-9\nshared_budget = "shared.ledger"'), encoding="utf-8"
    )
    three = (*both, "capped.toml", "sharing.toml")
    too_much = printed(3, "ask", "sharing.toml", QUERY, "--scale", "1")
    printed(0, "ask", "sharing.toml", QUERY, "--share", "0.05")
    precise = ("preview", "short.toml", f"SELECT COUNT(*) FROM people WHERE {LONG}", "--within", "9")
    for place in range(9):  # else nothing was released, and no description is narrower than that
        words = f"SELECT COUNT(*) FROM people WHERE income > {10_000 * place}"
        printed(0, "ask", "short.toml", words, "--share", "0.05")
    expected = {
        "preview": every_path(
            *(printed(0, "preview", file, QUERY, *price) for file in both), printed(0, *precise)
        ),
        "ask": every_path(*(printed(0, "ask", file, QUERY, "--share", "0.05") for file in both)),
        "budget": every_path(*(printed(0, "budget", file) for file in (*three, "kept.toml", "rounded.toml"))),
        "reserve": every_path(
            printed(0, "reserve", "open", "kept.toml", "--test", "a", "-o", "kept.parquet"),
            printed(0, "reserve", "judge", "kept.toml", "0.01"),
        ),
        "synthesize": every_path(printed(0, "synthesize", study, "--columns", "region", "--share", "0.05")),
        "p-value": every_path(printed(0, "p-value", "valid.toml", "--p", "0.001")),
        "receipts": every_path(printed(0, "receipts", study)),
        "verify": every_path(*(printed(0, "verify", file) for file in (study, "sharing.toml"))),
        "shared-budget": every_path(
            *(printed(0, "shared-budget", word, "shared.ledger") for word in ("show", "verify"))
        ),
        "init": every_path(printed(0, *init)),
    }
    for name, keys in expected.items():
        assert first_cells(sections[name]) == keys, name
    refused = printed(3, "ask", study, QUERY, "--scale", "1")
    beyond = printed(3, "ask", "capped.toml", QUERY, "--scale", "1")
    wrong = printed(2, "ask", study, "SELECT COUNT(*) FROM elsewhere", *price)
    assert first_cells(sections["errors"]) == every_path(refused, beyond, wrong, too_much) | {
        "error.reference"
    }


def test_the_json_page_lists_the_keys_of_the_other_commands() -> None:
    sections = sections_of(REFERENCE / "json.md")
    rows, tolerance, queries = ("--rows", "1000"), ("--tolerance", "0.2"), ("--queries", "10")
    given_two = ((*rows, *tolerance), (*rows, *queries), (*tolerance, *queries))
    hopes = (("--expect-share", "0.1"), ("--spread", "0.1"), ("--group", "0.5"))
    given_two += tuple((*rows, *queries, *hope) for hope in hopes)
    one = printed(0, "audit", "laplace", "--samples", "2000")
    expected = {
        "plan": every_path(*(printed(0, "plan", *two) for two in given_two)),
        "compose": every_path(printed(0, "compose", "--epsilon", "1"), printed(0, "compose", "--sigma", "5")),
        "calibrate": every_path(printed(0, "calibrate", "--epsilon", "1")),
        "audit": every_path(one, printed(0, "audit", "--list")) | keys_of_all_audits(one),
        "lab": every_path(printed(0, "lab"), printed(0, "lab", "hair")),
    }
    sometimes = {"methods[].applies", "methods[].overfits"}  # of methods that need more than a table
    for name, keys in expected.items():
        assert first_cells(sections[name]) - sometimes == keys - sometimes, name
        assert keys <= first_cells(sections[name]), name


def test_the_json_page_lists_the_keys_of_a_holdout(study: str) -> None:
    np.save("labels.npy", np.arange(3000) % 3)
    new = ("create", "new.holdout.toml", "--labels", "labels.npy", "--tolerance", "0.2")
    np.save("other.npy", np.arange(3000) % 2)
    commands = (new, ("score", new[1], "labels.npy"), ("budget", new[1]), ("verify", new[1]))
    commands += (("submit", new[1], "ann", "labels.npy"), ("leaderboard", new[1]))
    commands += (("compare", new[1], "labels.npy", "other.npy"), ("best", new[1], "labels.npy", "other.npy"))
    commands += (("close", new[1], "labels.npy"), ("budget", new[1]))
    keys = every_path(*(printed(0, "holdout", *words) for words in commands))
    assert first_cells(sections_of(REFERENCE / "json.md")["holdout"]) == keys


def test_the_json_page_lists_the_keys_of_a_monitor(study: str) -> None:
    """Those of budgets and of answers stand on the page once, also where they are printed in a list."""
    Path("valid.toml").write_text(STUDY + VALIDITY, encoding="utf-8")
    wanted = ("valid.toml", "--positives", "2", "--of", "means", "--share", "0.5", "--numeric")
    commands = (
        ("open", *wanted, "--preview"),
        ("open", *wanted),
        ("feed", "valid.toml", "1", "SELECT COUNT(*) FROM people", "--above", "0"),
        ("list", "valid.toml"),
        ("list", "valid.toml", "1"),
        ("close", "valid.toml", "1"),
    )
    keys = every_path(*(printed(0, "monitor", *words) for words in commands))
    keys = {key.removeprefix("monitors[].").removeprefix("answers[].") for key in keys}
    assert first_cells(sections_of(REFERENCE / "json.md")["monitor"]) == keys


def test_the_json_page_lists_the_keys_of_pmw(study: str) -> None:
    """Those of budgets and of answers stand on the page once, also where they are printed in a list."""
    Path("valid.toml").write_text(STUDY + VALIDITY, encoding="utf-8")
    wanted = ("valid.toml", "--columns", "region,income", "--bins", "income=2000", "--queries", "100000")
    commands = (
        ("open", *wanted, "--share", "0.9", "--preview"),
        ("open", *wanted, "--share", "0.9"),
        ("feed", "valid.toml", "1", "SELECT COUNT(*) FROM people WHERE region = 'north'"),
        ("list", "valid.toml"),
        ("list", "valid.toml", "1"),
    )
    keys = every_path(*(printed(0, "pmw", *words) for words in commands))
    keys = {key.removeprefix("pmw[].").removeprefix("answers[].") for key in keys}
    assert first_cells(sections_of(REFERENCE / "json.md")["pmw"]) == keys


def test_the_json_page_lists_the_keys_of_a_survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = next(b.text for b in blocks_of(REFERENCE / "json.md") if b.text.startswith("# survey.toml"))
    Path("survey.toml").write_text(file, encoding="utf-8")
    told = ("randomize", "survey.toml", "--answer", "pet=yes")
    commands = (
        ("preview", "survey.toml"),
        told,
        (*told, "-o", "all.csv"),
        ("estimate", "survey.toml", "all.csv"),
    )
    keys = every_path(*(printed(0, "survey", *words) for words in commands))
    assert first_cells(sections_of(REFERENCE / "json.md")["survey"]) == keys


def keys_of_all_audits(one: dict[str, Any]) -> set[str]:
    """What --all prints beyond the keys of one verdict, from the first trials of two entries that use all of them."""
    wish = target_of("1", "0.01")
    trials = [next(iter(entry_named(name).trials(wish))) for name in ("gaussian", "gdp-queries")]
    found = every_path(AuditReport(tuple(try_one(trial, 400, 0.999) for trial in trials)).to_json())
    as_above = {f"audits[].{inner}{key}" for inner in ("", "trade_off.") for key in paths(one)}
    more = {"trade_off.claim", "trade_off.lower_bound", "trade_off.power", "trade_off.power.probability"}
    return (found - as_above) | {f"audits[].{key}" for key in more}


def test_the_contract_of_an_answer(study: str) -> None:
    answer = printed(0, "ask", study, "SELECT COUNT(*) FROM people", "--share", "0.5")
    assert answer["answer"][0]["keys"] == {}
    assert answer["repeated"] is False
    assert printed(0, "ask", study, "select count(*) from PEOPLE", "--scale", "300")["repeated"] is False
    assert isinstance(answer["cost"]["amount"], str)
    assert answer["receipt"]["number"] == 1
    again = printed(0, "ask", study, "select count(*) from people", "--scale", "300")
    assert again["repeated"] is True
    assert again["cost"]["amount"] == "0"
