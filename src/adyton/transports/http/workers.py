"""Threads that answer: one does nearly all of it, others go on when a piece of work takes long."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

_Result = TypeVar("_Result")
_Piece = Callable[[], None]
_GOING: set[asyncio.Future[Any]] = set()  # tasks that nobody may wait for any more


class Workers:
    """At most ``most`` threads.  Those that compute at once take the interpreter and the caches from each
    other, so ``at_once`` begin, and each goes on with the next piece when it is done: two, so that one
    computes while the other waits for a disk.  But nobody waits for a piece that takes longer than a
    ``moment``, in seconds: then another thread goes on.

    When that happens depends on when pieces began and ended, and on nothing else.
    """

    def __init__(
        self, most: int, moment: float, at_once: int = 1, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most, self._moment, self._at_once, self._clock = most, moment, at_once, clock
        self._lock, self._closed = threading.Lock(), False
        self._waiting: deque[_Piece] = deque()
        self._threads: list[threading.Thread] = []
        self._on_duty: dict[_Worker, float] = {}  # with the times when their pieces are no longer quick
        self._deputy: _Worker | None = None  # looks after those who wait for the ones on duty
        self._idle: list[_Worker] = []  # the last one has the warmest caches

    async def done(self, work: Callable[[], _Result]) -> _Result:
        """What ``work`` returns.  It is not begun if nobody waits for it any more."""
        loop = asyncio.get_running_loop()
        told: asyncio.Future[_Result] = loop.create_future()
        self.begin(partial(_do, work, told, loop))
        return await told

    def begin(self, piece: _Piece) -> None:
        """Soon, in one of the threads.  It raises nothing."""
        with self._lock:
            if self._closed:
                raise RuntimeError("nothing is begun after the end")
            self._waiting.append(piece)
            self._call()

    def close(self) -> None:
        """Waits for all that was begun."""
        with self._lock:
            self._closed = True
            self._ring_all()
        for thread in self._threads:
            thread.join()

    def _ring_all(self) -> None:
        for worker in (*self._idle, *([self._deputy] if self._deputy else [])):
            worker.ring()

    def _call(self) -> None:
        """Somebody for those who wait, if nobody is there already."""
        if self._deputy is not None:
            if self._left_of_turns() <= 0:
                self._deputy.ring()
        elif self._idle:
            self._deputy = self._idle.pop()
            self._deputy.ring()
        elif len(self._threads) < self._most:
            self._deputy = _Worker()
            thread = threading.Thread(target=self._work, args=(self._deputy,), name="query", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _work(self, me: _Worker) -> None:
        while (piece := self._next(me)) is not None:
            piece()
            del piece  # what it held is let go before the next one comes

    def _next(self, me: _Worker) -> _Piece | None:
        """Waits for it; None when there will be none."""
        while True:
            with self._lock:
                self._is_awake(me)
                self._on_duty.pop(me, None)
                left = self._left_of_turns()
                if left <= 0 and self._waiting:
                    return self._begun(me)
                if self._closed and not self._waiting:
                    self._ring_all()  # so that everybody goes
                    return None
                waits = bool(self._waiting) and self._deputy is None
                if waits:
                    self._deputy = me
                else:
                    self._idle.append(me)
            me.wait(left if waits else -1)

    def _is_awake(self, me: _Worker) -> None:
        if self._deputy is me:
            self._deputy = None
        if me in self._idle:  # rung as a deputy, when it had gone already
            self._idle.remove(me)

    def _left_of_turns(self) -> float:
        """How long it takes until fewer than ``at_once`` are at work that may be quick."""
        now = self._clock()
        quick = sorted(until for until in self._on_duty.values() if until > now)
        return 0.0 if len(quick) < self._at_once else quick[-self._at_once] - now

    def _begun(self, me: _Worker) -> _Piece:
        self._on_duty[me] = self._clock() + self._moment
        piece = self._waiting.popleft()
        if self._waiting:
            self._call()
        return piece


class _Worker:
    """Waits for a bell."""

    def __init__(self) -> None:
        self._bell = threading.Lock()
        self._bell.acquire()

    def ring(self) -> None:
        if self._bell.locked():  # not yet rung
            self._bell.release()

    def wait(self, seconds: float) -> None:
        self._bell.acquire(timeout=seconds)


def goes_on(task: asyncio.Future[Any]) -> None:
    """Whether anybody waits for it or not: it is held until it ends, which a loop does not do."""
    _GOING.add(task)
    task.add_done_callback(_ended)


def _ended(task: asyncio.Future[Any]) -> None:
    _GOING.discard(task)
    if not task.cancelled():
        task.exception()  # looked at, so that nobody logs it


def _do(work: Callable[[], _Result], told: asyncio.Future[_Result], loop: asyncio.AbstractEventLoop) -> None:
    if told.cancelled():
        return
    try:
        tell = partial(told.set_result, work())
    except BaseException as error:
        tell = partial(told.set_exception, error)
    with suppress(RuntimeError):  # the loop has ended, and with it whoever waited
        loop.call_soon_threadsafe(_tell, told, tell)


def _tell(told: asyncio.Future[_Result], tell: Callable[[], None]) -> None:
    if not told.cancelled():
        tell()
