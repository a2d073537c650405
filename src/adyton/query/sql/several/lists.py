"""x = ANY (list) and x <> ALL (list) as IN, which is what they mean."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from adyton.errors import InvalidRequest

if TYPE_CHECKING:  # the parser costs more than all other imports
    from sqlglot import exp

# Of a list as text, up to the comma behind it or the bracket that ends the list.
ELEMENT = re.compile(
    r"""\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*+)"|(?P<plain>[^\s{}",\\]++(?:\s++[^\s{}",\\]++)*+))\s*(?:,|\}\Z)""",
    re.DOTALL,
)
_HIDDEN = re.compile(r"\\(.)", re.DOTALL)
_TRUTHS = {"t": True, "true": True, "f": False, "false": False}


def elements(text: str) -> list[str | None]:
    """What stands in {a,"b c",NULL}; InvalidRequest for anything but a list of values."""
    text = text.strip()
    if not text.startswith("{") or not text.endswith("}"):
        raise InvalidRequest("a list is written as '{a,b}' or ARRAY['a', 'b']")
    found: list[str | None] = []
    place = 1
    while text[1:-1].strip() and place < len(text):
        one = ELEMENT.match(text, place)
        if one is None:
            nested = "a list of lists is not supported" if "{" in text[1:] else "a list is written as '{a,b}'"
            raise InvalidRequest(nested)
        plain = one["plain"]
        if plain is None:
            found.append(_HIDDEN.sub(r"\1", one["quoted"]))
        else:
            found.append(None if plain.upper() == "NULL" else plain)
        place = one.end()
    return found


def in_list(node: exp.Expr, joined: set[str], *, of_truths: bool) -> exp.Expr:
    """The comparison as IN, if it is one with a list; ``joined`` gets the text that a list was written as.

    ``of_truths``: what is compared with it is true or false.
    """
    from sqlglot import exp

    listed, some = listed_in(node.expression)
    if listed is None or some is not isinstance(node, exp.EQ):
        return node
    values, kind = listed, None
    while isinstance(values, exp.Paren | exp.Cast):
        kind = values.args["to"] if isinstance(values, exp.Cast) and kind is None else kind
        values = values.this
    if isinstance(values, exp.Literal) and values.is_string:
        joined.add(values.name.casefold())
        inner = kind.expressions[0] if kind is not None and kind.expressions else None
        of_truths = of_truths or (inner is not None and inner.is_type("boolean"))
        found = [_literal(one, of_truths=of_truths) for one in elements(values.name)]
    elif isinstance(values, exp.Array):
        found = values.expressions
    else:
        return node
    if all(isinstance(one, exp.Null) for one in found):  # then it does not matter what is compared
        joined.update(one.name.casefold() for one in node.this.find_all(exp.Identifier, exp.Literal))
    if any(isinstance(one, exp.Array) for one in found):
        raise InvalidRequest("a list of lists is not supported", reason="not_supported")
    chosen = _chosen(node, [one for one in found if not isinstance(one, exp.Null)], len(found))
    return chosen if some else exp.Not(this=exp.paren(chosen))


def _chosen(node: exp.Expr, known: list[exp.Expr], number: int) -> exp.Expr:
    """Whether it is one of those that are known; NULL, if not, where one of the list is NULL."""
    from sqlglot import exp

    chosen: exp.Expr = exp.In(this=node.this, expressions=known) if known else exp.false()
    if len(known) == number or (isinstance(node, exp.EQ) and _only_counts_if_true(node)):
        return chosen
    return exp.Case(ifs=[exp.If(this=chosen, true=exp.true())])


def _only_counts_if_true(node: exp.Expr) -> bool:
    from sqlglot import exp

    above = node.parent
    while isinstance(above, exp.And | exp.Or | exp.Paren):
        above = above.parent
    return isinstance(above, exp.Where)


def listed_in(node: exp.Expr) -> tuple[exp.Expr | None, bool]:
    """What ANY, SOME or ALL stands before, and whether one of it is enough."""
    from sqlglot import exp

    if isinstance(node, exp.Any | exp.All):
        return node.this, isinstance(node, exp.Any)
    called = node.name.upper() if isinstance(node, exp.Anonymous) else ""
    if called in ("ANY", "SOME", "ALL") and len(node.expressions) == 1:
        return node.expressions[0], called != "ALL"
    return None, False


def _literal(text: str | None, *, of_truths: bool) -> exp.Expr:
    """An element of a list; a string reads as what it is compared with, unless that is true or false."""
    from sqlglot import exp

    if text is None:
        return exp.null()
    if of_truths and text.lower() in _TRUTHS:
        return exp.Boolean(this=_TRUTHS[text.lower()])
    return exp.Literal.string(text)
