"""The C of the native runtime, and the LLVM IR that is checked in for it."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from texpr.runtime.native import native_library

ROOT = Path(__file__).resolve().parents[3]
LIBC = set(
    """
aligned_alloc clock_gettime free madvise mmap mprotect munmap pthread_create pthread_detach pthread_kill
pthread_self pthread_sigmask sched_getaffinity sched_getcpu sched_setaffinity sched_yield sigaction sigfillset syscall
""".split()
)
FILE_LINES, FUNCTION_LINES = 500, 60


def load_script():
    spec = importlib.util.spec_from_file_location("native_ir", ROOT / "scripts" / "native.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


script = load_script()
CASES = [(unit, host) for unit in script.UNITS for host in script.HOSTS]
STALE = "the C has changed: run scripts/native.py"


@pytest.mark.parametrize(("unit", "host"), CASES)
def test_the_ir_is_of_these_sources(unit, host):
    """Needs no clang: the files say of which sources they are."""
    stated = re.search(r"(?m)^; sources (\w+)$", native_library.source(unit, host))
    assert stated and stated.group(1) == script.digest(), STALE


@pytest.mark.parametrize(("unit", "host"), CASES)
def test_clang_makes_this_ir_of_the_sources(unit, host):
    compiler = script.clang()
    if compiler is None:
        pytest.skip(f"no clang here; the files are of clang {script.VERSION}")
    if script.version(compiler) != script.VERSION:
        pytest.skip(f"clang {script.version(compiler)} is here; the files are of clang {script.VERSION}")
    assert script.compiled(unit, host, compiler) == native_library.source(unit, host), STALE


@pytest.mark.parametrize("free_threaded", [False, True])
@pytest.mark.parametrize("host", script.HOSTS)
def test_the_library_defines_and_refers_to_what_is_listed(host, free_threaded, monkeypatch):
    monkeypatch.setattr(native_library, "FREE_THREADED", free_threaded)
    text, more = native_library.text(host), native_library.FREE_THREADED_API if free_threaded else ()
    external = set(re.findall(r"(?m)^@(\w+) = external", text))
    defined = set(re.findall(r"(?m)^define (?!internal ).*?@(\w+)\(", text))
    defined |= set(re.findall(r"(?m)^@(\w+) = (?!external|internal|private|appending).*?global", text))
    assert defined == set(native_library.EXPORTS)
    declared = set(re.findall(r"(?m)^declare .*?@(?!llvm\.)([\w.]+)\(", text))
    assert declared | external == {*native_library.PYTHON_API, *more} | LIBC


@pytest.mark.parametrize("unit", script.UNITS)
def test_hosts_have_the_same_functions(unit):
    defined = [
        set(re.findall(r"(?m)^define .*?@(\w+)\(", native_library.source(unit, host)))
        for host in script.HOSTS
    ]
    assert defined[0] == defined[1]


def functions(text: str) -> dict[str, int]:
    """How many lines each function of a C file has, those on one line aside."""
    found = re.finditer(r"(?ms)^\w[^;{}=]*?(\w+)\([^;{}]*\) \{\n.*?^\}", text)
    return {each.group(1): each.group().count("\n") + 1 for each in found}


def test_files_and_functions_are_short():
    texts = {file.name: file.read_text(encoding="utf-8") for file in sorted(script.SOURCES.rglob("*.[ch]"))}
    assert not [name for name, text in texts.items() if text.count("\n") > FILE_LINES]
    lengths = {
        f"{name}: {function}": lines
        for name, text in texts.items()
        for function, lines in functions(text).items()
    }
    assert len(lengths) > 60 and not [name for name, lines in lengths.items() if lines > FUNCTION_LINES]


def test_a_long_function_is_found():
    assert functions("static int f(int x) {\n" + "    x++;\n" * 60 + "}\n") == {"f": 62}
