"""Verify in this browser: a chain that was changed anywhere is found by the script of the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Route, expect

from adyton.kernel.exact import decimal_text
from adyton.kernel.ledger import Order, Receipt
from adyton.kernel.ledger.subjects import ReceiptSubject
from adyton.kernel.ledger.validity import ValidityRecord
from support.browser import Site, Visit, visit

Change = Callable[[dict[str, Any]], None]
STRANGE = "SELECT COUNT(*) AS \"né\U0001f600\" FROM people WHERE region IN ('north')"


@pytest.fixture(scope="module")
def chain(site: Site) -> dict[str, Any]:
    """Receipts of two names, with texts that JSON must escape."""
    token = {"Authorization": f"Bearer {site.token('quota', budget_share='0.2')}"}
    asked = [
        (token, STRANGE, "idé 1"),
        (site.headers("analyst"), "SELECT COUNT(*) FROM people", "b"),
        (token, "SELECT SUM(income) FROM people", "c"),
    ]
    for headers, sql, request in asked:
        body = {"query": sql, "epsilon": "0.05", "request": request}
        answer = httpx2.post(f"{site.url}/v1/studies/people/ask", headers=headers, json=body)
        assert answer.status_code == 200, answer.text
    return dict(httpx2.get(f"{site.url}/v1/studies/people/receipts", headers=site.headers("owner")).json())


@pytest.fixture(scope="module")
def owner(site: Site, browser: Browser, chain: dict[str, Any]) -> Iterator[Visit]:
    with visit(browser, site.url) as one:
        one.log_in(site.tokens["owner"], "/studies/people/receipts")
        yield one


def outcome(one: Visit, head: str = "") -> str:
    one.page.locator("#verified").evaluate("one => one.replaceChildren()")
    one.page.get_by_label("A digest that you kept").fill(head)
    one.page.get_by_role("button", name="Verify in this browser").click()
    done = one.page.locator("#verified .good, #verified .problem")
    expect(done).to_be_visible()
    return one.page.locator("#verified").inner_text()


def test_an_honest_chain_is_verified_and_its_head_found(owner: Visit, chain: dict[str, Any]) -> None:
    number = len(chain["links"])
    said = outcome(owner)
    assert f"{number} receipts follow from each other" in said
    assert f"of {number} receipts that you may read" in said
    assert f"keep elsewhere: {chain['links'][-1]['digest']}" in said
    assert "Not checked" in said
    assert "is that of receipt 2" in outcome(owner, chain["links"][1]["digest"].upper())
    assert "is that of the first link" in outcome(owner, chain["header"]["digest"])
    assert "not in this chain" in outcome(owner, "0" * 64)
    assert "64 hexadecimal digits" in outcome(owner, "abc")


def test_an_analyst_replays_the_whole_chain_and_reads_the_own_part(
    site: Site, browser: Browser, chain: dict[str, Any]
) -> None:
    with visit(browser, site.url) as one:
        one.log_in(site.tokens["analyst"], "/studies/people/receipts")
        said = outcome(one, chain["links"][-1]["digest"])
        assert f"{len(chain['links'])} receipts follow from each other" in said
        assert "SUM(income)" not in one.page.content()


def last(told: dict[str, Any]) -> dict[str, Any]:
    link: dict[str, Any] = told["links"][-1]
    return link


def both(told: dict[str, Any], name: str, value: object) -> None:
    """In the open part and in the whole receipt alike."""
    last(told)[name] = value
    told["receipts"][-1][name] = value


CHANGES: dict[str, tuple[Change, str]] = {
    "a cheaper charge": (lambda told: both(told, "amount", "0.000000000000000001"), "is not the sum"),
    "a smaller total": (lambda told: both(told, "spent", last(told)["amount"]), "is not the sum"),
    "another time": (
        lambda told: both(told, "asked_at", "2020-01-01T00:00:00+00:00"),
        "not that of what it says",
    ),
    "its digest is not that": (lambda told: both(told, "digest", "0" * 64), "not that of what it says"),
    "another link before": (
        lambda told: both(told, "previous", "0" * 64),
        "does not name the digest before it",
    ),
    "a link left out": (
        lambda told: (told["links"].pop(0), told["receipts"].pop(0)),
        "does not name the digest",
    ),
    "links exchanged": (lambda told: told["links"].reverse(), "receipt "),
    "another query": (lambda told: told["receipts"][-1].update(query="SELECT 1"), "what was sealed"),
    "another name": (lambda told: told["receipts"][-1].update(by="mallory"), "what was sealed"),
    "another detail": (lambda told: told["receipts"][-1].update(detail="x"), "what was sealed"),
    "another request": (lambda told: told["receipts"][-1].update(request=None), "what was sealed"),
    "another total of the name": (
        lambda told: told["receipts"][-1].update(spent_by="0.1"),
        "what was sealed",
    ),
    "a receipt that is no link": (
        lambda told: told["receipts"].append({**told["receipts"][-1], "number": 99}),
        "receipt 99 is not in the chain",
    ),
    "a receipt unlike its link": (
        lambda told: told["receipts"][-1].update(amount="1"),
        "not the one in the chain",
    ),
    "a higher budget": (lambda told: told["header"].update(budget="100"), "the first link"),
    "another study": (lambda told: told["header"].update(study="0" * 64), "the first link"),
    "more for validity": (lambda told: both(told, "spent_radius", "9"), "total for validity"),
    "more of the pure part": (lambda told: both(told, "spent_pure", "9"), "total for validity"),
    "a larger final radius than charged": (lambda told: both(told, "final_radius", "9"), "its final radius"),
    "another law": (
        lambda told: both(told, "validity", {**last(told)["validity"], "law": 2}),
        "its digest is not that",
    ),
    "a level of what holds for sure": (
        lambda told: (
            both(told, "final_radius", told["links"][-2]["radius"]),
            both(told, "final_level", "0.1"),
        ),
        "holds for sure",
    ),
    "a larger radius of Gaussian numbers": (
        lambda told: both(told, "validity", {**last(told)["validity"], "gaussian": [[1, "9"]]}),
        "Gaussian numbers",
    ),
    "something uncovered": (lambda told: both(told, "unproved", 7), "what no theorem covers"),
    "a number that came before": (lambda told: both(told, "number", 1), "receipt 1"),
    "no amount at all": (lambda told: both(told, "amount", "-1"), "is not an amount"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_chain_that_was_changed_is_found(owner: Visit, name: str) -> None:
    change, says = CHANGES[name]

    def changed(route: Route) -> None:
        told = route.fetch().json()
        change(told)
        route.fulfill(body=json.dumps(told), content_type="application/json")

    owner.page.route("**/receipts.json*", changed)
    try:
        said = outcome(owner)
    finally:
        owner.page.unroute("**/receipts.json*")
    assert said.startswith("NOT verified: ")
    assert says in said


def made_anew(told: dict[str, Any]) -> None:
    """The digests of the last receipt, as whoever wrote it would compute them: so that only its numbers are wrong."""
    whole = told["receipts"][-1]
    share = None if whole["budget_share"] is None else units(whole["budget_share"])
    order = Order(
        whole["query"], whole["detail"], units(whole["amount"]), units(whole["radius"]), whole["request"],
        by=whole["by"], pure=units(whole["pure"]), subject=ReceiptSubject.from_json(whole["subject"]),
        validity=ValidityRecord.from_json(whole["validity"]),
    )  # fmt: skip
    receipt = Receipt(
        whole["number"], order, units(whole["spent"]), units(whole["spent_radius"]), units(whole["spent_pure"]),
        whole["unproved"], units(whole["spent_by"]), share, units(whole["final_radius"]),
        units(whole["final_level"]), whole["asked_at"], whole["previous"], whole["secret"],
    )  # fmt: skip
    both(told, "sealed", receipt.sealed)
    both(told, "digest", receipt.digest)


def units(text: str) -> int:
    whole, _, rest = text.partition(".")
    return int(whole) * 10**18 + int(rest.ljust(18, "0"))


def dearer(told: dict[str, Any], amount: str) -> None:
    """A charge with all totals that follow from it."""
    link, whole = last(told), told["receipts"][-1]
    more = units(amount) - units(link["amount"])
    both(told, "amount", amount)
    both(told, "spent", decimal_text(units(link["spent"]) + more))
    whole["spent_by"] = decimal_text(units(whole["spent_by"]) + more)


NUMBERS: dict[str, tuple[Change, str]] = {
    "nothing": (lambda _: None, "Verified"),
    "beyond the budget": (lambda told: dearer(told, "1000"), "beyond the budget"),
    "beyond the share of the name": (lambda told: dearer(told, "1.5"), "beyond its budget share"),
    "a total of the name": (lambda told: told["receipts"][-1].update(spent_by="0.001"), "total of its name"),
    "a total": (lambda told: both(told, "spent", "0.001"), "is not the sum"),
    "a total for validity": (lambda told: both(told, "spent_radius", "9"), "total for validity"),
    "a total of the pure part": (lambda told: both(told, "spent_pure", "9"), "total for validity"),
    "a final radius": (lambda told: both(told, "final_radius", "9"), "its final radius"),
    "what no theorem covers": (lambda told: both(told, "unproved", 2), "what no theorem covers"),
    "the link before": (lambda told: both(told, "previous", "0" * 64), "does not name the digest before it"),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_wrong_number_under_a_right_digest_is_found(owner: Visit, name: str) -> None:
    change, says = NUMBERS[name]

    def changed(route: Route) -> None:
        told = route.fetch().json()
        change(told)
        made_anew(told)
        route.fulfill(body=json.dumps(told), content_type="application/json")

    owner.page.route("**/receipts.json*", changed)
    try:
        assert says in outcome(owner)
    finally:
        owner.page.unroute("**/receipts.json*")


def test_a_chain_written_anew_is_found_by_a_digest_that_was_kept(owner: Visit, chain: dict[str, Any]) -> None:
    """Nothing in it is wrong, so only somebody who kept a digest can tell."""

    def cut(route: Route) -> None:
        told = route.fetch().json()
        told["links"], told["receipts"] = told["links"][:-1], told["receipts"][:-1]
        route.fulfill(body=json.dumps(told), content_type="application/json")

    owner.page.route("**/receipts.json*", cut)
    try:
        assert outcome(owner).startswith("Verified")
        assert "rolled back or exchanged" in outcome(owner, chain["links"][-1]["digest"])
    finally:
        owner.page.unroute("**/receipts.json*")


def test_where_the_browser_computes_no_digests_the_page_says_so(site: Site, browser: Browser) -> None:
    with visit(browser, site.url, own=True) as one:
        one.context.add_init_script(
            "Object.defineProperty(Crypto.prototype, 'subtle', {get: () => undefined})"
        )
        one.log_in(site.tokens["auditor"], "/studies/people/receipts")
        assert "only on pages that came by https" in outcome(one)
