"""Values that only the kernel makes, so that whoever is given one may rely on what it says.

``Priced``, ``Paid`` and ``Released`` are the steps of a charge.  A copy, a pickle, or an object that other
code constructed looks the same and is refused.
"""

from __future__ import annotations

from typing import Any, TypeVar
from weakref import WeakSet

_Value = TypeVar("_Value", bound="OnlyHere")


class OnlyHere:
    """A value that counts only if the kernel made it."""

    __slots__ = ("__weakref__",)

    def __reduce__(self) -> Any:
        raise TypeError(f"a {type(self).__name__} cannot be copied: the kernel makes it")


_MADE: WeakSet[OnlyHere] = WeakSet()


def made_here(value: _Value) -> _Value:
    """Marks a value as made by the kernel.  A law over the source forbids this call anywhere else."""
    _MADE.add(value)
    return value


def require(value: object, kind: type[_Value]) -> _Value:
    """The value, if the kernel made it; TypeError otherwise, before anything happens."""
    if type(value) is not kind or value not in _MADE:
        raise TypeError(f"a {kind.__name__} is needed that the kernel made")
    return value
