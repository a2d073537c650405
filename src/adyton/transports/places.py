"""A study or a holdout where a command finds it: in a file here, or at its address on a server."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from adyton.curator import Curator, open_study
from adyton.errors import InvalidRequest
from adyton.study import Study, read_study
from adyton.transports.terminal import show, show_csv

if TYPE_CHECKING:  # only whoever gives an address waits for them
    from adyton.client import RemoteHoldout, RemoteLeaderboard, RemoteMock, RemoteStudy, ServerConnection
    from adyton.holdout import Holdout, Leaderboard

Opened: TypeAlias = "Curator | RemoteStudy"
Asker: TypeAlias = "Curator | RemoteStudy | RemoteMock"
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


def is_address(place: str) -> bool:
    """Whether it names a server, and no file; also an address that has lost a slash."""
    return re.match(r"https?:/", place) is not None


def file_of(place: str, what: str) -> Path:
    """The file, for what is done only where the study lies."""
    if is_address(place):
        raise InvalidRequest(f"{what} is done where the study lies, with its file, and not over the network")
    return Path(place)


def shown(
    study: str | Path,
    make: Callable[[Any], Any],
    as_json: bool,
    *,
    mock: bool = False,
    as_csv: bool = False,
    **how: bool,
) -> None:
    """Print what ``make`` gets from a study; after Ctrl-C it is said which receipt was paid by then."""
    askers: list[Asker] = []

    def done() -> Any:
        with opened_mock(str(study)) if mock else opened(study) as asker:
            askers.append(asker)
            return make(asker)

    def paid() -> int | None:
        return askers[0].paid_for if askers else None

    if as_csv:
        show_csv(done, as_json, paid)
    else:
        show(done, as_json, paid=paid, **how)


def opened(place: str | Path) -> AbstractContextManager[Opened]:
    return _opened(place, open_study, lambda connection, name: connection.study(name))


def opened_mock(place: str) -> AbstractContextManager[Curator | RemoteMock]:
    """Made-up rows: of a file here, of an address there."""
    from adyton.curator.mock import mock_of

    return _opened(
        place,
        lambda file: mock_of(public_study(file)),
        lambda connection, name: connection.study(name).mock(),
    )


def opened_holdout(place: str | Path) -> AbstractContextManager[Holdout | RemoteHoldout]:
    from adyton.holdout import Holdout

    return _opened(place, Holdout.open, lambda connection, name: connection.holdout(name))


def opened_leaderboard(place: str | Path) -> AbstractContextManager[Leaderboard | RemoteLeaderboard]:
    from adyton.holdout.leaderboard import Leaderboard

    return _opened(place, Leaderboard, lambda connection, name: connection.leaderboard(name))


@contextmanager
def opened_server(address: str) -> Iterator[ServerConnection]:
    """A server itself, with the token that the environment has, or names."""
    from adyton.client import connect

    with connect(address) as connection:
        yield connection


def public_study(place: str) -> Study:
    """What is public of a study, enough to make rows up."""
    if not is_address(place):
        return read_study(place)
    from adyton.client.facts import study_of

    with _connected(place) as (connection, name):
        return study_of(connection.study(name).facts)


@contextmanager
def _opened(
    place: str | Path,
    here: Callable[[Any], AbstractContextManager[Any]],
    there: Callable[[ServerConnection, str], Any],
) -> Iterator[Any]:
    """A path is that of a file, for commands that work only where it lies; a text may be an address."""
    if isinstance(place, Path) or not is_address(place):
        with here(place) as found:
            yield found
        return
    with _connected(place) as (connection, name):
        yield there(connection, name)


@contextmanager
def _connected(place: str) -> Iterator[tuple[ServerConnection, str]]:
    """With the token that the environment has, or names."""
    from adyton.client import connect
    from adyton.client.address import split_address

    url, name = split_address(place)
    with connect(url) as connection:
        yield connection, name
