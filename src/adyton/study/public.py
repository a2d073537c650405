"""Public tables: a file becomes a dimension of the private table that it is joined to.

Kinds are inferred, because the file is public; a section ``[public.NAME.columns.COLUMN]`` overrides one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce
from pathlib import Path
from typing import Any

from adyton.errors import InvalidRequest
from adyton.kernel.exact import positive
from adyton.kernel.schema import (
    LARGEST_COLUMN_VALUE,
    Attribute,
    BooleanColumn,
    CategoryColumn,
    Dimension,
    IntegerColumn,
    RealColumn,
    Table,
    common_step,
)
from adyton.study.notes import Notes, choice, text_at
from adyton.study.public_file import PublicFile, Raw, read_public_file

_KINDS = ("category", "integer", "real", "boolean")
_WHOLE = re.compile(r"-?(0|[1-9](?a:\d){0,17})")
_NUMBER = re.compile(r"[+-]?((0|[1-9](?a:\d)*)(\.(?a:\d)*)?|\.(?a:\d)+)([eE][+-]?(?a:\d{1,2}))?")
_TRUTHS = {"true": True, "false": False}
_MORE_TRUTHS = {"t": True, "yes": True, "y": True, "1": True, "f": False, "no": False, "n": False, "0": False}


@dataclass(frozen=True, slots=True)
class PublicTable:
    """A section ``[public.NAME]`` and its file, before it is known which private values its keys are."""

    name: str
    key: str
    joins: str  # a column of the study's table, or table.column
    file: PublicFile
    kinds: dict[str, tuple[str, Fraction | None]]  # what the owner says: kind and step

    @property
    def keys(self) -> tuple[str, ...] | tuple[int, ...]:
        """All keys: whole numbers if every one is written as such, else texts."""
        found = self.file.column(self.key)
        numbers = [_as_whole(key) for key in found]
        if all(number is not None for number in numbers):
            return tuple(number for number in numbers if number is not None)
        return tuple(map(str, found))

    def dimension(self, table: Table) -> Dimension:
        """What the file says about the declared values of the column that it joins."""
        column = table.column(self.joins.rpartition(".")[2])
        where = f"public.{self.name}"
        if not isinstance(column, CategoryColumn):
            raise InvalidRequest(
                f"{where}.joins: {column.name!r} is {column.kind}; a public table is joined to a category "
                f'(declare it with values_from = "{self.name}")'
            )
        numeric = isinstance(column.values[0], int)
        read: Callable[[Raw], str | int | None] = _as_whole if numeric else str
        places = {read(raw): i for i, raw in enumerate(self.file.column(self.key))}
        kept = [value for value in column.values if value in places]
        if not kept:
            raise InvalidRequest(f"{where}: no key of the file is a declared value of columns.{column.name}")
        present, unusable = self._attributes([places[value] for value in kept])
        left_out = len(places) - len(kept)
        return Dimension(self.name, self.key, column.name, tuple(kept), present, unusable, left_out)  # type: ignore[arg-type]

    def _attributes(self, rows: list[int]) -> tuple[tuple[Attribute, ...], tuple[tuple[str, str], ...]]:
        """What the file says, and the columns that nobody can use, with the reason.

        Where the owner declared a kind, what does not fit is an error, and all of them are said at once.
        """
        present: list[Attribute] = []
        unusable: list[tuple[str, str]] = []
        wrong: list[tuple[str, str]] = []
        for name, values in self.file.columns.items():
            if name == self.key:
                continue
            try:
                made = self._attribute(name, [values[i] for i in rows])
            except InvalidRequest as error:
                (wrong if name in self.kinds else unusable).append((name, error.message))
            else:
                present += [made] if made is not None else []
        if wrong:
            raise InvalidRequest("\n  - ".join(message for _, message in wrong))
        return tuple(present), tuple(unusable)

    def _attribute(self, name: str, raw: list[Raw]) -> Attribute | None:
        where = f"public.{self.name}.columns.{name}"
        kind, step = self.kinds.get(name, (None, None))
        if all(value is None for value in raw):
            return None
        if kind is not None:
            return _MAKERS[kind](name, raw, step, where)
        whole = all(value is None or _as_whole(value) is not None for value in raw)
        for maker in (_boolean, _integer if whole else _real):
            try:
                return maker(name, raw, step, where)
            except _OtherKind:
                continue
        return _category(name, raw, step, where)


def read_public(name: str, raw: Any, folder: Path, notes: Notes) -> PublicTable:
    where = f"public.{name}"
    if not isinstance(raw, dict):
        raise InvalidRequest(f"{where} must be a section: [{where}]")
    notes.check_keys(raw, f"{where}.", ("source", "key", "joins", "columns"))
    key = text_at(raw, where, "key", "the column of the file whose values are joined; each occurs once")
    source = text_at(raw, where, "source", "the path of the public file")
    joins = text_at(raw, where, "joins", "a column of the private table") if "joins" in raw else key
    file = read_public_file(folder / source, where)
    _check_keys(file, key)
    sections = raw.get("columns", {})
    if not isinstance(sections, dict):
        raise InvalidRequest(f"{where}.columns holds sections: [{where}.columns.NAME]")
    kinds = {
        column: notes.attempt(partial(_kind, file, column, section, notes))
        for column, section in sections.items()
    }
    known = {column: kind for column, kind in kinds.items() if kind is not None}
    return PublicTable(name, key, joins, file, known)


def _check_keys(file: PublicFile, key: str) -> None:
    seen: set[str] = set()
    for row, value in enumerate(file.column(key), start=1):
        if value is None:
            raise InvalidRequest(f"{file.where}: row {row} has no {key!r}, which is the key")
        if str(value) in seen:
            raise InvalidRequest(f"{file.where}: the key {value!r:.60} occurs twice; a key occurs once")
        seen.add(str(value))
    if not seen:
        raise InvalidRequest(f"{file.where}: the file has no rows")


def _kind(file: PublicFile, name: str, raw: Any, notes: Notes) -> tuple[str, Fraction | None]:
    where = f"{file.where}.columns.{name}"
    file.column(name)
    if not isinstance(raw, dict):
        raise InvalidRequest(f"{where} must be a section: [{where}]")
    kind = choice(raw.get("kind"), f"{where}.kind", _KINDS)
    notes.check_keys(raw, f"{where}.", ("kind", "step") if kind == "real" else ("kind",))
    return kind, positive(raw["step"], f"{where}.step") if "step" in raw else None


# Kinds ------------------------------------------------------------------------------------------------------


class _OtherKind(InvalidRequest):
    """The values are not of this kind."""


def _boolean(name: str, raw: list[Raw], _step: Fraction | None, where: str) -> Attribute:
    return _truths(name, raw, _TRUTHS, where)


def _any_boolean(name: str, raw: list[Raw], _step: Fraction | None, where: str) -> Attribute:
    return _truths(name, raw, {**_TRUTHS, **_MORE_TRUTHS}, where)


def _truths(name: str, raw: list[Raw], words: dict[str, bool], where: str) -> Attribute:
    found: list[bool | None] = []
    for value in raw:
        said = value if isinstance(value, bool) else words.get(str(value).casefold())
        if value is not None and said is None:
            raise _OtherKind(f"{where}: {value!r:.60} is not true or false")
        found.append(None if value is None else said)
    return Attribute(BooleanColumn(name), tuple(found))


def _integer(name: str, raw: list[Raw], _step: Fraction | None, where: str) -> Attribute:
    wholes: list[int | None] = []
    for value in raw:
        wholes.append(_as_whole(value))
        if value is not None and wholes[-1] is None:
            raise _OtherKind(f"{where}: {value!r:.60} is not a whole number")
    low, high = _ends(wholes, where)
    if max(abs(low), abs(high)) > LARGEST_COLUMN_VALUE:
        raise _OtherKind(f"{where}: a number has at most 2**53 steps; use a category")
    return Attribute(IntegerColumn(name, low, high), tuple(wholes))


def _real(name: str, raw: list[Raw], step: Fraction | None, where: str) -> Attribute:
    numbers = [_as_number(value, where) for value in raw]
    known = [number for number in numbers if number is not None]
    step = step or reduce(common_step, (number for number in known if number), Fraction(1))
    steps = [None if number is None else round(number / step) for number in numbers]
    low, high = _ends(steps, where)
    if max(abs(low), abs(high)) > LARGEST_COLUMN_VALUE:
        raise InvalidRequest(f"{where}: the numbers have too many digits; give a step")
    return Attribute(RealColumn(name, low * step, high * step, step), tuple(steps))


def _category(name: str, raw: list[Raw], _step: Fraction | None, where: str) -> Attribute:
    wholes = [_as_whole(value) for value in raw]
    numeric = all(whole is not None for whole, value in zip(wholes, raw, strict=True) if value is not None)
    values: list[Any] = wholes if numeric else [None if v is None else _text(v) for v in raw]
    known = tuple(dict.fromkeys(value for value in values if value is not None))
    return Attribute(CategoryColumn(name, known), tuple(values))


_MAKERS: dict[str, Callable[[str, list[Raw], Fraction | None, str], Attribute]] = {
    "category": _category,
    "integer": _integer,
    "real": _real,
    "boolean": _any_boolean,
}


def _as_whole(value: Raw) -> int | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return value
    return int(value) if _WHOLE.fullmatch(str(value)) else None


def _as_number(value: Raw, where: str) -> Fraction | None:
    if value is None:
        return None
    if isinstance(value, bool) or not (isinstance(value, int) or _NUMBER.fullmatch(str(value))):
        raise _OtherKind(f"{where}: {value!r:.60} is not a number")
    return Fraction(str(value))


def _ends(steps: list[int | None], where: str) -> tuple[int, int]:
    known = [step for step in steps if step is not None]
    low, high = min(known), max(known)
    if low == high:
        raise _OtherKind(f"{where}: a number needs two different values; use a category")
    return low, high


def _text(value: Raw) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
