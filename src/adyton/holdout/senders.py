"""Who sent a score, and what the model is called: the names that a leaderboard shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adyton.errors import InvalidRequest

_LONGEST_NAME = 80
_BETWEEN = "\n"  # in no name, because it cannot be printed


@dataclass(frozen=True, slots=True)
class Sender:
    """An entrant, and one of its models.  Both are names that people gave: no label is in them.

    >>> Sender.checked("ann", "small") == Sender.of_notes(["ann", "small"])
    True
    """

    entrant: str
    model: str | None = None

    @classmethod
    def checked(cls, entrant: object, model: object = None) -> Sender:
        """InvalidRequest unless both can be shown on one line."""
        if not _is_shown(entrant):
            raise InvalidRequest(f"the name of an entrant has 1 to {_LONGEST_NAME} printable characters")
        if model is not None and (not _is_shown(model) or str(model) != str(model).strip()):
            raise InvalidRequest(
                f"the name of a model has 1 to {_LONGEST_NAME} printable characters, without a space at "
                "either end"
            )
        return cls(str(entrant), None if model is None else str(model))

    @property
    def note(self) -> str:
        """Both in one note, so that no crash comes between them."""
        return self.entrant if self.model is None else f"{self.entrant}{_BETWEEN}{self.model}"

    @classmethod
    def of_notes(cls, notes: Sequence[str]) -> Sender | None:
        """From the notes of a receipt.  A second note is the model that the same entrant named later."""
        if not notes:
            return None
        entrant, _, model = notes[0].partition(_BETWEEN)
        return cls(entrant, model or next(iter(notes[1:]), None))


def _is_shown(name: object) -> bool:
    return isinstance(name, str) and name.isprintable() and 1 <= len(name) <= _LONGEST_NAME
