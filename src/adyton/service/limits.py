"""How much one connection or one token may make a server do.  All such limits are here; ``doctor`` shows
them.

The server file sets what an operator may want to change (:class:`adyton.service.settings.Settings`).  The
limits here protect the server and everybody else who uses it, so they are the same on every server.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields


def _limit(value: int, meaning: str) -> int:
    """A field of :class:`ServerLimits`: its value, and what ``doctor`` and the reference say about it."""
    made: int = field(default=value, metadata={"meaning": meaning})
    return made


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Sizes are in bytes, times in seconds."""

    small_bytes: int = _limit(16_384, "largest input that the event loop itself decodes, parses or renders")
    head_bytes: int = _limit(16_384, "largest head of a request, and largest body of the log-in form")
    head_seconds: int = _limit(10, "until the head of a request has come in")
    send_seconds: int = _limit(60, "that a client may leave an answer unread")
    body_depth: int = _limit(8, "lists and objects inside each other in a body")
    body_members: int = _limit(1_000, "members of one object in a body")
    body_values: int = _limit(5_000_000, "values in one body; a list or an object counts as ten")
    form_fields: int = _limit(100, "fields of one form")
    uploads_at_once: int = _limit(2, "largest uploads that are held at once; a token holds one of them")
    unsent_bytes: int = _limit(256_000_000, "bytes of large answers that a token has not read yet")
    free_values: int = _limit(100_000, "values of a preview as JSON, and of an answer on made-up rows")
    agent_bytes: int = _limit(131_072, "largest call of a tool at /mcp")
    agent_values: int = _limit(1_000, "values of a preview or an answer that an agent is shown")
    agent_answer_bytes: int = _limit(1_000_000, "largest result of a tool")
    spare_files: int = _limit(500, "open files that no connection takes: ledgers, tables, libraries")

    # The PostgreSQL wire protocol: before a token is proved.
    wire_start_bytes: int = _limit(10_000, "first message of a connection, with its parameters")
    wire_login_bytes: int = _limit(4_096, "message of a login")
    wire_login_seconds: int = _limit(10, "until a connection is logged in")
    wire_strangers: int = _limit(500, "connections that are not logged in; a new one closes the oldest")
    wire_connections_by_token: int = _limit(500, "connections of one token, and half of all at most")
    wire_closing_seconds: int = _limit(5, "for a closed connection to take what was sent to it")

    # One message, and the statements in it.
    wire_messages_a_request: int = _limit(20, "messages and statements that count as one request of a rate")
    wire_statements: int = _limit(1_000, "statements in one message")
    wire_statement_letters: int = _limit(16_384, "characters of one statement")
    wire_parameters: int = _limit(1_000, "parameters of one statement")
    wire_parameter_bytes: int = _limit(100_000, "parameters of one statement together")
    wire_name_letters: int = _limit(200, "characters of the name of a statement, portal, cursor or setting")
    wire_setting_letters: int = _limit(1_000, "characters of a setting")
    wire_settings: int = _limit(200, "settings of one connection")
    wire_error_letters: int = _limit(4_000, "characters of each field of an error")

    # What a connection keeps.
    wire_prepared: int = _limit(1_000, "prepared statements of one connection")
    wire_portals: int = _limit(100, "portals of one connection")
    wire_cursors: int = _limit(100, "cursors of one connection")
    wire_kept_bytes: int = _limit(
        128_000_000, "messages, prepared statements, parameters and rows of one connection"
    )
    wire_kept_bytes_by_token: int = _limit(512_000_000, "the same of all connections of one token")
    wire_parsed: int = _limit(32, "parsed statements that are kept for all connections together")

    # Answers that cost nothing, and statements about catalogs.
    wire_free_rows: int = _limit(50_000, "rows of an answer that is free")
    wire_free_bytes: int = _limit(16_000_000, "memory for the rows of an answer that is free")
    wire_columns: int = _limit(1_664, "columns of a statement about catalogs")
    wire_catalog_seconds: int = _limit(2, "processor time of a statement about catalogs")
    wire_catalog_bytes: int = _limit(64_000_000, "memory of the database that answers such a statement")
    wire_catalog_letters: int = _limit(15_000_000, "letters that functions write in such a statement")
    wire_catalogs: int = _limit(8, "databases of catalogs that are kept while no statement uses them")

    def in_words(self) -> Iterator[tuple[str, int, str]]:
        """Name, value and meaning of each limit."""
        for limit in fields(self):
            yield limit.name, getattr(self, limit.name), limit.metadata["meaning"]


LIMITS = ServerLimits()
