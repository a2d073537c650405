"""A file that an owner writes: what is wrong with it, collected; and single values of it, checked."""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Callable
from decimal import Decimal
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from adyton.errors import InvalidRequest

_T = TypeVar("_T")

FILL_IN = "FILL IN"  # what a draft says where the owner must decide


def toml_in(path: Path, what: str, advice: str) -> dict[str, Any]:
    """What a file says, numbers as they are written; ``advice`` is for whoever names one that is missing."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except FileNotFoundError:
        raise InvalidRequest(f"there is no {what} {path.name!r}; {advice}") from None
    except (OSError, UnicodeDecodeError):
        raise InvalidRequest(f"the {what} {path.name!r} cannot be read") from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidRequest(f"the {what} {path.name!r} is not valid TOML: {error}") from None


class Notes:
    """Collects what is wrong, so that an owner sees all of it at once."""

    def __init__(self, file: str) -> None:
        self._file, self._wrong = file, list[str]()

    def add(self, message: str) -> None:
        self._wrong.append(message)

    def attempt(self, make: Callable[[], _T], inside: str = "") -> _T | None:
        """What was made; an error about ``columns.`` is about those ``inside`` a section."""
        try:
            return make()
        except InvalidRequest as error:
            self.add(inside + error.message if error.message.startswith("columns.") else error.message)
            return None

    def each(self, sections: dict[str, Any], make: Callable[[str, Any], _T], inside: str = "") -> list[_T]:
        """What was made of sections, by their names, without those of which something is wrong."""
        made = [self.attempt(partial(make, name, raw), inside) for name, raw in sections.items()]
        return [one for one in made if one is not None]

    def final(self, make: Callable[[], _T]) -> _T:
        made = self.attempt(make)
        self.stop_if_any()
        return known(made)

    def stop_if_any(self) -> None:
        if self._wrong:
            several = "".join(f"\n  - {wrong}" for wrong in self._wrong)
            raise InvalidRequest(f"{self._file}: {self._wrong[0] if len(self._wrong) == 1 else several}")

    def section(self, raw: dict[str, Any], name: str, keys: tuple[str, ...] | None) -> dict[str, Any]:
        found = raw.get(name)
        if not isinstance(found, dict):
            self.add(f"the section [{name}] is missing")
            return {}
        if keys is not None:
            self.check_keys(found, f"{name}.", keys)
        return found

    def check_keys(self, found: dict[str, Any], prefix: str, known: tuple[str, ...]) -> None:
        for key in found:
            if key not in known:
                close = get_close_matches(key, known, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known) or 'none'}"
                self.add(f"unknown key {prefix}{key}; {hint}")


def known(value: _T | None) -> _T:
    """``value``, which is missing only if something wrong was noted before."""
    assert value is not None
    return value


def choice(value: Any, where: str, known: tuple[str, ...]) -> Any:
    if value not in known:
        said = "is missing" if value is None else f"must not be {value!r}"
        raise InvalidRequest(f"{where} {said}; write one of: {', '.join(known)}")
    return value


def text_at(section: dict[str, Any], where: str, key: str, meaning: str) -> str:
    value = section.get(key)
    if not isinstance(value, str) or not value:
        raise InvalidRequest(f"{where}.{key} is missing: {meaning}")
    return value


def whole(value: Any, where: str) -> int:
    if type(value) is not int:
        raise InvalidRequest(f"{where} must be a whole number, not {value!r}")
    return value


def whole_at(section: dict[str, Any], where: str, key: str) -> int | None:
    """None where it is not given."""
    if section.get(key) == FILL_IN:
        raise InvalidRequest(f"{where}.{key} says {FILL_IN!r}: write a whole number, or remove it")
    return whole(section[key], f"{where}.{key}") if key in section else None


def date_at(value: Any, where: str) -> datetime.date:
    if type(value) is datetime.date:
        return value
    raise InvalidRequest(f"{where} must be a date without quotes, e.g. 1990-12-31")
