"""A27: every role at every door.  The table of roles in the code is the only one; this is what it means on the wire."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from adyton.operations.roles import ALLOWED, Action, Role, may
from support.servers import COUNT, Served, served, write_holdout, write_study

GUESSES = np.zeros(2000, int).tolist()
# Each route with what it takes: the action that it is, and a body that is fine in itself.
ROUTES: dict[tuple[str, str], tuple[Action, Any]] = {
    ("GET", "/v1/studies/{study}"): (Action.LOOK, None),
    ("POST", "/v1/studies/{study}/preview"): (Action.PREVIEW, {"query": COUNT, "within": 500}),
    ("POST", "/v1/studies/{study}/preview_many"): (Action.PREVIEW, {"queries": [COUNT], "within": 500}),
    ("POST", "/v1/studies/{study}/ask"): (Action.ASK, {"query": COUNT, "within": 500}),
    ("POST", "/v1/studies/{study}/ask_many"): (Action.ASK, {"queries": [COUNT], "within": 500}),
    ("POST", "/v1/studies/{study}/mock/ask"): (Action.TRY, {"query": COUNT, "within": 500}),
    ("POST", "/v1/studies/{study}/mock/ask_many"): (Action.TRY, {"queries": [COUNT], "within": 500}),
    ("POST", "/v1/studies/{study}/last_look"): (Action.ALL_RECEIPTS, {"alpha": 0.05}),
    ("POST", "/v1/studies/{study}/suggest_bounds"): (Action.ASK, {"column": "income", "share": 0.1}),
    ("POST", "/v1/studies/{study}/monitors"): (Action.ASK, {"positives": 1, "share": 0.01}),
    ("POST", "/v1/studies/{study}/monitors/preview"): (Action.PREVIEW, {"positives": 1, "share": 0.01}),
    ("GET", "/v1/studies/{study}/monitors/{number}"): (Action.ASK, None),
    ("POST", "/v1/studies/{study}/monitors/{number}/feed"): (Action.ASK, {"query": COUNT, "above": 10}),
    ("POST", "/v1/studies/{study}/monitors/{number}/close"): (Action.ASK, None),
    ("GET", "/v1/studies/{study}/budget"): (Action.BUDGET, None),
    ("GET", "/v1/studies/{study}/receipts"): (Action.OWN_RECEIPTS, None),
    ("POST", "/v1/studies/{study}/verify"): (Action.VERIFY, {}),
    ("GET", "/v1/holdouts/{holdout}"): (Action.LOOK, None),
    ("POST", "/v1/holdouts/{holdout}/score"): (Action.SCORE, {"predictions": GUESSES}),
    ("POST", "/v1/holdouts/{holdout}/submit"): (
        Action.SCORE,
        {"predictions": [1, *GUESSES[1:]], "name": "a model"},
    ),
    ("POST", "/v1/holdouts/{holdout}/best"): (
        Action.SCORE,
        {"models": {"a": GUESSES, "b": [1, *GUESSES[1:]]}},
    ),
    ("GET", "/v1/holdouts/{holdout}/scores"): (Action.OWN_RECEIPTS, None),
    ("GET", "/v1/holdouts/{holdout}/receipts"): (Action.OWN_RECEIPTS, None),
    ("POST", "/v1/holdouts/{holdout}/compare"): (
        Action.SCORE,
        {"first": GUESSES, "second": [1, *GUESSES[1:]]},
    ),
    ("GET", "/v1/holdouts/{holdout}/budget"): (Action.BUDGET, None),
    ("GET", "/v1/holdouts/{holdout}/standings"): (Action.STANDINGS, None),
    ("POST", "/v1/holdouts/{holdout}/verify"): (Action.VERIFY, {}),
    ("POST", "/v1/holdouts/{holdout}/close"): (Action.CLOSE, {"predictions": [1, 1, *GUESSES[2:]]}),
    ("GET", "/v1/tokens/{name}"): (Action.TOKENS, None),
    ("POST", "/v1/tokens/{name}"): (Action.TOKENS, {"name": "new", "role": "analyst"}),
    ("POST", "/v1/tokens/{name}/revoke"): (Action.TOKENS, {"token": "nobody at all"}),
}
FOR_ANYBODY_WITH_A_TOKEN = {("GET", "/v1/studies"), ("GET", "/v1/holdouts")}
FOR_EVERYBODY = {("GET", "/healthz"), ("GET", "/readyz")}
WITH_MONITOR = "{number}"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    files = [write_study(folder), write_study(folder, "other"), write_holdout(folder)]
    with served([*files, write_holdout(folder, "ending")]) as made:
        yield made


def send(
    house: Served, route: tuple[str, str], headers: dict[str, str], study: str, holdout: str, number: int = 1
) -> Any:
    method, path = route
    path = path.replace("{study}", study).replace("{holdout}", holdout).replace("{number}", str(number))
    path = path.replace("{name}", holdout if "holdouts" in path else study)
    body = ROUTES[route][1] if route in ROUTES else None
    return house.client.request(method, path, headers=headers, json=body)


def test_every_route_is_in_the_table(house: Served) -> None:
    """Mutant: a route that is not in the table."""
    told = house.client.get("/v1/openapi.json").json()["paths"]
    known = {(method.upper(), path) for path, methods in told.items() for method in methods}
    assert known == set(ROUTES) | FOR_ANYBODY_WITH_A_TOKEN | FOR_EVERYBODY


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("route", ROUTES)
def test_every_role_at_every_route(house: Served, role: Role, route: tuple[str, str]) -> None:
    """Mutants: ``may`` is always true; one route asks for another action."""
    holdout = "ending" if route[1].endswith("{holdout}/close") else "test"  # nothing is scored there later
    study = holdout if "holdouts" in route[1] else "people"
    headers, number = house.made(f"{role} {len(ROUTES)}", role, study=study), 1
    if WITH_MONITOR in route[1] and may(role, Action.ASK):
        opened = house.client.post(
            "/v1/studies/people/monitors", headers=headers, json={"positives": 1, "share": 0.001}
        )
        number = opened.json()["receipt"]["number"]
    answer = send(house, route, headers, "people", holdout, number)
    if may(role, ROUTES[route][0]):
        expected = 422 if route[1].endswith("revoke") else 200
        assert answer.status_code == expected, answer.text
    else:
        assert answer.status_code == 403
        assert answer.json()["error"]["kind"] == "forbidden"


@pytest.mark.parametrize("route", [*ROUTES, *FOR_ANYBODY_WITH_A_TOKEN])
def test_nobody_gets_in_without_a_token(house: Served, route: tuple[str, str]) -> None:
    """Missing, malformed, unknown, revoked and expired: one body, byte for byte."""
    study = "test" if "holdouts" in route[1] else "people"
    revoked = house.made("revoked", study=study)
    (one,) = (one for one in house.house.served if one.name == study)
    one.tokens.revoke("revoked")
    known = [
        {}, {"Authorization": "Basic abc"}, {"Authorization": "Bearer "}, {"Authorization": "Bearer adyton_" + "0" * 64},
        {"Authorization": "Bearer " + "x" * 100_000}, revoked,
    ]  # fmt: skip
    answers = [send(house, route, headers, "people", "test") for headers in known]
    assert {(answer.status_code, answer.content) for answer in answers} == {(401, answers[0].content)}
    assert answers[0].headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("route", ROUTES)
def test_what_does_not_exist_and_what_is_not_yours_look_the_same(
    house: Served, route: tuple[str, str]
) -> None:
    """Mutant: a foreign study is forbidden, so that its name is known to exist."""
    headers = house.made("stranger", "owner", study="other")
    foreign, missing = (
        send(house, route, headers, study, holdout)
        for study, holdout in (("people", "test"), ("nothing", "nothing"))
    )
    assert foreign.status_code == missing.status_code == 404
    assert foreign.content == missing.content
    assert {k: v for k, v in foreign.headers.items() if k != "date"} == {
        k: v for k, v in missing.headers.items() if k != "date"
    }


def test_nothing_raises_a_limit() -> None:
    """The table of actions is all there is, and none of them is about a limit."""
    assert set(ALLOWED) == set(Action)
    assert all("limit" not in action for action in Action)
