"""Log in with an identity provider, by a code: who is sent there comes back as themselves, and nobody else does."""

from __future__ import annotations

import base64
import hashlib
import html
import http.server
import json
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from test_oidc import Issuer, issuer, section

from adyton.errors import InvalidRequest
from adyton.service.oidc import Provider
from adyton.service.settings import Settings
from support.servers import QUICK, Served, served, write_study
from support.web import Browsing

__all__ = ["issuer"]  # a fixture
BACK = "http://127.0.0.1:1/login/back"


class Desk:
    """The part of a provider that people see: it lets everybody in as ana, for a code that is exchanged once."""

    def __init__(self, issuer: Issuer) -> None:
        self.codes: dict[str, str] = {}
        self.groups: list[str] = ["statistics"]
        self.secrets: list[str] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                told = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
                self.send_response(200 if "code_challenge" in told else 404)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                if "code_challenge" in told:  # and not the icon of the page
                    address = html.escape(outer.approved(told))
                    self.wfile.write(f'<a href="{address}">I am ana</a>'.encode())

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                told = {name: values[0] for name, values in parse_qs(body).items()}
                outer.secrets.append(told.get("client_secret", ""))
                made = base64.urlsafe_b64encode(hashlib.sha256(told["code_verifier"].encode()).digest())
                fits = outer.codes.pop(told["code"], "") == made.decode().rstrip("=")
                self.send_response(200 if fits else 400)
                self.end_headers()
                given = (
                    {"id_token": issuer.token(groups=outer.groups)} if fits else {"error": "invalid_grant"}
                )
                self.wfile.write(json.dumps(given).encode())

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def approved(self, told: dict[str, str]) -> str:
        """Where the provider sends somebody whom it knows."""
        assert told["response_type"] == "code"
        assert told["code_challenge_method"] == "S256"
        code = f"code {len(self.codes)}"
        self.codes[code] = told["code_challenge"]
        return f"{told['redirect_uri']}?{urlencode({'code': code, 'state': told['state']})}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def provider(issuer: Issuer) -> Iterator[Desk]:
    made = Desk(issuer)
    yield made
    made.close()


def code_section(
    issuer: Issuer, provider: Desk, redirect: str = BACK, host: str = "127.0.0.1"
) -> dict[str, Any]:
    url = f"http://{host}:{provider.server.server_port}"
    return {
        **section(issuer),
        "client_id": "adyton-pages",
        "authorize": f"{url}/authorize",
        "token": f"{url}/token",
        "redirect": redirect,
    }


@pytest.fixture
def house(tmp_path: Path, issuer: Issuer, provider: Desk) -> Iterator[Served]:
    settings = Settings(**{**asdict(QUICK), "oidc": code_section(issuer, provider)})
    with served([write_study(tmp_path)], settings) as made:
        yield made


def sent(person: Browsing, path: str = "/studies/people/budget") -> dict[str, str]:
    """What the provider is told when somebody presses the button."""
    form = person.get(path)
    link = re.search(r'href="(/login/provider[^"]*)"', form.text)
    assert link is not None
    went = person.get(link[1].replace("&amp;", "&"), follow_redirects=False)
    assert went.status_code == 303
    flags = went.headers["set-cookie"]
    assert "HttpOnly" in flags
    assert "SameSite=lax" in flags
    return {name: values[0] for name, values in parse_qs(urlsplit(went.headers["location"]).query).items()}


def back(person: Browsing, address: str) -> int:
    return person.get("/login/back?" + urlsplit(address).query).status_code


def is_in(person: Browsing) -> bool:
    return person.get("/studies/people", follow_redirects=False).status_code == 200


def test_whoever_is_sent_there_comes_back_as_themselves_where_they_were(
    house: Served, provider: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADYTON_OIDC_SECRET", "of this server")
    person = Browsing(house)
    told = sent(person)
    assert told["client_id"] == "adyton-pages"
    assert told["redirect_uri"] == BACK
    shown = person.get("/login/back?" + urlsplit(provider.approved(told)).query)
    assert shown.status_code == 200
    assert 'content="0; url=/studies/people/budget"' in shown.text
    assert is_in(person)
    assert "oidc ana" in person.get("/studies/people").text
    assert provider.secrets == ["of this server"]


def test_nobody_comes_in_by_a_code_that_is_not_theirs(
    house: Served, provider: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    mallory, victim = Browsing(house), Browsing(house)
    hers = provider.approved(sent(mallory))
    assert back(victim, hers) == 401  # a link that logs the victim in as somebody else
    own = provider.approved(sent(victim))
    assert back(victim, re.sub("state=.*", "state=another", own)) == 401
    code = parse_qs(urlsplit(hers).query)["code"][0]
    state = parse_qs(urlsplit(own).query)["state"][0]
    swapped = f"{BACK}?{urlencode({'code': code, 'state': state})}"
    assert back(victim, swapped) == 401  # a stolen code is no use without its verifier
    for bad in ("", "?error=access_denied&state=" + state, "?code=&state=" + state, "?code=x&state=é"):
        assert back(victim, BACK + bad) == 401
    assert not is_in(victim)
    cookie = victim.client.cookies["adyton_way"]
    changed = cookie[:-1] + ("0" if cookie[-1] != "0" else "1")
    stranger = Browsing(house)
    for note, status in ((changed, 401), ("", 401), ("é.é", 401), (cookie, 200)):
        headers = {"cookie": f"adyton_way={note}".encode()}
        tried = stranger.get("/login/back?" + urlsplit(own).query, headers=headers)
        assert tried.status_code == status, note
    assert not is_in(victim)
    late = provider.approved(sent(mallory))
    monkeypatch.setattr(house.client.app.state.sessions, "_clock", lambda: time.time() + 601)
    assert back(mallory, late) == 401


def test_who_has_no_claim_here_is_told_so_and_a_code_works_once(house: Served, provider: Desk) -> None:
    person = Browsing(house)
    provider.groups = ["others"]
    assert back(person, provider.approved(sent(person))) == 401
    provider.groups = ["statistics"]
    address = provider.approved(sent(person))
    assert back(person, address) == 200
    again = Browsing(house)
    again.client.cookies.update(dict(person.client.cookies))
    assert back(again, address) == 401


def test_without_a_code_flow_there_is_no_button_and_no_door(tmp_path: Path) -> None:
    with served([write_study(tmp_path)]) as house:
        person = Browsing(house)
        assert "identity provider</a>" not in person.get("/login").text
        assert person.get("/login/provider").status_code == 404
        assert person.get("/login/back?code=x&state=y").status_code == 404


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"client_id": None}, "client_id is missing"),
        ({"redirect": None}, "redirect is missing"),
        ({"authorize": "http://login.example.org"}, "oidc.authorize must be an https address"),
        ({"token": "file:///etc/passwd"}, "oidc.token must be an https address"),
    ],
)
def test_a_section_that_makes_no_sense_is_refused(
    issuer: Issuer, provider: Desk, change: dict[str, Any], says: str
) -> None:
    told = {**code_section(issuer, provider), **change}
    with pytest.raises(InvalidRequest, match=says):
        Provider({name: value for name, value in told.items() if value is not None})
