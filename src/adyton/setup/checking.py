"""The owner's check: a study file beside its data, before analysts find out.

It reads the data and says what it finds, exactly: this is for whoever may read the data anyway.  It opens no
ledger, charges nothing and answers nobody's query.  It is never offered over a service: whoever may call
it there could see everything.  Values, keys and persons are in what it returns only if asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from adyton.certify.checked import CheckFinding, ColumnCheck, DiscoveryCheck, Seen, StudyCheck, TableCheck
from adyton.curator.opening import sources_of
from adyton.engines.choosing import EngineLimits, engine_for, is_file_or_table, path_or_table
from adyton.engines.loaded import comparable
from adyton.engines.loading.sources import unreadable_lines
from adyton.engines.survey import HIGH, LOW, MISSING, UNDECLARED, UNUSABLE, CodedLoading, Surveyor
from adyton.errors import CuratorError, InvalidRequest
from adyton.kernel.engine import Engine
from adyton.kernel.exact import positive, rational
from adyton.kernel.schema import CategoryColumn, Column, Table, TextColumn
from adyton.kernel.terms.measures import Count
from adyton.ledgers.shared_budget.joining import check_shared_budget
from adyton.planning.plan import make_plan
from adyton.planning.price import Price
from adyton.query.nodes import Query
from adyton.setup.exact import exact_integers
from adyton.setup.findings import findings_of, suggestions_of
from adyton.study import Study, read_study

_EXAMPLES = 5
_MOST_UNDECLARED = 10_000  # different values that are compared with the declared ones
_CODES = {"unparseable": UNUSABLE, "undeclared": UNDECLARED, "clipped_low": LOW, "clipped_high": HIGH}
Said = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """What the owner wants to know: groups that a query of this ``epsilon`` would discover; values or not.

    Up to the share ``allow`` of the rows may be clipped, undeclared, unparseable or left out.
    """

    epsilon: Fraction
    allow: Fraction
    show_values: bool


def check_study(
    study: str | Path | Study,
    *,
    data: Any = None,
    epsilon: str | float | Fraction | None = None,
    allow: str | float | Fraction = 0,
    show_values: bool = False,
    said: Said = lambda _: None,
    **limits: Unpack[EngineLimits],
) -> StudyCheck:
    """Compare a study file with its data.  For the owner alone: what comes out is not private.

    ``data`` and ``limits`` are those of ``adyton.open``.  Keys of text columns are looked for as a query
    that costs ``epsilon`` would discover them, a tenth of the study's unless given.  ``said`` is told what is
    being read.  Without ``show_values`` nothing that is returned holds a value, a key or a person.
    """
    known = study if isinstance(study, Study) else read_study(study)
    part = known.budget.epsilon / 10 if epsilon is None else positive(epsilon, "epsilon")
    share = rational(allow, "allow")
    if not 0 <= share < 1:
        raise InvalidRequest("allow is a share of the rows: at least 0, below 1")
    if known.shared_budget is not None:
        check_shared_budget(known, known.shared_budget)
    wanted, sources = CheckOptions(part, share, show_values), sources_of(known, data)
    tables, persons = [], {}
    for table in known.tables:
        said(f"reading {table.name}")
        surveyor = _surveyor(known, table, sources[table.name], show_values, limits)
        try:
            checked = _with_lines(_table(known, table, surveyor, wanted), sources[table.name])
            persons[table.name] = surveyor.person_type
        finally:
            surveyor.close()
        if _discovers_groups(known, table, checked):
            said(f"looking for keys in {table.name}")
            unit = replace(known.unit_of(table), parts=1)  # an owner reads all that any query may read
            engine = engine_for(table, unit, sources[table.name], known.fingerprint, limits)
            checked = _with_keys(known, table, checked, engine, wanted)
        tables.append(checked)
    findings = (*findings_of(known, tables, share), *_joined(known, persons), *_kept(known, persons, sources))
    suggestions = suggestions_of(known, tables)
    return StudyCheck(tuple(tables), findings, known.reserve is not None, suggestions)


def _surveyor(study: Study, table: Table, source: Any, texts: bool, limits: EngineLimits) -> Surveyor:
    unit = replace(study.unit_of(table), parts=1, reserve=None)
    loads = partial(CodedLoading, texts=texts)
    return Surveyor(engine_for(table, unit, source, "", limits, loads=loads))


def _table(study: Study, table: Table, surveyor: Surveyor, wanted: CheckOptions) -> TableCheck:
    rows, codes = surveyor.rows(), surveyor.codes()
    columns = tuple(
        _column(surveyor, place, column, codes[place], wanted) for place, column in enumerate(table.columns)
    )
    if study.unit.person is None:
        return TableCheck(table.name, rows, columns, rows)
    found = surveyor.persons()
    return TableCheck(
        table.name,
        rows,
        columns,
        found.persons,
        found.rows_of_nobody,
        found.above,
        found.rows_cut,
        found.most if wanted.show_values else None,
    )


def _with_lines(checked: TableCheck, source: Any) -> TableCheck:
    file = path_or_table(source) if is_file_or_table(source) else None
    return replace(checked, unreadable_lines=unreadable_lines(file))


def _column(
    surveyor: Surveyor, place: int, column: Column, codes: list[int], wanted: CheckOptions
) -> ColumnCheck:
    problem = surveyor.problems.get(column.name)
    if problem is not None:
        return ColumnCheck(column.name, column.kind, problem=problem)
    examples = {
        kind: tuple(Seen(*one) for one in surveyor.texts(place, code, _EXAMPLES))
        for kind, code in _CODES.items()
        if wanted.show_values and codes[code]
    }
    almost = 0
    if isinstance(column, CategoryColumn) and codes[UNDECLARED]:
        almost = _almost(column, surveyor.texts(place, UNDECLARED, _MOST_UNDECLARED))
    return ColumnCheck(
        column.name,
        column.kind,
        codes[MISSING],
        codes[UNUSABLE],
        codes[UNDECLARED],
        almost,
        codes[LOW],
        codes[HIGH],
        examples=examples,
    )


def _almost(column: CategoryColumn, seen: list[tuple[str | None, int]]) -> int:
    """Rows whose value would be a declared one in other letters, or without the blanks around it."""
    declared = {_plain(str(value)) for value in column.values}
    return sum(rows for text, rows in seen if text is not None and _plain(text) in declared)


def _plain(text: str) -> str:
    return text.strip().casefold()


def _joined(study: Study, persons: dict[str, Any]) -> Iterator[CheckFinding]:
    """Tables whose persons cannot be compared, so that every join of them is refused."""
    own = persons[study.table.name]
    for one in study.further:
        other = persons[one.table.name]
        if own is not None and other is not None and not comparable(own, other):
            text = (
                f"the person has type {other[1]} here and {own[1]} in {study.table.name}: joins are refused"
            )
            yield CheckFinding(one.table.name, one.table.person, "person_type", None, text)


def _kept(study: Study, persons: dict[str, Any], sources: dict[str, Any]) -> Iterator[CheckFinding]:
    """Units that cannot be told apart by a hash: every query of a study with a reserve is refused."""
    for table in study.tables if study.reserve is not None else ():
        found = persons[table.name]
        if study.unit.person is None:
            if not is_file_or_table(sources[table.name]):
                text = "rows of a database have no position to keep a reserve by: every query is refused"
                yield CheckFinding(table.name, None, "reserve", None, text)
        elif found is not None and found[0] not in ("integer", "text"):
            text = (
                f"the person has type {found[1]}; a reserve is kept by a hash of an integer "
                "or a string: every query is refused"
            )
            yield CheckFinding(table.name, table.person, "reserve", None, text)


# Keys ------------------------------------------------------------------------------------------------------


def _discovers_groups(study: Study, table: Table, checked: TableCheck) -> bool:
    """Not where the engine would refuse to load the table at all."""
    if any(column.problem is not None for column in checked.columns):
        return False
    sized = study.unit.adjacency != "replace-one" or checked.units == table.rows
    return sized and bool(study.discovery_delta) and any(isinstance(c, TextColumn) for c in table.columns)


def _with_keys(
    study: Study, table: Table, checked: TableCheck, engine: Engine, wanted: CheckOptions
) -> TableCheck:
    try:
        engine.prepare()
        columns = tuple(
            replace(one, keys=_keys(study, table, column, engine, wanted))
            if isinstance(column, TextColumn)
            else one
            for one, column in zip(checked.columns, table.columns, strict=True)
        )
    finally:
        engine.close()
    return replace(checked, columns=columns)


def _keys(
    study: Study, table: Table, column: TextColumn, engine: Engine, wanted: CheckOptions
) -> DiscoveryCheck | None:
    """Keys with at least as many units as the threshold: about half of those that just reach it are found."""
    query = Query(table, (("count", Count()),), by=(column,))
    try:
        plan = make_plan(study, query, Price("epsilon", wanted.epsilon), study.allowed)
    except CuratorError:  # at this price nothing can be planned: nothing is found
        return None
    assert plan.discovery is not None
    keys, ((units,),) = exact_integers(engine, [plan.discovery.counted.reading], groups=True)
    assert keys is not None
    threshold = plan.discovery.selection(1).threshold
    enough = sorted(
        (Seen(str(key[0]), number) for key, number in zip(keys, units, strict=True) if number >= threshold),
        key=lambda one: -one.rows,
    )
    shown = tuple(enough) if wanted.show_values else ()
    return DiscoveryCheck(float(wanted.epsilon), threshold, len(keys), len(enough), shown)
