"""The meaning of Programs: what every compiled kernel must agree with, bit for bit where floats
allow it.

Float folds are sequential in lexicographic order of their binders; other axes are vectorised.
Equations run as soon as what they read is complete. A cycle of equations (a recurrence) runs
instance by instance in whatever order the reads allow: slabs of the first axis from either end,
then all that is left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from texpr.ir.dtypes import from_numpy, numpy_dtype
from texpr.ir.expr import Expr, Read, Reduce, Tensor, Var
from texpr.ir.extern import is_extern, run_extern
from texpr.ir.interpreter.arithmetic import Array, cast, compute_dtype, fold_at, load, quiet, store
from texpr.ir.interpreter.evaluate import (
    Buffer,
    Points,
    blocks,
    constant_points,
    either,
    evaluate,
    new_buffer,
    place,
)
from texpr.ir.shapes import bind_sizes, caller_shape, evaluate_size, flat_shape
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import children, walk
from texpr.support.errors import CallError, ResourceError
from texpr.support.frozen_dataclass import frozen


@frozen
class Instance:
    """One element that was just computed.

    Attributes:
        indices: values of the equation's indices, and of sizes.
        tensors: all tensors as far as they are computed; what is not is whatever the memory holds.
        read: the value of an expression of the equation, outside of reductions.
    """

    equation: Equation
    indices: dict[Var, int]
    value: np.generic
    tensors: dict[Tensor, Array]
    read: Callable[[Expr], np.generic]


@frozen
class Stop:
    """Call a function when an element of a tensor is computed, before it is stored; with each
    update of it.
    """

    tensor: str
    element: tuple[int, ...]
    call: Callable[[Instance], None]


def interpret(
    program: Program,
    arrays: Sequence[np.ndarray],
    sizes: Mapping[str, int] | None = None,
    stop: Stop | None = None,
) -> tuple[np.ndarray, ...]:
    """The outputs of a program, in the callers' shapes.

    Args:
        arrays: one per input, in the callers' shapes; bf16 as its 16 bits (uint16), floats of 8
            bits as uint8, or as what ml_dtypes has for them.
        sizes: sizes that no input tells.
        stop: where to call a function on the way.
    Raises:
        CallError: arrays that do not fit the inputs.
        AssertionError: an instance that runs reads or writes outside an array, or reads what
            nothing defines.
    """
    if len(arrays) != len(program.inputs):
        raise CallError(
            f"`{program.name}` takes {len(program.inputs)} arrays, got {len(arrays)}", code="arguments"
        )
    stored = [_stored(tensor, np.asarray(array)) for tensor, array in zip(program.inputs, arrays)]
    by_name = {var.name: var for var in program.sizes}
    known = {by_name[name]: int(value) for name, value in (sizes or {}).items() if name in by_name}
    values, packs = bind_sizes(program.inputs, [array.shape for array in stored], known)
    if is_extern(program):
        return run_extern(program, stored, [caller_shape(t, values, packs) for t in program.outputs], values)
    _check_indices(program)
    with quiet():
        run = _Run(program, values, packs, stop)
        for tensor, array in zip(program.inputs, stored):
            run.buffers[tensor] = Buffer(load(array, tensor.dtype).reshape(flat_shape(tensor, values)))
        run.all()
        return tuple(run.result(tensor) for tensor in program.outputs)


MAX_INDICES = 32
"""NumPy broadcasts arrays of no more dimensions."""


def _check_indices(program: Program) -> None:
    """Refuse more indices at once than the arrays of the interpreter have dimensions."""
    for e in program.equations:
        if isinstance(e, Equation) and (count := _deepest(e)) > MAX_INDICES:
            raise ResourceError(
                f"{program.name}: `{e.target.name}` has {count} indices at once, and the interpreter takes "
                f"{MAX_INDICES}",
                e.span,
                code="size",
                help="compiled kernels take more",
            )


def _deepest(equation: Equation) -> int:
    """Indices of the innermost place."""
    most, stack, seen = len(equation.axes), [(node, len(equation.axes)) for node in children(equation)], set()
    while stack:
        if (at := stack.pop()) in seen:
            continue
        seen.add(at)
        node, count = at
        count += len(node.axes) if isinstance(node, Reduce) else 0
        most = max(most, count)
        stack += [(c, count) for c in children(node)]
    return most


def _stored(tensor: Tensor, array: Array) -> Array:
    dtype = from_numpy(array.dtype)
    held = numpy_dtype(tensor.dtype)
    if tensor.dtype.as_bits and dtype == tensor.dtype:
        return array.view(held)
    if dtype != tensor.dtype and not (tensor.dtype.as_bits and array.dtype == held):
        raise CallError(f"`{tensor.name}` is {dtype or array.dtype}, expected {tensor.dtype}", code="dtype")
    return array.astype(held, copy=False)


def dependences(program: Program) -> list[set[int]]:
    """For every equation the positions of the equations that must be complete before it: those that
    define what it reads, and for an update the earlier equations of its target."""
    producers: dict[Tensor, list[int]] = {}
    for position, unit in enumerate(program.equations):
        for target in unit.targets:
            producers.setdefault(target, []).append(position)
    needs = []
    for position, unit in enumerate(program.equations):
        needed = {p for tensor in reads(unit) for p in producers.get(tensor, ())}
        if isinstance(unit, Equation) and unit.update is not None:
            needed |= {p for p in producers[unit.target] if p < position}
        needs.append(needed)
    return needs


def reads(unit: Equation | Invoke) -> dict[Tensor, None]:
    """The tensors an equation or a call reads, in order of appearance."""
    if isinstance(unit, Invoke):
        return dict.fromkeys(unit.args)
    return dict.fromkeys(node.tensor for node in walk(unit) if isinstance(node, Read))


def cycle(needs: list[set[int]], waiting: set[int]) -> set[int]:
    """A cycle among waiting equations that depends on nothing else that waits."""
    reach = {unit: _reachable(unit, needs, waiting) for unit in waiting}
    smallest = min((unit for unit in waiting if unit in reach[unit]), key=lambda unit: len(reach[unit]))
    return reach[smallest]


def _reachable(unit: int, needs: list[set[int]], waiting: set[int]) -> set[int]:
    found: set[int] = set()
    stack = [unit]
    while stack:
        new = needs[stack.pop()] & waiting - found
        found |= new
        stack += new
    return found


class _Run:
    """One call of a program."""

    def __init__(
        self,
        program: Program,
        sizes: dict[Var, int],
        packs: dict[Var, tuple[int, ...]],
        stop: Stop | None = None,
    ) -> None:
        self.stop = stop
        self.program, self.sizes, self.packs = program, sizes, packs
        self.outer = constant_points(sizes)
        self.buffers: dict[Tensor, Buffer] = {}

    def all(self) -> None:
        """Run every equation, each as soon as what it needs is complete."""
        for tensor in (*self.program.outputs, *self.program.temporaries):
            self.buffers.setdefault(tensor, new_buffer(tensor, flat_shape(tensor, self.sizes)))
        needs = dependences(self.program)
        waiting = set(range(len(needs)))
        while waiting:
            ready = sorted(unit for unit in waiting if not needs[unit] & waiting)
            for unit in ready:
                self.unit(self.program.equations[unit])
            if not ready:
                ready = sorted(cycle(needs, waiting))
                self.recurrence([self.program.equations[unit] for unit in ready])
            waiting -= set(ready)

    def unit(self, unit: Equation | Invoke) -> None:
        if isinstance(unit, Invoke):
            self.invoke(unit)
            return
        for points in blocks(unit.axes, self.outer, self.buffers, where=unit.where):
            done = self.write(unit, points, np.zeros(points.shape, bool))
            assert (done | ~points.active).all(), (
                f"{self.program.name}: {_first_bad(unit, points, points.active & ~done)}"
            )

    def invoke(self, unit: Invoke) -> None:
        args = [
            store(self.values(t), t.dtype).reshape(caller_shape(t, self.sizes, self.packs)) for t in unit.args
        ]
        known = {var.name: self.sizes[var] for var in unit.program.sizes if var in self.sizes}
        for target, result in zip(unit.targets, interpret(unit.program, args, known), strict=True):
            shape = flat_shape(target, self.sizes)
            assert result.size == prod(shape), (
                f"{self.program.name}: {unit.program.name} returns {result.shape} for {target.name}"
            )
            self.buffers[target] = Buffer(load(result, target.dtype).reshape(shape))

    def recurrence(self, equations: list[Equation | Invoke]) -> None:
        """Run a cycle of equations: whatever instance has all it reads is next."""
        pending = [_Pending.of(e, self) for e in equations if isinstance(e, Equation) and e.update is None]
        names = ", ".join(dict.fromkeys(p.equation.target.name for p in pending))
        assert len(pending) == len(equations), (
            f"{self.program.name}: a call or an update depends on itself ({names})"
        )
        while any(p.slabs for p in pending):
            if any([p.advance(self) for p in pending]):
                continue
            assert any([p.sweep(self) for p in pending]), (
                f"{self.program.name}: the equations of {names} wait for each other, or read outside an array"
            )

    def write(self, equation: Equation, points: Points, done: Array) -> Array:
        """Compute the points not `done` and write those that exist; all points done now."""
        shape = points.shape
        value = evaluate(equation.value, points, self.buffers)
        indices = [evaluate(e, points, self.buffers) for e in equation.indices]
        buffer = self.buffers[equation.target]
        places, outside = place(
            [i.values for i in indices], buffer.values.shape, equation.guard.mode if equation.guard else ""
        )
        dropped = outside if equation.guard is not None and equation.guard.mode == "drop" else np.False_
        bad = either(
            points.bad,
            *(i.bad for i in indices),
            None if value.bad is None else value.bad & ~dropped,
            outside & ~dropped,
        )
        now = points.active & ~done & ~np.broadcast_to(np.False_ if bad is None else bad, shape)
        lanes = now & ~dropped
        target, flat = equation.target, np.zeros(shape, np.int64)
        for p, n in zip(places, buffer.values.shape):
            flat = flat * n + p
        new = np.asarray(
            cast(np.broadcast_to(value.values, shape)[lanes], equation.value.dtype, target.dtype)
        )
        if self.stop is not None and target.name == self.stop.tensor:
            self.stops(self.stop, equation, points, lanes, places, new)
        self.assign(equation, buffer, flat[lanes], new.astype(compute_dtype(target.dtype), copy=False))
        return done | now

    def stops(
        self,
        stop: Stop,
        equation: Equation,
        points: Points,
        lanes: Array,
        places: Sequence[Array],
        new: Array,
    ) -> None:
        """Call the function at each point that computes the element, in order."""
        here = lanes.copy()
        for p, k in zip(places, stop.element, strict=True):
            here = here & (p == k)
        for number in np.flatnonzero(here[lanes]):
            point = int(np.flatnonzero(lanes)[number])
            env = {v: np.broadcast_to(x, points.shape).reshape(-1)[point] for v, x in points.env.items()}
            at = Points({v: np.asarray(x) for v, x in env.items()}, (), np.array(True))
            instance = Instance(
                equation,
                {v: int(x) for v, x in env.items()},
                new[number],
                {t: b.values for t, b in self.buffers.items()},
                lambda e, at=at: evaluate(e, at, self.buffers).values[()],  # type: ignore[arg-type]
            )
            stop.call(instance)

    def assign(self, equation: Equation, buffer: Buffer, positions: Array, values: Array) -> None:
        """Write elements, or fold into them, at flat positions in order."""
        name = equation.target.name
        assert buffer.defined is not None, f"{name} is an input"
        elements, defined = buffer.values.reshape(-1), buffer.defined.reshape(-1)
        if equation.update is not None:
            assert defined[positions].all(), f"{name} is updated before it is defined"
            fold_at(equation.update, elements, positions, values, equation.target.dtype)
            return
        before = np.count_nonzero(defined)
        assert not defined[positions].any(), f"an element of {name} is defined twice"
        elements[positions] = values
        defined[positions] = True
        assert np.count_nonzero(defined) == before + len(values), f"an element of {name} is defined twice"

    def values(self, tensor: Tensor) -> Array:
        buffer = self.buffers[tensor]
        assert buffer.defined is None or buffer.defined.all(), (
            f"{self.program.name}: {tensor.name} is not defined everywhere"
        )
        return buffer.values

    def result(self, tensor: Tensor) -> Array:
        return (
            store(self.values(tensor), tensor.dtype)
            .reshape(caller_shape(tensor, self.sizes, self.packs))
            .copy()
        )


def _first_bad(equation: Equation, points: Points, bad: Array) -> str:
    at = np.unravel_index(int(np.argmax(bad)), bad.shape)
    where = [
        f"{axis.var.name}={int(np.broadcast_to(points.env[axis.var], bad.shape)[at])}"
        for axis in equation.axes
    ]
    return (
        f"an equation of {equation.target.name} reads or writes what does not exist at "
        f"{', '.join(where) or 'its only point'}"
    )


@dataclass(slots=True)
class _Pending:
    """An equation of a recurrence: the slabs of its first axis that are not complete, and the
    points done in each.
    """

    equation: Equation
    slabs: deque[int]
    done: dict[int, Array] = field(default_factory=dict)

    @staticmethod
    def of(equation: Equation, run: _Run) -> _Pending:
        if not equation.axes:
            return _Pending(equation, deque([0]))
        first = equation.axes[0]
        return _Pending(
            equation, deque(range(evaluate_size(first.lo, run.sizes), evaluate_size(first.hi, run.sizes)))
        )

    def advance(self, run: _Run) -> bool:
        """Complete slabs from the front, or else from the back; whether anything was computed."""
        progress = False
        while self.slabs and (step := self.attempt(self.slabs[0], run)):
            progress = True
            if step < 2:
                break
            self.slabs.popleft()
        before = len(self.slabs)
        while self.slabs and not progress and (step := self.attempt(self.slabs[-1], run)):
            if step < 2:
                return True
            self.slabs.pop()
        return progress or len(self.slabs) < before

    def sweep(self, run: _Run) -> bool:
        """Try every slab; whether anything was computed."""
        steps = {slab: self.attempt(slab, run) for slab in self.slabs}
        self.slabs = deque(slab for slab in self.slabs if steps[slab] < 2)
        return any(steps.values())

    def attempt(self, slab: int, run: _Run) -> int:
        """Compute what can be computed of a slab: 0 nothing, 1 something, 2 all that was left."""
        first = (slab, slab + 1) if self.equation.axes else None
        for points in self.points(run, first):
            before = self.done.get(slab, ~points.active)
            self.done[slab] = run.write(self.equation, points, before)
            if self.done[slab].all():
                del self.done[slab]
                return 2
            return int((self.done[slab] & ~before).any())
        return 2

    def points(self, run: _Run, first: tuple[int, int] | None) -> Iterator[Points]:
        """The instances of a slab, all in one block."""
        found = list(
            blocks(self.equation.axes, run.outer, run.buffers, first=first, where=self.equation.where)
        )
        assert len(found) <= 1, "a slab of a recurrence is too large to interpret"
        return iter(found)
