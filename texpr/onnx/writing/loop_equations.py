"""Equations at one iteration of a loop: an index variable becomes a number that the loop computes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from texpr.ir.affine import Linear
from texpr.ir.build import compare, conjunction
from texpr.ir.dtypes import I64
from texpr.ir.expr import Axis, Expr, Guard, Node, Read, Reduce, Tensor, Var, index
from texpr.ir.interpreter.evaluate import Points, evaluate
from texpr.ir.shapes import evaluate_size
from texpr.ir.tensor import Equation
from texpr.ir.traverse import rewrite, substitute, tensors, variables, walk
from texpr.onnx.writing.graph import Inexpressible
from texpr.support.frozen_dataclass import frozen, replace

Boxes = Mapping[Var, tuple[int, int]]
"""For each variable its first value, and the one behind its last."""


def interval(e: Expr, boxes: Boxes) -> tuple[int, int] | None:
    """The smallest and the largest value of an expression of integers; None if data decide it, or
    there is no instance.
    """
    if tensors(e):
        return None
    used = [v for v in boxes if v in variables(e)]
    env = {v: np.arange(*boxes[v], dtype=np.int64).reshape([-1 if u is v else 1 for u in used]) for v in used}
    shape = tuple(max(0, boxes[v][1] - boxes[v][0]) for v in used)
    if 0 in shape:
        return None
    found = np.asarray(evaluate(e, Points(env, shape, np.array(True)), {}).values)
    return int(found.min()), int(found.max())


def boxes_of(equation: Equation) -> dict[Var, tuple[int, int]]:
    """Of all variables of an equation, those of its reductions too.

    Raises:
        Inexpressible: data decide a range.
    """
    found: dict[Var, tuple[int, int]] = {}
    inner = [a for n in walk(equation) if isinstance(n, Reduce) for a in n.axes]
    for axis in (*equation.axes, *inner):
        if tensors(axis.lo) or tensors(axis.hi):
            raise Inexpressible("a range that is computed")
        lo, hi = interval(axis.lo, found), interval(axis.hi, found)
        found[axis.var] = (0, 0) if lo is None or hi is None else (lo[0], max(lo[0], hi[1]))
    return found


@frozen
class Chosen:
    """A variable of an equation by the time of a loop.

    Attributes:
        time: of an instance, as a form of the equation's axes.
        now: the time of the iteration.
        span: the first time of the loop, and the one behind its last.
    """

    time: Linear
    now: Expr
    span: tuple[int, int]

    def settled(self, equation: Equation, given: dict[Var, Expr]) -> Equation:
        """The instances at this time.

        Args:
            given: variables that loops around gave; the one that this one gives is entered.
        Raises:
            Inexpressible: no variable alone gives the time.
        """
        boxes = boxes_of(equation)
        axis = next((a for a in equation.axes if abs(self.time.coefficient(a.var)) == 1), None)
        if axis is None or not self.time.is_affine:
            raise Inexpressible("a recurrence along a multiple of an index")
        v, rest = axis.var, self.time.without(axis.var)
        place = Linear(((self.now, 1),), 0).plus(rest, -1)
        place = substitute((place if self.time.coefficient(v) == 1 else place.negated).expr(), given)
        given[v] = place
        conditions = [] if equation.where is None else [equation.where]
        first, last = (k * self.time.coefficient(v) + rest.constant for k in (boxes[v][0], boxes[v][1] - 1))
        whole = not rest.terms and not variables(axis.lo, axis.hi)
        if not whole or (min(first, last), max(first, last) + 1) != self.span:
            conditions += _inside(axis)
        axes = []
        for a in equation.axes:
            if a is not axis:
                axes.append(_widened(a, v, boxes, conditions))
        boxes[v] = self._reached(v, rest, boxes)
        settled = replace(
            equation,
            axes=tuple(axes),
            value=_without_ranges(equation.value, v, boxes),
            where=conjunction(*conditions) if conditions else None,
        )
        return substitute(_with_guards(settled, boxes), {v: place})

    def _reached(self, v: Var, rest: Linear, boxes: Boxes) -> tuple[int, int]:
        """All values that the loop gives the variable, those outside of its range, too."""
        low, high = interval(rest.expr(), boxes) or (0, 0)
        first, last = self.span[0] - high, self.span[1] - 1 - low
        return (first, last + 1) if self.time.coefficient(v) == 1 else (-last, -first + 1)


def _inside(axis: Axis) -> list[Expr]:
    return [compare("<=", axis.lo, axis.var), compare("<", axis.var, axis.hi)]


def _widened(axis: Axis, v: Var, boxes: Boxes, conditions: list[Expr]) -> Axis:
    """With a range that does not depend on the variable, and conditions for what it was."""
    if v not in variables(axis.lo, axis.hi):
        return axis
    conditions += _inside(axis)
    lo, hi = boxes[axis.var]
    return Axis(axis.var, index(lo), index(hi))


def _without_ranges(e: Expr, v: Var, boxes: Boxes) -> Expr:
    """Reductions whose ranges do not depend on the variable."""

    def rule(node: Node) -> Node | None:
        if not isinstance(node, Reduce) or not any(v in variables(a.lo, a.hi) for a in node.axes):
            return None
        conditions = [] if node.where is None else [node.where]
        axes = tuple(_widened(a, v, boxes, conditions) for a in node.axes)
        return replace(node, axes=axes, where=conjunction(*conditions))

    return rewrite(e, rule)


def _with_guards(equation: Equation, boxes: Boxes) -> Equation:
    """Reads that may now be outside of a tensor, where nobody uses them, stay inside."""

    def rule(node: Node) -> Node | None:
        if not isinstance(node, Read) or node.guard is not None:
            return None
        for i, size in zip(node.indices, node.tensor.shape):
            found = interval(i, boxes)
            if found is not None and not 0 <= found[0] <= found[1] < evaluate_size(size, {}):
                return replace(node, guard=Guard("clamp"))
        return None

    return replace(equation, value=rewrite(equation.value, rule))


def number_of(name: str) -> tuple[Tensor, Expr]:
    """A tensor of one integer, and its value."""
    tensor = Tensor(name, I64, ())
    return tensor, Read(tensor, ())
