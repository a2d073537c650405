"""The front page of the package: a pinned list of names, and a light import."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import adyton
from adyton.kernel.ledger import Ledger
from adyton.ledgers.checkpointed import CheckpointedLedger
from adyton.ledgers.on_demand import LedgerOnDemand
from adyton.monitors.open_monitor import OpenMonitor
from adyton.monitors.pmw.open_pmw import OpenPmw

HEAVY = (
    "duckdb",
    "fastapi",
    "httpx2",
    "mpmath",
    "pandas",
    "pyspark",
    "rich",
    "scipy.optimize",
    "sqlglot",
    "typer",
)

SERVER = ("fastapi", "jwt", "prometheus_client", "starlette", "uvicorn")


def test_the_public_names_are_the_pinned_ones() -> None:
    pinned = (Path(__file__).parent / "public_names.txt").read_text().split()
    assert sorted(adyton.__all__) == pinned
    assert len(pinned) <= 40
    assert all(hasattr(adyton, name) for name in pinned)


def test_importing_adyton_imports_nothing_heavy() -> None:
    program = f"import sys, adyton; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_help_imports_nothing_of_a_server() -> None:
    """Mutant: the commands of a server import the framework when they are declared."""
    program = (
        "import sys; sys.argv = ['adyton', 'serve', '--help']\n"
        "from adyton.transports.cli.entry import main\n"
        "try: main()\n"
        f"finally: print('imported', *[name for name in {SERVER!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "--processes" in done.stdout
    assert done.stdout.splitlines()[-1].split() == ["imported"]


def test_whatever_can_be_verified_takes_a_head_and_gives_the_same_facts() -> None:
    """Mutant: one of them calls it ``expected_head``, or returns the head alone."""
    ledgers = (Ledger, adyton.MemoryLedger, adyton.SqliteLedger, CheckpointedLedger, LedgerOnDemand)
    shapes = {
        inspect.signature(kind.verify)
        for kind in (adyton.Curator, adyton.Holdout, OpenMonitor, OpenPmw, *ledgers)
    }
    assert [str(shape) for shape in shapes] == ["(self, head: 'str | None' = None) -> 'Verification'"]


def test_the_version_is_the_one_that_is_installed() -> None:
    root = Path(__file__).parents[2]
    assert 'path = "src/adyton/__init__.py"' in (root / "pyproject.toml").read_text()
    assert f'__version__ = "{adyton.__version__}"' in (root / "src/adyton/__init__.py").read_text()
    assert adyton.__version__ == version("adyton")
