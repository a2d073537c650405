"""Functions of statements about catalogs: what a session is, what things are called, and a few on texts."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adyton.query.text import value_text
from adyton.transports.pg.catalog.casting import SQL_NAMES, cast_to, oid_named, type_name
from adyton.transports.pg.catalog.facts import OWNER, SCHEMAS, CatalogFacts
from adyton.transports.pg.catalog.limits import LONGEST, CatalogWork, unsupported
from adyton.transports.pg.errors import SqlError
from adyton.transports.pg.settings import VERSION, SessionSettings, UnknownSetting
from adyton.transports.pg.values import ARRAYS, BOOL, INT4, NAME, OID, REGCLASS, REGNAMESPACE, REGTYPE, TEXT

_Function = Callable[..., Any]
_YES = (
    "has_table_privilege",
    "has_schema_privilege",
    "has_database_privilege",
    "has_column_privilege",
    "has_any_column_privilege",
    "pg_type_is_visible",
    "pg_function_is_visible",
    "pg_collation_is_visible",
    "pg_opclass_is_visible",
    "pg_relation_is_publishable",
)
_NO = ("pg_is_in_recovery", "pg_is_other_temp_schema", "pg_try_advisory_lock", "row_security_active")
_NULL = (
    "pg_get_expr",
    "pg_get_indexdef",
    "pg_get_constraintdef",
    "pg_get_function_result",
    "pg_get_function_arguments",
    "pg_get_function_identity_arguments",
    "pg_get_serial_sequence",
    "pg_get_ruledef",
    "pg_get_triggerdef",
    "pg_get_partkeydef",
    "shobj_description",
    "pg_get_statisticsobjdef_columns",
    "pg_advisory_unlock_all",
    "inet_server_addr",
    "inet_client_addr",
    "inet_server_port",
    "pg_tablespace_location",
    "pg_get_partition_constraintdef",
    "pg_sequence_last_value",
    "pg_my_temp_schema",
    "pg_notify",
)
_ZERO = (
    "pg_relation_size",
    "pg_total_relation_size",
    "pg_database_size",
    "pg_table_size",
    "pg_indexes_size",
    "txid_current",
)
CONSTANTS: Mapping[str, bool | int | None] = {  # functions that always say the same
    **dict.fromkeys((*_YES, "has_sequence_privilege", "has_function_privilege", "pg_has_role"), True),
    **dict.fromkeys(_NO, False),
    **dict.fromkeys(_NULL, None),
    **dict.fromkeys(_ZERO, 0),
}
FROM_RELATIONS = {  # functions behind FROM whose rows are those of a table
    "pg_get_keywords": "pg_get_keywords",
    "pg_options_to_table": "pg_options_to_table",
    "pg_available_extensions": "pg_available_extensions",
    "pg_show_all_settings": "pg_settings",
    "pg_lock_status": "pg_locks",
    "pg_timezone_names": "pg_timezone_names",
    "pg_prepared_statement": "pg_prepared_statements",
    "pg_cursor": "pg_cursors",
}
LISTS = (
    "generate_series",
    "generate_subscripts",
    "_pg_expandarray",
)  # functions of which each value is a row
_MOST_NUMBERS = 10_000
_LETTERS_AT_ONCE = 50  # of a text and a pattern that are looked at for one letter that is written
_OTHER_NAMES = {
    "current_version": "version",
    "user": "current_user",
    "session_user": "current_user",
    "current_role": "current_user",
    "current_catalog": "current_database",
    "now": "current_timestamp",
    "str_to_time": "current_timestamp",
    "array_size": "array_length",
    "array_concat": "array_cat",
    "str_position": "strpos",
    "split": "string_to_array",
}
_RETURNED: Mapping[str, tuple[str, int]] = {  # what is no text: its kind in the database, and its type
    "pg_table_is_visible": ("bool", BOOL),
    "starts_with": ("bool", BOOL),
    **dict.fromkeys(("generate_series", "generate_subscripts"), ("int4s", ARRAYS[INT4])),
    **dict.fromkeys(
        ("array_upper", "array_lower", "array_length", "cardinality", "length", "char_length", "strpos"),
        ("int4", INT4),
    ),
    **dict.fromkeys(("pg_backend_pid", "pg_char_to_encoding", "pg_stat_get_numscans"), ("int4", INT4)),
    "_pg_expandarray": ("pairs", TEXT),
    "set_config": ("changing", TEXT),
    "to_regclass": ("int8", REGCLASS),
    "to_regtype": ("int8", REGTYPE),
    "to_regnamespace": ("int8", REGNAMESPACE),
    "to_regrole": ("int8", OID),
    "current_schemas": ("texts", ARRAYS[NAME]),
    **dict.fromkeys(
        ("array_remove", "array_append", "array_prepend", "array_cat", "string_to_array"),
        ("texts", ARRAYS[TEXT]),
    ),
    **dict.fromkeys(
        ("pg_get_userbyid", "current_user", "current_database", "current_schema"), ("text", NAME)
    ),
}


def returned_by(name: str) -> tuple[str, int]:
    """The kind of value that a function gives, and its type; one that nobody knows fails when called."""
    return _RETURNED.get(_OTHER_NAMES.get(name, name), ("text", TEXT))


class Functions:
    """For one statement of a session."""

    def __init__(self, facts: CatalogFacts, session: SessionSettings, work: CatalogWork) -> None:
        self._facts, self._session, self._work = facts, session, work
        self._known: dict[str, _Function] = {
            **_PLAIN,
            "version": lambda: f"PostgreSQL {VERSION} (adyton)",
            "current_database": lambda: facts.database,
            "current_schema": lambda: "public",
            "current_user": lambda: facts.user,
            "searched": self._searched,
            "current_schemas": lambda system=False: ["pg_catalog", "public"] if system else ["public"],
            "current_setting": self._setting,
            "set_config": self._set_config,
            "pg_table_is_visible": facts.is_visible,
            "pg_get_userbyid": lambda _: facts.user,
            "pg_backend_pid": lambda: 1,
            "col_description": facts.description,
            "obj_description": lambda oid, kind=None: facts.description(oid, 0),
            "to_regclass": facts.regclass,
            "regclass_text": self._class_name,
            "to_regtype": self._regtype,
            "regtype_text": lambda oid: None if oid is None else type_name(int(oid)),
            "to_regnamespace": self._namespace,
            "regnamespace_text": lambda oid: next((n for n, o in SCHEMAS.items() if o == oid), str(oid)),
            "to_regrole": lambda _: OWNER,
            "pg_get_viewdef": lambda *_: "",
        }

    def call(self, name: str, arguments: Sequence[Any]) -> Any:
        name = _OTHER_NAMES.get(name, name)
        function = self._known.get(name)
        if function is None:
            raise SqlError(
                "42883", f"function {name[:100]}({', '.join('?' for _ in arguments)}) does not exist"
            )
        try:
            return self._work.bounded(function(*arguments))
        except (TypeError, ValueError, ArithmeticError, AttributeError, IndexError):
            raise unsupported(f"{name}() with these arguments") from None

    def _setting(self, name: str, missing_ok: bool = False) -> str | None:
        try:
            return self._session.shown(str(name))
        except UnknownSetting:
            if missing_ok:
                return None
            raise

    def _set_config(self, name: str, value: Any, local: bool = False) -> str:
        self._session.set(str(name), None if value is None else str(value))
        return self._session.shown(str(name))

    def _searched(self, text: str | None, letters: int) -> str | None:
        """A text in which a pattern of so many letters is looked for."""
        self._work.add(0 if text is None else len(text) * letters // _LETTERS_AT_ONCE)
        return text

    def _class_name(self, oid: Any) -> str | None:
        return None if oid is None else self._facts.name_of(int(oid))

    def _regtype(self, value: Any) -> Any:
        if value is None or isinstance(value, int) or str(value).isdecimal():
            return None if value is None else int(value)
        name = str(value).lower().strip('"')
        return oid_named(name) if name == "text" or oid_named(name) != TEXT else None

    def _namespace(self, value: Any) -> Any:
        return value if isinstance(value, int) or value is None else SCHEMAS.get(str(value))


def _format_type(oid: Any, modifier: Any = None) -> str | None:
    return None if oid is None else SQL_NAMES.get(int(oid), "unknown")


def _array_to_string(listed: Any, separator: str, missing: str | None = None) -> str | None:
    if listed is None:
        return None
    told = [missing if one is None else cast_to(one, "text") for one in listed]
    return str(separator).join(one for one in told if one is not None)


def _quote_ident(name: Any) -> str | None:
    if name is None:
        return None
    text = str(name)
    plain = text.isidentifier() and text == text.lower() and text.isascii()
    return text if plain else '"' + text.replace('"', '""') + '"'


def _substring(text: Any, start: Any = 1, length: Any = None) -> str | None:
    if text is None or start is None:
        return None
    end = None if length is None else int(start) - 1 + int(length)
    return str(text)[max(int(start) - 1, 0) : None if end is None else max(end, 0)]


def _replace(text: Any, old: Any, new: Any = "") -> str | None:
    if text is None:
        return None
    if str(text).count(str(old)) * len(str(new)) > LONGEST:
        raise unsupported("so large a value")
    return str(text).replace(str(old), str(new))


def _split_part(text: Any, mark: Any, at: Any) -> str:
    parts, place = str(text).split(str(mark)), int(at)
    return parts[place - 1] if 0 < place <= len(parts) else ""


def _format(pattern: Any, *values: Any) -> str:
    """%s, %I and %L."""
    given = iter(values)

    def written(mark: re.Match[str]) -> str:
        return "%" if mark[1] == "%" else str(_WRITTEN[mark[1]](next(given, None)))

    return re.sub(r"%([sIL%])", written, str(pattern))


def _text_joined(*parts: Any) -> str | None:
    """``||``: unknown where a part is."""
    return None if None in parts else "".join(cast_to(one, "text") for one in parts)


def _lists_joined(left: Any, right: Any) -> list[Any] | None:
    if left is None or right is None:
        return None
    return [
        cast_to(one, "text") for some in (left, right) for one in (some if isinstance(some, list) else [some])
    ]


def _series(first: Any, last: Any, step: Any = 1) -> Sequence[int]:
    """At most so many numbers that they are no work."""
    if None in (first, last, step):
        return []
    found = range(int(first), int(last) + (1 if int(step) > 0 else -1), int(step))
    if len(found) > _MOST_NUMBERS:
        raise unsupported("a series of so many numbers")
    return list(found)


def _repeat(text: Any, number: Any) -> str | None:
    if text is None or number is None:
        return None
    if len(str(text)) * int(number) > LONGEST:
        raise unsupported("so large a value")
    return str(text) * int(number)


def _json(*pairs: Any) -> str:
    return json.dumps({str(pairs[at]): pairs[at + 1] for at in range(0, len(pairs) - 1, 2)})


def _of_text(work: Callable[[str], Any]) -> _Function:
    return lambda value: None if value is None else work(str(value))


_WRITTEN: dict[str, _Function] = {
    "s": lambda value: "" if value is None else value,
    "I": _quote_ident,
    "L": lambda value: "NULL" if value is None else value_text(str(value)),
}
_PLAIN: dict[str, _Function] = {
    "format_type": _format_type,
    "||": _text_joined,
    "text": lambda value: cast_to(value, "text"),
    "list": lambda value: cast_to(value, "text[]"),
    "array_cat": _lists_joined,
    "array_append": _lists_joined,
    "array_prepend": _lists_joined,
    "generate_series": _series,
    "generate_subscripts": lambda listed, _=1: list(range(1, len(listed or ()) + 1)),
    "_pg_expandarray": lambda listed: [{"x": one, "n": at} for at, one in enumerate(listed or (), 1)],
    "repeat": _repeat,
    "to_regproc": lambda name: None if name is None else str(name).rpartition(".")[2],
    "string_to_array": lambda text, mark: None if text is None else str(text).split(str(mark)),
    "starts_with": lambda text, start: None if text is None else str(text).startswith(str(start)),
    "strpos": lambda text, part: None if text is None else str(text).find(str(part)) + 1,
    "trim": lambda text, marks=None, *_: None if text is None else str(text).strip(marks),
    "btrim": lambda text, marks=None: None if text is None else str(text).strip(marks),
    "array_to_string": _array_to_string,
    "array_upper": lambda listed, _=1: len(listed) if listed else None,
    "array_lower": lambda listed, _=1: 1 if listed else None,
    "array_length": lambda listed, _=1: len(listed) if listed else None,
    "cardinality": lambda listed: None if listed is None else len(listed),
    "quote_ident": _quote_ident,
    "concat": lambda *found: "".join(cast_to(one, "text") for one in found if one is not None),
    "length": _of_text(len),
    "char_length": _of_text(len),
    "replace": _replace,
    "substring": _substring,
    "substr": _substring,
    "left": lambda text, number: None if text is None else str(text)[: int(number)],
    "split_part": _split_part,
    "json_build_object": _json,
    "pg_encoding_to_char": lambda _: "UTF8",
    "pg_char_to_encoding": lambda _: 6,
    "pg_size_pretty": lambda _: "0 bytes",
    "pg_postmaster_start_time": lambda: "2000-01-01 00:00:00+00",
    "current_timestamp": lambda *_: datetime.datetime.now(datetime.UTC).isoformat(" ", "microseconds"),
    "current_date": lambda *_: datetime.datetime.now(datetime.UTC).date().isoformat(),
    "oidvectortypes": lambda _: "",
    "format": _format,
    "pg_stat_get_numscans": lambda _: 0,
    "array_remove": lambda listed, value: None if listed is None else [one for one in listed if one != value],
}
