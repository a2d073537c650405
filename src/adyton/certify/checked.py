"""What the owner of a study is told about its data: exact, not private, and never an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from adyton.documents import Document
from adyton.show import Sheet, Shown

FOR_THE_OWNER = "for the owner: not private"
CAUTION = (
    "Change only what public knowledge supports. A bound, a category or a number that is copied from here is "
    "not covered by the guarantee."
)

RESERVE = (
    "These counts are of all rows, the reserve too: whoever chooses what to test on it should not go by them."
)


@dataclass(frozen=True, slots=True)
class Seen(Document):
    """A value as it stands in the data, and how many rows have it."""

    value: str | None
    rows: int


@dataclass(frozen=True, slots=True)
class CheckFinding(Document):
    """Something that would surprise an analyst who believes the study file.

    ``kind`` is one word for programs; ``rows`` how many rows, persons or keys it is about.
    """

    table: str
    column: str | None
    kind: str
    rows: int | None
    text: str

    json_keys = "table column kind rows text caution"

    @property
    def caution(self) -> str:
        return CAUTION


@dataclass(frozen=True, slots=True)
class DiscoveryCheck(Document):
    """About how many groups of a text column a query of this price would discover: ``threshold`` units are
    needed.  ``keys`` are they, if the owner wants to see them.
    """

    epsilon: float
    threshold: int
    there: int
    found: int
    keys: tuple[Seen, ...] = ()

    json_keys = "epsilon threshold there found keys?"


@dataclass(frozen=True, slots=True)
class ColumnCheck(Document):
    """How many values of a column are missing, and how many are not what the study declares.

    ``almost_declared`` are undeclared values that differ from a declared one by capital letters or blanks
    around them only.  ``problem`` says why no value was looked at.  ``examples``: odd values by kind.
    """

    name: str
    kind: str
    missing: int = 0
    unparseable: int = 0
    undeclared: int = 0
    almost_declared: int = 0
    clipped_low: int = 0
    clipped_high: int = 0
    problem: str | None = None
    keys: DiscoveryCheck | None = None
    examples: Mapping[str, tuple[Seen, ...]] = field(default_factory=dict, hash=False)

    json_keys = (
        "name kind missing unparseable undeclared almost_declared clipped_low clipped_high problem "
        "discovered_groups=keys examples?"
    )


@dataclass(frozen=True, slots=True)
class TableCheck(Document):
    """The rows and units of a private table, and its columns.

    ``rows_cut`` are rows of persons beyond the most that count; ``most_rows`` is how many the largest has, if
    the owner wants to see it.  ``unreadable_lines`` are rows of a CSV file in which everything is missing
    because the line is no row: None where the data is no such file.
    """

    name: str
    rows: int
    columns: tuple[ColumnCheck, ...]
    units: int
    rows_of_nobody: int = 0
    persons_above: int = 0
    rows_cut: int = 0
    most_rows: int | None = None
    unreadable_lines: int | None = None

    json_keys = (
        "name rows units unreadable_lines rows_of_nobody persons_above rows_cut rows_that_count "
        "columns most_rows?"
    )

    @property
    def rows_that_count(self) -> int:
        return self.rows - self.rows_of_nobody - self.rows_cut


@dataclass(frozen=True, slots=True)
class StudyCheck(Shown, Document):
    """A study file beside its data, for the owner alone."""

    tables: tuple[TableCheck, ...]
    findings: tuple[CheckFinding, ...]
    reserve: bool = False  # whether the study keeps units from its queries, which are counted here
    suggestions: tuple[CheckFinding, ...] = ()  # what nobody needs to change, and an analyst would be glad of

    json_keys = "notice ok caution tables findings suggestions? reserve=reserve_note?"

    @property
    def ok(self) -> bool:
        return not self.findings

    @property
    def notice(self) -> str:
        return FOR_THE_OWNER

    @property
    def caution(self) -> str:
        return CAUTION

    @property
    def reserve_note(self) -> str | None:
        return RESERVE if self.reserve else None

    def sheet(self, verbose: bool = False) -> Sheet:
        headers = ("column", "declared", "missing", "unparsed", "undeclared", "below", "above")
        rows = tuple(self._row(table, column) for table in self.tables for column in table.columns)
        kept = (RESERVE,) if self.reserve else ()
        return Sheet(FOR_THE_OWNER, headers, rows, (*self._sizes(), *kept, *self._said()), left_aligned=2)

    def _row(self, table: TableCheck, column: ColumnCheck) -> tuple[str, ...]:
        name = column.name if len(self.tables) == 1 else f"{table.name}.{column.name}"
        if column.problem is not None:
            return (name, column.kind, *["?"] * 5)
        counts = ("missing", "unparseable", "undeclared", "clipped_low", "clipped_high")
        return (name, column.kind, *(f"{getattr(column, one):,}" for one in counts))

    def _sizes(self) -> tuple[str, ...]:
        found = []
        for table in self.tables:
            rows, units = f"{table.rows:,} rows", f"{table.units:,} units"
            found.append(f"{table.name}: {rows}, {units}; {table.rows_that_count:,} rows count.")
            found += [
                f"{table.name}.{column.name}: {keys.found:,} of {keys.there:,} groups would be discovered "
                f"for epsilon {keys.epsilon:g}: those of at least {keys.threshold:,} units."
                for column in table.columns
                if (keys := column.keys) is not None
            ]
        return tuple(found)

    def _said(self) -> tuple[str, ...]:
        suggested = tuple(f"Suggestion: {_named(one)}: {one.text}" for one in self.suggestions)
        if not self.findings:
            nothing = "Nothing here would surprise an analyst who believes the study file."
            return (nothing, *suggested, *([CAUTION] if suggested else []))
        listed = (f"- {_named(finding)}: {finding.text}" for finding in self.findings)
        return (*listed, *suggested, *self._values(), CAUTION)

    def _values(self) -> tuple[str, ...]:
        """Values, where the owner asked for them."""
        found = []
        for table in self.tables:
            if table.most_rows is not None:
                found.append(f"{table.name}: the person with the most rows has {table.most_rows:,}")
            for column in table.columns:
                keys = (
                    [("groups that would be discovered", column.keys.keys)] if column.keys is not None else []
                )
                found += [
                    f"{table.name}.{column.name}, {kind}: {', '.join(map(_example, some))}"
                    for kind, some in [*column.examples.items(), *keys]
                    if some
                ]
        return tuple(found)


def _named(finding: CheckFinding) -> str:
    return f"{finding.table}.{finding.column}" if finding.column is not None else finding.table


def _example(seen: Seen) -> str:
    return f"{'(not readable)' if seen.value is None else repr(seen.value)} ({seen.rows:,})"
