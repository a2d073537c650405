# ruff: noqa: E501
"""Writes docs/reference/openapi.json, http.md and the tables of mcp.md, from the tables of operations and roles and
from the server file.
"""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from adyton.operations.roles import ALLOWED, Role
from adyton.operations.table import operations
from adyton.service.house import House
from adyton.service.limits import LIMITS
from adyton.service.settings import Settings
from adyton.transports.http.app import make_app
from adyton.transports.mcp.tools import TOOLS

HERE = Path(__file__).parent / "reference"
HEAD = """# HTTP

`adyton serve` speaks HTTP ([run a server](../how-to/run-a-server.md)). Every request but those of health carries a token, `Authorization: Bearer TOKEN`. Bodies and answers
are the objects of [json.md](json.md); an answer to `ask` is Arrow with `Accept: application/vnd.apache.arrow.stream`, and CSV with `Accept: text/csv`. Written by
`python docs/make_http_reference.py`; the same as a document for programs: [openapi.json](openapi.json), and from a server at `/v1/openapi.json`.

    curl -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\
         -d '{"query": "SELECT COUNT(*) FROM people", "within": 50, "request": "my-first"}' \\
         http://127.0.0.1:8000/v1/studies/people/ask

"""
ERRORS = """## What goes wrong

The body is the error object of [json.md](json.md#errors), and nothing else: no traceback, and no header with a version. Only 502 is charged.

| status | kind | when |
|---|---|---|
| 400 | `invalid_request` | no request of HTTP/1.1, or one whose head has more than 16,384 bytes (the connection is closed); or a form that cannot be read |
| 401 | `unauthenticated` | no valid token: missing, malformed, revoked and expired look the same |
| 403 | `forbidden` | this role may not do that |
| 404 | `not_found` | there is no such thing, or it is not for this token: the same bytes |
| 409 | `privacy_refused`, `validity_refused`, `scores_refused` | nothing is left for this price; `by` says whose budget share it was, if it was that of one name |
| 409 | `session_refused` | an agent has asked as often as one session allows |
| 409 | `request_id_used` | this id was used for another query |
| 413 | `too_large` | more bytes than the server takes |
| 415 | `invalid_request` | a form that is not sent in UTF-8 |
| 422 | `invalid_request` | the query or the body is wrong; the message has the place and the fix |
| 429 | `too_many_requests` | this token or address comes too often, or asks too much at once; see `Retry-After` |
| 500 | `failed` | a fault of ours; the operator finds the `reference` in the log |
| 502 | `engine_failed` | the engine failed after the charge; the same query at the same price is tried again, free |
| 503 | `busy` | no place is free; see `Retry-After` |
| 503 | `ledger_corrupt` | the ledger cannot be trusted: nothing is answered |

**Retries.** Send a `request` id with each query. The same id again is the same receipt and the same answer, also if the connection broke before the answer came; ids are known to
your name alone. The budget has, beside the study's totals, `own`: what your name has spent, its budget share and what is left of it; for owners and auditors also `by_name`: the same of everybody who ever asked or has a token.
Where the sessions of your name are capped, `own.session` has `left`, `queries_left` and `ends_at`.

**The chain.** `receipts` shows `links`, the open part of every receipt, and `receipts`, your own with everything (all of them for owners and auditors), 500 at a time from `after` on; `?last=60` has the newest 60. With them
every digest and every total can be computed again ([json.md](json.md#receipts)). Of a holdout `header` has the budget and a digest alone, and `answers` lists what a method answered that one receipt has paid for, for owners and auditors
([client](client.md#verify)).

**A leaderboard.** `submit` takes `predictions`, and `name`, that of the model. Who enters is the name of the token; an `entrant` that is another one is refused with 403, free.

"""
OIDC = """
A section `[oidc]` lets people in with tokens of an identity provider ([how](../how-to/run-a-server.md#an-identity-provider)): `issuer`, `audience`, `jwks` (the address of its keys), `name_claim`
(default `sub`), `roles_claim` (default `groups`), and `[[oidc.roles]]` with `claim`, `study`, `role` and, as a token has them, `budget_share`, `price_share`, `rate`.
With `client_id`, `authorize` and `token` (addresses of the provider) and `redirect` (this server's `/login/back`, as the provider knows it) the web pages send people there to log in.

A section `[agent]` caps what one session of an agent may do ([sessions](mcp.md#sessions)): `budget_share`, of the study's budget; `queries`, how many charges; `hours`, how long a session lasts (default 24).
"""
LIMITED = """## Fixed limits

These protect the server and everybody else who uses it. They are the same on every server; `adyton doctor` shows them too. Bytes and seconds.

- Send more than a small body only where you may: the server checks the token, the study or holdout, and the role before it reads a body.
- A refusal names the limit, and charges nothing.
- A `preview` or an answer on made-up rows with more than `free_values` values is not written as JSON. Send one query with `Accept: application/vnd.apache.arrow.stream` or `Accept: text/csv`: a preview
  then has the groups, and for each value `NAME_noise_half_width` and `NAME_population_half_width`. Answers that you paid for have no such limit.

| limit | value | meaning |
|---|---|---|"""
MEANINGS = {
    "request_bytes": "largest body of a request",
    "upload_bytes": "largest body of a request to a holdout",
    "queries_a_batch": "most queries of one batch",
    "request_seconds": "until a whole request, head and body, has come in; then the connection is closed",
    "rate_by_token": "requests a minute by one token; a token may have a rate of its own",
    "rate_by_address": "requests a minute from one address",
    "places": "requests that are worked on at once; what does not fit is refused",
    "places_by_token": "of them, by one token",
    "connections": "of clients of PostgreSQL that are open at once, see [wire.md](wire.md)",
    "http_connections": "of browsers, programs and agents that are open at once, half of them from one address; fewer "
    "where the system allows few open files",
    "tick": "width in seconds of the grid on which answers that read data leave; 0 for at once",
    "engine_timeout": "seconds for one scan",
    "engine_memory": 'memory of DuckDB, as it writes it: "4GB"',
    "grace": "seconds for what is charged when the server stops",
    "longest_name": "characters of the name of a token",
    "public_boards": "holdouts whose leaderboard everybody may see, without a token",
    "names": "under which the server is reached, such as stats.example.org: the Host and Origin of agents",
}


BEFORE_TOOLS, BEHIND_TOOLS = "## Tools\n\n", "Arguments that the schema does not name"
WHO_MAY = (
    "Who may do what is the [table of roles](http.md#roles); a list of tools has those that the token may use on something. "
    "There is no other tool: none raises a budget, shows rows, makes or names a token, or takes a path."
)


def document() -> dict[str, Any]:
    """The document that a server shows; it depends on no study."""
    app = make_app(House((), Settings()))
    app.state.desk.close()
    return app.openapi()


def page(told: dict[str, Any]) -> str:
    lines = [HEAD, "## Routes\n", "| route | what it does | cost | who may |", "|---|---|---|---|"]
    known = {(one.route, "get" if one.get else "post"): one for one in operations()}
    for path, methods in sorted(told["paths"].items()):
        for method, described in methods.items():
            one = known.get((path, method))
            beside = (
                "free | anybody" if one is None else f"{one.cost} | {one.action or 'whoever has a token'}"
            )
            lines.append(f"| `{method.upper()} {path}` | {described['summary']} | {beside} |")
    lines += ["", "## Roles\n", f"| who may | {' | '.join(Role)} |", "|---|" + "---|" * len(Role)]
    for action, roles in ALLOWED.items():
        lines.append(f"| {action} | {' | '.join('yes' if role in roles else 'no' for role in Role)} |")
    lines += [
        "",
        ERRORS + "## The server file\n",
        "`adyton serve --settings server.toml`: a section `[server]` with any of these.\n",
    ]
    lines += ["| entry | default | meaning |", "|---|---|---|"]
    for one in fields(Settings):
        if one.name not in MEANINGS:
            continue  # a section of its own
        default = "none" if one.default in (None, ()) else f"{one.default}"
        lines.append(f"| `{one.name}` | {default} | {MEANINGS[one.name]} |")
    lines += ["", LIMITED]
    lines += [f"| `{name}` | {value:,} | {meaning} |" for name, value, meaning in LIMITS.in_words()]
    return "\n".join(lines) + "\n" + OIDC


def tools() -> str:
    """The section of mcp.md about tools."""
    lines = ["| tool | what it does | may do it who may | costs |", "|---|---|---|---|"]
    for name, tool in TOOLS.items():
        does = "; ".join(dict.fromkeys(f"{one.help[:1].lower()}{one.help[1:]}" for one in tool.operations))
        who = "; ".join(dict.fromkeys(one.action or "hold a token" for one in tool.operations))
        lines.append(f"| `{name}` | {does} | {who} | {tool.operations[0].cost} |")
    lines += ["", WHO_MAY, "", "| argument | of which tools | meaning |", "|---|---|---|"]
    of: dict[tuple[str, str], list[str]] = {}
    for name, tool in TOOLS.items():
        for argument, field in tool.takes.model_fields.items():
            of.setdefault((argument, field.description or ""), []).append(f"`{name}`")
    lines += [
        f"| `{argument}` | {', '.join(names)} | {meaning} |" for (argument, meaning), names in of.items()
    ]
    return "\n".join(lines) + "\n\n"


def with_tools(page: str) -> str:
    """The page of MCP with this section."""
    before, rest = page.split(BEFORE_TOOLS)
    return before + BEFORE_TOOLS + tools() + BEHIND_TOOLS + rest.partition(BEHIND_TOOLS)[2]


if __name__ == "__main__":
    made = document()
    (HERE / "openapi.json").write_text(json.dumps(made, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    (HERE / "http.md").write_text(page(made), encoding="utf-8")
    (HERE / "mcp.md").write_text(with_tools((HERE / "mcp.md").read_text(encoding="utf-8")), encoding="utf-8")
