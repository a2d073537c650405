"""A curator that is watched: what it asks its engine, what it hears, and when it draws which random words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, TypeVar

from adyton.curator import Curator
from adyton.noise import Bits
from adyton.noise.refine import Words
from adyton.planning.part import Columns
from adyton.sensitivity import Reading

FoundKey = tuple[str | int, ...]  # of a group that nobody declared
Run = TypeVar("Run")


class RecordedBits:
    """Keeps every word that it hands out.  What ``recorded`` holds is handed out again; fresh words where
    another number of them is asked for.
    """

    def __init__(self, source: Bits, recorded: Sequence[Words] = ()) -> None:
        self._source, self._recorded = source, list(recorded)
        self.handed_out: list[Words] = []

    def words(self, count: int) -> Words:
        at = len(self.handed_out)
        same = at < len(self._recorded) and len(self._recorded[at]) == count
        self.handed_out.append(self._recorded[at] if same else self._source.words(count))
        return self.handed_out[-1]


class Watched:
    """An engine that notes what it was asked and what it said."""

    def __init__(self, engine: Any, events: list[str]) -> None:
        self._engine, self._events = engine, events
        self.readings: list[Reading] = []
        self.exact_integers: list[Columns] = []
        self.keys: list[FoundKey] | None = None

    def prepare(self, readings: Sequence[Reading] = ()) -> None:
        self._events.append("engine: prepare")
        self._engine.prepare(readings)

    def exact(self, readings: Sequence[Reading]) -> list[Columns]:
        self._events.append(f"engine: read {len(readings)}")
        found: list[Columns] = self._engine.exact(readings)
        self._note(readings, found)
        return found

    def found(self, readings: Sequence[Reading]) -> tuple[list[FoundKey], list[Columns]]:
        self._events.append(f"engine: find keys for {len(readings)}")
        self.keys, found = self._engine.found(readings)
        self._note(readings, found)
        return self.keys, found

    def _note(self, readings: Sequence[Reading], found: list[Columns]) -> None:
        self.readings += readings
        self.exact_integers += deepcopy(found)  # as they were, whatever is done to them later

    def close(self) -> None:
        self._engine.close()


class _WatchedBits:
    """Bits whose use is noted between the other events."""

    def __init__(self, bits: Bits, events: list[str]) -> None:
        self._bits, self._events = bits, events

    def words(self, count: int) -> Words:
        self._events.append(f"bits: {count} words")
        return self._bits.words(count)


def with_the_same_words(
    run: Callable[[Any, RecordedBits], Run], pair: tuple[Any, Any], bits: Bits
) -> tuple[Run, Run]:
    """The first run records its random words, the second gets the same ones."""
    recording = RecordedBits(bits)
    first = run(pair[0], recording)
    return first, run(pair[1], RecordedBits(bits, recording.handed_out))


def watch(curator: Curator, bits: Bits) -> tuple[Watched, list[str]]:
    """From now on everything that the curator reads and draws is noted."""
    events: list[str] = []
    engine = Watched(curator._engine, events)  # the auditor looks inside on purpose
    watched = _WatchedBits(bits, events)
    curator._engine, curator._bits = engine, watched
    before = curator._releasing
    curator._releasing = type(before)(engine, watched, before._place, split=before._split)
    return engine, events
