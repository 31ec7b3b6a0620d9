"""From tensors that were not computed yet to one plan, and from a loss to the gradients of its leaves."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from texpr.graph.capture import Capture
from texpr.graph.lazy.tensor import Node, Tensor, moved
from texpr.graph.plan import Plan
from texpr.graph.symbolic import Symbolic
from texpr.support.errors import CallError
from texpr.support.options import current

MOST_PLANS = 256
_plans: OrderedDict[tuple, Plan] = OrderedDict()
_lock = threading.Lock()


class History:
    """What some tensors are computed from.

    Attributes:
        nodes: calls, producers first.
        leaves: tensors that are taken as they are.
    """

    def __init__(self, wanted: Sequence[Tensor], is_leaf: Callable[[Tensor], bool]) -> None:
        self.nodes: list[Node] = []
        self.leaves: list[Tensor] = []
        self._is_leaf = is_leaf
        self._place: dict[int, int] = {}
        """Of nodes and leaves by identity; leaves count from -1 down."""
        self._values: dict[int, int] = {}
        stack = [(t, False) for t in reversed(wanted)]
        while stack:
            t, ready = stack.pop()
            if is_leaf(t):
                self._add_leaf(t)
            elif id(t.node) not in self._place:
                if ready:
                    self._place[id(t.node)] = len(self.nodes)
                    self.nodes.append(t.node)  # type: ignore[arg-type]
                else:
                    stack.append((t, True))
                    stack += [(a, False) for a in reversed(t.node.arguments)]  # type: ignore[union-attr]

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

    def place(self, t: Tensor) -> tuple[int, int]:
        """Where a tensor's value comes from: a leaf, or a result of a node."""
        return (self._place[id(t)], 0) if self._is_leaf(t) else (self._place[id(t.node)], t.index)

    def structure(self) -> tuple:
        """Equal for histories that the same plan computes."""
        nodes = tuple((id(n.program), tuple(map(self.place, n.arguments))) for n in self.nodes)
        return nodes, tuple((t.shape, t.dtype) for t in self.leaves)

    def captured(self) -> tuple[Capture, list[Symbolic], Callable[[Tensor], Symbolic]]:
        """The calls as a capture with the leaves as data; the leaves there, and where other tensors are."""
        capture = Capture("lazy")
        leaves = [capture.input(f"x{k}", t.shape, t.dtype) for k, t in enumerate(self.leaves)]
        made: list[tuple[Symbolic, ...]] = []

        def found(t: Tensor) -> Symbolic:
            at, index = self.place(t)
            return leaves[-at - 1] if at < 0 else made[at][index]

        for n in self.nodes:
            made.append(capture.call(n.program, [found(a) for a in n.arguments]))
        return capture, leaves, found

    def run(self, plan: Plan) -> tuple[Any, ...]:
        """The plan's results on the leaves' values."""
        return plan(*(t.value for t in self.leaves))  # type: ignore[arg-type]


def realize(wanted: Sequence[Tensor]) -> None:
    """Compute tensors, and on the way those others of which the program holds a tensor.

    Raises:
        CallError: a value outside the range that an operator asks for.
    """
    for device in dict.fromkeys(t.device for t in wanted if t.value is None):
        _realize_on(device, [t for t in wanted if t.value is None and t.device == device])


def _realize_on(device: str, wanted: Sequence[Tensor]) -> None:
    history = History(wanted, lambda t: t.value is not None)
    outputs = [t for n in history.nodes for r in n.outputs if (t := r()) is not None and t.value is None]
    outputs += [t for t in wanted if t.value is None and not any(t is o for o in outputs)]
    if outputs:
        key = "values", device, history.structure(), tuple(map(history.place, outputs))
        plan = _plan(key, lambda: _values_plan(history, outputs, device))
        for t, value in zip(outputs, history.run(plan)):
            t.value = value
            if not t.requires_grad:
                t.node = None


def add_gradients(loss: Tensor) -> None:
    """Add the derivatives of a number to `grad` of the leaves that it is computed from."""
    history = History([loss], lambda t: t.node is None or t.stops)
    realize([t for t in history.leaves if t.value is None])
    wrt = [t for t in history.leaves if t.requires_grad and not t.stops]
    if not wrt or loss.node is None:
        raise CallError("nothing that the tensor is computed from requires a gradient", code="gradient",
                        help="make a leaf with tx.tensor(data, requires_grad=True)")
    places = tuple(map(history.place, wrt))
    key = "gradients", loss.device, history.structure(), history.place(loss), places
    plan = _plan(key, lambda: _gradients_plan(history, loss, wrt))
    value, *gradients = history.run(plan)
    if loss.value is None:
        loss.value = value
    for leaf, gradient in zip(wrt, gradients, strict=True):
        found = Tensor(leaf.shape, leaf.dtype, moved(gradient, leaf.device))
        holder: Any = leaf if leaf.owner is None else leaf.owner
        holder.grad = found if holder.grad is None else (holder.grad + found).detach().realize()


def _plan(key: tuple, make: Callable[[], Plan]) -> Plan:
    """The plan of a structure; kept for the next time. It holds the programs, whose identities are part of the key."""
    key = *key, current().tf32
    with _lock:
        found = _plans.get(key)
        if found is not None:
            _plans.move_to_end(key)
            return found
    made = make()
    with _lock:
        _plans[key] = made
        while len(_plans) > MOST_PLANS:
            _plans.popitem(last=False)
    return made


def _values_plan(history: History, outputs: Sequence[Tensor], device: str) -> Plan:
    capture, _, found = history.captured()
    return Plan(capture, [found(t) for t in outputs], device=device)


def _gradients_plan(history: History, loss: Tensor, wrt: Sequence[Tensor]) -> Plan:
    capture, _, found = history.captured()
    gradients = capture.gradients(found(loss), [found(t) for t in wrt])
    zeros = [g if g is not None else found(t) - found(t) for g, t in zip(gradients, wrt)]
    return Plan(capture, [found(loss), *zeros], device=loss.device)
