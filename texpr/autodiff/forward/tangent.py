"""From the tangents of what an expression reads to the tangent of its value: dual numbers,
written as expressions.
"""

from __future__ import annotations

from collections.abc import Mapping

from texpr.autodiff.core.activity import active_nodes, smooth_children
from texpr.autodiff.core.adjoint import others
from texpr.autodiff.core.algebra import convert, plus, times, total, zero
from texpr.autodiff.core.contribution import Scope, equation_scope, inside, stored_value
from texpr.autodiff.core.primal import Forward
from texpr.autodiff.core.rules import operand_adjoints
from texpr.ir import build
from texpr.ir.expr import Cast, Compare, Expr, Guard, Max, Min, Read, Reduce, Select, Tensor
from texpr.ir.tensor import Equation
from texpr.ir.traverse import children

_Place = tuple[int, tuple[int, ...]]


def tangent(equation: Equation, tangents: Mapping[Tensor, Tensor], forward: Forward) -> Expr | None:
    """The tangent of the equation's value; None where it is 0.

    Args:
        tangents: the tangent of every tensor that has one.
    """
    return _Tangent(equation, tangents, forward).of(equation.value)


class _Tangent:
    def __init__(self, equation: Equation, tangents: Mapping[Tensor, Tensor], forward: Forward) -> None:
        self.equation, self.tangents, self.forward = equation, tangents, forward
        self.own = stored_value(equation, forward.folded)
        self.active = active_nodes(equation.value, set(tangents))
        self.done: dict[_Place, Expr] = {}
        self.inner: dict[_Place, list[tuple[Expr, Scope]]] = {}

    def of(self, root: Expr) -> Expr | None:
        """Bottom-up without recursion; a node is looked at once per set of conditions."""
        stack: list[tuple[Expr, Scope, bool]] = [(root, equation_scope(self.equation), False)]
        while stack:
            node, scope, ready = stack.pop()
            if id(node) not in self.active or _place(node, scope) in self.done:
                continue
            below = self.inner.setdefault(_place(node, scope), _inner_scopes(node, scope))
            if ready:
                self.done[_place(node, scope)] = self._node(
                    node, scope, [self.done.get(_place(n, s)) for n, s in below]
                )
            else:
                stack.append((node, scope, True))
                stack += [(n, s, False) for n, s in below]
        return self.done.get(_place(root, equation_scope(self.equation)))

    def _node(self, node: Expr, scope: Scope, below: list[Expr | None]) -> Expr:
        match node:
            case Read():
                return self._read(node, below[0] if below else None)
            case Cast():
                assert below[0] is not None
                return convert(below[0], node.dtype)
            case Select(cond, _, _):
                return _either(cond, below, node)
            case Max(lhs, rhs) | Min(lhs, rhs):
                return _either(Compare(">" if isinstance(node, Max) else "<", lhs, rhs), below, node)
            case Reduce():
                assert below[0] is not None
                return self._reduce(node, scope, convert(below[0], node.dtype))
        return self._scalar(node, {id(n): t for n, t in zip(smooth_children(node), below)})

    def _scalar(self, node: Expr, below: Mapping[int, Expr | None]) -> Expr:
        value = self.own if self.own is not None and node is self.equation.value else node
        result: Expr | None = None
        for n, operand in enumerate(children(node)):
            change = below.get(id(operand))
            part = None if change is None else operand_adjoints(node, change, value)[n]
            if part is not None:
                result = plus(result, part)
        return zero(node.dtype) if result is None else result

    def _read(self, node: Read, outside: Expr | None) -> Expr:
        guard = node.guard
        if guard is not None and guard.mode == "value":
            guard = Guard("value", zero(node.dtype) if outside is None else outside)
        tensor = self.tangents.get(node.tensor)
        if tensor is not None:
            return Read(tensor, node.indices, guard, span=node.span)
        assert outside is not None
        return Select(build.negation(inside(node)), outside, zero(node.dtype))

    def _reduce(self, node: Reduce, scope: Scope, body: Expr) -> Expr:
        where = node.where
        if node.op == "prod":
            body = times(body, others(node))
        if node.op in ("max", "min"):
            found = self.forward.extreme(node, scope, self.equation.target.name)
            where = build.conjunction(
                *(Compare("==", axis.var, place) for axis, place in zip(node.axes, found))
            )
        return total(node.axes, where, body)


def _place(node: Expr, scope: Scope) -> _Place:
    return id(node), tuple(map(id, scope.conditions))


def _inner_scopes(node: Expr, scope: Scope) -> list[tuple[Expr, Scope]]:
    """The operands that matter, and where they are computed."""
    below = smooth_children(node)
    match node:
        case Select(cond=cond):
            return list(zip(below, (scope.when(cond), scope.when(build.negation(cond)))))
        case Reduce(axes=axes, where=where):
            return [(n, scope.inside(axes, where)) for n in below]
    return [(n, scope) for n in below]


def _either(cond: Expr, below: list[Expr | None], like: Expr) -> Expr:
    then, orelse = (zero(like.dtype) if t is None else t for t in below)
    return Select(cond, then, orelse)
