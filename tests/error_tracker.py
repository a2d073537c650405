"""A fake error tracker: it keeps all that hangs on an error, as the real ones do."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator

CANARY = "canary-8675309"


def tracked(error: BaseException | None) -> str:
    """Everything that an error tracker would send away: texts, arguments, notes, variables, and the whole chain."""
    return "\n".join(_told(error, set()))


def _told(error: BaseException | None, seen: set[int]) -> Iterator[str]:
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    yield from (
        str(error),
        repr(error),
        repr(error.args),
        repr(getattr(error, "__notes__", ())),
        repr(vars(error)),
    )
    yield "".join(traceback.format_exception(error))
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if "adyton" in frame.f_globals.get("__name__", ""):  # the variables of a test hold the canary anyway
            yield repr(frame.f_locals)
    yield from _told(error.__cause__, seen)
    yield from _told(error.__context__, seen)


class Log(logging.Handler):
    """The operator's log, with all that its records hold."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(repr(vars(record)) + record.getMessage())
        if record.exc_info:
            self.said.append(tracked(record.exc_info[1]))
