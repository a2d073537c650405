"""What a source column can be, which texts are what, and how one engine spells what all of them must mean."""

from __future__ import annotations

from typing import Literal, Protocol

from adyton.engines.spelling.rows import Coding

SourceType = Literal[
    "integer", "float", "decimal", "boolean", "text", "date", "timestamp", "instant", "other"
]

# Only ASCII, and only what every engine's own cast reads alike.
NUMBER = (
    "^[ \t\r\n]*[+-]?(([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?"
    "|[iI][nN][fF]([iI][nN][iI][tT][yY])?)[ \t\r\n]*$"
)
WHOLE = "^[+-]?[0-9]{1,18}([.]0*)?$"
DAY = "^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][-0-9:.+Z ]*)?$"
# A day and a time of day, with seconds and an offset from UTC if need be.
MOMENT = (
    "^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]+)?)?"
    " ?(Z|[+-][0-9]{2}(:?[0-5][0-9])?)?$"
)
FAR_SECONDS = 2**43  # later than any second that has a date; what infinite timestamps are taken for
TRUE_WORDS = ("true", "t", "yes", "y", "1")
FALSE_WORDS = ("false", "f", "no", "n", "0")


class Dialect(Coding, Protocol):
    """How one engine spells what all of them must mean."""

    text_type: str
    in_order: bool  # whether a source keeps its rows in one order
    fence: str  # after a SELECT: keeps what it computes from being written anew wherever its name is used

    def name(self, name: str) -> str:
        """The name of a source column, quoted."""

    def text_of(self, name: str, longest: int) -> str:
        """The text of a source column; NULL where it has more bytes in UTF-8, or is no text at all."""

    def text(self, value: str) -> str:
        """A literal."""

    def double(self, value: float) -> str:
        """A literal of exactly this value."""

    def matches(self, text: str, pattern: str) -> str:
        """Whether the pattern matches; a text of any length and content has an answer."""

    def number(self, source: str, kind: SourceType) -> str:
        """A double; a decimal rounded to the nearest, a text that matches NUMBER read as C's strtod does."""

    def not_a_number(self, double: str) -> str:
        """Whether it is NaN."""

    def whole(self, value: str) -> str:
        """A bigint, from a whole double below 2**63, an integer, or a text of up to 18 digits."""

    def day(self, source: str, kind: SourceType) -> str:
        """A date, of an instant in UTC, from a kind that has days or a text YYYY-MM-DD; NULL if none."""

    def days(self, date: str) -> str:
        """The bigint number of days from 1970-01-01."""

    def seconds(self, source: str, kind: SourceType) -> str:
        """The bigint of whole seconds from 1970-01-01, of a timestamp or an instant in UTC, rounded down."""

    def quotient(self, dividend: str, divisor: int) -> str:
        """The whole part of a bigint that is not negative, divided by a number above 0."""

    def date(self, day: str) -> str:
        """The date that lies a bigint of days after 1970-01-01."""

    def position(self, text: str, values: tuple[str, ...]) -> str:
        """The index of a text in a list, or NULL."""

    def byte_order(self, text: str) -> str:
        """An ASCII text, to be put in the order of its bytes."""

    def key(self, text: str) -> str:
        """A text that equals another only if their bytes do; NULL where they are no valid Unicode."""
