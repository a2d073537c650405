"""Changes one operator, constant or check of the kernel at a time, and names the changes that no test sees.

Run by ``make mutants``.  Every test is collected once, in one process.  Each mutant gets a fork of it, in which the
code of one function is replaced, and runs the tests that reach its lines, those first that killed its neighbors.
What is not in a function (a constant of a module, a default) is worked out by a changed module that is run beside the
first; if no test sees that, it is changed in a copy of ``src``, which takes some seconds more.  The working tree is
never touched.

Results are kept in ``build/mutants``, as long as the module stays the same, and the function of the test that killed.
A survivor meets the tests alone that are new or were changed, or that a longer budget of seconds adds.  So the fast
way is in steps: first the few tests that are about a module (``--tests``), without copies (``--quick``), then all.
No mutant is made of what an error says, of how an object is shown, and of lengths that ``zip`` compares.

The libraries do less: mutmut leaves out decorated functions, so every property and whatever is cached; cosmic-ray
starts Python anew for each mutant, which takes longer than most tests here.  Neither removes checks.
"""

from __future__ import annotations

import argparse
import ast
import gc
import inspect
import json
import os
import pickle
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import _lru_cache_wrapper, cache, cached_property
from hashlib import sha256
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "adyton"
MODULES = (  # of SOURCE: the path of a cost, a sensitivity or a charge
    "kernel/*.py",
    "kernel/accounting/*.py",
    "kernel/exact/*.py",
    "kernel/ledger/**/*.py",
    "kernel/mechanisms/*.py",
    "kernel/sensitivity/*.py",
    "kernel/special/**/*.py",
    "kernel/terms/*.py",
)
JUDGES = """
above_threshold adaptive_marginals bounded_range cells_that_can_match conversions coordinated_answers cumulated_counts
disjoint_filters exponential gaussian_is_gdp gdp_filter gdp_to_approx groups joined_rows key_selection local_reports
matrix matrix_sensitivity mechanisms moments multiplicative_weights mwem noisy_search numeric_sparse one_answer peeling
permute_and_flip persons_and_rounding priced_noise private_mw pure_filter pure_implies_gdp pure_implies_zcdp
randomized_response residuals rounding_study sensitivity sparse sparse_validate monitor_of_sums top_k two_level zcdp_filter
zcdp_to_approx exponential_coins restored_ledger composition
"""
TESTS = ["tests/kernel", *(f"tests/theorems/test_{name}.py" for name in JUDGES.split())]
TESTS += [
    "tests/certify/test_amounts.py",
    "tests/query/test_atoms.py",
    "tests/curator/test_batches.py",
    "tests/certified/test_certified_table.py",
    "tests/arithmetic/test_columns.py",
    "tests/curator/test_curator.py",
    "tests/study/test_declared_columns.py",
    "tests/kernel/test_exact.py",
    "tests/kernel/test_filter_laws.py",
    "tests/ledgers/test_ledger_files.py",
    "tests/curator/test_selections.py",
    "tests/monitors/test_monitors.py",
    "tests/monitors/test_pmw.py",
]
TESTS += [
    "tests/contracts/test_ledgers.py",
    "tests/attacks/test_ledger_attacks.py",
    "tests/attacks/test_ledger_opening.py",
]
REPORT = ROOT / "build" / "mutants"  # a file for each module: two runs may judge different modules
REACHED = ROOT / "build" / "mutants-reached.json"
ACCEPTED = ROOT / "tests" / "kernel" / "survivors.toml"
LEAST_KILLED = 0.95
MEMORY = 12 * 2**30
SECONDS = 6  # of processor time of tests for one mutant, as long as they take when nothing is changed
SWAPPED = {"any": "all", "all": "any", "max": "min", "min": "max", "sum": "max", "minimum": "maximum"}
UNWRAPPED = {"require", "made_here"}  # checks that give back what they were given
OTHERS: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Add,),
    ast.Div: (ast.Mult,), ast.FloorDiv: (ast.Mult,), ast.Mod: (ast.Mult,), ast.Pow: (ast.Mult,),
}  # fmt: skip
Function = tuple[str, int]  # its name in the module, and its first line


# What is changed -------------------------------------------------------------------------------------------


def other_expressions(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(left, operators, right):
            for place, operator in enumerate(operators):
                for other in OTHERS[type(operator)]:
                    yield ast.Compare(left, [*operators[:place], other(), *operators[place + 1 :]], right)
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
            for place in range(len(values)):
                rest = [*values[:place], *values[place + 1 :]]
                yield ast.BoolOp(operator, rest) if len(rest) > 1 else rest[0]
        case ast.BinOp(left, ast.BitOr(), right):
            yield from (left, right)
        case ast.BinOp(left, operator, right):
            yield from (ast.BinOp(left, other(), right) for other in OTHERS.get(type(operator), ()))
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield operand
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Subscript(of, ast.Constant(0)):
            yield ast.Subscript(of, ast.Constant(1), node.ctx)  # -1 is the same of a list of one
        case ast.Constant(int(value)):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.Constant(float(value)):
            yield from (ast.Constant(other) for other in ([2 * value, value / 2] if value else [1.0]))
        case ast.Call(ast.Name(name), [first, *_]) if name in UNWRAPPED:
            yield first
        case ast.Call(ast.Name(name), arguments, named) if name in SWAPPED:
            yield ast.Call(ast.Name(SWAPPED[name], ast.Load()), arguments, named)
        case ast.Call(ast.Attribute(of, name), arguments, named) if name in SWAPPED:
            yield ast.Call(ast.Attribute(of, SWAPPED[name], ast.Load()), arguments, named)


def other_statements(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.AugAssign(target, operator, value):
            yield from (ast.AugAssign(target, other(), value) for other in OTHERS.get(type(operator), ()))
        case ast.If(_, body, []) if isinstance(body[-1], ast.Raise | ast.Return | ast.Continue):
            yield ast.Pass()
        case ast.Expr(ast.Call()):
            yield ast.Pass()


def other_condition(node: ast.AST, name: str) -> Iterator[ast.AST]:
    """The opposite of a condition that has no operator of its own."""
    plain = isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.NamedExpr)
    if plain and name in ("test", "ifs"):
        yield ast.UnaryOp(ast.Not(), node)


@dataclass(eq=False)
class Mutant:
    """Another node in the place of one: item ``index`` of a list, or all of ``name``, in ``parent``."""

    module: str
    tree: ast.Module
    parent: ast.AST
    name: str
    index: int | None
    old: Any
    new: Any
    function: Function | None
    lines: range  # of the statement
    text: str = ""
    at: int = 0  # where in the text
    change: str = ""

    @property
    def line(self) -> int:
        return int(self.old.lineno)

    @property
    def of(self) -> str:
        """The name of its function."""
        return self.function[0] if self.function else ""

    @property
    def key(self) -> str:
        return f"{self.module}:{self.line}:{self.old.col_offset} {self.change}"

    def _put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.parent, self.name, node)
        else:
            getattr(self.parent, self.name)[self.index] = node

    @contextmanager
    def changed(self) -> Iterator[ast.Module]:
        self._put(ast.fix_missing_locations(ast.copy_location(self.new, self.old)))
        try:
            yield self.tree
        finally:
            self._put(self.old)

    def named(self, lines: list[str]) -> Mutant:
        shown = self.parent if isinstance(self.parent, ast.expr) else self.old
        before = ast.unparse(shown)
        with self.changed():
            after = ast.unparse(self.parent if shown is self.parent else self.new)
        self.text = lines[self.line - 1].strip()
        self.at = self.old.col_offset - lines[self.line - 1].index(self.text)
        self.change = "removed" if isinstance(self.new, ast.Pass) else f"{before}  ->  {after}"
        return self

    def code(self) -> CodeType:
        """Of the changed function."""
        with self.changed() as tree:
            found = [compile(tree, str(SOURCE / self.module), "exec")]
        for code in found:
            if (code.co_qualname, code.co_firstlineno) == self.function:
                return code
            found += [one for one in code.co_consts if isinstance(one, CodeType)]
        raise LookupError(self.function)


def mutants_of(module: str) -> Iterator[Mutant]:
    text = (SOURCE / module).read_text()
    tree = ast.parse(text)

    def within(node: ast.AST, of: str, function: Function | None, lines: range) -> Iterator[Mutant]:
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list") or only_words(node, name):
                continue
            for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
                first_item = isinstance(node, ast.Subscript) and isinstance(child, ast.Constant)
                if not isinstance(child, ast.AST) or (first_item and child.value == 0):
                    continue
                inner, inside = header(child) if isinstance(child, ast.stmt) else lines, function
                if isinstance(node, ast.FunctionDef) and name == "body" and function is None:
                    inside = (of, min(line.lineno for line in (node, *node.decorator_list)))
                for other in (
                    *other_expressions(child),
                    *other_statements(child),
                    *other_condition(child, name),
                ):
                    yield Mutant(module, tree, node, name, index, child, other, inside, inner)
                called = of
                if isinstance(child, ast.ClassDef | ast.FunctionDef) and function is None:
                    called = f"{of}.{child.name}".lstrip(".")
                yield from within(child, called, inside, inner)

    every = (mutant.named(text.splitlines()) for mutant in within(tree, "", None, range(0)))
    kept = [mutant for mutant in every if not for_type_checkers(mutant)]
    yield from sorted(kept, key=lambda mutant: mutant.function is None)  # those take longest


def only_words(node: ast.AST, name: str) -> bool:
    """What an error says and what an object looks like; whether fields that follow from others are compared,
    and whether lengths are.
    """
    match node:
        case ast.Raise() | ast.FunctionDef(name="__repr__"):
            return True
        case ast.Call(ast.Name("field")) if name == "keywords":
            return any(one.arg == "init" for one in node.keywords)
        case ast.keyword(arg="strict"):  # of what zip is given, the lengths are the same
            return True
    return False


def header(statement: ast.stmt) -> range:
    """The lines of a statement without those of the statements in it."""
    body = getattr(statement, "body", None)
    last = body[0].lineno - 1 if body else statement.end_lineno or statement.lineno
    return range(statement.lineno, max(last, statement.lineno) + 1)


def for_type_checkers(mutant: Mutant) -> bool:
    """Unions and type variables of a module."""
    union = isinstance(getattr(mutant.old, "op", None), ast.BitOr)
    return mutant.function is None and (union or "TypeVar(" in mutant.text)


# What the tests reach --------------------------------------------------------------------------------------


class Reached(NamedTuple):
    """A test: its seconds, and the lines of each module that it runs."""

    seconds: float
    lines: dict[str, list[int]]


def in_fork(work: Callable[[], Any], seconds: float) -> Any:
    """What ``work`` gives in a process of its own; how that ended, if it gave nothing."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.setitimer(signal.ITIMER_PROF, seconds)  # of the processor: the machine may be busy
        signal.setitimer(signal.ITIMER_REAL, 60 + 20 * seconds)  # it waits for what never comes
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        try:
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(work(), pipe)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    late = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGALRM, signal.SIGPROF)
    return pickle.loads(told) if told else ("timed out" if late else "crashed", None)


def fails(item: Any, following: Any) -> bool:
    from _pytest.runner import runtestprotocol

    return any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))


def reached_by(items: list[Any], modules: list[Path]) -> dict[str, Reached]:
    """Of each test that passes, and starts no process: that would import what is not changed."""
    files = {str(path): path.relative_to(SOURCE).as_posix() for path in modules}
    known: dict[str, Reached] = {}

    def tracer(frame: FrameType, event: str, argument: object) -> Any:
        """Of a function each line of which was seen, no more is asked."""
        code = frame.f_code
        if code.co_filename not in files:
            return None
        left = unseen.get(code)
        if left is None:
            left = unseen[code] = {line for _, _, line in code.co_lines() if line is not None}
        if not left:
            return None
        if frame.f_lineno in left:
            left.remove(frame.f_lineno)
            lines[files[code.co_filename]].add(frame.f_lineno)
        return tracer

    started: list[str] = []
    note_processes(subprocess.Popen, "__init__", started)
    note_processes(BaseProcess, "start", started)
    for item, following in zip(items, [*items[1:], None], strict=True):
        lines, start = defaultdict[str, set[int]](set), time.process_time()
        started.clear()
        unseen: dict[CodeType, set[int]] = {}
        sys.settrace(tracer)
        threading.settrace(tracer)
        failed = fails(item, following)
        sys.settrace(None)
        if not failed and not started:
            seconds = round(time.process_time() - start, 3)
            known[item.nodeid] = Reached(seconds, {module: sorted(own) for module, own in lines.items()})
    return known


def note_processes(kind: Any, name: str, started: list[str]) -> None:
    """Writes down what starts a process by this method."""
    usual = getattr(kind, name)

    def noted(*args: Any, **named: Any) -> Any:
        started.append(name)
        return usual(*args, **named)

    setattr(kind, name, noted)


def file_of(name: str) -> str:
    return name.split("::")[0]


# Judging ---------------------------------------------------------------------------------------------------


def fingerprint(*paths: Path) -> str:
    every = sorted(one for path in paths for one in (path.rglob("*.py") if path.is_dir() else [path]))
    return sha256(b"\0".join(one.read_bytes() for one in every)).hexdigest()[:16]


@cache
def text_of(function: Any) -> str:
    plain = getattr(getattr(function, "hypothesis", None), "inner_test", function)
    return sha256(inspect.getsource(plain).encode()).hexdigest()[:12] if function else ""


def by_text(tests: dict[str, str]) -> dict[str, list[str]]:
    """The digest of each function, and which of its cases."""
    found = defaultdict[str, list[str]](list)
    for name in sorted(tests):
        found[tests[name]].append(name)
    return found


@dataclass
class Judge:
    """A plugin of pytest: in place of running what was collected it runs the mutants."""

    mutants: list[Mutant]
    report: dict[str, dict[str, Any]]  # of each module
    seconds: float
    quick: bool = False
    written: float = 0.0
    kills: dict[Any, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def pytest_collection(self) -> None:
        """The first example that fails is enough: none is made smaller."""
        from hypothesis import Phase, settings

        usual = settings.get_profile("adyton")
        settings.register_profile("mutants", usual, phases=(Phase.explicit, Phase.generate))
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session: Any) -> bool:
        from rich.progress import track

        self.items = {item.nodeid: item for item in session.items}
        gc.unfreeze()  # or else nothing that was collected is among the objects
        every = gc.get_objects()
        self.functions = defaultdict[tuple[str, Function], list[FunctionType]](list)
        for one in (one for one in every if type(one) is FunctionType):
            code = one.__code__
            self.functions[code.co_filename, (code.co_qualname, code.co_firstlineno)].append(one)
        of_ours = (one for one in every if type(one) is _lru_cache_wrapper)
        self.caches = [one for one in of_ours if str(one.__module__).startswith("adyton")]
        gc.freeze()
        self.reached = self._reached(session.items)
        failing = Counter(map(file_of, self.items.keys() - self.reached.keys()))
        for file, number in failing.items():
            print(f"{file}: {number} fail as it is, or start a process, and judge nothing")
        judged, last = set[str](), ""
        for mutant in track(self.mutants, description="mutants"):
            known = self.report[mutant.module].get(mutant.key)
            if known is None or not self._still_true(known):
                tried = self._tried(known)
                chosen = [name for name in self._chosen(mutant) if name not in tried]
                if chosen or known is None or known["outcome"] != "survived":
                    self.report[mutant.module][mutant.key] = self._judged(mutant, chosen, tried)
                    judged.add(mutant.module)
                    self._write(mutant.module, every=10 if mutant.module == last else 0)
                    last = mutant.module
            killer = self.report[mutant.module][mutant.key]["killer"]
            self.kills[mutant.function, mutant.module][killer] += killer is not None
        for module in judged:
            self._write(module, every=0)
        return True

    def _write(self, module: str, every: float) -> None:
        """The report of a module, if none was written in as many seconds."""
        if time.monotonic() - self.written >= every:
            stored_report(module).write_text(json.dumps(self.report[module], indent=1))
            self.written = time.monotonic()

    def _reached(self, items: list[Any]) -> dict[str, Reached]:
        """Found once for this source and each file of tests."""
        source = fingerprint(SOURCE)
        now = {
            file: f"{source} {fingerprint(ROOT / file)}" for file in {file_of(one.nodeid) for one in items}
        }
        stored = json.loads(REACHED.read_text()) if REACHED.exists() else {}
        known = {file: stored[file] for file in now if stored.get(file, {}).get("now") == now[file]}
        left = [one for one in items if file_of(one.nodeid) not in known]
        if left:
            modules = sorted({path for pattern in MODULES for path in SOURCE.glob(pattern)})
            found = in_fork(lambda: reached_by(left, modules), 3600)
            known |= {file: {"now": now[file], "tests": {}} for file in now.keys() - known.keys()}
            for name, reached in found.items():
                known[file_of(name)]["tests"][name] = reached
            REACHED.write_text(json.dumps(stored | known))
        every = {name: own for file in known.values() for name, own in file["tests"].items()}
        return {name: Reached(*own) for name, own in every.items() if name in self.items}

    def _still_true(self, known: dict[str, Any]) -> bool:
        """Of what was not killed, new tests may say more."""
        killer = known["killer"]
        if known["source"] != fingerprint(SOURCE / known["module"]):
            return False
        if killer is None:  # who made it run forever is not known
            return bool(known["outcome"] != "survived")
        return killer not in self.items or known["tried"] == by_text({killer: self._text(killer)})

    def _tried(self, known: dict[str, Any] | None) -> dict[str, str]:
        """The tests that saw no difference, as they are today."""
        if known is None or known["source"] != fingerprint(SOURCE / known["module"]):
            return {}
        every = known["tried"].items() if known["outcome"] == "survived" else ()
        names = {name: text for text, own in every for name in own}
        return {n: text for n, text in names.items() if n not in self.items or text == self._text(n)}

    def _text(self, name: str) -> str:
        """A digest of what the function of a test says."""
        return text_of(getattr(self.items[name], "function", None))

    @cached_property
    def _dearness(self) -> dict[str, float]:
        """Small for tests that are fast, reach little else, and are the kernel's own."""
        return {
            name: sum(map(len, test.lines.values())) * (test.seconds + 0.002) * (1 if TESTS[0] in name else 5)
            for name, test in self.reached.items()
        }

    def _chosen(self, mutant: Mutant) -> list[str]:
        """The tests that reach the statement: those that killed beside it, and those that reach little else."""
        lines, kills = set(mutant.lines), self.kills[mutant.function, mutant.module]
        names = [
            name
            for name, test in self.reached.items()
            if lines.intersection(test.lines.get(mutant.module, ()))
            or (mutant.function is None and (mutant.module in test.lines or not test.lines))
        ]
        beside = sum(
            (own for (_, module), own in self.kills.items() if module == mutant.module), Counter[str]()
        )
        names.sort(key=self._dearness.__getitem__)
        rank = Counter[str]()
        turns = {}
        for name in names:  # cases of one test take turns with other tests
            turns[name] = rank[name.split("[")[0]] // 8
            rank[name.split("[")[0]] += 1
        names.sort(key=lambda name: (-kills[name], -beside[name], turns[name], self._dearness[name]))
        left, chosen = self.seconds, []
        for name in names:
            left -= self.reached[name].seconds
            if left > 0 or not chosen:
                chosen.append(name)
        return chosen

    def _judged(self, mutant: Mutant, chosen: list[str], tried: dict[str, str]) -> dict[str, Any]:
        start = time.perf_counter()
        longest = 1 + 2 * sum(self.reached[name].seconds for name in chosen)
        if not chosen:
            outcome, killer = "survived", None
        elif mutant.function is None:
            outcome, killer = in_fork(lambda: self._killed_beside(mutant, chosen), longest)
            if outcome == "survived" and not self.quick:
                outcome, killer = in_a_copy(mutant, chosen, 10 * longest)
        else:
            code, functions = mutant.code(), self.functions[str(SOURCE / mutant.module), mutant.function]
            assert functions, mutant.key
            outcome, killer = in_fork(lambda: self._killed(code, functions, chosen), longest)
        unsure = mutant.function is None and self.quick  # a copy of the source may say more
        met = {name: self._text(name) for name in ([killer] if killer else [] if unsure else chosen)}
        return {
            "outcome": outcome, "killer": killer, "module": mutant.module, "line": mutant.line, "text": mutant.text,
            "change": mutant.change, "source": fingerprint(SOURCE / mutant.module), "of": mutant.of,
            "tried": by_text(met if killer else tried | met), "seconds": round(time.perf_counter() - start, 2),
        }  # fmt: skip

    def _killed(
        self, code: CodeType, functions: list[FunctionType], chosen: list[str]
    ) -> tuple[str, str | None]:
        for function in functions:
            function.__code__ = code
        return self._run(chosen)

    def _killed_beside(self, mutant: Mutant, chosen: list[str]) -> tuple[str, str | None]:
        module = sys.modules[
            f"adyton.{mutant.module.removesuffix('.py').replace('/', '.')}".removesuffix(".__init__")
        ]
        with mutant.changed() as tree:
            changed = dict(vars(module))
            try:
                exec(compile(tree, str(SOURCE / mutant.module), "exec"), changed)
            except Exception:
                return "killed", chosen[0]  # nothing can import it
        take_over(module, changed)
        return self._run(chosen)

    def _run(self, chosen: list[str]) -> tuple[str, str | None]:
        for known in self.caches:
            known.cache_clear()
        items = [self.items[name] for name in chosen]
        for item, following in zip(items, [*items[1:], None], strict=True):
            if fails(item, following):
                return "killed", item.nodeid
        return "survived", None


def differ(old: object, new: object) -> bool:
    """Of classes and functions there are two now, which are alike."""
    if isinstance(old, int):
        return old != new  # some have more digits than Python writes
    return re.sub(" at 0x[0-9a-f]+", "", repr(old)) != re.sub(" at 0x[0-9a-f]+", "", repr(new))


def take_over(module: Any, changed: dict[str, Any]) -> None:
    """Constants and defaults of a changed module, wherever they were imported; code stays as it is."""
    for name, new in changed.items():
        old = vars(module).get(name)
        if isinstance(new, type) and new.__module__ == module.__name__:
            for own, value in list(vars(new).items()):
                known = vars(old).get(own)
                if isinstance(value, classmethod | staticmethod):
                    known, value = known.__func__, value.__func__
                if isinstance(value, FunctionType) and value.__code__.co_filename == "<string>":
                    setattr(old, own, value)  # what dataclass makes
                elif isinstance(value, FunctionType):
                    take_defaults(known, value)
                elif not own.startswith("__") and differ(known, value):
                    setattr(old, own, value)
        elif isinstance(new, FunctionType) and new.__module__ == module.__name__:
            take_defaults(inspect.unwrap(old), new)
        elif not name.startswith("__") and differ(old, new):
            for other in [one for key, one in sys.modules.items() if key.startswith("adyton")]:
                if vars(other).get(name) is old:
                    setattr(other, name, new)


def take_defaults(old: Any, new: FunctionType) -> None:
    if differ((old.__defaults__, old.__kwdefaults__), (new.__defaults__, new.__kwdefaults__)):
        old.__defaults__, old.__kwdefaults__ = new.__defaults__, new.__kwdefaults__


def in_a_copy(mutant: Mutant, chosen: list[str], seconds: float) -> tuple[str, str | None]:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(SOURCE.parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
        with mutant.changed() as tree:
            (copy / "adyton" / mutant.module).write_text(ast.unparse(tree))
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *chosen]
        environment = {**os.environ, "PYTHONPATH": str(copy)}
        try:
            done = subprocess.run(command, env=environment, timeout=seconds, capture_output=True, text=True)
        except subprocess.TimeoutExpired:
            return "timed out", None
    failed = [line.split()[1] for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    killer = next((one for one in failed if one in chosen), chosen[0])
    return ("survived", None) if done.returncode == 0 else ("killed", killer)


# The report ------------------------------------------------------------------------------------------------


def stored_report(module: str) -> Path:
    return REPORT / f"{module.removesuffix('.py').replace('/', '.')}.json"


def known_as(one: dict[str, Any]) -> tuple[str, str, str, int, str]:
    """A survivor is known by its function, the text of its line, its place in it and its change."""
    return one["module"], one["of"], one["text"], one["at"], one["change"]


def verdict(results: list[dict[str, Any]], whole: bool, every: bool) -> int:
    """Prints what is not in order, and the figures; 1 if too little is killed or a survivor is not accepted."""
    accepted = {known_as(one) for one in tomllib.loads(ACCEPTED.read_text())["survivor"]}
    judged = {one["module"] for one in results}
    survivors = [one for one in results if one["outcome"] == "survived"]
    unknown = [one for one in survivors if known_as(one) not in accepted]
    found = {known_as(one) for one in survivors}
    stale = {one for one in accepted - found if one[0] in judged} if whole else set()
    for one in unknown:
        print(f"survived: src/adyton/{one['module']}:{one['line']}: {one['change']}\n          {one['text']}")
    for module, _, text, _, change in sorted(stale):
        print(f"no survivor any more: {module}: {change}\n          {text}")
    print(f"{'':36} places  killed  accepted  open")
    for group in sorted({group_of(one["module"]) for one in results}):
        print(row(group, [one for one in results if group_of(one["module"]) == group], unknown))
    print(row("all", results, unknown))
    killed = 1 - len(survivors) / max(1, len(results))
    print(f"{killed:.1%} killed")
    return int(bool(unknown or stale) or (whole and every and killed < LEAST_KILLED))


def group_of(module: str) -> str:
    """Its directory, or its file where that stands beside directories."""
    _, *inner = module.split("/")
    return inner[0] if len(inner) == 1 else "/".join(inner[:2] if inner[0] == "special" else inner[:1])


def row(group: str, results: list[dict[str, Any]], unknown: list[dict[str, Any]]) -> str:
    own = [one for one in results if one["outcome"] == "survived"]
    left = sum(one in unknown for one in own)
    killed, accepted = len(results) - len(own), len(own) - left
    return f"{group:36} {len(results):6}  {killed:6}  {accepted:8}  {left:4}   {killed / len(results):6.1%}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--module", nargs="*", default=[""], help="only modules whose path has one of these in it"
    )
    parser.add_argument("--line", type=int, help="only mutants of this line")
    parser.add_argument("--list", action="store_true", help="only name the mutants")
    parser.add_argument("--tests", nargs="*", default=TESTS, help="only these tests judge")
    parser.add_argument("--quick", action="store_true", help="make no copies of src; a later run does")
    parser.add_argument("--found", action="store_true", help="run nothing: what earlier runs found")
    parser.add_argument("--again", action="store_true", help="forget what earlier runs found")
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="of tests for one mutant; fewer find less"
    )
    asked = parser.parse_args()
    modules = sorted(
        path.relative_to(SOURCE).as_posix() for pattern in MODULES for path in SOURCE.glob(pattern)
    )
    wanted = [module for module in modules if any(part in module for part in asked.module)]
    mutants = [one for module in wanted for one in mutants_of(module) if asked.line in (None, one.line)]
    if asked.list:
        for one in mutants:
            print(f"src/adyton/{one.module}:{one.line}: {one.change}")
        return 0
    REPORT.mkdir(parents=True, exist_ok=True)
    stored = {module: stored_report(module) for module in wanted}
    report = {
        module: {} if asked.again or not path.exists() else json.loads(path.read_text())
        for module, path in stored.items()
    }
    if not asked.found:
        run(Judge(mutants, report, asked.seconds, asked.quick), asked.tests)
    results = [
        {**report[one.module][one.key], "at": one.at} for one in mutants if one.key in report[one.module]
    ]
    if len(results) < len(mutants):
        print(f"{len(mutants) - len(results)} of {len(mutants)} places are not judged")
    return verdict(results, len(results) == len(mutants) and asked.line is None, len(wanted) == len(modules))


def run(judge: Judge, tests: list[str]) -> None:
    import pytest

    quiet = ["-s", "-qq", "--no-summary", "--tb=native", "-p", "no:cacheprovider", "-p", "no:xdist"]
    os.chdir(ROOT)
    pytest.main([*tests, *quiet, "--continue-on-collection-errors"], plugins=[judge])


if __name__ == "__main__":
    sys.exit(main())
