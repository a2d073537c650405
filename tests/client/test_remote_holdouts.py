"""A holdout on a real server: the names, results and errors of a local one, and a leaderboard of models."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from typer.testing import CliRunner

import adyton
from adyton import errors
from adyton.client import ServerConnection
from adyton.holdout import Gaussian, Holdout, Ladder, Leaderboard, SparseValidate, Thresholds
from adyton.holdout.facts import read_facts, read_labels
from adyton.operations.roles import Role
from adyton.service.identity import Identity
from adyton.service.tokens import Tokens
from adyton.transports.cli.app import app
from support.faults import broken_line, changed
from support.servers import QUICK, Server, bearer, served, server, write_holdout

LABELS = np.random.default_rng(2).integers(0, 2, 2000)  # as write_holdout has them
SETTINGS = (
    "[server]\ntick = 0\nrate_by_token = 1000000\nrate_by_address = 1000000\n"
    'public_boards = ["test"]\n[agent]\nqueries = 2\n'
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("holdouts")
    for name in ("test", "parts", "ending", "named"):
        write_holdout(folder, name)
    Holdout.create(folder / "climb.toml", labels=LABELS, method=Ladder(), scores=600).close()
    words = {"method": SparseValidate(rejections=2), "scores": 50, "tolerance": "0.2"}
    Holdout.create(folder / "yes.toml", labels=LABELS, **words).close()
    words = {"hypothesis_class": Thresholds(), "features": np.arange(2000.0), "scores_reveal_labels": True}
    Holdout.create(folder / "rules.toml", labels=LABELS, **words).close()
    (folder / "server.toml").write_text(SETTINGS, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def running(folder: Path) -> Iterator[Server]:
    names = ("test", "parts", "ending", "named", "climb", "yes", "rules")
    with server(
        [folder / f"{name}.toml" for name in names], "--settings", str(folder / "server.toml")
    ) as made:
        yield made


def token_for(folder: Path, holdout: str, name: str, role: str = "analyst", **more: Any) -> str:
    tokens = Tokens(folder / f"{holdout}.toml")
    try:
        return tokens.make(Identity(name, Role(role), **more), "1d")[0]
    finally:
        tokens.close()


@pytest.fixture
def connected(running: Server, folder: Path) -> Iterator[Callable[..., ServerConnection]]:
    """Connections of somebody of this name to this holdout."""
    made: list[ServerConnection] = []

    def connect(holdout: str, name: str, role: str = "analyst", url: str | None = None, **more: Any) -> Any:
        token = token_for(folder, holdout, name, role, **more)
        made.append(adyton.connect(url or running.url, token, retries=0))
        return made[-1].holdout(holdout)

    yield connect
    for one in made:
        one.close()


def guesses(seed: int, right: float = 0.8) -> np.ndarray:
    return np.where(np.random.default_rng(seed).random(2000) < right, LABELS, 1 - LABELS)


def without_repeats(made: Any) -> dict[str, Any]:
    return {name: value for name, value in made.to_json().items() if name not in ("repeated", "scores_left")}


# The same as in process ------------------------------------------------------------------------------------------


def test_every_method_says_what_it_says_where_the_file_lies(connected: Any, folder: Path) -> None:
    """Mutants: a choice is made anew for whoever asks again; the scores of others are among the own ones."""
    remote, other = connected("test", "ann"), connected("test", "bob")
    models = {"small": guesses(1), "large": guesses(2, 0.95), "odd": guesses(3, 0.5)}
    submitted = remote.submit("ann", models["small"], name="small")
    chosen = remote.best_of(models, scores=2)
    compared = remote.compare(models["large"], models["odd"])
    other.submit("bob", models["odd"])
    with Holdout.open(folder / "test.toml") as local, local.leaderboard() as board:
        again = board.submit("ann", models["small"], name="small")
        assert (again.repeated, submitted.repeated) == (True, False)
        assert without_repeats(again) == without_repeats(submitted)
        assert without_repeats(local.best_of(models, scores=2)) == without_repeats(chosen)
        assert without_repeats(local.compare(models["large"], models["odd"])) == without_repeats(compared)
        assert remote.leaderboard().to_json() == board.to_json()
        assert str(remote.leaderboard()) == str(board)
        assert remote.budget() == local.budget()
        for one in (remote, other):
            assert one.verify() == local.verify() == one.verify(local.verify().head)
        assert [score.number for score in remote.scores()] == [1]
        overseer = connected("test", "eve", "auditor")
        assert [score.to_json() for score in overseer.scores()] == [
            score.to_json() for score in local.scores()
        ]
        assert overseer.verify(submitted.receipt.digest) == local.verify()
    assert chosen.winner == "large"
    assert (chosen.cost, chosen.candidates) == (2, 3)


def message(work: Callable[[], object]) -> tuple[type, str]:
    with pytest.raises(adyton.CuratorError) as caught:
        work()
    return type(caught.value), caught.value.message


def test_errors_are_those_in_process_and_cost_nothing(connected: Any, folder: Path) -> None:
    remote, two = connected("test", "ann"), {"a": guesses(1), "b": guesses(2)}
    before = remote.budget().scores
    with Holdout.open(folder / "test.toml") as local:
        for work in (
            lambda one: one.submit("", guesses(9)),
            lambda one: one.submit(None, guesses(9)),
            lambda one: one.submit("ann", guesses(9), name=""),
            lambda one: one.submit("ann", guesses(9), name="a\nb"),
            lambda one: one.submit("ann", guesses(9), name=" small"),
            lambda one: one.submit("ann", guesses(9), name="x" * 81),
            lambda one: one.submit("ann", guesses(9), name="\u202eevil"),
            lambda one: one.submit("ann", guesses(9), name=7),
            lambda one: one.submit("ann", guesses(9)[:-1], name="short"),
            lambda one: one.submit("ann", guesses(9), guess="0.5"),
            lambda one: one.best_of({"a": guesses(1)}),
            lambda one: one.best_of(two, scores=0),
            lambda one: one.best_of(two, scores="many"),
            lambda one: one.best_of(two, scores=10**6),
            lambda one: one.best_of(two, scores=999),
            lambda one: one.best_of({"a": guesses(1), "b": guesses(1)}),
            lambda one: one.best_of([guesses(1), guesses(2)]),
            lambda one: one.verify("nothing"),
            lambda one: one.verify("0" * 64),
            lambda one: one.scorer(candidates=10**6),
        ):
            assert message(lambda work=work: work(remote)) == message(lambda work=work: work(local))
        assert local.budget().scores == before
    yes = connected("yes", "ann")
    with Holdout.open(folder / "yes.toml") as local:
        for work in (
            lambda one: one.submit("ann", guesses(1), guess=1, name="a"),
            lambda one: one.leaderboard().standings(),
            lambda one: one.scores(),
        ):
            assert message(lambda work=work: work(yes)) == message(lambda work=work: work(local))
        assert local.budget().scores == 0


# Models of a team ------------------------------------------------------------------------------------------------


def test_two_models_of_a_team_are_two_entries(connected: Any, folder: Path) -> None:
    """Mutants: the board knows teams alone; the same model of two teams is one; a later name replaces the first."""
    ann, bob = connected("named", "ann"), connected("named", "bob")
    ann.submit("ann", guesses(1, 0.9), name="forest")
    ann.submit("ann", guesses(2, 0.6), name="line")
    ann.submit("ann", guesses(3, 0.5), name="line")
    bob.submit("bob", guesses(4, 0.55), name="forest")
    bob.score(guesses(5, 0.2))
    assert bob.submit("bob", guesses(1, 0.9), name="stolen").repeated  # ann sent it first
    assert ann.submit("ann", guesses(1, 0.9), name="renamed").repeated

    def shown() -> list[tuple[str, str | None, int]]:
        return sorted((e.entrant, e.model or "", e.submissions) for e in ann.leaderboard().standings())

    assert shown() == [("ann", "forest", 1), ("ann", "line", 2), ("bob", "", 1), ("bob", "forest", 1)]
    assert bob.submit("bob", guesses(5, 0.2), name="late").repeated  # what had no name yet gets one
    assert bob.submit("bob", guesses(5, 0.2), name="later").repeated
    assert shown() == [("ann", "forest", 1), ("ann", "line", 2), ("bob", "forest", 1), ("bob", "late", 1)]
    ann.submit("ann", guesses(6, 0.3))
    assert bob.submit("bob", guesses(6, 0.3), name="a joke").repeated  # only ann may name it
    assert ("ann", "", 1) in shown()
    best = next(e for e in ann.leaderboard().standings() if e.model == "line")
    assert best.value == ann.score(guesses(2, 0.6)).value  # the better one of two
    with Leaderboard(folder / "named.toml") as board:
        assert "model" in str(board)
        assert ann.leaderboard().to_json() == board.to_json()


def test_a_board_without_names_of_models_has_no_column_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")  # names are shown whole
    path = write_holdout(tmp_path)
    with Leaderboard(path) as board:
        board.submit("ann", guesses(1))
        assert "model" not in str(board)
        assert board.to_json()["entries"][0]["model"] is None
        board.submit("[bold]bob[/]", guesses(2), name="<b>&amp;[red]")
        assert "[bold]bob[/]" in str(board)
        assert "<b>&amp;[red]" in str(board)
        assert "<b>" not in board._repr_html_()


def test_on_a_ladder_models_have_names_too(connected: Any, folder: Path) -> None:
    """Mutant: the note of a staged method forgets the name."""
    ann = connected("climb", "ann")
    ann.submit("ann", guesses(1, 0.6), name="first")
    ann.submit("ann", guesses(2, 0.95), name="second")
    assert {e.model for e in ann.leaderboard().standings()} == {"first", "second"}
    assert len(ann.scores()) == 2
    assert connected("climb", "bob").scores() == []
    with Leaderboard(folder / "climb.toml") as board:
        assert ann.leaderboard().to_json() == board.to_json()


def test_names_are_text_on_the_page(connected: Any, running: Server) -> None:
    evil = "<script>alert(1)</script>"
    connected("test", "mallory").submit("mallory", guesses(77), name=evil)
    page = httpx2.get(running.url + "/boards/test", headers={"Accept": "text/html"}).text
    assert "&lt;script&gt;alert(1)" in page
    assert evil not in page
    assert ">model</th>" in page


# Nobody is somebody else -----------------------------------------------------------------------------------------


def test_nobody_submits_under_the_name_of_another_team(connected: Any, running: Server, folder: Path) -> None:
    """Mutant: the name in the body is believed."""
    eve = connected("parts", "eve")
    before = eve.budget().scores
    with pytest.raises(adyton.Forbidden, match="that of eve"):
        eve.submit("ann", guesses(1), name="mine")
    with pytest.raises(adyton.Forbidden, match="that of eve"):
        eve.leaderboard().submit("ann", guesses(1))
    headers = bearer(token_for(folder, "parts", "eve"))
    address = running.url + "/v1/holdouts/parts/submit"
    body = {"predictions": guesses(1).tolist(), "name": "mine"}
    for entrant in ("ann", "Eve", "eve ", "", "eve\nann"):
        sent = httpx2.post(address, headers=headers, json={**body, "entrant": entrant})
        assert sent.status_code == 403, entrant
    for wrong in ({"by": "ann"}, {"entrant": 7}, {"name": "a\nb"}, {"name": ""}, {"name": ["a"]}):
        sent = httpx2.post(address, headers=headers, json={**body, **wrong})
        assert sent.status_code == 422, wrong
    assert eve.budget().scores == before
    made = httpx2.post(
        address, headers=headers, json=body
    )  # without an entrant it is whoever the token is for
    assert made.status_code == 200
    assert "eve" in {entry.entrant for entry in eve.leaderboard().standings()}
    assert httpx2.post(address, headers=bearer("x" * 71), json=body).status_code == 401
    auditor = connected("parts", "ola", "auditor")
    for work in (
        lambda: auditor.submit("ola", guesses(1)),
        lambda: auditor.best_of({"a": guesses(1), "b": guesses(2)}),
        lambda: auditor.close_with(guesses(1)),
        lambda: eve.close_with(guesses(1)),  # owners alone
    ):
        with pytest.raises(adyton.Forbidden):
            work()


def test_a_choice_beyond_a_part_charges_nothing(connected: Any, folder: Path) -> None:
    """Mutant: the choice looks at what all have left, and pays score by score until the part is used up."""
    from fractions import Fraction

    with Holdout.open(folder / "parts.toml") as local:
        scores = local.budget().scores + (local.budget().scores_left or 0)
    part = connected("parts", "pat", budget_share=Fraction(3, scores))
    two = {"a": guesses(31), "b": guesses(32)}
    before = part.budget().scores
    with pytest.raises(adyton.ScoresRefused, match="3 are left to pat") as refused:
        part.best_of(two, scores=4)
    assert (refused.value.facts["largest"], refused.value.facts["by"]) == ("3", "pat")
    assert part.budget().scores == before
    assert part.best_of(two, scores=3).cost == 3
    assert part.best_of(two, scores=3).repeated
    bot = connected(
        "parts", "bot", "agent", budget_share=Fraction(1, 2), price_share=Fraction(1, 2), rate=1000
    )
    before = bot.budget().scores
    with pytest.raises(adyton.ScoresRefused, match="2 are left to bot"):  # of its session
        bot.best_of(two, scores=5)
    assert bot.budget().scores == before
    assert bot.best_of({"a": guesses(33), "b": guesses(34)}, scores=2).cost == 2


def test_the_end_is_for_owners_who_have_all_of_it(connected: Any, folder: Path) -> None:
    """Mutant: an owner with a part waits for ever, because the refusal looks like somebody who was first."""
    from fractions import Fraction

    part = connected("ending", "half", "owner", budget_share=Fraction(1, 2))
    with pytest.raises(adyton.ScoresRefused, match="half has only a part"):
        part.close_with(guesses(1))
    owner, ann = connected("ending", "boss", "owner"), connected("ending", "ann")
    ann.submit("ann", guesses(1), name="kept")
    last = owner.close_with(guesses(2))
    assert (last.said, last.value, last.scores_left) == ("last", (guesses(2) == LABELS).mean(), 0)
    assert owner.close_with(guesses(2)).repeated
    assert ann.budget().closed
    with Holdout.open(folder / "ending.toml") as local:
        for work in (
            lambda one: one.submit("ann", guesses(3)),
            lambda one: one.best_of({"a": guesses(4), "b": guesses(5)}),
            lambda one: one.compare(guesses(4), guesses(5)),
        ):
            assert message(lambda work=work: work(ann)) == message(lambda work=work: work(local))
        assert message(lambda: owner.close_with(guesses(6))) == message(lambda: local.close_with(guesses(6)))
        assert owner.verify() == ann.verify() == local.verify()
    assert ann.submit("ann", guesses(1), name="kept").repeated


# The chain -------------------------------------------------------------------------------------------------------


def test_a_server_that_lies_about_the_chain_is_found_out(
    connected: Any, running: Server, folder: Path
) -> None:
    """Mutants: no digest is compared; what came with scores is not looked for; the head is not."""
    with broken_line(running.url) as line:
        ann = connected("test", "liar's", url=line.url)
        paid = ann.submit("liar's", guesses(41))

        def cut(told: dict[str, Any]) -> None:
            told["links"], told["receipts"] = told["links"][:-1], []

        def total(told: dict[str, Any]) -> None:
            told["links"][-1]["spent"] = "1"

        def query(told: dict[str, Any]) -> None:
            told["receipts"][-1]["query"] = "SCORE somebody else's"

        def limit(told: dict[str, Any]) -> None:
            told["header"]["budget"] = "0"

        def first(told: dict[str, Any]) -> None:
            told["header"]["digest"] = "0" * 64

        for lie in (cut, total, query, limit, first):
            line.plans["/receipts"] = [changed(lambda told, lie=lie: (lie(told), told)[1])]
            with pytest.raises(adyton.LedgerCorrupt):
                ann.verify()
        assert ann.verify(paid.receipt.previous).receipts == paid.number


def test_answers_that_one_receipt_paid_for_are_replayed_by_overseers(connected: Any, folder: Path) -> None:
    """Mutants: the answers are not chained; those of a team are told to another."""
    with Holdout.open(folder / "climb.toml") as local:
        for seed in range(505 - len(local.answers())):  # more than a page has
            local.score(guesses(1000 + seed, 0.3), by="ann")
        owner = connected("climb", "boss", "owner")
        assert owner.verify() == local.verify()
        assert owner.verify().receipts > 500
        assert owner.verify(local.scores()[0].receipt.digest) == local.verify()
        assert message(lambda: owner.verify("0" * 64)) == message(lambda: local.verify("0" * 64))
    ann = connected("climb", "ann")
    with pytest.raises(adyton.Forbidden, match="only owners and auditors may replay them"):
        ann.verify()


def test_nothing_that_would_confirm_a_guess_of_the_labels_is_sent(
    connected: Any, running: Server, folder: Path
) -> None:
    """The fingerprint is a digest of public facts and labels: who has it can try labels until they fit.

    Mutant: the header is told as that of a study.
    """
    path = folder / "test.toml"
    facts = read_facts(path)
    fingerprint = facts.fingerprint(read_labels(path, facts))
    with Holdout.open(path) as local:
        salt = local.ledger.header.salt
        assert local.ledger.header.study == fingerprint  # and with it the guess is confirmed
    connected("test", "ann").score(guesses(51))
    for role in ("owner", "analyst", "auditor"):
        headers = bearer(token_for(folder, "test", role, role))
        for what in ("", "/receipts", "/scores", "/budget", "/standings"):
            told = httpx2.get(f"{running.url}/v1/holdouts/test{what}", headers=headers)
            assert told.status_code == 200
            assert fingerprint not in told.text
            assert salt not in told.text
        told = httpx2.get(f"{running.url}/v1/holdouts/test/receipts", headers=headers).json()
        assert set(told["header"]) == {"budget", "digest"}


def test_what_others_sent_is_not_told(connected: Any, running: Server, folder: Path) -> None:
    """Mutant: all receipts are told whole to everybody."""
    connected("test", "ann").submit("ann", guesses(61), name="secret name")
    headers = bearer(token_for(folder, "test", "stranger"))
    told = httpx2.get(f"{running.url}/v1/holdouts/test/receipts", headers=headers).json()
    assert told["receipts"] == []
    assert len(told["links"]) > 0
    assert "SCORE" not in json.dumps(told)
    assert httpx2.get(f"{running.url}/v1/holdouts/test/scores", headers=headers).json() == []


# A class ---------------------------------------------------------------------------------------------------------


def test_rules_of_a_class_are_not_scored_over_a_network(
    connected: Any, running: Server, folder: Path
) -> None:
    """Mutant: a server gives exact scores without end to whoever has a token."""
    owner, rule = connected("rules", "boss", "owner"), {"column": 0, "above": 3.5}
    for work in (
        lambda: owner.score(rule),
        lambda: owner.score(guesses(1)),
        lambda: owner.submit("boss", rule, name="a"),
        lambda: owner.compare(guesses(1), guesses(2)),
        lambda: owner.best_of({"a": rule, "b": {"column": 0, "above": 4}}),
        lambda: owner.close_with(rule),
    ):
        with pytest.raises(adyton.InvalidRequest, match="scored where its file lies"):
            work()
    headers = bearer(token_for(folder, "rules", "boss", "owner"))
    for path, body in (
        ("score", {"predictions": [1] * 2000}),
        ("score", {"predictions": rule}),
        ("submit", {"predictions": [1] * 2000}),
        ("best", {"models": {"a": [1] * 2000, "b": [0] * 2000}}),
        ("close", {"predictions": [1] * 2000}),
    ):
        sent = httpx2.post(f"{running.url}/v1/holdouts/rules/{path}", headers=headers, json=body)
        assert sent.status_code == 422, path
        assert isinstance(body.get("predictions"), dict) or "where its file lies" in sent.text, path
    assert owner.budget().scores == 0
    assert "reveal every label" in " ".join(str(owner).split())
    assert owner.verify().receipts == 0


# The command line ------------------------------------------------------------------------------------------------


def test_commands_take_an_address(
    running: Server, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_holdout(tmp_path, "lined")
    for name, seed in (("small", 1), ("large", 2)):
        np.save(f"{name}.npy", guesses(seed))

    def said(*words: str, code: int = 0) -> Any:
        done = CliRunner().invoke(app, ["holdout", *words, "--json"])
        assert done.exit_code == code, done.output
        return json.loads(done.output)

    with server([path], "--settings", str(folder / "server.toml")) as own:
        place = f"{own.url}/lined"
        tokens = Tokens(path)
        for role in ("analyst", "owner"):
            monkeypatch.setenv("ADYTON_TOKEN", tokens.make(Identity("ann", Role(role)))[0])
            made = said("submit", place, "ann", "small.npy", "--name", "small")
            assert said("submit", str(path), "ann", "small.npy", "--name", "small")["value"] == made["value"]
            assert said("submit", place, "bob", "small.npy", code=3)["error"]["kind"] == "forbidden"
            assert said("submit", place, "ann", "small.npy", "--name", "", code=2)["error"]
            assert said("best", place, "small.npy", "large.npy")["candidates"] == 2
            found = said("verify", place)
            assert found == said("verify", str(path)) == said("verify", place, "--head", found["head"])
            assert said("verify", place, "--head", "0" * 64, code=5)["error"]["kind"] == "ledger_corrupt"
            shown = CliRunner().invoke(app, ["holdout", "leaderboard", place]).output
            assert "model" in shown
            assert "small" in shown
            if role == "analyst":
                assert said("close", place, "large.npy", code=3)["error"]["kind"] == "forbidden"
        tokens.close()
        assert said("close", place, "large.npy")["said"] == "last"
        assert said("submit", place, "ann", "large.npy", code=3)["error"]["kind"] == "scores_refused"
        assert "an intact chain" in CliRunner().invoke(app, ["holdout", "verify", place]).output


def test_a_method_that_takes_a_guess_takes_it_with_a_name(tmp_path: Path) -> None:
    """In process, where a page sends it."""
    path = tmp_path / "h.toml"
    Holdout.create(path, labels=LABELS, method=Gaussian(), tolerance="0.1").close()
    with served([path], QUICK) as house:
        headers = house.made("ann", study="h")
        sent = house.client.post(
            "/v1/holdouts/h/submit", headers=headers, json={"predictions": guesses(1).tolist(), "guess": 1}
        )
        assert (sent.status_code, "takes no guess" in sent.text) == (422, True)
        assert errors.Forbidden.status == 403
