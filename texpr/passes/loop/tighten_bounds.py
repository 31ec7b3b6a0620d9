"""Conditions become bounds: a loop runs only the iterations for which what it holds does
something.
"""

from __future__ import annotations

from collections.abc import Set
from functools import lru_cache
from itertools import takewhile

from texpr.ir.affine import linear
from texpr.ir.build import FALSE, add, conjunction, conjuncts, integer, maximum, minimum, sub
from texpr.ir.dtypes import I64
from texpr.ir.expr import Compare, Expr, FloorDiv, Mod, Node, Select, Var, index
from texpr.ir.loop import For, If, Kernel, Store
from texpr.ir.loop_kind import PARALLEL, SERIAL, ScalableVector, has_lanes
from texpr.ir.traverse import equal, is_plain, rewrite, statements, tensors, variables, walk
from texpr.passes.analysis.substitution import folded
from texpr.support.frozen_dataclass import replace

SHORT = 64
"""Loops of fewer iterations keep their conditions: a constant extent is worth more there."""


@lru_cache(maxsize=16)  # asked for by the certificate and by code generation
def narrow(kernel: Kernel) -> Kernel:
    """for j in 0..n: if lo <= j < hi and c: S   ->   if c: for j in 0..max(0, min(n, hi) - max(0, lo)): S[j := j + max(0, lo)]

    Only for loops that hold nothing but conditions around S, so that S is all that is left out.
    Conditions of index arithmetic that do not depend on the loop leave it whatever its kind. Lanes
    have all bounds in common: what differs between them stays a condition. Conditions on data stay.
    Where ranges are data they leave loops too: where they fail, the data that say the range may lie
    outside their array.
    """

    loops = [n for n in statements(kernel) if isinstance(n, For)]
    lanes = {n.var for n in loops if has_lanes(n.kind)}
    is_ragged = any(tensors(n.extent) for n in loops)

    def rule(node: Node) -> Node | None:
        if not isinstance(node, For):
            return None
        found = _narrowed(node, lanes)
        return _without_data_conditions(node if found is None else found) if is_ragged else found

    return rewrite(kernel, rule, keep=is_plain)  # type: ignore[return-value]


def _narrowed(loop: For, lanes: Set[Var]) -> For | If | None:
    body, arithmetic, others = loop.body, list[Expr](), list[Expr]()
    while len(body) == 1 and isinstance(body[0], If):
        found, rest = _parts(body[0].cond)
        arithmetic += found
        others += [rest] if rest is not None else []
        body = body[0].body
    outside = [c for c in arithmetic if loop.var not in variables(c)]
    low, high, inside = _bounds(loop, [c for c in arithmetic if loop.var in variables(c)], lanes - {loop.var})
    if not outside and not low and not high:
        return None
    first: Expr = index(0)
    for e in low:
        first = maximum(first, e)
    extent = loop.extent
    for e in high:
        extent = minimum(extent, e)
    if low:
        extent = sub(extent, first)
    for condition in reversed(
        [conjunction(*inside), *others] if inside else others
    ):  # each may protect what the next one reads
        body = (If(condition, body),)
    if low:
        body = tuple(folded(s, {loop.var: add(loop.var, first)}) for s in body)
    new = replace(loop, extent=maximum(index(0), extent) if low or high else extent, body=body)
    return If(conjunction(*outside), (new,)) if outside else new


def _parts(condition: Expr) -> tuple[list[Expr], Expr | None]:
    """Conditions on index arithmetic, and what else must hold, which is asked where those hold."""
    if isinstance(condition, Select) and equal(condition.orelse, FALSE):
        found, rest = _parts(condition.cond)
        if rest is not None:
            return found, replace(condition, cond=rest)
        more, rest = _parts(condition.then)
        return found + more, rest
    found, others = list[Expr](), list[Expr]()
    for c in conjuncts(condition):
        (found if _is_arithmetic(c) else others).append(c)
    return found, conjunction(*others) if others else None


def _is_arithmetic(condition: Expr) -> bool:
    """It reads nothing and divides by nothing that may be 0: it may be asked before conditions
    that protect others.
    """
    return not tensors(condition) and all(
        integer(e.rhs) for e in walk(condition) if isinstance(e, (FloorDiv, Mod))
    )


def _without_data_conditions(s: For | If) -> For | If:
    """A condition on data that is the same in all iterations is asked before the loop, under
    what is asked before it.
    """
    if isinstance(s, If):
        return replace(
            s, body=tuple(_without_data_conditions(n) if isinstance(n, For) else n for n in s.body)
        )
    match s.body:
        case (If(cond, body),):
            written = {n.tensor for n in statements(*body) if isinstance(n, Store)}
            every = conjuncts(cond)
            same = [*takewhile(lambda c: s.var not in variables(c) and written.isdisjoint(tensors(c)), every)]
            if any(tensors(c) for c in same):
                rest = conjunction(*every[len(same) :])
                body = (If(rest, body),) if len(same) < len(every) else body
                return If(conjunction(*same), (_without_data_conditions(replace(s, body=body)),))
    return s


def _bounds(loop: For, conditions: list[Expr], lanes: Set[Var]) -> tuple[list[Expr], list[Expr], list[Expr]]:
    """Lower bounds and upper bounds of the loop from the conditions, and the other conditions."""
    low: list[Expr] = []
    high: list[Expr] = []
    rest: list[Expr] = []
    short = integer(loop.extent)
    if (
        not (loop.kind in (SERIAL, PARALLEL) or isinstance(loop.kind, ScalableVector))
        or short is not None
        and short <= SHORT
    ):
        return low, high, conditions
    for c in conditions:
        at_least = _nonnegative(c) if not variables(c) & lanes else None
        form = linear(at_least) if at_least is not None else None
        others = form.without(loop.var) if form is not None else None
        if (
            form is None
            or others is None
            or abs(form.coefficient(loop.var)) != 1
            or loop.var in variables(others.expr())
        ):
            rest.append(c)
        elif form.coefficient(loop.var) == 1:
            low.append(linear(sub(index(0), others.expr())).expr())  # v + e >= 0
        else:
            high.append(linear(add(others.expr(), index(1))).expr())  # e - v >= 0
    return low, high, rest


def _nonnegative(e: Expr) -> Expr | None:
    """An expression that is at least 0 exactly where the comparison of indices holds."""
    match e:
        case Compare("<=" | "<" as op, a, b) if a.dtype == I64:
            return sub(sub(b, a), index(int(op == "<")))
        case Compare(">=" | ">" as op, a, b) if a.dtype == I64:
            return sub(sub(a, b), index(int(op == ">")))
    return None
