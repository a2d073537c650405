"""The arguments of operations: what each is called, what it holds as JSON, and what it means, once for all
surfaces.

An argument that no other operation has needs no entry here: ``Annotated[int, "what it means"]`` in the
signature of its function says the same.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Union, get_args, get_origin, is_typeddict

from adyton.population.described_tests import Method

Number = str | int | float
Named = dict[str, Number]
LONGEST_NAME = 200
_TESTS = ", ".join(get_args(Method))
_STRATEGIES = "independent, atoms, tree, optimised, product, marginals; or what is best"
_KINDS = "counts; sums, which takes both; means, which takes these, sums of any sign and averages"
_REFRESH = "draw the threshold's noise anew after each answer above, or keep it"


@dataclass(frozen=True, slots=True)
class Word:
    """One argument.  ``type`` is that of its JSON; ``short``: a text of at most so many letters."""

    name: str
    type: Any
    help: str
    metavar: str = "TEXT"
    price: bool = False
    short: bool = False
    required: bool = True
    default: Any = None
    positional: bool = False
    flag: str = ""  # on the command line, where that is not its name
    least: int | None = None
    most: int | None = None

    @property
    def sentence(self) -> str:
        """What it means, for people."""
        text = f"price: {self.help}" if self.price else self.help
        return f"{text[:1].upper()}{text[1:]}."

    @property
    def option(self) -> str:
        """As the command line calls it."""
        return self.flag or f"--{self.name.replace('_', '-')}"

    @property
    def several(self) -> bool:
        """Whether it is a list of texts."""
        return bool(self.type == list[str])

    @property
    def is_flag(self) -> bool:
        """Whether it is yes or no."""
        return self.type is bool

    @property
    def items(self) -> bool:
        """Whether it has one value for each item of a holdout."""
        return self.type in (list[Any], dict[str, list[Any]])


def _price(name: str, kind: Any, meaning: str, metavar: str) -> Word:
    return Word(name, kind, meaning, metavar, price=True)


_WORDS = (
    Word("query", str, "SQL, see docs/reference/sql.md", "SQL"),
    Word("queries", list[str], "SQL; all are answered, or none", "SQL", least=1),
    _price("within", Number | Named, "half-width of each 95 % noise interval; or n=100,mean=5", "W"),
    _price("epsilon", Number, "epsilon of all that this pays for", "E"),
    _price("share", Number, "share of what is left to you, e.g. 0.1", "S"),
    _price("scale", Number, "noise scale of each value", "X"),
    Word("expected_rows", int, "rows you expect to match, for the width of a mean", "N"),
    Word("expect", Number | Named, "population widths for this value, or name=value,name=value", "V"),
    Word("dialect", str, "the database in whose SQL it is written; or the study's", "NAME", short=True),
    Word("strategy", str, f"how a batch of counts is measured: {_STRATEGIES}", "NAME", short=True),
    Word("request", str, "an id that makes a retry safe: one id is charged once", "ID", short=True),
    Word("column", str, "an integer or real column; table.column for a further private table", short=True),
    Word("low_fraction", Number, "of the values at or below the lower end: 0.005 or more", "F"),
    Word("high_fraction", Number, "of the values at or below the upper end: 0.995 or less", "F"),
    Word("where", str, "only rows for which this is true", "CONDITION"),
    Word("alpha", Number, "level of a test on the rows", "A"),
    Word("p_value", Number, "a p-value that was computed: what it is worth now", "P", flag="--p"),
    Word("null", Number, "the value under the null hypothesis; without it all groups are alike", "X"),
    Word("method", str, f"which test it is, fixed beforehand: {_TESTS}", "NAME"),
    Word("number", int, "of the receipt that paid for it", "NUMBER"),
    Word("positives", int, "halt after so many answers above a threshold", "N"),
    Word("of", str, f"what it may be fed with: {_KINDS}", "KIND", short=True),
    Word("numeric", bool, "each answer above also has a noisy value, from the same price"),
    Word("refresh", bool, f"{_REFRESH}; or what is quieter", flag="--refresh/--keep"),
    Word("above", Number, "the threshold: is the number above it?", "T"),
    Word("predictions", list[Any], "one for each item of the holdout, in the order of the items"),
    Word("first", list[Any], "one prediction for each item, in the order of the items"),
    Word("second", list[Any], "as many, of the other model"),
    Word("models", dict[str, list[Any]], "predictions of each model, by its name"),
    Word("scores", int, "what the choice may cost, in scores: more scores, a better choice", "K"),
    Word("guess", Number, "the score you expect, e.g. on the training data", "G"),
    Word("name", str, "what the model is called, as the leaderboard shows", "NAME"),
    Word("head", str, "a digest that you kept: it must be in the chain", "DIGEST"),
    Word("after", int, "receipts after this number; a page has 500", "N", least=0, required=False, default=0),
    Word("last", int, "the newest, so many; in place of after", "N", required=False, least=1, most=500),
)
VOCABULARY = {word.name: word for word in _WORDS}


def words_of(
    function: Callable[..., Any], own: Mapping[str, Word], without: Container[str] = ()
) -> Iterator[Word]:
    """The arguments of a function, but for its first, which is what it is done with.

    ``own``: what words mean in this operation, where that is something else.
    """
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        if parameter.name in without:
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            (kind,) = get_args(_resolved(function, parameter.annotation))
            assert is_typeddict(kind)
            for name in kind.__annotations__:
                if name not in without:
                    yield replace(_word(function, name, kind, own), required=False)
            continue
        word = _word(function, parameter.name, parameter.annotation, own)
        given = parameter.default is not parameter.empty
        yield replace(
            word,
            required=word.required and not given,
            default=parameter.default if given else word.default,
            positional=parameter.kind is parameter.POSITIONAL_OR_KEYWORD,
        )


def _word(function: Callable[..., Any], name: str, annotation: Any, own: Mapping[str, Word]) -> Word:
    known = own.get(name) or VOCABULARY.get(name)
    if known is not None:
        return known
    resolved = _resolved(function, annotation)
    if get_origin(resolved) is not Annotated:
        raise TypeError(f"{name} of {function.__qualname__} means nothing yet: Annotated[..., 'its meaning']")
    kind, meaning = get_args(resolved)[:2]
    own_type = _without_none(kind)
    return Word(name, own_type, meaning, name.upper(), short=own_type is str)


def _resolved(function: Callable[..., Any], annotation: Any) -> Any:
    return eval(annotation, function.__globals__) if isinstance(annotation, str) else annotation


def _without_none(kind: Any) -> Any:
    if get_origin(kind) not in (Union, types.UnionType):
        return kind
    return Union[tuple(one for one in get_args(kind) if one is not type(None))]  # noqa: UP007  (built here)
