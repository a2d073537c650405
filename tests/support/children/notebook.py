"""Notebooks with JupySQL, started by ``JupySql`` in ``support.wire_programs``: one copy of this process for each line that is read."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from importlib import import_module
from typing import Any
from urllib.parse import quote_plus, unquote_plus

import psycopg


def write(number: str, *parts: str) -> None:
    line = "\t".join([number, *map(quote_plus, parts)]) + "\n"
    os.write(ANSWERS, line.encode())


def written(rows: Any) -> str:
    return "\n".join("\x1f".join(map(str, row)) for row in rows)


def notebook(number: str, word: str, address: str, texts: list[str]) -> None:
    shell.run_line_magic("sql", address)
    if word == "tables":
        write(number, "ok", written(shell.run_line_magic("sqlcmd", "tables")._table.rows))
    elif word == "columns":
        found = shell.run_line_magic("sqlcmd", "columns --table people")
        write(number, "ok", written(row[:2] for row in found._table.rows))
    elif word == "cancel":
        try:
            shell.run_cell_magic("sql", "", texts[0])
            seen = "answered"
        except KeyboardInterrupt:
            seen = "KeyboardInterrupt"
        write(number, "ok", seen, written(shell.run_cell_magic("sql", "", "SELECT 1")))
    else:
        write(number, "ok", written(shell.run_cell_magic("sql", "", texts[0])))


def causes(error: BaseException | None) -> list[BaseException]:
    return (
        []
        if error is None
        else [error, *causes(getattr(error, "orig", None) or error.__cause__ or error.__context__)]
    )


def refused(number: str, error: BaseException) -> None:
    """What a user reads, and what the driver has said."""
    told = [one for one in causes(error) if isinstance(one, psycopg.Error)]
    if not told:
        write(number, "no", "", "".join(traceback.format_exception(error))[-1500:], "", "0")
        return
    diagnosis = told[0].diag
    message = str(diagnosis.message_primary or told[0])
    place = diagnosis.statement_position or "0"
    write(number, "no", str(told[0].sqlstate or ""), message, diagnosis.message_detail or "", place)


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    copies: dict[str, int] = {}
    for line in sys.stdin:
        number, word, *parts = map(unquote_plus, line.rstrip("\n").split("\t"))
        if word == "now":
            os.kill(copies[number], signal.SIGINT)
        elif not (copy := os.fork()):
            try:
                notebook(number, word, parts[0], parts[2:])
            except BaseException as error:
                refused(number, error)
            os._exit(0)
        else:
            copies[number] = copy


if __name__ == "__main__":
    ANSWERS = os.dup(1)
    os.dup2(2, 1)  # whatever is shown to a reader of the notebook
    sys.modules["pyspark"] = None  # type: ignore[assignment]  # looked for, slow, and not needed
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    shell.run_line_magic("load_ext", "sql")
    # What it loads at its first use is loaded once, for all copies.
    import_module("sqlalchemy.dialects.postgresql.psycopg")
    shell.run_line_magic("sql", "sqlite://")
    shell.run_cell_magic("sql", "", "SELECT 1")
    shell.run_line_magic("sql", "--close sqlite://")
    main()
