"""A query as people read it: lists of many values are cut short.  Programs get all of it."""

from __future__ import annotations

import re

_VALUE = r"(?:'(?:[^']|'')*'|-?[0-9.]+|NULL)"
_LIST = re.compile(rf", (?P<first>{_VALUE}, {_VALUE})(?:, {_VALUE}){{6,}}, (?P<last>{_VALUE})(?!')")


def in_short(query: str) -> str:
    """'a', 'b', ..., 'z' in place of a list of more than eight values."""
    return _LIST.sub(r", \g<first>, ..., \g<last>", query)
