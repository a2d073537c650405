"""Threads that answer: one after the other, unless one takes long."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Any

import pytest

from adyton.transports.http.workers import Workers
from support import processes

PATIENCE = 60.0
LONG = 10**6


class Clock:
    """Moves when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@contextmanager
def workers(
    most: int = 8, moment: float = 0.01, at_once: int = 1, clock: Callable[[], float] = time.monotonic
) -> Iterator[Workers]:
    made = Workers(most, moment, at_once, clock)
    try:
        yield made
    finally:
        made.close()


class Held:
    """Work that ends when it is let go."""

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()

    def __call__(self) -> str:
        self.begun.set()
        assert self.go_on.wait(PATIENCE)
        return threading.current_thread().name


def submit(some: Workers, work: Callable[..., Any], *args: Any) -> Future[Any]:
    """What becomes of it."""
    future: Future[Any] = Future()
    some.begin(lambda: future.set_result(work(*args)))
    return future


def results(futures: list[Future[Any]]) -> list[Any]:
    return [future.result(PATIENCE) for future in futures]


def test_one_thread_does_all_that_is_quick() -> None:
    """Mutant: every piece of work gets a thread of its own."""
    first = Held()
    with workers(moment=LONG) as some:
        submit(some, first)
        futures = [submit(some, threading.get_ident) for _ in range(200)]
        first.go_on.set()
        assert len(set(results(futures))) == 1


def test_pieces_begin_in_their_order() -> None:
    """Mutant: the newest first."""
    seen: list[int] = []
    first = Held()
    with workers(moment=LONG) as some:
        submit(some, first)
        futures = [submit(some, seen.append, number) for number in range(50)]
        first.go_on.set()
        results(futures)
    assert seen == list(range(50))


def test_another_thread_goes_on_after_a_moment() -> None:
    """Mutant: nobody looks after those who wait."""
    first, second = Held(), Held()
    with workers() as some:
        long = [submit(some, first), submit(some, second)]
        assert second.begun.wait(PATIENCE)
        assert submit(some, lambda: 7).result(PATIENCE) == 7
        assert not wait(long, timeout=0).done
        first.go_on.set()
        second.go_on.set()
        results(long)


def test_nobody_goes_on_before_a_moment_is_over() -> None:
    """When the next one begins shows nothing but when this one began.  Mutant: threads begin as they come."""
    first, clock = Held(), Clock()
    with workers(moment=0.01, clock=clock) as some:
        long = submit(some, first)
        assert first.begun.wait(PATIENCE)
        next_one = submit(some, lambda: 7)
        clock.now = 0.009
        assert not wait([next_one], timeout=0.1).done
        clock.now = 0.01
        assert next_one.result(PATIENCE) == 7
        first.go_on.set()
        long.result(PATIENCE)


def test_so_many_work_at_once_and_no_more_before_a_moment_is_over() -> None:
    """Mutants: one more; one fewer."""
    held, clock = [Held() for _ in range(4)], Clock()
    with workers(moment=0.01, at_once=2, clock=clock) as some:
        futures = [submit(some, held[0])]
        assert held[0].begun.wait(PATIENCE)
        clock.now = 0.005
        futures += [submit(some, one) for one in held[1:]]
        assert held[1].begun.wait(PATIENCE)
        assert not held[2].begun.wait(0.05)
        clock.now = 0.01  # the moment of the first is over
        assert held[2].begun.wait(PATIENCE)
        assert not held[3].begun.wait(0.05)
        held[1].go_on.set()
        assert held[3].begun.wait(PATIENCE)
        for one in held:
            one.go_on.set()
        results(futures)


def test_there_are_never_more_threads_than_said_and_nothing_is_lost() -> None:
    """Mutant: as many threads as pieces."""
    held = [Held() for _ in range(6)]
    with workers(most=3, moment=0.001) as some:
        futures = [submit(some, one) for one in held]
        for one in held[:3]:
            assert one.begun.wait(PATIENCE)
        assert len(some._threads) == 3
        assert not held[3].begun.wait(0.05)
        for one in held:
            one.go_on.set()
        results(futures)
        assert len(some._threads) == 3


def test_what_fails_is_told_to_who_asked_and_the_thread_lives_on() -> None:
    """Mutant: whoever asked is told nothing, and waits."""

    def failing() -> None:
        raise KeyError("mine")

    async def ask(some: Workers) -> int:
        with pytest.raises(KeyError, match="mine"):
            await asyncio.wait_for(some.done(failing), PATIENCE)
        return await some.done(lambda: 7)

    with workers(most=1) as some:
        assert processes.run(ask(some)) == 7


def test_what_is_cancelled_before_it_begins_never_begins() -> None:
    """Mutant: it is done for nobody."""
    seen = list[int]()

    async def ask(some: Workers) -> None:
        first = Held()
        long = asyncio.create_task(some.done(first))
        unwanted = asyncio.create_task(some.done(lambda: seen.append(1)))
        assert await asyncio.to_thread(first.begun.wait, PATIENCE)
        unwanted.cancel()
        await asyncio.wait([unwanted])
        first.go_on.set()
        await long
        await some.done(lambda: None)

    with workers(moment=LONG) as some:
        processes.run(ask(some))
    assert not seen


def test_who_waits_no_longer_is_told_nothing_and_the_thread_lives_on() -> None:
    """Neither one that is cancelled nor one whose loop has ended.  Mutants: either of them is told all the same."""
    first, second = Held(), Held()

    async def ask(some: Workers) -> int:
        complaints = list[object]()
        asyncio.get_running_loop().set_exception_handler(lambda _, what: complaints.append(what))
        cancelled, left = asyncio.create_task(some.done(first)), asyncio.create_task(some.done(second))
        assert await asyncio.to_thread(first.begun.wait, PATIENCE)
        cancelled.cancel()
        await asyncio.wait([cancelled])
        first.go_on.set()
        assert await asyncio.to_thread(second.begun.wait, PATIENCE)
        assert left is not None  # cancelled with the loop
        await asyncio.sleep(0)
        return len(complaints)

    with workers(most=1) as some:
        assert processes.run(ask(some)) == 0
        second.go_on.set()
        assert submit(some, lambda: 7).result(PATIENCE) == 7


def test_the_end_waits_for_all_that_was_taken() -> None:
    """Mutants: what waits is dropped at the end; something is taken after it."""
    seen: list[int] = []
    some = Workers(2, 0.001)
    futures = [submit(some, lambda n=number: (time.sleep(0.001), seen.append(n))) for number in range(30)]
    some.close()
    assert all(future.done() for future in futures)
    assert sorted(seen) == list(range(30))
    assert not any(thread.is_alive() for thread in some._threads)
    with pytest.raises(RuntimeError):
        submit(some, lambda: None)


def test_every_piece_is_done_once_whatever_takes_long() -> None:
    """Mutants: one who finds nothing to do is forgotten; a bell that rang is not heard."""
    rng = random.Random(7)
    pauses = [rng.choice([0.0, 0.0, 0.0, 0.0005, 0.003]) for _ in range(600)]
    done = [0] * len(pauses)

    def work(number: int) -> int:
        if pauses[number]:
            time.sleep(pauses[number])
        done[number] += 1
        return number

    def ask(some: Workers, numbers: range, found: list[Future[int]]) -> None:
        for number in numbers:
            found.append(submit(some, work, number))
            if number % 50 == 0:
                found[-1].result(PATIENCE)  # everybody goes idle now and then

    with workers(most=4, moment=0.001, at_once=2) as some:
        found: list[list[Future[int]]] = [[], [], []]
        askers = [
            threading.Thread(target=ask, args=(some, range(start, 600, 3), found[start]))
            for start in range(3)
        ]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join(PATIENCE)
        assert sorted(number for some_of in found for number in results(some_of)) == list(range(600))
    assert done == [1] * 600


def idle(most: int) -> Workers:
    """So many threads, which all wait."""
    some, held = Workers(most, 0.001), [Held() for _ in range(most)]
    futures = [submit(some, one) for one in held]
    assert all(one.begun.wait(PATIENCE) for one in held)
    for one in held:
        one.go_on.set()
    results(futures)
    until(lambda: len(some._idle) == most)
    return some


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_at_the_end_also_those_go_who_had_nothing_to_do() -> None:
    """Mutant: whoever ends last does not tell the others."""
    some, first = idle(3), Held()
    some._moment = LONG
    futures = [submit(some, first), submit(some, lambda: "x")]
    assert first.begun.wait(PATIENCE)
    ending = threading.Thread(target=some.close)
    ending.start()
    until(lambda: some._closed)
    first.go_on.set()
    ending.join(PATIENCE)
    assert not ending.is_alive()
    assert len(results(futures)) == 2


def test_a_bell_that_rings_for_nothing_counts_nobody_twice() -> None:
    """Mutant: whoever wakes stays among those who sleep."""
    some = idle(3)
    for worker in list(some._idle):
        worker.ring()
        until(worker._bell.locked)
    assert submit(some, lambda: 7).result(PATIENCE) == 7
    until(lambda: len(some._idle) >= 3)
    assert len(some._idle) == 3
    some.close()


def test_whoever_looked_after_others_takes_what_comes_next() -> None:
    """Mutant: nobody is told of a new piece while somebody waits for a turn that is over."""
    first = Held()
    with workers(moment=LONG) as some:
        futures = [submit(some, first), submit(some, lambda: "x")]
        until(lambda: len(some._threads) == 2)
        first.go_on.set()
        results(futures)
        until(lambda: bool(some._idle))  # whoever did both
        assert submit(some, lambda: 7).result(PATIENCE) == 7
