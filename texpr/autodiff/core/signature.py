"""Inputs and outputs of a derivative: the tensors asked for, and the sizes that inputs tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from texpr.autodiff.core.activity import reachable, smooth_sources
from texpr.ir import build
from texpr.ir.expr import Expr, Reduce, Tensor, Var, index
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import variables
from texpr.poly.constraints.conditions import always
from texpr.support.errors import CheckError
from texpr.support.frozen_dataclass import replace


def selected(
    program: Program, wrt: Sequence[str] | None, outputs: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names asked for, by default all that are floats."""
    if wrt is None:
        wrt = [t.name for t in program.inputs if t.dtype.is_float]
    if outputs is None:
        outputs = [t.name for t in program.outputs if t.dtype.is_float]
    return tuple(wrt), tuple(outputs)


def floats(program: Program, tensors: Sequence[Tensor], names: tuple[str, ...], what: str) -> list[Tensor]:
    """The tensors of these names, which are floats."""
    by_name = {t.name: t for t in tensors}
    found = []
    for name in names:
        tensor = by_name.get(name)
        if tensor is None:
            raise CheckError(
                f"`{program.name}` has no {what} `{name}`",
                program.span,
                code="gradient",
                help=f"its {what}s are {', '.join(by_name)}",
            )
        if not tensor.dtype.is_float:
            raise CheckError(
                f"{what} `{name}` of `{program.name}` is {tensor.dtype}: only floats have gradients",
                tensor.span or program.span,
                code="gradient",
            )
        found.append(tensor)
    return found


def varying(equations: Iterable[Equation | Invoke], sources: list[Tensor]) -> set[Tensor]:
    """The float tensors that depend on the sources, and these."""
    users: dict[Tensor, list[Tensor]] = {}
    for equation in equations:
        for source in smooth_sources(equation):
            users.setdefault(source, []).extend(t for t in equation.targets if t.dtype.is_float)
    return reachable(sources, users)


def check_defined(program: Program, active: set[Tensor], equations: Iterable[Equation | Invoke]) -> None:
    """An output of a program without equations is that of an extern operator."""
    defined = {t for e in equations for t in e.targets}
    for tensor in program.outputs:
        if tensor not in defined and (not program.equations or tensor in active):
            raise CheckError(
                f"`{program.name}` is extern: its gradient has to be given",
                program.span,
                code="gradient",
                help="register it with texpr.autodiff.register_vjp",
            )


def with_pack_lengths(tensor: Tensor, program: Program) -> Tensor:
    """The tensor, its packs as long as the program's inputs say: it is going to be an input
    without those beside it.
    """
    known = {
        dim.sizes[0]: dim.length
        for t in program.inputs
        for dim in t.dims
        if dim.pack and dim.length is not None
    }
    return replace(
        tensor, dims=tuple(replace(d, length=known.get(d.sizes[0])) if d.pack else d for d in tensor.dims)
    )


def with_range(tensor: Tensor, equations: Iterable[Equation | Invoke], requires: Sequence[Expr]) -> Tensor:
    """The tensor with the range its definition gives it: a place found by argmax lies in the range
    of its binder, or is 0 where that is empty."""
    for equation in equations:
        match equation:
            case Equation(value=Reduce(op="argmax" | "argmin", axes=axes, which=which), target=target) if (
                target is tensor
            ):
                lo, hi = axes[which].lo, axes[which].hi
                bound = {axis.var for axis in (*equation.axes, *axes)}
                if bound & variables(lo, hi):
                    return tensor
                if all(always(build.compare("<", a.lo, a.hi), equation.axes, requires) for a in axes):
                    return replace(tensor, value_range=(lo, hi))
                return replace(tensor, value_range=(build.minimum(lo, index(0)), build.maximum(hi, index(1))))
    return tensor


def telling_sizes(
    residuals: list[Tensor], seeds: tuple[Tensor, ...], needed: set[Var], program: Program
) -> tuple[Tensor, ...]:
    """The residuals, with further inputs as long as a needed size is not told by any: the inputs
    of a program that uses them.
    """
    chosen = list(residuals)
    for size in program.sizes:
        if size in needed and size not in told_sizes((*chosen, *seeds)):
            telling = [t for t in program.inputs if size in told_sizes((t, *chosen, *seeds))]
            chosen += telling[:1]
    order = {t: n for n, t in enumerate(program.inputs)}
    return tuple(sorted(chosen, key=lambda t: order.get(t, len(order))))


def told_sizes(tensors: Sequence[Tensor]) -> set[Var]:
    """The sizes that the shapes of these inputs tell: alone in a dimension, or the one unknown
    factor of a group.
    """
    told: set[Var] = set()
    while True:
        new = {
            s
            for t in tensors
            for dim in t.dims
            if len(unknown := [s for s in dim.sizes if s not in told]) == 1
            for s in unknown
            if isinstance(s, Var)
        }
        if not new:
            return told
        told |= new


def used_sizes(tensors: Iterable[Tensor], equations: Iterable[Equation | Invoke]) -> set[Var]:
    """The variables in shapes and equations."""
    shapes = [size for t in tensors for size in (*t.shape, *(t.value_range or ()))]
    return variables(*shapes, *(e for e in equations if isinstance(e, Equation)))
