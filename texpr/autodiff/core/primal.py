"""The primal equations in the form differentiation wants: what the adjoints will read is a
tensor of its own.
"""

from __future__ import annotations

from dataclasses import fields
from math import inf

from texpr import poly
from texpr.autodiff.core.activity import active_nodes
from texpr.autodiff.core.contribution import Scope, equation_scope, inside
from texpr.autodiff.core.interval_bounds import always_defined, rectangle, surely_natural
from texpr.autodiff.core.names import Names, renamed
from texpr.ir import build
from texpr.ir.dtypes import I64
from texpr.ir.expr import (
    Add,
    Axis,
    Cast,
    Const,
    Dim,
    Div,
    Expr,
    Mul,
    Neg,
    Node,
    Read,
    Reduce,
    Select,
    Sub,
    Tensor,
    Var,
    index,
    plain,
)
from texpr.ir.interpreter.tensor import reads
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import children, free_variables, rewrite, substitute
from texpr.poly.program.bounds import unproven
from texpr.support.frozen_dataclass import replace


class Forward:
    """The primal equations, with equal subexpressions shared and reductions split off where that
    saves work.

    A reduction becomes an equation of its own unless its adjoint is as cheap as its equation's: it
    depends on every axis around it, and only sums, sign changes and conditions lie between it and
    the equation (`b[k] + sum(...)` stays whole).

    Args:
        varying: the tensors whose derivative is asked for, and what depends on them.
    Attributes:
        folded: tensors that some equation updates.
    """

    def __init__(self, program: Program, varying: set[Tensor], names: Names) -> None:
        self.names = names
        self._program = program
        self.equations: list[Equation | Invoke] = []
        self.varying = set(varying)
        self._extremes: dict[tuple[int, ...], tuple[Expr, ...]] = {}
        self._alive: list[object] = []
        folds = [e for e in program.equations if isinstance(e, Equation) and e.update is not None]
        self.folded = {e.target for e in folds}
        chosen = {e.target for e in folds if e.update != "add"} & self.varying
        for equation in program.equations:
            self._add(
                self._with_stored_value(equation)
                if isinstance(equation, Equation) and equation.target in chosen
                else equation
            )

    def _with_stored_value(self, equation: Equation) -> Equation:
        """The equation with its value in a temporary: the derivative compares it with what the fold
        became, which is exact for the stored number alone. A second evaluation may round otherwise:
        by another order of a sum, or by a fused multiplication and addition.
        """
        scope = equation_scope(equation)
        if isinstance(equation.value, Read | Const) or not storable(equation.value, scope):
            return equation
        read, part = store(equation.value, scope, self.names, f"{equation.target.name}_value")
        self.varying.add(read.tensor)
        self._add(part)
        return replace(equation, value=read)

    def _add(self, equation: Equation | Invoke) -> None:
        if isinstance(equation, Invoke):
            self.equations.append(equation)
            return
        pending = [(equation, False)]
        while pending:
            next_one, split_off = pending.pop()
            next_one = replace(next_one, value=shared(next_one.value))
            rest, *parts = self._split(
                next_one, _under_conditions(next_one.value) if split_off else next_one.value
            )
            if parts:
                pending += [(rest, split_off), *((part, True) for part in parts)]
            else:
                self.equations.append(next_one)

    def _split(self, equation: Equation, kept: Expr) -> list[Equation]:
        """The equation with its outermost splittable reductions but `kept` replaced by reads,
        then the equations of those.
        """
        active = active_nodes(equation.value, self.varying)
        replaced: dict[int, Expr] = {}
        parts: list[Equation] = []
        for node, scope in _splittable(equation, kept, active):
            read, part = store(node, scope, self.names, f"{equation.target.name}_{node.op}")
            replaced[id(node)] = read
            parts.append(part)
            if id(node) in active:
                self.varying.add(read.tensor)
        value = rewrite(equation.value, lambda n: replaced.get(id(n))) if replaced else equation.value
        return [replace(equation, value=value), *parts]

    def extreme(self, node: Reduce, scope: Scope, label: str) -> tuple[Expr, ...]:
        """For each binder of a max or min, where the extreme element is found: the first one, an
        expression of the scope.

        A read that is guarded by the infinity that loses, as padding is, loses against an equal
        element inside, too: the derivative would go nowhere. Where it is not proven that some
        element is inside, the place is corrected: to that of the first one inside.
        """
        key = (id(node), *map(id, scope.conditions))
        if key not in self._extremes:
            self._alive += [node, *scope.conditions]  # the keys are their ids
            self._extremes[key] = self._extreme(node, scope, label)
        return self._extremes[key]

    def _extreme(self, node: Reduce, scope: Scope, label: str) -> tuple[Expr, ...]:
        within = self._within(node, scope)
        if within is None:
            return self._places(node, scope, label)
        chosen = replace(node, where=within if node.where is None else build.conjunction(node.where, within))
        if self._has_elements(chosen, scope):
            return self._places(chosen, scope, label)
        found = self._places(node, scope, label)
        there = replace(node, op="max", body=Select(within, index(1), index(0)), dtype=I64)
        first = self._places(there, scope, f"{label}_inside")
        good = substitute(within, {axis.var: place for axis, place in zip(node.axes, found)})
        return tuple(self._stored(Select(good, a, b), scope, f"{label}_place") for a, b in zip(found, first))

    def _places(self, node: Reduce, scope: Scope, label: str) -> tuple[Expr, ...]:
        """The first extreme element's place along each binder."""
        found = []
        for which, axis in enumerate(node.axes):
            search = renamed(Reduce(f"arg{node.op}", node.axes, node.body, node.where, which, dtype=I64))
            found.append(
                self._stored(
                    search,
                    scope,
                    f"{label}_{search.op}" + (f"_{axis.var.name}" if len(node.axes) > 1 else ""),
                )
            )
        return tuple(found)

    def _stored(self, value: Expr, scope: Scope, wish: str) -> Expr:
        """A value as a temporary, where one can hold it."""
        if not storable(value, scope):
            return value
        read, equation = store(value, scope, self.names, wish)
        self._add(equation)
        return read

    def _within(self, node: Reduce, scope: Scope) -> Expr | None:
        """The condition that a read of the body is inside, where its guard is the infinity that
        loses; None where it always is.
        """
        read, infinity = node.body, -inf if node.op == "max" else inf
        guard = read.guard.value if isinstance(read, Read) and read.guard is not None else None
        if not isinstance(read, Read) or not isinstance(guard, Const) or guard.value != infinity:
            return None
        axes, facts = (*scope.axes, *node.axes), (*self._program.requires, *scope.conditions)
        wanted = [c for c in build.conjuncts(inside(read)) if not poly.always(c, axes, facts)]
        return build.conjunction(*wanted) if wanted else None

    def _has_elements(self, node: Reduce, scope: Scope) -> bool:
        """True if it is proven that a reduction has an element wherever it is computed."""
        result = Tensor(self.names.fresh("chosen"), node.dtype, plain(*(axis.hi for axis in scope.axes)))
        where = build.conjunction(*scope.conditions) if scope.conditions else None
        alone = Equation(
            result, tuple(axis.var for axis in scope.axes), scope.axes, renamed(node), where=where
        )
        known = (*self._program.inputs, *(t for t in reads(alone) if t not in self._program.inputs))
        program = replace(self._program, inputs=known, outputs=(result,), equations=(alone,))
        return not any(isinstance(n, Reduce) for nodes in unproven(program).values() for n in nodes)


def _under_conditions(value: Expr) -> Expr:
    """The reduction that `store` made an equation of: it has one already, whatever the
    conditions around it are.
    """
    while isinstance(value, Select):
        value = value.then
    return value


def _splittable(equation: Equation, kept: Expr, active: set[int]) -> list[tuple[Reduce, Scope]]:
    """The outermost reductions but `kept` that deserve an equation of their own, and where they
    are computed.
    """
    found: dict[int, tuple[Reduce, Scope]] = {}
    refused: set[int] = set()
    stack: list[tuple[Node, Scope, bool]] = [(equation.value, equation_scope(equation), True)]
    while stack:
        node, scope, cheap = stack.pop()
        if isinstance(node, Reduce):
            whole = free_variables(node) >= {axis.var for axis in scope.axes} and cheap
            if node is not kept and not whole and storable(node, scope) and id(node) not in refused:
                if not _agrees(found.setdefault(id(node), (node, scope)), scope):
                    refused.add(id(node))
                continue
            inner = scope.inside(node.axes, node.where)
            stack += [
                (child, inner, cheap and node.op == "sum" and child is node.body)
                for child in reversed(children(node))
            ]
        else:
            stack += reversed(_below(node, scope, cheap, active))
    return [pair for key, pair in found.items() if key not in refused]


def _agrees(earlier: tuple[Reduce, Scope], scope: Scope) -> bool:
    """True if one equation can serve both places: computed under the same conditions, or needing
    none.
    """
    node, first = earlier
    return [*map(id, first.conditions)] == [*map(id, scope.conditions)] or always_defined(node, first.axes)


def _below(node: Node, scope: Scope, cheap: bool, active: set[int]) -> list[tuple[Node, Scope, bool]]:
    match node:
        case Add() | Sub() | Neg() | Cast():
            return [(child, scope, cheap) for child in children(node)]
        case Mul(lhs, rhs):
            return [
                (lhs, scope, cheap and id(rhs) not in active),
                (rhs, scope, cheap and id(lhs) not in active),
            ]
        case Div(lhs, rhs):
            return [(lhs, scope, cheap and id(rhs) not in active), (rhs, scope, False)]
        case Select(cond, then, orelse):
            return [
                (cond, scope, False),
                (then, scope.when(cond), cheap),
                (orelse, scope.when(build.negation(cond)), cheap),
            ]
    return [(child, scope, False) for child in children(node)]


def shared(value: Expr) -> Expr:
    """The same expression with equal subexpressions as one node."""
    known: dict[tuple[object, ...], Node] = {}

    def rule(node: Node) -> Node:
        key: list[object] = [type(node)]
        for field in fields(node):  # type: ignore[arg-type]
            part = getattr(node, field.name)
            if field.name in node.parts:
                key.append(tuple(map(id, part)) if isinstance(part, tuple) else id(part))
            elif field.name != "span":
                key.append(repr(part) if isinstance(part, float) else part)
        return node if isinstance(node, Var) else known.setdefault(tuple(key), node)

    return rewrite(value, rule)  # type: ignore[return-value]


def storable(node: Expr, scope: Scope) -> bool:
    """True if a temporary can hold `node`: the axes it depends on span a rectangle."""
    return rectangle(_needed(node, scope)[0], scope.axes)


def _needed(node: Expr, scope: Scope) -> tuple[tuple[Axis, ...], tuple[Expr, ...]]:
    """The axes a temporary for `node` has, and the conditions under which it may be computed."""
    conditions = () if always_defined(node, scope.axes) else scope.conditions
    used = set().union(*(free_variables(e) for e in (node, *conditions)))
    return tuple(axis for axis in scope.axes if axis.var in used), conditions


def store(node: Expr, scope: Scope, names: Names, wish: str) -> tuple[Read, Equation]:
    """A temporary that holds `node` at every instance of the axes it depends on: its read and
    its equation.
    """
    axes, conditions = _needed(node, scope)
    axes = tuple(axis if names.is_extent(_extent(axis)) else _from_zero_on(axis) for axis in axes)
    value: Expr = node
    for condition in reversed(conditions):
        value = Select(condition, value, build.literal(0, node.dtype))
    dims = tuple(Dim((_extent(axis),), pack=axis.var.pack) for axis in axes)
    tensor = Tensor(names.fresh(wish), node.dtype, dims, span=node.span)
    indices = tuple(build.sub(axis.var, axis.lo) for axis in axes)
    return Read(tensor, indices, span=node.span), Equation(tensor, indices, axes, value, span=node.span)


def _extent(axis: Axis) -> Expr:
    return build.sub(axis.hi, axis.lo)


def _from_zero_on(axis: Axis) -> Axis:
    """The same range, which does not end before it begins: no tensor has a negative extent, and
    the primal may have an empty range.
    """
    return axis if surely_natural(_extent(axis)) else replace(axis, hi=build.maximum(axis.hi, axis.lo))
