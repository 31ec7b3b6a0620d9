"""Imports go down the house, and foreign libraries stay where they are locked in."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.repo.floors import CORE, EXTRAS, FLOORS, LOCKED_IN, MAY_IMPORT_BESIDE, PLUGINS, SUB_FLOORS, TIES
from tests.repo.source import ROOT, imports, package_files, part_of

MOST_ENTRIES = 25
"""Of a folder, files and folders."""


def complaints(path: Path) -> list[str]:
    part = part_of(path)
    found = []
    for line, module, top in imports(path):
        first, *rest = module.split(".")
        if first == "texpr":
            problem = _inside(part, rest[0] if rest else "") or _plugin(path, module, top)
        else:
            problem = _foreign(path, part, first, top and PLUGINS.get(path.as_posix()) != first)
        if problem:
            found.append(f"{path}:{line}: {problem}")
    return found


def _inside(part: str, other: str) -> str | None:
    if part == other or part == "":
        return None
    if part in ("nn", "tools", "__main__") and other not in FLOORS:
        return None
    if other not in FLOORS:
        return f"{part} imports {other or 'texpr itself'}, which is above it"
    if FLOORS[other] > FLOORS[part]:
        return f"{part} (floor {FLOORS[part]}) imports {other} (floor {FLOORS[other]})"
    if FLOORS[other] == FLOORS[part] and other not in MAY_IMPORT_BESIDE.get(part, ()):
        return f"{part} imports its neighbour {other}"
    return None


def _plugin(path: Path, module: str, top: bool) -> str | None:
    plugins = {path.removesuffix(".py").replace("/", "."): library for path, library in PLUGINS.items()}
    library = next((of for name, of in plugins.items() if f"{module}.".startswith(f"{name}.")), None)
    if not top or library is None or PLUGINS.get(path.as_posix()) == library:
        return None
    return f"{module} needs {library}, which is optional: import it in the function that needs it"


def _foreign(path: Path, part: str, library: str, top: bool) -> str | None:
    if library in LOCKED_IN and not any(
        path.is_relative_to(Path("texpr", home)) for home in LOCKED_IN[library]
    ):
        return f"{part} imports {library}, which belongs to {', '.join(sorted(LOCKED_IN[library]))}"
    if library in EXTRAS:
        return f"{library} is optional: import it in the function that needs it" if top else None
    if part == "support" and library not in sys.stdlib_module_names:
        return f"support imports {library}: it has the standard library only"
    if library not in CORE and library not in sys.stdlib_module_names:
        return f"{library} is not a dependency"
    return None


def test_imports_go_down():
    homeless = [str(path) for path in package_files() if part_of(path) and part_of(path) not in FLOORS]
    assert not homeless, f"{', '.join(homeless)}: on no floor, see tests/repo/floors.py"
    found = [complaint for path in package_files() for complaint in complaints(path)]
    assert not found, "\n".join(found)


def test_an_import_upwards_is_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        sys.modules[__name__],
        "imports",
        lambda path: [(1, "texpr.passes.lowering.lower", False), (2, "islpy", True)],
    )
    assert complaints(Path("texpr/ir/expr.py")) == [
        "texpr/ir/expr.py:1: ir (floor 1) imports passes (floor 3)",
        "texpr/ir/expr.py:2: ir imports islpy, which belongs to poly",
    ]


def test_a_library_is_locked_in_its_folder(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys.modules[__name__], "imports", lambda path: [(1, "lark.lexer", False)])
    assert complaints(Path("texpr/lang/elaboration/scope.py")) == [
        "texpr/lang/elaboration/scope.py:1: lang imports lark, which belongs to lang/syntax, nnef/syntax"
    ]
    assert complaints(Path("texpr/lang/syntax/lexer.py")) == []


def test_an_optional_library_at_the_top_is_found(monkeypatch: pytest.MonkeyPatch):
    names = [
        (1, "pygments.lexer.RegexLexer", True),
        (2, "texpr.lang.pygments_lexer.TexprLexer", True),
        (3, "pygments.highlight", False),
        (4, "texpr.lang.pygments_lexer.TexprLexer", False),
    ]
    monkeypatch.setattr(sys.modules[__name__], "imports", lambda path: names)
    path = "texpr/compiler/html/highlight.py"
    assert complaints(Path(path)) == [
        f"{path}:1: pygments is optional: import it in the function that needs it",
        f"{path}:2: texpr.lang.pygments_lexer.TexprLexer needs pygments, which is optional: "
        "import it in the function that needs it",
    ]
    monkeypatch.setattr(sys.modules[__name__], "imports", lambda path: names[:1])
    assert not any(complaints(Path(each)) for each, library in PLUGINS.items() if library == "pygments")


def upwards(path: Path) -> list[tuple[str, str]]:
    """The imports of a file that run up, or aside, between the folders of a part."""
    found = []
    for part, floors in SUB_FLOORS.items():
        above = ("texpr", *part.split("/"))
        heights = {entry: height for height, entries in enumerate(floors) for entry in entries}

        def height(
            parts: tuple[str, ...], above: tuple[str, ...] = above, heights: dict[str, int] = heights
        ) -> tuple[str, int | None]:
            entry = parts[len(above)] if len(parts) > len(above) else ""
            entry = entry if entry in heights else ""
            return entry, heights.get(entry)

        inside = path.with_suffix("").parts
        if inside[: len(above)] != above or inside[len(above) :] == ("__init__",):
            continue
        here, floor = height(inside)
        for _, module, _ in imports(path):
            parts = tuple(module.split("."))
            if parts[: len(above)] == above and len(parts) > len(above) and floor is not None:
                there, other = height(parts)
                if there != here and other is not None and other >= floor:
                    found.append((path.as_posix(), module))
    return found


def test_no_import_runs_up_inside_a_part():
    assert {each for path in package_files() for each in upwards(path)} == TIES


def test_an_import_upwards_inside_a_part_is_found(monkeypatch: pytest.MonkeyPatch):
    names = ["texpr.schedule.steps.loops.split", "texpr.schedule.structure.loops", "texpr.ir.expr"]
    monkeypatch.setattr(sys.modules[__name__], "imports", lambda path: [(1, name, True) for name in names])
    legality = Path("texpr/schedule/legality/replay.py")
    assert upwards(legality) == [(legality.as_posix(), names[0])]
    assert upwards(Path("texpr/schedule/steps/hardware/prefetch.py")) == []
    assert upwards(Path("texpr/schedule/steps/loops/tile.py")) == []


def test_folders_can_be_taken_in_at_a_glance():
    folders = {
        path.parent
        for path in (ROOT / "texpr").rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"
    }
    entries = {
        str(folder): sum(each.name != "__pycache__" for each in folder.iterdir()) for folder in folders
    }
    assert {folder: n for folder, n in entries.items() if n > MOST_ENTRIES} == {} and len(entries) > 60
