"""The server file: what a server takes, and how it behaves.  Every entry has a default that is safe."""

from __future__ import annotations

import re
import tomllib
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from adyton.errors import InvalidRequest
from adyton.service.agents.sessions import Caps


@dataclass(frozen=True, slots=True)
class Settings:
    """The section ``[server]``: sizes in bytes, times in seconds, rates a minute."""

    request_bytes: int = 1_000_000
    upload_bytes: int = 50_000_000  # predictions for a holdout
    queries_a_batch: int = 1_000
    request_seconds: float = 60.0  # until a whole request has come in
    rate_by_token: int = 600
    rate_by_address: int = 1_200
    places: int = 16  # requests that are worked on at once
    places_by_token: int = 4
    connections: int = 2_000  # of clients of PostgreSQL, open at once
    http_connections: int = 1_000  # of browsers, programs and agents, open at once
    tick: float = 0.05  # of the grid on which answers leave; 0: at once
    engine_timeout: float = 60.0
    engine_memory: str | None = None  # as DuckDB writes it: "4GB"
    grace: float = 10.0  # for what is charged when the server stops
    longest_name: int = 100
    public_boards: tuple[str, ...] = ()  # holdouts whose leaderboard everybody may see
    names: tuple[str, ...] = ()  # under which it is reached: Host and Origin of agents must be one of them
    oidc: dict[str, Any] | None = field(default=None, repr=False)  # the section of that name
    agent: dict[str, Any] | None = None  # the section of that name

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name in ("oidc", "agent"):
                fits = value is None or isinstance(value, dict)
            elif one.name == "public_boards":
                fits = isinstance(value, tuple) and all(isinstance(name, str) for name in value)
            elif one.name == "names":
                fits = isinstance(value, tuple) and all(map(_is_name, value))
            elif one.name == "engine_memory":
                fits = value is None or isinstance(value, str)
            elif one.type == "int":
                fits = type(value) is int and 1 <= value <= 10**12
            else:
                least = 0.1 if one.name == "request_seconds" else 0
                fits = type(value) in (int, float) and least <= value <= 86_400
            if not fits:
                raise InvalidRequest(f"server.{one.name} cannot be {value!r}")
        if self.tick > 60:
            raise InvalidRequest("server.tick is 60 seconds at most")
        Caps.of(self.agent)  # what is wrong with it is said at the start

    @property
    def limits(self) -> dict[str, Any]:
        """Everything but the identity provider."""
        return {name: value for name, value in asdict(self).items() if name != "oidc"}

    @property
    def caps(self) -> Caps:
        """What one session of an agent may do."""
        return Caps.of(self.agent)

    @property
    def engine_limits(self) -> dict[str, Any]:
        """As an engine takes them."""
        memory = {"memory_limit": self.engine_memory} if self.engine_memory is not None else {}
        return {"timeout": float(self.engine_timeout), **memory}


def read_settings(path: str | Path | None) -> Settings:
    """From a TOML file with a section ``[server]``; None: the defaults."""
    if path is None:
        return Settings()
    file = Path(path)
    try:
        raw = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError:
        raise InvalidRequest(f"the server file {file.name} cannot be read") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"{file.name} is not TOML: {error}") from None
    section = raw.get("server", {})
    known = {one.name for one in fields(Settings)} - {"oidc", "agent"}
    unknown = next((name for name in section if name not in known), None)
    if unknown is not None:
        raise InvalidRequest(f"server.{unknown} is not known; known: {', '.join(sorted(known))}")
    other = next((name for name in raw if name not in ("server", "oidc", "agent")), None)
    if other is not None:
        raise InvalidRequest(f"[{other}] is no section of a server file")
    for listed in ("public_boards", "names"):
        if isinstance(section.get(listed), list):
            section[listed] = tuple(section[listed])
    return Settings(**section, oidc=raw.get("oidc"), agent=raw.get("agent"))


def _is_name(name: object) -> bool:
    """A host, perhaps with a port: stats.example.org, stats.example.org:8443."""
    return isinstance(name, str) and re.fullmatch(r"[a-z0-9.\-]+(:[0-9]{1,5})?", name) is not None


def plainly(value: object) -> str:
    """A value of the server file in words."""
    if value is None:
        return "not set"
    if isinstance(value, dict):
        return ", ".join(f"{name} = {plainly(part)}" for name, part in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return f"{value:,.10g}" if isinstance(value, (int, float)) else str(value)
