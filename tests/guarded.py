"""Kernels whose arrays end, or begin, at a page that cannot be touched. They run in child
processes, which die where one goes outside.

    run("tests.guarded:library_case", "softmax", 1)
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

import texpr as tx
from tests.ops.smooth import CASES, ONCE, as_tuple, first_smooth_cases
from texpr import ops
from texpr.compiler.op import Op, default_kernel, instance
from texpr.compiler.pass_pipeline import prepared
from texpr.ir.dtypes import numpy_dtype
from texpr.ir.expr import Var
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.loop import Kernel
from texpr.ir.shapes import bind_sizes, evaluate_size, flat_shape
from texpr.lang import parse_kernel
from texpr.runtime.native.loader import Loaded, load
from texpr.runtime.process.worker import run_in_child
from texpr.support.errors import CompileError
from texpr.targets import emit_llvm, find_target, native_object, symbol_of

SIDES = ("end", "begin")
FIRST = {case.name: case for case in reversed(CASES)}
SMOOTH = first_smooth_cases()


def run(function: str, *arguments: object, text: str = "", seconds: float = 600) -> None:
    """Call a function in a child process.

    Args:
        text: of the operator that it runs.
    Raises:
        AssertionError: it died there, or raised an error; with the text.
    """
    try:
        run_in_child(function, *arguments, timeout=seconds)
    except CompileError as error:
        raise AssertionError(f"{error.message}\n\n{text}") from None


def library_case(name: str, order: int) -> None:
    """Run an operator of the library (0), its gradient (1) or the gradient of that (2):
    symbolic, the first two constant sizes too.
    """
    operator: Op = getattr(ops, name)
    if order == 0:
        case = FIRST[name]
        call(operator, case.arrays(case.dtypes[0]), case.constants, constant=True)
        return
    smooth = SMOOTH[name]
    given = {**smooth.inputs, **smooth.cotangents, **smooth.constants}
    if order == 1:
        call(tx.grad(operator), (), given, constant=True)
        return
    second, v = smooth.second
    call(second, (), given | v, constant=False)


def call(
    operator: Op, arrays: Sequence[np.ndarray], options: Mapping[str, object], *, constant: bool
) -> None:
    """A kernel of symbolic sizes, and one of constant sizes if wanted, each on both sides of
    such a page: the results are the same.
    """
    program, given = instance(operator, tuple(arrays), options)
    sizes = bind_sizes(program.inputs, [a.shape for a in given])[0]
    for each in ({}, sizes) if constant else ({},):
        with tx.options(guard=SIDES[0], certify=False, tuned=False):
            kernel = default_kernel(program, each)
            results = as_tuple(kernel(*given))
        with tx.options(guard=SIDES[1]):
            for one, other in zip(results, as_tuple(kernel(*given)), strict=True):
                np.testing.assert_array_equal(one, other)


def differentiable(order: int) -> list[str]:
    """The operators of the library that have so many derivatives."""
    return [*FIRST] if order == 0 else [name for name in SMOOTH if order == 1 or name not in ONCE]


def run_loops(text: str, sizes: Mapping[str, int], target: str = "native", seed: int = 0) -> None:
    """Loops as they are written, by code for a target that this processor runs, against the
    interpreter, on both sides of such a page.
    """
    kernel = parse_kernel(text)
    values = {v: sizes[v.name] for v in kernel.sizes}
    inputs = inputs_of(kernel, values, seed)
    expected = interpret_kernel(kernel, inputs, values)
    with tx.options(guard=SIDES[0]):
        entry = linked(kernel, target)
    for side in SIDES:
        with tx.options(guard=side):
            for tensor, found, wanted in zip(
                kernel.outputs, call_loops(entry, kernel, inputs, values), expected, strict=True
            ):
                np.testing.assert_array_equal(
                    found, wanted, f"{tensor.name} for {target}, arrays at the {side}"
                )


def linked(kernel: Kernel, target: str) -> Loaded:
    """The code of loops in this process."""
    machine = find_target(target)
    with native_object(emit_llvm(prepared(kernel, machine), machine)[0], machine) as made:
        return load(made(), symbol_of(kernel.name))


def inputs_of(kernel: Kernel, sizes: Mapping[Var, int], seed: int, most: int = 4) -> list[np.ndarray]:
    """Whole numbers up to `most`, below 0 of types with a sign; of tensors with a range, numbers
    in it.
    """
    random, arrays = np.random.default_rng(seed), list[np.ndarray]()
    for t in kernel.inputs:
        least = 0 if t.dtype.kind == "u" else -most
        low, high = (
            (least, most + 1) if t.value_range is None else (evaluate_size(e, sizes) for e in t.value_range)
        )
        arrays.append(
            np.asarray(random.integers(low, max(high, low + 1), flat_shape(t, sizes))).astype(
                numpy_dtype(t.dtype)
            )
        )
    return arrays


@cache
def _dirty() -> Loaded:
    text = """declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define i32 @texpr_garbage(ptr %slots) {
  %all = alloca [262144 x i8]
  call void @llvm.memset.p0.i64(ptr %all, i8 -91, i64 262144, i1 true)
  ret i32 0
}
"""
    with native_object(text, find_target("native")) as made:
        return load(made(), symbol_of("garbage"))


def _garbage() -> None:
    """Leave bytes of 165 on the stack, so that accumulators that are read before they are
    written show.
    """
    ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(_dirty().address)(None)


def call_loops(
    entry: Loaded, kernel: Kernel, inputs: Sequence[np.ndarray], sizes: Mapping[Var, int]
) -> list[np.ndarray]:
    """The outputs of linked loops. All their bytes are 165 before, so that what is not written
    shows.
    """
    outputs = [np.empty(flat_shape(t, sizes), numpy_dtype(t.dtype)) for t in kernel.outputs]
    for each in outputs:
        each.reshape(-1).view(np.uint8)[...] = 165
    _garbage()
    slots = [*(a.ctypes.data for a in (*inputs, *outputs)), *sizes.values()]
    status = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(entry.address)(
        (ctypes.c_int64 * len(slots))(*slots)
    )
    assert status == 0, f"status {status}"
    return outputs
