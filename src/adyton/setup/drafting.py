"""The first draft of a study file, from names and types alone.

No value is read unless the owner says that the file is public; bounds and values may come from another file
that is.  The number of rows is read only where it is public by the owner's choice of neighbors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from adyton.certify import toml_text
from adyton.engines.loading.csv_lines import SEPARATORS
from adyton.engines.loading.sources import count_units, describe
from adyton.errors import InvalidRequest
from adyton.kernel.accounting import accounting_named
from adyton.kernel.exact import positive, rational
from adyton.kernel.privacy import Adjacency, Guarantee, PrivacyUnit
from adyton.query.description import DictionaryName
from adyton.query.text import fraction_text
from adyton.setup.public_profile import MOST_VALUES, ColumnProfile, public_profiles
from adyton.setup.which_accounting import choose_accounting
from adyton.study import FILL_IN, check_lines, check_size, needs_size

_NO_WORD = re.compile(r"\W")
_KINDS = (
    (re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?"), "integer"),
    (re.compile(r"DOUBLE|FLOAT|REAL|DECIMAL.*"), "real"),
    (re.compile(r"DATE|TIMESTAMP.*"), "date"),
    (re.compile(r"BOOLEAN"), "boolean"),
    (re.compile(r"VARCHAR|ENUM.*"), "category"),
)


@dataclass(frozen=True, slots=True)
class DraftOptions:
    """What the owner says on the command line; everything else is left to fill in."""

    epsilon: str
    delta: str
    adjacency: Adjacency = "replace-one"
    person: str | None = None
    rows_per_person: int = 1
    rows: int | None = None
    lines: int | None = None
    name: str | None = None
    accounting: str | None = None
    public: bool = False
    metadata: Path | None = None
    queries: int | None = None
    dictionary: DictionaryName = "schema"
    why: str = ""  # this filter, where the number of queries decided it

    def decided(self) -> DraftOptions:
        """With a filter: the one that is named, or the better one for that many queries."""
        budget = _guarantee(self)
        if self.queries is None or not budget.delta:
            return replace(self, accounting=self.accounting or ("gdp" if budget.delta else "pure"))
        unit = PrivacyUnit(self.adjacency, self.person, self.rows_per_person)
        choice = choose_accounting(budget, unit, self.queries)
        better = replace(self, accounting=self.accounting or choice.name, why=str(choice))
        needs = accounting_named(better.accounting or choice.name).per_rho is not None
        return better if needs else replace(better, delta="0")


@dataclass(frozen=True, slots=True)
class _Known:
    """What public files say about the columns, and the name of the file that says it."""

    profiles: dict[str, ColumnProfile]
    file: str | None = None

    def of(self, name: str) -> ColumnProfile | None:
        return self.profiles.get(name.casefold())


def draft_study(data: Path, wishes: DraftOptions, study_file: Path) -> str:
    """The text of a study file for ``data``, with FILL IN where the owner must decide."""
    wishes = wishes.decided()
    types = describe(data)
    if wishes.person is not None and wishes.person not in types:
        raise InvalidRequest(f"the data has no column {wishes.person!r}; it has: {', '.join(types)}")
    rows = _rows(data, wishes)
    _check_guarantee(wishes, rows)
    asked_for = {name: kind for name, kind in types.items() if name != wishes.person}
    known = _known(data, asked_for, wishes)
    columns = [_column(name, kind, known) for name, kind in asked_for.items()]
    open_values = any(f"values = {toml_text(FILL_IN)}" in column for column in columns)
    notes = [_METADATA_NOTE.format(known.file)] if known.file else []
    if data.suffix.lower() in SEPARATORS and not wishes.public:
        notes.append(_CSV_NOTE)
    sections = [_table(data, wishes, rows, study_file), _privacy(wishes, discovers_groups=open_values)]
    sections.append(_validity(wishes))
    return "\n".join([_PREFACE, *notes, *sections, *columns])


def _known(data: Path, columns: Iterable[str], wishes: DraftOptions) -> _Known:
    """Values are read here, and only from a file that the owner calls public."""
    if wishes.metadata is None:
        return _Known(_folded(public_profiles(data)) if wishes.public else {})
    if wishes.public:
        raise InvalidRequest("give either --public, if the data itself is public, or --metadata")
    if wishes.metadata.exists() and wishes.metadata.samefile(data):
        raise InvalidRequest("--metadata is the data itself; if all of it is public, say --public")
    profiles = _folded(public_profiles(wishes.metadata))
    if not any(name.casefold() in profiles for name in columns):
        raise InvalidRequest(
            f"no column of {wishes.metadata.name!r} is a column of the data, which has: {', '.join(columns)}"
        )
    return _Known(profiles, wishes.metadata.name)


def _folded(profiles: dict[str, ColumnProfile]) -> dict[str, ColumnProfile]:
    return {name.casefold(): profile for name, profile in profiles.items()}


_PREFACE = """\
# First delete the columns that no query needs: there is no query about a column that is not here.
#
# What everyone may know about this study.  Review it: every guarantee rests on it.
# Bounds and values must come from public knowledge, never from the data.  From the first answer on, the
# ledger beside this file belongs to exactly these facts.
"""


_CSV_NOTE = """\
# The data is CSV, and CSV is text: a column of which nothing is known begins as a category.  Where it holds
# numbers, days or booleans, set kind to "integer", "real", "date" or "boolean" and give its bounds.
"""


_METADATA_NOTE = """\
# Kinds, bounds and values of columns that are in {!r} were read there, because it is public.  The
# data may go further: what lies outside the bounds is clipped, and other values count as missing.
"""


def _table(data: Path, wishes: DraftOptions, rows: int | None, study_file: Path) -> str:
    lines = [
        "[table]",
        f"name = {toml_text(wishes.name or _NO_WORD.sub('_', data.stem))}",
        f"source = {toml_text(_relative(data, study_file))}  # as seen from this file",
    ]
    if wishes.adjacency == "replace-one":
        lines.append(f"rows = {rows}  # exact, and public under adjacency = 'replace-one'")
    elif rows is not None:
        units = "a public guess of the persons" if wishes.rows_per_person > 1 else "a public guess"
        also = "" if wishes.rows_per_person > 1 else " and to preview means"
        lines.append(f"rows = {rows}  # {units}; used for delta < 1/rows{also}")
    elif needs_size(_guarantee(wishes)):
        units = "rows" if wishes.person is None else "persons"
        lines.append(f"rows = {toml_text(FILL_IN)}  # {_ROWS_ADVICE.format(units, wishes.delta)}")
    else:
        lines.append("# rows = 10000  # a public guess, if you want to give one; needed for delta above 1e-8")
    if wishes.rows_per_person > 1:
        guess = wishes.lines if wishes.lines is not None else toml_text(FILL_IN)
        lines.append(f"lines = {guess}  # {_LINES_ADVICE.format(wishes.rows_per_person)}")
    if wishes.public:
        lines.append("values_from_rows = true  # bounds and lists below were taken from the rows")
    return "\n".join(lines) + "\n"


_ROWS_ADVICE = "a public guess of how many {} there are: delta = {} must be below 1/rows"
_LINES_ADVICE = "a public guess of how many rows count, at most {} of a person; or remove this line"


def _rows(data: Path, wishes: DraftOptions) -> int | None:
    """Counted only where the number is public: under ``replace-one``, or in a public file."""
    if wishes.rows is None and (wishes.adjacency == "replace-one" or wishes.public):
        return count_units(data, wishes.person)
    return wishes.rows


def _guarantee(wishes: DraftOptions) -> Guarantee:
    return Guarantee(positive(wishes.epsilon, "epsilon"), rational(wishes.delta, "delta"))


def _check_guarantee(wishes: DraftOptions, rows: int | None) -> None:
    """What the study would refuse later is refused now."""
    unit = PrivacyUnit(wishes.adjacency, wishes.person, wishes.rows_per_person)
    if rows is not None:  # where it is left to fill in, the study file's reader looks at it
        check_size(rows, unit, _guarantee(wishes))
    check_lines(wishes.lines, rows, unit.rows, "table")
    accounting_named(wishes.accounting or "gdp").allowed(_guarantee(wishes))


def _privacy(wishes: DraftOptions, *, discovers_groups: bool) -> str:
    budget = _guarantee(wishes)
    lines = ["[privacy]", *([f"# {wishes.why}"] if wishes.why else [])]
    if wishes.person is None:
        lines.append('unit = "row"  # or "person", with person = the column that identifies one')
    else:
        lines += [
            'unit = "person"',
            f"person = {toml_text(wishes.person)}",
            f"rows_per_person = {wishes.rows_per_person}",
        ]
    lines += [
        f'adjacency = "{wishes.adjacency}"  # "replace-one": size public; "add-remove": size private',
        f"epsilon = {fraction_text(budget.epsilon)}",
        f"delta = {_delta(budget.delta)}",
        f'accounting = "{wishes.accounting}"  # "gdp", "zcdp" or "pure" (delta = 0); fixed for ever',
    ]
    if discovers_groups and budget.delta:
        part = f"# discovery_delta = {_delta(budget.delta / 10)}"
        lines.append(f'{part}  # a part of delta; it finds the groups of columns with kind = "text"')
    return "\n".join(lines) + "\n"


_VALIDITY = """\
# [validity]  # if the units are independent draws from a population, answers can speak about it
# independent = true
# confidence = 0.95
"""
_DICTIONARY: dict[DictionaryName, str] = {
    "schema": "you assert: nothing in this file was chosen by looking at these rows",
    "universal": "this file may depend on the rows, so descriptions of queries spell it out",
}
_RESERVE = "# reserve = 0.2  # a share of the units that no query reads: for tests, see adyton reserve\n"


def _validity(wishes: DraftOptions) -> str:
    """All of it is the owner's to say: none of it is in force.  Rows that may be removed keep no position."""
    kept = wishes.person is not None or wishes.adjacency == "replace-one"
    stability = "# stability = 0.05  # the most that all answers together may use up\n"
    dictionary = f'# dictionary = "{wishes.dictionary}"  # {_DICTIONARY[wishes.dictionary]}\n'
    rule = accounting_named(wishes.accounting or "gdp")
    return _VALIDITY + dictionary + stability * rule.capped + _RESERVE * kept


def _column(name: str, kind_of_file: str, known: _Known) -> str:
    own = next((kind for pattern, kind in _KINDS if pattern.fullmatch(kind_of_file)), None)
    if own is None:
        return f"# column {name!r} has type {kind_of_file}, which cannot be queried\n"
    profile = known.of(name)
    kind = profile.kind if profile is not None and own == "category" else own  # any kind can be text
    found = _from_profile(profile, kind) if profile is not None else {}
    said = f"  # as in {known.file!r}" if known.file else ""
    lines = [f"[columns.{_key(name)}]", f'kind = "{kind}"']
    for key, advice in _ADVICE[kind]:
        if key in found:
            lines.append(f"{key} = {found[key]}{said}")
        else:
            many = key == "values" and profile is not None and profile.kind == "category"
            lines.append(f"{key} = {toml_text(FILL_IN)}  # {_TOO_MANY if many else advice}")
    if kind == "date" and kind_of_file.startswith("TIMESTAMP"):
        lines += [
            '# zone = "Europe/Berlin"  # days as in this zone; without it, of an instant the day in UTC',
            f"# [columns.{_key(f'{name}_hour')}]  # hours, 0 to 23, as a column of their own",
            f'# kind = "integer"\n# from = {toml_text(name)}\n# part = "hour"\n# zone = "Europe/Berlin"',
        ]
    if kind == "real":
        lines.append("# step = 0.01  # the step to which values are rounded; the default has at least 10,000")
    return "\n".join(lines) + "\n"


_ADVICE: dict[str, list[tuple[str, str]]] = {
    "integer": [("low", "smallest possible value"), ("high", "largest possible value")],
    "real": [("low", "smallest possible value"), ("high", "largest possible value")],
    "date": [("low", "first possible day, e.g. 1900-01-01"), ("high", "last possible day")],
    "category": [
        ("values", 'possible values, e.g. ["north", "south"]; or kind = "text" without values, if unknown')
    ],
    "boolean": [],
}
_TOO_MANY = f'more than {MOST_VALUES} values: list them, or write kind = "text" and no values'


def _from_profile(profile: ColumnProfile, kind: str) -> dict[str, str]:
    """Bounds and values as they are written in a study file; nothing where they say nothing."""
    if kind == "category":
        return {"values": toml_text(list(profile.values))} if profile.values else {}
    numbers = ("integer", "real")
    alike = kind == profile.kind or (kind in numbers and profile.kind in numbers)
    if not alike or profile.low is None or not profile.low < profile.high:
        return {}
    if kind == "date":
        return {"low": profile.low.isoformat(), "high": profile.high.isoformat()}
    return {"low": str(math.floor(profile.low)), "high": str(math.ceil(profile.high))}


def _relative(data: Path, study_file: Path) -> str:
    try:
        return data.resolve().relative_to(study_file.resolve().parent).as_posix()
    except ValueError:
        return str(data.resolve())


def _delta(delta: Fraction) -> str:
    return f"{float(delta):g}" if Fraction(f"{float(delta):g}") == delta else fraction_text(delta)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_text(name)
