"""Files and functions stay small enough to read."""

from __future__ import annotations

import ast
import warnings

from tests.repo.source import ROOT, files, nodes, package_files, tree

USUAL_LINES, FILE_LINES, FUNCTION_LINES = 500, 800, 60
"""Files of more than the first number are shown as a warning: a cut at any price makes
fragments. Functions count without docstrings.
"""


def test_files_are_short():
    lines = {path: len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in files("*.py")}
    long = [path for path, count in lines.items() if count > USUAL_LINES]
    warnings.warn(f"{len(long)} files have more than {USUAL_LINES} lines", stacklevel=1)
    found = [
        f"{path} has {count} lines: does it hold two ideas?"
        for path, count in lines.items()
        if count > FILE_LINES
    ]
    assert not found, "\n".join(found)


def long_functions(module: ast.Module) -> list[str]:
    functions = [node for node in nodes(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [f"{f.name}, line {f.lineno}" for f in functions if length(f) > FUNCTION_LINES]


def length(f: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring."""
    first = f.body[0]
    docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    lines = (first.end_lineno or 0) - first.lineno + 1 if docstring else 0
    return (f.end_lineno or 0) - f.lineno + 1 - lines


def test_functions_are_short():
    found = [f"{path}: {function}" for path in package_files() for function in long_functions(tree(path))]
    assert not found, "\n".join(found)


def test_a_long_function_is_found():
    assert long_functions(ast.parse("def f():\n" + "    x = 1\n" * 60)) == ["f, line 1"]
    assert long_functions(ast.parse('def f():\n    """D\n    d."""\n' + "    x = 1\n" * 59)) == []
