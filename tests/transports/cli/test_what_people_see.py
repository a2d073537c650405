"""What a person sees is what was released: terminal, plain text, notebook, CSV and JSON, value by value.

Noise is seeded and the answers are stored, so every view shows the same ones.  Each view is read back and its
numbers are compared with the released ones: a value to the nearest shown digit, an interval rounded outwards.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from adyton import Answer, Curator, Interval
from adyton import open as open_study
from adyton.certify import KeyedRows, Value
from adyton.certify.answer_table import MeasureColumn
from adyton.kernel.ledger.texts import many_from_text
from adyton.show import notebook, sheet
from adyton.transports.cli.app import app
from support.curators import open_kept
from support.randomness import SeededDefault

ROWS = 4000
REGIONS = ("north", "south", "east", "nowhere")
COLUMNS = """
[columns.income]
kind = "real"
low = 0
high = 200000
[columns.age]
kind = "integer"
low = 0
high = 120
[columns.region]
kind = "category"
values = ["north", "south", "east", "nowhere"]
"""
UNITS = {
    "row": f'rows = {ROWS}\n[privacy]\nunit = "row"\nadjacency = "replace-one"',
    "person": f'rows = {ROWS // 2}\n[privacy]\nunit = "person"\nperson = "who"\nrows_per_person = 2\n'
    'adjacency = "replace-one"',
}
VALIDITY = "[validity]\nindependent = true\n"
ASKED = {
    "one value": "SELECT COUNT(*) AS n FROM people",
    "several values": "SELECT COUNT(*) AS n, AVG(income) AS pay, MAX(age) AS oldest FROM people",
    "a value by group": "SELECT region, COUNT(*) AS n FROM people GROUP BY region",
    "a mean by group": "SELECT region, AVG(income) AS pay FROM people GROUP BY region",
    "several by group": "SELECT region, COUNT(*) AS n, AVG(income) AS pay, MEDIAN(age) AS middle, "
    "SUM(income) AS total FROM people GROUP BY region",
}
EPSILON = "0.1"


@dataclass(frozen=True)
class Seen:
    """What a view shows of one value, as text."""

    answer: str
    noise: str | None  # None: in the answer itself, after ± or in brackets
    population: str | None


Views = dict[tuple[tuple[str, ...], str], Seen]


@cache
def people() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "who": np.arange(ROWS) // 2,
            "income": rng.gamma(4, 9000, ROWS).round(2),
            "age": rng.integers(18, 90, ROWS),
            "region": rng.choice(REGIONS[:3], ROWS, p=[0.6, 0.39, 0.01]),
        }
    )


def ask(folder: Path, unit: str, valid: bool, asked: str) -> Answer:
    """Asked with seeded noise; the ledger beside the study file keeps it."""
    people().to_parquet(folder / "people.parquet")
    study = folder / "people.toml"
    head = f'[table]\nname = "people"\nsource = "people.parquet"\n{UNITS[unit]}\nepsilon = 2\ndelta = 1e-9\n'
    study.write_text(head + (VALIDITY if valid else "") + COLUMNS, encoding="utf-8")
    with open_kept(study, people()) as opened:
        seeded = Curator(opened.study, opened._engine, opened._ledger, SeededDefault(4))
        answer = seeded.ask(ASKED[asked], epsilon=EPSILON)
        stored = opened._ledger.recall(answer.receipt.number)
    assert stored is not None
    check_integers(answer, many_from_text(stored)[0].released)
    return answer


def check_integers(answer: Answer, released: Any) -> None:
    """A count is the stored integer, and its noise interval lies evenly around it."""
    if "n" not in answer.rows[0].values:
        return
    for row, integer in zip(answer.rows, released[0][0], strict=True):
        count = row.values["n"]
        assert count.value == integer
        assert count.noise_interval.low + count.noise_interval.high == 2 * integer


# Reading the views back -------------------------------------------------------------------------------------


def of_box(text: str, keys: int) -> Views:
    """A table that is drawn with lines."""
    headers: list[str] = []
    lines: list[list[str]] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split("[┃│]", line)[1:-1]]
        if line.startswith("┃"):
            headers = cells
        elif line.startswith("│"):
            lines.append(cells)
    return of_cells(headers, lines, keys)


def of_cells(headers: list[str], lines: list[list[str]], keys: int) -> Views:
    """By their headings: one line for each value, or columns that belong to the name before them."""
    seen: Views = {}
    if headers[-1:] == ["number"]:
        return of_numbers(lines, keys)
    for cells in lines:
        named = list(zip(headers, cells, strict=True))
        group = tuple(cells[:keys])
        if "value of" in headers:
            shown = dict(named[keys:])
            population = shown.get("population interval")
            seen[group, shown["value of"]] = Seen(shown["answer"], shown["noise interval"], population)
            continue
        for i, (header, cell) in enumerate(named[keys:], start=keys):
            if header in ("noise interval", "population", "population interval"):
                continue
            rest = dict(named[i + 1 : i + 3])
            noise = rest.get("noise interval")
            beside = named[i + 1][0] if i + 1 < len(named) else ""
            population = rest.get("population interval") or (
                named[i + 1][1] if beside == "population" else None
            )
            seen[group, header] = Seen(cell, noise, population)
    return seen


def of_numbers(lines: list[list[str]], keys: int) -> Views:
    """One line for each number, in the narrowest terminals."""
    told: dict[tuple[tuple[str, ...], str], dict[str, str]] = {}
    for *named, what, shown in lines:
        if any(named):
            place = tuple(named[:keys]), named[keys]
        told.setdefault(place, {})[what] = shown
    return {place: Seen(one["answer"], one["noise"], one.get("population")) for place, one in told.items()}


class _Tables(HTMLParser):
    """The cells of the only table, row by row, each with how many columns and rows it takes."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[tuple[str, int, int]]] = []
        self._cell: list[str] | None = None
        self._size = (1, 1)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            told = dict(attributes)
            self._cell, self._size = [], (int(told.get("colspan") or 1), int(told.get("rowspan") or 1))

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self._cell is not None:
            self.rows[-1].append(("".join(self._cell), *self._size))
            self._cell = None


def of_html(page: str, keys: int) -> Views:
    tables = _Tables()
    tables.feed(page)
    first, *rest = tables.rows
    headers = [text for text, _, _ in first]
    if any(rows == 2 for _, _, rows in first) or any(columns > 1 for _, columns, _ in first):
        second, *rest = rest
        below = iter(text for text, _, _ in second)
        headers = [text for text, _, rows in first if rows == 2]
        for name, columns, rows in first:
            if rows == 1:
                assert next(below) == "answer"
                headers += [name, *(next(below) for _ in range(columns - 1))]
    return of_cells(headers, [[text for text, _, _ in row] for row in rest], keys)


def of_csv(text: str, keys: list[str]) -> dict[tuple[tuple[str, ...], str], dict[str, float | None]]:
    seen = {}
    for record in csv.DictReader(io.StringIO(text)):
        group = tuple(record[key] for key in keys)
        names = [name.removesuffix("_noise_low") for name in record if name.endswith("_noise_low")]
        for name in names:
            parts = ("", "_noise_low", "_noise_high", "_population_low", "_population_high")
            told = {part: record.get(name + part) for part in parts}
            seen[group, name] = {part: float(cell) if cell else None for part, cell in told.items()}
    return seen


# What must agree --------------------------------------------------------------------------------------------


def number(text: str) -> tuple[Decimal, Decimal]:
    """The number, and what one step of its last digit is worth."""
    plain = Decimal(text.replace(",", ""))
    return plain, Decimal(1).scaleb(int(plain.as_tuple().exponent))


def clipped(value: float, name: str) -> Decimal:
    """A count is shown as at least 0."""
    exact = Decimal(repr(value))
    return max(Decimal(0), exact) if name == "n" else exact


def check_interval(low: Decimal, high: Decimal, step: Decimal, interval: Interval, name: str) -> None:
    """Shown outwards, and by less than one step of the last digit."""
    first, last = clipped(interval.low, name), clipped(interval.high, name)
    slack = step / 10**6
    assert low <= first + slack, "the lower end is shown too high"
    assert last <= high + slack, "the upper end is shown too low"
    assert first - step < low + slack, "the lower end is shown too low"
    assert high < last + step + slack, "the upper end is shown too high"


def check_ends(text: str, interval: Interval, name: str) -> None:
    low, high = (number(end) for end in text.split(" .. "))
    check_interval(low[0], high[0], low[1], interval, name)


def check_value(seen: Seen, v: Value, name: str, informative: bool) -> None:
    answer, _, around = seen.answer.partition(" ")
    if not informative:
        assert answer == "-"
        assert not around
        return
    shown, step = number(answer)
    assert abs(shown - clipped(v.value, name)) <= step / 2 + step / 10**6
    if name in ("n", "middle", "oldest"):
        assert "." not in answer, "counts and ages are whole"
    assert len(answer.replace(",", "")) <= 16
    if around.startswith("±"):
        half = number(around.removeprefix("± "))[0]
        low, high = (clipped(end, name) for end in (v.noise_interval.low, v.noise_interval.high))
        wider = max(shown - low, high - shown)
        assert wider <= half + step / 10**6, "the half-width is too small"
        assert half <= wider + step
        assert min(shown - low, high - shown) >= wider * Decimal("0.9") - 2 * step, "it is not even"
    elif around:
        check_ends(around.removeprefix("(").removesuffix(")"), v.noise_interval, name)
    else:
        assert seen.noise is not None


def check_view(view: Views, answer: Answer) -> None:
    expected = {
        (tuple(map(str, row.keys.values())), name): v for row in answer.rows for name, v in row.values.items()
    }
    assert list(view) == list(expected) or set(view) == set(expected)
    declared = {name for (_, name), v in expected.items() if isinstance(v.population_interval, Interval)}
    for (group, name), v in expected.items():
        seen = view[group, name]
        check_value(seen, v, name, answer.is_informative(name, v))
        if seen.noise is not None:
            check_ends(seen.noise, v.noise_interval, name)
        if isinstance(v.population_interval, Interval):
            assert seen.population is not None, "the population interval is missing"
            check_ends(seen.population, v.population_interval, name)
        else:
            assert seen.population in (None, "-")
        assert declared or seen.population is None, "a population column where none is declared"


def check_csv(text: str, answer: Answer) -> None:
    seen = of_csv(text, list(answer.rows[0].keys))
    for row in answer.rows:
        for name, v in row.values.items():
            told = seen[tuple(map(str, row.keys.values())), name]
            assert told[""] == (v.value if answer.is_informative(name, v) else None)
            assert (told["_noise_low"], told["_noise_high"]) == (v.noise_interval.low, v.noise_interval.high)
            wide = v.population_interval
            ends = (wide.low, wide.high) if isinstance(wide, Interval) else (None, None)
            assert (told["_population_low"], told["_population_high"]) == ends


def check_json(printed: dict[str, Any], answer: Answer) -> None:
    assert len(printed["answer"]) == len(answer.rows)
    for told, row in zip(printed["answer"], answer.rows, strict=True):
        assert told["keys"] == row.keys
        for name, v in row.values.items():
            one = told["values"][name]
            assert one["value"] == v.value
            noise, wide = one["noise_interval"], one["population_interval"]
            assert (noise["low"], noise["high"]) == (v.noise_interval.low, v.noise_interval.high)
            if isinstance(v.population_interval, Interval):
                assert (wide["low"], wide["high"]) == (v.population_interval.low, v.population_interval.high)
            else:
                assert wide == {"absent": v.population_interval.reason}
            assert ("uninformative" in one) is not answer.is_informative(name, v)


def printed(folder: Path, asked: str, *words: str, width: int = 200) -> str:
    """The stored answer, by the command line; asked again at the same price it is free."""
    command = ["ask", str(folder / "people.toml"), ASKED[asked], "--epsilon", EPSILON, *words]
    done = CliRunner().invoke(app, command, env={"COLUMNS": str(width)})
    assert done.exit_code == 0, done.output
    return str(done.stdout)


def every_view_agrees(answer: Answer) -> None:
    keys = len(answer.rows[0].keys)
    for width in (200, 110, 80, 70):
        check_view(of_box(answer.sheet().text(width), keys), answer)
    check_view(of_html(answer._repr_html_(), keys), answer)
    check_csv(answer.to_csv(), answer)
    check_json(answer.to_json(), answer)


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("valid", [False, True], ids=["undeclared", "validity"])
@pytest.mark.parametrize("unit", UNITS)
def test_all_views_of_an_answer_agree_with_what_was_released(
    unit: str, valid: bool, asked: str, tmp_path: Path
) -> None:
    answer = ask(tmp_path, unit, valid, asked)
    every_view_agrees(answer)
    for width in (200, 80):
        terminal = printed(tmp_path, asked, width=width)
        assert max(map(len, terminal.splitlines())) <= width
        check_view(of_box(terminal, len(answer.rows[0].keys)), answer)
    check_csv(printed(tmp_path, asked, "--csv"), answer)
    check_json(json.loads(printed(tmp_path, asked, "--json")), answer)
    for row in answer.rows:
        for name, v in row.values.items():
            wide = v.population_interval
            assert isinstance(wide, Interval) is (valid and name != "oldest")
            if isinstance(wide, Interval) and answer.is_informative(name, v):
                assert (wide.low, wide.high) != (v.noise_interval.low, v.noise_interval.high)
    said = (str(answer), answer._repr_html_(), json.dumps(answer.to_json()), terminal.replace("\n", " "))
    assert all(("rows without a person do not" in html.unescape(view)) is (unit == "person") for view in said)


# The comparison itself is tested: on views that are wrong -----------------------------------------------------


def population_is_noise(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MeasureColumn, "population", MeasureColumn.noise)


def noise_is_population(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MeasureColumn, "noise", MeasureColumn.population)


def intervals_swapped(patch: pytest.MonkeyPatch) -> None:
    noise, population = MeasureColumn.noise, MeasureColumn.population
    patch.setattr(MeasureColumn, "noise", population)
    patch.setattr(MeasureColumn, "population", noise)


def ends_inwards(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sheet, "ROUND_FLOOR", ROUND_CEILING)
    patch.setattr(sheet, "ROUND_CEILING", ROUND_FLOOR)


def lower_end_to_the_nearest(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sheet, "ROUND_FLOOR", ROUND_HALF_EVEN)


def rows_in_another_order(patch: pytest.MonkeyPatch) -> None:
    answers = MeasureColumn.answers
    patch.setattr(MeasureColumn, "answers", lambda self: answers(self)[::-1])


def counts_not_clipped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MeasureColumn, "_clipped", lambda self, value: value)


def nothing_is_a_dash(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MeasureColumn, "_tells", lambda self, v: True)


def notebook_swaps_columns(patch: pytest.MonkeyPatch) -> None:
    cells = notebook._cells
    patch.setattr(
        notebook,
        "_cells",
        lambda row, names, starts: cells((*row[:names], *row[names:][::-1]), names, starts),
    )


def exports_swap_the_intervals(patch: pytest.MonkeyPatch) -> None:
    columns = Answer.columns

    def swapped(self: Answer) -> dict[str, Any]:
        told = columns(self)
        turned = {"_noise_low": "_population_low", "_population_low": "_noise_low"}
        names = {
            name: next((name.replace(a, b) for a, b in turned.items() if a in name), name) for name in told
        }
        return {name: told.get(other, told[name]) for name, other in names.items()}

    patch.setattr(Answer, "columns", swapped)


def json_says_noise_twice(patch: pytest.MonkeyPatch) -> None:
    to_json = KeyedRows.to_json

    def twice(self: KeyedRows) -> list[dict[str, Any]]:
        told: list[dict[str, Any]] = to_json(self)
        for row in told:
            for value in row["values"].values():
                value["population_interval"] = value["noise_interval"]
        return told

    patch.setattr(KeyedRows, "to_json", twice)


MUTANTS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], ...]] = {
    "a value by group": (population_is_noise, intervals_swapped, counts_not_clipped, notebook_swaps_columns),
    "a mean by group": (population_is_noise, noise_is_population, ends_inwards, nothing_is_a_dash),
    "several by group": (population_is_noise, ends_inwards, lower_end_to_the_nearest, rows_in_another_order),
    "several values": (
        population_is_noise,
        intervals_swapped,
        exports_swap_the_intervals,
        json_says_noise_twice,
    ),
}


@pytest.mark.parametrize(
    ("asked", "mutant"), [(asked, one) for asked, mutants in MUTANTS.items() for one in mutants]
)
def test_a_view_that_shows_something_else_is_noticed(
    asked: str, mutant: Callable[[pytest.MonkeyPatch], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutants, each refused: the population column prints the noise interval, or the other way round; columns
    swapped, in all views or in the notebook; ends rounded inwards or to the nearest; rows in another order; counts below 0; a number in place
    of a dash; exports with swapped intervals; JSON with the noise interval twice.
    """
    answer = ask(tmp_path, "row", True, asked)
    every_view_agrees(answer)
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        every_view_agrees(answer)


def test_csv_is_for_programs_and_its_notes_for_people(tmp_path: Path) -> None:
    answer = ask(tmp_path, "person", False, "a mean by group")
    study, queries = str(tmp_path / "people.toml"), tmp_path / "queries.sql"
    words = ["ask", study, ASKED["a mean by group"], "--epsilon", EPSILON]
    done = CliRunner().invoke(app, [*words, "--csv"])
    assert done.stdout == answer.to_csv()
    assert done.stdout.splitlines()[0] == "region,pay,pay_noise_low,pay_noise_high"
    assert done.stdout.splitlines()[-1].startswith("nowhere,,0.0,200000.0")
    assert "Receipt 1" in done.stderr
    assert "At most 2 rows of each person count; rows without a person do not." in done.stderr
    both = CliRunner().invoke(app, [*words, "--csv", "--json"])
    assert both.exit_code == 2
    assert json.loads(both.stdout)["error"]["message"] == "give either --json or --csv"
    queries.write_text("SELECT COUNT(*) FROM people; SELECT region, COUNT(*) FROM people GROUP BY region;")
    batch = CliRunner().invoke(app, ["ask", study, "--file", str(queries), "--epsilon", "0.2", "--csv"])
    first, second = batch.stdout.split("\n\n")
    assert len(first.splitlines()) == 2
    assert [line.partition(",")[0] for line in second.splitlines()] == ["region", *REGIONS]


def test_a_long_answer_is_cut_for_people_only(tmp_path: Path) -> None:
    """121 groups, of which at most 60 lines are drawn in every layout; exports have all."""
    ask(tmp_path, "row", False, "one value")
    with open_study(tmp_path / "people.toml") as curator:
        answer = curator.ask("SELECT age, COUNT(*), AVG(income) FROM people GROUP BY age", epsilon="0.1")
    wide = answer.sheet()
    assert wide.narrower is not None
    assert wide.narrower.narrower is not None
    for one, groups in ((wide, 60), (wide.narrower, 30), (wide.narrower.narrower, 15)):
        shown = one.text(200) if one is wide else replace(one, narrower=None).text(200)
        assert f"... and {121 - groups} more rows" in shown
        lines = [line.split("│")[1].strip() for line in shown.splitlines() if line.startswith("│")]
        assert len(lines) == 60
        assert {line for line in lines if line} == set(map(str, range(groups)))
    assert len(answer.to_csv().splitlines()) == len(answer.records()) + 1 == 122
