"""Predictions that are sent to a holdout: small files that say very much are refused before they are read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest

from adyton.errors import InvalidRequest
from adyton.holdout.files import read_values
from support.servers import served, write_holdout

READ = """
import resource, sys
from adyton.errors import InvalidRequest
from adyton.holdout.files import read_values
from adyton.service.holdouts import _array
import duckdb
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 1_200_000_000,) * 2)
try:
    if sys.argv[1] == "texts":
        _array(["a" * 10_000_000] + ["a"] * 99)
    else:
        read_values(sys.argv[1], most=100)
except InvalidRequest as refused:
    print("refused:", refused.message)
"""


def _refused(given: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", READ, given], capture_output=True, text=True, timeout=100, check=False
    )
    return done.stdout.strip() or done.stderr[-300:]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("0::TINYINT AS p FROM range(5_000_000)", "has 5,000,000 values, and there are 100 items"),
        ("repeat('a', 1000000) AS p FROM range(90)", "has texts that are too long for values"),
        ("[1, 2] AS p FROM range(90)", "values are numbers, truths or texts"),
    ],
)
def test_a_small_parquet_file_says_very_much(tmp_path: Path, rows: str, said: str) -> None:
    """Mutants: the number of rows, or the length of texts, is looked at after they are read."""
    file = tmp_path / "predictions.parquet"
    duckdb.execute(f"COPY (SELECT {rows}) TO '{file}' (FORMAT parquet, COMPRESSION zstd)")
    assert file.stat().st_size < 1_000_000
    assert said in _refused(str(file))


def test_an_array_of_nothings_has_no_number_of_them(tmp_path: Path) -> None:
    """Mutant: only its bytes count.  As a list it would need eight bytes for each."""
    file = tmp_path / "predictions.npy"
    np.save(file, np.zeros(1, dtype="V0"))
    file.write_bytes(file.read_bytes().replace(b"(1,), }" + b" " * 12, b"(1000000000000,), }"))
    assert "has 1,000,000,000,000 values" in _refused(str(file))


def test_one_long_text_does_not_make_room_for_all_of_them_to_be_long() -> None:
    """NumPy would take four bytes times the longest for each.  Mutant: np.array of them."""
    assert "too long for as many" in _refused("texts")


def test_what_is_ordinary_is_read(tmp_path: Path) -> None:
    for name, rows in (("numbers", "1.5::DECIMAL(4,2)"), ("texts", "'yes'"), ("truths", "true")):
        file = tmp_path / f"{name}.parquet"
        duckdb.execute(f"COPY (SELECT {rows} AS p FROM range(100)) TO '{file}'")
        assert len(read_values(file, most=100)) == 100
        with pytest.raises(InvalidRequest):
            read_values(file, most=99)
    np.save(tmp_path / "matrix.npy", np.zeros((100, 3)))
    assert read_values(tmp_path / "matrix.npy", most=100).shape == (100, 3)


def test_texts_over_http(tmp_path: Path) -> None:
    with served([write_holdout(tmp_path)]) as house:
        reply = house.client.post(
            "/v1/holdouts/test/score",
            headers=house.made("ana", study="test"),
            json={"predictions": ["a" * 900_000] + ["a"] * 99},
        )
    assert reply.status_code == 422
    assert "too long for as many" in reply.json()["error"]["message"]
