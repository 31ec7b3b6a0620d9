"""`import texpr` costs what its four libraries cost."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import requires

from tests.repo.floors import CORE
from tests.repo.source import ROOT, nodes, package_files, tree


def loaded_by(statement: str) -> set[str]:
    """The top-level modules outside the standard library that a fresh interpreter has loaded
    after a statement.
    """
    code = f"{statement}\nimport sys; print(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    result = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {
        name
        for name in result.stdout.split()
        if name not in sys.stdlib_module_names and not name.startswith("_")
    }


def dependencies(library: str) -> set[str]:
    """What a library itself requires, extras aside."""
    return {
        re.split(r"[^\w-]", line)[0].replace("-", "_")
        for line in requires(library) or []
        if "extra ==" not in line
    }


def test_import_texpr_imports_only_the_core():
    allowed = CORE | {"texpr"} | {name for library in CORE for name in dependencies(library)}
    assert loaded_by("import texpr") - loaded_by("pass") <= allowed


def test_arrays_do_not_load_what_masks_them():
    """NumPy loads its masked arrays when they are first named, which is a part of the first step
    of a small network.
    """
    code = f"""
import sys; sys.path.insert(0, {str(ROOT)!r})
import numpy as np, texpr as tx
tx.op("op double(X: f32[N]) -> Y: f32[N] {{ Y[i] = 2 * X[i] }}")(np.ones(3, "f4"))
(tx.tensor(np.ones(3)) + 1).numpy(), tx.nn.Linear(3, 2)(tx.tensor(np.ones((1, 3), "f4"))).numpy()
print("numpy.ma" in sys.modules)
"""
    assert (
        subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True).stdout
        == "False\n"
    )


def test_the_project_file_lists_the_core():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {re.split(r"\W", line)[0] for line in project["dependencies"]} == CORE


def extras() -> dict[str, list[str]]:
    """The names of the libraries of each extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {
        name: [re.split(r"[^\w-]", line)[0] for line in lines]
        for name, lines in project["optional-dependencies"].items()
    }


def test_the_readme_lists_the_extras():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in readme.splitlines() if re.match(r"\| `\w+`(, `\w+`)* \| ", line)]
    listed = {name: row[1].lower() for row in rows for name in re.findall(r"`(\w+)`", row[0])}
    assert listed.keys() == extras().keys()
    for name, libraries in extras().items():
        assert name == "all" or all(library in listed[name] for library in libraries), name


def test_messages_name_extras_that_there_are():
    calls = [
        call
        for path in package_files()
        for call in nodes(tree(path))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "needs"
    ]
    named = {call.args[0].value for call in calls if isinstance(call.args[0], ast.Constant)}
    assert len(calls) >= 5 and named <= extras().keys()
