"""What is asked of each golden ledger: every kind of charge, in each accounting that has it."""

from __future__ import annotations

import datetime
import itertools
from fractions import Fraction
from functools import partial
from typing import Any

import pandas as pd

import adyton
from adyton.curator.curator import Curator
from adyton.kernel.exact import rational
from adyton.kernel.ledger import MemoryLedger
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import (
    BooleanColumn,
    CategoryColumn,
    DateColumn,
    IntegerColumn,
    RealColumn,
    Table,
    TextColumn,
)
from adyton.operations.roles import Role
from adyton.service.identity import Identity
from adyton.service.named_ledger import NamedLedger
from adyton.setup.amending import amend
from adyton.study import Study, Validity
from golden.ledgers import Story, Tale
from golden.rows import REGIONS, ROWS, people
from support.curators import open_kept
from support.worlds import query, shared_budget_of, study_of, write_study

ACCOUNTING_NAMES, BOTH = ("gdp", "zcdp", "pure"), ("replace-one", "add-remove")
COUNT = "SELECT COUNT(*) AS n FROM people"


PEOPLE = people()
COLUMNS = (
    IntegerColumn("age", 0, 100),
    RealColumn("income", 0, 50_000, "0.5"),  # type: ignore[arg-type]
    BooleanColumn("smoker"),
    CategoryColumn("region", REGIONS),
    DateColumn("seen", datetime.date(2024, 1, 1), datetime.date(2024, 12, 31)),
    TextColumn("town"),
)


def study(accounting: str = "gdp", adjacency: str = "replace-one", epsilon: Any = 10, **more: Any) -> Study:
    pure = accounting == "pure"
    plan = {"stability": "0.5", "beyond_plan": "answer"} if pure else {}
    more = {
        "validity": Validity("0.95", **plan),
        **({} if pure else {"discovery_delta": Fraction(1, 10**9)}),
        **more,
    }  # type: ignore[arg-type]
    unit = more.pop("unit", PrivacyUnit(adjacency))  # type: ignore[arg-type]
    budget = Guarantee(epsilon, 0 if pure else Fraction(1, 10**6))
    table = Table("people", COLUMNS, ROWS if unit.person is None else ROWS // 3, unit.person)
    return Study(table, unit, budget, accounting, **more)


def opened(known: Study) -> tuple[Curator, MemoryLedger]:
    ledger = MemoryLedger.of(known)
    return open_kept(known, PEOPLE, ledger), ledger


def plain(story: Story, known: Study) -> None:
    """Queries of every kind at every price; one again, one under an id, one that does not fit, one that cannot be."""
    curator, ledger = opened(known)
    pure = known.accounting == "pure"
    asked: tuple[tuple[str, dict[str, Any]], ...] = (
        (COUNT, {"scale": 4}),
        (f"{COUNT} WHERE age > 40 AND region = 'north'", {"within": 25}),
        (f"{COUNT} WHERE age > 40 AND region = 'north'", {"within": 25}),
        ("SELECT region, AVG(income) AS a FROM people WHERE smoker GROUP BY region", {"share": "0.05"}),
        ("SELECT SUM(age) AS s, COUNT(*) AS n FROM people WHERE NOT smoker", {"epsilon": "0.2"}),
        ("SELECT SUM(age) AS s, COUNT(*) AS n FROM people", {"within": {"s": 900, "n": 40}}),
        ("SELECT AVG(age) AS a FROM people", {"within": 2, "expected_rows": 1000}),
        ("SELECT MEDIAN(income) AS m FROM people", {"share": "0.04"}),
        ("SELECT STDDEV(age) AS d FROM people", {"share": "0.04"}),
        ("SELECT CORR(age, income) AS c FROM people", {"share": "0.06"}),
        ("SELECT CDF(age, 20, 40, 60, 80) FROM people", {"share": "0.03"}),
        ("SELECT PROPORTION(age > 50) AS p FROM people WHERE seen < DATE '2024-07-01'", {"within": "0.05"}),
        (COUNT, {"scale": "0.01"}),
        ("SELECT COUNT(*) FROM elsewhere", {"share": "0.1"}),
        ("SELECT smoker, region, COUNT(*) AS n FROM people GROUP BY smoker, region", {"share": "1/7"}),
    )
    for text, price in asked:
        story.tell(partial(curator.preview, text, **price))
        story.tell(partial(curator.ask, text, **price))
    for _ in range(2):
        story.tell(lambda: curator.ask(f"{COUNT} WHERE age < 7", share="0.02", request="one"))
    story.tell(lambda: curator.ask(f"{COUNT} WHERE age < 8", share="0.02", request="one"))
    if not pure:
        story.tell(lambda: curator.last_look("0.05"))
    story.tell(curator.budget)
    story.tell(curator.verify)
    story.keep(ledger)


def batches(story: Story, known: Study) -> None:
    curator, ledger = opened(known)
    under = [f"{COUNT} WHERE age < {age}" for age in range(10, 100, 15)]
    cross = [
        COUNT,
        "SELECT region, COUNT(*) AS n FROM people GROUP BY region",
        f"{COUNT} WHERE smoker AND age > 30",
    ]
    apart = [f"SELECT AVG(income) AS a FROM people WHERE region = '{one}'" for one in REGIONS[:3]]
    for strategy in (None, "independent", "atoms", "tree", "optimised", "product", "marginals"):
        story.tell(partial(curator.preview_many, under, share="0.05", strategy=strategy))
        story.tell(partial(curator.ask_many, under, share="0.05", strategy=strategy))
    story.tell(lambda: curator.ask_many(cross, within=60))
    story.tell(lambda: curator.ask_many(cross, within=60))
    story.tell(lambda: curator.ask_many(apart, epsilon="0.3"))
    story.tell(
        lambda: curator.ask(
            "SELECT region, smoker, COUNT(*) AS n FROM people GROUP BY CUBE (region, smoker)", share="0.1"
        )
    )
    story.tell(lambda: curator.derive(f"{COUNT} WHERE age < 40 AND age >= 25"))
    story.tell(curator.budget)
    story.keep(ledger)


def discovered(story: Story, known: Study) -> None:
    """Groups that nobody declared."""
    curator, ledger = opened(known)
    for measure in ("COUNT(*) AS n", "AVG(age) AS a, COUNT(*) AS n"):
        for price in ({"share": "0.2"}, {"epsilon": "2"}):
            text = f"SELECT town, {measure} FROM people GROUP BY town"
            story.tell(partial(curator.preview, text, **price))
            story.tell(partial(curator.ask, text, **price))
    story.tell(curator.budget)
    story.keep(ledger)


def selections(story: Story, known: Study) -> None:
    curator, ledger = opened(known)
    ages = {f"under {k}": adyton.count(f"age < {k}") for k in (10, 20, 30, 40, 50)}
    sums = [adyton.sum_of("age", where=f"region = '{one}'") for one in REGIONS]
    for asked, price in (
        (adyton.best_of(ages), {"share": "0.05"}),
        (adyton.best_of(ages, 2, with_value=True), {"share": "0.1"}),
        (adyton.best_of(ages, largest=False), {"epsilon": "0.3"}),
        (adyton.best_of(adyton.count(by="region"), 2), {"share": "0.05"}),
        (adyton.best_of(sums), {"share": "0.05"}),
        (adyton.best_of(ages), {"share": "0.05"}),
    ):
        story.tell(partial(curator.preview, asked, **price))
        story.tell(partial(curator.ask, asked, **price))
    story.tell(lambda: curator.ask("SELECT MODE(region) FROM people", share="0.1"))
    story.tell(curator.budget)
    story.keep(ledger)


def synthetic(story: Story, known: Study) -> None:
    curator, ledger = opened(known)
    for columns, words in (
        (["region", "smoker"], {"epsilon": 1}),
        (["smoker", "region"], {"epsilon": 1, "rows": 9}),
        (["region", "age"], {"share": "0.25", "bins": {"age": 5}}),
        (["region", "smoker", "age"], {"share": "0.5", "bins": {"age": 4}, "ways": 2}),
    ):
        story.tell(lambda columns=columns, words=words: curator.synthesize(columns, **words))
    story.tell(curator.budget)
    story.keep(ledger)


def monitors(story: Story, known: Study) -> None:
    curator, ledger = opened(known)
    count, total, mean = (
        f"{COUNT} WHERE age < 50",
        "SELECT SUM(age) FROM people",
        "SELECT AVG(age) FROM people",
    )
    for of, numeric, refresh in (("counts", True, None), ("sums", False, True), ("means", True, False)):
        words: dict[str, Any] = {
            "positives": 4,
            "of": of,
            "numeric": numeric,
            "refresh": refresh,
            "share": "0.3",
        }
        story.tell(partial(curator.preview_monitor, **words))
        monitor = story.tell(partial(curator.open_monitor, request=of, **words))
        if of != "counts":
            story.tell(partial(monitor.feed, total, above=100))
        if of == "means":
            story.tell(partial(monitor.feed, mean, above=20))
        for above in (ROWS, 0, 400, 10, 5, 4):
            story.tell(partial(monitor.feed, count, above=above))
        story.tell(monitor.budget)
    story.tell(curator.monitors)
    story.tell(lambda: curator.ask(COUNT, share="0.3"))
    story.keep(ledger)


def pmw(story: Story, known: Study) -> None:
    curator, ledger = opened(known)
    words: dict[str, Any] = {"queries": 100_000, "bins": {"age": 101, "income": 500}, "share": "0.5"}
    columns = ["age", "income", "region"]
    story.tell(partial(curator.preview_pmw, columns, **words))
    guess = story.tell(partial(curator.open_pmw, columns, **words))
    if guess is not None:
        for age, region in itertools.product((5, 30, 80), REGIONS[:2]):
            story.tell(partial(guess.feed, f"{COUNT} WHERE age < {age} AND region = '{region}'"))
        story.tell(guess.budget)
    story.tell(curator.opened_pmw)
    story.tell(lambda: curator.ask(COUNT, share="0.3"))
    story.keep(ledger)


def sharing(story: Story, **said: Any) -> None:
    """Two studies of the same rows share a limit, and count together for validity."""
    validity = said.pop("validity", None) or Validity("0.95")
    accounting = said.pop("accounting", "gdp")
    facts = {"accounting": accounting, "delta": Fraction(0)} if accounting == "pure" else {}
    plan = {"confidence": validity.confidence, "stability": validity.stability}
    shared_budget = shared_budget_of(
        story.folder / "shared_budget.ledger",
        epsilon=3,
        **{k: v for k, v in plan.items() if v},
        **facts,
        **said,
    )
    data = pd.DataFrame({"f": [True, False] * 50})
    both = [study_of(name, shared_budget, epsilon=3, validity=validity, **facts) for name in ("one", "two")]
    curators = [open_kept(known, data, MemoryLedger.of(known)) for known in both]
    for scale in (20, 30, 3, 1):
        for known, curator in zip(both, curators, strict=True):
            story.tell(partial(curator.ask, f"SELECT COUNT(*) FROM {known.table.name} WHERE f", scale=scale))
            story.tell(curator.budget)
    for known, curator in zip(both, curators, strict=True):
        story.keep(curator.ledger, known.table.name)
    with adyton.SharedBudget(shared_budget) as shared:
        story.tell(shared.report)
        story.tell(shared.verify)


def analysts(story: Story, known: Study) -> None:
    """Names with budget shares, and with a most for one charge."""
    curator, ledger = opened(known)
    named = {who: _named(curator, who, *parts) for who, parts in
             {"ana": ("0.25", None), "ben": (None, "0.05"), "cy": ("0.01", None)}.items()}  # fmt: skip
    for share in ("0.1", "0.5", "0.9"):
        for who, own in named.items():
            story.tell(partial(own.ask, f"{COUNT} WHERE age < {len(who) * 10}", share=share))
            story.tell(own.budget)
    for number, own in enumerate(named.values(), start=50):
        story.tell(partial(own.ask, f"{COUNT} WHERE age < {number}", scale=2))
    story.tell(lambda: curator.ask(f"{COUNT} WHERE age < 20", share="0.1"))
    story.keep(ledger)


def _named(curator: Curator, name: str, part: str | None, most: str | None) -> Curator:
    shares = (None if one is None else rational(one, "a share") for one in (part, most))
    who = Identity(name, Role.ANALYST, *shares)
    return curator.through(lambda ledger: NamedLedger(ledger, who, _nothing, _nothing), _nothing)


def _nothing() -> None:
    """Nobody waits."""


def amended(story: Story, said: str = "\n[validity]\nindependent = true\n") -> None:
    """A study goes on under corrected facts: what was spent is carried over."""
    old = write_study(story.folder, more=said, epsilon="5")
    new = write_study(story.folder, name="corrected", more=said, epsilon="5", high=99)
    with open_kept(old) as curator:
        for number in range(3):
            story.tell(partial(curator.ask, query(number), scale=9))
        story.keep(curator.ledger, "old")
    amend(*map(adyton.read_study, (old, new)))
    with open_kept(new) as curator:
        for number in range(3):
            story.tell(partial(curator.ask, query(number), scale=12))
        story.tell(curator.budget)
        story.tell(lambda: curator.verify())
        story.keep(curator.ledger, "corrected")


def owner(story: Story, known: Study) -> None:
    """Bounds that are suggested, and a test that is published."""
    curator, ledger = opened(known)
    story.tell(lambda: curator.suggest_bounds("income", share="0.1"))
    story.tell(lambda: curator.suggest_bounds("age", low_fraction="0.1", high_fraction="0.8", epsilon="0.5"))
    story.tell(lambda: curator.ask(COUNT, share="0.1"))
    story.tell(lambda: curator.publish_test("0.01").number)
    story.tell(lambda: curator.ask(f"{COUNT} WHERE smoker", share="0.1"))
    story.tell(curator.budget)
    story.keep(ledger)


def described(story: Story, known: Study) -> None:
    """Many short queries: intervals of descriptions, of spreads that were learned, and of what was spent."""
    curator, ledger = opened(known)
    for number in range(8):
        story.tell(
            partial(
                curator.ask, f"SELECT AVG(age) AS a FROM people WHERE income > {1000 * number}", share="0.05"
            )
        )
        story.tell(partial(curator.ask, f"{COUNT} WHERE age > {number}", share="0.05"))
    story.tell(lambda: curator.preview(f"{COUNT} WHERE age > 50 AND smoker", within=30, expect="0.1"))
    story.keep(ledger)


def planned(story: Story, known: Study) -> None:
    """Where the study has planned its queries no price is named."""
    curator, ledger = opened(known)
    for number in range(7):
        story.tell(partial(curator.ask, f"{COUNT} WHERE age > {10 * number}"))
    story.tell(lambda: curator.ask("SELECT AVG(age) AS a FROM people"))
    story.tell(lambda: curator.ask(f"{COUNT} WHERE smoker", share="0.1"))
    story.tell(curator.budget)
    story.keep(ledger)


def _each(
    tale: Any, *filters: str, adjacency: tuple[str, ...] = ("replace-one",), **more: Any
) -> dict[str, Tale]:
    """The same acts in several studies."""
    each = itertools.product(filters, adjacency)
    return {
        f"{tale.__name__} {accounting} {beside}": partial(_with_study, tale, (accounting, beside), more)
        for accounting, beside in each
    }


def _with_study(tale: Any, words: tuple[str, str], more: dict[str, Any], story: Story) -> None:
    tale(story, study(*words, **more))


def _of_persons(adjacency: str) -> Study:
    return study("gdp", unit=PrivacyUnit(adjacency, "person", 3))  # type: ignore[arg-type]


PURE_PLAN = Validity("0.95", stability="0.5", beyond_plan="refuse")
STORIES: dict[str, Tale] = {
    **_each(plain, *ACCOUNTING_NAMES, adjacency=BOTH),
    **_each(batches, *ACCOUNTING_NAMES),
    **_each(batches, "gdp", adjacency=("add-remove",)),
    **_each(discovered, "gdp", "zcdp", adjacency=BOTH),
    **_each(selections, *ACCOUNTING_NAMES, adjacency=BOTH),
    **_each(synthetic, *ACCOUNTING_NAMES),
    **_each(monitors, *ACCOUNTING_NAMES, adjacency=BOTH),
    **_each(pmw, *ACCOUNTING_NAMES),
    **_each(analysts, *ACCOUNTING_NAMES),
    **_each(owner, *ACCOUNTING_NAMES),
    **_each(described, "gdp", "zcdp"),
    "plain persons replace": lambda story: plain(story, _of_persons("replace-one")),
    "plain persons add-remove": lambda story: plain(story, _of_persons("add-remove")),
    "shared budget gdp": sharing,
    "shared budget zcdp": partial(sharing, accounting="zcdp"),
    "shared budget pure": partial(sharing, accounting="pure", validity=PURE_PLAN),
    "amended gdp": amended,
    "planned gdp": lambda story: planned(story, study("gdp", validity=Validity("0.95", queries=8, tolerance="0.2"))),
    "planned pure": lambda story: planned(
        story, study("pure", validity=Validity("0.95", queries=8, tolerance="0.25", beyond_plan="refuse"))
    ),
    "split gdp": lambda story: described(story, study("gdp", validity=Validity("0.95", queries=20, method="split"))),
    "rounding gdp": lambda story: described(story, study("gdp", validity=Validity("0.95", method="rounding", grid="0.02"))),
    "dictionary gdp": lambda story: described(story, study("gdp", validity=Validity("0.95", dictionary="schema"))),
    "capped pure": lambda story: plain(story, study("pure", validity=PURE_PLAN)),
}  # fmt: skip
