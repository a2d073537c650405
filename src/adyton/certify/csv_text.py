"""Records as comma-separated values that a spreadsheet shows and does not execute.

Spreadsheets take a cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a line break for a formula.  A
group that was discovered may begin so: whoever wrote a row has written it.  An apostrophe before it
makes it a text.  An apostrophe that already stands before such a sign gets another one, so that a program can
take one away again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")  # the last four begin formulas in East Asian settings
_NUMBER = re.compile(r"[+-][0-9]+(\.[0-9]+)?")
_QUOTED = re.compile(r'[,"\r\n]')  # the module csv leaves a carriage return bare, and a line would end there
_NOTHING = '""'  # an empty text, which is not NULL; and a line without anything would be passed over


def csv_text(names: Sequence[str], records: Iterable[Mapping[str, Any]]) -> str:
    """After a line of names a line for each record; what is None is empty, and an empty text is in quotes."""
    rows = (map(record.__getitem__, names) for record in records)
    lines = (",".join(map(_cell, row)) for row in (names, *rows))
    return "".join(f"{line or _NOTHING}\n" for line in lines)


def _cell(value: Any) -> str:
    """Numbers stay as they are, also those that are texts."""
    if not isinstance(value, str):
        return "" if value is None else str(value)
    if not value:
        return _NOTHING
    text = f"'{value}" if _FORMULA.match(value) and not _NUMBER.fullmatch(value) else value
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text
