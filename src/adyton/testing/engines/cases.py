"""Values, conditions and expressions that an engine must get right; see ``engine``."""

from __future__ import annotations

import datetime
from fractions import Fraction
from typing import get_args

from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import BooleanColumn, CategoryColumn, DateColumn, IntegerColumn, RealColumn, Table
from adyton.kernel.sensitivity import Reading
from adyton.kernel.terms.buckets import Bucket, Group
from adyton.kernel.terms.expressions import (
    And,
    Case,
    Clip,
    Compare,
    Condition,
    Curved,
    Floor,
    Indicator,
    Negative,
    Not,
    NumberExpression,
    Or,
    Plus,
    Quotient,
    Square,
    Times,
)
from adyton.kernel.terms.leaves import (
    Always,
    Constant,
    DatePart,
    Day,
    DayCount,
    DayFrom,
    DayOf,
    IsMissing,
    IsOutside,
    IsTrue,
    Lookup,
    OneOf,
    Part,
    ValueOf,
)
from adyton.planning.readings import readings_for
from adyton.query.nodes import Query
from adyton.testing.engines.reference import Source, SourceColumn

ROWS = PrivacyUnit("add-remove")
AGE = IntegerColumn("age", 0, 120)
INCOME = RealColumn("income", Fraction(0), Fraction(200_000), Fraction(1, 100))
REGION = CategoryColumn("region", ("north", "south", "east", "west"))
YEAR = CategoryColumn("year", (2020, 2021, 2022))
SMOKER = BooleanColumn("smoker")
BORN = DateColumn("born", datetime.date(1900, 1, 1), datetime.date(2024, 12, 31))
PEOPLE = Table("people", (AGE, INCOME, REGION, YEAR, SMOKER, BORN))

_DAYS = ((1970, 1, 1), (1899, 12, 31), (0, 0, 0), (2000, 2, 29), (1969, 12, 31), (9999, 12, 31), (1, 1, 1))
SOME: Source = (
    SourceColumn("age", "integer", [30, 120, None, 0, 64, 500, -3]),
    SourceColumn("income", "float", [50_000.0, 0.0, 1e9, None, 1234.56, float("nan"), 0.005]),
    SourceColumn("region", "text", ["north", "south", None, "west", "north", "North", "east"]),
    SourceColumn("year", "integer", [2020, 2021, 2022, None, 2020, 1999, 2022]),
    SourceColumn("smoker", "boolean", [True, False, None, True, False, True, None]),
    SourceColumn(
        "born",
        "date",
        [None if y == 0 else datetime.date(y, m, d) for y, m, d in _DAYS],
    ),
)

_DAY_ONE = Day(0)
CONDITIONS: tuple[Condition, ...] = (
    *(Compare(ValueOf(AGE), sign, Constant(Fraction(64))) for sign in ("<", "<=", "=", "<>", ">=", ">")),
    Compare(ValueOf(INCOME), ">", Constant(Fraction(1, 3))),
    Compare(Times(ValueOf(AGE), Constant(Fraction(-7, 2))), "<", Plus(ValueOf(INCOME), ValueOf(AGE))),
    Compare(DayOf(BORN), "<", _DAY_ONE),
    Compare(DayOf(BORN), "<>", DayOf(BORN)),
    OneOf(REGION, ("north", "east")),
    OneOf(YEAR, (2022,)),
    IsTrue(SMOKER),
    *(IsMissing(column) for column in PEOPLE.columns),
    *(IsOutside(column) for column in (AGE, INCOME, REGION, YEAR, BORN)),
    Not(IsOutside(REGION)),
    Or((IsOutside(AGE), Not(IsOutside(BORN)))),
    Not(IsTrue(SMOKER)),
    Not(Or((IsMissing(AGE), OneOf(REGION, ("west",))))),
    And((IsTrue(SMOKER), Compare(ValueOf(AGE), ">", Constant(Fraction(1))), Always(True))),
    Or((IsTrue(SMOKER), Always(False), Compare(DayOf(BORN), ">=", _DAY_ONE))),
    Always(False),
)

NUMBERS: tuple[NumberExpression, ...] = (
    ValueOf(AGE),
    ValueOf(INCOME),
    Plus(ValueOf(AGE), ValueOf(INCOME)),
    Times(ValueOf(AGE), ValueOf(INCOME)),
    Negative(Plus(ValueOf(INCOME), Constant(Fraction(-1, 3)))),
    Indicator(Compare(ValueOf(AGE), ">", ValueOf(AGE))),
    Plus(Indicator(IsTrue(SMOKER)), Times(ValueOf(AGE), Constant(Fraction(10**9)))),
    Square(Plus(ValueOf(AGE), Constant(Fraction(-121, 2)))),
    Clip(ValueOf(AGE), Fraction(-5), Fraction(64)),
    Clip(Plus(ValueOf(INCOME), Negative(ValueOf(AGE))), Fraction(-1, 100), Fraction(1000)),
    Clip(Clip(ValueOf(AGE), Fraction(10), Fraction(64)), Fraction(0), Fraction(30)),
    Floor(ValueOf(AGE), Fraction(10)),
    Floor(Negative(ValueOf(AGE)), Fraction(7, 2)),
    Floor(Plus(ValueOf(INCOME), Constant(Fraction(-1000))), Fraction(1, 300)),
    Floor(Plus(ValueOf(AGE), Constant(Fraction(-64))), Fraction(16)),
    Floor(Lookup(REGION, (-(2**61), None, 0, 2**61)), Fraction(2**61 - 1)),
    Floor(Lookup(REGION, (-(2**61), 1, -1, 2**61)), Fraction(2**61)),
    Case(
        (
            (IsTrue(SMOKER), ValueOf(AGE)),
            (Compare(ValueOf(AGE), ">", Constant(Fraction(63))), Constant(Fraction(-1, 3))),
        )
    ),
    Case(((OneOf(REGION, ("north",)), ValueOf(INCOME)),), Negative(ValueOf(AGE))),
    Lookup(REGION, (-(2**61), None, 0, 2**61), Fraction(1, 7)),
    Lookup(YEAR, (3, 1, 2)),
    *(DatePart(part, DayOf(BORN)) for part in get_args(Part)),
    Clip(Case(((IsTrue(SMOKER), ValueOf(AGE)),)), Fraction(10), Fraction(64)),
    Clip(Plus(Lookup(REGION, (5, None, 0, 9)), Constant(Fraction(1))), Fraction(2), Fraction(8)),
    Quotient(ValueOf(INCOME), ValueOf(AGE), Fraction(-1), Fraction(1000), 3),
    Quotient(
        Plus(ValueOf(AGE), Constant(Fraction(-64))),
        Lookup(REGION, (-7, 0, None, 3)),
        Fraction(-9),
        Fraction(5),
        1,
    ),
    Clip(Quotient(ValueOf(AGE), ValueOf(INCOME), Fraction(0), Fraction(2), 6), Fraction(0), Fraction(1)),
    DayCount(DayOf(BORN)),
    *(DatePart(part, DayFrom(Plus(DayCount(DayOf(BORN)), ValueOf(AGE)))) for part in get_args(Part)),
    Curved("sqrt", ValueOf(AGE), 4),
    Clip(Curved("ln", Plus(ValueOf(AGE), Constant(Fraction(1))), 9), Fraction(1), Fraction(3)),
    Curved("exp", Times(Lookup(REGION, (-30, None, 0, 9)), Constant(Fraction(1, 3))), 2),
)
# What a query may say of one row, beyond what is written as nodes above.
NUMBER_TEXTS = (
    *("ABS(age - 60)", "SIGN(age - 64)", "(age - 64) % 7", "(age - 64) // 7", "CEIL(income / 7)"),
    *("ROUND(income - 50000.005, 1)", "TRUNC(income - 1234.5)", "POWER(age - 60, 3)", "SQRT(age)"),
    *("GREATEST(age, income / 1000, 3.5)", "WIDTH_BUCKET(income, 0, 100000, 7)", "COALESCE(age, year::INT)"),
    *("NULLIF(age, 64)", "CASE WHEN smoker THEN NULL WHEN age > 3 THEN age ELSE 2 END", "LENGTH(region)"),
    *("CAST(age > 30 AS INT)", "CAST(income AS DECIMAL(12, 1))", "IF(region LIKE '%th', age, -1)"),
    *("EXTRACT(DOW FROM born)", "EXTRACT(DOY FROM born)", "WEEK(born)", "ISOYEAR(born)"),
    *("UNIX_DATE(DATE_TRUNC('quarter', born))", "UNIX_DATE(DATE_TRUNC('week', born))"),
    *("UNIX_DATE(LAST_DAY(born))", "UNIX_DATE(born - INTERVAL 13 MONTH)", "DATE '2000-02-29' - born"),
    *("DATE_DIFF('month', born, DATE '2000-02-29')", "LENGTH(STRFTIME(born, '%B'))"),
)
CONDITION_TEXTS = (
    *("region < 'south'", "UPPER(region) IN ('NORTH', 'EAST')", "COALESCE(region, 'none') = 'none'"),
    *("region || year = 'north2020'", "(age > 30) = smoker", "(age > 30) IS NULL", "age + income IS NULL"),
    *("age IS DISTINCT FROM income", "COALESCE(smoker, age > 30)", "NULLIF(region, 'north') IS NULL"),
    *("born + INTERVAL 1 MONTH > DATE '1970-01-31'", "DAYNAME(born) > 'S'", "STRFTIME(born, '%m') = '02'"),
)
GROUP_TEXTS = ("LEFT(region, 1)", "DAYNAME(born)", "region || ' ' || smoker::VARCHAR", "age % 5", "age > 30")
BUCKETS: tuple[Group, ...] = (
    Bucket("decade", Floor(ValueOf(AGE), Fraction(10))),
    Bucket("below", Floor(Plus(ValueOf(AGE), Constant(Fraction(-64))), Fraction(30))),
    Bucket("third", Negative(Floor(ValueOf(AGE), Fraction(121, 3)))),
    Bucket("young", Case(((Compare(ValueOf(AGE), "<", Constant(Fraction(64))), Constant(Fraction(1))),))),
    Bucket("weekday", DatePart("weekday", DayOf(BORN)), tuple(" MTWTFSS")),
    Bucket("year born", DatePart("year", DayOf(BORN))),
    Bucket("month", DayFrom(Plus(DayCount(DayOf(BORN)), Negative(DatePart("day", DayOf(BORN)))))),
    Bucket("coast", Lookup(REGION, (2, 0, None, 2)), ("no", "never", "yes")),
    Bucket("below or NULL", Floor(Plus(ValueOf(AGE), Constant(Fraction(-64))), Fraction(30)), null=True),
    Bucket("coast or NULL", Lookup(REGION, (2, 0, None, 2)), ("no", "never", "yes"), null=True),
)

# fmt: off
NASTY_FLOATS: list[float | None] = [
    0.0, -0.0, 5e-324, -5e-324, 1e-300, 1e308, -1e308, 1.7976931348623157e308, 2.0**53, 2.0**63, -(2.0**63),
    float("inf"), float("-inf"), float("nan"), None, 0.005, 0.015, 0.025, 1.005, 2.675, 99.994, 99.995,
    -0.005, -0.015, -1.005, 0.1 + 0.2, 0.49999999999999994, 99.99999999999999, 100.0, 100.00000000000001,
]
NASTY_TEXTS: list[str | None] = [
    "12", "-7.5", "+3", ".5", "5.", "1e2", "1E+1", "1e999", "-1e400", "1e-999", "0e9999", " 42\t",
    "  -1e400 ", "inf", "-Infinity", "+inf", "nan", "", " ", "abc", "1_000", "1,5", "0x10", "1d", "1f", "--1",
    "1e", "e5", "٣", "１２", "1\u00a0", "NULL", "true", "9" * 400, "0." + "0" * 400 + "1", "1" + "0" * 308,
    None, "4.9e-324", "0.1000000000000000055511151231257827", "7\n", "'", "\\", "%s", "½", "1;--",
    "1e-99999999999999999999", "-1e99999999999999999999", "7\r", "7\u0085", "7\u2028", "7\v", "\ufeff7",
]
NASTY_DAYS: list[str | None] = [
    "2005-03-01", "2005-02-30", "2004-02-29", "1900-02-29", "infinity", "-infinity", "0000-01-01",
    "0001-01-01", "9999-12-31", "2005-3-1", " 2005-03-01", "2005-03-01 23:59:59", "2005-03-01T00:00:00Z",
    "soon", "", None, "2005-13-01", "2005-00-10", "20050301", "2005-03-01x", "epoch", "today", "now",
    "10000-01-01", "-2005-03-01", "2005-03-01\n", "2005-03-01\r\n", "2005-03-01\u2028", "2005-03-01 \n",
]
NASTY_MOMENTS: list[str | None] = [
    "2005-03-01 23:59:59", "2005-03-01T00:00:00Z", "2005-03-01T00:00", "2005-03-01 04:59:59.999999+00",
    "2005-03-01 23:30-05:00", "2005-03-01 23:30:00 +0530", "2005-03-01T12:00:00.5-03", "2005-04-03 06:59:59Z",
    "2005-04-03 07:00:00Z", "2005-10-30 05:59Z", "2005-10-30 06:00Z", "1969-12-31 23:59:59",
    "1950-01-01 03:04", "2005-03-01", "2005-03-01 24:00:00", "2005-03-01 12:60", "2005-02-30 12:00",
    "0000-01-01 12:00", "soon", "2005-03-01 1:00", "2005-03-01 12", "", None, "2005-03-01 12:00:61",
    "2005-03-01 12:00 UTC", "infinity",
    "2005-03-01 12:00\n", "2005-03-01  12:00", "2005-03-01 12:00.5", "2005-03-01 12:00:00+5",
    "2005-03-01 12:00z", "2005-03-01 12:00:00+05:60", "12:00", "1900-06-01 12:00Z", "2099-07-01 12:00Z",
    " 2005-03-01 12:00",
]
TRUTHS: list[str | None] = [
    "true", "TRUE", "t", "yes", "Y", "1", "false", "F", "no", "n", "0", "on", "off", "2", "", " true", None,
    "true\n", "1\r",
]
WHOLES: list[str | None] = [
    "7", "+7", "7.0", "7.", "007", "7.5", "-7", "8", "", "seven", None, "9007199254740993", "7e0", "7 ", "-0",
    "99999999999999999999", "7\n", "7\r", "7.0\r\n", "7\u0085", "7\u2029",
]
LISTED = (
    "it's", 'say "hi"', "'); DROP TABLE units; --", "Ünïcode 中文 🜍", " padded ", "back\\slash", "%s", "{}",
    "\u00e9", "TRUE", "new\nline", "", "A", "$$", "\\'",
)
NEAR_MISSES: list[str | None] = [
    "it''s", "padded", "e\u0301", "true", "a", "new\\nline", "back\\\\slash", " ", None, "\\", "\u00c9",
]
ODD_KEYS: list[str | None] = [
    "Paris", "paris", "PARIS", "Paris ", " Paris", "\u00e9", "e\u0301", "", " ", "\t", "stra\u00dfe",
    "strasse", "a", "B", "\u0131", "I", "i", "\U0001f70d", "\uffff", "\ufffd", "中", "NULL", "-", "it's", '"',
    "\\", "'); DROP TABLE units; --", "new\nline", "\u200b", "x" * 4095, "x" * 4096, "x" * 4097,
    "\u00e9" * 2048, "\u00e9" * 2049, "\U0001f70d" * 1025, None,
]
ODD_NAMES = (
    'na"me; DROP TABLE units --', "Straße", "a.b", "back`tick", "100%", "select", "who", "place", "c0",
)
# fmt: on
LIST_OF_WHOLES = (7, -7, 0, 9007199254740993)
FULL_YEARS = (1, 2, 4, 99, 100, 101, 400, 1582, 1600, 1700, 1900, 1969, 1970, 2000, 2004, 2100, 9996, 9999)


def readings_of_all_cells(query: Query, unit: PrivacyUnit) -> tuple[Reading, ...]:
    """Those with the groups that no row can be in, to compare with."""
    return tuple(
        reading
        for name, measure in query.measures
        for reading in readings_for(name, measure, query, unit, None)
    )
