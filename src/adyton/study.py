"""The study file: public facts, written for people, reviewed by people, checked here.

Every error names the key and the fix, and all that is wrong is said at once.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from adyton.accounting import Filter, filter_named
from adyton.errors import InvalidRequest
from adyton.exact import positive, rational
from adyton.privacy import Guarantee, PrivacyUnit
from adyton.schema import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    RealColumn,
    Table,
    TextColumn,
)
from adyton.validity.unequal import split_width

FILL_IN = "FILL IN"
# Where nobody says how many rows there are, delta must be small enough for a hundred million.
_ROWS_WHERE_PRIVATE = 10**8
_STEPS_OF_DEFAULT_GRAIN = 10_000
_T = TypeVar("_T")

_COLUMN_KEYS: dict[str, tuple[str, ...]] = {
    "integer": ("low", "high"),
    "real": ("low", "high", "grain"),
    "date": ("low", "high"),
    "category": ("values",),
    "boolean": (),
    "text": (),
}


@dataclass(frozen=True, slots=True)
class Validity:
    """What the population intervals of a study rest on, fixed before the first question.

    Either a cap on what all questions together may spend of stability (mu0), or how many questions there will
    be and the tolerance for each.  Beyond it a question is refused, or answered without the interval.
    """

    confidence: Fraction
    stability: Fraction | None = None
    questions: int | None = None
    tolerance: Fraction | None = None
    beyond: Literal["refuse", "answer"] = "refuse"

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise InvalidRequest("validity.confidence must be above 0 and below 1, e.g. 0.95")
        if (self.stability is None) == (self.tolerance is None):
            raise InvalidRequest(
                "give either validity.stability, or validity.tolerance and validity.questions"
            )
        if self.tolerance is not None and self.questions is None:
            raise InvalidRequest("validity.tolerance needs validity.questions")


@dataclass(frozen=True, slots=True)
class Study:
    """What may be asked of which table, and how much may ever be learned about one unit of it."""

    table: Table
    unit: PrivacyUnit
    limit: Guarantee
    filter_name: str = "gdp"
    source: Path | str | None = None  # a file, or the address of a table in a database
    ledger: Path | None = None
    validity: Validity | None = None
    keys_delta: Fraction = Fraction(0)  # the part of delta that finding undeclared keys may use

    def __post_init__(self) -> None:
        check_size(self.table.rows, self.unit, self.limit)
        if not 0 <= self.keys_delta <= self.limit.delta:
            raise InvalidRequest("privacy.keys_delta is a part of privacy.delta: at least 0, at most delta")
        if self.allowed < 1:
            raise InvalidRequest("privacy.epsilon is too small: nothing could ever be asked")

    @property
    def noise_delta(self) -> Fraction:
        """The part of delta that noise may use."""
        return self.limit.delta - self.keys_delta

    @property
    def allowed(self) -> int:
        """All that may ever be spent, in whole units."""
        return self.units_for(self.limit.epsilon)

    def units_for(self, epsilon: Fraction) -> int:
        """What a release with this epsilon of its own may spend."""
        return self.filter.allowed(Guarantee(epsilon, self.noise_delta))

    def epsilon_of(self, units: int) -> float:
        """The epsilon that is promised once these units are spent, rounded up."""
        return self.filter.epsilon(units, self.noise_delta) if units else 0.0

    @property
    def filter(self) -> Filter:
        return filter_named(self.filter_name)

    @property
    def fingerprint(self) -> str:
        """A digest of all that gives the ledger its meaning.  Where the data lies is not part of it."""
        facts = [
            [self.table.name, self.table.rows, [_column_facts(column) for column in self.table.columns]],
            [self.unit.neighbours, self.unit.person, self.unit.rows],
            [str(self.limit.epsilon), str(self.limit.delta), self.filter_name],
        ]
        if self.validity is not None:
            v = self.validity
            facts.append([str(v.confidence), str(v.stability), v.questions, str(v.tolerance), v.beyond])
        if self.keys_delta:
            facts.append(["keys_delta", str(self.keys_delta)])
        return hashlib.sha256(json.dumps(["study", 1, facts]).encode()).hexdigest()


def check_size(rows: int | None, unit: PrivacyUnit, limit: Guarantee) -> None:
    """Refuses a delta that would allow whole rows to be published."""
    if unit.neighbours == "replace" and rows is None:
        raise InvalidRequest(
            "table.rows is missing: under neighbours = 'replace' the number of rows is public"
        )
    if rows is not None and rows < 1:
        raise InvalidRequest(f"table.rows must be at least 1, not {rows}")
    assumed = rows if rows is not None else _ROWS_WHERE_PRIVATE
    if limit.delta * assumed >= 1:
        how = (
            f"1/rows = 1/{rows}"
            if rows is not None
            else "1e-8 unless table.rows says how many rows there are"
        )
        raise InvalidRequest(
            f"privacy.delta = {float(limit.delta):g} must be below {how}: a larger delta would allow "
            "whole rows to be published"
        )


def read_study(path: str | Path) -> Study:
    """The study in a file; InvalidRequest lists everything that is wrong with it."""
    path = Path(path)
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except FileNotFoundError:
        raise InvalidRequest(
            f"there is no study file {path.name!r}; make one with: adyton init DATA"
        ) from None
    except (OSError, UnicodeDecodeError):
        raise InvalidRequest(f"the study file {path.name!r} cannot be read") from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidRequest(f"the study file {path.name!r} is not valid TOML: {error}") from None
    return parse_study(raw, path)


def parse_study(raw: dict[str, Any], path: Path) -> Study:
    notes = _Notes(path.name)
    notes.check_keys(raw, "", ("table", "privacy", "columns", "validity"))
    table = notes.section(raw, "table", ("name", "source", "rows"))
    privacy = notes.section(
        raw,
        "privacy",
        ("unit", "person", "rows_per_person", "neighbours", "epsilon", "delta", "keys_delta", "filter"),
    )
    columns = notes.section(raw, "columns", None)
    unit = notes.attempt(lambda: _unit(privacy))
    limit = notes.attempt(lambda: _guarantee(privacy))
    parsed: list[Column | None] = [
        notes.attempt(partial(_column, name, raw, notes)) for name, raw in columns.items()
    ]
    rows = notes.attempt(lambda: _whole(table["rows"], "table.rows") if "rows" in table else None)
    name = notes.attempt(lambda: _text(table, "table", "name", "the name used after FROM in a question"))
    source = notes.attempt(
        lambda: _text(table, "table", "source", "the path of the data file, or its address")
    )
    validity = notes.attempt(lambda: _validity(raw, rows, notes)) if "validity" in raw else None
    if not columns:
        notes.add("columns: declare at least one column, e.g. [columns.age]")
    notes.stop_if_any()
    return notes.final(
        lambda: Study(
            Table(
                _known(name),
                tuple(column for column in parsed if column is not None),
                rows,
                _known(unit).person,
            ),
            _known(unit),
            _known(limit),
            _choice(privacy.get("filter", "gdp"), "privacy.filter", ("gdp", "zcdp", "pure")),
            _known(source) if "://" in _known(source) else path.parent / _known(source),
            path.with_suffix(".ledger"),
            validity,
            rational(privacy.get("keys_delta", 0), "privacy.keys_delta"),
        )
    )


class _Notes:
    """Collects what is wrong, so that an owner sees all of it at once."""

    def __init__(self, file: str) -> None:
        self._file, self._wrong = file, list[str]()

    def add(self, message: str) -> None:
        self._wrong.append(message)

    def attempt(self, make: Callable[[], _T]) -> _T | None:
        try:
            return make()
        except InvalidRequest as error:
            self.add(error.message)
            return None

    def final(self, make: Callable[[], _T]) -> _T:
        made = self.attempt(make)
        self.stop_if_any()
        return _known(made)

    def stop_if_any(self) -> None:
        if self._wrong:
            listed = (
                "; ".join(self._wrong)
                if len(self._wrong) == 1
                else "".join(f"\n  - {w}" for w in self._wrong)
            )
            raise InvalidRequest(f"{self._file}: {listed}")

    def section(self, raw: dict[str, Any], name: str, keys: tuple[str, ...] | None) -> dict[str, Any]:
        found = raw.get(name)
        if not isinstance(found, dict):
            self.add(f"the section [{name}] is missing")
            return {}
        if keys is not None:
            self.check_keys(found, f"{name}.", keys)
        return found

    def check_keys(self, found: dict[str, Any], prefix: str, known: tuple[str, ...]) -> None:
        for key in found:
            if key not in known:
                close = get_close_matches(key, known, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known) or 'none'}"
                self.add(f"unknown key {prefix}{key}; {hint}")


def _known(value: _T | None) -> _T:
    """``value``, which is missing only if something wrong was noted before."""
    assert value is not None
    return value


def _column_facts(column: Column) -> list[object]:
    match column:
        case CategoryColumn(name, values):
            return [column.kind, name, list(values)]
        case BooleanColumn(name) | TextColumn(name):
            return [column.kind, name]
        case _:
            lattice = column.lattice
            return [column.kind, column.name, str(lattice.grain), lattice.low, lattice.high]


def _unit(privacy: dict[str, Any]) -> PrivacyUnit:
    neighbours = _choice(privacy.get("neighbours"), "privacy.neighbours", ("replace", "add-or-remove"))
    kind = _choice(privacy.get("unit"), "privacy.unit", ("row", "person"))
    if kind == "row":
        for key in ("person", "rows_per_person"):
            if key in privacy:
                raise InvalidRequest(f"privacy.{key} goes with unit = 'person'; remove it or change the unit")
        return PrivacyUnit(neighbours)
    person = _text(privacy, "privacy", "person", "the column that identifies a person")
    return PrivacyUnit(
        neighbours, person, _whole(privacy.get("rows_per_person", 1), "privacy.rows_per_person")
    )


def _guarantee(privacy: dict[str, Any]) -> Guarantee:
    missing = " and ".join(f"privacy.{key}" for key in ("epsilon", "delta") if key not in privacy)
    if missing:
        raise InvalidRequest(f"{missing}: missing; the most that may ever be learned about one unit")
    epsilon = positive(privacy["epsilon"], "privacy.epsilon")
    return Guarantee(epsilon, rational(privacy["delta"], "privacy.delta"))


_VALIDITY_KEYS = ("independent", "confidence", "stability", "questions", "tolerance", "beyond")


def _validity(raw: dict[str, Any], rows: int | None, notes: _Notes) -> Validity | None:
    section = notes.section(raw, "validity", _VALIDITY_KEYS)
    if section.get("independent") is not True:
        raise InvalidRequest(
            "validity.independent must be true: the units are independent draws from the population; "
            "if they are not, remove the section, and answers will say nothing about a population"
        )
    confidence = rational(section.get("confidence", Decimal("0.95")), "validity.confidence")
    if not 0 < confidence < 1:
        raise InvalidRequest("validity.confidence must be above 0 and below 1, e.g. 0.95")
    questions = _whole(section["questions"], "validity.questions") if "questions" in section else None
    if questions is not None and questions < 1:
        raise InvalidRequest("validity.questions must be at least 1")
    beyond = _choice(section.get("beyond", "refuse"), "validity.beyond", ("refuse", "answer"))
    if ("stability" in section) == ("tolerance" in section):
        raise InvalidRequest("give either validity.stability, or validity.tolerance and validity.questions")
    if "tolerance" in section:
        tolerance = positive(section["tolerance"], "validity.tolerance")
        if questions is None or rows is None:
            raise InvalidRequest("validity.tolerance needs validity.questions and table.rows")
        _check_tolerance(rows, questions, tolerance, confidence)
        return Validity(confidence, None, questions, tolerance, beyond)
    stability = positive(section["stability"], "validity.stability")
    if stability > 1:
        raise InvalidRequest("validity.stability above 1 certifies nothing; below 0.1 is useful")
    return Validity(confidence, stability, questions, None, beyond)


def _check_tolerance(rows: int, questions: int, tolerance: Fraction, confidence: Fraction) -> None:
    best = split_width(rows, questions, 1 - confidence).tolerance
    if best > tolerance:
        raise InvalidRequest(
            f"{rows} rows certify {questions} adaptive questions within {best:.4g}, not within "
            f"{float(tolerance):g}: ask fewer questions or allow a wider tolerance (see adyton plan)"
        )


def _column(name: str, raw: Any, notes: _Notes) -> Column:
    where = f"columns.{name}"
    if not isinstance(raw, dict):
        raise InvalidRequest(f"{where} must be a section: [{where}]")
    kind = _choice(raw.get("kind"), f"{where}.kind", tuple(_COLUMN_KEYS))
    notes.check_keys(raw, f"{where}.", ("kind", *_COLUMN_KEYS[kind]))
    missing = [k for k in _COLUMN_KEYS[kind] if raw.get(k) == FILL_IN or (k not in raw and k != "grain")]
    if missing:
        listed = " and ".join(f"{where}.{key}" for key in missing)
        raise InvalidRequest(f"{listed}: not filled in; {_WHAT_TO_WRITE[missing[0]]}")
    match kind:
        case "integer":
            return IntegerColumn(
                name, _whole(raw["low"], f"{where}.low"), _whole(raw["high"], f"{where}.high")
            )
        case "real":
            low, high = (rational(raw[key], f"{where}.{key}") for key in ("low", "high"))
            grain = (
                positive(raw["grain"], f"{where}.grain")
                if "grain" in raw
                else _default_grain(name, low, high)
            )
            return RealColumn(name, low, high, grain)
        case "date":
            return DateColumn(name, _date(raw["low"], f"{where}.low"), _date(raw["high"], f"{where}.high"))
        case "category":
            if not isinstance(raw["values"], list):
                raise InvalidRequest(f'{where}.values must be a list, e.g. ["north", "south"]')
            return CategoryColumn(name, tuple(raw["values"]))
        case "text":
            return TextColumn(name)
        case _:
            return BooleanColumn(name)


_WHAT_TO_WRITE = {
    "low": "write the least and the greatest possible value, from public knowledge, not from the data",
    "high": "write the greatest possible value, from public knowledge, not from the data",
    "grain": "write the step to which values are rounded, or leave the key out",
    "values": 'list the values the column may take, e.g. values = ["north", "south"]; others are missing',
}


def _default_grain(name: str, low: Fraction, high: Fraction) -> Fraction:
    """The largest power of ten that divides the bounds and leaves at least ten thousand steps."""
    if not low < high:
        raise InvalidRequest(f"columns.{name}: low must be below high")
    grain = Fraction(10) ** 40
    while (
        grain * _STEPS_OF_DEFAULT_GRAIN > high - low
        or (low / grain).denominator * (high / grain).denominator > 1
    ):
        grain /= 10
    return grain


def _choice(value: Any, where: str, known: tuple[str, ...]) -> Any:
    if value not in known:
        said = "is missing" if value is None else f"must not be {value!r}"
        raise InvalidRequest(f"{where} {said}; write one of: {', '.join(known)}")
    return value


def _text(section: dict[str, Any], where: str, key: str, meaning: str) -> str:
    value = section.get(key)
    if not isinstance(value, str) or not value:
        raise InvalidRequest(f"{where}.{key} is missing: {meaning}")
    return value


def _whole(value: Any, where: str) -> int:
    if type(value) is not int:
        raise InvalidRequest(f"{where} must be a whole number, not {value!r}")
    return value


def _date(value: Any, where: str) -> datetime.date:
    if type(value) is datetime.date:
        return value
    raise InvalidRequest(f"{where} must be a date without quotes, e.g. 1990-12-31")
