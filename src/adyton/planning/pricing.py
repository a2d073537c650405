"""How the noise of a reading follows from the price that the asker named."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from adyton.accounting.noisy_reading import LEVEL, step_of
from adyton.errors import InvalidRequest
from adyton.exact import UNITS_PER_ONE
from adyton.mechanisms import GaussianNoise, GeometricNoise, Mechanism
from adyton.planning.price import Price
from adyton.query.conditions.possible_cells import number_of_cells
from adyton.query.nodes import Question
from adyton.schema import Table, TextColumn
from adyton.sensitivity import Reading, Sensitivity
from adyton.study import Study

EXPECTED_ROWS = "--expected-rows, in Python expected_rows"  # how an asker says how many rows match
TOO_SMALL = "this price is below the smallest unit that can be charged"


@dataclass(frozen=True, slots=True)
class Pricing:
    """The price of a question in a study that has ``left`` units left."""

    study: Study
    price: Price
    left: int
    expected_rows: int | None

    @property
    def is_total(self) -> bool:
        """Whether the price names what the whole question may cost, not how wide its values may be."""
        return self.price.by in ("epsilon", "share", "units")

    @property
    def units(self) -> int:
        return units_of(self.study, self.price, self.left)

    def noise(self, reading: Reading, part: Fraction) -> Mechanism:
        """For a reading that may use this part of the price."""
        if self.is_total:
            return self.noise_for_units(reading, int(self.units * part))
        steps = float(self._in_steps(reading))
        if self.price.by == "within":
            return _no_wider(self._kind, reading.sensitivity, steps)  # type: ignore[arg-type]  # as below
        return self._kind.for_scale(reading.sensitivity, steps)

    def noise_for_units(self, reading: Reading, units: int) -> Mechanism:
        cost = cost_of_units(self.study.filter_name, units)
        return _quietest(self._kind, reading.sensitivity, cost)  # type: ignore[arg-type]  # classes have hashes

    def check_total(self, what: str) -> None:
        """For values whose width nobody can promise before the rows are read."""
        if not self.is_total:
            raise InvalidRequest(
                f"how wide the interval of {what} is depends on the rows: name the price as epsilon or share"
            )

    @property
    def _kind(self) -> type[GaussianNoise] | type[GeometricNoise]:
        return GeometricNoise if self.study.filter_name == "pure" else GaussianNoise

    def _or_declare(self, reading: Reading) -> str:
        """What the owner could do; nothing where keys are found, or where tables are joined."""
        finds = any(isinstance(group, TextColumn) for group in reading.by)
        key = rows_key(self.study, reading.table or self.study.table)
        return f", declare {key}" if key is not None and not finds else ""

    def _in_steps(self, reading: Reading) -> Fraction:
        """The price, given in the units of the answer, in steps of the integers that are read."""
        step, named = step_of(reading), self.price.of(reading.name)
        if reading.public_rows is not None:
            return named * reading.public_rows / step
        if len(reading.coordinates) == 1:
            return named / step
        if self.expected_rows is None:
            raise InvalidRequest(
                f"how wide the interval of {reading.name!r} is depends on how many rows match, which is "
                f"private: say how many you expect ({EXPECTED_ROWS}){self._or_declare(reading)}, or name the "
                "price as epsilon or share"
            )
        return named * self.expected_rows / step


def rows_key(study: Study, table: Table) -> str | None:
    """The key of the study file that would say about how many rows of ``table`` count; None for a join."""
    if table.join is not None and len(table.join.tables) > 1:
        return None
    name = table.join.tables[0].name if table.join is not None else table.name
    section = "table" if name == study.table.name else f"private.{name}"
    return f"{section}.{'rows' if study.unit_of(table).rows == 1 else 'lines'}"


def matching_rows(price: Price, question: Question, study: Study) -> int | None:
    """How many rows are expected to contribute to one mean: what the asker says, or an equal share of all.

    Older versions, whose answers have all cells, took the number of persons for that of their rows.
    """
    rows = question.table.rows if question.every_cell else study.rows_expected(question.table)
    if price.expected_rows is not None or rows is None or question.finds_keys:
        return price.expected_rows
    return max(1, rows // number_of_cells(question))


def units_of(study: Study, price: Price, left: int) -> int:
    match price.by:
        case "units":
            units = int(price.amount)
        case "share":
            units = int(price.amount * left)
        case _:
            units = study.units_for(price.amount)
    if study.parts > 1 and units <= study.allowed:
        units = min(units, left)  # all of the limit leaves room for the charges of later questions
    if units < 1:
        raise InvalidRequest(TOO_SMALL)
    return units


@lru_cache(maxsize=4096)
def _quietest(
    kind: type[GaussianNoise] | type[GeometricNoise], sensitivity: Sensitivity, cost: Fraction
) -> Mechanism:
    """Many questions of a batch are alike."""
    return kind.for_cost(sensitivity, cost)


@lru_cache(maxsize=4096)
def _no_wider(
    kind: type[GaussianNoise] | type[GeometricNoise], sensitivity: Sensitivity, steps: float
) -> Mechanism:
    return kind.for_error(sensitivity, steps, LEVEL)


def cost_of_units(filter_name: str, units: int) -> Fraction:
    """mu**2 for Gaussian noise, epsilon for geometric noise."""
    if units < 1:
        raise InvalidRequest(TOO_SMALL)
    amount = Fraction(units, UNITS_PER_ONE)
    return 2 * amount if filter_name == "zcdp" else amount
