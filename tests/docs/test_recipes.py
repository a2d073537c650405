"""The recipes of CONTRIBUTING.md, followed word by word in a copy of the source."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOY = """
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
LISTED = "COMPUTED_MEASURES: tuple[ComputedMeasure, ...] = ("
ASKED = """
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
from agents import agent_at
from browsing import form_value, visit_of
from served import server, write_study

study = write_study(Path(sys.argv[1]))
with server([study], "--mcp", program=("-m", "adyton.transports.cli.app")) as running:
    path, condition = "/v1/studies/people/how_many", "income > 30000"
    sent = httpx2.post(running.url + path, headers=running.owner, json={"condition": condition, "within": 60})
    first = sent.json()
    print("route", sent.status_code, list(first["answer"][0]["values"]))
    document = httpx2.get(running.url + "/v1/openapi.json").json()
    print("document", document["paths"]["/v1/studies/{study}/how_many"]["post"]["description"][:8])
    token = running.owner["Authorization"].split()[1]
    with adyton.connect(running.url, token) as connection:
        people = connection.study("people")
        again = people.how_many(condition, within=60)
        print("method", again.repeated, again.receipt.digest == first["receipt"]["digest"])
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


def recipe(name: str) -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"^## {name}\n(.*?)(?=^## )", text, re.M | re.S)
    return str(found)


def test_every_file_of_a_recipe_is_there() -> None:
    """Mutant: a file is renamed and the recipe is not."""
    paths = re.findall(
        r"`((?:src/adyton|tests|docs|query|planning|kernel|arithmetic)/[\w/]+\.\w+)`", recipe("Add a measure")
    )
    roots = [ROOT, ROOT / "src" / "adyton"]
    missing = [
        path for path in paths if "NAME" not in path and not any((root / path).exists() for root in roots)
    ]
    assert len(paths) > 10
    assert missing == []


def test_a_measure_is_one_file_and_one_line(tmp_path: Path) -> None:
    """The root of the mean square, in a copy.  Mutant: some other list has to know its names too."""
    copy = tmp_path / "adyton"
    shutil.copytree(ROOT / "src" / "adyton", copy, ignore=shutil.ignore_patterns("__pycache__"))
    measures = copy / "query" / "measures"
    (measures / "quadratic_mean.py").write_text(TOY, encoding="utf-8")
    listing = measures / "__init__.py"
    text = listing.read_text(encoding="utf-8")
    assert LISTED in text
    named = (
        "from adyton.query.measures.quadratic_mean import QUADRATIC_MEAN\n\n" + LISTED + "QUADRATIC_MEAN, "
    )
    listing.write_text(text.replace(LISTED, named), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", ASKED],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "['quadratic_mean_age'] SELECT AVG(SQUARE(age)) AS avg_square FROM people",
        "35.4 True",
    ], done.stderr


def test_an_operation_is_one_entry_and_one_function(tmp_path: Path) -> None:
    """A count of what a condition says, in a copy: over HTTP, from Python, on the command line, as a tool and as a form;
    all of them for one charge.  Mutant: some surface has a list of its own.
    """
    copy = tmp_path / "adyton"
    shutil.copytree(ROOT / "src" / "adyton", copy, ignore=shutil.ignore_patterns("__pycache__"))
    table = copy / "operations" / "studies.py"
    text = table.read_text(encoding="utf-8")
    before, listed = (
        "from adyton.curator import Curator\n",
        '    place = Place("study", "/v1/studies/{study}", "study")\n',
    )
    assert before in text
    assert listed in text
    text = text.replace(before, HOW_MANY_IMPORTS + before).replace(listed, listed + HOW_MANY_ENTRY)
    place = text.index("class MockOperations")
    table.write_text(text[:place].rstrip() + "\n" + HOW_MANY + "\n\n" + text[place:], encoding="utf-8")
    (tmp_path / "study").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", EVERYWHERE, str(tmp_path / "study")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT / "tests")))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "route 200 ['n']",
        "document Charged.",
        "method True True",
        "signature condition request",
        "command True",
        "tool False True",
        "page True True 200",
        "charged 1 1",
    ], done.stderr[-3000:]
