"""Metadata, extras, the changelog and the files beside the package."""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import texpr
from tests.repo.source import ROOT, nodes, package_files, tree
from texpr.tools.doctor.requirement import parse

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, EXTRAS = PYPROJECT["project"], PYPROJECT["project"]["optional-dependencies"]
GROUPS = PYPROJECT["dependency-groups"]
CUDA = {"cuda", "cuda12", "cuda13"}
NOT_IN_ALL = CUDA | {"torch", "jax"}
"""What needs a GPU, and other frameworks, which are large."""
KINDS = tuple(kind["directory"] for kind in PYPROJECT["tool"]["towncrier"]["type"])
FRAGMENT = re.compile(rf"\+[a-z0-9]+(-[a-z0-9]+)*\.({'|'.join(KINDS)})\.md")
IMPORTED_AS = {"ml-dtypes": "ml_dtypes", "cuda-bindings": "cuda", "pillow": "PIL", "scikit-learn": "sklearn"}


def test_the_version_stands_in_one_place():
    assert PROJECT["dynamic"] == ["version"] and "version" not in PROJECT
    assert PYPROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "texpr.__version__"}
    assert re.fullmatch(r"\d+\.\d+\.\d+", texpr.__version__)
    assert f"\nversion: {texpr.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_version_is_a_literal():
    """setuptools then reads it without an import, and an import does not read metadata."""
    values = [
        node.value.value
        for node in tree(Path("texpr/__init__.py")).body
        if isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) == "__version__"
        and isinstance(node.value, ast.Constant)
    ]
    assert values == [texpr.__version__]


PIP = """import sys
sys.exit("WARNING: old\\nERROR: Cannot install a==1 and b\\nERROR: ResolutionImpossible: see the page")"""
ABSENT = PIP.replace("Cannot install a==1 and b", "Could not find a").replace(
    "ResolutionImpossible", "No matching distribution"
)


@pytest.mark.parametrize(
    ("code", "told"),
    [("", ""), (PIP, "Cannot install a==1 and b"), (ABSENT, "No matching distribution: see the page")],
)
def test_the_matrix_tells_why_an_environment_cannot_be_made(code: str, told: str):
    problem = runpy.run_path(str(ROOT / "scripts" / "matrix.py"), run_name="matrix")["_problem"]
    assert problem([sys.executable, "-c", code]) == told


@pytest.mark.parametrize("python", ["3.11", "3.13", "3.14"])
def test_the_oldest_versions_meet_every_requirement_of_their_environment(python: str):
    """Also where an extra asks for less than the group of tests does."""
    found = runpy.run_path(str(ROOT / "scripts" / "matrix.py"), run_name="matrix")["oldest"](python)
    needed = [parse(line) for line in [*PROJECT["dependencies"], *GROUPS["test"]]]
    assert [each for each in needed if each is not None and not each.allows(found[each.package])] == []


def test_classifiers_name_the_pythons_of_the_matrix():
    prefix = "Programming Language :: Python :: 3."
    named = [c.removeprefix(prefix) for c in PROJECT["classifiers"] if c.startswith(prefix)]
    done = subprocess.run(
        [sys.executable, "-c", "from scripts.matrix import PYTHONS; print(*PYTHONS)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert [f"3.{minor}" for minor in named] == [p for p in done.stdout.split() if not p.endswith("t")]
    assert PROJECT["requires-python"] == f">=3.{named[0]}"
    assert not any(c.startswith("License ::") for c in PROJECT["classifiers"])  # PEP 639


def test_all_has_every_extra_but_those_of_machines_and_frameworks():
    held = [re.fullmatch(r"texpr\[(\w+)\]", line) for line in EXTRAS["all"]]
    assert all(held) and [m[1] for m in held if m] == sorted(EXTRAS.keys() - NOT_IN_ALL - {"all"})


def test_the_readme_says_what_all_holds():
    rows = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    row = next((line for line in rows if line.startswith("| `all` |")), None)
    if row is not None:
        assert row.split("|")[2].startswith(" all of the above but ")
        assert set(re.findall(r"`(\w+)`", row)) - {"all"} == NOT_IN_ALL


def test_each_extra_has_a_row_in_the_table_of_comments():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    table = text[text.index("# extra ") : text.index("[project.optional-dependencies]")]
    named = set(re.findall(r"^# (\w+)\*? +\|", table, re.MULTILINE)) - {"extra"}
    assert named == EXTRAS.keys() - CUDA | {"cuda"}


def test_each_requirement_has_a_lower_bound():
    lines = [*PROJECT["dependencies"], *(line for name in EXTRAS.keys() - {"all"} for line in EXTRAS[name])]
    assert [line for line in lines if ">=" not in line] == []


def test_each_optional_import_has_an_extra():
    """Imports inside `with needs(extra, ...)`, and those that do with less."""
    libraries = {
        name: {IMPORTED_AS.get(p := re.split(r"[^\w-]", line)[0], p) for line in lines}
        for name, lines in EXTRAS.items()
    }
    found = []
    for path in package_files():
        for node in nodes(tree(path)):
            if isinstance(node, ast.With) and isinstance(call := node.items[0].context_expr, ast.Call):
                if isinstance(call.func, ast.Name) and call.func.id == "needs":
                    assert isinstance(call.args[0], ast.Constant)
                    found += [(path, call.args[0].value, name) for name in _imported(node)]
    wrong = [each for each in found if each[2] not in libraries[each[1]] and each[2] != "torch"]
    assert len(found) >= 5 and wrong == []


def _imported(node: ast.AST) -> set[str]:
    imports = [n for n in ast.walk(node) if isinstance(n, ast.Import | ast.ImportFrom)]
    names = [alias.name for n in imports if isinstance(n, ast.Import) for alias in n.names]
    names += [n.module for n in imports if isinstance(n, ast.ImportFrom) and n.module and not n.level]
    return {name.split(".")[0] for name in names}


def test_links_of_the_readme_become_absolute():
    dist = runpy.run_path(str(ROOT / "scripts" / "dist.py"))
    absolute = dist["with_absolute_links"]
    text = "![a](docs/a.png) [b](https://c.example/d) [e](#f)"
    assert (
        absolute(text, "https://a.example/b/")
        == "![a](https://a.example/b/docs/a.png) [b](https://c.example/d) [e](#f)"
    )
    # The README of an sdist that was built with --site has absolute links already.
    readme = absolute((ROOT / "README.md").read_text(encoding="utf-8"), "https://a.example/b/")
    links = re.findall(r"\]\(([^)]+)\)", readme)
    assert any(link.endswith("/docs/_static/schedule.png") for link in links)
    assert all(link.startswith("https://") for link in links)
    with pytest.raises(SystemExit, match="is no address"):
        dist["with_absolute_links"]("", "a.example")


def test_fragments_have_valid_names():
    names = [path.name for path in (ROOT / "changes").iterdir() if path.name != "README.md"]
    assert [name for name in names if not FRAGMENT.fullmatch(name)] == []
    assert all((ROOT / "changes" / name).read_text(encoding="utf-8").strip() for name in names)


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("+doctor.added.md", True),
        ("+extra-all.changed.md", True),
        ("doctor.added.md", False),
        ("+doctor.feature.md", False),
        ("+Doctor.added.md", False),
        ("+doctor.added.txt", False),
    ],
)
def test_names_of_fragments(name: str, valid: bool):
    assert bool(FRAGMENT.fullmatch(name)) is valid


def test_the_policy_says_whether_names_are_deprecated():
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "texpr").rglob("*.py"))
    policy = (ROOT / "docs/developer/versioning.md").read_text(encoding="utf-8")
    assert ("No public name is deprecated now." in policy) == ("DeprecationWarning" not in code)


def test_the_changelog_has_a_place_for_releases():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert text.count(PYPROJECT["tool"]["towncrier"]["start_string"]) == 1
    releases = re.findall(r"^## (\d+\.\d+\.\d+) ", text, re.MULTILINE)
    assert releases[0] == texpr.__version__


def test_the_sdist_is_told_of_each_folder():
    """A new folder of the root goes into the sdist, or is named here."""
    told = (ROOT / "MANIFEST.in").read_text(encoding="utf-8")
    outside = {"texpr", "build", "dist", "site"}
    folders = {p.name for p in ROOT.iterdir() if p.is_dir() and not p.name.startswith((".", "__"))}
    folders = {name for name in folders if not name.endswith(".egg-info")} - outside
    assert [name for name in sorted(folders) if f"graft {name}\n" not in told] == []
