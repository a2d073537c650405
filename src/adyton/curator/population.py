"""What an answer says about the population, although its question was chosen after seeing earlier answers.

The theorem has two parts.  The *noise* of an answer is small: the same noise as in the noise interval, at a
level that leaves room for all questions and cells.  The *stability* of everything released bounds, for every
function of a unit at once, how far these rows can have been singled out from the population; it grows with
what has been spent, which every receipt records (``spent_radius``, squared radii measured in noise).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from adyton.certify import Absent, Intervals
from adyton.columns import Array
from adyton.curator.noised import Noised, step_of
from adyton.errors import InvalidRequest
from adyton.exact import UNITS_PER_ONE, Number, float_up, positive, units_down
from adyton.ledger.cap import Cap
from adyton.lines import Line
from adyton.mechanisms import Band, GaussianNoise, largest_ratio
from adyton.study import Study, Validity, keys_failure, planned
from adyton.validity.mutual_information import information_of, threshold_after
from adyton.validity.noise_part import gaussian_multiplier, laplace_multiplier, question_share
from adyton.validity.peeling import WidthSchedule
from adyton.validity.planned import PlannedSchedule

NOT_DECLARED = Absent("not declared: the study file has no [validity] section")
ELSEWHERE = Absent("the study's own table is the one that is a sample; this question asks another, or a join")
_LEVELS = 10

OPEN = ("PEELING", "NOISE-GIVEN-TRANSCRIPT", "CENTRED-HINGE")
PLANNED = ("CENTRED-HINGE-PLAN", "CENTRED-HINGE")


@dataclass(frozen=True, slots=True)
class Position:
    """Where an answer stands in the study: its number, what was spent by then, how many values it has."""

    question: int
    spent: Fraction
    values: int
    elsewhere: bool = False  # asked of another table than the one that is a sample


@dataclass(frozen=True, slots=True)
class Counted:
    """A noisy count of all units, and the number of the question that asked for it."""

    released: int
    scale: float
    noise: str
    question: int


class Population:
    """The population intervals of one study."""

    def __init__(self, study: Study) -> None:
        self._study = study

    @property
    def validity(self) -> Validity | None:
        return self._study.validity

    @cached_property
    def schedule(self) -> WidthSchedule | PlannedSchedule | None:
        if self.validity is None:
            return None
        rows, delta = self._study.table.rows, keys_failure(self._study)
        if self.validity.tolerance is None or rows is None:
            return _open_schedule(self.validity, delta)
        return planned(self.validity, rows, self._study.unit.neighbours, self._study.filter_name, delta)

    def position(self, number: int, spent_radius: int, values: int, *, elsewhere: bool = False) -> Position:
        return Position(number, Fraction(spent_radius, UNITS_PER_ONE), values, elsewhere)

    def missing(self, at: Position, units: int | None) -> Absent | None:
        """Why there is no interval for an answer at this position, if so."""
        schedule = self.schedule
        if schedule is None:
            return NOT_DECLARED
        if at.elsewhere:
            return ELSEWHERE
        if not schedule.covers(at.spent):
            return Absent("beyond the stability that this study was certified for; so are all later answers")
        if schedule.questions is not None and at.question > schedule.questions:
            return Absent(f"beyond the {schedule.questions} questions that this study was certified for")
        if units is None:
            persons = self._study.unit.rows > 1
            count = f"COUNT(DISTINCT {self._study.unit.person})" if persons else "COUNT(*)"
            return Absent(f"the number of units is private: ask {count} of the whole table first")
        return None

    @property
    def each(self) -> int | None:
        """What one question of a plan may spend of stability; None where nothing is planned."""
        schedule = self.schedule if self.validity is not None and self.validity.tolerance else None
        return units_down(schedule.cap) // schedule.questions if schedule and schedule.questions else None

    @property
    def cap(self) -> Cap | None:
        """What the ledger itself must not let pass, because nothing could be certified beyond it."""
        schedule = self.schedule
        if schedule is None or self.validity is None or self.validity.beyond == "answer":
            return None
        return Cap(units_down(schedule.cap), schedule.questions)

    def check(self, at: Position, before: Fraction) -> None:
        """Refuses what the ledger would refuse in the charge, before anything is prepared."""
        cap = self.cap
        if cap is not None:
            spent, after = (int(total * UNITS_PER_ONE) for total in (before, at.spent))
            cap.check(at.question - 1, spent, after - spent)

    def certificate(
        self, at: Position, units: int | None, *, ratios: bool
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The theorems and assumptions that come with a population interval; none where there is none."""
        if self.missing(at, units) is not None:
            return (), ()
        pure = self._study.filter_name == "pure"
        planned = isinstance(self.schedule, PlannedSchedule)
        theorems = (
            *(PLANNED if planned else OPEN),
            *(("L1-RADIUS", "PURE-IMPLIES-GDP") if pure else ("L2-RADIUS",)),
        )
        theorems += ("HINGE-OF-A-PAIR",) if pure else ()
        theorems += ("HINGE-WITH-DELTA",) if self._study.keys_delta else ()
        theorems += ("RATIO-OF-MEANS",) if ratios else ()
        theorems += ("PERSONS-AS-ROWS",) if self._study.unit.rows > 1 else ()
        return theorems, (
            "the units are independent draws from the population",
            "population intervals hold for all answers of the study at once with probability "
            f"{self.level:.12g}",
            "the population value of a count or sum is its expectation for a table of this size",
        )

    def for_counts(self, alpha: Number) -> Fraction:
        """The part of a test's level that noisy counts of the units may use, if their number is private."""
        level = positive(alpha, "alpha")
        if level >= 1:
            raise InvalidRequest("alpha, the level of a test, lies above 0 and below 1, e.g. 0.05")
        return Fraction(0) if self._study.unit.neighbours == "replace" else level / 100

    def p_value_threshold(self, alpha: Number, spent: Fraction, units: int | None) -> float:
        """At or below which a p-value computed on these rows now may be called significant at ``alpha``.

        The levels of stability were fixed in advance and share alpha equally; the lowest that covers what was
        spent is used.  ``units`` is at least their number, but for the failure that is left ``for_counts``.
        0 if nothing can be called significant any more.  Theorem: EVENTS-AFTER-INFORMATION.
        """
        schedule = self.schedule
        if schedule is None or units is None:
            raise InvalidRequest(
                "a threshold for p-values needs a [validity] section and the number of units"
            )
        if self._study.keys_delta:
            raise InvalidRequest(
                "no threshold for p-values is proved where keys may be found in the data (privacy.keys_delta)"
            )
        level_of_test = positive(alpha, "alpha") - self.for_counts(alpha)
        covering = [level for level in schedule.levels if level.spent >= spent]
        if not covering:
            return 0.0
        share = level_of_test / len(schedule.levels)
        return threshold_after(share, information_of(units, covering[0].spent))

    def singles(self, part: Noised, released: Array, at: Position, units: int | None) -> Intervals | Absent:
        """For counts, sums and proportions of a public number of rows."""
        absent = self.missing(at, units)
        if absent is not None or units is None:
            return absent or NOT_DECLARED
        step = step_of(part.reading) / (part.reading.public_rows or 1)
        reach = self.reach(part, at, units) * step
        return Intervals(self.level, Line(step, -reach).down(released), Line(step, reach).up(released))

    def reach(self, part: Noised, at: Position, units: int) -> Fraction:
        """How far a released integer may be from what the population makes one expect, in steps."""
        return self._noises(part, at)[0] + self.drift(part, at, units)

    def drift(self, part: Noised, at: Position, units: int) -> Fraction:
        """The part of it that comes from the rows, not from the noise."""
        span = self._span(part)
        if isinstance(self.schedule, PlannedSchedule):  # part of it is for the excess of the noise
            units, span = max(units, self._rows), max(span, 1)
        return units * span * self._stability(at)

    def noise(self, part: Noised, at: Position, *, scale: Fraction) -> tuple[Fraction, Fraction]:
        """How much noise, and how much rounding, a value of the answer may hide.

        ``scale`` is that of the noise in what is claimed about the value.
        """
        schedule, noises = self.schedule, len(part.mechanism.scales) * at.values
        normal = isinstance(part.mechanism, GaussianNoise)
        if isinstance(schedule, PlannedSchedule):
            relative = scale / (self._rows * max(self._span(part), 1))
            many = schedule.threshold("gaussian" if normal else "laplace", relative, noises)
        else:
            multiplier = gaussian_multiplier if normal else laplace_multiplier
            many = multiplier(self._failure(at.question), noises)
        return Fraction(many) * scale, Fraction(1, 2) if normal else Fraction(1)

    def ratio_band(self, part: Noised, at: Position, units: int | None) -> Band | Absent:
        """For means: how far top - ratio * bottom may be from 0, in steps."""
        absent = self.missing(at, units)
        if absent is not None or units is None:
            return absent or NOT_DECLARED
        first, second = self._noises(part, at)
        return Band(0.0, 0.0, float_up(first + self.drift(part, at, units)), float_up(second))

    @property
    def level(self) -> float:
        return float(self.validity.confidence) if self.validity else 0.0

    def half_width(self, part: Noised, at: Position, units: int | None, matching: int | None) -> float | None:
        """How wide it would be, before anything is read; for a mean if ``matching`` rows contribute."""
        if self.missing(at, units) is not None or units is None:
            return None
        noises, drift = self._noises(part, at), self.drift(part, at, units)
        steps = noises[0] + drift
        if len(noises) > 1:
            steps += Fraction(largest_ratio(part.reading.sensitivity)) * noises[1]
        whole = part.reading.public_rows or (matching if len(noises) > 1 else 1)
        return float_up(steps * step_of(part.reading) / whole) if whole else None

    def units_at_most(self, count: Counted, failure: Fraction | None = None) -> int:
        """An upper end for the number of units, from a noisy count of all of them that was asked before.

        It is right for all counts at once, but for their part of the study's failure, or but for ``failure``.
        """
        schedule = self.schedule
        if failure is not None:
            share = failure * question_share(count.question)
        elif isinstance(schedule, PlannedSchedule):
            share = schedule.counting / schedule.questions
        else:
            share = self._failure(count.question)
        z = gaussian_multiplier(share) if count.noise == GaussianNoise.name else laplace_multiplier(share)
        return max(1, math.ceil(count.released + Fraction(z) * Fraction(count.scale) + 1))

    @property
    def _rows(self) -> int:
        """The public number of units of a plan, or the public guess, in which its noise is measured."""
        assert self._study.table.rows is not None
        return self._study.table.rows

    def _stability(self, at: Position) -> Fraction:
        assert self.schedule is not None
        return Fraction(self.schedule.stability(at.spent))

    def _span(self, part: Noised) -> int:
        """The length of the interval in which one unit's share of the (first) integer lies.

        For a mean it is that of value - t * count at the true mean t, which is no longer than the box.
        """
        low, high = part.reading.sensitivity.boxes[0]
        if len(part.reading.coordinates) == 1:
            low, high = min(low, 0), max(high, 0)
        return (high - low) * part.reading.sensitivity.rows

    def _noises(self, part: Noised, at: Position) -> list[Fraction]:
        """How much of each coordinate's noise the transcript may hide, all values of the answer at once.

        The noise of a mean's count stands in its claim times the mean, which is no more than the largest.
        """
        first, *others = part.mechanism.scales
        most = (others and Fraction(largest_ratio(part.reading.sensitivity))) or Fraction(1)
        hidden = [sum(self.noise(part, at, scale=first), Fraction(0))]
        for scale in others:
            noise, rounding = self.noise(part, at, scale=scale * most)
            hidden.append(noise / most + rounding)
        return hidden

    def _failure(self, question: int) -> Fraction:
        """The part of the failure probability that this question's noise may use."""
        assert isinstance(self.schedule, WidthSchedule)
        known = self.schedule.questions
        return self.schedule.noise_failure * (Fraction(1, known) if known else question_share(question))


@dataclass(frozen=True, slots=True)
class Standing:
    """What the population intervals of one answer depend on, besides its plan and its integers."""

    population: Population
    at: Position
    units: int | None

    @property
    def missing(self) -> Absent | None:
        """Why there is no interval, if so."""
        return self.population.missing(self.at, self.units)


@lru_cache(maxsize=16)
def _open_schedule(validity: Validity, delta: Fraction) -> WidthSchedule:
    assert validity.stability is not None
    failure = 1 - validity.confidence
    return WidthSchedule.plan(failure, validity.stability, _LEVELS, questions=validity.questions, delta=delta)
