"""From the adjoint of an equation's value to what it contributes to the tensors it reads: the
chain rule within one expression.
"""

from __future__ import annotations

from texpr.autodiff.core.activity import active_nodes, smooth_children
from texpr.autodiff.core.algebra import convert, is_value, plus, times
from texpr.autodiff.core.contribution import (
    Contribution,
    Scope,
    equation_scope,
    inside,
    read_guard,
    stored_value,
)
from texpr.autodiff.core.fold_counts import Folds
from texpr.autodiff.core.names import renamed
from texpr.autodiff.core.primal import Forward
from texpr.autodiff.core.rules import operand_adjoints
from texpr.ir import build
from texpr.ir.expr import Cast, Compare, Expr, Max, Min, Node, Read, Reduce, Select, Tensor
from texpr.ir.tensor import Equation
from texpr.ir.traverse import children, rewrite, walk
from texpr.support.frozen_dataclass import frozen, replace


@frozen
class _Job:
    """The value `root` has the adjoint `adjoint` at every instance of `scope`."""

    root: Expr
    adjoint: Expr
    scope: Scope


def contributions(
    equation: Equation, cotangent: Tensor, active: set[Tensor], forward: Forward, folds: Folds
) -> list[Contribution]:
    """The contribution to each active read of the equation, in the order of the text.

    Raises:
        CheckError: a scalar function without a rule.
    """
    seed = folds.weighted(equation, Read(cotangent, equation.indices, read_guard(equation.guard, cotangent)))
    visit = _Visit(equation, active, forward)
    jobs = [_Job(equation.value, seed, equation_scope(equation))]
    while jobs:
        jobs += visit.run(jobs.pop())
    position = {id(node): n for n, node in enumerate(walk(equation.value))}
    return [c for _, c in sorted(visit.found, key=lambda pair: position.get(pair[0], 0))]


class _Visit:
    """One equation's chain rule."""

    def __init__(self, equation: Equation, active: set[Tensor], forward: Forward) -> None:
        self.equation, self.active, self.forward = equation, active, forward
        self.own = stored_value(equation, forward.folded)
        self.nodes = active_nodes(equation.value, active)
        self.found: list[tuple[int, Contribution]] = []

    def run(self, job: _Job) -> list[_Job]:
        """Brings the adjoint down to the reads of one scope; returns what is left to do in the
        scopes within.
        """
        adjoints: dict[int, Expr] = {id(job.root): job.adjoint}
        within: list[_Job] = []
        for node in self._parents_first(job.root):
            adjoint = adjoints.get(id(node))
            if adjoint is None or is_value(adjoint, 0.0):
                continue
            if _has_scopes(node):
                within += self._enter(node, adjoint, job.scope)
                continue
            for child, part in self._operands(node, adjoint):
                adjoints[id(child)] = _sum(adjoints.get(id(child)), part)
        return within

    def _operands(self, node: Expr, adjoint: Expr) -> list[tuple[Expr, Expr]]:
        if isinstance(node, Cast):
            return [(node.operand, _cast_back(node, adjoint))]
        value = self.own if self.own is not None and node is self.equation.value else node
        parts = operand_adjoints(node, adjoint, value)
        pairs = zip(children(node), parts, strict=True)
        return [(child, part) for child, part in pairs if part is not None and id(child) in self.nodes]  # type: ignore[misc]

    def _parents_first(self, root: Expr) -> list[Expr]:
        """The active nodes of root's scope, each after all nodes of the scope that use it."""
        done: dict[int, Expr] = {}
        stack: list[tuple[Expr, bool]] = [(root, False)] if id(root) in self.nodes else []
        while stack:
            node, ready = stack.pop()
            if id(node) in done:
                continue
            if ready:
                done[id(node)] = node
                continue
            stack.append((node, True))
            if not _has_scopes(node):
                stack += [
                    (child, False) for child in reversed(smooth_children(node)) if id(child) in self.nodes
                ]
        return list(reversed(done.values()))

    def _enter(self, node: Expr, adjoint: Expr, scope: Scope) -> list[_Job]:
        """The jobs of the scopes that `node` opens; a read is where the chain rule ends."""
        match node:
            case Read():
                return self._read(node, adjoint, scope)
            case Select(cond, then, orelse):
                return self._jobs(
                    (then, adjoint, scope.when(cond)), (orelse, adjoint, scope.when(build.negation(cond)))
                )
            case Max(lhs, rhs) | Min(lhs, rhs):
                first = Compare(">" if isinstance(node, Max) else "<", lhs, rhs)
                return self._jobs(
                    (lhs, adjoint, scope.when(first)), (rhs, adjoint, scope.when(build.negation(first)))
                )
            case Reduce():
                return self._reduce(node, adjoint, scope)
        raise AssertionError(f"{type(node).__name__} opens no scope")

    def _jobs(self, *jobs: tuple[Expr, Expr, Scope]) -> list[_Job]:
        return [_Job(*job) for job in jobs if id(job[0]) in self.nodes]

    def _read(self, node: Read, adjoint: Expr, scope: Scope) -> list[_Job]:
        if node.tensor in self.active:
            found = Contribution(
                node.tensor, node.indices, node.guard, scope, adjoint, len(self.equation.axes), node.span
            )
            self.found.append((id(node), found))
        if node.guard is None or node.guard.value is None:
            return []
        outside = convert(adjoint, node.guard.value.dtype)
        return self._jobs((node.guard.value, outside, scope.when(build.negation(inside(node)))))

    def _reduce(self, node: Reduce, adjoint: Expr, scope: Scope) -> list[_Job]:
        adjoint = _apart(convert(adjoint, node.body.dtype), node)
        around = replace(scope, conditions=tuple(_apart(c, node) for c in scope.conditions))
        within = around.inside(node.axes, node.where)
        if node.op == "prod":
            adjoint = times(adjoint, others(node))
        if node.op in ("max", "min"):
            places = self.forward.extreme(node, around, self.equation.target.name)
            within = within.when(*(Compare("==", axis.var, place) for axis, place in zip(node.axes, places)))
        return self._jobs((node.body, adjoint, within))


def _has_scopes(node: Expr) -> bool:
    return isinstance(node, Read | Select | Max | Min | Reduce)


def _sum(a: Expr | None, b: Expr) -> Expr:
    """a + b in the wider of their types."""
    if a is None or a.dtype == b.dtype:
        return plus(a, b)
    dtype = max(a.dtype, b.dtype, key=lambda t: t.bits)
    return plus(convert(a, dtype), convert(b, dtype))


def _cast_back(node: Cast, adjoint: Expr) -> Expr:
    """The adjoint in the operand's type; one that would lose bits stays wide until it is stored."""
    wider = adjoint.dtype.bits > node.operand.dtype.bits
    return adjoint if wider and isinstance(node.operand, Read) else convert(adjoint, node.operand.dtype)


def _apart(e: Expr, reduction: Reduce) -> Expr:
    """`e`, with new binders where it contains the reduction whose binders are about to be in
    scope, or one made from it.
    """
    binders = {axis.var for axis in reduction.axes}

    def rule(node: Node) -> Node | None:
        return (
            renamed(node)
            if isinstance(node, Reduce) and any(axis.var in binders for axis in node.axes)
            else None
        )

    return rewrite(e, rule)  # type: ignore[return-value]


def others(node: Reduce) -> Expr:
    """The product of all factors but the one at the binders' values: right where factors are 0."""
    copy = renamed(node)
    differs = build.FALSE
    for axis, other in zip(node.axes, copy.axes):
        differs = build.disjunction(differs, Compare("!=", other.var, axis.var))
    where = differs if copy.where is None else build.conjunction(differs, copy.where)
    return replace(copy, where=where)
