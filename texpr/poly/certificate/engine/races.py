"""Loops that run their iterations at once: no two of them use one element, unless a barrier
stands between or lanes are joined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from texpr.ir.build import compare
from texpr.ir.expr import Expr, Tensor
from texpr.ir.loop import For, Kernel, instruction_of, is_bound
from texpr.ir.loop_kind import InstructionNest, Serial, Thread, Unrolled, has_lanes
from texpr.ir.store_kind import ATOMIC
from texpr.ir.traverse import variables
from texpr.poly.certificate.engine.buffer_accesses import (
    access,
    defining_writes,
    definition_accesses,
    read_domains,
    update_accesses,
)
from texpr.poly.certificate.engine.instance_pairs import (
    Access,
    InstancePair,
    Order,
    disjoint_by_intervals,
    same_element,
    without_equal_writes,
)
from texpr.poly.certificate.engine.obligations import Proof, Refuted
from texpr.poly.certificate.engine.reductions import Reductions, is_order_sensitive, name_of
from texpr.poly.certificate.engine.statement_extraction import Nest, Statement, as_written

Uses = Mapping[Tensor, Sequence[Access]]


def check_races(proof: Proof, sums: Reductions, kernel: Kernel) -> None:
    """Prove that no iteration of a parallel loop uses an element that another one writes.

    Args:
        kernel: with its barriers, where the proof is of one without them.
    Raises:
        Refuted: with two iterations that do.
    """
    nest, uses = proof.nest, sums.tracer.uses
    if kernel is not nest.kernel:
        nest, found = as_written(kernel, nest.parameters)
        uses = {}
        for s, read in found:
            buffer = nest.buffers[read.tensor]
            uses.setdefault(read.tensor, []).extend(
                access(buffer, s, read.indices, when=when) for when in read_domains(s, read)
            )
    loops = {
        n.var: n
        for s in nest.statements
        for n in s.loops
        if not isinstance(n.kind, Serial | Unrolled | InstructionNest)
    }
    for loop in loops.values():
        with proof.obligation("races"):
            _check_loop(proof, nest, uses, loop)


def _check_loop(proof: Proof, nest: Nest, uses: Uses, loop: For) -> None:
    for buffer in nest.buffers.values():
        if loop.var in buffer.private:
            continue
        defined, updates = (
            [a for a in each if _inside(a, loop)]
            for each in (definition_accesses(buffer), update_accesses(buffer))
        )
        reads = [a for a in uses.get(buffer.tensor, ()) if _inside(a, loop)]
        defining = [a for a in defining_writes(buffer) if _inside(a, loop)]
        pairs = [
            *product(defining, defining),
            *product(defined, reads),
            *product(updates, (*defined, *updates, *reads)),
        ]
        for w, other in pairs:
            if not (w is other and _is_lane_reduction(proof, w, loop)) and not _is_atomic_pair(
                proof, w, other, loop
            ):
                _check_pair(proof, nest, loop, w, other)


def _inside(a: Access, loop: For) -> bool:
    return any(n.var is loop.var for n in a.statement.loops)


def _is_lane_reduction(proof: Proof, w: Access, loop: For) -> bool:
    """True if lanes that update one element are reduced first; for floats the store must permit
    another order.
    """
    store = w.statement.store
    if not has_lanes(loop.kind) or store.update is None or loop.var in variables(*store.indices):
        return False
    if is_order_sensitive(w.statement):
        if not store.reassoc:
            return False
        proof.reassociated[name_of(proof.semantics.definitions[store.equation])] = None
    return True


def _is_atomic_pair(proof: Proof, w: Access, other: Access, loop: For) -> bool:
    """True if both are atomic updates by the same operation; for floats the store must permit
    another order.
    """
    first, second = w.statement.store, other.statement.store
    if (
        not is_bound(loop)
        or not (_is_atomic_update(w) and _is_atomic_update(other))
        or first.update != second.update
    ):
        return False
    if first.update is None or first.tensor is not second.tensor:
        return False
    for each in (w.statement, other.statement):
        if is_order_sensitive(each):
            if not each.store.reassoc:
                return False
            proof.reassociated[name_of(proof.semantics.definitions[each.store.equation])] = None
    return True


def _is_atomic_update(a: Access) -> bool:
    """True if no other thread comes between what this update reads and writes. Instructions that
    run whole nests read and write like other code.
    """
    return a.writes and a.statement.store.mode is ATOMIC and not any(map(instruction_of, a.statement.loops))


def _check_pair(proof: Proof, nest: Nest, loop: For, w: Access, other: Access) -> None:
    depth = next(k for k, n in enumerate(w.statement.loops) if n.var is loop.var)
    if not isinstance(loop.kind, Thread) or not nest.barriers:
        for a, b in ((w, other), (other, w))[: 1 if w is other else 2]:
            _check_order(proof, loop, a, b, Order(depth, "<"), ())
        return
    for a, b in ((w, other), (other, w)):
        for conditions in _orders_without_barrier(nest, a.statement, b.statement, depth):
            _check_order(proof, loop, a, b, Order(depth, "!="), conditions)


def _check_order(
    proof: Proof, loop: For, a: Access, b: Access, order: Order, conditions: tuple[tuple[str, For], ...]
) -> None:
    if order.sign == "<" and disjoint_by_intervals(a, b, order):
        return
    pair = InstancePair(a, b, order.equal, proof.facts)
    assert order.sign is not None
    relations: list[Expr] = [compare(order.sign, loop.var, pair.second(loop.var))]
    relations += [compare(sign, n.var, pair.second(n.var)) for sign, n in conditions]
    pairs = without_equal_writes(pair, a, b, pair.also(same_element(pair, a, b), *relations))
    if not pairs.is_empty():
        name = a.statement.store.tensor.name if a.writes else b.statement.store.tensor.name
        raise Refuted(
            "races",
            f"iterations of the {loop.kind} loop {loop.var.name} use one element of {name}",
            b.statement,
            pair.frame,
            pairs,
        )


def _orders_without_barrier(
    nest: Nest, a: Statement, b: Statement, depth: int
) -> Iterator[tuple[tuple[str, For], ...]]:
    """The orders in the serial loops inside a thread loop in which `a` comes first and no
    barrier stands between.
    """
    serial, outside = _serial(a.loops[: a.common_depth(b)]), len(_serial(a.loops[:depth]))
    barriers = [(m.order, [n.var for n in _serial(m.loops)]) for m in nest.barriers if not m.conditions]
    inside = serial[outside:]

    def barriers_at(count: int) -> list[int]:
        """The positions of barriers in exactly the first `count` of the loops inside."""
        return [order for order, around in barriers if around == [n.var for n in serial[: outside + count]]]

    if a.order <= b.order and not any(order in range(a.order, b.order) for order in barriers_at(len(inside))):
        yield tuple(("==", n) for n in inside)
    for k, n in enumerate(inside):
        if all(
            order in range(b.order, a.order) for order in barriers_at(k + 1)
        ):  # Neither after `a` nor before `b`.
            yield (*(("==", outer) for outer in inside[:k]), ("<", n))


def _serial(loops: Sequence[For]) -> list[For]:
    """The loops that a thread runs through."""
    return [n for n in loops if not isinstance(n.kind, Thread)]
