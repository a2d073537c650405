"""Options of commands, and whole commands, from the table of operations.

Numbers are read when the command works, and not by the parser of options, so that --json also covers errors.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from adyton.operations.operation import Operation
from adyton.operations.results import printable
from adyton.operations.table import operations
from adyton.operations.words import VOCABULARY, Word
from adyton.transports.places import HoldoutPlace, StudyPlace, opened_holdout, opened_server, shown
from adyton.transports.terminal import Json, one_price, show, whole

Arguments = Callable[[], dict[str, Any]]
ServerAddress = Annotated[
    str, typer.Argument(help="The address of a server, https://host.", metavar="ADDRESS", show_default=False)
]
Column = Annotated[
    str | None, typer.Option("--column", help="Which column, if there are several.", metavar="NAME")
]
_KEYWORD = inspect.Parameter.KEYWORD_ONLY


Command = Callable[..., None]


def takes(
    operation: Operation[Any, Any], *, but: Sequence[str] = (), only: Sequence[str] | None = None
) -> Callable[[Command], Command]:
    """The arguments of an operation take the place of the parameter ``arguments``, which says what they were.

    ``only``: these, which may be left out; what the operation is done with is then not loaded.
    """
    words = [word for word in operation.words if word.name not in but] if only is None else _named(only)
    return lambda function: _with_words(function, words, _help(inspect.getdoc(function) or "", operation))


def takes_words(*names: str) -> Callable[[Command], Command]:
    """The same for a command that is no operation over the network."""
    return lambda function: _with_words(function, _named(names), inspect.getdoc(function) or "")


def _named(names: Sequence[str]) -> list[Word]:
    return [replace(VOCABULARY[name], required=False) for name in names]


def _help(text: str, operation: Operation[Any, Any]) -> str:
    """With the word of the table about the cost."""
    first, _, rest = text.partition("\n\n")
    cost = "It is charged." if operation.spends else "Free of charge."
    return f"{first} {cost}" + (f"\n\n{rest}" if rest else "")


def _with_words(function: Command, words: Sequence[Word], text: str, skipped: Sequence[str] = ()) -> Command:
    own = inspect.signature(function, eval_str=True).parameters
    parameters: list[inspect.Parameter] = []
    for name, parameter in own.items():
        if name in skipped:
            continue
        parameters += _parameters(words) if name == "arguments" else [parameter.replace(kind=_KEYWORD)]

    def command(**said: Any) -> None:
        if "arguments" in own:
            said["arguments"] = partial(_read, words, {word.name: said.pop(word.name) for word in words})
        function(**said)

    command.__name__, command.__doc__ = function.__name__, text
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def _parameters(words: Sequence[Word]) -> list[inspect.Parameter]:
    """Prices first."""
    return [_parameter(word) for word in sorted(words, key=lambda word: not word.price)]


def _parameter(word: Word) -> inspect.Parameter:
    """An argument where it is one in Python too, and has to be given; otherwise an option."""
    kind: Any = bool if word.is_flag else Path if word.items else str
    default: Any = word.default if word.is_flag or word.default is None else str(word.default)
    if word.required and (word.positional or word.items):
        info: Any = typer.Argument(help=word.sentence, show_default=False)
    else:
        flags = [word.option] if word.flag or word.default is False else []
        metavar = None if word.is_flag else word.metavar
        info = typer.Option(*flags, help=word.sentence, metavar=metavar, show_default=False)
    if word.required:
        default = inspect.Parameter.empty
    elif default is None:
        kind = kind | None
    return inspect.Parameter(word.name, _KEYWORD, default=default, annotation=Annotated[kind, info])


def _read(words: Sequence[Word], said: dict[str, Any]) -> dict[str, Any]:
    """What was said; whole numbers may be written 1e5 or 100,000."""
    spelled = {word.name: word.name.upper() if word.positional else word.option for word in words}
    wholes = {word.name for word in words if word.type is int}
    known = {name: value for name, value in said.items() if value is not None}
    if {word.name for word in words if word.price} == {"epsilon", "share"}:  # paid for at once
        one_price(known)
    return {name: whole(value, spelled[name]) if name in wholes else value for name, value in known.items()}


# Whole commands --------------------------------------------------------------------------------------------


def add_commands(groups: dict[str, typer.Typer]) -> None:
    """A command for each operation that has none of its own."""
    for operation in operations():
        group, name = groups.get(operation.place.noun), operation.command.split(" ")[-1]
        if group is None or operation.command != f"{operation.place.group}{name}":
            continue
        known = {one.name or one.callback.__name__ for one in group.registered_commands if one.callback}
        if name not in known:
            group.command(name)(command_of(operation))


def command_of(operation: Operation[Any, Any]) -> Command:
    """What opens the place that was named, does it there, and prints the result."""
    place_kind = {"study": StudyPlace, "holdout": HoldoutPlace}.get(operation.place.of, ServerAddress)

    def work(
        place: Any, *, arguments: Arguments, values_column: Column = None, as_json: Json = False
    ) -> None:
        def made(thing: Any) -> Any:
            return printable(operation.apply(thing, _with_files(operation, arguments(), values_column)))

        if operation.place.of == "study":
            shown(place, made, as_json)
        else:
            opener: Any = opened_holdout if operation.place.of == "holdout" else opened_server
            show(lambda: in_place(opener, place, made), as_json)

    work.__annotations__["place"] = place_kind
    work.__name__ = operation.name
    text = _help(f"{operation.help}." + (f"\n\n{operation.about}" if operation.about else ""), operation)
    skipped = () if operation.sends_items else ("values_column",)
    return _with_words(work, operation.words, text, skipped)


def in_place(
    opener: Callable[[str], AbstractContextManager[Any]], place: str, made: Callable[[Any], Any]
) -> Any:
    with opener(place) as thing:
        return made(thing)


def _with_files(operation: Operation[Any, Any], words: dict[str, Any], column: str | None) -> dict[str, Any]:
    """Predictions are read from files."""
    if not operation.sends_items:
        return words
    from adyton.holdout.classes.files import read_submitted

    files = {word.name for word in operation.words if word.items}
    return {name: read_submitted(said, column) if name in files else said for name, said in words.items()}
