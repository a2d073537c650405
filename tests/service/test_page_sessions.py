"""Log in to the web pages and out: who gets in, for how long, what a cookie says, and whose form is taken."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from test_oidc import Issuer, issuer, section

from adyton.errors import Unauthenticated
from adyton.service.house import House
from adyton.service.settings import Settings
from adyton.transports.http.app import make_app
from adyton.transports.pages.headers import HEADERS
from adyton.transports.pages.sessions import IDLE, LONGEST, WebSession, WebSessions
from support.servers import COUNT, QUICK, Served, bearer, served, write_holdout, write_study
from support.web import Browsing, form_value, problems

__all__ = ["issuer"]  # a fixture
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served([write_study(tmp_path_factory.mktemp("shared"))]) as made:
        yield made


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Served]:
    with served([write_study(tmp_path), write_holdout(tmp_path)]) as made:
        yield made


def is_in(person: Browsing) -> bool:
    shown = person.get("/studies/people", follow_redirects=False)
    assert shown.status_code in (200, 303)
    assert shown.status_code == 200 or shown.headers["location"].startswith("/login?next=")
    return shown.status_code == 200


def cookie_of(person: Browsing, *, secure: bool = False) -> str:
    names = [name for name in person.client.cookies if "visit" not in name]
    assert len(names) == 1
    assert names[0].startswith("__Host-adyton_" if secure else "adyton_")
    return names[0]


def test_a_cookie_holds_no_token_and_no_script_and_no_other_page_gets_it(house: Served) -> None:
    person, headers = Browsing(house), house.made("ana")
    came = person.log_in(headers)
    (answer,) = came.history
    flags = answer.headers["set-cookie"]
    assert all(flag in flags for flag in ("HttpOnly", "SameSite=strict", "Path=/"))
    assert "Secure" not in flags
    assert "Domain" not in flags
    token = headers["Authorization"].removeprefix("Bearer ")
    kept = person.client.cookies[cookie_of(person)].split(".")[0]
    told = base64.urlsafe_b64decode(kept + "==").decode()
    assert token not in told
    assert token.removeprefix("adyton_") not in told
    assert set(json.loads(told)) == {"id", "began", "until", "end", "places", "person", "claims"}


@pytest.mark.parametrize("seen", ["https://testserver", "http://testserver"])
def test_behind_tls_a_cookie_is_secure_and_of_this_host_alone(tmp_path: Path, seen: str) -> None:
    """With TLS of our own the process sees it; behind a proxy it is told by --behind-proxy."""
    with served([write_study(tmp_path)]) as house:
        told = TestClient(make_app(house.house, secure=seen.startswith("http:")), base_url=seen)
        person = Browsing(house, seen)
        person.client = told
        headers = house.made("ana")
        form = person.get("/login")
        answer = person.post("/login", {"token": headers["Authorization"][7:]}, form, follow_redirects=False)
        if seen.startswith("http:"):  # this client would not send a secure cookie back without TLS
            assert all("Secure" in one for one in form.headers.get_list("set-cookie"))
            return
        assert "Secure" in answer.headers["set-cookie"]
        assert answer.headers["set-cookie"].startswith("__Host-adyton_")
        cookie_of(person, secure=True)
        assert is_in(person)


def test_a_session_ends_with_its_token_at_once(house: Served) -> None:
    person, headers = Browsing(house), house.made("ana")
    person.log_in(headers)
    assert is_in(person)
    next(one for one in house.house.served if one.name == "people").tokens.revoke("ana")
    assert not is_in(person)


def test_a_session_ends_with_its_token_unused_and_after_a_day_of_work(
    house: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session ends when its token expires, when nobody uses it, and after a day of work."""
    (tokens,) = (one.tokens for one in house.house.served if one.name == "people")
    now = [tokens._clock()]
    sessions = WebSessions(house.house, clock=lambda: now[0])
    monkeypatch.setattr(tokens, "_clock", lambda: now[0])

    def begun(**words: Any) -> WebSession:
        return sessions.begin(house.made("ana", **words)["Authorization"][7:])

    def holds(session: WebSession) -> bool:
        try:
            return sessions.visitor(session).identity("people") is not None
        except Unauthenticated:
            return False

    short, idle, used = begun(expires="10m"), begun(), begun()
    began = now[0]
    assert all(map(holds, (short, idle, used)))
    now[0] = began + 601
    assert [holds(one) for one in (short, idle, used)] == [False, True, True]
    for _ in range(100):
        if not holds(used):
            break
        now[0] += IDLE / 2 + 1
        used = sessions.prolonged(used) or used
    assert not holds(idle)
    assert began + LONGEST - IDLE <= now[0] <= began + LONGEST + IDLE
    assert used.until == used.end == pytest.approx(began + LONGEST, abs=1)


def test_to_log_out_ends_the_cookie_itself(house: Served) -> None:
    person, thief = Browsing(house), Browsing(house)
    person.log_in(house.made("ana"))
    thief.client.cookies.update(dict(person.client.cookies))
    assert is_in(thief)
    page = person.get("/studies/people")
    gone = person.post("/logout", {}, page)
    assert gone.url.path == "/login"
    assert not is_in(person)
    assert not is_in(thief)  # a copy of the cookie is worth nothing


def test_to_log_out_everywhere_ends_all_sessions_of_the_token_alone(house: Served, tmp_path: Path) -> None:
    headers, other = house.made("ana"), Browsing(house)
    phone, desk = Browsing(house), Browsing(house)
    for person in (phone, desk):
        person.log_in(headers)
    other.log_in(house.made("bob"))
    again = House.of_files([tmp_path / "people.toml"], QUICK)  # another process
    there = Browsing(house)
    there.client = TestClient(make_app(again))
    there.client.cookies.update(dict(phone.client.cookies))
    assert is_in(there)
    desk.post("/logout", {"where": "everywhere"}, desk.get("/"))
    assert not any(map(is_in, (phone, desk, there)))
    assert is_in(other)
    desk.log_in(headers)  # the token itself goes on
    assert is_in(desk)
    again.close()


@pytest.mark.parametrize("hours", [-3, 0, 3])
@pytest.mark.parametrize("everywhere", [False, True])
def test_to_log_out_does_not_go_by_the_clock(
    house: Served, monkeypatch: pytest.MonkeyPatch, hours: int, everywhere: bool
) -> None:
    """Clocks are set back, also between log-ins.  Mutants: a log-out is noted at the time of the clock; so is a log-in."""
    (tokens,) = (one.tokens for one in house.house.served if one.name == "people")
    now = [tokens._clock()]
    sessions = WebSessions(house.house, clock=lambda: now[0])
    monkeypatch.setattr(tokens, "_clock", lambda: now[0])
    token = house.made("ana")["Authorization"].removeprefix("Bearer ")
    first = sessions.begin(token)
    now[0] += 100
    second = sessions.begin(token)
    now[0] += 3600 * hours if hours < 0 else 10 * hours
    sessions.end(first, everywhere=everywhere)
    with pytest.raises(Unauthenticated):
        sessions.visitor(first)
    third = sessions.begin(token)
    assert sessions.visitor(third)
    if everywhere:
        with pytest.raises(Unauthenticated):
            sessions.visitor(second)
    else:
        assert sessions.visitor(second)


def test_nobody_can_write_a_cookie(shared: Served) -> None:
    person = Browsing(shared)
    person.log_in(shared.made("ana"))
    name = cookie_of(person)
    text, signature = person.client.cookies[name].split(".")
    told = json.loads(base64.urlsafe_b64decode(text + "=="))
    forged = base64.urlsafe_b64encode(json.dumps({**told, "until": told["until"] + 1}).encode()).decode()
    flipped = signature[:-1] + ("0" if signature[-1] != "0" else "1")
    for bad in (f"{forged}.{signature}", f"{text}.{flipped}", text, "", ".", f"{text}.", "é.é", "a" * 5000):
        tried = person.client.get(
            "/studies/people", headers={"cookie": f"{name}={bad}".encode()}, follow_redirects=False
        )
        mine = TestClient(shared.client.app).get(
            "/studies/people", headers={"cookie": f"{name}={bad}".encode()}, follow_redirects=False
        )
        assert mine.status_code == 303, (bad, tried.status_code)
    for bad in ("\udc80.x", "x.\udc80"):  # which no header can hold
        with pytest.raises(Unauthenticated):
            shared.client.app.state.sessions.read(bad)  # type: ignore[attr-defined]


def test_a_form_of_nobody_or_another_session_is_refused_and_does_nothing(house: Served) -> None:
    ana, bob = Browsing(house), Browsing(house)
    ana.log_in(house.made("ana"))
    bob.log_in(house.made("bob"))
    path, told = "/studies/people/ask", {"sql": COUNT, "within": "50", "do": "ask"}
    for value in ("", "0" * 64, form_value(bob.get(path)), "é"):
        refused = ana.client.post(path, data={**told, "form_value": value})
        assert refused.status_code == 403
        assert "not from a page of this session" in refused.text
    assert ana.client.post(path, data=told).status_code == 403
    assert ana.client.post("/logout", data={}).status_code == 403
    assert is_in(ana)
    budget = house.client.get("/v1/studies/people/budget", headers=house.made("eve", "auditor")).json()
    assert budget["queries"] == 0
    stranger = Browsing(house)  # nobody is logged in by a page elsewhere
    form, token = Browsing(house).get("/login"), house.made("mal")["Authorization"][7:]
    assert stranger.post("/login", {"token": token}, form).status_code == 403
    assert not is_in(stranger)


def test_cookies_open_pages_and_not_the_api(shared: Served) -> None:
    person = Browsing(shared)
    person.log_in(shared.made("ana"))
    assert person.get("/v1/studies").status_code == 401


def test_what_is_not_a_token_is_said_beside_the_field(shared: Served) -> None:
    person = Browsing(shared)
    for bad in ("", "x", "adyton_" + "0" * 64, "a.b.c", "9" * 10_000):
        form = person.get("/login")
        shown = person.post("/login", {"token": bad}, form)
        assert shown.status_code == 401
        assert problems(shown) == ["token-problem"]
        assert bad not in shown.text or bad in ("", "x")


@pytest.mark.parametrize(
    ("path", "lands"),
    [
        ("/studies/people/budget", "/studies/people/budget"),
        ("/studies/people/ask?sql=SELECT+1&within=5", "/studies/people/ask?sql=SELECT+1&within=5"),
    ],
)
def test_whoever_logs_in_gets_where_they_wanted_to_go(shared: Served, path: str, lands: str) -> None:
    person = Browsing(shared)
    came = person.log_in(shared.made("ana"), path)
    assert str(came.url).removeprefix("http://testserver") == lands


@pytest.mark.parametrize(
    "next_",
    [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "/\t/evil.example",
        "javascript:alert(1)",
        "\\",
        "",
    ],
)
def test_nobody_is_sent_elsewhere_by_the_log_in(shared: Served, next_: str) -> None:
    person = Browsing(shared)
    form = person.get("/login", params={"next": next_})
    token = shared.made("ana")["Authorization"][7:]
    sent = person.post("/login", {"token": token, "next": next_}, form, follow_redirects=False)
    assert sent.headers["location"] == "/"
    assert f'value="{next_}"' not in form.text or not next_


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/login",
        "/nowhere",
        "/assets/adyton.css",
        "/assets/x",
        "/v1/studies",
        "/v1/nowhere",
        "/healthz",
        "/v1/openapi.json",
    ],
)
def test_every_response_has_the_policy(shared: Served, path: str) -> None:
    shown = shared.client.get(path, follow_redirects=False)
    for name, value in HEADERS.items():
        assert name in shown.headers
        assert shown.headers[name] == value or (name, path) == ("Cache-Control", "/assets/adyton.css")
    assert shown.headers["Content-Security-Policy"] == POLICY
    assert shown.headers["X-Content-Type-Options"] == "nosniff"
    assert shown.headers["Referrer-Policy"] == "no-referrer"
    assert shown.headers["X-Frame-Options"] == "DENY"


def test_a_fault_of_ours_has_the_policy_too(house: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WebSessions, "read", lambda *_: 1 / 0)
    shown = house.client.get("/")
    assert shown.status_code == 500
    assert "ZeroDivisionError" not in shown.text
    assert shown.headers["Content-Security-Policy"] == HEADERS["Content-Security-Policy"]


def test_a_token_of_the_identity_provider_opens_the_pages_until_it_ends(
    tmp_path: Path, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(**{**asdict(QUICK), "oidc": section(issuer)})
    with served([write_study(tmp_path)], settings) as house:
        person, phone, stranger = Browsing(house), Browsing(house), Browsing(house)
        person.log_in(bearer(issuer.token()))
        phone.log_in(bearer(issuer.token()))
        shown = person.get("/studies/people")
        assert "oidc ana" in shown.text
        assert "analyst" in shown.text
        assert not is_in(stranger)
        stranger.log_in(bearer(issuer.token(groups=["others"])))
        assert not is_in(stranger)
        kept = person.client.cookies[cookie_of(person)].split(".")[0]
        told = json.loads(base64.urlsafe_b64decode(kept + "=="))
        assert told["end"] - told["began"] <= 61  # that of the token
        person.post("/logout", {"where": "everywhere"}, person.get("/"))
        assert not is_in(phone)
        phone.log_in(bearer(issuer.token()))
        assert is_in(phone)
        sessions = house.client.app.state.sessions
        monkeypatch.setattr(sessions, "_clock", lambda: told["began"] + 120)
        assert not is_in(phone)
