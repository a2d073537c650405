"""Whose limit it was, and who has spent what."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import adyton
from adyton.operations.roles import Role
from adyton.service.identity import Identity
from adyton.service.studies import ServedStudy
from support.servers import COUNT, Served, served, write_study

PART = adyton.kernel.exact.rational("0.001", "share")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Served]:
    with served([write_study(tmp_path)]) as made:
        yield made


def budget(house: Served, headers: dict[str, str]) -> dict[str, Any]:
    return dict(house.client.get("/v1/studies/people/budget", headers=headers).json())


def spend_all(house: Served, headers: dict[str, str]) -> Any:
    """Shares of all that is left, until nothing is."""
    for number in range(10):
        answer = house.ask(headers, f"{COUNT} AND income < {100_000 + number}", share=1)
        if answer.status_code != 200:
            return answer
    raise AssertionError


def test_a_share_of_nothing_is_refused_like_any_price_that_does_not_fit(house: Served) -> None:
    """With whose budget it was.  Mutants: it is said to be too small; the budget of all is named, or that of ben to ana."""
    ana, ben, owner = house.made("ana"), house.made("ben", budget_share="0.001"), house.made("boss", "owner")
    cal = house.made("cal", budget_share="0.5")  # who has spent nothing of it
    error = spend_all(house, ben).json()["error"]
    assert (error["kind"], error["by"], error["largest"]) == ("privacy_refused", "ben", "0")
    assert error["budget"] == error["spent"] == budget(house, ben)["own"]["budget_share"]
    last = spend_all(house, ana)
    assert (last.status_code, last.json()["error"]["kind"]) == (409, "privacy_refused")
    told = budget(house, owner)
    assert last.json()["error"]["budget"] == last.json()["error"]["spent"] == told["spent"]["amount"]
    assert "by" not in last.json()["error"]
    before = told["queries"]
    for path, body in (
        ("preview", {"query": COUNT}),
        ("ask_many", {"queries": [COUNT, COUNT.replace(">", "<")]}),
        ("suggest_bounds", {"column": "income"}),
        ("monitors", {"positives": 1}),
        ("monitors/preview", {"positives": 1}),
    ):
        for headers in (ana, ben, cal):
            refused = house.client.post(
                f"/v1/studies/people/{path}", headers=headers, json={**body, "share": 0.5}
            )
            assert refused.status_code == 409, (path, refused.text)
            assert ("by" in refused.json()["error"]) == (headers is ben)
    assert budget(house, owner)["queries"] == before


def test_a_price_that_is_too_small_for_a_charge_is_still_a_wrong_one(house: Served) -> None:
    assert house.ask(house.made("ana"), COUNT, share="1e-30").status_code == 422


def test_everybody_who_ever_asked_is_listed(house: Served) -> None:
    """Also who has no token here: of an identity provider.  Mutants: names with tokens alone; receipts that came since are not
    looked at; whoever asked in process is a name.
    """
    owner = house.made("boss", "owner")
    house.made("idle", budget_share="0.25")
    (study,) = house.house.served
    assert isinstance(study, ServedStudy)
    assert set(budget(house, owner)["by_name"]) == {"boss", "idle"}
    for number, name in enumerate(["oidc bob", "oidc cal", "oidc bob"]):
        who = Identity(name, Role.ANALYST, PART if name == "oidc bob" else None)
        study.ask(who, [f"{COUNT} AND income < {90_000 + number}"], {"within": 300})
        assert name in budget(house, owner)["by_name"]
    with adyton.open(study.path) as curator:
        curator.ask(COUNT, within=300)
    listed = budget(house, owner)["by_name"]
    assert set(listed) == {"boss", "idle", "oidc bob", "oidc cal"}
    assert listed["oidc cal"]["budget_share"] is None
    assert listed["oidc bob"]["budget_share"] == adyton.kernel.exact.decimal_text(
        int(PART * study._header.budget)
    )
    assert {name: one["spent"] for name, one in listed.items()} == {
        name: adyton.kernel.exact.decimal_text(study._ledger.spent_by(name)) for name in listed
    }
    assert "by_name" not in budget(house, house.made("ana"))
