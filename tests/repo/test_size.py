"""Files and functions stay small enough to read."""

from __future__ import annotations

import ast

from tests.repo.source import ROOT, files, package_files, tree

FILE_LINES, FUNCTION_LINES = 500, 60


def test_files_are_short():
    lines = {path: len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in files("*.py")}
    found = [f"{path} has {count} lines: does it hold two ideas?" for path, count in lines.items() if count > FILE_LINES]
    assert not found, "\n".join(found)


def long_functions(module: ast.Module) -> list[str]:
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [f"{f.name}, line {f.lineno}" for f in functions if f.end_lineno and f.end_lineno - f.lineno + 1 > FUNCTION_LINES]


def test_functions_are_short():
    found = [f"{path}: {function}" for path in package_files() for function in long_functions(tree(path))]
    assert not found, "\n".join(found)


def test_a_long_function_is_found():
    assert long_functions(ast.parse("def f():\n" + "    x = 1\n" * 60)) == ["f, line 1"]
