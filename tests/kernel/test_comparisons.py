"""Comparisons that were paid for once: what they cost, what may be compared, and what their notes keep.

Noise of scale 1/100 is 0 but once in 10**43 draws, so what is compared here can be said in advance.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from test_receipts import Opened
from test_seam import TABLE, plan_of, priced_of, study

from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.kernel.data import Data
from adyton.kernel.exact import UNITS_PER_ONE, units_up
from adyton.kernel.ledger import Header, MemoryLedger
from adyton.kernel.measurement import Due
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise
from adyton.kernel.mechanisms.grid import Grid, NoiseOnAGrid
from adyton.kernel.noise import SystemBits
from adyton.kernel.paid import charge, resume
from adyton.kernel.price import Label, price
from adyton.kernel.privacy import GaussianCost, Guarantee, PrivacyUnit, PureCost
from adyton.kernel.schema import Table
from adyton.kernel.sensitivity import Coordinate, Reading, Sensitivity
from adyton.kernel.sensitivity.reading import Persons
from adyton.kernel.special.comparing import CLOSED, Asked, Comparisons, public_notes
from adyton.kernel.special.mechanisms.sparse.numeric_sparse import NumericSparse
from adyton.kernel.special.mechanisms.sparse.sparse import Sparse
from adyton.kernel.special.monitor import Machine, Monitor, Pmw
from adyton.study import PrivateTable, Study

QUIET = Fraction(1, 100)
ROOM = 3  # positives


def in_study(rule: str = "gdp", adjacency: str = "add-remove", table: Table = TABLE, **more: Any) -> Study:
    budget = Guarantee(Fraction(9), Fraction(0) if rule == "pure" else Fraction(1, 10**9))
    unit = more.pop("unit", PrivacyUnit(adjacency))  # type: ignore[arg-type]
    return Study(replace(table, rows=4), unit, budget, rule, **more)


def due_of(measurement: Any, known: Study) -> Due:
    return price(measurement, known.protection, Label(("m",), "[]")).due


def units(*parts: tuple[Fraction, int]) -> int:
    """Of so many pure parts, under the gdp accounting: each is at least its mu**2."""
    return units_up(sum((times * PureCost(epsilon).gdp for epsilon, times in parts), Fraction(0)))


# What they cost --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("refresh", [True, False])
def test_what_a_monitor_costs_is_as_on_the_page(monotone: bool, refresh: bool) -> None:
    """Privacy pays D/a + c k D/b; validity pays an exchange: k = 2, and twice D where a unit may do both.

    Mutants: each factor and each sign in ``due``, ``of_validity`` and ``replace_one_cost``.
    """
    a, b, c, d = Fraction(7), Fraction(50), 3, 2
    sparse = Sparse(c, a, b, d, monotone, refresh)
    runs, above = (c, 1) if refresh else (1, c)

    def epsilon(reach: int, k: int) -> Fraction:
        return runs * (reach / a + above * k * reach / b)

    own, exchanged = epsilon(d, 1 if monotone else 2), epsilon(d if monotone else 2 * d, 2)
    pure = due_of(Monitor(sparse), in_study("pure"))
    assert pure.amount == units_up(own)
    run = exchanged / runs
    assert pure.radius == units((run, runs))
    assert pure.pure == 0
    gdp = due_of(Monitor(sparse), in_study())
    assert gdp.amount == units((own / runs, runs))
    assert (gdp.radius, gdp.pure) == (0, units_up(exchanged))
    if not monotone:
        replaced = due_of(Monitor(sparse), in_study("gdp", "replace-one"))
        assert (replaced.amount, replaced.radius) == (gdp.amount, 0)
        assert replaced.pure == units_up(epsilon(d, 2))


@pytest.mark.parametrize("gaussian", [True, False])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_what_values_of_positives_cost_is_as_on_the_page(gaussian: bool, adjacency: str) -> None:
    """Each of c values: (D/s)**2 or D/s for privacy, half as far for validity.

    Mutants: each factor of ``of_validity`` where there are values.
    """
    a, b, c, d, s = Fraction(7), Fraction(50), 3, 2, Fraction(90)
    machine = NumericSparse(Sparse(c, a, b, d), s, gaussian)
    reach = 2 * d if adjacency == "add-remove" else d
    run = reach / a + c * 2 * reach / b
    gdp = due_of(Monitor(machine), in_study("gdp", adjacency))
    if gaussian:
        assert gdp.radius == units_up(c * Fraction(reach, 2) ** 2 / s**2)
        assert gdp.pure == units_up(run)
    else:
        assert gdp.radius == 0
        assert gdp.pure == units_up(run + c * reach / s)
        pure = due_of(Monitor(machine), in_study("pure", adjacency))
        assert pure.amount == units_up(d / a + c * 2 * d / b + c * d / s)
        assert pure.radius == units((run, 1), (Fraction(reach, 2) / s, c))
        assert pure.pure == 0


def everybody(known: Study) -> Reading:
    (reading,) = plan_of(known, "SELECT COUNT(*) FROM people").readings
    return reading


def pmw(total: Any = None, reading: Reading | None = None, **more: Any) -> Pmw:
    sparse = Sparse(ROOM, Fraction(7), Fraction(50))
    machine = more.pop("machine", NumericSparse(sparse, Fraction(90), more.pop("gaussian", False)))
    rows = more.pop("rows", None if reading is not None else 4)
    return Pmw(machine, more.pop("threshold", 5), rows, total, reading)


def test_what_counts_with_guesses_cost_is_as_on_the_page() -> None:
    """The comparisons, and the number of units as one more count.  An exchange moves a count by 1.

    Mutants: each part of ``Pmw.due`` and of ``of_validity``; a total with the noise of another accounting.
    """
    known, s = in_study(), Fraction(30)
    gaussian, geometric = GaussianNoise((s,)), GeometricNoise((s,))
    run = 1 / Fraction(7) + ROOM * 2 / Fraction(50)
    own = [(run, 1), (1 / Fraction(90), ROOM)]
    plain = due_of(pmw(), in_study("gdp", "replace-one"))
    assert (plain.amount, plain.radius, plain.pure) == (units(*own), 0, units_up(run + ROOM / Fraction(90)))
    measured = due_of(pmw(gaussian, everybody(known)), known)
    assert measured.amount == units_up(sum((n * PureCost(e).gdp for e, n in own), GaussianCost(1 / s**2).gdp))
    assert measured.radius == units_up(GaussianCost(1 / (2 * s) ** 2).gdp)
    assert measured.pure == plain.pure
    pure = due_of(pmw(geometric, everybody(known)), in_study("pure"))
    assert pure.amount == units_up(run + ROOM / Fraction(90) + 1 / s)
    assert pure.radius == units((run, 1), (Fraction(1, 180), ROOM), (1 / (2 * s), 1))
    assert pure.pure == 0
    for total, accounting in ((geometric, "gdp"), (geometric, "zcdp"), (gaussian, "pure")):
        with pytest.raises(InvalidRequest, match="not of a kind whose cost is proved"):
            due_of(pmw(total, everybody(known)), in_study(accounting))


# What is refused -------------------------------------------------------------------------------------------


class Silent(GaussianNoise):
    """Costs as much as noise does, and might draw none."""


class OwnSparse(Sparse):
    """The same."""


class OwnNumeric(NumericSparse):
    """The same."""


def test_machines_of_ones_own_are_refused() -> None:
    """Mutants: ``_checked`` without each of its parts; ``Pmw.due`` with any noise of the total."""
    known, plain = in_study(), Sparse(ROOM, Fraction(7), Fraction(50))
    of_own = [
        OwnSparse(ROOM, Fraction(7), Fraction(50)),
        OwnNumeric(plain, Fraction(90)),
        NumericSparse(OwnSparse(ROOM, Fraction(7), Fraction(50)), Fraction(90)),
    ]
    machines: list[Machine] = list(of_own)
    for machine in machines:
        with pytest.raises(InvalidRequest, match="not of a kind whose cost is proved"):
            due_of(Monitor(machine), known)
    with pytest.raises(InvalidRequest, match="not of a kind whose cost is proved"):
        due_of(pmw(machine=of_own[1]), in_study("gdp", "replace-one"))
    for noise in (
        Silent((Fraction(30),)),
        NoiseOnAGrid(GaussianNoise((Fraction(30),)), (Grid.over(0, 9, 1),)),
    ):
        with pytest.raises(InvalidRequest, match="not of a kind whose cost is proved"):
            due_of(pmw(noise, everybody(known)), known)


def test_a_monotone_monitor_is_for_units_that_come_and_go() -> None:
    """Mutant: ``due`` without the look at the neighbors."""
    monotone = Monitor(Sparse(ROOM, Fraction(7), Fraction(50), monotone=True))
    assert due_of(monotone, in_study())
    with pytest.raises(InvalidRequest, match="one way only where units are added or removed"):
        due_of(monotone, in_study("gdp", "replace-one"))


def test_comparisons_read_all_units_and_round_nothing() -> None:
    """Mutants: ``refuse_split_or_rounded`` left out, or without each of its parts."""
    known = in_study("gdp", "replace-one")
    for protection in (
        replace(known.protection, rounded=True),
        replace(known.protection, unit=replace(known.unit, parts=2)),
    ):
        for measurement in (Monitor(Sparse(ROOM, Fraction(7), Fraction(50))), pmw()):
            with pytest.raises(InvalidRequest, match="neither with a split of the units nor with rounded"):
                price(measurement, protection, Label(("m",), "[]"))


def test_counts_with_guesses_say_how_many_units_there_are() -> None:
    """Mutants: ``Pmw.due`` without each of its checks."""
    known, noise = in_study(), GaussianNoise((Fraction(30),))
    reading = everybody(known)
    monotone = NumericSparse(Sparse(ROOM, Fraction(7), Fraction(50), monotone=True), Fraction(90))
    bad = [pmw(machine=monotone), pmw(threshold=0), pmw(threshold=-3)]
    for measurement in bad:
        with pytest.raises(InvalidRequest, match="compared both ways, for units of one row"):
            due_of(measurement, known)
    assert due_of(pmw(threshold=1), known)
    persons = in_study(table=replace(TABLE, person="pid"), unit=PrivacyUnit("add-remove", "pid", 2))
    with pytest.raises(InvalidRequest, match="for units of one row"):
        due_of(pmw(), persons)
    for measurement in (
        pmw(noise, None),
        pmw(None, reading),
        pmw(noise, reading, rows=4),
        pmw(None, None, rows=None),
    ):
        with pytest.raises(InvalidRequest, match="is public, or is measured with noise"):
            due_of(measurement, known)


def test_what_is_counted_with_guesses_is_a_count() -> None:
    """Mutants: ``Pmw.check`` without each of its parts, and of the total left out."""
    known = in_study()
    count, own = everybody(known), pmw()
    own.check(count, 1, known.protection)
    (total,) = plan_of(known, "SELECT SUM(age) FROM people").readings
    one = Sensitivity(((1, 1),), 1, "add-remove")
    of_persons = replace(count, persons=Persons(1, 1, 1), sensitivity=one)
    for reading, factor in ((total, 1), (count, 2), (count, 0), (of_persons, 1)):
        with pytest.raises(InvalidRequest, match="move this count farther"):
            own.check(reading, factor, known.protection)
    with pytest.raises(InvalidRequest, match="move this count farther"):
        due_of(pmw(GaussianNoise((Fraction(30),)), total), known)
    visits = Table("visits", (TABLE.columns[0],), person="pid")
    both = in_study(
        table=replace(TABLE, person="pid"),
        unit=PrivacyUnit("add-remove", "pid", 1),
        further=(PrivateTable(visits, 2),),
    )
    (several,) = plan_of(replace(both, table=both.table), "SELECT COUNT(*) FROM people").readings
    two = replace(several, table=visits, sensitivity=replace(several.sensitivity, rows=2))
    own.check(several, 1, both.protection)
    with pytest.raises(InvalidRequest, match="move this count farther"):
        own.check(two, 1, both.protection)


def test_one_number_at_a_time_is_compared() -> None:
    """Mutants: ``_unit_of_one`` without each of its parts; ``check_reading`` left out; ``check`` of a sum."""
    known = in_study()
    monitor = Monitor(Sparse(ROOM, Fraction(7), Fraction(50), sensitivity=100, monotone=True))
    count = everybody(known)
    monitor.check(count, 100, known.protection)
    (age,) = plan_of(known, "SELECT SUM(age) FROM people").readings
    monitor.check(age, 1, known.protection)
    (groups,) = plan_of(known, "SELECT region, COUNT(*) FROM people GROUP BY region").readings
    (one_group,) = plan_of(
        known, "SELECT region, COUNT(*) FROM people WHERE region = 'a' GROUP BY region"
    ).readings
    (mean,) = plan_of(known, "SELECT AVG(age) FROM people").readings
    assert one_group.cells == 1
    for reading in (groups, one_group, mean, replace(count, table=None)):
        with pytest.raises(InvalidRequest, match="one number is compared at a time"):
            monitor.check(reading, 1, known.protection)
    for factor in (101, 0, -1, True, 1.0):
        with pytest.raises(InvalidRequest, match="move this number farther"):
            monitor.check(count, factor, known.protection)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match="move this number farther"):
        monitor.check(age, 2, known.protection)
    lie = replace(count, sensitivity=replace(count.sensitivity, boxes=((0, 0),)))
    with pytest.raises(InvalidRequest, match="moved farther by one unit than it says"):
        monitor.check(lie, 1, known.protection)
    for text in ("SELECT SUM(age - 1) FROM people", "SELECT SUM(age - 30) FROM people"):
        (falling,) = plan_of(known, text).readings
        with pytest.raises(InvalidRequest, match="can fall where others rise"):
            monitor.check(falling, 1, known.protection)
    replace(monitor, machine=replace(monitor.machine, monotone=False)).check(falling, 1, known.protection)  # type: ignore[type-var]


# Comparing -------------------------------------------------------------------------------------------------


@pytest.fixture
def known() -> Study:
    return in_study()


@pytest.fixture
def ledger(known: Study) -> MemoryLedger:
    return large_ledger(known)


def large_ledger(known: Study) -> MemoryLedger:
    """With room for comparisons that have next to no noise."""
    return MemoryLedger(Header.fresh(known.fingerprint, known.accounting, 10**40))


def opened(known: Study, ledger: MemoryLedger, measurement: Any = None) -> Comparisons:
    """Another process: it finds the receipt if there is one."""
    own = measurement or Monitor(Sparse(ROOM, QUIET, QUIET))
    priced = price(own, known.protection, Label(("m",), "[]"))
    first = ledger.receipt(1)
    paid = charge(ledger, priced) if first is None else resume(ledger, priced, first)
    return Comparisons(paid, Data(Opened(known)), SystemBits())


def asked(against: int, feeds: int | None = None, **public: Any) -> Callable[[Comparisons], Any]:
    def one(comparisons: Comparisons) -> Any:
        def next_one() -> Asked:
            done = len(comparisons.notes()) if feeds is None else feeds
            return Asked(done, against, {"q": "é", **public})

        return comparisons.compare(everybody(in_study()), 1, next_one)

    return one


def test_positives_are_used_up_and_then_nothing_is_compared(known: Study, ledger: MemoryLedger) -> None:
    """There are 4 rows; a tie is above.  Mutants: ``compare`` without its guard or with another number."""
    one = opened(known, ledger)
    assert one.start() == {"left": ROOM}
    assert asked(5)(one) == ({"q": "é", "above": False, "value": None, "left": ROOM}, 1)
    for place, against in enumerate((4, 3, 1), start=2):
        note = {"q": "é", "above": True, "value": None, "left": ROOM + 1 - place}
        assert asked(against)(one) == (note, place)
    assert [note["above"] for note in one.notes()] == [False, True, True, True]  # type: ignore[index]
    assert one.notes(3) == one.notes()[2:]
    for process in (one, opened(known, ledger)):
        with pytest.raises(TypeError, match="nothing is compared after the end"):
            asked(9)(process)
    assert "é" in ledger.notes(1, 1)[0]
    assert one.number == 1
    assert one.receipt == ledger.receipt(1)
    assert one.ledger is ledger


def test_values_come_with_positives(known: Study, ledger: MemoryLedger) -> None:
    """Mutants: ``Monitor.compare`` with another value, or above where there is none."""
    one = opened(known, ledger, Monitor(NumericSparse(Sparse(ROOM, QUIET, QUIET), QUIET)))
    assert asked(9)(one)[0] == {"q": "é", "above": False, "value": None, "left": ROOM}
    assert asked(3)(one)[0] == {"q": "é", "above": True, "value": "4", "left": ROOM - 1}


def test_what_is_kept_with_a_value_is_kept_with_no_other_note(known: Study, ledger: MemoryLedger) -> None:
    """Mutants: it is noted where nothing was found, or nowhere."""
    one = opened(known, ledger, Monitor(NumericSparse(Sparse(ROOM, QUIET, QUIET), QUIET)))
    for place, (against, found) in enumerate(((9, False), (4, True), (5, False), (1, True))):
        what = Asked(place, against, {"q": 1}, {"kept": 2})
        note, _ = one.compare(everybody(known), 1, lambda what=what: what)  # type: ignore[misc]
        assert note.get("kept") == (2 if found else None)
        assert (note["q"], note["value"]) == (1, "4" if found else None)
    assert Asked(0, 9, {}).kept == {}


def test_guesses_are_found_too_low_or_too_high(known: Study, ledger: MemoryLedger) -> None:
    """The total is released at the start.  Mutants: ``Pmw.begin`` and ``Pmw.compare`` with other signs."""
    machine = NumericSparse(Sparse(ROOM, QUIET, QUIET), QUIET)
    count = everybody(known)
    one = opened(known, ledger, pmw(GaussianNoise((QUIET,)), count, machine=machine, threshold=2))
    assert one.start() == {"left": ROOM, "total": "4"}
    for guess, found in ((3, None), (5, None), (2, [1, "2"]), (7, [-1, "3"])):
        assert asked(guess)(one)[0]["found"] == found
    assert one.notes()[-1]["left"] == ROOM - 2  # type: ignore[index]
    public = opened(known, large_ledger(known), pmw(machine=machine, rows=77))
    assert public.start() == {"left": ROOM, "total": "77"}


@pytest.mark.parametrize(("noisy", "total"), [(-7, "1"), (0, "1"), (1, "1"), (9, "9"), (2**46, str(2**45))])
def test_the_number_of_units_is_one_that_can_be(noisy: int, total: str, known: Study) -> None:
    """Mutants: ``Pmw.begin`` with other ends."""
    count = everybody(known)
    machine = NumericSparse(Sparse(ROOM, QUIET, QUIET), QUIET)
    own = pmw(GeometricNoise((QUIET,)), count, machine=machine)
    _, public = own.begin(lambda reading: [noisy], SystemBits())
    assert public == {"total": total}
    assert own.readings == (count,)
    assert pmw().readings == ()


def test_nobody_reads_before_public_facts_allow_it(known: Study, ledger: MemoryLedger) -> None:
    """Mutants: ``compare`` without the first look; with a check that is left out."""
    one = opened(known, ledger)
    engine: Any = one._data._engine
    assert one.compare(everybody(known), 1, lambda: None) is None
    assert engine.asked == []
    with pytest.raises(InvalidRequest):
        one.compare(everybody(known), 2, lambda: Asked(0, 1, {}))
    assert engine.asked == []
    answers = iter([Asked(0, 1, {}), None])
    assert one.compare(everybody(known), 1, lambda: next(answers)) is None
    assert len(engine.asked) == 1
    assert one.notes() == []


def test_the_number_is_multiplied_before_it_is_compared(known: Study, ledger: MemoryLedger) -> None:
    one = opened(known, ledger, Monitor(Sparse(ROOM, QUIET, QUIET, sensitivity=5)))
    for against, above in ((20, True), (21, False)):
        found = one.compare(everybody(known), 5, lambda a=against: Asked(len(one.notes()), a, {}))  # type: ignore[misc]
        assert found is not None
        assert found[0]["above"] is above


def test_who_was_overtaken_compares_again(known: Study, ledger: MemoryLedger) -> None:
    """Another process was first, before the look at the notes or after it: its note counts, and ours follows.

    Mutants: ``compare`` that does not look at ``feeds``; that forgets whether the note was kept.
    """
    one, other = opened(known, ledger), opened(known, ledger)
    asked(9)(other)
    stale = iter([Asked(0, 99, {}), Asked(0, 99, {}), Asked(0, 99, {}), Asked(1, 4, {}), Asked(1, 4, {})])
    note = one.compare(everybody(known), 1, lambda: next(stale))
    assert note == ({"above": True, "value": None, "left": ROOM - 1}, 2)
    write = ledger.annotate

    def overtaken(number: int, index: int, text: str) -> bool:
        ledger.annotate = write  # type: ignore[method-assign]
        asked(2)(other)
        return write(number, index, text)

    ledger.annotate = overtaken  # type: ignore[method-assign]
    assert asked(9)(one) == ({"q": "é", "above": False, "value": None, "left": ROOM - 2}, 4)
    assert [note["left"] for note in other.notes()] == [3, 2, 1, 1]  # type: ignore[index]


def test_what_is_closed_stays_closed(known: Study, ledger: MemoryLedger) -> None:
    """Here and elsewhere.  Mutants: ``close`` that writes nothing, or elsewhere; ``_state`` that reads on."""
    one, other = opened(known, ledger), opened(known, ledger)
    asked(9)(one)
    one.close()
    one.close()
    assert ledger.notes(1, 1)[1:] == [CLOSED]
    assert other.notes()[1:] == [None]
    for process in (one, other, opened(known, ledger)):
        with pytest.raises(TypeError, match="nothing is compared after the end"):
            asked(9)(process)
        process.close()
    assert len(ledger.notes(1)) == 3
    ledger.annotate(1, 3, CLOSED)
    with pytest.raises(LedgerCorrupt):
        one.close()


def test_notes_that_were_lost_are_missed(known: Study, ledger: MemoryLedger) -> None:
    """Nothing is compared, and nothing is noted.  Mutants: each look for them left out."""
    one = opened(known, ledger)
    with pytest.raises(LedgerCorrupt, match="has lost notes"):
        asked(9, feeds=1)(one)  # whoever asks has seen one more
    asked(9)(one)
    kept, ledger.notes = ledger.notes, lambda number, first=0: kept(number, first)[:0]  # type: ignore[method-assign]
    with pytest.raises(LedgerCorrupt, match="has lost notes"):
        asked(9, feeds=1)(one)
    with pytest.raises(LedgerCorrupt, match="has lost notes"):
        one.close()
    ledger.notes = kept  # type: ignore[method-assign]
    assert len(ledger.notes(1)) == 2


def state(left: int, above: Any = False, offset: str = "0", **more: Any) -> str:
    return json.dumps({"above": above, "value": None, "left": left, "offset": offset, **more})


@pytest.mark.parametrize(
    "notes",
    [
        [state(ROOM - 1)],  # a positive was used up that was none
        [state(ROOM, above=True)],  # one is given back
        [state(ROOM + 1)],
        [state(ROOM - 2, above=True)],
        [
            state(ROOM - 1, above=True),
            state(ROOM - 2, above=True),
            state(0, above=True),
            state(-1, above=True),
        ],
        [state(ROOM, offset="x")],
        [json.dumps({"above": False, "left": ROOM})],
        [json.dumps({"above": False, "left": None, "offset": "0"})],
        ["[]"],
        ["{"],
        ["[" * 100_000],
        [CLOSED, state(ROOM)],
    ],
)
def test_a_note_that_is_none_of_ours_is_not_believed(
    notes: list[str], known: Study, ledger: MemoryLedger
) -> None:
    """Nor shown: it may hold what is secret.  Mutants: ``_after``, ``_watch``, ``_parsed`` without each part."""
    one = opened(known, ledger)
    for place, text in enumerate(notes, start=1):
        assert ledger.annotate(1, place, text)
    for process in (one, opened(known, ledger)):
        with pytest.raises(LedgerCorrupt, match="a note of a monitor cannot be read back") as refused:
            asked(9, feeds=len(notes))(process)
        assert refused.value.__cause__ is None
        assert refused.value.__context__ is None


def test_notes_of_ours_are_believed_to_the_last_positive(known: Study, ledger: MemoryLedger) -> None:
    """Mutant: ``_after`` that refuses the note with which none is left."""
    one = opened(known, ledger)
    for place, left in enumerate((2, 1, 0), start=1):
        ledger.annotate(1, place, state(left, above=True))
    ledger.annotate(1, 4, CLOSED)
    with pytest.raises(TypeError, match="nothing is compared after the end"):
        asked(9, feeds=4)(one)
    assert public_notes(ledger, 1, 4, "a monitor") == [None]
    assert "offset" not in str(public_notes(ledger, 1, 0, "a monitor"))


def test_the_threshold_of_the_first_process_counts(known: Study, ledger: MemoryLedger) -> None:
    """Mutant: ``_begin`` that draws anew where there is a note."""
    opened(known, ledger)
    (first,) = ledger.notes(1)
    opened(known, ledger)
    assert ledger.notes(1) == [first]
    corrupt = large_ledger(known)
    charge(corrupt, price(Monitor(Sparse(ROOM, QUIET, QUIET)), known.protection, Label(("m",), "[]")))
    corrupt.annotate(1, 0, json.dumps({"left": ROOM, "offset": "1000000"}))
    assert asked(4)(opened(known, corrupt))[0]["above"] is False
    assert asked(-1_000_000)(opened(known, corrupt))[0]["above"] is True


def test_only_comparisons_are_compared(known: Study) -> None:
    """Mutants: ``Comparisons`` of any receipt; ``release`` of what is compared later."""
    counts = study()
    with pytest.raises(TypeError, match="did not pay for comparisons"):
        Comparisons(charge(MemoryLedger.of(counts), priced_of(counts)), Data(Opened(counts)), SystemBits())
    for measurement in (Monitor(Sparse(ROOM, QUIET, QUIET)), pmw()):
        with pytest.raises(TypeError, match="not released at once"):
            measurement.release(None, SystemBits())  # type: ignore[arg-type]
        assert not measurement.refines(everybody(known))
    assert UNITS_PER_ONE == 10**18
    assert Coordinate() == Coordinate(None, 1, 0)
