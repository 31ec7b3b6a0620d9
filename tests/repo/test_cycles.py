"""Modules of the package do not import each other in circles, where imports for type checking
count.

Imports inside functions do not: they run when all modules are there.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.repo.floors import CYCLES
from tests.repo.source import imported_modules, modules


def cycles(graph: Mapping[str, set[str]]) -> list[tuple[str, ...]]:
    """Groups of modules that reach each other. Source: Tarjan, Depth-first search and linear
    graph algorithms, 1972.
    """
    found: list[tuple[str, ...]] = []
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(module: str) -> None:
        number[module] = low[module] = len(number)
        stack.append(module)
        for other in sorted(graph[module]):
            if other not in number:
                visit(other)
            if other in stack:
                low[module] = min(low[module], low[other])
        if low[module] == number[module]:
            group = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            if len(group) > 1 or module in graph[module]:
                found.append(tuple(sorted(group)))

    for module in sorted(graph):
        if module not in number:
            visit(module)
    return sorted(found)


def test_no_cycle():
    found = {
        module
        for group in cycles({name: imported_modules(path) for name, path in modules().items()})
        for module in group
    }
    assert found - CYCLES == set(), (
        "they import each other: give what one asks of the other a protocol, see graph/capture/protocol.py"
    )
    assert CYCLES - found == set(), "no cycle any more: take them out of CYCLES in tests/repo/floors.py"


def test_a_cycle_is_found():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "e": {"e", "a"}}
    assert cycles(graph) == [("a", "b", "c"), ("e",)]
    assert cycles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_imports_for_type_checking_count_and_those_in_functions_do_not():
    found = imported_modules(modules()["texpr"])
    assert "texpr.tune" in found, "TYPE_CHECKING"
    assert "texpr.compiler.scheduled_kernels" not in imported_modules(
        modules()["texpr.compiler.kernels.compiled_kernel"]
    ), "in __reduce__"
