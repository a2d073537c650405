"""An hour in the life of a study, in a few seconds:  make demo

A made-up table of 100,000 people, a handful of queries, each chosen in the light of the last answer, a
repeat that is free, a refusal, and the ledger.  Then an analyst who adapts inside a planned study, and two
intervals of which one is fooled.  Everything happens in a temporary directory.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb
from rich.console import Console
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table

import adyton

PEOPLE = 100_000
REGIONS = ("north", "south", "east", "west", "islands")

STUDY = f"""\
[table]
name = "people"
source = "people.parquet"
rows = {PEOPLE}

[privacy]
unit = "person"
person = "person_id"
adjacency = "replace-one"  # the number of people is public
epsilon = 1             # for all answers together
delta = 1e-6

[validity]
independent = true      # the people are independent draws from a population
confidence = 0.95       # simultaneous for all answers

[columns.age]
kind = "integer"
low = 0
high = 110

[columns.income]
kind = "real"
low = 0
high = 150000
step = 1

[columns.region]
kind = "category"
values = [{", ".join(f'"{region}"' for region in REGIONS)}]

[columns.smoker]
kind = "boolean"
"""

# Numbers that look random and are the same on every machine: a hash of the row's number and of a word.
MADE_UP = f"""
CREATE TABLE people AS
WITH dice AS (
    SELECT i AS person_id, [{", ".join(f"'{r}'" for r in REGIONS)}] AS regions,
           (hash(i, 'age') % 10007) / 10007.0 AS a, (hash(i, 'region') % 10007) / 10007.0 AS r,
           (hash(i, 'smoker') % 10007) / 10007.0 AS s, (hash(i, 'income') % 10007) / 10007.0 AS m
    FROM range({PEOPLE}) AS numbers(i)
), placed AS (
    SELECT *, regions[1 + least(4, floor(5 * r))::INTEGER] AS region, (18 + floor(72 * a))::INTEGER AS age
    FROM dice
), lived AS (
    SELECT *, s < CASE region WHEN 'islands' THEN 0.34 WHEN 'north' THEN 0.24 ELSE 0.17 END AS smoker
    FROM placed
)
SELECT person_id, age, region, smoker,
       round(16000 + 52000 * m * m + 90 * age + CASE WHEN smoker THEN -5000 ELSE 0 END, 2) AS income
FROM lived
"""

# Coins instead of people: every coin is fair, and a vote of an odd number of them wins half the time.
ROWS, COINS = 50_000, [f"coin{i}" for i in range(1, 200)]

COINS_STUDY = f"""\
[table]
name = "flips"
source = "flips.parquet"
rows = {ROWS}

[privacy]
unit = "row"
adjacency = "replace-one"
epsilon = 1
delta = 1e-6

[validity]
independent = true
confidence = 0.95
queries = {len(COINS) + 1}         # the plan: this many queries,
tolerance = 0.03        # each this close to the population,
noise = "decreasing"    # the later, the less noise
"""
COIN = """
[columns.{name}]
kind = "integer"
low = -1
high = 1
"""
FLIP = "CASE WHEN (hash({of_all} * i + {j}) >> 20) % 2 = 0 THEN -1 ELSE 1 END AS {name}"
FLIPS = ", ".join(FLIP.format(of_all=len(COINS), j=j, name=name) for j, name in enumerate(COINS))

show = Console()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        study = prepare(Path(folder))
        with adyton.open(study) as curator:
            explore(curator)
            ledger(curator)
        with adyton.open(prepare_coins(Path(folder))) as curator:
            adapt(curator)
    say("That was all. The study, its table and its ledger lived in a temporary directory and are gone.")


def prepare(folder: Path) -> Path:
    """The two things that an owner brings: a table, and a file that says what everyone may know about it."""
    show.print(Rule("adyton: query data you may not see"))
    say(
        f"The owner has a table of {PEOPLE:,} people that nobody may look at, and writes down what is public "
        "anyway: names, kinds, bounds, how much all answers together may ever reveal about one person, and "
        "that the people were drawn independently from the population that the queries are about."
    )
    with duckdb.connect() as database:
        database.execute(MADE_UP)
        database.execute(f"COPY people TO '{_sql_text(folder / 'people.parquet')}' (FORMAT parquet)")
    study = folder / "people.toml"
    study.write_text(STUDY, encoding="utf-8")
    show.print(Panel(STUDY.rstrip(), title="people.toml", expand=False), highlight=False, markup=False)
    return study


def explore(curator: adyton.Curator) -> None:
    """Each query is chosen after seeing the answer to the one before it."""
    step("1. What would it cost? A preview reads nothing and is free")
    by_region = adyton.proportion("smoker", by="region")
    a_fifth = PEOPLE // len(REGIONS)  # a guess for each region
    price = {"within": 0.01, "expected_rows": a_fifth}
    show.print(curator.preview(by_region, **price))

    step("2. Worth it: in which region do most people smoke?")
    smokers = curator.ask(by_region, **price)
    show.print(smokers)
    region = largest(smokers)

    step(f"3. The answer points to {region!r}. What do they earn there?")
    query = f"SELECT smoker, AVG(income) FROM people WHERE region = '{region}' GROUP BY smoker"
    show.print(curator.ask(query, within=1000, expected_rows=6000))

    step("4. A narrower condition, bought with a fifth of what is left")
    narrower = f"SELECT AVG(income), COUNT(*) FROM people WHERE region = '{region}' AND smoker AND age >= 65"
    show.print(curator.ask(narrower, share="0.2"))
    say("Fewer people match, so noise and luck weigh more: both intervals say so by themselves.")

    step("5. The first query again, in other words")
    again = curator.ask("select region, proportion( SMOKER ) from people group by region", **price)
    assert again.repeated
    assert again.to_json()["answer"] == smokers.to_json()["answer"]
    say(
        f"The same meaning at the same price: the stored answer of receipt {again.receipt.number}, free. "
        "So nobody can average the noise away by repeating a query."
    )

    step("6. Greed: everyone's mean income within 5")
    refused(curator)


def refused(curator: adyton.Curator) -> None:
    try:
        curator.ask(adyton.mean("income"), within=5)
    except adyton.BudgetRefused as refusal:
        show.print(f"Refused, free of charge: {refusal.message}.", highlight=False)
        fitting = curator.preview(adyton.mean("income"), **refusal.facts["fits"])
        assert fitting.affordable
        say("Nothing was read, and the study goes on. The width that would fit was computed, not guessed.")
    else:
        raise AssertionError("a query that costs more than is left must be refused")


def ledger(curator: adyton.Curator) -> None:
    step("7. The ledger")
    show.print(curator.receipts())
    show.print(curator.budget())
    found = curator.verify()
    say(f"Replayed: {found.receipts} receipts, an intact chain, a total within the budget.")
    say("Keep its head somewhere else, and a ledger that was set back to an earlier day is noticed:")
    say(found.head)


def prepare_coins(folder: Path) -> Path:
    step("8. Another table, and an analyst who adapts")
    say(
        f"{ROWS:,} rows of {len(COINS)} fair coins, +1 or -1: there is nothing to find. This study plans its "
        "queries, so none of them needs a price, and every answer is as exact as the plan says:"
    )
    with duckdb.connect() as database:
        database.execute(
            f"COPY (SELECT {FLIPS} FROM range({ROWS}) AS numbers(i)) "
            f"TO '{_sql_text(folder / 'flips.parquet')}' (FORMAT parquet)"
        )
    study = folder / "flips.toml"
    study.write_text(COINS_STUDY + "".join(COIN.format(name=coin) for coin in COINS), encoding="utf-8")
    show.print(Panel(COINS_STUDY.rstrip(), title="flips.toml", expand=False), highlight=False, markup=False)
    return study


def adapt(curator: adyton.Curator) -> None:
    """Ask about every coin, turn it the way its noisy answer points, and ask how often the vote wins."""
    turned: list[str] = []
    for coin in COINS:
        heads = curator.ask(adyton.proportion(f"{coin} = 1"))
        turned.append(f"{'+' if heads.value > 0.5 else '-'} {coin}")
    vote = " ".join(turned).removeprefix("+ ")
    say(f"{len(COINS)} noisy answers, each close to a half. Now the vote: {vote[:40]}... > 0, how often?")
    answer = curator.ask(adyton.proportion(f"{vote} > 0"), within=0.001)  # less noise than the plan has
    table = Table(title="How often does the vote win? In truth: half the time", title_justify="left")
    for header in ("", "low", "high", "contains 0.5"):
        table.add_column(header, justify="left" if not header else "right")
    for name, interval in (
        ("noise interval: what these rows say", answer.noise_interval),
        ("population interval: what the world says", answer.population_interval),
    ):
        assert isinstance(interval, adyton.Interval)
        holds = "yes" if interval.low <= 0.5 <= interval.high else "NO"
        table.add_row(name, f"{interval.low:.4f}", f"{interval.high:.4f}", holds)
    show.print(table)
    say(
        "The vote was chosen by the answers, so on these rows it wins too often. The noise interval speaks "
        "about these rows, and misleads about the world. The population interval allows for queries "
        f"that were chosen by answers: it pays for everything seen before, and all "
        f"{len(COINS) + 1} are simultaneous."
    )


def largest(answer: adyton.Answer) -> str:
    """The key of the row with the largest value: chosen from what was released, so it costs nothing."""
    row = max(answer.rows, key=lambda row: row.values["proportion_smoker"].value)
    return str(row.keys["region"])


def step(title: str) -> None:
    show.print()
    show.print(Rule(title, align="left"))


def say(text: str) -> None:
    show.print(text, style="italic", highlight=False)


def _sql_text(path: Path) -> str:
    return str(path).replace("'", "''")


if __name__ == "__main__":
    main()
