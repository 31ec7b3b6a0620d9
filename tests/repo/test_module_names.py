"""Modules have names of their own, and keep them where they are imported."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.repo.module_names import MAY_REPEAT, ONE_SUBJECT
from tests.repo.source import modules, nodes, package_files, tree


def aliases(module: ast.Module) -> Iterator[tuple[str, str]]:
    """The modules of the package that a file imports by another name, with that name."""
    for node in nodes(module):
        if isinstance(node, ast.ImportFrom) and node.module:
            found = [(f"{node.module}.{alias.name}", alias) for alias in node.names]
        elif isinstance(node, ast.Import):
            found = [(alias.name, alias) for alias in node.names]
        else:
            continue
        for name, alias in found:
            if name in modules() and alias.asname not in (None, name.rpartition(".")[2]):
                yield name, alias.asname


def repeated(paths: Iterable[Path]) -> dict[str, int]:
    """Names of several modules, with how many there are."""
    names = Counter(path.stem for path in paths)
    return {name: count for name, count in names.items() if count > 1 and name not in MAY_REPEAT}


def test_modules_are_imported_by_their_names():
    wrong = {name: path.as_posix() for path in package_files() for name, _ in aliases(tree(path))}
    assert not wrong, "write the module's own name; where it says too little, rename the module"


def test_names_of_modules_are_unique():
    allowed = {name: len(folders) for name, (_, folders) in ONE_SUBJECT.items()}
    wrong = {name: count for name, count in repeated(package_files()).items() if count != allowed.get(name)}
    assert not wrong, (
        f"{wrong}: name one for what it does, or say in tests/repo/module_names.py what their one subject is"
    )


def test_the_table_of_subjects_is_true():
    for name, (subject, folders) in ONE_SUBJECT.items():
        missing = [folder for folder in folders if Path(f"texpr/{folder}/{name}.py") not in package_files()]
        assert subject and not missing, f"{name}: not in {missing}"


def test_the_checks_can_fail():
    assert list(aliases(ast.parse("from texpr.ir import expr as tree"))) == [("texpr.ir.expr", "tree")]
    assert (
        list(
            aliases(ast.parse("import texpr.ir.expr as expr\nfrom texpr.ir import expr\nimport numpy as np"))
        )
        == []
    )
    assert repeated(
        [
            Path("texpr/a/place.py"),
            Path("texpr/b/place.py"),
            Path("texpr/a/registry.py"),
            Path("texpr/b/registry.py"),
        ]
    ) == {"place": 2}
