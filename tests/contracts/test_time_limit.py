"""A limit on time interrupts what is late, and nothing else."""

from __future__ import annotations

import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from adyton.engines.stopping import TimeLimit
from adyton.errors import InvalidRequest


def watchers() -> int:
    return sum(thread.name == "adyton time limit" for thread in threading.enumerate())


@pytest.fixture
def interrupted() -> threading.Event:
    return threading.Event()


def test_what_is_late_is_interrupted(interrupted: threading.Event) -> None:
    with pytest.raises(TimeoutError), TimeLimit(0.01).on(interrupted.set):
        interrupted.wait()


def test_interrupts_are_repeated_until_they_are_heard() -> None:
    sent = threading.Semaphore(0)

    def deaf() -> None:
        for _ in range(3):
            sent.acquire()

    with pytest.raises(TimeoutError), TimeLimit(0.01).on(sent.release):
        deaf()


def test_an_interrupt_that_fails_is_repeated_too() -> None:
    calls = []
    heard = threading.Event()

    def interrupt() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise OSError("the server is away")
        heard.set()

    with pytest.raises(TimeoutError), TimeLimit(0.01).on(interrupt):
        heard.wait()


def test_no_interrupt_comes_after_the_end() -> None:
    """It would hit the next query."""
    ended = late = False

    def interrupt() -> None:
        nonlocal late
        late = late or ended

    for i in range(200):
        limit, ended = TimeLimit(0.001), False
        with contextlib.suppress(TimeoutError), limit.on(interrupt):
            time.sleep(i / 1e5)  # up to two limits: some end before, some after, some at the same time
        ended = True
    assert not late


def test_what_came_to_an_end_too_late_fails_too() -> None:
    with pytest.raises(TimeoutError, match=r"more than 1e-09 seconds"), TimeLimit(1e-9).on(None):
        pass


def test_errors_in_time_are_their_own(interrupted: threading.Event) -> None:
    with pytest.raises(KeyError), TimeLimit(600).on(interrupted.set):
        raise KeyError
    assert not interrupted.is_set()


def test_errors_after_the_time_are_not_shown() -> None:
    with pytest.raises(TimeoutError) as caught, TimeLimit(1e-9).on(None):
        raise KeyError("canary")
    assert caught.value.__suppress_context__


def test_only_the_late_one_of_many_is_interrupted(interrupted: threading.Event) -> None:
    limit, other, begun = TimeLimit(600), threading.Event(), threading.Barrier(2)

    def in_time() -> str:
        with limit.on(other.set):
            begun.wait()
            interrupted.wait()
        return "fine"

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(in_time)
        begun.wait()
        with (
            pytest.raises(TimeoutError),
            limit.on(interrupted.set, 0.01),
        ):  # wakes a watcher that sleeps longer
            interrupted.wait()
        assert waiting.result() == "fine"
    assert not other.is_set()


def test_one_watcher_for_all_queries_and_none_when_closed() -> None:
    before, limit = watchers(), TimeLimit(600)
    for _ in range(5):
        with limit.on(lambda: None):
            assert watchers() == before + 1
    watcher = limit._watcher
    limit.close()
    assert watcher is not None
    watcher.join()
    with limit.on(lambda: None):
        assert watchers() == before + 1
    limit.close()


@pytest.mark.parametrize("seconds", [0, -1.5, float("inf"), float("nan"), 1e7])
def test_a_limit_is_a_positive_number_of_seconds(seconds: float) -> None:
    with pytest.raises(InvalidRequest, match="above 0 and at most 1,000,000"):
        TimeLimit(seconds)
