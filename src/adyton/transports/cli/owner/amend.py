"""adyton amend: go on under corrected facts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from adyton.kernel.exact import decimal_text
from adyton.study import read_study
from adyton.transports.terminal import Json, run

Old = Annotated[Path, typer.Argument(help="The study file that was charged.", show_default=False)]
New = Annotated[
    Path, typer.Argument(help="The corrected study file, under another name.", show_default=False)
]


def amend(old: Old, new: New, as_json: Json = False) -> None:
    """Go on under corrected facts: what was spent is carried over, and the old study is closed for good."""

    def work() -> dict[str, Any]:
        from adyton.setup.amending import amend as amended

        done = amended(read_study(old), read_study(new))
        first = done.first
        return {
            "receipt": first.number,
            "head": first.digest,
            "spent": decimal_text(first.spent),
            "stability_spent": decimal_text(first.spent_radius),
            "changed": {name: {"old": was, "new": now} for name, (was, now) in done.changed.items()},
        }

    done = run(work, as_json)
    if not as_json:
        carried = done["receipt"] - 1
        for name, said in done["changed"].items():
            typer.echo(f"{name}: {said['old']} before, {said['new']} now.")
        typer.echo(
            f"What {carried} receipt{'s' if carried > 1 else ''} had spent is carried in receipt "
            f"{done['receipt']} of {new.name}; {old.name} answers nothing new any more."
        )
