"""Forms as browsers send them: always UTF-8, with few fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, ClassVar
from urllib.parse import parse_qsl

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import Field, File, FormParser, parse_options_header

from adyton.errors import InvalidRequest
from adyton.kernel.exact import rational
from adyton.service.limits import LIMITS

_URLENCODED, _MULTIPART = b"application/x-www-form-urlencoded", b"multipart/form-data"
_UTF_8 = (b"", b"utf-8", b"utf8")
_BROKEN = "this form cannot be read; nothing was done"


@dataclass(frozen=True, slots=True)
class Sent:
    """A file in a form, with the name that it has at the other end."""

    name: str
    file: IO[bytes]


Form = Mapping[str, str | Sent]


class OtherCharset(InvalidRequest):
    """Some charsets take very long to decode, and no browser uses one for a page of ours."""

    status: ClassVar[int] = 415


class BrokenForm(InvalidRequest):
    """It is not what its header says."""

    status: ClassVar[int] = 400


def check_charset(content_type: str) -> None:
    """Before anything of a form is read."""
    _, options = parse_options_header(content_type)
    if options.get(b"charset", b"").lower() not in _UTF_8:
        raise OtherCharset("a form is sent in UTF-8; nothing was done")


def whole_number(text: str, field: str) -> int:
    """What stands in a field, as a whole number."""
    try:
        number = rational(text.replace(",", ""), field)
    except InvalidRequest:
        number = None
    if number is None or number.denominator != 1:
        raise InvalidRequest(f"{field.replace('_', ' ')} is a whole number", field=field)
    return int(number)


def parsed_form(content_type: str, content: bytes) -> Form:
    """The fields of a form by their names: the last one of each.  No fields where it is no form."""
    kind, options = parse_options_header(content_type)
    found: Form | None = None
    try:
        if kind == _URLENCODED:
            found = _pairs(content)
        elif kind == _MULTIPART:
            found = _parts(options.get(b"boundary"), content)
        else:
            found = {}
    except (FormParserError, ValueError):
        pass
    if found is None:
        raise BrokenForm(_BROKEN)
    return found


def _pairs(content: bytes) -> Form:
    return dict(
        parse_qsl(content.decode("latin-1"), keep_blank_values=True, max_num_fields=LIMITS.form_fields)
    )


def _parts(boundary: bytes | None, content: bytes) -> Form:
    found: dict[str, str | Sent] = {}

    def keep(name: bytes | None, value: str | Sent) -> None:
        if len(found) >= LIMITS.form_fields:
            raise ValueError
        field = (name or b"").decode()
        more = isinstance(value, Sent) and field in found  # several files of one field
        found[f"{field} {len(found)}" if more else field] = value

    def field(one: Field) -> None:
        keep(one.field_name, (one.value or b"").decode())

    def file(one: File) -> None:
        one.file_object.seek(0)
        keep(one.field_name, Sent((one.file_name or b"").decode(), one.file_object))

    reader = FormParser("multipart/form-data", field, file, boundary=boundary)
    reader.write(content)
    reader.finalize()
    return found
