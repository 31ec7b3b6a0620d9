"""Operators at small awkward sizes, for whatever runs foreign code: inputs and what the interpreter says of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from tests import programs
from texpr.ir.dtypes import numpy_dtype
from texpr.ir.expr import Tensor, Var
from texpr.ir.interpret import interpret
from texpr.ir.loop import Kernel
from texpr.ir.shapes import flat_shape
from texpr.ir.tensor import Program
from texpr.passes import lower, specialize
from texpr.passes.chunk import chunk_vectors
from texpr.passes.place import place
from texpr.passes.unroll import expand_unrolled
from texpr.schedule.auto import auto
from texpr.schedule.script import parse_script
from texpr.targets import Target


@dataclass(frozen=True, eq=False)
class Case:
    """One operator at one choice of sizes; `fixed` sizes are constants of the kernel, the others stay symbolic."""

    name: str
    make: Callable[[], Program]
    sizes: dict[str, int]
    fixed: bool = True

    def __str__(self) -> str:
        return f"{self.name}{'' if self.fixed else '-symbolic'}-{'x'.join(map(str, self.sizes.values()))}"


def matmul(m: int, k: int, n: int, fixed: bool = True) -> Case:
    return Case("matmul", programs.matmul, {"M": m, "K": k, "N": n}, fixed)


def conv2d(stride: int, pad: int, fixed: bool = True) -> Case:
    return Case(f"conv2d-{stride}-{pad}", lambda: programs.conv2d(stride, pad),
                {"N": 2, "C": 3, "H": 7, "W": 9, "K": 5, "R": 3, "Q": 2}, fixed)


def softmax(a: int, d: int, b: int) -> Case:
    return Case("softmax", programs.softmax, {"A": a, "D": d, "B": b})


CASES = (matmul(5, 7, 3), matmul(1, 1, 1), matmul(33, 17, 65), conv2d(1, 0), conv2d(2, 1), conv2d(3, 2))


@dataclass(frozen=True)
class Problem:
    """A program, its sizes, inputs, and what the interpreter makes of them."""

    program: Program
    values: dict[Var, int]
    inputs: tuple[np.ndarray, ...]
    expected: tuple[np.ndarray, ...]

    def empty(self) -> list[np.ndarray]:
        """Outputs that nobody has written."""
        return [np.full(a.shape, np.nan if a.dtype.kind == "f" else -7, a.dtype) for a in self.expected]


@cache
def problem(case: Case) -> Problem:
    program = case.make()
    values = {v: case.sizes[v.name] for v in program.sizes}
    generator = np.random.default_rng(0)
    inputs = tuple(_random(generator, t, values) for t in program.inputs)
    # Sizes become numbers first: the interpreter takes the same program as the kernel.
    return Problem(program, values, inputs, interpret(program, inputs, case.sizes))


def _random(generator: np.random.Generator, t: Tensor, values: dict[Var, int]) -> np.ndarray:
    shape = flat_shape(t, values)
    if t.value_range is not None:
        return generator.integers(0, t.value_range[1].value, shape).astype(numpy_dtype(t.dtype))  # type: ignore[attr-defined]
    return generator.standard_normal(shape).astype(numpy_dtype(t.dtype))


def kernel_of(case: Case, target: Target, script: str | None = None) -> Kernel:
    """The kernel of a case after the schedule, by default the automatic one, and the loop passes."""
    kernel, steps = naive(case), None
    steps = auto(kernel, target.machine) if script is None else parse_script(script)
    for step in steps:
        kernel = step.apply(kernel)
    return passes(kernel, target)


def naive(case: Case) -> Kernel:
    given = problem(case)
    return lower(specialize(given.program, given.values if case.fixed else {}))


def passes(kernel: Kernel, target: Target) -> Kernel:
    """What stands between a scheduled kernel and its code."""
    return chunk_vectors(expand_unrolled(place(kernel)), target.machine.vector_bytes or 16)


def assert_close(found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> None:
    for f, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(f, e, rtol=2e-6, atol=2e-6)
