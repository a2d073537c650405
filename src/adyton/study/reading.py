"""Reading a study file: all that is wrong is said at once."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from adyton.errors import InvalidRequest
from adyton.kernel.exact import positive, rational
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import Table
from adyton.query.sql.several.dialects import known_dialect
from adyton.study.columns import columns_of
from adyton.study.facts import Study
from adyton.study.notes import Notes, choice, known, text_at, toml_in, whole, whole_at
from adyton.study.tables import keys_of, private_tables, public_tables, source_of, with_dimensions
from adyton.study.validity import Validity

# What else is written in TOML here, by its section, and what it is for.
_OTHERS = {
    "survey": "see adyton survey --help",
    "holdout": "see adyton holdout --help",
    "server": "give it to adyton serve STUDY --settings FILE",
}


def read_study(path: str | Path) -> Study:
    """The study in a file; InvalidRequest lists everything that is wrong with it.

    >>> adyton.read_study(folder / "nowhere.toml")
    Traceback (most recent call last):
    adyton.errors.InvalidRequest: ...
    """
    if not isinstance(path, str | PathLike):
        kind = type(path).__name__
        raise InvalidRequest(f"a study is the path of a study file, or a Study made in Python, not a {kind}")
    if str(path).startswith(("http:/", "https:/")):
        raise InvalidRequest(
            "this is the address of a server, and a study file is needed, where the study lies; in Python "
            "adyton.connect opens a study of a server"
        )
    path = Path(path)
    raw = toml_in(path, "study file", "make one with: adyton init DATA")
    other = next((what for what in _OTHERS if what in raw and "table" not in raw), None)
    if other is not None:
        raise InvalidRequest(f"{path.name!r} is a {other} file, not a study file: {_OTHERS[other]}")
    return parse_study(raw, path)


def parse_study(raw: dict[str, Any], path: Path) -> Study:
    notes = Notes(path.name)
    notes.check_keys(
        raw, "", ("table", "privacy", "columns", "validity", "public", "private", "ledger", "dialect")
    )
    table = notes.section(raw, "table", ("name", "source", "rows", "lines", "values_from_rows"))
    privacy = notes.section(
        raw,
        "privacy",
        (
            *("unit", "person", "rows_per_person", "adjacency"),
            *("epsilon", "delta", "discovery_delta", "accounting", "shared_budget"),
        ),
    )
    unit = notes.attempt(lambda: _unit(privacy))
    budget = notes.attempt(lambda: _guarantee(privacy))
    public = public_tables(raw.get("public", {}), path.parent, notes)
    columns = columns_of(notes.section(raw, "columns", None), notes, partial(keys_of, public))
    rows, lines = (notes.attempt(partial(whole_at, table, "table", key)) for key in ("rows", "lines"))
    name = notes.attempt(lambda: text_at(table, "table", "name", "the name used after FROM in a query"))
    source = notes.attempt(lambda: source_of(table, "table", path.parent))
    dialect = notes.attempt(lambda: known_dialect(raw["dialect"])) if "dialect" in raw else None
    validity = notes.attempt(lambda: _validity(raw, notes)) if "validity" in raw else None
    notes.attempt(lambda: _check_dictionary(table, validity))
    files = notes.attempt(lambda: _ledger_files(raw, path, notes))
    shared_budget = notes.attempt(lambda: _shared_budget_file(privacy, path))
    person = unit.person if unit is not None else None
    further = private_tables(raw.get("private", {}), person, path.parent, public, notes)
    notes.stop_if_any()
    own = notes.final(lambda: Table(known(name), columns, rows, known(unit).person, lines=lines))
    own, *others = with_dimensions([own, *(one.table for one in further)], public, notes)
    return notes.final(
        lambda: Study(
            own,
            known(unit),
            known(budget),
            choice(privacy.get("accounting", "gdp"), "privacy.accounting", ("gdp", "zcdp", "pure")),
            source,
            known(files)[0],
            validity,
            rational(privacy.get("discovery_delta", 0), "privacy.discovery_delta"),
            tuple(replace(one, table=table) for one, table in zip(further, others, strict=True)),
            known(files)[1],
            dialect,
            shared_budget,
        )
    )


def _unit(privacy: dict[str, Any]) -> PrivacyUnit:
    adjacency = choice(privacy.get("adjacency"), "privacy.adjacency", ("replace-one", "add-remove"))
    kind = choice(privacy.get("unit"), "privacy.unit", ("row", "person"))
    if kind == "row":
        for key in ("person", "rows_per_person"):
            if key in privacy:
                raise InvalidRequest(f"privacy.{key} goes with unit = 'person'; remove it or change the unit")
        return PrivacyUnit(adjacency)
    person = text_at(privacy, "privacy", "person", "the column that identifies a person")
    return PrivacyUnit(adjacency, person, whole(privacy.get("rows_per_person", 1), "privacy.rows_per_person"))


def _guarantee(privacy: dict[str, Any]) -> Guarantee:
    missing = " and ".join(f"privacy.{key}" for key in ("epsilon", "delta") if key not in privacy)
    if missing:
        raise InvalidRequest(f"{missing}: missing; the most that may ever be learned about one unit")
    epsilon = positive(privacy["epsilon"], "privacy.epsilon")
    return Guarantee(epsilon, rational(privacy["delta"], "privacy.delta"))


_VALIDITY_KEYS = (
    *("independent", "confidence", "stability", "queries", "tolerance", "beyond_plan"),
    *("share", "spread", "group", "noise", "method", "grid", "reserve", "dictionary", "registered"),
)


def _validity(raw: dict[str, Any], notes: Notes) -> Validity:
    section = notes.section(raw, "validity", _VALIDITY_KEYS)
    if section.get("independent") is not True:
        raise InvalidRequest(
            "validity.independent must be true: the units are independent draws from the population; "
            "if they are not, remove the section, and answers will say nothing about a population"
        )
    given: dict[str, Fraction] = {
        key: positive(section[key], f"validity.{key}")
        for key in ("stability", "tolerance", "share", "spread", "group", "grid", "reserve")
        if key in section
    }
    return Validity(
        rational(section.get("confidence", Decimal("0.95")), "validity.confidence"),
        queries=whole(section["queries"], "validity.queries") if "queries" in section else None,
        beyond_plan=choice(section["beyond_plan"], "validity.beyond_plan", ("refuse", "answer"))
        if "beyond_plan" in section
        else None,
        noise=choice(section.get("noise", "constant"), "validity.noise", ("constant", "decreasing")),
        method=choice(section["method"], "validity.method", ("subset", "split", "rounding"))
        if "method" in section
        else None,
        dictionary=choice(
            section.get("dictionary", "universal"), "validity.dictionary", ("schema", "universal")
        ),
        registered=section.get("registered", ()),
        **given,
    )


def _check_dictionary(table: dict[str, Any], validity: Validity | None) -> None:
    """What was taken from the rows was not fixed before anybody looked at them."""
    if table.get("values_from_rows", False) not in (True, False):
        raise InvalidRequest("table.values_from_rows is true or false")
    if not table.get("values_from_rows") or validity is None:
        return
    looked = "adyton init --public took bounds and values from them (table.values_from_rows)"
    if validity.dictionary == "schema":
        raise InvalidRequest(
            "validity.dictionary = 'schema' says that this file was written without looking at the rows, and "
            f"{looked}: write dictionary = 'universal'"
        )
    if validity.registered:
        raise InvalidRequest(
            "validity.registered lists queries that mean what this file declares, without looking at the "
            f"rows, and {looked}: remove validity.registered"
        )


# Where the ledger, its checkpoint and a shared budget lie: no part of what the ledger means
# --------------------


def _ledger_files(raw: dict[str, Any], path: Path, notes: Notes) -> tuple[Path | str, Path | str | None]:
    """The ledger and its checkpoint, as seen from the study file; the ledger lies beside it unless it says
    so.
    """
    beside = path.with_suffix(".ledger")
    if "ledger" not in raw:
        return beside, None
    section = notes.section(raw, "ledger", ("address", "checkpoint"))
    checkpoint = _place(section, "checkpoint", path.parent)
    ledger = _place(section, "address", path.parent) or beside
    if checkpoint is not None and _whole(checkpoint) == _whole(ledger):
        raise InvalidRequest("ledger.checkpoint has a place of its own, best on another disk than the ledger")
    return ledger, checkpoint


def _shared_budget_file(privacy: dict[str, Any], path: Path) -> Path | None:
    """The shared budget that this study shares with others, as seen from the study file."""
    return _file(privacy, "shared_budget", path.parent, "privacy")


def _place(section: dict[str, Any], key: str, folder: Path) -> Path | str | None:
    """The path of a file, or the address of a schema in a database."""
    text = section.get(key)
    if isinstance(text, str) and text.startswith(("postgresql://", "postgres://")):
        return text
    return _file(section, key, folder)


def _whole(place: Path | str) -> str:
    return str(place.absolute()) if isinstance(place, Path) else place


def _file(section: dict[str, Any], key: str, folder: Path, of: str = "ledger") -> Path | None:
    if key not in section:
        return None
    text = text_at(section, of, key, "the path of a file")
    if "://" in text:
        scheme = text.partition("://")[0]
        or_address = ", or an address postgresql://USER@HOST/DATABASE/NAME" if of == "ledger" else ""
        raise InvalidRequest(f"{of}.{key} is the path of a file{or_address}; {scheme}:// is not supported")
    return folder / text
