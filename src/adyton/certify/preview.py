"""What an answer would cost, before anything is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adyton.certify.advice import Cheaper
from adyton.certify.answer import Amount, AmountLeft, RoundedGuarantee, verbose_notes, ways_notes
from adyton.certify.later import AnswerBits, Later
from adyton.certify.rows import RowKeys
from adyton.certify.values import Absent, Bound, Certificate, Chosen, DiscoveryPreview, Way
from adyton.documents import Document
from adyton.refusals import widths_text
from adyton.show import Sheet, Shown, in_short, number

_PARTS = "It is {} queries in one batch, and one table; each width is that of the widest of them."


@dataclass(frozen=True, slots=True)
class Step(Document):
    """One mechanism of a plan, explained: what is read, how far one unit moves it, and the noise."""

    value: str
    mechanism: str
    scales: tuple[float, ...]
    sensitivity: float
    cost: Amount


@dataclass(frozen=True, slots=True)
class PlannedValue(Document):
    """How wide the intervals of a value will be."""

    noise_interval: Bound
    population_interval: Bound | Absent


@dataclass(frozen=True, slots=True)
class PlannedRow(Document):
    """A group that an answer will have."""

    keys: Mapping[str, str | int | float | bool | None]
    values: Mapping[str, PlannedValue]


@dataclass(frozen=True, slots=True)
class Preview(Shown, Document):
    """What an answer would cost and how wide its intervals would be.  Nothing was read or charged.

    ``more``: how many charges of this cost fit now, this one included.  ``would_fit``: where it does not fit,
    the price that would, in the words of the asker, if there is one.  ``spread_first``: population intervals
    of means and sums that would be far narrower if their spread was asked first, at this price, and found
    small.  ``cheaper``: values for which a lower price would do nearly as well.  ``registering``: population
    intervals that would be narrower if the study file had registered the query.  ``later``: what later
    answers pay, where that is more than for a query like others.

    >>> preview = curator.preview("SELECT COUNT(*) AS n FROM people", within=100)
    >>> preview.affordable, preview.bounds["n"].half_width <= 100
    (True, True)
    """

    query: str
    keys: RowKeys | None  # None: groups would be discovered
    bounds: dict[str, Bound]
    population: dict[str, Bound | Absent]
    cost: Amount
    spent: Amount
    spent_after: Amount | None
    left: AmountLeft
    budget: RoundedGuarantee
    more: int
    steps: tuple[Step, ...]
    certificate: Certificate
    repeated: bool
    would_fit: Mapping[str, object] | None = None
    batch_size: int = 1
    hidden: tuple[str, ...] = ()  # values that are asked for and will not be shown, by their names
    remarks: tuple[str, ...] = ()  # how rows will be chosen or counted by noisy values
    left_out_rows: str | None = None  # which rows the study never counts
    discovered_groups: DiscoveryPreview | None = None
    spread_first: Mapping[str, Bound] = field(default_factory=dict)
    cheaper: Mapping[str, Cheaper] = field(default_factory=dict)
    registering: Mapping[str, Bound] = field(default_factory=dict)
    later: Later | None = None
    parts: tuple[Preview, ...] = ()  # of a table that several queries make
    free: str | None = None  # why nothing is read and nothing charged
    chosen: Chosen | None = None  # how near to the best of their candidates those shown would be
    strategy: str | None = None  # how the values of a batch would be measured together, and what it gains
    determined: Mapping[str, Bound] = field(default_factory=dict)  # how far ``derive`` knows values, free
    transcript: AnswerBits | None = None  # where answers are rounded: how many bits they have

    json_keys = (
        "query repeated answer=_listed rows=_row_count cost spent spent_after left more affordable "
        "fits=would_fit budget mechanisms=steps certificate left_out_rows? hidden? remarks? "
        "discovered_groups? spread_first? cheaper? registering? later? batch_size=_together? "
        "part_rows=_part_rows? free? chosen? strategy? determined? transcript?"
    )

    @property
    def fits(self) -> bool:
        """Whether it could be charged now."""
        return self.more > 0

    @property
    def affordable(self) -> bool:
        """Whether it would be answered now."""
        return self.repeated or self.fits or self.free is not None

    @property
    def _listed(self) -> tuple[PlannedRow, ...]:
        """Rows of the JSON object: ``to_json`` fills them in, for all have the same widths."""
        return ()

    @property
    def _row_count(self) -> int | None:
        return None if self.keys is None else len(self.keys)

    @property
    def _together(self) -> int | None:
        return self.batch_size if self.parts or self.batch_size > 1 else None

    @property
    def _part_rows(self) -> tuple[int, ...]:
        return tuple(1 if part._row_count is None else part._row_count for part in self.parts)

    def to_json(self) -> dict[str, Any]:
        """As an answer's, without values and receipt; with the mechanisms behind it."""
        return Document.to_json(self) | {"answer": self._rows_json()}

    @classmethod
    def _from_shape(cls, shape: Any, **known: Any) -> Preview:
        from adyton.certify.reading import preview_from

        return preview_from(shape)

    def _rows_json(self) -> list[dict[str, Any]]:
        keys = self.keys.to_json() if self.keys else [{}]
        if self.parts:
            values = [row["values"] for part in self.parts for row in part._rows_json()]
            return [{"keys": k, "values": v} for k, v in zip(keys, values, strict=True)]
        widths = ((name, PlannedValue(bound, self.population[name])) for name, bound in self.bounds.items())
        planned = {name: one.to_json() for name, one in widths}
        return [{"keys": key, "values": planned} for key in keys]

    def sheet(self, verbose: bool = False) -> Sheet:
        """The preview as a table with notes."""
        declared = any(isinstance(bound, Bound) for bound in self.population.values())
        headers = ("value of", "95 % noise interval", *(["population interval"] if declared else []))
        rows = tuple(
            (name, _width_text(bound), *([_width_text(self.population.get(name))] if declared else []))
            for name, bound in self.bounds.items()
        )
        batch = f" for {self.batch_size} queries together" if self.batch_size > 1 else ""
        answered = _rows(len(self.keys)) if self.keys is not None else str(self.discovered_groups)
        notes = (
            f"Cost {self.cost} of the budget{batch}; spent {self.spent}, left {self.left}; "
            f"{self._verdict()}.",
            f"The guarantee: {self.budget}, whatever is asked.",
            f"{answered}. Nothing was read and nothing was charged.",
            *([str(self.chosen)] if self.chosen else []),
            *([f"Asked for, paid for and not shown: {', '.join(self.hidden)}."] if self.hidden else []),
            *self.remarks,
            *([_PARTS.format(len(self.parts))] if len(self.parts) > 1 else []),
            *_if_rows_note(self.bounds),
            *_absent_note(self.population),
            *([str(self.later)] if self.later else []),
            *([str(self.transcript)] if self.transcript else []),
            *_spread_note(self.spread_first),
            *(cheaper.text(name) for name, cheaper in self.cheaper.items()),
            *_registering_note(self.registering),
            *ways_notes(self._ways, self.certificate.nats),
            *([f"Measured together: {self.strategy}."] if self.strategy else []),
            *_determined_note(self.determined),
            *([self.left_out_rows] if self.left_out_rows else []),
        )
        sheet = Sheet(f"Preview: {in_short(self.query)}", headers, rows, notes, details=self._more_notes())
        return sheet.detailed() if verbose else sheet

    @property
    def _ways(self) -> dict[str, Way]:
        wide = self.population.items()
        return {name: bound.way for name, bound in wide if isinstance(bound, Bound) and bound.way}

    def _verdict(self) -> str:
        if self.free is not None:
            return f"free of charge: {self.free}"
        if self.repeated:
            return "asked before: the stored answer is free of charge"
        if self.affordable:
            return f"it fits, {self.more:,} times" if self.more > 1 else "it fits, once"
        return (
            f"it does NOT fit; {fitting_text(self.would_fit)} would" if self.would_fit else "it does NOT fit"
        )

    def _more_notes(self) -> tuple[str, ...]:
        mechanisms = (
            f"{step.value}: {step.mechanism}, scale {', '.join(f'{s:,.6g}' for s in step.scales)}, "
            f"cost {step.cost.in_units}."
            for step in self.steps
        )
        return (*mechanisms, *verbose_notes(self.certificate, self.cost, self.spent, self.left))


def fitting_text(fits: Mapping[str, object]) -> str:
    """A price as an asker would name it: within 435, or within n=100,avg_income=500."""
    ((by, amount),) = fits.items()
    return f"{by} {widths_text(amount)}"


def _rows(number: int) -> str:
    return f"The answer will have {number:,} row{'' if number == 1 else 's'}"


def _absent_note(population: dict[str, Bound | Absent]) -> tuple[str, ...]:
    reasons = sorted({p.reason for p in population.values() if isinstance(p, Absent)})
    return (f"Population interval: {'; '.join(reasons)}.",) if reasons else ()


def _spread_note(spread_first: Mapping[str, Bound]) -> tuple[str, ...]:
    widths = ", ".join(f"{name} {_width_text(bound)}" for name, bound in spread_first.items())
    return (
        (
            "Asking STDDEV of the same value, condition and groups first, at the same price, may pay: if it "
            f"is at most an eighth of the range, population intervals are about: {widths}.",
        )
        if widths
        else ()
    )


def _registering_note(registering: Mapping[str, Bound]) -> tuple[str, ...]:
    widths = ", ".join(f"{name} {_width_text(bound)}" for name, bound in registering.items())
    told = f"Registered in a study file, before anybody sees the rows, it would have: {widths}."
    return (told,) if widths else ()


def _determined_note(determined: Mapping[str, Bound]) -> tuple[str, ...]:
    widths = ", ".join(f"{name} {_width_text(bound)}" for name, bound in determined.items())
    return (f"Already determined by what was asked before, free: derive gives {widths}.",) if widths else ()


def _width_text(bound: Bound | Absent | None) -> str:
    if bound is None or isinstance(bound, Absent):
        return "-"
    if bound.half_width is None:
        return "depends on the rows"
    condition = "" if bound.if_rows is None else f" if {bound.if_rows:,} rows match"
    return f"± {number(bound.half_width, bound.half_width)}{condition}"


def _if_rows_note(bounds: dict[str, Bound]) -> tuple[str, ...]:
    assumed = {b.if_rows for b in bounds.values() if b.if_rows is not None}
    if any(b.half_width is None for b in bounds.values()):
        return (
            "Where no width is given it depends on the rows; for a mean, say how many you expect to match "
            "(--expected-rows, in Python expected_rows).",
        )
    return tuple(
        f"The width of a mean holds if {n:,} rows match; with fewer it is wider. Say how many you expect: "
        "--expected-rows, in Python expected_rows."
        for n in assumed
    )


# What is charged when it is opened -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningPreview(Shown, Document):
    """What something that is charged when it is opened would cost.  Nothing was read or charged.

    ``more``: how many of this cost fit now.  ``later``: what later answers pay for it; None where they have
    no population interval, or where the study fixed in advance what they pay.
    """

    cost: Amount
    spent: Amount
    left: AmountLeft
    budget: RoundedGuarantee
    more: int
    later: Later | None

    json_keys = "cost spent left budget more later"

    @property
    def fits(self) -> bool:
        return self.more > 0

    def charge_rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("cost, of the budget", str(self.cost)),
            ("spent", str(self.spent)),
            ("left", str(self.left)),
            ("fits", f"{self.more:,} times" if self.more > 1 else "once" if self.fits else "no"),
        )

    def charge_notes(self) -> tuple[str, ...]:
        return (
            f"The guarantee: {self.budget}, whatever is asked.",
            "Nothing was read and nothing was charged.",
            *([str(self.later)] if self.later else []),
        )
