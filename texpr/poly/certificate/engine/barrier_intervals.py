"""Threads that meet at barriers, as loops that run one after the other: what the order of values is
traced in.

    for t thread: { A; barrier; B }   ->   for t: A;  for t: B
    for t thread: for k: { A; barrier; B; barrier }   ->   for k: { for t: A;  for t: B }

This order is one that the threads may take, and all that they may take give the same, if what
stands between two barriers does not meet: that is asked of the kernel as it is.
"""

from __future__ import annotations

from texpr.ir.expr import Node, Read, Var, plain
from texpr.ir.loop import Alloc, Barrier, For, If, Kernel, Stmt, Store
from texpr.ir.loop_kind import Thread
from texpr.ir.traverse import rewrite, statements, substitute, variables, walk
from texpr.poly.certificate.engine.obligations import Refuted
from texpr.support.frozen_dataclass import replace


def split_at_barriers(kernel: Kernel) -> tuple[Kernel, dict[Store, Store]]:
    """Split the thread loops of a kernel at barriers; returned with it: which store each of its
    stores was.

    Raises:
        Refuted: some threads may not reach a barrier.
    """
    if not any(isinstance(n, Barrier) for n in statements(kernel)):
        return kernel, {}
    after = replace(kernel, body=tuple(s for top in kernel.body for s in _split(top)))
    before = [n for n in walk(kernel) if isinstance(n, Store)]
    return after, dict(zip((n for n in walk(after) if isinstance(n, Store)), before))


def _has_barrier(s: Stmt) -> bool:
    return any(isinstance(n, Barrier) for n in statements(s))


def _split(s: Stmt) -> tuple[Stmt, ...]:
    """Split a statement so that no thread loop contains a barrier. Depth is that of the loop
    nest.
    """
    if not isinstance(s, For | If) or not _has_barrier(s):
        return (s,)
    body = tuple(n for b in s.body for n in _split(b))
    if isinstance(s, For) and isinstance(s.kind, Thread):
        return _distribute(s, body)
    return (replace(s, body=body),)


def _distribute(loop: For, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Distribute a loop over the parts of its body that have no barrier."""
    result: list[Stmt] = []
    group: list[Stmt] = []
    for s in _expand_private_buffers(loop, body, result):
        if not _has_barrier(s):
            group.append(s)
            continue
        result += _enclose(loop, group)
        group = []
        if isinstance(s, Barrier):
            result.append(s)
            continue
        assert isinstance(s, For | If), "only they have a body"
        head = s.extent if isinstance(s, For) else s.cond
        if loop.var in variables(head) or any(isinstance(n, Read) for n in walk(head)):
            raise Refuted("races", f"not all iterations of {loop.var.name} reach the same barriers", None)
        result.append(replace(s, body=_distribute(loop, s.body)))
    return (*result, *_enclose(loop, group))


def _enclose(loop: For, group: list[Stmt]) -> list[Stmt]:
    if not group:
        return []
    var = Var(loop.var.name)
    return [replace(loop, var=var, body=tuple(_copy_stores(substitute(s, {loop.var: var})) for s in group))]


def _copy_stores(s: Stmt) -> Stmt:
    """Copy the stores of a statement: each has to be an object of its own."""
    return rewrite(s, lambda n: replace(n) if isinstance(n, Store) else None)


def _expand_private_buffers(loop: For, body: tuple[Stmt, ...], result: list[Stmt]) -> tuple[Stmt, ...]:
    """Give the buffers of a body an element per thread (scalar expansion): they are allocated
    outside the loop then.
    """
    expanded = {
        s.tensor: replace(s.tensor, dims=plain(loop.extent, *s.tensor.shape))
        for s in body
        if isinstance(s, Alloc)
    }
    result += [Alloc(t) for t in expanded.values()]

    def rule(node: Node) -> Node | None:
        match node:
            case Read(tensor, indices) | Store(tensor, indices) if tensor in expanded:
                return replace(node, tensor=expanded[tensor], indices=(loop.var, *indices))
        return None

    rest = [s for s in body if not isinstance(s, Alloc)]
    return tuple(rewrite(s, rule) for s in rest) if expanded else tuple(rest)
