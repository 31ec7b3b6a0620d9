"""Random schedules: programs to schedule, and steps that may or may not be legal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from hypothesis import note
from hypothesis import strategies as st

from tests.compare import assert_same_bits
from texpr.compiler.op import op
from texpr.ir.dtypes import numpy_dtype
from texpr.ir.expr import Var
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.loop import Kernel
from texpr.ir.printing.loop import show_kernel
from texpr.ir.shapes import evaluate_size, flat_shape
from texpr.ir.tensor import Program
from texpr.ir.verifier.program import verify_kernel
from texpr.passes import lower, specialize
from texpr.schedule.script.script import Step
from texpr.support.errors import ResourceError, ScheduleError
from texpr.tools.fuzz.cases import drawn_steps

TEXTS = {
    "matmul": "op matmul(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }",
    "stencil": "op stencil(X: f32[M, N]) -> Y: f32[M, N] { Y[i, j] = X[i - 1, j | 0] + 2.0 * X[i, j + 1 | "
    "clamp] }",
    "blur": """op blur(X: f32[M, N]) -> Y: f32[M, N] {
        h[i, j] = X[i, j - 1 | clamp] + X[i, j] + X[i, j + 1 | clamp]
        Y[i, j] = h[i - 1, j | clamp] + h[i, j] + h[i + 1, j | clamp] }""",
    "chain": """op chain(X: f32[M, N], w: f32[N]) -> (Y: f32[M, N], z: f32[M]) {
        t[i, j] = X[i, j] * w[j]
        z[i] = max(j: t[i, j])
        Y[i, j] = t[i, j] - z[i] }""",
    "sequence": """op sequence(X: f32[M, N], w: f32[N]) -> Y: f32[M, N] {
        t[i, j] = X[i, j] * w[j]
        Y[i, j] = t[i, j] - t[i, 0] }""",
    "softmax": """op softmax(X: f32[M, N]) -> Y: f32[M, N] {
        m[i] = max(j: X[i, j])
        e[i, j] = exp(X[i, j] - m[i])
        Y[i, j] = e[i, j] / sum(k: e[i, k]) }""",
    "integers": "op integers(X: i32[M, N]) -> (s: i32[M], p: i64) { s[i] = sum(j: X[i, j] * X[i, j])  p = "
    "sum<i64>(i, j: i64(X[i, j])) }",
    "exact": "op exact(A: i32[M, K], B: i32[K, N]) -> C: i32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }",
    "largest": "op largest(X: f32[M, N, K]) -> y: f32[M] { y[i] = max(j, k: X[i, j, k]) }",
    "triangle": "op triangle(X: f32[M, N]) -> Y: f32[M] { Y[i] = sum(j where j <= i: X[i, j]) }",
    "scatter": """op scatter(G: f32[M], idx: i32[M] in 0..N, X: f32[N]) -> Y: f32[N] {
        Y[n] = X[n]
        Y[idx[i]] += G[i] }""",
    "halves": "op halves(X: f32[M, N]) -> Y: f32[M] { Y[i] = 1  Y[(i + j) // 2 | drop] += X[i, j] }",
    "two": """op two(X: i32[M, N]) -> Y: i32[M, N + 1] {
        Y[i, 0] = 7
        Y[i, j + 1] = X[i, j]  for j in 0..N }""",
    "first": "op first(X: f32[M, N]) -> y: i64[M] { y[i] = argmax(j: X[i, j]) }",
    "ragged": "op ragged(X: f32[M, M]) -> Y: f32[M] { Y[i] = sum(j in 0..i + 1: X[i, j]) }",
    "upper": "op upper(X: f32[M, M]) -> Y: f32[M] { Y[i] = sum(j in i..M: X[i, j] * X[j, i]) }",
    "gather": "op gather(E: f32[N, M], idx: i32[K] in 0..N) -> Y: f32[K, M] { Y[k, d] = E[idx[k], d] }",
    "strided": """op strided(X: f32[M], w: f32[K]) -> Y: f32[(M + 1) // 2] {
        Y[y] = sum(k: X[2 * y + k - 1 | 0] * w[k]) }""",
    "padded": """op padded(X: f32[M]) -> Y: f32[M] {
        let t: f32[M + 2]
        t[0] = 0
        t[M + 1] = 5
        t[i + 1] = X[i]  for i in 0..M
        Y[i] = t[i] - t[i + 2] }""",
    "bounce": "op bounce(X: f32[M]) -> Y: f32[M] require M > 1 { Y[i] = X[i - 1 | reflect] * X[i + 1 | wrap] "
    "}",
    "lazy": "op lazy(X: f32[M, N]) -> Y: f32[M, N] { Y[i, j] = if i > 0 and j < N - 1 then X[i - 1, j + 1] "
    "else X[i, j] }",
    "updates": """op updates(X: f32[M], idx: i32[M] in 0..N, b: f32[N]) -> (Y: f32[N], z: i32[N]) {
        Y[n] = b[n]
        Y[idx[i]] max= X[i]
        z[n] = 0
        z[idx[i]] += 1 }""",
    "lag": """op lag(X: f32[M]) -> Y: f32[M] {
        h[i] = X[i] * 2
        Y[i] = h[i] + h[i - 1 | 0] }""",
    "nothing": "op nothing(X: f32[M]) -> (a: bool, b: bool, p: f32) { a = any(i: X[i] > 9)  b = all(i: X[i] "
    "< 9)  p = prod(i: X[i]) }",
    "repeat": "op repeat(a: f32, X: f32[M, N]) -> (y: f32, z: f32[N]) { y = sum(k in 0..M: a)  z[j] = max(l "
    "in 0..M: a) }",
    "wave": "op wave(X: f32[M, N]) -> A: f32[M, N] { A[i, j] = max(A[i - 1, j | 0], A[i, j - 1 | 0]) + X[i, "
    "j] }",
    "diagonal": "op diagonal(X: f32[M, N]) -> A: f32[M, N] { A[i, j] = A[i - 1, j + 1 | 0] * 2 + X[i, j] }",
    "lagging": "op lagging(X: f32[M]) -> Y: f32[M] { h[i] = Y[i - 1 | 0] * 2 for i in 0..M  Y[i] = h[i] + "
    "X[i] }",
    "bordered": """op bordered(X: f32[M, N]) -> Y: f32[M, N] {
        t[i, j] = X[i, j + 1 | 0] + 1 for i in 0..M, j in 0..N
        u[i, j] = t[i, j] * 2
        Y[i, j] = u[i, j] - u[i, N - 1 - j] }""",
    "pair": """op pair(X: f32[M, N]) -> (s: f32[M], p: f32[M]) {
        s[i] = sum(j: X[i, j])
        p[i] = max(j in 0..N + 1: X[i, j | 0]) }""",
    "scalar": "op scalar(a: f32, b: f32) -> c: f32 { c = a * b + 1 }",
}
"""Operators whose sizes are M, N and K."""

PROGRAMS: dict[str, Program] = {name: op(text).program() for name, text in TEXTS.items()}


@st.composite
def programs(draw: st.DrawFn) -> tuple[Program, dict[Var, int]]:
    """An operator of `TEXTS` and small sizes."""
    program = PROGRAMS[draw(st.sampled_from(sorted(PROGRAMS)))]
    return program, {v: draw(st.integers(2, 7)) for v in program.sizes}


def random_arrays(program: Program, sizes: Mapping[Var, int], seed: int = 0) -> list[np.ndarray]:
    """Inputs whose float sums depend on their order."""
    generator = np.random.default_rng(seed)
    arrays = []
    for t in program.inputs:
        shape, dtype = flat_shape(t, sizes), numpy_dtype(t.dtype)
        if t.value_range is not None:
            arrays.append(generator.integers(0, evaluate_size(t.value_range[1], sizes), shape).astype(dtype))
        elif t.dtype.is_float:
            arrays.append(
                (generator.standard_normal(shape) * 10.0 ** generator.integers(-3, 4, shape)).astype(dtype)
            )
        else:
            arrays.append(generator.integers(-100, 100, shape).astype(dtype))
    return arrays


ROUNDING = ("tf32", "reciprocal", "tanh_to_sigmoid", "exp_to_exp2")
"""Steps that change roundings by what they are."""


@st.composite
def scheduled(draw: st.DrawFn, naive: Kernel, most: int = 6) -> tuple[Kernel, list[Step]]:
    """A kernel after random legal steps that keep every bit, and the steps; illegal ones are
    refused and left out.
    """
    kernel, steps = naive, []
    choose = drawn_steps(draw(st.randoms(use_true_random=False)), most)
    while (step := choose(kernel)) is not None:
        try:
            if dict(step.options).get("reassoc") or step.name in ROUNDING:
                continue
            kernel = step.apply(kernel)
        except (ScheduleError, ResourceError):
            continue
        steps.append(step)
        note(f"{step}\n{show_kernel(kernel)}")
        verify_kernel(kernel)
    return kernel, steps


@dataclass(frozen=True, repr=False)
class Scheduled:
    """A scheduled kernel of a program, and sizes to run it with."""

    program: Program
    sizes: Mapping[Var, int]
    kernel: Kernel
    steps: list[Step]

    def _repr_pretty_(self, printer, cycle: bool) -> None:
        printer.text(repr(self))

    def __repr__(self) -> str:
        sizes = {v.name: n for v, n in self.sizes.items()}
        return "\n".join([f"{self.program.name} {sizes}", *map(str, self.steps), show_kernel(self.kernel)])


@st.composite
def kernels(draw: st.DrawFn) -> Scheduled:
    """A program, sizes, and a scheduled kernel of it, some sizes symbolic."""
    program, sizes = draw(programs())
    constant = {v: n for v, n in sizes.items() if draw(st.booleans())}
    kernel, steps = draw(scheduled(lower(specialize(program, constant))))
    return Scheduled(program, sizes, kernel, steps)


def check(case: Scheduled, kernel: Kernel, arrays: list[np.ndarray], order: str = "serial") -> None:
    """The kernel computes what the program means, bit for bit."""
    expected = interpret(case.program, arrays)
    left = {v.name: n for v, n in case.sizes.items() if v in kernel.sizes}
    found = interpret_kernel(kernel, arrays, left, order)
    for a, b in zip(found, expected, strict=True):
        assert_same_bits(a, b.reshape(a.shape))
