"""One whole number for each of many cells: an array inside, Python's integers outside; and lines of them.

Machine integers where they fit, else an array of Python's own: nothing is rounded, and nothing wraps
around.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]  # of int64, or of Python's integers
_ROOM = 2**62  # below it two machine integers can be added


def whole(values: Any) -> Array:
    """An array of exactly these integers."""
    if isinstance(values, Cells):
        return values.array
    if isinstance(values, np.ndarray) and values.dtype in (np.int64, object):
        return values
    try:
        return np.array(values, np.int64)
    except OverflowError:
        return np.array(values, object)


def weighted(*terms: tuple[int, Array]) -> Array:
    """The sum of weight times array: in machine integers where no part of it can be too large for them."""
    reach = sum(abs(weight) * largest(array) for weight, array in terms)
    if reach >= _ROOM:
        terms = tuple((weight, array.astype(object)) for weight, array in terms)
    total: Array = terms[0][1] * terms[0][0]
    for weight, array in terms[1:]:
        total = total + array * weight
    return total


def largest(array: Array) -> int:
    """The largest magnitude."""
    return max(int(array.max()), -int(array.min())) if array.size else 0


class Cells(Sequence[int]):
    """Integers of cells, one after the other.  Equal to any sequence of the same integers.

    Of most cells an engine has nothing to say: ``Cells.at`` holds the others only.
    """

    __slots__ = ("_size", "places", "values")

    def __init__(self, values: Any) -> None:
        self.values: Array = whole(values)
        self.places: npt.NDArray[np.int64] | None = None
        self._size = len(self.values)

    @classmethod
    def at(cls, places: npt.NDArray[np.int64], values: Array, size: int) -> Cells:
        """``values`` in rising ``places`` of ``size`` cells, and 0 in all others."""
        cells = cls(values)
        if len(values) < size:
            cells.places, cells._size = places, size
        return cells

    @property
    def array(self) -> Array:
        """All cells."""
        if self.places is None:
            return self.values
        array = np.zeros(self._size, self.values.dtype)
        array[self.places] = self.values
        return array

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> Cells: ...
    def __getitem__(self, place: int | slice) -> int | Cells:
        return Cells(self.array[place]) if isinstance(place, slice) else int(self.array[place])

    def __iter__(self) -> Iterator[int]:
        return iter(self.array.tolist())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Cells):
            return np.array_equal(self.array, other.array)
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.array, dtype)

    def __repr__(self) -> str:
        return repr(list(self))
