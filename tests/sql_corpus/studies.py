"""Two small studies that all statements of the corpus are about, and random rows for them.

``clinic`` protects persons: ``visits`` with several rows a person, ``patients`` with one, and the public table ``wards``.
``shop`` protects rows: ``orders``, and the public table ``countries``.  The rows hold all that has to be cleaned: numbers
and days outside their bounds, numbers off their step, values that nobody declared, missing ones, rows of nobody.
"""

from __future__ import annotations

import datetime
import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from adyton.study import Study, read_study

CLINIC = """
[table]
name = "visits"
source = "visits.parquet"
rows = 400

[privacy]
unit = "person"
person = "patient_id"
rows_per_person = 8
adjacency = "add-remove"
epsilon = 100
delta = 1e-9

[columns]
kind = { kind = "category", values = ["inpatient", "outpatient", "day case"] }
ward = { kind = "category", values_from = "wards" }
cost = { kind = "real", low = 0, high = 1000, step = 0.5 }
nights = { kind = "integer", low = 0, high = 14 }
score = { kind = "integer", low = 0, high = 10 }
urgent = { kind = "boolean" }
seen = { kind = "date", low = 2022-01-01, high = 2024-12-31 }
hour = { kind = "integer", from = "seen", part = "hour" }

[private.patients]
source = "patients.parquet"
person = "patient_id"
rows_per_person = 1

[private.patients.columns]
age = { kind = "integer", low = 0, high = 100 }
sex = { kind = "category", values = ["f", "m"] }
region = { kind = "category", values = ["north", "south", "east"] }
insured = { kind = "boolean" }
born = { kind = "date", low = 1920-01-01, high = 2024-12-31 }
weight = { kind = "real", low = 2, high = 150, step = 0.5 }

[public.wards]
source = "wards.csv"
key = "code"
joins = "visits.ward"
"""
WARDS = """code,name,floor,beds,surgical,opened
1,Surgery,1,20,true,1990-05-01
2,Cardiology,2,12,false,1995-01-15
3,Maternity,2,16,true,2001-09-30
4,Children,3,24,false,1990-05-01
"""
SHOP = """
[table]
name = "orders"
source = "orders.parquet"
rows = 400

[privacy]
unit = "row"
adjacency = "add-remove"
epsilon = 100
delta = 1e-9

[columns]
status = { kind = "category", values = ["open", "paid", "shipped", "returned"] }
channel = { kind = "category", values = ["web", "store", "phone"] }
country = { kind = "category", values_from = "countries" }
quantity = { kind = "integer", low = 1, high = 50 }
price = { kind = "real", low = 0, high = 200, step = 0.5 }
discount = { kind = "real", low = 0, high = 0.5, step = 0.01 }
tax = { kind = "integer", low = 0, high = 20 }
priority = { kind = "integer", low = 1, high = 5 }
gift = { kind = "boolean" }
ordered = { kind = "date", low = 2023-01-01, high = 2023-12-31 }
shipped = { kind = "date", low = 2023-01-01, high = 2024-03-31 }

[public.countries]
source = "countries.csv"
key = "code"
joins = "orders.country"
"""
COUNTRIES = """code,name,zone,eu,vat,joined
AT,Austria,central,true,20,1995-01-01
DE,Germany,central,true,19,1958-01-01
FR,France,west,true,20,1958-01-01
CH,Switzerland,central,false,8,
"""
FILES = {"clinic": (CLINIC, "wards", WARDS), "shop": (SHOP, "countries", COUNTRIES)}
TABLES = {"visits": "clinic", "patients": "clinic", "wards": "clinic", "orders": "shop", "countries": "shop"}
ROWS_PER_PERSON = 8

# How the source holds each column: the kinds of ``adyton.testing.engines.reference``.
KINDS = {
    "visits": {
        "patient_id": "integer", "kind": "text", "ward": "integer", "cost": "float", "nights": "integer",
        "score": "integer", "urgent": "boolean", "seen": "timestamp",
    },
    "patients": {
        "patient_id": "integer", "age": "integer", "sex": "text", "region": "text", "insured": "boolean",
        "born": "date", "weight": "float",
    },
    "orders": {
        "status": "text", "channel": "text", "country": "text", "quantity": "integer", "price": "float",
        "discount": "float", "tax": "integer", "priority": "integer", "gift": "boolean", "ordered": "date",
        "shipped": "date",
    },
}  # fmt: skip
ARROW = {
    "integer": pa.int64(),
    "float": pa.float64(),
    "boolean": pa.bool_(),
    "text": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}
# What docs/reference/sql.md says happens to a value before anything else, in plain DuckDB.
CLEANED = {
    "visits": """SELECT patient_id, CASE WHEN kind IN ('inpatient', 'outpatient', 'day case') THEN kind END AS kind,
        CASE WHEN ward BETWEEN 1 AND 4 THEN ward END AS ward,
        CASE WHEN cost IS NOT NULL THEN CAST(greatest(0, least(1000, round(cost * 2) / 2)) AS DECIMAL(9, 1)) END AS cost,
        CASE WHEN nights IS NOT NULL THEN greatest(0, least(14, nights)) END AS nights,
        CASE WHEN score IS NOT NULL THEN greatest(0, least(10, score)) END AS score, urgent,
        CASE WHEN seen IS NOT NULL THEN greatest(DATE '2022-01-01', least(DATE '2024-12-31', CAST(seen AS DATE))) END AS seen,
        hour(seen) AS hour FROM raw_visits WHERE patient_id IS NOT NULL""",
    "patients": """SELECT patient_id, CASE WHEN age IS NOT NULL THEN greatest(0, least(100, age)) END AS age,
        CASE WHEN sex IN ('f', 'm') THEN sex END AS sex,
        CASE WHEN region IN ('north', 'south', 'east') THEN region END AS region, insured,
        CASE WHEN born IS NOT NULL THEN greatest(DATE '1920-01-01', least(DATE '2024-12-31', born)) END AS born,
        CASE WHEN weight IS NOT NULL THEN CAST(greatest(2, least(150, round(weight * 2) / 2)) AS DECIMAL(9, 1)) END AS weight
        FROM raw_patients WHERE patient_id IS NOT NULL""",
    "orders": """SELECT CASE WHEN status IN ('open', 'paid', 'shipped', 'returned') THEN status END AS status,
        CASE WHEN channel IN ('web', 'store', 'phone') THEN channel END AS channel,
        CASE WHEN country IN ('AT', 'DE', 'FR', 'CH') THEN country END AS country,
        CASE WHEN quantity IS NOT NULL THEN greatest(1, least(50, quantity)) END AS quantity,
        CASE WHEN price IS NOT NULL THEN CAST(greatest(0, least(200, round(price * 2) / 2)) AS DECIMAL(9, 1)) END AS price,
        CASE WHEN discount IS NOT NULL THEN CAST(greatest(0, least(0.5, round(discount * 100) / 100)) AS DECIMAL(9, 2)) END AS discount,
        CASE WHEN tax IS NOT NULL THEN greatest(0, least(20, tax)) END AS tax,
        CASE WHEN priority IS NOT NULL THEN greatest(1, least(5, priority)) END AS priority, gift,
        CASE WHEN ordered IS NOT NULL THEN greatest(DATE '2023-01-01', least(DATE '2023-12-31', ordered)) END AS ordered,
        CASE WHEN shipped IS NOT NULL THEN greatest(DATE '2023-01-01', least(DATE '2024-03-31', shipped)) END AS shipped
        FROM raw_orders""",
}


def study_of(name: str, folder: Path) -> Study:
    """A study of the corpus without a source or a ledger of its own."""
    text, public, rows = FILES[name]
    (folder / f"{public}.csv").write_text(rows)
    (folder / f"{name}.toml").write_text(text)
    study = read_study(folder / f"{name}.toml")
    further = tuple(replace(one, source=None) for one in study.further)
    return replace(study, source=None, ledger=None, further=further)


@dataclass(frozen=True)
class Rows:
    """Random rows of all tables of a study, by table: each a list of rows, whose values are as in ``KINDS``."""

    tables: dict[str, list[tuple[Any, ...]]]

    def arrow(self, table: str) -> pa.Table:
        kinds = KINDS[table]
        columns = list(zip(*self.tables[table], strict=True))
        return pa.table({n: pa.array(columns[i], ARROW[kind]) for i, (n, kind) in enumerate(kinds.items())})


def random_rows(study: str, seed: int, *, persons: int = 130, most: int = ROWS_PER_PERSON - 2) -> Rows:
    """Everybody has at most ``most`` rows; that is below the study's bound unless a test says otherwise."""
    rng = random.Random(f"{study} {seed}")
    if study == "shop":
        return Rows({"orders": [_order(rng) for _ in range(400)]})
    visits = [(who, *_visit(rng)) for who in range(persons) for _ in range(rng.randint(0, most))]
    visits += [(None, *_visit(rng)) for _ in range(5)]
    patients = [(who, *_patient(rng)) for who in range(5, persons + 5)]
    rng.shuffle(visits)
    return Rows({"visits": visits, "patients": patients})


def _some(rng: random.Random, value: Any, missing: float = 0.05) -> Any:
    return None if rng.random() < missing else value


def _real(rng: random.Random, low: float, high: float, step: float) -> float:
    """Off the step, and never near the middle between two of its points."""
    steps = rng.randint(round(low / step) - 20, round(high / step) + 20)
    return steps * step + rng.choice([0, 0.3, -0.3]) * step


def _day(rng: random.Random, first: datetime.date, last: datetime.date) -> datetime.date:
    return first + datetime.timedelta(days=rng.randint(-9, (last - first).days + 9))


def _visit(rng: random.Random) -> tuple[Any, ...]:
    day = _day(rng, datetime.date(2022, 1, 1), datetime.date(2024, 12, 31))
    moment = datetime.datetime.combine(day, datetime.time(rng.randint(0, 23), rng.randint(0, 59)))
    return (
        _some(rng, rng.choice(["inpatient", "outpatient", "outpatient", "day case", "unknown"])),
        _some(rng, rng.choice([1, 1, 2, 3, 4, 9])),
        _some(rng, _real(rng, 0, 1000, 0.5)),
        _some(rng, rng.randint(-2, 17)),
        _some(rng, rng.randint(-1, 11)),
        _some(rng, rng.random() < 0.4),
        _some(rng, moment),
    )


def _patient(rng: random.Random) -> tuple[Any, ...]:
    return (
        _some(rng, rng.randint(-3, 110)),
        _some(rng, rng.choice(["f", "m", "x"])),
        _some(rng, rng.choice(["north", "south", "east", "abroad"])),
        _some(rng, rng.random() < 0.7),
        _some(rng, _day(rng, datetime.date(1920, 1, 1), datetime.date(2024, 12, 31))),
        _some(rng, _real(rng, 2, 150, 0.5)),
    )


def _order(rng: random.Random) -> tuple[Any, ...]:
    ordered = _day(rng, datetime.date(2023, 1, 1), datetime.date(2023, 12, 31))
    return (
        _some(rng, rng.choice(["open", "paid", "shipped", "returned", "lost"])),
        _some(rng, rng.choice(["web", "web", "store", "phone", "fax"])),
        _some(rng, rng.choice(["AT", "DE", "FR", "CH", "XX"])),
        _some(rng, rng.randint(-2, 55)),
        _some(rng, _real(rng, 0, 200, 0.5)),
        _some(rng, _real(rng, 0, 0.5, 0.01)),
        _some(rng, rng.randint(-1, 22)),
        _some(rng, rng.randint(0, 6)),
        _some(rng, rng.random() < 0.3),
        _some(rng, ordered),
        _some(rng, ordered + datetime.timedelta(days=rng.randint(0, 60)), 0.2),
    )


def plain_tables(study: str, rows: Rows) -> duckdb.DuckDBPyConnection:
    """The cleaned tables, and the public one, for statements as they were written."""
    _, public, written = FILES[study]
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    for table in rows.tables:
        connection.register("given", rows.arrow(table))
        connection.execute(f"CREATE TABLE raw_{table} AS SELECT * FROM given")
        connection.unregister("given")
        connection.execute(f"CREATE TABLE {table} AS {CLEANED[table]}")
    header, *lines = [line.split(",") for line in written.splitlines()]
    values = ", ".join("(" + ", ".join(f"'{v}'" if v else "NULL" for v in line) + ")" for line in lines)
    typed = {"code": "VARCHAR" if study == "shop" else "BIGINT", "floor": "BIGINT", "beds": "BIGINT", "vat": "BIGINT",
             "surgical": "BOOLEAN", "eu": "BOOLEAN", "opened": "DATE", "joined": "DATE"}  # fmt: skip
    columns = ", ".join(f"CAST({name} AS {typed.get(name, 'VARCHAR')}) AS {name}" for name in header)
    connection.execute(
        f"CREATE TABLE {public} AS SELECT {columns} FROM (VALUES {values}) t({', '.join(header)})"
    )
    return connection
