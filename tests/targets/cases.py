"""Operators at small awkward sizes, for whatever runs foreign code: inputs, and what the
interpreter says of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache

import numpy as np

import texpr as tx
from texpr.compiler import pass_pipeline
from texpr.ir.build import integer
from texpr.ir.dtypes import BF16, BOOL, numpy_dtype, stored
from texpr.ir.expr import Tensor, Var
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.loop import Kernel
from texpr.ir.shapes import bind_sizes, flat_shape
from texpr.ir.tensor import Program
from texpr.runtime.process import qemu
from texpr.targets import Launch, Target, compile_kernel, emit_llvm, find_target, symbol_of

MATMUL = "op matmul(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
CONV2D = """
op conv2d(X: f32[N, C, H, W], F: f32[K, C, R, Q], b: f32[K]; S = 1, P = 0) -> Y: f32[N, K, (H + 2*P - R)//S + 1, (W + 2*P - Q)//S + 1]
  require S >= 1, R <= H + 2*P, Q <= W + 2*P {
  Y[n, k, y, x] = b[k] + sum(c, r, q: X[n, c, S*y + r - P, S*x + q - P | 0] * F[k, c, r, q])
}"""
SOFTMAX = """
op softmax<T: float>(X: T[*A:axis, D, *B]; axis = 0) -> Y: T[*A, D, *B] {
  m[*a, *b]    = max(j: X[*a, j, *b])
  e[*a, j, *b] = exp(X[*a, j, *b] - m[*a, *b])
  Y[*a, j, *b] = e[*a, j, *b] / sum(k: e[*a, k, *b])
}"""

SCATTER = """
op scatter(G: f32[B, D], idx: i32[B] in 0..7) -> dE: f32[7, D] {
  dE[v, d] = 0
  dE[idx[b], d] += G[b, d]
}"""
TYPES = """
op types(A: u8[M, N], b: i8[N], H: bf16[M, N], on: bool[M]) -> (C: i32[M, N], G: bf16[M, N], q: i64[M, N], any_on: bool) {
  C[i, j] = i32(A[i, j]) * i32(b[j]) // 3
  G[i, j] = if on[i] then bf16(sqrt(f32(abs(b[j])))) else H[i, j]
  q[i, j] = i64(f32(H[i, j]) * 1000)
  any_on = any(i: on[i])
}"""


@dataclass(frozen=True, eq=False)
class Case:
    """One operator at one choice of shapes; with `fixed`, its sizes are constants of the kernel."""

    name: str
    text: str
    shapes: tuple[tuple[int, ...], ...]
    constants: dict[str, int] = field(default_factory=dict)
    fixed: bool = True

    def __str__(self) -> str:
        shapes = "_".join("x".join(map(str, shape)) for shape in self.shapes)
        return f"{self.name}{'' if self.fixed else '-symbolic'}-{shapes}-{'-'.join(map(str, self.constants.values()))}"


def matmul(m: int, k: int, n: int, fixed: bool = True) -> Case:
    return Case("matmul", MATMUL, ((m, k), (k, n)), fixed=fixed)


def conv2d(stride: int, pad: int) -> Case:
    return Case("conv2d", CONV2D, ((2, 3, 7, 9), (5, 3, 3, 2), (5,)), {"S": stride, "P": pad})


def softmax(*shape: int, axis: int) -> Case:
    return Case("softmax", SOFTMAX, (shape,), {"axis": axis})


CASES = (
    matmul(5, 7, 3),
    matmul(1, 1, 1),
    matmul(33, 17, 65),
    conv2d(1, 0),
    conv2d(2, 1),
    conv2d(3, 2),
    softmax(3, 5, axis=1),
    softmax(2, 37, 3, axis=1),
    softmax(300, axis=0),
    Case("scatter", SCATTER, ((20, 3), (20,))),
    Case("types", TYPES, ((5, 9), (9,), (5, 9), (5,))),
)


@dataclass(frozen=True)
class Problem:
    """A program, its sizes, inputs in flat shapes, and what the interpreter makes of them."""

    program: Program
    sizes: dict[Var, int]
    inputs: tuple[np.ndarray, ...]
    expected: tuple[np.ndarray, ...]

    def empty(self) -> list[np.ndarray]:
        """Outputs that nobody has written."""
        return [np.full(a.shape, np.nan if a.dtype.kind == "f" else 7, a.dtype) for a in self.expected]


@cache
def problem(case: Case) -> Problem:
    program = tx.op(case.text).program(constants=case.constants)
    sizes, _ = bind_sizes(program.inputs, case.shapes)
    generator = np.random.default_rng(0)
    inputs = tuple(_random(generator, t, shape) for t, shape in zip(program.inputs, case.shapes))
    outputs = interpret(program, inputs)
    flat = [
        a.reshape(flat_shape(t, sizes))
        for t, a in zip((*program.inputs, *program.outputs), (*inputs, *outputs))
    ]
    return Problem(program, sizes, tuple(flat[: len(inputs)]), tuple(flat[len(inputs) :]))


def _random(generator: np.random.Generator, t: Tensor, shape: tuple[int, ...]) -> np.ndarray:
    dtype = numpy_dtype(t.dtype)
    if t.value_range is not None:
        lo, hi = (integer(e) for e in t.value_range)
        return generator.integers(lo or 0, hi or 1, shape).astype(dtype)
    if t.dtype.is_int or t.dtype == BOOL:
        return generator.integers(0, 2 if t.dtype == BOOL else 100, shape).astype(dtype)
    values = 2 * generator.standard_normal(shape)
    return (
        (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        if t.dtype == BF16
        else stored(values, t.dtype)
    )


def kernel_of(case: Case, target: Target, steps: str | tx.Schedule | None = None) -> Kernel:
    """The kernel of a case as it is emitted: by the automatic schedule, a script, or a schedule of
    the case that is there.
    """
    if not isinstance(steps, tx.Schedule):
        given = problem(case)
        plan = tx.Schedule(given.program, given.sizes if case.fixed else {})
        steps = plan.auto(target.name) if steps is None else plan.replay(steps)
    return pass_pipeline.prepared(steps.kernel, target)


@lru_cache(maxsize=2)
def emitted(kernel: Kernel, target: Target) -> tuple[str, tuple[Launch, ...]]:
    """The text of a kernel for a GPU and its launches: made once for runs in two orders."""
    return emit_llvm(kernel, target)


def sizes_of(case: Case, kernel: Kernel) -> dict[Var, int]:
    """The values of the sizes that are still symbolic."""
    named = {v.name: n for v, n in problem(case).sizes.items()}
    return {v: named[v.name] for v in kernel.sizes}


def assert_close(found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> None:
    for f, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(f, e, rtol=4e-6, atol=4e-6)


def emulated(case: Case, name: str, script: str | None = None, **processor: str) -> list[np.ndarray]:
    """What code for a target computes in QEMU, which is to be such a processor."""
    given, target = problem(case), find_target(name)
    kernel, outputs = kernel_of(case, target, script), given.empty()
    code = compile_kernel(kernel, target, alone=True).object_code
    qemu.run(
        code,
        symbol_of(kernel.name),
        given.inputs,
        outputs,
        list(sizes_of(case, kernel).values()),
        **processor,
    )
    return outputs
