"""Functions of strings.  A string of a row is one of some public ones, so a function of it is a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from sqlglot import exp

from adyton.kernel.terms.expressions import Condition, NumberExpression
from adyton.query.sql.functions.arguments import arguments, several, whole_number
from adyton.query.sql.functions.casts import digits_of
from adyton.query.sql.functions.values import (
    Texts,
    Value,
    chosen,
    described,
    is_text,
    joined,
    recoded,
    relabelled,
    texts_of,
)
from adyton.query.sql.names import called

if TYPE_CHECKING:
    from adyton.query.sql.expressions import SqlText

_LONGEST = 10_000
_WIDEST = 1_000
_PART_FIRST = ("LOCATE", "CHARINDEX")
Change = Callable[[str], str]


def read_text(source: SqlText, node: exp.Expr) -> Texts:
    """A string whose possible values are public."""
    return _texts(source, node, source.operand(node))


def _texts(source: SqlText, node: exp.Expr, value: Value) -> Texts:
    if not is_text(value):
        raise source.refusal(node, f"a string is needed here, not {described(value)}")
    return texts_of(value)  # type: ignore[arg-type]  # by the lines above


def read_like(source: SqlText, node: exp.Expr) -> Condition:
    """x [NOT] LIKE 'pattern' or ILIKE, perhaps with ESCAPE: % is any string, _ any character."""
    escape = None
    if type(node) is exp.Escape:
        node, mark = source.sides(node)
        escape = _written(source, mark)
        if len(escape) != 1 or type(node) not in (exp.Like, exp.ILike):
            raise source.refusal(node, "one character follows ESCAPE, behind LIKE 'pattern'")
    source.check_parts(node, "this", "expression", "negate")
    texts, pattern = read_text(source, node.this), _written(source, node.args["expression"])
    folds: Change = str.lower if type(node) is exp.ILike else str
    marks = _marks(source, node, folds(pattern), escape)
    wanted, said = (False, "is unlike") if node.args.get("negate") else (True, "is like")
    with source.at(node):
        return chosen(texts, lambda label: is_like(folds(label), marks) is wanted, f"{said} {pattern[:40]!r}")


def _marks(source: SqlText, node: exp.Expr, pattern: str, escape: str | None) -> list[str]:
    """The characters of a pattern; one that stands for itself has an equals sign before it."""
    marks, characters = [], iter(pattern)
    for mark in characters:
        if mark == escape:
            following = next(characters, None)
            if following is None:
                raise source.refusal(node, "nothing follows the escape at the end of the pattern")
            marks.append(f"={following}")
        else:
            marks.append(mark if mark in "%_" else f"={mark}")
    return marks


def is_like(label: str, marks: Sequence[str]) -> bool:
    """Whether ``label`` is like the pattern.  After a mismatch the last % takes one character more: a longer
    way back is never needed, so that no pattern takes long.
    """
    at, mark, last, resumed = 0, 0, -1, 0
    while at < len(label):
        if mark < len(marks) and marks[mark] in ("_", f"={label[at]}"):
            at, mark = at + 1, mark + 1
        elif mark < len(marks) and marks[mark] == "%":
            last, resumed, mark = mark, at, mark + 1
        elif last >= 0:
            resumed += 1
            at, mark = resumed, last + 1
        else:
            return False
    return all(one == "%" for one in marks[mark:])


def read_joined(source: SqlText, node: exp.Expr) -> Texts:
    """a || b."""
    return _joined(source, node, source.operands(node))


def _concat(source: SqlText, node: exp.Expr) -> Texts:
    return _joined(source, node, several(source, node, "CONCAT(string, string, ...)", 1))


def _joined(source: SqlText, node: exp.Expr, parts: list[exp.Expr]) -> Texts:
    with source.at(node):
        # What is joined to a string becomes one, if it is a whole number or a truth.
        return reduce(joined, [_texts(source, part, digits_of(source.operand(part))) for part in parts])


def _written(source: SqlText, node: exp.Expr) -> str:
    value = source.operand(node)
    if not isinstance(value, str):
        raise source.refusal(node, "a written string is needed here, such as 'abc'")
    return value


def _changed(change: Change) -> Callable[[SqlText, exp.Expr], Texts]:
    def read(source: SqlText, node: exp.Expr) -> Texts:
        (inner,) = arguments(source, node, f"{called(source, node)}(string)", 1)
        return relabelled(read_text(source, inner), change)

    return read


def _substring(source: SqlText, node: exp.Expr) -> Texts:
    name = called(source, node)
    inner, start, *length = arguments(source, node, f"{name}(string, start, length)", 2, 3)
    first = whole_number(source, start, 1, _LONGEST) - 1  # others count apart in different databases
    size = whole_number(source, length[0], 0, _LONGEST) if length else _LONGEST
    return relabelled(read_text(source, inner), lambda label: label[first : first + size])


def _cut(cut: Callable[[str, int], str]) -> Callable[[SqlText, exp.Expr], Texts]:
    def read(source: SqlText, node: exp.Expr) -> Texts:
        inner, length = arguments(source, node, f"{called(source, node)}(string, length)", 2)
        size = whole_number(source, length, 0, _LONGEST)
        return relabelled(read_text(source, inner), lambda label: cut(label, size))

    return read


def _replace(source: SqlText, node: exp.Expr) -> Texts:
    inner, old, new = arguments(source, node, "REPLACE(string, 'old', 'new')", 3)
    before, after = _written(source, old), _written(source, new)
    if not before:
        raise source.refusal(node, "REPLACE needs a string to replace")
    return relabelled(read_text(source, inner), lambda label: label.replace(before, after))


def _trimmed(trim: Callable[[str, str], str]) -> Callable[[SqlText, exp.Expr], Texts]:
    """Without spaces, or without any of the characters that are written behind the string."""

    def read(source: SqlText, node: exp.Expr) -> Texts:
        inner, *given = arguments(source, node, f"{called(source, node)}(string)", 1, 2)
        characters = _some(source, given[0]) if given else " "
        return relabelled(read_text(source, inner), lambda label: trim(label, characters))

    return read


def _padded(source: SqlText, node: exp.Expr) -> Texts:
    """Made as long as is said, by characters before or behind it; what is longer is cut at its end."""
    name = called(source, node)
    inner, length, *given = arguments(source, node, f"{name}(string, length, 'padding')", 2, 3)
    size, padding = whole_number(source, length, 0, _WIDEST), _some(source, given[0]) if given else " "

    def padded(label: str) -> str:
        more = (padding * _WIDEST)[: max(0, size - len(label))]
        return (more + label[:size]) if name == "LPAD" else (label[:size] + more)

    return relabelled(read_text(source, inner), padded)


def _part(source: SqlText, node: exp.Expr) -> Texts:
    """What stands between two places of a string, counted from 1; empty where there is no such part."""
    inner, between, place = arguments(source, node, "SPLIT_PART(string, 'between', number)", 3)
    mark, number = _some(source, between), whole_number(source, place, 1, _LONGEST)
    return relabelled(read_text(source, inner), lambda label: (label.split(mark) + [""] * number)[number - 1])


def _place(source: SqlText, node: exp.Expr) -> NumberExpression:
    """Where a string first has a part, counted from 1; 0 where it has none."""
    name = called(source, node)
    given = arguments(source, node, f"{name}(string, 'part')", 2)
    inner, part = reversed(given) if name in _PART_FIRST else given
    wanted, texts = _some(source, part), read_text(source, inner)
    return recoded(texts.code, [label.find(wanted) + 1 for label in texts.labels])


def _some(source: SqlText, node: exp.Expr) -> str:
    """A written string that is not empty."""
    if not (written := _written(source, node)):
        raise source.refusal(node, "this string is empty: databases do not agree on what that means here")
    return written


def _length(source: SqlText, node: exp.Expr) -> NumberExpression:
    (inner,) = arguments(source, node, f"{called(source, node)}(string)", 1)
    texts = read_text(source, inner)
    return recoded(texts.code, [len(label) for label in texts.labels])


def _tested(test: Callable[[str, str], bool], said: str) -> Callable[[SqlText, exp.Expr], Condition]:
    def read(source: SqlText, node: exp.Expr) -> Condition:
        inner, part = arguments(source, node, f"{called(source, node)}(string, 'part')", 2)
        wanted = _written(source, part)
        with source.at(node):
            return chosen(
                read_text(source, inner), lambda label: test(label, wanted), f"{said} {wanted[:40]!r}"
            )

    return read


TEXTS: dict[str, Callable[[SqlText, exp.Expr], Value]] = {
    "CONCAT": _concat,
    "CONTAINS": _tested(lambda a, b: b in a, "contains"),
    **dict.fromkeys(("ENDS_WITH", "ENDSWITH"), _tested(str.endswith, "ends with")),
    **dict.fromkeys(("LENGTH", "LEN", "CHAR_LENGTH", "CHARACTER_LENGTH"), _length),
    "LEFT": _cut(lambda label, size: label[:size]),
    **dict.fromkeys(("LOWER", "LCASE"), _changed(str.lower)),
    **dict.fromkeys(("LPAD", "RPAD"), _padded),
    "LTRIM": _trimmed(str.lstrip),
    "REPLACE": _replace,
    "RIGHT": _cut(lambda label, size: label[-size:] if size else ""),
    "REVERSE": _changed(lambda label: label[::-1]),
    "RTRIM": _trimmed(str.rstrip),
    "SPLIT_PART": _part,
    **dict.fromkeys(("STARTS_WITH", "STARTSWITH"), _tested(str.startswith, "starts with")),
    **dict.fromkeys(("SUBSTR", "SUBSTRING"), _substring),
    **dict.fromkeys(("STRPOS", "INSTR", *_PART_FIRST), _place),
    **dict.fromkeys(("TRIM", "BTRIM"), _trimmed(str.strip)),
    **dict.fromkeys(("UPPER", "UCASE"), _changed(str.upper)),
}
