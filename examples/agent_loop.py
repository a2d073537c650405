"""An agent without a language model: it previews, asks, is refused, and adapts.

A scripted analyst that wants to know in which group a number is largest on average.  It knows nothing of the
study but what its tools say, and does what their answers advise: the loop that a language model would run.

    python examples/agent_loop.py                                  # a made-up table, over standard input
    ADYTON_TOKEN=... python examples/agent_loop.py http://127.0.0.1:8000/mcp people

Needs: pip install 'adyton[mcp]'
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pandas as pd
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

STUDY = """
[table]
name = "people"
source = "people.parquet"
rows = 60000
[privacy]
unit = "row"
adjacency = "replace-one"
epsilon = 2
delta = 1e-9
[validity]
independent = true
[columns.income]
kind = "real"
low = 0
high = 100000
[columns.region]
kind = "category"
values = ["north", "south", "east", "west"]
"""
TRIES = 5


@dataclass
class Told:
    """What a tool answered: for programs, and in words."""

    refused: bool
    facts: dict[str, Any]
    words: str


async def call(agent: Client, tool: str, **arguments: Any) -> Told:
    result = await agent.call_tool(tool, arguments)
    words = result.content[0].text  # type: ignore[union-attr]
    shown = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    print(f"> {tool}({shown})\n{words}\n")
    return Told(result.is_error, result.structured_content or {}, words)


async def ask(agent: Client, study: str, query: str, **price: Any) -> Told | None:
    """Previews and asks; takes the price that a refusal says would fit; None if nothing fits."""
    for _ in range(TRIES):
        previewed = await call(agent, "preview", study=study, query=query, **price)
        if previewed.refused:
            return None
        (preview,) = previewed.facts["previews"]
        if preview["affordable"] or preview["repeated"]:
            answer = await call(agent, "ask", study=study, query=query, **price)
            if not answer.refused:
                return answer
            price = answer.facts["error"].get("fits") or {}
        else:
            price = preview["fits"] or {}
        if not price:
            return None
    return None


async def analyse(agent: Client, study: str) -> str:
    """In which group is the number largest on average?  The answer, or that the data do not say."""
    await call(agent, "list_studies")
    (table, *_) = (await call(agent, "describe", name=study)).facts["tables"]
    group = next(one["name"] for one in table["columns"] if one["kind"] == "category")
    number = next(one["name"] for one in table["columns"] if one["kind"] in ("real", "integer"))
    name = table["name"]
    await call(agent, "ask", study=study, query=f"SELECT * FROM {name}", within=1)  # refused, and says why
    counts = await ask(agent, study, f"SELECT {group}, COUNT(*) AS n FROM {name} GROUP BY {group}", within=1)
    if counts is None:
        return "nothing is left to ask with"
    means = await ask(
        agent, study, f"SELECT {group}, AVG({number}) AS m FROM {name} GROUP BY {group}", share=0.5
    )
    await call(agent, "budget", name=study)
    return (
        "nothing is left for the means" if means is None else decided(means.facts["answer"]["answer"], group)
    )


def decided(rows: list[dict[str, Any]], group: str) -> str:
    """By population intervals: they hold simultaneously for all answers, however the queries were chosen."""
    best = max(rows, key=lambda row: row["values"]["m"]["value"])
    low = best["values"]["m"]["population_interval"].get("low", float("-inf"))
    others = [
        row["values"]["m"]["population_interval"].get("high", float("inf")) for row in rows if row is not best
    ]
    where = f"{group} = {best['keys'][group]}"
    if low > max(others):
        return f"the mean is largest where {where}, in the population too"
    return f"the data do not say where the mean is largest; in this answer it is where {where}"


def write_people(folder: Path) -> Path:
    rng = np.random.default_rng(1)
    region = rng.choice(["north", "south", "east", "west"], 60_000)
    income = rng.gamma(4, 8000, 60_000) + np.where(region == "west", 40_000, 0)
    pd.DataFrame({"income": income, "region": region}).to_parquet(folder / "people.parquet")
    (folder / "people.toml").write_text(STUDY, encoding="utf-8")
    return folder / "people.toml"


async def main() -> None:
    async with AsyncExitStack() as stack:
        if len(sys.argv) == 3:
            token = {"Authorization": f"Bearer {os.environ['ADYTON_TOKEN']}"}
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=token, timeout=60))
            agent = Client(streamable_http_client(sys.argv[1], http_client=http))
            study = sys.argv[2]
        else:
            file = write_people(Path(stack.enter_context(tempfile.TemporaryDirectory())))
            words = ["-m", "adyton.transports.cli.app", "mcp", str(file), "--price-share", "0.2"]
            beside = StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ))
            agent, study = Client(beside), file.stem
        print("Conclusion:", await analyse(await stack.enter_async_context(agent), study))


if __name__ == "__main__":
    asyncio.run(main())
