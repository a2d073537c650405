"""Texts of what is released, and choices among what is released.

A text is a column without intervals, beside the keys.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from adyton.query.released.nodes import (
    GROUPED,
    Apply,
    ComputedLabel,
    Having,
    IsNull,
    Opposite,
    Released,
    ReleasedName,
    When,
)
from adyton.query.sql.functions.arguments import arguments

if TYPE_CHECKING:
    from adyton.query.sql.released import Reader

LABELS = ("CONCAT", "UPPER", "LOWER")
# No text can name these: whether rows have no value of a group, and whether they are not grouped by it.
NOT_IN_SET, NOT_GROUPED = "NOT_IN_SET", "NOT_GROUPED"


def read_choice(reader: Reader, node: exp.Expr, behind: bool) -> Released:
    """CASE: numbers everywhere, or strings."""
    from adyton.query.sql.shape import read_condition  # needs this module

    source = reader.source
    source.check_parts(node, "this", "ifs", "default")
    branches = []
    for branch in node.args["ifs"]:
        source.check_parts(branch, "this", "true")
        then = reader.value(branch.args["true"], behind=behind)
        subject = node.args.get("this")
        said = branch.this if subject is None else exp.EQ(this=subject.copy(), expression=branch.this)
        branches.append((read_condition(reader, said, behind=behind), then))
    default = node.args.get("default")
    otherwise = None if default is None else reader.value(default, behind=behind)
    kinds = {reader.kind(one) for one in (*(then for _, then in branches), otherwise) if one is not None}
    if len(kinds) > 1 or (kinds != {Fraction} and otherwise is None):
        raise source.refusal(node, "a CASE gives numbers everywhere, or strings everywhere with an ELSE")
    if kinds == {Fraction}:
        chosen = _chosen(branches, otherwise)
        if chosen is None:
            raise source.refusal(node, "this is NULL everywhere: there is nothing to ask")
        return chosen
    if bool in kinds and not all(
        isinstance(one, bool) for one in (*(then for _, then in branches), otherwise)
    ):
        raise source.refusal(node, "a CASE gives TRUE or FALSE everywhere, or numbers, or strings")
    return _chosen([(when, _text(then)) for when, then in branches], _text(otherwise))


def _chosen(branches: list[tuple[Having, Released]], otherwise: Released) -> Released:
    """Without branches that literals rule out, or that stand behind one that is always taken."""
    from adyton.query.sql.shape import ALWAYS, NEVER

    kept = []
    for when, then in branches:
        if when == ALWAYS:
            otherwise = then
            break
        if when != NEVER:
            kept.append((when, then))
    return When(tuple(kept), otherwise) if kept else otherwise


def first_that_is(reader: Reader, name: str, node: exp.Expr, behind: bool) -> Released:
    """COALESCE of numbers, or of a key that may be NULL and what stands in its place."""
    listed = arguments(reader.source, node, f"{name}(number, number, ...)", *range(1, 101))
    inner = [reader.value(one, behind=behind) for one in listed]
    kinds = {reader.kind(one) for one in inner if one is not None}
    if kinds <= {Fraction}:
        return Apply("COALESCE", tuple(inner))
    if len(kinds) > 1 or None in inner or len(inner) < 2:
        raise reader.source.refusal(node, f"{name} takes numbers everywhere, or strings everywhere")
    *first, last = map(_text, inner) if bool not in kinds else inner
    return When(tuple((Opposite(IsNull(one)), one) for one in first), last)


def read_joined(reader: Reader, node: exp.Expr, behind: bool) -> Released:
    """a || b."""
    return ComputedLabel(
        "||", tuple(reader.value(part, behind=behind) for part in reader.source.operands(node))
    )


def read_label(reader: Reader, node: exp.Expr, name: str, behind: bool) -> Released:
    """A text; or whether rows are not grouped by a group, as 1 or 0."""
    inner = tuple(reader.value(one, behind=behind) for one in node.expressions)
    if not inner or (name != "CONCAT" and len(inner) != 1):
        raise reader.source.refusal(node, f"write {name}(text{', text' if name == 'CONCAT' else ''})")
    if name in (NOT_IN_SET, NOT_GROUPED):
        asked = inner[0] if name == NOT_IN_SET else ComputedLabel(GROUPED, inner)
        return When(((IsNull(asked), Fraction(1)),), Fraction(0))
    return ComputedLabel("||" if name == "CONCAT" else name, inner)


def _text(value: Released) -> Released:
    """A key that is a string is a text here, not a number."""
    return ComputedLabel("TEXT", (value,)) if isinstance(value, ReleasedName) else value
