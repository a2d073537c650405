"""What a source column can be, and which texts are what."""

from __future__ import annotations

from typing import Literal

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
