"""Programs of other people that speak to PostgreSQL's protocol, each behind the same few words."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote_plus, unquote_plus

import asyncpg
import pandas as pd
import psycopg
import pytest
import sqlalchemy as sa

from support import processes

# Programs of other people that speak to the wire, each behind the same few words, so that one test can ask them all.
#
# Those that are no Python, or that should not run in this process, are children that are started once: see ``Child``.

HOST = "127.0.0.1"
PATIENCE = 60.0
Rows = list[tuple[Any, ...]]
TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
COLUMNS = (
    "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'people' "
    "ORDER BY ordinal_position"
)


@dataclass(frozen=True)
class Where:
    """A study behind a port, the token, and the settings of the connection: ``-c adyton.within=60``."""

    port: int
    token: str
    study: str = "people"
    options: str = ""

    def paying(self, price: str) -> Where:
        return replace(self, options=f"-c adyton.{price}")

    @property
    def url(self) -> str:
        said = self.options.replace(" ", "%20").replace("=", "%3D")
        more = f"?options={said}" if said else ""
        return f"postgresql+psycopg://anybody:{self.token}@{HOST}:{self.port}/{self.study}{more}"


class Refused(Exception):
    """As the program tells its user: the code and the place where it shows them."""

    def __init__(self, code: str, message: str, detail: str = "", position: int = 0) -> None:
        super().__init__(message)
        self.code, self.message, self.detail, self.position = code, message, detail, position


class Program(Protocol):
    """``several`` sends several statements in one text: the answers that the user sees.

    ``cancel`` asks, cancels as soon as ``held`` is set, and asks SELECT 1 on the same connection: what the user
    sees of the first, and the rows of the second.
    """

    def tables(self, where: Where) -> list[str]: ...

    def columns(self, where: Where) -> Rows: ...

    def ask(self, where: Where, text: str) -> Rows: ...

    def several(self, where: Where, text: str) -> list[Rows]: ...

    def cancel(self, where: Where, text: str, held: threading.Event) -> tuple[str, Rows]: ...


@contextlib.contextmanager
def when(held: threading.Event, do: Any) -> Iterator[None]:
    """Meanwhile, in another thread: ``do`` as soon as ``held`` is set."""

    def wait() -> None:
        if held.wait(PATIENCE):
            do()

    other = threading.Thread(target=wait)
    other.start()
    try:
        yield
    finally:
        other.join()


# psql ------------------------------------------------------------------------------------------------------


class Psql:
    """Each time a process of its own; Ctrl-C is a signal to it, where it sits at a terminal."""

    BETWEEN = "----"

    def __init__(self) -> None:
        self._program = shutil.which("psql")
        if self._program is None:
            pytest.skip("psql is not installed")

    def tables(self, where: Where) -> list[str]:
        return [row[1] for row in self._first(where, r"\dt")]

    def columns(self, where: Where) -> Rows:
        return [row[:2] for row in self._first(where, r"\d people")]

    def ask(self, where: Where, text: str) -> Rows:
        return self._first(where, text)

    def several(self, where: Where, text: str) -> list[Rows]:
        return [[row] for row in self._first(where, text)]

    def cancel(self, where: Where, text: str, held: threading.Event) -> tuple[str, Rows]:
        """After Ctrl-C it goes on at a terminal alone: a script ends there."""
        terminal, end = os.openpty()
        settings = termios.tcgetattr(end)
        settings[3] &= ~termios.ECHO
        termios.tcsetattr(end, termios.TCSANOW, settings)
        silent = ["-q", "-n", "-P", "pager=off", "-v", "PROMPT1=", "-v", "PROMPT2="]
        process = self._process(where, *silent, stdin=end, stdout=end)
        os.close(end)
        os.write(terminal, f"{text};\n".encode())
        with when(held, lambda: process.send_signal(signal.SIGINT)):
            wrong = self._line_with(process, "ERROR:")
        os.write(terminal, rf"SELECT 1;{chr(10)}\echo {self.BETWEEN}{chr(10)}\q{chr(10)}".encode())
        said = b""
        with contextlib.suppress(OSError):  # the terminal is gone
            while more := os.read(terminal, 4096):
                said += more
        os.close(terminal)
        process.communicate(timeout=PATIENCE)
        ((*_, row),) = self._parts(said.decode().replace("\r\n", "\n"))
        return self._refused(wrong).code, [row]

    @staticmethod
    def _line_with(process: subprocess.Popen[str], word: str) -> str:
        assert process.stderr is not None
        return next(line for line in process.stderr if word in line)

    def _first(self, where: Where, command: str) -> Rows:
        process = self._started(where, command)
        said, wrong = process.communicate(timeout=PATIENCE)
        if "ERROR:" in wrong or "FATAL:" in wrong:
            raise self._refused(wrong)
        assert process.returncode == 0, wrong
        return self._parts(said)[0]

    def _started(self, where: Where, *commands: str) -> subprocess.Popen[str]:
        each = [part for one in commands for part in ("-c", one, "-c", rf"\echo {self.BETWEEN}")]
        return self._process(where, *each, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)

    def _process(self, where: Where, *more: str, stdin: int, stdout: int) -> subprocess.Popen[str]:
        own = [str(self._program), "-X", "-At", "-v", "VERBOSITY=verbose", *more]
        own += ["-h", HOST, "-p", str(where.port), "-U", "somebody", "-d", where.study]
        environment = {
            **os.environ,
            "PGPASSWORD": where.token,
            "PGOPTIONS": where.options,
            "LC_ALL": "C.UTF-8",
        }
        return subprocess.Popen(
            own, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, text=True, env=environment
        )

    def _parts(self, said: str) -> list[Rows]:
        parts = said.split(f"{self.BETWEEN}\n")[:-1]
        return [[tuple(line.split("|")) for line in part.splitlines()] for part in parts]

    @staticmethod
    def _refused(wrong: str) -> Refused:
        code = re.search(r"ERROR:  (\w{5}): (.*)", wrong)
        detail, caret = re.search(r"DETAIL:  (.*)", wrong), re.search(r"LINE 1: .*\n( *)\^", wrong)
        message = code[2] if code else wrong.partition("FATAL:  ")[2]
        position = len(caret[1]) - len("LINE 1: ") + 1 if caret else 0
        return Refused(code[1] if code else "", message, detail[1] if detail else "", position)


# psycopg, and what runs on it ------------------------------------------------------------------------------


def refused_by_psycopg(error: BaseException | None) -> Refused:
    """Also where others have wrapped it."""
    while error is not None and not isinstance(error, psycopg.Error):
        error = error.__cause__
    assert error is not None
    diagnosis = error.diag
    message = diagnosis.message_primary or str(error)
    place = int(diagnosis.statement_position or 0)
    return Refused(str(error.sqlstate or ""), message, diagnosis.message_detail or "", place)


class Psycopg:
    def tables(self, where: Where) -> list[str]:
        return [row[0] for row in self.ask(where, TABLES)]

    def columns(self, where: Where) -> Rows:
        return self.ask(where, COLUMNS)

    def ask(self, where: Where, text: str) -> Rows:
        with self._connected(where) as connection:
            return connection.execute(text.encode()).fetchall()

    def several(self, where: Where, text: str) -> list[Rows]:
        with self._connected(where) as connection:
            cursor = connection.execute(text.encode())
            shown = [cursor.fetchall()]
            while cursor.nextset():
                shown.append(cursor.fetchall())
            return shown

    def cancel(self, where: Where, text: str, held: threading.Event) -> tuple[str, Rows]:
        with self._connected(where) as connection:
            with when(held, connection.cancel_safe), pytest.raises(psycopg.errors.QueryCanceled) as cancelled:
                connection.execute(text.encode())
            return str(cancelled.value.sqlstate), connection.execute("SELECT 1").fetchall()

    @contextlib.contextmanager
    def _connected(self, where: Where) -> Iterator[psycopg.Connection[Any]]:
        try:
            with psycopg.connect(
                host=HOST, port=where.port, user="anybody", password=where.token, dbname=where.study,
                options=where.options, autocommit=True,
            ) as connection:  # fmt: skip
                yield connection
        except psycopg.Error as error:
            raise refused_by_psycopg(error) from None


class SqlAlchemy:
    """Cancelled by its driver, from another thread: it has no cancel of its own."""

    def tables(self, where: Where) -> list[str]:
        with self._connected(where) as connection:
            return sa.inspect(connection).get_table_names()

    def columns(self, where: Where) -> Rows:
        with self._connected(where) as connection:
            known = sa.MetaData()
            known.reflect(connection)
            return [(one.name, str(one.type).lower()) for one in known.tables["people"].columns]

    def ask(self, where: Where, text: str) -> Rows:
        with self._connected(where) as connection:
            return self.rows(connection, text)

    def cancel(self, where: Where, text: str, held: threading.Event) -> tuple[str, Rows]:
        with self._connected(where) as connection:
            driver = connection.connection.driver_connection
            assert isinstance(driver, psycopg.Connection)
            code = ""
            with when(held, driver.cancel_safe):
                try:
                    self.rows(connection, text)
                except (sa.exc.DBAPIError, pd.errors.DatabaseError) as error:
                    code = refused_by_psycopg(error).code
            return code, self.rows(connection, "SELECT 1")

    def several(self, where: Where, text: str) -> list[Rows]:
        return [self.ask(where, text)]

    def rows(self, connection: sa.Connection, text: str) -> Rows:
        return [tuple(row) for row in connection.execute(sa.text(text)).fetchall()]

    @contextlib.contextmanager
    def _connected(self, where: Where) -> Iterator[sa.Connection]:
        engine = sa.create_engine(where.url, poolclass=sa.NullPool)
        try:
            with engine.connect() as connection:
                yield connection
        except (sa.exc.DBAPIError, pd.errors.DatabaseError) as error:
            raise refused_by_psycopg(error) from None
        finally:
            engine.dispose()


class Pandas(SqlAlchemy):
    """``read_sql`` over SQLAlchemy's connection, which is also what cancels it."""

    def tables(self, where: Where) -> list[str]:
        return [row[0] for row in self.ask(where, TABLES)]

    def columns(self, where: Where) -> Rows:
        return self.ask(where, COLUMNS)

    def rows(self, connection: sa.Connection, text: str) -> Rows:
        return list(pd.read_sql(text, connection).itertuples(index=False, name=None))


# asyncpg ---------------------------------------------------------------------------------------------------


class Asyncpg:
    """A task that is cancelled, or whose time is over, sends a request to cancel."""

    def tables(self, where: Where) -> list[str]:
        return [row[0] for row in self.ask(where, TABLES)]

    def columns(self, where: Where) -> Rows:
        return self.ask(where, COLUMNS)

    def ask(self, where: Where, text: str) -> Rows:
        async def work(connection: Any) -> Rows:
            return [tuple(row) for row in await connection.fetch(text)]

        rows: Rows = self._worked(where, work)
        return rows

    def several(self, where: Where, text: str) -> list[Rows]:
        """``execute`` keeps no rows: it tells of the last statement alone that it had one."""

        async def work(connection: Any) -> str:
            return str(await connection.execute(text))

        assert self._worked(where, work) == "SELECT 1"
        return []

    def cancel(self, where: Where, text: str, held: threading.Event) -> tuple[str, Rows]:
        async def work(connection: Any) -> tuple[str, Rows]:
            asking = asyncio.ensure_future(connection.fetch(text))
            assert await asyncio.to_thread(held.wait, PATIENCE)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError) as cancelled:
                await asking
            return cancelled.typename, [tuple(row) for row in await connection.fetch("SELECT 1")]

        done: tuple[str, Rows] = self._worked(where, work)
        return done

    def too_slow(self, where: Where, text: str) -> tuple[str, Rows]:
        """The same by a time-out of this query."""

        async def work(connection: Any) -> tuple[str, Rows]:
            with pytest.raises(TimeoutError) as late:
                await connection.fetch(text, timeout=0.2)
            return late.typename, [tuple(row) for row in await connection.fetch("SELECT 1")]

        done: tuple[str, Rows] = self._worked(where, work)
        return done

    @staticmethod
    def _worked(where: Where, work: Any) -> Any:
        settings = dict([where.options.removeprefix("-c ").split("=", 1)]) if where.options else {}

        async def connected() -> Any:
            connection = await asyncpg.connect(
                host=HOST, port=where.port, user="x", password=where.token, database=where.study,
                server_settings=settings,
            )  # fmt: skip
            try:
                return await work(connection)
            finally:
                await connection.close()

        try:
            return processes.run(connected())
        except asyncpg.PostgresError as error:
            place = int(getattr(error, "position", None) or 0)
            detail = getattr(error, "detail", None) or ""
            raise Refused(str(error.sqlstate), str(error.args[0]), detail, place) from None


# Programs that run beside the tests: Java's driver, and a notebook with JupySQL.  Each is started once, and told
# by lines what to do: a number, a word, and what belongs to it, separated by tabs and quoted as in addresses.

HERE = Path(__file__).parent
JAR = Path("/usr/share/java/postgresql.jar")


class Child:
    """What it answers begins with the number: ``ok`` and results, or ``no`` and a refusal."""

    def __init__(self, command: list[str], folder: Path) -> None:
        environment = {**os.environ, "PLOOMBER_STATS_ENABLED": "false", "HOME": str(folder)}
        self._errors = (folder / "errors.txt").open("w+", encoding="utf-8")
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True,
            cwd=folder, env=environment,
        )  # fmt: skip
        self._numbers, self._answers = itertools.count(1), dict[int, queue.Queue[list[str]]]()
        self._writing = threading.Lock()
        self._listening = threading.Thread(target=self._listen)
        self._listening.start()

    def send(self, word: str, *parts: str) -> int:
        number = next(self._numbers)
        self._answers[number] = queue.Queue()
        self._write(str(number), word, *parts)
        return number

    def interrupt(self, number: int) -> None:
        self._write(str(number), "now")

    def answer(self, number: int) -> list[Rows]:
        """The results; Refused if it was."""
        try:
            kind, *parts = self._answers[number].get(timeout=PATIENCE)
        except queue.Empty:
            self._errors.seek(0)
            raise AssertionError(f"no answer came: {self._errors.read()[-2000:]}") from None
        if kind != "ok":
            code, message, detail, place = parts
            raise Refused(code, message, detail, int(place))
        return [[tuple(line.split("\x1f")) for line in part.split("\n") if line] for part in parts]

    def call(self, word: str, *parts: str) -> list[Rows]:
        return self.answer(self.send(word, *parts))

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self._listening.join(PATIENCE)
        self.process.wait(PATIENCE)
        self._errors.close()

    def _write(self, *parts: str) -> None:
        assert self.process.stdin is not None
        with self._writing:
            self.process.stdin.write("\t".join(map(quote_plus, parts)) + "\n")
            self.process.stdin.flush()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as said:
            for line in said:
                number, *parts = map(unquote_plus, line.rstrip("\n").split("\t"))
                self._answers[int(number)].put(parts)


class OfChild:
    """A program in a child, which opens a connection each time."""

    def __init__(self, child: Child) -> None:
        self.child = child

    def address(self, where: Where) -> tuple[str, str]:
        raise NotImplementedError

    def tables(self, where: Where) -> list[str]:
        (rows,) = self.child.call("tables", *self.address(where))
        return [row[0] for row in rows]

    def columns(self, where: Where) -> Rows:
        (rows,) = self.child.call("columns", *self.address(where))
        return [(row[0], row[1].lower()) for row in rows]

    def ask(self, where: Where, text: str) -> Rows:
        (rows,) = self.child.call("ask", *self.address(where), text)
        return rows

    def several(self, where: Where, text: str) -> list[Rows]:
        return self.child.call("ask", *self.address(where), text)

    def cancel(self, where: Where, text: str, held: threading.Event) -> tuple[str, Rows]:
        number = self.child.send("cancel", *self.address(where), text)
        assert held.wait(PATIENCE)
        self.child.interrupt(number)
        (((code,),), rows) = self.child.answer(number)
        return code, rows


class Pgjdbc(OfChild):
    """``Statement.cancel()`` from another thread, or ``setQueryTimeout``."""

    @classmethod
    def started(cls, folder: Path) -> Pgjdbc:
        java = shutil.which("java")
        if java is None or not JAR.exists():
            pytest.skip("Java and pgjdbc are not installed (apt-get install libpostgresql-jdbc-java)")
        program = str(HERE / "children" / "WirePrograms.java")
        # What the program needs is little: no time goes into making its code fast.
        quick = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        return cls(Child([java, *quick, "-cp", str(JAR), program], folder))

    def address(self, where: Where) -> tuple[str, str]:
        more = f"?options={quote_plus(where.options).replace('+', '%20')}" if where.options else ""
        return f"jdbc:postgresql://{HOST}:{where.port}/{where.study}{more}", where.token

    def too_slow(self, where: Where, text: str) -> tuple[str, Rows]:
        (((code,),), rows) = self.child.call("slow", *self.address(where), text)
        return code, rows


class JupySql(OfChild):
    """A notebook is cancelled by interrupting its kernel: a signal, which its driver turns into a request to cancel.
    Each call is a notebook of its own, in a copy of the process that has loaded everything.
    """

    @classmethod
    def started(cls, folder: Path) -> JupySql:
        return cls(Child([sys.executable, "-W", "ignore", str(HERE / "children" / "notebook.py")], folder))

    def address(self, where: Where) -> tuple[str, str]:
        return where.url, ""
