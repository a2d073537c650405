"""What comes in: one class a body, made from the arguments of an operation, nothing unknown in it."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from adyton.operations.operation import Operation
from adyton.operations.words import LONGEST_NAME, Word


class Body(BaseModel):
    """What is not listed is refused: a misspelt price must not be no price."""

    model_config = ConfigDict(extra="forbid", strict=True)

    def words(self, *without: str) -> dict[str, Any]:
        """Everything that was said, but for what has a place of its own."""
        return {name: value for name, value in self if value is not None and name not in without}


class ErrorFacts(BaseModel):
    """What went wrong; some kinds say more."""

    model_config = ConfigDict(extra="allow")
    kind: str
    message: str


class ErrorBody(BaseModel):
    error: ErrorFacts


@cache
def body_of(operation: Operation[Any, Any]) -> type[Body]:
    """The class of what an operation takes."""
    name = f"{operation.place.noun}_{operation.name}".title().replace("_", "")
    return made_of(name, *operation.words)


def made_of(name: str, *words: Word, base: type[Body] = Body) -> type[Body]:
    fields: Any = {word.name: field_of(word) for word in words}
    made: type[Body] = create_model(name, __base__=base, **fields)
    return made


def field_of(word: Word) -> tuple[Any, Any]:
    """The type and the default of one argument, as pydantic has them."""
    bounds: Any = {"min_length": 1, "max_length": LONGEST_NAME} if word.short else {}
    if word.least is not None:
        bounds["min_length" if word.type == list[str] else "ge"] = word.least
    if word.most is not None:
        bounds["le"] = word.most
    kind = Annotated[word.type, Field(**bounds)] if bounds else word.type
    if word.required:
        return kind, Field(description=word.help)
    return kind if word.default is not None else kind | None, Field(word.default, description=word.help)
