"""Tokens of an identity provider: an issuer of our own that signs with keys of its own, on loopback."""

from __future__ import annotations

import http.server
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from adyton.errors import InvalidRequest
from adyton.service.oidc import Provider
from adyton.service.settings import Settings, read_settings
from support.servers import COUNT, QUICK, Served, bearer, served, write_study

ISSUER, AUDIENCE = "https://login.example.org", "adyton"


class Issuer:
    """Keys, and a server that shows the public ones."""

    def __init__(self) -> None:
        self.keys = {"a": rsa.generate_private_key(public_exponent=65537, key_size=2048)}
        outer = self

        class Keys(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                shown = [
                    {
                        **json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key())),
                        "kid": name,
                        "use": "sig",
                        "alg": "RS256",
                    }
                    for name, key in outer.keys.items()
                ]
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps({"keys": shown}).encode())

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Keys)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    @property
    def jwks(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/keys"

    def token(self, kid: str = "a", key: Any = None, algorithm: str = "RS256", **claims: Any) -> str:
        now = int(time.time())
        told = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": "ana",
            "iat": now,
            "exp": now + 60,
            "groups": ["statistics"],
            **claims,
        }
        told = {name: value for name, value in told.items() if value is not None}
        return jwt.encode(told, key or self.keys["a"], algorithm=algorithm, headers={"kid": kid})


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    made = Issuer()
    yield made
    made.server.shutdown()
    made.server.server_close()
    made.thread.join()


def section(issuer: Issuer) -> dict[str, Any]:
    roles = [
        {"claim": "statistics", "study": "people", "role": "analyst", "budget_share": 0.25},
        {"claim": "boss", "study": "people", "role": "owner"},
    ]
    return {"issuer": ISSUER, "audience": AUDIENCE, "jwks": issuer.jwks, "roles": roles}


@pytest.fixture
def house(tmp_path: Path, issuer: Issuer) -> Iterator[Served]:
    with served([write_study(tmp_path)], Settings(**{**asdict(QUICK), "oidc": section(issuer)})) as made:
        yield made


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory, issuer: Issuer) -> Iterator[Served]:
    """One that lets others in, for those whom it does not."""
    settings = Settings(**{**asdict(QUICK), "oidc": section(issuer)})
    with served([write_study(tmp_path_factory.mktemp("calm"))], settings) as made:
        assert made.ask(bearer(issuer.token()), COUNT, within=50).status_code == 200
        yield made


def test_a_claim_gives_a_role_a_name_and_a_part_of_the_limit(house: Served, issuer: Issuer) -> None:
    answer = house.ask(bearer(issuer.token()), COUNT, within=50)
    assert answer.status_code == 200
    own = house.client.get("/v1/studies/people/budget", headers=bearer(issuer.token())).json()["own"]
    assert own["by"] == "oidc ana"
    assert own["budget_share"] is not None
    assert house.client.get("/v1/tokens/people", headers=bearer(issuer.token())).status_code == 403
    assert (
        house.client.get("/v1/tokens/people", headers=bearer(issuer.token(groups="boss"))).status_code == 200
    )
    assert house.ask(house.made("local"), COUNT, within=50).status_code == 200  # our own tokens still work


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "another"}, {"iss": "https://evil.example.org"}, {"exp": 1}, {"exp": None}, {"sub": None}, {"groups": []}, {"groups": ["other"]},
        {"iat": None}, {"sub": "a\nb"}, {"sub": "x" * 500}, {"nbf": 2**33}, {"kid": "unknown"}, {"groups": 5}, {"groups": [5, None]},
    ],
)  # fmt: skip
def test_what_is_not_quite_right_is_nobody(calm: Served, issuer: Issuer, claims: dict[str, Any]) -> None:
    """One body for all of them.  Mutants: audience, issuer or expiry are not checked."""
    answer = calm.ask(bearer(issuer.token(**claims)), COUNT, within=50)
    nobody = calm.ask(bearer("adyton_" + "0" * 64), COUNT, within=50)
    assert (answer.status_code, answer.content) == (401, nobody.content)


def test_another_key_or_algorithm_signs_nothing(calm: Served, issuer: Issuer) -> None:
    """Mutants: the signature is not checked; ``none`` and shared secrets are taken."""
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    forged = [issuer.token(key=stranger), issuer.token(key="x" * 64, algorithm="HS256"), unsigned(issuer)]
    assert [calm.ask(bearer(token), COUNT, within=50).status_code for token in forged] == [401] * 3


def unsigned(issuer: Issuer) -> str:
    head, body, _ = issuer.token().split(".")
    import base64

    none = (
        base64.urlsafe_b64encode(json.dumps({"alg": "none", "typ": "JWT", "kid": "a"}).encode())
        .rstrip(b"=")
        .decode()
    )
    assert head
    return f"{none}.{body}."


def test_a_new_key_of_the_issuer_is_found(house: Served, issuer: Issuer) -> None:
    issuer.keys["b"] = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    assert house.ask(bearer(issuer.token(kid="b", key=issuer.keys["b"])), COUNT, within=50).status_code == 200


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"jwks": "http://login.example.org/keys"}, "https"), ({"issuer": ""}, "issuer"), ({"x": 1}, "not known"),
        ({"roles": [{"claim": "a", "study": "people", "role": "king"}]}, "role"), ({"roles": [{"claim": "a", "study": "people", "role": "agent"}]}, "an agent"),
        ({"roles": [{"study": "people", "role": "owner"}]}, "claim"),
    ],
)  # fmt: skip
def test_a_section_that_makes_no_sense_is_refused(issuer: Issuer, change: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        Provider({**section(issuer), **change})


def test_it_is_read_from_the_server_file(tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text(
        '[oidc]\nissuer = "i"\naudience = "a"\njwks = "https://x"\n[[oidc.roles]]\nclaim = "c"\nstudy = "people"\nrole = "analyst"\n'
    )
    assert read_settings(file).oidc["roles"][0]["claim"] == "c"
