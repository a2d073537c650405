"""Every theorem has a page, a place in the code, a test, and a reading that is up to date."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from pages import ROOT, program

import adyton
from adyton.kernel.accounting import accounting_named
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise
from adyton.kernel.schema import BooleanColumn, IntegerColumn
from adyton.study import Validity

PAGES = {page.stem: page for page in sorted((ROOT / "docs" / "theorems").glob("*.md"))}
ACCOUNTING_NAMES = {"gdp": Fraction(1, 10**9), "zcdp": Fraction(1, 10**9), "pure": Fraction(0)}


@cache
def sources(folder: str) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted((ROOT / folder).rglob("*.py"))]


def cited_in_code() -> set[str]:
    texts = [*sources("src"), *sources("tests/literature")]
    return {name for text in texts for name in re.findall(r"Theorem: ([A-Z0-9][A-Z0-9-]*)", text)}


def listed_by_parts() -> set[str]:
    """What mechanisms and filters say of themselves."""
    parts = [GaussianNoise, GeometricNoise, *map(accounting_named, ACCOUNTING_NAMES)]
    return {name for part in parts for name in part.theorems}


def named_by_certificates() -> set[str]:
    """What answers say of themselves: every filter, one number and two, about the rows and the population."""
    table = adyton.Table("people", (IntegerColumn("age", 0, 120), BooleanColumn("smoker")), rows=100)
    named: set[str] = set()
    for accounting, delta in ACCOUNTING_NAMES.items():
        budget = adyton.Guarantee(Fraction(1), delta)
        draws = Validity(Fraction("0.95"), stability=Fraction(1) if accounting == "pure" else None)
        study = adyton.Study(table, adyton.PrivacyUnit("replace-one"), budget, accounting, validity=draws)
        with adyton.open(study, data=Path("never-read.parquet")) as curator:
            for query in (adyton.count(), adyton.mean("age", by="smoker")):
                named |= set(curator.preview(query, share="0.5").certificate.theorems)
    return named


@pytest.mark.parametrize("name", PAGES)
def test_a_page_names_its_code_its_source_and_its_last_reading(name: str) -> None:
    text = PAGES[name].read_text(encoding="utf-8")
    for field in ("code", "source", "read_at"):
        assert re.search(rf"^{field}: \S", text, flags=re.MULTILINE), f"{name} has no {field}"
    assert re.search(r"^read_at: [0-9a-f]{12}$", text, flags=re.MULTILINE)
    assert len(text.split("---", 2)[2].split()) >= 20, f"{name} says nothing"


def test_every_page_is_used_and_every_used_theorem_has_a_page() -> None:
    assert cited_in_code() | listed_by_parts() | named_by_certificates() == set(PAGES)


def test_every_theorem_that_a_certificate_names_has_a_page() -> None:
    named = named_by_certificates()
    assert {"PEELING", "CENTRED-HINGE", "NOISE-GIVEN-TRANSCRIPT"} <= named  # of a pure study
    assert {"PAY-AS-YOU-GO", "SUBSET-TRANSFER", "SUBSET-SHARES", "SUBSET-MEANS"} <= named  # of the others
    assert listed_by_parts() <= named
    assert named <= set(PAGES)


def test_the_index_lists_what_an_answer_may_cite_and_the_textbook() -> None:
    """Mutant: an id more in a part of a plan, a page more, or code that moved to another room."""
    index = program("theorem_index")
    shown = (ROOT / "docs" / "theorems.md").read_text(encoding="utf-8")
    assert shown == index.index(), "the theorems have changed: python docs/theorem_index.py"
    listed = re.findall(r"\[([A-Z0-9-]+)\]\(theorems/\1\.md\)", shown)
    assert sorted(listed) == sorted(PAGES)


def test_what_a_certificate_names_is_in_the_first_list_of_the_index() -> None:
    first = program("theorem_index").cited()
    assert named_by_certificates() <= first
    assert listed_by_parts() <= first


@cache
def theorems_tested() -> list[str]:
    return [name for text in sources("tests") for name in re.findall(r"def (test_theorem_\w*)", text)]


@pytest.mark.parametrize("name", PAGES)
def test_every_page_has_a_test_that_would_refute_it(name: str) -> None:
    wanted = re.compile(rf"test_theorem_{name.replace('-', '_')}(?![A-Z0-9])")
    assert any(map(wanted.match, theorems_tested()))


def test_every_test_of_a_theorem_has_its_page() -> None:
    """The longest run of capital words after test_theorem_ is the name of a page."""
    found = {
        n for text in sources("tests") for n in re.findall(r"def test_theorem_([A-Z0-9_]*[A-Z0-9])", text)
    }
    assert {name.replace("_", "-") for name in found} <= set(PAGES)


def test_every_page_was_read_together_with_the_code_as_it_is_now() -> None:
    stale = program("bless").stale()
    assert stale == [], f"read each page and its code again, then: make bless ID={stale[0]}"
