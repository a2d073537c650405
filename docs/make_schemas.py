# ruff: noqa: E501
"""Writes docs/reference/schemas/ and docs/reference/schemas.md: a JSON Schema of every document, from its class."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from adyton.audit.black_box import Verdict
from adyton.audit.report import AuditContents, AuditReport
from adyton.certify import Answer, Budget, LastLook, Preview
from adyton.certify.checked import StudyCheck
from adyton.curator.bounds import SuggestedBounds
from adyton.curator.mock import MockAnswer
from adyton.curator.receipts import ListedReceipts
from adyton.documents import schemas
from adyton.figures.report import LabReport
from adyton.holdout.answers.best import ModelChoice
from adyton.holdout.leaderboard import Leaderboard, LeaderboardEntry
from adyton.holdout.score import Comparison, HoldoutBudget, Score
from adyton.lab.table import LabContents
from adyton.ledgers.shared_budget.report import SharedBudgetReport
from adyton.monitors.answer import MonitorAnswer, MonitorAnswers, MonitorBudget, MonitorList, MonitorPreview
from adyton.monitors.pmw.answer import PmwAnswer, PmwAnswers, PmwBudget, PmwList, PmwPreview
from adyton.population.reserve import ReserveLook
from adyton.service.chain import ReceiptPage
from adyton.service.doctor import Examination
from adyton.service.tokens import TokenList
from adyton.surveys.preview import SurveyPreview
from adyton.surveys.results import SurveyResults
from adyton.synthesis.plan import SynthesisPreview
from adyton.synthesis.result import Synthesis
from adyton.transports.all_methods import AllMethods
from adyton.transports.cli.compositions import Calibration, Composition
from adyton.transports.http.bodies import ErrorBody
from adyton.validity.measured_stability import MeasuredStability

HERE = Path(__file__).parent / "reference"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
DOCUMENTS: dict[str, tuple[type, str]] = {
    "answer": (Answer, "`ask`, `derive`; with `--file` and from `ask_many` a list of them"),
    "audit": (AuditReport, "`audit --all`"),
    "audit-list": (AuditContents, "`audit --list`"),
    "budget": (Budget, "`budget`"),
    "calibration": (Calibration, "`calibrate`"),
    "check": (StudyCheck, "`check`"),
    "comparison": (Comparison, "`holdout compare`"),
    "composition": (Composition, "`compose`"),
    "doctor": (Examination, "`doctor`"),
    "error": (ErrorBody, "every command and route, where it fails"),
    "holdout-budget": (HoldoutBudget, "`holdout budget`, `holdout create`"),
    "lab": (LabReport, "`lab NAME`"),
    "lab-list": (LabContents, "`lab`"),
    "last-look": (LastLook, "`p-value`"),
    "leaderboard": (Leaderboard, "`holdout leaderboard`"),
    "leaderboard-entry": (LeaderboardEntry, "the route `standings`: a list of them"),
    "mock-answer": (MockAnswer, "`ask --mock`"),
    "model-choice": (ModelChoice, "`holdout best`"),
    "monitor": (MonitorBudget, "`monitor open`, `monitor close`, `monitor show`"),
    "monitor-answer": (MonitorAnswer, "`monitor feed`"),
    "monitor-answers": (MonitorAnswers, "`monitor feed --file`"),
    "monitor-list": (MonitorList, "`monitor list`"),
    "monitor-preview": (MonitorPreview, "`monitor open --preview`"),
    "plan": (AllMethods, "`plan`"),
    "pmw": (PmwBudget, "`pmw open`"),
    "pmw-answer": (PmwAnswer, "`pmw feed`"),
    "pmw-answers": (PmwAnswers, "`pmw feed --file`"),
    "pmw-list": (PmwList, "`pmw list`"),
    "pmw-preview": (PmwPreview, "`pmw open --preview`"),
    "preview": (Preview, "`preview`; with `--file` and from `preview_many` a list of them"),
    "receipt-page": (ReceiptPage, "the route `receipts`"),
    "receipts": (ListedReceipts, "`receipts`"),
    "reserve": (ReserveLook, "`reserve show`, `reserve open`, `reserve judge`"),
    "score": (Score, "`holdout score`, `holdout submit`, `holdout close`"),
    "shared-budget": (SharedBudgetReport, "`shared-budget show`, `shared-budget create`"),
    "stability": (MeasuredStability, "`stability_of`"),
    "suggested-bounds": (SuggestedBounds, "`suggest-bounds`"),
    "survey-preview": (SurveyPreview, "`survey preview`"),
    "survey-results": (SurveyResults, "`survey estimate`"),
    "synthesis": (Synthesis, "`synthesize`"),
    "synthesis-preview": (SynthesisPreview, "`synthesize --preview`"),
    "tokens": (TokenList, "`token list`"),
    "verdict": (Verdict, "`audit NAME`"),
}
PAGE = """# JSON Schemas

Each file is a JSON Schema (draft 2020-12) of one document that a command prints with `--json`, that a server answers, and that `to_json()` returns. What the keys
mean is in [json.md](json.md). New keys may be added in later versions, so the schemas allow other keys. Written by `python docs/make_schemas.py`.

| schema | document of |
|---|---|
"""


def schema_of(document: type) -> dict[str, Any]:
    if document is ErrorBody:
        found = ErrorBody.model_json_schema()
        return {"$schema": DIALECT, **found}
    return {"$schema": DIALECT, "$ref": f"#/$defs/{document.__name__}", "$defs": schemas(document)}


def files() -> dict[str, str]:
    """The text of each file, by its path in the reference."""
    made = {
        f"schemas/{name}.json": json.dumps(schema_of(document), indent=1, ensure_ascii=False, sort_keys=True)
        + "\n"
        for name, (document, _) in DOCUMENTS.items()
    }
    lines = [f"| [{name}](schemas/{name}.json) | {of} |" for name, (_, of) in DOCUMENTS.items()]
    return {**made, "schemas.md": PAGE + "\n".join(lines) + "\n"}


if __name__ == "__main__":
    (HERE / "schemas").mkdir(exist_ok=True)
    for old in (HERE / "schemas").glob("*.json"):
        old.unlink()
    for path, text in files().items():
        (HERE / path).write_text(text, encoding="utf-8")
