"""The meaning of Kernels, instance by instance: the kernel is translated to plain Python once per
call and run.

Every access is checked against its array, and buffers start as poison (NaN, or a conspicuous
integer). Loops that claim to be parallel may be run in another order, so that a test can catch a
wrong claim. Threads of a block take turns at barriers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from texpr.ir.dtypes import DType, int_range
from texpr.ir.expr import Tensor, Var
from texpr.ir.extern import opened_shape, run_function
from texpr.ir.interpreter.arithmetic import UPDATE, Array, compute_dtype, load, quiet, store
from texpr.ir.interpreter.translate import ExprWriter, combine, converted
from texpr.ir.loop import (
    Alloc,
    Barrier,
    Commit,
    CommitProducts,
    ExternCall,
    For,
    If,
    Kernel,
    Poll,
    Prefetch,
    Stmt,
    Store,
    Wait,
    WaitProducts,
)
from texpr.ir.loop_kind import SERIAL, UNROLLED, InstructionNest, Thread, has_lanes
from texpr.ir.shapes import flat_shape
from texpr.ir.traverse import variables, walk

ORDERS = ("serial", "reversed", "shuffled", "apart")
DEEPEST = 15
"""Loops nested more deeply go into a function of their own: Python allows 20."""


Watcher = Callable[[Store, tuple[int, ...], tuple[int, ...], object, object], None]
"""Is told of every store, with the variables of the loops around it, outermost first: its
element, and what that held and holds.
"""


def interpret_kernel(
    kernel: Kernel,
    arrays: Sequence[np.ndarray],
    sizes: Mapping[Var, int] | Mapping[str, int],
    order: str = "serial",
    watch: Watcher | None = None,
) -> tuple[np.ndarray, ...]:
    """The outputs of a kernel.

    Args:
        arrays: one per input, in the flat shape of the IR; types that NumPy lacks as their bits
            (uint16, uint8).
        sizes: the value of every size of the kernel, by variable or by name.
        order: how loops run that claim to be parallel: `serial`, `reversed`, `shuffled`, or
            `apart`, where every iteration sees memory as it was before the loop and the last write
            of an element stays.
        watch: is told of every store when it is done.
    Raises:
        AssertionError: an access outside its array, or threads that do not meet at a barrier.
    """
    assert order in ORDERS, f"no order {order}"
    by_name = {(key.name if isinstance(key, Var) else key): int(value) for key, value in sizes.items()}
    values = {var: by_name[var.name] for var in kernel.sizes}
    buffers: dict[Tensor, Array] = {}
    for tensor, array in zip(kernel.inputs, arrays, strict=True):
        shape = flat_shape(tensor, values)
        assert array.shape == shape, f"{kernel.name}: {tensor.name} has shape {array.shape}, expected {shape}"
        buffers[tensor] = load(array, tensor.dtype)
    allocated = (node.tensor for node in walk(kernel) if isinstance(node, Alloc))
    for tensor in (*kernel.outputs, *kernel.temporaries, *allocated):
        # Buffers of copies for some sizes (`specialize`) are empty where a size that is another one
        # would make them less than that.
        shape = tuple(max(0, n) for n in flat_shape(tensor, values))
        fresh = np.full(shape, poison(tensor.dtype), compute_dtype(tensor.dtype))
        buffers[tensor] = fresh.view(_Recorded) if order == "apart" else fresh
    with quiet():
        _KernelWriter(kernel, buffers, values, watch).function(order)()
    return tuple(store(buffers[tensor].view(np.ndarray), tensor.dtype) for tensor in kernel.outputs)


class _Recorded(np.ndarray):
    """Memory that knows where it was written, be it with what it held."""

    places: list[object]

    def __array_finalize__(self, whole: object) -> None:
        self.places = []

    def __setitem__(self, at: object, value: object) -> None:
        super().__setitem__(at, value)  # type: ignore[index]
        self.places.append(at)


def poison(t: DType) -> float | int | bool:
    """The content of memory that nobody has written."""
    if t.is_float:
        return float("nan")
    return True if t.kind == "bool" else int_range(t)[1] - 6


_Item = tuple[int, int, bool, Stmt | str]
"""Indentation, loops around in this function, whether this function is a thread that may wait,
and what to write.
"""


class _KernelWriter:
    """Python source for the body of a kernel."""

    def __init__(
        self, kernel: Kernel, buffers: Mapping[Tensor, Array], sizes: Mapping[Var, int], watch: Watcher | None
    ) -> None:
        self.kernel, self.buffers, self.watch = kernel, buffers, watch
        self.around = {} if watch is None else loops_around_stores(kernel)
        self.out = ExprWriter(buffers, {var: str(value) for var, value in sizes.items()})
        self.sizes = sizes
        self.with_barrier = _loops_around_barriers(kernel)
        self.stored: list[list[Array]] = []
        """Arrays that each loop which claims to be parallel stores to."""

    def function(self, order: str) -> Callable[[], None]:
        """The kernel as a Python function without arguments."""
        self.statements()
        text = "\n".join(["def kernel():", "  pass", *self.out.lines])
        namespace = {
            **self.out.namespace,
            "_order": _ordering(order),
            "_serially": _serial,
            "_together": _together,
            "_stored": self.stored,
        }
        exec(compile(text, f"<{self.kernel.name}>", "exec"), namespace)
        return namespace["kernel"]

    def statements(self) -> None:
        todo: list[_Item] = [(1, 0, False, s) for s in reversed(self.kernel.body)]
        while todo:
            indent, depth, threads, item = todo.pop()
            self.out.indent = indent
            self.out.forget()
            match item:
                case str():
                    self.out.line(item)
                case Store():
                    self.store(item)
                case ExternCall():
                    self.out.line(f"{self.out.constant(self.extern(item))}()")
                case Alloc(tensor):
                    self.out.renew(tensor, self.buffers[tensor])
                case Barrier():
                    self.out.line("yield" if threads else "pass")
                case Prefetch(_, indices):
                    for i in indices:
                        self.out.line(self.out.expr(i))  # no effect, but what it reads has to be there
                case Poll() | Commit() | CommitProducts() | Wait() | WaitProducts():
                    self.out.line("pass")
                case If(cond, body):
                    self.out.line(f"if {self.out.expr(cond)}:")
                    todo += [(indent + 1, depth, threads, s) for s in reversed(body or ("pass",))]
                case For():
                    todo += reversed(self.loop(item, indent, depth, threads))
                case _:
                    raise AssertionError(f"no meaning for {type(item).__name__}")

    def loop(self, loop: For, indent: int, depth: int, threads: bool) -> list[_Item]:
        """Write the head of a loop; what follows it, with where it stands."""
        meets = loop in self.with_barrier
        if depth == DEEPEST:
            function = self.out.fresh("deep")
            self.out.line(f"def {function}():")
            after = f"yield from {function}()" if meets and threads else f"{function}()"
            return [(indent + 1, 0, threads, loop), (indent, depth, threads, after)]
        name = self.out.bind(loop.var)
        extent = self.out.expr(loop.extent)
        if loop.kind in (SERIAL, UNROLLED) or isinstance(loop.kind, InstructionNest):
            values = f"_serially({extent})"
        else:
            written = (
                {}
                if meets
                else dict.fromkeys(
                    s.tensor for s in walk(loop) if isinstance(s, Store) and not _joined(loop, s)
                )
            )
            values = f"_order({extent}, _stored[{len(self.stored)}])"
            self.stored.append([self.buffers[t] for t in written])
        if meets and isinstance(loop.kind, Thread):
            function = self.out.fresh("thread")
            self.out.line(f"def {function}({name}):")
            everyone = f"_together([{function}(i) for i in {values}])"
            after = f"yield from {everyone}" if threads else f"for _ in {everyone}: pass"
            return [*((indent + 1, 0, True, s) for s in loop.body), (indent, depth, threads, after)]
        self.out.line(f"for {name} in {values}:")
        return [(indent + 1, depth + 1, threads, s) for s in loop.body or ("pass",)]

    def extern(self, call: ExternCall) -> Callable[[], None]:
        """Runs the registered function over the buffers."""

        def run() -> None:
            shape = {t: opened_shape(t, self.buffers[t].shape, {}) for t in (*call.inputs, *call.outputs)}
            given = [store(self.buffers[t], t.dtype).reshape(shape[t]) for t in call.inputs]
            wanted = [shape[t] for t in call.outputs]
            results = run_function(call.name, call.constants, call.inputs, call.outputs, given, wanted, {})
            for tensor, result in zip(call.outputs, results):
                self.buffers[tensor][...] = load(result, tensor.dtype).reshape(self.buffers[tensor].shape)

        return run

    def store(self, node: Store) -> None:
        assert node.tensor not in self.kernel.inputs, (
            f"{self.kernel.name}: a store to the input {node.tensor.name}"
        )
        element = [self.out.expr(i) for i in node.indices]
        place = self.out.element(node.tensor, element)
        value, t = self.out.expr(node.value), node.tensor.dtype
        if node.value.dtype != t:
            value = converted(value, node.value.dtype, t, self.out)
        if node.update is not None:
            old = self.out.element_value(place, t)
            value = combine(UPDATE[node.update], old, value, t, self.out)
        if self.watch is None:
            self.out.line(f"{place} = {value}")
            return
        loops = [self.out.names[v] for v in self.around[node]]
        old = self.out.assign(place)
        self.out.line(f"{place} = {value}")
        told = (
            f"{self.out.constant(node)}, ({''.join(f'{v}, ' for v in loops)}), "
            f"({''.join(f'{i}, ' for i in element)}), {old}, {place}"
        )
        self.out.line(f"{self.out.constant(self.watch)}({told})")


def loops_around_stores(kernel: Kernel) -> dict[Store, tuple[Var, ...]]:
    """The variables of the loops around each store, outermost first."""
    found: dict[Store, tuple[Var, ...]] = {}
    todo: list[tuple[Stmt, tuple[Var, ...]]] = [(s, ()) for s in kernel.body]
    while todo:
        s, around = todo.pop()
        if isinstance(s, Store):
            found[s] = around
        elif isinstance(s, For | If):
            todo += [(n, (*around, s.var) if isinstance(s, For) else around) for n in s.body]
    return found


def _joined(loop: For, s: Store) -> bool:
    """True if lanes reduce their updates of one element before the element is touched."""
    return has_lanes(loop.kind) and s.update is not None and loop.var not in variables(*s.indices)


def _loops_around_barriers(kernel: Kernel) -> set[For]:
    """Loops that contain a barrier at any depth."""
    above: dict[int, list[For | If]] = {}
    for node in walk(kernel):
        if isinstance(node, For | If):
            for child in node.body:
                above.setdefault(id(child), []).append(node)
    found: dict[For | If, None] = {}
    todo = [
        parent for node in walk(kernel) if isinstance(node, Barrier) for parent in above.get(id(node), ())
    ]
    while todo:
        node = todo.pop()
        if node not in found:
            found[node] = None
            todo += above.get(id(node), ())
    return {node for node in found if isinstance(node, For)}


def _serial(extent: int) -> Iterable[int]:
    return range(extent)


def _ordering(order: str) -> Callable[[int, list[Array]], Iterable[int]]:
    generator = random.Random(0)

    def shuffled(extent: int, _: list[Array]) -> list[int]:
        return generator.sample(range(extent), max(extent, 0))

    return {
        "serial": lambda extent, _: range(extent),
        "reversed": lambda extent, _: reversed(range(extent)),
        "shuffled": shuffled,
        "apart": _apart,
    }[order]


def _apart(extent: int, stored: list[Array]) -> Iterator[int]:
    """Each iteration on memory as it was before all of them, as if all of them read before any
    writes.
    """
    recorded = [a for a in stored if isinstance(a, _Recorded)]
    before, merged, outer = (
        [a.view(np.ndarray).copy() for a in recorded],
        [a.view(np.ndarray).copy() for a in recorded],
        [a.places for a in recorded],
    )
    for k in range(extent):
        for a, old in zip(recorded, before):
            np.copyto(a, old)
            a.places = []
        yield k
        for a, new, places in zip(recorded, merged, outer):
            for at in dict.fromkeys(a.places):
                new[at] = a[at]  # type: ignore[index]
            places += a.places
    for a, new, places in zip(recorded, merged, outer):
        np.copyto(a, new)
        a.places = places


def _together(threads: list[Iterator[None]]) -> Iterator[None]:
    """Run threads up to their next barrier, one after another, until all have ended."""
    while True:
        waiting = [next(thread, threads) is None for thread in threads]
        assert all(waiting) or not any(waiting), (
            "some threads of a block do not reach a barrier that others wait at"
        )
        if not any(waiting):
            return
        yield
