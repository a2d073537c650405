"""What each tool takes, made from the arguments of its operations.  Nothing unknown is taken, so a misspelt
price is never no price.

No tool takes a path or a token, and none has a word for a budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import create_model, model_validator

from adyton.operations.operation import Operation
from adyton.operations.words import Word
from adyton.transports.http.bodies import Body, field_of

_NAMED = {
    "study": "the name of a study, from list_studies",
    "holdout": "the name of a holdout, from list_studies",
    "name": "the name of a study or a holdout, from list_studies",
}
_NUMBER = Word("number", int, "of the receipt that paid for it")
_ONE_OR_SEVERAL = "give query, or queries, and not both"


def place_word(operations: Sequence[Operation[Any, Any]]) -> str | None:
    """The argument that names what a tool is used on; None where nothing has to be named."""
    kinds = {operation.place.of for operation in operations} - {"server"}
    return None if not kinds else kinds.pop() if len(kinds) == 1 else "name"


def arguments_of(tool: str, operations: Sequence[Operation[Any, Any]]) -> type[Body]:
    """All that the operations of a tool take.  What not all of them have may be left out."""
    words: dict[str, Word] = {}
    place = place_word(operations)
    if place is not None:
        words[place] = Word(place, str, _NAMED[place], short=True)
    if "number" in operations[0].place.names:
        words["number"] = _NUMBER
    every = [{word.name for word in operation.words} for operation in operations]
    for operation in operations:
        for word in operation.words:
            in_all = all(word.name in names for names in every)
            words.setdefault(word.name, word if in_all else replace(word, required=False))
    fields: Any = {word.name: field_of(word) for word in words.values()}
    made: type[Body] = create_model(
        tool.title().replace("_", ""),
        __base__=_OneOrSeveral if {"query", "queries"} <= words.keys() else Body,
        **fields,
    )
    return made


class _OneOrSeveral(Body):
    """One query, or several that are to be asked together."""

    @model_validator(mode="after")
    def one_or_several(self) -> _OneOrSeveral:
        said = self.words()
        if ("query" in said) == ("queries" in said):
            raise ValueError(_ONE_OR_SEVERAL)
        return self
