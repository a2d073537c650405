"""What a monitor may be fed with: fixed when it is opened, because the noise is made for it.

- ``counts``: counts of rows.
- ``sums``: also counts of persons and sums.  Where rows come and go, of numbers that are never negative, so
  that all queries rise together, or fall together.
- ``means``: also means and proportions, and sums of numbers of any sign.  They may move either way.
"""

from __future__ import annotations

from typing import Literal, get_args

from adyton.errors import InvalidRequest
from adyton.study import Study

MonitorKind = Literal["counts", "sums", "means"]
KINDS: tuple[MonitorKind, ...] = get_args(MonitorKind)


def checked_kind(of: str) -> MonitorKind:
    for kind in KINDS:
        if of == kind:
            return kind
    raise InvalidRequest(f"a monitor is of {', '.join(KINDS[:-1])} or {KINDS[-1]}, not {str(of)[:40]!r}")


def moves_one_way(study: Study, kind: MonitorKind) -> bool:
    """Whether one unit moves all queries up, or all of them down."""
    return study.unit.adjacency == "add-remove" and kind != "means"


def exchanged_reach(study: Study, kind: MonitorKind) -> int:
    """How far a unit that is exchanged for another can move a query, if neighbors move it by at most 1.

    One that takes 1 away, and one that adds 1: only where numbers have both signs, and neighbors differ by
    one of the two alone.  Theorem: MONITOR-OF-SUMS.
    """
    return 2 if study.unit.adjacency == "add-remove" and kind == "means" else 1
