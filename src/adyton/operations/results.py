"""Results that are JSON and nothing more, as every surface shows them: a table of what they hold."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

from adyton.show import Sheet, Shown, in_short


class JsonResult(Shown):
    """A JSON object or a list, which prints as a table; ``like`` prints better, where that is known."""

    def __init__(self, told: Any, like: Shown | None = None) -> None:
        self._told, self._like = told, like

    def to_json(self) -> Any:
        """The object, as plain Python values."""
        return self._told

    @classmethod
    def from_json(cls, told: Any) -> Self:
        return cls(told)

    def sheet(self, verbose: bool = False) -> Sheet:
        """Names and values; of a list with objects a row for each."""
        if self._like is not None:
            return self._like.sheet(verbose=verbose)
        told = self._told
        if isinstance(told, Mapping) and len(told) == 1 and isinstance(next(iter(told.values())), list):
            ((_, told),) = told.items()
        if isinstance(told, list):
            headers = tuple(told[0]) if told and isinstance(told[0], Mapping) else ("",)
            rows = tuple(tuple(_text(value) for value in _values(one)) for one in told)
            return Sheet("", headers, rows, () if rows else ("There are none.",), left_aligned=1)
        pairs = tuple((name.replace("_", " "), _text(value)) for name, value in told.items())
        return Sheet("", ("", ""), pairs, left_aligned=2)


class PublicFacts(JsonResult):
    """The public facts of a study or a holdout."""

    def sheet(self, verbose: bool = False) -> Sheet:
        """Of a study a row for each column."""
        told = self._told
        if "tables" not in told:
            return super().sheet(verbose=verbose)
        rows = tuple(
            (table["name"], column["name"], column["kind"], _declared(column))
            for table in told["tables"]
            for column in table["columns"]
        )
        budget = told["budget"]
        notes = (f"The guarantee: epsilon {budget['epsilon']:g}, delta {budget['delta']:g}.", told["grammar"])
        return Sheet(
            f"Study {told['name']}", ("table", "column", "kind", "values"), rows, notes, left_aligned=4
        )


class ReceiptTable(JsonResult):
    """Receipts as a server sends them, or those of a holdout."""

    def sheet(self, verbose: bool = False) -> Sheet:
        """Those that may be read whole."""
        rows = tuple(
            (
                str(one["number"]),
                one["asked_at"][:16].replace("T", " "),
                in_short(one["query"]),
                one["digest"][:12],
            )
            for one in self._told["receipts"]
        )
        headers = ("number", "asked at", "query", "digest")
        return Sheet("Receipts", headers, rows, () if rows else ("There are none.",), left_aligned=4)


def printable(made: Any) -> Any:
    """Any result, so that it prints and has JSON."""
    if hasattr(made, "to_json"):
        return made
    return JsonResult([one.to_json() if hasattr(one, "to_json") else one for one in made])


def _values(one: Any) -> Sequence[Any]:
    return list(one.values()) if isinstance(one, Mapping) else [one]


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _declared(column: Mapping[str, Any]) -> str:
    if "values" in column:
        return in_short(", ".join(map(str, column["values"])))
    return f"{column['low']} to {column['high']}" if "low" in column else ""
