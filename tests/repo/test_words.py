"""No target's name above the targets, no path of one machine anywhere, and a docstring on every public name."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.repo.source import ROOT, files, package_files, part_of, tree

TARGETS = re.compile(r"(?<![a-z])(x86|amd64|aarch64|armv[0-9]|riscv|nvptx|ptx|sm_[0-9]+|avx|sse[0-9]|neon|sve|cuda|nvidia)", re.IGNORECASE)
"""Words that name a target."""
FREE_OF_TARGETS = {"support", "ir", "poly", "passes", "lang", "autodiff", "schedule", "ops", "graph", "nn"}
MACHINE = re.compile(r"(?<![\w.])/(work|tmp|root)/[\w.]+")
"""Paths that exist on one machine only."""
TEXTS = ("*.py", "*.md", "*.tx", "*.toml", "*.txt", "*.lark", "Makefile", "run")


def words_of(path: Path) -> list[str]:
    """Names, texts and comments of a file, target names in them."""
    return [match.group(0) for line in (ROOT / path).read_text(encoding="utf-8").splitlines() for match in TARGETS.finditer(line)]


@pytest.mark.parametrize("path", [p for p in package_files() if part_of(p) in FREE_OF_TARGETS], ids=str)
def test_no_target_is_named(path: Path):
    assert not words_of(path), f"{path} names {words_of(path)}: what a target can do is data in ir/machine.py"


@pytest.mark.parametrize("path", files(*TEXTS), ids=str)
def test_no_path_of_one_machine(path: Path):
    found = [match.group(0) for match in MACHINE.finditer((ROOT / path).read_text(encoding="utf-8"))]
    assert not found or path.name == "test_words.py", f"{path}: {found}"


def undocumented(module: ast.Module) -> list[str]:
    found = [] if ast.get_docstring(module) else ["the module"]
    for node in module.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_") and not ast.get_docstring(node):
            found.append(node.name)
    return found


@pytest.mark.parametrize("path", package_files(), ids=str)
def test_public_names_have_docstrings(path: Path):
    assert not undocumented(tree(path)), f"{path}: no docstring on {', '.join(undocumented(tree(path)))}"


def test_the_checks_can_fail():
    assert undocumented(ast.parse("def f(): pass")) == ["the module", "f"]
    assert TARGETS.search("an sm_80 kernel") and MACHINE.search("see /" + "work/main") and not TARGETS.search("exported")
