"""Expressions over what is released: values, keys and literals, and what is computed from them.

They are no part of a query: nothing is read for them, and nothing is paid.  A value that is not a number
is missing, as NULL is in SQL; whatever is computed from it is missing too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from operator import eq, ge, gt, le, lt, ne
from typing import Literal

from adyton.errors import InvalidRequest

Sign = Literal["<", "<=", "=", "<>", ">=", ">"]
SIGNS = {"<": lt, "<=": le, "=": eq, "<>": ne, ">=": ge, ">": gt}


@dataclass(frozen=True, slots=True)
class ReleasedName:
    """A value or a key of the answer, by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class Apply:
    """A function of numbers: one of ``FUNCTIONS``.

    ``UNROUNDED`` is what a mean would be if its values had not been rounded to multiples of a step: at most
    half of it away.  SQL cannot write it.
    """

    function: str
    inner: tuple[Released, ...]


@dataclass(frozen=True, slots=True)
class When:
    """What stands behind the first condition that is true, or else ``otherwise``."""

    branches: tuple[tuple[Having, Released], ...]
    otherwise: Released


GROUPED = "GROUPED"


@dataclass(frozen=True, slots=True)
class ComputedLabel:
    """A text made of values, keys and literals (``TEXTS``), or a ``NUMBER`` made of keys alone: a column
    without intervals.  ``GROUPED`` is NULL where rows are not grouped by a key, and only there.
    """

    function: str
    inner: tuple[Released, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """Which rows beside its own a window looks at, by their places in its order; None: to the end.

    With ``peers`` those count as its own that are equal to it in the order.
    """

    start: int | None = None
    end: int | None = None
    peers: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """A function of other rows of the answer: those with the same keys ``partition``, in an order."""

    function: str
    inner: tuple[Released, ...]
    partition: tuple[str, ...] = ()
    order: tuple[Term, ...] = ()
    frame: Frame = Frame()


Released = ReleasedName | Fraction | str | bool | None | Apply | When | Window | ComputedLabel  # None is NULL
Side = Released


@dataclass(frozen=True, slots=True)
class Relation:
    left: Side
    sign: Sign
    right: Side

    def __post_init__(self) -> None:
        if self.sign not in SIGNS:
            raise InvalidRequest(f"unknown comparison {self.sign!r}")


@dataclass(frozen=True, slots=True)
class Every:
    parts: tuple[Having, ...]


@dataclass(frozen=True, slots=True)
class Some:
    parts: tuple[Having, ...]


@dataclass(frozen=True, slots=True)
class Opposite:
    inner: Having


@dataclass(frozen=True, slots=True)
class IsNull:
    inner: Released


Having = Relation | Every | Some | Opposite | IsNull


@dataclass(frozen=True, slots=True)
class Term:
    """What rows are ordered by, a name or an expression; the greatest first if ``descending``."""

    name: str | Apply | When | Window | ComputedLabel
    descending: bool = False

    @property
    def value(self) -> Released:
        return ReleasedName(self.name) if isinstance(self.name, str) else self.name


Node = Released | Having | Term


def inside(node: Node) -> Iterator[Node]:
    """``node`` and all that it is made of."""
    yield node
    for part in _parts(node):
        yield from inside(part)


def names_in(node: Node) -> set[str]:
    """The values and keys that it speaks of."""
    windows = [one for one in inside(node) if isinstance(one, Window)]
    keys = {name for window in windows for name in window.partition}
    return keys | {one.name for one in inside(node) if isinstance(one, ReleasedName)}


def has_window(node: Node) -> bool:
    return any(isinstance(one, Window) for one in inside(node))


def is_label(node: Released) -> bool:
    """Whether it is a literal or a text, or a CASE that gives strings: such a column has no intervals."""
    if isinstance(node, When):
        return isinstance(node.otherwise, str | bool | ComputedLabel)
    return isinstance(node, Fraction | str | bool | ComputedLabel)


def is_null_by_value(node: Released) -> bool:
    """Whether released values, and not only public facts, decide where it is NULL."""
    return any(
        (isinstance(one, Apply) and one.function == "NULLIF")
        or (isinstance(one, When) and None in (one.otherwise, *(then for _, then in one.branches)))
        for one in inside(node)
    )


def _parts(node: Node) -> tuple[Node, ...]:
    match node:
        case Apply(_, inner) | ComputedLabel(_, inner):
            return inner
        case When(branches, otherwise):
            return (*(part for branch in branches for part in branch), otherwise)
        case Window(_, inner, _, order):
            return (*inner, *order)
        case Relation(left, _, right):
            return (left, right)
        case Every(parts) | Some(parts):
            return parts
        case Opposite(inner) | IsNull(inner):
            return (inner,)
        case Term():
            return (node.value,)
    return ()
