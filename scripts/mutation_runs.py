"""Tests run against mutants, each in a process of its own.

All tests are collected once, with all that they import. For a mutant this process forks, the child
exchanges the code of one function, and runs the tests that can notice it until one fails: those
that run its lines, by a map made once. Lines count from the function they are in, so that the map
outlives edits elsewhere. Quick tests mostly come first, and those that have noticed other mutants
of the file.

What runs while tests are imported is not run again, and what a module itself does is not changed.
"""

from __future__ import annotations

import ast
import gc
import hashlib
import importlib
import inspect
import json
import os
import random
import resource
import select
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from _pytest.runner import runtestprotocol
from mutants import Mutant

MEMORY = 6 << 30
"""Bytes that a run may map."""
Lines = dict[str, set[str]]
"""For each test, the lines it runs: `path function+offset`."""


@dataclass(frozen=True)
class Tests:
    """A file of tests: how many seconds each takes, and the lines that it runs."""

    path: str
    seconds: dict[str, float]
    lines: Lines


@dataclass(frozen=True)
class Outcome:
    """How a run of tests ended: `passed`, `failed`, `died` or `hung`; and the first test that
    failed.
    """

    ended: str
    test: str
    seconds: float


def in_child(work: Callable[[int], int], seconds: float, log: Path) -> tuple[str, bytes]:
    """Run in a forked process, which may take so many seconds of processor time and writes into
    a pipe: how it ended, and what it wrote.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        _silence(log)
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        try:
            code = work(write)
        except BaseException:
            traceback.print_exc()
            code = 3
        os._exit(code)
    os.close(write)
    said = _read(read, child, 20 * seconds)
    os.close(read)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "hung" if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL) else "died", said
    return {0: "passed", 5: "passed"}.get(os.WEXITSTATUS(status), "failed"), said


def _silence(log: Path) -> None:
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)


def _read(pipe: int, child: int, seconds: float) -> bytes:
    """All that a child writes; one that neither ends nor computes is ended."""
    said = b""
    end = time.monotonic() + seconds
    while True:
        ready, _, _ = select.select([pipe], [], [], max(end - time.monotonic(), 0))
        if not ready:
            os.kill(child, signal.SIGKILL)
            return said
        part = os.read(pipe, 1 << 16)
        if not part:
            return said
        said += part


def collected(tree: Path, files: Sequence[str], work: Callable[[dict[str, pytest.Item]], None]) -> None:
    """Collect files of tests, with all that they import, and do something with the tests, by
    name.
    """

    class Session:
        def pytest_runtestloop(self, session: pytest.Session) -> bool:
            work({item.nodeid: item for item in session.items})
            return True

    os.chdir(tree)
    sys.path.insert(0, str(tree))
    os.environ.update(OPENBLAS_NUM_THREADS="1", HYPOTHESIS_STORAGE_DIRECTORY=os.devnull)
    options = [
        "--all",
        "-q",
        "-s",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "--timeout",
        "0",
        "--no-header",
        "--no-summary",
    ]
    code = pytest.main([*options, *files], plugins=[Session()])
    assert code in (0, 5), f"the tests cannot be collected: {code}"


def first_failure(items: Sequence[pytest.Item]) -> str:
    """Run tests until one fails, in this process: its name."""
    for item, following in zip(items, [*items[1:], None]):
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
            return item.nodeid
    return ""


class Mapped:
    """Notes the lines that each test runs, and its time.

    All functions of the files are exchanged for ones that note in an array which of their
    statements run, which takes a tenth of the time that tracing would. So this is for a process
    that ends with its map.
    """

    def __init__(self, tree: Path, paths: Collection[str]) -> None:
        self.lines = [names for path in paths for names in lines_of(tree, path)]
        self.codes: dict[tuple[str, str, int], CodeType] = {}
        number = 0
        for path in paths:
            module = ast.parse((tree / path).read_text(encoding="utf-8"))
            found = list(_statements(module))
            number += len(found)
            for back, (body, at, (first, _)) in enumerate(reversed(found), 1):
                body.insert(at, _note(number - back, first))
            self._compiled(compile(ast.fix_missing_locations(module), str(tree / path), "exec"))
        self.hits = bytearray(len(self.lines))
        gc.unfreeze()  # What is frozen is not listed.
        for f in gc.get_objects():
            if isinstance(f, FunctionType):
                self._exchange(f)

    def _compiled(self, within: CodeType) -> None:
        for code in within.co_consts:
            if isinstance(code, CodeType):
                self.codes[code.co_filename, code.co_qualname, code.co_firstlineno] = code
                self._compiled(code)

    def _exchange(self, f: FunctionType) -> None:
        code = f.__code__
        new = self.codes.get((code.co_filename, code.co_qualname, code.co_firstlineno))
        if new is not None and new.co_freevars == code.co_freevars and "<" not in code.co_name:
            f.__code__ = new
            f.__globals__[NOTED] = self.hits

    def of(self, item: pytest.Item, following: pytest.Item | None) -> dict:
        """What one test runs; one that fails as it is can tell nothing, and runs nothing here."""
        since = time.process_time()
        self.hits[:] = bytes(len(self.hits))
        reports = runtestprotocol(item, log=False, nextitem=following)
        seconds = round(time.process_time() - since, 4)
        lines = sorted({line for k, hit in enumerate(self.hits) if hit for line in self.lines[k]})
        for r in reports:
            if r.failed:
                print(f"{item.nodeid} fails without any change: {r.longreprtext}")
                lines = []
        return {"test": item.nodeid, "lines": lines, "seconds": seconds}


def lines_of(tree: Path, path: str) -> list[list[str]]:
    """The lines of each statement of a file, by name."""
    names = numbered(tree, path)
    module = ast.parse((tree / path).read_text(encoding="utf-8"))
    return [[names[n] for n in range(first, last + 1)] for _, _, (first, last) in _statements(module)]


NOTED = "__noted__"
"""The array of what runs, in the modules whose functions are exchanged."""


def _statements(module: ast.Module) -> Iterator[tuple[list[ast.stmt], int, tuple[int, int]]]:
    """All statements in functions but docstrings: the body and the place in it, and the lines
    that run when the statement does.
    """
    for function in _functions(module):
        for node in ast.walk(function):
            for body in (value for _, value in ast.iter_fields(node) if isinstance(value, list) and value):
                for at, s in enumerate(body):
                    if isinstance(s, ast.stmt) and not (
                        isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)
                    ):
                        yield body, at, (s.lineno, _end(s))


def _functions(around: ast.AST) -> Iterator[ast.FunctionDef]:
    """Functions that stand in no other, and methods."""
    for n in ast.iter_child_nodes(around):
        if isinstance(n, ast.FunctionDef):
            yield n
        elif isinstance(n, ast.ClassDef):
            yield from _functions(n)


def _end(s: ast.stmt) -> int:
    """The last line that surely runs when a statement does; of a `match`, the last pattern."""
    match s:
        case ast.Match(cases=cases):
            return _end_of(cases[-1].pattern)
        case ast.If() | ast.For() | ast.While() | ast.With() | ast.Try() | ast.FunctionDef():
            return max(s.lineno, s.body[0].lineno - 1)
    return _end_of(s)


def _end_of(node: ast.AST) -> int:
    return getattr(node, "end_lineno", None) or 1


def _note(number: int, line: int) -> ast.stmt:
    target = ast.Subscript(ast.Name(NOTED, ast.Load()), ast.Constant(number), ast.Store())
    return ast.Assign([target], ast.Constant(1), lineno=line)


def numbered(tree: Path, path: str) -> dict[int, str]:
    """The name of each line of a file: its function and how far from it."""
    names: dict[int, str] = {}

    def visit(node: ast.AST, around: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                name = f"{path} {around}{child.name}"
                names.update(
                    (n, f"{name}+{n - child.lineno}")
                    for n in range(child.lineno, (child.end_lineno or child.lineno) + 1)
                )
            elif isinstance(child, ast.ClassDef):
                visit(child, f"{around}{child.name}.")

    visit(ast.parse((tree / path).read_text(encoding="utf-8")), "")
    return names


def install(tree: Path, mutant: Mutant) -> None:
    """Put a changed function in the place of the one that is loaded.

    Raises:
        LookupError: it is not loaded as a function.
    """
    module = importlib.import_module(".".join(mutant.path.with_suffix("").parts))
    code = _code(compile(mutant.tree(tree), str(tree / mutant.path), "exec"), mutant.function)
    at: object = module
    for name in mutant.function.split("."):
        at = inspect.getattr_static(at, name)
    found = at.fget if isinstance(at, property) else at.func if isinstance(at, cached_property) else at
    function = inspect.unwrap(found)  # type: ignore[arg-type]
    if code is None or not isinstance(function, FunctionType):
        raise LookupError(mutant.function)
    cells = function.__code__.co_freevars
    if not code.co_freevars:  # the change took `super()` away, which has a cell
        code = code.replace(co_freevars=cells)
    if len(code.co_freevars) != len(cells):
        raise LookupError(mutant.function)
    function.__code__ = code


def _code(within: CodeType, name: str) -> CodeType | None:
    inner = [c for c in within.co_consts if isinstance(c, CodeType)]
    return next((c for c in inner if c.co_qualname == name), None) or next(
        (f for c in inner if (f := _code(c, name)) is not None), None
    )


class Runner:
    """The tests of a tree, the map of what they run, and what has noticed mutants so far.

    Args:
        budget: seconds of tests, as they take unchanged, that a mutant may cost; infinite for all
            that can notice it.
        altered: of some mutants, tests in which what they change has another value (`weak.py`):
            these come first.
    """

    def __init__(
        self,
        tree: Path,
        state: Path,
        items: dict[str, pytest.Item],
        budget: float,
        altered: Mapping[str, Collection[str]],
    ) -> None:
        self.tree, self.state, self.items, self.budget, self.altered = tree, state, items, budget, altered
        self.tests: list[Tests] = []
        self.kills: Counter[tuple[Path, str]] = Counter()
        self.passing: set[str] = set()
        self.failing: set[str] = set()

    def map(self, sources: Sequence[str], anew: bool, show: Callable[[Sequence[str]], Iterator[str]]) -> None:
        """Make the map of the tests, or read it where neither they nor their data have changed.

        Raises:
            SystemExit: the tests end the process.
        """
        for path in show(list(dict.fromkeys(name.split("::")[0] for name in self.items))):
            items = {name: item for name, item in self.items.items() if name.split("::")[0] == path}
            digests = {name: _digest(self.tree, path, item) for name, item in items.items()}
            kept = self.state / "map" / (path.replace("/", ".") + ".json")
            known = [] if anew or not kept.exists() else _read_map(kept)
            told = [t for t in known if digests.get(t["test"]) == t["digest"]]
            there = {t["test"] for t in told}
            if missing := [item for name, item in items.items() if name not in there]:
                told += [t | {"digest": digests[t["test"]]} for t in self._mapped(path, missing, sources)]
                _write_map(kept, told)
            self.tests.append(
                Tests(
                    path, {t["test"]: t["seconds"] for t in told}, {t["test"]: set(t["lines"]) for t in told}
                )
            )

    def _mapped(self, path: str, items: Sequence[pytest.Item], sources: Sequence[str]) -> list[dict]:
        def work(write: int) -> int:
            plugin = Mapped(self.tree, sources)
            for item, following in zip(items, [*items[1:], None]):
                os.write(write, json.dumps(plugin.of(item, following)).encode() + b"\n")
            return 0

        log = self.state / f"unchanged-{Path(path).stem}.log"
        ended, said = in_child(work, 3000, log)
        if ended != "passed":
            sys.exit(f"{path} fails without any change: {log}")
        return [json.loads(line) for line in said.splitlines()]

    def reached(self, wanted: Collection[str]) -> bool:
        """Whether a test runs one of the lines."""
        return any(not lines.isdisjoint(wanted) for t in self.tests for lines in t.lines.values())

    def run(self, mutant: Mutant, wanted: Collection[str]) -> Outcome:
        """Run tests against a mutant until one fails: those that run one of the lines, the most
        promising first.

        A test that fails without any change, too, since the map was made, tells nothing, and the
        others are run.
        """
        start = time.perf_counter()
        while True:
            ended, test = self._run(*self._chosen(mutant, wanted), lambda: install(self.tree, mutant))
            if ended == "passed" or not test or self._passes(test):
                break
            self.failing.add(test)
        if ended != "passed":
            self.kills[mutant.path, test] += 1
        return Outcome(ended, test, time.perf_counter() - start)

    def _passes(self, test: str) -> bool:
        if test not in self.passing and self._run([test], 60, lambda: None)[0] == "passed":
            self.passing.add(test)
        return test in self.passing

    def _run(self, names: Sequence[str], seconds: float, change: Callable[[], None]) -> tuple[str, str]:
        """How tests end in a process of their own after a change, and the first that fails."""

        def work(write: int) -> int:
            change()
            os.write(write, b"changed\n")
            failed = first_failure([self.items[name] for name in names])
            os.write(write, failed.encode())
            return int(bool(failed))

        ended, said = in_child(work, 30 + 3 * seconds, self.state / f"mutant-{os.getpid()}.log")
        changed, _, test = said.decode().partition("\n")
        assert changed == "changed", f"a change cannot be put in place: {self.state}/mutant-{os.getpid()}.log"
        return ended, test

    def _chosen(self, mutant: Mutant, wanted: Collection[str]) -> tuple[list[str], float]:
        """Tests that run one of the lines, as many as the budget allows, and how long they take.

        Those that the mutant is known to alter come first. The files of tests have the same share
        of the time, or more if they noticed other mutants; in a file mostly the quick ones come
        first, but not all of them: many small programs are much alike.
        """
        draw, path, first = random.Random(0), mutant.path, self.altered.get(mutant.key, ())
        order: list[tuple[bool, float, str, float]] = []
        for t in self.tests:
            found = [n for n in t.seconds if n not in self.failing and not t.lines[n].isdisjoint(wanted)]
            share, spent = 1 + sum(self.kills[path, n] for n in found), 0.0
            for n in sorted(
                found, key=lambda n: draw.expovariate((1 + self.kills[path, n]) / (0.001 + t.seconds[n]))
            ):
                spent += t.seconds[n]
                order.append((n not in first, t.seconds[n] if n in first else spent / share, n, t.seconds[n]))
        total, chosen = 0.0, []
        for *_, n, seconds in sorted(order):
            if total + seconds <= self.budget:
                total += seconds
                chosen.append(n)
        return chosen, total


def _read_map(kept: Path) -> list[dict]:
    held = json.loads(kept.read_text())
    return [t | {"lines": [held["lines"][k] for k in t["lines"]]} for t in held["told"]]


def _write_map(kept: Path, told: Sequence[dict]) -> None:
    """With each line once."""
    number = {line: k for k, line in enumerate(dict.fromkeys(line for t in told for line in t["lines"]))}
    short = [t | {"lines": [number[line] for line in t["lines"]]} for t in told]
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps({"lines": list(number), "told": short}))


def _digest(tree: Path, path: str, item: pytest.Item) -> str:
    """Of a file of tests and the data beside it; of what is a line of such data, of that line
    alone.
    """
    text = (
        [p for p in item.callspec.params.values() if isinstance(p, str)] if hasattr(item, "callspec") else []
    )  # type: ignore[attr-defined]
    beside = (
        []
        if text
        else [p for p in sorted((tree / path).parent.iterdir()) if p.is_file() and p.suffix != ".py"]
    )
    data = b"".join(p.read_bytes() for p in (tree / path, *beside))
    return hashlib.sha256(data + "".join(text).encode()).hexdigest()[:16]
