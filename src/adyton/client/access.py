"""The token: from an argument, from the environment, or from a file that only its owner can read.

It is in no text, and in no pickle: what is sent to another process says where the token is found, and it is
looked up there.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NoReturn

from adyton.errors import InvalidRequest

VARIABLE, FILE_VARIABLE = "ADYTON_TOKEN", "ADYTON_TOKEN_FILE"
_LONGEST = 4096
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Access:
    """A token that does not show itself; ``source`` says where it came from, ``file`` if that was a file."""

    __slots__ = ("_token", "file", "source")

    def __init__(self, token: str, source: str, file: str | None = None) -> None:
        if not isinstance(token, str) or not 0 < len(token) <= _LONGEST or not _is_plain(token):
            raise InvalidRequest(f"{source} is no token: one has letters, digits and signs, and no spaces")
        self._token, self.source, self.file = token, source, file

    @classmethod
    def found(cls, token: str | None, token_file: str | Path | None) -> Access:
        """What was given, or else what the environment has, or names."""
        if token is not None and token_file is not None:
            raise InvalidRequest("give either a token or a token_file")
        if token is not None:
            return cls(token, "the argument token")
        if token_file is not None:
            return _of_file(Path(token_file).expanduser())
        if VARIABLE in os.environ:
            return cls(os.environ[VARIABLE].strip(), VARIABLE)
        if FILE_VARIABLE in os.environ:
            return _of_file(Path(os.environ[FILE_VARIABLE]).expanduser())
        raise InvalidRequest(
            f"a token is needed: give token=, token_file=, or set {VARIABLE} or {FILE_VARIABLE} in the "
            "environment"
        )

    @property
    def header(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}"}

    def __repr__(self) -> str:
        return f"<a token from {self.source}>"

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise InvalidRequest("a token is not pickled or copied")

    def elsewhere(self) -> str | None:
        """For another process: the file, or None for the environment; refused where it was an argument."""
        if self.source == VARIABLE or self.file is not None:
            return self.file
        raise InvalidRequest(
            f"a token that was given as an argument is not sent to other processes: put it into {VARIABLE}, "
            "or into a file of mode 600, so that they can find it themselves"
        )


def _is_plain(token: str) -> bool:
    return token.isascii() and token.isprintable() and " " not in token


def _of_file(path: Path) -> Access:
    """Looked at while it is open, so that it cannot be exchanged in between."""
    try:
        with path.open(encoding="ascii") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(2 * _LONGEST).strip() if stat.S_ISREG(mode) else ""
    except (OSError, UnicodeDecodeError):
        raise InvalidRequest(f"the token file {path} cannot be read") from None
    if os.name != "nt" and mode & _OTHERS:
        raise InvalidRequest(f"the token file {path} can be read by others: chmod 600 {path}")
    return Access(content, f"the file {path.absolute()}", str(path.absolute()))
