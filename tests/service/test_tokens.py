"""Tokens: shown once, kept as a keyed hash, gone at once when revoked, in every process."""

from __future__ import annotations

import json
import sqlite3
import stat
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from adyton.errors import InvalidRequest
from adyton.operations.roles import Role
from adyton.service import beside
from adyton.service.identity import Identity
from adyton.service.tokens import Tokens
from adyton.transports.cli.app import app
from support.processes import APART
from support.servers import write_study

ANA = Identity("ana", Role.ANALYST, Fraction(1, 4))


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(write_study(tmp_path))


def test_a_token_is_kept_as_a_keyed_hash_only(tokens: Tokens) -> None:
    """Mutant: the token itself, or a hash without the secret, is stored."""
    token, known = tokens.make(ANA)
    assert tokens.find(token) == known
    stored = tokens.path.read_bytes() + tokens.path.with_name(tokens.path.name + "-wal").read_bytes()
    assert token.encode() not in stored
    assert token.removeprefix("adyton_").encode() not in stored
    assert stat.S_IMODE(tokens.path.stat().st_mode) == 0o600
    key = tokens.path.parent / beside.FILE
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    key.write_text("another secret that is long enough, really")
    assert Tokens(tokens.path.with_suffix(".toml")).find(token) is None


def test_the_secret_may_come_from_the_environment_and_must_be_hidden(
    tokens: Tokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(beside.VARIABLE, "s" * 40)
    token, _ = tokens.make(ANA)
    assert not (tokens.path.parent / beside.FILE).exists()
    monkeypatch.setenv(beside.VARIABLE, "too short")
    with pytest.raises(InvalidRequest, match="at least 32"):
        Tokens(tokens.path).find(token)
    monkeypatch.delenv(beside.VARIABLE)
    Tokens(tokens.path).make(ANA)
    (tokens.path.parent / beside.FILE).chmod(0o644)
    with pytest.raises(InvalidRequest, match="chmod 600"):
        Tokens(tokens.path).find(token)


def test_tokens_end_by_time_and_by_revocation(tmp_path: Path) -> None:
    now = [1000.0]
    tokens = Tokens(write_study(tmp_path), clock=lambda: now[0])
    short, _ = tokens.make(ANA, "30m")
    lasting, known = tokens.make(ANA)
    now[0] += 30 * 60 - 1
    assert tokens.find(short) is not None
    now[0] += 1
    assert tokens.find(short) is None  # mutant: <= in place of <
    assert tokens.find(lasting) == known
    assert [one.id for one in tokens.revoke("ana")] == [one.id for one in tokens.all()]
    assert tokens.find(lasting) is None
    with pytest.raises(InvalidRequest, match="to revoke"):
        tokens.revoke("ana")


def _found_elsewhere(path: Path, token: str, said: Any, go_on: Any) -> None:
    tokens = Tokens(path)
    said.put(tokens.find(token) is not None)
    go_on.wait(30)
    said.put(tokens.find(token) is not None)


def test_a_revoked_token_is_revoked_in_all_processes(tokens: Tokens) -> None:
    """Mutant: what was found is kept in memory."""
    token, known = tokens.make(ANA)
    said, go_on = APART.Queue(), APART.Event()
    other = APART.Process(
        target=_found_elsewhere, args=(tokens.path.with_suffix(".toml"), token, said, go_on)
    )
    other.start()
    assert said.get(timeout=60) is True
    tokens.revoke(known.id)
    go_on.set()
    assert said.get(timeout=60) is False
    other.join(60)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"budget_share": Fraction(0)}, "budget-share"), ({"budget_share": Fraction(2)}, "budget-share"),
        ({"price_share": Fraction(-1)}, "price-share"), ({"rate": 0}, "rate"), ({"name": ""}, "name"),
        ({"name": "a\nb"}, "name"), ({"role": Role.AGENT}, "an agent has"),
    ],
)  # fmt: skip
def test_identities_that_make_no_sense_cannot_be_made(words: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        Identity(**{"name": "ana", "role": Role.ANALYST, **words})


@pytest.mark.parametrize("span", ["", "5", "0d", "-1d", "1y", "99999999d", "1.5h", "9999999w"])
def test_spans_of_time_are_written_one_way(tokens: Tokens, span: str) -> None:
    with pytest.raises(InvalidRequest, match=r"written|years"):
        tokens.make(ANA, span)


def test_an_agent_needs_an_end(tokens: Tokens) -> None:
    agent = Identity("bot", Role.AGENT, Fraction(1, 10), Fraction(1, 100), 10)
    with pytest.raises(InvalidRequest, match="give expires"):
        tokens.make(agent)
    assert tokens.make(agent, "1d")[1].identity == agent


def test_a_damaged_file_refuses(tokens: Tokens) -> None:
    token, _ = tokens.make(ANA)
    tokens.close()
    for extra in ("-wal", "-shm"):
        tokens.path.with_name(tokens.path.name + extra).unlink(missing_ok=True)
    tokens.path.write_bytes(b"this is no database at all, and long enough to be looked at" * 100)
    from adyton.errors import LedgerCorrupt

    with pytest.raises(LedgerCorrupt, match="cannot be used"):
        Tokens(tokens.path).find(token)


def test_the_command_line_makes_lists_and_revokes(tmp_path: Path) -> None:
    study, run = str(write_study(tmp_path)), CliRunner().invoke
    made = json.loads(
        run(
            app,
            [
                "token",
                "create",
                study,
                "--role",
                "analyst",
                "--name",
                "ana",
                "--budget-share",
                "0.25",
                "--expires",
                "90d",
                "--json",
            ],
        ).output
    )
    assert made["budget_share"] == 0.25
    assert made["expires_at"] - made["made_at"] == 90 * 86400
    bot = ["--role", "agent", "--name", "bot", "--budget-share", "0.1", "--price-share", "0.01"]
    run(app, ["token", "create", study, *bot, "--rate", "60", "--expires", "7d"])
    listed = run(app, ["token", "list", study], env={"COLUMNS": "80"})
    assert "25 %" in listed.output
    assert f"{made['id']} │ ana" in listed.output, "an id is copied, so it is not folded"
    assert made["token"] not in listed.output
    assert made["id"] in run(app, ["token", "revoke", study, "ana"]).output
    for wrong in (
        ["list", str(tmp_path / "none.toml")],
        ["create", study, "--role", "king", "--name", "x"],
        ["revoke", study, "nobody"],
    ):
        assert run(app, ["token", *wrong]).exit_code == 2
    assert (tmp_path / "people.tokens").stat().st_mode & 0o077 == 0
    assert sqlite3.connect(tmp_path / "people.tokens").execute("SELECT COUNT(*) FROM tokens").fetchone() == (
        2,
    )
