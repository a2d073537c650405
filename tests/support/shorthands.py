"""Short ways to what several tests ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from adyton.kernel.ledger import MemoryLedger, Order
from adyton.kernel.paid import order_of
from adyton.kernel.price import Label, price
from adyton.query.conditions.possible_cells import cell_codes
from adyton.query.labels import group_values
from adyton.query.nodes import Query
from adyton.study import Study
from adyton.validity.last_look.best import routes_after
from adyton.validity.last_look.told import ReleasedTotals

# What is told about very many rows, of which most differ in columns that nobody looks at.

Told = TypeVar("Told")


class _Noticed(dict[str, Any]):
    """A row that notes which of its columns were looked at."""

    def __init__(self, row: Mapping[str, Any], seen: set[str]) -> None:
        super().__init__(row)
        self._seen = seen

    def __getitem__(self, name: str) -> Any:
        self._seen.add(name)
        return super().__getitem__(name)


def told_of_each(tell: Callable[[Any], Told], rows: Sequence[Mapping[str, Any]]) -> list[Told]:
    """``[tell(row) for row in rows]``, asked once of rows that are alike wherever anybody has looked."""
    seen, known, found = set[str](), dict[tuple[Any, ...], Told](), list[Told]()
    names: tuple[str, ...] = ()
    for row in rows:
        place = tuple([row[name] for name in names])
        if place not in known:
            told = tell(_Noticed(row, seen))
            if len(seen) > len(names):  # rows that were alike until now may differ there
                names, known = tuple(sorted(seen)), {}
                place = tuple([row[name] for name in names])
            known[place] = told
        found.append(known[place])
    return found


# Thresholds of p-values after Gaussian answers, by the best route of a study, where nothing else is counted.


def paid_threshold(alpha: Fraction, units: int, spent: Fraction, pure: Fraction = Fraction(0)) -> float:
    """If ``spent`` squared radii and ``pure`` epsilons were released, which no route counts by what was seen."""
    routes = routes_after(ReleasedTotals(spent, pure, numbers=None), units, gaussian=True)
    return max(route.threshold(alpha) for route in routes)


def worth(p_value: Fraction, units: int, spent: Fraction, pure: Fraction = Fraction(0)) -> float:
    """The least level at which such a p-value would be significant."""
    routes = routes_after(ReleasedTotals(spent, pure, numbers=None), units, gaussian=True)
    return min(route.worth(p_value) for route in routes)


# The charge of a plan, for tests that fill a ledger without reading any data.


def ordered(study: Study, plan: Any, request: str | None = None) -> Order:
    """What the kernel charges for it, in a ledger in which nothing was spent."""
    priced = price(plan.measurement, study.protection, Label(plan.texts, plan.detail))
    return order_of(MemoryLedger.of(study), priced, request)


# The groups of a query as an answer shows them: the values of each cell, one after the other.


def cell_values(query: Query) -> list[tuple[Any, ...]]:
    codes, cells = cell_codes(query)
    listed = [[group_values(g)[i] for i in own.tolist()] for g, own in zip(query.by, codes, strict=True)]
    return list(zip(*listed, strict=True)) if listed else [()] * cells
