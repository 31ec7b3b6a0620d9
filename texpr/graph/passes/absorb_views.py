"""Tensors that only say where others are read go away: transposes, slices and broadcasts become
indices of their readers.
"""

from __future__ import annotations

from collections.abc import Mapping

from texpr.autodiff.cleanup.simplify import definitions, in_order, reads
from texpr.graph.passes.flatten_calls import viewed
from texpr.ir.affine import linear
from texpr.ir.expr import Add, Compare, Const, Expr, Max, Node, Read, Tensor, Var
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import equal, rewrite, substitute, tensors
from texpr.passes.analysis.substitution import with_fresh_variables
from texpr.support.frozen_dataclass import replace


def element_value(equation: Equation, indices: tuple[Expr, ...]) -> Expr:
    """The value of an element of what a definition defines, with binders of its own."""
    values: dict[Var, Expr] = {axis.var: i for axis, i in zip(equation.axes, indices)}
    return substitute(with_fresh_variables(equation.value), values)


def inline_values(equation: Equation, known: Mapping[Tensor, Equation]) -> Equation:
    """`equation` with the values of tensors in the place of reads of them."""

    def rule(node: Node) -> Node | None:
        if isinstance(node, Read) and node.tensor in known:
            return element_value(known[node.tensor], node.indices)
        return None

    return rewrite(equation, rule)  # type: ignore[return-value]


def reads_with_guard(equation: Equation, tensor: Tensor) -> bool:
    """True if the equation reads the tensor with a guard: outside, it has no value that could be
    written there.
    """
    found = False

    def look(node: Node) -> None:
        nonlocal found
        found |= isinstance(node, Read) and node.tensor is tensor and node.guard is not None

    rewrite(equation, look)  # type: ignore[arg-type]
    return found


def absorb_views(program: Program) -> Program:
    """`T[i, j] = S[j, i]`: who reads T reads S. Views stay: they are the same memory. So does what
    a view joins dimensions of: read through the view, its places would be quotients and remainders.
    """
    whole = definitions(program.equations)
    absorbed: dict[Tensor, Equation] = {}
    equations: list[Equation | Invoke] = []
    retained = {t for e in program.equations if isinstance(e, Invoke) for t in e.args} | set(program.outputs)
    retained |= {s for e in program.equations if (s := _joined(e)) is not None}
    retained |= {
        t for e in program.equations if isinstance(e, Equation) for t in tensors(e) if reads_with_guard(e, t)
    }
    for e in program.equations:
        if isinstance(e, Equation):
            e = inline_values(e, absorbed) if any(t in absorbed for t in reads(e)) else e
            if e.target not in retained and e.target in whole and _is_place(e):
                absorbed[e.target] = e
        equations.append(e)
    if not absorbed:
        return program
    return replace(
        program,
        equations=tuple(e for e in equations if not (isinstance(e, Equation) and e.target in absorbed)),
    )


def _joined(equation: Equation | Invoke) -> Tensor | None:
    """The tensor of which an equation is a view at places that are not affine."""
    source = viewed(equation)
    if source is None or not isinstance(equation, Equation) or not isinstance(equation.value, Read):
        return None
    return None if all(linear(i).is_affine for i in equation.value.indices) else source


def _is_place(equation: Equation) -> bool:
    """True if every element is one of another tensor, at a place that is affine in its own."""
    match equation.value:
        case Read(tensor=source, indices=indices, guard=None):
            same = source is not equation.target and source.dtype == equation.target.dtype
            return same and viewed(equation) is None and all(linear(i).is_affine for i in indices)
    return False


def join_sums(program: Program) -> Program:
    """`T[i] = a; T[i] += b`  ->  `T[i] = a + b`, the same additions in the same order."""
    equations: list[Equation | Invoke] = []
    place: dict[Tensor, int] = {}
    for e in program.equations:
        last = place.get(e.target) if isinstance(e, Equation) else None
        if isinstance(e, Equation) and last is not None and e.update == "add":
            first = equations[last]
            assert isinstance(first, Equation)
            read_between = any(e.target in reads(other) for other in equations[last:])
            if (
                not read_between
                and e.target not in tensors(e.value)
                and _covers_all(e)
                and first.update is None
                and _covers_all(first)
            ):
                own = replace(e, update=None)
                value = element_value(own, tuple(a.var for a in first.axes))
                del equations[last]
                equations.append(replace(first, value=Add(first.value, value, dtype=first.value.dtype)))
                place = {x.target: k for k, x in enumerate(equations) if isinstance(x, Equation)}
                continue
        equations.append(e)
        if isinstance(e, Equation):
            place[e.target] = len(equations) - 1
    return (
        program if len(equations) == len(program.equations) else replace(program, equations=tuple(equations))
    )


def _covers_all(equation: Equation) -> bool:
    return equation.target in definitions([replace(equation, update=None)])


def reuse(program: Program) -> Program:
    """`T[i] > 0` is asked of `Y[i] = max(T[i], 0)`, which is stored anyway: then T need not be."""
    rectified: dict[Tensor, Equation] = {}
    for e in definitions(program.equations).values():
        match e.value:
            case Max(Read(tensor=t, guard=None) as read, Const(value=0.0)) if all(
                i is a.var for i, a in zip(read.indices, e.axes)
            ):
                if equal(t.shape, e.target.shape):
                    rectified.setdefault(t, e)

    def rule(node: Node) -> Node | None:
        match node:
            case Compare(">", Read(tensor=t, guard=None) as read, Const(value=0.0)) if t in rectified:
                return replace(node, lhs=replace(read, tensor=rectified[t].target))
        return None

    if not rectified:
        return program
    equations = tuple(
        e if isinstance(e, Invoke) or e in rectified.values() else rewrite(e, rule) for e in program.equations
    )
    return replace(program, equations=tuple(in_order(equations)))  # type: ignore[arg-type]
