"""What went wrong, said beside the field where it arose, with what was typed still there."""

from __future__ import annotations

from dataclasses import dataclass

from adyton.errors import CuratorError, InvalidRequest
from adyton.refusals import message_of

_WORDS = {  # what people call errors; their kinds are for programs
    "unauthenticated": "Not logged in",
    "forbidden": "Not allowed",
    "not_found": "Not found",
    "invalid_request": "Not understood",
    "request_id_used": "Already asked",
    "privacy_refused": "Not enough left",
    "validity_refused": "Beyond the plan",
    "scores_refused": "No scores left",
    "session_refused": "No queries left in this session",
    "too_large": "Too large",
    "too_many_requests": "Too many requests",
    "busy": "Busy",
    "engine_failed": "The engine failed",
    "ledger_corrupt": "The ledger cannot be trusted",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """``field`` is the name of the field beside which it is shown; empty: above the form."""

    title: str
    message: str
    field: str = ""


def problem_of(error: CuratorError, field: str = "") -> Problem:
    title, message = _WORDS.get(error.kind, "Something went wrong"), message_of(error, "page")
    return Problem(title, message[:1].upper() + message[1:], field)


def wrong(message: str, field: str = "") -> Problem:
    """What a form finds by itself."""
    return problem_of(InvalidRequest(message), field)
