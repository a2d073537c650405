"""``adyton.connect``: the same methods, the same objects and the same errors as in process, from a real server."""

from __future__ import annotations

import inspect
import pickle
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adyton
from adyton import errors
from adyton.client import RemoteHoldout, RemoteLeaderboard, RemoteMonitor, RemoteStudy
from adyton.client.address import split_address
from adyton.client.faults import KINDS, told_error
from adyton.curator.mock import MockAnswer
from adyton.kernel.ledger import Order
from adyton.kernel.schema import BooleanColumn
from adyton.monitors.open_monitor import OpenMonitor
from adyton.operations.roles import Role
from adyton.service.identity import Identity
from adyton.service.tokens import Tokens
from support.faults import BrokenLine, changed, reply
from support.servers import COUNT, Server, free_port, server, write_study
from support.tries import LONG

SOURCE = Path(adyton.__file__).parent
GROUPS = "SELECT region, COUNT(*) AS n FROM people GROUP BY region"
LABELS = np.random.default_rng(2).integers(0, 2, 2000)


def token_for(folder: Path, name: str, role: str = "analyst", study: str = "people", **more: Any) -> str:
    tokens = Tokens(folder / f"{study}.toml")
    try:
        return tokens.make(Identity(name, Role(role), **more))[0]
    finally:
        tokens.close()


@pytest.fixture
def ana(running: Server, folder: Path, request: pytest.FixtureRequest) -> Iterator[RemoteStudy]:
    """An analyst of whom nobody has heard before."""
    with adyton.connect(running.url, token_for(folder, request.node.name)) as connection:
        yield connection.study("people")


@pytest.fixture
def owner(running: Server) -> Iterator[adyton.client.ServerConnection]:
    with adyton.connect(running.url, owner_token(running)) as connection:
        yield connection


def owner_token(running: Server) -> str:
    return running.owner["Authorization"].partition(" ")[2]


# Nothing is forgotten -------------------------------------------------------------------------------------------

PAIRS = [
    *((adyton.Curator, RemoteStudy, name) for name in ("monitor", "monitors", "mock", "p_value_threshold")),
    *((adyton.Holdout, RemoteHoldout, name) for name in ("scorer", "leaderboard")),
    *((adyton.Leaderboard, RemoteLeaderboard, name) for name in ("submit", "standings")),
    *((OpenMonitor, RemoteMonitor, name) for name in ("feed_many", "budget")),
]
ELSEWHERE = {"RemoteMonitor": "OpenMonitor", "RemoteMock": "Curator", "RemoteScorer": "Scorer"}
ELSEWHERE["RemoteLeaderboard"] = "Leaderboard"


@pytest.mark.parametrize(("here", "there", "name"), PAIRS, ids=lambda one: getattr(one, "__name__", one))
def test_signatures_are_those_in_process(here: type, there: type, name: str) -> None:
    """Of methods that are no entries of the table of operations.  Mutant: ``strategy`` is missing in one of them, or has another default."""
    own, remote = (inspect.signature(getattr(kind, name)) for kind in (here, there))
    assert list(own.parameters.values()) == list(remote.parameters.values())
    assert ELSEWHERE.get(remote.return_annotation, remote.return_annotation) == own.return_annotation


def test_every_public_method_of_a_curator_is_there_or_is_known_not_to_be() -> None:
    """Mutant: a new method of a curator that nobody thought of here."""
    not_served = {
        "derive", "through", "observed", "prepare", "publish_test", "left_for", "open_pmw", "opened_pmw", "preview_pmw",
        "pmw", "synthesize", "preview_synthesis", "ledger",
    }  # fmt: skip
    both = {name for name in dir(adyton.Curator) if not name.startswith("_")}
    assert both - not_served - set(dir(RemoteStudy)) == set()
    of_owners = {
        "create",
        "open",
        "through",
        "ledger",
        "senders",
        "answers",
        "check_listed",
        "is_priced",
        "path",
    }
    here = {name for name in dir(adyton.Holdout) if not name.startswith("_")} - of_owners
    assert here - {"needs_guess", "facts"} - set(dir(RemoteHoldout)) == set()


# Every method -----------------------------------------------------------------------------------------------------


def test_a_query_is_answered_as_in_process(ana: RemoteStudy, folder: Path) -> None:
    answer = ana.ask(GROUPS, within=50)
    assert isinstance(answer, adyton.Answer)
    with adyton.open(folder / "people.toml") as curator:
        again = curator.ask(GROUPS, within=50)
    assert again.repeated
    assert [(row.keys, row.values) for row in again] == [(row.keys, row.values) for row in answer]
    assert (again.receipt, again.certificate, again.budget) == (
        answer.receipt,
        answer.certificate,
        answer.budget,
    )
    assert list(answer.to_pandas().columns) == list(again.to_pandas().columns)
    assert "Cost" in str(answer)


def test_drafts_are_sent_as_their_text(ana: RemoteStudy) -> None:
    draft = adyton.mean("income", where="region = 'north'", by="region")
    assert ana.ask(draft, within=Fraction(90_000), expected_rows=250).query.startswith(
        "SELECT region, AVG(income)"
    )
    assert (
        ana.ask(adyton.count(), scale="1000").value
        == ana.ask("SELECT COUNT(*) FROM people", scale=1000).value
    )
    with pytest.raises(adyton.InvalidRequest, match="best_of is not asked over the network"):
        ana.ask(adyton.best_of(adyton.count(by="region")), share="0.01")
    with pytest.raises(adyton.InvalidRequest, match="not a int"):
        ana.ask(7, share="0.01")  # type: ignore[arg-type]


def test_a_computed_measure_is_asked_and_read_over_http(ana: RemoteStudy, folder: Path) -> None:
    """Mutant: the client sends what is read for it, and shows the mean of logarithms."""
    draft = adyton.queries.geometric_mean("FLOOR(income / 100) * 100 + 50", name="typical")
    answer = ana.ask(draft, epsilon="0.1")
    assert list(answer.rows.values) == ["typical"]
    assert answer.hidden == ("avg_ln",)
    with adyton.open(folder / "people.toml") as curator:
        again = curator.ask(draft, epsilon="0.1")
    assert again.repeated
    assert [(row.keys, row.values) for row in again] == [(row.keys, row.values) for row in answer]


def test_batches_and_previews(ana: RemoteStudy) -> None:
    texts = [COUNT, "SELECT AVG(income) FROM people"]
    preview, other = ana.preview_many(texts, share="0.001")
    assert preview.batch_size == 2
    assert ana.preview(COUNT, within={"n": 400}, expect=500).affordable
    first, second = ana.ask_many(texts, share="0.001", request="both of them")
    assert first.receipt == second.receipt
    assert first.cost.units <= preview.cost.units
    assert other.bounds.keys() == second.rows.values.keys()
    with pytest.raises(adyton.InvalidRequest, match="a list"):
        ana.ask_many(COUNT, share="0.001")


def test_bounds_monitors_and_a_mock(ana: RemoteStudy) -> None:
    assert ana.suggest_bounds("income", share="0.02").clamp.startswith("CLAMP(income, ")
    assert ana.preview_monitor(positives=1, share="0.01").fits
    monitor = ana.open_monitor(positives=2, share="0.02")
    found = monitor.feed_many([(COUNT, 1000), (adyton.count(), "0"), (COUNT, 0), (COUNT, 0)])
    assert [answer.above for answer in found.answers] == [False, True, True]
    assert found.not_asked == 1
    assert [one.to_json() for one in ana.monitor(monitor.number).answers()] == [
        a.to_json() for a in found.answers
    ]
    with pytest.raises(adyton.PrivacyRefused, match="halted"):
        monitor.feed(COUNT, above=0)
    second = ana.open_monitor(positives=2, share="0.02")
    with pytest.raises(adyton.InvalidRequest, match=r"query 2 of 2.*1 before it were answered"):
        second.feed_many([(COUNT, 1000), ("SELECT nothing", 0)])
    assert second.close().closed
    assert [one.short_state for one in ana.monitors().monitors] == ["halted", "closed"]
    with ana.mock() as mock:
        made_up = [mock.ask(GROUPS, within=50), *mock.ask_many([COUNT, GROUPS], share="0.5")]
    assert {type(one) for one in made_up} == {MockAnswer}
    with pytest.raises(adyton.InvalidRequest, match="makes up the rows"):
        ana.mock(100)


def test_statements_receipts_and_the_chain(ana: RemoteStudy, folder: Path, running: Server) -> None:
    """All pages: there are more receipts than one has.  Mutants: only the first page is read; ``seen`` is not looked at."""
    with adyton.open(folder / "people.toml") as curator:
        for number in range(curator.ledger.count(), 505):
            curator.ledger.charge(Order(f"SELECT {number}", "[]", 1, 0))
    answer = ana.ask(COUNT, within=61)
    own = ana.budget().own
    assert own is not None
    assert own.spent == answer.cost.units
    assert f"spent by {own.by}" in str(ana.budget())
    parted = replace(own, budget_share=2 * own.spent)
    assert "; its share is " in str(replace(ana.budget(), own=parted))
    (mine,) = ana.receipts()
    assert (mine.number, mine.order.by) == (answer.receipt.number, own.by)
    found = ana.verify()
    assert found.receipts == mine.number > 500
    assert ana.verify(answer.receipt.previous) == ana.verify(found.head) == found
    with pytest.raises(adyton.LedgerCorrupt, match="not in its chain"):
        ana.verify("0" * 64)
    with adyton.connect(running.url, owner_token(running)) as connection:
        everything = connection.study("people")
        assert len(everything.receipts()) == found.receipts
        assert everything.verify() == found
        names = everything.budget().by_name
        assert names is not None
        assert names[own.by].spent == own.spent
    assert ana.receipts().to_json()["receipts"][0]["share"] == answer.cost.share


def test_p_values_are_for_those_who_may_see_all_receipts(ana: RemoteStudy, owner: Any, folder: Path) -> None:
    with pytest.raises(adyton.Forbidden, match="analyst may not"):
        ana.p_value_threshold("0.05")
    with adyton.open(folder / "people.toml") as curator:
        assert owner.study("people").p_value_threshold("0.05") == curator.p_value_threshold("0.05")


def test_a_holdout(owner: Any) -> None:
    holdout = owner.holdout("test")
    before = holdout.budget().scores
    right, wrong = LABELS, 1 - LABELS
    score = holdout.score(right)
    assert score.interval.low <= 1 <= score.interval.high
    assert holdout.compare(right, wrong).verdict == "better"
    made = holdout.budget().scores
    assert made <= before + 2
    (entry,) = owner.leaderboard("test").standings()
    assert (entry.entrant, entry.value) == ("owner", score.value)
    assert "Leaderboard" in str(owner.leaderboard("test"))
    with pytest.raises(adyton.InvalidRequest, match="that of the token"):
        holdout.score(right, by="ann")
    for nothing in ("abc", {"a": 1}, 5, [float("nan")] * 2000, [1, 2, 3]):
        with pytest.raises(adyton.InvalidRequest):
            holdout.score(nothing)
    with pytest.raises(adyton.ScoresRefused):
        holdout.scorer(candidates=10**6)
    assert holdout.budget().scores == made


class Model:
    """As scikit-learn has them."""

    def predict(self, rows: Any) -> Any:
        return rows


def test_a_scorer_works_here_and_in_other_processes(
    owner: Any, running: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A pickle has no token in it.  Mutant: ``RemoteHoldout`` is pickled with its line."""
    scorer = owner.holdout("test").scorer(candidates=2)
    assert scorer(Model(), LABELS) == owner.holdout("test").score(LABELS).value
    with pytest.raises(adyton.InvalidRequest, match="not sent to other processes"):
        pickle.dumps(scorer)
    monkeypatch.setenv("ADYTON_TOKEN", owner_token(running))
    with adyton.connect(running.url) as connection:
        sent = pickle.dumps(connection.holdout("test").scorer())
    assert owner_token(running).encode() not in sent
    assert pickle.loads(sent)(Model(), LABELS) == scorer(Model(), LABELS)


def test_what_there_is_shows_itself(owner: Any, running: Server) -> None:
    assert owner.studies() == ["people", "capped"]
    assert owner.holdouts() == ["test"]
    shown = f"{owner} {owner!r} {owner.study('people')} {owner.study('people')!r} {owner.holdout('test')!r}"
    assert "people" in shown
    assert owner_token(running) not in shown
    assert owner.study("people")._repr_html_().count("<") > 10


# Every error -------------------------------------------------------------------------------------------------------


def refused(work: Any, kind: type[errors.CuratorError], said: str = "") -> errors.CuratorError:
    with pytest.raises(kind, match=said or None) as caught:
        work()
    assert caught.value.kind == kind.kind
    return caught.value


def test_errors_are_those_in_process(ana: RemoteStudy, folder: Path, running: Server) -> None:
    """The same class, message and facts, place and fix included."""
    wrong = ("SELECT COUNT(*) FROM people WHERE incom > 3", {"within": 50})
    dear = (COUNT, {"epsilon": 100})
    twice = (COUNT, {"within": 5, "epsilon": 1})
    with adyton.open(folder / "people.toml") as curator:
        for (query, price), kind in (
            (wrong, adyton.InvalidRequest), (twice, adyton.InvalidRequest), (dear, adyton.PrivacyRefused),
        ):  # fmt: skip
            here = refused(lambda q=query, p=price: curator.ask(q, **p), kind)
            there = refused(lambda q=query, p=price: ana.ask(q, **p), kind)
            assert (here.message, here.facts) == (there.message, there.facts)
    ana.ask(COUNT, within=62, request="once")
    assert (
        refused(lambda: ana.ask(COUNT, within=63, request="once"), errors.RequestIdUsed).facts["request"]
        == "once"
    )
    refused(lambda: ana.ask("SELECT " + "1+" * 100_000 + "1", within=5), errors.TooLarge)
    refused(lambda: ana.monitor(1).answers(), errors.NotFound)
    with adyton.connect(running.url, token_for(folder, "eve", "auditor")) as connection:
        refused(lambda: connection.study("people").ask(COUNT, within=50), errors.Forbidden)
        refused(lambda: connection.study("capped"), errors.NotFound)
        refused(lambda: connection.study("nothing"), errors.NotFound)
        refused(lambda: connection.study(""), adyton.InvalidRequest)
        refused(lambda: connection.study("../holdouts/test"), errors.NotFound)
    with adyton.connect(running.url, token_for(folder, "ana", study="capped")) as connection:
        refused(lambda: connection.study("capped").ask(COUNT, epsilon=5), adyton.ValidityRefused)
    refused(lambda: adyton.connect(running.url, "adyton_" + "0" * 64), errors.Unauthenticated)


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_there_is_comes_back_as_itself(
    kind: str, ana: RemoteStudy, line: BrokenLine, folder: Path
) -> None:
    """Mutant: a kind that is not in the table of kinds."""
    told = {"error": {"kind": kind, "message": "in words", "reference": "abc", "retry_after": 1}}
    error = told_error(told, None)
    assert type(error) is KINDS[kind]
    assert error.to_json() == told
    line.plans["/ask"] = [reply(KINDS[kind].status, told)]  # without a Retry-After: not sent again
    with adyton.connect(line.url, token_for(folder, f"for {kind}")) as connection:
        there = refused(lambda: connection.study("people").ask(COUNT, within=64, request="mine"), KINDS[kind])
    assert there.message.startswith("in words")
    assert ("'mine'" in there.message) == (kind in ("engine_failed", "failed", "request_id_used"))
    assert len(line.sent("/ask")) == 1


def test_nobody_there_says_so(tmp_path: Path, folder: Path) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    assert "nothing listens" in refused(lambda: adyton.connect(nowhere, "x"), errors.Unreachable).message
    gone = refused(lambda: adyton.connect("https://nobody.invalid", "x"), errors.Unreachable)
    assert "nobody.invalid" in gone.message
    assert "nothing was charged" in gone.message


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://host", "looks like"), ("host", "looks like"), ("", "looks like"), ("https://", "looks like"), ("https://host:x", "cannot be read"),
        ("https://me:secret@host", "no password"), ("https://host?a=b", "behind"), ("http://example.org", "in the clear"), (5, "not a int"),
    ],
)  # fmt: skip
def test_bad_addresses_are_refused_before_anything_is_sent(url: Any, said: str) -> None:
    """Mutant: plain http is allowed everywhere."""
    error = refused(lambda: adyton.connect(url, "x"), adyton.InvalidRequest, said)
    assert "secret" not in error.message


@pytest.mark.parametrize(
    "manner", [{"timeout": 0}, {"timeout": "x"}, {"retries": -1}, {"retries": 1.5}, {"ca": "no.pem"}]
)
def test_bad_manners_are_refused(manner: dict[str, Any]) -> None:
    refused(lambda: adyton.connect("https://127.0.0.1:1", "x", **manner), adyton.InvalidRequest)


def test_addresses_of_studies() -> None:
    assert split_address("https://host/people") == ("https://host", "people")
    assert split_address("https:/host:8000/behind/people/") == ("https://host:8000/behind", "people")
    assert split_address("https://host/v1/studies/people") == ("https://host", "people")
    for nothing in ("https://host", "https://", "http:/"):
        refused(lambda text=nothing: split_address(text), adyton.InvalidRequest, "names no study")


# Another version, another program -------------------------------------------------------------------------------


def test_a_server_of_another_version_is_refused_with_both_versions(line: BrokenLine, running: Server) -> None:
    """Mutant: any version will do."""
    line.plans["/readyz"] = [
        reply(200, {"ok": True, "api": "2"}),
        reply(200, {"ok": True}),
        reply(200, b"<html>"),
    ]
    other = refused(lambda: adyton.connect(line.url, owner_token(running)), errors.Unreachable)
    assert "speaks version 2, this client version 1" in other.message
    for _ in range(2):
        refused(lambda: adyton.connect(line.url, owner_token(running)), errors.Unreachable, "version 1")
    assert adyton.connect(line.url, owner_token(running)).studies()
    study = running.url + "/people"  # as the command line has it
    refused(lambda: adyton.connect(study, owner_token(running)), errors.Unreachable, r"\.study\('people'\)")


def test_what_is_no_answer_of_ours_is_said_to_be_none(line: BrokenLine, folder: Path) -> None:
    with adyton.connect(line.url, token_for(folder, "other programs"), retries=0) as connection:
        study = connection.study("people")
        line.plans["/ask"] = [reply(200, b"<html>"), reply(502, b"bad gateway"), reply(200, {"answer": 7})]
        for _ in range(3):
            lost = refused(lambda: study.ask(COUNT, within=65, request="an id"), errors.Unanswered)
            assert lost.facts == {"request": "an id"}
        line.plans["/preview"] = [reply(307, b"", "Location: http://elsewhere/")]
        refused(lambda: study.preview(COUNT, within=65), errors.Unreachable, "elsewhere")
    assert len(line.sent("/ask")) == 3


def test_a_changed_receipt_is_found_here(line: BrokenLine, folder: Path) -> None:
    """A server that lies about its chain, in every way that keeps the form.  Mutant: the server's word is taken."""
    with adyton.connect(line.url, token_for(folder, "careful")) as connection:
        study = connection.study("people")
        study.ask(COUNT, within=66)
        kept = study.verify().head

        def other(part: str, name: str, value: Any, place: int = -1) -> Any:
            def change(told: Any) -> Any:
                one = told[part] if part == "header" else told[part][place]
                one[name] = value
                return told

            return change

        def on_the_last_page(change: Any) -> Any:
            return changed(lambda told: change(told) if told["next"] is None else told)

        lies = [
            other("links", "spent", "0.1"), other("links", "amount", "0.000000000000000001"), other("links", "sealed", "0" * 64),
            other("links", "previous", "0" * 64), other("links", "digest", "0" * 64), other("links", "number", 10**6, 0),
            other("receipts", "query", "SELECT 1"), other("receipts", "spent_by", "0.1"), other("receipts", "by", "ben"),
            other("header", "budget", "5"), other("header", "salt", "x"),
            lambda told: {**told, "links": told["links"][:-1]}, lambda told: {**told, "links": told["links"][1:]},
            lambda told: {**told, "links": told["links"][:-1], "receipts": told["receipts"][:-1]},
        ]  # fmt: skip
        for lie in lies:
            line.plans["/receipts"] = [on_the_last_page(lie)] * 5
            refused(study.verify, adyton.LedgerCorrupt)
        line.plans["/receipts"] = [changed(lambda told: {**told, "next": "soon"})]
        refused(study.verify, errors.Unanswered, "cannot be read")
        assert study.verify(kept).head == study.verify().head


# The token ---------------------------------------------------------------------------------------------------------


def test_where_a_token_comes_from(
    running: Server, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutants: a file that others can read is read; the environment wins over an argument."""
    token, file = token_for(folder, "keys"), tmp_path / "token"
    file.write_text(token + "\n", encoding="ascii")
    file.chmod(0o644)
    for name in ("ADYTON_TOKEN", "ADYTON_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    refused(lambda: adyton.connect(running.url), adyton.InvalidRequest, "ADYTON_TOKEN")
    refused(lambda: adyton.connect(running.url, token_file=file), adyton.InvalidRequest, "chmod 600")
    file.chmod(0o600)
    assert adyton.connect(running.url, token_file=file).studies() == ["people"]
    refused(lambda: adyton.connect(running.url, token, token_file=file), adyton.InvalidRequest, "either")
    monkeypatch.setenv("ADYTON_TOKEN_FILE", str(file))
    assert adyton.connect(running.url).studies() == ["people"]
    monkeypatch.setenv("ADYTON_TOKEN", "nobody's")
    refused(lambda: adyton.connect(running.url), errors.Unauthenticated)
    assert adyton.connect(running.url, token).studies() == ["people"]
    for missing in (tmp_path / "missing", tmp_path):
        refused(lambda path=missing: adyton.connect(running.url, token_file=path), adyton.InvalidRequest)
    for wrong in ("", "two words", "line\nbreak", "é", "x" * 5000):
        error = refused(
            lambda one=wrong: adyton.connect(running.url, one), adyton.InvalidRequest, "is no token"
        )
        assert not wrong or wrong not in error.message


def test_no_error_shows_the_token(running: Server, line: BrokenLine) -> None:
    """Also in what is behind an error, and in the variables of our own frames.  Mutant: ``raise ... from error``."""
    secret = owner_token(running)
    connection = adyton.connect(line.url, secret, retries=0)
    study = connection.study("people")
    line.plans["/ask"] = ["before", "half", reply(500, b"nothing")]
    caught: list[BaseException] = []
    for work in (
        *[lambda: study.ask(COUNT, within=67)] * 3,
        lambda: adyton.connect(f"http://127.0.0.1:{free_port()}", secret),
        lambda: adyton.connect("ftp://host", secret),
    ):
        with pytest.raises(adyton.CuratorError) as raised:
            work()
        caught.append(raised.value)
    for error in caught:
        told = traceback.TracebackException.from_exception(error, capture_locals=True)
        ours = [frame for frame in told.stack if Path(frame.filename).is_relative_to(SOURCE)]
        assert ours
        assert all(secret not in str(frame.locals) for frame in ours)
        assert secret not in f"{error!r} {error.to_json()}"
        assert error.__cause__ is error.__context__ is None


def test_no_proxy_reads_the_token(running: Server, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without TLS a proxy would be told all of it, also about this very machine.  Mutant: proxies of the environment."""
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        proxy.settimeout(0.2)
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        token = running.owner["Authorization"].removeprefix("Bearer ")
        assert adyton.connect(running.url, token=token, timeout=5, retries=0).studies()
        with pytest.raises(TimeoutError):
            proxy.accept()


def test_tls_is_trusted_or_refused(folder: Path, tmp_path: Path) -> None:
    """Mutant: ``verify`` is False."""
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        key,
        "-out",
        cert,
        "-days",
        "1",
    ]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    study = write_study(tmp_path)
    with server([study], "--tls-cert", str(cert), "--tls-key", str(key)) as running:
        secret = owner_token(running)
        assert adyton.connect(running.url, secret, ca=cert).studies() == ["people"]
        unknown = refused(lambda: adyton.connect(running.url, secret), errors.Unreachable)
        assert "is not trusted" in unknown.message
        assert "ca=FILE" in unknown.message
        refused(lambda: adyton.connect(running.url.replace("https", "http"), secret), errors.Unreachable)
        refused(lambda: adyton.connect(running.url, secret, ca=study), adyton.InvalidRequest, "PEM")


def test_columns_that_a_study_declares_are_known_here(ana: RemoteStudy) -> None:
    """Mutant: a kind of column without a reader; an unknown one is refused, not guessed."""
    from adyton.client.facts import _READERS, tables_of
    from adyton.kernel.schema import Column

    assert set(_READERS) == {kind.kind for kind in Column.__args__}  # type: ignore[attr-defined]
    assert BooleanColumn.kind in _READERS
    unknown = {**ana.facts, "tables": [{**ana.facts["tables"][0], "columns": [{"name": "a", "kind": "new"}]}]}
    refused(lambda: tables_of(unknown), adyton.InvalidRequest, "unknown to this version")


@pytest.mark.skipif(not LONG, reason="starts a server of its own: see make long")
def test_the_example_runs_from_beginning_to_end() -> None:
    example = Path(__file__).parents[2] / "examples" / "ask_a_server.py"
    done = subprocess.run([sys.executable, example], check=True, capture_output=True, text=True, timeout=300)
    assert "Refused, free of charge" in done.stdout
    assert "3 receipts, replayed here: the chain is intact." in done.stdout
