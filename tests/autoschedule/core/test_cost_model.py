"""Tuned numbers are fields of frozen records, with a unit and a source, and nowhere else."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, fields, is_dataclass
from functools import cache
from pathlib import Path

import pytest

from scripts import costs
from tests.repo.source import ROOT, package_files, tree
from texpr.autoschedule.core.cost_model import COSTS, CostModel
from texpr.autoschedule.registry import COST_MODELS

AUTOSCHEDULE = Path("texpr/autoschedule")
FACTS = {
    "core/builder.UNBOUNDED": "a stand-in for the extent that only the call knows, above all factors of splits",
    "cpu/elementwise/interleaved_stores.FACTORS": "powers of two: vectors that shuffles interleave",
    "cpu/elementwise/transpose.SQUARES": "sides of squares that instructions transpose",
    "cpu/gemm/dot_instructions.REGISTER": "bytes of a vector register",
    "cpu/gemm/matrix_instructions.TILES": "shapes of 24 squares of sums, which fit the registers",
    "cpu/gemm/packing.LINE": "bytes of a cache line",
    "cpu/gemm/packing.WAYS": "ways of an L1",
    "cpu/gemm/packing.ALIAS": "bytes after which addresses fall into one set of an L1",
    "cpu/gemm/packing._SIDES": "sides of squares that instructions transpose",
    "cpu/gemm/tile_registers.SIDE": "rows of a tile register",
    "cpu/gemm/tile_registers.ROW_BYTES": "bytes of a row of a tile register",
    "cpu/gemm/tile_registers.COLUMN_BYTES": "bytes of a group of terms of an instruction",
    "cpu/gemm/tile_registers.HIGH": "tiles of sums: all eight tile registers are in use",
    "cpu/gemm/tile_registers.WIDE": "tiles of sums: all eight tile registers are in use",
    "derivatives/derive._LOOPS": "positions of loops among the arguments of steps",
    "derivatives/derive._FEWEST": "loops that a step must keep to do anything",
    "gpu/attention/common.ROWS": "rows that a warpgroup multiplies",
    "gpu/attention/common.TERMS": "as many terms as rows, so that blocks of scores are square",
    "gpu/attention/warpgroup_attention.ELEMENTS": "elements of 16 bits in a row that a warpgroup reads",
    "gpu/attention/warpgroup_attention.WARPS": "warps of a warpgroup",
    "gpu/attention/warpgroup_attention.COLUMNS": "columns that an instruction adds to",
    "gpu/attention/warp_attention.TALL": "rows of an instruction's tile",
    "gpu/attention/warp_attention.WIDE": "columns of an instruction's tile",
    "gpu/attention/warp_attention.DEEP": "terms of an instruction's tile",
    "gpu/contraction.TALL": "rows of an instruction's tile",
    "gpu/gemm._CORES": "rows, columns and terms of tensor cores' instructions",
    "gpu/persistent_grid.MOST_AXES": "axes of a grid",
    "gpu/row_reduction.LANES": "lanes of a warp",
    "gpu/row_reduction.VECTOR_BYTES": "bytes that a thread loads at once",
    "gpu/shared_memory.ROW": "bytes of a row that a warpgroup reads",
    "gpu/shared_memory.UNITS": "units of 16 bytes in different banks",
    "gpu/shared_memory.LEAST_ASYNC_COPY": "bytes of the smallest asynchronous copy",
    "gpu/sums.SECTOR": "bytes that memory gives at once",
    "gpu/warpgroup_gemm.THREADS": "threads of a warpgroup",
    "gpu/warpgroup_gemm.ROWS": "rows of a warpgroup's instructions",
    "gpu/warpgroup_gemm.DEEP": "bytes of the terms of an instruction",
    "gpu/warpgroup_gemm.TILES": "shapes of a block that instructions and registers allow",
}
"""Numbers that hardware, instructions or steps have, with the reason why nobody tunes them. A number
that was chosen belongs to a record (`CostModel`), not into this list.
"""


def constants(module: ast.Module) -> Iterator[str]:
    """Names to which a module assigns an expression with a number in it, outside of functions and
    classes.
    """
    for node in module.body:
        match node:
            case ast.Assign(targets=targets, value=ast.expr() as value):
                pass
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                targets = [target]
            case _:
                continue
        if any(isinstance(n, ast.Constant) and type(n.value) in (int, float) for n in ast.walk(value)):
            yield from (n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name))


@cache
def cost_models() -> dict[str, tuple[str, ast.ClassDef]]:
    """Records of tuned numbers in the files of the package: module and definition by name."""
    return {
        node.name: (".".join(path.with_suffix("").parts), node)
        for path in package_files()
        if CostModel.__name__ in (ROOT / path).read_text(encoding="utf-8")  # others need no tree
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id == "CostModel" for base in node.bases)
    }


def undocumented(record: ast.ClassDef) -> list[str]:
    """Fields of a class without a docstring behind them."""
    return [
        ast.unparse(node.target)
        for node, after in zip(record.body, [*record.body[1:], None])
        if isinstance(node, ast.AnnAssign)
        and not (isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant))
    ]


@pytest.mark.parametrize("record", CostModel.__subclasses__(), ids=lambda record: record.__name__)
def test_every_number_has_a_unit_and_a_source(record: type[CostModel]):
    assert is_dataclass(record)
    costs = {each.name: each for each in fields(record)}
    assert [name for name, each in costs.items() if not each.metadata.get("unit")] == []
    assert [name for name, each in costs.items() if not each.metadata.get("source")] == []
    assert [name for name, each in costs.items() if type(each.default) not in (int, float)] == []


@pytest.mark.parametrize("costs", COST_MODELS, ids=lambda costs: type(costs).__name__)
def test_records_are_frozen(costs: CostModel):
    name = fields(costs)[0].name  # pyright: ignore[reportArgumentType]
    with pytest.raises(FrozenInstanceError):
        setattr(costs, name, 0)


def test_every_number_says_what_it_decides():
    found = {name: undocumented(record) for name, (_, record) in cost_models().items()}
    assert {name: missing for name, missing in found.items() if missing} == {}


def test_the_registry_reaches_all_records():
    listed = {type(costs).__name__: type(costs).__module__ for costs in COST_MODELS}
    assert listed == {name: module for name, (module, _) in cost_models().items()}
    assert len(listed) == len(COST_MODELS) > 8
    script = (
        "import texpr.autoschedule.registry; from texpr.autoschedule.core.cost_model import CostModel; "
        "print(*sorted(record.__name__ for record in CostModel.__subclasses__()))"
    )
    alone = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert alone.stdout.split() == sorted(listed)


def test_no_tuned_number_stands_elsewhere():
    found = {
        f"{path.relative_to(AUTOSCHEDULE).with_suffix('').as_posix()}.{name}"
        for path in package_files()
        if path.is_relative_to(AUTOSCHEDULE)
        for name in constants(tree(path))
    }
    assert sorted(found - FACTS.keys()) == [], "a tuned number is a field of a CostModel, with its source"
    assert sorted(FACTS.keys() - found) == [], "no such constant any more"


def test_the_checks_can_fail():
    assert list(constants(ast.parse("A = 3\nB: int = 1 << 4\nC, D = 2, E\nF = {'x': (G, 0.5)}"))) == [
        *"ABCDF"
    ]
    assert not list(constants(ast.parse("A = 'x'\nB = C // D\nE = True\ndef f(): g = 3")))
    record = ast.parse('class X:\n    """X."""\n    a: int = 1\n    """A."""\n    b: int = 2\n').body[0]
    assert isinstance(record, ast.ClassDef) and undocumented(record) == ["b"]


def test_the_page_is_as_its_script_writes_it():
    assert costs.PAGE.read_text(encoding="utf-8") == costs.page()
    assert f"| `function` | {COSTS.function} | operations |" in costs.page()
