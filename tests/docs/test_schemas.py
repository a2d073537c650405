"""The published JSON Schemas are those of the classes, and what the golden files hold fits them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pages import ROOT, program

from adyton.audit.cases.catalogue import entry_named, target_of
from adyton.audit.report import AuditReport, try_one
from golden.held import read

REFERENCE = ROOT / "docs" / "reference"
DOCUMENT_OF = {  # by the words of a command, a route or a tool, the first that is found
    r"^\d+ (init|mock|verify|amend|checkpoint|survey randomize|shared-budget verify|holdout verify|token (create|revoke)) ?": None,
    r"(healthz|readyz|/v1/studies|/v1/studies/people|/v1/holdouts|/v1/holdouts/test|/verify)$": None,
    r"^\d+ (list_studies|describe)": None,
    r"^\d+ receipts": "receipts",
    r"/receipts$": "receipt-page",
    r"monitor open .*--preview$|monitors/preview$": "monitor-preview",
    r"^\d+ preview |/preview$|/preview_many$|^\d+ preview$": "preview",
    r"mock/ask|try_on_mock": "mock-answer",
    r"/suggest_bounds$|^\d+ suggest-bounds": "suggested-bounds",
    r"^\d+ (ask|derive) |/ask$|/ask_many$|^\d+ ask": "answer",
    r"^\d+ p-value|/last_look$": "last-look",
    r"^\d+ check ": "check",
    r"^\d+ synthesize": "synthesis",
    r"^\d+ reserve": "reserve",
    r"^\d+ shared-budget": "shared-budget",
    r"monitor feed|monitors/\d+/feed$": "monitor-answer",
    r"monitor list": "monitor-list",
    r"monitor (open|close)|monitors(/\d+(/close)?)?$": "monitor",
    r"pmw open": "pmw",
    r"pmw feed": "pmw-answer",
    r"pmw list": "pmw-list",
    r"survey preview": "survey-preview",
    r"survey estimate": "survey-results",
    r"^\d+ compose": "composition",
    r"^\d+ calibrate": "calibration",
    r"^\d+ plan": "plan",
    r"^\d+ audit --list": "audit-list",
    r"^\d+ lab": "lab-list",
    r"holdout (create|budget)|holdouts/test/budget$": "holdout-budget",
    r"holdout (score|submit|close)|holdouts/test/(score|submit|close|scores)$|score_on_holdout": "score",
    r"leaderboard": "leaderboard",
    r"standings$": "leaderboard-entry",
    r"compare": "comparison",
    r"best": "model-choice",
    r"token list|/v1/tokens/people$": "tokens",
    r"budget": "budget",
}  # fmt: skip


SCRIPT = program("make_schemas")


@cache
def validator(name: str) -> Draft202012Validator:
    """Of the published schema, but that no other key is allowed: what is not listed was forgotten."""
    return Draft202012Validator(closed(json.loads((REFERENCE / "schemas" / f"{name}.json").read_text())))


def closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return list(map(closed, schema))
    if not isinstance(schema, dict):
        return schema
    made = {name: closed(one) for name, one in schema.items()}
    return {"additionalProperties": False, **made} if "properties" in schema else made


def documents() -> Iterator[tuple[str, str, Any]]:
    """The document that each golden entry is, its name, and what it holds."""
    for file in ("commands", "http", "agents"):
        for name, text in read(file).items():
            held = json.loads(text)
            said = held.get("says") if isinstance(held, dict) else None
            if not isinstance(said, dict | list):
                continue
            if isinstance(said, dict) and "error" in said:
                yield "error", name, said
                continue
            kind = next((kind for words, kind in DOCUMENT_OF.items() if re.search(words, name)), "unknown")
            if kind is None:
                continue
            if kind == "budget" and "metric" in said:
                kind = "holdout-budget"
            for one in said if isinstance(said, list) else of_agents(said):
                if kind == "monitor":
                    one.pop("answers", None)  # the route adds them
                yield kind, f"{file} {name}", one


def of_agents(said: dict[str, Any]) -> list[Any]:
    """Tools of agents say beside the document what is left to whoever asks."""
    if "previews" in said or "answers" in said:
        return list(said.get("previews") or said["answers"]) if "own" in said else [said]
    return [said["answer"]] if isinstance(said.get("answer"), dict) else [said]


FOUND = list(documents())


def test_the_schemas_are_what_their_script_writes() -> None:
    files = SCRIPT.files()
    for path, text in files.items():
        assert (REFERENCE / path).read_text(encoding="utf-8") == text, "run: python docs/make_schemas.py"
    there = {f"schemas/{path.name}" for path in (REFERENCE / "schemas").iterdir()}
    assert there | {"schemas.md"} == set(files)
    for path in there:
        Draft202012Validator.check_schema(json.loads((REFERENCE / path).read_text()))


@pytest.mark.parametrize(("kind", "name", "held"), FOUND, ids=[name for _, name, _ in FOUND])
def test_what_is_held_fits_its_schema(kind: str, name: str, held: Any) -> None:
    """Mutant: a key of a document is renamed in its class."""
    found = [
        f"{'.'.join(map(str, e.absolute_path))}: {e.message[:200]}" for e in validator(kind).iter_errors(held)
    ]
    assert not found, found


def test_golden_files_hold_nearly_every_document() -> None:
    missing = set(SCRIPT.DOCUMENTS) - {kind for kind, _, _ in FOUND}
    rare = "audit doctor lab monitor-answers pmw-answers pmw-preview stability synthesis-preview verdict"
    assert missing == set(rare.split())


def test_a_report_of_audits_fits_its_schema() -> None:
    trials = [
        next(iter(entry_named(name).trials(target_of("1", "0.01")))) for name in ("gaussian", "gdp-queries")
    ]
    told = AuditReport(tuple(try_one(trial, 400, 0.999) for trial in trials)).to_json()
    assert any(one["replay"] for one in told["audits"])
    assert not list(validator("audit").iter_errors(told))
    own = set(validator("verdict").schema["$defs"]["Verdict"]["properties"])
    assert not list(validator("verdict").iter_errors({key: told["audits"][0][key] for key in own}))


@pytest.mark.parametrize("kind", sorted({kind for kind, _, _ in FOUND}))
def test_what_is_broken_does_not_fit(kind: str) -> None:
    """Each key that must be there is left out, and each has another type."""
    held = next(one for found, _, one in FOUND if found == kind)
    schema = json.loads((REFERENCE / "schemas" / f"{kind}.json").read_text())
    own = schema["$defs"][schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema
    assert own["required"]
    for key in held:
        if key in own["required"]:
            assert not validator(kind).is_valid({name: value for name, value in held.items() if name != key})
        broken = deepcopy(held) | {key: [[]]}
        assert not validator(kind).is_valid(broken), key
    assert not validator(kind).is_valid({**held, "another": 1})
