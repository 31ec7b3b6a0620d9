"""Loops that run their iterations at once: no two of them use one element, unless a barrier stands between or lanes are joined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from texpr.ir.build import compare
from texpr.ir.expr import Expr, Tensor
from texpr.ir.loop import INSTRUCTION, For, Kernel, has_lanes, is_bound
from texpr.ir.traverse import variables
from texpr.poly.certificate.engine.instance_pairs import Access, Joint, Order, apart, different, met
from texpr.poly.certificate.engine.obligations import Proof, Refuted
from texpr.poly.certificate.engine.reductions import Sums, name_of, ordered
from texpr.poly.certificate.engine.statements import Nest, Statement, as_written
from texpr.poly.certificate.engine.value_tracing import access, evaluated, lives, updated, written

Uses = Mapping[Tensor, Sequence[Access]]


def check_races(proof: Proof, sums: Sums, kernel: Kernel) -> None:
    """No iteration of a loop that runs at once with others uses what another one writes.

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
            uses.setdefault(read.tensor, []).extend(access(buffer, s, read.indices, when=when) for when in evaluated(s, read))
    one_by_one = ("serial", "unroll", INSTRUCTION)
    loops = {n.var: n for s in nest.statements for n in s.loops if not n.kind.startswith(one_by_one)}
    for loop in loops.values():
        with proof.asking("races"):
            _check_loop(proof, nest, uses, loop)


def _check_loop(proof: Proof, nest: Nest, uses: Uses, loop: For) -> None:
    for buffer in nest.buffers.values():
        if loop.var in buffer.private:
            continue
        defined, more = ([a for a in each if _inside(a, loop)] for each in (written(proof, buffer), updated(proof, buffer)))
        reads = [a for a in uses.get(buffer.tensor, ()) if _inside(a, loop)]
        owned = [a for a in lives(buffer) if _inside(a, loop)]
        pairs = [*product(owned, owned), *product(defined, reads), *product(more, (*defined, *more, *reads))]
        for w, other in pairs:
            if not (w is other and _joined_lanes(proof, w, loop)) and not _atomic(proof, w, other, loop):
                _check_pair(proof, nest, loop, w, other)


def _inside(a: Access, loop: For) -> bool:
    return any(n.var is loop.var for n in a.statement.loops)


def _joined_lanes(proof: Proof, w: Access, loop: For) -> bool:
    """Lanes that update one element are joined first; for floats the store must permit another order."""
    store = w.statement.store
    if not has_lanes(loop.kind) or store.update is None or loop.var in variables(*store.indices):
        return False
    if ordered(w.statement):
        if not store.reassoc:
            return False
        proof.reassociated[name_of(proof.meaning.definitions[store.equation])] = None
    return True


def _atomic(proof: Proof, w: Access, other: Access, loop: For) -> bool:
    """Threads that update one element by the same operation, with nothing between; of floats the store must permit another order."""
    first, second = w.statement.store, other.statement.store
    if not is_bound(loop) or not (w.writes and other.writes and first.atomic and second.atomic) or first.update != second.update:
        return False
    if first.update is None or first.tensor is not second.tensor:
        return False
    for each in (w.statement, other.statement):
        if ordered(each):
            if not each.store.reassoc:
                return False
            proof.reassociated[name_of(proof.meaning.definitions[each.store.equation])] = None
    return True


def _check_pair(proof: Proof, nest: Nest, loop: For, w: Access, other: Access) -> None:
    depth = next(k for k, n in enumerate(w.statement.loops) if n.var is loop.var)
    if not loop.kind.startswith("thread") or not nest.barriers:
        for a, b in ((w, other), (other, w))[: 1 if w is other else 2]:
            _ask(proof, loop, a, b, Order(depth, "<"), ())
        return
    for a, b in ((w, other), (other, w)):
        for conditions in _unmet(nest, a.statement, b.statement, depth):
            _ask(proof, loop, a, b, Order(depth, "!="), conditions)


def _ask(proof: Proof, loop: For, a: Access, b: Access, order: Order, conditions: tuple[tuple[str, For], ...]) -> None:
    if order.sign == "<" and apart(a, b, order):
        return
    joint = Joint(a, b, order.equal, proof.facts)
    assert order.sign is not None
    relations: list[Expr] = [compare(order.sign, loop.var, joint.there(loop.var))]
    relations += [compare(sign, n.var, joint.there(n.var)) for sign, n in conditions]
    pairs = different(joint, a, b, joint.also(met(joint, a, b), *relations))
    if not pairs.is_empty():
        name = a.statement.store.tensor.name if a.writes else b.statement.store.tensor.name
        raise Refuted("races", f"iterations of the {loop.kind} loop {loop.var.name} use one element of {name}", b.statement,
                      joint.frame, pairs)


def _unmet(nest: Nest, a: Statement, b: Statement, depth: int) -> Iterator[tuple[tuple[str, For], ...]]:
    """The orders in the serial loops inside a thread loop in which `a` comes first and no barrier stands between."""
    serial, outside = _serial(a.loops[: a.common(b)]), len(_serial(a.loops[:depth]))
    barriers = [(m.order, [n.var for n in _serial(m.loops)]) for m in nest.barriers if not m.conditions]
    inside = serial[outside:]

    def standing(count: int) -> list[int]:
        """Where barriers stand in the first so many of the loops inside, and in no others."""
        return [order for order, around in barriers if around == [n.var for n in serial[: outside + count]]]

    if a.order <= b.order and not any(order in range(a.order, b.order) for order in standing(len(inside))):
        yield tuple(("==", n) for n in inside)
    for k, n in enumerate(inside):
        if all(order in range(b.order, a.order) for order in standing(k + 1)):  # Neither after `a` nor before `b`.
            yield (*(("==", outer) for outer in inside[:k]), ("<", n))


def _serial(loops: Sequence[For]) -> list[For]:
    """The loops that a thread runs through."""
    return [n for n in loops if not n.kind.startswith("thread")]
