"""Files that a stranger brings to a holdout: what is read, and what a refusal says about the rest."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import numpy as np
import pytest
from typer.testing import CliRunner, Result

from adyton.errors import InvalidRequest
from adyton.holdout.files import read_values
from adyton.transports.cli.app import app

CANARY = "8675309"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def adyton(*words: str) -> Result:
    return CliRunner().invoke(app, ["holdout", *words], env={"COLUMNS": "200"})


def parquet(name: str, query: str) -> None:
    duckdb.sql(query).write_parquet(name)


def npy_head(size: int) -> bytes:
    """The beginning of a file that guarantees so many numbers, and a few of them."""
    text = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({size},), }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(64)


# What is read ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "column", "values"),
    [
        ("a.csv", "p\n1\n0\n", None, [1, 0]),
        ("a.CSV", "p\n1\n0\n", None, [1, 0]),
        ("bom.csv", "\ufeffid,p\n1,0.5\n2,1\n", "p", [0.5, 1.0]),
        ("bom.csv", "\ufeffp\n1\n", "p", [1]),
        ("spaces.csv", "p\n 1\n0 \n", None, [1, 0]),
        ("pandas.csv", "0\n1\n2\n", None, [1, 2]),
        ("pandas.csv", "0,1\n1,5\n2,6\n", "1", [5, 6]),
        ("texts.csv", "p\ncat\ndog\n", None, ["cat", "dog"]),
        ("underscores.csv", "p\n1_0\n2_0\n", None, ["1_0", "2_0"]),
        ("empty-texts.csv", 'p,q\ncat,1\n"",1\n', "p", ["cat", ""]),
        ("long.csv", "p\n\n1\n\n0\n", None, [1, 0]),
        ("a.jsonl", "1\n\n0\n", None, [1, 0]),
        ("bom.jsonl", '\ufeff{"p": 1, "q": 2}\n{"q": 3, "p": 0}\n', "p", [1, 0]),
    ],
)
def test_values_are_read(name: str, text: str, column: str | None, values: list[object]) -> None:
    Path(name).write_text(text, encoding="utf-8")
    assert read_values(name, column).tolist() == values


@pytest.mark.parametrize(
    ("query", "values"),
    [
        ("SELECT i AS p FROM range(3) t(i)", [0, 1, 2]),
        ("SELECT i * 0.5 AS p FROM range(3) t(i)", [0.0, 0.5, 1.0]),  # a DECIMAL
        ("SELECT i = 1 AS p FROM range(3) t(i)", [False, True, False]),
        ("SELECT 'x' || i AS p FROM range(3) t(i)", ["x0", "x1", "x2"]),
        ("SELECT i::HUGEINT AS p FROM range(3) t(i)", [0, 1, 2]),
        ('SELECT i AS "p""; --" FROM range(3) t(i)', [0, 1, 2]),
    ],
)
def test_parquet_is_read(query: str, values: list[object]) -> None:
    parquet("a.parquet", query)
    assert read_values("a.parquet").tolist() == values


@pytest.mark.parametrize("name", ["a*.parquet", "a[1].parquet", "a?.parquet", "run=3/a.parquet"])
def test_a_parquet_file_is_read_by_its_very_name(name: str) -> None:
    """Others whose names would match are not read, and the name of a folder is no column."""
    Path("run=3").mkdir()
    parquet("a1.parquet", "SELECT i + 7 AS p FROM range(3) t(i)")
    parquet("given.parquet", "SELECT i AS p FROM range(3) t(i)")
    Path("given.parquet").rename(name)
    assert read_values(name).tolist() == [0, 1, 2]


# What is refused -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.csv", "", "empty.csv is empty"),
        ("open.csv", f'p\n"{CANARY}\ndog\n', "open.csv cannot be read as .csv"),
        ("header.csv", "p\n", "header.csv has no values"),
        ("empty.jsonl", "", "empty.jsonl has no values"),
        ("empty.npy", "", "cannot be read as .npy"),
        ("empty.parquet", "", "cannot be read as .parquet"),
        ("hole.csv", f"id,p\n1,{CANARY}\n2,\n3,\n", "has several columns, name one of them: id, p"),
        ("headless.csv", f"{CANARY}\n1\n", "the first line must name the columns"),
        ("headless.csv", "0.25,3\n1,3\n", "the first line must name the columns"),
        ("semicolons.csv", f"id;p\n1;{CANARY}\n", "separated by commas"),
        ("latin.csv", b"p\ncaf\xe9\n", "not text in UTF-8"),
        ("latin.jsonl", b'"caf\xe9"\n', "not text in UTF-8"),
        ("broken.jsonl", f"1\n{{{CANARY}\n", "line 2 is not JSON"),
        ("deep.jsonl", "1\n" + "[" * 200_000 + "\n", "line 2 is not JSON"),
        ("vast.npy", npy_head(10**15), "cannot be read as .npy"),
        ("endless.npy", npy_head(10**30), "cannot be read as .npy"),
        ("junk.npy", CANARY, "cannot be read as .npy"),
        ("junk.parquet", CANARY, "cannot be read as .parquet"),
        ("values.txt", "1\n", "values are read from .npy, .csv, .parquet, .jsonl"),
    ],
)
def test_a_refusal_says_what_is_wrong_and_no_value(name: str, content: str | bytes, says: str) -> None:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InvalidRequest, match=says) as refused:
        read_values(name)
    assert CANARY not in str(refused.value)


def test_a_missing_value_is_found_by_its_place() -> None:
    Path("hole.csv").write_text("id,p\n1,7\n2,\n3,\n")
    with pytest.raises(InvalidRequest, match="a value is missing in line 3"):
        read_values("hole.csv", "p")
    Path("short.csv").write_text("id,p\n1,7\n2,7\n3\n")
    with pytest.raises(InvalidRequest, match="a value is missing in line 4"):
        read_values("short.csv", "p")
    Path("twice.csv").write_text("p,p\n1,0\n")
    with pytest.raises(InvalidRequest, match="several columns that are called 'p'"):
        read_values("twice.csv", "p")
    parquet("hole.parquet", "SELECT CASE WHEN i <> 4 THEN i END AS p FROM range(9) t(i)")
    with pytest.raises(InvalidRequest, match="a value is missing in row 5"):
        read_values("hole.parquet")
    with pytest.raises(InvalidRequest, match=r"no column 'q', only: p"):
        read_values("hole.parquet", "q")


def test_folders_and_objects_are_not_opened() -> None:
    Path("folder.npy").mkdir()
    with pytest.raises(InvalidRequest, match="is a folder"):
        read_values("folder.npy")
    with pytest.raises(InvalidRequest, match=r"there is no file 'none\.npy'"):
        read_values("none.npy")
    np.save("objects.npy", np.array([1, CANARY, None], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidRequest, match="Python objects, which are never loaded"):
        read_values("objects.npy")
    np.savez("several.npz", np.ones(3))
    Path("several.npz").rename("several.npy")
    with pytest.raises(InvalidRequest, match=r"cannot be read as \.npy"):
        read_values("several.npy")


# Through the commands --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (np.array([0.0, 1.0, np.nan]), "none may be missing"),
        (np.array([0.0, 1.0, 0.5]), "not shares or scores"),
        (np.array([0.0, 1.0, 2.0**60]), "below 2"),
        (np.array(["a", "b", "c"]), "whole numbers"),
        (np.ones((3, 1)), "not an array of shape (3, 1)"),
        (np.ones(2), "3 predictions are needed, one for each item, not 2"),
    ],
)
def test_a_refused_submission_is_free(values: np.ndarray, says: str) -> None:
    np.save("y.npy", np.array([0, 1, 2]))
    np.save("p.npy", values)
    made = adyton("create", "h.toml", "--labels", "y.npy", "--method", "ladder-free", "--scores", "2")
    assert made.exit_code == 0
    done = adyton("score", "h.toml", "p.npy")
    assert done.exit_code == 2
    assert says in done.stderr
    assert "2 scores left" in adyton("budget", "h.toml").stdout


def test_one_table_may_have_labels_weights_and_groups_in_columns() -> None:
    rows = "".join(f"{i % 2},{1 + i % 3},{'ab'[i // 2 % 2]}\n" for i in range(4000))
    Path("items.csv").write_text("label,weight,region\n" + rows)
    create = ["create", "--labels", "items.csv", "--column", "label", "--tolerance", "0.2"]
    weighed = adyton(*create, "w.toml", "--weights", "items.csv", "--weights-column", "weight")
    grouped = adyton(*create, "g.toml", "--groups", "items.csv", "--groups-column", "region")
    assert (weighed.exit_code, grouped.exit_code) == (0, 0), (weighed.output, grouped.output)
    scored = adyton("score", "g.toml", "items.csv", "--column", "label", "--json")
    assert set(json.loads(scored.stdout)["slices"]) == {"a", "b"}
    assert adyton(*create, "x.toml", "--weights", "items.csv", "--weights-column", "w").exit_code == 2


def test_parameters_of_methods_are_options() -> None:
    np.save("y.npy", np.arange(3000) % 3)
    create = ["create", "--labels", "y.npy"]
    given = ["--overfits", "5", "--threshold", "0.04", "--scale", "0.01"]
    done = adyton(*create, "t.toml", "--method", "thresholdout", *given)
    assert "without a certified interval" in done.stdout, done.output
    done = adyton(*create, "v.toml", "--method", "sparse_validate", "--tolerance", "0.2", "--scores", "9")
    assert done.exit_code == 0, done.output
    assert "rejections = 10" in Path("v.toml").read_text()
    done = adyton(
        *create,
        "n.toml",
        "--method",
        "sparse_validate",
        "--tolerance",
        "0.2",
        "--scores",
        "9",
        "--rejections",
        "2",
    )
    assert done.exit_code == 0, done.output
    assert "rejections = 2" in Path("n.toml").read_text()
    assert adyton(*create, "l.toml", "--method", "ladder", "--scores", "9", "--rung", "0.01").exit_code == 0
    assert "rung = 60" in Path("l.toml").read_text()
    done = adyton(*create, "x.toml", "--scores", "9", "--rung", "0.01")
    assert "the method 'gaussian' takes no rung" in done.stderr


def test_a_missing_folder_is_named() -> None:
    np.save("y.npy", np.arange(3000) % 3)
    done = adyton("create", "none/h.toml", "--labels", "y.npy", "--scores", "2")
    assert done.exit_code == 2
    assert "no folder 'none'" in done.stderr
