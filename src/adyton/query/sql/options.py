"""The head of a question: SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(name = value, ...).

The parser does not know it.  Its words are read here, one by one, and taken out before the rest is parsed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

from sqlglot.tokenizer_core import Token, TokenType

from adyton.errors import InvalidRequest
from adyton.exact import rational
from adyton.query.sql.place import placed, refuse

_T = TokenType
_NAMES = {_T.VAR, _T.IDENTIFIER}
_NUMBERS = ("epsilon", "delta", "max_groups_contributed")
_REASONS = {
    "max_rows_contributed": "how many rows of a person count is declared in the study",
    "group_selection_strategy": "groups are declared, or found by a threshold",
}


@dataclass(frozen=True, slots=True)
class Options:
    """What the head says; None where it says nothing."""

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    max_groups_contributed: int | None = None
    privacy_unit_column: str | None = None

    def __post_init__(self) -> None:
        if self.epsilon is not None and self.epsilon <= 0:
            raise InvalidRequest("epsilon must be above 0")
        if self.delta is not None and not 0 <= self.delta < 1:
            raise InvalidRequest("delta must lie from 0 to below 1")
        if self.max_groups_contributed is not None and self.max_groups_contributed < 1:
            raise InvalidRequest("max_groups_contributed must be at least 1")


def taken_options(words: list[Token], text: str) -> tuple[Options, list[Token]]:
    """What the head says, and the words without it."""
    if [word.token_type for word in words[:2]] != [_T.SELECT, _T.WITH]:
        return Options(), words
    reader = _Reader(words, text, 2)
    if reader.says("DIFFERENTIAL_PRIVACY"):
        reader.position += 1
    if not reader.says("OPTIONS"):
        reader.refuse("write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5) and then what is asked")
    reader.position += 1
    return reader.options(), [words[0], *words[reader.position :]]


class _Reader:
    """Reads words one by one, and refuses the first that cannot stand where it does."""

    def __init__(self, words: list[Token], text: str, position: int) -> None:
        self.words, self.text, self.position = words, text, position

    def options(self) -> Options:
        self.take({_T.L_PAREN}, "OPTIONS lists its values in brackets")
        read: dict[str, Fraction | int | str] = {}
        while True:
            word = self.take({_T.VAR}, "OPTIONS lists name = value")
            name = word.text.lower()
            if name in read:
                refuse(word, self.text, f"OPTIONS names {name} twice")
            self.take({_T.EQ}, "OPTIONS lists name = value")
            read[name] = self.value(word, name)
            if (
                self.take({_T.COMMA, _T.R_PAREN}, "after a value follows a comma or the closing bracket").text
                == ")"
            ):
                with placed(self.words[1], self.text):
                    return Options(**read)  # type: ignore[arg-type]  # each was read as its name needs it

    def value(self, word: Token, name: str) -> Fraction | int | str:
        if name == "privacy_unit_column":
            return self.take(_NAMES, "privacy_unit_column is the name of a column").text
        if name not in _NUMBERS:
            known = ", ".join((*_NUMBERS, "privacy_unit_column"))
            refuse(word, self.text, f"this option is not known: {_REASONS.get(name, 'known are ' + known)}")
        point = "." * self.points()
        written = point + self.take({_T.NUMBER}, f"{name} is a number written out").text
        with placed(word, self.text):
            number = rational(written, name)
        if name != "max_groups_contributed":
            return number
        if number.denominator != 1:
            refuse(word, self.text, "max_groups_contributed is a whole number")
        return int(number)

    def points(self) -> bool:
        """Whether a point begins the number that follows, as in .01; if so it is taken."""
        first, second = (*self.words[self.position : self.position + 2], *self.words[-2:])[:2]
        begins = first.token_type is _T.DOT and second.token_type is _T.NUMBER
        begins = begins and second.start == first.end + 1
        self.position += begins
        return begins

    def take(self, kinds: set[TokenType], reason: str) -> Token:
        if self.position >= len(self.words) or self.words[self.position].token_type not in kinds:
            self.refuse(reason)
        self.position += 1
        return self.words[self.position - 1]

    def says(self, name: str) -> bool:
        if self.position >= len(self.words):
            return False
        word = self.words[self.position]
        return word.token_type is _T.VAR and word.text.upper() == name

    def refuse(self, reason: str) -> NoReturn:
        refuse(self.words[min(self.position, len(self.words) - 1)], self.text, reason)
