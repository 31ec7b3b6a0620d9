"""Gradients written by hand, by the name of the operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from texpr.autodiff.core.mapped_gradient import mapped_gradient
from texpr.autodiff.core.names import Names
from texpr.ir.affine import linear
from texpr.ir.expr import Compare, Expr, Sub, Tensor, Var
from texpr.ir.printing.expr import show
from texpr.ir.tensor import Invoke, Program
from texpr.ir.traverse import substitute, walk
from texpr.support.errors import CheckError
from texpr.support.frozen_dataclass import replace

CustomGradient = Callable[[Program, Sequence[str], Sequence[str]], Program | None]
_GRADIENTS: dict[str, CustomGradient] = {}
_REMEMBERED: list[Callable[[], None]] = []


def register_vjp(name: str, function: CustomGradient) -> None:
    """The gradient of every program called `name` is `function(program, wrt, outputs)`; None means
    "differentiate as usual".

    Its inputs are named after inputs and outputs of the primal and `d{output}` for the cotangents
    of `outputs`, any of them, in any order; its outputs are the cotangents of `wrt`, in that order.
    A later registration replaces an earlier one.
    """
    _GRADIENTS[name] = function
    for forget in _REMEMBERED:
        forget()


def remembers_gradients(forget: Callable[[], None]) -> None:
    """Have `forget` called when a gradient is registered."""
    _REMEMBERED.append(forget)


def custom_gradient(program: Program, wrt: Sequence[str], outputs: Sequence[str]) -> Program | None:
    """The gradient registered for this program, if there is one and it applies.

    Raises:
        CheckError: its inputs and outputs are not those of a gradient of the program.
    """
    function = _GRADIENTS.get(program.name)
    found = None if function is None else function(program, wrt, outputs)
    if found is None:
        return mapped_gradient(program, wrt, outputs, _from_all)
    known = {t.name for t in (*program.inputs, *program.outputs)} | {f"d{name}" for name in outputs}
    for tensor in found.inputs:
        if tensor.name not in known:
            raise CheckError(
                f"the gradient of `{program.name}` has an unknown input `{tensor.name}`",
                tensor.span or found.span,
                code="gradient",
                help=f"it may take {', '.join(sorted(known))}",
            )
    if len(found.outputs) != len(wrt):
        raise CheckError(
            f"the gradient of `{program.name}` has {len(found.outputs)} outputs for {len(wrt)} inputs",
            found.span,
            code="gradient",
            help=f"one per input in {', '.join(wrt)}",
        )
    _check_shapes(program, found, wrt)
    return found


def _from_all(program: Program, wrt: Sequence[str], outputs: Sequence[str]) -> Program | None:
    """The gradient of a program, from all its inputs and cotangents."""
    found = custom_gradient(program, wrt, outputs)
    return None if found is None else with_primal(program, found, wrt, outputs)


def _check_shapes(program: Program, gradient: Program, wrt: Sequence[str]) -> None:
    """Check that the gradient's inputs and outputs have the types and shapes of the tensors they
    are named after.
    """
    primal = {t.name: t for t in (*program.inputs, *program.outputs)}
    primal = {f"d{t.name}": t for t in program.outputs} | primal
    pairs = [(t, primal[t.name]) for t in gradient.inputs] + [
        (t, primal[name]) for t, name in zip(gradient.outputs, wrt)
    ]
    known: dict[Var, Expr] = {}
    for mine, like in pairs:
        for size, other in zip(mine.shape, like.shape):
            if isinstance(size, Var) and not _packed(mine):
                known.setdefault(size, other)
    related = any(isinstance(n, Compare) and n.op == "==" for r in program.requires for n in walk(r))
    for mine, like in pairs:
        if mine.dtype != like.dtype:
            raise _unlike(program, mine, like, f"{mine.dtype}, expected {like.dtype}")
        if _packed(mine) or _packed(like):
            continue
        if mine.rank != like.rank:
            raise _unlike(program, mine, like, f"of {mine.rank} dimensions, expected {like.rank}")
        shape = tuple(substitute(size, known) for size in mine.shape)
        gaps = [linear(Sub(size, other)) for size, other in zip(shape, like.shape)]
        if any(gap.is_affine and (gap.constant or gap.terms) for gap in gaps) and not related:
            raise _unlike(program, mine, like, f"{_listed(shape)}, expected {_listed(like.shape)}")


def _listed(shape: Sequence[Expr]) -> str:
    return f"[{', '.join(map(show, shape))}]"


def _packed(tensor: Tensor) -> bool:
    return any(dim.pack for dim in tensor.dims)


def _unlike(program: Program, mine: Tensor, like: Tensor, what: str) -> CheckError:
    return CheckError(
        f"the gradient of `{program.name}` has `{mine.name}` {what}",
        mine.span,
        code="gradient",
        help=f"`{mine.name}` stands for `{like.name}` of `{program.name}`, or for how results change with it",
    )


def with_primal(program: Program, gradient: Program, wrt: Sequence[str], outputs: Sequence[str]) -> Program:
    """A gradient of any signature as one of all primal inputs and cotangents, which computes the
    primal outputs that it needs.
    """
    if [t.name for t in gradient.inputs] == [
        *(t.name for t in program.inputs),
        *(f"d{name}" for name in outputs),
    ]:
        return gradient
    names = Names(program)
    by_name = {t.name: t for t in program.outputs}
    seeds = {f"d{name}": replace(by_name[name], name=names.fresh(f"d{name}")) for name in outputs}
    results = tuple(
        Tensor(names.fresh(f"d{t.name}"), t.dtype, t.dims) for n in wrt for t in program.inputs if t.name == n
    )
    known = {t.name: t for t in program.inputs} | by_name | seeds
    calls = [Invoke(results, gradient, tuple(known[t.name] for t in gradient.inputs))]
    if any(t.name in by_name for t in gradient.inputs):
        calls.insert(0, Invoke(program.outputs, program, program.inputs))
    return replace(
        program,
        name=f"{program.name}_grad",
        inputs=(*program.inputs, *seeds.values()),
        outputs=results,
        equations=tuple(calls),
        doc="",
    )
