"""What a connection has set: of the price and shape of answers, and what clients expect to be able to set.

Transactions, time zones and the like mean nothing here: they are remembered, told when asked for, and that is
all.  What would change how bytes are to be read, and cannot be done, is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from adyton.errors import InvalidRequest
from adyton.planning.price import price_of
from adyton.query.sql.several.dialects import known_dialect
from adyton.service.limits import LIMITS
from adyton.transports.pg.errors import SqlError

VERSION = "15.0"
_OWN = "adyton."
PRICES = ("within", "epsilon", "share")
_KNOWN = (*PRICES, "expected_rows", "intervals", "dialect")
ON, OFF = ("on", "true", "yes", "1"), ("off", "false", "no", "0")
_FIXED = {"client_encoding": ("utf8", "utf-8", "unicode"), "standard_conforming_strings": ON}
_REPORTED = {
    "server_version": VERSION,
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "application_name": "",
    "is_superuser": "off",
    "session_authorization": "",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "default_transaction_read_only": "off",
    "in_hot_standby": "off",
}
_DEFAULTS = {
    **_REPORTED,
    "server_version_num": "150000",
    "search_path": '"$user", public',
    "transaction_isolation": "read committed",
    "default_transaction_isolation": "read committed",
    "transaction_read_only": "on",
    "max_identifier_length": "63",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "statement_timeout": "0",
    "lc_collate": "C",
    "lc_ctype": "C",
    "lc_monetary": "C",
    "max_index_keys": "32",
    "datestyle": "ISO, MDY",
    "row_security": "on",
    "jit": "off",
    "default_table_access_method": "heap",
}
_IN_SMALL = {name.lower(): name for name in (*_DEFAULTS, *_REPORTED)}
_OPTION = re.compile(r"(?:-c\s*|--)([A-Za-z_][\w.]*)=((?:\\.|[^\s\\])*)\s*")


class UnknownSetting(SqlError):
    """There is no setting of this name."""

    def __init__(self, name: str) -> None:
        hint = "Settings of this server are in SHOW ALL; they begin with adyton."
        super().__init__("42704", f'unrecognized configuration parameter "{name[:100]}"', hint)


class SessionSettings:
    """The settings of one connection."""

    def __init__(self, user: str) -> None:
        self._own: dict[str, str] = {}
        self._start: dict[str, str] = {}
        self._set: dict[str, str] = {"session_authorization": user}

    # As clients see them.

    def reported(self) -> Iterator[tuple[str, str]]:
        """What clients are told at the beginning, without asking."""
        return ((name, self.shown(name)) for name in _REPORTED)

    def shown(self, name: str) -> str:
        """The value of a setting, as SHOW tells it."""
        if name.lower().startswith(_OWN):
            own = _own_name(name)
            return self._own.get(own, "off" if own == "intervals" else "")
        plain = _IN_SMALL.get(name.lower(), name.lower())
        if plain not in self._set and plain not in _DEFAULTS:
            raise UnknownSetting(name)
        return self._set.get(plain, _DEFAULTS.get(plain, ""))

    def all(self) -> list[tuple[str, str]]:
        own = [(_OWN + name, self.shown(_OWN + name)) for name in _KNOWN]
        return own + [(name, self.shown(name)) for name in sorted({*_DEFAULTS, *self._set})]

    def set(self, name: str, value: str | None) -> tuple[str, str] | None:
        """Sets it, None to what it was at first; returns what the client must be told of it, if anything."""
        if name.lower().startswith(_OWN):
            self._set_own(_own_name(name), value)
            return None
        if len(name) > LIMITS.wire_name_letters:
            message = f"the name of a setting has at most {LIMITS.wire_name_letters} characters"
            raise SqlError("42622", message)
        value = value.strip("'") if value is not None else None
        plain = _IN_SMALL.get(name.lower(), name.lower())
        allowed = _FIXED.get(plain)
        if allowed is not None and value is not None and value.lower() not in allowed:
            raise InvalidRequest(f"{plain} is always {_DEFAULTS[plain]} here")
        if plain in ("server_version", "server_encoding", "is_superuser", "session_authorization"):
            return None
        if value is None or allowed is not None:
            self._set.pop(plain, None)
        elif plain in self._set or len(self._set) < LIMITS.wire_settings:
            self._set[plain] = value[: LIMITS.wire_setting_letters]
        return (plain, self.shown(plain)) if plain in _REPORTED else None

    def reset(self) -> None:
        """As it was when the connection began."""
        self._own = dict(self._start)
        self._set = {"session_authorization": self._set["session_authorization"]}

    def begin(self, parameters: dict[str, str]) -> None:
        """What the first message of a connection asks for; user and database have a place of their own."""
        for name, value in _options(parameters.pop("options", "")):
            self.set(name, value)
        for name, value in parameters.items():
            self.set(name, value)
        self._start = dict(self._own)

    def _set_own(self, name: str, value: str | None) -> None:
        if value is None or value == "":
            self._own.pop(name, None)
            return
        if name in PRICES:
            price_of(**{name: value})  # type: ignore[arg-type]  # refuses what cannot be a price
            for other in PRICES:  # the newest is meant
                self._own.pop(other, None)
        elif name == "expected_rows" and not re.fullmatch(r"[1-9][0-9]{0,17}", value):
            raise InvalidRequest("adyton.expected_rows is a whole number of rows, at least 1")
        elif name == "dialect":
            value = known_dialect(value)
        elif name == "intervals":
            if value.lower() not in ON + OFF:
                raise InvalidRequest("adyton.intervals is on or off")
            value = "on" if value.lower() in ON else "off"
        self._own[name] = value

    # As queries are asked with them.

    @property
    def intervals(self) -> bool:
        return self._own.get("intervals") == "on"

    @property
    def dialect(self) -> str | None:
        return self._own.get("dialect")

    @property
    def price(self) -> dict[str, Any]:
        """The one price that is set, if any."""
        return {name: self._own[name] for name in PRICES if name in self._own}

    @property
    def words(self) -> dict[str, Any]:
        """What else is said of a query, beside the dialect that it is in."""
        rows = self._own.get("expected_rows")
        return {"expected_rows": int(rows)} if rows else {}


def _own_name(name: str) -> str:
    """Without the word before its point."""
    own = name.lower().removeprefix(_OWN)
    if own not in _KNOWN:
        raise UnknownSetting(name)
    return own


def _options(text: str) -> Iterator[tuple[str, str]]:
    """-c name=value and --name=value, with a backslash before spaces."""
    place = 0
    text = text.strip()
    while place < len(text):
        found = _OPTION.match(text, place)
        if found is None:
            raise InvalidRequest("options are written -c name=value, for example -c adyton.within=50")
        yield found[1].replace("-", "_"), re.sub(r"\\(.)", r"\1", found[2])
        place = found.end()
