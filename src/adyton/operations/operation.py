"""One operation: a function, who may do it, whether it is charged, and what it is called on each surface."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, wraps
from types import MethodType
from typing import Any, ClassVar, Concatenate, Generic, Literal, ParamSpec, TypeVar, get_args, overload

from adyton.operations.roles import Action
from adyton.operations.words import Word, words_of

P = ParamSpec("P")
R = TypeVar("R", covariant=True)
Surface = Literal["route", "method", "command", "tool", "page"]
SURFACES: tuple[Surface, ...] = get_args(Surface)


@dataclass(frozen=True, slots=True)
class OperationPlace:
    """What operations are done with: a study, a monitor of it, a holdout, a server.

    ``path`` is its address at a server; what stands in braces there are the words that name it.
    """

    noun: str
    path: str
    of: Literal["study", "holdout", "any", "server"]

    @property
    def group(self) -> str:
        """Of commands."""
        return "" if self.noun in ("study", "server") else f"{self.noun} "

    @property
    def names(self) -> list[str]:
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]


@dataclass(eq=False)
class Operation(Generic[P, R]):
    """An entry of a table; a table is a class, whose ``place`` says what all of its operations are about.

    ``load`` gives the function when it is needed: its signature has the arguments, its annotation the result.
    A class that inherits from a table has a method for each entry, with the signature of the function.
    """

    load: Callable[[], Callable[Concatenate[Any, P], R]]
    action: Action | None  # None: whoever holds a token
    help: str  # one line
    about: str = ""  # what else there is to say, where a person looks for help
    spends: bool = False  # it may be charged
    again: bool = True  # the same twice is the same once
    final: bool = False  # it cannot be taken back
    get: bool = False  # it is only looked at
    cached: bool = False  # a repeat is the same to the byte, and leaves without being made again
    shown: Callable[[Any], Any] = lambda made: made  # what surfaces show of the result
    path: str | None = None  # after that of the place; otherwise its name
    tool: str = ""
    command: str = ""
    page: str = ""  # within that of its place, where no form is made for it
    later: str | None = None  # what to do where no answer came back
    own: Mapping[str, Word] = field(default_factory=dict)  # words that mean something else here
    without: tuple[str, ...] = ()  # arguments that are not sent to a server
    more: tuple[Word, ...] = ()  # arguments that a server has besides
    name: str = ""
    place: OperationPlace = OperationPlace("", "", "server")

    def __set_name__(self, owner: type[OperationTable], name: str) -> None:
        self.name, self.place = name, owner.place
        group, noun = owner.place.group, owner.place.noun
        self.command = self.command or f"{group}{name}".replace("_", "-")
        self.tool = self.tool or (f"{name}_on_{noun}" if noun == "holdout" else name)
        form = f"do/{name if noun in ('study', 'holdout') else self.tool}"
        within = f"/{'holdouts' if noun == 'holdout' else 'studies'}/{{name}}"
        self.page = (
            within if self.page == "." else f"{within}/{self.page or form}" if self.page != "/" else "/"
        )

    @overload
    def __get__(self, instance: None, owner: type) -> Operation[P, R]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Callable[P, R]: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        """The entry, of a table; a method, of a class that inherits from one."""
        if "place" in vars(owner):
            return self
        return self._as_method if instance is None else MethodType(self._as_method, instance)

    @cached_property
    def function(self) -> Callable[..., Any]:
        return self.load()

    def apply(self, thing: Any, words: Mapping[str, Any]) -> Any:
        """What it makes of a thing, here or on a server.

        A method is found by its name, because a mock has methods of its own.
        """
        if isinstance(thing, OperationTable):
            return self.shown(getattr(thing, self.name)(**words))
        own = getattr(thing, self.function.__name__) if "." in self.function.__qualname__ else None
        return self.shown(own(**words) if own is not None else self.function(thing, **words))

    @cached_property
    def words(self) -> tuple[Word, ...]:
        """What it is given, but for what names its place."""
        return (*words_of(self.function, self.own, self.without), *self.more)

    @property
    def sends_items(self) -> bool:
        return any(word.items for word in self.words)

    @property
    def lists(self) -> bool:
        """Whether it answers queries that were sent: how many values they ask for is looked at before."""
        sent = {word.name for word in self.words} & {"query", "queries"}
        return bool(sent) and self.function.__annotations__["return"] in ("Answer", "list[Answer]")

    @property
    def takes_request(self) -> bool:
        return any(word.name == "request" for word in self.words)

    @property
    def route(self) -> str:
        """Its address at a server."""
        rest = self.name if self.path is None else self.path
        return f"{self.place.path}/{rest}" if rest else self.place.path

    @property
    def title(self) -> str:
        """As a heading or a button has it."""
        return self.page.rpartition("/")[2].replace("_", " ").capitalize()

    @property
    def changes(self) -> bool:
        """Whether anything is different afterwards."""
        return self.spends or self.final or not self.again

    @property
    def cost(self) -> str:
        """Free or charged, in one word for every surface."""
        return "charged" if self.spends else "free"

    @property
    def reads(self) -> Callable[[Any], Any]:
        """Makes its result of JSON."""
        made = self.function.__annotations__["return"]
        kind = eval(made, self.function.__globals__) if isinstance(made, str) else made
        if not get_args(kind):
            return getattr(kind, "from_json", _as_it_is)
        read = getattr(get_args(kind)[0], "from_json", _as_it_is)
        return lambda told: [read(one) for one in told]

    @cached_property
    def _as_method(self) -> Callable[..., Any]:
        function, signature = self.function, inspect.signature(self.function)

        @wraps(function)
        def method(owner: Any, /, *given: Any, **named: Any) -> Any:
            bound = signature.bind(owner, *given, **named)
            _, *names = signature.parameters
            words = {name: value for name in names if (value := bound.arguments.get(name)) is not None}
            for name, parameter in signature.parameters.items():
                if parameter.kind is parameter.VAR_KEYWORD:
                    words |= words.pop(name, {})
            return owner._performed(self, words)

        method.__name__ = self.name
        return method


def _as_it_is(told: Any) -> Any:
    return told


class OperationTable:
    """The operations of one kind of place."""

    place: ClassVar[OperationPlace]


def entries(table: type[OperationTable]) -> Iterator[Operation[Any, Any]]:
    """The operations of a table, without those that it inherits."""
    return (one for one in vars(table).values() if isinstance(one, Operation))
