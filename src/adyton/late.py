"""Names that a package offers but loads only when somebody asks for one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def late(package: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """A ``__getattr__`` for ``package``: ``names`` maps each late name to the module that has it.

    ``module:other`` if it is called otherwise there; ``module:`` for the module itself.
    """

    def look_up(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        place, renamed, other = names[name].partition(":")
        module = import_module(f"{package}.{place}")
        return getattr(module, other or name) if other or not renamed else module

    return look_up
