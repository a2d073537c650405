"""Lab: every entry with its numbers beside the expected ones, and its figure.  Each is run once a process."""

from __future__ import annotations

import threading

import numpy as np
from fastapi import APIRouter
from starlette.responses import Response

from adyton.errors import NotFound
from adyton.figures.drawing import html
from adyton.figures.report import LabReport
from adyton.kernel.noise import SystemBits
from adyton.lab import EXPERIMENTS, run
from adyton.transports.http.formats import told
from adyton.transports.pages import pictures
from adyton.transports.pages.page import PageRoute, ThePage

routes = APIRouter(route_class=PageRoute, include_in_schema=False)
_TOPICS = {topic.name: topic for topic in EXPERIMENTS}
_REPORTS: dict[str, LabReport] = {}
_LOCK = threading.Lock()


@routes.get("/lab")
async def gallery(page: ThePage) -> Response:
    return await page.show("lab.html", "Lab", topics=list(_TOPICS.values()), reports=dict(_REPORTS))


@routes.get("/lab/{name}")
async def entry(page: ThePage, name: str) -> Response:
    report = await page.done(lambda: _report(name))
    names = list(_TOPICS)
    place = names.index(name)
    return await page.show(
        "lab_entry.html",
        "Lab",
        title=report.topic.title,
        report=report,
        sheet=report.sheet(),
        picture=report.figure(),
        before=names[place - 1] if place else None,
        after=names[place + 1] if place + 1 < len(names) else None,
    )


@routes.get("/lab/{name}/figure.svg")
async def picture(page: ThePage, name: str) -> Response:
    return await page.done(lambda: pictures.drawn(page, _report(name).figure()))


@routes.get("/lab/{name}/figure.html")
async def interactive(page: ThePage, name: str) -> Response:
    """A file to take along, not a page of ours: it brings a script of its own, which our policy forbids."""
    text = await page.done(lambda: html(_report(name).figure()))
    file = {"Content-Disposition": f'attachment; filename="{name}.html"'}
    return Response(text, media_type="text/html", headers=file)


@routes.get("/lab/{name}/report.json")
async def numbers(page: ThePage, name: str) -> Response:
    return await page.done(lambda: told(_report(name).to_json()))


def _report(name: str) -> LabReport:
    """The same for all who look: its page and its figure show one run."""
    if name not in _TOPICS:
        raise NotFound
    with _LOCK:
        if name not in _REPORTS:
            _REPORTS[name] = run(name, SystemBits(), np.random.default_rng())
        return _REPORTS[name]
