"""From a query and a price to mechanisms and their cost, by public facts alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from math import log
from typing import NamedTuple, assert_never

import numpy as np

from adyton.certify import Certificate, KeyColumn, KeyLabel, KnownRange, RowKeys
from adyton.certify.linear import GaussianValue
from adyton.errors import InvalidRequest, about
from adyton.kernel.accounting.noisy_reading import NoisyReading, step_of
from adyton.kernel.exact import float_up
from adyton.kernel.measurement import AnyMeasurement
from adyton.kernel.noisy import (
    Families,
    NoisyQueries,
    NoisyQuery,
    due,
    families_of,
    shares_of,
    still_due,
    transcript_units,
    whole_price,
)
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import TextColumn
from adyton.kernel.searching import rounds_of
from adyton.kernel.sensitivity import Reading
from adyton.kernel.special.discovery import GroupDiscovery
from adyton.kernel.terms.measures import (
    Cdf,
    Count,
    CountPersons,
    Extreme,
    Mean,
    Moments,
    Proportion,
    Quantile,
    Sum,
    SumOfPersons,
    Variance,
)
from adyton.kernel.terms.persons import are_of_the_same_persons
from adyton.planning.discovery import PART, plan_discovery
from adyton.planning.known import certificate_of, check_size, known_of, known_of_computed
from adyton.planning.measures.additive import Additive
from adyton.planning.measures.distribution import Distribution
from adyton.planning.measures.mean_with_squares import MeanWithSquares, squares_of
from adyton.planning.measures.moments import NEEDED, Joint
from adyton.planning.measures.search import Search
from adyton.planning.measures.spread import Spread
from adyton.planning.part import MeasurePlan, detail_of, most_for_each
from adyton.planning.price import Price, Pricing, check_widths, matching_rows
from adyton.planning.readings import readings_for
from adyton.query.canonical import canonical_text, plain_names
from adyton.query.conditions.possible_cells import cell_codes, kept_cells
from adyton.query.labels import group_values
from adyton.query.names import distinct_names
from adyton.query.nodes import Query
from adyton.query.released.nodes import Released, ReleasedName, is_label
from adyton.query.request import AS_ASKED, Request, Shape
from adyton.query.text import names_given, query_text
from adyton.study import Study


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """What is read for one query, and which noise it gets.

    ``text`` is the canonical one, by which the ledger knows the query; people read its ``title``.
    """

    query: Query
    text: str
    parts: tuple[MeasurePlan, ...]
    certificate: Certificate
    expected_rows: int | None
    discovery: GroupDiscovery | None = None
    shape: Shape = AS_ASKED
    remarks: tuple[str, ...] = ()  # on how the text was read

    @property
    def title(self) -> str:
        """The query with the names that were given to its values."""
        plainly_named = plain_names(self.query) == names_given(self.query)
        return self.text if plainly_named else query_text(self.query)

    @property
    def detail(self) -> list[list[object]]:
        """The mechanisms as receipts have them, in the order in which they are charged."""
        discovery = self.discovery.noisy if self.discovery is not None else ()
        names = plain_names(self.query)[1]
        own = [detail_of(part.only, name) for part, name in zip(self.parts, names, strict=True)]
        return [*map(detail_of, discovery), *own]

    @property
    def noisy(self) -> tuple[NoisyReading, ...]:
        discovery = self.discovery.noisy if self.discovery is not None else ()
        return (*discovery, *(part.only for part in self.parts))

    @property
    def noisy_query(self) -> NoisyQuery:
        """What is measured for it."""
        return NoisyQuery(tuple(part.only for part in self.parts), self.discovery)

    @property
    def readings(self) -> list[Reading]:
        """What the values need."""
        return [part.only.reading for part in self.parts]

    @property
    def known(self) -> dict[str, KnownRange]:
        """What is public about each value, by its name."""
        return {part.name: known_of(part.only.reading.measure) for part in self.parts}

    @property
    def shown(self) -> dict[str, KnownRange]:
        """The same of what the answer shows; nothing of what is computed."""
        if not self.shape.shown:
            return self.known
        return {name: known_of_computed(value, self.known) for name, value in self.shape.shown}

    @property
    def computed(self) -> dict[str, Released]:
        """Columns with intervals that are computed from values, by their names."""
        return {
            name: value
            for name, value in self.shape.shown
            if not isinstance(value, ReleasedName) and not is_label(value)
        }

    @property
    def hidden(self) -> tuple[str, ...]:
        """Values that are asked for and not shown."""
        return self.shape.hidden([part.name for part in self.parts])

    @property
    def gaussian(self) -> dict[str, GaussianValue]:
        """Values that are an integer with Gaussian noise, times a public step."""
        return {
            part.name: GaussianValue(
                step_of(part.reading) / (part.reading.public_rows or 1), float_up(part.mechanism.scales[0])
            )
            for part in self.parts
            if isinstance(part, Additive) and part.mechanism.gaussian and len(part.mechanism.scales) == 1
        }

    def values(self, cells: int) -> int:
        """How many noisy values of the answer must be right at the same time."""
        return cells * sum(part.noises for part in self.parts)

    def keys(self, found: Sequence[Sequence[str | int]] | None = None) -> RowKeys:
        """The groups, in the order of the cells: all that are declared, or those that were found."""
        by, own = self.query.by, self.parts[0].keys
        if not by and own is None:
            return RowKeys({}, 1)
        names = [group.name for group in by]
        if self.query.discovers_groups:
            labels: list[Sequence[KeyLabel]] = [
                [_key(g, key[i]) for key in found or ()] for i, g in enumerate(by)
            ]
            codes = [np.arange(len(found or ()), dtype=np.int32)] * len(by)
            cells = len(found or ())
        else:
            labels = [group_values(group) for group in by]
            codes, cells = cell_codes(self.query)
        if own is not None:
            names += distinct_names([None], [own[0]], taken=names)
            labels, codes = [*labels, own[1]], [np.repeat(column, len(own[1])) for column in codes]
            codes.append(np.tile(np.arange(len(own[1]), dtype=np.int32), cells))
            cells *= len(own[1])
        columns = map(KeyColumn, labels, codes)
        return RowKeys(dict(zip(names, columns, strict=True)), cells)


@dataclass(frozen=True, slots=True)
class PricedBatch:
    """Plans that are paid for together: one query, or a batch of them."""

    plans: tuple[QueryPlan, ...]
    amount: int
    radius: int
    price: Price
    independent: PricedBatch | None = None  # the same, each for itself, where all is measured together
    whole: int = 0  # where units are split: what must be spent in total, of which ``amount`` is still due

    @property
    def text(self) -> str:
        return "; ".join(self.texts)

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(plan.text for plan in self.plans)

    @property
    def detail(self) -> str:
        """The mechanisms as canonical JSON: with the text it says exactly what was asked at which price."""
        return json.dumps([one for plan in self.plans for one in plan.detail])

    @property
    def readings(self) -> list[Reading]:
        return [reading for plan in self.plans for reading in plan.readings]

    @property
    def requests(self) -> list[Request]:
        return [Request(plan.query, plan.shape, remarks=plan.remarks) for plan in self.plans]

    @property
    def pure(self) -> int:
        return 0

    @property
    def unproved(self) -> bool:
        """Whether groups are discovered with Gaussian noise: no theorem on populations covers a threshold."""
        discoveries = [plan.discovery for plan in self.plans if plan.discovery is not None]
        return any(one.counted.mechanism.gaussian for one in discoveries)

    @property
    def measurement(self) -> AnyMeasurement:
        """What the kernel prices and releases."""
        return NoisyQueries(tuple(plan.noisy_query for plan in self.plans))

    def after(self, spent: int) -> PricedBatch:
        """Where units are split, what is still due once so much is spent."""
        return replace(self, amount=still_due(self.whole, spent)) if self.whole else self

    def rows_planned(self, plan: QueryPlan) -> int | None:
        """For how many rows the width of a mean was planned, where a width was the price."""
        return plan.expected_rows if self.widths_named(plan) else None

    def widths_named(self, plan: QueryPlan) -> dict[str, float]:
        """The half-widths that were the price of means, whose own depend on how many rows match."""
        if self.price.by != "within":
            return {}
        means = [r.name for r in plan.readings if len(r.coordinates) > 1 and r.public_rows is None]
        return {name: float(self.price.of(name)) for name in means}


def make_plan(study: Study, query: Query, price: Price, left: int) -> QueryPlan:
    """The plan for one query; refuses what cannot be planned.  Reads nothing, charges nothing."""
    return make_batch(study, [Request(query)], price, left).plans[0]


def make_batch(
    study: Study,
    requests: Sequence[Request],
    price: Price,
    left: int,
    *,
    strategy: str | None = None,
) -> PricedBatch:
    """The plans for all that is asked; the price is for all of them together.

    Several queries may be answered from one ``strategy`` for all, if that is better or is named.
    """
    outline = Outline.of(study, requests)
    batch = outline.batch(price, left)
    if len(requests) == 1 and strategy is None:
        return batch
    from adyton.planning.coordinated.choosing import coordinated

    return coordinated(outline, batch, left, strategy)


@dataclass(frozen=True, slots=True)
class Outline:
    """All of some plans that does not depend on the price: what is read, and which parts share a price.

    Of thousands of queries this takes longer than the rest, and a search for a price tries many.
    """

    study: Study
    requests: Sequence[Request]
    unit: PrivacyUnit
    measured: Sequence[_Measured]
    families: Families

    @classmethod
    def of(cls, study: Study, requests: Sequence[Request]) -> Outline:
        queries = [asking.query for asking in requests]
        tables = {query.table for query in queries} if len(queries) > 1 else ()
        if len(tables) > 1 and not are_of_the_same_persons(tables):
            raise InvalidRequest("the queries of a batch are about one table, or one join of tables")
        unit = study.unit_of(queries[0].table)
        measured = [m for place, asked in enumerate(queries) for m in _measured(place, asked, unit, study)]
        readings = [one.reading for one in measured]
        check_size(queries, readings)
        return cls(study, requests, unit, measured, families_of(readings, unit))

    def batch(self, price: Price, left: int, pricing_of: Callable[..., Pricing] = Pricing) -> PricedBatch:
        priced = self.priced(price, left, pricing_of)
        in_order, table = iter(priced.parts), self.requests[0].query.table
        disjoint = len(self.families) < len(priced.parts)
        plans = []
        for asking, discovery, pricing in zip(
            self.requests, priced.discoveries, priced.pricings, strict=True
        ):
            parts = tuple(islice(in_order, len(asking.query.measures)))
            certificate = certificate_of(self.study, table, parts, discovery, disjoint=disjoint)
            if any(not isinstance(value, ReleasedName) for _, value in asking.shape.shown):
                certificate = certificate.citing("BOX-OF-PARTS")
            planned = (asking.query, canonical_text(asking.query), parts, certificate)
            rows = pricing.expected_rows
            plans.append(QueryPlan(*planned, rows, discovery, asking.shape, asking.remarks))
        return PricedBatch(tuple(plans), priced.amount, priced.radius, price, whole=priced.whole)

    def priced(self, price: Price, left: int, pricing_of: Callable[..., Pricing] = Pricing) -> Outlined:
        """The noise, and what it costs; ``pricing_of`` says which noise a reading gets for its part."""
        study, queries = self.study, [asking.query for asking in self.requests]
        with about(price.by):
            check_widths(price, queries)
        most = left if self.unit.parts == 1 else most_for_each(study)
        pricings = [pricing_of(study, price, most, matching_rows(price, q, study)) for q in queries]
        shares = shares_of(self.families, self.unit)
        parts = [
            _part(one, queries[one.place], pricings[one.place], shares[i])
            for i, one in enumerate(self.measured)
        ]
        noisy = [part.only for part in parts]
        paid = due(noisy, self.families, self.unit, study.rule)
        discoveries = [
            plan_discovery(query, self.unit, pricing, paid.amount) if query.discovers_groups else None
            for query, pricing in zip(queries, pricings, strict=True)
        ]
        extra = [one for discovery in discoveries if discovery is not None for one in discovery.noisy]
        if extra and len(queries) > 1:
            raise InvalidRequest("a query whose keys must be found is asked alone, not in a batch")
        amount, whole = paid.amount + sum(one.amount(study.rule) for one in extra), 0
        if self.unit.parts > 1:
            whole = whole_price(amount, noisy, self.families, self.unit, study.rule)
            amount = still_due(whole, study.allowed - left)
        radius = paid.radius + sum(n.radius() for n in extra)
        if study.grid is not None:
            radius = transcript_units(noisy)
        return Outlined(pricings, parts, discoveries, amount, radius, whole)


class Outlined(NamedTuple):
    """An outline at a price."""

    pricings: list[Pricing]
    parts: list[MeasurePlan]
    discoveries: list[GroupDiscovery | None]
    amount: int
    radius: int
    whole: int  # as ``PricedBatch.whole``

    def after(self, spent: int) -> Outlined:
        """As ``PricedBatch.after``."""
        return self._replace(amount=still_due(self.whole, spent)) if self.whole else self


class _Measured(NamedTuple):
    place: int  # of its query
    reading: Reading
    nats: float | None = None  # how long its description is
    alone: Reading | None = None  # without the squares that it has beside it


def _measured(place: int, query: Query, unit: PrivacyUnit, study: Study) -> list[_Measured]:
    kept, found = kept_cells(query), list[_Measured]()
    for name, measure in query.measures:
        nats, squares = study.nats(query, measure), squares_of(study, query, measure)
        alone = readings_for(name, measure, query, unit, kept)
        if squares:
            (with_squares,) = readings_for(name, measure, query, unit, kept, squares)
            found.append(_Measured(place, with_squares, nats, *alone))
        else:
            found += (_Measured(place, reading, nats) for reading in alone)
    return found


def _for_values(query: Query) -> Fraction:
    return 1 - PART if query.discovers_groups else Fraction(1)


def _part(measured: _Measured, query: Query, pricing: Pricing, share: Fraction) -> MeasurePlan:
    reading, nats, share_of_values = measured.reading, measured.nats, share * _for_values(query)

    def noisy(times: int = 1, claims: int = 1) -> NoisyReading:
        each = None if nats is None else nats + log(claims)
        return NoisyReading(reading, pricing.noise(reading, share_of_values / times), times, each)

    match reading.measure:
        case Mean() if len(reading.coordinates) == len(MeanWithSquares.columns):
            with_squares = MeanWithSquares(noisy())
            if with_squares.pays(pricing.study, query):
                return with_squares
            assert measured.alone is not None
            return _part(measured._replace(reading=measured.alone), query, pricing, share)
        case Variance(root=root):
            pricing.check_total("a variance" if not root else "a standard deviation")
            return Spread(noisy(claims=2), root)
        case Moments(which=which):
            pricing.check_total("a covariance" if which == "covariance" else f"the {which}")
            return Joint(noisy(claims=len(NEEDED[which])))
        case Quantile() | Extreme():
            pricing.check_total("a quantile")
            return Search(noisy(rounds_of(reading)))
        case Cdf():
            pricing.check_total("a distribution")
            return Distribution(noisy())
        case Count() | CountPersons() | Sum() | SumOfPersons() | Mean() | Proportion():
            return Additive(noisy())
        case _:
            assert_never(reading.measure)


def _key(group: object, code: str | int) -> KeyLabel:
    return code if isinstance(group, TextColumn) else group_values(group)[int(code)]  # type: ignore[arg-type]
