"""No target's name above the targets, no path of one machine anywhere, a docstring on every public
name, and no docstring that begins with a noun clause.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.repo.source import ROOT, files, nodes, package_files, part_of, tree

TARGETS = re.compile(
    r"(?<![a-z])(x86|amd64|aarch64|armv[0-9]|riscv|nvptx|ptx|sm_[0-9]+|avx|sse[0-9]|neon|sve|cuda|nvidia)",
    re.IGNORECASE,
)
"""Words that name a target."""
FREE_OF_TARGETS = {
    "support",
    "ir",
    "poly",
    "passes",
    "lang",
    "autodiff",
    "schedule",
    "autoschedule",
    "ops",
    "graph",
    "nn",
}
ELSEWHERE = Path("texpr/support/elsewhere.py")
"""Lists what other libraries call their functions, `cuda` among them."""
MACHINE = re.compile(r"(?<![\w.])/(work|tmp|root)/[\w.]+")
"""Paths that exist on one machine only."""
CLAUSE = re.compile(
    r"\s*(what|whatever|whether|how|those|that|which|who|whom|whose|where|why|when)\b", re.IGNORECASE
)
"""Words that begin a noun clause in the place of a noun, or a reference to a thing without its name.
A docstring begins with a noun or an imperative, that of a predicate with "True if".
"""
TEXTS = ("*.py", "*.md", "*.tx", "*.toml", "*.txt", "*.lark", "Makefile", "run")


def words_of(path: Path, module: ast.Module) -> list[str]:
    """Target names in the identifiers of a file, its own name among them, and in its strings;
    prose may name targets as examples.
    """
    prose = {id(node.value) for node in nodes(module) if isinstance(node, ast.Expr)}
    found = [path.stem]
    for node in nodes(module):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.alias(name=name):
                found.append(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.keyword(arg=str(name)):
                found.append(name)
            case ast.Constant(value=str(text)) if id(node) not in prose:
                found.append(text)
    return [match.group(0) for text in found for match in TARGETS.finditer(text)]


def test_no_target_is_named():
    paths = [path for path in package_files() if part_of(path) in FREE_OF_TARGETS and path != ELSEWHERE]
    found = [
        f"{path} names {words}: what a target can do is data in ir/machine.py"
        for path in paths
        if (words := words_of(path, tree(path)))
    ]
    assert not found, "\n".join(found)


def test_no_path_of_one_machine():
    paths = [path for path in files(*TEXTS) if path.name != "test_words.py"]
    found = [
        f"{path}: {place.group(0)}"
        for path in paths
        for place in MACHINE.finditer((ROOT / path).read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


def undocumented(module: ast.Module) -> list[str]:
    found = [] if ast.get_docstring(module) else ["the module"]
    for node in module.body:
        if (
            isinstance(node, ast.ClassDef | ast.FunctionDef)
            and not node.name.startswith("_")
            and not ast.get_docstring(node)
        ):
            found.append(node.name)
    return found


def test_public_names_have_docstrings():
    found = [
        f"{path}: no docstring on {', '.join(names)}"
        for path in package_files()
        if (names := undocumented(tree(path)))
    ]
    assert not found, "\n".join(found)


def clauses(module: ast.Module) -> list[str]:
    """The first lines of docstrings that begin with a noun clause: of modules, classes, functions
    and, behind an assignment, of names and attributes.
    """
    bodies = [body for node in nodes(module) if isinstance(body := getattr(node, "body", None), list)]
    docstrings = [
        node.value.value
        for body in bodies
        for node in body
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]
    return [text.strip().splitlines()[0] for text in docstrings if CLAUSE.match(text)]


def test_docstrings_begin_with_a_noun_or_a_verb():
    found = [f'{path}: "{line}"' for path in package_files() for line in clauses(tree(path))]
    assert not found, "\n".join(found)


def test_the_checks_can_fail():
    named = ast.parse('"""For SVE."""\ndef f(sve): return "a64fx" if g.is_neon else "sm_80"  # AVX\n')
    assert words_of(Path("texpr/schedule/avx.py"), named) == ["avx", "sve", "neon", "sm_80"]
    assert undocumented(ast.parse("def f(): pass")) == ["the module", "f"]
    told = '"""What f does."""\nX = 1\n"""How many."""\ndef f():\n    """Whether it is so."""\n'
    assert clauses(ast.parse(told)) == ["What f does.", "How many.", "Whether it is so."]
    assert not clauses(ast.parse('"""Number of loops."""\ndef f():\n    """True if it is so."""\n'))
    assert (
        TARGETS.search("an sm_80 kernel")
        and MACHINE.search("see /" + "work/main")
        and not TARGETS.search("exported")
    )
