"""Is everything fit to be served?  For the operator: what was looked at, what is wrong, and what to do.

Nothing is written, nothing is charged, and no row leaves the engine.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from adyton.documents import Document
from adyton.errors import CuratorError
from adyton.ledgers.checkpoint import checkpoint_at
from adyton.service.beside import FILE, OWNER_FILE, VARIABLE, is_open_to_others, who_else_writes
from adyton.service.house import House
from adyton.service.limits import LIMITS
from adyton.service.settings import Settings, plainly
from adyton.service.studies import ServedStudy
from adyton.show import Sheet, Shown

_PACKAGES = ("fastapi", "uvicorn", "jwt", "prometheus_client")
_LITTLE = 100_000_000  # bytes: a ledger must never find its disk full


@dataclass(frozen=True, slots=True)
class DoctorFinding(Document):
    """``ok`` is None for what is only told."""

    what: str
    ok: bool | None
    said: str


@dataclass(frozen=True, slots=True)
class Examination(Shown, Document):
    """All findings, and what the server would take."""

    findings: tuple[DoctorFinding, ...]
    settings: Settings

    json_keys = "ok findings limits=settings.limits fixed_limits"

    @property
    def ok(self) -> bool:
        return all(one.ok is not False for one in self.findings)

    @property
    def fixed_limits(self) -> dict[str, int]:
        return {name: value for name, value, _ in LIMITS.in_words()}

    def sheet(self, verbose: bool = False) -> Sheet:
        marks = {True: "ok", False: "WRONG", None: ""}
        rows = [(marks[one.ok], one.what, one.said) for one in self.findings]
        rows += [("", f"server.{name}", plainly(value)) for name, value in self.settings.limits.items()]
        rows += [
            ("", f"limit: {name}", f"{value:,}: {meaning}") for name, value, meaning in LIMITS.in_words()
        ]
        notes = ("Everything is fit to be served." if self.ok else "Something must be done first.",)
        return Sheet("Doctor", ("", "what", "found"), tuple(rows), notes, left_aligned=3)


def examine(paths: Sequence[Path], settings: Settings) -> Examination:
    """Looks at everything that ``serve`` would need."""
    findings = [*_packages(), *_secret(paths), *(one for path in paths for one in _file(path, settings))]
    return Examination(tuple(findings), settings)


def _packages() -> Iterator[DoctorFinding]:
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    said = f"missing: {', '.join(missing)}; pip install 'adyton[server]'" if missing else "installed"
    yield DoctorFinding("packages", not missing, said)


def _secret(paths: Sequence[Path]) -> Iterator[DoctorFinding]:
    if os.environ.get(VARIABLE):
        yield DoctorFinding("secret", True, f"from {VARIABLE}")
        return
    for folder in sorted({path.absolute().parent for path in paths}):
        file = folder / FILE
        if not file.exists():
            yield DoctorFinding("secret", None, f"{FILE} will be made by the first token")
            continue
        seen = is_open_to_others(file)
        yield DoctorFinding("secret", not seen, f"chmod 600 {FILE}" if seen else f"{FILE}, hidden")


def _folder(what: str, folder: Path) -> DoctorFinding:
    """Files that belong to a study lie there.  A group may be meant to write; everybody never is."""
    match who_else_writes(folder):
        case "everybody":
            return DoctorFinding(what, False, f"everybody can replace its files: chmod o-w {folder}")
        case "its group":
            return DoctorFinding(
                what, None, f"its group can replace its files; if it must not: chmod g-w {folder}"
            )
        case None:
            return DoctorFinding(what, True, "only its user writes there")


def _folders(path: Path, house: House) -> Iterator[DoctorFinding]:
    """Of the study file, which has the tokens and the secret beside it, of the ledger and of the
    checkpoint.
    """
    (served,) = house.served
    study = served.study if isinstance(served, ServedStudy) else None
    others = {"ledger": study.ledger, "checkpoint": study.checkpoint} if study is not None else {}
    files = {"folder": path, **{f"folder of the {name}": one for name, one in others.items()}}
    seen: set[Path] = set()
    for what, file in files.items():
        folder = file.absolute().parent if isinstance(file, Path) else None
        if folder is not None and folder not in seen and folder.is_dir():
            seen.add(folder)
            yield _folder(f"{path.name}: {what}", folder)


def _file(path: Path, settings: Settings) -> Iterator[DoctorFinding]:
    house: House | None = None

    def opened() -> str:
        nonlocal house
        house = House.of_files([path], settings)
        return "can be opened"

    yield _tried(f"{path.name}", opened)
    if house is None:
        return
    yield from _folders(path, house)
    try:
        yield _tried(f"{path.name}: ledger and data", lambda: _loaded(house))
        yield from _about(path, house)
    finally:
        house.close()


def _loaded(house: House) -> str:
    house.load()
    return "the ledger is intact, the data is as declared"


def _about(path: Path, house: House) -> Iterator[DoctorFinding]:
    (served,) = house.served
    owner = served.tokens.has_owner()
    yield DoctorFinding(
        f"{path.name}: owner", None, "has a token" if owner else "the first start makes a token"
    )
    if (left := path.with_suffix(OWNER_FILE)).exists():
        yield DoctorFinding(
            f"{path.name}: owner token", None, f"still in {left.name}: take it and delete the file"
        )
    old = [one.identity.name for one in served.tokens.without_verifier()]
    if old:
        said = f"work over HTTP, not through --pg-port: {', '.join(old)}; make new ones"
        yield DoctorFinding(f"{path.name}: tokens of an older version", None, said)
    free = shutil.disk_usage(path.absolute().parent).free
    yield DoctorFinding(f"{path.name}: disk", free > _LITTLE, f"{free // 10**6:,} MB free")
    if isinstance(served, ServedStudy):
        checkpoint = served.study.checkpoint
        advice = "none: write [ledger] checkpoint = FILE, on another disk, to notice a restored copy"
        yield DoctorFinding(
            f"{path.name}: checkpoint", None, advice if checkpoint is None else checkpoint_at(checkpoint).name
        )


def _tried(what: str, look: Callable[[], str]) -> DoctorFinding:
    try:
        return DoctorFinding(what, True, look())
    except CuratorError as error:
        return DoctorFinding(what, False, error.message)
