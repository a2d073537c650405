"""Expressions over what is released: in SELECT, HAVING, QUALIFY and ORDER BY.

They are made of aggregates, groups, literals and names of the answer.  An aggregate that the SELECT list does
not show is asked for all the same, and hidden.  A window looks at the rows of the answer, never at a row of
the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from sqlglot import exp

from adyton.errors import InvalidRequest
from adyton.kernel.schema import BooleanColumn, CategoryColumn, day_of
from adyton.kernel.terms.buckets import Bucket, Group
from adyton.kernel.terms.leaves import DayFrom, DayOf
from adyton.kernel.terms.measures import Cdf, Measure
from adyton.query.names import distinct_names
from adyton.query.nodes import POINTS
from adyton.query.released.nodes import (
    Apply,
    ComputedLabel,
    Released,
    ReleasedName,
    Term,
    When,
    Window,
    has_window,
    names_in,
)
from adyton.query.sql.aggregates import is_aggregate, read_computed, read_measure
from adyton.query.sql.expressions import OPERATORS, SqlText
from adyton.query.sql.functions.arguments import arguments
from adyton.query.sql.functions.labels import (
    LABELS,
    NOT_GROUPED,
    NOT_IN_SET,
    first_that_is,
    read_choice,
    read_joined,
    read_label,
)
from adyton.query.sql.groups import Item, read_group, shown_names
from adyton.query.sql.names import called
from adyton.query.sql.quotients import quotient_measure
from adyton.query.sql.window_clause import NO_ROWS, WINDOWS, read_window
from adyton.query.text import group_value_text, measure_text

Kind = type[Fraction] | type[str] | type[bool]
_UNARY = ("ABS", "SIGN", "FLOOR", "CEIL", "SQRT", "LN", "LOG10", "LOG2", "EXP")
_ALIASES = {"CEILING": "CEIL", "POW": "POWER", "IFNULL": "COALESCE", "NVL": "COALESCE"}
_SEVERAL = ("GREATEST", "LEAST", "COALESCE", "IFNULL", "NVL")
_WHOLE = {exp.DType.INT, exp.DType.BIGINT, exp.DType.SMALLINT, exp.DType.TINYINT}
_REAL = {exp.DType.DOUBLE, exp.DType.FLOAT}
_TEXT = {exp.DType.VARCHAR, exp.DType.TEXT}
RELEASED_FUNCTIONS = (
    *_UNARY,
    *_ALIASES,
    *_SEVERAL,
    *("ROUND", "TRUNC", "POWER", "NULLIF", "SAFE_DIVIDE", "DIV", "MOD", *LABELS, *WINDOWS),
)
_PRODUCT = (exp.Mul, exp.Div)
_MOST_DIGITS, _MOST_POWER, _MOST_DIVISOR = 12, 20, 10**12


@dataclass(slots=True)
class Reader:
    """The names that an answer will have, and what the SELECT list says.  Aggregates are added as found."""

    source: SqlText
    items: Sequence[Item]
    by: tuple[Group, ...]
    measures: list[tuple[str, Measure]]
    windows: bool = False  # whether windows may stand where is read now
    in_window: bool = False
    computed: dict[int, Released] = field(default_factory=dict)  # by the place of the item

    # Expressions -----------------------------------------------------------------------------------------

    def value(self, node: exp.Expr, *, behind: bool = True) -> Released:
        """What ``node`` means; ``behind`` the SELECT list names are first those of the answer."""
        node = self.source.bare(node)
        if type(node) is exp.Null:
            return None
        if (computed := read_computed(self.source, node)) is not None:
            return computed.value(*(ReleasedName(self._asked(*part)) for part in computed.parts))
        if is_aggregate(node):
            return ReleasedName(self.measured(node))
        if not any(type(part) in (exp.Column, exp.Star, exp.Window) for part in node.walk()):
            return self._written(node)
        name = self.source.plain_name(node)
        if name is not None and behind and (found := self.by_name(name)) is not None:
            return found
        grouped = None if any(is_aggregate(part) for part in node.walk()) else self.grouped(node)
        if grouped is not None:
            return ReleasedName(grouped)
        read = _READ.get(type(node))
        if read is not None:
            return read(self, node, behind)
        if name is not None and (found := self.by_name(name)) is not None:
            return found
        raise self._unknown(node)

    def number(self, node: exp.Expr, behind: bool) -> Released:
        value = self.value(node, behind=behind)
        if value is not None and self.kind(value) is not Fraction:
            raise self.source.refusal(node, f"a number is needed here, not {self.source.title(node)}")
        return value

    def _written(self, node: exp.Expr) -> Released:
        if type(node) is exp.Boolean:
            self.source.check_parts(node, "this")
            return bool(node.this)
        if type(node) is exp.Literal and node.args["is_string"]:
            return str(node.this)
        if type(node) is exp.Cast and node.args["to"].this is exp.DType.DATE:
            return day_of(self.source.written_day(node).number).isoformat()
        if type(node) in (exp.Anonymous, exp.Case, exp.Cast, exp.TryCast):
            return _READ[type(node)](self, node, True)
        return self.source.constant(node)

    def _unknown(self, node: exp.Expr) -> InvalidRequest:
        if self.in_window:
            return self.source.refusal(node, NO_ROWS)
        if type(node) in (exp.Is, *OPERATORS):
            return self.source.refusal(
                node, "a column is no condition: write CASE WHEN ... THEN 1 ELSE 0 END"
            )
        if any(is_aggregate(part) for part in node.walk()):
            said = self.source.title(node)
            return self.source.refusal(node, f"{said} is not computed from what is released")
        known = [*self.value_names(), *self.key_names().values(), *self.key_names()]
        listed = ", ".join(list(dict.fromkeys(known))[:10])
        reason = f"ORDER BY, HAVING and arithmetic on values speak of what is released: {listed}"
        return self.source.refusal(node, reason)

    def _sum(self, node: exp.Expr, behind: bool) -> Released:
        first, rest = self.source.chain(node, (exp.Add, exp.Sub))
        value = self.number(first, behind)
        for kind, term in rest:
            value = Apply("+" if kind is exp.Add else "-", (value, self.number(term, behind)))
        return value

    def _product(self, node: exp.Expr, behind: bool) -> Released:
        """``/`` is the exact quotient.  One that is a share or a mean is asked for as that."""
        first, rest = self.source.chain(node, _PRODUCT)
        while type(bare := self.source.bare(first)) in _PRODUCT:  # (a / b) * c is one product as well
            first, inside = self.source.chain(bare, _PRODUCT)
            rest = inside + rest
        top = [first, *(part for kind, part in rest if kind is exp.Mul)]
        bottom = [part for kind, part in rest if kind is exp.Div]
        value: Released = Fraction(1)
        while (found := quotient_measure(self.source, top, bottom, self._is_listed)) is not None:
            i, j, default, measure = found
            del top[i], bottom[j]
            value = _times(value, ReleasedName(self._asked(default, measure)))
        for part in top:
            value = _times(value, self.number(part, behind))
        for part in bottom:
            value = self._quotient(part, value, self.number(part, behind))
        return value

    def _is_listed(self, measure: Measure) -> bool:
        return self._named(measure) is not None

    def _negative(self, node: exp.Expr, behind: bool) -> Released:
        self.source.check_parts(node, "this")
        return Apply("NEG", (self.number(node.this, behind),))

    def _cast(self, node: exp.Expr, behind: bool) -> Released:
        """To whole numbers it rounds, to decimals to their digits; other numbers stay as they are."""
        self.source.check_parts(node, "this", "to", "safe")
        to = node.args["to"]
        if to.this in _TEXT and not to.expressions:
            return ComputedLabel("TEXT", (self.value(node.this, behind=behind),))
        value = self.number(node.this, behind)
        if to.this in _WHOLE:
            return Apply("ROUND", (value, Fraction(0)))
        if to.this is exp.DType.DECIMAL:
            digits = [self.source.constant(one.this) for one in to.expressions]
            return Apply("ROUND", (value, digits[1])) if len(digits) == 2 else value
        if to.this in _REAL:
            return value
        raise self.source.refusal(
            node, "what is released becomes INTEGER, DOUBLE, DECIMAL or VARCHAR, nothing else"
        )

    # Functions -------------------------------------------------------------------------------------------

    def _call(self, node: exp.Expr, behind: bool) -> Released:
        name = called(self.source, node)
        if name in (*LABELS, NOT_IN_SET, NOT_GROUPED):
            return read_label(self, node, name, behind)
        if name in WINDOWS:
            raise self.source.refusal(node, f"{name} needs OVER (...): it looks at the rows of the answer")
        if name not in RELEASED_FUNCTIONS:
            known = ", ".join(dict.fromkeys(RELEASED_FUNCTIONS))
            reason = f"{name} is not a function of what is released; those are {known}"
            raise self.source.refusal(node, reason)
        if name in _UNARY or name == "CEILING":
            (inner,) = arguments(self.source, node, f"{name}(number)", 1)
            return Apply(_ALIASES.get(name, name), (self.number(inner, behind),))
        if _ALIASES.get(name, name) == "COALESCE":
            return first_that_is(self, name, node, behind)
        if name in _SEVERAL:
            listed = arguments(self.source, node, f"{name}(number, number, ...)", *range(1, 101))
            return Apply(_ALIASES.get(name, name), tuple(self.number(one, behind) for one in listed))
        if name in ("ROUND", "TRUNC"):
            return self._digits(node, name, behind)
        both = arguments(self.source, node, f"{name}(number, number)", 2)
        one, other = (self.number(part, behind) for part in both)
        if name in ("SAFE_DIVIDE", "DIV"):
            quotient = self._quotient(node, one, other)
            return quotient if name == "SAFE_DIVIDE" else Apply("TRUNC", (quotient,))
        if name == "MOD":
            return self._modulo(node, one, other)
        if name in ("POWER", "POW") and not (isinstance(other, Fraction) and abs(other) <= _MOST_POWER):
            raise self.source.refusal(node, f"the exponent is a literal, at most {_MOST_POWER}")
        return Apply(_ALIASES.get(name, name), (one, other))

    def _quotient(self, node: exp.Expr, top: Released, bottom: Released) -> Released:
        if bottom == Fraction(0):
            raise self.source.refusal(node, "a quotient by 0 says nothing, and would be paid for")
        return Apply("/", (top, bottom))

    def _whole(self, node: exp.Expr, behind: bool) -> Released:
        """x // y, or x % m."""
        one, other = (self.number(side, behind) for side in self.source.sides(node))
        if type(node) is exp.Mod:
            return self._modulo(node, one, other)
        return Apply("TRUNC", (self._quotient(node, one, other),))

    def _modulo(self, node: exp.Expr, value: Released, by: Released) -> Released:
        if not isinstance(by, Fraction) or by.denominator != 1 or not 1 <= by <= _MOST_DIVISOR:
            raise self.source.refusal(
                node, "what is released is divided with a rest by a whole number, as in x % 7"
            )
        return Apply("MOD", (value, by))

    def _digits(self, node: exp.Expr, name: str, behind: bool) -> Released:
        inner, *more = arguments(self.source, node, f"{name}(number) or {name}(number, digits)", 1, 2)
        value = self.number(inner, behind)
        if name == "TRUNC":
            arguments(self.source, node, "TRUNC(number)", 1)
            return Apply("TRUNC", (value,))
        digits = self.source.constant(more[0]) if more else Fraction(0)
        if digits.denominator != 1 or abs(digits) > _MOST_DIGITS:
            raise self.source.refusal(node, f"ROUND takes at most {_MOST_DIGITS} digits")
        return Apply("ROUND", (value, digits))

    # Order -----------------------------------------------------------------------------------------------

    def terms(self, clause: exp.Expr | None, *, behind: bool = True) -> tuple[Term, ...]:
        """What an ORDER BY lists."""
        if clause is None:
            return ()
        self.source.check_parts(clause, "expressions")
        terms = []
        for node in clause.expressions:
            self.source.check_parts(node, "this", "desc", "nulls_first")  # what is missing is always last
            value = self.value(node.this, behind=behind)
            by = value.name if isinstance(value, ReleasedName) else value
            if not isinstance(by, str | Apply | When | Window | ComputedLabel) or isinstance(value, str):
                raise self.source.refusal(node.this, "this is the same for every row: it orders nothing")
            terms.append(Term(by, bool(node.args.get("desc"))))
        return tuple(terms)

    # Names -----------------------------------------------------------------------------------------------

    def by_name(self, name: str) -> Released:
        """What of the answer is called so; None if nothing is."""
        for place, item in enumerate(self.items):
            if item.alias is not None and item.alias.casefold() == name.casefold() and item.computed:
                return self.item(place)
        keys = {shown: own for own, shown in self.key_names().items()}
        for one in (*self.value_names(), *keys, *self.key_names()):
            if one.casefold() == name.casefold():
                return ReleasedName(keys.get(one, one))
        return None

    def item(self, place: int) -> Released:
        """The expression at this place of the SELECT list."""
        if place not in self.computed:
            item, allowed = self.items[place], self.windows
            self.computed[place] = None  # a name that means itself means nothing
            self.windows = True
            self.computed[place] = self._of_keys(self.value(item.node, behind=False))
            self.windows = allowed
        return self.computed[place]

    def _of_keys(self, value: Released) -> Released:
        """A number that is made of keys alone is public, and has no intervals."""
        is_number = isinstance(value, Apply | When) and self.kind(value) is Fraction and not has_window(value)
        return (
            ComputedLabel("NUMBER", (value,))
            if is_number and names_in(value) <= self.key_names().keys()
            else value
        )

    def key_names(self) -> dict[str, str]:
        """The names of groups, and what they are shown as."""
        shown = dict(shown_names(self.source, self.items))
        return {group.name: shown.get(group.name, group.name) for group in self.by}

    def value_names(self) -> list[str]:
        """The names of values, and of the points of a distribution, which are numbers as well."""
        points = [POINTS for _, measure in self.measures if isinstance(measure, Cdf)]
        return [name for name, _ in self.measures] + points

    def measured(self, node: exp.Expr) -> str:
        """The value that an aggregate asks for, which is hidden if the SELECT list does not have it."""
        return self._asked(*read_measure(self.source, node))

    def _asked(self, default: str, measure: Measure) -> str:
        found = self._named(measure)
        if found is None:
            taken = [*self.value_names(), *self.key_names(), *self.key_names().values()]
            (found,) = distinct_names([None], [default], taken)
            self.measures.append((found, measure))
        return found

    def _named(self, measure: Measure) -> str | None:
        wanted = measure_text(measure)
        return next((name for name, one in self.measures if measure_text(one) == wanted), None)

    def grouped(self, node: exp.Expr) -> str | None:
        """The group that it is, by its name; None if it is none."""
        try:
            wanted = read_group(self.source, node).text
        except InvalidRequest:  # whatever it is, it is not what was grouped by
            return None
        return next((group.name for group in self.by if group_value_text(group) == wanted), None)

    # Kinds -----------------------------------------------------------------------------------------------

    def kind(self, side: Released) -> Kind:
        """What can be compared with ``side``: numbers, strings or booleans."""
        match side:
            case bool() | str() | Fraction():
                return type(side)
            case ComputedLabel(function, _):
                return Fraction if function == "NUMBER" else str
            case When(branches, otherwise):
                return self.kind(otherwise if otherwise is not None else branches[0][1])
            case ReleasedName(name):
                group = next((group for group in self.by if group.name == name), None)
                return Fraction if group is None else _kind_of(group)
        return Fraction

    def is_day(self, side: Released) -> bool:
        if not isinstance(side, ReleasedName):
            return False
        groups = (group for group in self.by if group.name == side.name)
        return any(isinstance(group, Bucket) and isinstance(group.value, DayOf | DayFrom) for group in groups)


def _times(one: Released, other: Released) -> Released:
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return one * other
    return other if one == 1 else Apply("*", (one, other))


_READ: dict[type[exp.Expr], Callable[[Reader, exp.Expr, bool], Released]] = {
    exp.Add: Reader._sum,
    exp.Sub: Reader._sum,
    exp.Mod: Reader._whole,
    exp.IntDiv: Reader._whole,
    exp.DPipe: read_joined,
    exp.Mul: Reader._product,
    exp.Div: Reader._product,
    exp.Neg: Reader._negative,
    exp.Case: read_choice,
    exp.Cast: Reader._cast,
    exp.TryCast: Reader._cast,
    exp.Anonymous: Reader._call,
    exp.Window: read_window,
}


def _kind_of(group: Group) -> Kind:
    if isinstance(group, BooleanColumn):
        return bool
    if isinstance(group, Bucket) and group.labels is None:
        return str if isinstance(group.value, DayOf | DayFrom) else Fraction
    labels = (
        group.labels
        if isinstance(group, Bucket)
        else group.values
        if isinstance(group, CategoryColumn)
        else ()
    )
    first = labels[0] if labels else ""
    return bool if isinstance(first, bool) else Fraction if isinstance(first, int) else str
