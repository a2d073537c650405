"""Renderers, a bounded number of processes, and the pictures they made, kept by content.

vl-convert keeps the interpreter to itself while it draws (measured: no other thread runs for 50 to 500 ms),
and a fault in it would end the process that holds a ledger.  So it works in processes of its own, which are
started when the first picture is wanted, stay, and end with the one that started them.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections import OrderedDict
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

from adyton.errors import InvalidRequest

MOST_RENDERERS = 2
PATIENCE = 60.0  # seconds for one picture, the start of the renderer included
MOST_KEPT = 16 * 2**20  # bytes of pictures
_PROGRAM = Path(__file__).with_name("renderer.py")
_FAILED = "the figure could not be drawn ({}); --json and --csv have its numbers"


class Renderer:
    """One process, for one picture at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for whoever started it: a server still finishes what it took
        )

    def draw(self, kind: str, spec: str) -> bytes:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        guard = threading.Timer(PATIENCE, self._process.kill)
        guard.start()
        try:
            self._process.stdin.write(json.dumps({"kind": kind, "spec": spec}).encode() + b"\n")
            self._process.stdin.flush()
            told = json.loads(self._process.stdout.readline())
            content = self._process.stdout.read(told["size"])
        finally:
            guard.cancel()
        if told["error"]:
            raise InvalidRequest(_FAILED.format(told["error"]))
        return content

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # what was not read any more
                assert pipe is not None
                pipe.close()


class Renderers:
    """At most so many processes; who finds none free waits."""

    def __init__(self, most: int = MOST_RENDERERS) -> None:
        self._free: list[Renderer] = []
        self._lock, self._places = threading.Lock(), threading.BoundedSemaphore(most)

    def draw(self, kind: str, spec: str) -> bytes:
        with self._places:
            with self._lock:
                renderer = self._free.pop() if self._free else None
            renderer = renderer or Renderer()
            try:
                content = renderer.draw(kind, spec)
            except InvalidRequest:
                self._give_back(renderer)
                raise
            except BaseException as fault:  # it died, or was stopped, in the middle: its pipes are no good
                renderer.close()
                if isinstance(fault, OSError | ValueError):
                    raise InvalidRequest(_FAILED.format("the renderer ended")) from None
                raise
            self._give_back(renderer)
            return content

    def _give_back(self, renderer: Renderer) -> None:
        with self._lock:
            self._free.append(renderer)

    def close(self) -> None:
        """Ends those that are free."""
        with self._lock:
            free, self._free = self._free, []
        for renderer in free:
            renderer.close()


class Pictures:
    """Pictures by their content, the newest so many bytes.  Two who want the same wait for one drawing."""

    def __init__(self, renderers: Renderers, most: int = MOST_KEPT) -> None:
        self.renderers, self._most, self._size = renderers, most, 0
        self._kept: OrderedDict[str, Future[bytes]] = OrderedDict()
        self._lock = threading.Lock()

    def picture(self, kind: str, spec: str) -> bytes:
        key = hashlib.sha256(f"{kind} {spec}".encode()).hexdigest()
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
            else:
                own = self._kept[key] = Future()
        return known.result() if known is not None else self._drawn(key, kind, spec, own)

    def _drawn(self, key: str, kind: str, spec: str, own: Future[bytes]) -> bytes:
        try:
            content = self.renderers.draw(kind, spec)
        except BaseException as fault:
            with self._lock:
                self._kept.pop(key, None)  # the next one tries again
            own.set_exception(fault)
            raise
        own.set_result(content)
        with self._lock:
            self._size += len(content)
            for old in list(self._kept):
                if self._size <= self._most:
                    break
                if self._kept[old].done():
                    self._size -= len(self._kept.pop(old).result())
        return content


PICTURES = Pictures(Renderers())
atexit.register(PICTURES.renderers.close)


def _forget() -> None:
    """A forked process shares pipes with its parent, and must not write into them."""
    global PICTURES
    PICTURES = Pictures(Renderers())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
