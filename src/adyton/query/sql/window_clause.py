"""Windows: functions of the rows of an answer, with OVER (PARTITION BY ... ORDER BY ... ROWS ...)."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from adyton.query.released.nodes import Frame, Released, ReleasedName, Window
from adyton.query.released.windows import ENDS, OCCURRING, RANKS, SHIFTS, TOTALS
from adyton.query.sql.expressions import SqlText
from adyton.query.sql.functions.arguments import arguments
from adyton.query.sql.names import called, title

if TYPE_CHECKING:
    from adyton.query.sql.released import Reader

WINDOWS = (*RANKS, *SHIFTS, *ENDS)
NO_ROWS = "windows look at the rows of the answer, never at single rows of the table"
_MOST = 10_000


def read_window(reader: Reader, node: exp.Expr, behind: bool) -> Released:
    source = reader.source
    source.check_parts(node, "this", "partition_by", "order", "spec", "over")
    if not reader.windows:
        raise source.refusal(node, "windows stand in SELECT, QUALIFY and ORDER BY only, not in one another")
    function = node.this
    name = called(source, function) if type(function) is exp.Anonymous else title(function)
    if name not in (*WINDOWS, *TOTALS, OCCURRING):
        raise source.refusal(
            node, f"{source.title(function)} is no window; windows are {', '.join((*TOTALS, *WINDOWS))}"
        )
    reader.windows, reader.in_window = False, True
    partition = tuple(_partition(reader, one) for one in node.args.get("partition_by") or ())
    order = reader.terms(node.args.get("order"), behind=behind)
    if name in (*RANKS, *SHIFTS) and not order:
        raise source.refusal(node, f"{name} needs ORDER BY in its OVER (...)")
    inner = _arguments(reader, function, name, behind)
    reader.windows, reader.in_window = True, False
    return Window(name, inner, partition, order, read_frame(source, node, ordered=bool(order)))


def _arguments(reader: Reader, node: exp.Expr, name: str, behind: bool) -> tuple[Released, ...]:
    inner = node.expressions
    if name == "NTILE":
        (tiles,) = arguments(reader.source, node, "NTILE(number)", 1)
        return (_small(reader, tiles, 1),)
    if name in RANKS:
        arguments(reader.source, node, f"{name}() OVER (ORDER BY ...)", 0)
        return ()
    if name == "COUNT" and len(inner) == 1 and type(inner[0]) in (exp.Star, exp.Literal):
        return ()
    if name in SHIFTS and 1 <= len(inner) <= 3:
        more = (_small(reader, inner[1], 0),) if len(inner) > 1 else ()
        default = (reader.number(inner[2], behind),) if len(inner) > 2 else ()
        return (reader.number(inner[0], behind), *more, *default)
    if name == OCCURRING:  # the count, and the group whose values are counted
        return (reader.number(inner[0], behind), reader.value(inner[1], behind=behind))
    (value,) = arguments(reader.source, node, f"{name}(value) OVER (...)", 1)
    return (reader.number(value, behind),)


def _small(reader: Reader, node: exp.Expr, least: int) -> Fraction:
    value = reader.source.constant(node)
    if value.denominator != 1 or not least <= value <= _MOST:
        raise reader.source.refusal(node, f"a whole number is needed here, {least} to {_MOST}")
    return value


def _partition(reader: Reader, node: exp.Expr) -> str:
    value = reader.value(node)
    if not isinstance(value, ReleasedName) or value.name not in reader.key_names():
        raise reader.source.refusal(node, f"PARTITION BY names groups of the answer; {NO_ROWS}")
    return value.name


def read_frame(source: SqlText, node: exp.Expr, *, ordered: bool) -> Frame:
    """Without ORDER BY all rows; with it those up to the row and its peers, or as ROWS says."""
    spec = node.args.get("spec")
    if spec is None:
        return Frame(None, 0, peers=True) if ordered else Frame()
    source.check_parts(spec, "kind", "start", "start_side", "end", "end_side")
    start = _end(source, node, spec.args.get("start"), spec.args.get("start_side"))
    end = _end(source, node, spec.args.get("end"), spec.args.get("end_side"))
    if str(spec.args.get("kind")).upper() == "RANGE":
        if (start, end) not in ((None, 0), (None, None)):
            raise source.refusal(
                node, "RANGE goes from UNBOUNDED PRECEDING to CURRENT ROW or to the end; or write ROWS"
            )
        return Frame(start, end, peers=True)
    return Frame(start, end)


def _end(source: SqlText, node: exp.Expr, said: object, side: object) -> int | None:
    if said in ("UNBOUNDED", None):
        return None
    if said == "CURRENT ROW":
        return 0
    number = source.constant(said) if isinstance(said, exp.Expr) else None
    if number is None or number.denominator != 1 or not 0 <= number <= _MOST:
        raise source.refusal(node, f"a frame counts whole rows, at most {_MOST}")
    return -int(number) if str(side).upper() == "PRECEDING" else int(number)
