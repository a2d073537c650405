"""Time zones as integers: from which second on a zone had which offset.

Engines have zone data of their own, in different versions.  Here it is always Python's (the system's, or that
of the package tzdata), written into the statement, so all engines see the same day and the same hour.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo

from adyton.errors import InvalidRequest
from adyton.exact.search import whole_edge

DAY_SECONDS = 86_400
# Before and after these days a zone keeps the offset that it has there.
FIRST_DAY, LAST_DAY = datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)

_TOGETHER = 20  # changes

Change = tuple[int, int]  # a second after 1970-01-01 in UTC, and the offset in seconds from then on


@lru_cache(maxsize=64)
def changes(zone: str) -> tuple[Change, ...]:
    """All changes of the zone's offset; the first one holds from the beginning of time."""
    try:
        known = ZoneInfo(zone)
    except (KeyError, OSError, ValueError):
        known = None
    if known is None:
        raise InvalidRequest(
            f"this machine knows no time zone {zone!r:.60}; pip install tzdata, or correct it"
        )
    return tuple(_changes(known))


def _changes(zone: ZoneInfo) -> Iterator[Change]:
    """Looks at every day: no zone ever changed its offset twice in a day."""
    first, last = (_seconds(day) for day in (FIRST_DAY, LAST_DAY))
    offset = _offset(zone, first)
    yield first, offset
    for second in range(first, last, DAY_SECONDS):
        later = _offset(zone, second + DAY_SECONDS)
        if later != offset:

            def as_before(at: int, offset: int = offset) -> bool:
                return _offset(zone, at) == offset

            yield whole_edge(as_before, second, second + DAY_SECONDS) + 1, later
            offset = later


def offset_sql(seconds: str, zone: str) -> str:
    """The offset at a bigint of seconds, in two looks: first among a few years, then among their changes.

    Zones have hundreds of changes: one long list is slow to go through, and deep halving slow to parse.
    """
    known = changes(zone)
    parts = [known[start : start + _TOGETHER] for start in range(0, len(known), _TOGETHER)]
    return _chosen(seconds, [(part[0][0], _chosen(seconds, part)) for part in parts])


def _chosen(seconds: str, known: Sequence[tuple[int, object]]) -> str:
    """What was known last; the first of all, before it."""
    if len(known) == 1:
        return str(known[0][1])
    later = pairwise(known)
    whens = " ".join(f"WHEN {seconds} < {begins} THEN {told}" for (_, told), (begins, _) in later)
    return f"(CASE {whens} ELSE {known[-1][1]} END)"


def _seconds(day: datetime.date) -> int:
    return (day - datetime.date(1970, 1, 1)).days * DAY_SECONDS


def _offset(zone: ZoneInfo, second: int) -> int:
    moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=second)
    offset = moment.astimezone(zone).utcoffset()
    assert offset is not None
    return round(offset.total_seconds())
