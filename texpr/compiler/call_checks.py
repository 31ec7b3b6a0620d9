"""Refusals of calls: sizes that no machine holds, requirements of the operator, values that inputs
exclude.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from texpr.ir.expr import Expr, Mul, Tensor, Var
from texpr.ir.extern import is_extern
from texpr.ir.index.overflow import USUAL_SIZE, check_reach, has_products, programs_of
from texpr.ir.loop import For, Kernel
from texpr.ir.printing.expr import show
from texpr.ir.shapes import evaluate_size
from texpr.ir.tensor import Invoke, Program
from texpr.ir.traverse import statements, variables, walk
from texpr.passes.tensor.inline_calls import inline_calls
from texpr.runtime.call.spec import Check, DistinctCheck, RangeCheck
from texpr.support.errors import CallError, ResourceError


def refuse_huge(name: str, tensors: Sequence[Tensor], sizes: Mapping[Var, int]) -> None:
    """Raise ResourceError for an array whose bytes do not fit the arithmetic of addresses,
    before anything wraps.
    """
    for t in tensors:
        refuse_many(name, t.name, t.dtype.bytes, [evaluate_size(e, sizes) for e in t.shape])


def refuse_many(name: str, array: str, item: int, extents: Sequence[int]) -> None:
    """Raise ResourceError for an array of so many elements of `item` bytes that addresses would
    wrap.
    """
    if prod(extents) * item >= 1 << 62:
        raise ResourceError(
            f"{name}: `{array}` would have {' * '.join(map(str, extents))} elements", code="size"
        )


def refuse_far(program: Program, sizes: Mapping[Var, int]) -> None:
    """Raise ResourceError where index arithmetic would not fit 64 bits at these sizes."""
    if has_products(program) or any(n >= USUAL_SIZE for n in sizes.values()):
        calls = any(isinstance(e, Invoke) for e in program.equations)
        check_reach(
            inline_calls(program) if calls and not any(map(is_extern, programs_of(program))) else program,
            sizes,
        )


def refuse_endless(kernel: Kernel, sizes: Mapping[Var, int]) -> None:
    """Raise ResourceError for a joined loop that counts further than 64 bits do at these sizes."""
    known = {v: n for v in kernel.sizes for size, n in sizes.items() if size.name == v.name}
    for e in (e for loop in statements(kernel) if isinstance(loop, For) for e in walk(loop.extent)):
        if (
            isinstance(e, Mul)
            and variables(e) <= known.keys()
            and (count := evaluate_size(e, known)) >= 1 << 62
        ):
            raise ResourceError(
                f"{kernel.name}: a loop would have {show(e)} = {count} iterations", code="size"
            )


def check_requirements(name: str, requires: tuple[Expr, ...], sizes: Mapping[Var, int]) -> None:
    """Raise CallError for the first requirement that the sizes do not meet."""
    for requirement in requires:
        if not evaluate_size(requirement, sizes):
            used = ", ".join(
                f"{v.name} = {sizes[v]}" for v in sorted(variables(requirement), key=lambda v: v.name)
            )
            raise CallError(f"{name} requires {show(requirement)}, and {used}", code="require")


def input_checks(inputs: tuple[Tensor, ...], sizes: Mapping[Var, int]) -> tuple[Check, ...]:
    """Checks of what inputs declare of their values: ranges first, then that they are distinct."""
    checks: list[Check] = []
    for k, t in enumerate(inputs):
        if t.value_range is not None:
            lo, hi = (evaluate_size(e, sizes) for e in t.value_range)
            checks.append(RangeCheck(k, t.name, lo, hi))
    checks += [
        DistinctCheck(k, t.name, evaluate_size(t.shape[-1], sizes))
        for k, t in enumerate(inputs)
        if t.distinct and t.dims
    ]
    return tuple(checks)
