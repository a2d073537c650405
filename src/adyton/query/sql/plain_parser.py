"""sqlglot's parser without its functions."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import sqlglot.parser

CASTS = ("CAST", "TRY_CAST", "SAFE_CAST")
_SOURCE = "parser.py"


def parser_from_source() -> Any:
    """The class as it stands in the source file, also where a compiled form of it takes its place."""
    path = Path(sqlglot.parser.__file__).with_name(_SOURCE)
    spec = spec_from_file_location(f"{__name__}_source", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module.Parser


if TYPE_CHECKING:
    from sqlglot.parser import Parser
elif Path(sqlglot.parser.__file__).name == _SOURCE:
    Parser = sqlglot.parser.Parser
else:  # sqlglot[c]: nothing that is interpreted may inherit from what is compiled
    Parser = parser_from_source()


class PlainParser(Parser):
    """Reads every call as a name with arguments.  What a function means is not for the parser to decide."""

    FUNCTIONS: ClassVar = {}
    FUNCTION_PARSERS: ClassVar = {name: Parser.FUNCTION_PARSERS[name] for name in ("EXTRACT", *CASTS)}
    NO_PAREN_FUNCTIONS: ClassVar = {}
    NO_PAREN_FUNCTION_PARSERS: ClassVar = {"CASE": Parser.NO_PAREN_FUNCTION_PARSERS["CASE"]}
