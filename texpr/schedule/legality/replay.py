"""Both results of a refused step, run in the interpreter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np

from texpr.ir.dtypes import numpy_dtype
from texpr.ir.expr import Expr, Tensor, Var
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.loop import For, If, Kernel, Stmt, Store
from texpr.ir.shapes import evaluate_size, flat_shape
from texpr.ir.tensor import Program
from texpr.ir.traverse import variables
from texpr.support.frozen_dataclass import frozen

_SEEDS = 8
MOST_INSTANCES = 200_000
"""More statements than this are not interpreted."""


@frozen
class Replay:
    """The first element that a refused step would have changed; printed, it says so.

    Attributes:
        sizes: what was run.
        tensor: the output that differs, "" if no run showed a difference.
        element: its place.
        expected: its value in the order as it is.
        found: its value in the order of the step.
        runs: how many were made.
        smaller: smaller sizes were looked for too.
    """

    sizes: dict[str, int]
    tensor: str = ""
    element: tuple[int, ...] = ()
    expected: object = None
    found: object = None
    runs: int = 0
    smaller: bool = False

    def __str__(self) -> str:
        at = f"at {', '.join(f'{k}={v}' for k, v in self.sizes.items())}: " if self.sizes else ""
        if not self.tensor and not self.runs:
            return (
                f"{at}nothing was run: there are more than {MOST_INSTANCES:,} statements, and no smaller "
                f"sizes are refused"
            )
        if not self.tensor:
            smaller = ", some at smaller sizes," if self.smaller else ""
            return f"{at}none of {self.runs} runs on random data{smaller} shows a difference; other data may"
        place = f"{self.tensor}[{', '.join(map(str, self.element))}]" if self.element else self.tensor
        return f"{at}{place} is {self.expected} in the order as it is, {self.found} in the new order"


def rerun(before: Kernel, after: Kernel, sizes: Mapping[str, int], *, at_once: bool = False) -> Replay:
    """Run two kernels on random inputs, at the given sizes and slightly larger ones, until an
    output differs.
    """
    orders = ("reversed", "shuffled", "apart") if at_once else ("serial",)
    last, runs = dict(sizes), 0
    for more, seed in product(range(4), range(_SEEDS)):
        tried = {v: sizes.get(v.name, 1) + more for v in before.sizes}
        if (
            not all(evaluate_size(c, tried) for c in before.requires)
            or _instances(before, tried) > MOST_INSTANCES
        ):
            continue
        last = {v.name: n for v, n in tried.items()}
        arrays = list(random_inputs(before, tried, seed))
        runs += 1
        expected = interpret_kernel(before, arrays, tried)
        for order in orders:
            found = interpret_kernel(after, arrays, tried, order)
            for tensor, a, b in zip(before.outputs, expected, found):
                different = np.argwhere(_bits(a) != _bits(b))
                if len(different):
                    at = tuple(int(k) for k in different[0])
                    return Replay(last, tensor.name, at, a[at].item(), b[at].item(), runs)
        if not before.sizes and seed == _SEEDS - 1:
            break
    return Replay(last, runs=runs)


def _bits(a: np.ndarray) -> np.ndarray:
    return a.view(f"u{a.dtype.itemsize}")


def _instances(kernel: Kernel, sizes: Mapping[Var, int]) -> int:
    """Statements that run, as far as extents are known."""
    total = 0
    stack: list[tuple[Stmt, int]] = [(s, 1) for s in kernel.body]
    while stack:
        node, times = stack.pop()
        if isinstance(node, For):
            stack += [(s, times * max(1, _extent(node.extent, sizes))) for s in node.body]
        elif isinstance(node, If):
            stack += [(s, times) for s in node.body]
        elif isinstance(node, Store):
            total += times
    return total


def _extent(e: Expr, sizes: Mapping[Var, int]) -> int:
    if variables(e) <= set(sizes):
        return evaluate_size(e, sizes)
    return max([1, *sizes.values()])  # it depends on other loops


def random_inputs(of: Kernel | Program, sizes: Mapping[Var, int], seed: int) -> Iterator[np.ndarray]:
    """Random arguments whose float sums depend on their order."""
    generator = np.random.default_rng(seed)
    for t in of.inputs:
        shape, dtype = flat_shape(t, sizes), numpy_dtype(t.dtype)
        if t.value_range is not None:
            lo, hi = (evaluate_size(e, sizes) for e in t.value_range)
            yield _indices(generator, t, shape, lo, max(lo + 1, hi)).astype(dtype)
        elif t.dtype.is_float:
            values = generator.standard_normal(shape) * 10.0 ** generator.integers(-3, 4, shape)
            bits = (
                generator.integers(1, 1 << t.dtype.bits - 2, shape) if t.dtype.as_bits else None
            )  # of positive numbers up to 2
            yield np.asarray(values if bits is None else bits).astype(dtype)
        else:
            yield np.asarray(generator.integers(0, 2 if t.dtype.kind == "bool" else 100, shape)).astype(dtype)


def _indices(
    generator: np.random.Generator, tensor: Tensor, shape: tuple[int, ...], lo: int, hi: int
) -> np.ndarray:
    if not tensor.distinct or not shape or shape[-1] > hi - lo:
        return np.asarray(generator.integers(lo, hi, shape))
    rows = [generator.permutation(np.arange(lo, hi))[: shape[-1]] for _ in range(int(np.prod(shape[:-1])))]
    return np.array(rows, np.int64).reshape(shape)
