"""Tests run against mutants, each in a process of its own.

All tests are collected once, with all that they import. For a mutant this process forks, the child exchanges the code of one function, and
runs the tests that can notice it until one fails: those that run its lines, by a map made once. Lines count from the function they are
in, so that the map outlives edits elsewhere. The quickest tests come first, and those that have noticed other mutants of the file.

What runs while tests are imported is not run again, and what a module itself does is not changed.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, FunctionType

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
    """How a run of tests ended: `passed`, `failed`, `died` or `hung`; and the first test that failed."""

    ended: str
    test: str
    seconds: float


def in_child(work: Callable[[int], int], seconds: float, log: Path) -> tuple[str, bytes]:
    """Run in a forked process, which may take so many seconds of processor time and writes into a pipe: how it ended, and what it wrote."""
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
    """Collect files of tests, with all that they import, and do something with the tests, by name."""

    class Session:
        def pytest_runtestloop(self, session: pytest.Session) -> bool:
            work({item.nodeid: item for item in session.items})
            return True

    os.chdir(tree)
    sys.path.insert(0, str(tree))
    os.environ.update(OPENBLAS_NUM_THREADS="1", HYPOTHESIS_STORAGE_DIRECTORY=os.devnull)
    options = ["-q", "-s", "-n", "0", "-p", "no:cacheprovider", "--timeout", "0", "--no-header", "--no-summary"]
    code = pytest.main([*options, *files], plugins=[Session()])
    assert code in (0, 5), f"the tests cannot be collected: {code}"


def first_failure(items: Sequence[pytest.Item]) -> str:
    """Run tests until one fails, in this process: its name."""
    for item, following in zip(items, [*items[1:], None]):
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
            return item.nodeid
    return ""


class Mapped:
    """Notes the lines that each test runs, and its time."""

    def __init__(self, tree: Path, paths: Collection[str]) -> None:
        self.names = {str(tree / p): numbered(tree, p) for p in paths}
        self.seen: dict[CodeType, set[int]] = {}
        self.wanted: dict[CodeType, set[int]] = {}

    def start(self) -> None:
        self.seen = {}
        sys.settrace(self._called)

    def stop(self) -> list[str]:
        sys.settrace(None)
        found = {self.names[c.co_filename].get(n) for c, lines in self.seen.items() for n in lines}
        return sorted(f for f in found if f is not None)

    def _called(self, frame: FrameType, event: str, arg: object):
        code = frame.f_code
        if code.co_filename not in self.names:
            return None
        if code not in self.wanted:
            self.wanted[code] = {n for _, _, n in code.co_lines() if n is not None}
        seen = self.seen.setdefault(code, {code.co_firstlineno})
        return None if seen >= self.wanted[code] else self._stepped

    def _stepped(self, frame: FrameType, event: str, arg: object):
        self.seen[frame.f_code].add(frame.f_lineno)
        return self._stepped

    def of(self, item: pytest.Item, following: pytest.Item | None) -> dict:
        """What one test runs; one that fails as it is can tell nothing, and runs nothing here."""
        since = time.process_time()
        self.start()
        reports = runtestprotocol(item, log=False, nextitem=following)
        lines = self.stop()
        for r in reports:
            if r.failed:
                print(f"{item.nodeid} fails without any change: {r.longreprtext}")
                lines = []
        return {"test": item.nodeid, "lines": lines, "seconds": round(time.process_time() - since, 4)}


def numbered(tree: Path, path: str) -> dict[int, str]:
    """The name of each line of a file: its function and how far from it."""
    names: dict[int, str] = {}

    def visit(node: ast.AST, around: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                name = f"{path} {around}{child.name}"
                names.update((n, f"{name}+{n - child.lineno}") for n in range(child.lineno, (child.end_lineno or child.lineno) + 1))
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
    function = inspect.unwrap(at.fget if isinstance(at, property) else at)  # type: ignore[arg-type]
    if code is None or not isinstance(function, FunctionType) or len(code.co_freevars) != len(function.__code__.co_freevars):
        raise LookupError(mutant.function)
    function.__code__ = code


def _code(within: CodeType, name: str) -> CodeType | None:
    inner = [c for c in within.co_consts if isinstance(c, CodeType)]
    return next((c for c in inner if c.co_qualname == name), None) or next((f for c in inner if (f := _code(c, name)) is not None), None)


class Runner:
    """The tests of a tree, the map of what they run, and what has noticed mutants so far.

    Args:
        budget: seconds of tests, as they take unchanged, that a mutant may cost; infinite for all that can notice it.
    """

    def __init__(self, tree: Path, state: Path, items: dict[str, pytest.Item], budget: float) -> None:
        self.tree, self.state, self.items, self.budget = tree, state, items, budget
        self.tests: list[Tests] = []
        self.kills: Counter[tuple[Path, str]] = Counter()

    def map(self, sources: Sequence[str], anew: bool, show: Callable[[Sequence[str]], Iterator[str]]) -> None:
        """Make the map of the tests, or read it where they have not changed.

        Raises:
            SystemExit: a test fails without any change.
        """
        for path in show(list(dict.fromkeys(name.split("::")[0] for name in self.items))):
            digest = _digest(self.tree, path)
            kept = self.state / "map" / (path.replace("/", ".") + ".json")
            known = None if anew or not kept.exists() else json.loads(kept.read_text())
            if known is None or known["digest"] != digest:
                known = {"digest": digest, "told": self._mapped(path, sources)}
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps(known))
            self.tests.append(_tests(path, known["told"], self.items))

    def _mapped(self, path: str, sources: Sequence[str]) -> list[dict]:
        items = [item for name, item in self.items.items() if name.split("::")[0] == path]

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
        """Run tests against a mutant until one fails: those that run one of the lines, the most promising first."""
        start = time.perf_counter()
        names, seconds = self._chosen(mutant.path, wanted)

        def work(write: int) -> int:
            install(self.tree, mutant)
            os.write(write, b"installed\n")
            failed = first_failure([self.items[name] for name in names])
            os.write(write, failed.encode())
            return int(bool(failed))

        ended, said = in_child(work, 30 + 3 * seconds, self.state / f"mutant-{os.getpid()}.log")
        installed, _, test = said.decode().partition("\n")
        assert installed == "installed", f"{mutant.key} cannot be put in place"
        if ended != "passed":
            self.kills[mutant.path, test] += 1
        return Outcome(ended, test, time.perf_counter() - start)

    def _chosen(self, path: Path, wanted: Collection[str]) -> tuple[list[str], float]:
        """Tests that run one of the lines, as many as the budget allows, and how long they take."""
        found = {n: t.seconds[n] for t in self.tests for n in t.seconds if not t.lines[n].isdisjoint(wanted)}
        order = sorted(found, key=lambda n: found[n] / (1 + self.kills[path, n]))
        total, chosen = 0.0, []
        for n in order:
            if total + found[n] <= self.budget:
                total += found[n]
                chosen.append(n)
        return chosen, total


def _tests(path: str, told: Sequence[dict], items: Collection[str]) -> Tests:
    there = [t for t in told if t.get("test") in items]
    return Tests(path, {t["test"]: t["seconds"] for t in there}, {t["test"]: set(t["lines"]) for t in there})


def _digest(tree: Path, path: str) -> str:
    """Of a file of tests and the data beside it."""
    beside = [p for p in sorted((tree / path).parent.iterdir()) if p.is_file() and p.suffix != ".py"]
    return hashlib.sha256(b"".join(p.read_bytes() for p in (tree / path, *beside))).hexdigest()
