"""Files and functions stay small enough to read."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.repo.source import ROOT, files, package_files, tree

FILE_LINES, FUNCTION_LINES = 500, 60


@pytest.mark.parametrize("path", files("*.py"), ids=str)
def test_files_are_short(path: Path):
    lines = len((ROOT / path).read_text(encoding="utf-8").splitlines())
    assert lines <= FILE_LINES, f"{path} has {lines} lines: does it hold two ideas?"


def long_functions(module: ast.Module) -> list[str]:
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [f"{f.name}, line {f.lineno}" for f in functions if f.end_lineno and f.end_lineno - f.lineno + 1 > FUNCTION_LINES]


@pytest.mark.parametrize("path", package_files(), ids=str)
def test_functions_are_short(path: Path):
    assert not long_functions(tree(path)), f"{path}: {long_functions(tree(path))}"


def test_a_long_function_is_found():
    assert long_functions(ast.parse("def f():\n" + "    x = 1\n" * 60)) == ["f, line 1"]
