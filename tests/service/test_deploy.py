"""The recipes in ``deploy/``: a token that no log keeps, a base that does not move, and memory that ends somewhere."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import httpx2
import pytest
from typer.testing import CliRunner

from adyton.transports.cli.app import app
from support.servers import AS_MODULE, await_ready, free_port, server, write_study

ROOT = Path(__file__).parents[2]
CONTAINER = (ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8")
UNIT = (ROOT / "deploy" / "adyton.service").read_text(encoding="utf-8")
TOKEN = re.compile(r"adyton_[0-9a-f]{64}")


def doctor(study: Path) -> dict[str, tuple[bool | None, str]]:
    told = json.loads(CliRunner().invoke(app, ["doctor", str(study), "--json"]).stdout)
    return {one["what"]: (one["ok"], one["said"]) for one in told["findings"]}


def test_a_log_never_holds_the_token_of_the_owner(tmp_path: Path) -> None:
    """Mutants: it is printed whatever the output is; its file can be read by others; each start makes another one."""
    study, file = write_study(tmp_path), tmp_path / "people.owner"
    file.write_text("of a study that was deleted")
    file.chmod(0o666)
    with server([study]) as running:
        log = running.log.read_text(encoding="utf-8")
        assert not TOKEN.search(log)
        assert "Owner token written to people.owner, for this user alone" in log
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert TOKEN.fullmatch(file.read_text().strip())
        assert httpx2.get(f"{running.url}/v1/studies/people/budget", headers=running.owner).status_code == 200
    assert "take it and delete the file" in doctor(study)["people.toml: owner token"][1]
    file.unlink()
    assert "people.toml: owner token" not in doctor(study)
    with server([study]) as running:
        assert "Owner token" not in running.log.read_text(encoding="utf-8")
    assert not file.exists()


def test_on_a_terminal_the_token_is_printed(tmp_path: Path) -> None:
    study, port = write_study(tmp_path), free_port()
    ours, theirs = pty.openpty()
    words = [sys.executable, *AS_MODULE, "serve", str(study), "--port", str(port)]
    log = tmp_path / "errors.log"
    with log.open("w") as errors, subprocess.Popen(words, stdout=theirs, stderr=errors, text=True) as process:
        try:
            await_ready(f"http://127.0.0.1:{port}", process, log, 120)
            assert TOKEN.search(os.read(ours, 10_000).decode())
        finally:
            process.terminate()
            process.wait(30)
    os.close(ours)
    os.close(theirs)
    assert not (tmp_path / "people.owner").exists()


def test_a_token_that_cannot_be_written_is_not_made(tmp_path: Path) -> None:
    """Mutant: the token is kept before there is a file for it, and lost."""
    study = write_study(tmp_path)
    (tmp_path / "people.owner").mkdir()
    words = [sys.executable, *AS_MODULE, "serve", str(study), "--port", str(free_port())]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert "cannot be written to people.owner" in done.stderr
    assert "start the server once in a terminal" in done.stderr
    assert doctor(study)["people.toml: owner"] == (None, "the first start makes a token")


@pytest.mark.parametrize(
    ("mode", "ok", "said"),
    [
        (0o700, True, "only its user writes there"),
        (0o755, True, "only its user writes there"),
        (0o775, None, "its group can replace its files"),
        (0o777, False, "everybody can replace its files: chmod o-w "),
        (0o1777, False, "everybody can replace its files: chmod o-w "),
    ],
)
def test_the_doctor_finds_a_folder_that_others_can_write_to(
    mode: int, ok: bool | None, said: str, tmp_path: Path
) -> None:
    """Of the study file, and of a ledger that lies elsewhere.  Mutant: only the study's own folder is looked at."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    study = write_study(here)
    study.write_text(study.read_text() + f'[ledger]\naddress = "{there}/people.ledger"\n')
    here.chmod(mode)
    found = doctor(study)["people.toml: folder"]
    assert found[0] == ok
    assert found[1].startswith(said)
    here.chmod(0o700)
    there.chmod(mode)
    found = doctor(study)["people.toml: folder of the ledger"]
    assert found[0] == ok
    assert found[1].startswith(said)


def test_the_container_is_built_on_one_version_and_has_what_a_wheel_needs() -> None:
    (base,) = re.findall(r"^ARG BASE=(.+)$", CONTAINER, re.MULTILINE)
    assert re.fullmatch(r"python:\d+\.\d+\.\d+-slim-\w+", base)
    assert re.findall(r"^FROM (.+)$", CONTAINER, re.MULTILINE) == ["${BASE}"]
    assert "@sha256:" in CONTAINER
    assert "--memory=" in CONTAINER
    copied = [
        word for line in re.findall(r"^COPY (.+) \S+$", CONTAINER, re.MULTILINE) for word in line.split()
    ]
    raw = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = raw["tool"]["hatch"]["build"]["targets"]["wheel"]
    for path in (
        *needed["force-include"],
        *needed["packages"],
        raw["project"]["readme"],
        *raw["project"]["license-files"],
    ):
        assert any(path == one or path.startswith(f"{one}/") for one in copied), path


def test_the_unit_bounds_memory_and_keeps_rows_out_of_the_swap() -> None:
    settings = dict(re.findall(r"^(\w+)=(.*)$", UNIT, re.MULTILINE))
    assert settings["MemoryMax"] == "4G"
    assert settings["MemorySwapMax"] == "0"
    assert settings["UMask"] == "0077"
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    unit = ROOT / "deploy" / "adyton.service"
    done = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=60, check=False
    )
    wrong = [
        line for line in done.stderr.splitlines() if "adyton.service" in line and "/opt/adyton" not in line
    ]
    assert wrong == []
