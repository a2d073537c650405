"""Repeats leave as they left before, and only as long as they would be said in the same words now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import adyton
from adyton.curator.opening import accept_copy
from adyton.kernel.ledger import MemoryLedger
from adyton.operations.roles import Role
from adyton.service import repeats
from adyton.service.identity import Identity
from adyton.service.repeats import Repeats
from adyton.service.settings import Settings
from adyton.service.studies import ServedStudy
from adyton.transports.http.desk import Desk
from support.servers import COUNT, QUICK, Served, served, write_study
from support.worlds import copied, put_back

OTHER = COUNT.replace(">", "<")
ANA = Identity("ana", Role.ANALYST)
KEY = (ANA, "", b"{}")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Served]:
    with served([write_study(tmp_path)]) as made:
        yield made


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """From now on whoever needs a thread fails."""

    async def done(*_: object) -> Any:
        raise AssertionError

    with monkeypatch.context() as patched:
        patched.setattr(Desk, "done", done)
        yield patched


def spent(house: Served, headers: dict[str, str]) -> str:
    return str(house.client.get("/v1/studies/people/budget", headers=headers).json()["spent"]["amount"])


def asked_three_times(house: Served, headers: dict[str, str]) -> dict[str, Any]:
    """The second one is kept, the third one found."""
    return [house.ask(headers, within=50).json() for _ in range(3)][-1]


def test_what_is_asked_again_and_again_waits_for_no_thread(
    house: Served, request: pytest.FixtureRequest
) -> None:
    """Mutant: nothing is ever found."""
    ana = house.made("ana")
    first = house.ask(ana, within=50).json()
    second = house.ask(ana, within=50)
    request.getfixturevalue("no_work")
    again = house.ask(ana, within=50)
    assert again.status_code == 200
    assert again.content == second.content
    assert again.headers == second.headers
    assert (first["repeated"], again.json()["repeated"], again.json()["cost"]["amount"]) == (False, True, "0")
    assert again.json()["answer"] == first["answer"]
    assert house.ask(ana, OTHER, within=50).status_code == 500  # which was never asked


def test_whatever_is_charged_by_whomever_shows_at_once(house: Served, tmp_path: Path) -> None:
    """What is left must be right.  Mutants: nobody looks whether anything was written; a stamp of another moment."""
    ana, ben = house.made("ana"), house.made("ben")
    before = asked_three_times(house, ana)
    assert before["spent"]["amount"] == spent(house, ana)
    assert house.ask(ben, OTHER, within=50).status_code == 200
    after = asked_three_times(house, ana)
    assert before["spent"]["amount"] != after["spent"]["amount"] == spent(house, ana)
    with adyton.open(tmp_path / "people.toml") as elsewhere:  # as another process would
        elsewhere.ask(OTHER, within=60)
        last = house.ask(ana, within=50).json()
        assert after["spent"]["amount"] != last["spent"]["amount"] == spent(house, ana)


def test_a_token_that_ended_and_one_that_may_not_ask_get_nothing(house: Served) -> None:
    """Mutants: what is known is given before the token is looked at; to whatever role."""
    ana, eve = house.made("ana"), house.made("eve", "auditor")
    asked_three_times(house, ana)
    assert house.ask(eve, within=50).status_code == 403
    house.house.served[0].tokens.revoke("ana")
    assert house.ask(ana, within=50).status_code == 401


def test_repeats_count_as_requests(tmp_path: Path) -> None:
    """Also bodies that the framework has to refuse, and those once.  Mutants: a rate that is never, or twice, taken."""
    with served([write_study(tmp_path)], Settings(**{**asdict(QUICK), "rate_by_token": 5})) as house:
        ana = house.made("ana")
        assert house.ask(ana).status_code == 422
        assert house.ask(ana, withn=1).status_code == 422
        assert [house.ask(ana, within=50).status_code for _ in range(4)] == [200] * 3 + [429]


def test_a_form_and_a_request_id_are_part_of_what_is_asked(house: Served) -> None:
    """Mutant: what is kept is found by the text of the query alone."""
    ana, csv = house.made("ana"), {"Accept": "text/csv"}
    asked_three_times(house, ana)
    for _ in range(3):
        table = house.ask({**ana, **csv}, within=50)
        assert table.text.startswith("n,n_noise_low")
        assert table.headers["adyton-receipt"] == "1"
    for _ in range(3):
        assert house.ask(ana, within=50, request="one").json()["repeated"]
    assert house.ask(ana, within=51, request="one").status_code == 200
    assert house.ask(ana, within=52, request="one").status_code == 409


def test_a_ledger_that_was_replaced_answers_nothing_from_memory(house: Served, tmp_path: Path) -> None:
    """Mutant: the connection goes on with a file that has lost its name."""
    ana = house.made("ana")
    asked_three_times(house, ana)
    ledger = tmp_path / "people.ledger"
    assert ledger.exists()
    ledger.rename(tmp_path / "moved.ledger")
    refused = house.ask(ana, within=50)
    assert (refused.status_code, refused.json()["error"]["kind"]) == (503, "ledger_corrupt")


def test_a_ledger_with_an_checkpoint_is_looked_at_behind_it(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    study = write_study(tmp_path, more='\n[ledger]\ncheckpoint = "people.checkpoint"\n')
    with adyton.open(study) as curator:
        curator.ask(COUNT, within=50)
    copy = copied(study, "copy.ledger")
    with adyton.open(study) as curator:
        curator.ask(OTHER, within=50)
    put_back(study, copy)
    accept_copy(study)
    with served([study]) as house:
        ana = house.made("ana")
        assert asked_three_times(house, ana)["spent"]["amount"] == spent(house, ana)
        request.getfixturevalue("no_work")
        assert house.ask(ana, within=50).status_code == 200


def test_a_study_with_a_shared_budget_is_always_asked_anew(tmp_path: Path) -> None:
    """What others charge to the shared budget is in no file of this study.  Mutant: ``changes_of`` looks behind a shared budget."""
    shared_budget = {
        "adjacency": "replace-one",
        "unit": "row",
        "epsilon": 10,
        "delta": "1e-9",
        "accounting": "gdp",
    }
    adyton.SharedBudget.create(tmp_path / "all.ledger", **shared_budget, rows="related").close()
    study = write_study(tmp_path)
    study.write_text(study.read_text().replace("delta = 1e-9", 'delta = 1e-9\nshared_budget = "all.ledger"'))
    with served([study]) as house:
        asked_three_times(house, house.made("ana"))
        assert not house.house.served[0].repeats._kept


def test_what_is_kept_is_bounded(house: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutants: nothing is ever forgotten; what was dropped is counted for ever; a large one is kept."""
    ledger = house.house.served[0]._curator.ledger
    assert house.ask(house.made("ana"), within=50).status_code == 200
    kept: Repeats[str] = Repeats(ledger)
    monkeypatch.setattr(repeats, "_MOST_BYTES", 1000)
    monkeypatch.setattr(repeats, "_LARGEST", 400)
    for number in range(50):
        for _ in range(2):
            kept.keep((ANA, "", b"%d" % number), f"answer {number}", 300, kept.stamp())
    assert [kept.find((ANA, "", b"%d" % number)) for number in (46, 47, 48, 49)] == [
        None,
        "answer 47",
        "answer 48",
        "answer 49",
    ]
    kept.keep(KEY, "large", 401, kept.stamp())
    assert kept.find(KEY) is None
    kept.close()


def test_what_was_made_while_others_were_charged_is_never_found(
    house: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It tells what was left before.  Mutant: the stamp is taken when the answer is there."""
    ana, ben, ask = house.made("ana"), house.made("ben"), ServedStudy.perform
    assert house.ask(ana, within=50).status_code == 200

    def overtaken(self: ServedStudy, operation: Any, who: Identity, words: Any) -> Any:
        answers = ask(self, operation, who, words)
        if who.name == "ana":
            assert house.ask(ben, OTHER, within=50).status_code == 200
        return answers

    with monkeypatch.context() as patched:
        patched.setattr(ServedStudy, "perform", overtaken)
        late = house.ask(ana, within=50).json()
    now = house.ask(ana, within=50).json()
    assert late["spent"]["amount"] != now["spent"]["amount"] == spent(house, ana)


def test_where_nobody_can_say_what_was_written_nothing_is_kept() -> None:
    """As in a ledger that lasts as long as the process."""
    kept: Repeats[str] = Repeats(object.__new__(MemoryLedger))
    assert kept.stamp() is None
    kept.keep(KEY, "told", 10, kept.stamp())
    assert kept.find(KEY) is None


def test_another_name_is_free_and_shown_as_it_was_asked(house: Served) -> None:
    """Mutant: names are part of the text by which a query is known."""
    ana = house.made("ana")
    told = [
        house.ask(ana, f"SELECT COUNT(*){name} FROM people", within=50).json()
        for name in (" AS a", " AS b", "")
    ]
    assert [one["repeated"] for one in told] == [False, True, True]
    assert [list(one["answer"][0]["values"]) for one in told] == [["a"], ["b"], ["count"]]
    assert len({one["receipt"]["digest"] for one in told}) == 1
    assert [one["cost"]["amount"] == "0" for one in told] == [False, True, True]
    assert "COUNT(*) AS b FROM" in told[1]["query"]
