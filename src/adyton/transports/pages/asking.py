"""Ask: write, preview, try, ask.  Only one of them costs anything, and it is charged once."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter
from starlette.responses import Response

from adyton.certify import Answer
from adyton.errors import BudgetRefused, CuratorError, InvalidRequest, NotFound
from adyton.operations.roles import Action
from adyton.operations.studies import StudyOperations
from adyton.service.identity import Identity
from adyton.service.studies import ServedStudy
from adyton.show import Sheet
from adyton.transports.http.formats import answered, check_free
from adyton.transports.pages import answers, pictures
from adyton.transports.pages.forms import whole_number
from adyton.transports.pages.page import Page, PageRoute, ThePage
from adyton.transports.pages.problems import Problem, problem_of, wrong
from adyton.transports.pages.rendering import segment
from adyton.transports.pages.writing import COMPARISONS, MEASURES, FormFields, can_group, written

routes = APIRouter(route_class=PageRoute, include_in_schema=False)
_LONGEST_ADDRESS = 6000  # a longer query is answered at once, without an address of its own
_OPTIONS = ("share", "scale", "dialect", "strategy")
_TYPES = {"csv": "text/csv", "json": "application/json"}


@dataclass(frozen=True, slots=True)
class Typed:
    """What stands in the form.  ``visit``: the same form sent twice is one request, and one charge."""

    sql: str = ""
    within: str = ""
    epsilon: str = ""
    expected_rows: str = ""
    share: str = ""
    scale: str = ""
    dialect: str = ""
    strategy: str = ""
    visit: str = ""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Typed:
        said = {one.name: given.get(one.name, "") for one in fields(cls)}
        made = cls(**{name: value.strip() for name, value in said.items() if isinstance(value, str)})
        return made if made.visit.isalnum() and len(made.visit) <= 64 else made.on_a_new_visit()

    def on_a_new_visit(self) -> Typed:
        return replace(self, visit=secrets.token_hex(12))

    def words(self) -> dict[str, Any]:
        """The price and what else there is to say, as the curator takes it."""
        said = {name: value for name, value in asdict(self).items() if value and name not in ("sql", "visit")}
        if self.expected_rows:
            said["expected_rows"] = whole_number(self.expected_rows, "expected_rows")
        return said

    @property
    def request(self) -> str:
        """Of this form with these words in it: what is changed and sent again is another query."""
        said = "\n".join(asdict(replace(self, visit="")).values())
        return f"page-{self.visit}-{hashlib.sha256(said.encode()).hexdigest()[:16]}"

    @property
    def address(self) -> str:
        return urlencode({name: value for name, value in asdict(self).items() if value})


@routes.get("/studies/{study}/ask")
async def ask_page(page: ThePage, study: str) -> Response:
    """The form, and what was asked for that costs nothing: a preview, SQL, made-up rows."""
    found, who = page.desk.house.study(page.visitor, study, Action.ASK)
    given = page.request.query_params
    typed = Typed.of(given).on_a_new_visit()
    return await _free(page, found, who, typed, FormFields.of(given), given.get("do", ""))


@routes.post("/studies/{study}/ask")
async def ask(page: ThePage, study: str) -> Response:
    found, who = page.desk.house.study(page.visitor, study, Action.ASK)
    typed, do = Typed.of(page.form), page.typed("do")
    chosen = FormFields.of({key: page.typed(key) for key in page.form})
    if do != "ask":
        if page.is_part or (address := _short(typed, chosen)) is None:
            return await _free(page, found, who, typed, chosen, do)
        return page.go(f"/studies/{segment(study)}/ask?{address}&do={segment(do[:20])}")
    try:
        words = {**typed.words(), "request": typed.request}
        answer = await page.done(lambda: found.ask(who, [typed.sql], words)[0])
    except CuratorError as error:
        return await _form(page, found, who, typed, chosen, error=error)
    if (address := _short(typed)) is None:
        return await _answered(page, found, who, typed, answer)
    return page.go(f"/studies/{segment(study)}/answer?{address}")


def _short(*parts: Typed | FormFields) -> str | None:
    """What was typed as an address, if that is not too long for one."""
    if sum(len(text) for part in parts for text in asdict(part).values()) > _LONGEST_ADDRESS:
        return None
    address = "&".join(part.address for part in parts)
    return address if len(address) <= _LONGEST_ADDRESS else None


async def _free(
    page: Page, found: ServedStudy, who: Identity, typed: Typed, chosen: FormFields, do: str
) -> Response:
    if do == "write":
        return await _write(page, found, who, typed, chosen)
    if do == "try":
        return await _try_out(page, found, who, typed, chosen)
    return await _form(page, found, who, typed, chosen)


@routes.get("/studies/{study}/answer")
async def answer_page(page: ThePage, study: str) -> Response:
    """What was asked: to go back here, or to load it again, asks nothing."""
    found, who, typed, answer = await _again(page, study)
    return await _answered(page, found, who, typed, answer)


@routes.get("/studies/{study}/answer.{form}")
async def download(page: ThePage, study: str, form: str) -> Response:
    if form not in (*_TYPES, "svg"):
        raise NotFound
    *_, answer = await _again(page, study)
    if form == "svg":
        return await page.done(lambda: pictures.drawn(page, pictures.of_answer(answer)))
    made = await page.done(lambda: answered(_TYPES[form], answer))
    made.headers["Content-Disposition"] = f'attachment; filename="answer.{form}"'
    return made


async def _again(page: Page, study: str) -> tuple[ServedStudy, Identity, Typed, Answer]:
    found, who = page.desk.house.study(page.visitor, study, Action.ASK)
    typed = Typed.of(page.request.query_params)
    words = {**typed.words(), "request": typed.request}
    return found, who, typed, await page.done(lambda: found.again(who, typed.sql, words))


# What is shown.


async def _form(
    page: Page,
    found: ServedStudy,
    who: Identity,
    typed: Typed,
    chosen: FormFields,
    *,
    error: CuratorError | None = None,
    **values: Any,
) -> Response:
    """The page with what was typed, its preview, and what is wrong beside its field."""
    preview, part, problem = None, None, None if error is None else _beside(error)
    if error is None and typed.sql:
        try:
            words = typed.words()
            preview, left = await page.done(
                lambda: (found.previews(who, [typed.sql], words)[0], found.left_to(who))
            )
            part = answers.share_of_left(preview, left)
        except CuratorError as refused:
            if not _is_unpriced(refused):  # who has not said it yet need not be told off
                error, problem = refused, _beside(refused)
    shown = {"of": found.name, "typed": typed, "preview": preview, "part": part, "problem": problem}
    shown |= {"alone": page.is_part}  # a problem is said once: beside its field, or to the script
    if page.is_part:
        return await page.part("part_preview.html", **shown)
    return await page.show(
        "ask.html",
        "Ask",
        status=200 if error is None else error.status,
        **{**shown, **_choices(found.facts()), "chosen": chosen, "tried": None, **values},
    )


async def _write(page: Page, found: ServedStudy, who: Identity, typed: Typed, chosen: FormFields) -> Response:
    try:
        typed = replace(typed, sql=written(chosen, found.facts()))
    except InvalidRequest as error:
        if page.is_part:
            return await page.part("part_problem.html", problem=_beside(error))
        return await _form(page, found, who, typed, chosen, error=error)
    if page.is_part:
        return Response(typed.sql, media_type="text/plain")
    return await _form(page, found, who, typed, chosen)


async def _try_out(
    page: Page, found: ServedStudy, who: Identity, typed: Typed, chosen: FormFields
) -> Response:
    """On made-up rows: free, and said so."""
    page.desk.house.study(page.visitor, found.name, Action.TRY)
    try:
        words = typed.words()

        def tried_out() -> Sheet:
            check_free(found.values_asked([typed.sql]))
            return answers.answer_table(found.try_out([typed.sql], words)[0])

        tried = await page.done(tried_out)
    except CuratorError as error:
        return await _form(page, found, who, typed, chosen, error=error)
    return await _form(page, found, who, typed, chosen, tried=tried)


async def _answered(page: Page, found: ServedStudy, who: Identity, typed: Typed, answer: Answer) -> Response:
    receipt, table, picture, copies = await page.done(
        lambda: (
            found.receipt(answer.receipt.number),
            answers.answer_table(answer),
            pictures.of_answer(answer),
            answers.copies(_origin(page), found.name, typed.sql, typed.words()),
        )
    )
    return await page.show(
        "answer.html",
        "Ask",
        title="Answer",
        of=found.name,
        typed=typed,
        answer=answer,
        table=table,
        picture=picture,
        paid=answers.paid_for(answer, receipt, who.name, typed.request),
        copies=copies,
    )


def _choices(facts: Mapping[str, Any]) -> dict[str, Any]:
    columns = [column for table in facts["tables"] for column in table["columns"]]
    names = [column["name"] for column in columns]
    numbers = [column["name"] for column in columns if column["kind"] in ("integer", "real")]
    groups = [column["name"] for column in columns if can_group(column)]
    return {
        "measures": MEASURES,
        "options": [word for word in StudyOperations.ask.words if word.name in _OPTIONS],
        "costs": {one.name: one.cost for one in (StudyOperations.preview, StudyOperations.ask)},
        "comparisons": COMPARISONS,
        "tables": [(table["name"],) * 2 for table in facts["tables"]],
        "numbers": [("", "choose"), *((name, name) for name in numbers)],
        "filters": [("", "no filter"), *((name, name) for name in names)],
        "groups": [("", "no groups"), *((name, name) for name in groups)],
    }


def _beside(error: CuratorError) -> Problem:
    """The field that it is about."""
    if _is_unpriced(error):
        return wrong("say how accurate it shall be: a half-width, or an epsilon", "within")
    field = error.facts.get("field", "within" if isinstance(error, BudgetRefused) else "sql")
    return problem_of(error, "within" if field in ("share", "scale", "units") else field)


def _is_unpriced(error: CuratorError) -> bool:
    return error.facts.get("reason") == "no_price"


def _origin(page: Page) -> str:
    """As the browser names this server."""
    url = page.request.url
    return f"{'https' if page.secure else url.scheme}://{url.netloc}"
