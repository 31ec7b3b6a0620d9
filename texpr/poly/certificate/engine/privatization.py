"""Buffers that each iteration fills anew: the same as a buffer for each iteration.

    let T; for i: { T = f(i); ... T ... }   ->   for i: { let T; T = f(i); ... T ... }

This is so if every iteration writes what it reads of T, which is asked like everything else of the
loops on the right; that iterations that run at once do not disturb each other is asked of the loops
on the left.
"""

from __future__ import annotations

from collections.abc import Sequence

from texpr.ir.expr import Node, Read, Tensor
from texpr.ir.loop import Alloc, For, If, Kernel
from texpr.ir.traverse import rewrite, walk
from texpr.poly.certificate.engine.obligations import Proof
from texpr.poly.certificate.engine.statement_extraction import Nest, Statement, expressions, extract
from texpr.support.frozen_dataclass import replace


def privatize_buffers(proof: Proof) -> Proof | None:
    """Allocate each buffer in the innermost loop around all its uses; None if all of them are."""
    homes = {
        t: around
        for t, around in _enclosing_loops(proof.nest).items()
        if len(around) > len(proof.nest.buffers[t].allocation_loops)
    }
    if not homes:
        return None
    kernel = _move_allocations(proof.nest.kernel, homes)
    return replace(proof, nest=extract(kernel, proof.nest.parameters), reassociated={})


def _enclosing_loops(nest: Nest) -> dict[Tensor, tuple[For, ...]]:
    """The loops around all uses of each buffer that neither callers nor outside code sees."""
    visible = {*nest.kernel.outputs, *(t for call, _ in nest.calls for t in (*call.inputs, *call.outputs))}
    found: dict[Tensor, tuple[For, ...]] = {}
    for s in nest.statements:
        for t in _tensors_of(s) & nest.buffers.keys() - visible:
            found[t] = _common(found[t], s.loops) if t in found else s.loops
    return found


def _tensors_of(s: Statement) -> set[Tensor]:
    return {s.store.tensor, *(n.tensor for n in walk(*expressions(s)) if isinstance(n, Read))}


def _common(a: Sequence[For], b: Sequence[For]) -> tuple[For, ...]:
    count = next((k for k, (x, y) in enumerate(zip(a, b)) if x.var is not y.var), min(len(a), len(b)))
    return tuple(a[:count])


def _move_allocations(kernel: Kernel, homes: dict[Tensor, tuple[For, ...]]) -> Kernel:
    inside = {
        around[-1].var: tuple(t for t, other in homes.items() if other[-1].var is around[-1].var)
        for around in homes.values()
    }

    def rule(node: Node) -> Node | None:
        if isinstance(node, For | If | Kernel):
            made = tuple(map(Alloc, inside.get(node.var, ()))) if isinstance(node, For) else ()
            left = tuple(s for s in node.body if not (isinstance(s, Alloc) and s.tensor in homes))
            if made or len(left) < len(node.body):
                return replace(node, body=(*made, *left))
        return None

    temporaries = tuple(t for t in kernel.temporaries if t not in homes)
    return replace(rewrite(kernel, rule), temporaries=temporaries)
