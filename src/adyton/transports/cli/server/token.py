"""``adyton token``: who may ask, on the machine where the study lies."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adyton.errors import InvalidRequest
from adyton.operations.tokens import TokenOperations, make_token, revoke_token
from adyton.show import Sheet
from adyton.transports.cli.operation_commands import Arguments, takes
from adyton.transports.terminal import Json, run, show

if TYPE_CHECKING:  # loaded by the commands: others need not wait for it
    from adyton.service.tokens import Tokens

app = typer.Typer(help="Make, list and revoke the tokens of a study or a holdout.", no_args_is_help=True)
File = Annotated[Path, typer.Argument(help="The study file or holdout file.", show_default=False)]


@app.command()
@takes(TokenOperations.make_token)
def create(file: File, *, arguments: Arguments, as_json: Json = False) -> None:
    """Make a token. It is shown once, and kept only as a keyed hash.

    For example: adyton token create people.toml --role analyst --name ana --budget-share 0.25
    """

    done = run(lambda: make_token(_tokens(file), **arguments()).to_json(), as_json)
    if not as_json:
        typer.echo(f"Token for {done['name']} ({done['role']}), shown once and never again:")
        typer.echo(done["token"])


@app.command("list")
@takes(TokenOperations.tokens)
def list_(file: File, as_json: Json = False) -> None:
    """List the tokens: everything but themselves."""
    show(lambda: _Listed(_tokens(file).listed()), as_json)


@app.command()
@takes(TokenOperations.revoke_token)
def revoke(file: File, *, arguments: Arguments, as_json: Json = False) -> None:
    """End a token, at once and in all processes."""
    done = run(lambda: revoke_token(_tokens(file), **arguments()).to_json(), as_json)
    if not as_json:
        typer.echo(f"Revoked: {', '.join(done['revoked'])}.")


# An id is copied into ``revoke``, so the columns are few enough not to fold it on a narrow terminal.
_LISTED = (
    "Share: of the budget, that the name may spend. Price: the most for one query, of the budget. "
    "Rate: requests a minute. Ends: in UTC."
)


class _Listed:
    def __init__(self, tokens: list[dict[str, Any]]) -> None:
        self._tokens = tokens

    def to_json(self) -> dict[str, Any]:
        return {"tokens": self._tokens}

    def sheet(self) -> Sheet:
        headers = ("id", "name", "role", "share", "price", "rate", "ends")
        rows = tuple(
            (
                one["id"],
                one["name"],
                one["role"],
                _share(one["budget_share"]),
                _share(one["price_share"]),
                "" if one["rate"] is None else str(one["rate"]),
                "revoked" if one["revoked_at"] is not None else _day(one["expires_at"]),
            )
            for one in self._tokens
        )
        notes = (_LISTED,) if rows else ("There are no tokens yet.",)
        return Sheet("Tokens", headers, rows, notes, left_aligned=3, newest=True)


def _tokens(file: Path) -> Tokens:
    from adyton.service.tokens import Tokens

    if not file.is_file():
        raise InvalidRequest(f"there is no file {file.name}: name a study file or a holdout file")
    return Tokens(file)


def _share(share: float | None) -> str:
    return "" if share is None else f"{100 * share:g} %"


def _day(moment: int | None) -> str:
    return "" if moment is None else datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M")
