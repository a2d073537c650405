"""A study or a holdout where a command finds it: in a file here, or at its address on a server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from adyton.curator import Curator, open_study
from adyton.errors import InvalidRequest

if TYPE_CHECKING:  # only whoever gives an address waits for them
    from adyton.client import Connection, RemoteDummy, RemoteHoldout, RemoteLeaderboard, RemoteStudy
    from adyton.holdout import Holdout, Leaderboard
    from adyton.study import Study

Opened: TypeAlias = "Curator | RemoteStudy"
Asker: TypeAlias = "Curator | RemoteStudy | RemoteDummy"
StudyPlace = Annotated[
    str,
    typer.Argument(
        help="The study file, e.g. people.toml; or its address on a server, https://host/people, with a "
        "token in ADYTON_TOKEN.",
        metavar="STUDY",
        show_default=False,
    ),
]
HoldoutPlace = Annotated[
    str,
    typer.Argument(
        help="The file of the holdout, e.g. holdout.toml; or its address on a server, https://host/holdout.",
        metavar="FILE",
        show_default=False,
    ),
]


def is_address(place: str | Path) -> bool:
    """Whether it names a server, and no file; a path that was made of an address has lost a slash."""
    return re.match(r"https?:/", str(place)) is not None


def file_of(place: str, what: str) -> Path:
    """The file, for what is done only where the study lies."""
    if is_address(place):
        raise InvalidRequest(f"{what} is done where the study lies, with its file, and not over the network")
    return Path(place)


@contextmanager
def opened(place: str | Path) -> Iterator[Opened]:
    """A path is that of a file, for commands that work only where the study lies."""
    if isinstance(place, Path) or not is_address(place):
        with open_study(place) as curator:
            yield curator
        return
    with _connected(place) as (connection, name):
        yield connection.study(name)


@contextmanager
def opened_dummy(place: str) -> Iterator[Curator | RemoteDummy]:
    """Made-up rows: of a file here, of an address there."""
    if not is_address(place):
        from adyton.curator.dummy import dummy_of

        with dummy_of(public_study(place)) as curator:
            yield curator
        return
    with _connected(place) as (connection, name):
        yield connection.study(name).dummy()


def public_study(place: str) -> Study:
    """What is public of a study, enough to make rows up."""
    if not is_address(place):
        from adyton.study import read_study

        return read_study(place)
    from adyton.client.facts import study_of

    with _connected(place) as (connection, name):
        return study_of(connection.study(name).facts)


@contextmanager
def opened_holdout(place: str) -> Iterator[Holdout | RemoteHoldout]:
    if not is_address(place):
        from adyton.holdout import Holdout

        with Holdout.open(place) as holdout:
            yield holdout
        return
    with _connected(place) as (connection, name):
        yield connection.holdout(name)


@contextmanager
def opened_leaderboard(place: str) -> Iterator[Leaderboard | RemoteLeaderboard]:
    if not is_address(place):
        from adyton.holdout.leaderboard import Leaderboard

        with Leaderboard(place) as board:
            yield board
        return
    with _connected(place) as (connection, name):
        yield connection.leaderboard(name)


@contextmanager
def _connected(place: str) -> Iterator[tuple[Connection, str]]:
    """With the token that the environment has, or names."""
    from adyton.client import connect
    from adyton.client.address import split_address

    url, name = split_address(place)
    with connect(url) as connection:
        yield connection, name
