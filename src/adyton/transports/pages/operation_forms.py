"""Forms that are made from the table of operations, for those that no other page has."""

from __future__ import annotations

import hashlib
import secrets
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from adyton.certify import json_text
from adyton.errors import CuratorError, InvalidRequest, NotFound
from adyton.holdout.files import read_values
from adyton.operations.operation import Operation
from adyton.operations.results import printable
from adyton.operations.roles import Action, may
from adyton.operations.table import EXCEPTIONS, operations
from adyton.operations.words import VOCABULARY, Word
from adyton.service.holdouts import ServedHoldout
from adyton.service.house import Served
from adyton.service.limits import LIMITS
from adyton.service.studies import ServedStudy
from adyton.transports.http.routes import check_values
from adyton.transports.pages.forms import Sent, whole_number
from adyton.transports.pages.page import Page, PageRoute, ThePage
from adyton.transports.pages.problems import problem_of
from adyton.transports.queries_file import split_queries

routes = APIRouter(route_class=PageRoute, include_in_schema=False)
_KINDS = (".csv", ".npy", ".parquet", ".jsonl")
CHOOSE = "choose a file with one prediction for each item, in their order"
_LEFT_OUT = {one.operation for one in EXCEPTIONS if one.surface == "page"}
FORMS = {one.page: one for one in operations() if "/do/" in one.page and one not in _LEFT_OUT}


@routes.get("/studies/{name}/do")
@routes.get("/holdouts/{name}/do")
async def more(page: ThePage, name: str) -> Response:
    """What else can be done, and whether that is charged."""
    _, who = page.desk.house.anything(page.visitor, name, Action.LOOK)
    of = page.desk.house.kind(name)
    mine = [one for one in FORMS.values() if one.place.of == of and one.action and may(who.role, one.action)]
    return await page.show("operations.html", "More", of=name, known=mine)


@routes.get("/studies/{name}/do/{tool}")
@routes.get("/holdouts/{name}/do/{tool}")
async def form(page: ThePage, name: str, tool: str) -> Response:
    """The form; what needs nothing to be typed is shown at once."""
    operation, found = _meant(page, name, tool)
    if operation.get and not _words(operation):
        return await _done(page, operation, found, {})
    return await _form(page, operation, found)


@routes.post("/studies/{name}/do/{tool}")
@routes.post("/holdouts/{name}/do/{tool}")
async def do(page: ThePage, name: str, tool: str) -> Response:
    operation, found = _meant(page, name, tool)
    try:
        words = _words(operation)
        typed = await page.done(lambda: {word.name: _typed(page, found, word) for word in words})
        given = {name: said for name, said in typed.items() if said is not None}
        return await _done(page, operation, found, given)
    except CuratorError as error:
        return await _form(page, operation, found, error)


def _meant(page: Page, name: str, tool: str) -> tuple[Operation[Any, Any], Served]:
    kind = page.request.url.path.split("/")[1]
    operation = FORMS.get(f"/{kind}/{{name}}/do/{tool}")
    if operation is None:
        raise NotFound
    return operation, page.desk.house.place(page.visitor, operation, name)[0]


def _words(operation: Operation[Any, Any]) -> list[Word]:
    """The fields of a form, with the number of a monitor.  The id of a request is that of the form."""
    number = [VOCABULARY["number"]] if "number" in operation.place.names else []
    return number + [word for word in operation.words if word.name != "request"]


async def _form(
    page: Page, operation: Operation[Any, Any], found: Served, error: CuratorError | None = None
) -> Response:
    words = _words(operation)
    field = "" if error is None else str(error.facts.get("field", ""))
    field = field if field in {word.name for word in words} else ""
    return await page.show(
        "operation_form.html",
        "More",
        title=operation.title,
        of=found.name,
        operation=operation,
        words=words,
        uploads=operation.sends_items,
        typed={word.name: page.typed(word.name) for word in words},
        column=page.typed("values_column"),
        visit=secrets.token_hex(12),
        problem=None if error is None else problem_of(error, field),
        status=200 if error is None else error.status,
    )


async def _done(page: Page, operation: Operation[Any, Any], found: Served, given: dict[str, Any]) -> Response:
    _, who = page.desk.house.place(page.visitor, operation, found.name)
    page.desk.check_batch(given.get("queries", []))
    if operation.spends and operation.takes_request:  # the same form sent twice is one charge
        typed = hashlib.sha256(json_text(given).encode()).hexdigest()[:16]
        given = {**given, "request": f"page-{page.typed('visit')[:64]}-{typed}"}

    def work() -> list[Any]:
        if operation.lists and isinstance(found, ServedStudy):
            check_values(found, given, LIMITS.free_values)
        made = found.perform(operation, who, given)
        several = made if isinstance(made, list) and all(hasattr(one, "sheet") for one in made) else [made]
        sheets = [printable(one).sheet() for one in several]
        return [(replace(sheet, rows=sheet.shown()), sheet.all_notes()) for sheet in sheets]

    sheets = await page.done(work)
    title, template = operation.title, "operation_result.html"
    return await page.show(template, "More", title=title, of=found.name, operation=operation, sheets=sheets)


def _typed(page: Page, found: Served, word: Word) -> Any:
    """What stands in the field of a word; None where nothing does."""
    if word.items and isinstance(found, ServedHoldout):
        sent_here = (sent for name, sent in page.form.items() if name.split(" ")[0] == word.name)
        files = [sent for sent in sent_here if isinstance(sent, Sent)]
        column = page.typed("values_column") or None
        read = {Path(sent.name).stem: values_of(found, sent, column) for sent in files if sent.name}
        if not read:
            raise InvalidRequest(CHOOSE, field=word.name)
        return read if word.name == "models" else next(iter(read.values()))
    text = page.typed(word.name)
    if not text:
        if word.required:
            raise InvalidRequest(f"{word.name.replace('_', ' ')} is needed: {word.help}", field=word.name)
        return None
    if word.is_flag:
        return text == "yes"
    if word.several:
        return split_queries(text)
    return whole_number(text, word.name) if word.type is int else text


def values_of(found: ServedHoldout, sent: Sent, column: str | None) -> list[Any]:
    """Of a file that was sent.  What it is called decides only how it is read."""
    kind = Path(sent.name).suffix.lower()
    if kind not in _KINDS:
        raise InvalidRequest(f"predictions are read from {', '.join(_KINDS)}")
    with tempfile.TemporaryDirectory(prefix="adyton") as folder:
        path = Path(folder) / f"predictions{kind}"
        with path.open("wb") as written:
            shutil.copyfileobj(sent.file, written)
        read = read_values(path, column, most=found.items)
        values: list[Any] = read.tolist()
        return values
