"""What each door says, whole: commands as JSON, HTTP as status and JSON, tools of agents as structure and words.

The document of HTTP (``docs/reference/openapi.json``) and the texts of the help are held by tests of their own.  What
``doctor`` says is about the machine, and is not held.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from typer.testing import CliRunner

import adyton
from adyton.transports.cli.app import app
from golden.held import Entry
from golden.rows import write_people
from golden.scores import LABELS, guesses
from golden.still import still
from support.agents import Doors, said, with_doors
from support.servers import Served, served

COUNT = "SELECT COUNT(*) AS n FROM people WHERE income > 9000"
GROUPS = "SELECT region, COUNT(*) AS n, AVG(income) AS a FROM people GROUP BY region"
WRONG = "SELECT AVG(agee) FROM people"
TIMES = re.compile(r'("(?:made|expires)_at": ?)\d+')  # of tokens, whose clock is no moment of a ledger


def _settled(text: str, folder: str) -> Any:
    """Without the place of the files, and without the times of tokens."""
    plain = TIMES.sub(r"\g<1>0", text.replace(folder, "FOLDER"))
    try:
        return json.loads(plain)
    except json.JSONDecodeError:
        return plain


# Commands --------------------------------------------------------------------------------------------------

SURVEY = """
[survey]
name = "pets"
epsilon = 2
[questions.pet]
values = ["yes", "no"]
"""
PURE = {
    "delta = 1e-9": 'delta = 0\naccounting = "pure"',
    "independent = true": "independent = true\nstability = 0.5",
}
FILES: dict[str, dict[str, str]] = {
    "people": {},
    "pure": PURE,
    "zcdp": {"delta = 1e-9": 'delta = 1e-9\naccounting = "zcdp"'},
    "planned": {"independent = true": "independent = true\nqueries = 50\ntolerance = 0.25"},
    "kept": {"independent = true": "independent = true\nreserve = 0.1"},
    "sharing": {"delta = 1e-9": 'delta = 1e-9\nshared_budget = "shared.ledger"'},
    "checkpointed": {"[validity]": '[ledger]\ncheckpoint = "people.checkpoint"\n[validity]'},
    "many": {},
    "cubes": {},
    "corrected": {"high = 100\n": "high = 90\n"},
}
ASKED_FIRST = ("people", "pure", "zcdp", "planned", "kept", "sharing", "checkpointed")
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("init", "people.parquet", "--epsilon", "1", "--delta", "1e-9", "-o", "new.toml"),
    ("check", "people.toml"),
    ("shared-budget", "create", "shared.ledger", "--epsilon", "10", "--delta", "1e-9", "--unit", "row"),
    *((verb, f"{name}.toml", GROUPS, "--share", "0.05") for name in ASKED_FIRST for verb in ("preview", "ask")),
    ("preview", "people.toml", COUNT, "--within", "40"),
    ("ask", "people.toml", COUNT, "--within", "40"),
    ("ask", "people.toml", COUNT, "--within", "40"),
    ("ask", "planned.toml", COUNT),
    ("ask", "people.toml", COUNT, "--scale", "0.001"),
    ("ask", "pure.toml", GROUPS, "--scale", "0.001"),
    ("ask", "people.toml", WRONG, "--share", "0.1"),
    ("ask", "people.toml", COUNT),
    ("ask", "cubes.toml", "SELECT region, smoker, COUNT(*) AS n FROM people GROUP BY CUBE (region, smoker)", "--share", "0.1"),
    ("derive", "cubes.toml", "SELECT COUNT(*) FROM people WHERE smoker AND region = 'north'"),
    ("suggest-bounds", "people.toml", "income", "--share", "0.1"),
    ("synthesize", "people.toml", "--columns", "region,smoker", "--share", "0.1"),
    ("mock", "people.toml", "-o", "mock.csv"),
    *(("budget", f"{name}.toml") for name in ASKED_FIRST),
    ("receipts", "people.toml"),
    ("verify", "people.toml"),
    ("p-value", "people.toml", "--p", "0.001"),
    ("reserve", "show", "kept.toml"),
    ("reserve", "open", "kept.toml", "--test", "a", "-o", "kept.parquet"),
    ("reserve", "judge", "kept.toml", "0.01"),
    ("shared-budget", "show", "shared.ledger"),
    ("shared-budget", "verify", "shared.ledger"),
    ("checkpoint", "show", "checkpointed.toml"),
    ("monitor", "open", "zcdp.toml", "--positives", "2", "--of", "means", "--share", "0.3", "--numeric", "--preview"),
    ("monitor", "open", "zcdp.toml", "--positives", "2", "--of", "means", "--share", "0.3", "--numeric"),
    ("monitor", "feed", "zcdp.toml", "2", COUNT, "--above", "0"),
    ("monitor", "feed", "zcdp.toml", "2", "SELECT AVG(age) FROM people", "--above", "20"),
    ("monitor", "list", "zcdp.toml"),
    ("monitor", "close", "zcdp.toml", "2"),
    ("pmw", "open", "many.toml", "--columns", "age,income,region", "--bins", "age=101", "--bins", "income=500", "--queries", "100000", "--share", "0.9"),
    ("pmw", "feed", "many.toml", "1", "SELECT COUNT(*) AS n FROM people WHERE region = 'north'"),
    ("pmw", "list", "many.toml"),
    ("amend", "people.toml", "corrected.toml"),
    ("budget", "corrected.toml"),
    ("survey", "preview", "survey.toml"),
    ("survey", "randomize", "survey.toml", "--answer", "pet=yes", "-o", "all.csv"),
    ("survey", "estimate", "survey.toml", "all.csv"),
    ("compose", "--epsilon", "1"),
    ("compose", "--sigma", "5"),
    ("calibrate", "--epsilon", "1"),
    ("plan", "--rows", "1000", "--tolerance", "0.2"),
    ("plan", "--rows", "1000", "--queries", "10", "--expect-share", "0.1"),
    ("plan", "--tolerance", "0.2", "--queries", "10"),
    ("audit", "--list"),
    ("lab",),
    ("holdout", "create", "h.toml", "--labels", "labels.npy", "--tolerance", "0.1"),
    ("holdout", "score", "h.toml", "one.npy"),
    ("holdout", "score", "h.toml", "one.npy"),
    ("holdout", "submit", "h.toml", "ann", "other.npy"),
    ("holdout", "leaderboard", "h.toml"),
    ("holdout", "compare", "h.toml", "one.npy", "other.npy"),
    ("holdout", "best", "h.toml", "one.npy", "other.npy"),
    ("holdout", "budget", "h.toml"),
    ("holdout", "close", "h.toml", "one.npy"),
    ("holdout", "score", "h.toml", "other.npy"),
    ("holdout", "verify", "h.toml"),
    ("token", "create", "zcdp.toml", "--role", "analyst", "--name", "ana"),
    ("token", "list", "zcdp.toml"),
    ("token", "revoke", "zcdp.toml", "ana"),
)  # fmt: skip


def commands() -> Iterator[Entry]:
    before = Path.cwd()
    with TemporaryDirectory() as folder, still("commands"):
        os.chdir(folder)
        try:
            _write_files(Path(folder))
            for number, words in enumerate(COMMANDS, start=1):
                done = CliRunner().invoke(app, [*words, "--json"])
                told = {"code": done.exit_code, "says": _settled(done.stdout, folder)}
                yield Entry(f"{number} {' '.join(words)}", told)
        finally:
            os.chdir(before)


def _write_files(folder: Path) -> None:
    for name, changed in FILES.items():
        write_people(folder, name, **changed)
    for name, values in {"labels": LABELS, "one": guesses(1, 4), "other": guesses(2, 9)}.items():
        np.save(folder / f"{name}.npy", values)
    (folder / "survey.toml").write_text(SURVEY, encoding="utf-8")


# HTTP ------------------------------------------------------------------------------------------------------

STUDY, HOLDOUT = "/v1/studies/people", "/v1/holdouts/test"
ONE, OTHER = guesses(1, 4).tolist(), guesses(2, 9).tolist()
REQUESTS: tuple[tuple[str, str, str, Any], ...] = (
    ("nobody", "GET", "/healthz", None),
    ("nobody", "GET", "/readyz", None),
    ("nobody", "GET", "/v1/studies", None),
    ("ana", "GET", "/v1/studies", None),
    ("ana", "GET", STUDY, None),
    ("ana", "GET", "/v1/studies/none", None),
    ("ana", "POST", f"{STUDY}/preview", {"query": GROUPS, "within": {"n": 30, "a": 2000}}),
    ("ana", "POST", f"{STUDY}/preview_many", {"queries": [COUNT, GROUPS], "share": "0.1"}),
    ("ana", "POST", f"{STUDY}/ask", {"query": GROUPS, "share": "0.05", "request": "one"}),
    ("ana", "POST", f"{STUDY}/ask", {"query": GROUPS, "share": "0.05", "request": "one"}),
    ("ana", "POST", f"{STUDY}/ask", {"query": COUNT, "share": "0.05", "request": "one"}),
    ("ben", "POST", f"{STUDY}/ask", {"query": COUNT, "within": 40}),
    ("ben", "POST", f"{STUDY}/ask", {"query": COUNT, "scale": "0.0001"}),
    ("bot", "POST", f"{STUDY}/ask", {"query": COUNT, "within": 2}),
    ("ana", "POST", f"{STUDY}/ask", {"query": WRONG, "share": "0.05"}),
    ("ana", "POST", f"{STUDY}/ask", {"query": COUNT}),
    ("ana", "POST", f"{STUDY}/ask", {"query": COUNT}),
    ("eve", "POST", f"{STUDY}/ask", {"query": COUNT, "share": "0.05"}),
    ("ana", "POST", f"{STUDY}/ask_many", {"queries": [COUNT, "SELECT COUNT(*) AS m FROM people"], "epsilon": "0.2"}),
    ("ana", "POST", f"{STUDY}/mock/ask", {"query": COUNT, "within": 40}),
    ("ana", "POST", f"{STUDY}/mock/ask_many", {"queries": [COUNT], "within": 40}),
    ("ana", "POST", f"{STUDY}/last_look", {"alpha": "0.05"}),
    ("bea", "POST", f"{STUDY}/last_look", {"alpha": "0.05", "p_value": "0.001"}),
    ("ana", "POST", f"{STUDY}/suggest_bounds", {"column": "income", "share": "0.1"}),
    ("ana", "POST", f"{STUDY}/monitors/preview", {"positives": 2, "share": "0.1"}),
    ("ana", "POST", f"{STUDY}/monitors", {"positives": 1, "share": "0.1", "numeric": True}),
    ("ana", "POST", f"{STUDY}/monitors/5/feed", {"query": COUNT, "above": 10}),
    ("ana", "GET", f"{STUDY}/monitors/5", None),
    ("ana", "POST", f"{STUDY}/monitors/5/close", None),
    ("ben", "GET", f"{STUDY}/monitors/5", None),
    ("ana", "GET", f"{STUDY}/budget", None),
    ("bot", "GET", f"{STUDY}/budget", None),
    ("ben", "GET", f"{STUDY}/receipts", None),
    ("eve", "GET", f"{STUDY}/receipts", None),
    ("eve", "POST", f"{STUDY}/verify", {}),
    ("ann", "GET", "/v1/holdouts", None),
    ("ann", "GET", HOLDOUT, None),
    ("ann", "POST", f"{HOLDOUT}/score", {"predictions": ONE}),
    ("ann", "POST", f"{HOLDOUT}/score", {"predictions": [1]}),
    ("ann", "POST", f"{HOLDOUT}/submit", {"predictions": OTHER, "name": "small"}),
    ("ann", "POST", f"{HOLDOUT}/compare", {"first": ONE, "second": OTHER}),
    ("ann", "POST", f"{HOLDOUT}/best", {"models": {"one": ONE, "other": OTHER}}),
    ("ann", "GET", f"{HOLDOUT}/budget", None),
    ("ann", "GET", f"{HOLDOUT}/standings", None),
    ("ann", "GET", f"{HOLDOUT}/scores", None),
    ("ann", "GET", f"{HOLDOUT}/receipts", None),
    ("own", "POST", f"{HOLDOUT}/close", {"predictions": ONE}),
    ("own", "POST", f"{HOLDOUT}/verify", {}),
    ("bea", "GET", "/v1/tokens/people", None),
)  # fmt: skip


def requests() -> Iterator[Entry]:
    with TemporaryDirectory() as folder, still("requests"), served(_served(Path(folder))) as house:
        who = {"nobody": {}} | _callers(house)
        for number, (name, method, path, body) in enumerate(REQUESTS, start=1):
            answer = house.client.request(method, path, headers=who[name], json=body)
            told = {"status": answer.status_code, "says": _settled(answer.text, folder)}
            yield Entry(f"{number} {name} {method} {path}", told)
        for kind in ("text/csv", "application/vnd.apache.arrow.stream"):
            answer = house.ask({**who["ana"], "Accept": kind}, GROUPS, share="0.05")
            yield Entry(
                f"as {kind}", {"status": answer.status_code, "says": answer.content.decode("latin-1")}
            )


def _served(folder: Path) -> list[Path]:
    adyton.Holdout.create(folder / "test.toml", labels=LABELS, tolerance="0.1").close()
    return [write_people(folder), folder / "test.toml"]


def _callers(house: Served) -> dict[str, dict[str, str]]:
    return {
        "ana": house.made("ana"),
        "ben": house.made("ben", budget_share="0.2"),
        "bot": house.made("bot", "agent", price_share="0.01"),
        "eve": house.made("eve", "auditor"),
        "bea": house.made("bea", "owner"),
        "ann": house.made("ann", study="test"),
        "own": house.made("own", "owner", study="test"),
    }


# Agents ----------------------------------------------------------------------------------------------------

ASKED = {"study": "people", "query": COUNT}
CALLS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("people", "list_studies", {}),
    ("people", "describe", {"name": "people"}),
    ("people", "preview", {**ASKED, "within": 100}),
    ("people", "ask", {**ASKED, "within": 100}),
    ("people", "ask", {**ASKED, "within": 100}),
    ("people", "ask", {"study": "people", "query": GROUPS, "share": "0.1"}),
    ("people", "ask_many", {"study": "people", "queries": [COUNT, GROUPS], "share": "0.05"}),
    ("people", "ask", {**ASKED, "within": "0.01"}),
    ("people", "ask", {"study": "people", "query": WRONG, "within": 100}),
    ("people", "try_on_mock", {**ASKED, "within": 100}),
    ("people", "budget", {"name": "people"}),
    ("test", "describe", {"name": "test"}),
    ("test", "score_on_holdout", {"holdout": "test", "predictions": ONE}),
    ("test", "compare_on_holdout", {"holdout": "test", "first": ONE, "second": OTHER}),
    ("test", "budget", {"name": "test"}),
)


def agents() -> Iterator[Entry]:
    found = list[Entry]()

    async def work(doors: Doors) -> None:
        who = {name: doors.made(f"of {name}", study=name, budget_share="0.5") for name in ("people", "test")}
        for number, (name, tool, arguments) in enumerate(CALLS, start=1):
            async with doors.agent(who[name]) as agent:
                result = await agent.call_tool(tool, arguments)
            told = {"error": bool(result.is_error), "words": said(result), "says": result.structured_content}
            found.append(Entry(f"{number} {tool}", told))
        async with doors.agent(who["people"]) as agent:
            for one in (await agent.list_tools()).tools:
                found.append(Entry(f"tool {one.name}", one.model_dump(mode="json", exclude_none=True)))

    with TemporaryDirectory() as folder, still("agents"):
        with_doors(_served(Path(folder)), work)
    yield from found
