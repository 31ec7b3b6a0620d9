"""The equation's instance for each instance of a nest made for it: a proof that nothing was lost
needs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from texpr.ir.affine import linear
from texpr.ir.build import sub
from texpr.ir.expr import Expr, Var
from texpr.ir.loop import For, If, Stmt, Store
from texpr.ir.tensor import Equation
from texpr.passes.analysis.iteration_ranges import nested
from texpr.passes.analysis.substitution import folded

Instances = dict[Store, dict[Var, Expr]]


def origins(
    reference: Sequence[Stmt], body: Sequence[Stmt], equations: Mapping[int, Equation]
) -> tuple[dict[Store, Store], Instances]:
    """For each store of `body` the one of `reference` it comes from, and the loop variables of that
    in terms of its own.

    The reference holds the nest of each equation as it stands: loops over its axes, and in them
    over the binders of reductions.
    """
    theirs, ours = _stores(reference), _stores(body)
    origin: dict[Store, Store] = {}
    instance: Instances = {}
    for k, equation in equations.items():
        axes = [equation.axes.index(a) for a in nested(equation.axes)]
        for (old, loops), new in zip(theirs[k], (s for s, _ in ours[k]), strict=True):
            origin[new] = old
            at: dict[Var, Expr] = {}
            for loop, p in zip(loops, [*axes, *range(len(axes), len(loops))]):
                start = linear(sub(old.at[p], loop.var)).expr()
                at[loop.var] = sub(new.at[p], folded(start, at))
            instance[new] = at
    return origin, instance


def _stores(body: Sequence[Stmt]) -> dict[int, list[tuple[Store, tuple[For, ...]]]]:
    """The stores of each equation, in textual order, with the loops around them."""
    found: dict[int, list[tuple[Store, tuple[For, ...]]]] = {}
    stack: list[tuple[Stmt, tuple[For, ...]]] = [(s, ()) for s in reversed(body)]
    while stack:
        node, loops = stack.pop()
        match node:
            case For():
                stack += [(s, (*loops, node)) for s in reversed(node.body)]
            case If():
                stack += [(s, loops) for s in reversed(node.body)]
            case Store():
                found.setdefault(node.equation, []).append((node, loops))
    return found
