"""One table of operations: each is on every surface, says the same about its cost there, and works."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import adyton
from adyton import errors
from adyton.client import RemoteHoldout, RemoteMock, RemoteMonitor, RemoteStudy, ServerConnection
from adyton.operations.operation import SURFACES, Operation
from adyton.operations.roles import Role
from adyton.operations.studies import StudyOperations
from adyton.operations.table import EXCEPTIONS, operations
from adyton.operations.words import words_of
from adyton.service.identity import Identity
from adyton.service.tokens import Tokens
from adyton.transports.cli.app import app
from adyton.transports.mcp.tools import TOOLS
from adyton.transports.pages.operation_forms import FORMS
from support.agents import Doors, with_doors
from support.servers import COUNT, Served, Server, served, write_holdout, write_study
from support.web import Browsing, problems, visit_of

REMOTE: dict[str, tuple[type, ...]] = {
    "server": (ServerConnection,),
    "study": (RemoteStudy,),
    "mock": (RemoteMock,),
    "monitor": (RemoteMonitor,),
    "holdout": (RemoteHoldout,),
    "token": (RemoteStudy, RemoteHoldout),
}
ALL = operations()
NOT_OPTIONS = {
    "query",
    "queries",
    "predictions",
    "first",
    "second",
    "models",
    "entrant",
    "number",
    "column",
    "token",
}


def name_of(operation: Operation[Any, Any]) -> str:
    return f"{operation.place.noun}.{operation.name}"


def left_out(surface: str) -> set[str]:
    return {name_of(one.operation) for one in EXCEPTIONS if one.surface == surface}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("operations")
    with served([write_study(folder), write_holdout(folder), write_holdout(folder, "ending")]) as made:
        yield made


def browsing(house: Served, *token: str) -> Browsing:
    person = Browsing(house)
    person.log_in(house.made(*token))
    return person


@pytest.fixture
def owner(house: Served) -> Browsing:
    return browsing(house, "owner", "owner")


@pytest.fixture
def judge(house: Served) -> Browsing:
    return browsing(house, "owner", "owner", "test")


def test_exceptions_are_few_and_each_has_a_reason() -> None:
    """Mutant: whatever is inconvenient is left out."""
    assert len(EXCEPTIONS) <= 5
    assert all(len(one.reason) > 40 and one.surface in SURFACES for one in EXCEPTIONS)
    assert {one.surface for one in EXCEPTIONS} <= {"tool", "page"}


def test_every_operation_is_a_route(house: Served) -> None:
    told = house.client.get("/v1/openapi.json").json()
    for operation in ALL:
        route = told["paths"][operation.route]["get" if operation.get else "post"]
        assert route["summary"] == operation.help
        assert route["description"].startswith(f"{operation.cost.capitalize()}. ")
        if not operation.get and operation.words:
            (reference,) = re.findall(
                r"\w+$", route["requestBody"]["content"]["application/json"]["schema"]["$ref"]
            )
            body = told["components"]["schemas"][reference]
            assert list(body["properties"]) == [word.name for word in operation.words]
            described = {word.name: word.help for word in operation.words}
            assert {name: one["description"] for name, one in body["properties"].items()} == described


@pytest.mark.parametrize("operation", ALL, ids=name_of)
def test_every_operation_is_a_method_with_the_signature_of_its_function(
    operation: Operation[Any, Any],
) -> None:
    """Mutant: a method takes whatever it is given."""
    for kind in REMOTE[operation.place.noun]:
        method = getattr(kind, operation.name)
        assert inspect.isroutine(method)
        own, here = inspect.signature(method), inspect.signature(operation.function)
        assert list(own.parameters.values())[1:] == list(here.parameters.values())[1:]
        stays_there = operation is StudyOperations.open_monitor or operation.place.noun == "server"
        assert stays_there or own.return_annotation == here.return_annotation
        assert method.__doc__


def commands() -> dict[str, click.Command]:
    found: dict[str, click.Command] = {}

    def walk(group: Any, prefix: str) -> None:
        for name, one in group.commands.items():
            if isinstance(one, click.Group) or hasattr(one, "commands"):
                walk(one, f"{prefix}{name} ")
            else:
                found[prefix + name] = one

    walk(typer.main.get_command(app), "")
    return found


@pytest.mark.parametrize("operation", ALL, ids=name_of)
def test_every_operation_is_a_command_with_its_options(operation: Operation[Any, Any]) -> None:
    """Mutant: an option is forgotten."""
    name, _, flag = operation.command.partition(" --")
    command = commands()[name]
    known = {
        option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)
    }
    assert not flag or f"--{flag}" in known
    for word in operation.arguments:
        if word.name not in NOT_OPTIONS:
            assert word.option.split("/")[0] in known, word.name
    if not flag:
        assert ("It is charged." if operation.spends else "Free of charge.") in str(command.help)


def test_every_operation_is_a_tool(tmp_path: Path) -> None:
    """As an agent sees them whose token is that of an owner.  Mutant: what costs something is marked as read only."""
    listed: dict[str, Any] = {}

    async def work(doors: Doors) -> None:
        for study in ("people", "test"):
            async with doors.agent(doors.made("owner", "owner", study)) as agent:
                listed.update({one.name: one for one in (await agent.list_tools()).tools})

    with_doors([write_study(tmp_path), write_holdout(tmp_path)], work)
    without = left_out("tool")
    assert {one.tool for one in ALL if name_of(one) not in without} == set(listed)
    for operation in ALL:
        if name_of(operation) not in without:
            tool, shown = TOOLS[operation.tool], listed[operation.tool]
            assert operation in tool.operations
            assert {word.name for word in operation.words} <= set(shown.input_schema["properties"])
            assert operation.help in shown.description
            if operation.spends:
                assert "Charged." in shown.description
                assert not shown.annotations.read_only_hint


@pytest.mark.parametrize(
    "operation", [one for one in ALL if name_of(one) not in left_out("page")], ids=name_of
)
def test_every_operation_is_a_page(operation: Operation[Any, Any], owner: Browsing, judge: Browsing) -> None:
    """Those that a form is made for have a field for each word; others are on a page of their own."""
    person, name = (judge, "test") if operation.place.of == "holdout" else (owner, "people")
    path = operation.page.replace("{name}", name)
    shown = person.get(path)
    assert shown.status_code == 200
    if "/do/" in path:
        assert FORMS[operation.page] is operation
        fields = set(re.findall(r' name="(\w+)"', shown.text))
        assert {word.name for word in operation.words} - {"request"} <= fields
        assert operation.help in shown.text
        assert ("This is charged." if operation.spends else "Free of charge.") in shown.text
        assert f'href="{path}"' in person.get(path.rpartition("/")[0]).text


def test_a_made_form_asks_once(owner: Browsing, house: Served) -> None:
    """The same form sent twice is one charge; what is missing is said beside its field.  Mutant: no request id."""
    path = "/studies/people/do/suggest_bounds"
    form = owner.get(path)
    wrong = owner.post(path, {"column": "", "share": "0.01"}, form)
    assert (wrong.status_code, problems(wrong)) == (422, ["column-problem"])
    before = house.house.served[0].count()  # type: ignore[union-attr]
    asked = {"column": "income", "share": "0.01", "visit": visit_of(form)}
    pages = [owner.post(path, asked, form) for _ in range(2)]
    assert [page.status_code for page in pages] == [200, 200]
    assert "income" in pages[0].text
    assert house.house.served[0].count() == before + 1  # type: ignore[union-attr]
    wanted = {"positives": "2", "share": "0.01", "visit": visit_of(form)}
    opened = [owner.post("/studies/people/do/open_monitor", wanted, form) for _ in range(2)]
    assert all("positives" in page.text for page in opened)
    number = house.house.served[0].count()  # type: ignore[union-attr]
    assert number == before + 2
    assert owner.post("/studies/people/do/close_monitor", {"number": "99999"}, form).status_code == 404
    closed = owner.post("/studies/people/do/close_monitor", {"number": str(number)}, form)
    assert "Closed" in closed.text
    many = owner.post(
        "/studies/people/do/ask_many",
        {"queries": f"{COUNT}; {COUNT.replace('>', '<')}", "share": "0.01", "visit": "b1"},
        form,
    )
    assert many.text.count("noise interval") >= 2


def test_the_best_of_several_models_is_chosen_on_a_page(judge: Browsing) -> None:
    """Each file is a model, by its name.  Mutant: of several files in one field the last is taken."""
    rng = np.random.default_rng(5)
    files = []
    for name in ("one", "two", "three"):
        text = "guess\n" + "\n".join(map(str, rng.integers(0, 2, 2000))) + "\n"
        files.append(("models", (f"{name}.csv", text.encode(), "text/csv")))
    path = "/holdouts/test/do/best_of"
    shown = judge.post(path, {"scores": "1"}, judge.get(path), files=files)
    assert shown.status_code == 200, problems(shown)
    assert re.search("one|two|three", shown.text)


def test_what_no_form_is_for_is_not_found(owner: Browsing, house: Served) -> None:
    """Mutant: any tool has a form; a role may do on a page what it may not do elsewhere."""
    for name in ("feed_monitor", "make_token", "nothing"):
        assert owner.get(f"/studies/people/do/{name}").status_code == 404
    analyst = browsing(house, "ana")
    assert analyst.get("/studies/people/do/last_look").status_code == 403
    form = analyst.get("/studies/people/ask")
    assert analyst.post("/studies/people/do/last_look", {"alpha": "0.05"}, form).status_code == 403


def test_an_argument_without_a_meaning_is_an_error_at_once() -> None:
    """Mutant: it is sent without a word of help."""

    def nameless(curator: Any, sizes: int) -> None:
        """Of nothing."""

    with pytest.raises(TypeError, match="sizes of"):
        list(words_of(nameless, {}))


# What is made and nothing else ------------------------------------------------------------------------------------


@pytest.fixture
def place(running: Server, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a server for somebody who may see all of a study, in a directory without it."""
    tokens = Tokens(folder / "people.toml")
    token, _ = tokens.make(Identity(tmp_path.name, Role.OWNER))
    tokens.close()
    monkeypatch.setenv("ADYTON_TOKEN", token)
    monkeypatch.chdir(tmp_path)
    return running.url


def printed(*words: str) -> Any:
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.output)


def test_commands_that_are_made_work_in_a_file_and_at_an_address(
    place: str, folder: Path, tmp_path: Path
) -> None:
    """Mutant: a made command takes a file alone."""
    here, there = (printed("describe", where) for where in (str(folder / "people.toml"), f"{place}/people"))
    assert here == there
    table = CliRunner().invoke(app, ["describe", f"{place}/people"]).output
    assert "income" in table
    assert "Rows are never answered" in " ".join(table.split())
    assert printed("studies", place) == ["people"]
    assert printed("holdouts", place) == []
    bounds = printed(
        "suggest-bounds",
        f"{place}/people",
        "income",
        "--share",
        "0.001",
        "--low-fraction",
        "0.45",
        "--high-fraction",
        "0.55",
    )
    assert bounds["asked"]["receipt"]["number"] > 0
    file = str(write_holdout(tmp_path))
    assert printed("holdout", "describe", file)["items"] == 2000
    assert printed("holdout", "scores", file) == []
    assert printed("holdout", "receipts", file) == {"receipts": []}


def test_tokens_are_made_and_ended_from_python(place: str, folder: Path) -> None:
    """For owners alone.  Mutant: the client has no name for it."""
    with adyton.connect(place) as connection:
        study = connection.study("people")
        created = study.make_token(name="from python", role="analyst", budget_share="0.1").to_json()
        with adyton.connect(place, created["token"]) as theirs:
            assert theirs.studies() == ["people"]
            with pytest.raises(adyton.Forbidden):
                theirs.study("people").tokens()
        assert created["id"] in [one["id"] for one in study.tokens().to_json()["tokens"]]
        assert study.revoke_token("from python").to_json() == {"revoked": [created["id"]]}
        with pytest.raises(errors.Unauthenticated):
            adyton.connect(place, created["token"])
        assert study.describe().to_json() == study.facts
