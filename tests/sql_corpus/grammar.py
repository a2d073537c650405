"""Random statements over old and new constructs, as text.  What they mean, plain DuckDB says (``judge.py``).

Every statement that counts groups ends with ``n_rows``, so that a declared group without rows can be told from a wrong
one.  Nothing here asks whether a statement can be answered: that is the curator's to say.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from sql_corpus.cases import Statement

Way = Callable[[], str]
UNKNOWN = float("inf")  # a value that is found in bins, or through squares: its interval has to hold it


@dataclass(frozen=True)
class Words:
    """The columns of one table, by what can be done with them."""

    table: str
    whole: tuple[str, ...]  # not below 0
    real: tuple[str, ...]
    boolean: tuple[str, ...]
    date: tuple[str, ...]
    category: dict[str, tuple[str, ...]]
    joins: tuple[str, ...] = ()
    public: tuple[str, ...] = ()  # conditions on public columns, where joined
    person: str | None = None


ORDERS = Words(
    "orders",
    ("quantity", "tax", "priority"),
    ("price", "discount"),
    ("gift",),
    ("ordered", "shipped"),
    {
        "status": ("open", "paid", "shipped", "returned"),
        "channel": ("web", "store", "phone"),
        "country": ("AT", "DE", "FR", "CH"),
    },
    (
        "JOIN countries ON orders.country = countries.code",
        "LEFT JOIN countries ON orders.country = countries.code",
    ),
    ("countries.eu", "countries.zone = 'west'", "countries.vat >= 20", "countries.joined IS NULL"),
)
VISITS = Words(
    "visits",
    ("nights", "score", "hour"),
    ("cost",),
    ("urgent",),
    ("seen",),
    {"kind": ("inpatient", "outpatient", "day case")},
    ("JOIN wards ON visits.ward = wards.code", "JOIN patients ON visits.patient_id = patients.patient_id"),
    ("score > 3",),
    "patient_id",
)
PATIENTS = Words(
    "patients",
    ("age",),
    ("weight",),
    ("insured",),
    ("born",),
    {"sex": ("f", "m"), "region": ("north", "south", "east")},
    person="patient_id",
)


@dataclass
class Writer:
    rng: random.Random
    words: Words
    families: str = ""  # whose constructs are used, beside what has been answered since the first release
    tolerance: float = 0.0
    judged: bool = True
    ordered: bool = False

    def one_of(self, ways: list[Way], family: str = "", new: list[Way] | None = None) -> str:
        """One of ``ways``, or where the writer knows the ``family``, of its ``new`` ones too."""
        return self.rng.choice([*ways, *(new if new and family in self.families else [])])()

    def of(self, *texts: str) -> str:
        return self.rng.choice(texts)

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    # Numbers ------------------------------------------------------------------------------------------------

    def literal(self) -> str:
        return self.of("0", "1", "2", "3", "7", "10", "0.5", "-1", "25")

    def number(self, depth: int = 2) -> str:
        columns = (*self.words.whole, *self.words.real)
        if depth == 0 or self.chance(0.3):
            return self.of(*columns)
        inner, whole = self.number(depth - 1), self.of(*self.words.whole)
        day = self.of(*self.words.date)
        return self.one_of(
            [
                lambda: f"({inner} {self.of('+', '-', '*')} {self.number(depth - 1)})",
                lambda: f"({inner} {self.of('+', '-', '*')} {self.literal()})",
                lambda: f"{inner} / {self.of('2', '4', '10', '0.5')}",
                lambda: f"CASE WHEN {self.condition(depth - 1)} THEN {inner} ELSE {self.literal()} END",
                lambda: f"FLOOR({inner} / {self.of('2', '5', '10')})",
                lambda: f"FLOOR(({whole} - {self.of('3', '10', '40')}) / {self.of('3', '4')})",
                lambda: f"SQUARE({whole})",
                lambda: f"LEAST({inner}, {self.of('5', '20')})",
                lambda: f"GREATEST({inner}, {self.of('1', '3')})",
                lambda: f"CLAMP({inner}, 1, 9)",
            ],
            "F",
            [
                lambda: f"COALESCE({inner}, {self.literal()})",
                lambda: f"NULLIF({whole}, {self.of('0', '1', '5')})",
                lambda: f"ABS({inner})",
                lambda: f"SIGN({inner})",
                lambda: f"CEIL({inner} / {self.of('2', '5', '10')})",
                lambda: f"POWER({whole}, 2)",
                lambda: self.of(f"MOD({whole}, 4)", f"{whole} % 3", f"{whole} // 5"),
                lambda: f"IF({self.condition(depth - 1)}, {inner}, {whole})",
                lambda: self.of(f"CAST({whole} AS BIGINT)", f"CAST({inner} AS DOUBLE)", f"{whole}::INTEGER"),
                lambda: self.of(
                    f"YEAR({day})",
                    f"EXTRACT(MONTH FROM {day})",
                    f"EXTRACT(DOW FROM {day})",
                    f"DATE_PART('month', {day})",
                ),
                lambda: f"DATEDIFF('day', DATE '2023-01-01', {day})",
                lambda: f"ROUND({whole} / 3)",
            ],
        )

    # Conditions ---------------------------------------------------------------------------------------------

    def condition(self, depth: int = 2) -> str:
        if depth > 0 and self.chance(0.4):
            parts = [self.condition(depth - 1) for _ in range(2)]
            return self.of(f"({parts[0]} AND {parts[1]})", f"({parts[0]} OR {parts[1]})", f"NOT ({parts[0]})")
        sign = self.of("=", "<>", "<", "<=", ">", ">=")
        category, values = self.rng.choice(list(self.words.category.items()))
        value, other = self.rng.choice(values), self.rng.choice(values)
        number, day = self.number(min(depth, 1)), self.of(*self.words.date)
        return self.one_of(
            [
                lambda: f"{number} {sign} {self.literal()}",
                lambda: f"{number} {sign} {self.of(*self.words.whole)}",
                lambda: f"{number} {self.of('', 'NOT ')}BETWEEN 2 AND {self.of('5', '30')}",
                lambda: f"{self.of(*self.words.whole)} {self.of('', 'NOT ')}IN (1, 2, 5)",
                lambda: f"{category} {self.of('=', '<>')} '{value}'",
                lambda: f"{category} {self.of('', 'NOT ')}IN ('{value}', '{other}')",
                lambda: (
                    f"{self.of(*self.words.boolean)}{self.of('', ' IS TRUE', ' IS NOT TRUE', ' = FALSE', ' IS NULL')}"
                ),
                lambda: (
                    f"{self.of(*self.words.whole, *self.words.real, category, day)} IS {self.of('', 'NOT ')}NULL"
                ),
                lambda: f"{day} {sign} DATE '2023-0{self.rng.randint(1, 9)}-15'",
            ],
            "F",
            [
                lambda: (
                    f"{category} {self.of('LIKE', 'NOT LIKE', 'ILIKE')} '{self.of(value[0] + '%', '%' + value[-1], '%e%', '_' + value[1:])}'"
                ),
                lambda: f"UPPER({category}) = '{value.upper()}'",
                lambda: f"SUBSTR({category}, 1, 1) = '{value[0]}'",
                lambda: f"COALESCE({category}, '{value}') = '{other}'",
                lambda: (
                    f"{day} {self.of('>=', '<')} DATE '2023-03-01' {self.of('+', '-')} INTERVAL {self.of('30', '90')} DAY"
                ),
                lambda: f"DATE_TRUNC('month', {day}) = DATE '2023-05-01'",
                lambda: f"({category}, {self.of(*self.words.whole)}) IN (('{value}', 3), ('{other}', 5))",
                lambda: (
                    self.of("1 = 1", "TRUE", "1 = 0")
                    if self.chance(0.2)
                    else f"{self.of(*self.words.boolean)}"
                ),
            ],
        )

    # Aggregates ---------------------------------------------------------------------------------------------

    def aggregate(self) -> str:
        filtered = f" FILTER (WHERE {self.condition(1)})" if self.chance(0.25) else ""
        whole = self.of(*self.words.whole)
        person = self.words.person
        exact = [
            lambda: f"COUNT(*){filtered}",
            lambda: f"COUNT({whole}){filtered}",
            lambda: f"SUM({self.number()}){filtered}",
            lambda: f"AVG({self.number()}){filtered}",
            lambda: f"COUNT_IF({self.condition()})",
            lambda: f"PROPORTION({self.condition(1)})",
            lambda: f"SUM(CASE WHEN {self.condition(1)} THEN 1 ELSE 0 END)",
        ]
        if person:
            exact.append(lambda: f"COUNT(DISTINCT {person})")
        if self.chance(0.85):
            return self.one_of(exact)
        self.tolerance = UNKNOWN
        return self.one_of(
            [
                lambda: f"MEDIAN({whole})",
                lambda: f"QUANTILE({whole}, {self.of('0.1', '0.9')})",
                lambda: f"{self.of('VARIANCE', 'STDDEV_SAMP', 'VAR_POP')}({whole})",
            ],
            "M",
            [
                lambda: f"PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY {whole})",
                lambda: f"{self.of('COVAR_POP', 'CORR')}({whole}, {self.of(*self.words.whole)})",
            ],
        )

    def released(self) -> str:
        """An aggregate, or something that is computed from some."""
        if "P" not in self.families or self.chance(0.55):
            return self.aggregate()
        one, other = self.aggregate(), self.aggregate()
        if self.chance(0.2):
            self.tolerance = max(self.tolerance, 0.011)
            return f"ROUND({one}, 2)"
        return self.one_of(
            [
                lambda: f"{one} / NULLIF({other}, 0)",
                lambda: f"{one} - {other}",
                lambda: f"100.0 * {one} / {self.of('7', '365')}",
                lambda: f"COALESCE({one}, 0)",
                lambda: f"CAST({one} AS DOUBLE)",
                lambda: f"ABS({one})",
                lambda: "SUM(COUNT(*)) OVER ()",
                lambda: "1.0 * COUNT(*) / SUM(COUNT(*)) OVER ()",
                lambda: "RANK() OVER (ORDER BY COUNT(*) DESC)",
            ]
        )

    def group(self) -> str:
        category, values = self.rng.choice(list(self.words.category.items()))
        whole, day = self.of(*self.words.whole), self.of(*self.words.date)
        return self.one_of(
            [
                lambda: category,
                lambda: category,
                lambda: self.of(*self.words.boolean),
                lambda: self.of(f"YEAR({day})", f"QUARTER({day})", f"MONTH({day})"),
                lambda: f"FLOOR({whole} / 5) * 5",
                lambda: (
                    f"CASE WHEN {self.condition(1)} THEN 'a' WHEN {self.condition(0)} THEN 'b' ELSE 'c' END"
                ),
                lambda: f"CASE {category} WHEN '{values[0]}' THEN 'first' ELSE 'other' END",
                lambda: f"{whole} > 3",
            ],
            "F",
            [
                lambda: f"UPPER({category})",
                lambda: f"COALESCE({category}, 'none')",
                lambda: f"{whole} % 3",
            ],
        )

    # Statements ---------------------------------------------------------------------------------------------

    def select(self, source: str, where: list[str]) -> str:
        groups = [self.group() for _ in range(self.rng.choice([0, 0, 1, 1, 1, 2]))]
        items = [f"{group} AS k{place}" for place, group in enumerate(groups)]
        items += [f"{self.released()} AS v{place}" for place in range(self.rng.randint(1, 3))]
        if len(groups) == 1 and "P" in self.families and self.chance(0.3):
            items += [
                f"SUM(COUNT(*)) OVER ({self.of('ORDER BY', 'PARTITION BY')} {groups[0]}) AS over_groups"
            ]
        items += ["COUNT(*) AS n_rows"]
        if self.chance(0.5):
            where = [*where, self.condition()]
        text = f"SELECT {', '.join(items)} FROM {source}"
        text += f" WHERE {' AND '.join(where)}" if where else ""
        if groups:
            places = range(len(groups))
            text += " GROUP BY " + self.of(
                ", ".join(groups),
                ", ".join(str(p + 1) for p in places),
                ", ".join(f"k{p}" for p in places),
                *(["ALL"] if "S" in self.families else []),
            )
            if self.chance(0.2):
                text += f" HAVING {self.of('COUNT(*) > 20', 'n_rows >= 10', *(['SUM(' + self.words.whole[0] + ') > 50'] if 'P' in self.families else []))}"
            if self.chance(0.3):
                text += " ORDER BY " + ", ".join(f"k{p}" for p in places)
                self.ordered = True
        return text

    def statement(self) -> str:
        table = self.words.table
        if "T" in self.families and self.words.person and self.chance(0.3):
            return self.two_level()
        if "U" in self.families and self.chance(0.3):
            return self.union()
        if self.chance(0.04):
            self.judged = False
            return self.hostile()
        if self.chance(0.25) and self.words.joins:
            join = self.of(*self.words.joins)
            where = [self.of(*self.words.public)] if "countries" in join else []
            return self.select(f"{table} {join}", where)
        return self.one_of(
            [lambda: self.select(table, [])],
            "S",
            [
                lambda: self.select(table, []),
                lambda: self.select(f"(SELECT * FROM {table} WHERE {self.condition(1)}) t", []),
                lambda: (
                    f"WITH kept AS (SELECT * FROM {table} WHERE {self.condition(1)}) {self.select('kept', [])}"
                ),
                self.computed,
            ],
        )

    def computed(self) -> str:
        inside = f"SELECT {self.number()} AS e, {self.of(*self.words.boolean)} AS b FROM {self.words.table}"
        return f"SELECT SUM(e) AS v, COUNT(*) AS n_rows FROM ({inside}) t WHERE b"

    def union(self) -> str:
        one, other = self.condition(1), self.condition(1)
        value = self.aggregate()
        part = f"{value} AS v, COUNT(*) AS n_rows FROM {self.words.table}"
        return f"SELECT 'a' AS k, {part} WHERE {one} UNION ALL SELECT 'b' AS k, {part} WHERE {other}"

    def two_level(self) -> str:
        table, person, whole = self.words.table, self.words.person, self.of(*self.words.whole)
        inside = self.of(
            "COUNT(*)",
            f"SUM({whole})",
            f"MAX({whole})",
            f"MIN({whole})",
            f"COUNT(*) FILTER (WHERE {self.condition(0)})",
        )
        where = f" WHERE {self.condition(1)}" if self.chance(0.3) else ""
        having = f" HAVING COUNT(*) >= {self.of('1', '2', '3')}" if self.chance(0.3) else ""
        own = f"(SELECT {person}, {inside} AS x FROM {table}{where} GROUP BY {person}{having}) t"
        return self.of(
            f"SELECT AVG(x) AS v, COUNT(*) AS n_rows FROM {own}",
            f"SELECT SUM(x) AS v, COUNT(*) AS n_rows FROM {own} WHERE x > 1",
            f"SELECT CASE WHEN x > 2 THEN 'many' ELSE 'few' END AS k, COUNT(*) AS n_rows FROM {own} GROUP BY 1",
            f"SELECT x AS k, COUNT(*) AS n_rows FROM {own} GROUP BY x",
        )

    def hostile(self) -> str:
        """What must be refused, or is not SQL."""
        table, column = self.words.table, self.of(*self.words.whole)
        good = self.select(table, [])
        cut = self.rng.randrange(len(good))
        return self.of(
            f"SELECT * FROM {table}",
            f"SELECT {column} FROM {table} LIMIT 3",
            f"SELECT ANY_VALUE({column}) FROM {table}",
            f"SELECT SUM({column}) OVER (ORDER BY {column}) FROM {table}",
            f"SELECT COUNT(*) FROM {table} WHERE {column} IN (SELECT {column} FROM {table})",
            f"SELECT COUNT(*) FROM {table} WHERE {self.condition()} LIMIT 0",
            f"SELECT {self.group()} FROM {table} GROUP BY ALL",
            good[:cut],
            good[:cut] + good[cut + self.rng.randint(1, 6) :],
            good.replace("(", "((", 1),
            f"{good} UNION {good}",
        )


def written(seed: int) -> Statement:
    """The random statement of this number: the same in every run."""
    rng = random.Random(f"statement {seed}")
    words, families = rng.choice([ORDERS, ORDERS, VISITS, PATIENTS]), ("", rng.choice("FMPSTU"), "FMPSTU")
    writer = Writer(rng, words, families[seed % 3])
    sql = writer.statement()
    outcome = "answered" if writer.judged else "refused"
    return Statement("fuzz", f"fuzz-{seed}", sql, outcome, tolerance=writer.tolerance, ordered=writer.ordered)
