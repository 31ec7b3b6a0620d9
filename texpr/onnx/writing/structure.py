"""Operators by their equations: elementwise formulas, reductions, sums of products, reads at
affine, clamped or computed places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np

from texpr import poly
from texpr.graph.capture.capture import bind_call
from texpr.ir.dtypes import BOOL, I64
from texpr.ir.expr import Axis, Call, Expr, Mul, Node, Read, Reduce, Tensor, Var, index
from texpr.ir.extern import is_extern
from texpr.ir.interpreter.arithmetic import quiet
from texpr.ir.interpreter.evaluate import Buffer, Points, evaluate
from texpr.ir.interpreter.random import RANDOM
from texpr.ir.interpreter.tensor import cycle, dependences
from texpr.ir.shapes import caller_shape, evaluate_size
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import children, tensors
from texpr.onnx.writing.element_reads import Reader
from texpr.onnx.writing.graph import Graph, Inexpressible, Value, known
from texpr.onnx.writing.integer_bits import drawn, shifted
from texpr.onnx.writing.loop_equations import Chosen, number_of
from texpr.onnx.writing.order_nodes import ORDERS
from texpr.onnx.writing.piecewise import Piece, joined
from texpr.onnx.writing.recurrence_nodes import begun, order_in_loops, row_written, span_of
from texpr.onnx.writing.reduction_nodes import Reducer
from texpr.onnx.writing.scalar_nodes import Scalars
from texpr.onnx.writing.scatter import scattered
from texpr.onnx.writing.special_functions import SPECIAL
from texpr.passes.tensor.fix_sizes import specialize
from texpr.passes.tensor.inline_calls import expand_packs
from texpr.support.frozen_dataclass import frozen, replace

_COMBINED = {"add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}
_FOLDED = {"add": "sum", "mul": "prod", "max": "max", "min": "min"}


def written(graph: Graph, program: Program, args: Sequence[Value]) -> list[Value]:
    """The results of a program for these arguments, in the callers' shapes.

    Raises:
        Inexpressible: ONNX has no operators for it.
    """
    if is_extern(program):
        if program.name not in ORDERS:
            raise Inexpressible("code from outside of the language")
        numbers = {name: n for name, n in program.constants if isinstance(n, int)}
        return [ORDERS[program.name](graph, args, **numbers)]
    sizes, packs = bind_call(program, [a.shape for a in args])
    shapes = [caller_shape(t, sizes, packs) for t in program.outputs]
    concrete = specialize(expand_packs(program, {v: tuple(map(index, s)) for v, s in packs.items()}), sizes)
    values = {t: graph.reshape(a, _flat(t)) for t, a in zip(concrete.inputs, args)}
    results = Equations(graph, concrete, values).results()
    return [graph.reshape(v, shape) for v, shape in zip(results, shapes)]


def _flat(t: Tensor) -> tuple[int, ...]:
    return tuple(evaluate_size(e, {}) for e in t.shape)


class Equations:
    """The equations of one program whose sizes are numbers."""

    def __init__(self, graph: Graph, program: Program, values: dict[Tensor, Value]) -> None:
        self.graph, self.program, self.values = graph, program, values
        self.pieces: dict[Tensor, list[Piece]] = {}

    def results(self) -> list[Value]:
        """The outputs, in the shapes that indices run over."""
        needs, waiting = dependences(self.program), set(range(len(self.program.equations)))
        while waiting:
            ready = [k for k in sorted(waiting) if not needs[k] & waiting]
            if not ready:
                ready = cycle(needs, waiting)
                self._recurrence(sorted(ready))
            else:
                for k in ready:
                    self._unit(self.program.equations[k])
            waiting -= set(ready)
        return [self.value(t) for t in self.program.outputs]

    def value(self, t: Tensor) -> Value:
        """A tensor that is complete."""
        if t not in self.values:
            self.values[t] = joined(self.graph, self.pieces[t], _flat(t))
        return self.values[t]

    def _unit(self, unit: Equation | Invoke) -> None:
        if isinstance(unit, Invoke):
            sizes: Mapping[Var, int] = {}
            shapes = [caller_shape(t, sizes, {}) for t in unit.args]
            args = [self.graph.reshape(self.value(t), shape) for t, shape in zip(unit.args, shapes)]
            for t, v in zip(unit.targets, written(self.graph, unit.program, args)):
                self.values[t] = self.graph.reshape(v, _flat(t))
            return
        scope = Scope.of(self, unit.axes)
        value, places = scope.convert(unit.value), [scope.convert(i) for i in unit.indices]
        if (
            unit.guard is not None
            or any(p.array is None for p in places)
            or not self._in_a_box(unit, scope, value, places)
        ):
            self._scattered(unit, scope, value, places)

    def _recurrence(self, group: Sequence[int]) -> None:
        """Equations that need themselves or each other."""
        order = order_in_loops(self.program, group)
        members = [e for k in group if isinstance(e := self.program.equations[k], Equation)]
        targets = dict.fromkeys(e.target for e in members)
        for t in tensors(*members):
            if t not in targets:  # the body of a loop finds it complete
                self.value(t)
        for t in targets:
            if t not in self.values:
                self.values[t] = begun(self.graph, self.pieces.pop(t, []), t)
        for part in order:
            self._part(part, [])

    def _part(self, part: poly.Order, loops: Sequence[tuple[poly.Loop, Expr]]) -> None:
        """The equations that an iteration of loops runs."""
        if not isinstance(part, int):
            return self._loop(part, loops)
        equation, given = self.program.equations[part], {}
        assert isinstance(equation, Equation)
        for loop, now in loops:
            equation = Chosen(loop.times[part], now, span_of(self.program, loop)).settled(equation, given)
        scope = Scope.of(self, equation.axes)
        value, places = scope.convert(equation.value), [scope.convert(i) for i in equation.indices]
        if equation.guard is None and equation.update is None:
            found = row_written(
                scope.scalars, self.values[equation.target], value, places, scope.exists(equation)
            )
            if found is not None:
                self.values[equation.target] = found
                return None
        return self._scattered(equation, scope, value, places)

    def _loop(self, loop: poly.Loop, around: Sequence[tuple[poly.Loop, Expr]]) -> None:
        first, end = span_of(self.program, loop)
        if first >= end:
            return
        states = list(dict.fromkeys(t for k in loop.times for t in self.program.equations[k].targets))
        inner = self.graph.inside()
        turn, go = Value(inner.name("turn"), (), I64), Value(inner.name("go"), (), BOOL)
        carried = [replace(self.values[t], name=inner.name("carried"), array=None) for t in states]
        tensor, now = number_of("now")
        place = inner.add("Add", [turn, known(np.array(first), I64)], (), I64) if first else turn
        body = Equations(inner, self.program, {**self.values, **dict(zip(states, carried)), tensor: place})
        for part in loop.body:
            body._part(part, (*around, (loop, now)))
        made = inner.body([turn, go, *carried], [go, *(body.values[t] for t in states)])
        rounds, always = known(np.array(end - first), I64), known(np.array(True), BOOL)
        given = [rounds, always, *(self.values[t] for t in states)]
        found = self.graph.several("Loop", given, [(v.shape, v.dtype) for v in carried], body=made)
        self.values.update(zip(states, found))

    def _in_a_box(self, unit: Equation, scope: Scope, value: Value, places: Sequence[Value]) -> bool:
        """True if an equation defines a box, or updates a whole tensor; it is written then."""
        if unit.update is not None:
            if unit.where is not None or scope.mask is not None:
                return False
            value = self._folded(unit, scope, value, places)
        piece = Piece.of(self.graph, value, [p.array for p in places], scope.extents)  # type: ignore[misc]
        if piece is None or unit.update is not None and piece.value.shape != _flat(unit.target):
            return False
        if unit.update is None:
            self.pieces.setdefault(unit.target, []).append(piece)
        else:
            self.values[unit.target] = scope.scalars.apply(
                _COMBINED[unit.update], self.value(unit.target), piece.value
            )
        return True

    def _scattered(self, unit: Equation, scope: Scope, value: Value, places: Sequence[Value]) -> None:
        mask = scope.exists(unit)
        before = self.value(unit.target) if unit.target in self.pieces or unit.target in self.values else None
        shape, mode = _flat(unit.target), unit.guard.mode if unit.guard else ""
        self.values[unit.target] = scattered(
            self.graph, before, shape, value, places, mode, mask, scope.extents, unit.update
        )

    def _folded(self, unit: Equation, scope: Scope, value: Value, places: Sequence[Value]) -> Value:
        """The contributions of instances that the left side does not tell apart, as one."""
        told = {a for p in places for a, n in enumerate(p.shape) if n != 1}
        extra = [a for a, n in enumerate(scope.extents) if n != 1 and a not in told]
        if not extra:
            return value
        whole = self.graph.expand(
            value, [n if a in extra else value.shape[a] for a, n in enumerate(scope.extents)]
        )
        kept = tuple(1 if a in extra else n for a, n in enumerate(whole.shape))
        return self.graph.reshape(
            Reducer(self.graph, scope.scalars).over(_FOLDED[unit.update or ""], whole, extra), kept
        )


@frozen
class Scope:
    """Index variables and their instances. The value of an expression has an axis for each, of
    extent 1 where it does not depend on it.

    Attributes:
        env: every variable's values.
        mask: which instances exist; None for all.
    """

    equations: Equations
    scalars: Scalars
    env: dict[Var, np.ndarray]
    extents: tuple[int, ...]
    mask: np.ndarray | None = None
    done: dict[int, Value] = field(default_factory=dict)

    @staticmethod
    def of(equations: Equations, axes: Sequence[Axis]) -> Scope:
        """The instances of an equation."""
        return Scope(equations, Scalars(equations.graph), {}, ()).inside(axes)

    def inside(self, axes: Sequence[Axis]) -> Scope:
        """With more variables, whose ranges may depend on those before them."""
        scope = self
        for axis in axes:
            lo, hi = (scope._static(e) for e in (axis.lo, axis.hi))
            if lo is None or hi is None:
                raise Inexpressible("a range that is computed")
            first, last = (int(lo.min()), int(hi.max())) if lo.size and hi.size else (0, 0)
            values = np.arange(first, max(first, last), dtype=np.int64).reshape((1,) * len(scope.env) + (-1,))
            env = {v: a[..., None] for v, a in scope.env.items()} | {axis.var: values}
            exists = None if scope.mask is None else scope.mask[..., None]
            if lo.size > 1 or hi.size > 1:
                here = (lo[..., None] <= values) & (values < hi[..., None])
                exists = here if exists is None else exists & here
            scope = Scope(self.equations, self.scalars, env, (*scope.extents, values.size), exists)
        return scope

    @property
    def graph(self) -> Graph:
        return self.equations.graph

    def exists(self, unit: Equation) -> Value | None:
        """The instances of an equation that there are; None for all."""
        mask = None if self.mask is None else known(self.mask, BOOL)
        if unit.where is None:
            return mask
        where = self.convert(unit.where)
        return where if mask is None else self.scalars.apply("And", mask, where, dtype=BOOL)

    def _decided(self, e: Node) -> bool:
        """True if no data decide the value of an expression."""
        return all(self.equations.value(t).array is not None for t in tensors(e))

    def _static(self, e: Expr) -> np.ndarray | None:
        """The values of an expression that no data decide; None for others."""
        if not self._decided(e):
            return None
        given = {t: self.equations.value(t) for t in tensors(e)}
        found = {
            t: Buffer(np.broadcast_to(v.array, v.shape)) for t, v in given.items() if v.array is not None
        }
        with quiet():
            values = np.asarray(evaluate(e, Points(self.env, self.extents, np.array(True)), found).values)
        return values.reshape((1,) * (len(self.env) - values.ndim) + values.shape)

    def convert(self, e: Expr) -> Value:
        """The value of an expression for every instance."""
        stack: list[tuple[Node, bool]] = [(e, False)]
        while stack:
            node, ready = stack.pop()
            if id(node) in self.done:
                continue
            below = (
                []
                if ready or isinstance(node, Reduce) or self._decided(node)
                else [c for c in children(node) if isinstance(c, Expr)]
            )
            if (
                isinstance(node, Read)
                and node.guard is not None
                and node.guard.value is not None
                and not ready
            ):
                below.append(node.guard.value)
            if below:
                stack.append((node, True))
                stack += [(c, False) for c in below]
            elif isinstance(node, Expr):
                self.done[id(node)] = self._value(node)
        return self.done[id(e)]

    def _value(self, e: Expr) -> Value:
        if (found := self._static(e)) is not None:
            return known(found, e.dtype)
        if isinstance(e, Call) and (found := self._called(e)) is not None:
            return found
        if isinstance(e, Read):
            guard = e.guard
            outside = None if guard is None or guard.value is None else self.done[id(guard.value)]
            reader = Reader(self.graph, self.scalars)
            found = reader.read(
                self.equations.value(e.tensor),
                [self.done[id(i)] for i in e.indices],
                guard.mode if guard else "",
                outside,
            )
            return self.graph.reshape(found, (1,) * (len(self.env) - len(found.shape)) + found.shape)
        if isinstance(e, Reduce):
            return self._reduced(e)
        return self.scalars.node(e, [self.done[id(c)] for c in children(e)])

    def _called(self, e: Call) -> Value | None:
        """A function that is no operator of ONNX's and no short formula; None for others."""
        args = [self.done[id(c)] for c in e.args]
        if e.function in RANDOM:
            return drawn(self.scalars, e.function, e.dtype, args[0], args[1:])
        if e.function in ("shl", "shr"):
            return shifted(self.scalars, *args, left=e.function == "shl")
        return SPECIAL[e.function](self.scalars, *args) if e.function in SPECIAL else None

    def _reduced(self, e: Reduce) -> Value:
        inner = self.inside(e.axes)
        reducer, outer = Reducer(self.graph, self.scalars), len(self.env)
        over = list(range(outer, outer + len(e.axes)))
        mask = None if inner.mask is None else known(inner.mask, BOOL)
        if e.where is not None:
            where = inner.convert(e.where)
            mask = where if mask is None else self.scalars.apply("And", mask, where, dtype=BOOL)
        factors = [e.body]
        while e.op == "sum" and mask is None and any(isinstance(f, Mul) for f in factors):
            factors = [g for f in factors for g in ((f.lhs, f.rhs) if isinstance(f, Mul) else (f,))]
        values = [inner.convert(f) for f in factors]
        if len([v for v in values if v.array is None]) > 1:
            return reducer.product(values, over, inner.extents, e.dtype)
        body = inner.convert(e.body)
        if e.op in ("argmax", "argmin"):
            return reducer.place(
                e, body, mask, over, inner.extents, [int(inner.env[a.var].min(initial=0)) for a in e.axes]
            )
        body = self.graph.cast(body, e.dtype)
        whole = [inner.extents[a] if a in over else n for a, n in enumerate(body.shape)]
        if mask is not None:
            body = reducer.masked(e.op, body, mask)
            whole = [inner.extents[a] if a in over else n for a, n in enumerate(body.shape)]
        return reducer.over(e.op, self.graph.expand(body, whole), over)
