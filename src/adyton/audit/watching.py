"""A curator that is watched: what it asks its engine, what it hears, and when it draws which random words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from adyton.curator import Curator
from adyton.kernel.data import Unobserved
from adyton.kernel.engine import DiscoveredGroup, Engine
from adyton.kernel.measurement import Columns
from adyton.kernel.noise import Bits
from adyton.kernel.noise.refine import Words
from adyton.kernel.sensitivity import Reading
from adyton.setup.exact import exact_integers

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


class Watched(Unobserved):
    """Notes what is read for a curator, and reads it as well."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.events: list[str] = []
        self.readings: list[Reading] = []
        self.exact_integers: list[Columns] = []
        self.keys: Sequence[DiscoveredGroup] | None = None

    def prepares(self, readings: Sequence[Reading]) -> None:
        self.events.append("engine: prepare")

    def reads(self, readings: Sequence[Reading], *, groups: bool) -> None:
        done = "discover groups for" if groups else "read"
        self.events.append(f"engine: {done} {len(readings)}")
        with suppress(Exception):  # the kernel reads next, and says in its own words that it failed
            keys, exact = exact_integers(self._engine, readings, groups=groups)
            self.readings += readings
            self.exact_integers += exact
            self.keys = self.keys if keys is None else keys


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


def watch(curator: Curator, bits: Bits) -> tuple[Curator, Watched]:
    """The same curator, and what notes everything that it reads and draws."""
    watched = Watched(curator._engine)
    return curator.observed(watched, _WatchedBits(bits, watched.events)), watched
