"""Units that are split into parts, and units that are kept back: the same ones on every engine, whatever
their values are.

A part is a span of salted hashes of who the unit is, or, where rows are units, of the position of the row in
its source.  Hashes are compared as texts: all engines write md5 alike, and none has to make a number of it.
"""

from __future__ import annotations

from collections.abc import Set
from fractions import Fraction

from adyton.engines.spelling.rows import Dialect
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import PrivacyUnit, Reserve

_DIGITS = 12
_PAST_ALL = "g"  # follows all hexadecimal digits
# One for all studies: of two studies of the same persons, or rows, the smaller reserve lies in the larger
# one, and an amended study has the reserve that it had.
_RESERVE_SALT = "adyton,reserve,"


def part_of(unit: str, salt: str, dialect: Dialect) -> str:
    """The hash that says in which part a unit is.  Theorem: SPLIT-STUDY."""
    told = f"md5(CAST({unit} AS {dialect.text_type}))"  # of fixed length
    return f"substr(md5(concat({dialect.text(f'{salt},part,')}, {told})), 1, {_DIGITS})"


def in_part(named: Set[int | None], parts: int, dialect: Dialect) -> str:
    """A condition on the column ``part``; nothing is read unless it is one part that is meant."""
    part = next(iter(named)) if len(named) == 1 else None
    if part is None or parts == 1 or not 1 <= part <= parts:
        raise InvalidRequest("where units are split, one part of them is read for each query")
    first, last = edge(part - 1, parts), edge(part, parts)
    hashed = dialect.byte_order("part")
    return f"{hashed} >= {dialect.text(first)} AND {hashed} < {dialect.text(last)}"


def edge(part: int, parts: int) -> str:
    """Below which the hashes of the first so many parts lie."""
    return _PAST_ALL if part == parts else f"{-(-part * 16**_DIGITS // parts):0{_DIGITS}x}"


def kept_by(reserve: Reserve, unit: str, dialect: Dialect) -> str:
    """Whether a unit is one of those that are read: of the others, or of the reserve where it is opened.

    Claim:    which units are in the reserve depends on who they are, or on their position, and on the share.
    Source:   derived here.  Theorem: RESERVE-TEST.
    """
    told = f"md5(CAST({unit} AS {dialect.text_type}))"
    hashed = dialect.byte_order(f"substr(md5(concat({dialect.text(_RESERVE_SALT)}, {told})), 1, {_DIGITS})")
    return f"{hashed} {'<' if reserve.opened else '>='} {dialect.text(reserve_edge(reserve.share))}"


def reserve_edge(share: Fraction) -> str:
    """Below which the hashes of the reserve lie."""
    return edge(share.numerator, share.denominator)


def check_parts(unit: PrivacyUnit, in_order: bool, told_alike: bool) -> None:
    """Refuses to split units, or to keep some back, that cannot be told apart in the same way whenever the
    source is read.
    """
    into, how = (
        ("split into parts", "split") if unit.parts > 1 else ("kept in a reserve", "kept in a reserve")
    )
    if unit.person is None and not in_order:
        raise InvalidRequest(
            f"rows of a database have no position, so they cannot be {into}: write "
            "privacy.unit = 'person', or use a file"
        )
    if unit.person is not None and not told_alike:
        raise InvalidRequest(
            f"units are {how} by a hash of the person {unit.person!r}, which must be an integer or a string"
        )
