"""``adyton token``: who may ask, on the machine where the study lies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adyton.errors import InvalidRequest
from adyton.operations.tokens import TokenOperations, make_token, revoke_token
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
    show(lambda: _tokens(file).listed(), as_json)


@app.command()
@takes(TokenOperations.revoke_token)
def revoke(file: File, *, arguments: Arguments, as_json: Json = False) -> None:
    """End a token, at once and in all processes."""
    done = run(lambda: revoke_token(_tokens(file), **arguments()).to_json(), as_json)
    if not as_json:
        typer.echo(f"Revoked: {', '.join(done['revoked'])}.")


def _tokens(file: Path) -> Tokens:
    from adyton.service.tokens import Tokens

    if not file.is_file():
        raise InvalidRequest(f"there is no file {file.name}: name a study file or a holdout file")
    return Tokens(file)
