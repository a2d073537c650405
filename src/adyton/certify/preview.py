"""What an answer would cost, before anything is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adyton.certify.values import Absent, Amount, Bound, Certificate, Key, KeysSought, Promise
from adyton.exact import decimal_text
from adyton.show import Sheet, Shown, number


@dataclass(frozen=True, slots=True)
class Step:
    """One mechanism of a plan, explained: what is read, how far one unit moves it, and the noise."""

    value: str
    mechanism: str
    scales: tuple[float, ...]
    sensitivity: float
    cost: Amount

    def to_json(self) -> dict[str, object]:
        return {
            "value": self.value,
            "mechanism": self.mechanism,
            "scales": list(self.scales),
            "sensitivity": self.sensitivity,
            "cost": self.cost.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Preview(Shown):
    """What an answer would cost and how wide its intervals would be.  Nothing was read or charged."""

    question: str
    keys: tuple[dict[str, Key], ...] | None  # None: they would be found in the data
    bounds: dict[str, Bound]
    population: dict[str, Bound | Absent]
    cost: Amount
    left: Amount
    spent: Promise
    spent_after: Promise | None
    limit: Promise
    steps: tuple[Step, ...]
    certificate: Certificate
    repeated: bool
    fits: bool
    together: int = 1
    keys_sought: KeysSought | None = None

    @property
    def affordable(self) -> bool:
        """Whether it would be answered now."""
        return self.repeated or self.fits

    def to_json(self) -> dict[str, Any]:
        """As an answer's, without values and receipt; with the mechanisms behind it."""
        values = {
            name: {"noise_interval": bound.to_json(), "population_interval": self.population[name].to_json()}
            for name, bound in self.bounds.items()
        }
        return {
            "question": self.question,
            "repeated": self.repeated,
            "answer": [{"keys": keys, "values": values} for keys in self.keys or ({},)],
            "cost": self.cost.to_json(),
            "left": decimal_text(self.left.units),
            "affordable": self.affordable,
            "spent": self.spent.to_json(),
            "spent_after": self.spent_after.to_json() if self.spent_after else None,
            "limit": self.limit.to_json(),
            "mechanisms": [step.to_json() for step in self.steps],
            "certificate": self.certificate.to_json(),
            **({"keys": self.keys_sought.to_json()} if self.keys_sought else {}),
        }

    def sheet(self) -> Sheet:
        rows = tuple(
            (
                step.value,
                _width_text(self.bounds.get(step.value)),
                _width_text(self.population.get(step.value)),
                f"{step.mechanism}, scale {', '.join(f'{s:,.6g}' for s in step.scales)}",
                str(step.cost),
            )
            for step in self.steps
        )
        after = (
            f"epsilon would be {self.spent_after.epsilon:.6g} of {self.limit.epsilon:g}"
            if self.spent_after
            else ""
        )
        verdict = (
            "asked before: the stored answer is free of charge"
            if self.repeated
            else f"it fits: {after}"
            if self.affordable
            else "it does NOT fit"
        )
        batch = f" for {self.together} questions together" if self.together > 1 else ""
        answered = f"{len(self.keys)} row(s) of answers" if self.keys is not None else str(self.keys_sought)
        notes = (
            f"Cost {self.cost}{batch}; left {self.left}; {verdict}.",
            f"{answered}. Nothing was read and nothing was charged.",
            *_if_rows_note(self.bounds),
            *_absent_note(self.population),
        )
        headers = ("value of", "95 % noise interval", "population interval", "mechanism", "cost")
        return Sheet(f"Preview: {self.question}", headers, rows, notes)


def _absent_note(population: dict[str, Bound | Absent]) -> tuple[str, ...]:
    reasons = sorted({p.reason for p in population.values() if isinstance(p, Absent)})
    return (f"Population interval: {'; '.join(reasons)}.",) if reasons else ()


def _width_text(bound: Bound | Absent | None) -> str:
    if bound is None or isinstance(bound, Absent):
        return "-"
    return (
        "depends on the rows"
        if bound.half_width is None
        else f"+- {number(bound.half_width, bound.half_width)}"
    )


def _if_rows_note(bounds: dict[str, Bound]) -> tuple[str, ...]:
    assumed = {b.if_rows for b in bounds.values() if b.if_rows is not None}
    if any(b.half_width is None for b in bounds.values()):
        return (
            "Where no width is given it depends on the rows; for a mean, say how many you expect to match "
            "(--matching, in Python matching).",
        )
    return tuple(f"The width of a mean holds if {n:,} rows match; with fewer it is wider." for n in assumed)
