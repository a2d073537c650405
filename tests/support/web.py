"""Somebody who uses the web pages without a browser: cookies, forms and links, in process."""

from __future__ import annotations

import re
from typing import Any

import httpx2
from fastapi.testclient import TestClient

from support.servers import Served

_FORM = re.compile(r'name="form_value" value="([0-9a-f]{64})"')
_VISIT = re.compile(r'name="visit" value="([0-9a-f]+)"')


class Browsing:
    """One person with cookies of their own."""

    def __init__(self, house: Served, address: str = "http://testserver") -> None:
        self.client = TestClient(house.client.app, base_url=address, raise_server_exceptions=False)

    def log_in(self, headers: dict[str, str], path: str = "/login") -> httpx2.Response:
        """With the token of these headers."""
        form = self.get(path)
        fields = {"token": headers["Authorization"].removeprefix("Bearer "), "next": _next(form.text)}
        return self.post("/login", fields, form)

    def get(self, path: str, **words: Any) -> httpx2.Response:
        return self.client.get(path, **words)

    def post(self, path: str, fields: dict[str, str], page: httpx2.Response, **words: Any) -> httpx2.Response:
        """As the form of ``page`` would send it."""
        return self.client.post(path, data={"form_value": form_value(page), **fields}, **words)

    def asked(self, sql: str, page: httpx2.Response | None = None, **fields: str) -> httpx2.Response:
        """Through the form of the ask page: a new one, or ``page``."""
        form = page or self.get("/studies/people/ask")
        told = {"sql": sql, "visit": visit_of(form), "do": "ask", **fields}
        return self.post("/studies/people/ask", told, form)


def form_value(page: httpx2.Response) -> str:
    found = _FORM.search(page.text)
    assert found is not None, page.text
    return found[1]


def visit_of(page: httpx2.Response) -> str:
    found = _VISIT.search(page.text)
    assert found is not None, page.text
    return found[1]


def problems(page: httpx2.Response) -> list[str]:
    """What the page says is wrong, with the id of the place where it says so."""
    return re.findall(r'<p class="problem" id="([^"]+)" role="alert">', page.text)


def _next(text: str) -> str:
    found = re.search(r'name="next" value="([^"]*)"', text)
    return found[1].replace("&amp;", "&") if found else "/"
