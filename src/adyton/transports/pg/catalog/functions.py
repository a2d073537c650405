"""Functions of statements about catalogs: what a session is, what things are called, and a few on texts."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from adyton.query.text import value_text
from adyton.transports.pg.catalog.casting import SQL_NAMES, cast_to, oid_named
from adyton.transports.pg.catalog.facts import SCHEMAS, CatalogFacts
from adyton.transports.pg.catalog.relations import LARGEST, unsupported
from adyton.transports.pg.errors import SqlError
from adyton.transports.pg.settings import VERSION, SessionSettings, UnknownSetting
from adyton.transports.pg.values import TEXT

_Function = Callable[..., Any]
YES = (
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
NO = ("pg_is_in_recovery", "pg_is_other_temp_schema", "pg_try_advisory_lock", "row_security_active")
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
    "to_regproc",
    "pg_get_partition_constraintdef",
    "pg_sequence_last_value",
    "pg_my_temp_schema",
    "pg_notify",
)
ZERO = (
    "pg_relation_size",
    "pg_total_relation_size",
    "pg_database_size",
    "pg_table_size",
    "pg_indexes_size",
    "txid_current",
)
_OTHER_NAMES = {
    "current_version": "version",
    "user": "current_user",
    "session_user": "current_user",
    "current_role": "current_user",
    "current_catalog": "current_database",
    "now": "current_timestamp",
    "str_to_time": "current_timestamp",
}


class Functions:
    """For one session."""

    def __init__(self, facts: CatalogFacts, session: SessionSettings) -> None:
        self._facts, self._session = facts, session
        self._known: dict[str, _Function] = {
            **dict.fromkeys(YES, lambda *_: True),
            **dict.fromkeys(NO, lambda *_: False),
            **dict.fromkeys(_NULL, lambda *_: None),
            **dict.fromkeys(ZERO, lambda *_: 0),
            **_PLAIN,
            "version": lambda: f"PostgreSQL {VERSION} (adyton)",
            "current_database": lambda: facts.database,
            "current_schema": lambda: "public",
            "current_user": lambda: facts.user,
            "current_schemas": lambda system=False: ["pg_catalog", "public"] if system else ["public"],
            "current_setting": self._setting,
            "set_config": self._set_config,
            "pg_table_is_visible": facts.is_visible,
            "pg_get_userbyid": lambda _: facts.user,
            "pg_backend_pid": lambda: 1,
            "col_description": facts.description,
            "obj_description": lambda oid, kind=None: facts.description(oid, 0),
            "to_regclass": self._regclass,
            "regclass_text": self._class_name,
            "to_regtype": self._regtype,
            "regtype_text": lambda oid: SQL_NAMES.get(int(oid), str(oid)),
            "to_regnamespace": self._namespace,
            "regnamespace_text": lambda oid: next((n for n, o in SCHEMAS.items() if o == oid), str(oid)),
            "regproc_text": str,
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
            return function(*arguments)
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

    def _regclass(self, value: Any) -> Any:
        """The number of a table, by its name; a number stays one."""
        if value is None or isinstance(value, int) or str(value).isdecimal():
            return None if value is None else int(value)
        found = self._facts.oid_of(str(value))
        if found is None:
            raise SqlError("42P01", f'relation "{str(value)[:100]}" does not exist')
        return found

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
    if str(text).count(str(old)) * len(str(new)) > LARGEST:
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
    "array_to_string": _array_to_string,
    "array_upper": lambda listed, _=1: len(listed) if listed else None,
    "array_lower": lambda listed, _=1: 1 if listed else None,
    "array_length": lambda listed, _=1: len(listed) if listed else None,
    "array_size": lambda listed, _=1: len(listed) if listed else None,
    "cardinality": lambda listed: None if listed is None else len(listed),
    "quote_ident": _quote_ident,
    "coalesce": lambda *found: next((one for one in found if one is not None), None),
    "nullif": lambda a, b: None if a == b else a,
    "greatest": lambda *found: max((one for one in found if one is not None), default=None),
    "least": lambda *found: min((one for one in found if one is not None), default=None),
    "concat": lambda *found: "".join(cast_to(one, "text") for one in found if one is not None),
    "lower": _of_text(str.lower),
    "upper": _of_text(str.upper),
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
