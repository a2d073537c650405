"""What is written as JSON and read back, by msgspec, from the declaration of a class alone.

A document is a dataclass, and its keys are its fields, in their order.  Where they are not, ``json_keys``
lists them: a name may be that of a property, ``absent=reason`` is a key for an attribute of another name, and
``feeds=budget.feeds`` is found in another attribute, and ``free?`` is left out where it has its default.
What is written, what is read, and the schema that is published follow from the class.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from fractions import Fraction
from functools import cache, reduce
from math import inf, isfinite
from numbers import Integral, Real
from operator import attrgetter, or_
from types import GenericAlias, NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, ValidationError, convert, defstruct, to_builtins

from adyton.errors import InvalidRequest, sealed
from adyton.kernel.exact import decimal_text, decimal_units, rational


class _Exact(int):
    """In JSON a decimal text, with every digit."""


class _End(float):
    """In JSON null where an interval has no such end."""

    nowhere: ClassVar[float]


class _Low(_End):
    nowhere = -inf


class _High(_End):
    nowhere = inf


Units = Annotated[int, _Exact]  # of 10**-18
LowEnd = Annotated[float, _Low]
HighEnd = Annotated[float, _High]
_WORD = re.compile(r"(?s)^Invalid enum value .*(?= - at `)|^Invalid enum value .*")  # which it is
_AS_THEY_ARE = frozenset((str, int, float, bool, NoneType))
_LARGEST = sys.float_info.max
_Finite = Annotated[float, Meta(ge=-_LARGEST, le=_LARGEST)]


class Document:
    """A dataclass that is written as JSON, and read back.

    >>> from adyton.certify.values import Proof
    >>> Proof(1, "ab", "cd").to_json()
    {'number': 1, 'digest': 'ab', 'previous': 'cd'}
    >>> Proof.from_json({"number": 1, "digest": 2, "previous": "cd"})
    Traceback (most recent call last):
    adyton.errors.InvalidRequest: this is no Proof of adyton: Expected `str`, got `int` - at `$.digest`
    """

    __slots__ = ()
    json_keys: ClassVar[str] = ""

    def to_json(self) -> dict[str, Any]:
        """The documented JSON object, as plain Python values."""
        found: dict[str, Any] = to_builtins(_shaped(self), enc_hook=_plain)
        return found

    @classmethod
    def from_json(cls, told: Mapping[str, Any], **known: Any) -> Self:
        """What ``to_json`` wrote, and fields that it does not write.

        InvalidRequest names the key that is missing or wrong.
        """
        kind: Any = cls
        return sealed(
            lambda: cls._from_shape(convert(told, _shape_of(kind), dec_hook=_read), **known),
            lambda wrong: f"this is no {cls.__name__} of adyton{_why(wrong)}",
        )

    @classmethod
    def _from_shape(cls, shape: Any, **known: Any) -> Self:
        """From what was read: a checked attribute for each key."""
        return cls(**read_fields(cls, shape) | known)


def read_fields(cls: Any, shape: Any) -> dict[str, Any]:
    """The fields of which the attribute or the key was read."""
    found = {}
    for attribute, name, is_plain in _read_into(cls):
        if (value := getattr(shape, attribute)) is not UNSET:
            found[name] = value if is_plain else restored(value)
    return found


def restored(value: Any) -> Any:
    """As documents hold it."""
    if type(value) in _AS_THEY_ARE:
        return value
    if isinstance(value, _Shape):
        return value.document._from_shape(value)
    if isinstance(value, list):
        return tuple(map(restored, value))
    if isinstance(value, dict):
        return {name: restored(one) for name, one in value.items()}
    if isinstance(value, _OneOf):
        return _which(value)._from_shape(value)
    return int(value) if isinstance(value, _Exact) else float(value) if isinstance(value, _End) else value


@cache
def _read_into(cls: Any) -> tuple[tuple[str, str, bool], ...]:
    """Attributes of what was read, the fields that they become, and whether these are as they were read."""
    names = {one.name for one in fields(cls) if one.init}
    each = ((key, key.attribute if key.attribute in names else key.name) for key in _keys(cls))
    return tuple((key.attribute, name, _is_plain(key.hint)) for key, name in each if name in names)


def _is_plain(hint: Any) -> bool:
    inner = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return all(one in _AS_THEY_ARE or get_origin(one) is Literal for one in inner)


def _which(shape: Any) -> Any:
    """The one that has all its keys."""
    for cls in shape.documents:
        if all(key.optional or getattr(shape, key.attribute) is not UNSET for key in _keys(cls)):
            return cls
    raise ValueError("none of several documents")


def _why(wrong: Exception) -> str:
    """Without what was read."""
    return f": {_WORD.sub('Unexpected word', str(wrong))}" if isinstance(wrong, ValidationError) else ""


def schemas(*documents: Any) -> dict[str, dict[str, Any]]:
    """The JSON Schemas of documents and of all that is in them, by their names."""
    _, found = msgspec.json.schema_components(map(_shape_of, documents), schema_hook=_schema)
    return {name: _bare(one) for name, one in found.items()}


def _bare(schema: Any) -> Any:
    """Without bounds that say that a number is finite: JSON has no others."""
    if isinstance(schema, list):
        return list(map(_bare, schema))
    if not isinstance(schema, dict):
        return schema
    return {name: _bare(one) for name, one in schema.items() if one not in (-_LARGEST, _LARGEST)}


# Shapes ----------------------------------------------------------------------------------------------------


class _Written:
    """One of several documents, as it is written."""

    __slots__ = ()


class _Shape(Struct, _Written, kw_only=True, omit_defaults=True):
    document: ClassVar[type[Document]]


class _OneOf(Struct, kw_only=True, omit_defaults=True):
    documents: ClassVar[tuple[type[Document], ...]]


class _Key(Struct):
    name: str
    attribute: str
    hint: Any
    optional: bool
    default: Any


@cache
def _shape_of(cls: Any, read: bool = True) -> type[Struct]:
    """What msgspec knows of a document.  To write one, nothing is checked, and numbers stay as they are."""
    members: list[Any] = []
    for key in _keys(cls):
        kind = _kind(key.hint, read)
        if not key.optional:
            members.append((key.attribute, kind))
        elif read:
            members.append((key.attribute, kind | UnsetType, UNSET))
        else:
            empty = get_origin(kind)
            none = msgspec.field(default_factory=empty) if empty in (list, dict) else key.default
            members.append((key.attribute, kind, none))
    return defstruct(
        cls.__name__,
        members,
        bases=(_Shape,),
        namespace={"document": cls, "__doc__": (cls.__doc__ or "").partition("\n\n")[0]},
        rename={key.attribute: key.name for key in _keys(cls)},
        kw_only=True,
        omit_defaults=True,
    )


@cache
def _one_of(several: Any) -> Any:
    """The keys of several documents, of which there is one: msgspec tells them apart by a tag alone."""
    keys = {key.name: key for cls in several for key in _keys(cls)}.values()
    needed = [[key.name for key in _keys(cls) if not key.optional] for cls in several]
    shape = defstruct(
        "Or".join(cls.__name__ for cls in several),
        [(key.attribute, _kind(key.hint, True) | UnsetType, UNSET) for key in keys],
        bases=(_OneOf,),
        namespace={"documents": several},
        rename={key.attribute: key.name for key in keys},
        kw_only=True,
        omit_defaults=True,
    )
    return Annotated[shape, Meta(extra_json_schema={"anyOf": [{"required": names} for names in needed]})]


@cache
def _keys(cls: Any) -> tuple[_Key, ...]:
    defaults = {one.name: one.default for one in fields(cls)} if is_dataclass(cls) else {}
    found = []
    for listed in (cls.json_keys or " ".join(defaults)).split():
        name, _, path = listed.removesuffix("?").partition("=")
        path = path or name
        attribute, hint = path.replace(".", "__"), reduce(_hint, path.split("."), cls)
        if attribute != path:  # msgspec takes attributes
            setattr(cls, attribute, property(attrgetter(path)))
        default = defaults.get(attribute, UNSET if UnsetType in get_args(hint) else MISSING)
        default = None if default is MISSING else default
        found.append(_Key(name, attribute, hint, listed.endswith("?"), default))
    return tuple(found)


@cache
def _hints(cls: Any) -> dict[str, Any]:
    return get_type_hints(cls, include_extras=True)


def _hint(cls: Any, attribute: str) -> Any:
    """The type of an attribute; where there are several classes, as the first has it."""
    cls = get_args(cls)[0] if get_origin(cls) in (Union, UnionType) else cls
    if attribute in (hints := _hints(cls)):
        return hints[attribute]
    made = getattr(cls, attribute)
    get = made.fget if isinstance(made, property) else made.func
    return get_type_hints(get, include_extras=True)["return"]


def _is_document(hint: object) -> bool:
    return isinstance(hint, type) and issubclass(hint, Document)


def _kind(hint: Any, read: bool) -> Any:
    """The type of a key, as msgspec knows it; where nothing is checked, that of what is in it."""
    origin, inner = get_origin(hint), get_args(hint)
    if _is_document(hint):
        return _shape_of(hint, read)
    if origin is Annotated:
        return inner[1] if inner[1] in (_Exact, _Low, _High) else hint
    if origin in (Union, UnionType):
        several = tuple(filter(_is_document, inner))
        if len(several) > 1:
            return _one_of(several) if read else _Written
        return reduce(or_, (_kind(one, read) for one in inner))
    if origin in (list, Sequence) or (origin is tuple and Ellipsis in inner):
        return GenericAlias(list, _kind(inner[0], read))
    if origin in (dict, Mapping):
        return GenericAlias(dict, (str, _kind(inner[1], read)))
    if not read and hint is not NoneType:
        return list[Any] if origin is tuple else Any
    return _Finite if hint is float else hint


# Values ----------------------------------------------------------------------------------------------------


def _shaped(document: Any) -> Any:
    cls: Any = type(document)
    return convert(document, _shape_of(cls, False), from_attributes=True, dec_hook=_marked)


def _marked(kind: type, value: Any) -> Any:
    return _shaped(value) if kind is _Written else kind(value)


def _plain(value: object) -> object:
    match value:
        case _Exact():
            return decimal_text(value)
        case _End():
            return float(value) if isfinite(value) else None
        case Integral():
            return int(value)
        case Real():
            return float(value)
    raise TypeError(f"JSON has no {type(value).__name__}")


def _read(kind: Any, value: Any) -> Any:
    try:
        if kind is _Exact:
            return _Exact(decimal_units(convert(value, str)))
        if kind is Fraction:
            return rational(convert(value, int | float), "a number")
        return kind(kind.nowhere if value is None else convert(value, _Finite))
    except (ValidationError, InvalidRequest) as wrong:
        raise ValueError(str(wrong)) from None  # msgspec names its place


def _schema(kind: type) -> dict[str, Any]:
    if kind is _Exact:
        return {"type": "string", "pattern": r"^-?[0-9]{1,120}(\.[0-9]{1,18})?$"}
    return {"type": "number"} if kind is Fraction else {"type": ["number", "null"]}
