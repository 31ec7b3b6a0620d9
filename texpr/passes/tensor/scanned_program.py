"""A program repeated: a recurrence over one more index.

Each tensor that changes from step to step gets a dimension for the steps, as `vmap` gives one for
examples, and what a step hands to the next one becomes a tensor of one row more: its first row is
given, and step t reads row t and writes row t + 1. So a loop is equations like any others: their
order is proven, they are scheduled and differentiated, and nothing is written once for each step.
"""

from __future__ import annotations

from collections.abc import Callable

from texpr.ir.build import add, sub
from texpr.ir.expr import Axis, Dim, Expr, Node, Read, Tensor, Var, index
from texpr.ir.printing.types import claimed
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import rewrite
from texpr.passes.tensor.batch_axis import vmap
from texpr.passes.tensor.fix_sizes import specialize
from texpr.support.errors import CheckError
from texpr.support.frozen_dataclass import replace

Row = Callable[[Expr], Expr]


def scanned(body: Program, carries: int, xs: int, length: int, reverse: bool) -> Program:
    """The program that runs a body once for each step.

    Args:
        body: equations alone; its inputs are the carried values, an element of each of `xs`, and
            what all steps share. Its outputs are the carried values of the next step and a row of
            each result.
        length: the number of steps, at least 1.
        reverse: steps take the rows of `xs` from the last to the first, and results lie there.
    Raises:
        CheckError: an operator of the runtime stands in the body; a carried value must lie in a
            range.
    """
    _check(body, carries)
    shared = len(body.inputs) - carries - xs
    mapped = vmap(body, [0] * (carries + xs) + [None] * shared, [0] * len(body.outputs))
    mapped = specialize(mapped, {mapped.sizes[0]: length})
    names = {t.name for t in (*mapped.inputs, *mapped.outputs, *mapped.temporaries)}
    rows: dict[Tensor, tuple[Tensor, Row]] = {}
    before: list[Equation] = []
    after: list[Equation] = []
    inputs: list[Tensor] = []
    outputs: list[Tensor] = []
    for k in range(carries):
        given, made = mapped.inputs[k], mapped.outputs[k]
        first, last = (_row(given, claimed(w, names)) for w in ("init", "final"))
        steps = replace(
            given, name=claimed("carry", names), dims=(Dim((index(length + 1),)), *given.dims[1:])
        )
        rows[given], rows[made] = (steps, _same), (steps, lambda e: add(e, index(1)))
        before.append(_copy(steps, index(0), first, None))
        after.append(_copy(last, None, steps, index(length)))
        inputs.append(first)
        outputs.append(last)
    if reverse:
        turned = (*mapped.inputs[carries : carries + xs], *mapped.outputs[carries:])
        rows |= {t: (t, lambda e: sub(index(length - 1), e)) for t in turned}
    equations = tuple(_moved(e, rows) for e in mapped.equations)
    return replace(
        mapped,
        name=f"{body.name}_scan",
        inputs=(*inputs, *mapped.inputs[carries:]),
        outputs=(*outputs, *mapped.outputs[carries:]),
        equations=(*before, *equations, *after),
    )


def _check(body: Program, carries: int) -> None:
    for equation in body.equations:
        if isinstance(equation, Invoke):
            raise CheckError(
                f"scan: `{equation.program.name}` is an operator of the runtime, and no part of a recurrence",
                code="scan",
                help="take what it computes out of the body: before the loop, for all steps at once",
            )
    for tensor in body.inputs[:carries]:
        if tensor.value_range is not None:
            raise CheckError(
                "scan: a carried value is used as an index, and nothing is known of its range",
                code="scan",
                help="compare it with the places instead: (tx.arange(n) == i), and sum",
            )


def _same(e: Expr) -> Expr:
    return e


def _row(tensor: Tensor, name: str) -> Tensor:
    """One step of a tensor."""
    return replace(tensor, name=name, dims=tensor.dims[1:])


def _copy(target: Tensor, at: Expr | None, source: Tensor, there: Expr | None) -> Equation:
    """`target[at, ...] = source[there, ...]`, where one of them is a single step."""
    shape = target.shape if at is None else target.shape[1:]
    axes = tuple(Axis(Var(f"i{k}"), index(0), size) for k, size in enumerate(shape))
    own = tuple(a.var for a in axes)
    left = own if at is None else (at, *own)
    right = own if there is None else (there, *own)
    return Equation(target, left, axes, Read(source, right))


def _moved(equation: Equation | Invoke, rows: dict[Tensor, tuple[Tensor, Row]]) -> Equation | Invoke:
    """An equation over tensors whose first index is another one."""

    def rule(node: Node) -> Node | None:
        if not isinstance(node, Read) or node.tensor not in rows:
            return None
        tensor, row = rows[node.tensor]
        return replace(node, tensor=tensor, indices=(row(node.indices[0]), *node.indices[1:]))

    made = rewrite(equation, rule, kinds=frozenset({Read}))
    if isinstance(made, Equation) and made.target in rows:
        target, row = rows[made.target]
        return replace(made, target=target, indices=(row(made.indices[0]), *made.indices[1:]))
    return made
