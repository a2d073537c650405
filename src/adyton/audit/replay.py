"""Record and replay: one query, two neighboring tables, the same random words.

Everything that an asker can see apart from the values must then be the same: whether there is an answer,
its shape, what was charged, what the receipt says, how many random words were read and when.  The exact
integers may differ by the declared sensitivity and not by more, and the noise must not differ at all.  A
single pair of runs shows faults for which samples might need a million.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import zip_longest
from typing import Any, Literal

import numpy as np

from adyton.audit.noise_seen import alike_but_for_cells, distances, gaps, is_rounded, noise_seen
from adyton.audit.watching import RecordedBits, watch, with_the_same_words
from adyton.curator import Curator, open_study
from adyton.documents import Document
from adyton.errors import CuratorError, InvalidRequest
from adyton.kernel.engine import DiscoveredGroup
from adyton.kernel.exact.cells import whole
from adyton.kernel.ledger.texts import Stored
from adyton.kernel.measurement import Columns
from adyton.kernel.noise import Bits, SystemBits
from adyton.kernel.sensitivity import Reading
from adyton.kernel.special.mechanisms.workloads.measured import GaussianMeasured
from adyton.planning.coordinated.choosing import CoordinatedBatch
from adyton.planning.plan import PricedBatch, QueryPlan
from adyton.show import Sheet, Shown
from adyton.study import Study

Open = Callable[[Study, Any], Curator]


@dataclass(frozen=True, slots=True)
class Trace:
    """What one run did: what an asker may see (``public``), in which order, and the integers behind it."""

    public: dict[str, Any]
    events: tuple[str, ...]
    readings: tuple[Reading, ...]
    exact: list[Columns]
    plans: tuple[QueryPlan, ...]
    stored: Sequence[Stored]
    keys: Sequence[DiscoveredGroup] | None = (
        None  # of groups that nobody declared: as private as the integers
    )
    together: CoordinatedBatch | None = None  # where all values follow from one measurement
    refused: CuratorError | None = None  # in place of an answer


@dataclass(frozen=True, slots=True)
class Movement(Document):
    """How far the integers of one reading moved, beside how far they may, in both norms."""

    name: str
    l1: Fraction
    l1_allowed: Fraction
    l2_squared: Fraction
    l2_squared_allowed: Fraction

    json_keys = "value=name l1 l1_allowed l2 l2_allowed"

    @property
    def l2(self) -> float:
        return float(float(self.l2_squared) ** 0.5)

    @property
    def l2_allowed(self) -> float:
        return float(float(self.l2_squared_allowed) ** 0.5)

    @property
    def too_far(self) -> bool:
        return self.l1 > self.l1_allowed or self.l2_squared > self.l2_squared_allowed


@dataclass(frozen=True, slots=True)
class Replay(Shown, Document):
    """What differed between the two runs, and should not have."""

    query: str
    faults: tuple[str, ...]
    movements: tuple[Movement, ...]
    verdict: Literal["consistent", "refuted"] = field(init=False)

    json_keys = "query verdict faults moved=movements"

    def __post_init__(self) -> None:
        object.__setattr__(self, "verdict", "refuted" if self.faults else "consistent")

    @property
    def refuted(self) -> bool:
        return self.verdict == "refuted"

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = tuple(
            (
                m.name,
                f"{float(m.l1):g} of {float(m.l1_allowed):g}",
                f"{m.l2:.6g} of {m.l2_allowed:.6g}",
            )
            for m in self.movements
        )
        notes = (*(f"FAULT: {fault}" for fault in self.faults), f"Verdict: {self.verdict}.")
        return Sheet(f"Replay of {self.query}", ("value of", "moved (L1)", "moved (L2)"), rows, notes)


def replay(
    study: Study,
    pair: tuple[Any, Any],
    query: Any,
    *,
    opened_by: Open | None = None,
    bits: Bits | None = None,
    **price: Any,
) -> Replay:
    """Ask ``query`` of two neighboring tables with the same randomness and compare what happened.

    ``pair`` holds what ``adyton.open(study, data=...)`` takes; ``opened_by(study, data)`` may open a curator
    of your own.  The study must have no ledger file: each run has a ledger in memory.

    Claim:    no fault is reported of a curator whose control flow, shape and charge follow from public facts
              and random words alone and whose integers move within the declared sensitivity.
    Assumes:  the two tables are neighbors as the study says.
    Source:   derived here.  Theorem: REPLAY.
    """
    if study.ledger is not None:
        raise InvalidRequest("replay needs a study without a ledger file: it must not spend anyone's budget")
    return compare(*run_both(study, pair, query, bits or SystemBits(), opened_by, price))


def run_both(
    study: Study,
    pair: tuple[Any, Any],
    query: Any,
    bits: Bits,
    opened_by: Open | None,
    price: dict[str, Any],
) -> tuple[Trace, Trace]:
    """The first run records its random words, the second gets the same ones."""

    def run(data: Any, recorded: RecordedBits) -> Trace:
        return _trace(study, data, query, recorded, opened_by, price)

    return with_the_same_words(run, pair, bits)


def _trace(
    study: Study,
    data: Any,
    query: Any,
    bits: RecordedBits,
    opened_by: Open | None,
    price: dict[str, Any],
) -> Trace:
    """One run, watched."""
    opened = opened_by(study, data) if opened_by is not None else open_study(study, data=data)
    curator, watched = watch(opened, bits)
    plans: tuple[QueryPlan, ...] = ()
    stored: Sequence[Stored] = []
    together, refused = None, None
    with curator:
        try:
            answers, batch = _asked(curator, query, price)
            public = {"outcome": "answered", **_public(answers), "receipts": _receipts(curator)}
            if batch is not None:
                plans, together = batch.plans, batch if isinstance(batch, CoordinatedBatch) else None
                text = curator._ledger.recall(answers[0]["receipt"]["number"])
                stored = curator._release_of(batch).written.read(text or "[]")
        except CuratorError as error:
            public, refused = {"outcome": error.kind, "receipts": _receipts(curator)}, error
    seen = (tuple(watched.events), tuple(watched.readings), watched.exact_integers)
    return Trace(public, *seen, plans, stored, watched.keys, together, refused)


def _asked(
    curator: Curator, query: Any, price: dict[str, Any]
) -> tuple[list[dict[str, Any]], PricedBatch | None]:
    """The answers, and the plans they were made by.  Several queries are a batch; a selection has none."""
    several = isinstance(query, list | tuple)
    named = {key: value for key, value in price.items() if key != "strategy"}
    asked, strategy = curator._tables(list(query) if several else [query]), price.get("strategy")
    chosen = asked.selection(named, strategy or curator.study.one_by_one)  # type: ignore[arg-type]
    batch = curator._batch(asked, named, strategy) if chosen is None else None  # type: ignore[arg-type]
    answers = curator.ask_many(query, **price) if several else [curator.ask(query, **price)]
    return [answer.to_json() for answer in answers], batch


def _public(answers: list[dict[str, Any]]) -> dict[str, Any]:
    """All parts of the answers but their values, and the digests, which hold the time."""
    first = answers[0]
    return {
        "query": "; ".join(answer["query"] for answer in answers),
        "shape": [_shape(answer) for answer in answers],
        "cost": first["cost"],
        "spent": first["spent"],
        "budget": first["budget"],
        "certificate": [answer["certificate"] for answer in answers],
    }


def _shape(answer: dict[str, Any]) -> list[Any]:
    """Which groups were discovered, or chosen, is itself a noisy value."""
    if "discovered_groups" in answer:
        return ["groups are discovered"]
    if "chosen" in answer:
        return [answer["chosen"], *(sorted(row["values"]) for row in answer["answer"])]
    return [[row["keys"], sorted(row["values"])] for row in answer["answer"]]


def _receipts(curator: Curator) -> list[Any]:
    return [
        (r.number, r.order.query, r.order.detail, r.order.amount, r.order.radius, r.spent, r.spent_radius)
        for r in curator.receipts()
    ]


def compare(first: Trace, second: Trace) -> Replay:
    """What should be the same and is not, and what moved too far.

    Two runs that failed alike are refused: to call them consistent would say what nobody looked at.
    """
    faults = [
        f"the {key} differs: {first.public.get(key)} and {second.public.get(key)}"
        for key in dict.fromkeys([*first.public, *second.public])
        if first.public.get(key) != second.public.get(key)
    ]
    for step, (one, two) in enumerate(
        zip_longest(_events(first), _events(second), fillvalue="nothing"), start=1
    ):
        if one != two:
            faults.append(f"the control flow differs at step {step}: {one}, and {two}")
            break
    movements = [*_movements(first, second), *_moved_together(first, second)]
    faults += [f"{m.name} moved farther than its sensitivity allows" for m in movements if m.too_far]
    if not _same_noise(first, second):
        faults.append("the noise depends on the data")
    if not faults and first.public["outcome"] != "answered":
        raise InvalidRequest(f"nothing was compared: neither table was answered ({first.public['outcome']})")
    text = str(first.public.get("query", second.public.get("query", "a query")))
    return Replay(text, tuple(faults), tuple(movements))


def all_of(found: Sequence[Replay], *faults: str) -> Replay:
    """Several replays as one, and what else was found."""
    return Replay(
        "; ".join(one.query for one in found),
        (*(fault for one in found for fault in one.faults), *faults),
        tuple(movement for one in found for movement in one.movements),
    )


def _events(run: Trace) -> list[str]:
    """Where groups are discovered, each that occurs gets noise: the number of words is as private as theirs.
    A choice may read a word more, by coins that must read on: see the mechanisms of ``selection``.
    """
    counted = run.keys is None and bool(run.plans)
    return [event for event in run.events if counted or not event.startswith("bits")]


def _movements(first: Trace, second: Trace) -> list[Movement]:
    one, two = aligned(first, second), aligned(second, first)
    return [
        movement
        for reading, other, a, b in zip(first.readings, second.readings, one, two, strict=False)
        if reading == other  # what a search reads again depends on what was released before
        for movement in _moved(reading, a, b)
    ]


def _moved_together(first: Trace, second: Trace) -> list[Movement]:
    """All that one strategy measures, which is what it pays for."""
    if first.together is None or second.together is None:
        return []
    own, unit = first.together.noise.mechanism.strategy, first.together.unit
    one, two = (
        own.measure(run.together.measurement.histogram(run.exact)) for run in (first, second) if run.together
    )
    (l1, l2), rows = distances([(one - two).tolist()], [Fraction(1)]), unit.rows
    most = Fraction(rows * own.l1_diameter(unit.adjacency))
    return [
        Movement(
            f"all by {own.name}", l1, most, l2, Fraction(rows**2 * own.l2_diameter_squared(unit.adjacency))
        )
    ]


def aligned(run: Trace, other: Trace) -> list[Columns]:
    """The integers of a run, with a zero for every key that only the other run has."""
    if run.keys is None or other.keys is None:
        return run.exact
    places, keys = {key: place for place, key in enumerate(run.keys)}, keys_of(run, other)
    return [
        [[column[places[key]] if key in places else 0 for key in keys] for column in columns]
        for columns in run.exact
    ]


def keys_of(run: Trace, other: Trace) -> list[DiscoveredGroup]:
    """All that one of two runs found."""
    return sorted({*(run.keys or ()), *(other.keys or ())})


def _moved(reading: Reading, a: Columns, b: Columns) -> list[Movement]:
    """Measured twice: as the integers are, and each coordinate in units of the most that one row can add."""
    apart = gaps(reading, a, b)
    if apart is None:
        return []
    reach = tuple(Fraction(max(1, *map(abs, box))) for box in reading.sensitivity.boxes)
    plain = (Fraction(1),) * len(reach)
    found = []
    for name, scales in ((reading.name, plain), (f"{reading.name}, in rows", reach)):
        (l1, l2), allowed = distances(apart, scales), reading.sensitivity
        found.append(Movement(name, l1, allowed.l1_diameter(scales), l2, allowed.l2_diameter_squared(scales)))
    return found


def _same_noise(first: Trace, second: Trace) -> bool:
    if first.stored and second.stored and is_rounded(first.plans):
        return alike_but_for_cells(first.plans, (first.stored, first.exact), (second.stored, second.exact))
    return _noise(first) == _noise(second)


def _noise(run: Trace) -> list[Any]:
    """Released minus exact.  Discovered groups need not be the same: there is nothing to compare."""
    if run.keys is not None or not run.stored:
        return []
    if run.together is not None:
        mechanism = run.together.noise.mechanism
        steps = mechanism.steps if isinstance(mechanism, GaussianMeasured) else 1
        exact = mechanism.strategy.measure(run.together.measurement.histogram(run.exact)) * np.int64(steps)
        return [(whole(run.stored[0].released[0][0]) - exact).tolist()]
    return noise_seen(run.plans, run.stored, run.exact)
