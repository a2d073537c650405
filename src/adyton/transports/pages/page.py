"""One request for a page: who sends it, what was typed, and how the answer is made.

Pages go through the same desk as the API: rates, places, roles and the grid are the same.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from adyton.errors import CuratorError, Forbidden, Unauthenticated
from adyton.operations.roles import Action
from adyton.service.gate import Holding
from adyton.service.holdouts import ServedHoldout
from adyton.service.house import Visitor
from adyton.service.limits import LIMITS
from adyton.transports.http.desk import Desk
from adyton.transports.http.intake import read_body
from adyton.transports.http.limits import COOKIES
from adyton.transports.pages.forms import Form, check_charset, parsed_form
from adyton.transports.pages.navigation import entry, links
from adyton.transports.pages.problems import problem_of
from adyton.transports.pages.rendering import rendered
from adyton.transports.pages.sessions import WAY, WebSession, WebSessions

FORM = "form_value"  # the field that every form carries
FRAGMENT = "x-adyton-part"  # a request of our script, for a part of a page
_VISIT = "adyton_visit"
_WAY = "adyton_way"
_NO_FORM = "this form is not from a page of this session: load the page again; nothing was done"
_Done = TypeVar("_Done")


class Page:
    """What a handler works with."""

    holding: Holding

    def __init__(self, request: Request, sessions: WebSessions, *, secure: bool) -> None:
        self.request, self.sessions = request, sessions
        self.secure = secure or request.url.scheme == "https"
        self.desk: Desk = request.app.state.desk
        self.form: Form = {}
        self.session: WebSession | None = None
        self._visitor: Visitor | None = None
        self._cookies = _cookies_of(request)
        self.visit = self._cookies.get(_VISIT) or secrets.token_hex(16)

    @property
    def visitor(self) -> Visitor:
        if self._visitor is None:
            raise Unauthenticated
        return self._visitor

    @property
    def key(self) -> str:
        """Under which it is counted what this request holds."""
        return "nobody" if self._visitor is None else self._visitor.key

    @property
    def is_part(self) -> bool:
        return FRAGMENT in self.request.headers

    # Who it is.

    def enter(self) -> None:
        """The visitor behind the cookie, if not too often; Unauthenticated without one."""
        self.desk.knock(self.request.scope)
        session = self.sessions.read(self._cookies.get(self.cookie))
        self._visitor = self.desk.let_in(self.sessions.visitor(session))
        self.session = session

    async def check_form(self) -> None:
        """Only after it is known who sends it.  A form of another session, or of nobody's, is refused."""
        kind = self.request.headers.get("content-type", "")
        check_charset(kind)
        content = await read_body(self.request.receive, self._room(), self.holding)
        if len(content) <= LIMITS.small_bytes:
            self.form = parsed_form(kind, content)
        else:
            self.form = await self.desk.parsed(lambda: parsed_form(kind, content))
        if not self.sessions.fits(self._form_of, self.form.get(FORM)):
            raise Forbidden(_NO_FORM)

    def _room(self) -> int:
        """How many bytes a form may have.  NotFound or Forbidden where there is nothing to send it to."""
        settings, named = self.desk.house.settings, next(iter(self.request.path_params.values()), None)
        if self._visitor is None:
            return LIMITS.head_bytes
        if named is not None and self.request.scope["path"].endswith("/access"):
            self.desk.house.anything(self._visitor, named, Action.TOKENS)
        elif "/do/" in self.request.scope["path"]:  # the role is looked at by the form
            found, _ = self.desk.house.anything(self._visitor, str(named), Action.LOOK)
            return settings.upload_bytes if isinstance(found, ServedHoldout) else settings.request_bytes
        elif self.request.scope["path"].startswith("/holdouts/"):
            self.desk.house.holdout(self._visitor, str(named), Action.SCORE)
            return settings.upload_bytes
        elif named is not None:
            self.desk.house.anything(self._visitor, named, Action.LOOK)
        return settings.request_bytes

    def typed(self, name: str) -> str:
        """What stands in a field; empty if nothing does."""
        value = self.form.get(name, "")
        return value.strip() if isinstance(value, str) else ""

    @property
    def _form_of(self) -> str:
        return self.session.id if self.session is not None else self.visit

    # What goes out.

    async def done(self, work: Callable[[], _Done]) -> _Done:
        """Everything that looks at a ledger or at data: as for the API, in the pool and on the grid."""
        return await self.desk.done(self.visitor, work)

    async def show(
        self, template: str, here: str, *, of: str | None = None, status: int = 200, **values: Any
    ) -> Response:
        """A whole page.  ``here`` is its title in the navigation, ``of`` the study or holdout it is about."""
        house, visitor = self.desk.house, self._visitor
        known = entry(here)
        beside = {
            "here": here,
            "of": of,
            "logged_in": visitor is not None,
            "links": links(house, visitor, here) if visitor is not None else [],
            "tabs": links(house, visitor, here, of) if visitor is not None and of is not None else [],
            "help": known.help if known is not None else None,
            "problem": None,
            "who": visitor.identity(of) if visitor is not None and of is not None else None,
        }
        text = await run_in_threadpool(rendered, template, **{**beside, **self.fields, **values})
        return Response(text, status, media_type="text/html")

    async def part(self, template: str, **values: Any) -> Response:
        """A part of a page, for our script."""
        text = await run_in_threadpool(rendered, template, **self.fields, **values)
        return Response(text, media_type="text/html")

    @property
    def fields(self) -> dict[str, Any]:
        """What every template with a form needs."""
        return {"form_name": FORM, "form_value": self.sessions.form_value(self._form_of)}

    def go(self, path: str) -> Response:
        """After a form was taken: what is shown next is asked for anew, so going back repeats nothing."""
        return RedirectResponse(path, 303)

    async def failed(self, error: CuratorError) -> Response:
        """Where no page can say it better."""
        if isinstance(error, Unauthenticated):
            return self._to_log_in()
        if self.is_part:
            return await self.part("part_problem.html", problem=problem_of(error))
        shown = await self.show("problem.html", "Problem", status=error.status, problem=problem_of(error))
        if "retry_after" in error.facts:
            shown.headers["Retry-After"] = str(error.facts["retry_after"])
        return shown

    def _to_log_in(self) -> Response:
        url = self.request.url
        back = url.path + (f"?{url.query}" if url.query else "")
        if self.request.method != "GET":
            back = url.path
        return self.go("/login" if back == "/" else f"/login?next={quote(back, safe='')}")

    # Cookies.

    @property
    def cookie(self) -> str:
        return ("__Host-" if self.secure else "") + self.sessions.name

    def keep(self, response: Response, session: WebSession) -> None:
        self._set(response, self.cookie, self.sessions.written(session))

    def forget(self, response: Response) -> None:
        response.delete_cookie(self.cookie, path="/", secure=self.secure, httponly=True, samesite="strict")

    @property
    def way(self) -> str | None:
        """What was noted before the browser was sent to the identity provider."""
        return self._cookies.get(_WAY)

    def note_way(self, response: Response, note: str) -> None:
        """Lax: it must come along when the provider sends the browser back.  Empty: forgotten."""
        words = {"path": "/login", "secure": self.secure, "httponly": True, "samesite": "lax"}
        response.set_cookie(_WAY, note, max_age=WAY if note else 0, **words)  # type: ignore[arg-type]

    def remember_visit(self, response: Response) -> None:
        """So that the form of the log-in page belongs to this browser."""
        self._set(response, _VISIT, self.visit)

    def _set(self, response: Response, name: str, value: str) -> None:
        response.set_cookie(name, value, path="/", secure=self.secure, httponly=True, samesite="strict")


class PageRoute(APIRoute):
    """Who sends a request is asked before its form is read; what goes wrong is said in a page."""

    open_to_all = False

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer, open_to_all = super().get_route_handler(), self.open_to_all

        async def handle(request: Request) -> Response:
            page = new_page(request)
            request.state.page = page
            try:
                if open_to_all:
                    page.desk.knock(request.scope)
                else:
                    page.enter()
                with Holding(page.desk.uploads, page.key) as page.holding:
                    if request.method == "POST":
                        await page.check_form()
                    response = await answer(request)
            except CuratorError as error:
                response = await page.failed(error)
            longer = page.sessions.prolonged(page.session) if page.session is not None else None
            if longer is not None and "set-cookie" not in response.headers:
                page.keep(response, longer)
            return response

        return handle


class OpenRoute(PageRoute):
    """For those who are not logged in."""

    open_to_all = True


def _cookies_of(request: Request) -> dict[str, str]:
    """Ours have no quotes in them."""
    given = request.scope.get("state", {}).get(COOKIES, b"").decode("latin-1")
    pairs = (pair.partition("=") for pair in given.split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def new_page(request: Request) -> Page:
    state = request.app.state
    return Page(request, state.sessions, secure=state.secure)


async def _page_of(request: Request) -> Page:
    page: Page = request.state.page
    return page


ThePage = Annotated[Page, Depends(_page_of)]
