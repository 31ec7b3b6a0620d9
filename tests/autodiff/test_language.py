"""The gradient of every operator of the language's own test file, in f64, against central
differences.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.autodiff.checking import check_gradient
from texpr.ir.dtypes import F64, I32, numpy_dtype
from texpr.ir.expr import Tensor, Var
from texpr.ir.shapes import evaluate_size
from texpr.ir.tensor import Program
from texpr.lang import elaborate, parse

TEXT = (Path(__file__).parent.parent / "lang" / "operators.tx").read_text()
OPS = parse(TEXT.replace("bf16", "f64").replace("f32", "f64"), "operators.tx").ops
CONSTANTS = {
    "iota": {"N": 8},
    "embed_grad": {"V": 5},
    "one_hot": {"C": 4},
    "conv2d_dX": {"H": 5, "W": 5},
    "resize": {"V": 4},
    "conv2d": {"P": 1},
    "softmax": {"axis": 1},
    "concat": {"axis": 1},
}
SIZES = {
    "attention": {"L": 2, "M": 3},
    "conv2d": {"R": 2, "Q": 3},
    "conv2d_dX": {"R": 2, "Q": 2, "U": 4, "V": 4},
    "gconv1d": {"R": 2},
    "kv_update": {"L": 2, "S": 5},
}
WITHOUT = {"argsort", "sorted", "two", "maxpool1_grad"}
DIFFERENTIABLE = [name for name, op in OPS.items() if name not in WITHOUT]


def arrays(program: Program) -> list[np.ndarray]:
    random = np.random.default_rng(5)
    chosen = SIZES.get(program.name, {})
    sizes = {v: chosen.get(v.name, 2 + n % 3) for n, v in enumerate(program.sizes)}
    return [_array(t, sizes, random) for t in program.inputs]


def _array(tensor: Tensor, sizes: dict[Var, int], random: np.random.Generator) -> np.ndarray:
    shape = [int(np.prod([evaluate_size(s, sizes) for s in dim.sizes])) for dim in tensor.dims]
    if tensor.dtype.is_float:
        return random.normal(size=shape)
    if tensor.distinct:
        return random.permutation(shape[0])
    lo, hi = (evaluate_size(e, sizes) for e in tensor.value_range) if tensor.value_range else (0, 2)
    return random.integers(lo, hi, size=shape).astype(numpy_dtype(tensor.dtype))


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_operator(name: str):
    op = OPS[name]
    types = {v.name: I32 if v.kind == "int" else F64 for v in op.type_variables}
    program = elaborate(op, types, CONSTANTS.get(name, {}))
    if any(t.dtype.is_float for t in program.inputs) and any(t.dtype.is_float for t in program.outputs):
        check_gradient(program, *arrays(program))
