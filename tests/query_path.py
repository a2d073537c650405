"""One query from its text to the printed answer, watched: which files it calls, and how often it changes package."""

from __future__ import annotations

import inspect
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

import adyton
from adyton.kernel.data import Unobserved
from support.randomness import Seeded
from support.worlds import PEOPLE, make_people, study_text

SOURCE = Path(adyton.__file__).parent
QUERY = "SELECT AVG(income) FROM people WHERE smoker"
STUDY = study_text(
    {
        "income": {"kind": "real", "low": 0, "high": 200000},
        "smoker": {"kind": "boolean"},
    },
    rows=PEOPLE,
    validity="independent = true\nconfidence = 0.95",
)

Function = tuple[str, str]  # its file below the package, and its name
Call = tuple[Function | None, Function]


def function_of(code: CodeType) -> Function | None:
    """None for what is not of adyton, and for bodies of modules and classes."""
    if code.co_flags & inspect.CO_OPTIMIZED and code.co_filename.startswith(f"{SOURCE}{os.sep}"):
        return Path(code.co_filename).relative_to(SOURCE).as_posix(), code.co_qualname
    return None


def calls_of(work: Callable[[], object]) -> Counter[Call]:
    """Each call of a function of adyton, with its caller: the nearest function of adyton below it on the stack.

    What stands between them, such as ``sorted`` or sqlglot, is left out.  A generator counts each time that it is
    resumed.  A thread begins without a caller.
    """
    calls: Counter[Call] = Counter()

    def watch(frame: FrameType, event: str, _: object) -> None:
        called = function_of(frame.f_code) if event == "call" else None
        if called is None:
            return
        below, caller = frame.f_back, None
        while below is not None and (caller := function_of(below.f_code)) is None:
            below = below.f_back
        calls[caller, called] += 1

    before = sys.getprofile()
    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    return calls


def one_query(folder: Path) -> Counter[Call]:
    """All calls from the text of the query to the printed answer, on a study of a file that nobody asked before.

    It is asked in another study first: what is imported or kept by then is done once in a process.  The noise
    is seeded, as a search for an interval takes more steps with some noise than with other.
    """
    make_people(folder)
    calls: Counter[Call] = Counter()
    for name in ("warm", "watched"):
        (folder / f"{name}.toml").write_text(STUDY, encoding="utf-8")
        with adyton.open(folder / f"{name}.toml") as curator:
            asker = curator.observed(Unobserved(), Seeded(1))
            calls = calls_of(lambda asker=asker: str(asker.ask(QUERY, within=3000)))
    return calls


def files_called(calls: Counter[Call]) -> set[str]:
    return {file for _, (file, _) in calls}


def changes_of_package(calls: Counter[Call]) -> Counter[tuple[str, str]]:
    """How many calls go from one top-level package or module of adyton to another; returns are not counted."""
    changes: Counter[tuple[str, str]] = Counter()
    for (caller, called), times in calls.items():
        if caller is not None and package_of(caller) != package_of(called):
            changes[package_of(caller), package_of(called)] += times
    return changes


def package_of(function: Function) -> str:
    return function[0].partition("/")[0].removesuffix(".py")
