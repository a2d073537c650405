"""A match over a closed set ends in assert_never, so that the type checker names it when the set grows.

Read from the syntax of the source.  A match that ends in any other case for all the rest looks at something open, or
says of what it does not know what is always safe to say: each of them is listed here with its reason.
"""

from __future__ import annotations

import ast
from pathlib import Path

import adyton

SOURCE = Path(adyton.__file__).parent

SAFE = "sees only some conditions and numbers; of all others it says what is true of any"
REST = "the last case takes a number, which mypy checks: the others are not numbers"
TEXT = "of a text or a value from outside, which may be anything"
ALLOWED = {
    ("client/wording.py", "_plain"): TEXT,
    ("engines/loading/given.py", "given"): "columns without a zone or a clock, whatever their kind",
    ("engines/scans/two_level.py", "_value"): REST,
    ("kernel/terms/disjoint.py", "_fact"): SAFE,
    ("kernel/terms/expressions.py", "constant_of"): SAFE,
    ("query/calendar.py", "start_of"): TEXT,
    ("query/conditions/covering.py", "_false"): SAFE,
    ("query/conditions/covering.py", "_of_value"): SAFE,
    ("query/conditions/covering.py", "covered"): SAFE,
    ("query/conditions/possible_cells.py", "_rises"): SAFE,
    ("query/conditions/subjects.py", "_breaks"): SAFE,
    ("query/conditions/subjects.py", "_seen"): SAFE,
    ("query/description.py", "_person_number_nats"): REST,
    ("query/missing.py", "never_missing"): SAFE,
    ("query/text.py", "_function_of_day"): SAFE,
    ("query/text.py", "_person_number_text"): REST,
    ("study/columns.py", "_declared"): TEXT,
    ("study/named_facts.py", "_column"): TEXT,
    ("study/named_facts.py", "named_facts"): TEXT,
    ("study/public_file.py", "_plain"): TEXT,
    ("testing/engines/loading.py", "_shown"): TEXT,
    ("testing/engines/meaning.py", "number_of_person"): REST,
    ("testing/engines/values.py", "is_outside"): "only some columns can be outside of what was declared",
    ("transports/http/formats.py", "written"): "what has no other form than its JSON",
    ("transports/cli/app.py", "ask"): "one query or a list of them",
    ("transports/cli/app.py", "make"): "one query or a list of them",
    ("transports/cli/app.py", "preview"): "one query or a list of them",
}


def takes_the_rest(match: ast.Match) -> bool:
    """Whether its last case is for all that no other took, and does neither refuse nor assert."""
    last = match.cases[-1]
    if (
        last.guard is not None
        or not isinstance(last.pattern, ast.MatchAs)
        or last.pattern.pattern is not None
    ):
        return False
    does = last.body[0]
    refuses = isinstance(does, ast.Raise)
    asserts = isinstance(does, ast.Expr) and ast.unparse(does).startswith("assert_never(")
    return not refuses and not asserts


def test_a_match_over_a_closed_set_ends_in_assert_never() -> None:
    """Mutant: the last case of ``planning.plan._part`` is ``case _`` again, and a new measure becomes a sum."""
    found = set()
    for path in sorted(SOURCE.rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef):
                matches = [node for node in ast.walk(function) if isinstance(node, ast.Match)]
                if any(map(takes_the_rest, matches)):
                    found.add((path.relative_to(SOURCE).as_posix(), function.name))
    assert found == ALLOWED.keys()
