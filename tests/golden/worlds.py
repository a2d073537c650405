"""Every golden file, and what makes it.

What is held elsewhere and not again here: a few hundred certified values of accounting, mechanisms, validity, subsets
and holdouts (``tests/certified/certified_values.json``, with ``test_certified_table.py`` and ``certified_*.py`` beside it);
the document of HTTP and the page of the command line (``docs/reference``); the keys of each JSON
(``docs/reference/json.md``); the public names (``tests/docs/public_names.txt``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from golden import corpus, surfaces, talks
from golden.held import Entry, probe, read, told
from golden.ledgers import ledgers
from golden.scores import SCORES
from golden.stories import STORIES
from support.tries import LONG

FILES: dict[str, Callable[[], Iterable[Entry]]] = {
    "machine": lambda: [Entry("floats", probe())],
    "texts": corpus.texts,
    **{f"answers-{name}": corpus.answers(name) for name in corpus.ACCOUNTING_NAMES},
    "ledgers": ledgers(STORIES),
    "holdouts": ledgers(SCORES),
    "commands": surfaces.commands,
    "http": surfaces.requests,
    "agents": surfaces.agents,
    "postgres": talks.talk,
}


def is_alike() -> bool:
    """Whether this machine computes floats as the one that wrote the files."""
    return read("machine") == {entry.name: told(entry.held) for entry in FILES["machine"]()}


def is_whole(file: str) -> bool:
    """Whether all lines of the file are made, also in a short run."""
    return LONG or not file.startswith("answers")


def entries(file: str) -> Iterator[Entry]:
    """Whose names are those of lines: one each."""
    seen = set[str]()
    for entry in FILES[file]():
        if entry.name in seen or "\t" in entry.name or "\n" in entry.name:
            raise ValueError(f"{file}: {entry.name!r} is no name of one line")
        seen.add(entry.name)
        yield entry
