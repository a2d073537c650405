"""``adyton mcp``: a study for one agent on this machine.  Nothing but the protocol is on standard output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import adyton
from adyton.operations.roles import Role, may
from adyton.service.identity import Identity
from adyton.service.settings import Settings
from adyton.transports.cli.app import app
from adyton.transports.mcp import stdio
from adyton.transports.mcp.tools import TOOLS
from support import processes
from support.agents import META, agent_beside, said
from support.servers import COUNT, write_holdout, write_study

GUESSES = [0] * 2000


def test_every_tool_over_standard_input(tmp_path: Path) -> None:
    """Mutants: the name does not travel; the parts of the command line are not held."""
    files = [write_study(tmp_path), write_holdout(tmp_path)]
    log = tmp_path / "errors.txt"
    asked = {"study": "people", "query": COUNT}
    calls: list[tuple[str, dict[str, Any], bool]] = [
        ("list_studies", {}, False),
        ("describe", {"name": "people"}, False),
        ("preview", {**asked, "within": 50}, False),
        ("try_on_mock", {**asked, "within": 50}, False),
        ("ask", {**asked, "within": 50}, False),
        ("ask", {**asked, "share": 0.01}, False),
        ("ask", {**asked, "share": 0.01}, False),  # of the largest price, which stays: a repeat
        ("ask", {**asked, "within": 1}, True),
        ("ask", {**asked, "within": 50, "budget_share": 1}, True),
        ("ask", {**asked, "query": "SELECT * FROM people", "within": 50}, True),
        ("ask_many", {"study": "people", "queries": [COUNT, COUNT.replace(">", "<")], "within": 90}, False),
        ("budget", {"name": "people"}, False),
        ("budget", {"name": "test"}, False),
        ("score_on_holdout", {"holdout": "test", "predictions": GUESSES}, False),
        ("compare_on_holdout", {"holdout": "test", "first": GUESSES, "second": [1, *GUESSES[1:]]}, False),
    ]

    async def work() -> None:
        words = [*map(str, files), "--name", "bot", "--budget-share", "0.1", "--price-share", "0.05"]
        async with agent_beside(log, *words) as agent:
            actions = {name: [one.action for one in tool.operations] for name, tool in TOOLS.items()}
            known = [
                one for one in TOOLS if any(what is None or may(Role.AGENT, what) for what in actions[one])
            ]
            assert [one.name for one in (await agent.list_tools()).tools] == known
            assert len((await agent.list_resources()).resources) == 3
            for tool, arguments, wrong in calls:
                result = await agent.call_tool(tool, arguments)
                assert result.is_error is wrong, (tool, arguments, said(result))

    processes.run(work())
    with adyton.open(files[0]) as curator:
        receipts = list(curator.receipts())
        assert [receipt.order.by for receipt in receipts] == ["bot"] * 3
        assert {receipt.budget_share for receipt in receipts} == {curator.study.allowed // 10}
        assert max(receipt.order.amount for receipt in receipts) <= curator.study.allowed // 20
        assert curator.verify().receipts == 3
    assert "Traceback" not in log.read_text()


def test_standard_output_has_lines_of_the_protocol_and_nothing_else(tmp_path: Path) -> None:
    """A call that is sent twice is one charge.  Mutant: something is printed."""
    study = write_study(tmp_path)
    asked = {"study": "people", "query": COUNT, "share": 0.01}
    params = {"name": "ask", "arguments": asked, "_meta": META}
    call = {"jsonrpc": "2.0", "method": "tools/call", "params": params}
    other = {**call, "params": {**params, "arguments": {**asked, "share": 0.02}}}
    lines = [{**call, "id": 5}, "this is no JSON", {**call, "id": 5}, [1, 2], {**other, "id": 6}]
    command = [sys.executable, "-m", "adyton.transports.cli.app", "mcp", str(study), "--price-share", "1"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        told = []
        for line in lines:
            process.stdin.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
            process.stdin.flush()
            if isinstance(line, dict):
                answer: dict[str, Any] = {}
                while answer.get("id") != line["id"]:
                    answer = json.loads(process.stdout.readline())
                told.append(answer["result"]["structuredContent"]["answer"])
        process.stdin.close()
        rest = process.stdout.read()
        assert process.wait(60) == 0
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
    assert [one["receipt"]["number"] for one in told] == [1, 1, 2]
    assert [one["repeated"] for one in told] == [False, True, False]
    assert told[0]["answer"] == told[1]["answer"]


def test_the_first_interrupt_ends_it_and_says_no_more_than_is_known(tmp_path: Path) -> None:
    """Mutants: it waits for another line; it says that nothing was charged."""
    study = write_study(tmp_path)
    params = {
        "name": "ask",
        "arguments": {"study": "people", "query": COUNT, "share": 0.01},
        "_meta": META,
    }
    command = [sys.executable, "-m", "adyton.transports.cli.app", "mcp", str(study), "--price-share", "1"]
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, **pipes, text=True, bufsize=1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(
            json.dumps({"jsonrpc": "2.0", "method": "tools/call", "params": params, "id": 1}) + "\n"
        )
        assert (
            json.loads(process.stdout.readline())["result"]["structuredContent"]["answer"]["receipt"][
                "number"
            ]
            == 1
        )
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert process.stderr is not None
        assert process.stderr.read().splitlines()[-1] == "adyton: interrupted; receipts say what was charged"


def test_every_process_counts_its_own_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls are numbered from one in each: the third of today is not that of yesterday.  Mutant: one id for all."""
    seen: list[str] = []

    def stopped(desk: Any, caller: Any, connection: str) -> None:
        seen.append(connection)
        raise KeyboardInterrupt

    monkeypatch.setattr(stdio, "Agents", stopped)
    study = write_study(tmp_path)
    who = Identity("bot", Role.AGENT, Fraction(1, 4), Fraction(1, 4), 10)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            stdio.serve_stdio([study], Settings(), who)
    assert len(set(seen)) == 2


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["gone.toml"], "there is no file gone.toml"),
        (["http://127.0.0.1:8000/people"], "this is the address of a server"),
        (["people.toml", "--budget-share", "2"], "budget-share is a share of the budget"),
        (["people.toml", "--price-share", "x"], "--price-share"),
        (["people.toml", "--rate", "0"], "a rate is a whole number"),
        (["people.toml", "--name", "oidc bob"], "choose another --name"),
        (["people.toml", "--name", " bob"], "choose another --name"),
        (["people.toml", "--settings", "gone.toml"], "the server file gone.toml cannot be read"),
        (["people.parquet"], "is neither a study file nor a holdout file"),
    ],
)
def test_bad_words_are_refused_with_the_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], expected: str
) -> None:
    write_study(tmp_path)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["mcp", *words])
    assert result.exit_code == 2
    assert expected in " ".join(result.stderr.split())
    assert result.stdout == ""


def test_help_needs_no_sdk_and_adyton_never_imports_it() -> None:
    """Mutant: the SDK is imported with the command."""
    probe = (
        "import sys, adyton, adyton.transports.cli.app as cli; from typer.testing import CliRunner; "
        "told = CliRunner().invoke(cli.app, ['mcp', '--help']); assert 'adyton mcp people.toml' in told.output; "
        "told = CliRunner().invoke(cli.app, ['serve', '--help']); assert '--mcp' in told.output; "
        "print([name for name in ('mcp', 'mcp_types', 'fastapi', 'starlette') if name in sys.modules])"
    )
    environment = {**os.environ, "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.strip() == "[]"
