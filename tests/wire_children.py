"""Programs that run beside the tests: Java's driver, and a notebook with JupySQL.  Each is started once, and told
by lines what to do: a number, a word, and what belongs to it, separated by tabs and quoted as in addresses.
"""

from __future__ import annotations

import itertools
import os
import queue
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import quote_plus, unquote_plus

import pytest

from wire_programs import HOST, PATIENCE, Refused, Rows, Where

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
        program = str(HERE / "service" / "WirePrograms.java")
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
        return cls(Child([sys.executable, "-W", "ignore", str(HERE / "notebook_child.py")], folder))

    def address(self, where: Where) -> tuple[str, str]:
        return where.url, ""
