"""An answer, read back from its JSON.

Numbers are those that were written.  A date is the day that was shown, its ends already rounded outwards.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from adyton.certify.answer import Amount, RoundedGuarantee
from adyton.certify.rows import NOTHING_KNOWN, Intervals, KeyColumn, KeyedRows, KnownRange, RowKeys, Values
from adyton.certify.values import (
    Absent,
    Certificate,
    Chosen,
    DiscoveryResult,
    Proof,
    Way,
    day_from,
    ends_from,
)
from adyton.kernel.accounting.noisy_reading import LEVEL

Told = Mapping[str, Any]
_NO_RECEIPT = Proof(0, "", "")
_NOWHERE = (math.nan, math.nan)


def answer_facts(told: Told) -> dict[str, Any]:
    """The fields of an answer, by their names."""
    known = {one["name"]: KnownRange.from_json(one) for one in told.get("known", ())}
    paid = told["receipt"] or told.get("derived_from")
    return {
        "query": told["query"],
        "rows": _rows(told, known),
        "cost": Amount.from_json(told["cost"]),
        "spent": Amount.from_json(told["spent"]),
        "left": Amount.from_json(told["left"], is_left=True),
        "budget": RoundedGuarantee.from_json(told["budget"]),
        "more": told["more"],
        "receipt": Proof.from_json(paid) if paid else _NO_RECEIPT,
        "certificate": Certificate.from_json(told["certificate"]),
        "repeated": told["repeated"],
        "discovered_groups": DiscoveryResult.from_json(told["discovered_groups"])
        if "discovered_groups" in told
        else None,
        "rows_hidden": told.get("rows_hidden", 0),
        "batch_size": told.get("batch_size", 1),
        "known": known,
        "left_out_rows": told.get("left_out_rows"),
        "hidden": tuple(told.get("hidden", ())),
        "remarks": tuple(told.get("remarks", ())),
        "rows_planned": told.get("rows_planned"),
        "widths_named": dict(told.get("widths_named", {})),
        "free": told.get("free"),
        "chosen": Chosen.from_json(told["chosen"]) if "chosen" in told else None,
    }


def keys_from(keys: Sequence[Mapping[str, Any]], names: Sequence[str] = ()) -> RowKeys:
    """The groups of rows, as columns; ``names`` are those of the columns where there are no rows."""
    columns = {name: _key_column([key[name] for key in keys]) for name in (keys[0] if keys else names)}
    return RowKeys(columns, len(keys))


def _key_column(labels: Sequence[Any]) -> KeyColumn:
    """True and 1 are equal, and two labels all the same."""
    place = {(type(label), label): label for label in labels}
    code = {typed: number for number, typed in enumerate(place)}
    codes = np.fromiter((code[type(label), label] for label in labels), np.int32, len(labels))
    return KeyColumn(tuple(place.values()), codes)


def _rows(told: Told, known: Mapping[str, KnownRange]) -> KeyedRows:
    rows, ways = told["answer"], told.get("ways", {})
    if not rows:
        names = told["columns"]
        nothing = {name: _no_values(name in names["population"], ways.get(name)) for name in names["values"]}
        return KeyedRows(keys_from((), names["keys"]), nothing)
    values = {
        name: _values([row["values"][name] for row in rows], known.get(name, NOTHING_KNOWN), ways.get(name))
        for name in rows[0]["values"]
    }
    return KeyedRows(keys_from([row["keys"] for row in rows]), values)


def _no_values(has_population: bool, way: Way | None) -> Values:
    nothing = np.zeros(0)
    none = Intervals(LEVEL, nothing, nothing)
    return Values(nothing, none, replace(none, way=way) if has_population else Absent("no rows"))


def _values(cells: Sequence[Told], known: KnownRange, way: Way | None) -> Values:
    if known.day:
        cells = [_in_numbers(cell) for cell in cells]
    value = np.array([math.nan if one["value"] is None else one["value"] for one in cells], float)
    noise, wide = ([cell[f"{which}_interval"] for cell in cells] for which in ("noise", "population"))
    population = _population(wide)
    if isinstance(population, Intervals):
        population = replace(population, way=way)
    return Values(value, _intervals(noise), population)


def _population(cells: Sequence[Told]) -> Intervals | Absent:
    reasons: set[Any] = {cell.get("absent") for cell in cells}
    return _intervals(cells) if None in reasons or len(reasons) > 1 else Absent(reasons.pop())


def _intervals(cells: Sequence[Told]) -> Intervals:
    absent = [Absent(cell["absent"]) if "absent" in cell else None for cell in cells]
    ends = np.array([_NOWHERE if "absent" in cell else ends_from(cell) for cell in cells], float)
    level = next((cell["level"] for cell in cells if "level" in cell), 0.0)
    why_none = np.array(absent, object) if any(absent) else None
    return Intervals(level, ends[:, 0].copy(), ends[:, 1].copy(), why_none)


def _in_numbers(cell: Told) -> dict[str, Any]:
    """Days from 1970-01-01 on, in place of dates."""
    told = {**cell, "value": _day(cell["value"])}
    for kind in ("noise_interval", "population_interval"):
        if "low" in (ends := cell[kind]):
            told[kind] = {**ends, "low": _day(ends["low"]), "high": _day(ends["high"])}
    return told


def _day(text: str | None) -> int | None:
    return None if text is None else day_from(text)
