"""What is imported late: names of packages, and modules that type checkers see imported as always."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module

import pytest

from tests.repo.floors import EXTRAS
from tests.repo.source import imports, modules, nodes, package_files, tree

LATE_PACKAGES = sorted(
    name
    for name, path in modules().items()
    if path.name == "__init__.py"
    and any(
        isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "offer_late"
        for n in nodes(tree(path))
    )
)


def late_modules(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Names that stand for modules which are imported late, and these modules."""
    for node in nodes(module):
        match node:
            case ast.Assign(
                targets=[ast.Name(name)], value=ast.Call(func=ast.Name("late"), args=[ast.Constant(found)])
            ):
                yield name, found


def test_late_modules_are_imported_for_type_checkers():
    wrong = []
    for path in package_files():
        imported = {module for _, module, top in imports(path) if not top}
        imported |= {module.rpartition(".")[2] for module in imported if "." not in module}
        wrong += [
            f"{path}: {name} = late({module!r})"
            for name, module in late_modules(tree(path))
            if module not in imported or name != module.rpartition(".")[2]
        ]
    assert not wrong, "\n".join(wrong)


def test_late_modules_are_there():
    found = {module for path in package_files() for _, module in late_modules(tree(path))}
    assert len(found) > 10
    for module in found:
        if module.partition(".")[0] not in EXTRAS:
            import_module(module)


@pytest.mark.parametrize("name", LATE_PACKAGES)
def test_late_names_are_there(name: str):
    package = import_module(name)
    assert len(LATE_PACKAGES) > 10
    for each in package.__all__:
        assert getattr(package, each) is not None or each in dir(package)
