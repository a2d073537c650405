"""Ways of looking at outputs.  A view sorts every output into one of its cells, and the cells into an order.

What is learned (edges, sets of values, directions) comes from the samples that learn.  The events of a view
are the beginnings and the ends of its order: thresholds where the order is that of numbers, and the events
that separate two laws best (Neyman, Pearson) where it is that of likelihood ratios.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.audit.outputs import Array, Codes, Column, Outputs
from adyton.kernel.exact.cells import Floats

Take = Callable[[Outputs], Column]

_FINE, _COARSE = 256, 32
_MOST_VALUES = 20_000
_CLOSE = 4096  # integers that are no farther apart have a table of their own


@dataclass(frozen=True, slots=True)
class View:
    """``encode`` gives the cell of each output; ``order`` lists the cells, the least like input one first."""

    name: str
    size: int
    encode: Callable[[Outputs], Codes]
    order: Codes
    edges: Array | None = None  # of thresholds, for the description

    def describe(self, start: int, stop: int) -> str:
        """The event that consists of the cells ``order[start:stop]``."""
        if self.edges is None:
            return f"{self.name} in a set of {stop - start} of {self.size} cells"
        if start == 0:
            return f"{self.name} < {self.edges[stop - 1]:.17g}"
        return f"{self.name} >= {self.edges[start - 1]:.17g}"


def views_of(take: Take, first: Outputs, second: Outputs) -> Iterator[View]:
    """Everything that is worth looking at in one column."""
    a, b = take(first), take(second)
    edges = _edges(a, b, _FINE)
    if len(edges):
        yield View(a.name, len(edges) + 1, lambda o: _bin(take(o), edges), np.arange(len(edges) + 1), edges)
    for how_many in (_FINE, _COARSE):
        yield by_ratio(f"{a.name}, binned,", _binned(take, _edges(a, b, how_many)), first, second)
    if not (_is_whole(a.numbers).all() and _is_whole(b.numbers).all()):
        yield by_ratio(f"the lowest bit of {a.name}", lambda o: _step(take(o)), first, second)
        yield by_ratio(f"size and lowest bit of {a.name}", lambda o: _size_and_step(take(o)), first, second)
    yield by_ratio(f"the last six bits of {a.name}", lambda o: _last_bits(take(o)), first, second)
    yield from _exact_values(take, first, second)


def thresholds_of(take: Take, first: Outputs, second: Outputs) -> Iterator[View]:
    """The short list, for the many columns that are made from others."""
    a, b = take(first), take(second)
    edges = _edges(a, b, _FINE)
    if len(edges):
        yield View(a.name, len(edges) + 1, lambda o: _bin(take(o), edges), np.arange(len(edges) + 1), edges)
        yield by_ratio(f"{a.name}, binned,", _binned(take, edges), first, second)


def by_ratio(name: str, key: Callable[[Outputs], Codes], first: Outputs, second: Outputs) -> View:
    """Cells are the values of ``key`` that occurred, and one for all others; ordered by likelihood ratio."""
    a, b = key(first), key(second)
    seen, places = _most_frequent(*_distinct(np.concatenate([a, b])))
    size = len(seen) + 1
    p = np.bincount(places[: len(a)], minlength=size)
    q = np.bincount(places[len(a) :], minlength=size)
    ratio = np.log(p + 0.5) - np.log(q + 0.5)
    return View(name, size, lambda o: _place(key(o), seen), np.argsort(ratio, kind="stable"))


def _distinct(codes: Codes) -> tuple[Codes, Codes]:
    """Those that occur, in order, and the place of each; if they lie close together, without sorting."""
    if not len(codes) or int(codes.max()) - int(codes.min()) >= _CLOSE:
        return np.unique(codes, return_inverse=True)
    low = codes.min()
    occurs = np.bincount(codes - low) > 0
    return np.flatnonzero(occurs) + low, (np.cumsum(occurs) - 1)[codes - low]


def _most_frequent(seen: Codes, places: Codes) -> tuple[Codes, Codes]:
    """At most that many values get a cell; the others share the last one."""
    if len(seen) <= _MOST_VALUES:
        return seen, places
    counts = np.bincount(places)
    kept = np.sort(np.argpartition(counts, -_MOST_VALUES)[-_MOST_VALUES:])
    renamed = np.full(len(seen), len(kept))
    renamed[kept] = np.arange(len(kept))
    return seen[kept], renamed[places]


def _place(keys: Codes, seen: Array) -> Codes:
    """The position of each key among those that were seen, or one past the end."""
    if int(seen[-1]) - int(seen[0]) < _CLOSE:  # a table of all between them is quicker than a search
        positions = np.zeros(int(seen[-1] - seen[0]) + 1, dtype=np.int64)
        positions[seen - seen[0]] = np.arange(len(seen))
        inside = positions[np.clip(keys, seen[0], seen[-1]) - seen[0]]
    else:
        inside = np.minimum(np.searchsorted(seen, keys), len(seen) - 1)
    return np.where(seen[inside] == keys, inside, len(seen)).astype(np.int64)


# Numbers ---------------------------------------------------------------------------------------------------


def _edges(a: Column, b: Column, how_many: int) -> Array:
    """Quantiles of both samples together, closer towards the two ends."""
    pooled = np.sort(np.concatenate([_finite(a), _finite(b)]))
    if len(pooled) == 0:
        return pooled
    even = np.linspace(0, len(pooled) - 1, how_many).astype(np.int64)
    doubling = 2 ** np.arange(int(np.log2(len(pooled))) + 1) - 1
    ranks = np.concatenate([even, doubling, len(pooled) - 1 - doubling])
    return np.unique(pooled[np.clip(ranks, 0, len(pooled) - 1)])


def _finite(column: Column) -> Array:
    return column.numbers if column.labels is None else column.numbers[column.labels == 0]


def _bin(column: Column, edges: Array) -> Codes:
    """0 below the first edge, len(edges) from the last on; labels count as below."""
    codes = _above(edges, column.numbers)
    return codes if column.labels is None else np.where(column.labels > 0, 0, codes)


def _above(edges: Array, numbers: Array) -> Codes:
    """How many of the edges each number reaches."""
    if len(numbers) and numbers.dtype == np.int64 and int(numbers.max()) - int(numbers.min()) < _CLOSE:
        low = numbers.min()
        between = np.arange(low, int(numbers.max()) + 1)  # searched for once each, not once a number
        reached: Codes = np.searchsorted(edges, between, side="right")[numbers - low]
        return reached
    return np.searchsorted(edges, numbers, side="right")


def _binned(take: Take, edges: Array) -> Callable[[Outputs], Codes]:
    """Bins for numbers, and a cell for each label."""

    def codes(outputs: Outputs) -> Codes:
        column = take(outputs)
        bins = _above(edges, column.numbers)
        return bins if column.labels is None else np.where(column.labels > 0, -column.labels, bins)

    return codes


def _exact_values(take: Take, first: Outputs, second: Outputs) -> Iterator[View]:
    """The values that occur, one by one; and whether a value was seen on one side only."""
    a, b = _keys(take(first)), _keys(take(second))
    name = take(first).name
    distinct_a, distinct_b = np.unique(a), np.unique(b)
    if len(distinct_a) + len(distinct_b) < 0.9 * (len(a) + len(b)):
        yield by_ratio(f"the exact value of {name}", lambda o: _keys(take(o)), first, second)

    def seen(outputs: Outputs) -> Codes:
        keys = _keys(take(outputs))
        on_first, on_second = (_place(keys, d) < len(d) for d in (distinct_a, distinct_b))
        return np.where(on_first, np.where(on_second, 2, 3), np.where(on_second, 0, 1))

    yield View(f"{name}, by where it was seen,", 4, seen, np.arange(4))


def _keys(column: Column) -> Codes:
    """An integer for each exact value: for a float its bits."""
    bits: Codes = np.ascontiguousarray(column.numbers).view(np.int64)
    if column.labels is None:
        return bits
    return np.where(column.labels > 0, mix(column.labels), bits)


# Bits ------------------------------------------------------------------------------------------------------


def _step(column: Column) -> Codes:
    """The exponent of the lowest bit that is set: the float is a multiple of no higher power of two."""
    fraction, exponent = np.frexp(column.numbers.astype(np.float64))
    whole = np.abs(np.ldexp(fraction, 53)).astype(np.int64)
    _, zeros = np.frexp((whole & -whole).astype(np.float64))
    return np.where(whole == 0, 5000, exponent.astype(np.int64) - 53 + zeros)


def _size_and_step(column: Column) -> Codes:
    _, exponent = np.frexp(column.numbers.astype(np.float64))
    return exponent.astype(np.int64) * 10_000 + _step(column)


def _last_bits(column: Column) -> Codes:
    """Of the number itself where it is whole, else of its mantissa; the same however numbers are stored."""
    numbers = np.ascontiguousarray(column.numbers)
    if numbers.dtype == np.int64:
        return numbers & 63
    whole = _is_whole(numbers)
    return np.where(
        whole, np.where(whole, numbers, 0).astype(np.int64) & 63, 64 + (numbers.view(np.int64) & 63)
    )


def _is_whole(numbers: Array) -> npt.NDArray[np.bool_]:
    whole: npt.NDArray[np.bool_] = (numbers == np.rint(numbers)) & (np.abs(numbers) < 2.0**53)
    return whole


# Several columns -------------------------------------------------------------------------------------------


def mix(codes: Array) -> Codes:
    """A scrambling of 64-bit integers without collisions (the finaliser of splitmix64)."""
    z = codes.astype(np.int64).view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Codes = (z ^ (z >> np.uint64(31))).view(np.int64)
    return mixed


def joined(keys: list[Codes]) -> Codes:
    """One code for a tuple of codes."""
    together = np.zeros_like(keys[0])
    for key in keys:
        together = mix(together ^ mix(key))
    return together


def whole_output(outputs: Outputs) -> Codes:
    return joined([_keys(column) for column in outputs.columns])


def pattern(outputs: Outputs) -> Codes:
    """Which columns hold numbers, and the labels of the others."""
    labels = [c.labels for c in outputs.columns if c.labels is not None]
    return joined(labels) if labels else np.zeros(outputs.count, dtype=np.int64)


def pattern_and(take: Take, first: Outputs, second: Outputs) -> Callable[[Outputs], Codes]:
    """The pattern together with a bin of one column."""
    binned = _binned(take, _edges(take(first), take(second), _COARSE))
    return lambda o: joined([pattern(o), binned(o)])


def separation(a: Column, b: Column) -> float:
    """How far two samples of a column are apart, cheaply: the largest distance of their binned laws."""
    edges = _edges(a, b, _COARSE)
    take: Any = lambda c: c  # noqa: E731
    codes = _binned(take, edges)
    low = min(1 - a.kinds, 0)
    size = len(edges) + 1 - low
    p, q = (np.bincount(codes(c) - low, minlength=size) / max(len(c.numbers), 1) for c in (a, b))  # type: ignore[arg-type]
    spread = np.sqrt(p + q + 1e-9)
    return float(np.max(np.abs(p - q) / spread))


def ratio_score(takes: list[Take], first: Outputs, second: Outputs) -> Take:
    """The sum over columns of the logarithm of the binned likelihood ratio."""
    tables = []
    for take in takes:
        binned = _binned(take, _edges(take(first), take(second), _COARSE))
        view = by_ratio("", binned, first, second)
        a, b = view.encode(first), view.encode(second)
        p, q = (np.bincount(c, minlength=view.size) + 0.5 for c in (a, b))
        tables.append((view.encode, np.log(p) - np.log(q)))

    def score(outputs: Outputs) -> Column:
        total = np.zeros(outputs.count)
        for encode, table in tables:
            total += table[encode(outputs)]
        return Column("the likelihood-ratio score", total)

    return score


def linear_score(columns: list[int], first: Outputs, second: Outputs) -> Take:
    """The direction in which two clouds of points are farthest apart, measured in their spread (Fisher)."""

    def points(outputs: Outputs) -> Floats:
        return np.stack([outputs.columns[i].numbers.astype(np.float64) for i in columns], axis=1)

    a, b = points(first), points(second)
    middle, scale = a.mean(axis=0), np.concatenate([a, b]).std(axis=0) + 1e-300
    a, b = (a - middle) / scale, (b - middle) / scale
    spread = (np.cov(a.T, ddof=0) + np.cov(b.T, ddof=0)).reshape(len(columns), len(columns))
    weights = np.linalg.solve(spread + 1e-9 * np.eye(len(columns)), a.mean(axis=0) - b.mean(axis=0))
    return lambda o: Column("a linear score", ((points(o) - middle) / scale) @ weights)
