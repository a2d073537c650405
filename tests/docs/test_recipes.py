"""The recipes of CONTRIBUTING.md, followed word by word in one copy of the source: each adds a toy of its own, touches
no file that it does not name, and the toy is used from outside.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUADRATIC_MEAN = """
from adyton.kernel.terms.expressions import Square
from adyton.kernel.terms.measures import Mean
from adyton.query.measures.computed import ComputedMeasure
from adyton.query.released.nodes import Apply

QUADRATIC_MEAN = ComputedMeasure(
    ("QUADRATIC_MEAN", "RMS"),
    lambda value, where: (("avg_square", Mean(Square(value), where)),),
    lambda mean: Apply("SQRT", (mean,)),
)
"""
ASKED_MEAN = """
import adyton, pandas as pd
from adyton.kernel.schema import IntegerColumn

table = adyton.Table("people", (IntegerColumn("age", -9, 90),), rows=20_000)
study = adyton.Study(table, adyton.PrivacyUnit("replace-one"), adyton.Guarantee(epsilon=100, delta=1e-9))
with adyton.open(study, data=pd.DataFrame({"age": [30, 40] * 10_000})) as curator:
    answer = curator.ask("SELECT rms(age) FROM people HAVING QUADRATIC_MEAN(age) > 1", share=1)
print(list(answer.rows.values), answer.query)
print(round(answer.value, 1), answer.noise_interval.low < 35.3553 < answer.noise_interval.high)
"""


HOW_MANY = '''

def how_many(
    curator: Curator, condition: Annotated[str, "what is true of a row that counts"], *, request: str | None = None,
    **price: Unpack[PriceWords],
) -> Answer:
    """How many rows there are of which a condition is true."""
    table = curator.study.table.name
    return curator.ask(f"SELECT COUNT(*) AS n FROM {table} WHERE {condition}", request=request, **price)
'''
HOW_MANY_IMPORTS = """
from typing import Annotated, Unpack

from adyton.certify import Answer
from adyton.planning.price import PriceWords
"""
HOW_MANY_ENTRY = """
    how_many = Operation(
        lambda: how_many, Action.ASK, "How many rows there are of which a condition is true", spends=True
    )
"""
EVERYWHERE = """
import asyncio, inspect, json, os, re, subprocess, sys
from pathlib import Path

import httpx2

import adyton
from support.agents import agent_at
from support.web import form_value, visit_of
from support.servers import server, write_study

study = write_study(Path(sys.argv[1]))
with server([study], "--mcp", program=("-m", "adyton.transports.cli.app")) as running:
    path, condition = "/v1/studies/people/how_many", "income > 30000"
    sent = httpx2.post(running.url + path, headers=running.owner, json={"condition": condition, "within": 60})
    first = sent.json()
    print("route", sent.status_code, list(first["answer"][0]["values"]))
    token = running.owner["Authorization"].split()[1]
    with adyton.connect(running.url, token) as connection:
        people = connection.study("people")
        print("method", people.how_many(condition, within=60).repeated)
        print("signature", *list(inspect.signature(people.how_many).parameters)[:2])
    command = [sys.executable, "-m", "adyton.transports.cli.app", "how-many", f"{running.url}/people", condition]
    environment = {**os.environ, "ADYTON_TOKEN": token}
    done = subprocess.run([*command, "--within", "60", "--json"], capture_output=True, text=True, env=environment)
    print("command", json.loads(done.stdout)["repeated"])

    async def by_tool():
        async with agent_at(running.url, running.owner) as agent:
            listed = {one.name: one for one in (await agent.list_tools()).tools}
            given = {"study": "people", "condition": condition, "within": 60}
            result = await agent.call_tool("how_many", given)
            print("tool", listed["how_many"].annotations.read_only_hint, result.structured_content["answer"]["repeated"])

    asyncio.run(by_tool())
    with httpx2.Client(base_url=running.url, follow_redirects=True) as browser:
        login = browser.get("/login")
        browser.post("/login", data={"form_value": form_value(login), "token": token, "next": "/"})
        form = browser.get("/studies/people/do/how_many")
        fields = {"form_value": form_value(form), "visit": visit_of(form), "condition": condition, "within": "60"}
        shown = browser.post("/studies/people/do/how_many", data=fields)
        print("page", "This is charged." in form.text, "how_many" in browser.get("/studies/people/do").text, shown.status_code)
with adyton.open(study) as curator:
    print("charged", len(curator.receipts()), curator.verify().receipts)
"""

COLUMNS_ENGINE = '''
"""Columns in memory: Arrow arrays by their names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from adyton.engines.loaded import LoadedEngine, Loading
from adyton.engines.loading.parting import check_parts
from adyton.engines.loading.sources import DuckDBDialect, connect, opened
from adyton.engines.stopping import SECONDS, SECONDS_TO_LOAD
from adyton.errors import sealed
from adyton.kernel.sensitivity import Reading


def are_columns(source: object) -> bool:
    return isinstance(source, dict)


class ColumnsEngine(LoadedEngine):
    def __init__(
        self, table: Any, unit: Any, source: Any, salt: str, *, timeout: float = SECONDS, loads: Callable[..., Loading] = Loading
    ) -> None:
        super().__init__(loads(table, unit, source, salt), "units", DuckDBDialect(), timeout)
        self._connection: Any = None

    def prepare(self, readings: Sequence[Reading] = ()) -> None:
        with self._lock:
            if self._connection is None:
                self._connection = sealed(self._loaded, lambda error: f"the columns: {type(error).__name__}")

    def _loaded(self) -> Any:
        unit = self._loading.unit
        if self._loading.by_rows and (unit.parts > 1 or unit.reserve is not None):
            check_parts(unit, in_order=False, told_alike=True)
        connection = connect()
        with self._time.on(connection.interrupt, SECONDS_TO_LOAD):
            with opened(connection, pa.table(self._loading.source), "given") as origin:
                self._units = replace(self._units, told=self._loading.told([origin]))
                connection.execute(f"CREATE TABLE units AS {self._loading.sql([origin])}")
                self._check_size([origin], lambda sql: connection.execute(sql).fetchall())
        return connection

    def _run(self, sql: str) -> Sequence[Sequence[Any]]:
        with self._lock, self._time.on(self._connection.interrupt):
            return self._connection.execute(sql).fetchall()

    def close(self) -> None:
        self._time.close()
        if self._connection is not None:
            self._connection.close()
            self._connection = None
'''
ENGINE_CONTRACT = """
import pytest
from hypothesis import settings

from adyton.engines.columns import ColumnsEngine
from adyton.testing import EngineContract
from test_engines import arrow_table

settings.register_profile("recipe", max_examples=2, deadline=None)
settings.load_profile("recipe")


class TestColumns(EngineContract):
    rows_have_positions = False

    @pytest.fixture
    def make_engine(self):
        def make(table, unit, source, salt, **limits):
            columns = arrow_table(source)
            return ColumnsEngine(table, unit, dict(zip(columns.column_names, columns.columns)), salt, **limits)

        return make
"""
SOME_OF_THE_CONTRACT = """
from support.tries import LONG


def pytest_collection_modifyitems(items):
    "One case of each third test; in make long all of them."
    first = {}
    cases = [one for one in items if first.setdefault(one.originalname, one) is one]
    items[:] = items if LONG else cases[::3]
"""
ASKED_COLUMNS = """
import adyton, pyarrow as pa
from adyton.kernel.schema import IntegerColumn

table = adyton.Table("people", (IntegerColumn("age", 0, 90),), rows=20_000)
study = adyton.Study(table, adyton.PrivacyUnit("replace-one"), adyton.Guarantee(epsilon=100, delta=1e-9))
data = {"people": {"age": pa.array([30, 40] * 10_000)}}
with adyton.open(study, data=data, timeout=60) as curator:
    print(round(curator.ask("SELECT AVG(age) FROM people", share=1).value, 1))
try:
    adyton.open(study, data=data, work_mem="1GB")
except adyton.InvalidRequest as error:
    print(error)
"""

PAGE = '''
"""Columns: what a study declares of each."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from adyton.operations.roles import Action
from adyton.transports.pages.page import PageRoute, ThePage

routes = APIRouter(route_class=PageRoute, include_in_schema=False)


@routes.get("/studies/{study}/columns")
async def columns(page: ThePage, study: str) -> Response:
    found, _ = page.desk.house.study(page.visitor, study, Action.LOOK)
    return await page.show("columns.html", "Columns", of=study, columns=found.study.table.columns)
'''
TEMPLATE = """{% extends "layout.html" %}
{% block main %}
<h1>Columns</h1>
<ul>{% for column in columns %}<li>{{ column.name|named }}: {{ column.kind }}</li>{% endfor %}</ul>
{% endblock %}
"""
PAGE_ENTRY = """
    PageEntry("Columns", "/studies/{name}/columns", "study", Action.LOOK, "reference/sql.md", columns.routes),
"""
VISITED = """
import re, sys
from pathlib import Path

from support.web import Browsing
from support.servers import served, write_study

with served([write_study(Path(sys.argv[1]))]) as house:
    person, stranger = Browsing(house), Browsing(house)
    person.log_in(house.made("ana"))
    page = person.get("/studies/people/columns")
    print(page.status_code, re.findall("<li>(.*?)</li>", re.sub("</?bdi.*?>", "", page.text)))
    print('aria-current="page">Columns' in page.text, 'href="/studies/people/columns"' in person.get("/studies/people").text)
    print(person.get("/studies/nothing/columns").status_code, stranger.get("/studies/people/columns", follow_redirects=False).status_code)
"""

STEPPED_NOISE = '''
"""Geometric noise and a step by two coins."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from adyton.kernel.exact.cells import Cells, weighted, whole
from adyton.kernel.mechanisms.base import Columns, Scales
from adyton.kernel.mechanisms.geometric import GeometricNoise
from adyton.kernel.noise import Bits
from adyton.kernel.privacy import PureCost
from adyton.kernel.sensitivity import Sensitivity


@dataclass(frozen=True, slots=True)
class SteppedNoise:
    """Adds geometric noise, and -1, 0 or 1 with the chances 1/4, 1/2 and 1/4.

    Claim:    what geometric noise of these scales costs: the step is post-processing.
    """

    scales: Scales
    name: ClassVar[str] = "stepped geometric"
    gaussian: ClassVar[bool] = False
    theorems: ClassVar[tuple[str, ...]] = GeometricNoise.theorems

    def __post_init__(self) -> None:
        GeometricNoise(self.scales)

    def cost(self, sensitivity: Sensitivity) -> PureCost:
        return GeometricNoise(self.scales).cost(sensitivity)

    def radius(self, sensitivity: Sensitivity) -> PureCost:
        return GeometricNoise(self.scales).radius(sensitivity)

    def release(self, exact: Columns, bits: Bits) -> list[Cells]:
        noisy = GeometricNoise(self.scales).release(exact, bits)
        return [Cells(weighted((1, whole(column)), (1, _steps(len(column), bits)))) for column in noisy]

    def error(self, confidence: float) -> int:
        return GeometricNoise(self.scales).error(confidence) + 1

    def at(self, *coordinates: int) -> SteppedNoise:
        return SteppedNoise(tuple(self.scales[i] for i in coordinates))

    @classmethod
    def for_cost(
        cls, sensitivity: Sensitivity, cost: Fraction, relative: Scales = (Fraction(1),)
    ) -> SteppedNoise:
        return cls(GeometricNoise.for_cost(sensitivity, cost, relative).scales)


def _steps(count: int, bits: Bits) -> np.ndarray:
    words = bits.words(count)
    return (words & 1).astype(np.int64) - (words >> 63).astype(np.int64)
'''
AUDIT_ENTRY = """
    AuditedMechanism("stepped", "geometric noise and a step", partial(_pure, SteppedNoise, "stepped")),
"""
CHARGED = """
import sys
from pathlib import Path

import adyton, pandas as pd
from adyton.curator.coordinated.any_price import answered_before
from adyton.kernel.schema import IntegerColumn

table = adyton.Table("people", (IntegerColumn("age", 0, 90),), rows=20_000)
study = adyton.Study(table, adyton.PrivacyUnit("replace-one"), adyton.Guarantee(epsilon=10, delta=0), accounting="pure", ledger=Path(sys.argv[1], "stepped.ledger"))
data = pd.DataFrame({"age": [30, 40, 40, 40] * 5_000})
asked = (
    ("SELECT COUNT(*) FROM people WHERE age > 35", {"within": 20}),
    ("SELECT AVG(age) FROM people WHERE age > 20", {"epsilon": 1}),
    ("SELECT MEDIAN(age) FROM people", {"epsilon": 2}),
)
exact = (15_000, 37.5, 40)
with adyton.open(study, data=data) as curator:
    answers = [curator.ask(sql, **price) for sql, price in asked]
    reach = [8 * max(one.value - one.noise_interval.low, one.noise_interval.high - one.value) for one in answers]
    print([abs(one.value - number) <= most for one, number, most in zip(answers, exact, reach)])  # wrong once in 10**8 runs
with adyton.open(study, data=data) as curator:
    again = [curator.ask(sql, **price) for sql, price in asked]
    again += [answered_before(curator, sql) for sql, _ in asked]
    print([one.repeated and one.value == before.value for one, before in zip(again, answers * 2)])
    print(["stepped geometric" in one.order.detail and one.order.amount > 0 for one in curator.receipts()], curator.verify().receipts)
"""

ROUGH_AVERAGES = '''
"""FAVG(x) is AVG(x): of integers nothing is lost in a sum."""

from __future__ import annotations

from sqlglot import exp

from adyton.query.sql.functions.arguments import arguments
from adyton.query.sql.names import calls
from adyton.query.sql.rewrite.scopes import Context, placed


def write_averages(context: Context, tree: exp.Expr) -> None:
    """The same mean.

    >>> after("SELECT FAVG(x) FROM sales")
    SELECT AVG(x) FROM sales
    """
    for call in list(tree.find_all(exp.Anonymous)):
        if calls(call, ("FAVG",)):
            (inner,) = arguments(context.source, call, "FAVG(x)", 1)
            call.replace(placed(exp.Avg(this=inner.copy()), call))
'''
READ = """
import duckdb
import test_rewrites as law

rule = next(rule for rule in law.RULES if rule.write.__name__ == "write_averages")
text = "SELECT kind, FAVG(x) FROM sales WHERE x > 0 GROUP BY kind"
print(law._failures(rule.write.__doc__, rule), law._same([law._database(seed) for seed in range(3)], text))
"""


RECIPES = (
    "Add a measure",
    "Add an engine",
    "Add a page",
    "Add a kind of noise",
    "Add an operation",
    "Add a rule of SQL",
)
IMPORTED_MEAN = "from adyton.query.measures.quadratic_mean import QUADRATIC_MEAN\n"


def recipe(name: str) -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"^## {name}\n(.*?)(?=^## )", text, re.M | re.S)
    return str(found)


class Copy:
    """The source in another folder, which the programs of this file import."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.source = folder, folder / "adyton"
        shutil.copytree(ROOT / "src" / "adyton", self.source)

    def add(self, path: str, text: str) -> None:
        assert not (self.source / path).exists()
        (self.source / path).write_text(text, encoding="utf-8")

    def put(self, path: str, *added: tuple[str, str]) -> None:
        """Each text after the one that it follows, which is there once."""
        file = self.source / path
        text = file.read_text(encoding="utf-8")
        for before, new in added:
            assert text.count(before) == 1, (path, before)
            text = text.replace(before, before + new)
        file.write_text(text, encoding="utf-8")

    def run(self, *words: str) -> list[str]:
        """What a program prints."""
        beside = (self.folder, ROOT / "tests", ROOT / "tests" / "query", ROOT / "tests" / "contracts")
        done = subprocess.run(
            [sys.executable, *words],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, beside))},
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        return done.stdout.splitlines()


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    """One for all recipes: none of them is in the way of another."""
    made = Copy(tmp_path_factory.mktemp("recipes"))
    yield made
    shutil.rmtree(made.folder)


def test_every_file_of_a_recipe_is_there() -> None:
    """Mutant: a file is renamed and the recipe is not."""
    roots = [ROOT, ROOT / "src" / "adyton"]
    for name in RECIPES:
        paths = re.findall(r"`([\w/]+/[\w.]+\.(?:py|md|sql|html|toml|txt))`", recipe(name))
        missing = [
            path
            for path in paths
            if "NAME" not in path and "/ID" not in path and not any((root / path).exists() for root in roots)
        ]
        assert len(paths) > 3, name
        assert missing == [], name


def test_a_measure_is_one_file_and_one_line(copy: Copy) -> None:
    """The root of the mean square.  Mutant: some other list has to know its names too."""
    copy.add("query/measures/quadratic_mean.py", QUADRATIC_MEAN)
    copy.put(
        "query/measures/__init__.py",
        ("from adyton.query.measures.geometric_mean import GEOMETRIC_MEAN\n", IMPORTED_MEAN),
        ("COMPUTED_MEASURES: tuple[ComputedMeasure, ...] = (", "QUADRATIC_MEAN, "),
    )
    assert copy.run("-c", ASKED_MEAN) == [
        "['quadratic_mean_age'] SELECT AVG(SQUARE(age)) AS avg_square FROM people",
        "35.4 True",
    ]


def test_an_operation_is_one_entry_and_one_function(copy: Copy, tmp_path: Path) -> None:
    """A count of what a condition says: over HTTP, from Python, on the command line, as a tool and as a form; all of
    them for one charge.  Mutant: some surface has a list of its own.
    """
    copy.put(
        "operations/studies.py",
        ("from __future__ import annotations\n", HOW_MANY_IMPORTS),
        ("    return PublicFacts(facts_told(curator.study.table.name, curator.study))\n", HOW_MANY),
        ('    place = OperationPlace("study", "/v1/studies/{study}", "study")\n', HOW_MANY_ENTRY),
    )
    assert copy.run("-c", EVERYWHERE, str(tmp_path)) == [
        "route 200 ['n']",
        "method True",
        "signature condition request",
        "command True",
        "tool False True",
        "page True True 200",
        "charged 1 1",
    ]


def test_an_engine_is_one_file_and_one_entry(copy: Copy, tmp_path: Path) -> None:
    """Columns as Arrow arrays: by the contract of engines, and from a query.  Mutant: a curator knows engines by name."""
    copy.add("engines/columns.py", COLUMNS_ENGINE)
    copy.put(
        "engines/choosing.py",
        (
            "from __future__ import annotations\n",
            "from adyton.engines.columns import ColumnsEngine, are_columns\n",
        ),
        ("ENGINES = (\n", '    EngineEntry(ColumnsEngine, are_columns, ("timeout",)),\n'),
    )
    (tmp_path / "conftest.py").write_text(SOME_OF_THE_CONTRACT, encoding="utf-8")
    (tmp_path / "test_columns.py").write_text(ENGINE_CONTRACT, encoding="utf-8")
    tested = copy.run(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(tmp_path / "test_columns.py")
    )
    assert re.search(r"^\d\d+ passed", tested[-1]), tested
    assert copy.run("-c", ASKED_COLUMNS) == ["35.0", "this engine has no limit 'work_mem'; known: timeout"]


def test_a_page_is_one_file_one_template_and_one_entry(copy: Copy, tmp_path: Path) -> None:
    """What is declared of each column.  Mutant: a route must be mounted somewhere else too."""
    copy.add("transports/pages/columns.py", PAGE)
    copy.add("transports/pages/templates/columns.html", TEMPLATE)
    copy.put(
        "transports/pages/mount.py",
        ("from __future__ import annotations\n", "from adyton.transports.pages import columns\n"),
        ("PAGES = (\n", PAGE_ENTRY),
    )
    assert copy.run("-c", VISITED, str(tmp_path)) == [
        "200 ['income: real', 'region: category']",
        "True True",
        "404 303",
    ]


def test_a_kind_of_noise_is_one_file_and_three_lines(copy: Copy, tmp_path: Path) -> None:
    """Geometric noise and a step: charged by its cost, within its intervals, written down by its name and read from
    there, and audited.  Mutant: another place knows all kinds of noise, so that it is refused or taken for geometric.
    """
    imported = "from adyton.kernel.mechanisms.stepped import SteppedNoise\n"
    copy.add("kernel/mechanisms/stepped.py", STEPPED_NOISE)
    copy.put(
        "kernel/mechanisms/__init__.py",
        ("from adyton.kernel.mechanisms.geometric import GeometricNoise\n", imported),
        ("NOISES: tuple[type[QueryNoise], ...] = (", "SteppedNoise, "),
    )
    copy.put(
        "kernel/accounting/rules.py",
        ("from __future__ import annotations\n", imported),
        (
            "    noise: ClassVar[NoiseKind] = GeometricNoise\n",
            "    noise: ClassVar[NoiseKind] = SteppedNoise\n",
        ),
    )
    copy.put(
        "audit/cases/catalogue.py",
        ("from __future__ import annotations\n", imported),
        ("CATALOGUE: tuple[AuditedMechanism, ...] = (\n", AUDIT_ENTRY),
    )
    assert copy.run("-c", CHARGED, str(tmp_path)) == [
        "[True, True, True]",
        "[True, True, True, True, True, True]",
        "[True, True, True] 3",
    ]
    audited = copy.run("-m", "adyton.transports.cli.app", "audit", "stepped", "--samples", "5000", "--json")
    assert '"stepped"' in "".join(audited)


def test_a_rule_of_sql_is_one_file_and_one_entry(copy: Copy) -> None:
    """FAVG is AVG: its example, and what a database makes of both texts.  Mutant: what is asked for ``where`` is ignored."""
    copy.add("query/sql/rewrite/averages.py", ROUGH_AVERAGES)
    copy.put(
        "query/sql/rewrite/__init__.py",
        (
            "from __future__ import annotations\n",
            "from adyton.query.sql.rewrite.averages import write_averages\n",
        ),
        ("RULES = (\n", '    Rule(write_averages, ("FAVG",)),\n'),
    )
    assert copy.run("-c", READ) == ["0 True"]
