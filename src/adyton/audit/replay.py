"""Record and replay: one question, two neighbouring tables, the same random words.

Everything that an asker can see apart from the values must then be the same: whether there is an answer,
its shape, what was charged, what the receipt says, how many random words were read and when.  The exact
integers may differ by the declared sensitivity and not by more, and the noise must not differ at all.  A
single pair of runs shows faults for which samples might need a million.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import zip_longest
from typing import Any, Literal

import numpy as np

from adyton.curator import Curator, open_study
from adyton.errors import CuratorError, InvalidRequest
from adyton.noise import Bits, SystemBits
from adyton.noise.bits import Words
from adyton.sensitivity import Reading
from adyton.show import Sheet, Shown
from adyton.study import Study
from adyton.wire import released_from_text

Open = Callable[[Study, Any], Curator]


class RecordingBits:
    """Keeps every word that it hands out, so that a second run can have the same ones."""

    def __init__(self, source: Bits) -> None:
        self._source = source
        self.handed_out: list[Words] = []

    def words(self, count: int) -> Words:
        self.handed_out.append(self._source.words(count))
        return self.handed_out[-1]


class ReplayedBits:
    """The recorded words again; fresh ones where another number of them is asked for."""

    def __init__(self, recorded: Sequence[Words], source: Bits) -> None:
        self._recorded, self._source = list(recorded), source
        self.handed_out: list[Words] = []

    def words(self, count: int) -> Words:
        at = len(self.handed_out)
        same = at < len(self._recorded) and len(self._recorded[at]) == count
        self.handed_out.append(self._recorded[at] if same else self._source.words(count))
        return self.handed_out[-1]


class _Watched:
    """An engine that notes what it was asked and what it said."""

    def __init__(self, engine: Any, events: list[str]) -> None:
        self._engine, self._events = engine, events
        self.readings: list[Reading] = []
        self.exact_integers: list[list[list[int]]] = []

    def prepare(self, readings: Sequence[Reading] = ()) -> None:
        self._events.append("engine: prepare")
        self._engine.prepare()

    def exact(self, readings: Sequence[Reading]) -> list[list[list[int]]]:
        self._events.append(f"engine: read {len(readings)}")
        found: list[list[list[int]]] = self._engine.exact(readings)
        self.readings += readings
        self.exact_integers += deepcopy(found)  # as they were, whatever is done to them later
        return found

    def found(self, readings: Sequence[Reading]) -> Any:
        self._events.append(f"engine: find keys for {len(readings)}")
        return self._engine.found(readings)

    def close(self) -> None:
        self._engine.close()


class _WatchedBits:
    """Bits whose use is noted between the other events."""

    def __init__(self, bits: RecordingBits | ReplayedBits, events: list[str]) -> None:
        self._bits, self._events = bits, events

    def words(self, count: int) -> Words:
        self._events.append(f"bits: {count} words")
        return self._bits.words(count)


@dataclass(frozen=True, slots=True)
class Trace:
    """What one run did: what an asker may see (``public``), in which order, and the integers behind it."""

    public: dict[str, Any]
    events: tuple[str, ...]
    readings: tuple[Reading, ...]
    exact: list[list[list[int]]]
    released: list[list[list[int]]]


@dataclass(frozen=True, slots=True)
class Movement:
    """How far the integers of one reading moved, beside how far they may, in both norms."""

    name: str
    l1: Fraction
    l1_allowed: Fraction
    l2_squared: Fraction
    l2_squared_allowed: Fraction

    @property
    def too_far(self) -> bool:
        return self.l1 > self.l1_allowed or self.l2_squared > self.l2_squared_allowed


@dataclass(frozen=True, slots=True)
class Replay(Shown):
    """What differed between the two runs, and should not have."""

    question: str
    faults: tuple[str, ...]
    movements: tuple[Movement, ...]
    verdict: Literal["consistent", "refuted"] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "verdict", "refuted" if self.faults else "consistent")

    @property
    def refuted(self) -> bool:
        return self.verdict == "refuted"

    def to_json(self) -> dict[str, Any]:
        moved = [
            {
                "value": m.name,
                "l1": float(m.l1),
                "l1_allowed": float(m.l1_allowed),
                "l2": float(m.l2_squared) ** 0.5,
                "l2_allowed": float(m.l2_squared_allowed) ** 0.5,
            }
            for m in self.movements
        ]
        return {
            "question": self.question,
            "verdict": self.verdict,
            "faults": list(self.faults),
            "moved": moved,
        }

    def sheet(self) -> Sheet:
        rows = tuple(
            (
                m.name,
                f"{float(m.l1):g} of {float(m.l1_allowed):g}",
                f"{float(m.l2_squared) ** 0.5:.6g} of {float(m.l2_squared_allowed) ** 0.5:.6g}",
            )
            for m in self.movements
        )
        notes = (*(f"FAULT: {fault}" for fault in self.faults), f"Verdict: {self.verdict}.")
        return Sheet(f"Replay of {self.question}", ("value of", "moved (L1)", "moved (L2)"), rows, notes)


def replay(
    study: Study,
    pair: tuple[Any, Any],
    question: Any,
    *,
    opened_by: Open | None = None,
    bits: Bits | None = None,
    **price: Any,
) -> Replay:
    """Ask ``question`` of two neighbouring tables with the same randomness and compare what happened.

    ``pair`` holds what ``adyton.open(study, data=...)`` takes; ``opened_by(study, data)`` may open a curator
    of your own.  The study must have no ledger file: each run has a ledger in memory.

    Claim:    no fault is reported of a curator whose control flow, shape and charge follow from public facts
              and random words alone and whose integers move within the declared sensitivity.
    Assumes:  the two tables are neighbours as the study says.
    Source:   derived here.  Theorem: REPLAY.
    """
    if study.ledger is not None:
        raise InvalidRequest("replay needs a study without a ledger file: it must not spend anyone's budget")
    return compare(*run_both(study, pair, question, bits or SystemBits(), opened_by, price))


def run_both(
    study: Study,
    pair: tuple[Any, Any],
    question: Any,
    bits: Bits,
    opened_by: Open | None,
    price: dict[str, Any],
) -> tuple[Trace, Trace]:
    """The first run records its random words, the second gets the same ones."""
    recording = RecordingBits(bits)
    first = _trace(study, pair[0], question, recording, opened_by, price)
    replayed = ReplayedBits(recording.handed_out, bits)
    return first, _trace(study, pair[1], question, replayed, opened_by, price)


def _trace(
    study: Study,
    data: Any,
    question: Any,
    bits: RecordingBits | ReplayedBits,
    opened_by: Open | None,
    price: dict[str, Any],
) -> Trace:
    """One run, watched."""
    curator = opened_by(study, data) if opened_by is not None else open_study(study, data=data)
    events: list[str] = []
    engine = _Watched(curator._engine, events)  # the auditor looks inside on purpose
    watched = _WatchedBits(bits, events)
    curator._engine, curator._bits = engine, watched
    curator._releasing = type(curator._releasing)(engine, watched)
    with curator:
        try:
            answer = curator.ask(question, **price).to_json()
            public = {"outcome": "answered", **_public(answer), "receipts": _receipts(curator)}
            released = released_from_text(curator._ledger.recall(answer["receipt"]["number"]) or "[]")
        except CuratorError as error:
            public = {"outcome": error.kind, "receipts": _receipts(curator)}
            released = []
    return Trace(public, tuple(events), tuple(engine.readings), engine.exact_integers, released)


def _public(answer: dict[str, Any]) -> dict[str, Any]:
    """All parts of an answer but its values, and the digests, which hold the time."""
    return {
        "question": answer["question"],
        "shape": [[row["keys"], sorted(row["values"])] for row in answer["answer"]],
        "cost": answer["cost"],
        "spent": answer["spent"],
        "limit": answer["limit"],
        "certificate": answer["certificate"],
    }


def _receipts(curator: Curator) -> list[Any]:
    return [
        (r.number, r.order.question, r.order.detail, r.order.amount, r.order.radius, r.spent, r.spent_radius)
        for r in curator.receipts()
    ]


def compare(first: Trace, second: Trace) -> Replay:
    """What should be the same and is not, and what moved too far."""
    faults = [
        f"the {key} differs: {first.public.get(key)} and {second.public.get(key)}"
        for key in dict.fromkeys([*first.public, *second.public])
        if first.public.get(key) != second.public.get(key)
    ]
    for step, (one, two) in enumerate(zip_longest(first.events, second.events, fillvalue="nothing"), start=1):
        if one != two:
            faults.append(f"the control flow differs at step {step}: {one}, and {two}")
            break
    movements = _movements(first, second)
    faults += [f"{m.name} moved farther than its sensitivity allows" for m in movements if m.too_far]
    if _noise(first) != _noise(second):
        faults.append("the noise depends on the data")
    text = str(first.public.get("question", second.public.get("question", "a question")))
    return Replay(text, tuple(faults), tuple(movements))


def _movements(first: Trace, second: Trace) -> list[Movement]:
    if not first.exact or not second.exact:
        return []
    return [
        movement
        for reading, a, b in zip(first.readings, first.exact, second.exact, strict=False)
        for movement in _moved(reading, a, b)
    ]


def _moved(reading: Reading, a: list[list[int]], b: list[list[int]]) -> list[Movement]:
    """Measured twice: as the integers are, and each coordinate in units of the most that one row can add."""
    reach = tuple(Fraction(max(1, *map(abs, box))) for box in reading.sensitivity.boxes)
    plain = (Fraction(1),) * len(reach)
    found = []
    for name, scales in ((reading.name, plain), (f"{reading.name}, in rows", reach)):
        gaps = [
            Fraction(x - y) / scale
            for scale, one, two in zip(scales, a, b, strict=True)
            for x, y in zip(one, two, strict=True)
        ]
        l1, l2 = sum(map(abs, gaps), Fraction(0)), sum((g * g for g in gaps), Fraction(0))
        allowed = reading.sensitivity
        found.append(Movement(name, l1, allowed.l1_diameter(scales), l2, allowed.l2_diameter_squared(scales)))
    return found


def _noise(run: Trace) -> list[Any]:
    """Released minus exact."""
    return [
        (np.array(released, dtype=object) - np.array(exact, dtype=object)).tolist()
        for released, exact in zip(run.released, run.exact, strict=False)
    ]
