"""Texts in a picture: whatever a category or a study is called, it is shown as text that fits.

Control characters, marks that turn the direction of writing among them, are written as Python writes them:
some are forbidden in XML, and the others would change how their neighbors are read.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence

LONGEST_NAME = 40  # letters of a category beside its bar
_CUT = "…"
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # controls, formats, halves of pairs, breaks


def visible(text: str) -> str:
    """The same text with every character that is no sign on paper written as its number."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(one) if unicodedata.category(one) in _HIDDEN else one for one in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def shortened(text: str, most: int = LONGEST_NAME) -> str:
    shown = visible(text[: most + 1])
    return shown if len(text) <= most and len(shown) <= most else shown[: most - 1] + _CUT


def told_apart(names: Sequence[str]) -> list[str]:
    """Names short enough to be drawn; where two look alike, later ones are numbered."""
    taken: set[str] = set()
    found = []
    for name in names:
        short = label = shortened(name) or "(empty)"
        number = 2
        while label in taken:
            label, number = f"{short} ({number})", number + 1
        taken.add(label)
        found.append(label)
    return found


def lines(text: str, letters: int, most: int) -> list[str]:
    """A text over a few lines, cut where it is longer."""
    wrapped = textwrap.wrap(visible(text[: letters * (most + 1)]), letters)
    if len(wrapped) <= most and len(text) <= letters * (most + 1):
        return wrapped
    return [*wrapped[: most - 1], shortened(wrapped[most - 1] + " " * letters, letters)]
