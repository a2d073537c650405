"""Plan: rows, tolerance, queries, two of three; all methods compared, and what a study file says."""

from __future__ import annotations

import threading
from functools import lru_cache
from urllib.parse import urlencode

from fastapi import APIRouter
from starlette.responses import Response

from adyton.errors import CuratorError, InvalidRequest
from adyton.figures.drawing import Figure
from adyton.transports.all_methods import AllMethods
from adyton.transports.http.formats import told
from adyton.transports.pages import pictures
from adyton.transports.pages.page import Page, PageRoute, ThePage
from adyton.transports.pages.problems import Problem, problem_of
from adyton.validity.planner import plan

routes = APIRouter(route_class=PageRoute, include_in_schema=False)
_USUAL = {"rows": "", "tolerance": "", "queries": "", "confidence": "0.95"}
_USUAL |= {"expect_share": "", "spread": "", "group": ""}
_WHOLE = ("rows", "queries")
_LONGEST = 40
_LOCK = threading.Lock()


@routes.get("/plan")
async def plan_page(page: ThePage) -> Response:
    typed = _typed(page)
    found: AllMethods | None = None
    problem: Problem | None = None
    if page.request.query_params:  # the form was sent, if only to be told what is missing
        try:
            found = await page.done(lambda: _found(**_given(typed)))
        except CuratorError as error:
            problem = problem_of(error)
    address = urlencode({name: value for name, value in typed.items() if value})
    return await page.show(
        "plan.html",
        "Plan",
        status=422 if problem else 200,
        typed=typed,
        found=found,
        problem=problem,
        address=address,
    )


@routes.get("/plan.svg")
async def plan_picture(page: ThePage) -> Response:
    typed = _typed(page)
    return await page.done(lambda: pictures.drawn(page, _figure(**_given(typed))))


@routes.get("/plan.json")
async def plan_numbers(page: ThePage) -> Response:
    """The same object that ``adyton plan --json`` prints."""
    typed = _typed(page)
    return await page.done(lambda: told(_found(**_given(typed)).to_json()))


@lru_cache(maxsize=64)
def _found(**given: str | int) -> AllMethods:
    return AllMethods(plan(**given))  # type: ignore[arg-type]


def _figure(**given: str | int) -> Figure:
    """Seconds of planning, for many numbers of rows: so it comes after the page.

    One after another: a window that changes its width asks for the same figure before the first is there.
    """
    with _LOCK:
        return _planned(**given)


@lru_cache(maxsize=64)
def _planned(**given: str | int) -> Figure:
    return _found(**given).figure()


def _typed(page: Page) -> dict[str, str]:
    asked = page.request.query_params
    return {name: asked.get(name, default).strip() for name, default in _USUAL.items()}


def _given(typed: dict[str, str]) -> dict[str, str | int]:
    """What was typed, as the planner takes it; numbers of rows and queries may have commas."""
    long = next((name for name, text in typed.items() if len(text) > _LONGEST), None)
    if long is not None:
        raise InvalidRequest(f"{long.replace('_', ' ')} is a number, of at most {_LONGEST} characters")
    return {name: _whole(name, text) if name in _WHOLE else text for name, text in typed.items() if text}


def _whole(name: str, text: str) -> int:
    digits = text.replace(",", "").replace("_", "").replace(" ", "")
    if not digits.isascii() or not digits.isdigit():
        raise InvalidRequest(f"{name} is a whole number, such as 100,000")
    return int(digits)
