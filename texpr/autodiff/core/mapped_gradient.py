"""Gradients written by hand, of programs that `vmap` made from theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from texpr.ir.dtypes import accumulator
from texpr.ir.expr import Axis, Cast, Expr, Read, Reduce, Tensor, Var, index
from texpr.ir.printing.types import claimed
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.passes.tensor.batch_axis import origin_of, vmap
from texpr.support.frozen_dataclass import replace

Gradient = Callable[[Program, Sequence[str], Sequence[str]], Program | None]


def mapped_gradient(
    program: Program, wrt: Sequence[str], outputs: Sequence[str], gradient_of: Gradient
) -> Program | None:
    """The gradient of a mapped program: that of the original for each example, summed over them for
    inputs that all share. None where there is none by hand.

    Args:
        gradient_of: the gradient by hand of a program, from all its inputs and the cotangents of
            `outputs`.
    """
    origin = origin_of(program)
    if origin is None:
        return None
    original = origin.program
    in_axes = {t.name: place for t, place in zip(original.inputs, origin.in_axes)}
    out_axes = {t.name: place for t, place in zip(original.outputs, origin.out_axes)}
    if any(out_axes[name] is None for name in outputs):
        return None
    gradient = gradient_of(original, wrt, outputs)
    if gradient is None:
        return None
    given = [*origin.in_axes, *(out_axes[name] for name in outputs)]
    shared = [in_axes[name] is None for name in wrt]
    mapped = vmap(gradient, given, [in_axes[name] or 0 for name in wrt])
    return _summed(mapped, shared) if any(shared) else mapped


def _summed(mapped: Program, shared: Sequence[bool]) -> Program:
    """The program whose outputs are sums over the examples where these share an input."""
    taken = {t.name for t in (*mapped.inputs, *mapped.outputs, *mapped.sizes)}
    taken |= {name for name, _ in mapped.constants}
    each = [
        replace(t, name=claimed(f"{t.name}_each", taken)) if s else t for t, s in zip(mapped.outputs, shared)
    ]
    sums = [_sum(e, t, taken) for e, t, s in zip(each, mapped.outputs, shared) if s]
    targets = iter(sums)
    results = tuple(next(targets).target if s else t for t, s in zip(mapped.outputs, shared))
    call = Invoke(tuple(each), mapped, mapped.inputs)
    name = f"{mapped.name}_summed"
    return replace(mapped, name=name, outputs=results, equations=(call, *sums), doc="")


def _sum(each: Tensor, output: Tensor, taken: set[str]) -> Equation:
    """`output[...] = sum(b: each[b, ...])`."""
    first, *dims = each.dims
    own = set(taken)
    b = Var(claimed("b", own))
    flat = [(size, d.pack) for d in dims for size in d.sizes]
    axes = tuple(
        Axis(Var(claimed(f"i{k}", own), pack), index(0), size) for k, (size, pack) in enumerate(flat)
    )
    indices = tuple(a.var for a in axes)
    over = (Axis(b, index(0), first.sizes[0]),)
    wide = accumulator(each.dtype)
    body: Expr = Read(each, (b, *indices))
    body = body if wide == each.dtype else Cast(body, dtype=wide)
    value: Expr = Reduce("sum", over, body, dtype=wide)
    value = value if wide == each.dtype else Cast(value, dtype=each.dtype)
    return Equation(replace(output, dims=tuple(dims)), indices, axes, value)
