"""What the mutation tests change, what they leave alone, and that the explained survivors exist."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.repo.source import ROOT


@pytest.fixture(scope="module")
def scripts() -> tuple[ModuleType, ModuleType]:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import mutants
        import mutate
    finally:
        sys.path.pop(0)
    return mutants, mutate


def test_a_change_that_takes_super_away_is_put_in_place(tmp_path: Path):
    """A function without `super()` has no cell for its class."""
    sys.path[:0] = [str(ROOT / "scripts"), str(tmp_path)]
    try:
        import mutation_runs
        from mutants import mutants as all_mutants

        path = Path("has_super.py")
        text = "class A(dict):\n    def __init__(self, a, b):\n        super().__init__(a=a).get(b)\n"
        (tmp_path / path).write_text(text + "        self.b = b\n", encoding="utf-8")
        made = importlib.import_module("has_super")
        function = made.A.__init__
        before = function.__code__
        changes = [m for m in all_mutants(tmp_path, path) if m.function == "A.__init__"]
        for mutant in changes:
            function.__code__ = before
            mutation_runs.install(tmp_path, mutant)
            assert function.__code__ is not before
        assert any("super" in m.key for m in changes)
    finally:
        del sys.path[:2]


CHANGED = {
    "return a and b and c": ["a and b", "a and c", "b and c"],
    "return a or b": ["a", "b"],
    "return 2 <= a < 3": ["2 < a < 3", "2 <= a <= 3"],
    "return any(x for x in a)": ["all((x for x in a))"],
    "return f(SOURCE, 2, SINK)": ["f(SINK, 2, SOURCE)"],
    "return s.project_out(dim_type.in_)": ["s.project_out(dim_type.out)"],
    "return not a": ["a"],
    "return {x for x in a if x}": ["{x for x in a}"],
    "return a.also(b)": ["a"],
    "return conjoined(a, b.c)": ["a"],
    "return {'read', 'write'}": ["{'read'}", "{'write'}"],
    "return a | b": ["a", "b"],
    "return a - b": ["a"],
    "return (a, *b)": ["(a,)"],
    "return a[0]": ["a[1]"],
}


@pytest.mark.parametrize("text", CHANGED)
def test_what_is_changed(text: str, scripts, tmp_path: Path):
    assert bodies(scripts[0], f"def f(a):\n    {text}", tmp_path) == sorted(
        f"return {c}" for c in CHANGED[text]
    )


def test_statements_and_cases_are_left_out(scripts, tmp_path: Path):
    text = (
        "def f(a):\n    match a:\n        case 2 | 3 if a:\n            g(a)\n        case _:\n            "
        "pass"
    )
    found = bodies(scripts[0], text, tmp_path)
    assert len(found) == 6 and len({f.replace(" ", "") for f in found}) == 6
    assert bodies(scripts[0], "def f(a):\n    if a:\n        return", tmp_path) == ["if False:\n    return"]


SILENT = [
    "def f(a):\n    raise ValueError(a and b)",
    "def f(a):\n    assert a and b",
    "def f(a) -> str:\n    return a and b",
    "def f(a) -> ScheduleError:\n    return a and b",
    "def f(a):\n    return refused(help=a and b)",
    "def f(a):\n    c = a and b\n    d = 2 if c else 3\n    raise ValueError(d)",
    "def f(a: a | b, c=a and b):\n    return a",
    "def f(a):\n    _MEMO[a] = a and b",
    "def f(a):\n    return a > QUOTA",
    "def f(a):\n    return a.equal(b, c)",
    "def f(a):\n    return compare('==', b, c)",
    "A = B and C",
    "A = {2, 3}",
    "__all__ = ['a', 'b']",
]


@pytest.mark.parametrize("text", SILENT)
def test_what_no_answer_depends_on_is_left_alone(text: str, scripts, tmp_path: Path):
    assert bodies(scripts[0], text, tmp_path) == []


def bodies(mutants: ModuleType, text: str, folder: Path) -> list[str]:
    """The last statement of each mutant of a file."""
    (folder / "f.py").write_text(text)
    found = [m.tree(folder) for m in mutants.mutants(folder, Path("f.py"))]
    assert all(compile(tree, "f.py", "exec") for tree in found)
    return sorted(ast.unparse(tree.body[-1].body[-1]) for tree in found)  # type: ignore[attr-defined]


def test_explained_survivors_exist(scripts):
    """`python scripts/mutate.py --listed` says whether they still survive."""
    mutants, mutate = scripts
    explained = mutate.listed((ROOT / mutate.LISTED).read_text(encoding="utf-8"))
    assert explained, "none is explained"
    there = {m.key for path in mutate.sources(ROOT, mutate.FILES) for m in mutants.mutants(ROOT, path)}
    assert explained.keys() <= there, sorted(explained.keys() - there)
    for key, reason in explained.items():
        assert reason.partition(":")[0] in ("equivalent", "slower", "refuses more", "wording"), (
            f"{key}: {reason}"
        )


def test_samples_grow(scripts):
    """A larger sample begins with the smaller one; every file is in it."""
    mutants, mutate = scripts
    paths = ["texpr/poly/dependence/execution_order.py", "texpr/poly/dependence/permutable_band.py"]
    found = [m for path in mutate.sources(ROOT, paths) for m in mutants.mutants(ROOT, path)]
    few, more = mutate.sample(found, 10, 0), mutate.sample(found, 20, 0)
    assert more[:10] == few and len({m.path for m in few}) == 2
    assert mutate.sample(found, 0, 0) != mutate.sample(found, 0, 1)
