"""Statements that ask nothing: settings, transactions that mean nothing here, and what cannot be done."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from adyton.transports.pg.errors import SqlError
from adyton.transports.pg.results import StatementResult, lines
from adyton.transports.pg.values import TEXT, Field

if TYPE_CHECKING:
    from adyton.transports.pg.work import Work

_NAME = r"(?P<name>[A-Za-z_][\w.]*|\"[^\"]+\"(?:\.\"[^\"]+\")?)"
_SET = re.compile(rf"\s*SET\s+(?:(?:SESSION|LOCAL)\s+)?{_NAME}(?:\s*=|\s+TO\s)\s*(?P<value>.*)", re.I | re.S)
_ZONE = re.compile(
    r"\s*SET\s+(?:(?:SESSION|LOCAL)\s+)?(?P<what>TIME\s+ZONE|NAMES)\s+(?P<value>.*)", re.I | re.S
)
_NO_EFFECT = re.compile(
    r"\s*SET\s+(?:SESSION\s+CHARACTERISTICS|(?:LOCAL\s+|SESSION\s+)?TRANSACTION|CONSTRAINTS|(?:SESSION\s+|LOCAL\s+)?ROLE"
    r"|SESSION\s+AUTHORIZATION)\b.*",
    re.I | re.S,
)
_RESET = re.compile(rf"\s*RESET\s+(?:(?P<all>ALL)|TIME\s+ZONE|{_NAME})\s*$", re.I)
_SHOW = re.compile(
    rf"\s*SHOW\s+(?:(?P<all>ALL)|(?P<isolation>TRANSACTION\s+ISOLATION\s+LEVEL)|(?P<zone>TIME\s+ZONE)|{_NAME})\s*$",
    re.I,
)
_VALUE = re.compile(r"'((?:[^']|'')*)'|\"([^\"]*)\"|([^\s,'\"]+)")
_READ_ONLY = (
    "INSERT",
    "UPDATE",
    "DELETE",
    "MERGE",
    "CREATE",
    "DROP",
    "ALTER",
    "TRUNCATE",
    "GRANT",
    "REVOKE",
    "COMMENT",
)
_UNKNOWN = (
    "COPY",
    "CALL",
    "DO",
    "LISTEN",
    "NOTIFY",
    "LOAD",
    "VACUUM",
    "ANALYZE",
    "REINDEX",
    "CLUSTER",
    "LOCK",
    "IMPORT",
    "REFRESH",
    "SECURITY",
    "CHECKPOINT",
    "PREPARE",
    "EXECUTE",
    "REASSIGN",
    "ATTACH",
    "INSTALL",
    "PRAGMA",
    "DESCRIBE",
    "SUMMARIZE",
    "EXPORT",
    "VALUES",
    "TABLE",
    "PIVOT",
)
_MEANS_NOTHING = {
    "DISCARD": "DISCARD ALL",
    "DEALLOCATE": "DEALLOCATE",
    "UNLISTEN": "UNLISTEN",
    "SAVEPOINT": "SAVEPOINT",
    "RELEASE": "RELEASE",
}
_WHAT = "Ask with SELECT of aggregates; the columns are in adyton.columns."


class Command(Protocol):
    """``dry``: only what would come back is asked for."""

    def __call__(self, work: Work, text: str, *, dry: bool) -> StatementResult: ...


def refusal_of(word: str) -> SqlError | None:
    """Why a statement that begins with this word is not done; None if it may be."""
    if word in _READ_ONLY:
        return SqlError("25006", f"{word} is refused: nothing can be written here", _WHAT)
    if word in _UNKNOWN:
        return SqlError("0A000", f"{word} is refused: it is no query about a study", _WHAT)
    return None


def _set(work: Work, text: str, *, dry: bool) -> StatementResult:
    if _NO_EFFECT.fullmatch(text):
        return StatementResult("SET")
    found = _ZONE.match(text)
    if found is not None:
        name = "TimeZone" if found["what"].upper().startswith("TIME") else "client_encoding"
    elif (found := _SET.match(text)) is not None:
        name = found["name"].replace('"', "")
    else:
        raise SqlError("42601", "write SET name = value", "For example SET adyton.within = 50.")
    said = found["value"].strip()
    value = None if said.upper() == "DEFAULT" else _plain(said)
    return StatementResult("SET", changed=None if dry else work.session.set(name, value))


def _plain(value: str) -> str:
    """'50', 50, or a list of names, as one text."""
    parts = [a.replace("''", "'") or b or c for a, b, c in _VALUE.findall(value)]
    if not parts and value not in ("''", '""'):
        raise SqlError("42601", "write SET name = value", "For example SET adyton.within = 50.")
    return ", ".join(parts)


def _reset(work: Work, text: str, *, dry: bool) -> StatementResult:
    found = _RESET.match(text)
    if found is None:
        raise SqlError("42601", "write RESET name, or RESET ALL")
    if dry:
        return StatementResult("RESET")
    if found["all"]:
        work.session.reset()
        return StatementResult("RESET")
    return StatementResult(
        "RESET", changed=work.session.set((found["name"] or "TimeZone").replace('"', ""), None)
    )


def _show(work: Work, text: str, *, dry: bool) -> StatementResult:
    found = _SHOW.match(text)
    if found is None:
        raise SqlError("42601", "write SHOW name, or SHOW ALL")
    if found["all"]:
        fields = [Field("name"), Field("setting"), Field("description", TEXT)]
        return StatementResult("SHOW", fields, [[name, value, ""] for name, value in work.session.all()])
    name = "transaction_isolation" if found["isolation"] else "TimeZone" if found["zone"] else found["name"]
    name = name.replace('"', "")
    return lines(name, [work.session.shown(name)], "SHOW")


def _begin(work: Work, text: str, *, dry: bool) -> StatementResult:
    work.status = work.status if dry else "T"
    return StatementResult("BEGIN")


def _commit(work: Work, text: str, *, dry: bool) -> StatementResult:
    work.status = work.status if dry else "I"
    return StatementResult("COMMIT")


def _rollback(work: Work, text: str, *, dry: bool) -> StatementResult:
    ends = not re.search(r"\bTO\b", text, re.I)  # ROLLBACK TO SAVEPOINT goes on
    work.status = "I" if ends and not dry else work.status
    return StatementResult("ROLLBACK")


def _nothing(tag: str) -> Command:
    def done(work: Work, text: str, *, dry: bool) -> StatementResult:
        if tag == "DISCARD ALL" and not dry:
            work.session.reset()
        return StatementResult(tag)

    return done


COMMANDS: dict[str, Command] = {
    "SET": _set,
    "RESET": _reset,
    "SHOW": _show,
    "BEGIN": _begin,
    "START": _begin,
    "COMMIT": _commit,
    "END": _commit,
    "ROLLBACK": _rollback,
    "ABORT": _rollback,
    **{word: _nothing(tag) for word, tag in _MEANS_NOTHING.items()},
}
