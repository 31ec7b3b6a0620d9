"""From tensors that were not computed yet to one plan, and from a loss to the gradients of its
leaves.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from weakref import ReferenceType, ref

from texpr.graph.arrays.recording import recording
from texpr.graph.capture.capture import MAKE_A_LEAF, NOTHING, Capture
from texpr.graph.capture.symbolic import Symbolic
from texpr.graph.execution.plan import Plan
from texpr.graph.lazy import native_tensors
from texpr.graph.lazy.computation_cache import ComputationCache, Entry, heaviest_cache
from texpr.graph.lazy.devices import transfer
from texpr.graph.lazy.lazy_tensor import Node, Tensor, apply_program
from texpr.graph.lazy.recipes import MOST as MOST_RECIPES
from texpr.ir.tensor import Program
from texpr.runtime.gpu import HOST
from texpr.support.errors import CallError
from texpr.support.forks import held_over_forks
from texpr.support.options import current

_lock = held_over_forks(threading.RLock())
"""Held while a history is read and while tensors get values: one that gets its value in another
thread would be a leaf in the middle of it. Plans run without it.
"""


def _references(made: Mapping[int, object]) -> list[int]:
    """Number of references to each of these objects, with those of this function."""
    return [sys.getrefcount(t) for t in made.values()]


_OWN_REFERENCES = _references({0: object()})[0]
"""To a tensor that `History.held` looks at: from `made` and a variable; before Python 3.14, which lends
a variable's reference, from an argument as well.
"""


class History:
    """The calls and leaves that some tensors are computed from.

    Attributes:
        nodes: calls, producers first.
        leaves: tensors that are taken as they are.
        caches: of programs of modules among them.
        made: arguments that are results of calls, by identity.
        uses: how often each of them is an argument.
    """

    __slots__ = ("_by_value", "_place", "_structure", "_values", "caches", "leaves", "made", "nodes", "uses")

    def __init__(self, wanted: Sequence[Tensor], *, by_value: bool) -> None:
        """Walk from tensors to their leaves.

        Args:
            by_value: tensors with a value are leaves; else those to which gradients flow.
        """
        self.nodes: list[Node] = []
        self.leaves: list[Tensor] = []
        self.caches: dict[ComputationCache, None] = {}
        self.made: dict[int, Tensor] = {}
        self.uses: dict[int, int] = {}
        self._by_value = by_value
        self._place: dict[int, int] = {}
        """Of nodes and leaves by identity; leaves count from -1 down."""
        self._values: dict[int, int] = {}
        self._structure: list[int] = []
        for t in wanted:
            if self._is_leaf(t):
                self._add_leaf(t)
            else:
                few = t.node.depth <= native_tensors.FEW and by_value  # type: ignore[union-attr]
                if id(t.node) not in self._place:
                    (self._add_few if few else self._add_call)(t.node)  # type: ignore[arg-type]

    def _is_leaf(self, t: Tensor) -> bool:
        return t.value is not None if self._by_value else t.node is None or t.stops

    def _add_call(self, node: Node) -> None:
        """Add a call and those before it, where there may be many in a row."""
        place, stack = self._place, list[Any]([node])
        while stack:
            node = stack[-1]
            assert node is not None
            waiting = [
                a.node
                for a in node.arguments
                if not self._is_leaf(a) and id(a.node) not in place and id(node) not in place
            ]
            if waiting:
                stack += waiting
            else:
                stack.pop()
                if id(node) not in place:
                    self._add_few(node)

    def _add_few(self, node: Node) -> None:
        """Add a call and those before it, of which few are in a row. Looking at tensors spends its
        time here: the test of `_is_leaf` is written out.
        """
        place, structure, uses, by_value = self._place, self._structure, self.uses, self._by_value
        key: list[int] = [id(node.program)]
        for a in node.arguments:
            at = id(a)
            if (a.value is not None) if by_value else (a.node is None or a.stops):
                if at not in place:
                    self._add_leaf(a)
                key.append(place[at])
            else:
                made = a.node
                if id(made) not in place:
                    self._add_few(made)  # type: ignore[arg-type]
                uses[at] = uses.get(at, 0) + 1
                self.made[at] = a
                key.append(place[id(made)])
                key.append(a.index)
        structure += key
        place[id(node)] = len(self.nodes)
        self.nodes.append(node)
        if node.cache is not None:
            self.caches[node.cache] = None

    def _add_leaf(self, t: Tensor) -> None:
        """One leaf for all tensors that share a value."""
        if id(t) in self._place:
            return
        shared = self._values.get(id(t.value)) if t.value is not None and not t.requires_grad else None
        if shared is None:
            self.leaves.append(t)
            shared = -len(self.leaves)
            if t.value is not None and not t.requires_grad:
                self._values[id(t.value)] = shared
        self._place[id(t)] = shared

    def held(self) -> list[Tensor]:
        """The results of calls without a value that are held by more than the calls of this
        history: they may be asked for. References that CPython does not count make a tensor be
        computed again, and not wrong.
        """
        made, uses = self.made, self.uses
        counts = zip(made, _references(made))
        found = [made[at] for at, n in counts if n > uses[at] + _OWN_REFERENCES]
        others = [t for n in self.nodes if n.outputs for r in n.outputs if (t := r()) is not None]
        return found + [t for t in others if t.value is None and id(t) not in made]

    def place(self, t: Tensor) -> tuple[int, int]:
        """The origin of a tensor's value: a leaf, or a result of a node."""
        return (self._place[id(t)], 0) if self._is_leaf(t) else (self._place[id(t.node)], t.index)

    def structure(self) -> tuple:
        """Equal for histories that the same plan computes: of each call the program and its
        arguments, a leaf by its negative number, a result by its call and its position there.
        """
        return (*self._structure, *[t.spec or t.own_spec() or (t.shape, t.dtype) for t in self.leaves])

    def captured(self) -> tuple[Capture, list[Symbolic], Callable[[Tensor], Symbolic]]:
        """The calls as a capture with the leaves as data; the leaves there, and where other
        tensors are.
        """
        capture = Capture("lazy")
        names = {id(a): p.name for n in reversed(self.nodes) for p, a in zip(n.program.inputs, n.arguments)}
        leaves = [capture.input(names.get(id(t), "x"), t.shape, t.dtype) for t in self.leaves]
        made: list[tuple[Symbolic, ...]] = []

        def found(t: Tensor) -> Symbolic:
            at, index = self.place(t)
            return leaves[-at - 1] if at < 0 else made[at][index]

        with recording(True):  # calls of a block of `no_grad` are leaves where gradients are asked for
            for n in self.nodes:
                made.append(capture.call(n.program, [found(a) for a in n.arguments]))
        return capture, leaves, found

    def run(self, plan: Plan) -> tuple[Any, ...]:
        """The plan's results on the leaves' values."""
        return plan(*[t.value for t in self.leaves])


def realize(wanted: Sequence[Tensor]) -> None:
    """Compute tensors, and on the way those others of which the program holds a tensor.

    Raises:
        CallError: a value outside the range that an operator asks for.
    """
    waiting = [t for t in wanted if t.value is None]
    if len(waiting) == 1:
        if _realize_small(waiting[0]):
            return
        _realize_on(waiting[0].device, waiting)
        return
    for device in dict.fromkeys([t.device for t in waiting]):
        _realize_on(device, [t for t in waiting if t.value is None and t.device == device])


def _realize_small(wanted: Tensor) -> bool:
    """Compute a tensor whose history native code looks through; False where it does not."""
    found = native_tensors.history(wanted)
    if found is None:
        return False
    words, specs, values, outputs = found
    options = current()
    key = words, specs, options.tf32, options.fma
    known = _SMALL.get(key)
    entry = known() if known is not None else None
    if entry is None:
        entry = _small_entry(key, wanted, values, outputs)
        if entry is None:
            return False
    _give_values(outputs, entry.now_used().made(*values))
    return True


_SMALL: dict[tuple, ReferenceType[Entry]] = {}
"""Plans by the structures of native code. An entry holds the programs whose identities are part of
its key: where it is gone, they may be of others.
"""


def _small_entry(
    key: tuple, wanted: Tensor, values: Sequence[Any], outputs: Sequence[Tensor]
) -> Entry | None:
    """The entry of a plan; None where another thread has changed a tensor meanwhile."""
    with _lock:
        if any([t.value is not None for t in outputs]):
            return None
        history = History([wanted], by_value=True)
        leaves = [t.value for t in history.leaves]
        if len(leaves) != len(values) or any([a is not b for a, b in zip(leaves, values)]):
            return None
        entry = _entry(
            history, _values_key(history, outputs, HOST), partial(_values_plan, history, outputs, HOST)
        )
        if len(_SMALL) >= MOST_RECIPES:
            _SMALL.clear()
        _SMALL[key] = ref(entry)
    return entry


def _realize_on(device: str, wanted: Sequence[Tensor]) -> None:
    with _lock:
        wanted = [t for t in wanted if t.value is None]  # another thread may have come first
        history = History(wanted, by_value=True)
        outputs = history.held()
        outputs += [t for t in wanted if not any([t is o for o in outputs])]
        if not outputs:
            return
        plan = _cached(
            history, _values_key(history, outputs, device), partial(_values_plan, history, outputs, device)
        )
    _give_values(outputs, history.run(plan))


def _give_values(outputs: Sequence[Tensor], values: Sequence[Any]) -> None:
    with _lock:
        for t, value in zip(outputs, values):
            if t.value is None:
                t.value = value
            if not t.requires_grad:
                t.node = None


def add_gradients(
    loss: Tensor, create_graph: bool = False, originals: Mapping[int, Tensor] | None = None
) -> None:
    """Add the derivatives of a number to `grad` of the leaves that it is computed from.

    Args:
        create_graph: gradients flow through the derivatives, too; for detached tensors, by their
            identity, `originals` are what they flow to then.
    """
    while True:
        with _lock:
            history = History([loss], by_value=False)
            wrt = [t for t in history.leaves if t.requires_grad and not t.stops]
            if not wrt or loss.is_leaf and not loss.requires_grad:
                raise CallError(NOTHING, code="gradient", help=MAKE_A_LEAF)
            if create_graph:
                found = _with_history(history, loss, wrt, originals or {})
                break
            waiting = [t for t in history.leaves if t.value is None]
            if not waiting:
                plan = _plan_of_gradients(history, loss, wrt)
        if not waiting:
            found = _values(history, plan, loss, wrt)
            break
        realize(waiting)  # and others on the way, which have no history any more
    for leaf, gradient in zip(wrt, found, strict=True):
        holder: Any = leaf if leaf.owner is None else leaf.owner
        total = gradient if holder.grad is None else holder.grad + gradient
        holder.grad = total if create_graph else total.detach().realize()


def _plan_of_gradients(history: History, loss: Tensor, wrt: Sequence[Tensor]) -> Plan:
    """The plan of a number and its derivatives."""
    return _cached(
        history,
        ("gradients", loss.device, *_gradient_key(history, loss, wrt)),
        lambda: _gradients_plan(history, loss, wrt),
    )


def _values(history: History, plan: Plan, loss: Tensor, wrt: Sequence[Tensor]) -> list[Tensor]:
    """The derivatives as numbers."""
    value, *gradients = history.run(plan)
    if loss.value is None:
        loss.value = value
    return [
        Tensor(leaf.shape, leaf.dtype, transfer(g, leaf.device))
        for leaf, g in zip(wrt, gradients, strict=True)
    ]


def _with_history(
    history: History, loss: Tensor, wrt: Sequence[Tensor], originals: Mapping[int, Tensor]
) -> list[Tensor]:
    """The derivatives as tensors that are computed from the leaves: one call of a program, which
    is differentiated as any other.
    """
    program, constants = _cached(
        history, ("derivative", *_gradient_key(history, loss, wrt)), lambda: _derivative(history, loss, wrt)
    )
    with recording(True):
        arguments = (*(originals.get(id(t), t) for t in history.leaves), *constants)
        return list(apply_program(program, arguments, heaviest_cache(history.caches)))


def _gradient_key(history: History, loss: Tensor, wrt: Sequence[Tensor]) -> tuple:
    return history.structure(), history.place(loss), tuple(map(history.place, wrt))


def _values_key(history: History, outputs: Sequence[Tensor], device: str) -> tuple:
    return "values", device, history.structure(), *map(history.place, outputs)


def _cached(history: History, key: tuple, make: Callable[[], Any]) -> Any:
    """The cached computation for this structure. It holds the programs, whose identities are part
    of the key.
    """
    return _entry(history, key, make).made


def _entry(history: History, key: tuple, make: Callable[[], Any]) -> Entry:
    options = current()
    return heaviest_cache(history.caches).entry((*key, options.tf32, options.fma), history.caches, make)


def _values_plan(history: History, outputs: Sequence[Tensor], device: str) -> Plan:
    capture, _, found = history.captured()
    return Plan(capture, [found(t) for t in outputs], device=device)


def _gradients_plan(history: History, loss: Tensor, wrt: Sequence[Tensor]) -> Plan:
    capture, gradients, value = _differentiated(history, loss, wrt)
    return Plan(capture, [value, *gradients], device=loss.device)


def _derivative(history: History, loss: Tensor, wrt: Sequence[Tensor]) -> tuple[Program, tuple[Tensor, ...]]:
    """The program of the derivatives, over the leaves and constants."""
    capture, gradients, _ = _differentiated(history, loss, wrt)
    results = [capture.own_result(g).tensor for g in gradients]
    return capture.program(results), tuple(Tensor(a.shape, t.dtype, a) for t, a in capture.constants.items())


def _differentiated(
    history: History, loss: Tensor, wrt: Sequence[Tensor]
) -> tuple[Capture, list[Symbolic], Symbolic]:
    """The calls as a capture, the derivatives in it, and the number."""
    capture, _, found = history.captured()
    gradients = capture.gradients(found(loss), [found(t) for t in wrt])
    assert None not in gradients, "histories end where gradients do"
    return capture, gradients, found(loss)  # type: ignore[return-value]
