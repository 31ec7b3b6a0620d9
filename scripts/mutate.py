"""Mutation testing of the code that decides legality: each small change of it should make a test fail.

    python scripts/mutate.py [FILE ...] [--limit N] [--seed S]

A mutant drops a conjunct, weakens a comparison, exchanges two arguments, leaves out a case or a statement. It lives in a copy of the tree;
tests run there until the first fails. What survives is printed, to be explained or to get a test.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
LEGALITY = ["legality", "order", "instances", "nest", "flow", "footprint", "sites", "affine", "forms"]
FILES = [*(f"texpr/poly/{name}.py" for name in LEGALITY), "texpr/poly/certify", "texpr/schedule/independent.py", "texpr/schedule/order.py",
         "texpr/schedule/attach.py"]
TESTS = ["tests/litmus", "tests/poly", "tests/schedule"]
SECONDS = 240
WEAKER: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot,
    ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}


@dataclass(frozen=True)
class Mutant:
    """A file with one change."""

    path: Path
    line: int
    what: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


def main() -> int:
    """Run mutants; print those that no test notices, and the share that was caught."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", default=FILES)
    parser.add_argument("--limit", type=int, default=200, help="how many mutants, drawn at random (default: 200)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tests", nargs="*", default=TESTS)
    arguments = parser.parse_args()
    found = [m for path in sources(arguments.files) for m in mutants(path)]
    chosen = random.Random(arguments.seed).sample(found, min(arguments.limit, len(found)))
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        for part in ("texpr", "tests", "examples", "pyproject.toml"):
            (shutil.copytree if (ROOT / part).is_dir() else shutil.copy)(ROOT / part, tree / part)
        if not passes(tree, arguments.tests):
            sys.exit("the tests fail without any change")
        caught = sum(noticed(tree, m, k, len(chosen), arguments.tests) for k, m in enumerate(chosen, 1))
    print(f"{caught} of {len(chosen)} caught ({caught / max(len(chosen), 1):.1%}), of {len(found)} possible")
    return 0


def noticed(tree: Path, mutant: Mutant, number: int, total: int, tests: list[str]) -> bool:
    """Whether a test fails with the mutant in place."""
    target = tree / mutant.path
    original = target.read_text()
    target.write_text(mutant.text)
    try:
        survived = passes(tree, tests)
    finally:
        target.write_text(original)
    print(f"[{number}/{total}] {'SURVIVED' if survived else 'caught  '} {mutant}", flush=True)
    return not survived


def passes(tree: Path, tests: list[str]) -> bool:
    """Whether the tests pass in a tree; one that hangs does not."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", *tests]
    environment = {"PYTHONPATH": str(tree), "PATH": os.environ.get("PATH", ""), "TEXPR_CACHE_DIR": str(tree / "cache")}
    try:
        done = subprocess.run(command, cwd=tree, capture_output=True, timeout=SECONDS, check=False, env=environment)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def sources(names: list[str]) -> Iterator[Path]:
    """The named files and those of the named folders, relative to the project."""
    for name in names:
        path = ROOT / name
        yield from (p.relative_to(ROOT) for p in (sorted(path.rglob("*.py")) if path.is_dir() else [path]) if p.exists())


def mutants(path: Path) -> Iterator[Mutant]:
    """Every small change of a file that still means something."""
    tree = ast.parse((ROOT / path).read_text())
    parents = {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for position, node in enumerate(ast.walk(tree)):
        if not _in_function(node, parents):
            continue
        for what, change in changes(node):
            changed = copy.deepcopy(tree)
            target = next(n for k, n in enumerate(ast.walk(changed)) if k == position)
            change(target)
            yield Mutant(path, getattr(node, "lineno", 0), what, ast.unparse(ast.fix_missing_locations(changed)) + "\n")


def _in_function(node: ast.AST, parents: dict[int, ast.AST]) -> bool:
    """Inside a body, no annotation, no decorator, no assertion."""
    child: ast.AST | None = node
    inside = False
    while child is not None:
        parent = parents.get(id(child))
        if isinstance(parent, ast.FunctionDef):
            if child not in parent.body:
                return False
            inside = True
        if isinstance(parent, ast.AnnAssign) and child is parent.annotation or isinstance(parent, ast.Assert | ast.Raise | ast.arg):
            return False
        child = parent
    return inside


def changes(node: ast.AST) -> Iterator[tuple[str, object]]:
    """What can be changed in a node: a description and a function that does it in place."""
    match node:
        case ast.BoolOp(values=values):
            for k, operand in enumerate(values):
                yield f"drop `{ast.unparse(operand)}`", lambda n, k=k: n.values.pop(k)
        case ast.Compare(ops=[operator], left=left, comparators=[right]) if type(operator) in WEAKER:
            new = WEAKER[type(operator)]
            yield f"`{ast.unparse(left)} {_sign(operator)} {ast.unparse(right)}` with {_sign(new())}", lambda n: n.ops.__setitem__(0, new())
        case ast.Call(args=[ast.Name(a), ast.Name(b), *_] as given) if a != b:
            yield f"exchange {ast.unparse(given[0])} and {ast.unparse(given[1])} in `{ast.unparse(node)[:60]}`", _exchange
        case ast.UnaryOp(op=ast.Not()):
            yield f"`{ast.unparse(node)}` without not", lambda n: n.__dict__.update(op=ast.Not(), operand=ast.UnaryOp(ast.Not(), n.operand))
        case ast.comprehension(ifs=[_, *_]):
            yield f"without `if {ast.unparse(node.ifs[0])}`", lambda n: n.ifs.pop(0)
        case ast.If(test=test):
            yield f"`if {ast.unparse(test)}` never", lambda n: setattr(n, "test", ast.Constant(False))
        case ast.Expr(value=ast.Call()):
            yield f"without `{ast.unparse(node)[:80]}`", lambda n: setattr(n, "value", ast.Constant(None))
        case ast.Constant(value=0 | 1 as value) if not isinstance(value, bool):
            yield f"{value} with {1 - value}", lambda n: setattr(n, "value", 1 - n.value)
        case ast.Constant(value=True | False as value):
            yield f"{value} with {not value}", lambda n: setattr(n, "value", not n.value)


def _exchange(node: ast.Call) -> None:
    node.args[0], node.args[1] = node.args[1], node.args[0]


def _sign(operator: ast.cmpop) -> str:
    return ast.unparse(ast.Compare(ast.Name("a"), [operator], [ast.Name("b")]))[2:-2]


if __name__ == "__main__":
    sys.exit(main())
