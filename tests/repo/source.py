"""The files of the repository and their syntax trees."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = {"build", "dist"}


@cache
def files(*patterns: str) -> tuple[Path, ...]:
    """Files of the repository, caches and environments aside, relative to its root."""
    return tuple(path for path in _all_files() if any(fnmatchcase(path.name, each) for each in patterns))


@cache
def _all_files() -> tuple[Path, ...]:
    """Folders that are left out are not even looked into: an environment has more files than all else."""
    found: list[Path] = []
    for folder, below, names in os.walk(ROOT):
        here = Path(folder).relative_to(ROOT)
        below[:] = [name for name in below if here == Path(".") and name == ".ci" or not _is_skipped(name)]
        found += [here / name for name in names]
    return tuple(sorted(path for path in found if (ROOT / path).is_file()))


def _is_skipped(name: str) -> bool:
    return name.startswith(".") or name in SKIPPED or name.endswith(".egg-info") or name == "__pycache__"


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"), str(path))


def nodes(module: ast.Module) -> list[ast.AST]:
    """Every node of a tree. A list that stays with it: most checks go through all files."""
    if "nodes" not in vars(module):
        module.nodes = list(ast.walk(module))  # type: ignore[attr-defined]
    return module.nodes  # type: ignore[attr-defined]


def package_files() -> tuple[Path, ...]:
    """The Python files of the package."""
    return tuple(path for path in files("*.py") if path.parts[0] == "texpr")


def part_of(path: Path) -> str:
    """The part of the house a file of the package belongs to; `` for `texpr/__init__.py`."""
    name = path.parts[1].removesuffix(".py")
    return "" if name == "__init__" else name


def imports(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Line, absolute module name, and whether it stands at the top, of every import in a file, also
    inside functions.

    `from texpr.ir import loop` counts as `texpr.ir.loop`.
    """
    top = {id(node) for node in tree(path).body}
    package = path.with_suffix("").parts if path.name == "__init__.py" else path.with_suffix("").parts[:-1]
    package = tuple(part for part in package if part != "__init__")
    for node in nodes(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, id(node) in top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{module}.{alias.name}", id(node) in top) for alias in node.names)


@cache
def modules() -> dict[str, Path]:
    """The modules of the package by name; a package is its `__init__.py`."""
    return {
        ".".join(part for part in path.with_suffix("").parts if part != "__init__"): path
        for path in package_files()
    }


def imported_modules(path: Path) -> set[str]:
    """The modules of the package that a file imports outside of functions, those for type
    checking alone included.
    """
    found = set()
    stack: list[ast.AST] = [tree(path)]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            found.update(name if name in modules() else node.module for name in names)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            stack += ast.iter_child_nodes(node)
    return found & modules().keys()
